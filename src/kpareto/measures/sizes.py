"""Privacy measured by class sizes: k, the risk that a row is recognised, and how much was suppressed.

A class counts persons where the table tells persons apart, else rows; shares and means are taken over the same, a
person once in each class. Rows that belong to nobody fill no class: one of nobody else has k = 0.
Only visible classes count: the class of masked rows is one of them, dropped rows are not.
In an empty release nobody can be recognised: k is infinite and every risk is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from kpareto.errors import BadJob
from kpareto.kernels.words import BY_SIZE, CLASSES, RISKY, SUPPRESSED, UNIQUES, K
from kpareto.measures.measure import (
    Aspect,
    Better,
    Measure,
    Model,
    Number,
    Trend,
    drop_unset,
    named,
    reading_of,
    spell,
    trends,
)
from kpareto.measures.reading import CLASS_SIZE, BoundTerm, ClassNumber, Questions, Reach, Reading, real, whole
from kpareto.tables.partition import Partition, Rule
from kpareto.tables.table import Table

RECOUNTED = Aspect("privacy", recounted=True)


@named("k")
def k() -> Model:
    """The size of the smallest class (Samarati 2001; Sweeney 2002)."""
    # Without suppression a union is never smaller than its parts. Under cap-max-k: the classes of a coarser recoding
    # below k are unions of classes below k, so suppressing them stays within the limit (readings.md#trends).
    trend = trends("rises", cap_max_k="rises")
    aspect = Aspect("privacy", logarithmic=True, shown=True, recounted=True)
    unit = "rows, or persons, in the smallest class"
    size = ClassNumber(CLASS_SIZE)
    return Model("k", "higher", unit, trend, _class_sizes, _exact_k, aspect, {}, _read_k, size, reach_size)


def _class_sizes(partition: Partition) -> np.ndarray:
    return partition.sizes.astype(np.float64)


def reach_size(table: Table, _spare: int = 0) -> Reach:
    """The largest class there can be: all rows, or all persons where they are told apart (``measures/reach.py``)."""
    size, noun = table.rows, "row"
    if table.persons is not None:
        size, noun = len(np.unique(table.persons.code)), "person"
    return Reach(float(size), f"the table has {size:,} {noun if size == 1 else noun + 's'}")


def _read_k(ask: Questions) -> Reading:
    return whole(ask.ints(K), higher=True, bounds=(BoundTerm(BY_SIZE),))


def _exact_k(partition: Partition) -> Fraction | None:
    return None if partition.empty else Fraction(int(partition.sizes[partition.visible].min()))


@named("risk-max")
def risk_max() -> Model:
    """The highest prosecutor risk, 1 / size of the smallest class (docs/risk.md)."""
    trend = trends("falls", cap_max_k="falls")  # the reciprocal of k
    aspect = Aspect("privacy", logarithmic=True, recounted=True)
    return Model(
        "risk-max", "lower", "probability", trend, _risks, _exact_risk_max, aspect, {}, _read_risk_max, None, reach_risk
    )


def _risks(partition: Partition) -> np.ndarray:
    return 1.0 / np.maximum(partition.sizes, 1)


def reach_risk(table: Table, _spare: int = 0) -> Reach:
    """The least risk there can be: 1 / the largest class."""
    size = reach_size(table)
    return Reach(1 / size.best, size.why)


def _read_risk_max(ask: Questions) -> Reading:
    column = ask.ints(K)
    return Reading(lambda c: 1.0 / column(c), lambda c: -column(c), (BoundTerm(BY_SIZE),))


def is_smallest_class(measure: Measure) -> bool:
    """Whether a measure is compared by the size of the smallest class alone, as k and risk-max are."""
    return reading_of(measure) in (_read_k, _read_risk_max)


def _exact_risk_max(partition: Partition) -> Fraction | None:
    smallest = _exact_k(partition)
    return Fraction(0) if smallest is None else 1 / max(smallest, Fraction(1))


@named("risk-mean")
def risk_mean() -> Number:
    """The mean prosecutor risk of the visible rows, or persons: classes / rows."""
    # Every row's class grows when classes merge, and without suppression the rows stay the same.
    trend = trends("falls")
    aspect = Aspect("privacy", logarithmic=True, recounted=True)
    mean = _exact_risk_mean
    return Number("risk-mean", "lower", "probability", trend, mean, mean, aspect, {}, _read_risk_mean)


def _read_risk_mean(ask: Questions) -> Reading | None:
    if ask.table.persons is not None or ask.masked:
        return None
    rows, kept, lost = ask.table.rows, ask.ints(CLASSES), ask.ints(SUPPRESSED)
    return real(lambda c: kept(c) / np.maximum(rows - lost(c), 1))


def _exact_risk_mean(partition: Partition) -> Fraction:
    sizes = partition.sizes[partition.visible]
    return Fraction(int((sizes > 0).sum()), max(int(sizes.sum()), 1))


@named("risk-share")
def risk_share(threshold: float = 0.2) -> Number:
    """The share of visible rows, or persons, whose prosecutor risk is above the threshold (O21)."""
    if not 0 <= threshold <= 1:
        raise BadJob(f"The threshold of risk-share is {threshold!r}. Give a probability from 0 to 1.")
    border = Fraction(repr(float(threshold)))

    def share(partition: Partition) -> Fraction:
        if partition.empty:
            return Fraction(0)
        # 1 / size > border, in whole numbers, so that a class of 5 is not above 0.2
        risky = partition.visible & (partition.sizes * border.numerator < border.denominator)
        return Fraction(int(partition.sizes[risky].sum()), max(int(partition.sizes[partition.visible].sum()), 1))

    def read(ask: Questions) -> Reading | None:
        rows = ask.table.rows
        below = rows + 1 if border == 0 else -(-border.denominator // border.numerator)
        risky = ask.risky(RISKY, below) if ask.table.persons is None and not ask.masked else None
        if risky is None:
            return None
        lost = ask.ints(SUPPRESSED)
        return real(lambda c: risky(c) / np.maximum(rows - lost(c), 1))

    parameters = drop_unset(threshold=None if threshold == 0.2 else threshold)
    name, trend = spell("risk-share", **parameters), trends("falls")
    return Number(name, "lower", "share of rows", trend, share, share, RECOUNTED, parameters, read)


@named("uniques")
def uniques() -> Number:
    """Rows, or persons, that are alone in their class."""
    # Classes of one under a coarser recoding are classes of one already. below-k and cap-max-k suppress either all
    # of them or none, and all of them stays all of them.
    trend = trends("falls", below_k="falls", cap_max_k="falls")
    number = _counted("uniques", trend, lambda p: int((p.visible & (p.sizes == 1)).sum()), UNIQUES)

    def read(ask: Questions) -> Reading | None:
        return None if ask.table.persons is not None else whole(ask.ints(UNIQUES))

    return replace(number, aspect=RECOUNTED, reading=read)


@named("suppressed")
def suppressed() -> Number:
    """Rows whose quasi-identifiers are lost, dropped or masked."""
    # Under below-k a class that stays too small is a union of classes that were too small. Under cap-max-k a larger k
    # may become affordable and cost more rows.
    trend = trends("falls", below_k="falls")
    return _counted("suppressed", trend, lambda partition: partition.suppressed_rows, SUPPRESSED)


@named("classes")
def classes() -> Number:
    """How many classes keep their cells."""
    return _counted("classes", trends("falls"), lambda partition: partition.classes, CLASSES, "higher", "classes")


def _counted(
    name: str,
    trend: Mapping[Rule, Trend],
    count: Callable[[Partition], int],
    statistic: int,
    better: Better = "lower",
    unit: str = "rows",
) -> Number:
    """A whole number, which is one of the statistics of the kernels too."""

    def exact(partition: Partition) -> Fraction:
        return Fraction(count(partition))

    def read(ask: Questions) -> Reading:
        return whole(ask.ints(statistic), higher=better == "higher")

    return Number(name, better, unit, trend, exact, exact, parameters={}, reading=read)
