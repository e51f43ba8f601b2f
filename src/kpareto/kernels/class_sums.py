"""Sums over classes of what their packed histograms tell: squared counts, rows outside the majority, losses by use.

Narrow lanes are read as arrays of narrow numbers, so that one instruction takes many of them. The sums are of all
classes; those that are hidden, which are few, are taken away one by one.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.classes import is_hidden
from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.words import COST, DEVIATION, OWN


@compiled(memory=False)
def unpack(hists, i, first, values, lane_bits, out):
    """The histogram of class i: ``values`` counts from packed word ``first`` on, into out."""
    mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    word, shift = first, 0
    for v in range(values):
        out[v] = (hists[word, i] >> shift) & mask
        shift += lane_bits
        if shift == 64:
            word, shift = word + 1, 0


@inner
def square_lanes(lanes):
    """The sum of squares of narrow counts: (counts,) uint8 or uint16, at most 2**16 of them."""
    value = np.int64(0)
    for i in range(lanes.shape[0]):
        count = np.int64(lanes[i])
        value += count * count
    return value


@inner
def raise_lanes(most, lanes):
    """Make each of ``most`` at least the count that stands in its place."""
    for i in range(lanes.shape[0]):
        most[i] = max(most[i], lanes[i])


@inner
def all_squares(hists, size, first, words, bits):
    """The sum of squared counts over all classes."""
    value = np.int64(0)
    mask = (np.int64(1) << bits) - 1 if bits < 64 else np.int64(-1)
    for w in range(first, first + words):
        row = hists[w, :size]
        if bits == 8:
            value += square_lanes(row.view(np.uint8))
        elif bits == 16:
            value += square_lanes(row.view(np.uint16))
        else:
            for shift in range(0, 64, bits):
                for i in range(size):
                    count = (row[i] >> shift) & mask
                    value += count * count
    return value


@compiled
def all_minorities(counts, hists, size, first, words, bits):
    """The rows outside their class's majority, over all classes."""
    block = 256  # classes whose largest counts stay in the first cache
    most = np.zeros(block, dtype=np.int64)
    mask = (np.int64(1) << bits) - 1 if bits < 64 else np.int64(-1)
    value = np.int64(0)
    for start in range(0, size, block):
        here = min(block, size - start)
        packed = most[:here]
        row = hists[first, start : start + here]
        for i in range(here):
            packed[i] = row[i] if bits < 32 else 0
        for w in range(first + (bits < 32), first + words):
            row = hists[w, start : start + here]
            if bits == 8:  # lane by lane, many at a time; the lanes of a class are compared at the end
                raise_lanes(packed.view(np.uint8), row.view(np.uint8))
            elif bits == 16:
                raise_lanes(packed.view(np.uint16), row.view(np.uint16))
            else:
                for shift in range(0, 64, bits):
                    for i in range(here):
                        packed[i] = max(packed[i], (row[i] >> shift) & mask)
        part = counts[start : start + here]
        if bits == 16:
            for i in range(here):
                word = packed[i]
                one, two = max(word & mask, (word >> 16) & mask), max((word >> 32) & mask, (word >> 48) & mask)
                value += part[i] - max(one, two)
        else:
            for i in range(here):
                largest = packed[i]
                if bits == 8:
                    largest = np.int64(0)
                    for shift in range(0, 64, 8):
                        largest = max(largest, (packed[i] >> shift) & mask)
                value += part[i] - largest
    return value


@compiled
def hist_sum(kind, classes, hiding, lost, first, width, values):
    """The sum over visible classes of MINORITY (rows outside the majority) or OWN (squared counts).

    width: how many values the column has; values: (values,) int64, room for one histogram.
    """
    sizes, counts, hists, size, bits = classes.sizes, classes.counts, classes.hists, classes.size, classes.bits
    words = -(-width * bits // 64)
    if kind == OWN:
        value = all_squares(hists, size, first, words, bits)
    else:
        value = all_minorities(counts, hists, size, first, words, bits)
    if lost > 0:
        threshold, failing, marked = hiding.threshold, hiding.failing, hiding.marked
        for i in range(size):
            if (marked and failing[i]) or sizes[i] < threshold:
                unpack(hists, i, first, width, bits, values)
                most = np.int64(0)
                for v in range(width):
                    most = most + values[v] * values[v] if kind == OWN else max(most, values[v])
                value -= most if kind == OWN else counts[i] - most
    return float(value)


@compiled
def target_sum(kind, classes, hiding, first, totals, worths, scale, values):
    """The sum of COST, VARIANCE or DEVIATION over the visible classes and the rows that none of them shows.

    totals: (values,) int64, rows of the table; worths: of COST (values * values,), else (values,) and rising; values:
    (values,) int64, room for one histogram. Whole numbers are added up, so that the order of classes does not matter.
    """
    hists, bits, width = classes.hists, classes.bits, totals.shape[0]
    away = totals.copy()
    value = np.int64(0)
    for i in range(classes.size):
        if is_hidden(classes, hiding, i):
            continue
        unpack(hists, i, first, width, bits, values)
        for v in range(width):
            away[v] -= values[v]
        value += class_loss(kind, values, width, worths, scale)
    return float(value + class_loss(kind, away, width, worths, scale))


@inner
def class_loss(kind, hist, width, worths, scale):
    """What one group that is predicted alike loses, in whole numbers; VARIANCE times ``scale``."""
    if kind == COST:
        return least_price(hist, width, worths)
    rows = total = np.int64(0)
    for v in range(width):
        rows += hist[v]
        total += hist[v] * worths[v]
    if rows < 2:
        return np.int64(0)
    if kind == DEVIATION:
        half, before, middle = (rows + 1) // 2, np.int64(0), 0
        while before + hist[middle] < half:
            before += hist[middle]
            middle += 1
        apart = np.int64(0)
        for v in range(width):
            apart += hist[v] * abs(worths[v] - worths[middle])
        return apart
    mean, squares = total / rows, 0.0
    for v in range(width):
        squares += hist[v] * (worths[v] - mean) ** 2
    return np.int64(round(squares * scale))


@inner
def least_price(hist, width, costs):
    """The cost of the majority of a group, of several the cheapest."""
    most = np.int64(0)
    for v in range(width):
        most = max(most, hist[v])
    least = np.int64(-1)
    for told in range(width if most > 0 else 0):
        if hist[told] == most:
            price = np.int64(0)
            for true in range(width):
                price += costs[true * width + told] * hist[true]
            least = price if least < 0 else min(least, price)
    return max(least, np.int64(0))
