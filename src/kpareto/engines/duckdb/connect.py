"""DuckDB as our own engine: started when it is needed, watched while it runs, gone with its folder when it goes.

Columns get names of our own (c0, c1, …) by their position, so no name of the user's ever stands in a query.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kpareto.atomic import is_running
from kpareto.engines.apart import memory_apart
from kpareto.engines.values import encode, refuse, take_texts
from kpareto.errors import EAR, BadTable, Progress, keep_interrupt

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Ask = Callable[[str], "duckdb.DuckDBPyRelation"]  # runs a query
HELD = "kpareto_held"  # the engine's table of distinct rows: v0, v1, …, weight
LEAST = 128_000_000  # bytes below which the engine cannot even spill
TICK = 0.1  # seconds between two looks at a query that runs

FOLDER = "kpareto-rows-"  # temporary folders: this, the process that made it, and a random end
# Types whose values have no text, and types that only the engine itself can write as text.
NESTED = re.compile(r"\]$|^(STRUCT|MAP|UNION|BLOB|INTERVAL|GEOMETRY|VARIANT)\b")
WRITTEN = re.compile(r"^(U?HUGEINT|BIGNUM|VARINT|UUID|BIT|TIME WITH TIME ZONE)$")


@dataclass(frozen=True, eq=False)
class Engine:
    """A DuckDB connection of our own, and a private folder that goes when it goes."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    report: Progress | None = None  # told how far a long step is
    memory: int | None = None  # bytes that it may use; None: its own choice


def sweep() -> None:
    """Remove the folders that killed programs of ours left behind: they may hold copies of rows."""
    for left in Path(tempfile.gettempdir()).glob(f"{FOLDER}*-*"):
        number = left.name.removeprefix(FOLDER).partition("-")[0]
        with suppress(OSError):  # another user's, or gone meanwhile
            mine = left.stat().st_uid == getattr(os, "getuid", lambda: 0)()  # Windows knows no user numbers
            if mine and number.isdecimal() and not is_running(int(number)):
                shutil.rmtree(left)


@contextmanager
def engine(memory: int | None = None, report: Progress | None = None) -> Iterator[Engine]:
    """Start an engine that loads nothing from the network and spills into its own folder.

    ``memory`` is the bytes it may use before it does; the engine's own choice, most of the machine, if not given.
    """
    import duckdb

    memory = memory_apart() if memory is None else memory
    sweep()
    with keep_ctrl_c(), keep_interrupt(), tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-") as name:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "preserve_insertion_order": "false",
            "temp_directory": name,
        }
        if memory is not None:
            settings["memory_limit"] = f"{max(memory, LEAST) // 1000} KB"
            settings["threads"] = min(max(memory // LEAST, 1) * 2, os.cpu_count() or 1)  # each needs memory of its own
        with duckdb.connect(":memory:", config=settings) as connection:
            # Without a bar there is no number to ask for; it is not drawn.
            # In a notebook DuckDB refuses bars where ipywidgets is not installed: there the number stays 0.
            with suppress(duckdb.InvalidInputException):
                connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")
            with hear_ctrl_c(connection):
                yield Engine(connection, Path(name), report, memory)


@contextmanager
def keep_ctrl_c() -> Iterator[None]:
    """Ctrl-C in the middle of a query is what it is everywhere else; DuckDB makes other errors of it.

    A connection that was stopped in the middle of a call may also refuse to be closed, as one that is still busy.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        if not _was_stopped(error):
            raise
        raise KeyboardInterrupt from error


@contextmanager
def hear_ctrl_c(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Stop a query at Ctrl-C: DuckDB looks for it only between its tasks, and one may take for ever."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are heard by the main thread, which is not the one that waits
        return
    ear = _open_ear(os.getpid())
    try:
        ear.listen_for(connection)
        yield
    finally:
        ear.forget(connection)


class _Ear:
    """A thread that hears signals while the main thread waits for DuckDB, and interrupts its queries.

    Python runs its answer to a signal in the main thread, later. What it does at once is to write the number of the
    signal into a file where another thread can read it.
    """

    def __init__(self) -> None:
        self.connections: list[duckdb.DuckDBPyConnection] = []
        self.lock = threading.Lock()  # so that no connection is closed while it is being interrupted
        self.before = -1  # the file of somebody who wanted to hear signals already
        self.ear, self.mouth = socket.socketpair()
        self.mouth.setblocking(False)
        threading.Thread(target=self._listen, name=EAR, daemon=True).start()

    def listen_for(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connections.append(connection)
        current = signal.set_wakeup_fd(self.mouth.fileno(), warn_on_full_buffer=False)
        if current != self.mouth.fileno():
            self.before = current

    def forget(self, connection: duckdb.DuckDBPyConnection) -> None:
        with self.lock, suppress(ValueError):  # Ctrl-C came before it was there
            self.connections.remove(connection)
        if self.connections or threading.current_thread() is not threading.main_thread():
            return
        current = signal.set_wakeup_fd(self.before)
        if current != self.mouth.fileno():  # somebody else came meanwhile
            signal.set_wakeup_fd(current)

    def _listen(self) -> None:
        while number := self.ear.recv(1):
            if number[0] == signal.SIGINT:
                self._interrupt()
            if self.before != -1:
                with suppress(OSError):
                    os.write(self.before, number)

    def _interrupt(self) -> None:
        with self.lock:
            for connection in self.connections:
                connection.interrupt()  # without a query it is forgotten


@cache
def _open_ear(_process: int) -> _Ear:
    """One for a process: a child that was forked off has none of its parent's threads."""
    return _Ear()


def _was_stopped(error: BaseException | None) -> bool:
    """Whether an error, or one that it came up in, is an interrupted query or Ctrl-C itself."""
    import duckdb

    while error is not None:
        if isinstance(error, KeyboardInterrupt | duckdb.InterruptException):
            return True
        if type(error) is RuntimeError and "interrupted" in str(error).lower():
            return True
        if isinstance(error, duckdb.InvalidInputException) and "failed: KeyboardInterrupt" in str(error):
            return True  # it came while Arrow handed over its rows
        error = error.__context__
    return False


def carry_out(
    connection: duckdb.DuckDBPyConnection, query: str, report: Progress | None = None, again: bool = True
) -> None:
    """Run a query, tell how far it is in percent, and stop it at once when the user or the report says so.

    What threads hold cannot be spilled: where several have too little memory, one alone tries again. Not without
    ``again``, for a query that leaves something behind when it fails.
    """
    import duckdb

    try:
        _carry_out(connection, query, report)
    except duckdb.OutOfMemoryException as error:
        threads = connection.execute("SELECT current_setting('threads')").fetchall()[0][0]
        if not again or threads == 1 or _is_of_disk(error):
            raise
        connection.execute("SET threads = 1")
        try:
            _carry_out(connection, query, report)
        finally:
            connection.execute(f"SET threads = {threads}")


def _carry_out(connection: duckdb.DuckDBPyConnection, query: str, report: Progress | None) -> None:
    done = threading.Event()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            connection.execute(query)
        except BaseException as error:  # noqa: BLE001 (raised again by the thread that waits)
            failed.append(error)
        finally:
            done.set()

    # In a thread of its own: the engine looks for Ctrl-C only between its tasks, which may take ten seconds.
    threading.Thread(target=work, name="kpareto-query", daemon=True).start()
    try:
        while not done.wait(TICK):
            if report is not None:
                report(min(max(int(connection.query_progress()), 0), 99), 100)
    except BaseException:
        while not done.is_set():  # again and again: before the query has begun it would be lost
            connection.interrupt()
            done.wait(TICK)
        raise
    if failed:
        raise failed[0]
    if report is not None:
        report(100, 100)


def escape_glob(path: Path) -> str:
    """A path in which no character is a wildcard for the engine."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def in_order(columns: int) -> str:
    """Names of our own for the columns of what stands before it: ``AS t(c0, c1, …)``."""
    return f"AS t({', '.join(f'c{index}' for index in range(columns))})"


def grouping(ask: Ask, rows: str, columns: Sequence[str], wanted: Sequence[str]) -> str:
    """The query for it: v0, v1, …, and how many rows have these values."""
    table = f"{rows} {in_order(len(columns))}"
    kinds = [str(kind) for kind in ask(f"SELECT * FROM {table}").types]
    chosen = []
    for name in wanted:
        position = columns.index(name)
        if NESTED.search(kinds[position]):
            raise refuse(name, kinds[position].lower())
        chosen.append(f"c{position}::VARCHAR" if WRITTEN.search(kinds[position]) else f"c{position}")
    listed = ", ".join(f"{column} AS v{index}" for index, column in enumerate(chosen))
    return f"SELECT {listed}, count(*) AS weight FROM {table} GROUP BY ALL"


def hold(engine: Engine, query: str, report: Progress | None = None) -> None:
    """Keep the answer to a query in the engine as its table HELD."""
    carry_out(engine.connection, f"CREATE OR REPLACE TEMP TABLE {HELD} AS {query}", report)


def legible(table: pa.Table) -> pa.Table:
    """The columns in types DuckDB knows, under names of our own: Arrow's may repeat, or differ in case only."""
    import pyarrow as pa
    import pyarrow.types as is_

    def column(index: int) -> pa.ChunkedArray:
        values, kind = table.column(index), table.schema.types[index]
        if is_.is_float16(kind):
            return values.cast(pa.float32())
        if is_.is_decimal256(kind):  # as the door writes them: 1.50 is 1.5
            coded = encode(values, table.column_names[index])
            return pa.chunked_array([take_texts(coded.texts, coded.codes)])
        return values.cast(pa.string()) if is_.is_null(kind) else values

    columns = [column(index) for index in range(table.num_columns)]
    return pa.table(columns, names=[f"c{index}" for index in range(len(columns))])


def no_room(shown: str, error: Exception) -> BadTable:
    """The sentence for an engine that has neither memory nor disk left."""
    memory, both = "into the memory that may be used", "into memory and the folder for temporary files"
    where = both if _is_of_disk(error) else memory
    return BadTable(
        f'The distinct rows of {shown} do not fit {where}. Give more memory (memory = "4 GB"), or fewer columns a role.'
    )


def _is_of_disk(error: Exception) -> bool:
    """Whether it is the folder for temporary files that is full."""
    return "temp_directory" in str(error) or "disk" in str(error).lower()
