"""One loss, a given k, flexible cuts: the compiled searches, with a proven lower bound beside what they found.

``genitor`` breeds as Iyengar's and Lunacek's papers do; ``recut`` recuts one column after the other. Neither proves
anything by itself, so a bound is worked out: exactly where branch and bound gets through, else by decomposition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kpareto.errors import BadJob, Stopped, Unsafe
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Numbers, Provenance
from kpareto.fronts.problem import Problem
from kpareto.interrupts import OutOfTime, TimeLimit
from kpareto.kernels.compiling import working
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import make
from kpareto.searches.bounds import branch_and_bound, decomposition_bound
from kpareto.searches.cuts.genitor import Progress, Result, Settings, genitor
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import Score, score_of
from kpareto.searches.driver import Arrays, Ending, Kept, Tell, job_print
from kpareto.searches.lattice.climbing import lattice_starts
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Space

SEARCHED = 0.75  # of the time; the bound has the rest
SMALL = 2_000_000  # recodings: so few are searched to the end


@dataclass(frozen=True)
class LowerBound:
    """No recoding of the space has a smaller loss than this."""

    value: float
    proven: bool  # what was found is the least
    how: str


def can_compile(method: str, problem: Problem, space: Space) -> bool:
    """Whether the compiled searches know the job: one loss, k as the only limit, cuts; recut takes few losses."""
    if not (method.startswith("genitor") or method in ("recut", "improve")) or not isinstance(space, Cuts):
        return False
    score = score_of(problem, space)
    if score is None:
        return False
    return method.startswith("genitor") or score.adds_up


@dataclass(eq=False)
class Compiled:
    """A compiled search, driven: its front is the best recoding it finds, with its proven gap."""

    method: str
    problem: Problem
    space: Cuts
    budget: int | None = None  # evaluations of genitor, columns recut at the most; recut ends by itself too
    seed: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: TimeLimit = field(default_factory=TimeLimit)
    began: float = field(default_factory=working)

    def __post_init__(self) -> None:
        if not can_compile(self.method, self.problem, self.space):
            raise TypeError("ask can_compile first")
        if self.method == "improve":
            self.method = "recut"  # what improve stands for where one loss is wanted
        if self.breeds and self.budget is None:
            raise BadJob("GENITOR breeds until its budget is spent. Give one, such as 50000.")

    @property
    def breeds(self) -> bool:
        """Whether it is GENITOR, with whichever settings."""
        return self.method.startswith("genitor")

    @property
    def total(self) -> int:
        """The evaluations that may be spent; without a budget nobody knows how many columns will be recut."""
        return self.budget or 0

    @cached_property
    def score(self) -> Score:
        """What is minimized."""
        score = score_of(self.problem, self.space)
        if score is None:
            raise TypeError("ask can_compile first")
        return score

    @cached_property
    def settings(self) -> Settings:
        """How GENITOR breeds."""
        return Settings(**{k: v for k, v in self.options.items() if k in Settings.__dataclass_fields__})

    def fingerprint(self) -> str:
        """The job, the search, its seed and all its settings."""
        settings = self.settings if self.breeds else None
        return job_print(self.problem, self.space, "compiled", self.method, self.budget, settings, self.seed)

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[Result]) -> Front:
        """Search, then work out how far from the least loss the best one may be."""
        ends: list[BaseException] = []

        def go_on(evaluations: int, _: float) -> bool:
            try:
                tell(evaluations, lambda: self._evaluate(kept.now)[1])
            except (KeyboardInterrupt, Stopped) as error:
                ends.append(error)  # the step is done, and the search hands over where it stands
            return not ends and (self.breeds or self.budget is None or evaluations < self.budget)

        state = None if known is None else dict(known)
        until = self.limit.part(SEARCHED)
        with until.watching():
            result = self._search(state, go_on, kept)
        kept.now = result
        if ends:
            raise ends[0]
        return self._front(result, late=until.is_up)

    def _search(self, state: dict[str, np.ndarray] | None, go_on: Progress, kept: Kept[Result]) -> Result:
        if self.breeds:
            return genitor(self.score, self.budget or 0, self.seed, self.settings, None, state, go_on, kept.ask)
        starts = lattice_starts(self.problem, self.space) if state is None else None
        return recut_columns(self.score, self.seed, starts, progress=go_on, resume=state, keep=kept.ask)

    def pack(self, standing: Result) -> Arrays | None:
        """The arrays that continue the search bit by bit; None where there was no time to begin."""
        return standing.state or None

    def front_so_far(self, standing: Result | None, ending: Ending) -> Front:
        """What a search that was ended knows: no point, or its best one without a bound."""
        evaluations = 0 if standing is None else standing.evaluations
        seconds = working() - self.began
        provenance = Provenance(
            self.method, evaluations, False, self.seed, seconds, ending.note, stopped=ending.stopped, points="best"
        )
        return make_front(self.problem, self.space, *self._evaluate(standing), provenance)

    def _evaluate(self, standing: Result | None) -> tuple[np.ndarray, Numbers]:
        """The best genome that meets the limits, if any: (0 or 1, genes) int64, and its numbers."""
        genomes = np.zeros((0, len(self.space.genes)), dtype=np.int64)
        best = None if standing is None else self._with_rows(standing)
        if best is not None and math.isfinite(best.value):
            genomes = best.genome[None, :].astype(np.int64)
        return genomes, self.problem.evaluate(self.space, genomes)

    def _with_rows(self, result: Result) -> Result:
        """The result, or the top of all hierarchies where the best recoding keeps no row, or nothing met was feasible.

        A suppressed row costs no less than a row of which nothing is told, so the score cannot tell these two apart;
        but only one of them is a release.
        """
        if math.isfinite(result.value) and self._keeps_rows(result.genome):
            return result
        top = np.zeros_like(result.genome)
        if not self._keeps_rows(top):
            return replace(result, value=math.inf)
        return replace(result, genome=top, value=float(self.score.values(top[None, :])[0]))

    def _keeps_rows(self, genome: np.ndarray) -> bool:
        return bool(self.problem.evaluate(self.space, genome[None, :].astype(np.int64)).feasible.any())

    def _front(self, result: Result, *, late: bool) -> Front:
        """The front of a search that is done, or that is late: the rest of its time was for the bound."""
        up = f"the {self.limit.seconds:g} seconds were up" if late else ""
        result = self._with_rows(result)
        if not math.isfinite(result.value):
            if late:
                return self.front_so_far(result, Ending(up, stopped=False))
            raise Unsafe("No recoding that was met keeps the limits. Ask for a smaller k, or allow more suppression.")
        bound = lower_bound(self.score, result.genome, result.value)
        gap = 0.0 if bound.proven or result.value == 0 else (result.value - bound.value) / result.value
        least = f"the least loss is at least {bound.value:.6g} ({bound.how}); the gap is {gap:.1%}"
        note = "" if bound.proven else f"{up}; {least}" if late else least
        trace = result.trace[:: max(1, len(result.trace) // 100)].tolist()
        details = {
            "lower_bound": bound.value,
            "bound_by": bound.how,
            "gap": gap,
            "distinct": result.distinct,
            "goal": f"least {self.problem.objectives[0].name}",
            "trace": [[int(e), float(v), int(d)] for e, v, d in trace],
        }
        seconds = working() - self.began
        provenance = Provenance(
            self.method, result.evaluations, bound.proven, self.seed, seconds, note, details, points="best"
        )
        return make_front(self.problem, self.space, *self._evaluate(result), provenance)


def lower_bound(score: Score, genome: np.ndarray, value: float) -> LowerBound:
    """A proven lower bound on the loss of any recoding of the space; a weaker one where the time is up."""
    try:
        return _lower_bound(score, genome, value)
    except OutOfTime:
        return LowerBound(0.0, False, "there was no time to prove more")


def _lower_bound(score: Score, genome: np.ndarray, value: float) -> LowerBound:
    rows = score.table.rows
    if 0 < score.allowed < rows:  # without the cap more is allowed, so the least loss can only be smaller
        free = _lower_bound(replace(score, limit=None), genome, math.inf)
        return LowerBound(min(free.value, value), False, f"{free.how}, suppression without a cap")
    if score.space.size <= SMALL:
        proof = branch_and_bound(score, known=genome)
        if proof.complete and math.isclose(proof.value, value, rel_tol=1e-12, abs_tol=1e-12):
            return LowerBound(value, True, "branch and bound")
        return LowerBound(proof.bound, False, "branch and bound, not finished")
    if all(isinstance(make(spec), CellLoss) for spec in score.losses):
        uncapped = score if score.allowed >= rows else replace(score, limit=None)
        return LowerBound(decomposition_bound(uncapped).value, False, "decomposition by sets of three columns")
    return LowerBound(0.0, False, "none better than zero is known for this loss")
