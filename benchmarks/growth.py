"""How time and memory grow with rows, distinct rows, quasi-identifiers and sensitive values, with fitted exponents.

Every size is measured in a process of its own, so that its memory is its own.
``make bench ARGS='growth --plots FOLDER'`` draws the curves as ``growth.svg``, beside figures of
ARX that were measured once on the same kind of table.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np

from benchmarks.clock import Line, Time, apart, best, peak_bytes
from benchmarks.door import QUICK_ROWS, schema, write
from benchmarks.made_tables import make_rows, make_seven
from benchmarks.scale import hierarchy_trees
from kpareto.engines.read import read
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem
from kpareto.searches.exact_front import exact_front
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table

CAP = Suppression("cap-max-k", 0.01)
OBJECTIVES = (("k", "glm"), ("k", "l", "glm"), ("k", "t", "glm"))
# Measured with ARX 3.9 on two shared cores: 10^6 all-distinct rows, 7 quasi-identifiers, 3,456 nodes, one k each.
ARX = (("ARX, one k", 1_000_000, 58.0), ("ARX, one k and one l", 1_000_000, 98.0))
LEAVES = (91, 52, 47, 17, 24, 10, 9, 6, 5, 8, 38, 8, 6, 7, 43, 43, 43, 5, 3, 3, 7, 5, 3, 5, 8, 5, 5, 3, 9, 7)
LEVELS = (4, 3, 3, 3, 3, 2, 2, 2, 2, 2, 3, 2, 2, 2, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2)
PATIENCE = 30.0  # seconds that a wide table's search may take


def fit_exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The slope of a line through the logarithms: 1 where twice the size takes twice the time."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(times)), 1)[0])


def make_wide(columns: int, rows: int) -> Table:
    """A table of nearly distinct rows with up to thirty quasi-identifiers, shaped like a census."""
    return make_rows(rows, LEAVES[:columns], LEVELS[:columns])


def _note_exponents(lines: list[Line], sizes: Sequence[int]) -> list[Line]:
    """The lines, the last one with the exponents of time and of memory beyond the smallest size."""
    time_exponent = fit_exponent(sizes, [line.time.cpu for line in lines])  # a busy machine stretches wall time
    memory = [max(line.peak - lines[0].peak, 0) + 1.0 for line in lines][1:]
    more = f", of added memory {fit_exponent(sizes[1:], memory):.2f}" if len(memory) > 1 else ""
    told = f"time grows with exponent {time_exponent:.2f}{more}"
    note = f"{lines[-1].note}; {told}" if lines[-1].note else told
    return [*lines[:-1], replace(lines[-1], note=note)]


def count_distinct(objectives: tuple[str, ...], rows: int, values: int = 14) -> Line:
    """The complete front of all-distinct rows, compiled code loaded before by a small table."""
    exact_front(problem(make_seven(5_000, values), objectives, CAP))
    table = make_seven(rows, values)
    asked = problem(table, objectives, CAP)
    time = best(lambda: exact_front(asked), 1, warm=False)
    nodes = Lattice(table.hierarchies).size
    work = f"{rows:,} distinct rows, {values} values: {', '.join(objectives)}"
    return Line(work, time, nodes, "nodes", threads=2, peak=peak_bytes())


def _grow_distinct(sizes: Sequence[int]) -> list[Line]:
    lines: list[Line] = []
    first: list[Line] = []
    for objectives in OBJECTIVES:
        own = [apart(count_distinct, objectives, rows) for rows in sizes]
        if first:
            ratios = [(one.time.cpu / two.time.cpu, one.peak / two.peak) for one, two in zip(own, first, strict=True)]
            own = [
                replace(line, note=f"{time:.2f} x the processor time and {memory:.2f} x the memory of k, glm")
                for line, (time, memory) in zip(own, ratios, strict=True)
            ]
        first = first or own
        lines += _note_exponents(own, sizes)
    return lines


def distinct(quick: bool) -> list[Line]:
    """10^4 to 10^6 distinct rows: k; k and l; k and t, each with GLM."""
    return _grow_distinct((2_000, 4_000) if quick else (10_000, 100_000, 1_000_000))


def many_distinct(quick: bool) -> list[Line]:
    """3 and 10 millions of distinct rows."""
    return _grow_distinct((2_000, 4_000) if quick else (3_000_000, 10_000_000))


def sensitive_values(quick: bool) -> list[Line]:
    """2 to 500 sensitive values of 10^5 distinct rows: sets of one word and of several, histograms of many lanes."""
    counts, rows = ((2, 5), 2_000) if quick else ((2, 14, 64, 100, 500), 100_000)
    lines: list[Line] = []
    for objectives in OBJECTIVES[1:]:
        lines += _note_exponents([apart(count_distinct, objectives, rows, values) for values in counts], counts)
    return lines


def count_wide(columns: int, rows: int, seconds: float) -> Line:
    """The front of k and GLM over so many quasi-identifiers, complete or with what is proven when the time is up."""
    table = make_wide(columns, rows)
    asked = problem(table, ("k", "glm"), CAP)
    fronts: list[Front] = []
    time = best(lambda: fronts.append(run_plan(asked, Plan(options={"seconds": seconds}))), 1, warm=False)
    told, gap = "complete", fronts[0].provenance.details.get("largest_gap")
    if not fronts[0].provenance.complete:
        told = "time was up" if gap is None else f"time was up, largest gap {gap:.0%}"
    nodes = Lattice(table.hierarchies).size
    return Line(f"{columns} quasi-identifiers: k, glm", time, nodes, "nodes", threads=2, note=told, peak=peak_bytes())


def columns(quick: bool) -> list[Line]:
    """4 to 30 quasi-identifiers of 20,000 nearly distinct rows: to the end, or as far as half a minute goes."""
    counts, rows, seconds = ((7, 8), 2_000, 2.0) if quick else ((4, 8, 12, 16, 20, 24, 30), 20_000, PATIENCE)
    lines = [apart(count_wide, count, rows, seconds) for count in counts]
    whole = [(line, count) for line, count in zip(lines, counts, strict=True) if line.note == "complete"]
    if len(whole) > 1:
        per_column = np.polyfit([count for _, count in whole], np.log([line.time.wall for line, _ in whole]), 1)[0]
        lines[-1] = replace(lines[-1], note=f"{lines[-1].note}; x {np.exp(per_column):.2f} per column while complete")
    return lines


def count_rows(rows: int) -> Line:
    """Read Parquet of so many rows, and the complete front of k and GLM."""
    with tempfile.TemporaryDirectory(prefix="kpareto-growth-") as folder:
        path = Path(folder) / "people.parquet"
        apart(write, path, rows)
        tables: list[Table] = []
        first = best(lambda: tables.append(read(path, schema(), "drop", hierarchies=hierarchy_trees())), 1, warm=False)
        second = best(lambda: exact_front(problem(tables[0], ("k", "glm"), CAP)), 1)
    time = Time(first.wall + second.wall, first.cpu + second.cpu, 1)
    note = f"{tables[0].distinct:,} distinct rows; {first.wall:.2f} s of it to read"
    return Line(f"{rows:,} rows: read, k, glm", time, rows, "rows", threads=2, note=note, peak=peak_bytes())


def rows(quick: bool) -> list[Line]:
    """10^5 to 10^7 rows of Adult's columns as Parquet."""
    sizes = (QUICK_ROWS, 2 * QUICK_ROWS) if quick else (100_000, 1_000_000, 10_000_000)
    return _note_exponents([apart(count_rows, size) for size in sizes], sizes)


def many_rows(quick: bool) -> list[Line]:
    """10^8 rows of Adult's columns as Parquet."""
    return [apart(count_rows, QUICK_ROWS if quick else 100_000_000)]


# -- drawing ---------------------------------------------------------------------------------------------------------


def draw_growth(lines: Sequence[Line]) -> bytes:
    """The curves of growth lines as an SVG: time against size for each kind of growth, ARX beside distinct rows."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for line in lines:
        size, kind, curve = _place(line.work)
        panels.setdefault(kind, {}).setdefault(curve, []).append((size, line.time.cpu))
    with rc_context({"svg.hashsalt": "kpareto", "svg.fonttype": "path", "font.size": 9}):
        figure = Figure(figsize=(4.2 * max(len(panels), 1), 3.6), layout="constrained")
        drawn = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
        for axes, (kind, curves) in zip(drawn, panels.items(), strict=False):
            for curve, points in curves.items():
                across, up = zip(*sorted(points), strict=True)
                exponent = fit_exponent(across, up)
                axes.plot(across, up, marker="o", markersize=4, label=f"{curve} (exponent {exponent:.2f})")
            for label, size, seconds in ARX if kind == "distinct rows" else ():
                axes.scatter([size], [seconds], marker="x", label=label)
            axes.set(xscale="linear" if kind == "quasi-identifiers" else "log", yscale="log", xlabel=kind)
            axes.set_ylabel("processor seconds (ARX: seconds)")
            axes.legend(frameon=False, fontsize=7)
        stream = BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def _place(work: str) -> tuple[float, str, str]:
    """Size, kind of growth and curve of a line, from its words."""
    head, _, curve = work.partition(": ")
    first, _, kind = head.partition(" ")
    if "distinct rows, " in head and "14 values" not in head:
        return float(head.split(", ")[1].split()[0]), "sensitive values", curve
    return float(first.replace(",", "")), kind.partition(",")[0], curve
