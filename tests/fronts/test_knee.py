"""The knee: deepest below the straight line on the drawn scale, never an end, and none where nothing is bent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.fronts.choose import marked_points, marks_of
from kpareto.fronts.front import Front
from kpareto.fronts.knee import BEND, KNEE, NO_KNEE, drawn_costs, find_knee, unit_costs
from kpareto.fronts.problem import Problem, problem
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult_table


@pytest.fixture(scope="module")
def adult() -> Front:
    """The front of k and general loss that the page proposes for the embedded table."""
    return exact_front(problem(adult_table("default"), ["k", "glm"], 0.01))


@pytest.fixture(scope="module")
def pair(adult: Front) -> Problem:
    """A problem with one size and one loss, for made-up values."""
    return adult.problem


def slow_knee(wanted: Problem, values: np.ndarray) -> tuple[int, bool]:
    """The same by plain loops over the points of k and one loss."""
    costs = []
    for k, loss in values.tolist():
        costs.append((-np.log(k), loss))
    lows, highs = [min(c) for c in zip(*costs, strict=True)], [max(c) for c in zip(*costs, strict=True)]
    units = [
        [(c - low) / (high - low) if high > low else 0.0 for c, low, high in zip(cost, lows, highs, strict=True)]
        for cost in costs
    ]
    worst = [round(max(unit), 12) for unit in units]
    total = [round(sum(unit), 12) for unit in units]
    inner = [place for place in range(len(units)) if worst[place] < max(worst)]
    if not inner:
        return min(range(len(units)), key=lambda place: (total[place], place)), False
    best = min(inner, key=lambda place: (total[place], place))
    if total[best] <= min(total[place] for place in range(len(units)) if place not in inner) - BEND:
        return best, True
    return min(inner, key=lambda place: (worst[place], total[place], place)), False


def test_adult_has_no_knee_at_its_trivial_end(adult: Front) -> None:
    """On k and general loss the front is all but straight: nothing is marked, and the sentence says why."""
    assert not adult.bend.bent
    assert adult.bend.words == NO_KNEE
    assert not any("knee" in words for words in marks_of(adult).values())
    kept = 1 - adult.knee().values["glm"] / (adult.problem.table.rows * 8)
    assert 0.3 < kept < 0.7  # the middle, where 88 % of the detail was lost before
    assert adult.knee().partition.classes > 2


def test_the_knee_of_a_bent_front_is_marked() -> None:
    """With l beside k the front of Adult is bent, and the first mark is the knee."""
    bent = exact_front(problem(adult_table("default", sensitive="occupation"), ["k", "l", "glm"], 0.01))
    assert bent.bend.bent
    assert next(mark for mark, point in marked_points(bent) if point.id == bent.knee().id) == "knee"


def test_a_bent_front_has_its_knee_at_the_bend(pair: Problem) -> None:
    """Up to k = 100 privacy is nearly free, from there on dear."""
    values = np.array([[1, 0.0], [10, 10.0], [100, 20.0], [1000, 60.0], [10000, 100.0]])
    found = find_knee(pair, values)
    assert (found.place, found.bent, found.words) == (2, True, KNEE)


def test_size_counts_by_factors_and_loss_by_differences(pair: Problem) -> None:
    """The scale is that of the picture: on a linear scale of k the last point but one would win."""
    values = np.array([[1, 0.0], [10, 5.0], [100, 50.0], [9000, 85.0], [10000, 100.0]])
    assert find_knee(pair, values).place == 1
    linear = unit_costs(np.column_stack((-values[:, 0], values[:, 1])))
    assert int(linear.sum(axis=1)[1:4].argmin()) + 1 == 3


@given(
    st.lists(
        st.tuples(st.integers(1, 10**5), st.floats(0, 1000).map(lambda x: round(x, 3))), min_size=1, max_size=30
    ).map(lambda rows: np.array(rows, dtype=np.float64))
)
def test_the_knee_is_that_of_the_slow_twin_and_never_an_end(pair: Problem, values: np.ndarray) -> None:
    """Same point, same verdict; an end is taken only where there is nothing else."""
    knee = find_knee(pair, values)
    assert (knee.place, knee.bent) == slow_knee(pair, values)
    costs = unit_costs(drawn_costs(pair, values))
    ends = costs.max(axis=1) == costs.max()
    assert not ends[knee.place] or ends.all()


def test_without_anything_against_privacy_each_objective_is_a_side(adult: Front) -> None:
    """A front of losses alone has a middle too."""
    losses = exact_front(problem(adult_table("default"), ["lm", "dcn"], 0.01, {"k": 50}))
    assert 0 <= losses.knee().id < len(losses)
