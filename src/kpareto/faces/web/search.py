"""Searches, and comparisons of models, in threads of their own: how far they are, and how they are stopped."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kpareto.errors import BadInput, BadJob, Interrupted, KparetoError, Stopped
from kpareto.faces.web.page_words import page_sentence
from kpareto.faces.web.runs import KeptRuns, RunRecord
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.front import Front
from kpareto.fronts.models import MODELS, ModelCurves, read_models
from kpareto.fronts.numbers import Numbers, join
from kpareto.fronts.problem import Problem
from kpareto.interrupts import Hearing, hearing, pause
from kpareto.jobs.front import plan_of, search_job
from kpareto.jobs.job import Job
from kpareto.jobs.release import ReleaseTrial
from kpareto.kernels.compiling import COMPILATIONS
from kpareto.searches.driver import Cancelled
from kpareto.searches.forecast import say_slow
from kpareto.searches.models import compare_models
from kpareto.searches.run import Plan
from kpareto.tables.spelling import several

RUNNING = ("reading", "looking", "searching")
PATIENCE = 0.7  # seconds in which a search that is stopped may end its step before it is left behind
SHOWN = 2000  # points of a growing front that are sent


def _say_failed(error: Exception, what: str) -> str:
    """Why work in a thread has failed, as the page says it; what nobody foresaw stands in the terminal too."""
    if isinstance(error, KparetoError):
        return page_sentence(error)
    if isinstance(error, MemoryError):
        return f"The {what} needs more memory than there is. Take fewer columns or coarser levels."
    traceback.print_exception(error)
    return f"The {what} failed inside kpareto ({type(error).__name__}: {error})."


def _later(work: Callable[..., None], *arguments: object) -> None:
    """Do something when a step that is stopped has had its time to end."""
    timer = threading.Timer(PATIENCE, work, arguments)
    timer.daemon = True
    timer.start()


@dataclass(eq=False)
class Searching:
    """One run of a job's search, in the background."""

    job: Job
    checkpoint: Path
    id: str = ""
    content: str = ""  # digest of the job and its hierarchies, to tell whether they have changed since
    keep: Callable[[], None] | None = None  # writes the run, when it begins and when it ends
    checked: WeakKeyDictionary[Front, dict[int, ReleaseTrial]] = field(default_factory=WeakKeyDictionary)  # by point
    phase: str = "waiting"  # waiting, reading, looking, searching, stopped, done, failed
    done: int = 0
    total: int = 0  # 0 where nobody knows before the end
    sentence: str = ""
    front: Front | None = None
    version: int = 0  # grows with every change, so that watchers know there is news
    began: float = 0.0
    seconds: float = 0.0
    names: tuple[str, ...] = ()
    _best: Numbers | None = None
    _problem: Problem | None = None
    looked: int = 0  # recodings met before the search proper
    _hearing: Hearing = field(default_factory=Hearing)
    _first: tuple[float, int, float] | None = None  # at the first report: when, what was done, seconds compiled
    _thread: threading.Thread | None = None
    _left: bool = False  # the person has gone on while a step was ending
    _earlier_done: int = 0  # recodings of the stretches before this one
    _kept_points: int = 0
    _kept_in: KeptRuns | None = None
    _loading: threading.Lock = field(default_factory=threading.Lock)
    _ending: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Begin, or go on where it was stopped."""
        if self.running:
            return
        if self._thread is not None:
            self._thread.join(PATIENCE)  # it may be keeping what it has found
        if self._thread is not None and self._thread.is_alive():
            raise BadJob("The step that was under way when you stopped is still ending. Try again in a moment.")
        self._hearing = Hearing(self._look)
        self.phase, self.sentence, self.began = "reading", "", time.monotonic()
        self.looked, self._first, self._left, self._earlier_done = 0, None, False, self.done
        self.version += 1
        self._thread = threading.Thread(target=self._work, name="kpareto-search", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop: the loops under way are halted, and a step that cannot be is left to end by itself."""
        self._hearing.stop()
        if self.running:
            _later(self._leave_behind, self._thread)

    def _leave_behind(self, thread: threading.Thread | None) -> None:
        """The person goes on; what the step under way has found is taken when it ends."""
        with self._ending:
            if thread is self._thread and self.running:
                self.seconds = time.monotonic() - self.began
                self.phase, self._left = "stopped", True
                self.sentence = "Stopped. The step under way ends in the background, and then shows its points."
                self.version += 1

    @property
    def has_points(self) -> bool:
        """Whether there is a front to explore, in memory or kept."""
        return self._kept_points > 0 if self.front is None else len(self.front) > 0

    @property
    def ran_out(self) -> bool:
        """Whether its time was up before it was complete: only then what it knows is kept after its end."""
        return self.phase == "done" and self.checkpoint.is_file()

    def follow_on(self, other: Searching) -> None:
        """Stand on the rows that another search of the same table has read."""
        self._problem = other._problem

    def recall(self, kept: KeptRuns, record: RunRecord) -> None:
        """Stand where a kept run ended; its front is read when somebody asks for it."""
        status = record.status
        self.phase = "done" if record.phase == "done" else "stopped"
        self.sentence = str(status.get("sentence", ""))
        if record.phase == "running":
            self.sentence = "The server ended while this search ran. It can go on where it was."
        self.done, self.total = int(status.get("done", 0)), int(status.get("total", 0))
        self.seconds, self.names = float(status.get("seconds", 0.0)), tuple(status.get("names", ()))
        self._kept_points = int(status.get("points", 0)) if kept.has_front(self.id) else 0
        self._kept_in = kept
        self.version += 1

    def load(self) -> Front | None:
        """The front, read from its file where it is not in memory."""
        with self._loading:
            if self.front is None and self._kept_in is not None and self._kept_points:
                self._problem = self._problem or self.job.problem()
                self.front = self._kept_in.load(self.id, self.job, self._problem)
            return self.front

    def take_further(self, front: Front) -> None:
        """Go on with a front that was searched for one more wish; its points have other numbers now."""
        with self._ending:
            self.front, self._kept_points = front, len(front)
        self._keep()
        self.version += 1

    def wait(self, seconds: float | None = None) -> None:
        """Until the thread has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def running(self) -> bool:
        """Whether the thread is at work."""
        return self._thread is not None and self._thread.is_alive() and self.phase in RUNNING

    @property
    def over(self) -> bool:
        """Whether nothing more is to come: what was found is kept too, or is left to the background."""
        return not self.running and (self._left or self._thread is None or not self._thread.is_alive())

    def _work(self) -> None:
        try:
            with hearing(self._hearing):
                self._search()
        except Cancelled as cancelled:
            self._end_early(cancelled.front)
        except (Stopped, Interrupted):  # before it had counted anything itself
            self._end_early(None)
        except Exception as error:  # noqa: BLE001 (a thread must not die in silence: the page shows the sentence)
            self._end("failed", _say_failed(error, "search"))

    def _search(self) -> None:
        plan = plan_of(self.job)  # a job that cannot run is told before its rows are read
        problem = self._problem or self.job.problem(progress=lambda _, __: pause())
        self.job.rows_source()  # a file that was written meanwhile is no table of one moment
        self._problem = problem
        self.names = tuple(measure.name for measure in problem.objectives)
        self.phase, self.began, self._best = "searching", time.monotonic(), None
        self._keep()
        self.version += 1
        self.sentence = say_slow(problem, plan.way, plan.evaluations, plan.kind)
        self.version += 1
        self.front = search_job(self.job, problem, self._report, self.checkpoint, self._see)
        self._end("done", "")

    def _end_early(self, front: Front | None) -> None:
        """Stopped: what an earlier stretch found stays, until this one has counted as far and has a front."""
        if front is not None and (not self.has_points or (self._first and self.done >= self._earlier_done)):
            self.front = front
        elif front is None and not self.has_points:
            self._end("stopped", "Stopped before anything was counted. It can begin again.")
            return
        self.done = max(self.done, self._earlier_done)
        points = self._kept_points if self.front is None else len(self.front)
        self._end("stopped", f"Stopped after {self.done:,} {self.unit} with {several(points, 'point')}. It can go on.")

    @property
    def unit(self) -> str:
        """What the search counts as it goes on: a local one steps, each of which looks at many recodings."""
        return "steps" if self.job.method == "local" else "recodings"

    def _end(self, phase: str, sentence: str) -> None:
        with self._ending:
            if self.phase in RUNNING:
                self.seconds = time.monotonic() - self.began
            self.phase, self.sentence = phase, sentence
        self._keep()
        self.version += 1

    def _look(self, numbers: Numbers) -> None:
        """What is met before the search proper: shown, and counted apart."""
        if self.phase == "searching":
            self.phase = "looking"
        self.looked += len(np.unique(numbers.which))
        self._see(numbers)
        self.version += 1

    def _keep(self) -> None:
        """Write the run; where that cannot be, the front stays in memory, and the page says so."""
        try:
            if self.keep is not None:
                self.keep()
        except (OSError, BadInput) as error:
            self.sentence = f"{self.sentence} The run could not be kept on disk: {error}".strip()

    def _see(self, numbers: Numbers) -> None:
        """Put what was just counted into the front so far: one recoding for each trade-off, however many have it."""
        fresh = numbers.take(np.flatnonzero(numbers.feasible))
        both = fresh if self._best is None else join([self._best, fresh], numbers.keys.shape[1])
        self._best = both.take(non_dominated(both.keys, "one"))

    def _report(self, done: int, total: int) -> None:
        """The search tells how far it is, or, as long as it has told nothing, that it is at work."""
        self.version += 1
        if self._first is not None or total or done > self.looked:
            self.done, self.total = done, total
            if self.phase == "looking":
                self.phase = "searching"
            if self._first is None:
                self._first = (time.monotonic(), done, COMPILATIONS.seconds)
        if self._hearing.stopped.is_set() and (done < total or total == 0):
            raise Stopped

    @property
    def shown_phase(self) -> str:
        """The phase, or ``preparing`` while numba compiles the loops that it needs."""
        return "preparing" if self.running and COMPILATIONS.under_way else self.phase

    def _rate(self, now: float) -> float:
        """Recodings per second since the first report; neither the start nor compiling counts."""
        if self._first is None:
            return 0.0
        when, done, compiled = self._first
        seconds = now - when - (COMPILATIONS.seconds - compiled)
        return (self.done - done) / seconds if seconds > 0 and self.done > done else 0.0

    def status(self) -> dict[str, Any]:
        """What the page shows while it waits: numbers, rate, time that remains, the front so far."""
        seconds = time.monotonic() - self.began if self.running else self.seconds
        rate = self._rate(self.began + seconds)
        left = (self.total - self.done) / rate if rate > 0 and self.running and self.total else None
        best = self._best
        values = [] if best is None else best.values[: len(best.values) : max(1, len(best.values) // SHOWN)].tolist()
        if self.front is None:
            points = different = max(0 if best is None else len(best.values), self._kept_points)
        else:
            points, different = len(self.front), len(np.unique(self.front.numbers.keys, axis=0))
        return {
            "phase": self.shown_phase,
            "looked": self.looked,
            "done": self.done,
            "total": self.total,
            "rate": rate,
            "remaining": left,
            "seconds": seconds,
            "sentence": self.sentence,
            "names": list(self.names),
            "method": self.job.method,
            "points": points,
            "unit": self.unit,
            "different": different,  # recodings with the same numbers are one trade-off
            "complete": self.front is not None and self.front.provenance.complete,
            "ran_out": self.ran_out,
            "run": self.id,
            "values": values if self.running or self.phase == "stopped" else [],
            "version": self.version,
        }


STOPPED = "Stopped before the models were compared."
SECONDS = (10, 30, 120, 600)  # how long a comparison may take, as the page offers it


@dataclass(eq=False)
class ModelRun:
    """One comparison of models over the table of a front."""

    front: Front
    models: tuple[str, ...]
    allowed: float  # seconds
    seed: int = 1
    plan: Plan | None = None  # the search of the job
    phase: str = "running"  # running, done, stopped, failed
    place: int = 0  # which model is at work
    sentence: str = ""
    curves: ModelCurves | None = None
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    _compiled: float = field(default_factory=lambda: COMPILATIONS.seconds)  # before it began
    _hearing: Hearing = field(default_factory=Hearing)
    _ending: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin in a thread."""
        self._thread = threading.Thread(target=self._work, name="kpareto-models", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop: loops under way are halted, and a step that cannot be, such as compiling, is left to end by itself."""
        self._hearing.stop()
        _later(self._end, "stopped", STOPPED)

    def wait(self, seconds: float | None = None) -> None:
        """Until the thread has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        try:
            with hearing(self._hearing):
                problem = self.front.problem
                curves = compare_models(problem, self.models, None, self.allowed, self.seed, self._report, self.plan)
            self._end("done", "", curves)
        except (Interrupted, Stopped):
            self._end("stopped", STOPPED)
        except Exception as error:  # noqa: BLE001 (as above)
            self._end("failed", _say_failed(error, "comparison"))

    def _end(self, phase: str, sentence: str, curves: ModelCurves | None = None) -> None:
        """Over; what comes of a step that was left behind is not taken."""
        with self._ending:
            if self.phase == "running":
                self.seconds, self.curves = self._worked(), curves
                self.phase, self.sentence = phase, sentence

    def _worked(self) -> float:
        """Seconds of work so far; compiling is none."""
        return time.monotonic() - self.began - (COMPILATIONS.seconds - self._compiled)

    def _report(self, done: int, _total: int) -> None:
        self.place = done
        if self._hearing.stopped.is_set():
            raise Stopped

    def status(self) -> dict[str, Any]:
        """What the page shows: which model is at work, for how long; in the end the curves."""
        running = self.phase == "running"
        curves = self.curves
        return {
            "phase": self.phase,
            "models": [{"name": name, "words": MODELS[name]} for name in self.models],
            "place": self.place,
            "preparing": running and COMPILATIONS.under_way,
            "prepared": COMPILATIONS.seconds - self._compiled,  # seconds that compiling has taken
            "seconds": self._worked() if running else self.seconds,
            "allowed": self.allowed,
            "stopping": running and self._hearing.stopped.is_set(),
            "sentence": self.sentence,
            "curves": None if curves is None else [_curve(curves, name) for name in self.models],
            "gains": None if curves is None else curves.gains(),
            "advice": "" if curves is None else curves.advice(),
        }


def _curve(curves: ModelCurves, name: str) -> dict[str, Any]:
    curve = next(other for other in curves.curves if other.name == name)
    return {
        "name": curve.name,
        "words": MODELS[curve.name],
        "proven": curve.proven,
        "points": [
            {"k": p.k, "kept": p.kept / 100, "most": None if p.most is None else p.most / 100} for p in curve.points
        ],
    }


def start_comparison(front: Front, question: Mapping[str, Any], plan: Plan) -> ModelRun:
    """Compare the models that are named, within the seconds that are given."""
    seconds = question.get("seconds", 30)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= SECONDS[-1]:
        raise BadJob(f"The comparison may take {seconds!r} seconds. Give a number from 1 to {SECONDS[-1]}.")
    models = question.get("models", ["lattice", "cuts", "local"])
    if not isinstance(models, list) or not models or not all(isinstance(name, str) for name in models):
        raise BadJob(f"The models to compare are {models!r}. Give a list of names, such as lattice and local.")
    run = ModelRun(front, read_models(models), float(seconds), plan.seed, plan)
    run.start()
    return run
