"""The way in from PostgreSQL: one GROUP BY inside the database, of which only the distinct rows come over the line.

Every value is fetched as the text PostgreSQL writes for it, under settings that depend on no server, and then written
as the door writes it (``texts``), so that equal rows give equal tables here and in every other program.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kpareto.errors import BadTable
from kpareto.postgres import Postgres, connected, located
from kpareto.texts import Rolled, Spelled, arrow_texts, decimal_text, encode, numpy_of, refused, texts

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg import sql

MOST_CELLS = 100_000_000  # of a table that is fetched whole
PIECE = 16 << 20  # bytes of CSV that are parsed at a time
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


@contextmanager
def opened_postgres(database: Postgres) -> Iterator[PostgresSource]:
    """The table as something that can roll up its rows."""
    with connected(database) as link:
        yield found_table(link, database)


def found_table(link: psycopg.Connection[Any], database: Postgres) -> PostgresSource:
    """The table in a transaction that has begun."""
    from psycopg import sql

    number, *path = located(link, database)
    columns = link.execute(_COLUMNS, (number,)).fetchall()
    fields = tuple(Field(each, KINDS.get(kind), shown, kind) for each, kind, shown in columns)
    return PostgresSource(link, database, sql.Identifier(*path), fields)


@dataclass(frozen=True)
class Field:
    """A column of a table."""

    name: str
    kind: str | None  # what its values are here; None where they have no text
    shown: str  # its type, for sentences
    base: str  # its type as the catalogue names it, below any domain


@dataclass(frozen=True, eq=False)
class PostgresSource:
    """A table or view, rolled up by the database that holds it."""

    link: psycopg.Connection[Any]
    database: Postgres
    table: sql.Identifier
    fields: tuple[Field, ...]
    kept: dict[tuple[str, ...], sql.Identifier] = field(default_factory=dict)  # rolled up and counted already

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(each.name for each in self.fields)

    def distinct(self, wanted: Sequence[str]) -> int:
        """How many distinct rows there are over the wanted columns; they wait in the database for ``roll_up``.

        Where the database lets nobody keep temporary tables (a standby, say), they are only counted.
        """
        from psycopg import errors, sql

        query, name = self._query(wanted), sql.Identifier("pg_temp", f"kpareto_rolled_{len(self.kept)}")
        try:
            with self.link.transaction():
                self.link.execute(sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS {}").format(name, query))
            self.kept[tuple(wanted)] = name
        except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction):
            return self._number(sql.SQL("SELECT count(*) FROM ({}) AS r").format(query))
        return self._number(sql.SQL("SELECT count(*) FROM {}").format(name))

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the table over the wanted columns."""
        return self._rolled(fetched(self.link, self._waiting(wanted), len(wanted) + 1), wanted)

    def batches(self, wanted: Sequence[str]) -> Iterator[Rolled]:
        """The same rows piece by piece."""
        for piece in pieces(self.link, self._waiting(wanted), len(wanted) + 1):
            yield self._rolled(piece, wanted)

    def _waiting(self, wanted: Sequence[str]) -> sql.Composed:
        """The rows that wait in the database, or what makes them."""
        from psycopg import sql

        kept = self.kept.get(tuple(wanted))
        return self._query(wanted) if kept is None else sql.SQL("SELECT * FROM {}").format(kept)

    def _rolled(self, answer: pa.Table, wanted: Sequence[str]) -> Rolled:
        import pyarrow as pa

        columns = []
        for place, name in enumerate(wanted):
            coded = encode(answer.column(place), name)
            words = spelled(coded.texts, self._field(name))
            raw = None if coded.spelled is None else Spelled(coded.spelled.raw, words)
            columns.append(replace(coded, texts=words, spelled=raw))
        return Rolled(tuple(columns), numpy_of(answer.column(len(wanted)).cast(pa.int64()).combine_chunks()))

    def unique(self, wanted: Sequence[str]) -> tuple[int, int, int]:
        """All rows, those that no other row equals over the wanted columns, and the distinct ones."""
        from psycopg import sql

        cells = [cleaned(sql.Identifier(name), self._field(name).kind) for name in wanted]
        groups = sql.SQL("SELECT count(*) AS n FROM {} GROUP BY {}").format(self.table, sql.SQL(", ").join(cells))
        ask = sql.SQL("SELECT coalesce(sum(n), 0), count(*) FILTER (WHERE n = 1), count(*) FROM ({}) AS r")
        total, unique, distinct = self.link.execute(ask.format(groups)).fetchall()[0]
        return int(total), int(unique), int(distinct)

    def fetched(self) -> pa.Table:
        """All rows, for questions that the database is not asked; a column without text is one of empty bytes."""
        import pyarrow as pa
        from psycopg import sql

        rows = self._number(sql.SQL("SELECT count(*) FROM {}").format(self.table))
        if rows * len(self.columns) > MOST_CELLS:
            raise BadTable(
                f"Table {self.database.table!r} has {rows:,} rows, too many to look at here. Make a view of a sample: "
                f"CREATE VIEW some AS SELECT * FROM {self.database.table} TABLESAMPLE SYSTEM (1)."
            )
        cells = [sql.SQL("{}::text").format(sql.Identifier(name)) for name in self.columns]
        query = sql.SQL("SELECT {}, 1 FROM {}").format(sql.SQL(", ").join(cells), self.table)
        answer = fetched(self.link, query, len(cells) + 1)
        arrays = []
        for place, each in enumerate(self.fields):
            values = answer.column(place).combine_chunks().cast(pa.large_string())
            arrays.append(pa.nulls(len(values), pa.binary()) if each.kind is None else spelled(values, each))
        return pa.table(arrays, names=list(self.columns))

    def _field(self, name: str) -> Field:
        return self.fields[self.columns.index(name)]

    def _query(self, wanted: Sequence[str]) -> sql.Composed:
        """One GROUP BY over the texts of some columns, equal only where every byte is."""
        from psycopg import sql

        cells = []
        for name in wanted:
            if self._field(name).kind is None:
                raise refused(name, self._field(name).shown)
            cells.append(sql.SQL('{}::text COLLATE "C"').format(sql.Identifier(name)))
        listed = [sql.SQL("{} AS {}").format(cell, sql.Identifier(f"v{at}")) for at, cell in enumerate(cells)]
        places = sql.SQL(", ").join(sql.SQL(str(at + 1)) for at in range(len(cells)))
        return sql.SQL("SELECT {}, count(*) AS weight FROM {} GROUP BY {}").format(
            sql.SQL(", ").join(listed), self.table, places
        )

    def _number(self, query: sql.Composed) -> int:
        row = self.link.execute(query).fetchone()
        return int(row[0]) if row else 0


def cleaned(column: sql.Identifier, kind: str | None) -> sql.Composed:
    """A value that equals another where the door reads both as the same; what is not a number is no value."""
    from psycopg import sql

    if kind in (None, "text"):
        return sql.SQL("btrim({}::text, E' \\t\\r\\n') COLLATE \"C\"").format(column)
    return sql.SQL("nullif({}, 'NaN')" if kind in ("float4", "float8", "numeric") else "{}").format(column)


def fetched(link: psycopg.Connection[Any], query: sql.Composable, columns: int) -> pa.Table:
    """The answer to a query, every value as text; an empty text and no value differ."""
    import pyarrow as pa

    nothing = pa.table({f"v{place}": pa.array([], pa.string()) for place in range(columns)})
    return pa.concat_tables([nothing, *pieces(link, query, columns)])


def pieces(link: psycopg.Connection[Any], query: sql.Composable, columns: int) -> Iterator[pa.Table]:
    """The same, some thousands of rows at a time."""
    import pyarrow as pa
    from psycopg import sql
    from pyarrow import csv

    names = [f"v{place}" for place in range(columns)]
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)

    def parsed(rows: list[bytes]) -> pa.Table:
        data = b"".join(rows)
        read = csv.ReadOptions(column_names=names, block_size=len(data) + 1)
        return csv.read_csv(pa.BufferReader(data), read, parse, convert)

    waiting: list[bytes] = []
    size = 0
    with link.cursor() as cursor, cursor.copy(sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(query)) as answer:
        for row in answer:  # libpq hands over whole rows, never a part of one
            waiting.append(bytes(row))
            size += len(row)
            if size > PIECE:
                yield parsed(waiting)
                waiting, size = [], 0
    if waiting:
        yield parsed(waiting)


def spelled(values: pa.Array, column: Field) -> pa.Array:
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
