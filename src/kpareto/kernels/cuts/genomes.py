"""Genomes of cuts: repairing, drawing and crossing them.

A genome has one gene per border between neighbouring leaves: 1 draws the border. In a free column every string of genes
is a cut; in a bound column a cut must show nodes of its tree, and other strings are repaired.
"""

from __future__ import annotations

import math

import numpy as np

from kpareto.kernels.compiling import compiled, inner
from kpareto.kernels.hashing import random_unit
from kpareto.kernels.records import RepairRoom
from kpareto.kernels.words import HYBRID, ONE_POINT, TRAD


@inner
def repair_one(bits, trees, room, state):
    """Turn bits into the nearest string that is a cut of every tree, ties with equal chance; returns the distance.

    IY-10: a node costs the ones inside it (shown as one group) or the missing borders between its children plus
    what the children cost, whichever is less. Nodes stand in preorder, so children follow their parent.
    """
    first, stop, parent, border = trees.first, trees.stop, trees.parent, trees.border
    ones, costs, logs, chance = room.ones, room.costs, room.logs, room.chance
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
def repair_room(genes, nodes):
    """Room for repairing genomes."""
    return RepairRoom(
        np.zeros(genes + 1, dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes, dtype=np.float64),
        np.zeros(nodes, dtype=np.float64),
    )


@compiled
def repair_all(genomes, trees, state):
    """Repair many genomes (n, genes) uint8 in place; returns how far each was from its nearest: (n,) int64."""
    room = repair_room(genomes.shape[1], trees.first.shape[0])
    far = np.zeros(genomes.shape[0], dtype=np.int64)
    for i in range(genomes.shape[0]):
        far[i] = repair_one(genomes[i], trees, room, state)
    return far


@inner
def imply_one(bits, trees, ones):
    """Draw every border that another one implies; returns how many. Afterwards the bits are a cut of every tree.

    A border inside a node splits it, so that all borders between its children are drawn too (IY-8, O5). What is drawn
    inside a node lies inside its ancestors, which are split already: one walk is enough. ones: (genes + 1,), room.
    """
    first, stop, parent, border = trees.first, trees.stop, trees.parent, trees.border
    drawn = np.int64(0)
    for g in range(bits.shape[0]):
        ones[g + 1] = ones[g] + bits[g]
    for v in range(first.shape[0]):
        p = parent[v]
        if p >= 0 and border[v] >= 0 and bits[border[v]] == 0 and ones[stop[p]] > ones[first[p]]:
            bits[border[v]] = 1
            drawn += 1
    return drawn


@compiled
def imply_all(genomes, trees):
    """Draw the implied borders of many genomes (n, genes) uint8 in place; returns how many of each: (n,) int64."""
    ones = np.zeros(genomes.shape[1] + 1, dtype=np.int64)
    drawn = np.zeros(genomes.shape[0], dtype=np.int64)
    for i in range(genomes.shape[0]):
        drawn[i] = imply_one(genomes[i], trees, ones)
    return drawn


@inner
def toss_one(bits, trees, ones, state):
    """A fair coin for every border, then all borders that these imply. ones: (genes + 1,), room."""
    for g in range(bits.shape[0]):
        bits[g] = 1 if random_unit(state) < 0.5 else 0
    imply_one(bits, trees, ones)


@compiled
def toss_all(genomes, trees, state):
    """Fill genomes (n, genes) uint8 with fair coins and the borders they imply."""
    ones = np.zeros(genomes.shape[1] + 1, dtype=np.int64)
    for i in range(genomes.shape[0]):
        toss_one(genomes[i], trees, ones, state)


@inner
def sample_one(bits, free, trees, collapse, share, shown, state):
    """A random valid genome: free genes are 1 with chance share, nodes are shown whole with chance collapse.

    shown: (nodes,) bool, room. With share 1/2 and collapse = 1 / cuts of the node every recoding is equally likely.
    """
    first, stop, parent, border = trees.first, trees.stop, trees.parent, trees.border
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
def sample_all(genomes, free, trees, state):
    """Fill genomes (n, genes) uint8 with recodings drawn uniformly."""
    shown = np.zeros(trees.first.shape[0], dtype=np.bool_)
    for i in range(genomes.shape[0]):
        sample_one(genomes[i], free, trees, trees.collapse, 0.5, shown, state)


@compiled
def sample_spread(genomes, free, trees, state):
    """Fill genomes with recodings of every coarseness: each draws its own share of borders, coarse ones often."""
    shown = np.zeros(trees.first.shape[0], dtype=np.bool_)
    collapse = np.zeros(trees.first.shape[0], dtype=np.float64)
    for i in range(genomes.shape[0]):
        share = random_unit(state) ** 3
        for v in range(collapse.shape[0]):
            collapse[v] = 1.0 - share
        sample_one(genomes[i], free, trees, collapse, share, shown, state)


@compiled
def safe_cuts(one, two, hybrid, genes, out):
    """Where two valid parents may be cut: one place per run of agreement between two disagreements; returns how many.

    A cut before gene g is safe at a gene that is 1 in both (LU-4); hybrid also at the border of a column and anywhere
    in a free column (LU-10). Any place of a run gives the same child, so the first safe one stands for all.
    """
    free, gene_column = genes.free, genes.column
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


@inner
def cross_safely(one, two, child, points, hybrid, genes, room, state):
    """NEW and hybrid crossover: child gets genes of two between safe cuts; returns False where there is none."""
    n = safe_cuts(one, two, hybrid, genes, room)
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


@inner
def cross_one_point(one, two, child, state):
    """One-point crossover of the whole string."""
    point = 1 + np.int64(random_unit(state) * max(one.shape[0] - 1, 1))
    for g in range(one.shape[0]):
        child[g] = one[g] if g < point else two[g]


@compiled
def cross_all(operator, points, ones, twos, children, genes, state):
    """Cross pairs of parents (n, genes) uint8, row by row; returns which rows have a child. TRAD is not repaired."""
    room = np.zeros(ones.shape[1] + 1, dtype=np.int64)
    crossed = np.ones(ones.shape[0], dtype=np.bool_)
    for i in range(ones.shape[0]):
        if operator == TRAD:
            cross_reduced(ones[i], twos[i], children[i], room, state)
        elif operator == ONE_POINT:
            cross_one_point(ones[i], twos[i], children[i], state)
        else:
            crossed[i] = cross_safely(ones[i], twos[i], children[i], points, operator == HYBRID, genes, room, state)
    return crossed


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


@inner
def genome_groups(bits, genes, groups):
    """The cuts of a genome: groups (all leaves,) int32."""
    gene_leaf, leaf_at, fixed = genes.leaf, genes.leaf_at, genes.fixed
    for leaf in range(groups.shape[0]):
        groups[leaf] = 0
    for g in range(bits.shape[0]):
        groups[gene_leaf[g]] = bits[g]
    for i in range(fixed.shape[0]):
        groups[fixed[i]] = 1
    for c in range(leaf_at.shape[0] - 1):
        group = 0
        for leaf in range(leaf_at[c], leaf_at[c + 1]):
            group += groups[leaf]
            groups[leaf] = group
