"""Numbers of one class that count persons, against brute force over who has what."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.kernels.cuts.persons import REACH, HolderRoom, Holders, tell_away, tell_classes
from kpareto.kernels.words import (
    ALPHA,
    BETA,
    DELTA,
    DISTINCT,
    ENHANCED_BETA,
    ENTROPY,
    RECURSIVE,
    T_EQUAL,
    T_ORDERED,
)

VALUES = 9
KINDS = (DISTINCT, ENTROPY, T_EQUAL, T_ORDERED, ALPHA, BETA, ENHANCED_BETA, DELTA, RECURSIVE)
Rows = list[tuple[int, int]]  # person and value of each row


def spread(rows: Rows) -> dict[int, float]:
    """Each person spread evenly over their values."""
    shares: dict[int, float] = {}
    for person in {p for p, _ in rows}:
        values = {v for p, v in rows if p == person}
        for value in values:
            shares[value] = shares.get(value, 0.0) + 1 / len(values)
    return shares


def holders_of(rows: Rows) -> Holders:
    """Who has which value, one row each, with all numbers asked."""
    pairs = sorted(set(rows))
    even = spread(rows)
    once = Counter(value for _, value in pairs)
    totals = np.zeros((len(KINDS), VALUES))
    for e, kind in enumerate(KINDS):
        for value in range(VALUES):
            totals[e, value] = even.get(value, 0.0) if kind in (T_EQUAL, T_ORDERED) else once[value]
    everybody = len({person for person, _ in rows})
    return Holders(
        np.arange(len(rows) + 1).reshape(1, -1),
        np.array([pairs.index(row) for row in rows]),
        np.array([person for person, _ in pairs]),
        np.array([value for _, value in pairs]),
        np.zeros(len(KINDS), dtype=np.int64),
        np.array(KINDS),
        np.array([2.0] * len(KINDS)),
        np.full(len(KINDS), VALUES),
        totals,
        np.full(len(KINDS), everybody),
    )


def room_for(holders: Holders, rows: int) -> HolderRoom:
    """Room for the classes of so many rows."""
    pairs, persons = len(holders.persons), int(holders.persons.max()) + 1
    sizes = (1, pairs, persons, persons, persons, pairs, persons + 1, pairs, VALUES)
    whole = [np.zeros(size, dtype=np.int64) for size in sizes]
    even, ranked = np.zeros(VALUES), np.zeros(VALUES, dtype=np.int64)
    left = np.zeros(persons, dtype=np.int64), np.zeros((2, REACH), dtype=np.int64)
    return HolderRoom(*[np.zeros((len(KINDS), rows)), *whole, even, ranked, *left])


def fewest(rows: Rows) -> int:
    """The fewest values that touch everybody, by trying all."""
    theirs = [{v for p, v in rows if p == person} for person in {p for p, _ in rows}]
    sizes = range(1, VALUES + 1)
    return next(n for n in sizes for taken in itertools.combinations(range(VALUES), n) if _touch(taken, theirs))


def _touch(taken: tuple[int, ...], theirs: list[set[int]]) -> bool:
    return all(values & set(taken) for values in theirs)


def expected(kind: int, inside: Rows, everybody: Rows) -> float:
    """One number of a class, by its definition."""
    size, whole = len({p for p, _ in inside}), len({p for p, _ in everybody})
    once, all_once = Counter(v for _, v in set(inside)), Counter(v for _, v in set(everybody))
    even, all_even = spread(inside), spread(everybody)
    if kind == DISTINCT:
        return fewest(inside)
    if kind in (ENTROPY, RECURSIVE):
        left, filled = size, []
        for count in sorted(once.values(), reverse=True):
            filled.append(min(count, left))
            left -= filled[-1]
        if kind == ENTROPY:
            return math.exp(-sum(n / size * math.log(n / size) for n in filled if n))
        return filled[0] / sum(filled[1:]) if sum(filled[1:]) else math.inf
    gaps = [even.get(v, 0.0) / size - all_even.get(v, 0.0) / whole for v in range(VALUES)]
    if kind == T_EQUAL:
        return sum(map(abs, gaps)) / 2
    if kind == T_ORDERED:
        return sum(map(abs, itertools.accumulate(gaps))) / (VALUES - 1)
    if kind == ALPHA:
        return max(once.values()) / size
    shares = [(once[v] / size, all_once[v] / whole) for v in once]
    if kind == DELTA:
        return max(abs(math.log(p / q)) for p, q in shares)
    gains = [((p - q) / q, -math.log(q)) for p, q in shares]
    return max(math.inf if kind == ENHANCED_BETA and gain > most + 1e-12 else gain for gain, most in gains)


people = st.lists(st.tuples(st.integers(0, 7), st.integers(0, VALUES - 1)), min_size=2, max_size=24)


@settings(max_examples=150)
@given(rows=people, data=st.data())
def test_numbers_of_persons_by_brute_force(rows: Rows, data: st.DataObject) -> None:
    """Two classes, and those that are away as one: every number is that of its definition."""
    cut = data.draw(st.integers(1, len(rows) - 1))
    holders = holders_of(rows)
    room = room_for(holders, len(rows))
    order = np.arange(len(rows))
    tell_classes(order, np.array([cut, len(rows)]), 2, holders, room)
    whole = np.zeros((len(KINDS), 1))
    members = np.array([0] * cut + [1] * (len(rows) - cut), dtype=np.int32)
    tell_away(members, np.array([True, True]), np.zeros(len(rows), dtype=np.int64), holders, room, whole)
    for e, kind in enumerate(KINDS):
        told = [room.told[e, 0], room.told[e, 1], whole[e, 0]]
        meant = [expected(kind, inside, rows) for inside in (rows[:cut], rows[cut:], rows)]
        assert told == pytest.approx(meant, rel=1e-9, abs=1e-12)


def test_no_more_than_the_reach_is_searched() -> None:
    """Four pairs of persons without anything in common need four values; a class of nobody has none."""
    rows = [(person, 2 * person + one) for person in range(4) for one in (0, 1)]
    holders = holders_of(rows)
    room = room_for(holders, len(rows))
    tell_classes(np.arange(len(rows)), np.array([len(rows), len(rows)]), 2, holders, room)
    assert room.told[0, 0] == 4
    assert room.told[:, 1].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0, *[math.inf] * 4]
