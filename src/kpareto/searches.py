"""Searches by name: what a job's ``method`` and ``space`` stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kpareto.cuts import Cuts, make_cuts, make_order
from kpareto.errors import BadJob, did_you_mean
from kpareto.problem import Problem
from kpareto.search import Search
from kpareto.space import Kind, Lattice, Space
from kpareto.table import Table

METHODS: dict[str, tuple[Kind, ...]] = {  # method -> the spaces it walks
    "exact": ("lattice",),
    "poka": ("lattice",),
    "poka-literal": ("lattice",),
    "pbg-ea": ("lattice",),
    "datafly": ("lattice",),
    "samarati": ("lattice",),
    "genitor": ("cuts", "order"),
    "nsga2": ("cuts", "order"),
    "improve": ("cuts", "order"),
}


def make_space(kind: Kind, table: Table) -> Space:
    """The space of recodings a job names."""
    if kind == "lattice":
        return Lattice(table.hierarchies)
    return make_cuts(table.hierarchies) if kind == "cuts" else make_order(table.hierarchies)


def check_method(method: str, kind: Kind) -> None:
    """Raise unless the method is known and walks this kind of space."""
    if method not in METHODS:
        raise BadJob(f"No search {method!r}. {did_you_mean(method, METHODS)}There are: {', '.join(METHODS)}.")
    if kind not in METHODS[method]:
        fitting = [name for name, kinds in METHODS.items() if kind in kinds]
        raise BadJob(
            f"The search {method!r} does not walk the space {kind!r}. Take space = {METHODS[method][0]!r}, "
            f"or one of the searches {', '.join(fitting)}."
        )


def make_search(method: str, problem: Problem, space: Space, options: Mapping[str, Any]) -> Search:
    """The search a job names, with its options; the papers' settings where the job is silent."""
    check_method(method, space.kind)
    if method in ("poka", "poka-literal"):
        from kpareto.search.poka import average_depth, check_problem, literal, repaired

        check_problem(problem)
        depth = options.get("depth")
        return repaired(depth) if method == "poka" else literal(depth or average_depth(space))
    if method == "pbg-ea":
        return _pbg_ea(problem, options)
    if method in ("datafly", "samarati"):
        from kpareto.search.greedy import Samarati, datafly_for

        if not problem.limits:
            raise BadJob(f"The search {method!r} looks for one node that meets limits. Add [limits] with k = 5, say.")
        return datafly_for(problem.table) if method == "datafly" else Samarati()
    if not isinstance(space, Cuts):
        raise TypeError("check_method lets only cuts through")
    if method == "genitor":
        from kpareto.search.genitor import Genitor, Settings

        chosen = {key: options[key] for key in ("population", "crossover", "duplicates", "mutation") if key in options}
        return Genitor(Settings(**chosen))
    if method == "nsga2":
        return _nsga2(problem, space, options)
    from kpareto.search.improve import Improve, lattice_starts

    return Improve(starts=lattice_starts(problem, space))


def _pbg_ea(problem: Problem, options: Mapping[str, Any]) -> Search:
    from kpareto.archive import grid_for
    from kpareto.search.pbg_ea import PbgEa

    return PbgEa(grid_for(problem, options.get("grid")), population=int(options.get("population", 25)))


def _nsga2(problem: Problem, space: Cuts, options: Mapping[str, Any]) -> Search:
    from kpareto.search.improve import lattice_starts
    from kpareto.search.nsga2 import Nsga2

    population = int(options.get("population", 100))
    # Random bits have k = 1 almost surely (SPEC A.3), so half of the first population are lattice nodes.
    return Nsga2(population=population, seeds=lattice_starts(problem, space, most=population // 2))
