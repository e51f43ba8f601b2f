"""Scores of the compiled searches, against the measures themselves on partitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.growth import make_wide
from kpareto.errors import BadJob, BadTable
from kpareto.fronts.problem import constrained, problem
from kpareto.kernels.cuts.score import part_room, roll_up_parts, score_one
from kpareto.measures.targets import cost_cm, multi_target
from kpareto.searches.cuts.score import Score, score_of
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts, make_order
from kpareto.tables.partition import Suppression, partition
from kpareto.tables.table import Counts
from tests.twins.strategies import Case, cases

COSTS = {"no": {"yes": 3.0, "so": 0.5}, "yes": {"no": 2.0}}


@settings(max_examples=80)
@given(
    case=cases(persons=False, numeric_target=False),
    k=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    losses=st.sampled_from(
        [{"lm": 1.0}, {"glm": 2.0}, {"nwp": 1.0}, {"cm": 1.0}, {"cm-rows": 1.0}, {"lm": 1.0, "cm": 0.5}]
    ),
    limit=st.sampled_from([0.0, 0.3, 1, None]),
)
def test_scores_equal_measures(case: Case, k: int, seed: int, losses: dict[str, float], limit: float | None) -> None:
    """Cell losses, cm and sums of them, with any cap on suppression, are what the measures say."""
    space = make_cuts(case.table.hierarchies)
    score = Score(case.table, space, losses, k, limit)
    genomes = space.sample(8, np.random.default_rng(seed))
    assert score.values(genomes) == pytest.approx([score.exact(genome) for genome in genomes], rel=1e-9, abs=1e-12)


@settings(max_examples=40)
@given(case=cases(persons=False, numeric_target=False), k=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_cost_scores_equal_the_measure(case: Case, k: int, seed: int) -> None:
    """cost-cm with a matrix of costs, suppressed rows being one more group."""
    known = case.table.targets[0].values
    costs = {
        true: {told: c for told, c in row.items() if told in known} for true, row in COSTS.items() if true in known
    }
    space = make_order(case.table.hierarchies)
    score = Score(case.table, space, {"cost-cm": 1.0}, k, costs=costs)
    measure = cost_cm(costs)
    genomes = space.sample(8, np.random.default_rng(seed))
    wanted = [measure(partition(case.table, space.decode(g), Suppression("below-k", k=k))) for g in genomes]
    assert score.values(genomes) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    by_name = Score(case.table, space, {measure.name: 1.0}, k)  # as a job has it
    assert by_name.values(genomes) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@settings(max_examples=40)
@given(case=cases(persons=False, numeric_target=True), k=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_regression_scores_equal_the_measure(case: Case, k: int, seed: int) -> None:
    """reg-variance to a millionth: targets are counted in steps of a millionth of their range."""
    space = make_order(case.table.hierarchies)
    score = Score(case.table, space, {"reg-variance": 1.0}, k)
    genomes = space.sample(8, np.random.default_rng(seed))
    assert score.values(genomes) == pytest.approx([score.exact(genome) for genome in genomes], abs=3e-6)


@settings(max_examples=60)
@given(case=cases(persons=False, numeric_target=True), k=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_deviations_from_the_median_equal_the_measure(case: Case, k: int, seed: int) -> None:
    """reg-deviation to a millionth, ties, even classes and suppressed rows among them; rolled-up rows have the same."""
    space = make_order(case.table.hierarchies)
    score = Score(case.table, space, {"reg-deviation": 1.0}, k)
    genomes = space.sample(8, np.random.default_rng(seed))
    assert score.values(genomes) == pytest.approx([score.exact(genome) for genome in genomes], rel=1e-7, abs=1e-7)
    leaf_at, (rows, losses, terms) = score.space.leaf_at, score.scoring
    room = part_room(rows, int(leaf_at[-1]))
    for genome, raw in zip(genomes, score.raw(genomes).tolist(), strict=True):
        groups = space.cuts(genome[None, :])[0].astype(np.int32)
        merged = roll_up_parts(groups, leaf_at, rows, room)
        assert len(merged.entries.weight) <= len(rows.entries.weight)
        assert merged.entries.weight.sum() == case.table.rows
        assert score_one(groups, leaf_at, merged, losses, terms, room) == pytest.approx(raw, rel=1e-12, abs=1e-12)


@settings(max_examples=40)
@given(
    case=cases(persons=False, numeric_target=False),
    other=cases(persons=False, numeric_target=True),
    k=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    weight=st.sampled_from([0.0, 0.25, 1 / 3, 7.0]),
)
def test_several_targets_equal_the_measure(case: Case, other: Case, k: int, seed: int, weight: float) -> None:
    """multi-target over classes and numbers of several columns, each loss with its weight, is one compiled score."""
    table, rng = case.table, np.random.default_rng(seed)
    first = replace(table.targets[0], name="first")
    second = replace(first, name="second", code=rng.integers(len(first.values), size=len(first.code), dtype=np.int32))
    values, numbers = other.table.targets[0].values, other.table.targets[0].numbers
    codes = rng.integers(len(values), size=table.distinct, dtype=np.int32)
    pay = Counts("pay", values, np.arange(table.distinct + 1), codes, table.weights, numbers)
    table = replace(table, targets=(first, second, pay))
    space = make_cuts(table.hierarchies)
    parts = {"lm": 1.0, "cm(column=first)": 2.0, "cm(column=second)": weight, "cost-cm(column=second)": 0.5}
    both = {"reg-variance(column=pay)": 1.0, "reg-deviation(column=pay)": weight}
    measure = multi_target(parts | both)
    score = Score(table, space, {measure.name: 2.0}, k)
    genomes = space.sample(8, rng)
    wanted = [2 * measure(partition(table, space.decode(g), Suppression("below-k", k=k))) for g in genomes]
    assert score.values(genomes) == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert not score.adds_up
    whole = problem(table, [multi_target(parts)], Suppression("below-k", k=k)).evaluate(space, genomes)
    slow = [multi_target(parts)(partition(table, space.decode(g), Suppression("below-k", k=k))) for g in genomes]
    assert whole.values[:, 0] == pytest.approx(slow, rel=1e-9, abs=1e-12)


def test_what_cannot_be_scored_is_named() -> None:
    """Messages say what was given and what to do."""
    table = adult_table("iyengar_157")
    space = make_cuts(table.hierarchies)
    with pytest.raises(BadJob, match=r"k is 0\. Give a whole number of at least 1"):
        Score(table, space, {"lm": 1}, 0)
    with pytest.raises(BadJob, match="Give at least one, with a weight above 0"):
        Score(table, space, {}, 5)
    with pytest.raises(
        BadJob, match=r"cannot minimize 'dcn'\. They know the cell losses, cm, cost-cm, reg-variance and reg-deviation"
    ):
        Score(table, space, {"dcn": 1}, 5)
    with pytest.raises(BadJob, match=r"The space has other hierarchies than the table"):
        Score(table, make_cuts(table.hierarchies[:3]), {"lm": 1}, 5)
    with pytest.raises(BadTable, match="is not numeric, so regression has no meaning"):
        Score(table, space, {"reg-variance": 1}, 5).values(space.sample(1, np.random.default_rng(1)))
    with pytest.raises(BadTable, match="has a cost for 'rich'"):
        Score(table, space, {"cost-cm": 1}, 5, costs={"rich": {}}).values(space.sample(1, np.random.default_rng(1)))


@given(case=cases(persons=True))
@settings(max_examples=5)
def test_persons_go_through_a_problem(case: Case) -> None:
    """The compiled searches count rows; tables that tell persons apart are refused with a way out."""
    with pytest.raises(BadJob, match="tells persons apart"):
        Score(case.table, make_cuts(case.table.hierarchies), {"lm": 1}, 2)


def test_problems_that_the_compiled_searches_take() -> None:
    """One known loss and k alone: below-k, constraint with a cap, none with k as a limit; anything else is left."""
    table = adult_table("iyengar_157", sensitive="race")
    space = make_cuts(table.hierarchies)
    free = score_of(problem(table, ["lm"], Suppression("below-k", k=25)), space)
    assert free is not None
    assert (free.k, free.allowed) == (25, table.rows)
    capped = score_of(problem(table, ["cm"], constrained({"k": 10}, 0.01), {"k": 10}), space)
    assert capped is not None
    assert (capped.k, capped.allowed) == (10, 301)
    bare = score_of(problem(table, ["lm"], Suppression("none"), {"k": 5}), space)
    assert bare is not None
    assert (bare.k, bare.allowed) == (5, 0)
    one = score_of(problem(table, ["lm"], constrained({"k": 10}, 1), {"k": 10}), space)
    assert one is not None
    assert one.allowed == 1
    assert score_of(problem(table, ["k", "lm"], Suppression("below-k", k=25)), space) is None
    assert score_of(problem(table, ["dcn"], Suppression("below-k", k=25)), space) is None
    assert score_of(problem(table, ["lm"], constrained({"k": 10, "l": 2}, 0.1), {"k": 10, "l": 2}), space) is None
    assert score_of(problem(table, ["lm"], 0.01), space) is None


def test_more_columns_than_a_number_tells_apart_are_not_compiled() -> None:
    """Twenty columns have more combinations than 64 bits: the loops would write where nothing is, so they are refused."""
    wide = make_wide(20, 3_000)
    space = make_cuts(wide.hierarchies)
    assert score_of(problem(wide, ["lm"], 0.01, {"k": 5}), space) is None
    with pytest.raises(BadJob, match="too many columns for the compiled searches"):
        Score(wide, space, {"lm": 1.0}, 5).raw(np.zeros((1, len(space.genes)), dtype=np.int64))
    narrow = make_wide(8, 500)
    assert score_of(problem(narrow, ["lm"], 0.01, {"k": 5}), make_cuts(narrow.hierarchies)) is not None
