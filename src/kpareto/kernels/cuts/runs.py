"""Rows merged as far as a whole population of cuts allows, and counted run by run.

The columns are in two parts, and the rows lie in runs: one run per combination of the outer part. Rows of one class lie
in runs whose combinations have the same groups. So these runs are counted together, in slots addressed by the groups of
the inner part; no table is searched, and the slots are empty again before the next runs come.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.hashing import dense_ids, part_keys


class RunRows(NamedTuple):
    """The distinct rows in runs, one for each combination of leaves of the outer columns."""

    columns: np.ndarray  # (columns,) int64, those of the outer part first
    outer_combos: np.ndarray  # (outer columns, outer combinations) int32, leaves
    inner_combos: np.ndarray  # (inner columns, inner combinations) int32, leaves
    starts: np.ndarray  # (outer combinations + 1,) int64, where each run starts
    outer: np.ndarray  # (distinct,) int32, the outer combination of each row
    inner: np.ndarray  # (distinct,) int32, the inner combination of each row
    leads: np.ndarray  # (distinct,) int64, rows, above the histogram where both fit into one word
    words: np.ndarray  # (words, distinct) int64, packed histograms; none where the leads carry them
    lead_bits: int  # where the rows start in a lead: 0, or above the histogram


class RunRoom(NamedTuple):
    """Room for counting run by run, used again and again."""

    slots: np.ndarray  # (inner keys,) int64, left all 0
    heads: np.ndarray  # (outer keys,) int32, left all -1
    table: np.ndarray  # (power of two,) int32, left all -1
    firsts: np.ndarray  # (distinct + 1,) uint32, filled: a row of each class
    members: np.ndarray  # (distinct,) int32, filled if wanted: the class of each row
    begins: np.ndarray  # (outer combinations + 1,) int64, filled: the first class of each outer group
    chosen: np.ndarray  # (outer combinations,) int32, filled: an outer combination of each outer group
    counts: np.ndarray  # (distinct,) int64, filled: the leads of each class, added up
    outer_keys: np.ndarray  # (outer combinations,) int64
    inner_keys: np.ndarray  # (inner combinations,) int64
    after: np.ndarray  # (outer combinations,) int32, the next one with the same groups
    ids: np.ndarray  # (most combinations,) int32
    numbers: np.ndarray  # (most combinations,) int64


@compiled
def run_classes(groups, leaf_at, rows, room, members_wanted):
    """Count the classes of a recoding by cuts, run by run; returns how many classes and outer groups there are."""
    starts, inner, leads = rows.starts, rows.inner, rows.leads
    slots, heads, firsts, members = room.slots, room.heads, room.firsts, room.members
    begins, chosen, counts = room.begins, room.chosen, room.counts
    outer_keys, inner_keys, after = room.outer_keys, room.inner_keys, room.after
    one, zero = np.uint64(1), np.uint64(0)
    outer_combos, inner_combos = rows.outer_combos, rows.inner_combos
    outer_columns, inner_columns = rows.columns[: outer_combos.shape[0]], rows.columns[outer_combos.shape[0] :]
    outer_size, inner_size = outer_combos.shape[1], inner_combos.shape[1]
    table, numbers, ids = room.table, room.numbers, room.ids
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


@inner
def key_places(leaf_at, columns, size, most):
    """How many places keys over these columns need: one each, or where that is too many, one per combination."""
    radix = 1
    for c in columns:
        radix *= leaf_at[c + 1] - leaf_at[c]
        if radix > most:
            return size
    return max(radix, size)


@compiled
def run_room(leaf_at, rows, most):
    """Room for run_classes; keys below ``most`` are places by themselves."""
    outer_count, outer_size = rows.outer_combos.shape
    inner_size, distinct = rows.inner_combos.shape[1], rows.inner.shape[0]
    largest = max(outer_size, inner_size)
    hashed_places = 1024
    while hashed_places < 2 * largest:
        hashed_places *= 2
    return RunRoom(
        np.zeros(key_places(leaf_at, rows.columns[outer_count:], inner_size, most), dtype=np.int64),
        np.full(key_places(leaf_at, rows.columns[:outer_count], outer_size, most), -1, dtype=np.int32),
        np.full(hashed_places, -1, dtype=np.int32),
        np.zeros(distinct + 1, dtype=np.uint32),
        np.zeros(distinct, dtype=np.int32),
        np.zeros(outer_size + 1, dtype=np.int64),
        np.zeros(outer_size, dtype=np.int32),
        np.zeros(distinct, dtype=np.int64),
        np.zeros(outer_size, dtype=np.int64),
        np.zeros(inner_size, dtype=np.int64),
        np.zeros(outer_size, dtype=np.int32),
        np.zeros(largest, dtype=np.int32),
        np.zeros(largest, dtype=np.int64),
    )


@compiled
def roll_up_runs(groups, leaf_at, rows, room):
    """Rows merged as far as a cut allows: again rows in runs, for recodings that are no finer than the cut."""
    outer_combos, inner_combos, words = rows.outer_combos, rows.inner_combos, rows.words
    firsts, chosen, numbers, ids = room.firsts, room.chosen, room.numbers, room.ids
    several = words.shape[0] > 0
    n, outer_groups = run_classes(groups, leaf_at, rows, room, several)
    inner_groups = dense_ids(room.inner_keys, inner_combos.shape[1], np.int64(1) << 62, room.table, numbers, ids)
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
        starts[g] = room.begins[g]
    row_outer = np.zeros(n, dtype=np.int32)
    row_inner = np.zeros(n, dtype=np.int32)
    leads = np.zeros(n, dtype=np.int64)
    inner, counts = rows.inner, room.counts
    for g in range(outer_groups):
        for i in range(starts[g], starts[g + 1]):
            row_outer[i] = g
            row_inner[i] = ids[inner[firsts[i]]]
            leads[i] = counts[i]
    new_words = np.zeros((words.shape[0], n), dtype=np.int64)
    add_words(words, room.members, n, new_words)
    return RunRows(rows.columns, new_outer, new_inner, starts, row_outer, row_inner, leads, new_words, rows.lead_bits)


@inner
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
