"""Time limits and those who wait: asked between two pieces of work, by a clock that the test turns itself."""

from __future__ import annotations

import numpy as np
import pytest

from kpareto.errors import Stopped
from kpareto.interrupts import (
    PIECE,
    Hearing,
    OutOfTime,
    Portions,
    TimeLimit,
    halted_too,
    hearing,
    is_heard,
    is_stopped,
    is_timed,
    pause,
)


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
