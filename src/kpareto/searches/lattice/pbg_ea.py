"""PBG-EA: an evolutionary search of the lattice that keeps a box archive (Dewri et al., DBSEC 2010; PB-6).

It guarantees nothing but that no member of its archive is dominated by anything it generated. It is meant for lattices
that are too large to count, and for replication.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import MISSING, dataclass
from typing import Literal

import numpy as np

from kpareto.errors import Stopped
from kpareto.fronts.numbers import Numbers
from kpareto.searches import (
    MOST_EVALUATIONS,
    MOST_GENOMES,
    OwnSet,
    ReportingMoves,
    above_zero,
    count,
    one_of,
    setting,
    several,
    share,
)
from kpareto.searches.lattice.boxes import BoxArchive, Grid, SteadyArchive
from kpareto.tables.lattice import Space


@dataclass(frozen=True)
class PbgEa:
    """PBG-EA with the paper's settings; ``mutation`` None means one gene in expectation."""

    grid: Grid = setting(
        MISSING,
        several(above_zero(), "a list of numbers above 0, one per objective"),
        "width of the archive's boxes",
        "1, or 1 / rows for losses that never pass 1",
    )
    population: int = setting(25, count(2, MOST_GENOMES), "recodings in a population")
    iterations: int = setting(100, count(1, MOST_EVALUATIONS), "populations in all")
    crossover_rate: float = setting(0.8, share(), "chance of a pair to be crossed")
    mutation: float | None = setting(None, share(), "chance of each level to go up or down by one", "1 / columns")
    ends: Literal["inward", "stay"] = setting(
        "inward", one_of("inward", "stay"), "what a step past the top or the bottom level becomes"
    )
    steady: bool = False  # an archive that does not depend on the order of arrival
    name: str = "pbg-ea"

    def moves(self, space: Space, rng: np.random.Generator) -> ReportingMoves:
        """Yield one population after the other, without what was evaluated before; return the archive's members."""
        archive = yield from self.archives(space, rng)
        return OwnSet(archive.genomes if len(archive) else np.zeros((0, len(space.genes)), dtype=np.int64), "archive")

    def archives(self, space: Space, rng: np.random.Generator) -> Generator[np.ndarray, Numbers, BoxArchive]:
        """Yield one population after the other, without what was evaluated before; return the archive.

        Stopped, thrown in while a population is asked for, ends it with the archive so far.
        """
        archive = SteadyArchive(self.grid) if self.steady else BoxArchive(self.grid)
        highest = space.genes - 1
        known: dict[bytes, np.ndarray] = {}
        genomes = rng.integers(0, space.genes, size=(self.population, len(highest)))
        genomes[0], genomes[1] = highest, 0
        for _ in range(self.iterations):
            new = _unknown(genomes, known)
            if len(new):
                try:
                    numbers = yield new
                except Stopped:
                    break
                # Offering a recoding again changes nothing: a member's box is as high as its own ever since.
                archive.offer(new, numbers)
                bad = np.where(numbers.feasible[:, None], numbers.keys, np.iinfo(np.int64).max)
                known.update(zip((genome.tobytes() for genome in new), bad, strict=True))
            genomes = self._children(genomes, archive, known, highest, rng)
        return archive

    def _children(
        self,
        genomes: np.ndarray,
        archive: BoxArchive,
        known: dict[bytes, np.ndarray],
        highest: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Select from population and archive, cross, mutate.

        Fitness counts each recoding once, while tournaments draw from all of both: one that is in the population
        twice, or in the archive too, is drawn more often (readings.md#pb-readings).
        """
        union = np.concatenate((genomes, archive.genomes)) if len(archive) else genomes
        _, first, same = np.unique(_number_genomes(union, highest), axis=0, return_index=True, return_inverse=True)
        fitness = strengths(np.array([known[genome.tobytes()] for genome in union[first]]))[same]
        pairs = rng.integers(0, len(union), size=(self.population, 2))
        second = fitness[pairs[:, 1]] < fitness[pairs[:, 0]]
        chosen = union[np.where(second, pairs[:, 1], pairs[:, 0])]
        return self._mutate(self._cross(chosen[rng.permutation(self.population)], rng), highest, rng)

    def _cross(self, parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One-point crossover of neighbours; the last one of an odd number passes."""
        half, genes = len(parents) // 2, parents.shape[1]
        crossed = rng.random(half) < self.crossover_rate
        cut = rng.integers(1, max(genes, 2), size=half)
        swap = crossed[:, None] & (np.arange(genes)[None, :] >= cut[:, None])
        first, second = parents[0 : 2 * half : 2], parents[1 : 2 * half : 2]
        children = parents.copy()
        children[0 : 2 * half : 2] = np.where(swap, second, first)
        children[1 : 2 * half : 2] = np.where(swap, first, second)
        return children

    def _mutate(self, children: np.ndarray, highest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Each gene moves one level up or down with the mutation rate; at an end it moves inward, or stays."""
        rate = 1 / len(highest) if self.mutation is None else self.mutation
        step = np.where(rng.random(children.shape) < 0.5, 1, -1) * (rng.random(children.shape) < rate)
        if self.ends == "inward":
            outside = (children + step < 0) | (children + step > highest)
            step = np.where(outside, -step, step)
        return np.clip(children + step, 0, highest)  # a column of one level has no inside


def strengths(keys: np.ndarray) -> np.ndarray:
    """Fitness, lower being better (PB-6): for each row, how many rows its dominators dominate, added up.

    keys: (n, objectives) int64, lower is better; 0 for a row that none dominates.
    """
    at_least = np.ones((len(keys), len(keys)), dtype=np.bool_)
    for column in keys.T:
        at_least &= column[:, None] <= column[None, :]
    dominates = at_least & ~at_least.T
    return np.asarray(dominates.sum(axis=1) @ dominates)


def _unknown(genomes: np.ndarray, known: dict[bytes, np.ndarray]) -> np.ndarray:
    """The genomes of a population that were never evaluated, each once, in order."""
    fresh = {genome.tobytes(): place for place, genome in enumerate(genomes[::-1]) if genome.tobytes() not in known}
    return genomes[::-1][sorted(fresh.values(), reverse=True)]


def _number_genomes(genomes: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """A number for each genome (n, genes) that tells them apart; the genomes themselves where 64 bits are too few."""
    if math.prod((highest + 1).tolist()) >= 2**63:
        return genomes
    return np.asarray(genomes @ np.concatenate((np.cumprod((highest + 1)[::-1])[::-1][1:], [1])))
