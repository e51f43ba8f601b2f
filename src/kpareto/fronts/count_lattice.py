"""Count the whole lattice by roll-up: every node's statistics, from class tables that were already counted.

The walk goes depth first, column by column; ``walk`` does the work below a prefix of levels, and each prefix is
a task of its own, so that all cores are busy. Answers do not depend on the number of threads.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from kpareto.fronts.packed_values import WIDTHS, AskedValues, HistLimit, HistNumber, count_words, pack_for_walk
from kpareto.interrupts import pause
from kpareto.kernels.classes import raise_table, rotate
from kpareto.kernels.lattice.bounding import Bounding, BoundRoom
from kpareto.kernels.lattice.walk import ClassTables, LevelColumns, LevelLosses, NodeStatistics, WalkRoom, walk
from kpareto.kernels.needed import Axes, ReachRoom
from kpareto.kernels.records import ClassTable, KernelQuestions, RuleNumbers, SizeSteps
from kpareto.kernels.words import AS_NEEDED, CAP_MAX_K, INTS, KEY_BITS
from kpareto.measures.reading import CLASS_SIZE, CellTable
from kpareto.tables.lattice import MOST_WORDS, Lattice, walk_order
from kpareto.tables.partition import RULES, Suppression
from kpareto.tables.table import Table

SLACK = 1e-9  # of a limit on class sizes, which may be no whole number
MOST_NODES = 2**22  # of the whole lattice that are counted as one part
MOST_PARTS = 2**24  # of which it is remembered whether they are settled
MOST_ALLOWED = 50_000_000  # rows that may be suppressed: class sizes up to this are counted one by one
MOST_VALUES = 200_000_000  # distinct rows times sensitive and target values, of recodings counted one by one
HALTED = -2  # what a walk answers that another thread has ended

Asked = TypeVar("Asked")
Told = TypeVar("Told")


@dataclass(frozen=True, eq=False)
class Wanted:
    """What to compute at every node."""

    suppression: Suppression
    losses: tuple[CellTable, ...] = ()
    numbers: tuple[HistNumber, ...] = ()
    limits: tuple[HistLimit, ...] = ()  # that each class must meet, for the rule as-needed
    sizes: bool = False  # classes, largest, squares, uniques, risky rows too
    risky_below: int = 0  # class sizes below this count as risky
    graded: tuple[tuple[int, ...], ...] = ()  # as-needed: per objective the numbers that thresholds are taken of

    @property
    def values(self) -> AskedValues:
        """What is asked of the sensitive and target values of classes."""
        return AskedValues(self.numbers, tuple(limit for limit in self.limits if limit.kind != CLASS_SIZE))

    @property
    def least(self) -> int:
        """The class size that the rule asks for, whatever else it does: that of below-k, or a limit of the job."""
        sizes = [math.ceil(limit.threshold - SLACK) for limit in self.limits if limit.kind == CLASS_SIZE]
        return max([self.suppression.k or 0, *sizes])


@dataclass(frozen=True, eq=False)
class CountedNodes:
    """Statistics of many nodes, one row each; as-needed gives a node several rows."""

    nodes: np.ndarray  # (n,) int64, node numbers
    thresholds: np.ndarray  # (n,) int64, classes smaller than this are suppressed
    ints: np.ndarray  # (n, INTS + losses) int64, see K …
    reals: np.ndarray  # (n, numbers) float64
    levels: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))  # if a measure looks there


def lattice_of(table: Table) -> Lattice:
    """The lattice of a table's hierarchies."""
    return Lattice(table.hierarchies)


def fits(table: Table, wanted: Wanted) -> bool:
    """Whether the roll-up can hold this table: histograms in memory, rows counted and dropped."""
    words = count_words(wanted.values, table)
    cap = wanted.suppression.allowed(table.rows)
    return (
        wanted.values.rows_of(table) * words * (len(table.hierarchies) + 1) <= MOST_WORDS
        and table.persons is None
        and (wanted.suppression.rows == "drop" or wanted.suppression.rule == "none")
        and min(cap, table.rows) <= MOST_ALLOWED
    )


def fits_batch(table: Table, wanted: Wanted) -> bool:
    """Whether the compiled batch can hold this table and these wishes."""
    values = sum(len(counts.values) for counts in wanted.values.columns())
    return (
        table.distinct * values <= MOST_VALUES
        and min(wanted.suppression.allowed(table.rows), table.rows) <= MOST_ALLOWED
        and not wanted.values.people
    )


def can_count_whole(table: Table, wanted: Wanted) -> bool:
    """Whether all nodes can be counted by roll-up: it holds the table, and there are few enough parts to go through."""
    return lattice_of(table).size <= MOST_PARTS * MOST_NODES and fits(table, wanted)


def count_lattice(
    table: Table, wanted: Wanted, threads: int | None = None, halt: np.ndarray | None = None
) -> CountedNodes:
    """The statistics of every node of the lattice, in the order of node numbers; with a halt it may be stopped."""
    parts = list(count_parts(table, wanted, threads, halt=halt))
    if halt is not None:
        pause()
    counted = join_nodes(parts)
    order = np.argsort(counted.nodes, kind="stable")
    return CountedNodes(*(getattr(counted, name)[order] for name in STATISTICS))


STATISTICS = ("nodes", "thresholds", "ints", "reals")


def join_nodes(parts: Sequence[CountedNodes]) -> CountedNodes:
    """The statistics of several parts, one after the other."""
    return CountedNodes(*(np.concatenate([getattr(part, name) for part in parts]) for name in STATISTICS))


def count_parts(
    table: Table, wanted: Wanted, threads: int | None = None, done: int = 0, halt: np.ndarray | None = None
) -> Iterator[CountedNodes]:
    """The statistics of every node, one part of the lattice after the other, in a fixed order.

    ``done`` parts are left out, which an earlier run has counted. Another thread may write 1 into ``halt``, which ends
    the parts under way; what they had counted is dropped.
    """
    walker = Walker(table, wanted)
    tasks = itertools.islice(walker.tasks(), done, None)
    never = np.zeros(1, dtype=np.int64) if halt is None else halt
    for counted in run_in_order(lambda task: walker.run(task, never), tasks, threads):
        if counted is None:
            return
        yield counted


def count_fixed(table: Table) -> int:
    """How many columns a part of the whole lattice fixes: two, or so many that the nodes of a part can be held."""
    levels = [table.hierarchies[column].top + 1 for column in walk_order(table)]
    fixed = min(2, len(levels) - 1)
    while math.prod(levels[fixed:]) > MOST_NODES:
        fixed += 1
    return fixed


def run_in_order(work: Callable[[Asked], Told], tasks: Iterable[Asked], threads: int | None) -> Iterator[Told]:
    """What work tells of each task, in the order of the tasks; few wait at a time, because each holds a table."""
    workers = threads or os.cpu_count() or 1
    if workers == 1:
        for task in tasks:
            yield work(task)
        return
    pool = ThreadPoolExecutor(workers)
    waiting: list[Future[Told]] = []
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            while len(waiting) > workers + 1:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, eq=False)
class WalkTask:
    """A prefix of levels and its classes; column first_column stands at level 0 in the lowest field."""

    classes: ClassTable
    levels: np.ndarray  # (columns,) int64
    first_column: int
    bits: int  # of a lane of its histograms
    highs: np.ndarray | None = None  # (further words of a key, classes) int64, where one does not hold it

    @property
    def size(self) -> int:
        """How many classes it has."""
        return len(self.classes.keys)


class Walker:
    """The records walk takes, columns in walk order."""

    def __init__(self, table: Table, wanted: Wanted, bounded: bool = False) -> None:
        self.table, self.wanted, self.order = table, wanted, walk_order(table)
        self.rule = make_rule(table, wanted)
        self.axes = make_axes(wanted)
        self.columns = _level_columns(table, self.order)
        self.losses = _level_losses(table, wanted.losses, self.order)
        self.values = pack_for_walk(table, wanted.values, bounded)

    def base(self) -> WalkTask:
        """The class table of the bottom node: lowest field the first column of the walk, highest the last."""
        rows = self.table.joined if self.wanted.values.people else self.table
        occurring = self.table.occurring
        codes = [np.searchsorted(occurring[column], rows.codes[:, column]) for column in self.order]
        words = pack_keys(codes, self.columns.bits.tolist())
        order = np.lexsort(words)
        classes = self._empty(len(order))
        firsts = (words[0], rows.weights, self.values.sets, self.values.packed)
        for room, first in zip(classes[:4], firsts, strict=True):
            np.take(first, order, axis=-1, out=room[: len(first)])
        highs = None if len(words) == 1 else np.ascontiguousarray(words[1:, order])
        return WalkTask(classes, np.zeros(len(self.order), dtype=np.int64), 0, self.values.lanes.bits, highs)

    def _empty(self, size: int) -> ClassTable:
        """Room for classes; memory that no narrow lane touches is never taken."""
        return ClassTable(
            np.empty(size, dtype=np.int64),
            np.empty(size, dtype=np.int64),
            np.empty((len(self.values.sets), size), dtype=np.int64),
            np.empty((self.values.most_words, size), dtype=np.int64),
            np.empty(size if self.values.most_words else 0, dtype=np.uint64),
        )

    def _words(self, bits: int) -> int:
        """The packed words of a class with lanes of so many bits."""
        return int(self.values.lanes.word_at[WIDTHS.index(bits), -1])

    def tasks(self, fixed: int | None = None) -> Iterator[WalkTask]:
        """Prefixes of levels, the first columns of the walk fixed; coarse tables come last."""
        yield from self._below(self.base(), count_fixed(self.table) if fixed is None else fixed)

    def _below(self, task: WalkTask, fixed: int) -> Iterator[WalkTask]:
        a, columns = task.first_column, self.columns
        if a == fixed:
            yield task
            return
        size, bits, total, lane_bits = task.size, int(columns.bits[a]), int(columns.bits.sum()), task.bits
        classes, highs = self._copy(task), None if task.highs is None else task.highs.copy()
        to = np.empty(size, dtype=np.uint64)
        questions, counted = self.values.questions, self.values.counted
        for level in range(int(columns.heights[a]) + 1):
            if level:
                start = int(columns.merge_at[a, level])
                merge = columns.merges[start : start + int(columns.group_counts[a, level - 1])]
                size, lane_bits = raise_table(
                    classes, size, (1 << bits) - 1, merge, to, questions, counted, lane_bits, level > 1, highs
                )
            turned, turned_highs = self._empty(size), None if highs is None else np.empty_like(highs[:, :size])
            groups = int(columns.group_counts[a, level])
            starts = np.empty(groups + 1, dtype=np.uint64)
            rotate(
                classes, size, (bits, total, groups), turned, to, starts, questions, counted, lane_bits, level > 0,
                None if highs is None else (highs, turned_highs),
            )  # fmt: skip
            levels = task.levels.copy()
            levels[a] = level
            yield from self._below(WalkTask(turned, levels, a + 1, lane_bits, turned_highs), fixed)

    def task_at(self, prefix: np.ndarray) -> WalkTask:
        """The task below one prefix: (fixed,) int64, levels of the first columns of the walk."""
        task = self.base()
        for wanted in prefix.tolist():
            below = self._below(task, task.first_column + 1)
            task = next(itertools.islice(below, wanted, None))
        return task

    def _copy(self, task: WalkTask) -> ClassTable:
        copy = self._empty(task.size)
        for room, first in zip(copy[:3], task.classes[:3], strict=True):
            room[:] = first
        words = self._words(task.bits)
        copy.hists[:words] = task.classes.hists[:words]
        return copy

    def run(
        self, task: WalkTask, halt: np.ndarray, pruning: tuple[Bounding, BoundRoom] | None = None
    ) -> CountedNodes | None:
        """All nodes below one prefix, or with pruning those that nothing beats; None where the walk was halted."""
        wanted, depths = self.wanted, len(self.order) - task.first_column
        nodes = math.prod((self.columns.heights[task.first_column :] + 1).tolist())
        most = nodes if pruning is None else min(nodes, 4096)
        most *= 16 if self.rule.by_size or self.axes is not None else 1
        # What is None is not compiled.
        sized = None if not wanted.sizes and (self.rule.number == CAP_MAX_K or self.rule.by_size) else True
        questions = self.values.questions
        bounded = None if pruning is None else (*pruning, None if questions is None else self.values.lanes)
        needed = None
        if self.axes is not None and questions is not None:
            room = reach_room(self.axes, len(wanted.losses), task.size, self.rule.allowed)
            needed = (self.axes, questions.numbers, room)
            questions = without_axes(questions, self.axes)
        while True:
            out = NodeStatistics(
                np.zeros((most, 2), dtype=np.int64),
                np.zeros((most, INTS + len(wanted.losses)), dtype=np.int64),
                np.zeros((most, len(wanted.numbers)), dtype=np.float64),
            )
            used = walk(
                self._tables(task, depths), _further(task, depths), (task.levels.copy(), task.first_column),
                (self.columns, self.losses), self.rule, sized, questions, self.values.counted, needed, bounded,
                self._room(task, depths, halt), out,
            )  # fmt: skip
            if used == HALTED:
                return None
            if used >= 0:
                return CountedNodes(out.labels[:used, 0], out.labels[:used, 1], out.ints[:used], out.reals[:used])
            most *= 4  # nobody knows beforehand how many thresholds the nodes have, or how many are left

    def _tables(self, task: WalkTask, depths: int) -> ClassTables:
        """A table for each depth, the first one filled."""
        size, words = task.size, self._words(task.bits)
        tables = ClassTables(
            np.empty((depths, size), dtype=np.int64),
            np.empty((depths, size), dtype=np.int64),
            np.empty((depths, len(self.values.sets), size), dtype=np.int64),
            np.empty((depths + 1, self.values.most_words, size), dtype=np.int64),
            np.empty((depths, size if self.values.most_words else 0), dtype=np.uint64),
        )
        for deep, first in zip(tables[:3], task.classes[:3], strict=True):
            deep[0] = first
        tables.hists[0, :words] = task.classes.hists[:words]
        return tables

    def _room(self, task: WalkTask, depths: int, halt: np.ndarray) -> WalkRoom:
        """Room for walk."""
        size = task.size
        bits = np.full(depths, task.bits, dtype=np.int64)
        return WalkRoom(
            to=np.empty(size, dtype=np.uint64),
            starts=np.empty(int(self.columns.group_counts.max()) + 1, dtype=np.uint64),
            steps=_steps_room(self.rule, len(self.wanted.losses)),
            base=np.zeros((len(self.wanted.losses), 1), dtype=np.int64),
            failing=np.zeros(size if self.rule.marked or self.axes is not None else 1, dtype=np.bool_),
            sizes=np.zeros(depths, dtype=np.int64),
            bits=bits,
            halt=halt,
            values=np.zeros(max(len(self.values.lanes.totals), 1), dtype=np.int64),
        )


def _further(task: WalkTask, depths: int) -> np.ndarray | None:
    """The further words of the keys for each depth, the first one filled."""
    if task.highs is None:
        return None
    highs = np.empty((depths, *task.highs.shape), dtype=np.int64)
    highs[0] = task.highs
    return highs


def pack_keys(codes: Sequence[np.ndarray], bits: Sequence[int]) -> np.ndarray:
    """Codes packed side by side, the first lowest: (words, rows) int64 of KEY_BITS bits each; a field may straddle."""
    words = np.zeros((-(-sum(bits) // KEY_BITS), len(codes[0])), dtype=np.int64)
    shift = 0
    for code, width in zip(codes, bits, strict=True):
        word, inside = divmod(shift, KEY_BITS)
        words[word] |= (code << inside) & ((1 << KEY_BITS) - 1)
        if inside + width > KEY_BITS:
            words[word + 1] |= code >> (KEY_BITS - inside)
        shift += width
    return words


def _steps_room(rule: RuleNumbers, losses: int) -> SizeSteps:
    """Room for the thresholds of one node: sizes that differ and add up to what is allowed are few."""
    capped = rule.number in (CAP_MAX_K, AS_NEEDED)
    thresholds = 3 + math.isqrt(2 * rule.allowed) if capped else 2
    return SizeSteps(
        np.zeros(thresholds, dtype=np.int64),
        np.zeros(thresholds, dtype=np.int64),
        np.zeros((losses, thresholds), dtype=np.int64),
        np.empty(rule.allowed + 1 if capped else 1, dtype=np.int64),
    )


def make_rule(table: Table, wanted: Wanted) -> RuleNumbers:
    """The suppression rule and the wanted statistics as the kernels take them."""
    rule = wanted.suppression
    marked = bool(wanted.values.limits)
    allowed = min(rule.allowed(table.rows), table.rows)
    number = RULES.index(rule.rule)
    least = min(wanted.least, table.rows + 1)
    return RuleNumbers(number, least, allowed, table.rows, wanted.risky_below, marked, rule.by_size is True)


def make_axes(wanted: Wanted) -> Axes | None:
    """What thresholds are taken of besides class sizes, as the kernels take it."""
    if not wanted.graded:
        return None
    places = np.array([place for asked in wanted.graded for place in asked], dtype=np.int64)
    owners = np.repeat(np.arange(len(wanted.graded)), [len(asked) for asked in wanted.graded])
    return Axes(places, owners.astype(np.int64), len(wanted.graded), float(wanted.suppression.step))


def without_axes(questions: KernelQuestions, axes: Axes) -> KernelQuestions:
    """The questions without those that the thresholds answer."""
    kinds = questions.numbers.kinds.copy()
    kinds[axes.places] = -1
    return questions._replace(numbers=questions.numbers._replace(kinds=kinds))


def reach_room(axes: Axes, losses: int, classes: int, allowed: int) -> ReachRoom:
    """Room for the classes that thresholds can suppress, of so many classes at the most."""
    reach = min(classes, (axes.objectives + 1) * allowed) + 1
    thresholds = 4 + math.isqrt(2 * allowed)
    entries = len(axes.places)
    return ReachRoom(
        numbers=np.zeros((entries, classes)),
        ranks=np.zeros((axes.objectives, classes)),
        classes=np.zeros(classes + 1, dtype=np.int64),
        costs=np.zeros((losses, reach), dtype=np.int64),
        away=np.zeros(reach, dtype=np.bool_),
        floors=np.zeros(axes.objectives),
        near_ranks=np.zeros(classes + 1),
        near_rows=np.zeros(classes + 1, dtype=np.int64),
        cutoffs=np.zeros((axes.objectives, reach + 1)),
        counts=np.zeros(axes.objectives, dtype=np.int64),
        at=np.zeros(axes.objectives, dtype=np.int64),
        outside=np.zeros(entries),
        first=np.zeros(thresholds, dtype=np.int64),
        worst=np.zeros((entries, thresholds + 1)),
        reached=np.zeros(axes.objectives),
    )


def _level_columns(table: Table, order: Sequence[int]) -> LevelColumns:
    """Heights, fields and merges of the columns in the order of the walk: of what occurs, not of what is declared."""
    ordered = [table.hierarchies[c] for c in order]
    bits = np.array([_bits(len(table.occurring[c])) for c in order], dtype=np.int64)
    heights = np.array([h.top for h in ordered], dtype=np.int64)
    most = int(heights.max()) + 1
    group_counts = np.zeros((len(order), most), dtype=np.int64)
    merge_at = np.zeros((len(order), most), dtype=np.int64)
    merges: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    length = 0
    for a in range(len(order)):
        groups = number_groups(table.hierarchies[order[a]].shown[:, table.occurring[order[a]]])
        for level in range(groups.shape[0]):
            group_counts[a, level] = int(groups[level, -1]) + 1
            if level:
                firsts = np.flatnonzero(np.diff(groups[level - 1], prepend=-1))
                merge_at[a, level] = length
                merges.append(groups[level][firsts].astype(np.int64))
                length += len(firsts)
    return LevelColumns(
        heights,
        bits,
        # At the innermost depth the fields from the bottom up are: last column, then the first, second, …
        np.append(bits[-1] + np.cumsum(bits[:-1]) - bits[:-1], 0),
        np.array(lattice_of(table).strides, dtype=np.int64)[list(order)],
        group_counts,
        merge_at,
        np.concatenate(merges),
    )


def _level_losses(table: Table, losses: Sequence[CellTable], order: Sequence[int]) -> LevelLosses:
    """Cell losses of every group of every level, columns in the order of the walk."""
    most = max(table.hierarchies[c].top for c in order) + 1
    at = np.zeros((len(order), most), dtype=np.int64)
    sums = np.zeros((len(losses), len(order), most), dtype=np.int64)
    lost = np.zeros((len(losses), len(order)), dtype=np.int64)
    pieces: list[np.ndarray] = []
    length = 0
    for a, column in enumerate(order):
        leaf_rows = table.leaf_rows[column]
        for b, loss in enumerate(losses):
            lost[b, a] = loss.suppressed(table, column)
        for level, cut in enumerate(table.hierarchies[column].shown):
            at[a, level] = length
            shown = np.unique(cut[table.occurring[column]])  # groups that occur, as losses know them
            piece = np.zeros((len(losses), len(shown)), dtype=np.int64)
            for b, loss in enumerate(losses):
                cells = loss.table_of(table, column, cut)
                piece[b] = cells[shown]
                sums[b, a, level] = int((cells[cut] * leaf_rows).sum())
            pieces.append(piece)
            length += piece.shape[1]
    rest = np.zeros((len(losses), len(order) + 1), dtype=np.int64)
    for a in range(len(order) - 1, -1, -1):
        levels = table.hierarchies[order[a]].top + 1
        rest[:, a] = rest[:, a + 1] + sums[:, a, :levels].min(axis=1)
    return LevelLosses(at, np.concatenate(pieces, axis=1), sums, lost, rest)


def number_groups(cuts: np.ndarray) -> np.ndarray:
    """Cuts (n, leaves) of which leaves were taken out, groups numbered from 0 without gaps again: int64."""
    return np.cumsum(np.diff(cuts, axis=1, prepend=cuts[:, :1]) != 0, axis=1)


def _bits(leaves: int) -> int:
    return max(1, (leaves - 1).bit_length())
