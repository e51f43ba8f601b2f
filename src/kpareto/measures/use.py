"""What an analyst gets from a release, counted: views of a table, and how far off random counts are from them.

The original, a release and the control are views of one kind, so every number of use is one function of a view, taken
three times. The control has one label per quasi-identifier, which stands for all its values in proportion to the
number of rows that they have: what somebody knows who has the column totals and nothing else.

A count asks how many rows have values within a range (15 to 50 % of the values of an ordered column) or within a branch
of a hierarchy. Those of at least 0.2 % of the rows are judged; LeFevre et al. (2006) judged Mondrian by such counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from kpareto.interrupts import pause
from kpareto.measures.measure import Number, named, trends
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Partition
from kpareto.tables.table import Counts, Table, merge_counts

TURNS = 200  # of the fitting, at the most: column totals and labels by turns; one does where labels are whole levels
NEAR = 1e-13  # of all rows: fitted totals are this near to those that are wanted
TINY = 1e-12  # of a row, which is none
DRAWN = 400  # counts that are drawn
WORK = 100_000_000  # distinct rows that are looked at for these; of larger tables fewer counts are drawn
FEWEST = 60  # counts even so
MOST_DISTINCT = 3_000_000  # rows of a table whose counts are judged without being asked for
OF_USE = ("count-error", "relations")  # measures that any front can be asked for, whatever was searched
LEAST_ROWS = 30  # below which an error of counts says nothing
SEED = 1
CHANCE = 3.0  # standard errors by which two means differ by more than chance
LEAST = 0.002  # of the rows: what a count must have to be judged
COLUMNS = 3  # of one count, at the most
NARROW, WIDE = 0.15, 0.5  # of the values: how wide a range is

Query = Mapping[str, np.ndarray]  # column -> which of its values count: (values,) bool


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
    counted: bool = False  # whether one-way counts of the quasi-identifiers are given out with it

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
        further = [name for name in names if name not in self.names]
        columns = [self.column(name) for name in names]
        if not further:
            return [codes for codes, _ in columns], [spread for _, spread in columns], self.weights
        counts = self.counts(further[0])
        codes = [code if name in further else code[counts.row] for name, (code, _) in zip(names, columns, strict=True)]
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
    """The shares fitted to the number of rows that each value has (iterative proportional fitting, labels last).

    shown: (labels,) rows with each label; wanted: (values,) rows with each value. Labels without rows stay as they are.
    """
    goal = wanted * (shown.sum() / max(wanted.sum(), 1))
    rows = shown[spread.label] * spread.share
    before: np.ndarray = np.zeros(spread.values)
    for _ in range(TURNS):
        totals = np.bincount(spread.value, rows, spread.values)
        if min(np.abs(totals - end).max(initial=0) for end in (goal, before)) <= NEAR * goal.sum():
            break  # reached, or as near as dropped rows allow
        before = totals
        rows *= (goal / np.maximum(totals, TINY))[spread.value]
        rows *= (shown / np.maximum(np.bincount(spread.label, rows, spread.labels), TINY))[spread.label]
    lines = np.bincount(spread.label, rows, spread.labels)[spread.label]
    return replace(spread, share=np.divide(rows, lines, out=spread.share.copy(), where=lines > 0))


def fit_view(view: LabelView, original: LabelView) -> LabelView:
    """A view whose labels are fitted to the totals of the original's columns."""
    fitted = []
    for codes, spread, exact in zip(view.codes, view.spreads, original.codes, strict=True):
        wanted = np.bincount(exact, original.weights, spread.values)
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


# -- counts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Errors:
    """How far off counts are, as shares of the true counts."""

    mean: float
    median: float
    p90: float

    def to_dict(self) -> dict[str, float]:
        """As plain data."""
        return dict(vars(self))


def summarize(errors: np.ndarray) -> Errors | None:
    """Mean, median and 90th percentile; None where there are none."""
    if not len(errors):
        return None
    return Errors(float(errors.mean()), float(np.median(errors)), float(np.quantile(errors, 0.9)))


def take_count(view: LabelView, query: Query) -> float:
    """The rows that an analyst counts; at most one column of the query is no quasi-identifier."""
    pause()
    weights = view.weights
    for name in sorted(query, key=view.names.__contains__):  # the further column first: it says which rows count
        if name in view.names:
            codes, spread = view.column(name)
            weights = (
                weights * np.bincount(spread.label, spread.share * query[name][spread.value], spread.labels)[codes]
            )
        else:
            counts = view.counts(name)
            weights = np.bincount(counts.row, counts.count * query[name][counts.code], len(view.weights))
    return float(weights.sum())


def count_errors(
    original: LabelView, views: Iterable[LabelView], queries: Sequence[Query], counted: Sequence[float] | None = None
) -> np.ndarray:
    """|count - true count| / true count, rows that a view lacks made up for by scaling: (views, queries) float64."""
    true = np.array([take_count(original, query) for query in queries] if counted is None else counted)
    return np.array(
        [
            np.abs(np.array([take_count(view, query) for query in queries]) * (original.rows / view.rows) - true) / true
            for view in views
        ]
    ).reshape(-1, len(queries))


def draw_queries(
    table: Table, original: LabelView, seed: int, drawn: int | None = None
) -> tuple[list[Query], list[float]]:
    """Random counts that have enough rows, and these rows; the same ones for a seed, whatever the order of columns."""
    random = np.random.default_rng(seed)
    quasi, others = sorted(table.schema.quasi), further_counts(table)
    occurring = {counts.name: np.flatnonzero(counts.totals) for counts in others}
    occurring |= {name: occurring_values(table, table.column(name)) for name in quasi}
    drawn = drawn or int(np.clip(WORK // max(table.distinct, 1), FEWEST, DRAWN))
    queries: list[Query] = []
    counted: list[float] = []
    for _ in range(drawn):
        pool = [*quasi, *([others[random.integers(len(others))].name] if others else [])]
        many = int(random.integers(1, min(COLUMNS, len(pool)) + 1))
        chosen = [pool[place] for place in random.choice(len(pool), size=many, replace=False).tolist()]
        query = {name: _draw_values(random, table, name, occurring[name]) for name in chosen}
        rows = take_count(original, query)
        if rows >= max(LEAST * original.rows, 1):
            queries.append(query)
            counted.append(rows)
    return queries, counted


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The random counts of a table over two and three columns, and how far off they are with the totals alone."""

    original: LabelView
    queries: Sequence[Query]
    counted: Sequence[float]  # rows of each in the table

    @cached_property
    def control(self) -> np.ndarray:
        """The errors of somebody who has the totals of every column and nothing else: (queries,) float64."""
        return count_errors(self.original, [view_control(self.original)], self.queries, self.counted)[0]

    def errors(self, partition: Partition) -> np.ndarray:
        """The errors of a release, labels fitted to the totals; where nothing is released the totals are left."""
        if partition.empty or not self.queries:
            return self.control
        view = fit_view(view_release(partition), self.original)
        return count_errors(self.original, [view], self.queries, self.counted)[0]


def yardstick(table: Table) -> Yardstick:
    """The counts that every release of a table is judged by, drawn once."""
    if table not in _YARDSTICKS:
        original = view_original(table)
        drawn = zip(*draw_queries(table, original, SEED), strict=True)
        several = [(query, rows) for query, rows in drawn if len(query) > 1]
        _YARDSTICKS[table] = Yardstick(original, [query for query, _ in several], [rows for _, rows in several])
    return _YARDSTICKS[table]


_YARDSTICKS: WeakKeyDictionary[Table, Yardstick] = WeakKeyDictionary()


def control_of(table: Table, name: str) -> float | None:
    """What a measure of use is for somebody who has the column totals alone; None for any other measure."""
    if name == "count-error" and yardstick(table).queries:
        return float(yardstick(table).control.mean())
    return 1.0 if name == "relations" else None


def is_judged(table: Table) -> bool:
    """Whether counts of a table are judged without being asked for: there are enough rows to judge by, and not more."""
    return table.rows >= LEAST_ROWS and table.distinct <= MOST_DISTINCT and bool(yardstick(table).queries)


def is_more_than_chance(worse: np.ndarray, better: np.ndarray) -> bool:
    """Whether one release's errors are less than another's on the same counts: a paired test, three standard errors."""
    less = worse - better
    return len(less) > 1 and float(less.mean()) > CHANCE * float(less.std(ddof=1)) / math.sqrt(len(less))


@named("count-error")
def count_error() -> Number:
    """How far off random counts over two and three columns are: the mean relative error, labels fitted to totals.

    That of the control (the totals of every column alone) where every row is suppressed, 0 where no such count has
    enough rows. Finer labels may fit worse, so merging classes moves it in either direction.
    """

    def mean(partition: Partition) -> float:
        errors = yardstick(partition.table).errors(partition)
        return float(errors.mean()) if len(errors) else 0.0

    return Number("count-error", "lower", "mean share of a count", trends("either"), mean, parameters={})


def _draw_values(random: np.random.Generator, table: Table, name: str, occurring: np.ndarray) -> np.ndarray:
    """A range of an ordered column, a branch of any other, or a value of one without a hierarchy."""
    for counts in further_counts(table):
        if counts.name == name:
            if counts.numbers is not None:
                return _draw_range(random, occurring, len(counts.values))
            value = int(random.choice(occurring))
            return _values(len(counts.values), value, value)
    hierarchy = table.hierarchies[table.column(name)]
    if hierarchy.ordered:
        return _draw_range(random, occurring, len(hierarchy.leaves))
    return _values(len(hierarchy.leaves), *_draw_branch(random, hierarchy, int(random.choice(occurring))))


def _draw_range(random: np.random.Generator, occurring: np.ndarray, values: int) -> np.ndarray:
    many = len(occurring)
    width = max(1, int(many * random.uniform(NARROW, WIDE)))
    first = int(random.integers(0, many - width + 1))
    return _values(values, int(occurring[first]), int(occurring[first + width - 1]))


def _draw_branch(random: np.random.Generator, hierarchy: Hierarchy, leaf: int) -> tuple[int, int]:
    """One of the groups that a leaf belongs to, the whole column left out."""
    tree, node = hierarchy.tree, hierarchy.tree.runs[(leaf, leaf)]
    above = [node]
    while tree.parent[node] > 0:
        node = int(tree.parent[node])
        above.append(node)
    chosen = above[int(random.integers(len(above)))]
    return int(tree.first[chosen]), int(tree.last[chosen])


def _values(values: int, first: int, last: int) -> np.ndarray:
    mask = np.zeros(values, dtype=np.bool_)
    mask[first : last + 1] = True
    return mask


def numbers_of(counts: Counts) -> np.ndarray | None:
    """The numbers of a further column, where every value is one."""
    if counts.numbers is not None:
        return counts.numbers
    try:
        return np.array([float(value) for value in counts.values])
    except ValueError:
        return None
