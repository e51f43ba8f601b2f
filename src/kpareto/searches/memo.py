"""The memo of a search: every genome it has met is evaluated once, and a checkpoint can answer for an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers, join
from kpareto.fronts.problem import Problem
from kpareto.searches.checkpoint import Arrays
from kpareto.tables.cuts import Cuts
from kpareto.tables.lattice import Space


def names_of(space: Space, genomes: np.ndarray) -> list[bytes]:
    """A short name for each genome (n, genes) int64 of a space, different for different ones."""
    few = isinstance(space, Cuts) or bool((space.genes <= 256).all())
    small = np.ascontiguousarray(genomes, dtype=np.uint8 if few else np.int64)
    if small.size == 0:
        return [b""] * len(small)
    names: list[bytes] = small.view(f"V{small[0].nbytes}")[:, 0].tolist()
    return names


MOST_FURTHER = 50_000  # rows of further thresholds kept before the dominated ones are dropped


def leading_rows(numbers: Numbers, genomes: int) -> np.ndarray:
    """The row of each genome that a search is sent, where the rule as-needed has several: (genomes,) int64.

    Of those that meet the limits the best one where there is one objective, else the one with the largest threshold,
    which is the row of the rule cap-max-k; of none that does, the last.
    """
    if np.array_equal(numbers.which, np.arange(genomes)):
        return np.arange(genomes)
    rank = numbers.keys[:, 0] if numbers.keys.shape[1] == 1 else -numbers.thresholds
    order = np.lexsort((rank, ~numbers.feasible, numbers.which))
    return order[np.searchsorted(numbers.which[order], np.arange(genomes))]


@dataclass(eq=False)
class Memo:
    """Numbers of genomes already evaluated, each once; the archive is made of it at the end.

    Under the rule as-needed a genome has one row that the search is sent, and further ones that the archive is
    made of too.
    """

    problem: Problem
    space: Space
    places: dict[bytes, int] = field(default_factory=dict)
    genomes: dict[int, np.ndarray] = field(default_factory=dict)  # number of the first one -> genomes added at once
    _room: Numbers | None = None  # rows of numbers, with room for more at the end
    _further: list[Numbers] = field(default_factory=list)  # rows of other thresholds, ``which`` as in all_genomes
    _further_rows: int = 0  # in all
    _further_most: int = MOST_FURTHER  # when to drop the dominated ones

    def __len__(self) -> int:
        return len(self.places)

    def missing(self, genomes: np.ndarray, names: Sequence[bytes] | None = None) -> np.ndarray:
        """The genomes not evaluated yet, each once, in the order of first appearance."""
        known = self.places
        new = [
            (name, place)
            for place, name in enumerate(names_of(self.space, genomes) if names is None else names)
            if name not in known
        ]
        first = dict(reversed(new))  # a name that comes again keeps its first place
        return genomes[sorted(first.values())]

    def add(self, genomes: np.ndarray, numbers: Numbers) -> None:
        """Remember evaluated genomes with all their rows of numbers."""
        start, end = len(self.places), len(self.places) + len(genomes)
        if len(numbers.which) > len(genomes):
            leading = leading_rows(numbers, len(genomes))
            further = np.setdiff1d(np.flatnonzero(numbers.feasible), leading)
            self._add_further(numbers.take(further), start)
            numbers = numbers.take(leading)
        if self._room is None or end > len(self._room.which):
            # Twice the room each time it is full: joining all parts after each addition would cost their square.
            old, empty = self.all(), numbers.take(np.zeros(max(1024, end), dtype=np.int64))
            self._room = join([old, empty], len(self.problem.objectives))
        for room, part in zip(self._room.columns, numbers.columns, strict=True):
            room[start:end] = part
        self._room.which[start:end] += start
        self.genomes[start] = genomes
        # Last and at once: Ctrl-C before this line leaves the memo as it was.
        self.places.update(zip(names_of(self.space, genomes), range(start, end), strict=True))

    def all_genomes(self) -> np.ndarray:
        """Everything evaluated, in the order of evaluation: (n, genes) int64."""
        empty = np.zeros((0, len(self.space.genes)), dtype=np.int64)
        return np.concatenate([empty, *self.genomes.values()])[: len(self.places)]

    def all(self) -> Numbers:
        """Everything evaluated, one row per genome, in the order of evaluation."""
        if self._room is None:
            return join([], len(self.problem.objectives))
        return Numbers(*(column[: len(self.places)] for column in self._room.columns))

    def archive(self) -> Numbers:
        """All rows: those of ``all``, then the ones of further thresholds that no other of them dominates."""
        places = len(self.places)
        further = [rows.take(np.flatnonzero(rows.which < places)) for rows in self._further]
        return join([self.all(), *further], len(self.problem.objectives)) if further else self.all()

    def _add_further(self, rows: Numbers, start: int) -> None:
        """Keep rows of further thresholds; where they become many, dominated ones are dropped: they are on no front."""
        if not len(rows.which):
            return
        self._further.append(replace(rows, which=rows.which + start))
        self._further_rows += len(rows.which)
        if self._further_rows > self._further_most:
            both = join(self._further, len(self.problem.objectives))
            self._further = [both.take(np.sort(non_dominated(both.keys, "all")))]
            self._further_rows = len(self._further[0].which)
            self._further_most = max(MOST_FURTHER, 2 * self._further_rows)

    def numbers(self, genomes: np.ndarray, names: Sequence[bytes] | None = None) -> Numbers:
        """The numbers of genomes that were all evaluated, in their order."""
        wanted = names_of(self.space, genomes) if names is None else names
        rows = self.all().take(np.array([self.places[name] for name in wanted], dtype=np.int64))
        return replace(rows, which=np.arange(len(genomes)))


@dataclass(frozen=True, eq=False)
class Recalled:
    """Numbers an earlier run has evaluated."""

    places: dict[bytes, int]
    numbers: Numbers  # one row per genome
    further: Numbers  # of other thresholds, by rising genome

    def recall(self, genomes: np.ndarray, problem: Problem, space: Space) -> Numbers:
        """The numbers of genomes, from the earlier run where it has them all, else counted."""
        places = [self.places.get(genome.tobytes(), -1) for genome in genomes]
        if min(places) < 0:
            return problem.evaluate(space, genomes)
        rows = replace(self.numbers.take(np.array(places)), which=np.arange(len(genomes)))
        if not len(self.further.which):
            return rows
        first, last = (np.searchsorted(self.further.which, places, side) for side in ("left", "right"))
        chosen = np.concatenate([np.arange(one, end) for one, end in zip(first, last, strict=True)])
        recalled = replace(self.further.take(chosen), which=np.repeat(np.arange(len(genomes)), last - first))
        return join([rows, recalled], rows.keys.shape[1])


def recall_from(arrays: Arrays) -> Recalled:
    """What an earlier run has left in its checkpoint."""
    genomes = np.ascontiguousarray(arrays["genomes"])
    rows = numbers_from(arrays)
    further = np.arange(len(genomes), len(rows.which))
    further = further[np.argsort(rows.which[further], kind="stable")]
    places = {genome.tobytes(): i for i, genome in enumerate(genomes)}
    return Recalled(places, rows.take(np.arange(len(genomes))), rows.take(further))


def numbers_arrays(numbers: Numbers) -> dict[str, np.ndarray]:
    """Numbers as a checkpoint holds them."""
    return {f"n_{name}": column for name, column in vars(numbers).items()}


def numbers_from(arrays: Arrays) -> Numbers:
    """Numbers out of a checkpoint."""
    return Numbers(*(arrays[f"n_{name}"] for name in Numbers.__dataclass_fields__))
