"""A class table: raising one column, rotating its key, and the numbers that class sizes alone tell.

A *class table* (``ClassTable``) is arrays that belong together: ``keys`` (a class's groups packed into one
integer, one bit field per column), ``counts`` (its rows), ``sets`` (which sensitive values it has, one bit each, so
that merging two classes is one OR) and ``hists`` (rows per sensitive and target value, several counts packed into one
word). Counts start in lanes as narrow as the rows allow, and the lanes of a table grow when a class no longer fits.
Once a column is raised the words are running sums, and ``ends`` says where each class ends in them: merging more
classes then touches no word, and the words of a class are one difference each. Keys are always in rising order.
Raising the level of the column in the lowest field keeps that order, because the groups of a level are numbered in
leaf order; so merging classes is one linear scan. Where a key needs more bits than ``KEY_BITS``, the further words
stand in ``highs``, (further words, classes) int64, the lowest first; where one word does, that is None, and nothing of
it is compiled. Rotating moves the lowest field to the top with one counting sort,
which makes the next column the lowest. The lattice is walked depth first that way: a node's classes come from a finer
table that was already counted, never from the rows again.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.words import CLASSES, KEY_BITS, LARGEST, RISKY, SQUARES, UNIQUES, K


@inner
def raise_last(table, size, mask, merge, to, questions, highs):
    """Raise the column in the lowest field by one level, in place: keys, rows and sets, not yet the histograms.

    merge: (groups below,) int64, the group of the level above for each group; to: filled, where each class went.
    Returns the new number of classes and the rows of the largest. Whether two neighbours merge is a coin toss that no
    branch predictor can guess, so nothing here branches. Indices are unsigned, which spares the check for negative
    ones: 4 x faster in this loop.
    """
    if size == 0:
        return 0, np.int64(0)
    keys, counts, sets = table.keys, table.counts, table.sets
    keep = ~mask
    zero = np.uint64(0)
    one = np.uint64(1)
    if highs is not None:
        mark_changes(highs, size, to)
    written = zero
    last = (keys[0] & keep) | merge[np.uint64(keys[0] & mask)]
    total = counts[0]
    keys[0] = last
    largest = total
    to[0] = zero
    for i in range(one, np.uint64(size)):
        word = keys[i]
        key = (word & keep) | merge[np.uint64(word & mask)]
        if highs is None:
            same = key == last
        else:
            same = ((np.uint64(key) ^ np.uint64(last)) | to[i]) == zero
        total = total + counts[i] if same else counts[i]
        written += zero if same else one
        last = key
        keys[written] = key
        counts[written] = total
        if highs is not None:
            to[i] = written
        if questions is not None:
            to[i] = written
            largest = max(largest, total)
    if highs is not None:
        for w in range(highs.shape[0]):
            further = highs[w]
            for i in range(np.uint64(size)):
                further[to[i]] = further[i]
    if questions is not None:
        for w in range(sets.shape[0]):
            row = sets[w]
            members = row[0]
            before = zero
            for i in range(one, np.uint64(size)):
                here = to[i]
                members = members | row[i] if here == before else row[i]
                before = here
                row[here] = members
    return np.int64(written) + 1, largest


@inner
def mark_changes(highs, size, changes):
    """Where the further words of a class's key differ from those of the one before: (size,) uint64, 0 where not.

    Word by word, so that the loops over classes have no loop over words inside, which costs three times as much.
    """
    for w in range(highs.shape[0]):
        row = highs[w]
        for i in range(np.uint64(1), np.uint64(size)):
            before = changes[i] if w > 0 else np.uint64(0)
            changes[i] = before | np.uint64(row[i] ^ row[i - np.uint64(1)])


@compiled(memory=False)
def raise_table(table, size, mask, merge, to, questions, counted, bits, summed, highs):
    """Raise the column in the lowest field by one level, in place.

    questions: what is asked of values, or None, which compiles for sizes alone; counted: the Lanes of the histograms,
    or None where values are told apart by sets only. summed: whether the histograms are running sums already, which
    they are afterwards. Returns the new number of classes and the width of the lanes, which grows where a class no
    longer fits.
    """
    fewer, largest = raise_last(table, size, mask, merge, to, questions, highs)
    if counted is not None:
        raise_words(table, size, to, largest, counted, bits, summed)
        while bits < 64 and largest >> bits > 0:
            bits *= 2
    return fewer, bits


@inner
def raise_words(table, size, to, largest, lanes, bits, summed):
    """Let the classes end where those do that they became; to: (size,) uint64, where each class went."""
    ends = table.ends
    if not summed or (bits < 64 and largest >> bits > 0):
        if summed:
            show_words(table, size, lanes.word_at[lane_width(bits), -1], table.hists)
        while bits < 64 and largest >> bits > 0:
            widen_lanes(table.hists, size, lanes, bits)
            bits *= 2
        sum_words(table, size, lanes.word_at[lane_width(bits), -1])
    for i in range(np.uint64(size)):
        ends[to[i]] = ends[i]


@compiled(memory=False)
def lane_width(bits):
    """The row of word_at for lanes of 8, 16, 32 or 64 bits."""
    return 0 if bits == 8 else 1 if bits == 16 else 2 if bits == 32 else 3


@inner
def sum_words(table, size, words):
    """Turn packed words into running sums, in place: those of any run of classes are then one difference.

    A running sum may pass the end of a lane or of the word; differences are right all the same, because adding and
    taking away are exact up to multiples of 2**64, and the words of one class fit.
    """
    for w in range(words):
        hist = table.hists[w]
        total = np.int64(0)
        for i in range(np.uint64(size)):
            total += hist[i]
            hist[i] = total
    for i in range(np.uint64(size)):
        table.ends[i] = i


@compiled(memory=False)
def show_words(table, size, words, out):
    """The packed words of each class from running sums, into out, which may be the table's own."""
    ends = table.ends
    for w in range(words):
        sums, row = table.hists[w], out[w]
        before = np.int64(0)
        for i in range(np.uint64(size)):
            here = sums[ends[i]]
            row[i] = here - before
            before = here


@compiled(memory=False)
def widen_lanes(hists, size, lanes, bits):
    """Spread lanes over twice as many bits, in place: the last words first, as each goes to places at or behind it."""
    narrow, wide = lanes.word_at[lane_width(bits)], lanes.word_at[lane_width(2 * bits)]
    mask = (np.int64(1) << bits) - 1
    half = 32 // bits  # lanes of a new word
    for column in range(narrow.shape[0] - 2, -1, -1):
        for w in range(narrow[column + 1] - narrow[column] - 1, -1, -1):
            old = hists[narrow[column] + w]
            at = wide[column] + 2 * w
            twice = at + 1 < wide[column + 1]
            low, high = hists[at], hists[at + 1 if twice else at]
            for i in range(size):
                word = old[i]
                first = np.int64(0)
                second = np.int64(0)
                for lane in range(half):
                    first |= ((word >> (lane * bits)) & mask) << (2 * lane * bits)
                    second |= ((word >> ((lane + half) * bits)) & mask) << (2 * lane * bits)
                if twice:
                    high[i] = second
                low[i] = first


@compiled(memory=False)
def rotate(table, size, field, out, to, place, questions, counted, lane_bits, summed, further):
    """Move the lowest field to the top by a stable counting sort, into table out.

    field: its bits, those of all fields together, and how many groups it has; to: room for ``size`` places; place: room
    for one more than the groups, uint64 both; questions and counted as for raise_table; summed: whether the histograms
    are running sums, which those of out are not; further: the further words of the keys, and room for those of out,
    or None.
    """
    keys, counts = table.keys, table.counts
    out_keys, out_counts = out.keys, out.counts
    bits, total_bits, groups = field
    mask = (np.int64(1) << bits) - 1
    shift = total_bits - bits
    one = np.uint64(1)
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
        if further is None:
            out_keys[at] = (word >> bits) | (group << shift)
        else:
            to[i] = at
        out_counts[at] = counts[i]
        if questions is not None:
            to[i] = at
    if further is not None:
        highs, out_highs = further
        for w in range(highs.shape[0] + 1):
            word_of, above = keys if w == 0 else highs[w - 1], highs[min(w, highs.shape[0] - 1)]
            turned = out_keys if w == 0 else out_highs[w - 1]
            turn_word(word_of, above, keys, size, (w, highs.shape[0], bits, shift), to, turned)
    if questions is not None:
        sets, out_sets = table.sets, out.sets
        for w in range(sets.shape[0]):
            row, moved = sets[w], out_sets[w]
            for i in range(np.uint64(size)):
                moved[to[i]] = row[i]
    if counted is not None:
        rotate_words(table, size, out, to, counted.word_at[lane_width(lane_bits), -1], summed)


@inner
def turn_word(row, above, keys, size, place, to, out):
    """One word of keys in several words, without their lowest field, which goes to the bits from ``shift`` on.

    row and above: that word and the next one of each class; keys: the lowest one; place: which word it is, the last
    one, the bits of the field, and shift; to: where each class goes in out.
    """
    which, last, bits, shift = place
    mask, whole = (np.int64(1) << bits) - 1, (np.int64(1) << KEY_BITS) - 1
    top, inside = shift // KEY_BITS, shift % KEY_BITS
    taken = mask if which < last else np.int64(0)  # of the word above, whose lowest bits come down
    own = mask if which == top else np.int64(0)
    rest = mask if which == top + 1 else np.int64(0)
    for i in range(np.uint64(size)):
        group = keys[i]
        down = (row[i] >> bits) | ((above[i] & taken) << (KEY_BITS - bits))
        out[to[i]] = down | (((group & own) << inside) & whole) | ((group & rest) >> (KEY_BITS - inside))


@inner
def key_field(key, highs, i, shift, bits):
    """The field of class i's key, in several words, that lies from ``shift`` on."""
    first, inside = shift // KEY_BITS, shift % KEY_BITS
    word = key if first == 0 else highs[first - 1, i]
    field = word >> inside
    if inside + bits > KEY_BITS:
        field |= highs[first, i] << (KEY_BITS - inside)
    return field & ((np.int64(1) << bits) - 1)


@inner
def rotate_words(table, size, out, to, words, summed):
    """Move the packed words of the classes to their new places."""
    ends = table.ends
    for w in range(words):
        hist, moved = table.hists[w], out.hists[w]
        if summed:
            before = np.int64(0)
            for i in range(np.uint64(size)):
                here = hist[ends[i]]
                moved[to[i]] = here - before
                before = here
        else:
            for i in range(np.uint64(size)):
                moved[to[i]] = hist[i]


@inner
def round_off(total, bits):
    """A sum without its last bits, to the nearest: how losses are compared whose whole numbers are rounded."""
    return (total + ((np.int64(1) << bits) >> 1)) >> bits


@inner
def is_hidden(classes, hiding, i):
    """Whether a class is suppressed: too small (one without rows is of the population alone), or marked as failing."""
    return classes.sizes[i] < hiding.threshold or (hiding.marked and hiding.failing[i])


@compiled(memory=False)
def size_steps(sizes, counts, size, hiding, allowed, steps):
    """Every k' such that classes below it, and those that are hidden anyway, hold at most ``allowed`` rows, rising.

    Fills thresholds and lost of steps, and returns how many: the first suppresses what is hidden anyway, the last is
    the k of the rule cap-max-k, 2**62 where all rows may go. One alone where even the first takes too many rows.
    """
    least, failing, marked = hiding.threshold, hiding.failing, hiding.marked
    thresholds, lost, small = steps.thresholds, steps.lost, steps.small
    none = np.int64(2**62)
    smallest, gone, ones = none, np.int64(0), np.int64(0)
    if marked:
        for i in range(size):
            away = failing[i] or sizes[i] < least
            gone += counts[i] if away else 0
            smallest = min(smallest, none if away else sizes[i])
    elif least <= 1:
        for i in range(size):
            smallest = min(smallest, sizes[i] if sizes[i] > 0 else none)
    else:
        for i in range(size):
            gone += counts[i] if sizes[i] < least else 0
            smallest = min(smallest, none if sizes[i] < least else sizes[i])
    thresholds[0] = smallest
    lost[0] = gone
    if gone > allowed or smallest > allowed - gone:
        return 1
    if smallest == 1:
        for i in range(size):
            ones += counts[i] if sizes[i] == 1 and not (marked and failing[i]) else 0
        if ones > allowed - gone:
            return 1
    for z in range(allowed + 1):
        small[z] = 0
    above = none
    for i in range(size):
        if sizes[i] < least or (marked and failing[i]):
            continue
        if sizes[i] > allowed:
            above = min(above, sizes[i])
        else:
            small[sizes[i]] += counts[i]
    n = 0
    for z in range(smallest, allowed + 1):
        if small[z] == 0:
            continue
        thresholds[n] = z
        lost[n] = gone
        n += 1
        gone += small[z]
        if gone > allowed:
            return n
    thresholds[n] = above
    lost[n] = gone
    return n + 1


@compiled(memory=False)
def size_numbers(sizes, counts, size, hiding, risky_below, out):
    """Fill the statistics of the visible classes that need their sizes only, and k, into out (one row of ints).

    sizes and counts: (at least size,) int64, persons and rows of each class.
    """
    threshold, failing, marked = max(hiding.threshold, 1), hiding.failing, hiding.marked
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
