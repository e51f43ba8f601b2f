"""What the loops of local recoding are handed: records of arrays, and what a class is, holds and loses."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.hashing import random_unit
from kpareto.kernels.histograms import class_number, is_worse

NEVER = np.int64(2**62)  # more than any loss


class Labels(NamedTuple):
    """What a cell loses, by the smallest and the largest value of its class in that column.

    One square per column, one after the other: ``losses[base[c] + width[c] * smallest + largest]``.
    """

    losses: np.ndarray  # (places,) int64
    names: np.ndarray  # (places,) int64, equal labels of a column have equal names
    base: np.ndarray  # (columns,) int64
    width: np.ndarray  # (columns,) int64
    free: np.ndarray  # (columns,) bool, any interval of leaves is a label
    lost: int  # what a suppressed row loses


class Pieces(NamedTuple):
    """Rows that look alike to the search: one distinct row, one combination of limited sensitive values.

    A piece has several copies, each of ``size`` rows (one, but for bundles); copies are what classes are made of.
    """

    codes: np.ndarray  # (pieces, columns) int32
    size: np.ndarray  # (pieces,) int64, rows of one copy
    start: np.ndarray  # (pieces + 1,) int64, its entries below
    value: np.ndarray  # (entries,) int32, place in a histogram over all limited sensitive columns
    rows: np.ndarray  # (entries,) int64, rows of one copy with that value


class Limits(NamedTuple):
    """What every class must keep: k rows, and numbers about its sensitive values."""

    k: int
    kinds: np.ndarray  # (limits,) int64, what histograms.class_number is asked for
    numbers: np.ndarray  # (limits,) float64, its parameter
    bounds: np.ndarray  # (limits,) float64, the limit itself
    spans: np.ndarray  # (limits, 2) int64, first and last + 1 place of its column in a histogram
    totals: np.ndarray  # (values,) int64, rows of the whole table with each value
    rows: int  # rows of the whole table
    reach: int  # rows a class is looked for in at most, where k alone does not tell


@inner
def draw_scales(state, spread, scale):
    """Fill scale with positive numbers around one: e to the power of about spread times a normal number."""
    for c in range(len(scale)):
        scale[c] = math.exp(spread * 2.0 * (random_unit(state) + random_unit(state) + random_unit(state) - 1.5))


@inner
def box_loss(labels, small, large):
    """What one row of a class loses; small, large: (columns,), the class's smallest and largest values."""
    total = np.int64(0)
    for c in range(len(small)):
        total += labels.losses[labels.base[c] + labels.width[c] * small[c] + large[c]]
    return total


@inner
def wider_loss(labels, small, large, row):
    """What one row of a class would lose if a row with these codes joined it."""
    total = np.int64(0)
    for c in range(len(row)):
        low, high = min(small[c], row[c]), max(large[c], row[c])
        total += labels.losses[labels.base[c] + labels.width[c] * low + high]
    return total


@compiled
def boxes_of(order, cuts, pieces, small, large):
    """The smallest and the largest value of each class: small, large (classes, columns) int32 are filled."""
    for b in range(len(cuts) - 1):
        small[b] = pieces.codes[order[cuts[b]]]
        large[b] = small[b]
        for i in range(cuts[b] + 1, cuts[b + 1]):
            if order[i] == order[i - 1]:
                continue
            for c in range(small.shape[1]):
                code = pieces.codes[order[i], c]
                small[b, c], large[b, c] = min(small[b, c], code), max(large[b, c], code)


@compiled
def class_sizes(order, cuts, pieces):
    """The rows of each class: (classes,) int64."""
    sizes = np.zeros(len(cuts) - 1, np.int64)
    for b in range(len(sizes)):
        for i in range(cuts[b], cuts[b + 1]):
            sizes[b] += pieces.size[order[i]]
    return sizes


@compiled
def class_losses(order, cuts, pieces, labels):
    """What one row of each class loses: (classes,) int64."""
    columns = pieces.codes.shape[1]
    small, large = np.empty((len(cuts) - 1, columns), np.int32), np.empty((len(cuts) - 1, columns), np.int32)
    boxes_of(order, cuts, pieces, small, large)
    losses = np.empty(len(cuts) - 1, np.int64)
    for b in range(len(losses)):
        losses[b] = box_loss(labels, small[b], large[b])
    return losses


@compiled
def total_loss(order, cuts, pieces, labels):
    """What all rows lose together."""
    return (class_losses(order, cuts, pieces, labels) * class_sizes(order, cuts, pieces)).sum()


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


@inner
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
