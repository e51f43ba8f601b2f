"""Text files of cells (CSV, TSV): which encoding, which separator, which columns, and where the first bad line is.

The cells themselves are read by the engine in files.py. This room looks at the first megabyte beforehand and, only
when the engine stumbles, at the whole file, to name the line that is wrong.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from kpareto.errors import BadJob, BadTable
from kpareto.texts import BLANKS

SEPARATORS = (",", ";", "\t", "|")
HEAD = 1 << 20  # bytes looked at beforehand, and read at a time
SAMPLE = 100  # lines the separator is recognised by
# How files that hold no text begin, longest first where one begins like another.
_BEGINNINGS = (
    (b"PK\x03\x04", "a zip archive or a spreadsheet"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet"),
    (b"SQLite format 3", "an SQLite database"),
    (b"ARROW1", "an Arrow file"),
    (b"%PDF-", "a PDF"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"\xfd7zXZ", "compressed by xz"),
    (b"BZh91AY&SY", "compressed by bzip2"),
)
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Csv:
    """A text file of cells, with what the file itself does not tell.

    Without a separator it is recognised among comma, semicolon, tab and bar; without names the first line has them.
    """

    path: str | Path
    encoding: str = "utf-8"
    separator: str | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError:
            raise BadJob(
                f"No encoding {self.encoding!r} is known. Take utf-8, utf-16, latin-1, cp1252 or another of Python's."
            ) from None
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise BadJob(f"The separator is {self.separator!r}. Give one character, such as ',' or ';'.")


@dataclass(frozen=True)
class Cells:
    """How a text file is laid out."""

    shown: str  # the file's name in sentences
    path: Path  # the file, or a copy of it in UTF-8
    packed: bool  # by gzip
    separator: str
    skip: int  # empty lines before the first that counts; the engine would take them for line ends of the whole file
    header: bool
    names: tuple[str, ...]


def examine(source: Csv, folder: Path) -> Cells:
    """Look at the beginning of a file; one that is not UTF-8 is copied into the folder as UTF-8."""
    shown, path = str(source.path), Path(source.path)
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    beginning = _beginning(path, packed, shown)
    encoding = codecs.lookup(source.encoding).name
    if encoding in ("utf-8", "utf-8-sig"):
        encoding = next((name for mark, name in _MARKS if beginning.startswith(mark)), "utf-8")
    if encoding == "utf-8":
        _check_text(beginning, shown)
    else:
        path, packed = _copied(path, packed, encoding, folder / "copy.csv", shown), False
    with _bytes(path, packed, shown) as stream:
        text = next(decoded(stream, "utf-8", shown), "")
    blank = re.match(r"(?: *(?:\r\n|\r|\n))*", text)
    skip = len(blank.group().splitlines()) if blank else 0
    text = text[blank.end() :] if blank else text
    if not text.strip():
        raise _empty(shown)
    cells = Cells(shown, path, packed, source.separator or _separator(text), skip, source.names is None, ())
    first = next(iter(_records(text, cells.separator)), None)
    if first is None:  # the very first line does not end
        raise complaint(replace(cells, names=("",))) or BadTable(f"The first line of {shown!r} cannot be read.")
    names = tuple(name.strip(BLANKS) for name in first) if source.names is None else tuple(source.names)
    if len(names) != len(first):
        raise BadTable(
            f"{len(names)} column names are given for {shown!r}, and its first line has {len(first)} cells. "
            "Give one name per cell, or another separator."
        )
    return replace(cells, names=names)


def _beginning(path: Path, packed: bool, shown: str) -> bytes:
    with _bytes(path, packed, shown) as stream:
        beginning = stream.read(HEAD)
    if not beginning:
        raise _empty(shown)
    for start, kind in _BEGINNINGS:
        if beginning.startswith(start):
            raise BadTable(
                f"File {shown!r} is {kind}, not a CSV or Parquet file. Save its table as CSV or Parquet and give that."
            )
    return beginning


def _empty(shown: str) -> BadTable:
    return BadTable(f"File {shown!r} is empty. Give a file with a line of column names and at least one row.")


def _check_text(beginning: bytes, shown: str) -> None:
    nulls = beginning.count(0)
    if not nulls:
        return
    if nulls * 3 > len(beginning) and not beginning[::2].count(0) * beginning[1::2].count(0):
        name = "utf-16-le" if beginning[1::2].count(0) else "utf-16-be"
        raise BadTable(f"File {shown!r} is not UTF-8; it looks like UTF-16. {_give(name)}")
    raise BadTable(f"File {shown!r} is a binary file, not text. Give a CSV or Parquet file.")


def _give(name: str, what: str = "") -> str:
    such = f"{what}, such as " if what else ""
    return f'Give {such}encoding="{name}". In a job it stands under [data]; inspect and apply take --encoding {name}.'


@contextmanager
def _bytes(path: Path, packed: bool, shown: str) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw:
        try:
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadTable(f"File {shown!r} is not a whole gzip file ({error}). Copy or compress it again.") from error


def decoded(stream: IO[bytes], encoding: str, shown: str) -> Iterator[str]:
    """The text of a file piece by piece; a byte that does not belong is named with its line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    offset, line, first = 0, 1, True
    while True:
        piece = stream.read(HEAD)
        held = len(decoder.getstate()[0])
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(encoding, errors="replace").count("\n")
            name = encoding.upper()
            other = "its encoding" if name == "UTF-8" else "another encoding"
            raise BadTable(
                f"File {shown!r} is not {name}: byte 0x{error.object[error.start]:02x} at offset "
                f"{offset - held + error.start:,} (line {line:,}) is not part of a character. "
                f"{_give('latin-1', other)}"
            ) from None
        if not piece and not text:
            return
        offset += len(piece)
        line += text.count("\n")
        yield text.removeprefix("\ufeff") if first else text
        first = False


def _copied(path: Path, packed: bool, encoding: str, target: Path, shown: str) -> Path:
    with _bytes(path, packed, shown) as stream, target.open("w", encoding="utf-8", newline="") as copy:
        copy.writelines(decoded(stream, encoding, shown))
    return target


def _records(text: str, separator: str) -> list[list[str]]:
    """The first lines of a text as cells; the last one is left out where the text may have been cut there."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    found: list[list[str]] = []
    try:
        for record in reader:
            found.append(record)
            if len(found) > SAMPLE:
                break
    except csv.Error:
        return found
    whole = len(found) <= 1 or len(found) > SAMPLE or len(text) < HEAD // 4
    return found if whole else found[:-1]


def _separator(text: str) -> str:
    """The separator that gives every line as many cells as the first, as many as possible."""

    def score(separator: str) -> tuple[bool, int]:
        widths = [len(record) for record in _records(text, separator) if record]
        width = widths[0] if widths else 0
        return width > 1 and all(other == width for other in widths), width

    best = max(SEPARATORS, key=score)
    line = re.split(r"[\r\n]", text, maxsplit=1)[0]
    # A quote that is never closed hides the separator: take the first there is, so that the quote is complained about.
    return best if score(best)[1] > 1 else next((mark for mark in SEPARATORS if mark in line), best)


@contextmanager
def _text(cells: Cells) -> Iterator[io.TextIOWrapper]:
    with _bytes(cells.path, cells.packed, cells.shown) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        for _ in range(cells.skip):
            text.readline()
        yield text


def complaint(cells: Cells) -> BadTable | None:
    """What is wrong with a text file, as an error that names the line; None where nothing is."""
    with _bytes(cells.path, cells.packed, cells.shown) as stream:
        for _ in decoded(stream, "utf-8", cells.shown):
            pass
    with _text(cells) as text:
        reader = csv.reader(text, delimiter=cells.separator, skipinitialspace=True, strict=True)
        before = 0
        try:
            for record in reader:
                wrong = _ragged(record, len(cells.names))
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
            return BadTable(
                f"A quote opened on line {line:,} of {cells.shown!r} is never closed. "
                'Close it, or write a quote inside a cell twice ("").'
            )
    return None


def _ragged(record: Sequence[str], width: int) -> str:
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
        writer.writerows(record[: len(cells.names)] for record in reader if record)
    return replace(cells, path=target, packed=False, separator=",", skip=0)
