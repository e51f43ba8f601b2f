"""A search behind the seam, driven: it proposes genomes, which are counted once each."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from kpareto.errors import BadJob, Stopped
from kpareto.fronts.choose import goal_of
from kpareto.fronts.front import Front, list_front, make_front
from kpareto.fronts.numbers import Numbers, Provenance
from kpareto.fronts.problem import Problem
from kpareto.interrupts import Portions
from kpareto.kernels.compiling import working
from kpareto.searches import OwnSet, ReportingMoves, Search
from kpareto.searches.checkpoint import Arrays, Kept, job_print
from kpareto.searches.driver import Ending, Tell
from kpareto.searches.lattice.exact import CLOUD
from kpareto.searches.memo import Memo, Recalled, names_of, numbers_arrays, recall_from
from kpareto.tables.lattice import Space

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
        own = self._own if self._own is not None and len(self._own.genomes) else None  # within its first population
        return self._front(memo, ending.note, own=own, stopped=ending.stopped)

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
        own: OwnSet | None = end.value
        return own
    except Stopped:
        return None
    return None
