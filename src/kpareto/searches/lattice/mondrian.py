"""Mondrian: local recoding, class by class, over the hierarchies (LeFevre et al., ICDE 2006).

All rows start as one class. A class is split along one column into the children of its tree node, as long as every part
keeps k rows; children with too few rows stay behind together under the parent's label. The column is the one that saves
most loss per bit of class size given up. Where a column has a highest level, the rows of each of its groups are
divided by themselves, and groups of fewer than k rows are suppressed; nothing else is.

The labels of a value then differ from class to class. That keeps far more information than one recoding for the whole
table can, and it is open to attacks of its own: read ``WARNING``. Being greedy it guarantees k, but not the least loss,
nor any loss at all compared with another k.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from kpareto.errors import BadJob, Unsafe
from kpareto.kernels.lattice.mondrian import TreePaths, mondrian
from kpareto.measures.cells import generalization_loss
from kpareto.tables.coarse import say_above
from kpareto.tables.hierarchy import Tree
from kpareto.tables.table import Table, distinct_rows, number_rows

PRESETS = (2, 3, 5, 10, 11, 20, 25, 50, 100)
WARNING = (
    "Local recoding: equal values carry different labels in different classes, so the classes overlap. "
    "Combining overlapping labels can narrow rows down below k without any outside knowledge "
    "(combinatorial refinement, 2025), and a release that generalizes no more than it must can be undone in part "
    "(downcoding, 2022). The k stated holds for each set of equal labels by itself and for nothing more. "
    "Prefer a recoding from the front for data that leave the house."
)


@dataclass(frozen=True, eq=False)
class MondrianRecoding:
    """Classes that are boxes of tree nodes, each with its own labels; not a recoding of whole columns.

    An item is a distinct row of the table with some or all of its rows. Classes with equal labels are one class,
    because that is what an onlooker sees.
    """

    table: Table
    asked: int  # the k that was asked for
    method: str  # mondrian-strict or mondrian-relaxed
    item_row: np.ndarray  # (items,) int64, distinct row
    item_weight: np.ndarray  # (items,) int64, rows, none zero
    item_class: np.ndarray  # (items,) int64
    nodes: np.ndarray  # (classes, quasi) int32, node of each column's tree
    sizes: np.ndarray  # (classes,) int64, rows
    suppressed: int = 0  # rows in groups of the highest levels that are too small
    warning: str = WARNING

    @property
    def k(self) -> int:
        """Rows of the smallest class."""
        return int(self.sizes.min())

    @property
    def classes(self) -> int:
        """Sets of equal labels."""
        return len(self.sizes)

    @cached_property
    def glm(self) -> Fraction:
        """The sum of cell losses (readings.md#losses), exact."""
        total = Fraction(0)
        for column, hierarchy in enumerate(self.table.hierarchies):
            loss = generalization_loss(self.table, column)
            cells = loss.of_runs(*_runs(hierarchy.tree))[self.nodes[:, column]]
            lost = self.suppressed * loss.denominator  # all of the cell
            total += Fraction(
                lost + sum(int(c) * int(s) for c, s in zip(cells, self.sizes, strict=True)), loss.denominator
            )
        return total

    @property
    def lm(self) -> float:
        """The mean cell loss."""
        return float(self.glm / (self.table.rows * len(self.table.hierarchies)))

    @property
    def dcn(self) -> int:
        """The sum of squared class sizes."""
        return int(self.sizes @ self.sizes)

    def labels(self, number: int) -> tuple[str, ...]:
        """What the rows of a class show, column by column."""
        trees = [hierarchy.tree for hierarchy in self.table.hierarchies]
        return tuple(tree.labels[node] for tree, node in zip(trees, self.nodes[number].tolist(), strict=True))

    def as_data(self) -> dict[str, object]:
        """The numbers for a report or a second curve beside a front."""
        numbers: dict[str, object] = {"method": self.method, "asked": self.asked, "k": self.k, "lm": self.lm}
        return {**numbers, "glm": float(self.glm), "dcn": self.dcn, "classes": self.classes, "warning": self.warning}


def strict(table: Table, k: int, allowed: int = 0) -> MondrianRecoding:
    """Mondrian in which rows with equal values always get equal labels; so many rows may be suppressed."""
    return _mondrian(table, k, "mondrian-strict", allowed)


def relaxed(table: Table, k: int, allowed: int = 0) -> MondrianRecoding:
    """Mondrian in which rows with equal values may get different labels: less loss, and more to combine."""
    return _mondrian(table, k, "mondrian-relaxed", allowed)


def curve(table: Table, ks: Sequence[int] = PRESETS, allowed: int = 0) -> list[MondrianRecoding]:
    """Relaxed Mondrian for each k that the table has rows for: the second curve beside a front."""
    points = []
    for k in ks:
        with suppress(Unsafe):  # too large a k for the table, or within the highest levels
            points.append(relaxed(table, k, allowed))
    return points


def _mondrian(table: Table, k: int, method: str, allowed: int) -> MondrianRecoding:
    if isinstance(k, bool) or k != int(k) or k < 1:
        raise BadJob(f"Mondrian needs a whole k of at least 1, and k is {k!r}.")
    if k > table.rows:
        raise Unsafe(f"k = {k:,} cannot be reached: the table has only {table.rows:,} rows. Ask for a smaller k.")
    if table.persons is not None:
        raise BadJob("Mondrian counts rows, and this table tells persons apart. Take a recoding from the front.")
    parts = [part for part in _parts_of_top(table) if table.weights[part].sum() >= k]
    suppressed = table.rows - sum(int(table.weights[part].sum()) for part in parts)
    if suppressed > allowed or not parts:
        raise Unsafe(say_above(k))
    trees, node_at = _trees(table)
    rows, weights, owner, boxes = _divide(trees, table.weights, parts, int(k), method == "mondrian-relaxed")
    nodes = (boxes - node_at[:-1]).astype(np.int32)
    seen, first = number_rows(nodes)
    sizes = np.bincount(seen[owner], weights=weights, minlength=len(first)).astype(np.int64)
    return MondrianRecoding(table, int(k), method, rows, weights, seen[owner], nodes[first], sizes, suppressed)


def _parts_of_top(table: Table) -> list[np.ndarray]:
    """The distinct rows of each combination of the highest groups that may be shown: (distinct of it,) int64 each."""
    tops = [h.groups[h.top][table.codes[:, column]] for column, h in enumerate(table.hierarchies)]
    order, start = distinct_rows(np.stack(tops, axis=1))
    return [np.sort(part) for part in np.split(order, start[1:])]


def _divide(
    trees: TreePaths, weights: np.ndarray, parts: Sequence[np.ndarray], k: int, relaxed: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Each part divided by itself: the row, the rows and the class of each item, and the boxes of all classes."""
    rows, counts, owners, boxes, classes = [], [], [], [], 0
    for part in parts:
        paths = trees._replace(codes=np.ascontiguousarray(trees.codes[part]))
        row, count, owner, box, _ = mondrian(paths, weights[part], k, relaxed)
        rows.append(part[row])
        counts.append(count)
        owners.append(owner + classes)
        boxes.append(box)
        classes += len(box)
    return np.concatenate(rows), np.concatenate(counts), np.concatenate(owners), np.concatenate(boxes)


def _trees(table: Table) -> tuple[TreePaths, np.ndarray]:
    """The trees side by side, and where the nodes of each start."""
    trees = [hierarchy.tree for hierarchy in table.hierarchies]
    depths = [_depths(tree) for tree in trees]
    deepest = max(int(depth.max()) for depth in depths)
    node_at = np.concatenate(([0], np.cumsum([len(tree.labels) for tree in trees]))).astype(np.int64)
    leaf_at = np.concatenate(([0], np.cumsum([len(h.leaves) for h in table.hierarchies]))).astype(np.int64)
    path = np.zeros((deepest + 1, int(leaf_at[-1])), dtype=np.int32)
    loss = np.zeros(int(node_at[-1]))
    for column, (tree, depth) in enumerate(zip(trees, depths, strict=True)):
        part = path[:, leaf_at[column] : leaf_at[column + 1]]
        for node in range(len(tree.labels)):  # in preorder, so that a child writes over its parent
            part[depth[node] :, tree.first[node] : tree.last[node] + 1] = node_at[column] + node
        cells = generalization_loss(table, column)
        loss[node_at[column] : node_at[column + 1]] = cells.of_runs(*_runs(tree)) / cells.denominator
    return TreePaths(np.ascontiguousarray(table.codes, dtype=np.int32), leaf_at, path, loss), node_at


def _depths(tree: Tree) -> np.ndarray:
    """The depth of each node below the root: (nodes,) int64."""
    depth = np.zeros(len(tree.labels), dtype=np.int64)
    for node, parent in enumerate(tree.parent.tolist()):
        depth[node] = depth[parent] + 1 if parent >= 0 else 0
    return depth


def _runs(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    return tree.first.astype(np.int64), tree.last.astype(np.int64)
