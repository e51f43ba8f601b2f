"""NSGA-II: ranks, crowding, the tournament, preferences, and an answer that nothing dominates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.fronts.dominance import achievement, non_dominated, prefer
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem
from kpareto.kernels.dominance import dominance_ranks
from kpareto.searches.cuts.nsga2 import Members, Nsga2, Preference, Ranked, crowding, ranks, tournament
from kpareto.searches.lattice.climbing import lattice_starts
from kpareto.searches.run import run
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts, make_order
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table
from tests.tables.test_lattice import strings

GE = ("k", "nwp", "necd")


def reduced() -> Table:
    """Adult on four small columns of the 105-bit scheme: 6 + 4 + 1 + 1 … genes, few enough to enumerate."""
    from kpareto.searches.bounds import project

    table = adult_table("dewri_gecco09_105")
    return project(table, [table.column(name) for name in ("workclass", "race", "sex", "salary-class")])


@settings(max_examples=60)
@given(
    costs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=24),
    enough=st.integers(1, 24),
    objectives=st.integers(1, 3),
)
def test_ranks_peel_fronts(costs: list[tuple[int, int, int]], enough: int, objectives: int) -> None:
    """Rank by rank the non-dominated rows of what is left; after enough of them the rest share one rank."""
    rows = np.array(costs, dtype=np.int64)[:, :objectives]
    found = ranks(rows)
    assert np.array_equal(ranks((rows - 2) / 7.0), found)  # reals compare as the whole numbers do, below zero too
    left, level = np.arange(len(rows)), 0
    while len(left):
        front = left[non_dominated(rows[left])]
        assert set(np.flatnonzero(found == level).tolist()) == set(front.tolist())
        left, level = np.setdiff1d(left, front), level + 1
    short = dominance_ranks(rows, enough)
    last = short.max()
    assert np.array_equal(short[short < last], found[short < last])
    assert (short == last).sum() == len(rows) - (short < last).sum()


def test_crowding_prefers_the_lonely() -> None:
    """Ends are infinitely lonely; in between the wider gap counts, within each rank."""
    values = np.array([[0.0, 4.0], [1.0, 3.0], [3.0, 1.0], [4.0, 0.0], [9.0, 9.0]])
    lonely = crowding(values, np.array([0, 0, 0, 0, 1]))
    assert np.isinf(lonely[[0, 3, 4]]).all()
    assert lonely[1] == lonely[2] == pytest.approx(1.5)


@settings(max_examples=40)
@given(
    values=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12),
    levels=st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_crowding_is_what_the_paper_says(values: list[tuple[int, int]], levels: list[int]) -> None:
    """Within each rank and objective: ends infinite, else the gap between both neighbours over the width."""
    rows, rank = np.array(values, dtype=np.float64), np.array(levels[: len(values)], dtype=np.int64)
    slow = np.zeros(len(rows))
    for level in set(rank.tolist()):
        for column in range(2):
            inside = sorted(np.flatnonzero(rank == level).tolist(), key=lambda i: rows[i, column])
            width = rows[inside[-1], column] - rows[inside[0], column] or 1.0
            slow[[inside[0], inside[-1]]] = np.inf
            for left, middle, right in zip(inside, inside[1:], inside[2:], strict=False):
                slow[middle] += (rows[right, column] - rows[left, column]) / width
    assert crowding(rows, rank) == pytest.approx(slow)


def ranked(excess: list[float], first: list[float], rank: list[int], lonely: list[float]) -> Ranked:
    """A population of two."""
    both = np.zeros((2, 2))
    members = Members(np.zeros((2, 1), dtype=np.int64), both, both, np.array(excess), np.array(first))
    return Ranked(members, np.array(rank), np.array(lonely))


@pytest.mark.parametrize(
    ("pair", "share"),
    [
        (ranked([-1, -1], [9, 0], [0, 1], [0, 9]), 1.0),  # both feasible: lower rank
        (ranked([-1, -1], [9, 0], [0, 0], [5, 1]), 1.0),  # … then the larger crowding distance
        (ranked([0, 1], [9, 0], [3, 0], [0, 9]), 1.0),  # one feasible: that one
        (ranked([1, 2], [9, 0], [3, 0], [0, 9]), 1.0),  # both infeasible: less excess
        (ranked([2, 2], [1, 5], [3, 0], [0, 9]), 1.0),  # … then the smaller f1
        (ranked([2, 2], [5, 5], [3, 0], [9, 0]), 1.0),  # … then the lonelier
        (ranked([2, 2], [5, 5], [0, 0], [1, 1]), 0.5),  # otherwise by chance
    ],
)
def test_the_tournament_puts_feasible_ones_first(pair: Ranked, share: float) -> None:
    """GE-6, rule by rule: the first member wins against the second."""
    rng = np.random.default_rng(1)
    winners = tournament(pair, 4000, rng)
    # A quarter of the pairs are the second member against itself.
    assert (winners == 0).mean() == pytest.approx(0.25 + 0.5 * share, abs=0.04)


def exhaustive(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Every genome of the reduced instance and its values."""
    space = make_order(table.hierarchies)
    every = strings(len(space.genes))
    numbers = problem(table, GE, Suppression("none")).evaluate(space, every, 1)
    return every, numbers.values


@pytest.mark.parametrize("k", [2, 25, 100])
def test_the_answer_is_undominated_in_the_whole_space(k: int) -> None:
    """GE-7 repaired: on a space enumerated to the end, the lexicographic answer is the best and nothing dominates it."""
    table = reduced()
    every, values = exhaustive(table)
    space = make_order(table.hierarchies)
    search = Nsga2(
        population=40,
        preference=Preference((0.2, 1.0), k),
        seeds=np.zeros((1, len(space.genes))),
        mutation=0.05,
        generations=60,
    )
    front = run(problem(table, GE, Suppression("none")), space, search, None, 1)
    answer = front.prefer(k=k, nwp=0.2, necd=1.0)
    fits = values[values[:, 0] >= k]
    best = fits[prefer(fits[:, 1:], (0.2, 1.0))]
    mine = np.array([answer.values["nwp"], answer.values["necd"]])
    assert achievement(mine, (0.2, 1.0)) == pytest.approx(achievement(best[1:], (0.2, 1.0)))
    assert mine == pytest.approx(best[1:])
    dominated = (fits[:, 1] <= mine[0] + 1e-12) & (fits[:, 2] <= mine[1] + 1e-12)
    assert not (dominated & ((fits[:, 1] < mine[0] - 1e-9) | (fits[:, 2] < mine[1] - 1e-9))).any()
    assert len(every) == 2 ** len(space.genes)


def front_of(seed: int, budget: int = 600) -> Front:
    """A small run on Adult with three objectives of their own."""
    table = adult_table("lunacek_92")
    judged = problem(table, ["k", "lm", "dcn"], Suppression("cap-max-k", 0.02))
    space = make_cuts(table.hierarchies)
    search = Nsga2(population=40, start="spread", seeds=lattice_starts(judged, space, 10))
    return run(judged, space, search, budget, seed)


def test_many_objectives_on_trees() -> None:
    """The general mode: any measures, columns with trees, lattice nodes among the first, the same answer each time."""
    one, two, other = front_of(1), front_of(1), front_of(2)
    assert np.array_equal(one.genomes, two.genomes)
    assert not np.array_equal(one.genomes, other.genomes)
    space = make_cuts(one.problem.table.hierarchies)
    assert space.valid(one.genomes).all()
    assert len(non_dominated(one.numbers.keys)) == len(one)
    point = one[0].to_dict()
    assert set(point["cuts"]) == set(one.problem.table.schema.quasi)
    assert set(point["genome"]) <= {"0", "1"}


def test_threads_change_nothing() -> None:
    """Numbers of a population are the same on one thread and on two."""
    table = adult_table("dewri_gecco09_105")
    space = make_order(table.hierarchies)
    genomes = space.sample(100, np.random.default_rng(1))
    judged = problem(table, GE, Suppression("none"))
    one, two = judged.evaluate(space, genomes, 1), judged.evaluate(space, genomes, 2)
    assert one.keys.tobytes() == two.keys.tobytes()
    assert one.values.tobytes() == two.values.tobytes()


def test_generations_can_be_limited() -> None:
    """A search with a number of generations ends by itself."""
    table = reduced()
    space = make_order(table.hierarchies)
    front = run(problem(table, GE, Suppression("none")), space, Nsga2(population=10, generations=3), None, 1)
    assert front.provenance.evaluated <= 40
    assert front.provenance.note == ""


def test_one_border_of_a_child_flips_unless_told() -> None:
    """However many borders there are: the paper's rate is for its 105, and a job has no default of its own."""
    table = reduced()
    space, asked = make_order(table.hierarchies), problem(table, GE, Suppression("none"))
    share = 1 / len(space.genes)
    plain, told = (run(asked, space, Nsga2(10, mutation=rate, generations=4), None, 1) for rate in (None, share))
    rare = run(asked, space, Nsga2(10, mutation=0.001, generations=4), None, 1)
    assert plain.genomes.tobytes() == told.genomes.tobytes()
    assert plain.provenance.evaluated == told.provenance.evaluated > rare.provenance.evaluated


def test_wrong_settings_are_named() -> None:
    """Messages say what was given and what to do."""
    with pytest.raises(BadJob, match="2 values for 1 losses"):
        Preference((0.2, 1.0), 5, (1,))
    with pytest.raises(BadJob, match="k wished for is 0"):
        Preference(k=0)
    with pytest.raises(BadJob, match="NSGA-II breeds cuts"):
        next(Nsga2().moves(Lattice(adult_table().hierarchies), np.random.default_rng(1)))
