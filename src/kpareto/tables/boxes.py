"""Boxes: classes with labels of their own, the noun behind local recoding.

A cut shows a value the same way in every row. Here each class has one run of leaves per column as its label, and runs
of two classes may overlap. Of seven equal rows three may be in one class and four in another, so what has a class is
an *item*: some rows of one distinct row, and where a sensitive or target column varies within that row, of one value
of it. Items are a Table again, in which a distinct row may stand more than once; so every measure counts them as ever.

Where no two labels overlap, a tree of questions leads every row to its class, so that the recoding works again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kpareto.errors import BadInput
from kpareto.tables.table import Counts, Table, number_rows

UNFIT = "The classes of a local recoding do not fit the table"


@dataclass(frozen=True, eq=False)
class Division:
    """How the distinct rows of a table are divided, sorted by row, then value."""

    row: np.ndarray  # (items,) int64, the distinct row
    value: np.ndarray  # (items,) int64, a code of the one column that varies in the row; -1: none does, or all of it
    weight: np.ndarray  # (items,) int64, rows, none zero

    def table(self, table: Table) -> Table:
        """The items as a table; raises where they are not a division of this one."""
        if len(self.row) == 0 or self.row.min() < 0 or self.row.max() >= table.distinct or self.weight.min() < 1:
            raise BadInput(f"{UNFIT}: it has other rows.")
        if not np.array_equal(np.bincount(self.row, self.weight, table.distinct).astype(np.int64), table.weights):
            raise BadInput(f"{UNFIT}: they hold more or fewer rows than it has.")
        if table.persons is not None:
            raise BadInput("A local recoding counts rows, and this table tells persons apart.")
        columns = (*table.sensitive, *table.targets)
        lead = leading(table)
        whole = self.weight == table.weights[self.row]
        if ((self.value >= 0) & (lead[self.row] < 0)).any() or (~whole & (lead[self.row] == -2)).any():
            raise BadInput(f"{UNFIT}: they divide rows whose values are not known one by one.")
        if (~whole & (lead[self.row] >= 0) & (self.value < 0)).any():
            raise BadInput(f"{UNFIT}: it is not told which values a divided row has.")
        parts = [self._counts(counts, lead[self.row] == index) for index, counts in enumerate(columns)]
        for counts, part in zip(columns, parts, strict=True):
            if not np.array_equal(part.totals, counts.totals):
                raise BadInput(f"{UNFIT}: {counts.name!r} has other values.")
        return replace(
            table,
            codes=table.codes[self.row],
            weights=self.weight,
            sensitive=tuple(parts[: len(table.sensitive)]),
            targets=tuple(parts[len(table.sensitive) :]),
        )

    def _counts(self, counts: Counts, leads: np.ndarray) -> Counts:
        """The counts of one column by item; ``leads``: it is the one that varies in the row of the item."""
        by_value = leads & (self.value >= 0)
        begin, entries = counts.start[self.row], np.diff(counts.start)[self.row]
        entries = np.where(by_value, 1, entries)
        start = np.concatenate(([0], np.cumsum(entries))).astype(np.int64)
        owner = np.repeat(np.arange(len(self.row)), entries)
        entry = np.arange(int(start[-1])) - start[owner] + begin[owner]
        one = (by_value | (entries == 1))[owner]  # all rows of the item have this value
        code = np.where(by_value[owner], self.value[owner], counts.code[entry]).astype(np.int32)
        if len(code) and int(code.max()) >= len(counts.values):
            raise BadInput(f"{UNFIT}: {counts.name!r} has other values.")
        count = np.where(one, self.weight[owner], counts.count[entry]).astype(np.int64)
        return replace(counts, start=start, code=code, count=count)


def leading(table: Table) -> np.ndarray:
    """Per distinct row the one further column that varies in it; -1: none, -2: several: (distinct,) int64.

    A table knows each sensitive and target column by itself, not which values occur together. So a row in which two of
    them vary cannot be divided.
    """
    columns = (*table.sensitive, *table.targets)
    if not columns:
        return np.full(table.distinct, -1, dtype=np.int64)
    varies = np.stack([np.diff(counts.start) > 1 for counts in columns])  # (columns, distinct) bool
    several = varies.sum(axis=0)
    return np.where(several == 0, -1, np.where(several == 1, np.argmax(varies, axis=0), -2)).astype(np.int64)


@dataclass(frozen=True)
class Question:
    """One node of the tree: ask for the leaf in a column, and go to the child with the last border at or below it.

    ``borders[i]`` is the first leaf that belongs to ``children[i]``; a child is another question, or the number of a
    class, -1 where its rows are suppressed. A new row may answer into a part of the space in which no row was seen: it
    comes to the class of the neighbouring part, and its values may then lie outside the labels of that class, which
    whoever asks must check.
    """

    column: int
    borders: tuple[int, ...]  # leaves of the column's hierarchy, rising
    children: tuple[Question | int, ...]


def answer(root: Question | int, codes: np.ndarray) -> np.ndarray:
    """The class that each row falls into by its leaves: codes (rows, columns) -> (rows,) int64."""
    classes = np.empty(len(codes), dtype=np.int64)
    waiting: list[tuple[Question | int, np.ndarray]] = [(root, np.arange(len(codes)))]
    while waiting:
        at, rows = waiting.pop()
        if not isinstance(at, Question):
            classes[rows] = at
            continue
        part = np.maximum(np.searchsorted(at.borders, codes[rows, at.column], side="right") - 1, 0)
        waiting += [(child, rows[part == index]) for index, child in enumerate(at.children)]
    return classes


def renumber(root: Question | int, number: Sequence[int]) -> Question | int:
    """The tree with other numbers for its classes: ``number[c]`` for c."""
    if isinstance(root, Question):
        return Question(root.column, root.borders, tuple(renumber(child, number) for child in root.children))
    return int(number[root])


def move_borders(root: Question | int, places: Sequence[np.ndarray]) -> Question | int:
    """The tree over other leaves: ``places[column][leaf]`` is where a border comes to stand."""
    if isinstance(root, Question):
        borders = tuple(int(places[root.column][border]) for border in root.borders)
        return Question(root.column, borders, tuple(move_borders(child, places) for child in root.children))
    return root


def questions_data(root: Question | int) -> Any:
    """The tree as plain data: the number of a class, or [column, borders, children]."""
    if isinstance(root, Question):
        return [root.column, list(root.borders), [questions_data(child) for child in root.children]]
    return root


def questions_from(data: Any, columns: int, classes: int) -> Question | int:
    """The tree of plain data; a ValueError says what does not fit."""
    if isinstance(data, int) and not isinstance(data, bool):
        if not -1 <= data < classes:
            raise ValueError(f"a question leads to class {data}, and there are {classes}")
        return data
    if not isinstance(data, list) or len(data) != 3 or not all(isinstance(part, list) for part in data[1:]):
        raise ValueError("a question is no list of column, borders and children")
    column, borders, children = data
    if not isinstance(column, int) or not 0 <= column < columns or len(borders) != len(children) or not borders:
        raise ValueError("a question has another column, or other children than borders")
    if not all(isinstance(border, int) for border in borders) or sorted(set(borders)) != borders:
        raise ValueError("the borders of a question do not rise")
    return Question(column, tuple(borders), tuple(questions_from(child, columns, classes) for child in children))


@dataclass(frozen=True, eq=False)
class LabelBoxes:
    """Classes of items; all rows of a class show the same runs of leaves."""

    items: Table  # not in lexicographic order, and a distinct row may stand in it more than once
    members: np.ndarray  # (items,) int64, the class of each item, -1: suppressed
    first: np.ndarray  # (classes, columns) int32, first leaf of the label
    last: np.ndarray  # (classes, columns) int32, last leaf of the label
    root: Question | int | None = None  # the questions that lead to the classes, where no two labels overlap

    def __post_init__(self) -> None:
        count = len(self.first)
        shape = (count, self.items.codes.shape[1])
        if self.first.shape != shape or self.last.shape != shape or self.members.shape != (self.items.distinct,):
            raise BadInput(f"{UNFIT}: it has other columns or rows.")
        kept = self.members >= 0
        owner, codes = self.members[kept], self.items.codes[kept]
        if (self.members < -1).any() or owner.max(initial=-1) >= count or not np.bincount(owner, minlength=count).all():
            raise BadInput(f"{UNFIT}: a class has no rows.")
        if (self.first[owner] > codes).any() or (self.last[owner] < codes).any():
            raise BadInput(f"{UNFIT}: a row lies outside the labels of its class.")
        leaves = np.array([len(hierarchy.leaves) for hierarchy in self.items.hierarchies])
        if (self.first < 0).any() or (self.last >= leaves).any():
            raise BadInput(f"{UNFIT}: a label has leaves that the hierarchy does not have.")

    @cached_property
    def runs(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Per column the distinct labels, rising: their first and last leaves, (labels,) int64 each."""
        return tuple((run // width, run % width) for run, width in zip(self._runs[0], self._widths, strict=True))

    @cached_property
    def groups(self) -> np.ndarray:
        """Which label of its column each class shows: (classes, columns) int32."""
        return self._runs[1]

    @property
    def _widths(self) -> list[int]:
        return [len(hierarchy.leaves) for hierarchy in self.items.hierarchies]

    @cached_property
    def _runs(self) -> tuple[list[np.ndarray], np.ndarray]:
        groups, runs = np.empty(self.first.shape, dtype=np.int32), []
        for column, width in enumerate(self._widths):
            run, groups[:, column] = np.unique(
                self.first[:, column].astype(np.int64) * width + self.last[:, column], return_inverse=True
            )
            runs.append(run)
        return runs, groups

    def common_cut(self, column: int) -> np.ndarray:
        """The finest cut of a column whose groups hold every label whole: (leaves,) int32."""
        leaves = self._widths[column]
        inside = np.zeros(leaves + 1, dtype=np.int64)  # labels that go on from a leaf to the next
        first, last = self.runs[column]
        np.add.at(inside, first, 1)
        np.add.at(inside, last, -1)
        borders = np.cumsum(inside)[: leaves - 1] == 0
        return np.concatenate(([0], np.cumsum(borders))).astype(np.int32)


def make_boxes(
    items: Table, members: np.ndarray, first: np.ndarray, last: np.ndarray, root: Question | int | None = None
) -> LabelBoxes:
    """Boxes in the order of their labels; classes with equal labels are one, because that is what an onlooker sees."""
    boxes = LabelBoxes(items, members, first, last)
    numbers, chosen = number_rows(boxes.groups)
    owner = np.append(numbers, -1)  # the last is what -1 finds
    questions = None if root is None else renumber(root, owner.tolist())
    return LabelBoxes(items, owner[members], first[chosen].astype(np.int32), last[chosen].astype(np.int32), questions)
