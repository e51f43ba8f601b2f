"""Why a search has found no recoding that meets the limits: which of them is in the way, and what it can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kpareto.fronts.problem import Problem
from kpareto.measures.measure import Measure, Model, meets
from kpareto.searches.exact_front import exact_front
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression, classes
from kpareto.tables.recoding import bottom, top

COUNTED = 500_000_000  # nodes times distinct rows that are counted whole for one sentence: about half a second
RELAX = "Relax one of them, or allow more suppression."


def say_nearest(problem: Problem, complete: bool = True) -> str:
    """A sentence for a front without a point; complete: every recoding of the space was looked at.

    For each limit the best that it comes to by whole levels, by itself or where the others are met.
    """
    names = ", ".join(f"{measure.name} = {limit:,.4g}" for measure, limit in problem.limits)
    which = "No recoding" if complete else "No recoding that was looked at"
    begin = f"{which} meets the limits {names}" if names else f"{which} leaves any row, with what may be suppressed"
    missed = [told for place in range(len(problem.limits)) if (told := _say_alone(problem, place))]
    if not missed and _is_quick(problem):
        missed = [told for place in range(len(problem.limits)) if (told := _say_beside(problem, place))]
    return f"{begin}: {'; '.join(missed)}. {RELAX}" if missed else f"{begin}. {RELAX}"


def _is_quick(problem: Problem) -> bool:
    return len(problem.limits) > 1 and Lattice(problem.table.hierarchies).size * problem.table.distinct <= COUNTED


def _say_alone(problem: Problem, place: int) -> str:
    """That a limit is missed by itself, where nothing is suppressed; nothing where it is met."""
    measure, limit = problem.limits[place]
    table, ends = problem.table, (top,) if isinstance(measure, Model) else (top, bottom)
    best = _best(measure, [measure(classes(table, end(table.hierarchies))) for end in ends])
    return "" if _is_met(measure, best, limit) else f"by itself {measure.name} comes to {best:,.4g}"


def _say_beside(problem: Problem, place: int) -> str:
    """What a limit comes to where the others are met, by the exact search over whole levels."""
    measure, limit = problem.limits[place]
    others = without_limit(problem, place)
    if others is None:
        return ""
    front = exact_front(others, "one")
    if len(front) == 0:
        return ""
    best = _best(measure, front.numbers.values[:, 0].tolist())
    return "" if _is_met(measure, best, limit) else f"where the others are met, {measure.name} comes to {best:,.4g}"


def _is_met(measure: Measure, value: float, limit: float) -> bool:
    return bool(meets(measure.better, value, limit))


def _best(measure: Measure, values: Sequence[float]) -> float:
    return max(values) if measure.better == "higher" else min(values)


def without_limit(problem: Problem, place: int) -> Problem | None:
    """The problem that optimizes one of its limits under the others; None where its rule cannot be had without it."""
    rest = tuple(each for number, each in enumerate(problem.limits) if number != place)
    rule = problem.suppression
    if rule.fails:
        if len(rule.fails) != len(problem.limits):
            return None  # a user's own class-wise rule
        fails = tuple(each for number, each in enumerate(rule.fails) if number != place)
        rule = replace(rule, fails=fails) if fails else Suppression("none")
    return replace(problem, objectives=(problem.limits[place][0],), suppression=rule, limits=rest)
