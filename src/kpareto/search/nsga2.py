"""NSGA-II over cuts: any list of objectives, or Dewri's preference form with k turned into an objective (GECCO 2009).

The preference form minimizes f1 = achievement of the losses and f2 = k wished for − k reached (GE-5); the front that
``run`` returns keeps every trade-off evaluated, and ``front.prefer`` takes the answer by (achievement, sum), which is
Pareto-optimal and not only weakly so (SPEC A.3, repair).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kpareto import kernels
from kpareto.cuts import Cuts
from kpareto.errors import BadJob
from kpareto.preference import achievement
from kpareto.problem import Numbers
from kpareto.search import Moves
from kpareto.space import Space
from kpareto.variation import Crossover, Start, cross, first_genomes, mutate, operator_of


@dataclass(frozen=True)
class Preference:
    """What is wished for: values of the losses, and a k; the places say which objectives they are."""

    point: tuple[float, ...] = (0.2, 1.0)  # of the losses, here NWP and NECD
    k: float = 5
    losses: tuple[int, ...] = (1, 2)  # places among the problem's objectives
    size: int = 0  # the place of k

    def __post_init__(self) -> None:
        if len(self.point) != len(self.losses):
            raise BadJob(f"The preference has {len(self.point)} values for {len(self.losses)} losses. Give as many.")
        if not self.k >= 1:
            raise BadJob(f"The k wished for is {self.k!r}. Give at least 1.")


@dataclass(frozen=True, eq=False)
class Members:
    """Genomes with what they are compared by, one row each."""

    genomes: np.ndarray  # (n, genes) int64
    costs: np.ndarray  # (n, objectives) int64 or float64, lower is better, for dominance
    values: np.ndarray  # (n, objectives) float64, for crowding
    excess: np.ndarray  # (n,) float64, how far from feasible; 0 and below: feasible (GE-6: f2)
    first: np.ndarray  # (n,) float64, what infeasible ones are compared by next (GE-6: f1)

    def take(self, places: np.ndarray) -> Members:
        """Some of them."""
        return Members(
            self.genomes[places], self.costs[places], self.values[places], self.excess[places], self.first[places]
        )

    def join(self, other: Members) -> Members:
        """Both, one after the other."""
        return Members(
            np.concatenate((self.genomes, other.genomes)),
            np.concatenate((self.costs, other.costs)),
            np.concatenate((self.values, other.values)),
            np.concatenate((self.excess, other.excess)),
            np.concatenate((self.first, other.first)),
        )


@dataclass(frozen=True, eq=False)
class Ranked:
    """A population: its members, the rank of each and how crowded its place is."""

    members: Members
    rank: np.ndarray  # (n,) int64, 0 for the non-dominated
    crowding: np.ndarray  # (n,) float64, larger is lonelier and preferred


@dataclass(frozen=True)
class Nsga2:
    """NSGA-II with the feasibility-first tournament of GE-6; the defaults are the paper's.

    ``preference`` switches to its two objectives; without it the problem's own objectives count. ``seeds`` are genomes
    to begin with, such as the embedded lattice front: random bits alone give k = 1 almost surely.
    """

    population: int = 100
    crossover_rate: float = 0.8
    mutation: float = 0.001  # per gene
    crossover: Crossover = "one-point"
    preference: Preference | None = None
    start: Start = "uniform"
    seeds: np.ndarray | None = None
    generations: int | None = 500  # the paper's; None: until the budget is spent, which a small space may never do
    name: str = "nsga2"

    def __post_init__(self) -> None:
        if self.population < 4 or self.population % 2:
            raise BadJob(f"NSGA-II has a population of {self.population}. Give an even number of at least 4.")
        for word, share in (("crossover rate", self.crossover_rate), ("mutation rate", self.mutation)):
            if not 0 <= share <= 1:
                raise BadJob(f"NSGA-II has a {word} of {share!r}. Give a share from 0 to 1.")
        operator_of(self.crossover)

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:
        """Propose the first population, then one generation of children after the other."""
        if not isinstance(space, Cuts):
            raise BadJob(
                "NSGA-II breeds cuts. Take the space 'cuts' or 'order', or the search 'pbg-ea' for the lattice."
            )
        genomes = first_genomes(space, self.population, rng, self.start, () if self.seeds is None else self.seeds)
        numbers = yield genomes
        parents = self.survivors(self.members(genomes, numbers))
        count = 0
        while self.generations is None or count < self.generations:
            children = self.breed(space, parents, rng)
            numbers = yield children
            parents = self.survivors(parents.members.join(self.members(children, numbers)))
            count += 1

    def members(self, genomes: np.ndarray, numbers: Numbers) -> Members:
        """Genomes with what they are compared by: the problem's objectives, or f1 and f2 of the preference."""
        wish = self.preference
        if wish is None:
            excess = np.where(numbers.feasible, 0.0, 1.0 + numbers.suppressed)
            return Members(genomes, numbers.keys, numbers.values, excess, numbers.keys[:, 0].astype(np.float64))
        first = achievement(numbers.values[:, list(wish.losses)], wish.point)
        excess = wish.k - numbers.values[:, wish.size]
        excess = np.where(numbers.feasible, excess, np.maximum(excess, 0.0) + 1.0 + numbers.suppressed)
        both = np.stack((first, excess), axis=1)
        return Members(genomes, both, both, excess, first)

    def breed(self, space: Cuts, parents: Ranked, rng: np.random.Generator) -> np.ndarray:
        """As many children as there are parents: tournaments, one-point crossover of pairs, mutation."""
        half = self.population // 2
        mothers, fathers = (tournament(parents, half, rng) for _ in range(2))
        ones, twos = parents.members.genomes[mothers], parents.members.genomes[fathers]
        state = rng.bit_generator.state
        left, _ = cross(space, ones, twos, rng, self.crossover)
        if self.crossover == "one-point" and bool(space.free_genes.all()):
            right = ones + twos - left  # the same cut seen from the other parent
        else:
            rng.bit_generator.state = state
            right, _ = cross(space, twos, ones, rng, self.crossover)
        crossed = (rng.random(half) < self.crossover_rate)[:, None]
        children = np.concatenate((np.where(crossed, left, ones), np.where(crossed, right, twos)))
        return mutate(space, children, rng, self.mutation)

    def survivors(self, everyone: Members) -> Ranked:
        """The best by rank, then by crowding, the lonelier first (Deb et al. 2002; GE-6 leaves it unchanged)."""
        rank = ranks(everyone.costs, self.population)
        lonely = crowding(everyone.values, rank)
        order = np.lexsort((-lonely, rank))[: self.population]
        return Ranked(everyone.take(order), rank[order], lonely[order])


def ranks(costs: np.ndarray, enough: int | None = None) -> np.ndarray:
    """Non-dominated ranks of costs (n, objectives): (n,) int64; once ``enough`` are ranked, the rest share the last."""
    # Places in the order of each objective: whole numbers that compare as the costs do.
    placed = np.stack([np.unique(column, return_inverse=True)[1] for column in costs.T], axis=1)
    return kernels.dominance_ranks(placed.astype(np.int64), len(costs) if enough is None else enough)


def crowding(values: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Crowding distance within each rank (Deb et al. 2002): (n,) float64, infinite at the ends."""
    distance = np.zeros(len(values))
    for objective in range(values.shape[1]):
        column = values[:, objective].astype(np.float64)
        order = np.lexsort((column, rank))
        sorted_rank, sorted_values = rank[order], column[order]
        change = np.flatnonzero(np.diff(sorted_rank)) + 1
        starts = np.concatenate(([0], change))
        ends = np.concatenate((change, [len(order)])) - 1
        width = sorted_values[ends] - sorted_values[starts]
        spread = np.repeat(np.where(width > 0, width, 1.0), ends - starts + 1)
        gap = np.zeros(len(order))
        gap[1:-1] = (sorted_values[2:] - sorted_values[:-2]) / spread[1:-1]
        gap[starts] = gap[ends] = np.inf
        distance[order] += gap
    return distance


def tournament(ranked: Ranked, count: int, rng: np.random.Generator) -> np.ndarray:
    """Winners of binary tournaments (GE-6): (count,) int64 places.

    Both feasible: lower rank, then lonelier. One feasible: that one. None: less excess, then the first value, then
    lonelier. Otherwise by chance.
    """
    one, two = rng.integers(len(ranked.rank), size=(2, count))
    coin = np.where(rng.random(count) < 0.5, -1.0, 1.0)
    excess, first = ranked.members.excess, ranked.members.first
    fits_one, fits_two = excess[one] <= 0, excess[two] <= 0
    lonelier = np.sign(_finite(ranked.crowding[two]) - _finite(ranked.crowding[one]))
    crowded = _first_told(np.sign(ranked.rank[one] - ranked.rank[two]).astype(np.float64), lonelier, coin)
    missed = _first_told(np.sign(excess[one] - excess[two]), np.sign(first[one] - first[two]), lonelier, coin)
    verdict = np.where(fits_one & fits_two, crowded, np.where(fits_one, -1.0, np.where(fits_two, 1.0, missed)))
    return np.where(verdict <= 0, one, two)


def _finite(distance: np.ndarray) -> np.ndarray:
    return np.minimum(distance, 1e300)


def _first_told(*verdicts: np.ndarray) -> np.ndarray:
    """The first verdict that is not a draw."""
    told = verdicts[-1]
    for verdict in reversed(verdicts[:-1]):
        told = np.where(verdict != 0, verdict, told)
    return told


def groups_of(space: Cuts, genome: np.ndarray) -> Mapping[str, int]:
    """Groups per column of one genome (GE-8)."""
    cuts = space.decode(genome).cuts
    return {hierarchy.name: int(cut[-1]) + 1 for hierarchy, cut in zip(space.hierarchies, cuts, strict=True)}
