"""Where searches over cuts begin: the lattice front, embedded; exact where that is quick, else from a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from kpareto.fronts.dominance import non_dominated
from kpareto.interrupts import OutOfTime
from kpareto.searches.lattice.climbing import reach_good_nodes
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Lattice

if TYPE_CHECKING:
    from kpareto.fronts.numbers import Numbers
    from kpareto.fronts.problem import Problem


MOST_WORK = 2_000_000_000  # nodes × distinct rows up to which the whole lattice is counted first: a few seconds
SAMPLE_WORK = 200_000_000  # the same for the sample that larger lattices are known by


def lattice_starts(problem: Problem, space: Cuts, most: int = 60, threads: int | None = None) -> np.ndarray:
    """The lattice front of a problem as genomes of the flexible space: (n, genes) int64, at most ``most``.

    Every lattice node is such a genome, so the flexible search starts from trade-offs: proven ones where the lattice is
    quickly counted, else the best that a bounded sample and its neighbours show, so that the search begins at once.
    """
    lattice = Lattice(problem.table.hierarchies)
    rows = max(problem.table.distinct, 1)
    if lattice.size * rows > MOST_WORK:
        count = int(min(max(SAMPLE_WORK // rows, 16), 4096))
        parts: Iterable[Numbers] = [reach_good_nodes(problem, lattice, sample=min(count // 2, 512), most=count)]
    else:
        parts = problem.whole_lattice(threads)
    nodes, keys = [np.zeros(0, dtype=np.int64)], [np.zeros((0, len(problem.objectives)), dtype=np.int64)]
    for numbers in _in_time(parts):
        places = np.flatnonzero(numbers.feasible)
        chosen = places[non_dominated(numbers.keys[places], "one")]
        nodes.append(numbers.which[chosen])
        keys.append(numbers.keys[chosen])
    every, costs = np.concatenate(nodes), np.concatenate(keys)
    front = every[non_dominated(costs, "one")]
    if len(front) == 0:
        return np.zeros((0, len(space.genes)), dtype=np.int64)
    if len(front) > most:
        front = np.sort(front)[np.linspace(0, len(front) - 1, most).astype(np.int64)]
    return space.embed(lattice.levels(front))


def _in_time(parts: Iterable[Numbers]) -> Iterator[Numbers]:
    """What was counted before the time was up: a search begins with what there is."""
    try:
        yield from parts
    except OutOfTime:
        return
