"""Searches with a time: they end, say so, keep what is proven, and go on where they are resumed."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kpareto as kp
from kpareto.errors import BadJob, SearchWarning, Stopped
from kpareto.fronts.count_lattice import Walker, WalkTask
from kpareto.fronts.dominance import Ties
from kpareto.fronts.numbers import Numbers, join
from kpareto.fronts.problem import Problem, problem
from kpareto.interrupts import TimeLimit
from kpareto.jobs.front import read_in_time
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job
from kpareto.kernels import compiling
from kpareto.kernels.compiling import COMPILATIONS, Compilations, working
from kpareto.measures.measure import Number, trends
from kpareto.searches import bounds
from kpareto.searches.bounds import branch_and_bound, decomposition_bound
from kpareto.searches.compiled import LowerBound, lower_bound
from kpareto.searches.cuts.nsga2 import Nsga2
from kpareto.searches.cuts.score import Score
from kpareto.searches.driver import Cancelled, Ending, drive
from kpareto.searches.exact_front import Exact, exact_front, make_floors
from kpareto.searches.forecast import forecast_seconds, say_slow, spell_seconds
from kpareto.searches.lattice.exact import nothing_counted
from kpareto.searches.lattice.greedy import Samarati
from kpareto.searches.lattice.pbg_ea import PbgEa
from kpareto.searches.local import LocalSettings, driven, sweep
from kpareto.searches.local.driven import LocalDriven
from kpareto.searches.names import METHODS
from kpareto.searches.proposals import Proposals
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Partition, Suppression
from kpareto.tables.table import Table
from tests.test_interrupts import Clock


@pytest.mark.parametrize("ties", ["all", "one"])
def test_what_was_met_gives_the_whole_front(ties: Ties) -> None:
    """Where all nodes were met before the time was up, the front is the complete one, ties and all; few are sorted."""
    asked = problem(adult_table(), ("k", "glm"), 0.01)
    every = join(list(asked.whole_lattice()), 2)
    half = every.take(np.arange(0, len(every.which), 2))
    search = Exact(asked, ties, limit=TimeLimit(0.0))
    state = replace(nothing_counted(asked), best=half, reached=every)
    front = search.front_so_far(state, Ending("its time was up", stopped=False))
    whole = exact_front(asked, ties)
    assert {(*g, *v) for g, v in zip(front.genomes.tolist(), front.numbers.values.tolist(), strict=True)} == {
        (*g, *v) for g, v in zip(whole.genomes.tolist(), whole.numbers.values.tolist(), strict=True)
    }
    assert len(front) == len(whole)
    assert len(search._all_met(state)[0]) < len(every.which) / 4


def test_a_limit_tells_what_is_left_and_halts_loops() -> None:
    """Without seconds never; with some, the flag is raised inside the block that watches."""
    assert not TimeLimit().is_up
    assert TimeLimit().left == float("inf")
    assert TimeLimit().part(0.5).seconds is None
    assert 1800 < TimeLimit(7200).part(0.5).left <= 3600
    limit = TimeLimit(0.02)
    with limit.watching():
        while limit.halt[0] == 0:
            time.sleep(0.01)
    assert limit.halt[0] == 1
    assert limit.is_up
    assert limit.left == 0


@pytest.fixture(scope="module")
def adult() -> Table:
    """The published lattice: 17,920 nodes."""
    return adult_table("replication")


def test_out_of_time_the_front_has_floors_and_is_resumed(adult: Table, tmp_path: Path) -> None:
    """Each point says what no recoding beats at its k; going on without a limit ends with the whole front."""
    asked = problem(adult, ["k", "glm"], 0.01)
    whole = run_plan(asked)
    kept = tmp_path / "kept.npz"
    short = run_plan(asked, Plan(options={"seconds": 0.001}), checkpoint=kept)
    assert not short.provenance.complete
    assert not short.provenance.stopped
    assert "0.001 seconds were up" in short.provenance.note
    assert short.floors is not None
    for point, floor in zip(short, short.floors.tolist(), strict=True):
        best = whole.choose(k=point.values["k"]).values["glm"]
        assert np.isnan(floor[0])
        assert floor[1] <= best + 1e-9 <= point.values["glm"] + 2e-9
        assert point.to_dict()["at_least"] == {"glm": floor[1]}
    assert short.slice("glm").floors is not None
    assert run_plan(asked, checkpoint=kept).genomes.tobytes() == whole.genomes.tobytes()
    assert not kept.exists()


def test_out_of_time_a_front_without_floors_says_so(adult: Table) -> None:
    """A loss that is no sum over cells has no floor, and so the front proves nothing of what it missed."""
    short = run_plan(problem(adult, ["k", "dcn"], 0.01), Plan(options={"seconds": 0.001}))
    assert short.floors is None
    assert short.provenance.note.endswith("nodes were settled; nothing is proven of what it missed")


def test_enough_time_changes_nothing(adult: Table) -> None:
    """A search that ends before its time is the search without a time."""
    asked = problem(adult, ["k", "glm"], 0.01)
    first, second = run_plan(asked), run_plan(asked, Plan(options={"seconds": 1000}))
    assert second.provenance.complete
    assert second.floors is None
    assert first.genomes.tobytes() == second.genomes.tobytes()


@pytest.mark.parametrize("method", [method for method in METHODS if method not in ("exact", "local", "recut")])
def test_every_search_ends_when_its_time_is_up(method: str, tiny: Table) -> None:
    """With hardly any time the best so far is the answer, and the note says why."""
    limits = {"k": 2} if method in ("datafly", "samarati") else {}
    asked = problem(tiny, ["k", "lm"], 0, limits)
    front = run_plan(asked, Plan(method, METHODS[method][0], options={"seconds": 1e-9}))
    assert "seconds were up" in front.provenance.note
    assert not front.provenance.stopped


def test_a_compiled_search_ends_when_its_time_is_up(tiny: Table) -> None:
    """Recut for one loss under a given k hands over the best it has."""
    front = run_plan(
        problem(tiny, ["lm"], Suppression("below-k", 0, 2)), Plan("recut", "cuts", options={"seconds": 1e-9})
    )
    assert "seconds were up" in front.provenance.note


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "60", True])
def test_a_time_that_is_none_is_refused(seconds: object, tiny: Table) -> None:
    """A number above 0, or a sentence."""
    with pytest.raises(BadJob, match=r"seconds is .* Give a number of seconds above 0"):
        run_plan(problem(tiny, ["k", "lm"]), Plan(options={"seconds": seconds}))


def test_resuming_counts_nothing_twice(adult: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a stop at the second part, the parts before it are not walked again."""
    walked: list[tuple[int, ...]] = []
    honest = Walker.run

    def counting(self: Walker, task: WalkTask, *more: object) -> object:
        walked.append(tuple(task.levels.tolist()))
        return honest(self, task, *more)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(Walker, "run", counting)
    asked = problem(adult, ["k", "l", "glm"], 0.01)
    steps = 0

    def stop(_: int, __: int) -> None:
        nonlocal steps
        steps += 1
        if steps == 2:
            raise Stopped

    kept = tmp_path / "kept.npz"
    with pytest.raises(Cancelled):
        run_plan(asked, Plan(options={"threads": 1}), stop, kept)
    first = walked[:2]
    walked.clear()
    resumed = run_plan(asked, Plan(options={"threads": 1}), checkpoint=kept)
    assert not set(first) & set(walked)
    again = len(walked)
    walked.clear()
    assert run_plan(asked, Plan(options={"threads": 1})).genomes.tobytes() == resumed.genomes.tobytes()
    assert again == len(walked) - 2


def test_a_forecast_is_a_rough_time(adult: Table) -> None:
    """Seconds at most for the published lattice, forever where nodes cannot be numbered; in round words."""
    assert 0 < forecast_seconds(problem(adult, ["k", "glm"], 0.01)) < 60
    words = [spell_seconds(seconds) for seconds in (0.2, 7.4, 23, 200, 7_300, 10**9, float("inf"))]
    assert words == ["about 1 s", "about 7 s", "about 20 s", "about 3 minutes", "about 2 hours", *["days or more"] * 2]


# -- by a clock that the test turns -------------------------------------------------------------------------------------


def test_compiling_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of searches stands still while loops are compiled, which happens once for a machine."""
    monkeypatch.setattr(time, "monotonic", lambda: 50.0)
    before = working()
    monkeypatch.setattr(COMPILATIONS, "_seconds", COMPILATIONS.seconds + 20)
    assert working() == before - 20


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock by which every call that counts recodings takes four seconds, however few they are."""
    clock, honest = Clock(), Problem.evaluate

    def evaluate(self: Problem, *arguments: object) -> Numbers:
        clock.now += 4
        return honest(self, *arguments)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(Problem, "evaluate", evaluate)
    return clock


def test_the_time_is_looked_at_within_one_population(adult: Table, slow: Clock) -> None:
    """A population that takes far longer than the time is told of, left, and what was counted of it is the answer."""
    asked, told = problem(adult, ["k", "lm"], 0), []
    course = Proposals(asked, make_cuts(adult.hierarchies), Nsga2(population=100), None)
    front = drive(course, lambda done, _: told.append(done), limit=TimeLimit(10, slow))
    assert front.provenance.note == "the 10 seconds were up"
    assert slow.now <= 100 + 10 + 4
    assert len(told) > 1
    assert 0 < told[0] < front.provenance.evaluated < 100


def test_floors_in_no_time_are_lower_and_still_floors(adult: Table) -> None:
    """Columns of groups that there was no time for count one by one, which bounds every recoding too."""
    asked, clock = problem(adult, ["k", "glm"], 0.01), Clock()
    whole, limit = run_plan(asked), TimeLimit(1, clock)
    clock.now += 2
    with limit.watching():
        quick = make_floors(asked, (0, 1))
    full = make_floors(asked, (0, 1))
    assert quick is not None
    assert full is not None
    assert [len(group.columns) for group in quick.groups] == [1] * len(adult.hierarchies)
    low, high = quick.at(whole.numbers)[:, 1], full.at(whole.numbers)[:, 1]
    assert (low <= high + 1e-12).all()
    assert (low > 0).any()
    assert (high <= whole.numbers.values[:, 1] + 1e-12).all()


def test_bounds_in_little_time_are_lower_and_still_bounds(tiny: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What branch and bound has not opened bounds the least loss; where nothing could be counted, the bound is 0."""
    score, clock = Score(tiny, make_cuts(tiny.hierarchies), {"lm": 1.0}, 2), Clock()
    proof, judge = branch_and_bound(score), bounds._Judge.bound

    def bound(self: bounds._Judge, *arguments: object) -> float:
        clock.now += 1
        return judge(self, *arguments)  # type: ignore[arg-type]  # handed on as they came

    assert proof.complete
    monkeypatch.setattr(bounds._Judge, "bound", bound)
    for seconds in (0.5, 1.5):
        with TimeLimit(seconds, clock).watching():
            begun = branch_and_bound(score)
        assert not begun.complete
        assert begun.bound <= proof.value
    late = TimeLimit(1, clock)
    clock.now += 2
    with late.watching():
        assert decomposition_bound(score).parts == ()
        assert lower_bound(score, proof.genome, proof.value) == LowerBound(
            0.0, False, "there was no time to prove more"
        )


def test_local_recoding_in_little_time_searches_what_is_asked_for_most(
    tiny: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ks the usual ones come first, the rest is left out, and the front says that and what it has not proven."""
    clock, honest, sought = Clock(), sweep.search_k, []

    def search_k(ready: object, *more: object) -> object:
        clock.now += 9
        sought.append(ready.limits.k)  # type: ignore[attr-defined]  # a LocalProblem
        return honest(ready, *more)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(driven, "search_k", search_k)
    settings = LocalSettings(ks=[1, 2, 3, 4, 5, 6], seconds=20)
    front = drive(LocalDriven(problem(tiny, ["k", "lm"], 0), settings, limit=TimeLimit(20, clock)))
    assert sought == [5, 3]
    assert front.provenance.note.startswith("the 20 seconds were up after a heuristic search for k = 3, 5")
    gaps = [point.bound for point in front]
    assert all(gap is not None and gap.least <= gap.reached for gap in gaps)


def test_bounds_of_local_recoding_that_there_was_no_time_for_are_said_to_be_none(
    tiny: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound of 0 is one that proves nothing, not one that nobody asked for."""
    clock, honest = Clock(), sweep.search_k

    def search_k(*arguments: object) -> object:
        clock.now += 30
        return honest(*arguments)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(driven, "search_k", search_k)
    settings = LocalSettings(ks=[3], seconds=20)
    front = drive(LocalDriven(problem(tiny, ["k", "lm"], 0), settings, limit=TimeLimit(20, clock)))
    assert len(front) == 1
    assert front.provenance.note == "a heuristic search for k = 3, and no bound above 0 was proven"
    without = drive(LocalDriven(problem(tiny, ["k", "lm"], 0), LocalSettings(ks=[3], walks=0)))
    assert without.provenance.note.endswith("no bound was asked for")


def test_a_table_that_takes_longer_to_read_than_the_search_may_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading takes of the time: far beyond it nothing is searched, and without a time nothing is looked at."""
    clock, job = Clock(), load_job("adult", ["search.seconds=20"])
    monkeypatch.setattr("kpareto.jobs.front.working", clock)

    def read(_: Job, progress: object = None) -> str:
        clock.now += 30
        progress(1, 2)  # type: ignore[operator]  # what reading reports to
        return "the problem"

    monkeypatch.setattr(Job, "problem", read)
    with pytest.raises(
        BadJob, match=r"The 20 seconds were up before the table was read, so nothing was searched\. Give"
    ):
        read_in_time(job)
    told: list[int] = []
    assert str(read_in_time(load_job("adult"), lambda done, _: told.append(done))) == "the problem"
    assert told == [1]


def test_what_python_counts_is_told_before_a_search() -> None:
    """The measure, the pace and the time that it will take, in Python before anything but a sample is counted."""
    calls: list[int] = []

    def biggest(partition: Partition) -> float:
        calls.append(1)
        return float(partition.rows.max())

    own = Number("biggest", "lower", "rows", trends("rises"), biggest)
    table = adult_table()
    sentence = say_slow(problem(table, ["k", own]))
    assert sentence.startswith("Biggest has no compiled form, so each recoding is counted in Python: here about ")
    assert f" All {Lattice(table.hierarchies).size:,} will take " in sentence
    assert " All " not in say_slow(problem(table, ["k", own]), "samarati")
    assert say_slow(problem(table, ["k", "lm"])) == ""
    related = problem(table, ["k", "relations"])
    assert say_slow(related) == say_slow(related, "nsga2", 10**6) == ""
    sentence = say_slow(related, "nsga2", 10**6, "cuts")
    why = "Relations looks at levels and has no compiled form over other recodings, so each recoding is counted in Py"
    assert sentence.startswith(why)
    assert " All 1,000,000 will take " in sentence
    assert say_slow(problem(table, ["k", "lm"]), "nsga2", 10**6, "cuts") == ""
    calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SearchWarning)
        with pytest.raises(SearchWarning, match="Biggest has no compiled form"):
            kp.front(table, objectives=["k", own])
        with pytest.raises(SearchWarning, match="counted in Python"):
            kp.run(problem(table, ["k", own]), Lattice(table.hierarchies), Samarati())
    assert 0 < len(calls) <= 2 * 17


def test_there_may_be_no_time_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a front misses is counted in what is left of its time; where nothing is, the front is there and says so."""
    clock, honest = Clock(), PbgEa.moves

    def moves(self: PbgEa, *arguments: Any) -> Any:
        answer = yield from honest(self, *arguments)
        clock.now += 9
        return answer

    monkeypatch.setattr("kpareto.searches.run.working", clock)
    asked = problem(adult_table(), ("k", "glm"), 0.01)
    short = {"population": 4, "iterations": 2, "compare": True}
    compared = run_plan(asked, Plan("pbg-ea", options={**short, "seconds": 20.0}))
    assert "exact" in compared.provenance.details
    monkeypatch.setattr(PbgEa, "moves", moves)
    front = run_plan(asked, Plan("pbg-ea", options={**short, "seconds": 5.0}))
    assert "exact" not in front.provenance.details
    assert front.provenance.note.endswith("there was no time to compare it with the exact front")
    assert front.genomes.tolist() == compared.genomes.tolist()


def test_compiling_is_no_time_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a front says of its seconds leaves out those in which loops were compiled."""
    asked, compiled = problem(adult_table(), ["k", "lm"], 0.01), Compilations()
    monkeypatch.setattr(compiling, "COMPILATIONS", compiled)
    evaluate = Problem.whole_lattice

    def compile_first(self: Problem, *args: Any, **named: Any) -> Any:
        compiled._seconds += 1000.0
        return evaluate(self, *args, **named)

    monkeypatch.setattr(Problem, "whole_lattice", compile_first)
    assert run_plan(asked).provenance.seconds < 0  # a thousand seconds that nobody waited for are taken off
