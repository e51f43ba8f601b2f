"""Datafly and Samarati: they meet their limits and never beat the exact optimum."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob, Unsafe
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.searches.defects import whole
from kpareto.searches.lattice.greedy import Samarati, answer, datafly_for, nodes_of_height
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Lattice
from tests.twins.strategies import Case, cases


def limited(case: Case, k: int, limit: float) -> Problem:
    """Least GLM among nodes where the classes below k have at most so many rows."""
    return problem(case.table, ["glm"], constrained({"k": k}, limit), {"k": k})


@given(case=cases(persons=False), k=st.integers(1, 6), limit=st.sampled_from([0.0, 0.25, 2]), which=st.booleans())
@settings(max_examples=150)
def test_the_answer_meets_the_limits_and_is_no_better_than_the_optimum(
    case: Case, k: int, limit: float, which: bool
) -> None:
    """Every kept class has k rows, the suppressed ones are within the limit, and the loss is not below the least."""
    made = limited(case, k, limit)
    numbers = whole(made)
    search = datafly_for(case.table) if which else Samarati()
    if not numbers.feasible.any():
        with pytest.raises(Unsafe, match="not even the top"):
            answer(made, search)
        return
    found = answer(made, search)
    kept = found.partition.sizes[~found.partition.suppressed]
    assert kept.min() >= k
    assert found.partition.suppressed_rows <= made.suppression.allowed(case.table.rows)
    assert found.values["glm"] >= numbers.values[numbers.feasible, 0].min() - 1e-9
    assert "not promise the least loss" in found.promise


@given(case=cases(persons=False), k=st.integers(1, 6), limit=st.sampled_from([0.0, 2]))
@settings(max_examples=100)
def test_samarati_finds_the_least_height(case: Case, k: int, limit: float) -> None:
    """No node of a smaller height meets the limits, and of the same height none that does has less loss."""
    made = limited(case, k, limit)
    numbers, lattice = whole(made), Lattice(case.table.hierarchies)
    if not numbers.feasible.any():
        return
    levels = answer(made, Samarati()).recoding.levels
    assert levels is not None
    heights = lattice.levels(np.arange(lattice.size)).sum(axis=1)
    assert sum(levels) == heights[numbers.feasible].min()
    own = int(lattice.numbers(np.array([levels]))[0])
    same = numbers.feasible & (heights == sum(levels))
    assert numbers.keys[own, 0] == numbers.keys[same, 0].min()


@given(highest=st.lists(st.integers(0, 3), min_size=1, max_size=4), height=st.integers(0, 12))
def test_the_nodes_of_a_height(highest: list[int], height: int) -> None:
    """Each vector of levels with that sum comes once, in order."""
    batches = list(nodes_of_height(np.array(highest), height))
    found = [tuple(row) for batch in batches for row in batch.tolist()]
    assert found == [levels for levels in product(*(range(h + 1) for h in highest)) if sum(levels) == height]


def test_adult() -> None:
    """At k = 5 and 1 % suppression Datafly comes near the optimum, Samarati's least height costs far more."""
    table = adult_table()
    made = problem(table, ["glm"], constrained({"k": 5}, 0.01), {"k": 5})
    greedy, height = answer(made, datafly_for(table)), answer(made, Samarati())
    least = float(whole(made).values[whole(made).feasible, 0].min())
    assert least <= greedy.values["glm"] < height.values["glm"]
    assert greedy.evaluated < 30
    assert greedy.recoding.levels == (4, 2, 2, 2, 1, 0, 3, 0)


def test_what_they_refuse() -> None:
    """No limits: a sentence."""
    table = adult_table()
    with pytest.raises(BadJob, match="there are none"):
        answer(problem(table, ["k", "glm"]), Samarati())
