"""A command in a process that was forked from this one: warm from the first moment, so that a signal hits its work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.fuzz.face import main

POLL = 0.002  # seconds between two looks at a process


@dataclass
class Forked:
    """A running command."""

    pid: int
    told: IO[bytes]  # what it prints as errors
    began: float
    returncode: int | None = None  # a negative one is the signal that ended it

    def wait(self, seconds: float) -> None:
        """Wait until it ends; TimeoutExpired where it does not in time."""
        end = time.monotonic() + seconds
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= end:
                raise subprocess.TimeoutExpired("kpareto", seconds)
            else:
                time.sleep(min(POLL, max(end - time.monotonic(), 0)))

    def end(self, seconds: float) -> str:
        """Wait until it ends, kill it where it does not, and give back what it told."""
        try:
            self.wait(seconds)
        finally:
            if self.returncode is None:
                os.kill(self.pid, signal.SIGKILL)
                self.wait(seconds)
        self.told.seek(0)
        text = self.told.read().decode("utf-8", "replace")
        self.told.close()
        return text

    def send(self, number: int) -> bool:
        """Send a signal; whether the command was still at work."""
        if self.returncode is None:
            os.kill(self.pid, number)
            return True
        return False


def fork(folder: Path, *words: str, first: Callable[[], None] = lambda: None) -> Forked:
    """Run a command in a forked process, in a session of its own; ``first`` is called in it before."""
    told = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the command has ended)
    command = main()
    ready, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        _work(folder, list(words), command, told, say, first)  # never comes back
    os.close(say)
    os.read(ready, 1)  # the command begins now
    os.close(ready)
    return Forked(pid, told, time.monotonic())


def _work(
    folder: Path, words: list[str], command: Callable[[list[str]], int], told: IO[bytes], say: int,
    first: Callable[[], None],
) -> None:  # fmt: skip
    status = 1
    try:
        os.setsid()
        for number, place in ((1, os.open(os.devnull, os.O_WRONLY)), (2, told.fileno())):
            os.dup2(place, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.write(say, b".")
        first()
        status = command(words)
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else 1
    except BaseException:  # noqa: BLE001 (as the interpreter does at the end of a program)
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
