"""What a recoding does to a table: distributions before and after, two columns together, who is at risk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kpareto.errors import BadInput
from kpareto.fronts.front import Point
from kpareto.measures.properties import subgroups
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Partition
from kpareto.tables.table import distinct_rows

BINS = 60  # bars of a distribution
CELLS = 12  # rows and columns of a table of two columns; the rest is taken together
CLASSES = 12  # of the smallest classes
OTHERS = "others"


def distribution_view(point: Point, name: str) -> dict[str, Any]:
    """One quasi-identifier before and after; a group of values is spread evenly over the values that it stands for."""
    partition = point.partition
    table = partition.table
    column = table.column(name)
    leaves = table.hierarchies[column].leaves
    before = np.bincount(table.codes[:, column], weights=table.weights, minlength=len(leaves))  # (leaves,) float64
    rows = _group_rows(partition, column)  # (groups,) float64
    first, last = partition.recoding.runs(column)
    steps = np.zeros(len(leaves) + 1)
    np.add.at(steps, first, rows / (last - first + 1))
    np.add.at(steps, last + 1, -rows / (last - first + 1))
    after = np.cumsum(steps)[:-1]
    width = math.ceil(len(leaves) / BINS)
    starts = np.arange(0, len(leaves), width)
    shares = [side / max(side.sum(), 1.0) for side in (before, after)]
    order = np.argsort(-rows, kind="stable")[:CELLS]
    labels = partition.recoding.labels[column]
    return {
        "name": name,
        "labels": [_span(leaves, int(at), min(int(at) + width, len(leaves)) - 1) for at in starts],
        "before": np.add.reduceat(before, starts).tolist(),
        "after": [round(float(value), 6) for value in np.add.reduceat(after, starts)],
        "groups": [{"label": labels[g], "rows": int(rows[g])} for g in sorted(order.tolist())],
        "left": max(0, len(rows) - CELLS),
        "moved": float(np.abs(shares[0] - shares[1]).sum() / 2),
        "suppressed": partition.suppressed_rows,
    }


def _group_rows(partition: Partition, column: int) -> np.ndarray:
    kept = ~partition.suppressed
    count = len(partition.recoding.runs(column)[0])
    return np.bincount(partition.groups[kept, column], weights=partition.rows[kept], minlength=count)


def _span(leaves: tuple[str, ...], first: int, last: int) -> str:
    return leaves[first] if first == last else f"{leaves[first]} … {leaves[last]}"


@dataclass(frozen=True)
class _Pairs:
    """Two columns together: one entry per pair of categories that occurs."""

    labels: tuple[tuple[str, ...], tuple[str, ...]]
    codes: np.ndarray  # (entries, 2) int64
    rows: np.ndarray  # (entries,) float64


def contingency_view(point: Point, first: str, second: str) -> dict[str, Any]:
    """Two columns together, before and after, and how strongly they go together (Cramér's V over all categories)."""
    if first == second:
        raise BadInput("Choose two different columns.")
    sides = {}
    for side in ("before", "after"):
        pairs = _pairs(point.partition, (first, second), released=side == "after")
        sides[side] = {**_lay_out(point.partition, pairs, (first, second), side == "after"), "cramer": _cramer(pairs)}
    return {"columns": [first, second], **sides}


def _pairs(partition: Partition, names: tuple[str, str], *, released: bool) -> _Pairs:
    """The categories that rows have in two columns: as they were, or as they are released."""
    table = partition.table
    quasi = [name in table.schema.quasi for name in names]
    if not any(quasi):
        raise BadInput(
            f"{names[0]!r} and {names[1]!r} are no quasi-identifiers, and the table does not keep how such columns go "
            "together. Choose a quasi-identifier as one of them."
        )
    other = names[quasi.index(False)] if not all(quasi) else names[0]
    labels, owner, rows, code = subgroups(table, other)  # one entry per distinct row, or per value in it
    kept = ~partition.suppressed[partition.members[owner]] if released else np.ones(len(owner), dtype=np.bool_)
    sides, shown = [], []
    for name in names:
        if name not in table.schema.quasi:
            shown.append(tuple(labels))
            sides.append(np.asarray(code)[kept])
            continue
        column = table.column(name)
        members = partition.members[owner[kept]]
        shown.append(partition.recoding.labels[column] if released else table.hierarchies[column].leaves)
        sides.append(partition.groups[members, column] if released else table.codes[owner[kept], column])
    codes = np.column_stack(sides).astype(np.int64)
    order, start = distinct_rows(codes)
    total = np.add.reduceat(np.asarray(rows, dtype=np.float64)[kept][order], start) if len(order) else np.zeros(0)
    return _Pairs((shown[0], shown[1]), codes[order[start]] if len(order) else codes, total)


def _cramer(pairs: _Pairs) -> float | None:
    """From 0 (nothing to do with each other) to 1 (one tells the other); None where a column has one value only."""
    sums = [np.bincount(pairs.codes[:, side], weights=pairs.rows) for side in (0, 1)]
    sizes = [int((each > 0).sum()) for each in sums]
    if min(sizes, default=0) < 2:
        return None
    expected = sums[0][pairs.codes[:, 0]] * sums[1][pairs.codes[:, 1]]
    chi = float((pairs.rows**2 / expected).sum()) - 1.0
    return math.sqrt(max(chi, 0.0) / (min(sizes) - 1))


def _lay_out(partition: Partition, pairs: _Pairs, names: tuple[str, str], released: bool) -> dict[str, Any]:
    """The pairs as a table of a size that can be looked at."""
    labels, codes = [], []
    for side, name in enumerate(names):
        table = partition.table
        hierarchy = None if released or name not in table.schema.quasi else table.hierarchies[table.column(name)]
        shown, place = _few(pairs.labels[side], pairs.codes[:, side], pairs.rows, hierarchy)
        labels.append(shown)
        codes.append(place)
    counts = np.zeros((len(labels[0]), len(labels[1])))
    np.add.at(counts, (codes[0], codes[1]), pairs.rows)
    return {"rows": labels[0], "columns": labels[1], "counts": counts.astype(int).tolist()}


def _few(
    labels: tuple[str, ...], codes: np.ndarray, rows: np.ndarray, hierarchy: Hierarchy | None
) -> tuple[list[str], np.ndarray]:
    """At most so many categories: those of a level that has few, or the largest ones and the others together."""
    if hierarchy is not None and len(labels) > CELLS:
        level = next(at for at in range(hierarchy.height + 1) if len(hierarchy.labels[at]) <= CELLS)
        if len(hierarchy.labels[level]) > 1:
            labels, codes = hierarchy.labels[level], hierarchy.groups[level][codes].astype(np.int64)
    sums = np.bincount(codes, weights=rows, minlength=len(labels))
    present = np.flatnonzero(sums > 0)
    if len(present) > CELLS:
        present = np.sort(present[np.argsort(-sums[present], kind="stable")[: CELLS - 1]])
        place = np.full(len(labels), len(present))
        place[present] = np.arange(len(present))
        return [*(labels[each] for each in present), OTHERS], place[codes]
    place = np.zeros(len(labels), dtype=np.int64)
    place[present] = np.arange(len(present))
    return [labels[each] for each in present], place[codes]


def at_risk_view(point: Point) -> dict[str, Any]:
    """The smallest released classes, and how much each column helps to recognise their rows."""
    partition = point.partition
    seen = np.flatnonzero(partition.visible & ~partition.suppressed)
    order = seen[np.argsort(partition.sizes[seen], kind="stable")]
    names = [hierarchy.name for hierarchy in partition.recoding.hierarchies]
    labels = partition.recoding.labels
    least = int(partition.sizes[order[0]]) if len(order) else 0
    smallest = partition.sizes[seen] == least
    return {
        "columns": names,
        "least": least,
        "classes_at_least": int(smallest.sum()),
        "rows_at_least": int(partition.rows[seen][smallest].sum()),
        "classes": [
            {
                "labels": [labels[column][g] for column, g in enumerate(partition.groups[each].tolist())],
                "size": int(partition.sizes[each]),
                "risk": 1.0 / int(partition.sizes[each]),
            }
            for each in order[:CLASSES].tolist()
        ],
        "left": max(0, len(order) - CLASSES),
        "without": [_without(partition, seen, column, name) for column, name in enumerate(names)],
    }


def _without(partition: Partition, seen: np.ndarray, column: int, name: str) -> dict[str, Any]:
    """The classes that somebody sees who does not know one of the columns; rows are counted, not persons."""
    others = np.delete(partition.groups[seen], column, axis=1)
    rows = partition.rows[seen]
    if others.shape[1] == 0:
        sizes = np.array([rows.sum()])
    else:
        order, start = distinct_rows(np.ascontiguousarray(others))
        sizes = np.add.reduceat(rows[order], start) if len(order) else np.zeros(0, dtype=np.int64)
    total = int(sizes.sum())
    now = len(seen) / max(total, 1)
    mean = len(sizes) / max(total, 1)
    return {
        "name": name,
        "k": int(sizes.min()) if len(sizes) else 0,
        "mean": mean,
        "part": 1 - mean / now if now else 0.0,
    }
