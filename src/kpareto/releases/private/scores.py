"""What a node of the lattice is worth to a differentially private choice, and how far one row can move that number.

A score is a whole number, higher is better. Neighbouring tables differ by one row that is added or removed. What
matters is the **sensitivity**: the most that a score of any node can differ between neighbours. It is derived here, in
the docstring of each score, and must hold for every table, not for the one at hand; so nothing in a score may be
scaled by what the rows are (their number, the values that occur). Everything a score knows beforehand comes from
the hierarchies, beta and k.

Most scores add up over classes,

    score(node) = Σ over classes E of worth(E) · seen(|E|),    worth ≥ 0, seen rising, seen(0) = 0,

where worth(E) depends on the cells that E shows and seen on its size alone. One row more makes exactly one class of
each node larger by one and leaves the others alone (a class that was not there had size 0), hence

    0 ≤ score(node, with the row) − score(node, without) ≤ max worth · max over s of (seen(s + 1) − seen(s)).

The bound is the sensitivity. The first inequality says that a row moves all scores in the same direction
(``monotone``), and then the choice needs half the noise.

``seen`` is what the release will show of a class of s rows on average: E[X; X ≥ k] rows, or P[X ≥ k] classes, for X
drawn from Bin(s, beta). A hard border (rows of classes of at least k/beta count, others do not) would give a
sensitivity of k/beta cells; the average is smooth, and its steps are some ten times smaller.
Rounding does no harm: the sensitivity is that of the rounded table of whole numbers which is really used.

The choice is OpenDP's noisy maximum: exponential noise on every score, the index of the largest. It is the
permute-and-flip mechanism (McKenna and Sheldon 2020; Ding et al. 2021), which is epsilon-differentially private like
the exponential mechanism and whose expected score is never lower. Noise and comparison are OpenDP's exact arithmetic
on whole numbers, with its own cryptographic generator; there is no seed.

Counting every node lets the mechanism look at all of them at once and spend all of its epsilon on one question.
A walk of many steps, as SafePub takes it, has a part of it for each.

Not here: non-uniform entropy, Σ −log₂ P(value | group). One row changes it by up to log₂ of the number of rows in the
group, so no bound holds for all tables; uniform entropy takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kpareto.errors import BadInput, BadTable, MissingExtra, did_you_mean
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Lattice
from kpareto.tables.table import Table, merge_classes

ClassTable = tuple[int, tuple[int, ...], np.ndarray, np.ndarray]  # of a node: its number, levels, groups, counts
CELL = 1_000  # parts of a cell's worth
ROW = 4_096  # parts of a row, or of a class, that is seen
LARGEST = 2**62  # sums stay below, so int64 never overflows
SURE = 2.0**-30  # a class that is dropped more seldom than this counts as always shown


@dataclass(frozen=True, eq=False)
class PrivateScore:
    """A number about each node, and how far one row can move it."""

    name: str
    sensitivity: int  # the most by which a score of any node differs between tables that differ by one row
    monotone: bool  # a row that is added lowers no score
    of_classes: Callable[[Sequence[int], np.ndarray, np.ndarray], int]  # levels, groups (classes, quasi), sizes


def score_nodes(table: Table, score: PrivateScore) -> np.ndarray:
    """The score of every node of the lattice, by node number: (nodes,) int64."""
    if table.rows * score.sensitivity >= LARGEST:
        raise BadTable(f"The table has {table.rows:,} rows, too many to be scored exactly. Give fewer rows.")
    scores = np.zeros(Lattice(table.hierarchies).size, dtype=np.int64)
    for place, levels, groups, counts in class_tables(table.codes, table.weights[:, None], table.hierarchies):
        scores[place] = score.of_classes(levels, groups, counts[:, 0])
    return scores


@dataclass(frozen=True, eq=False)
class _Seen:
    """A rising function of a class's size, in whole numbers: a table for small sizes, a straight line above."""

    table: np.ndarray  # (sizes,) int64, rising, 0 at 0
    slope: int

    def __call__(self, sizes: np.ndarray) -> np.ndarray:
        last = len(self.table) - 1
        return np.asarray(self.table[np.minimum(sizes, last)] + np.maximum(sizes - last, 0) * self.slope)

    @property
    def steepest(self) -> int:
        """The largest step from one size to the next."""
        return max(int(np.diff(self.table).max()), self.slope)


def _chances(beta: Fraction, k: int) -> np.ndarray:
    """P[Bin(s, beta) ≥ k] for s = 0, 1, …, up to where it is 1: (sizes,) float64.

    P[Bin(s + 1) ≥ k] = P[Bin(s) ≥ k] + beta f(k − 1; s): the step is taken when the last row is the k-th one drawn.
    """
    hit, miss = float(beta), float(1 - beta)
    chances = [0.0] * k
    log_step = k * math.log(hit)  # beta f(k − 1; s) at s = k − 1
    size = k
    total = 0.0
    while True:
        total += math.exp(log_step)
        chances.append(min(total, 1.0))
        if size * hit > k and math.exp(log_step) < SURE * (1 - miss):
            return np.array(chances)
        log_step += math.log(miss) + math.log(size) - math.log(size - k + 1)
        size += 1


def _seen_rows(beta: Fraction, k: int) -> _Seen:
    """E[X; X ≥ k] for X from Bin(s, beta), which is s beta P[Bin(s − 1, beta) ≥ k − 1]."""
    chances = _chances(beta, k - 1) if k > 1 else np.ones(1)
    rows = np.arange(1, len(chances) + 1) * float(beta) * chances
    return _round_score(np.append(0.0, rows), math.ceil(ROW * beta))


def _round_score(values: np.ndarray, slope: int) -> _Seen:
    return _Seen(np.maximum.accumulate(np.rint(values * ROW).astype(np.int64)), slope)


# -- scores that add up over classes ---------------------------------------------------------------------------------


def granularity(hierarchies: Sequence[Hierarchy], beta: Fraction, k: int) -> PrivateScore:
    """Information kept on average, as LM counts it: Σ over rows shown and columns of 1 − (|g| − 1) / (|leaves| − 1).

    Sensitivity: worth(E) is the sum over columns of at most CELL each, for every leaf is worth CELL and a group less,
    so a row moves the score by at most columns · CELL · (steepest step of seen). It counts all declared leaves, not
    those that occur, because which leaves occur depends on the rows.
    """

    def worth(hierarchy: Hierarchy, level: int) -> np.ndarray:
        leaves = np.bincount(hierarchy.groups[level])
        return 1 - (leaves - 1) / max(len(hierarchy.leaves) - 1, 1)

    return _cell_score("granularity", hierarchies, worth, _seen_rows(beta, k))


def intensity(hierarchies: Sequence[Hierarchy], beta: Fraction, k: int) -> PrivateScore:
    """Information kept on average, as precision counts it: Σ over rows shown and columns of 1 − level / height.

    Sensitivity: as for granularity, a cell is worth at most CELL, so columns · CELL · (steepest step of seen).
    """

    def worth(hierarchy: Hierarchy, level: int) -> np.ndarray:
        return np.full(int(hierarchy.groups[level, -1]) + 1, 1 - level / max(hierarchy.height, 1))

    return _cell_score("intensity", hierarchies, worth, _seen_rows(beta, k))


def uniform_entropy(hierarchies: Sequence[Hierarchy], beta: Fraction, k: int) -> PrivateScore:
    """Information kept on average, in bits: Σ over rows shown and columns of 1 − log |g| / log |leaves|.

    It is non-uniform entropy with the uniform distribution over the declared leaves in place of that of the rows.
    Sensitivity: a cell is worth at most CELL, so columns · CELL · (steepest step of seen).
    """

    def worth(hierarchy: Hierarchy, level: int) -> np.ndarray:
        leaves = np.bincount(hierarchy.groups[level])
        return 1 - np.log(leaves) / max(math.log(len(hierarchy.leaves)), math.log(2))

    return _cell_score("uniform-entropy", hierarchies, worth, _seen_rows(beta, k))


def _cell_score(
    name: str, hierarchies: Sequence[Hierarchy], worth: Callable[[Hierarchy, int], np.ndarray], seen: _Seen
) -> PrivateScore:
    """A score whose worth of a class is the sum of what its cells are worth."""
    tables = [
        [np.rint(np.clip(worth(h, level), 0, 1) * CELL).astype(np.int64) for level in range(h.height + 1)]
        for h in hierarchies
    ]
    most = sum(max(int(cells.max()) for cells in levels) for levels in tables)

    def of_classes(levels: Sequence[int], groups: np.ndarray, sizes: np.ndarray) -> int:
        total = np.zeros(len(sizes), dtype=np.int64)
        for column, level in enumerate(levels):
            total += tables[column][level][groups[:, column]]
        return int(total @ seen(sizes))

    return PrivateScore(name, max(most * seen.steepest, 1), True, of_classes)


def class_count(_: Sequence[Hierarchy], beta: Fraction, k: int) -> PrivateScore:
    """Classes shown on average: the more, the smaller the average class (SafePub's group size, turned over).

    The average class size itself, rows / classes, has no bounded sensitivity: one row can make a second class and
    halve it. The number of classes orders the nodes of one table in the same way where the same rows are kept.
    Sensitivity: every class is worth 1, so it is the steepest step of seen, beta f(k − 1; s, beta) ≤ 1.
    """
    seen = _round_score(_chances(beta, k), 0)  # P[X ≥ k] for X from Bin(s, beta)
    return PrivateScore("class-count", max(seen.steepest, 1), True, lambda _, __, sizes: int(seen(sizes).sum()))


# -- a score that does not -------------------------------------------------------------------------------------------


def discernibility(_: Sequence[Hierarchy], beta: Fraction, k: int) -> PrivateScore:
    """Minus discernibility per row: −(Σ |E|² over kept classes + n · suppressed rows) / n (Bayardo and Agrawal 2005).

    A class is kept from m = ⌈k/beta⌉ rows of the table on: drawn with chance beta it then shows k rows on average.

    Sensitivity m. Let Q = Σ |E|² over kept classes and let a row be added to a class of s rows in a table of n.
    The penalty is P = Q/n + suppressed rows.
    * s ≥ m: P changes by (Q + 2s + 1)/(n + 1) − Q/n = (n(2s + 1) − Q) / (n(n + 1)). Since s² ≤ Q ≤ s² + (n − s)²,
      that is at most (n(2s + 1) − s²)/(n(n + 1)), which rises up to s = n where it is 1, and at least −n²/(n(n + 1))
      > −1.
    * s + 1 < m: by 1 − Q/(n(n + 1)), between 0 and 1, because Q ≤ n².
    * s + 1 = m: by (n m² − Q)/(n(n + 1)) − (m − 1). Since m ≤ n + 1 and 0 ≤ Q ≤ n², that is at most m − (m − 1) = 1
      and at least −1 − (m − 1) = −m.
    * n = 0: from 0 (by convention) to 1.
    In whole parts of 1/ROW, rounded, a difference can grow by one part: m · ROW + 1. Rows can raise or lower it.
    """
    least = math.ceil(k / beta)

    def of_classes(levels: Sequence[int], groups: np.ndarray, sizes: np.ndarray) -> int:  # noqa: ARG001 - sizes alone count
        kept = [int(size) for size in sizes[sizes >= least].tolist()]
        rows = int(sizes.sum())
        squares = sum(size * size for size in kept)
        penalty = Fraction(squares, max(rows, 1)) + rows - sum(kept)
        return -math.floor(penalty * ROW)

    return PrivateScore("discernibility", least * ROW + 1, False, of_classes)


Maker = Callable[[Sequence[Hierarchy], Fraction, int], PrivateScore]
SCORES: dict[str, Maker] = {
    "granularity": granularity,
    "intensity": intensity,
    "uniform-entropy": uniform_entropy,
    "class-count": class_count,
    "discernibility": discernibility,
}


def check_score(name: str) -> None:
    """Raise unless there is a score of that name."""
    if name not in SCORES:
        raise BadInput(f"No score {name!r}. {did_you_mean(name, SCORES)}The scores are: {', '.join(SCORES)}.")


def make_score(name: str, hierarchies: Sequence[Hierarchy], beta: Fraction, k: int) -> PrivateScore:
    """A score by its name."""
    check_score(name)
    return SCORES[name](hierarchies, beta, k)


def class_tables(codes: np.ndarray, counts: np.ndarray, hierarchies: Sequence[Hierarchy]) -> Iterator[ClassTable]:
    """Every node in the order of node numbers: its number, levels, groups (classes, quasi), counts (classes, kinds).

    Classes of a node are unions of classes of the node below, so each table is merged from one that is there already:
    column by column, the last one fastest. For numbers that the compiled walk has not.
    codes: (rows, quasi) leaves, rows may repeat; counts: (rows, kinds) int64, added up within a class.
    """
    numbers = iter(range(Lattice(tuple(hierarchies)).size))
    groups, sums = merge_classes(np.asarray(codes), np.asarray(counts))
    for levels, classes, totals in _below((), groups, sums, hierarchies):
        yield next(numbers), levels, classes, totals


def _below(
    levels: tuple[int, ...], groups: np.ndarray, sums: np.ndarray, hierarchies: Sequence[Hierarchy]
) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
    """The tables of all nodes that begin with these levels, from the one whose further levels are 0."""
    column = len(levels)
    if column == len(hierarchies):
        yield levels, groups, sums
        return
    ladder = hierarchies[column].groups
    for level in range(ladder.shape[0]):
        if level:
            firsts = np.flatnonzero(np.diff(ladder[level - 1], prepend=-1))  # a leaf of each group below
            raised = groups.copy()
            raised[:, column] = ladder[level][firsts][groups[:, column]]
            groups, sums = merge_classes(raised, sums)
        yield from _below((*levels, level), groups, sums, hierarchies)


def noisy_maximum(epsilon: Fraction, sensitivity: int, monotone: bool) -> Any:
    """OpenDP's measurement that picks the index of a largest score, at most this epsilon by OpenDP's own account."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingExtra(
            "A differentially private choice needs OpenDP. Install it with: pip install 'kpareto[private]'."
        ) from error
    if epsilon <= 0 or sensitivity < 1:
        raise BadInput(f"A private choice needs epsilon above 0 and a sensitivity of at least 1, not {epsilon!s}.")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=monotone)
    most = math.nextafter(float(epsilon), 0.0)  # not above epsilon, which may not be a binary fraction
    scale = float((1 if monotone else 2) * sensitivity / epsilon)
    while True:  # OpenDP rounds its account up: the noise grows until the account is met
        measurement: Any = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)
        if measurement.map(sensitivity) <= most:
            return measurement
        scale *= 1 + 2.0**-40


def choose_node(scores: Sequence[int] | np.ndarray, epsilon: Fraction, score: PrivateScore) -> int:
    """A node of the whole lattice by the scores of all, larger ones more likely: epsilon-differentially private."""
    return int(noisy_maximum(epsilon, score.sensitivity, score.monotone)([int(number) for number in scores]))
