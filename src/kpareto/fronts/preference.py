"""Choosing by a preference point: the achievement function of Dewri et al. (GECCO 2009) for any number of losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kpareto.errors import BadJob

EPSILON = 1e-6


def achievement_weights(preference: Sequence[float], epsilon: float = EPSILON) -> np.ndarray:
    """w_i = (1 / (p_i + ε)) / Σ_j 1 / (p_j + ε), for a preference point p of values to be met (GE-4).

    Returns (objectives,) float64; they add up to one, and a value asked to be small weighs much.
    """
    point = np.asarray(preference, dtype=np.float64)
    if point.ndim != 1 or len(point) == 0 or not (point >= 0).all() or not np.isfinite(point).all():
        raise BadJob(f"The preference point is {list(preference)!r}. Give one number of at least 0 per objective.")
    if not epsilon > 0:
        raise BadJob(f"epsilon is {epsilon!r}. Give a small number above 0.")
    inverse = 1.0 / (point + epsilon)
    return inverse / inverse.sum()


def achievement(values: np.ndarray, preference: Sequence[float], epsilon: float = EPSILON) -> np.ndarray:
    """max_i w_i (v_i + ε), to be minimized: (…,) float64 for values (…, objectives), lower being better (GE-4)."""
    weights = achievement_weights(preference, epsilon)
    vectors = np.asarray(values, dtype=np.float64)
    if vectors.shape[-1] != len(weights):
        raise BadJob(
            f"The preference point has {len(weights)} numbers and the values {vectors.shape[-1]}. Give as many."
        )
    return (weights * (vectors + epsilon)).max(axis=-1)


def preference_deviation(values: np.ndarray, preference: Sequence[float]) -> np.ndarray:
    """Σ v_i − Σ p_i: (…,) float64, below 0 where the point is beaten on the whole (GE-7)."""
    return np.asarray(values, dtype=np.float64).sum(axis=-1) - float(np.sum(preference))


def prefer(values: np.ndarray, preference: Sequence[float], epsilon: float = EPSILON) -> int:
    """The row of values (points, objectives) with the least achievement, ties by the least sum.

    The paper proves its answer only weakly efficient. This order makes it Pareto-optimal: a dominating point has at
    most the same achievement and a smaller sum (readings.md#lexicographic).
    """
    points = np.asarray(values, dtype=np.float64)
    if points.ndim != 2 or len(points) == 0:
        raise BadJob("There is no point to choose from. Relax the limits.")
    order = np.lexsort((preference_deviation(points, preference), achievement(points, preference, epsilon)))
    return int(order[0])
