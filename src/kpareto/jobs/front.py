"""From a table or a job to its front: the one way for Python, the command line, the page and reports.

``front`` is every trade-off of a table in one call; ``search_job`` searches what a job says; ``search_for_choice``
searches on where a choice asks for a k that a local front has not been searched for, and ``for_choice`` is the job that
searches for its choice alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from kpareto.atomic import write_whole
from kpareto.errors import BadInput, BadJob, Interrupted, Progress, Remedy, Unsafe
from kpareto.fronts.choose import choose_point, read_wish
from kpareto.fronts.front import Front, Point, load_front
from kpareto.fronts.json_file import FRONT
from kpareto.fronts.picture import RECOMMENDED
from kpareto.fronts.problem import Problem
from kpareto.fronts.problem import problem as make_problem
from kpareto.interrupts import OutOfTime, TimeLimit, out_of_sight, pause
from kpareto.jobs.job import Job
from kpareto.kernels.compiling import working
from kpareto.measures.measure import Measure, Model, make, meets
from kpareto.searches.driver import Watch
from kpareto.searches.exact_front import exact_front
from kpareto.searches.forecast import check_possible, warn_slow
from kpareto.searches.names import METHODS
from kpareto.searches.run import Plan, run_plan
from kpareto.strict import anything, read_json
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression, classes
from kpareto.tables.recoding import bottom, top
from kpareto.tables.spelling import spell_infinite
from kpareto.tables.table import Table

COUNTED = 500_000_000  # nodes times distinct rows that are counted whole for one sentence: about half a second
MORE, GRACE = 1.1, 2.0  # what reading may take of the time that a job gives: so many times, and seconds more
RELAX = "Relax one of them, or allow more suppression."


def front(  # noqa: PLR0913 (what a job says, as keywords)
    table: Table | Job,
    hierarchies: Mapping[str, Hierarchy] | Sequence[Hierarchy] | None = None,
    objectives: Sequence[str | Measure] | str | Measure = ("k", "glm"),
    suppression: Suppression | float = 0.0,
    limits: Mapping[str, float] | Mapping[str | Measure, float] | None = None,
    method: str = "exact",
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Front:
    """Every trade-off the table allows: exact over the lattice by default, with proof that none is missing.

    Parameters
    ----------
    table : Table or Job
        The rows; a Job says all of the rest too, such as ``inspect(frame).job``.
    hierarchies : mapping of str to Hierarchy or sequence of Hierarchy, optional
        Other ones than the table has. A column that nobody has given a hierarchy gets one by its values, and
        ``front.problem.table.remarks`` says which; ``{"age": {"flat": True}}`` given to ``read`` keeps it as a whole.
    objectives : str, Measure or sequence of these, optional
        What is to be as good as possible.
    suppression : Suppression or float, optional
        A rule, or a bare number: the share (below 1) or number of rows that may be suppressed, at every threshold just
        those that it needs (the rule as-needed).
    limits : mapping of str or Measure to float, optional
        Thresholds on measures by name that every point meets.
    method : str, optional
        Other methods than exact walk larger spaces without a proof; ``run`` lets them have a budget, progress and a
        checkpoint.
    seed : int, optional
        Decides every random choice.
    options : mapping, optional
        Settings of the method such as a job has them.

    Returns
    -------
    Front
        The points, none of which is better than another in everything.

    Raises
    ------
    BadInput
        If a measure, a method or a setting is not known, or a limit is one that no recoding can meet.
    Unsafe
        If no recoding meets all limits together; the sentence says which are in the way.
    Interrupted
        If the user stopped the search of a Job.

    Examples
    --------
    >>> import kpareto as kp
    >>> front = kp.front(kp.adult_table(), objectives=["k", "lm"], suppression=0.01)
    >>> front
    Front(41 points, objectives k, lm, exact, complete)
    >>> front.choose(k=5)
    Point(4: k = 5, lm = 0.266028)
    """
    if isinstance(table, Job):
        plan, began = plan_of(table), working()
        problem = read_in_time(table)
        warn_slow(problem, plan.way, plan.evaluations, plan.kind)
        return search_job(table, problem, since=began)
    if not isinstance(table, Table):
        raise BadInput(
            f"front takes a Table or a Job, not {type(table).__name__}. Make one with kpareto.read(source, "
            "kpareto.Schema(…)), or take kpareto.inspect(source).job."
        )
    from kpareto.jobs.proposals import complete_hierarchies  # which loads what looks at tables

    bound = complete_hierarchies(table if hierarchies is None else table.bind(hierarchies))
    problem = make_problem(bound, objectives, suppression, limits)
    plan = Plan(method, METHODS.get(method, ("lattice",))[0], seed=seed, options=options or {})
    plan.check()
    warn_slow(problem, method, plan.evaluations, plan.kind)
    return search_problem(problem, plan)


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
    since: float | None = None,
) -> Front:
    """The front of a job; its table is read unless the problem is at hand.

    ``since`` is when its time began, by ``working``: reading takes of the time that a job gives its search.

    The search is the one that the method names, compiled where it can be, with the same budget and the same bounds
    whoever asks. Equal jobs give equal fronts, but for the seconds they took. ``report`` is told what is done and may
    raise Stopped; ``watch`` is told the numbers of recodings as they are met. A search that is stopped (so or by
    Ctrl-C) goes on from its checkpoint the next time (raised as Cancelled, with the front so far); without a checkpoint
    nothing is handed out.
    """
    plan, began = plan_of(job), working() if since is None else since
    front = search_problem(problem or read_in_time(job), plan, report, checkpoint, watch, began)
    if front.provenance.stopped:
        raise Interrupted("Stopped before the search was done, so nothing was written.")
    return front


def read_in_time(job: Job, report: Progress | None = None) -> Problem:
    """The job with its table, unless reading alone takes more than the time that its search may take."""
    seconds = job.options.get("seconds")
    limit = TimeLimit(None if seconds is None else MORE * seconds + GRACE, working)

    def tell(done: int, total: int) -> None:
        if report is not None:
            report(done, total)
        pause()

    try:
        with limit.watching():
            return job.problem(progress=tell)
    except OutOfTime:
        raise BadJob(
            f"The {seconds:g} seconds were up before the table was read, so nothing was searched.",
            remedy=Remedy("set-time", "Give it more time, or a sample of the rows."),
        ) from None


def search_problem(
    problem: Problem,
    plan: Plan,
    report: Progress | None = None,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
    since: float | None = None,
) -> Front:
    """The front of a plan with at least one point, unless somebody stopped it.

    A limit that no recoding can meet is told before the search; where none is found that meets all limits, those that
    are in the way are told after it.
    """
    try:
        front = run_plan(problem, plan, report, checkpoint, watch, since)
    except Unsafe as error:
        raise Unsafe(say_nearest(problem, complete=False)) from error
    if len(front) == 0 and not front.provenance.stopped:
        raise Unsafe(say_nearest(problem, front.provenance.complete))
    return front


def checkpoint_of(path: str) -> Path:
    """Where a search that is stopped keeps what it knows: beside its job file."""
    return Path(path).parent / f"{Path(path).stem}.checkpoint.npz"


# -- why there is none -------------------------------------------------------------------------------------------------


def say_nearest(problem: Problem, complete: bool = True) -> str:
    """A sentence for a front without a point; complete: every recoding of the space was looked at.

    For each limit the best that it comes to by whole levels, by itself or where the others are met.
    """
    names = ", ".join(f"{measure.name} = {limit:,.4g}" for measure, limit in problem.limits)
    which = "No recoding" if complete else "No recoding that was looked at"
    begin = f"{which} meets the limits {names}" if names else f"{which} leaves any row, with what may be suppressed"
    missed = [sentence for place in range(len(problem.limits)) if (sentence := _say_alone(problem, place))]
    quick = Lattice(problem.table.hierarchies).size * problem.table.distinct <= COUNTED
    if not missed and quick and len(problem.limits) > 1:
        missed = [sentence for place in range(len(problem.limits)) if (sentence := _say_beside(problem, place))]
    return f"{begin}: {'; '.join(missed)}. {RELAX}" if missed else f"{begin}. {RELAX}"


def _say_alone(problem: Problem, place: int) -> str:
    """That a limit is missed by itself, where nothing is suppressed; nothing where it is met."""
    measure, limit = problem.limits[place]
    table, ends = problem.table, (top,) if isinstance(measure, Model) else (top, bottom)
    best = _best_value(measure, [measure(classes(table, end(table.hierarchies))) for end in ends])
    return "" if meets(measure.better, best, limit) else f"by itself {measure.name} comes to {best:,.4g}"


def _say_beside(problem: Problem, place: int) -> str:
    """What a limit comes to where the others are met, by the exact search over whole levels."""
    measure, limit = problem.limits[place]
    others = without_limit(problem, place)
    if others is None:
        return ""
    with out_of_sight():
        front = exact_front(others, "one")
    if len(front) == 0:
        return ""
    best = _best_value(measure, front.numbers.values[:, 0].tolist())
    return (
        "" if meets(measure.better, best, limit) else f"where the others are met, {measure.name} comes to {best:,.4g}"
    )


def _best_value(measure: Measure, values: Sequence[float]) -> float:
    return max(values) if measure.better == "higher" else min(values)


def without_limit(problem: Problem, place: int) -> Problem | None:
    """The problem that optimizes one of its limits under the others; None where its rule cannot be had without it."""
    rest = (*problem.limits[:place], *problem.limits[place + 1 :])
    rule = problem.suppression
    if rule.fails:
        if len(rule.fails) != len(problem.limits):
            return None  # a user's own class-wise rule
        fails = (*rule.fails[:place], *rule.fails[place + 1 :])
        rule = replace(rule, fails=fails) if fails else Suppression("none")
    return replace(problem, objectives=(problem.limits[place][0],), suppression=rule, limits=rest)


# -- the point that a choice means -------------------------------------------------------------------------------------


def for_choice(job: Job) -> Job:
    """The job that searches for what it chooses alone: of local recodings one class size, instead of a whole curve.

    The job itself where it chooses otherwise, or where other class sizes cost no search of their own.
    """
    wish = read_wish(job.choose or RECOMMENDED)
    asked = {make(name).name: value for name, value in wish.models().items()}
    alone = wish.kind == "limits" and len(asked) == len(wish.numbers) and asked.get("k", 0.0) >= 1
    if job.method != "local" or not alone or "k" not in job.objectives:
        return job
    return replace(job, options={**job.options, "ks": [math.ceil(asked["k"] - 1e-9)]})


def chosen_point(front: Front, words: str | None = None) -> Point:
    """The point that words name, of the front searched for what they ask for (``search_for_choice``)."""
    return choose_point(search_for_choice(front, words), words)


def search_for_choice(front: Front, words: str | None = None, report: Progress | None = None) -> Front:
    """The front with what a choice asks for: a local one is searched for a k that it has not been searched for."""
    from kpareto.searches.local.driven import search_further  # the local search is loaded where it may be needed

    if len(front) == 0:
        return front
    choice = words or RECOMMENDED
    check_choice(front.problem, choice)
    return search_further(front, read_wish(choice).models(), report=report)


def is_searched_for(front: Front, words: str | None = None) -> bool:
    """Whether the front has been searched for what a choice asks for."""
    from kpareto.searches.local.driven import is_searched

    return is_searched(front, read_wish(words or RECOMMENDED).models())


def check_choice(problem: Problem, words: str) -> None:
    """Raise where a choice asks for what no recoding of the table can have."""
    check_possible(problem, read_wish(words).models())


# -- the front that a job has led to, kept for later -------------------------------------------------------------------
#
# By the command line beside the job, by the page in its run. It is used only while the job is unchanged: the file names
# a digest of the search, and the front in it one of all that decides the numbers, rows and hierarchies among them.
# Every point is counted again when it is read.

MARK = "kpareto kept front"
FORMAT = 1


def front_file(path: str | Path) -> Path | None:
    """Where the front of a job file is kept: beside it. None for the word adult, which has no file."""
    place = Path(path)
    return place.parent / f"{place.stem}.front.json" if place.suffix.lower() == ".toml" else None


def keep_front(path: str | Path, job: Job, front: Front) -> Path | None:
    """Keep the front of a search that is done, for its owner alone; a file of somebody else's stays as it is."""
    file = front_file(path)
    if file is None or front.provenance.stopped or (file.exists() and read_kept(file) is None):
        return None
    with suppress(OSError, BadInput):  # a folder that cannot be written costs a second search, and nothing else
        write_kept(file, job, front, front.to_dict())
        return file
    return None


def write_kept(file: Path, job: Job, front: Front, data: Mapping[str, Any]) -> None:
    """Write a front, as this data, with its search and the columns of its table, for its owner alone."""
    columns = list(front.problem.table.columns)
    kept = {MARK: FORMAT, "search": _search_print(job), "columns": columns, "front": data}
    write_whole(file, json.dumps(spell_infinite(kept), ensure_ascii=False, allow_nan=False) + "\n", private=True)


def recall_front(path: str | Path, job: Job, problem: Problem) -> Front | None:
    """The kept front of a job, None where there is none, or one of a job that has changed since."""
    file = front_file(path)
    data = None if file is None else read_kept(file)
    if data is None or data.get("search") != _search_print(job):
        return None
    try:
        return load_front(data["front"], problem)
    except BadInput:  # other rows, columns, limits or another version: the search is done anew
        return None


def kept_columns(path: str | Path) -> object:
    """The columns that the table had when the kept front of a job was searched, if the file tells."""
    file = front_file(path)
    return ((None if file is None else read_kept(file)) or {}).get("columns")


def refuse_new_columns(known: object, job: Job, columns: Sequence[str]) -> None:
    """Raise where a table has a column that it had not when a kept front was searched, and the job says nothing of it.

    ``known`` is what the file of the front has as the columns of then.
    """
    if not isinstance(known, list) or not known:  # a file of an earlier version, or rows that are no file's
        return
    persons = job.schema().persons
    new = [name for name in columns if name not in known and name not in job.columns and name not in persons]
    if new:
        several = len(new) > 1
        raise BadJob(
            f"The table has {'columns' if several else 'a column'} {', '.join(map(repr, new))} that it had not when "
            "the front was searched.",
            remedy=Remedy(
                "give-new-role",
                f"Give {'each' if several else 'it'} a role under [columns] of the job, or search again with: kpareto "
                "front JOB.",
            ),
        )


def read_kept(file: Path) -> Mapping[str, Any] | None:
    """The data of a kept front; None where the file is none, or is not ours."""
    if not file.is_file():
        return None
    try:
        data = read_json(file, FRONT, anything)
    except BadInput:
        return None
    whole = isinstance(data, dict) and data.get(MARK) == FORMAT and isinstance(data.get("front"), dict)
    return data if whole else None


def _search_print(job: Job) -> str:
    """A digest of what ``[search]`` says; what decides the numbers is in the digest of the front itself."""
    plan = plan_of(job)
    settings = (
        plan.method,
        str(plan.space),
        plan.budget,
        plan.seed,
        sorted(plan.settings.items(), key=lambda each: each[0]),
    )
    return sha256(repr(settings).encode()).hexdigest()
