"""Good nodes, quickly: from a few nodes of the lattice to their neighbours, as long as that improves something."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import Stopped
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers, join
from kpareto.interrupts import Portions, TimeLimit, is_heard, is_stopped, show
from kpareto.kernels.compiling import working
from kpareto.tables.lattice import Lattice

if TYPE_CHECKING:
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
