"""Prices of rows that no class can undercut: one walk over all boxes that may hold a class.

Prices are fair if in every box that holds at least k rows the k highest prices add up to at most k times what the box
loses. The walk makes any prices fair: in a box that breaks the rule the prices above the box's loss are lowered
towards it until the k highest fit; in a box with room to spare all prices may rise by the same factor. Every row
takes the lowest price that any of its boxes grants. That is fair, because no box sees a row dearer than it granted.

A box is one group per column, from one of the column's covers (searches/local/bound.py). The walk chooses column after
column and stops where fewer than k rows are left, or where the columns chosen so far already lose so much that all
prices in it could rise by the factor ``most`` and still be fair: then so they are in every box within.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled, inner


class Covers(NamedTuple):
    """The covers of all columns, in the order in which the walk chooses columns."""

    group: np.ndarray  # (covers, rows) int32, the group of each row
    groups: np.ndarray  # (covers,) int64, how many groups
    charge: np.ndarray  # (covers, most groups) float64, what a cell in the group loses at least
    begin: np.ndarray  # (columns + 1,) int64, the covers of each column


@inner
def grant(items, loss, k, price, weights, most, granted):
    """Lower ``granted`` of each row to what one box allows; items: its rows, dearest first."""
    left, total = k, 0.0
    over, under = 0.0, 0.0  # how far the k highest prices lie above the loss, and below it
    for i in range(len(items)):
        row = items[i]
        count = min(weights[row], left)
        total += count * price[row]
        if price[row] > loss:
            over += count * (price[row] - loss)
        else:
            under += count * (loss - price[row])
        left -= count
        if left == 0:
            break
    under += left * loss  # rows without a price
    if total <= k * loss:
        factor = min(most, k * loss / total) if total > 0.0 else most
        for i in range(len(items)):
            granted[items[i]] = min(granted[items[i]], factor * price[items[i]])
        return
    shrink = under / over
    for i in range(len(items)):
        row = items[i]
        if price[row] <= loss:
            break
        granted[row] = min(granted[row], loss + shrink * (price[row] - loss))
    for i in range(len(items)):  # a box that is full lets nobody rise
        granted[items[i]] = min(granted[items[i]], price[items[i]])


@inner
def divide(items, group, groups, room, place):
    """Sort items into groups, dearest first in each: room; place: (groups + 1,), where each group ends."""
    place[: groups + 1] = 0
    for i in range(len(items)):
        place[group[items[i]] + 1] += 1
    for g in range(groups):
        place[g + 1] += place[g]
    for i in range(len(items)):
        g = group[items[i]]
        room[place[g]] = items[i]
        place[g] += 1


@inner
def may_break(items, loss, k, price, weights, most):
    """Whether a box has k rows whose highest prices, raised by ``most``, are more than it loses."""
    left, total = k, 0.0
    for i in range(len(items)):
        count = min(weights[items[i]], left)
        left -= count
        total += count * price[items[i]]
        if left == 0:
            return most * total > k * loss
    return False


@compiled
def fair_prices(price, weights, covers, k, most, limit, halt):
    """(fair prices, whether the walk came to its end, rows looked at); price: (rows,) float64, none negative.

    Beyond ``limit`` rows looked at, or where halt[0] is not zero, the walk ends early, and nothing is proven.
    """
    count, columns = len(price), len(covers.begin) - 1
    granted, work = most * price, np.int64(0)
    rooms = np.empty((columns + 1, count), np.int64)
    places = np.empty((columns, covers.charge.shape[1] + 1), np.int64)
    # Per depth: the box (where it lies in the room above, what it loses), and the cover and the group that come next.
    low, high, loss = np.zeros(columns, np.int64), np.zeros(columns, np.int64), np.zeros(columns)
    cover, group, start = np.zeros(columns, np.int64), np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    rooms[columns] = np.argsort(-price, kind="mergesort")
    high[0], cover[0], depth = count, covers.begin[0] - 1, 0
    fresh = True  # the cover that comes next is not divided yet
    while depth >= 0:
        items = rooms[depth - 1 if depth > 0 else columns][low[depth] : high[depth]]
        if fresh or group[depth] == covers.groups[cover[depth]]:
            cover[depth] += 1
            if cover[depth] == covers.begin[depth + 1]:
                depth -= 1
                fresh = False
                continue
            here = cover[depth]
            divide(items, covers.group[here], covers.groups[here], rooms[depth], places[depth])
            group[depth], start[depth], fresh = 0, 0, False
            work += len(items)
            if work > limit or halt[0] != 0:
                return granted, False, work
        begin, end = start[depth], places[depth, group[depth]]
        wider = loss[depth] + covers.charge[cover[depth], group[depth]]
        start[depth] = end
        group[depth] += 1
        inside = rooms[depth][begin:end]
        if not may_break(inside, wider, k, price, weights, most):
            continue
        if depth + 1 == columns:
            grant(inside, wider, k, price, weights, most, granted)
            continue
        depth += 1
        low[depth], high[depth], loss[depth], cover[depth] = begin, end, wider, covers.begin[depth] - 1
        fresh = True
    return granted, True, work
