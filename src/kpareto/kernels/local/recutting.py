"""Recut: classes stand in a tree order; sort the rows of each between its two neighbours, and cut anew.

The old classes are one of the cuts of that order, so the loss never rises.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.local.cutting import cut_order, read_cuts
from kpareto.kernels.local.words import boxes_of, total_loss, wider_loss


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
    loss = cut_order(arranged, pieces, labels, limits, 0, least, back)
    fresh = np.empty(count + 1, np.int64)
    classes = read_cuts(back, count, fresh)
    # With limits, a long class may be out of reach.
    if classes < 0 or loss > total_loss(order, cuts, pieces, labels):
        return order, cuts
    return arranged, fresh[: classes + 1].copy()
