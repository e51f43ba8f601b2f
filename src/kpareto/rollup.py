"""Count the whole lattice by roll-up: every node's statistics, from class tables that were already counted.

The walk goes depth first, column by column; ``kernels.walk`` does the work below a prefix of levels, and each prefix is
a task of its own, so that both cores are busy. Answers do not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kpareto import kernels
from kpareto.partition import RULES, Suppression
from kpareto.space import Lattice
from kpareto.table import Counts, Table

MOST_BITS = 62
MOST_CELLS = 400_000_000  # histogram entries that may be held at once, about 1.6 GB


class CellTable(Protocol):
    """A loss that is a sum over cells: what the compiled walk needs to know of it (see loss.CellLoss)."""

    def table_of(self, table: Table, column: int, cut: np.ndarray) -> np.ndarray:
        """Cell loss of each group of a cut, as whole numbers: (groups,) int64."""

    def suppressed(self, table: Table, column: int) -> int:
        """Loss of a suppressed cell, in the same unit."""

    def run_table(self, table: Table, column: int) -> np.ndarray:
        """Loss of a cell in each run of leaves, (first leaf, last leaf) int64; for recodings by cuts."""


@dataclass(frozen=True)
class HistNumber:
    """A number about each class's histogram: kind is one of the kernel's constants."""

    kind: int
    counts: Counts
    parameter: float = 0.0


@dataclass(frozen=True)
class HistLimit:
    """A limit that each class must meet under the rule constraint; kind -1 limits the class size."""

    kind: int
    threshold: float
    counts: Counts | None = None
    parameter: float = 0.0


@dataclass(frozen=True, eq=False)
class Wanted:
    """What to compute at every node."""

    suppression: Suppression
    losses: tuple[CellTable, ...] = ()
    numbers: tuple[HistNumber, ...] = ()
    limits: tuple[HistLimit, ...] = ()  # for the rule constraint
    sizes: bool = False  # classes, largest, squares, uniques, risky rows too
    risky_below: int = 0  # class sizes below this count as risky


@dataclass(frozen=True, eq=False)
class Counted:
    """Statistics of many nodes, one row each; cap-threshold gives a node several rows."""

    nodes: np.ndarray  # (n,) int64, node numbers
    thresholds: np.ndarray  # (n,) int64, classes smaller than this are suppressed
    ints: np.ndarray  # (n, INTS + losses) int64, see kernels.K …
    reals: np.ndarray  # (n, numbers) float64


def lattice_of(table: Table) -> Lattice:
    """The lattice of a table's hierarchies."""
    return Lattice(table.hierarchies)


def fits(table: Table, wanted: Wanted) -> bool:
    """Whether the roll-up can hold this table: keys in one word, histograms in memory."""
    bits = sum(_bits(len(h.leaves)) for h in table.hierarchies)
    values = sum(len(c.values) for c in histogram_columns(wanted))
    cap = wanted.suppression.allowed(table.rows)
    return (
        bits <= MOST_BITS
        and table.distinct * values * (len(table.hierarchies) + 1) <= MOST_CELLS
        and table.persons is None
        and (wanted.suppression.rows == "drop" or wanted.suppression.rule == "none")
        and cap <= 50_000_000
    )


def walk_order(table: Table) -> list[int]:
    """Columns with few levels first; last a column with many levels whose leaves hardly split the table.

    The innermost column is never rotated and its leaf level is visited in every table above it, so a column that is
    nearly constant (native-country in Adult) belongs there. Within a few percent of the best order on Adult.
    """
    heights = [h.height for h in table.hierarchies]
    order = sorted(range(len(heights)), key=lambda c: (heights[c], len(table.hierarchies[c].leaves)))
    tall = [c for c in order if 2 * heights[c] >= max(heights)]
    spread = {c: float(((table.leaf_rows[c] / table.rows) ** 2).sum()) for c in tall}
    last = max(tall, key=lambda c: spread[c])
    return [c for c in order if c != last] + [last]


def count_lattice(table: Table, wanted: Wanted, threads: int | None = None) -> Counted:
    """The statistics of every node of the lattice, in the order of node numbers."""
    parts = list(count_parts(table, wanted, threads))
    nodes = np.concatenate([part.nodes for part in parts])
    order = np.argsort(nodes, kind="stable")
    return Counted(
        nodes[order],
        np.concatenate([part.thresholds for part in parts])[order],
        np.concatenate([part.ints for part in parts])[order],
        np.concatenate([part.reals for part in parts])[order],
    )


def count_parts(table: Table, wanted: Wanted, threads: int | None = None) -> Iterator[Counted]:
    """The statistics of every node, one part of the lattice after the other, in a fixed order."""
    plan = _Plan(table, wanted, walk_order(table))
    workers = threads or os.cpu_count() or 1
    if workers == 1:
        for task in plan.tasks():
            yield plan.run(task)
        return
    pool = ThreadPoolExecutor(workers)
    waiting: list[Future[Counted]] = []
    try:
        for task in plan.tasks():
            waiting.append(pool.submit(plan.run, task))
            while len(waiting) > 4 * workers:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, eq=False)
class _Task:
    keys: np.ndarray
    counts: np.ndarray
    hists: np.ndarray
    levels: np.ndarray
    first_column: int


class _Plan:
    """The arrays kernels.walk takes, in walk order."""

    def __init__(self, table: Table, wanted: Wanted, order: Sequence[int]) -> None:
        self.table, self.wanted, self.order = table, wanted, list(order)
        self.rule = RULES.index(wanted.suppression.rule)
        self.allowed = wanted.suppression.allowed(table.rows)
        ordered = [table.hierarchies[c] for c in order]
        self.bits = np.array([_bits(len(h.leaves)) for h in ordered], dtype=np.int64)
        # At the innermost depth the fields from the bottom up are: last column, then the first, second, …
        self.shifts = np.append(self.bits[-1] + np.cumsum(self.bits[:-1]) - self.bits[:-1], 0)
        self.heights = np.array([h.height for h in ordered], dtype=np.int64)
        self.strides = np.array(lattice_of(table).strides, dtype=np.int64)[self.order]
        self._levels()
        self._losses()
        self.hists = Histograms(table, wanted)

    def _levels(self) -> None:
        most = int(self.heights.max()) + 1
        columns = len(self.order)
        self.group_counts = np.zeros((columns, most), dtype=np.int64)
        self.merge_at = np.zeros((columns, most), dtype=np.int64)
        merges: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
        length = 0
        for a, column in enumerate(self.order):
            groups = self.table.hierarchies[column].groups
            for level in range(groups.shape[0]):
                self.group_counts[a, level] = int(groups[level, -1]) + 1
                if level:
                    firsts = np.flatnonzero(np.diff(groups[level - 1], prepend=-1))
                    self.merge_at[a, level] = length
                    merges.append(groups[level][firsts].astype(np.int64))
                    length += len(firsts)
        self.merges = np.concatenate(merges)

    def _losses(self) -> None:
        losses = self.wanted.losses
        columns, most = self.group_counts.shape
        self.cells_at = np.zeros((columns, most), dtype=np.int64)
        self.cell_sums = np.zeros((len(losses), columns, most), dtype=np.int64)
        self.cell_lost = np.zeros((len(losses), columns), dtype=np.int64)
        pieces: list[np.ndarray] = []
        length = 0
        for a, column in enumerate(self.order):
            groups = self.table.hierarchies[column].groups
            leaf_rows = self.table.leaf_rows[column]
            for b, loss in enumerate(losses):
                self.cell_lost[b, a] = loss.suppressed(self.table, column)
            for level in range(groups.shape[0]):
                cut = groups[level]
                self.cells_at[a, level] = length
                piece = np.zeros((len(losses), int(cut[-1]) + 1), dtype=np.int64)
                for b, loss in enumerate(losses):
                    piece[b] = loss.table_of(self.table, column, cut)
                    self.cell_sums[b, a, level] = int((piece[b][cut] * leaf_rows).sum())
                pieces.append(piece)
                length += piece.shape[1]
        self.cells = np.concatenate(pieces, axis=1)

    def base(self) -> _Task:
        """The class table of the bottom node: lowest field the first column of the walk, highest the last."""
        key = np.zeros(self.table.distinct, dtype=np.int64)
        shift = 0
        for a, column in enumerate(self.order):
            key |= self.table.codes[:, column].astype(np.int64) << shift
            shift += int(self.bits[a])
        order = np.argsort(key, kind="stable")
        levels = np.zeros(len(self.order), dtype=np.int64)
        return _Task(key[order], self.table.weights[order], self.hists.packed[:, order], levels, 0)

    def tasks(self, fixed: int = 2) -> Iterator[_Task]:
        """Prefixes of levels, the first columns of the walk fixed; coarse tables come last."""
        yield from self._below(self.base(), min(fixed, len(self.order) - 1))

    def _below(self, task: _Task, fixed: int) -> Iterator[_Task]:
        a = task.first_column
        if a == fixed:
            yield task
            return
        keys, counts, hists = task.keys.copy(), task.counts.copy(), task.hists.copy()
        size, bits, total = len(keys), int(self.bits[a]), int(self.bits.sum())
        to = np.empty(size, dtype=np.uint64)
        for level in range(int(self.heights[a]) + 1):
            if level:
                start = int(self.merge_at[a, level])
                merge = self.merges[start : start + int(self.group_counts[a, level - 1])]
                size = kernels.raise_last(keys, counts, hists, size, (1 << bits) - 1, merge, to)
            turned = (np.empty(size, np.int64), np.empty(size, np.int64), np.empty((hists.shape[0], size), np.int64))
            groups = int(self.group_counts[a, level])
            place = np.empty(groups + 1, dtype=np.uint64)
            kernels.rotate(keys, counts, hists, size, bits, total, groups, *turned, to, place)
            levels = task.levels.copy()
            levels[a] = level
            yield from self._below(_Task(*turned, levels, a + 1), fixed)

    def run(self, task: _Task) -> Counted:
        """All nodes below one prefix."""
        wanted = self.wanted
        depths, size = len(self.order) - task.first_column, len(task.keys)
        nodes = int(np.prod(self.heights[task.first_column :] + 1))
        most = nodes * (16 if wanted.suppression.rule == "cap-threshold" else 1)
        while True:
            tables = (
                np.empty((depths, size), dtype=np.int64),
                np.empty((depths, size), dtype=np.int64),
                np.empty((depths, len(task.hists), size), dtype=np.int64),
            )
            for table, first in zip(tables, (task.keys, task.counts, task.hists), strict=True):
                table[0] = first
            labels = np.zeros((most, 2), dtype=np.int64)
            ints = np.zeros((most, kernels.INTS + len(wanted.losses)), dtype=np.int64)
            reals = np.zeros((most, len(wanted.numbers)), dtype=np.float64)
            used = kernels.walk(
                tables, task.levels.copy(), task.first_column, self.heights, self.bits, self.shifts, self.merge_at,
                self.merges, self.group_counts, self.strides, self.rule, wanted.suppression.k or 0, self.allowed,
                self.cells_at, self.cells, self.cell_sums, self.cell_lost, self.table.rows, wanted.sizes,
                wanted.risky_below, self.hists.asked, self._room(depths, size), labels, ints, reals,
            )  # fmt: skip
            if used >= 0:
                return Counted(labels[:used, 0], labels[:used, 1], ints[:used], reals[:used])
            most *= 4  # nobody knows beforehand how many thresholds the nodes have

    def _room(self, depths: int, size: int) -> tuple[np.ndarray, ...]:
        """Room for kernels.walk, in its order."""
        capped = self.wanted.suppression.rule in ("cap-max-k", "cap-threshold")
        thresholds = 3 + math.isqrt(2 * self.allowed) if capped else 2
        return (
            np.empty(size, dtype=np.uint64),  # to: where each class goes
            np.empty(int(self.group_counts.max()) + 1, dtype=np.uint64),  # starts: where each group goes
            np.empty(self.allowed + 1 if capped else 1, dtype=np.int64),  # small: rows in classes of each size
            np.zeros(thresholds, dtype=np.int64),  # found
            np.zeros(thresholds, dtype=np.int64),  # lost: rows suppressed under each threshold
            np.zeros(size if self.wanted.suppression.rule == "constraint" else 1, dtype=np.bool_),  # failing
            np.zeros(depths, dtype=np.int64),  # sizes: classes at each depth
            np.zeros(max(len(self.hists.borders[2]), 1), dtype=np.int64),  # values: the histogram of one class
        )


class Histograms:
    """The sensitive and target counts of each distinct row, packed, and what is wanted of them."""

    def __init__(self, table: Table, wanted: Wanted) -> None:
        columns = histogram_columns(wanted)
        at = {id(counts): position for position, counts in enumerate(columns)}
        self.lane_bits = 16 if table.rows < 2**16 else 32 if table.rows < 2**31 else 64
        lanes = 64 // self.lane_bits
        widths = [len(counts.values) for counts in columns]
        segments = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
        words = np.concatenate(([0], np.cumsum([-(-width // lanes) for width in widths]))).astype(np.int64)
        self.packed = np.zeros((int(words[-1]), table.distinct), dtype=np.int64)  # (words, distinct)
        for position, counts in enumerate(columns):
            shift = counts.code.astype(np.int64) % lanes * self.lane_bits
            np.add.at(self.packed, (words[position] + counts.code // lanes, counts.row), counts.count << shift)
        totals = np.concatenate([np.zeros(0, dtype=np.int64), *(counts.totals for counts in columns)])
        self.borders = (segments, words, totals)
        self.numbers = (
            np.array([n.kind for n in wanted.numbers], dtype=np.int64),
            np.array([at[id(n.counts)] for n in wanted.numbers], dtype=np.int64),
            np.array([n.parameter for n in wanted.numbers], dtype=np.float64),
            np.array([_stop(n, table.rows) for n in wanted.numbers], dtype=np.float64),
        )
        self.limits = (
            np.array([limit.kind for limit in wanted.limits], dtype=np.int64),
            np.array([0 if n.counts is None else at[id(n.counts)] for n in wanted.limits], dtype=np.int64),
            np.array([[n.threshold, n.parameter] for n in wanted.limits], dtype=np.float64).reshape(-1, 2),
        )
        # None where nothing is asked, so that nothing of it is compiled.
        self.asked = None
        if wanted.numbers or wanted.limits:
            self.asked = ((self.lane_bits, *self.borders), self.numbers, self.limits)


def histogram_columns(wanted: Wanted) -> list[Counts]:
    """The sensitive and target columns whose histograms are needed, each once."""
    found: dict[int, Counts] = {}
    for counts in (*(number.counts for number in wanted.numbers), *(limit.counts for limit in wanted.limits)):
        if counts is not None:
            found.setdefault(id(counts), counts)
    return list(found.values())


def _bits(leaves: int) -> int:
    return max(1, (leaves - 1).bit_length())


def _stop(number: HistNumber, rows: int) -> float:
    """The worst a class can be: these numbers are worst for a class of one row (they are convex)."""
    if number.kind in (kernels.MINORITY, kernels.OWN):
        return 0.0
    totals = number.counts.totals
    if number.kind in (kernels.DISTINCT, kernels.ENTROPY):
        return 1.0
    if number.kind == kernels.DELTA:  # a rare case of a common value can be further off than a class of one row
        return float("inf")
    rarest = np.zeros(len(totals), dtype=np.int64)
    worst = 0.0
    for value in np.flatnonzero(totals).tolist() if number.kind == kernels.T_ORDERED else [int(_rarest(totals))]:
        rarest[:] = 0
        rarest[value] = 1
        worst = max(worst, kernels.class_number(number.kind, rarest, 1, totals, rows, number.parameter))
    return float(worst)


def _rarest(totals: np.ndarray) -> int:
    return int(np.where(totals > 0, totals, np.iinfo(np.int64).max).argmin())
