"""Privacy against somebody who does not know who is in the table: k-map, presence, journalist and marketer risk.

A class has f released rows, and F people of the population look like it. F is counted where a table of the population
is given (``[population] source``), and then every number here is exact. Where only the share of the population that was
sampled is known, F is not: the journalist's and the marketer's risk and the population's uniques are upper ends then,
estimated by a lower end of F (``measures/estimators.py``), and k-map and presence are refused.

Why the trends hold without suppression, where classes merge and nothing vanishes. Two classes with f and f′ released
rows out of F and F′ become one with f + f′ out of F + F′, and

* F + F′ ≥ max(F, F′), so k-map never falls and the journalist's risk 1/k-map never rises. (A class of the population
  alone may join a released one; that only adds to F.)
* (f + f′)/(F + F′) lies between f/F and f′/F′, so the greatest share never rises and the least never falls.
* (f + f′)/(F + F′) ≤ f/F + f′/F′, so the marketer's sum never rises, and the rows it is divided by stay the same.

With suppression a class that was dropped can come back as a released one with few people behind it, and a released
one can vanish; so no promise is made there. Masked rows show nothing: all of the population stands behind them.
In an empty release nobody can be recognised: k-map is infinite, every risk is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from kpareto.errors import BadJob, BadTable
from kpareto.kernels.words import BEHIND, JOURNALIST, PRESENCE_MAX, PRESENCE_MIN, RECOGNISED, SUPPRESSED, K
from kpareto.measures.estimators import least_people
from kpareto.measures.measure import Aspect, Measure, Model, Number, aspect_of, meets, named, trends
from kpareto.measures.reading import ClassNumber, Questions, Reading, real, whole
from kpareto.tables.partition import Partition
from kpareto.tables.table import Table, merge_classes

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


def _smallest(partition: Partition) -> int | None:
    behind = people_behind(partition)[0][partition.visible]
    return int(behind.min()) if len(behind) else None


def _exact_k_map(partition: Partition) -> Fraction | None:
    smallest = _smallest(partition)
    return None if smallest is None else Fraction(smallest)


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
        "marketer-risk", "lower", f"share of rows, {ESTIMATE}", trends("falls"), lambda p: float(_exact_marketer(p)),
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
        "presence-min", "higher", "probability", trends("rises"), lambda p: float(least(p)), least, PEOPLE, {},
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
        "population-uniques", "lower", f"rows, {ESTIMATE}", trends("either"), lambda p: float(_exact_uniques(p)),
        _exact_uniques, PEOPLE, {},
    )  # fmt: skip


def _exact_uniques(partition: Partition) -> Fraction:
    return Fraction(int(partition.rows[partition.visible & (_people(partition) == 1)].sum()))
