"""Count many recodings by cuts at once: the evaluation inside genetic searches.

Each recoding goes once over the distinct rows, after they were merged as far as its neighbours in the population allow:
leaves that none of them separates are one.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kpareto import kernels
from kpareto.partition import RULES
from kpareto.rollup import Counted, Histograms, Wanted, histogram_columns
from kpareto.table import Table

MOST_LEAVES = 2_000  # a column's losses are looked up per run of leaves: leaves squared
RUN_COST = 8  # what beginning a run of rows costs, in look-ups
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
        prepared = self._prepared  # once, before threads ask for it

        def run(some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return kernels.evaluate_cuts(np.ascontiguousarray(some, dtype=np.int32), *prepared)

        if workers == 1:
            pieces = [run(cuts)]
        else:
            with ThreadPoolExecutor(workers) as pool:
                pieces = list(pool.map(run, np.array_split(cuts, workers)))
        numbers = np.arange(len(cuts))
        ints = np.concatenate([ints for ints, _ in pieces])
        rule = self.wanted.suppression
        thresholds = np.full_like(numbers, rule.k or 0 if rule.rule == "below-k" else 0)
        if rule.rule == "cap-max-k":
            thresholds = ints[:, kernels.K].copy()
        return Counted(numbers, thresholds, ints, np.concatenate([reals for _, reals in pieces]))

    @cached_property
    def _prepared(self) -> tuple[Any, ...]:
        """Everything that kernels.evaluate_cuts takes besides the cuts."""
        wanted, table, hists = self.wanted, self.table, self.histograms
        return (
            self.leaf_at, *self.rows_in_runs, hists.lane_bits, *self.losses, *hists.borders, *hists.numbers,
            *self.persons, RULES.index(wanted.suppression.rule), wanted.suppression.k or 0,
            wanted.suppression.allowed(table.rows), table.rows, wanted.risky_below, *hists.limits,
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
    def halves(self) -> tuple[_Part, _Part]:
        """Columns in an outer and an inner part; rows of one outer combination will lie together.

        Each column goes where it makes fewer look-ups, the ones with many leaves first.
        """
        codes = self.table.codes
        nothing = _Part((), np.zeros(self.table.distinct, dtype=np.int64), 1)
        outer, inner = nothing, nothing
        for column in sorted(range(codes.shape[1]), key=lambda c: -len(self.table.hierarchies[c].leaves)):
            wider, longer = (_joined(part, column, codes[:, column]) for part in (outer, inner))
            if _look_ups(wider, inner) < _look_ups(outer, longer):
                outer = wider
            else:
                inner = longer
        return outer, inner

    @cached_property
    def order(self) -> np.ndarray:
        """The distinct rows by outer combination: (distinct,) int64."""
        return np.argsort(self.halves[0].ids, kind="stable")

    @cached_property
    def rows_in_runs(self) -> tuple[np.ndarray, tuple[np.ndarray, ...], int]:
        """The columns, the rows as kernels.evaluate_cuts takes them, and where their number stands in a lead.

        A lead is a row's number of rows, with the histogram below it where both fit into one word.
        """
        table, words, order = self.table, self.histograms.packed, self.order
        combos = []
        for half in self.halves:
            some = np.zeros(half.count, dtype=np.int64)
            some[half.ids] = np.arange(table.distinct)
            combos.append(np.ascontiguousarray(table.codes[some][:, list(half.columns)].T.astype(np.int32)))
        outer, inner = (half.ids[order].astype(np.int32) for half in self.halves)
        starts = np.searchsorted(outer, np.arange(self.halves[0].count + 1)).astype(np.int64)
        lead_bits = 64 - self.histograms.lane_bits
        leads = table.weights[order]
        if len(words) == 1 and int(self.histograms.borders[0][-1]) * self.histograms.lane_bits <= lead_bits:
            leads, words = (leads << lead_bits) + words[0, order], words[:0]
        else:
            lead_bits = 0
        columns = np.array([column for half in self.halves for column in half.columns], dtype=np.int64)
        view = (*combos, starts, outer, inner, leads, np.ascontiguousarray(words[:, order]))
        return columns, view, lead_bits

    @cached_property
    def persons(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Where the persons of each row in ``order`` start, the persons, and how many there are."""
        persons = self.table.persons
        if persons is None:
            return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), 0
        held = np.diff(persons.start)[self.order]
        starts = np.concatenate(([0], np.cumsum(held))).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(persons.start[self.order] - starts[:-1], held)
        return starts, persons.code[places].astype(np.int64), len(persons.values)

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Columns in parts of few distinct combinations: order, borders, combinations, their number, and by row.

        For kernels.cut_classes, which the compiled searches count one recoding after the other with.
        """
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


def _look_ups(outer: _Part, inner: _Part) -> int:
    """What the combinations of two parts cost per recoding: a look-up per column, and more where a run begins."""
    return outer.count * (len(outer.columns) + RUN_COST) + inner.count * len(inner.columns)


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
