"""Branch and bound over the partial nodes of a large lattice.

A partial node fixes the levels of the first columns and leaves the others at the top. Every node that refines it has at
most its k and at least its loss without suppression, so a beaten partial node takes all of them with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.classes import round_off, size_steps
from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.records import Hiding, SizeSteps


class LeafColumns(NamedTuple):
    """The quasi-identifiers in the order of branch and bound, by leaves."""

    codes: np.ndarray  # (columns, rows) int32, leaves
    leaf_order: np.ndarray  # (columns, rows) int32, rows by leaf
    weights: np.ndarray  # (rows,) int64
    heights: np.ndarray  # (columns,) int64, highest level
    cuts: np.ndarray  # (…,) int32, the cuts of every level
    cut_at: np.ndarray  # (columns, most levels) int64, where each starts
    leaves: np.ndarray  # (columns,) int64


class Objectives(NamedTuple):
    """The keys that branch and bound minimizes: each a sum over columns, or minus k."""

    adds: np.ndarray  # (objectives,) bool, whether the key is a sum of parts
    parts: np.ndarray  # (objectives, columns, most levels) int64
    coarse: np.ndarray  # (objectives,) int64, the bits by which sums are rounded off before they are compared
    allowed: int  # rows that may be suppressed (0 for the rule none)
    least_k: int  # nodes with a smaller k do not count


class Pairs(NamedTuple):
    """The pairs of class and leaf that rows of a partial node fall into, by class, then by leaf."""

    owners: np.ndarray  # (rows,) int32, the class of each pair
    leaves: np.ndarray  # (rows,) int32
    rows: np.ndarray  # (rows,) int64


class BranchRoom(NamedTuple):
    """Room for the children of one partial node."""

    place: np.ndarray  # (rows + 1,) int64, where each class goes
    counts: np.ndarray  # (rows,) int64, the class sizes of a child
    steps: SizeSteps
    none: np.ndarray  # (1,) bool, read by nobody: no class is marked
    bound: np.ndarray  # (objectives,) int64


@compiled
def grow_rows(rows, used):
    """Rows in an array with twice the room. Loops, because numba compiles a slice assignment for seconds."""
    bigger = np.zeros((max(2 * rows.shape[0], 64), rows.shape[1]), dtype=rows.dtype)
    for i in range(used):
        for j in range(rows.shape[1]):
            bigger[i, j] = rows[i, j]
    return bigger


@compiled
def sort_pairs(ids, classes, leaf_order, codes, weights, place, ranked, pairs):
    """Rows of a partial node by class, then by leaf of one more column, and the rows of each such pair.

    leaf_order: (rows,) int32, the rows by leaf of the column; ranked: filled, the rows by (class, leaf).
    Returns how many pairs there are.
    """
    owners, leaves, counts = pairs.owners, pairs.leaves, pairs.rows
    rows = ids.shape[0]
    one = np.uint64(1)
    for c in range(classes + 1):
        place[c] = 0
    for r in range(np.uint64(rows)):
        place[np.uint64(ids[r]) + one] += 1
    for c in range(classes):
        place[c + 1] += place[c]
    for i in range(np.uint64(rows)):
        row = leaf_order[i]
        of = np.uint64(ids[np.uint64(row)])
        ranked[np.uint64(place[of])] = row
        place[of] += 1
    n = -1
    last_class = np.int32(-1)
    last_leaf = np.int32(-1)
    for i in range(np.uint64(rows)):
        at = np.uint64(ranked[i])
        own = ids[at]
        leaf = codes[at]
        if own != last_class or leaf != last_leaf:
            n += 1
            owners[n] = own
            leaves[n] = leaf
            counts[n] = 0
            last_class = own
            last_leaf = leaf
        counts[n] += weights[at]
    return n + 1


@compiled
def merged_sizes(pairs, size, cut, counts):
    """Rows of each class when the leaves of the pairs are grouped by a cut; returns how many classes there are."""
    owners, leaves, rows = pairs.owners, pairs.leaves, pairs.rows
    n = np.uint64(0)
    one = np.uint64(1)
    counts[0] = rows[0]
    last_class = owners[0]
    last_group = cut[np.uint64(leaves[0])]
    for i in range(one, np.uint64(size)):
        group = cut[np.uint64(leaves[i])]
        same = owners[i] == last_class and group == last_group
        n += np.uint64(0) if same else one
        counts[n] = counts[n] + rows[i] if same else rows[i]
        last_class = owners[i]
        last_group = group
    return np.int64(n) + 1


@compiled
def refined_ids(ids, codes, ranked, cut, out):
    """The class of each row after a column was added at the level of a cut; returns how many classes there are."""
    n = -1
    last_class = np.int32(-1)
    last_group = np.int32(-1)
    for i in range(np.uint64(ranked.shape[0])):
        r = np.uint64(ranked[i])
        group = cut[np.uint64(codes[r])]
        if ids[r] != last_class or group != last_group:
            n += 1
            last_class = ids[r]
            last_group = group
        out[r] = n
    return n + 1


@compiled
def find_dominating(bound, front, last):
    """The place of a row of front that strictly dominates the bound, or -1; the search starts at ``last``."""
    points, objectives = front.shape
    for step in range(points):
        j = last + step
        if j >= points:
            j -= points
        worse = True
        strictly = False
        for m in range(objectives):
            if front[j, m] > bound[m]:
                worse = False
                break
            strictly = strictly or front[j, m] < bound[m]
        if worse and strictly:
            return j
    return -1


@inner
def mark_alive(columns, c, fixed, pairs, size, objectives, sums, front, last, room, alive):
    """Which levels of column c the front does not beat, below a partial node whose pairs these are: alive[level].

    fixed: the only level to look at, or -1; sums: (objectives,) int64, the keys of the columns before. Returns how many
    levels were counted, and the row of the front that beat last.
    """
    counts, bound, adds, parts = room.counts, room.bound, objectives.adds, objectives.parts
    counted = 0
    for j in range(columns.heights[c] + 1):
        alive[j] = False
        if fixed >= 0 and fixed != j:
            continue
        start = columns.cut_at[c, j]
        n = merged_sizes(pairs, size, columns.cuts[start : start + columns.leaves[c]], counts)
        last_step = size_steps(counts, counts, n, Hiding(1, room.none, False), objectives.allowed, room.steps) - 1
        counted += 1
        k = room.steps.thresholds[last_step]
        if k < objectives.least_k:
            continue
        for m in range(adds.shape[0]):
            bound[m] = round_off(sums[m] + parts[m, c, j], objectives.coarse[m]) if adds[m] else -k
        by = find_dominating(bound, front, last)
        if by >= 0:
            last = by
        else:
            alive[j] = True
    return counted, last


@compiled
def surviving_nodes(columns, objectives, front, prefix, halt):
    """Levels (n, columns) of the nodes that the front does not prove to be dominated, and how many nodes were counted.

    front: (points, objectives) int64, keys known to be reached; prefix: (fixed,) int64, levels of the first columns;
    halt: (1,) int64, another thread writes 1 to end the search, which then answers -1 for the nodes counted.
    """
    codes, heights, parts = columns.codes, columns.heights, objectives.parts
    count, rows = codes.shape
    ids = np.zeros((count + 1, rows), dtype=np.int32)
    classes = np.ones(count + 1, dtype=np.int64)
    ranked = np.zeros((count, rows), dtype=np.int32)
    alive = np.zeros((count, columns.cut_at.shape[1]), dtype=np.bool_)
    level = np.full(count, -1, dtype=np.int64)
    sums = np.zeros((count + 1, parts.shape[0]), dtype=np.int64)
    pairs = Pairs(np.zeros(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32), np.zeros(rows, dtype=np.int64))
    thresholds = np.zeros(3 + int(math.sqrt(2.0 * objectives.allowed)), dtype=np.int64)
    room = BranchRoom(
        np.zeros(rows + 1, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        SizeSteps(
            thresholds,
            np.zeros_like(thresholds),
            np.zeros((0, 1), dtype=np.int64),
            np.zeros(objectives.allowed + 1, dtype=np.int64),
        ),
        np.zeros(1, dtype=np.bool_),
        np.zeros(parts.shape[0], dtype=np.int64),
    )
    kept = np.zeros((64, count), dtype=np.int64)
    used = 0
    counted = 0
    last = 0
    c = 0  # the column whose levels are looked at: all before it are fixed
    fresh = True  # the partial node above has not been expanded yet
    while c >= 0:
        if halt[0] != 0:
            return kept[:0], -1
        if fresh:
            size = sort_pairs(
                ids[c], classes[c], columns.leaf_order[c], codes[c], columns.weights, room.place, ranked[c], pairs
            )
            fixed = prefix[c] if c < prefix.shape[0] else -1
            more, last = mark_alive(columns, c, fixed, pairs, size, objectives, sums[c], front, last, room, alive[c])
            counted += more
            level[c] = heights[c] + 1  # coarse levels first
            fresh = False
        level[c] -= 1
        while level[c] >= 0 and not alive[c, level[c]]:
            level[c] -= 1
        if level[c] < 0:
            c -= 1
            continue
        if c == count - 1:
            if used == kept.shape[0]:
                kept = grow_rows(kept, used)
            for a in range(count):
                kept[used, a] = level[a]
            used += 1
            continue
        start = columns.cut_at[c, level[c]]
        cut = columns.cuts[start : start + columns.leaves[c]]
        classes[c + 1] = refined_ids(ids[c], codes[c], ranked[c], cut, ids[c + 1])
        for m in range(parts.shape[0]):
            sums[c + 1, m] = sums[c, m] + parts[m, c, level[c]]
        c += 1
        fresh = True
    return kept[:used], counted
