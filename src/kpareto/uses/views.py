"""Views: the rows of a table as an analyst has them, each label as shares of the values it stands for.

The original, a release and the control are views of one kind, so every number of use is one function of a view, taken
three times. The control has one label per quasi-identifier, which stands for all its values in proportion to the
number of rows that they have: what somebody knows who has the column totals and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kpareto.tables.partition import Partition
from kpareto.tables.table import Counts, Table, merge_counts

TURNS = 200  # of the fitting, at the most: column totals and labels by turns


@dataclass(frozen=True, eq=False)
class Spread:
    """What the labels of a column stand for: entries (label, value, share), the shares of a label add up to 1."""

    label: np.ndarray  # (entries,) int64
    value: np.ndarray  # (entries,) int64
    share: np.ndarray  # (entries,) float64
    labels: int
    values: int
    ends: tuple[np.ndarray, np.ndarray] | None = None  # (labels,) first and last value; None: a label is its value

    def shares(self, group: np.ndarray, groups: int) -> np.ndarray:
        """The share of each label that falls into each group of values: (labels, groups) float64."""
        place = self.label * groups + group[self.value]
        return np.bincount(place, self.share, self.labels * groups).reshape(self.labels, groups)


@dataclass(frozen=True, eq=False)
class LabelView:
    """Rows that show labels, with how many rows of the table each stands for."""

    names: tuple[str, ...]  # of the quasi-identifiers
    weights: np.ndarray  # (rows,) float64
    codes: tuple[np.ndarray, ...]  # per quasi-identifier (rows,), its label
    spreads: tuple[Spread, ...]
    further: tuple[Counts, ...]  # sensitive and target columns, in values of the original
    members: np.ndarray | None = None  # (distinct rows of the original,) the row here, -1: dropped; None: nobody knows

    @cached_property
    def rows(self) -> float:
        """Rows of the table that it shows."""
        return float(self.weights.sum())

    def column(self, name: str) -> tuple[np.ndarray, Spread]:
        """The labels of a column and what they stand for; a further column shows its values, entry by entry."""
        if name in self.names:
            return self.codes[self.names.index(name)], self.spreads[self.names.index(name)]
        counts = self.counts(name)
        return counts.code, identity(len(counts.values))

    def counts(self, name: str) -> Counts:
        """The counts of a further column."""
        return next(counts for counts in self.further if counts.name == name)

    def take(self, names: Sequence[str]) -> tuple[list[np.ndarray], list[Spread], np.ndarray]:
        """Labels and spreads of some columns, and the weight of each line; one of them at most is a further one."""
        own = [name for name in names if name not in self.names]
        columns = [self.column(name) for name in names]
        if not own:
            return [codes for codes, _ in columns], [spread for _, spread in columns], self.weights
        counts = self.counts(own[0])
        codes = [code if name in own else code[counts.row] for name, (code, _) in zip(names, columns, strict=True)]
        return codes, [spread for _, spread in columns], counts.count.astype(np.float64)


def identity(values: int) -> Spread:
    """Labels that are the values themselves."""
    every = np.arange(values)
    return Spread(every, every, np.ones(values), values, values)


def spread_evenly(first: np.ndarray, last: np.ndarray, occurring: np.ndarray, values: int) -> Spread:
    """Each label as equal shares of the values in its run that occur (occurring: rising)."""
    begin, end = np.searchsorted(occurring, first), np.searchsorted(occurring, last, side="right")
    many = end - begin
    label = np.repeat(np.arange(len(first)), many)
    place = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    return Spread(label, occurring[begin[label] + place], 1 / many[label], len(first), values, (first, last))


def fit(spread: Spread, shown: np.ndarray, wanted: np.ndarray) -> Spread:
    """The shares fitted to the number of rows that each value has (iterative proportional fitting).

    shown: (labels,) rows with each label; wanted: (values,) rows with each value.
    """
    goal = wanted * (shown.sum() / wanted.sum())
    rows = shown[spread.label] * spread.share
    for _ in range(TURNS):
        totals = np.bincount(spread.value, rows, spread.values)
        if np.abs(totals - goal).max() <= 1e-13 * goal.sum():
            break
        rows *= (goal / np.maximum(totals, 1e-12))[spread.value]
        lines = np.bincount(spread.label, rows, spread.labels)
        rows *= (shown / np.maximum(lines, 1e-12))[spread.label]
    lines = np.bincount(spread.label, rows, spread.labels)[spread.label]
    return replace(spread, share=np.divide(rows, lines, out=spread.share.copy(), where=lines > 0))


def fit_view(view: LabelView, original: LabelView) -> LabelView:
    """A view whose labels are fitted to the totals of the original's columns."""
    fitted = []
    for codes, spread, own in zip(view.codes, view.spreads, original.codes, strict=True):
        wanted = np.bincount(own, original.weights, spread.values)
        fitted.append(fit(spread, np.bincount(codes, view.weights, spread.labels), wanted))
    return replace(view, spreads=tuple(fitted))


def view_original(table: Table) -> LabelView:
    """The table as it is: every label is a value."""
    spreads = tuple(identity(len(hierarchy.leaves)) for hierarchy in table.hierarchies)
    codes = tuple(np.ascontiguousarray(column) for column in table.codes.T)
    members = np.arange(table.distinct)
    return LabelView(table.schema.quasi, table.weights.astype(float), codes, spreads, further_counts(table), members)


def view_control(original: LabelView) -> LabelView:
    """Every quasi-identifier hidden, and the totals of each column known."""
    nothing = np.zeros(len(original.weights), dtype=np.int64)
    spreads = []
    for codes, spread in zip(original.codes, original.spreads, strict=True):
        share = np.bincount(codes, original.weights, spread.values) / original.rows
        spreads.append(Spread(np.zeros(spread.values, dtype=np.int64), np.arange(spread.values), share, 1, len(share)))
    return LabelView(
        original.names,
        np.array([original.rows]),
        tuple(np.zeros(1, dtype=np.int64) for _ in spreads),
        tuple(spreads),
        tuple(merge_counts(counts, nothing, 1) for counts in original.further),
        nothing,
    )


def view_release(partition: Partition) -> LabelView:
    """What a release of these classes shows, labels spread evenly; masked rows may have any value."""
    table, seen = partition.table, partition.visible
    place = np.where(seen, np.cumsum(seen) - 1, -1)
    codes, spreads = [], []
    for column, hierarchy in enumerate(table.hierarchies):
        leaves = len(hierarchy.leaves)
        first, last = partition.recoding.runs(column)
        first, last = np.append(first, 0), np.append(last, leaves - 1)  # the last label is that of masked rows
        groups = partition.groups[seen, column]
        codes.append(np.where(groups < 0, len(first) - 1, groups))
        spreads.append(spread_evenly(first, last, occurring_values(table, column), leaves))
    members = place[partition.members]
    further = tuple(_merge_seen(counts, members, int(seen.sum())) for counts in further_counts(table))
    return LabelView(
        table.schema.quasi, partition.rows[seen].astype(float), tuple(codes), tuple(spreads), further, members
    )


def occurring_values(table: Table, column: int) -> np.ndarray:
    """The leaves of a quasi-identifier that a row has, rising."""
    return np.flatnonzero(np.bincount(table.codes[:, column], minlength=len(table.hierarchies[column].leaves)))


def further_counts(table: Table) -> tuple[Counts, ...]:
    """The sensitive columns, then the targets that are not sensitive too; persons play no part in use."""
    have = {counts.name: replace(counts, held=None) for counts in (*table.targets, *table.sensitive)}
    names = dict.fromkeys(counts.name for counts in (*table.sensitive, *table.targets))
    return tuple(have[name] for name in names)


def _merge_seen(counts: Counts, members: np.ndarray, rows: int) -> Counts:
    """The counts per row of a view; those of dropped rows are left out."""
    kept = members[counts.row] >= 0
    start = np.concatenate(([0], np.cumsum(kept)))[counts.start]
    left = replace(counts, start=start, code=counts.code[kept], count=counts.count[kept])
    return merge_counts(left, np.maximum(members, 0), rows)
