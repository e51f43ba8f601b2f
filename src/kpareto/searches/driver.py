"""Drive a search: its time, progress, stopping and checkpoints; returns a Front.

A checkpoint of a search behind the seam is the memo of what it has evaluated: resuming replays the search from its
seed, answers from the memo, and so ends exactly as an uninterrupted run would have ended. The others keep where they
stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kpareto.errors import Interrupted, Progress, Stopped, Unsafe, keep_interrupt
from kpareto.fronts.front import Front
from kpareto.fronts.numbers import Numbers
from kpareto.interrupts import OutOfTime, TimeLimit, hearing
from kpareto.searches.checkpoint import Arrays, Cancelled, Kept, Standing, check_points, read_checkpoint

Watch = Callable[[Numbers], None]  # told the numbers of recodings as they are met: of some, or of the best so far
Tell = Callable[[int, Callable[[], Numbers]], None]  # what is done, and what was met; raises Stopped to end the search


@dataclass(frozen=True)
class Ending:
    """Why a search ended before it was done."""

    note: str = "stopped by the user"
    stopped: bool = True  # by the user, who has not asked for an answer


class Driven(Protocol[Standing]):
    """A search under way, as the driver sees it."""

    @property
    def total(self) -> int:
        """Steps in all, 0 where nobody knows."""

    def fingerprint(self) -> str:
        """What decides its course; a checkpoint of another one is refused."""

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[Standing]) -> Front:
        """From the beginning, or on from what a checkpoint has, to the end; each step is told and kept."""

    def pack(self, standing: Standing) -> Arrays | None:
        """Where it stands, as a checkpoint holds it; None while the checkpoint that is there knows more."""

    def front_so_far(self, standing: Standing | None, ending: Ending) -> Front:
        """What is known where it was ended."""


def drive(
    course: Driven[Standing],
    report: Progress | None = None,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
    limit: TimeLimit | None = None,
) -> Front:
    """Let a search run to its end, or until its time is up, Ctrl-C, or a ``report`` that raises Stopped.

    Stopped, the front so far is returned, marked as such; with a checkpoint it is kept there and raised as Cancelled,
    and the next call goes on from it. Out of time, the front so far is the answer; what is known is kept all the same.
    """
    until = TimeLimit() if limit is None else limit
    kept = Kept(checkpoint, course.fingerprint() if checkpoint is not None else "", course.pack)
    known = read_checkpoint(checkpoint, kept.job)

    def tell(done: int, met: Callable[[], Numbers]) -> None:
        if watch is not None:
            watch(met())
        if report is not None:
            report(done, course.total)
        if until.is_up:
            raise OutOfTime

    try:
        with until.watching(), keep_interrupt():
            front = course.go(known, tell, kept)
            if known is not None and checkpoint is not None:
                check_points(front, checkpoint)
    except OutOfTime:
        front = course.front_so_far(kept.now, Ending(f"the {until.seconds:g} seconds were up", stopped=False))
        if checkpoint is not None:
            kept.save()
        return front
    except (KeyboardInterrupt, Stopped):
        with hearing(None):
            front = course.front_so_far(kept.now, Ending())
    except Unsafe:
        kept.drop()  # the search is done all the same
        raise
    if checkpoint is None:
        return front
    if not front.provenance.stopped:
        kept.drop()
        return front
    if kept.now is None and known is None:
        raise Interrupted("Stopped before anything was counted.")
    kept.save()
    raise Cancelled(front, checkpoint)
