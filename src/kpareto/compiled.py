"""Which statistics of the compiled kernels make up a measure, in its own unit and as an exactly comparable key.

Keys are whole numbers, lower is better. They decide dominance, so that no rounding can add a point to a front or drop
one: numerators over a common denominator where a measure has one, and otherwise the number itself, rounded to about
twelve digits and turned into a whole number that sorts alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kpareto import kernels
from kpareto.loss import CellLoss
from kpareto.measure import Measure, parameters_of
from kpareto.partition import Suppression
from kpareto.rollup import Counted, HistLimit, HistNumber, Wanted
from kpareto.table import Counts, Table

DIGITS = 12  # decimal digits of a real number that count when two values are compared


@dataclass(frozen=True, eq=False)
class Reading:
    """How to read one measure off counted statistics."""

    value: Callable[[Counted], np.ndarray]  # (n,) float64, the measure's own unit
    key: Callable[[Counted], np.ndarray]  # (n,) int64, lower is better


@dataclass(frozen=True, eq=False)
class Translation:
    """Measures translated: what the kernels must count, and how to read each measure off it."""

    wanted: Wanted
    readings: tuple[Reading, ...]


class _Wishes:
    """What the kernels must count, collected while measures are translated."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.losses: list[CellLoss] = []
        self.numbers: list[HistNumber] = []
        self.sizes = False
        self.risky_below = 0

    def ints(self, column: int) -> Callable[[Counted], np.ndarray]:
        if column not in (kernels.K, kernels.SUPPRESSED):
            self.sizes = True
        return lambda counted: counted.ints[:, column]

    def loss(self, loss: CellLoss) -> Callable[[Counted], np.ndarray]:
        if loss not in self.losses:
            self.losses.append(loss)
        column = kernels.INTS + self.losses.index(loss)
        return lambda counted: counted.ints[:, column]

    def hist(self, kind: int, columns: list[Counts], parameter: float = 0.0) -> Callable[[Counted], np.ndarray]:
        places = []
        for counts in columns:
            number = HistNumber(kind, counts, parameter)
            same = [
                i
                for i, n in enumerate(self.numbers)
                if (n.kind, n.parameter) == (kind, parameter) and n.counts is counts
            ]
            if not same:
                self.numbers.append(number)
            places.append(same[0] if same else len(self.numbers) - 1)
        worst = np.min if kind in (kernels.DISTINCT, kernels.ENTROPY) else np.max
        return lambda counted: worst(counted.reals[:, places], axis=1)


def translate(
    table: Table, measures: tuple[Measure, ...], suppression: Suppression, limits: tuple[HistLimit, ...] = ()
) -> Translation | None:
    """The measures as kernel statistics, or None where one of them needs a Partition of its own."""
    wishes = _Wishes(table)
    readings = []
    for measure in measures:
        reading = _reading(measure, wishes)
        if reading is None:
            return None
        readings.append(reading)
    wanted = Wanted(suppression, tuple(wishes.losses), tuple(wishes.numbers), limits, wishes.sizes, wishes.risky_below)
    return Translation(wanted, tuple(readings))


def _reading(measure: Measure, wishes: _Wishes) -> Reading | None:
    if isinstance(measure, CellLoss):
        return _cell_reading(measure, wishes)
    known = parameters_of(measure)
    if known is None:
        return None
    name, parameters = known
    return (
        _size_reading(name, parameters, wishes)
        or _model_reading(name, parameters, wishes)
        or _sum_reading(name, parameters, wishes)
    )


def _cell_reading(loss: CellLoss, wishes: _Wishes) -> Reading:
    column = wishes.loss(loss)
    scale = loss.scale(wishes.table)
    if loss.is_exact(wishes.table):
        return Reading(lambda c: column(c) * float(scale), column)
    # Rounded losses may differ in their last digits although they are equal: compare to 2**-40 of the largest.
    return Reading(lambda c: column(c) * float(scale), lambda c: (column(c) + (1 << 21)) >> 22)


def _size_reading(name: str, parameters: dict[str, object], wishes: _Wishes) -> Reading | None:
    """Measures made of class sizes alone."""
    rows = wishes.table.rows
    persons = wishes.table.persons
    if name == "k":
        column = wishes.ints(kernels.K)
        return Reading(lambda c: column(c).astype(np.float64), lambda c: -column(c))
    if name == "risk-max":
        column = wishes.ints(kernels.K)
        return Reading(lambda c: 1.0 / column(c), lambda c: -column(c))
    if name in ("suppressed", "uniques"):
        column = wishes.ints(kernels.SUPPRESSED if name == "suppressed" else kernels.UNIQUES)
        return Reading(lambda c: column(c).astype(np.float64), column)
    if name == "classes":
        column = wishes.ints(kernels.CLASSES)
        return Reading(lambda c: column(c).astype(np.float64), lambda c: -column(c))
    lost = wishes.ints(kernels.SUPPRESSED)
    if name == "dcn":
        squares = wishes.ints(kernels.SQUARES)
        return Reading(
            lambda c: (squares(c) + rows * lost(c)).astype(np.float64), lambda c: squares(c) + rows * lost(c)
        )
    if name == "necd":
        everybody = rows if persons is None else int(np.count_nonzero(persons.totals))
        k, largest = wishes.ints(kernels.K), wishes.ints(kernels.LARGEST)
        return Reading(lambda c: (largest(c) - k(c)) / max(everybody - 1, 1), lambda c: largest(c) - k(c))
    if name == "average-class-size":
        classes = wishes.ints(kernels.CLASSES)
        divisor = float(str(parameters.get("k", 1)))
        return _real(lambda c: (rows - lost(c)) / np.maximum(classes(c), 1) / divisor)
    if persons is not None:
        return None
    if name == "s-k":
        squares = wishes.ints(kernels.SQUARES)
        return Reading(lambda c: squares(c).astype(np.float64), lambda c: -squares(c))
    if name == "risk-mean":
        classes = wishes.ints(kernels.CLASSES)
        return _real(lambda c: classes(c) / np.maximum(rows - lost(c), 1))
    if name == "risk-share":
        return _risk_share(Fraction(repr(float(str(parameters.get("threshold", 0.2))))), wishes)
    return None


def _risk_share(threshold: Fraction, wishes: _Wishes) -> Reading | None:
    below = wishes.table.rows + 1 if threshold == 0 else -(-threshold.denominator // threshold.numerator)
    if wishes.risky_below not in (0, below):
        return None  # the kernels count one threshold at a time
    wishes.risky_below = below
    risky, lost = wishes.ints(kernels.RISKY), wishes.ints(kernels.SUPPRESSED)
    return _real(lambda c: risky(c) / np.maximum(wishes.table.rows - lost(c), 1))


MODELS = {
    "l": kernels.DISTINCT,
    "entropy-l": kernels.ENTROPY,
    "recursive-l": kernels.RECURSIVE,
    "alpha": kernels.ALPHA,
    "t": kernels.T_EQUAL,
    "beta": kernels.BETA,
    "enhanced-beta": kernels.ENHANCED_BETA,
    "delta": kernels.DELTA,
}


def model_kind(name: str, parameters: dict[str, object]) -> tuple[int, float] | None:
    """The kernel's number and parameter for a model of sensitive values, or None where it has none."""
    if name not in MODELS:
        return None
    given = {key: value for key, value in parameters.items() if key != "column"}
    if name == "t" and given.get("distance") == "ordered":
        return (kernels.T_ORDERED, 0.0) if set(given) == {"distance"} else None
    if name == "recursive-l":
        return (kernels.RECURSIVE, float(str(given.get("l", 2)))) if set(given) <= {"l"} else None
    return None if given and given != {"distance": "equal"} else (MODELS[name], 0.0)


def _model_reading(name: str, parameters: dict[str, object], wishes: _Wishes) -> Reading | None:
    """The worst class by its sensitive values."""
    found = model_kind(name, parameters)
    if found is None:
        return None
    kind, parameter = found
    column = wishes.hist(kind, columns_meant(wishes.table, parameters), parameter)
    return _real(column, higher=kind in (kernels.DISTINCT, kernels.ENTROPY))


def columns_meant(table: Table, parameters: dict[str, object]) -> list[Counts]:
    """The sensitive columns a model speaks of: the named one, else all."""
    name = parameters.get("column")
    if name is not None or not table.sensitive:
        return [table.counts(None if name is None else str(name), "sensitive")]
    return list(table.sensitive)


def _sum_reading(name: str, parameters: dict[str, object], wishes: _Wishes) -> Reading | None:
    """Sums over classes of target or sensitive counts."""
    named = parameters.get("column")
    column = None if named is None else str(named)
    if name in ("cm", "cm-rows"):
        minority = wishes.hist(kernels.MINORITY, [wishes.table.counts(column, "target")])
        lost = wishes.ints(kernels.SUPPRESSED)
        unit = wishes.table.rows if name == "cm" else 1
        return Reading(lambda c: (minority(c) + lost(c)) / unit, lambda c: minority(c).astype(np.int64) + lost(c))
    if name == "s-l":
        own = wishes.hist(kernels.OWN, [wishes.table.counts(column, "sensitive")])
        return Reading(own, lambda c: -own(c).astype(np.int64))
    return None


def _real(value: Callable[[Counted], np.ndarray], higher: bool = False) -> Reading:
    return Reading(value, lambda counted: real_keys(value(counted), higher))


def real_keys(values: np.ndarray, higher: bool = False) -> np.ndarray:
    """Real numbers as whole numbers that sort alike after rounding to twelve digits; lower is better."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ranked = np.abs(values)
        size = np.where((ranked < 1e-290) | np.isinf(values), 1.0, 10.0 ** np.floor(np.log10(ranked)))
        rounded = np.round(values / size, DIGITS - 1) * size + 0.0  # + 0.0 makes -0.0 a 0.0
    signed = np.ascontiguousarray(-rounded if higher else rounded) + 0.0
    bits = signed.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)
