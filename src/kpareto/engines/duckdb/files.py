"""Files: the one place that reads them, whatever they hold. Recognised by their content, read by columns, never whole.

Text and Parquet are read by the engine where they lie; what it does not read comes to it as a copy (``copies``). Where
the form of a file says how numbers and dates are written, their texts are told as everywhere else in here.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from kpareto.engines.admission import allowed_bytes
from kpareto.engines.apart import run_apart
from kpareto.engines.duckdb.connect import Engine, escape_glob, grouping, hold, in_order, no_room
from kpareto.engines.duckdb.copies import (
    copy_sheet,
    copy_statistics,
    first_bytes,
    is_packed,
    is_statistics,
    is_workbook,
    unpack,
)
from kpareto.engines.duckdb.csv import Cells, complaint, examine, plain
from kpareto.engines.form import DataFile, Form
from kpareto.engines.source import trim_text
from kpareto.engines.sql import literal
from kpareto.engines.values import Rolled, roll
from kpareto.errors import BadJob, BadTable, MissingExtra, Progress, did_you_mean, shorten
from kpareto.tables.spelling import EXACT

Answer = TypeVar("Answer")
PARTS = (".parquet", ".parq", ".pq")
MOST_ENTRIES = 200_000  # files and folders that are looked at for the parts of one table
MOST_PACKED = 3  # a table in an archive in an archive, and no more


@dataclass(frozen=True, eq=False)
class Scan:
    """A file, or a folder of Parquet parts, that the engine can read."""

    shown: str  # its name in sentences
    columns: tuple[str, ...]  # as the file names them
    rows: str  # what stands after FROM and gives these columns
    cells: Cells | None = None  # of a text file
    parts: tuple[Path, ...] = ()  # of a Parquet file or folder
    form: Form = field(default_factory=Form)  # as it was read; of a text file with its separator
    rewritten: tuple[tuple[int, str], ...] = ()  # columns, and what gives the new text of each

    def in_form(self, rows: str, raw: bool = False) -> str:
        """What stands after FROM and gives the columns as the form says; with ``raw`` also r0, …: what was there."""
        if not self.rewritten:
            return rows
        new = dict(self.rewritten)
        listed = [f"{new[index]} AS c{index}" if index in new else f"c{index}" for index in range(len(self.columns))]
        listed += [f"c{index} AS r{index}" for index in new] if raw else []
        return f"(SELECT {', '.join(listed)} FROM {rows} {in_order(len(self.columns))})"


def scan(source: DataFile, engine: Engine) -> Scan:
    """Recognise a file; a file that is none, empty, binary or damaged is a sentence."""
    path = Path(source.path)
    try:
        if path.is_dir():
            return _tell(_parquet(path, _parts(path)), source.form, engine)
        if not path.exists():
            raise BadTable(_no_file(path))
        if not path.is_file():
            raise BadTable(f"{str(path)!r} is not a plain file. Save the table to a file first.")
        return _tell(_scan_file(source, engine), source.form, engine)
    except OSError as error:
        raise BadTable(f"File {str(path)!r} cannot be read: {error.strerror or error}.") from error


def _scan_file(source: DataFile, engine: Engine) -> Scan:
    """A plain file, by what it holds: Parquet, a workbook, a file of statistics, JSON, or else text of cells."""
    path, shown = unpack_all(Path(source.path), engine.folder), str(source.path)
    if first_bytes(path, 4) == b"PAR1":
        return _parquet(path, [path])
    if path.suffix.lower() in PARTS and path.stat().st_size:
        raise BadTable(f"File {shown!r} is not a Parquet file, whatever its name says. Write it again.")
    copy = engine.folder / "copy.parquet"
    foreign = copy_sheet if is_workbook(path) else None
    if foreign is None and path.stat().st_size and is_statistics(path, path.name):
        foreign = copy_statistics
    if foreign is not None:
        memory = engine.memory or allowed_bytes(None)
        names = run_apart(foreign, path, source.form, shown, copy, shown=shown, memory=memory)
        return replace(_parquet(copy, [copy], names), shown=shown)
    if is_json(path):
        return _json(path, shown, engine)
    cells = replace(examine(DataFile(path, source.form), engine.folder), shown=shown)
    form = replace(source.form, separator=cells.separator, encoding=cells.encoding)
    if cells.skip or any("\n" in name or "\r" in name for name in cells.names):
        # The engine takes empty lines, and a line break in a name, for the way that all lines end.
        wrong = complaint(cells)
        if wrong is not None:
            raise wrong
        cells = plain(cells, engine.folder / "header.csv")
    return Scan(shown, cells.names, _rows(cells), cells, form=form)


def unpack_all(path: Path, folder: Path) -> Path:
    """The file itself, or what is inside of it, however often it was packed; text packed by gzip stays as it is."""
    for _ in range(MOST_PACKED):
        if not is_packed(path):
            return path
        path = unpack(path, folder)
    raise BadTable(f"File {str(path)!r} is packed more than {MOST_PACKED} times. Unpack it, and give the file inside.")


def _tell(scanned: Scan, form: Form, engine: Engine) -> Scan:
    """The same, with the texts of numbers and dates that are written in another way told as everywhere else."""
    if form.plain_numbers and not form.dates:
        return scanned
    strange = [name for name in form.dates if name not in scanned.columns]
    if strange:
        raise BadTable(
            f"The form of {scanned.shown!r} names dates of {strange[0]!r}, and there is no such column. "
            f"{did_you_mean(strange[0], scanned.columns)}It has: {shorten(scanned.columns)}."
        )
    types = ["VARCHAR"] * len(scanned.columns)
    if scanned.cells is None:
        types = [str(kind) for kind in engine.connection.sql(f"SELECT * FROM {scanned.rows} LIMIT 0").types]
    spellings = []
    for index, (name, kind) in enumerate(zip(scanned.columns, types, strict=True)):
        if kind == "VARCHAR":
            text = iso_date(f"c{index}", form.dates[name]) if name in form.dates else point_number(f"c{index}", form)
            spellings += [(index, text)] if text != f"c{index}" else []
    return replace(scanned, rewritten=tuple(spellings))


def point_number(cell: str, form: Form) -> str:
    """A cell of text as a query: a number in this form with a point and no sign for thousands, all else as it is."""
    if form.plain_numbers:
        return cell
    bare = f"({trim_text(cell)})"
    inner = bare if form.thousands is None else f"replace({bare}, {literal(form.thousands)}, '')"
    pointed = f"replace({inner}, {literal(form.decimal)}, '.')"
    return f"CASE WHEN regexp_full_match({bare}, {literal(form.number_pattern())}) THEN {pointed} ELSE {cell} END"


def iso_date(cell: str, form: str) -> str:
    """A cell of text as a query: a date in this form as year-month-day, all else as it is."""
    moment = f"try_strptime({trim_text(cell)}, {literal(form)})"
    day, clock = f"strftime({moment}, '%Y-%m-%d')", f"strftime({moment}, '%Y-%m-%dT%H:%M:%S')"
    timed = any(code in form for code in ("%H", "%I"))
    return f"coalesce({f'replace({clock}, ' + repr('T00:00:00') + ', ' + repr('') + ')' if timed else day}, {cell})"


def is_json(path: Path) -> bool:
    """Whether a file holds JSON records, one after the other or in a list."""
    start = first_bytes(path, 1 << 12)
    if start.startswith(b"\x1f\x8b"):
        try:
            start = zlib.decompressobj(31).decompress(start)
        except zlib.error:
            return False
    return bool(re.match(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*[\"}]", start))


def _json(path: Path, shown: str, engine: Engine) -> Scan:
    """Records of JSON, whose types are taken from all of them; a text stays a text unless it is an ISO date."""
    import duckdb

    rows = f"read_json({literal(escape_glob(path))}, sample_size = -1)"
    try:
        columns = tuple(engine.connection.sql(f"SELECT * FROM {rows} LIMIT 0").columns)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise BadTable(f"File {shown!r} holds no JSON records that can be read ({reason}). Write it again.") from error
    return Scan(shown, columns, rows)


def _no_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"No file {str(path)!r}: there is no folder {str(path.parent)!r}."
    near = did_you_mean(path.name, [other.name for other in path.parent.iterdir()])
    return f"No file {str(path)!r}. {near or 'Check the name and the folder.'}".strip()


def _parts(folder: Path) -> list[Path]:
    paths, looked = [], 0
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]  # Spark's own
        looked += len(folders) + len(files)
        if looked > MOST_ENTRIES:
            raise BadTable(
                f"Folder {str(folder)!r} has more than {MOST_ENTRIES:,} files and folders in it, so it is hardly one "
                "of Parquet parts. Give the folder that holds the parts."
            )
        names = [name for name in files if not name.startswith(("_", ".")) and name.lower().endswith(PARTS)]
        paths += [path for path in (Path(here, name) for name in names) if path.is_file()]
    paths.sort()
    if not paths:
        have = sorted(path.name for path in folder.iterdir())
        raise BadTable(
            f"Folder {str(folder)!r} has no Parquet file (*.parquet). "
            f"{f'It has: {shorten(have)}.' if have else 'It is empty.'} Give a file, or a folder of Parquet parts."
        )
    return paths


def _parquet(path: Path, parts: list[Path], copied: tuple[str, ...] | None = None) -> Scan:
    """A Parquet file or the parts of a folder; ``copied``: the names that the columns of a copy have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = list(pq.read_schema(parts[0]).names if copied is None else copied)
    except (pa.ArrowException, OSError) as error:
        raise _explain_damage(parts[0], error) from error
    small = Counter(name.lower() for name in names)
    same = [name for name in names if small[name.lower()] > 1]
    if same and len(parts) > 1:  # the engine matches the columns of parts by name, whatever the case
        raise BadTable(f"The parts in {str(path)!r} have columns {same[0]!r} and {same[1]!r}. Rename one of them.")
    # Spark and others keep a column in the folders' names: year=2024/part.parquet.
    hive = [] if parts == [path] else [part.split("=")[0] for part in parts[0].relative_to(path).parts if "=" in part]
    names += [name for name in hive if name not in names]
    listed = ", ".join(literal(escape_glob(part)) for part in parts)
    options = f"union_by_name = true, hive_partitioning = {'true' if hive else 'false'}, hive_types_autocast = false"
    rows = f"read_parquet([{listed}], {options})"
    return Scan(str(path), tuple(names), rows, parts=tuple(parts) if copied is None else ())


def _explain_damage(part: Path, error: Exception) -> BadTable:
    reason = str(error).partition("\n")[0]
    kind = "a whole Parquet file" if part.suffix.lower() in PARTS or part.is_dir() else "whole"
    return BadTable(f"File {str(part)!r} is not {kind} ({reason}). Write it again.")


def _rows(cells: Cells) -> str:
    aliases = [literal(f"c{position}") for position in range(len(cells.names))]
    typed = ", ".join(f"{name}: 'VARCHAR'" for name in aliases)
    options = ", ".join(
        (
            "auto_detect = false",
            f"header = {'true' if cells.header else 'false'}",
            f"delim = {literal(cells.separator)}",
            "quote = '\"'",
            "escape = '\"'",
            f"compression = '{'gzip' if cells.packed else 'none'}'",
            f"columns = {{{typed}}}",
            f"force_not_null = [{', '.join(aliases)}]",  # an empty cell is the text "", as in any text file
        )
    )
    return f"read_csv({literal(escape_glob(cells.path))}, {options})"


def roll_up_file(file: Scan, engine: Engine, wanted: Sequence[str]) -> Rolled:
    """The distinct rows of a file over the wanted columns, by one GROUP BY."""
    _check_parts(file, wanted)
    ask = engine.connection.sql
    grouped = ask_file(file, engine, lambda rows: ask(grouping(ask, rows, file.columns, wanted)).to_arrow_table())
    return roll(grouped, wanted)


def hold_file(file: Scan, engine: Engine, wanted: Sequence[str], report: Progress | None = None) -> None:
    """Roll a file up into the engine's own table HELD, which goes to its folder where memory is short."""
    _check_parts(file, wanted)
    ask = engine.connection.sql
    ask_file(file, engine, lambda rows: hold(engine, grouping(ask, rows, file.columns, wanted), report))


def ask_file(file: Scan, engine: Engine, answer: Callable[[str], Answer], raw: bool = False) -> Answer:
    """What the engine answers about the rows of a file (``answer`` gets what stands after FROM).

    With ``raw`` it also gets the columns r0, … as they were before the form of the file was applied.

    Where it stumbles over a text file, the error names the line that is wrong; if none is, a plain copy is read.
    """
    import duckdb

    cells = file.cells
    try:
        return answer(file.in_form(file.rows, raw))
    except duckdb.OutOfMemoryException as error:
        raise no_room(repr(file.shown), error) from error
    except duckdb.Error as error:
        if cells is None:
            raise _explain_damage(Path(file.shown), error) from error
    wrong = complaint(cells)
    if wrong is not None:
        raise wrong
    try:
        return answer(file.in_form(_rows(plain(cells, engine.folder / "plain.csv")), raw))
    except duckdb.OutOfMemoryException as error:
        raise no_room(repr(file.shown), error) from error
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise BadTable(f"File {file.shown!r} cannot be read ({reason}). Write it again as plain CSV.") from error


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
            raise _explain_damage(part, error) from error
        for name in wanted:
            if name not in schema.names:
                if any(step.startswith(f"{name}=") for step in part.parts):
                    continue
                raise BadTable(f"Part {str(part)!r} has no column {name!r}. Give parts with the same columns.")
            kind = schema.field(name).type
            kind = kind.value_type if is_.is_dictionary(kind) else kind
            if is_.is_null(kind):
                continue
            is_text = is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)
            first, other = text.setdefault(name, (is_text, part))
            if first != is_text:
                raise BadTable(
                    f"Column {name!r} is text in {str(part if is_text else other)!r} and "
                    f"{kind if first else 'a number'} in {str(other if is_text else part)!r}. "
                    "Write all parts with one type."
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


# A release as a workbook: one sheet, its cells in the types they have, written row by row.

MOST_ROWS = 2**20 - 1  # of a sheet, beside the line of names
MOST_COLUMNS = 2**14
MOST_SIGNS = 2**15 - 1  # of a cell
SHEET = "release"
NO_TIME = dt.datetime(1980, 1, 1)  # noqa: DTZ001 (equal rows give equal bytes, so a workbook says no time of its own)


def write_workbook(rows: Path, target: Path) -> None:
    """Write the rows of a Parquet file as the only sheet of a workbook; text is text, whatever it begins with."""
    import pyarrow.parquet as pq

    try:
        import xlsxwriter
    except ImportError as error:
        raise MissingExtra("Workbooks are written by xlsxwriter. Install it: pip install 'kpareto[files]'.") from error
    with pq.ParquetFile(rows) as file:
        names = list(file.schema_arrow.names)
        if file.metadata.num_rows > MOST_ROWS or len(names) > MOST_COLUMNS:
            raise BadJob(
                f"A sheet holds {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns, and the release has "
                f"{file.metadata.num_rows:,} and {len(names):,}. Give a target that ends in .csv or .parquet."
            )
        forms = {"default_date_format": "yyyy-mm-dd", "constant_memory": True, "in_memory": False}
        book = xlsxwriter.Workbook(str(target), forms)
        try:
            book.set_properties({"created": NO_TIME})
            sheet = book.add_worksheet(SHEET)
            moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
            for index, name in enumerate(names):
                sheet.write_string(0, index, name)
            line = 0
            for batch in file.iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    line += 1
                    for index, cell in enumerate(row):
                        _write_cell(sheet, line, index, cell, moment)
        finally:
            book.close()


def _write_cell(sheet: Any, line: int, column: int, cell: object, moment: object) -> None:
    if cell is None:
        return
    if isinstance(cell, bool):
        sheet.write_boolean(line, column, cell)
    elif isinstance(cell, int | float) and abs(cell) < EXACT:
        sheet.write_number(line, column, cell)
    elif isinstance(cell, dt.datetime) and cell.year >= 1900 and cell.tzinfo is None:
        sheet.write_datetime(line, column, cell, moment)
    elif isinstance(cell, dt.date) and not isinstance(cell, dt.datetime) and cell.year >= 1900:
        sheet.write_datetime(line, column, cell)
    else:
        text = str(cell)
        if len(text) > MOST_SIGNS:
            raise BadJob(
                f"A cell of the release has {len(text):,} characters, and one of a sheet at most {MOST_SIGNS:,}. "
                "Give a target that ends in .csv or .parquet."
            )
        sheet.write_string(line, column, text)
