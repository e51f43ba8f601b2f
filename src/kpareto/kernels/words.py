"""The numbers by which kernels call suppression rules, statistics and crossovers."""

from __future__ import annotations

# Suppression rules (readings.md#suppression), in the order of partition.RULES.
NONE, BELOW_K, CAP_MAX_K, AS_NEEDED = range(4)

# Whole-number statistics of a node: the first columns of ``ints``; one column per cell loss follows.
K, SUPPRESSED, CLASSES, LARGEST, SQUARES, UNIQUES, RISKY = range(7)
INTS = 7

# Numbers about one class that come from a histogram: the worst visible class counts. DISTINCT and ENTROPY are better
# higher, the others better lower. MINORITY and OWN are sums over classes instead of a worst case.
DISTINCT, ENTROPY, T_EQUAL, T_ORDERED, ALPHA, BETA, ENHANCED_BETA, DELTA, RECURSIVE, MINORITY, OWN = range(11)

# Numbers about how many people of the population look like a class, a column of one count: the fewest, the highest
# chance to be recognised, the greatest and the least share that is released, and the sum of these shares.
BEHIND, JOURNALIST, PRESENCE_MAX, PRESENCE_MIN, RECOGNISED = range(11, 16)

# Sums over classes, all suppressed rows being one more, of what a target loses: the cost of the majority, the squared
# distance from the mean, the distance from the median.
COST, VARIANCE, DEVIATION = range(16, 19)

# How branch and bound knows that nothing below a partial node beats a number: by the smallest class, by sums over
# cells, by the values a class has, by a number of its histogram, by rows outside majorities, by squared class sizes.
BY_SIZE, BY_LOSS, BY_SET, BY_CLASS, BY_MINORITY, BY_SQUARES = range(6)

KEY_BITS = 62  # of a class's key that one word holds; more words follow where the columns need more

CHUNK = 64  # recodings for which the rows are rolled up together; a roll-up costs as much as one recoding

# Crossovers of GENITOR.
TRAD, NEW, HYBRID, ONE_POINT = range(4)

# How an invalid genome becomes valid, and where fresh genomes come from (readings.md#lu-implied).
NEAREST, IMPLIED = range(2)
UNIFORM, COINS = range(2)

INFEASIBLE = 1e18  # scores from here on: more rows suppressed than allowed
