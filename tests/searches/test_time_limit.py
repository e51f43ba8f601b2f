"""Searches with a time: they end, say so, keep what is proven, and go on where they are resumed."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from kpareto.errors import BadJob, Stopped
from kpareto.fronts.count_lattice import Walker, WalkTask
from kpareto.fronts.problem import problem
from kpareto.interrupts import TimeLimit
from kpareto.searches.checkpoint import Cancelled
from kpareto.searches.forecast import forecast_seconds, spell_seconds
from kpareto.searches.names import METHODS
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table


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
