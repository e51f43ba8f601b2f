"""Columns that nobody gave a role and that look like direct identifiers: a release stops before they leave.

The rule is the one by which ``inspect`` proposes the role identifier (``tables.proposals``), so that a name does not
leave for want of a word about it, whoever releases. A column that was declared plain is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from kpareto.engines.facts import count_columns
from kpareto.engines.source import Source
from kpareto.engines.unique_rows import open_view
from kpareto.errors import BadSchema
from kpareto.releases.query import Recoded
from kpareto.tables.proposals import ColumnFacts, why_direct
from kpareto.tables.schema import Schema
from kpareto.tables.vocabulary import topic_of

SAMPLE = 100_000  # rows that are looked at first, about


def refuse_identifying(recoded: Recoded, schema: Schema) -> None:
    """Raise where a column without any declared role would leave as it is and looks like a direct identifier."""
    meant = {*schema.plain, *recoded.tied, *recoded.handling.declared}
    names = [out.name for out in recoded.outs if out.role == "plain" and out.name not in meant]
    looks = [(each.name, why) for each in _count(recoded.rows, names) if (why := why_direct(each)) is not None]
    if not looks:
        return
    (first, _), several = looks[0], len(looks) > 1
    told = ", ".join(f"{name!r} ({why})" for name, why in looks)
    raise BadSchema(
        f"Column{'s' * several} {told} ha{'ve' if several else 's'} no role and look{'s' * (not several)} like "
        f"{'direct identifiers' if several else 'a direct identifier'}: nothing was released. Declare "
        f"{'each' if several else 'it'}, or leave it out of the table: in Python identifier=[{first!r}] keeps it out "
        f'and plain=[{first!r}] lets it leave as it is (of Schema), in a job role = "identifier" or "plain" under '
        f"[columns.{json.dumps(first, ensure_ascii=False)}]."
    )


def _count(rows: Source, names: Sequence[str]) -> list[ColumnFacts]:
    """What is to be known of these columns, from their texts; of a large table those that may be refused count whole.

    Among a few rows drawn of many, values seem to repeat less than they do, so such a sample only clears a column.
    """
    if not names:
        return []
    layout, count = rows.layout(), rows.count()
    cells = [layout.sql.text(f"t.c{rows.columns.index(name)}") for name in names]
    drawn = f" WHERE {layout.sql.drawn(cells, SAMPLE, count)}" if count > SAMPLE else ""
    listed = ", ".join(f"{cell} AS v{place}" for place, cell in enumerate(cells))
    few = rows.ask(f"SELECT {listed} FROM {layout.table}{drawn}").rename_columns(list(names))
    with open_view(few) as view:
        facts = [_by_kind(rows, each) for each in count_columns(view, few.num_rows)]
    if not drawn:
        return facts
    suspects = [(each, cell) for each, cell in zip(facts, cells, strict=True) if why_direct(each) is not None]
    return [_count_all(rows, each, cell, count) for each, cell in suspects]


def _by_kind(rows: Source, facts: ColumnFacts) -> ColumnFacts:
    """Lists, structures and bytes have no texts of their own: of those the name alone speaks."""
    nested = rows.columns.index(facts.name) in rows.layout().nested
    return replace(facts, kind="nested") if nested and topic_of(facts.name) is None else facts


def _count_all(rows: Source, facts: ColumnFacts, cell: str, count: int) -> ColumnFacts:
    """The facts of a sample, with how often values repeat in all rows; marks for no value are none there, too."""
    layout = rows.layout()
    marks = f" AND {cell} NOT IN ({', '.join(map(layout.sql.literal, facts.marks))})" if facts.marks else ""
    values = f"SELECT count(*) AS n FROM {layout.table} WHERE {cell} IS NOT NULL{marks} GROUP BY {cell}"
    alone = "coalesce(sum(CASE WHEN n = 1 THEN 1 ELSE 0 END), 0)"
    answer = rows.ask(f"SELECT coalesce(sum(n), 0), count(*), {alone} FROM ({values}) AS i")
    present, distinct, unique = (int(column[0].as_py()) for column in answer.columns)
    return replace(facts, rows=count, missing=count - present, distinct=distinct, groups=distinct, unique=unique)
