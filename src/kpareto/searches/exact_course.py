"""The exact search, driven: to its end, or as far as its time goes.

Out of time, its answer is the front so far with a proven floor for every point: what no recoding can beat at its k. The
lattice was then too large, so the last part of the time goes to a heuristic search, which may find better points; the
floors stay.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kpareto.errors import BadJob
from kpareto.fronts.dominance import Ties
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Numbers, Provenance, join, spell_count
from kpareto.fronts.problem import Problem
from kpareto.interrupts import pause
from kpareto.searches.checkpoint import Arrays, Kept, job_print
from kpareto.searches.course import Ending, Tell
from kpareto.searches.exact_front import front_of
from kpareto.searches.floors import make_floors
from kpareto.searches.lattice.boxes import grid_for
from kpareto.searches.lattice.climbing import front_of_all, reach_good_nodes
from kpareto.searches.lattice.exact import State, count_lattice, find_way, nothing_counted, settled_parts
from kpareto.searches.lattice.pbg_ea import PbgEa
from kpareto.searches.memo import numbers_arrays, numbers_from
from kpareto.searches.proposals import Proposals
from kpareto.searches.time_limit import OutOfTime, TimeLimit
from kpareto.tables.lattice import Lattice

EXACT_SHARE = 0.6  # of the time, before heuristic searches look on
NEIGHBOURS = 0.6  # of the rest, to look among the neighbours of what is known
MOST_NODES = 2**62  # nodes are numbered by 64 bits
LONG = 2_000  # populations, where it does not run out of time before
POPULATION = 100  # the paper's 25 are for lattices of some thousand nodes


@dataclass(eq=False)
class Exact:
    """The exact search over the lattice, driven part by part."""

    problem: Problem
    ties: Ties = "all"
    threads: int | None = None
    limit: TimeLimit = field(default_factory=TimeLimit)
    seed: int = 1  # of the heuristic search that looks on where the time was too short
    began: float = field(default_factory=time.perf_counter)
    _reached: Numbers | None = None  # neighbours of what was known that are good
    _others: Front | None = None  # what the heuristic search has found

    @property
    def lattice(self) -> Lattice:
        """The recodings."""
        return Lattice(self.problem.table.hierarchies)

    @property
    def total(self) -> int:
        """The nodes of the lattice."""
        return self.lattice.size

    def fingerprint(self) -> str:
        """The job and how ties are kept; threads and time change nothing."""
        return job_print(self.problem, self.lattice, "exact", self.ties)

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[State]) -> Front:
        """Count the lattice, part by part."""
        self._check_size()
        state = nothing_counted(self.problem) if known is None else _state_from(known)
        until = self.limit.part(EXACT_SHARE)
        if self.total < MOST_NODES:
            with until.watching():
                limited = None if until.seconds is None else until
                for now in count_lattice(self.problem, self.ties, self.threads, state, limited):
                    state = now
                    kept.take(now)
                    tell(now.settled, lambda: state.best)  # noqa: B023 (used at once)
                pause()  # halted, not done
        if self.limit.seconds is None or state.settled >= self.total:
            return front_of(self.problem, state, self.ties, time.perf_counter() - self.began, done=True)
        kept.now = state
        self._look_on(state, tell)
        raise OutOfTime

    def _check_size(self) -> None:
        if self.total >= MOST_NODES and self.limit.seconds is None:
            raise BadJob(
                f"The lattice has {spell_count(self.total)} nodes, too many to number. Give the search a time "
                "(search.seconds = 60), or fewer columns or levels."
            )

    def _look_on(self, state: State, tell: Tell) -> None:
        """Let heuristic searches have the rest of the time: better neighbours of what is known, then a genetic one."""
        if self.total < MOST_NODES:
            met = [part for part in (state.best, state.reached) if part is not None and len(part.which)]
            known = front_of_all(met, len(self.problem.objectives))
            more = reach_good_nodes(self.problem, self.lattice, known, limit=self.limit.part(NEIGHBOURS))
            self._reached = more.take(np.flatnonzero(more.feasible))
        search = PbgEa(grid_for(self.problem, None), population=POPULATION, iterations=LONG)
        course = Proposals(self.problem, self.lattice, search, None, self.seed)
        until, standing = self.limit.part(0.9), Kept[Any](None, "", lambda _: None)

        def go_on(_: int, met: Any) -> None:
            tell(state.settled, met)
            if until.is_up:
                raise OutOfTime

        try:
            with until.watching():
                self._others = course.go(None, go_on, standing)
        except OutOfTime:
            self._others = course.front_so_far(standing.now, Ending("its time was up", stopped=False))

    def pack(self, standing: State) -> Arrays:
        """The front so far and how much of the lattice is settled."""
        counts = np.array([standing.done, standing.counted, standing.settled], dtype=np.int64)
        return {"counts": counts, "cloud": standing.cloud, **numbers_arrays(standing.best)}

    def front_so_far(self, standing: State | None, ending: Ending) -> Front:
        """The front so far, not complete; with floors where the time was up."""
        state = nothing_counted(self.problem) if standing is None else standing
        seconds = time.perf_counter() - self.began
        if ending.stopped:
            known = [part for part in (state.best, state.reached) if part is not None]
            best = front_of_all(known, len(self.problem.objectives)) if state.done == 0 else state.best
            return front_of(self.problem, replace(state, best=best), self.ties, seconds, done=False)
        genomes, numbers = self._all_met(state)
        details: dict[str, Any] = {"settled": state.settled}
        looked_on = ""
        if self._others is not None:
            details["then"] = {
                "method": self._others.provenance.method,
                "evaluated": self._others.provenance.evaluated,
            }
            looked_on = f", and {self._others.provenance.method} looked on"
        evaluated = state.counted + (0 if self._others is None else self._others.provenance.evaluated)
        note = f"{ending.note} after {state.settled:,} of {spell_count(self.total)} nodes were settled{looked_on}"
        provenance = Provenance("exact", evaluated, False, self.seed, seconds, note, details, points="counted")
        front = make_front(self.problem, self.lattice, genomes, numbers, provenance, self.ties)
        return self._with_floors(replace(front, cloud=state.cloud), state)

    def _all_met(self, state: State) -> tuple[np.ndarray, Numbers]:
        """The genomes of all good nodes that were met in any way, each once, and their numbers."""
        lattice = self.lattice
        nodes = (state.best, state.reached, self._reached)
        parts = [part for part in nodes if part is not None and len(part.which)]
        genomes = [lattice.levels(part.which) for part in parts]
        if self._others is not None:
            parts.append(self._others.numbers)
            genomes.append(self._others.genomes)
        numbers = join(parts, len(self.problem.objectives))
        levels = np.concatenate([np.zeros((0, len(lattice.genes)), dtype=np.int64), *genomes])
        rows = np.column_stack((levels, numbers.thresholds, numbers.keys))
        _, first = np.unique(rows, axis=0, return_index=True)
        return levels[first], replace(numbers.take(first), which=np.arange(len(first)))

    def _with_floors(self, front: Front, state: State) -> Front:
        """The front with what no recoding can beat at each point's k, where that is known."""
        numbered = self.total < MOST_NODES
        way = find_way(self.problem)
        floors = make_floors(self.problem, way.fixed if numbered else ())
        if floors is None or len(front) == 0:
            return front
        settled = settled_parts(self.problem, way, state.done) if numbered and way.fixed else None
        least = floors.at(front.numbers, settled)
        gaps = [
            (value - floor) / value
            for value, floor in zip(front.numbers.values.ravel().tolist(), least.ravel().tolist(), strict=True)
            if math.isfinite(floor) and value > 0
        ]
        details = {**front.provenance.details, "largest_gap": max(gaps, default=0.0)}
        note = f"{front.provenance.note}; at its k no recoding loses less than each point's floor"
        return replace(front, floors=least, provenance=replace(front.provenance, details=details, note=note))


def _state_from(arrays: Arrays) -> State:
    done, counted, settled = (int(n) for n in arrays["counts"])
    return State(done, counted, settled, numbers_from(arrays), arrays["cloud"])
