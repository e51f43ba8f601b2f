"""One turn of improvement: classes are put into a new tree order, and a stretch of it is recut, rebuilt and shaved."""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.local.moving import shave
from kpareto.kernels.local.ordering import log_table, tree_order
from kpareto.kernels.local.rebuilding import rebuild
from kpareto.kernels.local.recutting import recut
from kpareto.kernels.local.words import class_sizes, draw, draw_scales


@compiled
def arrange(order, cuts, pieces, labels, vary, seed):
    """(order, cuts) with the classes in a tree order of one row of each, drawn at random."""
    state = np.full(1, seed, np.uint64)
    classes, columns = len(cuts) - 1, pieces.codes.shape[1]
    codes, scale = np.empty((classes, columns), pieces.codes.dtype), np.empty(columns)
    for b in range(classes):
        codes[b] = pieces.codes[order[cuts[b] + int(draw(state) * (cuts[b + 1] - cuts[b]))]]
    sizes = class_sizes(order, cuts, pieces)
    draw_scales(state, vary, scale)
    power = draw(state)
    out, fresh, written, place = np.empty_like(order), np.zeros(classes + 1, np.int64), 0, 0
    for b in tree_order(codes, sizes, labels, scale, power, log_table(sizes.sum())):
        count = cuts[b + 1] - cuts[b]
        out[written : written + count] = order[cuts[b] : cuts[b + 1]]
        written += count
        place += 1
        fresh[place] = written
    return out, fresh


@compiled
def improve(order, cuts, pieces, labels, limits, plan, seed, halt):
    """(order, cuts) of a stretch after one turn, never worse.

    plan: the most classes that are rebuilt together (0: none), how often each are tried, whether to shave;
    halt: (1,) uint8, not zero where somebody wants it to end.
    """
    most, tries, moves = plan
    state = np.full(1, seed, np.uint64)
    order, cuts = recut(order, cuts, pieces, labels, limits)
    if most > 1 and halt[0] == 0:
        order, cuts = rebuild(order, cuts, pieces, labels, limits, most, tries, state)
    if moves > 0 and halt[0] == 0:
        order, cuts = shave(order, cuts, pieces, labels, limits)
    return order, cuts
