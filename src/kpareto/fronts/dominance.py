"""Which vectors of numbers are best: by dominance, by a preference point, and at the knee.

Dominance is decided on whole-number keys: no rounding can add a point to a front or drop one.

A preference point is met by the achievement function of Dewri et al. (GECCO 2009), for any number of losses.

The knee is where a little more privacy begins to cost much, on the scale on which the front is drawn. Costs go from 0
(best on the front) to 1 (worst). The mean cost of the privacy objectives is one side, that of the others the second;
both weigh the same. A front that is a straight line from one end to the other has the sum 1 everywhere, so it has no
knee; one that is bent towards the ideal corner has its knee where the sum is least.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kpareto.errors import BadJob
from kpareto.kernels.dominance import pareto
from kpareto.measures.measure import Measure, aspect_of, is_privacy

Ties = Literal["all", "one"]
EPSILON = 1e-6  # added to the numbers of a preference point, which may be 0
BEND = 0.05  # how far below the straight line, of the height of the picture, a bend must lie to be called one


def non_dominated(keys: np.ndarray, ties: Ties = "all") -> np.ndarray:
    """The rows of keys (n, objectives) int64, lower being better, that no other row dominates: places, rising.

    ``ties="all"`` keeps every row of a vector that occurs several times, ``"one"`` the first.
    """
    if len(keys) == 0:
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort(keys.T[::-1])  # by the first column, then the second …; stable, so first places come first
    ranked = keys[order]
    fresh = np.concatenate(([True], (ranked[1:] != ranked[:-1]).any(axis=1)))
    vectors = ranked[fresh]
    kept = _staircase(vectors) if keys.shape[1] <= 2 else pareto(np.ascontiguousarray(vectors))
    if ties == "one":
        return np.sort(order[fresh][kept])
    return np.sort(order[kept[np.cumsum(fresh) - 1]])


def _staircase(vectors: np.ndarray) -> np.ndarray:
    """Non-dominated rows of distinct vectors in lexicographic order, for one or two objectives."""
    if vectors.shape[1] == 1:
        return np.arange(len(vectors)) == 0
    least = np.minimum.accumulate(vectors[:, 1])
    return np.concatenate(([True], vectors[1:, 1] < least[:-1]))


def hypervolume(costs: np.ndarray, reference: np.ndarray) -> float:
    """The volume dominated by costs (points, objectives), lower being better, up to the reference point.

    Exact, by slicing along the last objective; meant for fronts of up to a few thousand points and few objectives.
    """
    inside = costs[(costs < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if inside.shape[1] == 1:
        return float(reference[0] - inside.min())
    if inside.shape[1] == 2:
        ranked = inside[np.lexsort((inside[:, 1], inside[:, 0]))]
        heights = np.minimum.accumulate(ranked[:, 1])
        widths = np.diff(np.append(ranked[:, 0], reference[0]))
        return float((widths * (reference[1] - heights)).sum())
    ranked = inside[np.argsort(inside[:, -1], kind="stable")]
    steps = np.diff(np.append(ranked[:, -1], reference[-1]))
    return float(
        sum(step * hypervolume(ranked[: i + 1, :-1], reference[:-1]) for i, step in enumerate(steps.tolist()) if step)
    )


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


def find_knee(objectives: Sequence[Measure], values: np.ndarray) -> int:
    """The knee of the points of a front, by their values: (points, objectives) float64, at least one point.

    Where the front is not bent it is the point in the middle between both ends.
    """
    costs = unit_costs(drawn_costs(objectives, values))
    private = np.array([is_privacy(measure) for measure in objectives])
    if private.all() or not private.any():
        sides = costs  # nothing stands against privacy, or nothing for it: each objective is a side
    else:
        sides = np.column_stack((costs[:, private].mean(axis=1), costs[:, ~private].mean(axis=1)))
    total, worst = np.round(sides.sum(axis=1), 12), np.round(sides.max(axis=1), 12)
    inner = np.flatnonzero(worst < worst.max())
    if len(inner) == 0:  # ends only
        return int(np.lexsort((np.arange(len(total)), total))[0])
    deepest = int(inner[np.lexsort((inner, total[inner]))[0]])
    ends = np.flatnonzero(worst == worst.max())
    if total[deepest] <= total[ends].min() - BEND:
        return deepest
    return int(inner[np.lexsort((inner, total[inner], worst[inner]))[0]])


def drawn_costs(objectives: Sequence[Measure], values: np.ndarray) -> np.ndarray:
    """Lower is better, and logarithmic where the axis of a picture is: (points, objectives) float64."""
    costs = np.array(values, dtype=np.float64)
    for column, measure in enumerate(objectives):
        if aspect_of(measure).logarithmic and (costs[:, column] > 0).all():
            costs[:, column] = np.log(costs[:, column])
        if measure.better == "higher":
            costs[:, column] *= -1
    return costs


def unit_costs(costs: np.ndarray) -> np.ndarray:
    """Costs from 0 (best) to 1 (worst) in each column: (points, objectives) float64."""
    scaled = np.array(costs, dtype=np.float64)
    for column in range(scaled.shape[1]):
        costs_of = scaled[:, column]  # a view
        finite = np.isfinite(costs_of)
        low, high = (float(costs_of[finite].min()), float(costs_of[finite].max())) if finite.any() else (0.0, 0.0)
        # What is infinitely bad is as bad as the worst finite point, and stands there; so for the best.
        one_value = np.where(costs_of > high, 1.0, 0.0)
        costs_of[:] = (np.clip(costs_of, low, high) - low) / (high - low) if high > low else one_value
    return scaled
