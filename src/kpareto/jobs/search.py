"""Search what a job says: the one way from a job to its front, for the command line, Python, the page and reports."""

from __future__ import annotations

from pathlib import Path

from kpareto.errors import Interrupted, Progress, Unsafe
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem
from kpareto.jobs.job import Job
from kpareto.jobs.nearest import say_nearest
from kpareto.searches.course import Watch
from kpareto.searches.run import Plan, run_plan


def plan_of(job: Job) -> Plan:
    """What the job says under [search], beside its objectives; a search that cannot walk its space is a sentence."""
    plan = Plan(job.method, job.space, job.budget, job.seed, job.options)
    plan.check()
    return plan


def search_job(
    job: Job,
    problem: Problem | None = None,
    report: Progress | None = None,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
) -> Front:
    """The front of a job; its table is read unless the problem is at hand.

    The search is the one that the method names, compiled where it can be, with the same budget and the same bounds
    whoever asks. Equal jobs give equal fronts, but for the seconds they took. ``report`` is told what is done and may
    raise Stopped; ``watch`` is told the numbers of recodings as they are met. A search that is stopped (so or by
    Ctrl-C) goes on from its checkpoint the next time (raised as Cancelled, with the front so far); without a checkpoint
    nothing is handed out.
    """
    plan = plan_of(job)
    front = search_problem(problem or job.problem(), plan, report, checkpoint, watch)
    if front.provenance.stopped:
        raise Interrupted("Stopped before the search was done, so nothing was written.")
    return front


def search_problem(
    problem: Problem,
    plan: Plan,
    report: Progress | None = None,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
) -> Front:
    """The front of a plan with at least one point, unless somebody stopped it.

    A limit that no recoding can meet is told before the search; where none is found that meets all limits, those that
    are in the way are told after it.
    """
    try:
        front = run_plan(problem, plan, report, checkpoint, watch)
    except Unsafe as error:
        raise Unsafe(say_nearest(problem, complete=False)) from error
    if len(front) == 0 and not front.provenance.stopped:
        raise Unsafe(say_nearest(problem, front.provenance.complete))
    return front


def checkpoint_of(path: str) -> Path:
    """Where a search that is stopped keeps what it knows: beside its job file."""
    return Path(path).parent / f"{Path(path).stem}.checkpoint.npz"
