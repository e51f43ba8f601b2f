"""Top-down specialization: from everything generalized, split groups while k holds, best for the target first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import Unsafe
from kpareto.fronts.numbers import EMPTY
from kpareto.searches.lattice.greedy import Answer
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Kind
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import Counts, Table

if TYPE_CHECKING:
    from kpareto.fronts.problem import Problem


@dataclass(frozen=True, eq=False)
class DrawnCuts:
    """Any cuts, drawn leaf by leaf: a genome is the cuts of the columns side by side."""

    hierarchies: tuple[Hierarchy, ...]
    kind: Kind = "cuts"

    @property
    def genes(self) -> np.ndarray:
        """How many values each leaf's group number can have."""
        return np.concatenate([np.arange(1, len(h.leaves) + 1) for h in self.hierarchies])

    @property
    def size(self) -> int:
        """How many recodings there are."""
        return math.prod(2 ** (len(h.leaves) - 1) if h.ordered else h.tree.cuts() for h in self.hierarchies)

    def cuts(self, genomes: np.ndarray) -> np.ndarray:
        """Genomes are cuts already."""
        return genomes.astype(np.int32)

    def decode(self, genome: Sequence[int] | np.ndarray) -> Recoding:
        """The recoding of one genome."""
        ends = np.cumsum([len(h.leaves) for h in self.hierarchies])[:-1]
        return Recoding(self.hierarchies, tuple(np.split(np.asarray(genome, dtype=np.int32), ends)))


TOP_DOWN_PROMISE = (
    "It promises at least the k asked for. It does not promise the fewest classification errors or the least loss: "
    "each step is the best at its moment and never taken back."
)
Cut = tuple[tuple[int, int], ...]  # first and last leaf of each group, in order


def top_down(problem: Problem, k: int, target: str | None = None) -> Answer:
    """Top-down specialization (Fung, Wang & Yu 2005): split groups while k holds, best for the target first.

    From everything generalized, a group is split into its children in the tree, or in two where the column is ordered,
    at the border that tells most about the target. The next split has the best score: information gain / (k now − k
    then), or the gain itself where k does not fall. Splits that break k or tell nothing are left out. The first
    objective of the problem is k; its rule may suppress rows as cap-max-k does, while the paper suppresses none.
    """
    table = problem.table
    counts = table.counts(target, "target")
    space = DrawnCuts(table.hierarchies)
    knows = [_Gains(table, column, counts) for column in range(len(table.hierarchies))]
    shown: list[Cut] = [((0, len(h.leaves) - 1),) for h in table.hierarchies]
    now = float(problem.evaluate(space, _genomes([shown])).values[0, 0])
    if isinstance(k, bool) or not 1 <= k <= now < EMPTY:
        raise Unsafe(f"k = {k!r} cannot be reached: everything generalized gives {now:,.0f}. Ask for 1 to that.")
    evaluated, broken = 1, set[tuple[int, tuple[int, int]]]()
    while True:
        splits = [(c, run) for c, cut in enumerate(shown) for run in cut if (c, run) not in broken]
        splits = [(c, run) for c, run in splits if knows[c].best(run)[0] > 1e-9]
        if not splits:
            break
        tried = [_split(shown, c, run, knows[c].best(run)[1]) for c, run in splits]
        then = problem.evaluate(space, _genomes(tried)).values[:, 0]
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
    partition = problem.partition(recoding)
    values = {measure.name: measure(partition) for measure in problem.objectives}
    return Answer("top-down", recoding, partition, values, evaluated, TOP_DOWN_PROMISE)


def _genomes(many: Sequence[Sequence[Cut]]) -> np.ndarray:
    """Cuts as runs -> cuts as group numbers side by side: (n, all leaves) int32."""
    return np.array([[g for cut in cuts for g, (a, b) in enumerate(cut) for _ in range(a, b + 1)] for cuts in many])


def _split(shown: Sequence[Cut], column: int, run: tuple[int, int], parts: Cut) -> list[Cut]:
    """The cuts after a group has been replaced by its parts."""
    cut = tuple(piece for group in shown[column] for piece in (parts if group == run else (group,)))
    return [*shown[:column], cut, *shown[column + 1 :]]


class _Gains:
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
