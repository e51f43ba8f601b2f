"""Loss by use: how well classes still predict a target column (CM, costs, regression), and how columns are related.

Suppressed rows predict nothing: CM counts each of them, the others put them into one group of their own (Iyengar 2002).
Rows are counted, also where persons are told apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from kpareto.errors import BadJob, BadTable
from kpareto.kernels.words import BY_LOSS, BY_MINORITY, COST, DEVIATION, MINORITY, SUPPRESSED, VARIANCE
from kpareto.measures.measure import (
    Aspect,
    Measure,
    Number,
    drop_unset,
    make,
    named,
    read_sum,
    reading_of,
    spell,
    spell_sum,
    trends,
)
from kpareto.measures.reading import BoundTerm, Questions, Reader, Reading, Statistics, TargetTerm, real
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Partition
from kpareto.tables.table import Counts, Table, merge_counts

Costs = Mapping[str, Mapping[str, float]]  # true value -> predicted value -> cost
Centre = Literal["group", "global"]
TARGET = Aspect(column="target")
MOST_VALUES = 256  # of a target whose costs or distances the kernels add up
MOST_TOTAL = 2**53  # of such a sum, which a real number has to hold to the last digit
PARTS = 2.0**60  # of the dispersion of all rows, in which squared distances are added up
SAME = 2.0**40  # parts of it that are told apart when two sums are compared
SMALLEST = 0.02  # of the rows: what a group of values has at least, where relations are looked at
BY_CHANCE = 3.0  # standard deviations of chance that a relation exceeds to be one
FINE, COARSE = 50, 10  # bits of a share of all relations as it is added up, and those that are not compared
ROUNDING = 1e-12  # nats that are none
SURE = 1e-9  # by which a bound is lowered, for rounding


@named("cm")
def cm(column: str | None = None) -> Number:
    """Classification metric: the share of rows suppressed or not of their class's majority (Iyengar 2002, 3.2)."""
    return _minority("cm", "share of rows", column, share=True)


@named("cm-rows")
def cm_rows(column: str | None = None) -> Number:
    """The classification metric as a number of rows (PO, PB)."""
    return _minority("cm-rows", "rows", column, share=False)


def _minority(name: str, unit: str, column: str | None, share: bool) -> Number:
    """Rows that are not of their class's majority, and the suppressed ones, or their share of all rows."""

    def exact(partition: Partition) -> Fraction:
        counts = partition.counts(partition.table.counts(column, "target"))
        most = np.maximum.reduceat(counts.count, counts.start[:-1])
        kept = ~partition.suppressed
        wrong = partition.suppressed_rows + int((partition.rows[kept] - most[kept]).sum())
        return Fraction(wrong, partition.table.rows if share else 1)

    def read(ask: Questions) -> Reading:
        columns = [ask.table.counts(column, "target")]
        minority = ask.hist(MINORITY, columns)
        bounds = tuple(BoundTerm(BY_MINORITY, index) for index in ask.places(MINORITY, columns))
        lost = ask.ints(SUPPRESSED)
        whole = ask.table.rows if share else 1
        return Reading(
            lambda c: (minority(c) + lost(c)) / whole, lambda c: minority(c).astype(np.int64) + lost(c), bounds
        )

    parameters = drop_unset(column=column)
    aspect = Aspect(column="target", in_rows="cm_rows" if share else "")
    term = TargetTerm("minority", column, share)
    # The majority of a union is at most the sum of the majorities; a suppressed row that returns may be right: O17.
    return Number(
        spell(name, **parameters), "lower", unit, trends("rises"), exact, exact, aspect, parameters, read, term
    )


@named("cost-cm")
def cost_cm(costs: Costs | str | None = None, column: str | None = None) -> Number:
    """Classification metric with costs: the mean of cost[true value][majority of its group] (Iyengar 2002, 3.2).

    ``costs[true][predicted]`` is 0 on the diagonal and 1 elsewhere unless given; of several majorities the cheapest
    counts. The suppressed rows are one more group. As text, costs are written ``true/predicted*cost + …``.
    """
    cost_of = _read_costs(costs) if isinstance(costs, str) else {true: dict(row) for true, row in (costs or {}).items()}
    if any(not 0 <= cost < float("inf") for row in cost_of.values() for cost in row.values()):
        raise BadJob("A cost of cost-cm is below 0 or infinite. Give costs of at least 0.")

    def mean(partition: Partition) -> Fraction:
        whole = partition.table.counts(column, "target")
        matrix, unit = _cost_matrix(cost_of, whole)
        counts, groups = _group(partition, whole)
        dense = np.zeros((groups, len(whole.values)), dtype=np.int64)
        dense[counts.row, counts.code] = counts.count
        if groups == 0:
            return Fraction(0)
        price = dense @ matrix  # (groups, predicted values)
        price[dense < dense.max(axis=1, keepdims=True)] = np.iinfo(np.int64).max
        return unit * int(price.min(axis=1).sum()) / partition.table.rows

    # The majority need not be the cheapest answer, so merging may lower the cost.
    flat = {f"{true}/{guess}": cost for true, row in cost_of.items() for guess, cost in row.items()}
    parameters = drop_unset(costs=spell_sum(flat) or None, column=column)
    return Number(
        spell("cost-cm", **parameters),
        "lower",
        "mean cost",
        trends("either"),
        mean,
        mean,
        TARGET,
        parameters,
        reading=_read_costs_of(column, cost_of),
        term=TargetTerm("cost", column, costs=cost_of or None),
    )


def _read_costs_of(column: str | None, costs: Mapping[str, Mapping[str, float]]) -> Reader:
    def read(ask: Questions) -> Reading | None:
        counts, rows = ask.table.counts(column, "target"), ask.table.rows
        matrix, unit = _cost_matrix(costs, counts)
        if len(counts.values) > MOST_VALUES or int(matrix.max(initial=0)) * rows >= MOST_TOTAL:
            return None
        total, share = ask.total(COST, counts, tuple(matrix.ravel().tolist())), unit / rows
        return Reading(
            lambda counted: total(counted) * share.numerator / share.denominator,
            lambda counted: total(counted).astype(np.int64),
        )

    return read


def _read_costs(text: str) -> dict[str, dict[str, float]]:
    costs: dict[str, dict[str, float]] = {}
    for pair, cost in read_sum(text).items():
        true, slash, guess = (piece.strip() for piece in pair.partition("/"))
        if not slash:
            raise BadJob(f"cost-cm has the cost {pair!r}. Write true/predicted*cost.")
        costs.setdefault(true, {})[guess] = cost
    return costs


def list_costs(costs: Costs, counts: Counts) -> list[list[float]]:
    """What each prediction costs, a row per true value: 0 for the true one and 1 for others unless given."""
    for value in {*costs, *(predicted for row in costs.values() for predicted in row)}:
        if value not in counts.values:
            raise BadTable(f"cost-cm has a cost for {value!r}, which the column {counts.name!r} never takes. Drop it.")
    values = counts.values
    return [[float(costs.get(true, {}).get(guess, float(true != guess))) for guess in values] for true in values]


def _cost_matrix(costs: Costs, counts: Counts) -> tuple[np.ndarray, Fraction]:
    """The costs as whole numbers, and what one of them is worth."""
    plain = [[Fraction(repr(cost)) for cost in row] for row in list_costs(costs, counts)]
    unit = Fraction(1, np.lcm.reduce([cost.denominator for row in plain for cost in row], dtype=object))
    return np.array([[int(cost / unit) for cost in row] for row in plain], dtype=np.int64), unit


def _group(partition: Partition, counts: Counts) -> tuple[Counts, int]:
    """The counts per group that is predicted alike: each kept class, and all suppressed rows together."""
    kept = ~partition.suppressed
    group = np.where(kept, np.cumsum(kept) - 1, int(kept.sum()))
    groups = int(kept.sum()) + int(partition.suppressed.any())
    return merge_counts(counts, group[partition.members], groups), groups


@named("reg-variance")
def reg_variance(column: str | None = None, centre: Centre = "group") -> Number:
    """Squared error around the group means, as a share of that around the mean of all (Iyengar 2002).

    The suppressed rows are a group of their own, or deviate from the centre of all rows (``centre="global"``).
    """
    return _regression("reg-variance", _squares, column, centre)


@named("reg-deviation")
def reg_deviation(column: str | None = None, centre: Centre = "group") -> Number:
    """Absolute deviation from the group medians, as a share of that from the median of all (Iyengar 2002).

    The suppressed rows are a group of their own, or deviate from the centre of all rows (``centre="global"``).
    """
    return _regression("reg-deviation", _deviations, column, centre)


@named("reg")
def reg(column: str | None = None, dispersion: Literal["variance", "deviation"] = "variance") -> Number:
    """The regression loss by its dispersion: ``reg-variance`` or ``reg-deviation``."""
    if dispersion not in ("variance", "deviation"):
        raise BadJob(f"reg has dispersion = {dispersion!r}. Write 'variance' or 'deviation'.")
    return reg_variance(column) if dispersion == "variance" else reg_deviation(column)


def _regression(
    name: str, dispersion: Callable[[Counts, float | None], np.ndarray], column: str | None, centre: Centre
) -> Number:
    if centre not in ("group", "global"):
        raise BadJob(f"{name} has centre = {centre!r}. Write 'group' or 'global'.")

    def share(partition: Partition) -> float:
        whole = _numeric(partition.table.counts(column, "target"))
        everything = merge_counts(whole, np.zeros(partition.table.distinct, dtype=np.int64), 1)
        total = float(dispersion(everything, None)[0])
        if total == 0:
            return 0.0
        counts, groups = _group(partition, whole)
        parts = dispersion(counts, None)
        if centre == "global" and partition.suppressed.any():
            middle = _median(everything)[0] if dispersion is _deviations else _mean(everything)[0]
            parts[groups - 1] = dispersion(counts, float(middle))[groups - 1]
        return float(parts.sum()) / total

    parameters = drop_unset(column=column, centre=None if centre == "group" else centre)
    kind: Literal["variance", "deviation"] = "variance" if dispersion is _squares else "deviation"
    # Each group's own centre is the best for it, so one centre for two groups is no better.
    return Number(
        spell(name, **parameters),
        "lower",
        "share of the dispersion",
        trends("rises"),
        share,
        aspect=TARGET,
        parameters=parameters,
        reading=_read_regression(column, kind) if centre == "group" else None,
        term=TargetTerm(kind, column) if centre == "group" else None,
    )


def _read_regression(column: str | None, kind: Literal["variance", "deviation"]) -> Reader:
    def read(ask: Questions) -> Reading | None:
        counts = ask.table.counts(column, "target")
        steps = _whole_steps(counts, ask.table.rows)
        if steps is None:
            return None
        middle = steps[np.searchsorted(np.cumsum(counts.totals), (ask.table.rows + 1) // 2)]
        worths = tuple((steps - middle).tolist())
        if kind == "deviation":
            apart = ask.total(DEVIATION, counts, worths)
            whole = max(int(np.abs(steps - middle) @ counts.totals), 1)
            return Reading(lambda c: apart(c) / whole, lambda c: apart(c).astype(np.int64))
        dispersion = float((steps - steps @ counts.totals / ask.table.rows) ** 2 @ counts.totals)
        squares = ask.total(VARIANCE, counts, worths, PARTS / dispersion if dispersion else 0.0)
        # Distances from a mean are rounded, so what is compared is coarser than what is added up.
        return Reading(lambda c: squares(c) / PARTS, lambda c: np.rint(squares(c) * (SAME / PARTS)).astype(np.int64))

    return read


def _whole_steps(counts: Counts, rows: int) -> np.ndarray | None:
    """The numbers of a target in units of their last decimal: (values,) int64; None where sums would be too large."""
    if counts.numbers is None or len(counts.values) > MOST_VALUES or not np.isfinite(counts.numbers).all():
        return None
    exact = [Fraction(repr(number)) for number in counts.numbers.tolist()]
    units = math.lcm(*(number.denominator for number in exact))
    steps = [int((number - exact[0]) * units) for number in exact]
    return np.array(steps, dtype=np.int64) if max(steps, default=0) * rows < MOST_TOTAL else None


def _numeric(counts: Counts) -> Counts:
    if counts.numbers is None:
        raise BadTable(
            f"The target {counts.name!r} is not numeric (it has {counts.values[0]!r}). "
            "Use cm for a target of categories, or give a numeric target."
        )
    return counts


def _entry_numbers(counts: Counts) -> np.ndarray:
    """The number of each entry: (entries,) float64."""
    numbers = counts.numbers if counts.numbers is not None else np.zeros(len(counts.values))
    return numbers[counts.code]


def _mean(counts: Counts) -> np.ndarray:
    start = counts.start[:-1]
    return np.add.reduceat(_entry_numbers(counts) * counts.count, start) / np.add.reduceat(counts.count, start)


def _median(counts: Counts) -> np.ndarray:
    """The lower median of each group; entries of a group stand in rising order of their numbers."""
    start = counts.start[:-1]
    running = np.cumsum(counts.count)
    before = running[start] - counts.count[start]
    half = before + (np.add.reduceat(counts.count, start) + 1) // 2
    return _entry_numbers(counts)[np.searchsorted(running, half)]


def _squares(counts: Counts, centre: float | None) -> np.ndarray:
    middle = _mean(counts)[counts.row] if centre is None else centre
    return np.add.reduceat(counts.count * (_entry_numbers(counts) - middle) ** 2, counts.start[:-1])


def _deviations(counts: Counts, centre: float | None) -> np.ndarray:
    middle = _median(counts)[counts.row] if centre is None else centre
    return np.add.reduceat(counts.count * np.abs(_entry_numbers(counts) - middle), counts.start[:-1])


@named("multi-target")
def multi_target(of: str | Mapping[str, float]) -> Number:
    """Several uses at once: the weighted mean of losses that lie between 0 and 1 (Iyengar 2002).

    ``of`` is a mapping from measure to weight, or the same as text: ``cm(column=salary)*2 + reg-variance*1``.
    """
    weights = read_sum(of) if isinstance(of, str) else dict(of)
    if not weights or any(not 0 <= w < float("inf") for w in weights.values()) or not sum(weights.values()) > 0:
        raise BadJob(f"multi-target has the weights {weights!r}. Give each measure a weight of at least 0, not all 0.")
    parts: list[tuple[Measure, float]] = [(make(spec), weight) for spec, weight in weights.items()]
    for measure, _ in parts:
        if measure.better != "lower":
            raise BadJob(f"multi-target adds up losses, and {measure.name!r} is better when higher. Leave it out.")
    total = sum(weights.values())
    text = spell_sum({measure.name: weight for measure, weight in parts})
    rising = all(measure.trend["none"] == "rises" for measure, _ in parts)

    def read(ask: Questions) -> Reading | None:
        readers = [(reading_of(measure), weight / total) for measure, weight in parts]
        readings = [(None if reader is None else reader(ask), weight) for reader, weight in readers]
        known = [(reading, weight) for reading, weight in readings if reading is not None]
        if len(known) < len(parts):
            return None
        mean = real(lambda counted: np.asarray(sum(reading.value(counted) * weight for reading, weight in known)))
        return replace(mean, by_levels=any(reading.by_levels for reading, _ in known))

    return Number(
        spell("multi-target", of=text),
        "lower",
        "weighted mean",
        trends("rises" if rising else "either"),
        lambda partition: sum(measure(partition) * weight for measure, weight in parts) / total,
        aspect=TARGET,
        parameters={"of": text},
        reading=read,
        parts=tuple((measure, weight / total) for measure, weight in parts if weight > 0),
    )


# -- relations ---------------------------------------------------------------------------------------------------------


@named("relations")
def relations() -> Number:
    """The share of the mutual information between columns that is lost; a suppressed row loses all of its share.

    Of every two columns that are related by more than chance, one a quasi-identifier at least: values are first put
    together, along their hierarchy, until groups have 2 % of the rows, so that no table of two columns is sparse.
    """

    def share(partition: Partition) -> float:
        recoding, table = partition.recoding, partition.table
        if recoding.boxes is not None:
            raise BadJob("relations looks at whole columns, and labels differ by class here. Take count-error instead.")
        lost = relations_of(table).lost(recoding.cuts)
        return lost + (1 - lost) * partition.suppressed_rows / table.rows

    def read(ask: Questions) -> Reading:
        related, away = relations_of(ask.table), ask.ints(SUPPRESSED)

        def value(counted: Statistics) -> np.ndarray:
            lost = related.look_up(counted.levels)
            return np.asarray(lost + (1 - lost) * away(counted) / ask.table.rows)

        def key(counted: Statistics) -> np.ndarray:
            return np.rint(value(counted) * 2.0 ** (FINE - COARSE)).astype(np.int64)

        return Reading(value, key, (BoundTerm(BY_LOSS, ask.loss_place(related), COARSE),), by_levels=True)

    # What is known of one variable through another never grows when either is put in coarser groups. O16: a
    # suppressed row that returns brings its share back.
    return Number("relations", "lower", "share of relations", trends("rises"), share, parameters={}, reading=read)


@dataclass(frozen=True, eq=False)
class RelatedColumns:
    """The relations of a table: for every two columns the rows of each pair of groups.

    It is a loss of cells too, for bounds: of a pair at least what either column loses with the other as it is, so half
    of both; a level of a column has a share of its own, and the shares of all columns are never above the loss.
    """

    table: Table
    firsts: tuple[np.ndarray, ...]  # per column, further ones last, (groups,) the first value of each group
    pairs: Mapping[tuple[int, int], np.ndarray]  # (groups, groups) rows; the second may be a further column

    @cached_property
    def whole(self) -> dict[tuple[int, int], float]:
        """The mutual information of every two columns."""
        return {pair: mutual_information(rows) for pair, rows in self.pairs.items()}

    def _steps(self, column: int, cut: np.ndarray | None) -> np.ndarray:
        """The groups of a column with which those begin that a cut leaves apart; without a cut all of them."""
        firsts = self.firsts[column]
        if cut is None:
            return np.arange(len(firsts))
        return np.concatenate(([0], 1 + np.flatnonzero(cut[firsts[1:]] != cut[firsts[1:] - 1])))

    def _lost(self, pair: tuple[int, int], one: np.ndarray, two: np.ndarray) -> float:
        """The share of all relations that a pair loses where its groups begin anew at these alone."""
        rows = np.add.reduceat(np.add.reduceat(self.pairs[pair], one, axis=0), two, axis=1)
        lost = self.whole[pair] - mutual_information(rows)
        return lost / sum(self.whole.values()) if lost > ROUNDING else 0.0

    def lost(self, cuts: Sequence[np.ndarray]) -> float:
        """The share that a recoding loses."""
        steps = [self._steps(c, cuts[c] if c < len(cuts) else None) for c in range(len(self.firsts))]
        return min(sum((self._lost((one, two), steps[one], steps[two]) for one, two in self.pairs), 0.0), 1.0)

    @cached_property
    def _by_levels(self) -> dict[tuple[int, int], np.ndarray]:
        """What every two columns lose by their levels: (levels, levels) float64; a further column has one."""
        steps = [[self._steps(c, cut) for cut in h.groups] for c, h in enumerate(self.table.hierarchies)]
        steps += [[self._steps(c, None)] for c in range(len(steps), len(self.firsts))]
        return {
            pair: np.array([[self._lost(pair, one, two) for two in steps[pair[1]]] for one in steps[pair[0]]])
            for pair in self.pairs
        }

    def look_up(self, levels: np.ndarray) -> np.ndarray:
        """The share that each node of the lattice loses; levels: (n, columns) int64."""
        lost = np.zeros(len(levels))
        for (one, two), known in self._by_levels.items():
            lost += known[levels[:, one], levels[:, two] if two < levels.shape[1] else 0]
        return np.minimum(lost, 1.0)

    def _own_share(self, column: int, cut: np.ndarray) -> int:
        """What a cell of a column loses at the least under a cut."""
        shown, lost = self._steps(column, cut), 0.0
        for one, two in self.pairs:
            if column in (one, two):
                steps = [shown if c == column else self._steps(c, None) for c in (one, two)]
                lost += self._lost((one, two), *steps) / (2 if two < len(self.table.hierarchies) else 1)
        return math.floor(lost * (1 - SURE) * 2.0**FINE / self.table.rows)

    def table_of(self, _: Table, column: int, cut: np.ndarray) -> np.ndarray:
        """The same for each group of the cut: (groups,) int64."""
        return np.full(int(cut[-1]) + 1, self._own_share(column, cut), dtype=np.int64)

    def suppressed(self, _: Table, column: int) -> int:
        """What a suppressed cell loses at the least."""
        return self._own_share(column, np.zeros(len(self.table.hierarchies[column].leaves), dtype=np.int32))

    def run_table(self, _: Table, column: int) -> np.ndarray:
        """Nothing is known of single runs: (first leaf, last leaf) int64."""
        return np.zeros((len(self.table.hierarchies[column].leaves),) * 2, dtype=np.int64)


_RELATED: WeakKeyDictionary[Table, RelatedColumns] = WeakKeyDictionary()


def relations_of(table: Table) -> RelatedColumns:
    """The relations of a table, counted once."""
    if table not in _RELATED:
        _RELATED[table] = _relate(table)
    return _RELATED[table]


def _relate(table: Table) -> RelatedColumns:
    floor, columns = least_group(table.rows), range(len(table.hierarchies))
    firsts = [_group_leaves(table.hierarchies[c], table.leaf_rows[c], floor) for c in columns]
    groups = [np.searchsorted(firsts[c], table.codes[:, c], side="right") - 1 for c in columns]
    pairs = {}
    for one, two in itertools.combinations(columns, 2):
        pairs[one, two] = cross_counts(groups[one], groups[two], table.weights, (len(firsts[one]), len(firsts[two])))
    further = {counts.name: counts for counts in (*table.sensitive, *table.targets)}
    for at, counts in enumerate(further.values(), len(columns)):
        firsts.append(join_values(counts.totals, floor))
        group = np.searchsorted(firsts[at], counts.code, side="right") - 1
        for one in columns:
            pairs[one, at] = cross_counts(
                groups[one][counts.row], group, counts.count, (len(firsts[one]), len(firsts[at]))
            )
    related = {
        pair: rows
        for pair, rows in pairs.items()
        if exceeds_chance(mutual_information(rows) - _freedom(rows.shape) / 2 / rows.sum(), rows.shape, rows.sum())
    }
    return RelatedColumns(table, tuple(firsts), related)


def cross_counts(one: np.ndarray, two: np.ndarray, rows: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    """The rows with each pair of groups: (groups, groups) float64."""
    return np.bincount(one.astype(np.int64) * sizes[1] + two, rows, sizes[0] * sizes[1]).reshape(sizes)


def mutual_information(rows: np.ndarray) -> float:
    """The mutual information of a table of two columns, in nats."""
    table = rows / rows.sum()
    filled = table > 0
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))[filled]
    return float((table[filled] * np.log(table[filled] / chance)).sum())


def exceeds_chance(corrected: float, sizes: Sequence[int], rows: float) -> bool:
    """Whether the mutual information of a table with so many groups, its bias taken off, is more than chance."""
    # 2 n I is chi-squared by chance, with that mean and twice that variance; the mean is taken off already.
    return 2 * rows * corrected > BY_CHANCE * math.sqrt(2 * _freedom(sizes))


def _freedom(sizes: Sequence[int]) -> int:
    return math.prod(size - 1 for size in sizes)


def least_group(rows: float) -> float:
    """The rows that a group of values has at least, so that tables of two columns are well filled."""
    return max(SMALLEST * rows, math.sqrt(rows))


def join_values(rows: np.ndarray, floor: float) -> np.ndarray:
    """The first value of each group of neighbours with so many rows: (groups,); what is left over joins the last."""
    begins, here = [0], 0.0
    for value, amount in enumerate(rows.tolist()):
        if here >= floor:
            begins.append(value)
            here = 0.0
        here += amount
    if here < floor and len(begins) > 1:
        begins.pop()
    return np.array(begins, dtype=np.int64)


def _group_leaves(hierarchy: Hierarchy, rows: np.ndarray, floor: float) -> np.ndarray:
    """The first leaf of each group: children of a node with enough rows, its rare ones joined with each other.

    A group is a part of every node above it, so levels and tree cuts never go through one.
    """
    tree, leaves = hierarchy.tree, len(rows)
    before = np.concatenate(([0], np.cumsum(rows)))
    of_node = before[tree.last + 1] - before[tree.first]
    inside = tree.parent >= 0
    begins = inside & (tree.first > tree.first[tree.parent])
    ends = inside & (tree.last < tree.last[tree.parent])
    left, right, around = (np.zeros(leaves + 1, dtype=np.int64) for _ in range(3))  # of the two nodes that part there
    left[tree.last[ends] + 1] = of_node[ends]
    right[tree.first[begins]] = of_node[begins]
    around[tree.first[begins]] = of_node[tree.parent[begins]]
    firsts, rare = [0], 0
    for leaf in np.flatnonzero(around[:leaves] >= floor).tolist():
        rare += int(left[leaf])
        if rare >= floor or right[leaf] >= floor:
            firsts.append(leaf)
            rare = 0
    return np.array(firsts, dtype=np.int64)
