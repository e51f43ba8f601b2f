"""The complete front over the whole lattice, for any objectives, with proof that nothing is missing (SPEC PO-5, PO-6).

Small lattices are counted whole by roll-up. Large ones are cut into blocks: a *prefix* fixes the levels of some
columns, a *suffix* those of the others. A block is skipped when a known point beats everything it can hold:

* k never grows when a recoding is refined (rules none and cap-max-k), so a node's k is at most that of its prefix with
  the suffix columns at the top, and at most that of its suffix with the prefix columns at the top;
* a loss that adds up over cells is at least the loss without suppression, prefix part + suffix part;
* any other objective is taken to be as good as it can get anywhere.

Only blocks that could hold something new are counted, so the answer is the same as counting everything.
"""

from __future__ import annotations

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
from kpareto.problem import Numbers, Problem, join
from kpareto.rollup import BlockWalk, fits
from kpareto.space import Lattice

WHOLE = 2_000_000  # lattices up to this size are counted whole
AT_ONCE = 8  # blocks judged together
CLOUD = 20_000  # dominated recodings kept for pictures
Report = Callable[[int, int], None]  # nodes done, nodes in all


@dataclass(frozen=True, eq=False)
class State:
    """Where a search stands: what a checkpoint keeps."""

    done: int  # parts (or blocks) finished
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
    work = _blocks if lattice.size > WHOLE and can_prune(problem) else _whole
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
    made = Provenance("exact", now.counted, complete, None, time.perf_counter() - began, note, {"settled": now.settled})
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
    """Whether bounds are known that make skipping blocks worth while: k or a cell loss under none or cap-max-k."""
    translation = problem.translation
    return (
        translation is not None
        and fits(problem.table, translation.wanted)
        and problem.suppression.rule in ("none", "cap-max-k")
    )


def _blocks(problem: Problem, lattice: Lattice, ties: Ties, threads: int | None, state: State) -> Iterator[State]:
    """Count only the blocks that could hold a point the front does not dominate."""
    translation = problem.translation
    if translation is None:
        raise TypeError("asked can_prune first")
    block = min(4_096, max(16, 2 * math.isqrt(lattice.size)))
    walk = BlockWalk(problem.table, translation.wanted, block)
    bounds = Bounds(problem, walk)
    share = min(1.0, CLOUD / lattice.size)
    # The seeds only show what can be reached: each is counted again with its block, unless the block is hopeless.
    guides = join(bounds.seeds, len(problem.objectives))
    guides = guides.take(np.flatnonzero(guides.feasible))
    if state.done == 0:
        state = replace(state, counted=sum(len(seeds.which) for seeds in bounds.seeds))
    workers = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        for start in range(state.done, len(bounds.order), AT_ONCE):
            chunk = bounds.order[start : start + AT_ONCE].tolist()
            # The blocks of a chunk are judged by one front, so that the number of threads changes nothing.
            known = np.concatenate((guides.keys, state.best.keys))
            known = known[non_dominated(known, "one")]
            counted = [prefix for prefix in chunk if not bounds.hopeless(prefix, known)]
            for found in pool.map(walk.count, counted):
                part = problem.read(translation, found)
                state = _merge(state, part, walk.suffixes, ties, share)
            skipped = (len(chunk) - len(counted)) * walk.suffixes
            state = replace(state, done=start + len(chunk), settled=state.settled + skipped)
            yield state


class Bounds:
    """What a block can at best hold, per prefix and suffix."""

    def __init__(self, problem: Problem, walk: BlockWalk) -> None:
        translation = problem.translation
        if translation is None:
            raise TypeError("the kernels do not know these measures")
        prefix, suffix = walk.prefix_tops(), walk.suffix_tops()
        self.seeds = [problem.read(translation, prefix), problem.read(translation, suffix)]
        count = len(problem.objectives)
        worst = np.full(count, np.iinfo(np.int64).min)
        self.prefix = np.tile(worst, (len(prefix.nodes), 1))  # (prefixes, objectives) int64, keys are at least this
        self.suffix = np.tile(worst, (len(suffix.nodes), 1))
        self.adds = np.zeros(count, dtype=np.bool_)  # objectives whose bound is prefix + suffix
        for column, measure in enumerate(problem.objectives):
            if measure.trend[problem.suppression.rule] == _refining_worsens(measure.better):
                self.prefix[:, column] = self.seeds[0].keys[:, column]
                self.suffix[:, column] = self.seeds[1].keys[:, column]
            elif isinstance(measure, CellLoss) and measure.is_exact(problem.table):
                place = translation.wanted.losses.index(measure)
                self.prefix[:, column], self.suffix[:, column] = walk.loss_parts(place)
                self.adds[column] = True
        # Blocks with good bounds first: what they hold lets later ones be skipped.
        ranks = np.argsort(np.argsort(self.prefix, axis=0, kind="stable"), axis=0, kind="stable").sum(axis=1)
        self.order = np.argsort(ranks, kind="stable")

    def hopeless(self, prefix: int, front: np.ndarray) -> bool:
        """Whether every node of the block is dominated by a point of the front (keys (points, objectives))."""
        if len(front) == 0:
            return False
        mine = self.prefix[prefix]
        least = np.where(self.adds, mine + np.where(self.adds, self.suffix, 0), np.maximum(mine, self.suffix))
        return bool(kernels.all_beaten(np.ascontiguousarray(least), np.ascontiguousarray(front)))


def _refining_worsens(better: str) -> str:
    """The trend (as classes merge) of a measure that can only get worse when a recoding is refined."""
    return "rises" if better == "higher" else "falls"
