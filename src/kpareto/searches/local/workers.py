"""Run stretches of work on threads, with one ear on who wants it to end.

The loops let go of Python's lock, so threads work side by side; what they return is put together in the order of the
tasks, hence the same on any number of threads. While they work, this thread looks at the clock and asks ``progress``;
a flag in memory that the loops look at makes them end early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Progress = Callable[[int, int], bool]  # (steps done, steps in all) -> whether to go on
LISTEN = 0.05  # seconds between two questions


@dataclass(eq=False)
class Workers:
    """Threads for the loops, and when to end."""

    threads: int = 1
    seconds: float | None = None
    progress: Progress | None = None
    steps: int = 0  # in all
    done: int = 0
    halt: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.uint8))
    began: float = field(default_factory=time.monotonic)

    @property
    def stopped(self) -> bool:
        """Whether the work shall end."""
        return bool(self.halt[0])

    def listen(self) -> None:
        """Look at the clock and ask."""
        late = self.seconds is not None and time.monotonic() - self.began >= self.seconds
        if late or (self.progress is not None and not self.progress(self.done, self.steps)):
            self.halt[0] = 1

    def run(self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """function(*task) of every task, in their order."""
        with ThreadPoolExecutor(max(1, self.threads)) as pool:
            futures = [pool.submit(function, *task) for task in tasks]
            waiting = set(futures)
            try:
                while waiting:
                    _, waiting = wait(waiting, timeout=LISTEN)
                    self.listen()
            except BaseException:  # Ctrl-C: the loops end early, because leaving the pool waits for them
                self.halt[0] = 1
                raise
            return [future.result() for future in futures]
