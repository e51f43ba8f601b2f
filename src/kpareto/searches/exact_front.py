"""The front of an exact search: complete, or as far as it was settled."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from kpareto.fronts.dominance import Ties
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Provenance
from kpareto.fronts.problem import Problem
from kpareto.searches.lattice.exact import State, count_lattice, nothing_counted
from kpareto.tables.lattice import Lattice


def exact_front(problem: Problem, ties: Ties = "all", threads: int | None = None) -> Front:
    """Every trade-off in the lattice; ``run_plan`` does the same with progress, stopping and a checkpoint."""
    began, state = time.perf_counter(), nothing_counted(problem)
    for now in count_lattice(problem, ties, threads, state):
        state = now
    return front_of(problem, state, ties, time.perf_counter() - began, done=True)


def front_of(problem: Problem, state: State, ties: Ties, seconds: float, *, done: bool) -> Front:
    """The front of a state: complete where the search is done, or was stopped after its last part."""
    lattice = Lattice(problem.table.hierarchies)
    complete = done or state.settled >= lattice.size
    note = "" if complete else f"stopped after {state.settled:,} of {lattice.size:,} nodes; other points may exist"
    details = {"settled": state.settled}
    provenance = Provenance(
        "exact", state.counted, complete, None, seconds, note, details, not complete, points="exact"
    )
    genomes = lattice.levels(state.best.which)
    best = replace(state.best, which=np.arange(len(genomes)))
    return replace(make_front(problem, lattice, genomes, best, provenance, ties), cloud=state.cloud)
