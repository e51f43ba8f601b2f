"""A private release: what it checks, what it shows, and a hunt for neighbouring tables that it would tell apart."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput, BadTable
from kpareto.releases.private.delta import delta, largest_beta
from kpareto.releases.private.private_release import (
    SECRET,
    Draws,
    PrivatePlan,
    check_private,
    draw_rows,
    draws_for_tests,
    make_plan,
    refuse_seed,
    release_private,
    show,
)
from kpareto.releases.private.scores import make_score, score_nodes
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.releases.private.test_private_choice import chances
from tests.twins.strategies import Case, cases

TREES = (from_levels("a", [("x", "*"), ("y", "*")]), from_levels("b", [("u", "*"), ("v", "*")]))
CELLS = list(product(range(2), range(2)))
Outcome = tuple[object, ...]


def table_with(counts: tuple[int, ...]) -> Table:
    """So many rows of each of the four combinations (x, u), (x, v), (y, u), (y, v)."""
    rows = [(cell, count) for cell, count in zip(CELLS, counts, strict=True) if count]
    codes = np.array([cell for cell, _ in rows], dtype=np.int32)
    return make_table(Schema(("a", "b")), TREES, codes, np.array([count for _, count in rows]), {})


def small_plan(k: int, search: Fraction = Fraction(1), shown: Fraction = Fraction(1)) -> PrivatePlan:
    """A plan with a small k and so a large delta, so that tiny tables come near the border."""
    beta = largest_beta(shown)
    reached = delta(k, beta, shown)
    return PrivatePlan(search + shown, reached, search, shown, beta, k, reached)


# -- the hunt, by exact chances --------------------------------------------------------------------------------------


def outcomes(
    table: Table, plan: PrivatePlan, trust: Fraction = Fraction(1), score: str = "granularity"
) -> dict[Outcome, float]:
    """The chance of everything a release can show: a node, and the rows of each class shown.

    ``trust`` divides the noise: 1 is honest, 4 a mechanism that believes in a quarter of the sensitivity.
    """
    from scipy import stats

    judged = make_score(score, table.hierarchies, plan.beta, plan.k)
    scale = float((1 if judged.monotone else 2) * judged.sensitivity / plan.epsilon_choice / trust)
    lattice = Lattice(table.hierarchies)
    result: dict[Outcome, float] = {}
    for number, chance in enumerate(chances(score_nodes(table, judged).tolist(), scale)):
        cuts = lattice.decode(lattice.levels(np.array([number]))[0]).cuts
        sizes: dict[tuple[int, ...], int] = {}
        for row, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
            key = tuple(int(cut[leaf]) for cut, leaf in zip(cuts, row, strict=True))
            sizes[key] = sizes.get(key, 0) + weight
        shown: list[tuple[float, tuple[object, ...]]] = [(chance, ())]
        for key, size in sorted(sizes.items()):
            counts = [(0, float(stats.binom.cdf(plan.k - 1, size, float(plan.beta))))]
            counts += [(j, float(stats.binom.pmf(j, size, float(plan.beta)))) for j in range(plan.k, size + 1)]
            shown = [(p * q, (*seen, (key, j)) if j else seen) for p, seen in shown for j, q in counts]
        for p, seen in shown:
            result[(number, *seen)] = result.get((number, *seen), 0.0) + p
    return result


def given_away(first: dict[Outcome, float], second: dict[Outcome, float], epsilon: float) -> float:
    """The smallest delta that both directions need at this epsilon: the larger Σ max(0, P − e^epsilon Q)."""
    return max(
        sum(max(p - math.exp(epsilon) * other.get(outcome, 0.0), 0.0) for outcome, p in one.items())
        for one, other in ((first, second), (second, first))
    )


def worst_pair(plan: PrivatePlan, claimed: PrivatePlan, trust: Fraction = Fraction(1), most: int = 4) -> float:
    """Over all tables of up to so many rows and all rows added: given away at the claimed epsilon, less its delta."""
    every = [counts for counts in product(range(most + 1), repeat=4) if 1 <= sum(counts) <= most]
    known = {counts: outcomes(table_with(counts), plan, trust) for counts in every}
    return max(
        given_away(known[counts], known[more], float(claimed.epsilon)) - float(claimed.reached)
        for counts in every
        for more in (tuple(n + (place == c) for c, n in enumerate(counts)) for place in range(4))
        if more in known
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_neighbouring_tables_are_told_apart_by_more_than_epsilon_and_delta(k: int) -> None:
    """All tables of up to four rows, all rows added, all outcomes with their exact chances: within e^epsilon and delta."""
    plan = small_plan(k)
    assert worst_pair(plan, plan) <= 1e-12


def test_the_hunt_finds_planted_mistakes() -> None:
    """Classes that are not dropped, too little noise on the choice, too many rows drawn: each is found."""
    honest = small_plan(4, search=Fraction(1, 10), shown=Fraction(1, 2))
    keeps_all = replace(honest, k=1)
    draws_more = replace(honest, beta=largest_beta(5), k=4)
    assert worst_pair(honest, honest) <= 1e-12
    assert worst_pair(keeps_all, honest) > 0.01
    assert worst_pair(draws_more, honest) > 0.01
    # The choice alone, without a delta to hide behind.
    before, after = (table_with(counts) for counts in ((0, 0, 0, 3), (0, 0, 0, 4)))

    def by_node(table: Table, trust: Fraction) -> dict[Outcome, float]:
        nodes: dict[Outcome, float] = {}
        for outcome, chance in outcomes(table, honest, trust).items():
            nodes[(outcome[0],)] = nodes.get((outcome[0],), 0.0) + chance
        return nodes

    def apart(trust: Fraction) -> float:
        return given_away(by_node(before, trust), by_node(after, trust), float(honest.epsilon_search))

    assert apart(Fraction(1)) <= 1e-12 < 1e-3 < apart(Fraction(40))


# -- the hunt, by a million runs of the real code --------------------------------------------------------------------

RUNS = 1_000_000


def shown_counts(rows: int, plan: PrivatePlan, draw: Callable[[np.ndarray, Fraction], np.ndarray]) -> np.ndarray:
    """How often a class of so many rows shows 0, 1, … rows in a million runs, as shares: (rows + 1,) float64."""
    drawn = draw(np.full(RUNS, rows, dtype=np.int64), plan.beta)
    return np.bincount(np.where(drawn >= plan.k, drawn, 0), minlength=rows + 1) / RUNS


def excess(plan: PrivatePlan, draw: Callable[[np.ndarray, Fraction], np.ndarray]) -> float:
    """The most, in standard errors, by which an event is more likely than e^epsilon times its chance next door + delta."""
    power, found = math.exp(float(plan.epsilon_anon)), -math.inf
    for rows in range(1, 9):
        small, large = (shown_counts(n, plan, draw) for n in (rows - 1, rows))
        small = np.append(small, 0.0)
        for one, other in ((small, large), (large, small)):
            event = one > power * other
            p, q = float(one[event].sum()), float(other[event].sum())
            error = math.sqrt((p * (1 - p) + power**2 * q * (1 - q)) / RUNS) + 1 / RUNS
            found = max(found, (p - power * q - float(plan.reached)) / error)
    return found


def test_a_million_runs_stay_within_epsilon_and_delta_and_find_a_planted_mistake() -> None:
    """The real draws keep to the bound; draws that take all of a class of k rows do not, and are found."""
    plan = small_plan(5)

    def all_of_small(weights: np.ndarray, beta: Fraction) -> np.ndarray:
        return np.where(weights == plan.k, weights, draw_rows(weights, beta))

    assert excess(plan, draw_rows) < 5
    assert excess(plan, all_of_small) > 50
    assert excess(replace(plan, k=1), draw_rows) > 50


# -- drawing ---------------------------------------------------------------------------------------------------------


def test_rows_are_drawn_with_chance_beta() -> None:
    """Counts of draws from classes of five rows follow the binomial distribution."""
    from scipy import stats

    beta = largest_beta("0.7")
    seen = np.bincount(draw_rows(np.full(200_000, 5), beta), minlength=6)
    expected = stats.binom.pmf(np.arange(6), 5, float(beta)) * 200_000
    assert stats.chisquare(seen, expected).pvalue > 1e-7
    wrong = stats.binom.pmf(np.arange(6), 5, float(beta) + 0.01) * 200_000
    assert stats.chisquare(seen, wrong).pvalue < 1e-12


def test_draws_are_the_words_below_the_border() -> None:
    """A row is drawn exactly when its random word is below beta · 2^64, over the border of a chunk too."""
    beta, rows = Fraction(3, 8), (1 << 20) + 7
    words = np.random.default_rng(3).integers(0, 2**64, rows, dtype=np.uint64)
    draws = Draws(io.BytesIO(words.astype("<u8").tobytes()).read, secret=False)
    weights = np.array([4, 0, rows - 9, 5])
    hits = words < np.uint64(3 << 61)
    expected = [hits[:4].sum(), 0, hits[4 : rows - 5].sum(), hits[rows - 5 :].sum()]
    assert draw_rows(weights, beta, draws).tolist() == expected


def test_a_seed_is_refused_except_through_the_door_for_tests() -> None:
    """Nobody repeats a private run; what the door for tests makes is marked."""
    refuse_seed(None)
    with pytest.raises(
        BadInput, match=r"A seed is given \(7\), and a differentially private run must not be repeatable"
    ):
        refuse_seed(7)
    table, plan = table_with((9, 9, 9, 9)), small_plan(2)
    recoding = node(TREES, [0, 0])
    twice = [show(table, recoding, plan, "granularity", draws_for_tests(7)) for _ in range(2)]
    assert twice[0].counts.tolist() == twice[1].counts.tolist()
    assert not twice[0].secret
    assert show(table, recoding, plan, "granularity").secret
    assert SECRET.secret


# -- plans and releases ----------------------------------------------------------------------------------------------


def test_a_plan_adds_up_to_epsilon_and_meets_delta() -> None:
    """Choosing and showing share epsilon, and k is the smallest that meets delta."""
    plan = make_plan(1, "1e-6")
    assert plan.epsilon_search + plan.epsilon_anon == plan.epsilon == 1
    assert plan.reached <= plan.delta < delta(plan.k - 1, plan.beta, plan.epsilon_anon)
    assert (plan.k, round(float(plan.beta), 4)) == (73, 0.5934)
    with pytest.raises(BadInput, match="Give one below 1"):
        make_plan(1, "1e-6", 1)


def test_a_person_has_the_epsilon_and_delta_of_all_rows_together() -> None:
    """With m rows of a person each has epsilon / m, and m · e^((m − 1) epsilon / m) of its deltas are within delta."""
    one, three = make_plan(1, "1e-6"), make_plan(1, "1e-6", rows_per_person=3)
    assert replace(make_plan(1, "1e-6", rows_per_person=1), rows_per_person=None) == one
    assert (three.epsilon, three.delta, three.epsilon_search) == (one.epsilon, one.delta, one.epsilon_search)
    assert three.epsilon_choice == one.epsilon_search / 3
    each = float(three.epsilon_anon) / 3
    of_row = float(delta(three.k, three.beta, three.epsilon_anon / 3))
    assert 3 * math.exp(2 * each) * of_row <= float(three.reached) * (1 + 1e-9)
    assert three.reached <= three.delta
    assert (one.k, three.k) == (73, 69)
    assert float(three.beta) < float(one.beta) / 2


@settings(deadline=None, max_examples=40)
@given(case=cases(persons=False, sensitive=0, targets=0, most_rows=40), data=st.data(), k=st.integers(1, 4))
def test_a_release_shows_classes_of_drawn_rows_alone(case: Case, data: st.DataObject, k: int) -> None:
    """Every class shown has at least k rows, no more than the table has, and classes come in the order of groups."""
    plan = small_plan(k)
    release = release_private(case.table, plan, data.draw(st.sampled_from(["granularity", "class-count"])))
    sizes: dict[tuple[int, ...], int] = {}
    for row in case.rows:
        key = tuple(int(cut[leaf]) for cut, leaf in zip(release.recoding.cuts, row.leaves, strict=True))
        sizes[key] = sizes.get(key, 0) + 1
    keys = [tuple(key) for key in release.groups.tolist()]
    assert keys == sorted(set(keys))
    assert all(k <= count <= sizes[key] for key, count in zip(keys, release.counts.tolist(), strict=True))
    assert len(release.labels) == len(keys)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": Schema(("a", "b"), person="id")}, "Persons are told apart by id, and nothing says how many rows"),
        ({"schema": Schema(("a", "b"), sensitive=("illness",))}, "illness would be shown as they are"),
        (
            {"hierarchies": (replace(TREES[0], data_dependent=True), TREES[1])},
            "hierarchies of a were built from the rows",
        ),
        ({"leaf_counts": (np.array([1, 1]), np.array([1, 1]))}, "Only a part of the rows came in"),
    ],
)
def test_tables_that_epsilon_does_not_cover_are_refused(change: dict[str, object], sentence: str) -> None:
    """Persons with several rows, columns shown as they are, hierarchies learned from the rows: each is a sentence."""
    table = table_with((3, 3, 3, 3))
    check_private(table)
    with pytest.raises(BadTable, match="no column tells persons apart"):
        check_private(table, 2)
    with pytest.raises(BadTable, match=sentence):
        check_private(replace(table, **change))  # type: ignore[arg-type]
