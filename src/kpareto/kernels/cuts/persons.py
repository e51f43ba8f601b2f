"""Numbers of classes that count persons: who has which sensitive value, each person once.

Persons do not add up when classes merge, so every recoding is counted from who has what in its rows. The definitions
are those of ``measures/persons.py`` and ``measures/sensitive.py``, which are the slow twins of these loops.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.words import ALPHA, DELTA, DISTINCT, ENHANCED_BETA, ENTROPY, RECURSIVE, T_EQUAL, T_ORDERED

REACH = 6  # the fewest values that touch everybody are exact up to this number (measures/persons.py)


class Holders(NamedTuple):
    """Who has which value in the rows, and the numbers that are asked of it; those of one column lie together."""

    starts: np.ndarray  # (columns, distinct + 1) int64, where the entries of each row start
    pairs: np.ndarray  # (entries,) int64, a person with a value, numbered over all columns
    persons: np.ndarray  # (pairs,) int64
    codes: np.ndarray  # (pairs,) int64, of the value
    columns: np.ndarray  # (numbers,) int64
    kinds: np.ndarray  # (numbers,) int64, DISTINCT, ENTROPY, …
    parameters: np.ndarray  # (numbers,) float64
    widths: np.ndarray  # (numbers,) int64, values of its column
    totals: np.ndarray  # (numbers, most values) float64, persons of the table with each value; shares of them for t
    whole: np.ndarray  # (numbers,) int64, persons of the table with any


class HolderRoom(NamedTuple):
    """Room for the persons of one class."""

    told: np.ndarray  # (numbers, distinct) float64, filled: the numbers of each class
    stamp: np.ndarray  # (1,) int64, of the class that was looked at last
    pair_stamps: np.ndarray  # (pairs,) int64, the last class that had each pair
    person_stamps: np.ndarray  # (persons,) int64
    place: np.ndarray  # (persons,) int64, among those of the class
    much: np.ndarray  # (persons,) int64, how many values each of the class has
    pairs: np.ndarray  # (pairs,) int64, those of the class
    starts: np.ndarray  # (persons + 1,) int64, where the values of each start in codes
    codes: np.ndarray  # (pairs,) int64
    hist: np.ndarray  # (most values,) int64, persons with each value
    even: np.ndarray  # (most values,) float64, the same, each person spread evenly over their values
    ranked: np.ndarray  # (most values,) int64
    touched: np.ndarray  # (persons,) int64, how many of the values that were taken each has
    stack: np.ndarray  # (2, REACH) int64, the person that each value is taken for, and where it stands in codes


@inner
def meet_persons(rows, first, last, column, width, holders, room):
    """The persons of a class and their values, each pair once; returns how many persons have one.

    rows[first:last]: the distinct rows of the class.
    """
    room.stamp[0] += 1
    stamp = room.stamp[0]
    persons, codes, much, starts = holders.persons, holders.codes, room.much, room.starts
    for v in range(width):
        room.hist[v] = 0
        room.even[v] = 0.0
    n = size = 0
    for at in range(first, last):
        for entry in range(holders.starts[column, rows[at]], holders.starts[column, rows[at] + 1]):
            pair = holders.pairs[entry]
            if room.pair_stamps[pair] == stamp:
                continue
            room.pair_stamps[pair] = stamp
            room.pairs[n] = pair
            n += 1
            person = persons[pair]
            if room.person_stamps[person] != stamp:
                room.person_stamps[person] = stamp
                room.place[person] = size
                much[size] = 0
                size += 1
            much[room.place[person]] += 1
            room.hist[codes[pair]] += 1
    starts[0] = 0
    for p in range(size):
        starts[p + 1] = starts[p] + much[p]
        much[p] = 0
    for j in range(n):
        p = room.place[persons[room.pairs[j]]]
        room.codes[starts[p] + much[p]] = codes[room.pairs[j]]
        much[p] += 1
    for p in range(size):
        for j in range(starts[p], starts[p + 1]):
            room.even[room.codes[j]] += 1.0 / much[p]
    return size


@inner
def take_value(code, by, size, room):
    """Let a value touch all who have it, or (by -1) no longer."""
    for p in range(size):
        for j in range(room.starts[p], room.starts[p + 1]):
            if room.codes[j] == code:
                room.touched[p] += by


@inner
def next_person(size, more, width, room):
    """One of the fewest values whom nothing touches; -1 where all are touched, -2 where ``more`` values cannot do."""
    best, left = -1, 0
    for v in range(width):
        room.ranked[v] = 0
    for p in range(size):
        if room.touched[p] == 0:
            left += 1
            if best < 0 or room.much[p] < room.much[best]:
                best = p
            for j in range(room.starts[p], room.starts[p + 1]):
                room.ranked[room.codes[j]] += 1
    most = np.int64(0)
    for v in range(width):
        most = max(most, room.ranked[v])
    return best if left <= more * most else -2


@inner
def can_touch(size, most, width, room):
    """Whether ``most`` more values touch everybody who is left."""
    person, at, starts = room.stack[0], room.stack[1], room.starts
    one = next_person(size, most, width, room)
    if one < 0:
        return one == -1
    person[0], at[0] = one, starts[one]
    d = 0
    while d >= 0:
        if at[d] == starts[person[d] + 1]:
            d -= 1
            if d >= 0:
                take_value(room.codes[at[d]], -1, size, room)
                at[d] += 1
            continue
        take_value(room.codes[at[d]], 1, size, room)
        one = next_person(size, most - d - 1, width, room)
        if one == -1:
            return True
        if one >= 0:
            d += 1
            person[d], at[d] = one, starts[one]
        else:
            take_value(room.codes[at[d]], -1, size, room)
            at[d] += 1
    return False


@inner
def touch_all(size, width, room):
    """The fewest values that together touch everybody; where more than REACH must be searched for, a lower bound."""
    fewest = 0
    for v in range(width):
        room.ranked[v] = 0
    for p in range(size):
        if room.much[p] == 1:
            code = room.codes[room.starts[p]]
            fewest += room.ranked[code] == 0
            room.ranked[code] = 1
    left = 0
    for p in range(size):
        room.touched[p] = 0
        for j in range(room.starts[p], room.starts[p + 1]):
            room.touched[p] += room.ranked[room.codes[j]]
        left += room.touched[p] == 0
    if left == 0:
        return fewest
    for most in range(1, REACH):
        if can_touch(size, most, width, room):
            return fewest + most
    return fewest + REACH


@inner
def fill_values(size, width, room):
    """The most uneven distribution of one value per person, falling, into ranked."""
    ranked = room.ranked
    for v in range(width):  # by insertion, largest first
        place = v
        while place > 0 and ranked[place - 1] < room.hist[v]:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = room.hist[v]
    left = np.int64(size)
    for v in range(width):
        ranked[v] = min(ranked[v], left)
        left -= ranked[v]


@inner
def value_gain(kind, hist, size, total, whole):
    """How far the share of a value that is there lies above (delta: from) that in the table."""
    over, under = float(hist) * whole, total * size
    if kind == DELTA:
        return abs(math.log(over / under))
    gain = (over - under) / under
    if kind == ENHANCED_BETA:
        return math.inf if gain > 1e-12 - math.log(total / whole) else gain
    return gain


@inner
def person_number(e, size, holders, room):
    """One number of the class that was met; definitions in docs/measures.md."""
    kind, width, whole, totals = holders.kinds[e], holders.widths[e], holders.whole[e], holders.totals[e]
    hist, even = room.hist, room.even
    if size == 0:
        return 0.0 if kind == DISTINCT or kind == ENTROPY else 1.0 if ALPHA >= kind >= T_EQUAL else math.inf
    if kind == DISTINCT:
        return float(touch_all(size, width, room))
    worst, total = -math.inf, 0.0
    if kind == ENTROPY or kind == RECURSIVE:
        fill_values(size, width, room)
        for v in range(width):
            if kind == RECURSIVE:
                total += room.ranked[v] if v >= int(holders.parameters[e]) - 1 else 0
            elif room.ranked[v] > 0:
                share = room.ranked[v] / size
                total -= share * math.log(share)
        if kind == ENTROPY:
            return math.exp(total)
        return room.ranked[0] / total if total > 0 else math.inf
    ahead = 0.0
    for v in range(width):
        if kind == T_EQUAL:
            total += max(even[v] * whole - totals[v] * size, 0.0)
        elif kind == T_ORDERED:
            ahead += even[v] * whole - totals[v] * size
            total += abs(ahead)
        elif kind == ALPHA:
            worst = max(worst, hist[v] / size)
        elif hist[v] > 0:
            worst = max(worst, value_gain(kind, hist[v], size, totals[v], float(whole)))
    if kind == T_EQUAL or kind == T_ORDERED:
        return total / (float(size) * whole * (max(width - 1, 1) if kind == T_ORDERED else 1))
    return worst


@inner
def tell_class(rows, first, last, holders, room, told, i):
    """The numbers of the class with rows[first:last], into column i of told."""
    column, size = np.int64(-1), 0
    for e in range(holders.kinds.shape[0]):
        if holders.columns[e] != column:
            column = holders.columns[e]
            size = meet_persons(rows, first, last, column, holders.widths[e], holders, room)
        told[e, i] = person_number(e, size, holders, room)


@compiled(memory=False)
def tell_classes(order, ends, classes, holders, room):
    """The numbers of all classes, into room.told; order: the rows class by class, ends: where each class ends."""
    first = np.int64(0)
    for i in range(classes):
        tell_class(order, first, ends[i], holders, room, room.told, i)
        first = ends[i]


@compiled(memory=False)
def tell_away(members, away, order, holders, room, told):
    """The numbers of all classes that are away as one class, into the first column of told; order: room for rows."""
    n = 0
    for r in range(members.shape[0]):
        if away[members[r]]:
            order[n] = r
            n += 1
    tell_class(order, 0, n, holders, room, told, 0)
