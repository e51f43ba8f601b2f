"""Defect report: what a search missed or reported wrongly on a table; for POkA, which error of the paper caused it.

Causes are found by experiment. For a missed point the search is run again with one step repaired, then with two, and so
on, until it is found. For a wrong node its own step, from the base before it, is repeated in the same way until it
leads to an optimum. Everything is plain data.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.front import Front, Point
from kpareto.fronts.numbers import Numbers, join
from kpareto.fronts.problem import Problem
from kpareto.searches import Search
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice.boxes import coverage
from kpareto.searches.lattice.pbg_ea import PbgEa
from kpareto.searches.lattice.poka import Poka, Repair, Reported, check_problem, literal
from kpareto.searches.proposals import leading_rows
from kpareto.tables.lattice import Lattice

# What is repaired in an experiment -> the error of the paper (readings.md#po-errors) that it undoes.
ERRORS: Mapping[str, str] = {
    "height": "PO-e1",
    "below": "PO-e2",
    "depth": "PO-e4",
    "first": "PO-e6",
    "loop": "PO-7",
    "again": "PO-7",
}
MEANING: Mapping[str, str] = {
    "PO-e1": "the climb stops at a node that is not cheaper, although loss is not monotone with suppression",
    "PO-e2": "nodes below the base are never evaluated, although one of them may have the same k as a neighbour",
    "PO-e3": "no neighbour of the base is cheaper, so the search ends, although cheaper nodes lie deeper",
    "PO-e4": "the search starts too few levels below the base",
    "PO-e6": "at depth 1 a neighbour is reported without comparing it with the base",
    "PO-e7": "the top is reported without asking whether it is optimal",
    "base": "the base before it was already wrong, and the best step from there leads to no optimum",
    "PO-7": "the loop ends at k = 2, or the depth leads below the bottom of the lattice",
}


@dataclass(frozen=True)
class Defect:
    """One point that was missed, or one node that was reported wrongly."""

    levels: dict[str, int]
    values: dict[str, float]
    causes: tuple[tuple[str, ...], ...]  # each: errors that, undone together, remove it; none: no repair did
    dominated_by: dict[str, int] | None = None  # for a wrong node: levels of a node that dominates it


@dataclass(frozen=True)
class DefectReport:
    """What a run of POkA got right and wrong, compared with the complete front."""

    search: str
    depth: int | None
    nodes: int
    evaluated: int
    optima: int
    hits: int
    finished: bool
    missed: tuple[Defect, ...]
    false: tuple[Defect, ...]

    @property
    def share(self) -> float:
        """Nodes evaluated of all nodes."""
        return self.evaluated / self.nodes

    def as_data(self) -> dict[str, Any]:
        """Numbers, texts, lists and dicts only."""
        named = {cause for defect in (*self.missed, *self.false) for group in defect.causes for cause in group}
        return {**asdict(self), "share": self.share, "meaning": {cause: MEANING[cause] for cause in sorted(named)}}


def whole(problem: Problem) -> Numbers:
    """The numbers that a search is sent of every node, in the order of node numbers."""
    numbers = join(list(problem.whole_lattice()), len(problem.objectives))
    return numbers.take(leading_rows(numbers, Lattice(problem.table.hierarchies).size))


Answer = TypeVar("Answer")


def drive(steps: Generator[np.ndarray, Numbers, Answer], lattice: Lattice, numbers: Numbers) -> Answer:
    """Run steps that ask for nodes, on numbers counted before (those of every node, in order); their return value."""
    try:
        genomes = next(steps)
        while True:
            genomes = steps.send(numbers.take(lattice.numbers(genomes)))
    except StopIteration as end:
        answer: Answer = end.value
        return answer


def replay(search: Poka, lattice: Lattice, numbers: Numbers) -> Reported:
    """Run POkA on numbers counted before."""
    return drive(search.reports(lattice), lattice, numbers)


def defects(problem: Problem, search: Poka | int) -> DefectReport:
    """The defect report of POkA (or of literal POkA with this depth) on a problem; counts the whole lattice."""
    check_problem(problem)
    chosen = literal(search) if isinstance(search, int) else search
    lattice = Lattice(problem.table.hierarchies)
    return _Comparison(problem, lattice, whole(problem), chosen).report()


def compare_front(front: Front, search: Search) -> dict[str, Any]:
    """What a front over the lattice misses of the exact one, and which of its points are not optimal: plain data.

    The exact front is counted for it. POkA's defects come with their causes where it went to its end.
    """
    problem, names = front.problem, front.names
    exact = exact_front(problem, "one")
    if isinstance(search, Poka) and not front.provenance.note:
        report = defects(problem, search).as_data()
        missed, wrong, meaning = report["missed"], report["false"], report["meaning"]
    else:
        known = {tuple(row) for row in front.numbers.keys.tolist()}
        best = exact.numbers.keys
        missed = [_point_data(point) for point in exact if tuple(best[point.id].tolist()) not in known]
        wrong = []
        for point in front:
            keys = front.numbers.keys[point.id]
            above = np.flatnonzero((best <= keys).all(axis=1) & (best < keys).any(axis=1))
            if len(above):
                wrong.append({**_point_data(point), "dominated_by": _point_data(exact[int(above[0])])["levels"]})
        meaning = {}
    covered = {}
    if isinstance(search, PbgEa) and len(exact):
        # The paper's yardstick (PB-8): an archive holds a box of the true front or not, and lies so far from it.
        reached = coverage(search.grid, front.numbers.values, exact.numbers.values)
        boxes = {"boxes": reached.true_boxes, "boxes_held": round(reached.ratio * reached.true_boxes)}
        covered = {"coverage": {"rr": reached.ratio, "ce": reached.distance_sum, **boxes}}
    return {
        **covered,
        "complete": exact.provenance.complete,
        "objectives": names,
        "points": [_point_data(point) for point in exact],
        "missed": missed,
        "wrong": wrong,
        "meaning": meaning,
    }


def say_defects(exact: Mapping[str, Any]) -> list[str]:
    """What ``compare_front`` tells, in sentences: boxes that are held, points that were missed or wrong, and why."""
    covered, sentences = exact.get("coverage"), []
    proof = "complete" if exact["complete"] else "not complete"
    if covered is not None:
        sentences.append(
            f"Of the {covered['boxes']:,} boxes of the exact front {covered['boxes_held']:,} are held (RR "
            f"{covered['rr']:.3g}, by the paper's yardstick); the archive lies {covered['ce']:.4g} from it (CE, a sum)."
        )
    fate = "were missed" if covered is None else "are not in the archive, which keeps one a box"
    sentences.append(
        f"The exact front has {len(exact['points']):,} different points ({proof}): {len(exact['missed']):,} {fate}, "
        f"and {len(exact['wrong']):,} of the points that were found are not optimal."
    )
    return [*sentences, *(f"{cause}: {meaning}." for cause, meaning in exact["meaning"].items())]


def _point_data(point: Point) -> dict[str, Any]:
    """The levels and the values of a point."""
    data = point.to_dict()
    return {"levels": data["levels"], "values": {name: data["values"][name] for name in point.front.names}}


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A search, the numbers of every node, and experiments with them."""

    problem: Problem
    lattice: Lattice
    numbers: Numbers
    search: Poka

    def report(self) -> DefectReport:
        run = replay(self.search, self.lattice, self.numbers)
        keys = self.numbers.keys
        optima = {tuple(row): int(node) for node, row in self._optimal_rows()}
        reported = {tuple(keys[node].tolist()) for node in run.nodes.tolist()}
        missed = {vector: node for vector, node in optima.items() if vector not in reported}
        wrong = [node for node in run.nodes.tolist() if tuple(keys[node].tolist()) not in optima]
        lost = self._lost(run, missed)
        return DefectReport(
            search=self.search.name,
            depth=self.search.depth,
            nodes=self.lattice.size,
            evaluated=run.evaluated,
            optima=len(optima),
            hits=len(optima) - len(missed),
            finished=run.finished,
            missed=tuple(self._defect(node, lost[node]) for node in missed.values()),
            false=tuple(
                self._defect(node, self._strayed(run, node, optima), self._dominating(node, optima)) for node in wrong
            ),
        )

    def _optimal_rows(self) -> Iterable[tuple[int, list[int]]]:
        """One node for each point of the complete front, with its keys, smallest k first."""
        kept = np.flatnonzero(self.numbers.feasible)
        kept = kept[non_dominated(self.numbers.keys[kept], "one")]
        kept = kept[np.argsort(-self.numbers.keys[kept, 0], kind="stable")]
        return zip(kept.tolist(), self.numbers.keys[kept].tolist(), strict=True)

    def _dominating(self, node: int, optima: Mapping[tuple[int, ...], int]) -> int:
        keys = self.numbers.keys[node].tolist()
        return next(other for vector, other in optima.items() if all(a <= b for a, b in zip(vector, keys, strict=True)))

    def _defect(self, node: int, causes: tuple[tuple[str, ...], ...], by: int | None = None) -> Defect:
        names = [measure.name for measure in self.problem.objectives]
        values = dict(zip(names, self.numbers.values[node].tolist(), strict=True))
        return Defect(self._levels(node), values, causes, None if by is None else self._levels(by))

    def _levels(self, node: int) -> dict[str, int]:
        levels = self.lattice.levels(np.array([node]))[0].tolist()
        return {h.name: int(level) for h, level in zip(self.lattice.hierarchies, levels, strict=True)}

    def _lost(self, run: Reported, missed: Mapping[tuple[int, ...], int]) -> dict[int, tuple[tuple[str, ...], ...]]:
        """For each missed node the smallest sets of errors whose repair finds it."""
        causes_of: dict[int, list[tuple[str, ...]]] = {node: [] for node in missed.values()}
        for size in range(1, len(ERRORS) + 1):
            waiting = {vector: node for vector, node in missed.items() if not causes_of[node]}
            for repairs in combinations(self._possible(run), size) if waiting else ():
                again = replay(self._with(repairs), self.lattice, self.numbers)
                for vector in {tuple(row) for row in self.numbers.keys[again.nodes].tolist()} & set(waiting):
                    causes_of[waiting[vector]].append(self._errors(repairs, run))
        return {node: tuple(dict.fromkeys(causes)) for node, causes in causes_of.items()}

    def _strayed(self, run: Reported, node: int, optima: Mapping[tuple[int, ...], int]) -> tuple[tuple[str, ...], ...]:
        """For a wrong node the smallest sets of errors whose repair leads from the base before it to an optimum."""
        place = run.nodes.tolist().index(node)
        if place == 0:
            return (("PO-e7",),)
        base = int(run.nodes[place - 1])
        keys = self.numbers.keys
        if not (keys[base, 0] < keys[node, 0] and keys[node, 1] < keys[base, 1]):
            return (("PO-e6",),)  # it does not even beat its base
        helpful = [repair for repair in self._possible(run) if repair not in ("loop", "again", "first")]
        for size in range(1, len(helpful) + 1):
            causes = []
            for repairs in combinations(helpful, size):
                other = drive(self._with(repairs).step(self.lattice, base), self.lattice, self.numbers)
                if other is not None and tuple(self.numbers.keys[other].tolist()) in optima:
                    causes.append(self._errors(repairs, run))
            if causes:
                return tuple(dict.fromkeys(causes))
        return (("base",),)  # every step from a wrong base may end at a wrong node

    def _possible(self, run: Reported) -> list[str]:
        """The experiments that can change anything here."""
        skipped = {"first"} if self.search.depth != 1 else set()
        skipped |= {"depth"} if self.search.depth is None else set()
        skipped |= {"again"} if run.finished else set()
        return [repair for repair in ERRORS if repair not in skipped and repair not in self.search.repairs]

    def _with(self, repairs: Iterable[str]) -> Poka:
        steps: frozenset[Repair] = frozenset(repair for repair in repairs if repair != "depth")  # type: ignore[misc]
        depth = None if "depth" in repairs else self.search.depth
        return Poka(depth, self.search.repairs | steps, start=self.search.start)

    def _errors(self, repairs: Iterable[str], run: Reported) -> tuple[str, ...]:
        # Where the search died at a base without a cheaper neighbour, Lemma 2 failed in its second half.
        below = "PO-e3" if run.stopped == "nothing found" else "PO-e2"
        return tuple(dict.fromkeys(below if repair == "below" else ERRORS[repair] for repair in repairs))
