"""Models of recoding compared for the page: in a thread of its own, with progress, and stopped when asked."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kpareto.errors import BadJob, Interrupted, KparetoError, Stopped
from kpareto.faces.web.searching import PATIENCE
from kpareto.fronts.compilations import COMPILATIONS
from kpareto.fronts.front import Front
from kpareto.fronts.models import MODELS, ModelCurves, read_models
from kpareto.interrupts import Hearing, hearing
from kpareto.searches.models import compare_models
from kpareto.searches.run import Plan

STOPPED = "Stopped before the models were compared."
SECONDS = (10, 30, 120, 600)  # how long a comparison may take, as the page offers it


@dataclass(eq=False)
class ModelRun:
    """One comparison of models over the table of a front."""

    front: Front
    models: tuple[str, ...]
    allowed: float  # seconds
    seed: int = 1
    own: Plan | None = None  # the search of the job
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
        later = threading.Timer(PATIENCE, self._end, ["stopped", STOPPED])
        later.daemon = True
        later.start()

    def wait(self, seconds: float | None = None) -> None:
        """Until the thread has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        try:
            with hearing(self._hearing):
                problem = self.front.problem
                curves = compare_models(problem, self.models, None, self.allowed, self.seed, self._report, self.own)
            self._end("done", "", curves)
        except (Interrupted, Stopped):
            self._end("stopped", STOPPED)
        except KparetoError as error:
            self._end("failed", str(error))
        except Exception as error:  # noqa: BLE001 (a thread must not die in silence: the page shows the sentence)
            traceback.print_exc()
            self._end("failed", f"The comparison failed inside kpareto ({type(error).__name__}: {error}).")

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
    curve = next(each for each in curves.curves if each.name == name)
    return {
        "name": curve.name,
        "words": MODELS[curve.name],
        "proven": curve.proven,
        "seconds": curve.seconds,
        "points": [
            {"k": p.k, "reached": p.reached, "kept": p.kept / 100, "most": None if p.most is None else p.most / 100,
             "suppressed": p.suppressed} for p in curve.points
        ],
    }  # fmt: skip


def start_models(front: Front, question: Mapping[str, Any], own: Plan) -> ModelRun:
    """Compare the models that are named, within the seconds that are given."""
    seconds = question.get("seconds", 30)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= SECONDS[-1]:
        raise BadJob(f"The comparison may take {seconds!r} seconds. Give a number from 1 to {SECONDS[-1]}.")
    models = question.get("models", ["lattice", "cuts", "local"])
    if not isinstance(models, list) or not models or not all(isinstance(name, str) for name in models):
        raise BadJob(f"The models to compare are {models!r}. Give a list of names, such as lattice and local.")
    run = ModelRun(front, read_models(models), float(seconds), own.seed, own)
    run.start()
    return run
