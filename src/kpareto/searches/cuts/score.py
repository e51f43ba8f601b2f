"""Score: one number to be minimized for each genome, as the compiled searches count it.

A weighted sum of losses under the rule below-k: classes smaller than k are suppressed, and where more rows go than the
limit allows, the genome is infeasible. Other measures and rules go through Problem, which is slower and general.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from kpareto import measures as _measures  # noqa: F401  (fills the table of names)
from kpareto.errors import BadInput, BadJob, BadTable
from kpareto.fronts.count_cuts import CutCounter, has_runs, target_entries
from kpareto.fronts.count_lattice import Wanted, fits_batch
from kpareto.fronts.packed_values import HistNumber
from kpareto.fronts.problem import Problem
from kpareto.kernels.classes import lane_width
from kpareto.kernels.cuts.score import score_genomes
from kpareto.kernels.records import PartRows, RunLosses, ScoreTerms, Scoring
from kpareto.kernels.words import INFEASIBLE, MINORITY
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import Measure, Number, make
from kpareto.measures.reading import TargetTerm
from kpareto.measures.targets import list_costs
from kpareto.tables.cuts import Cuts
from kpareto.tables.partition import Partition, Suppression, allowed_rows, partition, read_limit
from kpareto.tables.table import Counts, Table

MOST_CLASSES = 2**62  # that a whole number of 64 bits tells apart


@dataclass(frozen=True, eq=False)
class _Dispersion:
    """A numeric target in whole steps, for reg-variance or reg-deviation."""

    counts: Counts
    steps: np.ndarray  # (values,) int64, from the middle of all rows
    weight: float  # weight / total dispersion
    squares: float  # sum of squares over all rows

    @property
    def sums(self) -> np.ndarray:
        """The sum in each distinct row: (distinct,) int64."""
        counts = self.counts
        running = np.concatenate(([0], np.cumsum(self.steps[counts.code] * counts.count)))
        return np.diff(running[counts.start])


@dataclass(frozen=True, eq=False)
class Weighted:
    """A term of the score that comes from a target column."""

    term: TargetTerm
    counts: Counts
    weight: float

    def row_weight(self, rows: int) -> float:
        """What one row counts."""
        return self.weight * (1.0 / rows) if self.term.share else self.weight


@dataclass(frozen=True, eq=False)
class Score:
    """What a compiled search minimizes: losses with weights, given k and a limit on suppressed rows."""

    table: Table
    space: Cuts
    # Measure -> weight: any cell loss (lm, glm, nwp, …), cm, cost-cm, reg-variance, reg-deviation; multi-target becomes
    # the measures that it is made of.
    losses: Mapping[str, float]
    k: int
    limit: float | None = None  # a float is a share of the rows, an int a number of rows, None allows all
    costs: Mapping[str, Mapping[str, float]] | None = None  # for cost-cm: true value -> predicted value -> cost

    def __post_init__(self) -> None:
        if self.k < 1:
            raise BadJob(f"k is {self.k}. Give a whole number of at least 1.")
        if self.limit is not None:
            object.__setattr__(self, "limit", read_limit(self.limit))
        if not self.losses or any(not 0 < weight < float("inf") for weight in self.losses.values()):
            raise BadJob(
                f"The losses to be minimized are {dict(self.losses)!r}. Give at least one, with a weight above 0."
            )
        object.__setattr__(self, "losses", _flatten(self.losses))
        if self.table.persons is not None:
            raise BadJob(
                "The compiled searches count rows, and this table tells persons apart. "
                "Run the search on a Problem instead."
            )
        if not fits_batch(self.table, self._wanted) or not has_runs(self.table):
            raise BadJob(
                "The table is too large for the compiled searches. Run the search on a Problem, or on a sample."
            )
        if self.space.hierarchies != self.table.hierarchies:
            raise BadJob("The space has other hierarchies than the table. Make it from table.hierarchies.")

    # -- what is asked -----------------------------------------------------------------------------------------------

    @cached_property
    def _measures(self) -> tuple[tuple[Measure, float], ...]:
        return tuple((make(spec), float(weight)) for spec, weight in self.losses.items())

    @cached_property
    def _cells(self) -> tuple[tuple[CellLoss, float], ...]:
        return tuple((m, w) for m, w in self._measures if isinstance(m, CellLoss))

    @cached_property
    def targets(self) -> tuple[Weighted, ...]:
        """What is minimized of target columns, each with its column and weight."""
        terms: list[Weighted] = []
        for measure, weight in self._measures:
            if isinstance(measure, CellLoss):
                continue
            term = measure.term if isinstance(measure, Number) else None
            if term is None:
                raise BadJob(
                    f"The compiled searches cannot minimize {measure.name!r}. They know the cell losses, cm, cost-cm, "
                    "reg-variance and reg-deviation; for other measures run the search on a Problem."
                )
            terms.append(Weighted(term, self.table.counts(term.column, "target"), weight))
        return tuple(terms)

    def _of_kind(self, kind: str) -> list[Weighted]:
        return [term for term in self.targets if term.term.kind == kind]

    @cached_property
    def predicted(self) -> tuple[tuple[Counts, float], ...]:
        """The target columns of cm, each with what a row outside the majority counts in a raw score."""
        weights: dict[int, tuple[Counts, float]] = {}
        for term in self._of_kind("minority"):
            _, before = weights.get(id(term.counts), (term.counts, 0.0))
            # A raw score of cm alone counts rows, exactly.
            weight = 1.0 if len(self._measures) == 1 else before + term.row_weight(self.table.rows)
            weights[id(term.counts)] = term.counts, weight
        return tuple(weights.values())

    @property
    def adds_up(self) -> bool:
        """Whether the score is a sum over classes of at most one target column, as recutting needs it."""
        return len(self.predicted) <= 1 and all(term.term.kind == "minority" for term in self.targets)

    @cached_property
    def _wanted(self) -> Wanted:
        predicted = {id(t.counts): t.counts for t in (*self._of_kind("minority"), *self._of_kind("cost"))}
        numbers = tuple(HistNumber(MINORITY, counts) for counts in predicted.values())
        return Wanted(Suppression("below-k", k=self.k), tuple(loss for loss, _ in self._cells), numbers)

    @property
    def allowed(self) -> int:
        """The most rows that may be suppressed."""
        rows = self.table.rows
        return rows if self.limit is None else min(rows, allowed_rows(self.limit, rows))

    @property
    def suppression(self) -> Suppression:
        """The rule the score is counted under."""
        return Suppression("below-k", k=self.k)

    # -- arrays for the kernels --------------------------------------------------------------------------------------

    @cached_property
    def unit(self) -> float:
        """What one unit of a raw score is worth; with a single cell loss or cm raw scores are whole numbers."""
        if len(self._measures) > 1:
            return 1.0
        if self._cells:
            return float(self._cells[0][0].scale(self.table)) * self._cells[0][1]
        return self.targets[0].row_weight(self.table.rows) if self.predicted else 1.0

    @cached_property
    def _counter(self) -> CutCounter:
        return CutCounter(self.table, self._wanted)

    @cached_property
    def rows(self) -> PartRows:
        """The distinct rows by parts of columns; reg-variance adds a word, the sum of the target."""
        rows = self._counter.parts
        words = np.concatenate((rows.words, *(one.sums[None, :] for one in self._variances)))
        return rows._replace(words=words, entries=target_entries([(d.counts, d.steps) for d in self._deviations]))

    @cached_property
    def _variances(self) -> list[_Dispersion]:
        """What reg-variance needs of its targets: 2**20 steps from the mean, so that sums are whole numbers."""
        dispersions = []
        for term in self._of_kind("variance"):
            numbers, totals = self._numbers(term.counts), term.counts.totals
            steps = _whole_steps(numbers, float(numbers @ totals) / self.table.rows, 20)
            squares = float((steps.astype(np.float64) ** 2) @ totals)
            away = float(steps @ totals)
            total = squares - away * away / self.table.rows
            dispersions.append(_Dispersion(term.counts, steps, term.weight / total if total > 0 else 0.0, squares))
        return dispersions

    @cached_property
    def _deviations(self) -> list[_Dispersion]:
        """The same for reg-deviation: 2**30 steps from the median of all rows."""
        dispersions = []
        for term in self._of_kind("deviation"):
            numbers, totals = self._numbers(term.counts), term.counts.totals
            middle = numbers[np.searchsorted(np.cumsum(totals), (self.table.rows + 1) // 2)]
            steps = _whole_steps(numbers, float(middle), 30)
            total = int(np.abs(steps) @ totals)
            dispersions.append(_Dispersion(term.counts, steps, term.weight / total if total > 0 else 0.0, 0.0))
        return dispersions

    def _numbers(self, counts: Counts) -> np.ndarray:
        if counts.numbers is None:
            raise BadTable(
                f"The target {counts.name!r} is not numeric, so regression has no meaning. Minimize cm instead."
            )
        return counts.numbers

    @cached_property
    def scoring(self) -> Scoring:
        """Everything the kernels score a genome by; a class is a number made of the combinations of all parts."""
        if math.prod(self.rows.combo_counts.tolist()) >= MOST_CLASSES:
            raise BadJob(
                "The table has too many columns for the compiled searches. Run the search on a Problem instead."
            )
        return Scoring(self.rows, self._run_losses, self._terms)

    @property
    def row_cost(self) -> float:
        """What a suppressed row costs in a raw score: all its cells, and one error."""
        return float(np.sum(self._run_losses.lost) + np.sum(self._terms.cm_weights))

    @cached_property
    def _run_losses(self) -> RunLosses:
        """The cell losses with their weights, added up into one."""
        losses = self._counter.losses
        if len(self._measures) == 1:
            weights = [1.0 for _ in self._cells]
        else:
            weights = [float(loss.scale(self.table)) * weight for loss, weight in self._cells]
        runs = np.zeros(losses.runs.shape[1])
        lost = np.zeros(losses.lost.shape[1])
        for b, weight in enumerate(weights):
            runs += losses.runs[b] * weight
            lost += losses.lost[b] * weight
        return losses._replace(runs=runs, lost=lost)

    @cached_property
    def _terms(self) -> ScoreTerms:
        """The limits, and the weights of the losses that need a target."""
        columns, lanes = self._wanted.values.columns(), self._counter.histograms.lanes
        starts = {id(counts): lanes.word_at[lane_width(lanes.bits), place] for place, counts in enumerate(columns)}
        costly = self._of_kind("cost")
        predicted = [counts for counts, _ in self.predicted] + [term.counts for term in costly]
        values = np.array([len(counts.values) for counts in predicted], dtype=np.int64)
        costs = np.zeros((len(predicted), values.max(initial=1), values.max(initial=1)))
        for place, term in enumerate(costly, len(self.predicted)):
            costs[place, : values[place], : values[place]] = list_costs(
                self.costs or term.term.costs or {}, term.counts
            )
        return ScoreTerms(
            k=self.k,
            allowed=self.allowed,
            hist_words=len(self._counter.histograms.packed),
            lane_bits=lanes.bits,
            word_at=np.array([starts[id(counts)] for counts in predicted], dtype=np.int64),
            values=values,
            cm_weights=np.array([weight for _, weight in self.predicted] + [0.0 for _ in costly]),
            cost_weights=np.array([0.0 for _ in self.predicted] + [t.row_weight(self.table.rows) for t in costly]),
            costs=costs,
            square_weights=np.array([one.weight for one in self._variances], dtype=np.float64),
            squares=np.array([one.squares for one in self._variances], dtype=np.float64),
            deviation_weights=np.array([one.weight for one in self._deviations], dtype=np.float64),
        )

    # -- scores ------------------------------------------------------------------------------------------------------

    def raw(self, genomes: np.ndarray) -> np.ndarray:
        """Raw scores of genomes (n, genes): (n,) float64; value = unit × raw score, infeasible from 10**18 on."""
        bits = np.ascontiguousarray(genomes, dtype=np.uint8)
        return score_genomes(bits, self.space.gene_places, self.scoring)

    def values(self, genomes: np.ndarray) -> np.ndarray:
        """The weighted losses of genomes (n, genes): (n,) float64, infinite where too many rows are suppressed."""
        return self.value(self.raw(genomes))

    def value(self, raw: np.ndarray) -> np.ndarray:
        """Raw scores in the losses' own unit."""
        return np.where(np.asarray(raw) >= INFEASIBLE, np.inf, np.asarray(raw) * self.unit)

    def partition(self, genome: np.ndarray) -> Partition:
        """The classes of one genome, the small ones suppressed."""
        return partition(self.table, self.space.decode(genome), self.suppression)

    def exact(self, genome: np.ndarray) -> float:
        """The score of one genome from its partition, by the measures themselves."""
        partition = self.partition(genome)
        if partition.suppressed_rows > self.allowed:
            return float("inf")
        return float(sum(Fraction(weight) * Fraction(measure(partition)) for measure, weight in self._measures))


def _flatten(losses: Mapping[str, float]) -> dict[str, float]:
    """The losses with every weighted sum replaced by its parts."""
    flat: dict[str, float] = {}
    for spec, weight in losses.items():
        parts = getattr(make(spec), "parts", ())
        for name, share in _flatten({part.name: s for part, s in parts}).items() if parts else [(spec, 1.0)]:
            flat[name] = flat.get(name, 0.0) + weight * share
    return flat


def _whole_steps(numbers: np.ndarray, middle: float, bits: int) -> np.ndarray:
    """Numbers as whole steps from their middle, 2**bits of them in the largest distance: (values,) int64."""
    width = max(float(np.abs(numbers - middle).max()), 1e-300)
    return np.rint((numbers - middle) / width * 2**bits).astype(np.int64)


def score_of(problem: Problem, space: Cuts) -> Score | None:
    """The score of a problem that the compiled searches can take, or None.

    One loss they know, and k as the only limit: under the rule below-k, under as-needed (with k as a limit only the
    classes below that are suppressed), or under none.
    """
    if len(problem.objectives) != 1 or problem.table.persons is not None or problem.suppression.rows != "drop":
        return None
    limits = {measure.name: threshold for measure, threshold in problem.limits}
    rule = problem.suppression.rule
    cap: float | None = None
    wanted = problem.suppression.k or 1
    if rule == "below-k" and all(name == "k" and limit <= wanted for name, limit in limits.items()):
        k = wanted  # whatever is not suppressed meets the limit, which a job with this rule always has
    elif rule in ("none", "as-needed") and set(limits) == {"k"}:
        k, cap = max(1, math.ceil(limits["k"])), 0 if rule == "none" else problem.suppression.limit
    else:
        return None
    try:
        score = Score(problem.table, space, {problem.objectives[0].name: 1.0}, k, cap)
        return score if score.scoring else None
    except BadInput:
        return None
