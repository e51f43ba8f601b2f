"""Upper ends of estimated risks hold in populations of many kinds; what a model expects does not."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from kpareto.measures.population import expected_risk, least_people

PEOPLE = 100_000
DRAWS = 5
FRACTIONS = (0.01, 0.05, 0.1, 0.3)


def class_sizes(kind: str, rng: np.random.Generator) -> np.ndarray:
    """How many people each class of a population has."""
    if kind in ("pairs", "dozens"):
        size = 2 if kind == "pairs" else 12
        return np.full(PEOPLE // size, size)
    if kind == "geometric":
        return rng.geometric(0.25, PEOPLE // 4)
    if kind == "two kinds":
        return np.concatenate([np.ones(PEOPLE // 2, dtype=np.int64), np.full(PEOPLE // 200, 100)])
    if kind == "zipf":
        chances = 1 / np.arange(1, 60_001)
    elif kind == "lognormal":
        chances = rng.lognormal(0, 2.0, 40_000)
    else:
        chances = np.ones(30_000) if kind == "flat" else _census(rng)
    return rng.multinomial(PEOPLE, chances / chances.sum())


def _census(rng: np.random.Generator) -> np.ndarray:
    """Five columns that do not depend on each other."""
    chances = np.ones(1)
    for values in (80, 2, 6, 15, 9):
        chances = np.outer(chances, rng.dirichlet(np.full(values, 0.7))).ravel()
    return chances


KINDS = ("zipf", "lognormal", "flat", "census", "pairs", "dozens", "geometric", "two kinds")


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_upper_ends_hold_in_any_population(kind: str, fraction: float) -> None:
    """In every draw all classes have at least the people said, with or without putting back; so the mean holds, too."""
    rng = np.random.default_rng([KINDS.index(kind), int(1000 * fraction)])
    for draw in range(DRAWS):
        people = class_sizes(kind, rng)
        if draw % 2:
            sample = rng.binomial(people, fraction)
        else:
            sample = rng.multivariate_hypergeometric(people, int(people.sum() * fraction), method="marginals")
        seen = sample > 0
        rows, there = sample[seen], people[seen]
        least = least_people(rows, fraction, int(rows.sum()), 0.0)
        assert (least <= there).all()
        assert (least >= rows).all()
        assert (rows / least).sum() >= (rows / there).sum()


def test_what_a_model_expects_can_be_far_too_low() -> None:
    """The mean of E[1/F | f] is an expectation under a model: in a population by Zipf's law a quarter of the truth."""
    rng = np.random.default_rng(1)
    people = class_sizes("zipf", rng)
    sample = rng.binomial(people, 0.01)
    rows, there = sample[sample > 0], people[sample > 0]
    truth = (rows / there).sum() / rows.sum()
    assert rows @ expected_risk(rows, 0.01) / rows.sum() < truth / 4


def test_the_ends_rise_with_the_size_and_fall_with_what_is_chosen_from() -> None:
    """More rows mean more people; the more classes could have been chosen, the less is sure; never below the rows."""
    sizes = np.arange(1, 3_000)
    for fraction in (0.001, 0.01, 0.1, 0.5, 0.9, 0.999):
        ends = [least_people(sizes, fraction, 10**6, shapes) for shapes in (0.0, 5.0, 50.0)]
        for end in ends:
            assert (np.diff(end) >= 0).all()
            assert (end >= sizes).all()
            assert (end <= sizes / fraction + 1).all()
        assert (ends[0] >= ends[1]).all()
        assert (ends[1] >= ends[2]).all()
    assert least_people(np.array([10]), 0.01, 1_000, 0.0)[0] == 78  # by far more than 10
    assert least_people(sizes, 1.0, 10**6, 0.0).tolist() == sizes.tolist()
    assert least_people(sizes[:0], 0.1, 0, 0.0).tolist() == []


def test_no_class_shows_more_rows_than_it_is_said_to() -> None:
    """The chance that a class of fewer people shows f rows, by the binomial law, is within its part of 5 %."""
    rows, fraction = 1_000, 0.05
    for size in (1, 2, 5, 9, 30):
        people = int(least_people(np.array([size]), fraction, rows, 0.0)[0]) - 1
        draws = np.arange(people + 1)
        ways = np.array([float(comb(people, int(n))) for n in draws])
        chance = (ways * fraction**draws * (1 - fraction) ** (people - draws))[size:].sum()
        assert chance * rows / fraction / size <= 0.05 / (size * (size + 1))
