"""One loss, a given k, flexible cuts: the compiled searches, with a proven lower bound beside what they found.

``genitor`` breeds as Iyengar's and Lunacek's papers do; ``improve`` recuts one column after the other. Neither proves
anything by itself, so a bound is worked out: exactly where branch and bound gets through, else by decomposition.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kpareto.bounds import branch_and_bound, decomposition_bound
from kpareto.checkpoint import Cancelled, job_print, read_checkpoint, write_checkpoint
from kpareto.cuts import Cuts
from kpareto.errors import BadInput, Interrupted, Unsafe
from kpareto.front import Front, Provenance, make_front
from kpareto.loss import CellLoss
from kpareto.measure import make
from kpareto.problem import Problem
from kpareto.score import Score, score_of
from kpareto.search.exact import Stopped
from kpareto.search.genitor import Result, Settings, genitor
from kpareto.search.improve import improve, lattice_starts
from kpareto.space import Space

SMALL = 2_000_000  # recodings: so few are searched to the end
BUDGET = 50_000
TAKEN = 1.0  # seconds of work that Ctrl-C may cost at the most
SAVED = 3.0  # seconds of work that a kill may cost, and a step


@dataclass(frozen=True)
class LowerBound:
    """No recoding of the space has a smaller loss than this."""

    value: float
    proven: bool  # what was found is the least
    how: str


def can_run_single(method: str, problem: Problem, space: Space) -> bool:
    """Whether the compiled searches know the job: one loss, k as the only limit, cuts."""
    return method in ("genitor", "improve") and isinstance(space, Cuts) and score_of(problem, space) is not None


def run_single(  # noqa: PLR0913 (as run and run_exact take them)
    method: str,
    problem: Problem,
    space: Cuts,
    budget: int | None = None,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
    report: Callable[[int, int], None] | None = None,
    checkpoint: Path | None = None,
) -> Front:
    """The best recoding a compiled search finds, as a front of one point with its proven gap.

    Stopped, it keeps where it stands in ``checkpoint``; run again, it goes on from there and ends with the same bits.
    """
    began = time.perf_counter()
    score = score_of(problem, space)
    if score is None:
        raise TypeError("ask can_run_single first")
    settings = Settings(**{k: v for k, v in (options or {}).items() if k in Settings.__dataclass_fields__})
    course = f"compiled genitor {settings} {budget or BUDGET}" if method == "genitor" else f"compiled {method}"
    kept = _Kept(checkpoint, job_print(problem, space, course, seed) if checkpoint is not None else "")
    state = read_checkpoint(checkpoint, kept.job)
    stopped = False

    def tell(evaluations: int, _: float) -> bool:
        nonlocal stopped
        try:
            if report is not None:
                report(evaluations, budget or 0)
        except (KeyboardInterrupt, Stopped):
            stopped = True
        return not stopped

    try:
        if method == "genitor":
            kept.now = genitor(score, budget or BUDGET, seed, settings, None, state, tell, kept.keep)
        else:
            starts = lattice_starts(problem, space) if state is None else None
            kept.now = improve(score, seed, starts, progress=tell, resume=state, keep=kept.keep)
        if not stopped:
            front = _front(method, problem, space, score, kept.now, seed, began)
            kept.drop()
            return front
    except (KeyboardInterrupt, Stopped):
        pass  # what was kept last is what is known
    except Unsafe:
        kept.drop()  # the search is done all the same
        raise
    front = _unfinished(method, problem, space, kept.now, seed, began)
    if checkpoint is not None:
        if kept.now is None and state is None:
            raise Interrupted("Stopped before anything was counted.")
        kept.save()
        raise Cancelled(front, checkpoint)
    return front


@dataclass(eq=False)
class _Kept:
    """Where a search stood a moment ago, in memory, and a little longer ago, in its checkpoint."""

    path: Path | None
    job: str
    now: Result | None = None
    due: float = -math.inf  # when it is asked again
    saved: float = field(default_factory=time.monotonic)

    def keep(self, stand: Callable[[], Result]) -> None:
        """Take the search's word where it stands, now and then; Ctrl-C may come in the middle of a step."""
        clock = time.monotonic()
        if clock >= self.due:
            self.now = stand()
            # A walk tells in no time, a population with its memo takes a while: 2 % of the work at the most.
            self.due = clock + min(TAKEN, 50 * (time.monotonic() - clock))
            if clock - self.saved >= SAVED:
                with suppress(BadInput):  # a folder that cannot be written to is no reason to give up; Ctrl-C tells
                    self.save()

    def save(self) -> None:
        """Write the checkpoint."""
        if self.path is not None and self.now is not None:
            write_checkpoint(self.path, self.job, self.now.state)
            self.saved = time.monotonic()

    def drop(self) -> None:
        """The search is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _unfinished(method: str, problem: Problem, space: Cuts, result: Result | None, seed: int, began: float) -> Front:
    """What a search that was stopped knows: no point, or its best one without a bound."""
    genomes = np.zeros((0, len(space.genes)), dtype=np.int64)
    if result is not None and math.isfinite(result.value):
        genomes = result.genome[None, :]
    evaluations = 0 if result is None else result.evaluations
    seconds = time.perf_counter() - began
    made = Provenance(method, evaluations, False, seed, seconds, "stopped by the user", stopped=True)
    return make_front(problem, space, genomes, problem.evaluate(space, genomes), made)


def _front(method: str, problem: Problem, space: Cuts, score: Score, result: Result, seed: int, began: float) -> Front:
    """The front of a search that is done."""
    if not math.isfinite(result.value):
        raise Unsafe("No recoding that was met keeps the limits. Ask for a smaller k, or allow more suppression.")
    bound = lower_bound(score, result.genome, result.value)
    genomes = result.genome[None, :].astype(np.int64)
    gap = 0.0 if bound.proven or result.value == 0 else (result.value - bound.value) / result.value
    note = "" if bound.proven else f"the least loss is at least {bound.value:.6g} ({bound.how}); the gap is {gap:.1%}"
    details = {
        "lower_bound": bound.value,
        "bound_by": bound.how,
        "gap": gap,
        "distinct": result.distinct,
        "trace": [[int(e), float(v), int(d)] for e, v, d in result.trace[:: max(1, len(result.trace) // 100)].tolist()],
    }
    seconds = time.perf_counter() - began
    made = Provenance(method, result.evaluations, bound.proven, seed, seconds, note, details)
    return make_front(problem, space, genomes, problem.evaluate(space, genomes), made)


def lower_bound(score: Score, genome: np.ndarray, value: float) -> LowerBound:
    """A proven lower bound on the loss of any recoding of the space."""
    rows = score.table.rows
    if 0 < score.allowed < rows:  # without the cap more is allowed, so the least loss can only be smaller
        free = lower_bound(replace(score, limit=1.0), genome, math.inf)
        return LowerBound(min(free.value, value), False, f"{free.how}, suppression without a cap")
    if score.space.size <= SMALL:
        proof = branch_and_bound(score, known=genome)
        if proof.complete and math.isclose(proof.value, value, rel_tol=1e-12, abs_tol=1e-12):
            return LowerBound(value, True, "branch and bound")
        return LowerBound(proof.bound, False, "branch and bound, not finished")
    if all(isinstance(make(spec), CellLoss) for spec in score.losses):
        uncapped = score if score.allowed >= rows else replace(score, limit=1.0)
        return LowerBound(decomposition_bound(uncapped).value, False, "decomposition by sets of three columns")
    return LowerBound(0.0, False, "none better than zero is known for this loss")
