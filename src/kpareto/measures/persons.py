"""Whom a class protects: how many persons, or rows where persons are not told apart, have each sensitive value.

A person may have several rows, and so several values; what an attacker concludes about a person of a class is the
share of its *persons* who have a value. A row without an id belongs to nobody: it is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Partition
from kpareto.tables.table import Counts, Held

Reference = Literal["table", "release"]
REACH = 6  # the fewest values that touch everybody are exact up to this number; the verifier has its own


@dataclass(frozen=True, eq=False)
class Units:
    """How many persons, or rows, of each class have each value; classes in which nobody has one are left out."""

    counts: Counts  # count: (entries,) int64, or float64 where each person is spread evenly over their values
    sizes: np.ndarray  # (classes,) int64, persons or rows with a value, none zero
    visible: np.ndarray  # (classes,) bool
    totals: np.ndarray  # (values,) the same of the reference
    whole: int  # persons or rows of the reference with a value
    tree: Hierarchy | None = None  # of the values, where the table has one

    @property
    def rows(self) -> np.ndarray:
        """Persons or rows in the class of each entry: (entries,) int64."""
        return self.sizes[self.counts.row]


def count_units(
    partition: Partition, counts: Counts, reference: Reference = "table", even: bool = False
) -> tuple[Units, np.ndarray]:
    """The units of the classes, and which classes have any: (classes,) bool.

    even: whether each person counts as one altogether, spread evenly over their values.
    """
    merged, tree = partition.counts(counts), partition.table.trees.get(counts.name)
    if merged.held is not None:
        units, some = _count_persons(partition, merged, merged.held, reference, even)
        return replace(units, tree=tree), some
    some = np.diff(merged.start) > 0
    totals = merged.totals
    if reference == "release":
        seen = partition.visible[merged.row]
        totals = np.bincount(merged.code[seen], weights=merged.count[seen], minlength=len(merged.values))
    sizes = np.bincount(merged.row, weights=merged.count, minlength=len(some)).astype(np.int64)
    return Units(_keep(merged, some), sizes[some], partition.visible[some], totals, int(totals.sum()), tree), some


def _count_persons(
    partition: Partition, merged: Counts, owners: Held, reference: Reference, even: bool
) -> tuple[Units, np.ndarray]:
    """The persons of each class by value, and those of the reference, where each is counted once."""
    width, classes = len(merged.values), len(partition.rows)
    weights, sizes = _weigh(owners.row, owners, classes, even)
    keys, entry = np.unique(owners.row * width + owners.code, return_inverse=True)
    count = np.bincount(entry, weights=weights, minlength=len(keys))
    start = np.searchsorted(keys, np.arange(classes + 1) * width).astype(np.int64)
    theirs = Counts(merged.name, merged.values, start, (keys % width).astype(np.int32), _whole(count, even))
    seen = partition.visible[owners.row] if reference == "release" else np.ones(len(owners.row), dtype=np.bool_)
    totals, people = count_everybody(Held(owners.row[seen], owners.person[seen], owners.code[seen]), width, even)
    some = sizes > 0
    kept = Held((np.cumsum(some) - 1)[owners.row], owners.person, owners.code)
    one = Counts(theirs.name, theirs.values, theirs.start, theirs.code, theirs.count, None, kept)
    return Units(_keep(one, some), sizes[some], partition.visible[some], totals, people), some


def count_everybody(owners: Held, width: int, even: bool) -> tuple[np.ndarray, int]:
    """The persons with each of so many values, whatever their rows, each once: (width,), and how many have any."""
    everybody = Held(np.zeros(len(owners.row), dtype=np.int64), owners.person, owners.code)
    everybody = everybody.recode(np.zeros(1, dtype=np.int64), "row")
    shares, people = _weigh(everybody.row, everybody, 1, even)
    return _whole(np.bincount(everybody.code, weights=shares, minlength=width), even), int(people[0])


def _whole(count: np.ndarray, even: bool) -> np.ndarray:
    return count if even else np.round(count).astype(np.int64)


def _weigh(row: np.ndarray, owners: Held, classes: int, even: bool) -> tuple[np.ndarray, np.ndarray]:
    """What each entry counts, and the persons of each class; entries of one person in one class lie together."""
    first = np.ones(len(row), dtype=np.bool_)
    first[1:] = (row[1:] != row[:-1]) | (owners.person[1:] != owners.person[:-1])
    sizes = np.bincount(row[first], minlength=classes).astype(np.int64)
    pair = np.cumsum(first) - 1
    return (1.0 / np.bincount(pair)[pair] if even and len(row) else np.ones(len(row))), sizes


def _keep(counts: Counts, some: np.ndarray) -> Counts:
    """The counts of the classes that have any."""
    start = np.append(counts.start[:-1][some], counts.start[-1])
    return Counts(counts.name, counts.values, start, counts.code, counts.count, counts.numbers, counts.held)


def fewest_values(counts: Counts) -> np.ndarray:
    """The fewest values that together touch every person of each class: (classes,) int64.

    The distinct values where each person has one; 1 where all share a value. A value that somebody has alone must be
    taken; what these do not touch is searched, exactly up to ``REACH`` values more and no further: there the number is
    the least that it can be.
    """
    owners, width, classes = counts.held, len(counts.values), len(counts.start) - 1
    if owners is None:
        return np.diff(counts.start)
    pair = np.cumsum(np.append(True, (np.diff(owners.row) != 0) | (np.diff(owners.person) != 0))[: len(owners.row)]) - 1
    keys = owners.row * width + owners.code
    forced = np.unique(keys[np.bincount(pair)[pair] == 1])
    touched = np.zeros(int(pair[-1]) + 1, dtype=np.bool_)
    touched[pair[np.isin(keys, forced)]] = True
    fewest = np.bincount(forced // width, minlength=classes)
    left = ~touched[pair]
    ends = np.flatnonzero(np.append(np.diff(pair[left]) != 0, True)) + 1
    codes, rows = owners.code[left].tolist(), owners.row[left]
    sets: dict[int, set[frozenset[int]]] = {}
    for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True) if codes else ():
        sets.setdefault(int(rows[begin]), set()).add(frozenset(codes[begin:end]))
    for row, theirs in sets.items():
        fewest[row] += _cover(theirs)
    return fewest


def _cover(sets: set[frozenset[int]]) -> int:
    """The fewest values of which every set has one, or ``REACH`` where so many are needed or more."""
    ordered = sorted(sets, key=len)
    least = [s for at, s in enumerate(ordered) if not any(other < s for other in ordered[:at])]
    holders: dict[int, int] = {}
    for bit, values in enumerate(least):
        for value in values:
            holders[value] = holders.get(value, 0) | 1 << bit
    everybody = (1 << len(least)) - 1
    return next((size for size in range(1, REACH) if _touches(everybody, least, holders, size)), REACH)


def _touches(left: int, sets: list[frozenset[int]], holders: dict[int, int], size: int) -> bool:
    """Whether so many values touch all that are left, one bit each; the first of these has the fewest values."""
    if not left or not size:
        return not left
    most = sorted(((mask & left).bit_count() for mask in holders.values()), reverse=True)[:size]
    if sum(most) < left.bit_count():
        return False
    first = sets[(left & -left).bit_length() - 1]
    ranked = sorted(first, key=lambda value: -(holders[value] & left).bit_count())
    return any(_touches(left & ~holders[value], sets, holders, size - 1) for value in ranked)
