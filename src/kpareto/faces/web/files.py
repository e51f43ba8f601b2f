"""Files that the page reads and is sent: names that stay in a folder, uploads and their size, the temporary folder."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kpareto.engines.duckdb.copies import is_packed, open_packed
from kpareto.errors import BadInput, BadTable, Progress

QUOTA = 3  # all files of a session together may have so many times the size of the largest upload
TIMES = 10  # an unpacked table may be so many times the largest upload
STEP = 1 << 20  # bytes that are unpacked at once


def inside(folder: Path, name: str) -> Path:
    """The path of a name in a folder; one that leads outside, by dots, links or a leading slash, is refused."""
    if not name or "\0" in name or name.startswith("~"):
        raise BadInput(f"{name!r} is no name of a file in the working folder. Choose one from the list.")
    root = folder.resolve()
    place = (root / name).resolve()
    if Path(name).is_absolute() or not place.is_relative_to(root):
        raise BadInput(f"{name!r} is not in the working folder. Only files in it can be used; move it there first.")
    return place


def plain_name(name: str, otherwise: str) -> str:
    """A file name without folders and without signs that mean something to a shell or a browser."""
    last = re.split(r"[/\\]", name)[-1]
    kept = re.sub(r"[^\w.() -]", "_", last).strip(" .")
    return kept[-120:] or otherwise


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder by their names, two folders deep; hidden ones and links that lead out are left out."""
    for place in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = place.relative_to(folder)
        hidden = any(part.startswith(".") for part in name.parts)
        if not hidden and place.is_file() and place.resolve().is_relative_to(folder):
            yield name.as_posix(), place


class TooLarge(BadInput):
    """More was sent than is taken."""


async def receive(chunks: AsyncIterator[bytes], length: int, target: Path, limit: int, left: int) -> None:
    """Write what is sent to a file; too much, by itself or for the session, is refused at once, and nothing stays."""
    sentence = f"The file is larger than {limit / 2**20:,.0f} MB, the most that can be uploaded. Put it into the "
    sentence += "working folder and open it from there, or start kpareto serve with a larger --upload-limit."
    if length > limit:
        raise TooLarge(sentence)
    full = f"The files of this session have {QUOTA} times the size of the largest upload already. Open another table, "
    full += "or reload the page in a new window, to begin with none."
    part = target.with_name(target.name + ".part")
    size = 0
    try:
        with part.open("wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise TooLarge(sentence)
                if size > left:
                    raise TooLarge(full)
                file.write(chunk)
        if size == 0:
            raise BadInput(f"The file {target.name!r} is empty.")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def unpacked_size(path: Path, most: int, report: Progress) -> int:
    """Bytes of a file when unpacked; where it is more than ``most``, some number above it. A broken one counts 0."""
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"\x1f\x8b") or path.name.lower().endswith(".gz"):
        return _gzip_size(path, most, report)
    if start.startswith(b"PK\x03\x04"):  # workbooks too
        try:
            with zipfile.ZipFile(path) as archive:
                return sum(member.file_size for member in archive.infolist())
        except (OSError, zipfile.BadZipFile):
            return 0  # the reader says what is wrong with it
    if start.startswith(b"PAR1"):
        return _parquet_size(path)
    return _packed_size(path, most) if is_packed(path) else path.stat().st_size


def _packed_size(path: Path, most: int) -> int:
    """By unpacking into nothing."""
    size = 0
    try:
        with open_packed(path) as packed:
            while size <= most and (piece := packed.read(STEP)):
                size += len(piece)
    except (OSError, EOFError, MemoryError, lzma.LZMAError):
        return 0
    return size


def _gzip_size(path: Path, most: int, report: Progress) -> int:
    """By unpacking into nothing: what the file says of itself may be a lie."""
    size, reported, total = 0, 0, path.stat().st_size
    unpacker = zlib.decompressobj(wbits=31)
    try:
        with path.open("rb") as file:
            while piece := file.read(STEP):
                reported += len(piece)
                while piece:
                    size += len(unpacker.decompress(piece, STEP))
                    if size > most:
                        return size
                    piece = unpacker.unconsumed_tail
                    if unpacker.eof:
                        piece, unpacker = unpacker.unused_data, zlib.decompressobj(wbits=31)
                report(reported, total)
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


# The temporary folder of a server is gone when it ends, and swept by the next one where it could not be.
PREFIX = "kpareto-web-"
LOCK = "server.lock"
YOUNG = 60.0  # seconds in which a folder may still get its lock


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for its owner alone, marked as in use until the block ends; those of dead servers are removed first."""
    sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        descriptor = os.open(Path(name) / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
            yield Path(name)
        finally:
            os.close(descriptor)


def sweep(where: Path) -> list[str]:
    """Remove the folders of servers that are no more, whatever ended them; the names of those that went."""
    swept = []
    for folder in where.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_dir() and not folder.is_symlink() and _is_ours(folder) and _is_dead(folder):
                shutil.rmtree(folder, ignore_errors=True)
                swept.append(folder.name)
    return swept


def _is_ours(folder: Path) -> bool:
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _is_dead(folder: Path) -> bool:
    """Whether nobody holds the lock; a folder without one is dead when it is old enough to have got it."""
    lock = folder / LOCK
    if not lock.exists():
        return time.time() - folder.stat().st_mtime > YOUNG
    descriptor = os.open(lock, os.O_RDWR)
    try:
        return _lock(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock of a folder; the system gives it back when the process ends, in whichever way."""
    try:
        import fcntl
    except ImportError:  # no locks there, so nothing is swept either
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
