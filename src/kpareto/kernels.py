"""ALL compiled loops: arrays in, arrays out. Each has a slow twin in the tests.

Words used here. A *class table* is three arrays that belong together: ``keys`` (a class's groups packed into one
integer, one bit field per column), ``counts`` (its rows) and ``hists`` (rows per sensitive and target value, several
counts packed into one word, so that merging two classes adds a few words). Keys are always in rising order. Raising
the level of the column in the lowest field keeps that order, because the groups of a level are numbered in leaf order;
so merging classes is one linear scan. Rotating moves the lowest field to the top with one counting sort, which makes
the next column the lowest. The lattice is walked depth first that way: a node's classes come from a finer table that
was already counted, never from the rows again.

Everything sits in this one file because numba's cache does not notice an edit in another file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

# How every loop is compiled. Nobody calls them from C, and the entries for it would take time to compile.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
compiled = njit(**OPTIONS)

# Suppression rules (SPEC A.0.5), in the order of partition.RULES.
NONE, BELOW_K, CAP_MAX_K, CAP_THRESHOLD, CONSTRAINT = range(5)

# Whole-number statistics of a node: the first columns of ``ints``; one column per cell loss follows.
K, SUPPRESSED, CLASSES, LARGEST, SQUARES, UNIQUES, RISKY = range(7)
INTS = 7

# Numbers about one class that come from a histogram: the worst visible class counts. DISTINCT and ENTROPY are better
# higher, the others better lower. MINORITY and OWN are sums over classes instead of a worst case.
DISTINCT, ENTROPY, T_EQUAL, T_ORDERED, ALPHA, BETA, ENHANCED_BETA, DELTA, RECURSIVE, MINORITY, OWN = range(11)


@compiled
def raise_last(keys, counts, hists, size, mask, merge, to):
    """Raise the column in the lowest field by one level, in place; returns the new number of classes.

    merge: (groups below,) int64, the group of the level above for each group; to: room for ``size`` places.
    Whether two neighbours merge is a coin toss that no branch predictor can guess, so nothing here branches. Indices
    are unsigned, which spares the check for negative ones: 4 x faster in this loop.
    """
    if size == 0:
        return 0
    keep = ~mask
    zero = np.uint64(0)
    one = np.uint64(1)
    written = zero
    last = (keys[0] & keep) | merge[np.uint64(keys[0] & mask)]
    total = counts[0]
    keys[0] = last
    words = hists.shape[0]
    for i in range(one, np.uint64(size)):
        word = keys[i]
        key = (word & keep) | merge[np.uint64(word & mask)]
        same = key == last
        total = total + counts[i] if same else counts[i]
        written += zero if same else one
        last = key
        keys[written] = key
        counts[written] = total
        if words:
            to[i] = written
    for w in range(words):
        hist = hists[w]
        packed = hist[0]
        before = zero
        for i in range(one, np.uint64(size)):
            here = to[i]
            packed = packed + hist[i] if here == before else hist[i]
            before = here
            hist[here] = packed
    return np.int64(written) + 1


@compiled
def rotate(keys, counts, hists, size, bits, total_bits, groups, out_keys, out_counts, out_hists, to, place):
    """Move the lowest field (``bits`` wide, ``groups`` values) to the top by a stable counting sort.

    to: room for ``size`` places; place: room for one more than ``groups``, uint64 both.
    """
    mask = (np.int64(1) << bits) - 1
    shift = total_bits - bits
    one = np.uint64(1)
    words = hists.shape[0]
    for g in range(groups + 1):
        place[g] = 0
    for i in range(np.uint64(size)):
        place[np.uint64(keys[i] & mask) + one] += one
    for g in range(groups):
        place[g + 1] += place[g]
    for i in range(np.uint64(size)):
        word = keys[i]
        group = word & mask
        at = place[np.uint64(group)]
        place[np.uint64(group)] = at + one
        out_keys[at] = (word >> bits) | (group << shift)
        out_counts[at] = counts[i]
        if words:
            to[i] = at
    for w in range(words):
        hist = hists[w]
        out = out_hists[w]
        for i in range(np.uint64(size)):
            out[to[i]] = hist[i]


@compiled
def unpack(hists, i, first, values, lane_bits, out):
    """The histogram of class i: ``values`` counts from packed word ``first`` on, into out."""
    mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    word, shift = first, 0
    for v in range(values):
        out[v] = (hists[word, i] >> shift) & mask
        shift += lane_bits
        if shift == 64:
            word, shift = word + 1, 0


@compiled
def class_number(kind, hist, size, totals, rows, parameter):
    """One number about one class from its histogram (values,); definitions in privacy.py and SPEC C.2."""
    values = totals.shape[0]
    if kind == DISTINCT:
        seen = 0
        for v in range(values):
            if hist[v] > 0:
                seen += 1
        return float(seen)
    if kind == ALPHA:
        most = np.int64(0)
        for v in range(values):
            most = max(most, hist[v])
        return most / size
    if kind == ENTROPY:
        entropy = 0.0
        for v in range(values):
            if hist[v] > 0:
                share = hist[v] / size
                entropy -= share * math.log(share)
        return math.exp(entropy)
    if kind == T_EQUAL:
        total = np.int64(0)
        for v in range(values):
            total += abs(hist[v] * rows - totals[v] * size)
        return total / (2.0 * float(rows) * float(size))
    if kind == T_ORDERED:
        moved = 0.0
        ahead = np.int64(0)
        for v in range(values):
            ahead += hist[v] * rows - totals[v] * size
            moved += abs(ahead)
        steps = max(values - 1, 1)
        return moved / (float(steps) * float(rows) * float(size))
    if kind == RECURSIVE:
        return recursive_number(hist[:values], int(parameter))
    worst = 0.0
    for v in range(values):
        if hist[v] == 0:  # delta ignores values that a class lacks, and no other gain is positive there
            continue
        here = hist[v] / size
        all_rows = totals[v] / rows
        if kind == DELTA:
            gain = abs(math.log(here / all_rows))
        else:
            gain = (here - all_rows) / all_rows
            if kind == ENHANCED_BETA:
                gain = math.inf if gain > 1e-12 - math.log(all_rows) else gain
        worst = max(worst, gain)
    return worst


@compiled
def recursive_number(hist, l_wanted):
    """The smallest c for which the class is recursive (c, l)-diverse: r_1 / (r_l + … + r_m); infinite if m < l."""
    values = hist.shape[0]
    ranked = np.zeros(values, dtype=np.int64)
    for v in range(values):  # by insertion, largest first: few values, and np.sort takes seconds to compile
        place = v
        while place > 0 and ranked[place - 1] < hist[v]:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = hist[v]
    tail = 0.0
    for v in range(l_wanted - 1, values):
        tail += ranked[v]
    return ranked[0] / tail if tail > 0 else math.inf


@compiled
def is_worse(kind, number, limit):
    """Whether a class number misses its limit; a hair of slack so that 1/3 does not fail its own limit."""
    slack = 1e-12 * max(1.0, abs(limit))
    if kind == DISTINCT or kind == ENTROPY:
        return number < limit - slack
    return number > limit + slack


@compiled
def size_thresholds(counts, size, allowed, found, lost, small, every):
    """Admissible class-size thresholds (SPEC cap-threshold): fills found and lost, returns how many.

    With every=False only the largest threshold is kept (cap-max-k). small: (allowed + 1,) int64, room.
    """
    smallest = counts[0]
    for i in range(1, size):
        if counts[i] < smallest:
            smallest = counts[i]
    if smallest > allowed:
        found[0] = smallest
        lost[0] = 0
        return 1
    if smallest == 1 and not every:
        ones = 0
        for i in range(size):
            ones += counts[i] == 1
        if ones > allowed:
            found[0] = 1
            lost[0] = 0
            return 1
    for z in range(allowed + 1):
        small[z] = 0
    above = np.int64(2**62)
    for i in range(size):
        if counts[i] <= allowed:
            small[counts[i]] += counts[i]
        elif counts[i] < above:
            above = counts[i]
    total = 0
    n = 0
    for z in range(1, allowed + 1):
        if small[z] == 0:
            continue
        found[n] = z
        lost[n] = total
        total += small[z]
        if total > allowed:
            break
        n += 1
    if total <= allowed:
        found[n] = above
        lost[n] = total
    if every:
        return n + 1
    found[0] = found[n]
    lost[0] = lost[n]
    return 1


@compiled
def mark_failing(
    sizes, counts, hists, size, lane_bits, limit_kinds, limit_segments, limits, segments, first_words, totals, rows,
    failing, room,
):  # fmt: skip
    """The rule constraint: failing[i] = 1 where class i misses a limit; kind -1 is the limit on class size."""
    lost = 0
    for i in range(size):
        bad = False
        for j in range(limit_kinds.shape[0]):
            kind = limit_kinds[j]
            if kind == -1:
                bad = sizes[i] < limits[j, 0]
            else:
                segment = limit_segments[j]
                whole = totals[segments[segment] : segments[segment + 1]]
                unpack(hists, i, first_words[segment], whole.shape[0], lane_bits, room)
                number = class_number(kind, room, counts[i], whole, rows, limits[j, 1])
                bad = is_worse(kind, number, limits[j, 0])
            if bad:
                break
        failing[i] = bad
        if bad:
            lost += counts[i]
    return lost


@compiled
def size_numbers(sizes, counts, size, threshold, failing, marked, risky_below, out):
    """Fill the statistics that need class sizes only, and k, into out (one row of ints).

    sizes and counts are the same array unless persons are told apart: then sizes counts persons, counts rows.
    """
    smallest = np.int64(2**62)
    largest = np.int64(0)
    squares = np.int64(0)
    kept = 0
    uniques = np.int64(0)
    risky = np.int64(0)
    for i in range(size):
        persons = sizes[i]
        if (marked and failing[i]) or persons < threshold:
            continue
        rows = counts[i]
        kept += 1
        squares += rows * rows
        smallest = min(smallest, persons)
        largest = max(largest, persons)
        uniques += rows if persons == 1 else 0
        risky += rows if persons < risky_below else 0
    out[K] = smallest
    out[CLASSES] = kept
    out[LARGEST] = largest
    out[SQUARES] = squares
    out[UNIQUES] = uniques
    out[RISKY] = risky


@compiled
def lane_number(kind, word, lane_bits, most):
    """OWN: the sum of the squared lanes of a packed word; else the larger of ``most`` and its largest lane."""
    if lane_bits == 16:  # the loop below, unrolled, so that it is vectorized over classes
        a, b, c, d = word & 0xFFFF, (word >> 16) & 0xFFFF, (word >> 32) & 0xFFFF, (word >> 48) & 0xFFFF
        return a * a + b * b + c * c + d * d if kind == OWN else max(most, a, b, c, d)
    mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    value = np.int64(0) if kind == OWN else most
    for lane in range(64 // lane_bits):
        x = (word >> (lane * lane_bits)) & mask
        value = value + x * x if kind == OWN else max(value, x)
    return value


@compiled
def own_sum(hists, size, first, words, lane_bits):
    """The sum of squared counts over all classes."""
    value = np.int64(0)
    for w in range(first, first + words):
        hist = hists[w]
        if lane_bits == 16:
            for i in range(size):
                word = hist[i]
                a, b, c, d = word & 0xFFFF, (word >> 16) & 0xFFFF, (word >> 32) & 0xFFFF, (word >> 48) & 0xFFFF
                value += a * a + b * b + c * c + d * d
        else:
            for i in range(size):
                value += lane_number(OWN, hist[i], lane_bits, np.int64(0))
    return value


@compiled
def minority_sum(counts, hists, size, first, words, lane_bits):
    """The rows outside their class's majority, over all classes."""
    value = np.int64(0)
    if lane_bits == 16 and words == 1:  # up to four values: nothing to remember between words
        hist = hists[first]
        for i in range(size):
            word = hist[i]
            a, b, c, d = word & 0xFFFF, (word >> 16) & 0xFFFF, (word >> 32) & 0xFFFF, (word >> 48) & 0xFFFF
            value += counts[i] - max(a, b, c, d)
        return value
    block = 256  # classes whose majorities stay in the first cache
    most = np.zeros(block, dtype=np.int64)
    for start in range(0, size, block):
        here = min(block, size - start)
        most[:] = 0
        for w in range(first, first + words):
            hist = hists[w, start : start + here]
            if lane_bits == 16:
                for i in range(here):
                    word = hist[i]
                    a, b, c, d = word & 0xFFFF, (word >> 16) & 0xFFFF, (word >> 32) & 0xFFFF, (word >> 48) & 0xFFFF
                    most[i] = max(most[i], a, b, c, d)
            else:
                for i in range(here):
                    most[i] = lane_number(MINORITY, hist[i], lane_bits, most[i])
        for i in range(here):
            value += counts[start + i] - most[i]
    return value


@compiled
def class_sum(kind, hists, i, count, first, words, lane_bits):
    """OWN or MINORITY of one class."""
    value = np.int64(0)
    for w in range(first, first + words):
        part = lane_number(kind, hists[w, i], lane_bits, value)
        value = value + part if kind == OWN else part
    return value if kind == OWN else count - value


@compiled
def hist_sum(kind, sizes, counts, hists, size, threshold, failing, marked, lost, first, words, lane_bits):
    """The sum over visible classes of MINORITY (rows outside the majority) or OWN (squared counts)."""
    value = np.int64(0)
    if kind == OWN:
        value = own_sum(hists, size, first, words, lane_bits)
    else:
        value = minority_sum(counts, hists, size, first, words, lane_bits)
    if lost > 0:
        for i in range(size):
            if (marked and failing[i]) or sizes[i] < threshold:
                value -= class_sum(kind, hists, i, counts[i], first, words, lane_bits)
    return float(value)


@compiled
def worst_equal(sizes, counts, hists, size, threshold, failing, marked, first, words, totals, rows, stop):
    """T_EQUAL of the worst visible class, classes side by side; lanes of 16 bits, so that every product is exact."""
    block = 256  # classes whose sums stay in the first cache
    far = np.zeros(block, dtype=np.float64)
    shares = np.zeros(4 * words, dtype=np.float64)
    for v in range(totals.shape[0]):
        shares[v] = totals[v]
    whole = float(rows)
    value = 0.0
    for start in range(0, size, block):
        here = min(block, size - start)
        far[:] = 0.0
        part = counts[start : start + here]
        for w in range(words):
            hist = hists[first + w, start : start + here]
            p, q, r, s = shares[4 * w], shares[4 * w + 1], shares[4 * w + 2], shares[4 * w + 3]
            for i in range(here):
                word = hist[i]
                n = float(part[i])
                a, b = float(word & 0xFFFF), float((word >> 16) & 0xFFFF)
                c, d = float((word >> 32) & 0xFFFF), float((word >> 48) & 0xFFFF)
                far[i] += (
                    abs(a * whole - p * n) + abs(b * whole - q * n) + abs(c * whole - r * n) + abs(d * whole - s * n)
                )
        for i in range(here):
            if (marked and failing[start + i]) or sizes[start + i] < threshold:
                continue
            number = far[i] / (2.0 * whole * float(part[i]))
            if number > value:
                value = number
                if value >= stop:
                    return value
    return value


@compiled
def hist_numbers(
    sizes, counts, hists, size, threshold, failing, marked, lost, lane_bits, kinds, which, parameters, stops, segments,
    first_words, totals, rows, room, out,
):  # fmt: skip
    """Fill one number per histogram statistic into out: the worst visible class, or the sum over them.

    stops: (numbers,) float64, the worst any class can be (a class of one row); the scan ends when it is reached.
    """
    for j in range(kinds.shape[0]):
        kind = kinds[j]
        segment = which[j]
        whole = totals[segments[segment] : segments[segment + 1]]
        first = first_words[segment]
        if kind == MINORITY or kind == OWN:
            words = first_words[segment + 1] - first
            out[j] = hist_sum(
                kind, sizes, counts, hists, size, threshold, failing, marked, lost, first, words, lane_bits
            )
            continue
        if kind == T_EQUAL and lane_bits == 16:
            words = first_words[segment + 1] - first
            out[j] = worst_equal(
                sizes, counts, hists, size, threshold, failing, marked, first, words, whole, rows, stops[j]
            )
            continue
        rises = kind == DISTINCT or kind == ENTROPY
        value = math.inf if rises else 0.0
        for i in range(size):
            if (marked and failing[i]) or sizes[i] < threshold:
                continue
            unpack(hists, i, first, whole.shape[0], lane_bits, room)
            number = class_number(kind, room, counts[i], whole, rows, parameters[j])
            if rises:
                if number < value:
                    value = number
                    if value <= stops[j]:
                        break
            elif number > value:
                value = number
                if value >= stops[j]:
                    break
        out[j] = value


@compiled
def grown_ints(rows, used):
    """The same rows with twice the room. Loops, because numba compiles a slice assignment for seconds."""
    bigger = np.zeros((max(2 * rows.shape[0], 64), rows.shape[1]), dtype=rows.dtype)
    for i in range(used):
        for j in range(rows.shape[1]):
            bigger[i, j] = rows[i, j]
    return bigger


@compiled
def walk(
    tables,  # keys (depths, classes) int64, counts (depths, classes) int64, hists (depths, words, classes) int64
    levels,  # (columns,) int64, fixed for columns before first_column; the walk visits all levels of the others
    first_column,
    heights,  # (columns,) int64, highest level
    bits,  # (columns,) int64, width of each field
    shifts,  # (columns,) int64, where each field lies at the innermost depth
    merge_at,  # (columns, most levels) int64, where the map from level - 1 to level starts in merges
    merges,  # (…,) int64, group -> group one level up
    group_counts,  # (columns, most levels) int64
    strides,  # (columns,) int64, node number = sum of level * stride
    rule,
    threshold_given,  # below-k
    allowed,  # rows that may be suppressed
    cells_at,  # (columns, most levels) int64, where the groups of (column, level) start in cells
    cells,  # (losses, …) int64, cell loss of each group
    cell_sums,  # (losses, columns, most levels) int64, over all rows
    cell_lost,  # (losses, columns) int64, the loss of a suppressed cell
    rows,
    sizes_wanted,
    risky_below,
    asked,  # what is asked of the histograms, and the limits (see rollup.Histograms); None compiles without them
    room,  # eight arrays, see rollup._Plan._room
    labels,  # (most, 2) int64, filled: node number, threshold
    ints,  # (most, INTS + losses) int64, filled
    reals,  # (most, numbers) float64, filled
):
    """Visit every node below a prefix of levels; fills labels, ints and reals, and returns how many rows of them.

    A negative answer says that there was no room for all rows. The tables at depth 0 are those of the prefix, keys in
    rising order, with column first_column at level 0 in the lowest field; at the other depths is room. Nothing is
    allocated here, because each kind of allocation takes a fifth of a second to compile.
    """
    table_keys, table_counts, table_hists = tables
    to, starts, small, found, lost, failing, sizes, values = room
    if asked is not None:
        lane_bits, segments, first_words, totals = asked[0]
        kinds, which, parameters, stops = asked[1]
        limit_kinds, limit_segments, limits = asked[2]
    columns = heights.shape[0]
    depth_count = table_keys.shape[0]
    losses = cells.shape[0]
    total_bits = np.int64(0)
    for a in range(columns):
        total_bits += bits[a]
    level = levels
    used = np.int64(0)
    sizes[0] = table_keys.shape[1]
    for a in range(first_column, columns):
        level[a] = 0
    depth = 0
    while depth >= 0:
        a = first_column + depth
        if depth < depth_count - 1:
            rotate(
                table_keys[depth], table_counts[depth], table_hists[depth], sizes[depth], bits[a], total_bits,
                group_counts[a, level[a]], table_keys[depth + 1], table_counts[depth + 1], table_hists[depth + 1],
                to, starts,
            )  # fmt: skip
            sizes[depth + 1] = sizes[depth]
            level[a + 1] = 0
            depth += 1
            continue
        while True:  # every level of the innermost column
            size = sizes[depth]
            here = table_counts[depth]
            hist = table_hists[depth]
            marked = rule == CONSTRAINT
            n = 1
            lost[0] = 0
            found[0] = 0
            if rule == BELOW_K:
                found[0] = threshold_given
            elif rule == CAP_MAX_K or rule == CAP_THRESHOLD:
                n = size_thresholds(here, size, allowed, found, lost, small, rule == CAP_THRESHOLD)
            if asked is not None:
                if marked:
                    lost[0] = mark_failing(
                        here, here, hist, size, lane_bits, limit_kinds, limit_segments, limits, segments, first_words,
                        totals, rows, failing, values,
                    )  # fmt: skip
            if used + n > labels.shape[0]:
                return np.int64(-1)
            number = 0
            for b in range(columns):
                number += level[b] * strides[b]
            for j in range(n):
                row = ints[used]
                z = found[j]
                labels[used, 0] = number
                labels[used, 1] = z
                if sizes_wanted or rule == NONE or rule == BELOW_K or rule == CONSTRAINT:
                    size_numbers(here, here, size, z, failing, marked, risky_below, row)
                else:
                    row[K] = z
                    row[CLASSES] = -1
                if rule == BELOW_K:
                    lost[0] = 0
                    for i in range(size):
                        if here[i] < z:
                            lost[0] += here[i]
                row[SUPPRESSED] = lost[j]
                for b in range(losses):
                    total = 0
                    for c in range(columns):
                        total += cell_sums[b, c, level[c]]
                    row[INTS + b] = total
                if lost[j] > 0 and losses > 0:
                    key = table_keys[depth]
                    for i in range(size):
                        if (marked and failing[i]) or here[i] < z:
                            for c in range(columns):
                                group = (key[i] >> shifts[c]) & ((np.int64(1) << bits[c]) - 1)
                                place = cells_at[c, level[c]] + group
                                for b in range(losses):
                                    row[INTS + b] += here[i] * (cell_lost[b, c] - cells[b, place])
                if asked is not None:
                    hist_numbers(
                        here, here, hist, size, z, failing, marked, lost[j], lane_bits, kinds, which, parameters, stops,
                        segments, first_words, totals, rows, values, reals[used],
                    )  # fmt: skip
                used += 1
            if level[a] == heights[a]:
                break
            level[a] += 1
            start = merge_at[a, level[a]]
            sizes[depth] = raise_last(
                table_keys[depth], here, hist, size, (np.int64(1) << bits[a]) - 1,
                merges[start : start + group_counts[a, level[a] - 1]], to,
            )  # fmt: skip
        # Climb to the deepest column that can still rise.
        depth -= 1
        while depth >= 0 and level[first_column + depth] == heights[first_column + depth]:
            depth -= 1
        if depth >= 0:
            a = first_column + depth
            level[a] += 1
            start = merge_at[a, level[a]]
            sizes[depth] = raise_last(
                table_keys[depth], table_counts[depth], table_hists[depth], sizes[depth],
                (np.int64(1) << bits[a]) - 1, merges[start : start + group_counts[a, level[a] - 1]], to,
            )  # fmt: skip
    return used


@compiled
def hashed(key):
    """Spread the bits of a key (the finalizer of splitmix64)."""
    x = np.uint64(key)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def dense_ids(keys, size, radix, table, firsts, ids):
    """Number the distinct keys[:size] (each below radix) in order of first appearance; returns how many.

    table: (power of two, at least 2 * size,) int32, all -1 before and after; it is addressed by the key itself where
    the radix allows, else by a hash. firsts: room, filled with the first place of each number.
    """
    n = 0
    mask = np.uint64(table.shape[0] - 1)
    direct = radix <= table.shape[0]
    one = np.uint64(1)
    for i in range(np.uint64(size)):
        key = keys[i]
        if direct:
            place = np.uint64(key)
        else:
            place = hashed(key) & mask
            while table[place] >= 0 and keys[firsts[table[place]]] != key:
                place = (place + one) & mask
        if table[place] < 0:
            table[place] = n
            firsts[n] = i
            n += 1
        ids[i] = table[place]
    # Later keys lie behind earlier ones on a probe path, so the table is emptied from the last key to the first.
    for j in range(n - 1, -1, -1):
        key = keys[firsts[j]]
        if direct:
            place = np.uint64(key)
        else:
            place = hashed(key) & mask
            while table[place] != j:
                place = (place + one) & mask
        table[place] = -1
    return n


@compiled
def part_keys(groups, leaf_at, columns, combos, table, firsts, keys, ids):
    """A key for the group combination of each combination of leaves in one part; returns what they are below.

    keys: (combinations,) int64, filled; table, firsts and ids: room for numbering keys that grow too long.
    """
    size = combos.shape[1]
    radix = np.int64(1)
    for i in range(size):
        keys[i] = 0
    for j in range(columns.shape[0]):
        column = columns[j]
        first = leaf_at[column]
        span = np.int64(groups[leaf_at[column + 1] - 1]) + 1
        if radix > (np.int64(1) << 60) // span:
            radix = np.int64(dense_ids(keys, size, radix, table, firsts, ids))
            for i in range(size):
                keys[i] = ids[i]
        leaf = combos[j]
        for i in range(np.uint64(size)):
            keys[i] = keys[i] * span + groups[np.uint64(first + leaf[i])]
        radix *= span
    return radix


@compiled
def part_ids(groups, leaf_at, columns, combos, table, firsts, keys, ids):
    """Number the distinct group combinations of one part's columns; returns how many (ids: (combinations,) int32)."""
    radix = part_keys(groups, leaf_at, columns, combos, table, firsts, keys, ids)
    return dense_ids(keys, combos.shape[1], radix, table, firsts, ids)


@compiled
def cut_classes(
    groups,  # (all leaves,) int32, the cut of each column, one after the other
    leaf_at,  # (columns + 1,) int64, where each column's leaves start
    part_columns,  # (columns,) int64, columns in the order of the parts
    part_at,  # (parts + 1,) int64, which of them belong to each part
    combos,  # (columns, most combinations) int32: row j = leaves of part_columns[j] in each combination of its part
    combo_counts,  # (parts,) int64
    row_combos,  # (parts, distinct) int32, the combination of each distinct row
    weights,  # (distinct,) int64
    row_hists,  # (words, distinct) int64, packed
    table,  # (power of two,) int32, all -1 before and after
    firsts,  # (slots,) int64, filled: a distinct row of each class
    keys,  # (distinct,) int64, room
    shares,  # (parts, most combinations) int64, room
    members,  # (distinct,) int32, filled if members_wanted: the class of each distinct row
    counts,  # (slots,) int64, filled: the rows of each class
    hists,  # (words, slots) int64, filled: the packed histogram of each class
    members_wanted,
):
    """Count the classes of a recoding by cuts; returns how many there are.

    Columns are grouped into a few parts; the groups of each distinct combination within a part are looked up once, so
    a row costs one look-up per part. Where the groups of the parts have few products, a product is a slot by itself
    and no table of classes is searched.
    """
    parts = part_at.shape[0] - 1
    rows = np.uint64(row_combos.shape[1])
    words = row_hists.shape[0]
    radix = np.int64(1)
    for p in range(parts - 1, -1, -1):
        size = combo_counts[p]
        at = part_at[p]
        n = part_ids(
            groups, leaf_at, part_columns[at : part_at[p + 1]], combos[at : part_at[p + 1], :size], table, firsts, keys,
            members,
        )  # fmt: skip
        share = shares[p]
        for i in range(np.uint64(size)):
            share[i] = np.int64(members[i]) * radix
        radix *= n
    first_share = shares[0]
    first_combos = row_combos[0]
    for r in range(rows):
        keys[r] = first_share[np.uint64(first_combos[r])]
    for p in range(1, parts):
        share = shares[p]
        part_combos = row_combos[p]
        for r in range(rows):
            keys[r] += share[np.uint64(part_combos[r])]
    slots = radix
    direct = not members_wanted and radix <= counts.shape[0]
    if not direct:
        slots = np.int64(dense_ids(keys, row_combos.shape[1], radix, table, firsts, members))
        for r in range(rows):
            keys[r] = members[r]
    counts[:slots] = 0
    for r in range(rows):
        slot = np.uint64(keys[r])
        counts[slot] += weights[r]
        firsts[slot] = r
    for w in range(words):
        hist = hists[w]
        row_hist = row_hists[w]
        hist[:slots] = 0
        for r in range(rows):
            hist[np.uint64(keys[r])] += row_hist[r]
    if not direct:
        return slots
    n = 0
    for place in range(slots):
        if counts[place] > 0:
            counts[n] = counts[place]
            firsts[n] = firsts[place]
            for w in range(words):
                hists[w, n] = hists[w, place]
            n += 1
    return n


@compiled
def count_persons(members, n, person_at, persons, stamps, stamp, starts, order, sizes):
    """Distinct persons in each class: sizes[:n]. stamps: (persons,) int64, the last class that met each person.

    Returns the next unused stamp. starts: (n + 1,) room; order: (distinct,) room.
    """
    rows = members.shape[0]
    starts[: n + 1] = 0
    for r in range(rows):
        starts[members[r] + 1] += 1
    for c in range(n):
        starts[c + 1] += starts[c]
    for r in range(rows):
        order[starts[members[r]]] = r
        starts[members[r]] += 1
    row = 0
    for c in range(n):
        stamp += 1
        seen = 0
        while row < rows and members[order[row]] == c:
            r = order[row]
            for e in range(person_at[r], person_at[r + 1]):
                if stamps[persons[e]] != stamp:
                    stamps[persons[e]] = stamp
                    seen += 1
            row += 1
        sizes[c] = seen
    return stamp


@compiled
def cut_cells(groups, leaf_at, run_at, runs, lost_units, leaf_rows, extra, sums):
    """Cell losses of a recoding by cuts: their sums (losses,) over all rows, and what a suppressed cell loses more.

    extra: (losses, all leaves) int64, filled; lost_units: (losses, columns) int64, the loss of a suppressed cell.
    runs: (losses, …) int64; the loss of the run first … last of a column with m leaves stands at
    run_at[column] + first * m + last.
    """
    losses = runs.shape[0]
    sums[:] = 0
    for column in range(leaf_at.shape[0] - 1):
        start = leaf_at[column]
        end = leaf_at[column + 1]
        leaf = start
        while leaf < end:
            first = leaf
            rows = np.int64(0)
            while leaf < end and groups[leaf] == groups[first]:
                rows += leaf_rows[leaf]
                leaf += 1
            place = run_at[column] + (first - start) * (end - start) + (leaf - 1 - start)
            for b in range(losses):
                loss = runs[b, place]
                sums[b] += loss * rows
                for i in range(first, leaf):
                    extra[b, i] = lost_units[b, column] - loss


@compiled
def cap_threshold(sizes, counts, n, allowed):
    """The k of the rule cap-max-k: the largest class size such that smaller classes hold at most ``allowed`` rows.

    One more than the largest size when everything may be suppressed.
    """
    smallest = sizes[0]
    ones = np.int64(0)
    for i in range(n):
        smallest = min(smallest, sizes[i])
        ones += counts[i] if sizes[i] == 1 else 0
    if smallest > allowed or ones > allowed:
        return smallest
    small = np.zeros(allowed + 1, dtype=np.int64)  # rows in classes of each size
    above = np.int64(2**62)
    largest = np.int64(0)
    for i in range(n):
        largest = max(largest, sizes[i])
        if sizes[i] <= allowed:
            small[sizes[i]] += counts[i]
        else:
            above = min(above, sizes[i])
    lost = np.int64(0)
    for size in range(1, allowed + 1):
        lost += small[size]
        if lost > allowed:
            return np.int64(size)
    return above if above < 2**62 else largest + 1


@compiled
def run_classes(groups, leaf_at, columns, view, room, members_wanted):
    """Count the classes of a recoding by cuts, run by run; returns how many classes and outer groups there are.

    The columns are in two parts, and the rows lie in runs: one run per combination of the outer part. Rows of one class
    lie in runs whose combinations have the same groups. So these runs are counted together, in slots addressed by the
    groups of the inner part; no table is searched, and the slots are empty again before the next runs come.
    """
    outer_combos, inner_combos, starts, _outer, inner, leads, _words = view
    slots, heads, table, firsts, members, begins, chosen, counts, outer_keys, inner_keys, after, ids, numbers = room
    one, zero = np.uint64(1), np.uint64(0)
    outer_size, inner_size = outer_combos.shape[1], inner_combos.shape[1]
    outer_columns, inner_columns = columns[: outer_combos.shape[0]], columns[outer_combos.shape[0] :]
    radix = part_keys(groups, leaf_at, inner_columns, inner_combos, table, numbers, inner_keys, ids)
    if radix > slots.shape[0]:
        dense_ids(inner_keys, inner_size, radix, table, numbers, ids)
        for i in range(inner_size):
            inner_keys[i] = ids[i]
    radix = part_keys(groups, leaf_at, outer_columns, outer_combos, table, numbers, outer_keys, ids)
    if radix > heads.shape[0]:
        dense_ids(outer_keys, outer_size, radix, table, numbers, ids)
        for i in range(outer_size):
            outer_keys[i] = ids[i]
    # Combinations with the same groups, as lists: each knows the next, and the first is known by its key.
    for i in range(outer_size - 1, -1, -1):
        key = np.uint64(outer_keys[i])
        after[i] = heads[key]
        heads[key] = i
    n, outer_groups = zero, 0
    for i in range(outer_size):
        key = np.uint64(outer_keys[i])
        if heads[key] != i:
            continue
        heads[key] = -1
        begins[outer_groups] = n
        chosen[outer_groups] = i
        outer_groups += 1
        begin = n
        at = np.int64(i)
        while at >= 0:
            for r in range(np.uint64(starts[at]), np.uint64(starts[at + 1])):
                slot = np.uint64(inner_keys[np.uint64(inner[r])])
                before = slots[slot]
                slots[slot] = before + leads[r]
                firsts[n] = r  # overwritten by the next row unless this one began a class
                n += one if before == 0 else zero
            at = np.int64(after[at])
        if members_wanted:
            for c in range(begin, n):
                slot = np.uint64(inner_keys[np.uint64(inner[firsts[c]])])
                counts[c] = slots[slot]
                slots[slot] = c
            at = np.int64(i)
            while at >= 0:
                for r in range(np.uint64(starts[at]), np.uint64(starts[at + 1])):
                    members[r] = slots[np.uint64(inner_keys[np.uint64(inner[r])])]
                at = np.int64(after[at])
            for c in range(begin, n):
                slots[np.uint64(inner_keys[np.uint64(inner[firsts[c]])])] = 0
        else:
            for c in range(begin, n):
                slot = np.uint64(inner_keys[np.uint64(inner[firsts[c]])])
                counts[c] = slots[slot]
                slots[slot] = 0
    begins[outer_groups] = n
    return np.int64(n), outer_groups


@compiled
def key_places(leaf_at, columns, size, most):
    """How many places keys over these columns need: one each, or where that is too many, one per combination."""
    radix = 1
    for c in columns:
        radix *= leaf_at[c + 1] - leaf_at[c]
        if radix > most:
            return size
    return max(radix, size)


@compiled
def run_room(leaf_at, columns, view, most):
    """Room for run_classes, used again and again; keys below ``most`` are places by themselves."""
    outer_columns, outer_size = view[0].shape
    inner_size, rows = view[1].shape[1], view[4].shape[0]
    largest = max(outer_size, inner_size)
    hashed_places = 1024
    while hashed_places < 2 * largest:
        hashed_places *= 2
    return (
        np.zeros(key_places(leaf_at, columns[outer_columns:], inner_size, most), dtype=np.int64),  # slots, left all 0
        np.full(key_places(leaf_at, columns[:outer_columns], outer_size, most), -1, dtype=np.int32),  # heads, left -1
        np.full(hashed_places, -1, dtype=np.int32),  # table, left all -1
        np.zeros(rows + 1, dtype=np.uint32),  # firsts, filled: a row of each class
        np.zeros(rows, dtype=np.int32),  # members, filled if wanted: the class of each row
        np.zeros(outer_size + 1, dtype=np.int64),  # begins, filled: the first class of each outer group
        np.zeros(outer_size, dtype=np.int32),  # chosen, filled: an outer combination of each outer group
        np.zeros(rows, dtype=np.int64),  # counts, filled: the leads of each class, added up
        np.zeros(outer_size, dtype=np.int64),  # outer_keys
        np.zeros(inner_size, dtype=np.int64),  # inner_keys
        np.zeros(outer_size, dtype=np.int32),  # after
        np.zeros(largest, dtype=np.int32),  # ids
        np.zeros(largest, dtype=np.int64),  # numbers
    )


@compiled
def roll_up_runs(groups, leaf_at, columns, view, room):
    """The rows of a view merged as far as a cut allows: again a view, for recodings that are no finer than the cut."""
    outer_combos, inner_combos, _starts, _outer, inner, _leads, words = view
    _slots, _heads, table, firsts, members, begins, chosen, counts, _outer, inner_keys, _after, ids, numbers = room
    several = words.shape[0] > 0
    n, outer_groups = run_classes(groups, leaf_at, columns, view, room, several)
    inner_groups = dense_ids(inner_keys, inner_combos.shape[1], np.int64(1) << 62, table, numbers, ids)
    new_outer = np.zeros((outer_combos.shape[0], outer_groups), dtype=np.int32)
    for c in range(outer_combos.shape[0]):
        for g in range(outer_groups):
            new_outer[c, g] = outer_combos[c, chosen[g]]
    new_inner = np.zeros((inner_combos.shape[0], inner_groups), dtype=np.int32)
    for c in range(inner_combos.shape[0]):
        for g in range(inner_groups):
            new_inner[c, g] = inner_combos[c, numbers[g]]
    starts = np.zeros(outer_groups + 1, dtype=np.int64)
    for g in range(outer_groups + 1):
        starts[g] = begins[g]
    row_outer = np.zeros(n, dtype=np.int32)
    row_inner = np.zeros(n, dtype=np.int32)
    leads = np.zeros(n, dtype=np.int64)
    for g in range(outer_groups):
        for i in range(starts[g], starts[g + 1]):
            row_outer[i] = g
            row_inner[i] = ids[inner[firsts[i]]]
            leads[i] = counts[i]
    new_words = np.zeros((words.shape[0], n), dtype=np.int64)
    add_words(words, members, n, new_words)
    return new_outer, new_inner, starts, row_outer, row_inner, leads, new_words


@compiled
def add_words(words, members, n, out):
    """Add the packed words of the rows up by class: out (words, at least n)."""
    for w in range(words.shape[0]):
        word, total = words[w], out[w]
        for i in range(n):
            total[i] = 0
        for r in range(np.uint64(word.shape[0])):
            total[np.uint64(members[r])] += word[r]


@compiled
def union_cut(genomes, leaf_at, groups):
    """The coarsest cut that is no coarser than any of these: groups (all leaves,) int32."""
    for c in range(leaf_at.shape[0] - 1):
        group = 0
        groups[leaf_at[c]] = 0
        for leaf in range(leaf_at[c] + 1, leaf_at[c + 1]):
            for g in range(genomes.shape[0]):
                if genomes[g, leaf] != genomes[g, leaf - 1]:
                    group += 1
                    break
            groups[leaf] = group


@compiled
def split_classes(sizes, counts, hists, n, threshold, failing, marked, hidden, shown):
    """Move the visible classes to the front; returns how many they are, and the rows in the others.

    hidden: filled with the number and the rows of each of the others; shown: room. The first loop does not branch,
    because whether a class is visible can rarely be guessed.
    """
    left, gone = np.uint64(0), np.uint64(0)
    one, zero = np.uint64(1), np.uint64(0)
    for i in range(np.uint64(n)):
        away = (marked and failing[i]) or sizes[i] < threshold
        hidden[0, gone] = i
        shown[left] = i
        gone += one if away else zero
        left += zero if away else one
    lost = np.int64(0)
    for j in range(gone):
        rows = counts[np.uint64(hidden[0, j])]
        hidden[1, j] = rows
        lost += rows
    if gone > 0:
        for j in range(left):
            at = np.uint64(shown[j])
            rows, size = counts[at], sizes[at]  # sizes and counts are one array where persons are not told apart
            counts[j] = rows
            sizes[j] = size
        for w in range(hists.shape[0]):
            hist = hists[w]
            for j in range(left):
                hist[j] = hist[np.uint64(shown[j])]
    return np.int64(left), lost


@compiled
def suppressed_loss(view, columns, leaf_at, extra, hidden, gone, firsts, outer_more, inner_more):
    """What suppressing the classes and rows in hidden[:, :gone] adds to a loss; extra: (all leaves,) int64 per cell.

    Summed over the columns for each combination beforehand, unless the classes are fewer.
    """
    outer_combos, inner_combos, _starts, outer, inner, _leads, _words = view
    outer_count, outer_size = outer_combos.shape
    inner_count, inner_size = inner_combos.shape
    total = np.int64(0)
    if gone * (outer_count + inner_count) < outer_count * outer_size + inner_count * inner_size:
        for h in range(gone):
            r = firsts[hidden[0, h]]
            more = np.int64(0)
            for j in range(outer_count):
                more += extra[leaf_at[columns[j]] + outer_combos[j, outer[r]]]
            for j in range(inner_count):
                more += extra[leaf_at[columns[outer_count + j]] + inner_combos[j, inner[r]]]
            total += hidden[1, h] * more
        return total
    add_cells(outer_combos, columns[:outer_count], leaf_at, extra, outer_more)
    add_cells(inner_combos, columns[outer_count:], leaf_at, extra, inner_more)
    for h in range(np.uint64(gone)):
        r = firsts[np.uint64(hidden[0, h])]
        total += hidden[1, h] * (outer_more[np.uint64(outer[r])] + inner_more[np.uint64(inner[r])])
    return total


@compiled
def add_cells(combos, columns, leaf_at, extra, out):
    """The sum over a part's columns for each of its combinations."""
    for i in range(combos.shape[1]):
        out[i] = 0
    for j in range(combos.shape[0]):
        leaf, at = combos[j], leaf_at[columns[j]]
        for i in range(np.uint64(combos.shape[1])):
            out[i] += extra[np.uint64(at + leaf[i])]


CHUNK = 64  # recodings for which the rows are rolled up together; a roll-up costs as much as one recoding


@compiled
def evaluate_cuts(
    genomes,  # (n, all leaves) int32, cuts
    leaf_at,  # (columns + 1,) int64, where each column's leaves start
    columns,  # (columns,) int64, those of the outer part first
    view,  # the rows in runs: outer and inner combinations, starts of runs, inner combination and leads by row, words
    lead_bits,  # where the rows stand in a lead: 0, or above the histogram word that it carries
    lane_bits,
    run_at, runs, lost_units, leaf_rows,
    segments, first_words, totals, kinds, which, parameters, stops,
    person_at, persons, person_count,
    rule, threshold_given, allowed, rows, risky_below, limit_kinds, limit_segments, limits,
):  # fmt: skip
    """Statistics of many recodings by cuts: ints (n, INTS + losses) and reals (n, numbers), as walk gives them.

    Rules none, below-k, cap-max-k and constraint; suppressed rows are dropped.
    """
    n = genomes.shape[0]
    distinct = view[4].shape[0]
    words = view[6].shape[0]
    losses = runs.shape[0]
    room = run_room(leaf_at, columns, view, 1 << 18)
    firsts, members, counts = room[3], room[4], room[7]
    hists = np.zeros((1 if lead_bits > 0 else words, distinct), dtype=np.int64)
    extra = np.zeros((losses, genomes.shape[1]), dtype=np.int64)
    sums = np.zeros(losses, dtype=np.int64)
    outer_more = np.zeros(view[0].shape[1], dtype=np.int64)
    inner_more = np.zeros(view[1].shape[1], dtype=np.int64)
    hidden = np.zeros((2, distinct + 1), dtype=np.int64)
    shown = np.zeros(distinct + 1, dtype=np.int64)
    failing = np.zeros(distinct if rule == CONSTRAINT else 1, dtype=np.bool_)
    values = np.zeros(max(totals.shape[0], 1), dtype=np.int64)
    union = np.zeros(genomes.shape[1], dtype=np.int32)
    ints = np.zeros((n, INTS + losses), dtype=np.int64)
    reals = np.zeros((n, kinds.shape[0]), dtype=np.float64)
    stamps = np.zeros(person_count, dtype=np.int64)
    person_starts = np.zeros(distinct + 1 if person_count else 1, dtype=np.int64)
    order = np.zeros(distinct if person_count else 1, dtype=np.int64)
    sizes = np.zeros(distinct, dtype=np.int64) if person_count else counts
    stamp = 0
    here = view
    lead_mask = (np.int64(1) << lead_bits) - 1
    lane_mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    marked = rule == CONSTRAINT
    for g in range(n):
        groups = genomes[g]
        if g % CHUNK == 0:
            here = view
            if person_count == 0 and n - g >= CHUNK // 8:
                union_cut(genomes[g : g + CHUNK], leaf_at, union)
                here = roll_up_runs(union, leaf_at, columns, view, room)
        size, _ = run_classes(groups, leaf_at, columns, here, room, person_count > 0 or words > 0)
        if lead_bits > 0:
            hist = hists[0]
            for i in range(size):
                lead = counts[i]
                hist[i] = lead & lead_mask
                counts[i] = (lead >> lead_bits) & lane_mask
        else:
            add_words(here[6], members, size, hists)
        if person_count:
            stamp = count_persons(members, size, person_at, persons, stamps, stamp, person_starts, order, sizes)
        row = ints[g]
        z = np.int64(0)
        if rule == BELOW_K:
            z = threshold_given
        elif rule == CAP_MAX_K:
            z = cap_threshold(sizes, counts, size, allowed)
        elif marked:
            mark_failing(
                sizes, counts, hists, size, lane_bits, limit_kinds, limit_segments, limits, segments, first_words,
                totals, rows, failing, values,
            )  # fmt: skip
        left, row[SUPPRESSED] = split_classes(sizes, counts, hists, size, z, failing, marked, hidden, shown)
        size_numbers(sizes, counts, left, 0, failing, False, risky_below, row)
        cut_cells(groups, leaf_at, run_at, runs, lost_units, leaf_rows, extra, sums)
        for b in range(losses):
            row[INTS + b] = sums[b]
            if left < size:
                row[INTS + b] += suppressed_loss(
                    here, columns, leaf_at, extra[b], hidden, size - left, firsts, outer_more, inner_more
                )
        if kinds.shape[0] > 0:
            hist_numbers(
                sizes, counts, hists, left, 0, failing, False, 0, lane_bits, kinds, which, parameters, stops,
                segments, first_words, totals, rows, values, reals[g],
            )  # fmt: skip
    return ints, reals


@compiled
def pareto(keys):
    """Which of the distinct rows of keys (n, objectives), in lexicographic order, no other row dominates.

    Lower is better. A row can only be dominated by one before it, so one pass suffices; the row that dominated last is
    asked first, because neighbours tend to be dominated by the same one.
    """
    n, objectives = keys.shape
    kept = np.zeros(n, dtype=np.bool_)
    front = np.empty(n, dtype=np.int64)
    size = 0
    for i in range(n):
        dominated = False
        for j in range(size):
            other = front[j]
            worse = True
            for m in range(objectives):
                if keys[other, m] > keys[i, m]:
                    worse = False
                    break
            if worse:
                dominated = True
                if j > 0:
                    front[j] = front[j // 2]
                    front[j // 2] = other
                break
        if not dominated:
            kept[i] = True
            front[size] = i
            size += 1
    return kept


# -- branch and bound over partial nodes (search/exact.py) ------------------------------------------------------------


@compiled
def sort_pairs(ids, classes, leaf_order, codes, weights, place, ranked, pair_class, pair_leaf, pair_rows):
    """Rows of a partial node by class, then by leaf of one more column, and the rows of each such pair.

    leaf_order: (rows,) int32, the rows by leaf of the column; ranked: filled, the rows by (class, leaf).
    Returns how many pairs there are.
    """
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
            pair_class[n] = own
            pair_leaf[n] = leaf
            pair_rows[n] = 0
            last_class = own
            last_leaf = leaf
        pair_rows[n] += weights[at]
    return n + 1


@compiled
def merged_sizes(pair_class, pair_leaf, pair_rows, pairs, cut, counts):
    """Rows of each class when the leaves of the pairs are grouped by a cut; returns how many classes there are."""
    n = np.uint64(0)
    one = np.uint64(1)
    counts[0] = pair_rows[0]
    last_class = pair_class[0]
    last_group = cut[np.uint64(pair_leaf[0])]
    for i in range(one, np.uint64(pairs)):
        group = cut[np.uint64(pair_leaf[i])]
        same = pair_class[i] == last_class and group == last_group
        n += np.uint64(0) if same else one
        counts[n] = counts[n] + pair_rows[i] if same else pair_rows[i]
        last_class = pair_class[i]
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
def is_beaten(bound, front, last):
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


@compiled
def surviving_nodes(
    codes,  # (columns, rows) int32, leaves, columns in the order of the search
    leaf_order,  # (columns, rows) int32, rows by leaf
    weights,  # (rows,) int64
    heights,  # (columns,) int64
    cuts,  # (…,) int32, the cuts of every level
    cut_at,  # (columns, most levels) int64, where each starts
    leaves,  # (columns,) int64
    allowed,  # rows that may be suppressed (0 for the rule none)
    adds,  # (objectives,) bool: the key is a sum of parts per column; else it is minus k
    parts,  # (objectives, columns, most levels) int64
    front,  # (points, objectives) int64, keys known to be reached
    prefix,  # (fixed,) int64, levels of the first columns
    least_k,  # nodes with a smaller k do not count
):
    """Levels (n, columns) of the nodes that the front does not prove to be dominated, and how many nodes were counted.

    A partial node fixes the levels of the first columns and leaves the others at the top. Every node that refines it
    has at most its k and at least its loss without suppression, so a beaten partial node takes all of them with it.
    """
    columns, rows = codes.shape
    objectives = adds.shape[0]
    most_levels = cut_at.shape[1]
    ids = np.zeros((columns + 1, rows), dtype=np.int32)
    classes = np.ones(columns + 1, dtype=np.int64)
    ranked = np.zeros((columns, rows), dtype=np.int32)
    alive = np.zeros((columns, most_levels), dtype=np.bool_)
    level = np.full(columns, -1, dtype=np.int64)
    sums = np.zeros((columns + 1, objectives), dtype=np.int64)
    place = np.zeros(rows + 1, dtype=np.int64)
    pair_class = np.zeros(rows, dtype=np.int32)
    pair_leaf = np.zeros(rows, dtype=np.int32)
    pair_rows = np.zeros(rows, dtype=np.int64)
    counts = np.zeros(rows, dtype=np.int64)
    found = np.zeros(3 + int(math.sqrt(2.0 * allowed)), dtype=np.int64)
    lost = np.zeros_like(found)
    small = np.zeros(allowed + 1, dtype=np.int64)
    bound = np.zeros(objectives, dtype=np.int64)
    kept = np.zeros((64, columns), dtype=np.int64)
    used = 0
    counted = 0
    last = 0
    depth = 0
    fresh = True  # the partial node of this depth has not been expanded yet
    while depth >= 0:
        c = depth
        if fresh:
            pairs = sort_pairs(
                ids[c], classes[c], leaf_order[c], codes[c], weights, place, ranked[c], pair_class, pair_leaf, pair_rows
            )
            for j in range(heights[c] + 1):
                alive[c, j] = False
                if c < prefix.shape[0] and prefix[c] != j:
                    continue
                cut = cuts[cut_at[c, j] : cut_at[c, j] + leaves[c]]
                n = merged_sizes(pair_class, pair_leaf, pair_rows, pairs, cut, counts)
                size_thresholds(counts, n, allowed, found, lost, small, False)
                counted += 1
                if found[0] < least_k:
                    continue
                for m in range(objectives):
                    bound[m] = sums[c, m] + parts[m, c, j] if adds[m] else -found[0]
                by = is_beaten(bound, front, last)
                if by >= 0:
                    last = by
                else:
                    alive[c, j] = True
            level[c] = heights[c] + 1  # coarse levels first
            fresh = False
        level[c] -= 1
        while level[c] >= 0 and not alive[c, level[c]]:
            level[c] -= 1
        if level[c] < 0:
            depth -= 1
            continue
        if c == columns - 1:
            if used == kept.shape[0]:
                kept = grown_ints(kept, used)
            kept[used] = level
            used += 1
            continue
        cut = cuts[cut_at[c, level[c]] : cut_at[c, level[c]] + leaves[c]]
        classes[c + 1] = refined_ids(ids[c], codes[c], ranked[c], cut, ids[c + 1])
        for m in range(objectives):
            sums[c + 1, m] = sums[c, m] + parts[m, c, level[c]]
        depth += 1
        fresh = True
    return kept[:used], counted


# -- Genomes by cuts: chance, repair, crossover, and the compiled loop of GENITOR --------------------------------------

TRAD, NEW, HYBRID, ONE_POINT = range(4)


@compiled
def seeded(seed):
    """The state of a random stream (splitmix64): (1,) uint64, saved and continued like any other array."""
    state = np.zeros(1, dtype=np.uint64)
    state[0] = hashed(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    return state


@compiled
def random_unit(state):
    """A number from 0 up to 1 (not included), 53 bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(hashed(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def repair_one(bits, first, stop, parent, border, ones, costs, logs, chance, state):
    """Turn bits into the nearest string that is a cut of every tree, ties with equal chance; returns the distance.

    SPEC IY-10: a node costs the ones inside it (shown as one group) or the missing borders between its children plus
    what the children cost, whichever is less. Room: ones (genes + 1,) int64, costs (nodes,) int64, logs and chance
    (nodes,) float64. Nodes stand in preorder, so children follow their parent.
    """
    nodes = first.shape[0]
    total = np.int64(0)
    for g in range(bits.shape[0]):
        ones[g + 1] = ones[g] + bits[g]
    for v in range(nodes):
        costs[v] = 0
        logs[v] = 0.0
    for v in range(nodes - 1, -1, -1):
        if stop[v] == first[v]:
            chance[v] = 1.0
            cost, ways = np.int64(0), 0.0
        else:
            whole = ones[stop[v]] - ones[first[v]]
            if whole < costs[v]:
                chance[v] = 1.0
                cost, ways = whole, 0.0
            elif whole > costs[v]:
                chance[v] = 0.0
                cost, ways = costs[v], logs[v]
            else:
                cost = whole
                chance[v] = 1.0 / (1.0 + math.exp(min(logs[v], 700.0)))
                ways = logs[v] + math.log1p(math.exp(-logs[v]))
        p = parent[v]
        if p < 0:
            total += cost
        else:
            costs[p] += cost
            logs[p] += ways
            if border[v] >= 0 and bits[border[v]] == 0:
                costs[p] += 1
    if total == 0:
        return total
    # costs is read again as a status: 2 split into its children, 1 shown or hidden.
    for v in range(nodes):
        p = parent[v]
        if p >= 0 and costs[p] != 2:
            costs[v] = 1
            continue
        if border[v] >= 0:
            bits[border[v]] = 1
        if chance[v] >= 1.0 or (chance[v] > 0.0 and random_unit(state) < chance[v]):
            costs[v] = 1
            for g in range(first[v], stop[v]):
                bits[g] = 0
        else:
            costs[v] = 2
    return total


@compiled
def repair_all(genomes, first, stop, parent, border, state):
    """Repair many genomes (n, genes) uint8 in place; returns how far each was from its nearest: (n,) int64."""
    ones = np.zeros(genomes.shape[1] + 1, dtype=np.int64)
    costs = np.zeros(first.shape[0], dtype=np.int64)
    logs = np.zeros(first.shape[0], dtype=np.float64)
    chance = np.zeros(first.shape[0], dtype=np.float64)
    far = np.zeros(genomes.shape[0], dtype=np.int64)
    for i in range(genomes.shape[0]):
        far[i] = repair_one(genomes[i], first, stop, parent, border, ones, costs, logs, chance, state)
    return far


@compiled
def sample_one(bits, free, first, stop, parent, border, collapse, share, shown, state):
    """A random valid genome: free genes are 1 with chance share, nodes are shown whole with chance collapse.

    shown: (nodes,) bool, room. With share 1/2 and collapse = 1 / cuts of the node every recoding is equally likely.
    """
    for g in range(bits.shape[0]):
        bits[g] = 1 if free[g] and random_unit(state) < share else 0
    for v in range(first.shape[0]):
        p = parent[v]
        if p >= 0 and shown[p]:
            shown[v] = True
            continue
        if border[v] >= 0:
            bits[border[v]] = 1
        shown[v] = stop[v] == first[v] or random_unit(state) < collapse[v]


@compiled
def sample_all(genomes, free, first, stop, parent, border, collapse, state):
    """Fill genomes (n, genes) uint8 with recodings drawn uniformly."""
    shown = np.zeros(first.shape[0], dtype=np.bool_)
    for i in range(genomes.shape[0]):
        sample_one(genomes[i], free, first, stop, parent, border, collapse, 0.5, shown, state)


@compiled
def sample_spread(genomes, free, first, stop, parent, border, state):
    """Fill genomes with recodings of every coarseness: each draws its own share of borders, coarse ones often."""
    shown = np.zeros(first.shape[0], dtype=np.bool_)
    collapse = np.zeros(first.shape[0], dtype=np.float64)
    for i in range(genomes.shape[0]):
        share = random_unit(state) ** 3
        collapse[:] = 1.0 - share
        sample_one(genomes[i], free, first, stop, parent, border, collapse, share, shown, state)


@compiled
def safe_cuts(one, two, hybrid, free, gene_column, out):
    """Where two valid parents may be cut: one place per run of agreement between two disagreements; returns how many.

    A cut before gene g is safe at a gene that is 1 in both (LU-4); hybrid also at the border of a column and anywhere
    in a free column (LU-10). Any place of a run gives the same child, so the first safe one stands for all.
    """
    n = 0
    place = -1
    seen = False
    for g in range(one.shape[0]):
        if seen and hybrid and place < 0 and (free[g] or gene_column[g] != gene_column[g - 1]):
            place = g
        if one[g] != two[g]:
            if seen and place >= 0:
                out[n] = place
                n += 1
            seen = True
            place = -1
        elif seen and place < 0 and one[g] == 1:
            place = g
    return n


@compiled
def cross_safely(one, two, child, points, hybrid, free, gene_column, room, state):
    """NEW and hybrid crossover: child gets genes of two between safe cuts; returns False where there is none."""
    n = safe_cuts(one, two, hybrid, free, gene_column, room)
    if n == 0:
        return False
    start = np.int64(random_unit(state) * n)
    end = one.shape[0]
    if n > 1 and points == 2:
        other = np.int64(random_unit(state) * (n - 1))
        other += 1 if other >= start else 0
        end = room[max(start, other)]
        start = min(start, other)
    start = room[start]
    for g in range(one.shape[0]):
        child[g] = two[g] if start <= g < end else one[g]
    return True


@compiled
def cross_reduced(one, two, child, room, state):
    """Two-point reduced surrogate crossover (LU-3): cuts only between disagreements, so the child equals neither.

    Parents with fewer than two disagreements have no such child; then the child is the first parent.
    """
    n = 0
    for g in range(one.shape[0]):
        child[g] = one[g]
        if one[g] != two[g]:
            room[n] = g
            n += 1
    if n < 2:
        return
    start = 1 + np.int64(random_unit(state) * (n - 1))
    end = np.int64(n)
    if n > 2:
        other = 1 + np.int64(random_unit(state) * (n - 2))
        other += 1 if other >= start else 0
        end = max(start, other)
        start = min(start, other)
    for i in range(start, end):
        child[room[i]] = two[room[i]]


@compiled
def cross_one_point(one, two, child, state):
    """One-point crossover of the whole string."""
    point = 1 + np.int64(random_unit(state) * max(one.shape[0] - 1, 1))
    for g in range(one.shape[0]):
        child[g] = one[g] if g < point else two[g]


@compiled
def cross_all(operator, points, ones, twos, children, free, gene_column, state):
    """Cross pairs of parents (n, genes) uint8, row by row; returns which rows have a child. TRAD is not repaired."""
    room = np.zeros(ones.shape[1] + 1, dtype=np.int64)
    made = np.ones(ones.shape[0], dtype=np.bool_)
    for i in range(ones.shape[0]):
        if operator == TRAD:
            cross_reduced(ones[i], twos[i], children[i], room, state)
        elif operator == ONE_POINT:
            cross_one_point(ones[i], twos[i], children[i], state)
        else:
            made[i] = cross_safely(
                ones[i], twos[i], children[i], points, operator == HYBRID, free, gene_column, room, state
            )
    return made


@compiled
def one_point_pairs(genomes, chosen, crossed, flips, state):
    """Both children of each pair by one-point crossover, then flips: (2 * pairs, genes) int64, by halves.

    chosen: (2 * pairs,) int64, the first parents and then the second; crossed: (pairs,) bool, the others are copied.
    """
    pairs, genes = crossed.shape[0], genomes.shape[1]
    children = np.zeros((2 * pairs, genes), dtype=np.int64)
    for i in range(pairs):
        point = 1 + np.int64(random_unit(state) * max(genes - 1, 1))
        for half in range(2):
            one, two = chosen[i + half * pairs], chosen[i + (1 - half) * pairs]
            for g in range(genes):
                parent = two if crossed[i] and g >= point else one
                children[i + half * pairs, g] = genomes[parent, g] ^ flips[i + half * pairs, g]
    return children


@compiled
def genome_groups(bits, gene_leaf, leaf_at, groups):
    """The cuts of a genome: groups (all leaves,) int32."""
    groups[:] = 0
    for g in range(bits.shape[0]):
        groups[gene_leaf[g]] = bits[g]
    for c in range(leaf_at.shape[0] - 1):
        group = 0
        for leaf in range(leaf_at[c], leaf_at[c + 1]):
            group += groups[leaf]
            groups[leaf] = group


@compiled
def roll_up_view(groups, leaf_at, part_columns, part_at, view, table, firsts, keys, ids):
    """The rows of a view merged as far as a cut allows: again a view, whose codes are the first leaf of each group.

    A view is (combos, combo_counts, row_combos, weights, words), as cut_classes takes them.
    """
    combos, combo_counts, row_combos, weights, words = view
    parts = part_at.shape[0] - 1
    rows = row_combos.shape[1]
    fronts = np.zeros(groups.shape[0], dtype=np.int32)  # the first leaf of each leaf's group, within its column
    for c in range(leaf_at.shape[0] - 1):
        at = leaf_at[c]
        for leaf in range(at + 1, leaf_at[c + 1]):
            fronts[leaf] = fronts[leaf - 1] if groups[leaf] == groups[leaf - 1] else leaf - at
    counts = np.zeros(parts, dtype=np.int64)
    merged = np.zeros((parts, combos.shape[1]), dtype=np.int32)
    kept = np.zeros((parts, combos.shape[1]), dtype=np.int64)
    most = np.int64(1)
    for p in range(parts):
        at, size = part_at[p], combo_counts[p]
        n = part_ids(
            groups,
            leaf_at,
            part_columns[at : part_at[p + 1]],
            combos[at : part_at[p + 1], :size],
            table,
            firsts,
            keys,
            ids,
        )
        for i in range(size):
            merged[p, i] = ids[i]
        for i in range(n):
            kept[p, i] = firsts[i]
        counts[p] = n
        most = max(most, n)
    out_combos = np.zeros((combos.shape[0], most), dtype=np.int32)
    for p in range(parts):
        for j in range(part_at[p], part_at[p + 1]):
            start = leaf_at[part_columns[j]]
            for i in range(counts[p]):
                out_combos[j, i] = fronts[start + combos[j, kept[p, i]]]
    radix = np.int64(1)
    keys[:rows] = 0
    for p in range(parts):
        if radix > (np.int64(1) << 60) // counts[p]:
            radix = np.int64(dense_ids(keys, rows, radix, table, firsts, ids))
            for r in range(rows):
                keys[r] = ids[r]
        for r in range(rows):
            keys[r] = keys[r] * counts[p] + merged[p, row_combos[p, r]]
        radix *= counts[p]
    n = dense_ids(keys, rows, radix, table, firsts, ids)
    out_rows = np.zeros((parts, n), dtype=np.int32)
    out_weights = np.zeros(n, dtype=np.int64)
    out_words = np.zeros((words.shape[0], n), dtype=np.int64)
    for p in range(parts):
        for i in range(n):
            out_rows[p, i] = merged[p, row_combos[p, firsts[i]]]
    for r in range(rows):
        out_weights[ids[r]] += weights[r]
        for w in range(words.shape[0]):
            out_words[w, ids[r]] += words[w, r]
    return out_combos, counts, out_rows, out_weights, out_words


@compiled
def frequent_genes(population, slack, bits):
    """Keep the genes that a genome mostly has among: leave out rare ones up to ``slack`` expected per genome."""
    size, genes = population.shape
    counts = np.zeros(genes, dtype=np.int64)
    for i in range(size):
        for g in range(genes):
            counts[g] += population[i, g]
    order = np.argsort(counts)
    left = np.int64(slack * size)
    for at in range(genes):
        g = order[at]
        left -= counts[g]
        bits[g] = 1 if left < 0 else 0


@compiled
def score_one(
    groups,  # (all leaves,) int32, the cuts of one genome
    leaf_at, part_columns, part_at, view,
    run_at, runs, lost_units, leaf_rows,  # runs: (…,) float64, what a cell in a run of leaves costs
    rules,  # k, rows that may be suppressed, rows
    uses,  # hist words, lane bits, values of the target, weights of cm and cost-cm, regression or not
    costs,  # (values, values) float64, cost of [true, told]
    regression,  # weight / total dispersion, sum of squares of the target
    room,
):  # fmt: skip
    """The score of one genome, lower is better: weighted losses under the rule below-k.

    Where more rows are suppressed than allowed, the score is 10**18 and more, by how many.
    """
    combos, combo_counts, row_combos, weights, words = view
    table, firsts, keys, shares, members, counts, hists, cells, more = room
    k, allowed, _rows = rules
    hist_words, _lane_bits, _values, _cm_weight, _cost_weight, with_regression = uses
    parts = part_at.shape[0] - 1
    distinct = row_combos.shape[1]
    places = 1024
    while places < 8 * distinct and places < table.shape[0]:
        places *= 2
    n = cut_classes(
        groups, leaf_at, part_columns, part_at, combos, combo_counts, row_combos, weights, words, table[:places],
        firsts, keys, shares, members, counts[: 2 * distinct + 1024], hists, False,
    )  # fmt: skip
    score = 0.0
    for column in range(leaf_at.shape[0] - 1):
        start, end = leaf_at[column], leaf_at[column + 1]
        leaf = start
        while leaf < end:
            first = leaf
            held = np.int64(0)
            while leaf < end and groups[leaf] == groups[first]:
                held += leaf_rows[leaf]
                leaf += 1
            loss = runs[run_at[column] + (first - start) * (end - start) + (leaf - 1 - start)]
            score += loss * held
            for i in range(first, leaf):
                cells[i] = lost_units[column] - loss
    lost = np.int64(0)
    for i in range(n):
        if counts[i] < k:
            lost += counts[i]
    if lost > allowed:
        return 1e18 + lost
    if lost > 0:
        for p in range(parts):
            more[p, : combo_counts[p]] = 0.0
            for j in range(part_at[p], part_at[p + 1]):
                at = leaf_at[part_columns[j]]
                for i in range(combo_counts[p]):
                    more[p, i] += cells[at + combos[j, i]]
        for i in range(n):
            if counts[i] < k:
                extra = 0.0
                for p in range(parts):
                    extra += more[p, row_combos[p, firsts[i]]]
                score += extra * counts[i]
    if hist_words > 0:
        score += target_score(counts, hists, n, k, lost, uses, costs)
    if with_regression:
        word = hists[hists.shape[0] - 1]
        explained = 0.0
        away = np.int64(0)
        for i in range(n):
            if counts[i] < k:
                away += word[i]
            else:
                explained += np.float64(word[i]) * np.float64(word[i]) / counts[i]
        if lost > 0:
            explained += np.float64(away) * np.float64(away) / lost
        score += regression[0] * (regression[1] - explained)
    return score


@compiled
def target_score(counts, hists, n, k, lost, uses, costs):
    """The weighted classification losses: rows suppressed or not of the majority, and the same with costs."""
    _hist_words, lane_bits, values, cm_weight, cost_weight, _with_regression = uses
    mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    lanes = 64 // lane_bits
    away = np.zeros(values, dtype=np.int64)
    hist = np.zeros(values, dtype=np.int64)
    wrong = lost
    priced = 0.0
    for i in range(n + 1):
        if i < n:
            if counts[i] < k and cost_weight == 0.0:
                continue
            most = np.int64(0)
            for v in range(values):
                hist[v] = (hists[v // lanes, i] >> (v % lanes * lane_bits)) & mask
                most = max(most, hist[v])
            if counts[i] < k:
                for v in range(values):
                    away[v] += hist[v]
                continue
            wrong += counts[i] - most
        else:
            hist[:] = away
            most = hist.max()
            if cost_weight == 0.0 or most == 0:
                continue
        if cost_weight > 0.0:
            least = -1.0
            for told in range(values):
                if hist[told] == most:
                    price = 0.0
                    for true in range(values):
                        price += costs[true, told] * hist[true]
                    if least < 0.0 or price < least:
                        least = price
            priced += least
    return cm_weight * wrong + cost_weight * priced


@compiled
def score_room(distinct, parts, most, words, leaves):
    """Room for score_one, used again and again."""
    places = 65536
    while places < 2 * distinct or (places < 16 * distinct and places < 1 << 20):
        places *= 2
    slots = 2 * distinct + 1024
    return (
        np.full(places, -1, dtype=np.int32),
        np.zeros(slots, dtype=np.int64),
        np.zeros(max(distinct, most), dtype=np.int64),
        np.zeros((parts, most), dtype=np.int64),
        np.zeros(max(distinct, most), dtype=np.int32),
        np.zeros(slots, dtype=np.int64),
        np.zeros((words, slots), dtype=np.int64),
        np.zeros(leaves, dtype=np.float64),
        np.zeros((parts, most), dtype=np.float64),
    )


@compiled
def score_genomes(
    genomes,
    gene_leaf,
    leaf_at,
    part_columns,
    part_at,
    view,
    run_at,
    runs,
    lost_units,
    leaf_rows,
    rules,
    uses,
    costs,
    regression,
):
    """The scores of many genomes (n, genes) uint8: (n,) float64."""
    room = score_room(view[2].shape[1], part_at.shape[0] - 1, view[0].shape[1], view[4].shape[0], leaf_at[-1])
    groups = np.zeros(leaf_at[-1], dtype=np.int32)
    scores = np.zeros(genomes.shape[0], dtype=np.float64)
    for i in range(genomes.shape[0]):
        genome_groups(genomes[i], gene_leaf, leaf_at, groups)
        scores[i] = score_one(
            groups,
            leaf_at,
            part_columns,
            part_at,
            view,
            run_at,
            runs,
            lost_units,
            leaf_rows,
            rules,
            uses,
            costs,
            regression,
            room,
        )
    return scores


@compiled
def pack_genome(bits, words):
    """The genome packed into words (uint64), and a hash of it."""
    words[:] = 0
    for g in range(bits.shape[0]):
        words[g >> 6] |= np.uint64(bits[g]) << np.uint64(g & 63)
    mixed = np.uint64(0)
    for w in range(words.shape[0]):
        mixed = hashed(mixed ^ words[w])
    return mixed


@compiled
def memo_place(words, mixed, packed, table):
    """Where a packed genome stands in the memo's table, or the free place where it would."""
    mask = np.uint64(table.shape[0] - 1)
    place = mixed & mask
    while table[place] >= 0:
        same = True
        for w in range(words.shape[0]):
            if packed[table[place], w] != words[w]:
                same = False
                break
        if same:
            break
        place = (place + np.uint64(1)) & mask
    return place


@compiled
def memo_rebuild(packed, used, table):
    """Enter the first ``used`` packed genomes into an empty table."""
    for i in range(used):
        mixed = np.uint64(0)
        for w in range(packed.shape[1]):
            mixed = hashed(mixed ^ packed[i, w])
        table[memo_place(packed[i], mixed, packed, table)] = i


@compiled
def ranked_parent(size, bias, state):
    """A rank drawn with linear bias: the best is ``bias`` times as likely as the median (Whitley 1989)."""
    if bias <= 1.0:
        return np.int64(random_unit(state) * size)
    u = random_unit(state)
    return np.int64(size * (bias - math.sqrt(bias * bias - 4.0 * (bias - 1.0) * u)) / (2.0 * (bias - 1.0)))


@compiled
def make_child(
    population,
    ranks,
    operator,
    points,
    bias,
    immigrants,
    mutation,
    free,
    gene_column,
    first,
    stop,
    parent,
    border,
    collapse,
    child,
    other,
    room,
    ones,
    costs,
    logs,
    chance,
    shown,
    state,
):
    """One child of two parents chosen by rank: crossover, fresh blood with chance ``immigrants``, bits flipped."""
    size = population.shape[0]
    made = False
    for _ in range(10):
        a = ranks[ranked_parent(size, bias, state)]
        b = ranks[ranked_parent(size, bias, state)]
        if a == b and size > 1:
            b = ranks[np.int64(random_unit(state) * size)]
        if operator == TRAD:
            cross_reduced(population[a], population[b], child, room, state)
            made = True
        elif operator == ONE_POINT:
            cross_one_point(population[a], population[b], child, state)
            made = True
        else:
            made = cross_safely(
                population[a], population[b], child, points, operator == HYBRID, free, gene_column, room, state
            )
        if made:
            break
    broken = operator == TRAD or operator == ONE_POINT
    if not made or (immigrants > 0.0 and random_unit(state) < immigrants):
        if not made:
            a = ranks[ranked_parent(size, bias, state)]
            child[:] = population[a]
        sample_one(other, free, first, stop, parent, border, collapse, 0.5, shown, state)
        mate = np.zeros_like(child)
        if cross_safely(child, other, mate, points, operator == HYBRID, free, gene_column, room, state):
            child[:] = mate
        elif not made:
            child[:] = other
    if mutation > 0.0:
        # The distance to the next flip is geometric: one random number per flip, not per gene.
        scale = 1.0 / math.log1p(-min(mutation, 0.999999))
        g = np.int64(math.log(1.0 - random_unit(state)) * scale)
        while g < child.shape[0]:
            child[g] ^= 1
            broken = True
            g += 1 + np.int64(math.log(1.0 - random_unit(state)) * scale)
    if broken:
        repair_one(child, first, stop, parent, border, ones, costs, logs, chance, state)


@compiled
def genitor_steps(
    steps, stop_at,
    population, scores, ranks, places,  # (size, genes) uint8, (size,) float64, (size,) int64 best first, (size,) int64
    packed, known, inside, table, tallies,  # the memo; tallies: distinct, evaluations, children, rejected in a row
    state, settings, space, trees, evaluation, views,
):  # fmt: skip
    """GENITOR: one child at a time takes the place of the worst if it is better (Whitley 1989; IY-9, LU-7).

    Makes at most ``steps`` children and stops when tallies[1] reaches ``stop_at`` evaluations.
    """
    operator, points, bias, immigrants, mutation, duplicates = settings
    gene_leaf, leaf_at, free, gene_column = space
    first, stop, parent, border, collapse = trees
    part_columns, part_at, run_at, runs, lost_units, leaf_rows, rules, uses, costs_matrix, regression = evaluation
    size, genes = population.shape
    full = views[0]
    # Smaller and smaller views of the table, for genomes without the genes that are rare in the population.
    kept = np.zeros((3, genes), dtype=np.uint8)
    groups = np.zeros(leaf_at[-1], dtype=np.int32)
    room = score_room(full[2].shape[1], part_at.shape[0] - 1, full[0].shape[1], full[4].shape[0], leaf_at[-1])
    made = []
    base = full
    for i in range(3):
        frequent_genes(population, (0.0, 0.1, 0.5)[i], kept[i])
        genome_groups(kept[i], gene_leaf, leaf_at, groups)
        base = roll_up_view(groups, leaf_at, part_columns, part_at, base, room[0], room[1], room[2], room[4])
        made.append(base)
    child = np.zeros(genes, dtype=np.uint8)
    other = np.zeros(genes, dtype=np.uint8)
    points_room = np.zeros(genes + 1, dtype=np.int64)
    ones = np.zeros(genes + 1, dtype=np.int64)
    costs = np.zeros(first.shape[0], dtype=np.int64)
    logs = np.zeros(first.shape[0], dtype=np.float64)
    chance = np.zeros(first.shape[0], dtype=np.float64)
    shown = np.zeros(first.shape[0], dtype=np.bool_)
    words = np.zeros(packed.shape[1], dtype=np.uint64)
    for _ in range(steps):
        if tallies[1] >= stop_at:
            break
        make_child(
            population, ranks, operator, points, bias, immigrants, mutation, free, gene_column, first, stop, parent,
            border, collapse, child, other, points_room, ones, costs, logs, chance, shown, state,
        )  # fmt: skip
        tallies[2] += 1
        mixed = pack_genome(child, words)
        at = memo_place(words, mixed, packed, table)
        entry = np.int64(table[at])
        if entry >= 0 and inside[entry] > 0 and not duplicates:
            tallies[3] += 1
            continue
        tallies[1] += 1
        tallies[3] = 0
        if entry < 0:
            level = 3
            for i in range(2, -1, -1):
                covered = True
                for g in range(genes):
                    if child[g] > kept[i, g]:
                        covered = False
                        break
                if covered:
                    level = i
                    break
            genome_groups(child, gene_leaf, leaf_at, groups)
            view = full if level == 3 else made[level]
            entry = tallies[0]
            known[entry] = score_one(
                groups, leaf_at, part_columns, part_at, view, run_at, runs, lost_units, leaf_rows, rules, uses,
                costs_matrix, regression, room,
            )  # fmt: skip
            packed[entry] = words
            inside[entry] = 0
            table[at] = entry
            tallies[0] += 1
        score = known[entry]
        worst = ranks[size - 1]
        if score < scores[worst]:
            inside[places[worst]] -= 1
            inside[entry] += 1
            places[worst] = entry
            scores[worst] = score
            population[worst] = child
            low, high = 0, size - 1
            while low < high:
                middle = (low + high) // 2
                if scores[ranks[middle]] <= score:
                    low = middle + 1
                else:
                    high = middle
            for i in range(size - 1, low, -1):
                ranks[i] = ranks[i - 1]
            ranks[low] = worst


@compiled
def rows_by_leaf(order, starts, members, weights, words, others, stamps, places, heads, tails, sums, lanes):
    """Merge the rows of each leaf that agree on all other columns; returns how many are left.

    order: (distinct,) rows by leaf; starts: (leaves + 1,); members: which combination of the other columns a row has.
    Filled: heads (leaves + 1,) where each leaf's merged rows start; tails, sums, lanes: their combination, rows, words.
    """
    n = np.int64(0)
    for leaf in range(starts.shape[0] - 1):
        heads[leaf] = n
        for at in range(starts[leaf], starts[leaf + 1]):
            r = order[at]
            o = members[r]
            if stamps[o] != leaf + 1:
                stamps[o] = leaf + 1
                places[o] = n
                tails[n] = o
                sums[n] = 0
                for w in range(words.shape[0]):
                    lanes[w, n] = 0
                n += 1
            sums[places[o]] += weights[r]
            for w in range(words.shape[0]):
                lanes[w, places[o]] += words[w, r]
    heads[starts.shape[0] - 1] = n
    for o in range(others):
        stamps[o] = 0
    return n


@compiled
def run_costs(first, end, heads, tails, sums, lanes, cells, column_loss, lost_all, fine, k, uses, held, packed, out):
    """What the groups first … last cost, for every last from first up to end (not included): out[last].

    Rows alike on the other columns form a class of the group; a class smaller than k is suppressed and pays lost_all
    and a fine per row, another pays cells (other columns) and column_loss[first, last] (this one) per row.
    held (others,) int64 and packed (words, others) int64: room, zero before and after.
    """
    hist_words, lane_bits, values, cm_weight, _cost_weight, _with_regression = uses
    mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    per_word = 64 // lane_bits
    rows = np.int64(0)
    kept = np.int64(0)
    wrong = np.int64(0)
    paid = 0.0
    for leaf in range(first, end):
        for at in range(heads[leaf], heads[leaf + 1]):
            o = tails[at]
            before = held[o]
            if before >= k:
                kept -= before
                paid -= before * cells[o]
            if hist_words > 0 and before >= k:
                most = np.int64(0)
                for v in range(values):
                    most = max(most, (packed[v // per_word, o] >> (v % per_word * lane_bits)) & mask)
                wrong -= before - most
            held[o] = before + sums[at]
            rows += sums[at]
            for w in range(hist_words):
                packed[w, o] += lanes[w, at]
            if held[o] >= k:
                kept += held[o]
                paid += held[o] * cells[o]
                if hist_words > 0:
                    most = np.int64(0)
                    for v in range(values):
                        most = max(most, (packed[v // per_word, o] >> (v % per_word * lane_bits)) & mask)
                    wrong += held[o] - most
        lost = rows - kept
        out[leaf] = paid + kept * column_loss[first, leaf] + lost * (lost_all + fine) + cm_weight * (wrong + lost)
    for at in range(heads[first], heads[end]):
        held[tails[at]] = 0
        for w in range(hist_words):
            packed[w, tails[at]] = 0


@compiled
def recut_column(
    bits, gene_from, gaps, node_first, node_last, node_parent,  # the column's genes, and its tree (no nodes: free)
    order, starts, members, others, weights, words, cells, column_loss, lost_all, fine, k, uses,
):  # fmt: skip
    """The best cut of one column while all others stay: exact, because groups of one column do not share classes.

    Free columns by shortest path over borders, tree columns from the leaves up. Changes bits; returns the cost.
    """
    leaves = starts.shape[0] - 1
    rows = order.shape[0]
    stamps = np.zeros(others, dtype=np.int64)
    places = np.zeros(others, dtype=np.int64)
    heads = np.zeros(leaves + 1, dtype=np.int64)
    tails = np.zeros(rows, dtype=np.int64)
    sums = np.zeros(rows, dtype=np.int64)
    lanes = np.zeros((words.shape[0], rows), dtype=np.int64)
    rows_by_leaf(order, starts, members, weights, words, others, stamps, places, heads, tails, sums, lanes)
    held = np.zeros(others, dtype=np.int64)
    packed = np.zeros((words.shape[0], others), dtype=np.int64)
    out = np.zeros(leaves, dtype=np.float64)
    nodes = node_first.shape[0]
    if nodes == 0:
        blocks = gaps.shape[0] + 1  # leaves between two neighbouring borders stay together
        best = np.full(blocks + 1, np.inf)
        back = np.zeros(blocks + 1, dtype=np.int64)
        best[0] = 0.0
        for i in range(blocks):
            start = gaps[i - 1] + 1 if i > 0 else 0
            run_costs(
                start, leaves, heads, tails, sums, lanes, cells, column_loss, lost_all, fine, k, uses, held, packed, out
            )
            for j in range(i + 1, blocks + 1):
                last = gaps[j - 1] if j < blocks else leaves - 1
                cost = best[i] + out[last]
                if cost < best[j]:
                    best[j] = cost
                    back[j] = i
        for g in range(blocks - 1):
            bits[gene_from + g] = 0
        j = blocks
        while j > 0:
            j = back[j]
            if j > 0:
                bits[gene_from + j - 1] = 1
        return best[blocks]
    below = np.zeros(nodes, dtype=np.float64)
    split = np.zeros(nodes, dtype=np.bool_)
    for v in range(nodes - 1, -1, -1):
        run_costs(
            node_first[v],
            node_last[v] + 1,
            heads,
            tails,
            sums,
            lanes,
            cells,
            column_loss,
            lost_all,
            fine,
            k,
            uses,
            held,
            packed,
            out,
        )
        cost = out[node_last[v]]
        if node_first[v] < node_last[v] and below[v] < cost:
            split[v] = True
            cost = below[v]
        if v > 0:
            below[node_parent[v]] += cost
        else:
            below[0] = cost
    for g in range(leaves - 1):
        bits[gene_from + g] = 0
    for v in range(1, nodes):
        parent = node_parent[v]
        if not split[parent]:
            split[v] = False
        elif node_last[v] < node_last[parent]:
            bits[gene_from + node_last[v]] = 1
    return below[0]


@compiled
def recut(
    bits, column, gene_at, gene_leaf, leaf_at, gaps, node_first, node_last, node_parent, order, starts, codes,
    part_columns, part_at, view, run_at, runs, lost_units, rules, uses, fine, room,
):  # fmt: skip
    """Put the best cut of one column into a genome, all other columns as they are; returns the genome's cost."""
    combos, combo_counts, row_combos, weights, words = view
    table, firsts, keys, shares, members, counts, hists, cells, _more = room
    groups = np.zeros(leaf_at[-1], dtype=np.int32)
    genome_groups(bits, gene_leaf, leaf_at, groups)
    groups[leaf_at[column] : leaf_at[column + 1]] = 0
    others = cut_classes(
        groups, leaf_at, part_columns, part_at, combos, combo_counts, row_combos, weights, words, table, firsts, keys,
        shares, members, counts, hists, True,
    )  # fmt: skip
    costs = np.zeros(others, dtype=np.float64)
    lost_all = 0.0
    for c in range(leaf_at.shape[0] - 1):
        lost_all += lost_units[c]
        if c == column:
            continue
        start, end = leaf_at[c], leaf_at[c + 1]
        leaf = start
        while leaf < end:
            first = leaf
            while leaf < end and groups[leaf] == groups[first]:
                leaf += 1
            loss = runs[run_at[c] + (first - start) * (end - start) + (leaf - 1 - start)]
            for i in range(first, leaf):
                cells[i] = loss
        for o in range(others):
            costs[o] += cells[start + codes[firsts[o], c]]
    m = leaf_at[column + 1] - leaf_at[column]
    column_loss = runs[run_at[column] : run_at[column] + m * m].reshape(m, m)
    return recut_column(
        bits, gene_at[column], gaps, node_first, node_last, node_parent, order, starts, members, others, weights, words,
        costs, column_loss, lost_all, fine, rules[0], uses,
    )  # fmt: skip


@compiled
def ranks_of_two(costs):
    """Ranks of two objectives: in the order of the first, a row joins the first front whose last row it escapes.

    Rows come by the first cost, then by the second, so the last row of a front has its least second cost so far.
    """
    n = costs.shape[0]
    by_second = np.argsort(costs[:, 1], kind="mergesort")
    order = by_second[np.argsort(costs[by_second, 0], kind="mergesort")]
    ranks = np.zeros(n, dtype=np.int64)
    least = np.zeros(n, dtype=np.int64)  # second cost of each front's last row
    fronts = 0
    for place in range(n):
        i = order[place]
        if place > 0:
            before = order[place - 1]
            if costs[i, 0] == costs[before, 0] and costs[i, 1] == costs[before, 1]:
                ranks[i] = ranks[before]
                continue
        low, high = 0, fronts
        while low < high:
            middle = (low + high) // 2
            if least[middle] <= costs[i, 1]:
                low = middle + 1
            else:
                high = middle
        ranks[i] = low
        least[low] = costs[i, 1]
        fronts = max(fronts, low + 1)
    return ranks


@compiled
def ranks_of_many(costs):
    """Ranks of any number of objectives, by comparing each row with each."""
    n, objectives = costs.shape
    beaten = np.zeros(n, dtype=np.int64)  # how many unranked rows dominate each
    dominates = np.zeros((n, n), dtype=np.bool_)
    for i in range(n):
        for j in range(i + 1, n):
            less = False
            more = False
            for m in range(objectives):
                if costs[i, m] < costs[j, m]:
                    less = True
                elif costs[i, m] > costs[j, m]:
                    more = True
            if less and not more:
                dominates[i, j] = True
                beaten[j] += 1
            elif more and not less:
                dominates[j, i] = True
                beaten[i] += 1
    ranks = np.full(n, -1, dtype=np.int64)
    level = 0
    done = 0
    while done < n:
        for i in range(n):
            if ranks[i] < 0 and beaten[i] == 0:
                ranks[i] = level
                done += 1
        for i in range(n):
            if ranks[i] == level:
                for j in range(n):
                    if dominates[i, j]:
                        beaten[j] -= 1
        level += 1
    return ranks


@compiled
def dominance_ranks(costs, enough):
    """Non-dominated ranks of costs (n, objectives) int64, lower is better: (n,) int64 from 0.

    Once ``enough`` rows have a rank, all others share the next one.
    """
    ranks = ranks_of_two(costs) if costs.shape[1] == 2 else ranks_of_many(costs)
    counts = np.zeros(costs.shape[0] + 1, dtype=np.int64)
    for i in range(ranks.shape[0]):
        counts[ranks[i]] += 1
    last = 0
    done = counts[0]
    while done < enough and counts[last] > 0:
        last += 1
        done += counts[last]
    for i in range(ranks.shape[0]):
        ranks[i] = min(ranks[i], last + 1)
    return ranks


@compiled
def tournament_winners(pairs, chance, ranks, crowding, excess, first):
    """Who wins each binary tournament: pairs (2, n) int64 places -> (n,) int64 (GE-6).

    Both feasible (excess 0 or below): lower rank, then lonelier. One feasible: that one. None: less excess, then less
    of ``first``, then lonelier. Otherwise the one that chance (n,) float64 names: the first below a half.
    """
    winners = np.zeros(pairs.shape[1], dtype=np.int64)
    for i in range(pairs.shape[1]):
        one, two = pairs[0, i], pairs[1, i]
        fits_one, fits_two = excess[one] <= 0.0, excess[two] <= 0.0
        lead = 0.0  # above 0: the first wins
        if fits_one != fits_two:
            lead = 1.0 if fits_one else -1.0
        elif fits_one:
            lead = np.float64(ranks[two] - ranks[one])
        elif excess[one] != excess[two]:
            lead = excess[two] - excess[one]
        else:
            lead = first[two] - first[one]
        if lead == 0.0 and crowding[one] != crowding[two]:
            lead = 1.0 if crowding[one] > crowding[two] else -1.0
        if lead == 0.0:
            lead = 1.0 if chance[i] < 0.5 else -1.0
        winners[i] = one if lead > 0.0 else two
    return winners


@compiled
def crowding_distances(values, ranks):
    """Crowding distance of values (n, objectives) float64 within each rank (Deb et al. 2002), infinite at the ends."""
    n = values.shape[0]
    distance = np.zeros(n, dtype=np.float64)
    for m in range(values.shape[1]):
        by_value = np.argsort(values[:, m], kind="mergesort")
        order = by_value[np.argsort(ranks[by_value], kind="mergesort")]
        start = 0
        while start < n:
            end = start
            while end + 1 < n and ranks[order[end + 1]] == ranks[order[start]]:
                end += 1
            width = values[order[end], m] - values[order[start], m]
            if not width > 0.0:
                width = 1.0
            for i in range(start + 1, end):
                distance[order[i]] += (values[order[i + 1], m] - values[order[i - 1], m]) / width
            distance[order[start]] = np.inf
            distance[order[end]] = np.inf
            start = end + 1
    return distance


# -- local recoding: Mondrian over hierarchies (search/mondrian.py) ----------------------------------------------------


@compiled
def part_depth(codes, column, leaf_at, path, rows, items, start, end):
    """How deep in a column's tree the rows of items[start:end] part, and one of their leaves.

    path: (depths, all leaves) int32, the tree node at each depth above each leaf, the leaf's own from there on. A
    depth of ``len(path)`` means that all rows have the same leaf.
    """
    least, most = codes[rows[items[start]], column], codes[rows[items[start]], column]
    for i in range(start + 1, end):
        leaf = codes[rows[items[i]], column]
        least, most = min(least, leaf), max(most, leaf)
    if least == most:
        return path.shape[0], least
    depth = 1
    while path[depth, leaf_at + least] == path[depth, leaf_at + most]:
        depth += 1
    return depth, least


@compiled
def assign_children(children, count, sizes, k, relaxed, goes, lent):
    """Which children of a node become classes of their own; returns how many.

    sizes: rows of each node, of which children[:count] are looked at. goes[node] is its place, or -1 for the rest
    that stays at the parent. Children with fewer than k rows stay. If they are fewer than k together, they get
    company: relaxed, some rows of the largest children (lent[node]); else all rows of the smallest large one.
    """
    rest, spare, own = 0, 0, 0
    for place in range(count):
        node = children[place]
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
                node = children[place]
                if goes[node] >= 0 and (lender < 0 or sizes[node] - lent[node] > sizes[lender] - lent[lender]):
                    lender = node
            given = min(missing, sizes[lender] - lent[lender] - k)
            lent[lender] += given
            missing -= given
        return own
    smallest = -1
    for place in range(count):
        node = children[place]
        if goes[node] >= 0 and (smallest < 0 or sizes[node] < sizes[smallest]):
            smallest = node
    goes[smallest] = -1
    return own - 1


@compiled
def split_worth(children, count, sizes, goes, lent, loss, parent, total):
    """Loss saved per bit of class size given up by a split into the assigned children; 0 if nothing is saved."""
    saved, bits, rest = 0.0, 0.0, 0
    for place in range(count):
        node = children[place]
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


@compiled
def divide(column, path, leaf_at, count, goes, lent, codes, rows, weights, items, start, end, used, room):
    """Put items[start:end] into the order of their new classes, the rest first; returns (end, used).

    An item of which only some rows are lent is split: the new item gets number ``used``. room: as long as items.
    """
    fill = 0
    for turn in range(-1, count):
        for i in range(start, end):
            item = items[i]
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
            items[i] = -1
            fill += 1
    items[start : start + fill] = room[:fill]
    return start + fill, used


@compiled
def mondrian(codes, counts, leaf_at, path, loss, k, relaxed):
    """Split the rows top down into classes of at least k, each a box of tree nodes; greedy by loss saved per bit.

    codes: (distinct, columns) int32; counts: (distinct,) int64 rows; leaf_at: (columns + 1,) int64; path: (depths, all
    leaves) int32; loss: (nodes,) float64. An item is a distinct row with some of its rows; only ``relaxed`` makes more
    items than distinct rows. Returns per item (distinct row, rows, class), and per class (nodes, rows).
    """
    distinct, columns = codes.shape
    total_rows = counts.sum()
    most = distinct + total_rows // k + 2
    rows, weights, owner = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    rows[:distinct] = np.arange(distinct)
    weights[:distinct] = counts
    items, room, starts = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    items[:distinct] = np.arange(distinct)
    sizes, goes = np.zeros(len(loss), np.int64), np.zeros(len(loss), np.int64)
    lent, children = np.zeros(len(loss), np.int64), np.zeros(len(loss), np.int64)
    boxes, class_rows = np.zeros((total_rows // k + 1, columns), np.int32), np.zeros(total_rows // k + 1, np.int64)
    used, classes, waiting, end = distinct, 0, 1, distinct
    # The waiting classes lie one after the other in items, and the last is always taken next, so it may grow.
    while waiting > 0:
        waiting -= 1
        start = starts[waiting]
        total = 0
        for i in range(start, end):
            total += weights[items[i]]
        best, best_worth, best_depth = -1, 0.0, 0
        for column in range(columns):
            depth, leaf = part_depth(codes, column, leaf_at[column], path, rows, items, start, end)
            parent = path[depth - 1, leaf_at[column] + leaf]
            boxes[classes, column] = parent
            if depth == path.shape[0]:
                continue
            count = 0
            for i in range(start, end):
                node = path[depth, leaf_at[column] + codes[rows[items[i]], column]]
                if sizes[node] == 0:
                    children[count] = node
                    count += 1
                sizes[node] += weights[items[i]]
            if assign_children(children, count, sizes, k, relaxed, goes, lent) > 0:
                worth = split_worth(children, count, sizes, goes, lent, loss, parent, total)
                if worth > best_worth:
                    best, best_worth, best_depth = column, worth, depth
            for place in range(count):
                sizes[children[place]] = 0
        if best < 0:
            for i in range(start, end):
                owner[items[i]] = classes
            class_rows[classes] = total
            classes += 1
            end = start
            continue
        count = 0
        for i in range(start, end):
            node = path[best_depth, leaf_at[best] + codes[rows[items[i]], best]]
            if sizes[node] == 0:
                children[count] = node
                count += 1
            sizes[node] += weights[items[i]]
        assign_children(children, count, sizes, k, relaxed, goes, lent)
        rest = 0
        for place in range(count):
            node = children[place]
            rest += sizes[node] if goes[node] < 0 else lent[node]
        before = end
        end, used = divide(
            best, path[best_depth], leaf_at[best], count, goes, lent, codes, rows, weights, items, start, before, used,
            room,
        )  # fmt: skip
        # Borders of the new classes: after the rest, wherever the child changes.
        if rest > 0:
            starts[waiting] = start
            waiting += 1
            seen = 0
            while seen < rest:
                seen += weights[items[start]]
                start += 1
        last = -1
        for i in range(start, end):
            node = path[best_depth, leaf_at[best] + codes[rows[items[i]], best]]
            if node != last:
                starts[waiting] = i
                waiting += 1
                last = node
        for place in range(count):
            sizes[children[place]] = 0
    return rows[:used], weights[:used], owner[:used], boxes[:classes], class_rows[:classes]
