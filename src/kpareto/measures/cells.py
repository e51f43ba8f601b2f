"""Information lost cell by cell (LM, GLM, NWP, precision, entropy) and by class size (DCN, average class size).

A cell loss is a table of whole numbers per column and group, so that compiled loops and exact fronts can add them
without rounding: value = scale × sum of whole numbers. Losses count rows, also where persons are told apart. A row
that is suppressed, dropped or masked, loses all its cells; an empty release has the largest loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce, wraps
from math import ceil, exp, floor, gcd, lcm, log1p, log2
from weakref import WeakKeyDictionary

import numpy as np

from kpareto.errors import BadJob
from kpareto.kernels.words import BY_LOSS, BY_SQUARES, CLASSES, SQUARES, SUPPRESSED
from kpareto.measures.measure import (
    INFORMATION,
    Aspect,
    Better,
    Floor,
    Measure,
    Number,
    Trend,
    drop_unset,
    named,
    read_sum,
    spell,
    spell_sum,
    trends,
)
from kpareto.measures.reading import BoundTerm, Questions, Reading, Statistics, real, whole
from kpareto.tables.coarse import declare, ends, starts
from kpareto.tables.partition import Partition, Rule
from kpareto.tables.recoding import run_ends
from kpareto.tables.schema import check_quasi
from kpareto.tables.table import Table

LARGEST = 2**62  # sums of whole numbers stay below, so int64 never overflows
COARSE = 22  # bits that rounded sums lose before they are compared: 2**-40 of the largest is left
FINE = 2**40  # parts a unit is divided into where a loss is not a ratio of small whole numbers


@dataclass(frozen=True, eq=False)
class ColumnLoss:
    """The loss of a cell of one column: whole numbers over one denominator, for any run of leaves."""

    of_runs: Callable[[np.ndarray, np.ndarray], np.ndarray]  # first leaves, last leaves (inclusive) -> int64 each
    denominator: int
    lost: int  # the numerator of a suppressed cell
    exact: bool = True  # false: rounded to the denominator, which is then FINE
    rises: bool = True  # a wider run never has a smaller numerator


@dataclass(frozen=True)
class Scaling:
    """How the whole numbers of a loss are read on one table: value = scale × whole numbers."""

    factors: tuple[Fraction, ...]  # what one numerator counts, per column
    exact: bool  # nothing was rounded
    scale: Fraction


@dataclass(frozen=True)
class CellLoss:
    """A loss that adds up over cells: a Measure, and a table of whole numbers per column and cut.

    value = scale(table) × (Σ over kept rows and columns of ``table_of`` + Σ over suppressed rows of ``suppressed``).
    Where ``is_exact`` is false they are rounded, with a total error below 10⁻⁹ of the largest value (up to 10⁹ cells).
    """

    name: str
    unit: str
    trend: Mapping[Rule, Trend]
    column: Callable[[Table, int], ColumnLoss]
    share: Callable[[Table, int], Fraction]  # what a cell of this column counts in the whole
    better: Better = "lower"
    aspect: Aspect = INFORMATION
    parameters: Mapping[str, object] | None = None  # what its maker was given beside defaults; None: not in the table
    known: WeakKeyDictionary[Table, Scaling] = field(default_factory=WeakKeyDictionary, compare=False, repr=False)

    def _factors(self, table: Table) -> tuple[Fraction, ...]:
        """What one numerator counts, per column."""
        return self._scaling(table).factors

    def _scaling(self, table: Table) -> Scaling:
        """The factors and the unit of a table, worked out once: a search asks for them at every turn."""
        if table not in self.known:
            self.known[table] = self._worked_out(table)
        return self.known[table]

    def _worked_out(self, table: Table) -> Scaling:
        columns = [self.column(table, c) for c in range(len(table.schema.quasi))]
        factors = tuple(self.share(table, c) / column.denominator for c, column in enumerate(columns))
        largest = table.rows * sum((f * column.lost for f, column in zip(factors, columns, strict=True)), Fraction(0))
        used = [factor for factor in factors if factor]
        # The largest number of which every factor is a multiple.
        unit = Fraction(reduce(gcd, (f.numerator for f in used), 0) or 1, reduce(lcm, (f.denominator for f in used), 1))
        exact = all(column.exact for column in columns) and largest < LARGEST * unit
        return Scaling(factors, exact, unit if exact else max(largest, Fraction(1, LARGEST)) * 2 / LARGEST)

    def is_exact(self, table: Table) -> bool:
        """Whether ``table_of`` holds the loss without rounding."""
        return self._scaling(table).exact

    def coarse(self, table: Table) -> int:
        """The bits by which sums are rounded off before they are compared: none where nothing was rounded before."""
        return 0 if self.is_exact(table) else COARSE

    def is_bounded(self, table: Table) -> bool:
        """Whether a coarser cell never has a smaller whole number: what branch and bound goes by."""
        columns = range(len(table.schema.quasi))
        return self.trend["none"] == "rises" and all(self.column(table, c).rises for c in columns)

    def slack(self, table: Table) -> int:
        """By how much the whole number of a recoding may be too large for rounding; 0 where it is exact."""
        scaling = self._scaling(table)
        if scaling.exact:
            return 0
        unsure = [0 if self.column(table, c).exact else 2 * f for c, f in enumerate(scaling.factors)]
        return ceil(table.rows * sum((Fraction(1, 2) + Fraction(part) / scaling.scale for part in unsure), Fraction(0)))

    def scale(self, table: Table) -> Fraction:
        """What one whole number counts; the same for every column."""
        return self._scaling(table).scale

    def _whole(self, table: Table, column: int, numerators: np.ndarray) -> np.ndarray:
        scaling = self._scaling(table)
        factor = scaling.factors[column] / scaling.scale
        if factor.denominator == 1 and scaling.exact:
            return numerators * int(factor)
        return np.array([round(int(n) * factor) for n in numerators.ravel()], dtype=np.int64).reshape(numerators.shape)

    def table_of(self, table: Table, column: int, cut: np.ndarray) -> np.ndarray:
        """The loss of a cell in each group of a cut: (groups,) int64."""
        return self.of_runs(table, column, *run_ends(cut))

    def of_runs(self, table: Table, column: int, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The loss of a cell in each run of leaves that is given by its ends: (runs,) int64."""
        return self._whole(table, column, self.column(table, column).of_runs(first, last))

    def run_table(self, table: Table, column: int) -> np.ndarray:
        """The loss of a cell in each run of leaves: (first leaf, last leaf) int64, 0 if last < first."""
        count = len(table.hierarchies[column].leaves)
        first, last = np.triu_indices(count)
        runs = np.zeros((count, count), dtype=np.int64)
        runs[first, last] = self._whole(table, column, self.column(table, column).of_runs(first, last))
        return runs

    def suppressed(self, table: Table, column: int) -> int:
        """The loss of a suppressed cell, in the same whole numbers."""
        return int(self._whole(table, column, np.array([self.column(table, column).lost]))[0])

    @property
    def floor(self) -> Floor:
        """What its columns lose by themselves adds up; rounded sums may be too large by their slack."""
        return Floor(
            lambda table, column, cut: int((self.table_of(table, column, cut)[cut] * table.leaf_rows[column]).sum()),
            lambda table, sums: np.maximum(sums - self.slack(table), 0) * float(self.scale(table)),
        )

    def exact(self, partition: Partition) -> Fraction | None:
        """The loss without rounding; None where it is not a ratio of whole numbers."""
        table = partition.table
        total = Fraction(0)
        for column, factor in enumerate(self._factors(table)):
            loss = self.column(table, column)
            if not loss.exact:
                return None
            total += factor * _sum(partition, column, loss)
        return total

    def reading(self, ask: Questions) -> Reading:
        """How the kernels count it."""
        column, scale = ask.loss(self), self.scale(ask.table)
        coarse = self.coarse(ask.table)
        bounds = (BoundTerm(BY_LOSS, ask.loss_place(self), coarse),) if self.is_bounded(ask.table) else ()
        # Rounded losses may differ in their last digits although they are equal: compare to 2**-40 of the largest.
        return Reading(lambda c: column(c) * float(scale), lambda c: (column(c) + (1 << coarse >> 1)) >> coarse, bounds)

    def __call__(self, partition: Partition) -> float:
        """The loss."""
        table = partition.table
        columns = [self.column(table, c) for c in range(len(table.schema.quasi))]
        parts = [f * _sum(partition, c, columns[c]) for c, f in enumerate(self._factors(table))]
        return float(sum(parts, Fraction(0)))


def _sum(partition: Partition, column: int, loss: ColumnLoss) -> int:
    """The numerators of one column, added over all rows."""
    first, last = partition.recoding.runs(column)
    numerators = loss.of_runs(first, last)
    kept = ~partition.suppressed
    rows = np.bincount(partition.groups[kept, column], weights=partition.rows[kept], minlength=len(first))
    # Python's whole numbers, because numerators of distances may be large
    seen = sum(int(n) * int(r) for n, r in zip(numerators.tolist(), rows.tolist(), strict=True))
    return seen + loss.lost * partition.suppressed_rows


def _remember(function: Callable[[Table, int], ColumnLoss]) -> Callable[[Table, int], ColumnLoss]:
    """Work a column's loss out once per table, and forget it with the table."""
    known: WeakKeyDictionary[Table, dict[int, ColumnLoss]] = WeakKeyDictionary()

    @wraps(function)
    def look(table: Table, column: int) -> ColumnLoss:
        columns = known.setdefault(table, {})
        if column not in columns:
            coarse = table.hierarchies[column].coarse is not None
            columns[column] = _by_groups(function, table, column) if coarse else function(table, column)
        return columns[column]

    return look


def _by_groups(function: Callable[[Table, int], ColumnLoss], table: Table, column: int) -> ColumnLoss:
    """The loss of a column that came in by groups: what those groups lose counts, as in the declared hierarchy."""
    hierarchy = table.hierarchies[column]
    start, end = starts(hierarchy), ends(hierarchy)
    loss = function(declare(table), column)
    return replace(loss, of_runs=lambda first, last: loss.of_runs(start[first], end[last]))


def cell_loss(table: Table, column: int, first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, int]:
    """The loss of a cell in each run, by leaves or by distance as the hierarchy says (readings.md#losses).

    Returns numerators (runs,) int64 and their denominator. A column with one value loses nothing.
    """
    loss = generalization_loss(table, column)
    return loss.of_runs(first, last), loss.denominator


@_remember
def generalization_loss(table: Table, column: int) -> ColumnLoss:
    """The cell loss of LM, GLM and NWP: (|g| − 1) / (|domain| − 1), or (U_g − L_g) / (U − L) (Iyengar 2002, 3.1)."""
    hierarchy = table.hierarchies[column]
    counted = table.observed[column] if table.domain == "observed" else np.ones(len(hierarchy.leaves), dtype=np.bool_)
    if hierarchy.loss == "distance" and hierarchy.spans is not None:
        return _distance_loss(hierarchy.spans, counted)
    before = np.concatenate(([0], np.cumsum(counted)))  # counted leaves before each leaf

    def of_runs(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return np.maximum(before[last + 1] - before[first] - 1, 0).astype(np.int64)

    denominator = max(int(counted.sum()) - 1, 1)
    return ColumnLoss(of_runs, denominator, denominator)


def _distance_loss(spans: np.ndarray, counted: np.ndarray) -> ColumnLoss:
    """U_g and L_g are the largest and smallest number in the counted leaves of a group, not its cut points."""
    lows, highs, denominator, exact = _whole_spans(spans[counted])
    low = np.full(len(counted) + 1, np.iinfo(np.int64).max // 2)
    high = np.full(len(counted) + 1, np.iinfo(np.int64).min // 2)
    low[:-1][counted], high[:-1][counted] = lows, highs

    def of_runs(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        ends = np.stack((first, last + 1), axis=1).ravel()  # reduceat over pairs: every second answer is a run
        width = np.maximum.reduceat(high, ends)[::2] - np.minimum.reduceat(low, ends)[::2]
        return np.maximum(width, 0).astype(np.int64)  # a run without a counted leaf holds no rows

    return ColumnLoss(of_runs, denominator, denominator, exact)


def _whole_spans(spans: np.ndarray) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Spans as whole numbers from 0 to the denominator; numbers are taken as the decimals they are written as."""
    numbers = [[Fraction(repr(float(number))) for number in pair] for pair in spans.tolist()]
    least = min(pair[0] for pair in numbers)
    width = max(pair[1] for pair in numbers) - least
    if width == 0:
        zero = np.zeros(len(numbers), dtype=np.int64)
        return zero, zero, 1, True
    parts = lcm(*((number - least).denominator for pair in numbers for number in pair))
    exact = width * parts <= FINE
    unit = Fraction(1, parts) if exact else width / FINE
    whole = np.array([[round((number - least) / unit) for number in pair] for pair in numbers], dtype=np.int64)
    return whole[:, 0], whole[:, 1], round(width / unit), exact


def _each(_: Table, __: int) -> Fraction:
    return Fraction(1)


def _mean(table: Table, _: int) -> Fraction:
    return Fraction(1, table.rows * len(table.schema.quasi))


# Coarser groups hold more leaves, so without suppression a cell loss never falls. Suppression breaks it: O16.
RISES = trends("rises")
STEPS = Aspect(logarithmic=True)


@named("glm")
def glm() -> CellLoss:
    """General loss: the sum of cell losses; a suppressed row adds one per quasi-identifier (LU eq. 1; PO; PB)."""
    return CellLoss("glm", "cells", RISES, generalization_loss, _each, parameters={})


@named("lm")
def lm() -> CellLoss:
    """Loss metric: the mean cell loss (Iyengar 2002, 3.1; a mean over columns too: readings.md#iy-readings)."""
    return CellLoss("lm", "mean share of a cell", RISES, generalization_loss, _mean, parameters={})


def tells_detail(measure: Measure) -> bool:
    """Whether a measure is LM or GLM, and so tells what share of the detail is kept."""
    return measure.name in ("lm", "glm")


@named("nwp")
def nwp(weights: Mapping[str, float] | str | None = None) -> CellLoss:
    """Normalized weighted penalty: the mean over rows of Σ w · cell loss, weights adding up to 1 (GE-4).

    Weights are those of the schema unless given; a column without one counts 1 before they are divided by their sum.
    As text they are written ``age*3 + zip*1``.
    """
    weight_of = read_sum(weights) if isinstance(weights, str) else None if weights is None else dict(weights)
    if weight_of is not None and any(not 0 <= w < float("inf") for w in weight_of.values()):
        raise BadJob(f"The weights of nwp are {weight_of!r}. Give numbers of at least 0.")

    def share(table: Table, column: int) -> Fraction:
        names = table.schema.quasi
        check_quasi(weight_of or (), names, "nwp has a weight for", BadJob)
        plain = {name: table.schema.weight(name) if weight_of is None else weight_of.get(name, 1.0) for name in names}
        parts = {name: Fraction(repr(float(weight))) for name, weight in plain.items()}
        total = sum(parts.values(), Fraction(0))
        if total == 0:
            raise BadJob("Every weight of nwp is 0. Give at least one quasi-identifier a weight above 0.")
        return parts[names[column]] / total / table.rows

    parameters = drop_unset(weights=None if weight_of is None else spell_sum(weight_of))
    unit = "weighted mean share of a cell"
    aspect = Aspect(weighted=weight_of is None)
    return CellLoss(
        spell("nwp", **parameters), unit, RISES, generalization_loss, share, aspect=aspect, parameters=parameters
    )


@named("precision-loss")
def precision_loss() -> CellLoss:
    """One minus Sweeney's precision: the mean of level / height over all cells (Sweeney 2002, Prec).

    The level of a cell is the lowest at which the leaves of its group stand together, so tree cuts and ordered cuts
    have one too, and a group that a hierarchy repeats on several levels counts by the lowest.
    """
    return CellLoss("precision-loss", "mean share of the height", RISES, _height_loss, _mean, parameters={})


@_remember
def _height_loss(table: Table, column: int) -> ColumnLoss:
    hierarchy = table.hierarchies[column]

    def of_runs(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        together = hierarchy.groups[:, first] == hierarchy.groups[:, last]  # (levels, runs)
        return np.argmax(together, axis=0).astype(np.int64)

    return ColumnLoss(of_runs, max(hierarchy.height, 1), max(hierarchy.height, 1))


@named("entropy")
def entropy() -> CellLoss:
    """The bits one must guess per cell, added up: Σ H(value | group) (Gionis & Tassa 2009, entropy measure).

    Without suppression it equals their non-uniform entropy Σ −log₂ P(value | group), as in ARX. A suppressed cell
    counts log₂ of the number of observed values, which no group exceeds.
    """
    return CellLoss("entropy", "bits", RISES, _entropy_loss, _each, parameters={})


@_remember
def _entropy_loss(table: Table, column: int) -> ColumnLoss:
    rows = np.append(table.leaf_rows[column], 0).astype(np.float64)
    bits = rows * np.log2(np.maximum(rows, 1))

    def of_runs(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        ends = np.stack((first, last + 1), axis=1).ravel()
        whole = np.maximum(np.add.reduceat(rows, ends)[::2], 1)
        guess = np.log2(whole) - np.add.reduceat(bits, ends)[::2] / whole
        return np.rint(np.maximum(guess, 0) * FINE).astype(np.int64)

    return ColumnLoss(of_runs, FINE, round(log2(int(table.observed[column].sum())) * FINE), exact=False, rises=False)


@named("dcn")
def dcn() -> Number:
    """Discernibility: Σ size² over kept classes + all rows for each suppressed row (Bayardo & Agrawal 2005; PO)."""

    def total(partition: Partition) -> Fraction:
        kept = partition.rows[~partition.suppressed]
        return Fraction(int(kept @ kept) + partition.table.rows * partition.suppressed_rows)

    def read(ask: Questions) -> Reading:
        rows, squares, lost = ask.table.rows, ask.ints(SQUARES), ask.ints(SUPPRESSED)
        return whole(lambda c: squares(c) + rows * lost(c), bounds=(BoundTerm(BY_SQUARES),))

    unit = "pairs of rows"
    return Number("dcn", "lower", unit, RISES, total, total, STEPS, {}, read)


@named("average-class-size")
def average_class_size(k: float | None = None) -> Number:
    """Kept rows per class; divided by k it is the normalized C_AVG (LeFevre et al. 2006, 1.2).

    With every row suppressed it is the worst there is: all rows in one class.
    """
    if k is not None and not k >= 1:
        raise BadJob(f"average-class-size has k = {k!r}. Give a number of at least 1.")
    divisor = Fraction(1) if k is None else Fraction(repr(float(k)))

    def average(partition: Partition) -> Fraction:
        if partition.classes == 0:
            return Fraction(partition.table.rows) / divisor
        return Fraction(partition.table.rows - partition.suppressed_rows, partition.classes) / divisor

    def read(ask: Questions) -> Reading:
        rows, kept, lost = ask.table.rows, ask.ints(CLASSES), ask.ints(SUPPRESSED)
        return real(lambda c: (rows - lost(c)) / np.maximum(kept(c), 1) / float(divisor))

    parameters = drop_unset(k=None if k is None else f"{k:g}")
    name = spell("average-class-size", **parameters)
    unit = "rows per class" if k is None else "rows per class and k"
    return Number(name, "lower", unit, RISES, average, average, STEPS, parameters, read)


# -- as ARX counts it --------------------------------------------------------------------------------------------------
# ARX's quality models under their names: the numbers that ARX reports for its usual factors and equal weights. Where
# ours are defined otherwise, docs/coming-from.md has both definitions.


@_remember
def _share_loss(table: Table, column: int) -> ColumnLoss:
    """What a cell loses of its domain: (|g| - 1) / (|D| - 1) by the values of the hierarchy, 0 where it has one."""
    most = len(table.hierarchies[column].leaves) - 1
    return ColumnLoss(lambda first, last: (last - first).astype(np.int64), max(most, 1), most)


@_remember
def _rough_loss(table: Table, column: int) -> ColumnLoss:
    """The same, to be added up in the finest unit there is, because logarithms are compared with it."""
    return replace(_share_loss(table, column), exact=False)


def _column_share(place: int) -> CellLoss:
    """The mean loss of one column alone."""
    return CellLoss(
        f"arx-loss of column {place}", "mean share of a cell", RISES, _share_loss,
        lambda table, column: Fraction(int(column == place), table.rows),
    )  # fmt: skip


def _floor_of_column(table: Table, column: int, cut: np.ndarray) -> int:
    """The logarithm of 1 + the mean loss of one column alone, in parts of FINE; one part less for rounding."""
    loss = _share_loss(table, column)
    lost = int((loss.of_runs(*run_ends(cut))[cut] * table.leaf_rows[column]).sum())
    return max(floor(log1p(lost / loss.denominator / table.rows) * FINE) - 1, 0)


@named("arx-loss")
def arx_loss() -> Number:
    """ARX's Loss: the geometric mean over columns of 1 + the mean cell loss, less 1; domains are those declared."""

    def total(partition: Partition) -> float:
        table = partition.table
        columns = [_share_loss(table, c) for c in range(len(table.schema.quasi))]
        sums = [_sum(partition, c, loss) / loss.denominator / table.rows for c, loss in enumerate(columns)]
        return exp(sum(map(log1p, sums)) / len(sums)) - 1

    def read(ask: Questions) -> Reading:
        losses = [_column_share(place) for place in range(len(ask.table.schema.quasi))]
        columns = [(ask.loss(loss), float(loss.scale(ask.table))) for loss in losses]
        # log2(1 + x) is at least x from 0 to 1, so the mean over columns bounds the logarithm: keys are in its unit.
        least = CellLoss("least of arx-loss", "mean share of a cell", RISES, _rough_loss, _mean)
        unit, coarse = float(least.scale(ask.table)), least.coarse(ask.table)

        def bits(counted: Statistics) -> np.ndarray:
            return np.asarray(np.mean([np.log2(1 + sums(counted) * scale) for sums, scale in columns], axis=0))

        def key(counted: Statistics) -> np.ndarray:
            return (np.rint(bits(counted) / unit).astype(np.int64) + (1 << coarse >> 1)) >> coarse

        bounds = (BoundTerm(BY_LOSS, ask.loss_place(least), coarse),)
        return Reading(lambda counted: np.exp2(bits(counted)) - 1, key, bounds)

    # A geometric mean rises with the sum of the logarithms, so columns add up as those of other losses do.
    least = Floor(_floor_of_column, lambda table, sums: np.expm1(sums / FINE / len(table.schema.quasi)))
    unit = "geometric mean share of a cell"
    return Number("arx-loss", "lower", unit, RISES, total, parameters={}, reading=read, by_cells=lm(), floor=least)


@named("aecs")
def aecs() -> Number:
    """ARX's average equivalence class size: all rows per class, the suppressed ones together as one more class."""

    def average(partition: Partition) -> Fraction:
        return Fraction(partition.table.rows, partition.classes + (partition.suppressed_rows > 0))

    def read(ask: Questions) -> Reading:
        rows, kept, lost = ask.table.rows, ask.ints(CLASSES), ask.ints(SUPPRESSED)
        return real(lambda c: rows / np.maximum(kept(c) + (lost(c) > 0), 1))

    number = Number("aecs", "lower", "rows per class", RISES, average, average)
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
    number = Number("precision", "lower", unit, RISES, mean, mean)
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
            guess = _entropy_loss(table, column).of_runs(first, last) / FINE
            rows, lost = (np.bincount(labels, part * table.weights, len(first)) for part in (np.ones_like(gone), gone))
            shares = lost[lost > 0] / max(lost.sum(), 1)
            total += float(rows @ guess) - float(lost[lost > 0] @ np.log2(shares))
        return total

    return Number("nonuniform-entropy", "lower", "bits", RISES, bits, parameters={}, by_cells=entropy())
