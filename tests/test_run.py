"""Driving searches: budget, memo, checkpoints, and the same end whether interrupted or not."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kpareto.checkpoint import Cancelled, job_print
from kpareto.cuts import make_cuts
from kpareto.datasets import adult_table
from kpareto.ends import step_ends
from kpareto.errors import BadInput
from kpareto.front import Front
from kpareto.partition import Suppression
from kpareto.problem import Problem, problem
from kpareto.run import run, run_exact
from kpareto.search import Moves
from kpareto.search.exact import Stopped
from kpareto.space import Lattice, Space
from kpareto.table import Table


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
    return problem(adult_table("default"), ["k", "glm"], 0.01)


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
    """Written every half minute (here at every step); from any of them the end is the same, exact search or not."""
    monkeypatch.setattr(sys.modules["kpareto.run"], "SAVED", -1.0)
    space, kept = Lattice(made.table.hierarchies), tmp_path / "k.npz"
    searches: list[Callable[..., Front]] = [partial(run, made, space, Wander(), seed=5), partial(run_exact, made)]
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
        run_exact(made, report=stop, checkpoint=kept)
    assert kept.exists()
    resumed = run_exact(made, checkpoint=kept)
    assert not kept.exists()
    whole = run_exact(made)
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
        run_exact(problem(tiny, ["k", "lm"]), checkpoint=kept)
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
    some = make_cuts(table.hierarchies, {"age": step_ends(table.hierarchies[0], 10)})
    free = replace(cuts, free=(True,) * len(table.hierarchies))
    prints = [job_print(made, space, "x", 1) for space in (cuts, some, free)]
    prints += [job_print(other, cuts, "x", 1), job_print(made, cuts, "y", 1), job_print(made, cuts, "x", 2)]
    assert len(set(prints)) == len(prints)
    assert job_print(made, make_cuts(table.hierarchies), "x", 1) == prints[0]


def test_many_thresholds_are_for_the_exact_search(made: Problem) -> None:
    """cap-threshold has several candidates per node, which a search cannot be sent."""
    several = problem(made.table, ["k", "glm"], Suppression("cap-threshold", 0.01))
    with pytest.raises(BadInput, match="cap-threshold works with the exact search only"):
        run(several, Lattice(made.table.hierarchies), Wander())
