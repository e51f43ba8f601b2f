"""Property vectors: one number per row of the table, what changes for whom between two releases (PB-1 to PB-3), bias.

A vector is kept per distinct row (and sensitive value) with how many rows it stands for, never row by row unless asked.
A dropped row has class size, counts and probabilities 0 and row loss 1. A masked row belongs to the visible class of
masked rows, and has row loss 1.

Bias is inequality of protection: NECD over classes, and the gap between the groups of a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from kpareto.errors import BadInput, BadJob, did_you_mean
from kpareto.kernels.words import LARGEST, OWN, SQUARES, K
from kpareto.measures.cells import lm
from kpareto.measures.measure import Aspect, Better, Number, drop_unset, named, spell, trends
from kpareto.measures.persons import count_units
from kpareto.measures.reading import Questions, Reading, whole
from kpareto.tables.partition import Partition
from kpareto.tables.table import Counts, Table

Property = Literal["class-size", "own-value-count", "breach-probability", "own-value-probability", "row-loss"]
PROPERTIES: Mapping[Property, Better] = {
    "class-size": "higher",
    "own-value-count": "higher",  # legacy: PB counts it as privacy, but see s_l
    "breach-probability": "lower",
    "own-value-probability": "lower",
    "row-loss": "lower",
}


@dataclass(frozen=True, eq=False)
class PropertyVector:
    """One number per row, weighted: entry i stands for ``weights[i]`` rows of distinct row ``rows[i]``."""

    name: Property
    better: Better
    values: np.ndarray  # (entries,) float64
    weights: np.ndarray  # (entries,) int64
    rows: np.ndarray  # (entries,) int64
    codes: np.ndarray | None = None  # (entries,) int32, sensitive value where the property depends on it

    def worst(self) -> float:
        """The worst number any row has (PB-2, unary index)."""
        return float(self.values.min() if self.better == "higher" else self.values.max())

    def total(self) -> float:
        """The sum over all rows, S_P (PB-2, unary index)."""
        return float(self.values @ self.weights)

    def mean(self) -> float:
        """The mean over all rows."""
        return self.total() / int(self.weights.sum())

    def expanded(self) -> np.ndarray:
        """One number per row of the table, in the order of the distinct rows: (rows,) float64."""
        return np.repeat(self.values, self.weights)


def property_vector(partition: Partition, name: Property, column: str | None = None) -> PropertyVector:
    """A property of every row; ``column`` names the sensitive column for the properties of its own value."""
    if name not in PROPERTIES:
        raise BadJob(f"No property {name!r}. {did_you_mean(name, PROPERTIES)}There are: {', '.join(PROPERTIES)}.")
    table = partition.table
    if name in ("own-value-count", "own-value-probability"):
        return _own_value(partition, name, table.counts(column, "sensitive"))
    by_class: np.ndarray
    if name == "class-size":
        by_class = np.where(partition.visible, partition.sizes, 0).astype(np.float64)
    elif name == "breach-probability":
        by_class = np.where(partition.visible, 1.0 / np.maximum(partition.sizes, 1), 0.0)
    else:
        by_class = row_loss(partition)
    rows = np.arange(table.distinct)
    return PropertyVector(name, PROPERTIES[name], by_class[partition.members], table.weights, rows)


def _own_value(partition: Partition, name: Property, sensitive: Counts) -> PropertyVector:
    """How many persons, or rows, of the class have the row's own value; of a row that is nobody's, how many others."""
    units, some = count_units(partition, sensitive)
    owner, width = partition.members[sensitive.row], len(sensitive.values)
    theirs = np.maximum(np.cumsum(some) - 1, 0)[owner]
    # Rising, so every entry finds its class's count by bisection.
    key = units.counts.row * width + units.counts.code
    wanted = theirs * width + sensitive.code
    entry = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    have = partition.visible[owner] & some[owner]
    values = np.zeros(len(owner))
    if len(key):
        values = np.where(have & (key[entry] == wanted), units.counts.count[entry], 0).astype(np.float64)
        if name == "own-value-probability":
            values = values / units.sizes[theirs]
    return PropertyVector(name, PROPERTIES[name], values, sensitive.count, sensitive.row, sensitive.code)


def row_loss(partition: Partition) -> np.ndarray:
    """The loss (LM) of a row in each class, 1 where every cell is lost: (classes,) float64."""
    table, chosen = partition.table, lm()
    total = np.zeros(len(partition.rows), dtype=np.int64)
    for column in range(len(table.schema.quasi)):
        cells = chosen.of_runs(table, column, *partition.recoding.runs(column))
        lost = chosen.suppressed(table, column)
        total += np.where(partition.suppressed, lost, cells[partition.groups[:, column]])
    return total * float(chosen.scale(table) * table.rows)


@dataclass(frozen=True)
class Comparison:
    """How the rows fare in b compared with a, by one property."""

    property: Property
    rows: int
    gain_rows: int  # rows better off in b
    lose_rows: int  # rows better off in a
    spread_ab: float  # I(a, b): by how much rows are better off in a, added up (PB-2)
    spread_ba: float  # I(b, a)
    groups: Mapping[str, Comparison] = field(default_factory=dict)  # the same per group of a column


def compare(
    a: Partition, b: Partition, name: Property = "class-size", by: str | None = None, column: str | None = None
) -> Comparison:
    """Who gains and who loses when b is released instead of a, over all rows and per value of the column ``by``.

    I(a, b) − I(b, a) is S(a) − S(b) for a property that is better when higher, and S(b) − S(a) otherwise.
    """
    if a.table is not b.table:
        raise BadInput("Two releases can be compared row by row only if they come from the same table.")
    first, second = property_vector(a, name, column), property_vector(b, name, column)
    sign = 1.0 if first.better == "higher" else -1.0
    change = sign * (second.values - first.values)
    if by is None:
        return _summary(name, change, first.weights)
    labels, rows, weights, group = _join(first, a.table, by, column)
    groups = {
        label: _summary(name, change[rows[group == index]], weights[group == index])
        for index, label in enumerate(labels)
        if (group == index).any()
    }
    return _summary(name, change, first.weights, groups)


def _summary(
    name: Property, change: np.ndarray, weights: np.ndarray, groups: Mapping[str, Comparison] | None = None
) -> Comparison:
    return Comparison(
        name,
        int(weights.sum()),
        int(weights[change > 0].sum()),
        int(weights[change < 0].sum()),
        float(np.maximum(-change, 0) @ weights),
        float(np.maximum(change, 0) @ weights),
        groups or {},
    )


def _join(
    vector: PropertyVector, table: Table, by: str, column: str | None
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Labels of the groups; then vector entry, rows it stands for and group, one per pair of entry and group."""
    if by in table.schema.quasi:
        index = table.column(by)
        group = table.codes[vector.rows, index]
        return table.hierarchies[index].leaves, np.arange(len(group)), vector.weights, group
    labels, rows, weights, group = subgroups(table, by)
    if vector.codes is None:
        return labels, rows, weights, group
    if by != table.counts(column, "sensitive").name:
        raise BadInput(
            f"{vector.name} depends on the sensitive value, so it can be split by a quasi-identifier or by that value, "
            f"not by {by!r}: the table does not keep how the two columns go together."
        )
    return labels, np.arange(len(vector.codes)), vector.weights, vector.codes


def subgroups(table: Table, by: str) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """The rows by the values of one column: labels; then distinct row, rows and value, one per entry."""
    if by in table.schema.quasi:
        column = table.column(by)
        return table.hierarchies[column].leaves, np.arange(table.distinct), table.weights, table.codes[:, column]
    for counts in (*table.sensitive, *table.targets):
        if counts.name == by:
            return counts.values, counts.row, counts.count, counts.code
    names = [*table.schema.quasi, *(c.name for c in (*table.sensitive, *table.targets))]
    raise BadInput(
        f"No column {by!r} to group by. {did_you_mean(by, names)}"
        f"Quasi-identifiers, sensitive and target columns can be used: {', '.join(names)}."
    )


@named("s-k")
def s_k() -> Number:
    """Legacy: the sum of class sizes over rows, S_k (PB-2), which PB maximizes as privacy.

    It equals the discernibility cost of the kept classes (PB-e6), so the same number is a gain here and a loss
    there, and S_k with DCN is no real trade-off. Prefer k, risk-mean, or a comparison of property vectors.
    """

    def total(partition: Partition) -> Fraction:
        return Fraction(int(partition.rows[partition.visible] @ partition.sizes[partition.visible]))

    def read(ask: Questions) -> Reading | None:
        return None if ask.table.persons is not None or ask.masked else whole(ask.ints(SQUARES), higher=True)

    aspect = Aspect("privacy", logarithmic=True)
    rises = trends("rises")
    return Number("s-k", "higher", "sum over rows", rises, total, total, aspect, {}, read)


@named("s-l")
def s_l(column: str | None = None) -> Number:
    """Legacy: the sum over rows of how often their own sensitive value occurs in their class, S_l (PB-2).

    It points the wrong way (PB-e5): ten rows with one disease score 100, with ten diseases 10. Prefer l,
    entropy-l or the property own-value-probability.
    """

    def total(partition: Partition) -> Fraction:
        return Fraction(int(property_vector(partition, "own-value-count", column).total()))

    def read(ask: Questions) -> Reading | None:
        if ask.masked or ask.table.persons is not None:
            return None
        squares = ask.hist(OWN, [ask.table.counts(column, "sensitive")])
        return Reading(squares, lambda c: -squares(c).astype(np.int64))

    parameters = drop_unset(column=column)
    name, rises = spell("s-l", **parameters), trends("rises")
    aspect = Aspect("privacy", logarithmic=True, column="sensitive")
    return Number(name, "higher", "sum over rows", rises, total, total, aspect, parameters, read)


# -- bias: inequality of protection ------------------------------------------------------------------------------------

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
        dispersion,
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
