"""How numbers are written."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.tables.spelling import EXACT, number_text, without_point


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
