"""The knee: deepest below the straight line on the drawn scale, never an end, and shown to nobody who has not asked."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.faces.web.explore import front_view
from kpareto.fronts.choose import choose_point
from kpareto.fronts.dominance import BEND, drawn_costs, find_knee, unit_costs
from kpareto.fronts.front import Front, picture
from kpareto.fronts.picture import render
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


def slow_knee(values: np.ndarray) -> int:
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
        return min(range(len(units)), key=lambda place: (total[place], place))
    best = min(inner, key=lambda place: (total[place], place))
    if total[best] <= min(total[place] for place in range(len(units)) if place not in inner) - BEND:
        return best
    return min(inner, key=lambda place: (worst[place], total[place], place))


def test_the_knee_of_adult_is_not_its_trivial_end(adult: Front) -> None:
    """On k and general loss the front is all but straight: the point in the middle is taken."""
    kept = 1 - adult.knee().values["glm"] / (adult.problem.table.rows * 8)
    assert 0.3 < kept < 0.7  # the middle, where 88 % of the detail was lost before
    assert adult.knee().partition.classes > 2


def test_nothing_shows_the_knee_unasked(adult: Front) -> None:
    """Neither the summary, nor the JSON, a notebook, the page or a picture has a word about it."""
    shown = [adult.summary(), json.dumps(adult.to_dict()), adult._repr_html_(), json.dumps(front_view(adult))]
    shown += [render(adult.plot()).decode(), repr(picture(adult).marks)]
    assert not [text for text in shown if "knee" in text.lower()]
    assert choose_point(adult, "knee").id == adult.knee().id


def test_a_bent_front_has_its_knee_at_the_bend(pair: Problem) -> None:
    """Up to k = 100 privacy is nearly free, from there on dear."""
    values = np.array([[1, 0.0], [10, 10.0], [100, 20.0], [1000, 60.0], [10000, 100.0]])
    assert find_knee(pair.objectives, values) == 2


def test_size_counts_by_factors_and_loss_by_differences(pair: Problem) -> None:
    """The scale is that of the picture: on a linear scale of k the last point but one would win."""
    values = np.array([[1, 0.0], [10, 5.0], [100, 50.0], [9000, 85.0], [10000, 100.0]])
    assert find_knee(pair.objectives, values) == 1
    linear = unit_costs(np.column_stack((-values[:, 0], values[:, 1])))
    assert int(linear.sum(axis=1)[1:4].argmin()) + 1 == 3


@given(
    st.lists(
        st.tuples(st.integers(1, 10**5), st.floats(0, 1000).map(lambda x: round(x, 3))), min_size=1, max_size=30
    ).map(lambda rows: np.array(rows, dtype=np.float64))
)
def test_the_knee_is_that_of_the_slow_twin_and_never_an_end(pair: Problem, values: np.ndarray) -> None:
    """The same point; an end is taken only where there is nothing else."""
    knee = find_knee(pair.objectives, values)
    assert knee == slow_knee(values)
    costs = unit_costs(drawn_costs(pair.objectives, values))
    ends = costs.max(axis=1) == costs.max()
    assert not ends[knee] or ends.all()


def test_without_anything_against_privacy_each_objective_is_a_side(adult: Front) -> None:
    """A front of losses alone has a middle too."""
    losses = exact_front(problem(adult_table("default"), ["lm", "dcn"], 0.01, {"k": 50}))
    assert 0 <= losses.knee().id < len(losses)
