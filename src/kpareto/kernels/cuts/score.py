"""The score of genomes by cuts: weighted losses under a fixed k, for the searches that ask for nothing else.

A search that scores many similar genomes first rolls the rows up: leaves that none of them separates become one
(``roll_up_parts``), and each genome is counted on the fewer rows that are left.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.cuts.count import cut_classes
from kpareto.kernels.cuts.genomes import genome_groups
from kpareto.kernels.hashing import dense_ids, part_ids
from kpareto.kernels.records import PartRoom, PartRows, TargetEntries


@compiled
def roll_up_parts(groups, leaf_at, rows, room):
    """Rows merged as far as a cut allows: again rows by parts, whose leaves are the first of each group."""
    columns, part_at, combos, combo_counts = rows.columns, rows.part_at, rows.combos, rows.combo_counts
    row_combos, weights, words = rows.row_combos, rows.weights, rows.words
    table, firsts, keys, ids = room.table, room.firsts, room.keys, room.members
    parts = part_at.shape[0] - 1
    distinct = row_combos.shape[1]
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
        at, end, size = part_at[p], part_at[p + 1], combo_counts[p]
        n = part_ids(groups, leaf_at, columns[at:end], combos[at:end, :size], table, firsts, keys, ids)
        for i in range(size):
            merged[p, i] = ids[i]
        for i in range(n):
            kept[p, i] = firsts[i]
        counts[p] = n
        most = max(most, n)
    out_combos = np.zeros((combos.shape[0], most), dtype=np.int32)
    for p in range(parts):
        for j in range(part_at[p], part_at[p + 1]):
            start = leaf_at[columns[j]]
            for i in range(counts[p]):
                out_combos[j, i] = fronts[start + combos[j, kept[p, i]]]
    radix = np.int64(1)
    for r in range(distinct):
        keys[r] = 0
    for p in range(parts):
        if radix > (np.int64(1) << 60) // counts[p]:
            radix = np.int64(dense_ids(keys, distinct, radix, table, firsts, ids))
            for r in range(distinct):
                keys[r] = ids[r]
        for r in range(distinct):
            keys[r] = keys[r] * counts[p] + merged[p, row_combos[p, r]]
        radix *= counts[p]
    n = dense_ids(keys, distinct, radix, table, firsts, ids)
    out_rows = np.zeros((parts, n), dtype=np.int32)
    out_weights = np.zeros(n, dtype=np.int64)
    out_words = np.zeros((words.shape[0], n), dtype=np.int64)
    for p in range(parts):
        for i in range(n):
            out_rows[p, i] = merged[p, row_combos[p, firsts[i]]]
    for r in range(distinct):
        out_weights[ids[r]] += weights[r]
        for w in range(words.shape[0]):
            out_words[w, ids[r]] += words[w, r]
    entries = merge_entries(rows.entries, ids, n)
    return PartRows(columns, part_at, out_combos, counts, out_rows, out_weights, out_words, entries)


@compiled
def merge_entries(entries, ids, n):
    """The entries of n merged rows, ids[row] each: those of one row and one number become one."""
    at, row, step, weight = entries.at, entries.row, entries.step, entries.weight
    out_at = np.zeros_like(at)
    out_row, out_step, out_weight = np.zeros_like(row), np.zeros_like(step), np.zeros_like(weight)
    last = np.zeros(n, dtype=np.int64)  # the newest entry of each row
    used = np.int64(0)
    for t in range(at.shape[0] - 1):
        for i in range(n):
            last[i] = -1
        for e in range(at[t], at[t + 1]):
            i = ids[row[e]]
            if last[i] < 0 or out_step[last[i]] != step[e]:
                last[i] = used
                out_row[used] = i
                out_step[used] = step[e]
                used += 1
            out_weight[last[i]] += weight[e]
        out_at[t + 1] = used
    return TargetEntries(out_at, out_row[:used], out_step[:used], out_weight[:used])


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
def narrow_room(room, distinct):
    """The part of the room that so many distinct rows need: fewer places are touched and emptied."""
    places = 1024
    while places < 8 * distinct and places < room.table.shape[0]:
        places *= 2
    return PartRoom(
        room.table[:places],
        room.firsts,
        room.keys,
        room.shares,
        room.members,
        room.counts[: 2 * distinct + 1024],
        room.hists,
        room.cells,
        room.more,
    )


@compiled
def score_one(groups, leaf_at, rows, losses, terms, room):
    """The score of one genome, lower is better: weighted losses under the rule below-k.

    groups: (all leaves,) int32, its cuts. Where more rows are suppressed than allowed, the score is 10**18 and more, by
    how many.
    """
    counts, hists, k = room.counts, room.hists, terms.k
    deviating = terms.deviation_weights.shape[0] > 0
    n = cut_classes(groups, leaf_at, rows, narrow_room(room, rows.row_combos.shape[1]), deviating)
    score = cell_score(groups, leaf_at, losses, room.cells)
    lost = np.int64(0)
    for i in range(n):
        if counts[i] < k:
            lost += counts[i]
    if lost > terms.allowed:
        return 1e18 + lost
    if lost > 0:
        score = add_suppressed(score, leaf_at, rows, n, k, room)
    for t in range(terms.values.shape[0]):
        score += target_score(counts, hists[terms.word_at[t] :], n, lost, terms, t)
    for s in range(terms.squares.shape[0]):
        word = hists[terms.hist_words + s]
        explained = 0.0
        away = np.int64(0)
        for i in range(n):
            if counts[i] < k:
                away += word[i]
            else:
                explained += np.float64(word[i]) * np.float64(word[i]) / counts[i]
        if lost > 0:
            explained += np.float64(away) * np.float64(away) / lost
        score += terms.square_weights[s] * (terms.squares[s] - explained)
    if deviating:
        score += deviation_score(counts, room.members, n, lost, rows.entries, terms)
    return score


@compiled
def deviation_score(counts, members, n, lost, entries, terms):
    """The weighted deviations from the median of each class, the suppressed rows being one more.

    The deviations of a class add up to its upper half less its lower half, whichever median is taken of two; so one
    pass over the numbers in rising order is enough.
    """
    at, row, step, weight, k = entries.at, entries.row, entries.step, entries.weight, terms.k
    below = np.zeros(n + 1, dtype=np.int64)  # rows of each class that came before
    score = 0.0
    for t in range(at.shape[0] - 1):
        for i in range(n + 1):
            below[i] = 0
        total = np.int64(0)
        for e in range(at[t], at[t + 1]):
            member = members[row[e]]
            size = counts[member]
            if size < k:
                member, size = n, lost
            before = below[member]
            after = before + weight[e]
            below[member] = after
            half = size // 2
            low = min(after, half) - min(before, half)
            high = max(after, size - half) - max(before, size - half)
            total += (high - low) * step[e]
        score += terms.deviation_weights[t] * total
    return score


@inner
def cell_score(groups, leaf_at, losses, cells):
    """What all cells lose together, nothing suppressed; cells: filled, what a cell loses more when it is suppressed."""
    run_at, runs, lost, leaf_rows = losses.run_at, losses.runs, losses.lost, losses.leaf_rows
    score = 0.0
    for column in range(leaf_at.shape[0] - 1):
        start, end = leaf_at[column], leaf_at[column + 1]
        leaf = start
        while leaf < end:
            first = leaf
            rows = np.int64(0)
            while leaf < end and groups[leaf] == groups[first]:
                rows += leaf_rows[leaf]
                leaf += 1
            loss = runs[run_at[column] + (first - start) * (end - start) + (leaf - 1 - start)]
            score += loss * rows
            for i in range(first, leaf):
                cells[i] = lost[column] - loss
    return score


@inner
def add_suppressed(score, leaf_at, rows, n, k, room):
    """The score with what the cells of classes smaller than k lose more, class by class."""
    combos, combo_counts, row_combos = rows.combos, rows.combo_counts, rows.row_combos
    counts, firsts, cells, more = room.counts, room.firsts, room.cells, room.more
    parts = rows.part_at.shape[0] - 1
    for p in range(parts):
        for i in range(combo_counts[p]):
            more[p, i] = 0.0
        for j in range(rows.part_at[p], rows.part_at[p + 1]):
            at = leaf_at[rows.columns[j]]
            for i in range(combo_counts[p]):
                more[p, i] += cells[at + combos[j, i]]
    for i in range(n):
        if counts[i] < k:
            extra = 0.0
            for p in range(parts):
                extra += more[p, row_combos[p, firsts[i]]]
            score += extra * counts[i]
    return score


@compiled
def target_score(counts, hists, n, lost, terms, t):
    """The weighted classification losses of target t: rows suppressed or not of the majority, the same with costs."""
    k, lane_bits, values, costs = terms.k, terms.lane_bits, terms.values[t], terms.costs[t]
    cost_weight = terms.cost_weights[t]
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
            most = np.int64(0)
            for v in range(values):
                hist[v] = away[v]
                most = max(most, hist[v])
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
    return terms.cm_weights[t] * wrong + cost_weight * priced


@compiled
def part_room(rows, leaves):
    """Room for counting and scoring these rows, or fewer, by parts."""
    distinct, most = rows.row_combos.shape[1], rows.combos.shape[1]
    parts = rows.part_at.shape[0] - 1
    places = 65536
    while places < 2 * distinct or (places < 16 * distinct and places < 1 << 20):
        places *= 2
    slots = 2 * distinct + 1024
    return PartRoom(
        np.full(places, -1, dtype=np.int32),
        np.zeros(slots, dtype=np.int64),
        np.zeros(max(distinct, most), dtype=np.int64),
        np.zeros((parts, most), dtype=np.int64),
        np.zeros(max(distinct, most), dtype=np.int32),
        np.zeros(slots, dtype=np.int64),
        np.zeros((rows.words.shape[0], slots), dtype=np.int64),
        np.zeros(leaves, dtype=np.float64),
        np.zeros((parts, most), dtype=np.float64),
    )


@compiled
def score_genomes(genomes, genes, scoring):
    """The scores of many genomes (n, genes) uint8: (n,) float64."""
    leaf_at = genes.leaf_at
    room = part_room(scoring.rows, leaf_at[-1])
    groups = np.zeros(leaf_at[-1], dtype=np.int32)
    scores = np.zeros(genomes.shape[0], dtype=np.float64)
    for i in range(genomes.shape[0]):
        genome_groups(genomes[i], genes, groups)
        scores[i] = score_one(groups, leaf_at, scoring.rows, scoring.losses, scoring.terms, room)
    return scores
