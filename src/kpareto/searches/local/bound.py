"""A lower bound for every local recoding of a table, by prices.

Give every row a price, none negative. Call prices *fair* if, in every box of labels that holds at least k rows, the k
highest prices add up to at most k times what one row loses in that box.

**Claim.** Fair prices add up to at most the loss of any k-anonymous local recoding.

*Proof.* Take a class of m ≥ k rows and its box, which loses L a row and holds the class. The k highest prices in the
box have a mean of at most L, hence so have the k highest of the class, and the m − k others are no higher than the
lowest of those k. So the prices of the class add up to at most m·L, which is what the class loses. Every row is in one
class; add up over the classes. ∎

* *Weights.* A distinct row that stands for w rows has w equal prices; nothing above asks that rows differ, or that
  equal rows share a class.
* *Larger boxes.* If a box is charged less than it loses, or holds more rows than its labels do, fairness only asks for
  more. So a walk may go over fewer boxes, as long as each class lies in one that is charged at most what the class
  loses (the covers below). That is how columns of any interval are handled.
* *Some columns.* The loss is a sum over columns. If the prices p of some columns are fair for what these lose, and
  the prices q of the others for what those lose, then the sum of p + q is below the loss of all. So a table with too
  many columns is priced in groups of columns.
* *Suppression.* Let n rows at most be suppressed, at a loss of s each, and let x ≥ 0. If no price is above s + x, a
  suppressed row pays s ≥ price − x, so the loss is at least (sum of prices) − n·x. Lowering a price keeps prices fair,
  so cut them off at s + x and take the x that gives most.
* *Further limits* only forbid more recodings. A class with l distinct values has l rows, one whose most frequent value
  has a share of at most α has 1/α rows, so k may be raised to that.

**Neighbours.** A second bound serves tables with so many columns that no walk over all their boxes ends: the class of a
row has k rows, and a label that holds a class loses at least what the label of any two of its rows does. So a row loses
at least what it shares with its (k − 1)-nearest neighbour, and all rows together at least the sum. A bound for fewer
rows than k is a bound for k, and a row that was not looked at counts nothing. It is weaker than prices wherever these
can be had for all columns at once; where they cannot, the better of the two counts.

Where the prices come from does not matter for the proof. They start as what each row loses in the classes of a search;
a walk over all boxes makes them fair (kernels/local/prices.py); classes whose prices fell below their loss get half of
that back, in proportion, and the next walk tells whose prices can bear it. The best sum that was ever fair counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.kernels.compiling import working
from kpareto.kernels.local.classes import boxes_of
from kpareto.kernels.local.neighbours import near_losses
from kpareto.kernels.local.orders import log_table, tree_order
from kpareto.kernels.local.prices import Covers, fair_prices
from kpareto.kernels.words import ALPHA, DISTINCT, ENTROPY
from kpareto.searches.local.problem import LocalProblem
from kpareto.searches.local.recoding import LocalClasses
from kpareto.searches.local.search import Progress, Workers

WALKS = 10
LIMIT = 1_000_000_000  # rows looked at in one walk, some seconds; beyond, columns are priced in groups
ROOM = 1.2  # how much a price may rise in one walk
HOPELESS = 100_000 * LIMIT  # rows times boxes from which on not even the first walk is tried
HAIR = 1e-9  # what rounding may add to a sum of prices, as a share
TRIED = 256  # rows by which the time is told that all of them take
PARTS = 32  # in which all rows are looked at for their neighbours; each begins with blocks of all rows


@dataclass(frozen=True)
class LocalBound:
    """No local recoding that keeps the wish loses less than this."""

    value: float
    groups: tuple[tuple[str, ...], ...]  # the columns that were looked at together
    walks: int  # over all boxes; 0: by neighbours

    def gap(self, loss: float) -> float:
        """How far a loss is above the bound, as a share of the bound: infinite above a bound of 0."""
        return loss / self.value - 1 if self.value > 0 else (0.0 if loss == 0 else math.inf)


def lower_bound(
    problem: LocalProblem,
    classes: LocalClasses,
    walks: int = WALKS,
    seconds: float | None = None,
    progress: Progress | None = None,
    threads: int = 1,
) -> LocalBound:
    """A bound for every recoding that keeps the problem's wish; ``classes`` of a search give the prices a start.

    Stopped early or out of time it is lower, but still a bound. Any number of threads gives the same.
    """
    workers = Workers(threads, seconds, progress, walks)
    names = problem.table.schema.quasi
    waiting: list[tuple[int, ...]] = [tuple(range(len(names)))]
    total, groups, done = np.zeros(problem.table.distinct), [], 0
    near = 0.0
    while waiting and not workers.stopped:
        columns = waiting.pop(0)
        share = None if seconds is None else (seconds - (working() - workers.began)) / (len(waiting) + 1)
        prices, walked = _price(problem, classes, columns, walks, share, workers)
        if prices is None and len(columns) == len(names) and not workers.stopped:
            near = _value(problem, _near_prices(problem, share, workers))
        if prices is None and len(columns) > 1:  # too many boxes: every second column by itself
            waiting += [columns[::2], columns[1::2]]
        elif prices is not None:
            total += prices
            groups.append(tuple(names[c] for c in columns))
            done += walked
    priced = _value(problem, total)
    return LocalBound(priced, tuple(groups), done) if priced >= near else LocalBound(near, (tuple(names),), 0)


def least_rows(problem: LocalProblem) -> int:
    """The fewest rows a class can have: k, or more where a limit on sensitive values asks for more."""
    rows = problem.limits.k
    for kind, bound in zip(problem.limits.kinds.tolist(), problem.limits.bounds.tolist(), strict=True):
        if kind in (DISTINCT, ENTROPY):
            rows = max(rows, math.ceil(bound - 1e-9))
        elif kind == ALPHA and bound > 0:
            rows = max(rows, math.ceil(1 / bound - 1e-9))
    return rows


def _price(
    problem: LocalProblem,
    classes: LocalClasses,
    columns: Sequence[int],
    walks: int,
    seconds: float | None,
    workers: Workers,
) -> tuple[np.ndarray | None, int]:
    """The best fair prices of some columns, (distinct,) float64, and the walks; None where one walk is too long."""
    began, weights = working(), problem.table.weights
    covers, k = make_covers(problem, columns), least_rows(problem)
    if len(weights) * math.prod(np.diff(covers.begin).tolist()) > HOPELESS:
        return None, 0
    row, owner = problem.row[classes.order], np.repeat(np.arange(len(classes.cuts) - 1), np.diff(classes.cuts))
    rows = problem.pieces.size[classes.order].astype(np.float64)
    dear = _losses(problem, classes, columns)[owner] * rows  # per entry
    paid = np.bincount(owner, weights=dear)
    price = np.bincount(row, weights=dear, minlength=len(weights)) / weights
    price[np.unique(problem.row[classes.dropped])] = problem.labels.lost
    best, walked = None, 0
    for walk in range(walks):
        workers.listen()
        late = seconds is not None and working() - began > seconds
        if best is not None and (late or workers.stopped):
            break
        fair = _walk(price, weights, covers, k, workers)
        if fair is None:
            break
        walked += 1
        workers.done = walked
        if best is None or fair @ weights > best @ weights:
            best = fair
        # Classes whose prices fell get some back, less and less.
        asked = np.bincount(owner, weights=fair[row] * rows)
        again = np.ones(len(paid))
        np.divide(paid, asked, out=again, where=asked > 0)
        back = again ** (0.5 / (1 + 0.3 * walk))
        price = np.bincount(row, weights=fair[row] * rows * back[owner], minlength=len(weights)) / weights
    return best, walked


def _walk(price: np.ndarray, weights: np.ndarray, covers: Covers, k: int, workers: Workers) -> np.ndarray | None:
    """Fair prices by one walk over all boxes, (distinct,) float64; None where it is too long or was ended.

    On several threads it is divided into walks by one cover of the first column and one of the second each; what every
    box grants is the least that any of these grants. All in threads of their own, so that this one hears who wants it
    to end.
    """
    first, second = int(covers.begin[1]), int(covers.begin[min(2, len(covers.begin) - 1)])
    pairs: list[tuple[int, ...]] = [(a, b) for a in range(first) for b in range(first, second)]
    begin = np.concatenate((np.arange(min(len(covers.begin), 3)), covers.begin[3:] - second + 2))

    def walk(chosen: tuple[int, ...]) -> tuple[np.ndarray, bool, int]:
        part = covers
        if chosen:
            places = [*chosen, *range(second, int(covers.begin[-1]))]
            part = Covers(covers.group[places], covers.groups[places], covers.charge[places], begin.astype(np.int64))
        granted, ended, work = fair_prices(price, weights, part, k, ROOM, LIMIT, workers.halt)
        return granted, bool(ended), int(work)

    if workers.threads == 1 or not pairs:
        pairs = [()]
    parts = workers.run(walk, [(pair,) for pair in pairs])
    work = sum(work for _, _, work in parts) - len(price) * max(0, len(pairs) - first)  # divided more than once
    if work > LIMIT or not all(ended for _, ended, _ in parts):
        return None
    fair: np.ndarray = np.minimum.reduce([granted for granted, _, _ in parts])
    return fair


def _near_prices(problem: LocalProblem, seconds: float | None, workers: Workers) -> np.ndarray:
    """What each row loses at least for its nearest neighbours, (distinct,) float64; for fewer than k in little time."""
    table, k = problem.table, least_rows(problem)
    codes = np.empty((table.distinct, len(problem.leaves)), dtype=np.int32)
    codes[problem.row] = problem.pieces.codes
    ones, logs = np.ones(codes.shape[1]), log_table(table.rows)
    order = tree_order(codes, table.weights, problem.labels, ones, 0.5, logs)
    places = np.random.default_rng(1).permutation(table.distinct)
    prices = np.zeros(table.distinct)
    fixed = codes, table.weights, order, problem.labels
    if seconds is not None:
        left = 0.5 * seconds  # the other half is for the groups of columns
        near_losses(places[:1], *fixed, k, workers.halt)  # loads compiled code
        while k > 2:
            began = working()
            near_losses(places[:TRIED], *fixed, k, workers.halt)
            if (working() - began) * table.distinct / TRIED < left:
                break
            k = (k + 1) // 2
    parts = np.array_split(places, PARTS)
    tasks = [(part, *fixed, k, workers.halt) for part in parts]
    for part, least in zip(parts, workers.run(near_losses, tasks), strict=True):
        prices[order[part]] = least
    return prices


def _losses(problem: LocalProblem, classes: LocalClasses, columns: Sequence[int]) -> np.ndarray:
    """What one row of each class loses in some columns: (classes,) float64."""
    count, width = len(classes.cuts) - 1, problem.pieces.codes.shape[1]
    small, large = np.empty((count, width), dtype=np.int32), np.empty((count, width), dtype=np.int32)
    boxes_of(classes.order, classes.cuts, problem.pieces, small, large)
    labels, total = problem.labels, np.zeros(count)
    for c in columns:
        total += labels.losses[labels.base[c] + labels.width[c] * small[:, c] + large[:, c]]
    return total


def _value(problem: LocalProblem, prices: np.ndarray) -> float:
    """The bound that fair prices prove, with the suppression that is allowed."""
    weights, most = problem.table.weights, float(problem.labels.lost)
    value = float(prices @ weights)
    if problem.allowed:
        dear = np.unique(np.maximum(prices - most, 0.0))  # the best x is one of these
        tries = dear[np.linspace(0, len(dear) - 1, min(len(dear), 200)).astype(np.int64)]
        value = max(float(np.minimum(prices, most + x) @ weights) - problem.allowed * x for x in tries.tolist())
    return max(0.0, value * (1 - HAIR)) * float(problem.unit)


# Covers of a column: a few ways to divide its values into groups such that every label lies in a group that is no
# dearer.
#
# The lower bound walks over boxes, one group per column. It may walk over fewer and larger boxes than there are labels,
# as long as every label lies within some group whose *charge* is at most what the label loses: then a class in its own
# labels also lies in a box that is charged at most what the class loses.
#
# * A column of a tree: one cover per level. A label is a node, a node is a group of some level, and its charge is its
#   own loss.
# * A column of intervals: single values, then for the intervals of more than half a length and up to that length three
#   divisions into windows half as long again, shifted by half the length. Such an interval lies in a window of one of
#   the three. The charge is the least loss of an interval longer than half the length in that window.

Cover = tuple[np.ndarray, np.ndarray]  # group of each value: (values,) int32; charge of each group: (groups,) float64


def column_covers(problem: LocalProblem, column: int) -> list[Cover]:
    """The covers of one column, from fine to coarse."""
    return _windows(problem, column) if problem.labels.free[column] else _levels(problem, column)


def make_covers(problem: LocalProblem, columns: Sequence[int]) -> Covers:
    """The covers of some columns in the form the walk reads; those with few values come first and end it early."""
    codes = np.empty((problem.table.distinct, len(problem.leaves)), dtype=np.int32)
    codes[problem.row] = problem.pieces.codes
    chosen = [
        (column, column_covers(problem, column)) for column in sorted(columns, key=lambda c: len(problem.leaves[c]))
    ]
    covers = [(column, cover) for column, listed in chosen for cover in listed]
    charge = np.full((len(covers), max(len(cost) for _, (_, cost) in covers)), np.inf)
    for number, (_, (_, cost)) in enumerate(covers):
        charge[number, : len(cost)] = cost
    return Covers(
        np.stack([group[codes[:, column]] for column, (group, _) in covers]).astype(np.int32),
        np.array([len(cost) for _, (_, cost) in covers], dtype=np.int64),
        charge,
        np.concatenate(([0], np.cumsum([len(listed) for _, listed in chosen]))).astype(np.int64),
    )


def _square(problem: LocalProblem, column: int) -> np.ndarray:
    """What a label loses, by its smallest and its largest value: (values, values) int64."""
    base, width = int(problem.labels.base[column]), int(problem.labels.width[column])
    return problem.labels.losses[base : base + width * width].reshape(width, width)


def _levels(problem: LocalProblem, column: int) -> list[Cover]:
    square = _square(problem, column)
    covers: list[Cover] = []
    for cut in problem.table.hierarchies[column].groups:
        _, first, group = np.unique(cut[problem.leaves[column]], return_index=True, return_inverse=True)
        last = np.append(first[1:], len(group)) - 1
        if not covers or len(first) < len(covers[-1][1]):  # a level that merges nothing that occurs adds no label
            covers.append((group.astype(np.int32), square[first, last].astype(np.float64)))
    return covers


def _windows(problem: LocalProblem, column: int) -> list[Cover]:
    square = _square(problem, column)
    count = len(square)
    values = np.arange(count)
    covers: list[Cover] = [(values.astype(np.int32), np.diagonal(square).astype(np.float64))]
    length = 2
    while length // 2 < count:
        shift = length // 2
        # An interval of this class has shift + 1 … length values; short[a] is what the shortest one from a on loses.
        short = square[values[: count - shift], values[shift:]].astype(np.float64)
        for offset in range(3) if shift + length < count else (0,):
            window = (values + (3 - offset) * shift) // (3 * shift) if shift + length < count else np.zeros_like(values)
            window = window - window[0]
            cost = np.full(int(window[-1]) + 1, np.inf)
            inside = window[: count - shift] == window[shift:]
            np.minimum.at(cost, window[: count - shift][inside], short[inside])
            covers.append((window.astype(np.int32), cost))
        length *= 2
    return covers
