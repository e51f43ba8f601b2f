"""Numbers of a class that need its values counted: diversity, closeness, minority, and which classes fail.

A class's histogram lies packed in a few words, several counts (*lanes*) in each. Loops go over one lane of many
classes at a time: the shift is then the same for all of them, so that several are counted by one instruction.
Where values are only told apart, a class has a *set* instead: one bit per value.
"""

from __future__ import annotations

import math

import numpy as np

from kpareto.kernels.class_sums import hist_sum, target_sum, unpack
from kpareto.kernels.classes import is_hidden, lane_width
from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.words import (
    ALPHA,
    BEHIND,
    BETA,
    COST,
    DELTA,
    DISTINCT,
    ENHANCED_BETA,
    ENTROPY,
    JOURNALIST,
    MINORITY,
    OWN,
    PRESENCE_MAX,
    PRESENCE_MIN,
    RECOGNISED,
    RECURSIVE,
    T_EQUAL,
    T_ORDERED,
)


@compiled
def class_number(kind, hist, size, totals, rows, parameter):
    """One number about one class from its histogram (values,); definitions in docs/measures.md."""
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
    if kind == BEHIND:
        return float(hist[0])
    if kind == JOURNALIST:
        return 1.0 / hist[0]
    if kind == PRESENCE_MAX:
        return size / hist[0]
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


@compiled(memory=False)
def is_worse(kind, number, limit):
    """Whether a class number misses its limit; a hair of slack so that 1/3 does not fail its own limit."""
    slack = 1e-12 * max(1.0, abs(limit))
    if kind == DISTINCT or kind == ENTROPY or kind == BEHIND:
        return number < limit - slack
    return number > limit + slack


@inner
def class_value(classes, lanes, counted, kind, column, parameter, i, rows, values, told):
    """One number about class i, from its set or its histogram; values: (values,) int64, room for one histogram.

    counted: the Lanes of the histograms, or None where there are only sets, which compiles for these alone. told: None,
    or (numbers, classes) float64, numbers that count persons: column -1 stands for the first of them, and so on.
    """
    if told is not None:
        if column < 0:
            return told[-1 - column, i]
    first, end = lanes.value_at[column], lanes.value_at[column + 1]
    if counted is not None:
        if kind != DISTINCT or lanes.set_at[column, 1] == 0:
            whole = counted.totals[first:end]
            words = counted.word_at[lane_width(classes.bits), column]
            unpack(classes.hists, i, words, end - first, classes.bits, values)
            return class_number(kind, values, classes.counts[i], whole, rows, parameter)
    return float(set_size(classes.sets, i, lanes.set_at[column], end - first))


@inner
def mark_failing(classes, least, lanes, counted, limits, rows, allowed, failing, values, told):
    """failing[i] = 1 where class i is smaller than ``least`` or misses a limit on its values; returns its rows in all.

    A class without rows is one of the population alone: nothing of it can be shown, so it fails. Where more than
    ``allowed`` rows fail, the classes behind are not looked at. values and told: as for class_value.
    """
    sizes, counts = classes.sizes, classes.counts
    kinds, columns, bounds = limits.kinds, limits.columns, limits.bounds
    gone = np.int64(0)
    for i in range(classes.size):
        failing[i] = sizes[i] < least or counts[i] == 0
        gone += counts[i] if failing[i] else 0
    for i in range(classes.size):
        if gone > allowed:
            break
        for j in range(kinds.shape[0]):
            if failing[i]:
                break
            number = class_value(classes, lanes, counted, kinds[j], columns[j], bounds[j, 1], i, rows, values, told)
            if is_worse(kinds[j], number, bounds[j, 0]):
                failing[i] = True
                gone += counts[i]
    return gone


@inner
def count_bits(word):
    """How many bits of a word are set: sums of two, four, eight bits side by side, then all bytes by one product."""
    word = word - ((word >> 1) & 0x5555555555555555)
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (word * 0x0101010101010101) >> 56


@inner
def set_size(sets, i, place, values):
    """How many values the set of class i has; place: (3,) int64, first word, words, lowest bit."""
    first, words, shift = place[0], place[1], place[2]
    if words == 1:
        mask = (np.int64(1) << values) - 1 if values < 64 else np.int64(-1)
        return count_bits((sets[first, i] >> shift) & mask)
    seen = np.int64(0)
    for w in range(first, first + words):
        seen += count_bits(sets[w, i])
    return seen


@inner
def fewest_values(classes, hiding, place, values, stop):
    """The fewest values of a visible class, by sets; infinite where none is visible."""
    sizes, sets, size = classes.sizes, classes.sets, classes.size
    threshold, failing, marked = max(hiding.threshold, 1), hiding.failing, hiding.marked
    block = 512  # after so many classes it is asked whether the worst has been seen
    none = np.int64(2**40)
    fewest = none
    mask = (np.int64(1) << values) - 1 if values < 64 else np.int64(-1)
    row, shift = sets[place[0]], place[2]
    for start in range(0, size, block):
        end = min(start + block, size)
        if place[1] == 1 and not marked:  # nothing branches, so that several classes are counted at once
            for i in range(start, end):
                seen = count_bits((row[i] >> shift) & mask)
                fewest = min(fewest, none if sizes[i] < threshold else seen)
        else:
            for i in range(start, end):
                if not ((marked and failing[i]) or sizes[i] < threshold):
                    fewest = min(fewest, set_size(sets, i, place, values))
        if fewest <= stop:
            break
    return float(fewest) if fewest < none else math.inf


@compiled
def worst_equal(classes, hiding, first, totals, rows, stop):
    """T_EQUAL of the worst visible class, classes side by side; rows below 2**26, so that every product is exact."""
    sizes, counts, hists, size, bits = classes.sizes, classes.counts, classes.hists, classes.size, classes.bits
    threshold, failing, marked = max(hiding.threshold, 1), hiding.failing, hiding.marked
    block = 256  # classes whose sums stay in the first cache
    far = np.zeros(block, dtype=np.float64)
    all_rows = np.zeros(block, dtype=np.float64)
    padded = totals.shape[0] + totals.shape[0] % 2  # the lane of one value more is empty
    shares = np.zeros(padded, dtype=np.float64)
    for v in range(totals.shape[0]):
        shares[v] = totals[v]
    mask = (np.int64(1) << bits) - 1
    per_word = 64 // bits
    whole = float(rows)
    value = 0.0
    for start in range(0, size, block):
        here = min(block, size - start)
        for i in range(here):
            far[i] = 0.0
            all_rows[i] = float(counts[start + i])
        for v in range(0, padded, 2):  # two values at a time, so that the sums are read and written half as often
            shift, next_shift = v % per_word * bits, (v + 1) % per_word * bits
            share, next_share = shares[v], shares[v + 1]
            row = hists[first + v // per_word, start : start + here]
            for i in range(here):  # 32 bits, because wider whole numbers become reals one by one
                count = float(np.int32((row[i] >> shift) & mask))
                next_count = float(np.int32((row[i] >> next_shift) & mask))
                n = all_rows[i]
                far[i] += abs(count * whole - share * n) + abs(next_count * whole - next_share * n)
        for i in range(here):
            if (marked and failing[start + i]) or sizes[start + i] < threshold:
                continue
            number = far[i] / (2.0 * whole * all_rows[i])
            if number > value:
                value = number
                if value >= stop:
                    return value
    return value


@inner
def people_number(kind, classes, hiding, first):
    """One of BEHIND, PRESENCE_MAX, PRESENCE_MIN and RECOGNISED, over the visible classes.

    Word ``first`` counts the people who look like each class. A class without rows is one of the population alone.
    """
    sizes, counts, people = classes.sizes, classes.counts, classes.hists[first]
    threshold, failing, marked = max(hiding.threshold, 1), hiding.failing, hiding.marked
    fewest, most, least, total = math.inf, 0.0, math.inf, 0.0
    for i in range(classes.size):
        if (marked and failing[i]) or sizes[i] < threshold:
            least = 0.0  # nothing of it is released, so its people are known to be absent
            continue
        share = counts[i] / people[i]
        fewest = min(fewest, float(people[i]))
        most = max(most, share)
        least = min(least, share)
        total += share
    if kind == BEHIND:
        return fewest
    if kind == PRESENCE_MAX:
        return most
    return least if kind == PRESENCE_MIN else total


@inner
def value_numbers(classes, hiding, lost, lanes, counted, numbers, rows, values, told, out):
    """Fill one number per statistic of values into out: the worst visible class, or the sum over them.

    lost: rows of the table in hidden classes; counted, values and told: as for class_value.
    """
    value_at, set_at, kinds, columns = lanes.value_at, lanes.set_at, numbers.kinds, numbers.columns
    for j in range(kinds.shape[0]):
        kind, column = kinds[j], columns[j]
        if kind < 0:  # known from the thresholds of the rule as-needed
            continue
        if told is not None:
            if column < 0:
                out[j] = worst_told(classes, hiding, kind, told[-1 - column])
                continue
        if counted is not None:
            if kind != DISTINCT or set_at[column, 1] == 0:
                out[j] = hist_number(classes, hiding, lost, counted, numbers, j, rows, values)
                continue
        out[j] = fewest_values(
            classes, hiding, set_at[column], value_at[column + 1] - value_at[column], numbers.stops[j]
        )


@inner
def worst_of_none(kind):
    """What the worst number of no class at all is; of persons with several values a gain may be below zero."""
    if kind == BETA or kind == ENHANCED_BETA:
        return -math.inf
    return math.inf if kind == DISTINCT or kind == ENTROPY or kind == BEHIND else 0.0


@inner
def worse_of(kind, one, other):
    """The worse of two numbers."""
    return min(one, other) if kind == DISTINCT or kind == ENTROPY or kind == BEHIND else max(one, other)


@inner
def worst_told(classes, hiding, kind, told):
    """The worst of the numbers of visible classes."""
    worst = worst_of_none(kind)
    for i in range(classes.size):
        if not is_hidden(classes, hiding, i):
            worst = worse_of(kind, worst, told[i])
    return worst


@inner
def hist_number(classes, hiding, lost, lanes, numbers, j, rows, values):
    """Number j, from the histograms of the visible classes."""
    sizes, counts, hists, bits = classes.sizes, classes.counts, classes.hists, classes.bits
    threshold, failing, marked = max(hiding.threshold, 1), hiding.failing, hiding.marked
    kind, column, stop = numbers.kinds[j], numbers.columns[j], numbers.stops[j]
    whole = lanes.totals[lanes.value_at[column] : lanes.value_at[column + 1]]
    first = lanes.word_at[lane_width(bits), column]
    if kind == MINORITY or kind == OWN:
        return hist_sum(kind, classes, hiding, lost, first, whole.shape[0], values)
    if kind >= COST:
        return target_sum(kind, classes, hiding, first, whole, numbers.worths[j], numbers.parameters[j], values)
    if BEHIND <= kind <= RECOGNISED:
        return people_number(kind, classes, hiding, first)
    if kind == T_EQUAL and bits < 64 and rows < 2**26:
        return worst_equal(classes, hiding, first, whole, rows, stop)
    rises = kind == DISTINCT or kind == ENTROPY
    value = math.inf if rises else 0.0
    for i in range(classes.size):
        if (marked and failing[i]) or sizes[i] < threshold:
            continue
        unpack(hists, i, first, whole.shape[0], bits, values)
        number = class_number(kind, values, counts[i], whole, rows, numbers.parameters[j])
        if rises:
            if number < value:
                value = number
                if value <= stop:
                    break
        elif number > value:
            value = number
            if value >= stop:
                break
    return value
