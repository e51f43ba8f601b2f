"""Columns that show a hidden value by what is written in them: the same text, number or date, or its year or month.

Counting cannot tell this where values hardly repeat: a column of different values determines everything beside it. So
the texts themselves are compared, in the rows of a sample that DuckDB holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
