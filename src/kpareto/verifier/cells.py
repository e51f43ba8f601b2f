"""The cells of a released file as text: CSV by Python's csv, Parquet by pyarrow, others by calamine and pyreadstat."""

from __future__ import annotations

import codecs
import csv
import datetime as dt
import decimal
import gzip
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

from kpareto.engines.admission import allowed_bytes
from kpareto.engines.apart import run_apart
from kpareto.errors import BadTable, KparetoError, MissingExtra, Unsafe

SHEETS = b"PK\x03\x04"  # how a workbook begins
STATISTICS = {b"<sta": "read_dta", b"$FL2": "read_sav"}  # how files of Stata and SPSS begin, and who reads them
NOTHING = "(missing)"  # what stands for no value
MOST_SIGNS = 1 << 28  # characters of a line, or of a cell
COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?", re.ASCII)


def text_form(record: dict[str, Any]) -> tuple[str, str, bool]:
    """How a text is written, as the certificate says: its separator, its encoding, whether numbers have a comma."""
    form = record.get("form", {})
    separator, encoding = str(form.get("separator", ",")), str(form.get("encoding", "utf-8"))
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise Unsafe(
            f"The certificate says that the release is in the encoding {encoding!r}, and there is none."
        ) from None
    if len(separator) != 1 or separator in '"\r\n':
        raise Unsafe(f"The certificate says that cells are separated by {separator!r}, which is no one character.")
    return separator, encoding, form.get("decimal") == ","


def _beginning(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(4)


def _statistics(path: Path, reader: str) -> list[list[str]]:
    """The cells of a file of Stata or SPSS as text; labels and notes could hold anything, and are refused."""
    try:
        import pyreadstat
    except ImportError as error:
        raise MissingExtra("Such a file is read by pyreadstat. Install it: pip install 'kpareto[files]'.") from error
    try:
        columns, meta = getattr(pyreadstat, reader)(str(path), output_format="dict", user_missing=True)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise Unsafe(f"The release {str(path)!r} cannot be read ({error}).") from error
    notes = [meta.file_label, *meta.notes, *(label for label in meta.column_labels if label)]
    if any(notes) or meta.value_labels or meta.missing_ranges or meta.missing_user_values or meta.mr_sets:
        raise Unsafe(f"The release {str(path)!r} has labels or notes beside its cells, and none were certified.")
    rows = zip(*columns.values(), strict=True)
    return [list(meta.column_names), *([text(None if cell == "" else cell) for cell in row] for row in rows)]


def _sheet(path: Path) -> list[list[str]]:
    """The cells of the only sheet of a workbook as text; a second sheet could hold anything, and is refused."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise MissingExtra(
            "A workbook is read by python-calamine. Install it: pip install 'kpareto[files]'."
        ) from error
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            if len(book.sheet_names) != 1:
                raise Unsafe(f"The release {str(path)!r} has {len(book.sheet_names)} sheets, and one was certified.")
            rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except CalamineError as error:
        raise Unsafe(f"The release {str(path)!r} cannot be read ({error}).") from error
    return [[text(None if cell == "" else cell) for cell in row] for row in rows]


def _read_apart(work: Callable[..., list[list[str]]], path: Path, *more: str) -> list[list[str]]:
    """The cells of a file whose reader may ask for any memory, and dies of it: in a process of its own."""
    try:
        return run_apart(work, path, *more, shown=str(path), memory=allowed_bytes(None))
    except BadTable as error:
        raise Unsafe(f"The release cannot be read: {error}") from error


def _open(path: Path, encoding: str) -> IO[str]:
    """A text, also where it is packed by gzip."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    if packed:
        return cast(IO[str], gzip.open(path, "rt", encoding=encoding, newline=""))
    return path.open(encoding=encoding, newline="")


def _lines(stream: IO[str], path: Path) -> Iterator[str]:
    """The lines of a text; one without an end, which a few packed bytes may hold, is not read whole."""
    while line := stream.readline(MOST_SIGNS):
        if len(line) == MOST_SIGNS:
            raise Unsafe(f"The release {str(path)!r} has a line of {MOST_SIGNS:,} characters or more.")
        yield line


def with_point(cell: str) -> str:
    """A number that is written with a comma, with a point."""
    return cell.replace(",", ".") if COMMA.fullmatch(cell) else cell


def read_rows(
    path: Path, parquet: bool, record: dict[str, Any], wanted: Collection[str] | None = None
) -> Iterator[list[str]]:
    """The names of the columns, then each row, all as text; typed cells of columns nobody wants are not spelled."""
    separator, encoding, comma = text_form(record)
    try:
        if parquet:
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                names = list(file.schema_arrow.names)
                yield names
                for batch in file.iter_batches():
                    texts = [
                        [text(value) for value in column.to_pylist()]
                        if wanted is None or name in wanted
                        else [NOTHING] * len(column)
                        for name, column in zip(names, batch.columns, strict=True)
                    ]
                    yield from map(list, zip(*texts, strict=True))
        elif (begins := _beginning(path)) == SHEETS:
            yield from _read_apart(_sheet, path)
        elif begins in STATISTICS:
            yield from _read_apart(_statistics, path, STATISTICS[begins])
        else:
            with _open(path, encoding) as lines, ExitStack() as after:
                after.callback(csv.field_size_limit, csv.field_size_limit(MOST_SIGNS))  # the setting is everybody's
                rows = csv.reader(_lines(lines, path), delimiter=separator, strict=True)
                yield next(rows, [])
                yield from ([with_point(cell) for cell in row] for row in rows) if comma else rows
    except KparetoError:
        raise
    except (OSError, EOFError, ValueError, csv.Error) as error:
        raise Unsafe(f"The release {str(path)!r} cannot be read ({str(error).partition(chr(10))[0]}).") from error


def text(value: object) -> str:
    """A typed cell as the CSV form of the release writes it."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return NOTHING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if isinstance(value, decimal.Decimal):
        plain = format(value, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return value.isoformat() if isinstance(value, dt.date) else str(value)
