"""Questions: a tree that leads every row to one class, so that recodings whose labels do not overlap work again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Question:
    """One node of the tree: ask for the leaf in a column, and go to the child with the last border at or below it.

    ``borders[i]`` is the first leaf that belongs to ``children[i]``; a child is another question, or the number of a
    class. A new row may answer into a part of the space in which no row was seen: it comes to the class of the
    neighbouring part, and its values may then lie outside the labels of that class, which whoever asks must check.
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
        waiting += [(child, rows[part == place]) for place, child in enumerate(at.children)]
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
        if not 0 <= data < classes:
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
