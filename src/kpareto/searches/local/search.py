"""The local search: a quick start, then turns in which classes are put into a new order, recut, rebuilt and shaved.

The start is complete and valid, and no turn makes it worse, so it can be stopped at any moment. Large tables are
worked on in stretches of neighbouring rows, another division at every turn; the stretches do not depend on the number
of threads, so neither does the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kpareto.kernels.compiling import working
from kpareto.kernels.local.build import mend, peel
from kpareto.kernels.local.classes import Pieces
from kpareto.kernels.local.improve import arrange, improve
from kpareto.kernels.local.orders import log_table, tree_order
from kpareto.kernels.local.suppress import bring_back, drop, recut_dropping
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem
from kpareto.searches.local.recoding import LocalClasses, LocalRecoding, read_classes
from kpareto.tables.table import Table

PEELED = 32_768  # entries of a stretch that is peeled by itself
STRETCH = 8_192  # entries of a stretch that is improved by itself
VARY = 0.5  # how much the weights of columns vary from one tree order to the next
WORK = 1.5e7  # cells: the turns are as many as go into this, but
FEWEST, MOST = 4, 120  # the fourth is the first that shaves, which gains most
TURNED = 0.8  # of the time, where rows may be suppressed: choosing them has the rest
IDLE = 12  # turns without a gain of one part in
FINE = 20_000
SMALL_K = 20  # up to which classes are grown anew: growing takes rows ** 2
# Tree orders per round of peel, their growth from round to round, their most, and the share of the rows taken a round.
# Large classes are mended less by the turns, so that they are worth a better start; of very many rows a start by fewer
# orders takes a third of the time, and after the turns it is as good.
PEELING, PEELING_LARGE, PEELING_MANY = (4.0, 0.5, 40.0, 0.3), (6.0, 0.6, 40.0, 0.25), (2.0, 0.5, 20.0, 0.4)
MANY = 200_000  # entries from which on they are very many


@dataclass(frozen=True)
class Effort:
    """How long to search."""

    seed: int = 1
    turns: int | None = None  # None: by the size of the table
    seconds: float | None = None
    threads: int = 1
    peeling: tuple[float, float, float, float] | None = None  # as PEELING; None: by k and the size of the table


def search(
    table: Table,
    wish: LocalWish,
    effort: Effort | None = None,
    start: LocalClasses | None = None,
    progress: Progress | None = None,
) -> LocalRecoding:
    """A local recoding of a table that keeps the wish and loses little: never more than ``start``."""
    problem = make_problem(table, wish)
    return read_classes(problem, search_classes(problem, effort or Effort(), start, progress))


def search_classes(
    problem: LocalProblem, effort: Effort, start: LocalClasses | None = None, progress: Progress | None = None
) -> LocalClasses:
    """The search itself, on a problem made ready."""
    turns = effort.turns if effort.turns is not None else usual_turns(problem)
    workers = Workers(effort.threads, effort.seconds, progress, turns + 1)
    classes = first_classes(problem, effort, workers) if start is None else start
    workers.done = 1
    best, idle = classes.loss(problem), 0
    for turn in range(turns):
        workers.listen()
        if workers.stopped or idle >= IDLE or (problem.allowed and workers.is_late(TURNED)):
            break
        classes = take_turn(problem, classes, turn, effort, workers)
        loss = classes.loss(problem)
        idle = 0 if (best - loss) * FINE > best else idle + 1
        best = loss
        workers.done = turn + 2
    return (with_dropped(problem, classes, workers) if problem.allowed else classes).within_levels(problem)


def usual_turns(problem: LocalProblem) -> int:
    """As many turns as a table of this size takes some seconds for."""
    cells = problem.table.rows * problem.pieces.codes.shape[1]
    return int(min(MOST, max(FEWEST, WORK / cells)))


def first_classes(problem: LocalProblem, effort: Effort, workers: Workers) -> LocalClasses:
    """The start: the table peeled stretch by stretch, and what is left over merged into it."""
    pieces, copies = problem.pieces, problem.copies
    usual = PEELING if int(copies.sum()) <= MANY else PEELING_MANY
    peeling = effort.peeling or (usual if problem.limits.k <= SMALL_K else PEELING_LARGE)
    order = _whole_order(problem)
    ahead = np.concatenate(([0], np.cumsum(copies[order])))
    stretches = max(1, round(int(ahead[-1]) / PEELED))
    borders = np.searchsorted(ahead, np.arange(stretches + 1) * int(ahead[-1]) // stretches)
    tasks, members = [], []
    for number, (begin, end) in enumerate(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)):
        inside = np.sort(order[begin:end])
        if len(inside):
            members.append(inside)
            part = _part(pieces, inside)
            settings = (*map(float, peeling), VARY)
            seed = _seed(effort.seed, 0, number)
            tasks.append((part, problem.labels, problem.limits, copies[inside], settings, seed, workers.halt))
    orders, cuts, rests = [], [np.zeros(1, dtype=np.int64)], []
    for inside, (taken, borders_, rest) in zip(members, workers.run(peel, tasks), strict=True):
        orders.append(inside[taken])
        cuts.append(borders_[1:] + cuts[-1][-1])
        rests.append(inside[rest])
    return _with_rest(problem, np.concatenate(orders), np.concatenate(cuts), np.concatenate(rests))


def _with_rest(problem: LocalProblem, order: np.ndarray, cuts: np.ndarray, rest: np.ndarray) -> LocalClasses:
    """The classes and what was left over as one more, merged with others where it is none."""
    if len(rest):
        cuts = np.append(cuts, len(order) + len(rest))
    order = np.concatenate((order, rest)).astype(np.int32)
    order, cuts = mend(order, cuts.astype(np.int64), problem.pieces, problem.labels, problem.limits)
    return LocalClasses(order, cuts, np.empty(0, dtype=np.int32))


def take_turn(
    problem: LocalProblem, classes: LocalClasses, turn: int, effort: Effort, workers: Workers
) -> LocalClasses:
    """The classes after one turn."""
    pieces, labels, limits = problem.pieces, problem.labels, problem.limits
    order, cuts = arrange(classes.order, classes.cuts, pieces, labels, VARY, _seed(effort.seed, 1, turn))
    wanted = max(STRETCH, 40 * limits.k)
    stretches = max(1, round(len(order) / wanted))
    places = np.unique(np.searchsorted(cuts, np.arange(stretches + 1) * len(order) // stretches))
    plan = (4 if limits.k <= SMALL_K else 0, 2, 1 if turn % 4 == 3 else 0)
    tasks = []
    for number, (begin, end) in enumerate(zip(places[:-1].tolist(), places[1:].tolist(), strict=True)):
        inside = order[cuts[begin] : cuts[end]]
        seed = _seed(effort.seed, 2 + turn, number)
        tasks.append((inside, cuts[begin : end + 1] - cuts[begin], pieces, labels, limits, plan, seed, workers.halt))
    orders, borders = [], [np.zeros(1, dtype=np.int64)]
    for part, fresh in workers.run(improve, tasks):
        orders.append(part)
        borders.append(fresh[1:] + borders[-1][-1])
    return LocalClasses(np.concatenate(orders), np.concatenate(borders), classes.dropped)


def with_dropped(problem: LocalProblem, classes: LocalClasses, workers: Workers) -> LocalClasses:
    """The classes after rows came back that need not be suppressed, and others went, as far as is allowed.

    Where none of it lowers the loss, the very same classes, so that leave to suppress changes nothing by itself. Where
    the time is up, no order is cut anew.
    """
    arrays = problem.pieces, problem.labels, problem.limits
    best = back = classes
    if len(classes.dropped):
        back = LocalClasses(*bring_back(classes.order, classes.cuts, classes.dropped, *arrays))
    for step, halt in ((drop, ()), (recut_dropping, (workers.halt,))):
        for base in (best,) if back is best else (best, back):
            if halt and workers.stopped:
                return best
            left = problem.allowed - int(problem.pieces.size[base.dropped].sum())
            ((order, cuts, more),) = workers.run(step, [(base.order, base.cuts, left, *arrays, *halt)])
            changed = LocalClasses(order, cuts, np.concatenate((base.dropped, more)))
            other = not np.array_equal(changed.dropped, classes.dropped)
            best = changed if other and changed.loss(problem) < best.loss(problem) else best
    return best


def _whole_order(problem: LocalProblem) -> np.ndarray:
    """One tree order of all pieces, by which a large table is divided into stretches: (pieces,) int64."""
    weights = problem.copies * problem.pieces.size
    scale = np.ones(problem.pieces.codes.shape[1])
    if int(problem.copies.sum()) <= PEELED:
        return np.arange(len(weights))
    return tree_order(problem.pieces.codes, weights, problem.labels, scale, 0.5, log_table(int(weights.sum())))


def _part(pieces: Pieces, inside: np.ndarray) -> Pieces:
    """Some of the pieces, with entries of their own."""
    counts = np.diff(pieces.start)[inside]
    start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    places = np.repeat(pieces.start[inside] - start[:-1], counts) + np.arange(int(start[-1]))
    return Pieces(
        np.ascontiguousarray(pieces.codes[inside]),
        pieces.size[inside],
        start,
        pieces.value[places],
        pieces.rows[places],
    )


def _seed(seed: int, *path: int) -> int:
    """A seed for one task, from the seed of the search and where the task stands."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0] >> np.uint64(1))


# Run stretches of work on threads, with one ear on who wants it to end.
#
# The loops let go of Python's lock, so threads work side by side; what they return is put together in the order of the
# tasks, hence the same on any number of threads. While they work, this thread looks at the clock and asks ``progress``;
# a flag in memory that the loops look at makes them end early.

Progress = Callable[[int, int], bool]  # (steps done, steps in all) -> whether to go on
LISTEN = 0.05  # seconds between two questions


@dataclass(eq=False)
class Workers:
    """Threads for the loops, and when to end."""

    threads: int = 1
    seconds: float | None = None
    progress: Progress | None = None
    steps: int = 0  # in all
    done: int = 0
    halt: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.uint8))
    began: float = field(default_factory=working)

    @property
    def stopped(self) -> bool:
        """Whether the work shall end."""
        return bool(self.halt[0])

    def is_late(self, share: float = 1.0) -> bool:
        """Whether a share of the time is over."""
        return self.seconds is not None and working() - self.began >= share * self.seconds

    def listen(self) -> None:
        """Look at the clock and ask."""
        if self.is_late() or (self.progress is not None and not self.progress(self.done, self.steps)):
            self.halt[0] = 1

    def run(self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """function(*task) of every task, in their order."""
        with ThreadPoolExecutor(max(1, self.threads)) as pool:
            futures = [pool.submit(function, *task) for task in tasks]
            waiting = set(futures)
            try:
                while waiting:
                    _, waiting = wait(waiting, timeout=LISTEN)
                    self.listen()
            except BaseException:  # Ctrl-C: the loops end early, because leaving the pool waits for them
                self.halt[0] = 1
                raise
            return [future.result() for future in futures]
