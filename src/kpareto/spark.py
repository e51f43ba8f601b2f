"""Apache Spark holds the rows: its frames and tables are rolled up where they are, and only the groups are fetched.

A frame comes from the user's own session. A table that a job file names is opened in a session of our own, which
is stopped when the table has been read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kpareto.errors import BadInput, BadJob, BadTable
from kpareto.files import rolled
from kpareto.texts import Rolled, refused

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

SCHEME = "spark://"
# Only these hold one value that has a text; nested and binary values, intervals and variants have none.
PLAIN = re.compile(
    r"^(boolean|tinyint|smallint|int|bigint|float|double|decimal|date|timestamp|time|string|char|varchar)(?![a-z])"
)
MASTERS = re.compile(r"^(local(\[.*\])?|local-cluster\[.*\]|yarn|k8s://.*)$")

# A session of our own is quiet, shows nothing to the network in local mode, and writes times in UTC.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}


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


@contextmanager
def session(master: str | None) -> Iterator[SparkSession]:
    """The session of this program, or one of our own."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise BadInput("Spark is not installed. Install it with: pip install 'kpareto[spark]'.") from error
    running = SparkSession.getActiveSession()
    if running is not None:
        own = running.sparkContext.master
        if master not in (None, own):
            raise BadJob(f"A Spark session on {own!r} runs in this program, not on {master!r}. Stop it, or use it.")
        yield running
        return
    started = _started(master)
    try:
        yield started
    finally:
        started.stop()


def _started(master: str | None) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kpareto")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    if master is not None and master.startswith("local"):
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, _java_error()) as error:
        raise BadInput(
            f"Spark does not start on {master or 'the cluster of its settings'!r} ({first_line(error)}). It needs "
            "Java 17 or newer (on Debian: apt-get install default-jre-headless) and a cluster that answers."
        ) from error


@dataclass(frozen=True, eq=False)
class SparkSource:
    """A frame of Spark, rolled up by its own cluster."""

    frame: DataFrame
    kept: dict[tuple[str, ...], DataFrame] = field(default_factory=dict)  # counted groups that are still to be fetched

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.frame.columns)

    def distinct(self, wanted: Sequence[str]) -> int:
        """How many distinct rows there are over the wanted columns, before any of them is fetched.

        The cluster keeps the groups, so that ``roll_up`` does not read the table again.
        """
        with spelled_out("The distinct rows cannot be counted by Spark"):
            self.kept[tuple(wanted)] = groups = self._groups(wanted).persist()
            return groups.count()

    def roll_up(self, wanted: Sequence[str]) -> Rolled:
        """The distinct rows of the frame over the wanted columns."""
        groups = self.kept.get(tuple(wanted))
        with spelled_out("The rows cannot be rolled up by Spark"):
            answer = (self._groups(wanted) if groups is None else groups).toArrow()
        return rolled(answer, wanted)

    def unique(self, wanted: Sequence[str]) -> tuple[int, int, int]:
        """All rows, those that no other row equals over the wanted columns, and the distinct ones."""
        with spelled_out("The unique rows cannot be counted by Spark"):
            groups = self._groups(wanted, cleaned=True).selectExpr("sum(count)", "count_if(count = 1)", "count(*)")
            total, unique, distinct = groups.collect()[0]
        return int(total or 0), int(unique), int(distinct)

    def fetched(self) -> pa.Table:
        """All rows, for questions that Spark is not asked."""
        with spelled_out("The rows cannot be fetched from Spark"):
            return self.frame.toArrow()

    def close(self) -> None:
        """Let the cluster forget the groups."""
        while self.kept:
            _, groups = self.kept.popitem()
            with suppress(Exception):  # a cluster that is gone has forgotten them
                groups.unpersist()

    def _groups(self, wanted: Sequence[str], cleaned: bool = False) -> DataFrame:
        own = [f"c{place}" for place in range(len(self.columns))]
        kinds = [entry.dataType for entry in self.frame.schema.fields]
        chosen = []
        for place, name in enumerate(wanted):
            position = self.columns.index(name)
            value = legible(f"c{position}", kinds[position], name)
            chosen.append(f"{clean(value, kinds[position]) if cleaned else value} AS v{place}")
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


def clean(value: str, kind: DataType) -> str:
    """A value without blanks around it; what is not a number is no value."""
    spelled = kind.simpleString()
    if spelled.startswith(("string", "char", "varchar")):
        return f"trim(BOTH ' \\t\\r\\n' FROM {value})"
    return f"nanvl({value}, NULL)" if spelled in ("float", "double") else value


@contextmanager
def spelled_out(what: str) -> Iterator[None]:
    """Errors of Spark as one sentence that says what to do."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, _java_error()) as error:
        raise BadTable(f"{what}: {why(error)}") from error


def why(error: BaseException) -> str:
    """What went wrong in Spark, in words, and what to do about it."""
    told = str(error)
    for sign, sentence in _SIGNS.items():
        if sign in told:
            return sentence
    return f"{first_line(error)}. See the log of Spark for more."


_LOST = "executors were lost and no other could do their work. See that the workers are up, and try again."
_STOPPED = "the Spark session was stopped. Start a new one, and try again."
# What Spark's own messages say when something other than the query is wrong; the first that is found decides.
_SIGNS = {
    "spark.driver.maxResultSize": "the distinct rows are more than the driver may fetch. Give fewer columns a role, or "
    "raise spark.driver.maxResultSize and spark.driver.memory.",
    "No space left on device": "no space is left on a machine of the cluster. Make room there, and try again.",
    "java.lang.OutOfMemoryError": "a machine ran out of memory. Raise spark.executor.memory (in local mode "
    "spark.driver.memory), and try again.",
    "ExecutorLostFailure": _LOST,
    "Master removed our application": _LOST,
    "All masters are unresponsive": "the master of the cluster does not answer. See that it is up, and try again.",
    "SparkContext was shut down": _STOPPED,
    "stopped SparkContext": _STOPPED,
    "cancelled": "the job was cancelled. Start it again.",
}


def first_line(error: BaseException) -> str:
    """The first line of an error that says something."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("An error occurred while calling")]
    return (told[0] if told else type(error).__name__).rstrip(".:")


def _java_error() -> type[Any]:
    from py4j.protocol import Py4JError

    return Py4JError
