"""POkA: every trade-off between k and one loss by stepping down the lattice (Dewri et al., CIKM 2009).

From a known optimum, the base, it looks for the next one: the node with the largest smaller k, and among those the
least loss. It starts some levels below the base and climbs, trusting that climbing raises both k and the loss. The
second is not true with suppression, and three more steps of the paper fail (PO-e1 … PO-e7). So there are two
of them here: ``literal``, as printed, for replication, and ``repaired``.

Both need k as first objective and one loss as second, and a suppression under which k rises with generalization
(none, cap-max-k, or as-needed without limits on classes, whose largest threshold is what POkA is sent).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from kpareto.errors import BadJob, Stopped
from kpareto.fronts.numbers import Numbers
from kpareto.searches import OwnSet, ReportingMoves, count, setting
from kpareto.tables.lattice import Lattice, Space

if TYPE_CHECKING:
    from kpareto.fronts.problem import Problem

Repair = Literal["height", "below", "first", "loop", "again", "check"]
Stop = Literal["", "nothing found", "below the bottom", "told to stop"]
# What each repair changes of the printed algorithm:
REPAIRS: dict[Repair, str] = {
    "height": "climb past nodes that are not cheaper than the base (PO-e1)",
    "below": "evaluate the nodes below the base too, not only its neighbours (PO-e2, PO-e3)",
    "first": "at depth 1 report a neighbour only if its k and its loss are smaller (PO-e6)",
    "loop": "report the bottom too where its k is 1 (PO-7)",
    "again": "where nothing is found, or the depth reaches below the bottom, look from another depth (PO-7)",
    "check": "ask whether the top, and every reported node, is optimal (PO-e7)",
}
MOST = np.iinfo(np.int64).max
MOST_DEPTH = 10_000
MOST_NODES = 200_000_000  # the numbers of every node are kept, 17 bytes each


@dataclass(frozen=True)
class Reported:
    """What POkA itself reports, base after base; a front of all it evaluated may hold more."""

    nodes: np.ndarray  # (bases,) int64, node numbers, largest k first
    evaluated: int  # distinct nodes
    stopped: Stop = ""  # why it ended although k was above 2, such as no node that deep below the base

    @property
    def finished(self) -> bool:
        """Whether it went down to k = 2."""
        return self.stopped == ""


@dataclass(frozen=True)
class Poka:
    """POkA with some repairs; ``depth`` None looks from the bottom of the lattice.

    Children are taken in the order of the columns. Where several nodes have the same k and the same loss the first in
    the order of node numbers (first column slowest) is taken as the next base: the lowest level in the first column.
    """

    depth: int | None = setting(
        None, count(1, MOST_DEPTH), "levels below the base from which it climbs", "from the bottom"
    )
    repairs: frozenset[Repair] = frozenset()
    name: str = "poka"
    start: tuple[int, ...] | None = None  # levels of the first base; the top unless told (PO-r11)

    def moves(self, space: Space, rng: np.random.Generator) -> ReportingMoves:  # noqa: ARG002  (no chance in it)
        """Yield the nodes to evaluate, wave by wave; return the bases."""
        reported = yield from self.reports(space)
        return OwnSet(_lattice(space).levels(reported.nodes), "report")

    def reports(self, space: Space) -> Generator[np.ndarray, Numbers, Reported]:
        """Yield the nodes to evaluate, wave by wave; return what the algorithm itself reports.

        Stopped, thrown in while nodes are asked for, ends it with the bases so far.
        """
        lattice = _lattice(space)
        known = _Known(lattice)
        reported: list[int] = []
        try:
            stopped = yield from self._walk(lattice, known, reported)
        except Stopped:
            stopped = "told to stop"
        if "check" in self.repairs:
            reported = known.best(reported)
        return Reported(np.array(reported, dtype=np.int64), int(known.seen.sum()), stopped)

    def _walk(self, lattice: Lattice, known: _Known, reported: list[int]) -> Generator[np.ndarray, Numbers, Stop]:
        """Base after base, each added to ``reported`` when it is known; returns why it ended."""
        base = lattice.size - 1 if self.start is None else int(lattice.numbers(np.array([self.start]))[0])
        yield from known.learn(np.array([base]))
        reported.append(base)
        if "check" in self.repairs:  # a node below the top may have its k at less loss
            better = yield from self._next(lattice, known, base, beat=(np.inf, MOST))
            base = base if better is None else better
            reported[0] = base
        stopped = self._stop(lattice, known, base)
        while not stopped and known.k(base) > 2:
            below = yield from self._next(lattice, known, base, beat=known.both(base))
            if below is None:
                stopped = "nothing found"
                break
            base = below
            reported.append(base)
            stopped = self._stop(lattice, known, base)
        if {"height", "below", "again"} <= self.repairs:
            stopped = ""  # nothing found means nothing there
        if "loop" in self.repairs and known.k(base) == 2:
            # k = 1 suppresses nothing, and then the bottom has the least loss.
            yield from known.learn(np.array([0]))
            reported += [0] if known.k(0) < 2 else []
        return stopped

    def step(self, space: Space, base: int) -> Generator[np.ndarray, Numbers, int | None]:
        """The base after a given one (node numbers); None where nothing is found."""
        lattice = _lattice(space)
        known = _Known(lattice)
        yield from known.learn(np.array([base]))
        next_base = yield from self._next(lattice, known, base, beat=known.both(base))
        return next_base

    def _stop(self, lattice: Lattice, known: _Known, base: int) -> Stop:
        """Whether no node lies as deep below the base as the search wants to start (PO-7)."""
        deep = self.depth is not None and "again" not in self.repairs and known.k(base) > 2
        return "below the bottom" if deep and lattice.levels(np.array([base])).sum() < (self.depth or 0) else ""

    def _next(
        self, lattice: Lattice, known: _Known, base: int, beat: tuple[float, int]
    ) -> Generator[np.ndarray, Numbers, int | None]:
        """The next base, looking from one level deeper as often as it takes where that repair is made."""
        most = int(lattice.levels(np.array([base])).sum())
        depth = most if self.depth is None else self.depth
        if "again" in self.repairs:
            depth = min(depth, most)
        while True:
            next_base = yield from self._depth_search(lattice, known, base, depth, beat)
            if next_base is not None or "again" not in self.repairs or depth >= most:
                return next_base
            depth += 1

    def _depth_search(
        self, lattice: Lattice, known: _Known, base: int, depth: int, beat: tuple[float, int]
    ) -> Generator[np.ndarray, Numbers, int | None]:
        """PO-3: climb from every node ``depth`` levels below the base, and take the best of what is found.

        Only nodes with a smaller k and a smaller loss than ``beat`` (those of the base) count. The printed recursion
        with its memo tables visits a set of nodes that does not depend on the order, so whole waves are evaluated at
        once.
        """
        below = lattice.levels(np.array([base]))[0]
        wave = _specializations(lattice, below, depth)
        visited = np.zeros(lattice.size, dtype=np.bool_)
        visited[wave] = True
        usable: list[np.ndarray] = []
        first = depth == 1  # the neighbours themselves are evaluated, and literally nothing is asked of them
        while wave.size:
            levels = lattice.levels(wave)
            distance = np.where((levels <= below).all(axis=1), (below - levels).sum(axis=1), -1)
            hidden = (distance > 1) & ("below" not in self.repairs)  # in SG(base): climbed through unevaluated
            open_nodes = wave[~hidden]
            yield from known.learn(open_nodes)
            lower = known.ks[open_nodes] < beat[0]
            cheaper = known.losses[open_nodes] < beat[1]
            climbs = lower if "height" in self.repairs else lower & (cheaper | (distance[~hidden] > 1))
            if first and "first" not in self.repairs:
                usable.append(open_nodes)
                climbs = np.ones_like(lower)
            else:
                usable.append(open_nodes[lower & cheaper])
            first = False
            wave = _generalizations(lattice, np.concatenate((wave[hidden], open_nodes[climbs])))
            wave = wave[~visited[wave]]
            visited[wave] = True
        candidates = np.sort(np.concatenate(usable)) if usable else np.empty(0, dtype=np.int64)
        if candidates.size == 0:
            return None
        return int(candidates[np.lexsort((known.losses[candidates], -known.ks[candidates]))[0]])


@dataclass
class _Known:
    """The numbers of the nodes evaluated so far."""

    lattice: Lattice
    seen: np.ndarray = field(init=False)  # (nodes,) bool
    ks: np.ndarray = field(init=False)  # (nodes,) float64
    losses: np.ndarray = field(init=False)  # (nodes,) int64, keys: lower is better

    def __post_init__(self) -> None:
        self.seen = np.zeros(self.lattice.size, dtype=np.bool_)
        self.ks = np.zeros(self.lattice.size)
        self.losses = np.zeros(self.lattice.size, dtype=np.int64)

    def learn(self, nodes: np.ndarray) -> Generator[np.ndarray, Numbers, None]:
        """Ask for the numbers of those nodes that are not known yet."""
        new = np.unique(nodes[~self.seen[nodes]])
        if new.size == 0:
            return
        numbers = yield self.lattice.levels(new)
        self.seen[new] = True
        self.ks[new] = numbers.values[:, 0]
        self.losses[new] = numbers.keys[:, 1]

    def k(self, node: int) -> float:
        """The k of a known node."""
        return float(self.ks[node])

    def both(self, node: int) -> tuple[float, int]:
        """The k and the loss of a known node."""
        return self.k(node), int(self.losses[node])

    def best(self, nodes: Iterable[int]) -> list[int]:
        """Those of the nodes that none of them dominates, largest k first, one of each pair of numbers."""
        kept: list[int] = []
        for node in sorted(set(nodes), key=lambda n: (-self.ks[n], self.losses[n], n)):
            if not kept or self.losses[node] < self.losses[kept[-1]]:
                kept.append(node)
        return kept


def _lattice(space: Space) -> Lattice:
    if not isinstance(space, Lattice):
        raise BadJob(f"POkA walks a lattice, and the space is {space.kind!r}. Take space = 'lattice'.")
    if space.size > MOST_NODES:
        raise BadJob(
            f"POkA keeps numbers for each node, and the lattice has {space.size:,} (at most {MOST_NODES:,}). "
            "Take the certified exact search or pbg-ea."
        )
    return space


def _specializations(lattice: Lattice, levels: np.ndarray, depth: int) -> np.ndarray:
    """The nodes ``depth`` levels below the given one, in all: (n,) int64, rising."""
    nodes = np.array([[0, int(lattice.numbers(levels[None, :])[0])]], dtype=np.int64)  # levels gone down, node number
    for column, most in enumerate(levels.tolist()):
        steps = np.arange(min(most, depth) + 1)
        down = np.stack((np.tile(steps, len(nodes)), -lattice.strides[column] * np.tile(steps, len(nodes))), axis=1)
        nodes = np.repeat(nodes, len(steps), axis=0) + down
        nodes = nodes[nodes[:, 0] <= depth]
    return np.sort(nodes[nodes[:, 0] == depth, 1])


def _generalizations(lattice: Lattice, nodes: np.ndarray) -> np.ndarray:
    """The nodes one level above any of the given: (n,) int64, rising, each once."""
    levels = lattice.levels(nodes)
    above = [nodes[levels[:, c] < lattice.genes[c] - 1] + stride for c, stride in enumerate(lattice.strides)]
    return np.unique(np.concatenate(above))


def average_depth(space: Space) -> int:
    """The depth the paper recommends: the mean number of levels above the leaves, rounded up (d_avg)."""
    return max(1, -(-int((space.genes - 1).sum()) // len(space.genes)))


def literal(depth: int) -> Poka:
    """POkA as printed (PO-3).

    It guarantees nothing: optima can be missed and dominated nodes reported, at any depth (O17, O28).
    """
    return Poka(depth, name="poka-literal")


def repair_poka(depth: int | None = None) -> Poka:
    """POkA with every step repaired.

    With unlimited depth (None) it finds one node for every point of the front, proven: k never falls under
    generalization, so every node with a smaller k than the base is reached from the bottom, and the best of them is
    the next point. The price is that it evaluates nearly every node. With a limited depth it reports no node that it
    knows to be dominated and never dies early, but points may be missed (PO-e4).
    """
    return Poka(depth, frozenset(REPAIRS))


def check_problem(problem: Problem) -> None:
    """Raise unless POkA can work on the problem: k first, one loss second, k rising with generalization."""
    names = [measure.name for measure in problem.objectives]
    if len(names) != 2 or names[0] != "k" or problem.objectives[1].better != "lower":
        raise BadJob(f"POkA trades k against one loss, and the objectives are {', '.join(names)}. Take k and glm.")
    if problem.suppression.rule == "below-k" or problem.class_limits:
        limits = " with limits on classes" if problem.class_limits else ""
        raise BadJob(
            "POkA needs a suppression under which k rises with generalization, and the rule is "
            f"{problem.suppression.rule!r}{limits}. "
            'Take cap-max-k, as its paper does: rule = "cap-max-k" under [suppression].'
        )
