"""Dewri, Whitley, Ray and Ray, GECCO 2009: Figures 1 to 4, preferences and bias, by NSGA-II over 105 borders."""

# ruff: noqa: E501  (sentences that stand on a page are kept whole)
from __future__ import annotations

import itertools

import numpy as np

from kpareto.fronts.dominance import achievement, prefer
from kpareto.searches.bounds import decomposition_bound, project
from kpareto.searches.cuts.nsga2 import crowding
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import Score
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_order
from replication.figures import Figure, Panel, series
from replication.page import (
    Page,
    PageLine,
    PaperFinding,
    PaperResult,
    Say,
    Sheet,
    Statement,
    claims,
    duration,
    each,
    incomparable,
)
from replication.preferences import BORDERS, EVALUATIONS, Lab, Outcome, Task, move_country, weight_vectors
from replication.tolerances import TOLERANCES, between_as, equal_as, every, lower_as, near_as

IDS = ("GE-r1a", "GE-r1b", "GE-r2a", "GE-r2b", "GE-r2c", "GE-r3a", "GE-r3b", *(f"GE-r4{c}" for c in "abcd"),
       *(f"GE-r5{c}" for c in "abcd"), *(f"GE-o5{c}" for c in "abcd"), *(f"GE-r6{c}" for c in "abcd"), "GE-r7")  # fmt: skip
WISHED = (2, 5, 10, 25, 50, 100)
POPULATIONS = (100, 250, 500)
BIASES = (1.0, 0.1, 0.05, 0.03)
SEEDS = 40  # runs for each population, to tell its effect from chance; a quick run has 2
SHOWN = 10  # of them in the table; all are in the JSON


def page(quick: bool, say: Say) -> Page:
    """The page on preferences; the quick one has fewer seeds."""
    paper = Page("gecco09", "Preferences and bias (GECCO 2009)", "Dewri, Whitley, Ray and Ray, GECCO 2009", quick, say)
    paper.setting += [
        (
            "105 borders, every column free in its order, nothing suppressed; NSGA-II with the paper's settings, read as "
            "one-point crossover (0.8) and mutation of each bit (0.001, a flip in every tenth child)."
        ),
        (
            "The paper does not tell its first population. Ours is random bits and the recoding that generalizes everything, "
            "because runs from random bits alone did not find any feasible one (see “first population” below)."
        ),
        (
            "The paper's weight vectors are only in a figure; ours are equal weights (wv1), weights by number of borders "
            "(wv2), age and education (wv3), occupation and salary (wv4), country (wv5)."
        ),
    ]
    table = adult_table("dewri_gecco09_105")
    lab = Lab(table, make_order(table.hierarchies), weight_vectors())
    most = EVALUATIONS  # in a quick run too: some verdicts hang on how far a run has come
    seeds = range(1, (2 if quick else SEEDS) + 1)
    paper.seeds["NSGA-II"] = {"figures": 1, "sizes of the population": list(seeds)}
    with paper.timed("compiling, or loading what was compiled before"):
        lab.run(Task(evaluations=200))
        recut_columns(Score(table, lab.space, {"nwp": 1.0}, 5, 0.0), 1, restarts=1, patience=1)
    with paper.timed("Figure 1: k wished for", "15 min a run", f"6 runs of {most:,} evaluations"):
        sweep = lab.runs([Task(k=k, evaluations=most) for k in WISHED])
    with paper.timed(
        "Figure 2: size of the population", "15 min a run", f"3 × {len(seeds)} runs of {EVALUATIONS:,} evaluations"
    ):
        sizes = lab.runs([Task(population=p, seed=seed) for p in POPULATIONS for seed in seeds])
    with paper.timed("Figure 3: weights", "15 min a run", f"5 runs of {most:,} evaluations"):
        weighted = lab.runs([Task(point=(0.2, 0.1), weights=w, evaluations=most) for w in lab.vectors])
    with paper.timed(
        "Figure 3 with the United States inside the order of countries", detail=f"5 runs of {most:,} evaluations"
    ):
        moved = move_country(table)
        inside = Lab(moved, make_order(moved.hierarchies), lab.vectors)
        ordered = inside.runs([Task(point=(0.2, 0.1), weights=w, evaluations=most) for w in lab.vectors])
    with paper.timed("Figure 4: bias wished for", "15 min a run", f"4 runs of {most:,} evaluations, one made before"):
        biased = lab.runs([Task(point=(0.2, b), weights="wv2", evaluations=most) for b in BIASES])
    _sweep_results(paper, sweep)
    _population_result(paper, sizes)
    _weight_results(paper, "GE-r5", "the United States at the end of the order of countries", weighted)
    _weight_results(paper, "GE-o5", "the United States inside the order of countries", ordered)
    _bias_results(paper, biased)
    _time_result(paper, sweep)
    _draw(paper, sweep, sizes, weighted, biased)
    _sheets(paper, sweep, sizes, weighted, biased)
    _errors(paper, lab, sweep, sizes, most)
    _beyond(paper, lab, sweep)
    return paper


def _sweep_results(paper: Page, sweep: list[Outcome]) -> None:
    setting = "NWP 0.2, NECD 1.0 wished for; k wished for 2 … 100"
    told = ", ".join(f"{run.task.k}: {run.k:.0f}" for run in sweep)
    paper.judge("GE-r1", setting, [
        Statement("the answer", "one feasible minimizer each", f"unique in {sum(r.unique for r in sweep)} of {len(sweep)} runs",
             claims({"the minimizer is unique": all(r.unique for r in sweep)})),
        Statement("dominance", "not dominated in (NWP, NECD)", f"undominated in {sum(r.undominated() for r in sweep)} of {len(sweep)}",
             claims({"no returned feasible recoding dominates it": all(r.undominated() for r in sweep)})),
    ], {str(r.task.k): r.numbers() for r in sweep})  # fmt: skip
    by, row, within = {run.task.k: run.k for run in sweep}, TOLERANCES["row"].within, 1 + TOLERANCES["k"].within
    paper.judge("GE-r2", setting, [
        Statement("k = 2, 5, 10", "k near the wish", told,
             claims({f"at most {row:g} row above the wish": all(by[k] <= k + row for k in WISHED[:3])})),
        Statement("k = 25, 50, 100", "clearly above the wish", told,
             claims({f"more than {within:g} times the wish": all(by[k] > within * k for k in WISHED[3:])})),
        Statement("k at a wish of 2", "3", f"{by[2]:.0f}", near_as("count", by[2], 3)),
    ], {"k reached": {str(r.task.k): r.k for r in sweep}})  # fmt: skip
    counts, losses = [len(r.values) for r in sweep], [float(r.losses[0]) for r in sweep]
    paper.judge("GE-r3", setting, [
        Statement("feasible recodings", "fewer as the wish grows", f"{counts}",
             claims({"fewer at 100 than at 2": counts[-1] < counts[0]})),
        Statement("NWP", "higher as the wish grows", ", ".join(f"{v:.3f}" for v in losses),
             claims({"rises with every step": all(a < b for a, b in itertools.pairwise(losses))})),
    ], {"feasible": counts, "nwp": losses})  # fmt: skip


def _population_result(paper: Page, sizes: list[Outcome]) -> None:
    """GE-r4, over several seeds: one run's deviation hangs on its seed more than on the population."""
    by = {p: [run for run in sizes if run.task.population == p] for p in POPULATIONS}
    gaps = {p: np.array([run.deviation for run in runs]) for p, runs in by.items()}
    counts = [float(np.mean([run.vectors for run in runs])) for runs in by.values()]
    copies = {p: np.array([run.copies / p for run in runs]) for p, runs in by.items()}
    told = ", ".join(f"{g.mean():.3f} ± {np.std(g, ddof=1) / len(g) ** 0.5:.3f}" for g in gaps.values())
    paper.judge("GE-r4", f"population 100, 250, 500; k = 5 wished for; {len(by[100])} seeds each", [
        Statement("effect on the deviation", "marginal", f"mean deviation {told}",
             every({f"{a} and {b}": equal_as("deviation", gaps[a], gaps[b], 1.0, np.mean)
                    for a, b in itertools.combinations(POPULATIONS, 2)})),
        Statement("direction", "larger is slightly worse", f"mean deviation {told}",
             lower_as({"100 and 500": (gaps[100], gaps[500])})),
        Statement("feasible recodings, as different trade-offs", "a similar number", ", ".join(f"{c:.0f}" for c in counts),
             near_as("factor", max(counts), min(counts))),
        Statement("copies in the last population", "more in large populations",
             ", ".join(f"{share.mean():.0%}" for share in copies.values()) + " of it",
             lower_as({f"{a} and {b}": (copies[a], copies[b]) for a, b in itertools.pairwise(POPULATIONS)})),
    ], {str(p): [run.numbers() for run in runs] for p, runs in by.items()})  # fmt: skip


def _weight_results(paper: Page, key: str, order: str, runs: list[Outcome]) -> None:
    """GE-r5: five weight vectors, under one order of countries; the paper does not print its own."""
    by = {run.task.weights: run for run in runs}
    others = [by[w] for w in by if w != "wv1"]
    groups = {w: r.groups["native-country"] for w, r in by.items()}
    fewest, most = min(groups["wv2"], groups["wv5"]), max(groups[w] for w in ("wv1", "wv3", "wv4"))
    told = "; ".join(f"{w}: k {r.k:.0f}, NWP {r.losses[0]:.3f}, NECD {r.losses[1]:.3f}" for w, r in by.items())
    paper.judge(key, f"five weight vectors; NWP 0.2, NECD 0.1 wished for; {order}", [
        Statement("NWP", "equal weights give much higher", told,
             claims({"equal weights give the highest": by["wv1"].losses[0] > max(r.losses[0] for r in others)})),
        Statement("NECD", "equal weights give much higher", told,
             claims({"equal weights give the highest": by["wv1"].losses[1] > max(r.losses[1] for r in others)})),
        Statement("groups of country", "more under wv2 and wv5 than under the others", ", ".join(map(str, groups.values())),
             claims({"more under wv2 and wv5": fewest > most})),
        Statement("k of wv4", "8", f"{by['wv4'].k:.0f}", near_as("k", by["wv4"].k, 8)),
    ], {w: r.numbers() for w, r in by.items()})  # fmt: skip


def _bias_results(paper: Page, biased: list[Outcome]) -> None:
    """GE-r6: less and less bias wished for."""
    ks, losses = [r.k for r in biased], [float(r.losses[0]) for r in biased]
    told = "; ".join(f"{r.task.point[1]:g}: k {r.k:.0f}, NWP {r.losses[0]:.3f}, NECD {r.losses[1]:.3f}" for r in biased)
    paper.judge("GE-r6", "wv2; NECD wished for " + ", ".join(map(str, BIASES)), [
        Statement("k at 1.0", "5", f"{ks[0]:.0f}", near_as("k", ks[0], 5)),
        Statement("NWP below 0.1", "higher", told, claims({"NWP rises as less bias is wished for": losses[-1] > losses[0]})),
        Statement("size of NWP", "at most 0.2", f"{min(losses):.3f} … {max(losses):.3f}", between_as("loss", losses, 0.0, 0.2)),
        Statement("k below 0.1", "6, 7", ", ".join(f"{k:.0f}" for k in ks[2:]), claims({"k rises": ks[-1] > ks[0]})),
    ], {str(r.task.point[1]): r.numbers() for r in biased})  # fmt: skip


def _time_result(paper: Page, sweep: list[Outcome]) -> None:
    one = next(e for e in paper.experiments if e.name.startswith("Figure 1"))
    per = one.seconds / len(sweep)
    paper.results.append(
        PaperResult("GE-r7", "one run", "about 15 min on a desktop of 2009",
               f"{per:.1f} s of processor time for {sweep[0].task.evaluations:,} evaluations "
               f"({int(np.mean([r.counted for r in sweep])):,} of them distinct)",
               incomparable(f"other machine, and recodings met again are not counted again; {15 * 60 / per:,.0f} times "
                            "as fast as reported"), {"seconds per run": per})
    )  # fmt: skip
    five = next(run for run in sweep if run.task.k == 5)
    paper.summary.append(
        PageLine("one preference run, k = 5 wished for", "k = 5", f"k = {five.k:.0f}, NWP {five.losses[0]:.3f}", "15 min",
             f"{duration(per)} ({five.task.evaluations:,} evaluations)")
    )  # fmt: skip


def _draw(
    paper: Page, sweep: list[Outcome], sizes: list[Outcome], weighted: list[Outcome], biased: list[Outcome]
) -> None:
    def clouds(runs: list[Outcome], names: list[str]) -> Panel:
        shown = [
            series(n, r.values[:, 1], r.values[:, 2], "points", i)
            for i, (n, r) in enumerate(zip(names, runs, strict=True))
        ]
        answers = series("answers", [r.losses[0] for r in runs], [r.losses[1] for r in runs], "answers", 6)
        return Panel("feasible members of the last population", "NWP (0 … 1)", "NECD (0 … 1)", (*shown, answers))

    wished = [run.task.k for run in sweep]
    paper.figures += [
        Figure("gecco09-figure-1", "Figure 1: the k wished for", "NWP 0.2 and NECD 1.0 wished for, equal weights.",
               (clouds(sweep, [f"k ≥ {k}" for k in wished]),
                Panel("k of the answer", "k wished for (rows, logarithmic)", "k reached (rows, logarithmic)",
                      (series("answer", wished, [r.k for r in sweep]), series("as wished", wished, wished, "dashed")),
                      x_log=True, y_log=True))),
        Figure("gecco09-figure-2", "Figure 2: the size of the population",
               "k = 5 wished for. On the left the runs with seed 1.",
               (clouds([next(r for r in sizes if r.task.population == p) for p in POPULATIONS],
                       [str(p) for p in POPULATIONS]),
                Panel("deviation of the answers, all seeds", "population", "NWP + NECD − wished",
                      (series("answers", [r.task.population for r in sizes], [r.deviation for r in sizes], "rings"),
                       series("mean", POPULATIONS, [np.mean([r.deviation for r in sizes if r.task.population == p])
                                                    for p in POPULATIONS]))))),
        Figure("gecco09-figure-3", "Figure 3: weights", "NWP 0.2 and NECD 0.1 wished for, k = 5.",
               (clouds(weighted, [r.task.weights for r in weighted]),
                Panel("groups per column of the answer", "column", "groups",
                      tuple(series(r.task.weights, range(9), list(r.groups.values())) for r in weighted), y_log=True,
                      ticks=tuple((float(i), name[:3]) for i, name in enumerate(BORDERS))))),
        Figure("gecco09-figure-4", "Figure 4: the bias wished for", "wv2, NWP 0.2 and k = 5 wished for.",
               (clouds(biased, [f"NECD {b:g}" for b in BIASES]),
                Panel("the answers", "NECD wished for (logarithmic)", "NWP and NECD reached",
                      (series("NWP", BIASES, [r.losses[0] for r in biased]),
                       series("NECD", BIASES, [r.losses[1] for r in biased])), x_log=True))),
    ]  # fmt: skip


def _sheets(
    paper: Page, sweep: list[Outcome], sizes: list[Outcome], weighted: list[Outcome], biased: list[Outcome]
) -> None:
    rows, shown = [], [run for run in sizes if run.task.seed <= SHOWN]
    for figure, runs in (("1", sweep), ("2", shown), ("3", weighted), ("4", biased)):
        rows += [
            (figure, r.task.seed, r.task.k, r.task.point, r.task.weights, r.task.population, round(r.k), float(r.losses[0]),
             float(r.losses[1]), r.deviation, len(r.values), ", ".join(map(str, r.groups.values())))
            for r in runs
        ]  # fmt: skip
    columns = ("figure", "seed", "k wished", "NWP, NECD wished", "weights", "population", "k", "NWP", "NECD", "deviation",
               "feasible", "groups (" + ", ".join(name[:3] for name in BORDERS) + ")")  # fmt: skip
    paper.sheets.append(Sheet("All answers", columns, tuple(rows)))


def _errors(paper: Page, lab: Lab, sweep: list[Outcome], sizes: list[Outcome], most: int) -> None:
    """Errors of the paper (readings.md#ge-readings), each by an experiment."""
    with paper.timed("errors put to the test"):
        pair = np.array([[0.3, 0.5], [0.3, 0.4]])
        equal = achievement(pair, (0.2, 1.0))
        chosen = prefer(pair, (0.2, 1.0))
        bare = lab.runs([Task(evaluations=most // 5, seed=s, seeded=False) for s in (1, 2, 3)])
        wide, narrow = _kept_gaps()
        seeds = [run for run in sizes if run.task.population == 100]
        falls, edges = _falling_edges(lab)
        drawn = lab.space.sample(2000, np.random.default_rng(3))
        ones = float((lab.problem("wv1").evaluate(lab.space, drawn).values[:, 0] == 1).mean())
    reached = sorted({round(float(r.losses[0]), 4) for r in seeds})
    hidden = [run.task.k for run in sweep if len(set(run.cut[3:18].tolist())) == 1 and len(set(run.cut.tolist())) > 1]
    age = lab.table.column("age")
    cells = len(lab.table.hierarchies[age].leaves)
    empty = cells - len(np.unique(lab.table.codes[:, age]))
    paper.findings += [
        PaperFinding("efficiency", "the answer is Pareto-optimal",
                f"(0.3, 0.5) and (0.3, 0.4) have the same achievement ({equal[0]:.6f}, {equal[1]:.6f}) although the "
                f"second dominates", bool(np.isclose(equal[0], equal[1])) and chosen == 1,
                "ties go to the smaller sum, which makes the answer Pareto-optimal"),
        PaperFinding("first population", "left open",
                f"{ones:.1%} of 2,000 random genomes have k = 1, and {len(bare)} runs of {most // 5:,} evaluations started "
                f"from such genomes alone end with {', '.join(str(len(r.values)) for r in bare)} feasible recodings",
                not any(len(r.values) for r in bare), "lattice nodes and the coarsest recoding are among the first"),
        PaperFinding("crowding", "the recoding with least diversity is selected",
                f"of 100 points spread unevenly along a front, the 20 with the larger crowding distance leave gaps of at most "
                f"{wide:.0%} of its length, the 20 with the smaller one {narrow:.0%}: the text has it the wrong way round",
                wide < narrow, "the lonelier one is preferred, as in NSGA-II"),
        PaperFinding("monotony", "left open: does a coarser recoding always lose more, whatever the weights?",
                f"yes: taking away one border lowered NWP on {falls} of {edges:,} pairs, with five weight vectors",
                falls == 0, "the trend of nwp is declared and tested"),
        PaperFinding("empty cells", "20 cells of age",
                f"{empty} of the {cells} hold nobody; the answers for k = {', '.join(map(str, hidden)) or 'none'} put everybody "
                "into one group of age and cut off empty cells to pay less than a full column", bool(hidden),
                "loss counts observed leaves by default"),
        PaperFinding("seeds", "no difference with different seeds",
                f"{len(seeds)} seeds give {len(reached)} different answers, NWP {reached[0]} to {reached[-1]}",
                len(reached) > 1, "the seed is in every report"),
    ]  # fmt: skip


def _kept_gaps() -> tuple[float, float]:
    """The largest gap along a front that is left by its lonelier points, and by its more crowded ones."""
    along = np.sort(np.random.default_rng(6).random(100) ** 3)
    along[[0, -1]] = 0.0, 1.0
    lonely = crowding(np.column_stack((along, 1 - along)), np.zeros(100, dtype=np.int64))
    order = np.argsort(-lonely, kind="stable")
    kept = (np.sort(along[order[:20]]), np.sort(along[order[-20:]]))
    return tuple(float(np.diff(np.concatenate(([0.0], part, [1.0]))).max()) for part in kept)  # type: ignore[return-value]


def _falling_edges(lab: Lab) -> tuple[int, int]:
    """Pairs of genomes that differ by one border: on how many the coarser one has less NWP."""
    rng = np.random.default_rng(4)
    fine = (rng.random((300, len(lab.space.genes))) < rng.random((300, 1))).astype(np.int64)
    fine[:, 0] = 1
    coarse = fine.copy()
    for row in coarse:
        row[rng.choice(np.flatnonzero(row))] = 0
    falls = 0
    for weights in lab.vectors:
        judged = lab.problem(weights)
        above, below = (judged.evaluate(lab.space, genomes).keys[:, 1] for genomes in (coarse, fine))
        falls += int((above < below).sum())
    return falls, 300 * len(lab.vectors)


def _beyond(paper: Page, lab: Lab, sweep: list[Outcome]) -> None:
    """Better values by recutting columns, a proven bound, and a space counted to the end."""
    rows = []
    with paper.timed("least NWP by recutting columns", detail="6 searches"):
        patience = 15 if paper.quick else 60
        least = each(
            lambda k: recut_columns(Score(lab.table, lab.space, {"nwp": 1.0}, k, 0.0), 1, patience=patience), WISHED
        )
    with paper.timed("proven lower bounds", detail="6 bounds"):
        bounds = each(lambda k: decomposition_bound(Score(lab.table, lab.space, {"nwp": 1.0}, k, 0.0), 64, 2), WISHED)
    for run, best, bound in zip(sweep, least, bounds, strict=True):
        rows.append(
            (run.task.k, float(run.losses[0]), best.value, round(bound.value, 4), f"{bound.gap(best.value):.0%}")
        )
    columns = ("k", "NWP of the answer", "least NWP found", "proven lower bound", "proven gap at most")
    paper.sheets.append(Sheet("How good the answers are", columns, tuple(rows)))
    worse = [row for row in rows if row[1] > row[2] + 1e-9]
    paper.beyond += [
        (
            f"At (0.2, 1.0) the achievement is a multiple of NWP as long as NWP is above 0.2, so the best answer has the "
            f"least NWP; in {len(worse)} of {len(rows)} runs a search that recuts one column at a time exactly finds less, "
            f"in {paper.spent('least NWP by recutting columns')} of processor time for all six."
        ),
        (
            f"{sum(run.losses[0] <= 0.2 for run in sweep)} of {len(sweep)} runs reach the NWP of 0.2 that is wished for; the "
            f"proven bounds ({rows[0][3]} … {rows[-1][3]}) exclude it at {sum(bound.value > 0.2 for bound in bounds)} of "
            f"{len(bounds)} k."
        ),
        _reduce(lab),
    ]


def _reduce(lab: Lab) -> str:
    """Four small columns, enumerated to the end: the answer of the search against the true one."""
    names = ("workclass", "race", "sex", "salary-class")
    table = project(lab.table, [lab.table.column(name) for name in names])
    small = Lab(table, make_order(table.hierarchies), {"wv1": None})
    genes = len(small.space.genes)
    every = (np.arange(2**genes)[:, None] >> np.arange(genes)) & 1
    values = small.problem("wv1").evaluate(small.space, every.astype(np.int64)).values
    fits = values[values[:, 0] >= 25]
    best = fits[prefer(fits[:, 1:], (0.2, 1.0))]
    dominated = ((fits[:, 1:] <= best[1:]).all(axis=1) & (fits[:, 1:] < best[1:]).any(axis=1)).any()
    return (
        f"On four columns with {genes} borders all {2**genes:,} recodings were counted: the true answer for k = 25 has NWP "
        f"{best[1]:.4f} and NECD {best[2]:.4f}, and {'one' if dominated else 'none'} of the feasible ones dominates it."
    )
