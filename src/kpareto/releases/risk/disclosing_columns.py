"""Disclosing columns: columns that say what a generalized one hides, of any role.

A release may hide education behind three groups and show education-num beside it in clear: whoever knows the one knows
the other, and the classes are no longer what the certificate says. So every release is tried: does a column, or do
several together, nearly determine a value that its group hides (``told_values``), and how large are the classes when
they are joined? What is written in the cells is compared as well, for values that hardly repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kpareto.releases.recoded_rows import QUASI, Recoded
from kpareto.releases.risk.told_values import (
    NEARLY,
    ROWS,
    WORTH,
    Disclosure,
    Hidden,
    count_told,
    is_numeric,
    order_keys,
    order_told,
    sums_told,
)
from kpareto.tables.partition import Partition

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

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
        part = {"": "", "nearly": "nearly "}.get(self.told.part, f"the {self.told.part} of ")
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


def find_disclosing_columns(recoded: Recoded, partition: Partition, declared: Sequence[str] = ()) -> Asked:
    """The released columns of any role, alone and together, that tell what generalized ones hide and break its k.

    Which of them may tell something is asked of at most ``SAMPLE`` rows, fetched once from the engine that holds them;
    what becomes of k is counted in all rows. Quasi-identifiers are not asked: k counts with them.
    """
    outs = {out.name: out for out in recoded.outs}
    nested = {recoded.rows.columns[place] for place in recoded.rows.layout().nested}
    asked = [
        out.name
        for out in recoded.outs
        if out.role in ("plain", "target", "sensitive") and out.name not in recoded.tied and out.name not in nested
    ]
    hidden = list(_hiding(partition))
    if partition.empty or not asked or not hidden:
        return Asked()
    k = int(partition.sizes[partition.visible].min())
    sql = recoded.rows.layout().sql
    shown = {name: sql.text(outs[name].value) for name in asked}
    quasi = [sql.text(out.value) if out.text else out.value for out in recoded.outs if out.role == QUASI]
    sample = _fetch_sample(recoded, shown, hidden, int(partition.rows[partition.visible].sum()))
    suspects, left = _suspect(sample, asked, hidden)
    disclosing = []
    for names, name, disclosure in suspects:
        least, below = _count_joined(recoded, [*quasi, *(shown[column] for column in names)], k)
        if least < k:
            meant = all(column in declared for column in names)
            learned = all(outs[column].role == "sensitive" for column in names)
            disclosing.append(DisclosingColumn(names, name, disclosure, least, below, meant, learned))
    return Asked(tuple(disclosing), left)


def tie_undecided(
    recoded: Recoded, partition: Partition, undecided: Collection[str], declared: Sequence[str]
) -> tuple[Recoded, Asked]:
    """The rows with the columns tied that tell and that nobody has decided about, and what the others still tell."""
    for _ in range(MOST_TIES):
        asked = find_disclosing_columns(recoded, partition, declared)
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


def _suspect(sample: pa.Table, asked: Sequence[str], hidden: Sequence[str]) -> tuple[list[Suspect], int]:
    """Columns that tell enough of a hidden one to be worth a word: names, name, how much; and the pairs left.

    Several together count only where they tell more than each of them alone.
    """
    import duckdb

    suspects: list[Suspect] = []
    with duckdb.connect() as engine:
        with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets there is none to switch off
            engine.execute("SET enable_progress_bar = false")  # it would draw on standard output
        engine.register("sample", sample)
        cells, groups, values = _name_columns(len(asked), "p"), *(_name_columns(len(hidden), word) for word in "gy")
        engine.execute(f"CREATE TABLE words AS {write_words(cells, values, groups, 'sample')}")
        dated = engine.execute(write_dated(len(hidden), "words")).fetchone() or ()
        rows = _SampleRows.read(engine, sample, len(asked), len(hidden))
        left = 0
        for at, name in enumerate(hidden):
            single: dict[str, float] = {}
            for place, column in enumerate(asked):
                told = rows.ask_single(place, at)
                if told.share < NEARLY or told.part:
                    told = _compare(engine, (place, at), told, bool(dated[at]))
                single[column] = told.share
                if told.share >= WORTH:
                    suspects.append(((column,), name, told))
            together, left_here = rows.ask_together(asked, at, single)
            suspects += [(names, name, told) for names, told in together]
            left += left_here
    return suspects, left


@dataclass(frozen=True, eq=False)
class _SampleRows:
    """The rows of a sample as codes and numbers, one array for each column that is asked or hidden."""

    codes: tuple[np.ndarray, ...]
    numbers: tuple[np.ndarray, ...]
    texts: tuple[list[str | None], ...]  # of the first rows
    hidden: tuple[Hidden, ...]

    @classmethod
    def read(cls, engine: duckdb.DuckDBPyConnection, sample: pa.Table, asked: int, hidden: int) -> _SampleRows:
        """From a sample with cells p0, p1, …, and groups g and values y of hidden columns."""
        names = [*_name_columns(asked, "p"), *_name_columns(hidden, "y")]
        listed = ", ".join(f"{_measure_query(f'CAST({name} AS VARCHAR)')} AS {name}" for name in names)
        told = engine.execute(f"SELECT {listed} FROM sample").fetchnumpy()
        numbers = {name: _floats(np.ma.asarray(told[name])) for name in names}
        codes = {name: _codes(sample.column(name)) for name in sample.column_names}
        few = sample.slice(0, ROWS)
        return cls(
            tuple(codes[f"p{place}"] for place in range(asked)),
            tuple(numbers[f"p{place}"] for place in range(asked)),
            tuple(few.column(f"p{place}").to_pylist() for place in range(asked)),
            tuple(Hidden(codes[f"g{at}"], codes[f"y{at}"], numbers[f"y{at}"]) for at in range(hidden)),
        )

    def ask_single(self, place: int, at: int) -> Disclosure:
        """What one column tells, by counting or, where that says little, by the order of its values."""
        told = count_told(self.codes[place], self.hidden[at])
        if told.share >= NEARLY:
            return told
        few = self.hidden[at].take(np.arange(min(len(self.codes[place]), ROWS)))
        code = self.codes[place][: len(few.group)]
        for key in order_keys(self.texts[place], self.numbers[place][: len(code)], code):
            told = max(told, order_told(key, few), key=lambda each: each.share)
        return told

    def ask_together(
        self, asked: Sequence[str], at: int, single: Mapping[str, float]
    ) -> tuple[list[tuple[tuple[str, ...], Disclosure]], int]:
        """What columns tell together that none of them tells alone, and how many pairs were not counted."""
        open_places = [place for place, name in enumerate(asked) if single[name] < NEARLY]
        few = self.hidden[at].take(np.arange(min(len(self.hidden[at].group), ROWS)))
        rows = len(few.group)
        suspects = []
        numbers = {
            asked[place]: self.numbers[place][:rows]
            for place in open_places
            if is_numeric(self.numbers[place][:rows], self.codes[place][:rows])
        }
        suspects += list(sums_told(numbers, few))
        pairs = list(combinations(open_places, 2))
        most = PAIR_ROWS // max(rows * len(self.hidden), 1)
        for one, two in pairs[:most]:
            codes = self.codes[one][:rows], self.codes[two][:rows]
            told = count_told(codes[0] * (int(codes[1].max(initial=0)) + 2) + codes[1] + 1, few)
            names = (asked[one], asked[two])
            if told.share >= max(WORTH, *(single[name] + WORTH for name in names)):
                suspects.append((names, told))
        return suspects, max(0, len(pairs) - most)


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """A number for each different cell, -1 where there is none: (rows,) int64."""
    import pyarrow.compute as pc

    encoded = column.combine_chunks().dictionary_encode()
    codes: np.ndarray = pc.fill_null(encoded.indices.cast("int64"), -1).to_numpy(zero_copy_only=False)
    return codes


def _floats(column: np.ndarray) -> np.ndarray:
    """Its numbers, nan where there is none: (rows,) float64."""
    numbers: np.ndarray = np.ma.filled(column.astype(np.float64), np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _name_columns(count: int, letter: str) -> list[str]:
    return [f"{letter}{place}" for place in range(count)]


def _compare(engine: duckdb.DuckDBPyConnection, pair: tuple[int, int], counted: Disclosure, dated: bool) -> Disclosure:
    """What is written in a column says more of a hidden one than counting does, or what counting told."""
    rows = min(engine.execute("SELECT count(*) FROM words").fetchall()[0][0], ENOUGH)
    for part, question in write_questions(*pair, "words", dated):
        shown = read_shown(engine.execute(question).fetchone() or (0, 0, 0), rows)
        if shown > counted.share * rows or (shown and counted.part and not part):
            return Disclosure.of(rows, shown, shown == counted.rows, part)
    return counted


def _fetch_sample(recoded: Recoded, shown: Mapping[str, str], hidden: Sequence[str], rows: int) -> pa.Table:
    """The plain cells (p), and group (g) and value (y) of hidden columns: of all rows, or drawn by a hash of the cells.

    A hash and no chance, so that the same rows have the same warnings.
    """
    layout = recoded.rows.layout()
    listed = [f"{cell} AS p{place}" for place, cell in enumerate(shown.values())]
    for place, name in enumerate(hidden):
        value = layout.keys[recoded.rows.columns.index(name)]
        listed += [f"{recoded.group(name)} AS g{place}", f"{value} AS y{place}"]
    drawn = ""
    if rows > SAMPLE:
        drawn = f" AND {layout.sql.drawn(list(shown.values()), SAMPLE, rows)}"
    return recoded.rows.ask(f"SELECT {', '.join(listed)} {recoded.tables}{drawn}")


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


def write_words(cells: Sequence[str], hidden: Sequence[str], groups: Sequence[str], table: str) -> str:
    """A query that reads some rows of a sample once: words, digits and number of each cell, and those to look for."""
    listed = []
    for place, cell in enumerate(cells):
        text = f"left({cell}, {LONGEST})"
        listed += [f"{_words_query(text)} AS w{place}", f"{_digits_query(text)} AS d{place}"]
        listed += [f"{_number_query(text)} AS n{place}"]
    for place, (value, group) in enumerate(zip(hidden, groups, strict=True)):
        text = f"left(CAST({value} AS VARCHAR), {LONGEST})"
        formats = ", ".join(f"'{each}'" for each in FORMATS)
        day = f"coalesce(TRY_CAST({text} AS TIMESTAMP), try_strptime({text}, [{formats}]))"
        spelled = ", ".join(f"strftime({day}, '{each}')" for each in (*DAYS, "%-d%-m%Y"))
        listed += [f"{group} AS g{place}", f"{_words_query(text)} AS y{place}", f"{_number_query(text)} AS v{place}"]
        listed += [f"[{spelled}] AS t{place}", f"strftime({day}, '%m%Y') AS m{place}"]
        listed += [f"strftime({day}, '%Y') AS a{place}"]
    # By a hash and not by chance, so that the same rows have the same warnings.
    few = f"SELECT * FROM {table} ORDER BY hash({', '.join([*cells, *hidden])}) LIMIT {ENOUGH}"
    return f"SELECT {', '.join(listed)} FROM ({few})"


def write_dated(values: int, words: str) -> str:
    """A query that tells which hidden columns hold days: only of these a month or a year can be shown."""
    return f"SELECT {', '.join(f'count(a{place}) > 0' for place in range(values))} FROM {words}"


def write_questions(cell: int, value: int, words: str, dated: bool) -> Iterator[tuple[str, str]]:
    """What of a hidden value is asked for, the whole first, and the query for ``read_shown``.

    A cell that holds many values shows none of them: of each kind of cell only the most frequent value counts. Only
    groups that hide something count, and the best guess at what they hide is what the cell must be better than.
    """
    w, d, n = (f"{letter}{cell}" for letter in "wdn")
    y, v, t, m, a = (f"{letter}{value}" for letter in "yvtma")
    whole = [f"{w} = {y}", f"(length({y}) >= 6 AND contains({w}, {y}))", f"{n} = {v}", f"{d} = {t}[{len(DAYS) + 1}]"]
    whole += [f"contains({d}, {t}[{place + 1}])" for place in range(len(DAYS))]
    turned = f"{m}[3:] || {m}[:2]"
    month = [f"contains({d}, {m})", f"contains({d}, {turned})", f"{d} = ltrim({m}, '0')"]
    matches = {"": whole, "month": month, "year": [f"contains({w}, ' ' || {a} || ' ')"]}
    for part, letter in PARTS.items() if dated else (("", PARTS[""]),):
        match = " OR ".join(f"coalesce({each}, false)" for each in matches[part])
        f = f"{letter}{value}"
        question = (
            f"WITH p AS (SELECT {w} AS x, g{value} AS g, {f} AS f, count(*) AS n, count(*) FILTER ({match}) AS o "
            f"FROM {words} WHERE {w} <> '{EMPTY}' AND {f} <> '{EMPTY}' GROUP BY ALL), "
            "c AS (SELECT x, g, sum(n) AS s, max(o) AS o FROM p GROUP BY x, g), "
            "v AS (SELECT g, f, sum(n) AS n FROM p GROUP BY g, f), "
            "b AS (SELECT g, 1 - max(n) / sum(n) AS e FROM v GROUP BY g) "
            "SELECT coalesce(sum(s), 0), coalesce(sum(o), 0), coalesce(sum(s * e), 0) "
            f"FROM c JOIN b ON c.g IS NOT DISTINCT FROM b.g WHERE e > {1 - NEARLY:g}"
        )
        yield part, question


def read_shown(answer: Sequence[object], rows: int) -> int:
    """The answer to one of the questions about so many rows: in how many of them it is shown, 0 where it is not."""
    asked, shown, expected = (float(str(number)) for number in answer)
    if shown < WORTH * rows or shown < NEARLY * asked or 4 * (asked - shown) > expected:
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
    formats = ", ".join(f"'{each}'" for each in FORMATS)
    day = f"coalesce(TRY_CAST({text} AS TIMESTAMP), try_strptime(left({text}, {LONGEST}), [{formats}]))"
    return f"coalesce({_number_query(text)}, epoch({day}) / (86400 * 365.25))"


def _number_query(text: str) -> str:
    return f"TRY_CAST(replace({text}, ',', '.') AS DOUBLE)"
