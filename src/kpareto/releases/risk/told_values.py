"""Whether columns tell the values of another one, in a sample of rows: by counting, by neighbours, and by arithmetic.

**By counting**: a value, or two together, comes nearly always with the same hidden value. **By neighbours**: rows that
follow each other in the order of a column have the same hidden value, or nearly so; that finds an age in days, where no
value repeats. **By arithmetic**: a sum of several columns with weights, or a product of powers, does so, such as a
random number and its sum with the age. Each is compared with what the released groups tell anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

NEARLY = 0.95  # share of the rows with a value, from which a column tells what another one hides, by any way
MOSTLY = 2 / 3  # the same for a copy that is right in most rows, of what could hardly be guessed
CLOSE = 0.75  # the same for a number that is another one and a little noise
WORTH = 0.05  # share of all rows that this must be about, to be worth a word
NEAR = 0.125  # share of the rows of its group that a number must be within, to be told nearly
LEAST = 12  # exceptions that chance would make, below which nothing can be said
ROWS = 20_000  # that are put in order, or asked for pairs of columns
TRIMMED = 0.9  # share of the rows that arithmetic is fitted to, those that fit worst left out
NUMBERED = 40  # columns that arithmetic is done with
BOTH_WAYS = 6  # letters from which codes that begin or end alike may tell


@dataclass(frozen=True)
class Disclosure:
    """How much some columns tell of another one, beyond what is known without them."""

    rows: int
    told: int  # rows whose value they nearly determine, where it was open before
    exact: bool  # they determine it in every row
    part: str = ""  # the part that is told, where it is not all: month or year, or nearly
    share: float = 0.0  # of all rows

    @classmethod
    def of(cls, rows: int, told: int, exact: bool, part: str = "") -> Disclosure:
        """With its share."""
        return cls(rows, told, exact, part, told / rows if rows else 0.0)


NOTHING = Disclosure(0, 0, False)


@dataclass(frozen=True, eq=False)
class Hidden:
    """A hidden column in the rows of a sample: its group as released and its value, as codes; its number, or nan."""

    group: np.ndarray  # (rows,) int64
    value: np.ndarray  # (rows,) int64
    number: np.ndarray  # (rows,) float64

    def take(self, rows: np.ndarray) -> Hidden:
        """Some of the rows."""
        return Hidden(self.group[rows], self.value[rows], self.number[rows])

    @cached_property
    def guessed(self) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """Groups and values numbered without gaps, how many values, and what the best guess misses in each group."""
        g, (values, y) = np.unique(self.group, return_inverse=True)[1], np.unique(self.value, return_inverse=True)
        return g, y, len(values), 1 - _largest(g, y, len(values))[1] / np.bincount(g)

    @cached_property
    def numeric(self) -> bool:
        """Whether it holds numbers, dates among them."""
        return is_numeric(self.number, self.value)


def is_numeric(number: np.ndarray, code: np.ndarray) -> bool:
    """Whether nearly all cells that hold something (code 0 or more) are numbers, and more than two different ones."""
    there = number[~np.isnan(number)]
    return len(there) >= NEARLY * max(int((code >= 0).sum()), 1) and len(np.unique(there)) > 2


def count_told(cells: np.ndarray, hidden: Hidden) -> Disclosure:
    """What cells (codes) tell of a hidden value, beyond its group.

    A cell tells the value where it has it nearly always, in so many rows that chance is out of question: a dozen
    exceptions would be expected, and at most a quarter of them is there.
    """
    rows = len(cells)
    if not rows:
        return NOTHING
    size, largest, e = _count_cells(cells, hidden)
    sure = (e > 1 - NEARLY) & (size * e >= LEAST) & (largest >= NEARLY * size) & (4 * (size - largest) <= size * e)
    # A column whose values are nearly all different determines everything, which says nothing of the two.
    exact = bool((size == largest).all()) and 2 * len(size) <= rows and float((size * e).sum()) >= WORTH * rows
    return Disclosure.of(rows, rows if exact else int(size[sure].sum()), exact)


def count_mostly(cells: np.ndarray, hidden: Hidden) -> Disclosure:
    """What cells tell in most rows and not in nearly all: a copy with errors, or one of part of the rows.

    Only where the best guess without the cell is wrong in two rows of three: that two columns go together, such as
    occupation and sex, is no copy. The rows in which it is right are counted.
    """
    if not len(cells):
        return NOTHING
    size, largest, e = _count_cells(cells, hidden)
    sure = (e >= MOSTLY) & (size * e >= LEAST) & (largest >= MOSTLY * size)
    return Disclosure.of(len(cells), int(largest[sure].sum()), False)


def _count_cells(cells: np.ndarray, hidden: Hidden) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each cell in each group: its rows, those with its most frequent hidden value, what a guess misses without."""
    g, y, values, open_share = hidden.guessed
    pair, c = np.unique(cells.astype(np.int64) * len(open_share) + g, return_inverse=True)
    return np.bincount(c), _largest(c, y, values)[1], open_share[(pair % len(open_share)).astype(np.int64)]


def _largest(outer: np.ndarray, inner: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Of codes in other codes: the outer ones, and how often the most frequent inner one of each occurs."""
    both, count = np.unique(outer.astype(np.int64) * width + inner, return_counts=True)
    owner = both // width
    start = np.flatnonzero(np.concatenate(([True], np.diff(owner) != 0)))
    return owner[start], np.maximum.reduceat(count, start)


def in_order(key: np.ndarray) -> np.ndarray:
    """The rows that have a number (nan where there is none), in its order; equal ones in an order by chance: (n,)."""
    chance = np.random.default_rng(1).permutation(len(key))  # equal keys must not keep the order of the source
    order = np.lexsort((chance, key))
    return order[: len(key) - int(np.isnan(key).sum())]


def order_told(order: np.ndarray, hidden: Hidden, least: float = NEARLY) -> Disclosure:
    """What an order of rows (``in_order``) tells of a hidden value, beyond its group.

    Rows are put in that order, group by group, and neighbours compared: they have the same value, or, of numbers, one
    within an eighth of the rows of the group, in ``least`` of the rows. The same rows in an order by chance are what it
    must be better than. With less than ``NEARLY`` numbers are asked alone, and rows enough not to be misled by chance.
    """
    rows, there = len(hidden.value), order[hidden.value[order] >= 0]
    asked = len(there)
    if asked < WORTH * rows or asked < 4 * LEAST:
        return NOTHING
    known = hidden.take(there)
    group = np.unique(known.group, return_inverse=True)[1]
    if np.median(np.bincount(group)) < 2 * LEAST:
        known = Hidden(np.zeros(asked, dtype=np.int64), known.value, np.full(asked, np.nan))
        group = known.group
    ordered = known.take(np.argsort(group, kind="stable"))
    strict = least >= NEARLY
    if not strict and asked < 20 * LEAST:
        return NOTHING
    for part, count in (("", _breaks), ("nearly", _jumps))[not strict :]:
        if part and not known.numeric:
            continue
        wrong = count(ordered)
        if wrong > (1 - least) * asked:
            continue  # most columns tell nothing, and what chance does is not asked for these
        chance = np.random.default_rng(1).permutation(asked)
        expected = count(known.take(chance[np.argsort(group[chance], kind="stable")]))
        if expected >= max(LEAST, WORTH * rows) and (4 if strict else 2) * wrong <= expected:
            return Disclosure.of(rows, asked - wrong, False, part)
    return NOTHING


def _breaks(rows: Hidden) -> int:
    """How often a value ends in ordered rows and comes back later."""
    new = np.diff(rows.group) != 0
    runs = 1 + int((new | (np.diff(rows.value) != 0)).sum())
    return runs - len(np.unique(rows.group * (int(rows.value.max(initial=0)) + 1) + rows.value))


def _jumps(rows: Hidden) -> int:
    """How often neighbours in ordered rows differ by more than an eighth of their group, by the rank of numbers."""
    order = np.lexsort((rows.number, rows.group))
    group, number = rows.group[order], rows.number[order]
    new = np.concatenate(([True], np.diff(group) != 0))
    start = np.flatnonzero(new)
    size = np.diff(np.append(start, len(group)))
    owner = np.cumsum(new) - 1
    fresh = np.flatnonzero(new | np.concatenate(([True], np.diff(number) != 0)))
    length = np.diff(np.append(fresh, len(group)))
    middle = np.repeat(fresh + (length - 1) / 2, length)  # equal numbers share a rank
    rank = np.empty(len(group))
    rank[order] = (middle - start[owner]) / size[owner]
    same = np.diff(rows.group) == 0
    return int((same & (np.abs(np.diff(rank)) > NEAR)).sum())


def order_keys(texts: Sequence[str], number: np.ndarray, code: np.ndarray) -> Iterator[np.ndarray]:
    """The orders that a column may tell by: its numbers; of longer codes the alphabet, from the front and the back.

    ``code`` says which of the different texts each row has, -1 where it has none.
    """
    if is_numeric(number, code):
        yield number
        return
    if max(map(len, texts), default=0) < BOTH_WAYS:
        return
    for turn in (1, -1):
        places = np.full(len(texts) + 1, np.nan)
        places[sorted(range(len(texts)), key=lambda at: texts[at][::turn])] = np.arange(len(texts))
        places[[at for at, text in enumerate(texts) if not text]] = np.nan
        yield places[code]


def sums_told(numbers: Mapping[str, np.ndarray], hidden: Hidden) -> Iterator[tuple[tuple[str, ...], Disclosure]]:
    """Columns of which a weighted sum, or a product of powers, tells a hidden number: as few of them as do."""
    names = tuple(numbers)[:NUMBERED]
    if len(names) < 2 or not hidden.numeric:
        return
    positive = {name: np.where(column > 0, column, np.nan) for name, column in numbers.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = {name: np.log(column) for name, column in positive.items()}
        log_hidden = np.log(np.where(hidden.number > 0, hidden.number, np.nan))
    for columns, target in ((numbers, hidden.number), (logs, log_hidden)):
        if not is_numeric(target, hidden.value):
            continue
        most = {name: np.isnan(numbers[name]).sum() + WORTH * len(target) for name in names}
        usable = tuple(name for name in names if np.isnan(columns[name]).sum() <= most[name])
        told = order_told(in_order(_fit(columns, usable, target)), hidden)
        if told.share < WORTH:
            continue
        for name in usable:
            fewer = tuple(other for other in usable if other != name)
            if fewer and (less := order_told(in_order(_fit(columns, fewer, target)), hidden)).share >= WORTH:
                usable, told = fewer, less
        if len(usable) > 1:
            yield usable, told
            return


def _fit(columns: Mapping[str, np.ndarray], names: Sequence[str], target: np.ndarray) -> np.ndarray:
    """The weighted sum of some columns that is nearest to a target: (rows,); nan where a column has no number."""
    if not names:
        return np.full(len(target), np.nan)
    table = np.stack([columns[name] for name in names], axis=1)
    there = np.flatnonzero(~np.isnan(table).any(axis=1) & ~np.isnan(target))
    if len(there) < 10 * (len(names) + LEAST // 2):
        return np.full(len(target), np.nan)
    middle, width = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    table = np.column_stack(((table - middle) / np.where(width > 0, width, 1), np.ones(len(target))))
    used = there
    for _ in range(3):  # a few rows that fit badly must not spoil what holds in all others
        weights = np.linalg.lstsq(table[used], target[used], rcond=None)[0]
        off = np.abs(table[there] @ weights - target[there])
        used = there[off <= np.quantile(off, TRIMMED)]
    # What differs by a rounding error is equal: neighbours are then compared in an order by chance.
    fitted: np.ndarray = table @ weights
    return np.round(fitted / (np.nanstd(target) or 1), 9)
