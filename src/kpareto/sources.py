"""What can hold rows: files, PostgreSQL, pyarrow tables, DuckDB relations, pandas and Spark frames, all of narwhals.

Each is asked for the same thing, one GROUP BY over some columns, and answers in the same form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from kpareto.delimited import Csv
from kpareto.errors import BadTable, shorten
from kpareto.files import Engine, Report, Scan, engine, grouping, hold, hold_file, roll_up, roll_up_file, rolled, scan
from kpareto.postgres import Postgres, hidden, is_address
from kpareto.postgres_in import opened_postgres
from kpareto.spark import SCHEME, SparkSource, SparkTable, is_frame, opened_table
from kpareto.texts import Rolled, arrow_places, encode, object_texts, refused, texts

if TYPE_CHECKING:
    import duckdb
    import narwhals.stable.v2 as nw
    import pandas as pd
    import pyarrow as pa


class Source(Protocol):
    """Something that holds rows and can roll them up itself; a new engine is one more of these."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order."""

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows over the wanted columns, by one GROUP BY."""


@contextmanager
def opened(source: object, encoding: str = "utf-8", memory: int | None = None) -> Iterator[Source]:
    """The source as something that can roll up its rows; an engine of our own may use so many bytes of memory."""
    if is_address(source):
        raise BadTable(f"{hidden(str(source))!r} is a database. Say which table: kpareto.Postgres(address, 'people').")
    if isinstance(source, str) and source.startswith(SCHEME):
        raise BadTable(f"{source!r} is a Spark cluster. Say which table: kpareto.SparkTable(address, 'people').")
    if isinstance(source, str) and "://" in source:
        raise BadTable(
            f"{hidden(source)!r} is an address, and only files, PostgreSQL and Spark are read here. Copy it to a file."
        )
    if isinstance(source, str | PathLike):
        source = Csv(Path(fspath(source)), encoding) if encoding != "utf-8" else Path(fspath(source))
    if isinstance(source, Csv | Path):
        with engine(memory) as started:
            yield FileSource(started, scan(source, started))
        return
    if isinstance(source, Postgres):
        with opened_postgres(source) as database:
            yield database
        return
    if isinstance(source, SparkTable):
        with opened_table(source) as frame, closing(SparkSource(frame)) as found:
            yield found
        return
    home = type(source).__module__.partition(".")[0]
    if home == "pyarrow":
        with engine(memory) as started:
            yield ArrowSource(started, _arrow_table(source))
    elif home in ("duckdb", "_duckdb"):
        with engine(memory) as started:
            yield RelationSource(started, _relation(source))
    elif is_frame(source):
        with closing(SparkSource(cast(Any, source))) as found:
            yield found
    else:
        yield _frame_source(source)


@dataclass(frozen=True, eq=False)
class FileSource:
    """A file or a folder of Parquet parts, rolled up by an engine of our own."""

    engine: Engine
    file: Scan

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self.file.columns

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the file over the wanted columns."""
        return roll_up_file(self.file, self.engine, wanted)

    def hold(self, wanted: Sequence[str], report: Report | None = None) -> None:
        """Leave the same rows in the engine, counted before they are fetched."""
        hold_file(self.file, self.engine, wanted, report)


@dataclass(frozen=True, eq=False)
class ArrowSource:
    """A pyarrow table, rolled up by an engine of our own that reads it where it lies."""

    engine: Engine
    table: pa.Table

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.table.column_names)

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the table over the wanted columns."""
        self._register(wanted)
        return roll_up(self.engine.connection.sql, "kpareto_rows", wanted, wanted)

    def hold(self, wanted: Sequence[str], report: Report | None = None) -> None:
        """Leave the same rows in the engine, counted before they are fetched."""
        self._register(wanted)
        hold(self.engine, grouping(self.engine.connection.sql, "kpareto_rows", wanted, wanted), report)

    def _register(self, wanted: Sequence[str]) -> None:
        import pyarrow as pa
        import pyarrow.types as is_

        def legible(name: str) -> pa.ChunkedArray:
            """The column in types DuckDB knows."""
            column = self.table.column(name)
            if is_.is_float16(column.type):
                return column.cast(pa.float32())
            if not is_.is_decimal256(column.type):
                return column
            coded = encode(column, name)
            whole = pa.concat_arrays([coded.texts, pa.nulls(1, coded.texts.type)])
            return pa.chunked_array([whole.take(arrow_places(coded.codes % len(whole)))])  # -1 is the last

        chosen = pa.table([legible(name) for name in wanted], names=list(wanted))
        self.engine.connection.register("kpareto_rows", chosen)


def _arrow_table(source: object) -> pa.Table:
    import pyarrow as pa

    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if not isinstance(source, pa.Table):
        raise _unknown(source)
    return source


@dataclass(frozen=True, eq=False)
class RelationSource:
    """A DuckDB relation, rolled up by the connection it belongs to; an engine of our own holds the distinct rows."""

    engine: Engine
    relation: duckdb.DuckDBPyRelation

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.relation.columns)

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the relation over the wanted columns."""
        return roll_up(self._ask, "kpareto_rows", self.columns, wanted)

    def hold(self, wanted: Sequence[str], report: Report | None = None) -> None:
        """Pass the same rows on to an engine of our own, batch by batch; nothing is made in the user's database."""
        query = grouping(self._ask, "kpareto_rows", self.columns, wanted)
        self.engine.connection.register("kpareto_groups", self._ask(query).to_arrow_reader())
        hold(self.engine, "SELECT * FROM kpareto_groups", report)

    def _ask(self, query: str) -> duckdb.DuckDBPyRelation:
        return cast("duckdb.DuckDBPyRelation", self.relation.query("kpareto_rows", query))


def _relation(source: object) -> duckdb.DuckDBPyRelation:
    import duckdb

    if not isinstance(source, duckdb.DuckDBPyRelation):
        raise _unknown(source)
    return source


@dataclass(frozen=True, eq=False)
class FrameSource:
    """Any frame narwhals knows, eager or lazy, rolled up by its own library."""

    frame: nw.DataFrame[Any] | nw.LazyFrame[Any]
    columns: tuple[str, ...]

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the frame over the wanted columns."""
        import narwhals.stable.v2 as nw

        counted = self._counted(wanted)
        if isinstance(counted, nw.LazyFrame):
            return rolled(counted.collect(backend="pyarrow").to_native(), wanted)
        return rolled(counted.to_arrow(), wanted)

    @property
    def lazy(self) -> bool:
        """Whether nothing has been worked out yet."""
        import narwhals.stable.v2 as nw

        return isinstance(self.frame, nw.LazyFrame)

    def write(self, wanted: Sequence[str], target: Path) -> None:
        """Write the distinct rows of a lazy frame to a Parquet file, piece by piece."""
        cast(Any, self._counted(wanted)).sink_parquet(target)

    def _counted(self, wanted: Sequence[str]) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
        """One GROUP BY in the frame's own library."""
        import narwhals.stable.v2 as nw

        own = [f"c{place}" for place in range(len(wanted))]
        kinds = self.frame.collect_schema()
        for name in wanted:
            check_kind(kinds[name], name)

        def legible(name: str) -> nw.Expr:
            """The column in types pyarrow knows."""
            long = kinds[name] in (nw.Int128, nw.UInt128)
            return nw.col(name).cast(nw.String) if long else nw.col(name)

        chosen = self.frame.select(*(legible(name).alias(new) for name, new in zip(wanted, own, strict=True)))
        return chosen.group_by(own, drop_null_keys=False).agg(nw.len().alias("weight"))


def check_kind(kind: Any, column: str) -> None:
    """Raise where the values of a narwhals type have no text."""
    import narwhals.stable.v2 as nw

    if kind.is_nested() or kind in (nw.Object, nw.Binary, nw.Duration):
        raise refused(column, str(kind).lower())


@dataclass(frozen=True, eq=False)
class PandasSource:
    """A pandas frame; columns of Python objects are numbered first, as no engine knows what they are."""

    frame: pd.DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns; pandas allows names that are not text."""
        return tuple(str(name) for name in self.frame.columns)

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the frame over the wanted columns, whatever its index."""
        import narwhals.stable.v2 as nw
        import pandas as pd

        found: dict[str, pd.Series[Any]] = {}
        named: dict[int, pa.Array] = {}
        for place, name in enumerate(wanted):
            column = self.frame.iloc[:, self.columns.index(name)].reset_index(drop=True)
            kind = nw.from_native(column, series_only=True).dtype
            bare = column.dtype == object or getattr(column.dtype, "storage", "") == "python"
            if bare or kind in (nw.Unknown, nw.Categorical, nw.Enum):
                codes, named[place] = _numbered(column, name)
                column = pd.Series(codes)
            else:
                check_kind(kind, name)
                column = column.astype("float32") if column.dtype == "float16" else column  # pandas cannot group by it
            found[f"c{place}"] = column
        counted = (
            nw.from_native(pd.DataFrame(found), eager_only=True)
            .group_by(list(found), drop_null_keys=False)
            .agg(nw.len().alias("weight"))
            .to_arrow()
        )
        return rolled(counted, wanted, named)


def _numbered(column: pd.Series[Any], name: str) -> tuple[np.ndarray, pa.Array]:
    """A column of Python objects or categories as codes, -1 for no value, and the text of each code."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.cat.categories
        if categories.dtype == object or isinstance(categories.dtype, pd.IntervalDtype | pd.PeriodDtype):
            return column.cat.codes.to_numpy(dtype=np.int64), object_texts(categories.tolist(), name)
        return column.cat.codes.to_numpy(dtype=np.int64), texts(pa.array(categories, from_pandas=True), name)
    if pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):
        # True equals 1 for pandas, but not for people.
        flags = column.map(type).isin((bool, np.bool_))
        column = column.where(~flags, column[flags].map({True: "true", False: "false"}))
    try:
        codes, values = pd.factorize(column)
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in column[:1000] if type(value).__hash__ is None})
        raise refused(name, shorten(kinds) or "that cannot be compared") from error
    return codes.astype(np.int64), object_texts(list(values), name)


def _frame_source(source: object) -> Source:
    import narwhals.stable.v2 as nw

    native: Any = nw.to_native(source, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(native):
        return PandasSource(native)
    try:
        frame = nw.from_native(native)
    except TypeError:
        raise _unknown(source) from None
    return FrameSource(frame, tuple(frame.collect_schema().names()))


def _unknown(source: object) -> BadTable:
    return BadTable(
        f"Cannot read a table from {type(source).__module__}.{type(source).__qualname__}. Give a pandas or polars "
        "frame, a pyarrow table, a DuckDB relation, or the path of a CSV or Parquet file."
    )
