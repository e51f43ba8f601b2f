"""What lies near: the least that a row loses with its nearest rows, and classes whose labels overlap.

A row loses at least the label that it shares with its (k − 1)-nearest neighbour, because its class must hold k rows.
Classes are boxes, one run of leaves per column; which of them overlap, and which rows fit the labels of another, is
looked up alike.

Rows, or boxes, stand in a tree order and are looked through block by block: a block whose nearest corner is already
further than the k rows that are known, or that has no cell in common, is skipped. The blocks of each rank hold ``FAN``
blocks of the rank below.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled, inner

FAN = 8
MOST = 16  # ranks: more than any table has


@compiled
def block_boxes(first, last, order):
    """Per rank the smallest and largest values of its blocks, one rank after the other: (begins, small, large).

    first, last: (boxes, columns), what the blocks of the lowest rank hold; of single rows both are their codes.
    """
    rows, columns = first.shape
    begins = np.zeros(MOST + 1, np.int64)
    ranks, count = 0, (rows + FAN - 1) // FAN
    while True:
        begins[ranks + 1] = begins[ranks] + count
        ranks += 1
        if count == 1:
            break
        count = (count + FAN - 1) // FAN
    small, large = np.empty((begins[ranks], columns), np.int32), np.empty((begins[ranks], columns), np.int32)
    for rank in range(ranks):
        for block in range(begins[rank + 1] - begins[rank]):
            place = begins[rank] + block
            below = rows if rank == 0 else begins[rank] - begins[rank - 1]
            for child in range(block * FAN, min(below, (block + 1) * FAN)):
                for c in range(columns):
                    if rank == 0:
                        low, high = first[order[child], c], last[order[child], c]
                    else:
                        low, high = small[begins[rank - 1] + child, c], large[begins[rank - 1] + child, c]
                    if child == block * FAN:
                        small[place, c], large[place, c] = low, high
                    else:
                        small[place, c], large[place, c] = min(small[place, c], low), max(large[place, c], high)
    return begins[: ranks + 1], small, large


@inner
def corner_loss(labels, code, small, large, limit):
    """The least that a row shares with any row of a block; gives up beyond the limit."""
    total = np.int64(0)
    for c in range(len(code)):
        low, high = min(code[c], large[c]), max(code[c], small[c])
        total += labels.losses[labels.base[c] + labels.width[c] * low + high]
        if total >= limit:
            return total
    return total


@inner
def keep_near(losses, counts, known, loss, count, k):
    """Enter rows among the nearest, which together are at least k rows with the last and fewer without it.

    losses, counts: rising by loss; returns how many entries there are then.
    """
    place = known
    while place > 0 and losses[place - 1] > loss:
        losses[place], counts[place] = losses[place - 1], counts[place - 1]
        place -= 1
    losses[place], counts[place] = loss, count
    rows = np.int64(0)
    for i in range(known + 1):
        rows += counts[i]
        if rows >= k:
            return i + 1
    return known + 1


@compiled
def near_loss(row, codes, weights, order, blocks, labels, k, start):
    """The least loss of one row of the table in any class of k rows; start: where the row stands in the order."""
    begins, small, large = blocks
    ranks, rows = len(begins) - 1, len(order)
    losses, counts = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    known, sure, limit = 0, np.int64(0), np.int64(2**62)
    stack, top = np.empty((FAN * ranks + 1, 2), np.int64), 0
    low, high = max(0, start - k), min(rows, start + k + 1)  # neighbours in the order first: they set the limit
    for pass_ in range(2):
        stack[0, 0], stack[0, 1], top = ranks - 1, 0, 1
        while top > 0 or pass_ == 0:
            if pass_ == 0:
                first, last = low, high
            else:
                top -= 1
                rank, block = stack[top, 0], stack[top, 1]
                place = begins[rank] + block
                if sure >= k and corner_loss(labels, codes[row], small[place], large[place], limit) >= limit:
                    continue
                first = block * FAN
                last = min(rows if rank == 0 else begins[rank] - begins[rank - 1], first + FAN)
                if rank > 0:
                    for child in range(first, last):
                        stack[top, 0], stack[top, 1] = rank - 1, child
                        top += 1
                    continue
            for i in range(first, last):
                if pass_ == 1 and low <= i < high:
                    continue  # known already
                other = order[i]
                loss = corner_loss(labels, codes[row], codes[other], codes[other], limit)
                if loss < limit or sure < k:
                    known = keep_near(losses, counts, known, loss, weights[other], k)
                    sure = np.int64(0)
                    for z in range(known):
                        sure += counts[z]
                    if sure >= k:
                        limit = losses[known - 1]
            if pass_ == 0:
                break
    return losses[known - 1]


@compiled
def near_losses(chosen, codes, weights, order, labels, k, halt):
    """The least loss of some rows, in their order: (rows,) int64, zero from where halt[0] was set; chosen: places in
    the order."""
    blocks = block_boxes(codes, codes, order)
    least = np.zeros(len(chosen), np.int64)
    for i in range(len(chosen)):
        if halt[0] != 0:
            break
        row = order[chosen[i]]
        if weights[row] < k:
            least[i] = near_loss(row, codes, weights, order, blocks, labels, k, chosen[i])
        else:
            least[i] = corner_loss(labels, codes[row], codes[row], codes[row], np.int64(2**62))
    return least


@inner
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
