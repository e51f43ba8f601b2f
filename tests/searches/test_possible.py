"""Wishes that no recoding can meet: what is refused is impossible by brute force, and what is possible is never refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import BadJob
from kpareto.fronts.problem import problem
from kpareto.measures.measure import make, meets
from kpareto.searches.exact_front import exact_front
from kpareto.searches.forecast import check_possible, say_impossible, spare_rows
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.partition import Suppression, classes
from kpareto.tables.recoding import top
from kpareto.tables.schema import Schema
from kpareto.tables.table import Sample
from tests.twins import slow
from tests.twins.strategies import Case, Row, cases

MODELS = ["k", "risk-max", "l", "entropy-l", "recursive-l", "recursive-l(l=3)", "alpha", "alpha(value=a)", "t", "beta"]


PEOPLE = {"age": list("112233"), "ill": list("aaabbc"), "who": list("uvwxyz")}


def number(name: str, rows: Sequence[Row], table: Sequence[Row]) -> float:
    """What a class of raw rows has, by persons where these are told apart, from the definition alone."""
    size = slow.size(rows)
    p, q = slow.value_shares(rows, 0), slow.value_shares(table, 0)
    here, everywhere = slow.even_shares(rows, 0), slow.even_shares(table, 0)
    falling = slow.uneven(rows, 0)
    tail = {"recursive-l": sum(falling[1:]), "recursive-l(l=3)": sum(falling[2:])}
    known: dict[str, float | Fraction] = {
        "k": size,
        "risk-max": 1 / size,
        "l": slow.fewest(rows, 0),
        "entropy-l": math.exp(-sum(n / sum(falling) * math.log(n / sum(falling)) for n in falling)),
        "alpha": max(p.values()),
        "alpha(value=a)": p.get("a", 0),
        "t": sum(abs(here.get(value, 0) - share) for value, share in everywhere.items()) / 2,
        "beta": max(p[value] / q[value] - 1 for value in p),
    }
    if name in tail:
        return falling[0] / tail[name] if tail[name] else math.inf
    return float(known[name])


def divisions(rows: tuple[int, ...]) -> Iterator[list[list[int]]]:
    """Every way to put rows into classes."""
    if not rows:
        yield []
        return
    first, *rest = rows
    for division in divisions(tuple(rest)):
        yield [[first], *division]
        for place in range(len(division)):
            yield [*division[:place], [first, *division[place]], *division[place + 1 :]]


def best_of_all(name: str, rows: Sequence[Row], spare: int) -> float:
    """The best worst class over every division into classes of every choice of rows that may stay."""
    better = make(name).better
    worst, best = (min, max) if better == "higher" else (max, min)
    cache: dict[tuple[int, ...], float] = {}
    values = []
    for kept in range(max(1, len(rows) - spare), len(rows) + 1):
        for chosen in combinations(range(len(rows)), kept):
            for division in divisions(chosen):
                for each in map(tuple, division):
                    if each not in cache:
                        cache[each] = number(name, [rows[row] for row in each], rows)
                values.append(worst(cache[tuple(each)] for each in division))
    return best(values)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(most_rows=5, most_columns=2, targets=0), name=st.sampled_from(MODELS), data=st.data())
def test_what_is_refused_is_impossible_and_what_is_possible_is_not_refused(
    case: Case, name: str, data: st.DataObject
) -> None:
    """Against every division of every allowed choice of rows, which holds all recodings with all suppressions."""
    if name == "alpha(value=a)" and "a" not in {row.sensitive[0] for row in case.rows}:
        return
    spare = data.draw(st.integers(0, len(case.rows) - 1))
    measure = make(name)
    best = best_of_all(name, case.rows, spare)
    away = data.draw(st.sampled_from([0.0, 1e-6, 0.01, 0.3, 1.0, 7.0]))
    for limit in (best - away, best + away) if math.isfinite(best) else (3.0,):
        sentence = say_impossible(case.table, measure, limit, spare)
        if bool(meets(measure.better, best, limit)):
            assert not sentence
        elif case.table.persons is not None and measure.name not in ("k", "risk-max"):
            continue  # values of persons come together as classes merge: only what is impossible is refused
        elif measure.name in ("k", "l") or (spare == 0 and measure.reach is not None):  # type: ignore[attr-defined]
            assert sentence  # exact both ways, but for a limit within rounding
    hidden = measure(classes(case.table, top(case.table.hierarchies)))
    assert math.isinf(hidden) or not say_impossible(case.table, measure, hidden, spare)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(most_rows=8, most_columns=2, targets=0), data=st.data())
def test_no_search_finds_what_is_refused(case: Case, data: st.DataObject) -> None:
    """Under each rule: where the check refuses, the exact front is empty; a front with points is never refused."""
    name = data.draw(st.sampled_from(["k", "l", "entropy-l", "alpha", "recursive-l"]))
    limit = data.draw(st.sampled_from([0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0]))
    share = data.draw(st.sampled_from([0.0, 0.3, 0.7]))
    limits = {name: limit}
    rules = [
        Suppression("none"),
        Suppression("cap-max-k", share),
        Suppression("below-k", k=2),
        Suppression("as-needed", share),
    ]
    asked = problem(case.table, ["k", "lm"], data.draw(st.sampled_from(rules)), limits)
    try:
        check_possible(asked)
    except BadJob:
        assert len(exact_front(asked)) == 0
        with pytest.raises(BadJob, match="cannot be met"):
            run_plan(asked, Plan("local", "local") if asked.table.persons is None else None)


def test_the_sentence_names_the_column_and_the_largest_value() -> None:
    """Rows and persons for k, distinct values for l, shares for others, with and without suppression."""
    table = read(pa.table(PEOPLE), Schema(("age",), ("ill",)), "category")
    assert say_impossible(table, make("k"), 7) == (
        "The limit k = 7 cannot be met: the table has 6 rows, so 6 is the largest k that is possible. "
        "Ask for that or less."
    )
    assert say_impossible(table, make("l"), 4, word="choice") == (
        "The choice l = 4 cannot be met: the sensitive column 'ill' has 3 distinct values, so 3 is the largest l that "
        "is possible. Ask for that or less."
    )
    assert say_impossible(table, make("alpha"), 0.3) == (
        "The limit alpha = 0.3 cannot be met: the sensitive column 'ill' has 3 distinct values, the most frequent in "
        "50.0% of the rows, so 0.5 is the least alpha that is possible. Ask for that or more."
    )
    assert say_impossible(table, make("alpha"), 0.3, 2).endswith(
        "so no alpha below 0.375 is possible, even without the 2 rows that may be suppressed; 0.5 is. Ask for that or "
        "more."
    )
    assert "too few for it" in say_impossible(table, make("recursive-l(l=4)"), 9)
    assert "so 2.749 is the largest entropy-l" in say_impossible(table, make("entropy-l"), 2.8)
    assert not say_impossible(table, make("t"), 0.0)
    twice = {**PEOPLE, "who": list("uuuvvv")}
    told = read(pa.table(twice), Schema(("age",), ("ill",), person="who"), "category")
    assert "the table has 2 persons, so 2 is the largest k" in say_impossible(told, make("k"), 3)
    assert not say_impossible(told, make("k"), 2)


def test_what_a_sample_lacks_the_table_may_have() -> None:
    """Nothing is refused on a sample, and the rule says how many rows may go."""
    table = read(pa.table(PEOPLE), Schema(("age",), ("ill",)), "category")
    asked = problem(table, ["k", "lm"], Suppression("none"), {"k": 99})
    with pytest.raises(BadJob, match="k = 99 cannot be met"):
        check_possible(asked)
    check_possible(replace(asked, table=replace(table, sample=Sample(6, 10_000, 1))))
    assert spare_rows(asked) == 0
    assert spare_rows(replace(asked, suppression=Suppression("below-k", k=2))) == 5
    assert spare_rows(replace(asked, suppression=Suppression("cap-max-k", 1))) == 1
