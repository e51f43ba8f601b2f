"""How large a packed file is when it is unpacked, found out before anybody unpacks it for good."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from kpareto.errors import BadTable, Progress

STEP = 1 << 20  # bytes that are looked at at once
TIMES = 10  # an unpacked table may be so many times the largest upload


def unpacked_size(path: Path, most: int, report: Progress) -> int:
    """Bytes of a file when unpacked; where it is more than ``most``, some number above it. A broken one counts 0."""
    name = path.name.lower()
    if name.endswith(".gz"):
        return _gzip_size(path, most, report)
    if name.endswith((".xlsx", ".zip")):
        try:
            with zipfile.ZipFile(path) as archive:
                return sum(member.file_size for member in archive.infolist())
        except (OSError, zipfile.BadZipFile):
            return 0  # the reader says what is wrong with it
    if name.endswith((".parquet", ".parq", ".pq")):
        return _parquet_size(path)
    return path.stat().st_size


def _gzip_size(path: Path, most: int, report: Progress) -> int:
    """By unpacking into nothing: what the file says of itself may be a lie."""
    size, told, total = 0, 0, path.stat().st_size
    unpacker = zlib.decompressobj(wbits=31)
    try:
        with path.open("rb") as file:
            while piece := file.read(STEP):
                told += len(piece)
                while piece:
                    size += len(unpacker.decompress(piece, STEP))
                    if size > most:
                        return size
                    piece = unpacker.unconsumed_tail
                    if unpacker.eof:
                        piece, unpacker = unpacker.unused_data, zlib.decompressobj(wbits=31)
                report(told, total)
    except (OSError, zlib.error):
        return 0
    return size


def _parquet_size(path: Path) -> int:
    """By its footer; rows that are packed to almost nothing count a byte per cell at least."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return 0
    groups = (about.row_group(place).total_byte_size for place in range(about.num_row_groups))
    return max(sum(groups), about.num_rows * about.num_columns)


def refuse_large(path: Path, limit: int, report: Progress) -> None:
    """Raise where an uploaded file would be far larger unpacked than any upload may be."""
    most = TIMES * limit
    if unpacked_size(path, most, report) > most:
        raise BadTable(
            f"{path.name!r} is larger than {most / 2**20:,.0f} MB when it is unpacked, {TIMES} times the largest "
            "upload. Put it into the working folder and open it from there, or start kpareto serve with a larger "
            "--upload-limit."
        )
