"""Lunacek, Whitley and Ray, GECCO 2006: Figures 4 and 5, two crossovers on trees, three populations, duplicates.

Everything is run under two readings: as the paper describes repair and mutation (LU-r), and with implied borders
(LU-i, readings.md#lu-implied), with an ablation of what the second one changes.
"""

# ruff: noqa: E501  (sentences that stand on a page are kept whole)
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np

from kpareto.searches.bounds import decomposition_bound
from kpareto.searches.compare import rank_test
from kpareto.searches.cuts.genitor import Settings, genitor, imply_borders, lunacek
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import Score
from kpareto.searches.cuts.variation import Crossover, cross, safe_cuts
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import Cuts, make_cuts, read_genome
from kpareto.tables.table import sample_rows
from replication.figures import Boxes, Figure, Panel, series
from replication.page import (
    Page,
    PageLine,
    PaperFinding,
    PaperResult,
    Say,
    Sheet,
    Statement,
    Verdict,
    claims,
    duration,
    each,
)
from replication.tolerances import TOLERANCES, equal_as, every, lower_as, near_as, of_many, same_as
from replication.trials import STEP, Arm, run_arms

IDS = ("LU-r1", "LU-r2", *(f"LU-r3{c}" for c in "abc"), *(f"LU-r4{c}" for c in "abc"), "LU-r5a", "LU-r5b",
       *(f"LU-r6{c}" for c in "abc"), *(f"LU-i3{c}" for c in "abc"), *(f"LU-i4{c}" for c in "abc"), "LU-i5a", "LU-i5b",
       *(f"LU-i6{c}" for c in "abc"))  # fmt: skip
K, ROWS, SAMPLE_SEED = 15, 15_000, 1
OPERATORS: tuple[Crossover, ...] = ("new", "trad")
POPULATIONS = (200, 500, 1000)
MIDDLE = 500  # the population of the ablation
TRIALS = 20  # the caption's number; the text says 15
BUDGET = 30_000
QUICK = (2, 10_000)  # trials and evaluations of a quick run
ABLATED = 10  # trials of each setting of the ablation; a quick run has 2
Reading = Callable[[int, Crossover, bool], Settings]
Arms = dict[tuple[str, int, bool], Arm]  # crossover, population, duplicates


def page(quick: bool, say: Say) -> Page:
    """The page on crossovers; the quick one has fewer and shorter trials."""
    paper = Page("lunacek", "A crossover for trees (GECCO 2006)", "Lunacek, Whitley and Ray, GECCO 2006", quick, say)
    count, budget = QUICK if quick else (TRIALS, BUDGET)
    table = sample_rows(adult_table("lunacek_92"), ROWS, SAMPLE_SEED)
    score = Score(table, make_cuts(table.hierarchies), {"glm": 1.0}, K)
    paper.seeds |= {"rows": SAMPLE_SEED, "trials": list(range(count))}
    _settings(paper, count, budget)
    with paper.timed("compiling, or loading what was compiled before"):
        run_arms(score, [lunacek(), imply_borders()], 1, 1000)
        recut_columns(score, 1, restarts=1, patience=1)
    with paper.timed("Figures 4 and 5: all trials", detail=f"{12 * count} runs of {budget:,} evaluations"):
        printed = _arms(score, lunacek, count, budget)
    with paper.timed("the same with implied borders", detail=f"{12 * count} runs of {budget:,} evaluations"):
        drawn = _arms(score, imply_borders, count, budget)
    with paper.timed("best value known, by recutting columns", detail="2 searches" if quick else "5 searches"):
        best = min(each(lambda seed: recut_columns(score, seed).value, range(1, 3 if quick else 6)))
    _counts(paper, score.space)
    for prefix, arms in (("LU-r", printed), ("LU-i", drawn)):
        _operators(paper, prefix, arms, best)
        _sizes(paper, prefix, arms, best)
        _duplicates(paper, prefix, arms, best)
    _sheet(paper, {"as printed": printed, "implied borders": drawn}, best)
    _ablation(paper, score)
    _draw(paper, printed, drawn, best)
    _errors(paper, score)
    _beyond(paper, score, printed, best)
    new = printed["new", 200, False]
    seconds = next(e.seconds for e in paper.experiments if e.name == "Figures 4 and 5: all trials") / (12 * count)
    paper.summary.append(
        PageLine("NEW, population 200: quartile distance of the loss", "near zero",
             f"{new.spread:,.0f} at a median of {new.median:,.0f}", "not told",
             f"{duration(seconds)} a trial ({budget:,} evaluations)")
    )  # fmt: skip
    return paper


def _settings(paper: Page, count: int, budget: int) -> None:
    paper.setting += [
        (
            f"92 borders, k = {K}, the loss is GLM on {ROWS:,} rows drawn at random (seed {SAMPLE_SEED}); small classes are "
            "suppressed and cost one per cell."
        ),
        (
            f"{count} trials of {budget:,} evaluations per setting; rank bias 1.5 and one child in ten crossed with a fresh "
            "genome, since the paper does not tell its own; TRAD's children are so crossed before they are repaired, and no "
            "bit flips."
        ),
        (
            "LU-r is the paper as it describes itself, with the nearest repair. LU-i is a reading in which invalid strings get "
            "the borders that others imply: in the first population, which is fair coins, and in TRAD's repair, which has no "
            "other mutation; half of NEW's children are crossed with fresh genomes of that kind, and refused duplicates use up "
            "evaluations."
        ),
        (
            "**In the second reading NEW beats TRAD as the paper says; the advantage appears over a weak repair and a missing "
            "mutation, not over the nearest repair that the paper describes.**"
        ),
        "Other readings of what the paper leaves open were tried too: `docs/decisions/0009-readings-of-the-searches-over-cuts.md`.",
    ]


def _arms(score: Score, reading: Reading, count: int, budget: int) -> Arms:
    keys = list(product(OPERATORS, POPULATIONS, (False, True)))
    arms = run_arms(score, [reading(p, o, d) for o, p, d in keys], count, budget)
    return dict(zip(keys, arms, strict=True))


def _counts(paper: Page, space: Cuts) -> None:
    tree = space.hierarchies[1].tree
    strings = 2 ** (len(space.hierarchies[1].leaves) - 1)
    ours = tree.cuts()
    paper.results.append(
        PaperResult("LU-r1", "tree of work class", "9 valid of 128 partitions, −93 %",
               f"{ours} of {strings}, −{1 - ours / strings:.1%}",
               claims({"9 of 128": (ours, strings) == (9, 128)}), {"valid": ours, "strings": strings})
    )  # fmt: skip
    size = math.log2(space.size)
    paper.results.append(
        PaperResult("LU-r2", "recodings of all eight columns", "order of 2^42 instead of 2^92",
               f"2^{size:.2f} instead of 2^{len(space.genes)}", near_as("power", size, 42), {"log2": size})
    )  # fmt: skip


def _operators(paper: Page, prefix: str, arms: Arms, best: float) -> None:
    """LU-r3 and LU-r4: NEW against TRAD without duplicates."""
    pairs = {p: (arms["new", p, False], arms["trad", p, False]) for p in POPULATIONS}
    new, trad = ([pair[place] for pair in pairs.values()] for place in (0, 1))
    faster = {p: (n.converged(best), t.converged(best)) for p, (n, t) in pairs.items()}
    setting = "NEW and TRAD, populations 200, 500, 1000"
    paper.judge(f"{prefix}3", setting, [
        Statement("speed", "NEW converges faster",
             "within 1 % of the best known after "
             + "; ".join(f"{p}: {n.mean():,.0f} and {t.mean():,.0f}" for p, (n, t) in faster.items()),
             lower_as({str(p): pair for p, pair in faster.items()})),
        Statement("mean of the final loss", "NEW has the better mean",
             "; ".join(f"{p}: {n.mean:,.0f} and {t.mean:,.0f}" for p, (n, t) in pairs.items()),
             lower_as({str(p): (n.finals, t.finals) for p, (n, t) in pairs.items()})),
        Statement("spread of NEW", "hardly any",
             "quartiles apart by " + ", ".join(f"{n.spread / best:.2%}" for n in new),
             of_many(len(new[0].finals), _at_most("spread", max(n.spread for n in new) / best))),
    ], {str(p): {"new": n.numbers(), "trad": t.numbers(), "within 1 %": faster[p]}
        for p, (n, t) in pairs.items()})  # fmt: skip
    ends = {p: pairs[p] for p in (200, 1000)}
    middle = pairs[500][1]
    paper.judge(f"{prefix}4", "TRAD", [
        Statement("spread", "wide",
             "quartiles of TRAD and of NEW apart by " + _list_populations(pairs, lambda n, t: f"{t.spread / best:.2%} and {n.spread / best:.2%}"),
             lower_as({str(p): (n.strays, t.strays) for p, (n, t) in pairs.items()})),
        Statement("median at 200 and 1000", "near NEW's",
             "; ".join(f"{p}: {t.median:,.0f}, NEW {n.median:,.0f}" for p, (n, t) in ends.items()),
             every({str(p): equal_as("final", t.finals, n.finals, best, np.median) for p, (n, t) in ends.items()})),
        Statement("median at 500", "near the mean", f"{middle.median:,.0f}, mean {middle.mean:,.0f}",
             of_many(len(middle.finals), same_as("final", [middle.median, middle.mean], best))),
    ], {"standard deviation": {"new": [n.deviation for n in new], "trad": [t.deviation for t in trad]}})  # fmt: skip


def _list_populations(pairs: dict[int, tuple[Arm, Arm]], words: Callable[[Arm, Arm], str]) -> str:
    return "; ".join(f"{p}: {words(n, t)}" for p, (n, t) in pairs.items())


def _at_most(kind: str, amount: float) -> Verdict:
    """Whether an amount is no more than what its kind allows."""
    within = TOLERANCES[kind].within
    return Verdict("matches" if amount <= within else "differs", f"{amount:.2%}, allowed are {within:.1%}")


def _sizes(paper: Page, prefix: str, arms: Arms, best: float) -> None:
    """LU-r5: NEW with three populations. Slow is told by each trial's own end, since not all ends are near the best."""
    new = [arms["new", p, False] for p in POPULATIONS]
    slow, medians = [arm.settled for arm in new], [arm.median for arm in new]
    by = dict(zip(POPULATIONS, new, strict=True))
    paper.judge(f"{prefix}5", "NEW, populations 200, 500, 1000", [
        Statement("speed", "larger is slower", "within 1 % of its own end after " + ", ".join(f"{n.mean():,.0f}" for n in slow),
             lower_as({f"{a} and {b}": (by[a].settled, by[b].settled) for a, b in pairwise(POPULATIONS)})),
        Statement("final value", "no effect of the population: the same optimum at every one",
             "medians " + ", ".join(f"{m:,.0f}" for m in medians),
             every({f"{a} and {b}": equal_as("final", by[a].finals, by[b].finals, best, np.median)
                    for a, b in combinations(POPULATIONS, 2)})),
    ], {"evaluations": slow, "medians": medians})  # fmt: skip


def _duplicates(paper: Page, prefix: str, arms: Arms, best: float) -> None:
    """LU-r6: the same with duplicates allowed."""
    small, clean = arms["new", 200, True], arms["new", 200, False]
    worse = {p: (arms["new", p, True].mean - arms["new", p, False].mean) / best for p in POPULATIONS}
    paper.judge(f"{prefix}6", "NEW, duplicates allowed", [
        Statement("final loss", "worse for small populations", "; ".join(f"{p}: mean {worse[p]:+.2%}" for p in POPULATIONS),
             lower_as({"200": (clean.finals, small.finals)})),
        Statement("speed at 200", "converges early",
             f"last gain after {small.last_gain.mean():,.0f} evaluations, {clean.last_gain.mean():,.0f} where duplicates are refused",
             lower_as({"200": (small.last_gain, clean.last_gain)})),
        Statement("outliers at 200", "one", str(small.outliers),
             of_many(len(small.finals), near_as("count", small.outliers, 1))),
    ], {"mean": worse, "finals": {str(p): arms["new", p, True].finals for p in POPULATIONS}})  # fmt: skip


def _sheet(paper: Page, readings: dict[str, Arms], best: float) -> None:
    rows = tuple(
        (reading, arm.settings.crossover.upper(), arm.settings.population,
         "allowed" if arm.settings.duplicates else "refused", len(arm.finals), float(arm.finals[:15].mean()), arm.mean,
         arm.deviation, arm.median, arm.spread, float(arm.finals.min()), f"{arm.converged(best).mean():,.0f}", f"{arm.settled.mean():,.0f}")
        for reading, arms in readings.items() for arm in arms.values()
    )  # fmt: skip
    columns = ("reading", "crossover", "population", "duplicates", "trials", "mean of the first 15", "mean",
               "standard deviation", "median", "quartile distance", "least", "evaluations to within 1 % of the best known",
               "evaluations to within 1 % of its own end")  # fmt: skip
    paper.sheets.append(Sheet("All settings: loss on 15,000 rows", columns, tuple(
        tuple(f"{cell:,.1f}" if isinstance(cell, float) else cell for cell in row) for row in rows
    )))  # fmt: skip


def _ablation(paper: Page, score: Score) -> None:
    """The reading with implied borders, with one of its parts at a time as the paper describes it."""
    count, budget = (2, 10_000) if paper.quick else (ABLATED, BUDGET)
    changes: dict[str, dict[Crossover, dict[str, object]]] = {
        "as it is": {"trad": {}, "new": {}},
        "repair: nearest": {"trad": {"repair": "nearest"}},
        "start: random": {"trad": {"start": "random"}, "new": {"start": "random"}},
        "mutation: 0.002 a bit": {"trad": {"mutation": 0.002}, "new": {"immigrants": 0.0, "mutation": 0.002}},
        "mutation: one child in ten with a fresh genome": {"trad": {"immigrants": 0.1}, "new": {"immigrants": 0.1}},
        "refused duplicates: not counted": {"trad": {"count_refused": False}, "new": {"count_refused": False}},
    }
    tasks = [(name, operator) for name, by in changes.items() for operator in by]
    settings = [replace(imply_borders(MIDDLE, operator), **changes[name][operator]) for name, operator in tasks]  # type: ignore[arg-type]
    with paper.timed("ablation of implied borders", detail=f"{len(tasks) * count} runs of {budget:,} evaluations"):
        results = dict(zip(tasks, run_arms(score, settings, count, budget), strict=True))
    rows = []
    for name, by in changes.items():
        # What does not concern NEW (it needs no repair) is compared with NEW as it is.
        new = results[name if "new" in by else "as it is", "new"]
        trad = results[name, "trad"]
        rows.append((name, f"{trad.mean:,.0f} ± {trad.deviation:,.0f}", f"{new.mean:,.0f} ± {new.deviation:,.0f}",
                     f"{(new.mean - trad.mean) / trad.mean:+.2%}", f"{rank_test(new.finals, trad.finals).p:.2g}"))  # fmt: skip
    columns = ("what is changed", "TRAD", "NEW", "NEW against TRAD", "p")
    title = f"Ablation of the reading with implied borders (population {MIDDLE}, {count} trials each)"
    paper.sheets.append(Sheet(title, columns, tuple(rows)))


def _draw(paper: Page, printed: Arms, drawn: Arms, best: float) -> None:
    for number, duplicates, words in ((4, False, "refused"), (5, True, "allowed")):
        panels = []
        for reading, arms in (("as printed", printed), ("implied borders", drawn)):
            panels += _panels(reading, [arm for arm in arms.values() if arm.settings.duplicates is duplicates], best)
        paper.figures.append(
            Figure(f"lunacek-figure-{number}", f"Figure {number}: duplicates {words}",
                   f"Mean of the best so far, and the final losses of {len(printed['new', 200, False].finals)} trials; above as "
                   "printed, below with implied borders.", tuple(panels))
        )  # fmt: skip


def _panels(reading: str, chosen: Sequence[Arm], best: float) -> list[Panel]:
    at = np.arange(1, chosen[0].curves.shape[1] + 1) * STEP
    flat = series("best known", [at[0], at[-1]], [best, best], "dashed", 6)
    top = float(np.percentile(np.concatenate([arm.curves[:, 4:].ravel() for arm in chosen]), 97))
    shown = []
    for place, arm in enumerate(chosen):
        mean = arm.curves.mean(axis=0)
        shown.append(series(arm.name, at[mean <= top], mean[mean <= top], "line", place))
    unit = "GLM (sum of cell losses, 15,000 rows)"
    boxes = Boxes(tuple(arm.name for arm in chosen), tuple(tuple(np.round(arm.finals, 3).tolist()) for arm in chosen))
    return [
        Panel(f"mean best loss so far, {reading}", "evaluations", unit, (*shown, flat)),
        Panel(f"final loss, {reading}", "crossover and population", unit, boxes=boxes),
    ]


def _errors(paper: Page, score: Score) -> None:
    """Errors of the paper (readings.md#lu-readings), each counted again."""
    with paper.timed("errors put to the test"):
        work = make_cuts([score.space.hierarchies[1]])
        three, four = (read_genome(text)[None, :] for text in ("0110111", "0111111"))
        valid = (bool(work.valid(three)[0]), bool(work.valid(four)[0]))
        every = np.array(list(product((0, 1), repeat=7)))
        legal = every[work.valid(every)]
        rng, broken, pairs = np.random.default_rng(1), 0, 0
        for one, two in product(legal, legal):
            children, _ = cross(
                work, np.repeat(one[None, :], 20, axis=0), np.repeat(two[None, :], 20, axis=0), rng, "new"
            )
            broken, pairs = broken + int((~work.valid(children)).sum()), pairs + 1
        none = sum(not safe_cuts(work, a, b) for a, b in product(legal, legal))
        distinct = adult_table("iyengar_157").distinct
        first, second = "1011010111", "1000100111"
        child = first[:3] + second[3:5] + first[5:]
        cells = np.array([3, 2, 5])
        bits = {h.name: len(h.leaves) - 1 for h in score.space.hierarchies}
        free = sum(bits[name] for name in ("age", "race", "sex", "occupation"))
    paper.findings += [
        PaperFinding("rows", "30,162 unique rows", f"the complete rows have {distinct:,} distinct combinations",
                distinct < 30_162, "rows are rolled up to distinct ones before any search"),
        PaperFinding("TRAD's example", "the cut lies between the fourth and fifth bit",
                f"the printed child 0110111 is a cut after the third bit (valid: {valid[0]}); after the fourth it is "
                f"0111111 (valid: {valid[1]})", not valid[0] and valid[1], "`cross` with its tests"),
        PaperFinding("ten-bit example", "x stands for 0",
                f"with the letters exchanged the child is {child}", child == "1010110111",
                "genomes are written with 0 and 1"),
        PaperFinding("formula of the loss", "Σ P − 1", f"for groups of 3, 2 and 5 leaves Σ P − 1 is {cells.sum() - 1}, and "
                f"Σ (P − 1), which is meant, {(cells - 1).sum()}", bool(cells.sum() - 1 != (cells - 1).sum()),
                "the formula stands once, with its denominators"),
        PaperFinding("age", "its cells are not told",
                f"an example has seven (20 … 80); {bits['age']} bits make {free} in the four free columns, as printed, and "
                f"{sum(bits.values())} in all", (bits["age"], free, sum(bits.values())) == (6, 24, 92),
                "cells are declared in the schema"),
        PaperFinding("weight of columns", "columns with few values are penalized more for the same merge",
                f"true: joining two values costs a row {1 / bits['sex']:.2f} in sex and "
                f"{1 / bits['native-country']:.3f} in country", bits["sex"] < bits["native-country"],
                "weights per column, and the loss of each column in every report"),
        PaperFinding("closure of NEW", "children are always valid",
                f"{broken} invalid children of {pairs * 20:,} from all {pairs} pairs of cuts of work class: true; but "
                f"{none} pairs share no place to cut", broken == 0,
                "`hybrid` also cuts between columns and inside free ones"),
        PaperFinding("trials", "15 in the text, 20 in the caption", f"{TRIALS} are run and both means are in the table",
                TRIALS == 20, "seeds are listed"),
    ]  # fmt: skip


def _beyond(paper: Page, score: Score, arms: Arms, best: float) -> None:
    with paper.timed("proven lower bound", detail="sets of up to 3 columns with at most 600 cuts"):
        bound = decomposition_bound(score, 600, 3)
    hits = {
        arm.name: float((arm.finals <= best * (1 + 1e-9)).mean())
        for arm in arms.values()
        if not arm.settings.duplicates
    }
    with paper.timed(
        "hybrid crossover, population 500", detail="1 run" if paper.quick else "4 runs of 30,000 evaluations"
    ):
        hybrid = each(
            lambda seed: genitor(score, 30_000, seed, lunacek(500, "hybrid")).value, range(1 if paper.quick else 4)
        )
    lost = score.partition(recut_columns(score, 1).genome).suppressed_rows
    paper.beyond += [
        (
            f"The least GLM known is {best:,.2f}, found by recutting one column at a time exactly in "
            f"{paper.spent('best value known, by recutting columns')} of processor time for all searches; its recoding "
            f"suppresses {lost:,} of {ROWS:,} rows."
        ),
        "The share of trials that reach it: " + ", ".join(f"{name} {share:.0%}" for name, share in hits.items()) + ".",
        (
            f"A crossover that also cuts between columns and inside ordered ones (`hybrid`) ends at {np.mean(hybrid):,.0f} "
            "on average and needs no repair either."
        ),
        (
            f"No recoding of these columns can have less than {bound.value:,.0f} (proven by sets of columns); the proof "
            f"leaves a gap of {bound.gap(best):.0%} of the value known."
        ),
    ]
