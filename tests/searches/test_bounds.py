"""Lower bounds never exceed what is possible, and proofs agree with looking at everything."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.searches.bounds import (
    _enumerate,
    all_cuts,
    branch_and_bound,
    column_cuts,
    decomposition_bound,
    packing,
    project,
    project_score,
)
from kpareto.searches.cuts.score import Score
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from tests.tables.test_lattice import strings
from tests.twins.strategies import Case, cases


def brute_force(score: Score) -> float:
    """The least value of all recodings."""
    every = strings(len(score.space.genes))
    return float(score.values(every[score.space.valid(every)]).min())


@settings(max_examples=30)
@given(
    case=cases(persons=False, most_leaves=4),
    k=st.integers(1, 4),
    loss=st.sampled_from(["lm", "glm", "nwp"]),
    heavy=st.booleans(),
)
def test_the_decomposition_bound_holds(case: Case, k: int, loss: str, heavy: bool) -> None:
    """The bound is at most the least loss, also of weighted columns; with all columns in one set it is that loss."""
    schema = replace(case.table.schema, weights={case.table.schema.quasi[-1]: 2.5} if heavy else {})
    score = Score(replace(case.table, schema=schema), make_cuts(case.table.hierarchies), {loss: 1.0}, k)
    least = brute_force(score)
    singles = decomposition_bound(score, largest=1)
    whole = decomposition_bound(score, most_cuts=10**6, largest=3)
    assert singles.value <= whole.value + 1e-9
    assert whole.value <= least + 1e-9
    assert whole.value == pytest.approx(least, rel=1e-6, abs=1e-9)
    assert _enumerate(project_score(score, range(len(case.table.hierarchies))))[0] == pytest.approx(least)
    cover: dict[str, float] = {}
    for names, weight, _ in whole.parts:
        for name in names:
            cover[name] = cover.get(name, 0.0) + weight
    assert all(total <= 1 + 1e-9 for total in cover.values())


@settings(max_examples=40)
@given(
    case=cases(persons=False, numeric_target=False, most_leaves=4),
    k=st.integers(1, 4),
    losses=st.sampled_from([{"lm": 1.0}, {"cm": 1.0}, {"lm": 1.0, "cm": 2.0}]),
    limit=st.sampled_from([0.0, None]),
)
def test_proofs_equal_brute_force(case: Case, k: int, losses: dict[str, float], limit: float | None) -> None:
    """Branch and bound ends with the least value and says so; stopped early it says how far it may be."""
    score = Score(case.table, make_cuts(case.table.hierarchies), losses, k, limit)
    least = brute_force(score)
    proof = branch_and_bound(score)
    assert proof.complete
    assert proof.gap == 0.0
    assert proof.value == pytest.approx(least)
    if np.isfinite(least):
        assert proof.bound == pytest.approx(least)
        early = branch_and_bound(score, most_nodes=1)
        assert early.bound <= least + 1e-9
        assert early.value >= least - 1e-9
        assert early.complete == (early.nodes < 1 or early.bound == pytest.approx(early.value)) or early.gap >= 0


@settings(max_examples=60)
@given(
    worth=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    rows=st.integers(1, 4),
    data=st.data(),
)
def test_packing_is_the_best_of_all_weights(worth: list[int], rows: int, data: st.DataObject) -> None:
    """The weights cover no column more than once and reach what a linear programme reaches."""
    from scipy.optimize import linprog

    chosen = st.lists(st.booleans(), min_size=rows, max_size=rows).filter(any)
    cover = np.array([data.draw(chosen) for _ in worth], dtype=np.float64).T
    weights = packing(np.array(worth, dtype=np.float64), cover)
    assert (weights >= 0).all()
    assert (cover @ weights <= 1 + 1e-9).all()
    referee = linprog(-np.array(worth), A_ub=cover, b_ub=np.ones(rows))
    assert weights @ np.array(worth) == pytest.approx(-referee.fun, abs=1e-9)


@settings(max_examples=30)
@given(case=cases(most_columns=2))
def test_every_cut_is_listed_once(case: Case) -> None:
    """As many cuts as the space counts, all different, all valid."""
    space = make_cuts(case.table.hierarchies)
    for column in range(len(space.hierarchies)):
        listed = [tuple(bits.tolist()) for bits in all_cuts(space, column)]
        assert len(set(listed)) == len(listed) == column_cuts(space, column)


def test_adult_on_few_columns_is_proven() -> None:
    """Five columns of Adult at k = 250: the least LM is proven, and the bound from pairs is near it."""
    table = adult_table("iyengar_157")
    names = ("workclass", "marital-status", "occupation", "race", "sex")
    score = project_score(
        Score(table, make_cuts(table.hierarchies), {"lm": 1}, 250), [table.column(name) for name in names]
    )
    proof = branch_and_bound(score)
    assert proof.complete
    counts = [list(all_cuts(score.space, c)) for c in range(5)]
    every = np.array([np.concatenate(parts) for parts in itertools.product(*counts)])
    assert proof.value == pytest.approx(score.values(every).min())
    assert proof.nodes < len(every)
    bound = decomposition_bound(score, largest=2)
    assert 0 < bound.value <= proof.value
    assert 0 <= bound.gap(proof.value) < 1


@given(case=cases(most_columns=3))
@settings(max_examples=20)
def test_projection_keeps_rows(case: Case) -> None:
    """Leaving columns out keeps every row, value and person."""
    assume(len(case.table.hierarchies) > 1)
    small = project(case.table, [1])
    assert small.rows == case.table.rows
    assert small.leaf_rows[0].tolist() == case.table.leaf_rows[1].tolist()
    assert small.targets[0].totals.tolist() == case.table.targets[0].totals.tolist()


def test_what_has_no_bound_is_named() -> None:
    """Messages say what was given and what to do."""
    table = adult_table("iyengar_157")
    space = make_cuts(table.hierarchies)
    with pytest.raises(BadJob, match="The decomposition bound is for losses of cells"):
        decomposition_bound(Score(table, space, {"cm": 1}, 50))
    with pytest.raises(BadJob, match="Proofs need suppression without a cap or none at all"):
        branch_and_bound(Score(table, space, {"lm": 1}, 50, 0.1))
