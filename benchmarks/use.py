"""What an analyst still gets from three models of recoding and from Mondrian; what one-way counts tell an attacker.

ARX has no line here: its library is no part of the repository, and nothing stands in for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO

import numpy as np

from benchmarks.clock import Line, Time, best, peak_bytes
from benchmarks.limits import SIX
from benchmarks.local import complete_rows
from benchmarks.made_tables import make_rows
from kpareto.attacks.evidence import attack_people
from kpareto.engines.read import read
from kpareto.fronts.front import Point
from kpareto.fronts.problem import problem
from kpareto.jobs.proposals import complete_hierarchies
from kpareto.measures.use import LabelView, occurring_values, spread_evenly, view_release
from kpareto.searches.lattice.mondrian import relaxed
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult as adult_rows
from kpareto.tables.adult import adult_hierarchies, adult_table
from kpareto.tables.partition import classes
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, sample_rows
from kpareto.uses.utility import CountErrors, Utility, measure_use, utility

KS = (5, 11, 20)
SUPPRESSED = 0.02  # of the rows, at the most
SECONDS = 10.0  # for the cuts of each k
MODELS = {"lattice": "whole columns", "cuts": "cuts", "local": "class by class", "Mondrian": "Mondrian, relaxed"}
TICKS = (1, 2, 5, 10, 20, 50, 100, 200)  # percent


def adult(quick: bool) -> list[Line]:
    """Adult with our hierarchies."""
    table = adult_table()
    return _measure("Adult", sample_rows(table, 2_000, 1) if quick else table, (5,) if quick else KS)


def diabetes(quick: bool) -> list[Line]:
    """The 442 patients of the table diabetes of scikit-learn, with hierarchies as they are proposed."""
    from sklearn.datasets import load_diabetes

    rows = load_diabetes(as_frame=True, scaled=False).data[["age", "sex", "bmi", "bp"]]
    table = complete_hierarchies(read(rows, Schema(tuple(rows.columns))))
    return _measure("diabetes", table, (5,) if quick else KS)


def _bare(table: Table) -> Table:
    """The quasi-identifiers alone: counts are taken over recoded columns."""
    schema = replace(table.schema, sensitive=(), target=())
    return replace(table, schema=schema, sensitive=(), targets=())


def _measure(name: str, table: Table, ks: Sequence[int]) -> list[Line]:
    """A line per model and k: what it took to search and to measure, and how far off counts are."""
    lines, began = [], _now()
    for model, k, counts in _errors(_bare(table), ks):
        took, began = _since(began), _now()
        if counts.error is None or counts.evenly is None or counts.control is None:
            continue
        numbers = {"fitted": counts.error.mean, "evenly": counts.evenly.mean, "control": counts.control.mean}
        note = "counts are off by " + ", ".join(f"{value:.1%} {word}" for word, value in numbers.items())
        lines.append(Line(f"{name}, k = {k}: {MODELS[model]}", took, note=note, peak=peak_bytes(), numbers=numbers))
    return lines


def _now() -> Time:
    return Time(time.perf_counter(), time.process_time(), 1)


def _since(began: Time) -> Time:
    return Time(time.perf_counter() - began.wall, time.process_time() - began.cpu, 1)


def _errors(table: Table, ks: Sequence[int]) -> Iterator[tuple[str, int, CountErrors]]:
    """How far off counts are, model by model and k by k."""
    asked = problem(table, ["k", "lm"], SUPPRESSED)
    whole = run_plan(asked, Plan("exact", "lattice"))
    free = run_plan(asked, Plan("local", "local", options={"ks": list(ks), "walks": 0}))
    for k in ks:
        limited = problem(table, ["lm"], SUPPRESSED, {"k": float(k)})
        cuts = run_plan(limited, Plan("improve", "cuts", options={"seconds": SECONDS}))
        points: dict[str, Point] = {"lattice": whole.choose(k=k), "cuts": cuts[0], "local": free.choose(k=k)}
        for model, point in points.items():
            yield model, k, utility(point).counts
        yield "Mondrian", k, measure_use(table, _view_mondrian(table, k), (), 1).counts


def _view_mondrian(table: Table, k: int) -> LabelView:
    """What a release of Mondrian's classes shows, labels spread evenly."""
    recoding = relaxed(table, k)
    codes, spreads = [], []
    for column, hierarchy in enumerate(table.hierarchies):
        nodes, place = np.unique(recoding.nodes[:, column], return_inverse=True)
        first, last = hierarchy.tree.first[nodes], hierarchy.tree.last[nodes]
        codes.append(place.reshape(-1))
        spreads.append(spread_evenly(first, last, occurring_values(table, column), len(hierarchy.leaves)))
    return LabelView(table.schema.quasi, recoding.sizes.astype(float), tuple(codes), tuple(spreads), ())


# -- what measuring takes ----------------------------------------------------------------------------------------------


def utility_10_000(quick: bool) -> list[Line]:
    """All that ``kpareto utility`` measures, hardly two rows alike, every column one level up."""
    return [_utility(1_000 if quick else 10_000)]


def utility_100_000(quick: bool) -> list[Line]:
    """The same of ten times as many rows."""
    return [_utility(1_000 if quick else 100_000)]


def utility_1_000_000(quick: bool) -> list[Line]:
    """The same of a hundred times as many rows."""
    return [_utility(1_000 if quick else 1_000_000)]


def utility_adult(quick: bool) -> list[Line]:
    """The same of Adult, with occupation to be predicted."""
    table = adult_table(sensitive="occupation")
    return [_measure_utility("Adult", sample_rows(table, 1_000, 1) if quick else table)]


def _utility(rows: int) -> Line:
    return _measure_utility(f"{rows:,} distinct rows", make_rows(rows, *SIX))


def _measure_utility(name: str, table: Table) -> Line:
    """Once, as a person asks for it."""
    levels = [min(1, hierarchy.height) for hierarchy in table.hierarchies]
    shown = classes(table, node(table.hierarchies, levels))
    answers: list[Utility] = []
    took = best(lambda: answers.append(utility(shown)), 1, warm=False)
    note = f"{answers[0].counts.queries} counts over two and three columns, {shown.classes:,} classes"
    return Line(f"utility of {name}", took, note=note, peak=peak_bytes())


# -- what one-way counts tell an attacker ------------------------------------------------------------------------------


def attacker(quick: bool) -> list[Line]:
    """One half of Adult is released; who knows all but one column of a person guesses it, of the other half too."""
    names = tuple(adult_hierarchies())
    rows = complete_rows(adult_rows().select([*names, "occupation"])).select(names)  # as our own table has them
    first = np.random.default_rng(1).random(len(rows)) < (0.05 if quick else 0.5)
    table = read(rows.take(np.flatnonzero(first)), Schema(names), hierarchies=adult_hierarchies())
    lines = []
    plans = {"lattice": Plan("exact", "lattice"), "local": Plan("local", "local", options={"ks": [5], "walks": 0})}
    for model, plan in plans.items():
        began = _now()
        point = run_plan(problem(table, ["k", "lm"], SUPPRESSED), plan).choose(k=5)
        shown = replace(view_release(point.partition), counted=True)
        told = attack_people(table, shown, rows.take(np.flatnonzero(~first))).sentences()[-1]
        work = f"attacker of one, k = 5: {MODELS[model]}"
        lines.append(Line(work, _since(began), note=told, peak=peak_bytes()))
    return lines


# -- drawing -----------------------------------------------------------------------------------------------------------


def draw_use(lines: Sequence[Line]) -> bytes:
    """Error of counts against k as an SVG: a panel for each table, a colour for each model, the control as a line."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    panels: dict[str, dict[str, list[tuple[int, Line]]]] = {}
    for line in lines:
        head, model = line.work.split(": ")
        name, k = head.split(", k = ")
        panels.setdefault(name, {}).setdefault(model, []).append((int(k), line))
    with rc_context({"svg.hashsalt": "kpareto", "svg.fonttype": "path", "font.size": 9}):
        figure = Figure(figsize=(4.6 * len(panels), 4.4), layout="constrained")
        for axes, (name, models) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
            for place, (model, points) in enumerate(models.items()):
                ks = [k for k, _ in points]
                for word, style, ends in (("fitted", "-", ", with counts"), ("evenly", ":", "")):
                    up = [100 * line.numbers[word] for _, line in points]
                    axes.plot(ks, up, style, color=f"C{place}", marker="o", markersize=3, label=f"{model}{ends}")
            control = 100 * next(iter(models.values()))[0][1].numbers["control"]
            axes.axhline(control, color="0.4", linewidth=1, label="column totals alone")
            axes.set(xscale="log", yscale="log", xlabel="k", ylabel="counts are off by, percent", title=name)
            axes.set_xticks(ks, [str(k) for k in ks])
            axes.set_yticks(TICKS, [str(tick) for tick in TICKS])
            axes.minorticks_off()
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
        stream = BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
