"""Files as the engine (DuckDB) sees them: recognised by what they hold, read by columns, never whole.

Columns get names of our own (c0, c1, …) by their position, so no name of the user's ever stands in a query.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from kpareto.delimited import Cells, Csv, complaint, examine, plain
from kpareto.errors import BadTable, did_you_mean, shorten
from kpareto.texts import Coded, Rolled, encode, numpy_of, refused

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Answer = TypeVar("Answer")
Ask = Callable[[str], "duckdb.DuckDBPyRelation"]  # runs a query
Report = Callable[[int, int], None]  # done, in all
HELD = "kpareto_held"  # the engine's table of distinct rows: v0, v1, …, weight
LEAST = 128_000_000  # bytes below which the engine cannot even spill
TICK = 0.1  # seconds between two looks at a query that runs

FOLDER = "kpareto-rows-"  # temporary folders: this, the process that made it, and a random end
PARTS = (".parquet", ".parq", ".pq")
# Types whose values have no text, and types that only the engine itself can write as text.
_REFUSED = re.compile(r"\]$|^(STRUCT|MAP|UNION|BLOB|INTERVAL|GEOMETRY|VARIANT)\b")
_WRITTEN = re.compile(r"^(U?HUGEINT|BIGNUM|VARINT|UUID|BIT|TIME WITH TIME ZONE)$")


@dataclass(frozen=True, eq=False)
class Engine:
    """A DuckDB connection of our own, and a private folder that goes when it goes."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    report: Report | None = None  # told how far a long step is


def sweep() -> None:
    """Remove the folders that killed programs of ours left behind: they may hold copies of rows."""
    for left in Path(tempfile.gettempdir()).glob(f"{FOLDER}*-*"):
        number = left.name.removeprefix(FOLDER).partition("-")[0]
        with suppress(OSError):  # another user's, or gone meanwhile
            mine = left.stat().st_uid == getattr(os, "getuid", lambda: 0)()  # Windows knows no user numbers
            if mine and number.isdecimal() and not _alive(int(number)):
                shutil.rmtree(left)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def engine(memory: int | None = None, report: Report | None = None) -> Iterator[Engine]:
    """Start an engine that loads nothing from the network and spills into its own folder.

    ``memory`` is the bytes it may use before it does; the engine's own choice, most of the machine, if not given.
    """
    import duckdb

    sweep()
    with tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}-") as name:
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
            connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")
            yield Engine(connection, Path(name), report)


def carried_out(connection: duckdb.DuckDBPyConnection, query: str, report: Report | None = None) -> None:
    """Run a query, tell how far it is in percent, and stop it at once when the user or the report says so."""
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
        connection.interrupt()
        done.wait()
        raise
    if failed:
        raise failed[0]
    if report is not None:
        report(100, 100)


@dataclass(frozen=True, eq=False)
class Scan:
    """A file, or a folder of Parquet parts, that the engine can read."""

    shown: str  # its name in sentences
    columns: tuple[str, ...]  # as the file names them
    rows: str  # what stands after FROM and gives these columns
    cells: Cells | None = None  # of a text file
    parts: tuple[Path, ...] = ()  # of a Parquet file or folder


def scan(source: str | Path | Csv, engine: Engine) -> Scan:
    """Recognise a file; a file that is none, empty, binary or damaged is a sentence."""
    path = Path(source.path) if isinstance(source, Csv) else Path(source)
    try:
        if path.is_dir():
            return _parquet(path, _parts(path))
        if not path.exists():
            raise BadTable(_no_file(path))
        if not path.is_file():
            raise BadTable(f"{str(path)!r} is not a plain file. Save the table to a file first.")
        with path.open("rb") as stream:
            parquet = stream.read(4) == b"PAR1"
        if parquet:
            return _parquet(path, [path])
        if path.suffix.lower() in PARTS and path.stat().st_size:
            raise BadTable(f"File {str(path)!r} is not a Parquet file, whatever its name says. Write it again.")
        cells = examine(source if isinstance(source, Csv) else Csv(path), engine.folder)
        return Scan(cells.shown, cells.names, _rows(cells), cells)
    except OSError as error:
        raise BadTable(f"File {str(path)!r} cannot be read: {error.strerror or error}.") from error


def _no_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"No file {str(path)!r}: there is no folder {str(path.parent)!r}."
    near = did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    return f"No file {str(path)!r}. {near or 'Check the name and the folder.'}".strip()


def _parts(folder: Path) -> list[Path]:
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in PARTS
        and path.is_file()
        and not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)  # Spark's own files
    ]
    if not found:
        have = sorted(path.name for path in folder.iterdir())
        raise BadTable(
            f"Folder {str(folder)!r} has no Parquet file (*.parquet). "
            f"{f'It has: {shorten(have)}.' if have else 'It is empty.'} Give a file, or a folder of Parquet parts."
        )
    return found


def _parquet(path: Path, parts: list[Path]) -> Scan:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = list(pq.read_schema(parts[0]).names)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(parts[0], error) from error
    small = Counter(name.lower() for name in names)
    same = [name for name in names if small[name.lower()] > 1]
    if same and len(parts) > 1:  # the engine matches the columns of parts by name, whatever the case
        raise BadTable(f"The parts in {str(path)!r} have columns {same[0]!r} and {same[1]!r}. Rename one of them.")
    # Spark and others keep a column in the folders' names: year=2024/part.parquet.
    hive = [] if parts == [path] else [part.split("=")[0] for part in parts[0].relative_to(path).parts if "=" in part]
    names += [name for name in hive if name not in names]
    listed = ", ".join(literal(globbed(part)) for part in parts)
    options = f"union_by_name = true, hive_partitioning = {'true' if hive else 'false'}, hive_types_autocast = false"
    return Scan(str(path), tuple(names), f"read_parquet([{listed}], {options})", parts=tuple(parts))


def _damaged(part: Path, error: Exception) -> BadTable:
    reason = str(error).partition("\n")[0]
    return BadTable(f"File {str(part)!r} is not a whole Parquet file ({reason}). Write it again.")


def _rows(cells: Cells) -> str:
    own = [literal(f"c{position}") for position in range(len(cells.names))]
    typed = ", ".join(f"{name}: 'VARCHAR'" for name in own)
    options = ", ".join(
        (
            "auto_detect = false",
            f"header = {'true' if cells.header else 'false'}",
            f"delim = {literal(cells.separator)}",
            "quote = '\"'",
            "escape = '\"'",
            f"compression = '{'gzip' if cells.packed else 'none'}'",
            f"columns = {{{typed}}}",
            f"force_not_null = [{', '.join(own)}]",  # an empty cell is the text "", as in any text file
        )
    )
    return f"read_csv({literal(globbed(cells.path))}, {options})"


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def globbed(path: Path) -> str:
    """A path in which no character is a wildcard for the engine."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def roll_up_file(file: Scan, engine: Engine, wanted: Sequence[str]) -> Rolled:
    """The distinct rows of a file over the wanted columns, by one GROUP BY."""
    _check_parts(file, wanted)
    return asked(file, engine, lambda rows: roll_up(engine.connection.sql, rows, file.columns, wanted))


def hold_file(file: Scan, engine: Engine, wanted: Sequence[str], report: Report | None = None) -> None:
    """The same distinct rows, left in the engine as its table HELD, which goes to its folder where memory is short."""
    _check_parts(file, wanted)

    def held(rows: str) -> None:
        hold(engine, grouping(engine.connection.sql, rows, file.columns, wanted), report)

    asked(file, engine, held)


def hold(engine: Engine, query: str, report: Report | None = None) -> None:
    """Keep the answer to a query in the engine as its table HELD."""
    carried_out(engine.connection, f"CREATE OR REPLACE TEMP TABLE {HELD} AS {query}", report)


def asked(file: Scan, engine: Engine, answer: Callable[[str], Answer]) -> Answer:
    """What the engine answers about the rows of a file (``answer`` gets what stands after FROM).

    Where it stumbles over a text file, the error names the line that is wrong; if none is, a plain copy is read.
    """
    import duckdb

    cells = file.cells
    try:
        if cells is None or not cells.skip:  # with empty lines in front it mistakes where lines end
            return answer(file.rows)
    except duckdb.OutOfMemoryException as error:
        raise no_room(repr(file.shown), error) from error
    except duckdb.Error as error:
        if cells is None:
            raise _damaged(Path(file.shown), error) from error
    wrong = complaint(cells)
    if wrong is not None:
        raise wrong
    try:
        return answer(_rows(plain(cells, engine.folder / "plain.csv")))
    except duckdb.OutOfMemoryException as error:
        raise no_room(repr(file.shown), error) from error
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise BadTable(f"File {file.shown!r} cannot be read ({reason}). Write it again as plain CSV.") from error


def no_room(shown: str, error: Exception) -> BadTable:
    """The sentence for an engine that has neither memory nor disk left."""
    disk = "temp_directory" in str(error) or "disk" in str(error).lower()
    where = "into memory and the folder for temporary files" if disk else "into the memory that may be used"
    return BadTable(
        f'The distinct rows of {shown} do not fit {where}. Give more memory (memory = "4 GB"), or fewer columns a role.'
    )


def roll_up(ask: Ask, rows: str, columns: Sequence[str], wanted: Sequence[str]) -> Rolled:
    """One GROUP BY in DuckDB over the wanted columns of what stands after FROM."""
    return rolled(ask(grouping(ask, rows, columns, wanted)).to_arrow_table(), wanted)


def grouping(ask: Ask, rows: str, columns: Sequence[str], wanted: Sequence[str]) -> str:
    """The query for it: v0, v1, …, and how many rows have these values."""
    table = f"{rows} AS t({', '.join(f'c{position}' for position in range(len(columns)))})"
    kinds = [str(kind) for kind in ask(f"SELECT * FROM {table}").types]
    chosen = []
    for name in wanted:
        position = columns.index(name)
        if _REFUSED.search(kinds[position]):
            raise refused(name, kinds[position].lower())
        chosen.append(f"c{position}::VARCHAR" if _WRITTEN.search(kinds[position]) else f"c{position}")
    listed = ", ".join(f"{column} AS v{place}" for place, column in enumerate(chosen))
    return f"SELECT {listed}, count(*) AS weight FROM {table} GROUP BY ALL"


def rolled(answer: pa.Table, wanted: Sequence[str], named: Mapping[int, pa.Array] | None = None) -> Rolled:
    """The answer to a GROUP BY, whose last column counts the rows; columns in ``named`` hold places in those texts."""
    given = {} if named is None else named

    def integers(place: int) -> np.ndarray:
        return numpy_of(answer.column(place).combine_chunks()).astype(np.int64)

    columns = (
        Coded(given[place], integers(place)) if place in given else encode(answer.column(place), name)
        for place, name in enumerate(wanted)
    )
    return Rolled(tuple(columns), integers(len(wanted)))


def _check_parts(file: Scan, wanted: Sequence[str]) -> None:
    """Raise unless every part has the wanted columns, each as text in all parts or in none.

    The engine would fill an absent column with NULL, and write numbers as text in a way of its own.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyarrow.types as is_

    text: dict[str, tuple[bool, Path]] = {}
    for part in file.parts if len(file.parts) > 1 else ():
        try:
            schema = pq.read_schema(part)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(part, error) from error
        for name in wanted:
            if name not in schema.names:
                if any(step.startswith(f"{name}=") for step in part.parts):
                    continue
                raise BadTable(f"Part {str(part)!r} has no column {name!r}. Give parts with the same columns.")
            kind = schema.field(name).type
            kind = kind.value_type if is_.is_dictionary(kind) else kind
            if is_.is_null(kind):
                continue
            own = is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)
            first, other = text.setdefault(name, (own, part))
            if first != own:
                raise BadTable(
                    f"Column {name!r} is text in {str(part if own else other)!r} and {kind if first else 'a number'} "
                    f"in {str(other if own else part)!r}. Write all parts with one type."
                )


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, read piece by piece, or of a folder's Parquet parts and their names."""
    try:
        if path.is_dir():
            whole = hashlib.sha256()
            for part in _parts(path):
                whole.update(f"{part.relative_to(path).as_posix()}\0{file_digest(part)}\n".encode())
            return whole.hexdigest()
        if not path.exists():
            raise BadTable(_no_file(path))
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadTable(f"File {str(path)!r} cannot be read: {error.strerror or error}.") from error
