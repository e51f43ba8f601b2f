"""What the command front prints and writes; the searches are in jobs/front.py and searches/models.py."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import numpy as np

from kpareto.errors import BadInput, BadJob, Unsafe
from kpareto.faces.cli.front_table import pick_shown, show_points
from kpareto.faces.console import remark, reporting, show_table, write_json
from kpareto.fronts.choose import answer_wishes, choose_point, read_wish
from kpareto.fronts.front import Front, front_sentence, kept_percent, mark_points
from kpareto.fronts.models import ModelCurves, read_models
from kpareto.fronts.picture import Curve, check_picture
from kpareto.fronts.problem import Problem
from kpareto.fronts.use import PointUse, use_of_marks, use_sentence
from kpareto.jobs.front import checkpoint_of, is_searched_for, keep_front, plan_of, read_in_time, search_job
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job
from kpareto.kernels.compiling import working
from kpareto.measures.measure import make
from kpareto.releases.documents import refuse_overwriting
from kpareto.searches.checkpoint import Cancelled
from kpareto.searches.defects import say_defects
from kpareto.tables.spelling import spell_infinite

WAIT = 5.0  # seconds from which on a person is told beforehand how long it will be


def protect(job: Job, path: str, *outputs: str | PathLike[str] | None) -> None:
    """Raise where an output would overwrite the job, the rows or the hierarchies it reads, or another output."""
    refuse_overwriting([*([] if path == "adult" else [Path(path)]), *job.inputs], *outputs)


def read_problem(job: Job, quiet: bool, also: Sequence[str] = ()) -> Problem:
    """Read the job's table with a progress bar, and say how it came in, and what else there is to say."""
    began = time.perf_counter()
    with reporting("Reading", quiet) as report:
        problem = read_in_time(job, report)
    seconds = time.perf_counter() - began
    remark(f"Read {problem.table.rows:,} rows ({problem.table.distinct:,} distinct) in {seconds:.1f} s.", quiet)
    for sentence in (*problem.table.remarks, *problem.remarks, *also):
        remark(sentence, quiet)
    return problem


def check_files(*files: str | PathLike[str] | None) -> None:
    """Raise where a file could not be written when the search is done: its folder must be there."""
    for file in files:
        if file is not None and str(file) != "-" and not Path(file).absolute().parent.is_dir():
            raise BadJob(
                f"{str(file)!r} cannot be written: there is no folder {str(Path(file).parent)!r}. Make it first."
            )


def find_front(
    job: Job, problem: Problem, quiet: bool, checkpoint: Path | None = None, since: float | None = None
) -> Front:
    """Run the job's search with a progress bar; its time began when the table was read, where ``since`` says so."""
    tell_forecast(job, problem, quiet)
    counted = "nodes" if job.space == "lattice" else "recodings"
    title = f"Counting {counted}" if job.method == "exact" else f"Searching ({job.method})"
    with reporting(title, quiet) as report:
        return search_job(job, problem, report, checkpoint, since=since)


def tell_forecast(job: Job, problem: Problem, quiet: bool) -> None:
    """Say how long the exact search will take, where that is long, and of any search that it counts in Python."""
    if quiet:
        return
    from kpareto.searches.exact_front import losses_with_floors
    from kpareto.searches.forecast import forecast_seconds, say_slow, spell_seconds

    plan = plan_of(job)
    remark(say_slow(problem, plan.way, plan.evaluations, plan.kind))
    if job.method != "exact" or job.space != "lattice":
        return
    seconds, asked = forecast_seconds(problem, job.options.get("threads")), job.options.get("seconds")
    if seconds <= WAIT:
        return
    forecast = f"The exact search will take {spell_seconds(seconds)} here."
    proven = ", with a proven bound for every point" if losses_with_floors(problem) else ""
    if asked is None:
        remark(f"{forecast} With --seconds 60 it ends after a minute{proven}.", quiet)
    elif seconds > asked:
        remark(f"{forecast} It has {asked:g} s, so expect a front that is not complete{proven}.", quiet)
    else:
        remark(forecast, quiet)


@dataclass(frozen=True)
class Beside:
    """What is shown beside a front on request."""

    local: bool = False  # Mondrian's local recodings
    prefer: str | None = None  # wishes: NSGA-II looks for the answer, other searches choose it from their front
    measures: tuple[str, ...] = ()  # further numbers about every point
    tree: bool = False  # the error of a decision tree on every point that is shown
    model: str | None = None  # another model of recoding than the job's


def show_front(
    path: str,
    json_file: str | None = None,
    picture: str | None = None,
    resume: bool = False,
    quiet: bool = False,
    changes: Sequence[str] = (),
    beside: Beside | None = None,
) -> Front:
    """``kpareto front JOB``: search, print the trade-offs, write JSON and a picture."""
    more = beside or Beside()
    wished = read_wish(f"prefer: {more.prefer}").numbers if more.prefer else {}
    measures = [make(name) for name in more.measures]
    job = load_job(path, changes, more.model)
    if wished and job.method == "nsga2":
        table = ", ".join(f"{json.dumps(name)} = {value!r}" for name, value in wished.items())
        job, wished = load_job(path, (*changes, f"search.preference={{{table}}}"), more.model), {}
    protect(job, path, json_file, picture)
    check_files(json_file, picture)
    check_picture(picture)
    checkpoint = checkpoint_of(path)
    if not resume:
        with suppress(OSError):
            checkpoint.unlink()
    elif checkpoint.exists():
        remark(f"Going on from {checkpoint.name}.", quiet)
    else:
        remark("There is no checkpoint to go on from; starting anew.", quiet)
    since, problem = working(), read_problem(job, quiet, job.remarks)
    stopped: Cancelled | None = None
    try:
        front = find_front(job, problem, quiet, checkpoint, since)
        keep_front(path, job, front)
    except Cancelled as error:
        front, stopped = error.front, error
    if wished:
        details = {**front.provenance.details, "preference": answer_wishes(front, wished).as_data()}
        front = replace(front, provenance=replace(front.provenance, details=details))
    numbers = [{m.name: float(m(point.partition)) for m in measures} for point in front] if measures else []
    uses = use_of_marks(front) if stopped is None else {}
    if json_file != "-":
        print_front(front, uses, job.choose)
        if stopped is None and problem.table.persons is None:
            remark(f"Other models may keep more. Compare them with: {models_command(path, changes)}", quiet)
        if measures:
            rows = [[place, *by.values()] for place, by in enumerate(numbers)]
            show_table(["id", *(m.name for m in measures)], rows, "Measured beside")
    data = front.to_dict() if json_file else None
    for point, by in zip(data["points"] if data else (), numbers, strict=False):
        point["measured"] = spell_infinite(by)
    for mark in data["marks"] if data else ():
        mark |= {"use": uses[mark["id"]].to_dict()} if mark["id"] in uses else {}
    write_json(data, json_file)
    if more.tree:
        show_trees(front, json_file != "-")
    curves = local_curve(front, json_file != "-") if more.local else ()
    if picture is not None:
        from kpareto.fronts.front import save_picture
        from kpareto.measures.use import control_of

        upright = next((m.name for m in measures if control_of(front.problem.table, m.name) is not None), None)
        remark(f"Picture: {save_picture(front, picture, y=upright, curves=() if upright else curves)}", quiet)
    if stopped is not None:
        raise stopped
    return front


def show_trees(front: Front, shown: bool) -> None:
    """A sentence on how well a decision tree learns the target, for the chosen few points (IY-12)."""
    from kpareto.releases.risk.tree_error import tree_errors

    places, _ = pick_shown(front)
    errors = tree_errors([front[place].partition for place in places])
    for place, error in zip(places if shown else (), errors, strict=False):
        click.echo(f"Point {place}: {error.sentence()}")


def local_curve(front: Front, shown: bool) -> tuple[Curve, ...]:
    """Mondrian's local recodings for the common k, printed, and as a curve where the front has a loss to share."""
    from kpareto.searches.lattice.mondrian import PRESETS, WARNING, curve

    table = front.problem.table
    points = curve(table, PRESETS, min(front.problem.suppression.allowed(table.rows), table.rows))
    if shown:
        show_table(
            ["k asked", "k", "lm", "glm", "classes"],
            [[each.asked, each.k, each.lm, float(each.glm), each.classes] for each in points],
            "Local recoding (Mondrian, relaxed), to stand beside; kpareto releases those of --model local",
        )
        click.echo(WARNING)
    loss = next((name for name in ("glm", "lm") if name in front.names), None)
    if loss is None or "k" not in front.names:
        return ()
    height = [float(each.glm) if loss == "glm" else each.lm for each in points]
    return (Curve("Mondrian (local recoding)", np.array([float(each.k) for each in points]), np.array(height)),)


def print_front(front: Front, uses: Mapping[int, PointUse] = MappingProxyType({}), choice: str | None = None) -> None:
    """The points as a table, and in words which is recommended, what the next ones cost and what the front proves."""
    hidden = show_points(front, uses)
    if hidden:
        click.echo(f"… {hidden} more points; --json FILE has all {len(front)}.")
    for mark in mark_points(front):
        if mark.words:
            click.echo(mark.words)
    print_choice(front, choice)
    for words in filter(None, [use_sentence(uses), *(use.words() for use in uses.values())]):
        click.echo(words)
    click.echo(front_sentence(front))
    if wished := front.provenance.details.get("preference"):
        click.echo(answer_wishes(front, wished["wished"]).words())
    if exact := front.provenance.details.get("exact"):
        show_defects(exact)


def print_choice(front: Front, words: str | None) -> None:
    """Which point the job itself chooses where it is not the recommended one, as with a project of ARX without k."""
    with suppress(BadInput, Unsafe):  # what a choice lacks is said when it is released
        if words and is_searched_for(front, words):
            point = choose_point(front, words)
            if point.id != front.recommendation.point.id:
                kept = f"{kept_percent(point):.1f} % of the detail kept"
                click.echo(f"The job chooses another one ({words}): point {point.id}, {kept}.")


def models_command(path: str, changes: Sequence[str] = ()) -> str:
    """The command that compares models on a job; what was changed of the job stays, but for its own search."""
    kept = [shlex.quote(change) for change in changes if not change.startswith("search.")]
    models = ["--models", "lattice,cuts,local"]
    return " ".join(["kpareto front", shlex.quote(path), *models, *(f"--set {change}" for change in kept)])


def show_defects(exact: Mapping[str, Any]) -> None:
    """What a search missed of the exact front, and which of its points are wrong, as tables and a sentence."""
    names, wrong, missed = exact["objectives"], exact["wrong"], exact["missed"]
    covered = exact.get("coverage")  # an archive of boxes is not meant to hold every point
    for title, defects in ((("Missed", missed),) if covered is None else ()) + (("Wrongly reported", wrong),):
        rows = [
            [*(defect["values"][name] for name in names), *defect["levels"].values(), _causes(defect)]
            for defect in defects
        ]
        if rows:
            show_table([*names, *defects[0]["levels"], ""], rows, title)
    for sentence in say_defects(exact):
        click.echo(sentence)


def _causes(defect: Mapping[str, Any]) -> str:
    """The errors of the paper that caused a defect, where they are known."""
    return " or ".join(" and ".join(causes) for causes in defect.get("causes", ()))


# -- models side by side -----------------------------------------------------------------------------------------------


def show_models(
    path: str,
    models: str,
    json_file: str | None = None,
    picture: str | None = None,
    changes: Sequence[str] = (),
    quiet: bool = False,
) -> ModelCurves:
    """Compare models on a job's table: a table of what you would gain, JSON and one picture of all curves."""
    from kpareto.searches.models import compare_models, usual_ks

    names = read_models(models)
    job = load_job(path, changes)
    protect(job, path, json_file, picture)
    check_files(json_file, picture)
    check_picture(picture)
    problem = read_problem(job, quiet, job.remarks)
    plan = plan_of(job)
    wished = read_wish(job.choose).models() if job.choose else {}
    ks = usual_ks(problem, plan, [wished["k"]] if "k" in wished else [])
    with reporting("Comparing models", quiet) as report:
        curves = compare_models(problem, names, ks, job.options.get("seconds"), job.seed, report, plan)
    if json_file != "-":
        print_models(curves)
    write_json(curves.to_dict() if json_file else None, json_file)
    if picture is not None:
        from kpareto.fronts.models import save_models

        remark(f"Picture: {save_models(curves, picture)}", quiet)
    return curves


def print_models(curves: ModelCurves) -> None:
    """What you would gain per k, and what each curve proves."""
    heads = ["k"]
    for curve in curves.curves:
        heads += [curve.name] if curve.proven else [curve.name, "at most"]
    rows = []
    for k in curves.ks:
        row: list[object] = [k]
        points = [curve.at(k) for curve in curves.curves]
        for curve, point in zip(curves.curves, points, strict=True):
            row.append("–" if point is None else f"{point.kept:.1f} %")
            if not curve.proven:
                row.append("?" if point is None or point.most is None else f"{point.most:.1f} %")
        gain = next(line["gain"] for line in curves.gains() if line["k"] == k)
        rows.append([*row, "" if gain is None else f"{gain:+.1f}"])
    show_table([*heads, "gain"], rows, "Detail kept, in percent, and what you would gain by the best model")
    for curve in curves.curves:
        proof = "exact" if curve.proven else "a heuristic; “at most” is proven"
        click.echo(f"{curve.words} ({proof}, {curve.seconds:.1f} s)")
    if advice := curves.advice():
        click.echo(advice)
