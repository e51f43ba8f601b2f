"""Recut: better than the papers. Recut one column after the other exactly, start again elsewhere, stop when idle.

While all other columns stay as they are, the groups of one column do not share classes, so their costs add up and the
best cut of that column is found exactly: a shortest path over borders, or a walk up the tree. ``recut_columns`` repeats
that until no column gains, kicks a few columns and goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import BadJob
from kpareto.interrupts import is_heard, is_stopped
from kpareto.kernels.cuts.recut import ColumnLeaves, recut
from kpareto.kernels.cuts.score import part_room
from kpareto.kernels.records import PartRoom
from kpareto.kernels.words import INFEASIBLE
from kpareto.searches.cuts.genitor import Keep, Progress, Result
from kpareto.searches.cuts.variation import first_genomes
from kpareto.tables.cuts import Cuts

if TYPE_CHECKING:
    from kpareto.searches.cuts.score import Score


@dataclass(frozen=True, eq=False)
class Recutter:
    """A score made ready for recutting single columns."""

    score: Score

    def __post_init__(self) -> None:
        if not self.score.adds_up:
            raise BadJob(
                "Recutting needs a loss that adds up over classes: a cell loss, cm of one target, or a sum of them. "
                "Run genitor for other losses by use."
            )

    @cached_property
    def _columns(self) -> list[ColumnLeaves]:
        columns: list[ColumnLeaves] = []
        space, codes = self.score.space, self.score.table.codes
        none = np.zeros(0, dtype=np.int64)
        for c, hierarchy in enumerate(space.hierarchies):
            order = np.argsort(codes[:, c], kind="stable").astype(np.int64)
            starts = np.searchsorted(codes[order, c], np.arange(len(hierarchy.leaves) + 1)).astype(np.int64)
            tree, top = hierarchy.tree, hierarchy.groups[hierarchy.top]
            first, last, parent = (none, none, none) if space.free[c] else (tree.first, tree.last, tree.parent)
            nodes = (first.astype(np.int64), last.astype(np.int64), parent.astype(np.int64), top[first] != top[last])
            borders = np.union1d(space.gaps[c], hierarchy.fixed).astype(np.int64)
            gene = np.where(np.isin(borders, space.gaps[c]), np.searchsorted(space.gaps[c], borders), -1)
            columns.append(ColumnLeaves(borders, gene.astype(np.int64), *nodes, order, starts))
        return columns

    @cached_property
    def _room(self) -> PartRoom:
        return part_room(self.score.rows, int(self.score.space.leaf_at[-1]))

    def recut(self, bits: np.ndarray, column: int, fine: float = 0.0) -> float:
        """Put the best cut of one column into bits (genes,) uint8; each suppressed row costs a fine besides."""
        score, space = self.score, self.score.space
        return recut(
            bits, column, space.gene_at, space.gene_places, self._columns[column], score.table.codes, score.scoring,
            fine, self._room,
        )  # fmt: skip

    def descend(
        self, bits: np.ndarray, rng: np.random.Generator, fine: float = 0.0, last: Sequence[int] = ()
    ) -> tuple[float, int]:
        """Recut columns in random order until none gains; returns the cost and how many columns were recut.

        The columns in ``last`` wait until all others had a turn: a column just kicked would only go back. Stopped, it
        ends where it is: every column that was recut is a gain.
        """
        columns = len(self.score.space.hierarchies)
        cost, idle, steps = float("inf"), 0, 0
        waiting = set(last)
        while idle < columns:
            order = sorted(rng.permutation(columns).tolist(), key=waiting.__contains__)
            waiting = set()
            for column in order:
                new_cost = self.recut(bits, column, fine)
                steps += 1
                idle = 0 if new_cost < cost - 1e-9 * abs(new_cost) else idle + 1
                cost = min(cost, new_cost)
                if idle >= columns or is_stopped():
                    return cost, steps
        return cost, steps


def recut_columns(  # noqa: PLR0913 (keywords, each a choice of its own)
    score: Score,
    seed: int = 1,
    starts: np.ndarray | None = None,
    restarts: int = 4,
    patience: int = 60,
    progress: Progress | None = None,
    resume: dict[str, np.ndarray] | None = None,
    keep: Keep | None = None,
) -> Result:
    """Minimize a score by recutting columns: from each start, then with kicks until ``patience`` of them gain nothing.

    ``starts`` are genomes (n, genes), such as ``lattice_starts(problem, space)``; ``restarts`` random ones are added.
    Every step depends on the seed alone, so a run can be repeated bit by bit. ``resume`` is the state of a run that
    ``progress`` stopped, with the same score and settings; the result is then that of a run never stopped. ``keep`` is
    called before each start and each kick. Stopped or out of time within one of these, it ends with the best so far and
    the state before it.
    """
    rng = np.random.default_rng(seed)
    if resume is None:
        fresh = first_genomes(score.space, max(restarts, 1), rng, "spread")
        genomes = fresh if starts is None else np.concatenate((np.asarray(starts, dtype=np.int64), fresh[:restarts]))
        walk = _Walk(Recutter(score), rng, genomes.astype(np.uint8))
    else:
        walk = _Walk(Recutter(score), rng, resume["best_genome"][None, :])
        walk.restore(resume)
    while len(walk.waiting) or walk.idle < patience:
        if keep is not None:
            keep(lambda: walk.result(patience))
        before = walk.state() if is_heard() else None
        if len(walk.waiting):
            walk.begin(max(restarts, 1))
        else:
            walk.go_on()
        going = progress is None or progress(walk.steps, walk.value)
        if before is not None and is_stopped():
            return replace(walk.result(patience), state=before)
        if not going:
            break
    return walk.result(patience)


class _Walk:
    """Descents that remember the best genome allowed: from each start, then from one kicked genome to the next.

    Where not every row may be suppressed, each suppressed row is fined. The fine rises while descents end with too many
    suppressed rows and falls while they do not, so that the walk stays near the limit; what ends beyond it is settled
    with ever higher fines before it counts.
    """

    def __init__(self, cutter: Recutter, rng: np.random.Generator, starts: np.ndarray) -> None:
        self.cutter, self.rng, self.waiting = cutter, rng, starts  # (n, genes) uint8, starts not settled yet
        self.score = cutter.score
        # What a suppressed row costs by itself: all its cells, and one error.
        dear = self.score.row_cost
        self.fine = 0.0 if self.score.allowed >= self.score.table.rows else dear
        self.best, self.steps = float("inf"), 0
        self.trace: list[tuple[float, float, float]] = []
        self.best_genome = starts[0]
        self.current, self.cost, self.idle = self.best_genome, float("inf"), 0  # where it is; kicks without gain
        self.others, self.costs = starts[:0], np.zeros(0)  # (n, genes) uint8, other good genomes to go on from

    def begin(self, most: int) -> None:
        """Settle the next start; the walk goes on from the best, and the best few are kept for later."""
        bits, self.waiting = self.waiting[0].copy(), self.waiting[1:]
        costs = np.append(self.costs, self.settle(bits))
        best = np.argsort(costs, kind="stable")[:most]
        self.others, self.costs = np.concatenate((self.others, bits[None, :]))[best], costs[best]
        self.current = self.best_genome

    def go_on(self) -> None:
        """Kick the genome where the walk stands, settle, and stay there or go back."""
        rng = self.rng
        if self.idle and self.idle % 25 == 0:  # a while without gain: go on from the best, or from another good one
            other = rng.random() < 0.5
            self.current = self.best_genome if other else self.others[int(rng.integers(len(self.others)))]
            self.cost = float("inf")
        bits, kicked = kick(self.score.space, self.current, rng)
        before = self.best
        cost = self.settle(bits, kicked)
        # A little worse is taken now and then: that leaves narrow valleys.
        if cost <= self.cost or rng.random() < np.exp((self.cost - cost) / (0.004 * abs(cost) + 1e-300)):
            self.current, self.cost = bits, cost
        self.idle = 0 if self.best < before else self.idle + 1

    def result(self, patience: int) -> Result:
        """The best so far, and the state to go on from."""
        genome, state = self.best_genome.astype(np.int64), self.state()
        return Result(
            genome, self.value, self.steps, len(self.trace), state["trace"], genome[None, :], np.array([self.value]),
            state, len(self.waiting) == 0 and self.idle >= patience,
        )  # fmt: skip

    def state(self) -> dict[str, np.ndarray]:
        """Everything the next step depends on, as arrays."""
        chance = self.rng.bit_generator.state
        whole = [chance["state"]["state"], chance["state"]["inc"]]  # of 128 bits each
        words = [word for number in whole for word in (number & (2**64 - 1), number >> 64)]
        return {
            "best_genome": self.best_genome,
            "current": self.current,
            "others": self.others,
            "costs": self.costs,
            "waiting": self.waiting,
            "trace": np.array(self.trace).reshape(-1, 3),
            "numbers": np.array([self.fine, self.best, self.cost]),
            "tallies": np.array([self.steps, self.idle], dtype=np.int64),
            "chance": np.array([*words, chance["has_uint32"], chance["uinteger"]], dtype=np.uint64),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Stand where a state was taken."""
        self.best_genome, self.current = state["best_genome"].copy(), state["current"].copy()
        self.others, self.costs, self.waiting = (state[name].copy() for name in ("others", "costs", "waiting"))
        self.trace = [(row[0], row[1], row[2]) for row in state["trace"].tolist()]
        self.fine, self.best, self.cost = state["numbers"].tolist()
        self.steps, self.idle = state["tallies"].tolist()
        low, high, low_step, high_step, half, kept = state["chance"].tolist()
        chance = dict(self.rng.bit_generator.state)
        chance["state"] = {"state": low + (high << 64), "inc": low_step + (high_step << 64)}
        self.rng.bit_generator.state = chance | {"has_uint32": half, "uinteger": kept}

    @property
    def value(self) -> float:
        """The best score so far in its own unit."""
        return float(self.score.value(np.array([self.best]))[0])

    def settle(self, bits: np.ndarray, last: Sequence[int] = ()) -> float:
        """Descend, fines included; returns that cost. The best allowed genome near it is remembered."""
        cost, steps = self.cutter.descend(bits, self.rng, self.fine, last)
        self.steps += steps
        allowed = bits.copy()
        raw = float(self.score.raw(allowed[None, :])[0])
        self.fine *= 1.1 if raw >= INFEASIBLE else 0.93
        fine = self.fine
        while raw >= INFEASIBLE and 0 < fine < 1e6 * self.fine and not is_stopped():
            fine *= 4
            self.steps += self.cutter.descend(allowed, self.rng, fine)[1]
            raw = float(self.score.raw(allowed[None, :])[0])
        if raw < self.best:
            self.best, self.best_genome = raw, allowed
        self.trace.append((self.steps, self.value, len(self.trace) + 1))
        return cost


def kick(space: Cuts, bits: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Another genome near this one, and the columns that differ.

    The cuts of one to three columns are drawn anew, or only a few borders are flipped.
    """
    changed = np.array(bits, dtype=np.int64)
    if rng.random() < 0.5 or len(changed) == 0:
        drawn = first_genomes(space, 1, rng, "spread")[0]
        columns = rng.permutation(len(space.hierarchies))[: 1 + int(rng.integers(3))]
        for c in columns.tolist():
            part = slice(int(space.gene_at[c]), int(space.gene_at[c + 1]))
            changed[part] = drawn[part]
    else:
        for gene in rng.integers(len(changed), size=2 + int(rng.integers(6))).tolist():
            changed[gene] = 1 - changed[gene]
        changed = space.repair(changed[None, :], rng)[0]
    differs = np.flatnonzero(changed != bits)
    touched = np.unique(np.searchsorted(space.gene_at, differs, side="right") - 1)
    return changed.astype(np.uint8), [int(column) for column in touched]
