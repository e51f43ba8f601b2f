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
from kpareto.fronts.count_cuts import CutCounter, fits_batch, has_runs
from kpareto.fronts.count_lattice import Wanted
from kpareto.fronts.packed_values import HistNumber
from kpareto.fronts.problem import Problem
from kpareto.kernels.cuts.score import score_genomes
from kpareto.kernels.records import PartRows, RunLosses, ScoreTerms, Scoring
from kpareto.kernels.words import INFEASIBLE, MINORITY
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import Measure, Number, make
from kpareto.tables.cuts import Cuts
from kpareto.tables.partition import Partition, Suppression, allowed_rows, partition, read_limit
from kpareto.tables.table import Counts, Table

MOST_CLASSES = 2**62  # that a whole number of 64 bits tells apart


@dataclass(frozen=True, eq=False)
class _Regression:
    """The target of reg-variance in whole steps from its mean."""

    weight: float  # weight / total dispersion
    squares: float  # sum of squares over all rows
    sums: np.ndarray  # (distinct,) int64, the sum in each distinct row


@dataclass(frozen=True, eq=False)
class Weighted:
    """A term of the score that comes from a target column."""

    kind: str  # of the measure's TargetTerm
    share: bool  # of all rows; else a number of rows
    counts: Counts
    weight: float

    def row_weight(self, rows: int) -> float:
        """What one row counts."""
        return self.weight * (1.0 / rows) if self.share else self.weight


@dataclass(frozen=True, eq=False)
class Score:
    """What a compiled search minimizes: losses with weights, given k and a limit on suppressed rows."""

    table: Table
    space: Cuts
    losses: Mapping[str, float]  # measure -> weight: any cell loss (lm, glm, nwp, …), cm, cost-cm, reg-variance
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
        """What is minimized of target columns (cm, cost-cm, reg-variance), each with its column and weight."""
        terms: list[Weighted] = []
        for measure, weight in self._measures:
            if isinstance(measure, CellLoss):
                continue
            term = measure.term if isinstance(measure, Number) else None
            if term is None or (term.kind, term.share) in [(other.kind, other.share) for other in terms]:
                raise BadJob(
                    f"The compiled searches cannot minimize {measure.name!r}. They know the cell losses, cm, cost-cm "
                    "and reg-variance; for other measures run the search on a Problem."
                )
            terms.append(Weighted(term.kind, term.share, self.table.counts(term.column, "target"), weight))
        if len({id(term.counts) for term in terms if term.kind != "variance"}) > 1:
            raise BadJob("cm and cost-cm must speak of one target column here. Run the search on a Problem instead.")
        return tuple(terms)

    @property
    def _predicted(self) -> Counts | None:
        """The target column that classes are to predict, if any."""
        return next((term.counts for term in self.targets if term.kind != "variance"), None)

    @property
    def _dispersed(self) -> Weighted | None:
        """The numeric target whose dispersion is minimized, if any."""
        return next((term for term in self.targets if term.kind == "variance"), None)

    def _weight(self, kind: str) -> float:
        """The weight of one row in the terms of a kind."""
        return sum((term.row_weight(self.table.rows) for term in self.targets if term.kind == kind), 0.0)

    @cached_property
    def _wanted(self) -> Wanted:
        numbers = () if self._predicted is None else (HistNumber(MINORITY, self._predicted),)
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
        term = self.targets[0]
        return 1.0 if term.kind != "minority" else term.weight / self.table.rows if term.share else term.weight

    @cached_property
    def _counter(self) -> CutCounter:
        return CutCounter(self.table, self._wanted)

    @cached_property
    def rows(self) -> PartRows:
        """The distinct rows by parts of columns; reg-variance adds one word, the sum of the target."""
        rows = self._counter.parts
        if self._regression is None:
            return rows
        return rows._replace(words=np.concatenate((rows.words, self._regression.sums[None, :])))

    @cached_property
    def _regression(self) -> _Regression | None:
        """What reg-variance needs of its target, if it is minimized.

        Targets are counted from their mean in steps of 2**-20 of their range, so that sums are whole numbers.
        """
        if self._dispersed is None:
            return None
        counts, weight = self._dispersed.counts, self._dispersed.weight
        if counts.numbers is None:
            raise BadTable(
                f"The target {counts.name!r} is not numeric, so reg-variance has no meaning. Minimize cm instead."
            )
        mean = float(counts.numbers @ counts.totals) / self.table.rows
        width = max(float(np.abs(counts.numbers - mean).max()), 1e-300)
        steps = np.rint((counts.numbers - mean) / width * 2**20).astype(np.int64)
        squares = float((steps.astype(np.float64) ** 2) @ counts.totals)
        away = float(steps @ counts.totals)
        total = squares - away * away / self.table.rows
        sums = np.bincount(counts.row, weights=steps[counts.code] * counts.count, minlength=self.table.distinct)
        return _Regression(weight / total if total > 0 else 0.0, squares, np.rint(sums).astype(np.int64))

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
        return float(np.sum(self._run_losses.lost) + self._terms.cm_weight)

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
        """The limits, and the weights of the losses that need the target."""
        counts, regression = self._predicted, self._regression
        cm_weight = self._weight("minority")
        if len(self._measures) == 1 and cm_weight:
            cm_weight = 1.0  # raw scores count rows, exactly
        return ScoreTerms(
            k=self.k,
            allowed=self.allowed,
            hist_words=len(self._counter.histograms.packed),
            lane_bits=self._counter.histograms.lanes.bits,
            values=1 if counts is None else len(counts.values),
            cm_weight=cm_weight,
            cost_weight=self._weight("cost"),
            costs=self._cost_matrix(counts),
            with_regression=regression is not None,
            regression_weight=0.0 if regression is None else regression.weight,
            regression_squares=0.0 if regression is None else regression.squares,
        )

    def _cost_matrix(self, counts: Counts | None) -> np.ndarray:
        """cost[true, told] (values, values) float64: 0 on the diagonal and 1 elsewhere unless given."""
        if counts is None or not any(term.kind == "cost" for term in self.targets):
            return np.zeros((1, 1))
        terms = [measure.term for measure, _ in self._measures if isinstance(measure, Number)]
        own = next((term.costs for term in terms if term is not None and term.kind == "cost"), None)
        costs = self.costs or own or {}
        for value in {*costs, *(other for row in costs.values() for other in row)}:
            if value not in counts.values:
                raise BadTable(
                    f"cost-cm has a cost for {value!r}, which the column {counts.name!r} never takes. Drop it."
                )
        return np.array(
            [
                [float(costs.get(true, {}).get(other, float(true != other))) for other in counts.values]
                for true in counts.values
            ]
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
