"""A search behind the seam, driven: it proposes genomes, which are counted once each.

The memo of a search has every genome that it has met, evaluated once; a checkpoint of it can answer for an earlier run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from kpareto.errors import BadJob, Stopped
from kpareto.fronts.choose import goal_of
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.front import Front, list_front, make_front
from kpareto.fronts.numbers import Numbers, Provenance, join
from kpareto.fronts.problem import Problem
from kpareto.interrupts import Portions
from kpareto.kernels.compiling import working
from kpareto.searches import OwnSet, ReportingMoves, Search
from kpareto.searches.driver import Arrays, Ending, Kept, Tell, job_print
from kpareto.searches.lattice.exact import CLOUD
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


GENE_BYTES = 32  # a gene of a population with its children, its copy in the memo and that in the checkpoint
MOST_POPULATION = 8 * 2**30  # bytes


@dataclass(eq=False)
class Proposals:
    """A search behind the seam: what it proposes is counted once.

    Its front is the set that the search itself reports, or the best of all that was counted where it reports none.
    """

    problem: Problem
    space: Space
    search: Search
    budget: int | None = None
    seed: int = 1
    wishes: Mapping[str, float] | None = None  # what its progress is judged by, if not by its first loss
    began: float = field(default_factory=working)
    _portions: Portions = field(default_factory=lambda: Portions(clock=working))
    _earlier: Recalled | None = None
    _own: OwnSet | None = None  # what the search reports where it was stopped

    @property
    def total(self) -> int:
        """The evaluations it may spend."""
        return self.budget or 0

    @property
    def room(self) -> int:
        """The evaluations that fit into the memory a search may take."""
        return MOST_POPULATION // (max(len(self.space.genes), 1) * GENE_BYTES)

    def fingerprint(self) -> str:
        """The job, the search with its settings, and its seed; a larger budget replays what is known and goes on."""
        return job_print(self.problem, self.space, self.search, self.seed)

    def go(self, known: Arrays | None, tell: Tell, kept: Kept[Memo]) -> Front:
        """Send each proposal its numbers until the search ends or the budget would be passed."""
        self._earlier = None if known is None else recall_from(known)
        memo = Memo(self.problem, self.space)
        moves = self.search.moves(self.space, np.random.default_rng(self.seed))
        try:
            genomes = np.ascontiguousarray(next(moves), dtype=np.int64)
            while True:
                names = names_of(self.space, genomes)
                fresh = memo.missing(genomes, names)
                if self.budget is not None and len(memo) + len(fresh) > self.budget:
                    note = f"the budget of {self.budget:,} evaluations is spent"
                    return self._front(memo, note, own=_settle(moves))
                if len(memo) and len(memo) + len(fresh) > self.room:
                    note = f"the memory for {self.room:,} recodings of this size is spent"
                    return self._front(memo, note, own=_settle(moves))
                for portion in self._portions.of(len(fresh)):  # a whole population of a large table takes minutes
                    if portion.start:
                        kept.take(memo)
                        tell(len(memo), memo.all)
                    memo.add(fresh[portion], self._evaluate(fresh[portion]))
                kept.take(memo)
                numbers = memo.numbers(genomes, names)
                tell(len(memo), lambda: numbers)  # noqa: B023 (used at once)
                genomes = np.ascontiguousarray(moves.send(numbers), dtype=np.int64)
        except StopIteration as end:
            return self._front(memo, own=end.value)
        except (KeyboardInterrupt, Stopped):
            self._own = _settle(moves)
            raise
        finally:
            moves.close()

    def pack(self, standing: Memo) -> Arrays | None:
        """All that was evaluated; nothing while an earlier run is still being replayed."""
        if self._earlier is not None and len(standing) <= len(self._earlier.places):
            return None
        return {"genomes": standing.all_genomes(), **numbers_arrays(standing.archive())}

    def front_so_far(self, standing: Memo | None, ending: Ending) -> Front:
        """The front of what was evaluated until then."""
        memo = Memo(self.problem, self.space) if standing is None else standing
        reported = (
            self._own if self._own is not None and len(self._own.genomes) else None
        )  # within its first population
        return self._front(memo, ending.note, own=reported, stopped=ending.stopped)

    def _trace(self, memo: Memo) -> dict[str, object]:
        """How the least loss fell with the recodings that were counted; nothing where no objective is a loss."""
        with suppress(BadJob):
            goal = goal_of(self.problem, self.wishes)
            return {"goal": goal.words, "trace": goal.path(memo.all())}
        return {}

    def _evaluate(self, genomes: np.ndarray) -> Numbers:
        if self._earlier is None:
            return self.problem.evaluate(self.space, genomes)
        return self._earlier.recall(genomes, self.problem, self.space)

    def _front(self, memo: Memo, note: str = "", *, own: OwnSet | None = None, stopped: bool = False) -> Front:
        seconds = working() - self.began
        kind = "counted" if own is None else own.kind
        provenance = Provenance(
            self.search.name,
            len(memo),
            False,
            self.seed,
            seconds,
            note,
            self._trace(memo),
            stopped=stopped,
            points=kind,
        )
        numbers = memo.all()
        if own is None:
            front = make_front(self.problem, self.space, memo.all_genomes(), memo.archive(), provenance)
        else:
            front = list_front(self.problem, self.space, own.genomes, memo.numbers(own.genomes), provenance)
        step = max(1, len(numbers.which) // CLOUD)
        return replace(front, cloud=numbers.values[numbers.feasible][::step])


def _settle(moves: ReportingMoves) -> OwnSet | None:
    """What a search reports of itself when it may go no further; None where it reports nothing."""
    try:
        moves.throw(Stopped())
    except StopIteration as end:
        reported: OwnSet | None = end.value
        return reported
    except Stopped:
        return None
    return None
