"""Privacy against somebody who does not know who is in the table: k-map, presence, journalist and marketer risk.

A class has f released rows, and F people of the population look like it. F is counted where a table of the population
is given (``[population] source``), and then every number here is exact. Where only the share of the population that was
sampled is known, F is not: the journalist's and the marketer's risk and the population's uniques are upper ends then,
estimated by a lower end of F (``least_people``), and k-map and presence are refused.

Why the trends hold without suppression, where classes merge and nothing vanishes. Two classes with f and f′ released
rows out of F and F′ become one with f + f′ out of F + F′, and

* F + F′ ≥ max(F, F′), so k-map never falls and the journalist's risk 1/k-map never rises. (A class of the population
  alone may join a released one; that only adds to F.)
* (f + f′)/(F + F′) lies between f/F and f′/F′, so the greatest share never rises and the least never falls.
* (f + f′)/(F + F′) ≤ f/F + f′/F′, so the marketer's sum never rises, and the rows it is divided by stay the same.

With suppression a class that was dropped can come back as a released one with few people behind it, and a released
one can vanish; so no promise is made there. Masked rows show nothing: all of the population stands behind them.
In an empty release nobody can be recognised: k-map is infinite, every risk is 0.

Where only the sampling fraction is known, how large a class is in the population, and how many are unique there, is
estimated: ``least_people`` by a lower end that holds in any population, which limits go by; the others by expectations
under a model, which can be several times off either way (docs/risk.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, lgamma, log

import numpy as np

from kpareto.errors import BadJob, BadTable
from kpareto.kernels.words import BEHIND, JOURNALIST, PRESENCE_MAX, PRESENCE_MIN, RECOGNISED, SUPPRESSED, K
from kpareto.measures.measure import Aspect, Measure, Model, Number, aspect_of, meets, named, trends
from kpareto.measures.reading import ClassNumber, Questions, Reading, real, whole
from kpareto.tables.partition import Partition
from kpareto.tables.table import Estimator, Table, merge_classes

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
    alpha, theta = _fit(_pitman_likelihood(sizes), (1e-6, 1 - 1e-6), (1e-3, 1e3 * n))
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
    log_a, mean = _fit(lambda log_a: likelihood(exp(log_a)), (log(1e-4), log(1e4)), (1e-6, 10.0 * n))
    a = exp(log_a)
    seen_b = a / (a + mean)
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


def _fit(
    likelihood: Callable[[float], Callable[[float], float]], first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """The two parameters, between these bounds, at which a likelihood is highest; the second by its logarithm."""

    def best_second(value: float) -> tuple[float, float]:
        of_second = likelihood(value)
        best = exp(_highest(lambda logarithm: of_second(exp(logarithm)), log(second[0]), log(second[1])))
        return best, of_second(best)

    value = _highest(lambda value: best_second(value)[1], *first)
    return value, best_second(value)[0]


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


PEOPLE = Aspect("privacy", population=True)
ESTIMATE = "an estimated upper end without a population table"
COUNTED = ("k-map", "presence-max", "presence-min")  # only where a table of the population is given
ESTIMATED = ("journalist-risk", "marketer-risk", "population-uniques")  # where no more than a share is known, too


def refuse_local(table: Table) -> None:
    """Raise where a local recoding is wanted of a table that has a table of its population.

    Labels of two classes may overlap there: the same person of the population can be meant by rows of both, so the
    people behind one class by themselves give neither presence nor a map that an intruder could not narrow down.
    """
    if table.population is not None and table.population.table is not None:
        raise BadJob(
            "In a local recoding labels of two classes may overlap, so the people of a population cannot be counted "
            "class by class. Take another search than local, or the share of the population that was sampled instead "
            "of its table."
        )


def people_behind(partition: Partition) -> tuple[np.ndarray, np.ndarray]:
    """Population rows behind each class (classes,), and of the classes that are not in the table: (unseen,) int64."""
    if partition.recoding.boxes is not None:
        refuse_local(partition.table)
    joined = partition.table.joined
    groups = np.stack([cut[joined.codes[:, c]] for c, cut in enumerate(partition.recoding.cuts)], axis=1)
    classes, sums = merge_classes(groups, joined.people.count[:, None])
    shown = partition.groups[:, 0] >= 0  # masked rows show no groups
    both = np.concatenate((partition.groups[shown], classes)).astype(np.int64)
    places = np.zeros((len(both), 2), dtype=np.int64)  # 1 + place in the partition, population rows
    places[: int(shown.sum()), 0] = 1 + np.flatnonzero(shown)
    places[int(shown.sum()) :, 1] = sums[:, 0]
    _, together = merge_classes(both, places)
    behind = np.full(len(partition.rows), int(joined.people.count.sum()), dtype=np.int64)
    here = together[:, 0] > 0
    behind[together[here, 0] - 1] = together[here, 1]
    return behind, together[~here, 1]


def _sides(partition: Partition) -> tuple[np.ndarray, np.ndarray]:
    """Released and population rows of all classes, those that are dropped or not in the table included."""
    behind, unseen = people_behind(partition)
    released = np.where(partition.visible, partition.rows, 0)
    return np.append(released, np.zeros(len(unseen), dtype=np.int64)), np.append(behind, unseen)


def _fraction(table: Table) -> float | None:
    """The share of the population that was sampled, where that is all that is known; None where its rows are."""
    known = table.population
    if known is None or not known.known:
        raise BadTable(
            "This measure needs to know the population, and nothing is told of it. Add [population] to the job with "
            "a source, the share sampling or a size; in Python give population=."
        )
    return known.fraction


def is_estimated(measure: Measure, table: Table) -> bool:
    """Whether a measure of this table speaks of a population that nobody has counted; in a census everybody has."""
    known = table.population
    return aspect_of(measure).population and known is not None and known.fraction is not None and known.fraction < 1


def bound_people(sizes: np.ndarray, table: Table, fraction: float) -> np.ndarray:
    """How many people stand at least behind classes of these sizes, where a share is all that is known: (sizes,) int64.

    A class shows a run of leaves in each column, whatever the recoding, so one person is in no more classes than there
    are runs around a leaf in the middle, multiplied over the columns.
    """
    shapes = sum(np.log((len(hierarchy.leaves) + 1) ** 2 // 4) for hierarchy in table.hierarchies)
    return least_people(sizes, fraction, table.rows, float(shapes))


def least_size(table: Table, risk: float) -> int | None:
    """The smallest class whose journalist's risk is within a limit; None where people are counted, not estimated."""
    fraction = _fraction(table)
    if fraction is None:
        return None
    low, high = 0, table.rows + 1  # more people than rows: the ends rise with the size
    while high - low > 1:
        middle = (low + high) // 2
        within = meets("lower", 1.0 / float(bound_people(np.array([middle]), table, fraction)[0]), risk)
        low, high = (low, middle) if within else (middle, high)
    return high


def _people(partition: Partition) -> np.ndarray:
    """People behind each class, counted, or at least so many where they are estimated: (classes,) int64."""
    fraction = _fraction(partition.table)
    return (
        people_behind(partition)[0]
        if fraction is None
        else bound_people(np.maximum(partition.sizes, 1), partition.table, fraction)
    )


# -- k-map and the journalist: the smallest class of the population behind a released one ----------------------------


@named("k-map")
def k_map() -> Model:
    """The smallest population class behind a released class (Sweeney 2002)."""
    unit, aspect = "people behind the smallest class", Aspect("privacy", logarithmic=True, population=True)
    judged = ClassNumber(BEHIND, of="population")
    return Model("k-map", "higher", unit, trends("rises"), _behind, _exact_k_map, aspect, {}, _read_k_map, judged)


def _behind(partition: Partition) -> np.ndarray:
    return people_behind(partition)[0].astype(np.float64)


def _exact_k_map(partition: Partition) -> Fraction | None:
    behind = people_behind(partition)[0][partition.visible]
    return Fraction(int(behind.min())) if len(behind) else None


def _read_k_map(ask: Questions) -> Reading:
    people = ask.hist(BEHIND, [ask.table.joined.people])
    return whole(lambda counted: np.minimum(people(counted), 2.0**62).astype(np.int64), higher=True)


@named("journalist-risk")
def journalist_risk() -> Model:
    """The highest chance to recognise a released row without knowing who is in the table: 1 / k-map.

    With a sampling fraction alone it is an upper end, which holds with a chance of 95 % in any population.
    """
    judged = ClassNumber(JOURNALIST, of="population")
    return Model(
        "journalist-risk", "lower", f"probability, {ESTIMATE}", trends("falls"), _journalist, _exact_journalist, PEOPLE,
        {}, _read_journalist, judged,
    )  # fmt: skip


def _journalist(partition: Partition) -> np.ndarray:
    return 1.0 / _people(partition)


def _exact_journalist(partition: Partition) -> Fraction | None:
    people = _people(partition)[partition.visible]
    return Fraction(1, int(people.min())) if len(people) else Fraction(0)


def _read_journalist(ask: Questions) -> Reading:
    fraction = _fraction(ask.table)
    if fraction is None:
        people = ask.hist(BEHIND, [ask.table.joined.people])
        return Reading(lambda counted: 1.0 / people(counted), _read_k_map(ask).key)
    smallest = ask.ints(K)  # the smallest class has the fewest people behind it
    most = ask.table.rows
    return real(lambda counted: 1.0 / bound_people(np.minimum(smallest(counted), most), ask.table, fraction))


@named("marketer-risk")
def marketer_risk() -> Number:
    """The share of released rows that a match with the whole population recognises: Σ f · 1/F over the rows.

    With a sampling fraction alone it is an upper end, which holds with a chance of 95 % in any population.
    """
    return Number(
        "marketer-risk", "lower", f"share of rows, {ESTIMATE}", trends("falls"), _exact_marketer,
        _exact_marketer, PEOPLE, {}, _read_marketer,
    )  # fmt: skip


def _exact_marketer(partition: Partition) -> Fraction:
    # Persons where these are told apart and people are estimated, else rows.
    released = partition.rows if _fraction(partition.table) is None else partition.sizes
    seen = partition.visible & (released > 0)
    rows, people = released[seen], _people(partition)[seen]
    if not len(rows):
        return Fraction(0)
    sizes, inverse = np.unique(people, return_inverse=True)
    sums = np.bincount(inverse, weights=rows).astype(np.int64)
    total = sum((Fraction(f, size) for f, size in zip(sums.tolist(), sizes.tolist(), strict=True)), Fraction(0))
    return total / int(rows.sum())


def _read_marketer(ask: Questions) -> Reading | None:
    if _fraction(ask.table) is not None:
        return None
    rows, lost = ask.table.rows, ask.ints(SUPPRESSED)
    recognised = ask.hist(RECOGNISED, [ask.table.joined.people])
    return real(lambda counted: recognised(counted) / np.maximum(rows - lost(counted), 1))


# -- presence: whether somebody is in the table at all ---------------------------------------------------------------


@named("presence-max")
def presence_max() -> Model:
    """The greatest chance that a person of the population is in the release: f/F (Nergiz, Atzori and Clifton 2007)."""
    judged = ClassNumber(PRESENCE_MAX, of="population")
    return Model(
        "presence-max", "lower", "probability", trends("falls"), _shares, _exact_extreme(max), PEOPLE, {},
        lambda ask: real(ask.hist(PRESENCE_MAX, [ask.table.joined.people])), judged,
    )  # fmt: skip


@named("presence-min")
def presence_min() -> Number:
    """The least chance that a person of the population is in the release, over all classes of the population.

    A class of which nothing is released gives 0: that its people are absent is known for sure, which is why a limit on
    the least exists.
    """
    least = _exact_extreme(min)
    return Number(
        "presence-min", "higher", "probability", trends("rises"), least, least, PEOPLE, {},
        lambda ask: real(ask.hist(PRESENCE_MIN, [ask.table.joined.people]), higher=True),
    )  # fmt: skip


def _shares(partition: Partition) -> np.ndarray:
    return partition.rows / people_behind(partition)[0]


def _exact_extreme(pick: Callable[..., Fraction]) -> Callable[[Partition], Fraction]:
    """The least or greatest f/F, exactly: floats name the few candidates, fractions decide among them."""

    def extreme(partition: Partition) -> Fraction:
        released, population = _sides(partition)
        shares = released / population
        border = shares.min() if pick is min else shares.max()
        near = np.flatnonzero(np.abs(shares - border) <= 1e-12 * max(abs(border), 1e-300))
        pairs = set(zip(released[near].tolist(), population[near].tolist(), strict=True))
        return pick(Fraction(int(f), int(size)) for f, size in pairs)

    return extreme


# -- alone in the population -----------------------------------------------------------------------------------------


@named("population-uniques")
def population_uniques() -> Number:
    """Released rows whose person is alone with these cells in the population; with a fraction alone at most so many."""
    return Number(
        "population-uniques", "lower", f"rows, {ESTIMATE}", trends("either"), _exact_uniques,
        _exact_uniques, PEOPLE, {},
    )  # fmt: skip


def _exact_uniques(partition: Partition) -> Fraction:
    return Fraction(int(partition.rows[partition.visible & (_people(partition) == 1)].sum()))
