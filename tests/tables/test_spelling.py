"""How numbers are written, and which values are spellings of one."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.tables.spelling import EXACT, fold_spelling, number_text, without_point
from kpareto.verifier.counting import one_spelling

SIGNS = "aAiI\u0130\u0131\u00df\u00e9e\u0301\u200b\u200d\u034f\u3164\ufe0f\u2800\u00a0 \t\x07\x1f\x85\u0661\uff11\u00b20123.+-\u2212\u2011\ufe58'\u2019\u0149e"


@pytest.mark.parametrize(
    ("number", "text"),
    [(5.0, "5"), (-0.0, "0"), (0.1, "0.1"), (2.0**60, str(2**60)), (math.inf, "inf"), (1e-7, "1e-07")],
)
def test_whole_numbers_have_no_point(number: float, text: str) -> None:
    """A whole number is written with its digits alone, any other as it is read back."""
    assert number_text(number) == text


def test_large_numbers_keep_their_point_where_digits_would_lie() -> None:
    """From 2**53 on a float may stand for a neighbour, so it stays a float where that is asked for."""
    assert repr(without_point(float(EXACT - 1), EXACT)) == str(EXACT - 1)
    assert isinstance(without_point(float(EXACT), EXACT), float)


@given(st.floats(allow_nan=False))
def test_nothing_but_the_spelling_changes(number: float) -> None:
    """The number is the same, and so it is after a way through text."""
    assert without_point(number) == number == float(number_text(number))
    if math.isfinite(number):
        assert json.loads(json.dumps(without_point(number))) == number


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u00c9pilepsie", "E\u200b\u0301pilepsie"), ("HIV", "HIV\ufe0f"), ("HIV", "H\u034fIV"), ("HIV", "HIV\u3164"),
        ("HIV", "HIV\x07"), ("HIV", "HIV\u2800"), ("HIV", "HIV\U000e0100"), ("12", "\u0661\u0662"), ("-1", "\u22121"),
        ("Stra\u00dfe", "STRASSE"), ("a b", "a\tb"), ("COVID-19", "COVID\u201119"), ("a-b", "a\u2013b"),
        ("Crohn's disease", "Crohn\u2019s Disease"), ("-1", "\uff0d1"),
    ],
)  # fmt: skip
def test_what_nobody_can_see_tells_no_values_apart(one: str, other: str) -> None:
    """Marks between letters, fillers, signs of control, digits of other scripts: each is one value, also checked."""
    assert one != other
    assert fold_spelling(one) == fold_spelling(other)
    assert one_spelling(one) == one_spelling(other)


@pytest.mark.parametrize(("one", "other"), [("E10", "E11"), ("E10", "0"), ("+e5", "-e5"), (".e1", "0"), ("HIV", "")])
def test_codes_are_no_numbers(one: str, other: str) -> None:
    """A letter and digits, as diseases are coded, are no power of nothing: two codes are two values."""
    for fold in (fold_spelling, one_spelling):
        assert fold(one) != fold(other)


@given(st.text(SIGNS, max_size=6) | st.text(max_size=4), st.text(SIGNS, max_size=6) | st.text(max_size=4))
def test_the_verifier_folds_as_tables_do(one: str, other: str) -> None:
    """By code of its own it takes the same pairs for one value, and a value folded already stays what it is."""
    assert (fold_spelling(one) == fold_spelling(other)) == (one_spelling(one) == one_spelling(other))
    assert (fold_spelling(one) == "") == (one_spelling(one) == "")
