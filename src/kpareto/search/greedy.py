"""Searches people know from other tools, to stand beside the front: Datafly, Samarati, top-down specialization.

Each answers one question, "meet these limits", with one recoding, and none promises the least loss. Datafly and
Samarati walk the lattice; the limits are those of the Problem. Top-down specialization cuts trees.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadJob, Unsafe
from kpareto.hierarchy import Hierarchy
from kpareto.measure import spell
from kpareto.partition import Partition
from kpareto.problem import EMPTY, Numbers, Problem, problem
from kpareto.recoding import Recoding
from kpareto.search import Moves
from kpareto.space import Kind, Lattice, Space
from kpareto.table import Counts, Table

BATCH = 4096  # nodes of one height evaluated at once


@dataclass(frozen=True, eq=False)
class Answer:
    """One recoding that meets the limits, and what its search does not promise."""

    method: str
    recoding: Recoding
    partition: Partition
    values: dict[str, float]  # the objectives of the problem
    evaluated: int  # recodings counted
    promise: str


# -- Datafly ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Datafly:
    """Greedy (Sweeney 1997): raise the column that shows most distinct values until the limits are met.

    It promises that the limits are met if the top meets them. It does not promise the least loss, nor that no level
    could be lowered again: it often generalizes far too much.
    """

    shown: tuple[np.ndarray, ...]  # per column (levels,) int64, groups in use
    name: str = "datafly"

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:  # noqa: ARG002  (no chance in it)
        """Yield one node after the other."""
        yield from self.reports(space)

    def reports(self, space: Space) -> Generator[np.ndarray, Numbers, np.ndarray | None]:
        """The same, and the levels that meet the limits as the generator's return value; None where none do."""
        highest = _highest(space, self.name)
        levels = np.zeros_like(highest)
        while True:
            numbers = yield levels[None, :].copy()
            if numbers.feasible[0]:
                return levels
            shown = [int(counts[level]) for counts, level in zip(self.shown, levels.tolist(), strict=True)]
            most = [count if level < top else -1 for count, level, top in zip(shown, levels, highest, strict=True)]
            if max(most) < 0:
                return None
            levels[int(np.argmax(most))] += 1


def datafly_for(table: Table) -> Datafly:
    """Datafly for a table: it looks at how many groups of each level hold rows."""
    shown = []
    for column, hierarchy in enumerate(table.hierarchies):
        used = np.flatnonzero(table.observed[column])
        shown.append(np.array([len(np.unique(cut[used])) for cut in hierarchy.groups], dtype=np.int64))
    return Datafly(tuple(shown))


# -- Samarati ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Samarati:
    """Binary search on the height of the lattice (Samarati 2001), then every node of the least height.

    It promises the least height (sum of levels) at which a node meets the limits, if generalizing a node that meets
    them never breaks them: true for k with none or cap-max-k suppression and for constraint with k alone, not for the
    other models. It does not promise the least loss: a higher node can cost less.
    """

    name: str = "samarati"

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:  # noqa: ARG002  (no chance in it)
        """Yield the nodes of one height after the other."""
        yield from self.reports(space)

    def reports(self, space: Space) -> Generator[np.ndarray, Numbers, np.ndarray | None]:
        """The same, and as the return value the levels with the best last objective at the least height."""
        highest = _highest(space, self.name)
        low, high = 0, int(highest.sum())
        best = yield from self._best(highest, high, every=True)
        if best is None:
            return None
        while low < high:
            middle = (low + high) // 2
            found = yield from self._best(highest, middle, every=False)
            if found is None:
                low = middle + 1
            else:
                high = middle
        if high < int(highest.sum()):
            best = yield from self._best(highest, high, every=True)
        return best

    def _best(self, highest: np.ndarray, height: int, every: bool) -> Generator[np.ndarray, Numbers, np.ndarray | None]:
        """The best node of a height that meets the limits; the first batch with one will do unless ``every``."""
        best: tuple[int, np.ndarray] | None = None
        for batch in nodes_of_height(highest, height):
            numbers = yield batch
            for place in np.flatnonzero(numbers.feasible).tolist():
                key = int(numbers.keys[place, -1])
                if best is None or key < best[0]:
                    best = (key, batch[place])
            if best is not None and not every:
                break
        return None if best is None else best[1]


def nodes_of_height(highest: np.ndarray, height: int) -> Iterator[np.ndarray]:
    """The nodes whose levels add up to a height, in batches (n, columns), in lexicographic order."""
    left = np.concatenate((np.cumsum(highest[::-1])[::-1][1:], [0]))  # what the columns to the right can still take

    def extend(done: list[int], need: int) -> Iterator[list[int]]:
        column = len(done)
        if column == len(highest):
            yield done
            return
        for level in range(max(0, need - int(left[column])), min(int(highest[column]), need) + 1):
            yield from extend([*done, level], need - level)

    batch: list[list[int]] = []
    for levels in extend([], height):
        batch.append(levels)
        if len(batch) == BATCH:
            yield np.array(batch, dtype=np.int64)
            batch = []
    if batch:
        yield np.array(batch, dtype=np.int64)


def answer(given: Problem, search: Datafly | Samarati) -> Answer:
    """Run Datafly or Samarati on a problem with limits; Unsafe where not even the top meets them."""
    if not given.limits:
        raise BadJob(f"{search.name} looks for a node that meets limits, and there are none. Give limits, such as k.")
    lattice, evaluated = Lattice(given.table.hierarchies), 0
    steps = search.reports(lattice)
    try:
        genomes = next(steps)
        while True:
            evaluated += len(genomes)
            genomes = steps.send(given.evaluate(lattice, genomes))
    except StopIteration as end:
        levels: np.ndarray | None = end.value
    if levels is None:
        raise Unsafe("No node meets the limits, not even the top of the lattice. Ask for less, or suppress more rows.")
    recoding = lattice.decode(levels)
    made = given.partition(recoding)
    values = {measure.name: measure(made) for measure in given.objectives}
    promise = " ".join((type(search).__doc__ or "").split("\n\n")[1].split())
    return Answer(search.name, recoding, made, values, evaluated, promise)


def _highest(space: Space, name: str) -> np.ndarray:
    if not isinstance(space, Lattice):
        raise BadJob(f"{name} walks a lattice, and the space is {space.kind!r}. Take space = 'lattice'.")
    return space.genes - 1


# -- Top-down specialization ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Any cuts, drawn leaf by leaf: a genome is the cuts of the columns side by side."""

    hierarchies: tuple[Hierarchy, ...]
    kind: Kind = "cuts"

    @property
    def genes(self) -> np.ndarray:
        return np.concatenate([np.arange(1, len(h.leaves) + 1) for h in self.hierarchies])

    @property
    def size(self) -> int:
        return math.prod(2 ** (len(h.leaves) - 1) if h.ordered else h.tree.cuts() for h in self.hierarchies)

    def cuts(self, genomes: np.ndarray) -> np.ndarray:
        return genomes.astype(np.int32)

    def decode(self, genome: Sequence[int] | np.ndarray) -> Recoding:
        ends = np.cumsum([len(h.leaves) for h in self.hierarchies])[:-1]
        return Recoding(self.hierarchies, tuple(np.split(np.asarray(genome, dtype=np.int32), ends)))


TOP_DOWN_PROMISE = (
    "It promises at least the k asked for. It does not promise the fewest classification errors or the least loss: "
    "each step is the best at its moment and never taken back."
)
Cut = tuple[tuple[int, int], ...]  # first and last leaf of each group, in order


def top_down(table: Table, k: int, limit: float = 0.0, target: str | None = None) -> Answer:
    """Top-down specialization (Fung, Wang & Yu 2005): split groups while k holds, best for the target first.

    From everything generalized, a group is split into its children in the tree, or in two where the column is ordered,
    at the border that tells most about the target. The next split has the best score: information gain / (k now − k
    then), or the gain itself where k does not fall. Splits that break k or tell nothing are left out. ``limit``
    suppresses rows as cap-max-k does; the paper suppresses none.
    """
    counts = table.counts(target, "target")
    given = problem(table, ["k", "lm", spell("cm", column=counts.name)], limit)
    space = _Drawn(table.hierarchies)
    knows = [_Told(table, column, counts) for column in range(len(table.hierarchies))]
    shown: list[Cut] = [((0, len(h.leaves) - 1),) for h in table.hierarchies]
    now = float(given.evaluate(space, _genomes([shown])).values[0, 0])
    if isinstance(k, bool) or not 1 <= k <= now < EMPTY:
        raise Unsafe(f"k = {k!r} cannot be reached: everything generalized gives {now:,.0f}. Ask for 1 to that.")
    evaluated, broken = 1, set[tuple[int, tuple[int, int]]]()
    while True:
        splits = [(c, run) for c, cut in enumerate(shown) for run in cut if (c, run) not in broken]
        splits = [(c, run) for c, run in splits if knows[c].best(run)[0] > 1e-9]
        if not splits:
            break
        tried = [_split(shown, c, run, knows[c].best(run)[1]) for c, run in splits]
        then = given.evaluate(space, _genomes(tried)).values[:, 0]
        evaluated += len(tried)
        gain = np.array([knows[c].best(run)[0] for c, run in splits])
        score = np.where(then >= k, gain / np.maximum(now - then, 1), -1.0)
        # k never rises when groups are split, so a split that breaks it now always will.
        broken |= {split for split, size in zip(splits, then.tolist(), strict=True) if size < k}
        best = int(np.argmax(score))
        if score[best] < 0:
            break
        shown, now = tried[best], float(then[best])
    recoding = space.decode(_genomes([shown])[0])
    made = given.partition(recoding)
    values = {measure.name: measure(made) for measure in given.objectives}
    return Answer("top-down", recoding, made, values, evaluated, TOP_DOWN_PROMISE)


def _genomes(many: Sequence[Sequence[Cut]]) -> np.ndarray:
    """Cuts as runs -> cuts as group numbers side by side: (n, all leaves) int32."""
    return np.array([[g for cut in cuts for g, (a, b) in enumerate(cut) for _ in range(a, b + 1)] for cuts in many])


def _split(shown: Sequence[Cut], column: int, run: tuple[int, int], parts: Cut) -> list[Cut]:
    """The cuts after a group has been replaced by its parts."""
    cut = tuple(piece for group in shown[column] for piece in (parts if group == run else (group,)))
    return [*shown[:column], cut, *shown[column + 1 :]]


class _Told:
    """What splitting the groups of one column tells about the target."""

    def __init__(self, table: Table, column: int, counts: Counts) -> None:
        self.hierarchy = table.hierarchies[column]
        leaves, values = len(self.hierarchy.leaves), len(counts.values)
        at = table.codes[counts.row, column].astype(np.int64) * values + counts.code
        by_leaf = np.bincount(at, weights=counts.count, minlength=leaves * values).reshape(leaves, values)
        self.before = np.concatenate((np.zeros((1, values)), np.cumsum(by_leaf, axis=0)))  # rows before each leaf
        self.known: dict[tuple[int, int], tuple[float, Cut]] = {}

    def best(self, run: tuple[int, int]) -> tuple[float, Cut]:
        """The best split of a group: information gain (bits, over all rows) and parts; 0 where it has none."""
        if run not in self.known:
            first, last = run
            if self.hierarchy.ordered:
                ways: list[Cut] = [((first, b), (b + 1, last)) for b in range(first, last)]
            else:
                tree = self.hierarchy.tree
                children = tree.children[tree.runs[run]]
                ways = [tuple((int(tree.first[c]), int(tree.last[c])) for c in children)] if children else []
            gains = [self._bits(run) - sum(self._bits(part) for part in way) for way in ways]
            place = int(np.argmax(gains)) if gains else -1
            self.known[run] = (gains[place], ways[place]) if gains else (0.0, ())
        return self.known[run]

    def _bits(self, run: tuple[int, int]) -> float:
        """Rows × entropy of the target in a group."""
        rows = self.before[run[1] + 1] - self.before[run[0]]
        rows = rows[rows > 0]
        return float((rows * np.log2(rows.sum() / rows)).sum())
