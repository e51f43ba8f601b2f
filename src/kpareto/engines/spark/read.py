"""Apache Spark holds the rows: its frames and tables are rolled up where they are, and only the groups are fetched.

A frame comes from the user's own session. A table that a job file names is opened in a session of our own, which
is stopped when the table has been read.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from kpareto.engines.distinct import Distinct, elsewhere
from kpareto.engines.duckdb.connect import Engine
from kpareto.engines.duckdb.read import arrow_view
from kpareto.engines.source import Opening, Outgoing, Source, SourceLayout, Target, View, Written
from kpareto.engines.spark.connect import SparkTable, attend, explain_errors, session
from kpareto.engines.spark.write import PLAIN, Views, alike, lay_out, write_rows
from kpareto.engines.values import Rolled, Spelled, refuse, roll, spell
from kpareto.errors import Progress
from kpareto.tables.table import UniqueRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

PIECE = 200_000  # distinct rows that are fetched together, where they are fetched in pieces


@contextmanager
def open_table(source: SparkTable, opening: Opening) -> Iterator[Source]:
    """A table by its name, in a session that is stopped afterwards if it was started here."""
    with session(source.master) as started:
        with explain_errors(f"The table {source.table!r} cannot be read by Spark"):
            frame = started.sql(f"SELECT * FROM {source.table}")
        with open_frame(frame, opening) as rows:
            yield rows


@contextmanager
def open_frame(frame: DataFrame, opening: Opening) -> Iterator[Source]:
    """A frame of the user's own session."""
    with closing(SparkSource(frame, opening.start, opening.report)) as rows:
        yield rows


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A frame of Spark, rolled up and recoded by its own cluster."""

    frame: DataFrame
    engine: Callable[[], Engine]
    report: Progress | None = None  # told how far writing is
    costly: ClassVar[bool] = True
    # Groups that the cluster keeps until they are fetched, and how many there are.
    kept: dict[tuple[str, ...], tuple[DataFrame, int]] = field(default_factory=dict)
    views: list[Views] = field(default_factory=list)  # what the session knows of us: nothing, or one on the way out

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.frame.columns)

    @property
    def program(self) -> str:
        """Spark and its version."""
        return f"Spark {self.frame.sparkSession.version}"

    def distinct(self, wanted: Sequence[str], report: Progress | None = None) -> Distinct:
        """Counted by the cluster, which keeps the groups, so that fetching does not read the table again."""
        count = self._keep(wanted, report)
        return elsewhere(wanted, count, lambda: self._fetch(wanted), lambda: self._pieces(wanted), report)

    def _keep(self, wanted: Sequence[str], report: Progress | None) -> int:
        with explain_errors("The distinct rows cannot be counted by Spark"):
            groups = gather_parts(self._groups(wanted)).persist()
            self.kept[tuple(wanted)] = groups, 0
            count = attend(self.frame.sparkSession, groups.count, report)
        self.kept[tuple(wanted)] = groups, count
        return count

    def _fetch(self, wanted: Sequence[str]) -> Rolled:
        with explain_errors("The rows cannot be rolled up by Spark"):
            answer = attend(self.frame.sparkSession, self.kept[tuple(wanted)][0].toArrow)
        return roll(answer, wanted)

    def _pieces(self, wanted: Sequence[str]) -> Iterator[Rolled]:
        """The distinct rows in pieces, told apart by a hash."""
        groups, count = self.kept[tuple(wanted)]
        pieces = -(-count // PIECE)
        hashed = f"pmod(xxhash64({', '.join(f'v{index}' for index in range(len(wanted)))}), {pieces}L)"
        for piece in range(pieces):
            with explain_errors("The rows cannot be rolled up by Spark"):
                answer = attend(self.frame.sparkSession, groups.where(f"{hashed} = {piece}").toArrow)
            yield roll(answer, wanted)

    def unique(self, wanted: Sequence[str]) -> UniqueRows:
        """One GROUP BY of the cluster."""
        with explain_errors("The unique rows cannot be counted by Spark"):
            groups = self._groups(wanted, cleaned=True).selectExpr("sum(count)", "count_if(count = 1)", "count(*)")
            total, unique, distinct = attend(self.frame.sparkSession, groups.collect)[0]
        return UniqueRows(tuple(wanted), int(total or 0), int(unique), int(distinct))

    def view(self) -> View:
        """All rows, fetched."""
        with explain_errors("The rows cannot be fetched from Spark"):
            return arrow_view(attend(self.frame.sparkSession, self.frame.toArrow), self.engine())

    @cached_property
    def _out(self) -> Views:
        """The rows under names of our own, and the small tables beside them."""
        renamed = self.frame.toDF(*(f"c{index}" for index in range(len(self.columns))))
        # Columns without any type cannot be written.
        typed = renamed.selectExpr(
            *(f"CAST({n} AS STRING) AS {n}" if kind == "void" else n for n, kind in renamed.dtypes)
        )
        self.views.append(Views(typed, f"kpareto_{secrets.token_hex(6)}", report=self.report))
        typed.createOrReplaceTempView(f"{self.views[0].prefix}_rows")
        return self.views[0]

    @cached_property
    def _layout(self) -> SourceLayout:
        return lay_out(self._out)

    def layout(self) -> SourceLayout:
        """A temporary view."""
        return self._layout

    def count(self) -> int:
        """All rows."""
        with explain_errors("The rows cannot be counted by Spark"):
            return attend(self.frame.sparkSession, self._out.frame.count)

    def ask(self, query: str) -> pa.Table:
        """The answer to a query."""
        with explain_errors("Spark cannot answer"):
            return attend(self.frame.sparkSession, self._out.ask(query).toArrow)

    def spelled(self, index: int, known: Spelled | None) -> Spelled:
        """Those of the roll-up where they are of the same kind, else asked for."""
        name, kind = self.columns[index], self._out.kinds[index]
        legible(name, kind, name)  # a column that cannot be generalized is a sentence
        if known is not None and alike(known.raw.type, kind):
            return known.with_none()
        query = f"SELECT DISTINCT {self._layout.keys[index]} AS v FROM {self._layout.table}"
        return spell(self.ask(query).column(0), name).with_none()

    def register(self, name: str, table: pa.Table) -> None:
        """A temporary view."""
        self._out.register(name, table)

    def write(self, rows: Outgoing, target: Target) -> AbstractContextManager[Written]:
        """A folder of Parquet parts, a table of the catalog, or a frame where there is no target."""
        return write_rows(
            self._out, rows, target, lambda frame, columns: SparkSource(frame, self.engine).unique(columns)
        )

    def close(self) -> None:
        """Let the cluster forget the groups, and the session our views."""
        while self.kept:
            _, (groups, _) = self.kept.popitem()
            with suppress(Exception):  # a cluster that is gone has forgotten them
                groups.unpersist()
        for views in self.views:
            views.close()

    def _groups(self, wanted: Sequence[str], cleaned: bool = False) -> DataFrame:
        aliases = [f"c{index}" for index in range(len(self.columns))]
        kinds = [entry.dataType for entry in self.frame.schema.fields]
        chosen = []
        for index, name in enumerate(wanted):
            position = self.columns.index(name)
            shape = clean if cleaned else legible
            chosen.append(f"{shape(f'c{position}', kinds[position], name)} AS v{index}")
        # By position, as names may repeat or hold dots; names of our own never need quotes.
        narrow = self.frame.toDF(*aliases).selectExpr(*chosen)
        return narrow.groupBy(*(f"v{index}" for index in range(len(wanted)))).count()


def gather_parts(groups: DataFrame) -> DataFrame:
    """On one machine the same rows in no more parts than it has processors: a kept frame has as many as are shuffled.

    A cluster may have told of a few of its processors only, and a session of Spark Connect tells of none.
    """
    context = getattr(groups.sparkSession, "_sc", None)
    if context is None or not str(context.master).startswith("local"):
        return groups
    return groups.coalesce(context.defaultParallelism)


def legible(value: str, kind: DataType, column: str) -> str:
    """A column as it is grouped by and fetched; values that have no text are a sentence."""
    spelled = kind.simpleString()
    if spelled == "void":
        return f"CAST({value} AS STRING)"
    if not PLAIN.match(spelled):
        raise refuse(column, spelled)
    # A collation may call a and A equal; here a text is equal to itself alone.
    return f"{value} COLLATE UTF8_BINARY" if " collate " in spelled else value


def clean(value: str, kind: DataType, column: str) -> str:
    """A value without blanks around it; what is not a number is no value, and what has no text goes by Spark's."""
    spelled = kind.simpleString()
    if not PLAIN.match(spelled):
        return f"CAST({value} AS STRING)"
    value = legible(value, kind, column)
    if spelled.startswith(("string", "char", "varchar")):
        return f"trim(BOTH ' \\t\\r\\n' FROM {value})"
    return f"nanvl({value}, NULL)" if spelled in ("float", "double") else value
