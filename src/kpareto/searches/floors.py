"""The least loss that any recoding can have at a given k: a proof that does not visit the recodings.

Columns are dealt into groups. A recoding with k rows in every class has at least k rows in every class of each group
by itself, with no more rows suppressed; so it loses in that group at least what the best levels of the group lose that
reach k there. What the groups lose at the least adds up.

The first group are the columns that a search fixes first. Combinations of their levels below which everything is
settled are left out of it, so that the floor rises as the search goes on: what is settled is known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.fronts.count_lattice import Wanted, count_lattice, lattice_of
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from kpareto.fronts.subtree_bounds import allowed_rows
from kpareto.kernels.words import K
from kpareto.measures.cells import CellLoss
from kpareto.measures.sizes import is_smallest_class
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, distinct_rows

GROUP = 1_500  # combinations of levels in a group at the most
NEVER = np.iinfo(np.int64).max  # no levels of a group reach such a k


@dataclass(frozen=True, eq=False)
class Group:
    """Some columns by themselves: what each combination of their levels reaches and loses."""

    columns: tuple[int, ...]
    ks: np.ndarray  # (combinations,) int64, first column slowest, the largest k of each
    losses: np.ndarray  # (losses, combinations) int64, what each loses without suppression

    def least(self, loss: int, ks: np.ndarray, settled: np.ndarray | None = None) -> np.ndarray:
        """The least loss with at least each k: (n,) int64; NEVER where none has it. Settled ones do not count."""
        open_places = np.arange(len(self.ks)) if settled is None else np.flatnonzero(~settled)
        rising = open_places[np.argsort(self.ks[open_places], kind="stable")]
        least = np.minimum.accumulate(self.losses[loss][rising][::-1])[::-1]
        place = np.searchsorted(self.ks[rising], ks, side="left")
        return np.append(least, NEVER)[place]


@dataclass(frozen=True, eq=False)
class Floors:
    """Groups of columns, the first one that a search fixes."""

    problem: Problem
    objectives: tuple[int, ...]  # which objectives are losses that have a floor
    groups: tuple[Group, ...]

    def at(self, points: Numbers, settled: np.ndarray | None = None) -> np.ndarray:
        """What each objective of each point is at the least at its k, nan where nothing is known: (n, objectives).

        settled: (combinations of the first group,) bool, those below which every recoding was counted or beaten.
        """
        values = np.full(points.values.shape, np.nan)
        ks = self._ks(points)
        for loss, objective in enumerate(self.objectives):
            measure = self.problem.objectives[objective]
            if not isinstance(measure, CellLoss):
                raise TypeError("only cell losses have floors")
            known = _best_at(ks, points.keys[:, objective])
            floor = np.zeros(len(ks), dtype=np.float64)
            for place, group in enumerate(self.groups):
                least = group.least(loss, ks, settled if place == 0 else None)
                floor += np.where(least == NEVER, np.inf, least)
            scale = float(measure.scale(self.problem.table))
            values[:, objective] = np.where(floor < known, floor * scale * (1 - 1e-12), known * scale)
        return values

    def _ks(self, points: Numbers) -> np.ndarray:
        """The k that a recoding must have to stand beside each point: its own, or the least that a limit asks."""
        for place, measure in enumerate(self.problem.objectives):
            if is_smallest_class(measure):
                return -points.keys[:, place]
        asked = [threshold for measure, threshold in self.problem.limits if measure.name == "k"]
        return np.full(len(points.which), int(np.ceil(max(asked, default=0.0) - 1e-9)), dtype=np.int64)


def _best_at(ks: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """The least of the losses at the same k or a larger one, for each point."""
    order = np.lexsort((losses, -ks))
    best = np.minimum.accumulate(losses[order])
    last = np.searchsorted(-ks[order], -ks, side="right") - 1
    least: np.ndarray = best[last]
    return least


def make_floors(problem: Problem, fixed: Sequence[int]) -> Floors | None:
    """The floors of a problem whose search fixes these columns first; None where its rule or losses have none."""
    objectives = tuple(
        place
        for place, measure in enumerate(problem.objectives)
        if isinstance(measure, CellLoss) and measure.is_exact(problem.table)
    )
    if not objectives or problem.suppression.rule == "below-k" or problem.table.persons is not None:
        return None
    groups = [tuple(fixed)] if fixed else []
    groups += _deal(problem.table, [c for c in range(len(problem.table.hierarchies)) if c not in fixed])
    return Floors(problem, objectives, tuple(_count(problem, objectives, columns) for columns in groups))


def _deal(table: Table, columns: Sequence[int]) -> list[tuple[int, ...]]:
    """Columns with many values together, as they tell rows apart best; few enough levels to count them all."""
    dealt: list[tuple[int, ...]] = []
    group: tuple[int, ...] = ()
    size = 1
    for column in sorted(columns, key=lambda c: -len(table.hierarchies[c].leaves)):
        levels = table.hierarchies[column].height + 1
        if group and size * levels > GROUP:
            dealt.append(group)
            group, size = (), 1
        group, size = (*group, column), size * levels
    return [*dealt, group] if group else dealt


def _count(problem: Problem, objectives: Sequence[int], columns: tuple[int, ...]) -> Group:
    table = problem.table
    few = project(table, columns)
    rule = Suppression("cap-max-k", int(min(allowed_rows(problem), table.rows)))
    counted = count_lattice(few, Wanted(rule))
    levels = lattice_of(few).levels(counted.nodes)
    losses = np.zeros((len(objectives), len(counted.nodes)), dtype=np.int64)
    for place, objective in enumerate(objectives):
        measure = problem.objectives[objective]
        for position, column in enumerate(columns):
            cuts = table.hierarchies[column].groups
            by_level = [
                int((measure.table_of(table, column, cut)[cut] * table.leaf_rows[column]).sum())  # type: ignore[attr-defined]  # a CellLoss
                for cut in cuts
            ]
            losses[place] += np.array(by_level, dtype=np.int64)[levels[:, position]]
    return Group(columns, counted.ints[:, K], losses)


def project(table: Table, columns: Sequence[int]) -> Table:
    """The rows by some quasi-identifiers alone."""
    codes = table.codes[:, list(columns)]
    order, start = distinct_rows(codes)
    weights = np.add.reduceat(table.weights[order], start)
    names = tuple(table.schema.quasi[column] for column in columns)
    return Table(Schema(names), tuple(table.hierarchies[c] for c in columns), codes[order[start]], weights)
