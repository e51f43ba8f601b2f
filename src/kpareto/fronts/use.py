"""What an analyst gets from the marked points of a front, and recodings beside them from which more can be counted.

Random counts over two and three columns judge each (``measures/use.py``), and so does the control, who has the totals
of every column alone. The least loss is not the best use: another recoding with the same k, two points of detail less
at the most, may keep the relations between columns far better.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kpareto.fronts.front import Front, Point, kept_percent, list_front, marks_of
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from kpareto.kernels.compiling import NotCompiled, without_compiling
from kpareto.measures.cells import lm
from kpareto.measures.targets import relations_of
from kpareto.measures.use import is_judged, is_more_than_chance, yardstick
from kpareto.tables.lattice import Lattice
from kpareto.tables.recoding import recoding_words
from kpareto.tables.spelling import percent

POINTS = 2.0  # percent of all detail that a recoding may keep less
GAIN = 0.9  # of the error is left at the most, to be worth a word
MOST_NODES = 200_000  # of a lattice that is looked through beside the front
COUNTED = 12_000_000  # distinct rows that are counted for the neighbours of a point
JUDGED = 6  # neighbours of a point whose counts are judged


@dataclass(frozen=True, eq=False)
class PointUse:
    """How far off counts are from a point: the mean relative error, and that of the column totals alone."""

    point: Point
    error: float
    control: float
    counts: int
    better: PointUse | None = None  # of another recoding with the same k and nearly the same detail

    def to_dict(self) -> dict[str, Any]:
        """As the JSON of a front has it."""
        numbers: dict[str, Any] = {"counts": self.counts, "error": self.error, "control": self.control}
        if self.better is None:
            return numbers
        other = self.better.point
        recoding = {key: value for key, value in other.to_dict().items() if key != "id"}
        kept = round(kept_percent(other), 2)
        return {**numbers, "better": {"error": self.better.error, "kept": kept, **recoding}}

    def words(self) -> str:
        """Which other recoding is better in use; empty where none is by more than chance."""
        if self.better is None:
            return ""
        other = self.better.point
        less = kept_percent(self.point) - kept_percent(other)
        cost = f"{less:.1f} points of detail less" if less >= 0.05 else "hardly less detail"
        return (
            f"Better in use than point {self.point.id}: counts off by {percent(self.better.error)} instead of "
            f"{percent(self.error)}, with k = {other.values['k']:,.0f} and {cost}: {recoding_words(other.recoding)}."
        )


def use_of_marks(front: Front) -> dict[int, PointUse]:
    """What an analyst gets from each marked point, by its id; none where too few counts can judge it, or too many rows.

    Another recoding is named with a point where it is better by more than chance: three standard errors of the paired
    differences over the counts, and a tenth of the error at least.
    """
    if not len(front) or not is_judged(front.problem.table):
        return {}
    nodes = _nodes(front) if "k" in front.names else None
    return {place: _judge(front[place], nodes) for place in marks_of(front) if not front[place].partition.empty}


def use_sentence(uses: Mapping[int, PointUse]) -> str:
    """What the numbers of the marked points are, and that of the control; empty where there are none."""
    some = next(iter(uses.values()), None)
    if some is None:
        return ""
    return (
        f"off: the average error of {some.counts} random counts over two and three columns, with labels fitted to "
        f"column totals. From these totals alone it is {percent(some.control)}."
    )


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The nodes of a lattice with what is known of them without counting."""

    problem: Problem
    lattice: Lattice
    genomes: np.ndarray  # (nodes, columns) int64
    lost: np.ndarray  # (nodes,) percent of the detail, nothing suppressed
    relations: np.ndarray  # (nodes,) share that is lost, nothing suppressed

    def count(self, genomes: np.ndarray) -> Numbers:
        """The numbers of some nodes, those of the search that counted them all where they were kept.

        Single nodes have a loop of their own, which a search of the whole lattice has not needed. Nothing is compiled
        for a remark: where that loop is not at hand the whole lattice is counted once more, with the same numbers.
        """
        if "every_node" not in vars(self.problem):
            with suppress(NotCompiled), without_compiling():
                return self.problem.evaluate(self.lattice, genomes)
        every = self.problem.every_node
        order = np.argsort(wanted := self.lattice.numbers(genomes))
        some = every.take(np.flatnonzero(np.isin(every.which, wanted)))
        return replace(some, which=order[np.searchsorted(wanted[order], some.which)])


def _nodes(front: Front) -> _Nodes | None:
    """None where the recodings are no lattice, or too many to look through."""
    table, loss = front.problem.table, lm()
    if not isinstance(front.space, Lattice) or front.space.size > MOST_NODES:
        return None
    genomes = front.space.levels(np.arange(front.space.size))
    lost = np.zeros(len(genomes))
    for column, hierarchy in enumerate(table.hierarchies):
        cells = [loss.table_of(table, column, cut)[cut] @ table.leaf_rows[column] for cut in hierarchy.groups]
        lost += 100 * float(loss.scale(table)) * np.array(cells, dtype=np.float64)[genomes[:, column]]
    return _Nodes(front.problem, front.space, genomes, lost, relations_of(table).look_up(genomes))


def _judge(point: Point, nodes: _Nodes | None) -> PointUse:
    stick = yardstick(point.table)
    here, control = stick.errors(point.partition), float(stick.control.mean())
    best, least = None, here
    for other in [] if nodes is None else _neighbours(point, nodes):
        errors = stick.errors(other.partition)
        if errors.mean() < min(least.mean(), GAIN * here.mean()) and is_more_than_chance(here, errors):
            best, least = other, errors
    better = None if best is None else PointUse(best, float(least.mean()), control, len(least))
    return PointUse(point, float(here.mean()), control, len(here), better)


def _neighbours(point: Point, nodes: _Nodes) -> list[Point]:
    """Recodings with the same k at least and two points of detail less at most, those that keep most relations first.

    A node loses without suppression no more than with it, and less by no more than the rows that may be suppressed.
    """
    front, table = point.front, point.table
    most = 100 - kept_percent(point) + POINTS
    allowed = min(front.problem.suppression.allowed(table.rows), table.rows) / table.rows
    share = relations_of(table).look_up(front.genomes[point.id][None])[0]
    near = (nodes.lost <= most) & (nodes.lost >= most - POINTS - 100 * allowed) & (nodes.relations < share)
    ranked = np.flatnonzero(near)[np.argsort(nodes.relations[near], kind="stable")]
    genomes = nodes.genomes[ranked[: max(COUNTED // max(table.distinct, 1), JUDGED)]]
    if not len(genomes):
        return []
    numbers = nodes.count(genomes)
    met = list_front(front.problem, front.space, genomes, numbers, front.provenance)
    safe = [other for other in met if other.values["k"] >= point.values["k"] and kept_percent(other) >= 100 - most]
    lost = relations_of(table).look_up(met.genomes)
    return sorted(safe, key=lambda other: (float(lost[other.id]), other.id))[:JUDGED]
