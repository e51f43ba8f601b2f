"""Dewri, Ray, Ray and Whitley, DBSEC 2010 (PBG): Tables 1 and 2, Figures 1 to 3, and its two theorems."""

# ruff: noqa: E501  (sentences that stand on a page are kept whole)
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.problem import problem, settled_rule
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice.boxes import BoxArchive, Brackets, Grid
from kpareto.tables.partition import Suppression
from replication.archives import Runs, compare_family, several
from replication.families import FAMILY
from replication.figures import Figure, Panel, Style, series
from replication.lattices import CAP, CountedLattice, adult_counted, tiny_table
from replication.page import (
    Page,
    PageLine,
    PaperFinding,
    PaperResult,
    Say,
    Sheet,
    Statement,
    claims,
    incomparable,
    together,
)
from replication.tolerances import equal_as, lower_as, near_as

IDS = (*(f"PB-r{n}{c}" for n in range(1, 5) for c in "abc"), "PB-r5", *(f"PB-r{n}{c}" for n in range(6, 9) for c in "ab"),
       "PB-r9a", "PB-r9b", "PB-r9c", *(f"PB-r10{c}" for c in "abcd"), "PB-r11", "PB-r12a", "PB-r12b")  # fmt: skip
FLAT = [["0", "*"], ["1", "*"]]
BRACKETS: tuple[Brackets, Brackets] = ("floor", "ceiling")
RUNS = 20  # as printed; in a quick run too, since some numbers lie near their tolerance
UNITS = {
    "k": "k (rows, logarithmic)",
    "l": "l (distinct occupations)",
    "glm": "GLM (sum of cell losses)",
    "s-k": "S_k (sum of class sizes over rows, logarithmic)",
    "s-l": "S_l (sum over rows of own value's count)",
    "cm-rows": "CM (rows)",
}
FIVE = {
    "PB-r1": ("k", "glm"),
    "PB-r2": ("k", "l", "glm"),
    "PB-r3": ("s-k", "glm"),
    "PB-r4": ("s-k", "s-l", "glm"),
    "PB-r5": ("k", "glm", "cm-rows"),
}
# id -> CE, RR, nodes of Table 1; None where nothing is printed
VARIANCES = {  # of RR over 20 runs, as printed: by id, and by grid
    "PB-r1": 8e-4, "PB-r2": 1.1e-3, "PB-r3": 1.7e-3, "PB-r4": 1.4e-3, "(5, 100)": 1.6e-3, "(10, 1000)": 8.2e-4,
    "(50, 10000)": 0.0, "(5, 2, 100)": 1.2e-3, "(10, 4, 1000)": 7.0e-4, "(50, 6, 10000)": 1.7e-3,
}  # fmt: skip
TABLE_ONE: dict[str, tuple[float | None, float | None, int]] = {
    "PB-r1": (3.7e-4, 0.94, 916),
    "PB-r2": (3.3e-4, 0.93, 946),
    "PB-r3": (5.7e-4, 0.84, 1136),
    "PB-r4": (6.6e-4, 0.83, 1197),
    "PB-r5": (None, None, 1073),
}
# id -> objectives, grids with printed CE and RR of Table 2
TABLE_TWO: dict[str, tuple[str, list[tuple[tuple[float, ...], float, float]]]] = {
    "PB-r6": ("PB-r1", [((5, 100), 4.3e-4, 0.95)]),
    "PB-r7": ("PB-r1", [((10, 1000), 1.6e-4, 0.98)]),
    "PB-r8": ("PB-r1", [((50, 10000), 1.7e-4, 1.0)]),
    "PB-r9": (
        "PB-r2",
        [((5, 2, 100), 4.9e-3, 0.92), ((10, 4, 1000), 7.4e-3, 0.92), ((50, 6, 10000), 1.8e-2, 0.88)],
    ),
}


def page(quick: bool, say: Say) -> Page:
    """The page on PBG; the quick one has fewer random archives and a smaller family of hierarchies."""
    paper = Page("pbg", "PBG-EA (DBSEC 2010)", "Dewri, Ray, Ray and Whitley: PBG, DBSEC 2010", quick, say)
    paper.setting += [
        (
            "Hierarchies `replication`, 301 rows may be suppressed, 25 genomes, 100 iterations; losses are counted down "
            "from the value of a table that is suppressed as a whole."
        ),
        (
            "A level that mutates past the top or the bottom goes inward instead, which the paper does not tell; tournaments draw "
            "from population and archive together."
        ),
        "CE as defined is a sum over the archive, as printed it looks like a mean: both are shown, and the sum is judged.",
        (
            "Boxes are ⌈quality / ε⌉: the paper has plain brackets, and by the ceiling its second theorem holds. By the floor RR "
            "is as in the table “Table 2 by the floor”."
        ),
        "`replication` was chosen for POkA's page; a table below has the ranges over a family of ten sets of hierarchies.",
    ]
    paper.seeds["PBG-EA runs"] = list(range(RUNS))
    with paper.timed("counting all nodes, five sets of objectives", detail="4 × 17,920 + 8,960 nodes"):
        counted = {key: adult_counted("replication", names) for key, names in FIVE.items()}
        for each in counted.values():
            _ = each.best
    with paper.timed("PBG-EA, Table 1", detail=f"5 × {RUNS} runs"):
        one = {key: several(each, None, RUNS) for key, each in counted.items()}
    with paper.timed("PBG-EA, grids of Table 2", detail=f"6 × {RUNS} runs"):
        two = {
            (key, grid): several(counted[base], grid, RUNS)
            for key, (base, grids) in TABLE_TWO.items()
            for grid, _, _ in grids
        }
    with paper.timed("the same by the floor", detail=f"6 × {RUNS} runs"):
        floor = {key: several(counted[TABLE_TWO[key[0]][0]], key[1], RUNS, "floor") for key in two}
    compare_family(paper, FAMILY[::4] if quick else FAMILY, 3 if quick else 10)
    _table_one(paper, counted, one)
    _table_two(paper, two)
    _floor(paper, two, floor)
    _qualities(paper, counted)
    _further(paper, one, two)
    _draw(paper, counted, one, two)
    with paper.timed("errors put to the test", detail="4,000 random archives"):
        paper.findings += [*_theorems(4000), *_small_errors(counted, one, 400 if quick else None)]
    _beyond(paper, counted, one)
    ours = f"{one['PB-r1'].mean('ratio'):.2f} / {one['PB-r1'].evaluated:.0f}"
    seconds = next(e.seconds for e in paper.experiments if e.name == "PBG-EA, Table 1") / (5 * RUNS)
    paper.summary.append(
        PageLine("Table 1, k and GLM: RR / nodes", "0.94 / 916", ours, "not told", f"{seconds:.2f} s a run, all nodes counted before")
    )  # fmt: skip
    return paper


def _name(key: str) -> str:
    return ", ".join(name.replace("-rows", "") for name in FIVE[key])


def _table_one(paper: Page, counted: dict[str, CountedLattice], one: dict[str, Runs]) -> None:
    rows = []
    for key, (ce, rr, nodes) in TABLE_ONE.items():
        run = one[key]
        share = run.evaluated / counted[key].lattice.size
        nodes_part = Statement("nodes", f"{nodes:,}" + ("" if rr else " (11.9 %)"), f"{run.evaluated:.0f} ({share:.1%})",
                          near_as("nodes", run.evaluated, nodes))  # fmt: skip
        setting = f"{_name(key)}; {len(run.seen)} runs"
        if rr is None or ce is None:
            paper.results.append(
                PaperResult(
                    key, f"{setting}: nodes", nodes_part.printed, nodes_part.ours, nodes_part.verdict, run.numbers()
                )
            )
        else:
            paper.judge(key, setting, [
                Statement("RR", f"{rr}", run.told(), near_as("share", run.mean("ratio"), rr)),
                nodes_part,
                Statement("CE", f"{ce:.1e}", run.errors(), near_as("factor", run.mean("distance_sum"), ce)),
            ], run.numbers())  # fmt: skip
        rows.append((_name(key), len(counted[key].best), run.seen[0].true_boxes, rr or "", run.mean("ratio"),
                     VARIANCES.get(key, ""), run.variance, ce or "", run.mean("distance_sum"),
                     run.mean("distance_mean"), nodes, round(run.evaluated)))  # fmt: skip
    columns = ("objectives", "true points", "true boxes", "RR printed", "RR", "its variance printed", "variance",
               "CE printed", "CE, sum", "CE, mean", "nodes printed", "nodes")  # fmt: skip
    paper.sheets.append(Sheet("Table 1: over all runs", columns, tuple(rows)))


def _table_two(paper: Page, two: dict[tuple[str, tuple[float, ...]], Runs]) -> None:
    rows = []
    for key, (base, grids) in TABLE_TWO.items():
        runs = {"(" + ", ".join(f"{e:g}" for e in grid) + ")": (two[key, grid], ce, rr) for grid, ce, rr in grids}
        setting = f"{_name(base)}, coarser grid; {len(next(iter(runs.values()))[0].seen)} runs"
        parts = [
            Statement("RR", "; ".join(f"{name} {rr}" for name, (_, _, rr) in runs.items()),
                 "; ".join(f"{name} {run.told()}" for name, (run, _, _) in runs.items()),
                 together({name: near_as("share", run.mean("ratio"), rr) for name, (run, _, rr) in runs.items()})),
            Statement("CE", "; ".join(f"{name} {ce:.1e}" for name, (_, ce, _) in runs.items()),
                 "; ".join(f"{name} {run.errors()}" for name, (run, _, _) in runs.items()),
                 together({name: near_as("factor", run.mean("distance_sum"), ce) for name, (run, ce, _) in runs.items()})),
        ]  # fmt: skip
        if len(runs) > 1:
            means = [run.mean("distance_sum") for run, _, _ in runs.values()]
            parts.append(Statement("trend of CE", "grows with the boxes", ", ".join(f"{m:.1e}" for m in means),
                              claims({"grows with every step": all(x < y for x, y in pairwise(means))})))  # fmt: skip
        paper.judge(key, setting, parts, {name: run.numbers() for name, (run, _, _) in runs.items()})
        rows += [
            (_name(base), name, run.seen[0].true_boxes, rr, run.mean("ratio"), VARIANCES[name], run.variance, ce,
             run.mean("distance_sum"), run.mean("distance_mean"))
            for name, (run, ce, rr) in runs.items()
        ]  # fmt: skip
    columns = ("objectives", "grid", "true boxes", "RR printed", "RR", "its variance printed", "variance",
               "CE printed", "CE, sum", "CE, mean")  # fmt: skip
    paper.sheets.append(Sheet("Table 2: coarser grids", columns, tuple(rows)))


def _floor(
    paper: Page, two: dict[tuple[str, tuple[float, ...]], Runs], floor: dict[tuple[str, tuple[float, ...]], Runs]
) -> None:
    """RR of the same grids with the other bracket."""
    rows = tuple(
        (_name(TABLE_TWO[key][0]), ", ".join(f"{e:g}" for e in grid), rr, run.told(), floor[key, grid].told())
        for (key, grid), run in two.items() for each, _, rr in TABLE_TWO[key][1] if each == grid
    )  # fmt: skip
    paper.sheets.append(
        Sheet("Table 2 by the floor", ("objectives", "grid", "RR printed", "RR by the ceiling", "by the floor"), rows)
    )


def _further(paper: Page, one: dict[str, Runs], two: dict[tuple[str, tuple[float, ...]], Runs]) -> None:
    """PB-r11 and PB-r12: RR and the widths of boxes, and what a third property changes."""
    runs = {", ".join(f"{e:g}" for e in grid): run for (_, grid), run in two.items() if len(grid) == 2}
    paper.results.append(
        PaperResult("PB-r11", f"k, glm, three grids; {RUNS} runs each", "RR rises with ε: 0.95, 0.98, 1.0",
               "; ".join(f"({name}) {run.told()}" for name, run in runs.items()),
               lower_as({f"({a}) and ({b})": (runs[a].ratios, runs[b].ratios) for a, b in pairwise(runs)}))
    )  # fmt: skip
    plain, third = one["PB-r1"], one["PB-r2"]
    paper.judge("PB-r12", f"k, glm and k, l, glm; {RUNS} runs each", [
        Statement("RR", "a third property hardly matters: 0.94, 0.93", f"{plain.told()}, {third.told()}",
             equal_as("share", plain.ratios, third.ratios, 1.0, np.mean)),
        Statement("nodes", "hardly matters: 916, 946", f"{plain.evaluated:.0f}, {third.evaluated:.0f}",
             near_as("nodes", third.evaluated, plain.evaluated)),
    ])  # fmt: skip


def _correlation(counted: CountedLattice, first: int, second: int) -> float:
    """Rank correlation of two objectives over the true front, signs turned so that both are better lower."""
    keys = counted.numbers.keys[counted.best][:, [first, second]]
    ranks = np.argsort(np.argsort(keys, axis=0, kind="stable"), axis=0, kind="stable")
    return float(np.asarray(np.corrcoef(ranks.T))[0, 1])


def _conflict(counted: CountedLattice) -> float:
    """The share of the front's k at which the least GLM and the least CM are not reached by one node."""
    values, keys = counted.numbers.values, counted.numbers.keys
    apart = []
    for k in np.unique(values[counted.best, 0]):
        kept = keys[values[:, 0] >= k]
        both = (kept[:, 1] == kept[:, 1].min()) & (kept[:, 2] == kept[:, 2].min())
        apart.append(not both.any())
    return float(np.mean(apart))


def _qualities(paper: Page, counted: dict[str, CountedLattice]) -> None:
    """PB-r10: what the figures are said to show."""
    pairs = {
        "l against GLM": _correlation(counted["PB-r2"], 1, 2),
        "k against l": _correlation(counted["PB-r2"], 0, 1),
    }
    conflict = _conflict(counted["PB-r5"])
    sizes = {key: len(each.best) for key, each in counted.items()}
    paper.judge("PB-r10", "", [
        Statement("k and GLM", "clear trade-off", f"{len(counted['PB-r1'].best)} points",
             incomparable("on any front of two objectives one falls where the other rises")),
        Statement("k, l and GLM", "l mostly against loss",
             f"k and l {pairs['k against l']:.2f}, l and GLM {pairs['l against GLM']:.2f}",
             claims({"k and l go together, both against GLM": pairs["k against l"] > 0 > pairs["l against GLM"]})),
        Statement("GLM and CM", "conflict", f"no node is best in both at {conflict:.0%} of the k",
             claims({"at more than half of the k": conflict > 0.5})),
        Statement("optima", "spread gives more", "true sets of " + ", ".join(str(n) for n in sizes.values()) + " points",
             claims({f"{sizes['PB-r3']} against {sizes['PB-r1']}": sizes["PB-r3"] > sizes["PB-r1"]})),
    ], {"rank correlation": pairs, "true points": sizes, "share of k with conflict": conflict})  # fmt: skip


def _draw(
    paper: Page,
    counted: dict[str, CountedLattice],
    one: dict[str, Runs],
    two: dict[tuple[str, tuple[float, ...]], Runs],
) -> None:
    def panel(key: str, across: int, up: int) -> Panel:
        each = counted[key]
        names = [m.name for m in each.problem.objectives]
        values = each.numbers.values[each.best]
        return Panel(_name(key), UNITS[names[across]], UNITS[names[up]], (
            series("complete front", values[:, across], values[:, up], "rings", 0),
            series("PBG-EA, one run", one[key].first[:, across], one[key].first[:, up], "points", 1),
        ), x_log=names[across] in ("k", "s-k"))  # fmt: skip

    paper.figures += [
        Figure("pbg-figure-1", "Figure 1: k, l and GLM", "Circles without a point are trade-offs that the run with seed 0 missed.",
               (panel("PB-r1", 0, 1), panel("PB-r2", 0, 2), panel("PB-r2", 1, 2)), 3),
        Figure("pbg-figure-2", "Figure 2: spread and GLM", "Circles without a point are trade-offs that the run with seed 0 missed.",
               (panel("PB-r3", 0, 1), panel("PB-r4", 1, 2))),
        Figure("pbg-figure-3", "Figure 3: k, GLM and CM", "Salary is the target here, so the lattice has 8,960 nodes.",
               (panel("PB-r5", 0, 1), panel("PB-r5", 1, 2))),
    ]  # fmt: skip
    grids = [(grid, run) for (_, grid), run in two.items() if len(grid) == 2]
    each = counted["PB-r1"]
    true = each.numbers.values[each.best]
    shown = [series("complete front", true[:, 0], true[:, 1], "steps", 5)]
    styles: tuple[Style, ...] = ("rings", "points", "printed")
    shown += [series(f"grid {grid[0]:g}, {grid[1]:g}", run.first[:, 0], run.first[:, 1], style, place)
              for (grid, run), style, place in zip(grids, styles, (0, 2, 6), strict=True)]  # fmt: skip
    paper.figures.append(
        Figure("pbg-table-2", "Table 2 as a picture: what coarser grids keep", "Archives of the runs with seed 0.",
               (Panel("k, glm", UNITS["k"], UNITS["glm"], tuple(shown), x_log=True),))
    )  # fmt: skip


def _theorems(count: int) -> list[PaperFinding]:
    """Theorems 1 and 2 on random archives (PB-e1, PB-e2), and the order of arrival (PB-e3)."""
    rng = np.random.default_rng(12)
    over, wrong, right = {"floor": 0, "ceiling": 0}, 0, 0
    for _ in range(count):
        objectives = int(rng.integers(2, 4))
        points = rng.integers(1, 9, size=(int(rng.integers(2, 13)), objectives))
        width = float(rng.integers(1, 4))
        largest = sorted((points.max(axis=0) / width).tolist())
        for brackets in BRACKETS:
            grid = Grid((width,) * objectives, (True,) * objectives, (0.0,) * objectives, brackets)
            archive = _fill(grid, points)
            over[brackets] += len(archive) > math.prod(math.ceil(each) for each in largest[1:])
            right += len(archive) > grid.size_bound(points.astype(np.float64))
        best = {tuple(row) for row in (-points[non_dominated(-points)]).tolist()}
        wrong += not {tuple(row) for row in archive.keys.tolist()} <= best
    unit = Grid((1.0, 1.0), (True, True), (0.0, 0.0))
    pair = np.array([[1.0, 0.5], [0.5, 1.0]])
    two, one = (len(_fill(Grid((1.0, 1.0), (True, True), (0.0, 0.0), b), pair)) for b in BRACKETS)
    here, there = (_fill(unit, np.array(order)).keys.tolist()
                   for order in ([[1.2, 1.8], [1.8, 1.2]], [[1.8, 1.2], [1.2, 1.8]]))  # fmt: skip
    return [
        PaperFinding("PB-e1", "theorem 2: the archive has at most the product of the largest K / ε members",
                f"which bracket stands around I / ε is not told. By the floor two points with K = ε = 1 give an archive of "
                f"{two} where the bound is 1, by the ceiling one of {one}; of {count:,} random archives {over['floor']} pass "
                f"the bound by the floor, {over['ceiling']} by the ceiling, {right} pass ours",
                two > 1 and one == 1 and over["floor"] > 0 == over["ceiling"] and right == 0,
                "the ceiling, under which the theorem holds; the floor by `brackets`, and `Grid.size_bound` for both"),
        PaperFinding("PB-e2", "theorem 1: members are minimal among everything generated",
                f"{wrong} of {count:,} random archives hold a dominated member: the theorem holds, only its proof "
                "forgets offers that are refused because their box is taken", wrong == 0, "kept, and tested"),
        PaperFinding("PB-e3", "the archive is the minimal set",
                "offered in two orders, the same two points leave different archives" if here != there else
                "the order of arrival makes no difference", here != there,
                "`SteadyArchive` does not depend on the order; the exact front has every point"),
    ]  # fmt: skip


def _fill(grid: Grid, points: np.ndarray) -> BoxArchive:
    archive = BoxArchive(grid)
    boxes = grid.boxes(points.astype(np.float64))
    keys = np.rint(-points * (1 if points.dtype.kind == "i" else 100)).astype(np.int64)
    for place in range(len(points)):
        archive.offer_one(np.array([place]), boxes[place], keys[place])
    return archive


def _small_errors(counted: dict[str, CountedLattice], one: dict[str, Runs], most: int | None) -> list[PaperFinding]:
    pairs = [[f"x{i}", f"p{i // 2}", "*"] for i in range(10)]
    few = [(f"x{i}", "0") for i, rows in enumerate((5, 1, 5, 1)) for _ in range(rows)]
    alone = CountedLattice(problem(tiny_table(few, pairs), ("k", "glm"), Suppression("cap-max-k", 2)))
    bottom_best = tuple(alone.numbers.keys[0].tolist()) in alone.vectors
    equal, mixed = (float(CountedLattice(problem(tiny_table([("0", "0")] * 10, FLAT, secrets), ("s-l",), 0.0)).numbers.values[0, 0])
                    for secrets in (["a"] * 10, [str(i) for i in range(10)]))  # fmt: skip
    dcn = CountedLattice(problem(counted["PB-r1"].problem.table, ("s-k", "dcn"), 0.0)).numbers.values
    full = sum(seen.ratio == 1 for seen in one["PB-r1"].seen)
    ratio = one["PB-r1"].mean("ratio")
    short, asked = _low_l(counted["PB-r2"], most)
    return [
        PaperFinding("PB-e4", "top and bottom are always minimal",
                f"on 12 rows of which 2 may be suppressed the bottom is {'minimal' if bottom_best else 'dominated'}",
                not bottom_best, "every point is checked against all others"),
        PaperFinding("PB-e5", "S_l measures privacy",
                f"ten rows that share one sensitive value score {equal:.0f}, ten with different values {mixed:.0f}: "
                "the worst case scores highest", equal > mixed, "kept as legacy; l, t and entropy measure diversity"),
        PaperFinding("PB-e6", "S_k is a privacy property of its own",
                f"without suppression it equals DCN on {int((dcn[:, 0] == dcn[:, 1]).sum()):,} of {len(dcn):,} nodes",
                bool((dcn[:, 0] == dcn[:, 1]).all()), "kept as legacy; the equality is documented"),
        PaperFinding("PB-e7", "the entire set is found by exploring 5 %",
                f"the printed RR is 0.94, ours {ratio:.2f}; {full} of {len(one['PB-r1'].seen)} runs hold the entire set",
                full < len(one["PB-r1"].seen),
                "only the exact search says complete"),
        PaperFinding("PB-e8", "suppression chosen for k serves l too",
                f"of {asked:,} nodes with a class of one sensitive value (l = 1) {short:,} could suppress such classes "
                "within the same allowance", short > 0,
                "the rule as-needed suppresses by every model"),
    ]  # fmt: skip


def _low_l(counted: CountedLattice, most: int | None) -> tuple[int, int]:
    """Nodes left at l = 1 by a suppression that looks at k only, where the same allowance suffices for l = 2.

    All of them, or ``most`` drawn at random; and how many were asked.
    """
    nodes = np.flatnonzero(counted.numbers.values[:, 1] == 1)
    other = problem(counted.problem.table, ("k", "l", "glm"), settled_rule({"l": 2}, CAP), {"l": 2})
    if most is None:
        return int(CountedLattice(other).numbers.feasible[nodes].sum()), len(nodes)
    nodes = np.random.default_rng(1).choice(nodes, most, replace=False)
    return int(other.evaluate(counted.lattice, counted.lattice.levels(nodes)).feasible.sum()), most


def _beyond(paper: Page, counted: dict[str, CountedLattice], one: dict[str, Runs]) -> None:
    with paper.timed("exact fronts and proofs", detail="five sets of objectives"):
        fronts = {key: exact_front(each.problem) for key, each in counted.items()}
    sizes = ", ".join(f"{_name(key)} {front.vectors}" for key, front in fronts.items())
    proven = all(front.provenance.complete for front in fronts.values())
    full = sum(seen.ratio == 1 for seen in one["PB-r1"].seen)
    paper.beyond += [
        (
            f"The complete fronts have these sizes: {sizes} (proven: {str(proven).lower()}); all five together take "
            f"{paper.spent('exact fronts and proofs')} of processor time."
        ),
        (
            f"Of {len(one['PB-r1'].seen)} runs on k and GLM {full} hold every true box; which ones cannot be told from "
            "the archive."
        ),
        "The share of the lattice that PBG-EA looks at is "
        + ", ".join(f"{run.evaluated / counted[key].lattice.size:.1%}" for key, run in one.items())
        + "; on a lattice of this size the exact search is cheaper, on larger ones PBG-EA has no proof to offer.",
    ]
