"""The complete front over the whole lattice, for any objectives, with proof that nothing is missing (PO-5, PO-6).

Small lattices are counted whole by roll-up. On large ones whose objectives have bounds (``fronts/subtree_bounds.py``)
the roll-up leaves out what is beaten. With the objectives k and losses that add up over cells there is no need to roll
up: a branch and bound works on *partial nodes*, which fix the levels of some columns and leave the others at the top:

* k never grows when a recoding is refined (rules none and cap-max-k), so no node that refines a partial node has more,
  whichever of its thresholds is taken (as-needed: all smaller classes are suppressed, so none is above cap-max-k's);
* a loss is at least the loss without suppression of the columns fixed so far.

A partial node whose k and loss are beaten by a known point takes all its refinements with it; the others are refined
column by column. What is left at the end is counted, so the answer is the same as counting everything.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from kpareto.fronts.count_lattice import count_fixed
from kpareto.fronts.dominance import Ties, non_dominated
from kpareto.fronts.numbers import Numbers, join
from kpareto.fronts.subtree_bounds import BoundedWalk, can_bound
from kpareto.interrupts import TimeLimit, halted_too, is_heard, is_stopped, pause
from kpareto.kernels.lattice.branching import LeafColumns, Objectives, surviving_nodes
from kpareto.measures.cells import CellLoss
from kpareto.measures.sizes import is_smallest_class
from kpareto.searches.lattice.climbing import front_of_all, reach_good_nodes
from kpareto.tables.lattice import Lattice, walk_order
from kpareto.tables.table import Table

if TYPE_CHECKING:
    from kpareto.fronts.problem import Problem

WHOLE = 2_000_000  # lattices up to this size are counted whole
AT_ONCE = 8  # prefixes judged by one front, whatever the number of threads
PREFIXES = 64  # branches the tree is cut into at least
LOOKING = 0.4  # of the time, where there is a limit, to find good nodes before anything is proven
LONG = 2_000_000_000  # nodes × distinct rows: from here on counting nodes one by one takes minutes
MOST_LOOKED = 2_048  # nodes that are looked at before these are counted
CLOUD = 20_000  # dominated recodings kept for pictures


@dataclass(frozen=True, eq=False)
class State:
    """Where a search stands: what a checkpoint keeps."""

    done: int  # parts (or prefixes) finished
    counted: int  # nodes counted
    settled: int  # nodes counted or proven to be dominated
    best: Numbers  # the front so far
    cloud: np.ndarray  # (n, objectives) float64
    reached: Numbers | None = None  # good nodes that a local search met; their own parts may not be settled yet


def nothing_counted(problem: Problem) -> State:
    """Where every search begins."""
    return State(0, 0, 0, join([], len(problem.objectives)), np.zeros((0, len(problem.objectives))))


@dataclass(frozen=True)
class Way:
    """How the lattice is settled, part by part: a part is a combination of levels of the columns fixed first."""

    kind: Literal["whole", "roll-up", "leaves"]  # all nodes counted; those left out that bounds beat, by either way
    fixed: tuple[int, ...]  # columns; none where nodes are counted one by one


def find_way(problem: Problem) -> Way:
    """The quickest way that the problem allows."""
    table = problem.table
    lattice, order = Lattice(table.hierarchies), walk_order(table)
    # One loss for a given k: so much can be skipped then that counting all is never quicker.
    one_answer = len(problem.objectives) == 1 and any(measure.name == "k" for measure, _ in problem.limits)
    if can_prune(problem) and (lattice.size > WHOLE or one_answer):
        return Way("leaves", tuple(order[: _count_fixed(table, order)]))
    if lattice.size > WHOLE and can_bound(problem):
        return Way("roll-up", tuple(order[: _count_fixed(table, order)]))
    return Way("whole", tuple(order[: count_fixed(table)]) if problem.is_walked else ())


def _count_fixed(table: Table, order: list[int]) -> int:
    """How many columns are fixed first, so that there are parts enough."""
    fixed, count = 0, 1
    while fixed < len(order) - 1 and count < PREFIXES:
        count *= table.hierarchies[order[fixed]].top + 1
        fixed += 1
    return fixed


def settled_parts(problem: Problem, way: Way, done: int) -> np.ndarray:
    """Which combinations of levels of the fixed columns are settled: (combinations,) bool, first column slowest."""
    heights = [problem.table.hierarchies[column].top + 1 for column in way.fixed]
    settled = np.zeros(math.prod(heights), dtype=np.bool_)
    if way.kind == "leaves":
        for prefix in BranchTree(problem, way.fixed).prefixes[:done]:
            settled[np.ravel_multi_index(tuple(prefix), heights)] = True
    else:
        settled[:done] = True
    return settled


def count_lattice(
    problem: Problem, ties: Ties, threads: int | None, state: State, limit: TimeLimit | None = None
) -> Iterator[State]:
    """Where the search stands after each part, going on from a state.

    At the last one all of the lattice is settled, unless the time was up before.
    """
    lattice, way = Lattice(problem.table.hierarchies), find_way(problem)
    works = {"whole": _whole, "roll-up": _rolled_up, "leaves": _branches}
    yield from works[way.kind](problem, lattice, ties, threads, state, limit)


def merge_part(state: State, part: Numbers, nodes: int, ties: Ties, share: float) -> State:
    """The state after one more part of the lattice."""
    feasible = np.flatnonzero(part.feasible)
    fresh = part.take(feasible[non_dominated(part.keys[feasible], ties)])
    both = join([state.best, fresh], part.keys.shape[1])
    kept = both.take(non_dominated(both.keys, ties))
    # A fixed share of each part, evenly spaced: the picture is the same on every run.
    wanted = min(len(feasible), max(1, round(share * len(part.which)))) if len(feasible) else 0
    shown = feasible[np.linspace(0, len(feasible) - 1, wanted).astype(np.int64)] if wanted else feasible[:0]
    cloud = np.concatenate((state.cloud, part.values[shown]))[: 2 * CLOUD]
    return State(state.done + 1, state.counted + nodes, state.settled + nodes, kept, cloud)


def _whole(
    problem: Problem, lattice: Lattice, ties: Ties, threads: int | None, state: State, limit: TimeLimit | None
) -> Iterator[State]:
    """Count every node, part by part; what an earlier run has counted is left out.

    Where that takes long, and the first nodes are the finest ones, good nodes are looked for first: they are an answer
    should the time be up, or the search be stopped.
    """
    share = min(1.0, CLOUD / lattice.size)
    slow = not problem.is_walked or lattice.size > WHOLE
    if lattice.size * max(problem.table.distinct, 1) > LONG and slow and (limit or is_heard()):
        _, state = _look_around(problem, lattice, state, limit, MOST_LOOKED)
        yield state
    for part in problem.whole_lattice(threads, state.done, halt_of(limit)):
        nodes = len(np.unique(part.which))
        state = merge_part(state, part, nodes, ties, share)
        yield state


# -- large lattices ----------------------------------------------------------------------------------------------


def can_prune(problem: Problem) -> bool:
    """Whether every objective has a bound: k (or its risk) and cell losses, under a limit on suppressed rows.

    The bounds are whole numbers as the kernels count them, so what they are compared with must be counted there too.
    Where persons are told apart, a class has no more of them than rows, so the bound on k holds.
    """
    rule = problem.suppression.rule
    return (
        problem.is_compiled
        and rule != "below-k"
        and all(
            is_smallest_class(m) or (isinstance(m, CellLoss) and m.is_bounded(problem.table))
            for m in problem.objectives
        )
    )


def _rolled_up(
    problem: Problem, lattice: Lattice, ties: Ties, threads: int | None, state: State, limit: TimeLimit | None
) -> Iterator[State]:
    """Roll up, leaving out what bounds beat, one prefix of levels after the other; a chunk is judged by one front."""
    walk, fixed = BoundedWalk(problem), find_way(problem).fixed
    parts = math.prod(problem.table.hierarchies[c].top + 1 for c in fixed)
    guides, state = _look_around(problem, lattice, state, limit)
    if limit is not None or is_stopped():
        yield state  # what was reached is an answer, should the time be up
    share = min(1.0, CLOUD / lattice.size)
    halt = halt_of(limit)
    done, tasks = state.done, walk.parts(len(fixed), state.done)
    while chunk := list(itertools.islice(tasks, AT_ONCE)):
        step = walk.settle(chunk, front_of_all([guides, state.best], len(problem.objectives)), threads, halt)
        if step is None:
            return
        for part in step[0]:
            if len(part.which):
                state = merge_part(state, part, 0, ties, share)
        done += len(chunk)
        settled = lattice.size * done // parts
        state = replace(state, done=done, counted=state.counted + step[1], settled=settled)
        yield state


def _branches(
    problem: Problem, lattice: Lattice, ties: Ties, threads: int | None, state: State, limit: TimeLimit | None
) -> Iterator[State]:
    """Branch and bound, one prefix of levels after the other; a chunk of prefixes is judged by one front."""
    tree = BranchTree(problem, find_way(problem).fixed)
    share = min(1.0, CLOUD / lattice.size)
    guides, state = _look_around(problem, lattice, state, limit)
    if limit is not None or is_stopped():
        yield state  # what was reached is an answer, should the time be up
    halt = halt_of(limit)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for start in range(state.done, len(tree.prefixes), AT_ONCE):
            chunk = tree.prefixes[start : start + AT_ONCE]
            front = np.ascontiguousarray(front_of_all([guides, state.best], len(problem.objectives)).keys)
            counted = 0
            alive = []
            for levels, seen in pool.map(lambda prefix: tree.survivors(prefix, front, halt), chunk):  # noqa: B023 (used at once)
                if seen < 0:
                    return
                counted += seen
                alive.append(levels)
            nodes = np.concatenate(alive)
            if len(nodes):
                numbers = problem.evaluate(lattice, nodes, threads)
                part = replace(numbers, which=lattice.numbers(nodes)[numbers.which])
                state = merge_part(state, part, 0, ties, share)
            done = start + len(chunk)
            settled = lattice.size * done // len(tree.prefixes)
            state = replace(state, done=done, counted=state.counted + counted, settled=settled)
            yield state


def _look_around(
    problem: Problem, lattice: Lattice, state: State, limit: TimeLimit | None, most: int | None = None
) -> tuple[Numbers, State]:
    """Guides, which only show what can be reached: each is met again in its own branch, unless that is hopeless."""
    guides = reach_good_nodes(problem, lattice, limit=None if limit is None else limit.part(LOOKING), most=most)
    counted = len(np.unique(guides.which)) if state.done == 0 else state.counted
    guides = guides.take(np.flatnonzero(guides.feasible))
    return guides, replace(state, counted=counted, reached=guides)


def halt_of(limit: TimeLimit | None) -> np.ndarray:
    """What ends compiled loops when the time is up, or somebody who waits has stopped them: (1,) int64."""
    return halted_too(np.zeros(1, dtype=np.int64) if limit is None else limit.halt)


class BranchTree:
    """The records surviving_nodes takes, columns in the order of the search."""

    def __init__(self, problem: Problem, fixed: Sequence[int]) -> None:
        self.table, self.order = problem.table, walk_order(problem.table)
        self.objectives = _objectives(problem, self.order)
        ranges = [range(self.table.hierarchies[column].top + 1) for column in self.order[: len(fixed)]]
        prefixes = [np.array(levels, dtype=np.int64) for levels in itertools.product(*ranges)]
        # What loses little first: the floor of what is left then rises as the search goes on.
        lost = self.objectives.parts[self.objectives.adds].sum(axis=0)
        self.prefixes = sorted(prefixes, key=lambda levels: sum(int(lost[a, n]) for a, n in enumerate(levels.tolist())))

    @cached_property
    def columns(self) -> LeafColumns:
        """The rows and the cuts; made when something is counted, because sorting the rows of a large table is slow."""
        return _leaf_columns(self.table, self.order)

    def survivors(self, prefix: np.ndarray, front: np.ndarray, halt: np.ndarray) -> tuple[np.ndarray, int]:
        """Levels of the nodes below a prefix that the front does not beat, in column order, and nodes counted.

        The count is -1 where the search was halted.
        """
        levels, counted = surviving_nodes(self.columns, self.objectives, front, prefix, halt)
        back = np.empty_like(levels)
        back[:, self.order] = levels
        return back, int(counted)


def _leaf_columns(table: Table, order: list[int]) -> LeafColumns:
    """The leaves of each row and the cuts of every level, columns in this order."""
    ordered = [table.hierarchies[c] for c in order]
    heights = np.array([h.top for h in ordered], dtype=np.int64)
    codes = np.ascontiguousarray(table.codes[:, order].T)
    sorted_rows = np.empty(codes.shape, dtype=np.int32)
    for a, column in enumerate(codes):
        pause()
        sorted_rows[a] = np.argsort(column, kind="stable")
    cut_at = np.zeros((len(ordered), int(heights.max()) + 1), dtype=np.int64)
    pieces, length = [], 0
    for a, hierarchy in enumerate(ordered):
        for level in range(hierarchy.top + 1):
            cut_at[a, level] = length
            pieces.append(hierarchy.groups[level].astype(np.int32))
            length += len(hierarchy.leaves)
    return LeafColumns(
        codes,
        sorted_rows,
        table.weights,
        heights,
        np.concatenate(pieces),
        cut_at,
        np.array([len(h.leaves) for h in ordered], dtype=np.int64),
    )


def _objectives(problem: Problem, order: list[int]) -> Objectives:
    """What each level of each column adds to the keys; minus k is no sum."""
    table, rule = problem.table, problem.suppression
    most = max(h.top for h in table.hierarchies) + 1
    parts = np.zeros((len(problem.objectives), len(order), most), dtype=np.int64)
    for m, measure in enumerate(problem.objectives):
        if isinstance(measure, CellLoss):
            for a, column in enumerate(order):
                for level, cut in enumerate(table.hierarchies[column].shown):
                    cells = measure.table_of(table, column, cut)
                    parts[m, a, level] = int((cells[cut] * table.leaf_rows[column]).sum())
    return Objectives(
        np.array([isinstance(m, CellLoss) for m in problem.objectives], dtype=np.bool_),
        parts,
        np.array([m.coarse(table) if isinstance(m, CellLoss) else 0 for m in problem.objectives], dtype=np.int64),
        0 if rule.rule == "none" else rule.allowed(table.rows),
        max((math.ceil(t - 1e-9) for m, t in problem.limits if m.name == "k"), default=0),
    )
