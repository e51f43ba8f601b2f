"""Who dominates whom: fronts, ranks, crowding and tournaments."""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled


@compiled
def pareto(keys):
    """Which of the distinct rows of keys (n, objectives), in lexicographic order, no other row dominates.

    Lower is better. A row can only be dominated by one before it, so one pass suffices; the row that dominated last is
    asked first, because neighbours tend to be dominated by the same one.
    """
    n, objectives = keys.shape
    kept = np.zeros(n, dtype=np.bool_)
    front = np.empty(n, dtype=np.int64)
    size = 0
    for i in range(n):
        dominated = False
        for j in range(size):
            other = front[j]
            worse = True
            for m in range(objectives):
                if keys[other, m] > keys[i, m]:
                    worse = False
                    break
            if worse:
                dominated = True
                if j > 0:
                    front[j] = front[j // 2]
                    front[j // 2] = other
                break
        if not dominated:
            kept[i] = True
            front[size] = i
            size += 1
    return kept


@compiled
def ranks_of_two(costs):
    """Ranks of two objectives: in the order of the first, a row joins the first front whose last row it escapes.

    Rows come by the first cost, then by the second, so the last row of a front has its least second cost so far.
    """
    n = costs.shape[0]
    by_second = np.argsort(costs[:, 1], kind="mergesort")
    order = by_second[np.argsort(costs[by_second, 0], kind="mergesort")]
    ranks = np.zeros(n, dtype=np.int64)
    least = np.zeros(n, dtype=np.int64)  # second cost of each front's last row
    fronts = 0
    for place in range(n):
        i = order[place]
        if place > 0:
            before = order[place - 1]
            if costs[i, 0] == costs[before, 0] and costs[i, 1] == costs[before, 1]:
                ranks[i] = ranks[before]
                continue
        low, high = 0, fronts
        while low < high:
            middle = (low + high) // 2
            if least[middle] <= costs[i, 1]:
                low = middle + 1
            else:
                high = middle
        ranks[i] = low
        least[low] = costs[i, 1]
        fronts = max(fronts, low + 1)
    return ranks


@compiled
def ranks_of_many(costs):
    """Ranks of any number of objectives, by comparing each row with each."""
    n, objectives = costs.shape
    beaten = np.zeros(n, dtype=np.int64)  # how many unranked rows dominate each
    dominates = np.zeros((n, n), dtype=np.bool_)
    for i in range(n):
        for j in range(i + 1, n):
            less = False
            more = False
            for m in range(objectives):
                if costs[i, m] < costs[j, m]:
                    less = True
                elif costs[i, m] > costs[j, m]:
                    more = True
            if less and not more:
                dominates[i, j] = True
                beaten[j] += 1
            elif more and not less:
                dominates[j, i] = True
                beaten[i] += 1
    ranks = np.full(n, -1, dtype=np.int64)
    level = 0
    done = 0
    while done < n:
        for i in range(n):
            if ranks[i] < 0 and beaten[i] == 0:
                ranks[i] = level
                done += 1
        for i in range(n):
            if ranks[i] == level:
                for j in range(n):
                    if dominates[i, j]:
                        beaten[j] -= 1
        level += 1
    return ranks


@compiled
def dominance_ranks(costs, enough):
    """Non-dominated ranks of costs (n, objectives) int64, lower is better: (n,) int64 from 0.

    Once ``enough`` rows have a rank, all others share the next one.
    """
    ranks = ranks_of_two(costs) if costs.shape[1] == 2 else ranks_of_many(costs)
    counts = np.zeros(costs.shape[0] + 1, dtype=np.int64)
    for i in range(ranks.shape[0]):
        counts[ranks[i]] += 1
    last = 0
    done = counts[0]
    while done < enough and counts[last] > 0:
        last += 1
        done += counts[last]
    for i in range(ranks.shape[0]):
        ranks[i] = min(ranks[i], last + 1)
    return ranks


@compiled
def tournament_winners(pairs, chance, ranks, crowding, excess, first):
    """Who wins each binary tournament: pairs (2, n) int64 places -> (n,) int64 (GE-6).

    Both feasible (excess 0 or below): lower rank, then lonelier. One feasible: that one. None: less excess, then less
    of ``first``, then lonelier. Otherwise the one that chance (n,) float64 names: the first below a half.
    """
    winners = np.zeros(pairs.shape[1], dtype=np.int64)
    for i in range(pairs.shape[1]):
        one, two = pairs[0, i], pairs[1, i]
        fits_one, fits_two = excess[one] <= 0.0, excess[two] <= 0.0
        lead = 0.0  # above 0: the first wins
        if fits_one != fits_two:
            lead = 1.0 if fits_one else -1.0
        elif fits_one:
            lead = np.float64(ranks[two] - ranks[one])
        elif excess[one] != excess[two]:
            lead = excess[two] - excess[one]
        else:
            lead = first[two] - first[one]
        if lead == 0.0 and crowding[one] != crowding[two]:
            lead = 1.0 if crowding[one] > crowding[two] else -1.0
        if lead == 0.0:
            lead = 1.0 if chance[i] < 0.5 else -1.0
        winners[i] = one if lead > 0.0 else two
    return winners


@compiled
def crowding_distances(values, ranks):
    """Crowding distance of values (n, objectives) float64 within each rank (Deb et al. 2002), infinite at the ends."""
    n = values.shape[0]
    distance = np.zeros(n, dtype=np.float64)
    for m in range(values.shape[1]):
        by_value = np.argsort(values[:, m], kind="mergesort")
        order = by_value[np.argsort(ranks[by_value], kind="mergesort")]
        start = 0
        while start < n:
            end = start
            while end + 1 < n and ranks[order[end + 1]] == ranks[order[start]]:
                end += 1
            width = values[order[end], m] - values[order[start], m]
            if not width > 0.0:
                width = 1.0
            for i in range(start + 1, end):
                distance[order[i]] += (values[order[i + 1], m] - values[order[i - 1], m]) / width
            distance[order[start]] = np.inf
            distance[order[end]] = np.inf
            start = end + 1
    return distance
