"""The way out in PostgreSQL: the rows of a table recoded by the database, into a new table of it or over the line.

All of it is one transaction. The small tables are temporary and go with it; on any failure, a lost connection or Ctrl-C
it is undone, and nothing is left. Nobody else sees the new table before its rows were counted and found to be safe.
"""

from __future__ import annotations

import decimal
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.engines.distinct import ticking
from kpareto.engines.duckdb.connect import Engine
from kpareto.engines.duckdb.write import Part, hidden_part, written_part
from kpareto.engines.postgres.connect import Postgres, as_sql, fetch
from kpareto.engines.source import Outgoing, Target, Written
from kpareto.engines.sql import Shuffled, Sql, join_texts, literal
from kpareto.errors import BadInput, BadJob, Progress
from kpareto.tables.table import UniqueRows

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg import sql

TEXTS = ("text", "varchar", "bpchar", "name", "char", "citext")
DISCRETE = ("int2", "int4", "int8", "bool", "date")
NATIVE = (*DISCRETE, "float4", "float8", "numeric", "uuid")  # what counting.text writes as the door does
LARGE = 100_000  # rows whose order goes by the database's own hash, and whose quasi-identifiers are looked up together
LONGEST = 63  # bytes of a name; PostgreSQL cuts off the rest without a word
# Every row looks its values up in small hashed tables, one after the other, in the order they are written down. The
# database, left to itself, guesses that hardly any row finds a partner, and plans for that.
PLAN = {
    "join_collapse_limit": "1",
    **dict.fromkeys(("enable_mergejoin", "enable_nestloop", "synchronize_seqscans"), "off"),
}
ROOM = "64MB"  # for one sort or one table of distinct rows, where the server gives less


def _text(value: str) -> str:
    return f"{value}::text"


def _token(salt: str) -> str:
    salted = f"{literal(salt)} || row_number() OVER ()"
    return f"substr(encode(sha256(convert_to({salted}, 'UTF8')), 'hex'), 1, 32)"


def _hash(text: str) -> str:
    return f'hashtextextended({text} COLLATE "C", 0)'


def _shuffle(large: bool) -> Shuffled:
    def shuffle(rows: str, cells: Sequence[str], key: Sequence[str], seed: int, few: bool) -> str:
        """By the bytes of UTF-8, whatever the database's encoding; many rows by the database's own hash."""
        listed = ", ".join(cells)
        whole = join_texts(literal(str(seed)), key)
        order = _hash(whole) if large else f"md5(convert_to({whole}, 'UTF8')) COLLATE \"C\""
        if not few:
            return f"SELECT {listed} FROM ({rows}) AS r ORDER BY {order}"
        also = "".join(f", {cell}" for cell in key if cell == "h")  # it depends on the others
        counted = f"SELECT {listed}{also}, count(*) AS n FROM ({rows}) AS r GROUP BY {listed}{also}"
        return f"SELECT {listed} FROM (SELECT * FROM ({counted}) AS r ORDER BY {order}) AS r, generate_series(1, r.n)"

    return shuffle


def postgres_sql(large: bool) -> Sql:
    """PostgreSQL's way of writing the pieces.

    The order of a ``large`` number of rows goes by the database's own hash, which a new version may change.
    """
    return Sql(
        text=_text,
        real=lambda value: f"{value}::double precision",
        token=_token,
        matches=lambda value, pattern: f"{value} ~ {literal(pattern)}",
        shuffled=_shuffle(large),
        key=_text,
        # No value has an entry of its own in the small tables, so that they are joined by hashing.
        same=lambda left, right: f"{left} = {right}",
        first=lambda value: f"ascii({value})",
        hashed=(lambda cells: _hash(join_texts(literal("sample"), map(_text, cells)))) if large else None,
    )


def ask(link: psycopg.Connection[Any], query: str) -> pa.Table:
    """The answer to a query; numbers, booleans and days as such, all else as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    looked = link.execute(as_sql(f"SELECT * FROM ({query}) AS a LIMIT 0")).description or ()
    answer = fetch(link, as_sql(query), len(looked))
    arrays = []
    for column, values in zip(looked, answer.columns, strict=True):
        kind = _ARROW.get(column.type_code)
        if kind == "bool":
            arrays.append(pc.equal(values, "t"))
        elif kind == "decimal":
            arrays.append(_decimals(values))
        elif kind is None:
            arrays.append(values)
        else:
            arrays.append(values.cast(kind))
    return pa.table(arrays, names=[column.name for column in looked])


# PostgreSQL's numbers of its types -> Arrow's names.
_ARROW = {
    16: "bool",
    20: "int64",
    21: "int16",
    23: "int32",
    700: "float32",
    701: "float64",
    1082: "date32",
    1700: "decimal",
}


def _decimals(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of decimal numbers as such, unless one of them is none that Arrow has."""
    import pyarrow as pa

    numbers = [None if value is None else decimal.Decimal(value) for value in values.to_pylist()]
    try:
        return pa.chunked_array([pa.array(numbers)])
    except pa.ArrowInvalid:  # NaN, infinity, or more than 76 digits
        return values


def register_table(link: psycopg.Connection[Any], name: str, table: pa.Table) -> None:
    """Send a small table over; what the database knows about it lets it plan well."""
    import pyarrow.types as is_
    from psycopg import sql
    from pyarrow import csv

    temporary = sql.Identifier("pg_temp", name)

    def kind(index: int) -> str:
        if is_.is_boolean(table.schema.types[index]):
            return "boolean"
        if is_.is_integer(table.schema.types[index]):
            return "bigint"
        return 'text COLLATE "C"' if re.fullmatch(r"v\d*", table.column_names[index]) else "text"

    listed = ", ".join(f"{column} {kind(index)}" for index, column in enumerate(table.column_names))
    link.execute(sql.SQL("CREATE TEMPORARY TABLE {} ({}) ON COMMIT DROP").format(temporary, as_sql(listed)))
    sent = io.BytesIO()
    csv.write_csv(table, sent, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    with link.cursor().copy(sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(temporary)) as door:
        door.write(sent.getvalue())
    if table.num_rows <= LARGE // 10:  # a larger one is joined by hashing whatever is known about it
        link.execute(sql.SQL("ANALYZE {}").format(temporary))


def free_name(link: psycopg.Connection[Any], source: sql.Identifier, target: Postgres) -> Postgres:
    """The full name of a table that is to be made of another; one that cannot be made is a sentence."""
    from psycopg import sql

    for name in target.path:
        if len(name.encode()) > LONGEST:
            raise BadInput(f"The name {name!r} is longer than the {LONGEST} bytes PostgreSQL keeps. Shorten it.")
    schema = link.execute("SELECT pg_catalog.current_schema()").fetchall()[0][0]
    if len(target.path) == 1 and schema is None:
        raise BadInput(f"No schema of the database takes new tables. Give one: schema.{target.table}.")
    identifier = sql.Identifier(*target.path if len(target.path) > 1 else (schema, *target.path))
    if identifier == source:
        raise BadInput(f"The release would overwrite its own input {target.table!r}. Give another target.")
    full = identifier.as_string(link)
    if link.execute("SELECT pg_catalog.to_regclass(%s)", (full,)).fetchall() != [(None,)]:
        raise BadInput(f"The database has a table {target.table!r} already. Drop it, or give another target.")
    return Postgres(target.url, full)


@contextmanager
def write_table(
    link: psycopg.Connection[Any],
    rows: Outgoing,
    target: Postgres,
    unique: Callable[[Sequence[str]], UniqueRows],
    report: Progress | None = None,
) -> Iterator[Written]:
    """A new table, which nobody else sees before the transaction is over; made and filled at once.

    PostgreSQL has no view of how far this is, and nobody else sees how large the table has become.
    """
    with ticking(report):
        fill_table(link, rows.query, target)
    yield Written("postgres", target, "table", target.table, unique, rows=target.table, link=link)


def fill_table(link: psycopg.Connection[Any], query: str, target: Postgres) -> None:
    """The new table, made of the answer to a query."""
    link.execute(as_sql(f"CREATE TABLE {target.table} AS {query}"))


@contextmanager
def write_answer(link: psycopg.Connection[Any], engine: Engine, rows: Outgoing, target: Target) -> Iterator[Written]:
    """Rows that come over the line: into a CSV file, or into memory where there is no target."""
    import pyarrow.parquet as pq

    if target is not None and Path(target).suffix.lower() != ".csv":
        raise BadJob(f"A table of a database is released into a table or a .csv file, not {str(target)!r}. Give one.")
    with hidden_part(engine, target) as part:
        _send(link, rows.query, part)
        written = written_part(engine, part, lambda: pq.read_table(part.written))
        yield replace(written, rows=None)  # the database does not see the file


def _send(link: psycopg.Connection[Any], query: str, part: Part) -> None:
    """The database sends its rows in their order."""
    import pyarrow.parquet as pq
    from psycopg import sql

    if part.format != "csv":
        pq.write_table(ask(link, query), part.written)
        return
    copy = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv, HEADER)").format(as_sql(query))
    with part.written.open("wb") as stream, link.cursor().copy(copy) as answer:
        for row in answer:
            stream.write(row)
