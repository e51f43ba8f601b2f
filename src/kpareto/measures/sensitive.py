"""Privacy measured by sensitive values: the l family, t-closeness, (alpha,k), beta-likeness and delta-disclosure.

Each is a Model: one number per class from how often each sensitive value occurs in it, and the worst visible class
is the measure. Shares count persons where the table tells them apart, else rows (``measures/persons.py``). Without a
column name the worst over all sensitive columns is taken. p is a value's share in the class, q its share in the whole
table (``reference="table"``) or in the visible rows (``reference="release"``, which someone can recompute who has only
the release). The trends are those of rows, and of persons whose rows all lie in one class: one whose rows come
together only as classes merge may make a union worse than its parts.
In an empty release nothing is learned: diversities are infinite, distances and gains 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np

from kpareto.errors import BadJob, BadTable, did_you_mean, shorten
from kpareto.kernels.words import (
    ALPHA,
    BETA,
    DELTA,
    DISTINCT,
    ENHANCED_BETA,
    ENTROPY,
    RECURSIVE,
    T_EQUAL,
    T_ORDERED,
)
from kpareto.measures import reach
from kpareto.measures.measure import Aspect, Better, Model, Trend, drop_unset, named, spell, trends
from kpareto.measures.persons import Reference, Units, count_units, fewest_values
from kpareto.measures.reading import ClassNumber, sensitive_columns
from kpareto.tables.hierarchy import MISSING, Hierarchy
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import fold_spelling
from kpareto.tables.table import Counts

Distance = Literal["equal", "ordered", "hierarchical"]
ABSOLUTE = Aspect("privacy", column="sensitive", recounted=True)
RELATIVE = replace(ABSOLUTE, relative=True)
CHUNK = 2**22  # cells of a dense class × value block
# Digits as a person writes a number, so that codes such as 007 stay texts.
PLAIN_NUMBER = re.compile(r"[+-]?(inf|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)", re.ASCII)


@dataclass(frozen=True, eq=False)
class Ratios:
    """Numbers of classes as fractions: each class's number is the worst of its entries."""

    over: np.ndarray  # (entries,) int64 (float64 where whole numbers would overflow)
    under: np.ndarray  # (entries,) the same, 0 for an infinite ratio
    start: np.ndarray  # (classes,) int64, first entry of each class

    def values(self) -> np.ndarray:
        """(entries,) float64."""
        result = np.full(len(self.over), np.inf)
        np.divide(self.over, self.under, out=result, where=self.under != 0)
        return result

    def by_class(self, better: Better) -> np.ndarray:
        """The worst entry of each class: (classes,) float64."""
        worst = np.minimum if better == "higher" else np.maximum
        return worst.reduceat(self.values(), self.start)

    def exact(self, better: Better, visible: np.ndarray) -> Fraction | None:
        """The worst entry of the visible classes, without rounding."""
        if self.over.dtype.kind == "f":
            return None
        entries = np.flatnonzero(np.repeat(visible, np.diff(np.append(self.start, len(self.over)))))
        values = self.values()[entries]
        worst = values.min() if better == "higher" else values.max()
        if np.isinf(worst):
            return None
        near = entries[np.abs(values - worst) <= 1e-9 * max(1.0, abs(worst))]
        pairs = np.unique(np.stack((self.over[near], self.under[near]), axis=1), axis=0).tolist()
        fractions = [Fraction(over, under) for over, under in pairs]
        return min(fractions) if better == "higher" else max(fractions)


@dataclass(frozen=True)
class _Kind:
    """What a model of sensitive values is called, what it counts, and how the kernels know it."""

    name: str
    better: Better
    unit: str
    trend: Trend
    parameters: Mapping[str, object]
    kernel: tuple[int, float] | None = None  # kind and parameter of the kernels' class number
    aspect: Aspect = ABSOLUTE
    best: reach.ColumnBest | None = None  # that the values allow; None: all as one class is as good as can be
    nobody: float = math.inf  # of a class in which nobody has a value
    known: bool = False  # missing values do not count
    even: bool = False  # each person is spread evenly over their values

    @property
    def column(self) -> str | None:
        """The sensitive column meant; None for all of them."""
        named = self.parameters.get("column")
        return None if named is None else str(named)

    @property
    def reference(self) -> Reference:
        """What classes are compared with."""
        return "release" if self.parameters.get("reference") == "release" else "table"

    def units(self, partition: Partition) -> list[tuple[Units, np.ndarray]]:
        """Of each column meant the persons or rows of the classes, and which classes have any."""
        columns = sensitive_columns(partition.table, self.column, self.known)
        return [count_units(partition, counts, self.reference, self.even) for counts in columns]


def _model(
    kind: _Kind, by_class: Callable[[Units], np.ndarray], ratios: Callable[[Units], Ratios] | None = None
) -> Model:
    """A Model of one column's persons or rows per class, taken as the worst over the columns meant."""
    better = kind.better
    worst = np.minimum if better == "higher" else np.maximum

    def one(units: Units, some: np.ndarray) -> np.ndarray:
        numbers = np.full(len(some), kind.nobody)
        if some.any():
            numbers[some] = by_class(units)
        return numbers

    def each(partition: Partition) -> np.ndarray:
        return worst.reduce([one(units, some) for units, some in kind.units(partition)])

    def exact(partition: Partition) -> Fraction | None:
        if ratios is None or (partition.empty and better == "higher"):
            return None
        if partition.empty:
            return Fraction(0)
        exacts = []
        for units, some in kind.units(partition):
            if (partition.visible & ~some).any() or not units.visible.any():
                return None if math.isinf(kind.nobody) else Fraction(kind.nobody)
            exacts.append(ratios(units).exact(better, units.visible))
        known = [value for value in exacts if value is not None]
        if len(known) < len(exacts):
            return None
        return min(known) if better == "higher" else max(known)

    name = spell(kind.name, **kind.parameters)
    judged = None if kind.kernel is None else ClassNumber(*kind.kernel, kind.column, known=kind.known)
    reading = None if judged is None else judged.worst
    trend = trends(kind.trend)
    best = None if kind.best is None else reach.reach_column(kind.best, kind.column, better, kind.known)
    return Model(name, better, kind.unit, trend, each, exact, kind.aspect, kind.parameters, reading, judged, best)


def _ratio_model(kind: _Kind, ratios: Callable[[Units], Ratios]) -> Model:
    return _model(kind, lambda units: ratios(units).by_class(kind.better), ratios)


@named("l")
def distinct_l(column: str | None = None) -> Model:
    """Distinct l-diversity: the fewest distinct sensitive values in a class (Machanavajjhala et al. 2006).

    With persons: the fewest values that together touch every person of the class. A missing value never counts.
    """

    def ratios(units: Units) -> Ratios:
        distinct = fewest_values(units.counts)
        return Ratios(distinct, np.ones_like(distinct), np.arange(len(distinct)))

    aspect = replace(ABSOLUTE, logarithmic=True, shown=True)
    kernel, best = (DISTINCT, 0.0), reach.most_distinct
    parameters, unit = drop_unset(column=column), "distinct values"
    return _ratio_model(_Kind("l", "higher", unit, "rises", parameters, kernel, aspect, best, 0.0, True), ratios)


def _fill(units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Of each class the most uneven distribution of one value per person, falling: entries, and where classes start.

    The most frequent value is given to everybody who has it, the next one to as many of those who are left, and so on,
    which is the count of each value itself where nobody has two. Every other choice is at least as even: in no choice
    do j values have more persons than the j most frequent ones have together.
    """
    counts = units.counts
    order = np.lexsort((-counts.count, counts.row))  # within a class from the most frequent value down
    falling, start = counts.count[order], counts.start[:-1]
    sums = np.cumsum(falling)
    before = sums - falling - (sums - falling)[start][counts.row]
    return np.clip(units.rows - before, 0, falling), start


@named("entropy-l")
def entropy_l(column: str | None = None) -> Model:
    """Entropy l-diversity: the least exp(−Σ p ln p) of a class (Machanavajjhala et al. 2006, definition 4.1).

    With persons: of the most uneven distribution that one value of each person could have. A missing value never
    counts.
    """

    def by_class(units: Units) -> np.ndarray:
        filled, start = _fill(units)
        p = filled / units.rows
        terms = np.zeros(len(p))
        np.log(p, out=terms, where=p > 0)
        return np.exp(np.add.reduceat(-p * terms, start))

    # Entropy is concave, so a union has at least the smaller entropy of its parts.
    unit, parameters, kernel = "effective number of values", drop_unset(column=column), (ENTROPY, 0.0)
    best = reach.most_entropy
    return _model(_Kind("entropy-l", "higher", unit, "rises", parameters, kernel, ABSOLUTE, best, 0.0, True), by_class)


@named("recursive-l")
def recursive_l(l: float = 2, column: str | None = None) -> Model:
    """The least c of recursive (c,l)-diversity: r₁ / (r_l + … + r_m), counts falling (Machanavajjhala et al. 2006).

    A class is (c,l)-diverse for every c above this number, which is infinite with fewer than l distinct values. With
    persons the counts are those of the most uneven distribution of one value per person. A missing value never counts.
    """
    if l < 2 or l != int(l):
        raise BadJob(f"recursive-l has l = {l!r}. Give a whole number of at least 2.")
    rank = int(l)

    def ratios(units: Units) -> Ratios:
        falling, start = _fill(units)
        rank_in_class = np.arange(len(falling)) - start[units.counts.row]
        tail = np.add.reduceat(np.where(rank_in_class >= rank - 1, falling, 0), start)
        return Ratios(falling[start], tail, np.arange(len(start)))

    parameters = drop_unset(l=None if rank == 2 else rank, column=column)
    # r₁ of a union is at most the sum of both r₁, its tail at least the sum of both tails.
    kernel, best = (RECURSIVE, float(rank)), partial(reach.least_recursive, rank)
    kind = _Kind("recursive-l", "lower", "least c", "falls", parameters, kernel, best=best, known=True)
    return _ratio_model(kind, ratios)


@named("alpha")
def alpha(column: str | None = None, value: str | None = None) -> Model:
    """The largest share of one sensitive value, or of the given value, in a class: (α,k) (Wong et al. 2006).

    With persons: the share of the persons of the class who have it.
    """

    def ratios(units: Units) -> Ratios:
        counts = units.counts
        count = counts.count if value is None else np.where(counts.code == _code(counts, value), counts.count, 0)
        return Ratios(np.maximum.reduceat(count, counts.start[:-1]), units.sizes, np.arange(len(units.sizes)))

    parameters = drop_unset(column=column, value=value)
    kernel = (ALPHA, 0.0) if value is None else None

    def best(counts: Counts, spare: int) -> float:
        if value is None:
            return reach.least_share(counts, spare)
        return reach.least_share_of(_code(counts, value), counts, spare)

    kind = _Kind("alpha", "lower", "share of a class", "falls", parameters, kernel, best=best, nobody=1.0)
    return _ratio_model(kind, ratios)


def _code(counts: Counts, value: str) -> int:
    """The code of a value; in another spelling where exactly one is spelled so."""
    if value in counts.values:
        return counts.values.index(value)
    alike = [place for place, other in enumerate(counts.values) if fold_spelling(other) == fold_spelling(value)]
    if len(alike) != 1:
        raise BadTable(
            f"The column {counts.name!r} has no value {value!r}. {did_you_mean(value, counts.values)}"
            f"It has: {shorten(counts.values)}."
        )
    return alike[0]


@dataclass(frozen=True, eq=False)
class _Shares:
    """p and q as whole numbers: p = count / rows, q = total / whole; rows are persons where these are told apart."""

    count: np.ndarray  # (entries,)
    total: np.ndarray  # (entries,) of the entry's value
    rows: np.ndarray  # (entries,) of the entry's class
    whole: int
    totals: np.ndarray  # (values,)

    @property
    def gain(self) -> np.ndarray:
        """Numerator of p − q over rows · whole: (entries,)."""
        return self.count * self.whole - self.total * self.rows


def _shares(units: Units) -> _Shares:
    counts = units.counts
    # Products below 2**62 stay whole numbers; beyond that floats are good enough, but nothing is exact.
    most = max(units.whole, int(units.sizes.max(initial=0)))
    small = most**2 * (len(counts.values) + 1) < 2**62 and counts.count.dtype.kind == "i"
    kind = np.int64 if small else np.float64
    totals = units.totals.astype(kind)
    return _Shares(counts.count.astype(kind), totals[counts.code], units.rows.astype(kind), units.whole, totals)


def _check_reference(reference: str) -> None:
    if reference not in ("table", "release"):
        raise BadJob(f"The reference {reference!r} is not known. Write 'table' or 'release'.")


@named("t")
def t(
    column: str | None = None,
    distance: Distance = "equal",
    hierarchy: Hierarchy | None = None,
    reference: Reference = "table",
) -> Model:
    """t-closeness: the largest earth mover's distance between a class and the reference (Li et al. 2007).

    ``equal``: ½ Σ |p − q|. ``ordered``: Σ |running sum of p − q| / (m − 1), values in their order (numbers by size,
    a hierarchy's leaves in its order). ``hierarchical``: two values are as far apart as the lowest level at which
    they meet, divided by the height, hence Σ over levels and groups |p − q| / (2 · height). The levels are those of
    ``hierarchy``, else of the one that the table has for the column.
    """
    _check_reference(reference)
    if distance not in ("equal", "ordered", "hierarchical"):
        raise BadJob(f"The distance {distance!r} of t is not known. Write equal, ordered or hierarchical.")
    if not isinstance(hierarchy, Hierarchy | None):
        raise BadJob(
            f"The hierarchy of t is {hierarchy!r:.60}, and no name can hold one. Leave it out: the one that the "
            "sensitive column has in the job is taken. In Python give a Hierarchy."
        )

    def ratios(units: Units) -> Ratios:
        if distance == "hierarchical":
            tree = hierarchy or _tree_of(units)
            return _hierarchical(_place(units, tree), tree)
        if distance == "equal":
            return _equal(units)
        placed = units if hierarchy is None else _place(units, hierarchy)
        return _order(placed if reference == "table" else _count_seen(placed, hierarchy is None))

    tree = None if hierarchy is None or distance == "equal" else hierarchy.name
    parameters = drop_unset(
        column=column,
        distance=None if distance == "equal" else distance,
        hierarchy=tree,
        reference=None if reference == "table" else reference,
    )
    counted = {"equal": (T_EQUAL, 0.0), "ordered": (T_ORDERED, 0.0)}.get(distance)
    kernel = counted if tree is None and reference == "table" else None
    aspect = replace(RELATIVE, recounted=tree is None)  # a certificate has the table's own hierarchy, and no other
    # A distance to a fixed distribution is convex, so a union is no farther than its farthest part.
    unit = "distance from 0 to 1"
    return _ratio_model(_Kind("t", "lower", unit, "falls", parameters, kernel, aspect, nobody=1.0, even=True), ratios)


def _equal(units: Units) -> Ratios:
    shares, start = _shares(units), units.counts.start[:-1]
    # Σ |p − q| / 2 = Σ over the values present of (p − q)⁺, because both sum to one.
    over = np.add.reduceat(np.maximum(shares.gain, 0), start)
    return Ratios(over, shares.rows[start] * shares.whole, np.arange(len(over)))


def _order(units: Units) -> Ratios:
    shares, counts = _shares(units), units.counts
    width, count = len(counts.values), len(units.sizes)
    over = np.zeros(count, dtype=shares.count.dtype)
    rows = shares.rows[counts.start[:-1]]
    step = max(1, CHUNK // width)
    for first in range(0, count, step):
        last = min(first + step, count)
        inside = slice(int(counts.start[first]), int(counts.start[last]))
        gap = -shares.totals * rows[first:last, None]
        gap[counts.row[inside] - first, counts.code[inside]] += shares.count[inside] * shares.whole
        over[first:last] = np.abs(np.cumsum(gap, axis=1)).sum(axis=1)
    return Ratios(over, rows * (shares.whole * max(width - 1, 1)), np.arange(count))


def _count_seen(units: Units, sort: bool) -> Units:
    """The units by the values of visible rows alone, in the order that someone finds who has only the release.

    That is numbers by size, where all of them are numbers, else texts; the missing value last. What stands in rows that
    nobody sees must not stretch the scale, and neither tell whether the values are numbers. Unless ``sort``, the order
    is that of a hierarchy.
    """
    counts = units.counts
    there = np.unique(counts.code[units.visible[counts.row]]).tolist()
    if sort:
        plain = [code for code in there if counts.values[code] != MISSING]
        number = all(PLAIN_NUMBER.fullmatch(counts.values[code]) for code in plain)
        texts = {code: counts.values[code] for code in plain}
        plain.sort(key=lambda code: (float(texts[code]) if number else 0.0, texts[code].casefold(), texts[code]))
        there = plain + [code for code in there if counts.values[code] == MISSING]
    rank = np.zeros(len(counts.values), dtype=np.int64)  # values of invisible rows stand anywhere: nobody asks
    rank[there] = np.arange(len(there))
    return _recode(units, rank, tuple(counts.values[code] for code in there) or counts.values)


def _tree_of(units: Units) -> Hierarchy:
    """The hierarchy that the table has for the sensitive column."""
    if units.tree is None:
        name = units.counts.name
        raise BadTable(
            f"The distance hierarchical of t needs a hierarchy of the sensitive column {name!r}, and there is none. "
            f"Give one: hierarchy under [columns.{name}] in a job."
        )
    return units.tree


def _hierarchical(units: Units, hierarchy: Hierarchy) -> Ratios:
    over: np.ndarray | None = None
    under: np.ndarray | None = None
    for level in range(hierarchy.height):
        part = _equal(_recode(units, hierarchy.groups[level], hierarchy.labels[level]))
        over = part.over if over is None else over + part.over
        under = part.under
    if over is None or under is None:
        nothing = np.zeros(len(units.sizes), dtype=np.int64)
        return Ratios(nothing, nothing + 1, np.arange(len(nothing)))
    return Ratios(over, under * hierarchy.height, np.arange(len(over)))


def _place(units: Units, hierarchy: Hierarchy) -> Units:
    """The units with the hierarchy's leaves as values."""
    counts = units.counts
    leaf = hierarchy.locate(counts.values)
    if (leaf < 0).any():
        lost = [value for value, leaf_of in zip(counts.values, leaf.tolist(), strict=True) if leaf_of < 0]
        raise BadTable(
            f"The hierarchy {hierarchy.name!r} has no place for {len(lost):,} value"
            f"{'s' if len(lost) > 1 else ''} of {counts.name!r}: "
            f"{shorten(lost, 5)}. Add them to the hierarchy."
        )
    return _recode(units, leaf, hierarchy.leaves)


def _recode(units: Units, recode: np.ndarray, values: tuple[str, ...]) -> Units:
    """The units after values were replaced by (values,) recode, merged within each class."""
    counts, width = units.counts, len(values)
    keys, entry = np.unique(counts.row * width + recode[counts.code], return_inverse=True)
    count = np.bincount(entry, weights=counts.count, minlength=len(keys)).astype(counts.count.dtype)
    start = np.searchsorted(keys, np.arange(len(counts.start)) * width).astype(np.int64)
    totals = np.bincount(recode, weights=units.totals, minlength=width).astype(units.totals.dtype)
    merged = Counts(counts.name, values, start, (keys % width).astype(np.int32), count)
    return replace(units, counts=merged, totals=totals)


@named("beta")
def beta(column: str | None = None, reference: Reference = "table") -> Model:
    """Basic β-likeness: the largest relative gain (p − q) / q of a value (Cao & Karras 2012, definition 2)."""
    _check_reference(reference)

    def ratios(units: Units) -> Ratios:
        shares = _shares(units)
        return Ratios(shares.gain, shares.total * shares.rows, units.counts.start[:-1])

    parameters = drop_unset(column=column, reference=None if reference == "table" else reference)
    kernel = (BETA, 0.0) if reference == "table" else None
    return _ratio_model(_Kind("beta", "lower", "relative gain", "falls", parameters, kernel, RELATIVE), ratios)


@named("enhanced-beta")
def enhanced_beta(column: str | None = None, reference: Reference = "table") -> Model:
    """The least β of enhanced β-likeness: (p − q) / q ≤ min(β, −ln q) for every value (Cao & Karras 2012, def. 3).

    Infinite where some value gains more than −ln q: then no β helps.
    """
    _check_reference(reference)

    def by_class(units: Units) -> np.ndarray:
        shares, start = _shares(units), units.counts.start[:-1]
        gain = Ratios(shares.gain, shares.total * shares.rows, start).values()
        with np.errstate(divide="ignore"):
            bound = -np.log(shares.total / shares.whole)
        return np.maximum.reduceat(np.where(gain > bound + 1e-12, np.inf, gain), start)

    parameters = drop_unset(column=column, reference=None if reference == "table" else reference)
    kernel = (ENHANCED_BETA, 0.0) if reference == "table" else None
    return _model(_Kind("enhanced-beta", "lower", "relative gain", "falls", parameters, kernel, RELATIVE), by_class)


@named("delta")
def delta(
    column: str | None = None, absent: Literal["ignored", "infinite"] = "ignored", reference: Reference = "table"
) -> Model:
    """δ-disclosure: the largest |ln(p / q)| of a value (Brickell & Shmatikov 2008, definition 2).

    A value that a class lacks would make it infinite; as pyCANON and ARX do, such values are ignored unless
    ``absent="infinite"``.
    """
    _check_reference(reference)
    if absent not in ("ignored", "infinite"):
        raise BadJob(f"delta has absent = {absent!r}. Write 'ignored' or 'infinite'.")

    def by_class(units: Units) -> np.ndarray:
        shares, counts = _shares(units), units.counts
        with np.errstate(divide="ignore"):
            apart = np.abs(np.log(shares.count * float(shares.whole) / (shares.total * shares.rows)))
        worst = np.maximum.reduceat(apart, counts.start[:-1])
        if absent == "infinite":
            worst[np.diff(counts.start) < int((shares.totals > 0).sum())] = np.inf
        return worst

    parameters = drop_unset(
        column=column,
        absent=None if absent == "ignored" else absent,
        reference=None if reference == "table" else reference,
    )
    # p of a union lies between those of its parts, so |ln(p / q)| cannot grow, unless a part lacked the value.
    trend: Trend = "falls" if absent == "infinite" else "either"
    kernel = (DELTA, 0.0) if absent == "ignored" and reference == "table" else None
    return _model(_Kind("delta", "lower", "log ratio", trend, parameters, kernel, RELATIVE), by_class)


def usual_models(column: str) -> dict[str, Model]:
    """The models of one sensitive column that people ask for by name, but t, whose distance depends on the values."""
    return {
        "l": distinct_l(column),
        "entropy-l": entropy_l(column),
        "alpha": alpha(column),
        "beta": beta(column),
        "enhanced-beta": enhanced_beta(column),
        "delta": delta(column),
    }
