"""The best cut of one column while the others stay, by dynamic programming over its leaves.

While all other columns stay as they are, the groups of one column do not share classes, so their costs add up. Rows
that agree on all other columns (*others*) form one class of a group; a group is grown leaf by leaf, and its cost is
known at every leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.cuts.count import cut_classes
from kpareto.kernels.cuts.genomes import genome_groups


class ColumnLeaves(NamedTuple):
    """One column to be recut: its borders, its tree, its rows by leaf."""

    gaps: np.ndarray  # (borders,) int64, rising; gap g lies between leaf g and leaf g + 1
    gene: np.ndarray  # (borders,) int64, the gene of each border, -1 where it is always drawn
    first: np.ndarray  # (nodes,) int64, first leaf of each tree node; no nodes where the column is free
    last: np.ndarray  # (nodes,) int64
    parent: np.ndarray  # (nodes,) int64
    above: np.ndarray  # (nodes,) bool, whether a border that is always drawn lies inside the node
    order: np.ndarray  # (distinct,) int64, rows by leaf
    starts: np.ndarray  # (leaves + 1,) int64


class MergedRows(NamedTuple):
    """Rows of each leaf that agree on all other columns, merged."""

    starts: np.ndarray  # (leaves + 1,) int64, where each leaf's merged rows start
    others: np.ndarray  # (…,) int64, the combination of the other columns
    counts: np.ndarray  # (…,) int64
    words: np.ndarray  # (words, …) int64


class CutPrices(NamedTuple):
    """What a row pays besides its cells in the other columns."""

    column: np.ndarray  # (leaves, leaves) float64, for a cell in the run from first to last leaf
    lost: float  # suppressed: all its cells
    fine: float  # suppressed: besides


class GroupRoom(NamedTuple):
    """Room for the classes of a growing group of leaves, zero before and after."""

    counts: np.ndarray  # (others,) int64
    words: np.ndarray  # (words, others) int64
    costs: np.ndarray  # (leaves,) float64, filled: the cost of the group that ends at each leaf


@compiled
def merge_rows(column, rows, members, count):
    """Merge the rows of each leaf that agree on all other columns.

    members: (distinct,) int32, which of ``count`` combinations of the other columns each row has.
    """
    order, starts, weights, words = column.order, column.starts, rows.weights, rows.words
    leaves, distinct = starts.shape[0] - 1, order.shape[0]
    stamps = np.zeros(count, dtype=np.int64)  # the last leaf that met each combination, counted from 1
    places = np.zeros(count, dtype=np.int64)  # and where its rows were merged
    merged_starts = np.zeros(leaves + 1, dtype=np.int64)
    merged_others = np.zeros(distinct, dtype=np.int64)
    counts = np.zeros(distinct, dtype=np.int64)
    merged_words = np.zeros((words.shape[0], distinct), dtype=np.int64)
    n = np.int64(0)
    for leaf in range(leaves):
        merged_starts[leaf] = n
        for at in range(starts[leaf], starts[leaf + 1]):
            r = order[at]
            o = members[r]
            if stamps[o] != leaf + 1:
                stamps[o] = leaf + 1
                places[o] = n
                merged_others[n] = o
                n += 1
            counts[places[o]] += weights[r]
            for w in range(words.shape[0]):
                merged_words[w, places[o]] += words[w, r]
    merged_starts[leaves] = n
    return MergedRows(merged_starts, merged_others, counts, merged_words)


@inner
def group_costs(first, end, merged, cells, prices, terms, room):
    """What the groups first … last cost, for every last from first up to end (not included): room.costs[last].

    Rows alike on the other columns form a class of the group; a class smaller than k is suppressed and pays for all its
    cells and a fine per row, another pays cells (others,) for the other columns and its run of leaves for this one.
    """
    starts, others, sums, lanes = merged.starts, merged.others, merged.counts, merged.words
    counts, words, costs = room.counts, room.words, room.costs
    column, lost_row = prices.column, prices.lost + prices.fine
    k, hist_words, lane_bits = terms.k, terms.hist_words, terms.lane_bits
    values, cm_weight = (terms.values[0], terms.cm_weights[0]) if hist_words > 0 else (0, 0.0)
    mask = (np.int64(1) << lane_bits) - 1 if lane_bits < 64 else np.int64(-1)
    per_word = 64 // lane_bits
    rows = np.int64(0)
    kept = np.int64(0)
    wrong = np.int64(0)
    paid = 0.0
    for leaf in range(first, end):
        for at in range(starts[leaf], starts[leaf + 1]):
            o = others[at]
            before = counts[o]
            if before >= k:
                kept -= before
                paid -= before * cells[o]
                if hist_words > 0:
                    most = np.int64(0)
                    for v in range(values):
                        most = max(most, (words[v // per_word, o] >> (v % per_word * lane_bits)) & mask)
                    wrong -= before - most
            now = before + sums[at]
            counts[o] = now
            rows += sums[at]
            for w in range(hist_words):
                words[w, o] += lanes[w, at]
            if now >= k:
                kept += now
                paid += now * cells[o]
                if hist_words > 0:
                    most = np.int64(0)
                    for v in range(values):
                        most = max(most, (words[v // per_word, o] >> (v % per_word * lane_bits)) & mask)
                    wrong += now - most
        lost = rows - kept
        costs[leaf] = paid + kept * column[first, leaf] + lost * lost_row + cm_weight * (wrong + lost)
    for at in range(starts[first], starts[end]):
        counts[others[at]] = 0
        for w in range(hist_words):
            words[w, others[at]] = 0


@compiled
def cut_column(bits, column, merged, cells, prices, terms, room):
    """The best cut of a column: fills its genes (bits), returns the cost.

    Where borders are free, by shortest path over them; where the cut follows a tree, from its leaves up.
    """
    gaps, gene, costs = column.gaps, column.gene, room.costs
    first, last, parent, above = column.first, column.last, column.parent, column.above
    leaves, nodes = column.starts.shape[0] - 1, first.shape[0]
    for g in range(bits.shape[0]):
        bits[g] = 0
    if nodes == 0:
        blocks = gaps.shape[0] + 1  # leaves between two neighbouring borders stay together
        best = np.full(blocks + 1, np.inf)
        back = np.zeros(blocks + 1, dtype=np.int64)
        best[0] = 0.0
        for i in range(blocks):
            start = gaps[i - 1] + 1 if i > 0 else 0
            stop = i + 1  # the first border from here on that is always drawn
            while stop < blocks and gene[stop - 1] >= 0:
                stop += 1
            beyond = gaps[stop - 1] + 1 if stop < blocks else leaves
            group_costs(start, beyond, merged, cells, prices, terms, room)
            for j in range(i + 1, stop + 1):
                end = gaps[j - 1] if j < blocks else leaves - 1
                cost = best[i] + costs[end]
                if cost < best[j]:
                    best[j] = cost
                    back[j] = i
        j = blocks
        while j > 0:
            j = back[j]
            if j > 0 and gene[j - 1] >= 0:
                bits[gene[j - 1]] = 1
        return best[blocks]
    below = np.zeros(nodes, dtype=np.float64)
    split = np.zeros(nodes, dtype=np.bool_)
    for v in range(nodes - 1, -1, -1):
        cost = np.inf
        if not above[v]:
            group_costs(first[v], last[v] + 1, merged, cells, prices, terms, room)
            cost = costs[last[v]]
        if first[v] < last[v] and below[v] < cost:
            split[v] = True
            cost = below[v]
        if v > 0:
            below[parent[v]] += cost
        else:
            below[0] = cost
    for v in range(1, nodes):
        if not split[parent[v]]:
            split[v] = False
        elif last[v] < last[parent[v]] and gene[last[v]] >= 0:
            bits[gene[last[v]]] = 1
    return below[0]


@compiled
def other_cells(groups, leaf_at, place, codes, losses, firsts, count, cells):
    """What a row of each combination pays for its cells in all columns but the one at ``place``: (count,) float64.

    firsts: a row of each combination; cells: (all leaves,) float64, room.
    """
    run_at, runs = losses.run_at, losses.runs
    costs = np.zeros(count, dtype=np.float64)
    for c in range(leaf_at.shape[0] - 1):
        if c == place:
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
        for o in range(count):
            costs[o] += cells[start + codes[firsts[o], c]]
    return costs


@compiled
def recut(bits, place, gene_at, genes, column, codes, scoring, fine, room):
    """Put the best cut of the column at ``place`` into a genome, all others as they are; returns the genome's cost.

    gene_at: (columns + 1,) int64, where each column's genes start; codes: (distinct, columns) int32; fine: what a
    suppressed row costs besides.
    """
    rows, losses, terms, leaf_at = scoring.rows, scoring.losses, scoring.terms, genes.leaf_at
    groups = np.zeros(leaf_at[-1], dtype=np.int32)
    genome_groups(bits, genes, groups)
    for leaf in range(leaf_at[place], leaf_at[place + 1]):
        groups[leaf] = 0
    count = cut_classes(groups, leaf_at, rows, room, True)
    costs = other_cells(groups, leaf_at, place, codes, losses, room.firsts, count, room.cells)
    lost = 0.0
    for c in range(leaf_at.shape[0] - 1):
        lost += losses.lost[c]
    m = leaf_at[place + 1] - leaf_at[place]
    run_at = losses.run_at[place]
    prices = CutPrices(losses.runs[run_at : run_at + m * m].reshape(m, m), lost, fine)
    merged = merge_rows(column, rows, room.members, count)
    words = rows.words.shape[0]
    grown = GroupRoom(
        np.zeros(count, dtype=np.int64), np.zeros((words, count), dtype=np.int64), np.zeros(m, dtype=np.float64)
    )
    own = bits[gene_at[place] : gene_at[place + 1]]
    return cut_column(own, column, merged, costs, prices, terms, grown)
