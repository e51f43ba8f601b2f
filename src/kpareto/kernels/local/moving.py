"""Move single rows: shave the odd rows off a class, or dissolve it, where others take the rows in more cheaply.

The rows of a class that keep a column's label wide (all but those in the largest child of the label) are given away,
each to the class in which it costs least; the class is then narrower for everybody who stays. What is given away may
also be a whole class. A change is kept if the loss falls and every class concerned still keeps its limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.local.cutting import add_values, holds
from kpareto.kernels.local.words import NEVER, box_loss, boxes_of, class_sizes, wider_loss


class Books(NamedTuple):
    """Classes that rows move between: boxes, sizes, histograms, and members as linked lists."""

    small: np.ndarray  # (classes, columns) int32
    large: np.ndarray  # (classes, columns) int32
    size: np.ndarray  # (classes,) int64, rows; 0: no longer a class
    loss: np.ndarray  # (classes,) int64, of one row
    tally: np.ndarray  # (classes, values) int64
    head: np.ndarray  # (classes,) int64, its first entry, −1 where it has none
    follow: np.ndarray  # (entries,) int64, the next entry of the same class, −1 at the end


@compiled
def open_books(order, cuts, pieces, labels, values):
    """The books of the classes of an order."""
    classes, columns = len(cuts) - 1, pieces.codes.shape[1]
    small, large = np.empty((classes, columns), np.int32), np.empty((classes, columns), np.int32)
    boxes_of(order, cuts, pieces, small, large)
    loss, tally = np.empty(classes, np.int64), np.zeros((classes, values), np.int64)
    head, follow = np.full(classes, -1, np.int64), np.full(len(order), -1, np.int64)
    for b in range(classes):
        loss[b] = box_loss(labels, small[b], large[b])
        for i in range(cuts[b + 1] - 1, cuts[b] - 1, -1):
            follow[i] = head[b]
            head[b] = i
            if values > 0:
                add_values(tally[b], pieces, order[i], 1)
    return Books(small, large, class_sizes(order, cuts, pieces), loss, tally, head, follow)


@compiled
def close_books(order, books):
    """(order, cuts) of the classes in the books, and nothing of entries that are in no class."""
    out, cuts, written, classes = np.empty_like(order), np.zeros(len(books.size) + 1, np.int64), 0, 0
    for b in range(len(books.size)):
        i = books.head[b]
        if i < 0:
            continue
        while i >= 0:
            out[written] = order[i]
            written += 1
            i = books.follow[i]
        classes += 1
        cuts[classes] = written
    return out[:written].copy(), cuts[: classes + 1].copy()


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


@compiled
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


@compiled
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
