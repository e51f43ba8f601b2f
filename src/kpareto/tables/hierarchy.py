"""Hierarchy: how one column generalizes. Ordered leaves, levels and a tree are three views of one object.

The leaves stand in an order in which every group of every level is a run of neighbours. A **cut** of the column is an
integer per leaf (which group it falls into), rising by at most one from leaf to leaf. Hence

* a lattice level is the cut ``hierarchy.groups[level]``,
* a tree cut is a cut whose groups are all nodes of ``hierarchy.tree``,
* an ordered cut is any cut.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from kpareto.errors import BadHierarchy, shorten
from kpareto.tables.spelling import EXACT, number_text

STAR = "*"  # stands for any value: the top of a hierarchy, what is cut off a code, a suppressed cell
MISSING = "(missing)"  # the leaf of missing values, where they are a value of their own


@dataclass(frozen=True, eq=False)
class Tree:
    """The distinct groups of a hierarchy as nested runs of leaves, in preorder; node 0 is the root."""

    first: np.ndarray  # (nodes,) int32, first leaf
    last: np.ndarray  # (nodes,) int32, last leaf, inclusive
    parent: np.ndarray  # (nodes,) int32, -1 at the root
    labels: tuple[str, ...]  # (nodes,)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node, left to right."""
        lists: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                lists[parent].append(node)
        return tuple(tuple(nodes) for nodes in lists)

    @cached_property
    def runs(self) -> dict[tuple[int, int], int]:
        """(first leaf, last leaf) -> node."""
        return {(f, e): n for n, (f, e) in enumerate(zip(self.first.tolist(), self.last.tolist(), strict=True))}

    def cuts(self, roots: Sequence[int] = (0,)) -> int:
        """How many cuts these nodes have: c(leaf) = 1, c(v) = 1 + product over the children (readings.md#spaces)."""
        count = [1] * len(self.labels)
        for node in range(len(self.labels) - 1, -1, -1):
            if self.children[node]:
                count[node] = 1 + math.prod(count[child] for child in self.children[node])
        return math.prod(count[root] for root in roots)


@dataclass(frozen=True)
class Layout:
    """How a hierarchy file was written, so that export gives the same bytes back."""

    separator: str = ";"
    newline: str = "\n"
    ends: bool = True  # a newline after the last line
    bom: bool = False
    quoted: Literal["minimal", "all"] = "minimal"
    order: tuple[int, ...] | None = None  # line -> leaf; None: leaf order
    text: str | None = None  # the whole file, where the fields above do not say all of how it was written


@dataclass(frozen=True, eq=False)
class Coarse:
    """The hierarchy that was declared, where a table was read by the groups of one of its levels."""

    declared: Hierarchy
    first: int  # that level
    rows: np.ndarray  # (declared leaves,) int64, rows with each


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """How one column generalizes; level 0 holds the leaves, the last level one group.

    Attributes
    ----------
    name : str
        The column.
    leaves : tuple of str
        The values at level 0, in order.
    groups : numpy.ndarray
        (levels, leaves) int32, a cut per level; first row 0, 1, 2, …; last row all 0.
    labels : tuple of tuple of str
        ``labels[level][group]``.
    tree : Tree
        The distinct groups of all levels as nested runs of leaves.
    ordered : bool
        Any run of neighbours is a meaningful group (numbers, dates, ranks).
    spans : numpy.ndarray or None
        (leaves, 2) float64, smallest and largest number in each leaf.
    edges : numpy.ndarray or None
        (cells + 1,) float64: leaves are cells, numbers find theirs; (missing) is none.
    closed : {'left', 'right'}
        Which edge belongs to a cell: [a, b) or (a, b].
    loss : {'leaves', 'distance'}
        Cell loss by number of leaves, or by span (readings.md#losses).
    data_dependent : bool
        Built from the rows themselves, so labels tell about them (warning W10).
    dates : bool
        The leaves are dates and spans count days.
    layout : Layout
        How its file was written, so that export gives the same bytes back.
    rule : mapping or None
        The inline rule that made it, by which new values find their group.
    coarse : Coarse or None
        The declared hierarchy, where the leaves of this one are groups of it.
    most : int or None
        The highest level that may be shown, where the schema allows some levels alone.

    Examples
    --------
    >>> import kpareto as kp
    >>> hierarchy = kp.load("age", {"intervals": [10, 20]}, [21, 25, 34, 47])
    >>> hierarchy
    Hierarchy(age: 4, 3, 2, 1 groups from level 0 to 3)
    >>> hierarchy.labels[1]
    ('20-29', '30-39', '40-49')
    """

    name: str
    leaves: tuple[str, ...]
    groups: np.ndarray
    labels: tuple[tuple[str, ...], ...]
    tree: Tree
    ordered: bool = False
    spans: np.ndarray | None = None
    edges: np.ndarray | None = None
    closed: Literal["left", "right"] = "left"
    loss: Literal["leaves", "distance"] = "leaves"
    data_dependent: bool = False
    dates: bool = False
    layout: Layout = field(default_factory=Layout)
    rule: Mapping[str, object] | None = None
    coarse: Coarse | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        count = len(self.leaves)
        if count == 0:
            raise BadHierarchy(f"The hierarchy of {self.name!r} has no values. Give at least one.")
        if self.groups.ndim != 2 or self.groups.shape[1] != count or len(self.labels) != self.groups.shape[0]:
            raise BadHierarchy(f"The hierarchy of {self.name!r} has levels of different lengths.")
        check_levels(self.name, self.leaves, self.groups)
        if self.loss == "distance" and self.spans is None:
            raise BadHierarchy(
                f"The hierarchy of {self.name!r} counts loss by distance but has no numbers. "
                "Give numeric leaves, or count loss by leaves."
            )

    def __repr__(self) -> str:
        """Never the values themselves: a notebook prints this."""
        groups = ", ".join(f"{len(labels):,}" for labels in self.labels)
        return f"Hierarchy({self.name}: {groups} groups from level 0 to {self.height})"

    @property
    def height(self) -> int:
        """The last level, of one group."""
        return int(self.groups.shape[0]) - 1

    @property
    def top(self) -> int:
        """The highest level that may be shown; the lattice has top + 1 levels for this column."""
        return self.height if self.most is None else self.most

    @property
    def shown(self) -> np.ndarray:
        """The cuts of the levels that may be shown: (top + 1, leaves) int32."""
        return self.groups[: self.top + 1]

    @cached_property
    def fixed(self) -> np.ndarray:
        """The gaps between leaves that no recoding may close: (gaps,) int64; gap g is before leaf g + 1."""
        return np.flatnonzero(np.diff(self.groups[self.top]))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The nodes of the tree that are the groups of the top level, from left to right."""
        return tuple(self.tree.runs[run] for run in runs_of(self.groups[self.top]))

    @property
    def declared(self) -> Hierarchy:
        """The hierarchy that was declared: this one, unless its leaves are groups of another."""
        return self if self.coarse is None else self.coarse.declared

    @property
    def first(self) -> int:
        """The level of the declared hierarchy that level 0 is."""
        return 0 if self.coarse is None else self.coarse.first

    @cached_property
    def index(self) -> dict[str, int]:
        """Leaf label -> position."""
        return {leaf: position for position, leaf in enumerate(self.leaves)}

    def locate(self, values: Sequence[str]) -> np.ndarray:
        """The leaf of each value, -1 where the hierarchy does not know it: (values,) int32.

        Cells take numbers by their edges. Otherwise labels must match; a numeric leaf also takes the same number
        written otherwise (39.0 for 39).
        """
        codes = np.array([self.index.get(value, -1) for value in values], dtype=np.int32)
        lost = np.flatnonzero(codes < 0)
        if lost.size == 0 or (self.edges is None and self.spans is None):
            return codes
        numbers = np.array([_number_or_nan(values[position]) for position in lost.tolist()], dtype=np.float64)
        if self.edges is not None:
            cell = np.searchsorted(self.edges, numbers, side="right" if self.closed == "left" else "left") - 1
            # The outermost edge belongs to the outermost cell, as in [0,5], (5,10] …
            cell = np.where(numbers == self.edges[0], 0, cell)
            cell = np.where(numbers == self.edges[-1], len(self.edges) - 2, cell)
            inside = (numbers >= self.edges[0]) & (numbers <= self.edges[-1])
            codes[lost] = np.where(inside, cell, -1)
        elif self.spans is not None:
            same = {float(low): leaf for leaf, (low, high) in enumerate(self.spans.tolist()) if low == high}
            codes[lost] = [same.get(number, -1) for number in numbers.tolist()]
        return codes

    def group_label(self, first: int, last: int) -> str:
        """The name of a run of leaves: its tree node, else a range, else a list (GE-1)."""
        node = self.tree.runs.get((first, last))
        if node is not None:
            return self.tree.labels[node]
        if self.edges is not None:
            cells = range_label(self.edges, first, min(last, len(self.edges) - 2), self.closed)
            return cells if last < len(self.edges) - 1 else f"{cells}|{self.leaves[last]}"
        if self.dates:
            return f"{self.leaves[first]} to {self.leaves[last]}"
        if self.spans is not None:
            return self.range_text((first, last))
        return "|".join(self.leaves[first : last + 1])

    def range_text(self, leaves: Sequence[int]) -> str:
        """From the lowest to the highest of these leaves; a float does not hold every large number, so a leaf does."""
        ends = np.zeros((len(self.leaves), 2)) if self.spans is None else self.spans  # only numbers have any
        spans = [(float(ends[leaf, 0]), float(ends[leaf, 1]), leaf) for leaf in leaves]
        low, high = min(spans), max(spans, key=lambda span: (span[1], span[2]))
        texts = (
            self.leaves[leaf] if first == last and abs(first) >= EXACT else number_text(number)
            for number, (first, last, leaf) in ((low[0], low), (high[1], high))
        )
        return "-".join(texts)

    def is_tree_cut(self, cut: np.ndarray) -> bool:
        """Whether every group of the cut is a node of the tree."""
        return all(run in self.tree.runs for run in runs_of(cut))

    def renamed(self, name: str) -> Hierarchy:
        """The hierarchy under another column name."""
        return replace(self, name=name)


def range_label(edges: np.ndarray, first: int, last: int, closed: str) -> str:
    """The name of a run of cells, such as [0,15) or (5,15]; the outermost edges belong to the outermost cells."""
    opens = "[" if closed == "left" or first == 0 else "("
    closes = "]" if closed == "right" or last == len(edges) - 2 else ")"
    return f"{opens}{number_text(float(edges[first]))},{number_text(float(edges[last + 1]))}{closes}"


def runs_of(cut: np.ndarray) -> list[tuple[int, int]]:
    """(first leaf, last leaf) of each group of a cut, in order."""
    borders = np.flatnonzero(np.diff(cut)) + 1
    firsts = [0, *borders.tolist()]
    return list(zip(firsts, [b - 1 for b in firsts[1:]] + [len(cut) - 1], strict=True))


def cut_bits(cut: np.ndarray) -> np.ndarray:
    """The bit string of a cut: (leaves - 1,) uint8, 1 separates a leaf from the next."""
    return np.diff(cut).astype(np.uint8)


def bits_cut(bits: np.ndarray) -> np.ndarray:
    """The cut of a bit string: (leaves,) int32."""
    return np.concatenate(([0], np.cumsum(bits, dtype=np.int64))).astype(np.int32)


def check_levels(name: str, leaves: Sequence[str], groups: np.ndarray) -> None:
    """Raise unless the levels are cuts, nested, from single leaves to one group."""
    if len(set(leaves)) != len(leaves):
        twice = Counter(leaves).most_common(1)[0][0]
        raise BadHierarchy(f"The hierarchy of {name!r} lists the value {twice!r} twice. Keep one line for it.")
    steps = np.diff(groups, axis=1)
    if groups[:, 0].any() or ((steps != 0) & (steps != 1)).any():
        raise BadHierarchy(f"The hierarchy of {name!r} has groups that are not runs of neighbouring values.")
    if not (steps[0] == 1).all():
        raise BadHierarchy(f"Level 0 of the hierarchy of {name!r} must keep every value apart.")
    if steps[-1].any():
        raise BadHierarchy(
            f"The last level of the hierarchy of {name!r} has {int(groups[-1, -1]) + 1} groups "
            f"({shorten(list(leaves), 3)} …). Add a last level with one group, such as '*'."
        )
    check_nested(name, leaves, steps, "A level must only merge groups of the level below.")


def check_nested(name: str, leaves: Sequence[str], steps: np.ndarray, advice: str) -> None:
    """Raise where a level parts what the one below joins: steps (levels, leaves - 1), 0 within a group."""
    for level in range(1, len(steps)):
        split = (steps[level] != 0) & (steps[level - 1] == 0)
        if split.any():
            left = int(np.argmax(split))
            raise BadHierarchy(
                f"The hierarchy of {name!r} is not nested: {leaves[left]!r} and {leaves[left + 1]!r} are together "
                f"at level {level - 1} and apart at level {level}. {advice}".rstrip()
            )


def levels_tree(groups: np.ndarray, labels: Sequence[Sequence[str]]) -> Tree:
    """The tree of the distinct groups of nested levels; a group repeated on several levels is one node.

    The lowest level a group appears on names it, so a leaf keeps its own name.
    """
    firsts, lasts = [], []
    names: list[str] = []
    children, parents = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    below_nodes = below_first = np.empty(0, dtype=np.int64)
    nodes = 0
    for level, cut in enumerate(groups):
        first = np.flatnonzero(np.diff(cut, prepend=-1))
        inside = cut[below_first]  # the group of this level that each group of the level below falls into
        new = np.bincount(inside, minlength=len(first)) != 1  # a group of one group is that group
        node = np.empty(len(first), dtype=np.int64)
        node[new] = np.arange(nodes, nodes + int(new.sum()))
        grows = new[inside]
        node[inside[~grows]] = below_nodes[~grows]
        children.append(below_nodes[grows])
        parents.append(node[inside[grows]])
        firsts.append(first[new])
        lasts.append((np.append(first[1:], len(cut)) - 1)[new])
        names.extend(labels[level][group] for group in np.flatnonzero(new).tolist())
        nodes += int(new.sum())
        below_nodes, below_first = node, first
    start, end = np.concatenate(firsts), np.concatenate(lasts)
    order = np.lexsort((-end, start))
    rank = np.empty(nodes, dtype=np.int64)
    rank[order] = np.arange(nodes)
    parent = np.full(nodes, -1, dtype=np.int32)
    parent[rank[np.concatenate(children)]] = rank[np.concatenate(parents)]
    kept = tuple(names[node] for node in order.tolist())
    return Tree(start[order].astype(np.int32), end[order].astype(np.int32), parent, kept)


def make_tree(nodes: Sequence[tuple[int, int, str]]) -> Tree:
    """A Tree from (first leaf, last leaf, label) of nested, distinct runs."""
    order = sorted(nodes, key=lambda node: (node[0], -node[1]))
    parents: list[int] = []
    open_nodes: list[int] = []
    for position, (first, _, _) in enumerate(order):
        while open_nodes and order[open_nodes[-1]][1] < first:
            open_nodes.pop()
        parents.append(open_nodes[-1] if open_nodes else -1)
        open_nodes.append(position)
    return Tree(
        np.array([node[0] for node in order], dtype=np.int32),
        np.array([node[1] for node in order], dtype=np.int32),
        np.array(parents, dtype=np.int32),
        tuple(node[2] for node in order),
    )


def tree_levels(tree: Tree, leaf_count: int) -> tuple[np.ndarray, tuple[tuple[str, ...], ...]]:
    """Levels of a tree of uneven depth: at level h each leaf shows its highest ancestor of height at most h."""
    parents = tree.parent.tolist()
    height = [0] * len(parents)
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        height[parent] = max(height[parent], height[node] + 1)
    heights = np.array(height)
    above = np.where(tree.parent < 0, len(height), heights[tree.parent])
    cuts, labels = [], []
    for level in range(height[0] + 1):
        kept = np.flatnonzero((heights <= level) & (above > level))  # in preorder, hence from left to right
        cuts.append(np.repeat(np.arange(len(kept)), tree.last[kept] - tree.first[kept] + 1))
        labels.append(tuple(tree.labels[node] for node in kept.tolist()))
    return np.array(cuts, dtype=np.int32).reshape(-1, leaf_count), tuple(labels)


def from_levels(name: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
    """A hierarchy from one line per leaf, the leaf first, then its label on each level (ARX layout).

    Lines are put in tree order when a group's lines do not stand together; the given order is kept in the layout.
    """
    check_lines(name, rows)
    columns = [[row[level] for row in rows] for level in range(len(rows[0]))]
    codes = np.stack([_codes(column) for column in columns])  # (levels, lines) int64, by first appearance
    if codes[-1].any():
        tops = sorted(set(columns[-1]))
        raise BadHierarchy(
            f"The last level of the hierarchy of {name!r} has {len(tops)} groups ({shorten(tops, 4)}). "
            "Add a last level with one group, such as '*'."
        )
    check_nesting(name, columns, codes)
    order = np.lexsort(codes)  # by the top level first, then level by level down: every group stands together
    starts = np.diff(codes[:, order], axis=1, prepend=-1) != 0
    groups = (np.cumsum(starts, axis=1) - 1).astype(np.int32)
    labels = tuple(
        tuple(column[line] for line in order[start].tolist()) for column, start in zip(columns, starts, strict=True)
    )
    leaf_of_line = np.empty(len(order), dtype=np.int64)
    leaf_of_line[order] = np.arange(len(order))
    kept = None if (np.diff(order) == 1).all() else tuple(leaf_of_line.tolist())
    return Hierarchy(name, labels[0], groups, labels, levels_tree(groups, labels), layout=Layout(order=kept))


def tell_lost(
    name: str, values: Sequence[str], named: Sequence[str], of: Literal["table", "population"] = "table"
) -> str:
    """That a hierarchy lacks values of a table, or of its population, and what to do about it."""
    kinds = f"{len(values):,} value{'s' if len(values) > 1 else ''}"
    asked = "Add them to the hierarchy."
    if of == "population":
        asked = "Add them to the hierarchy, although the table lacks them."
    elif MISSING in values:
        asked = "Leave rows without a value out with missing = 'drop', or add '(missing)' to the hierarchy."
    return f"The hierarchy of {name!r} has no place for {kinds} of the {of}: {shorten(named, 5)}. {asked}"


def with_missing(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy with a place for missing values: a group of their own on every level but the last.

    Numbers and dates lose their order by it, since no value is no number; numbers still find their cell by its edges.
    """
    top = hierarchy.height
    last = hierarchy.groups[:, -1:] + 1
    last[top] = 0
    groups = np.concatenate((hierarchy.groups, last), axis=1).astype(np.int32)
    labels = tuple((*names, MISSING) if level < top else names for level, names in enumerate(hierarchy.labels))
    if top == 0:  # a single leaf, which was the top
        groups, labels = np.array([[0, 1], [0, 0]], dtype=np.int32), ((*hierarchy.leaves, MISSING), (STAR,))
    return replace(
        hierarchy,
        leaves=(*hierarchy.leaves, MISSING),
        groups=groups,
        labels=labels,
        tree=levels_tree(groups, labels),
        ordered=False,
        spans=None,
        loss="leaves",
        dates=False,
        layout=Layout(),
    )


def _codes(column: Sequence[str]) -> np.ndarray:
    """The labels as numbers in order of first appearance: (lines,) int64."""
    code_of = {label: code for code, label in enumerate(dict.fromkeys(column))}
    return np.fromiter(map(code_of.__getitem__, column), dtype=np.int64, count=len(column))


def check_lines(name: str, rows: Sequence[Sequence[str]]) -> None:
    """Raise unless there are lines, all of one length, each for another value."""
    if not rows:
        raise BadHierarchy(f"The hierarchy of {name!r} is empty. Give one line per value.")
    if len(set(map(len, rows))) == 1 and len({row[0] for row in rows}) == len(rows):
        return
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise BadHierarchy(
                f"Line {number} of the hierarchy of {name!r} has {len(row)} entries where the first line has "
                f"{len(rows[0])} ({shorten(list(row), 4)}). Give every value the same number of levels."
            )
        if row[0] in seen:
            raise BadHierarchy(
                f"The hierarchy of {name!r} lists the value {row[0]!r} twice (lines {seen[row[0]]} and {number}). "
                "Keep one line for it."
            )
        seen[row[0]] = number


def check_nesting(name: str, columns: Sequence[Sequence[str]], codes: np.ndarray) -> None:
    """Raise unless equal labels on one level stay equal on every level above (codes: (levels, lines) int64)."""
    for level in range(1, len(columns) - 1):
        _, first = np.unique(codes[level], return_index=True)  # the first line of each label
        split = codes[level + 1] != codes[level + 1][first[codes[level]]]
        if split.any():
            line = int(np.argmax(split))
            other = int(first[codes[level, line]])
            label, upper, leaf = columns[level][line], columns[level + 1], columns[0]
            raise BadHierarchy(
                f"The hierarchy of {name!r} is not nested: {leaf[other]!r} and {leaf[line]!r} are both {label!r} at "
                f"level {level}, but {upper[other]!r} and {upper[line]!r} at level {level + 1} (lines {other + 1} and "
                f"{line + 1}). Give one group one parent."
            )


def flat(name: str, leaves: Sequence[str]) -> Hierarchy:
    """The least hierarchy: the leaves as they are, and all of them as one group."""
    if len(leaves) == 1:
        return from_levels(name, [(leaves[0], STAR)])
    groups = np.vstack((np.arange(len(leaves)), np.zeros(len(leaves)))).astype(np.int32)
    labels = (tuple(leaves), (STAR,))
    return Hierarchy(name, tuple(leaves), groups, labels, levels_tree(groups, labels))


def _number_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
