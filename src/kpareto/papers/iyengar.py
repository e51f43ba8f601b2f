"""Iyengar, KDD 2002: Figures 6 to 12, CM and LM against k, decision trees, convergence, reuse on adult.test."""

# ruff: noqa: E501  (sentences that stand on a page are kept whole)
from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from kpareto.bounds import decomposition_bound
from kpareto.cuts import Cuts, make_cuts
from kpareto.datasets import adult, adult_hierarchies, adult_schema, adult_table
from kpareto.frames import read
from kpareto.hierarchy import runs_of
from kpareto.measures import make
from kpareto.papers.figures import Figure, Panel, series
from kpareto.papers.page import Finding, Page, Result, Say, Sheet, between, claims, duration, each, incomparable, near
from kpareto.papers.page import together as all_of
from kpareto.partition import Suppression, partition
from kpareto.recoding import Recoding
from kpareto.score import Score
from kpareto.search.genitor import Result as Found
from kpareto.search.genitor import genitor, iyengar
from kpareto.search.improve import improve
from kpareto.table import Table
from kpareto.trees import TreeError, tree_error

IDS = tuple(f"IY-r{n}" for n in range(1, 14))
KS = (10, 25, 50, 75, 100, 150, 200, 250, 500)
FEW = (10, 25, 75, 100, 250, 500)  # of a quick run
TREES = (10, 100, 250, 500)  # k of the tables a decision tree learns from
LOSSES = ("cm", "lm")
ANCHOR = (18, 284, 5510, Fraction(198985744, 1095))  # classes, smallest, rows told wrong, sum of cell losses
SEED = 1


@dataclass(frozen=True, eq=False)
class Solution:
    """The best recoding found for one k and one loss, by GENITOR or by recutting, with both numbers."""

    loss: str
    k: int
    genome: np.ndarray
    by_genitor: float  # what GENITOR alone reached
    by_recutting: float
    cm: float
    lm: float
    suppressed: int
    smallest: int

    @property
    def value(self) -> float:
        """What was minimized."""
        return self.cm if self.loss == "cm" else self.lm

    def numbers(self) -> dict[str, object]:
        """For the page's JSON."""
        return {"cm": self.cm, "lm": self.lm, "suppressed": self.suppressed, "smallest": self.smallest,
                "genitor": self.by_genitor, "recutting": self.by_recutting,
                "genome": "".join(map(str, self.genome.tolist()))}  # fmt: skip


Solutions = dict[tuple[str, int], Solution]


def _ks(found: Solutions) -> list[int]:
    """The k that were searched for."""
    return sorted({k for _, k in found})


@dataclass(frozen=True, eq=False)
class Lab:
    """A table and its space."""

    table: Table
    space: Cuts

    def score(self, loss: str, k: int) -> Score:
        """What is minimized."""
        return Score(self.table, self.space, {loss: 1.0}, k)

    def judged(self, loss: str, k: int, genome: np.ndarray, values: tuple[float, float]) -> Solution:
        """Both numbers of a recoding, whichever was minimized (IY-11)."""
        made = partition(self.table, self.space.decode(genome), Suppression("below-k", k=k))
        kept = made.sizes[~made.suppressed]
        both = float(make("cm")(made)), float(make("lm")(made))
        smallest = int(kept.min()) if len(kept) else 0
        return Solution(loss, k, genome, *values, *both, made.suppressed_rows, smallest)

    def solve(self, loss: str, k: int, budget: int, start: np.ndarray | None = None) -> Solution:
        """GENITOR as printed on a budget, and recutting; the better of the two. ``start`` is a recoding to begin with."""
        score = self.score(loss, k)
        bred = genitor(score, budget, SEED, iyengar()) if budget else None
        cut = improve(score, SEED, None if start is None else start[None, :])
        best = cut if bred is None or cut.value <= bred.value else bred
        return self.judged(loss, k, best.genome, (bred.value if bred else float("nan"), cut.value))


def page(quick: bool, say: Say) -> Page:
    """The page on flexible recodings for a use; the quick one has small budgets and fewer trees."""
    made = Page(
        "iyengar",
        "Recodings for a use (KDD 2002)",
        "Iyengar: Transforming Data to Satisfy Privacy Constraints, KDD 2002",
        quick,
        say,
    )
    budget, long = (5_500, 15_000) if quick else (20_000, 500_000)
    made.setting += [
        "157 borders, classes below k are suppressed without a cap, LM is the mean over columns.",
        (
            f"Every k: GENITOR with the paper's settings and {budget:,} evaluations (seed {SEED}), and a search that recuts "
            "one column at a time exactly; the better one is shown. The convergence runs have "
            f"{long:,} evaluations."
        ),
        "The decision tree is scikit-learn's (entropy, pruning chosen inside the folds), not C4.5.",
    ]
    made.seeds |= {"searches": SEED, "folds": 1}
    table = adult_table("iyengar_157")
    lab = Lab(table, make_cuts(table.hierarchies))
    with made.timed("compiling, or loading what was compiled before"):
        for loss in LOSSES:
            genitor(lab.score(loss, 100), 5600, SEED, iyengar())
            improve(lab.score(loss, 100), SEED, restarts=1, patience=1)
    with made.timed("Figures 6 and 7: all k, both losses", "18 h a run", f"{budget:,} evaluations and recutting, each"):
        tasks = [(loss, k) for loss in LOSSES for k in (FEW if quick else KS)]
        found = dict(zip(tasks, each(lambda task: lab.solve(*task, budget), tasks), strict=True))
    with made.timed("Figures 9 and 10: convergence at k = 100", "18 h a run", f"2 × {long:,} evaluations"):
        traces = dict(
            zip(LOSSES, each(lambda loss: genitor(lab.score(loss, 100), long, SEED, iyengar()), LOSSES), strict=True)
        )
    _curves(made, lab, found)
    _anchor(made, lab, found)
    _education(made, lab, found)
    errors = _trees(made, lab, found, TREES[2:3] if quick else TREES, 3 if quick else 10)
    reuse = _reuse(made, lab, found)
    _convergence(made, traces, long)
    _draw(made, found, errors, reuse, traces)
    _errors(made, lab, found)
    _beyond(made, lab, found, (25, 250) if quick else KS)
    made.results.sort(key=lambda result: int(result.id[4:]))
    return made


def _curves(made: Page, lab: Lab, found: Solutions) -> None:
    cm, lm = ([found[loss, k] for k in _ks(found)] for loss in LOSSES)
    genes = len(lab.space.genes)
    told = {loss: ", ".join(f"{found[loss, k].value:.4f}" for k in _ks(found)) for loss in LOSSES}
    numbers = {loss: {str(k): found[loss, k].numbers() for k in _ks(found)} for loss in LOSSES}
    other = [s.lm for s in cm]
    falls = [b < a for a, b in zip([s.cm for s in lm], [s.cm for s in lm][1:], strict=False)]
    made.results += [
        Result("IY-r1", "length of a genome", "157", str(genes), near(genes, 157, 0)),
        Result("IY-r2", "CM minimized, k = 10 … 500", "about 0.18, little change", told["cm"],
               between([s.cm for s in cm], 0.17, 0.19), numbers["cm"]),
        Result("IY-r3", "LM of these", "about 0.8, not monotone", ", ".join(f"{v:.2f}" for v in other),
               claims({f"between 0.6 and 0.9 (here {min(other):.2f} … {max(other):.2f})":
                           min(other) >= 0.6 and max(other) <= 0.9,
                       "not monotone": any(b < a for a, b in itertools.pairwise(other))})),
        Result("IY-r5", "LM minimized, k = 10 … 500", "0.21 … 0.49, rising", told["lm"],
               all_of({"k = 10": near(lm[0].lm, 0.21, 0.03), "k = 500": near(lm[-1].lm, 0.49, 0.01),
                       "rising": claims({"rises with k": all(a.lm < b.lm for a, b in itertools.pairwise(lm))})}),
               numbers["lm"]),
        Result("IY-r6", "CM of these", "0.3 … 0.4, not monotone", ", ".join(f"{s.cm:.3f}" for s in lm),
               all_of({"range": between([s.cm for s in lm], 0.28, 0.45), "shape": claims({"not monotone": any(falls)})})),
    ]  # fmt: skip
    rows = tuple(
        (k, found["cm", k].cm, found["cm", k].by_genitor, found["cm", k].lm, found["lm", k].lm,
         found["lm", k].by_genitor, found["lm", k].cm, found["lm", k].suppressed)
        for k in _ks(found)
    )  # fmt: skip
    columns = ("k", "least CM", "GENITOR alone", "its LM", "least LM", "GENITOR alone", "its CM", "rows suppressed")
    made.sheets.append(Sheet("All k", columns, rows))


def printed_solution(space: Cuts) -> np.ndarray:
    """The recoding printed for k = 250 under CM: age at 39, education after ranks 4 and 7, marital status by its nodes."""
    cuts = []
    for hierarchy in space.hierarchies:
        cut = np.zeros(len(hierarchy.leaves), dtype=np.int32)
        if hierarchy.name == "age":
            cut = (np.array([int(leaf) for leaf in hierarchy.leaves]) > 39).astype(np.int32)
        elif hierarchy.name == "education":
            cut = np.searchsorted([4, 7], np.arange(1, 17), side="left").astype(np.int32)
        elif hierarchy.name == "marital-status":
            cut = hierarchy.groups[hierarchy.height - 1]
        cuts.append(cut)
    return space.encode(Recoding(space.hierarchies, tuple(cuts)))


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
    made.summary.append(("the k = 250 recoding under CM", "k ≥ 250, CM about 0.18, 18 h", f"{wrong}/{lab.table.rows} = "
                         f"{wrong / lab.table.rows:.5f}, LM {lm:.6f}" + (", found again" if same else ""),
                         "Figures 6 and 7: all k, both losses"))  # fmt: skip


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


def _trees(made: Page, lab: Lab, found: Solutions, ks: tuple[int, ...], folds: int) -> dict[tuple[str, int], TreeError]:
    tasks = [(loss, k) for loss in LOSSES for k in ks]
    with made.timed("Figure 8: decision trees", detail=f"{len(tasks)} tables, {folds} folds"):
        told = [tree_error(lab.score(*task).partition(found[task].genome), folds=folds) for task in tasks]
    errors = dict(zip(tasks, told, strict=True))
    cm = [errors["cm", k].recoded for k in ks]
    lm = [errors["lm", k] for k in ks]
    raw, base = told[0].original, told[0].baseline
    made.results += [
        Result("IY-r9", f"decision tree, CM recodings, k = {', '.join(map(str, ks))}", "error 17.3–18.5 %, raw 17.1 %",
               ", ".join(f"{e:.1%}" for e in cm) + f"; raw {raw:.1%}",
               all_of({"recoded": between(cm, 0.163, 0.195), "raw": near(raw, 0.171, 0.01)}),
               {"error": dict(zip(map(str, ks), cm, strict=True)), "raw": raw}),
        Result("IY-r10", "decision tree, LM recodings", "clearly worse; for k ≥ 200 no better than the larger class",
               ", ".join(f"{e.recoded:.1%}" for e in lm) + f"; always the larger class: {base:.2%}",
               claims({"worse than CM's at every k": all(e.recoded > c for e, c in zip(lm, cm, strict=True)),
                       f"within 1 point of {base:.1%} for k ≥ 200":
                           all(abs(e.recoded - base) <= 0.01 for e, k in zip(lm, ks, strict=True) if k >= 200)}),
               {"error": {str(k): e.recoded for k, e in zip(ks, lm, strict=True)}, "larger class": base}),
    ]  # fmt: skip
    return errors


def test_lab(lab: Lab) -> Lab:
    """adult.test in the same space; ages 87 and 89, which adult.data lacks, go to the nearest it has."""
    import pyarrow as pa

    rows = adult("test")
    ages = rows["age"].to_numpy().copy()
    ages[ages == 87], ages[ages == 89] = 88, 90
    rows = rows.set_column(rows.column_names.index("age"), "age", pa.array(ages))
    table = read(rows, adult_schema("iyengar_157"), hierarchies=adult_hierarchies("iyengar_157"), domain="declared")
    return Lab(table, replace(lab.space, hierarchies=table.hierarchies))


Reuse = dict[tuple[str, int], tuple[Solution, Solution]]


def _reuse(made: Page, lab: Lab, found: Solutions) -> Reuse:
    """IY-r11: recodings found on adult.data on adult.test, against recodings found there."""
    with made.timed(
        "Figures 11 and 12: reuse on adult.test",
        "18 h a run",
        "recutting from the stored recoding and from random ones",
    ):
        other = test_lab(lab)
        tasks = list(found)
        fresh = each(lambda task: other.solve(*task, 0, found[task].genome), tasks)
        kept = [other.judged(*task, found[task].genome, (0.0, 0.0)) for task in tasks]
    reuse = {task: pair for task, *pair in zip(tasks, kept, fresh, strict=True)}
    worse = {loss: [reuse[loss, k][0].value / reuse[loss, k][1].value - 1 for k in _ks(found)] for loss in LOSSES}
    extra = [reuse["cm", k][0].suppressed - reuse["cm", k][1].suppressed for k in _ks(found)]
    total = [(reuse["cm", k][0].cm - reuse["cm", k][1].cm) * other.table.rows for k in _ks(found)]
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


def _convergence(made: Page, traces: dict[str, Found], long: int) -> None:
    shares, rising = {}, {}
    for loss, run in traces.items():
        trace = run.trace
        early = trace[np.searchsorted(trace[:, 0], 0.75 * trace[0, 0] + 0.25 * trace[-1, 0]), 1]
        shares[loss] = float((trace[0, 1] - early) / (trace[0, 1] - trace[-1, 1]))
        rising[loss] = bool(trace[-1, 2] > trace[int(len(trace) * 0.9), 2])
    name = "Figures 9 and 10: convergence at k = 100"
    seconds = next(e.seconds for e in made.experiments if e.name == name) / 2
    made.results += [
        Result("IY-r12", f"traces at k = 100, {long:,} evaluations",
               "fast gain early, slow later; distinct recodings still rising at the end",
               "; ".join(f"{loss.upper()}: {shares[loss]:.0%} of the gain in the first quarter, "
                         f"{traces[loss].distinct:,} distinct" for loss in LOSSES),
               claims({"more than half of the gain in the first quarter": min(shares.values()) > 0.5,
                       "distinct recodings rise in the last tenth": all(rising.values())}),
               {"share of the gain": shares, "distinct": {loss: run.distinct for loss, run in traces.items()}}),
        Result("IY-r13", "time of one run", "18 h for 500,000 iterations on a 1 GHz Pentium III",
               f"{seconds:.0f} s of processor time for {long:,} evaluations",
               incomparable(f"another machine; per evaluation {18 * 3600 / 5e5 / (seconds / long):,.0f} times as fast"),
               {"seconds": seconds, "evaluations": long}),
    ]  # fmt: skip
    ours = f"{traces['lm'].value:.4f} in {duration(seconds)}"
    made.summary.append((f"GENITOR, {long:,} evaluations, LM at k = 100", "18 h", ours, name))


def _draw(
    made: Page, found: Solutions, errors: dict[tuple[str, int], TreeError], reuse: Reuse, traces: dict[str, Found]
) -> None:
    both = {(loss, what): [getattr(found[loss, k], what) for k in _ks(found)] for loss in LOSSES for what in LOSSES}

    def two(name: str, title: str, what: str) -> Figure:
        lines = (
            series("CM minimized", _ks(found), both["cm", what]),
            series("LM minimized", _ks(found), both["lm", what]),
        )
        return Figure(name, title, "Best recoding found for each k.", (Panel(what.upper(), "k", what.upper(), lines),))

    ks = sorted({k for _, k in errors})
    raw = next(iter(errors.values())).original
    trees = tuple(series(f"{loss.upper()} minimized", ks, [errors[loss, k].recoded for k in ks]) for loss in LOSSES)
    made.figures += [
        two("iyengar-figure-6", "Figure 6: CM against k", "cm"),
        two("iyengar-figure-7", "Figure 7: LM against k", "lm"),
        Figure("iyengar-figure-8", "Figure 8: error of a decision tree", "Cross-validated; dashed: the rows as they were.",
               (Panel("error", "k", "share of rows told wrong",
                      (*trees, series("raw", [ks[0], ks[-1]], [raw, raw], "dashed"))),)),
    ]  # fmt: skip
    for number, column, title in ((9, 1, "best value so far"), (10, 2, "distinct recodings so far")):
        panels = tuple(Panel(f"{loss.upper()} at k = 100", "evaluations", title,
                             (series("", run.trace[:, 0], run.trace[:, column]),)) for loss, run in traces.items())  # fmt: skip
        made.figures.append(
            Figure(f"iyengar-figure-{number}", f"Figure {number}: {title}", "GENITOR, k = 100.", panels)
        )
    for number, loss in ((11, "cm"), (12, "lm")):
        lines = (series("stored recoding", _ks(found), [reuse[loss, k][0].value for k in _ks(found)]),
                 series("searched on adult.test", _ks(found), [reuse[loss, k][1].value for k in _ks(found)]))  # fmt: skip
        gone = tuple(
            series(line.label, _ks(found), [reuse[loss, k][i].suppressed for k in _ks(found)])
            for i, line in enumerate(lines)
        )
        made.figures.append(
            Figure(f"iyengar-figure-{number}", f"Figure {number}: {loss.upper()} on adult.test",
                   "Recodings found on adult.data, suppression worked out anew, against recodings found on adult.test.",
                   (Panel(loss.upper(), "k", loss.upper(), lines), Panel("suppressed", "k", "rows", gone)))
        )  # fmt: skip


def _errors(made: Page, lab: Lab, found: Solutions) -> None:
    again = lab.judged("cm", 250, printed_solution(lab.space), (0.0, 0.0))
    masked = [(k, found["lm", k].suppressed) for k in _ks(found) if 0 < found["lm", k].suppressed < k]
    most = max(found["lm", k].suppressed / lab.table.rows for k in _ks(found))
    small = found["cm", 10]
    made.findings += [
        Finding("LM", "a sum over columns",
                f"the printed recoding has a sum of {again.lm * 8:.2f} and a mean of {again.lm:.3f}; the figures show "
                "values below 1", again.lm * 8 > 1, "lm is the mean, glm the sum"),
        Finding("suppression", "small classes are suppressed, however many",
                f"the recodings of least LM suppress up to {most:.0%} of the rows", most > 0.1,
                "every number comes with the rows suppressed; rules with a cap are the default"),
        Finding("mask", "suppressed rows stay as rows of stars",
                f"they form a class of their own, smaller than k at k = {', '.join(str(k) for k, _ in masked)}" if masked
                else f"they form a class of their own; in these runs it is never smaller than k (at k = 10 under CM it "
                f"has {small.suppressed} rows)", bool(masked), "`rows = \"mask\"` demands 0 or at least k such rows"),
        Finding("settings", "rank bias, first population and crossover are not told",
                f"with our readings GENITOR alone ends {found['lm', 10].by_genitor / found['lm', 10].lm - 1:+.1%} from the "
                "best LM known at k = 10", True, "settings and seed are in every report"),
    ]  # fmt: skip


def _beyond(made: Page, lab: Lab, found: Solutions, ks: tuple[int, ...]) -> None:
    with made.timed("proven lower bounds on LM", detail=f"{len(ks)} bounds"):
        bounds = each(lambda k: decomposition_bound(lab.score("lm", k), 600, 3), ks)
    rows = tuple((k, found["lm", k].lm, bound.value, f"{bound.gap(found['lm', k].lm):.0%}")
                 for k, bound in zip(ks, bounds, strict=True))  # fmt: skip
    made.sheets.append(
        Sheet("How good the LM values are", ("k", "least LM found", "proven lower bound", "gap at most"), rows)
    )
    better = {
        loss: sum(found[loss, k].by_recutting < found[loss, k].by_genitor - 1e-12 for k in _ks(found))
        for loss in LOSSES
    }
    made.beyond += [
        (f"Recutting one column at a time exactly beats GENITOR's budget at {better['cm']} of {len(_ks(found))} k under CM and at "
        f"{better['lm']} under LM, in about a second each."),
        (f"The least LM at k = {ks[0]} lies between {rows[0][2]:.4f} (proven by sets of columns) and {rows[0][1]:.4f} "
        f"(found), at k = {ks[-1]} between {rows[-1][2]:.4f} and {rows[-1][1]:.4f}: the space of 2^107 recodings is too "
        "large for our proofs to close the gap."),
        "The printed recoding for k = 250 is " + ("the best we know" if found["cm", 250].cm >= 5510 / 30162 - 1e-12 else
        f"not the best: CM {found['cm', 250].cm:.5f} is known") + "; no proof is known that nothing is better.",
    ]  # fmt: skip
