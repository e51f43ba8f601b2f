"""ARX's quality models under their names: the same numbers that ARX reports, for its usual factors and equal weights.

Where ours are defined otherwise (``lm``, ``average-class-size``, ``precision-loss``, ``entropy``), docs/coming-from.md
has both definitions.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, lcm, log1p

import numpy as np

from kpareto.kernels.words import BY_LOSS, CLASSES, SUPPRESSED
from kpareto.measures.cells import (
    FINE,
    RISES,
    STEPS,
    CellLoss,
    ColumnLoss,
    entropy,
    entropy_loss,
    lm,
    mean_share,
    precision_loss,
    remember,
    sum_column,
)
from kpareto.measures.measure import Number, named
from kpareto.measures.reading import BoundTerm, Questions, Reading, Statistics, real
from kpareto.tables.partition import Partition
from kpareto.tables.table import Table


@remember
def _share_loss(table: Table, column: int) -> ColumnLoss:
    """What a cell loses of its domain: (|g| - 1) / (|D| - 1) by the values of the hierarchy, 0 where it has one."""
    most = len(table.hierarchies[column].leaves) - 1
    return ColumnLoss(lambda first, last: (last - first).astype(np.int64), max(most, 1), most)


@remember
def _rough_loss(table: Table, column: int) -> ColumnLoss:
    """The same, to be added up in the finest unit there is, because logarithms are compared with it."""
    return replace(_share_loss(table, column), exact=False)


def _column_share(place: int) -> CellLoss:
    """The mean loss of one column alone."""
    return CellLoss(
        f"arx-loss of column {place}", "mean share of a cell", RISES, _share_loss,
        lambda table, column: Fraction(int(column == place), table.rows),
    )  # fmt: skip


@named("arx-loss")
def arx_loss() -> Number:
    """ARX's Loss: the geometric mean over columns of 1 + the mean cell loss, less 1; domains are those declared."""

    def total(partition: Partition) -> float:
        table = partition.table
        columns = [_share_loss(table, c) for c in range(len(table.schema.quasi))]
        sums = [sum_column(partition, c, loss) / loss.denominator / table.rows for c, loss in enumerate(columns)]
        return exp(sum(map(log1p, sums)) / len(sums)) - 1

    def read(ask: Questions) -> Reading:
        losses = [_column_share(place) for place in range(len(ask.table.schema.quasi))]
        columns = [(ask.loss(loss), float(loss.scale(ask.table))) for loss in losses]
        # log2(1 + x) is at least x from 0 to 1, so the mean over columns bounds the logarithm: keys are in its unit.
        least = CellLoss("least of arx-loss", "mean share of a cell", RISES, _rough_loss, mean_share)
        unit, coarse = float(least.scale(ask.table)), least.coarse(ask.table)

        def bits(counted: Statistics) -> np.ndarray:
            return np.asarray(np.mean([np.log2(1 + sums(counted) * scale) for sums, scale in columns], axis=0))

        def key(counted: Statistics) -> np.ndarray:
            return (np.rint(bits(counted) / unit).astype(np.int64) + (1 << coarse >> 1)) >> coarse

        bounds = (BoundTerm(BY_LOSS, ask.loss_place(least), coarse),)
        return Reading(lambda counted: np.exp2(bits(counted)) - 1, key, bounds)

    unit = "geometric mean share of a cell"
    return Number("arx-loss", "lower", unit, RISES, total, parameters={}, reading=read, by_cells=lm())


@named("aecs")
def aecs() -> Number:
    """ARX's average equivalence class size: all rows per class, the suppressed ones together as one more class."""

    def average(partition: Partition) -> Fraction:
        return Fraction(partition.table.rows, partition.classes + (partition.suppressed_rows > 0))

    def read(ask: Questions) -> Reading:
        rows, kept, lost = ask.table.rows, ask.ints(CLASSES), ask.ints(SUPPRESSED)
        return real(lambda c: rows / np.maximum(kept(c) + (lost(c) > 0), 1))

    number = Number("aecs", "lower", "rows per class", RISES, lambda partition: float(average(partition)), average)
    return replace(number, aspect=STEPS, parameters={}, reading=read, by_cells=lm())


@named("precision")
def precision() -> Number:
    """ARX's precision, as the loss that it reports: the mean over all cells of the column's level over its height.

    A suppressed cell loses all. A recoding that is no node of the lattice has no level of a column; a cell of it counts
    by the lowest level at which its group stands together, as in ``precision-loss``.
    """

    def mean(partition: Partition) -> Fraction:
        table, levels = partition.table, partition.recoding.levels
        if levels is None:
            return precision_loss().exact(partition) or Fraction(0)
        heights = _heights(table)
        columns = zip(levels, table.hierarchies, heights, strict=True)
        climbed = sum((Fraction(level + h.first, max(height, 1)) for level, h, height in columns), Fraction(0))
        kept = table.rows - partition.suppressed_rows
        return (kept * climbed / len(heights) + partition.suppressed_rows) / table.rows

    def read(ask: Questions) -> Reading:
        heights = _heights(ask.table)
        whole = lcm(*(max(height, 1) for height in heights))
        steps = np.array([whole // max(height, 1) for height in heights], dtype=np.int64)
        first = np.array([h.first for h in ask.table.hierarchies], dtype=np.int64)
        rows, lost, most = ask.table.rows, ask.ints(SUPPRESSED), whole * len(heights)

        def key(counted: Statistics) -> np.ndarray:
            gone = lost(counted)
            return np.asarray((rows - gone) * ((counted.levels + first) @ steps) + gone * most)

        return Reading(lambda c: key(c) / (rows * most), key, by_levels=True)

    unit = "mean share of the height"
    number = Number("precision", "lower", unit, RISES, lambda partition: float(mean(partition)), mean)
    return replace(number, parameters={}, reading=read, by_cells=precision_loss())


def _heights(table: Table) -> list[int]:
    """The height of each hierarchy as it was declared."""
    return [h.first + h.height for h in table.hierarchies]


@named("nonuniform-entropy")
def nonuniform_entropy() -> Number:
    """ARX's non-uniform entropy: the bits that generalizing loses, of all rows, and those of suppressed labels.

    A cell loses -log2 of the share of its value in its group, counted over all rows, whether the row is suppressed or
    not; a suppressed one loses also -log2 of the share of its label among the suppressed rows.
    """

    def bits(partition: Partition) -> float:
        table, recoding = partition.table, partition.recoding
        gone = partition.suppressed[partition.members]
        total = 0.0
        for column, hierarchy in enumerate(table.hierarchies):
            first, last = recoding.runs(column)
            labels = recoding.cuts[column][table.codes[:, column]]
            if recoding.boxes is not None:  # a suppressed row has no label there, which hides everything
                first, last = np.append(first, 0), np.append(last, len(hierarchy.leaves) - 1)
                labels = np.where(gone, len(first) - 1, partition.groups[partition.members, column])
            guess = entropy_loss(table, column).of_runs(first, last) / FINE
            rows, lost = (np.bincount(labels, part * table.weights, len(first)) for part in (np.ones_like(gone), gone))
            shares = lost[lost > 0] / max(lost.sum(), 1)
            total += float(rows @ guess) - float(lost[lost > 0] @ np.log2(shares))
        return total

    return Number("nonuniform-entropy", "lower", "bits", RISES, bits, parameters={}, by_cells=entropy())
