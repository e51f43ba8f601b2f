"""Drive a search: budget, memo, archive of the best, progress, cancelling, checkpoints; returns a Front.

A checkpoint of an exact search is where it stands. A checkpoint of any other search is the memo of what it has
evaluated: resuming replays the search from its seed, answers from the memo, and so ends exactly as an uninterrupted run
would have ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from kpareto.checkpoint import Cancelled, job_print, read_checkpoint, write_checkpoint
from kpareto.cuts import Cuts
from kpareto.dominance import Ties
from kpareto.errors import BadInput, Interrupted
from kpareto.front import Front, Provenance, make_front
from kpareto.hierarchy import Hierarchy
from kpareto.measure import Measure
from kpareto.partition import Suppression
from kpareto.problem import Numbers, Problem, join
from kpareto.problem import problem as make_problem
from kpareto.search import Search
from kpareto.search.exact import CLOUD, State, Stopped, exact_front
from kpareto.searches import METHODS, check_method, make_search, make_space
from kpareto.single import can_run_single, run_single
from kpareto.space import Lattice, Space
from kpareto.table import Table

Report = Callable[[int, int], None]  # done, in all
SAVED = 30.0  # seconds of work that a kill may cost


def names_of(space: Space, genomes: np.ndarray) -> list[bytes]:
    """A short name for each genome (n, genes) int64 of a space, different for different ones."""
    few = isinstance(space, Cuts) or bool((space.genes <= 256).all())
    small = np.ascontiguousarray(genomes, dtype=np.uint8 if few else np.int64)
    if small.size == 0:
        return [b""] * len(small)
    names: list[bytes] = small.view(f"V{small[0].nbytes}")[:, 0].tolist()
    return names


@dataclass(eq=False)
class Memo:
    """Numbers of genomes already evaluated, each once; the archive is made of it at the end."""

    problem: Problem
    space: Space
    places: dict[bytes, int] = field(default_factory=dict)
    genomes: list[np.ndarray] = field(default_factory=list)
    _room: Numbers | None = None  # rows of numbers, with room for more at the end

    def __len__(self) -> int:
        return len(self.places)

    def missing(self, genomes: np.ndarray, names: Sequence[bytes] | None = None) -> np.ndarray:
        """The genomes not evaluated yet, each once, in the order of first appearance."""
        known = self.places
        new = [
            (name, place)
            for place, name in enumerate(names_of(self.space, genomes) if names is None else names)
            if name not in known
        ]
        first = dict(reversed(new))  # a name that comes again keeps its first place
        return genomes[sorted(first.values())]

    def add(self, genomes: np.ndarray, numbers: Numbers) -> None:
        """Remember evaluated genomes, one row of numbers each."""
        start, end = len(self.places), len(self.places) + len(genomes)
        self.places.update(zip(names_of(self.space, genomes), range(start, end), strict=True))
        self.genomes.append(genomes)
        if self._room is None or end > len(self._room.which):
            # Twice the room each time it is full: joining all parts after each addition would cost their square.
            old, empty = self.all(), numbers.take(np.zeros(max(1024, end), dtype=np.int64))
            self._room = join([old, empty], len(self.problem.objectives))
        for room, part in zip(_columns(self._room), _columns(numbers), strict=True):
            room[start:end] = part
        self._room.which[start:end] += start

    def all(self) -> Numbers:
        """Everything evaluated, one row per genome, in the order of evaluation."""
        if self._room is None:
            return join([], len(self.problem.objectives))
        return Numbers(*(column[: len(self.places)] for column in _columns(self._room)))

    def numbers(self, genomes: np.ndarray, names: Sequence[bytes] | None = None) -> Numbers:
        """The numbers of genomes that were all evaluated, in their order."""
        given = names_of(self.space, genomes) if names is None else names
        found = self.all().take(np.array([self.places[name] for name in given], dtype=np.int64))
        return replace(found, which=np.arange(len(genomes)))


def _columns(numbers: Numbers) -> tuple[np.ndarray, ...]:
    return (
        numbers.which, numbers.thresholds, numbers.values, numbers.keys, numbers.feasible, numbers.suppressed,
    )  # fmt: skip


def run(
    problem: Problem,
    space: Space,
    search: Search,
    budget: int | None = None,
    seed: int = 1,
    report: Report | None = None,
    checkpoint: Path | None = None,
) -> Front:
    """Let a search propose and count what it proposes, until it is done or the budget of evaluations is spent.

    The rule cap-threshold has several rows per recoding and is for the exact search only.
    """
    if problem.suppression.rule == "cap-threshold":
        raise BadInput("The rule cap-threshold works with the exact search only. Take exact, or the rule cap-max-k.")
    began = time.perf_counter()
    memo = Memo(problem, space)
    known = _load_memo(checkpoint, problem, space, search.name, seed)
    moves = search.moves(space, np.random.default_rng(seed))
    note, stopped, saved = "", False, time.monotonic()
    try:
        genomes = np.ascontiguousarray(next(moves), dtype=np.int64)
        while True:
            names = names_of(space, genomes)
            fresh = memo.missing(genomes, names)
            if budget is not None and len(memo) + len(fresh) > budget:
                note = f"the budget of {budget:,} evaluations is spent"
                break
            if len(fresh):
                memo.add(fresh, known.recall(fresh, problem, space) if known else problem.evaluate(space, fresh))
            if checkpoint is not None and time.monotonic() - saved > SAVED:
                _save_memo(checkpoint, memo, search.name, seed, known)
                saved = time.monotonic()
            if report is not None:
                report(len(memo), budget or 0)
            genomes = np.ascontiguousarray(moves.send(memo.numbers(genomes, names)), dtype=np.int64)
    except StopIteration:
        pass
    except (KeyboardInterrupt, Stopped):
        note, stopped = "stopped by the user", True
        if checkpoint is not None:
            _save_memo(checkpoint, memo, search.name, seed, known)
    moves.close()
    made = Provenance(search.name, len(memo), False, seed, time.perf_counter() - began, note, stopped=stopped)
    everything = memo.all()
    genomes = np.concatenate(memo.genomes) if memo.genomes else np.zeros((0, len(space.genes)), dtype=np.int64)
    front = make_front(problem, space, genomes, everything, made)
    step = max(1, len(everything.which) // CLOUD)
    front = replace(front, cloud=everything.values[everything.feasible][::step])
    if checkpoint is not None:
        if stopped:
            raise Cancelled(front, checkpoint)
        checkpoint.unlink(missing_ok=True)
    return front


def run_exact(
    problem: Problem,
    ties: Ties = "all",
    threads: int | None = None,
    report: Report | None = None,
    checkpoint: Path | None = None,
) -> Front:
    """The exact search with a checkpoint: stopped, it keeps where it stands; run again, it goes on from there."""
    state = _load_state(checkpoint, problem, ties)
    latest: list[State] = []
    saved = time.monotonic()

    def keep(now: State) -> None:
        nonlocal saved
        latest[:] = [now]
        if checkpoint is not None and time.monotonic() - saved > SAVED:
            _save_state(checkpoint, problem, now, ties)
            saved = time.monotonic()

    front = exact_front(problem, ties, threads, report, state, keep)
    if checkpoint is not None:
        if front.provenance.complete:
            checkpoint.unlink(missing_ok=True)
        else:
            if not latest and not checkpoint.exists():
                raise Interrupted("Stopped before anything was counted.")
            if latest:
                _save_state(checkpoint, problem, latest[0], ties)
            raise Cancelled(front, checkpoint)
    return front


# -- checkpoints -------------------------------------------------------------------------------------------------


def _numbers_arrays(numbers: Numbers, prefix: str = "n_") -> dict[str, np.ndarray]:
    return {
        f"{prefix}which": numbers.which,
        f"{prefix}thresholds": numbers.thresholds,
        f"{prefix}values": numbers.values,
        f"{prefix}keys": numbers.keys,
        f"{prefix}feasible": numbers.feasible,
        f"{prefix}suppressed": numbers.suppressed,
    }


def _numbers_from(arrays: dict[str, np.ndarray], prefix: str = "n_") -> Numbers:
    names = ("which", "thresholds", "values", "keys", "feasible", "suppressed")
    return Numbers(*(arrays[prefix + name] for name in names))


def _exact_print(problem: Problem, ties: Ties) -> str:
    return job_print(problem, Lattice(problem.table.hierarchies), f"exact {ties}", None)


def _save_state(path: Path, problem: Problem, state: State, ties: Ties) -> None:
    counts = np.array([state.done, state.counted, state.settled], dtype=np.int64)
    arrays = {"counts": counts, "cloud": state.cloud, **_numbers_arrays(state.best)}
    write_checkpoint(path, _exact_print(problem, ties), arrays)


def _load_state(path: Path | None, problem: Problem, ties: Ties) -> State | None:
    arrays = read_checkpoint(path, _exact_print(problem, ties)) if path else None
    if arrays is None:
        return None
    done, counted, settled = (int(n) for n in arrays["counts"])
    return State(done, counted, settled, _numbers_from(arrays), arrays["cloud"])


@dataclass(frozen=True, eq=False)
class _Recalled:
    """Numbers an earlier run has evaluated."""

    places: dict[bytes, int]
    numbers: Numbers

    def recall(self, genomes: np.ndarray, problem: Problem, space: Space) -> Numbers:
        """The numbers of genomes, from the earlier run where it has them all, else counted."""
        places = [self.places.get(genome.tobytes(), -1) for genome in genomes]
        if min(places) < 0:
            return problem.evaluate(space, genomes)
        return replace(self.numbers.take(np.array(places)), which=np.arange(len(genomes)))


def _save_memo(path: Path, memo: Memo, method: str, seed: int, known: _Recalled | None) -> None:
    if known is not None and len(memo) <= len(known.places):
        return  # still being replayed: the checkpoint that is there knows more
    genomes = np.concatenate(memo.genomes) if memo.genomes else np.zeros((0, 0), dtype=np.int64)
    job = job_print(memo.problem, memo.space, method, seed)
    write_checkpoint(path, job, {"genomes": genomes, **_numbers_arrays(memo.all())})


def _load_memo(path: Path | None, problem: Problem, space: Space, method: str, seed: int) -> _Recalled | None:
    arrays = read_checkpoint(path, job_print(problem, space, method, seed)) if path else None
    if arrays is None:
        return None
    genomes = np.ascontiguousarray(arrays["genomes"])
    return _Recalled({genome.tobytes(): i for i, genome in enumerate(genomes)}, _numbers_from(arrays))


# -- the verb ----------------------------------------------------------------------------------------------------

BUDGET = 50_000  # evaluations of a search that has no end of its own (GECCO 2009)


def front(
    table: Table,
    hierarchies: Mapping[str, Hierarchy] | Sequence[Hierarchy] | None = None,
    objectives: Sequence[str | Measure] = ("k", "glm"),
    suppression: Suppression | float = 0.0,
    limits: Mapping[str, float] | None = None,
    method: str = "exact",
    seed: int = 1,
) -> Front:
    """Every trade-off the table allows: exact over the lattice by default, with proof that none is missing.

    ``suppression`` is a rule, or a bare number: the share (below 1) or number of rows that may be suppressed. Other
    methods walk larger spaces without a proof; ``run`` lets them have a budget, progress and a checkpoint.
    """
    if not isinstance(table, Table):
        raise BadInput(
            f"front takes a Table, not {type(table).__name__}. Make one with kpareto.read(source, kpareto.Schema(…))."
        )
    bound = table if hierarchies is None else table.bind(hierarchies)
    made = make_problem(bound, objectives, suppression, limits)
    if method == "exact":
        return exact_front(made)
    check_method(method, METHODS.get(method, ("lattice",))[0])
    space = make_space(METHODS[method][0], bound)
    if isinstance(space, Cuts) and can_run_single(method, made, space):
        return run_single(method, made, space, BUDGET, seed)
    return run(made, space, make_search(method, made, space, {}), BUDGET, seed)
