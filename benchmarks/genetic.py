"""Benchmarks of the genetic searches: the papers' whole budgets, everything included but compiling.

Each line also says how the processor time divides between counting recodings and everything else: ranking, crossover,
mutation, repair, the memo of what was seen, the archive.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from benchmarks.clock import Line, best, peak_bytes
from kpareto.fronts.front import Front
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, problem
from kpareto.searches.cuts.genitor import Result, Settings, genitor, iyengar, lunacek
from kpareto.searches.cuts.nsga2 import Nsga2, Preference
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import Score
from kpareto.searches.cuts.variation import Crossover
from kpareto.searches.run import run
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts, make_order
from kpareto.tables.lattice import Space
from kpareto.tables.partition import Suppression
from kpareto.tables.table import sample_rows

ANNEALED = {10: 0.2347, 50: 0.3425, 250: 0.4430}  # least LM found by annealing (readings.md#annealed), for the notes


def _genitor(score: Score, budget: int, settings: Settings, bar: str, quick: bool) -> list[Line]:
    last: list[Result] = []

    def work() -> None:
        last[:] = [genitor(score, budget, 1, settings)]

    genitor(score, settings.population + 500, 1, settings)  # loads compiled code, but does not take minutes
    took = best(work, 1, warm=False)
    answer = last[0]
    loss = next(iter(score.losses))
    other = best(lambda: replay(score, budget, settings, answer), 1, warm=False).cpu
    note = f"{loss} {answer.value:.6g} at k = {score.k}; " + _divide(
        took.cpu - other, answer.distinct, other, int(answer.state["tallies"][2])
    )
    what = f"GENITOR, {budget:,} evaluations, {len(score.space.genes)} bits, {loss}"
    return [Line(what, took, budget, "evaluations", False, 1, "" if quick else bar, note, peak_bytes())]


def replay(score: Score, budget: int, settings: Settings, done: Result) -> Result:
    """A run again whose memo knows every score beforehand, so that all but the scoring is done, step for step.

    Roll-ups of the table are made for the scoring, once for each chunk of children; here chunks are so long that there
    are hardly any.
    """
    begun = genitor(score, settings.population, 1, settings).state
    inside = np.zeros_like(done.state["inside"])
    inside[: len(begun["population"])] = 1
    tallies = begun["tallies"].copy()
    tallies[0] = done.distinct
    memo = {name: done.state[name] for name in ("packed", "known", "table")}
    with patch("kpareto.searches.cuts.genitor.CHUNK", max(500, budget // 10)):
        return genitor(score, budget, 1, settings, resume={**begun, **memo, "inside": inside, "tallies": tallies})


def counting(work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of some work on a Problem: counting recodings, and everything else."""
    spent = [0.0]
    evaluate = Problem.evaluate

    def timed(self: Problem, space: Space, genomes: np.ndarray, threads: int | None = None) -> Numbers:
        began = time.process_time()
        numbers = evaluate(self, space, genomes, threads)
        spent[0] += time.process_time() - began
        return numbers

    with patch.object(Problem, "evaluate", timed):
        began = time.process_time()
        work()
        total = time.process_time() - began
    return spent[0], total - spent[0]


def _divide(counted: float, recodings: int, other: float, children: int) -> str:
    """How processor time divides; a child that was seen before costs the second part only."""
    return (
        f"counting {counted:.2f} s of CPU ({recodings:,} distinct recodings, {1e6 * counted / recodings:.0f} µs each), "
        f"everything else {other:.2f} s ({children:,} children, {1e6 * other / children:.1f} µs each), "
        f"{other / max(counted, 1e-9):.2f} x the counting"
    )


def genitor_30000(quick: bool) -> list[Line]:
    """Lunacek's budget on 15,000 rows, one line per crossover (LU-7, LU-8)."""
    table = sample_rows(adult_table("lunacek_92"), 15_000, 0)
    score = Score(table, make_cuts(table.hierarchies), {"glm": 1}, 15)
    budget = 1_000 if quick else 30_000
    lines = []
    crossovers: tuple[Crossover, ...] = ("new", "trad", "hybrid")
    for crossover in crossovers:
        settings = lunacek(200, crossover)
        (line,) = _genitor(score, budget, settings, "genitor-30000", quick)
        lines.append(replace(line, work=f"{line.work}, {crossover}"))
    return lines


def _iyengar(loss: str, quick: bool) -> list[Line]:
    table = adult_table("iyengar_157")
    score = Score(table, make_cuts(table.hierarchies), {loss: 1}, 100)
    settings = Settings(200, "trad") if quick else iyengar()
    return _genitor(score, 1_000 if quick else 500_000, settings, "genitor-500000", quick)


def genitor_500000_lm(quick: bool) -> list[Line]:
    """Iyengar's budget for LM on all rows (IY-9)."""
    return _iyengar("lm", quick)


def genitor_500000_cm(quick: bool) -> list[Line]:
    """Iyengar's budget for CM on all rows (IY-9)."""
    return _iyengar("cm", quick)


def nsga2_50000(quick: bool) -> list[Line]:
    """Dewri's budget: 500 generations of 100, k wished for 5 (GE-6)."""
    table = adult_table("dewri_gecco09_105")
    space = make_order(table.hierarchies)
    judged = problem(table, ["k", "nwp", "necd"], Suppression("none"))
    generations = 5 if quick else 500
    seeds = np.zeros((1, len(space.genes)), dtype=np.int64)
    last: list[Front] = []

    def work() -> None:
        search = Nsga2(mutation=0.001, preference=Preference((0.2, 1.0), 5), seeds=seeds, generations=generations)
        last[:] = [run(judged, space, search, None, 1)]
        last[0].prefer(k=5, nwp=0.2, necd=1.0)

    repeats = 1 if quick else 3
    took = best(work, repeats)
    counted, other = min((counting(work) for _ in range(repeats)), key=sum)
    front = last[0]
    note = f"nwp {front.prefer(k=5, nwp=0.2, necd=1.0).values['nwp']:.4f}; " + _divide(
        counted, front.provenance.evaluated, other, 100 * (generations + 1)
    )
    what = f"NSGA-II, {100 * generations:,} evaluations, {len(space.genes)} bits"
    bar = "" if quick else "nsga2-50000"
    return [Line(what, took, 100 * generations, "evaluations", False, 2, bar, note, peak_bytes())]


def improve_lm(quick: bool) -> list[Line]:
    """Recutting for LM on all rows, beside what annealing found."""
    table = adult_table("iyengar_157")
    space = make_cuts(table.hierarchies)
    lines = []
    for k, known in list(ANNEALED.items())[: 1 if quick else None]:
        answers: list[Result] = []
        score = Score(table, space, {"lm": 1}, k)
        recut_columns(score, 1, restarts=1, patience=0)

        def work(score: Score = score, answers: list[Result] = answers) -> None:
            answers[:] = [recut_columns(score, 1, restarts=1 if quick else 6, patience=2 if quick else 60)]

        took = best(work, 1, warm=False)
        note = f"lm {answers[0].value:.4f}, by annealing {known}"
        lines.append(
            Line(
                f"recutting, 157 bits, k = {k}",
                took,
                answers[0].evaluations,
                "columns",
                False,
                1,
                "",
                note,
                peak_bytes(),
            )
        )
    return lines
