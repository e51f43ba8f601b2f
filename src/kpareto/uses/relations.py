"""How much of the relation between two columns is left: mutual information, corrected, as a share of the original's.

Values are grouped first: neighbours, in the order of the hierarchy, are joined until each group has 2 % of the rows, so
that every table of two columns is well filled. From the mutual information of such a table (in nats) the bias that it
has by chance is taken, (a - 1)(b - 1) / 2 rows, where a and b are the numbers of groups that the labels tell apart:
the groups themselves where every value is shown (Miller 1955), 1 where all are hidden, between them otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kpareto.interrupts import pause
from kpareto.measures.targets import exceeds_chance, join_values, least_group, mutual_information
from kpareto.measures.use import LabelView

DENSE = 4_000_000  # pairs of labels that are counted in one table
ROUNDING = 1e-12  # nats that are none


@dataclass(frozen=True, eq=False)
class Groups:
    """The values of a column in groups of neighbours."""

    group: np.ndarray  # (values,) int64
    groups: int


@dataclass(frozen=True)
class Pair:
    """Two columns, and which share of the relation between them is left."""

    columns: tuple[str, str]
    original: float  # nats, corrected
    share: float


@dataclass(frozen=True)
class Relations:
    """What is left of the relations between columns, the pair that lost most first."""

    pairs: tuple[Pair, ...]
    unrelated: int  # pairs whose relation in the original is no more than chance

    @property
    def kept(self) -> float | None:
        """The share of all relations together, none counted above its own; None where no two columns are related."""
        total = sum(pair.original for pair in self.pairs)
        return sum(pair.original * min(pair.share, 1.0) for pair in self.pairs) / total if total > 0 else None


@dataclass(frozen=True, eq=False)
class Grouped:
    """A view in groups of values: per column its labels, and the share of each label in each group."""

    view: LabelView
    codes: Mapping[str, np.ndarray]  # quasi-identifiers (rows,), further columns (entries,)
    shares: Mapping[str, np.ndarray]  # (labels, groups) float64

    def table(self, one: str, two: str, weights: np.ndarray | None = None) -> np.ndarray:
        """The rows with each pair of groups: (groups, groups) float64; the first is a quasi-identifier."""
        pause()
        first, second = self.codes[one], self.codes[two]
        rows = self.view.weights if weights is None else weights
        if two not in self.view.names:
            counts = self.view.counts(two)
            first, rows = first[counts.row], counts.count.astype(np.float64)
        left, right = self.shares[one], self.shares[two]
        if len(left) * len(right) <= DENSE:
            labels = np.bincount(first * len(right) + second, rows, len(left) * len(right))
            return np.asarray(left.T @ (labels.reshape(len(left), len(right)) @ right))
        parts = [np.bincount(first, rows * part[second], len(left)) for part in right.T]
        return np.asarray(left.T @ np.stack(parts, axis=1))

    def told_apart(self, name: str) -> float:
        """How many groups of a column the labels tell apart, between 1 and all of them."""
        own = name in self.view.names
        rows = np.bincount(
            self.codes[name], self.view.weights if own else self.view.counts(name).count, len(self.shares[name])
        )
        totals = rows @ self.shares[name]
        seen = totals > 0
        return float((rows @ self.shares[name] ** 2)[seen] @ (1 / totals[seen]))

    def information(self, one: str, two: str) -> float:
        """The mutual information of two columns in nats, less what chance gives it."""
        whole = mutual_information(self.table(one, two))
        return whole - (self.told_apart(one) - 1) * (self.told_apart(two) - 1) / (2 * self.view.rows)


def group_columns(original: LabelView) -> dict[str, Groups]:
    """The groups of every column, quasi-identifiers first; a group has a share of the rows, and fills its table."""
    floor = least_group(original.rows)
    columns = {}
    for name, codes, spread in zip(original.names, original.codes, original.spreads, strict=True):
        columns[name] = _join(np.bincount(codes, original.weights, spread.values), floor)
    for counts in original.further:
        columns[counts.name] = _join(counts.totals.astype(np.float64), floor)
    return columns


def _join(rows: np.ndarray, floor: float) -> Groups:
    group = np.zeros(len(rows), dtype=np.int64)
    firsts = join_values(rows, floor)
    group[firsts[1:]] = 1
    return Groups(np.cumsum(group), len(firsts))


def group_view(view: LabelView, columns: Mapping[str, Groups]) -> Grouped:
    """A view in groups; labels with the same shares are one."""
    codes, shares = {}, {}
    for name, own, spread in zip(view.names, view.codes, view.spreads, strict=True):
        each = spread.shares(columns[name].group, columns[name].groups)
        shares[name], place = np.unique(each, axis=0, return_inverse=True)
        codes[name] = place.reshape(-1)[own]
    for counts in view.further:
        codes[counts.name] = columns[counts.name].group[counts.code]
        shares[counts.name] = np.eye(columns[counts.name].groups)
    return Grouped(view, codes, shares)


def relate(original: Grouped, release: Grouped, columns: Mapping[str, Groups]) -> Relations:
    """What is left of every relation of two columns, one of which at least is a quasi-identifier."""
    pairs, unrelated = [], 0
    for one, two in itertools.combinations(columns, 2):
        if one not in original.view.names:
            continue  # neither of them is recoded
        sizes = (columns[one].groups, columns[two].groups)
        true = original.information(one, two)
        if not exceeds_chance(true, sizes, original.view.rows):
            unrelated += 1
        else:
            left = release.information(one, two)
            pairs.append(Pair((one, two), true, left / true if left > ROUNDING else 0.0))
    return Relations(tuple(sorted(pairs, key=lambda pair: (pair.share, pair.columns))), unrelated)
