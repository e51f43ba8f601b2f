"""How near a table comes to limits that no recoding meets."""

from __future__ import annotations

from kpareto.fronts.problem import Problem
from kpareto.measures.measure import Model, meets
from kpareto.tables.partition import classes
from kpareto.tables.recoding import top

NO_POINT = "No recoding meets the limits. Relax them, or allow more suppression."


def say_nearest(problem: Problem) -> str:
    """A sentence for a front without a point: what the table reaches where every quasi-identifier is hidden.

    Models only improve as classes merge, so nothing that keeps all rows comes nearer.
    """
    hidden = classes(problem.table, top(problem.table.hierarchies))
    missed = []
    for measure, limit in problem.limits:
        reached = measure(hidden)
        if isinstance(measure, Model) and not bool(meets(measure.better, reached, limit)):
            missed.append(f"{measure.name} is {reached:,.4g}, and {limit:,.4g} is asked for")
    if missed:
        return f"{NO_POINT} Even where every quasi-identifier is hidden, {'; '.join(missed)}."
    return f"{NO_POINT} Where every quasi-identifier is hidden the limits on classes are met, so others are in the way."
