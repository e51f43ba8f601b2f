"""Where genomes by cuts come from: first genomes, crossover, mutation. Compiled loops, each with a twin in the tests.

Crossovers by name: ``trad`` is two-point reduced surrogate crossover followed by repair (Iyengar 2002; LU-3), ``new``
cuts only at borders that both parents draw, so that no child ever needs repair (Lunacek et al. 2006; LU-4), ``hybrid``
also cuts at the borders of columns and anywhere in free columns (LU-10), ``one-point`` cuts anywhere, then repairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from kpareto import kernels
from kpareto.cuts import Cuts
from kpareto.errors import BadJob, did_you_mean

Crossover = Literal["trad", "new", "hybrid", "one-point"]
OPERATORS: dict[str, int] = {
    "trad": kernels.TRAD,
    "new": kernels.NEW,
    "hybrid": kernels.HYBRID,
    "one-point": kernels.ONE_POINT,
}
Start = Literal["uniform", "spread"]


def operator_of(crossover: str) -> int:
    """The kernels' number of a crossover."""
    if crossover not in OPERATORS:
        raise BadJob(
            f"No crossover {crossover!r}. {did_you_mean(crossover, OPERATORS)}There are: {', '.join(OPERATORS)}."
        )
    return OPERATORS[crossover]


@lru_cache(maxsize=8)  # crossovers ask for it again and again
def gene_columns(space: Cuts) -> np.ndarray:
    """The column of each gene: (genes,) int64."""
    return np.repeat(np.arange(len(space.hierarchies)), np.diff(space.gene_at)).astype(np.int64)


def stream(rng: np.random.Generator) -> np.ndarray:
    """A random stream for the kernels, started by a generator: (1,) uint64."""
    return kernels.seeded(int(rng.integers(2**63)))


def safe_cuts(space: Cuts, one: np.ndarray, two: np.ndarray, hybrid: bool = False) -> list[int]:
    """The genes before which two valid parents may be cut, one per run of agreement (LU-4, LU-10)."""
    room = np.zeros(len(one) + 1, dtype=np.int64)
    bits = (np.asarray(one, dtype=np.uint8), np.asarray(two, dtype=np.uint8))
    count = kernels.safe_cuts(*bits, hybrid, space.free_genes, gene_columns(space), room)
    return [int(place) for place in room[:count]]


def cross(
    space: Cuts,
    ones: np.ndarray,
    twos: np.ndarray,
    rng: np.random.Generator,
    crossover: Crossover = "new",
    points: int = 2,
) -> tuple[np.ndarray, np.ndarray]:
    """Children of pairs of parents (n, genes): (n, genes) int64, all valid, and which pairs have one (n,) bool.

    ``new`` and ``hybrid`` have none where the parents share no safe cut; the row is then the first parent.
    """
    if points not in (1, 2):
        raise BadJob(f"A crossover has {points} points. Give 1 or 2.")
    operator = operator_of(crossover)
    first, second = np.array(ones, dtype=np.uint8), np.array(twos, dtype=np.uint8)
    children = first.copy()
    state = stream(rng)
    made = kernels.cross_all(operator, points, first, second, children, space.free_genes, gene_columns(space), state)
    if operator in (kernels.TRAD, kernels.ONE_POINT) and len(space.trees.first):
        kernels.repair_all(children, *space.trees.arrays, state)
    return children.astype(np.int64), made


def mutate(space: Cuts, genomes: np.ndarray, rng: np.random.Generator, rate: float) -> np.ndarray:
    """Flip each gene with a chance of ``rate``, then repair: (n, genes) int64."""
    if not 0 <= rate <= 1:
        raise BadJob(f"The mutation rate is {rate!r}. Give a share from 0 to 1.")
    flips = (rng.random(genomes.size) < rate).reshape(genomes.shape)
    changed = np.asarray(genomes, dtype=np.int64) ^ flips
    return space.repair(changed, rng) if flips.any() else changed


def immigrate(space: Cuts, genomes: np.ndarray, rng: np.random.Generator, rate: float = 0.1) -> np.ndarray:
    """Cross each genome, with a chance of ``rate``, with a fresh random one by NEW (LU-5): (n, genes) int64."""
    if not 0 <= rate <= 1:
        raise BadJob(f"The share of genomes crossed with a fresh one is {rate!r}. Give a share from 0 to 1.")
    chosen = np.flatnonzero(rng.random(len(genomes)) < rate)
    result = np.array(genomes, dtype=np.int64)
    if len(chosen):
        result[chosen], _ = cross(space, result[chosen], space.sample(len(chosen), rng), rng, "new")
    return result


def first_genomes(
    space: Cuts,
    count: int,
    rng: np.random.Generator,
    start: Start = "uniform",
    seeds: Sequence[np.ndarray] | np.ndarray = (),
) -> np.ndarray:
    """Distinct genomes to begin with, (at most count, genes) int64: the seeds first, then random ones.

    ``uniform`` draws every recoding of the space with equal chance; almost all of them are fine, so that for a large k
    they suppress everything. ``spread`` draws recodings of every coarseness. Fewer than ``count`` come back only where
    the space hardly has as many.
    """
    if start not in ("uniform", "spread"):
        raise BadJob(f"No way to begin called {start!r}. Write 'uniform' or 'spread'.")
    given = np.asarray(seeds, dtype=np.int64).reshape(len(seeds), len(space.genes))
    found: dict[bytes, np.ndarray] = {row.astype(np.uint8).tobytes(): row for row in given}
    for _ in range(50):
        if len(found) >= count or len(found) >= space.size:
            break
        if start == "uniform":
            drawn = space.sample(count, rng).astype(np.uint8)
        else:
            drawn = np.zeros((count, len(space.genes)), dtype=np.uint8)
            kernels.sample_spread(drawn, space.free_genes, *space.trees.arrays, stream(rng))
        for row in drawn:
            found.setdefault(row.tobytes(), row)
    rows = list(found.values())[:count]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(space.genes))
