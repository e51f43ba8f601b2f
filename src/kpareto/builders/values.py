"""What the builders start from: the values of a column as text or numbers, and levels made of sorted values."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from operator import ne

import numpy as np

from kpareto.errors import BadHierarchy
from kpareto.hierarchy import TOP, Hierarchy, levels_tree

# The values of a column, or each value with the number of rows that have it.
Values = Iterable[object] | Mapping[str, int]

# What no number has, as tables write it. Codes such as 02139 are text: their zeros mean something.
NO_NUMBER = re.compile(r"[^\d\n.eE+-]|^[+-]?0\d", re.ASCII | re.MULTILINE)


class Texts(tuple[str, ...]):
    """Distinct values that are text already, so that a million of them are looked through once."""

    __slots__ = ()


def text_of(value: object) -> str:
    """A value as people write it: text as it is, 5 for 5.0."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if math.isfinite(number) and number.is_integer() else repr(number)
    return str(value)


def texts_of(name: str, values: Values | None) -> Texts:
    """The distinct values as text, in order of first appearance."""
    if isinstance(values, Texts):
        return values
    if values is None:
        raise BadHierarchy(f"The hierarchy of {name!r} is a rule and needs the values of the column. Give values.")
    if isinstance(values, str):
        raise BadHierarchy(f"The values of {name!r} are one text, {values!r:.40}. Give a list of values.")
    given = list(values)
    plain = set(map(type, given)) <= {str}
    texts = Texts(dict.fromkeys(map(str, given) if plain else map(text_of, given)))
    if not texts:
        raise BadHierarchy(f"The hierarchy of {name!r} has no values. Give at least one.")
    return texts


def numbers_of(values: Sequence[str]) -> np.ndarray | None:
    """The values as numbers, (values,) float64, or None when one of them is not a number."""
    lines = "\n".join(values)
    if NO_NUMBER.search(lines) or lines.count("\n") != len(values) - 1:
        return None
    try:
        numbers = np.fromiter(map(float, values), dtype=np.float64, count=len(values))
    except ValueError:  # the empty text, a lone sign or dot
        return None
    return numbers if np.isfinite(numbers).all() else None


def sorted_numbers(name: str, values: Values | None, builder: str) -> tuple[list[str], np.ndarray]:
    """The distinct values with their numbers, both in rising order."""
    texts = texts_of(name, values)
    numbers = numbers_of(texts)
    if numbers is None:
        strange = next(text for text in texts if numbers_of([text]) is None)
        raise BadHierarchy(
            f"The {builder} of {name!r} need numbers, and {strange!r} is not one. "
            "Drop such rows, or give a hierarchy file that lists every value."
        )
    order = np.argsort(numbers, kind="stable")
    return [texts[position] for position in order.tolist()], numbers[order]


def stacked(
    name: str, leaves: Sequence[str], made: Sequence[tuple[np.ndarray, Sequence[str]]], advice: str = ""
) -> Hierarchy:
    """A hierarchy over sorted leaves from the levels above them, with ``*`` on top.

    A level is a key per leaf, equal within a group, and a label per group. A last level that already is one group is
    the top. ``advice`` is a last sentence for the error when a level splits a group of the level below.
    """
    count = len(leaves)
    levels = [np.arange(count)]
    names = [tuple(leaves)]
    for level, (key, shown) in enumerate(made, 1):
        if len(set(shown)) != len(shown):
            twice = Counter(shown).most_common(1)[0][0]
            raise BadHierarchy(
                f"Two groups on level {level} of the hierarchy of {name!r} would both be called {twice!r}. "
                "Take wider groups, or list the values in a file."
            )
        levels.append(np.concatenate(([0], np.cumsum(key[1:] != key[:-1]))))
        names.append(tuple(shown))
    if len(levels) == 1 or levels[-1].any():
        levels.append(np.zeros(count, dtype=np.int64))
        names.append((TOP,))
    names[-1] = (TOP,)
    groups = np.array(levels, dtype=np.int32)
    for level in range(1, len(groups)):
        split = (np.diff(groups[level]) != 0) & (np.diff(groups[level - 1]) == 0)
        if split.any():
            left = int(np.argmax(split))
            raise BadHierarchy(
                f"The hierarchy of {name!r} is not nested: {leaves[left]!r} and {leaves[left + 1]!r} are together at "
                f"level {level - 1} and apart at level {level}. {advice}".rstrip()
            )
    return Hierarchy(name, tuple(leaves), groups, tuple(names), levels_tree(groups, names))


def starts_of(key: np.ndarray) -> np.ndarray:
    """The first leaf of each run of equal keys: (groups,) int64."""
    return np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))


def text_keys(column: Sequence[str]) -> np.ndarray:
    """A number per text that changes wherever the text differs from the one before: (texts,) int64."""
    change = np.fromiter(starmap(ne, zip(column[1:], column, strict=False)), dtype=np.int64, count=len(column) - 1)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(change)))
