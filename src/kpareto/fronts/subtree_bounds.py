"""What branch and bound needs to know of a problem: how each objective and limit is bounded, and the points reached.

Where which bound holds (the proofs are at the top of ``kernels/lattice/bounding.py``):

* cell losses, CM and DCN: under every suppression rule, because a suppressed row never loses less than a row that is
  kept;
* k and distinct l: under all rules that allow so many suppressed rows and no more (none, cap-max-k, as-needed under
  every threshold). below-k may suppress any number, so a refinement may lose its worst classes and look better;
* t by equal or ordered distances, and alpha: the same, as a row that goes moves the number of a class of s rows by at
  most 1 / s; the other numbers of classes where nothing is suppressed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.fronts.count_lattice import CountedNodes, Walker, WalkTask, fits, run_in_order
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from kpareto.kernels.lattice.bounding import Bounding, BoundRoom
from kpareto.kernels.words import (
    ALPHA,
    BY_CLASS,
    BY_LOSS,
    BY_MINORITY,
    BY_SET,
    BY_SIZE,
    BY_SQUARES,
    DELTA,
    DISTINCT,
    ENTROPY,
    T_EQUAL,
    T_ORDERED,
)
from kpareto.measures.measure import Better
from kpareto.measures.reading import BoundTerm

LARGEST = np.iinfo(np.int64).max
ALWAYS = (BY_LOSS, BY_MINORITY, BY_SQUARES)  # kinds of bounds that hold whatever is suppressed
GENTLE = (T_EQUAL, T_ORDERED, ALPHA)  # numbers of classes that a suppressed row moves by at most 1 / class size


@dataclass(frozen=True)
class _Term:
    """A term of an objective or of a limit, as the kernels take it."""

    kind: int
    owner: int
    column: int = 0  # of a loss, or of sensitive and target values
    number: int = -1  # which histogram number of a node
    class_kind: int = -1
    parameter: float = 0.0


def can_bound(problem: Problem) -> bool:
    """Whether every objective has a bound under the problem's suppression rule, and a walk can hold the table."""
    translation = problem.translation
    if translation is None or not fits(problem.table, translation.wanted) or translation.wanted.values.people:
        return False  # of people behind a class no bound is known
    count = len(problem.objectives)
    readings = translation.readings[:count]
    return all(reading.bounds and all(_holds(problem, term) for term in reading.bounds) for reading in readings)


def allowed_rows(problem: Problem) -> int:
    """The most rows that a recoding may suppress; below-k has no such number, and none of its bounds asks for it.

    Never more than there are: the room that the loops have for class sizes is as large as that.
    """
    rows = problem.table.rows
    return 0 if problem.suppression.rule == "none" else min(problem.suppression.allowed(rows), rows)


def _holds(problem: Problem, term: BoundTerm) -> bool:
    """Whether the bound holds under the problem's suppression rule."""
    if term.kind in ALWAYS:
        return True
    if problem.suppression.rule == "below-k":
        return False
    if term.kind != BY_CLASS or allowed_rows(problem) == 0:
        return True
    translation = problem.translation
    return translation is not None and translation.wanted.numbers[term.place].kind in GENTLE


class Bounds:
    """The terms of a problem in the order of its objectives, then of its limits."""

    def __init__(self, problem: Problem, walker: Walker) -> None:
        self.problem, self.walker = problem, walker
        objectives = len(problem.objectives)
        self.terms: list[_Term] = []
        most = [LARGEST] * objectives
        translation = problem.translation
        if translation is None:
            raise TypeError("ask can_bound first")
        for owner, reading in enumerate(translation.readings[:objectives]):
            self.terms += [self._term(term, owner) for term in reading.bounds]
        for at, (measure, threshold) in enumerate(problem.whole_limits):
            for term in translation.readings[objectives + at].bounds:
                if term.kind in (BY_SIZE, BY_SET, BY_CLASS) and _holds(problem, term):
                    limiting = self._term(term, len(most))
                    self.terms.append(limiting)
                    most.append(_limit_key(limiting, measure.better, threshold))
        for limiting, key in self._class_limits(len(most)):
            self.terms.append(limiting)
            most.append(key)
        self.most = np.array(most, dtype=np.int64)

    def _term(self, term: BoundTerm, owner: int) -> _Term:
        if term.kind == BY_LOSS:
            return _Term(term.kind, owner, term.place, parameter=float(term.coarse))
        if term.kind in (BY_SIZE, BY_SQUARES):
            return _Term(term.kind, owner)
        numbers = self.walker.values.numbers
        column, kind = int(numbers.columns[term.place]), int(numbers.kinds[term.place])
        return _Term(term.kind, owner, column, term.place, kind, float(numbers.parameters[term.place]))

    def _class_limits(self, first: int) -> list[tuple[_Term, int]]:
        """Limits that classes are judged by: rows in classes that miss one must fit into what may be suppressed."""
        limits = self.walker.values.limits
        terms: list[tuple[_Term, int]] = []
        if self.walker.wanted.limits and self.walker.rule.k > 1:
            terms.append((_Term(BY_SIZE, first), -self.walker.rule.k))
        for kind, column, (threshold, parameter) in zip(
            limits.kinds.tolist(), limits.columns.tolist(), limits.bounds.tolist(), strict=True
        ):
            better: Better = "higher" if kind in (DISTINCT, ENTROPY) else "lower"
            if kind != DISTINCT and (kind == DELTA or (kind not in GENTLE and allowed_rows(self.problem) > 0)):
                continue
            limiting = _Term(BY_SET if kind == DISTINCT else BY_CLASS, first + len(terms), column, -1, kind, parameter)
            terms.append((limiting, _limit_key(limiting, better, threshold)))
        return terms

    def judge(self, reached: Numbers) -> Bounding:
        """What subtrees are judged by, with the points that were reached."""
        return Bounding(
            self.front_keys(reached),
            np.array([term.kind for term in self.terms], dtype=np.int64),
            np.array([term.owner for term in self.terms], dtype=np.int64),
            np.array([term.column for term in self.terms], dtype=np.int64),
            np.array([term.number for term in self.terms], dtype=np.int64),
            np.array([term.class_kind for term in self.terms], dtype=np.int64),
            np.array([term.parameter for term in self.terms], dtype=np.float64),
            self.most,
            allowed_rows(self.problem),
            self.problem.suppression.rule == "cap-max-k",
        )

    def front_keys(self, reached: Numbers) -> np.ndarray:
        """Keys of points as the kernels compare them with bounds: (points, objectives) int64."""
        keys = reached.keys.copy()
        for term in self.terms:
            if term.owner < keys.shape[1]:
                values = np.ascontiguousarray(reached.values[:, term.owner])
                if term.kind == BY_SET:
                    keys[:, term.owner] = -values.astype(np.int64)
                elif term.kind == BY_CLASS:
                    # Points that are equal on the grid of thresholds are all kept: none beats another by less than it.
                    values = self.problem.on_grid(term.owner, values)
                    bits = (values + 0.0).view(np.int64)
                    keys[:, term.owner] = -bits if term.class_kind == ENTROPY else bits
        return np.ascontiguousarray(keys)

    def room(self, task: WalkTask) -> BoundRoom:
        """Room for judging the partial nodes of one walk."""
        depths = len(self.walker.order) - task.first_column
        values = max(np.diff(self.walker.values.lanes.value_at).max(initial=0), 1)
        return BoundRoom(
            np.empty(task.size + 1, dtype=np.int64),
            np.empty(task.size, dtype=np.int64),
            np.empty(int(values) + 2, dtype=np.int64),
            np.empty(task.size, dtype=np.float64),
            np.empty(task.size, dtype=np.float64),
            np.empty((depths + 2, len(self.most)), dtype=np.int64),
            np.empty((depths + 2, len(self.most)), dtype=np.int64),
            np.zeros(2, dtype=np.int64),
        )


def _limit_key(term: _Term, better: Better, threshold: float) -> int:
    """The largest key that meets a limit, with a hair of slack (``measure.meets``)."""
    slack = 1e-9 * max(1.0, abs(threshold))
    if term.kind in (BY_SIZE, BY_SET):
        least = threshold if better == "higher" else 1 / max(threshold, 1e-300)  # risk-max is 1 / k
        return -math.ceil(min(least * (1 - 1e-9) - 1e-9, 2.0**62))
    if better == "higher":
        return -int(np.float64(max(threshold - slack, 0.0)).view(np.int64))
    return int(np.float64(max(threshold + slack, 0.0)).view(np.int64))


class BoundedWalk:
    """The roll-up of a lattice that leaves out what is beaten, part by part: a part is a prefix of levels."""

    def __init__(self, problem: Problem) -> None:
        translation = problem.translation
        if translation is None:
            raise TypeError("ask can_bound first")
        self.problem, self.translation = problem, translation
        self.walker = Walker(problem.table, translation.wanted, bounded=True)
        self.bounds = Bounds(problem, self.walker)

    def parts(self, fixed: int, done: int) -> Iterator[WalkTask]:
        """The parts by the levels of the first columns of the walk, after those that are done."""
        return itertools.islice(self.walker.tasks(fixed), done, None)

    def settle(
        self, tasks: Sequence[WalkTask], reached: Numbers, threads: int | None, halt: np.ndarray
    ) -> tuple[list[Numbers], int] | None:
        """The nodes of some parts that the points reached do not beat, and how many nodes, also partial, were counted.

        None where another thread has written 1 into ``halt``.
        """
        judge = self.bounds.judge(reached)

        def run(task: WalkTask) -> tuple[CountedNodes | None, int]:
            room = self.bounds.room(task)
            return self.walker.run(task, halt, (judge, room)), int(room.seen[0])

        parts: list[Numbers] = []
        counted = 0
        for part, seen in run_in_order(run, tasks, threads):
            if part is None:
                return None
            parts.append(self.problem.read(self.translation, part))
            counted += seen
        return parts, counted
