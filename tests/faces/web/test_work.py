"""Work that can be seen and stopped: every long step of the page, and the steps inside a search."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import njit

from kpareto.attacks.evidence import attack
from kpareto.errors import Interrupted, Stopped
from kpareto.faces.web import release, routes
from kpareto.faces.web import search as searches
from kpareto.faces.web.explore import attack_view, use_view
from kpareto.faces.web.runs import KeptRuns, RunRecord
from kpareto.faces.web.search import Searching
from kpareto.faces.web.turns import Work
from kpareto.fronts.front import Front, Point
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, problem
from kpareto.interrupts import Hearing, halted_too, hearing, pause
from kpareto.jobs.front import plan_of
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job
from kpareto.jobs.proposals import SearchTask
from kpareto.kernels import compiling
from kpareto.kernels.compiling import COMPILATIONS
from kpareto.searches import models
from kpareto.searches.lattice import exact
from kpareto.searches.lattice.climbing import reach_good_nodes
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Kind, Lattice
from kpareto.uses.utility import utility
from tests.twins.page import Page, until

WHILE = 240  # seconds after which a test gives up, and a step that hangs goes on


@pytest.fixture
def session(page: Page) -> str:
    """The path of a session that has searched the small table for a target."""
    path = page.new_session()
    draft = page.client.post(f"{path}/open", json={"name": "people.csv"}).json()["draft"]
    draft["columns"]["illness"] = {"role": "target"}
    draft["limits"] = {"k": 5}
    assert page.client.put(f"{path}/job", json=draft).status_code == 200
    page.client.post(f"{path}/search", json={})
    page.client.get(f"{path}/events")
    assert page.client.get(path).json()["run"] is not None
    return path


LONG = [
    ("kpareto.faces.web.session.inspect", "POST", "/open", {"name": "people.csv"}),
    ("kpareto.faces.web.explore.tree_view", "POST", "/points/0/tree", {}),
    ("kpareto.faces.web.explore.use_view", "POST", "/points/0/use", {}),
    ("kpareto.faces.web.explore.marks_view", "POST", "/marks", {}),
    ("kpareto.faces.web.explore.attack_view", "POST", "/points/0/attack", {}),
    ("kpareto.faces.web.release.check", "POST", "/points/0/check", {}),
    ("kpareto.faces.web.release.report_page", "POST", "/points/0/report", {}),
    ("kpareto.faces.web.release.release_point", "POST", "/release", {"point": 0}),
]


@pytest.mark.parametrize(("what", "method", "path", "question"), LONG, ids=[line[2] for line in LONG])
def test_every_long_step_can_be_stopped(
    page: Page,
    session: str,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    method: str,
    path: str,
    question: dict[str, Any],
) -> None:
    """A step that hangs is listed while it does, ends for the person when it is stopped, and blocks nobody."""
    begun, free = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> None:
        begun.set()
        free.wait(WHILE)
        raise Stopped

    monkeypatch.setattr(what, hang)
    before = page.client.get(session).json()
    try:
        with ThreadPoolExecutor(1) as other:
            asked = other.submit(
                page.client.request, method, f"{session}{path}", json=question, headers={"x-work": "mine"}
            )
            assert begun.wait(WHILE)
            assert "mine" in page.client.get(f"{session}/pulse").json()["works"]
            assert page.client.delete(f"{session}/works/mine").json() == {"stopped": True}
            answer = asked.result(WHILE)
        assert answer.status_code == 499
        assert answer.json()["error"] == "Stopped."
        assert page.client.get(session).json() == before  # and the session answers at once
    finally:
        free.set()
    until(lambda: page.client.get(f"{session}/pulse").json()["works"] == {})
    assert page.client.delete(f"{session}/works/mine").json() == {"stopped": False}


def test_the_trees_tell_how_far_they_are(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Growing trees has a bar, and is stopped between two trees."""
    from kpareto.releases.risk import tree_error

    grown, slow = [], threading.Event()
    quick = tree_error._wrong

    def count(*args: Any) -> float:
        grown.append(1)
        if len(grown) == 5:
            slow.wait(WHILE)
        return quick(*args)

    monkeypatch.setattr(tree_error, "_wrong", count)
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(page.client.post, f"{session}/points/0/tree", json={}, headers={"x-work": "trees"})
        until(lambda: len(grown) == 5)
        trees = page.client.get(f"{session}/pulse").json()["works"]["trees"]
        assert (trees["done"], trees["total"], trees["share"]) == (4, 2 * 5 * 8, 4 / (2 * 5 * 8))
        page.client.delete(f"{session}/works/trees")
        slow.set()
        assert asked.result(WHILE).status_code == 499
    until(lambda: page.client.get(f"{session}/pulse").json()["works"] == {})
    assert len(grown) <= 6  # one more of the rows as they were, at the most


def test_use_is_told_once_per_point_and_stopped_between_two_counts(
    page: Page, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentences are those of utility, a second question measures nothing, and a stopped one ends."""
    asked: list[Point] = []

    def note(point: Point, use: Mapping[str, Any], piece: Work) -> dict[str, Any]:
        asked.append(point)
        return use_view(point, use, piece)

    monkeypatch.setattr("kpareto.faces.web.explore.use_view", note)
    answer = page.client.post(f"{session}/points/0/use", json={}).json()
    assert page.client.post(f"{session}/points/0/use", json={}).json() == answer
    (point,) = asked
    assert answer["sentences"] == utility(point).sentences()
    assert [table["head"][-1] for table in answer["tables"]] == ["90th percentile", "column totals alone"]
    assert len(answer["relations"]["names"]) == len(answer["relations"]["shares"])
    piece = Work()
    piece.stop()
    with pytest.raises(Stopped):
        use_view(point, {}, piece)


def test_attacks_are_tried_once_per_point_and_stopped_between_two_people(
    page: Page, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentences are those of attack, in the order of the three words; a stopped one ends, and tells how far."""
    asked: list[Point] = []

    def note(point: Point, piece: Work) -> dict[str, Any]:
        asked.append(point)
        return attack_view(point, piece)

    monkeypatch.setattr("kpareto.faces.web.explore.attack_view", note)
    answer = page.client.post(f"{session}/points/0/attack", json={}).json()
    assert page.client.post(f"{session}/points/0/attack", json={}).json() == answer
    (point,) = asked
    evidence = attack(point)
    assert answer["sentences"] == evidence.sentences()
    assert [table["caption"].split(":")[0] for table in answer["tables"]] == [
        "Singling out",
        "Linkability",
        "Inference",
    ]
    assert {table["head"][-1] for table in answer["tables"]} == {"raw table"}
    assert answer["remarks"][1:] == list(evidence.remarks)
    piece = Work()
    attack_view(point, piece)
    assert piece.total == 1 + len(point.table.targets)
    piece.stopped.set()
    with pytest.raises(Stopped):
        attack_view(point, piece)
    with hearing(Hearing(stopped=piece.stopped)), pytest.raises(Stopped):
        attack(point)


STEPS = [
    ("/release", {"point": 0}, "release_job", release.RELEASING, 0),
    ("/release", {"point": 0}, "gather", release.RELEASING, 2),
    ("/release", {"point": 0}, "report_from", release.RELEASING, 3),
    ("/points/0/report", {}, "gather", release.REPORTING, 0),
    ("/points/0/report", {}, "report_from", release.REPORTING, 1),
    ("/points/0/report", {}, "html", release.REPORTING, 2),
    ("/points/0/check", {}, "check_release", release.TRYING, 0),
]


@pytest.mark.parametrize(("path", "question", "what", "words", "step"), STEPS)
def test_steps_are_counted(
    page: Page,
    session: str,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    question: dict[str, Any],
    what: str,
    words: tuple[str, ...],
    step: int,
) -> None:
    """Release, report and trial say which of their steps they are at, and the share is that of the steps done."""
    begun, free, quick = threading.Event(), threading.Event(), getattr(release, what)

    def late(*args: Any, **named: Any) -> Any:
        begun.set()
        free.wait(WHILE)
        return quick(*args, **named)

    monkeypatch.setattr(release, what, late)
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(page.client.post, f"{session}{path}", json=question, headers={"x-work": "out"})
        assert begun.wait(WHILE)
        told = page.client.get(f"{session}/pulse").json()["works"]["out"]
        free.set()
        assert asked.result(WHILE).status_code == 200
    assert (told["words"], told["step"], told["steps"]) == (words[step], step + 1, len(words))
    assert told["share"] == step / len(words)


def test_rows_that_are_written_count_within_their_step() -> None:
    """Half of the rows are half of the first step; all of them begin the next one, and Stop is heard in between."""
    work = Work()
    assert work.view()["share"] is None  # nothing can be counted, and no number is made up
    tell = release._telling(work, release.RELEASING)
    tell(50, 100)
    assert work.view()["share"] == 0.5 / len(release.RELEASING)
    tell(100, 100)
    assert (work.step, work.view()["share"]) == (1, 1 / len(release.RELEASING))
    work.stop()
    with pytest.raises(Stopped):
        tell(50, 100)


def test_a_stopped_release_leaves_the_one_before(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the last release stay as they are when the next one is stopped, even if it is written to the end."""
    first = page.client.post(f"{session}/release", json={"point": 0, "target": "one.csv"}).json()
    begun, free, quick = threading.Event(), threading.Event(), release.release_point

    def late(*args: Any) -> dict[str, Any]:
        begun.set()
        free.wait(WHILE)
        return quick(*args)

    monkeypatch.setattr(release, "release_point", late)
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(
            page.client.post, f"{session}/release", json={"point": 0, "target": "two.csv"}, headers={"x-work": "out"}
        )
        assert begun.wait(WHILE)
        page.client.delete(f"{session}/works/out")
        assert asked.result(WHILE).status_code == 499
    free.set()
    until(lambda: page.client.get(f"{session}/pulse").json()["works"] == {})
    assert page.client.get(f"{session}/files/one.csv").status_code == 200
    assert page.client.get(f"{session}/files/two.csv").status_code == 400
    assert page.client.get(session).json()["released"] == first


# -- inside a search -----------------------------------------------------------------------------------------------


def test_a_step_that_does_not_end_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop is answered although a step hangs; what the step has found is there when it ends, and then it goes on."""
    free, begun, quick = threading.Event(), threading.Event(), Problem.read

    def hang(self: Problem, *args: Any) -> Numbers:
        begun.set()
        free.wait(WHILE)
        return quick(self, *args)

    monkeypatch.setattr(Problem, "read", hang)
    search = Searching(load_job("adult"), tmp_path / "checkpoint.npz")
    search.start()
    assert begun.wait(WHILE)
    search.cancel()
    until(lambda: not search.running)
    assert search.phase == "stopped"
    assert "ends in the background" in search.sentence
    free.set()
    search.wait(WHILE)
    assert search.phase == "stopped"
    assert "It can go on" in search.sentence
    search.start()
    search.wait(WHILE)
    assert search.phase == "done"


@pytest.mark.parametrize("method", ["nsga2", "genitor"])
def test_what_an_earlier_stretch_found_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Stopped again before anything new was counted, a search shows and says what it had; before all, that it has none."""
    job = load_job("adult", (f"search.method={method}", "search.space=cuts", "search.budget=1000000"))
    search = Searching(job, tmp_path / "checkpoint.npz")
    quick = Searching._report

    def stop_at_once(self: Searching, done: int, total: int) -> None:
        quick(self, done, total)
        if self._first is not None:  # the search itself has told something, and not only that it is at work
            self.cancel()

    with monkeypatch.context() as patched:
        patched.setattr(Searching, "_report", stop_at_once)
        search.start()
        search.wait(WHILE)
    first, points = search.done, search.status()["points"]
    assert (search.phase, points > 0, first > 0) == ("stopped", True, True)
    sentence = f"Stopped after {first:,} recodings with {points:,} points. It can go on."
    assert search.sentence == sentence
    for looks in ("_search", "_see"):  # before the search proper, and while it takes up what it knows
        with monkeypatch.context() as patched:
            plain = getattr(Searching, looks)

            def stop_first(self: Searching, *args: Any, plain: Any = plain) -> None:
                self.cancel()
                plain(self, *args)

            patched.setattr(Searching, looks, stop_first)
            search.start()
            search.wait(WHILE)
        assert (search.phase, search.done, search.sentence) == ("stopped", first, sentence)
        assert search.status()["points"] == points
    fresh = Searching(load_job("adult"), tmp_path / "other.npz")

    def plan_and_stop(job: Job) -> Plan:
        fresh.cancel()
        return plan_of(job)

    monkeypatch.setattr("kpareto.faces.web.search.plan_of", plan_and_stop)
    fresh.start()
    fresh.wait(WHILE)
    assert fresh.sentence == "Stopped before anything was counted. It can begin again."


def test_a_search_is_over_when_its_run_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done and no longer running while its run is being written, and is told to be over only after that."""
    writing, free, kept = threading.Event(), threading.Event(), threading.Event()

    def keep() -> None:
        writing.set()
        free.wait(WHILE)
        kept.set()

    monkeypatch.setattr(Searching, "_search", lambda self: self._end("done", ""))
    search = Searching(load_job("adult"), tmp_path / "x.npz", keep=keep)
    assert search.over
    search.start()
    assert writing.wait(WHILE)
    assert (search.phase, search.running, search.over) == ("done", False, False)
    before = search.version
    free.set()
    search.wait()
    assert kept.is_set()
    assert search.over
    assert search.version > before  # whoever watches hears of the end, and of a run that could not be kept


def test_events_end_when_the_run_is_kept(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who watches a search is not told its end before the list of runs has it as done."""
    free, begun = threading.Event(), threading.Event()
    quick = KeptRuns.keep

    def late(self: KeptRuns, run: RunRecord, edits: Path, job: Job, front: Front | None) -> None:
        if run.phase == "done":
            begun.set()
            free.wait(WHILE)
        quick(self, run, edits, job, front)

    monkeypatch.setattr(KeptRuns, "keep", late)
    page.client.post(f"{session}/open", json={"name": "people.csv"})
    run = page.client.post(f"{session}/search", json={}).json()["run"]
    with page.client.stream("GET", f"{session}/events") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if '"phase": "done"' in line)
        assert begun.wait(WHILE)
        assert KeptRuns(page.folder).get(run).phase == "running"
        free.set()
        assert [line for line in lines if '"phase": "done"' in line]  # once more, and then the end
    assert KeptRuns(page.folder).get(run).phase == "done"


def test_compiling_is_a_phase_of_its_own(tmp_path: Path) -> None:
    """While numba compiles, the page is told so, and no second of it counts in a forecast."""
    search = Searching(load_job("adult"), tmp_path / "checkpoint.npz")
    seen: list[str] = []

    def look() -> int:
        seen.append(search.shown_phase)
        return 7

    until(lambda: not COMPILATIONS.under_way)  # a step that an earlier test left behind may still be at it
    before = COMPILATIONS.seconds
    search.phase, search._thread = "searching", threading.current_thread()
    assert search.shown_phase == "searching"

    constant = 3
    loop: Any = njit(lambda number: number + constant)
    watching = threading.Event()

    def watch() -> None:
        while not watching.is_set():
            if COMPILATIONS.under_way:
                look()

    observer = threading.Thread(target=watch)
    observer.start()
    assert loop(4) == 7
    watching.set()
    observer.join()
    assert not COMPILATIONS.under_way
    assert COMPILATIONS.seconds > before
    assert "preparing" in seen
    assert search.shown_phase == "searching"


def test_what_python_counts_is_said_while_it_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has the sentence before the search begins, and no longer when it is done; nothing told is no step."""
    search = Searching(load_job("adult"), tmp_path / "checkpoint.npz")
    seen: list[str] = []

    def find(_job: object, _problem: object, report: Any, *_more: object) -> None:
        seen.append(search.status()["sentence"])
        version = search.version
        report(0, 0)  # that it is at work
        assert search.version > version
        assert search._first is None

    monkeypatch.setattr(searches, "say_slow", lambda *_: "Each recoding is counted in Python.")
    monkeypatch.setattr(searches, "search_job", find)
    search._search()
    assert seen == ["Each recoding is counted in Python."]
    assert search.status()["sentence"] == ""


def test_the_forecast_leaves_out_start_and_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that took a minute to begin and ten seconds to compile is forecast by what it does since."""
    clock = [100.0]
    compiled = type("Compiled", (), {"seconds": 5.0, "under_way": False})()
    monkeypatch.setattr(searches, "COMPILATIONS", compiled)
    monkeypatch.setattr("kpareto.faces.web.search.time.monotonic", lambda: clock[0])
    search = Searching(load_job("adult"), tmp_path / "checkpoint.npz")
    search.phase, search.began, search._thread = "searching", 40.0, threading.current_thread()
    assert search.status()["remaining"] is None
    search._report(10, 1000)
    assert search.status()["remaining"] is None  # one report is no rate
    clock[0], compiled.seconds = 130.0, 15.0
    search._report(210, 1000)
    assert search.status()["rate"] == pytest.approx(200 / 20)
    assert search.status()["remaining"] == pytest.approx(790 / 10)


def test_looking_for_good_nodes_is_seen_and_stopped() -> None:
    """Before the first recoding counts, what is met is shown; stopped, it ends with what it has, coarse nodes first."""
    job = problem(adult_table(), ["k", "glm"], 0.01)
    lattice = Lattice(job.table.hierarchies)
    met: list[Numbers] = []
    person = Hearing(met.append)

    def stop_soon(numbers: Numbers) -> None:
        met.append(numbers)
        person.stop()

    with hearing(person):
        whole = reach_good_nodes(job, lattice)
    assert sum(len(np.unique(numbers.which)) for numbers in met) >= len(np.unique(whole.which)) // 2
    plain = reach_good_nodes(job, lattice)
    assert (np.sort(whole.which) == np.sort(plain.which)).all()
    met.clear()
    person = Hearing(stop_soon)
    with hearing(person):
        part = reach_good_nodes(job, lattice)
    assert 0 < len(part.which) < len(whole.which)
    assert lattice.size - 1 in part.which


@pytest.mark.parametrize("method", ["exact", "nsga2", "flip", "pbg-ea"])
def test_a_search_is_stopped_inside_a_step(tmp_path: Path, method: str) -> None:
    """No report is needed: a search that is stopped hands over what it knows, or says that it knows nothing yet."""
    job = problem(adult_table(), ["k", "glm"], 0.01)
    person = Hearing()
    person.stop()
    space: Kind = "lattice" if method in ("exact", "pbg-ea") else "cuts"
    with hearing(person), pytest.raises((Stopped, Interrupted)):
        run_plan(job, Plan(method, space), checkpoint=tmp_path / "c.npz")


def test_counting_in_pieces_gives_the_same_numbers() -> None:
    """Whether somebody waits changes nothing about what is counted."""
    for rule in ("as-needed", "cap-max-k"):
        from kpareto.tables.partition import Suppression

        job = problem(adult_table(), ["k", "glm"], Suppression(rule, 0.01))
        lattice = Lattice(job.table.hierarchies)
        levels = lattice.levels(np.arange(0, lattice.size, 37))
        plain = job.evaluate(lattice, levels)
        with hearing(Hearing()):
            heard = job.evaluate(lattice, levels)
            empty = job.evaluate(lattice, levels[:0])
        assert len(empty.which) == 0
        for name in ("which", "thresholds", "values", "keys", "feasible", "suppressed"):
            assert (getattr(plain, name) == getattr(heard, name)).all()


def test_an_exact_search_of_nodes_one_by_one_looks_around_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where counting would take long before anything good is met, points come first; the front is the same."""
    job = problem(adult_table(), ["k", "glm"], 0.01)
    monkeypatch.setattr(exact, "LONG", 0)
    monkeypatch.setattr(exact, "find_way", lambda _: exact.Way("whole", ()))
    monkeypatch.setattr(Problem, "is_walked", property(lambda _: False))
    plain = run_plan(job)
    shown: list[Numbers] = []
    reports: list[int] = []
    with hearing(Hearing(shown.append)):
        heard = run_plan(job, report=lambda done, _: reports.append(done))
    assert shown
    assert reports[0] == 0
    assert heard.provenance.complete
    assert (heard.numbers.values == plain.numbers.values).all()


def test_nobody_waits_unless_a_block_says_so() -> None:
    """Outside a block nothing is asked, and a halt is only one's own; inside, a stop reaches halts made after it."""
    pause()
    alone = halted_too(np.zeros(1, dtype=np.int64))
    person = Hearing()
    with hearing(person):
        halt = halted_too(np.zeros(1, dtype=np.int64))
        pause()
        person.stop()
        assert halt[0] == 1
        assert halted_too(np.zeros(1, dtype=np.int64))[0] == 1
        with pytest.raises(Stopped):
            pause()
    pause()
    assert alone[0] == 0


# -- other models --------------------------------------------------------------------------------------------------


def test_a_comparison_stops_though_a_step_goes_on(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that hears nobody, as compiling does, is left behind within a second; what it brings is not taken."""
    ending = threading.Event()

    def hear_nobody(*_: Any) -> None:
        ending.wait(WHILE)

    monkeypatch.setattr(searches, "compare_models", hear_nobody)
    assert page.client.post(f"{session}/models", json={"seconds": 600}).json()["run"]["phase"] == "running"
    page.client.delete(f"{session}/models")
    until(lambda: page.client.get(f"{session}/models").json()["run"]["phase"] == "stopped")
    assert not ending.is_set()
    ending.set()
    run = page.client.get(f"{session}/models").json()["run"]
    assert (run["curves"], run["sentence"]) == (None, searches.STOPPED)


def test_compiling_takes_no_time_from_the_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of a comparison stands still while loops are compiled, and the time of each k counts what works."""

    class Compiled:
        """An hour of compiling, all at once."""

        seconds = 0.0

    monkeypatch.setattr(compiling, "COMPILATIONS", Compiled)
    clock = models._Clock(60.0, None, 0, 1)
    assert not clock.late
    Compiled.seconds = -3600.0  # as if an hour of work had passed
    assert clock.late
    Compiled.seconds = 3600.0
    assert not clock.late


def test_the_end_tells_trade_offs_as_the_way_there_did(page: Page, session: str) -> None:
    """Recodings with the same numbers are points of their own, and one trade-off, while it runs and at its end."""
    status = page.client.get(session).json()["search"]
    front = page.client.get(f"{session}/front").json()
    assert status["points"] == len(front["values"])
    assert status["different"] == len({tuple(row) for row in front["values"]})


# -- a time to end at ----------------------------------------------------------------------------------------------


def test_a_search_whose_time_was_up_goes_on_to_the_end(page: Page) -> None:
    """It says that it is not complete; going on takes the time out of the job and ends with the whole front, as one run."""
    path = page.new_session()
    draft = page.client.post(f"{path}/open", json={"name": "adult"}).json()["draft"]
    draft["search"]["seconds"] = 0.01
    assert page.client.put(f"{path}/job", json=draft).status_code == 200
    page.client.post(f"{path}/search", json={})
    page.client.get(f"{path}/events")
    short = page.client.get(path).json()
    assert (short["search"]["phase"], short["search"]["complete"], short["search"]["ran_out"]) == ("done", False, True)
    again = page.client.post(f"{path}/search", json={"resume": True}).json()
    assert "seconds" not in again["draft"]["search"]
    page.client.get(f"{path}/events")
    whole = page.client.get(path).json()
    assert (whole["search"]["complete"], whole["search"]["ran_out"], whole["stale"]) == (True, False, False)
    assert whole["run"]["id"] == short["run"]["id"]
    plain = page.new_session()
    page.client.post(f"{plain}/open", json={"name": "adult"})
    page.client.post(f"{plain}/search", json={})
    page.client.get(f"{plain}/events")
    fronts = [page.client.get(f"{session}/front").json()["values"] for session in (path, plain)]
    assert fronts[0] == fronts[1]


def test_a_changed_job_does_not_go_on(page: Page) -> None:
    """What was counted for another job is not gone on with: a sentence says to start anew."""
    path = page.new_session()
    draft = page.client.post(f"{path}/open", json={"name": "adult"}).json()["draft"]
    draft["search"]["seconds"] = 0.01
    draft = page.client.put(f"{path}/job", json=draft).json()["draft"]
    page.client.post(f"{path}/search", json={})
    page.client.get(f"{path}/events")
    draft["limits"] = {"k": 7}
    assert page.client.put(f"{path}/job", json=draft).status_code == 200
    answer = page.client.post(f"{path}/search", json={"resume": True})
    assert answer.status_code == 400
    assert "Start the search anew" in answer.json()["error"]


@pytest.mark.parametrize(("seconds", "time"), [(200.0, None), (1e6, 60)])
def test_the_page_proposes_a_time_only_for_hours(
    page: Page, session: str, monkeypatch: pytest.MonkeyPatch, seconds: float, time: int | None
) -> None:
    """Minutes are watched to the end, and the front is complete; what would take hours ends after a minute."""
    monkeypatch.setattr(SearchTask, "seconds", property(lambda _: seconds))
    draft = page.client.post(f"{session}/open", json={"name": "people.csv"}).json()["draft"]
    assert draft["search"].get("seconds") == time


def test_a_trial_belongs_to_its_front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that goes on has other points by the same numbers: what one's release would be is not told of another."""
    search = Searching(load_job("adult"), tmp_path / "checkpoint.npz")
    session: Any = SimpleNamespace(front=lambda: search.front, searched=lambda: search)
    tried: list[Point] = []

    def try_out(_: object, point: Point, __: object) -> Any:
        tried.append(point)
        return SimpleNamespace(suppressed=0, limits=(), met=True, warnings=())

    monkeypatch.setattr(release, "check_release", try_out)
    whole = run_plan(problem(adult_table(), ["k", "glm"], 0.01))
    for front in (whole, whole.take([1, 0])):
        search.front = front
        for _ in range(2):
            answer = routes.check(session, {"point": "0"}, Work())
            assert answer["point"]["values"] == front[0].values
        assert tried[-1].front is front
    assert len(tried) == 2
