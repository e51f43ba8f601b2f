"""Trials of GENITOR with one crossover against another: what Lunacek's figures are made of, under either reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.searches.cuts.genitor import Settings, genitor
from kpareto.searches.cuts.score import Score
from replication.page import each

NEAR = 0.01  # a search has converged when it is this near to the best value known
STEP = 500  # evaluations between two points of a curve


@dataclass(frozen=True, eq=False)
class Arm:
    """All trials with one setting."""

    settings: Settings
    finals: np.ndarray  # (trials,) float64, the least loss of each
    curves: np.ndarray  # (trials, points) float64, best so far every STEP evaluations

    @property
    def name(self) -> str:
        """For legends."""
        return f"{self.settings.crossover.upper()} {self.settings.population}"

    @property
    def mean(self) -> float:
        """The mean of the final losses."""
        return float(self.finals.mean())

    @property
    def deviation(self) -> float:
        """The standard deviation of the final losses."""
        return float(self.finals.std(ddof=1))

    @property
    def median(self) -> float:
        """The median of the final losses."""
        return float(np.median(self.finals))

    @property
    def spread(self) -> float:
        """The distance between the quartiles."""
        low, high = np.percentile(self.finals, [25, 75])
        return float(high - low)

    @property
    def outliers(self) -> int:
        """Trials that end above the upper quartile by more than one and a half times the quartiles' distance."""
        high = np.percentile(self.finals, 75)
        return int((self.finals > high + 1.5 * self.spread).sum())

    def converged(self, best: float) -> np.ndarray:
        """Evaluations until each trial is near the best value known; the budget where it never is: (trials,)."""
        return self._first(np.full(len(self.finals), best))

    @property
    def settled(self) -> np.ndarray:
        """Evaluations until each trial is near its own end: (trials,)."""
        return self._first(self.finals)

    @property
    def last_gain(self) -> np.ndarray:
        """Evaluations after which each trial gains nothing more: (trials,)."""
        return np.asarray((self.curves > self.finals[:, None]).sum(axis=1) * STEP, dtype=np.float64)

    @property
    def strays(self) -> np.ndarray:
        """How far each trial ends from the median of all: (trials,)."""
        return np.asarray(np.abs(self.finals - self.median))

    def _first(self, goals: np.ndarray) -> np.ndarray:
        reached = self.curves <= goals[:, None] * (1 + NEAR)
        first = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, self.curves.shape[1])
        return np.asarray(first * STEP, dtype=np.float64)

    def numbers(self) -> dict[str, object]:
        """For the page's JSON."""
        return {"finals": self.finals, "mean": self.mean, "median": self.median, "standard deviation": self.deviation,
                "mean of the first 15": self.finals[:15].mean(), "quartile distance": self.spread}  # fmt: skip


def run_arms(score: Score, settings: Sequence[Settings], trials: int, budget: int) -> list[Arm]:
    """So many trials of each setting, seeds from 0 on, side by side."""
    tasks = [(chosen, seed) for chosen in settings for seed in range(trials)]
    curves = each(lambda task: run_trial(score, task[0], task[1], budget), tasks)
    parts = [np.array(curves[start : start + trials]) for start in range(0, len(tasks), trials)]
    return [Arm(chosen, part[:, -1], part) for chosen, part in zip(settings, parts, strict=True)]


def run_trial(score: Score, settings: Settings, seed: int, budget: int) -> np.ndarray:
    """The best loss so far every STEP evaluations: (points,) float64."""
    answer = genitor(score, budget, seed, settings)
    at = np.arange(STEP, budget + 1, STEP)
    place = np.searchsorted(answer.trace[:, 0], at, side="right") - 1
    curve = np.where(place >= 0, answer.trace[np.maximum(place, 0), 1], answer.trace[0, 1])
    curve[-1] = answer.value
    return np.asarray(np.minimum.accumulate(curve))


def apart(runs: int) -> float:
    """The difference, in standard deviations, that a rank test of so many normal runs each shows in 80 % of cases.

    1.96 and 0.84 are the normal quantiles of a level of 5 % and a power of 80 %; ranks need π / 3 times the runs
    that means need.
    """
    return (1.96 + 0.84) * math.sqrt(2 / runs * math.pi / 3)


def interval(first: np.ndarray, second: np.ndarray, of: Callable[..., np.ndarray]) -> tuple[float, float]:
    """The middle 90 % of the difference of a statistic over 4,000 redrawn pairs of samples, by a fixed seed."""
    rng = np.random.default_rng(20)
    drawn = [of(side[rng.integers(0, len(side), (4000, len(side)))], axis=1) for side in (first, second)]
    low, high = np.percentile(drawn[0] - drawn[1], [5, 95])
    return float(low), float(high)
