"""Numbers about recodings: what a search is sent of those it proposed, where a front's come from, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

EMPTY = 2**62  # the k of a release without rows
# Which set the points of a front are, as its JSON says under search.set.
SETS = {
    "exact": "every trade-off of the space",
    "counted": "the best of all that was counted",
    "report": "what the search itself reports, whether or not it counted better ones",
    "archive": "the archive that the search keeps, whether or not it counted more",
    "best": "the best recoding that was met",
}


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers about many recodings, one row each; as-needed gives a recoding several rows."""

    which: np.ndarray  # (n,) int64, node number, or place among the genomes given
    thresholds: np.ndarray  # (n,) int64, classes smaller than this are suppressed (0 under none)
    values: np.ndarray  # (n, objectives) float64, each in its own unit
    keys: np.ndarray  # (n, objectives) int64, lower is better, compared exactly
    feasible: np.ndarray  # (n,) bool, limits met and something is released
    suppressed: np.ndarray  # (n,) int64, rows

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """All of the above, in this order."""
        return tuple(vars(self).values())

    def take(self, chosen: np.ndarray) -> Numbers:
        """Some of the rows."""
        return Numbers(*(column[chosen] for column in self.columns))

    def rows_of(self, recodings: int) -> list[np.ndarray]:
        """The rows of each recoding, where ``which`` is its place."""
        order = np.argsort(self.which, kind="stable")
        return np.split(order, np.searchsorted(self.which[order], np.arange(1, recodings)))

    def find(self, rows: np.ndarray, threshold: int, values: Sequence[float], close: float) -> int | None:
        """The one of some rows that has a threshold and, up to rounding, these values; None where there is none."""
        wanted = np.array(values, dtype=np.float64)
        for row in rows.tolist():
            same = np.isclose(self.values[row], wanted, rtol=close, atol=close)
            if self.thresholds[row] == threshold and same.all():
                return int(row)
        return None


def join(parts: Sequence[Numbers], objectives: int) -> Numbers:
    """Rows of several parts, one after the other."""
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        table = np.zeros((0, objectives))
        return Numbers(none, none, table, table.astype(np.int64), none.astype(np.bool_), none)
    return Numbers(*(np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)))


@dataclass(frozen=True)
class Provenance:
    """How a front was found."""

    method: str
    evaluated: int  # recodings counted
    complete: bool  # proven that no point is missing
    seed: int | None = None
    seconds: float = 0.0
    note: str = ""  # what a reader must know, such as why it is not complete
    details: Mapping[str, Any] = field(default_factory=dict)
    stopped: bool = False  # by the user, before it was done
    points: str = "counted"  # which set the points are, one of SETS
    options: Mapping[str, Any] = field(default_factory=dict)  # every setting of the search, also those by default


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
        """``its loss is at most 12 % above what any local recoding with these labels could reach at k = 5``."""
        where = ", ".join(f"{name} = {value:g}" for name, value in self.at.items())
        if math.isinf(self.gap):
            return f"what any local recoding with these labels could reach at {where} is not known to be above 0"
        above = f"its loss is at most {self.percent} above what any local recoding with these labels"
        return f"{above} could reach at {where}"


def spell_count(size: int) -> str:
    """A number of recodings for a sentence: in full, or as a power of ten."""
    return f"{size:,}" if size < 10**12 else f"about 10^{len(str(size)) - 1}"
