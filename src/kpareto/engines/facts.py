"""Count the columns of a table: what their texts are, how often they repeat, how far their numbers reach."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kpareto.engines.duckdb.connect import NESTED
from kpareto.engines.duckdb.csv import DATE, NUMBER
from kpareto.engines.source import View
from kpareto.engines.sql import literal
from kpareto.tables.proposals import ColumnFacts, Kind
from kpareto.tables.spelling import MARKS
from kpareto.tables.vocabulary import MOMENTS, are_moments, form_of

CELLS = 20_000_000  # that one query looks at: columns of more rows than that are asked one by one
CHECKED = 9  # digits from which a number may have a check digit
LOOKED_AT = 500  # values of a column whose form is looked at
# As DuckDB writes regular expressions. Leading zeros make a code; inf is no number that intervals can hold.
_WHOLE = r"[+-]?(0|[1-9][0-9]{0,14})"
_OTHER_DATE = r"[0-9]{2}[./-][0-9]{2}[./-][0-9]{4}"
# Month, quarter, year and decade of a date that is written year-month-day.
_CALENDAR = ("v[1:7]", "v[1:4] || '-' || (TRY_CAST(v[6:7] AS INTEGER) + 2) // 3", "v[1:4]", "v[1:3]")
_YES_NO = ("yes", "no", "true", "false", "y", "n", "t", "f", "ja", "nein", "oui", "non", "si", "sì", "sí", "sim", "nee")
_INTEGERS = re.compile(r"^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$")


def count_columns(rows: View, count: int) -> list[ColumnFacts]:
    """Count all columns of so many rows, over their distinct values: one query for many columns, and one for dates."""
    nested = [bool(NESTED.search(kind)) for kind in rows.kinds]
    plain = [index for index, is_nested in enumerate(nested) if not is_nested]
    together = max(1, CELLS // max(count, 1))
    answers: dict[int, tuple[Any, ...]] = {}
    for start in range(0, len(plain), together):
        asked = rows.ask(_question(rows, plain[start : start + together]))
        answers |= {int(index): tuple(answer) for index, *answer in asked.fetchall()}
    facts = [
        _facts(name, kind, count, answers[index])
        if index in answers
        else ColumnFacts(name, "nested", count, 0, 0, 0, 0)
        for index, (name, kind) in enumerate(zip(rows.columns, rows.kinds, strict=True))
    ]
    return _with_forms(rows, _with_units(rows, facts))


def _question(rows: View, places: Sequence[int]) -> str:
    """The query that counts some columns, with one row for each."""
    marked = f"coalesce(textual AND v IN ({', '.join(map(literal, MARKS))}), false)"
    values = " UNION ALL ".join(
        f"SELECT {index} AS c, {rows.kinds[index] == 'VARCHAR'} AS textual, v, n FROM ({rows.values(index)})"
        for index in places
    )
    yes_no = ", ".join(map(literal, _YES_NO))
    return (
        f"WITH g AS MATERIALIZED ({values}), "
        # NA is Namibia in a column of short codes.
        f"s AS (SELECT c, max(length(v)) <= 3 AND NOT bool_and({marked} OR {_all(NUMBER)}) AS codes "
        "FROM g GROUP BY c), "
        f"k AS MATERIALIZED (SELECT g.c, v, n, v IS NULL OR ({marked} AND (v IN ('?', '') OR "
        "NOT coalesce(codes, false))) AS gone FROM g JOIN s ON g.c = s.c), "
        "h AS MATERIALIZED (SELECT c, v, n, TRY_CAST(v AS DOUBLE) AS x FROM k WHERE NOT gone), "
        "r AS (SELECT c, x, sum(n) OVER (PARTITION BY c ORDER BY x) / sum(n) OVER (PARTITION BY c) AS upto "
        "FROM h WHERE x IS NOT NULL), "
        "b AS (SELECT c, [min(x) FILTER (upto >= 0.01), min(x) FILTER (upto >= 0.99), min(x)] AS bounds "
        "FROM r GROUP BY c), "
        "m AS (SELECT c, count(*) AS groups, list(v ORDER BY v) FILTER (gone AND v IS NOT NULL) AS marks "
        "FROM k GROUP BY c), "
        "a AS (SELECT c, count(*) AS values, count(*) FILTER (n = 1) AS alone, sum(n) AS present, "
        "max(length(v)) AS longest, min(length(v)) AS shortest, "
        f"[bool_and({_all(_WHOLE)}), bool_and({_all(NUMBER)}), "
        # Few texts have the look of a date, and only those are read.
        f"bool_and(CASE WHEN contains(v, '-') THEN {_all(DATE)} AND TRY_CAST(v[1:10] AS DATE) IS NOT NULL "
        "ELSE false END), "
        f"bool_and(CASE WHEN length(v) = 10 THEN {_all(_OTHER_DATE)} ELSE false END), "
        f"bool_and(lower(v) IN ({yes_no})), bool_and(x = floor(x) AND abs(x) < 1e15)] AS every, "
        "bool_and(NOT contains(v, ' ')) AND avg(CASE WHEN regexp_matches(v, '[0-9]') THEN 1 ELSE 0 END) > 0.5 "
        "AS coded, "
        "arg_min(v, (-n, v), 3) AS common, max(n) AS most, count(x) AS numeric "
        "FROM h GROUP BY c) "
        "SELECT m.c, values, alone, present, longest, shortest, every, coded, groups, marks, common, most, bounds, "
        "numeric FROM m LEFT JOIN a ON a.c = m.c LEFT JOIN b ON b.c = m.c"
    )


def _facts(name: str, engine_kind: str, count: int, answer: tuple[Any, ...]) -> ColumnFacts:
    """What one row of the answer says; all but the groups and the marks is None where a column has no value."""
    distinct, alone, present, longest, shortest, every, coded, groups, marks, common, most, bounds, numeric = answer
    kind = _kind(engine_kind, bool(distinct), tuple(every or (None,) * 6))
    low, high, least = (bounds or (None,) * 3) if kind in ("whole number", "number") else (None,) * 3
    return ColumnFacts(
        name,
        kind,
        count,
        count - int(present or 0),
        int(distinct or 0),
        int(groups),
        int(alone or 0),
        int(longest or 0),
        int(shortest or 0),
        bool(coded),
        low,
        high,
        least,
        tuple(common or ()),
        int(most or 0),
        tuple(marks or ()),
        int(numeric or 0),
    )


def _with_units(rows: View, facts: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """The facts, those of dates with their different months, quarters, years and decades."""
    dates = [index for index, column in enumerate(facts) if column.kind == "date"]
    if not dates:
        return list(facts)
    counts = ", ".join(f"count(DISTINCT {unit})" for unit in _CALENDAR)
    asked = []
    for index in dates:
        gone = "".join(f" AND v != {literal(mark)}" for mark in facts[index].marks)
        asked.append(f"SELECT {index} AS c, {counts} FROM ({rows.values(index)}) WHERE v IS NOT NULL{gone}")
    units = {int(index): tuple(map(int, numbers)) for index, *numbers in rows.ask(" UNION ALL ".join(asked)).fetchall()}
    return [replace(column, units=units.get(index, ())) for index, column in enumerate(facts)]


def _with_forms(rows: View, facts: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """The facts, with what values are by their form: mail, accounts, names; by a hash some values of each are taken."""
    long = [bool(column.numeric) and column.longest >= CHECKED for column in facts]
    may = [place for place, column in enumerate(facts) if column.kind in ("text", "date") or long[place]]
    if not may:
        return list(facts)
    asked = [
        f"SELECT {place} AS c, v FROM (SELECT v FROM ({rows.values(place)}) WHERE v IS NOT NULL "
        f"ORDER BY hash(v), v LIMIT {LOOKED_AT})"
        for place in may
    ]
    values: dict[int, list[str]] = {}
    for place, value in rows.ask(" UNION ALL ".join(asked)).fetchall():
        values.setdefault(int(place), []).append(str(value))
    known = {place: [v for v in texts if v not in facts[place].marks] for place, texts in values.items()}
    return [replace(column, form=_form(column, known.get(place, []))) for place, column in enumerate(facts)]


def _form(column: ColumnFacts, values: Sequence[str]) -> str:
    if column.kind == "date":
        return MOMENTS if are_moments(values) else ""
    return form_of(values)


def _all(pattern: str) -> str:
    return f"regexp_full_match(v, {literal(pattern)})"


def _kind(engine_kind: str, any_value: bool, every: tuple[bool | None, ...]) -> Kind:
    """What a column holds, by the engine's type, or by what every text of it is."""
    whole_texts, numeric, date, other, yes, whole = (bool(answer) for answer in every)
    if not any_value:
        return "empty"
    if engine_kind == "BOOLEAN":
        return "yes/no"
    if _INTEGERS.match(engine_kind):
        return "whole number"
    if engine_kind in ("DATE",) or engine_kind.startswith("TIMESTAMP"):
        return "date"
    if engine_kind in ("DOUBLE", "FLOAT") or engine_kind.startswith("DECIMAL"):
        return "whole number" if whole else "number"
    kinds: Mapping[Kind, bool] = {
        "yes/no": yes,
        "whole number": whole_texts or (numeric and whole),  # 47.0 too: so programs write codes beside missing values
        "number": numeric,
        "date": date,
        "other date": other,
    }
    return next((kind for kind, is_it in kinds.items() if is_it), "text")
