"""Time limits and those who wait: asked between two pieces of work, by a clock that the test turns itself."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import kpareto as kp
from kpareto import interrupts
from kpareto.errors import Stopped
from kpareto.interrupts import (
    LOGGED,
    PIECE,
    Hearing,
    OutOfTime,
    Portions,
    TimeLimit,
    beating,
    halted_too,
    hearing,
    hearing_of_compiling,
    is_heard,
    is_stopped,
    is_timed,
    pause,
    show,
    tell_compiled,
)
from kpareto.searches.lattice.greedy import Samarati
from kpareto.searches.run import run
from kpareto.tables.lattice import Lattice


class Clock:
    """A clock that stands still until it is turned."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """What it shows."""
        return self.now


def test_a_limit_goes_by_its_own_clock() -> None:
    """Seconds in which the clock stands still, as while loops are compiled, are none; parts go by the same clock."""
    clock = Clock()
    limit = TimeLimit(10, clock)
    assert limit.left == 10
    clock.now += 4
    assert (limit.left, limit.part(0.5).left) == (6, 3)
    assert TimeLimit(10, clock, began=95.0).left == 1
    clock.now += 6
    assert limit.is_up


def test_work_inside_the_block_pauses_in_vain_when_the_time_is_up() -> None:
    """Every pause within it raises OutOfTime, of the inner limit or of the outer one; outside nothing is asked."""
    clock = Clock()
    outer, inner = TimeLimit(10, clock), TimeLimit(5, clock)
    assert not is_heard()
    with outer.watching():
        pause()
        with inner.watching():
            assert is_timed()
            clock.now += 7
            assert is_stopped()
            with pytest.raises(OutOfTime):
                pause()
        pause()
        clock.now += 7
        with TimeLimit(1, clock).watching(), pytest.raises(OutOfTime):
            pause()
        assert halted_too(np.zeros(1, dtype=np.int64))[0] == 1
    pause()
    assert not is_heard()


def test_without_seconds_nobody_is_asked() -> None:
    """A limit of as long as it takes changes nothing."""
    with TimeLimit().watching():
        assert not is_heard()


def test_who_stops_is_told_from_the_time_that_is_up() -> None:
    """Stopped by somebody it is Stopped and not OutOfTime, whose answer would count."""
    clock, somebody = Clock(), Hearing()
    somebody.stop()
    with hearing(somebody), TimeLimit(1, clock).watching():
        clock.now += 2
        with pytest.raises(Stopped) as raised:
            pause()
        assert not isinstance(raised.value, OutOfTime)
        with pytest.raises(Stopped):
            next(Portions(clock=clock).of(3))


def test_portions_are_as_large_as_a_pause_may_wait() -> None:
    """Quick things are done more and more at a time, slow ones fewer, and every one of them once."""
    clock = Clock()
    portions, sizes, done = Portions(clock=clock), [], 0
    for portion in portions.of(100):
        assert portion.start == done
        done = min(portion.stop, 100)
        sizes.append(portion.stop - portion.start)
    assert done == 100
    assert sizes == [4, 8, 16, 32, 64]
    slow = []
    for portion in portions.of(300):
        slow.append(portion.stop - portion.start)
        clock.now += PIECE / 32 * slow[-1]  # 32 take as long as a pause may wait
    assert slow[:4] == [128, 64, 32, 32]


def test_the_first_portion_is_done_although_the_time_is_up() -> None:
    """There is an answer in any time, and nothing is begun after it."""
    clock, seen = Clock(), []
    with TimeLimit(1, clock).watching():
        clock.now += 2
        portions = Portions(clock=clock).of(100)
        seen.append(next(portions))
        with pytest.raises(OutOfTime):
            seen.append(next(portions))
    assert seen == [slice(0, 4)]


ENOUGH = 60.0  # seconds that a test waits for what comes at once


class Waiting(Samarati):
    """A search whose first step lasts until somebody was told about it."""

    def __init__(self, told: threading.Event) -> None:
        super().__init__()
        self.told = told

    def moves(self, space, rng):  # type: ignore[no-untyped-def]
        """Those of the search, once somebody was told."""
        assert self.told.wait(ENOUGH)
        return super().moves(space, rng)


def _ask() -> kp.Problem:
    return kp.problem(kp.adult_table(), ["k", "lm"], suppression=0.01, limits={"k": 5})


def test_a_silent_step_is_told_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a step takes its time it is told that the search is at work; the numbers of the search follow."""
    monkeypatch.setattr(interrupts, "BEAT", 0.01)
    told, reports, asked = threading.Event(), list[tuple[int, int]](), _ask()

    def report(done: int, total: int) -> None:
        reports.append((done, total))
        told.set()

    front = run(asked, Lattice(asked.table.hierarchies), Waiting(told), report=report)
    assert reports[0] == (0, 0)
    assert reports[-1][0] == front.provenance.evaluated > 0
    assert not any(thread.name == "kpareto-beat" and thread.is_alive() for thread in _wait_for_beats())


def _wait_for_beats() -> list[threading.Thread]:
    """The threads that tell, after each had time to end."""
    beats = [thread for thread in threading.enumerate() if thread.name == "kpareto-beat"]
    for thread in beats:
        thread.join(ENOUGH)
    return beats


def test_a_report_that_stops_is_heard_from_a_silent_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised beside the search ends it as if it had been raised inside, whatever it is."""
    monkeypatch.setattr(interrupts, "BEAT", 0.01)
    asked = _ask()
    for error in (Stopped(), RuntimeError("the report broke")):
        told = threading.Event()

        def report(_done: int, _total: int, told: threading.Event = told, error: Exception = error) -> None:
            told.set()
            raise error

        if isinstance(error, Stopped):
            front = run(asked, Lattice(asked.table.hierarchies), Waiting(told), report=report)
            assert front.provenance.stopped
        else:
            with pytest.raises(RuntimeError, match="the report broke"):
                run(asked, Lattice(asked.table.hierarchies), Waiting(told), report=report)


def test_what_is_looked_at_first_is_counted_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recodings that are met before the search proper are told, of nobody knows how many; then it tells its own."""
    monkeypatch.setattr(interrupts, "BEAT", 0.01)
    asked, told, reports = _ask(), threading.Event(), list[tuple[int, int]]()
    lattice = Lattice(asked.table.hierarchies)
    numbers = asked.evaluate(lattice, lattice.levels(np.arange(3)))

    def report(done: int, total: int) -> None:
        reports.append((done, total))
        if done:
            told.set()

    with beating(report) as heard:
        assert heard is not None
        show(numbers)
        show(numbers)
        assert told.wait(ENOUGH)
        heard(7, 100)
        show(numbers)
    assert reports[-1][1] == 100
    assert {each for each in reports if each[1] == 0} <= {(0, 0), (3, 0), (6, 0)}
    with beating(None) as nobody:
        assert nobody is None


def test_compiling_that_nobody_is_told_of_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A script or a notebook hears of it after a second; where somebody is told, or it takes no time, nothing is."""
    clock, told = Clock(), list[tuple[int, bool]]()
    monkeypatch.setattr(interrupts, "_unheard", interrupts._Unheard(clock))
    for seconds in (0.5, 0.9):
        tell_compiled(0, True)
        clock.now += seconds
        tell_compiled(1, False)
    with hearing_of_compiling(lambda loops, under_way: told.append((loops, under_way))):
        tell_compiled(1, True)
        clock.now += 20.0
        tell_compiled(2, True)
    assert told == [(1, True), (2, True)]
    assert caplog.messages == []
    for _ in range(3):
        tell_compiled(2, True)
        clock.now += 1.0
    assert caplog.messages == [LOGGED]
