"""Iyengar, KDD 2002: Figures 6 to 12, CM and LM against k, decision trees, convergence, reuse on adult.test."""

# ruff: noqa: E501  (sentences that stand on a page are kept whole)
from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from kpareto.bounds import decomposition_bound
from kpareto.cuts import make_cuts
from kpareto.datasets import adult, adult_table
from kpareto.hierarchy import runs_of
from kpareto.measures import make
from kpareto.papers.figures import Band, Figure, Panel, series
from kpareto.papers.page import (
    THREADS,
    Finding,
    Line,
    Page,
    Result,
    Say,
    Sheet,
    between,
    claims,
    duration,
    each,
    incomparable,
    near,
)  # fmt: skip
from kpareto.papers.page import together as all_of
from kpareto.papers.recodings import SEED, Bred, Lab, Solution, Solutions, ks_of, printed_solution, test_lab
from kpareto.partition import Suppression, partition
from kpareto.search.genitor import genitor, iyengar
from kpareto.search.improve import improve
from kpareto.trees import TreeError, tree_errors

TEST = 15_060  # complete rows of adult.test
IDS = tuple(f"IY-r{n}" for n in range(1, 14))
KS = (10, 25, 50, 75, 100, 150, 200, 250, 500)
FEW = (10, 25, 75, 100, 250, 500)  # of a quick run
LOSSES = ("cm", "lm")
UNITS = {"cm": "CM (share of rows wrong or suppressed)", "lm": "LM (mean loss per cell, 0 … 1)"}
SIZES = (5000, 500_000)  # population and evaluations of GENITOR, as printed; a quick run has a twentieth of both
ANCHOR = (18, 284, 5510, Fraction(198985744, 1095))  # classes, smallest, rows told wrong, sum of cell losses


def page(quick: bool, say: Say) -> Page:
    """The page on flexible recodings for a use; the quick one has small budgets and fewer k."""
    made = Page(
        "iyengar",
        "Recodings for a use (KDD 2002)",
        "Iyengar: Transforming Data to Satisfy Privacy Constraints, KDD 2002",
        quick,
        say,
    )
    sizes = (SIZES[0] // 20, SIZES[1] // 20) if quick else SIZES
    made.setting += [
        "157 borders, classes below k are suppressed without a cap, LM is the mean over columns.",
        (
            f"Every k and both losses: GENITOR with a population of {sizes[0]:,} and {sizes[1]:,} evaluations "
            f"({'a twentieth of the' if quick else 'the'} paper's numbers; seed {SEED}), and a search that recuts one column "
            "at a time exactly; the better one is shown, and both are in the table."
        ),
        "The decision tree is scikit-learn's (entropy, pruning chosen inside the folds), not C4.5.",
    ]
    folds = 3 if quick else 10
    made.seeds |= {"searches": SEED, "folds": 1}
    table = adult_table("iyengar_157")
    lab = Lab(table, make_cuts(table.hierarchies), 25 if quick else 60)
    with made.timed("compiling, or loading what was compiled before"):
        for loss in LOSSES:
            genitor(lab.score(loss, 100), 300, SEED, replace(iyengar(), population=250))
            improve(lab.score(loss, 100), SEED, restarts=1, patience=1)
    tasks = [(loss, k) for loss in LOSSES for k in (FEW if quick else KS)]
    with made.timed(
        "Figures 6, 7, 9 and 10: all k, both losses",
        "18 h a run",
        f"{len(tasks)} runs of GENITOR with {sizes[1]:,} evaluations, and {len(tasks)} of recutting",
    ):
        found = dict(zip(tasks, each(lambda task: lab.solve(*task, sizes), tasks), strict=True))
    _curves(made, lab, found)
    _anchor(made, lab, found)
    _education(made, lab, found)
    errors = _trees(made, lab, found, folds)
    reuse = _reuse(made, lab, found)
    _convergence(made, found, sizes)
    _draw(made, found, errors, reuse)
    _errors(made, lab, found, reuse)
    _beyond(made, lab, found, (25, 250) if quick else KS)
    made.results.sort(key=lambda result: int(result.id[4:]))
    return made


def _curves(made: Page, lab: Lab, found: Solutions) -> None:
    cm, lm = ([found[loss, k] for k in ks_of(found)] for loss in LOSSES)
    genes = len(lab.space.genes)
    told = {loss: ", ".join(f"{found[loss, k].value:.4f}" for k in ks_of(found)) for loss in LOSSES}
    numbers = {loss: {str(k): found[loss, k].numbers() for k in ks_of(found)} for loss in LOSSES}
    other = [s.lm for s in cm]
    falls = any(b.cm < a.cm for a, b in itertools.pairwise(lm))
    made.results += [
        Result("IY-r1", "length of a genome", "157", str(genes), near(genes, 157, 0)),
        Result("IY-r2", "CM minimized, k = 10 … 500", "about 0.18, little change", told["cm"],
               between([s.cm for s in cm], 0.18, 0.18, 0.01), numbers["cm"]),
        Result("IY-r3", "LM of these", "about 0.8, not monotone", ", ".join(f"{v:.2f}" for v in other),
               all_of({"LM": between(other, 0.8, 0.8, 0.1),
                       "shape": claims({"not monotone": any(b < a for a, b in itertools.pairwise(other))})})),
        Result("IY-r5", "LM minimized, k = 10 … 500", "0.21 … 0.49, rising", told["lm"],
               all_of({"k = 10": near(lm[0].lm, 0.21, 0.03), "k = 500": near(lm[-1].lm, 0.49, 0.01),
                       "shape": claims({"rises with k": all(a.lm < b.lm for a, b in itertools.pairwise(lm))})}),
               numbers["lm"]),
        Result("IY-r6", "CM of these", "0.3 … 0.4, not monotone", ", ".join(f"{s.cm:.3f}" for s in lm),
               all_of({"range": between([s.cm for s in lm], 0.3, 0.4, 0.05), "shape": claims({"not monotone": falls})})),
    ]  # fmt: skip
    rows = tuple(
        (k, *(cell for s in (found["cm", k], found["lm", k])
              for cell in (s.by_genitor, s.recut, s.lm if s.loss == "cm" else s.cm, f"{s.suppressed:,}")))
        for k in ks_of(found)
    )  # fmt: skip
    columns = ("k", "CM by GENITOR", "CM by recutting", "LM of the better", "rows suppressed",
               "LM by GENITOR", "LM by recutting", "CM of the better", "rows suppressed")  # fmt: skip
    made.sheets.append(Sheet("All k", columns, rows))


def _anchor(made: Page, lab: Lab, found: Solutions) -> None:
    """IY-r4: evaluated exactly, and found again."""
    genome = printed_solution(lab.space)
    made_of = partition(lab.table, lab.space.decode(genome), Suppression("below-k", k=250))
    wrong = int(make("cm-rows")(made_of))
    lost = Fraction(make("lm").exact(made_of)) * len(lab.table.schema.quasi) * lab.table.rows  # type: ignore[attr-defined]
    facts = (made_of.classes, int(made_of.sizes.min()), wrong, lost)
    again = found["cm", 250]
    same = bool(np.array_equal(again.genome, genome))
    lm = float(make("lm")(made_of))
    made.results.append(
        Result("IY-r4", "the recoding printed for k = 250 under CM",
               "age at 39, education 1–4, 5–7, 8–16, marital status in three, all else one group; CM about 0.18",
               f"{facts[0]} classes, smallest {facts[1]}, CM {wrong}/{lab.table.rows} = {wrong / lab.table.rows:.5f}, "
               f"LM {lm:.6f}; the search ends at CM {again.cm:.5f}" + (", the same recoding" if same else ""),
               claims({"the numbers are those of an independent program, as fractions": facts == ANCHOR,
                       "our search finds the same recoding": same}),
               {"classes": facts[0], "smallest": facts[1], "cm_rows": wrong, "rows": lab.table.rows, "lm": lm,
                "found again": same})
    )  # fmt: skip
    made.summary.append(
        Line("the k = 250 recoding under CM", "k ≥ 250, CM about 0.18",
             f"{wrong}/{lab.table.rows} = {wrong / lab.table.rows:.5f}, LM {lm:.6f}" + (", found again" if same else ""),
             "18 h", f"{duration(again.seconds)} (recutting columns)")
    )  # fmt: skip


def _schooling(lab: Lab, solution: Solution) -> tuple[str, list[tuple[int, int]], list[int]]:
    """The groups of education as words and ranks, and the ranks whose rows are all suppressed."""
    column = lab.table.column("education")
    recoding = lab.space.decode(solution.genome)
    runs = [(first + 1, last + 1) for first, last in runs_of(recoding.cuts[column])]
    made = partition(lab.table, recoding, Suppression("below-k", k=solution.k))
    shown = np.unique(made.groups[~made.suppressed][:, column])
    gone = [place for place in range(len(runs)) if place not in shown]
    words = ", ".join(f"{{{a}–{b}}}" + (" suppressed" if i in gone else "") for i, (a, b) in enumerate(runs))
    return words, runs, gone


def _education(made: Page, lab: Lab, found: Solutions) -> None:
    few, runs, _ = _schooling(lab, found["lm", 25])
    many, wide, gone = _schooling(lab, found["lm", 250])
    printed = [(1, 2), (3, 8), (9, 15), (16, 16)]
    hits = len({b for _, b in runs} & {b for _, b in printed})
    kept = [run for place, run in enumerate(wide) if place not in gone]
    made.results += [
        Result("IY-r7", "education at k = 25 under LM", "{1–2}, {3–8}, {9–15}; 16 suppressed", few,
               claims({f"borders after 2, 8 and 15 (here after {', '.join(str(b) for _, b in runs[:-1])})": runs == printed}),
               {"groups": runs, "borders in common": hits - 1}),
        Result("IY-r8", "education at k = 250 under LM", "one interval {2–13}, the rest suppressed", many,
               claims({"one interval is released": len(kept) == 1, "it is {2–13}": kept == [(2, 13)]}),
               {"groups": wide, "released": kept}),
    ]  # fmt: skip


def _trees(made: Page, lab: Lab, found: Solutions, folds: int) -> dict[tuple[str, int], TreeError]:
    ks = ks_of(found)
    with made.timed("Figure 8: decision trees", detail=f"{len(found)} recoded tables and the original, {folds} folds"):
        recoded = [lab.score(*task).partition(solution.genome) for task, solution in found.items()]
        told = tree_errors(recoded, folds=folds, threads=THREADS)
    errors = dict(zip(found, told, strict=True))
    cm = [errors["cm", k].recoded for k in ks]
    lm = [errors["lm", k] for k in ks]
    raw, base = told[0].original, told[0].baseline
    made.results += [
        Result("IY-r9", f"decision tree, CM recodings, k = {', '.join(map(str, ks))}", "error 17.3–18.5 %, raw 17.1 %",
               ", ".join(f"{e:.1%}" for e in cm) + f"; raw {raw:.1%}",
               all_of({"recoded": between(cm, 0.173, 0.185, 0.01), "raw": near(raw, 0.171, 0.01)}),
               {"error": dict(zip(map(str, ks), cm, strict=True)), "raw": raw}),
        Result("IY-r10", "decision tree, LM recodings, same k", "clearly worse; for k ≥ 200 no better than the larger class",
               ", ".join(f"{e.recoded:.1%}" for e in lm) + f"; always the larger class: {base:.2%}",
               claims({"worse than CM's at every k": all(e.recoded > c for e, c in zip(lm, cm, strict=True)),
                       f"within 1 point of {base:.1%} for k ≥ 200":
                           all(abs(e.recoded - base) <= 0.01 for e, k in zip(lm, ks, strict=True) if k >= 200)}),
               {"error": {str(k): e.recoded for k, e in zip(ks, lm, strict=True)}, "larger class": base}),
    ]  # fmt: skip
    return errors


Reuse = dict[tuple[str, int], tuple[Solution, Solution]]


def _reuse(made: Page, lab: Lab, found: Solutions) -> Reuse:
    """IY-r11: recodings found on adult.data on adult.test, against recodings found there."""
    with made.timed(
        "Figures 11 and 12: reuse on adult.test",
        "18 h a run",
        f"{len(found)} searches by recutting, from the stored recoding and from random ones",
    ):
        other = test_lab(lab)
        tasks = list(found)
        fresh = each(lambda task: other.recut(*task, found[task].genome), tasks)
        kept = [other.judged(*task, found[task].genome) for task in tasks]
    reuse = {task: pair for task, *pair in zip(tasks, kept, fresh, strict=True)}
    worse = {loss: [reuse[loss, k][0].value / reuse[loss, k][1].value - 1 for k in ks_of(found)] for loss in LOSSES}
    extra = [reuse["cm", k][0].suppressed - reuse["cm", k][1].suppressed for k in ks_of(found)]
    total = [(reuse["cm", k][0].cm - reuse["cm", k][1].cm) * other.table.rows for k in ks_of(found)]
    made.results.append(
        Result("IY-r11", f"stored recodings on adult.test ({other.table.rows:,} rows)",
               "both worse than searching there; CM loses more, mainly by more suppression",
               f"CM {np.mean(worse['cm']):+.1%}, LM {np.mean(worse['lm']):+.1%} on average; CM suppresses "
               f"{np.mean(extra):+.0f} rows of {np.mean(total):+.0f} rows lost",
               claims({"never better": min(min(w) for w in worse.values()) >= -1e-9,
                       "CM loses more on average": np.mean(worse["cm"]) > np.mean(worse["lm"]),
                       "more than half of CM's loss is suppression": sum(extra) > sum(total) / 2}),
               {"relative loss": worse, "more rows suppressed under cm": extra})
    )  # fmt: skip
    return {task: (pair[0], pair[1]) for task, pair in reuse.items()}


def _convergence(made: Page, found: Solutions, sizes: tuple[int, int]) -> None:
    """IY-r12 and IY-r13: how GENITOR went at k = 100, and how long a run takes."""
    shares, rising, distinct = {}, {}, {}
    for loss, run in _runs(found).items():
        trace = run.trace
        early = trace[np.searchsorted(trace[:, 0], 0.75 * trace[0, 0] + 0.25 * trace[-1, 0]), 1]
        shares[loss] = float((trace[0, 1] - early) / (trace[0, 1] - trace[-1, 1]))
        rising[loss] = int(trace[-1, 2] - trace[int(len(trace) * 0.9), 2])
        distinct[loss] = run.distinct
    seconds = [s.bred.seconds for s in found.values() if s.bred is not None]
    mean = float(np.mean(seconds))
    made.results += [
        Result("IY-r12", f"traces at k = 100, population {sizes[0]:,}, {sizes[1]:,} evaluations",
               "fast gain early, slow later; distinct recodings still rising at the end",
               "; ".join(f"{loss.upper()}: {shares[loss]:.0%} of the gain in the first quarter, {distinct[loss]:,} distinct, "
                         f"{rising[loss]:,} of them in the last tenth" for loss in LOSSES),
               claims({"more than half of the gain in the first quarter": min(shares.values()) > 0.5,
                       "distinct recodings rise in the last tenth": min(rising.values()) > 0}),
               {"share of the gain": shares, "distinct": distinct, "distinct in the last tenth": rising}),
        Result("IY-r13", "time of one run", "18 h for 500,000 iterations on a 1 GHz Pentium III",
               f"{mean:.1f} s of processor time for {sizes[1]:,} evaluations (mean of {len(seconds)} runs, "
               f"{min(seconds):.1f} … {max(seconds):.1f} s)",
               incomparable(f"another machine, and recodings met again are not counted again; per evaluation "
                            f"{18 * 3600 / 5e5 / (mean / sizes[1]):,.0f} times as fast"),
               {"seconds": seconds, "evaluations": sizes[1]}),
    ]  # fmt: skip
    last = found["lm", 500].bred
    if last is not None:
        made.summary.append(
            Line("least LM at k = 500 by GENITOR", "0.49", f"{last.value:.4f}", "18 h",
                 f"{duration(last.seconds)} ({sizes[1]:,} evaluations)")
        )  # fmt: skip


def _runs(found: Solutions) -> dict[str, Bred]:
    """GENITOR's runs at k = 100."""
    return {loss: bred for loss in LOSSES if (bred := found[loss, 100].bred) is not None}


def _draw(made: Page, found: Solutions, errors: dict[tuple[str, int], TreeError], reuse: Reuse) -> None:
    ks = ks_of(found)
    both = {(loss, what): [getattr(found[loss, k], what) for k in ks] for loss in LOSSES for what in LOSSES}
    bands = {"cm": (Band("printed: CM minimized", 0.175, 0.185), Band("printed: LM minimized", 0.3, 0.4)),
             "lm": (Band("printed: CM minimized", 0.78, 0.82),)}  # fmt: skip
    points = {"cm": (), "lm": (series("printed: LM minimized", [10, 500], [0.21, 0.49], "printed", 6),)}
    for number, what in ((6, "cm"), (7, "lm")):
        lines = [series(f"{loss.upper()} minimized", ks, both[loss, what]) for loss in LOSSES]
        made.figures.append(
            Figure(f"iyengar-figure-{number}", f"Figure {number}: {what.upper()} against k",
                   "Best recoding found for each k. Grey and crosses: what the paper prints; “about 0.18” is drawn as "
                   "0.175 to 0.185, “about 0.8” as 0.78 to 0.82.",
                   (Panel("", "k (rows)", UNITS[what], (*lines, *points[what]), bands=bands[what]),))
        )  # fmt: skip
    raw, base = (getattr(next(iter(errors.values())), name) for name in ("original", "baseline"))
    trees = [series(f"{loss.upper()} minimized", ks, [errors[loss, k].recoded for k in ks]) for loss in LOSSES]
    flat = [series("rows as they were", [ks[0], ks[-1]], [raw, raw], "dashed", 2),
            series("always the larger class", [ks[0], ks[-1]], [base, base], "dashed", 6)]  # fmt: skip
    made.figures.append(
        Figure("iyengar-figure-8", "Figure 8: error of a decision tree",
               "Cross-validated. Grey: the range printed for CM; cross: the error printed for the rows as they were.",
               (Panel("", "k (rows)", "share of rows told wrong",
                      (*trees, *flat, series("printed: rows as they were", [ks[0]], [0.171], "printed", 6)),
                      bands=(Band("printed: CM minimized", 0.173, 0.185),)),))
    )  # fmt: skip
    for number, column, title in ((9, 1, "best value so far"), (10, 2, "distinct recodings so far")):
        panels = []
        for loss, run in _runs(found).items():
            end = series("recutting columns", run.trace[[0, -1], 0], [found[loss, 100].recut] * 2, "dashed", 2)
            line = series("GENITOR", run.trace[:, 0], run.trace[:, column])
            name = UNITS[loss] if column == 1 else "distinct recodings"
            panels.append(Panel(f"{loss.upper()} minimized, k = 100", "evaluations", name,
                                (line, end) if column == 1 else (line,)))  # fmt: skip
        made.figures.append(Figure(f"iyengar-figure-{number}", f"Figure {number}: {title}", "k = 100.", tuple(panels)))
    for number, loss in ((11, "cm"), (12, "lm")):
        names = ("stored recoding", "searched on adult.test")
        losses = tuple(series(n, ks, [reuse[loss, k][i].value for k in ks]) for i, n in enumerate(names))
        gone = tuple(series(n, ks, [reuse[loss, k][i].suppressed for k in ks]) for i, n in enumerate(names))
        made.figures.append(
            Figure(f"iyengar-figure-{number}", f"Figure {number}: {loss.upper()} on adult.test",
                   "Recodings found on adult.data, suppression worked out anew, against recodings found on adult.test.",
                   (Panel("", "k (rows)", UNITS[loss], losses), Panel("", "k (rows)", f"rows suppressed of {TEST:,}", gone)))
        )  # fmt: skip


def _errors(made: Page, lab: Lab, found: Solutions, reuse: Reuse) -> None:
    again = lab.judged("cm", 250, printed_solution(lab.space))
    most = max(found["lm", k].suppressed / lab.table.rows for k in ks_of(found))
    masked = [f"{s.suppressed} rows at k = {s.k} ({s.loss.upper()})" for s in found.values() if 0 < s.suppressed < s.k]
    ten = found["lm", 10]
    rows = adult()
    others = ["relationship", "hours-per-week", "capital-gain", "capital-loss"]
    alone = int((rows.group_by(others).aggregate([([], "count_all")])["count_all"].to_numpy() == 1).sum())
    made.findings += [
        Finding("LM", "a sum over columns",
                f"the printed recoding has a sum of {again.lm * 8:.2f} and a mean of {again.lm:.3f}; the figures show "
                "values below 1", again.lm * 8 > 1, "lm is the mean, glm the sum"),
        Finding("suppression", "small classes are suppressed, however many",
                f"the recodings of least LM suppress up to {most:.0%} of the rows", most > 0.1,
                "every number comes with the rows suppressed; rules with a cap are the default"),
        Finding("mask", "suppressed rows stay as rows of stars",
                "they form a class of their own, which may be smaller than k: in these runs "
                + (", ".join(masked) or "it never is"), bool(masked), "`rows = \"mask\"` demands 0 or at least k such rows"),
        Finding("settings", "rank bias, first population and crossover are not told",
                f"with our readings GENITOR alone ends {ten.by_genitor / ten.lm - 1:+.1%} from the best LM known at k = 10, "
                f"and that lies {ten.lm - 0.21:+.3f} from the printed 0.21", True, "settings and seed are in every report"),
        Finding("sample or population", "left open: does k hold for the table or for the people behind it?",
                f"for the table: of the {TEST:,} rows of adult.test the recoding found for k = 250 under CM leaves "
                f"{reuse['cm', 250][0].suppressed:,} in smaller classes", reuse["cm", 250][0].suppressed > 0,
                "`kpareto apply` counts again on new rows; estimates for a population need its size"),
        Finding("other columns", "left open: columns that are released as they are",
                f"{alone:,} of all {rows.num_rows:,} rows are unique on relationship, hours and capital gain and loss alone",
                alone > 0, "every report tells how many rows are unique on all released columns"),
    ]  # fmt: skip


def _beyond(made: Page, lab: Lab, found: Solutions, ks: tuple[int, ...]) -> None:
    with made.timed("proven lower bounds on LM", detail=f"{len(ks)} bounds"):
        bounds = each(lambda k: decomposition_bound(lab.score("lm", k), 600, 3), ks)
    rows = tuple((k, found["lm", k].lm, bound.value, f"{bound.gap(found['lm', k].lm):.0%}")
                 for k, bound in zip(ks, bounds, strict=True))  # fmt: skip
    made.sheets.append(
        Sheet("How good the LM values are", ("k", "least LM found", "proven lower bound", "gap at most"), rows)
    )
    words = []
    for loss in LOSSES:
        mine = [found[loss, k] for k in ks_of(found)]
        less, more = (sum(sign * (s.recut - s.by_genitor) > 1e-12 for s in mine) for sign in (-1, 1))
        words.append(f"at {less} of {len(mine)} k less {loss.upper()} than GENITOR, at {more} more")
    took = {
        "recutting": [s.seconds for s in found.values()],
        "GENITOR": [s.bred.seconds for s in found.values() if s.bred],
    }
    best = 5510 / lab.table.rows
    made.beyond += [
        (f"Recutting one column at a time exactly finds {words[0]}, and {words[1]}; it takes "
        f"{duration(float(np.mean(took['recutting'])))} of processor time on average where GENITOR takes "
        f"{duration(float(np.mean(took['GENITOR'])))}."),
        (f"The least LM at k = {ks[0]} lies between {rows[0][2]:.4f} (proven by sets of columns) and {rows[0][1]:.4f} "
        f"(found), at k = {ks[-1]} between {rows[-1][2]:.4f} and {rows[-1][1]:.4f}: the space of "
        f"2^{math.log2(lab.space.size):.0f} recodings is too large for our proofs to close the gap."),
        "The printed recoding for k = 250 is " + ("the best we know" if found["cm", 250].cm >= best - 1e-12 else
        f"not the best: CM {found['cm', 250].cm:.5f} is known") + "; no proof is known that nothing is better.",
    ]  # fmt: skip
