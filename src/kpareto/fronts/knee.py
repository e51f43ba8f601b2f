"""The knee of a front: where a little more privacy begins to cost much, on the scale on which the front is drawn.

Costs go from 0 (best on the front) to 1 (worst). The mean cost of the privacy objectives is one side, that of the
others the second; both weigh the same. A front that is a straight line from one end to the other has the sum 1
everywhere, so it has no knee; one that is bent towards the ideal corner has its knee where the sum is least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kpareto.fronts.problem import Problem
from kpareto.measures.measure import aspect_of, is_privacy

BEND = 0.05  # how far below the straight line, of the height of the picture, a bend must lie to be called one
KNEE = (
    "The knee is the point that lies deepest below the straight line between the two ends of the front, on the scale "
    "of the picture; beyond it each further step of privacy costs more. The ends themselves do not count."
)
NO_KNEE = (
    "This front has no knee: on the scale of the picture no point lies clearly below the straight line between its two "
    "ends, so each step of privacy costs about as much as the last."
)


@dataclass(frozen=True)
class Knee:
    """The point to stop at where nothing else is known."""

    place: int  # the point; where the front is not bent, the one in the middle between both ends
    bent: bool  # whether the front has a knee at all

    @property
    def words(self) -> str:
        """What a knee is, or why there is none, in a sentence or two."""
        return KNEE if self.bent else NO_KNEE


def find_knee(problem: Problem, values: np.ndarray) -> Knee:
    """The knee of the points of a front, by their values: (points, objectives) float64, at least one point."""
    costs = unit_costs(drawn_costs(problem, values))
    private = np.array([is_privacy(measure) for measure in problem.objectives])
    if private.all() or not private.any():
        sides = costs  # nothing stands against privacy, or nothing for it: each objective is a side
    else:
        sides = np.column_stack((costs[:, private].mean(axis=1), costs[:, ~private].mean(axis=1)))
    total, worst = np.round(sides.sum(axis=1), 12), np.round(sides.max(axis=1), 12)
    inner = np.flatnonzero(worst < worst.max())
    if len(inner) == 0:  # ends only
        return Knee(int(np.lexsort((np.arange(len(total)), total))[0]), False)
    deepest = int(inner[np.lexsort((inner, total[inner]))[0]])
    ends = np.flatnonzero(worst == worst.max())
    if total[deepest] <= total[ends].min() - BEND:
        return Knee(deepest, True)
    return Knee(int(inner[np.lexsort((inner, total[inner], worst[inner]))[0]]), False)


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
