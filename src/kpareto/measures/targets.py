"""Loss by use: how well the classes still predict a target column (CM, cost-weighted CM, regression losses).

Suppressed rows predict nothing: CM counts each of them, the others put them into one group of their own (Iyengar 2002).
Rows are counted, also where persons are told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal

import numpy as np

from kpareto.errors import BadJob, BadTable
from kpareto.kernels.words import BY_MINORITY, MINORITY, SUPPRESSED
from kpareto.measures.measure import (
    Aspect,
    Measure,
    Number,
    drop_unset,
    make,
    named,
    read_sum,
    spell,
    spell_sum,
    trends,
)
from kpareto.measures.reading import BoundTerm, Questions, Reader, Reading, TargetTerm
from kpareto.tables.partition import Partition
from kpareto.tables.table import Counts, merge_counts

Costs = Mapping[str, Mapping[str, float]]  # true value -> predicted value -> cost
Centre = Literal["group", "global"]
TARGET = Aspect(column="target")


@named("cm")
def cm(column: str | None = None) -> Number:
    """Classification metric: the share of rows suppressed or not of their class's majority (Iyengar 2002, 3.2)."""

    def share(partition: Partition) -> Fraction:
        return Fraction(_minority(partition, column), partition.table.rows)

    parameters = drop_unset(column=column)
    # The majority of a union is at most the sum of the majorities; a suppressed row that returns may be right: O17.
    return Number(
        spell("cm", **parameters),
        "lower",
        "share of rows",
        trends("rises"),
        lambda partition: float(share(partition)),
        share,
        Aspect(column="target", in_rows="cm_rows"),
        parameters,
        _read_minority(column, True),
        TargetTerm("minority", column),
    )


@named("cm-rows")
def cm_rows(column: str | None = None) -> Number:
    """The classification metric as a number of rows (PO, PB)."""
    parameters = drop_unset(column=column)
    return Number(
        spell("cm-rows", **parameters),
        "lower",
        "rows",
        trends("rises"),
        lambda partition: float(_minority(partition, column)),
        lambda partition: Fraction(_minority(partition, column)),
        TARGET,
        parameters,
        _read_minority(column, False),
        TargetTerm("minority", column, share=False),
    )


def _read_minority(column: str | None, share: bool) -> Reader:
    def read(ask: Questions) -> Reading:
        columns = [ask.table.counts(column, "target")]
        minority = ask.hist(MINORITY, columns)
        bounds = tuple(BoundTerm(BY_MINORITY, index) for index in ask.places(MINORITY, columns))
        lost = ask.ints(SUPPRESSED)
        unit = ask.table.rows if share else 1
        return Reading(
            lambda c: (minority(c) + lost(c)) / unit, lambda c: minority(c).astype(np.int64) + lost(c), bounds
        )

    return read


def _minority(partition: Partition, column: str | None) -> int:
    counts = partition.counts(partition.table.counts(column, "target"))
    most = np.maximum.reduceat(counts.count, counts.start[:-1])
    kept = ~partition.suppressed
    return partition.suppressed_rows + int((partition.rows[kept] - most[kept]).sum())


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
        lambda partition: float(mean(partition)),
        mean,
        TARGET,
        parameters,
        term=TargetTerm("cost", column, costs=cost_of or None),
    )


def _read_costs(text: str) -> dict[str, dict[str, float]]:
    costs: dict[str, dict[str, float]] = {}
    for pair, cost in read_sum(text).items():
        true, slash, guess = (piece.strip() for piece in pair.partition("/"))
        if not slash:
            raise BadJob(f"cost-cm has the cost {pair!r}. Write true/predicted*cost.")
        costs.setdefault(true, {})[guess] = cost
    return costs


def _cost_matrix(costs: Mapping[str, Mapping[str, float]], counts: Counts) -> tuple[np.ndarray, Fraction]:
    """Costs as whole numbers (true, predicted) and what one of them is worth."""
    for value in {*costs, *(predicted for row in costs.values() for predicted in row)}:
        if value not in counts.values:
            raise BadTable(f"cost-cm has a cost for {value!r}, which the column {counts.name!r} never takes. Drop it.")
    plain = [
        [Fraction(repr(float(costs.get(true, {}).get(guess, float(true != guess))))) for guess in counts.values]
        for true in counts.values
    ]
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
    # Each group's own centre is the best for it, so one centre for two groups is no better.
    return Number(
        spell(name, **parameters),
        "lower",
        "share of the dispersion",
        trends("rises"),
        share,
        aspect=TARGET,
        parameters=parameters,
        term=TargetTerm("variance", column) if dispersion is _squares and centre == "group" else None,
    )


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
    return Number(
        spell("multi-target", of=text),
        "lower",
        "weighted mean",
        trends("rises" if rising else "either"),
        lambda partition: sum(measure(partition) * weight for measure, weight in parts) / total,
        aspect=TARGET,
        parameters={"of": text},
    )
