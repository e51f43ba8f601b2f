"""Files are written beside their target and moved into place when whole.

After a kill at any moment the target is absent, the old file, or the complete new one. What a killed program leaves
behind is a hidden file ``.NAME.….part``; the next one that writes the same target sweeps it away.

A release and its documents are several files, and no file system moves several names at once. So a hidden journal
``.NAME.journal`` says what is about to be moved, and stands there until all is done. Whoever finds one after a kill can
tell what was moved: the next writer puts the old documents back beside the old release, and until then ``verify`` says
why the two do not belong together.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import signal
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kpareto.errors import BadInput, BadJob, KparetoError

try:
    import fcntl
except ImportError:  # a system without such locks, where nothing is swept and nobody is waited for
    fcntl = None  # type: ignore[assignment]

PART = ".part"
JOURNAL = ".journal"  # the verifier has the same word, and no code of this room


@contextmanager
def whole(target: str | os.PathLike[str], private: bool = False) -> Iterator[Path]:
    """A path to write to; it becomes the target when the block ends, and vanishes when the block fails.

    A target that is there keeps its mode; a new one that is private can be read by its owner alone.
    """
    place = check_target(target)
    with ExitStack() as last, _telling(target):
        repair(place.parent)
        _sweep(place)
        part, descriptor = _open(place, private, last)
        yield part
        os.fsync(descriptor)
        part.replace(place)
        _settle(place.parent)


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
    with ExitStack() as last, _telling(target):
        repair(place.parent)
        _sweep(place)
        part = _open_folder(place, last)
        yield part
        if place.exists():
            place.rmdir()
        part.rename(place)
        _settle(place.parent)


def write_whole(target: str | os.PathLike[str], text: str, private: bool = False) -> None:
    """Write a text file at once or not at all."""
    with whole(target, private) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class Document:
    """A text that goes with something else."""

    text: str
    private: bool = False  # for its owner alone


# Where each goes; None: one that is there goes away with what it belonged to.
Documents = Mapping[Path, Document | None]


@dataclass(frozen=True)
class Moving:
    """What the documents belong to: where it lies hidden now, and the file or folder that it becomes."""

    part: Path
    path: Path


class Placing(Protocol):
    """Puts documents into place, and says in the journal what they belong to."""

    def __call__(self, documents: Documents, moving: Moving | None = None) -> None:
        """All of them, or none."""


@dataclass(frozen=True)
class _Move:
    """A document on its way into place."""

    target: Path
    part: Path | None  # None: it goes away
    before: Path | None  # a second name of the one that was there


@contextmanager
def documents_first() -> Iterator[Placing]:
    """A function that puts documents into place just before what they belong to: all come, or everything is as it was.

    What they belong to is moved into place inside the block, after the documents. Where that fails the documents go
    again, and those that were there before come back; after a kill the next writer does that, by the journal. From the
    first document on nobody else puts documents into the same folder, so that of several writers one has all the names.
    They are whole on the disk before the first is moved, so a full disk is found out in time.
    """
    moved: list[_Move] = []
    belonging: list[tuple[Path, int | None]] = []  # where it goes, and its number
    with ExitStack() as last:

        def place(documents: Documents, moving: Moving | None = None) -> None:
            ready = [(check_target(target), document) for target, document in documents.items()]
            folders = sorted({target.parent for target, _ in ready})
            for folder in folders:
                last.enter_context(_alone_in(folder))
                _repair_all(folder)
            moves = [_make_ready(target, document, last) for target, document in ready]
            for folder in folders:
                here = [move for move in moves if move.target.parent == folder]
                _write_journal(here, moving, last)
            if moving is not None:
                belonging.append((moving.path, _number(moving.part)))
            for move in moves:
                with _telling(move.target):
                    moved.append(move)
                    if move.part is None:
                        move.target.unlink(missing_ok=True)
                    else:
                        move.part.replace(move.target)
                    _settle(move.target.parent)

        try:
            yield place
        except BaseException:
            # Ctrl-C may come when what they belong to has just got its name: then they stay with it.
            if not any(_number(path) == number for path, number in belonging):
                with _hold_interrupts():
                    for move in reversed(moved):
                        _put_back(move.target, move.before)
            raise


@contextmanager
def _hold_interrupts() -> Iterator[None]:
    """A further Ctrl-C waits until the block has ended."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _telling(target: str | os.PathLike[str]) -> Iterator[None]:
    """What goes wrong with a file is a sentence."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"Cannot write {str(target)!r}: {reason(error)}. Nothing was written.") from error


def _make_ready(target: Path, document: Document | None, last: ExitStack) -> _Move:
    """A document whole on the disk beside its place, and a second name for the one that is there."""
    with _telling(target):
        _sweep(target)
        if document is None:
            return _Move(target, None, _keep(target, last))
        part, descriptor = _open(target, document.private, last)
        part.write_text(document.text, encoding="utf-8", newline="\n")
        os.fsync(descriptor)
        return _Move(target, part, _keep(target, last))


def _put_back(target: Path, before: Path | None) -> None:
    """The document that was there before, or none."""
    if before is None:
        target.unlink(missing_ok=True)
    else:
        before.replace(target)


# -- the journal -------------------------------------------------------------------------------------------------


def _write_journal(moves: list[_Move], moving: Moving | None, last: ExitStack) -> None:
    """Say on the disk what is about to be moved in one folder; it goes when all is done, or undone."""
    first = moves[0].target
    journal = first.with_name(f".{first.name if moving is None else moving.path.name}{JOURNAL}")
    journal_data = {
        "release": None if moving is None else [str(moving.path), _number(moving.part)],
        "papers": [
            [move.target.name, move.part and _number(move.part), move.before and move.before.name] for move in moves
        ],
    }
    with _telling(journal):
        last.callback(_unlink, journal)
        with journal.open("w", encoding="utf-8") as lines:
            json.dump(journal_data, lines)
            lines.flush()
            os.fsync(lines.fileno())
        _settle(journal.parent)


def repair(folder: Path) -> None:
    """Put back what a killed writer has moved in a folder; one that is still at work there is waited for."""
    if any(folder.glob(f".*{JOURNAL}")):
        with _alone_in(folder):
            _repair_all(folder)


def _repair_all(folder: Path) -> None:
    """The same, by whoever is alone in the folder: then nobody is at work who has written a journal there."""
    for journal in sorted(folder.glob(f".*{JOURNAL}")):
        try:
            journal_data = json.loads(journal.read_text(encoding="utf-8"))
            path, number = journal_data["release"] or (None, None)
            documents = [(str(name), before) for name, _, before in journal_data["papers"]]
            new = [number for _, number, _ in journal_data["papers"]]
        except (ValueError, KeyError, TypeError):  # cut short, so nothing had been moved
            path, number, documents, new = None, None, [], []
        if path is not None and _number(Path(path)) != number:  # it still is what it was, so the documents shall be too
            for (name, before), new_number in zip(documents, new, strict=True):
                target = folder / Path(name).name
                if before is not None:
                    _come_back(folder / Path(before).name, target)
                elif new_number is not None and _number(target) == new_number:
                    target.unlink()
            _settle(folder)
        journal.unlink()


def _come_back(before: Path, target: Path) -> None:
    """A second name that a writer has kept becomes the first again; what no writer has named so is left alone."""
    ours = before.name.startswith(f".{target.name}.") and before.name.endswith(PART)
    if ours and before.exists():
        before.replace(target)


def _number(path: Path) -> int | None:
    """What a file or folder keeps when it gets another name."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _keep(target: Path, last: ExitStack) -> Path | None:
    """A second name of the file that is there, for as long as it may have to come back."""
    while target.exists():
        before = _hidden(target)
        last.callback(before.unlink, missing_ok=True)
        try:
            os.link(target, before)
        except OSError:  # a file system without second names
            shutil.copy2(target, before)
        descriptor = os.open(before, os.O_RDWR)
        last.callback(os.close, descriptor)
        _lock(descriptor, wait=False)  # whoever put the file there may still have it
        if before.exists():  # nobody swept it before the lock was on it
            return before
    return None


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until nobody else puts documents into this folder; no file is needed for it, so none is left."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _hidden(place: Path) -> Path:
    """A name beside a target that readers pass over."""
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}{PART}")


def _open(place: Path, private: bool, last: ExitStack) -> tuple[Path, int]:
    """A part, made with the mode that its target has or shall have, and marked as being written.

    Before it is locked, another writer may sweep it away as one that nobody holds: then another is made.
    """
    while True:
        part = _hidden(place)
        last.callback(_unlink, part)
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if private or place.exists() else 0o666)
        last.callback(os.close, descriptor)
        _lock(descriptor)
        if not part.exists():
            continue
        with suppress(FileNotFoundError):  # no target yet, or no longer
            mode = stat.S_IMODE(place.stat().st_mode)
            part.chmod(mode & ~0o007 if private else mode)
        return part, descriptor


def _open_folder(place: Path, last: ExitStack) -> Path:
    """A folder to write into, marked as being written."""
    part = _hidden(place)
    last.callback(shutil.rmtree, part, ignore_errors=True)
    while True:
        with suppress(FileNotFoundError):  # another writer swept it between its making and its lock
            part.mkdir(exist_ok=True)
            descriptor = os.open(part, os.O_RDONLY)
            last.callback(os.close, descriptor)
            _lock(descriptor)
            if part.exists():
                return part


def _unlink(part: Path) -> None:
    """Remove a part that was not moved; what cannot be removed is swept by the next writer."""
    with suppress(OSError):
        part.unlink(missing_ok=True)


def check_target(target: str | os.PathLike[str]) -> Path:
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
    except KparetoError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a ring of links is a RuntimeError up to Python 3.12
        raise BadInput(f"Cannot write {shown!r}: {reason(error)}.") from error
    return place


def is_running(process: int) -> bool:
    """Whether a process of this machine is there, whoever it belongs to."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def reason(error: Exception) -> str:
    """Why a write failed, in words."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no space is left ({error.strerror})"
    if isinstance(error, OSError) and error.errno == errno.ENOTEMPTY:
        return "somebody has put files into that folder meanwhile"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__


def _lock(descriptor: int, wait: bool = True) -> None:
    """Mark a part as being written, for as long as its writer lives; a sweeper that looks at it is waited for."""
    if fcntl is None:
        return
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _sweep(place: Path) -> None:
    """Remove the parts of this target whose writers are gone: nobody holds their lock."""
    if fcntl is None:
        return
    for left in place.parent.iterdir():
        if left.name.startswith(f".{place.name}.") and left.name.endswith(PART):
            with suppress(OSError):
                descriptor = os.open(left, os.O_RDONLY if left.is_dir() else os.O_RDWR)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if left.is_dir():
                        shutil.rmtree(left)
                    else:
                        left.unlink()
                finally:
                    os.close(descriptor)


def _settle(folder: Path) -> None:
    """Make the new name survive a power cut, where folders can be synchronised."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refuse_overwriting(inputs: Sequence[Path], *outputs: str | os.PathLike[str] | None) -> None:
    """Raise where an output is one of the inputs, also behind a link, or another output."""
    written: dict[Path, str] = {}
    for output in outputs:
        if output is None or str(output) == "-":
            continue
        path = _resolve(Path(output))
        for source in inputs:
            if _resolve(source) == path or (source.exists() and path.exists() and source.samefile(path)):
                raise BadJob(f"{str(output)!r} is read by this command and would be overwritten. Give another name.")
        if path in written:
            raise BadJob(f"{str(output)!r} would be written twice by this command. Give another name for one of them.")
        written[path] = str(output)


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return path.absolute()
