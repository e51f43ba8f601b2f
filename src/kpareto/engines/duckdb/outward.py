"""How released cells are spelled in a file: a decimal comma where the source has one, types where Parquet has them.

Dates of columns that nothing was done to stay as the text of the source has them, and are dates in Parquet and sheets.
"""

from __future__ import annotations

from collections.abc import Mapping

from kpareto.engines.duckdb.connect import Engine
from kpareto.engines.duckdb.files import iso_date, point_number
from kpareto.engines.form import Form, TextForm
from kpareto.engines.source import Outgoing
from kpareto.engines.sql import literal, quote

POINTED = r"[+-]?[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?"
WHOLE = "0|-?[1-9][0-9]{0,14}"  # as a float holds it, and as it is written back
FRACTION = r"-?(0|[1-9][0-9]*)\.[0-9]*[1-9]"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


def spell_text(rows: Outgoing, source: Form, text: TextForm) -> str:
    """The query for the released rows, numbers with the decimal sign that the text is to have.

    Columns that nothing was done to have the sign of the source already.
    """
    if text.decimal == source.decimal == ".":
        return rows.query
    listed = []
    for name, touched in rows.touched.items():
        cell = quote(name)
        if not touched and source.decimal == text.decimal:
            listed.append(cell)
            continue
        value = cell if touched else point_number(cell, source)
        if text.decimal == ",":
            written = f"({value})::VARCHAR"
            value = (
                f"CASE WHEN regexp_full_match({written}, {literal(POINTED)}) THEN replace({written}, '.', ',') "
                f"ELSE {written} END"
            )
        listed.append(f"{value} AS {cell}")
    return f"SELECT {', '.join(listed)} FROM ({rows.query}) AS i"


def spell_typed(engine: Engine, rows: Outgoing, source: Form) -> str:
    """The query for the released rows of a text file, each column in the type that all its texts can be read back from.

    A column with a role keeps its texts unless every one is spelled as the type would spell it, so that the verifier
    counts the same classes; of plain ones an empty cell is no value.
    """
    cells = {name: quote(name) if touched else _plain_cell(name, source) for name, touched in rows.touched.items()}
    asked = []
    for name, touched in rows.touched.items():
        cell, empty = f"({cells[name]})::VARCHAR", "" if touched else f" OR {quote(name)} = ''"
        whole = f"regexp_full_match({cell}, {literal(WHOLE)})"
        broken = f"regexp_full_match({cell}, {literal(FRACTION)}) AND TRY_CAST({cell} AS DOUBLE)::VARCHAR = {cell}"
        day = f"regexp_full_match({cell}, {literal(DAY)}) AND TRY_CAST({cell} AS DATE) IS NOT NULL"
        asked += [f"bool_and(coalesce({test}, true){empty})" for test in (whole, f"({whole} OR {broken})", f"({day})")]
        asked.append(f"count(nullif({cell}, ''))")
    answer = engine.connection.sql(f"SELECT {', '.join(asked)} FROM ({rows.query}) AS i").fetchall()[0]
    types = _types(list(rows.touched), answer)
    listed = []
    for name in rows.touched:
        cell = f"({cells[name]})::VARCHAR"
        kind = types.get(name)
        listed.append(quote(name) if kind is None else f"nullif({cell}, '')::{kind} AS {quote(name)}")
    return f"SELECT {', '.join(listed)} FROM ({rows.query}) AS i"


def _plain_cell(name: str, source: Form) -> str:
    """A cell that nothing was done to, with its number or date as everywhere else in here."""
    return iso_date(quote(name), source.dates[name]) if name in source.dates else point_number(quote(name), source)


def _types(names: list[str], answer: tuple[object, ...]) -> Mapping[str, str]:
    types = {}
    for index, name in enumerate(names):
        whole, number, day, present = answer[4 * index : 4 * index + 4]
        fitting = [kind for kind, fits in (("BIGINT", whole), ("DOUBLE", number), ("DATE", day)) if fits]
        if present and fitting:
            types[name] = fitting[0]
    return types
