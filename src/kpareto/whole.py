"""Files are written beside their target and moved into place when whole.

After a kill at any moment the target is absent, the old file, or the complete new one. What a killed program leaves
behind is a hidden file ``.NAME.….part``; the next one that writes the same target sweeps it away.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kpareto.errors import BadInput

PART = ".part"
_LOCK = ".lock"  # in a folder that is being written


@contextmanager
def whole(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; it becomes the target when the block ends, and vanishes when the block fails."""
    place = checked(target)
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}{PART}")
    held = -1
    try:
        _sweep(place)
        held = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(held)
        yield part
        os.fsync(held)
        part.replace(place)
        _settle(place.parent)
    except OSError as error:
        raise BadInput(f"Cannot write {str(target)!r}: {reason(error)}. Nothing was written.") from error
    finally:
        if held >= 0:
            os.close(held)
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def whole_folder(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write files into; it becomes the target when the block ends, and vanishes when the block fails.

    The target must not be there yet, or be empty: nobody's files are replaced.
    """
    place = Path(target).absolute()
    if not place.parent.is_dir():
        raise BadInput(f"Cannot write {str(target)!r}: there is no folder {str(place.parent)!r}. Make it first.")
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BadInput(f"Cannot write {str(target)!r}: it is there already. Remove it, or give another name.")
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}{PART}")
    held = -1
    try:
        _sweep(place)
        part.mkdir()
        held = os.open(part / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(held)
        yield part
        (part / _LOCK).unlink()
        if place.exists():
            place.rmdir()
        part.rename(place)
        _settle(place.parent)
    except OSError as error:
        raise BadInput(f"Cannot write {str(target)!r}: {reason(error)}. Nothing was written.") from error
    finally:
        if held >= 0:
            os.close(held)
        shutil.rmtree(part, ignore_errors=True)


def write_whole(target: str | os.PathLike[str], text: str) -> None:
    """Write a text file at once or not at all."""
    with whole(target) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def checked(target: str | os.PathLike[str]) -> Path:
    """The target with links followed; one that cannot become a plain file is a sentence."""
    shown = str(target)
    try:
        place = Path(target).resolve()
        if not place.parent.is_dir():
            raise BadInput(f"Cannot write {shown!r}: there is no folder {str(place.parent)!r}. Make it first.")
        if place.is_dir():
            raise BadInput(f"Cannot write {shown!r}: it is a folder. Give the name of a file in it.")
        if place.exists() and not place.is_file():
            raise BadInput(f"Cannot write {shown!r}: it is not a plain file. Give the name of a file.")
        # The owner of the folder could replace it all the same, but somebody said that it is to stay.
        if place.exists() and not place.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise BadInput(f"Cannot write {shown!r}: the file is read-only. Make it writable, or give another name.")
    except (OSError, ValueError) as error:
        raise BadInput(f"Cannot write {shown!r}: {reason(error)}.") from error
    return place


def reason(error: Exception) -> str:
    """Why a write failed, in words."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no space is left ({error.strerror})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__


def _lock(held: int) -> None:
    """Mark a part as being written, for as long as its writer lives."""
    try:
        import fcntl
    except ImportError:  # no locks there, so nothing is swept either
        return
    with suppress(OSError):
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(place: Path) -> None:
    """Remove the parts of this target whose writers are gone: nobody holds their lock."""
    try:
        import fcntl
    except ImportError:
        return
    for left in place.parent.iterdir():
        if left.name.startswith(f".{place.name}.") and left.name.endswith(PART):
            with suppress(OSError):
                held = os.open(left / _LOCK if left.is_dir() else left, os.O_RDWR)
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if left.is_dir():
                        shutil.rmtree(left)
                    else:
                        left.unlink()
                finally:
                    os.close(held)


def _settle(folder: Path) -> None:
    """Make the new name survive a power cut, where folders can be synchronised."""
    with suppress(OSError):
        held = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(held)
        finally:
            os.close(held)
