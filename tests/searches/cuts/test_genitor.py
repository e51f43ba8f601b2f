"""GENITOR, compiled and behind the seam: same seed same answer, resumed as uninterrupted, and what the papers found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.fronts.problem import constrained, problem
from kpareto.searches.cuts.genitor import Genitor, Result, Settings, genitor, imply_borders, iyengar, lunacek
from kpareto.searches.cuts.score import Score
from kpareto.searches.cuts.variation import Start
from kpareto.searches.run import run
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table
from replication.recodings import printed_solution
from tests.tables.test_lattice import strings
from tests.twins.strategies import Case, cases

PRINTED_CM = 5510 / 30162  # of the solution Iyengar prints for k = 250


@pytest.fixture(scope="module")
def adult() -> Table:
    """Adult in the 157-bit scheme."""
    return adult_table("iyengar_157")


def same(one: Result, two: Result) -> bool:
    """Whether two results are the same bit by bit, state included."""
    return set(one.state) == set(two.state) and all(
        one.state[name].tobytes() == two.state[name].tobytes() for name in one.state if name != "table"
    )


def test_the_printed_solution(adult: Table) -> None:
    """O24: Iyengar's k = 250 solution has 18 classes, the smallest of 284 rows, CM 5510/30162 and LM .753109."""
    space = make_cuts(adult.hierarchies)
    genome = printed_solution(space)
    made = Score(adult, space, {"cm": 1}, 250).partition(genome)
    assert (made.classes, int(made.sizes.min()), made.suppressed_rows) == (18, 284, 0)
    assert Score(adult, space, {"cm": 1}, 250).values(genome[None, :])[0] == PRINTED_CM
    assert Score(adult, space, {"lm": 1}, 250).values(genome[None, :])[0] == pytest.approx(0.753109, abs=5e-7)


def test_the_printed_solution_is_found_from_random_starts(adult: Table) -> None:
    """IY-r4: within 50,000 evaluations at least 9 of 10 seeds find the CM of the printed solution at k = 250."""
    score = Score(adult, make_cuts(adult.hierarchies), {"cm": 1}, 250)
    found = 0
    for seed in range(10):
        result = genitor(score, 50_000, seed, progress=lambda _, best: best > PRINTED_CM + 1e-12)
        found += result.value <= PRINTED_CM + 1e-12
    assert found >= 9


@pytest.mark.parametrize("crossover", ["trad", "new", "hybrid", "one-point"])
def test_resumed_is_uninterrupted(adult: Table, crossover: str) -> None:
    """Stopped anywhere and continued, every array of the state is that of a run never stopped; so is the trace."""
    score = Score(adult, make_cuts(adult.hierarchies), {"lm": 1, "cm": 1}, 25, 0.3)
    chosen = Settings(60, crossover, immigrants=0.1)  # type: ignore[arg-type]
    whole = genitor(score, 2_600, 7, chosen)
    calls: list[int] = []

    def twice(done: int, _: float) -> bool:
        calls.append(done)
        return len(calls) < 2

    part = genitor(score, 2_600, 7, chosen, progress=twice)
    assert part.evaluations < whole.evaluations
    rest = genitor(score, 2_600, 7, chosen, resume=part.state)
    assert same(whole, rest)
    assert np.array_equal(whole.trace, rest.trace)
    assert same(whole, genitor(score, 2_600, 7, chosen))
    assert not same(whole, genitor(score, 2_600, 8, chosen))


def test_what_a_result_says(adult: Table) -> None:
    """The best is the first of the population, its value is the measure's, the trace never rises."""
    space = make_cuts(adult.hierarchies)
    score = Score(adult, space, {"lm": 1}, 50)
    result = genitor(score, 4_000, 3, Settings(200))
    assert result.value == result.values[0] == pytest.approx(score.exact(result.genome))
    assert np.array_equal(result.genome, result.population[0])
    assert space.valid(result.population).all()
    assert (np.diff(result.values) >= 0).all()
    assert len(np.unique(result.population, axis=0)) == 200  # duplicates are rejected
    assert (np.diff(result.trace[:, 0]) > 0).all()
    assert (np.diff(result.trace[:, 1]) <= 0).all()
    assert (np.diff(result.trace[:, 2]) >= 0).all()
    assert result.evaluations == 4_000 >= result.distinct
    assert result.values == pytest.approx(score.values(result.population))


@pytest.mark.parametrize(("start", "best"), [("uniform", 1.0), ("random", np.inf)])
def test_a_uniform_start_holds_the_coarsest(adult: Table, start: Start, best: float) -> None:
    """Where everything but the coarsest loses too many rows, it is the best from the first population on."""
    score = Score(adult, make_cuts(adult.hierarchies), {"lm": 1}, adult.rows, 0)
    result = genitor(score, 20, 1, Settings(20, start=start))
    assert (result.value, result.evaluations) == (best, 20)


def test_duplicates_may_be_allowed(adult: Table) -> None:
    """With duplicates a small population comes to hold a genome twice."""
    score = Score(adult, make_cuts(adult.hierarchies), {"cm": 1}, 100)
    result = genitor(score, 6_000, 1, Settings(20, "trad", duplicates=True))
    assert len(np.unique(result.population, axis=0)) < 20
    assert result.distinct < 6_000


@settings(max_examples=10)
@given(case=cases(persons=False, most_columns=3, most_leaves=4), k=st.integers(1, 3), seed=st.integers(0, 1000))
def test_small_spaces_are_searched_to_the_end(case: Case, k: int, seed: int) -> None:
    """On a space of a few hundred genomes the best one is found."""
    space = make_cuts(case.table.hierarchies)
    score = Score(case.table, space, {"lm": 1}, k)
    every = strings(len(space.genes))
    best = score.values(every[space.valid(every)]).min()
    result = genitor(score, 4_000, seed, Settings(40, mutation=0.05, immigrants=0.3))
    assert result.value == pytest.approx(best)


def test_the_papers_settings() -> None:
    """IY-9 and LU-7."""
    assert (iyengar().population, iyengar().mutation, iyengar().crossover) == (5000, 0.002, "trad")
    assert (lunacek(500).population, lunacek().immigrants, lunacek().crossover) == (500, 0.1, "new")
    assert (imply_borders(crossover="trad").immigrants, imply_borders().immigrants, imply_borders().count_refused) == (
        0.0,
        0.5,
        True,
    )


def test_refused_duplicates_may_use_up_evaluations(adult: Table) -> None:
    """LU-7: counted, as many children as evaluations are made after the first population; else more of them."""
    score = Score(adult, make_cuts(adult.hierarchies), {"cm": 1}, 100)
    counted = genitor(score, 5_000, 1, Settings(20, "trad", count_refused=True))
    free = genitor(score, 5_000, 1, Settings(20, "trad"))
    assert int(counted.state["tallies"][2]) == 5_000 - 20 < int(free.state["tallies"][2])
    assert len(np.unique(counted.population, axis=0)) == 20


@pytest.mark.parametrize("crossover", ["trad", "new"])
def test_bred_with_implied_borders_all_is_valid(adult: Table, crossover: str) -> None:
    """The reading with implied borders never leaves the space, compiled and behind the seam, and is resumed exactly."""
    space = make_cuts(adult.hierarchies)
    score = Score(adult, space, {"lm": 1}, 25)
    chosen = imply_borders(50, crossover)  # type: ignore[arg-type]
    whole = genitor(score, 2_000, 3, chosen)
    assert space.valid(whole.population).all()
    part = genitor(score, 2_000, 3, chosen, progress=lambda _, __: False)
    assert same(whole, genitor(score, 2_000, 3, chosen, resume=part.state))
    judged = problem(adult, ["lm"], Suppression("below-k", k=25))
    assert space.valid(run(judged, space, Genitor(chosen), 300, 1).genomes).all()


def test_behind_the_seam_it_serves_any_problem(adult: Table) -> None:
    """GENITOR through run: limits on sensitive values, and the same answer again for the same seed."""
    table = adult_table("iyengar_157", sensitive="occupation")
    space = make_cuts(table.hierarchies)
    judged = problem(table, ["lm"], constrained({"k": 10, "l": 3}, 0.5), {"k": 10, "l": 3})
    fronts = [run(judged, space, Genitor(Settings(30)), 400, seed) for seed in (1, 1, 2)]
    texts = [[point.to_dict()["genome"] for point in front] for front in fronts]
    assert texts[0] == texts[1] != texts[2]
    assert len(texts[0][0]) == len(space.genes)
    first = fronts[0][0]
    assert {"cuts", "genome"} <= set(first.to_dict())
    assert first.values["lm"] < 1
    counts = first.partition.counts(table.sensitive[0])
    assert int(np.diff(counts.start)[~first.partition.suppressed].min()) >= 3


def test_wrong_settings_are_named(adult: Table) -> None:
    """Messages say what was given and what to do."""
    score = Score(adult, make_cuts(adult.hierarchies), {"lm": 1}, 50)
    with pytest.raises(BadJob, match="The budget is 0 evaluations"):
        genitor(score, 0)
    lattice = Lattice(adult.hierarchies)
    with pytest.raises(BadJob, match="GENITOR breeds cuts"):
        next(Genitor().moves(lattice, np.random.default_rng(1)))


def test_suppression_rules_agree(adult: Table) -> None:
    """A score counts what a Problem with the rule below-k counts."""
    space = make_cuts(adult.hierarchies)
    genomes = space.sample(30, np.random.default_rng(4))
    numbers = problem(adult, ["lm", "cm"], Suppression("below-k", k=25)).evaluate(space, genomes)
    for place, loss in enumerate(("lm", "cm")):
        assert Score(adult, space, {loss: 1}, 25).values(genomes) == pytest.approx(numbers.values[:, place])


def test_any_objective_can_be_the_one(adult: Table) -> None:
    """With two objectives the one named is minimized."""
    space = make_cuts(adult.hierarchies)
    judged = problem(adult, ["lm", "cm"], Suppression("below-k", k=100))
    best = []
    for objective in (0, 1):
        front = run(judged, space, Genitor(Settings(30), objective=objective), 500, 1)
        best.append([min(point.values["lm"] for point in front), min(point.values["cm"] for point in front)])
    assert best[0][0] < best[1][0]
    assert best[1][1] < best[0][1]
