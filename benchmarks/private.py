"""Differential privacy on public rows: the loss at the same epsilon, by the whole lattice and by a walk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.clock import Line, best, peak_bytes
from benchmarks.private_losses import ChoiceComparison, compare
from kpareto.releases.private.private_release import make_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table

EPSILONS = ("0.5", "1", "2")
DELTA = "1e-6"
STEPS = (10, 30, 100)  # of the walk; the last choice among the nodes taken comes on top
RUNS = 200
MILLION = 1_000_000


def adult(quick: bool) -> list[Line]:
    """Adult's 30,162 rows."""
    return _lines("Adult", _quasi_only(adult_table()), quick)


def million(quick: bool) -> list[Line]:
    """A million rows drawn anew from Adult, with replacement."""
    table = _quasi_only(adult_table())
    rows = 10 * table.rows if quick else MILLION
    weights = np.random.default_rng(1).multinomial(rows, table.weights / table.rows).astype(np.int64)
    seen = weights > 0
    return _lines(f"{rows:,} rows like Adult", replace(table, codes=table.codes[seen], weights=weights[seen]), quick)


def _quasi_only(table: Table) -> Table:
    return replace(table, schema=Schema(table.schema.quasi), sensitive=(), targets=(), domain="declared")


def _lines(what: str, table: Table, quick: bool) -> list[Line]:
    lines = []
    runs, steps = (3, STEPS[:1]) if quick else (RUNS, STEPS)
    for epsilon in EPSILONS[:1] if quick else EPSILONS:
        plan = make_plan(epsilon, DELTA)
        answers: list[ChoiceComparison] = []

        def measure(plan=plan, answers=answers) -> None:  # type: ignore[no-untyped-def]  # bound at once
            answers.extend(compare(table, plan, runs=runs, steps=count) for count in steps)

        took = best(measure, 1, warm=False)
        walks = ", ".join(
            f"walk of {count} steps {answer.medians[1]:.3f}" for count, answer in zip(steps, answers, strict=True)
        )
        note = (
            f"beta {float(plan.beta):.3f}, k {plan.k}; median loss of {runs} runs: whole lattice "
            f"{answers[0].medians[0]:.3f}, {walks}; best node without privacy {answers[0].best:.3f}"
        )
        work = f"{what}, epsilon {epsilon}, delta {DELTA}"
        lines.append(Line(work, took, 2 * runs * len(steps), "release", True, 1, "", note, peak_bytes()))
    return lines
