"""Frames in memory: pyarrow tables, DuckDB relations, pandas, polars and all that narwhals knows.

Each library rolls up its own rows on the way in. On the way out they are handed to DuckDB through Arrow, and what is
released comes back in the kind of frame it came in.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np

from kpareto.engines.distinct import Distinct, in_engine, in_file, in_memory, ticking
from kpareto.engines.duckdb.connect import Engine, grouping, hold, legible
from kpareto.engines.duckdb.read import DuckSource, Holding, arrow_view, make_view
from kpareto.engines.form import number_names
from kpareto.engines.source import Opening, Outgoing, Source, View
from kpareto.engines.sql import quote
from kpareto.engines.values import arrow_texts, object_text, object_texts, refuse, roll, take_texts, texts
from kpareto.errors import BadTable, Progress, shorten

if TYPE_CHECKING:
    import duckdb
    import narwhals.stable.v2 as nw
    import pandas as pd
    import pyarrow as pa

Frame = TypeVar("Frame")


def number_duplicates(frame: Frame) -> Frame:
    """Tell columns of the same name apart: the second becomes name_2, the third name_3.

    Parameters
    ----------
    frame : pandas.DataFrame, pyarrow.Table or duckdb.DuckDBPyRelation
        Other frames never have two columns of one name.

    Returns
    -------
    pandas.DataFrame, pyarrow.Table or duckdb.DuckDBPyRelation
        The same rows; what was given stays as it was.

    Raises
    ------
    BadInput
        If it is none of them.

    Examples
    --------
    >>> import kpareto as kp
    >>> import pandas as pd
    >>> kp.number_duplicates(pd.DataFrame([[34, "f", 36]], columns=["age", "sex", "age"])).columns.tolist()
    ['age', 'sex', 'age_2']
    """
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    known: Any = frame
    if nw.dependencies.is_pandas_dataframe(known):
        return cast("Frame", known.set_axis(list(number_names([str(name) for name in known.columns])), axis=1))
    if isinstance(known, pa.Table):
        return cast("Frame", known.rename_columns(list(number_names(known.column_names))))
    if type(known).__name__ == "DuckDBPyRelation":
        names = ", ".join(quote(name) for name in number_names(known.columns))
        return cast("Frame", known.query("kpareto_rows", f"SELECT * FROM kpareto_rows AS numbered({names})"))
    raise BadTable(
        f"Columns of {type(frame).__module__}.{type(frame).__qualname__} cannot be numbered. Give a pandas frame, a "
        "pyarrow table or a DuckDB relation; for a file, number_duplicates = true belongs to its form."
    )


@contextmanager
def open_frame(frame: object, opening: Opening) -> Iterator[Source]:
    """What is in memory: of pyarrow, DuckDB, pandas, or any library that narwhals knows."""
    known = _hold(frame)
    if not known.columns:
        raise BadTable("The table has no columns. Give at least one.")
    yield DuckSource(known, opening.start)


def _hold(frame: Any) -> Holding:
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        return ArrowFrame(pa.Table.from_batches([frame]))
    if isinstance(frame, pa.Table):
        return ArrowFrame(frame)
    if type(frame).__name__ == "DuckDBPyRelation":
        return Relation(frame)
    native = nw.to_native(frame, pass_through=True)  # it may be in narwhals' hands
    if nw.dependencies.is_pandas_dataframe(native):
        return PandasFrame(native)
    try:
        return AnyFrame(nw.from_native(native))
    except TypeError:
        raise unknown(frame) from None


def unknown(frame: object) -> BadTable:
    """The sentence for something that holds no table."""
    return BadTable(
        f"Cannot read a table from {type(frame).__module__}.{type(frame).__qualname__}. Give a pandas or polars "
        "frame, a pyarrow table, a DuckDB relation, or the path of a CSV or Parquet file."
    )


def _register(engine: Engine, table: pa.Table) -> str:
    """Put an Arrow table before DuckDB, which reads it where it lies."""
    engine.connection.register("kpareto_rows", legible(table))
    return "kpareto_rows"


class InMemory:
    """What frames have in common: types instead of a form of texts, and values that are asked for again."""

    remembered: ClassVar[bool] = False
    form: ClassVar[None] = None
    raw: ClassVar[tuple[int, ...]] = ()


@dataclass(frozen=True, eq=False)
class ArrowFrame(InMemory):
    """A pyarrow table, rolled up by an engine of our own that reads it where it lies."""

    arrow: pa.Table
    program: ClassVar[str] = "DuckDB"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.arrow.column_names)

    def distinct(self, wanted: Sequence[str], start: Callable[[], Engine], report: Progress | None) -> Distinct:
        """Left in the engine, counted before they are fetched."""
        connection = start().connection
        connection.register("kpareto_wanted", legible(self.arrow.select(list(wanted))))
        hold(start(), grouping(connection.sql, "kpareto_wanted", wanted, wanted), report)
        return in_engine(wanted, start())

    def view(self, start: Callable[[], Engine]) -> View:
        """Seen by DuckDB where it lies."""
        return arrow_view(self.arrow, start())

    def table(self, engine: Engine) -> str:
        """Seen by DuckDB where it lies."""
        return _register(engine, self.arrow)

    def data(self, rows: Outgoing, ask: Callable[[str], pa.Table]) -> pa.Table:
        """An Arrow table."""
        return ask(rows.query)


@dataclass(frozen=True, eq=False)
class Relation(InMemory):
    """A DuckDB relation, rolled up by the connection it belongs to; an engine of our own holds the distinct rows."""

    relation: duckdb.DuckDBPyRelation
    program: ClassVar[str] = "DuckDB"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.relation.columns)

    def distinct(self, wanted: Sequence[str], start: Callable[[], Engine], report: Progress | None) -> Distinct:
        """Passed on to an engine of our own, batch by batch; nothing is made in the user's database."""
        query = grouping(self._ask, "kpareto_rows", self.columns, wanted)
        start().connection.register("kpareto_groups", self._ask(query).to_arrow_reader())
        hold(start(), "SELECT * FROM kpareto_groups", report)
        return in_engine(wanted, start())

    def view(self, start: Callable[[], Engine]) -> View:  # noqa: ARG002 (its own connection answers)
        """Asked where it is."""
        return make_view(self.columns, "kpareto_rows", self._ask)

    def table(self, engine: Engine) -> str:
        """Fetched once, as the user's connection must not be held while rows are written."""
        return _register(engine, self.relation.to_arrow_table())

    def data(self, rows: Outgoing, ask: Callable[[str], pa.Table]) -> duckdb.DuckDBPyRelation:
        """A relation of the same connection, over an Arrow table that it holds."""
        import duckdb

        released = ask(rows.query)
        try:
            return cast("duckdb.DuckDBPyRelation", self.relation.query("kpareto_rows", "SELECT * FROM released"))
        except duckdb.CatalogException:  # a connection that looks for no variables of Python
            return duckdb.from_arrow(released)

    def _ask(self, query: str) -> duckdb.DuckDBPyRelation:
        return cast("duckdb.DuckDBPyRelation", self.relation.query("kpareto_rows", query))


@dataclass(frozen=True, eq=False)
class AnyFrame(InMemory):
    """Any frame narwhals knows, eager or lazy, rolled up by its own library."""

    frame: nw.DataFrame[Any] | nw.LazyFrame[Any]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.frame.collect_schema().names())

    @property
    def program(self) -> str:
        """The library."""
        return type(self._eager.to_native()).__module__.partition(".")[0]

    @cached_property
    def _eager(self) -> nw.DataFrame[Any]:
        import narwhals.stable.v2 as nw

        return self.frame.collect() if isinstance(self.frame, nw.LazyFrame) else self.frame

    def distinct(self, wanted: Sequence[str], start: Callable[[], Engine], report: Progress | None) -> Distinct:
        """One GROUP BY in the frame's own library; a lazy frame goes to a file, piece by piece."""
        import narwhals.stable.v2 as nw

        with ticking(report):
            groups = self._groups(wanted)
            if isinstance(groups, nw.LazyFrame):
                target = start().folder / "groups.parquet"
                groups.sink_parquet(target)
                return in_file(wanted, target, report)
            return in_memory(wanted, roll(groups.to_arrow(), wanted))

    def _groups(self, wanted: Sequence[str]) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
        import narwhals.stable.v2 as nw

        aliases = [f"c{index}" for index in range(len(wanted))]
        kinds = self.frame.collect_schema()
        for name in wanted:
            check_kind(kinds[name], name)

        def cast_to_known(name: str) -> nw.Expr:
            """The column in types pyarrow knows."""
            # By its place: polars takes a name such as * or ^a.*$ for a pattern of names.
            column = nw.nth(self.columns.index(name))
            return column.cast(nw.String) if kinds[name] in (nw.Int128, nw.UInt128) else column

        chosen = self.frame.select(*(cast_to_known(name).alias(new) for name, new in zip(wanted, aliases, strict=True)))
        return chosen.group_by(aliases, drop_null_keys=False).agg(nw.len().alias("weight"))

    def view(self, start: Callable[[], Engine]) -> View:
        """Through Arrow."""
        import narwhals.stable.v2 as nw

        if isinstance(self.frame, nw.LazyFrame):
            return arrow_view(self.frame.collect(backend="pyarrow").to_native(), start())
        return arrow_view(self.frame.to_arrow(), start())

    def table(self, engine: Engine) -> str:
        """Through Arrow."""
        return _register(engine, self._eager.to_arrow())

    def data(self, rows: Outgoing, ask: Callable[[str], pa.Table]) -> Any:
        """A frame of the same library; columns that nothing was done to are the frame's own."""
        import narwhals.stable.v2 as nw

        answer = ask(rows.located)
        positions = answer.column(answer.num_columns - 1).to_numpy()
        narrow = self._eager
        taken = narrow.select(*(nw.nth(self.columns.index(name)) for name in rows.touched))[positions.tolist()]
        listing = {name: kind for name, kind in taken.schema.items() if _lists_words(kind)}
        taken = taken.with_columns(*(_fresh_words(taken[name], kind) for name, kind in listing.items()))
        fresh = nw.from_arrow(answer, backend=narrow.implementation)
        touched = [fresh[name] for name, other in rows.touched.items() if other]
        return nw.to_native(taken.with_columns(*touched) if touched else taken)


def _lists_words(kind: Any) -> bool:
    """Whether a narwhals type brings a list of words along, which may be those of rows that were left out."""
    import narwhals.stable.v2 as nw

    return kind in (nw.Categorical, nw.Enum) or kind != _plain_kind(kind)


def _fresh_words(column: nw.Series[Any], kind: Any) -> nw.Series[Any]:
    """A column of the same type whose list has the words of its own rows alone; one inside another becomes text."""
    import narwhals.stable.v2 as nw

    plain = column.cast(_plain_kind(kind))
    if kind == nw.Enum:
        left = set(plain.drop_nulls().to_list())
        return plain.cast(nw.Enum([word for word in kind.categories if word in left]))
    return plain.cast(nw.Categorical) if kind == nw.Categorical else plain


def _plain_kind(kind: Any) -> Any:
    """A narwhals type with text wherever it lists words."""
    import narwhals.stable.v2 as nw

    if kind in (nw.Categorical, nw.Enum):
        return nw.String()
    if kind == nw.List:
        return nw.List(_plain_kind(kind.inner))
    if kind == nw.Array:
        return nw.Array(_plain_kind(kind.inner), kind.size)
    if kind == nw.Struct:
        return nw.Struct({field.name: _plain_kind(field.dtype) for field in kind.fields})
    return kind


def check_kind(kind: Any, column: str) -> None:
    """Raise where the values of a narwhals type have no text."""
    import narwhals.stable.v2 as nw

    if kind.is_nested() or kind in (nw.Object, nw.Binary, nw.Duration):
        raise refuse(column, str(kind).lower())


@dataclass(frozen=True, eq=False)
class PandasFrame(InMemory):
    """A pandas frame; columns of Python objects are numbered first, as no engine knows what they are."""

    frame: pd.DataFrame
    program: ClassVar[str] = "pandas"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns; pandas allows names that are not text."""
        return tuple(str(name) for name in self.frame.columns)

    def distinct(self, wanted: Sequence[str], start: Callable[[], Engine], report: Progress | None) -> Distinct:  # noqa: ARG002 (all in memory)
        """One GROUP BY of pandas, whatever its index."""
        import narwhals.stable.v2 as nw
        import pandas as pd

        columns: dict[str, pd.Series[Any]] = {}
        named: dict[int, pa.Array] = {}
        with ticking(report):
            for index, name in enumerate(wanted):
                column = self.frame.iloc[:, self.columns.index(name)].reset_index(drop=True)
                kind = nw.from_native(column, series_only=True).dtype
                if _bare(column) or kind in (nw.Unknown, nw.Categorical, nw.Enum):
                    codes, named[index] = _number_objects(column, name)
                    column = pd.Series(codes)
                else:
                    check_kind(kind, name)
                    # pandas cannot group by the smallest floats
                    column = column.astype("float32") if column.dtype == "float16" else column
                columns[f"c{index}"] = column
            with warnings.catch_warnings():  # of many columns pandas says that it puts them together slowly
                warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
                groups = (
                    nw.from_native(pd.DataFrame(columns), eager_only=True)
                    .group_by(list(columns), drop_null_keys=False)
                    .agg(nw.len().alias("weight"))
                    .to_arrow()
                )
            return in_memory(wanted, roll(groups, wanted, named))

    def view(self, start: Callable[[], Engine]) -> View:
        """Through Arrow; objects of several types, which no engine knows, go by their texts."""
        import pyarrow as pa

        columns = []
        for index, name in enumerate(self.columns):
            column = self.frame.iloc[:, index]
            try:
                columns.append(pa.array(column, from_pandas=True))
            except (pa.ArrowException, TypeError):
                columns.append(arrow_texts(object_text(value, name) for value in column.tolist()))
        return arrow_view(pa.table(columns, names=list(self.columns)), start())

    def table(self, engine: Engine) -> str:
        """Through Arrow; columns of Python objects and categories become text."""
        import pyarrow as pa

        arrays = [_arrow_column(self.frame.iloc[:, index], name) for index, name in enumerate(self.columns)]
        return _register(engine, pa.table(arrays, names=list(self.columns)))

    def data(self, rows: Outgoing, ask: Callable[[str], pa.Table]) -> pd.DataFrame:
        """A pandas frame; columns that nothing was done to are the frame's own."""
        answer = ask(rows.located)
        positions = answer.column(answer.num_columns - 1).to_numpy()
        places = [self.columns.index(name) for name in rows.touched]
        result = self.frame.iloc[positions, places].reset_index(drop=True)
        result.attrs = {}  # notes that the user keeps on the whole frame
        for at, touched in enumerate(rows.touched.values()):
            result.isetitem(at, answer.column(at).to_pandas() if touched else _forgetful(result.iloc[:, at]))
        return result


def _forgetful(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column without the words that only other rows have: in its categories, in its Arrow dictionary."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.types as is_

    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories()
    if not isinstance(column.dtype, pd.ArrowDtype):
        return column
    kind = column.dtype.pyarrow_dtype
    plain = _plain_arrow(kind)
    if plain == kind:
        return column
    values = pa.chunked_array([pa.array(column, from_pandas=True).cast(plain)])
    values = values.dictionary_encode().cast(kind) if is_.is_dictionary(kind) else values
    return pd.Series(pd.arrays.ArrowExtensionArray(values), index=column.index, name=column.name)


def _plain_arrow(kind: pa.DataType) -> pa.DataType:
    """An Arrow type without dictionaries."""
    import pyarrow as pa
    import pyarrow.types as is_

    if is_.is_dictionary(kind):
        return kind.value_type
    if is_.is_list(kind):
        return pa.list_(_plain_arrow(kind.value_type))
    if is_.is_large_list(kind):
        return pa.large_list(_plain_arrow(kind.value_type))
    if is_.is_struct(kind):
        return pa.struct([pa.field(field.name, _plain_arrow(field.type), field.nullable) for field in kind])
    return kind


def _bare(column: pd.Series[Any]) -> bool:
    """Whether a column holds Python objects."""
    return bool(column.dtype == object or getattr(column.dtype, "storage", "") == "python")


def _arrow_column(column: pd.Series[Any], name: str) -> pa.ChunkedArray:
    import pandas as pd
    import pyarrow as pa

    if _bare(column) or isinstance(column.dtype, pd.CategoricalDtype):
        codes, words = _number_objects(column.reset_index(drop=True), name)
        return pa.chunked_array([take_texts(words, codes)])
    array = pa.array(column, from_pandas=True)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _number_objects(column: pd.Series[Any], name: str) -> tuple[np.ndarray, pa.Array]:
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
        raise refuse(name, shorten(kinds) or "that cannot be compared") from error
    return codes.astype(np.int64), object_texts(list(values), name)
