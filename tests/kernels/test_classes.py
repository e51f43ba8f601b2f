"""Class tables raised, rotated and summed up, against dicts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kpareto.kernels.classes import (
    lane_width,
    raise_table,
    rotate,
    show_words,
    size_numbers,
    size_steps,
    widen_lanes,
)
from kpareto.kernels.records import (
    ClassLimits,
    ClassNumbers,
    ClassTable,
    Hiding,
    KernelQuestions,
    Lanes,
    SizeSteps,
)
from kpareto.kernels.words import CLASSES, INTS, LARGEST, RISKY, SQUARES, UNIQUES, K

BITS = (3, 2)  # widths of the two fields of a key, the lowest first

Pair = tuple[int, int]
VALUES = 11  # two words of lanes of 8 bits, three of 16, six of 32

# Distinct pairs of groups, each with the rows that have each of a few values.
tables = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 2)),
    st.dictionaries(st.integers(0, VALUES - 1), st.sampled_from([1, 2, 90, 200, 30_000]), min_size=1, max_size=4),
    min_size=1,
)


def lanes_of(bits: int) -> Lanes:
    """One column of values in lanes that start with so many bits."""
    words = [-(-VALUES // (64 // width)) for width in (8, 16, 32, 64)]
    set_at = np.array([[0, 1, 0]], dtype=np.int64)
    word_at = np.array([[0, count] for count in words], dtype=np.int64)
    return Lanes(bits, np.array([0, VALUES]), word_at, np.ones(VALUES, dtype=np.int64), set_at)


def class_table(classes: dict[Pair, dict[int, int]], low: int, bits: int) -> ClassTable:
    """The classes by rising key, the first group in a lowest field of ``low`` bits; room for the widest lanes."""
    ranked = sorted((one | two << low, values) for (one, two), values in classes.items())
    hists = np.zeros((VALUES, len(ranked)), dtype=np.uint64)
    per_word = 64 // bits
    for place, (_, values) in enumerate(ranked):
        for value, rows in values.items():
            hists[value // per_word, place] |= np.uint64(rows << value % per_word * bits)
    return ClassTable(
        np.array([key for key, _ in ranked]),
        np.array([sum(values.values()) for _, values in ranked]),
        np.array([[sum(1 << value for value in values) for _, values in ranked]]),
        hists.view(np.int64),
        np.zeros(len(ranked), dtype=np.uint64),
    )


def plain(table: ClassTable, size: int, bits: int) -> list[tuple[int, int, int, dict[int, int]]]:
    """Key, rows, set and histogram of each class."""
    per_word, mask = 64 // bits, (1 << bits) - 1
    rows = []
    for i in range(size):
        counts = {v: int(table.hists[v // per_word, i]) >> v % per_word * bits & mask for v in range(VALUES)}
        values = {value: count for value, count in counts.items() if count}
        rows.append((int(table.keys[i]), int(table.counts[i]), int(table.sets[0, i]), values))
    return rows


def narrowest(classes: dict[Pair, dict[int, int]]) -> int:
    """Lanes in which every count of every class fits."""
    most = max(count for values in classes.values() for count in values.values())
    return next(bits for bits in (8, 16, 32) if most < 1 << bits)


def merge_groups(classes: dict[Pair, dict[int, int]], above: np.ndarray) -> dict[Pair, dict[int, int]]:
    """The classes after the first group became another, counts added up."""
    merged: dict[Pair, dict[int, int]] = {}
    for (one, two), values in classes.items():
        union = merged.setdefault((int(above[one]), two), {})
        for value, rows in values.items():
            union[value] = union.get(value, 0) + rows
    return merged


def questions_of(bits: int) -> KernelQuestions:
    """Something is asked of the values, whatever it is."""
    none, real = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float64)
    limits = ClassLimits(none, none, np.zeros((0, 2), dtype=np.float64))
    return KernelQuestions(lanes_of(bits), ClassNumbers(none, none, real, real, none[:, None]), limits)


def words_of(bits: int) -> int:
    """Packed words of a class."""
    return int(lanes_of(bits).word_at[lane_width(bits), -1])


steps = st.lists(st.integers(0, 1), min_size=5, max_size=5)


@given(classes=tables, merges=st.lists(steps, min_size=1, max_size=3), swapped=st.booleans())
def test_raising_merges_neighbouring_groups(
    classes: dict[Pair, dict[int, int]], merges: list[list[int]], swapped: bool
) -> None:
    """Groups that become one add their rows and values up, level after level, in lanes that grow where they must."""
    bits, size = narrowest(classes), len(classes)
    table, to = class_table(classes, BITS[0], bits), np.empty(len(classes), dtype=np.uint64)
    for level, merge in enumerate(merges):
        above = np.cumsum([0, *merge])
        classes = merge_groups(classes, above)
        size, grown = raise_table(
            table,
            size,
            (1 << BITS[0]) - 1,
            above,
            to,
            questions_of(bits),
            questions_of(bits).lanes,
            bits,
            level > 0,
            None,
        )
        largest = max(sum(values.values()) for values in classes.values())
        assert grown == next(width for width in (8, 16, 32) if width >= bits and largest < 1 << width)
        bits = grown
    out = ClassTable(*(np.empty_like(array) for array in table))
    if swapped:
        place = np.empty(7, dtype=np.uint64)
        rotate(
            table,
            size,
            (BITS[0], sum(BITS), 6),
            out,
            to,
            place,
            questions_of(bits),
            questions_of(bits).lanes,
            bits,
            True,
            None,
        )
        turned = {(two, one): values for (one, two), values in classes.items()}
        assert plain(out, size, bits) == plain(class_table(turned, BITS[1], bits), size, bits)
    show_words(table, size, words_of(bits), table.hists)
    assert plain(table, size, bits) == plain(class_table(classes, BITS[0], bits), size, bits)


@given(classes=tables)
def test_lanes_widen_in_place(classes: dict[Pair, dict[int, int]]) -> None:
    """Twice the bits, the same counts, up to lanes of a whole word."""
    bits = narrowest(classes)
    table = class_table(classes, BITS[0], bits)
    wanted = plain(table, len(classes), bits)
    while bits < 64:
        widen_lanes(table.hists, len(classes), lanes_of(bits), bits)
        bits *= 2
        assert plain(table, len(classes), bits) == wanted


@given(classes=tables)
def test_rotating_swaps_the_fields(classes: dict[Pair, dict[int, int]]) -> None:
    """The lowest field moves to the top, and keys are in order again."""
    bits = narrowest(classes)
    table, size = class_table(classes, BITS[0], bits), len(classes)
    turned = ClassTable(*(np.empty_like(array) for array in table))
    room = np.empty(size, dtype=np.uint64), np.empty(7, dtype=np.uint64)
    rotate(
        table,
        size,
        (BITS[0], sum(BITS), 6),
        turned,
        *room,
        questions_of(bits),
        questions_of(bits).lanes,
        bits,
        False,
        None,
    )
    swapped = {(two, one): values for (one, two), values in classes.items()}
    assert plain(turned, size, bits) == plain(class_table(swapped, BITS[1], bits), size, bits)


@given(
    classes=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3), st.booleans()), min_size=1, max_size=12),
    least=st.integers(1, 5),
    allowed=st.integers(0, 30),
    marked=st.booleans(),
)
def test_steps_are_the_sizes_that_the_limit_allows(
    classes: list[tuple[int, int, bool]], least: int, allowed: int, marked: bool
) -> None:
    """Every size of a visible class whose smaller classes, with those hidden anyway, hold at most the allowed rows."""
    sizes, more, failing = (np.array(column) for column in zip(*classes, strict=True))
    counts = np.where(sizes > 0, sizes + more, 0)
    hidden = (sizes < least) | (marked & failing)
    reached = [*sorted(set(sizes[~hidden].tolist())), 2**62]
    wanted = [(size, int(counts[hidden | (sizes < size)].sum())) for size in reached]
    fitting = [(size, lost) for size, lost in wanted if lost <= allowed]
    steps = SizeSteps(
        np.zeros(20, dtype=np.int64), np.zeros(20, dtype=np.int64), np.zeros((0, 20), dtype=np.int64),
        np.zeros(allowed + 1, dtype=np.int64),
    )  # fmt: skip
    count = size_steps(sizes, counts, len(sizes), Hiding(least, failing, marked), allowed, steps)
    told = list(zip(steps.thresholds[:count].tolist(), steps.lost[:count].tolist(), strict=True))
    assert told == (fitting or wanted[:1])


@given(
    classes=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3), st.booleans()), min_size=1, max_size=10),
    threshold=st.integers(0, 4),
    marked=st.booleans(),
)
def test_size_numbers_are_sums_over_visible_classes(
    classes: list[tuple[int, int, bool]], threshold: int, marked: bool
) -> None:
    """Persons decide who is visible and which class is small; rows are added up."""
    persons, more, failing = (np.array(column) for column in zip(*classes, strict=True))
    rows = persons + more
    out = np.zeros(INTS, dtype=np.int64)
    size_numbers(persons, rows, len(classes), Hiding(threshold, failing, marked), 3, out)
    seen = [
        (p, r) for p, r, fails in zip(persons, rows, failing, strict=True) if p >= threshold and not (marked and fails)
    ]
    assert out[CLASSES] == len(seen)
    assert out[SQUARES] == sum(r * r for _, r in seen)
    assert out[UNIQUES] == sum(r for p, r in seen if p == 1)
    assert out[RISKY] == sum(r for p, r in seen if p < 3)
    assert out[LARGEST] == max((p for p, _ in seen), default=0)
    assert out[K] == min((p for p, _ in seen), default=2**62)
