"""Whoever waits for long work is heard between two steps: to stop it, and to be shown what is met on the way.

A search reports when a step is done, and a step over a large table may take long. So the loops below a step ask here,
whoever called them; nobody waits unless a block says so, and then nothing is asked.
"""

from __future__ import annotations

import threading
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
