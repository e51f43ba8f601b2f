"""Bounds of partial nodes, against every way of suppressing rows."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.kernels.lattice.bounding import (
    Bounding,
    BoundRoom,
    class_bound,
    find_runs,
    is_beaten,
    most_values,
    real_key,
    run_histogram,
)
from kpareto.kernels.records import ClassTable, Lanes
from kpareto.kernels.words import ALPHA, BY_CLASS, T_EQUAL, T_ORDERED

VALUES = 4
# The classes of a table: the run each belongs to, and how often it has each value.
classes_drawn = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), min_size=VALUES, max_size=VALUES).filter(any)),
    min_size=1,
    max_size=5,
)
Histogram = tuple[int, ...]


def lanes_of(totals: list[int]) -> Lanes:
    """One column of values in one word: sets and lanes of 16 bits."""
    word_at = np.array([[0, 1]] * 3 + [[0, VALUES]], dtype=np.int64)
    word_at[2, 1] = 2
    return Lanes(16, np.array([0, VALUES]), word_at, np.array(totals), np.array([[0, 1, 0]]))


def class_table(classes: list[tuple[int, list[int]]]) -> ClassTable:
    """The classes by run; a key is the run above two bits that tell classes of a run apart."""
    ranked = sorted(classes)
    keys = [(run << 4) | place for place, (run, _) in enumerate(ranked)]
    words = [sum(rows << 16 * v for v, rows in enumerate(hist)) for _, hist in ranked]
    sets = [sum(1 << v for v, rows in enumerate(hist) if rows) for _, hist in ranked]
    counts = [sum(hist) for _, hist in ranked]
    return ClassTable(
        np.array(keys), np.array(counts), np.array([sets]), np.array([words]), np.zeros(0, dtype=np.uint64)
    )


def room_for(size: int) -> BoundRoom:
    """Room for so many classes."""
    whole, real = np.zeros(size + 1, dtype=np.int64), np.zeros(size, dtype=np.float64)
    keys = np.zeros((3, 2), dtype=np.int64)
    return BoundRoom(
        whole, whole.copy(), np.zeros(VALUES + 2, dtype=np.int64), real, real.copy(), keys, keys.copy(),
        np.zeros(2, dtype=np.int64),
    )  # fmt: skip


def runs_of(classes: list[tuple[int, list[int]]]) -> list[Histogram]:
    """The histogram of each run."""
    union: dict[int, list[int]] = {}
    for run, hist in sorted(classes):
        union[run] = [a + b for a, b in zip(union.get(run, [0] * VALUES), hist, strict=True)]
    return [tuple(hist) for _, hist in sorted(union.items())]


def number_of(kind: int, hist: Histogram, totals: list[int]) -> Fraction:
    """T by equal or ordered distances, or alpha, of one class."""
    size, rows = sum(hist), sum(totals)
    gaps = [Fraction(a, size) - Fraction(b, rows) for a, b in zip(hist, totals, strict=True)]
    if kind == T_EQUAL:
        return sum((abs(gap) for gap in gaps), Fraction(0)) / 2
    if kind == T_ORDERED:
        return sum((abs(gap) for gap in itertools.accumulate(gaps)), Fraction(0)) / (VALUES - 1)
    return Fraction(max(hist), size)


def best_after(kind: int, runs: list[Histogram], totals: list[int], allowed: int) -> Fraction:
    """The least that the worst run can come to when so many rows go, by trying all ways for each run."""
    ways = []
    for hist in runs:
        least: dict[int, Fraction] = {sum(hist): Fraction(0)}  # a run that goes whole is seen by nobody
        for left in itertools.product(*(range(rows + 1) for rows in hist)):
            if any(left):
                gone = sum(hist) - sum(left)
                least[gone] = min(least.get(gone, Fraction(2)), number_of(kind, left, totals))
        ways.append(least)
    front = {0: Fraction(0)}
    for least in ways:
        merged: dict[int, Fraction] = {}
        for gone, worst in front.items():
            for more, number in least.items():
                if gone + more <= allowed:
                    merged[gone + more] = min(merged.get(gone + more, Fraction(2)), max(worst, number))
        front = merged
    return min(front.values())


@settings(max_examples=150)
@given(classes=classes_drawn, more=st.lists(st.integers(1, 4), min_size=VALUES, max_size=VALUES), data=st.data())
def test_no_suppression_beats_the_bound_of_a_class_number(
    classes: list[tuple[int, list[int]]], more: list[int], data: st.DataObject
) -> None:
    """However the allowed rows are taken away, the worst run stays at the bound or above; without any it is exact."""
    kind = data.draw(st.sampled_from([T_EQUAL, T_ORDERED, ALPHA]))
    allowed = data.draw(st.integers(0, 5))
    runs = runs_of(classes)
    totals = [extra + sum(hist[v] for hist in runs) for v, extra in enumerate(more)]
    table, room = class_table(classes), room_for(len(classes))
    count = find_runs(table, len(classes), 4, room, None)
    assert room.counts[:count].tolist() == [sum(hist) for hist in runs]
    one, none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    bounding = Bounding(none.reshape(0, 1), one + BY_CLASS, one, one, one, one + kind, np.zeros(1), one, allowed, False)
    values = np.zeros(VALUES, dtype=np.int64)
    rows = sum(totals)
    bound = class_bound(table, 16, count, lanes_of(totals), 0, bounding, allowed, rows, room, values)
    best = best_after(kind, runs, totals, allowed)
    assert bound <= float(best) + 1e-12
    if allowed == 0:
        assert bound == float(best)


@given(classes=classes_drawn, allowed=st.integers(0, 9))
def test_the_bound_of_l_counts_rows_that_must_go(classes: list[tuple[int, list[int]]], allowed: int) -> None:
    """The largest l such that the runs with fewer values hold at most the allowed rows."""
    runs = runs_of(classes)
    table, room = class_table(classes), room_for(len(classes))
    count = find_runs(table, len(classes), 4, room, None)
    told = most_values(table, count, lanes_of([1] * VALUES), 0, allowed, room)
    fits = [
        wanted
        for wanted in range(VALUES + 1)
        if sum(sum(hist) for hist in runs if sum(map(bool, hist)) < wanted) <= allowed
    ]
    assert told == max(fits)


@given(hists=st.lists(st.lists(st.sampled_from([0, 1, 9, 200]), min_size=11, max_size=11), min_size=1, max_size=6))
def test_histograms_of_runs_are_sums(hists: list[list[int]]) -> None:
    """Added packed where they fit into lanes of 8 bits, else one by one."""
    words = np.zeros((2, len(hists)), dtype=np.int64)
    for place, hist in enumerate(hists):
        for v, rows in enumerate(hist):
            words[v // 8, place] |= np.int64(np.uint64(rows << v % 8 * 8).astype(np.int64))
    none = np.zeros(0, dtype=np.int64)
    table, values = (
        ClassTable(none, none, none.reshape(0, 0), words, none.astype(np.uint64)),
        np.zeros(11, dtype=np.int64),
    )
    totals = [sum(column) for column in zip(*hists, strict=True)]
    run_histogram(table, 8, 0, len(hists), 0, max(sum(totals), 1), values)
    assert values.tolist() == totals


@given(
    first=st.floats(0, 1e6),
    second=st.floats(0, 1e6),
    higher=st.booleans(),
)
def test_keys_of_reals_sort_alike(first: float, second: float, higher: bool) -> None:
    """The better number has the lower key, and slack makes a key better."""
    better = first > second if higher else first < second
    assert (real_key(first, higher, 0.0) < real_key(second, higher, 0.0)) == better
    assert real_key(first, higher, 1e-9) <= real_key(first, higher, 0.0)


@given(
    front=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6),
    low=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    most=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    last=st.integers(0, 5),
)
def test_beaten_is_dominated_or_beyond_a_limit(
    front: list[tuple[int, int]], low: tuple[int, int], most: tuple[int, int], last: int
) -> None:
    """A point that is nowhere worse and somewhere better beats, whichever is asked first; so does a limit."""
    one = np.zeros(1, dtype=np.int64)
    bounding = Bounding(np.array(front), one, one, one, one, one, np.zeros(1), np.array(most), 0, False)
    room = room_for(1)
    room.seen[1] = last % len(front)
    beats = any(all(a <= b for a, b in zip(point, low, strict=True)) and point != low for point in front)
    limited = any(key > limit for key, limit in zip(low, most, strict=True))
    assert is_beaten(np.array(low), np.array(low), bounding, room) == (beats or limited)
