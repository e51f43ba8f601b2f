"""The front of local recodings: driven, stopped, resumed, stored and read back as every other front."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput, BadJob, Stopped
from kpareto.fronts.front import Front, load_front
from kpareto.fronts.problem import Problem, problem
from kpareto.searches.driver import Cancelled
from kpareto.searches.local import driven
from kpareto.searches.local.bound import LocalBound, lower_bound
from kpareto.searches.local.driven import PARTS
from kpareto.searches.local.problem import LocalProblem
from kpareto.searches.local.recoding import LocalClasses
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.boxes import Division, LabelBoxes
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import make_table
from tests.searches.local import local_twins
from tests.twins.strategies import Case, cases
from tests.twins.use import related_table

QUICK = {"ks": [2, 3], "turns": 2, "walks": 2}


def searched(problem: Problem, options: dict[str, Any] | None = None, seed: int = 1) -> Front:
    """The local front of a small problem."""
    return run_plan(problem, Plan("local", "local", seed=seed, options={**QUICK, **(options or {})}))


def numbers(front: Front) -> list[list[float]]:
    """All values of all points."""
    return [list(point.values.values()) for point in front]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(persons=False, targets=0), strict=st.booleans(), intervals=st.booleans())
def test_points_keep_their_k_and_stand_above_their_bound(case: Case, strict: bool, intervals: bool) -> None:
    """Each point is counted from its own partition, keeps the k asked for, and loses at least what the bound says."""
    assume(len(case.rows) >= 3)
    asked = problem(case.table, ["k", "lm"])
    front = searched(asked, {"strict": strict, "intervals": intervals})
    assert 1 <= len(front) <= 2
    for point in front:
        gap = point.bound
        assert gap is not None
        assert point.partition.sizes.min() == point.values["k"] >= gap.at["k"]
        assert gap.reached == pytest.approx(point.values["lm"])
        assert gap.least <= point.values["lm"] + 1e-9
        assert point.recoding.boxes is not None
        assert (point.recoding.boxes.root is not None) == strict
    assert [point.values["lm"] for point in front] == sorted(point.values["lm"] for point in front)
    assert front.choose(k=2).values["k"] >= 2
    assert front.proof.startswith("not complete: a heuristic search")


def test_a_large_table_has_a_quick_bound_unless_a_proof_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One walk in little time, and it is said to be quick; with ``prove`` ten walks of the same answers, no lower."""
    walked: list[int] = []
    shares: list[float | None] = []

    def bound(ready: LocalProblem, classes: LocalClasses, walks: int, seconds: float | None, *more: Any) -> LocalBound:
        walked.append(walks)
        shares.append(seconds)
        return lower_bound(ready, classes, walks, seconds, *more)

    monkeypatch.setattr(driven, "LARGE", 100)
    monkeypatch.setattr(driven, "lower_bound", bound)
    asked = problem(related_table(), ["k", "lm"])
    quick, proven = searched(asked), searched(asked, {"prove": True})
    assert walked == [1, 1, 10, 10]
    assert shares == [driven.QUICK, driven.QUICK, None, None]
    assert "(a quick bound; a longer proof, search.prove = true, may say more)" in quick.proof
    assert "quick" not in proven.proof
    assert numbers(quick) == numbers(proven)
    for one, other in zip(quick, proven, strict=True):
        assert one.bound is not None
        assert other.bound is not None
        assert one.bound.least <= other.bound.least


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(persons=False, most_rows=8, most_columns=2, targets=0))
def test_the_bound_of_a_front_is_below_what_any_recoding_reaches(case: Case) -> None:
    """On tables small enough for brute force, no point is below the best there is, and no bound above it."""
    from kpareto.searches.local.problem import LocalWish

    assume(3 <= len(case.rows) <= 9)
    front = searched(problem(case.table, ["k", "lm"]))
    for point in front:
        gap = point.bound
        assert gap is not None
        best = local_twins.least_loss(case.table, case.rows, LocalWish(int(gap.at["k"])))
        assert best is not None
        assert gap.least - 1e-9 <= best <= gap.reached + 1e-9


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(persons=False), strict=st.booleans(), suppression=st.sampled_from([0.0, 0.3]))
def test_a_stored_front_comes_back_with_its_recodings(case: Case, strict: bool, suppression: float) -> None:
    """Written as JSON and read again it has the same points, partitions, bounds and questions."""
    assume(len(case.rows) >= 3)
    asked = problem(case.table, ["k", "glm"], suppression)
    front = searched(asked, {"strict": strict})
    again = load_front(json.loads(json.dumps(front.to_dict())), asked)
    assert numbers(again) == numbers(front)
    assert again.proof == front.proof
    for ours, theirs in zip(front, again, strict=True):
        assert np.array_equal(ours.partition.members, theirs.partition.members)
        assert np.array_equal(ours.partition.groups, theirs.partition.groups)
        assert ours.recoding.boxes is not None
        assert theirs.recoding.boxes is not None
        assert ours.recoding.boxes.root == theirs.recoding.boxes.root
        assert ours.bound == theirs.bound
    if len(front) > 1:
        assert front.compare(0, 1).rows == len(case.rows)


@pytest.fixture(scope="module")
def made() -> Problem:
    """K and LM on 900 rows of three columns, one row in a hundred may go."""
    rng = np.random.default_rng(5)
    columns = [
        from_levels(f"q{place}", [(f"{leaf:02d}", str(leaf // 3), str(leaf // 6), "*") for leaf in range(12)])
        for place in range(3)
    ]
    codes = np.minimum(rng.geometric(0.2, (900, 3)) - 1, 11).astype(np.int32)
    values = tuple("abcdefgh")
    sick = np.minimum(rng.geometric(0.3, 900) - 1, 7).astype(np.int32)
    schema = Schema(("q0", "q1", "q2"), ("s",))
    table = make_table(schema, tuple(columns), codes, np.ones(900, dtype=np.int64), {"s": (values, sick, None)})
    return problem(table, ["k", "lm"], Suppression("cap-max-k", 0.01))


OPTIONS: dict[str, Any] = {"ks": [5, 20, 60], "turns": 1, "walks": 1}


def test_stopped_anywhere_it_goes_on_to_the_same_front(made: Problem, tmp_path: Path) -> None:
    """Stopped in the second step, the checkpoint has the first; the resumed front is that of an uninterrupted run."""
    plan = Plan("local", "local", options=OPTIONS)
    whole = run_plan(made, plan)
    kept, stopped_at = tmp_path / "job.checkpoint.npz", []

    def stop(done: int, _: int) -> None:
        if done > PARTS:
            stopped_at.append(done)
            raise Stopped

    with pytest.raises(Cancelled, match="Stopped after 1 recoding; 1 point so far"):
        run_plan(made, plan, stop, kept)
    assert kept.exists()
    assert stopped_at
    again = run_plan(made, plan, checkpoint=kept)
    assert not kept.exists()
    assert numbers(again) == numbers(whole)
    assert again.space.size == 3
    seen = []
    watched = run_plan(made, plan, watch=lambda met: seen.append(len(met.which)))
    assert numbers(watched) == numbers(whole)
    assert max(seen) == 3
    halted = run_plan(made, plan, stop)
    assert halted.provenance.stopped
    assert len(halted) == 1


def test_stopped_among_the_bounds_it_has_every_answer_and_goes_on_to_the_same_bounds(
    made: Problem, tmp_path: Path
) -> None:
    """The answers come first: stopped at the first bound there are all of them, and the bounds are made up for."""
    plan = Plan("local", "local", options=OPTIONS)
    whole, kept = run_plan(made, plan), tmp_path / "job.checkpoint.npz"

    def stop(done: int, _: int) -> None:
        if done >= PARTS * len(OPTIONS["ks"]):
            raise Stopped

    with pytest.raises(Cancelled, match="Stopped after 3 recodings; 3 points so far"):
        run_plan(made, plan, stop, kept)
    again = run_plan(made, plan, checkpoint=kept)
    assert numbers(again) == numbers(whole)
    assert [point.bound for point in again] == [point.bound for point in whole]
    assert all(point.bound is None for point in run_plan(made, plan, stop))


def test_a_second_privacy_objective_is_swept(made: Problem) -> None:
    """With l beside k there is a point for each level, every class keeps it, and none dominates another."""
    asked = problem(made.table, ["k", "l", "lm"], 0.0)
    front = run_plan(asked, Plan("local", "local", options={"ks": [5], "levels": [2, 6], "turns": 1, "walks": 0}))
    assert {point.values["l"] >= 6 for point in front} == {True, False}
    losses = [point.values["lm"] for point in front]
    assert len(set(losses)) == len(losses)
    assert front.proof.endswith("no bound was asked for")


def test_what_a_local_search_cannot_do_is_a_sentence(made: Problem) -> None:
    """No loss over cells, too many privacy objectives, levels of nothing, no k, an impossible k."""
    table = made.table
    for objectives, options, words in (
        (["k", "dcn"], {}, "no objective is one"),
        (["k", "l", "t", "lm"], {}, "takes k and one more privacy objective"),
        (["k", "lm"], {"levels": [2]}, "there is none beside k"),
        (["lm"], {"ks": None}, "needs to know which k"),
    ):
        with pytest.raises(BadJob, match=words):
            searched(problem(table, objectives), options)
    with pytest.raises(BadJob, match="k = 1,000,000 cannot be met: the table has 900 rows"):
        searched(made, {"ks": [10**6]})


def test_a_front_that_was_tampered_with_is_refused(made: Problem) -> None:
    """Items of other rows, classes that do not cover them, and text that is no array are sentences."""
    front = run_plan(made, Plan("local", "local", options={"ks": [60], "turns": 1, "walks": 0}))
    data = json.loads(json.dumps(front.to_dict()))
    for path, value in (
        (("items", "weight"), data["space"]["items"]["row"]),
        (("items", "row"), "no base64"),
        (("boxes", 0, "first"), data["space"]["boxes"][0]["last"]),
        (("boxes", 0, "member"), data["space"]["items"]["row"]),
    ):
        spoiled = json.loads(json.dumps(data))
        place: Any = spoiled["space"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(BadInput):
            load_front(spoiled, made)
    assert isinstance(front[0].recoding.boxes, LabelBoxes)
    with pytest.raises(BadInput, match="more or fewer rows"):
        Division(np.array([0]), np.array([-1]), np.array([1])).table(made.table)
