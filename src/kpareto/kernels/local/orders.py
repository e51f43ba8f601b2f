"""A tree order: rows that are alike stand close together, so that cutting the order into runs gives good classes.

All rows are one set. A set is divided along one column, into the children of its label there (tree columns) or at one
border (columns with any interval), and every part is divided again, until its rows are equal. Every second part is
walked backwards, so that the end of a part and the beginning of the next are neighbours too.

An order is cut into the cheapest runs that are classes by dynamic programming:

``least[i]`` is the least loss of the first i entries; the last class reaches back to some j, so
``least[i] = min over j of least[j] + loss of order[j:i] as one class``. Going back from i, labels only widen, so the
loss of one row only grows; together with the smallest ``least`` in reach it tells early that no j can be better.
An entry may also stay outside of every class, at a loss that no class can save, so that there always is an answer.

A class that could be divided into two of k rows is never better than its parts, because a part's label lies within
the whole's. So one need not reach back further than about 2k rows. With further limits (l, t, …) a part may miss what
the whole keeps; then one reaches back until twice the rows of the first run that is a class.
"""

from __future__ import annotations

import math

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.local.classes import NEVER, add_values, holds

LISTEN = 1_024  # entries between two looks whether somebody wants a cut to end
FEW = 12  # rows up to which values are sorted by insertion instead of counted


@compiled
def values_of(codes, weights, column, items, start, end, tally, value, rows):
    """The values of a column in items[start:end], rising, and the rows of each; returns how many there are.

    tally: (leaves,) int64 of zeros, and zeros again afterwards.
    """
    count = 0
    if end - start <= FEW:
        for i in range(start, end):
            leaf, here = codes[items[i], column], weights[items[i]]
            place = count
            while place > 0 and value[place - 1] > leaf:
                place -= 1
            if place > 0 and value[place - 1] == leaf:
                rows[place - 1] += here
                continue
            for z in range(count, place, -1):
                value[z], rows[z] = value[z - 1], rows[z - 1]
            value[place], rows[place] = leaf, here
            count += 1
        return count
    least = codes[items[start], column]
    most = least
    for i in range(start, end):
        leaf = codes[items[i], column]
        tally[leaf] += weights[items[i]]
        least, most = min(least, leaf), max(most, leaf)
    for leaf in range(least, most + 1):
        if tally[leaf] > 0:
            value[count], rows[count] = leaf, tally[leaf]
            tally[leaf] = 0
            count += 1
    return count


@inner
def divide_tree(names, losses, base, width, value, rows, count, logs, total, first):
    """The parts of a set in a tree column: children of its label. Returns (parts, loss saved, bits given up).

    first: filled with the smallest value of each part.
    """
    whole = base + width * value[0] + value[count - 1]
    parts, saved, bits, a = 0, 0.0, logs[total], 0
    while a < count:
        low, here, z = base + width * value[a], rows[a], a
        while z + 1 < count and names[low + value[z + 1]] != names[whole]:
            z += 1
            here += rows[z]
        first[parts] = value[a]
        parts += 1
        saved += here * float(losses[whole] - losses[low + value[z]])
        bits -= logs[here]
        a = z + 1
    return parts, saved, bits


@inner
def divide_interval(losses, base, width, value, rows, count, logs, total, power, first):
    """The best border of a set in a column of intervals. Returns (2, loss saved, bits given up)."""
    whole = losses[base + width * value[0] + value[count - 1]]
    best, best_saved, best_bits, left, first[0] = -1.0, 0.0, 1.0, 0, value[0]
    for a in range(count - 1):
        left += rows[a]
        right = total - left
        saved = left * float(whole - losses[base + width * value[0] + value[a]])
        saved += right * float(whole - losses[base + width * value[a + 1] + value[count - 1]])
        bits = logs[total] - logs[left] - logs[right]
        worth = saved / bits**power
        if worth > best:
            best, best_saved, best_bits, first[1] = worth, saved, bits, value[a + 1]
    return 2, best_saved, best_bits


@compiled
def log_table(most):
    """x·log2(x) for x up to most: (most + 1,) float64."""
    logs = np.zeros(most + 1)
    for x in range(2, most + 1):
        logs[x] = x * math.log2(x)
    return logs


@compiled
def tree_order(codes, weights, labels, scale, power, logs):
    """The order of the rows of codes: (rows,) int64.

    weights: (rows,) int64; scale: (columns,) float64, how much a column counts in the choice; logs: ``log_table`` of
    all rows. A set is divided where scale · loss saved / bits ** power is largest.
    """
    count, columns = codes.shape
    leaves = labels.width.max()
    items, room, part_of = np.arange(count), np.empty(count, np.int64), np.empty(count, np.int32)
    active = np.empty((count + 2, columns), np.int16)  # columns in which a waiting set still has several values
    begin, finish = np.empty(count + 2, np.int64), np.empty(count + 2, np.int64)
    backwards, actives = np.zeros(count + 2, np.bool_), np.empty(count + 2, np.int64)
    tally, value, rows = np.zeros(leaves, np.int64), np.empty(leaves, np.int64), np.empty(leaves, np.int64)
    first, chosen, place = (
        np.empty(leaves + 1, np.int64),
        np.empty(leaves + 1, np.int64),
        np.empty(leaves + 2, np.int64),
    )
    begin[0], finish[0], actives[0], top = 0, count, columns, 1
    for column in range(columns):
        active[0, column] = column
    while top > 0:
        top -= 1
        start, end, turned = begin[top], finish[top], backwards[top]
        total = 0
        for i in range(start, end):
            total += weights[items[i]]
        best, most, parts, kept = -1, -1.0, 0, 0
        for a in range(actives[top]):
            column = active[top, a]
            many = values_of(codes, weights, column, items, start, end, tally, value, rows)
            if many == 1:
                continue
            active[top, kept] = column
            kept += 1
            base, width = labels.base[column], labels.width[column]
            if labels.free[column]:
                part_count, saved, bits = divide_interval(
                    labels.losses, base, width, value, rows, many, logs, total, power, first
                )
            else:
                part_count, saved, bits = divide_tree(
                    labels.names, labels.losses, base, width, value, rows, many, logs, total, first
                )
            worth = scale[column] * saved / bits**power
            if worth > most:
                best, most, parts = column, worth, part_count
                chosen[:part_count] = first[:part_count]
        if best < 0:
            continue
        # A stable counting sort by part, backwards where this set is walked backwards.
        place[: parts + 1] = 0
        for i in range(start, end):
            leaf, part = codes[items[i], best], parts - 1
            while chosen[part] > leaf:
                part -= 1
            part_of[i] = parts - 1 - part if turned else part
            place[part_of[i] + 1] += 1
        for part in range(parts):
            place[part + 1] += place[part]
        for i in range(start, end):
            room[start + place[part_of[i]]] = items[i]
            place[part_of[i]] += 1
        items[start:end] = room[start:end]
        mine, at = top, start
        for part in range(parts):
            until = start + place[part]
            if until - at > 1:
                begin[top], finish[top], backwards[top], actives[top] = at, until, part % 2 == 1, kept
                if top != mine:
                    active[top, :kept] = active[mine, :kept]
                top += 1
            at = until
    return items


@compiled
def cut_order(order, pieces, labels, limits, price, least, back, halt):
    """The least loss of an order cut into classes, where a row outside of any costs ``price``.

    A price of 0 means that none should be outside: an entry there then counts as if all rows were lost.
    least, back: (entries + 1,) int64, room; afterwards the class that ends at i begins at back[i], or entry i − 1 is
    in no class where back[i] is negative. halt: (1,) uint8; with a price, where it is not zero the cut is given up:
    NEVER.
    """
    count, columns, k = len(order), pieces.codes.shape[1], limits.k
    limited = len(limits.kinds) > 0
    small, large, cell = np.empty(columns, np.int64), np.empty(columns, np.int64), np.empty(columns, np.int64)
    tally = np.zeros(len(limits.totals), np.int64)
    ahead = np.empty(count + 1, np.int64)  # rows before each entry
    waiting, head, tail = np.empty(count + 1, np.int64), 0, 0  # starts with rising least: the first is the smallest
    heaviest = np.int64(1)
    ahead[0] = 0
    for i in range(count):
        ahead[i + 1] = ahead[i] + pieces.size[order[i]]
        heaviest = max(heaviest, pieces.size[order[i]])
    outside = min(ahead[count] * labels.lost + 1, NEVER // (2 * count + 2))
    reach = 2 * k - 2 + heaviest if not limited else limits.reach + heaviest
    least[0], back[0], ready, far = 0, 0, 0, 0
    for i in range(1, count + 1):
        if price > 0 and i % LISTEN == 0 and halt[0] != 0:
            return NEVER
        piece = order[i - 1]
        least[i], back[i] = least[i - 1] + (price * pieces.size[piece] if price > 0 else outside), -1
        while ready < i and ahead[i] - ahead[ready] >= k:
            while tail > head and least[waiting[tail - 1]] >= least[ready]:
                tail -= 1
            waiting[tail] = ready
            tail += 1
            ready += 1
        if tail == head:
            continue
        while ahead[i] - ahead[far] > reach:
            far += 1
        while waiting[head] < far and head < tail - 1:
            head += 1
        floor = least[waiting[head]]
        total, size, heavy, last, enough = np.int64(0), np.int64(0), np.int64(0), piece, NEVER
        for c in range(columns):
            small[c], large[c] = pieces.codes[piece, c], pieces.codes[piece, c]
            cell[c] = labels.losses[labels.base[c] + labels.width[c] * small[c] + large[c]]
            total += cell[c]
        if limited:
            tally[:] = 0
        for j in range(i - 1, -1, -1):
            piece = order[j]
            size += pieces.size[piece]
            heavy = max(heavy, pieces.size[piece])
            if piece != last:
                last = piece
                for c in range(columns):
                    code = pieces.codes[piece, c]
                    if code < small[c]:
                        small[c] = code
                    elif code > large[c]:
                        large[c] = code
                    else:
                        continue
                    loss = labels.losses[labels.base[c] + labels.width[c] * small[c] + large[c]]
                    total += loss - cell[c]
                    cell[c] = loss
            if limited:
                add_values(tally, pieces, piece, 1)
            if size < k:
                continue
            if floor + size * total >= least[i]:
                break
            if not limited:
                if size - heavy > 2 * k - 2:  # two classes are in it: one side of the heaviest piece has k rows
                    break
                if least[j] + size * total < least[i]:
                    least[i], back[i] = least[j] + size * total, j
                continue
            if size - heavy - enough > enough or size > limits.reach:  # twice NEVER would overflow
                break
            if least[j] + size * total < least[i] and holds(tally, size, limits):
                least[i], back[i], enough = least[j] + size * total, j, min(enough, size)
    return least[count]


@compiled
def read_cuts(back, count, cuts):
    """Where the classes of a cut begin, from ``back``: fills cuts, returns the classes, −1 if some entry is in none."""
    classes, end = 0, count
    while end > 0:
        if back[end] < 0:
            return -1
        classes += 1
        end = back[end]
    end, place = count, classes
    cuts[0] = 0
    while end > 0:
        cuts[place] = end
        place -= 1
        end = back[end]
    return classes
