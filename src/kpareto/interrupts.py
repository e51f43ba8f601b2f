"""Whoever waits for long work is heard between two steps: to stop it, and to be shown what is met; time limits too.

A search reports when a step is done, and a step over a large table may take long. So the loops below a step ask here,
whoever called them; nobody waits unless a block says so, and then nothing is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kpareto.errors import Stopped


@dataclass(frozen=True, eq=False)
class Hearing:
    """Somebody who waits."""

    met: Callable[[Any], None] | None = None  # told the Numbers of recodings that are met before a search begins
    stopped: threading.Event = field(default_factory=threading.Event)
    halts: list[np.ndarray] = field(default_factory=list)  # each (1,) int64, 1 ends compiled loops

    def stop(self) -> None:
        """End what is under way, from any thread."""
        self.stopped.set()
        for halt in self.halts:
            halt[0] = 1


_waiting: ContextVar[Hearing | None] = ContextVar("waiting", default=None)


@contextmanager
def hearing(somebody: Hearing | None) -> Iterator[None]:
    """Work inside the block hears this person, or nobody: what tells how far it came when it was stopped must end."""
    token = _waiting.set(somebody)
    try:
        yield
    finally:
        _waiting.reset(token)


def is_heard() -> bool:
    """Whether somebody waits, so that work is done in pieces short enough to be stopped."""
    return _waiting.get() is not None


def is_stopped() -> bool:
    """Whether the one who waits has stopped it."""
    somebody = _waiting.get()
    return somebody is not None and somebody.stopped.is_set()


def pause() -> None:
    """Between two steps: raise Stopped where the one who waits has said so."""
    if is_stopped():
        raise Stopped


def halted_too(halt: np.ndarray) -> np.ndarray:
    """What ends compiled loops, (1,) int64, so that it also does when the one who waits has stopped them."""
    somebody = _waiting.get()
    if somebody is not None:
        somebody.halts.append(halt)
        if somebody.stopped.is_set():
            halt[0] = 1
    return halt


def show(numbers: Any) -> None:
    """The Numbers of recodings that were met before the search proper, for a picture."""
    somebody = _waiting.get()
    if somebody is not None and somebody.met is not None:
        somebody.met(numbers)


@dataclass(frozen=True, eq=False)
class TimeLimit:
    """Seconds from now on, or None for as long as it takes."""

    seconds: float | None = None
    began: float = field(default_factory=time.monotonic)
    halt: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))  # (1,) int64, 1 ends compiled loops

    @property
    def left(self) -> float:
        """Seconds that are left, never below 0; infinite without a limit."""
        return float("inf") if self.seconds is None else max(0.0, self.began + self.seconds - time.monotonic())

    @property
    def is_up(self) -> bool:
        """Whether the time is over."""
        return bool(self.halt[0]) or self.left <= 0

    def part(self, share: float) -> TimeLimit:
        """A limit for one stage of the work: a share of the time that is left."""
        return TimeLimit(None if self.seconds is None else share * self.left)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Compiled loops inside the block are halted when the time is up."""
        if self.seconds is None:
            yield
            return
        timer = threading.Timer(self.left, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        self.halt[0] = 1


_told: list[Callable[[int, bool], None]] = []


@contextmanager
def hearing_of_compiling(tell: Callable[[int, bool], None]) -> Iterator[None]:
    """Inside the block somebody is told how many loops are compiled, and whether another one is being compiled."""
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def tell_compiled(loops: int, under_way: bool) -> None:
    """Tell everybody who listens; loops are compiled in any thread, so it is no matter of the one who asks."""
    for tell in tuple(_told):
        tell(loops, under_way)
