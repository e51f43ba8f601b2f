"""The way in from PostgreSQL: one GROUP BY inside the database, of which only the distinct rows come over the line.

Every value is fetched as the text PostgreSQL writes for it, under settings that depend on no server, and then written
as the door writes it (``texts``), so that equal rows give equal tables here and in every other program.
"""

from __future__ import annotations

import decimal
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from kpareto.engines.distinct import Distinct, elsewhere, ticking
from kpareto.engines.duckdb.connect import Engine
from kpareto.engines.duckdb.read import arrow_view
from kpareto.engines.postgres.connect import (
    Postgres,
    as_sql,
    connect,
    fetch,
    locate,
    pieces,
    program,
    settle,
)
from kpareto.engines.postgres.write import (
    DISCRETE,
    LARGE,
    NATIVE,
    PLAN,
    ROOM,
    TEXTS,
    ask,
    free_name,
    postgres_sql,
    register_table,
    write_answer,
    write_table,
)
from kpareto.engines.source import Opening, Outgoing, Source, SourceLayout, Target, View, Written, is_file_name
from kpareto.engines.sql import literal, quote
from kpareto.engines.values import Rolled, Spelled, arrow_texts, decimal_text, encode, numpy_of, refuse, texts
from kpareto.errors import BadTable, Progress
from kpareto.tables.table import UniqueRows

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg import sql

MOST_CELLS = 100_000_000  # of a table that is fetched whole
# PostgreSQL's types whose values have a text, by what they are here. Domains count as the type below them.
KINDS = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "integer"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "char", "citext", "enum"), "text"),
    **dict.fromkeys(("uuid", "inet", "cidr", "macaddr", "macaddr8", "bit", "varbit"), "text"),
    **dict.fromkeys(("time", "timetz"), "text"),  # already 12:30:00.5, without zeros at the end
    "numeric": "numeric",
    "float4": "float4",
    "float8": "float8",
    "bool": "bool",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}
_COLUMNS = """
WITH RECURSIVE below AS (
  SELECT a.attnum, a.attname, a.atttypid AS shown, a.atttypmod AS length, t.oid, t.typtype, t.typbasetype
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attnum, b.attname, b.shown, b.length, t.oid, t.typtype, t.typbasetype
  FROM below b JOIN pg_catalog.pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
)
SELECT b.attname, CASE WHEN b.typtype = 'e' THEN 'enum' ELSE t.typname END,
  pg_catalog.format_type(b.shown, b.length)
FROM below b JOIN pg_catalog.pg_type t ON t.oid = b.oid WHERE b.typtype <> 'd' ORDER BY b.attnum
"""

# Never less than the server gives anyway.
_WIDEN = """
SELECT pg_catalog.set_config('work_mem', %s, true)
WHERE pg_catalog.pg_size_bytes(pg_catalog.current_setting('work_mem')) < pg_catalog.pg_size_bytes(%s)
"""


@contextmanager
def open_table(database: Postgres, opening: Opening) -> Iterator[Source]:
    """The table in one transaction, which is undone unless the block ends well."""
    with connect(database) as link:
        yield find_table(link, database, opening)


def find_table(link: psycopg.Connection[Any], database: Postgres, opening: Opening) -> PostgresSource:
    """The table in a transaction that has begun."""
    from psycopg import sql

    number, *path = locate(link, database)
    columns = link.execute(_COLUMNS, (number,)).fetchall()
    fields = tuple(PostgresField(column, KINDS.get(kind), shown, kind) for column, kind, shown in columns)
    return PostgresSource(link, database, sql.Identifier(*path), fields, opening.start, opening.report)


@dataclass(frozen=True)
class PostgresField:
    """A column of a table."""

    name: str
    kind: str | None  # what its values are here; None where they have no text
    shown: str  # its type, for sentences
    base: str  # its type as the catalogue names it, below any domain


@dataclass(frozen=True, eq=False)
class PostgresSource:
    """A table or view, rolled up and recoded by the database that holds it."""

    link: psycopg.Connection[Any]
    database: Postgres
    table: sql.Identifier
    fields: tuple[PostgresField, ...]
    engine: Callable[[], Engine]
    report: Progress | None = None  # told that time passes while the database writes, which does not say how far it is
    costly: ClassVar[bool] = True
    nothing: str = field(default_factory=lambda: f"no value {secrets.token_hex(16)}")  # stands for NULL in joins
    kept: dict[tuple[str, ...], sql.Identifier] = field(default_factory=dict)  # rolled up and counted already

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(column.name for column in self.fields)

    @cached_property
    def program(self) -> str:
        """The server's name and version."""
        return program(self.link)

    def distinct(self, wanted: Sequence[str], report: Progress | None = None) -> Distinct:
        """Counted by the database, where they wait until they are fetched."""
        with ticking(report):
            count = self._keep(wanted)

        def parts() -> Iterator[Rolled]:
            for piece in pieces(self.link, self._waiting(wanted), len(wanted) + 1):
                yield self._roll(piece, wanted)

        return elsewhere(wanted, count, lambda: self._fetch(wanted), parts, report)

    def _keep(self, wanted: Sequence[str]) -> int:
        """How many distinct rows there are; the database keeps them in a temporary table.

        Where the database lets nobody keep temporary tables (a standby, say), they are only counted.
        """
        from psycopg import errors, sql

        query, name = self._query(wanted), sql.Identifier("pg_temp", f"kpareto_rolled_{len(self.kept)}")
        try:
            with self.link.transaction():
                self.link.execute(sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS {}").format(name, query))
            self.kept[tuple(wanted)] = name
        except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction):
            return self._ask_number(sql.SQL("SELECT count(*) FROM ({}) AS r").format(query))
        return self._ask_number(sql.SQL("SELECT count(*) FROM {}").format(name))

    def _fetch(self, wanted: Sequence[str]) -> Rolled:
        return self._roll(fetch(self.link, self._waiting(wanted), len(wanted) + 1), wanted)

    def _waiting(self, wanted: Sequence[str]) -> sql.Composed:
        """The rows that wait in the database, or what makes them."""
        from psycopg import sql

        kept = self.kept.get(tuple(wanted))
        return self._query(wanted) if kept is None else sql.SQL("SELECT * FROM {}").format(kept)

    def _roll(self, answer: pa.Table, wanted: Sequence[str]) -> Rolled:
        import pyarrow as pa

        columns = []
        for index, name in enumerate(wanted):
            coded = encode(answer.column(index), name)
            words = spell_texts(coded.texts, self._field(name))
            raw = None if coded.spelled is None else Spelled(coded.spelled.raw, words)
            columns.append(replace(coded, texts=words, spelled=raw))
        return Rolled(tuple(columns), numpy_of(answer.column(len(wanted)).cast(pa.int64()).combine_chunks()))

    def unique(self, wanted: Sequence[str]) -> UniqueRows:
        """One GROUP BY of the database."""
        from psycopg import sql

        # Equal rows are counted before any of their texts is trimmed, which is what takes longest.
        bytewise = sql.SQL(", ").join(_bytewise(sql.Identifier(name), self._field(name).kind) for name in wanted)
        named = sql.SQL(", ").join(sql.Identifier(f"v{at}") for at in range(len(wanted)))
        equal = sql.SQL("SELECT {}, count(*) FROM {} GROUP BY {}").format(bytewise, self.table, sql.SQL(", ").join(
            sql.SQL(str(at + 1)) for at in range(len(wanted))))  # fmt: skip
        cells = [clean(sql.Identifier(f"v{at}"), self._field(name).kind) for at, name in enumerate(wanted)]
        groups = sql.SQL("SELECT sum(m) AS n FROM ({}) AS e ({}, m) GROUP BY {}").format(
            equal, named, sql.SQL(", ").join(cells)
        )
        ask = sql.SQL("SELECT coalesce(sum(n), 0), count(*) FILTER (WHERE n = 1), count(*) FROM ({}) AS r")
        total, unique, distinct = self.link.execute(ask.format(groups)).fetchall()[0]
        return UniqueRows(tuple(wanted), int(total), int(unique), int(distinct))

    def view(self) -> View:
        """All rows, fetched; a column without text is one of empty bytes."""
        import pyarrow as pa
        from psycopg import sql

        rows = self._ask_number(sql.SQL("SELECT count(*) FROM {}").format(self.table))
        if rows * len(self.columns) > MOST_CELLS:
            raise BadTable(
                f"Table {self.database.table!r} has {rows:,} rows, too many to look at here. Make a view of a sample: "
                f"CREATE VIEW some AS SELECT * FROM {self.database.table} TABLESAMPLE SYSTEM (1)."
            )
        cells = [sql.SQL("{}::text").format(sql.Identifier(name)) for name in self.columns]
        query = sql.SQL("SELECT {}, 1 FROM {}").format(sql.SQL(", ").join(cells), self.table)
        answer = fetch(self.link, query, len(cells) + 1)
        arrays = []
        for index, column in enumerate(self.fields):
            values = answer.column(index).combine_chunks().cast(pa.large_string())
            arrays.append(pa.nulls(len(values), pa.binary()) if column.kind is None else spell_texts(values, column))
        return arrow_view(pa.table(arrays, names=list(self.columns)), self.engine())

    @cached_property
    def _layout(self) -> SourceLayout:
        settle(self.link, PLAN)
        large = self.count() > LARGE
        if large:
            self.link.execute(_WIDEN, (ROOM, ROOM))
        named = (f"{quote(name)} AS c{index}" for index, name in enumerate(self.columns))
        nothing = literal(self.nothing)
        return SourceLayout(
            sql=postgres_sql(large),
            table=f"(SELECT {', '.join(named)} FROM {self.table.as_string(self.link)}) AS t",
            # Texts, with one of our own for no value: only then can the database join by hashing.
            keys=tuple(f'coalesce(t.c{index}::text, {nothing}) COLLATE "C"' for index in range(len(self.columns))),
            textual=tuple(column.base in TEXTS for column in self.fields),
            native=tuple(column.base in NATIVE for column in self.fields),
            discrete=tuple(column.base in DISCRETE for column in self.fields),
            nested=[index for index, column in enumerate(self.fields) if column.kind is None],
            whole_rows=large,
        )

    def layout(self) -> SourceLayout:
        """The table under names of our own; the rest of the transaction is planned for many small joins."""
        return self._layout

    def count(self) -> int:
        """All rows."""
        return self._count

    @cached_property
    def _count(self) -> int:
        from psycopg import sql

        return self._ask_number(sql.SQL("SELECT count(*) FROM {}").format(self.table))

    def ask(self, query: str) -> pa.Table:
        """Numbers, booleans and days as such, all else as text."""
        return ask(self.link, query)

    def spelled(self, index: int, known: Spelled | None) -> Spelled:
        """As texts, those of the roll-up where they are known."""
        import pyarrow as pa

        if known is not None:
            raw, words = known.raw, known.texts
        else:
            query = f'SELECT DISTINCT t.c{index}::text COLLATE "C" FROM {self._layout.table}'
            raw = fetch(self.link, as_sql(query), 1).column(0).combine_chunks().drop_null()
            words = spell_texts(raw.cast(pa.large_string()), self.fields[index])
        nothing = pa.array([self.nothing], raw.type)
        return Spelled(pa.concat_arrays([raw, nothing]), pa.concat_arrays([words, pa.nulls(1, words.type)]))

    def register(self, name: str, table: pa.Table) -> None:
        """A temporary table, sent over."""
        register_table(self.link, name, table)

    def write(self, rows: Outgoing, target: Target) -> AbstractContextManager[Written]:
        """A CSV file by its ending, else a new table of the same database; the rows themselves for None."""
        if target is None or is_file_name(target):
            return write_answer(self.link, self.engine(), rows, target)
        free = free_name(self.link, self.table, Postgres(self.database.url, str(target)))
        return write_table(
            self.link,
            rows,
            free,
            lambda columns: find_table(self.link, free, Opening(self.engine)).unique(columns),
            self.report,
        )

    def _field(self, name: str) -> PostgresField:
        return self.fields[self.columns.index(name)]

    def _query(self, wanted: Sequence[str]) -> sql.Composed:
        """One GROUP BY over the texts of some columns, equal only where every byte is."""
        from psycopg import sql

        cells = []
        for name in wanted:
            if self._field(name).kind is None:
                raise refuse(name, self._field(name).shown)
            cells.append(sql.SQL('{}::text COLLATE "C"').format(sql.Identifier(name)))
        listed = [sql.SQL("{} AS {}").format(cell, sql.Identifier(f"v{at}")) for at, cell in enumerate(cells)]
        places = sql.SQL(", ").join(sql.SQL(str(at + 1)) for at in range(len(cells)))
        return sql.SQL("SELECT {}, count(*) AS weight FROM {} GROUP BY {}").format(
            sql.SQL(", ").join(listed), self.table, places
        )

    def _ask_number(self, query: sql.Composed) -> int:
        row = self.link.execute(query).fetchone()
        return int(row[0]) if row else 0


def _bytewise(column: sql.Identifier, kind: str | None) -> sql.Composed:
    """A value as rows are first counted by; a type that may know no equality by its text."""
    from psycopg import sql

    return sql.SQL('{}::text COLLATE "C"' if kind in (None, "text") else "{}").format(column)


def clean(column: sql.Identifier, kind: str | None) -> sql.Composed:
    """A value that equals another where the door reads both as the same; what is not a number is no value."""
    from psycopg import sql

    if kind in (None, "text"):
        return sql.SQL("btrim({}::text, E' \\t\\r\\n') COLLATE \"C\"").format(column)
    return sql.SQL("nullif({}, 'NaN')" if kind in ("float4", "float8", "numeric") else "{}").format(column)


def spell_texts(values: pa.Array, column: PostgresField) -> pa.Array:
    """PostgreSQL's texts of a column's values, as the door writes these values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.kind in ("integer", "text", "bool"):
        return values
    if column.kind == "numeric":
        return arrow_texts(None if v is None else decimal_text(decimal.Decimal(v)) for v in values.to_pylist())
    if column.kind in ("float4", "float8"):
        return texts(pc.cast(values, pa.float32() if column.kind == "float4" else pa.float64()), column.name)
    odd = pc.filter(values, pc.invert(pc.match_substring_regex(values, r"^\d{4}-\d\d-\d\d[^a-zA-Z]*$")))
    odd = [value for value in odd.to_pylist() if value is not None]
    if odd:
        raise BadTable(
            f"Column {column.name!r} holds {odd[0]!r}, which is no day of the years 1 to 9999. "
            "Replace it with a date or with no value, or leave the column out of the schema."
        )
    if column.kind == "date":
        return texts(pc.cast(values, pa.date32()), column.name)
    zone = column.kind == "timestamptz"
    bare = pc.utf8_replace_slice(values, -3, 2**31 - 1, "") if zone else values  # +00, as the session is in UTC
    return texts(pc.cast(pc.cast(bare, pa.timestamp("us")), pa.timestamp("us", "UTC" if zone else None)), column.name)
