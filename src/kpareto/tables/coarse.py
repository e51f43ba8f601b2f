"""Tables that came in coarser than their values: rows by the groups of a level, and back to the declared leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kpareto.errors import BadJob, BadSchema
from kpareto.tables.boxes import LabelBoxes, move_borders
from kpareto.tables.hierarchy import Coarse, Hierarchy, levels_tree, runs_of
from kpareto.tables.recoding import Recoding, local
from kpareto.tables.table import Table


def check_first(hierarchy: Hierarchy, first: int) -> None:
    """Raise unless the hierarchy has this level."""
    if not 0 <= first <= hierarchy.height:
        raise BadJob(
            f"The first level of {hierarchy.name!r} is {first}, and its hierarchy has the levels 0 to "
            f"{hierarchy.height}. Take one of these."
        )


def coarse_hierarchy(declared: Hierarchy, first: int, rows: np.ndarray) -> Hierarchy:
    """A hierarchy from one of its levels on: the groups of that level are its leaves."""
    check_first(declared, first)
    start = np.flatnonzero(np.diff(declared.groups[first], prepend=-1))
    end = np.append(start[1:], len(declared.leaves)) - 1
    groups = np.ascontiguousarray(declared.groups[first:, start])
    labels = declared.labels[first:]
    leaves = labels[0]
    if len(set(leaves)) < len(leaves):  # two groups may look alike; leaves may not
        leaves = tuple(f"{label} ({declared.leaves[at]} …)" for label, at in zip(leaves, start.tolist(), strict=True))
        labels = (leaves, *labels[1:])
    spans = None
    if declared.spans is not None:
        low = np.minimum.reduceat(declared.spans.min(axis=1), start)
        spans = np.column_stack((low, np.maximum.reduceat(declared.spans.max(axis=1), start)))
    return replace(
        declared,
        leaves=leaves,
        groups=groups,
        labels=labels,
        tree=levels_tree(groups, labels),
        spans=spans,
        edges=None if declared.edges is None else _edges(declared.edges, np.append(start, end[-1] + 1)),
        dates=False,  # labels of groups of dates are no dates
        rule=None,
        coarse=Coarse(declared, first, rows),
    )


def _edges(edges: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The edges at these places; a leaf of missing values, which is the last, has none."""
    return edges[places[places < len(edges)]]


def coarsen_table(table: Table, first: Mapping[str, int]) -> Table:
    """A table whose rows name one leaf of each group of these levels, with hierarchies that begin there."""
    hierarchies = list(table.hierarchies)
    codes = table.codes.copy()
    for name, level in first.items():
        column = table.column(name)
        declared = table.hierarchies[column]
        if level:
            hierarchies[column] = coarse_hierarchy(declared, level, table.leaf_rows[column])
            codes[:, column] = declared.groups[level][codes[:, column]]
    return replace(table, hierarchies=tuple(hierarchies), codes=codes, leaf_counts=None)


def check_allowed(declared: Hierarchy, levels: tuple[int, int], first: int = 0) -> None:
    """Raise unless the levels that a schema allows are among those of the hierarchy, from the first that rows have."""
    least, most = levels
    if not first <= most <= declared.height:
        raise BadSchema(
            f"The levels of {declared.name!r} are [{least}, {most}], and its hierarchy has the levels {first} to "
            f"{declared.height}. Take two of these."
        )


def limit_levels(table: Table) -> Table:
    """The table with the levels of each hierarchy that its schema allows; rows that look alike from there on are one.

    The groups of the least level are the leaves that the rows have, and no recoding goes beyond the highest level.
    """
    hierarchies, cuts = list(table.hierarchies), {}
    for name, (least, most) in table.schema.levels.items():
        column = table.column(name)
        known = hierarchies[column]
        if known.most is not None:
            continue  # limited already
        declared, rows = known, table.leaf_rows[column]
        if known.coarse is not None:
            declared, rows = known.coarse.declared, known.coarse.rows
        check_allowed(declared, (least, most), known.first)
        if least > known.first:
            cuts[column] = known.groups[least - known.first]
            known = coarse_hierarchy(_named_from(declared, least), least, rows)
        hierarchies[column] = replace(known, most=most - known.first)
    if all(new is old for new, old in zip(hierarchies, table.hierarchies, strict=True)):
        return table
    people = table.population
    if people is not None and people.table is not None:
        people = replace(people, table=_merge_leaves(people.table, hierarchies, cuts))
    merged = _merge_leaves(replace(table, population=None), hierarchies, cuts)
    return replace(merged, population=people, bare=table.bare)


def say_above(k: int) -> str:
    """That no classes were found within the highest levels."""
    return (
        f"No classes of {k:,} rows were found within the highest levels of the columns. "
        "Allow more rows to be suppressed, higher levels, or a smaller k."
    )


def _named_from(hierarchy: Hierarchy, least: int) -> Hierarchy:
    """The hierarchy whose groups have the names of this level on: the only person of her nineties is 90-99, not 93."""
    labels = list(hierarchy.tree.labels)
    for group, run in enumerate(runs_of(hierarchy.groups[least])):
        labels[hierarchy.tree.runs[run]] = hierarchy.labels[least][group]
    return replace(hierarchy, tree=replace(hierarchy.tree, labels=tuple(labels)))


def _merge_leaves(table: Table, hierarchies: list[Hierarchy], cuts: Mapping[int, np.ndarray]) -> Table:
    """The rows under other hierarchies, in which the leaves of some columns are merged by a cut."""
    codes = table.codes.copy()
    for column, cut in cuts.items():
        codes[:, column] = cut[codes[:, column]]
    return table.roll_up(codes, tuple(hierarchies), table.domain)


def declare(table: Table) -> Table:
    """A table under the hierarchies that were declared: each row stands at the first leaf of its groups."""
    if all(hierarchy.coarse is None for hierarchy in table.hierarchies):
        return table
    codes = table.codes.copy()
    counts = list(table.leaf_rows)
    for column, hierarchy in enumerate(table.hierarchies):
        if hierarchy.coarse is not None:
            codes[:, column] = starts(hierarchy)[codes[:, column]]
            counts[column] = hierarchy.coarse.rows
    return replace(
        table,
        hierarchies=tuple(hierarchy.declared for hierarchy in table.hierarchies),
        codes=codes,
        leaf_counts=tuple(counts),
    )


def starts(hierarchy: Hierarchy) -> np.ndarray:
    """The first declared leaf of each leaf: (leaves,) int64."""
    return np.flatnonzero(np.diff(hierarchy.declared.groups[hierarchy.first], prepend=-1))


def ends(hierarchy: Hierarchy) -> np.ndarray:
    """The last declared leaf of each leaf: (leaves,) int64."""
    return np.append(starts(hierarchy)[1:], len(hierarchy.declared.leaves)) - 1


def declared_recoding(recoding: Recoding) -> Recoding:
    """A recoding over the declared hierarchies, whatever level the rows came in at."""
    if all(hierarchy.coarse is None for hierarchy in recoding.hierarchies):
        return recoding
    if recoding.boxes is not None:
        return local(_declared_boxes(recoding.boxes))
    columns = zip(recoding.hierarchies, recoding.cuts, strict=True)
    cuts = tuple(cut[hierarchy.declared.groups[hierarchy.first]].astype(np.int32) for hierarchy, cut in columns)
    levels = recoding.levels
    if levels is not None:
        levels = tuple(level + h.first for level, h in zip(levels, recoding.hierarchies, strict=True))
    return Recoding(tuple(hierarchy.declared for hierarchy in recoding.hierarchies), cuts, levels)


def _declared_boxes(boxes: LabelBoxes) -> LabelBoxes:
    """Boxes over the declared leaves."""
    begin, end = ([leaves_of(h) for h in boxes.items.hierarchies] for leaves_of in (starts, ends))
    first = np.stack([begin[c][boxes.first[:, c]] for c in range(len(begin))], axis=1).astype(np.int32)
    last = np.stack([end[c][boxes.last[:, c]] for c in range(len(end))], axis=1).astype(np.int32)
    root = None if boxes.root is None else move_borders(boxes.root, begin)
    return LabelBoxes(declare(boxes.items), boxes.members, first, last, root)
