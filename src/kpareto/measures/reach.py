"""The best that a model can have on a table, whatever the recoding: by it a wish is told impossible before a search.

Let the visible classes together be V, some rows of the table, all but at most ``spare`` of them. No class has more rows
or persons than V, nor more distinct values. The entropy of V is at least the smallest of its classes, because entropy
is concave; its largest share and its r₁ / (r_l + … + r_m) are at most the largest of theirs, because r₁ of a union is
at most the sum of both r₁, and its tail at least the sum of both tails. So a limit that no such V meets is met by no
recoding; and V with all rows is a recoding itself, the one in which every quasi-identifier is hidden.

Of all V with n rows the most even one is best for each of these: the counts of the most frequent values cut off at one
height (it is majorized by every other). Cutting further never makes it worse: the height falls at least as fast as the
rows do. The height need not be whole here, so that what is said is a bound, and exact where nothing may be suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kpareto.measures.reading import Reach, Reacher, sensitive_columns
from kpareto.tables.spelling import percent, several
from kpareto.tables.table import Counts, Table

ColumnBest = Callable[[Counts, int], float]  # a column, and how many rows may be suppressed -> the best value


def reach_column(best: ColumnBest, column: str | None, better: str, known: bool = False) -> Reacher:
    """What a model of sensitive values can have; of several columns the one that allows least.

    Of persons, whose values come together as classes merge, no more is said than that no class has more values than the
    column; ``known``: missing values do not count, so that suppressing rows may take away these alone.
    """

    def reach(table: Table, spare: int) -> Reach:
        columns = sensitive_columns(table, column, known)
        by_rows = best if table.persons is None else most_distinct if better == "higher" else nothing_known
        bests = [(by_rows(counts, spare) if int(counts.totals.sum()) else 0.0, counts) for counts in columns]
        worst = min if better == "higher" else max
        value, counts = worst(bests, key=lambda pair: pair[0])
        number = int((counts.totals > 0).sum())
        reason = f"the sensitive column {counts.name!r} has {several(number, 'distinct value')}"
        most = percent(int(counts.totals.max(initial=0)) / table.rows)
        if best is not most_distinct and table.persons is None:
            reason = f"{reason}, the most frequent in {most} of the rows"
        return Reach(value, reason, table.persons is None)

    return reach


def most_distinct(counts: Counts, _spare: int) -> float:
    """Distinct values."""
    return float((counts.totals > 0).sum())


def nothing_known(_counts: Counts, _spare: int) -> float:
    """That a number may be as good as can be."""
    return 0.0


def most_entropy(counts: Counts, spare: int) -> float:
    """The largest effective number of values."""
    even = level(counts.totals, spare)
    p = even[even > 0] / even.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def least_share(counts: Counts, spare: int) -> float:
    """The least share of the most frequent value."""
    even = level(counts.totals, spare)
    return float(even.max() / even.sum())


def least_share_of(code: int, counts: Counts, spare: int) -> float:
    """The least share of one value."""
    rows, count = int(counts.totals.sum()), int(counts.totals[code])
    gone = min(spare, count, rows - 1)
    return (count - gone) / (rows - gone)


def least_recursive(rank: int, counts: Counts, spare: int) -> float:
    """The least r₁ / (r_l + … + r_m), infinite with fewer than l values."""
    even = np.sort(level(counts.totals, spare))[::-1]
    tail = float(even[rank - 1 :].sum())
    return float(even[0]) / tail if tail > 0 else math.inf


def level(totals: np.ndarray, spare: int) -> np.ndarray:
    """Counts without so many rows, taken from the most frequent values so that the rest is as even as can be."""
    falling = np.sort(totals.astype(np.float64))[::-1]
    gone = min(spare, int(totals.sum()) - 1)
    heights = (np.cumsum(falling) - gone) / np.arange(1, len(falling) + 1)
    below = np.append(falling[1:], 0.0)
    height = float(heights[np.flatnonzero(heights >= below)[0]])
    even: np.ndarray = np.minimum(totals, height)
    return even
