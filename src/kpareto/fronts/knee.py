"""The knee of a front: where a little more privacy begins to cost much, on the scale on which the front is drawn.

Costs go from 0 (best on the front) to 1 (worst). The mean cost of the privacy objectives is one side, that of the
others the second; both weigh the same. A front that is a straight line from one end to the other has the sum 1
everywhere, so it has no knee; one that is bent towards the ideal corner has its knee where the sum is least.
"""

from __future__ import annotations

import numpy as np

from kpareto.fronts.problem import Problem
from kpareto.measures.measure import aspect_of, is_privacy

BEND = 0.05  # how far below the straight line, of the height of the picture, a bend must lie to be called one


def find_knee(problem: Problem, values: np.ndarray) -> int:
    """The knee of the points of a front, by their values: (points, objectives) float64, at least one point.

    Where the front is not bent it is the point in the middle between both ends.
    """
    costs = unit_costs(drawn_costs(problem, values))
    private = np.array([is_privacy(measure) for measure in problem.objectives])
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


def drawn_costs(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Lower is better, and logarithmic where the axis of a picture is: (points, objectives) float64."""
    costs = -values * problem.better
    for column, measure in enumerate(problem.objectives):
        if aspect_of(measure).logarithmic and (values[:, column] > 0).all():
            costs[:, column] = -np.log(values[:, column]) * problem.better[column]
    return costs


def unit_costs(costs: np.ndarray) -> np.ndarray:
    """Costs from 0 (best) to 1 (worst) in each column: (points, objectives) float64."""
    scaled = np.array(costs, dtype=np.float64)
    for column in range(scaled.shape[1]):
        own = scaled[:, column]  # a view
        finite = np.isfinite(own)
        low, high = (float(own[finite].min()), float(own[finite].max())) if finite.any() else (0.0, 0.0)
        # What is infinitely bad is as bad as the worst finite point, and stands there; so for the best.
        own[:] = (np.clip(own, low, high) - low) / (high - low) if high > low else np.where(own > high, 1.0, 0.0)
    return scaled
