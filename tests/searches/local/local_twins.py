"""Slow twins of local recoding, from rows, trees and fractions: no loop of ours, no arrays of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from kpareto.measures.cells import generalization_loss
from kpareto.searches.local.problem import LocalWish
from kpareto.tables.table import Table
from tests.twins.strategies import Row

KeepsLimits = Callable[[list[Row]], bool]


def label(table: Table, column: int, leaves: set[int], intervals: bool) -> tuple[int, int]:
    """The smallest label that holds some leaves, as (first, last) leaf."""
    hierarchy = table.hierarchies[column]
    if intervals and hierarchy.ordered:
        return min(leaves), max(leaves)
    runs = zip(hierarchy.tree.first.tolist(), hierarchy.tree.last.tolist(), strict=True)
    return min((r for r in runs if r[0] <= min(leaves) and max(leaves) <= r[1]), key=lambda r: r[1] - r[0])


def cell_loss(table: Table, column: int, first: int, last: int) -> Fraction:
    """What a cell loses that shows a run of leaves."""
    import numpy as np

    loss = generalization_loss(table, column)
    return Fraction(int(loss.of_runs(np.array([first]), np.array([last]))[0]), loss.denominator)


def class_loss(table: Table, rows: Sequence[Row], intervals: bool) -> Fraction:
    """What all rows of a class lose together, in cells."""
    total = Fraction(0)
    for column in range(len(table.hierarchies)):
        first, last = label(table, column, {row.leaves[column] for row in rows}, intervals)
        total += len(rows) * cell_loss(table, column, first, last)
    return total


def keeps(wish: LocalWish) -> KeepsLimits:
    """Whether rows may be a class: k, and the limits l and alpha on the first sensitive column."""

    def kept(rows: list[Row]) -> bool:
        values = Counter(row.sensitive[0] for row in rows) if wish.limits else Counter()
        return (
            len(rows) >= wish.k
            and len(values) >= wish.limits.get("l", 0)
            and all(count <= wish.limits.get("alpha", 1) * len(rows) + 1e-12 for count in values.values())
        )

    return kept


def least_loss(table: Table, rows: Sequence[Row], wish: LocalWish) -> Fraction | None:
    """The least LM of any partition of the rows, some of them suppressed as far as allowed; None where there is none.

    Over all sets of rows: the class of the first row that is left is any set of those that are.
    """
    kept, columns = keeps(wish), len(table.hierarchies)
    allowed = int(len(rows) * wish.suppression + 1e-9)

    @cache
    def cost(chosen: int) -> Fraction | None:
        inside = [row for i, row in enumerate(rows) if chosen >> i & 1]
        return class_loss(table, inside, wish.intervals) if kept(inside) else None

    @cache
    def best(left: int, drops: int) -> Fraction | None:
        if left == 0:
            return Fraction(0)
        lowest = left & -left
        others = left ^ lowest
        answers = []
        if drops:
            rest = best(others, drops - 1)
            answers += [] if rest is None else [rest + columns]
        more = others
        while True:
            here = cost(lowest | more)
            rest = None if here is None else best(others ^ more, drops)
            answers += [] if here is None or rest is None else [here + rest]
            if more == 0:
                return min(answers, default=None)
            more = (more - 1) & others

    found = best((1 << len(rows)) - 1, allowed)
    return None if found is None else found / (len(rows) * columns)
