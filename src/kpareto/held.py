"""The rows of a source as the engine that recodes them sees them: columns c0, c1, … of one table.

Files are recoded by DuckDB where they lie, dataframes are handed to it through Arrow; tables in PostgreSQL and Spark
are recoded there. Each engine is one class with the attributes of ``Rows``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from kpareto import sources
from kpareto.delimited import Csv
from kpareto.dialect import Dialect
from kpareto.files import Engine, Report, Scan, asked, engine, scan
from kpareto.places import Place, duck_place
from kpareto.postgres import Postgres
from kpareto.postgres_out import opened_postgres_rows
from kpareto.spark import SparkTable, is_frame, opened_table
from kpareto.spark_out import spark_rows
from kpareto.texts import Spelled, arrow_places, spell

if TYPE_CHECKING:
    import pyarrow as pa

# Kinds that the verifier spells as we do, so that columns may keep them.
NATIVE = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DATE")
LARGE = 1_000_000  # rows whose order goes by the engine's own hash: a tenth of the time
MOST_NAMED = 10_000  # texts of a column that become a type of their own: one or two bytes a cell


class Rows(Protocol):
    """What the way out asks of an engine."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order; c0, c1, … in queries."""

    @property
    def table(self) -> str:
        """What stands after FROM and gives c0, c1, …, called t."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Per column what the small tables are joined by."""

    @property
    def textual(self) -> tuple[bool, ...]:
        """Which columns hold text."""

    @property
    def native(self) -> tuple[bool, ...]:
        """Which columns are of a kind that the verifier spells as we do."""

    @property
    def discrete(self) -> tuple[bool, ...]:
        """Which of those have no fraction: such a column can be shown as it is where no group was formed."""

    @property
    def program(self) -> str:
        """The engine's name, for people."""

    @property
    def dialect(self) -> Dialect:
        """How it spells queries."""

    def count(self) -> int:
        """How many rows there are."""

    def ask(self, query: str) -> pa.Table:
        """The answer to a query."""

    def spelled(self, place: int) -> Spelled:
        """The values of a column in the form of its key, with an entry for no value, and the text of each."""

    def cell(self, place: int) -> str:
        """A column that is released as it is, in queries."""

    def register(self, name: str, table: pa.Table) -> None:
        """Make a small table known to the engine."""

    def place(self, target: str | PathLike[str] | None) -> AbstractContextManager[Place]:
        """Where the release goes."""


@dataclass(frozen=True, eq=False)
class DuckRows:
    """Rows that DuckDB reads: a file, a folder of parts, or a dataframe through Arrow."""

    engine: Engine
    table: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]  # DuckDB's types
    program: str  # which program holds the rows
    known: Mapping[str, Spelled] = field(default_factory=dict)  # of a file that was rolled up before
    frame: Any = None  # the dataframe itself, where the source is one

    @cached_property
    def dialect(self) -> Dialect:
        """How DuckDB spells queries over so many rows."""
        return Dialect(self.count() > LARGE)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns whose kind Arrow lacks are compared by their texts."""
        return tuple(f"t.c{place}::VARCHAR" if _odd(kind) else f"t.c{place}" for place, kind in enumerate(self.kinds))

    @property
    def textual(self) -> tuple[bool, ...]:
        """Which columns hold text."""
        return tuple(kind == "VARCHAR" for kind in self.kinds)

    @property
    def native(self) -> tuple[bool, ...]:
        """Kinds that the verifier spells as we do."""
        return tuple(kind in NATIVE or kind == "DOUBLE" for kind in self.kinds)

    @property
    def discrete(self) -> tuple[bool, ...]:
        """Native kinds without fractions."""
        return tuple(kind in NATIVE for kind in self.kinds)

    def count(self) -> int:
        """All rows."""
        return self._counted

    @cached_property
    def _counted(self) -> int:
        return int(self.ask(f"SELECT count(*) FROM {self.table}").column(0)[0].as_py())

    def ask(self, query: str) -> pa.Table:
        """The answer to a query."""
        return self.engine.connection.sql(query).to_arrow_table()

    def spelled(self, place: int) -> Spelled:
        """The values of a column: those of the roll-up where they are known, else asked for."""
        name = self.columns[place]
        # Arrow tells 0.0 from -0.0 and the engine does not: floats are asked for anew, lest a row match twice.
        if name in self.known and self.kinds[place] not in ("FLOAT", "DOUBLE"):
            return self.known[name].with_none()
        return spell(self.ask(f"SELECT DISTINCT {self.keys[place]} AS v FROM {self.table}").column(0), name).with_none()

    def cell(self, place: int) -> str:
        """A text of few different values is put in order as a number: of ten million rows that saves a second."""
        if not self.dialect.large or not self.textual[place]:
            return f"t.c{place}"
        found = self.ask(f"SELECT DISTINCT t.c{place} FROM {self.table} LIMIT {MOST_NAMED + 2}").column(0).to_pylist()
        words = sorted(word for word in found if word is not None)
        if not 0 < len(words) <= MOST_NAMED:
            return f"t.c{place}"
        self._name(f"p{place}_w", words)
        return f"t.c{place}::p{place}_w"

    def _name(self, kind: str, words: list[str]) -> None:
        """Make texts a type of their own."""
        listed = ", ".join(map(self.dialect.literal, words))
        self.engine.connection.execute(f"CREATE TYPE {kind} AS ENUM ({listed})")

    def register(self, name: str, table: pa.Table) -> None:
        """Keep a small table, its texts ``w`` as a type of their own: sorting and writing that costs a tenth."""
        import pyarrow.compute as pc

        connection = self.engine.connection
        connection.register(f"{name}_arrow", table)
        listed = []
        for column in table.column_names:
            # In order, so that the type is the same whichever value came first.
            words = sorted(pc.unique(table.column(column)).drop_null().to_pylist()) if column == "w" else []
            if words and len(words) <= MOST_NAMED:
                self._name(f"{name}_w", words)
                listed.append(f"w::{name}_w AS w")
            else:
                listed.append(column)
        connection.execute(f"CREATE TEMP TABLE {name} AS SELECT {', '.join(listed)} FROM {name}_arrow")
        connection.unregister(f"{name}_arrow")

    def place(self, target: str | PathLike[str] | None) -> AbstractContextManager[Place]:
        """A file, a folder of parts, or a frame."""
        return duck_place(self.engine, target)


def _odd(kind: str) -> bool:
    odd = kind.startswith("ENUM") or kind in ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT", "UUID", "BIT")
    return odd or kind == "TIME WITH TIME ZONE"


@contextmanager
def opened_rows(
    source: object,
    encoding: str = "utf-8",
    known: Mapping[str, Spelled] | None = None,
    memory: int | None = None,
    report: Report | None = None,
) -> Iterator[Rows]:
    """The rows of any source that ``read`` takes; ``known`` are values that a roll-up of the same rows found.

    ``memory`` is what an engine of our own may use before it spills, ``report`` is told how far its writing is.
    """
    if isinstance(source, Postgres):
        with opened_postgres_rows(source, known) as found:
            yield found
        return
    if isinstance(source, SparkTable):
        with opened_table(source) as frame, spark_rows(frame, known or {}) as held:
            yield held
        return
    if is_frame(source):
        with spark_rows(cast(Any, source), known or {}) as held:
            yield held
        return
    with engine(memory, report) as started:
        started.connection.execute("SET preserve_insertion_order = true")
        # The small tables are joined one after the other; left to itself the engine multiplies them with each other.
        started.connection.execute("SET disabled_optimizers = 'join_order'")
        if isinstance(source, str | PathLike):
            source = Csv(Path(fspath(source)), encoding) if encoding != "utf-8" else Path(fspath(source))
        if isinstance(source, Csv | Path):
            yield _file_rows(scan(source, started), started, known or {})
            return
        yield _frame_rows(source, started)


def _file_rows(file: Scan, started: Engine, known: Mapping[str, Spelled]) -> DuckRows:
    def probe(rows: str) -> DuckRows:
        if file.cells is not None:
            # Every cell is looked at once, so that a damaged file is a sentence before anything is written.
            started.connection.sql(f"SELECT count(COLUMNS(*)) FROM {rows}").fetchall()
        return _rows(started, rows, file.columns, "DuckDB", known)

    return asked(file, started, probe)


def _frame_rows(source: object, started: Engine) -> DuckRows:
    home = type(source).__module__.partition(".")[0]
    frame = None
    if home in ("duckdb", "_duckdb"):
        source = cast(Any, source).to_arrow_table()
    elif home != "pyarrow":
        frame, source = _arrow_of(source)
    with sources.opened(source) as arrow:
        table = cast(Any, arrow).table
        # Arrow's own names may repeat or differ in case only, which SQL does not tell apart.
        own = table.rename_columns([f"c{place}" for place in range(table.num_columns)])
        started.connection.register("kpareto_rows", _legible(own))
        program = "DuckDB" if frame is None else type(frame).__module__.partition(".")[0]
        return _rows(started, "kpareto_rows", tuple(table.column_names), program, {}, frame)


def _rows(
    started: Engine, rows: str, columns: tuple[str, ...], program: str, known: Mapping[str, Spelled], frame: Any = None
) -> DuckRows:
    table = f"{rows} AS t({', '.join(f'c{place}' for place in range(len(columns)))})"
    kinds = tuple(str(kind) for kind in started.connection.sql(f"SELECT * FROM {table}").types)
    return DuckRows(started, table, columns, kinds, program, known, frame)


def _legible(table: pa.Table) -> pa.Table:
    """The table in types DuckDB knows."""
    import pyarrow as pa
    import pyarrow.types as is_

    for place, kind in enumerate(table.schema.types):
        if is_.is_float16(kind) or is_.is_decimal256(kind) or is_.is_null(kind):
            other = pa.float32() if is_.is_float16(kind) else pa.string()
            table = table.set_column(place, table.schema.names[place], table.column(place).cast(other))
    return table


def _arrow_of(source: object) -> tuple[Any, pa.Table]:
    """A dataframe in memory, and its columns as Arrow has them; columns of Python objects become text."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    with sources.opened(source) as found:
        frame = cast(Any, found).frame
    if isinstance(found, sources.PandasSource):
        arrays = [_pandas_column(frame.iloc[:, place], name) for place, name in enumerate(found.columns)]
        return frame, pa.table(arrays, names=list(found.columns))
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return nw.to_native(frame), frame.to_arrow()


def _pandas_column(column: Any, name: str) -> pa.ChunkedArray:
    import pandas as pd
    import pyarrow as pa

    bare = column.dtype == object or getattr(column.dtype, "storage", "") == "python"
    if bare or isinstance(column.dtype, pd.CategoricalDtype):
        codes, words = sources._numbered(column.reset_index(drop=True), name)
        whole = pa.concat_arrays([words, pa.nulls(1, words.type)])
        return pa.chunked_array([whole.take(arrow_places(codes % len(whole)))])
    found = pa.array(column, from_pandas=True)
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
