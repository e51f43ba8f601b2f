"""The lower bound of local recoding is never above brute force, and its parts keep their promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import Unsafe
from kpareto.kernels.local.neighbours import near_losses
from kpareto.kernels.local.prices import fair_prices
from kpareto.searches.local import bound as bounds
from kpareto.searches.local.bound import LocalBound, column_covers, lower_bound, make_covers
from kpareto.searches.local.problem import LocalWish, make_problem
from kpareto.searches.local.recoding import read_classes
from kpareto.searches.local.search import Effort, search_classes
from tests.searches.local import local_twins
from tests.searches.local.test_local_search import wishes
from tests.twins.releases import SCHEMA, hierarchies, people
from tests.twins.strategies import Case, cases

QUICK = Effort(turns=6)


@given(case=cases(persons=False, most_rows=8), wish=wishes(), data=st.data())
@settings(max_examples=300, deadline=None)
def test_the_bound_is_below_brute_force(case: Case, wish: LocalWish, data: st.DataObject) -> None:
    """Bound ≤ least loss of all partitions of the rows ≤ what the search found, with and without suppression."""
    least = local_twins.least_loss(case.table, case.rows, wish)
    try:
        problem = make_problem(case.table, wish)
    except Unsafe:
        return
    classes = search_classes(problem, QUICK)
    found = read_classes(problem, classes).exact_loss
    proven = lower_bound(problem, classes, data.draw(st.integers(1, 6)))
    assert least is not None
    assert proven.value <= float(least) + 1e-12
    assert least <= found
    assert proven.gap(float(found)) >= -1e-9


@given(case=cases(persons=False, most_rows=8), k=st.integers(2, 4), intervals=st.booleans())
@settings(max_examples=100, deadline=None)
def test_columns_in_groups_give_a_bound_too(case: Case, k: int, intervals: bool) -> None:
    """Where one walk is too long, columns are priced apart, and the sum is still below brute force."""
    wish = LocalWish(k, intervals=intervals)
    try:
        problem = make_problem(case.table, wish)
    except Unsafe:
        return
    classes = search_classes(problem, QUICK)
    few = bounds.LIMIT
    try:
        bounds.LIMIT = 2 * case.table.distinct
        proven = lower_bound(problem, classes, 3)
    finally:
        bounds.LIMIT = few
    least = local_twins.least_loss(case.table, case.rows, wish)
    assert least is not None
    assert proven.value <= float(least) + 1e-12


@given(case=cases(persons=False), k=st.integers(2, 4), intervals=st.booleans())
@settings(max_examples=100, deadline=None)
def test_every_label_lies_in_a_group_that_is_no_dearer(case: Case, k: int, intervals: bool) -> None:
    """For any two values of a column some cover has both ends of their label in one group, charged at most its loss."""
    if k > case.table.rows:
        return
    problem = make_problem(case.table, LocalWish(k, intervals=intervals))
    labels = problem.labels
    for column, leaves in enumerate(problem.leaves):
        for small, large in product(range(len(leaves)), repeat=2):
            if small > large:
                continue
            place = labels.base[column] + labels.width[column] * small + large
            first, last = divmod(int(labels.names[place]), len(case.table.hierarchies[column].leaves))
            inside = np.flatnonzero((leaves >= first) & (leaves <= last))
            assert any(
                len(set(group[inside].tolist())) == 1 and charge[group[small]] <= labels.losses[place]
                for group, charge in column_covers(problem, column)
            )


@given(case=cases(persons=False, most_rows=10), k=st.integers(1, 4), intervals=st.booleans(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_prices_are_fair_in_every_box(case: Case, k: int, intervals: bool, data: st.DataObject) -> None:
    """Whatever the prices, after a walk the k highest of every box with k rows are within k times its loss."""
    if k > case.table.rows:
        return
    problem = make_problem(case.table, LocalWish(k, intervals=intervals))
    table = case.table
    price = np.array(
        data.draw(st.lists(st.floats(0, 1e4), min_size=table.distinct, max_size=table.distinct)), dtype=np.float64
    )
    covers = make_covers(problem, range(len(table.hierarchies)))
    fair, ended, _ = fair_prices(price, table.weights, covers, k, 1.2, 10**9, np.zeros(1, dtype=np.uint8))
    assert ended
    assert (fair <= 1.2 * price + 1e-9).all()
    columns = [range(int(a), int(b)) for a, b in zip(covers.begin[:-1], covers.begin[1:], strict=True)]
    for chosen in product(*columns):
        boxes: dict[tuple[int, ...], list[int]] = {}
        for row in range(table.distinct):
            boxes.setdefault(tuple(int(covers.group[cover, row]) for cover in chosen), []).append(row)
        for groups, rows in boxes.items():
            prices = sorted((p for row in rows for p in [fair[row]] * int(table.weights[row])), reverse=True)
            loss = sum(covers.charge[cover, group] for cover, group in zip(chosen, groups, strict=True))
            if len(prices) >= k:
                assert sum(prices[:k]) <= k * loss * (1 + 1e-9) + 1e-9


def test_the_gap_of_nothing() -> None:
    """A bound of 0 proves a loss of 0, and nothing about any other."""
    nothing = LocalBound(0.0, (), 0)
    assert nothing.gap(0.0) == 0
    assert nothing.gap(0.1) == float("inf")


@given(case=cases(persons=False, most_rows=40), k=st.integers(1, 6), intervals=st.booleans())
@settings(max_examples=150, deadline=None)
def test_nearest_rows_are_the_nearest(case: Case, k: int, intervals: bool) -> None:
    """What a row loses at least is what it shares with its (k − 1)-nearest neighbour, by looking at all of them."""
    if k > case.table.rows:
        return
    problem = make_problem(case.table, LocalWish(k, intervals=intervals))
    labels, table = problem.labels, case.table
    codes = np.empty((table.distinct, len(problem.leaves)), dtype=np.int32)
    codes[problem.row] = problem.pieces.codes
    order = np.random.default_rng(k).permutation(table.distinct)
    halt = np.zeros(1, dtype=np.uint8)
    least = near_losses(np.arange(table.distinct), codes, table.weights, order, labels, k, halt)
    for place, row in enumerate(order.tolist()):
        shared = []
        for other in range(table.distinct):
            pairs = [(min(a, b), max(a, b)) for a, b in zip(codes[row], codes[other], strict=True)]
            ends = labels.base + labels.width * np.array(pairs)[:, 0] + np.array(pairs)[:, 1]
            shared += [int(labels.losses[ends].sum())] * int(table.weights[other])
        assert least[place] == sorted(shared)[k - 1]


def test_a_walk_that_was_ended_is_followed_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants the bound to end is heard: neighbours of a million rows take longer than the walk."""
    problem = make_problem(read(people(), SCHEMA, hierarchies=hierarchies()), LocalWish(2))
    classes = search_classes(problem, QUICK)
    monkeypatch.setattr(bounds, "_near_prices", lambda *_: pytest.fail("neighbours were looked at"))
    assert lower_bound(problem, classes, 3, progress=lambda _done, _steps: False) == LocalBound(0.0, (), 0)


@given(case=cases(persons=False, most_rows=8), wish=wishes(), seconds=st.sampled_from([None, 1e-6, 5.0]))
@settings(max_examples=100, deadline=None)
def test_neighbours_give_a_bound_where_no_walk_ends(case: Case, wish: LocalWish, seconds: float | None) -> None:
    """With walks that are too long from the start, neighbours alone stay below brute force, in any time."""
    least = local_twins.least_loss(case.table, case.rows, wish)
    try:
        problem = make_problem(case.table, wish)
    except Unsafe:
        return
    usual = bounds.HOPELESS
    try:
        bounds.HOPELESS = 0
        proven = lower_bound(problem, search_classes(problem, QUICK), 3, seconds)
    finally:
        bounds.HOPELESS = usual
    assert least is not None
    assert proven.walks == 0
    assert proven.value <= float(least) + 1e-12
