"""One loss, a given k, flexible cuts: the compiled searches, with a proven lower bound beside what they found.

``genitor`` breeds as Iyengar's and Lunacek's papers do; ``improve`` recuts one column after the other. Neither proves
anything by itself, so a bound is worked out: exactly where branch and bound gets through, else by decomposition.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kpareto.bounds import branch_and_bound, decomposition_bound
from kpareto.cuts import Cuts
from kpareto.errors import Unsafe
from kpareto.front import Front, Provenance, make_front
from kpareto.loss import CellLoss
from kpareto.measure import make
from kpareto.problem import Problem
from kpareto.score import Score, score_of
from kpareto.search.genitor import Result, Settings, genitor
from kpareto.search.improve import improve, lattice_starts
from kpareto.space import Space

SMALL = 2_000_000  # recodings: so few are searched to the end
BUDGET = 50_000


@dataclass(frozen=True)
class LowerBound:
    """No recoding of the space has a smaller loss than this."""

    value: float
    proven: bool  # what was found is the least
    how: str


def can_run_single(method: str, problem: Problem, space: Space) -> bool:
    """Whether the compiled searches know the job: one loss, k as the only limit, cuts."""
    return method in ("genitor", "improve") and isinstance(space, Cuts) and score_of(problem, space) is not None


def run_single(
    method: str,
    problem: Problem,
    space: Cuts,
    budget: int | None = None,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Front:
    """The best recoding a compiled search finds, as a front of one point with its proven gap."""
    began = time.perf_counter()
    score = score_of(problem, space)
    if score is None:
        raise TypeError("ask can_run_single first")
    chosen = {key: value for key, value in (options or {}).items() if key in Settings.__dataclass_fields__}

    def tell(evaluations: int, _: float) -> bool:
        if report is not None:
            report(evaluations, budget or 0)
        return True

    if method == "genitor":
        result = genitor(score, budget or BUDGET, seed, Settings(**chosen), progress=tell)
    else:
        result = improve(score, seed, lattice_starts(problem, space), progress=tell)
    if not math.isfinite(result.value):
        raise Unsafe("No recoding that was met keeps the limits. Ask for a smaller k, or allow more suppression.")
    return _front(method, problem, space, score, result, seed, began)


def _front(method: str, problem: Problem, space: Cuts, score: Score, result: Result, seed: int, began: float) -> Front:
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
