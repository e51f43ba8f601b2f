"""The temporary folder of a server: gone when it ends, and swept by the next one where it could not be."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
