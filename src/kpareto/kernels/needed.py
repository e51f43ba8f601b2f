"""The rule as-needed: the classes that each threshold suppresses, and what that costs, for all thresholds of a node.

A candidate suppresses the classes that miss a limit of the job, those smaller than k', and those whose number is worse
than a threshold of any further privacy objective; no other. Few classes can be suppressed by any threshold at all,
because rows may go only up to what is allowed: these are *within reach*, and only they are sorted and looked at again.

Numbers are compared by *ranks*, of which the higher is the worse one: the number of steps of a grid, rounded to the
safe side, so that nobody is shown a trade-off between t = 0.1837 and t = 0.1838. Two thresholds that suppress the same
classes are one candidate, that of the stricter one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.classes import is_hidden
from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.histograms import class_value, worse_of, worst_of_none
from kpareto.kernels.words import BEHIND, DISTINCT, ENTROPY


class Axes(NamedTuple):
    """The privacy objectives besides k, which thresholds are taken of."""

    places: np.ndarray  # (entries,) int64, which of the numbers that are asked for
    owners: np.ndarray  # (entries,) int64, the objective it belongs to; one of several columns has an entry for each
    objectives: int
    step: float  # of the grid; 0: every value is a threshold


class ReachRoom(NamedTuple):
    """The classes within reach, and room for going through the thresholds."""

    numbers: np.ndarray  # (entries, classes) float64, of every class
    ranks: np.ndarray  # (objectives, classes) float64, the worst over the columns of an objective
    classes: np.ndarray  # (classes,) int64, the classes within reach by rising size
    costs: np.ndarray  # (losses, reach) int64, what a loss grows by when each of them is suppressed
    away: np.ndarray  # (reach,) bool, suppressed by a threshold of a number
    floors: np.ndarray  # (objectives,) float64, the strictest threshold of each, as a rank
    near_ranks: np.ndarray  # (classes,) float64, ranks that may be within reach
    near_rows: np.ndarray  # (classes,) int64
    cutoffs: np.ndarray  # (objectives, reach + 1) float64, thresholds as ranks, the loosest first
    counts: np.ndarray  # (objectives,) int64, how many
    at: np.ndarray  # (objectives,) int64, the combination of thresholds that is looked at
    outside: np.ndarray  # (entries,) float64, the worst number of the classes out of reach
    first: np.ndarray  # (thresholds,) int64, the first class within reach that each threshold of k leaves
    worst: np.ndarray  # (entries, thresholds + 1) float64, filled: the worst visible class under each
    reached: np.ndarray  # (objectives,) float64, the worst visible ranks


@inner
def rank_number(kind, number, step):
    """The rank of a number on the grid; higher is worse. A hair of slack, so that 0.18 is not 0.19."""
    worse = -number if kind == DISTINCT or kind == ENTROPY or kind == BEHIND else number
    if step > 0.0:
        return math.ceil(worse / step - 1e-10) if math.isfinite(worse) else worse
    return worse


@inner
def sort_by(places, n, keys):
    """Sort the first n places by rising key, equal ones by place: a shell sort, as np.sort takes seconds to compile."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            place = places[i]
            key = keys[place]
            j = i
            while j >= gap and (
                keys[places[j - gap]] > key or (keys[places[j - gap]] == key and places[j - gap] > place)
            ):
                places[j] = places[j - gap]
                j -= gap
            places[j] = place
        gap //= 3


@inner
def number_classes(classes, hiding, allowed, lanes, counted, numbers, axes, rows, values, told, reach):
    """The numbers and ranks of visible classes, and what no threshold of an objective can go below (floors).

    Where more rows than are allowed have the worst number that a class can have, that is the answer, and the others
    are not counted.
    """
    floors = reach.floors
    for a in range(axes.objectives):
        floors[a] = -math.inf
        for i in range(classes.size):
            reach.ranks[a, i] = -math.inf
    for e in range(axes.places.shape[0]):
        place, owner = axes.places[e], axes.owners[e]
        kind, column, parameter = numbers.kinds[place], numbers.columns[place], numbers.parameters[place]
        ranks, own = reach.ranks[owner], reach.numbers[e]
        stop = rank_number(kind, numbers.stops[place], axes.step)
        full = np.int64(0)  # rows in classes that are as bad as can be
        stopped = False
        for i in range(classes.size):
            if is_hidden(classes, hiding, i):
                continue
            number = class_value(classes, lanes, counted, kind, column, parameter, i, rows, values, told)
            own[i] = number
            if kind < BEHIND and number == numbers.stops[place]:
                full += classes.counts[i]
                if full > allowed:
                    stopped = True
                    break
        if stopped:  # it decides nothing: no threshold can be stricter
            floors[owner] = max(floors[owner], stop)
            for i in range(classes.size):
                own[i] = numbers.stops[place]
        else:
            for i in range(classes.size):
                if not is_hidden(classes, hiding, i):
                    ranks[i] = max(ranks[i], rank_number(kind, own[i], axes.step))


@inner
def strictest_rank(classes, hiding, allowed, ranks, floor, reach):
    """The least rank such that classes with a higher one have at most ``allowed`` rows."""
    counts = classes.counts
    near_ranks, near_rows, places = reach.near_ranks, reach.near_rows, reach.classes
    low, n = floor, 0
    most = 2 * allowed + 64
    total = np.int64(0)
    for i in range(classes.size + 1):
        if i < classes.size:
            if ranks[i] <= low or is_hidden(classes, hiding, i):
                continue
            if counts[i] > allowed:
                low = ranks[i]
                continue
            near_ranks[n] = ranks[i]
            near_rows[n] = counts[i]
            total += counts[i]
            n += 1
            if total <= most:
                continue
        # Keep the worst of them, as many as may go; the next one says how strict a threshold can be.
        for j in range(n):
            places[j] = j
        sort_by(places, n, near_ranks)
        total = np.int64(0)
        j = n - 1
        while j >= 0 and near_ranks[places[j]] > low:
            total += near_rows[places[j]]
            if total > allowed:
                low = near_ranks[places[j]]
                break
            j -= 1
        kept = 0
        total = np.int64(0)
        for j in range(n):
            if near_ranks[j] > low:
                near_ranks[kept] = near_ranks[j]
                near_rows[kept] = near_rows[j]
                total += near_rows[j]
                kept += 1
        n = kept
    return low


@inner
def find_reach(classes, hiding, strictest, axes, numbers, reach):
    """The visible classes that some threshold suppresses, by rising size, and the thresholds; returns how many.

    reach.floors holds the strictest threshold of each objective. outside: filled with the worst numbers of the others.
    """
    sizes = classes.sizes
    places, ranks, floors = reach.classes, reach.ranks, reach.floors
    entries = axes.places.shape[0]
    for e in range(entries):
        reach.outside[e] = worst_of_none(numbers.kinds[axes.places[e]])
    n = 0
    for i in range(classes.size):
        if is_hidden(classes, hiding, i):
            continue
        within = sizes[i] < strictest
        for a in range(axes.objectives):
            within = within or ranks[a, i] > floors[a]
        if within:
            places[n] = i
            n += 1
        else:
            for e in range(entries):
                kind = numbers.kinds[axes.places[e]]
                reach.outside[e] = worse_of(kind, reach.outside[e], reach.numbers[e, i])
    sort_by(places, n, sizes)
    for a in range(axes.objectives):
        reach.counts[a] = list_cutoffs(places, n, ranks[a], floors[a], reach.cutoffs[a])
        reach.at[a] = 0
    return n


@inner
def list_cutoffs(places, n, ranks, floor, cutoffs):
    """The ranks above the floor that classes within reach have, falling, then the floor; returns how many."""
    filled = 0
    for u in range(n):
        rank = ranks[places[u]]
        if rank <= floor:
            continue
        # Binary search among those that are there, falling; ranks on a grid are few.
        low, high = 0, filled
        while low < high:
            middle = (low + high) // 2
            if cutoffs[middle] > rank:
                low = middle + 1
            else:
                high = middle
        if low < filled and cutoffs[low] == rank:
            continue
        for j in range(filled, low, -1):
            cutoffs[j] = cutoffs[j - 1]
        cutoffs[low] = rank
        filled += 1
    cutoffs[filled] = floor
    return filled + 1


@inner
def next_combination(reach, axes, fits):
    """Go on to the next combination of thresholds; False at the end.

    Where the last one suppressed too many rows (not ``fits``), stricter thresholds of the last objective do too.
    """
    a = axes.objectives - 1
    if not fits:
        reach.at[a] = 0
        a -= 1
    while a >= 0:
        reach.at[a] += 1
        if reach.at[a] < reach.counts[a]:
            return True
        reach.at[a] = 0
        a -= 1
    return False


@inner
def combine(classes, n, allowed, strictest, axes, numbers, reach, steps):
    """The thresholds of k under one combination of the others, with all that each costs; returns how many.

    n: classes within reach; strictest: the largest threshold of k, or 0 where k is no objective. -1 where the other
    thresholds alone suppress more rows than are allowed. Where a threshold is not met exactly by a visible class, a
    stricter one suppresses the same classes, and the candidate is left out.
    """
    sizes, counts = classes.sizes, classes.counts
    places, away, costs = reach.classes, reach.away, reach.costs
    thresholds, lost, more = steps.thresholds, steps.lost, steps.more
    losses = costs.shape[0]
    gone = np.int64(0)
    for u in range(n):
        i = places[u]
        away[u] = False
        for a in range(axes.objectives):
            if reach.ranks[a, i] > reach.cutoffs[a, reach.at[a]]:
                away[u] = True
        gone += counts[i] if away[u] else 0
    if gone > allowed:
        return -1
    for b in range(losses):
        more[b, 0] = 0
        for u in range(n):
            more[b, 0] += costs[b, u] if away[u] else 0
    lost[0] = gone
    thresholds[0] = 0
    reach.first[0] = 0
    count = 1 if strictest == 0 else 0
    u = 0
    while strictest > 0:
        while u < n and away[u]:
            u += 1
        size = sizes[places[u]] if u < n else strictest
        thresholds[count] = min(size, strictest)
        reach.first[count] = u
        lost[count] = gone
        count += 1
        if size >= strictest:
            break
        for b in range(losses):
            more[b, count] = more[b, count - 1]
        while u < n and (away[u] or sizes[places[u]] == size):
            if not away[u]:
                gone += counts[places[u]]
                for b in range(losses):
                    more[b, count] += costs[b, u]
            u += 1
        if gone > allowed:
            break
    return keep_exact(n, count, axes, numbers, reach, steps)


@inner
def keep_exact(n, count, axes, numbers, reach, steps):
    """The worst visible numbers under each threshold of k, and only those candidates that meet their ranks exactly."""
    thresholds, lost, more, worst = steps.thresholds, steps.lost, steps.more, reach.worst
    places, away, at, reached = reach.classes, reach.away, reach.at, reach.reached
    entries = axes.places.shape[0]
    for a in range(axes.objectives):
        reached[a] = -math.inf
    for e in range(entries):
        worst[e, count] = reach.outside[e]
    u = n
    for j in range(count - 1, -1, -1):
        for e in range(entries):
            worst[e, j] = worst[e, j + 1]
        while u > reach.first[j]:
            u -= 1
            if away[u]:
                continue
            i = places[u]
            for a in range(axes.objectives):
                reached[a] = max(reached[a], reach.ranks[a, i])
            for e in range(entries):
                worst[e, j] = worse_of(numbers.kinds[axes.places[e]], worst[e, j], reach.numbers[e, i])
        exact = True
        for a in range(axes.objectives):
            cutoff = reach.cutoffs[a, at[a]]
            exact = exact and (cutoff == reach.floors[a] or reached[a] == cutoff)
        if not exact:
            lost[j] = -1
    kept = 0
    for j in range(count):
        if lost[j] >= 0:
            thresholds[kept] = thresholds[j]
            lost[kept] = lost[j]
            for b in range(more.shape[0]):
                more[b, kept] = more[b, j]
            for e in range(entries):
                worst[e, kept] = worst[e, j]
            kept += 1
    return kept


@inner
def prepare_reach(classes, missed, gone, sizes, rule, lanes, counted, numbers, axes, known, reach, steps):
    """Everything that does not depend on the thresholds chosen; returns the classes within reach, and the strictest k'.

    missed: hides the classes that miss a limit of the job, which have ``gone`` rows; sizes: how many thresholds of k
    steps holds; known: (values, told), as class_value takes them. The strictest k' is 0 where k is no objective.
    """
    values, told = known
    allowed = rule.allowed - gone
    strictest = steps.thresholds[sizes - 1] if rule.by_size else np.int64(0)
    number_classes(classes, missed, allowed, lanes, counted, numbers, axes, rule.rows, values, told, reach)
    for a in range(axes.objectives):
        reach.floors[a] = strictest_rank(classes, missed, allowed, reach.ranks[a], reach.floors[a], reach)
    return find_reach(classes, missed, strictest, axes, numbers, reach), strictest


@compiled
def worst_numbers(classes, hiding, lanes, numbers, axes, rows, values, told, worst):
    """The worst visible class by each number of the axes, into the first column of worst."""
    for e in range(axes.places.shape[0]):
        place = axes.places[e]
        kind, column, parameter = numbers.kinds[place], numbers.columns[place], numbers.parameters[place]
        worst[e, 0] = worst_of_none(kind)
        for i in range(classes.size):
            if not is_hidden(classes, hiding, i):
                number = class_value(classes, lanes, lanes, kind, column, parameter, i, rows, values, told)
                worst[e, 0] = worse_of(kind, worst[e, 0], number)
