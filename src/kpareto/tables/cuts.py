"""Cuts: the space of flexible recodings. One gene per possible border between neighbouring leaves, 1 where it is drawn.

A column is either bound to its tree (every group must be a node of it) or free (any run of neighbours is a group); a
free column may be limited to some borders. A genome is the bit strings of the columns
side by side (readings.md#spaces), so every lattice node is a genome too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kpareto.errors import BadInput, BadJob, did_you_mean, shorten
from kpareto.kernels.cuts.genomes import repair_all, sample_all
from kpareto.kernels.hashing import seed_stream
from kpareto.kernels.records import Genes, Trees
from kpareto.tables.hierarchy import Hierarchy, Tree, cut_bits, runs_of
from kpareto.tables.lattice import Kind, Lattice, Space
from kpareto.tables.local_space import LocalSpace
from kpareto.tables.recoding import Recoding, node
from kpareto.tables.table import Table


@dataclass(frozen=True, eq=False)
class Cuts:
    """Every recoding made of tree cuts (columns bound to their tree) and of runs of neighbours (free columns)."""

    hierarchies: tuple[Hierarchy, ...]
    free: tuple[bool, ...]  # per column: any run of neighbours may be a group
    ends: Mapping[str, np.ndarray] = field(default_factory=dict)  # free column -> gaps that may hold a border
    kind: Kind = "cuts"

    def __post_init__(self) -> None:
        if len(self.free) != len(self.hierarchies):
            raise BadInput(
                f"Say for each of the {len(self.hierarchies)} columns whether it is free; {len(self.free)} given."
            )
        names = [h.name for h in self.hierarchies]
        for name, gaps in self.ends.items():
            if name not in names:
                raise BadJob(
                    f"Borders are given for {name!r}, which is no column to recode. "
                    f"{did_you_mean(name, names)}There are: {shorten(names)}."
                )
            column = names.index(name)
            most = len(self.hierarchies[column].leaves) - 1
            if not self.free[column]:
                raise BadJob(f"Column {name!r} follows its tree, so it takes no list of borders. Declare it ordered.")
            if len(gaps) and (int(np.min(gaps)) < 0 or int(np.max(gaps)) >= most or (np.diff(gaps) <= 0).any()):
                raise BadJob(
                    f"The borders of {name!r} must rise and lie between 0 and {most - 1}; "
                    "border g separates leaf g from leaf g + 1."
                )

    # -- the box -----------------------------------------------------------------------------------------------------

    @cached_property
    def gaps(self) -> tuple[np.ndarray, ...]:
        """Per column, the gap each gene stands for: gap g lies between leaf g and leaf g + 1; fixed ones have none."""
        return tuple(
            np.setdiff1d(self.ends.get(h.name, np.arange(len(h.leaves) - 1)), h.fixed).astype(np.int64)
            for h in self.hierarchies
        )

    @cached_property
    def fixed(self) -> np.ndarray:
        """The leaves just after borders that are always drawn, among all leaves side by side: (borders,) int64."""
        pieces = [self.leaf_at[c] + h.fixed + 1 for c, h in enumerate(self.hierarchies)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *pieces])

    @cached_property
    def gene_at(self) -> np.ndarray:
        """Where each column's genes start: (columns + 1,) int64."""
        return np.concatenate(([0], np.cumsum([len(gaps) for gaps in self.gaps]))).astype(np.int64)

    @cached_property
    def leaf_at(self) -> np.ndarray:
        """Where each column's leaves start: (columns + 1,) int64."""
        return np.concatenate(([0], np.cumsum([len(h.leaves) for h in self.hierarchies]))).astype(np.int64)

    @cached_property
    def gene_leaf(self) -> np.ndarray:
        """The leaf just after each gene's border, among all leaves side by side: (genes,) int64."""
        pieces = [self.leaf_at[c] + gaps + 1 for c, gaps in enumerate(self.gaps)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *pieces])

    @cached_property
    def free_genes(self) -> np.ndarray:
        """Which genes belong to a free column: (genes,) bool."""
        return np.repeat(np.array(self.free, dtype=np.bool_), np.diff(self.gene_at))

    @cached_property
    def gene_places(self) -> Genes:
        """Where the genes stand, as the kernels take it."""
        columns = np.repeat(np.arange(len(self.hierarchies)), np.diff(self.gene_at)).astype(np.int64)
        return Genes(self.gene_leaf, self.leaf_at, self.free_genes, columns, self.fixed.astype(np.int64))

    @cached_property
    def genes(self) -> np.ndarray:
        """Every gene takes two values: (genes,) int64."""
        return np.full(int(self.gene_at[-1]), 2, dtype=np.int64)

    @cached_property
    def size(self) -> int:
        """How many recodings there are."""
        return math.prod(
            2 ** len(gaps) if free else h.tree.cuts(h.roots)
            for h, free, gaps in zip(self.hierarchies, self.free, self.gaps, strict=True)
        )

    @cached_property
    def trees(self) -> Trees:
        """The trees of the bound columns, as the kernels take them."""
        return flatten_trees(self)

    # -- genomes and recodings ---------------------------------------------------------------------------------------

    def cuts(self, genomes: np.ndarray) -> np.ndarray:
        """Genomes (n, genes) -> cuts of the columns side by side, (n, all leaves) int32."""
        borders = np.zeros((len(genomes), int(self.leaf_at[-1])), dtype=np.int32)
        borders[:, self.gene_leaf] = genomes
        borders[:, self.fixed] = 1
        # Running numbers over all leaves, less the number at the start of the column.
        running = np.cumsum(borders, axis=1, dtype=np.int32)
        for column in range(1, len(self.hierarchies)):
            start, end = int(self.leaf_at[column]), int(self.leaf_at[column + 1])
            running[:, start:end] -= running[:, start : start + 1].copy()
        return running

    def decode(self, genome: Sequence[int] | np.ndarray) -> Recoding:
        """One genome as a recoding; a genome that breaks a tree is an error."""
        bits = np.asarray(genome, dtype=np.int64)
        if bits.shape != (len(self.genes),) or ((bits != 0) & (bits != 1)).any():
            raise BadInput(f"A genome of this space has {len(self.genes)} genes, each 0 or 1; {bits.size} were given.")
        side = self.cuts(bits[None, :])[0]
        cuts = [side[self.leaf_at[c] : self.leaf_at[c + 1]] for c in range(len(self.hierarchies))]
        for hierarchy, free, cut in zip(self.hierarchies, self.free, cuts, strict=True):
            if not free and not hierarchy.is_tree_cut(cut):
                first, last = next(run for run in runs_of(cut) if run not in hierarchy.tree.runs)
                raise BadInput(
                    f"The genome groups {hierarchy.leaves[first]!r} to {hierarchy.leaves[last]!r} of "
                    f"{hierarchy.name!r}, which is no group of its tree. Repair the genome first."
                )
        return Recoding(self.hierarchies, tuple(cuts))

    def encode(self, recoding: Recoding) -> np.ndarray:
        """The genome of a recoding, (genes,) int64; an error where the space does not hold it."""
        genome = np.zeros(len(self.genes), dtype=np.int64)
        for c, (hierarchy, cut) in enumerate(zip(self.hierarchies, recoding.cuts, strict=True)):
            bits = cut_bits(cut)
            if not bits[hierarchy.fixed].all():
                raise BadInput(f"The recoding shows {hierarchy.name!r} above the highest level that is allowed for it.")
            bits[hierarchy.fixed] = 0
            genome[self.gene_at[c] : self.gene_at[c + 1]] = bits[self.gaps[c]]
            if int(bits.sum()) != int(bits[self.gaps[c]].sum()):
                lost = int(np.setdiff1d(np.flatnonzero(bits), self.gaps[c])[0])
                raise BadInput(
                    f"The recoding separates {hierarchy.leaves[lost]!r} from {hierarchy.leaves[lost + 1]!r} in "
                    f"{hierarchy.name!r}, which is not among the borders allowed there."
                )
            if not self.free[c] and not hierarchy.is_tree_cut(cut):
                raise BadInput(f"The recoding of {hierarchy.name!r} is not a cut of its tree.")
        return genome

    def embed(self, levels: np.ndarray) -> np.ndarray:
        """Lattice nodes (n, columns) -> genomes (n, genes) int64; borders the space does not allow are left out."""
        genomes = np.zeros((len(levels), len(self.genes)), dtype=np.int64)
        for row, chosen in enumerate(np.asarray(levels, dtype=np.int64).tolist()):
            cuts = node(self.hierarchies, chosen).cuts
            for c, cut in enumerate(cuts):
                genomes[row, self.gene_at[c] : self.gene_at[c + 1]] = cut_bits(cut)[self.gaps[c]]
        return genomes

    # -- validity, repair, chance ------------------------------------------------------------------------------------

    def distance(self, genomes: np.ndarray) -> np.ndarray:
        """How many genes each genome (n, genes) is away from the nearest valid one: (n,) int64."""
        state = seed_stream(0)
        return repair_all(np.array(genomes, dtype=np.uint8), self.trees, state)

    def valid(self, genomes: np.ndarray) -> np.ndarray:
        """Which genomes (n, genes) are recodings of this space: (n,) bool."""
        return np.asarray(self.distance(genomes) == 0)

    def repair(self, genomes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The nearest valid genomes, (n, genes) int64; of several each is taken with equal chance (IY-10)."""
        seed = int(rng.integers(2**63))
        if not len(self.trees.first):  # every string is valid
            return np.array(genomes, dtype=np.int64)
        fixed = np.array(genomes, dtype=np.uint8)
        repair_all(fixed, self.trees, seed_stream(seed))
        return fixed.astype(np.int64)

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Genomes drawn uniformly from all recodings of the space: (count, genes) int64."""
        genomes = np.zeros((count, len(self.genes)), dtype=np.uint8)
        sample_all(genomes, self.free_genes, self.trees, seed_stream(int(rng.integers(2**63))))
        return genomes.astype(np.int64)


def flatten_trees(space: Cuts) -> Trees:
    """The trees of the bound columns as arrays over genes."""
    firsts, stops, parents, borders, shares = [], [], [], [], []
    count = 0
    for column, hierarchy in enumerate(space.hierarchies):
        if space.free[column] or len(hierarchy.leaves) == 1:
            continue
        tree, top = hierarchy.tree, hierarchy.groups[hierarchy.top]
        kept = top[tree.first] == top[tree.last]  # the others hold several groups of the top level
        number = np.append(np.cumsum(kept) - 1 + count, -1)  # the last for a root, whose parent is -1
        number[:-1][~kept] = -1
        first, stop = (
            int(space.gene_at[column]) + np.searchsorted(space.gaps[column], e) for e in (tree.first, tree.last)
        )
        parent = number[tree.parent]
        last_child = (parent < 0) | (tree.last == tree.last[tree.parent])
        firsts.append(first[kept])
        stops.append(stop[kept])
        borders.append(np.where(last_child, -1, stop)[kept])
        parents.append(parent[kept])
        shares.append(np.exp(-_log_cuts(tree))[kept])
        count += int(kept.sum())
    none = np.zeros(0, dtype=np.int64)
    return Trees(
        np.concatenate([none, *firsts]),
        np.concatenate([none, *stops]),
        np.concatenate([none, *parents]),
        np.concatenate([none, *borders]),
        np.concatenate([np.zeros(0), *shares]),
    )


def _log_cuts(tree: Tree) -> np.ndarray:
    """The logarithm of the cuts below each node, so that trees of any size do not overflow: (nodes,) float64."""
    logs = np.zeros(len(tree.labels))
    below = np.zeros(len(tree.labels))
    for at in range(len(logs) - 1, -1, -1):
        if tree.first[at] < tree.last[at]:
            logs[at] = np.logaddexp(0.0, below[at])
        if at:
            below[tree.parent[at]] += logs[at]
    return logs


def make_cuts(hierarchies: Sequence[Hierarchy], ends: Mapping[str, np.ndarray] | None = None) -> Cuts:
    """The space ``cuts``: ordered columns are free, the others follow their trees."""
    return Cuts(tuple(hierarchies), tuple(h.ordered for h in hierarchies), dict(ends or {}), "cuts")


def make_order(hierarchies: Sequence[Hierarchy], ends: Mapping[str, np.ndarray] | None = None) -> Cuts:
    """The space ``order``: every column free in the order of its leaves (Dewri et al. 2009, GE-1)."""
    return Cuts(tuple(hierarchies), tuple(True for _ in hierarchies), dict(ends or {}), "order")


def genome_text(genome: np.ndarray) -> str:
    """A genome as a string of 0 and 1."""
    return "".join("1" if gene else "0" for gene in np.asarray(genome).tolist())


def read_genome(text: str) -> np.ndarray:
    """The genome of a string of 0 and 1: (genes,) int64."""
    if set(text) - {"0", "1"}:
        raise BadInput(
            f"A genome is written with 0 and 1 only; {shorten(sorted(set(text) - {'0', '1'}), 3)} was given."
        )
    return np.array([int(letter) for letter in text], dtype=np.int64)


def make_space(kind: Kind, table: Table, ends: Mapping[str, np.ndarray] | None = None) -> Space:
    """The space of recodings a job names; ``ends`` are for cuts alone."""
    if kind == "lattice":
        return Lattice(table.hierarchies)
    if kind == "local":
        return LocalSpace(table.hierarchies)
    return make_cuts(table.hierarchies, ends) if kind == "cuts" else make_order(table.hierarchies, ends)


def tree_cuts(tree: Tree, root: int = 0) -> np.ndarray:
    """Every cut of a tree below a node, from the coarsest to the finest: (cuts, borders) uint8."""
    rows: dict[int, np.ndarray] = {}
    inside_root = range(
        root, int(np.searchsorted(tree.first, tree.last[root], side="right"))
    )  # as they are in preorder
    for place in reversed(inside_root):
        rows[place] = np.zeros((1, 0), dtype=np.uint8)
        if not tree.children[place]:
            continue
        first, *others = tree.children[place]
        inside = rows[first]
        for child in others:
            border = np.ones((len(inside) * len(rows[child]), 1), dtype=np.uint8)
            left = np.repeat(inside, len(rows[child]), axis=0)
            inside = np.hstack((left, border, np.tile(rows[child], (len(inside), 1))))
        rows[place] = np.vstack((np.zeros((1, inside.shape[1]), dtype=np.uint8), inside))
    return rows[root]
