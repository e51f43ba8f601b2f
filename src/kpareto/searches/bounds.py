"""Lower bounds for flexible recodings, so that a search can show its gap, and branch and bound where it can prove.

Decomposition (readings.md#lower-bounds): a loss of cells is a sum over columns, and leaving columns out never
suppresses more rows. So the least loss of a set S of columns bounds what those columns cost in any recoding, and sets
with weights that cover each column at most once add up to a bound for the whole.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kpareto.errors import BadJob
from kpareto.interrupts import OutOfTime, is_stopped, pause
from kpareto.kernels.words import INFEASIBLE
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import make
from kpareto.searches.cuts.recut import Recutter
from kpareto.searches.cuts.score import Score
from kpareto.tables.cuts import Cuts, tree_cuts
from kpareto.tables.table import Counts, Table, merge_counts, number_rows


def column_cuts(space: Cuts, column: int) -> int:
    """How many cuts a column has in the space."""
    hierarchy = space.hierarchies[column]
    return 2 ** len(space.gaps[column]) if space.free[column] else hierarchy.tree.cuts(hierarchy.roots)


def all_cuts(space: Cuts, column: int) -> Iterator[np.ndarray]:
    """The genes of every cut of one column, coarsest first: (genes of the column,) uint8 each."""
    genes = len(space.gaps[column])
    if space.free[column]:
        for borders in range(genes + 1):
            for chosen in itertools.combinations(range(genes), borders):
                bits = np.zeros(genes, dtype=np.uint8)
                bits[list(chosen)] = 1
                yield bits
        return
    hierarchy = space.hierarchies[column]
    for parts in itertools.product(*(tree_cuts(hierarchy.tree, root) for root in hierarchy.roots)):
        yield np.concatenate(parts)


def project(table: Table, columns: Sequence[int]) -> Table:
    """The table on some of its quasi-identifiers; rows that differ only in the others become one."""
    codes = table.codes[:, list(columns)]
    quasi = tuple(table.schema.quasi[c] for c in columns)
    weights = {name: weight for name, weight in table.schema.weights.items() if name in quasi}
    levels = {name: pair for name, pair in table.schema.levels.items() if name in quasi}
    schema = replace(table.schema, quasi=quasi, weights=weights, levels=levels)
    hierarchies = tuple(table.hierarchies[c] for c in columns)
    narrow = replace(table, schema=schema, hierarchies=hierarchies, codes=codes, population=None)
    return narrow.roll_up(codes, hierarchies, table.domain)


def project_score(score: Score, columns: Sequence[int]) -> Score:
    """A score on some of its columns only."""
    table = project(score.table, columns)
    names = set(table.schema.quasi)
    space = replace(
        score.space,
        hierarchies=table.hierarchies,
        free=tuple(score.space.free[c] for c in columns),
        ends={name: gaps for name, gaps in score.space.ends.items() if name in names},
    )
    return replace(score, table=table, space=space)


# -- decomposition --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """A proven lower bound on a loss, and the sets of columns it is made of."""

    value: float
    parts: tuple[tuple[tuple[str, ...], float, float], ...]  # columns, weight, what they cost at least in the whole

    def gap(self, value: float) -> float:
        """How far a found value may be from the least one, as a share of it."""
        return (value - self.value) / value if value > 0 else 0.0


def _enumerate(score: Score) -> tuple[float, np.ndarray]:
    """The least score, exactly, and its genome: all cuts of all but one column, the best cut of that one."""
    space, cutter = score.space, Recutter(score)
    counts = [column_cuts(space, c) for c in range(len(space.hierarchies))]
    last = int(np.argmax(counts))
    others = [c for c in range(len(counts)) if c != last]
    best, best_genome = math.inf, np.zeros(len(space.genes), dtype=np.uint8)
    fine = _fine(score)
    for chosen in itertools.product(*(list(all_cuts(space, c)) for c in others)):
        pause()
        bits = np.zeros(len(space.genes), dtype=np.uint8)
        for c, part in zip(others, chosen, strict=True):
            bits[space.gene_at[c] : space.gene_at[c + 1]] = part
        cost = cutter.recut(bits, last, fine)
        if cost < best:
            best, best_genome = cost, bits
    raw = float(score.raw(best_genome[None, :])[0])
    return (math.inf if raw >= INFEASIBLE else raw * score.unit), best_genome


def _fine(score: Score) -> float:
    """What a suppressed row costs besides: nothing where all may go, more than everything where none may."""
    if score.allowed >= score.table.rows:
        return 0.0
    if score.allowed > 0:
        raise BadJob(
            "Proofs need suppression without a cap or none at all (limit None or 0); between them nothing adds up."
        )
    # One suppressed row must weigh more than all cells of all rows, whatever else it saves.
    return 1e3 * score.table.rows * score.row_cost


def decomposition_bound(score: Score, most_cuts: int = 600, largest: int = 3) -> Bound:
    """The best decomposition bound from all sets of up to ``largest`` columns with at most ``most_cuts`` combinations.

    For losses of cells (lm, glm, nwp, …) alone. Out of time, the sets that were counted by then are a bound too.
    """
    losses = [make(spec) for spec in score.losses]
    if not all(isinstance(loss, CellLoss) for loss in losses):
        raise BadJob(
            "The decomposition bound is for losses of cells, such as lm and glm. Take branch_and_bound for cm."
        )
    count = len(score.space.hierarchies)
    sets: list[tuple[int, ...]] = []
    worth: list[float] = []
    some = (itertools.combinations(range(count), size) for size in range(1, min(largest, count) + 1))
    with suppress(OutOfTime):
        for columns in itertools.chain.from_iterable(some):
            cuts = sorted(column_cuts(score.space, c) for c in columns)
            if len(columns) > 1 and math.prod(cuts[:-1]) > most_cuts:
                continue
            pause()
            small = project_score(score, columns)
            value, best_genome = _enumerate(small)
            least = _in_the_whole(score, small, columns, best_genome) if math.isfinite(value) else math.inf
            sets.append(columns)
            worth.append(least)
    if math.inf in worth:
        return Bound(math.inf, ())
    cover = np.zeros((count, len(sets)))
    for place, columns in enumerate(sets):
        cover[list(columns), place] = 1.0
    weights = packing(np.array(worth), cover)
    names = score.table.schema.quasi
    parts = tuple(
        (tuple(names[c] for c in columns), float(w), float(v))
        for columns, w, v in zip(sets, weights, worth, strict=True)
        if w > 1e-9
    )
    # One part in 10**9 is given away, so that no rounding makes the bound too large.
    return Bound(sum(w * v for _, w, v in parts) * (1 - 1e-9), parts)


def _in_the_whole(score: Score, small: Score, columns: Sequence[int], best_genome: np.ndarray) -> float:
    """The least score of a set of columns in the unit of the whole table."""
    partition = small.partition(best_genome)
    total = Fraction(0)
    for spec, weight in score.losses.items():
        loss = make(spec)
        if isinstance(loss, CellLoss):
            here = loss.share(score.table, columns[0])
            there = loss.share(small.table, 0)
            if any(
                loss.share(score.table, c) * there != loss.share(small.table, i) * here for i, c in enumerate(columns)
            ):
                raise BadJob(f"The shares of {loss.name!r} change when columns are left out, so it has no such bound.")
            total += Fraction(weight) * Fraction(loss(partition)) * (here / there if there else 0)
    return float(total)


def packing(worth: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """Weights y ≥ 0 with cover @ y ≤ 1 that make worth @ y large: (sets,) float64, by the simplex method (Bland)."""
    rows, sets = cover.shape
    table = np.zeros((rows + 1, sets + rows + 1))
    table[:rows, :sets], table[:rows, sets : sets + rows], table[:rows, -1] = cover, np.eye(rows), 1.0
    table[rows, :sets] = -worth
    basis = list(range(sets, sets + rows))
    for _ in range(10_000):
        entering = np.flatnonzero(table[rows, :-1] < -1e-12 * max(1.0, float(np.abs(worth).max(initial=0))))
        if len(entering) == 0:
            break
        column = int(entering[0])
        ratios = np.where(
            table[:rows, column] > 1e-12, table[:rows, -1] / np.maximum(table[:rows, column], 1e-12), np.inf
        )
        row = min(np.flatnonzero(ratios <= ratios.min() + 1e-12).tolist(), key=lambda r: basis[r])
        table[row] /= table[row, column]
        for other in range(rows + 1):
            if other != row:
                table[other] -= table[other, column] * table[row]
        basis[row] = column
    weights = np.zeros(sets + rows)
    weights[basis] = np.maximum(table[:rows, -1], 0.0)
    set_weights = weights[:sets]
    return set_weights / max(1.0, float((cover @ set_weights).max(initial=0.0)))


# -- branch and bound -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Proof:
    """The best recoding known, a proven lower bound, and whether the two meet."""

    genome: np.ndarray  # (genes,) int64
    value: float
    bound: float
    complete: bool  # the value is proven to be the least
    nodes: int  # partial recodings looked at

    @property
    def gap(self) -> float:
        """How far the value may be from the least one, as a share of it; 0 where proven."""
        return 0.0 if self.complete or self.value == 0 else (self.value - self.bound) / self.value


def branch_and_bound(score: Score, most_nodes: int = 20_000, known: np.ndarray | None = None) -> Proof:
    """Fix the cuts of one column after the other, best bound first; the last column is cut exactly.

    A partial recoding costs at least: what its fixed columns cost with the rows they already suppress, the least the
    other columns cost by themselves, and for cm the errors that remain even with the other columns as they are. Out of
    time, what is open bounds the least cost.
    """
    space, fine = score.space, _fine(score)
    cutter = Recutter(score)
    order = sorted(range(len(space.hierarchies)), key=lambda c: column_cuts(space, c))
    judge = _Judge(score, order)
    best_genome = (
        np.zeros(len(space.genes), dtype=np.uint8) if known is None else np.asarray(known, dtype=np.uint8).copy()
    )
    best = float(score.raw(best_genome[None, :])[0])
    parts = {c: list(all_cuts(space, c)) for c in order[:-1]}
    heap: list[tuple[float, int, tuple[int, ...]]] = [(judge.bound(()), 0, ())]
    nodes = 0
    while heap and nodes < most_nodes and not is_stopped():
        low, _, chosen = opened = heapq.heappop(heap)
        if low >= best - 1e-9 * abs(best):
            heap = []
            break
        nodes += 1
        bits = np.zeros(len(space.genes), dtype=np.uint8)
        for c, place in zip(order, chosen, strict=False):
            bits[space.gene_at[c] : space.gene_at[c + 1]] = parts[c][place]
        if len(chosen) == len(order) - 1:
            cutter.recut(bits, order[-1], fine)
            raw = float(score.raw(bits[None, :])[0])
            if raw < best:
                best, best_genome = raw, bits
            continue
        column = order[len(chosen)]
        for place, part in enumerate(parts[column]):
            if is_stopped():
                heapq.heappush(heap, opened)
                break
            bits[space.gene_at[column] : space.gene_at[column + 1]] = part
            low = judge.bound(bits, len(chosen) + 1)
            if low < best - 1e-9 * abs(best):
                heapq.heappush(heap, (low, nodes * 1_000_003 + place, (*chosen, place)))
    value = float(score.value(np.array([best]))[0])
    bound = value if not heap else min(value, min(low for low, _, _ in heap) * score.unit)
    return Proof(best_genome.astype(np.int64), value, bound, not heap, nodes)


class _Judge:
    """Lower bounds, in raw units, for recodings of which the first few columns are fixed."""

    def __init__(self, score: Score, order: Sequence[int]) -> None:
        self.score, self.order = score, list(order)
        self.losses, self.k = score.scoring.losses, score.k
        self.rest = [0.0] * (len(order) + 1)  # least the columns from a place on cost, each by itself
        for place in range(len(order) - 1, -1, -1):
            pause()
            alone = _column_least(score, order[place]) if self.losses.runs.any() else 0.0
            self.rest[place] = self.rest[place + 1] + alone

    def bound(self, bits: np.ndarray | tuple[()], fixed: int = 0) -> float:
        """The bound of a partial recoding: the first ``fixed`` columns of the order are cut as bits say."""
        score, table, space = self.score, self.score.table, self.score.space
        full = np.zeros((1, len(space.genes)), dtype=np.int64)
        if fixed:
            full[0] = bits
        side = space.cuts(full)[0]
        columns = self.order[:fixed]
        groups = np.stack([side[space.leaf_at[c] + table.codes[:, c]] for c in columns], axis=1) if fixed else None
        classes = np.zeros(table.distinct, dtype=np.int64) if groups is None else number_rows(groups)[0]
        sizes = np.bincount(classes, weights=table.weights)
        gone = sizes[classes] < self.k
        away = float(table.weights[gone].sum())
        if away > score.allowed:
            return math.inf
        kept = ~gone
        total = 0.0
        for c in columns:
            cells = self._cells(c, side)[table.codes[kept, c]]
            total += float(cells @ table.weights[kept]) + away * float(self.losses.lost[c])
        total += max(self.rest[fixed], away * float(sum(self.losses.lost[c] for c in self.order[fixed:])))
        for counts, weight in score.predicted:
            total += weight * (away + self._errors(counts, classes, kept, self.order[fixed:]))
        return total

    def _cells(self, column: int, side: np.ndarray) -> np.ndarray:
        """The loss of each leaf's cell: (leaves,) float64."""
        space = self.score.space
        cut = side[space.leaf_at[column] : space.leaf_at[column + 1]]
        count = len(cut)
        firsts = np.flatnonzero(np.diff(cut, prepend=-1))
        lasts = np.append(firsts[1:], count) - 1
        return self.losses.runs[self.losses.run_at[column] + firsts * count + lasts][cut]

    def _errors(self, counts: Counts, classes: np.ndarray, kept: np.ndarray, rest: list[int]) -> float:
        """Rows not of their majority when the other columns keep their leaves, among rows not yet suppressed."""
        table = self.score.table
        finest, _ = number_rows(np.column_stack((classes, table.codes[:, rest])))
        merged = merge_counts(counts, finest, int(finest.max()) + 1)
        most = np.maximum.reduceat(merged.count, merged.start[:-1])
        sizes = np.bincount(finest, weights=table.weights)
        used = np.zeros(len(sizes), dtype=np.bool_)
        used[finest[kept]] = True
        return float((sizes - most)[used].sum())


def _column_least(score: Score, column: int) -> float:
    """The least a column costs by itself, in raw units of the whole score."""
    cells = {spec: weight for spec, weight in score.losses.items() if isinstance(make(spec), CellLoss)}
    alone = project_score(replace(score, losses=cells), [column])
    _, best_genome = _enumerate(alone)
    return _in_the_whole(replace(score, losses=cells), alone, [column], best_genome) / score.unit
