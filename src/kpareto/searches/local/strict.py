"""The strict kind: a partition of the space by a tree of questions, so that no two labels overlap.

A set of rows is divided by a question about one column: which child of its node (a tree column), or on which side of a
border (a column of intervals). Every part must keep every limit, all parts go their own way, and rows that are equal
stay together. Two labels then never overlap, and a new row finds its class by answering the questions. The price is a
larger loss than the other kind has: one child with too few rows forbids the question.

The question is the one that saves most loss per bit of class size given up, the loss being counted over all columns
after the division. Some trees are grown, with the weights of columns drawn anew; the best is kept.

Where columns have highest levels, these are asked for first, whatever it saves: no label may hold two groups of such a
level. A combination of such groups that is no class, for its rows are too few, is suppressed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kpareto.errors import Unsafe
from kpareto.kernels.local.classes import run_holds
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem
from kpareto.searches.local.recoding import LocalClasses, LocalRecoding, read_classes
from kpareto.searches.local.search import Progress, Workers
from kpareto.tables.boxes import Question, answer, renumber
from kpareto.tables.coarse import say_above
from kpareto.tables.table import Table

TREES = 8
VARY = 0.4
GONE = -1  # where questions lead to no class: the rows are suppressed


@dataclass(frozen=True, eq=False)
class StrictRecoding:
    """A local recoding without overlapping labels, and the questions that lead to its classes."""

    recoding: LocalRecoding
    root: Question | int
    classes: LocalClasses

    def class_of(self, leaves: np.ndarray) -> int:
        """The class a row falls into, by its leaves: (columns,)."""
        return int(answer(self.root, np.asarray(leaves)[None, :])[0])

    def covers(self, leaves: np.ndarray) -> bool:
        """Whether the labels of a row's class hold its values; if not, the row must not be released with them."""
        number = self.class_of(leaves)
        if number == GONE:
            return False
        first, last = self.recoding.first[number], self.recoding.last[number]
        return bool(((first <= leaves) & (leaves <= last)).all())


def strict(
    table: Table, wish: LocalWish, seed: int = 1, trees: int = TREES, progress: Progress | None = None
) -> StrictRecoding:
    """A partition of the space that keeps the wish; only what highest levels leave without a class is suppressed.

    More trees never give a greater loss.
    """
    return strict_recoding(make_problem(table, wish), seed, trees, progress)


def strict_recoding(
    problem: LocalProblem,
    seed: int = 1,
    trees: int = TREES,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> StrictRecoding:
    """The same on a problem made ready; stopped or out of time, parts that were not looked at yet stay undivided."""
    workers = Workers(1, seconds, progress, trees)
    columns, rng = problem.pieces.codes.shape[1], np.random.default_rng(seed)
    best = _Grown(problem, np.ones(columns), 0.5, workers)
    for number in range(1, trees):
        workers.done = number
        workers.listen()
        if workers.stopped:
            break
        other = _Grown(problem, np.exp(VARY * rng.standard_normal(columns)), float(rng.random()), workers)
        best = other if other.loss < best.loss else best
    return _number_classes(problem, best)


class _Grown:
    """One tree of questions, grown from the root down."""

    def __init__(self, problem: LocalProblem, scale: np.ndarray, power: float, workers: Workers) -> None:
        self.problem, self.scale, self.power, self.workers = problem, scale, power, workers
        self.rows = problem.copies * problem.pieces.size
        self.room = np.zeros(len(problem.limits.totals), dtype=np.int64)
        self.classes: list[np.ndarray] = []  # pieces of each class
        self.dropped: list[np.ndarray] = []  # pieces that are in no class
        self.loss = 0
        self.root = self._ask_for_levels(np.arange(len(problem.copies)), 0)

    def _ask_for_levels(self, pieces: np.ndarray, column: int) -> Question | int:
        """The questions for the highest levels of this column and those after it, then all others."""
        if column == len(self.scale):
            rows = int(self.rows[pieces].sum())
            if rows >= self.problem.limits.k and self._holds(pieces):
                return self._grow(pieces)
            self.loss += self.problem.labels.lost * rows
            self.dropped.append(pieces)
            return GONE
        leaves, hierarchy = self.problem.leaves[column], self.problem.table.hierarchies[column]
        codes = self.problem.pieces.codes[pieces, column]
        top = hierarchy.groups[hierarchy.top][leaves[codes]]
        groups = np.unique(top)
        if len(groups) == 1:
            return self._ask_for_levels(pieces, column + 1)
        borders = [int(leaves[codes[top == group].min()]) for group in groups]
        parts = [self._ask_for_levels(pieces[top == group], column + 1) for group in groups]
        return Question(column, tuple(borders), tuple(parts))

    def _grow(self, pieces: np.ndarray) -> Question | int:
        """The questions for some pieces; those that are not divided become a class."""
        self.workers.listen()
        division = None if self.workers.stopped else self._best_division(pieces)
        if division is None:
            self.loss += self._box_loss(pieces) * int(self.rows[pieces].sum())
            self.classes.append(pieces)
            return len(self.classes) - 1
        column, borders, parts = division
        leaves = self.problem.leaves[column]
        return Question(
            column, tuple(int(leaves[b]) for b in borders), tuple(self._grow(pieces[part]) for part in parts)
        )

    def _best_division(self, pieces: np.ndarray) -> tuple[int, list[int], list[np.ndarray]] | None:
        """The question worth most: its column, the first code of each part, and where the part's pieces are."""
        rows = int(self.rows[pieces].sum())
        if rows < 2 * self.problem.limits.k:
            return None
        whole, best, answer = self._box_loss(pieces) * rows, 0.0, None
        for column in range(len(self.scale)):
            codes = self.problem.pieces.codes[pieces, column]
            for borders in self._borders(codes, pieces, column):
                part_of = np.searchsorted(borders, codes, side="right") - 1
                sizes = np.bincount(part_of, weights=self.rows[pieces])
                if sizes.min() < self.problem.limits.k:
                    continue
                parts = [np.flatnonzero(part_of == part) for part in range(len(borders))]
                saved = whole - sum(self._box_loss(pieces[p]) * int(s) for p, s in zip(parts, sizes, strict=True))
                bits = float(-(sizes * np.log2(sizes / rows)).sum())
                worth = float(self.scale[column]) * saved / bits**self.power
                if worth > best and all(self._holds(pieces[part]) for part in parts):
                    best, answer = worth, (column, borders, parts)
        return answer

    def _borders(self, codes: np.ndarray, pieces: np.ndarray, column: int) -> list[list[int]]:
        """The questions a column has for some codes, each as the first code of every part."""
        labels = self.problem.labels
        present = np.unique(codes)
        if len(present) == 1:
            return []
        if labels.free[column]:
            ahead = np.cumsum(np.bincount(np.searchsorted(present, codes), weights=self.rows[pieces]))[:-1]
            k, total = self.problem.limits.k, int(self.rows[pieces].sum())
            fitting = np.flatnonzero((ahead >= k) & (total - ahead >= k))
            # The borders nearest to an eighth, two eighths, … of the rows: all of them would take too long.
            places = (
                {int(fitting[np.argmin(np.abs(ahead[fitting] - total * part / 8))]) for part in range(1, 8)}
                if len(fitting)
                else set()
            )
            return [[int(present[0]), int(present[place + 1])] for place in sorted(places)]
        base, width = int(labels.base[column]), int(labels.width[column])
        name = labels.names[base + width * int(present[0]) + int(present[-1])]
        borders, first = [int(present[0])], int(present[0])
        for code in present[1:].tolist():
            if labels.names[base + width * first + code] == name:
                borders.append(code)
                first = code
        return [borders]

    def _box_loss(self, pieces: np.ndarray) -> int:
        """What one row of a class loses."""
        labels, codes = self.problem.labels, self.problem.pieces.codes[pieces]
        places = labels.base + labels.width * codes.min(axis=0) + codes.max(axis=0)
        return int(labels.losses[places].sum())

    def _holds(self, pieces: np.ndarray) -> bool:
        problem = self.problem
        if len(problem.limits.kinds) == 0:
            return True  # k is looked at before
        order = np.repeat(pieces, problem.copies[pieces]).astype(np.int32)
        return bool(run_holds(order, 0, len(order), problem.pieces, problem.limits, self.room))


def _number_classes(problem: LocalProblem, grown: _Grown) -> StrictRecoding:
    """The recoding of a tree's classes, and the tree with the numbers classes have in it."""
    none = np.zeros(0, dtype=np.int64)
    gone = np.concatenate([none, *grown.dropped])
    if int(grown.rows[gone].sum()) > problem.allowed or not grown.classes:
        raise Unsafe(say_above(problem.limits.k))
    order = np.concatenate([np.repeat(pieces, problem.copies[pieces]) for pieces in grown.classes]).astype(np.int32)
    ends = np.cumsum([int(problem.copies[pieces].sum()) for pieces in grown.classes])
    dropped = np.repeat(gone, problem.copies[gone]).astype(np.int32)
    classes = LocalClasses(order, np.concatenate(([0], ends)).astype(np.int64), dropped)
    recoding = read_classes(problem, classes)
    owner = np.empty(len(problem.copies), dtype=np.int64)
    owner[recoding.item_piece] = recoding.item_class
    number = [int(owner[pieces[0]]) for pieces in grown.classes]
    return StrictRecoding(recoding, renumber(grown.root, [*number, GONE]), classes)
