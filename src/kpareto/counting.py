"""Count what a released file holds, sharing no code with what wrote it.

The file is read cell by cell with Python's csv module (pyarrow for Parquet), a large one by one GROUP BY of DuckDB, and
counted into plain dicts: ``classes[labels] = Class(rows, {sensitive column: {value: rows}})``. A table in a database is
counted there, and only gathered here.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kpareto.errors import Unsafe

QUASI = "quasi-identifier"
LARGE = 500_000  # rows of Parquet, or hundreds of bytes of text, above which an engine counts a release
PARTS = (".parquet", ".parq", ".pq")
Labels = tuple[str, ...]


@dataclass
class Class:
    """The rows of a release that look alike on all quasi-identifiers."""

    rows: int = 0
    values: dict[str, Counter[str]] = field(default_factory=dict)  # sensitive column -> value -> rows


@dataclass(frozen=True)
class Counted:
    """What a release holds: its classes, its rows, and which program counted them."""

    classes: dict[Labels, Class]
    rows: int
    by: str
    digest: str | None = None  # SHA-256 of the file or of the parts; None where there is none


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, or of the names and hashes of the parts in a folder."""
    if path.is_dir():
        listed = "".join(f"{part.name}\0{file_digest(part)}\n" for part in _parts(path))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _parts(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(part for part in path.iterdir() if part.suffix in PARTS and not part.name.startswith((".", "_")))


def count(path: Path, said: dict[str, Any]) -> Counted:
    """What a released file, or folder of parts, holds; ``said`` has the columns and their roles."""
    parts = _parts(path)
    try:
        if not parts:
            return Counted({}, 0, "Python")
        with parts[0].open("rb") as stream:
            parquet = stream.read(4) == b"PAR1"
        large = _size(parts, parquet) > LARGE
        digest = file_digest(path)
    except OSError as error:
        raise Unsafe(f"The release {str(path)!r} cannot be read ({error}).") from error
    if large:
        return gather(_grouped(parts, parquet, said), said, "DuckDB", digest)
    return gather(_cells(parts, parquet, said), said, "Python", digest)


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


def wanted(said: dict[str, Any]) -> list[str]:
    """The columns that classes are made of: the quasi-identifiers, then the sensitive columns."""
    roles = said["roles"]
    return [n for n in said["columns"] if roles[n] == QUASI] + [n for n in said["columns"] if roles[n] == "sensitive"]


def gather(cells: Iterable[tuple[list[str], int]], said: dict[str, Any], by: str, digest: str | None = None) -> Counted:
    """Classes from cells of the ``wanted`` columns, and how many rows have them."""
    names = wanted(said)
    width = sum(said["roles"][name] == QUASI for name in names)
    classes: dict[Labels, Class] = {}
    rows = 0
    for row, times in cells:
        rows += times
        labels = tuple(row[:width])
        if labels not in classes:
            classes[labels] = Class(values={name: Counter() for name in names[width:]})
        found = classes[labels]
        found.rows += times
        for name, value in zip(names[width:], row[width:], strict=True):
            found.values[name][value] += times
    return Counted(classes, rows, by, digest)


def _cells(parts: list[Path], parquet: bool, said: dict[str, Any]) -> Iterator[tuple[list[str], int]]:
    """The wanted cells of each row, all as text."""
    columns = list(said["columns"])
    places = [columns.index(name) for name in wanted(said)]
    for path in parts:
        cells = _rows(path, parquet)
        _check_names(next(cells, []), columns)
        for number, row in enumerate(cells, 1):
            if len(row) != len(columns):
                raise Unsafe(
                    f"Row {number:,} of the release has {len(row)} cells where there are {len(columns)} columns."
                )
            yield [row[place] for place in places], 1


def _check_names(names: list[str], columns: list[str]) -> None:
    if names != columns:
        raise Unsafe(f"The release has the columns {', '.join(names)}; the certificate says {', '.join(columns)}.")


def _rows(path: Path, parquet: bool) -> Iterator[list[str]]:
    """The names of the columns, then each row, all as text."""
    try:
        if parquet:
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                yield list(file.schema_arrow.names)
                for batch in file.iter_batches():
                    texts = [[text(value) for value in column.to_pylist()] for column in batch.columns]
                    yield from map(list, zip(*texts, strict=True))
        else:
            with path.open(encoding="utf-8", newline="") as lines, ExitStack() as after:
                after.callback(csv.field_size_limit, csv.field_size_limit(2**31 - 1))  # the setting is everybody's
                yield from csv.reader(lines, strict=True)
    except (OSError, ValueError, csv.Error) as error:
        raise Unsafe(f"The release {str(path)!r} cannot be read ({str(error).partition(chr(10))[0]}).") from error


def _grouped(parts: list[Path], parquet: bool, said: dict[str, Any]) -> Iterator[tuple[list[str], int]]:
    """The wanted cells of each kind of row, and how many rows there are of it: one GROUP BY of DuckDB."""
    import duckdb

    columns = list(said["columns"])
    for path in parts:
        _check_names(next(_rows(path, parquet), []), columns)
    own = [f"c{place}" for place in range(len(columns))]
    places = [_literal(re.sub(r"([*?\[])", r"[\1]", str(part.absolute()))) for part in parts]
    source = f"read_parquet([{', '.join(places)}])"
    if not parquet:
        typed = ", ".join(f"'{name}': 'VARCHAR'" for name in own)
        given = f"auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', columns = {{{typed}}}"
        source = f"read_csv({places[0]}, {given}, force_not_null = {own})"
    chosen = ", ".join(own[columns.index(name)] for name in wanted(said))
    try:
        with duckdb.connect(":memory:") as connection:
            query = f"SELECT {chosen}, count(*) FROM {source} AS t({', '.join(own)}) GROUP BY ALL"
            *cells, times = connection.sql(query).to_arrow_table().combine_chunks().columns
            # Values repeat, so each is written once.
            columns = [[texts[place] for place in codes] for texts, codes in map(_coded, cells)]
            yield from zip(map(list, zip(*columns, strict=True)), times.to_pylist(), strict=True)
    except duckdb.Error as error:
        raise Unsafe(f"The release cannot be read ({str(error).partition(chr(10))[0]}).") from error


def _coded(column: Any) -> tuple[list[str], list[int]]:
    """The text of each value in a column, and which of them each row has."""
    found = column.combine_chunks().dictionary_encode("encode")
    return [text(value) for value in found.dictionary.to_pylist()], found.indices.to_pylist()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def text(value: object) -> str:
    """A typed cell as the CSV form of the release writes it."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "(missing)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if isinstance(value, decimal.Decimal):
        plain = format(value, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return value.isoformat() if isinstance(value, dt.date) else str(value)
