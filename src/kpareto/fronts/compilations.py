"""When loops are being compiled, so that whoever waits is told, and no forecast counts it as work.

numba compiles a loop when it is first called and then keeps it on disk; that happens once for a machine and a version.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from numba.core import event


class Compilations:
    """What numba tells of its work; a loop that comes from the disk takes none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0  # loops being compiled, one inside the other
        self._began = 0.0
        self._seconds = 0.0

    def notify(self, message: Any) -> None:
        """A loop begins to be compiled, or is compiled; numba calls this, in whichever thread it is."""
        with self._lock:
            if message.is_start:
                if self._open == 0:
                    self._began = time.monotonic()
                self._open += 1
            elif message.is_end:
                self._open -= 1
                if self._open == 0:
                    self._seconds += time.monotonic() - self._began

    @property
    def under_way(self) -> bool:
        """Whether a loop is being compiled."""
        return self._open > 0

    @property
    def seconds(self) -> float:
        """Seconds that compiling has taken in this process, until now."""
        with self._lock:
            return self._seconds + (time.monotonic() - self._began if self._open else 0.0)


COMPILATIONS = Compilations()
event.Listener.register(Compilations)  # counts as one of numba's listeners, without being derived from them
event.register("numba:compile", COMPILATIONS)  # type: ignore[no-untyped-call]


def working() -> float:
    """Seconds of work, from any moment on; compiling, once for a machine, is none and shortens no search."""
    return time.monotonic() - COMPILATIONS.seconds
