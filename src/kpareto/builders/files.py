"""Hierarchy files: one line per value with a label per level (ARX's layout), read and written byte for byte."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kpareto.builders.numbers import in_numeric_order
from kpareto.errors import BadHierarchy
from kpareto.hierarchy import Hierarchy, Layout, from_levels

SEPARATORS = (";", "\t", ",")
MARK = "\ufeff"  # the byte order mark some programs put at the start of a file


def read_lines(name: str, path: str | Path) -> Hierarchy:
    """The hierarchy in a file of lines such as ``39;35-39;30-49;*``."""
    return parse_lines(name, read_text(name, path))


def read_text(name: str, path: str | Path) -> str:
    """The text of a file that must be UTF-8, line ends as they are."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BadHierarchy(f"There is no file {str(path)!r} for the hierarchy of {name!r}. Check its path.") from None
    except OSError as error:
        raise BadHierarchy(
            f"The file {str(path)!r} for the hierarchy of {name!r} cannot be read: {error.strerror}."
        ) from error
    return decode(name, data, str(path))


def decode(name: str, data: bytes, where: str) -> str:
    """The text of UTF-8 bytes; for other bytes an error that names the byte and its line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        guess = "utf-16" if wide else "cp1252"
        raise BadHierarchy(
            f"The hierarchy of {name!r} in {where!r} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}. "
            f"Save the file as UTF-8; if it comes from a spreadsheet, it is probably {guess} "
            f"(iconv -f {guess} -t utf-8)."
        ) from None


def parse_lines(name: str, text: str) -> Hierarchy:
    """The hierarchy in a text of one line per value; its layout remembers how the text was written."""
    layout = find_layout(text)
    rows = split_lines(name, text, layout.separator)
    hierarchy = in_numeric_order(from_levels(name, rows))
    layout = replace(layout, order=hierarchy.layout.order)
    hierarchy = replace(hierarchy, layout=layout)
    if to_text(hierarchy) != text:  # mixed quotes or line ends: only the text itself gives the same bytes back
        hierarchy = replace(hierarchy, layout=replace(layout, text=text))
    return hierarchy


def split_lines(name: str, text: str, separator: str) -> list[list[str]]:
    """The entries of each line; blank lines at the end are left out."""
    body = text.removeprefix(MARK)
    if '"' in body:
        rows = _quoted_rows(name, body, separator)
    else:
        rows = [line.split(separator) for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    while rows and (not rows[-1] or rows[-1] == [""]):
        rows.pop()
    for number, row in enumerate(rows, 1):
        if not row or row == [""]:
            raise BadHierarchy(f"Line {number} of the hierarchy of {name!r} is empty. Remove it or fill it in.")
    return rows


def _quoted_rows(name: str, body: str, separator: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    try:
        return list(reader)
    except csv.Error as error:
        raise BadHierarchy(
            f"Line {reader.line_num} of the hierarchy of {name!r} cannot be read: {error}. "
            'Close every quote, and write a quote inside an entry twice ("").'
        ) from None


def find_layout(text: str) -> Layout:
    """How a text of lines was written: separator, line end, quotes, byte order mark."""
    body = text.removeprefix(MARK)
    newline = "\r\n" if "\r\n" in body else "\r" if "\r" in body and "\n" not in body else "\n"
    return Layout(
        separator=_separator(body),
        newline=newline,
        ends=body.endswith(newline),
        bom=text.startswith(MARK),
        quoted="all" if body.startswith('"') else "minimal",
    )


def _separator(body: str) -> str:
    """The separator that occurs equally often, and at all, in the first lines; ';' is tried first, ',' last."""
    lines = [line for line in body[:100_000].splitlines()[:20] if line]
    bare = ["".join(line.split('"')[::2]) for line in lines]  # what stands inside quotes separates nothing
    present = [mark for mark in SEPARATORS if any(mark in line for line in bare)]
    even = [mark for mark in present if len({line.count(mark) for line in bare}) == 1]
    return (even or present or [";"])[0]


def to_rows(hierarchy: Hierarchy) -> list[list[str]]:
    """One line per leaf with its label on every level, in the order of the file it came from."""
    columns = [
        [labels[group] for group in groups.tolist()]
        for labels, groups in zip(hierarchy.labels, hierarchy.groups, strict=True)
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    order = hierarchy.layout.order
    return rows if order is None else [rows[leaf] for leaf in order]


def to_text(hierarchy: Hierarchy) -> str:
    """The lines of a hierarchy as text, written as its layout says."""
    layout = hierarchy.layout
    rows = to_rows(hierarchy)
    if layout.text is not None and split_lines(hierarchy.name, layout.text, layout.separator) == rows:
        return layout.text
    body = layout.newline.join(_line(row, layout) for row in rows)
    return (MARK if layout.bom else "") + body + (layout.newline if layout.ends else "")


def _line(row: Sequence[str], layout: Layout) -> str:
    special = (layout.separator, '"', "\n", "\r")
    return layout.separator.join(
        '"' + entry.replace('"', '""') + '"'
        if layout.quoted == "all" or any(mark in entry for mark in special)
        else entry
        for entry in row
    )


def write_lines(hierarchy: Hierarchy, path: str | Path) -> None:
    """Write a hierarchy as a file of lines; one read from such a file is written back byte for byte."""
    Path(path).write_bytes(to_text(hierarchy).encode("utf-8"))
