"""Searches side by side: the rank test against its slow twin, every number of a run, and what cannot be compared."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kpareto as kp
from kpareto.errors import BadJob, Interrupted, Stopped
from kpareto.faces.cli import main
from kpareto.fronts.choose import goal_of
from kpareto.fronts.problem import Problem, problem
from kpareto.interrupts import Hearing, hearing
from kpareto.searches.compare import MOST_EXACT, SearchTrials, compare_searches, rank_test, read_search
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice.boxes import coverage, grid_for
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.partition import Suppression
from tests.searches.cuts.test_exact import WISH, small_table

FEW = 'nsga2:start="uniform",population=4,generations=1'  # eight recodings, of which none keeps narrow limits
SAMPLES = st.lists(st.integers(0, 6), min_size=1, max_size=5)


def slow_test(first: list[int], second: list[int]) -> tuple[Fraction, Fraction]:
    """Every way to call so many of the values the first sample, compared pair by pair."""
    both = first + second

    def wins(places: tuple[int, ...]) -> Fraction:
        ours = [both[place] for place in places]
        theirs = [both[place] for place in range(len(both)) if place not in places]
        return sum((Fraction(1 + (a < b) - (a > b), 2) for a in ours for b in theirs), Fraction(0))

    middle = Fraction(len(first) * len(second), 2)
    own = wins(tuple(range(len(first))))
    ways = [wins(places) for places in combinations(range(len(both)), len(first))]
    beyond = sum(abs(each - middle) >= abs(own - middle) for each in ways)
    return Fraction(beyond, len(ways)), own / (len(first) * len(second))


@settings(max_examples=60, deadline=None)
@given(first=SAMPLES, second=SAMPLES)
def test_the_rank_test_is_its_slow_twin(first: list[int], second: list[int]) -> None:
    """The share of all ways to deal out the values, and the chance to be smaller, ties among them."""
    p, effect = slow_test(first, second)
    fast = rank_test(first, second)
    assert fast.p == pytest.approx(float(p), abs=1e-12)
    assert fast.effect == pytest.approx(float(effect), abs=1e-12)


def test_many_runs_take_a_normal_curve() -> None:
    """Just above the number that is counted the p of the curve is near that of counting; equal samples have 1."""
    rng = np.random.default_rng(1)
    one, two = rng.normal(0, 1, MOST_EXACT // 2), rng.normal(0.6, 1, MOST_EXACT // 2)
    counted, curve = rank_test(one, two).p, rank_test(np.append(one, 0.3), two).p
    assert counted == pytest.approx(curve, abs=0.02)
    assert rank_test([1.0] * 30, [1.0] * 30).p == 1.0
    assert rank_test([math.inf, math.inf], [1.0, 2.0]).effect == 0.0


@pytest.fixture(scope="module")
def asked() -> Problem:
    """k, NWP and NECD on a table of twelve borders."""
    return problem(small_table(), ["k", "nwp", "necd"], Suppression("none"))


@pytest.fixture(scope="module")
def trials(asked: Problem) -> SearchTrials:
    """NSGA-II with two rates of mutation, four seeds each, and the exact search."""
    own = Plan("nsga2", "order", options={"preference": WISH, "generations": 60})
    return compare_searches(asked, ["nsga2", "nsga2:mutation=0.001", "exact"], 4, own=own)


def test_every_run_is_measured(asked: Problem, trials: SearchTrials) -> None:
    """Runs are those of the search alone; nothing is better than the exact one; curves fall to the end of the run."""
    bred, rare, exact = trials.arms
    assert [len(arm.trials) for arm in trials.arms] == [4, 4, 1]
    assert rare.plan.settings["mutation"] == 0.001
    assert bred.plan.settings["generations"] == rare.plan.settings["generations"] == 60
    again = run_plan(asked, Plan("nsga2", "order", seed=3, options={"preference": WISH, "generations": 60}))
    third = bred.trials[2]
    assert np.array_equal(third.values, again.numbers.values)
    assert (third.evaluated, third.distinct) == (again.provenance.evaluated, again.provenance.evaluated)
    best = exact.trials[0]
    assert best.covered is not None
    assert (best.covered.ratio, best.covered.distance_sum) == (1.0, 0.0)
    for trial in (*bred.trials, *rare.trials):
        assert trial.loss >= best.loss
        assert trial.volume <= best.volume + 1e-12
        falling = [value for _, value in trial.curve]
        assert falling == sorted(falling, reverse=True)
        assert trial.curve[-1][0] == trial.evaluated
        assert trial.curve[-1][1] == pytest.approx(trial.loss)
        assert trial.covered == coverage(grid_for(asked), trial.values, best.values)


@pytest.mark.parametrize("options", [{}, {"preference": WISH}])
def test_the_file_of_a_run_tells_how_it_came_along(asked: Problem, options: dict[str, Any]) -> None:
    """By the goal that searches are compared by: the least until then, at most 100 steps and the end of the run."""
    front = run_plan(asked, Plan("nsga2", "order", options={"generations": 30, **options}))
    goal, details = goal_of(asked, options.get("preference")), front.provenance.details
    steps = details["trace"]
    assert details["goal"] == goal.words
    assert steps[-1] == [front.provenance.evaluated, goal.of(front.numbers)]
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert [least for _, least in steps] == sorted((least for _, least in steps), reverse=True)
    assert len(steps) <= 101
    nothing = problem(asked.table, ["k"], Suppression("none"))
    assert "trace" not in run_plan(nothing, Plan("nsga2", "order", options={"generations": 2})).provenance.details


def test_a_comparison_is_stopped_within_a_run(asked: Problem) -> None:
    """Somebody who waits need not wait for the end of the run that is under way."""
    waiting = Hearing()
    reports: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        reports.append((done, total))
        waiting.stop()

    with hearing(waiting), pytest.raises((Interrupted, Stopped)):
        compare_searches(asked, ["nsga2", "flip"], 50, own=Plan("nsga2", "order"), report=stop)
    assert reports == [(0, 100)]


def test_words_and_data(trials: SearchTrials, tmp_path: Path) -> None:
    """Plain JSON with the settings of each search, a test for every two by both numbers, Markdown, and a picture."""
    data = json.loads(json.dumps(trials.to_dict(), allow_nan=False))
    assert [each["name"] for each in data["searches"]] == ["nsga2", "nsga2:mutation=0.001", "exact"]
    assert data["searches"][0]["options"]["mutation"] == "1 / borders"
    assert len(data["tests"]) == 6
    assert {test["by"] for test in data["tests"]} == {"loss", "hypervolume"}
    assert data["goal"] == "achievement of the wishes at k ≥ 3"
    assert "| nsga2:mutation=0.001 | 4 |" in trials.markdown()
    assert f"the exact front of {trials.known:,} different points" in trials.markdown()
    assert trials.save(tmp_path / "runs.svg").stat().st_size > 1000
    assert repr(trials) == "SearchTrials(nsga2, nsga2:mutation=0.001, exact; achievement of the wishes at k ≥ 3)"


def test_boxes_are_those_of_the_job(asked: Problem) -> None:
    """Where a search has a grid, all runs are measured by it."""
    table = asked.table
    two = problem(table, ["k", "lm"], Suppression("none"))
    trials = compare_searches(two, ["pbg-ea:grid=[5, 0.2],iterations=3", "pbg-ea:iterations=3"], 2)
    first = trials.arms[0].trials[0]
    best = exact_front(two, "one").numbers.values
    assert first.covered == coverage(grid_for(two, [5, 0.2]), first.values, best)
    assert trials.goal.words == "least lm at k ≥ 5"


def test_a_run_that_finds_nothing_loses_everything() -> None:
    """No recoding that was met keeps the limits: an infinite loss, no points, and the others are compared still."""
    limited = problem(small_table(), ["lm"], Suppression("none"), {"k": 30, "lm": 0.7})
    trials = compare_searches(limited, [FEW, "exact"], 2, own=Plan("exact", "order"))
    found, best = trials.arms
    assert all((trial.loss, len(trial.values), trial.volume) == (math.inf, 0, 0.0) for trial in found.trials)
    assert best.trials[0].loss <= 0.7
    assert trials.tests[0][3].effect == 0.0
    data = json.loads(json.dumps(trials.to_dict(), allow_nan=False))
    assert [each["best"] for each in data["searches"]] == [None, best.trials[0].loss]
    assert trials.plot().axes


@pytest.mark.parametrize(
    ("searches", "seeds", "message"),
    [
        (["nsga2"], 3, r"^1 different searches with 3 seeds cannot be compared\. Give two or more"),
        (["nsga2", "nsga2"], 3, r"^1 different searches"),
        (["nsga2", "nsga"], 3, r"No search 'nsga'\. Did you mean 'nsga2'"),
        (["nsga2:mutation=7", "flip"], 3, r"mutation is 7"),
        (["nsga2:mutation", "flip"], 3, r"The search 'nsga2:mutation' is not understood"),
        (["flip:mutation=0.1", "nsga2"], 3, r"mutation is not used by the search 'flip'"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(asked: Problem, searches: list[str], seeds: int, message: str) -> None:
    """Too few searches, unknown ones, and settings that they do not take."""
    with pytest.raises(BadJob, match=message):
        compare_searches(asked, searches, seeds)


def test_no_loss_is_a_sentence(asked: Problem) -> None:
    """Without a loss there is nothing to compare by."""
    with pytest.raises(BadJob, match="compared by a loss"):
        compare_searches(problem(asked.table, ["k"]), ["exact", "pbg-ea"], 1)


def test_lists_and_tables_are_settings_too() -> None:
    """A comma within brackets parts nothing."""
    plan = read_search('nsga2:preference={k = 3, lm = 0.1},crossover="new",population=20', Plan("nsga2", "order"))
    assert plan.options == {"preference": {"k": 3, "lm": 0.1}, "crossover": "new", "population": 20} | {
        name: value for name, value in plan.options.items() if name not in ("preference", "crossover", "population")
    }
    assert plan.kind == "order"


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """Tables, sentences, JSON, Markdown and a picture; the job's own choice says at which k."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = [f"{20 + rng.integers(6)},{'fm'[rng.integers(2)]}" for _ in range(80)]
    Path("people.csv").write_text("\n".join(["age,sex", *rows]))
    Path("job.toml").write_text(
        '[data]\nsource = "people.csv"\n[columns.age]\nrole = "quasi-identifier"\n[columns.sex]\n'
        'role = "quasi-identifier"\n[search]\nobjectives = ["k", "lm"]\n[release]\nchoose = "k=7"\n'
    )
    words = ["compare", "job.toml", "--search", "pbg-ea", "--search", "pbg-ea:population=4,iterations=2", "-q"]
    assert main([*words, "--seeds", "2", "-o", "runs.md", "--picture", "runs.svg", "--json", "runs.json"]) == 0
    out = capsys.readouterr().out
    assert "Best and median are of the least lm at k ≥ 7 of a run" in out
    assert Path("runs.md").read_text().startswith("| search | runs | best |")
    assert len(json.loads(Path("runs.json").read_text())["searches"][1]["runs"]) == 2
    assert Path("runs.svg").exists()
    assert main([*words, "-o", "runs.html"]) == 2
    assert main([*words, "-o", "runs.md"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*words, "--seeds", "1", "-o", "runs.md", "--overwrite"]) == 0
    assert main([*words, "--json", "job.toml"]) == 2
    assert kp.compare_searches is compare_searches
