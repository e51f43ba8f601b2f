"""One loss and a given k over flexible cuts, with a proven bound beside what was found."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kpareto as kp
from kpareto.errors import BadInput, Interrupted, Stopped, Unsafe
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.kernels.cuts import genitor
from kpareto.searches import compiled, driver
from kpareto.searches.compiled import can_compile
from kpareto.searches.cuts import recut
from kpareto.searches.cuts.genitor import Result
from kpareto.searches.driver import Cancelled
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import Cuts, make_cuts
from kpareto.tables.partition import Suppression
from kpareto.tables.table import sample_rows
from tests.twins.strategies import Case, cases


def _every_genome(space: Cuts) -> np.ndarray:
    count = 2 ** len(space.genes)
    strings = np.array(list(itertools.product((0, 1), repeat=len(space.genes))), dtype=np.int64).reshape(count, -1)
    return strings[space.valid(strings)]


@settings(max_examples=25)
@given(case=cases(persons=False, most_columns=2, most_leaves=4), data=st.data())
def test_proven_is_least_and_bounds_hold(case: Case, data: st.DataObject) -> None:
    """Against all recodings of small spaces: a proven answer is the least, a bound never above it."""
    space = make_cuts(case.table.hierarchies)
    k = data.draw(st.integers(1, 3))
    limits = {"k": k}
    rules = [
        (Suppression("below-k", k=k), {}),
        (Suppression("none"), limits),
        (constrained(limits, 2), limits),
    ]
    rule, given_limits = rules[data.draw(st.integers(0, 2))]
    made = problem(case.table, ["lm"], rule, given_limits)
    if not can_compile("improve", made, space):
        return
    method: str = data.draw(st.sampled_from(["improve", "genitor"]))
    numbers = made.evaluate(space, _every_genome(space), threads=1)
    if not numbers.feasible.any():
        return
    least = float(numbers.values[numbers.feasible, 0].min())
    front = run_plan(made, Plan(method, space, 300, 3, {"population": 8} if method == "genitor" else {}))
    assert len(front) == 1
    assert front[0].values["lm"] >= least - 1e-12
    assert front.provenance.details["lower_bound"] <= least + 1e-12
    if front.provenance.complete:
        assert front[0].values["lm"] == pytest.approx(least, abs=1e-12)


def test_costs_of_errors_are_compiled_from_a_job() -> None:
    """GENITOR minimizes cost-cm with a matrix in its loops, to the number of the measure; recutting does not know it."""
    table = sample_rows(adult_table("iyengar_157"), 2_000, 1)
    asked = problem(table, ["cost-cm(costs=>50K/<=50K*5)"], Suppression("below-k", k=25))
    space = make_cuts(table.hierarchies)
    assert can_compile("genitor", asked, space)
    assert not can_compile("improve", asked, space)
    front = run_plan(asked, Plan("genitor", "cuts", 400, options={"population": 50}))
    name = asked.objectives[0].name
    assert front[0].values[name] == pytest.approx(asked.objectives[0](front[0].partition), rel=1e-9)
    assert front.provenance.details["trace"][-1][1] == pytest.approx(front[0].values[name], rel=1e-9)


def test_the_gap_on_adult_is_told() -> None:
    """Iyengar's 157 bits at k = 250: not proven, but a bound above zero and the gap in the note and the JSON."""
    table = adult_table("iyengar_157")
    made = problem(table, ["lm"], Suppression("below-k", k=250))
    front = run_plan(made, Plan("improve", "cuts", seed=1))
    assert front[0].values["lm"] <= 0.4430
    assert not front.provenance.complete
    details = json.loads(json.dumps(front.to_dict()))["search"]["details"]
    assert 0.1 < details["lower_bound"] < front[0].values["lm"]
    assert "the gap is" in front.provenance.note


def test_what_the_compiled_searches_do_not_know() -> None:
    """Two objectives, other limits or the lattice go the general way."""
    table = adult_table("lunacek_92")
    space = make_cuts(table.hierarchies)
    assert not can_compile("improve", problem(table, ["k", "lm"]), space)
    assert not can_compile("nsga2", problem(table, ["lm"], Suppression("below-k", k=5)), space)
    limits = {"k": 5}
    assert can_compile("genitor", problem(table, ["lm"], constrained(limits, 0.01), limits), space)


# -- stopped and resumed -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> Problem:
    """LM at k = 25 on some rows of Adult in the 157-bit scheme."""
    return problem(sample_rows(adult_table("iyengar_157"), 500, 1), ["lm"], Suppression("below-k", k=25))


def lasting(front: Front) -> dict[str, object]:
    """Everything in a front but the time it took, as it is written to files."""
    told: dict[str, object] = json.loads(json.dumps(front.to_dict()))
    search = told["search"]
    assert isinstance(search, dict)
    del search["seconds"]
    return told


def plan(method: str, budget: int = 6_000, seed: int = 3, population: int = 40) -> Plan:
    """A plan for one of the compiled searches."""
    return Plan(method, "cuts", budget, seed, {"population": population} if method == "genitor" else {})


def search(method: str, made: Problem, **more: Any) -> Front:
    """One of the compiled searches, short enough for tests."""
    return run_plan(made, plan(method), **more)


def stop_at(limit: int) -> Callable[[int, int], None]:
    """A report that stops the search after so many evaluations."""

    def stop(done: int, _: int) -> None:
        if done >= limit:
            raise Stopped

    return stop


def keep_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known is kept and written at every step, so that no test has to wait for it."""
    for name in ("TAKEN", "SAVED", "SHARE"):
        monkeypatch.setattr(driver, name, 0)


@pytest.fixture(scope="module", params=["genitor", "recut"])
def whole(request: pytest.FixtureRequest, made: Problem) -> Front:
    """A search that was left alone."""
    return search(request.param, made)


def test_stopped_and_resumed_is_uninterrupted(whole: Front, made: Problem, tmp_path: Path) -> None:
    """Stopped four times, from its first step to its last, a search ends with the bits of one that was left alone."""
    method, kept = whole.provenance.method, tmp_path / "kept.npz"
    end = whole.provenance.evaluated
    for limit in (1, end // 3, end // 2, end):
        with pytest.raises(Cancelled, match="Go on with --resume") as caught:
            search(method, made, report=stop_at(limit), checkpoint=kept)
        known = caught.value.front
        assert limit <= known.provenance.evaluated <= end
        assert known.provenance.stopped
        assert not known.provenance.complete
        assert known[0].values["lm"] >= whole[0].values["lm"]
    resumed = search(method, made, checkpoint=kept)
    assert lasting(resumed) == lasting(whole)
    assert resumed.genomes.tobytes() == whole.genomes.tobytes()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", [1, 4, 9])
def test_ctrl_c_in_the_middle_of_a_step(
    whole: Front, made: Problem, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a step done when Ctrl-C comes: it is done again, from where the search stood before it."""
    method, kept = whole.provenance.method, tmp_path / "kept.npz"
    room, name = (genitor, "genitor_steps") if method == "genitor" else (recut, "recut")
    real, calls = getattr(room, name), itertools.count(1)

    def interrupted(*given: Any) -> Any:
        answer = real(*given)
        if next(calls) == (step if method == "genitor" else 20 * step):
            raise KeyboardInterrupt
        return answer

    keep_every_step(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(room, name, interrupted)
        with pytest.raises(Cancelled) as caught:
            search(method, made, checkpoint=kept)
    assert caught.value.front.provenance.evaluated < whole.provenance.evaluated
    assert lasting(search(method, made, checkpoint=kept)) == lasting(whole)


def test_ctrl_c_while_the_bound_is_worked_out(
    whole: Front, made: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search is done and not done again; what it found is told without a bound."""
    method, kept = whole.provenance.method, tmp_path / "kept.npz"

    def never(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "lower_bound", never)
        with pytest.raises(Cancelled) as caught:
            search(method, made, checkpoint=kept)
        alone = search(method, made)
    assert alone.provenance.stopped
    for known in (caught.value.front, alone):
        assert known.genomes.tobytes() == whole.genomes.tobytes()
        assert known.provenance.note == "stopped by the user"
    steps: list[int] = []
    resumed = search(method, made, report=lambda done, _: steps.append(done), checkpoint=kept)
    assert steps == []
    assert lasting(resumed) == lasting(whole)


def test_ctrl_c_before_anything_was_counted(
    whole: Front, made: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to go on from, and a checkpoint of before stays as it is."""
    method, kept = whole.provenance.method, tmp_path / "kept.npz"
    loop = "genitor" if method == "genitor" else "recut_columns"

    def never(*_: object, **__: object) -> Result:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compiled, loop, never)
        with pytest.raises(Interrupted, match="before anything was counted"):
            search(method, made, checkpoint=kept)
        assert len(search(method, made)) == 0
        assert not kept.exists()
    with pytest.raises(Cancelled):
        search(method, made, report=stop_at(1), checkpoint=kept)
    before = kept.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(compiled, loop, never)
        with pytest.raises(Cancelled):
            search(method, made, checkpoint=kept)
    assert kept.read_bytes() == before


def test_a_checkpoint_belongs_to_one_search(made: Problem, tmp_path: Path) -> None:
    """Another method, seed, budget, setting or table is refused, in a sentence; the checkpoint stays."""
    kept = tmp_path / "kept.npz"
    with pytest.raises(Cancelled):
        run_plan(made, plan("genitor", 5_000), stop_at(1), kept)
    fewer = problem(sample_rows(made.table, 300, 1), ["lm"], Suppression("below-k", k=25))
    others: list[tuple[str, Problem, int, int, int]] = [
        ("improve", made, 5_000, 3, 40),
        ("genitor", fewer, 5_000, 3, 40),
        ("genitor", made, 6_000, 3, 40),
        ("genitor", made, 5_000, 4, 40),
        ("genitor", made, 5_000, 3, 41),
    ]
    for method, given_problem, budget, seed, population in others:
        with pytest.raises(BadInput, match="belongs to another job"):
            run_plan(given_problem, plan(method, budget, seed, population), checkpoint=kept)
    assert kept.exists()
    assert len(run_plan(made, plan("genitor", 5_000), checkpoint=kept)) == 1
    assert not kept.exists()


def test_checkpoints_are_written_on_the_way(
    whole: Front, made: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every few seconds (here at every step), whole each time; a folder that is not there changes nothing."""
    keep_every_step(monkeypatch)
    method, kept = whole.provenance.method, tmp_path / "kept.npz"
    seen: list[bytes] = []
    found = search(method, made, report=lambda *_: seen.append(kept.read_bytes()), checkpoint=kept)
    assert len(set(seen)) == len(seen) > 5
    assert lasting(found) == lasting(whole)
    assert list(tmp_path.iterdir()) == []
    for middle in (seen[len(seen) // 2], seen[-1]):
        kept.write_bytes(middle)
        assert lasting(search(method, made, checkpoint=kept)) == lasting(whole)
    assert lasting(search(method, made, checkpoint=tmp_path / "nowhere" / "kept.npz")) == lasting(whole)


def test_a_search_that_finds_nothing_is_done_too(
    made: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows per class than there are, and none may go: unsafe, and no checkpoint stays behind."""
    keep_every_step(monkeypatch)
    limits = {"k": made.table.rows + 1.0}
    hopeless = problem(made.table, ["lm"], constrained(limits, 0.0), limits)
    kept = tmp_path / "kept.npz"
    with pytest.raises(Cancelled) as caught:
        search("genitor", hopeless, report=stop_at(1), checkpoint=kept)
    assert len(caught.value.front) == 0
    with pytest.raises(Unsafe):
        search("genitor", hopeless, checkpoint=kept)
    assert not kept.exists()


@pytest.mark.parametrize("method", ["genitor", "improve"])
def test_the_best_is_never_the_empty_release(method: str) -> None:
    """R14: where nothing can be told, all rows in one group cost as much as no row at all, and are a release."""
    table = kp.read(pd.DataFrame({"q": list("abcdef")}), kp.Schema(quasi=("q",)))
    asked = problem(table, ["lm"], Suppression("below-k", 0, 5))
    for seed in range(4):
        options = {"population": 4} if method == "genitor" else {}
        front = run_plan(asked, Plan(method, "cuts", 200, seed, options))
        assert front.provenance.complete
        assert [(p.values["lm"], p.partition.suppressed_rows) for p in front] == [(1.0, 0)]
    with pytest.raises(Unsafe, match="No recoding"):
        run_plan(problem(table, ["lm"], Suppression("below-k", 0, 7)), Plan(method, "cuts", 200, 1, options))


@pytest.mark.parametrize("method", ["genitor", "improve"])
def test_a_weight_does_not_disturb_the_proof(method: str) -> None:
    """R15: a column that counts twice is left out of the bound together with its weight."""
    ages, letters = ["20", "21", "25"], "xyz"
    rows = {"a": [ages[i * 7 % 3] for i in range(40)], "b": [letters[i * i % 3] for i in range(40)]}
    table = kp.read(pd.DataFrame(rows), kp.Schema(quasi=("a", "b"), weights={"a": 2.0}))
    front = run_plan(problem(table, ["lm"], Suppression("below-k", 0, 3)), Plan(method, "cuts", 400, 1, {}))
    assert len(front) == 1
    assert front.provenance.complete
