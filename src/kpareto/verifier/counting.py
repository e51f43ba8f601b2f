"""Count what a released file holds, sharing no code with what wrote it.

The file is read cell by cell, a large one by one GROUP BY of DuckDB, and counted into plain dicts:
``classes[labels] = Class(rows, {sensitive column: {value: rows}})``. A table in a database is counted there, and only
gathered here.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Context
from pathlib import Path
from typing import Any
from unicodedata import category, decimal, normalize

from kpareto.errors import Unsafe
from kpareto.verifier.cells import NOTHING, SHEETS, STATISTICS, read_rows, text, text_form, with_point

QUASI = "quasi-identifier"
STAR = "*"  # what every quasi-identifier of a masked row shows
LARGE = 500_000  # rows of Parquet, or hundreds of bytes of text, above which an engine counts a release
NUMBER = re.compile(r"[+-]?(inf|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)", re.ASCII)
HIDDEN = (  # from and to: what Unicode lets a program leave undrawn, beside what is of control or format
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF),
)  # fmt: skip
ALIKE = {"\u2800": " "}  # a blank, dashes and apostrophes in other shapes
ALIKE |= dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-") | dict.fromkeys(
    "\u2018\u2019\u201b\u02bc", "'"
)
PARTS = (".parquet", ".parq", ".pq")
Labels = tuple[str, ...]


@dataclass
class Class:
    """The rows of a release that look alike on all quasi-identifiers."""

    rows: int = 0
    values: dict[str, Counter[str]] = field(default_factory=dict)  # sensitive column -> value -> rows
    persons: dict[tuple[str, ...], dict[str, set[str]]] | None = None  # id -> sensitive column -> values, where known


@dataclass(frozen=True)
class Counted:
    """What a release holds: its classes, its rows, and which program counted them."""

    classes: dict[Labels, Class]
    rows: int
    by: str
    digest: str | None = None  # SHA-256 of the file or of the parts; None where there is none
    files: tuple[str, ...] = ()  # the names of all files that were looked at


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, or of the names and hashes of the parts in a folder."""
    if path.is_dir():
        listed = "".join(f"{part.name}\0{file_digest(part)}\n" for part in _parts(path))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _parts(path: Path) -> list[Path]:
    """The file, or every file of a folder; a folder with anything that some reader might read besides is refused.

    Readers differ in what they take from a folder: subfolders, hidden files, endings in capitals. Only files that hold
    nothing (Spark's _SUCCESS) and the check sums of parts may lie beside the parts.
    """
    if not path.is_dir():
        return [path]
    parts = []
    for entry in sorted(path.iterdir()):
        hidden = entry.name.startswith((".", "_"))
        if entry.is_file() and entry.suffix.lower() in PARTS and not hidden:
            parts.append(entry)
        elif not entry.is_file() or not hidden or not _says_nothing(entry):
            raise Unsafe(
                f"The folder {str(path)!r} holds {entry.name!r}, which is no part of a release and which others may "
                "read. Remove it, and verify again."
            )
    return parts


def _says_nothing(entry: Path) -> bool:
    """Whether a hidden file is empty, or as long as the check sums of the part it is named after."""
    size, part = entry.stat().st_size, entry.with_name(entry.name.removeprefix(".").removesuffix(".crc"))
    sums = entry.name == f".{part.name}.crc" and part.is_file()
    return size == 0 or (sums and size == 8 + 4 * -(-part.stat().st_size // 512))


def count_file(path: Path, record: dict[str, Any]) -> Counted:
    """What a released file, or folder of parts, holds; ``record`` has the columns and their roles."""
    try:
        parts = _parts(path)
        if not parts:
            return Counted({}, 0, "Python")
        with parts[0].open("rb") as stream:
            start = stream.read(4)
        parquet = start == b"PAR1"
        # What the engine reads: Parquet, and text as it has it; neither workbooks nor files of Stata and SPSS.
        engine = parquet or (start not in (SHEETS, *STATISTICS) and text_form(record)[1] == "utf-8")
        large = engine and _size(parts, parquet) > LARGE
    except OSError as error:
        raise Unsafe(f"The release {str(path)!r} cannot be read ({error}).") from error
    files = tuple(part.name for part in parts)
    if large:
        return replace(gather(_group(parts, parquet, record), record, "DuckDB"), files=files)
    return replace(gather(_cells(parts, parquet, record), record, "Python"), files=files)


def _size(parts: list[Path], parquet: bool) -> float:
    """Rows of Parquet, which packs millions of equal ones into little; of text, about."""
    if not parquet:
        return sum(part.stat().st_size for part in parts) / 100
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return sum(pq.read_metadata(part).num_rows for part in parts)
    except pa.ArrowException:
        return 0  # reading it cell by cell tells what is wrong


def wanted_columns(record: dict[str, Any]) -> list[str]:
    """The columns that classes are made of: the quasi-identifiers, then the sensitive columns."""
    return [name for role in (QUASI, "sensitive") for name in record["columns"] if record["roles"][name] == role]


def gather(cells: Iterable[tuple[list[str], int]], record: dict[str, Any], by: str) -> Counted:
    """Classes from cells of the ``wanted`` columns, and how many rows have them."""
    names = wanted_columns(record)
    width = sum(record["roles"][name] == QUASI for name in names)
    classes: dict[Labels, Class] = {}
    rows = 0
    for row, times in cells:
        rows += times
        labels = tuple(row[:width])
        if labels not in classes:
            classes[labels] = Class(values={name: Counter() for name in names[width:]})
        entry = classes[labels]
        entry.rows += times
        for name, value in zip(names[width:], row[width:], strict=True):
            entry.values[name][value] += times
    return Counted(classes, rows, by)


def _cells(parts: list[Path], parquet: bool, record: dict[str, Any]) -> Iterator[tuple[list[str], int]]:
    """The wanted cells of each row, all as text."""
    columns = list(record["columns"])
    wanted = wanted_columns(record)
    places = [columns.index(name) for name in wanted]
    for path in parts:
        cells = read_rows(path, parquet, record, wanted)
        check_names(next(cells, []), columns)
        for number, row in enumerate(cells, 1):
            if len(row) != len(columns):
                raise Unsafe(
                    f"Row {number:,} of the release has {len(row)} cells where there are {len(columns)} columns."
                )
            yield [row[index] for index in places], 1


def check_names(names: list[str], columns: list[str]) -> None:
    """Raise unless a release has the columns that its certificate says, in the same order."""
    if names != columns:
        raise Unsafe(f"The release has the columns {', '.join(names)}; the certificate says {', '.join(columns)}.")


def _group(parts: list[Path], parquet: bool, record: dict[str, Any]) -> Iterator[tuple[list[str], int]]:
    """The wanted cells of each kind of row, and how many rows there are of it: one GROUP BY of DuckDB."""
    import duckdb

    columns = list(record["columns"])
    separator, _, comma = text_form(record)
    for path in parts:
        check_names(next(read_rows(path, parquet, record), []), columns)
    aliases = [f"c{index}" for index in range(len(columns))]
    places = [_literal(re.sub(r"([*?\[])", r"[\1]", str(part.absolute()))) for part in parts]
    source = f"read_parquet([{', '.join(places)}])"
    if not parquet:
        typed = ", ".join(f"'{name}': 'VARCHAR'" for name in aliases)
        dialect = f"auto_detect = false, header = true, quote = '\"', escape = '\"', columns = {{{typed}}}"
        dialect += f", delim = {_literal(separator)}"
        source = f"read_csv({places[0]}, {dialect}, force_not_null = {aliases})"
    chosen = ", ".join(aliases[columns.index(name)] for name in wanted_columns(record))
    try:
        with duckdb.connect(":memory:") as connection:
            with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets there is none to switch off
                connection.execute("SET enable_progress_bar = false")  # it would draw on standard output
            query = f"SELECT {chosen}, count(*) FROM {source} AS t({', '.join(aliases)}) GROUP BY ALL"
            *cells, times = connection.sql(query).to_arrow_table().combine_chunks().columns
            # Values repeat, so each is written once.
            columns = [[texts[index] for index in codes] for texts, codes in (_code(cell, comma) for cell in cells)]
            yield from zip(map(list, zip(*columns, strict=True)), times.to_pylist(), strict=True)
    except duckdb.Error as error:
        raise Unsafe(f"The release cannot be read ({str(error).partition(chr(10))[0]}).") from error


def _code(column: Any, comma: bool) -> tuple[list[str], list[int]]:
    """The text of each value in a column, and which of them each row has."""
    encoded = column.combine_chunks().dictionary_encode("encode")
    texts = [text(value) for value in encoded.dictionary.to_pylist()]
    return [with_point(cell) for cell in texts] if comma else texts, encoded.indices.to_pylist()


def with_persons(counted: Counted, cells: Iterable[tuple[Any, ...]], record: dict[str, Any], shown: str) -> Counted:
    """The same, with what each person of a class has; ``cells`` are labels, sensitive values, ids and rows.

    They come from the rows that were written, before the columns of persons were left out: every class must be there
    with the rows and values that it has in what was written. A row without an id is nobody's.
    """
    names = [name for name in wanted_columns(record) if record["roles"][name] == "sensitive"]
    seen: dict[Labels, Class] = {}
    for labels, values, ids, rows in cells:
        class_ = seen.setdefault(
            tuple(map(text, labels)), Class(values={name: Counter() for name in names}, persons={})
        )
        class_.rows += rows
        who = tuple(one_spelling(text(part)) if record["spellings"] == "fold" else text(part) for part in ids)
        person = None if class_.persons is None or NOTHING in who or "" in who else class_.persons.setdefault(who, {})
        for name, value in zip(names, map(text, values), strict=True):
            class_.values[name][value] += rows
            if person is not None:
                person.setdefault(name, set()).add(value)
    there = {labels: (class_.rows, class_.values) for labels, class_ in counted.classes.items()}
    if there != {labels: (class_.rows, class_.values) for labels, class_ in seen.items()}:
        raise Unsafe(f"The persons of {shown} were counted in other rows than those that were written. Release again.")
    return replace(counted, classes=seen)


def _is_hidden(character: str) -> bool:
    """Whether nothing is drawn for a character, not even a blank: of control or format, a filler, a variant's mark."""
    kind, place = category(character), ord(character)
    unseen = kind == "Cf" or (kind == "Cc" and not character.isspace())
    return unseen or any(first <= place <= last for first, last in HIDDEN)


def one_spelling(value: str) -> str:
    """A value in one of its spellings: form of characters, case, blanks and how a number is written left aside."""
    seen = normalize("NFKC", "".join(ALIKE.get(c, c) for c in value if not _is_hidden(c)))
    cased = normalize("NFKC", "".join(ALIKE.get(c, c) for c in seen).casefold())
    words = " ".join("".join(c if (digit := decimal(c, None)) is None else str(digit) for c in cased).split())
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,6})?", words, re.ASCII):
        return words
    number = Context(prec=len(words) + 1, Emin=-9_999_999, Emax=9_999_999).create_decimal(words)
    sign, digits, exponent = number.normalize(Context(len(words) + 1, Emin=-9_999_999, Emax=9_999_999)).as_tuple()
    return repr((sign and any(digits), digits, exponent if any(digits) else 0))


def order_values(values: Iterable[str]) -> list[str]:
    """Values of an ordered column: numbers by size where all are numbers (007 is none), else texts; no value last."""
    plain = [value for value in values if value != NOTHING]
    number = all(NUMBER.fullmatch(value) for value in plain)
    placed = sorted(plain, key=lambda value: (float(value) if number else 0.0, value.casefold(), value))
    return placed + [value for value in values if value == NOTHING]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
