"""Classes and the five suppression rules, against the slow twin and known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.fronts.problem import problem
from kpareto.searches.exact_front import exact_front
from kpareto.tables.hierarchy import flat
from kpareto.tables.partition import RULES, Suppression, classes, partition, partitions, suppress, thresholds
from kpareto.tables.recoding import bottom, node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.twins.slow import size
from tests.twins.strategies import Case, SmallerThan, cases, recodings, suppressions, twin_releases


def table_of_sizes(sizes: list[int], persons: list[int] | None = None) -> Table:
    """One quasi-identifier whose values occur the given numbers of times, with so many persons each."""
    tree = flat("x", [str(place) for place in range(len(sizes))])
    codes = np.repeat(np.arange(len(sizes)), sizes).reshape(-1, 1)
    ones = np.ones(len(codes), dtype=np.int64)
    if persons is None:
        return make_table(Schema(quasi=("x",)), (tree,), codes, ones, {})
    people = np.concatenate([np.arange(n) % p + 100 * i for i, (n, p) in enumerate(zip(sizes, persons, strict=True))])
    names, code = np.unique(people, return_inverse=True)
    extras = {"who": (tuple(str(name) for name in names), code.astype(np.int32), None)}
    return make_table(Schema(quasi=("x",), person="who"), (tree,), codes, ones, extras)


@settings(max_examples=300)
@given(case=cases(), data=st.data())
def test_partitions_agree_with_the_slow_twin(case: Case, data: st.DataObject) -> None:
    """Keys, rows, persons, suppressed and visible classes and feasibility are the twin's, under every rule."""
    recoding = data.draw(recodings(case.table))
    suppression = data.draw(suppressions())
    ours = list(partitions(case.table, recoding, suppression))
    twins = twin_releases(case, recoding, suppression)
    assert len(ours) == len(twins)
    for made, twin in zip(ours, twins, strict=True):
        keys = [tuple(key) if -1 not in key else None for key in made.groups.tolist()]
        assert keys == [g.key for g in twin.groups]
        assert made.rows.tolist() == [len(g.rows) for g in twin.groups]
        assert made.sizes.tolist() == [size(g.rows) for g in twin.groups]
        assert made.suppressed.tolist() == [not g.kept for g in twin.groups]
        assert made.visible.tolist() == [g.seen for g in twin.groups]
        assert made.feasible == twin.feasible
        assert made.empty == (not twin.seen)
        assert made.rule == suppression.rule
        assert int(np.bincount(made.members, weights=case.table.weights).sum()) == len(case.rows)


@settings(max_examples=100)
@given(case=cases(), data=st.data())
def test_row_order_changes_nothing(case: Case, data: st.DataObject) -> None:
    """The same rows in another order make the same table and the same classes."""
    table = case.table
    shuffled = data.draw(st.permutations(list(range(len(case.rows)))))
    codes = np.array([case.rows[i].leaves for i in shuffled], dtype=np.int32).reshape(-1, len(table.hierarchies))
    again = make_table(
        Schema(quasi=table.schema.quasi), table.hierarchies, codes, np.ones(len(codes), dtype=np.int64), {}
    )
    recoding = data.draw(recodings(table))
    assert np.array_equal(again.codes, table.codes)
    assert np.array_equal(classes(again, recoding).rows, classes(table, recoding).rows)


@pytest.mark.parametrize(
    ("limit", "k", "lost"),
    [(0, 1, 0), (2, 1, 0), (3, 2, 3), (6, 2, 3), (7, 5, 7), (11, 5, 7), (12, 7, 12), (18, 7, 12), (19, None, 19)],
)
def test_o14_cap_max_k(limit: int, k: int | None, lost: int) -> None:
    """O14: class sizes 1,1,1,2,2,5,7 under every interesting limit."""
    table = table_of_sizes([1, 1, 1, 2, 2, 5, 7])
    made = partition(table, bottom(table.hierarchies), Suppression("cap-max-k", limit))
    assert made.suppressed_rows == lost
    assert made.empty == (k is None)
    if k is not None:
        assert int(made.sizes[made.visible].min()) == k


def test_cap_threshold_offers_every_affordable_k() -> None:
    """The rule as-needed yields one partition per threshold, the last of them that of cap-max-k."""
    table = table_of_sizes([1, 1, 1, 2, 2, 5, 7])
    made = list(partitions(table, bottom(table.hierarchies), Suppression("as-needed", 7)))
    assert [int(p.sizes[p.visible].min()) for p in made] == [1, 2, 5]
    assert [p.suppressed_rows for p in made] == [0, 3, 7]
    every = list(partitions(table, bottom(table.hierarchies), Suppression("as-needed", 19)))
    assert [p.suppressed_rows for p in every] == [0, 3, 7, 12, 19]
    assert every[-1].empty
    assert thresholds(np.array([1, 2, 5]), np.array([1, 2, 5]), 0) == [1]


def test_persons_make_a_class_small_although_it_has_many_rows() -> None:
    """A class of four rows of one person is smaller than a class of two rows of two, and costs four rows."""
    table = table_of_sizes([4, 2], persons=[1, 2])
    whole = classes(table, bottom(table.hierarchies))
    assert whole.rows.tolist() == [4, 2]
    assert whole.sizes.tolist() == [1, 2]
    assert partition(table, bottom(table.hierarchies), Suppression("cap-max-k", 3)).suppressed_rows == 0
    assert partition(table, bottom(table.hierarchies), Suppression("cap-max-k", 4)).suppressed_rows == 4


def test_masked_rows_are_one_visible_class_if_large_enough() -> None:
    """Masked rows form a class that is suppressed yet visible; its groups are stars."""
    table = table_of_sizes([1, 1, 1, 3])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=3, rows="mask"))
    assert made.groups.tolist() == [[3], [-1]]
    assert made.sizes.tolist() == [3, 3]
    assert made.suppressed.tolist() == [False, True]
    assert made.visible.tolist() == [True, True]
    assert made.note == ""


def test_too_few_masked_rows_are_dropped_and_said_so() -> None:
    """Two masked rows beside a class of three would be a class below k, so they go (readings.md#masked-rows)."""
    table = table_of_sizes([1, 1, 3])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=3, rows="mask"))
    assert made.visible.tolist() == [False, False, True]
    assert made.note == "2 suppressed rows were dropped, not masked: as a class of 2 they would not meet the limits."


def test_masked_rows_are_compared_by_persons() -> None:
    """Two masked persons are as many as the two persons of the smallest class, although that has three rows."""
    table = table_of_sizes([1, 1, 3], persons=[1, 1, 2])
    made = partition(table, bottom(table.hierarchies), Suppression("cap-max-k", 2, rows="mask"))
    assert made.sizes.tolist() == [2, 2]
    assert made.visible.tolist() == [True, True]


def test_constraint_is_infeasible_above_the_limit() -> None:
    """The rule as-needed suppresses every failing class and says whether the limit is kept."""
    table = table_of_sizes([1, 2, 5])
    made = partition(table, bottom(table.hierarchies), Suppression("as-needed", 2, fails=(SmallerThan(3),)))
    assert made.suppressed_rows == 3
    assert not made.feasible
    assert partition(table, bottom(table.hierarchies), Suppression("as-needed", 3, fails=(SmallerThan(3),))).feasible


def test_without_a_suppression_nothing_is_suppressed() -> None:
    """A partition without a rule keeps everything."""
    table = table_of_sizes([1, 2])
    assert partition(table, node(table.hierarchies, [1])).classes == 1
    whole = classes(table, bottom(table.hierarchies))
    assert suppress(whole, np.zeros(2, dtype=np.bool_), Suppression("none"), feasible=True).suppressed_rows == 0


@pytest.mark.parametrize(
    ("limit", "rows", "allowed"),
    [(0.01, 30162, 301), (0.0, 10, 0), (0.1, 10, 1), (0.3, 10, 3), (301, 10, 301), (1, 10, 1), (0, 10, 0)],
)
def test_a_limit_is_a_share_or_a_number_of_rows(limit: float, rows: int, allowed: int) -> None:
    """A float is a share, rounded down; a whole number counts rows."""
    assert Suppression(limit=limit).allowed(rows) == allowed


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"rule": "cap"}, "Suppression rule 'cap' is not known. Take one of: none, below-k, cap-max-k"),
        ({"limit": -1}, "The suppression limit is -1. Give a number without quotes: a share of the rows such as 0.01"),
        ({"limit": -0.5}, "The suppression limit is -0.5. Give a number"),
        ({"limit": float("nan")}, "The suppression limit is nan. Give a number"),
        ({"limit": float("inf")}, "The suppression limit is inf. Give a number"),
        ({"limit": True}, "The suppression limit is True. Give a number"),
        ({"limit": "1"}, "The suppression limit is '1'. Give a number without quotes"),
        ({"limit": None}, "The suppression limit is None. Give a number"),
        ({"limit": 1.0}, "is 1.0, which could mean one row or all rows. For one row write 1; else give a share of the"),
        ({"limit": 5.0}, "is 5.0, which could mean rows or percent. For rows write 5, without a point; for 5 percent"),
        ({"limit": 2.5}, "is 2.5, which could mean rows or percent. For rows write 2 or 3, without a point; for 2.5"),
        ({"rule": "below-k"}, "The rule below-k needs k of at least 1, and k is None."),
        ({"rule": "below-k", "k": 0}, "needs k of at least 1, and k is 0."),
        ({"step": 2}, "The step of thresholds is 2. Give a number from 0"),
        ({"rows": "star"}, "can be dropped or masked, not 'star'"),
    ],
)
def test_bad_suppressions_are_explained(told: dict[str, object], message: str) -> None:
    """Each wrong argument gets its sentence."""
    with pytest.raises(BadJob) as error:
        Suppression(**told)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_the_rules_are_the_five_of_the_readings() -> None:
    """No rule appears or disappears unnoticed."""
    assert RULES == ("none", "below-k", "cap-max-k", "as-needed")


@pytest.mark.parametrize(("limit", "kept"), [(0, True), (0.0, True), (2, False), (3, True), (0.2, False), (0.3, True)])
def test_a_limit_with_below_k_is_kept_where_it_is_given(limit: float, kept: bool) -> None:
    """A release would refuse more suppressed rows than the limit, so nobody is shown such a point before."""
    table = table_of_sizes([1, 2, 7])
    assert partition(table, bottom(table.hierarchies), Suppression("below-k", limit, k=3)).feasible == kept
    front = exact_front(problem(table, ["k", "lm"], Suppression("below-k", limit, k=3)))
    assert any(point.partition.suppressed_rows == 3 for point in front) == kept
