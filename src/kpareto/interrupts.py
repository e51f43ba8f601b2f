"""Whoever waits for long work is heard between two steps: to stop it, and to be shown what is met; time limits too.

A search reports when a step is done, and a step over a large table may take long. So the loops below a step ask here,
whoever called them; nobody waits and no time is up unless a block says so, and then nothing is asked.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kpareto.errors import Progress, Stopped


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


class OutOfTime(Stopped):
    """The time of a search is up: what is known is its answer."""


@dataclass(frozen=True, eq=False)
class TimeLimit:
    """Seconds from now on, or None for as long as it takes."""

    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    began: float | None = None  # by the clock; None: now
    halt: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))  # (1,) int64, 1 ends compiled loops
    halts: list[np.ndarray] = field(default_factory=list)  # of loops that are under way while it watches

    def __post_init__(self) -> None:
        if self.began is None:
            object.__setattr__(self, "began", self.clock())

    @property
    def left(self) -> float:
        """Seconds that are left, never below 0; infinite without a limit."""
        if self.seconds is None or self.began is None:
            return float("inf")
        return max(0.0, self.began + self.seconds - self.clock())

    @property
    def is_up(self) -> bool:
        """Whether the time is over."""
        return bool(self.halt[0]) or self.left <= 0

    def part(self, share: float) -> TimeLimit:
        """A limit for one stage of the work: a share of the time that is left."""
        return TimeLimit(None if self.seconds is None else share * self.left, self.clock)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Work inside the block pauses in vain when the time is up, and its compiled loops are halted."""
        if self.seconds is None:
            yield
            return
        token, over = _limits.set((*_limits.get(), self)), threading.Event()
        threading.Thread(target=self._watch, args=(over,), daemon=True).start()
        try:
            yield
        finally:
            over.set()
            _limits.reset(token)

    def _watch(self, over: threading.Event) -> None:
        """Halt the loops when the time is up; the clock may have stood still meanwhile, so it is looked at again."""
        while not over.wait(self.left):
            if self.left <= 0:
                self.halt[0] = 1
                for halt in self.halts:
                    halt[0] = 1
                return


_waiting: ContextVar[Hearing | None] = ContextVar("waiting", default=None)
_limits: ContextVar[tuple[TimeLimit, ...]] = ContextVar("limits", default=())


@contextmanager
def hearing(somebody: Hearing | None) -> Iterator[None]:
    """Work inside the block hears this person, or nobody: what tells how far it came when it was stopped must end."""
    token = _waiting.set(somebody)
    try:
        yield
    finally:
        _waiting.reset(token)


@contextmanager
def out_of_sight() -> Iterator[None]:
    """Work inside the block is stopped as before, and shows nothing: what it meets is no answer to what was asked."""
    somebody = _waiting.get()
    with hearing(None if somebody is None else replace(somebody, met=None)):
        yield


def is_heard() -> bool:
    """Whether somebody waits or the time is limited, so that work is done in pieces short enough to be stopped."""
    return _waiting.get() is not None or is_timed()


def is_timed() -> bool:
    """Whether the time is limited."""
    return bool(_limits.get())


def is_stopped() -> bool:
    """Whether the one who waits has stopped it, or its time is up."""
    return _has_said_stop() or any(limit.is_up for limit in _limits.get())


def _has_said_stop() -> bool:
    somebody, beat = _waiting.get(), _beating.get()
    return (somebody is not None and somebody.stopped.is_set()) or (beat is not None and beat.error is not None)


def pause() -> None:
    """Between two steps: raise Stopped where the one who waits has said so, OutOfTime where the time is up."""
    if _has_said_stop():
        beat = _beating.get()
        raise Stopped if beat is None or beat.error is None else beat.error
    if any(limit.is_up for limit in _limits.get()):  # nothing else: whoever waits may say so this very moment
        raise OutOfTime


def halted_too(halt: np.ndarray) -> np.ndarray:
    """What ends compiled loops, (1,) int64, so that it also does when they are stopped or their time is up."""
    somebody = _waiting.get()
    for halts in ([] if somebody is None else [somebody.halts]) + [limit.halts for limit in _limits.get()]:
        halts.append(halt)
    if is_stopped():
        halt[0] = 1
    return halt


def show(numbers: Any) -> None:
    """The Numbers of recodings that were met before the search proper, for a picture and for whoever waits."""
    somebody, beat = _waiting.get(), _beating.get()
    if somebody is not None and somebody.met is not None:
        somebody.met(numbers)
    if beat is not None:
        beat.meet(len(np.unique(numbers.which)))


BEAT = 0.5  # seconds of silence after which it is told again how far a search is


@dataclass(eq=False)
class Beat:
    """A Progress that is never silent for long: while a step takes its time, how far it is is told by another thread.

    That is what was told last; before the search proper has told anything, how many recodings were looked at, of nobody
    knows how many. What a report raises in that thread, such as Stopped, is raised in the search.
    """

    report: Progress
    told: tuple[int, int] = (0, 0)
    error: BaseException | None = None
    _last: float = field(default_factory=time.monotonic)
    _begun: bool = False
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, done: int, total: int) -> None:
        """The search tells how far it is."""
        if self.error is not None:
            raise self.error
        with self._lock:
            self._begun, self.told, self._last = True, (done, total), time.monotonic()
            self.report(done, total)

    def meet(self, count: int) -> None:
        """So many more recodings were looked at before the search proper."""
        if not self._begun:
            self.told = (self.told[0] + count, 0)

    def run(self) -> None:
        """Tell it again and again, until it is over."""
        while not self._over.wait(BEAT - min(time.monotonic() - self._last, 0.9 * BEAT)):
            with self._lock:
                if time.monotonic() - self._last < BEAT or self._over.is_set():
                    continue
                try:
                    self.report(*self.told)
                except BaseException as error:  # noqa: BLE001 (raised where the search is)
                    self.error = error
                    return
                self._last = time.monotonic()

    def end(self) -> None:
        """Nothing more is told."""
        with self._lock:
            self._over.set()


_beating: ContextVar[Beat | None] = ContextVar("beating", default=None)


@contextmanager
def beating(report: Progress | None) -> Iterator[Progress | None]:
    """The report for a search inside the block, which is told twice a second that the search is at work."""
    if report is None:
        yield None
        return
    beat = Beat(report)
    token = _beating.set(beat)
    threading.Thread(target=beat.run, name="kpareto-beat", daemon=True).start()
    try:
        yield beat
    finally:
        beat.end()
        _beating.reset(token)


FIRST_PIECE = 4  # things that are done at first, before it is known how long they take
PIECE = 0.3  # seconds after which whoever waits is heard


@dataclass(eq=False)
class Portions:
    """How many things are done between two pauses: as many as take about ``PIECE`` seconds."""

    size: int = FIRST_PIECE
    clock: Callable[[], float] = time.monotonic

    def of(self, count: int) -> Iterator[slice]:
        """One portion after the other of so many things; what is done with one decides how large the next is.

        The first is done although the time is up, so that there is an answer.
        """
        start = 0
        while start < count:
            if start or _has_said_stop():
                pause()
            began, portion = self.clock(), slice(start, start + self.size)
            yield portion
            start, took = portion.stop, self.clock() - began
            self.size = 2 * self.size if took < PIECE / 2 else max(1, self.size // 2) if took > PIECE else self.size


_told: list[Callable[[int, bool], None]] = []
SILENCE = 1.0  # seconds of compiling after which it is logged, where nobody is told of it
LOGGED = "Preparing compiled code, once for this machine; it can take a minute."


@dataclass(eq=False)
class _Unheard:
    """Says it once in the log, which a script or a notebook shows, that loops are compiled and nobody is told."""

    clock: Callable[[], float] = time.monotonic
    since: float | None = None
    said: bool = False

    def __call__(self, under_way: bool) -> None:
        """Loops are compiled, or are no longer."""
        if not under_way:
            self.since = None
            return
        self.since = self.since or self.clock()
        if not self.said and self.clock() - self.since >= SILENCE:
            self.said = True
            logging.getLogger("kpareto").warning(LOGGED)


_unheard = _Unheard()


@contextmanager
def hearing_of_compiling(tell: Callable[[int, bool], None]) -> Iterator[None]:
    """Inside the block somebody is told how many loops are compiled, and whether another one is being compiled."""
    _told.append(tell)
    try:
        yield
    finally:
        _told.remove(tell)


def tell_compiled(loops: int, under_way: bool) -> None:
    """Tell everybody who listens, or else the log; loops are compiled in any thread, whoever asked for them."""
    for tell in tuple(_told):
        tell(loops, under_way)
    _unheard(under_way and not _told)
