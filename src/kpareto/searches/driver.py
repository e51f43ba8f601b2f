"""Drive a search: its time, progress, stopping and checkpoints; returns a Front.

A checkpoint of a search behind the seam is the memo of what it has evaluated: resuming replays the search from its
seed, answers from the memo, and so ends exactly as an uninterrupted run would have ended. The others keep where they
stand.

A checkpoint is one file that is written whole, belongs to one job and goes when it is done. ``Kept`` holds where a
search stood a moment ago in memory, for Ctrl-C, and a little longer ago in its checkpoint, for a kill. Every search
keeps itself this way.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np

from kpareto.atomic import whole
from kpareto.errors import BadInput, Interrupted, Progress, Stopped, Unsafe, keep_interrupt
from kpareto.fronts.front import Front
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from kpareto.interrupts import OutOfTime, TimeLimit, hearing
from kpareto.strict import FileKind, parse_json, read_arrays, record, text
from kpareto.tables.fingerprint import fingerprint
from kpareto.tables.lattice import Space
from kpareto.tables.spelling import several

Arrays = Mapping[str, np.ndarray]
Standing = TypeVar("Standing")  # where a search stands, as the search itself has it

CHECKPOINT = FileKind("The checkpoint", "Delete it and start again.")
CLOSE = 1e-9  # relative; the same recoding counted by another loop may differ in the last digits
TAKEN = 1.0  # seconds of work that Ctrl-C may cost at the most, beside a step
SAVED = 3.0  # seconds of work that a kill may cost, beside a step
SHARE = 50  # keeping what is known takes one part of the time in so many


class Cancelled(Interrupted):
    """Stopped by the user: holds the front so far, and where the work can go on."""

    def __init__(self, front: Front, checkpoint: Path) -> None:
        super().__init__(
            f"Stopped after {several(front.provenance.evaluated, 'recoding')}; {several(len(front), 'point')} so far. "
            f"Go on with --resume (kept in {checkpoint.name})."
        )
        self.front = front
        self.checkpoint = checkpoint


def job_print(problem: Problem, space: Space, *course: object) -> str:
    """A fingerprint of everything that decides a search's course; a checkpoint of another job is refused.

    ``course`` is the search itself with its settings, its seed, and a budget where that changes what is kept.
    """
    return fingerprint(problem.fingerprint, space, course)


def write_checkpoint(path: Path, job: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Keep arrays for the job with this fingerprint. A kill leaves the old checkpoint or the new one."""
    words = np.frombuffer(json.dumps({"job": job, "arrays": fingerprint(dict(arrays))}).encode(), dtype=np.uint8)
    with whole(path, private=True) as part, part.open("wb") as file:
        # An older numpy would keep allow_pickle as an array, and a newer one's types ask for it.
        np.savez(file, header=words, **arrays)  # type: ignore[arg-type]


def read_checkpoint(path: Path | None, job: str) -> dict[str, np.ndarray] | None:
    """The arrays kept for this job; None where there is no checkpoint, a sentence where it is another job's."""
    if path is None or not path.exists():
        return None
    arrays = read_arrays(path, CHECKPOINT)
    if "header" not in arrays:
        raise CHECKPOINT.bad(path.name, "cannot be read (it has no header)")
    words = arrays.pop("header").tobytes().decode("utf-8", "replace")
    header = parse_json(words, CHECKPOINT, record({"job": text, "arrays": text}), path.name)
    if header["job"] != job:
        raise BadInput(
            f"The checkpoint {path.name} belongs to another job (other rows, columns, objectives, seed, settings or "
            "version). Delete it, or go back to the job it was made with."
        )
    if header["arrays"] != fingerprint(arrays):
        raise CHECKPOINT.bad(path.name, "is damaged: its numbers are not those that were kept")
    return arrays


def check_points(front: Front, path: Path) -> None:
    """Raise where a point of a front that was resumed has other numbers than its recoding has when it is counted again.

    A digest tells damage, not a forger, who makes it anew. What the front says of its points is therefore counted; that
    no point is missing rests on the checkpoint, which is its owner's own.
    """
    if len(front) == 0:
        return
    counted = front.problem.evaluate(front.space, front.genomes)
    numbers = front.numbers
    for place, rows in enumerate(counted.rows_of(len(front))):
        row = counted.find(rows, int(numbers.thresholds[place]), numbers.values[place].tolist(), CLOSE)
        if row is None or not counted.feasible[row] or counted.suppressed[row] != numbers.suppressed[place]:
            raise CHECKPOINT.bad(path.name, f"has numbers that are not those of its recodings (point {place})")


@dataclass(eq=False)
class Kept(Generic[Standing]):
    """Where a search stood a moment ago, in memory, and a little longer ago, in its checkpoint."""

    path: Path | None
    job: str  # the fingerprint of the job it belongs to
    pack: Callable[[Standing], Arrays | None]  # what the checkpoint holds; None: the one that is there knows more
    now: Standing | None = None
    _asked: float = -math.inf  # when the search is asked again
    _saved: float = field(default_factory=lambda: time.monotonic() + SAVED)  # when the checkpoint is written again

    def take(self, standing: Standing) -> None:
        """The search stands here; the checkpoint is written now and then."""
        self.now = standing
        if time.monotonic() >= self._saved:
            with suppress(BadInput):  # a folder that cannot be written to is no reason to give up; Ctrl-C tells
                self.save()

    def ask(self, stand: Callable[[], Standing]) -> None:
        """As ``take``, for a search that works in place: its answer is a copy, and so is not wanted at every step."""
        clock = time.monotonic()
        if clock >= self._asked:
            self.take(stand())
            self._asked = clock + min(TAKEN, SHARE * (time.monotonic() - clock))

    def save(self) -> None:
        """Write the checkpoint."""
        if self.path is None or self.now is None:
            return
        began = time.monotonic()
        arrays = self.pack(self.now)
        if arrays is not None:
            write_checkpoint(self.path, self.job, arrays)
        ended = time.monotonic()
        self._saved = ended + max(SAVED, SHARE * (ended - began))

    def drop(self) -> None:
        """The search is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


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
