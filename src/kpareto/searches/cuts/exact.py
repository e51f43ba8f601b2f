"""Every trade-off of a small space of cuts, counted: what heuristic searches over cuts can be judged by.

A recoding has a number: its digits are the genes of free columns (0 or 1) and the cuts of trees, from the coarsest to
the finest. Blocks of neighbouring numbers agree in their first digits, so that the first recoding of a block is the
coarsest of it and the last one the finest. Where the measures promise how they move when classes merge, these two bound
what all others of the block can have; a block that a known point beats, or whose coarsest recoding misses a limit, is
left out. What is left is counted, so the answer is the same as counting everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kpareto.errors import BadJob, Remedy
from kpareto.fronts.dominance import Ties
from kpareto.fronts.front import Front, make_front
from kpareto.fronts.numbers import Provenance, spell_count
from kpareto.fronts.problem import Problem
from kpareto.kernels.compiling import working
from kpareto.measures.measure import Measure
from kpareto.searches.checkpoint import Arrays, Kept, job_print
from kpareto.searches.cuts.starts import lattice_starts
from kpareto.searches.driver import Ending, Tell
from kpareto.searches.lattice.exact import CLOUD, State, merge_part, nothing_counted, pack_state, state_from
from kpareto.tables.cuts import Cuts
from kpareto.tables.hierarchy import Tree

MOST = 2**22  # recodings of a small space
BLOCK = 256  # recodings that are bounded together
TOGETHER = 32  # blocks that are judged by the same known points


def tree_cuts(tree: Tree) -> np.ndarray:
    """Every cut of a tree, from the coarsest to the finest: (cuts, borders) uint8."""
    rows: list[np.ndarray] = [np.zeros((1, 0), dtype=np.uint8)] * len(tree.labels)
    for node in range(len(tree.labels) - 1, -1, -1):
        if not tree.children[node]:
            continue
        first, *others = tree.children[node]
        inside = rows[first]
        for child in others:
            border = np.ones((len(inside) * len(rows[child]), 1), dtype=np.uint8)
            left = np.repeat(inside, len(rows[child]), axis=0)
            inside = np.hstack((left, border, np.tile(rows[child], (len(inside), 1))))
        rows[node] = np.vstack((np.zeros((1, inside.shape[1]), dtype=np.uint8), inside))
    return rows[0]


@dataclass(frozen=True, eq=False)
class NumberedCuts:
    """The recodings of a space by their numbers, from 0 on; the digits of the last column move fastest."""

    space: Cuts

    @cached_property
    def digits(self) -> tuple[np.ndarray, ...]:
        """What each digit stands for, side by side the genome: (values, genes of the digit) uint8."""
        bit = np.array([[0], [1]], dtype=np.uint8)
        columns = zip(self.space.hierarchies, self.space.free, self.space.gaps, strict=True)
        return tuple(
            digit for h, free, gaps in columns for digit in ([bit] * len(gaps) if free else [tree_cuts(h.tree)])
        )

    @cached_property
    def block(self) -> int:
        """How many recodings agree in all but the last digits; one where the last digit alone has more than BLOCK."""
        size = 1
        for digit in reversed(self.digits):
            if size * len(digit) > BLOCK:
                break
            size *= len(digit)
        return size

    def genomes(self, numbers: np.ndarray) -> np.ndarray:
        """The genomes of some recodings: (n, genes) int64."""
        parts, rest = [np.zeros((len(numbers), 0), dtype=np.uint8)], np.asarray(numbers, dtype=np.int64)
        for digit in reversed(self.digits):
            parts.append(digit[rest % len(digit)])
            rest = rest // len(digit)
        return np.hstack(parts[::-1]).astype(np.int64)


def _improves(measure: Measure) -> bool | None:
    """Whether a measure never gets worse when classes merge (True), never better (False), or promises nothing."""
    trend = measure.trend.get("none", "either")
    return None if trend == "either" else (trend == "rises") == (measure.better == "higher")


@dataclass(eq=False)
class ExactCuts:
    """The exact search over a small space of cuts, driven block by block."""

    problem: Problem
    space: Cuts
    ties: Ties = "all"
    threads: int | None = None
    seed: int = 1
    began: float = field(default_factory=working)

    @property
    def total(self) -> int:
        """The recodings of the space."""
        return self.space.size

    @cached_property
    def numbered(self) -> NumberedCuts:
        """Its recodings by number."""
        return NumberedCuts(self.space)

    def fingerprint(self) -> str:
        """The job and how ties are kept; threads change nothing."""
        return job_print(self.problem, self.space, "exact", self.ties)

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[State]) -> Front:
        """Count all blocks that are not proven to hold nothing."""
        if self.total > MOST:
            remedy = Remedy(
                "choose-search", "Take another search for them, such as nsga2 or improve, or fewer columns or values."
            )
            raise BadJob(
                f"The space {self.space.kind!r} has {spell_count(self.total)} recodings here, and the exact search "
                f"counts up to {MOST:,} of such a space.",
                remedy=remedy,
            )
        state = nothing_counted(self.problem) if known is None else state_from(known)
        for now in self._states(state):
            state = now
            kept.take(now)
            tell(now.settled, lambda: state.best)  # noqa: B023 (used at once)
        return self._front(state)

    def _states(self, state: State) -> Iterator[State]:
        size, share = self.numbered.block, min(1.0, CLOUD / self.total)
        bar = self._first_keys()
        for start in range(state.done * size, self.total, size * TOGETHER):
            firsts = np.arange(start, min(start + size * TOGETHER, self.total), size, dtype=np.int64)
            open_blocks = firsts[~self._beaten(firsts, np.concatenate((bar, state.best.keys)))]
            numbers = (open_blocks[:, None] + np.arange(size)).ravel()
            part = self.problem.evaluate(self.space, self.numbered.genomes(numbers), self.threads)
            merged = merge_part(state, replace(part, which=numbers[part.which]), len(numbers), self.ties, share)
            state = replace(merged, done=state.done + len(firsts), settled=state.settled + size * len(firsts))
            yield state

    def _first_keys(self) -> np.ndarray:
        """The keys of some good recodings, which many blocks can be judged by from the beginning: (n, objectives)."""
        if None in self._trends:
            return np.zeros((0, len(self.problem.objectives)), dtype=np.int64)
        numbers = self.problem.evaluate(self.space, lattice_starts(self.problem, self.space, threads=self.threads))
        return numbers.keys[numbers.feasible]

    @cached_property
    def _trends(self) -> list[bool | None]:
        """What each objective promises, where nothing is suppressed; nothing where keys are no whole numbers."""
        counted = self.problem.is_compiled and self.problem.suppression.rule == "none"
        return [_improves(measure) if counted else None for measure in self.problem.objectives]

    @cached_property
    def _can_limit(self) -> bool:
        """Whether no recoding meets the limits whose coarser ones miss them."""
        limits = self.problem.limits
        return self.problem.suppression.rule == "none" and bool(limits) and all(_improves(m) for m, _ in limits)

    def _beaten(self, firsts: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Which blocks, by their first numbers, hold nothing that is not beaten: (blocks,) bool."""
        beaten = np.zeros(len(firsts), dtype=np.bool_)
        if None in self._trends and not self._can_limit:
            return beaten
        both = self.numbered.genomes(np.concatenate((firsts, firsts + self.numbered.block - 1)))
        numbers = self.problem.evaluate(self.space, both, self.threads)
        if None not in self._trends:
            coarse, fine = numbers.keys[: len(firsts)], numbers.keys[len(firsts) :]
            for place, bound in enumerate(np.where(self._trends, coarse, fine)):
                beaten[place] = bool(((known <= bound).all(axis=1) & (known < bound).any(axis=1)).any())
        return beaten | ~numbers.feasible[: len(firsts)] if self._can_limit else beaten

    def pack(self, standing: State) -> Arrays:
        """The front so far and how many blocks are settled."""
        return pack_state(standing)

    def front_so_far(self, standing: State | None, ending: Ending) -> Front:
        """The front of what was counted until then."""
        return self._front(nothing_counted(self.problem) if standing is None else standing, ending)

    def _front(self, state: State, ending: Ending | None = None) -> Front:
        complete = state.settled >= self.total
        note = ""
        if not complete and ending is not None:
            note = f"{ending.note} after {state.settled:,} of {self.total:,} recodings were settled"
        provenance = Provenance(
            "exact", state.counted, complete, self.seed, working() - self.began, note, {"settled": state.settled},
            stopped=not complete and ending is not None and ending.stopped, points="exact" if complete else "counted",
        )  # fmt: skip
        genomes = self.numbered.genomes(state.best.which)
        best = replace(state.best, which=np.arange(len(genomes)))
        return replace(make_front(self.problem, self.space, genomes, best, provenance, self.ties), cloud=state.cloud)
