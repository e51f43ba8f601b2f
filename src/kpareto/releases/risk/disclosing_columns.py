"""Disclosing columns: plain columns that say what a generalized one hides, found by counting.

A release may hide education behind three groups and show education-num beside it in clear: whoever knows the one knows
the other, and the classes are no longer what the certificate says. So every release is tried: does a plain column, or
do two together, nearly determine a value that its group hides, and how large are the classes when they are joined?
Where values hardly repeat, counting says nothing, and what is written in the cells is compared (``contents``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kpareto.releases.recoded_rows import QUASI, Recoded
from kpareto.tables.partition import Partition

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MOST = 66  # questions: a release of many columns must not take hours for this
SAMPLE = 100_000  # rows that are asked, about


@dataclass(frozen=True)
class Disclosure:
    """How much some columns tell of another one, beyond what is known without them."""

    rows: int
    told: int  # rows whose value they nearly determine, where it was open before
    exact: bool  # they determine it in every row
    part: str = ""  # the part that is told, where it is not all: month or year

    @property
    def share(self) -> float:
        """Of all rows."""
        return self.told / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class DisclosingColumn:
    """Plain columns that tell what a generalized one hides, and what is left of k when they are joined."""

    columns: tuple[str, ...]
    tells: str
    told: Disclosure
    k: int  # the smallest class by the quasi-identifiers together with these columns
    below: int  # rows in such classes that are smaller than the release promises
    declared: bool = False  # the job says that this is known and meant

    def sentence(self, k: int) -> str:
        """What it does to a release that promises k."""
        what = " and ".join(map(repr, self.columns))
        how = "in every row" if self.told.exact else f"in {self.told.share:.0%} of the rows"
        verb = "tells" if len(self.columns) == 1 else "together tell"
        part = f"the {self.told.part} of " if self.told.part else ""
        return (
            f"{what} {verb} {part}what {self.tells!r} hides {how}: joined with the quasi-identifiers k is {self.k} "
            f"where {k} is promised, and {self.below:,} rows are in smaller classes."
        )


def write_question(cells: Sequence[str], group: str, value: str, tables: str) -> str:
    """A query for ``read_disclosure``: what cells tell of a value, beyond the group that is known anyway.

    ``tables`` begins with FROM. A combination of cells tells the value where it has it nearly always, in so many rows
    that chance is out of question: a dozen exceptions would be expected, and at most a quarter of them is there.
    """
    listed = ", ".join(f"{cell} AS x{place}" for place, cell in enumerate(cells))
    keys = ", ".join(f"x{place}" for place in range(len(cells)))
    order = ", ".join(str(place + 1) for place in range(len(cells) + 2))
    sure = f"e > {1 - NEARLY:g} AND s * e >= 12 AND m >= {NEARLY} * s AND 4 * (s - m) <= s * e"
    return (
        f"WITH p AS (SELECT {listed}, {group} AS g, {value} AS y, count(*) AS n {tables} GROUP BY {order}), "
        f"c AS (SELECT {keys}, g, sum(n) AS s, max(n) AS m FROM p GROUP BY {keys}, g), "
        "v AS (SELECT g, y, sum(n) AS n FROM p GROUP BY g, y), "
        "b AS (SELECT g, sum(n) AS s, max(n) AS m FROM v GROUP BY g), "
        "j AS (SELECT c.s AS s, c.m AS m, 1.0 - 1.0 * b.m / b.s AS e FROM c JOIN b ON c.g = b.g) "
        f"SELECT coalesce(sum(s), 0), coalesce(sum(CASE WHEN {sure} THEN s ELSE 0 END), 0), "
        "coalesce(sum(s - m), 0), count(*), coalesce(sum(s * e), 0) FROM j"
    )


def read_disclosure(answer: Sequence[object]) -> Disclosure:
    """The answer to a ``write_question``."""
    rows, determined, errors, cells, expected = (float(str(number)) for number in answer)
    # A column whose values are nearly all different determines everything, which says nothing of the two.
    exact = errors == 0 and 2 * cells <= rows and expected >= WORTH * rows
    return Disclosure(int(rows), int(rows if exact else determined), exact)


def find_disclosing_columns(
    recoded: Recoded, partition: Partition, declared: Sequence[str] = ()
) -> tuple[DisclosingColumn, ...]:
    """The plain columns of a release, alone and by two, that tell what generalized ones hide and break its k.

    Which of them may tell something is asked of at most ``SAMPLE`` rows, fetched once from the engine that holds them,
    with at most ``MOST`` questions, those about single columns first; what becomes of k is counted in all rows.
    """
    outs = {out.name: out for out in recoded.outs}
    plain = [out.name for out in recoded.outs if out.role in ("plain", "target") and out.name not in recoded.tied]
    hidden = list(_hiding(partition))
    if partition.empty or not plain or not hidden:
        return ()
    k = int(partition.sizes[partition.visible].min())
    sql = recoded.rows.layout().sql
    shown = {name: sql.text(outs[name].value) for name in plain}
    disclosing: list[DisclosingColumn] = []
    for names, name, disclosure in _suspect(recoded, shown, hidden, int(partition.rows[partition.visible].sum())):
        quasi = [sql.text(out.value) if out.text else out.value for out in recoded.outs if out.role == QUASI]
        least, below = _count_joined(recoded, [*quasi, *(shown[column] for column in names)], k)
        if least < k:
            disclosing.append(
                DisclosingColumn(names, name, disclosure, least, below, all(column in declared for column in names))
            )
    return tuple(disclosing)


def _suspect(
    recoded: Recoded, shown: Mapping[str, str], hidden: Sequence[str], rows: int
) -> Iterator[tuple[tuple[str, ...], str, Disclosure]]:
    """Plain columns, each as it is shown, that tell enough of a hidden one to be worth a word: names, name, how much.

    Two together count only where they tell more than each of them alone.
    """
    import duckdb

    plain = list(shown)
    best: dict[tuple[str, str], float] = {}
    several = [(names, name) for size in (1, 2) for names in combinations(plain, size) for name in hidden]
    with duckdb.connect() as engine:
        engine.register("sample", _fetch_sample(recoded, shown, hidden, rows))
        cells, groups, values = _name_columns(len(plain), "p"), *(_name_columns(len(hidden), word) for word in "gy")
        engine.execute(f"CREATE TABLE words AS {write_words(cells, values, groups, 'sample')}")
        dated = engine.execute(write_dated(len(hidden), "words")).fetchone() or ()
        for names, name in several[:MOST]:
            cells, at = [f"p{plain.index(column)}" for column in names], hidden.index(name)
            answer = engine.execute(write_question(cells, f"g{at}", f"y{at}", "FROM sample")).fetchone()
            disclosure = read_disclosure(answer or (0, 0, 0, 0, 0))
            if len(names) == 1 and disclosure.share < NEARLY:
                disclosure = _compare(engine, (plain.index(names[0]), at), disclosure, bool(dated[at]))
            before = max((best.get((column, name), 0.0) for column in names), default=0.0)
            best |= {(names[0], name): disclosure.share} if len(names) == 1 else {}
            if disclosure.share >= WORTH and disclosure.share >= before + WORTH:
                yield names, name, disclosure


def _name_columns(count: int, letter: str) -> list[str]:
    return [f"{letter}{place}" for place in range(count)]


def _compare(engine: duckdb.DuckDBPyConnection, pair: tuple[int, int], counted: Disclosure, dated: bool) -> Disclosure:
    """What is written in a column says more of a hidden one than counting does, or what counting told."""
    rows = min(counted.rows, ENOUGH)
    for part, question in write_questions(*pair, "words", dated):
        shown = read_shown(engine.execute(question).fetchone() or (0, 0, 0), rows)
        if shown > counted.share * rows:
            return Disclosure(rows, shown, shown == counted.rows, part)
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

NEARLY = 0.95  # share of the rows with a value, from which a column tells what another one hides, by any way
WORTH = 0.05  # share of all rows that this must be about, to be worth a word
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


def _number_query(text: str) -> str:
    return f"TRY_CAST(replace({text}, ',', '.') AS DOUBLE)"
