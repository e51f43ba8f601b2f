"""What an engine is: a table where it lies, asked for its distinct rows on the way in and for one query on the way out.

``Source`` is the whole contract. A Source is opened by ``kpareto.engines.open_source``, and nobody who has one asks
what is behind it. What it wrote, and where, is a ``Written``: the verifier is told to count that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kpareto.engines.form import TextForm
from kpareto.engines.sql import Sql, literal
from kpareto.errors import BadJob, BadTable, Progress
from kpareto.tables.table import UniqueRows

if TYPE_CHECKING:
    import pyarrow as pa

    from kpareto.engines.distinct import Distinct
    from kpareto.engines.duckdb.connect import Ask, Engine
    from kpareto.engines.values import Spelled

Target = str | PathLike[str] | None
Format = Literal["csv", "parquet", "workbook", "statistics"]
FORMATS: dict[str, Format] = {
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), "csv"),
    **dict.fromkeys((".parquet", ".parq", ".pq"), "parquet"),
    ".xlsx": "workbook",
    **dict.fromkeys((".dta", ".sav"), "statistics"),
}
BLANK_SIGNS = "chr(32) || chr(9) || chr(13) || chr(10)"


def trim_text(value: str) -> str:
    """A text without the blanks around it, as a query of DuckDB.

    Few texts have any, and looking at both ends, where a blank sorts before '!', takes a sixth of the time of trimming.
    """
    return f"CASE WHEN {value} < '!' OR right({value}, 1) < '!' THEN trim({value}, {BLANK_SIGNS}) ELSE {value} END"


class Source(Protocol):
    """A table where it lies: one GROUP BY on the way in, one query on the way out."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order; c0, c1, … in queries."""

    @property
    def program(self) -> str:
        """Who holds the rows, for certificates: DuckDB, pandas, PostgreSQL 15.4."""

    @property
    def costly(self) -> bool:
        """Whether every question is a scan of a database or a cluster, so that nothing is asked for its hash alone."""

    def engine(self) -> Engine:
        """A DuckDB of our own beside the rows, for what does not fit into memory; started when first asked for."""

    def distinct(self, wanted: Sequence[str], report: Progress | None = None) -> Distinct:
        """The distinct rows over the wanted columns, by one GROUP BY: counted, and not yet fetched."""

    def unique(self, wanted: Sequence[str]) -> UniqueRows:
        """How many rows no other row equals over the wanted columns, texts without blanks around them."""

    def view(self) -> View:
        """The rows as DuckDB can be asked about them, for questions that have no method here."""

    def layout(self) -> SourceLayout:
        """The rows as a query of this engine names them; the first call prepares the way out."""

    def count(self) -> int:
        """How many rows there are."""

    def ask(self, query: str) -> pa.Table:
        """The answer to a query in this engine's words."""

    def spelled(self, index: int, known: Spelled | None) -> Spelled:
        """The values of a column in the form of its key, with an entry for no value, and the text of each.

        ``known`` are those that a roll-up of the same rows met, where it kept them.
        """

    def register(self, name: str, table: pa.Table) -> None:
        """Make a small table known to the engine for as long as the source is open."""

    def write(self, rows: Outgoing, target: Target) -> AbstractContextManager[Written]:
        """Write the rows where nobody looks yet; they come into place when the block ends well, or not at all."""


@dataclass(frozen=True, eq=False)
class Opening:
    """How a source is opened."""

    start: Callable[[], Engine]  # a DuckDB of our own, the same at every call, which goes when the source is closed
    encoding: str = "utf-8"  # of a text file that does not say
    report: Progress | None = None  # told how far writing is


@dataclass(frozen=True, eq=False)
class SourceLayout:
    """The rows of a source in queries, and how its engine spells these; c0, c1, … are the columns of ``t``."""

    sql: Sql
    table: str  # what stands after FROM and gives c0, c1, …, called t
    keys: tuple[str, ...]  # per column what the small tables are joined by
    textual: tuple[bool, ...]  # which columns hold text
    native: tuple[bool, ...]  # which are of a kind that the verifier spells as we do
    discrete: tuple[bool, ...]  # which of those have no fraction: such a column can stay where no group was formed
    cell: Callable[[int], str] = lambda index: f"t.c{index}"  # a column that is released as it is
    nested: Collection[int] = ()  # places of columns whose values have no text: lists, structures, bytes
    whole_rows: bool = False  # whether looking up all quasi-identifiers of a row in one table beats a join per column


@dataclass(frozen=True)
class Outgoing:
    """The released rows as queries for the engine that holds them."""

    query: str  # the rows in their order, under their names
    located: str  # the same, and last of all the place of each row in the source, from 0
    touched: Mapping[str, bool]  # released column -> whether it differs from what the source has
    kept: bool  # whether the order is that of the source
    tokens: bool  # whether some cells are made anew whenever a query is run
    form: TextForm = field(default_factory=TextForm)  # how text is written, where that is told


@dataclass(frozen=True, eq=False)
class Written:
    """Released rows where nobody looks yet, and where they lie for whoever counts them."""

    kind: str  # which of the verifier's counters reads it: file, postgres, spark
    where: object  # what that counter reads: a path, a table, a frame
    format: str  # what the certificate calls it: csv, parquet, parquet parts, workbook, statistics, frame, table
    shown: str  # its name in sentences
    unique: Callable[[Sequence[str]], UniqueRows]  # the written rows that no other equals in these columns
    data: Callable[[], Any] = lambda: None  # the rows themselves, where there is no target
    path: Path | None = None  # the file or folder that it becomes, where it is one of this machine
    part: Path | None = None  # the same as it lies now, so that its bytes can be hashed
    rows: str | None = None  # what stands after FROM and gives the written rows; None where that is work done twice
    form: Mapping[str, str] = field(default_factory=dict)  # of text: separator, encoding, decimal that are not usual
    link: object = None  # the one connection that sees it before the end, where there is one


def ending_of(target: str | PathLike[str]) -> str:
    """The ending of a name, in small letters: .csv, or .csv.gz where it is packed."""
    ends = [end.lower() for end in Path(target).suffixes[-2:]]
    return "".join(ends) if "".join(ends) in FORMATS else "".join(ends[-1:])


def format_of(target: Path) -> Format:
    """CSV, Parquet, a workbook or a file of statistics, by the name of the file."""
    if ending_of(target) not in FORMATS:
        raise BadJob(
            f"A release is written as .csv, .tsv, .parquet, .xlsx, .dta or .sav, not as {target.name!r}. Give such a "
            "name, or a folder for Parquet parts with a slash at the end."
        )
    return FORMATS[ending_of(target)]


def is_file_name(target: str | PathLike[str]) -> bool:
    """Whether a target is a file or folder of this machine; where an engine holds the rows, all else is its own."""
    here = "://" not in str(target)
    return here and (str(target).endswith("/") or ending_of(target) in FORMATS)


def is_text(target: Target) -> bool:
    """Whether a target is a file that knows text alone."""
    name = str(target)
    return not name.endswith("/") and FORMATS.get(ending_of(name)) == "csv"


@dataclass(frozen=True)
class View:
    """Rows that answer queries of DuckDB: ``ask("SELECT … FROM " + view.table)``.

    Text is trimmed as the door trims it, so that counts agree with the Table that will be read.
    """

    columns: tuple[str, ...]  # as the table names them; c0, c1, … in queries
    kinds: tuple[str, ...]  # the engine's type of each
    table: str  # what stands after FROM
    ask: Ask

    def cell(self, column: int) -> str:
        """A column in a query, as the door reads it."""
        return self.clean(column, f"c{column}")

    def clean(self, column: int, value: str) -> str:
        """A value of a column as the door reads it: text is trimmed, what is not a number is no value."""
        if self.kinds[column] == "VARCHAR":
            return f"({trim_text(value)})"
        if self.kinds[column] in ("DOUBLE", "FLOAT"):
            return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
        return value

    def lacks(self, column: int, marks: Sequence[str]) -> str:
        """Where a column has no value, ``marks`` being texts that stand for none."""
        cell, listed = self.cell(column), ", ".join(map(literal, marks))
        marked = f" OR {cell} IN ({listed})" if marks and self.kinds[column] == "VARCHAR" else ""
        return f"{cell} IS NULL{marked}"

    def values(self, column: int) -> str:
        """A query for the texts ``v`` of a column and how many rows ``n`` have each; texts are cleaned once each."""
        return (
            f"SELECT ({self.clean(column, 'w')})::VARCHAR AS v, sum(m)::BIGINT AS n "
            f"FROM (SELECT c{column} AS w, count(*) AS m FROM {self.table} GROUP BY 1) GROUP BY 1"
        )

    def one(self, query: str) -> tuple[Any, ...]:
        """The only row of an answer."""
        import duckdb

        try:
            return tuple(self.ask(query).fetchall()[0])
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise BadTable(f"The rows cannot be counted ({reason}). Check that the table is whole.") from error

    def unique(self, wanted: Sequence[str]) -> UniqueRows:
        """Rows that are alone with their values of these columns, by one GROUP BY; no value is a value."""
        keys = ", ".join(self.cell(self.columns.index(name)) for name in wanted)
        total, unique, groups = self.one(
            "SELECT coalesce(sum(n), 0), count(*) FILTER (n = 1), count(*) "
            f"FROM (SELECT count(*) AS n FROM {self.table} GROUP BY {keys})"
        )
        return UniqueRows(tuple(wanted), int(total), int(unique), int(groups))
