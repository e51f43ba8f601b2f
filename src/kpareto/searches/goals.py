"""The one number that runs of a search are judged by, and how it falls while a run goes on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadJob
from kpareto.fronts.dominance import achievement
from kpareto.fronts.front import DEFAULT_K
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from kpareto.measures.measure import is_privacy

MOST_STEPS = 100  # of a path that are kept


@dataclass(frozen=True)
class Goal:
    """The one number that runs are compared by, lower being better."""

    words: str
    loss: int  # place of the loss among the objectives
    k: float | None = None  # that a recoding must have, where k is an objective
    size: int = 0  # the place of k
    wish: tuple[tuple[int, ...], tuple[float, ...]] | None = None  # places and wished values of losses

    def each(self, numbers: Numbers) -> np.ndarray:
        """The number of every recoding, infinite where it misses a limit or the k: (n,) float64."""
        values = numbers.values
        fits = numbers.feasible if self.k is None else numbers.feasible & (values[:, self.size] >= self.k)
        losses = values[:, self.loss] if self.wish is None else achievement(values[:, self.wish[0]], self.wish[1])
        return np.where(fits, losses, np.inf)

    def of(self, numbers: Numbers) -> float:
        """The least among some recodings; infinite where none of them meets the limits and the k."""
        return float(self.each(numbers).min(initial=math.inf))

    def path(self, numbers: Numbers) -> list[list[float]]:
        """Recodings in the order they were counted: [how many until then, the least until then] where it falls."""
        least = np.minimum.accumulate(self.each(numbers))
        steps = np.flatnonzero(np.diff(least, prepend=np.inf) < 0)
        shown = steps[np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_STEPS)).astype(np.int64))]
        falls = [[int(place) + 1, float(least[place])] for place in shown.tolist()]
        return [*falls, [len(least), float(least[-1])]] if falls and falls[-1][0] < len(least) else falls


def goal_of(asked: Problem, wishes: Mapping[str, float] | None = None, k: float | None = None) -> Goal:
    """The goal of a problem: the achievement of wishes, or the least first loss, at a k where k is an objective."""
    names = [measure.name for measure in asked.objectives]
    if wishes:
        losses = [name for name in wishes if name != "k"]
        places, points = tuple(names.index(n) for n in losses), tuple(float(wishes[n]) for n in losses)
        return Goal(
            f"achievement of the wishes at k ≥ {wishes['k']:g}",
            places[0],
            wishes["k"],
            names.index("k"),
            (places, points),
        )
    loss = next((place for place, measure in enumerate(asked.objectives) if not is_privacy(measure)), None)
    if loss is None or asked.objectives[loss].better == "higher":
        raise BadJob("Searches are compared by a loss, and no objective is one that is better lower. Add lm, say.")
    if "k" not in names:
        return Goal(f"least {names[loss]}", loss)
    least = k or next((limit for measure, limit in asked.limits if measure.name == "k"), DEFAULT_K)
    return Goal(f"least {names[loss]} at k ≥ {least:g}", loss, least, names.index("k"))
