"""Flip: a local search that changes one cut at a time, for any objectives.

From the starts on, every genome one cut away from a trade-off that is known is proposed, until none is new. It stops
where no single cut helps, which need not be the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadJob
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers
from kpareto.kernels.records import Trees
from kpareto.searches import Moves
from kpareto.searches.cuts.variation import first_genomes
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Space

MOST_CELLS = 8_000_000  # genes of the genomes that are proposed at once: 64 MB
Known = dict[bytes, tuple[np.ndarray, tuple[int, ...]]]  # a genome's bytes -> the genome and its keys


@dataclass(frozen=True)
class Flip:
    """Local search on single cuts behind the seam: the neighbours of every trade-off found, until none is new.

    Starts from ``starts`` (the embedded lattice front), keeps its own list of non-dominated genomes, proposes all
    genomes one cut away from each, and restarts from random genomes ``restarts`` times when nothing improves.
    """

    starts: np.ndarray | None = None  # (n, genes)
    restarts: int = 2
    population: int = 20
    name: str = "flip"

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:
        """Propose starts and neighbours; ends when a last restart adds nothing."""
        if not isinstance(space, Cuts):
            raise BadJob(
                "This search flips single cuts. Take the space 'cuts' or 'order', or the search 'exact' for a lattice."
            )
        front: Known = {}
        explored: set[bytes] = set()
        batch = first_genomes(space, self.population, rng, "spread", () if self.starts is None else self.starts)
        if self.starts is not None and len(self.starts):
            batch = np.asarray(self.starts, dtype=np.int64)
        left = self.restarts
        while True:
            numbers = yield batch
            _keep(front, batch, numbers)
            front = _best(front)
            waiting = [key for key in front if key not in explored]
            if waiting:
                chosen = waiting[int(rng.integers(len(waiting)))]
                explored.add(chosen)
                near = neighbours(space, front[chosen][0])
                batch = next(near)
                for further in near:  # in batches that fit into memory; the last is sent below
                    numbers = yield batch
                    _keep(front, batch, numbers)
                    batch = further
                continue
            if left == 0:
                return
            left -= 1
            batch = first_genomes(space, self.population, rng, "spread")


def _keep(front: Known, batch: np.ndarray, numbers: Numbers) -> None:
    """Add the genomes of a batch that meet the limits."""
    for place, row in enumerate(numbers.which.tolist()):
        if numbers.feasible[place]:
            front.setdefault(batch[row].tobytes(), (batch[row], tuple(numbers.keys[place].tolist())))


def _best(front: Known) -> Known:
    if not front:
        return front
    names = list(front)
    kept = non_dominated(np.array([front[name][1] for name in names], dtype=np.int64), "one")
    return {names[place]: front[names[place]] for place in sorted(kept.tolist())}


def neighbours(space: Cuts, genome: np.ndarray | Sequence[int]) -> Iterator[np.ndarray]:
    """Every genome one cut away, in batches of a bounded size, one at least: (n, genes) int64."""
    bits = np.asarray(genome, dtype=np.int64)
    near: list[np.ndarray] = []
    sent = False
    for other in _one_cut_away(space, bits):
        near.append(other)
        if len(near) * len(bits) >= MOST_CELLS:
            yield np.stack(near)
            near, sent = [], True
    if near or not sent:
        yield np.array(near, dtype=np.int64).reshape(len(near), len(bits))


def _one_cut_away(space: Cuts, bits: np.ndarray) -> Iterator[np.ndarray]:
    """A border of a free column flipped, a tree node split or its children joined, one after the other."""
    for gene in np.flatnonzero(space.free_genes).tolist():
        other = bits.copy()
        other[gene] = 1 - other[gene]
        yield other
    trees = space.trees
    children: dict[int, list[int]] = {}
    for child, parent in enumerate(trees.parent.tolist()):
        children.setdefault(parent, []).append(child)
    for place in range(len(trees.first)):
        first, stop = int(trees.first[place]), int(trees.stop[place])
        if first == stop or not _is_bordered(trees, place, bits):
            continue
        borders = [int(trees.border[child]) for child in children[place] if trees.border[child] >= 0]
        inside = bits[first:stop]
        other = bits.copy()
        if not inside.any():  # shown whole: split into its children
            other[borders] = 1
        elif inside.sum() == len(borders):  # its children are shown whole: join them
            other[first:stop] = 0
        else:
            continue
        yield other


def _is_bordered(trees: Trees, place: int, bits: np.ndarray) -> bool:
    """Whether a node's run is cut off from its neighbours, so that it can be shown or split."""
    parent = int(trees.parent[place])
    if parent < 0:
        return True
    first, stop = int(trees.first[place]), int(trees.stop[place])
    left = first == int(trees.first[parent]) or bool(bits[first - 1])
    right = stop == int(trees.stop[parent]) or bool(bits[stop])
    return left and right and _is_bordered(trees, parent, bits)
