"""PBG-EA on Adult: how much of the true front it finds, with the paper's grids."""

from __future__ import annotations

from collections.abc import Generator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, problem
from kpareto.searches.defects import drive, whole
from kpareto.searches.lattice.boxes import BoxArchive, Coverage, Grid, coverage, grid_for
from kpareto.searches.lattice.pbg_ea import PbgEa, strengths
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from tests.twins.strategies import Case, cases

SEEDS = 20
# Runs of r9c on the replication hierarchies differ by 0.054 (14 true boxes), so the mean of 20 of them, 0.911 for the
# first 20 seeds and 0.864 to 0.911 over ten such twenties, tells little. The mean of 200 is 0.884 ± 0.004; as a mean of
# 20, the 0.861 counted before (PB-r9) lies 1.9 standard errors below it.
MORE_SEEDS = {("replication", "r9c"): 200}


@cache
def counted(preset: str, objectives: tuple[str, ...]) -> tuple[Problem, Numbers]:
    """Adult with every node counted; the known numbers count declared leaves in both sets of hierarchies."""
    target = "salary-class" if "cm-rows" in objectives else None
    made = problem(adult_table(preset, target=target, domain="declared"), objectives, Suppression("cap-max-k", 301))
    return made, whole(made)


def watched(
    steps: Generator[np.ndarray, Numbers, BoxArchive], asked: list[np.ndarray]
) -> Generator[np.ndarray, Numbers, BoxArchive]:
    """The steps of a search, with what they ask for written down."""
    try:
        genomes = next(steps)
        while True:
            asked.append(genomes)
            genomes = steps.send((yield genomes))
    except StopIteration as end:
        archive: BoxArchive = end.value
        return archive


def run(made: Problem, numbers: Numbers, epsilons: tuple[float, ...] | None, seed: int) -> tuple[Coverage, int]:
    """One run, by the floor as the known numbers are: how well its archive stands for the front, and its nodes."""
    lattice, grid = Lattice(made.table.hierarchies), grid_for(made, epsilons, "floor")
    asked: list[np.ndarray] = []
    steps = PbgEa(grid, ends="stay").archives(lattice, np.random.default_rng(seed))
    archive = drive(watched(steps, asked), lattice, numbers)
    nodes = lattice.numbers(np.concatenate(asked))
    assert len(np.unique(nodes)) == len(nodes)
    true = numbers.values[non_dominated(numbers.keys, "one")]
    return coverage(grid, numbers.values[lattice.numbers(archive.genomes)], true), len(nodes)


ROWS = [
    ("r1", ("k", "glm"), None, (0.973, 0.977)),
    ("r2", ("k", "l", "glm"), None, (0.944, 0.944)),
    ("r3", ("s-k", "glm"), None, (0.837, 0.817)),
    ("r4", ("s-k", "s-l", "glm"), None, (0.827, 0.816)),
    ("r5", ("k", "glm", "cm-rows"), None, (0.848, 0.886)),
    ("r6", ("k", "glm"), (5, 100), (0.990, 0.948)),
    ("r7", ("k", "glm"), (10, 1000), (0.984, 0.980)),
    ("r8", ("k", "glm"), (50, 10000), (1.000, 0.919)),
    ("r9a", ("k", "l", "glm"), (5, 2, 100), (0.992, 0.941)),
    ("r9b", ("k", "l", "glm"), (10, 4, 1000), (0.984, 0.947)),
    ("r9c", ("k", "l", "glm"), (50, 6, 10000), (0.991, 0.861)),
]


@pytest.mark.parametrize(("row", "objectives", "epsilons", "expected"), ROWS, ids=[row[0] for row in ROWS])
@pytest.mark.parametrize("preset", ["default", "replication"])
def test_representation_ratio_as_counted_before(
    preset: str, row: str, objectives: tuple[str, ...], epsilons: tuple[float, ...] | None, expected: tuple[float, ...]
) -> None:
    """The mean share of true boxes found in 20 runs (200 in one case) is the known one (PB-r1 … PB-r9), within 0.03."""
    made, numbers = counted(preset, objectives)
    runs = [run(made, numbers, epsilons, seed) for seed in range(MORE_SEEDS.get((preset, row), SEEDS))]
    ratio = float(np.mean([seen.ratio for seen, _ in runs]))
    assert ratio == pytest.approx(expected[preset == "replication"], abs=0.03)
    assert all(evaluated <= 2500 for _, evaluated in runs)


def test_nodes_evaluated_on_adult() -> None:
    """About as many distinct nodes as were counted before (PB-r1): 641 for k and GLM on the default hierarchies."""
    made, numbers = counted("default", ("k", "glm"))
    assert np.mean([run(made, numbers, None, seed)[1] for seed in range(5)]) == pytest.approx(641, rel=0.15)


def test_equal_seeds_give_equal_archives() -> None:
    """Chance comes from the seed alone."""
    made, numbers = counted("default", ("k", "glm"))
    assert run(made, numbers, None, 3) == run(made, numbers, None, 3)


@given(case=cases(persons=False), seed=st.integers(0, 99), steady=st.booleans(), limit=st.sampled_from([0.0, 2]))
@settings(max_examples=60)
def test_the_archive_is_minimal_among_everything_generated(case: Case, seed: int, steady: bool, limit: float) -> None:
    """Theorem 1 for whole runs: nothing that was generated dominates a member, and the bound on its size holds."""
    made = problem(case.table, ["k", "glm"], Suppression("cap-max-k", limit))
    lattice, numbers, asked = Lattice(case.table.hierarchies), whole(made), list[np.ndarray]()
    grid = grid_for(made, (1, 0.5))
    steps = PbgEa(grid, population=5, iterations=8, steady=steady).archives(lattice, np.random.default_rng(seed))
    archive = drive(watched(steps, asked), lattice, numbers)
    nodes = lattice.numbers(np.concatenate(asked))
    nodes = nodes[numbers.feasible[nodes]]
    best = {tuple(row) for row in numbers.keys[nodes][non_dominated(numbers.keys[nodes])].tolist()}
    assert {tuple(row) for row in archive.keys.tolist()} <= best
    assert len(archive) <= grid.size_bound(numbers.values[nodes])


@given(keys=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_fitness_is_what_the_paper_says(keys: list[tuple[int, int]]) -> None:
    """Fitness adds, over a row's dominators, how many rows each of them dominates."""

    def beats(a: tuple[int, int], b: tuple[int, int]) -> bool:
        return a != b and a[0] <= b[0] and a[1] <= b[1]

    slow = [sum(sum(beats(other, third) for third in keys) for other in keys if beats(other, key)) for key in keys]
    assert strengths(np.array(keys)).tolist() == slow


def test_a_step_past_an_end_goes_inward_or_stays() -> None:
    """With every level mutated, nothing stays at an end that goes inward, and half of it stays otherwise."""
    grid = Grid((1.0,), (True,), (0.0,))
    highest = np.array([3, 1, 0])
    children = np.tile([3, 0, 0], (400, 1))
    inward = PbgEa(grid, mutation=1.0)._mutate(children, highest, np.random.default_rng(1))
    assert (inward[:, 0] == 2).all()
    assert (inward[:, 1] == 1).all()
    assert (inward[:, 2] == 0).all()  # a column of one level
    stays = PbgEa(grid, mutation=1.0, ends="stay")._mutate(children, highest, np.random.default_rng(1))
    assert 0.4 < (stays[:, 0] == 3).mean() < 0.6
