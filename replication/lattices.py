"""Adult's lattices with every node counted, and what the pages on POkA and PBG-EA ask of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, problem
from kpareto.searches.defects import replay, whole
from kpareto.searches.lattice.poka import Poka, Reported
from kpareto.tables.adult import adult_table
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table

CAP = 301  # rows that may be suppressed: one in a hundred (PO-1, PB-7)


@dataclass(frozen=True, eq=False)
class CountedLattice:
    """A problem on the lattice with the numbers of every node."""

    problem: Problem
    runs: dict[Poka, Told] = field(default_factory=dict)  # of POkA, made so far: tables, figures and tests share them

    @cached_property
    def lattice(self) -> Lattice:
        """The lattice."""
        return Lattice(self.problem.table.hierarchies)

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers of every node, in the order of node numbers."""
        return whole(self.problem)

    @cached_property
    def best(self) -> np.ndarray:
        """One node for every point of the complete front, smallest first value first: (points,) int64."""
        feasible = np.flatnonzero(self.numbers.feasible)
        nodes = feasible[non_dominated(self.numbers.keys[feasible], "one")]
        return nodes[np.lexsort((nodes, self.numbers.values[nodes, 0]))]

    @cached_property
    def vectors(self) -> set[tuple[int, ...]]:
        """The numbers of the complete front, as they are compared."""
        return {tuple(row) for row in self.numbers.keys[self.best].tolist()}

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Every pair of nodes that differ by one level of one column: the lower, the higher node."""
        nodes = np.arange(self.lattice.size)
        levels = self.lattice.levels(nodes)
        low = [nodes[levels[:, c] < size - 1] for c, size in enumerate(self.lattice.genes.tolist())]
        high = [part + stride for part, stride in zip(low, self.lattice.strides, strict=True)]
        return np.concatenate(low), np.concatenate(high)


@dataclass(frozen=True)
class Told:
    """What a run of POkA reported, judged by the complete front."""

    evaluated: int
    share: float  # of all nodes
    hits: int
    optima: int
    false: int
    nodes: tuple[int, ...]
    stopped: str
    missed_above: int = 0  # optima with k of at least 2 that were missed; the loop never reports k = 1


def poka(counted: CountedLattice, search: Poka) -> Told:
    """Run POkA on counted numbers, once for each setting, and judge it."""
    if search not in counted.runs:
        counted.runs[search] = _judge(counted, search)
    return counted.runs[search]


def _judge(counted: CountedLattice, search: Poka) -> Told:
    run: Reported = replay(search, counted.lattice, counted.numbers)
    keys = [tuple(row) for row in counted.numbers.keys[run.nodes].tolist()]
    wrong = sum(key not in counted.vectors for key in keys)
    hits = len(counted.vectors & set(keys))
    share = run.evaluated / counted.lattice.size
    nodes = tuple(run.nodes.tolist())
    missed = sum(vector[0] < -1 for vector in counted.vectors - set(keys))
    return Told(run.evaluated, share, hits, len(counted.vectors), wrong, nodes, run.stopped, missed)


def adult_counted(preset: str, objectives: tuple[str, ...]) -> CountedLattice:
    """Adult as PO and PB have it: losses of declared leaves, salary out of the quasi-identifiers for cm."""
    target = "salary-class" if any(name.startswith("cm") for name in objectives) else None
    return CountedLattice(
        problem(adult_table(preset, target=target, domain="declared"), objectives, Suppression("cap-max-k", CAP))
    )


def tiny_table(rows: list[tuple[str, str]], first: list[list[str]], secrets: list[str] | None = None) -> Table:
    """A table of two columns for counterexamples: the first with the given levels, the second 0 or 1 below *.

    ``secrets`` is a sensitive column.
    """
    columns = (from_levels("a", first), from_levels("b", [["0", "*"], ["1", "*"]]))
    codes = np.array([[columns[c].index[row[c]] for c in (0, 1)] for row in rows], dtype=np.int32)
    schema = Schema(("a", "b"), sensitive=() if secrets is None else ("secret",))
    values, codes_of = np.unique(secrets or [], return_inverse=True)
    extras = {} if secrets is None else {"secret": (tuple(map(str, values)), codes_of.astype(np.int32), None)}
    table = make_table(schema, columns, codes, np.ones(len(rows), dtype=np.int64), extras)
    return replace(table, domain="declared")
