"""How often an attack succeeds: rates with Wilson's intervals, and the risk beyond the control (Giomi et al. 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

NORMAL = 1.959963984540054  # standard deviations on either side of a normal mean that hold 95 %


@dataclass(frozen=True)
class Rate:
    """Successes of so many attempts, with Wilson's interval of 95 % for the rate."""

    successes: int
    attempts: int

    @property
    def value(self) -> float:
        """The share of attempts that succeeded."""
        return self.successes / self.attempts if self.attempts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of Wilson's interval (1927); everything is possible where nothing was tried."""
        if not self.attempts:
            return 0.0, 1.0
        n, share, square = self.attempts, self.value, NORMAL**2
        middle = (share + square / (2 * n)) / (1 + square / n)
        half = NORMAL / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        return 0.0 if self.successes == 0 else low, 1.0 if self.successes == n else high

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"successes": self.successes, "attempts": self.attempts, "rate": self.value, "interval": self.interval}


@dataclass(frozen=True)
class AttackOutcome:
    """One attack on one file: on people in it, on people who are not (the control), and by blind guessing."""

    attack: Rate
    control: Rate
    naive: Rate

    @property
    def risk(self) -> float:
        """The share of what the control leaves to be gained that the attack gains: (attack − control) / (1 − control).

        None is below 0: an attack that does better on others learns nothing from a person's own row.
        """
        left = 1 - self.control.value
        return max(0.0, (self.attack.value - self.control.value) / left) if left > 0 else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of an interval of 95 %: Wilson's two put together for a ratio (Donner and Zou 2012)."""
        one, other = 1 - self.attack.value, 1 - self.control.value
        (low1, high1), (low2, high2) = _failures(self.attack), _failures(self.control)
        least = _ratio_end(one, other, low1, high2, -1)
        most = _ratio_end(one, other, high1, low2, 1)
        return min(max(1 - most, 0.0), 1.0), min(max(1 - least, 0.0), 1.0)

    @property
    def weak(self) -> bool:
        """Whether the attack does no better than blind guessing, so that it says nothing of a stronger one."""
        return self.attack.value <= self.naive.interval[1]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        rates = {word: rate.to_dict() for word, rate in vars(self).items()}
        return {**rates, "risk": self.risk, "interval": self.interval}


def _failures(rate: Rate) -> tuple[float, float]:
    low, high = rate.interval
    return 1 - high, 1 - low


def _ratio_end(one: float, other: float, end: float, opposite: float, side: int) -> float:
    """An end of the interval for one / other: side -1 takes the lower of one and the upper of the other, 1 the rest."""
    below = opposite * (2 * other - opposite)
    if below <= 0:
        return 0.0 if side < 0 else math.inf
    inside = (one * other) ** 2 - end * opposite * (2 * one - end) * (2 * other - opposite)
    return max(0.0, (one * other + side * math.sqrt(max(inside, 0.0))) / below)
