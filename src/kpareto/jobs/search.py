"""Search what a job says: the one way from a job to its front, for the command line, Python, the page and reports."""

from __future__ import annotations

from pathlib import Path

from kpareto.errors import Interrupted, Progress
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem
from kpareto.jobs.job import Job
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
    front = run_plan(problem or job.problem(), plan, report, checkpoint, watch)
    if front.provenance.stopped:
        raise Interrupted("Stopped before the search was done, so nothing was written.")
    return front


def checkpoint_of(path: str) -> Path:
    """Where a search that is stopped keeps what it knows: beside its job file."""
    return Path(path).parent / f"{Path(path).stem}.checkpoint.npz"
