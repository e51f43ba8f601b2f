"""The way out in PostgreSQL: the rows of a table recoded by the database, into a new table of it or over the line.

All of it is one transaction. The small tables are temporary and go with it; on any failure, a lost connection or Ctrl-C
it is undone, and nothing is left. Nobody else sees the new table before its rows were counted and found to be safe.
"""

from __future__ import annotations

import decimal
import io
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kpareto.counting import Counted
from kpareto.dialect import Dialect
from kpareto.errors import BadInput, BadJob
from kpareto.files import engine
from kpareto.places import FilePlace, Place, duck_place, is_file
from kpareto.postgres import Postgres, connected, settle
from kpareto.postgres_count import counted, program
from kpareto.postgres_in import PostgresSource, fetched, found_table, spelled
from kpareto.queries import UniqueRows
from kpareto.texts import Spelled

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg import sql

TEXTS = ("text", "varchar", "bpchar", "name", "char", "citext")
DISCRETE = ("int2", "int4", "int8", "bool", "date")
NATIVE = (*DISCRETE, "float4", "float8", "numeric", "uuid")  # what counting.text writes as the door does
LONGEST = 63  # bytes of a name; PostgreSQL cuts off the rest without a word
# Every row looks its values up in small hashed tables, one after the other, in the order they are written down. The
# database, left to itself, guesses that hardly any row finds a partner, and plans for that.
PLAN = {
    "join_collapse_limit": "1",
    **dict.fromkeys(("enable_mergejoin", "enable_nestloop", "synchronize_seqscans"), "off"),
}


class PostgresDialect(Dialect):
    """PostgreSQL's way of writing the pieces."""

    def same(self, left: str, right: str) -> str:
        """No value has an entry of its own in the small tables, so that they are joined by hashing."""
        return f"{left} = {right}"

    def text(self, value: str) -> str:
        """A value as text."""
        return f"{value}::text"

    def real(self, value: str) -> str:
        """A text as a number."""
        return f"{value}::double precision"

    def token(self, salt: str) -> str:
        """32 hexadecimal digits, different for each row."""
        salted = f"{self.literal(salt)} || {self.number}"
        return f"substr(encode(sha256(convert_to({salted}, 'UTF8')), 'hex'), 1, 32)"

    def matches(self, value: str, pattern: str) -> str:
        """Whether a regular expression is found in a text."""
        return f"{value} ~ {self.literal(pattern)}"

    def key(self, value: str) -> str:
        """Cells are hashed as texts."""
        return self.text(value)

    def shuffled(self, rows: str, cells: Sequence[str], key: Sequence[str], seed: int, few: bool) -> str:
        """The rows in an order that depends on their cells and the seed alone, whatever the database's encoding."""
        listed = ", ".join(cells)
        told = ", ".join(f"coalesce({cell}, chr(1))" for cell in key)
        order = f"md5(convert_to(concat_ws(chr(31), {self.literal(str(seed))}, {told}), 'UTF8')) COLLATE \"C\""
        if not few:
            return f"SELECT {listed} FROM ({rows}) AS r ORDER BY {order}"
        counted = f"SELECT {listed}, count(*) AS n FROM ({rows}) AS r GROUP BY {listed}"
        return f"SELECT {listed} FROM (SELECT * FROM ({counted}) AS r ORDER BY {order}) AS r, generate_series(1, r.n)"


@dataclass(frozen=True, eq=False)
class PostgresRows:
    """A table or view as the way out sees it."""

    source: PostgresSource
    program: str
    known: Mapping[str, Spelled] = field(default_factory=dict)  # found by a roll-up of the same rows
    nothing: str = field(default_factory=lambda: f"no value {secrets.token_hex(16)}")  # stands for NULL in joins
    dialect: Dialect = field(default_factory=PostgresDialect)

    @property
    def link(self) -> psycopg.Connection[Any]:
        """The connection, in its one transaction."""
        return self.source.link

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self.source.columns

    @property
    def table(self) -> str:
        """The rows, under names of our own."""
        named = (f"{self.dialect.quoted(name)} AS c{place}" for place, name in enumerate(self.columns))
        return f"(SELECT {', '.join(named)} FROM {self.source.table.as_string(self.link)}) AS t"

    @property
    def keys(self) -> tuple[str, ...]:
        """Texts, with one of our own for no value: only then can the database join by hashing."""
        nothing = self.dialect.literal(self.nothing)
        return tuple(f'coalesce(t.c{place}::text, {nothing}) COLLATE "C"' for place in range(len(self.columns)))

    @property
    def textual(self) -> tuple[bool, ...]:
        """Which columns hold text."""
        return tuple(each.base in TEXTS for each in self.source.fields)

    @property
    def native(self) -> tuple[bool, ...]:
        """Kinds that the verifier spells as we do."""
        return tuple(each.base in NATIVE for each in self.source.fields)

    @property
    def discrete(self) -> tuple[bool, ...]:
        """Native kinds without fractions."""
        return tuple(each.base in DISCRETE for each in self.source.fields)

    def count(self) -> int:
        """All rows."""
        return int(self.link.execute(_plain(f"SELECT count(*) FROM {self.table}")).fetchall()[0][0])

    def ask(self, query: str) -> pa.Table:
        """The answer to a query; numbers, booleans and days as such, all else as text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        looked = self.link.execute(_plain(f"SELECT * FROM ({query}) AS a LIMIT 0")).description or ()
        answer = fetched(self.link, _plain(query), len(looked))
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

    def spelled(self, place: int) -> Spelled:
        """The values of a column as texts, with an entry for no value, and how the door writes each."""
        import pyarrow as pa

        each = self.source.fields[place]
        if each.name in self.known:
            raw, words = self.known[each.name].raw, self.known[each.name].texts
        else:
            found = fetched(self.link, _plain(f'SELECT DISTINCT t.c{place}::text COLLATE "C" FROM {self.table}'), 1)
            raw = found.column(0).combine_chunks().drop_null()
            words = spelled(raw.cast(pa.large_string()), each)
        nothing = pa.array([self.nothing], raw.type)
        return Spelled(pa.concat_arrays([raw, nothing]), pa.concat_arrays([words, pa.nulls(1, words.type)]))

    def cell(self, place: int) -> str:
        """A column that is released as it is."""
        return f"t.c{place}"

    def register(self, name: str, table: pa.Table) -> None:
        """Send a small table over; what the database knows about it lets it plan well."""
        import pyarrow.types as is_
        from psycopg import sql
        from pyarrow import csv

        own = sql.Identifier("pg_temp", name)

        def kind(place: int) -> str:
            if is_.is_boolean(table.schema.types[place]):
                return "boolean"
            if is_.is_integer(table.schema.types[place]):
                return "bigint"
            return 'text COLLATE "C"' if table.column_names[place] == "v" else "text"

        listed = ", ".join(f"{column} {kind(place)}" for place, column in enumerate(table.column_names))
        self.link.execute(sql.SQL("CREATE TEMPORARY TABLE {} ({}) ON COMMIT DROP").format(own, _plain(listed)))
        sent = io.BytesIO()
        csv.write_csv(table, sent, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
        with self.link.cursor().copy(sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(own)) as door:
            door.write(sent.getvalue())
        self.link.execute(sql.SQL("ANALYZE {}").format(own))

    def place(self, target: str | PathLike[str] | None) -> AbstractContextManager[Place]:
        """A CSV file by its ending, else a new table of the same database; the rows themselves for None."""
        if target is None or is_file(target):
            return _answer_place(self, target)
        return nullcontext(TablePlace(self, self._free(Postgres(self.source.database.url, str(target)))))

    def _free(self, target: Postgres) -> Postgres:
        """The full name of a table that is to be made; one that cannot be made is a sentence."""
        from psycopg import sql

        for name in target.path:
            if len(name.encode()) > LONGEST:
                raise BadInput(f"The name {name!r} is longer than the {LONGEST} bytes PostgreSQL keeps. Shorten it.")
        schema = self.link.execute("SELECT pg_catalog.current_schema()").fetchall()[0][0]
        if len(target.path) == 1 and schema is None:
            raise BadInput(f"No schema of the database takes new tables. Give one: schema.{target.table}.")
        own = sql.Identifier(*target.path if len(target.path) > 1 else (schema, *target.path))
        if own == self.source.table:
            raise BadInput(f"The release would overwrite its own input {target.table!r}. Give another target.")
        full = own.as_string(self.link)
        if self.link.execute("SELECT pg_catalog.to_regclass(%s)", (full,)).fetchall() != [(None,)]:
            raise BadInput(f"The database has a table {target.table!r} already. Drop it, or give another target.")
        return Postgres(target.url, full)


@dataclass(frozen=True, eq=False)
class TablePlace:
    """A new table, which nobody else sees before the transaction is over."""

    rows: PostgresRows
    target: Postgres
    format: str = "table"
    plain: bool = False
    path: Path | None = None

    @property
    def shown(self) -> str:
        """The table's full name."""
        return self.target.table

    @property
    def written(self) -> str:
        """What stands after FROM and gives the written rows."""
        return self.target.table

    def write(self, recoded: Any) -> None:
        """Made and filled at once."""
        self.rows.link.execute(_plain(f"CREATE TABLE {self.target.table} AS {recoded.query()}"))

    def count(self, said: dict[str, Any]) -> Counted:
        """One GROUP BY of the database over the new table."""
        return counted(self.rows.link, self.target, said)

    def unique(self, columns: list[str]) -> UniqueRows:
        """One more, over all columns."""
        return UniqueRows(tuple(columns), *found_table(self.rows.link, self.target).unique(columns))

    def data(self, recoded: Any) -> None:
        """The table holds its rows itself."""


@dataclass(frozen=True, eq=False)
class AnswerPlace:
    """Rows that come over the line: into a CSV file, or into memory where there is no target."""

    rows: PostgresRows
    file: FilePlace

    @property
    def format(self) -> str:
        """What the certificate calls it."""
        return self.file.format

    @property
    def plain(self) -> bool:
        """CSV knows text alone."""
        return self.file.plain

    @property
    def path(self) -> Path | None:
        """The file that it becomes."""
        return self.file.path

    @property
    def shown(self) -> str:
        """Its name in sentences."""
        return self.file.shown

    @property
    def written(self) -> str | None:
        """The database does not see the file."""
        return None

    def write(self, recoded: Any) -> None:
        """The database sends its rows in their order."""
        import pyarrow.parquet as pq
        from psycopg import sql

        if not self.plain:
            pq.write_table(self.rows.ask(recoded.query()), self.file.part)
            return
        copy = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv, HEADER)").format(_plain(recoded.query()))
        with self.file.part.open("wb") as stream, self.rows.link.cursor().copy(copy) as answer:
            for row in answer:
                stream.write(row)

    def count(self, said: dict[str, Any]) -> Counted:
        """Read again what was written."""
        return self.file.count(said)

    def unique(self, columns: list[str]) -> UniqueRows:
        """One GROUP BY over the written file."""
        return self.file.unique(columns)

    def data(self, recoded: Any) -> Any:  # noqa: ARG002 (other places need it)
        """Where there is no target, the rows that were counted."""
        import pyarrow.parquet as pq

        return None if self.path is not None else pq.read_table(self.file.part)


@contextmanager
def _answer_place(rows: PostgresRows, target: str | PathLike[str] | None) -> Iterator[AnswerPlace]:
    if target is not None and Path(target).suffix.lower() != ".csv":
        raise BadJob(f"A table of a database is released into a table or a .csv file, not {str(target)!r}. Give one.")
    with engine() as started, duck_place(started, target) as file:
        yield AnswerPlace(rows, file)


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


def _plain(query: str) -> sql.SQL:
    """A query of ours; every name and text in it was quoted when it was put together."""
    from psycopg import sql

    return sql.SQL(cast(Any, query))


@contextmanager
def opened_postgres_rows(database: Postgres, known: Mapping[str, Spelled] | None = None) -> Iterator[PostgresRows]:
    """The rows of a table, in one transaction that is undone unless the block ends well."""
    with connected(database) as link:
        source = found_table(link, database)
        settle(link, PLAN)
        yield PostgresRows(source, program(link), known or {})
