"""Whatever DuckDB is handed to recode: one source for files, Arrow tables, relations and frames of any library."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from kpareto.engines.distinct import Distinct, in_engine
from kpareto.engines.duckdb.connect import Ask, Engine, in_order, legible
from kpareto.engines.duckdb.files import Scan, ask_file, hold_file, roll_up_file, scan
from kpareto.engines.duckdb.write import LARGE, lay_out, register_table, write_rows
from kpareto.engines.form import DataFile, Form
from kpareto.engines.source import Opening, Outgoing, Source, SourceLayout, Target, View, Written
from kpareto.engines.values import Rolled, Spelled, spell, take_texts
from kpareto.errors import Progress
from kpareto.tables.table import UniqueRows

if TYPE_CHECKING:
    import pyarrow as pa


class Holding(Protocol):
    """What holds rows that DuckDB recodes: a file, an Arrow table, a relation, a frame of a library."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order."""

    @property
    def program(self) -> str:
        """Who holds the rows."""

    @property
    def remembered(self) -> bool:
        """Whether the values that a roll-up met are those that a query over ``table`` meets."""

    @property
    def form(self) -> Form | None:
        """How the cells of a text file are written; None for all else, which has types."""

    @property
    def raw(self) -> Collection[int]:
        """Columns that ``table`` has a second time as r0, …: their cells as they were before the form was applied."""

    def distinct(self, wanted: Sequence[str], start: Callable[[], Engine], report: Progress | None) -> Distinct:
        """The distinct rows over the wanted columns, counted."""

    def view(self, start: Callable[[], Engine]) -> View:
        """The rows as DuckDB can be asked about them."""

    def table(self, engine: Engine) -> str:
        """What stands after FROM in the engine and gives all columns in order."""

    def data(self, rows: Outgoing, ask: Callable[[str], pa.Table]) -> Any:
        """The released rows in the form the source came in."""


@dataclass(frozen=True, eq=False)
class DuckSource:
    """Rows that DuckDB recodes, whoever holds them: the one Source for files, Arrow, relations and frames."""

    held: Holding
    engine: Callable[[], Engine]
    costly: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self.held.columns

    @property
    def program(self) -> str:
        """Who holds the rows."""
        return self.held.program

    def distinct(self, wanted: Sequence[str], report: Progress | None = None) -> Distinct:
        """By DuckDB, or by the library that has the frame."""
        return self.held.distinct(wanted, self.engine, report)

    def unique(self, wanted: Sequence[str]) -> UniqueRows:
        """One GROUP BY over the view."""
        return self.view().unique(wanted)

    def view(self) -> View:
        """A text file is read once, and held by the engine."""
        return self.held.view(self.engine)

    @cached_property
    def _table(self) -> str:
        engine = self.engine()
        engine.connection.execute("SET preserve_insertion_order = true")
        # The small tables are joined one after the other; left to itself the engine multiplies them with each other.
        engine.connection.execute("SET disabled_optimizers = 'join_order'")
        return f"{self.held.table(engine)} {in_order(len(self.columns))}"

    @cached_property
    def _kinds(self) -> list[str]:
        return [str(kind) for kind in self.engine().connection.sql(f"SELECT * FROM {self._table}").types]

    @cached_property
    def _layout(self) -> SourceLayout:
        return lay_out(self.engine(), self._table, self._kinds, self.count() > LARGE, self.held.raw)

    def layout(self) -> SourceLayout:
        """Columns c0, c1, … of one table."""
        return self._layout

    @cached_property
    def _count(self) -> int:
        return int(self.ask(f"SELECT count(*) FROM {self._table}").column(0)[0].as_py())

    def count(self) -> int:
        """All rows."""
        return self._count

    def ask(self, query: str) -> pa.Table:
        """The answer to a query."""
        return self.engine().connection.sql(query).to_arrow_table()

    def spelled(self, index: int, known: Spelled | None) -> Spelled:
        """Those of the roll-up where the rows are in a file, else asked for."""
        name, key = self.columns[index], self._layout.keys[index]
        # Arrow tells 0.0 from -0.0 and the engine does not: floats are asked for anew, lest a row match twice.
        if known is not None and self.held.remembered and self._kinds[index] not in ("FLOAT", "DOUBLE"):
            return known.with_none()
        return spell(self.ask(f"SELECT DISTINCT {key} AS v FROM {self._table}").column(0), name).with_none()

    def register(self, name: str, table: pa.Table) -> None:
        """A temporary table."""
        register_table(self.engine(), name, table)

    def write(self, rows: Outgoing, target: Target) -> AbstractContextManager[Written]:
        """A file by its ending, a folder of parts by its slash, a frame where there is no target."""
        return write_rows(self.engine(), rows, target, lambda: self.held.data(rows, self.ask), self.held.form)


def make_view(columns: Sequence[str], table: str, ask: Ask) -> View:
    """What stands after FROM, as a view with columns c0, c1, …"""
    named = f"{table} {in_order(len(columns))}"
    kinds = tuple(str(kind) for kind in ask(f"SELECT * FROM {named}").types)
    return View(tuple(columns), kinds, named, ask)


def arrow_view(table: pa.Table, engine: Engine) -> View:
    """An Arrow table as a view."""
    engine.connection.register("kpareto_view", legible(table))
    return make_view(table.column_names, "kpareto_view", engine.connection.sql)


@contextmanager
def open_file(file: str | PathLike[str] | DataFile, opening: Opening) -> Iterator[Source]:
    """A file or a folder of Parquet parts."""
    named = file if isinstance(file, DataFile) else DataFile(Path(file), Form(opening.encoding))
    yield DuckSource(File(scan(named, opening.start())), opening.start)


@dataclass(frozen=True, eq=False)
class File:
    """A file or a folder of Parquet parts, read where it lies."""

    scan: Scan
    program: ClassVar[str] = "DuckDB"
    remembered: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        """As the file names them."""
        return self.scan.columns

    @property
    def form(self) -> Form | None:
        """That of a text file."""
        return None if self.scan.cells is None else self.scan.form

    @property
    def raw(self) -> Collection[int]:
        """The columns whose numbers or dates are told otherwise than the file writes them."""
        return {index for index, _ in self.scan.rewritten}

    def distinct(self, wanted: Sequence[str], start: Callable[[], Engine], report: Progress | None) -> Distinct:
        """Left in the engine, counted before they are fetched."""
        hold_file(self.scan, start(), wanted, report)
        return in_engine(wanted, start())

    def view(self, start: Callable[[], Engine]) -> View:
        """Text is read once."""
        import duckdb

        connection = start().connection
        rows = self.scan.in_form(self.scan.rows)
        if self.scan.cells is None:
            return make_view(self.columns, rows, connection.sql)
        try:
            connection.execute(f"CREATE TEMP TABLE kpareto_cells AS SELECT * FROM {rows}")
            return make_view(self.columns, "kpareto_cells", connection.sql)
        except duckdb.Error:
            # The door either reads what the engine alone cannot, or says which line is wrong.
            return arrow_view(_unroll(roll_up_file(self.scan, start(), self.columns), self.columns), start())

    def table(self, engine: Engine) -> str:
        """Every cell of a text file is looked at once, so that a damaged one is a sentence before rows are written."""

        def probe(rows: str) -> str:
            if self.scan.cells is not None:
                engine.connection.sql(f"SELECT count(COLUMNS(*)) FROM {rows}").fetchall()
            return rows

        return ask_file(self.scan, engine, probe, raw=True)

    def data(self, rows: Outgoing, ask: Callable[[str], pa.Table]) -> pa.Table:
        """An Arrow table."""
        return ask(rows.query)


def _unroll(rolled: Rolled, columns: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    cells = [take_texts(column.texts, np.repeat(column.codes, rolled.weights)) for column in rolled.columns]
    return pa.table(cells, names=list(columns))
