"""Driving searches: budget, memo, checkpoints, and the same end whether interrupted or not."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kpareto as kp
from kpareto.errors import BadInput, Interrupted, Stopped
from kpareto.fronts.dominance import Ties, non_dominated
from kpareto.fronts.front import Front, load_front
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.interrupts import pause
from kpareto.searches import Moves, Search, driver
from kpareto.searches import proposals as memo_room
from kpareto.searches.cuts.genitor import Genitor, Settings
from kpareto.searches.cuts.nsga2 import Nsga2, Preference
from kpareto.searches.driver import Cancelled, job_print
from kpareto.searches.lattice.boxes import grid_for
from kpareto.searches.lattice.pbg_ea import PbgEa
from kpareto.searches.names import METHODS, OPTIONS
from kpareto.searches.proposals import Memo
from kpareto.searches.run import Plan, run, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.lattice import Lattice, Space
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table

SHORT = {"budget": 60, "population": 4, "generations": 3, "iterations": 3, "depth": 1, "threads": 1}


class Wander:
    """A search for tests: random neighbours of the last node that was good."""

    name = "wander"

    def __init__(self, steps: int = 60) -> None:
        self.steps = steps

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:
        """A walk that depends on the answers it gets."""
        here = space.genes - 1
        best = None
        for _ in range(self.steps):
            tries = np.clip(here + rng.integers(-1, 2, size=(7, len(here))), 0, space.genes - 1)
            numbers = yield tries
            score = numbers.keys[:, 1]
            if best is None or score.min() < best:
                best, here = score.min(), tries[int(score.argmin())]


@pytest.fixture(scope="module")
def made() -> Problem:
    """The problem of k and GLM on Adult."""
    return problem(adult_table("default"), ["k", "glm"], Suppression("cap-max-k", 0.01))


def test_a_search_is_driven_to_its_end(made: Problem) -> None:
    """Each genome is evaluated once, the front is made of what was seen, and equal seeds give equal bits."""
    space = Lattice(made.table.hierarchies)
    first = run(made, space, Wander(), seed=3)
    again = run(made, space, Wander(), seed=3)
    assert first.genomes.tobytes() == again.genomes.tobytes()
    assert first.provenance.evaluated == again.provenance.evaluated <= 60 * 7
    assert not first.provenance.complete
    assert first.provenance.seed == 3
    other = run(made, space, Wander(), seed=4)
    assert other.genomes.tobytes() != first.genomes.tobytes()


def test_the_budget_is_never_passed(made: Problem) -> None:
    """The search stops before the evaluations exceed the budget, and the front says so."""
    front = run(made, Lattice(made.table.hierarchies), Wander(), budget=50, seed=1)
    assert front.provenance.evaluated <= 50
    assert front.provenance.note == "the budget of 50 evaluations is spent"


def test_interrupted_and_resumed_equals_uninterrupted(made: Problem, tmp_path: Path) -> None:
    """A search stopped twice on the way ends with the same bits as one that was left alone."""
    space = Lattice(made.table.hierarchies)
    whole = run(made, space, Wander(), seed=5)
    kept = tmp_path / "w.checkpoint.npz"
    for stop_at in (40, 90):

        def stop(done: int, _: int, limit: int = stop_at) -> None:
            if done >= limit:
                raise Stopped

        with pytest.raises(Cancelled, match="Go on with --resume") as caught:
            run(made, space, Wander(), seed=5, report=stop, checkpoint=kept)
        assert len(caught.value.front) > 0
        assert kept.exists()
    resumed = run(made, space, Wander(), seed=5, checkpoint=kept)
    assert resumed.genomes.tobytes() == whole.genomes.tobytes()
    assert resumed.numbers.keys.tobytes() == whole.numbers.keys.tobytes()
    assert resumed.provenance.evaluated == whole.provenance.evaluated


def test_a_search_that_is_killed_leaves_a_checkpoint(
    made: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written every few seconds (here at every step); from any of them the end is the same, exact search or not."""
    for name in ("SAVED", "SHARE"):
        monkeypatch.setattr(driver, name, 0)
    space, kept = Lattice(made.table.hierarchies), tmp_path / "k.npz"
    searches: list[Callable[..., Front]] = [partial(run, made, space, Wander(), seed=5), partial(run_plan, made)]
    for search in searches:
        seen: list[bytes] = []

        def look(*_: int, seen: list[bytes] = seen) -> None:
            seen.append(kept.read_bytes())

        whole = search(report=look, checkpoint=kept)
        assert not kept.exists()
        assert len(set(seen)) > 2
        kept.write_bytes(seen[len(seen) // 2])
        resumed = search(checkpoint=kept)
        assert resumed.genomes.tobytes() == whole.genomes.tobytes()
        assert resumed.numbers.keys.tobytes() == whole.numbers.keys.tobytes()
        assert resumed.provenance.evaluated == whole.provenance.evaluated


def test_stopped_while_it_replays_nothing_is_lost(made: Problem, tmp_path: Path) -> None:
    """A resumed search that is stopped early leaves the checkpoint that knows more."""
    space, kept = Lattice(made.table.hierarchies), tmp_path / "k.npz"
    sizes = []
    for limit in (90, 1):

        def stop(done: int, _: int, limit: int = limit) -> None:
            if done >= limit:
                raise Stopped

        with pytest.raises(Cancelled):
            run(made, space, Wander(), seed=5, report=stop, checkpoint=kept)
        sizes.append(kept.stat().st_size)
    assert sizes[0] == sizes[1]


def test_exact_search_resumes_too(made: Problem, tmp_path: Path) -> None:
    """Stopped in the middle it keeps where it stands; the checkpoint is gone when all is done."""
    kept = tmp_path / "x.checkpoint.npz"
    calls = 0

    def stop(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Stopped

    with pytest.raises(Cancelled, match=r"Stopped after [\d,]+ recodings"):
        run_plan(made, report=stop, checkpoint=kept)
    assert kept.exists()
    resumed = run_plan(made, checkpoint=kept)
    assert not kept.exists()
    whole = run_plan(made)
    assert resumed.provenance.complete
    assert resumed.genomes.tobytes() == whole.genomes.tobytes()


def test_a_checkpoint_of_another_job_is_refused(made: Problem, tiny: Table, tmp_path: Path) -> None:
    """Other rows, another seed, or a broken file: a sentence, never a wrong answer."""
    kept = tmp_path / "c.npz"

    def stop(done: int, total: int) -> None:
        raise Stopped

    space = Lattice(made.table.hierarchies)
    with pytest.raises(Cancelled):
        run(made, space, Wander(), seed=1, report=stop, checkpoint=kept)
    with pytest.raises(BadInput, match="belongs to another job"):
        run(made, space, Wander(), seed=2, checkpoint=kept)
    with pytest.raises(BadInput, match="belongs to another job"):
        run_plan(problem(tiny, ["k", "lm"]), checkpoint=kept)
    half = kept.read_bytes()[: kept.stat().st_size // 2]
    lone = io.BytesIO()
    np.save(lone, np.zeros(3))
    for damaged in (b"nonsense", half, b"", lone.getvalue()):
        kept.write_bytes(damaged)
        with pytest.raises(BadInput, match="cannot be read"):
            run(made, space, Wander(), seed=1, checkpoint=kept)


def test_a_fingerprint_knows_all_that_decides_a_search() -> None:
    """Another space, other borders or other values of a target: another job."""
    table = adult_table("iyengar_157")
    made = problem(table, ["cm"], Suppression("below-k", k=5))
    (target,) = table.targets
    renamed = replace(target, values=tuple(f"{value}!" for value in target.values))
    other = problem(replace(table, targets=(renamed,)), ["cm"], Suppression("below-k", k=5))
    cuts = make_cuts(table.hierarchies)
    some = make_cuts(table.hierarchies, {"age": np.array([2, 12, 22, 32, 42, 52, 62, 70])})
    free = replace(cuts, free=(True,) * len(table.hierarchies))
    prints = [job_print(made, space, "x", 1) for space in (cuts, some, free)]
    prints += [job_print(other, cuts, "x", 1), job_print(made, cuts, "y", 1), job_print(made, cuts, "x", 2)]
    assert len(set(prints)) == len(prints)
    assert job_print(made, make_cuts(table.hierarchies), "x", 1) == prints[0]


def test_every_threshold_of_what_a_search_met_is_on_its_front(made: Problem) -> None:
    """Under as-needed a search walks as under cap-max-k, and no threshold of a node it met is left aside."""
    several = problem(made.table, ["k", "glm"], Suppression("as-needed", 0.01))
    space = Lattice(made.table.hierarchies)
    one, all_of_them = run(made, space, Wander(), seed=3), run(several, space, Wander(), seed=3)
    assert one.provenance.evaluated == all_of_them.provenance.evaluated
    assert len(all_of_them) > len(one)
    met = np.unique(np.concatenate([front.genomes for front in (one, all_of_them)]), axis=0)
    numbers = several.evaluate(space, met)
    for keys in numbers.keys[numbers.feasible]:
        assert (all_of_them.numbers.keys <= keys).all(axis=1).any()


def test_a_search_of_every_threshold_goes_on_from_its_checkpoint(made: Problem, tmp_path: Path) -> None:
    """Stopped and resumed it ends with the bits of a run that was never stopped."""
    several = problem(made.table, ["k", "glm"], Suppression("as-needed", 0.01))
    space = Lattice(made.table.hierarchies)

    def stop(done: int, _: int) -> None:
        if done > 60:
            raise Stopped

    with pytest.raises(Cancelled):
        run(several, space, Wander(), seed=3, report=stop, checkpoint=tmp_path / "c.npz")
    resumed = run(several, space, Wander(), seed=3, checkpoint=tmp_path / "c.npz")
    whole = run(several, space, Wander(), seed=3)
    assert resumed.genomes.tobytes() == whole.genomes.tobytes()
    assert resumed.numbers.keys.tobytes() == whole.numbers.keys.tobytes()


OF_ONE_LOSS = ("genitor", "genitor-iyengar", "genitor-lunacek", "recut")


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("exact", *OF_ONE_LOSS, "local")])
def test_every_search_takes_every_threshold(made: Problem, method: str) -> None:
    """No search refuses the rule that users get by default."""
    limits = {} if method.startswith("poka") else {"k": 5.0}  # POkA looks at no limits
    several = problem(made.table, ["k", "glm"], Suppression("as-needed", 0.01), limits)
    front = run_plan(several, Plan(method, METHODS[method][0], 300))
    assert len(front)
    assert min(point.values["k"] for point in front) >= limits.get("k", 1)


@pytest.mark.parametrize("method", ["genitor", "recut", "improve"])
def test_one_loss_under_a_k_suppresses_as_constraint_does(made: Problem, method: str) -> None:
    """Of the thresholds of a recoding the least that meets k loses least: the compiled searches find the same."""
    rules = (Suppression("as-needed", 0.01), constrained({"k": 5}, 0.01))
    fronts = [run_plan(problem(made.table, ["glm"], rule, {"k": 5}), Plan(method, "cuts", 300)) for rule in rules]
    assert fronts[0].numbers.values.tolist() == fronts[1].numbers.values.tolist()
    assert fronts[0].genomes.tolist() == fronts[1].genomes.tolist()


def test_ctrl_c_while_numbers_are_remembered(made: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memo is as it was before: no genome is known without its numbers."""
    space = Lattice(made.table.hierarchies)
    memo = Memo(made, space)
    some = space.levels(np.arange(4))
    memo.add(some[:2], made.evaluate(space, some[:2]))

    def interrupted(*_: object) -> list[bytes]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(memo_room, "names_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            memo.add(some[2:], made.evaluate(space, some[2:]))
    assert len(memo) == len(memo.all_genomes()) == len(memo.all().which) == 2
    memo.add(some[2:], made.evaluate(space, some[2:]))
    assert memo.numbers(some).keys.tobytes() == made.evaluate(space, some).keys.tobytes()


def test_ctrl_c_at_the_border_of_compiled_code_is_ctrl_c(made: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python makes a SystemError of it, which stops a search like Ctrl-C; any other one is an error."""
    counts = iter(range(100))

    def count(problem: Problem, *words: Any) -> Numbers:
        if next(counts) == 3:
            raise SystemError("returned a result with an exception set") from cause
        return evaluate(problem, *words)

    evaluate = Problem.evaluate
    monkeypatch.setattr(Problem, "evaluate", count)
    behind = TypeError("cannot unbox")
    behind.__context__ = KeyboardInterrupt()
    for broken in (KeyboardInterrupt(), behind):
        cause: BaseException = broken
        counts = iter(range(100))
        front = run(made, Lattice(made.table.hierarchies), Wander(), None, 1)
        assert front.provenance.stopped
        assert front.provenance.evaluated > 0
    cause, counts = ValueError(), iter(range(100))
    with pytest.raises(SystemError):
        run(made, Lattice(made.table.hierarchies), Wander(), None, 1)


def test_dominated_rows_of_further_thresholds_are_dropped(made: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they become many they are thinned out, now and then and not at every addition; the front stays the same."""
    task = problem(made.table, ["k", "glm"], Suppression("as-needed", 0.2))
    space = Lattice(made.table.hierarchies)
    nodes = space.levels(np.arange(space.size))

    def remember(most: int) -> tuple[Memo, int]:
        thinned: list[int] = []

        def counting(keys: np.ndarray, ties: Ties) -> np.ndarray:
            thinned.append(len(keys))
            return non_dominated(keys, ties)

        with monkeypatch.context() as patch:
            patch.setattr(memo_room, "non_dominated", counting)
            patch.setattr(memo_room, "MOST_FURTHER", most)
            memo = Memo(task, space, _further_most=most)
            for start in range(len(nodes)):
                memo.add(nodes[start : start + 1], task.evaluate(space, nodes[start : start + 1]))
        return memo, len(thinned)

    (whole, never), (thin, often) = remember(10**9), remember(10)
    assert never == 0
    assert 0 < often < len(nodes) / 2
    assert len(thin.archive().which) < len(whole.archive().which)
    fronts = [memo.archive().keys[non_dominated(memo.archive().keys, "one")] for memo in (whole, thin)]
    assert {tuple(key) for key in fronts[0].tolist()} == {tuple(key) for key in fronts[1].tolist()}


def test_stopped_while_a_search_makes_ready_it_is_interrupted(made: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a report raises before there is a search at all comes out as a sentence, not as Stopped."""

    def make_ready(*_: object) -> None:
        while True:
            pause()

    def stop(_: int, __: int) -> None:
        raise Stopped

    monkeypatch.setattr("kpareto.interrupts.BEAT", 0.01)
    monkeypatch.setattr("kpareto.searches.run.make_driven", make_ready)
    with pytest.raises(Interrupted, match="Stopped before anything was counted"):
        run_plan(made, Plan("nsga2", "cuts"), stop)


@pytest.mark.parametrize("method", METHODS)
def test_every_front_says_how_it_was_found(method: str, tiny: Table) -> None:
    """The file of a front has the method, every setting, the seed and the version, and so it is read back."""
    limits = {"k": 2} if method in ("datafly", "samarati", "recut") else {}
    chosen = {name: value for name, value in SHORT.items() if name in {option.name for option in OPTIONS[method]}}
    asked = problem(tiny, ["lm"] if method == "recut" else ["k", "lm"], 0, limits)
    plan = Plan(method, METHODS[method][0], seed=7, options=chosen)
    data = json.loads(json.dumps(run_plan(asked, plan).to_dict(), allow_nan=False))
    told = data["search"]
    assert (data["kpareto"], told["method"]) == (kp.__version__, "flip" if method == "improve" else method)
    assert told["seed"] == (None if method == "exact" else 7)  # the exact search uses no chance
    assert told["options"] == json.loads(json.dumps(plan.told))
    assert set(told["options"]) == {option.name for option in OPTIONS[method]}
    assert load_front(data, asked).provenance.options == told["options"]


def test_a_search_that_was_made_in_python_says_its_settings_too(tiny: Table) -> None:
    """The grid and the population of PBG-EA, the wishes and the flips of NSGA-II, how GENITOR breeds."""
    asked = problem(tiny, ["k", "lm"], 0)
    lattice, cuts = Lattice(tiny.hierarchies), make_cuts(tiny.hierarchies)

    def told(space: Space, search: Search) -> dict[str, Any]:
        front = run(asked, space, search, budget=40)
        options: dict[str, Any] = json.loads(json.dumps(front.to_dict(), allow_nan=False))["search"]["options"]
        return options

    boxes = told(lattice, PbgEa(grid_for(asked, [2, 0.25]), population=6))
    assert (boxes["grid"]["epsilons"], boxes["grid"]["brackets"]) == ([2.0, 0.25], "ceiling")
    assert (boxes["population"], boxes["mutation"]) == (6, "1 / columns")
    bred = told(cuts, Nsga2(4, preference=Preference((0.3,), 2, (1,)), generations=2))
    assert (bred["preference"]["point"], bred["preference"]["k"], bred["mutation"]) == ([0.3], 2, "1 / borders")
    assert told(cuts, Genitor(Settings(6)))["population"] == 6
