"""What several files of loops take and fill, in small records: arrays that belong together under one name.

numba compiles a named tuple of arrays as if its fields had been handed over one by one, so inside the loops a record
costs nothing; at the door from Python each array in it costs up to 0.4 microseconds more. A loop reads its fields
into names of their own before it runs. A record that only one file of loops uses stands at the top of that file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# -- classes and what is asked of them ---------------------------------------------------------------------------------


class ClassTable(NamedTuple):
    """Classes by rising key: raising and rotating rearrange them (see classes.py)."""

    keys: np.ndarray  # (classes,) int64, the groups of a class, one bit field per column
    counts: np.ndarray  # (classes,) int64, its rows
    sets: Any  # None where nobody asks, else (set words, classes) int64, which sensitive values it has, one bit each
    hists: Any  # the same, (words, classes) int64, how often it has them, packed; room for the widest lanes
    ends: (
        Any  # the same, (classes,) uint64, where it ends in hists that are running sums; none where nothing is counted
    )


class Classes(NamedTuple):
    """The classes of one recoding, the first ``size`` places of each array."""

    sizes: np.ndarray  # (at least size,) int64, persons; the array of counts itself unless persons are told apart
    counts: np.ndarray  # (at least size,) int64, rows
    sets: np.ndarray  # (set words, at least size) int64, which values occur; none where histograms tell
    hists: np.ndarray  # (words, at least size) int64, packed
    size: int
    bits: int  # of one count in the histograms: 8, 16, 32 or 64


class Hiding(NamedTuple):
    """Which classes are suppressed: the small ones, and the failing ones where the rule marks them."""

    threshold: int  # classes smaller than this
    failing: np.ndarray  # (classes,) bool, read only if marked
    marked: bool


class RuleNumbers(NamedTuple):
    """How rows are suppressed, and which statistics are counted."""

    number: int  # NONE, BELOW_K, …
    k: int  # below-k and as-needed: classes smaller than this are suppressed, whatever else is
    allowed: int  # rows that may be suppressed
    rows: int  # of the whole table
    risky_below: int  # smaller classes count as risky
    marked: bool  # as-needed: classes are judged by limits on their values too
    by_size: bool  # as-needed: every class size is a threshold of k


class SizeSteps(NamedTuple):
    """The thresholds of k that a recoding has, and what each costs: filled in (classes.size_steps)."""

    thresholds: np.ndarray  # (thresholds,) int64, classes smaller than this are suppressed
    lost: np.ndarray  # (thresholds,) int64, rows suppressed
    more: np.ndarray  # (losses, thresholds) int64, what the losses grow by
    small: np.ndarray  # (allowed + 1,) int64, room: rows in classes of each size


class Lanes(NamedTuple):
    """Where the values of each sensitive and target column lie in the packed words.

    A column whose values are only told apart, not counted, has a set and no lanes.
    """

    bits: int  # of one count before classes merge: 8, 16, 32 or 64
    value_at: np.ndarray  # (columns + 1,) int64, where each column's values start in totals
    word_at: np.ndarray  # (4, columns + 1) int64, where its packed words start with lanes of 8, 16, 32 and 64 bits
    totals: np.ndarray  # (values,) int64, rows of the whole table per value
    set_at: np.ndarray  # (columns, 3) int64, its first set word, how many it has (0: no set), and its lowest bit


class ClassNumbers(NamedTuple):
    """Numbers wanted of the histograms, one place each."""

    kinds: np.ndarray  # (numbers,) int64, DISTINCT, ENTROPY, …
    columns: np.ndarray  # (numbers,) int64, which sensitive or target column
    parameters: np.ndarray  # (numbers,) float64
    stops: np.ndarray  # (numbers,) float64, the worst any class can be: the scan over classes ends there
    worths: np.ndarray  # (numbers, most) int64, of COST its matrix [true, told], else the number of each value


class ClassLimits(NamedTuple):
    """Limits on its values that each class must meet under the rule as-needed, one place each."""

    kinds: np.ndarray  # (limits,) int64, DISTINCT, ENTROPY, …
    columns: np.ndarray  # (limits,) int64, which sensitive or target column
    bounds: np.ndarray  # (limits, 2) float64, the limit and the parameter of the number


class KernelQuestions(NamedTuple):
    """Everything asked of the histograms."""

    lanes: Lanes
    numbers: ClassNumbers
    limits: ClassLimits


# -- recodings by cuts -------------------------------------------------------------------------------------------------


class RunLosses(NamedTuple):
    """Cell losses by run of leaves. Scores add them up into one, which has no first axis and is float64."""

    run_at: np.ndarray  # (columns,) int64; the run first … last of m leaves stands at run_at + first * m + last
    runs: np.ndarray  # (losses, …) int64, the loss of a cell in each run
    lost: np.ndarray  # (losses, columns) int64, the loss of a suppressed cell
    leaf_rows: np.ndarray  # (all leaves,) int64


class TargetEntries(NamedTuple):
    """Numeric targets one after the other, each in rising order: an entry is so many rows with one number."""

    at: np.ndarray  # (targets + 1,) int64, where the entries of each target start
    row: np.ndarray  # (entries,) int32, the distinct row
    step: np.ndarray  # (entries,) int64, the number, in whole steps from the median of all
    weight: np.ndarray  # (entries,) int64, rows


class PartRows(NamedTuple):
    """The distinct rows by parts: columns with few distinct combinations of leaves, looked up together."""

    columns: np.ndarray  # (columns,) int64, in the order of the parts
    part_at: np.ndarray  # (parts + 1,) int64, which of them belong to each part
    combos: np.ndarray  # (columns, most combinations) int32, leaves of columns[j] in the combinations of its part
    combo_counts: np.ndarray  # (parts,) int64
    row_combos: np.ndarray  # (parts, distinct) int32, the combination of each row
    weights: np.ndarray  # (distinct,) int64
    words: np.ndarray  # (words, distinct) int64, packed histograms, and behind them the sums of targets
    entries: TargetEntries


class PartRoom(NamedTuple):
    """Room for counting by parts, used again and again."""

    table: np.ndarray  # (power of two,) int32, all -1 before and after
    firsts: np.ndarray  # (slots,) int64, filled: a distinct row of each class
    keys: np.ndarray  # (distinct,) int64
    shares: np.ndarray  # (parts, most combinations) int64
    members: np.ndarray  # (distinct,) int32, filled if wanted: the class of each distinct row
    counts: np.ndarray  # (slots,) int64, filled: the rows of each class
    hists: np.ndarray  # (words, slots) int64, filled: the packed histogram of each class
    cells: np.ndarray  # (all leaves,) float64
    more: np.ndarray  # (parts, most combinations) float64


# -- genomes and their scores ------------------------------------------------------------------------------------------


class Genes(NamedTuple):
    """Where the genes of a space of cuts stand."""

    leaf: np.ndarray  # (genes,) int64, the leaf just after the gene's border, among all leaves
    leaf_at: np.ndarray  # (columns + 1,) int64, where each column's leaves start
    free: np.ndarray  # (genes,) bool, whether the column is cut freely in the order of its leaves
    column: np.ndarray  # (genes,) int64
    fixed: np.ndarray  # (borders,) int64, the leaf just after each border that is always drawn, among all leaves


class Trees(NamedTuple):
    """The trees of the bound columns one after the other, each in preorder, in terms of genes."""

    first: np.ndarray  # (nodes,) int64, first gene inside the node
    stop: np.ndarray  # (nodes,) int64, one past the last gene inside; equal to first for a leaf
    parent: np.ndarray  # (nodes,) int64, -1 at a root
    border: np.ndarray  # (nodes,) int64, the gene between the node and its next sibling, -1 where there is none
    collapse: np.ndarray  # (nodes,) float64, share of the node's cuts that show it as one group


class RepairRoom(NamedTuple):
    """Room for repairing a genome."""

    ones: np.ndarray  # (genes + 1,) int64, genes that are 1 before each
    costs: np.ndarray  # (nodes,) int64
    logs: np.ndarray  # (nodes,) float64, logarithm of the ways to repair below the node
    chance: np.ndarray  # (nodes,) float64, that the node is shown whole


class ScoreTerms(NamedTuple):
    """The limits of a score, and what it adds to the cell losses."""

    k: int
    allowed: int  # rows that may be suppressed
    hist_words: int  # packed words of all targets to be predicted; behind them are the sums of targets
    lane_bits: int
    word_at: np.ndarray  # (predictions,) int64, the first packed word of the target
    values: np.ndarray  # (predictions,) int64, of the target
    cm_weights: np.ndarray  # (predictions,) float64
    cost_weights: np.ndarray  # (predictions,) float64
    costs: np.ndarray  # (predictions, most values, most values) float64, cost of [true, told]
    square_weights: np.ndarray  # (sums,) float64, weight / total dispersion
    squares: np.ndarray  # (sums,) float64, sum of squares of the target
    deviation_weights: np.ndarray  # (targets of entries,) float64, weight / total deviation


class Scoring(NamedTuple):
    """Everything a genome is scored by."""

    rows: PartRows
    losses: RunLosses  # of one loss, float64
    terms: ScoreTerms
