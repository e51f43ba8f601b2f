"""The code book of a release: which values each label stands for, and on demand how many rows have each value.

A declared hierarchy (a file, a tree, a list in order) says which values a label stands for, whatever the rows are: its
branches are listed whole. A hierarchy that was made from the values of the rows would list what occurs, so of such a
column only values that k released rows have are named, labels of intervals have the ends that their rule declares, and
whether a label stands for further values is never said. Counts are of released rows, and none is below k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kpareto.errors import BadJob
from kpareto.releases.choice import Choice
from kpareto.releases.labels import has_row_borders, released_rows
from kpareto.tables.hierarchy import MISSING, STAR, Hierarchy, Tree, make_tree, runs_of
from kpareto.tables.partition import Partition

Range = tuple[int, int]  # the first and the last of whole numbers


@dataclass(frozen=True, eq=False)
class Column:
    """One quasi-identifier as a code book tells of it."""

    hierarchy: Hierarchy
    runs: Sequence[tuple[int, int]]  # first and last leaf of each group
    level: int | None  # of the lattice
    told: np.ndarray  # (leaves,) int64, released rows with the leaf; 0 where that many must not be told by a name
    k: int
    named: np.ndarray  # (leaves,) bool, the leaf is listed

    @cached_property
    def whole(self) -> bool:
        """Whether its labels are ranges of whole numbers that a rule declares."""
        if self.hierarchy.declared or "intervals" not in (self.hierarchy.rule or {}):
            return False
        rule = self.hierarchy.rule or {}
        steps = [*_numbers(rule["intervals"]), *_numbers(rule.get("from", 0.0))]
        leaves = [leaf for leaf in self.hierarchy.leaves if leaf != MISSING]
        return all(step.is_integer() for step in steps) and all(_is_whole(leaf) for leaf in leaves)

    def meaning(self, first: int, last: int, level: int | None) -> list[str]:
        """What a run of leaves stands for: one value, the first and the last of several, or nothing that is told."""
        if level == 0 or (level is None and first == last):
            return [self.hierarchy.leaves[first]]
        if self.whole:
            ends = self.declared_range(first, last, level)
            return [] if ends is None else [str(ends[0]), str(ends[1])]
        listed = np.flatnonzero(self.named[first : last + 1]) + first
        return [self.hierarchy.leaves[listed[0]], self.hierarchy.leaves[listed[-1]]] if len(listed) else []

    def declared_range(self, first: int, last: int, level: int | None) -> Range | None:
        """The whole numbers that the rule puts into a group; of others the span of what may be told."""
        hierarchy = self.hierarchy
        levels = range(1, hierarchy.height) if level is None else [level] if level < hierarchy.height else []
        for each in levels:
            if (first, last) in runs_of(hierarchy.groups[each]):
                return self._interval(each, first)
        inside = [
            ends
            for each in range(1, hierarchy.height)[-1:]
            for low, high in runs_of(hierarchy.groups[each])
            if first <= low and high <= last and self.told[low : high + 1].sum() >= self.k
            if (ends := self._interval(each, low)) is not None
        ]
        if not inside:  # a run of neighbours that the rule has no name for
            names = [leaf for leaf, rows in enumerate(self.told[first : last + 1].tolist(), first) if rows >= self.k]
            told = [int(hierarchy.leaves[leaf]) for leaf in names if hierarchy.leaves[leaf] != MISSING]
            return (told[0], told[-1]) if told else None
        return inside[0][0], inside[-1][1]

    def _interval(self, level: int, leaf: int) -> Range | None:
        """The first and the last whole number of the interval around a leaf; None where it has no end."""
        rule, text = self.hierarchy.rule or {}, self.hierarchy.leaves[leaf]
        if text == MISSING or level > len(_numbers(rule["intervals"])):
            return None
        width, origin = int(_numbers(rule["intervals"])[level - 1]), int(_numbers(rule.get("from", 0.0))[0])
        low = origin + (int(text) - origin) // width * width
        top = int(_numbers(rule["top_code"])[0]) if "top_code" in rule else None
        if top is not None and int(text) >= top:
            return None
        return low, low + width - 1 if top is None else min(low + width, top) - 1


def _numbers(value: object) -> list[float]:
    return [float(each) for each in value] if isinstance(value, list | tuple) else [float(str(value))]


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and str(int(text)) == text


def refuse_counts(choice: Choice, asked: object) -> None:
    """Raise where one-way counts are asked for and would tell more than the release may."""
    if not isinstance(asked, bool):
        raise BadJob(f"is {asked!r}. Write true or false.", where="release.counts")
    why = None
    if not asked:
        return
    if choice.table.population is not None:
        why = "who is in the table is to be protected (a population is given), and counts tell that a value occurs"
    elif choice.table.persons is not None:
        why = "persons are told apart, and counts of rows say nothing about how many persons are behind them"
    elif choice.table.leaf_counts is not None and choice.partition().suppressed.any():
        why = "the rows were read by whole groups, so the values of the released ones are not known"
    if why is not None:
        raise BadJob(
            f"is set, and {why}. Nothing was released; leave counts out.",
            where="release.counts",
        )


def code_book(
    choice: Choice,
    partition: Partition,
    labels: Mapping[str, Sequence[str]],
    seen: Mapping[str, Sequence[str]],
    counts: bool,
) -> dict[str, dict[str, Any]]:
    """Per quasi-identifier what its labels in the release stand for; ``labels`` are those of the groups, as written."""
    k = max(int(partition.sizes[partition.visible].min()), 1)
    book: dict[str, dict[str, Any]] = {}
    for place, name in enumerate(choice.table.schema.quasi):
        rows = _rows_of(choice, partition, place)
        column = _column(choice, partition, place, rows, k)
        leaves, groups = column.hierarchy.leaves, {label: group for group, label in enumerate(labels[name])}
        shown = np.zeros(len(leaves), dtype=np.bool_)  # below a label that rows have
        entry: dict[str, list[str]] = {}
        for label in seen[name]:
            if label in groups:
                first, last = column.runs[groups[label]]
                shown[first : last + 1] = True
                entry[label] = column.meaning(first, last, column.level)
            else:  # the star of masked rows stands for anything
                entry[label] = column.meaning(0, len(leaves) - 1, column.hierarchy.height) if label == STAR else [label]
        alone = {meaning[0] for meaning in entry.values() if len(meaning) == 1}
        below = column.named & (shown | (STAR in set(seen[name]) - set(groups)))
        listed = [leaf for at, leaf in enumerate(leaves) if below[at] or leaf in alone]
        book[name] = {"labels": entry, "complete": column.hierarchy.declared and choice.table.missing != "category"}
        book[name] |= {"numbers": "whole"} if column.whole else {"values": [*listed, *sorted(alone - set(listed))]}
        if counts and rows is not None:
            book[name] |= _counts(choice, column, place, rows, shown)
    return book


def _rows_of(choice: Choice, partition: Partition, place: int) -> np.ndarray | None:
    """Released rows with each leaf, (leaves,) int64; None where they cannot be known."""
    if choice.table.leaf_counts is not None and not partition.suppressed.any():
        return choice.table.leaf_counts[place]
    return released_rows(choice, partition, place)


def _column(choice: Choice, partition: Partition, place: int, rows: np.ndarray | None, k: int) -> Column:
    hierarchy, table = choice.recoding.hierarchies[place], partition.table
    told = np.zeros(len(hierarchy.leaves), dtype=np.int64)
    hidden = has_row_borders(hierarchy) and bool(partition.suppressed.any())
    # Where a population is known, who is in the table is what is protected.
    if rows is not None and table.population is None and not hidden:
        told = rows if table.persons is None else np.where(_persons(partition, place, len(rows)) >= k, rows, 0)
    named = told >= k
    if hierarchy.declared:
        named[[leaf for leaf, text in enumerate(hierarchy.leaves) if text != MISSING]] = True
    first, last = choice.recoding.runs(place)
    level = None if choice.recoding.levels is None else choice.recoding.levels[place]
    return Column(hierarchy, list(zip(first.tolist(), last.tolist(), strict=True)), level, told, k, named)


def _persons(partition: Partition, place: int, leaves: int) -> np.ndarray:
    """How many persons have each leaf in released rows: (leaves,) int64."""
    table = partition.table
    if table.persons is None:
        return np.zeros(leaves, dtype=np.int64)
    kept = ~partition.suppressed[partition.members][table.persons.row]
    pairs = np.column_stack((table.codes[table.persons.row, place], table.persons.code))[kept]
    return np.bincount(np.unique(pairs, axis=0)[:, 0], minlength=leaves)


def _counts(choice: Choice, column: Column, place: int, rows: np.ndarray, shown: np.ndarray) -> dict[str, Any]:
    """The rows of each value, merged up the hierarchy until none is below k; what has no name of its own is the rest.

    An entry is the first value, the last value and the rows of all between them that no narrower entry has; shown are
    the leaves below a label that the release has, for the release itself says that no row has any other.
    """
    hierarchy, tree = column.hierarchy, column.hierarchy.tree
    if choice.recoding.boxes is None and not hierarchy.is_tree_cut(choice.recoding.cuts[place]):
        last = len(hierarchy.leaves) - 1
        runs = {(0, last), *column.runs, *((leaf, leaf) for leaf in range(last + 1))}
        tree = make_tree([(*run, "") for run in runs])  # labels first, so that no entry is part of two of them
    entries, rest = [], 0
    known = np.array([hierarchy.declared and leaf != MISSING for leaf in hierarchy.leaves])
    for node, count in sorted(merge_counts(tree, rows, known & shown, column.k).items()):
        first, last = int(tree.first[node]), int(tree.last[node])
        ends = [hierarchy.leaves[first]] * 2 if first == last else []
        if first < last and node and column.whole:
            span = column.declared_range(first, last, None) if (first, last) in hierarchy.tree.runs else None
            ends = [] if span is None else [str(span[0]), str(span[1])]
        elif first < last and hierarchy.declared:
            listed = np.flatnonzero(column.named[first : last + 1]) + first
            ends = [hierarchy.leaves[listed[0]], hierarchy.leaves[listed[-1]]]
        if ends:
            entries.append([*ends, count])
        else:
            rest += count
    return {"counts": entries, **({"rest": rest} if rest else {})}


def merge_counts(tree: Tree, rows: np.ndarray, known: np.ndarray, k: int) -> dict[int, int]:
    """Node -> rows of its leaves that no node below it counts, none below k.

    A leaf below k is counted with its neighbours by the node above, which takes its smallest part along where the few
    are still too few; so no difference between a node and its parts is below k. A leaf that no row has is one of the
    few too where it is known from elsewhere, (leaves,) bool.
    """
    nodes = len(tree.labels)
    left, few = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.bool_)
    parts: list[dict[int, int]] = [{} for _ in range(nodes)]
    for node in range(nodes - 1, -1, -1):
        if not tree.children[node]:
            left[node] = rows[tree.first[node] : tree.last[node] + 1].sum()
            few[node] = left[node] < k and (left[node] > 0 or bool(known[tree.first[node]]))
        if left[node] < k and few[node] and parts[node]:
            least = min(parts[node], key=lambda part: (parts[node][part], part))
            left[node] += parts[node].pop(least)
        if left[node] >= max(k, 1):
            parts[node][node] = int(left[node])
            left[node], few[node] = 0, False
        above = int(tree.parent[node])
        if above >= 0:
            left[above] += left[node]
            few[above] |= few[node]
            parts[above].update(parts[node])
    return parts[0]
