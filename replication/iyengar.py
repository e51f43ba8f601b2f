"""Iyengar, KDD 2002: Figures 6 to 12, CM and LM against k, decision trees, convergence, reuse on adult.test."""

# ruff: noqa: E501  (sentences that stand on a page are kept whole)
from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from kpareto.measures import make
from kpareto.releases.risk.tree_error import TreeError, tree_errors
from kpareto.searches.bounds import decomposition_bound
from kpareto.searches.cuts.genitor import genitor, iyengar
from kpareto.searches.cuts.recut import recut_columns
from kpareto.tables.adult import adult, adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.hierarchy import runs_of
from kpareto.tables.partition import Suppression, partition
from replication.figures import Band, Figure, Panel, series
from replication.page import (
    THREADS,
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
)  # fmt: skip
from replication.recodings import (
    SEED,
    Bred,
    RecodingLab,
    Solution,
    Solutions,
    ks_of,
    printed_solution,
    test_lab,
)
from replication.tolerances import between_as, near_as, of_many

YOURSELF = (
    "",
    "| what | command |",
    "|---|---|",
    "| CM minimized, LM beside it | `kpareto front examples/iyengar.toml --measure lm` |",
    "| LM minimized, CM beside it | `kpareto front examples/iyengar.toml --set 'search.objectives=[\"lm\"]' --measure cm` |",
    "| costs of errors: a high salary told low costs 5 | `kpareto front examples/iyengar.toml --set 'search.objectives=[\"cost-cm(costs=>50K/<=50K*5)\"]'` |",
    "| regression: hours per week as the target | `kpareto front examples/iyengar.toml --set 'columns.hours-per-week.role=\"target\"' --set 'search.objectives=[\"reg-variance(column=hours-per-week)\"]'` |",
    "| the same by the median | `kpareto front examples/iyengar.toml --set 'columns.hours-per-week.role=\"target\"' --set 'search.objectives=[\"reg-deviation(column=hours-per-week)\"]'` |",
    "| end points of intervals: every five years, and where the salary changes | `kpareto front examples/iyengar.toml --set 'search.end_points={age = 5, education = \"mdlp\"}'` |",
    "| error of a decision tree on the recoded rows | `kpareto front examples/iyengar.toml --tree-error` |",
    "| a recoding to be stored | `kpareto release examples/iyengar.toml --target iyengar-250.csv` |",
    "| the stored recoding on new rows | `kpareto apply iyengar-250.recoding.json new.csv` |",
)
TEST = 15_060  # complete rows of adult.test
IDS = ("IY-r1", "IY-r2", "IY-r3a", "IY-r3b", "IY-r4a", "IY-r4b", "IY-r5a", "IY-r5b", "IY-r5c", "IY-r6a", "IY-r6b", "IY-r7",
       "IY-r8", "IY-r9a", "IY-r9b", "IY-r10a", "IY-r10b", "IY-r11a", "IY-r11b", "IY-r11c", "IY-r12a", "IY-r12b", "IY-r12c",
       "IY-r13")  # fmt: skip
KS = (10, 25, 50, 75, 100, 150, 200, 250, 500)
FEW = (10, 25, 75, 100, 250, 500)  # of a quick run
LOSSES = ("cm", "lm")
UNITS = {"cm": "CM (share of rows wrong or suppressed)", "lm": "LM (mean loss per cell, 0 … 1)"}
SIZES = (5000, 500_000)  # population and evaluations of GENITOR, as printed; a quick run has a twentieth for LM
ANCHOR = (18, 284, 5510, Fraction(198985744, 1095))  # classes, smallest, rows told wrong, sum of cell losses


def page(quick: bool, say: Say) -> Page:
    """The page on flexible recodings for a use; the quick one has small budgets and fewer k."""
    paper = Page(
        "iyengar",
        "Recodings for a use (KDD 2002)",
        "Iyengar: Transforming Data to Satisfy Privacy Constraints, KDD 2002",
        quick,
        say,
    )
    # With fewer evaluations CM's recodings have another shape (IY-r3b); LM's take twice as long and keep theirs.
    settings = iyengar()
    sizes = {"cm": SIZES, "lm": (SIZES[0] // 20, SIZES[1] // 20) if quick else SIZES}
    paper.setting += [
        "157 borders, classes below k are suppressed without a cap, LM is the mean over columns.",
        (
            f"Every k and both losses: GENITOR with a population of {SIZES[0]:,} and {SIZES[1]:,} evaluations "
            f"(the paper's numbers{', for LM a twentieth' if quick else ''}; seed {SEED}), and a search that recuts one column "
            "at a time exactly; the better one is shown, and both are in the table."
        ),
        (
            f"GENITOR: rank bias {settings.bias:g}, crossover `{settings.crossover}`, {settings.mutation:g} mutations per bit, duplicates "
            f"{'allowed' if settings.duplicates else 'refused'}, first genomes of every coarseness, repair to the "
            f"{settings.repair}; rank bias, crossover and first population are readings."
        ),
        "The decision tree is scikit-learn's (entropy, pruning chosen inside the folds), not C4.5.",
    ]
    paper.yourself += YOURSELF
    folds = 3 if quick else 10
    paper.seeds |= {"searches": SEED, "folds": 1}
    table = adult_table("iyengar_157")
    lab = RecodingLab(table, make_cuts(table.hierarchies), 25 if quick else 60)
    with paper.timed("compiling, or loading what was compiled before"):
        for loss in LOSSES:
            genitor(lab.score(loss, 100), 300, SEED, replace(iyengar(), population=250))
            recut_columns(lab.score(loss, 100), SEED, restarts=1, patience=1)
    tasks = [(loss, k) for loss in LOSSES for k in (FEW if quick else KS)]
    with paper.timed(
        "Figures 6, 7, 9 and 10: all k, both losses",
        "18 h a run",
        f"{len(tasks)} runs of GENITOR with {SIZES[1]:,} evaluations{', for LM fewer' if quick else ''}, and {len(tasks)} "
        "of recutting",
    ):
        solutions = dict(zip(tasks, each(lambda task: lab.solve(*task, sizes[task[0]]), tasks), strict=True))
    _curves(paper, lab, solutions)
    _anchor(paper, lab, solutions)
    _education(paper, lab, solutions)
    errors = _trees(paper, lab, solutions, folds)
    reuse = _reuse(paper, lab, solutions)
    _convergence(paper, solutions, sizes)
    _draw(paper, solutions, errors, reuse)
    _errors(paper, lab, solutions, reuse)
    _beyond(paper, lab, solutions, (25, 250) if quick else KS)
    paper.results.sort(key=lambda result: IDS.index(result.id))
    return paper


def _curves(paper: Page, lab: RecodingLab, solutions: Solutions) -> None:
    cm, lm = ([solutions[loss, k] for k in ks_of(solutions)] for loss in LOSSES)
    genes = len(lab.space.genes)
    told = {loss: ", ".join(f"{solutions[loss, k].value:.4f}" for k in ks_of(solutions)) for loss in LOSSES}
    numbers = {loss: {str(k): solutions[loss, k].numbers() for k in ks_of(solutions)} for loss in LOSSES}
    own = [s.bred.lm for s in cm if s.bred is not None]  # GENITOR's own, as the paper has no other search
    paper.results += [
        PaperResult("IY-r1", "length of a genome", "157", str(genes), near_as("count", genes, 157)),
        PaperResult("IY-r2", "CM minimized, k = 10 … 500", "about 0.18, little change", told["cm"],
               between_as("loss", [s.cm for s in cm], 0.18, 0.18), numbers["cm"]),
    ]  # fmt: skip
    paper.judge("IY-r3", "LM of these, GENITOR's own recodings", [
        Statement("size", "about 0.8", ", ".join(f"{v:.2f}" for v in own), between_as("loss", own, 0.8, 0.8)),
        Statement("shape", "not monotone", ", ".join(f"{v:.3f}" for v in own),
             claims({"falls somewhere": any(b < a for a, b in itertools.pairwise(own))})),
    ], {"of the better search": [s.lm for s in cm]})  # fmt: skip
    paper.judge("IY-r5", "LM minimized", [
        Statement("k = 10", "0.21", f"{lm[0].lm:.4f}", near_as("loss", lm[0].lm, 0.21)),
        Statement("k = 500", "0.49", f"{lm[-1].lm:.4f}", near_as("loss", lm[-1].lm, 0.49)),
        Statement("shape", "rising with k", told["lm"],
             claims({"rises with every step": all(a.lm < b.lm for a, b in itertools.pairwise(lm))})),
    ], numbers["lm"])  # fmt: skip
    paper.judge("IY-r6", "CM of these", [
        Statement("size", "0.3 … 0.4", ", ".join(f"{s.cm:.3f}" for s in lm), between_as("loss", [s.cm for s in lm], 0.3, 0.4)),
        Statement("shape", "not monotone", ", ".join(f"{s.cm:.3f}" for s in lm),
             claims({"falls somewhere": any(b.cm < a.cm for a, b in itertools.pairwise(lm))})),
    ])  # fmt: skip
    rows = tuple(
        (k, *(cell for s in (solutions["cm", k], solutions["lm", k])
              for cell in (s.by_genitor, s.recut, s.lm if s.loss == "cm" else s.cm, f"{s.suppressed:,}")))
        for k in ks_of(solutions)
    )  # fmt: skip
    columns = ("k", "CM by GENITOR", "CM by recutting", "LM of the better", "rows suppressed",
               "LM by GENITOR", "LM by recutting", "CM of the better", "rows suppressed")  # fmt: skip
    paper.sheets.append(Sheet("All k", columns, rows))


def _anchor(paper: Page, lab: RecodingLab, solutions: Solutions) -> None:
    """IY-r4: evaluated exactly, and found again."""
    genome = printed_solution(lab.space)
    made_of = partition(lab.table, lab.space.decode(genome), Suppression("below-k", k=250))
    wrong = int(make("cm-rows")(made_of))
    lost = Fraction(make("lm").exact(made_of)) * len(lab.table.schema.quasi) * lab.table.rows  # type: ignore[attr-defined]
    facts = (made_of.classes, int(made_of.sizes.min()), wrong, lost)
    again = solutions["cm", 250]
    same = bool(np.array_equal(again.genome, genome))
    lm = float(make("lm")(made_of))
    printed = "age at 39, education 1–4, 5–7, 8–16, marital status in three, all else one group"
    paper.judge("IY-r4", "the recoding printed for k = 250 under CM", [
        Statement("its numbers", f"{printed}; CM about 0.18",
             f"{facts[0]} classes, smallest {facts[1]}, CM {wrong}/{lab.table.rows} = {wrong / lab.table.rows:.5f}, LM {lm:.6f}",
             near_as("loss", wrong / lab.table.rows, 0.18)),
        Statement("found by the search", printed,
             f"the search ends at CM {again.cm:.5f}" + (", the same recoding" if same else ""),
             claims({"the same recoding": same,
                     "its numbers are those of an independent program, as fractions": facts == ANCHOR})),
    ], {"classes": facts[0], "smallest": facts[1], "cm_rows": wrong, "rows": lab.table.rows, "lm": lm, "found again": same})  # fmt: skip
    paper.summary.append(
        PageLine("the k = 250 recoding under CM", "k ≥ 250, CM about 0.18",
             f"{wrong}/{lab.table.rows} = {wrong / lab.table.rows:.5f}, LM {lm:.6f}" + (", found again" if same else ""),
             "18 h", f"{duration(again.seconds)} (recutting columns)")
    )  # fmt: skip


def _schooling(lab: RecodingLab, solution: Solution) -> tuple[str, list[tuple[int, int]], list[int]]:
    """The groups of education as words and ranks, and the ranks whose rows are all suppressed."""
    column = lab.table.column("education")
    recoding = lab.space.decode(solution.genome)
    runs = [(first + 1, last + 1) for first, last in runs_of(recoding.cuts[column])]
    classes = partition(lab.table, recoding, Suppression("below-k", k=solution.k))
    shown = np.unique(classes.groups[~classes.suppressed][:, column])
    gone = [place for place in range(len(runs)) if place not in shown]
    words = ", ".join(f"{{{a}–{b}}}" + (" suppressed" if i in gone else "") for i, (a, b) in enumerate(runs))
    return words, runs, gone


def _education(paper: Page, lab: RecodingLab, solutions: Solutions) -> None:
    """IY-r7 and IY-r8: the printed cuts of education nearly tie with ours, so that either may be reported."""
    words = {25: "{1–2}, {3–8}, {9–15}; 16 suppressed", 250: "one interval {2–13}, the rest suppressed"}
    with paper.timed("education cut as printed", detail="2 searches by recutting"):
        tasks = ((7, 25, (2, 8, 15)), (8, 250, (1, 13)))
        forced = each(lambda task: lab.with_education(solutions["lm", task[1]], task[2]), tasks)
    for (number, k, after), least in zip(tasks, forced, strict=True):
        best = solutions["lm", k]
        ours, runs, _ = _schooling(lab, best)
        verdict = claims({"education is cut as printed": [last for _, last in runs][: len(after)] == list(after)})
        paper.results.append(
            PaperResult(f"IY-r{number}", f"education at k = {k} under LM", words[k],
                   f"our best: {ours}, LM {best.lm:.5f}; cut as printed: LM {least:.5f}", verdict,
                   {"groups": runs, "lm": best.lm, "lm cut as printed": least})
        )  # fmt: skip


def _trees(paper: Page, lab: RecodingLab, solutions: Solutions, folds: int) -> dict[tuple[str, int], TreeError]:
    ks = ks_of(solutions)
    with paper.timed(
        "Figure 8: decision trees", detail=f"{len(solutions)} recoded tables and the original, {folds} folds"
    ):
        recoded = [lab.score(*task).partition(solution.genome) for task, solution in solutions.items()]
        told = tree_errors(recoded, folds=folds, threads=THREADS)
    errors = dict(zip(solutions, told, strict=True))
    cm = [errors["cm", k].recoded for k in ks]
    lm = [errors["lm", k] for k in ks]
    raw, base = told[0].original, told[0].baseline
    told_cm = ", ".join(f"{e:.1%}" for e in cm)
    told_lm = ", ".join(f"{e.recoded:.1%}" for e in lm)
    high = [e.recoded for e, k in zip(lm, ks, strict=True) if k >= 200]
    paper.judge("IY-r9", "decision tree, CM recodings", [
        Statement(f"k = {', '.join(map(str, ks))}", "error 17.3–18.5 %", told_cm,
             of_many(folds, between_as("error", cm, 0.173, 0.185))),
        Statement("rows as they were", "17.1 %", f"{raw:.1%}", of_many(folds, near_as("error", raw, 0.171))),
    ], {"error": dict(zip(map(str, ks), cm, strict=True)), "raw": raw})  # fmt: skip
    paper.judge("IY-r10", "decision tree, LM recodings, same k", [
        Statement("against CM's", "clearly worse", told_lm,
             claims({"worse than CM's at every k": all(e.recoded > c for e, c in zip(lm, cm, strict=True))})),
        Statement("k ≥ 200", f"24.5–24.9 %, no better than the larger class ({base:.2%})", ", ".join(f"{e:.1%}" for e in high),
             of_many(folds, between_as("error", high, 0.245, 0.249))),
    ], {"error": {str(k): e.recoded for k, e in zip(ks, lm, strict=True)}, "larger class": base})  # fmt: skip
    return errors


Reuse = dict[tuple[str, int], tuple[Solution, Solution]]


def _reuse(paper: Page, lab: RecodingLab, solutions: Solutions) -> Reuse:
    """IY-r11: recodings found on adult.data on adult.test, against recodings found there."""
    with paper.timed(
        "Figures 11 and 12: reuse on adult.test",
        "18 h a run",
        f"{len(solutions)} searches by recutting, from the stored recoding and from random ones",
    ):
        other = test_lab(lab)
        tasks = list(solutions)
        fresh = each(lambda task: other.recut(*task, solutions[task].genome), tasks)
        kept = [other.judged(*task, solutions[task].genome) for task in tasks]
    reuse = {task: pair for task, *pair in zip(tasks, kept, fresh, strict=True)}
    worse = {loss: [reuse[loss, k][0].value / reuse[loss, k][1].value - 1 for k in ks_of(solutions)] for loss in LOSSES}
    extra = [reuse["cm", k][0].suppressed - reuse["cm", k][1].suppressed for k in ks_of(solutions)]
    total = [(reuse["cm", k][0].cm - reuse["cm", k][1].cm) * other.table.rows for k in ks_of(solutions)]
    most = {loss: max(worse[loss]) for loss in LOSSES}
    paper.judge("IY-r11", f"stored recodings on adult.test ({other.table.rows:,} rows)", [
        Statement("against searching there", "both worse",
             f"CM {min(worse['cm']):+.1%} … {most['cm']:+.1%}, LM {min(worse['lm']):+.1%} … {most['lm']:+.1%}",
             claims({"never better": min(min(w) for w in worse.values()) >= -1e-9})),
        Statement("CM against LM", "CM loses more",
             f"on average CM {np.mean(worse['cm']):+.1%}, LM {np.mean(worse['lm']):+.1%} (at the most {most['cm']:+.1%} and "
             f"{most['lm']:+.1%})", claims({"CM loses more on average": float(np.mean(worse["cm"])) > float(np.mean(worse["lm"]))})),
        Statement("why CM loses", "mainly by more suppression",
             f"{np.mean(extra):+.0f} rows suppressed of {np.mean(total):+.0f} rows lost, on average",
             claims({"more than half of CM's loss is suppression": sum(extra) > sum(total) / 2})),
    ], {"relative loss": worse, "more rows suppressed under cm": extra})  # fmt: skip
    return {task: (pair[0], pair[1]) for task, pair in reuse.items()}


def _convergence(paper: Page, solutions: Solutions, sizes: dict[str, tuple[int, int]]) -> None:
    """IY-r12 and IY-r13: how GENITOR went at k = 100, and how long a run takes."""
    shares, late, rising, distinct = {}, {}, {}, {}
    for loss, run in _runs(solutions).items():
        trace = run.trace
        early = trace[np.searchsorted(trace[:, 0], 0.75 * trace[0, 0] + 0.25 * trace[-1, 0]), 1]
        shares[loss] = float((trace[0, 1] - early) / (trace[0, 1] - trace[-1, 1]))
        half = trace[np.searchsorted(trace[:, 0], 0.5 * trace[0, 0] + 0.5 * trace[-1, 0]), 1]
        late[loss] = float((half - trace[-1, 1]) / (trace[0, 1] - trace[-1, 1]))
        rising[loss] = int(trace[-1, 2] - trace[int(len(trace) * 0.9), 2])
        distinct[loss] = run.distinct
    seconds = [s.bred.seconds for s in solutions.values() if s.bred is not None and sizes[s.loss] == SIZES]
    mean = float(np.mean(seconds))
    setting = f"traces at k = 100, population {SIZES[0]:,}, {SIZES[1]:,} evaluations"
    paper.judge("IY-r12", setting, [
        Statement("early", "fast gain",
             ", ".join(f"{loss.upper()} {shares[loss]:.1%} of the gain in the first quarter" for loss in LOSSES),
             claims({"more than half of the gain in the first quarter": min(shares.values()) > 0.5})),
        Statement("later", "gradual gain",
             ", ".join(f"{loss.upper()} {late[loss]:.2%} of the gain in the last half" for loss in LOSSES),
             claims({"some gain in the last half, under both losses": min(late.values()) > 0})),
        Statement("distinct recodings", "still rising at the end",
             ", ".join(f"{loss.upper()} {distinct[loss]:,}, {rising[loss]:,} of them in the last tenth" for loss in LOSSES),
             claims({"they rise in the last tenth": min(rising.values()) > 0})),
    ], {"share of the gain": shares, "gain in the last half": late, "distinct": distinct, "distinct in the last tenth": rising})  # fmt: skip
    paper.results += [
        PaperResult("IY-r13", "time of one run", "18 h for 500,000 iterations on a 1 GHz Pentium III",
               f"{mean:.1f} s of processor time for {SIZES[1]:,} evaluations (mean of {len(seconds)} runs, "
               f"{min(seconds):.1f} … {max(seconds):.1f} s)",
               incomparable(f"another machine, and recodings met again are not counted again; per evaluation "
                            f"{18 * 3600 / 5e5 / (mean / SIZES[1]):,.0f} times as fast"),
               {"seconds": seconds, "evaluations": SIZES[1]}),
    ]  # fmt: skip
    last = solutions["lm", 500].bred
    if last is not None:
        paper.summary.append(
            PageLine("least LM at k = 500 by GENITOR", "0.49", f"{last.value:.4f}", "18 h",
                 f"{duration(last.seconds)} ({sizes['lm'][1]:,} evaluations)")
        )  # fmt: skip


def _runs(solutions: Solutions) -> dict[str, Bred]:
    """GENITOR's runs at k = 100."""
    return {loss: bred for loss in LOSSES if (bred := solutions[loss, 100].bred) is not None}


def _draw(paper: Page, solutions: Solutions, errors: dict[tuple[str, int], TreeError], reuse: Reuse) -> None:
    ks = ks_of(solutions)
    printed = {
        "cm": (Band("printed: CM", 0.175, 0.185), Band("printed: LM", 0.78, 0.82)),
        "lm": (Band("printed: CM", 0.3, 0.4),),
    }
    points = {"cm": (), "lm": (series("printed: LM", [10, 500], [0.21, 0.49], "printed", 6),)}
    for number, loss in ((6, "cm"), (7, "lm")):
        lines = [series(what.upper(), ks, [getattr(solutions[loss, k], what) for k in ks]) for what in LOSSES]
        paper.figures.append(
            Figure(f"iyengar-figure-{number}", f"Figure {number}: both losses where {loss.upper()} is minimized",
                   "Best recoding found for each k. Grey and crosses: what the paper prints; “about 0.18” is drawn as "
                   "0.175 to 0.185, “about 0.8” as 0.78 to 0.82.",
                   (Panel("", "k (rows)", "CM and LM (0 … 1)", (*lines, *points[loss]), bands=printed[loss]),))
        )  # fmt: skip
    raw, base = (getattr(next(iter(errors.values())), name) for name in ("original", "baseline"))
    trees = [series(f"{loss.upper()} minimized", ks, [errors[loss, k].recoded for k in ks]) for loss in LOSSES]
    flat = [series("rows as they were", [ks[0], ks[-1]], [raw, raw], "dashed", 2),
            series("always the larger class", [ks[0], ks[-1]], [base, base], "dashed", 6)]  # fmt: skip
    paper.figures.append(
        Figure("iyengar-figure-8", "Figure 8: error of a decision tree",
               "Cross-validated. Grey: the range printed for CM; cross: the error printed for the rows as they were.",
               (Panel("", "k (rows)", "share of rows told wrong",
                      (*trees, *flat, series("printed: rows as they were", [ks[0]], [0.171], "printed", 6)),
                      bands=(Band("printed: CM minimized", 0.173, 0.185),)),))
    )  # fmt: skip
    for number, (loss, run) in zip((9, 10), _runs(solutions).items(), strict=True):
        end = series("recutting columns", run.trace[[0, -1], 0], [solutions[loss, 100].recut] * 2, "dashed", 2)
        panels = (
            Panel("best value so far", "evaluations", UNITS[loss], (series("GENITOR", run.trace[:, 0], run.trace[:, 1]), end)),
            Panel("distinct recodings so far", "evaluations", "distinct recodings",
                  (series("GENITOR", run.trace[:, 0], run.trace[:, 2]),)),
        )  # fmt: skip
        title = f"Figure {number}: the course of a search, {loss.upper()} minimized"
        paper.figures.append(Figure(f"iyengar-figure-{number}", title, "k = 100.", panels))
    for number, loss in ((11, "cm"), (12, "lm")):
        names = ("stored recoding", "searched on adult.test")
        losses = tuple(series(n, ks, [reuse[loss, k][i].value for k in ks]) for i, n in enumerate(names))
        gone = tuple(series(n, ks, [reuse[loss, k][i].suppressed for k in ks]) for i, n in enumerate(names))
        paper.figures.append(
            Figure(f"iyengar-figure-{number}", f"Figure {number}: {loss.upper()} on adult.test",
                   "Recodings found on adult.data, suppression worked out anew, against recodings found on adult.test.",
                   (Panel("", "k (rows)", UNITS[loss], losses), Panel("", "k (rows)", f"rows suppressed of {TEST:,}", gone)))
        )  # fmt: skip


def _errors(paper: Page, lab: RecodingLab, solutions: Solutions, reuse: Reuse) -> None:
    again = lab.judged("cm", 250, printed_solution(lab.space))
    most = max(solutions["lm", k].suppressed / lab.table.rows for k in ks_of(solutions))
    masked = [
        f"{s.suppressed} rows at k = {s.k} ({s.loss.upper()})" for s in solutions.values() if 0 < s.suppressed < s.k
    ]
    ten = solutions["lm", 10]
    rows = adult()
    others = ["relationship", "hours-per-week", "capital-gain", "capital-loss"]
    alone = int((rows.group_by(others).aggregate([([], "count_all")])["count_all"].to_numpy() == 1).sum())
    paper.findings += [
        PaperFinding("LM", "a sum over columns",
                f"the printed recoding has a sum of {again.lm * 8:.2f} and a mean of {again.lm:.3f}; the figures show "
                "values below 1", again.lm * 8 > 1, "lm is the mean, glm the sum"),
        PaperFinding("suppression", "small classes are suppressed, however many",
                f"the recodings of least LM suppress up to {most:.0%} of the rows", most > 0.1,
                "every number comes with the rows suppressed; rules with a cap are the default"),
        PaperFinding("mask", "suppressed rows stay as rows of stars",
                "they form a class of their own, which may be smaller than k: in these runs "
                + (", ".join(masked) or "it never is"), bool(masked), "`rows = \"mask\"` demands 0 or at least k such rows"),
        PaperFinding("settings", "rank bias, first population and crossover are not told",
                f"with our readings GENITOR alone ends {ten.by_genitor / ten.lm - 1:+.1%} from the best LM known at k = 10, "
                f"and that lies {ten.lm - 0.21:+.3f} from the printed 0.21", True, "settings and seed are in every report"),
        PaperFinding("sample or population", "left open: does k hold for the table or for the people behind it?",
                f"for the table: of the {TEST:,} rows of adult.test the recoding found for k = 250 under CM leaves "
                f"{reuse['cm', 250][0].suppressed:,} in smaller classes", reuse["cm", 250][0].suppressed > 0,
                "`kpareto apply` counts again on new rows; estimates for a population need its size"),
        PaperFinding("other columns", "left open: columns that are released as they are",
                f"{alone:,} of all {rows.num_rows:,} rows are unique on relationship, hours and capital gain and loss alone",
                alone > 0, "every report tells how many rows are unique on all released columns"),
    ]  # fmt: skip


def _beyond(paper: Page, lab: RecodingLab, solutions: Solutions, ks: tuple[int, ...]) -> None:
    with paper.timed("proven lower bounds on LM", detail=f"{len(ks)} bounds"):
        bounds = each(lambda k: decomposition_bound(lab.score("lm", k), 600, 3), ks)
    rows = tuple((k, solutions["lm", k].lm, bound.value, f"{bound.gap(solutions['lm', k].lm):.0%}")
                 for k, bound in zip(ks, bounds, strict=True))  # fmt: skip
    paper.sheets.append(
        Sheet("How good the LM values are", ("k", "least LM found", "proven lower bound", "gap at most"), rows)
    )
    words = []
    for loss in LOSSES:
        mine = [solutions[loss, k] for k in ks_of(solutions)]
        less, more = (sum(sign * (s.recut - s.by_genitor) > 1e-12 for s in mine) for sign in (-1, 1))
        words.append(f"at {less} of {len(mine)} k less {loss.upper()} than GENITOR, at {more} more")
    took = {
        "recutting": [s.seconds for s in solutions.values()],
        "GENITOR": [s.bred.seconds for s in solutions.values() if s.bred],
    }
    best = 5510 / lab.table.rows
    paper.beyond += [
        (f"Recutting one column at a time exactly finds {words[0]}, and {words[1]}; it takes "
        f"{duration(float(np.mean(took['recutting'])))} of processor time on average where GENITOR takes "
        f"{duration(float(np.mean(took['GENITOR'])))}."),
        (f"The least LM at k = {ks[0]} lies between {rows[0][2]:.4f} (proven by sets of columns) and {rows[0][1]:.4f} "
        f"(found), at k = {ks[-1]} between {rows[-1][2]:.4f} and {rows[-1][1]:.4f}: the space of "
        f"2^{math.log2(lab.space.size):.0f} recodings is too large for our proofs to close the gap."),
        "The printed recoding for k = 250 is " + ("the best we know" if solutions["cm", 250].cm >= best - 1e-12 else
        f"not the best: CM {solutions['cm', 250].cm:.5f} is known") + "; no proof is known that nothing is better.",
    ]  # fmt: skip
