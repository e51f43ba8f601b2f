"""Recutting single columns exactly, the search built on it, and local search on single cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.problem import problem
from kpareto.searches.bounds import all_cuts
from kpareto.searches.cuts import flip
from kpareto.searches.cuts.flip import Flip, neighbours
from kpareto.searches.cuts.recut import Recutter, kick, recut_columns
from kpareto.searches.cuts.score import Score
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice import climbing
from kpareto.searches.lattice.climbing import lattice_starts
from kpareto.searches.run import run
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table
from tests.tables.test_lattice import strings
from tests.twins.strategies import Case, cases

# Found by annealing (readings.md#annealed), to four and five digits.
LM = {10: 0.2347, 25: 0.2989, 50: 0.3425, 75: 0.3692, 100: 0.3783, 150: 0.4122, 200: 0.4281, 250: 0.4430, 500: 0.4920}
CM = {10: 0.17558, 25: 0.17980, 50: 0.18125, 75: 0.18205, 100: 0.18238, 150: 0.18268, 250: 0.18268, 500: 0.18613}
NWP = {2: 0.3540, 5: 0.4153, 10: 0.4685, 25: 0.5023, 50: 0.5329, 100: 0.5940}


@pytest.fixture(scope="module")
def adult() -> Table:
    """Adult in the 157-bit scheme."""
    return adult_table("iyengar_157")


@settings(max_examples=60)
@given(
    case=cases(persons=False, numeric_target=False, most_leaves=5),
    k=st.integers(1, 4),
    seed=st.integers(0, 2**32),
    losses=st.sampled_from([{"lm": 1.0}, {"cm": 1.0}, {"glm": 1.0, "cm": 3.0}]),
    limit=st.sampled_from([0.0, None]),
)
def test_a_column_is_recut_exactly(
    case: Case, k: int, seed: int, losses: dict[str, float], limit: float | None
) -> None:
    """The new cut is as good as the best of all cuts of that column, and the cost returned is the score's."""
    space = make_cuts(case.table.hierarchies)
    score = Score(case.table, space, losses, k, limit)
    rng = np.random.default_rng(seed)
    bits = space.sample(1, rng)[0].astype(np.uint8)
    column = int(rng.integers(len(space.hierarchies)))
    place = slice(int(space.gene_at[column]), int(space.gene_at[column + 1]))
    tried = []
    for part in all_cuts(space, column):
        other = bits.copy()
        other[place] = part
        tried.append(other)
    best = score.raw(np.array(tried)).min()
    fine = 0.0 if limit is None else 1e12
    cost = Recutter(score).recut(bits, column, fine)
    assert space.valid(bits[None, :].astype(np.int64))[0]
    after = score.raw(bits[None, :])[0]
    if best < 1e18:
        assert after == pytest.approx(best)
        assert cost == pytest.approx(best)


@settings(max_examples=12)
@given(case=cases(persons=False, numeric_target=False, most_leaves=4), k=st.integers(1, 3), seed=st.integers(0, 99))
def test_small_spaces_are_solved(case: Case, k: int, seed: int) -> None:
    """On spaces of a few hundred recodings the best is found."""
    space = make_cuts(case.table.hierarchies)
    every = strings(len(space.genes))
    for losses in ({"lm": 1.0}, {"cm": 1.0}):
        score = Score(case.table, space, losses, k)
        result = recut_columns(score, seed, restarts=4, patience=30)
        assert result.value == pytest.approx(score.values(every[space.valid(every)]).min())
        assert result.value == pytest.approx(score.exact(result.genome))


@pytest.mark.parametrize("k", [50, 100, 250, 500])
def test_lm_is_at_most_what_annealing_found(adult: Table, k: int) -> None:
    """LM of the 157-bit scheme: at most what annealing found (readings.md#annealed)."""
    result = recut_columns(Score(adult, make_cuts(adult.hierarchies), {"lm": 1}, k), 1, restarts=6, patience=60)
    assert result.value <= LM[k] + 5e-5


@pytest.mark.parametrize("k", [25, 100, 500])
def test_cm_is_at_most_what_annealing_found(adult: Table, k: int) -> None:
    """CM of the 157-bit scheme: at most what annealing found (readings.md#annealed)."""
    result = recut_columns(Score(adult, make_cuts(adult.hierarchies), {"cm": 1}, k), 1, restarts=6, patience=80)
    assert result.value <= CM[k] + 5e-6


@pytest.mark.parametrize("k", [5, 100])
def test_nwp_without_suppression_is_at_most_what_annealing_found(k: int) -> None:
    """NWP of the 105-bit scheme with every class of k rows: at most what annealing found (readings.md#annealed)."""
    table = adult_table("dewri_gecco09_105")
    score = Score(table, make_cuts(table.hierarchies), {"nwp": 1}, k, 0)
    result = recut_columns(score, 1, restarts=6, patience=60)
    assert result.value <= NWP[k] + 5e-5
    made = score.partition(result.genome)
    assert int(made.sizes.min()) >= k


def test_a_cap_on_suppression_is_kept(adult: Table) -> None:
    """With a cap of 2 % the answer suppresses no more, and costs more than without a cap."""
    space = make_cuts(adult.hierarchies)
    capped = recut_columns(Score(adult, space, {"lm": 1}, 25, 0.02), 1, restarts=2, patience=10)
    free = recut_columns(Score(adult, space, {"lm": 1}, 25), 1, restarts=2, patience=10)
    assert Score(adult, space, {"lm": 1}, 25).partition(capped.genome).suppressed_rows <= 0.02 * adult.rows
    assert free.value < capped.value < 1


def test_equal_seeds_give_equal_answers(adult: Table) -> None:
    """Genome, value and trace repeat; the trace never rises; stopping is possible."""
    score = Score(adult, make_cuts(adult.hierarchies), {"cm": 1}, 100)
    one, two = (recut_columns(score, 5, restarts=2, patience=8) for _ in range(2))
    assert np.array_equal(one.genome, two.genome)
    assert np.array_equal(one.trace, two.trace)
    assert (np.diff(one.trace[:, 1]) <= 0).all()
    short = recut_columns(score, 5, restarts=2, patience=8, progress=lambda *_: False)
    assert short.evaluations < one.evaluations


def test_what_does_not_add_up_is_refused(adult: Table) -> None:
    """Losses with one group of suppressed rows cannot be recut column by column."""
    score = Score(adult, make_cuts(adult.hierarchies), {"cost-cm": 1}, 100)
    with pytest.raises(BadJob, match="Recutting needs a loss that adds up over classes"):
        recut_columns(score)


@settings(max_examples=40)
@given(case=cases(most_columns=3), seed=st.integers(0, 2**32))
def test_neighbours_are_one_cut_away(case: Case, seed: int) -> None:
    """All are valid and differ from the genome, each is a neighbour of its neighbours, kicks stay in the space."""
    space = make_cuts(case.table.hierarchies)
    rng = np.random.default_rng(seed)
    genome = space.sample(1, rng)[0]
    near = np.concatenate(list(neighbours(space, genome)))
    assert space.valid(near).all()
    assert len(np.unique(near, axis=0)) == len(near)
    for other in near:
        assert not np.array_equal(other, genome)
        assert any(np.array_equal(back, genome) for batch in neighbours(space, other) for back in batch)
    kicked, columns = kick(space, genome, rng)
    assert space.valid(kicked[None, :].astype(np.int64))[0]
    assert set(columns) <= set(range(len(space.hierarchies)))


@settings(max_examples=10)
@given(case=cases(persons=False, most_leaves=4, most_columns=2))
def test_local_search_behind_the_seam(case: Case) -> None:
    """It starts from the exact lattice front and never ends below it; its front is no worse anywhere."""
    space = make_cuts(case.table.hierarchies)
    assume(len(space.genes) > 0)
    judged = problem(case.table, ["k", "lm"], 0.0)
    starts = lattice_starts(judged, space)
    nodes = exact_front(judged)
    front = run(judged, space, Flip(starts), 400, 1)
    for keys in nodes.numbers.keys:
        assert (front.numbers.keys <= keys).all(axis=1).any()
    assert run(judged, space, Flip(restarts=1), 50, 1).provenance.evaluated <= 50


def test_searches_of_cuts_refuse_a_lattice() -> None:
    """The message says which search to take instead."""
    with pytest.raises(BadJob, match="This search flips single cuts"):
        next(Flip().moves(Lattice(adult_table().hierarchies), np.random.default_rng(1)))


def test_starts_come_from_the_exact_front(adult: Table) -> None:
    """As many starts as asked for, all valid lattice nodes."""
    judged = problem(adult, ["k", "lm"], Suppression("cap-max-k", 0.1))
    space = make_cuts(adult.hierarchies)
    starts = lattice_starts(judged, space, 5)
    assert len(starts) == 5
    assert space.valid(starts).all()


def test_neighbours_come_in_batches_of_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A genome of many genes never has all its neighbours in memory at once, and none is left out."""
    space = make_cuts(adult_table("default").hierarchies)
    genome = np.ones(len(space.genes), dtype=np.int64)
    whole = np.concatenate(list(neighbours(space, genome)))
    monkeypatch.setattr(flip, "MOST_CELLS", 3 * len(space.genes))
    batches = list(neighbours(space, genome))
    assert len(batches) > 1
    assert max(map(len, batches)) == 3
    assert np.concatenate(batches).tobytes() == whole.tobytes()


def test_a_large_lattice_is_not_counted_before_a_search_over_cuts_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound the starts come from a sample of so many nodes, and still trade off against each other."""
    table = adult_table("default")
    made = problem(table, ["k", "glm"], Suppression("cap-max-k", 0.01))
    monkeypatch.setattr(climbing, "MOST_WORK", 1000)
    monkeypatch.setattr(climbing, "SAMPLE_WORK", 200 * table.distinct)
    monkeypatch.setattr(type(made), "whole_lattice", lambda *_: pytest.fail("the whole lattice was counted"))
    space = make_cuts(table.hierarchies)
    genomes = lattice_starts(made, space)
    assert 1 < len(genomes) <= 60
    numbers = made.evaluate(space, genomes)
    assert len(non_dominated(numbers.keys, "one")) == len(genomes)
