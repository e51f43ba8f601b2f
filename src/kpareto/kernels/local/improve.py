"""Better classes: one turn puts them into a new tree order, and recuts, rebuilds and shaves a stretch of it.

Recut: classes stand in a tree order; sort the rows of each between its two neighbours, and cut anew. The old classes
are one of the cuts of that order, so the loss never rises.

Rebuild: a few neighbouring classes are taken apart and grown anew; the new ones are kept where they lose less. A class
grows from a first row on: always the row that widens its label least joins, until the limits hold. The next class
begins with the row that fits the last one worst, so that odd rows choose their company early.

Shave: odd rows of a class, or all of them, go where others take them in more cheaply. The rows that keep a column's
label wide (all but those in the largest child of the label) are given away, each to the class in which it costs least;
the class is then narrower for everybody who stays. What is given away may also be a whole class. A change is kept if
the loss falls and every class concerned still keeps its limits.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.hashing import random_unit
from kpareto.kernels.local.classes import (
    NEVER,
    add_values,
    box_loss,
    boxes_of,
    class_losses,
    class_sizes,
    close_books,
    draw_scales,
    holds,
    open_books,
    total_loss,
    wider_loss,
)
from kpareto.kernels.local.orders import cut_order, log_table, read_cuts, tree_order


@compiled
def sort_between(order, cuts, pieces, labels):
    """The order with the rows of each class sorted: those that the class before would take cheaply come first."""
    classes, columns = len(cuts) - 1, pieces.codes.shape[1]
    small, large = np.empty((classes, columns), np.int32), np.empty((classes, columns), np.int32)
    boxes_of(order, cuts, pieces, small, large)
    arranged = np.empty_like(order)
    for b in range(classes):
        start, end = cuts[b], cuts[b + 1]
        key = np.empty(end - start, np.int64)
        last, gain = -1, np.int64(0)
        for i in range(start, end):
            if order[i] != last:
                last, gain = order[i], np.int64(0)
                row = pieces.codes[last]
                if b > 0:
                    gain += wider_loss(labels, small[b - 1], large[b - 1], row)
                if b + 1 < classes:
                    gain -= wider_loss(labels, small[b + 1], large[b + 1], row)
            key[i - start] = gain
        sorted_ = np.argsort(key, kind="mergesort")
        for i in range(end - start):
            arranged[start + i] = order[start + sorted_[i]]
    return arranged


@compiled
def recut(order, cuts, pieces, labels, limits):
    """(order, cuts) cut anew, or as they were where that is no better."""
    count = len(order)
    arranged = sort_between(order, cuts, pieces, labels)
    least, back = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    loss = cut_order(arranged, pieces, labels, limits, 0, least, back, np.zeros(1, np.uint8))
    fresh = np.empty(count + 1, np.int64)
    classes = read_cuts(back, count, fresh)
    # With limits, a long class may be out of reach.
    if classes < 0 or loss > total_loss(order, cuts, pieces, labels):
        return order, cuts
    return arranged, fresh[: classes + 1].copy()


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
        end = min(classes, begin + 2 + int(random_unit(state) * (most - 1)))
        start, stop, old = cuts[begin], cuts[end], np.int64(0)
        for b in range(begin, end):
            old += dear[b] * sizes[b]
        best, best_count = old, 0
        count = stop - start
        if old > 0 and end - begin > 1:
            grown, borders = np.empty(count, order.dtype), np.empty(count + 1, np.int64)
            for _ in range(tries):
                first = int(random_unit(state) * count)
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


@compiled
def fits(books, b, piece, pieces, limits):
    """Whether class b keeps its limits with one more copy of a piece."""
    if len(limits.kinds) == 0:
        return True
    add_values(books.tally[b], pieces, piece, 1)
    kept = holds(books.tally[b], books.size[b] + pieces.size[piece], limits)
    add_values(books.tally[b], pieces, piece, -1)
    return kept


@compiled
def cheapest_class(books, piece, avoid, pieces, labels, limits):
    """The class, other than ``avoid``, in which a copy of a piece costs least: (what it costs there, class or −1)."""
    row, size = pieces.codes[piece], pieces.size[piece]
    least, best = NEVER, -1
    for b in range(len(books.size)):
        rows = books.size[b]
        if b == avoid or rows == 0:
            continue
        # The loss only grows column by column: most classes are passed over after a few.
        spare, total, c = least + rows * books.loss[b], np.int64(0), 0
        while c < len(row) and total * (rows + size) < spare:
            low, high = min(books.small[b, c], row[c]), max(books.large[b, c], row[c])
            total += labels.losses[labels.base[c] + labels.width[c] * low + high]
            c += 1
        if total * (rows + size) < spare and fits(books, b, piece, pieces, limits):
            least, best = total * (rows + size) - rows * books.loss[b], b
    return least, best


@compiled
def join(books, b, piece, pieces, labels):
    """Widen class b for one more copy of a piece, which is not linked yet."""
    row = pieces.codes[piece]
    books.loss[b] = wider_loss(labels, books.small[b], books.large[b], row)
    for c in range(len(row)):
        books.small[b, c] = min(books.small[b, c], row[c])
        books.large[b, c] = max(books.large[b, c], row[c])
    books.size[b] += pieces.size[piece]
    add_values(books.tally[b], pieces, piece, 1)


@inner
def main_part(books, b, column, order, pieces, labels, tally):
    """The values of a class in a column that most of its rows share: (first, last) value of the largest part.

    Parts are the children of the label; in a column of intervals all values but those at one end. tally: (leaves,)
    int64, room.
    """
    low, high = books.small[b, column], books.large[b, column]
    base, width = labels.base[column], labels.width[column]
    tally[low : high + 1] = 0
    i = books.head[b]
    while i >= 0:
        tally[pieces.codes[order[i], column]] += pieces.size[order[i]]
        i = books.follow[i]
    if labels.free[column]:
        first, last = low, high
        if tally[low] < tally[high]:
            first = low + 1
            while tally[first] == 0:
                first += 1
        else:
            last = high - 1
            while tally[last] == 0:
                last -= 1
        return first, last
    whole, most, first, last, a = labels.names[base + width * low + high], np.int64(-1), low, low, low
    while a <= high:
        if tally[a] == 0:
            a += 1
            continue
        rows, z, x = tally[a], a, a + 1
        while x <= high:
            if tally[x] > 0:
                if labels.names[base + width * a + x] == whole:
                    break
                rows += tally[x]
                z = x
            x += 1
        if rows > most:
            most, first, last = rows, a, z
        a = z + 1
    return first, last


@compiled
def odd_ones(books, b, column, order, pieces, labels, limits, tally, odd, small, large, counted):
    """The entries outside the main part of a column, and the class without them: (how many, rows, loss) or (0, 0, 0).

    Column −1 gives all entries away. odd is filled with entries, small and large with the box of those that stay,
    counted: (values,) int64, with their histogram. (0, 0, 0) where no entry is odd or the rest breaks a limit.
    """
    columns = pieces.codes.shape[1]
    first, last = np.int64(1), np.int64(0)
    if column >= 0:
        if books.small[b, column] == books.large[b, column]:
            return 0, np.int64(0), np.int64(0)
        first, last = main_part(books, b, column, order, pieces, labels, tally)
    count, rows, stays = 0, books.size[b], False
    counted[:] = books.tally[b]
    i = books.head[b]
    while i >= 0:
        piece = order[i]
        if column < 0 or not first <= pieces.codes[piece, column] <= last:
            odd[count] = i
            count += 1
            rows -= pieces.size[piece]
            add_values(counted, pieces, piece, -1)
        elif not stays:
            stays = True
            small[:] = pieces.codes[piece]
            large[:] = small
        else:
            for c in range(columns):
                code = pieces.codes[piece, c]
                small[c], large[c] = min(small[c], code), max(large[c], code)
        i = books.follow[i]
    if not stays:
        return count, np.int64(0), np.int64(0)
    if not holds(counted, rows, limits):
        return 0, np.int64(0), np.int64(0)
    return count, rows, box_loss(labels, small, large)


@inner
def unlink(books, b, odd, count, away):
    """Take entries out of a class's list; away: (entries,) bool, room of False."""
    for x in range(count):
        away[odd[x]] = True
    i = books.head[b]
    books.head[b] = -1
    while i >= 0:
        after = books.follow[i]
        if not away[i]:
            books.follow[i] = books.head[b]
            books.head[b] = i
        i = after
    for x in range(count):
        away[odd[x]] = False


@compiled
def shave(order, cuts, pieces, labels, limits):
    """(order, cuts) after odd rows, and whole classes, went where they cost less; the dearest classes first."""
    columns, entries, values = pieces.codes.shape[1], len(order), len(limits.totals)
    books = open_books(order, cuts, pieces, labels, values)
    tally, counted = np.zeros(labels.width.max(), np.int64), np.zeros(values, np.int64)
    odd, to, away = np.empty(entries, np.int64), np.empty(entries, np.int64), np.zeros(entries, np.bool_)
    small, large = np.empty(columns, np.int32), np.empty(columns, np.int32)
    old_small, old_large = np.empty((entries, columns), np.int32), np.empty((entries, columns), np.int32)
    old_loss = np.empty(entries, np.int64)
    for b in np.argsort(-books.loss * books.size, kind="mergesort"):
        for column in range(columns - 1, -2, -1):
            if books.size[b] == 0 or books.loss[b] == 0:
                break
            count, rows, loss = odd_ones(
                books, b, column, order, pieces, labels, limits, tally, odd, small, large, counted
            )
            if count == 0:
                continue
            gain, done = books.size[b] * books.loss[b] - rows * loss, 0
            while done < count:
                piece = order[odd[done]]
                cost, other = cheapest_class(books, piece, b, pieces, labels, limits)
                if other < 0 or cost >= gain:
                    break
                gain -= cost
                to[done], old_loss[done] = other, books.loss[other]
                old_small[done], old_large[done] = books.small[other], books.large[other]
                join(books, other, piece, pieces, labels)
                done += 1
            if done < count:
                for x in range(done - 1, -1, -1):
                    other, piece = to[x], order[odd[x]]
                    books.small[other], books.large[other] = old_small[x], old_large[x]
                    books.loss[other] = old_loss[x]
                    books.size[other] -= pieces.size[piece]
                    add_values(books.tally[other], pieces, piece, -1)
                continue
            unlink(books, b, odd, count, away)
            for x in range(count):
                books.follow[odd[x]] = books.head[to[x]]
                books.head[to[x]] = odd[x]
            books.size[b], books.loss[b] = rows, loss
            books.small[b], books.large[b], books.tally[b] = small, large, counted
    return close_books(order, books)


@compiled
def arrange(order, cuts, pieces, labels, vary, seed):
    """(order, cuts) with the classes in a tree order of one row of each, drawn at random."""
    state = np.full(1, seed, np.uint64)
    classes, columns = len(cuts) - 1, pieces.codes.shape[1]
    codes, scale = np.empty((classes, columns), pieces.codes.dtype), np.empty(columns)
    for b in range(classes):
        codes[b] = pieces.codes[order[cuts[b] + int(random_unit(state) * (cuts[b + 1] - cuts[b]))]]
    sizes = class_sizes(order, cuts, pieces)
    draw_scales(state, vary, scale)
    power = random_unit(state)
    out, fresh, written, place = np.empty_like(order), np.zeros(classes + 1, np.int64), 0, 0
    for b in tree_order(codes, sizes, labels, scale, power, log_table(sizes.sum())):
        count = cuts[b + 1] - cuts[b]
        out[written : written + count] = order[cuts[b] : cuts[b + 1]]
        written += count
        place += 1
        fresh[place] = written
    return out, fresh


@compiled
def improve(order, cuts, pieces, labels, limits, plan, seed, halt):
    """(order, cuts) of a stretch after one turn, never worse.

    plan: the most classes that are rebuilt together (0: none), how often each are tried, whether to shave;
    halt: (1,) uint8, not zero where somebody wants it to end.
    """
    most, tries, moves = plan
    state = np.full(1, seed, np.uint64)
    order, cuts = recut(order, cuts, pieces, labels, limits)
    if most > 1 and halt[0] == 0:
        order, cuts = rebuild(order, cuts, pieces, labels, limits, most, tries, state)
    if moves > 0 and halt[0] == 0:
        order, cuts = shave(order, cuts, pieces, labels, limits)
    return order, cuts
