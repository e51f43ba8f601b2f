"""The complete front over the whole lattice, for any objectives, with proof that nothing is missing (SPEC PO-5, PO-6).

Small lattices are counted whole by roll-up. On large ones with the objectives k and losses that add up over cells, a
branch and bound works on *partial nodes*, which fix the levels of some columns and leave the others at the top:

* k never grows when a recoding is refined (rules none and cap-max-k), so no node that refines a partial node has more;
* a loss is at least the loss without suppression of the columns fixed so far.

A partial node whose k and loss are beaten by a known point takes all its refinements with it; the others are refined
column by column. What is left at the end is counted, so the answer is the same as counting everything.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from kpareto import kernels
from kpareto.dominance import Ties, non_dominated
from kpareto.front import Front, Provenance, make_front
from kpareto.loss import CellLoss
from kpareto.measure import Measure, parameters_of
from kpareto.problem import Numbers, Problem, join
from kpareto.rollup import walk_order
from kpareto.space import Lattice

WHOLE = 2_000_000  # lattices up to this size are counted whole
AT_ONCE = 8  # prefixes judged by one front, whatever the number of threads
PREFIXES = 64  # branches the tree is cut into at least
CLOUD = 20_000  # dominated recodings kept for pictures
Report = Callable[[int, int], None]  # nodes done, nodes in all


@dataclass(frozen=True, eq=False)
class State:
    """Where a search stands: what a checkpoint keeps."""

    done: int  # parts (or prefixes) finished
    counted: int  # nodes counted
    settled: int  # nodes counted or proven to be dominated
    best: Numbers  # the front so far
    cloud: np.ndarray  # (n, objectives) float64


class Stopped(Exception):
    """Raised by a report function to stop the search; the front so far is returned, marked incomplete."""


def exact_front(
    problem: Problem,
    ties: Ties = "all",
    threads: int | None = None,
    report: Report | None = None,
    state: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Front:
    """Every trade-off in the lattice. ``report`` may raise Stopped; ``keep`` is given the state after each part."""
    began = time.perf_counter()
    lattice = Lattice(problem.table.hierarchies)
    work = _branches if can_prune(problem) and (lattice.size > WHOLE or _is_one_answer(problem)) else _whole
    start = state or State(0, 0, 0, join([], len(problem.objectives)), np.zeros((0, len(problem.objectives))))
    now, complete = start, True
    try:
        for now in work(problem, lattice, ties, threads, start):
            if keep is not None:
                keep(now)
            if report is not None:
                report(now.settled, lattice.size)
    except (KeyboardInterrupt, Stopped):
        complete = now.settled >= lattice.size
    note = "" if complete else f"stopped after {now.settled:,} of {lattice.size:,} nodes; other points may exist"
    seconds = time.perf_counter() - began
    made = Provenance("exact", now.counted, complete, None, seconds, note, {"settled": now.settled}, not complete)
    places = np.arange(len(now.best.which))
    genomes = lattice.levels(now.best.which)
    found = make_front(problem, lattice, genomes, replace(now.best, which=places), made, ties)
    return replace(found, cloud=now.cloud)


def _merge(state: State, part: Numbers, nodes: int, ties: Ties, share: float) -> State:
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


def _whole(problem: Problem, lattice: Lattice, ties: Ties, threads: int | None, state: State) -> Iterator[State]:
    """Count every node, part by part."""
    share = min(1.0, CLOUD / lattice.size)
    for place, part in enumerate(problem.whole_lattice(threads)):
        if place < state.done:
            continue  # an earlier run has counted it
        nodes = len(np.unique(part.which))
        state = _merge(state, part, nodes, ties, share)
        yield state


# -- large lattices ----------------------------------------------------------------------------------------------


def can_prune(problem: Problem) -> bool:
    """Whether every objective has a bound: k (or its risk) and exact cell losses, under none or cap-max-k.

    Under constraint with a limit on k a node is admissible only if its classes below that k fit into the suppression
    limit, so its k under cap-max-k is at least the limit, and at least the k of what is released.
    """
    rule = problem.suppression.rule
    return (
        (rule in ("none", "cap-max-k") or (rule == "constraint" and any(m.name == "k" for m, _ in problem.limits)))
        and problem.table.persons is None
        and all(_is_k(m) or (isinstance(m, CellLoss) and m.is_exact(problem.table)) for m in problem.objectives)
    )


def _is_one_answer(problem: Problem) -> bool:
    """Whether one loss is wanted for a given k: then so much can be skipped that counting all is never quicker."""
    return len(problem.objectives) == 1 and any(measure.name == "k" for measure, _ in problem.limits)


def _is_k(measure: Measure) -> bool:
    known = parameters_of(measure)
    return known is not None and known[0] in ("k", "risk-max")


def _branches(problem: Problem, lattice: Lattice, ties: Ties, threads: int | None, state: State) -> Iterator[State]:
    """Branch and bound, one prefix of levels after the other; a chunk of prefixes is judged by one front."""
    tree = _Tree(problem)
    share = min(1.0, CLOUD / lattice.size)
    # The guides only show what can be reached: each is met again in its own branch, unless that is hopeless.
    guides = reached(problem, lattice)
    if state.done == 0:
        state = replace(state, counted=len(guides.which))
    known = guides.keys[guides.feasible]
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for start in range(state.done, len(tree.prefixes), AT_ONCE):
            chunk = tree.prefixes[start : start + AT_ONCE]
            front = np.concatenate((known, state.best.keys))
            front = np.ascontiguousarray(front[non_dominated(front, "one")])
            counted = 0
            alive = []
            for levels, seen in pool.map(lambda prefix: tree.survivors(prefix, front), chunk):  # noqa: B023 (used at once)
                counted += seen
                alive.append(levels)
            nodes = np.concatenate(alive)
            if len(nodes):
                numbers = problem.evaluate(lattice, nodes, threads)
                part = replace(numbers, which=lattice.numbers(nodes)[numbers.which])
                state = _merge(state, part, 0, ties, share)
            done = start + len(chunk)
            settled = lattice.size * done // len(tree.prefixes)
            state = replace(state, done=done, counted=state.counted + counted, settled=settled)
            yield state


def reached(problem: Problem, lattice: Lattice, sample: int = 512, rounds: int = 40) -> Numbers:
    """Good nodes to measure others by: from a sample, all neighbours of the front so far, until nothing improves."""
    rng = np.random.default_rng(0)
    sizes = lattice.genes
    some = rng.integers(0, sizes, size=(sample, len(sizes)))
    fresh = np.unique(lattice.numbers(np.vstack((np.zeros_like(sizes), sizes - 1, some))))
    seen = np.zeros(0, dtype=np.int64)
    best = join([], len(problem.objectives))
    every = []
    for _ in range(rounds):
        levels = lattice.levels(fresh)
        numbers = problem.evaluate(lattice, levels)
        numbers = replace(numbers, which=fresh[numbers.which])
        every.append(numbers)
        seen = np.union1d(seen, fresh)
        both = join([best, numbers.take(np.flatnonzero(numbers.feasible))], len(problem.objectives))
        best = both.take(non_dominated(both.keys, "one"))
        fresh = np.setdiff1d(neighbours(lattice, lattice.levels(best.which)), seen)
        if len(fresh) == 0:
            break
    return join(every, len(problem.objectives))


def neighbours(lattice: Lattice, levels: np.ndarray) -> np.ndarray:
    """The numbers of all nodes one level up or down in one column: sorted, each once."""
    found = []
    for column in range(levels.shape[1]):
        for step in (-1, 1):
            moved = levels.copy()
            moved[:, column] += step
            inside = (moved[:, column] >= 0) & (moved[:, column] < lattice.genes[column])
            found.append(lattice.numbers(moved[inside]))
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


class _Tree:
    """The arrays kernels.surviving_nodes takes, columns in the order of the search."""

    def __init__(self, problem: Problem) -> None:
        table = problem.table
        self.order = walk_order(table)
        ordered = [table.hierarchies[c] for c in self.order]
        self.heights = np.array([h.height for h in ordered], dtype=np.int64)
        self.codes = np.ascontiguousarray(table.codes[:, self.order].T)
        self.leaf_order = np.argsort(self.codes, axis=1, kind="stable").astype(np.int32)
        self.weights = table.weights
        self.leaves = np.array([len(h.leaves) for h in ordered], dtype=np.int64)
        most = int(self.heights.max()) + 1
        self.cut_at = np.zeros((len(ordered), most), dtype=np.int64)
        pieces, length = [], 0
        for a, hierarchy in enumerate(ordered):
            for level in range(hierarchy.height + 1):
                self.cut_at[a, level] = length
                pieces.append(hierarchy.groups[level].astype(np.int32))
                length += len(hierarchy.leaves)
        self.cuts = np.concatenate(pieces)
        rule = problem.suppression
        self.allowed = 0 if rule.rule == "none" else rule.allowed(table.rows)
        self.adds = np.array([isinstance(m, CellLoss) for m in problem.objectives], dtype=np.bool_)
        self.parts = np.zeros((len(problem.objectives), len(ordered), most), dtype=np.int64)
        for m, measure in enumerate(problem.objectives):
            if isinstance(measure, CellLoss):
                for a, column in enumerate(self.order):
                    for level, cut in enumerate(table.hierarchies[column].groups):
                        cells = measure.table_of(table, column, cut)
                        self.parts[m, a, level] = int((cells[cut] * table.leaf_rows[column]).sum())
        self.least_k = max((math.ceil(t - 1e-9) for m, t in problem.limits if m.name == "k"), default=0)
        fixed, count = 0, 1
        while fixed < len(ordered) - 1 and count < PREFIXES:
            count *= int(self.heights[fixed]) + 1
            fixed += 1
        ranges = [range(int(height), -1, -1) for height in self.heights[:fixed]]
        self.prefixes = [np.array(levels, dtype=np.int64) for levels in itertools.product(*ranges)]

    def survivors(self, prefix: np.ndarray, front: np.ndarray) -> tuple[np.ndarray, int]:
        """Levels of the nodes below a prefix that the front does not beat, in column order, and nodes counted."""
        levels, counted = kernels.surviving_nodes(
            self.codes, self.leaf_order, self.weights, self.heights, self.cuts, self.cut_at, self.leaves, self.allowed,
            self.adds, self.parts, front, prefix, self.least_k,
        )  # fmt: skip
        back = np.empty_like(levels)
        back[:, self.order] = levels
        return back, int(counted)
