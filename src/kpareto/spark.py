"""Apache Spark holds the rows: its frames and tables are rolled up where they are, and only the groups are fetched.

A frame comes from the user's own session. A table that a job file names is opened in a session of our own, which
is stopped when the table has been read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kpareto.errors import BadJob
from kpareto.files import rolled
from kpareto.spark_work import attended, session, spelled_out
from kpareto.texts import Rolled, refused

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

SCHEME = "spark://"
PIECE = 200_000  # distinct rows that are fetched together, where they are fetched in pieces
# Only these hold one value that has a text; nested and binary values, intervals and variants have none.
PLAIN = re.compile(
    r"^(boolean|tinyint|smallint|int|bigint|float|double|decimal|date|timestamp|time|string|char|varchar)(?![a-z])"
)
MASTERS = re.compile(r"^(local(\[.*\])?|local-cluster\[.*\]|yarn|k8s://.*)$")


@dataclass(frozen=True)
class SparkTable:
    """A table by its name in Spark, and the cluster that opens it.

    ``address`` is ``spark://HOST:PORT`` for a standalone cluster, ``spark://local[2]`` for two threads here,
    ``spark://yarn`` and the like for other managers, or ``spark://`` for what Spark's own settings say. ``table`` is
    whatever stands after FROM in Spark: ``people``, ``catalog.schema.people`` or ``parquet.`/data/people```.
    """

    address: str
    table: str

    @property
    def master(self) -> str | None:
        """The address as Spark writes it; None where Spark's own settings decide."""
        rest = self.address.removeprefix(SCHEME)
        if not rest:
            return None
        if MASTERS.match(rest):
            return rest
        if not re.fullmatch(r"[^\s:/,]+:\d+(,[^\s:/,]+:\d+)*", rest):
            raise BadJob(
                f"{self.address!r} is no Spark cluster. Write spark://HOST:7077 for a standalone cluster, "
                "spark://local[2] for two threads on this machine, or spark:// for what Spark's settings say."
            )
        return self.address


def is_frame(source: object) -> bool:
    """Whether this is a frame of Spark, without loading Spark."""
    home, _, rest = type(source).__module__.partition(".")
    return home == "pyspark" and rest.startswith("sql") and type(source).__name__ == "DataFrame"


@contextmanager
def opened_table(source: SparkTable) -> Iterator[DataFrame]:
    """The table as a frame, in a session that is stopped afterwards if it was started here."""
    with session(source.master) as started:
        with spelled_out(f"The table {source.table!r} cannot be read by Spark"):
            frame = started.sql(f"SELECT * FROM {source.table}")
        yield frame


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A frame of Spark, rolled up by its own cluster."""

    frame: DataFrame
    # Groups that the cluster keeps until they are fetched, and how many there are.
    kept: dict[tuple[str, ...], tuple[DataFrame, int]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.frame.columns)

    def distinct(self, wanted: Sequence[str]) -> int:
        """How many distinct rows there are over the wanted columns, before any of them is fetched.

        The cluster keeps the groups, so that ``roll_up`` does not read the table again.
        """
        with spelled_out("The distinct rows cannot be counted by Spark"):
            groups = self._groups(wanted).persist()
            self.kept[tuple(wanted)] = groups, 0
            count = attended(self.frame.sparkSession, groups.count)
        self.kept[tuple(wanted)] = groups, count
        return count

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the frame over the wanted columns."""
        with spelled_out("The rows cannot be rolled up by Spark"):
            groups = self.kept[tuple(wanted)][0] if tuple(wanted) in self.kept else self._groups(wanted)
            answer = attended(self.frame.sparkSession, groups.toArrow)
        return rolled(answer, wanted)

    def batches(self, wanted: Sequence[str]) -> Iterator[Rolled]:
        """The same rows in pieces, told apart by a hash."""
        if tuple(wanted) not in self.kept:
            self.distinct(wanted)
        groups, count = self.kept[tuple(wanted)]
        pieces = -(-count // PIECE)
        hashed = f"pmod(xxhash64({', '.join(f'v{place}' for place in range(len(wanted)))}), {pieces}L)"
        for piece in range(pieces):
            with spelled_out("The rows cannot be rolled up by Spark"):
                answer = attended(self.frame.sparkSession, groups.where(f"{hashed} = {piece}").toArrow)
            yield rolled(answer, wanted)

    def unique(self, wanted: Sequence[str]) -> tuple[int, int, int]:
        """All rows, those that no other row equals over the wanted columns, and the distinct ones."""
        with spelled_out("The unique rows cannot be counted by Spark"):
            groups = self._groups(wanted, cleaned=True).selectExpr("sum(count)", "count_if(count = 1)", "count(*)")
            total, unique, distinct = attended(self.frame.sparkSession, groups.collect)[0]
        return int(total or 0), int(unique), int(distinct)

    def fetched(self) -> pa.Table:
        """All rows, for questions that Spark is not asked."""
        with spelled_out("The rows cannot be fetched from Spark"):
            return attended(self.frame.sparkSession, self.frame.toArrow)

    def close(self) -> None:
        """Let the cluster forget the groups."""
        while self.kept:
            _, (groups, _) = self.kept.popitem()
            with suppress(Exception):  # a cluster that is gone has forgotten them
                groups.unpersist()

    def _groups(self, wanted: Sequence[str], cleaned: bool = False) -> DataFrame:
        own = [f"c{place}" for place in range(len(self.columns))]
        kinds = [entry.dataType for entry in self.frame.schema.fields]
        chosen = []
        for place, name in enumerate(wanted):
            position = self.columns.index(name)
            shape = clean if cleaned else legible
            chosen.append(f"{shape(f'c{position}', kinds[position], name)} AS v{place}")
        # By position, as names may repeat or hold dots; names of our own never need quotes.
        narrow = self.frame.toDF(*own).selectExpr(*chosen)
        return narrow.groupBy(*(f"v{place}" for place in range(len(wanted)))).count()


def legible(value: str, kind: DataType, column: str) -> str:
    """A column as it is grouped by and fetched; values that have no text are a sentence."""
    spelled = kind.simpleString()
    if spelled == "void":
        return f"CAST({value} AS STRING)"
    if not PLAIN.match(spelled):
        raise refused(column, spelled)
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
