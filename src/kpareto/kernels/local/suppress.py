"""Drop: suppress the rows that keep a class's label wide, where the others gain more than the rows lose.

Either odd rows of a class go (``drop``), or the order is cut anew with leave to pass rows over (``recut_dropping``).
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.local.classes import NEVER, close_books, open_books
from kpareto.kernels.local.improve import cheapest_class, join, odd_ones, sort_between, unlink
from kpareto.kernels.local.orders import cut_order


@compiled
def drop(order, cuts, allowed, pieces, labels, limits):
    """(order, cuts, dropped) after at most ``allowed`` rows were suppressed; the largest gain per row first."""
    columns, entries, values = pieces.codes.shape[1], len(order), len(limits.totals)
    books = open_books(order, cuts, pieces, labels, values)
    classes = len(books.size)
    tally, counted = np.zeros(labels.width.max(), np.int64), np.zeros(values, np.int64)
    odd, away = np.empty(entries, np.int64), np.zeros(entries, np.bool_)
    small, large = np.empty(columns, np.int32), np.empty(columns, np.int32)
    dropped, gone = np.empty(entries, order.dtype), 0
    changed = True
    while changed:
        changed = False
        worth, which = np.zeros(classes), np.full(classes, -1)
        for b in range(classes):
            for column in range(columns):
                count, rows, loss = odd_ones(
                    books, b, column, order, pieces, labels, limits, tally, odd, small, large, counted
                )
                less = books.size[b] - rows
                if count > 0 and 0 < less <= allowed:
                    gain = (books.size[b] * books.loss[b] - rows * loss - less * labels.lost) / less
                    if gain > worth[b]:
                        worth[b], which[b] = gain, column
        for b in np.argsort(-worth, kind="mergesort"):
            if worth[b] <= 0.0:
                break
            count, rows, loss = odd_ones(
                books, b, which[b], order, pieces, labels, limits, tally, odd, small, large, counted
            )
            if books.size[b] - rows > allowed:
                continue
            allowed -= books.size[b] - rows
            unlink(books, b, odd, count, away)
            for x in range(count):
                dropped[gone] = order[odd[x]]
                gone += 1
            books.size[b], books.loss[b] = rows, loss
            books.small[b], books.large[b], books.tally[b] = small, large, counted
            changed = True
    kept, fresh = close_books(order, books)
    return kept, fresh, dropped[:gone].copy()


@compiled
def bring_back(order, cuts, dropped, pieces, labels, limits):
    """(order, cuts, dropped) after suppressed rows came back to classes that take them for less than they lose."""
    everything = np.concatenate((order, dropped))
    books = open_books(everything, cuts, pieces, labels, len(limits.totals))
    still, count = np.empty_like(dropped), 0
    for x in range(len(dropped)):
        cost, b = cheapest_class(books, dropped[x], -1, pieces, labels, limits)
        if b < 0 or cost >= labels.lost * pieces.size[dropped[x]]:
            still[count] = dropped[x]
            count += 1
            continue
        join(books, b, dropped[x], pieces, labels)
        books.follow[len(order) + x] = books.head[b]
        books.head[b] = len(order) + x
    kept, fresh = close_books(everything, books)
    return kept, fresh, still[:count].copy()


@compiled
def recut_dropping(order, cuts, allowed, pieces, labels, limits, halt):
    """(order, cuts, dropped) recut, where rows may be passed over; as they were if none of it helps.

    A row that is passed over costs what a suppressed row loses; where that passes over more than ``allowed`` rows,
    the price is raised until it does not. halt: (1,) uint8, not zero where somebody wants it to end.
    """
    count, price = len(order), np.int64(labels.lost)
    arranged = sort_between(order, cuts, pieces, labels)
    least, back = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    kept, dropped = np.empty_like(order), np.empty_like(order)
    for _ in range(12):
        if cut_order(arranged, pieces, labels, limits, price, least, back, halt) >= NEVER:
            break
        fresh, classes, end, gone, rows = np.zeros(count + 1, np.int64), 0, count, 0, np.int64(0)
        written = 0
        while end > 0:
            if back[end] < 0:
                end -= 1
                dropped[gone] = arranged[end]
                rows += pieces.size[arranged[end]]
                gone += 1
                continue
            for i in range(back[end], end):
                kept[written] = arranged[i]
                written += 1
            classes += 1
            fresh[classes] = written
            end = back[end]
        if rows <= allowed and classes > 0:
            return kept[:written].copy(), fresh[: classes + 1].copy(), dropped[:gone].copy()
        price += price // 2 + 1
    return order, cuts, dropped[:0].copy()
