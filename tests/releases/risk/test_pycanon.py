"""pyCANON's functions, against the numbers pyCANON 1.3.6 gave (tests/golden/make_pycanon.py)."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.measures import make
from kpareto.releases.risk import pycanon as anonymity
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom
from kpareto.tables.schema import Schema
from tests.golden.make_pycanon import QUASI, SENSITIVE, recoded

ANSWERS = json.loads((Path(__file__).parents[2] / "golden" / "pycanon.json").read_text(encoding="utf-8"))["nodes"]
TELLING = ANSWERS[3]  # k = 9, l = 3


def name_of(answer: dict[str, Any]) -> str:
    """A node, as pytest shows it."""
    return "-".join(map(str, answer["levels"]))


@cache
def rows_at(levels: tuple[int, ...]) -> pa.Table:
    """Adult at a node."""
    return pa.table(recoded(levels))


@cache
def classes_at(levels: tuple[int, ...]) -> Partition:
    """The classes of Adult at a node, read once."""
    table = read(rows_at(levels), Schema(QUASI, sensitive=SENSITIVE), missing_values=())
    return classes(table, bottom(table.hierarchies))


@pytest.mark.parametrize("answer", ANSWERS, ids=name_of)
def test_measures_give_pycanons_numbers(answer: dict[str, Any]) -> None:
    """Our k, l, entropy l, t, alpha, beta and delta are pyCANON's at every node, for text, numbers and both."""
    made = classes_at(tuple(answer["levels"]))
    assert make("k")(made) == answer["k"]
    for columns, theirs in answer["sensitive"].items():
        chosen = "" if "+" in columns else f"(column={columns})"
        assert make(f"l{chosen}")(made) == theirs["l"]
        assert math.floor(make(f"entropy-l{chosen}")(made) + 1e-9) == theirs["entropy_l"]
        assert make(f"alpha{chosen}")(made) == pytest.approx(theirs["alpha"], rel=1e-9)
        assert make(f"beta{chosen}")(made) == pytest.approx(theirs["beta"], rel=1e-9)
        assert make(f"delta{chosen}")(made) == pytest.approx(theirs["delta"], rel=1e-9)
    equal, ordered = (answer["sensitive"][name]["t"] for name in SENSITIVE)
    assert make(f"t(column={SENSITIVE[0]})")(made) == pytest.approx(equal, rel=1e-9)
    assert make(f"t(column={SENSITIVE[1]}, distance=ordered)")(made) == pytest.approx(ordered, rel=1e-9)


def test_functions_give_pycanons_numbers() -> None:
    """The functions under pyCANON's names take the same arguments and give the same numbers."""
    rows, columns = rows_at(tuple(TELLING["levels"])), list(SENSITIVE)
    theirs = TELLING["sensitive"]["+".join(SENSITIVE)]
    assert anonymity.k_anonymity(rows, QUASI) == TELLING["k"]
    assert anonymity.l_diversity(rows, QUASI, columns) == theirs["l"]
    assert anonymity.entropy_l_diversity(rows, QUASI, columns) == theirs["entropy_l"]
    assert anonymity.t_closeness(rows, QUASI, columns) == pytest.approx(theirs["t"], rel=1e-9)
    alpha, k = anonymity.alpha_k_anonymity(rows, QUASI, columns)
    assert alpha == pytest.approx(theirs["alpha"], rel=1e-9)
    assert k == TELLING["k"]
    assert anonymity.basic_beta_likeness(rows, QUASI, columns) == pytest.approx(theirs["beta"], rel=1e-9)
    assert anonymity.delta_disclosure(rows, QUASI, columns) == pytest.approx(theirs["delta"], rel=1e-9)


def test_same_numbers_with_the_other_column_as_quasi_identifier() -> None:
    """gen=False treats the other sensitive columns as known, as pyCANON does."""
    rows, theirs = rows_at(tuple(TELLING["levels"])), TELLING["separately"]
    assert anonymity.l_diversity(rows, QUASI, SENSITIVE, gen=False) == theirs["l"]
    assert anonymity.alpha_k_anonymity(rows, QUASI, SENSITIVE, gen=False)[0] == pytest.approx(theirs["alpha"])
    assert anonymity.t_closeness(rows, QUASI, SENSITIVE, gen=False) == pytest.approx(theirs["t"], rel=1e-9)


def counts_by_class(rows: pa.Table, column: str) -> list[Counter[Any]]:
    """How often each sensitive value occurs in each class, by hand."""
    found: dict[tuple[Any, ...], Counter[Any]] = {}
    quasi = zip(*(rows[name].to_pylist() for name in QUASI), strict=True)
    for key, value in zip(quasi, rows[column].to_pylist(), strict=True):
        found.setdefault(key, Counter())[value] += 1
    return list(found.values())


@pytest.mark.parametrize("answer", ANSWERS[3:5], ids=name_of)
def test_recursive_diversity_differs_because_pycanon_sorts_upwards(answer: dict[str, Any]) -> None:
    """With the counts sorted upwards we get pyCANON's c; the paper sorts downwards, and so do we."""
    rows, (their_c, l) = rows_at(tuple(answer["levels"])), answer["sensitive"][SENSITIVE[0]]["recursive"]
    c, our_l = anonymity.recursive_c_l_diversity(rows, QUASI, [SENSITIVE[0]])
    assert our_l == l
    classes = [sorted(counted.values()) for counted in counts_by_class(rows, SENSITIVE[0])]
    assert max(math.floor(rising[0] / sum(rising[l - 1 :]) + 1) for rising in classes) == their_c
    ratios = [max(rising) / sum(rising[::-1][l - 1 :]) for rising in classes]
    assert max(ratios) < c <= max(ratios) + 1


@pytest.mark.parametrize("answer", [TELLING, ANSWERS[6]], ids=name_of)
def test_enhanced_beta_differs_because_pycanon_only_caps_the_number(answer: dict[str, Any]) -> None:
    """Theirs caps basic beta at −ln of the rarest value; ours is a beta that holds, or infinity where none does."""
    rows, column = rows_at(tuple(answer["levels"])), SENSITIVE[0]
    theirs = answer["sensitive"][column]
    total = Counter(rows[column].to_pylist())
    share = {value: count / rows.num_rows for value, count in total.items()}
    assert theirs["enhanced_beta"] == pytest.approx(min(theirs["beta"], -math.log(min(share.values()))))
    gains = [
        ((count / sum(counted.values()) - share[value]) / share[value], -math.log(share[value]))
        for counted in counts_by_class(rows, column)
        for value, count in counted.items()
    ]
    holds = all(gain <= bound + 1e-12 for gain, bound in gains)
    expected = max(gain for gain, _ in gains) if holds else math.inf
    assert anonymity.enhanced_beta_likeness(rows, QUASI, column) == pytest.approx(expected)


def test_any_frame_and_any_index_will_do() -> None:
    """A pandas frame with a doubled index, polars and pyarrow give the same; missing values are a value of their own."""
    data = {"a": ["x", "x", "y", "y", None], "s": ["1", "2", "1", "1", "2"]}
    frames = [pd.DataFrame(data, index=[0, 0, 1, 1, 0]), pl.DataFrame(data), pa.table(data)]
    for frame in frames:
        assert anonymity.k_anonymity(frame, ["a"]) == 1
        assert anonymity.l_diversity(frame, "a", "s") == 1
        c, l = anonymity.recursive_c_l_diversity(frame, "a", "s")
        assert math.isnan(c)
        assert l == 1


def test_a_question_mark_is_a_value() -> None:
    """Nothing is dropped: a row with ? counts, as in pyCANON."""
    data = pa.table({"a": ["?", "x", "x"], "s": ["u", "v", "w"]})
    assert anonymity.k_anonymity(data, ["a"]) == 1


def test_two_equal_shares_have_entropy_two() -> None:
    """exp(ln 2) rounds to 2, not to 1."""
    data = pa.table({"a": ["x"] * 4, "s": ["u", "v", "u", "v"]})
    assert anonymity.entropy_l_diversity(data, "a", "s") == 2
    assert anonymity.recursive_c_l_diversity(data, "a", "s") == (2.0, 2)
