"""Inequality of protection: NECD over classes, and the gap between the groups of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from kpareto.errors import BadJob
from kpareto.kernels.words import LARGEST, K
from kpareto.measures.measure import Number, drop_unset, named, spell, trends
from kpareto.measures.properties import row_loss, subgroups
from kpareto.measures.reading import Questions, Reading
from kpareto.tables.partition import Partition
from kpareto.tables.table import Table

Of = Literal["protection", "loss", "suppressed"]
Gap = Literal["difference", "ratio"]


@named("necd")
def necd() -> Number:
    """Normalized equivalence class dispersion: (largest − smallest visible class) / (N − 1) (GE-4).

    N counts persons where the table tells them apart, as the classes do. One person alone has no dispersion.
    """

    def dispersion(partition: Partition) -> Fraction:
        everybody = _everybody(partition.table)
        if partition.empty or everybody == 1:
            return Fraction(0)
        sizes = partition.sizes[partition.visible]
        return Fraction(int(sizes.max() - sizes.min()), everybody - 1)

    # Merging may lift the smallest class or enlarge the largest.
    return Number(
        "necd",
        "lower",
        "share of the rows",
        trends("either"),
        lambda p: float(dispersion(p)),
        dispersion,
        parameters={},
        reading=_read_necd,
    )


def _everybody(table: Table) -> int:
    """How many persons there are, or rows where persons are not told apart."""
    return table.rows if table.persons is None else int(np.count_nonzero(table.persons.totals))


def _read_necd(ask: Questions) -> Reading:
    everybody, k, largest = _everybody(ask.table), ask.ints(K), ask.ints(LARGEST)
    return Reading(lambda c: (largest(c) - k(c)) / max(everybody - 1, 1), lambda c: largest(c) - k(c))


@dataclass(frozen=True, eq=False)
class GroupMeans:
    """A mean per group of a column; groups without rows are left out."""

    by: str
    of: Of
    groups: tuple[str, ...]
    rows: np.ndarray  # (groups,) int64, none zero
    means: np.ndarray  # (groups,) float64

    def gap(self, gap: Gap = "difference") -> float:
        """Largest − smallest mean, or 1 − smallest / largest: 0 where all groups fare alike."""
        largest, smallest = float(self.means.max()), float(self.means.min())
        if gap == "difference":
            return largest - smallest
        return 0.0 if largest == 0 else 1.0 - smallest / largest


def group_means(partition: Partition, by: str, of: Of = "protection") -> GroupMeans:
    """How each group of a column fares: mean protection 1 − 1 / class size, mean row loss, or share suppressed.

    A dropped row cannot be recognised (protection 1) and has lost everything (loss 1). A masked row has lost
    everything too, and the protection of the class of masked rows.
    """
    if of == "protection":
        by_class = np.where(partition.visible, 1.0 - 1.0 / np.maximum(partition.sizes, 1), 1.0)
    elif of == "loss":
        by_class = row_loss(partition)
    elif of == "suppressed":
        by_class = partition.suppressed.astype(np.float64)
    else:
        raise BadJob(f"Bias can be measured in protection, loss or suppressed, not in {of!r}.")
    labels, distinct, weights, group = subgroups(partition.table, by)
    rows = np.bincount(group, weights=weights, minlength=len(labels)).astype(np.int64)
    sums = np.bincount(group, weights=weights * by_class[partition.members[distinct]], minlength=len(labels))
    there = np.flatnonzero(rows)
    return GroupMeans(by, of, tuple(labels[i] for i in there), rows[there], sums[there] / rows[there])


@named("bias")
def bias(by: str, of: Of = "protection", gap: Gap = "difference") -> Number:
    """The gap between the groups of a column in mean protection, mean loss or share suppressed.

    ``difference`` is the largest minus the smallest mean, ``ratio`` is 1 − smallest / largest. The table behind the
    number is ``group_means``.
    """
    if gap not in ("difference", "ratio"):
        raise BadJob(f"The gap of bias is {gap!r}. Write 'difference' or 'ratio'.")
    if of not in ("protection", "loss", "suppressed"):
        raise BadJob(f"Bias can be measured in protection, loss or suppressed, not in {of!r}.")
    parameters = drop_unset(by=by, of=None if of == "protection" else of, gap=None if gap == "difference" else gap)
    return Number(
        spell("bias", **parameters),
        "lower",
        f"{gap} of means",
        trends("either"),
        lambda p: group_means(p, by, of).gap(gap),
        parameters=parameters,
    )
