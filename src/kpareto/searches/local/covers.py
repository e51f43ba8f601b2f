"""Covers of a column: a few ways to divide its values into groups such that every label lies in a group that is no
dearer.

The lower bound walks over boxes, one group per column. It may walk over fewer and larger boxes than there are labels,
as long as every label lies within some group whose *charge* is at most what the label loses: then a class in its own
labels also lies in a box that is charged at most what the class loses.

* A column of a tree: one cover per level. A label is a node, a node is a group of some level, and its charge is its
  own loss.
* A column of intervals: single values, then for the intervals of more than half a length and up to that length three
  divisions into windows half as long again, shifted by half the length. Such an interval lies in a window of one of
  the three. The charge is the least loss of an interval longer than half the length in that window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kpareto.kernels.local.prices import Covers
from kpareto.searches.local.problem import LocalProblem

Cover = tuple[np.ndarray, np.ndarray]  # group of each value: (values,) int32; charge of each group: (groups,) float64


def column_covers(problem: LocalProblem, column: int) -> list[Cover]:
    """The covers of one column, from fine to coarse."""
    return _windows(problem, column) if problem.labels.free[column] else _levels(problem, column)


def make_covers(problem: LocalProblem, columns: Sequence[int]) -> Covers:
    """The covers of some columns in the form the walk reads; those with few values come first and end it early."""
    codes = np.empty((problem.table.distinct, len(problem.leaves)), dtype=np.int32)
    codes[problem.row] = problem.pieces.codes
    chosen = [
        (column, column_covers(problem, column)) for column in sorted(columns, key=lambda c: len(problem.leaves[c]))
    ]
    covers = [(column, cover) for column, listed in chosen for cover in listed]
    charge = np.full((len(covers), max(len(cost) for _, (_, cost) in covers)), np.inf)
    for number, (_, (_, cost)) in enumerate(covers):
        charge[number, : len(cost)] = cost
    return Covers(
        np.stack([group[codes[:, column]] for column, (group, _) in covers]).astype(np.int32),
        np.array([len(cost) for _, (_, cost) in covers], dtype=np.int64),
        charge,
        np.concatenate(([0], np.cumsum([len(listed) for _, listed in chosen]))).astype(np.int64),
    )


def _square(problem: LocalProblem, column: int) -> np.ndarray:
    """What a label loses, by its smallest and its largest value: (values, values) int64."""
    base, width = int(problem.labels.base[column]), int(problem.labels.width[column])
    return problem.labels.losses[base : base + width * width].reshape(width, width)


def _levels(problem: LocalProblem, column: int) -> list[Cover]:
    square = _square(problem, column)
    covers: list[Cover] = []
    for cut in problem.table.hierarchies[column].groups:
        _, first, group = np.unique(cut[problem.leaves[column]], return_index=True, return_inverse=True)
        last = np.append(first[1:], len(group)) - 1
        if not covers or len(first) < len(covers[-1][1]):  # a level that merges nothing that occurs adds no label
            covers.append((group.astype(np.int32), square[first, last].astype(np.float64)))
    return covers


def _windows(problem: LocalProblem, column: int) -> list[Cover]:
    square = _square(problem, column)
    count = len(square)
    values = np.arange(count)
    covers: list[Cover] = [(values.astype(np.int32), np.diagonal(square).astype(np.float64))]
    length = 2
    while length // 2 < count:
        shift = length // 2
        # An interval of this class has shift + 1 … length values; short[a] is what the shortest one from a on loses.
        short = square[values[: count - shift], values[shift:]].astype(np.float64)
        for offset in range(3) if shift + length < count else (0,):
            window = (values + (3 - offset) * shift) // (3 * shift) if shift + length < count else np.zeros_like(values)
            window = window - window[0]
            cost = np.full(int(window[-1]) + 1, np.inf)
            inside = window[: count - shift] == window[shift:]
            np.minimum.at(cost, window[: count - shift][inside], short[inside])
            covers.append((window.astype(np.int32), cost))
        length *= 2
    return covers
