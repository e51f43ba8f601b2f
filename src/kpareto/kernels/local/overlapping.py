"""Which classes of a local recoding have labels that overlap, and which rows fit the labels of another class.

Classes are boxes, one run of leaves per column. They are looked through block by block (nearing.block_boxes), so that
most of those that cannot matter are never looked at.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.local.nearing import FAN, block_boxes


@compiled
def meet(low, high, first, last):
    """Whether two boxes have a cell in common."""
    for c in range(len(low)):
        if low[c] > last[c] or high[c] < first[c]:
            return False
    return True


@compiled
def boxes_near(low, high, first, last, order, blocks, near):
    """All boxes that have a cell in common with one: near is filled with their numbers; returns how many."""
    begins, small, large = blocks
    stack, top, count = np.empty((FAN * len(begins) + 1, 2), np.int64), 1, 0
    stack[0, 0], stack[0, 1] = len(begins) - 2, 0
    while top > 0:
        top -= 1
        rank, block = stack[top, 0], stack[top, 1]
        place = begins[rank] + block
        if not meet(low, high, small[place], large[place]):
            continue
        start = block * FAN
        end = min(len(order) if rank == 0 else begins[rank] - begins[rank - 1], start + FAN)
        for child in range(start, end):
            if rank > 0:
                stack[top, 0], stack[top, 1] = rank - 1, child
                top += 1
            elif meet(low, high, first[order[child]], last[order[child]]):
                near[count] = order[child]
                count += 1
    return count


@compiled
def count_overlaps(first, last, order):
    """Per class: labels in common with another class, and labels that hold those of another: (classes,) bool each.

    first, last: (classes, columns) int32; order: an order in which classes with like labels stand together.
    """
    classes, columns = first.shape
    blocks = block_boxes(first, last, order)
    overlapping, holding = np.zeros(classes, np.bool_), np.zeros(classes, np.bool_)
    near = np.empty(classes, np.int64)
    for a in range(classes):
        for i in range(boxes_near(first[a], last[a], first, last, order, blocks, near)):
            b = near[i]
            if a == b:
                continue
            overlapping[a], inside = True, True
            for c in range(columns):
                inside = inside and first[a, c] <= first[b, c] and last[b, c] <= last[a, c]
            holding[a] = holding[a] or inside
    return overlapping, holding


@compiled
def count_fits(codes, members, first, last, order):
    """Per row: the classes whose labels it fits, and whether one of them is finer and lies within its own:
    (rows,) int64 and (rows,) bool; members: its class, or -1."""
    columns = first.shape[1]
    blocks = block_boxes(first, last, order)
    fits, finer = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.bool_)
    near = np.empty(len(first), np.int64)
    for row in range(len(codes)):
        fits[row] = boxes_near(codes[row], codes[row], first, last, order, blocks, near)
        own = members[row]
        for i in range(fits[row]):
            b = near[i]
            if own < 0 or b == own or finer[row]:
                continue
            inside = True
            for c in range(columns):
                inside = inside and first[own, c] <= first[b, c] and last[b, c] <= last[own, c]
            finer[row] = inside
    return fits, finer
