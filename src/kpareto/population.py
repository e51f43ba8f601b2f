"""What a sample tells about the population it comes from: how large a class is there, how many are unique there.

A class of f rows in a sample has F rows in the population, and F is what protects the persons in it from someone who
does not know who is in the sample. F is counted where a population table is at hand, and estimated where only the
sampling fraction is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lgamma, log

import numpy as np

from kpareto.errors import BadInput, BadTable
from kpareto.partition import Partition, classes
from kpareto.recoding import Recoding
from kpareto.table import Table

TERMS = 128  # of the series below; the terms fall at least as fast as 2^-n
STEPPED = 64  # classes up to this size go by the recurrence when the sampling fraction is small
GOLDEN = (5**0.5 - 1) / 2
SMALL_FRACTION = 0.1  # up to here Pitman's estimator is preferred (Dankar et al. 2012, figure 6)


@dataclass(frozen=True, eq=False)
class Population:
    """What is known about the population: a table of it, or the share of it that was sampled (1 for a census)."""

    fraction: float | None = None
    table: Table | None = None

    def __post_init__(self) -> None:
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise BadInput(
                f"The sampling fraction is {self.fraction!r}. Give the share of the population that is in the table, "
                "above 0 and at most 1, such as 0.1."
            )
        if self.fraction is not None and self.table is not None:
            raise BadInput("A population table and a sampling fraction are given. Give the one you trust more.")

    @property
    def known(self) -> bool:
        """Whether anything is known at all."""
        return self.fraction is not None or self.table is not None


@dataclass(frozen=True)
class Uniques:
    """An estimate of how many persons are alone in their class in the population."""

    estimator: str
    fraction: float
    population: int  # rows of the population, as the fraction says
    sample_uniques: int
    population_uniques: float
    share: float  # of the population
    chance: float  # that a row unique in the sample is unique in the population

    def to_dict(self) -> dict[str, object]:
        """The same as plain data."""
        return dict(vars(self))


def population_sizes(partition: Partition, population: Table) -> np.ndarray:
    """Rows, or persons, of a population table in each class of a partition: (classes,) int64 (k-map).

    The population must hold every class at least as often as the sample does, for the sample is part of it.
    """
    seen = population.bind({h.name: h for h in partition.table.hierarchies})
    theirs = classes(seen, Recoding(seen.hierarchies, partition.recoding.cuts, partition.recoding.levels))
    place = {tuple(key): size for key, size in zip(theirs.groups.tolist(), theirs.sizes.tolist(), strict=True)}
    found = np.array([place.get(tuple(key), 0) for key in partition.groups.tolist()], dtype=np.int64)
    hidden = partition.groups[:, 0] < 0  # masked rows show nothing: all of the population may be meant
    found[hidden] = int(theirs.sizes.sum())
    short = np.flatnonzero(found < partition.sizes)
    if short.size:
        worst = int(short[0])
        labels = partition.recoding.labels
        shown = ", ".join(labels[c][g] for c, g in enumerate(partition.groups[worst].tolist()))
        raise BadTable(
            f"The population has {int(found[worst]):,} rows of the class ({shown}) and the table has "
            f"{int(partition.sizes[worst]):,}. Give a population table that contains the table."
        )
    return found


def expected_risk(sizes: np.ndarray, fraction: float) -> np.ndarray:
    """E[1/F | f] for classes of f rows in a sample: (sizes,) float64 (Benedetti and Franconi 1998).

    F given f is negative binomial with success probability p, the sampling fraction, so that
    E[1/F | f] = ∫₀¹ v^(f−1) / (1 + v (1−p)/p) dv = p/f · ₂F₁(1, 1; f+1; 1−p).
    """
    f, place = np.unique(np.asarray(sizes, dtype=np.int64), return_inverse=True)
    p, q = fraction, 1.0 - fraction
    terms = np.ones(len(f))
    total = np.ones(len(f))
    for n in range(TERMS):
        terms = terms * (n + 1) * q / (f + 1 + n)
        total += terms
    values = total * p / f
    if p < 0.5:  # for small classes the series is slow, and the recurrence is stable: errors shrink by p/q each step
        a = q / p
        steps = np.empty(STEPPED + 1)
        steps[1] = np.log1p(a) / a
        for size in range(2, STEPPED + 1):
            steps[size] = (1.0 / (size - 1) - steps[size - 1]) / a
        small = f <= STEPPED
        values[small] = steps[f[small]]
    return values[place]


def zayatz(sizes: np.ndarray, fraction: float) -> Uniques:
    """Unique persons in the population, if its classes are as large as the sample's (Zayatz 1991).

    A class of i rows shows exactly one in a sample with probability i C(N−i, n−1) / C(N, n); Bayes' rule with the
    sample's class sizes as prior gives the chance that a sample unique is a population unique.
    """
    n = int(sizes.sum())
    N = max(round(n / fraction), n)
    i, u = np.unique(sizes, return_counts=True)
    alone = int(u[i == 1].sum())
    chances = np.array([_one_seen(int(size), n, N) for size in i.tolist()])
    chance = float(chances[0] * u[0] / (chances @ u)) if alone else 0.0
    uniques = alone * chance / (n / N)
    return Uniques("zayatz", fraction, N, alone, uniques, uniques / N, chance)


def _one_seen(size: int, n: int, N: int) -> float:
    """The chance that a sample of n out of N holds exactly one of ``size`` rows."""
    if n - 1 > N - size:
        return 0.0
    return float(np.exp(log(size) + _log_choose(N - size, n - 1) - _log_choose(N, n)))


def _log_choose(whole: int, part: int) -> float:
    return lgamma(whole + 1) - lgamma(part + 1) - lgamma(whole - part + 1)


def pitman(sizes: np.ndarray, fraction: float) -> Uniques:
    """Unique persons in the population, if class sizes follow Pitman's sampling formula (Hoshino 2001).

    θ and α are fitted by maximum likelihood; a population of N then has Γ(θ+1)/Γ(θ+α) · N^α unique persons.
    """
    n = int(sizes.sum())
    N = max(round(n / fraction), n)
    alone = int((sizes == 1).sum())
    if alone == 0 or len(sizes) < 2:
        return Uniques("pitman", fraction, N, alone, 0.0, 0.0, 0.0)
    likelihood = _pitman_likelihood(sizes)

    def best_theta(alpha: float) -> float:
        return _highest(lambda t: likelihood(float(np.exp(t)), alpha), log(1e-3), log(1e3 * n))

    alpha = _highest(lambda a: likelihood(float(np.exp(best_theta(a))), a), 1e-6, 1 - 1e-6)
    theta = float(np.exp(best_theta(alpha)))
    uniques = min(float(np.exp(lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(N))), float(N))
    # The sample holds its share of the population's uniques, and shows each of them as a unique.
    chance = min(uniques * n / N / alone, 1.0)
    return Uniques("pitman", fraction, N, alone, uniques, uniques / N, chance)


def _pitman_likelihood(sizes: np.ndarray) -> Callable[[float, float], float]:
    """The logarithm of Π_{i<u}(θ+iα) / Π_{i<n}(θ+i) · Π_j Π_{i<f_j}(i−α), for u classes and n rows."""
    i, count = np.unique(sizes, return_counts=True)
    pairs = list(zip(i.tolist(), count.tolist(), strict=True))
    n, u = int(sizes.sum()), len(sizes)

    def value(theta: float, alpha: float) -> float:
        new = (u - 1) * log(alpha) + lgamma(theta / alpha + u) - lgamma(theta / alpha + 1)
        rows = lgamma(theta + n) - lgamma(theta + 1)
        old = sum(times * (lgamma(size - alpha) - lgamma(1 - alpha)) for size, times in pairs)
        return new - rows + old

    return value


def _highest(function: Callable[[float], float], low: float, high: float, steps: int = 40) -> float:
    """Where a function with one hill is highest, by golden section."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_left, f_right = function(left), function(right)
    for _ in range(steps):
        if f_left < f_right:
            low, left, f_left = left, right, f_right
            right = low + GOLDEN * (high - low)
            f_right = function(right)
        else:
            high, right, f_right = right, left, f_left
            left = high - GOLDEN * (high - low)
            f_left = function(left)
    return (low + high) / 2


def estimate_uniques(sizes: np.ndarray, fraction: float) -> Uniques:
    """The estimator that fits the sampling fraction: Pitman's up to a tenth, Zayatz's above (Dankar et al. 2012)."""
    return pitman(sizes, fraction) if fraction <= SMALL_FRACTION else zayatz(sizes, fraction)
