"""LocalRecoding: which rows are together in a class, what each class shows, and what that loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from kpareto.errors import BadJob, Unsafe
from kpareto.kernels.local.classes import boxes_of, class_losses, class_sizes, run_holds
from kpareto.searches.local.problem import LocalProblem
from kpareto.tables.boxes import Division, LabelBoxes, Question, make_boxes
from kpareto.tables.coarse import say_above
from kpareto.tables.table import number_rows


@dataclass(frozen=True, eq=False)
class LocalClasses:
    """How the search sees a local recoding: class c is ``order[cuts[c] : cuts[c + 1]]``."""

    order: np.ndarray  # (entries,) int32, a piece per copy
    cuts: np.ndarray  # (classes + 1,) int64
    dropped: np.ndarray  # (suppressed entries,) int32, a piece per copy

    def loss(self, problem: LocalProblem) -> int:
        """What all rows lose, in whole numbers of the problem's unit."""
        lost = int(problem.pieces.size[self.dropped].sum()) * problem.labels.lost
        sizes = class_sizes(self.order, self.cuts, problem.pieces)
        return lost + int(class_losses(self.order, self.cuts, problem.pieces, problem.labels) @ sizes)

    def hold(self, problem: LocalProblem) -> bool:
        """Whether every row is in it once, every class keeps every limit, and no more rows are suppressed than may."""
        everything = np.concatenate((self.order, self.dropped))
        if self.cuts[0] != 0 or self.cuts[-1] != len(self.order) or (np.diff(self.cuts) <= 0).any():
            return False
        if not np.array_equal(np.bincount(everything, minlength=len(problem.copies)), problem.copies):
            return False
        tally = np.zeros(len(problem.limits.totals), dtype=np.int64)
        borders = zip(self.cuts[:-1].tolist(), self.cuts[1:].tolist(), strict=True)
        return (
            int(problem.pieces.size[self.dropped].sum()) <= problem.allowed
            and all(run_holds(self.order, start, end, problem.pieces, problem.limits, tally) for start, end in borders)
            and not self.above(problem).any()
        )

    def above(self, problem: LocalProblem) -> np.ndarray:
        """Which classes show a label above the highest level of its column: (classes,) bool."""
        return class_losses(self.order, self.cuts, problem.pieces, problem.labels) >= problem.dear

    def within_levels(self, problem: LocalProblem) -> LocalClasses:
        """The classes that show no such label; the rows of the others are suppressed, unless these are too many."""
        above = self.above(problem)
        if not above.any():
            return self
        sizes = np.diff(self.cuts)
        gone = np.repeat(above, sizes)
        dropped = np.concatenate((self.dropped, self.order[gone]))
        if int(problem.pieces.size[dropped].sum()) > problem.allowed or above.all():
            raise Unsafe(say_above(problem.limits.k))
        return LocalClasses(self.order[~gone], np.append(0, np.cumsum(sizes[~above])), dropped)


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """Classes with labels of their own. Classes with equal labels are one, because that is what an onlooker sees.

    An item is (piece, class, copies): so many copies of a piece are in that class. ``problem.row[piece]`` is the
    distinct row, ``problem.pieces.size[piece]`` the rows of a copy; where limits speak of sensitive values, the
    entries of the piece say which values the rows of a copy have.
    """

    problem: LocalProblem
    item_piece: np.ndarray  # (items,) int64
    item_class: np.ndarray  # (items,) int64, −1: suppressed
    item_copies: np.ndarray  # (items,) int64
    first: np.ndarray  # (classes, columns) int32, first leaf of the label
    last: np.ndarray  # (classes, columns) int32, last leaf of the label
    sizes: np.ndarray  # (classes,) int64, rows

    @property
    def k(self) -> int:
        """Rows of the smallest class."""
        return int(self.sizes.min(initial=self.problem.table.rows))

    @property
    def classes(self) -> int:
        """Sets of equal labels."""
        return len(self.sizes)

    @property
    def item_row(self) -> np.ndarray:
        """The distinct row of each item: (items,) int64."""
        return self.problem.row[self.item_piece]

    @property
    def item_rows(self) -> np.ndarray:
        """The rows of each item: (items,) int64."""
        return self.item_copies * self.problem.pieces.size[self.item_piece]

    @cached_property
    def suppressed(self) -> int:
        """Suppressed rows."""
        return int(self.item_rows[self.item_class < 0].sum())

    @cached_property
    def exact_loss(self) -> Fraction:
        """The loss that was asked for, without rounding where the loss itself is not rounded."""
        table, loss = self.problem.table, self.problem.wish.loss
        total = 0
        for column in range(len(table.hierarchies)):
            cells = loss.run_table(table, column)[self.first[:, column], self.last[:, column]]
            total += sum(cell * rows for cell, rows in zip(cells.tolist(), self.sizes.tolist(), strict=True))
            total += self.suppressed * loss.suppressed(table, column)
        return total * loss.scale(table)

    @property
    def loss(self) -> float:
        """The loss that was asked for (LM, unless another was)."""
        return float(self.exact_loss)

    def labels(self, number: int) -> tuple[str, ...]:
        """What the rows of a class show, column by column."""
        runs = zip(self.problem.table.hierarchies, self.first[number].tolist(), self.last[number].tolist(), strict=True)
        return tuple(hierarchy.group_label(first, last) for hierarchy, first, last in runs)


def read_classes(problem: LocalProblem, classes: LocalClasses) -> LocalRecoding:
    """The recoding that classes of the search amount to; those with equal labels become one."""
    count, columns = len(classes.cuts) - 1, problem.pieces.codes.shape[1]
    small, large = np.empty((count, columns), dtype=np.int32), np.empty((count, columns), dtype=np.int32)
    boxes_of(classes.order, classes.cuts, problem.pieces, small, large)
    first, last = np.empty((count, columns), dtype=np.int32), np.empty((count, columns), dtype=np.int32)
    for column, hierarchy in enumerate(problem.table.hierarchies):
        place = problem.labels.base[column] + problem.labels.width[column] * small[:, column] + large[:, column]
        first[:, column], last[:, column] = np.divmod(problem.labels.names[place], len(hierarchy.leaves))
    seen, shown = number_rows(np.concatenate((first, last), axis=1))
    owner = np.concatenate(
        (seen[np.repeat(np.arange(count), np.diff(classes.cuts))], np.full(len(classes.dropped), -1))
    )
    key = np.stack((np.concatenate((classes.order, classes.dropped)).astype(np.int64), owner), axis=1)
    items, copies = np.unique(key, axis=0, return_counts=True)
    sizes = class_sizes(classes.order, classes.cuts, problem.pieces)
    return LocalRecoding(
        problem,
        items[:, 0].copy(),
        items[:, 1].copy(),
        copies.astype(np.int64),
        first[shown],
        last[shown],
        np.bincount(seen, weights=sizes, minlength=len(shown)).astype(np.int64),
    )


def to_boxes(
    recodings: Sequence[LocalRecoding], roots: Sequence[Question | int | None] = ()
) -> tuple[Division, list[LabelBoxes]]:
    """Local recodings of one table as boxes over common items, so that any two of them can be compared row by row.

    ``roots`` are the questions of those that have any.

    The problems must know every column. Equal rows stand in the order of their classes: where a recoding has its
    border among them, all have one, and so the items are the finest that any of them needs.
    """
    if not recodings:
        raise BadJob("There is no local recoding to show. Search at least one k.")
    parts = [_line_up(recoding) for recoding in recodings]
    borders = np.unique(np.concatenate([ends for ends, _, _, _ in parts]))
    ends, row, value, _ = parts[0]
    place = np.searchsorted(ends, borders)
    row, value = row[place], value[place]
    members = [owner[np.searchsorted(ends, borders)] for ends, _, _, owner in parts]
    items = Division(row, value, np.diff(borders, prepend=0))
    table = items.table(recodings[0].problem.table)
    together = zip(members, recodings, roots or [None] * len(recodings), strict=True)
    return items, [make_boxes(table, item, r.first, r.last, root) for item, r, root in together]


def _line_up(recoding: LocalRecoding) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All rows in a line by row, value and class: where each stretch ends, its row, its value, its class."""
    problem = recoding.problem
    row, value = recoding.item_row, problem.value[recoding.item_piece]
    order = np.lexsort((recoding.item_class, value, row))
    ends = np.cumsum(recoding.item_rows[order])
    return ends, row[order], value[order], recoding.item_class[order]
