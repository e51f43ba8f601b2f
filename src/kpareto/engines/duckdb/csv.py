"""Text files of cells (CSV, TSV): which separator, which columns, and where the first bad line is.

The cells themselves are read by the engine (read.py). This room looks at the first megabyte beforehand and, only
when the engine stumbles, at the whole file, to name the line that is wrong.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

from kpareto.engines.duckdb.copies import first_bytes, name_columns
from kpareto.engines.form import SEPARATORS, DataFile
from kpareto.engines.values import BLANKS
from kpareto.errors import BadTable, Remedy

HEAD = 1 << 20  # bytes looked at beforehand, and read at a time
SAMPLE = 100  # lines the separator is recognised by
MOST_SIGNS = 1 << 24  # of a line; one that has more is no row, and might fill the memory
LOOKED_AT = 1_000  # lines in which names that are values are looked for
# How files that hold no text begin, longest first where one begins like another.
_BEGINNINGS = (
    (b"SQLite format 3", "an SQLite database"),
    (b"ARROW1", "an Arrow file"),
    (b"%PDF-", "a PDF"),
)
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Numbers, with a decimal comma too, and dates in any order of their parts; leading zeros make a code.
NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_COMMA = r"[+-]?[0-9]+,[0-9]+"
DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z?)?"
_OTHER_DATE = r"[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}"
_VALUE = re.compile("|".join(f"(?:{pattern})" for pattern in (NUMBER, _COMMA, DATE, _OTHER_DATE)))


@dataclass(frozen=True)
class Cells:
    """How a text file is laid out."""

    shown: str  # the file's name in sentences
    path: Path  # the file, or a copy of it in UTF-8
    packed: bool  # by gzip
    separator: str
    skip: int  # lines before the first that counts: titles, and empty ones, which the engine takes for line ends
    header: bool  # whether the first line that counts has names
    names: tuple[str, ...]
    encoding: str = "utf-8"  # of the file itself; utf-8-sig where it begins with a mark


def examine(source: DataFile, folder: Path) -> Cells:
    """Look at the beginning of a file; one that is not UTF-8 is copied into the folder as UTF-8."""
    form, shown, path = source.form, str(source.path), Path(source.path)
    packed = first_bytes(path, 2) == b"\x1f\x8b"
    beginning = _beginning(path, packed, shown)
    encoding = codecs.lookup(form.encoding).name
    if encoding in ("utf-8", "utf-8-sig"):
        encoding = marked_encoding(beginning) or "utf-8"
    if encoding == "utf-8":
        _check_text(beginning, shown)
    else:
        path, packed = _copy(path, packed, encoding, folder / "copy.csv", shown), False
    with file_bytes(path, packed, shown) as stream:
        text = next(decode_pieces(stream, "utf-8", shown), "")
    sep, text, skip = _without_titles(text, form.skip)
    if not text.strip():
        raise _empty(shown)
    separator = form.separator or sep or find_separator(text)
    encoding = "utf-8-sig" if encoding == "utf-8" and beginning.startswith(codecs.BOM_UTF8) else encoding
    cells = Cells(shown, path, packed, separator, skip, form.has_header, (), encoding)
    _refuse_long_end(cells)
    rows = read_records(text, separator, LOOKED_AT)
    if not rows:  # the very first line does not end
        raise complaint(replace(cells, names=("",))) or BadTable(f"The first line of {shown!r} cannot be read.")
    names = name_columns([name.strip(BLANKS) for name in rows[0]], form, shown)
    if form.header is None and form.names is None:
        _refuse_row(names, rows[1:])
    return replace(cells, names=names)


def _refuse_long_end(cells: Cells) -> None:
    """Raise where the last line is too long to be a row: the engine drops one of 32 MB or more without a word."""
    before, tail = b"", b""
    with file_bytes(cells.path, cells.packed, cells.shown) as stream:
        if not cells.packed:
            stream.seek(max(0, cells.path.stat().st_size - 2 * MOST_SIGNS))
        while piece := stream.read(MOST_SIGNS):
            before, tail = tail, piece
    end = (before + tail).rstrip()
    if len(end) - 1 - max(end.rfind(b"\n"), end.rfind(b"\r")) >= MOST_SIGNS:
        with _text(cells) as lines:
            for _ in lines:  # the sentence with its number
                pass
        raise BadTable(f"The last line of {cells.shown!r} has more than {MOST_SIGNS:,} bytes. Write it again.")


def marked_encoding(beginning: bytes) -> str | None:
    """The wide encoding that the first bytes of a file name; None where they name none."""
    return next((name for mark, name in _MARKS if beginning.startswith(mark)), None)


def wide_encoding(beginning: bytes) -> str | None:
    """The encoding of a text in which every second byte is mostly 0, if this is one."""
    if beginning.count(0) * 3 <= len(beginning) or beginning[::2].count(0) * beginning[1::2].count(0):
        return None
    return "utf-16-le" if beginning[1::2].count(0) else "utf-16-be"


def _without_titles(text: str, skip: int) -> tuple[str | None, str, int]:
    """A separator that the first line tells (sep=;), the text from the first line that counts, and the lines before."""
    sep = re.match(r"sep=(.)(?:\r\n|\r|\n)", text)
    lines = skip or (sep is not None)
    begins = re.match(rf"(?:[^\r\n]*(?:\r\n|\r|\n)){{{int(lines)}}}", text)
    if begins is None:
        return None, "", int(lines)
    rest = text[begins.end() :]
    blank = re.match(r"(?: *(?:\r\n|\r|\n))*", rest)
    empty = len(blank.group().splitlines()) if blank else 0
    return sep and sep[1], rest[blank.end() :] if blank else rest, int(lines) + empty


def _refuse_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Raise where the first line has values of a row, going by the rows that were looked at."""
    columns = [{row[index].strip(BLANKS) for row in rows if index < len(row)} for index in range(len(names))]
    count = values_among(names, lambda index, name: name in columns[index], lambda index: bool(columns[index] - {""}))
    if count:
        raise refuse_row(count, len(names))


def _beginning(path: Path, packed: bool, shown: str) -> bytes:
    with file_bytes(path, packed, shown) as stream:
        beginning = stream.read(HEAD)
    if not beginning:
        raise _empty(shown)
    for start, kind in _BEGINNINGS:
        if beginning.startswith(start):
            raise BadTable(
                f"File {shown!r} is {kind}, not a file of rows. Save its table as CSV or Parquet and give that."
            )
    return beginning


def _empty(shown: str) -> BadTable:
    return BadTable(f"File {shown!r} is empty. Give a file with a line of column names and at least one row.")


def _check_text(beginning: bytes, shown: str) -> None:
    if not beginning.count(0):
        return
    if name := wide_encoding(beginning):
        raise BadTable(f"File {shown!r} is not UTF-8; it looks like UTF-16.", remedy=_give(name))
    raise BadTable(f"File {shown!r} is a binary file, not text. Give a CSV or Parquet file.")


def _give(name: str, what: str = "") -> Remedy:
    such = f"{what}, such as " if what else ""
    where = f"In a job it stands under [data]; inspect and apply take --encoding {name}."
    return Remedy("choose-encoding", f'Give {such}encoding="{name}". {where}')


@contextmanager
def file_bytes(path: Path, packed: bool, shown: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is packed by gzip; damage is a sentence."""
    with path.open("rb") as raw:
        try:
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadTable(f"File {shown!r} is not a whole gzip file ({error}). Copy or compress it again.") from error


def decode_pieces(stream: IO[bytes], encoding: str, shown: str) -> Iterator[str]:
    """The text of a file piece by piece; a byte that does not belong is named with its line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    offset, line, first = 0, 1, True
    while True:
        piece = stream.read(HEAD)
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(encoding, errors="replace").count("\n")
            name = encoding.upper()
            other = "its encoding" if name == "UTF-8" else "another encoding"
            raise BadTable(
                f"File {shown!r} is not {name}: byte 0x{error.object[error.start]:02x} at offset "
                f"{offset - pending + error.start:,} (line {line:,}) is not part of a character.",
                remedy=_give("latin-1", other),
            ) from None
        except UnicodeError as error:  # a wide encoding that begins with a mark, in a file without one
            raise BadTable(
                f"File {shown!r} is not {encoding.upper()}: {str(error).rstrip('.')}.",
                remedy=_give(f"{encoding}-le", "another encoding"),
            ) from None
        if not piece and not text:
            return
        offset += len(piece)
        line += text.count("\n")
        yield text.removeprefix("\ufeff") if first else text
        first = False


def _copy(path: Path, packed: bool, encoding: str, target: Path, shown: str) -> Path:
    with file_bytes(path, packed, shown) as stream, target.open("w", encoding="utf-8", newline="") as copy:
        copy.writelines(decode_pieces(stream, encoding, shown))
    return target


def read_records(text: str, separator: str, most: int = SAMPLE) -> list[list[str]]:
    """The first lines of a text as cells; the last one is left out where the text may have been cut there."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    rows: list[list[str]] = []
    try:
        for record in reader:
            rows.append(record)
            if len(rows) > most:
                break
    except csv.Error:
        return rows
    whole = len(rows) <= 1 or len(rows) > most or len(text) < HEAD // 4
    return rows if whole else rows[:-1]


def find_separator(text: str) -> str:
    """The separator that gives every line as many cells as the first, as many as possible."""

    def score(separator: str) -> tuple[bool, int]:
        widths = [len(record) for record in read_records(text, separator) if record]
        width = widths[0] if widths else 0
        return width > 1 and all(other == width for other in widths), width

    best = max(SEPARATORS, key=score)
    line = re.split(r"[\r\n]", text, maxsplit=1)[0]
    # A quote that is never closed hides the separator: take the first there is, so that the quote is complained about.
    return best if score(best)[1] > 1 else next((mark for mark in SEPARATORS if mark in line), best)


@contextmanager
def _text(cells: Cells) -> Iterator[Iterator[str]]:
    with file_bytes(cells.path, cells.packed, cells.shown) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        for _ in range(cells.skip):
            text.readline(MOST_SIGNS)
        yield _lines(text, cells)


def _lines(text: io.TextIOWrapper, cells: Cells) -> Iterator[str]:
    """Line by line; one that does not end is an error before it is in memory."""
    number = cells.skip
    while line := text.readline(MOST_SIGNS):
        number += 1
        if len(line) == MOST_SIGNS and not line.endswith(("\n", "\r")):
            raise BadTable(
                f"Line {number:,} of {cells.shown!r} has more than {MOST_SIGNS:,} characters. A table has a row per "
                "line: write it again."
            )
        yield line


def complaint(cells: Cells) -> BadTable | None:
    """What is wrong with a text file, as an error that names the line; None where nothing is."""
    with file_bytes(cells.path, cells.packed, cells.shown) as stream:
        for _ in decode_pieces(stream, "utf-8", cells.shown):
            pass
    with _text(cells) as text:
        reader = csv.reader(text, delimiter=cells.separator, skipinitialspace=True, strict=True)
        before = 0
        try:
            for record in reader:
                wrong = _describe_ragged(record, len(cells.names))
                if wrong:
                    return BadTable(f"Line {cells.skip + before + 1:,} of {cells.shown!r} {wrong}")
                before = reader.line_num
        except csv.Error as error:
            line = cells.skip + before + 1
            if "expected after" in str(error):
                return BadTable(
                    f"Line {line:,} of {cells.shown!r} has text after a closing quote. "
                    'Write a quote inside a cell twice ("").'
                )
            if "larger than" in str(error) and reader.line_num == before + 1:
                return BadTable(
                    f"Line {line:,} of {cells.shown!r} has a cell of more than {csv.field_size_limit():,} characters. "
                    "Shorten it, or leave the column out of the file."
                )
            within = f"not closed within {csv.field_size_limit():,} characters"
            return BadTable(
                f"A quote opened on line {line:,} of {cells.shown!r} is "
                f"{within if 'larger than' in str(error) else 'never closed'}. "
                'Close it, or write a quote inside a cell twice ("").'
            )
    return None


def _describe_ragged(record: Sequence[str], width: int) -> str:
    """What is wrong with the number of cells; a separator at the end of a line is no cell."""
    count = len(record) - (len(record) == width + 1 and not record[-1])
    if count in (0, width):
        return ""
    cells = "1 cell" if count == 1 else f"{count} cells"
    return f"has {cells} where the first line has {width}. Mend the line, or give another separator."


def plain(cells: Cells, target: Path) -> Cells:
    """A copy of a right but unusual file (lines end in different ways, or the first are empty) in the plainest form."""
    with _text(cells) as text, target.open("w", encoding="utf-8", newline="") as copy:
        reader = csv.reader(text, delimiter=cells.separator, skipinitialspace=True, strict=True)
        writer = csv.writer(copy, quoting=csv.QUOTE_ALL, lineterminator="\n")
        records = (record[: len(cells.names)] for record in reader if record)
        if cells.header and next(records, None) is not None:  # names are known, and may have line breaks
            writer.writerow([f"c{index}" for index in range(len(cells.names))])
        writer.writerows(records)
    return replace(cells, path=target, packed=False, separator=",", skip=0)


def values_among(names: Sequence[str], occurs: Callable[[int, str], bool], filled: Callable[[int], bool]) -> int:
    """How many of the names look like values, where they are so many that they are a row; else 0.

    Such a name is a number or a date above a column that is ``filled``, or it ``occurs`` in its own column.
    """
    plain = [name.strip() for name in names]
    numbers = [int(name) for name in plain if re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,14})", name)]
    if len(numbers) > 1 and all(later - one == 1 for one, later in pairwise(numbers)):
        return 0  # 2019, 2020, 2021, or 0, 1, 2: numbered columns
    suspects = [
        name
        for index, name in enumerate(plain)
        if name and ((_VALUE.fullmatch(name) and filled(index)) or occurs(index, name))
    ]
    return len(suspects) if len(suspects) > 1 and 2 * len(suspects) >= len(plain) else 0


def refuse_row(count: int, width: int) -> BadTable:
    """The sentence for a table whose names are a row: one person would be the header of the release."""
    return BadTable(
        f"The first row of the table looks like data, not like names of columns: {count} of its {width} entries are "
        "numbers, dates or values of their own column. Put a row of names above it, or say header = false under [data] "
        "and give names; else one person's values would be the header of the release. If they are names, say "
        "header = true."
    )
