"""Wishes that no recoding can meet, told from the table alone: each is a sentence before anything is searched.

What is refused is impossible for every recoding, of every model, with every suppression that the rule allows; the
argument stands in ``measures/reach.py``. What is not refused may still be met by none, which only a search can tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kpareto.errors import BadJob
from kpareto.fronts.problem import Problem
from kpareto.measures.measure import Measure, make, meets
from kpareto.tables.spelling import several
from kpareto.tables.table import Table

DIGITS = 4  # of a number that is told, rounded to the side that is possible
SLACK = 1e-9  # relative, of sums over many rows


def check_possible(problem: Problem, chosen: Mapping[str, float] | None = None) -> None:
    """Raise where a limit, or what is chosen beside the limits, can be met by no recoding of the table.

    What a sample lacks the table may have, so that nothing is refused on one.
    """
    if problem.table.sample is not None:
        return
    spare = spare_rows(problem)
    asked = [("limit", measure, limit) for measure, limit in problem.limits]
    asked += [("choice", make(name), limit) for name, limit in (chosen or {}).items()]
    for word, measure, limit in asked:
        if sentence := say_impossible(problem.table, measure, limit, spare, word):
            raise BadJob(sentence)


def spare_rows(problem: Problem) -> int:
    """The most rows that may be suppressed while one is left."""
    rows, suppression = problem.table.rows, problem.suppression
    if suppression.rule == "none":
        return 0
    most = rows if suppression.rule == "below-k" else suppression.allowed(rows)
    return min(most, rows - 1)


def say_impossible(table: Table, measure: Measure, limit: float, spare: int = 0, word: str = "limit") -> str:
    """Why no recoding meets a limit, and the best value that is possible; nothing where one may."""
    reach = getattr(measure, "reach", None)
    if reach is None or table.rows == 0:
        return ""
    best = reach(table, spare).best
    slack = SLACK * max(1.0, abs(best)) if math.isfinite(best) else 0.0
    if bool(meets(measure.better, best + slack if measure.better == "higher" else best - slack, limit)):
        return ""
    sure = reach(table, 0)  # of the recoding in which every quasi-identifier is hidden
    begin = f"The {word} {measure.name} = {_spell_limit(limit)} cannot be met: {sure.why}"
    if math.isinf(best):
        return f"{begin}, too few for it. Take it out, or ask for less of another kind."
    higher = measure.better == "higher"
    if not sure.reached:
        return f"{begin}, so no {measure.name} above {_spell(best, not higher)} is possible. Ask for less."
    possible = _spell(sure.best, higher)
    if math.isclose(best, sure.best):
        ends = ("largest", "less") if higher else ("least", "more")
        return f"{begin}, so {possible} is the {ends[0]} {measure.name} that is possible. Ask for that or {ends[1]}."
    beyond, more = ("above", "less") if higher else ("below", "more")
    return (
        f"{begin}, so no {measure.name} {beyond} {_spell(best, not higher)} is possible, even without the "
        f"{several(spare, 'row')} that may be suppressed; {possible} is. Ask for that or {more}."
    )


def _spell_limit(limit: float) -> str:
    """A limit as a person wrote it, a whole number in full."""
    return f"{limit:,.0f}" if float(limit).is_integer() else f"{limit:,.6g}"


def _spell(value: float, down: bool) -> str:
    """A number in a few digits, rounded down or up."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    step = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    rounded = math.floor(value / step + SLACK) if down else math.ceil(value / step - SLACK)
    return f"{rounded * step:,.{DIGITS}g}"
