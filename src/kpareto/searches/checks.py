"""The checks every Search must pass, ours or a user's; ``kpareto.testing`` has those for measures."""

from __future__ import annotations

import numpy as np

from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.problem import Problem
from kpareto.searches import Search
from kpareto.searches.memo import leading_rows
from kpareto.searches.run import run
from kpareto.tables.lattice import Space


def check_search(search: Search, problem: Problem, space: Space, budget: int = 400) -> None:
    """Raise AssertionError with a sentence unless the search behaves.

    It proposes genomes inside the box and of the right shape, gives the same bits for the same seed, keeps within the
    budget, never claims completeness, and what is returned is feasible and mutually non-dominated.
    """
    if not search.name or search.name.strip() != search.name:
        raise AssertionError(f"The search's name is {search.name!r}: give it a word for jobs and reports.")
    _check_proposals(search, problem, space, budget)
    first = run(problem, space, search, budget, seed=11)
    again = run(problem, space, search, budget, seed=11)
    if first.genomes.tobytes() != again.genomes.tobytes():
        raise AssertionError(f"{search.name}: equal seeds gave different fronts. Draw all chance from the given rng.")
    if first.provenance.evaluated > budget:
        raise AssertionError(f"{search.name}: {first.provenance.evaluated} evaluations for a budget of {budget}.")
    if first.provenance.complete:
        raise AssertionError(f"{search.name}: only the exact search may call its front complete.")
    if not first.numbers.feasible.all():
        raise AssertionError(f"{search.name}: the front holds points that miss a limit.")
    if first.provenance.points == "counted" and len(non_dominated(first.numbers.keys)) != len(first):
        raise AssertionError(f"{search.name}: the front holds dominated points.")


def _check_proposals(search: Search, problem: Problem, space: Space, budget: int) -> None:
    """Every proposed genome lies in the box, and decodes."""
    moves = search.moves(space, np.random.default_rng(11))
    seen = 0
    try:
        genomes = next(moves)
        while seen < budget:
            if genomes.ndim != 2 or genomes.shape[1] != len(space.genes):
                raise AssertionError(
                    f"{search.name}: proposed an array of shape {genomes.shape}, not (n, {len(space.genes)})."
                )
            if (genomes < 0).any() or (genomes >= space.genes).any():
                raise AssertionError(f"{search.name}: proposed a gene outside the space.")
            for genome in genomes[:4]:
                space.decode(genome)
            seen += max(1, len(genomes))
            numbers = problem.evaluate(space, np.asarray(genomes, dtype=np.int64))
            genomes = moves.send(numbers.take(leading_rows(numbers, len(genomes))))
    except StopIteration:
        pass
    finally:
        moves.close()
