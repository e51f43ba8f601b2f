"""Where genomes by cuts come from: first genomes, crossover, mutation. Compiled loops, each with a twin in the tests.

Crossovers by name: ``trad`` is two-point reduced surrogate crossover followed by repair (Iyengar 2002; LU-3), ``new``
cuts only at borders that both parents draw, so that no child ever needs repair (Lunacek et al. 2006; LU-4), ``hybrid``
also cuts at the borders of columns and anywhere in free columns (LU-10), ``one-point`` cuts anywhere, then repairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kpareto.kernels.cuts import genomes
from kpareto.kernels.cuts.genomes import cross_all, imply_all, repair_all, sample_spread, toss_all
from kpareto.kernels.hashing import seed_stream
from kpareto.kernels.words import COINS, HYBRID, IMPLIED, NEAREST, NEW, ONE_POINT, TRAD, UNIFORM
from kpareto.tables.cuts import Cuts

Crossover = Literal["trad", "new", "hybrid", "one-point"]
OPERATORS: dict[str, int] = {
    "trad": TRAD,
    "new": NEW,
    "hybrid": HYBRID,
    "one-point": ONE_POINT,
}
Start = Literal["uniform", "random", "spread", "implied"]
Repair = Literal["nearest", "implied"]
# Where fresh genomes come from.
STARTS: dict[str, int] = {"uniform": UNIFORM, "random": UNIFORM, "spread": UNIFORM, "implied": COINS}
REPAIRS: dict[str, int] = {"nearest": NEAREST, "implied": IMPLIED}


def imply(space: Cuts, genomes: np.ndarray) -> np.ndarray:
    """Genomes with every border drawn that their own imply (readings.md#lu-implied): (n, genes) int64, all valid."""
    drawn = np.array(genomes, dtype=np.uint8)
    if len(space.trees.first):
        imply_all(drawn, space.trees)
    return drawn.astype(np.int64)


def mend(space: Cuts, genomes: np.ndarray, rng: np.random.Generator, repair: Repair = "nearest") -> np.ndarray:
    """Valid genomes by either repair: the nearest ones, or with the implied borders drawn: (n, genes) int64."""
    return imply(space, genomes) if repair == "implied" else space.repair(genomes, rng)


def toss(space: Cuts, count: int, rng: np.random.Generator) -> np.ndarray:
    """Genomes of fair coins with every implied border drawn: (count, genes) int64."""
    genomes = np.zeros((count, len(space.genes)), dtype=np.uint8)
    toss_all(genomes, space.trees, stream(rng))
    return genomes.astype(np.int64)


def stream(rng: np.random.Generator) -> np.ndarray:
    """A random stream for the kernels, started by a generator: (1,) uint64."""
    return seed_stream(int(rng.integers(2**63)))


def safe_cuts(space: Cuts, one: np.ndarray, two: np.ndarray, hybrid: bool = False) -> list[int]:
    """The genes before which two valid parents may be cut, one per run of agreement (LU-4, LU-10)."""
    room = np.zeros(len(one) + 1, dtype=np.int64)
    bits = (np.asarray(one, dtype=np.uint8), np.asarray(two, dtype=np.uint8))
    count = genomes.safe_cuts(*bits, hybrid, space.gene_places, room)
    return [int(place) for place in room[:count]]


def cross(
    space: Cuts,
    ones: np.ndarray,
    twos: np.ndarray,
    rng: np.random.Generator,
    crossover: Crossover = "new",
    points: int = 2,
    repair: Repair = "nearest",
) -> tuple[np.ndarray, np.ndarray]:
    """Children of pairs of parents (n, genes): (n, genes) int64, all valid, and which pairs have one (n,) bool.

    ``new`` and ``hybrid`` have none where the parents share no safe cut; the row is then the first parent.
    """
    operator = OPERATORS[crossover]
    first, second = np.array(ones, dtype=np.uint8), np.array(twos, dtype=np.uint8)
    children = first.copy()
    state = stream(rng)
    has_child = cross_all(operator, points, first, second, children, space.gene_places, state)
    if operator in (TRAD, ONE_POINT) and len(space.trees.first):
        if repair == "implied":
            imply_all(children, space.trees)
        else:
            repair_all(children, space.trees, state)
    return children.astype(np.int64), has_child


def mutate(
    space: Cuts, genomes: np.ndarray, rng: np.random.Generator, rate: float, repair: Repair = "nearest"
) -> np.ndarray:
    """Flip each gene with a chance of ``rate``, then repair: (n, genes) int64."""
    flips = (rng.random(genomes.size) < rate).reshape(genomes.shape)
    changed = np.asarray(genomes, dtype=np.int64) ^ flips
    return mend(space, changed, rng, repair) if flips.any() else changed


def immigrate(
    space: Cuts, genomes: np.ndarray, rng: np.random.Generator, rate: float = 0.1, start: Start = "random"
) -> np.ndarray:
    """Cross each genome, with a chance of ``rate``, with a fresh random one by NEW (LU-5): (n, genes) int64.

    Fresh ones are drawn uniformly, or tossed where the search begins with tossed ones too.
    """
    chosen = np.flatnonzero(rng.random(len(genomes)) < rate)
    result = np.array(genomes, dtype=np.int64)
    if len(chosen):
        fresh = toss(space, len(chosen), rng) if start == "implied" else space.sample(len(chosen), rng)
        result[chosen], _ = cross(space, result[chosen], fresh, rng, "new")
    return result


def first_genomes(
    space: Cuts,
    count: int,
    rng: np.random.Generator,
    start: Start = "random",
    seeds: Sequence[np.ndarray] | np.ndarray = (),
) -> np.ndarray:
    """Distinct genomes to begin with, (at most count, genes) int64: the seeds first, then random ones.

    ``random`` draws every recoding of the space with equal chance; almost all of them are fine, so that for a large k
    they suppress everything, and ``uniform`` is the same beside the coarsest. ``spread`` draws recodings of every
    coarseness. ``implied`` tosses a fair coin for every border and draws those that are implied. Fewer than ``count``
    come back only where the space hardly has as many.
    """
    seed_genomes = np.asarray(seeds, dtype=np.int64).reshape(len(seeds), len(space.genes))
    distinct: dict[bytes, np.ndarray] = {row.astype(np.uint8).tobytes(): row for row in seed_genomes}
    if start == "uniform":
        coarsest = np.zeros(len(space.genes), dtype=np.uint8)
        distinct = {coarsest.tobytes(): coarsest} | distinct
    for _ in range(50):
        if len(distinct) >= count or len(distinct) >= space.size:
            break
        if start in ("uniform", "random"):
            drawn = space.sample(count, rng).astype(np.uint8)
        elif start == "implied":
            drawn = toss(space, count, rng).astype(np.uint8)
        else:
            drawn = np.zeros((count, len(space.genes)), dtype=np.uint8)
            sample_spread(drawn, space.free_genes, space.trees, stream(rng))
        for row in drawn:
            distinct.setdefault(row.tobytes(), row)
    rows = list(distinct.values())[:count]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(space.genes))
