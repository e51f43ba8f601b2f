"""Counting questions put to the program that holds the rows, beyond the one roll-up of the door.

Whatever holds the rows is seen as one view for DuckDB, with columns c0, c1, … in the order of the table. Text is
trimmed as the door trims it, so that counts agree with the Table that will be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kpareto.errors import BadTable
from kpareto.files import Ask, Engine, engine
from kpareto.postgres import Postgres
from kpareto.postgres_in import PostgresSource
from kpareto.schema import Schema
from kpareto.sources import ArrowSource, FileSource, FrameSource, PandasSource, RelationSource, opened
from kpareto.spark import SparkSource, SparkTable, is_frame
from kpareto.table import distinct_rows
from kpareto.texts import Rolled, arrow_places, arrow_texts, encode, numpy_of, object_text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

HELD = "kpareto_held"
_BLANKS = "chr(32) || chr(9) || chr(13) || chr(10)"


@dataclass(frozen=True)
class Rows:
    """Rows that answer queries: ``ask("SELECT … FROM " + rows.view)``."""

    columns: tuple[str, ...]  # as the table names them; c0, c1, … in queries
    kinds: tuple[str, ...]  # the engine's type of each
    view: str  # what stands after FROM
    ask: Ask

    def cell(self, column: int) -> str:
        """A column in a query, as the door reads it."""
        return self.clean(column, f"c{column}")

    def clean(self, column: int, value: str) -> str:
        """A value of a column as the door reads it: text is trimmed, what is not a number is no value."""
        if self.kinds[column] == "VARCHAR":
            return f"trim({value}, {_BLANKS})"
        if self.kinds[column] in ("DOUBLE", "FLOAT"):
            return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
        return value

    def values(self, column: int) -> str:
        """A query for the texts ``v`` of a column and how many rows ``n`` have each; texts are cleaned once each."""
        return (
            f"SELECT ({self.clean(column, 'w')})::VARCHAR AS v, sum(m)::BIGINT AS n "
            f"FROM (SELECT c{column} AS w, count(*) AS m FROM {self.view} GROUP BY 1) GROUP BY 1"
        )

    def one(self, query: str) -> tuple[Any, ...]:
        """The only row of an answer."""
        import duckdb

        try:
            return tuple(self.ask(query).fetchall()[0])
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise BadTable(f"The rows cannot be counted ({reason}). Check that the table is whole.") from error


@contextmanager
def asked(source: object, encoding: str = "utf-8") -> Iterator[Rows]:
    """The source as rows that answer queries; a text file is read once, and held by the engine."""
    with opened(source, encoding) as rows:
        if isinstance(rows, FileSource):
            yield _file(rows)
        elif isinstance(rows, RelationSource):
            relation = rows.relation

            def ask(query: str) -> duckdb.DuckDBPyRelation:
                return cast("duckdb.DuckDBPyRelation", relation.query("kpareto_rows", query))

            yield _rows(rows.columns, "kpareto_rows", ask)
        elif isinstance(rows, ArrowSource):
            yield _arrow(rows.table, rows.engine)
        else:
            with engine() as started:
                yield _arrow(_frame(rows), started)


def _rows(columns: Sequence[str], table: str, ask: Ask) -> Rows:
    view = f"{table} AS t({', '.join(f'c{place}' for place in range(len(columns)))})"
    kinds = tuple(str(kind) for kind in ask(f"SELECT * FROM {view}").types)
    return Rows(tuple(columns), kinds, view, ask)


def _file(rows: FileSource) -> Rows:
    import duckdb

    connection = rows.engine.connection
    if rows.file.cells is None:
        return _rows(rows.columns, rows.file.rows, connection.sql)
    try:
        connection.execute(f"CREATE TEMP TABLE {HELD} AS SELECT * FROM {rows.file.rows}")
        return _rows(rows.columns, HELD, connection.sql)
    except duckdb.Error:
        # The door either reads what the engine alone cannot, or says which line is wrong.
        return _arrow(_unrolled(rows.roll_up(rows.columns), rows.columns), rows.engine)


def _unrolled(found: Rolled, columns: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    cells = []
    for column in found.columns:
        texts = pa.concat_arrays([column.texts, pa.nulls(1, column.texts.type)])
        codes = np.where(column.codes < 0, len(texts) - 1, column.codes)
        cells.append(texts.take(arrow_places(np.repeat(codes, found.weights))))
    return pa.table(cells, names=list(columns))


def _arrow(table: pa.Table, started: Engine) -> Rows:
    import pyarrow as pa
    import pyarrow.types as is_

    def legible(column: pa.ChunkedArray) -> pa.ChunkedArray:
        if isinstance(column.type, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
        if is_.is_float16(column.type):
            return column.cast(pa.float32())
        return column.cast(pa.string()) if is_.is_decimal256(column.type) or is_.is_null(column.type) else column

    columns = [legible(table.column(place)) for place in range(table.num_columns)]
    started.connection.register("kpareto_rows", pa.table(columns, names=[f"c{i}" for i in range(len(columns))]))
    return _rows(table.column_names, "kpareto_rows", started.connection.sql)


def _frame(rows: object) -> pa.Table:
    """A frame of another library as a pyarrow table."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    if isinstance(rows, PandasSource):
        columns = []
        for place, name in enumerate(rows.columns):
            column = rows.frame.iloc[:, place]
            try:
                columns.append(pa.array(column, from_pandas=True))
            except (pa.ArrowException, TypeError):
                # Objects of several types: no engine knows them, so they go by their texts.
                columns.append(arrow_texts(object_text(value, name) for value in column.tolist()))
        return pa.table(columns, names=list(rows.columns))
    if isinstance(rows, SparkSource | PostgresSource):
        return rows.fetched()
    if not isinstance(rows, FrameSource):
        raise BadTable(f"Rows of {type(rows).__name__} cannot be counted. Save the table to a file first.")
    frame = rows.frame
    return frame.collect(backend="pyarrow").to_native() if isinstance(frame, nw.LazyFrame) else frame.to_arrow()


@dataclass(frozen=True)
class UniqueRows:
    """How many rows no other row equals, over some columns."""

    columns: tuple[str, ...]
    rows: int
    unique: int
    groups: int  # distinct rows

    @property
    def share(self) -> float:
        """Of all rows."""
        return self.unique / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, object]:
        """The same as plain data."""
        return {**vars(self), "columns": list(self.columns), "share": self.share}


def count_unique(rows: Rows, columns: Sequence[int]) -> UniqueRows:
    """Rows that are alone with their values of these columns, by one GROUP BY of the engine; no value is a value."""
    keys = ", ".join(rows.cell(column) for column in columns)
    total, unique, groups = rows.one(
        "SELECT coalesce(sum(n), 0), count(*) FILTER (n = 1), count(*) "
        f"FROM (SELECT count(*) AS n FROM {rows.view} GROUP BY {keys})"
    )
    return UniqueRows(tuple(rows.columns[column] for column in columns), int(total), int(unique), int(groups))


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The distinct rows over some columns as codes, rolled up by the engine."""

    columns: tuple[str, ...]
    codes: np.ndarray  # (distinct, columns) int64
    weights: np.ndarray  # (distinct,) int64, rows, none zero

    def unique(self, columns: Sequence[int]) -> UniqueRows:
        """Rows that are alone with their values of some of these columns, by place."""
        order, start = distinct_rows(self.codes[:, list(columns)])
        counts = np.add.reduceat(self.weights[order], start)
        names = tuple(self.columns[column] for column in columns)
        return UniqueRows(names, int(counts.sum()), int((counts == 1).sum()), len(start))


def coded_rows(rows: Rows, columns: Sequence[int]) -> CodedRows:
    """Roll the rows up over some columns, by one GROUP BY."""
    cells = ", ".join(f"c{column}" for column in columns)
    answer = rows.ask(f"SELECT {cells}, count(*) AS n FROM {rows.view} GROUP BY ALL").to_arrow_table()
    codes = np.empty((answer.num_rows, len(columns)), dtype=np.int64)
    for place, column in enumerate(columns):
        found = encode(answer.column(place), rows.columns[column])
        texts = found.texts.dictionary_encode("encode")  # texts may repeat, now that blanks are gone
        same = np.append(numpy_of(texts.indices), numpy_of(texts.indices).max(initial=-1) + 1)
        if found.texts.null_count:
            same[-1] = numpy_of(texts.indices)[int(np.argmax(numpy_of(found.texts.is_null())))]
        codes[:, place] = same[found.codes]
    names = tuple(rows.columns[column] for column in columns)
    return CodedRows(names, codes, numpy_of(answer.column(len(columns)).combine_chunks()).astype(np.int64))


def unique_rows(source: object, columns: Sequence[str] | None = None, encoding: str = "utf-8") -> UniqueRows:
    """Rows of any source that are alone with their values of all columns, or of those given (warning W1)."""
    if isinstance(source, SparkTable | Postgres) or is_frame(source):
        with opened(source) as held:
            given = tuple(held.columns if columns is None else columns)
            Schema(quasi=given).check(held.columns)
            return UniqueRows(given, *cast(SparkSource | PostgresSource, held).unique(given))
    with asked(source, encoding) as rows:
        wanted = tuple(rows.columns if columns is None else columns)
        Schema(quasi=wanted).check(rows.columns)
        return count_unique(rows, [rows.columns.index(name) for name in wanted])
