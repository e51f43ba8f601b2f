"""One call from a table to a release, and the failures of other packages that it must not have."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadHierarchy, BadInput, BadJob, BadSchema, Unsafe
from kpareto.fronts.count_lattice import lattice_of
from kpareto.jobs.anonymize import anonymize, optimum, wishes
from kpareto.measures.cells import glm
from kpareto.tables.adult import adult, adult_hierarchies
from kpareto.tables.partition import partition
from kpareto.tables.recoding import node
from tests.twins.releases import AGES, SEXES, people
from tests.twins.strategies import Case, cases

TREES = {"age": AGES, "sex": SEXES}


def frame(times: int = 3) -> pd.DataFrame:
    """The people as a pandas frame."""
    return people(times).to_pandas()


def with_a_loner() -> pd.DataFrame:
    """The people and one more, whom nobody resembles."""
    loner = pd.DataFrame({"name": ["last"], "age": [59], "sex": ["F"], "illness": ["rare"], "note": ["note"]})
    return pd.concat([frame(), loner], ignore_index=True)


def smallest(data: pd.DataFrame) -> int:
    """The smallest class over age and sex, by pandas."""
    return int(data.groupby(["age", "sex"], observed=True).size().min())


@settings(max_examples=60, deadline=None)
@given(case=cases(persons=False, most_leaves=4, most_columns=2), data=st.data())
def test_the_optimum_is_that_of_brute_force(case: Case, data: st.DataObject) -> None:
    """No node that meets the limits has a smaller loss; where none meets them, that is said."""
    table = case.table
    k, l = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([None, 1, 2, 3]))
    suppression, limits = wishes(k, l, data.draw(st.sampled_from([0.0, 0.1, 0.5, 0.999])))
    losses = {}
    for number in range(lattice_of(table).size):
        levels = tuple(int(v) for v in lattice_of(table).levels(np.array([number]))[0])
        found = partition(table, node(table.hierarchies, levels), suppression)
        if found.feasible and not found.empty:
            losses[levels] = glm().exact(found)
    if not losses:
        with pytest.raises((Unsafe, BadJob), match=r"No recoding meets the limits|cannot be met"):
            optimum(table, suppression, limits)
        return
    assert losses[optimum(table, suppression, limits)] == min(loss for loss in losses.values() if loss is not None)


def test_adult_at_k_5(tmp_path: Path) -> None:
    """Eight columns of Adult, one percent suppressed: optimal, counted by pandas, nothing left over."""
    data = adult().to_pandas()
    trees = adult_hierarchies()
    found = anonymize(data, list(trees), "occupation", hierarchies=trees, k=5, suppression_limit=0.01, missing="drop")
    assert found.nodes == 17920
    assert len(found.levels) == 8
    assert found.verified
    sizes = found.data.groupby(list(trees), observed=True).size()
    assert sizes.min() == found.numbers["k"] >= 5
    assert len(found.data) == 30162 - found.suppressed
    assert found.suppressed <= 301
    assert list(found.data.columns) == list(data.columns)


def test_levels_stand_in_the_order_of_the_columns() -> None:
    """Level vectors follow the quasi-identifiers as they were named."""
    one = anonymize(frame(), ["age", "sex"], identifiers="name", hierarchies=TREES, k=6)
    two = anonymize(frame(), ["sex", "age"], identifiers="name", hierarchies=TREES, k=6)
    assert one.levels == tuple(reversed(two.levels)) == (1, 0)
    assert one.numbers["k"] == 15


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_frame_comes_back_in_its_own_type(kind: str) -> None:
    """What went in as pandas comes out as pandas; and so on."""
    rows = people()
    data = {"pandas": rows.to_pandas, "polars": lambda: pl.from_arrow(rows), "pyarrow": lambda: rows}[kind]()
    found = anonymize(data, ["age", "sex"], "illness", "name", TREES, k=15, l=3)
    assert type(found.data) is type(data)
    assert found.levels == (1, 0)
    assert found.numbers["l"] == 3


# What other packages get wrong (PEERS.md), one test each.


def test_no_index_column_of_original_row_numbers() -> None:
    """A suppressed row leaves no trace: no index column, and a fresh index (anjana leaves the old row numbers)."""
    data = with_a_loner()
    data = data.sample(frac=1, random_state=3)
    found = anonymize(data, ["age", "sex"], identifiers="name", hierarchies=TREES, k=2, suppression_limit=0.05)
    assert found.suppressed == 1
    assert list(found.data.columns) == ["age", "sex", "illness", "note"]
    assert list(found.data.index) == list(range(120))


def test_limits_are_not_ignored_and_rows_with_nan_are_counted() -> None:
    """Thresholds hold on the rows themselves, and rows with NaN are dropped and counted (anonypy loses them)."""
    data = frame()
    data.loc[[3, 7], "age"] = np.nan
    found = anonymize(data, ["age", "sex"], "illness", identifiers="name", hierarchies=TREES, k=5, l=3)
    assert found.data.groupby(["age", "sex"])["illness"].nunique().min() >= 3
    assert found.release.partition.table.dropped == 2
    assert len(found.data) == 118
    kept = found.release.certificate.confidential["input"]
    assert (kept["rows"], kept["missing_rows"]) == (120, 2)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 11, 15, 60, 120])
def test_never_less_than_the_k_that_was_asked(k: int) -> None:
    """The k asked for is the k that pandas counts (anonymity-api returned 2 for 3)."""
    found = anonymize(frame(), ["age", "sex"], identifiers="name", hierarchies=TREES, k=k)
    assert smallest(found.data) == found.numbers["k"] >= k


def test_failure_is_an_error_not_the_raw_table() -> None:
    """Where nothing meets the limits, nothing comes back (python-anonymity returns the raw table, anjana an empty one)."""
    with pytest.raises(BadJob, match="cannot be met: the sensitive column 'illness' has"):
        anonymize(frame(), ["age", "sex"], "illness", hierarchies=TREES, k=5, l=4)


def test_k_larger_than_the_table_is_said() -> None:
    """A k of 100 on 24 rows cannot be (five packages return k = 24)."""
    with pytest.raises(BadJob, match="k = 100 cannot be met: the table has 24 rows, so 24 is the largest k"):
        anonymize(frame(1)[:24], ["age", "sex"], hierarchies=TREES, k=100)


@pytest.mark.parametrize("k", [0, -3, 2.5, "5", True, None])
def test_k_that_makes_no_sense_is_refused(k: object) -> None:
    """A k of 0 or less ends at once (four packages loop for ever)."""
    with pytest.raises(BadJob, match=r"k is .*. Give a whole number of at least 1"):
        anonymize(frame(), ["age", "sex"], hierarchies=TREES, k=k)  # type: ignore[arg-type]


def test_a_duplicate_index_changes_nothing() -> None:
    """An index of equal entries gives the same rows (four packages loop for ever)."""
    data = frame()
    plain = anonymize(data, ["age", "sex"], identifiers="name", hierarchies=TREES, k=6).data
    twice = anonymize(
        data.set_index(pd.Index([1] * len(data))), ["age", "sex"], identifiers="name", hierarchies=TREES, k=6
    ).data
    pd.testing.assert_frame_equal(plain, twice)


def test_neither_the_order_of_rows_nor_earlier_calls_matter() -> None:
    """Results do not depend on the index, on the row order, or on what was called before."""
    data = frame()
    first = anonymize(data, ["age", "sex"], identifiers="name", hierarchies=TREES, k=6)
    anonymize(data, ["sex"], identifiers="name", k=20)
    turned = anonymize(data[::-1], ["age", "sex"], identifiers="name", hierarchies=TREES, k=6)
    pd.testing.assert_frame_equal(first.data, turned.data)
    assert first.release.certificate.public["claims"] == turned.release.certificate.public["claims"]
    pd.testing.assert_frame_equal(data, frame())


def test_percent_for_a_share_is_said() -> None:
    """A suppression limit from 1 on could be percent (anjana's unit) or rows (a job's)."""
    for limit in (5, 5.0, 1, 1.0):
        words = rf"suppression_limit is {limit}, which could mean rows or percent. .*percent write {limit / 100:g}"
        with pytest.raises(BadJob, match=words):
            anonymize(frame(), ["age", "sex"], hierarchies=TREES, k=5, suppression_limit=limit)
    for wrong in (-0.1, float("nan"), float("inf"), "0.1", True):
        with pytest.raises(BadJob, match="Give a share of the rows from 0 to below 1"):
            anonymize(frame(), ["age", "sex"], hierarchies=TREES, k=5, suppression_limit=wrong)  # type: ignore[arg-type]


def test_suppression_of_one_percent_is_a_share_of_rows() -> None:
    """0.05 of 121 rows are six rows; a share near 1 allows all but an empty release."""
    data = with_a_loner()
    assert (
        anonymize(data, ["age", "sex"], identifiers="name", hierarchies=TREES, k=3, suppression_limit=0.05).suppressed
        == 1
    )
    assert (
        anonymize(data, ["age", "sex"], identifiers="name", hierarchies=TREES, k=3, suppression_limit=0.999).suppressed
        == 1
    )


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"quasi_identifiers": ["agee"]}, BadSchema, "No column 'agee' in the table. Did you mean 'age'"),
        ({"quasi_identifiers": []}, BadSchema, "No column is a quasi-identifier"),
        ({"quasi_identifiers": ["age", "age"]}, BadSchema, "Column 'age' is named twice"),
        ({"quasi_identifiers": ["age"], "sensitive_attributes": "age"}, BadSchema, "is both"),
        ({"quasi_identifiers": ["age"], "l": 2}, BadJob, "l is 2, and no column is sensitive"),
        ({"quasi_identifiers": ["age"], "l": 0, "sensitive_attributes": "illness"}, BadJob, "l is 0. Give a whole"),
        ({"quasi_identifiers": ["age"], "hierarchies": {"sex": SEXES}}, BadHierarchy, "given for 'sex', which is not"),
        ({"quasi_identifiers": ["age"], "hierarchies": {"age": SEXES}}, BadInput, "has no place for 20 values"),
    ],
)
def test_wrong_input_is_a_sentence(given: dict[str, object], error: type[Exception], words: str) -> None:
    """Bad input is one sentence, not a bare KeyError."""
    with pytest.raises(error, match=words):
        anonymize(frame(), **given)  # type: ignore[arg-type]


def test_hierarchies_as_other_packages_keep_them() -> None:
    """Level dicts, lists of rows and frames are matched as text."""
    ages = sorted({int(age) for age in frame()["age"]})
    levels = {0: np.array(ages), 1: np.array([f"{age // 10}x" for age in ages])}
    rows = [[str(age), f"{age // 10}x", "*"] for age in ages]
    for form in (levels, rows, pd.DataFrame(rows)):
        found = anonymize(frame(), ["age", "sex"], "illness", identifiers="name", hierarchies={"age": form}, k=15, l=3)
        assert Counter(found.data["age"]) == {"2x": 30, "3x": 30, "4x": 30, "5x": 30}


def test_forty_columns_are_no_obstacle() -> None:
    """A lattice of 2**40 nodes is settled by branch and bound, not by counting it."""
    columns = {f"q{place}": [str(n) for n in range(4)] for place in range(40)}
    found = anonymize(pa.table(columns), list(columns), k=2)
    assert found.nodes == 2**40
    assert found.numbers["k"] == 4


def test_levels_are_kept_in_every_model() -> None:
    """Ages stay between the levels that were named, and the levels told are those of the hierarchy."""
    rows = adult().select(["age", "sex"])
    asked = {"hierarchies": {"age": {"intervals": [5, 10, 20], "from": 0}}, "k": 5, "levels": {"age": (2, 3)}}
    done = anonymize(rows, ["age", "sex"], **asked)  # type: ignore[arg-type]  # named by a dict
    assert done.levels == (2, 0)
    for model in ("cuts", "local"):
        shown = anonymize(rows, ["age", "sex"], model=model, suppression_limit=0.01, **asked)  # type: ignore[arg-type]
        spans = [[int(end) for end in age.split("-")] for age in set(shown.data["age"].to_pylist())]
        assert all((high - low + 1) % 10 == 0 and low // 20 == high // 20 for low, high in spans)
    with pytest.raises(BadInput, match="has the levels 0 to 4"):
        anonymize(rows, ["age", "sex"], **{**asked, "levels": {"age": (2, 9)}})  # type: ignore[arg-type]
