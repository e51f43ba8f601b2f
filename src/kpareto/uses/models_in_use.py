"""Whole columns and class by class beside each other in use: how far off counts are from either, on a sample of rows.

One question chooses between the two: will rows that come later have to be recoded in the same way? These numbers stand
beside it, so they must come quickly: a few thousand rows, the exact search of whole columns, and a short search class
by class, both at the k, the limits and the suppression of the job. Smaller tables are coarser at the same k, so both
errors are those of the sample, and it is said that they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kpareto.errors import BadInput, Interrupted, Progress, Stopped, Unsafe
from kpareto.fronts.front import DEFAULT_K, Front, Point
from kpareto.fronts.problem import Problem, problem
from kpareto.kernels.compiling import working
from kpareto.measures.cells import CellLoss, lm
from kpareto.measures.use import is_judged, is_more_than_chance, yardstick
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.spelling import percent
from kpareto.tables.table import Table, sample_rows

ROWS = 3_000  # of the sample
TURNS = 6  # of the search class by class: a fixed number, so that the answer does not depend on how quick a machine is
SECONDS = 5.0  # that both may take, without loading compiled code; what takes longer is not said


@dataclass(frozen=True)
class ModelsInUse:
    """How far off counts are on average, with labels fitted to column totals, by two models and the totals alone."""

    k: int
    rows: int  # that were measured
    of: int  # rows of the table
    counts: int
    whole: float
    local: float
    control: float
    better: str | None  # whole or local; None where they differ by no more than chance

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def sentence(self) -> str:
        """Both numbers, on what they were measured, and which is the better one where that is more than chance."""
        part = (
            f"all {self.of:,} rows" if self.rows == self.of else f"a random sample of {self.rows:,} of {self.of:,} rows"
        )
        off = f"off by {percent(self.whole)} on average from whole columns, by {percent(self.local)} class by class"
        words = (
            f"Measured on {part} at k = {self.k:,}: counts over two and three columns are {off}, and by "
            f"{percent(self.control)} with the column totals alone."
        )
        if self.better is None:
            return f"{words} The two models differ by no more than chance there."
        return words if self.better == "local" else f"{words} Whole columns give the better counts there."


def models_in_use(asked: Problem, report: Progress | None = None, rows: int = ROWS) -> ModelsInUse | None:
    """Both models on a sample; None where one of them is refused or not searched in time, or no count can judge them.

    ``report`` may raise Stopped, and Interrupted is raised then.
    """
    table = asked.table
    if table.persons is not None:
        return None
    limits = {measure.name: limit for measure, limit in asked.limits}
    limits = {"k": min(DEFAULT_K, table.rows), **limits}
    try:
        drawn = table if table.rows <= rows else sample_rows(table, rows, 1)
        fronts = _search(asked, drawn, limits, report) if is_judged(drawn) else None
    except (BadInput, Unsafe):
        return None
    if fronts is None:
        return None
    stick = yardstick(drawn)
    whole, local = (stick.errors(_least_lost(front).partition) for front in fronts)
    better = "local" if is_more_than_chance(whole, local) else "whole" if is_more_than_chance(local, whole) else None
    means = float(whole.mean()), float(local.mean()), float(stick.control.mean())
    return ModelsInUse(math.ceil(limits["k"]), drawn.rows, table.rows, len(whole), *means, better)


def _least_lost(front: Front) -> Point:
    """The point that loses least; every one keeps the limits."""
    return front[int(np.argmin(front.numbers.keys[:, 1]))]


def _search(
    asked: Problem, drawn: Table, limits: Mapping[str, float], report: Progress | None
) -> tuple[Front, Front] | None:
    """Whole columns, proven the best, then class by class; None where their time is up."""
    rows = asked.table.rows
    allowed = 0 if asked.suppression.rule == "none" else min(asked.suppression.allowed(rows), rows - 1)
    loss = next((measure for measure in asked.objectives if isinstance(measure, CellLoss)), lm())
    # By k too, as a job has it: its own search needs the same compiled code.
    wanted, began, late = problem(drawn, ["k", loss], allowed / rows, limits), working(), False

    def tell(done: int, total: int) -> None:
        nonlocal late
        if report is not None:
            report(done, total)
        late = working() - began > SECONDS
        if late:
            raise Stopped

    by_class = {"ks": [math.ceil(limits["k"])], "turns": TURNS, "walks": 0}
    fronts = []
    for plan in (Plan(options={"seconds": SECONDS}), Plan("local", "local", options=by_class)):
        front = run_plan(wanted, plan, tell)
        if front.provenance.stopped and not late:
            raise Interrupted("Stopped before the models were measured.")
        fronts.append(front)
    whole, local = fronts
    return None if late or not whole.provenance.complete or not len(whole) or not len(local) else (whole, local)
