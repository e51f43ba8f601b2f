"""Equal seeds give equal bits: on one thread and on two, side by side, and interrupted and resumed."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kpareto.errors import Stopped
from kpareto.fronts import count_cuts as batch
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem, problem
from kpareto.searches import Search
from kpareto.searches.cuts.flip import Flip
from kpareto.searches.cuts.genitor import Genitor, Result, Settings, genitor
from kpareto.searches.cuts.nsga2 import Nsga2, Preference
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import Score
from kpareto.searches.driver import Cancelled
from kpareto.searches.lattice.climbing import lattice_starts
from kpareto.searches.run import run
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import Cuts, make_cuts
from kpareto.tables.partition import Suppression
from kpareto.tables.table import sample_rows

BUDGET = 900


@pytest.fixture(scope="module")
def judged() -> Problem:
    """Adult in the 92-bit scheme with three objectives."""
    return problem(adult_table("lunacek_92"), ["k", "lm", "dcn"], Suppression("cap-max-k", 0.02))


@pytest.fixture(scope="module")
def score() -> Score:
    """Some rows of Adult in the 157-bit scheme, LM and CM together, with a cap on suppressed rows."""
    table = sample_rows(adult_table("iyengar_157"), 2_000, 1)
    return Score(table, make_cuts(table.hierarchies), {"lm": 1, "cm": 1}, 25, 0.3)


def searches(judged: Problem, space: Cuts, threads: int | None = None) -> dict[str, Search]:
    """The searches over cuts behind the seam; batches are large enough for two threads."""
    starts = lattice_starts(judged, space, 40, threads)
    return {
        "genitor": Genitor(Settings(60, immigrants=0.1), seeds=starts, together=40, objective=1),
        "nsga2": Nsga2(60, start="spread", seeds=starts),
        "nsga2 with a preference": Nsga2(60, preference=Preference((0.3, 1e7), 5), start="spread"),
        "improve": Flip(starts),
    }


NAMES = ("genitor", "nsga2", "nsga2 with a preference", "improve")


def bits(front: Front) -> list[object]:
    """Everything in a front but the time it took."""
    numbers, cloud = front.numbers, front.cloud
    assert cloud is not None
    arrays = (
        front.genomes, cloud, numbers.which, numbers.thresholds, numbers.values, numbers.keys, numbers.feasible,
        numbers.suppressed,
    )  # fmt: skip
    made = front.provenance
    return [*((a.dtype.str, a.shape, a.tobytes()) for a in arrays), made.method, made.evaluated, made.seed, made.note]


def result_bits(result: Result) -> list[object]:
    """Everything in a compiled search's result, its state included."""
    state = {name: (array.shape, array.tobytes()) for name, array in result.state.items()}
    arrays = (result.genome, result.trace, result.population, result.values)
    return [*(a.tobytes() for a in arrays), result.value, result.evaluations, result.distinct, result.converged, state]


@pytest.mark.parametrize("name", NAMES)
def test_threads_change_nothing(judged: Problem, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole search on one thread and on two: the same front, bit by bit, and two threads were really at work."""
    space = make_cuts(judged.table.hierarchies)
    workers: list[int] = []

    class Watched(ThreadPoolExecutor):
        """A pool that says how many threads it has."""

        def __init__(self, count: int) -> None:
            workers.append(count)
            super().__init__(count)

    monkeypatch.setattr(batch, "ThreadPoolExecutor", Watched)
    fronts = []
    for threads in (1, 2):
        monkeypatch.setattr(os, "cpu_count", lambda threads=threads: threads)
        workers.clear()
        fronts.append(run(judged, space, searches(judged, space, threads)[name], BUDGET, 3))
        assert set(workers) == (set() if threads == 1 else {2})
    assert len(fronts[0]) > 1
    assert bits(fronts[0]) == bits(fronts[1])


@pytest.mark.parametrize("name", NAMES)
def test_interrupted_and_resumed_is_uninterrupted(judged: Problem, name: str, tmp_path: Path) -> None:
    """Stopped twice on the way, each search behind the seam ends with the bits of a run that was left alone."""
    space = make_cuts(judged.table.hierarchies)
    search = searches(judged, space)[name]
    whole = run(judged, space, search, BUDGET, 4)
    kept = tmp_path / "kept.npz"
    for limit in (200, 500):

        def stop(done: int, _: int, limit: int = limit) -> None:
            if done >= limit:
                raise Stopped

        with pytest.raises(Cancelled):
            run(judged, space, search, BUDGET, 4, stop, kept)
        assert kept.exists()
    assert bits(run(judged, space, search, BUDGET, 4, checkpoint=kept)) == bits(whole)
    assert not kept.exists()


COMPILED: dict[str, Callable[..., Result]] = {
    "genitor": lambda score, seed, **more: genitor(score, 3_000, seed, Settings(60, immigrants=0.1), **more),
    "improve": lambda score, seed, **more: recut_columns(score, seed, restarts=2, patience=30, **more),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_searches_side_by_side(score: Score, name: str) -> None:
    """Four seeds on one thread and on two, sharing one score: each seed ends with its own bits."""
    search = COMPILED[name]
    alone = [result_bits(search(score, seed)) for seed in range(4)]
    with ThreadPoolExecutor(2) as pool:
        together = [result_bits(result) for result in pool.map(lambda seed: search(score, seed), range(4))]
    assert together == alone
    assert alone[0] != alone[1]


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("calls", [1, 3])
def test_compiled_searches_resume_from_a_file(score: Score, name: str, calls: int) -> None:
    """Stopped every few steps, the state written and read back, a search ends as one that was left alone."""
    search = COMPILED[name]
    whole = search(score, 5)
    state: dict[str, np.ndarray] | None = None
    stops = 0
    while True:
        left = [calls]

        def few(_: int, __: float, left: list[int] = left) -> bool:
            left[0] -= 1
            return left[0] > 0

        part = search(score, 5, progress=few, resume=state)
        if part.converged or part.evaluations >= whole.evaluations:
            break
        stops += 1
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **part.state)
        file.seek(0)
        with np.load(file, allow_pickle=False) as read:
            state = dict(read)
    assert stops >= 1
    assert result_bits(part) == result_bits(whole)
