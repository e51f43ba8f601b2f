"""Readers in a process of their own, with a limit of memory and time: a file that kills its reader kills nobody else.

Packages that read workbooks and files of statistics ask for the memory that a file says it needs, however little of it
is there, and end the process where there is not so much: no ``except`` hears that. What a person uploads to the page is
looked at in such a process too. The process gets a function of a module of ours and its arguments, and gives back what
it returns or raises.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from kpareto.errors import BadTable, KparetoError
from kpareto.interrupts import pause

Answer = TypeVar("Answer")
LIMIT = "KPARETO_APART"  # in the environment of such a process: the bytes that it may use
PROGRAM = 1 << 30  # bytes of the program itself, its libraries and their threads
TICK = 0.1  # seconds between two looks at whether somebody has stopped it
QUIET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "RUST_BACKTRACE": "0"}


def memory_apart() -> int | None:
    """The bytes that this process may use, where it is one that was started here; None in any other."""
    limit = os.environ.get(LIMIT)
    return None if limit is None else int(limit)


def run_apart(
    work: Callable[..., Answer], *arguments: object, shown: str, memory: int, seconds: float | None = None
) -> Answer:
    """What ``work`` returns or raises, done in another process; ``shown`` is the file it reads, for sentences.

    ``work`` is a function of a module. Where this is such a process already, it is done here.
    """
    if memory_apart() is not None or not sys.executable:
        return work(*arguments)
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", "from kpareto.engines.apart import answer; answer()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **QUIET, "PYTHONPATH": paths, LIMIT: str(memory)},
    )
    with child:
        try:
            output = _wait(child, pickle.dumps((work, arguments)), shown, seconds)
        finally:
            child.kill()  # where it is still there
    if child.returncode or not output:
        raise BadTable(
            f"File {shown!r} cannot be read: its reader ended before it was done, and may use {memory / 1e9:,.1f} GB. "
            "A workbook with one cell far away from its table needs more than any machine has, and so may a damaged "
            "file. Delete what lies outside the table, save it as CSV, or allow more memory."
        )
    right, result = pickle.loads(output)
    if not right:
        raise result
    return result


def _wait(child: subprocess.Popen[bytes], question: bytes, shown: str, seconds: float | None) -> bytes:
    """What the process tells; whoever waits may stop it."""
    end = None if seconds is None else time.monotonic() + seconds
    sent: bytes | None = question
    while True:
        try:
            return child.communicate(sent, timeout=TICK)[0]
        except subprocess.TimeoutExpired:
            sent = None  # the rest of it goes with the next look
        pause()
        if end is not None and time.monotonic() > end:
            raise BadTable(
                f"File {shown!r} took longer than {seconds:,.0f} seconds to be looked at, so it was given up. Give a "
                "smaller file, or use kpareto inspect in a terminal."
            )


def answer() -> None:
    """The other process: limit it, read what is to be done, do it, and tell what came of it."""
    channel = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    _limit(int(os.environ[LIMIT]) + PROGRAM)
    work, arguments = pickle.load(sys.stdin.buffer)
    try:
        output = pickle.dumps((True, work(*arguments)))
    except KparetoError as error:
        output = pickle.dumps((False, error))
    with os.fdopen(channel, "wb") as pipe:
        pipe.write(output)


def _limit(size: int) -> None:
    """No more memory of one's own than this, where the system knows such limits."""
    try:
        import resource
    except ImportError:  # Windows: whoever waits still lives on when this one dies
        return
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))
