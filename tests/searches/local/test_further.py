"""A k that a local front was not searched for: searched when it is asked for, as a job for that k alone would."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import kpareto as kp
from kpareto.errors import BadInput, BadJob, Interrupted, Stopped
from kpareto.fronts.front import Front, load_front
from kpareto.fronts.problem import Problem, problem
from kpareto.jobs.proposals import complete_hierarchies
from kpareto.searches.local.driven import is_searched, search_further
from kpareto.searches.run import Plan, run_plan
from tests.twins.strategies import Case, cases

QUICK: dict[str, Any] = {"turns": 2, "walks": 2}


def searched(asked: Problem, ks: list[int], **options: Any) -> Front:
    """The local front of a small problem for some k."""
    return run_plan(asked, Plan("local", "local", seed=3, options={**QUICK, "ks": ks, **options}))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    case=cases(persons=False, targets=0),
    strict=st.booleans(),
    suppression=st.sampled_from([0.0, 0.3]),
    stored=st.booleans(),
)
def test_a_k_between_others_is_what_a_search_for_it_alone_gives(
    case: Case, strict: bool, suppression: float, stored: bool
) -> None:
    """With the same settings and seed, also from a stored front; a larger k that loses less is taken before it."""
    assume(len(case.rows) >= 4)
    asked = problem(case.table, ["k", "lm"], suppression)
    front = searched(asked, [2, 4], strict=strict)
    if stored:
        front = load_front(json.loads(json.dumps(front.to_dict())), asked)
    alone = searched(asked, [3], strict=strict).choose(k=3)
    before = [list(point.values.values()) for point in front]
    further = search_further(front, k=3)
    point = further.choose(k=3)
    larger = front.filter(k=3)
    assert point.values["lm"] == min([alone.values["lm"], *(other.values["lm"] for other in larger)])
    if point.values == alone.values:
        assert sorted(point.partition.sizes.tolist()) == sorted(alone.partition.sizes.tolist())
        assert point.partition.suppressed_rows == alone.partition.suppressed_rows
    assert [list(point.values.values()) for point in front] == before
    for each in further:
        assert each.bound is not None
        assert each.bound.reached == pytest.approx(each.values["lm"])
        assert each.partition.rows.sum() == len(case.rows)
    again = load_front(json.loads(json.dumps(further.to_dict())), asked)
    assert [p.values for p in again] == [p.values for p in further]
    assert is_searched(again, {"k": 3})


@pytest.fixture(scope="module")
def asked() -> Problem:
    """K and LM on three hundred rows with a sensitive column."""
    rng = np.random.default_rng(2)
    rows = {
        "age": [str(value) for value in rng.integers(20, 60, 300)],
        "zip": [f"{value:03d}" for value in rng.integers(0, 300, 300)],
        "ill": [("flu", "cold", "gout", "HIV")[value] for value in rng.integers(0, 4, 300)],
    }
    table = kp.read(pa.table(rows), kp.Schema(("age", "zip"), ("ill",)))
    return problem(complete_hierarchies(table), ["k", "lm"])


def test_a_front_says_which_k_were_searched(asked: Problem) -> None:
    """In its sentence and its JSON, also after one more; what was searched is not searched again."""
    front = searched(asked, [5, 10])
    assert "a heuristic search for k = 5, 10; " in front.summary()
    assert front.to_dict()["search"]["details"]["searched"] == [{"k": 10.0}, {"k": 5.0}]
    assert search_further(front, k=5) is front
    further = search_further(front, k=6.5)
    assert "a heuristic search for k = 5, 7, 10; " in further.summary()
    assert search_further(further, k=7) is further
    assert further.choose(k=7).values["k"] >= 7
    assert further.choose(k=7).values["lm"] < front.choose(k=7).values["lm"]
    assert kp.search_further(front, k=40).choose(k=40).values["k"] >= 40
    assert further.provenance.evaluated == 3


def test_settings_limits_and_seed_are_those_of_the_front(asked: Problem) -> None:
    """Limits on classes hold for the further k too, and a level of a second objective can be asked for."""
    limited = problem(asked.table, ["k", "lm"], 0.0, {"l": 2.0, "k": 4.0})
    front = searched(limited, [10])
    further = search_further(front, k=2)
    assert further is front  # the limit of 4 was searched, and no smaller k may be released
    assert searched(limited, [6]).choose(k=6).values == search_further(front, k=6).choose(k=6).values
    both = problem(asked.table, ["k", "l", "lm"])
    swept = searched(both, [5], levels=[2.0])
    assert search_further(swept, k=5, l=2) is swept
    stricter = search_further(swept, k=5, l=3)
    assert stricter.choose(k=5, l=3).values == searched(both, [5], levels=[3.0]).choose(k=5, l=3).values
    assert search_further(stricter, l=3) is stricter
    seven = search_further(swept, k=7, l=2)
    assert seven.choose(k=7, l=2).values == searched(both, [7], levels=[2.0]).choose(k=7, l=2).values


def test_what_is_no_local_front_stays_as_it_is(asked: Problem) -> None:
    """The exact front has every k; and a choice without a k asks for no search."""
    exact = run_plan(asked)
    assert search_further(exact, k=7) is exact
    front = searched(asked, [5])
    assert search_further(front) is front
    assert search_further(front, {"k": -5}) is front
    assert search_further(front, lm=0.2) is front


def test_what_cannot_be_searched_is_a_sentence(asked: Problem) -> None:
    """More than there are rows, settings of a damaged file, and who stops it."""
    front = searched(asked, [5])
    with pytest.raises(BadJob, match=r"k = 301 .*300 rows"):
        search_further(front, k=301)
    data = json.loads(json.dumps(front.to_dict()))
    data["search"]["details"]["searched"] = [["k", 5]]
    with pytest.raises(BadInput, match="searched"):
        load_front(data, asked)
    data = json.loads(json.dumps(front.to_dict()))
    data["search"]["details"]["settings"]["turns"] = "many"
    with pytest.raises(BadJob, match="turns is 'many'"):
        search_further(load_front(data, asked), k=7)

    def stop(done: int, total: int) -> None:
        raise Stopped

    with pytest.raises(Interrupted, match="Stopped before k = 7 was searched"):
        search_further(front, k=7, report=stop)
