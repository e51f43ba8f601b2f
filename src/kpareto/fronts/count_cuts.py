"""Count many recodings by cuts at once: the evaluation inside genetic searches.

Each recoding goes once over the distinct rows, after they were merged as far as its neighbours in the population allow:
leaves that none of them separates are one.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kpareto.fronts.count_lattice import (
    CountedNodes,
    Wanted,
    join_nodes,
    make_axes,
    make_rule,
    number_groups,
    reach_room,
    without_axes,
)
from kpareto.fronts.packed_values import HistNumber, PackedValues, pack_for_cuts
from kpareto.interrupts import FIRST_PIECE, Portions, is_heard
from kpareto.kernels.compiling import working
from kpareto.kernels.cuts.count import MaskRoom, Persons, WideCells, evaluate_cuts
from kpareto.kernels.cuts.persons import REACH, HolderRoom, Holders
from kpareto.kernels.cuts.runs import RunRows
from kpareto.kernels.needed import Axes, ReachRoom
from kpareto.kernels.records import ClassNumbers, KernelQuestions, PartRows, RuleNumbers, RunLosses, TargetEntries
from kpareto.kernels.words import CAP_MAX_K, T_EQUAL, T_ORDERED, K
from kpareto.measures.persons import count_everybody
from kpareto.tables.table import Counts, Held, Table

MOST_LEAVES = 2_000  # a column's losses are looked up per run of leaves, leaves squared; wider ones cut by cut
RUN_COST = 8  # what beginning a run of rows costs, in look-ups
MOST_COMBINATIONS = 2_048  # of the columns in one part: what still fits into the first cache


def has_runs(table: Table) -> bool:
    """Whether the losses of all runs of leaves can be listed, which searches over cuts ask for."""
    return max(len(h.leaves) for h in table.hierarchies) <= MOST_LEAVES


def target_entries(columns: Sequence[tuple[Counts, np.ndarray]]) -> TargetEntries:
    """The rows of numeric targets in rising order; each column with its numbers as whole steps: (values,) int64."""
    entries = [(counts, steps, np.argsort(counts.code, kind="stable")) for counts, steps in columns]
    at = np.cumsum([0, *(len(order) for _, _, order in entries)]).astype(np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    row = [counts.row[order] for counts, _, order in entries]
    step = [steps[counts.code[order]] for counts, steps, order in entries]
    count = [counts.count[order] for counts, _, order in entries]
    rows, numbers, sizes = (np.concatenate((nothing, *pieces)) for pieces in (row, step, count))
    return TargetEntries(at, rows.astype(np.int32), numbers, sizes)


def count_cuts(table: Table, wanted: Wanted, cuts: np.ndarray, threads: int | None = None) -> CountedNodes:
    """The statistics of many recodings; cuts: (n, all leaves) int32, the cuts of the columns side by side."""
    return CutCounter(table, wanted).count(cuts, threads)


@dataclass(frozen=True, eq=False)
class CutCounter:
    """A table made ready for counting recodings by cuts."""

    table: Table
    wanted: Wanted
    _portions: Portions = field(default_factory=lambda: Portions(clock=working))

    def count(self, cuts: np.ndarray, threads: int | None = None) -> CountedNodes:
        """The statistics of many recodings, in their order; any number of threads gives the same."""
        if not is_heard() or len(cuts) <= FIRST_PIECE:
            return self._count(cuts, threads)
        pieces: list[CountedNodes] = []
        for portion in self._portions.of(len(cuts)):  # so that somebody who waits can stop it
            part = self._count(cuts[portion], threads)
            pieces.append(replace(part, nodes=part.nodes + portion.start))
        return join_nodes(pieces)

    def _count(self, cuts: np.ndarray, threads: int | None) -> CountedNodes:
        workers = max(1, min(threads or os.cpu_count() or 1, len(cuts) // 16))
        lanes = self.histograms.lanes
        prepared = (self.leaf_at, self.rows, self.losses)  # once
        _ = self.persons, self.holders

        def run(some: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            questions, needed = self._asked()
            genomes = np.ascontiguousarray(self._without_gaps(some), dtype=np.int32)
            wide = self._wide_cells(some) if self.wide else None
            mask = self._mask_room() if self.is_masked else None
            owned = None if self.holders is None else (self.holders, self._holder_room(self.holders))
            asked = (lanes, questions, needed, self.persons, owned, mask)
            return evaluate_cuts(genomes, *prepared, wide, *asked, self.rule)

        if workers == 1:  # often a single recoding: nothing to put together
            labels, ints, reals = run(cuts)
        else:
            shares = np.array_split(cuts, workers)
            with ThreadPoolExecutor(workers) as pool:
                pieces = list(pool.map(run, shares))
            for (piece, _, _), first in zip(pieces, np.cumsum([0, *map(len, shares[:-1])]).tolist(), strict=True):
                piece[:, 0] += first
            labels, ints, reals = (np.concatenate(column) for column in zip(*pieces, strict=True))
        capped = self.rule.number == CAP_MAX_K
        return CountedNodes(labels[:, 0], ints[:, K].copy() if capped else labels[:, 1], ints, reals)

    def _asked(self) -> tuple[KernelQuestions | None, tuple[Axes, ClassNumbers, ReachRoom] | None]:
        """What is asked of the histograms, and of thresholds of their numbers, with room for one thread."""
        axes, questions = make_axes(self.wanted), self.questions
        if axes is None or questions is None:
            return questions, None
        room = reach_room(axes, len(self.wanted.losses), self.table.distinct, self.rule.allowed)
        return without_axes(questions, axes), (axes, questions.numbers, room)

    @property
    def is_masked(self) -> bool:
        """Whether suppressed rows stay, as one more class that everybody sees."""
        return self.wanted.suppression.rows == "mask" and self.wanted.suppression.rule != "none"

    def _mask_room(self) -> MaskRoom:
        """Room for the class of masked rows, for one thread."""
        words = max(len(self.rows.words), 1 if self.rows.lead_bits else 0)
        alone = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros((words, 1), dtype=np.int64))
        judged = (np.zeros(1, dtype=np.bool_), np.zeros(len(self.wanted.numbers)))
        totals = np.zeros(words, dtype=np.int64)
        away = np.zeros(self.table.distinct, dtype=np.bool_)
        ids, numbers = np.zeros(self.table.distinct, dtype=np.int64), np.zeros((len(self.wanted.values.told), 1))
        return MaskRoom(*alone, *judged, totals, away, ids, numbers)

    @cached_property
    def rule(self) -> RuleNumbers:
        """The suppression rule as the kernels take it."""
        return make_rule(self.table, self.wanted)

    @cached_property
    def questions(self) -> KernelQuestions | None:
        """What is asked of the histograms; None where nothing is, so that nothing of it is compiled."""
        return self.histograms.questions

    @cached_property
    def wide(self) -> tuple[int, ...]:
        """Columns that declare too many leaves for a table of runs: of these only the leaves that occur are counted."""
        return tuple(c for c, h in enumerate(self.table.hierarchies) if len(h.leaves) > MOST_LEAVES)

    @cached_property
    def codes(self) -> np.ndarray:
        """The leaves of each distinct row; of wide columns by their place among those that occur."""
        codes = self.table.codes.copy() if self.wide else self.table.codes
        for column in self.wide:
            codes[:, column] = np.searchsorted(self.table.occurring[column], codes[:, column])
        return codes

    @cached_property
    def leaf_at(self) -> np.ndarray:
        """Where each column's leaves start in a cut as the loops take it: (columns + 1,) int64."""
        sizes = [len(h.leaves) for h in self.table.hierarchies]
        for column in self.wide:
            sizes[column] = len(self.table.occurring[column])
        return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    @cached_property
    def _declared_at(self) -> np.ndarray:
        """Where each column's leaves start in a cut as a space makes it: (columns + 1,) int64."""
        return np.concatenate(([0], np.cumsum([len(h.leaves) for h in self.table.hierarchies]))).astype(np.int64)

    def _without_gaps(self, cuts: np.ndarray) -> np.ndarray:
        """The cuts over the leaves that occur, groups numbered without gaps again."""
        if not self.wide:
            return cuts
        pieces = []
        for column, (start, end) in enumerate(itertools.pairwise(self._declared_at.tolist())):
            piece = cuts[:, start:end]
            if column in self.wide:
                piece = number_groups(piece[:, self.table.occurring[column]])
            pieces.append(piece)
        return np.concatenate(pieces, axis=1)

    def _wide_cells(self, cuts: np.ndarray) -> WideCells:
        """The losses of wide columns under these cuts; columns mostly have few cuts among them, as on a lattice."""
        table, losses = self.table, self.wanted.losses
        at = np.full((len(cuts), len(table.hierarchies)), -1, dtype=np.int64)
        sums = np.zeros((len(losses), len(cuts)), dtype=np.int64)
        pieces = [np.zeros((len(losses), 0), dtype=np.int64)]
        length = 0
        for column in self.wide:
            known: dict[bytes, tuple[int, list[int]]] = {}
            for g, cut in enumerate(cuts[:, self._declared_at[column] : self._declared_at[column + 1]]):
                key = cut.tobytes()
                if key not in known:
                    cells = [loss.table_of(table, column, cut)[cut] for loss in losses]
                    known[key] = length, [int((cell * table.leaf_rows[column]).sum()) for cell in cells]
                    pieces += [np.array(cells, dtype=np.int64).reshape(len(losses), -1)[:, table.occurring[column]]]
                    length += pieces[-1].shape[1]
                at[g, column], totals = known[key]
                sums[:, g] += totals
        return WideCells(at, np.concatenate(pieces, axis=1), sums)

    @cached_property
    def histograms(self) -> PackedValues:
        """The sensitive and target counts of each distinct row."""
        return pack_for_cuts(self.table, self.wanted.values)

    @cached_property
    def halves(self) -> tuple[_Part, _Part]:
        """Columns in an outer and an inner part; rows of one outer combination will lie together.

        Each column goes where it makes fewer look-ups, the ones with many leaves first.
        """
        codes = self.codes
        nothing = _Part((), np.zeros(self.table.distinct, dtype=np.int64), 1)
        outer, inner = nothing, nothing
        for column in sorted(range(codes.shape[1]), key=lambda c: -int(np.diff(self.leaf_at)[c])):
            wider, longer = (_join(part, column, codes[:, column]) for part in (outer, inner))
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
    def rows(self) -> RunRows:
        """The distinct rows in runs.

        A lead is a row's number of rows, with the histogram below it where both fit into one word.
        """
        table, words, order = self.table, self.histograms.packed, self.order
        combos = []
        for half in self.halves:
            some = np.zeros(half.count, dtype=np.int64)
            some[half.ids] = np.arange(table.distinct)
            combos.append(np.ascontiguousarray(self.codes[some][:, list(half.columns)].T.astype(np.int32)))
        outer, inner = (half.ids[order].astype(np.int32) for half in self.halves)
        starts = np.searchsorted(outer, np.arange(self.halves[0].count + 1)).astype(np.int64)
        lanes = self.histograms.lanes
        lead_bits = 64 - lanes.bits
        leads = table.weights[order]
        if len(words) == 1 and len(lanes.totals) * lanes.bits <= lead_bits:
            leads, words = (leads << lead_bits) + words[0, order], words[:0]
        else:
            lead_bits = 0
        columns = np.array([column for half in self.halves for column in half.columns], dtype=np.int64)
        outer_combos, inner_combos = combos
        return RunRows(
            columns, outer_combos, inner_combos, starts, outer, inner, leads, np.ascontiguousarray(words[:, order]),
            lead_bits,
        )  # fmt: skip

    @cached_property
    def persons(self) -> Persons | None:
        """The persons of each row in ``order``; None where they are not told apart."""
        persons = self.table.persons
        if persons is None:
            return None
        counts = np.diff(persons.start)[self.order]
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(persons.start[self.order] - starts[:-1], counts)
        return Persons(starts, persons.code[places].astype(np.int64), len(persons.values))

    @cached_property
    def holders(self) -> Holders | None:
        """Who has which value in each row in ``order``, for numbers that count persons; None where none does."""
        asked = self.wanted.values.told
        if not asked:
            return None
        columns = list({id(number.counts): number.counts for number in asked}.values())
        starts = np.zeros((len(columns), self.table.distinct + 1), dtype=np.int64)
        entries, keys, offset, known = [], [], 0, 0
        for column, counts in enumerate(columns):
            owners, width = _owners(counts), len(counts.values)
            rows = np.bincount(owners.row, minlength=self.table.distinct)
            before = np.cumsum(rows) - rows
            starts[column] = offset + np.concatenate(([0], np.cumsum(rows[self.order])))
            places = np.arange(len(owners.row)) + np.repeat(
                before[self.order] - (starts[column, :-1] - offset), rows[self.order]
            )
            pairs, which = np.unique(owners.person[places] * width + owners.code[places], return_inverse=True)
            entries.append(which + known)
            keys.append(np.stack((pairs // width, pairs % width)))
            offset, known = offset + len(places), known + len(pairs)
        return Holders(starts, np.concatenate(entries), *np.concatenate(keys, axis=1), *_ask_persons(asked, columns))

    def _holder_room(self, holders: Holders) -> HolderRoom:
        """Room for the persons of one class, for one thread."""
        numbers, values = holders.totals.shape
        pairs, persons = len(holders.persons), int(holders.persons.max(initial=0)) + 1

        def whole(*shape: int) -> np.ndarray:
            return np.zeros(shape, dtype=np.int64)

        return HolderRoom(
            np.zeros((numbers, self.table.distinct)), whole(1), whole(pairs), whole(persons), whole(persons),
            whole(persons), whole(pairs), whole(persons + 1), whole(pairs), whole(values), np.zeros(values),
            whole(values), whole(persons), whole(2, REACH),
        )  # fmt: skip

    @cached_property
    def parts(self) -> PartRows:
        """The distinct rows by parts: columns with few distinct combinations, looked up together.

        For cut_classes, which the compiled searches count one recoding after the other with.
        """
        codes = self.table.codes
        parts: list[_Part] = []
        for column in sorted(range(codes.shape[1]), key=lambda c: -len(self.table.hierarchies[c].leaves)):
            tried = [_join(part, column, codes[:, column]) for part in parts]
            best = min(range(len(tried)), key=lambda p: tried[p].count, default=-1)
            if best >= 0 and tried[best].count <= MOST_COMBINATIONS:
                parts[best] = tried[best]
            else:
                alone = _Part((), np.zeros(self.table.distinct, dtype=np.int64), 1)
                parts.append(_join(alone, column, codes[:, column]))
        counts = np.array([part.count for part in parts], dtype=np.int64)
        combos = np.zeros((codes.shape[1], int(counts.max())), dtype=np.int32)
        line = 0
        for part in parts:
            for column in part.columns:
                combos[line, part.ids] = codes[:, column]
                line += 1
        columns = np.array([column for part in parts for column in part.columns], dtype=np.int64)
        borders = np.concatenate(([0], np.cumsum([len(part.columns) for part in parts]))).astype(np.int64)
        by_row = np.stack([part.ids for part in parts]).astype(np.int32)
        words = np.ascontiguousarray(self.histograms.packed)
        return PartRows(columns, borders, combos, counts, by_row, self.table.weights, words, target_entries(()))

    @cached_property
    def losses(self) -> RunLosses:
        """Per column and run of leaves the loss of a cell, of a suppressed cell, and the rows of each leaf."""
        table = self.table
        columns = range(len(table.hierarchies))
        sizes = [0 if c in self.wide else len(h.leaves) ** 2 for c, h in enumerate(table.hierarchies)]
        run_at = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        runs = np.zeros((len(self.wanted.losses), sum(sizes)), dtype=np.int64)
        lost = np.zeros((len(self.wanted.losses), len(sizes)), dtype=np.int64)
        for b, loss in enumerate(self.wanted.losses):
            for c in columns:
                if sizes[c]:
                    runs[b, run_at[c] : run_at[c] + sizes[c]] = loss.run_table(table, c).ravel()
                lost[b, c] = loss.suppressed(table, c)
        rows = [n[table.occurring[c]] if c in self.wide else n for c, n in enumerate(table.leaf_rows)]
        return RunLosses(run_at, runs, lost, np.concatenate(rows))


def _owners(counts: Counts) -> Held:
    """Who has the values of a column, which is asked only where persons are told apart."""
    if counts.held is None:
        raise TypeError("numbers of persons are asked of a column that does not know them")
    return counts.held


def _ask_persons(told: Sequence[HistNumber], columns: Sequence[Counts]) -> tuple[np.ndarray, ...]:
    """Column, kind, parameter, values, totals and persons in all of each number that counts persons."""
    at = {id(counts): column for column, counts in enumerate(columns)}
    widths = [len(number.counts.values) for number in told]
    totals, whole = np.zeros((len(told), max(widths))), np.zeros(len(told), dtype=np.int64)
    for e, number in enumerate(told):
        even = number.kind in (T_EQUAL, T_ORDERED)
        totals[e, : widths[e]], whole[e] = count_everybody(_owners(number.counts), widths[e], even)
    return (
        np.array([at[id(number.counts)] for number in told], dtype=np.int64),
        np.array([number.kind for number in told], dtype=np.int64),
        np.array([number.parameter for number in told], dtype=np.float64),
        np.array(widths, dtype=np.int64),
        totals,
        whole,
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """Columns that are looked up together."""

    columns: tuple[int, ...]
    ids: np.ndarray  # (distinct,) int64, the combination of each distinct row, in lexicographic order
    count: int


def _look_ups(outer: _Part, inner: _Part) -> int:
    """What the combinations of two parts cost per recoding: a look-up per column, and more where a run begins."""
    return outer.count * (len(outer.columns) + RUN_COST) + inner.count * len(inner.columns)


def _join(part: _Part, column: int, codes: np.ndarray) -> _Part:
    """The part with one more column; counting beats sorting where the combinations are few."""
    width = int(codes.max()) + 1
    keys = part.ids * width + codes
    if part.count * width > 8 * len(codes) + 1024:
        distinct_keys, ids = np.unique(keys, return_inverse=True)
        return _Part((*part.columns, column), ids, len(distinct_keys))
    there = np.bincount(keys, minlength=part.count * width) > 0
    rank = np.cumsum(there) - 1
    return _Part((*part.columns, column), rank[keys], int(rank[-1]) + 1)
