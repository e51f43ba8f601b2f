"""What the builders start from: the values of a column as text or numbers, and levels made of sorted values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from operator import ne

import numpy as np

from kpareto.errors import BadHierarchy
from kpareto.tables.hierarchy import STAR, Hierarchy, check_nested, levels_tree
from kpareto.tables.spelling import EXACT, number_text

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
        return number_text(float(value))
    return str(value)


def texts_of(name: str, values: Values | None) -> Texts:
    """The distinct values as text, in order of first appearance."""
    if isinstance(values, Texts):
        return values
    if values is None:
        raise BadHierarchy(f"The hierarchy of {name!r} is a rule and needs the values of the column. Give values.")
    if isinstance(values, str):
        raise BadHierarchy(f"The values of {name!r} are one text, {values!r:.40}. Give a list of values.")
    entries = list(values)
    plain = set(map(type, entries)) <= {str}
    texts = Texts(dict.fromkeys(map(str, entries) if plain else map(text_of, entries)))
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
    large = [text for text in texts if abs(float(text)) >= EXACT and text.lstrip("+-").isdecimal()]
    if large:
        raise BadHierarchy(
            f"The {builder} of {name!r} need numbers below {EXACT:,}, and {len(large):,} of its values are not: "
            "neighbours could not be told apart. Such values are codes; give prefixes, or a hierarchy file."
        )
    order = np.argsort(numbers, kind="stable")
    return [texts[position] for position in order.tolist()], numbers[order]


def stack_levels(
    name: str, leaves: Sequence[str], upper_levels: Sequence[tuple[np.ndarray, Sequence[str]]], advice: str = ""
) -> Hierarchy:
    """A hierarchy over sorted leaves from the levels above them, with ``*`` on top.

    A level is a key per leaf, equal within a group, and a label per group. A last level that already is one group is
    the top. ``advice`` is a last sentence for the error when a level splits a group of the level below.
    """
    count = len(leaves)
    levels = [np.arange(count)]
    names = [tuple(leaves)]
    for level, (key, shown) in enumerate(upper_levels, 1):
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
        names.append((STAR,))
    names[-1] = (STAR,)
    groups = np.array(levels, dtype=np.int32)
    check_nested(name, leaves, np.diff(groups, axis=1), advice)
    return Hierarchy(name, tuple(leaves), groups, tuple(names), levels_tree(groups, names))


def starts_of(key: np.ndarray) -> np.ndarray:
    """The first leaf of each run of equal keys: (groups,) int64."""
    return np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))


def levels_by_ends(names: Sequence[str], keys: Iterable[np.ndarray]) -> list[tuple[np.ndarray, list[str]]]:
    """A level for each key that merges something, its groups called by the first and the last of their names."""
    levels, groups = [], len(names)
    for key in keys:
        first = starts_of(key)
        if 1 < len(first) < groups:
            groups = len(first)
            last = np.append(first[1:], len(names)) - 1
            ends = [(names[low], names[high]) for low, high in zip(first.tolist(), last.tolist(), strict=True)]
            levels.append((key, [low if low == high else f"{low}-{high}" for low, high in ends]))
    return levels


def text_keys(column: Sequence[str]) -> np.ndarray:
    """A number per text that changes wherever the text differs from the one before: (texts,) int64."""
    change = np.fromiter(starmap(ne, zip(column[1:], column, strict=False)), dtype=np.int64, count=len(column) - 1)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(change)))


# -- sizes that a rule implies: told before memory is taken ------------------------------------------------------------

MOST_LEAVES = 5_000_000  # a leaf takes about 200 bytes, as a text, a number and a group on each level
MOST_LEVELS = 1_000
LEAF_BYTES = 200


def whole_range(name: str, first: int, last: int) -> range:
    """Every whole number from the first to the last as a value, where they are not too many."""
    count = last - first + 1
    if count > MOST_LEAVES:
        raise BadHierarchy(
            f"The hierarchy of {name!r} goes from {first:,} to {last:,}: {count:,} values, about "
            f"{count * LEAF_BYTES / 2**30:,.0f} GiB of memory. Give a range of at most {MOST_LEAVES:,} values, or "
            "leave 'to' out, and the values of the table are taken."
        )
    return range(first, last + 1)


def check_levels_wanted(name: str, word: str, count: int) -> None:
    """Raise where a rule asks for more levels than anybody can look at."""
    if count > MOST_LEVELS:
        raise BadHierarchy(
            f"The rule {word} of {name!r} makes {count:,} levels, each with an entry per value. "
            f"Give at most {MOST_LEVELS:,}."
        )


def check_parts(name: str, parts: int) -> None:
    """Raise where a column is to be divided into more parts than it may have values."""
    if parts > MOST_LEAVES:
        raise BadHierarchy(f"The quantiles of {name!r} are {parts:,} parts. Give at most {MOST_LEAVES:,}.")
