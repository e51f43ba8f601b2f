"""What no recoding can go below, beside what one has: the proven gap of a local recoding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ProvenGap:
    """What a loss is at least, whatever the recoding, where classes must keep what was asked for."""

    loss: str  # the objective it is about
    at: Mapping[str, float]  # what was asked for, such as {"k": 5}
    least: float
    reached: float  # what the recoding loses

    @property
    def gap(self) -> float:
        """How far the recoding is above it, as a share; infinite above a bound of 0."""
        return self.reached / self.least - 1 if self.least > 0 else (0.0 if self.reached == 0 else math.inf)

    @property
    def percent(self) -> str:
        """The gap for a sentence, never rounded down."""
        return f"{math.ceil(1000 * self.gap - 1e-9) / 10:g} %"

    def to_dict(self) -> dict[str, Any]:
        """For a front's JSON."""
        gap = None if math.isinf(self.gap) else self.gap
        return {"loss": self.loss, "at": dict(self.at), "least": self.least, "reached": self.reached, "gap": gap}

    def sentence(self) -> str:
        """``at most 12 % above what any local recoding with these labels could reach at k = 5``."""
        where = ", ".join(f"{name} = {value:g}" for name, value in self.at.items())
        if math.isinf(self.gap):
            return f"what any local recoding with these labels could reach at {where} is not known to be above 0"
        return f"at most {self.percent} above what any local recoding with these labels could reach at {where}"
