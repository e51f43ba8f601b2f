"""The first classes of a table: peel them off, and mend those that miss a limit.

Peel: take the cheapest classes off the table first, so that the odd rows come last and among themselves. Several tree
orders of the rows that are left are cut into classes. Of all these classes the cheapest that do not overlap are taken,
up to a share of the rows. Then again with the rest, with more orders the fewer rows are left.

Mend: classes that miss a limit are merged with others until every class keeps all of them. Every limit used here is
kept by the union of two classes that keep it, so merging ends at the latest when one class is left, and that one holds
if any recoding does.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.hashing import random_unit
from kpareto.kernels.local.classes import add_values, box_loss, close_books, draw_scales, holds, open_books
from kpareto.kernels.local.orders import cut_order, log_table, tree_order


@compiled
def read_runs(back, order, pieces, labels, starts, ends, cost):
    """The classes of a cut, from the last to the first, with the loss of one row of each; returns how many."""
    columns = pieces.codes.shape[1]
    small, large = np.empty(columns, np.int64), np.empty(columns, np.int64)
    classes, end = 0, len(order)
    while end > 0:
        start = back[end]
        if start < 0:  # an entry in no class
            end -= 1
            continue
        starts[classes], ends[classes] = start, end
        small[:] = pieces.codes[order[start]]
        large[:] = small
        for i in range(start + 1, end):
            if order[i] == order[i - 1]:
                continue
            for c in range(columns):
                code = pieces.codes[order[i], c]
                small[c], large[c] = min(small[c], code), max(large[c], code)
        cost[classes] = box_loss(labels, small, large)
        end = start
        classes += 1
    return classes


@compiled
def take_classes(orders, which, starts, ends, cost, wanted, pieces, limits, copies, order, cuts, taken):
    """Take the cheapest classes that still hold, until ``wanted`` rows are gone; returns the rows taken.

    orders: (trees, entries); which, starts, ends: the tree and the run of each class. A class that lost copies to
    another one has what is left of each piece. copies is lowered; order and cuts are continued after
    ``taken`` = [classes, entries]. Classes that lose nothing are taken beyond the share too.
    """
    gone = np.int64(0)
    classes, filled = taken[0], taken[1]
    tally = np.zeros(len(limits.totals), np.int64)
    for run in np.argsort(cost, kind="mergesort"):
        if gone >= wanted and gone > 0 and cost[run] > 0:
            break
        line = orders[which[run]]
        size, a, before = np.int64(0), starts[run], filled
        tally[:] = 0
        while a < ends[run]:
            piece, b = line[a], a
            while b < ends[run] and line[b] == piece:
                b += 1
            for _ in range(min(b - a, copies[piece])):
                order[filled] = piece
                filled += 1
                size += pieces.size[piece]
                add_values(tally, pieces, piece, 1)
            a = b
        if not holds(tally, size, limits):
            filled = before
            continue
        for i in range(before, filled):
            copies[order[i]] -= 1
        classes += 1
        cuts[classes] = filled
        gone += size
    taken[0], taken[1] = classes, filled
    return gone


@compiled
def peel(pieces, labels, limits, copies, settings, seed, halt):
    """Classes of a table from the cheapest to the dearest: (order, cuts, rest), the rest being in no class.

    copies: (pieces,) int64; settings: orders at first, how their number grows as rows go, the most orders, the share of
    the rows taken at a time, how much the weights of columns vary; halt: (1,) uint8, not zero where somebody wants it
    to end, which it does in one step.
    """
    few, growth, many, share, vary = settings
    state = np.full(1, seed, np.uint64)
    copies = copies.copy()
    entries = copies.sum()
    rows = (copies * pieces.size).sum()
    logs = log_table(rows)
    left = rows
    order, cuts, taken = np.empty(entries, np.int32), np.zeros(entries + 1, np.int64), np.zeros(2, np.int64)
    scale = np.ones(pieces.codes.shape[1])
    while left >= limits.k:
        trees = int(min(many, few * (rows / left) ** growth + 0.5))
        if halt[0] != 0:
            trees, share = 1, 1.0
        alive = np.flatnonzero(copies > 0)
        codes, weights, count = pieces.codes[alive], (copies * pieces.size)[alive], copies.sum()
        orders = np.empty((trees, count), np.int32)
        room = trees * (left // limits.k + 1)
        which, starts, ends = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
        cost, classes = np.empty(room, np.int64), 0
        least, back = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
        for tree in range(trees):
            power = 0.5
            scale[:] = 1.0
            if tree > 0:
                draw_scales(state, vary, scale)
                power = random_unit(state)
            filled = 0
            for a in tree_order(codes, weights, labels, scale, power, logs):
                for _ in range(copies[alive[a]]):
                    orders[tree, filled] = alive[a]
                    filled += 1
            cut_order(orders[tree], pieces, labels, limits, 0, least, back, halt)
            more = read_runs(back, orders[tree], pieces, labels, starts[classes:], ends[classes:], cost[classes:])
            which[classes : classes + more] = tree
            classes += more
        gone = take_classes(
            orders,
            which,
            starts[:classes],
            ends[:classes],
            cost[:classes],
            share * left,
            pieces,
            limits,
            copies,
            order,
            cuts,
            taken,
        )
        if gone == 0:
            break
        left -= gone
    rest, filled = np.empty(copies.sum(), np.int32), 0
    for piece in range(len(copies)):
        for _ in range(copies[piece]):
            rest[filled] = piece
            filled += 1
    return order[: taken[1]], cuts[: taken[0] + 1], rest


@compiled
def best_partner(books, b, labels, limits):
    """The class whose union with class b holds at the least extra loss; failing that, costs least. −1: b is alone."""
    columns = books.small.shape[1]
    best, best_extra, best_holds = -1, np.int64(0), False
    tally = np.empty(books.tally.shape[1], np.int64)
    for other in range(len(books.size)):
        if other == b or books.size[other] == 0:
            continue
        rows, total = books.size[b] + books.size[other], np.int64(0)
        for c in range(columns):
            low = min(books.small[b, c], books.small[other, c])
            high = max(books.large[b, c], books.large[other, c])
            total += labels.losses[labels.base[c] + labels.width[c] * low + high]
        extra = rows * total - books.size[b] * books.loss[b] - books.size[other] * books.loss[other]
        if best >= 0 and best_holds and extra >= best_extra:
            continue
        tally[:] = books.tally[b] + books.tally[other]
        kept = holds(tally, rows, limits)
        if best < 0 or (kept and not best_holds) or (kept == best_holds and extra < best_extra):
            best, best_extra, best_holds = other, extra, kept
    return best


@compiled
def mend(order, cuts, pieces, labels, limits):
    """(order, cuts) with classes merged until all hold, or until one class is left."""
    books = open_books(order, cuts, pieces, labels, len(limits.totals))
    columns = books.small.shape[1]
    for b in np.argsort(books.size, kind="mergesort"):
        while books.size[b] > 0 and not holds(books.tally[b], books.size[b], limits):
            other = best_partner(books, b, labels, limits)
            if other < 0:
                break
            total = np.int64(0)
            for c in range(columns):
                books.small[b, c] = min(books.small[b, c], books.small[other, c])
                books.large[b, c] = max(books.large[b, c], books.large[other, c])
                total += labels.losses[labels.base[c] + labels.width[c] * books.small[b, c] + books.large[b, c]]
            i = books.head[other]
            while books.follow[i] >= 0:
                i = books.follow[i]
            books.follow[i] = books.head[b]
            books.head[b], books.head[other] = books.head[other], -1
            books.size[b] += books.size[other]
            books.size[other] = 0
            books.tally[b] += books.tally[other]
            books.loss[b] = total
    return close_books(order, books)
