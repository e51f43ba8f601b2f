"""Files that DuckDB does not read, as copies that it does: workbooks, files of Stata, SPSS and SAS, packed files.

A copy lies in the private folder of the engine and goes with it. Workbooks and files of statistics become Parquet with
the types they have; the packages that read them are loaded when such a file is met.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import lzma
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from kpareto.engines.form import Form, file_kind, number_names, statistics_endings
from kpareto.engines.values import BLANKS, arrow_texts, object_text
from kpareto.errors import BadTable, KparetoError, MissingExtra, did_you_mean, shorten
from kpareto.tables.schema import refuse_duplicates
from kpareto.tables.spelling import EXACT

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 100_000  # rows of a file of statistics that are in memory at once
MOST_CELLS = 10_000_000  # and cells; each eight bytes of text count as one
LEFT_FREE = 0.9  # of the free disk that a packed file may fill when it is unpacked
INSTALL = "Install it: pip install 'kpareto[files]'."
_WORKBOOK_PARTS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")


# -- packed files --------------------------------------------------------------------------------------------------


def first_bytes(path: Path, count: int) -> bytes:
    """What a file begins with, by which it is recognised whatever its name says."""
    with path.open("rb") as stream:
        return stream.read(count)


def is_packed(path: Path) -> bool:
    """Whether a file is packed in a way that is undone by a copy; gzip of text is not, as the engine reads that."""
    start = first_bytes(path, 10)
    if start.startswith(b"PK\x03\x04"):
        return not is_workbook(path)
    if start.startswith(b"\x1f\x8b"):
        return file_kind(path.name) not in ("text", "json")
    return start.startswith((b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh"))


def unpack(path: Path, folder: Path) -> Path:
    """The one file inside, as a copy in the folder that keeps its ending."""
    start = first_bytes(path, 6)
    try:
        if start.startswith(b"PK\x03\x04"):
            return _unzip(path, folder)
        inner = folder / f"unpacked-{path.stem}"
        left = LEFT_FREE * shutil.disk_usage(folder).free
        with open_packed(path) as packed, inner.open("wb") as copy:
            while piece := packed.read(1 << 20):
                left -= len(piece)
                if left < 0:
                    raise _too_large(path, "more bytes than are free on the disk")
                copy.write(piece)
    except (OSError, EOFError, MemoryError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise BadTable(f"File {str(path)!r} cannot be unpacked ({error}). Copy or compress it again.") from error
    return inner


def _too_large(path: Path, size: str) -> BadTable:
    return BadTable(
        f"The file in {str(path)!r} has {size}, and the folder for temporary files has no room for it. Unpack it "
        "elsewhere, and give the file inside."
    )


def open_packed(path: Path) -> IO[bytes]:
    """The bytes inside of a file that is packed by gzip, bzip2, xz or zstd."""
    start = first_bytes(path, 6)
    for mark, unpacked in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open)):
        if start.startswith(mark):
            return cast(IO[bytes], unpacked(path))
    import pyarrow as pa

    return cast(IO[bytes], pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"))


def _unzip(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        inside = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
        if len(inside) != 1:
            raise BadTable(
                f"The archive {str(path)!r} holds {len(inside)} files "
                f"({shorten([member.filename for member in inside], 4)}). Unpack it, and give the one with the table."
            )
        if inside[0].flag_bits & 1:
            raise BadTable(f"The archive {str(path)!r} is locked by a password. Unpack it, and give the file inside.")
        if inside[0].file_size > LEFT_FREE * shutil.disk_usage(folder).free:
            raise _too_large(path, f"{inside[0].file_size:,} bytes")
        target = folder / f"unpacked-{Path(inside[0].filename).name}"
        with archive.open(inside[0]) as packed, target.open("wb") as copy:
            shutil.copyfileobj(packed, copy, 1 << 20)
    return target


def _is_hidden(name: str) -> bool:
    return name.startswith("__MACOSX/") or Path(name).name.startswith(".")


# -- workbooks -----------------------------------------------------------------------------------------------------


def is_workbook(path: Path) -> bool:
    """Whether a file holds sheets: one of the zip archives that spreadsheets write, or their old binary form."""
    start = first_bytes(path, 8)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        return True
    if not start.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(set(archive.namelist()) & set(_WORKBOOK_PARTS))
    except zipfile.BadZipFile:
        return file_kind(path.name) == "sheet"  # the reader of workbooks says what is wrong


def sheet_head(path: Path, sheet: str | None, shown: str, count: int) -> tuple[str, list[list[str]]]:
    """The name of a sheet and its first rows as texts."""
    name, rows = sheet_rows(path, sheet, shown)
    return name, [list(map(cell_text, row)) for row in rows[:count]]


def sheet_rows(path: Path, sheet: str | None, shown: str) -> tuple[str, list[list[Any]]]:
    """The name of a sheet and its cells, row by row: the sheet that is named, or the first that has cells."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise MissingExtra(f"{shown!r} is a workbook, which python-calamine reads. {INSTALL}") from error
    try:
        with CalamineWorkbook.from_path(str(path)) as book:
            names = list(book.sheet_names)
            if sheet is not None and sheet not in names:
                raise BadTable(
                    f"The workbook {shown!r} has no sheet {sheet!r}. {did_you_mean(sheet, names)}It has: "
                    f"{shorten(names)}."
                )
            for name in names if sheet is None else [sheet]:
                rows = _filled_area(book.get_sheet_by_name(name))
                if rows:
                    return name, rows
    except KparetoError:
        raise
    except (CalamineError, OSError, ValueError) as error:
        raise BadTable(f"File {shown!r} is not a workbook that can be read ({error}). Save it again.") from error
    raise BadTable(f"The workbook {shown!r} has no cells{'' if sheet is None else f' on sheet {sheet!r}'}.")


def _filled_area(sheet: Any) -> list[list[Any]]:
    """The rows of a sheet up to its last cells that are filled, all of the same length; none where no cell is."""
    rows: list[list[Any]] = []
    last = width = 0
    left = [""] * (sheet.start[1] if sheet.start else 0)  # empty columns before the table, which its rows leave out
    for row in sheet.iter_rows():
        while row and _is_blank(row[-1]):
            row.pop()
        rows.append([*left, *row] if row else row)
        if row:
            last, width = len(rows), max(width, len(rows[-1]))
    return [row + [""] * (width - len(row)) for row in rows[:last]]


def _is_blank(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip(BLANKS))


def cell_text(cell: object) -> str:
    """A cell of a sheet as text, for looking at titles and names."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip(BLANKS)


def copy_sheet(path: Path, form: Form, shown: str, target: Path) -> tuple[str, ...]:
    """Write a sheet as Parquet under names of our own, and return the names that the sheet has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _, rows = sheet_rows(path, form.sheet, shown)
    rows = rows[form.skip :]
    while rows and all(map(_is_blank, rows[0])):
        rows = rows[1:]
    while rows and all(map(_is_blank, rows[-1])):
        rows.pop()
    width = max((index + 1 for row in rows for index, cell in enumerate(row) if not _is_blank(cell)), default=0)
    first, body = [cell_text(cell) for cell in rows[0][:width]], rows[1:] if form.has_header else rows
    names = name_columns(first, form, shown)
    columns = [_sheet_column([row[index] for row in body], names[index]) for index in range(width)]
    pq.write_table(pa.table(columns, names=[f"c{index}" for index in range(width)]), target)
    return names


def name_columns(first: Sequence[str], form: Form, shown: str) -> tuple[str, ...]:
    """The names of the columns: those given, those in the first line, or their places where there are none."""
    if form.names is None and not form.has_header:
        return tuple(f"column{index}" for index in range(1, len(first) + 1))
    if form.names is None:
        # Without a name: the line numbers of a data frame, say.
        first = [name or f"column{index}" for index, name in enumerate(first, 1)]
        names = number_names(first) if form.number_duplicates else tuple(first)
        refuse_duplicates(names)
        return names
    if len(form.names) != len(first):
        raise BadTable(
            f"{len(form.names)} column names are given for {shown!r}, and its first line has {len(first)} cells. "
            "Give one name per cell, or another separator."
        )
    return tuple(form.names)


def _sheet_column(cells: Sequence[object], name: str) -> pa.Array:
    """The cells of one column in the type that all of them have; text, as everywhere in here, where they differ."""
    import pyarrow as pa

    present = [None if _is_blank(cell) else cell for cell in cells]
    kinds = {type(cell) for cell in present if cell is not None}
    if kinds <= {int, float} and kinds:
        numbers = [None if cell is None else float(cast(float, cell)) for cell in present]
        whole = all(number is None or (number.is_integer() and abs(number) < EXACT) for number in numbers)
        return pa.array([None if one is None else int(one) for one in numbers] if whole else numbers)
    for kind, arrow in ((bool, pa.bool_()), (dt.date, pa.date32()), (dt.datetime, pa.timestamp("us"))):
        if kinds == {kind}:
            return pa.array(present, arrow)
    if kinds == {dt.date, dt.datetime}:
        moments = [dt.datetime.combine(c, dt.time()) if type(c) is dt.date else c for c in present]
        return pa.array(moments, pa.timestamp("us"))
    return arrow_texts([None if cell is None else object_text(cell, name) for cell in present])


# -- files of Stata, SPSS and SAS ------------------------------------------------------------------------------------


def is_statistics(path: Path, name: str) -> bool:
    """Whether a file comes from Stata, SPSS or SAS, by its beginning or its ending."""
    start = first_bytes(path, 84)
    known = (b"<stata_dta>", b"$FL2", b"$FL3", b"HEADER RECORD*******LIBRARY", b"HEADER RECORD*******LIBV8")
    return start.startswith(known) or Path(name).suffix.lower() in statistics_endings()


def copy_statistics(path: Path, form: Form, shown: str, target: Path) -> tuple[str, ...]:
    """Write a file of Stata, SPSS or SAS as Parquet, chunk by chunk, and return its names.

    Codes that the file has labels for become these labels, unless the form asks for the codes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names: tuple[str, ...] = ()
    pieces: list[Path] = []
    schemas: list[pa.Schema] = []
    for columns, meta in _statistics_chunks(path, shown):
        names = tuple(columns)
        table = _statistics_table(columns, meta.readstat_variable_types, {} if form.codes else _labels(meta))
        pieces.append(target.with_name(f"{target.stem}-{len(pieces)}.parquet"))
        schemas.append(table.schema)
        pq.write_table(table, pieces[-1])
    if not names:
        raise BadTable(f"File {shown!r} has no columns. Save it again.")
    # A column of dates may have none in one chunk, which then does not know its type.
    schema = pa.unify_schemas(schemas)
    schema = pa.schema([field.with_type(pa.float64()) if pa.types.is_null(field.type) else field for field in schema])
    with pq.ParquetWriter(target, schema) as writer:
        for piece in pieces:
            writer.write_table(pq.read_table(piece).cast(schema))
            piece.unlink()
    return names


def read_labels(path: Path, shown: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns of a file of Stata, SPSS or SAS that have labels for their codes, and those with one of their own."""
    pyreadstat, read = _statistics_reader(path, shown)
    try:
        _, meta = read(str(path), metadataonly=True)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError) as error:
        raise _unreadable(shown, error) from error
    return tuple(_labels(meta)), {name: label for name, label in meta.column_names_to_labels.items() if label}


def _labels(meta: Any) -> dict[str, Mapping[object, str]]:
    """The labels of each column that has any, by code."""
    return {name: labels for name, labels in meta.variable_value_labels.items() if labels}


def _unreadable(shown: str, error: Exception) -> BadTable:
    return BadTable(f"File {shown!r} cannot be read ({str(error).partition(chr(10))[0]}). Save it again.")


def _statistics_reader(path: Path, shown: str) -> tuple[Any, Callable[..., Any]]:
    try:
        import pyreadstat
    except ImportError as error:
        raise MissingExtra(f"{shown!r} is a file of statistics, which pyreadstat reads. {INSTALL}") from error
    start = first_bytes(path, 84)
    by_ending = {
        ".dta": "read_dta",
        ".sav": "read_sav",
        ".zsav": "read_sav",
        ".por": "read_por",
        ".sas7bdat": "read_sas7bdat",
        ".xpt": "read_xport",
    }
    ending = next((end for end in path.suffixes[::-1] if end.lower() in by_ending), "").lower()
    by_start = {b"<stata_dta>": ".dta", b"$FL2": ".sav", b"$FL3": ".sav", b"HEADER RECORD": ".xpt"}
    ending = next((end for mark, end in by_start.items() if start.startswith(mark)), ending)
    return pyreadstat, getattr(pyreadstat, by_ending[ending])


def _statistics_chunks(path: Path, shown: str) -> Iterator[tuple[Mapping[str, list[Any]], Any]]:
    """The columns of each chunk of rows, and what the file says of them; one chunk at least."""
    pyreadstat, read = _statistics_reader(path, shown)
    try:
        _, meta = read(str(path), metadataonly=True)
        if read is pyreadstat.read_por or not meta.number_rows:  # these cannot be asked for a part of their rows
            yield read(str(path), output_format="dict")
            return
        widths = meta.variable_storage_width or {}
        count = max(min(CHUNK, MOST_CELLS // max(sum(1 + width // 8 for width in widths.values()), 1)), 1)
        for offset in range(0, int(meta.number_rows), count):
            data, _ = read(str(path), output_format="dict", row_offset=offset, row_limit=count)
            yield data, meta
            if len(next(iter(data.values()), ())) < count:  # whatever the file says of itself
                return
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError) as error:
        raise _unreadable(shown, error) from error


def _statistics_table(
    columns: Mapping[str, list[Any]], kinds: Mapping[str, str], labels: Mapping[str, Mapping[object, str]]
) -> pa.Table:
    """A chunk as Arrow: types follow the file, not the chunk, so that all chunks have the same; empty text is none."""
    import pyarrow as pa

    arrays = []
    for name, values in columns.items():
        kind = kinds.get(name, "double")
        sample = next(islice((value for value in values if value is not None), 1), None)
        if name in labels:
            arrays.append(_label_codes(values, labels[name], name))
        elif kind == "string":
            arrays.append(pa.array([value or None for value in values], pa.large_string()))
        elif sample is None:
            arrays.append(pa.nulls(len(values)))
        elif isinstance(sample, dt.date | dt.time):
            moment = isinstance(sample, dt.datetime)
            day = pa.date32() if isinstance(sample, dt.date) else pa.time64("us")
            arrays.append(pa.array(values, pa.timestamp("us") if moment else day))
        else:
            arrays.append(pa.array(values, pa.int64() if kind.startswith("int") else pa.float64()))
    return pa.table(arrays, names=[f"c{index}" for index in range(len(arrays))])


def _label_codes(values: Sequence[Any], labels: Mapping[object, str], name: str) -> pa.Array:
    """The label of each code, and the text of a code that has none."""
    texts = {code: labels.get(code, object_text(code, name)) or None for code in set(values)}
    return arrow_texts(texts[code] for code in values)
