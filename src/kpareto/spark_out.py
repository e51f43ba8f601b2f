"""The way out through Spark: the rows are joined, written and counted again by the cluster that holds them.

A release goes to a folder of Parquet parts on any file system that Spark knows, to a table of its catalog, or into a
frame. Folders and tables are written under a hidden name and get their own when every claim was found true.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto.counting import PARTS, Counted, file_digest
from kpareto.dialect import Dialect
from kpareto.errors import BadInput, BadJob, BadTable
from kpareto.queries import UniqueRows
from kpareto.spark import SparkSource, SparkTable, legible
from kpareto.spark_count import count_frame
from kpareto.spark_folder import Catalogued, folder_of
from kpareto.spark_work import attended, spelled_out
from kpareto.texts import Spelled, spell
from kpareto.whole import reason

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

# Kinds that the verifier spells as we do, so that columns may keep them.
DISCRETE = ("boolean", "tinyint", "smallint", "int", "bigint", "date")
MOST_BROADCAST = 2_000_000  # entries of a small table that every machine gets a copy of
AT_ONCE = 10_000  # equal rows that are written out of one array


class SparkDialect(Dialect):
    """Spark's way of writing the pieces."""

    number = "monotonically_increasing_id()"

    def quoted(self, name: str) -> str:
        """The name of a column."""
        return "`" + name.replace("`", "``") + "`"

    def literal(self, text: str) -> str:
        """A text by its bytes, as what a backslash means is a setting of the session."""
        plain = text.replace(" ", "").replace(".", "").replace("-", "")
        if plain.isascii() and plain.isalnum():
            return f"'{text}'"
        return f"CAST(X'{text.encode().hex()}' AS STRING)"

    def same(self, left: str, right: str) -> str:
        """Whether two values are equal, where no value equals no value."""
        return f"{left} <=> {right}"

    def text(self, value: str) -> str:
        """A value as text."""
        return f"CAST({value} AS STRING)"

    def real(self, value: str) -> str:
        """A text as a number."""
        return f"CAST({value} AS DOUBLE)"

    def token(self, salt: str) -> str:
        """32 hexadecimal digits, different for each row."""
        return f"substr(sha2(concat({self.literal(salt)}, {self.number}), 256), 1, 32)"

    def matches(self, value: str, pattern: str) -> str:
        """Whether a regular expression is found in a text; for Java, $ would also match before a line end."""
        ended = pattern.removesuffix("$") + r"\z" if pattern.endswith("$") else pattern
        return f"{value} RLIKE {self.literal(ended)}"

    def shuffled(self, rows: str, cells: Sequence[str], key: Sequence[str], seed: int, few: bool) -> str:
        """The rows spread over the parts by a hash of their cells, and sorted by it in each.

        A sort of the whole would have to read the table once more, to find the borders of the parts.
        """
        listed = ", ".join(cells)
        filled = ", ".join(f"coalesce(CAST({each} AS STRING), chr(1))" for each in key)
        order = f"md5(concat_ws(chr(31), {', '.join(filter(None, (self.literal(str(seed)), filled)))}))"
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


@dataclass(frozen=True, eq=False)
class SparkRows:
    """The rows of a frame of Spark, as the way out asks for them."""

    frame: DataFrame  # c0, c1, …
    columns: tuple[str, ...]
    prefix: str  # of our temporary views in the user's session
    known: Mapping[str, Spelled] = field(default_factory=dict)  # values that a roll-up of the same rows found
    views: list[str] = field(default_factory=list)  # small tables by the names they have in queries
    dialect: Dialect = field(default_factory=SparkDialect)

    @property
    def session(self) -> SparkSession:
        """The session that holds the rows."""
        return self.frame.sparkSession

    @property
    def kinds(self) -> tuple[DataType, ...]:
        """Spark's types."""
        return tuple(entry.dataType for entry in self.frame.schema.fields)

    @property
    def table(self) -> str:
        """The rows under names of our own."""
        return f"{self.prefix}_rows AS t"

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns as they are, but for texts that would be compared by a collation; only plain ones have no key."""
        return tuple(_key(place, kind) for place, kind in enumerate(self.kinds))

    @property
    def textual(self) -> tuple[bool, ...]:
        """Which columns hold text."""
        return tuple(kind.simpleString().startswith(("string", "char", "varchar")) for kind in self.kinds)

    @property
    def native(self) -> tuple[bool, ...]:
        """Kinds that the verifier spells as we do."""
        return tuple(kind.simpleString() in (*DISCRETE, "double") for kind in self.kinds)

    @property
    def discrete(self) -> tuple[bool, ...]:
        """Native kinds without fractions."""
        return tuple(kind.simpleString() in DISCRETE for kind in self.kinds)

    @property
    def program(self) -> str:
        """The engine's name."""
        return f"Spark {self.session.version}"

    def count(self) -> int:
        """All rows."""
        with spelled_out("The rows cannot be counted by Spark"):
            return attended(self.session, self.frame.count)

    def ask(self, query: str) -> pa.Table:
        """The answer to a query."""
        with spelled_out("Spark cannot answer"):
            return attended(self.session, self.asked(query).toArrow)

    def asked(self, query: str) -> DataFrame:
        """A query as a frame; the names of the small tables stand for our views, whatever the user calls a view."""
        named = ", ".join(f"{name} AS (SELECT * FROM {self.prefix}_{name})" for name in self.views)
        return self.session.sql(f"WITH {named} {query}" if named else query)

    def spelled(self, place: int) -> Spelled:
        """The values of a column: those of the roll-up where they are of the same kind, else asked for."""
        name = self.columns[place]
        legible(name, self.kinds[place], name)  # a column that cannot be generalized is a sentence
        known = self.known.get(name)
        if known is not None and _alike(known.raw.type, self.kinds[place]):
            return known.with_none()
        return spell(self.ask(f"SELECT DISTINCT {self.keys[place]} AS v FROM {self.table}").column(0), name).with_none()

    def cell(self, place: int) -> str:
        """A column that is released as it is."""
        return f"t.c{place}"

    def register(self, name: str, table: pa.Table) -> None:
        """Keep a small table as a view; all machines get a copy, unless it has very many entries."""
        from pyspark.sql.functions import broadcast
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StringType, StructField, StructType

        kinds = {one.name: from_arrow_type(one.type) for one in table.schema}
        if "v" in kinds:
            # The type of the column itself: a moment without a zone would become one with the zone of the session.
            place = int(name.removeprefix("m"))
            kinds["v"] = StringType() if self.textual[place] else self.kinds[place]
        made = self.session.createDataFrame(table, schema=StructType([StructField(*each) for each in kinds.items()]))
        if table.num_rows <= MOST_BROADCAST:
            made = broadcast(made)
        made.createOrReplaceTempView(f"{self.prefix}_{name}")
        if name not in self.views:
            self.views.append(name)

    def place(self, target: object) -> AbstractContextManager[SparkPlace]:
        """Where a release goes: a folder of Parquet parts, a table of the catalog, or a frame where none is given."""
        if target is None:
            return _frame_place(self)
        if isinstance(target, SparkTable):
            return _table_place(self, target.table)
        if isinstance(target, str | PathLike):
            given = str(target)
            suffix = Path(given).suffix.lower()
            if suffix == ".csv":
                raise BadJob(
                    f"Spark writes folders of Parquet parts, not {given!r}. Give a name that ends in .parquet."
                )
            folder = isinstance(target, PathLike) or "/" in given or suffix in PARTS
            return _folder_place(self, given) if folder else _table_place(self, given)
        raise BadJob(f"Spark cannot write to a {type(target).__name__}. Give a folder, a table, or nothing.")

    def close(self) -> None:
        """Let the session forget our views."""
        for name in ("rows", "written", *self.views):
            with suppress(Exception):  # a session that is gone has forgotten them
                self.session.catalog.dropTempView(f"{self.prefix}_{name}")


def _key(place: int, kind: DataType) -> str:
    return f"t.c{place} COLLATE UTF8_BINARY" if " collate " in kind.simpleString() else f"t.c{place}"


def _alike(known: pa.DataType, kind: DataType) -> bool:
    """Whether values of an Arrow type are those of a column of Spark; zones do not matter, but whether there is one.

    Floats are asked for anew: other programs tell 0.0 from -0.0, so that a row would match twice.
    """
    import pyarrow.types as is_

    spelled = kind.simpleString()
    if spelled.startswith(("string", "char", "varchar")):
        return bool(is_.is_string(known) or is_.is_large_string(known))
    if is_.is_timestamp(known):
        return bool(spelled == ("timestamp_ntz" if known.tz is None else "timestamp") and known.unit == "us")
    if is_.is_decimal128(known):
        return bool(spelled == f"decimal({known.precision},{known.scale})")
    whole = {"boolean": "bool", "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64"}
    return bool({**whole, "date": "date32[day]"}.get(spelled) == str(known))


@contextmanager
def spark_rows(frame: DataFrame, known: Mapping[str, Spelled]) -> Iterator[SparkRows]:
    """The rows of a frame under names of our own, for as long as the block lasts."""
    if ".connect" in type(frame).__module__:
        raise BadTable(
            "A frame of Spark Connect can be read, but not released. Release it from a session of its cluster."
        )
    own = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    # Columns without any type cannot be written.
    typed = own.selectExpr(*(f"CAST({n} AS STRING) AS {n}" if kind == "void" else n for n, kind in own.dtypes))
    rows = SparkRows(typed, tuple(frame.columns), f"kpareto_{secrets.token_hex(6)}", known)
    typed.createOrReplaceTempView(f"{rows.prefix}_rows")
    try:
        yield rows
    finally:
        rows.close()


@dataclass(eq=False)
class SparkPlace:
    """Released rows that Spark has written, or will give when they are asked for."""

    rows: SparkRows
    format: str
    shown: str
    part: str  # the hidden folder or table; empty for a frame
    path: Path | None = None  # the folder that it becomes, where it is one of this machine
    made: DataFrame | None = None  # what was written
    plain: bool = False

    def write(self, recoded: Any) -> None:
        """Have the cluster write the released rows."""
        if recoded.handling.order == "kept":
            raise BadJob("Spark does not promise to keep the order of rows. Write order = 'shuffled'.")
        session = self.rows.session
        frame = self.rows.asked(recoded.query())
        with spelled_out("The release could not be written by Spark, so nothing was released"):
            if self.format == "parquet parts":
                attended(session, lambda: frame.write.mode("errorifexists").parquet(self.part))
                self.made = session.read.parquet(self.part)
            elif self.format == "table":
                attended(session, lambda: frame.write.mode("errorifexists").saveAsTable(self.part))
                self.made = session.table(self.part)
            elif any(out.role == "identifier" for out in recoded.outs):
                # The tokens are made anew whenever the plan is run; once made, they must stay.
                self.made = attended(session, frame.localCheckpoint)
            else:
                self.made = frame
            if self.part:
                self._written().createOrReplaceTempView(f"{self.rows.prefix}_written")

    @property
    def written(self) -> str | None:
        """What stands after FROM and gives the written rows; None for a frame, which would be worked out again."""
        return f"{self.rows.prefix}_written" if self.part else None

    def count(self, said: dict[str, Any]) -> Counted:
        """What was written, counted by one GROUP BY of Spark."""
        digest = file_digest(Path(self.part)) if self.path is not None else None
        return count_frame(self._written(), said, digest)

    def unique(self, columns: list[str]) -> UniqueRows:
        """The written rows that no other equals."""
        return UniqueRows(tuple(columns), *SparkSource(self._written()).unique(columns))

    def data(self, recoded: Any) -> Any:  # noqa: ARG002 (as all places)
        """The frame, where there is no target."""
        return self.made if self.format == "frame" else None

    def _written(self) -> DataFrame:
        if self.made is None:
            raise BadInput("Nothing was written yet.")
        return self.made


@contextmanager
def _frame_place(rows: SparkRows) -> Iterator[SparkPlace]:
    yield SparkPlace(rows, "frame", "the release", "")


@contextmanager
def _folder_place(rows: SparkRows, target: str) -> Iterator[SparkPlace]:
    folder = folder_of(rows.session, target)
    folder.check(target)
    folder.sweep()
    part = folder.hidden()
    try:
        yield SparkPlace(rows, "parquet parts", target, part.written, folder.local)
        folder.check(target)
        part.rename(folder)
    except OSError as error:
        raise BadInput(f"Cannot write {target!r}: {reason(error)}. Nothing was written.") from error
    finally:
        with suppress(Exception):  # what went wrong before is what should be told
            part.delete()


@contextmanager
def _table_place(rows: SparkRows, name: str) -> Iterator[SparkPlace]:
    table = Catalogued(rows.session, name)
    with spelled_out(f"The table {name!r} cannot be written by Spark"):
        table.check()
        table.sweep()
    part = table.hidden()
    try:
        yield SparkPlace(rows, "table", f"table {name}", part.quoted)
        with spelled_out(f"The table {name!r} cannot be written by Spark"):
            table.check()
            part.rename(table)
    finally:
        part.drop()
