"""A search in a thread of its own: what it has done, how fast, the front so far; it can be stopped and go on."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kpareto.checkpoint import Cancelled
from kpareto.dominance import non_dominated
from kpareto.errors import KparetoError
from kpareto.front import Front
from kpareto.job import Job
from kpareto.problem import Numbers, Problem, join
from kpareto.queries import UniqueRows
from kpareto.run import BUDGET, run
from kpareto.search import Search
from kpareto.search.exact import State, Stopped, exact_front
from kpareto.searches import check_method, make_search, make_space
from kpareto.space import Lattice, Space

SHOWN = 2000  # points of a growing front that are sent


@dataclass(eq=False)
class Watched:
    """A search whose proposals are looked at in passing, for the front so far."""

    inner: Search
    see: Any  # a function of Numbers

    @property
    def name(self) -> str:
        """The name of the search itself."""
        return self.inner.name

    def moves(self, space: Space, rng: np.random.Generator) -> Generator[np.ndarray, Numbers, None]:
        """The moves of the search itself."""
        moves = self.inner.moves(space, rng)
        try:
            genomes = next(moves)
            while True:
                numbers = yield genomes
                self.see(numbers)
                genomes = moves.send(numbers)
        except StopIteration:
            return
        finally:
            moves.close()


@dataclass(eq=False)
class Searching:
    """One run of a job's search, in the background."""

    job: Job
    checkpoint: Path
    text: str = ""  # the job file it was started with, to tell whether the job has changed since
    unique: dict[int, UniqueRows] = field(default_factory=dict)  # point -> rows unique on all released columns
    phase: str = "waiting"  # waiting, reading, searching, stopped, done, failed
    done: int = 0
    total: int = 0
    sentence: str = ""
    front: Front | None = None
    version: int = 0  # grows with every change, so that watchers know there is news
    began: float = 0.0
    seconds: float = 0.0
    names: tuple[str, ...] = ()
    _best: Numbers | None = None
    _state: State | None = None
    _problem: Problem | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _start_done: int = 0

    def start(self) -> None:
        """Begin, or go on where it was stopped."""
        if self.running:
            return
        self._stop.clear()
        self.phase, self.sentence, self.began = "reading", "", time.monotonic()
        self._start_done = self.done if self._state is not None else 0
        self.version += 1
        self._thread = threading.Thread(target=self._work, name="kpareto-search", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Ask the search to stop; it does so after the part it is in."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until the thread has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def running(self) -> bool:
        """Whether the thread is at work."""
        return self._thread is not None and self._thread.is_alive() and self.phase in ("reading", "searching")

    def _work(self) -> None:
        try:
            self._search()
        except KparetoError as error:
            self._end("failed", str(error))
        except MemoryError:
            self._end("failed", "The search needs more memory than there is. Take fewer columns or coarser levels.")
        except Exception as error:  # noqa: BLE001 (a thread must not die in silence: the page shows the sentence)
            traceback.print_exc()
            self._end("failed", f"The search failed inside kpareto ({type(error).__name__}: {error}).")

    def _search(self) -> None:
        job = self.job
        check_method(job.method, job.space)
        problem = self._problem or job.problem()
        self._problem = problem
        self.names = tuple(measure.name for measure in problem.objectives)
        self.phase, self.began = "searching", time.monotonic()
        self.version += 1
        if job.method == "exact":
            self.total = Lattice(problem.table.hierarchies).size
            found = exact_front(problem, job.options.get("ties", "all"), None, self._report, self._state, self._keep)
            stopped = not found.provenance.complete
        else:
            found, stopped = self._heuristic(problem)
        self.front = found
        if stopped:
            self._end("stopped", f"Stopped after {self.done:,} recodings with {len(found):,} points. It can go on.")
        elif len(found) == 0:
            self._end("failed", "No recoding meets the limits. Relax them, or allow more suppression.")
        else:
            self._end("done", "")

    def _heuristic(self, problem: Problem) -> tuple[Front, bool]:
        job = self.job
        space = make_space(job.space, problem.table)
        self.total = job.budget or BUDGET
        self._best = None
        search = Watched(make_search(job.method, problem, space, job.options), self._see)
        try:
            return run(problem, space, search, self.total, job.seed, self._report, self.checkpoint), False
        except Cancelled as stopped:
            return stopped.front, True

    def _end(self, phase: str, sentence: str) -> None:
        self.seconds = time.monotonic() - self.began
        self.phase, self.sentence = phase, sentence
        self.version += 1

    def _keep(self, state: State) -> None:
        self._state, self._best = state, state.best

    def _see(self, numbers: Numbers) -> None:
        feasible = np.flatnonzero(numbers.feasible)
        fresh = numbers.take(feasible)
        both = fresh if self._best is None else join([self._best, fresh], numbers.keys.shape[1])
        self._best = both.take(non_dominated(both.keys, "one"))

    def _report(self, done: int, _: int) -> None:
        self.done = done
        self.version += 1
        if self._stop.is_set() and done < self.total:
            raise Stopped

    def status(self) -> dict[str, Any]:
        """What the page shows while it waits: numbers, rate, time that remains, the front so far."""
        seconds = time.monotonic() - self.began if self.running else self.seconds
        rate = (self.done - self._start_done) / seconds if seconds > 0 and self.phase != "reading" else 0.0
        left = (self.total - self.done) / rate if rate > 0 and self.running else None
        best = self._best
        values = [] if best is None else best.values[: len(best.values) : max(1, len(best.values) // SHOWN)].tolist()
        return {
            "phase": self.phase,
            "done": self.done,
            "total": self.total,
            "rate": rate,
            "remaining": left,
            "seconds": seconds,
            "sentence": self.sentence,
            "names": list(self.names),
            "method": self.job.method,
            "points": len(self.front) if self.front is not None else len(values),
            "values": values if self.running or self.phase == "stopped" else [],
            "version": self.version,
        }
