"""GENITOR's steady state, compiled whole: one child a step takes the place of the worst if it is better.

Every genome scored so far is remembered in the memo, packed into words of 64 genes, so that none is scored twice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.cuts.genomes import (
    cross_one_point,
    cross_reduced,
    cross_safely,
    genome_groups,
    imply_one,
    repair_one,
    repair_room,
    sample_one,
    toss_one,
)
from kpareto.kernels.cuts.score import frequent_genes, part_room, roll_up_parts, score_one
from kpareto.kernels.hashing import random_unit, spread_bits
from kpareto.kernels.words import COINS, HYBRID, IMPLIED, ONE_POINT, TRAD


class Breeding(NamedTuple):
    """How GENITOR makes a child."""

    operator: int  # TRAD, NEW, HYBRID, ONE_POINT
    points: int
    bias: float  # the best parent is so many times as likely as the median
    immigrants: float  # chance of a child to be crossed with a random genome
    mutation: float  # chance of each gene to flip
    duplicates: bool  # whether the population may hold a genome twice
    repair: int  # NEAREST, IMPLIED
    fresh: int  # where immigrants come from: UNIFORM, COINS
    counts_refused: bool  # whether a child that is refused as a duplicate has used up an evaluation


class BreedingRoom(NamedTuple):
    """Room for making a child."""

    child: np.ndarray  # (genes,) uint8, filled
    other: np.ndarray  # (genes,) uint8
    places: np.ndarray  # (genes + 1,) int64, where parents may be cut
    shown: np.ndarray  # (nodes,) bool


class GenomePopulation(NamedTuple):
    """GENITOR's genomes and their scores."""

    genomes: np.ndarray  # (size, genes) uint8
    scores: np.ndarray  # (size,) float64
    ranks: np.ndarray  # (size,) int64, best first
    entries: np.ndarray  # (size,) int64, where each stands in the memo


class MemoRoom(NamedTuple):
    """Every genome scored so far."""

    packed: np.ndarray  # (most, words) uint64, 64 genes in a word
    known: np.ndarray  # (most,) float64, scores
    inside: np.ndarray  # (most,) int32, how often the population holds each
    table: np.ndarray  # (power of two,) int32, -1 where free
    tallies: np.ndarray  # (4,) int64: distinct genomes, evaluations, children, children rejected in a row


@compiled
def pack_genome(bits, words):
    """The genome packed into words (uint64), and a hash of it."""
    for w in range(words.shape[0]):
        words[w] = 0
    for g in range(bits.shape[0]):
        words[g >> 6] |= np.uint64(bits[g]) << np.uint64(g & 63)
    mixed = np.uint64(0)
    for w in range(words.shape[0]):
        mixed = spread_bits(mixed ^ words[w])
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
            mixed = spread_bits(mixed ^ packed[i, w])
        table[memo_place(packed[i], mixed, packed, table)] = i


@compiled
def ranked_parent(size, bias, state):
    """A rank drawn with linear bias: the best is ``bias`` times as likely as the median (Whitley 1989)."""
    if bias <= 1.0:
        return np.int64(random_unit(state) * size)
    u = random_unit(state)
    return np.int64(size * (bias - math.sqrt(bias * bias - 4.0 * (bias - 1.0) * u)) / (2.0 * (bias - 1.0)))


@compiled
def copy_genes(bits, out):
    """Copy a genome into another place. A loop, because numba compiles the assignment of a whole array for seconds."""
    for g in range(bits.shape[0]):
        out[g] = bits[g]


@inner
def cross_parents(population, breeding, genes, room, state):
    """Cross up to ten pairs of parents chosen by rank until a pair has a child, in room.child; returns whether."""
    genomes, ranks, child = population.genomes, population.ranks, room.child
    size = genomes.shape[0]
    for _ in range(10):
        a = ranks[ranked_parent(size, breeding.bias, state)]
        b = ranks[ranked_parent(size, breeding.bias, state)]
        if a == b and size > 1:
            b = ranks[np.int64(random_unit(state) * size)]
        if breeding.operator == TRAD:
            cross_reduced(genomes[a], genomes[b], child, room.places, state)
            return True
        if breeding.operator == ONE_POINT:
            cross_one_point(genomes[a], genomes[b], child, state)
            return True
        hybrid = breeding.operator == HYBRID
        if cross_safely(genomes[a], genomes[b], child, breeding.points, hybrid, genes, room.places, state):
            return True
    return False


@compiled
def make_child(population, breeding, genes, trees, room, repair, state):
    """One child of two parents chosen by rank: crossover, a random genome with chance ``immigrants``, bits flipped."""
    child, other = room.child, room.other
    crossed = cross_parents(population, breeding, genes, room, state)
    broken = breeding.operator == TRAD or breeding.operator == ONE_POINT
    if not crossed or (breeding.immigrants > 0.0 and random_unit(state) < breeding.immigrants):
        if not crossed:
            a = population.ranks[ranked_parent(population.ranks.shape[0], breeding.bias, state)]
            copy_genes(population.genomes[a], child)
        if breeding.fresh == COINS:
            toss_one(other, trees, repair.ones, state)
        else:
            sample_one(other, genes.free, trees, trees.collapse, 0.5, room.shown, state)
        mate = np.zeros_like(child)
        hybrid = breeding.operator == HYBRID
        if cross_safely(child, other, mate, breeding.points, hybrid, genes, room.places, state):
            copy_genes(mate, child)
        elif not crossed:
            copy_genes(other, child)
    if breeding.mutation > 0.0:
        # The distance to the next flip is geometric: one random number per flip, not per gene.
        scale = 1.0 / math.log1p(-min(breeding.mutation, 0.999999))
        g = np.int64(math.log(1.0 - random_unit(state)) * scale)
        while g < child.shape[0]:
            child[g] ^= 1
            broken = True
            g += 1 + np.int64(math.log(1.0 - random_unit(state)) * scale)
    if broken and breeding.repair == IMPLIED:
        imply_one(child, trees, repair.ones)
    elif broken:
        repair_one(child, trees, repair, state)


@compiled
def insert_child(population, inside, child, score, entry):
    """Put a child in the place of the worst, and into the ranking behind all that are as good."""
    scores, ranks, entries = population.scores, population.ranks, population.entries
    worst = ranks[ranks.shape[0] - 1]
    inside[entries[worst]] -= 1
    inside[entry] += 1
    entries[worst] = entry
    scores[worst] = score
    copy_genes(child, population.genomes[worst])
    low, high = 0, ranks.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if scores[ranks[middle]] <= score:
            low = middle + 1
        else:
            high = middle
    for i in range(ranks.shape[0] - 1, low, -1):
        ranks[i] = ranks[i - 1]
    ranks[low] = worst


@compiled
def last_covering(child, kept):
    """The last row of kept (n, genes) that has every gene of the child, or n where none has."""
    for i in range(kept.shape[0] - 1, -1, -1):
        covered = True
        for g in range(child.shape[0]):
            if child[g] > kept[i, g]:
                covered = False
                break
        if covered:
            return i
    return kept.shape[0]


@compiled
def rows_of_frequent(genomes, slack, genes, rows, room, kept):
    """Rows merged as far as genomes without the population's rare genes allow; kept: filled, the other genes."""
    frequent_genes(genomes, slack, kept)
    groups = np.zeros(genes.leaf_at[-1], dtype=np.int32)
    genome_groups(kept, genes, groups)
    return roll_up_parts(groups, genes.leaf_at, rows, room)


@compiled
def genitor_steps(steps, stop_at, population, memo, state, breeding, genes, trees, scoring):
    """GENITOR: one child at a time takes the place of the worst if it is better (Whitley 1989; IY-9, LU-7).

    Makes at most ``steps`` children and stops when tallies[1] reaches ``stop_at`` evaluations.
    """
    tallies, packed, leaf_at = memo.tallies, memo.packed, genes.leaf_at
    size, length = population.genomes.shape
    nodes = trees.first.shape[0]
    groups = np.zeros(leaf_at[-1], dtype=np.int32)
    room = part_room(scoring.rows, leaf_at[-1])
    # Fewer and fewer rows, for genomes without the genes that are rare in the population.
    kept = np.zeros((3, length), dtype=np.uint8)
    few = rows_of_frequent(population.genomes, 0.0, genes, scoring.rows, room, kept[0])
    fewer = rows_of_frequent(population.genomes, 0.1, genes, few, room, kept[1])
    fewest = rows_of_frequent(population.genomes, 0.5, genes, fewer, room, kept[2])
    child = np.zeros(length, dtype=np.uint8)
    breeding_room = BreedingRoom(
        child, np.zeros_like(child), np.zeros(length + 1, dtype=np.int64), np.zeros(nodes, dtype=np.bool_)
    )
    repair = repair_room(length, nodes)
    words = np.zeros(packed.shape[1], dtype=np.uint64)
    for _ in range(steps):
        if tallies[1] >= stop_at:
            break
        make_child(population, breeding, genes, trees, breeding_room, repair, state)
        tallies[2] += 1
        at = memo_place(words, pack_genome(child, words), packed, memo.table)
        entry = np.int64(memo.table[at])
        if entry >= 0 and memo.inside[entry] > 0 and not breeding.duplicates:
            tallies[3] += 1
            tallies[1] += 1 if breeding.counts_refused else 0
            continue
        tallies[1] += 1
        tallies[3] = 0
        if entry < 0:
            cover = last_covering(child, kept)
            rows = few if cover == 0 else fewer if cover == 1 else fewest if cover == 2 else scoring.rows
            genome_groups(child, genes, groups)
            entry = tallies[0]
            memo.known[entry] = score_one(groups, leaf_at, rows, scoring.losses, scoring.terms, room)
            for w in range(words.shape[0]):
                packed[entry, w] = words[w]
            memo.inside[entry] = 0
            memo.table[at] = entry
            tallies[0] += 1
        score = memo.known[entry]
        if score < population.scores[population.ranks[size - 1]]:
            insert_child(population, memo.inside, child, score, entry)
