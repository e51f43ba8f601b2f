"""A table whose columns are related, and slow twins of what an analyst gets: row by row, value by value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kpareto.engines.read import read
from kpareto.releases.choice import Choice
from kpareto.searches.local.problem import LocalWish, make_problem
from kpareto.searches.local.recoding import read_classes, to_boxes
from kpareto.searches.local.search import Effort, search_classes
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.partition import Partition, Suppression
from kpareto.tables.recoding import Recoding, local, node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table

TOWNS = [("Ulm", "south"), ("Aalen", "south"), ("Kiel", "north"), ("Jever", "north"), ("Emden", "north")]
HIERARCHIES = {
    "age": {"intervals": [5, 10, 20], "from": 20},
    "town": from_levels("town", [(town, side, "*") for town, side in TOWNS]),
    "sex": from_levels("sex", [("f", "*"), ("m", "*")]),
}
SCHEMA = Schema(("age", "town", "sex"), sensitive=("ill",), target=("income",))
Line = tuple[tuple[str, str], ...]  # (column, what it shows) of a row
Lines = Counter[Line]  # rows, each with how often it is there
Shares = dict[str, dict[str, dict[str, float]]]  # column -> label -> value -> share


def related_rows(rows: int = 400, seed: int = 5) -> pa.Table:
    """People: the old live in the north, earn more and have gout; sex has to do with the town."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        age = int(random.integers(20, 60))
        town = TOWNS[int(np.clip(age // 10 - 2 + random.integers(0, 2), 0, 4))][0]
        sex = "f" if random.random() < (0.8 if town in ("Ulm", "Aalen") else 0.4) else "m"
        ill = "gout" if random.random() < (age - 15) / 60 else ("flu", "cold")[int(random.integers(2))]
        income = 10 * age + 50 * (sex == "m") + int(random.integers(0, 12)) * 10
        lines.append((str(age), town, sex, ill, str(income)))
    names = (*SCHEMA.quasi, *SCHEMA.sensitive, *SCHEMA.target)
    return pa.table({name: list(cells) for name, cells in zip(names, zip(*lines, strict=True), strict=True)})


def related_table(rows: object = None, schema: Schema = SCHEMA) -> Table:
    """The same rolled up, under its hierarchies."""
    return read(related_rows() if rows is None else rows, schema, "category", hierarchies=HIERARCHIES)


def levels_choice(table: Table, levels: Sequence[int], k: int = 1, rows: Any = "drop") -> Choice:
    """Whole levels, the classes below k suppressed."""
    rule = Suppression("below-k", k=k, rows=rows) if k > 1 else Suppression("none")
    return Choice(table, node(table.hierarchies, levels), rule, {"k": k})


def cuts_choice(table: Table) -> Choice:
    """Mixed levels: the young by the year, the others in one group, and the towns of the north together."""
    first = np.minimum(np.arange(len(table.hierarchies[0].leaves)), 12).astype(np.int32)
    cuts = (first, np.array([0, 1, 2, 2, 2], dtype=np.int32), np.array([0, 1], dtype=np.int32))
    return Choice(table, Recoding(table.hierarchies, cuts), Suppression("below-k", k=3), {"k": 3})


def local_choice(table: Table, k: int = 4) -> Choice:
    """Labels by class."""
    problem = make_problem(table, LocalWish(k, every_column=True))
    _, boxes = to_boxes([read_classes(problem, search_classes(problem, Effort(turns=1)))])
    return Choice(table, local(boxes[0]), Suppression("none"), {"k": k})


def plain_rows(table: pa.Table) -> list[dict[str, str]]:
    """One mapping per row."""
    return [{name: str(cell) for name, cell in row.items()} for row in table.to_pylist()]


def original_lines(table: Table) -> Lines:
    """The quasi-identifiers of the rows."""
    leaves = [(h.name, h.leaves) for h in table.hierarchies]
    lines: Lines = Counter()
    for codes, times in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        lines[tuple((name, own[code]) for (name, own), code in zip(leaves, codes, strict=True))] += times
    return lines


def released_lines(partition: Partition) -> tuple[Lines, dict[str, dict[str, set[str]]]]:
    """The quasi-identifiers of the released rows, and per column which values each label may stand for."""
    names, labels = partition.table.schema.quasi, partition.recoding.labels
    stands: dict[str, dict[str, set[str]]] = {}
    for column, hierarchy in enumerate(partition.table.hierarchies):
        ends = zip(*partition.recoding.runs(column), strict=True)
        stands[hierarchy.name] = {"masked": set(hierarchy.leaves)} | {
            f"{label} {first}-{last}": set(hierarchy.leaves[first : last + 1])
            for label, (first, last) in zip(labels[column], ends, strict=True)
        }
    keys = [list(stands[name])[1:] for name in names]
    lines: Lines = Counter()
    for groups, times, seen in zip(partition.groups, partition.rows, partition.visible, strict=True):
        shown = [(n, "masked" if g < 0 else keys[c][g]) for c, (n, g) in enumerate(zip(names, groups, strict=True))]
        if seen:
            lines[tuple(shown)] += int(times)
    return lines, stands


def total(lines: Lines, column: str) -> Counter[str]:
    """How often a column shows each of its labels."""
    counts: Counter[str] = Counter()
    for line, times in lines.items():
        counts[dict(line)[column]] += times
    return counts


def slow_shares(original: Lines, release: Lines, stands: Mapping[str, Mapping[str, set[str]]], fitted: bool) -> Shares:
    """Every label as shares of the values that occur: evenly, or by turns fitted to the column totals and the labels."""
    shares: Shares = {}
    for column, labels in stands.items():
        totals, shown = total(original, column), total(release, column)
        cells = {
            (label, value): shown[label] / len(labels[label] & set(totals))
            for label in shown
            for value in labels[label] & set(totals)
        }
        scale = release.total() / original.total()
        for _ in range(200 if fitted else 0):
            for axis, goal in ((1, {v: n * scale for v, n in totals.items()}), (0, dict(shown))):
                sums: Counter[str] = Counter()
                for key, rows in cells.items():
                    sums[key[axis]] += rows  # type: ignore[assignment]  # rows are parts of rows here
                cells = {key: rows * goal[key[axis]] / max(sums[key[axis]], 1e-12) for key, rows in cells.items()}
        shares[column] = {label: {} for label in shown}
        for (label, value), rows in cells.items():
            shares[column][label][value] = rows / shown[label]
    return shares


def slow_count(original: Lines, release: Lines, shares: Shares, query: Mapping[str, set[str]]) -> float:
    """The rows that a count comes to, dropped rows made up for."""
    rows = 0.0
    for line, times in release.items():
        shown = dict(line)
        rows += times * math.prod(
            sum(shares[column][shown[column]].get(value, 0.0) for value in values) for column, values in query.items()
        )
    return rows * original.total() / release.total()


def slow_information(pairs: Sequence[tuple[object, object]]) -> float:
    """The mutual information of two columns in nats, less (a - 1)(b - 1) / 2n."""
    both, left, right = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    n = len(pairs)
    whole = sum(rows / n * math.log(rows * n / (left[a] * right[b])) for (a, b), rows in both.items())
    return whole - (len(left) - 1) * (len(right) - 1) / (2 * n)
