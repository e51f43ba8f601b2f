"""Work done aside while the page stays awake: one change at a time for a session, seen and stopped where it is long.

Whoever waits for a turn waits without a thread, and long work has threads of its own, so that the page's own files and
short answers never stand in line behind it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from anyio import CancelScope, CapacityLimiter, Lock, to_thread
from anyio.lowlevel import RunVar

from kpareto.errors import BadInput, Interrupted, Stopped

Answer = TypeVar("Answer")
THREADS = 16  # that work at once, for all sessions together
MOST_WAITING = 24  # questions of one session that stand in one line
MOST_ENDING = 6  # pieces of stopped work of one session that are still on their way to an end
_threads: RunVar[CapacityLimiter] = RunVar("kpareto-threads")


class Busy(BadInput):
    """More is asked of a session than it can be asked at once."""


@dataclass(eq=False)
class Work:
    """A piece of work that a person waits for: how far it is, and how it is stopped."""

    done: int = 0  # of the step it is at
    total: int = 0  # 0 where nobody knows
    words: str = ""  # what it is at, where it has several steps
    step: int = 0  # steps that are over
    steps: int = 1
    stopped: threading.Event = field(default_factory=threading.Event)
    scope: CancelScope | None = None  # of the person who waits
    at_work: bool = False  # its thread has not ended

    def __call__(self, done: int, total: int) -> None:
        """How far the step is; raises Stopped where nobody waits any more."""
        self.done, self.total = done, total
        if self.stopped.is_set():
            raise Stopped

    def begin(self, words: str, step: int, steps: int) -> None:
        """The next of several steps, the first being 0; also a place where it can be stopped."""
        self.words, self.step, self.steps = words, step, steps
        self(0, 0)

    def view(self) -> dict[str, Any]:
        """What the page draws; the share is of all steps, and None where nothing of it can be counted."""
        inside = min(self.done / self.total, 1.0) if self.total else 0.0
        counted = self.steps > 1 or self.total > 0
        return {
            "words": self.words,
            "step": self.step + 1,
            "steps": self.steps,
            "done": self.done,
            "total": self.total,
            "share": (self.step + inside) / self.steps if counted else None,
        }

    def stop(self) -> None:
        """The person goes on at once; the thread ends at its next report, and what it would have told is dropped."""
        self.stopped.set()
        if self.scope is not None:
            self.scope.cancel()


@dataclass(eq=False)
class WaitingLine:
    """Those who wait for each other."""

    lock: Lock = field(default_factory=Lock)
    waiting: int = 0

    async def do(self, work: Callable[[], Answer]) -> Answer:
        """Do work in a thread, one piece at a time; who waits takes no thread."""
        if self.waiting >= MOST_WAITING:
            raise Busy(f"{self.waiting} questions of this session are waiting already. Wait until some are done.")
        self.waiting += 1
        try:
            async with self.lock:
                return await aside(work)
        finally:
            self.waiting -= 1


@dataclass(eq=False)
class Turns:
    """The lines of one session: a look at the table does not wait for a change, nor a change for a look."""

    changes: WaitingLine = field(default_factory=WaitingLine)
    looks: WaitingLine = field(default_factory=WaitingLine)
    works: dict[str, Work] = field(default_factory=dict)


class InLine(Protocol):
    """A session, as far as its line is concerned."""

    turns: Turns
    lock: threading.RLock


def _limit() -> CapacityLimiter:
    try:
        return _threads.get()
    except LookupError:
        _threads.set(CapacityLimiter(THREADS))
        return _threads.get()


async def aside(work: Callable[[], Answer]) -> Answer:
    """Do work in a thread, so that the page stays responsive."""
    return await to_thread.run_sync(work, limiter=_limit())


async def do_in_turn(session: InLine, work: Callable[[], Answer]) -> Answer:
    """Do work that changes a session, or goes by what it is."""

    def alone() -> Answer:
        with session.lock:
            return work()

    return await session.turns.changes.do(alone)


async def do_long(session: InLine, name: str, work: Callable[[Work], Answer]) -> Answer:
    """Do work that a person may have to wait for; ``name`` is what the page calls it, to see and to stop it.

    The work must not hold the session's lock, and must report before it changes anything, so that a stopped one
    changes nothing.
    """
    works = session.turns.works
    if sum(other.stopped.is_set() for other in works.values()) >= MOST_ENDING:
        raise Busy("Several pieces of work that were stopped are still ending. Wait a moment, then try again.")
    scope = CancelScope()
    piece = works[name or str(id(work))] = Work(scope=scope, at_work=True)
    with scope:
        return await to_thread.run_sync(
            partial(_to_the_end, session, piece, work), limiter=_limit(), abandon_on_cancel=True
        )
    raise Interrupted("Stopped.")


def _to_the_end(session: InLine, piece: Work, work: Callable[[Work], Answer]) -> Answer:
    try:
        return work(piece)
    except Stopped:
        raise Interrupted("Stopped.") from None
    finally:
        piece.at_work = False
        for name in [name for name, other in session.turns.works.items() if other is piece]:
            session.turns.works.pop(name, None)
