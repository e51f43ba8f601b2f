"""Numbers: what a search is sent about the recodings it proposed, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

EMPTY = 2**62  # the k of a release without rows


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers about many recodings, one row each; as-needed gives a recoding several rows."""

    which: np.ndarray  # (n,) int64, node number, or place among the genomes given
    thresholds: np.ndarray  # (n,) int64, classes smaller than this are suppressed (0 under none)
    values: np.ndarray  # (n, objectives) float64, each in its own unit
    keys: np.ndarray  # (n, objectives) int64, lower is better, compared exactly
    feasible: np.ndarray  # (n,) bool, limits met and something is released
    suppressed: np.ndarray  # (n,) int64, rows

    def take(self, chosen: np.ndarray) -> Numbers:
        """Some of the rows."""
        return Numbers(
            self.which[chosen],
            self.thresholds[chosen],
            self.values[chosen],
            self.keys[chosen],
            self.feasible[chosen],
            self.suppressed[chosen],
        )

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
    return Numbers(
        np.concatenate([part.which for part in parts]),
        np.concatenate([part.thresholds for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.feasible for part in parts]),
        np.concatenate([part.suppressed for part in parts]),
    )
