"""The sensitive and target values of each distinct row, packed into words as the kernels take them.

The walk over the lattice tells values apart by sets, one bit per value, and counts them only where a measure asks how
often they occur, in lanes as narrow as the rows allow. Recodings by cuts have lanes of one width for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kpareto.kernels.histograms import class_number
from kpareto.kernels.records import ClassLimits, ClassNumbers, KernelQuestions, Lanes
from kpareto.kernels.words import BEHIND, COST, DELTA, DISTINCT, ENTROPY, MINORITY, OWN, RECOGNISED, T_ORDERED
from kpareto.measures.reading import CLASS_SIZE
from kpareto.tables.table import Counts, Table

WIDTHS = (8, 16, 32, 64)  # bits of a lane
WORD = 64


@dataclass(frozen=True)
class HistNumber:
    """A number about each class's histogram: kind is one of the kernel's constants."""

    kind: int
    counts: Counts
    parameter: float = 0.0
    by_person: bool = False  # each person counts once, whatever their rows
    worths: tuple[int, ...] = ()  # of COST its matrix, row by row; of VARIANCE and DEVIATION the number of each value


@dataclass(frozen=True)
class HistLimit:
    """A limit that each class must meet under the rule as-needed; kind -1 limits the class size."""

    kind: int
    threshold: float
    counts: Counts | None = None
    parameter: float = 0.0
    by_person: bool = False


@dataclass(frozen=True, eq=False)
class AskedValues:
    """What is asked of the values of classes."""

    numbers: tuple[HistNumber, ...]
    limits: tuple[HistLimit, ...]

    @property
    def _all(self) -> tuple[HistNumber | HistLimit, ...]:
        """The numbers, then the limits."""
        return (*self.numbers, *self.limits)

    def columns(self) -> list[Counts]:
        """The sensitive and target columns that are asked for, each once."""
        asked: dict[int, Counts] = {}
        for one in self._all:
            if one.counts is not None and not one.by_person:
                asked.setdefault(id(one.counts), one.counts)
        return list(asked.values())

    @cached_property
    def told(self) -> tuple[HistNumber, ...]:
        """The numbers that count persons, each once, those of one column side by side."""
        asked: dict[tuple[int, int, float], HistNumber] = {}
        for one in self._all:
            if one.counts is not None and one.by_person:
                number = HistNumber(one.kind, one.counts, one.parameter, True)
                asked.setdefault((id(one.counts), one.kind, one.parameter), number)
        places: dict[int, int] = {}
        for number in asked.values():
            places.setdefault(id(number.counts), len(places))
        return tuple(sorted(asked.values(), key=lambda number: places[id(number.counts)]))

    def place_of(self, one: HistNumber | HistLimit, at: dict[int, int]) -> int:
        """Where the kernels find a number: its column, or -1, -2, … for those that count persons."""
        if one.by_person:
            numbers = [(id(n.counts), n.kind, n.parameter) for n in self.told]
            return -1 - numbers.index((id(one.counts), one.kind, one.parameter))
        return 0 if one.counts is None else at[id(one.counts)]

    @property
    def people(self) -> bool:
        """Whether the population is counted too, whose rows are then part of the class tables."""
        kinds = [number.kind for number in self.numbers] + [limit.kind for limit in self.limits]
        return any(BEHIND <= kind <= RECOGNISED for kind in kinds)

    def rows_of(self, table: Table) -> int:
        """Distinct rows that a walk begins with."""
        return len(table.joined.weights) if self.people else table.distinct

    def most_of(self, table: Table) -> int:
        """The most that a class can hold of anything that is counted: all rows, or all people."""
        return int(table.joined.people.totals[0]) if self.people else table.rows

    def is_counted(self, counts: Counts) -> bool:
        """Whether it matters how often the values of a column occur, not only which ones do."""
        return any(kind not in (DISTINCT, CLASS_SIZE) for kind in self._kinds(counts))

    def is_told_apart(self, counts: Counts) -> bool:
        """Whether distinct values of a column are counted."""
        return DISTINCT in self._kinds(counts)

    def _kinds(self, counts: Counts) -> list[int]:
        """What is asked of one column."""
        numbers = [number.kind for number in self.numbers if number.counts is counts]
        return numbers + [limit.kind for limit in self.limits if limit.counts is counts]


@dataclass(frozen=True, eq=False)
class PackedValues:
    """Packed words of each distinct row, where each column lies in them, and what is asked of them."""

    sets: np.ndarray  # (set words, distinct) int64
    packed: np.ndarray  # (words, distinct) int64, lanes of ``lanes.bits``
    lanes: Lanes
    numbers: ClassNumbers
    limits: ClassLimits
    most_words: int  # of lanes wide enough for all rows of the table

    @property
    def questions(self) -> KernelQuestions | None:
        """What a walk takes: None where nothing is asked, so that nothing of it is compiled."""
        wanted = len(self.numbers.kinds) + len(self.limits.kinds)
        return KernelQuestions(self.lanes, self.numbers, self.limits) if wanted else None

    @property
    def counted(self) -> Lanes | None:
        """The lanes of a walk whose histograms are asked for; None where sets tell all that is asked."""
        return self.lanes if (self.lanes.word_at[0, -1] or not self.lanes.set_at[:, 1].all()) else None


def pack_for_walk(table: Table, asked: AskedValues, bounded: bool = False) -> PackedValues:
    """Sets where values are told apart, narrow lanes where they are counted.

    A column whose values are counted needs no set: most nodes have a class of one row, where looking for the fewest
    values ends, and moving a set costs more than that. ``bounded``: the bounds of branch and bound read sets all the
    same.
    """
    columns = asked.columns()
    counted = [counts for counts in columns if asked.is_counted(counts)]
    most = max((int(counts.count.max(initial=0)) for counts in counted), default=0)
    if asked.people:  # lanes grow with the rows of a class, and a class may have far more people than rows
        most = asked.most_of(table)
    apart = [asked.is_told_apart(counts) and (bounded or not asked.is_counted(counts)) for counts in columns]
    sets, set_at = _pack_sets(asked.rows_of(table), columns, apart)
    return _pack(table, asked, _width_for(most), (sets, set_at))


def pack_for_cuts(table: Table, asked: AskedValues) -> PackedValues:
    """Lanes for every column, wide enough for all rows of the table."""
    bits = max(16, _width_for(table.rows))
    nothing = np.zeros((0, table.distinct), dtype=np.int64), np.zeros((len(asked.columns()), 3), dtype=np.int64)
    return _pack(table, asked, bits, nothing)


def count_words(asked: AskedValues, table: Table) -> int:
    """The words that a class takes at the most in a walk: its sets, and lanes wide enough for all rows."""
    per_word = WORD // _width_for(asked.most_of(table))
    lanes = sum(-(-len(counts.values) // per_word) for counts in asked.columns() if asked.is_counted(counts))
    return lanes + sum(-(-len(counts.values) // WORD) for counts in asked.columns() if asked.is_told_apart(counts))


def _width_for(most: int) -> int:
    """The narrowest lane that holds a count."""
    return next(bits for bits in WIDTHS if bits == WORD or most < 2 ** (bits - (bits == 32)))  # int32 has a sign


def _pack(table: Table, asked: AskedValues, bits: int, sets: tuple[np.ndarray, np.ndarray]) -> PackedValues:
    columns = asked.columns()
    at = {id(counts): position for position, counts in enumerate(columns)}
    widths = [len(counts.values) for counts in columns]
    laned = [0 if sets[1][p, 1] and not asked.is_counted(c) else widths[p] for p, c in enumerate(columns)]
    word_at = np.zeros((len(WIDTHS), len(columns) + 1), dtype=np.int64)
    for row, width in enumerate(WIDTHS):
        word_at[row, 1:] = np.cumsum([-(-values // (WORD // width)) for values in laned])
    start, per_word = word_at[WIDTHS.index(bits)], WORD // bits
    packed = np.zeros((int(start[-1]), asked.rows_of(table)), dtype=np.int64)
    for position, counts in enumerate(columns):
        if laned[position]:
            shift = counts.code.astype(np.int64) % per_word * bits
            np.add.at(packed, (start[position] + counts.code // per_word, counts.row), counts.count << shift)
    totals = np.concatenate([np.zeros(0, dtype=np.int64), *(counts.totals for counts in columns)])
    value_at = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
    widest = int(word_at[WIDTHS.index(max(bits, _width_for(table.rows))), -1])
    return PackedValues(
        sets[0], packed, Lanes(bits, value_at, word_at, totals, sets[1]), *_ask(table, asked, at), most_words=widest
    )


def _pack_sets(rows: int, columns: Sequence[Counts], wanted: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    """The set words of each distinct row, and where the set of each column lies; columns share words where they fit."""
    placing = np.zeros((len(columns), 3), dtype=np.int64)
    words: list[np.ndarray] = []
    room = 0  # bits left in the last word
    for position, counts in enumerate(columns):
        values = len(counts.values)
        if not wanted[position]:
            continue
        if values > room:
            first, shift, more = len(words), 0, -(-values // WORD)
            words += [np.zeros(rows, dtype=np.int64) for _ in range(more)]
            room = 0 if more > 1 else WORD
        else:
            first, shift = len(words) - 1, WORD - room
        placing[position] = first, max(1, -(-values // WORD)), shift
        bit = counts.code.astype(np.int64) + shift
        for word in range(first, first + int(placing[position, 1])):
            inside = bit // WORD == word - first
            np.bitwise_or.at(words[word], counts.row[inside], np.int64(1) << bit[inside] % WORD)
        room = max(0, room - values)
    return np.array(words, dtype=np.int64).reshape(len(words), rows), placing


def _ask(table: Table, asked: AskedValues, at: dict[int, int]) -> tuple[ClassNumbers, ClassLimits]:
    numbers, limits = asked.numbers, asked.limits
    return ClassNumbers(
        np.array([n.kind for n in numbers], dtype=np.int64),
        np.array([asked.place_of(n, at) for n in numbers], dtype=np.int64),
        np.array([n.parameter for n in numbers], dtype=np.float64),
        np.array([_stop(n, table.rows) for n in numbers], dtype=np.float64),
        _worths(numbers),
    ), ClassLimits(
        np.array([limit.kind for limit in limits], dtype=np.int64),
        np.array([asked.place_of(limit, at) for limit in limits], dtype=np.int64),
        np.array([[n.threshold, n.parameter] for n in limits], dtype=np.float64).reshape(-1, 2),
    )


def _worths(numbers: Sequence[HistNumber]) -> np.ndarray:
    worths = np.zeros((len(numbers), max((len(number.worths) for number in numbers), default=0)), dtype=np.int64)
    for place, number in enumerate(numbers):
        worths[place, : len(number.worths)] = number.worths
    return worths


def _stop(number: HistNumber, rows: int) -> float:
    """The worst a class can be: these numbers are worst for a class of one row (they are convex).

    Of those that count persons no such number is known, and none equals NaN.
    """
    if number.by_person:
        return math.nan
    if number.kind in (MINORITY, OWN) or BEHIND <= number.kind <= RECOGNISED or number.kind >= COST:
        return 0.0
    totals = number.counts.totals
    if number.kind in (DISTINCT, ENTROPY):
        return 1.0 if int(totals.sum()) == rows else 0.0  # a class may have missing values alone
    if number.kind == DELTA:  # a rare case of a common value can be further off than a class of one row
        return float("inf")
    rarest = np.zeros(len(totals), dtype=np.int64)
    worst = 0.0
    fewest = int(np.where(totals > 0, totals, np.iinfo(np.int64).max).argmin())
    for value in np.flatnonzero(totals).tolist() if number.kind == T_ORDERED else [fewest]:
        rarest[:] = 0
        rarest[value] = 1
        worst = max(worst, class_number(number.kind, rarest, 1, totals, rows, number.parameter))
    return float(worst)
