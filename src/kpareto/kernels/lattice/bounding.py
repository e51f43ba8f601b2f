"""What no refinement of a partial node can beat, for every objective that has a bound.

A partial node fixes the levels of the first columns of a walk. Its table has the other columns at the bottom, sorted so
that classes which agree on the fixed columns lie in one *run*. Every node below it lies between the two:

* it refines the runs. So its smallest class is no larger, no class of it has more values than the run around it, and
  one of its classes is as far from the table as the run is, unless rows of that run were suppressed. Only ``allowed``
  rows may be, all runs together;
* it is coarser than the table, so it has at least its minority and its squared class sizes;
* its losses are at least those of the fixed columns.

Objectives are compared by keys, whole numbers of which the lower is the better one: minus k, minus l, sums of losses,
and for real numbers their bits, which sort alike. Rounded keys may tie where bits do not, so a real number is surely
better only by more than a billionth (``sure``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpareto.kernels.class_sums import all_minorities
from kpareto.kernels.classes import lane_width, round_off, size_steps
from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.histograms import class_number, count_bits
from kpareto.kernels.records import Hiding
from kpareto.kernels.words import (
    ALPHA,
    BY_CLASS,
    BY_LOSS,
    BY_MINORITY,
    BY_SET,
    BY_SIZE,
    BY_SQUARES,
    ENTROPY,
    INTS,
    KEY_BITS,
    RECURSIVE,
    SQUARES,
    SUPPRESSED,
    T_EQUAL,
    T_ORDERED,
    K,
)


class Bounding(NamedTuple):
    """What a subtree is judged by: points that were reached, and how objectives and limits are bounded."""

    front: np.ndarray  # (points, objectives) int64, keys that were reached
    kinds: np.ndarray  # (terms,) int64, BY_SIZE, BY_LOSS, …
    owners: np.ndarray  # (terms,) int64, the objective or, behind these, the limit that the term belongs to
    columns: np.ndarray  # (terms,) int64, which loss, or which sensitive or target column
    numbers: np.ndarray  # (terms,) int64, which histogram number a node has for the term
    class_kinds: np.ndarray  # (terms,) int64, the kind of class number, T_EQUAL, …
    parameters: np.ndarray  # (terms,) float64, of that number; of a loss the bits by which its sums are rounded off
    most: np.ndarray  # (objectives + limits,) int64, nodes with a larger key do not count
    allowed: int  # rows that may be suppressed at the most
    up_to_k: bool  # only classes smaller than the smallest released one are suppressed (cap-max-k)


class BoundRoom(NamedTuple):
    """Room for judging partial nodes."""

    starts: np.ndarray  # (classes + 1,) int64, the first class of each run
    counts: np.ndarray  # (classes,) int64, its rows
    tally: np.ndarray  # (most values + 2,) int64, rows in runs with so many values
    numbers: np.ndarray  # (classes,) float64, the number of each run
    stubborn: np.ndarray  # (classes,) float64, what it can fall to (see stubborn_share)
    low: np.ndarray  # (depths + 2, objectives + limits) int64, keys that nothing below the prefix at a depth beats
    sure: np.ndarray  # (depths + 2, objectives + limits) int64, the same a hair lower for real numbers
    seen: np.ndarray  # (2,) int64, nodes and partial nodes counted, and the point that beat the last one


@compiled
def real_key(value, higher, slack):
    """A real number of at least 0 as a whole number that sorts alike, lower being better; slack makes it better."""
    if higher:
        return -np.float64(value * (1.0 + slack)).view(np.int64)
    return np.float64(value * (1.0 - slack)).view(np.int64)


@compiled
def find_runs(table, size, rest_bits, room, highs):
    """The runs of classes that agree in the fields above ``rest_bits``; fills starts and counts, returns how many."""
    keys, counts = table.keys, table.counts
    starts, totals = room.starts, room.counts
    if highs is not None:
        mark_above(keys, highs, size, rest_bits, starts)
    n = -1
    last = np.int64(-1)
    for i in range(size):
        if highs is None:
            prefix = keys[i] >> rest_bits
            begins = prefix != last
        else:
            prefix = last
            begins = i == 0 or starts[i] != 0
        if begins:
            n += 1
            starts[n] = i  # behind what is still to be looked at
            totals[n] = 0
            last = prefix
        totals[n] += counts[i]
    starts[n + 1] = size
    return n + 1


@compiled
def mark_above(keys, highs, size, rest_bits, changes):
    """Where a key in several words differs above ``rest_bits`` from the one before: (size,) int64, 0 where not."""
    first, inside = rest_bits // KEY_BITS, rest_bits % KEY_BITS
    for i in range(size):
        changes[i] = 0
    for w in range(first, highs.shape[0] + 1):
        row, below = keys if w == 0 else highs[w - 1], inside if w == first else 0
        for i in range(1, size):
            changes[i] |= (row[i] ^ row[i - 1]) >> below


@compiled
def most_values(table, runs, lanes, column, allowed, room):
    """The largest l such that runs with fewer values hold at most ``allowed`` rows."""
    sets, starts, counts, tally = table.sets, room.starts, room.counts, room.tally
    first, words, shift = lanes.set_at[column, 0], lanes.set_at[column, 1], lanes.set_at[column, 2]
    values = lanes.value_at[column + 1] - lanes.value_at[column]
    mask = (np.int64(1) << values) - 1 if values < 64 else np.int64(-1)
    for v in range(values + 2):
        tally[v] = 0
    for r in range(runs):
        seen = np.int64(0)
        for w in range(first, first + words):
            members = np.int64(0)
            for i in range(starts[r], starts[r + 1]):
                members |= sets[w, i]
            seen += count_bits((members >> shift) & mask if words == 1 else members)
        tally[seen] += counts[r]
    fewer = np.int64(0)
    for v in range(values + 1):
        fewer += tally[v]
        if fewer > allowed:
            return np.int64(v)
    return values


@compiled
def run_histogram(table, bits, first, last, word_at, per_run, values):
    """The histogram of a run of classes, first … last; added packed where ``per_run`` rows fit into a lane."""
    hists = table.hists
    count = values.shape[0]
    if bits == 64 or per_run >> bits == 0:
        mask = (np.int64(1) << bits) - 1 if bits < 64 else np.int64(-1)
        per_word = 64 // bits
        v = 0
        w = word_at
        while v < count:
            word = np.int64(0)
            for i in range(first, last):
                word += hists[w, i]
            for lane in range(min(per_word, count - v)):
                values[v] = (word >> (lane * bits)) & mask
                v += 1
            w += 1
        return
    mask = (np.int64(1) << bits) - 1
    per_word = 64 // bits
    for v in range(count):
        shift = v % per_word * bits
        row = hists[word_at + v // per_word]
        total = np.int64(0)
        for i in range(first, last):
            total += (row[i] >> shift) & mask
        values[v] = total


@inner
def stubborn_share(kind, values, count, totals, rows, number):
    """The least that a number of a class can fall to, however many of its rows go, as long as some stay.

    With equal distances a class that has only values of which it has too many stays as far away as it is. Otherwise
    its distance can fall, and (x - y) / (c - y) of its rows must go until it is y, where c is this answer.
    """
    if kind == ALPHA:
        return 1.0
    if kind != T_EQUAL:
        return np.inf
    here, everywhere = np.int64(0), np.int64(0)
    for v in range(totals.shape[0]):
        if float(values[v]) * float(rows) > float(totals[v]) * float(count):
            here += values[v]
            everywhere += totals[v]
    return number if here == count else 1.0 - float(everywhere) / float(rows)


@inner
def rows_to_go(runs, room, number):
    """How many rows must go at the least, all runs together, until none is worse than a number."""
    counts, numbers, stubborn = room.counts, room.numbers, room.stubborn
    total = 0.0
    for r in range(runs):
        if numbers[r] > number:
            share = numbers[r] - number
            if stubborn[r] <= numbers[r]:
                share = 1.0
            elif stubborn[r] < np.inf:
                share /= stubborn[r] - number
            total += float(counts[r]) * share
    return total


@inner
def least_number(runs, room, allowed):
    """The least that the worst class can come to when ``allowed`` rows may go: by halving, then exactly at a step."""
    counts, numbers, stubborn = room.counts, room.numbers, room.stubborn
    low, high = 0.0, 0.0
    for r in range(runs):
        high = max(high, numbers[r])
    if rows_to_go(runs, room, low) <= allowed + 1e-6:
        return 0.0
    for _ in range(10):
        middle = 0.5 * (low + high)
        if rows_to_go(runs, room, middle) > allowed + 1e-6:
            low = middle
        else:
            high = middle
    step = np.inf
    for r in range(runs):
        if numbers[r] > low:
            step = min(step, numbers[r])
    total = 0.0  # rows that must go until none is worse than a number a hair below the step
    for r in range(runs):
        if numbers[r] > low:
            share = numbers[r] - step
            if stubborn[r] <= numbers[r]:
                share = 1.0
            elif stubborn[r] < np.inf:
                share /= stubborn[r] - step
            total += float(counts[r]) * share
    return step if total > allowed + 1e-6 else low


@compiled
def class_bound(table, bits, runs, lanes, term, bounding, allowed, rows, room, values):
    """The number that one class of every node below has at the least (entropy: at the most), see the top of the file.

    With rows that may be suppressed: to bring a run of s rows from x to y takes at least s (x - y) / (c - y) of them,
    so y is too small where these add up to more than are allowed.
    """
    column, kind = bounding.columns[term], bounding.class_kinds[term]
    word_at = lanes.word_at[lane_width(bits), column]
    totals = lanes.totals[lanes.value_at[column] : lanes.value_at[column + 1]]
    starts, counts = room.starts, room.counts
    worst = np.inf if kind == ENTROPY else 0.0
    for r in range(runs):
        run_histogram(table, bits, starts[r], starts[r + 1], word_at, counts[r], values[: totals.shape[0]])
        number = class_number(kind, values, counts[r], totals, rows, bounding.parameters[term])
        if allowed == 0:
            worst = min(worst, number) if kind == ENTROPY else max(worst, number)
        else:
            room.numbers[r] = number
            room.stubborn[r] = stubborn_share(kind, values, counts[r], totals, rows, number)
    if kind == ENTROPY:
        return worst * (1.0 + 1e-12)  # logarithms are rounded
    if allowed > 0:
        worst = least_number(runs, room, float(allowed))
    # Ratios of whole numbers are rounded alike in a class and in a run around it, so that equal ones stay equal.
    exact = kind == T_EQUAL or kind == T_ORDERED or kind == ALPHA or kind == RECURSIVE
    return worst if exact and rows < 2**26 else worst * (1.0 - 1e-12)


@inner
def bound_losses(columns_fixed, levels, losses, bounding, low, sure):
    """Losses of the fixed columns into the keys; the others may stay at the bottom."""
    sums, rest = losses.sums, losses.rest
    for term in range(bounding.kinds.shape[0]):
        if bounding.kinds[term] == BY_LOSS:
            b = bounding.columns[term]
            total = rest[b, columns_fixed]
            for c in range(columns_fixed):
                total += sums[b, c, levels[c]]
            total = round_off(total, np.int64(bounding.parameters[term]))
            owner = bounding.owners[term]
            low[owner] = max(low[owner], total)
            sure[owner] = low[owner]


@inner
def bound_sizes(table, size, runs, lanes, bounding, room, walk_room, low, sure):
    """What class sizes and sets tell of all nodes below, into the keys; returns how many rows these can suppress."""
    k = np.int64(0)
    allowed = bounding.allowed
    for term in range(bounding.kinds.shape[0]):
        kind, owner = bounding.kinds[term], bounding.owners[term]
        if k == 0 and (kind == BY_SIZE or kind == BY_SET or kind == BY_CLASS):
            shown = Hiding(1, walk_room.failing, False)
            last = size_steps(room.counts, room.counts, runs, shown, bounding.allowed, walk_room.steps) - 1
            k = walk_room.steps.thresholds[last]
            if bounding.up_to_k and k == 1:
                allowed = 0  # no class is smaller than that
        key = low[owner]
        if kind == BY_SIZE:
            key = -k
        elif kind == BY_SET:
            if lanes is not None:
                key = -most_values(table, runs, lanes, bounding.columns[term], allowed, room)
        elif kind == BY_SQUARES:
            key = np.int64(0)
            for i in range(size):
                key += table.counts[i] * table.counts[i]
        else:
            continue
        if key > low[owner]:
            low[owner] = key
            sure[owner] = key
    return allowed


@compiled
def bound_values(table, size, bits, runs, lanes, bounding, allowed, rows, room, walk_room, low, sure):
    """What histograms tell of all nodes below, into the keys."""
    for term in range(bounding.kinds.shape[0]):
        kind, owner = bounding.kinds[term], bounding.owners[term]
        if kind == BY_MINORITY:
            column = bounding.columns[term]
            word_at = lanes.word_at[lane_width(bits)]
            first, words = word_at[column], word_at[column + 1] - word_at[column]
            key = all_minorities(table.counts, table.hists, size, first, words, bits)
            if key > low[owner]:
                low[owner] = key
                sure[owner] = key
        elif kind == BY_CLASS:
            number = class_bound(table, bits, runs, lanes, term, bounding, allowed, rows, room, walk_room.values)
            higher = bounding.class_kinds[term] == ENTROPY
            low[owner] = max(low[owner], real_key(number, higher, 0.0))
            sure[owner] = max(sure[owner], real_key(number, higher, 1e-9))


@compiled
def is_beaten(low, sure, bounding, room):
    """Whether the keys pass a limit, or a point of the front is nowhere worse and surely better somewhere."""
    front, most = bounding.front, bounding.most
    for m in range(most.shape[0]):
        if low[m] > most[m]:
            return True
    points, objectives = front.shape
    last = room.seen[1]
    for step in range(points):
        j = last + step
        if j >= points:
            j -= points
        worse = True
        better = False
        for m in range(objectives):
            if front[j, m] > low[m]:
                worse = False
                break
            better = better or front[j, m] < sure[m]
        if worse and better:
            room.seen[1] = j
            return True
    return False


@compiled
def is_hopeless(table, size, bits, rest_bits, lanes, bounding, rows, room, walk_room, depth, highs):
    """Whether no node below a partial node counts; its keys go to low and sure at ``depth``, which hold its losses.

    Histograms are only looked at where sizes, sets and losses do not tell. lanes is None where nothing is asked of
    values, and nothing of it is compiled.
    """
    low, sure = room.low[depth], room.sure[depth]
    runs = find_runs(table, size, rest_bits, room, highs)
    room.seen[0] += 1
    allowed = bound_sizes(table, size, runs, lanes, bounding, room, walk_room, low, sure)
    if is_beaten(low, sure, bounding, room):
        return True
    if lanes is not None:
        bound_values(table, size, bits, runs, lanes, bounding, allowed, rows, room, walk_room, low, sure)
        return is_beaten(low, sure, bounding, room)
    return False


@inner
def node_keys(ints, reals, bounding, rows, with_values, low, sure):
    """The keys of a node itself, from its statistics; without its values, the bounds on these stay as they are."""
    for term in range(bounding.kinds.shape[0]):
        kind, owner, place = bounding.kinds[term], bounding.owners[term], bounding.numbers[term]
        if kind == BY_SIZE:
            key = -ints[K]
        elif kind == BY_LOSS:
            key = round_off(ints[INTS + bounding.columns[term]], np.int64(bounding.parameters[term]))
        elif kind == BY_SQUARES:
            key = ints[SQUARES] + rows * ints[SUPPRESSED]
        elif not with_values or place < 0:  # limits on classes have no number of their own
            continue
        elif kind == BY_SET:
            key = -np.int64(reals[place]) if reals[place] < 2.0**62 else -np.int64(2**62)
        elif kind == BY_MINORITY:
            key = np.int64(reals[place]) + ints[SUPPRESSED]
        else:
            higher = bounding.class_kinds[term] == ENTROPY
            low[owner] = max(low[owner], real_key(reals[place], higher, 0.0))
            sure[owner] = max(sure[owner], real_key(reals[place], higher, 1e-9))
            continue
        if key > low[owner]:
            low[owner] = key
            sure[owner] = key
