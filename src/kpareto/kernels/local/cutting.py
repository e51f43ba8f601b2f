"""Cut an order into the cheapest runs that are classes, by dynamic programming.

``least[i]`` is the least loss of the first i entries; the last class reaches back to some j, so
``least[i] = min over j of least[j] + loss of order[j:i] as one class``. Going back from i, labels only widen, so the
loss of one row only grows; together with the smallest ``least`` in reach it tells early that no j can be better.
An entry may also stay outside of every class, at a loss that no class can save, so that there always is an answer.

A class that could be divided into two of k rows is never better than its parts, because a part's label lies within
the whole's. So one need not reach back further than about 2k rows. With further limits (l, t, …) a part may miss what
the whole keeps; then one reaches back until twice the rows of the first run that is a class.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.histograms import class_number, is_worse
from kpareto.kernels.local.words import NEVER


@compiled
def holds(tally, size, limits):
    """Whether a class of this size with this histogram (values,) keeps every limit."""
    if size < limits.k:
        return False
    for i in range(len(limits.kinds)):
        first, last = limits.spans[i, 0], limits.spans[i, 1]
        number = class_number(
            limits.kinds[i], tally[first:last], size, limits.totals[first:last], limits.rows, limits.numbers[i]
        )
        if is_worse(limits.kinds[i], number, limits.bounds[i]):
            return False
    return True


@compiled
def add_values(tally, pieces, piece, sign):
    """Count the sensitive values of one copy of a piece into a histogram, or out of it (sign −1)."""
    for e in range(pieces.start[piece], pieces.start[piece + 1]):
        tally[pieces.value[e]] += sign * pieces.rows[e]


@compiled
def run_holds(order, start, end, pieces, limits, tally):
    """Whether order[start:end] is a class; tally: (values,) int64, room."""
    tally[:] = 0
    size = np.int64(0)
    for i in range(start, end):
        size += pieces.size[order[i]]
        add_values(tally, pieces, order[i], 1)
    return holds(tally, size, limits)


@compiled
def cut_order(order, pieces, labels, limits, price, least, back):
    """The least loss of an order cut into classes, where a row outside of any costs ``price``.

    A price of 0 means that none should be outside: an entry there then counts as if all rows were lost.
    least, back: (entries + 1,) int64, room; afterwards the class that ends at i begins at back[i], or entry i − 1 is
    in no class where back[i] is negative.
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
