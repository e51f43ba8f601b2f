"""Searches people know from other tools, to stand beside the front: Datafly and Samarati.

Each answers one question, "meet these limits", with one node of the lattice, and neither promises the least loss. The
limits are those of the Problem.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import BadJob, Unsafe
from kpareto.fronts.numbers import Numbers
from kpareto.searches import Moves
from kpareto.tables.lattice import Lattice, Space
from kpareto.tables.partition import Partition
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import Table

if TYPE_CHECKING:
    from kpareto.fronts.problem import Problem

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
    """Greedy (Sweeney 1997): raise the column that shows most distinct values until the limits are met."""

    shown: tuple[np.ndarray, ...]  # per column (levels,) int64, groups in use
    name: str = "datafly"
    promise: str = (
        "It promises that the limits are met if the top meets them. It does not promise the least loss, nor that no "
        "level could be lowered again: it often generalizes far too much."
    )

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:  # noqa: ARG002  (no chance in it)
        """Yield one node after the other."""
        yield from self.reports(space)

    def reports(self, space: Space) -> Generator[np.ndarray, Numbers, np.ndarray | None]:
        """Yield one node after the other; return the levels that meet the limits, or None where none do."""
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
    """Binary search on the height of the lattice (Samarati 2001), then every node of the least height."""

    name: str = "samarati"
    promise: str = (
        "It promises the least height (sum of levels) at which a node meets the limits, if generalizing a node that "
        "meets them never breaks them: true for k, but under as-needed not together with other limits, and "
        "not for the other models. It does not promise the least loss: a higher node can cost less."
    )

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:  # noqa: ARG002  (no chance in it)
        """Yield the nodes of one height after the other."""
        yield from self.reports(space)

    def reports(self, space: Space) -> Generator[np.ndarray, Numbers, np.ndarray | None]:
        """Yield nodes height by height; return the levels with the best last objective at the least height."""
        highest = _highest(space, self.name)
        low, high = 0, int(highest.sum())
        best = yield from self._best(highest, high, every=True)
        if best is None:
            return None
        while low < high:
            middle = (low + high) // 2
            levels = yield from self._best(highest, middle, every=False)
            if levels is None:
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


def answer(problem: Problem, search: Datafly | Samarati) -> Answer:
    """Run Datafly or Samarati on a problem with limits; Unsafe where not even the top meets them."""
    if not problem.limits:
        raise BadJob(f"{search.name} looks for a node that meets limits, and there are none. Give limits, such as k.")
    lattice, evaluated = Lattice(problem.table.hierarchies), 0
    steps = search.reports(lattice)
    try:
        genomes = next(steps)
        while True:
            evaluated += len(genomes)
            genomes = steps.send(problem.evaluate(lattice, genomes))
    except StopIteration as end:
        levels: np.ndarray | None = end.value
    if levels is None:
        raise Unsafe("No node meets the limits, not even the top of the lattice. Ask for less, or suppress more rows.")
    recoding = lattice.decode(levels)
    partition = problem.partition(recoding)
    values = {measure.name: measure(partition) for measure in problem.objectives}
    return Answer(search.name, recoding, partition, values, evaluated, search.promise)


def _highest(space: Space, name: str) -> np.ndarray:
    if not isinstance(space, Lattice):
        raise BadJob(f"{name} walks a lattice, and the space is {space.kind!r}. Take space = 'lattice'.")
    return space.genes - 1
