"""Good nodes, quickly: from a few nodes of the lattice to their neighbours, as long as that improves something.

A search for cuts begins with such nodes too: the front of the whole lattice where it is small, else of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import Stopped
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers, join
from kpareto.interrupts import OutOfTime, Portions, TimeLimit, is_heard, is_stopped, show
from kpareto.kernels.compiling import working
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Lattice

if TYPE_CHECKING:
    from kpareto.fronts.numbers import Numbers
    from kpareto.fronts.problem import Problem


FEW = 16  # nodes drawn by chance, where there is a limit


def front_of_all(parts: Sequence[Numbers], objectives: int) -> Numbers:
    """The points of all parts that none of them beats, each vector once."""
    both = join([part for part in parts if len(part.which)], objectives)
    return both.take(non_dominated(both.keys, "one"))


def reach_good_nodes(
    problem: Problem,
    lattice: Lattice,
    known: Numbers | None = None,
    sample: int = 512,
    rounds: int = 40,
    limit: TimeLimit | None = None,
    most: int | None = None,
) -> Numbers:
    """Good nodes to measure others by: from a sample, all neighbours of the front so far, until nothing improves.

    ``most`` nodes are counted and no more, where a number is given. Nodes that are known already are not counted again.
    With a limit it ends when its time is up, after the few nodes that are being counted, and begins with few by chance:
    in a wide lattice these are all far from good. Stopped by somebody who waits, it ends with what it has met.
    """
    rng = np.random.default_rng(0)
    sizes = lattice.genes
    best = join([], len(problem.objectives)) if known is None else known
    some = rng.integers(0, sizes, size=(sample if limit is None else min(sample, FEW), len(sizes)))
    fresh = np.unique(lattice.numbers(np.vstack((np.zeros_like(sizes), sizes - 1, some))))
    seen = best.which
    if len(seen):
        fresh = np.setdiff1d(neighbours(lattice, lattice.levels(best.which)), seen)
    every, portions = [], Portions(clock=working)
    for _ in range(rounds):
        parts: list[Numbers] = []
        heard = limit is not None or is_heard()
        # Somebody who looks on sees points soonest among the coarse nodes, which have the largest numbers.
        with suppress(Stopped):
            for portion in portions.of(len(fresh)) if heard else [slice(0, len(fresh))]:
                some_nodes = np.sort(fresh[::-1][portion]) if heard else fresh
                numbers = problem.evaluate(lattice, lattice.levels(some_nodes))
                show(numbers)
                parts.insert(0, replace(numbers, which=some_nodes[numbers.which]))
                if limit is not None and limit.is_up:
                    break
        every += parts
        seen = np.union1d(seen, fresh)
        met = [numbers.take(np.flatnonzero(numbers.feasible)) for numbers in parts]
        best = front_of_all([best, *met], len(problem.objectives))
        fresh = np.setdiff1d(neighbours(lattice, lattice.levels(best.which)), seen)
        if most is not None:
            fresh = rng.permutation(fresh)[: most - len(seen)]
        if len(fresh) == 0 or is_stopped() or (limit is not None and limit.is_up):
            break
    return join(every, len(problem.objectives))


def neighbours(lattice: Lattice, levels: np.ndarray) -> np.ndarray:
    """The numbers of all nodes one level up or down in one column: sorted, each once."""
    numbers = []
    for column in range(levels.shape[1]):
        for step in (-1, 1):
            moved = levels.copy()
            moved[:, column] += step
            inside = (moved[:, column] >= 0) & (moved[:, column] < lattice.genes[column])
            numbers.append(lattice.numbers(moved[inside]))
    return np.unique(np.concatenate(numbers)) if numbers else np.zeros(0, dtype=np.int64)


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
