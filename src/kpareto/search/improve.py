"""Improve: better than the papers. Recut one column after the other exactly, start again elsewhere, stop when idle.

While all other columns stay as they are, the groups of one column do not share classes, so their costs add up and the
best cut of that column is found exactly: a shortest path over borders, or a walk up the tree. ``improve`` repeats that
until no column gains, kicks a few columns and goes on. ``Improve`` is a local search on single cuts behind the seam,
for any problem and any number of objectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kpareto import kernels
from kpareto.cuts import Cuts
from kpareto.dominance import non_dominated
from kpareto.errors import BadJob
from kpareto.problem import Problem
from kpareto.score import INFEASIBLE, Score
from kpareto.search import Moves
from kpareto.search.genitor import Keep, Progress, Result
from kpareto.space import Lattice, Space
from kpareto.variation import first_genomes

Column = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Recutter:
    """A score made ready for recutting single columns."""

    score: Score

    def __post_init__(self) -> None:
        if set(self.score._targets) - {"cm", "cm-rows"}:
            raise BadJob(
                "Recutting needs a loss that adds up over classes: a cell loss, cm, or a sum of them. "
                "Run genitor for cost-cm and reg-variance."
            )

    @cached_property
    def _columns(self) -> list[Column]:
        """Per column: borders, tree (first leaf, last leaf, parent; none where free), rows by leaf, leaf starts."""
        found: list[Column] = []
        space, codes = self.score.space, self.score.table.codes
        none = np.zeros(0, dtype=np.int64)
        for c, hierarchy in enumerate(space.hierarchies):
            order = np.argsort(codes[:, c], kind="stable").astype(np.int64)
            starts = np.searchsorted(codes[order, c], np.arange(len(hierarchy.leaves) + 1)).astype(np.int64)
            tree = hierarchy.tree
            first, last, parent = (none, none, none) if space.free[c] else (tree.first, tree.last, tree.parent)
            nodes = (first.astype(np.int64), last.astype(np.int64), parent.astype(np.int64))
            found.append((space.gaps[c], *nodes, order, starts))
        return found

    @cached_property
    def _room(self) -> tuple[np.ndarray, ...]:
        view = self.score.view
        return kernels.score_room(
            view[2].shape[1], len(view[1]), view[0].shape[1], view[4].shape[0], int(self.score.space.leaf_at[-1])
        )

    def recut(self, bits: np.ndarray, column: int, fine: float = 0.0) -> float:
        """Put the best cut of one column into bits (genes,) uint8; each suppressed row costs a fine besides."""
        score, space = self.score, self.score.space
        columns, borders, run_at, runs, lost, _, rules, uses, _, _ = score.evaluation
        return kernels.recut(
            bits, column, space.gene_at, space.gene_leaf, space.leaf_at, *self._columns[column], score.table.codes,
            columns, borders, score.view, run_at, runs, lost, rules, uses, fine, self._room,
        )  # fmt: skip

    def descend(
        self, bits: np.ndarray, rng: np.random.Generator, fine: float = 0.0, last: Sequence[int] = ()
    ) -> tuple[float, int]:
        """Recut columns in random order until none gains; returns the cost and how many columns were recut.

        The columns in ``last`` wait until all others had a turn: a column just kicked would only go back.
        """
        columns = len(self.score.space.hierarchies)
        cost, idle, steps = float("inf"), 0, 0
        waiting = set(last)
        while idle < columns:
            order = sorted(rng.permutation(columns).tolist(), key=waiting.__contains__)
            waiting = set()
            for column in order:
                found = self.recut(bits, column, fine)
                steps += 1
                idle = 0 if found < cost - 1e-9 * abs(found) else idle + 1
                cost = min(cost, found)
                if idle >= columns:
                    break
        return cost, steps


def improve(  # noqa: PLR0913 (keywords, each a choice of its own)
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
    called before each start and each kick.
    """
    rng = np.random.default_rng(seed)
    if resume is None:
        fresh = first_genomes(score.space, max(restarts, 1), rng, "spread")
        given = fresh if starts is None else np.concatenate((np.asarray(starts, dtype=np.int64), fresh[:restarts]))
        walk = _Walk(Recutter(score), rng, given.astype(np.uint8))
    else:
        walk = _Walk(Recutter(score), rng, resume["champion"][None, :])
        walk.restore(resume)
    while len(walk.waiting) or walk.idle < patience:
        if keep is not None:
            keep(lambda: walk.result(patience))
        if len(walk.waiting):
            walk.begin(max(restarts, 1))
        else:
            walk.go_on()
        if progress is not None and not progress(walk.steps, walk.value):
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
        dear = float(np.sum(self.score.evaluation[4]) + self.score.evaluation[7][3])
        self.fine = 0.0 if self.score.allowed >= self.score.table.rows else dear
        self.best, self.steps = float("inf"), 0
        self.trace: list[tuple[float, float, float]] = []
        self.champion = starts[0]
        self.current, self.cost, self.idle = self.champion, float("inf"), 0  # where it stands, and kicks without gain
        self.runners, self.costs = starts[:0], np.zeros(0)  # (n, genes) uint8, other good genomes to go on from

    def begin(self, most: int) -> None:
        """Settle the next start; the walk goes on from the best, and the best few are kept for later."""
        bits, self.waiting = self.waiting[0].copy(), self.waiting[1:]
        costs = np.append(self.costs, self.settle(bits))
        best = np.argsort(costs, kind="stable")[:most]
        self.runners, self.costs = np.concatenate((self.runners, bits[None, :]))[best], costs[best]
        self.current = self.champion

    def go_on(self) -> None:
        """Kick the genome where the walk stands, settle, and stay there or go back."""
        rng = self.rng
        if self.idle and self.idle % 25 == 0:  # a while without gain: go on from the best, or from another good one
            other = rng.random() < 0.5
            self.current = self.champion if other else self.runners[int(rng.integers(len(self.runners)))]
            self.cost = float("inf")
        bits, kicked = kick(self.score.space, self.current, rng)
        before = self.best
        found = self.settle(bits, kicked)
        # A little worse is taken now and then: that leaves narrow valleys.
        if found <= self.cost or rng.random() < np.exp((self.cost - found) / (0.004 * abs(found) + 1e-300)):
            self.current, self.cost = bits, found
        self.idle = 0 if self.best < before else self.idle + 1

    def result(self, patience: int) -> Result:
        """The best so far, and the state to go on from."""
        genome, state = self.champion.astype(np.int64), self.state()
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
            "champion": self.champion,
            "current": self.current,
            "runners": self.runners,
            "costs": self.costs,
            "waiting": self.waiting,
            "trace": np.array(self.trace).reshape(-1, 3),
            "numbers": np.array([self.fine, self.best, self.cost]),
            "tallies": np.array([self.steps, self.idle], dtype=np.int64),
            "chance": np.array([*words, chance["has_uint32"], chance["uinteger"]], dtype=np.uint64),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Stand where a state was taken."""
        self.champion, self.current = state["champion"].copy(), state["current"].copy()
        self.runners, self.costs, self.waiting = (state[name].copy() for name in ("runners", "costs", "waiting"))
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
        while raw >= INFEASIBLE and 0 < fine < 1e6 * self.fine:
            fine *= 4
            self.steps += self.cutter.descend(allowed, self.rng, fine)[1]
            raw = float(self.score.raw(allowed[None, :])[0])
        if raw < self.best:
            self.best, self.champion = raw, allowed
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


def lattice_starts(problem: Problem, space: Cuts, most: int = 60, threads: int | None = None) -> np.ndarray:
    """The exact lattice front of a problem as genomes of the flexible space: (n, genes) int64, at most ``most``.

    Every lattice node is such a genome (SPEC A.0.3), so the flexible search starts from proven trade-offs.
    """
    lattice = Lattice(problem.table.hierarchies)
    nodes, keys = [np.zeros(0, dtype=np.int64)], [np.zeros((0, len(problem.objectives)), dtype=np.int64)]
    for numbers in problem.whole_lattice(threads):
        places = np.flatnonzero(numbers.feasible)
        chosen = places[non_dominated(numbers.keys[places], "one")]
        nodes.append(numbers.which[chosen])
        keys.append(numbers.keys[chosen])
    every, costs = np.concatenate(nodes), np.concatenate(keys)
    front = every[non_dominated(costs, "one")]
    if len(front) == 0:
        return np.zeros((0, len(space.genes)), dtype=np.int64)
    if len(front) > most:
        front = np.sort(front)[np.linspace(0, len(front) - 1, most).astype(np.int64)]
    return space.embed(lattice.levels(front))


@dataclass(frozen=True)
class Improve:
    """Local search on single cuts behind the seam: the neighbours of every trade-off found, until none is new.

    Starts from ``starts`` (the embedded lattice front), keeps its own list of non-dominated genomes, proposes all
    genomes one cut away from each, and restarts from random genomes ``restarts`` times when nothing improves.
    """

    starts: np.ndarray | None = None  # (n, genes)
    restarts: int = 2
    population: int = 20
    name: str = "improve"

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:
        """Propose starts and neighbours; ends when a last restart adds nothing."""
        if not isinstance(space, Cuts):
            raise BadJob(
                "This search flips single cuts. Take the space 'cuts' or 'order', or the search 'exact' for a lattice."
            )
        front: dict[bytes, tuple[np.ndarray, tuple[int, ...]]] = {}
        explored: set[bytes] = set()
        batch = first_genomes(space, self.population, rng, "spread", () if self.starts is None else self.starts)
        if self.starts is not None and len(self.starts):
            batch = np.asarray(self.starts, dtype=np.int64)
        left = self.restarts
        while True:
            numbers = yield batch
            for place, row in enumerate(numbers.which.tolist()):
                if numbers.feasible[place]:
                    front.setdefault(batch[row].tobytes(), (batch[row], tuple(numbers.keys[place].tolist())))
            front = _best(front)
            waiting = [key for key in front if key not in explored]
            if waiting:
                chosen = waiting[int(rng.integers(len(waiting)))]
                explored.add(chosen)
                batch = neighbours(space, front[chosen][0])
                continue
            if left == 0:
                return
            left -= 1
            batch = first_genomes(space, self.population, rng, "spread")


def _best(front: dict[bytes, tuple[np.ndarray, tuple[int, ...]]]) -> dict[bytes, tuple[np.ndarray, tuple[int, ...]]]:
    if not front:
        return front
    names = list(front)
    kept = non_dominated(np.array([front[name][1] for name in names], dtype=np.int64), "one")
    return {names[place]: front[names[place]] for place in sorted(kept.tolist())}


def neighbours(space: Cuts, genome: np.ndarray | Sequence[int]) -> np.ndarray:
    """Every genome one cut away: a border of a free column flipped, a tree node split or its children joined."""
    bits = np.asarray(genome, dtype=np.int64)
    found: list[np.ndarray] = []
    for gene in np.flatnonzero(space.free_genes).tolist():
        other = bits.copy()
        other[gene] = 1 - other[gene]
        found.append(other)
    trees = space.trees
    children: dict[int, list[int]] = {}
    for child, parent in enumerate(trees.parent.tolist()):
        children.setdefault(parent, []).append(child)
    for place in range(len(trees.first)):
        first, stop = int(trees.first[place]), int(trees.stop[place])
        if first == stop or not _bordered(space, trees, place, bits):
            continue
        borders = [int(trees.border[child]) for child in children[place] if trees.border[child] >= 0]
        inside = bits[first:stop]
        other = bits.copy()
        if not inside.any():  # shown whole: split into its children
            other[borders] = 1
        elif inside.sum() == len(borders):  # its children are shown whole: join them
            other[first:stop] = 0
        else:
            continue
        found.append(other)
    return np.array(found, dtype=np.int64).reshape(len(found), len(bits))


def _bordered(space: Cuts, trees: object, place: int, bits: np.ndarray) -> bool:
    """Whether a node's run is cut off from its neighbours, so that it can be shown or split."""
    parent = int(trees.parent[place])  # type: ignore[attr-defined]
    if parent < 0:
        return True
    first, stop = int(trees.first[place]), int(trees.stop[place])  # type: ignore[attr-defined]
    left = first == int(trees.first[parent]) or bool(bits[first - 1])  # type: ignore[attr-defined]
    right = stop == int(trees.stop[parent]) or bool(bits[stop])  # type: ignore[attr-defined]
    return left and right and _bordered(space, trees, parent, bits)
