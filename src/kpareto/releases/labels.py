"""What stands in a cell of each group: its label, or a number for it; never anything that only suppressed rows told.

A declared label tells nothing of the rows. A label that is put together from values (a run of neighbours without a name
of its own, quantiles) is put together from the values that released rows have, and from no other. Cells that were cut
at values of rows (``quantile_cells``) are numbered where some rows are suppressed: nobody can tell whose they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from kpareto.errors import BadJob, BadTable
from kpareto.releases.choice import Choice
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import EXACT, number_text

Shown = Literal["label", "midpoint", "median"]
SHOWN: tuple[Shown, ...] = ("label", "midpoint", "median")


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
    for group, (first, last) in enumerate(_runs(choice, column)):
        if top or not compose(hierarchy, first, last):
            continue
        there = [] if released is None else [leaf for leaf in range(first, last + 1) if released[leaf]]
        labels[group] = _name(hierarchy, there) if there else f"group {group + 1} of {len(labels)}"
    return tuple(labels)


def _runs(choice: Choice, column: int) -> Iterator[tuple[int, int]]:
    first, last = choice.recoding.runs(column)
    return zip(first.tolist(), last.tolist(), strict=True)


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
    for first, last in _runs(choice, column):
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
