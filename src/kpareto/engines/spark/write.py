"""The way out through Spark: the rows are joined, written and counted again by the cluster that holds them.

A release goes to a folder of Parquet parts on any file system that Spark knows, to a table of its catalog, or into a
frame. Folders and tables are written under a hidden name and get their own when every claim was found true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING

from kpareto.atomic import reason
from kpareto.engines.source import FORMATS, Outgoing, SourceLayout, Written, ending_of
from kpareto.engines.spark.connect import SparkTable, attend, explain_errors
from kpareto.engines.spark.hidden import Catalogued, folder_of
from kpareto.engines.sql import Sql
from kpareto.errors import BadInput, BadJob, Progress
from kpareto.tables.table import UniqueRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

Unique = Callable[["DataFrame", Sequence[str]], UniqueRows]
# Kinds that the verifier spells as we do, so that columns may keep them.
DISCRETE = ("boolean", "tinyint", "smallint", "int", "bigint", "date")
# Only these hold one value that has a text; nested and binary values, intervals and variants have none.
PLAIN = re.compile(
    r"^(boolean|tinyint|smallint|int|bigint|float|double|decimal|date|timestamp|time|string|char|varchar)(?![a-z])"
)
MOST_BROADCAST = 2_000_000  # entries of a small table that every machine gets a copy of
FAILED = "The release could not be written by Spark, so nothing was released"
AT_ONCE = 10_000  # equal rows that are written out of one array


def literal(text: str) -> str:
    """A text by its bytes, as what a backslash means is a setting of the session."""
    plain = text.replace(" ", "").replace(".", "").replace("-", "")
    if plain.isascii() and plain.isalnum():
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _text(value: str) -> str:
    return f"CAST({value} AS STRING)"


def _matches(value: str, pattern: str) -> str:
    """For Java, $ would also match before a line end."""
    ended = pattern.removesuffix("$") + r"\z" if pattern.endswith("$") else pattern
    return f"{value} RLIKE {literal(ended)}"


def _shuffle(rows: str, cells: Sequence[str], key: Sequence[str], seed: int, few: bool) -> str:
    """The rows spread over the parts by a hash of their cells, and sorted by it in each.

    A sort of the whole would have to read the table once more, to find the borders of the parts.
    """
    listed = ", ".join(cells)
    filled = ", ".join(f"coalesce(CAST({cell} AS STRING), chr(1))" for cell in key)
    # Spark's own hash of 64 bits takes a fraction of the time of MD5, and a number is sorted faster than a text.
    order = f"xxhash64({', '.join(filter(None, (literal(str(seed)), filled)))})"
    if not few:
        return f"SELECT {listed} FROM ({rows}) AS r DISTRIBUTE BY {order} SORT BY {order}"
    counted = f"SELECT {listed}, count(*) AS n FROM ({rows}) AS r GROUP BY {listed}"
    sorted_ = f"SELECT {listed}, n FROM ({counted}) AS r DISTRIBUTE BY {order} SORT BY {order}"
    # In two steps, as one array of as many entries as a group has rows may not fit into memory.
    return (
        f"SELECT {listed} FROM ({sorted_}) AS r "
        f"LATERAL VIEW explode(sequence(0L, (n - 1L) div {AT_ONCE}L)) AS some "
        f"LATERAL VIEW explode(sequence(1L, least({AT_ONCE}L, n - some * {AT_ONCE}L))) AS one"
    )


NUMBERED = "monotonically_increasing_id()"
SPARK = Sql(
    text=_text,
    real=lambda value: f"CAST({value} AS DOUBLE)",
    token=lambda salt: f"substr(sha2(concat({literal(salt)}, {NUMBERED}), 256), 1, 32)",
    matches=_matches,
    shuffled=_shuffle,
    key=_text,
    same=lambda left, right: f"{left} <=> {right}",
    literal=literal,
    quote=lambda name: "`" + name.replace("`", "``") + "`",
    number=NUMBERED,
    first=lambda value: f"ascii({value})",
    hashed=lambda cells: f"xxhash64({', '.join(map(_text, cells))})",
)


@dataclass(frozen=True, eq=False)
class Views:
    """Temporary views in the user's session: the rows under names of our own, and the small tables."""

    frame: DataFrame  # c0, c1, …
    prefix: str  # of our views
    names: list[str] = field(default_factory=list)  # small tables by the names they have in queries
    report: Progress | None = None  # told how far writing is

    @property
    def session(self) -> SparkSession:
        """The session that holds the rows."""
        return self.frame.sparkSession

    @property
    def kinds(self) -> tuple[DataType, ...]:
        """Spark's types."""
        return tuple(entry.dataType for entry in self.frame.schema.fields)

    def ask(self, query: str) -> DataFrame:
        """A query as a frame; the names of the small tables stand for our views, whatever the user calls a view."""
        named = ", ".join(f"{name} AS (SELECT * FROM {self.prefix}_{name})" for name in self.names)
        if named and query.startswith("WITH "):  # a query with names of its own: they stand after ours
            return self.session.sql(f"WITH {named}, {query.removeprefix('WITH ')}")
        return self.session.sql(f"WITH {named} {query}" if named else query)

    def register(self, name: str, table: pa.Table) -> None:
        """Keep a small table as a view; all machines get a copy, unless it has very many entries."""
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StringType, StructField, StructType

        kinds = {one.name: from_arrow_type(one.type) for one in table.schema}
        if "v" in kinds:
            # The type of the column itself: a moment without a zone would become one with the zone of the session.
            kind = self.kinds[int(name.removeprefix("m"))]
            kinds["v"] = StringType() if _textual(kind) else kind
        small = self.session.createDataFrame(
            table, schema=StructType([StructField(*column) for column in kinds.items()])
        )
        if table.num_rows <= MOST_BROADCAST:
            small = small.hint("broadcast")
        small.createOrReplaceTempView(f"{self.prefix}_{name}")
        if name not in self.names:
            self.names.append(name)

    def close(self) -> None:
        """Let the session forget them."""
        for name in ("rows", "written", *self.names):
            with suppress(Exception):  # a session that is gone has forgotten them
                self.session.catalog.dropTempView(f"{self.prefix}_{name}")


def lay_out(views: Views) -> SourceLayout:
    """The rows as the way out sees them."""
    kinds = views.kinds
    return SourceLayout(
        sql=SPARK,
        table=f"{views.prefix}_rows AS t",
        # Columns as they are, but for texts that would be compared by a collation; only plain ones have no key.
        keys=tuple(_key(index, kind) for index, kind in enumerate(kinds)),
        textual=tuple(map(_textual, kinds)),
        native=tuple(kind.simpleString() in (*DISCRETE, "double") for kind in kinds),
        discrete=tuple(kind.simpleString() in DISCRETE for kind in kinds),
        nested=[index for index, kind in enumerate(kinds) if not PLAIN.match(kind.simpleString())],
    )


def _textual(kind: DataType) -> bool:
    return kind.simpleString().startswith(("string", "char", "varchar"))


def _key(index: int, kind: DataType) -> str:
    return f"t.c{index} COLLATE UTF8_BINARY" if " collate " in kind.simpleString() else f"t.c{index}"


def alike(known: pa.DataType, kind: DataType) -> bool:
    """Whether values of an Arrow type are those of a column of Spark; zones do not matter, but whether there is one.

    Floats are asked for anew: other programs tell 0.0 from -0.0, so that a row would match twice.
    """
    import pyarrow.types as is_

    spelled = kind.simpleString()
    if _textual(kind):
        return bool(is_.is_string(known) or is_.is_large_string(known))
    if is_.is_timestamp(known):
        return bool(spelled == ("timestamp_ntz" if known.tz is None else "timestamp") and known.unit == "us")
    if is_.is_decimal128(known):
        return bool(spelled == f"decimal({known.precision},{known.scale})")
    whole = {"boolean": "bool", "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64"}
    return bool({**whole, "date": "date32[day]"}.get(spelled) == str(known))


def write_rows(views: Views, rows: Outgoing, target: object, unique: Unique) -> AbstractContextManager[Written]:
    """A folder of Parquet parts, a table of the catalog, or a frame where there is no target."""
    if rows.kept:
        raise BadJob("Spark does not promise to keep the order of rows. Write order = 'shuffled'.")
    if target is None:
        return _write_frame(views, rows, unique)
    if isinstance(target, SparkTable):
        return _write_table(views, rows, target.table, unique)
    if not isinstance(target, str | PathLike):
        raise BadJob(f"Spark cannot write to a {type(target).__name__}. Give a folder, a table, or nothing.")
    name = str(target)
    form = FORMATS.get(ending_of(name))
    if form not in ("parquet", None):
        raise BadJob(f"Spark writes folders of Parquet parts, not {name!r}. Give a name that ends in .parquet.")
    folder = isinstance(target, PathLike) or "/" in name or form is not None
    return _write_folder(views, rows, name, unique) if folder else _write_table(views, rows, name, unique)


def _describe_written(frame: DataFrame, form: str, shown: str, unique: Unique) -> Written:
    return Written("spark", frame, form, shown, lambda columns: unique(frame, columns))


@contextmanager
def _write_frame(views: Views, rows: Outgoing, unique: Unique) -> Iterator[Written]:
    frame = views.ask(rows.query)
    if rows.tokens:  # made anew whenever the plan is run; once made, they must stay
        with explain_errors(FAILED):
            frame = attend(views.session, frame.localCheckpoint)
    # Its rows are not asked for by name: they would be worked out again.
    yield replace(_describe_written(frame, "frame", "the release", unique), data=lambda: frame)


@contextmanager
def _write_folder(views: Views, rows: Outgoing, target: str, unique: Unique) -> Iterator[Written]:
    folder = folder_of(views.session, target)
    folder.check(target)
    folder.sweep()
    part = folder.hiding_place()
    try:
        frame = put_rows(views, rows.query, part.written, "parquet parts")
        yield replace(
            _describe_written(frame, "parquet parts", target, unique),
            path=folder.local,
            part=part.local,
            rows=f"{views.prefix}_written",
        )
        folder.check(target)
        part.rename(folder)
    except OSError as error:
        raise BadInput(f"Cannot write {target!r}: {reason(error)}. Nothing was written.") from error
    finally:
        with suppress(Exception):  # what went wrong before is what should be told
            part.delete()


@contextmanager
def _write_table(views: Views, rows: Outgoing, name: str, unique: Unique) -> Iterator[Written]:
    table = Catalogued(views.session, name)
    with explain_errors(f"The table {name!r} cannot be written by Spark"):
        table.check()
        table.sweep()
    part = table.hiding_place()
    try:
        frame = put_rows(views, rows.query, part.quoted, "table")
        yield replace(_describe_written(frame, "table", f"table {name}", unique), rows=f"{views.prefix}_written")
        with explain_errors(f"The table {name!r} cannot be written by Spark"):
            table.check()
            part.rename(table)
    finally:
        part.drop()


def put_rows(views: Views, query: str, part: str, form: str) -> DataFrame:
    """Have the cluster write the released rows, and read what it wrote."""
    with explain_errors(FAILED):
        frame = views.ask(query)
        if form == "table":
            attend(views.session, lambda: frame.write.mode("error").saveAsTable(part), views.report)
            written = views.session.table(part)
        else:
            attend(views.session, lambda: frame.write.mode("error").parquet(part), views.report)
            written = views.session.read.parquet(part)
        written.createOrReplaceTempView(f"{views.prefix}_written")
    return written
