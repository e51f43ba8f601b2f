"""The class table of every node of a lattice, with any counts beside: for numbers that the compiled walk has not.

Classes of a node are unions of classes of the node below, so each table is merged from one that is there already:
column by column, the last one fastest. A table has one row per class: the group of each column, and its counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Lattice
from kpareto.tables.table import merge_classes

ClassTable = tuple[int, tuple[int, ...], np.ndarray, np.ndarray]


def class_tables(codes: np.ndarray, counts: np.ndarray, hierarchies: Sequence[Hierarchy]) -> Iterator[ClassTable]:
    """Every node in the order of node numbers: its number, levels, groups (classes, quasi), counts (classes, kinds).

    codes: (rows, quasi) leaves, rows may repeat; counts: (rows, kinds) int64, added up within a class.
    """
    numbers = iter(range(Lattice(tuple(hierarchies)).size))
    groups, sums = merge_classes(np.asarray(codes), np.asarray(counts))
    for levels, classes, totals in _below((), groups, sums, hierarchies):
        yield next(numbers), levels, classes, totals


def _below(
    levels: tuple[int, ...], groups: np.ndarray, sums: np.ndarray, hierarchies: Sequence[Hierarchy]
) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
    """The tables of all nodes that begin with these levels, from the one whose further levels are 0."""
    column = len(levels)
    if column == len(hierarchies):
        yield levels, groups, sums
        return
    ladder = hierarchies[column].groups
    for level in range(ladder.shape[0]):
        if level:
            firsts = np.flatnonzero(np.diff(ladder[level - 1], prepend=-1))  # a leaf of each group below
            raised = groups.copy()
            raised[:, column] = ladder[level][firsts][groups[:, column]]
            groups, sums = merge_classes(raised, sums)
        yield from _below((*levels, level), groups, sums, hierarchies)
