"""Rebuild: a few neighbouring classes are taken apart and grown anew; the new ones are kept where they lose less.

A class grows from a first row on: always the row that widens its label least joins, until the limits hold. The next
class begins with the row that fits the last one worst, so that odd rows choose their company early.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.local.cutting import add_values, holds
from kpareto.kernels.local.words import NEVER, box_loss, class_losses, class_sizes, draw, wider_loss


@compiled
def grow(entries, pieces, labels, limits, first, order, cuts):
    """Grow classes from the entries, the first from entries[first]; fills order and cuts; returns (classes, loss).

    The loss is NEVER where the last class does not hold.
    """
    count, columns = len(entries), pieces.codes.shape[1]
    left, waiting = entries.copy(), count
    small, large = np.empty(columns, np.int64), np.empty(columns, np.int64)
    tally = np.zeros(len(limits.totals), np.int64)
    rows = np.int64(0)
    for i in range(count):
        rows += pieces.size[entries[i]]
    classes, filled, loss, pick = 0, 0, np.int64(0), first
    cuts[0] = 0
    while waiting > 0:
        size = np.int64(0)
        tally[:] = 0
        small[:] = pieces.codes[left[pick]]
        large[:] = small
        while waiting > 0:
            piece = left[pick]
            waiting -= 1
            left[pick] = left[waiting]
            order[filled] = piece
            filled += 1
            size += pieces.size[piece]
            rows -= pieces.size[piece]
            add_values(tally, pieces, piece, 1)
            for c in range(columns):
                code = pieces.codes[piece, c]
                small[c], large[c] = min(small[c], code), max(large[c], code)
            if rows >= limits.k and holds(tally, size, limits):
                break
            least = NEVER
            for i in range(waiting):
                wider = wider_loss(labels, small, large, pieces.codes[left[i]])
                if wider < least:
                    least, pick = wider, i
        if not holds(tally, size, limits):
            return classes, NEVER
        loss += size * box_loss(labels, small, large)
        classes += 1
        cuts[classes] = filled
        most = np.int64(-1)
        for i in range(waiting):
            wider = wider_loss(labels, small, large, pieces.codes[left[i]])
            if wider > most:
                most, pick = wider, i
    return classes, loss


@compiled
def rebuild(order, cuts, pieces, labels, limits, most, tries, state):
    """(order, cuts) after runs of 2 to ``most`` neighbouring classes were grown anew, where that loses less."""
    classes = len(cuts) - 1
    dear, sizes = class_losses(order, cuts, pieces, labels), class_sizes(order, cuts, pieces)
    out, fresh, written = order.copy(), np.zeros(len(order) + 1, np.int64), 0
    begin = 0
    while begin < classes:
        end = min(classes, begin + 2 + int(draw(state) * (most - 1)))
        start, stop, old = cuts[begin], cuts[end], np.int64(0)
        for b in range(begin, end):
            old += dear[b] * sizes[b]
        best, best_count = old, 0
        count = stop - start
        if old > 0 and end - begin > 1:
            grown, borders = np.empty(count, order.dtype), np.empty(count + 1, np.int64)
            for _ in range(tries):
                first = int(draw(state) * count)
                new, loss = grow(order[start:stop], pieces, labels, limits, first, grown, borders)
                if loss < best:
                    best, best_count = loss, new
                    out[start:stop] = grown
                    for b in range(1, new + 1):
                        fresh[written + b] = start + borders[b]
        if best_count == 0:
            best_count = end - begin
            for b in range(begin, end):
                fresh[written + 1 + b - begin] = cuts[b + 1]
        written += best_count
        begin = end
    return out, fresh[: written + 1].copy()
