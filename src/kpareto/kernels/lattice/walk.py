"""The walk over a whole lattice: every node's statistics, from class tables that were already counted.

The walk goes depth first, one column per depth. On the way down each class table is turned, so that the next column
lies in the lowest field; at the innermost depth a node is counted; then the walk climbs to the deepest column that can
still rise, raises it, and goes down again. It is one function in three sections: each section in a function of its own
compiles half a second longer, a tenth of what the first front in a fresh installation takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpareto.kernels.classes import (
    key_field,
    lane_width,
    raise_table,
    rotate,
    show_words,
    size_numbers,
    size_steps,
)
from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.histograms import mark_failing, value_numbers
from kpareto.kernels.lattice.bounding import bound_losses, is_beaten, is_hopeless, node_keys
from kpareto.kernels.needed import combine, next_combination, prepare_reach
from kpareto.kernels.records import Classes, ClassTable, Hiding, SizeSteps
from kpareto.kernels.words import AS_NEEDED, BELOW_K, CAP_MAX_K, CLASSES, INTS, NONE, SUPPRESSED, K


class ClassTables(NamedTuple):
    """One class table for each depth of a walk; room but for the first."""

    keys: np.ndarray  # (depths, classes) int64
    counts: np.ndarray  # (depths, classes) int64
    sets: np.ndarray  # (depths, set words, classes) int64
    hists: np.ndarray  # (depths + 1, words, classes) int64, the last for those of the node that is counted
    ends: np.ndarray  # (depths, classes) uint64


class LevelColumns(NamedTuple):
    """The quasi-identifiers in the order of the walk, by levels."""

    heights: np.ndarray  # (columns,) int64, highest level
    bits: np.ndarray  # (columns,) int64, width of each field of a key
    shifts: np.ndarray  # (columns,) int64, where each field lies at the innermost depth
    strides: np.ndarray  # (columns,) int64, node number = sum of level * stride
    group_counts: np.ndarray  # (columns, most levels) int64
    merge_at: np.ndarray  # (columns, most levels) int64, where the map from level - 1 to level starts in merges
    merges: np.ndarray  # (…,) int64, group -> group one level up


class LevelLosses(NamedTuple):
    """Cell losses by level."""

    at: np.ndarray  # (columns, most levels) int64, where the groups of (column, level) start in cells
    cells: np.ndarray  # (losses, …) int64, the loss of a cell in each group
    sums: np.ndarray  # (losses, columns, most levels) int64, over all rows
    lost: np.ndarray  # (losses, columns) int64, the loss of a suppressed cell
    rest: np.ndarray  # (losses, columns + 1) int64, the least that the columns from each one on lose, over all rows


class WalkRoom(NamedTuple):
    """Room for a walk. It allocates nothing, because each kind of allocation compiles for a fifth of a second."""

    to: np.ndarray  # (classes,) uint64, where each class goes
    starts: np.ndarray  # (most groups + 1,) uint64, where each group goes
    steps: SizeSteps  # the thresholds of the node being counted
    base: np.ndarray  # (losses, 1) int64, what the losses grow by for the classes that miss a limit of the job
    failing: np.ndarray  # (classes,) bool, or one place where no class is judged by its values
    sizes: np.ndarray  # (depths,) int64, classes at each depth
    bits: np.ndarray  # (depths,) int64, lanes of the histograms at each depth; the first is told
    halt: np.ndarray  # (1,) int64, another thread writes 1 to end the walk
    values: np.ndarray  # (values,) int64, the histogram of one class


class NodeStatistics(NamedTuple):
    """What a walk fills in, one row per node and threshold."""

    labels: np.ndarray  # (most, 2) int64, node number and threshold
    ints: np.ndarray  # (most, INTS + losses) int64
    reals: np.ndarray  # (most, numbers) float64


@inner
def lose_class(key, highs, i, rows, levels, columns, losses, more, j):
    """Add what losses grow by when class i is suppressed to column j of more: (losses, …) int64."""
    at, cells, cell_lost, shifts, bits = losses.at, losses.cells, losses.lost, columns.shifts, columns.bits
    for c in range(levels.shape[0]):
        if highs is None:
            place = at[c, levels[c]] + ((key >> shifts[c]) & ((np.int64(1) << bits[c]) - 1))
        else:
            place = at[c, levels[c]] + key_field(key, highs, i, shifts[c], bits[c])
        for b in range(cells.shape[0]):
            more[b, j] += rows * (cell_lost[b, c] - cells[b, place])


@inner
def lose_steps(keys, highs, classes, hiding, levels, columns, losses, n, steps):
    """What the losses grow by under each of n thresholds of k, into steps.more."""
    sizes, counts, failing, marked = classes.sizes, classes.counts, hiding.failing, hiding.marked
    thresholds, more = steps.thresholds, steps.more
    for b in range(more.shape[0]):
        for j in range(n):
            more[b, j] = 0
    if more.shape[0] == 0 or steps.lost[n - 1] == 0:
        return
    last = thresholds[n - 1]
    for i in range(classes.size):
        away = marked and failing[i]
        if away or sizes[i] < last:
            j = 0
            while not away and thresholds[j] <= sizes[i]:
                j += 1
            lose_class(keys[i], highs, i, counts[i], levels, columns, losses, more, j)
    for b in range(more.shape[0]):
        for j in range(1, n):
            more[b, j] += more[b, j - 1]


@inner
def table_at(tables, depth):
    """The class table of one depth: one function, as five views in each place compile much longer."""
    return ClassTable(
        tables.keys[depth], tables.counts[depth], tables.sets[depth], tables.hists[depth], tables.ends[depth]
    )


@inner
def lose_reach(keys, highs, classes, missed, gone, within, levels, columns, losses, reach, base):
    """What the losses grow by for the classes that miss a limit of the job, and for each class within reach."""
    rows, failing = classes.counts, missed.failing
    for b in range(base.shape[0]):
        base[b, 0] = 0
        for u in range(within):
            reach.costs[b, u] = 0
    for u in range(within):
        i = reach.classes[u]
        lose_class(keys[i], highs, i, rows[i], levels, columns, losses, reach.costs, u)
    if gone > 0:
        for i in range(classes.size):
            if failing[i] or rows[i] < missed.threshold:
                lose_class(keys[i], highs, i, rows[i], levels, columns, losses, base, 0)


@inner
def next_steps(classes, within, gone, strictest, rule, least, needed, failing, base, steps):
    """The thresholds of k under the combination of others that is looked at, with all that each costs; how many."""
    axes, numbered, reach = needed
    n = combine(classes, within, rule.allowed - gone, strictest, axes, numbered, reach, steps)
    for u in range(within):
        failing[reach.classes[u]] = n > 0 and reach.away[u]
    for j in range(n):
        steps.lost[j] += gone
        steps.thresholds[j] = max(steps.thresholds[j], least)
        for b in range(base.shape[0]):
            steps.more[b, j] += base[b, 0]
    return n


@compiled(memory=False)
def walk(tables, highs, prefix, by_level, rule, sized, questions, counted, needed, pruning, room, out):
    """Visit every node below a prefix of levels; fills out, and returns how many rows of it.

    prefix: levels, (columns,) int64, and the first column that is not fixed, from which on all levels are visited. The
    table at depth 0 is that of the prefix, keys in rising order, with that column at level 0 in the lowest field.
    highs: (depths, further words, classes) int64, or None where one word holds a key, so that no more is compiled.
    by_level: (LevelColumns, LevelLosses). What is None is not compiled: sized where no statistics of class sizes are
    wanted, questions (a KernelQuestions) where nothing is asked of values, counted (its Lanes) where sets tell all that
    is asked. needed is None or (Axes, ClassNumbers, ReachRoom): then thresholds are taken of these numbers too. pruning
    is None or (Bounding, BoundRoom, Lanes): then subtrees and nodes that are beaten are left out. -1 says that out is
    too short, -2 that the walk was halted.
    """
    levels, first_column = prefix
    columns, losses = by_level
    keys, counts, sets, hists = tables.keys, tables.counts, tables.sets, tables.hists
    heights, bits, strides = columns.heights, columns.bits, columns.strides
    group_counts, merge_at, merges = columns.group_counts, columns.merge_at, columns.merges
    sums = losses.sums
    sizes, to, starts, halt, lane_bits = room.sizes, room.to, room.starts, room.halt, room.bits
    steps, failing, base = room.steps, room.failing, room.base
    thresholds, lost, more = steps.thresholds, steps.lost, steps.more
    labels, ints, reals = out.labels, out.ints, out.reals
    least = 0 if rule.number == NONE else max(rule.k, 1)
    innermost = keys.shape[0] - 1
    total_bits = np.int64(0)
    for a in range(heights.shape[0]):
        total_bits += bits[a]
    for a in range(first_column, heights.shape[0]):
        levels[a] = 0
    sizes[0] = keys.shape[1]
    used = np.int64(0)
    depth = 0
    if pruning is not None:
        bounding, bounds, lanes = pruning
        rest_bits = np.int64(0)
        for a in range(first_column, heights.shape[0]):
            rest_bits += bits[a]
        for m in range(bounds.low.shape[1]):
            bounds.low[0, m] = bounds.sure[0, m] = np.int64(-(2**63) + 1)
        bound_losses(first_column, levels, losses, bounding, bounds.low[0], bounds.sure[0])
        top = table_at(tables, 0)
        high = None if highs is None else highs[0]
        if is_hopeless(top, sizes[0], lane_bits[0], rest_bits, lanes, bounding, rule.rows, bounds, room, 0, high):
            return used
    while depth >= 0:
        if halt[0] != 0:
            return np.int64(-2)
        # Down: the same classes with the next column, at level 0, in the lowest field.
        beaten = False
        while depth < innermost:
            a = first_column + depth
            if pruning is not None:
                # What bounds the prefix bounds it with one more column too, and that column adds its loss.
                low, sure = bounds.low[depth + 1], bounds.sure[depth + 1]
                for m in range(low.shape[0]):
                    low[m], sure[m] = bounds.low[depth, m], bounds.sure[depth, m]
                bound_losses(a + 1, levels, losses, bounding, low, sure)
                if is_beaten(low, sure, bounding, bounds):
                    beaten = True
                    levels[a] = heights[a]  # higher levels lose more
                    break
            above = table_at(tables, depth)
            depth += 1
            below = table_at(tables, depth)
            high = None if highs is None else highs[depth]
            turning = None if highs is None else (highs[depth - 1], highs[depth])
            groups = group_counts[a, levels[a]]
            rotate(
                above, sizes[depth - 1], (bits[a], total_bits, groups), below, to, starts, questions, counted,
                lane_bits[depth - 1], levels[a] > 0, turning,
            )  # fmt: skip
            sizes[depth] = sizes[depth - 1]
            lane_bits[depth] = lane_bits[depth - 1]
            levels[a + 1] = 0
            if pruning is not None:
                rest_bits = np.int64(0)
                for c in range(a + 1, heights.shape[0]):
                    rest_bits += bits[c]
                if is_hopeless(
                    below, sizes[depth], lane_bits[depth], rest_bits, lanes, bounding, rule.rows, bounds, room, depth,
                    high,
                ):  # fmt: skip
                    beaten = True
                    depth -= 1
                    break
        if not beaten:
            # Count this node: the thresholds that its rule allows, and a row of statistics for each.
            size, key, rows = sizes[depth], keys[depth], counts[depth]
            high = None if highs is None else highs[depth]
            classes = Classes(rows, rows, sets[depth], hists[depth], size, lane_bits[depth])
            gone = np.int64(0)
            if counted is not None:
                if levels[first_column + depth] > 0:  # running sums
                    words = counted.word_at[lane_width(lane_bits[depth]), -1]
                    show_words(table_at(tables, depth), size, words, hists[depth + 1])
                    classes = Classes(rows, rows, sets[depth], hists[depth + 1], size, lane_bits[depth])
            if questions is not None:
                if rule.marked:
                    gone = mark_failing(
                        classes, least, questions.lanes, counted, questions.limits, rule.rows, rule.allowed, failing,
                        room.values, None,
                    )  # fmt: skip
            missed = Hiding(least, failing, rule.marked)
            n = 1
            thresholds[0] = least
            lost[0] = gone
            if rule.number == CAP_MAX_K or (rule.number == AS_NEEDED and gone <= rule.allowed):
                n = size_steps(rows, rows, size, missed, rule.allowed, steps)
                if rule.number == CAP_MAX_K:
                    thresholds[0], lost[0], n = thresholds[n - 1], lost[n - 1], 1
                elif not rule.by_size:
                    thresholds[0], n = least, 1
            elif rule.number == BELOW_K:
                for i in range(size):
                    lost[0] += rows[i] if rows[i] < least else 0
            marked, again, gone = rule.marked, False, lost[0]
            hopeless = rule.number == AS_NEEDED and gone > rule.allowed
            if needed is not None:
                axes, numbered, reach = needed
                again = not hopeless
                if again:
                    within, strictest = prepare_reach(
                        classes, missed, gone, n, rule, questions.lanes, counted, numbered, axes,
                        (room.values, None), reach, steps,
                    )  # fmt: skip
                    for i in range(0 if marked else size):
                        failing[i] = False
                    marked = True
                    lose_reach(key, high, classes, missed, gone, within, levels, columns, losses, reach, base)
            if not again and not hopeless:
                lose_steps(key, high, classes, missed, levels, columns, losses, n, steps)
            number = 0
            for c in range(levels.shape[0]):
                number += levels[c] * strides[c]
            if hopeless:  # whatever is suppressed beside, it misses the limit on rows: one row that says so
                if used == labels.shape[0]:
                    return np.int64(-1)
                labels[used, 0], labels[used, 1] = number, least
                for c in range(ints.shape[1]):
                    ints[used, c] = 1
                for c in range(reals.shape[1]):
                    reals[used, c] = 1.0
                ints[used, K], ints[used, SUPPRESSED] = np.int64(2**62), gone
                if pruning is None:
                    used += 1
                else:
                    bounds.seen[0] += 1
            first = not hopeless
            while first or again:
                if needed is not None:
                    if again:  # one combination of thresholds after the other
                        n = next_steps(classes, within, gone, strictest, rule, least, needed, failing, base, steps)
                if used + n > labels.shape[0]:
                    return np.int64(-1)
                for j in range(n):
                    row = ints[used]
                    labels[used, 0] = number
                    labels[used, 1] = thresholds[j]
                    hiding = Hiding(thresholds[j], failing, marked)
                    if sized is not None:
                        size_numbers(rows, rows, size, hiding, rule.risky_below, row)
                    else:
                        row[K] = thresholds[j]
                        row[CLASSES] = -1
                    row[SUPPRESSED] = lost[j]
                    for b in range(sums.shape[0]):
                        total = more[b, j]
                        for c in range(levels.shape[0]):
                            total += sums[b, c, levels[c]]
                        row[INTS + b] = total
                    if pruning is not None:
                        low, sure = bounds.low[depth + 1], bounds.sure[depth + 1]
                        for m in range(low.shape[0]):
                            low[m], sure[m] = bounds.low[depth, m], bounds.sure[depth, m]
                        node_keys(row, reals[used], bounding, rule.rows, False, low, sure)
                        bounds.seen[0] += first and j == 0
                        if is_beaten(low, sure, bounding, bounds):
                            continue
                    if questions is not None:
                        value_numbers(
                            classes, hiding, lost[j], questions.lanes, counted, questions.numbers, rule.rows,
                            room.values, None, reals[used],
                        )  # fmt: skip
                        if needed is not None:
                            for e in range(axes.places.shape[0]):
                                reals[used, axes.places[e]] = reach.worst[e, j]
                    if pruning is not None:
                        node_keys(row, reals[used], bounding, rule.rows, True, low, sure)
                        if is_beaten(low, sure, bounding, bounds):
                            continue
                    used += 1
                first = False
                if needed is not None:
                    if again:
                        again = next_combination(reach, axes, n >= 0)
        # Up: the deepest column that can still rise does, by one level; at the innermost depth that is the next node.
        while depth >= 0 and levels[first_column + depth] == heights[first_column + depth]:
            depth -= 1
        if depth >= 0:
            a = first_column + depth
            levels[a] += 1
            start = merge_at[a, levels[a]]
            merge = merges[start : start + group_counts[a, levels[a] - 1]]
            mask = (np.int64(1) << bits[a]) - 1
            high = None if highs is None else highs[depth]
            sizes[depth], lane_bits[depth] = raise_table(
                table_at(tables, depth), sizes[depth], mask, merge, to, questions, counted, lane_bits[depth],
                levels[a] > 1, high,
            )  # fmt: skip
    return used
