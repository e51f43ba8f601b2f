"""What a sample tells about the population it comes from: how large a class is there, how many are unique there.

A class of f rows in a sample has F rows in the population, and F is what protects the persons in it from someone who
does not know who is in the sample. F is counted where a population table is at hand (``measures/population.py``), and
estimated here where only the sampling fraction is known: ``least_people`` by a lower end that holds in any population,
which limits go by; the others by expectations under a model, which can be several times off either way (docs/risk.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, lgamma, log

import numpy as np

from kpareto.tables.table import Estimator

TERMS = 128  # of the series below; the terms fall at least as fast as 2^-n
STEPPED = 64  # classes up to this size go by the recurrence when the sampling fraction is small
GOLDEN = (5**0.5 - 1) / 2
SMALL_FRACTION = 0.1  # up to here Pitman's estimator is preferred (Dankar et al. 2012, figure 6)
SURE = 0.95  # how often at least the ends of ``least_people`` hold, all at once


@dataclass(frozen=True)
class Uniques:
    """How many persons are alone in their class in the population: an expectation under a model, or counted."""

    estimator: str
    fraction: float
    population: int  # rows of the population, as the fraction says
    sample_uniques: int
    population_uniques: float
    share: float  # of the population
    chance: float  # that a row unique in the sample is unique in the population

    def to_dict(self) -> dict[str, object]:
        """The estimate as plain data."""
        return dict(vars(self))


def least_people(sizes: np.ndarray, fraction: float, rows: int, shapes: float) -> np.ndarray:
    """How many people of the population stand at least behind classes of f rows of a sample: (sizes,) int64.

    rows: of the sample; shapes: the logarithm of how many classes, over all recodings, one person can be in. All ends
    hold at once with a chance of 95 %, whatever the population is, if everybody was drawn with the same chance p, with
    or without putting back. Of F people at least f are drawn with a chance of at most exp(−F · KL(f/F, p)) (Hoeffding
    1963), which grows with F up to f/p. At most N · shapes / f classes have f people or more. So no class of at most F
    people shows f rows, but for a chance of N · shapes / f · exp(…); F is so large that this is 5 % / (f (f + 1)), and
    these add up to 5 % over all f. A class of f rows has f people in any case, and at p = 1 no others.
    """
    f, inverse = np.unique(np.asarray(sizes, dtype=np.int64), return_inverse=True)
    if fraction == 1 or not len(f):
        return np.asarray(sizes, dtype=np.int64)
    most = np.log(rows / fraction) + shapes - np.log(1 - SURE) + np.log1p(f)
    low, high = f - 1, np.floor(f / fraction).astype(np.int64)  # the first is so, the second is not
    while (high - low > 1).any():
        middle = (low + high) // 2
        others = np.maximum(middle - f, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(others > 0, others * np.log(others / (middle * (1 - fraction))), 0.0)
            holds = (f * np.log(f / (middle * fraction)) + rest >= most) | (middle < f)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.asarray(low + 1, dtype=np.int64)[inverse]


def expected_risk(sizes: np.ndarray, fraction: float) -> np.ndarray:
    """E[1/F | f] for classes of f rows in a sample: (sizes,) float64 (Benedetti and Franconi 1998).

    F given f is negative binomial with success probability p, the sampling fraction, so that
    E[1/F | f] = ∫₀¹ v^(f−1) / (1 + v (1−p)/p) dv = p/f · ₂F₁(1, 1; f+1; 1−p).
    """
    f, inverse = np.unique(np.asarray(sizes, dtype=np.int64), return_inverse=True)
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
    return values[inverse]


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

    def best_theta(alpha: float) -> tuple[float, float]:
        of_theta = likelihood(alpha)
        best = _highest(lambda t: of_theta(exp(t)), log(1e-3), log(1e3 * n))
        return exp(best), of_theta(exp(best))

    alpha = _highest(lambda a: best_theta(a)[1], 1e-6, 1 - 1e-6)
    theta = best_theta(alpha)[0]
    uniques = min(float(np.exp(lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(N))), float(N))
    # The sample holds its share of the population's uniques, and shows each of them as a unique.
    chance = min(uniques * n / N / alone, 1.0)
    return Uniques("pitman", fraction, N, alone, uniques, uniques / N, chance)


def _pitman_likelihood(sizes: np.ndarray) -> Callable[[float], Callable[[float], float]]:
    """By α, then by θ: the logarithm of Π_{i<u}(θ+iα) / Π_{i<n}(θ+i) · Π_j Π_{i<f_j}(i−α), for u classes, n rows."""
    i, count = np.unique(sizes, return_counts=True)
    pairs = list(zip(i.tolist(), count.tolist(), strict=True))
    n, u = int(sizes.sum()), len(sizes)

    def at_alpha(alpha: float) -> Callable[[float], float]:
        old = sum(times * (lgamma(size - alpha) - lgamma(1 - alpha)) for size, times in pairs)

        def at_theta(theta: float) -> float:
            new = (u - 1) * log(alpha) + lgamma(theta / alpha + u) - lgamma(theta / alpha + 1)
            rows = lgamma(theta + n) - lgamma(theta + 1)
            return new - rows + old

        return at_theta

    return at_alpha


def snb(sizes: np.ndarray, fraction: float) -> Uniques:
    """Unique persons in the population, if its class sizes are slide negative binomial (Chen and Keller-McNulty 1998).

    A population class has F = 1 + NB(a, b) persons. Each is drawn with chance p, so a class shows Bernoulli(p) +
    NB(a, b′) rows with b′ = b / (b + (1 − b) p), and is not seen with chance P₀ = (1 − p) b′^a. We fit a and b′ by
    maximum likelihood to the classes that are seen (Chen and Keller-McNulty match moments); of u / (1 − P₀) classes a
    share P(F = 1) = b^a is unique.
    """
    n = int(sizes.sum())
    N = max(round(n / fraction), n)
    alone = int((sizes == 1).sum())
    if alone == 0:
        return Uniques("snb", fraction, N, 0, 0.0, 0.0, 0.0)
    likelihood = _snb_likelihood(sizes, fraction)

    def best_mean(a: float) -> tuple[float, float]:
        of_mean = likelihood(a)
        best = _highest(lambda m: of_mean(exp(m)), log(1e-6), log(10.0 * n))
        return exp(best), of_mean(exp(best))

    a = exp(_highest(lambda t: best_mean(exp(t))[1], log(1e-4), log(1e4)))
    seen_b = a / (a + best_mean(a)[0])
    b = fraction * seen_b / (1 - seen_b * (1 - fraction))
    unseen = (1 - fraction) * seen_b**a
    uniques = min(len(sizes) / (1 - unseen) * b**a, float(N))
    chance = min(uniques * fraction / alone, 1.0)
    return Uniques("snb", fraction, N, alone, uniques, uniques / N, chance)


def _snb_likelihood(sizes: np.ndarray, p: float) -> Callable[[float], Callable[[float], float]]:
    """By a, then by the mean m of NB(a, b′): the logarithm of Π P(f) / (1 − P₀) over the classes seen."""
    f, count = np.unique(sizes, return_counts=True)
    steps = np.arange(1, int(f[-1]) + 1, dtype=np.float64)

    def at_a(a: float) -> Callable[[float], float]:
        ways = np.append(0.0, np.cumsum(np.log((a + steps - 1) / steps)))  # log of the binomial factor of NB

        def at_mean(mean: float) -> float:
            b = a / (a + mean)
            miss = log(mean / (a + mean))
            low, high = ways[f - 1] + (f - 1) * miss, ways[f] + f * miss
            peak = np.maximum(low, high)
            both = peak + np.log(p * np.exp(low - peak) + (1 - p) * np.exp(high - peak))
            unseen = (1 - p) * b**a
            return float(count @ (both + a * log(b)) - count.sum() * np.log1p(-unseen))

        return at_mean

    return at_a


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


def estimate_uniques(sizes: np.ndarray, fraction: float, estimator: Estimator = "auto") -> Uniques:
    """The estimate of a model, or of the one that fits the sampling fraction.

    Pitman's up to a tenth; above, the smaller of Zayatz's and the slide negative binomial (Dankar et al. 2012). Each
    can be below the truth. At a fraction of 1 the sample is the population, and they are counted.
    """
    if fraction == 1:
        alone, rows = int((sizes == 1).sum()), int(sizes.sum())
        return Uniques("counted", fraction, rows, alone, float(alone), alone / max(rows, 1), float(alone > 0))
    if estimator != "auto":
        return {"pitman": pitman, "zayatz": zayatz, "snb": snb}[estimator](sizes, fraction)
    if fraction <= SMALL_FRACTION:
        return pitman(sizes, fraction)
    first, second = zayatz(sizes, fraction), snb(sizes, fraction)
    return second if second.population_uniques < first.population_uniques else first
