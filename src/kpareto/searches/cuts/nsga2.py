"""NSGA-II over cuts: any list of objectives, or Dewri's preference form with k turned into an objective (GECCO 2009).

The preference form minimizes f1 = achievement of the losses and f2 = k wished for − k reached (GE-5); the front that
``run`` returns keeps every trade-off evaluated, and ``front.prefer`` takes the answer by (achievement, sum), which is
Pareto-optimal and not only weakly so (readings.md#lexicographic).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kpareto.errors import BadJob, did_you_mean
from kpareto.fronts.dominance import achievement
from kpareto.fronts.numbers import Numbers
from kpareto.kernels.cuts.genomes import one_point_pairs
from kpareto.kernels.dominance import crowding_distances, dominance_ranks, tournament_winners
from kpareto.searches import MOST_EVALUATIONS, MOST_GENOMES, Moves, count, one_of, setting, share
from kpareto.searches.cuts.variation import OPERATORS, STARTS, Crossover, Start, cross, first_genomes, mutate, stream
from kpareto.strict import Value, describe, map_of, number
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Space

if TYPE_CHECKING:
    from kpareto.fronts.problem import Problem


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


def _are_wishes(value: Any) -> bool:
    """Whether a value is a table of wishes, a k and at least one loss, each by the name of an objective."""
    wishes = describe("wishes", map_of(number(0)))
    return wishes.fits(value) and len(value) > 1 and number(1).fits(value.get("k"))


WISHES = Value("a table of wishes, k and at least one loss, such as {k = 5, nwp = 0.2, necd = 1.0}", _are_wishes)


def preference_for(problem: Problem, wished: Mapping[str, float]) -> Preference:
    """The preference of a job's wishes, by the names of its objectives: k, and losses that are better lower."""
    names = [measure.name for measure in problem.objectives]
    for name in wished:
        if name not in names:
            raise BadJob(
                f"The preference wishes for {name!r}, which is no objective. {did_you_mean(name, names)}"
                f"Add it to search.objectives, which are: {', '.join(names)}."
            )
    losses = [name for name in wished if name != "k"]
    for name in losses:
        if problem.objectives[names.index(name)].better != "lower":
            raise BadJob(
                f"The preference wishes for {name!r}, which is better higher. Only k may be; take it as a limit."
            )
    return Preference(
        tuple(float(wished[name]) for name in losses),
        float(wished["k"]),
        tuple(names.index(name) for name in losses),
        names.index("k"),
    )


@dataclass(frozen=True, eq=False)
class Members:
    """Genomes with what they are compared by, one row each."""

    genomes: np.ndarray  # (n, genes) uint8
    costs: np.ndarray  # (n, objectives) int64 or float64, lower is better, for dominance
    values: np.ndarray  # (n, objectives) float64, for crowding
    excess: np.ndarray  # (n,) float64, how far from feasible; 0 and below: feasible (GE-6: f2)
    first: np.ndarray  # (n,) float64, what infeasible ones are compared by next (GE-6: f1)

    def take(self, places: np.ndarray) -> Members:
        """Some of them."""
        costs = self.costs[places]
        values = costs if self.values is self.costs else self.values[places]
        return Members(self.genomes[places], costs, values, self.excess[places], self.first[places])

    def join(self, other: Members) -> Members:
        """Both, one after the other."""
        costs = np.concatenate((self.costs, other.costs))
        same = self.values is self.costs and other.values is other.costs
        return Members(
            np.concatenate((self.genomes, other.genomes)),
            costs,
            costs if same else np.concatenate((self.values, other.values)),
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
    """NSGA-II with the feasibility-first tournament of GE-6; the defaults are the paper's, but for ``mutation``.

    Unless told, one border of a child flips on average: the paper's 0.001 is for its 105 borders, and where there are
    few, the search stands still with it.

    ``preference`` switches to its two objectives; without it the problem's own objectives count. ``seeds`` are genomes
    to begin with, such as the embedded lattice front: random bits alone give k = 1 almost surely.
    """

    population: int = setting(100, count(4, MOST_GENOMES, even=True), "recodings in the population")
    crossover_rate: float = setting(0.8, share(), "chance of a pair to be crossed")
    mutation: float | None = setting(None, share(), "chance of each border to flip", "1 / borders")
    crossover: Crossover = setting("one-point", one_of(*OPERATORS), "how two parents make two children")
    preference: Preference | None = setting(
        None,
        WISHES,
        "wished values of k and of losses: one answer is looked for",
        "every trade-off of the objectives",
    )
    start: Start = setting("random", one_of(*STARTS), "how the first recodings are drawn")
    seeds: np.ndarray | None = None
    # The paper's; None: until the budget is spent, which a small space may never do.
    generations: int | None = setting(500, count(1, MOST_EVALUATIONS), "populations of children")
    name: str = "nsga2"

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
        genomes = genomes.astype(np.uint8)
        if wish is None:
            excess = np.where(numbers.feasible, 0.0, 1.0 + numbers.suppressed)
            return Members(genomes, numbers.keys, numbers.values, excess, numbers.keys[:, 0].astype(np.float64))
        first = achievement(numbers.values[:, wish.losses], wish.point)
        excess = wish.k - numbers.values[:, wish.size]
        excess = np.where(numbers.feasible, excess, np.maximum(excess, 0.0) + 1.0 + numbers.suppressed)
        both = np.stack((first, excess), axis=1)
        return Members(genomes, both, both, excess, first)

    def breed(self, space: Cuts, parents: Ranked, rng: np.random.Generator) -> np.ndarray:
        """As many children as there are parents: tournaments, one-point crossover of pairs, mutation."""
        half = self.population // 2
        chosen = tournament(parents, half, rng, rounds=2)
        genomes = parents.members.genomes
        rate = 1 / max(genomes.shape[1], 1) if self.mutation is None else self.mutation
        if self.crossover == "one-point" and bool(space.free_genes.all()):
            state, crossed = stream(rng), rng.random(half) < self.crossover_rate
            flips = (rng.random(2 * half * genomes.shape[1]) < rate).reshape(2 * half, -1)
            children = one_point_pairs(genomes, chosen, crossed, flips, state)
            return space.repair(children, rng) if flips.any() else children
        ones, twos = genomes[chosen[:half]], genomes[chosen[half:]]
        before = rng.bit_generator.state
        left, _ = cross(space, ones, twos, rng, self.crossover)
        rng.bit_generator.state = before  # the same cuts seen from the other parent
        right, _ = cross(space, twos, ones, rng, self.crossover)
        apart = (rng.random(half) < self.crossover_rate)[:, None]
        children = np.concatenate((np.where(apart, left, ones), np.where(apart, right, twos)))
        return mutate(space, children, rng, rate)

    def survivors(self, everyone: Members) -> Ranked:
        """The best by rank, then by crowding, the lonelier first (Deb et al. 2002; GE-6 leaves it unchanged)."""
        rank = ranks(everyone.costs, self.population)
        lonely = crowding(everyone.values, rank)
        order = np.lexsort((-lonely, rank))[: self.population]
        return Ranked(everyone.take(order), rank[order], lonely[order])


def ranks(costs: np.ndarray, enough: int | None = None) -> np.ndarray:
    """Non-dominated ranks of costs (n, objectives): (n,) int64; once ``enough`` are ranked, the rest share the last."""
    if costs.dtype == np.float64:
        # The bits of a real number, read as a whole number, compare as the reals do once the negative ones are turned.
        words = (costs + 0.0).view(np.int64)
        costs = words ^ ((words >> 63) & np.int64(2**63 - 1))
    return dominance_ranks(np.ascontiguousarray(costs, dtype=np.int64), len(costs) if enough is None else enough)


def crowding(values: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Crowding distance within each rank (Deb et al. 2002): (n,) float64, infinite at the ends."""
    return crowding_distances(np.ascontiguousarray(values, dtype=np.float64), rank)


def tournament(ranked: Ranked, count: int, rng: np.random.Generator, rounds: int = 1) -> np.ndarray:
    """Winners of binary tournaments (GE-6), round after round: (rounds * count,) int64 places.

    Both feasible: lower rank, then lonelier. One feasible: that one. None: less excess, then the first value, then
    lonelier. Otherwise by chance.
    """
    drawn = [(rng.integers(len(ranked.rank), size=2 * count), rng.random(count)) for _ in range(rounds)]
    pairs = np.concatenate([pairs.reshape(2, count) for pairs, _ in drawn], axis=1)
    chance = np.concatenate([chance for _, chance in drawn])
    members = ranked.members
    return tournament_winners(pairs, chance, ranked.rank, ranked.crowding, members.excess, members.first)
