"""Every trade-off of a table in one call, for Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kpareto.errors import BadInput
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem as make_problem
from kpareto.jobs.default_hierarchies import complete_hierarchies
from kpareto.jobs.job import Job
from kpareto.jobs.search import search_job, search_problem
from kpareto.measures.measure import Measure
from kpareto.searches.names import METHODS
from kpareto.searches.run import Plan
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table


def front(  # noqa: PLR0913 (what a job says, as keywords)
    table: Table | Job,
    hierarchies: Mapping[str, Hierarchy] | Sequence[Hierarchy] | None = None,
    objectives: Sequence[str | Measure] | str | Measure = ("k", "glm"),
    suppression: Suppression | float = 0.0,
    limits: Mapping[str, float] | None = None,
    method: str = "exact",
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Front:
    """Every trade-off the table allows: exact over the lattice by default, with proof that none is missing.

    A column that nobody has given a hierarchy gets one by its values, and ``front.problem.table.remarks`` says which;
    ``{"age": {"flat": True}}`` given to ``read`` keeps it as a whole. ``suppression`` is a rule, or a bare number: the
    share (below 1) or number of rows that may be suppressed, at every threshold just those that it needs (the rule
    as-needed). Other methods walk larger spaces without a proof, by settings (``options``) such as a job has
    them; ``run`` lets them have a budget, progress and a checkpoint. Instead of a table, a Job says all of it, such as
    ``inspect(frame).job``.
    """
    if isinstance(table, Job):
        return search_job(table)
    if not isinstance(table, Table):
        raise BadInput(
            f"front takes a Table or a Job, not {type(table).__name__}. Make one with kpareto.read(source, "
            "kpareto.Schema(…)), or take kpareto.inspect(source).job."
        )
    bound = complete_hierarchies(table if hierarchies is None else table.bind(hierarchies))
    problem = make_problem(bound, objectives, suppression, limits)
    return search_problem(problem, Plan(method, METHODS.get(method, ("lattice",))[0], seed=seed, options=options or {}))
