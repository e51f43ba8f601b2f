"""Hashing: random numbers from counters, and dense ids for packed keys."""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled, inner


@compiled
def spread_bits(key):
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
            place = spread_bits(key) & mask
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
            place = spread_bits(key) & mask
            while table[place] != j:
                place = (place + one) & mask
        table[place] = -1
    return n


@inner
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
def seed_stream(seed):
    """The state of a random stream (splitmix64): (1,) uint64, saved and continued like any other array."""
    state = np.zeros(1, dtype=np.uint64)
    state[0] = spread_bits(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    return state


@compiled
def random_unit(state):
    """A number from 0 up to 1 (not included), 53 bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(spread_bits(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
