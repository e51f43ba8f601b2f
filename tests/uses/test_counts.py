"""Random counts: as a slow twin counts them, the same for a seed, with a control that is what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kpareto as kp
from kpareto.measures.use import (
    Query,
    count_errors,
    draw_queries,
    fit_view,
    take_count,
    view_control,
    view_original,
    view_release,
)
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom, top
from kpareto.tables.table import Table
from tests.twins.use import (
    cuts_choice,
    levels_choice,
    local_choice,
    original_lines,
    related_table,
    released_lines,
    slow_count,
    slow_shares,
)

CHOICES: dict[str, Any] = {
    "levels": lambda table: levels_choice(table, (2, 1, 0)),
    "dropped": lambda table: levels_choice(table, (2, 1, 0), 12),
    "masked": lambda table: levels_choice(table, (2, 0, 0), 8, "mask"),
    "mixed levels": cuts_choice,
    "local": local_choice,
}


def spelled(table: Table, query: Query) -> dict[str, set[str]]:
    """A count by the values that it asks for."""
    leaves = {h.name: h.leaves for h in table.hierarchies} | {c.name: c.values for c in table.sensitive}
    return {name: {leaves[name][at] for at in np.flatnonzero(mask)} for name, mask in query.items()}


def own_queries(table: Table, seed: int = 2, drawn: int = 60) -> list[Query]:
    """Counts over quasi-identifiers alone."""
    queries, _ = draw_queries(table, view_original(table), seed, drawn)
    return [query for query in queries if set(query) <= set(table.schema.quasi)]


def compare_with_twin(partition: Partition, queries: list[Query]) -> None:
    """Every count from a release is that of the slow twin, evenly and fitted."""
    whole, evenly = view_original(partition.table), view_release(partition)
    original, (rows, stands) = original_lines(partition.table), released_lines(partition)
    for view, fitted in ((evenly, False), (fit_view(evenly, whole), True)):
        shares = slow_shares(original, rows, stands, fitted)
        for query in queries:
            wish = spelled(partition.table, query)
            slow = slow_count(original, rows, shares, wish)
            assert take_count(view, query) * whole.rows / view.rows == pytest.approx(slow, rel=1e-9)
            there = [times for row, times in original.items() if all(v in wish.get(c, {v}) for c, v in row)]
            assert take_count(whole, query) == sum(there)


@pytest.mark.parametrize("kind", CHOICES)
def test_counts_are_those_of_the_slow_twin(kind: str) -> None:
    """Whole levels, dropped and masked rows, and labels by class: evenly and fitted."""
    partition = CHOICES[kind](related_table()).partition()
    compare_with_twin(partition, own_queries(partition.table))


def test_adult_is_counted_as_the_twin_counts_it() -> None:
    """The same counts given, Adult at k = 5 is off by what the slow twin says."""
    point = kp.front(kp.adult_table(), suppression=0.02).choose(k=5)
    compare_with_twin(point.partition, own_queries(point.table, drawn=25))


def test_counts_of_adult_class_by_class_are_nearly_right() -> None:
    """Fitted to the totals they are off by 3, 5 and 7 % at most for k = 5, 11 and 20; with the totals alone by 30 %."""
    table = kp.adult_table()
    table = replace(table, schema=kp.Schema(table.schema.quasi), sensitive=(), targets=())
    options = {"ks": [5, 11, 20], "walks": 0}
    front = kp.front(table, objectives=("k", "lm"), method="local", suppression=0.02, options=options)
    for k, most in ((5, 0.03), (11, 0.05), (20, 0.07)):
        counts = kp.utility(front.choose(k=k)).counts
        assert counts.error is not None
        assert counts.control is not None
        assert counts.error.mean <= most < 0.3 < counts.control.mean


def test_a_table_that_is_shown_as_it_is_has_no_error() -> None:
    """Every count is right, evenly and fitted."""
    table = related_table()
    whole, evenly = view_original(table), view_release(classes(table, bottom(table.hierarchies)))
    queries, counted = draw_queries(table, whole, 3)
    assert counted == [take_count(whole, query) for query in queries]
    assert len(queries) > 200
    assert count_errors(whole, [evenly, fit_view(evenly, whole)], queries).max() < 1e-9


def test_everything_hidden_is_the_control() -> None:
    """A release without a label, fitted to the column totals, says what the totals say."""
    table = related_table()
    whole, hidden = view_original(table), view_release(classes(table, top(table.hierarchies)))
    queries, _ = draw_queries(table, whole, 3)
    fitted, control = count_errors(whole, [fit_view(hidden, whole), view_control(whole)], queries)
    assert np.allclose(fitted, control, atol=1e-12)
    assert control.max() > 0.1


def test_fitted_labels_have_the_totals_of_their_columns() -> None:
    """Where no row is dropped, values have as many rows as the original says: labels of levels at once, others nearly."""
    table = related_table()
    whole = view_original(table)
    for choice, off in ((levels_choice(table, (2, 1, 1)), 1e-9), (local_choice(table), 0.002)):
        fitted = fit_view(view_release(choice.partition()), whole)
        for column, spread in enumerate(fitted.spreads):
            shown = np.bincount(fitted.codes[column], fitted.weights, spread.labels)
            totals = shown @ spread.shares(np.arange(spread.values), spread.values)
            own = np.bincount(whole.codes[column], whole.weights, spread.values)
            assert np.abs(totals - own).sum() <= off * whole.rows


def test_drawn_counts_are_ranges_and_branches_of_enough_rows() -> None:
    """A seed gives the same counts; ages are ranges, towns branches, and one column at most is not recoded."""
    table = related_table()
    whole = view_original(table)
    (queries, _), (again, _), (other, _) = (draw_queries(table, whole, seed) for seed in (4, 4, 5))
    assert [spelled_sizes(q) for q in queries] == [spelled_sizes(q) for q in again] != [spelled_sizes(q) for q in other]
    branches = {(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (0, 1), (2, 4)}
    for query in queries:
        assert take_count(whole, query) >= 1
        assert len(query) <= 3
        assert sum(name not in table.schema.quasi for name in query) <= 1
        for name, mask in query.items():
            places = np.flatnonzero(mask)
            assert (np.diff(places) == 1).all()
            if name == "town":
                assert (places[0], places[-1]) in branches
    assert {len(query) for query in queries} == {1, 2, 3}


def spelled_sizes(query: Query) -> list[tuple[str, int, int]]:
    """A count in numbers that can be compared."""
    return [(name, int(np.flatnonzero(mask)[0]), int(mask.sum())) for name, mask in query.items()]
