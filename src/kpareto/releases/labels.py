"""What stands in a cell of each group: its label, or a number for it; never anything that only suppressed rows told.

A declared label tells nothing of the rows. A label that is put together from values (a run of neighbours without a name
of its own, quantiles) is put together from the values that released rows have, and from no other. Cells that were cut
at values of rows (``quantile_cells``) are numbered where some rows are suppressed: nobody can tell whose they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kpareto.errors import BadJob, BadTable
from kpareto.releases.choice import Choice
from kpareto.releases.settings import Shown
from kpareto.tables.hierarchy import MISSING, STAR, Hierarchy, Tree, make_tree, runs_of
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import EXACT, number_text


def shown_labels(
    choice: Choice, partition: Partition, shown: Mapping[str, Shown] | None = None
) -> dict[str, tuple[str, ...]]:
    """What stands in a cell of each group, per quasi-identifier; different groups never look alike."""
    for name in shown or {}:
        choice.table.column(name)
    labels = {}
    for column, name in enumerate(choice.table.schema.quasi):
        form = (shown or {}).get(name, "label")
        released = released_rows(choice, partition, column)
        if form == "label":
            texts = _labels(choice, column, released, bool(partition.suppressed.any()))
        elif choice.recoding.boxes is not None:
            raise BadJob(
                f"Column {name!r} is to show a {form}, and in a local recoding labels overlap, so two of them could "
                "look alike. Show labels; whoever analyses the release can take their midpoints."
            )
        else:
            if released is None and not partition.suppressed.any():
                released = choice.table.leaf_rows[column]
            if has_row_borders(choice.recoding.hierarchies[column]) and partition.suppressed.any():
                raise BadTable(
                    f"Column {name!r} cannot show a {form}: its borders are values of rows, some of which are "
                    "suppressed. Show its labels, or declare borders of your own."
                )
            texts = _representatives(choice, column, form, released)
        labels[name] = _tell_apart(texts)
    return labels


def compose(hierarchy: Hierarchy, first: int, last: int) -> bool:
    """Whether the name of a run of leaves is put together from values that rows have."""
    if first == last or hierarchy.edges is not None:
        return False
    return (first, last) not in hierarchy.tree.runs or (hierarchy.data_dependent and hierarchy.spans is not None)


def released_rows(choice: Choice, partition: Partition, column: int) -> np.ndarray | None:
    """How many released rows have each leaf: (leaves,) int64; None where the rows came in by whole groups."""
    table = partition.table
    if table.leaf_counts is not None:
        return None
    kept = ~partition.suppressed[partition.members]
    leaves = len(choice.recoding.hierarchies[column].leaves)
    return np.bincount(table.codes[kept, column], weights=table.weights[kept], minlength=leaves).astype(np.int64)


def has_row_borders(hierarchy: Hierarchy) -> bool:
    """Whether the cells of a number line were cut at values that rows have; which rows have them is not kept."""
    return hierarchy.edges is not None and hierarchy.data_dependent


def _labels(choice: Choice, column: int, released: np.ndarray | None, some_gone: bool) -> tuple[str, ...]:
    hierarchy, labels = choice.recoding.hierarchies[column], list(choice.labels[column])
    top = len(labels) == 1 and choice.recoding.levels is not None
    if has_row_borders(hierarchy) and some_gone and not top:
        return tuple(f"group {group + 1} of {len(labels)}" for group in range(len(labels)))
    for group, (first, last) in enumerate(choice.recoding.pairs(column)):
        if top or not compose(hierarchy, first, last):
            continue
        there = [] if released is None else [leaf for leaf in range(first, last + 1) if released[leaf]]
        labels[group] = _name(hierarchy, there) if there else f"group {group + 1} of {len(labels)}"
    return tuple(labels)


def _name(hierarchy: Hierarchy, there: Sequence[int]) -> str:
    """A group by the leaves that released rows have."""
    low, high = hierarchy.leaves[there[0]], hierarchy.leaves[there[-1]]
    if len(there) == 1:
        return low
    if hierarchy.dates:
        return f"{low} to {high}"
    if hierarchy.spans is None:
        return "|".join(hierarchy.leaves[leaf] for leaf in there)
    if hierarchy.data_dependent:
        return f"{low}-{high}"
    return hierarchy.range_text(there)


def _tell_apart(labels: Sequence[str]) -> tuple[str, ...]:
    """Groups of one name are numbered in the order of the hierarchy: a value of theirs would tell who is there."""
    counted: dict[str, int] = {}
    apart = []
    for label in labels:
        counted[label] = counted.get(label, 0) + 1
        apart.append(f"{label} ({counted[label]})" if labels.count(label) > 1 else label)
    return tuple(apart)


def _representatives(choice: Choice, column: int, shown: Shown, released: np.ndarray | None) -> tuple[str, ...]:
    """A number for each group of a column: the middle of its declared borders, or the median of its released rows.

    ``released`` (leaves,) int64 counts rows; None where the rows came in by whole groups, some of them suppressed.
    """
    hierarchy = choice.recoding.hierarchies[column]
    if hierarchy.spans is None or hierarchy.dates:
        raise BadTable(
            f"Column {hierarchy.name!r} cannot show a {shown}: its values are not numbers. Show its labels instead."
        )
    # Leaves of which every one occurs may be those of the rows alone, and then they tell about suppressed rows.
    from_rows = shown == "median" or (hierarchy.edges is None and bool(choice.table.observed[column].all()))
    if from_rows and released is None:
        raise BadTable(
            f"Column {hierarchy.name!r} cannot show a {shown}: the rows were read by whole groups, so a {shown} could "
            "tell of suppressed rows. Show its labels instead."
        )
    rows = np.ones(len(hierarchy.leaves), dtype=np.int64) if released is None or not from_rows else released
    texts = []
    for first, last in choice.recoding.pairs(column):
        there = np.flatnonzero(rows[first : last + 1]) + first
        spans = hierarchy.spans[there if len(there) else slice(first, last + 1)]
        if shown == "median":
            number = _median(spans.mean(axis=1), rows[there] if len(there) else np.ones(len(spans), dtype=np.int64))
        elif hierarchy.edges is not None:
            number = (float(hierarchy.edges[first]) + float(hierarchy.edges[last + 1])) / 2
        else:
            number = (float(spans[:, 0].min()) + float(spans[:, 1].max())) / 2
        if not np.isfinite(number):
            raise BadTable(f"A group of {hierarchy.name!r} has no middle: a border is infinite. Show its labels.")
        if abs(number) >= EXACT:
            raise BadTable(f"The {shown} of a group of {hierarchy.name!r} is too large to be exact. Show its labels.")
        texts.append(number_text(number))
    return tuple(texts)


def _median(numbers: np.ndarray, rows: np.ndarray) -> float:
    """The lower median of weighted numbers."""
    order = np.argsort(numbers, kind="stable")
    passed = np.cumsum(rows[order])
    return float(numbers[order][np.searchsorted(passed, (passed[-1] + 1) // 2)])


# -- the code book -----------------------------------------------------------------------------------------------------
#
# Which values each label stands for, and on demand how many rows have each value. A value is named where at least k
# released rows have it, and where the release shows it anyway; whether a label stands for further values is never said.
# So no list tells that a rare value occurs, whether somebody declared it or the rows brought it. Labels of whole-number
# intervals have the ends that their rule declares, which say nothing of the rows. Counts are of released rows, one
# column at a time, and none is below k.

Range = tuple[int, int]  # the first and the last of whole numbers


@dataclass(frozen=True, eq=False)
class LabelMeanings:
    """One quasi-identifier as a code book tells of it."""

    hierarchy: Hierarchy
    runs: Sequence[tuple[int, int]]  # first and last leaf of each group
    level: int | None  # of the lattice
    told: np.ndarray  # (leaves,) int64, released rows with the leaf; 0 where that many must not be told by a name
    k: int
    numbered: bool  # its borders are values of rows, some of them suppressed, so its groups are numbers

    @cached_property
    def whole(self) -> bool:
        """Whether its labels are ranges of whole numbers that a rule declares."""
        rule = self.hierarchy.rule or {}
        if "intervals" not in rule:
            return False
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
        listed = np.flatnonzero(self.told[first : last + 1] >= self.k) + first
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
            values = [int(hierarchy.leaves[leaf]) for leaf in names if hierarchy.leaves[leaf] != MISSING]
            return (values[0], values[-1]) if values else None
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


def has_counts(public: Mapping[str, Any]) -> bool:
    """Whether a public part says how many rows have each value."""
    return any("counts" in column for column in public.get("codebook", {}).values())


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
        entry: dict[str, list[str]] = {}
        for label in seen[name]:
            if label in groups and not column.numbered:
                entry[label] = column.meaning(*column.runs[groups[label]], column.level)
            elif label == STAR:  # of masked rows, which stands for anything
                entry[label] = column.meaning(0, len(leaves) - 1, column.hierarchy.height)
            else:
                entry[label] = [label]
        alone = {meaning[0] for meaning in entry.values() if len(meaning) == 1}
        listed = [leaf for leaf, rows_ in zip(leaves, column.told.tolist(), strict=True) if rows_ >= k or leaf in alone]
        book[name] = {"labels": [[label, *meaning] for label, meaning in entry.items()]}
        book[name] |= {"numbers": "whole"} if column.whole else {"values": [*listed, *sorted(alone - set(listed))]}
        if counts and rows is not None:
            book[name] |= _counts(choice, column, place, rows)
    return book


def _rows_of(choice: Choice, partition: Partition, place: int) -> np.ndarray | None:
    """Released rows with each leaf, (leaves,) int64; None where they cannot be known."""
    if choice.table.leaf_counts is not None and not partition.suppressed.any():
        return choice.table.leaf_counts[place]
    return released_rows(choice, partition, place)


def _column(choice: Choice, partition: Partition, place: int, rows: np.ndarray | None, k: int) -> LabelMeanings:
    hierarchy, table = choice.recoding.hierarchies[place], partition.table
    told = np.zeros(len(hierarchy.leaves), dtype=np.int64)
    numbered = has_row_borders(hierarchy) and bool(partition.suppressed.any())
    # Where a population is known, who is in the table is what is protected.
    if rows is not None and table.population is None and not numbered:
        told = rows if table.persons is None else np.where(_persons(partition, place, len(rows)) >= k, rows, 0)
    level = None if choice.recoding.levels is None else choice.recoding.levels[place]
    return LabelMeanings(hierarchy, list(choice.recoding.pairs(place)), level, told, k, numbered)


def _persons(partition: Partition, place: int, leaves: int) -> np.ndarray:
    """How many persons have each leaf in released rows: (leaves,) int64."""
    table = partition.table
    if table.persons is None:
        return np.zeros(leaves, dtype=np.int64)
    kept = ~partition.suppressed[partition.members][table.persons.row]
    pairs = np.column_stack((table.codes[table.persons.row, place], table.persons.code))[kept]
    return np.bincount(np.unique(pairs, axis=0)[:, 0], minlength=leaves)


def _counts(choice: Choice, column: LabelMeanings, place: int, rows: np.ndarray) -> dict[str, Any]:
    """The rows of each value, merged up the hierarchy until none is below k; what has no name of its own is the rest.

    An entry is the first value, the last value and the rows of all between them that no narrower entry has.
    """
    hierarchy, tree = column.hierarchy, column.hierarchy.tree
    if choice.recoding.boxes is None and not hierarchy.is_tree_cut(choice.recoding.cuts[place]):
        last = len(hierarchy.leaves) - 1
        runs = {(0, last), *column.runs, *((leaf, leaf) for leaf in range(last + 1))}
        tree = make_tree([(*run, "") for run in runs])  # labels first, so that no entry is part of two of them
    entries, rest = [], 0
    for node, count in sorted(merge_counts(tree, rows, column.k).items()):
        first, last = int(tree.first[node]), int(tree.last[node])
        ends: list[str] = []
        if first == last and not column.numbered:
            ends = [hierarchy.leaves[first]] * 2
        elif node and column.whole and (first, last) in hierarchy.tree.runs:
            span = column.declared_range(first, last, None)
            ends = [] if span is None else [str(span[0]), str(span[1])]
        if ends:
            entries.append([*ends, count])
        else:
            rest += count
    return {"counts": entries, **({"rest": rest} if rest else {})}


def merge_counts(tree: Tree, rows: np.ndarray, k: int) -> dict[int, int]:
    """Node -> rows of its leaves that no node below it counts, none below k.

    Leaves below k are counted together by the node above, which takes its smallest part along where the few are still
    too few; so no difference between a node and its parts is below k.
    """
    nodes = len(tree.labels)
    left = np.zeros(nodes, dtype=np.int64)
    parts: list[dict[int, int]] = [{} for _ in range(nodes)]
    for node in range(nodes - 1, -1, -1):
        if not tree.children[node]:
            left[node] = rows[tree.first[node] : tree.last[node] + 1].sum()
        if 0 < left[node] < k and parts[node]:
            least = min(parts[node], key=lambda part: (parts[node][part], part))
            left[node] += parts[node].pop(least)
        if left[node] >= max(k, 1):
            parts[node][node] = int(left[node])
            left[node] = 0
        above = int(tree.parent[node])
        if above >= 0:
            left[above] += left[node]
            parts[above].update(parts[node])
    return parts[0]
