"""Disclosing columns: columns that say what a generalized one hides, of any role.

A release may hide education behind three groups and show education-num beside it in clear: whoever knows the one knows
the other, and the classes are no longer what the certificate says. So every release is tried: does a column, or do
several together, nearly determine a value that its group hides, and how large are the classes when
they are joined? What is written in the cells is compared as well, for values that hardly repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kpareto.releases.recoded_rows import QUASI, Recoded
from kpareto.tables.partition import Partition

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# -- whether columns tell the values of another one, in a sample of rows -----------------------------------------------
#
# **By counting**: a value, or two together, comes nearly always with the same hidden value. **By neighbours**: rows
# that follow each other in the order of a column have the same hidden value, or nearly so; that finds an age in days,
# where no value repeats. **By arithmetic**: a sum of several columns with weights, or a product of powers, does so,
# such as a random number and its sum with the age. Each is compared with what the released groups tell anyway.

NEARLY = 0.95  # share of the rows with a value, from which a column tells what another one hides, by any way
MOSTLY = 2 / 3  # the same for a copy that is right in most rows, or a number that is another one and a little noise
EVEN = 0.8  # values of a group are about as frequent where the more frequent ones leave so much of their share
SOME = "some"  # part of a value: how a cell that leaves few values of a group is called
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
    part: str = ""  # the part that is told, where it is not all: month or year, nearly, or some
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
    def parts(self) -> Mapping[int, tuple[np.ndarray, np.ndarray]]:
        """Of each group half, and a third, of the number of its values, and what share the more frequent ones leave."""
        g, y, values, _ = self.guessed
        there = np.bincount(np.unique(g * values + y) // values)
        return {of: (there // of, 1 - _most_frequent(g, y, values, there // of) / np.bincount(g)) for of in (2, 3)}

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


def count_narrowed(cells: np.ndarray, hidden: Hidden) -> Disclosure:
    """What cells leave of a hidden value: in most rows half of the values of its group, or in some rows a third.

    So a finer band of an age tells part of it. Only where values of a group are about as frequent: that
    rare ones do not occur in a cell says little.
    """
    if not len(cells):
        return NOTHING
    g, y, values, open_share = hidden.guessed
    pair, c = np.unique(cells.astype(np.int64) * len(open_share) + g, return_inverse=True)
    size, group = np.bincount(c), (pair % len(open_share)).astype(np.int64)
    for of, least in ((2, MOSTLY), (3, WORTH)):
        number, rest = (each[group] for each in hidden.parts[of])
        enough = (number > 0) & (size >= 8 * number) & (size * rest >= 2 * LEAST) & (rest >= EVEN * (1 - 1 / of))
        sure = enough & (_most_frequent(c, y, values, number) >= NEARLY * size)
        told = Disclosure.of(len(cells), int(size[sure].sum()), False, SOME)
        if told.share >= least:
            return told
    return NOTHING


def _most_frequent(outer: np.ndarray, inner: np.ndarray, width: int, how_many: np.ndarray) -> np.ndarray:
    """Of codes in other codes (all from 0 on): how often the so many most frequent inner ones of each outer occur."""
    both, count = np.unique(outer.astype(np.int64) * width + inner, return_counts=True)
    order = np.lexsort((-count, both // width))
    owner, count = (both // width)[order], count[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    counted = np.where(place < how_many[owner], count, 0)
    return np.bincount(owner, weights=counted, minlength=len(how_many)).astype(np.int64)


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
        disclosure = order_told(in_order(_fit(columns, usable, target)), hidden)
        if disclosure.share < WORTH:
            continue
        for name in usable:
            fewer = tuple(other for other in usable if other != name)
            if fewer and (less := order_told(in_order(_fit(columns, fewer, target)), hidden)).share >= WORTH:
                usable, disclosure = fewer, less
        if len(usable) > 1:
            yield usable, disclosure
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


# -- which columns of a release do -------------------------------------------------------------------------------------

SAMPLE = 100_000  # rows that are asked, about
PAIR_ROWS = 10_000_000  # rows that are looked at for pairs of columns, over all pairs: a release must not take hours
MOST = 0.5  # share of the rows from which a sensitive column that tells is a danger
MOST_TIES = 8  # columns are tied in so many turns at the most


@dataclass(frozen=True)
class DisclosingColumn:
    """Columns that tell what a generalized one hides, and what is left of k when they are joined."""

    columns: tuple[str, ...]
    tells: str
    told: Disclosure
    k: int  # the smallest class by the quasi-identifiers together with these columns
    below: int  # rows in such classes that are smaller than the release promises
    declared: bool = False  # the job says that this is known and meant
    sensitive: bool = False  # only columns that somebody wants to learn, and so does not know

    @property
    def grave(self) -> bool:
        """Whether it is a danger: that a diagnosis tells the sex of some is what it is about; of most it is not."""
        return not self.declared and (not self.sensitive or self.told.share >= MOST)

    def sentence(self, k: int) -> str:
        """What it does to a release that promises k."""
        what = " and ".join(map(repr, self.columns))
        how = "in every row" if self.told.exact else f"in {self.told.share:.0%} of the rows"
        verb = "tells" if len(self.columns) == 1 else "together tell"
        part = {"": "", "nearly": "nearly ", SOME: "part of "}.get(self.told.part, f"the {self.told.part} of ")
        return (
            f"{what} {verb} {part}what {self.tells!r} hides {how}: joined with the quasi-identifiers k is {self.k} "
            f"where {k} is promised, and {self.below:,} rows are in smaller classes."
        )


@dataclass(frozen=True)
class Asked:
    """What a release was asked for columns that tell: those that do, and how many pairs were left for want of time."""

    columns: tuple[DisclosingColumn, ...] = ()
    pairs_left: int = 0

    def sentences(self) -> list[str]:
        """That not every pair was asked."""
        if not self.pairs_left:
            return []
        ask = "were not asked by counting whether both together tell what a generalized column hides"
        return [f"{self.pairs_left:,} pairs of columns {ask}: there are too many of them."]


def find_disclosing_columns(
    recoded: Recoded, partition: Partition, declared: Sequence[str] = (), sample: _Sample | None = None
) -> Asked:
    """The released columns of any role, alone and together, that tell what generalized ones hide and break its k.

    Which of them may tell something is asked of at most ``SAMPLE`` rows, fetched once from the engine that holds them;
    what becomes of k is counted in all rows. Quasi-identifiers are not asked: k counts with them.
    """
    sample = _fetch_sample(recoded, partition) if sample is None else sample
    if sample is None:
        return Asked()
    outs = {out.name: out for out in recoded.outs}
    sql = recoded.rows.layout().sql
    k = int(partition.sizes[partition.visible].min())
    quasi = [sql.text(out.value) if out.text else out.value for out in recoded.outs if out.role == QUASI]
    suspects, left = sample.suspects([name for name in sample.asked if name not in recoded.tied])
    disclosing = []
    for names, name, disclosure in suspects:
        cells = [sql.text(outs[column].value) for column in names]
        least, below = _count_joined(recoded, [*quasi, *cells], k)
        if least < k:
            meant = all(column in declared for column in names)
            learned = all(outs[column].role == "sensitive" for column in names)
            disclosing.append(DisclosingColumn(names, name, disclosure, least, below, meant, learned))
    return Asked(tuple(disclosing), left)


def tie_undecided(
    recoded: Recoded, partition: Partition, undecided: Collection[str], declared: Sequence[str]
) -> tuple[Recoded, Asked]:
    """The rows with the columns tied that tell and that nobody has decided about, and what the others still tell."""
    sample = _fetch_sample(recoded, partition)
    for _ in range(MOST_TIES):
        asked = find_disclosing_columns(recoded, partition, declared, sample)
        ties: dict[str, str] = {}
        for each in asked.columns:
            open_columns = [name for name in each.columns if name in undecided]
            if open_columns and not set(each.columns) & ties.keys():
                ties[open_columns[-1]] = each.tells
        if not ties:
            break
        recoded = recoded.tie(ties)
    return recoded, asked


Suspect = tuple[tuple[str, ...], str, Disclosure]


@dataclass(frozen=True, eq=False)
class _Column:
    """A column that is asked, in the rows of a sample."""

    codes: np.ndarray  # (rows,) int64, -1 where there is no cell
    numbers: np.ndarray  # (rows,) float64, nan where there is none
    cells: pa.ChunkedArray

    @cached_property
    def orders(self) -> tuple[np.ndarray, ...]:
        """The first rows in the orders that it may tell by."""
        first = self.cells.slice(0, ROWS).combine_chunks().dictionary_encode()
        keys = order_keys(first.dictionary.to_pylist(), self.numbers[:ROWS], _codes(first))
        return tuple(in_order(key) for key in keys)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some rows of a release: columns that are asked, and hidden ones with the whole and the first of their rows."""

    asked: Mapping[str, _Column]
    hidden: Mapping[str, tuple[Hidden, Hidden]]
    written: Mapping[tuple[str, str], Sequence[tuple[str, int]]]  # asked and hidden -> parts that are shown, in rows
    rows: int
    single: dict[tuple[str, str], Disclosure] = field(default_factory=dict)  # what was asked before

    def suspects(self, names: Sequence[str]) -> tuple[list[Suspect], int]:
        """Of some columns those that tell enough of a hidden one to be worth a word, and how many pairs were left.

        Several together count only where they tell more than each of them alone.
        """
        suspects: list[Suspect] = []
        left = 0
        for hidden in self.hidden:
            for name in names:
                if (name, hidden) not in self.single:
                    self.single[name, hidden] = self._ask_single(name, hidden)
            disclosures = {name: self.single[name, hidden] for name in names}
            suspects += [((name,), hidden, each) for name, each in disclosures.items() if each.share >= WORTH]
            together, left_here = self._ask_together(disclosures, hidden)
            suspects += [(some, hidden, each) for some, each in together]
            left += left_here
        suspects.sort(key=lambda suspect: suspect[2].share < NEARLY)  # what tells all of it before what tells a part
        return suspects, left

    def _ask_single(self, name: str, hidden: str) -> Disclosure:
        """What one column tells, by counting or, where that says little, by its order or by what is written in it."""
        column, (whole, few) = self.asked[name], self.hidden[hidden]
        best = count_told(column.codes, whole)
        if best.share >= NEARLY:
            return best
        for order in column.orders:
            best = max(best, order_told(order, few), key=lambda each: each.share)
        rows = min(self.rows, ENOUGH)
        for part, shown in self.written.get((name, hidden), ()) if best.share < NEARLY or best.part else ():
            if shown > best.share * rows or (shown and best.part and not part):
                return Disclosure.of(rows, shown, shown == best.rows, part)
        if best.share >= WORTH:
            return best
        mostly = [count_mostly(column.codes, whole), count_narrowed(column.codes[: len(few.group)], few)]
        mostly += [order_told(order, few, MOSTLY) for order in column.orders]
        return max(mostly, key=lambda each: each.share)

    def _ask_together(
        self, disclosures: Mapping[str, Disclosure], hidden: str
    ) -> tuple[list[tuple[tuple[str, ...], Disclosure]], int]:
        """What columns tell together that none of them tells alone, and how many pairs were not counted."""
        few = self.hidden[hidden][1]
        rows = len(few.group)
        single = {name: 0.0 if each.part == SOME else each.share for name, each in disclosures.items()}
        columns = {name: self.asked[name] for name, share in single.items() if share < NEARLY}
        numbers = {
            name: column.numbers[:rows]
            for name, column in columns.items()
            if is_numeric(column.numbers[:rows], column.codes[:rows])
        }
        suspects = list(sums_told(numbers, few))
        pairs = list(combinations(columns, 2))
        most = PAIR_ROWS // max(rows * len(self.hidden), 1)
        for names in pairs[:most]:
            one, two = (columns[name].codes[:rows] for name in names)
            disclosure = count_told(one * (int(two.max(initial=0)) + 2) + two + 1, few)
            if disclosure.share >= max(WORTH, *(single[name] + WORTH for name in names)):
                suspects.append((names, disclosure))
        return suspects, max(0, len(pairs) - most)


def _codes(encoded: pa.DictionaryArray) -> np.ndarray:
    """A number for each different cell, -1 where there is none: (rows,) int64."""
    import pyarrow.compute as pc

    codes: np.ndarray = pc.fill_null(encoded.indices.cast("int64"), -1).to_numpy(zero_copy_only=False)
    return codes


def _floats(column: pa.Array) -> np.ndarray:
    """Its numbers, nan where there is none: (rows,) float64."""
    numbers: np.ndarray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def read_once(
    engine: duckdb.DuckDBPyConnection, encoded: Mapping[str, pa.DictionaryArray], queries: Mapping[str, str]
) -> dict[str, dict[str, pa.Array]]:
    """What queries make of the cells of columns, each different text read once: column -> query -> (rows,)."""
    import pyarrow as pa

    texts = [column.dictionary.cast(pa.large_string()) for column in encoded.values()]
    engine.register("texts", pa.table({"cell": pa.concat_arrays(texts)}))
    listed = ", ".join(f"{query} AS {name}" for name, query in queries.items())
    answer = engine.sql(f"SELECT {listed} FROM texts").to_arrow_table().combine_chunks()
    read, start = {}, 0
    for name, column in encoded.items():
        part = answer.slice(start, len(column.dictionary)).combine_chunks()
        read[name] = {query: part.column(query).combine_chunks().take(column.indices) for query in queries}
        start += len(column.dictionary)
    return read


def _name_columns(count: int, letter: str) -> list[str]:
    return [f"{letter}{place}" for place in range(count)]


def _fetch_sample(recoded: Recoded, partition: Partition) -> _Sample | None:
    """All rows, or some by a hash of their cells, so that the same rows have the same warnings; None: no question."""
    import duckdb

    layout = recoded.rows.layout()
    nested = {recoded.rows.columns[place] for place in layout.nested}
    shown = {
        out.name: layout.sql.text(out.value)
        for out in recoded.outs
        if out.role in ("plain", "target", "sensitive") and out.name not in recoded.tied and out.name not in nested
    }
    hidden = list(_hiding(partition))
    if partition.empty or not shown or not hidden:
        return None
    listed = [f"{cell} AS p{place}" for place, cell in enumerate(shown.values())]
    for place, name in enumerate(hidden):
        value = layout.keys[recoded.rows.columns.index(name)]
        listed += [f"{recoded.group(name)} AS g{place}", f"{layout.sql.text(value)} AS y{place}"]
    rows = int(partition.rows[partition.visible].sum())
    drawn = f" AND {layout.sql.drawn(list(shown.values()), SAMPLE, rows)}" if rows > SAMPLE else ""
    sample = recoded.rows.ask(f"SELECT {', '.join(listed)} {recoded.tables}{drawn}")
    with duckdb.connect() as engine:
        with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets there is none to switch off
            engine.execute("SET enable_progress_bar = false")  # it would draw on standard output
        return _read_sample(engine, sample, list(shown), hidden)


def _read_sample(
    engine: duckdb.DuckDBPyConnection, sample: pa.Table, asked: Sequence[str], hidden: Sequence[str]
) -> _Sample:
    """From cells p0, p1, … of what is asked, and groups g and values y of hidden columns."""
    encoded = {name: sample.column(name).combine_chunks().dictionary_encode() for name in sample.column_names}
    codes = {name: _codes(column) for name, column in encoded.items()}
    texts = {name: column for name, column in encoded.items() if name[0] != "g"}
    read = read_once(engine, texts, {"number": _measure_query("cell")})
    numbers = {name: _floats(each["number"]) for name, each in read.items()}
    columns = {
        name: _Column(codes[f"p{place}"], numbers[f"p{place}"], sample.column(f"p{place}"))
        for place, name in enumerate(asked)
    }
    values = {
        name: Hidden(codes[f"g{place}"], codes[f"y{place}"], numbers[f"y{place}"]) for place, name in enumerate(hidden)
    }
    few = np.arange(min(len(sample), ROWS))
    written = {
        (asked[place], hidden[at]): parts
        for (place, at), parts in find_written(engine, sample, len(asked), len(hidden))
    }
    return _Sample(columns, {name: (each, each.take(few)) for name, each in values.items()}, written, len(sample))


def _hiding(partition: Partition) -> Iterator[str]:
    """The quasi-identifiers of which a group of the release holds more than one value, those that hide most first."""
    table = partition.table
    if partition.recoding.boxes is not None:  # a local recoding shows each class by labels of its own
        yield from table.schema.quasi
        return
    hidden = []
    for column, (hierarchy, cut) in enumerate(zip(table.hierarchies, partition.recoding.cuts, strict=True)):
        groups = cut[np.flatnonzero(table.observed[column])]
        if len(np.unique(groups)) < len(groups):
            hidden.append((len(np.unique(groups)) / len(groups), hierarchy.name))
    yield from (name for _, name in sorted(hidden))


def _count_joined(recoded: Recoded, cells: Sequence[str], k: int) -> tuple[int, int]:
    """The smallest class by these cells, in persons where k counts them, and the rows in classes smaller than k."""
    listed = ", ".join(f"{cell} AS l{place}" for place, cell in enumerate(cells))
    keys = ", ".join(f"l{place}" for place in range(len(cells)))
    size = "count(*)"
    if recoded.person is not None:
        listed, size = f"{listed}, {recoded.person} AS person", "count(DISTINCT person)"
    groups = f"SELECT {size} AS n, count(*) AS r FROM (SELECT {listed} {recoded.tables}) AS i GROUP BY {keys}"
    small = f"coalesce(sum(CASE WHEN n < {k} THEN r ELSE 0 END), 0)"
    least, below = _one(recoded, f"SELECT coalesce(min(n), 0), {small} FROM ({groups}) AS j")
    return int(float(str(least))), int(float(str(below)))


def _one(recoded: Recoded, query: str) -> list[object]:
    """The only row of an answer of the engine that holds the rows."""
    answer = recoded.rows.ask(query)
    return [column[0].as_py() for column in answer.columns]


# Columns that show a hidden value by what is written in them: the same text, number or date, or its year or month.
#
# Counting cannot tell this where values hardly repeat: a column of different values determines everything beside it. So
# the texts themselves are compared, in the rows of a sample that DuckDB holds.

ENOUGH = 2_000  # rows that are read: of what is shown in nearly every row, few rows tell
LONGEST = 200  # characters of a cell that are read: a number or a date in a novel is not looked for
FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d")
DAYS = ("%Y%m%d", "%d%m%Y", "%m%d%Y", "%y%m%d", "%d%m%y")  # the digits of a day, which may be part of a longer code
EMPTY = "  "  # the words of a cell without any
PARTS = {"": "y", "month": "m", "year": "a"}  # what of a value is shown -> its column in the table of words


def find_written(
    engine: duckdb.DuckDBPyConnection, sample: pa.Table, asked: int, hidden: int
) -> Iterator[tuple[tuple[int, int], list[tuple[str, int]]]]:
    """Which cells show which hidden values, by their places: what part of them, and in how many rows of ``ENOUGH``."""
    import pyarrow as pa

    cells, values = _name_columns(asked, "p"), _name_columns(hidden, "y")
    engine.register("sample", sample)
    # By a hash and not by chance, so that the same rows have the same warnings.
    order = engine.execute(f"SELECT hash({', '.join([*cells, *values])}) AS h FROM sample").fetchnumpy()["h"]
    few = sample.take(np.argsort(order, kind="stable")[:ENOUGH])
    text = f"left(cell, {LONGEST})"
    day = _day_query(text)
    of_cell = {"w": _words_query(text), "d": _digits_query(text), "n": _number_query(text)}
    of_value = {"y": _words_query(text), "v": _number_query(text)}
    of_value |= {f"t{place}": f"strftime({day}, '{each}')" for place, each in enumerate((*DAYS, "%-d%-m%Y"))}
    of_value |= {"m": f"strftime({day}, '%m%Y')", "a": f"strftime({day}, '%Y')"}
    encoded = {name: few.column(name).combine_chunks().dictionary_encode() for name in (*cells, *values)}
    read = read_once(engine, {name: encoded[name] for name in cells}, of_cell)
    read |= read_once(engine, {name: encoded[name] for name in values}, of_value)
    words = {f"{letter}_{name[1:]}": each for name, columns in read.items() for letter, each in columns.items()}
    words |= {f"g_{place}": few.column(f"g{place}") for place in range(hidden)}
    engine.register("words", pa.table(words))
    for value in range(hidden):
        parts = PARTS if words[f"a_{value}"].null_count < len(few) else {"": PARTS[""]}
        asking = [(cell, part) for cell in range(asked) for part in parts]
        matches = [_match_query(cell, value, part) for cell, part in asking]
        listed = ", ".join(f"count(*) FILTER ({match})" for match in matches)
        most = engine.execute(f"SELECT {listed} FROM words").fetchone() or ()
        shown: dict[int, list[tuple[str, int]]] = {}
        for (cell, part), match, rows in zip(asking, matches, most, strict=True):
            if rows >= WORTH * len(few):  # most columns show nothing, and are not asked any further
                question = _shown_query(f"w_{cell}", f"g_{value}", f"{PARTS[part]}_{value}", match)
                answer = read_shown(engine.execute(question).fetchone() or (0, 0, 0), len(few))
                shown.setdefault(cell, []).append((part, answer))
        yield from (((cell, value), shown_parts) for cell, shown_parts in shown.items())


def _match_query(cell: int, value: int, part: str) -> str:
    """Whether a cell shows a hidden value, or the month or the year of a day."""
    w, d, n = (f"{letter}_{cell}" for letter in "wdn")
    y, v, m, a = (f"{letter}_{value}" for letter in "yvma")
    days = [f"t{place}_{value}" for place in range(len(DAYS) + 1)]
    turned = f"{m}[3:] || {m}[:2]"
    matches = {
        "": [f"{w} = {y}", f"(length({y}) >= 6 AND contains({w}, {y}))", f"{n} = {v}", f"{d} = {days[-1]}"]
        + [f"contains({d}, {day})" for day in days[:-1]],
        "month": [f"contains({d}, {m})", f"contains({d}, {turned})", f"{d} = ltrim({m}, '0')"],
        "year": [f"contains({w}, ' ' || {a} || ' ')"],
    }
    return " OR ".join(f"coalesce({each}, false)" for each in matches[part])


def _shown_query(cell: str, group: str, value: str, match: str) -> str:
    """The question for ``read_shown``.

    A cell that holds many values shows none of them: of each kind of cell only the most frequent value counts. Only
    groups that hide something count, and the best guess at what they hide is what the cell must be better than.
    """
    return (
        f"WITH p AS (SELECT {cell} AS x, {group} AS g, {value} AS f, count(*) AS n, count(*) FILTER ({match}) AS o "
        f"FROM words WHERE {cell} <> '{EMPTY}' AND {value} <> '{EMPTY}' GROUP BY ALL), "
        "c AS (SELECT x, g, sum(n) AS s, max(o) AS o FROM p GROUP BY x, g), "
        "v AS (SELECT g, f, sum(n) AS n FROM p GROUP BY g, f), "
        "b AS (SELECT g, 1 - max(n) / sum(n) AS e FROM v GROUP BY g) "
        "SELECT coalesce(sum(s), 0), coalesce(sum(o), 0), coalesce(sum(s * e), 0) "
        f"FROM c JOIN b ON c.g IS NOT DISTINCT FROM b.g WHERE e > {1 - NEARLY:g}"
    )


def read_shown(answer: Sequence[object], rows: int) -> int:
    """The answer to one of the questions about so many rows: in how many of them it is shown, 0 where it is not."""
    asked, shown, expected = (float(str(number)) for number in answer)
    errors = (asked - shown) / max(asked, 1)
    if shown < WORTH * rows or errors > 1 - MOSTLY or (4 if errors <= 1 - NEARLY else 2) * (asked - shown) > expected:
        return 0
    return int(shown)


def _words_query(text: str) -> str:
    """Words and numbers in small letters, a blank around each, so that ``W2014`` has 2014 in it and 12014 has not."""
    apart = rf"regexp_replace(lower({text}), '([0-9]+|\pL+)', ' \1 ', 'g')"
    return rf"(' ' || trim(regexp_replace({apart}, '[^0-9\pL]+', ' ', 'g')) || ' ')"


def _digits_query(text: str) -> str:
    return f"regexp_replace({text}, '[^0-9]', '', 'g')"


def _measure_query(text: str) -> str:
    """A cell as a number: what it is, or the years that a date is away from 1970."""
    return f"coalesce({_number_query(text)}, epoch({_day_query(f'left({text}, {LONGEST})')}) / (86400 * 365.25))"


def _day_query(text: str) -> str:
    """The day that a cell is; reading what cannot be one takes DuckDB long, so digits and signs alone are tried."""
    formats = ", ".join(f"'{each}'" for each in FORMATS)
    written = f"try_strptime(CASE WHEN regexp_full_match({text}, '[-0-9./ ]*') THEN {text} END, [{formats}])"
    return f"coalesce(TRY_CAST({text} AS TIMESTAMP), {written})"


def _number_query(text: str) -> str:
    return f"TRY_CAST(replace({text}, ',', '.') AS DOUBLE)"
