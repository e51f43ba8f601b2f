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
from typing import Any

import numpy as np

from kpareto import kernels
from kpareto import measures as _measures  # noqa: F401  (fills the table of names)
from kpareto.batch import CutCounter, fits_batch
from kpareto.cuts import Cuts
from kpareto.errors import BadInput, BadJob, BadTable
from kpareto.loss import CellLoss
from kpareto.measure import Measure, make, parameters_of
from kpareto.partition import Partition, Suppression, partition
from kpareto.problem import Problem
from kpareto.rollup import HistNumber, Histograms, Wanted
from kpareto.table import Counts, Table

INFEASIBLE = 1e18  # scores from here on: more rows suppressed than allowed
View = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Score:
    """What a compiled search minimizes: losses with weights, given k and a limit on suppressed rows."""

    table: Table
    space: Cuts
    losses: Mapping[str, float]  # measure -> weight: any cell loss (lm, glm, nwp, …), cm, cost-cm, reg-variance
    k: int
    limit: float = 1.0  # a share of the rows up to 1, a number of rows above
    costs: Mapping[str, Mapping[str, float]] | None = None  # for cost-cm: true value -> predicted value -> cost

    def __post_init__(self) -> None:
        if self.k < 1:
            raise BadJob(f"k is {self.k}. Give a whole number of at least 1.")
        if not self.losses or any(not 0 < weight < float("inf") for weight in self.losses.values()):
            raise BadJob(
                f"The losses to be minimized are {dict(self.losses)!r}. Give at least one, with a weight above 0."
            )
        if self.table.persons is not None:
            raise BadJob(
                "The compiled searches count rows, and this table tells persons apart. "
                "Run the search on a Problem instead."
            )
        if not fits_batch(self.table, self._wanted):
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
    def _targets(self) -> dict[str, tuple[Counts, float]]:
        """cm, cost-cm and reg-variance: the target column and the weight of each."""
        found: dict[str, tuple[Counts, float]] = {}
        for measure, weight in self._measures:
            if isinstance(measure, CellLoss):
                continue
            name, parameters = parameters_of(measure) or (measure.name, {})
            plain = "reg-variance" if name == "reg" and not parameters else name
            if (
                plain not in ("cm", "cm-rows", "cost-cm", "reg-variance")
                or set(parameters) - {"column"}
                or plain in found
            ):
                raise BadJob(
                    f"The compiled searches cannot minimize {measure.name!r}. They know the cell losses, cm, cost-cm "
                    "and reg-variance; for other measures run the search on a Problem."
                )
            column = parameters.get("column")
            found[plain] = (self.table.counts(None if column is None else str(column), "target"), weight)
        by_class = {id(counts) for name, (counts, _) in found.items() if name != "reg-variance"}
        if len(by_class) > 1:
            raise BadJob("cm and cost-cm must speak of one target column here. Run the search on a Problem instead.")
        return found

    @cached_property
    def _wanted(self) -> Wanted:
        columns = [counts for name, (counts, _) in self._targets.items() if name != "reg-variance"]
        numbers = tuple(HistNumber(kernels.MINORITY, counts) for counts in columns[:1])
        return Wanted(Suppression("below-k", k=self.k), tuple(loss for loss, _ in self._cells), numbers)

    @property
    def allowed(self) -> int:
        """The most rows that may be suppressed."""
        return int(self.limit) if self.limit > 1 else int(self.table.rows * self.limit + 1e-9)

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
        name, (_, weight) = next(iter(self._targets.items()))
        return weight / self.table.rows if name == "cm" else weight if name == "cm-rows" else 1.0

    @cached_property
    def _counter(self) -> CutCounter:
        return CutCounter(self.table, self._wanted)

    @cached_property
    def view(self) -> View:
        """The rows by parts of columns, with their weights and target words, as score_one takes them."""
        _, _, combos, counts, by_row = self._counter.parts
        words = Histograms(self.table, self._wanted).packed
        if "reg-variance" in self._targets:
            words = np.concatenate((words, self._regression[1][None, :]))
        return combos, counts, by_row, self.table.weights, np.ascontiguousarray(words)

    @cached_property
    def _regression(self) -> tuple[np.ndarray, np.ndarray]:
        """(weight / total dispersion, sum of squares), and the target's sum in each distinct row (distinct,) int64.

        Targets are counted from their mean in steps of 2**-20 of their range, so that sums are whole numbers.
        """
        counts, weight = self._targets["reg-variance"]
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
        return np.array([weight / total if total > 0 else 0.0, squares]), np.rint(sums).astype(np.int64)

    @cached_property
    def evaluation(self) -> tuple[Any, ...]:
        """Everything else score_one takes, in its order."""
        table = self.table
        columns, borders, _, _, _ = self._counter.parts
        run_at, runs, lost, leaf_rows = self._counter.losses
        if len(self._measures) == 1:
            weights = [1.0 for _ in self._cells]
        else:
            weights = [float(loss.scale(table)) * weight for loss, weight in self._cells]
        summed = np.zeros(runs.shape[1])
        lost_units = np.zeros(lost.shape[1])
        for b, weight in enumerate(weights):
            summed += runs[b] * weight
            lost_units += lost[b] * weight
        by_class = [(name, pair) for name, pair in self._targets.items() if name != "reg-variance"]
        counts = by_class[0][1][0] if by_class else None
        shares = {"cm": 1.0 / table.rows, "cm-rows": 1.0, "cost-cm": 1.0 / table.rows}
        given = {name: weight * shares[name] for name, (_, weight) in by_class}
        cm_weight = given.get("cm", 0.0) + given.get("cm-rows", 0.0)
        if len(self._measures) == 1 and cm_weight:
            cm_weight = 1.0  # raw scores count rows, exactly
        lane_bits = 16 if table.rows < 2**16 else 32 if table.rows < 2**31 else 64
        words = len(self.view[4]) - ("reg-variance" in self._targets)
        values = 1 if counts is None else len(counts.values)
        return (
            columns, borders, run_at, summed, lost_units, leaf_rows,
            (self.k, self.allowed, table.rows),
            (words, lane_bits, values, cm_weight, given.get("cost-cm", 0.0), "reg-variance" in self._targets),
            self._cost_matrix(counts),
            self._regression[0] if "reg-variance" in self._targets else np.zeros(2),
        )  # fmt: skip

    def _cost_matrix(self, counts: Counts | None) -> np.ndarray:
        """cost[true, told] (values, values) float64: 0 on the diagonal and 1 elsewhere unless given."""
        if counts is None or "cost-cm" not in self._targets:
            return np.zeros((1, 1))
        given = self.costs or {}
        for value in {*given, *(told for row in given.values() for told in row)}:
            if value not in counts.values:
                raise BadTable(
                    f"cost-cm has a cost for {value!r}, which the column {counts.name!r} never takes. Drop it."
                )
        return np.array(
            [
                [float(given.get(true, {}).get(told, float(true != told))) for told in counts.values]
                for true in counts.values
            ]
        )

    # -- scores ------------------------------------------------------------------------------------------------------

    def raw(self, genomes: np.ndarray) -> np.ndarray:
        """Raw scores of genomes (n, genes): (n,) float64; value = unit × raw score, infeasible from 10**18 on."""
        bits = np.ascontiguousarray(genomes, dtype=np.uint8)
        columns, borders, *rest = self.evaluation
        return kernels.score_genomes(bits, self.space.gene_leaf, self.space.leaf_at, columns, borders, self.view, *rest)

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
        """The same value from the partition, by the measures themselves (cost-cm with unit costs)."""
        made = self.partition(genome)
        if made.suppressed_rows > self.allowed:
            return float("inf")
        return float(sum(Fraction(weight) * Fraction(measure(made)) for measure, weight in self._measures))


def score_of(problem: Problem, space: Cuts) -> Score | None:
    """The score of a problem that the compiled searches can take, or None.

    One loss they know, and k as the only limit: under the rule below-k, under constraint, or as a limit under none.
    """
    if len(problem.objectives) != 1 or problem.table.persons is not None or problem.suppression.rows != "drop":
        return None
    limits = {measure.name: threshold for measure, threshold in problem.limits}
    rule, rows = problem.suppression.rule, problem.table.rows
    if rule == "below-k" and not limits:
        k, share = problem.suppression.k or 1, 1.0
    elif rule in ("none", "constraint") and set(limits) == {"k"}:
        allowed = 0 if rule == "none" else min(problem.suppression.allowed(rows), rows)
        k, share = max(1, math.ceil(limits["k"])), min(1.0, (allowed + 0.5) / rows) if allowed else 0.0
    else:
        return None
    try:
        score = Score(problem.table, space, {problem.objectives[0].name: 1.0}, k, share)
        return score if score.evaluation else None
    except BadInput:
        return None
