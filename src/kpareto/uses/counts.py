"""Random counts over one, two and three columns, and how far off they are when they are taken from a release.

A count asks how many rows have values within a range (15 to 50 % of the values of an ordered column) or within a branch
of a hierarchy. Those of at least 0.2 % of the rows are judged; LeFevre et al. (2006) judged Mondrian by such counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadJob, did_you_mean, shorten
from kpareto.interrupts import pause
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.table import Counts, Table
from kpareto.uses.views import LabelView, further_counts, occurring_values

DRAWN = 400  # counts that are drawn
LEAST = 0.002  # of the rows: what a count must have to be judged
COLUMNS = 3  # of one count, at the most
NARROW, WIDE = 0.15, 0.5  # of the values: how wide a range is

Query = Mapping[str, np.ndarray]  # column -> which of its values count: (values,) bool


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
    for name in query:
        if name not in view.names:
            counts = view.counts(name)
            weights = np.bincount(counts.row, counts.count * query[name][counts.code], len(view.weights))
    rows: np.ndarray | slice = slice(None)
    own = [name for name in query if name in view.names]
    for name in sorted(own, key=lambda name: query[name].mean()):  # most rows are out after the narrowest column
        codes, spread = view.column(name)
        share, labels = spread.shares(query[name].astype(np.int64), 2)[:, 1], codes[rows]
        kept = np.flatnonzero((share > 0)[labels])
        weights = weights[kept] * share[labels[kept]]
        rows = kept if isinstance(rows, slice) else rows[kept]
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


def draw_queries(table: Table, original: LabelView, seed: int, drawn: int = DRAWN) -> tuple[list[Query], list[float]]:
    """Random counts that have enough rows, and these rows; the same ones for a seed."""
    random = np.random.default_rng(seed)
    own, others = list(table.schema.quasi), further_counts(table)
    occurring = {counts.name: np.flatnonzero(counts.totals) for counts in others}
    occurring |= {name: occurring_values(table, column) for column, name in enumerate(own)}
    queries: list[Query] = []
    counted: list[float] = []
    for _ in range(drawn):
        pool = [*own, *([others[random.integers(len(others))].name] if others else [])]
        many = int(random.integers(1, min(COLUMNS, len(pool)) + 1))
        chosen = [pool[place] for place in random.choice(len(pool), size=many, replace=False).tolist()]
        query = {name: _draw_values(random, table, name, occurring[name]) for name in chosen}
        rows = take_count(original, query)
        if rows >= max(LEAST * original.rows, 1):
            queries.append(query)
            counted.append(rows)
    return queries, counted


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


def read_query(table: Table, wish: Mapping[str, Iterable[str]]) -> Query:
    """A count that somebody else drew: column -> the values that count."""
    further = {counts.name: counts for counts in further_counts(table)}
    query = {}
    for name, wanted in wish.items():
        values = further[name].values if name in further else table.hierarchies[table.column(name)].leaves
        place = {value: at for at, value in enumerate(values)}
        mask = np.zeros(len(values), dtype=np.bool_)
        for value in wanted:
            if value not in place:
                raise BadJob(f"No value {value!r} in {name!r}. {did_you_mean(value, values)}It has: {shorten(values)}.")
            mask[place[value]] = True
        query[name] = mask
    return query


def numbers_of(counts: Counts) -> np.ndarray | None:
    """The numbers of a further column, where every value is one."""
    if counts.numbers is not None:
        return counts.numbers
    try:
        return np.array([float(value) for value in counts.values])
    except ValueError:
        return None
