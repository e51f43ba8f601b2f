"""Counting recodings by cuts: classes, persons, cells and the whole batch.

``evaluate_cuts`` counts many recodings with everything that measures ask, run by run (see runs.py). ``cut_classes``
counts one recoding by parts of columns, for the searches that score one genome after the other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.classes import is_hidden, size_numbers, size_steps
from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.cuts.persons import tell_away, tell_classes
from kpareto.kernels.cuts.runs import add_words, roll_up_runs, run_classes, run_room, union_cut
from kpareto.kernels.hashing import dense_ids, part_ids
from kpareto.kernels.histograms import class_value, mark_failing, value_numbers, worse_of
from kpareto.kernels.lattice.branching import grow_rows
from kpareto.kernels.needed import combine, next_combination, prepare_reach, rank_number, worst_numbers
from kpareto.kernels.records import Classes, Hiding, SizeSteps
from kpareto.kernels.words import (
    AS_NEEDED,
    BELOW_K,
    CAP_MAX_K,
    CHUNK,
    INTS,
    LARGEST,
    MINORITY,
    NONE,
    SUPPRESSED,
    UNIQUES,
    K,
)


class Persons(NamedTuple):
    """The persons of each distinct row."""

    starts: np.ndarray  # (distinct + 1,) int64
    codes: np.ndarray  # (…,) int64
    size: int  # how many there are


class PersonRoom(NamedTuple):
    """Room for counting the persons of classes."""

    stamps: np.ndarray  # (persons,) int64, the last class that met each person
    starts: np.ndarray  # (distinct + 1,) int64
    order: np.ndarray  # (distinct,) int64


class MaskRoom(NamedTuple):
    """The class of masked rows, and room for finding out whether it passes."""

    sizes: np.ndarray  # (1,) int64, its persons
    counts: np.ndarray  # (1,) int64, its rows
    hists: np.ndarray  # (words, 1) int64
    failing: np.ndarray  # (1,) bool
    reals: np.ndarray  # (numbers,) float64
    totals: np.ndarray  # (words,) int64, of all rows of the table
    away: np.ndarray  # (distinct,) bool, which classes are suppressed, as they were numbered first
    ids: np.ndarray  # (distinct,) int64, the first number of each class that is left
    told: np.ndarray  # (numbers that count persons, 1) float64


class CutRoom(NamedTuple):
    """Room for the losses and suppressed classes of one recoding."""

    extra: np.ndarray  # (losses, all leaves) int64, what a cell loses more when it is suppressed
    sums: np.ndarray  # (losses,) int64
    outer_more: np.ndarray  # (outer combinations,) int64, the same summed over the columns of a combination
    inner_more: np.ndarray  # (inner combinations,) int64
    hidden: np.ndarray  # (2, distinct + 1) int64, number and rows of each suppressed class
    shown: np.ndarray  # (distinct + 1,) int64
    failing: np.ndarray  # (distinct,) bool, or one place where no class is judged by its values
    values: np.ndarray  # (values,) int64, the histogram of one class
    base: np.ndarray  # (losses, 1) int64, what the losses grow by for the classes that miss a limit of the job
    steps: SizeSteps  # the thresholds of k


class CutRows(NamedTuple):
    """The statistics of recodings, one row per threshold; the last rows may be empty."""

    labels: np.ndarray  # (most, 2) int64, place of the genome and threshold
    ints: np.ndarray  # (most, INTS + losses) int64
    reals: np.ndarray  # (most, numbers) float64


class WideCells(NamedTuple):
    """Cell losses of columns whose runs of leaves are too many for a table: of the cuts at hand alone."""

    at: np.ndarray  # (genomes, columns) int64, where the leaves of each column start in cells; -1: it is not wide
    cells: np.ndarray  # (losses, …) int64, the loss of a cell with each leaf
    sums: np.ndarray  # (losses, genomes) int64, over all rows and all wide columns


@compiled
def cut_classes(groups, leaf_at, rows, room, members_wanted):
    """Count the classes of a recoding by cuts; returns how many there are.

    groups: (all leaves,) int32, the cut of each column, one after the other. Columns are grouped into a few parts; the
    groups of each distinct combination within a part are looked up once, so a row costs one look-up per part. Where the
    groups of the parts have few products, a product is a slot by itself and no table of classes is searched.
    """
    part_at, row_combos, weights, row_hists = rows.part_at, rows.row_combos, rows.weights, rows.words
    table, firsts, keys, shares, members = room.table, room.firsts, room.keys, room.shares, room.members
    counts, hists = room.counts, room.hists
    parts = part_at.shape[0] - 1
    distinct = np.uint64(row_combos.shape[1])
    words = row_hists.shape[0]
    radix = np.int64(1)
    for p in range(parts - 1, -1, -1):
        size = rows.combo_counts[p]
        at, end = part_at[p], part_at[p + 1]
        n = part_ids(groups, leaf_at, rows.columns[at:end], rows.combos[at:end, :size], table, firsts, keys, members)
        share = shares[p]
        for i in range(np.uint64(size)):
            share[i] = np.int64(members[i]) * radix
        radix *= n
    first_share = shares[0]
    first_combos = row_combos[0]
    for r in range(distinct):
        keys[r] = first_share[np.uint64(first_combos[r])]
    for p in range(1, parts):
        share = shares[p]
        part_combos = row_combos[p]
        for r in range(distinct):
            keys[r] += share[np.uint64(part_combos[r])]
    slots = radix
    direct = not members_wanted and radix <= counts.shape[0]
    if not direct:
        slots = np.int64(dense_ids(keys, row_combos.shape[1], radix, table, firsts, members))
        for r in range(distinct):
            keys[r] = members[r]
    for slot in range(slots):
        counts[slot] = 0
    for r in range(distinct):
        place = np.uint64(keys[r])
        counts[place] += weights[r]
        firsts[place] = r
    for w in range(words):
        hist = hists[w]
        row_hist = row_hists[w]
        for slot in range(slots):
            hist[slot] = 0
        for r in range(distinct):
            hist[np.uint64(keys[r])] += row_hist[r]
    if not direct:
        return slots
    n = 0
    for slot in range(slots):
        if counts[slot] > 0:
            counts[n] = counts[slot]
            firsts[n] = firsts[slot]
            for w in range(words):
                hists[w, n] = hists[w, slot]
            n += 1
    return n


@compiled
def count_persons(members, n, persons, stamp, room, sizes):
    """Distinct persons in each class: sizes[:n]. Returns the last stamp used; the next classes go on from there."""
    person_at, codes = persons.starts, persons.codes
    stamps, starts, order = room.stamps, room.starts, room.order
    rows = members.shape[0]
    for c in range(n + 1):
        starts[c] = 0
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
                if stamps[codes[e]] != stamp:
                    stamps[codes[e]] = stamp
                    seen += 1
            row += 1
        sizes[c] = seen
    return stamp


@inner
def cut_cells(groups, leaf_at, losses, wide, g, extra, sums):
    """Cell losses of a recoding by cuts: their sums over all rows, and what a suppressed cell loses more (extra).

    wide: None, or the WideCells of the recodings, of which this one is number g.
    """
    run_at, runs, lost, leaf_rows = losses.run_at, losses.runs, losses.lost, losses.leaf_rows
    count = runs.shape[0]
    for b in range(count):
        sums[b] = 0
    for column in range(leaf_at.shape[0] - 1):
        start = leaf_at[column]
        end = leaf_at[column + 1]
        leaf = start
        if wide is not None:
            at = wide.at[g, column]
            if at >= 0:
                leaf = end
                for b in range(count):
                    for i in range(start, end):
                        extra[b, i] = lost[b, column] - wide.cells[b, at + i - start]
        while leaf < end:
            first = leaf
            rows = np.int64(0)
            while leaf < end and groups[leaf] == groups[first]:
                rows += leaf_rows[leaf]
                leaf += 1
            place = run_at[column] + (first - start) * (end - start) + (leaf - 1 - start)
            for b in range(count):
                loss = runs[b, place]
                sums[b] += loss * rows
                for i in range(first, leaf):
                    extra[b, i] = lost[b, column] - loss
    if wide is not None:
        for b in range(count):
            sums[b] += wide.sums[b, g]


@compiled
def split_classes(classes, hiding, told, hidden, shown):
    """Move the visible classes to the front; returns how many they are, and the rows in the others.

    told: None or numbers that count persons, which move too. hidden: filled with the number and the rows of each of the
    others; shown: room. The first loop does not branch,
    because whether a class is visible can rarely be guessed.
    """
    sizes, counts, hists = classes.sizes, classes.counts, classes.hists
    threshold, failing, marked = hiding.threshold, hiding.failing, hiding.marked
    left, gone = np.uint64(0), np.uint64(0)
    one, zero = np.uint64(1), np.uint64(0)
    for i in range(np.uint64(classes.size)):
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
        if told is not None:
            for w in range(told.shape[0]):
                for j in range(left):
                    told[w, j] = told[w, np.uint64(shown[j])]
    return np.int64(left), lost


@inner
def suppressed_loss(rows, leaf_at, extra, gone, firsts, room):
    """What suppressing the classes in room.hidden[:, :gone] adds to a loss; extra: (all leaves,) int64 per cell.

    Summed over the columns for each combination beforehand, unless the classes are fewer.
    """
    columns, outer_combos, inner_combos = rows.columns, rows.outer_combos, rows.inner_combos
    outer, inner, hidden = rows.outer, rows.inner, room.hidden
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
    outer_more, inner_more = room.outer_more, room.inner_more
    add_cells(outer_combos, columns[:outer_count], leaf_at, extra, outer_more)
    add_cells(inner_combos, columns[outer_count:], leaf_at, extra, inner_more)
    for h in range(np.uint64(gone)):
        r = firsts[np.uint64(hidden[0, h])]
        total += hidden[1, h] * (outer_more[np.uint64(outer[r])] + inner_more[np.uint64(inner[r])])
    return total


@inner
def add_cells(combos, columns, leaf_at, extra, out):
    """The sum over a part's columns for each of its combinations."""
    for i in range(combos.shape[1]):
        out[i] = 0
    for j in range(combos.shape[0]):
        leaf, at = combos[j], leaf_at[columns[j]]
        for i in range(np.uint64(combos.shape[1])):
            out[i] += extra[np.uint64(at + leaf[i])]


@compiled
def take_leads_apart(counts, hist, size, lead_bits, lane_bits):
    """Leads of classes, which carry rows above a histogram word: the rows stay in counts, the word goes to hist."""
    lead_mask = (np.int64(1) << lead_bits) - 1
    lane_mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    for i in range(size):
        lead = counts[i]
        hist[i] = lead & lead_mask
        counts[i] = (lead >> lead_bits) & lane_mask


@compiled
def class_losses(rows, leaf_at, extra, first, count, more, j):
    """Add what losses grow by when a class of ``count`` rows is suppressed to column j of more; first: a row of it."""
    columns, outer_combos, inner_combos = rows.columns, rows.outer_combos, rows.inner_combos
    outer_count = outer_combos.shape[0]
    for b in range(extra.shape[0]):
        total = np.int64(0)
        for c in range(outer_count):
            total += extra[b, leaf_at[columns[c]] + outer_combos[c, rows.outer[first]]]
        for c in range(inner_combos.shape[0]):
            total += extra[b, leaf_at[columns[outer_count + c]] + inner_combos[c, rows.inner[first]]]
        more[b, j] += count * total


@compiled
def count_away(members, away, persons, stamp, stamps):
    """Distinct persons in the rows of classes that are away."""
    person_at, codes = persons.starts, persons.codes
    seen = np.int64(0)
    for r in range(members.shape[0]):
        if away[members[r]]:
            for e in range(person_at[r], person_at[r + 1]):
                if stamps[codes[e]] != stamp:
                    stamps[codes[e]] = stamp
                    seen += 1
    return seen


@compiled
def add_masked(classes, hiding, own, rule, lanes, questions, needed, mask, told, values, row, reals):
    """Let the class of masked rows, of ``own`` persons, count in a row of statistics, where it passes as others do.

    told: None, or its numbers that count persons.

    It must be as large as the smallest class that is left (below-k: as k), unless sizes do not matter; under the rule
    as-needed it must meet the limits, and be no worse than the others by any graded number (partition.suppress).
    """
    hists = classes.hists
    mask.sizes[0] = own
    mask.counts[0] = row[SUPPRESSED]
    least, shown = own + 1, False
    for w in range(hists.shape[0]):
        mask.hists[w, 0] = mask.totals[w]
    for i in range(classes.size):
        if not is_hidden(classes, hiding, i):
            least = min(least, classes.sizes[i]) if shown else classes.sizes[i]
            shown = True
            for w in range(hists.shape[0]):
                mask.hists[w, 0] -= hists[w, i]
    needs = rule.number == AS_NEEDED
    if rule.number == BELOW_K:
        least = rule.k
    if (own < least and (rule.by_size or not needs)) or (needs and own < rule.k):
        return
    if questions is not None:
        alone = Classes(mask.sizes, mask.counts, classes.sets, mask.hists, 1, classes.bits)
        if needs and rule.marked:
            everybody = np.int64(2**62)
            mark_failing(alone, 0, lanes, lanes, questions.limits, rule.rows, everybody, mask.failing, values, told)
            if mask.failing[0]:
                return
        if needed is not None:
            axes, numbered, _ = needed
            if not is_as_good(alone, shown, rule.rows, lanes, axes, numbered, mask, told, values, reals):
                return
        numbers = questions.numbers
        all_shown = Hiding(0, mask.failing, False)
        value_numbers(alone, all_shown, 0, lanes, lanes, numbers, rule.rows, values, told, mask.reals)
        for j in range(numbers.kinds.shape[0]):
            kind = numbers.kinds[j]
            if 0 <= kind < MINORITY:  # sums over classes leave it out: its rows are lost
                reals[j] = worse_of(kind, reals[j], mask.reals[j])
    row[K] = min(row[K], own)
    row[LARGEST] = max(row[LARGEST], own)
    row[UNIQUES] += row[SUPPRESSED] if own == 1 else 0


@compiled
def is_as_good(alone, shown, rows, lanes, axes, numbered, mask, told, values, reals):
    """Whether a class by itself is no worse than the visible ones by any graded number; reals then know it too."""
    for a in range(axes.objectives):
        own_rank, worst_rank = -math.inf, -math.inf
        for e in range(axes.places.shape[0]):
            if axes.owners[e] == a:
                place = axes.places[e]
                kind, column, parameter = numbered.kinds[place], numbered.columns[place], numbered.parameters[place]
                number = class_value(alone, lanes, lanes, kind, column, parameter, 0, rows, values, told)
                mask.reals[place] = number
                own_rank = max(own_rank, rank_number(kind, number, axes.step))
                if shown:
                    worst_rank = max(worst_rank, rank_number(kind, reals[place], axes.step))
        if own_rank > worst_rank:
            return False
    for e in range(axes.places.shape[0]):
        place = axes.places[e]
        reals[place] = worse_of(numbered.kinds[place], reals[place], mask.reals[place])
    return True


@compiled
def needed_rows(g, classes, cutoffs, where, asked, persons, people, owned, mask, room, out, used):
    """The rows of one recoding where thresholds are taken of numbers too (needed.py); returns them, and how many.

    where: (RunRows, leaf_at, RunRoom); asked: (RuleNumbers, KernelQuestions, needed).
    """
    rows, leaf_at, runs = where
    rule, questions, needed = asked
    told = None
    if owned is not None:
        told = owned[1].told
    firsts = runs.firsts
    axes, numbered, reach = needed
    labels, ints, reals, steps = out.labels, out.ints, out.reals, room.steps
    sizes, counts, size, failing = classes.sizes, classes.counts, classes.size, room.failing
    least = max(rule.k, 1)
    missed = Hiding(least, failing, rule.marked)
    gone = steps.lost[0]
    losses = room.extra.shape[0]
    for b in range(losses):
        room.base[b, 0] = 0
    if not rule.marked:
        for i in range(size):
            failing[i] = False
    if gone > 0:
        for i in range(size):
            if failing[i] or sizes[i] < least:
                class_losses(rows, leaf_at, room.extra, firsts[i], counts[i], room.base, 0)
    again = gone <= rule.allowed
    within, strictest = 0, np.int64(0)
    if again:
        lanes = questions.lanes
        within, strictest = prepare_reach(
            classes, missed, gone, cutoffs, rule, lanes, lanes, numbered, axes, (room.values, told), reach, steps
        )
        for u in range(within):
            for b in range(losses):
                reach.costs[b, u] = 0
            i = reach.classes[u]
            class_losses(rows, leaf_at, room.extra, firsts[i], counts[i], reach.costs, u)
    else:
        worst_numbers(classes, missed, questions.lanes, numbered, axes, rule.rows, room.values, told, reach.worst)
        steps.lost[0] = 0
        steps.thresholds[0] = least
        for b in range(losses):
            steps.more[b, 0] = 0
    first, n = True, 1
    while first or again:
        if again:
            n = combine(classes, within, rule.allowed - gone, strictest, axes, numbered, reach, steps)
            for u in range(within):
                failing[reach.classes[u]] = n > 0 and reach.away[u]
        for j in range(n):
            if used == labels.shape[0]:
                labels, ints, reals = grow_rows(labels, used), grow_rows(ints, used), grow_rows(reals, used)
            hiding = Hiding(max(steps.thresholds[j], least), failing, True)
            row = ints[used]
            labels[used, 0] = g
            labels[used, 1] = hiding.threshold
            size_numbers(sizes, counts, size, hiding, rule.risky_below, row)
            row[SUPPRESSED] = steps.lost[j] + gone
            for b in range(losses):
                row[INTS + b] = room.sums[b] + room.base[b, 0] + steps.more[b, j]
            lost, lanes = row[SUPPRESSED], questions.lanes
            numbers = questions.numbers
            value_numbers(classes, hiding, lost, lanes, lanes, numbers, rule.rows, room.values, told, reals[used])
            for e in range(axes.places.shape[0]):
                reals[used, axes.places[e]] = reach.worst[e, j]
            if mask is not None:
                own = lost
                if persons is not None:
                    for i in range(size):
                        mask.away[i] = is_hidden(classes, hiding, i)
                    own = count_away(runs.members, mask.away, persons, -1 - used, people.stamps)
                if lost > 0:
                    theirs = None
                    if owned is not None:
                        theirs = mask.told
                        tell_away(runs.members, mask.away, people.order, owned[0], owned[1], theirs)
                    add_masked(
                        classes, hiding, own, rule, lanes, questions, needed, mask, theirs, room.values, row,
                        reals[used],
                    )  # fmt: skip
            used += 1
        first = False
        if again:
            again = next_combination(reach, axes, n >= 0)
    return CutRows(labels, ints, reals), used


@compiled
def evaluate_cuts(genomes, leaf_at, rows, losses, wide, lanes, questions, needed, persons, owned, mask, rule):
    """Statistics of many recodings by cuts: labels (m, 2), the place of the genome and the threshold of each row, with
    ints (m, INTS + losses) and reals (m, numbers), as walk gives them.

    genomes: (n, all leaves) int32, cuts. The rule as-needed has a row for every threshold, the smallest first; the
    others have one per genome. questions is None where nothing is asked of values, needed where thresholds are taken of
    class sizes alone, else (Axes, ClassNumbers, ReachRoom), persons where they are not told apart, owned (Holders,
    HolderRoom) where no number counts them, wide (WideCells) where every column has its losses by runs, mask where
    suppressed rows are dropped: what is None is not compiled.
    """
    n, leaves = genomes.shape
    distinct, words, count = rows.inner.shape[0], rows.words.shape[0], losses.runs.shape[0]
    lead_bits, asked = rows.lead_bits, 0
    runs = run_room(leaf_at, rows, 1 << 18)
    capped = rule.number == CAP_MAX_K or rule.number == AS_NEEDED
    # Sizes that differ and add up to no more than what is allowed are few; the last one may pass it.
    most = 3 + int(math.sqrt(2.0 * rule.allowed)) if capped else 2
    steps = SizeSteps(
        np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.zeros((count, most), dtype=np.int64),
        np.zeros(rule.allowed + 1 if capped else 1, dtype=np.int64),
    )
    thresholds = steps.thresholds
    room = CutRoom(
        np.zeros((count, leaves), dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(rows.outer_combos.shape[1], dtype=np.int64),
        np.zeros(rows.inner_combos.shape[1], dtype=np.int64),
        np.zeros((2, distinct + 1), dtype=np.int64),
        np.zeros(distinct + 1, dtype=np.int64),
        np.zeros(distinct if rule.marked or needed is not None else 1, dtype=np.bool_),
        np.zeros(max(lanes.totals.shape[0], 1), dtype=np.int64),
        np.zeros((count, 1), dtype=np.int64),
        steps,
    )
    counts = sizes = runs.counts
    people = None
    if persons is not None:
        stamps, starts = np.zeros(persons.size, dtype=np.int64), np.zeros(distinct + 1, dtype=np.int64)
        people = PersonRoom(stamps, starts, np.zeros(distinct, dtype=np.int64))
        sizes = np.zeros(distinct, dtype=np.int64)
    told = None
    if owned is not None:
        told = owned[1].told
    if questions is not None:
        asked = questions.numbers.kinds.shape[0]
    hists = np.zeros((1 if lead_bits > 0 else words, distinct), dtype=np.int64)
    sets = np.zeros((0, 1), dtype=np.int64)  # histograms tell the values apart
    union = np.zeros(leaves, dtype=np.int32)
    least = 0 if rule.number == NONE else max(rule.k, 1)
    labels = np.zeros((n, 2), dtype=np.int64)
    ints = np.zeros((n, INTS + count), dtype=np.int64)
    reals = np.zeros((n, asked), dtype=np.float64)
    used = stamp = 0
    here = rows
    for g in range(n):
        groups = genomes[g]
        if g % CHUNK == 0:
            here = rows
            if persons is None and n - g >= CHUNK // 8:
                union_cut(genomes[g : g + CHUNK], leaf_at, union)
                here = roll_up_runs(union, leaf_at, rows, runs)
        size, _ = run_classes(groups, leaf_at, here, runs, persons is not None or words > 0)
        if lead_bits > 0:
            take_leads_apart(counts, hists[0], size, lead_bits, lanes.bits)
        else:
            add_words(here.words, runs.members, size, hists)
        if persons is not None:
            stamp = count_persons(runs.members, size, persons, stamp, people, sizes)
        if owned is not None:
            tell_classes(people.order, people.starts, size, owned[0], owned[1])  # type: ignore[union-attr]
        classes = Classes(sizes, counts, sets, hists, size, lanes.bits)
        if mask is not None:
            for w in range(hists.shape[0]):
                mask.totals[w] = 0
                for i in range(size):
                    mask.totals[w] += hists[w, i]
            for i in range(size):
                mask.away[i] = False
                mask.ids[i] = i
        if questions is not None:
            if rule.marked:
                everybody = np.int64(2**62)  # a search may compare recodings that miss the limit on suppressed rows
                mark_failing(
                    classes, least, lanes, lanes, questions.limits, rule.rows, everybody, room.failing, room.values,
                    told,
                )  # fmt: skip
        cutoffs = 1
        thresholds[0] = least
        if capped:
            missed = Hiding(least, room.failing, rule.marked)
            cutoffs = size_steps(sizes, counts, size, missed, rule.allowed, steps)
            if rule.number == CAP_MAX_K:
                thresholds[0], cutoffs = thresholds[cutoffs - 1], 1
            elif not rule.by_size:
                thresholds[0], cutoffs = least, 1
        cut_cells(groups, leaf_at, losses, wide, g, room.extra, room.sums)
        if needed is not None:
            out = CutRows(labels, ints, reals)
            where, judged = (here, leaf_at, runs), (rule, questions, needed)
            out, used = needed_rows(g, classes, cutoffs, where, judged, persons, people, owned, mask, room, out, used)
            labels, ints, reals = out.labels, out.ints, out.reals
            continue
        lost = np.int64(0)
        for t in range(cutoffs):
            if used == labels.shape[0]:
                labels, ints, reals = grow_rows(labels, used), grow_rows(ints, used), grow_rows(reals, used)
            row = ints[used]
            # What the threshold before has suppressed was moved away: only what this one adds is looked at.
            hiding = Hiding(thresholds[t], room.failing, rule.marked and t == 0)
            classes = Classes(sizes, counts, sets, hists, size, lanes.bits)
            left, more = split_classes(classes, hiding, told, room.hidden, room.shown)
            lost += more
            if left < size:
                for b in range(count):
                    room.sums[b] += suppressed_loss(here, leaf_at, room.extra[b], size - left, runs.firsts, room)
                for j in range(left if cutoffs > 1 else 0):
                    runs.firsts[j] = runs.firsts[room.shown[j]]
                if mask is not None:
                    for j in range(size - left):
                        mask.away[mask.ids[room.hidden[0, j]]] = True
                    for j in range(left):
                        mask.ids[j] = mask.ids[room.shown[j]]
            size = left
            nothing = Hiding(0, room.failing, False)  # suppressed classes have been moved away
            labels[used, 0] = g
            labels[used, 1] = thresholds[t]
            row[SUPPRESSED] = lost
            size_numbers(sizes, counts, left, nothing, rule.risky_below, row)
            for b in range(count):
                row[INTS + b] = room.sums[b]
            if questions is not None:
                visible = Classes(sizes, counts, sets, hists, left, lanes.bits)
                numbers = questions.numbers
                value_numbers(visible, nothing, 0, lanes, lanes, numbers, rule.rows, room.values, told, reals[used])
            if mask is not None:
                if lost > 0:
                    own = lost
                    if persons is not None:
                        own = count_away(runs.members, mask.away, persons, -1 - used, people.stamps)  # type: ignore[union-attr]
                    visible = Classes(sizes, counts, sets, hists, left, lanes.bits)
                    theirs = None
                    if owned is not None:
                        theirs = mask.told
                        tell_away(runs.members, mask.away, people.order, owned[0], owned[1], theirs)  # type: ignore[union-attr]
                    add_masked(
                        visible, nothing, own, rule, lanes, questions, None, mask, theirs, room.values, row,
                        reals[used],
                    )  # fmt: skip
            used += 1
    return labels[:used], ints[:used], reals[:used]
