"""What the loops of local recoding are handed, as records of arrays, and how they draw random numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled

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


@compiled
def draw(state):
    """The next number in [0, 1) of a stream (splitmix64, Steele et al. 2014); state: (1,) uint64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return (word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def draw_scales(state, spread, scale):
    """Fill scale with positive numbers around one: e to the power of about spread times a normal number."""
    for c in range(len(scale)):
        scale[c] = math.exp(spread * 2.0 * (draw(state) + draw(state) + draw(state) - 1.5))


@compiled
def box_loss(labels, small, large):
    """What one row of a class loses; small, large: (columns,), the class's smallest and largest values."""
    total = np.int64(0)
    for c in range(len(small)):
        total += labels.losses[labels.base[c] + labels.width[c] * small[c] + large[c]]
    return total


@compiled
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
