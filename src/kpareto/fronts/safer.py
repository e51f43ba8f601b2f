"""A point of the same front that is clearly safer than a chosen one and keeps nearly the same detail.

Two points are weighed by what a person weighs: the highest risk, 1/k, the detail that is kept, and the rows that are
suppressed. Points that no limit in common use tells apart any more are left in peace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kpareto.fronts.front import PRESETS, Front, Point, kept_percent
from kpareto.measures.cells import tells_detail
from kpareto.measures.measure import is_privacy
from kpareto.tables.spelling import several

SAFER = 0.75  # of the risk is left at the most: from k = 5 at least k = 7, from 11 at least 15
POINTS = 2.0  # percent of all detail that this may cost
SHARE = 0.05  # of the detail that the chosen point keeps, where that is less
ROWS = 0.01  # share of all rows that may be suppressed beside
STEP = 0.02  # share of its range on the front by which another loss may be worse


@dataclass(frozen=True)
class Weighed:
    """What a person weighs in a point."""

    id: int
    k: int
    kept: float  # percent of the detail
    suppressed: int  # rows


@dataclass(frozen=True)
class SaferPoint:
    """A chosen point, the safer one, and the words that choose that."""

    own: Weighed
    other: Weighed
    choose: str

    def sentence(self) -> str:
        """Which of the two is the safer, what it costs, and how to take it."""
        chosen, other = self.own, self.other
        more = other.suppressed - chosen.suppressed
        rows = several(abs(more), f"{'fewer' if more < 0 else 'more'} row") if more else "no more rows"
        return (
            f"Point {other.id} of the front is clearly safer at nearly the same detail: its highest risk is "
            f"{100 / other.k:.1f} % (k = {other.k:,}) instead of {100 / chosen.k:.1f} % (k = {chosen.k:,}), and it "
            f"keeps {other.kept:.1f} % of the detail instead of {chosen.kept:.1f} %, with {rows} suppressed. "
            f"{self.advice}"
        )

    @property
    def advice(self) -> str:
        """How to take it."""
        return f"Choose {self.choose} to take it."


def find_safer(point: Point) -> SaferPoint | None:
    """The safest other point that costs hardly more; None where there is none, or the front tells too little.

    It has at most three quarters of the risk, keeps at most two points of detail less (and no more than a twentieth of
    what is kept), and suppresses at most 1 % more of the rows. No other privacy objective is worse, and another loss by
    at most 2 % of its range. A point that reaches the largest class size in common use has nothing better to be told.
    """
    front = point.front
    is_known = "k" in front.names and any(map(tells_detail, front.problem.objectives))
    if not is_known or not 1 <= point.values["k"] < PRESETS[-1]:
        return None
    sizes, suppressed = front.numbers.values[:, front.names.index("k")], front.numbers.suppressed
    near = (sizes * SAFER >= sizes[point.id]) & np.isfinite(sizes)
    near &= suppressed <= suppressed[point.id] + ROWS * front.problem.table.rows
    near &= _no_worse(point)
    chosen = _weigh(point)
    least = chosen.kept - min(POINTS, SHARE * chosen.kept) - 1e-9  # 82 must not miss 84 less 2
    weighed = [_weigh(front[int(number)]) for number in np.flatnonzero(near)]
    good = [other for other in weighed if other.kept >= least]
    if not good:
        return None
    best = max(good, key=lambda other: (other.k, other.kept, -other.id))
    words = f"k={best.k}" if front.choose(k=best.k).id == best.id else f"id={best.id}"
    return SaferPoint(chosen, best, words)


def _weigh(point: Point) -> Weighed:
    suppressed = int(point.front.numbers.suppressed[point.id])
    return Weighed(point.id, int(point.values["k"]), kept_percent(point), suppressed)


def _no_worse(point: Point) -> np.ndarray:
    """Which points are no worse in the other objectives than k and the detail: (points,) bool."""
    front: Front = point.front
    fine = np.ones(len(front), dtype=np.bool_)
    for column, measure in enumerate(front.problem.objectives):
        if tells_detail(measure):
            continue
        costs, keys = front.costs[:, column], front.numbers.keys[:, column]
        if is_privacy(measure):
            fine &= keys <= keys[point.id]
        else:
            finite = costs[np.isfinite(costs)]
            fine &= costs <= costs[point.id] + STEP * (float(np.ptp(finite)) if len(finite) else 0.0)
    return fine
