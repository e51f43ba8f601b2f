"""Sums over classes of what their packed histograms tell: squared counts, and rows outside the majority.

Narrow lanes are read as arrays of narrow numbers, so that one instruction takes many of them. The sums are of all
classes; those that are hidden, which are few, are taken away one by one.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.words import OWN


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
