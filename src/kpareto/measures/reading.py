"""How a measure is read off what the compiled kernels count: what to ask them, and what their answers say.

A measure that can be read so carries a ``reading``: a function that asks for statistics of each recoding and answers
a Reading, or None where the table has something that the kernels do not count. Without one, a Partition is made for
every recoding, which is slower and always possible.

Keys are whole numbers, lower is better. They decide dominance, so that no rounding can add a point to a front or drop
one: numerators over a common denominator where a measure has one, and otherwise the number itself, rounded to about
twelve digits and turned into a whole number that sorts alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from kpareto.kernels.words import (
    BEHIND,
    BY_CLASS,
    BY_SET,
    DELTA,
    DISTINCT,
    ENTROPY,
    INTS,
    PRESENCE_MIN,
    SUPPRESSED,
    K,
)
from kpareto.tables.table import Counts, Table

DIGITS = 12  # decimal digits of a real number that count when two values are compared
CLASS_SIZE = -1  # as the kind of a ClassNumber: the size of the class itself, not a number of its histogram


class Statistics(Protocol):
    """What the kernels counted of many recodings, one row each."""

    @property
    def ints(self) -> np.ndarray:
        """Whole numbers: (n, INTS + losses) int64, see ``kernels/words.py``."""

    @property
    def reals(self) -> np.ndarray:
        """Numbers of histograms: (n, numbers) float64."""

    @property
    def levels(self) -> np.ndarray:
        """Levels of each column, where they are nodes of the lattice: (n, columns) int64."""


Column = Callable[[Statistics], np.ndarray]  # statistics -> (n,)


@dataclass(frozen=True)
class BoundTerm:
    """How branch and bound knows what no refinement of a partial node beats (``kernels/lattice/bounding.py``).

    A measure of several columns has a term for each, and is as bad as the worst of them.
    """

    kind: int  # BY_SIZE, BY_LOSS, …
    place: int = 0  # among the losses, or among the numbers that were asked for
    coarse: int = 0  # of a loss: the bits by which its sums are rounded off before they are compared


@dataclass(frozen=True, eq=False)
class Reading:
    """How to read one measure off counted statistics."""

    value: Column  # (n,) float64, the measure's own unit
    key: Column  # (n,) int64, lower is better
    bounds: tuple[BoundTerm, ...] = ()  # none: nothing is known of refinements
    by_levels: bool = False  # it looks at levels, which only nodes of the lattice have


class CellTable(Protocol):
    """A loss that is a sum over cells, as the kernels add it up (see ``cells.CellLoss``)."""

    def table_of(self, table: Table, column: int, cut: np.ndarray) -> np.ndarray:
        """Cell loss of each group of a cut, as whole numbers: (groups,) int64."""

    def suppressed(self, table: Table, column: int) -> int:
        """Loss of a suppressed cell, in the same unit."""

    def run_table(self, table: Table, column: int) -> np.ndarray:
        """Loss of a cell in each run of leaves, (first leaf, last leaf) int64; for recodings by cuts."""


class Questions:
    """What the kernels are asked of one table, collected while measures are read."""

    def __init__(self, table: Table, *, masked: bool = False) -> None:
        self.table = table
        self.masked = masked  # suppressed rows stay as a class, which only the numbers of single classes know of
        self.losses: list[CellTable] = []
        self.numbers: list[tuple[int, Counts, float, tuple[int, ...]]] = []  # kind, column, parameter, worths
        self.sizes = False
        self.risky_below = 0

    def ints(self, statistic: int) -> Column:
        """One of the whole numbers K, SUPPRESSED, CLASSES, LARGEST, SQUARES, UNIQUES, RISKY."""
        if statistic not in (K, SUPPRESSED):
            self.sizes = True
        return lambda counted: counted.ints[:, statistic]

    def risky(self, statistic: int, below: int) -> Column | None:
        """The rows in classes smaller than ``below``, or None: the kernels count one such border at a time."""
        if self.risky_below not in (0, below):
            return None
        self.risky_below = below
        return self.ints(statistic)

    def loss(self, loss: CellTable) -> Column:
        """The sum of a cell loss, in its whole numbers."""
        column = INTS + self.loss_place(loss)
        return lambda counted: counted.ints[:, column]

    def loss_place(self, loss: CellTable) -> int:
        """The place of a cell loss among those that are added up."""
        if loss not in self.losses:
            self.losses.append(loss)
        return self.losses.index(loss)

    def hist(self, kind: int, columns: list[Counts], parameter: float = 0.0) -> Column:
        """A number of each class's histogram, worst over the classes and over the columns (of sums: the sum)."""
        places = self.places(kind, columns, parameter)
        worst = np.min if kind in (DISTINCT, ENTROPY, BEHIND, PRESENCE_MIN) else np.max
        return lambda counted: worst(counted.reals[:, places], axis=1)

    def total(self, kind: int, counts: Counts, worths: tuple[int, ...], parameter: float = 0.0) -> Column:
        """A sum over classes that goes by the worth of values (COST, VARIANCE, DEVIATION)."""
        place = self.places(kind, [counts], parameter, worths)[0]
        return lambda counted: counted.reals[:, place]

    def places(
        self, kind: int, columns: list[Counts], parameter: float = 0.0, worths: tuple[int, ...] = ()
    ) -> list[int]:
        """The places of a number of each column among those that are asked for."""
        places = []
        for counts in columns:
            same = [
                i
                for i, (other, known, *further) in enumerate(self.numbers)
                if (other, *further) == (kind, parameter, worths) and known is counts
            ]
            if not same:
                self.numbers.append((kind, counts, parameter, worths))
            places.append(same[0] if same else len(self.numbers) - 1)
        return places


Reader = Callable[[Questions], Reading | None]


def whole(column: Column, higher: bool = False, bounds: tuple[BoundTerm, ...] = ()) -> Reading:
    """A measure that is a whole number itself."""
    return Reading(lambda c: column(c).astype(np.float64), (lambda c: -column(c)) if higher else column, bounds)


def real(value: Column, higher: bool = False, bounds: tuple[BoundTerm, ...] = ()) -> Reading:
    """A measure that is a real number, compared by its first twelve digits."""
    return Reading(value, lambda counted: real_keys(value(counted), higher), bounds)


def real_keys(values: np.ndarray, higher: bool = False) -> np.ndarray:
    """Real numbers as whole numbers that sort alike after rounding to twelve digits; lower is better."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ranked = np.abs(values)
        size = np.where((ranked < 1e-290) | np.isinf(values), 1.0, 10.0 ** np.floor(np.log10(ranked)))
        rounded = np.round(values / size, DIGITS - 1) * size + 0.0  # + 0.0 makes -0.0 a 0.0
    signed = np.ascontiguousarray(-rounded if higher else rounded) + 0.0
    bits = signed.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


@dataclass(frozen=True)
class ClassNumber:
    """A number about one class as the kernels know it, for limits that classes are judged by (rule constraint)."""

    kind: int  # one of the kernels' kinds of histogram numbers, or CLASS_SIZE
    parameter: float = 0.0
    column: str | None = None  # the sensitive column; None means all of them
    of: Literal["sensitive", "population"] = "sensitive"  # whose counts the number is made of
    known: bool = False  # missing values do not count

    def columns(self, table: Table) -> list[Counts]:
        """The columns meant: the named sensitive one, else all; the people of the population; none for the size."""
        if self.of == "population":
            return [table.joined.people]
        return [] if self.kind == CLASS_SIZE else sensitive_columns(table, self.column, self.known)

    def is_counted(self, table: Table) -> bool:
        """Whether the kernels count it: where values count rows, entropies of whole classes alone."""
        if self.kind == CLASS_SIZE or self.of == "population":
            return True
        if table.persons is not None:
            return all(counts.held is not None for counts in self.columns(table))
        return self.kind != ENTROPY or all(int(c.totals.sum()) == table.rows for c in self.columns(table))

    def worst(self, questions: Questions) -> Reading | None:
        """The worst class, as a measure."""
        if not self.is_counted(questions.table):
            return None
        columns = self.columns(questions.table)
        number = questions.hist(self.kind, columns, self.parameter)
        kind = BY_SET if self.kind == DISTINCT else BY_CLASS
        bounds = tuple(BoundTerm(kind, index) for index in questions.places(self.kind, columns, self.parameter))
        # A union of classes can be further off than its parts where only present values count (delta).
        return real(number, self.kind in (DISTINCT, ENTROPY), () if self.kind == DELTA else bounds)


def sensitive_columns(table: Table, column: str | None, known: bool = False) -> list[Counts]:
    """The sensitive columns meant: the named one, else all; ``known``: without the missing value."""
    columns = table.sensitive
    if column is not None or not columns:
        columns = (table.counts(column, "sensitive"),)
    return [table.known[table.sensitive.index(counts)] if known else counts for counts in columns]


@dataclass(frozen=True)
class TargetTerm:
    """What the compiled searches for one number minimize of a target column."""

    # Rows not of the majority, the same with costs; dispersion around the mean and the median of each group.
    kind: Literal["minority", "cost", "variance", "deviation"]
    column: str | None
    share: bool = True  # of all rows; else a number of rows
    costs: Mapping[str, Mapping[str, float]] | None = field(default=None, compare=False)  # true -> predicted -> cost


@dataclass(frozen=True)
class Reach:
    """The best value that a table allows a model, and what of the table is in the way of a better one."""

    best: float
    why: str  # half a sentence: the table has 40 rows
    reached: bool = True  # by hiding every quasi-identifier; else nobody knows of a recoding that has it


Reacher = Callable[[Table, int], Reach]  # a table, and how many of its rows may be suppressed
