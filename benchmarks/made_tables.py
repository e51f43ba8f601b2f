"""Tables that are made for measuring: so many rows, columns, levels and sensitive values, all by a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kpareto.tables.hierarchy import Hierarchy, levels_tree
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table

# Levels of the seven columns of the table that other programs were measured on: 3,456 nodes.
SEVEN = (4, 4, 4, 3, 3, 3, 2)


def make_hierarchy(name: str, leaves: int, levels: int) -> Hierarchy:
    """Leaves grouped by equal steps: each level has about the same share of the groups below it, the top has one."""
    counts = [max(1, round(leaves ** (1 - level / (levels - 1)))) for level in range(levels)] if levels > 1 else [1]
    groups = np.zeros((levels, leaves), dtype=np.int32)
    groups[0] = np.arange(leaves)
    for level in range(1, levels):
        below = int(groups[level - 1, -1]) + 1
        wanted = 1 if level == levels - 1 else min(counts[level], below)
        groups[level] = groups[level - 1] * wanted // below
    labels = tuple(tuple(f"{level}:{group}" for group in range(int(cut[-1]) + 1)) for level, cut in enumerate(groups))
    return Hierarchy(name, labels[0], groups, labels, levels_tree(groups, labels), ordered=True)


def make_rows(
    rows: int,
    leaves: Sequence[int],
    levels: Sequence[int],
    values: int = 14,
    *,
    distinct: int | None = None,
    persons: bool = False,
) -> Table:
    """A table of so many rows with skewed, loosely related columns and one sensitive column of so many values.

    All rows are distinct unless ``distinct`` says how many are; the other rows repeat these. With ``persons`` each two
    distinct rows belong to one.
    """
    rng = np.random.default_rng(7)
    wanted = rows if distinct is None else distinct
    shared = rng.random(2 * wanted + 1000)  # what the columns of a row have in common
    columns = []
    for count in leaves:
        mixed = 0.3 * shared + 0.7 * rng.random(len(shared))
        columns.append(np.minimum((mixed**1.5 * count).astype(np.int64), count - 1))
    codes = np.unique(np.stack(columns, axis=1), axis=0)
    if len(codes) < wanted:
        raise ValueError(f"only {len(codes):,} distinct rows can be made of these columns")
    codes = codes[np.sort(rng.permutation(len(codes))[:wanted])]
    weights = np.ones(wanted, dtype=np.int64) + np.bincount(
        rng.integers(0, wanted, rows - wanted), minlength=wanted
    ).astype(np.int64)
    sensitive = np.minimum(rng.geometric(min(1.0, 2.5 / values), wanted) - 1, values - 1)
    names = tuple(f"c{place}" for place in range(len(leaves)))
    hierarchies = tuple(make_hierarchy(*column) for column in zip(names, leaves, levels, strict=True))
    extras = {"s": (tuple(f"v{value:03}" for value in range(values)), sensitive, None)}
    if persons:
        extras["p"] = (tuple(f"p{person}" for person in range(wanted // 2 + 1)), np.arange(wanted) // 2, None)
    return make_table(Schema(names, ("s",), person="p" if persons else None), hierarchies, codes, weights, extras)


def make_postcodes(declared: int, occurring: int, rows: int, *, cut_down: bool) -> Table:
    """A table of eight columns and 45,000 nodes, one of them postcodes: the hierarchy declares all, few occur.

    ``cut_down`` gives the same rows with a hierarchy of the postcodes that occur.
    """
    leaves, levels = (declared, 90, 2, 8, 50, 40, 60, 30), (6, 5, 2, 3, 2, 5, 5, 5)
    table = make_rows(rows, (occurring, *leaves[1:]), levels)
    postcode = make_hierarchy("c0", declared, levels[0])
    there = np.arange(occurring) * declared // occurring
    if not cut_down:
        codes = table.codes.copy()
        codes[:, 0] = there[codes[:, 0]]
        return replace(table, hierarchies=(postcode, *table.hierarchies[1:]), codes=codes)
    groups = postcode.groups[:, there]
    groups = np.cumsum(np.diff(groups, axis=1, prepend=0) != 0, axis=1).astype(np.int32)
    labels = tuple(
        tuple(postcode.labels[level][group] for group in np.unique(cut[there]))
        for level, cut in enumerate(postcode.groups)
    )
    few = Hierarchy("c0", labels[0], groups, labels, levels_tree(groups, labels), ordered=True)
    return replace(table, hierarchies=(few, *table.hierarchies[1:]))


def make_seven(rows: int, values: int = 14) -> Table:
    """All-distinct rows over seven columns and 3,456 nodes."""
    leaves = (100, 64, 50, 20, 16, 9, 2)
    return make_rows(rows, leaves, SEVEN, values)
