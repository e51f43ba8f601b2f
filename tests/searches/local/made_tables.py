"""A made table with the shape of a census extract: skewed columns that hang together, trees and ordered columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kpareto.tables.hierarchy import Hierarchy, from_levels
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table

# Leaves and fan-outs of the columns: as in Census-Income, most are short and a few are long.
SHAPES = ((91, (5, 2, 2)), (9, (3,)), (52, (4, 3)), (47, (4, 3)), (17, (4,)), (3, ()), (7, (2,)), (24, (3, 2)),
          (15, (3,)), (5, ()), (10, (3,)), (2, ()), (3, ()), (6, (2,)), (8, (2, 2)), (6, ()), (51, (5, 3)), (38, (5, 2)),
          (8, (3,)), (43, (4, 3)))  # fmt: skip


def _hierarchy(name: str, leaves: int, fans: tuple[int, ...]) -> Hierarchy:
    levels, width = [[f"{name}-{leaf:02}" for leaf in range(leaves)]], 1
    for level, fan in enumerate(fans, 1):
        width *= fan
        levels.append([f"{name}:{level}:{leaf // width}" for leaf in range(leaves)])
    levels.append(["*"] * leaves)
    return from_levels(name, list(zip(*levels, strict=True)))


def census_like(rows: int, columns: int = 20, seed: int = 0) -> Table:
    """Rows of a few hidden kinds of people; a column follows the kind with some noise, and its values are skewed."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, 61) ** 1.1
    kind = rng.choice(60, rows, p=common / common.sum())
    schema = Schema(quasi=tuple(f"c{number}" for number in range(columns)))
    codes, hierarchies = np.empty((rows, columns), dtype=np.int32), []
    for column in range(columns):
        leaves, fans = SHAPES[column % len(SHAPES)]
        usual = np.minimum(rng.geometric(min(0.9, 4 / leaves), 60) - 1, leaves - 1)[kind]
        spread = np.rint(rng.laplace(0, leaves / 30, rows)).astype(np.int64)
        free = np.minimum(rng.geometric(min(0.9, 5 / leaves), rows) - 1, leaves - 1)
        codes[:, column] = np.where(rng.random(rows) < 0.85, np.clip(usual + spread, 0, leaves - 1), free)
        hierarchies.append(replace(_hierarchy(f"c{column}", leaves, fans), ordered=column % 5 == 0))
    return make_table(schema, tuple(hierarchies), codes, np.ones(rows, dtype=np.int64), {})
