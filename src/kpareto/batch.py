"""Count many recodings by cuts at once: the evaluation inside genetic searches.

Each recoding goes once over the distinct rows; nothing is rolled up, because two cuts of a population rarely refine
each other.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kpareto import kernels
from kpareto.partition import RULES
from kpareto.rollup import Counted, Histograms, Wanted, histogram_columns
from kpareto.table import Table

MOST_LEAVES = 2_000  # a column's losses are looked up per run of leaves: leaves squared
MOST_COMBINATIONS = 2_048  # of the columns in one part: what still fits into the first cache


def fits_batch(table: Table, wanted: Wanted) -> bool:
    """Whether the compiled batch can hold this table and these wishes."""
    values = sum(len(counts.values) for counts in histogram_columns(wanted))
    return (
        max(len(h.leaves) for h in table.hierarchies) <= MOST_LEAVES
        and table.distinct * values <= 200_000_000
        and wanted.suppression.rule != "cap-threshold"
        and (wanted.suppression.rows == "drop" or wanted.suppression.rule == "none")
    )


def count_cuts(table: Table, wanted: Wanted, cuts: np.ndarray, threads: int | None = None) -> Counted:
    """The statistics of many recodings; cuts: (n, all leaves) int32, the cuts of the columns side by side."""
    return CutCounter(table, wanted).count(cuts, threads)


@dataclass(frozen=True, eq=False)
class CutCounter:
    """A table made ready for counting recodings by cuts."""

    table: Table
    wanted: Wanted

    def count(self, cuts: np.ndarray, threads: int | None = None) -> Counted:
        """The statistics of many recodings, in their order; any number of threads gives the same."""
        workers = max(1, min(threads or os.cpu_count() or 1, len(cuts) // 16))
        if workers == 1:
            pieces = [self._run(cuts)]
        else:
            with ThreadPoolExecutor(workers) as pool:
                pieces = list(pool.map(self._run, np.array_split(cuts, workers)))
        numbers = np.arange(len(cuts))
        ints = np.concatenate([ints for ints, _ in pieces])
        rule = self.wanted.suppression
        thresholds = np.full_like(numbers, rule.k or 0 if rule.rule == "below-k" else 0)
        if rule.rule == "cap-max-k":
            thresholds = ints[:, kernels.K].copy()
        return Counted(numbers, thresholds, ints, np.concatenate([reals for _, reals in pieces]))

    def _run(self, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted, table, hists = self.wanted, self.table, self.histograms
        persons = table.persons
        none = np.zeros(1, dtype=np.int64)
        return kernels.evaluate_cuts(
            np.ascontiguousarray(cuts, dtype=np.int32), self.leaf_at, *self.parts, table.weights, hists.packed,
            hists.lane_bits, table.codes, *self.losses, *hists.borders, *hists.numbers,
            none if persons is None else persons.start, none if persons is None else persons.code.astype(np.int64),
            0 if persons is None else len(persons.values),
            RULES.index(wanted.suppression.rule), wanted.suppression.k or 0, wanted.suppression.allowed(table.rows),
            table.rows, wanted.risky_below, *hists.limits,
        )  # fmt: skip

    @cached_property
    def leaf_at(self) -> np.ndarray:
        """Where each column's leaves start in a cut: (columns + 1,) int64."""
        return np.concatenate(([0], np.cumsum([len(h.leaves) for h in self.table.hierarchies]))).astype(np.int64)

    @cached_property
    def histograms(self) -> Histograms:
        """The sensitive and target counts of each distinct row."""
        return Histograms(self.table, self.wanted)

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Columns in parts of few distinct combinations: order, borders, combinations, their number, and by row."""
        codes = self.table.codes
        parts: list[_Part] = []
        for column in sorted(range(codes.shape[1]), key=lambda c: -len(self.table.hierarchies[c].leaves)):
            tried = [_joined(part, column, codes[:, column]) for part in parts]
            best = min(range(len(tried)), key=lambda p: tried[p].count, default=-1)
            if best >= 0 and tried[best].count <= MOST_COMBINATIONS:
                parts[best] = tried[best]
            else:
                alone = _Part((), np.zeros(self.table.distinct, dtype=np.int64), 1)
                parts.append(_joined(alone, column, codes[:, column]))
        counts = np.array([part.count for part in parts], dtype=np.int64)
        combos = np.zeros((codes.shape[1], int(counts.max())), dtype=np.int32)
        place = 0
        for part in parts:
            for column in part.columns:
                combos[place, part.ids] = codes[:, column]
                place += 1
        columns = np.array([column for part in parts for column in part.columns], dtype=np.int64)
        borders = np.concatenate(([0], np.cumsum([len(part.columns) for part in parts]))).astype(np.int64)
        return columns, borders, combos, counts, np.stack([part.ids for part in parts]).astype(np.int32)

    @cached_property
    def losses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Per column and run of leaves the loss of a cell, of a suppressed cell, and the rows of each leaf."""
        table = self.table
        columns = range(len(table.hierarchies))
        sizes = [len(h.leaves) ** 2 for h in table.hierarchies]
        run_at = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        runs = np.zeros((len(self.wanted.losses), sum(sizes)), dtype=np.int64)
        lost = np.zeros((len(self.wanted.losses), len(sizes)), dtype=np.int64)
        for b, loss in enumerate(self.wanted.losses):
            for c in columns:
                runs[b, run_at[c] : run_at[c] + sizes[c]] = loss.run_table(table, c).ravel()
                lost[b, c] = loss.suppressed(table, c)
        return run_at, runs, lost, np.concatenate(table.leaf_rows)


@dataclass(frozen=True, eq=False)
class _Part:
    """Columns that are looked up together."""

    columns: tuple[int, ...]
    ids: np.ndarray  # (distinct,) int64, the combination of each distinct row, in lexicographic order
    count: int


def _joined(part: _Part, column: int, codes: np.ndarray) -> _Part:
    """The part with one more column; counting beats sorting where the combinations are few."""
    width = int(codes.max()) + 1
    keys = part.ids * width + codes
    if part.count * width > 8 * len(codes) + 1024:
        found, ids = np.unique(keys, return_inverse=True)
        return _Part((*part.columns, column), ids, len(found))
    there = np.bincount(keys, minlength=part.count * width) > 0
    rank = np.cumsum(there) - 1
    return _Part((*part.columns, column), rank[keys], int(rank[-1]) + 1)
