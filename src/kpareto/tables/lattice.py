"""Spaces: boxes of small whole numbers (genomes), and how each genome decodes to a recoding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.recoding import Recoding, node
from kpareto.tables.table import Table

Kind = Literal["lattice", "cuts", "order", "local"]
MOST_WORDS = 200_000_000  # packed words of classes that may be held at once, about 1.6 GB


class Space(Protocol):
    """A box of genomes: gene g takes the values 0 … genes[g] - 1."""

    @property
    def kind(self) -> Kind:
        """The word for it in jobs and reports."""

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """One per quasi-identifier."""

    @property
    def genes(self) -> np.ndarray:
        """How many values each gene takes: (genes,) int64."""

    @property
    def size(self) -> int:
        """How many recodings there are."""

    def cuts(self, genomes: np.ndarray) -> np.ndarray:
        """Genomes (n, genes) -> cuts of the columns side by side, (n, all leaves) int32."""

    def decode(self, genome: Sequence[int] | np.ndarray) -> Recoding:
        """One genome as a recoding."""


LARGEST = 2**63 - 1  # of a node's number; larger lattices are searched without numbers


@dataclass(frozen=True, eq=False)
class Lattice:
    """All recodings by whole levels: one gene per column, its level. Nodes are numbered, first column slowest."""

    hierarchies: tuple[Hierarchy, ...]
    kind: Kind = "lattice"

    @cached_property
    def genes(self) -> np.ndarray:
        """Levels of each column: (columns,) int64."""
        return np.array([h.top + 1 for h in self.hierarchies], dtype=np.int64)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What one level of each column adds to a node's number."""
        return tuple(math.prod(self.genes[c + 1 :].tolist()) for c in range(len(self.genes)))

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return math.prod(self.genes.tolist())

    def levels(self, nodes: np.ndarray) -> np.ndarray:
        """Node numbers (n,) int64 -> levels (n, columns) int64; a stride that no such number reaches leaves level 0."""
        digits = zip(self.strides, self.genes.tolist(), strict=True)
        return np.stack([nodes // s % g if s <= LARGEST else np.zeros_like(nodes) for s, g in digits], axis=1)

    def numbers(self, levels: np.ndarray) -> np.ndarray:
        """Levels (n, columns) -> node numbers (n,) int64."""
        return np.asarray(levels, dtype=np.int64) @ np.array(self.strides, dtype=np.int64)

    def cuts(self, genomes: np.ndarray) -> np.ndarray:
        """The levels' cuts side by side: (n, all leaves) int32."""
        return np.concatenate([h.groups[genomes[:, c]] for c, h in enumerate(self.hierarchies)], axis=1)

    def decode(self, genome: Sequence[int] | np.ndarray) -> Recoding:
        """The node as a recoding."""
        return node(self.hierarchies, [int(level) for level in genome])


def walk_order(table: Table) -> list[int]:
    """Columns with few levels first; last a column with many levels whose leaves hardly split the table.

    The innermost column is never rotated and its leaf level is visited in every table above it, so a column that is
    nearly constant (native-country in Adult) belongs there. Within a few percent of the best order on Adult.
    """
    heights = [h.top for h in table.hierarchies]
    order = sorted(range(len(heights)), key=lambda c: (heights[c], len(table.occurring[c])))
    tall = [c for c in order if 2 * heights[c] >= max(heights)]
    spread = {c: float(((table.leaf_rows[c] / table.rows) ** 2).sum()) for c in tall}
    last = max(tall, key=lambda c: spread[c])
    return [c for c in order if c != last] + [last]
