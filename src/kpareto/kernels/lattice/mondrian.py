"""Mondrian's divisions of the leaves, class by class.

An *item* is a distinct row with some of its rows. The classes that may still be split lie one after the other in the
order of the items, and the last is always taken next. A split sends items to the children of a tree node; children too
small to be a class of their own are the *rest* that stays at the parent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled, inner


class Items(NamedTuple):
    """Distinct rows with some of their rows each, in the order of the classes that they wait in."""

    rows: np.ndarray  # (most,) int64, the distinct row
    weights: np.ndarray  # (most,) int64, rows
    order: np.ndarray  # (most,) int64
    room: np.ndarray  # (most,) int64


class TreePaths(NamedTuple):
    """The trees of all columns side by side."""

    codes: np.ndarray  # (distinct, columns) int32, leaves
    leaf_at: np.ndarray  # (columns + 1,) int64
    path: np.ndarray  # (depths, all leaves) int32, the node at each depth above each leaf, its own from there on
    loss: np.ndarray  # (nodes,) float64


class Children(NamedTuple):
    """How the rows of a class divide among the children of a node; all but the first by node."""

    nodes: np.ndarray  # (…,) int64, the children in the order of their first rows
    sizes: np.ndarray  # (nodes,) int64, rows
    goes: np.ndarray  # (nodes,) int64, the place of the child, -1 for the rest that stays at the parent
    lent: np.ndarray  # (nodes,) int64, rows lent to the rest


@inner
def span_leaves(trees, items, start, end, least, most):
    """The first and the last leaf of each column among the items in order[start:end]; returns how many rows they are.

    One walk for all columns: the leaves of a row lie side by side.
    """
    codes, rows, weights, order = trees.codes, items.rows, items.weights, items.order
    row = rows[order[start]]
    for column in range(least.shape[0]):
        least[column] = most[column] = codes[row, column]
    total = 0
    for i in range(start, end):
        row = rows[order[i]]
        total += weights[order[i]]
        for column in range(least.shape[0]):
            leaf = codes[row, column]
            least[column], most[column] = min(least[column], leaf), max(most[column], leaf)
    return total


@inner
def part_depth(path, leaf_at, least, most):
    """How deep in a column's tree two leaves part; a depth of ``len(path)`` means that they are the same."""
    if least == most:
        return path.shape[0]
    depth = 1
    while path[depth, leaf_at + least] == path[depth, leaf_at + most]:
        depth += 1
    return depth


@inner
def count_children(trees, column, depth, items, start, end, children):
    """The nodes at a depth of a column's tree that the rows of order[start:end] are below; returns how many.

    children.nodes and children.sizes are filled; all sizes must be 0 before.
    """
    codes, path, leaf_at = trees.codes, trees.path[depth], trees.leaf_at[column]
    rows, weights, order, nodes, sizes = items.rows, items.weights, items.order, children.nodes, children.sizes
    count = 0
    for i in range(start, end):
        node = path[leaf_at + codes[rows[order[i]], column]]
        if sizes[node] == 0:
            nodes[count] = node
            count += 1
        sizes[node] += weights[order[i]]
    return count


@inner
def assign_children(children, count, k, relaxed):
    """Which of the first ``count`` children become classes of their own; returns how many.

    Children with fewer than k rows stay at the parent. If they are fewer than k together, they get company: relaxed,
    some rows of the largest children (lent); else all rows of the smallest large one.
    """
    nodes, sizes, goes, lent = children.nodes, children.sizes, children.goes, children.lent
    rest, spare, own = 0, 0, 0
    for place in range(count):
        node = nodes[place]
        lent[node] = 0
        if sizes[node] < k:
            rest += sizes[node]
            goes[node] = -1
        else:
            spare += sizes[node] - k
            goes[node] = place
            own += 1
    if own == 0 or rest == 0 or rest >= k:
        return own
    if relaxed and spare >= k - rest:
        missing = k - rest
        while missing > 0:
            lender = -1
            for place in range(count):
                node = nodes[place]
                if goes[node] >= 0 and (lender < 0 or sizes[node] - lent[node] > sizes[lender] - lent[lender]):
                    lender = node
            loan = min(missing, sizes[lender] - lent[lender] - k)
            lent[lender] += loan
            missing -= loan
        return own
    smallest = -1
    for place in range(count):
        node = nodes[place]
        if goes[node] >= 0 and (smallest < 0 or sizes[node] < sizes[smallest]):
            smallest = node
    goes[smallest] = -1
    return own - 1


@inner
def split_worth(children, count, loss, parent, total):
    """Loss saved per bit of class size given up by a split into the assigned children; 0 if nothing is saved."""
    nodes, sizes, goes, lent = children.nodes, children.sizes, children.goes, children.lent
    saved, bits, rest = 0.0, 0.0, 0
    for place in range(count):
        node = nodes[place]
        if goes[node] < 0:
            rest += sizes[node]
            continue
        left = sizes[node] - lent[node]
        rest += lent[node]
        saved += left * (loss[parent] - loss[node])
        bits += left * math.log2(total / left)
    if rest > 0:
        bits += rest * math.log2(total / rest)
    return saved / bits if bits > 0.0 else 0.0


@inner
def best_split(trees, items, start, end, k, relaxed, children, least, most, box):
    """The column whose split is worth most and its depth, -1 where none is, and the rows of order[start:end].

    box: filled, the node of each column. least, most: (columns,) int32, room.
    """
    best, best_worth, best_depth = -1, 0.0, 0
    total = span_leaves(trees, items, start, end, least, most)
    for column in range(box.shape[0]):
        depth = part_depth(trees.path, trees.leaf_at[column], least[column], most[column])
        parent = trees.path[depth - 1, trees.leaf_at[column] + least[column]]
        box[column] = parent
        if depth == trees.path.shape[0]:
            continue
        count = count_children(trees, column, depth, items, start, end, children)
        if assign_children(children, count, k, relaxed) > 0:
            worth = split_worth(children, count, trees.loss, parent, total)
            if worth > best_worth:
                best, best_worth, best_depth = column, worth, depth
        for place in range(count):
            children.sizes[children.nodes[place]] = 0
    return best, best_depth, total


@inner
def divide(trees, column, depth, children, count, items, start, end, used):
    """Put order[start:end] into the order of the new classes, the rest first; returns (end, used).

    An item of which only some rows are lent is split: the new item gets number ``used``.
    """
    codes, path, leaf_at = trees.codes, trees.path[depth], trees.leaf_at[column]
    goes, lent = children.goes, children.lent
    rows, weights, order, room = items.rows, items.weights, items.order, items.room
    fill = 0
    for turn in range(-1, count):
        for i in range(start, end):
            item = order[i]
            if item < 0:
                continue  # already placed
            node = path[leaf_at + codes[rows[item], column]]
            if turn == -1 and goes[node] >= 0 and lent[node] > 0:
                if weights[item] <= lent[node]:
                    lent[node] -= weights[item]
                else:
                    rows[used], weights[used] = rows[item], lent[node]
                    weights[item] -= lent[node]
                    lent[node] = 0
                    room[fill] = used
                    used += 1
                    fill += 1
                    continue
            elif goes[node] != turn:
                continue
            room[fill] = item
            order[i] = -1
            fill += 1
    for i in range(fill):
        order[start + i] = room[i]
    return start + fill, used


@inner
def enter_classes(trees, column, depth, rest, items, start, end, starts, waiting):
    """Enter the starts of divided classes: the rest, then wherever the child changes; returns how many classes wait."""
    codes, path, leaf_at = trees.codes, trees.path[depth], trees.leaf_at[column]
    rows, weights, order = items.rows, items.weights, items.order
    if rest > 0:
        starts[waiting] = start
        waiting += 1
        seen = 0
        while seen < rest:
            seen += weights[order[start]]
            start += 1
    last = -1
    for i in range(start, end):
        node = path[leaf_at + codes[rows[order[i]], column]]
        if node != last:
            starts[waiting] = i
            waiting += 1
            last = node
    return waiting


@compiled
def mondrian(trees, counts, k, relaxed):
    """Split the rows top down into classes of at least k, each a box of tree nodes; greedy by loss saved per bit.

    counts: (distinct,) int64 rows. Only ``relaxed`` makes more items than distinct rows. Returns per item (distinct
    row, rows, class), and per class (nodes, rows).
    """
    distinct, columns = trees.codes.shape
    nodes = len(trees.loss)
    total_rows = np.int64(0)
    for r in range(distinct):
        total_rows += counts[r]
    most = distinct + total_rows // k + 2
    items = Items(
        np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    )
    for r in range(distinct):
        items.rows[r] = r
        items.weights[r] = counts[r]
        items.order[r] = r
    children = Children(
        np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    )
    order = items.order
    owner, starts = np.zeros(most, np.int64), np.zeros(most, np.int64)
    boxes, class_rows = np.zeros((total_rows // k + 1, columns), np.int32), np.zeros(total_rows // k + 1, np.int64)
    first_leaf, last_leaf = np.zeros(columns, np.int32), np.zeros(columns, np.int32)
    used, classes, waiting, end = distinct, 0, 1, distinct
    # The last of the waiting classes is always taken next, so it may grow.
    while waiting > 0:
        waiting -= 1
        start = starts[waiting]
        best, depth, total = best_split(
            trees, items, start, end, k, relaxed, children, first_leaf, last_leaf, boxes[classes]
        )
        if best < 0:
            for i in range(start, end):
                owner[order[i]] = classes
            class_rows[classes] = total
            classes += 1
            end = start
            continue
        count = count_children(trees, best, depth, items, start, end, children)
        assign_children(children, count, k, relaxed)
        rest = 0
        for place in range(count):
            node = children.nodes[place]
            rest += children.sizes[node] if children.goes[node] < 0 else children.lent[node]
        end, used = divide(trees, best, depth, children, count, items, start, end, used)
        waiting = enter_classes(trees, best, depth, rest, items, start, end, starts, waiting)
        for place in range(count):
            children.sizes[children.nodes[place]] = 0
    return items.rows[:used], items.weights[:used], owner[:used], boxes[:classes], class_rows[:classes]
