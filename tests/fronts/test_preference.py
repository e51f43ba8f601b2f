"""The achievement function, against the numbers of the paper and dominance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.fronts.dominance import achievement, achievement_weights, prefer, preference_deviation

shares = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0])


def test_o13_achievement() -> None:
    """O13: weights, values at the preference point, and four examples."""
    assert achievement_weights((0.2, 1.0))[0] == pytest.approx(0.833333, abs=5e-7)
    assert achievement_weights((0.2, 0.1))[0] == pytest.approx(0.333334, abs=5e-7)
    cases = [
        ((0.2, 1.0), (0.2, 1.0), 0.166667),
        ((0.2, 0.1), (0.2, 0.1), 0.066667),
        ((0.3, 0.5), (0.2, 1.0), 0.250001),
        ((0.1, 0.9), (0.2, 1.0), 0.150001),
        ((0.25, 0.05), (0.2, 0.1), 0.083334),
        ((0.15, 0.2), (0.2, 0.1), 0.133334),
    ]
    for values, preference, expected in cases:
        assert float(achievement(np.array(values), preference)) == pytest.approx(expected, abs=1e-6)


def test_o15_ties_go_to_the_dominating_point() -> None:
    """O15: (.3,.5) and (.3,.4) have equal achievement at (.2,1); the smaller deviation wins."""
    points = np.array([[0.3, 0.5], [0.3, 0.4]])
    first, second = achievement(points, (0.2, 1.0))
    assert first == second
    assert preference_deviation(points, (0.2, 1.0)) == pytest.approx([-0.4, -0.5])
    assert prefer(points, (0.2, 1.0)) == 1


@given(points=st.lists(st.tuples(shares, shares), min_size=1, max_size=12), preference=st.tuples(shares, shares))
def test_the_preferred_point_is_not_dominated(
    points: list[tuple[float, float]], preference: tuple[float, float]
) -> None:
    """The choice is Pareto-optimal, which the paper's weak order does not promise."""
    values = np.array(points)
    chosen = values[prefer(values, preference)]
    better = (values <= chosen).all(axis=1) & (values < chosen).any(axis=1)
    assert not better.any()


def test_wrong_preferences_are_explained() -> None:
    """Negative or missing numbers, no points and no epsilon get their sentence."""
    with pytest.raises(BadJob, match="Give one number of at least 0 per objective"):
        achievement_weights((-0.1, 1.0))
    with pytest.raises(BadJob, match="epsilon is 0"):
        achievement_weights((0.1,), epsilon=0)
    with pytest.raises(BadJob, match="The preference point has 2 numbers and the values 3"):
        achievement(np.zeros(3), (0.1, 0.2))
    with pytest.raises(BadJob, match="There is no point to choose from"):
        prefer(np.zeros((0, 2)), (0.1, 0.2))
