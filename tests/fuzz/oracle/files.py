"""What a written release holds: its rows as anybody would read them, its classes, and every byte that could tell more."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, str]


def text_of(value: object) -> str:
    """A cell as text: numbers without a needless point, dates as ISO, nothing as an empty text."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat()).removesuffix("T00:00:00")
    return str(value)


def read_rows(place: Path) -> list[Row]:
    """The rows of a CSV, TSV, gzip or Parquet file, or of all Parquet parts below a folder."""
    if place.is_dir():
        parts = [part for part in sorted(place.rglob("*")) if part.is_file() and part.name[0] not in "._"]
        return [row for part in parts for row in read_rows(part)]
    if place.suffix.lower() in (".parquet", ".pq"):
        return [{k: text_of(v) for k, v in row.items()} for row in pq.ParquetFile(place).read().to_pylist()]
    raw = place.read_bytes()
    raw = gzip.decompress(raw) if place.suffix == ".gz" else raw
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if ".tsv" in place.name else ",")
    header, *rows = list(reader)
    return [dict(zip(header, row, strict=True)) for row in rows if row or len(header) == 1]


def read_frame(frame: Any) -> list[Row]:
    """The rows of a pandas, polars or pyarrow frame."""
    if isinstance(frame, pa.Table):
        listed = frame.to_pylist()
    elif hasattr(frame, "to_dicts"):
        listed = frame.to_dicts()
    else:
        listed = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(k): text_of(v) for k, v in row.items()} for row in listed]


def groups_of(rows: Iterable[Row], quasi: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    """The classes of released rows."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in quasi), []).append(row)
    return found


# -- leaks ---------------------------------------------------------------------------------------------------------


def file_texts(place: Path) -> list[tuple[str, bytes]]:
    """Everything that stands in a file, unpacked: (where, bytes)."""
    if place.is_dir():
        inside = [(part, part.relative_to(place)) for part in sorted(place.rglob("*")) if part.is_file()]
        return [(f"{name}: {where}", raw) for part, name in inside for where, raw in file_texts(part)]
    raw = place.read_bytes()
    found = [("bytes", raw)]
    if raw[:2] == b"\x1f\x8b":
        found.append(("unpacked", gzip.decompress(raw)))
    if raw[:4] == b"PAR1":
        found += parquet_texts(raw)
    if raw[:4] == b"PK\x03\x04":
        packed = zipfile.ZipFile(io.BytesIO(raw))
        found += [(f"packed {name}", packed.read(name)) for name in packed.namelist()]
    if raw[:1] == b"\x78":  # what zlib packs begins so, and so does a text whose first letter is x
        with suppress(zlib.error):
            found.append(("unpacked", zlib.decompress(raw)))
    return found


def parquet_texts(raw: bytes) -> list[tuple[str, bytes]]:
    """The footer's statistics and every word of the dictionaries, those that no row uses too."""
    file = pq.ParquetFile(io.BytesIO(raw))
    names = file.schema_arrow.names
    found = [("footer", repr(file.metadata.metadata).encode() + repr(file.schema_arrow.metadata).encode())]
    for group in range(file.metadata.num_row_groups):
        for place, name in enumerate(names):
            numbers = file.metadata.row_group(group).column(place).statistics
            if numbers is not None and numbers.has_min_max:
                found.append((f"statistics of {name}", f"{numbers.min}\n{numbers.max}".encode()))
    texts = [field.name for field in file.schema_arrow if _of_words(field.type)]
    for name, column in zip(
        texts, pq.ParquetFile(io.BytesIO(raw), read_dictionary=texts).read(texts).columns, strict=True
    ):
        words = [chunk.dictionary.to_pylist() for chunk in column.chunks if pa.types.is_dictionary(chunk.type)]
        found += [(f"dictionary of {name}", "\n".join(map(str, listed)).encode()) for listed in words]
    return found


def _of_words(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)


def parquet_counts(place: Path) -> list[str]:
    """Columns whose footer or dictionary counts more values than the rows show, in sentences."""
    found = []
    for part in sorted(place.rglob("*.parquet")) if place.is_dir() else [place]:
        file = pq.ParquetFile(part)
        for group in range(file.metadata.num_row_groups):
            table = file.read_row_group(group)
            for at, name in enumerate(file.schema_arrow.names):
                shown = len(set(table.column(at).drop_null().to_pylist()))
                told = file.metadata.row_group(group).column(at).statistics
                if told is not None and told.distinct_count is not None and told.distinct_count > shown:
                    found.append(f"{name!r} shows {shown} values and its footer counts {told.distinct_count}")
                if _of_words(table.schema.field(at).type):
                    words = _words(part, name)
                    if words > shown:
                        found.append(f"{name!r} shows {shown} values and its dictionary has {words} slots")
    return found


def _words(part: Path, name: str) -> int:
    chunks = pq.ParquetFile(part, read_dictionary=[name]).read([name]).column(0).chunks
    return max((len(c.dictionary) for c in chunks if pa.types.is_dictionary(c.type)), default=0)


def told(secrets: Iterable[str], texts: Iterable[tuple[str, bytes]]) -> list[str]:
    """Where a secret stands, in sentences; as it is, as JSON and HTML escape it, and in UTF-16."""
    found = []
    listed = list(texts)
    for secret in secrets:
        spellings = {secret.encode(), secret.encode("utf-16-le"), secret.encode("ascii", "backslashreplace")}
        spellings.add(secret.replace("&", "&amp;").replace("<", "&lt;").encode())
        found += [f"{secret!r} stands in {where}" for where, raw in listed if any(s in raw for s in spellings)]
    return found


def only_lost(values: Mapping[str, Sequence[str]], lost: Iterable[int]) -> set[str]:
    """Values that no row outside the lost ones has, in any column."""
    gone = set(lost)
    shown = {cells[row] for cells in values.values() for row in range(len(cells)) if row not in gone}
    return {cells[row] for cells in values.values() for row in gone} - shown


def leak_name(secrets: Iterable[str], rows: Sequence[Row], quasi: Sequence[str]) -> str:
    """What a leak is called: one in the names of groups, or any other."""
    labels = "\n".join({row[name] for row in rows for name in quasi})
    return "a leak in a label" if any(secret in labels for secret in secrets) else "a leak"
