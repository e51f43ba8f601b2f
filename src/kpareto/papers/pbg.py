"""Dewri, Ray, Ray and Whitley, DBSEC 2010 (PBG): Tables 1 and 2, Figures 1 to 3, and its two theorems."""

# ruff: noqa: E501  (sentences that stand on a page are kept whole)
from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from kpareto.archive import BoxArchive, Coverage, Grid, coverage, grid_for
from kpareto.dominance import non_dominated
from kpareto.papers.figures import Figure, Panel, Style, series
from kpareto.papers.lattices import CAP, Counted, adult_counted, tiny_table
from kpareto.papers.page import Finding, Line, Page, Result, Say, Sheet, claims, near, together
from kpareto.problem import Numbers, constrained, problem
from kpareto.search.defects import drive
from kpareto.search.exact import exact_front
from kpareto.search.pbg_ea import PbgEa

IDS = tuple(f"PB-r{n}" for n in range(1, 11))
FLAT = [["0", "*"], ["1", "*"]]
RR, NODES = 0.05, 0.12  # tolerances: of a representation ratio; share of the printed nodes
RUNS = 20  # as printed
FEW = 6  # of a quick run, where they are enough for the same verdict
CLOSE = ("PB-r8", "PB-r9")  # their ratios lie near the tolerance, so a quick run does not make fewer runs either
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


@dataclass(frozen=True)
class Runs:
    """Several runs of PBG-EA with one grid."""

    seen: tuple[Coverage, ...]
    nodes: tuple[int, ...]
    first: np.ndarray  # (members, objectives) float64, values of the first run's archive

    def mean(self, what: str) -> float:
        """The mean of a number of the coverage over the runs."""
        return float(np.mean([getattr(each, what) for each in self.seen]))

    def told(self) -> str:
        """The representation ratio with the standard error of its mean."""
        return f"{self.mean('ratio'):.3f} ± {math.sqrt(self.variance / len(self.seen)):.3f}"

    @property
    def variance(self) -> float:
        """The variance of the representation ratio over the runs."""
        return float(np.var([each.ratio for each in self.seen], ddof=1))

    @property
    def evaluated(self) -> float:
        """Distinct nodes per run, on average."""
        return float(np.mean(self.nodes))

    def numbers(self) -> dict[str, object]:
        """For the page's JSON."""
        return {
            "ratio": [each.ratio for each in self.seen],
            "ratio variance": self.variance,
            "distance sum": [each.distance_sum for each in self.seen],
            "distance mean": [each.distance_mean for each in self.seen],
            "nodes": list(self.nodes),
            "true boxes": self.seen[0].true_boxes,
            "points that share a box": self.seen[0].merged,
        }


def page(quick: bool, say: Say) -> Page:
    """The page on PBG; the quick one has fewer runs."""
    made = Page("pbg", "PBG-EA (DBSEC 2010)", "Dewri, Ray, Ray and Whitley: PBG, DBSEC 2010", quick, say)
    made.setting += [
        (
            "Hierarchies `replication`, 301 rows may be suppressed, 25 genomes, 100 iterations; losses are counted down "
            "from the value of a table that is suppressed as a whole."
        ),
        f"A representation ratio (RR) matches within {RR:g}, a number of nodes within {NODES:.0%}.",
        "CE as defined is a sum over the archive, as printed it looks like a mean: both are shown and neither is judged.",
    ]
    runs = FEW if quick else RUNS
    made.seeds["PBG-EA runs"] = {"Table 1, PB-r6, PB-r7": list(range(runs)), "PB-r8, PB-r9": list(range(RUNS))}
    with made.timed("counting all nodes, five sets of objectives", detail="4 × 17,920 + 8,960 nodes"):
        counted = {key: adult_counted("replication", names) for key, names in FIVE.items()}
        for each in counted.values():
            _ = each.best
    with made.timed("PBG-EA, Table 1", detail=f"5 × {runs} runs"):
        one = {key: several(each, None, runs) for key, each in counted.items()}
    with made.timed("PBG-EA, grids of Table 2", detail=f"2 × {runs} and 4 × {RUNS} runs"):
        two = {
            (key, grid): several(counted[base], grid, RUNS if key in CLOSE else runs)
            for key, (base, grids) in TABLE_TWO.items()
            for grid, _, _ in grids
        }
    _table_one(made, counted, one)
    _table_two(made, two)
    _qualities(made, counted)
    _draw(made, counted, one, two)
    with made.timed("errors put to the test", detail="600 random archives" if quick else "4,000 random archives"):
        made.findings += [*_theorems(600 if quick else 4000), *_small_errors(counted, one, 400 if quick else None)]
    _beyond(made, counted, one)
    ours = f"{one['PB-r1'].mean('ratio'):.2f} / {one['PB-r1'].evaluated:.0f}"
    seconds = next(e.seconds for e in made.experiments if e.name == "PBG-EA, Table 1") / (5 * runs)
    made.summary.append(
        Line("Table 1, k and GLM: RR / nodes", "0.94 / 916", ours, "not told", f"{seconds:.2f} s a run, all nodes counted before")
    )  # fmt: skip
    return made


def several(counted: Counted, epsilons: tuple[float, ...] | None, runs: int) -> Runs:
    """So many runs of PBG-EA on counted numbers, seeds from 0 on."""
    grid = grid_for(counted.problem, epsilons)
    true = counted.numbers.values[counted.best]
    seen, nodes, first = [], [], np.zeros((0, 0))
    for seed in range(runs):
        asked: list[int] = []
        steps = PbgEa(grid).archives(counted.lattice, np.random.default_rng(seed))
        archive = drive(_watched(steps, asked), counted.lattice, counted.numbers)
        values = counted.numbers.values[counted.lattice.numbers(archive.genomes)]
        first = values if seed == 0 else first
        seen.append(coverage(grid, values, true))
        nodes.append(sum(asked))
    return Runs(tuple(seen), tuple(nodes), first)


def _watched(
    steps: Generator[np.ndarray, Numbers, BoxArchive], asked: list[int]
) -> Generator[np.ndarray, Numbers, BoxArchive]:
    """The same steps, with how many new nodes they ask for written down."""
    try:
        genomes = next(steps)
        while True:
            asked.append(len(genomes))
            genomes = steps.send((yield genomes))
    except StopIteration as end:
        archive: BoxArchive = end.value
        return archive


def _named(key: str) -> str:
    return ", ".join(name.replace("-rows", "") for name in FIVE[key])


def _table_one(made: Page, counted: dict[str, Counted], one: dict[str, Runs]) -> None:
    rows = []
    for key, (ce, rr, nodes) in TABLE_ONE.items():
        run = one[key]
        verdicts = {"nodes": near(run.evaluated, nodes, NODES, relative=True)}
        if rr is not None:
            verdicts["RR"] = near(run.mean("ratio"), rr, RR)
        share = run.evaluated / counted[key].lattice.size
        ours = (
            f"CE {run.mean('distance_sum'):.1e} (mean {run.mean('distance_mean'):.1e}) / RR {run.told()} / "
            f"{run.evaluated:.0f} nodes ({share:.1%})"
        )
        printed = f"CE {ce:.1e} / RR {rr} / {nodes} nodes" if ce is not None else f"{nodes} nodes (11.9 %)"
        made.results.append(
            Result(key, f"{_named(key)}; {len(run.seen)} runs", printed, ours, together(verdicts), run.numbers())
        )
        rows.append((_named(key), len(counted[key].best), run.seen[0].true_boxes, rr or "", run.mean("ratio"),
                     VARIANCES.get(key, ""), run.variance, ce or "", run.mean("distance_sum"),
                     run.mean("distance_mean"), nodes, round(run.evaluated)))  # fmt: skip
    columns = ("objectives", "true points", "true boxes", "RR printed", "RR", "its variance printed", "variance",
               "CE printed", "CE, sum", "CE, mean", "nodes printed", "nodes")  # fmt: skip
    made.sheets.append(Sheet("Table 1: over all runs", columns, tuple(rows)))


def _table_two(made: Page, two: dict[tuple[str, tuple[float, ...]], Runs]) -> None:
    rows = []
    for key, (base, grids) in TABLE_TWO.items():
        verdicts, ours, printed, numbers = {}, [], [], {}
        for grid, ce, rr in grids:
            run = two[key, grid]
            name = "(" + ", ".join(f"{e:g}" for e in grid) + ")"
            verdicts[name] = near(run.mean("ratio"), rr, RR)
            ours.append(f"{name} CE {run.mean('distance_sum'):.1e} / RR {run.told()}")
            printed.append(f"{name} CE {ce:.1e} / RR {rr}")
            numbers[name] = run.numbers()
            rows.append((_named(base), name, run.seen[0].true_boxes, rr, run.mean("ratio"), VARIANCES[name],
                         run.variance, ce, run.mean("distance_sum"), run.mean("distance_mean")))  # fmt: skip
        setting = f"{_named(base)}, coarser grid; {len(run.seen)} runs"
        made.results.append(Result(key, setting, "; ".join(printed), "; ".join(ours), together(verdicts), numbers))
    columns = ("objectives", "grid", "true boxes", "RR printed", "RR", "its variance printed", "variance",
               "CE printed", "CE, sum", "CE, mean")  # fmt: skip
    made.sheets.append(Sheet("Table 2: coarser grids", columns, tuple(rows)))


def _correlation(counted: Counted, first: int, second: int) -> float:
    """Rank correlation of two objectives over the true front, signs turned so that both are better lower."""
    keys = counted.numbers.keys[counted.best][:, [first, second]]
    ranks = np.argsort(np.argsort(keys, axis=0, kind="stable"), axis=0, kind="stable")
    return float(np.asarray(np.corrcoef(ranks.T))[0, 1])


def _conflict(counted: Counted) -> float:
    """The share of the front's k at which the least GLM and the least CM are not reached by one node."""
    values, keys = counted.numbers.values, counted.numbers.keys
    apart = []
    for k in np.unique(values[counted.best, 0]):
        kept = keys[values[:, 0] >= k]
        both = (kept[:, 1] == kept[:, 1].min()) & (kept[:, 2] == kept[:, 2].min())
        apart.append(not both.any())
    return float(np.mean(apart))


def _qualities(made: Page, counted: dict[str, Counted]) -> None:
    """PB-r10: what the figures are said to show."""
    pairs = {
        "k against GLM": _correlation(counted["PB-r1"], 0, 1),
        "l against GLM": _correlation(counted["PB-r2"], 1, 2),
        "k against l": _correlation(counted["PB-r2"], 0, 1),
    }
    conflict = _conflict(counted["PB-r5"])
    sizes = {key: len(each.best) for key, each in counted.items()}
    verdict = claims(
        {
            f"k and GLM conflict (rank correlation {pairs['k against GLM']:.2f})": pairs["k against GLM"] < -0.9,
            f"k and l go together, both conflict with GLM ({pairs['k against l']:.2f}, {pairs['l against GLM']:.2f})":
                pairs["k against l"] > 0 > pairs["l against GLM"],
            f"GLM and CM conflict (no node is best in both at {conflict:.0%} of the k)": conflict > 0.5,
            f"spread has more optima ({sizes['PB-r3']} against {sizes['PB-r1']})": sizes["PB-r3"] > sizes["PB-r1"],
        }
    )  # fmt: skip
    made.results.append(
        Result("PB-r10", "what Figures 1 to 3 show",
               "clear k–GLM trade-off; with l mostly against loss; GLM and CM conflict; spread gives more optima",
               "true sets of " + ", ".join(str(n) for n in sizes.values()) + " points", verdict,
               {"rank correlation": pairs, "true points": sizes, "share of k with conflict": conflict})
    )  # fmt: skip


def _draw(
    made: Page, counted: dict[str, Counted], one: dict[str, Runs], two: dict[tuple[str, tuple[float, ...]], Runs]
) -> None:
    def panel(key: str, across: int, up: int) -> Panel:
        each = counted[key]
        names = [m.name for m in each.problem.objectives]
        values = each.numbers.values[each.best]
        return Panel(_named(key), UNITS[names[across]], UNITS[names[up]], (
            series("complete front", values[:, across], values[:, up], "rings", 0),
            series("PBG-EA, one run", one[key].first[:, across], one[key].first[:, up], "points", 1),
        ), x_log=names[across] in ("k", "s-k"))  # fmt: skip

    made.figures += [
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
    made.figures.append(
        Figure("pbg-table-2", "Table 2 as a picture: what coarser grids keep", "Archives of the runs with seed 0.",
               (Panel("k, glm", UNITS["k"], UNITS["glm"], tuple(shown), x_log=True),))
    )  # fmt: skip


def _theorems(count: int) -> list[Finding]:
    """Theorems 1 and 2 on random archives (PB-e1, PB-e2), and the order of arrival (PB-e3)."""
    rng = np.random.default_rng(12)
    over = wrong = right = 0
    for _ in range(count):
        objectives = int(rng.integers(2, 4))
        points = rng.integers(1, 9, size=(int(rng.integers(2, 13)), objectives))
        grid = Grid((float(rng.integers(1, 4)),) * objectives, (True,) * objectives, (0.0,) * objectives)
        archive = _filled(grid, points)
        largest = sorted((points.max(axis=0) / grid.epsilons[0]).tolist())
        over += len(archive) > np.prod(largest[1:]) + 1e-9
        right += len(archive) > grid.size_bound(points.astype(np.float64))
        best = {tuple(row) for row in (-points[non_dominated(-points)]).tolist()}
        wrong += not {tuple(row) for row in archive.keys.tolist()} <= best
    unit = Grid((1.0, 1.0), (True, True), (0.0, 0.0))
    two = len(_filled(unit, np.array([[1.0, 0.5], [0.5, 1.0]])))
    here, there = (_filled(unit, np.array(order)).keys.tolist()
                   for order in ([[1.2, 1.8], [1.8, 1.2]], [[1.8, 1.2], [1.2, 1.8]]))  # fmt: skip
    return [
        Finding("PB-e1", "theorem 2: the archive has at most the product of the largest K / ε members",
                f"two points with K = ε = 1 give an archive of {two} where the bound is 1; {over} of {count:,} random "
                f"archives pass the bound, {right} pass ours", two > 1 and right == 0,
                "`Grid.size_bound` counts boxes, one more than K / ε"),
        Finding("PB-e2", "theorem 1: members are minimal among everything generated",
                f"{wrong} of {count:,} random archives hold a dominated member: the theorem holds, only its proof "
                "forgets offers that are refused because their box is taken", wrong == 0, "kept, and tested"),
        Finding("PB-e3", "the archive is the minimal set",
                "offered in two orders, the same two points leave different archives" if here != there else
                "the order of arrival makes no difference", here != there,
                "`SteadyArchive` does not depend on the order; the exact front has every point"),
    ]  # fmt: skip


def _filled(grid: Grid, points: np.ndarray) -> BoxArchive:
    archive = BoxArchive(grid)
    boxes = grid.boxes(points.astype(np.float64))
    keys = np.rint(-points * (1 if points.dtype.kind == "i" else 100)).astype(np.int64)
    for place in range(len(points)):
        archive.offer_one(np.array([place]), boxes[place], keys[place])
    return archive


def _small_errors(counted: dict[str, Counted], one: dict[str, Runs], most: int | None) -> list[Finding]:
    pairs = [[f"x{i}", f"p{i // 2}", "*"] for i in range(10)]
    few = [(f"x{i}", "0") for i, rows in enumerate((5, 1, 5, 1)) for _ in range(rows)]
    alone = Counted(problem(tiny_table(few, pairs), ("k", "glm"), 2))
    bottom_best = tuple(alone.numbers.keys[0].tolist()) in alone.vectors
    equal, mixed = (float(Counted(problem(tiny_table([("0", "0")] * 10, FLAT, secrets), ("s-l",), 0.0)).numbers.values[0, 0])
                    for secrets in (["a"] * 10, [str(i) for i in range(10)]))  # fmt: skip
    dcn = Counted(problem(counted["PB-r1"].problem.table, ("s-k", "dcn"), 0.0)).numbers.values
    full = sum(seen.ratio == 1 for seen in one["PB-r1"].seen)
    ratio = one["PB-r1"].mean("ratio")
    short, asked = _low_l(counted["PB-r2"], most)
    return [
        Finding("PB-e4", "top and bottom are always minimal",
                f"on 12 rows of which 2 may be suppressed the bottom is {'minimal' if bottom_best else 'dominated'}",
                not bottom_best, "every point is checked against all others"),
        Finding("PB-e5", "S_l measures privacy",
                f"ten rows that share one sensitive value score {equal:.0f}, ten with different values {mixed:.0f}: "
                "the worst case scores highest", equal > mixed, "kept as legacy; l, t and entropy measure diversity"),
        Finding("PB-e6", "S_k is a privacy property of its own",
                f"without suppression it equals DCN on {int((dcn[:, 0] == dcn[:, 1]).sum()):,} of {len(dcn):,} nodes",
                bool((dcn[:, 0] == dcn[:, 1]).all()), "kept as legacy; the equality is documented"),
        Finding("PB-e7", "the entire set is found by exploring 5 %",
                f"the printed RR is 0.94, ours {ratio:.2f}; {full} of {len(one['PB-r1'].seen)} runs hold the entire set",
                full < len(one["PB-r1"].seen),
                "only the exact search says complete"),
        Finding("PB-e8", "suppression chosen for k serves l too",
                f"of {asked:,} nodes with a class of one sensitive value (l = 1) {short:,} could suppress such classes "
                "within the same allowance", short > 0,
                "the rule constraint suppresses by every model"),
    ]  # fmt: skip


def _low_l(counted: Counted, most: int | None) -> tuple[int, int]:
    """Nodes left at l = 1 by a suppression that looks at k only, where the same allowance suffices for l = 2.

    All of them, or ``most`` drawn at random; and how many were asked.
    """
    nodes = np.flatnonzero(counted.numbers.values[:, 1] == 1)
    other = problem(counted.problem.table, ("k", "l", "glm"), constrained({"l": 2}, CAP), {"l": 2})
    if most is None:
        return int(Counted(other).numbers.feasible[nodes].sum()), len(nodes)
    nodes = np.random.default_rng(1).choice(nodes, most, replace=False)
    return int(other.evaluate(counted.lattice, counted.lattice.levels(nodes)).feasible.sum()), most


def _beyond(made: Page, counted: dict[str, Counted], one: dict[str, Runs]) -> None:
    with made.timed("exact fronts and proofs", detail="five sets of objectives"):
        fronts = {key: exact_front(each.problem) for key, each in counted.items()}
    sizes = ", ".join(f"{_named(key)} {front.vectors}" for key, front in fronts.items())
    proven = all(front.provenance.complete for front in fronts.values())
    full = sum(seen.ratio == 1 for seen in one["PB-r1"].seen)
    made.beyond += [
        (
            f"The complete fronts have these sizes: {sizes} (proven: {str(proven).lower()}); all five together take "
            f"{made.spent('exact fronts and proofs')} of processor time."
        ),
        (
            f"Of {len(one['PB-r1'].seen)} runs on k and GLM {full} hold every true box; which ones cannot be told from "
            "the archive."
        ),
        "The share of the lattice that PBG-EA looks at is "
        + ", ".join(f"{run.evaluated / counted[key].lattice.size:.1%}" for key, run in one.items())
        + "; on a lattice of this size the exact search is cheaper, on larger ones PBG-EA has no proof to offer.",
    ]
