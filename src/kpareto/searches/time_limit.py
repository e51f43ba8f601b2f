"""A time that a search may take, and how the loops under way are told that it is up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from kpareto.errors import Stopped


class OutOfTime(Stopped):
    """The time of a search is up: what is known is its answer."""


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
