"""What the command front prints and writes; the searches are in jobs/front.py and searches/models.py."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import click
import numpy as np

from kpareto.atomic import refuse_overwriting
from kpareto.errors import BadInput, BadJob, Unsafe
from kpareto.faces.console import fits_width, remark, reporting, show_table, write_json
from kpareto.fronts.choose import answer_wishes, choose_point, read_wish
from kpareto.fronts.front import Front, Point, front_sentence, kept_percent, mark_points, marks_of, save_picture
from kpareto.fronts.picture import RECOMMENDED, Curve, check_picture
from kpareto.fronts.problem import Problem
from kpareto.fronts.use import PointUse, use_of_marks, use_sentence
from kpareto.jobs.front import checkpoint_of, is_searched_for, keep_front, plan_of, read_in_time, search_job
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job
from kpareto.kernels.compiling import working
from kpareto.measures.measure import make
from kpareto.measures.use import control_of
from kpareto.searches.driver import Cancelled
from kpareto.tables.recoding import AS_IT_IS, column_words
from kpareto.tables.spelling import EXACT, percent, spell_infinite, without_point

if TYPE_CHECKING:
    from kpareto.fronts.models import ModelCurves

MOST_LINES = 48  # points printed; the JSON has them all
FIRST = (RECOMMENDED, "k ≥ 5", "k ≥ 11", "k ≥ 3", "k ≥ 20")  # whose columns are shown first where there is little room


class CommandAnswer(Protocol):
    """What a command answers with."""

    def to_dict(self) -> Mapping[str, Any]:
        """The answer as plain data."""


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


def open_job(
    path: str, changes: Sequence[str], *outputs: str | None, model: str | None = None, picture: str | None = None
) -> Job:
    """The job of a command that writes these files; one that cannot be written is told before anything is searched."""
    job = load_job(path, changes, model)
    protect(job, path, *outputs, picture)
    check_files(*outputs, picture)
    check_picture(picture)
    return job


def show_answer(answer: CommandAnswer, json_file: str | None, show: Callable[[Any], None]) -> None:
    """Print an answer, unless its JSON goes to standard output, and write that where it is asked for."""
    if json_file != "-":
        show(answer)
    write_json(answer.to_dict() if json_file else None, json_file)


def show_front(  # noqa: PLR0913 (the options of the command)
    path: str,
    json_file: str | None = None,
    picture: str | None = None,
    changes: Sequence[str] = (),
    resume: bool = False,
    local: bool = False,
    model: str | None = None,
    prefer: str | None = None,
    measures: Sequence[str] = (),
    tree: bool = False,
    models: str | None = None,
    quiet: bool = False,
) -> None:
    """``kpareto front JOB``: search, print the trade-offs, write JSON and a picture."""
    if models is not None:
        if resume or local or prefer or measures or tree or model is not None:
            raise BadJob(
                "--models compares models by itself. Leave --resume, --local, --prefer, --measure, --tree-error and "
                "--model out."
            )
        show_models(path, models, json_file, picture, changes, quiet)
        return
    wished = read_wish(f"prefer: {prefer}").numbers if prefer else {}
    beside = [make(name) for name in measures]
    if wished and load_job(path, changes, model).method == "nsga2":  # it looks for the answer itself
        table = ", ".join(f"{json.dumps(name)} = {value!r}" for name, value in wished.items())
        changes, wished = (*changes, f"search.preference={{{table}}}"), {}
    job = open_job(path, changes, json_file, model=model, picture=picture)
    front, stopped = _search_on(path, job, resume, quiet)
    if wished:
        details = {**front.provenance.details, "preference": answer_wishes(front, wished).as_data()}
        front = replace(front, provenance=replace(front.provenance, details=details))
    numbers = [{m.name: float(m(point.partition)) for m in beside} for point in front] if beside else []
    uses = use_of_marks(front) if stopped is None else {}
    if json_file != "-":
        print_front(front, uses, job.choose)
        if stopped is None and front.problem.table.persons is None:
            remark(f"Other models may keep more. Compare them with: {models_command(path, changes)}", quiet)
        if beside:
            rows = [[place, *by.values()] for place, by in enumerate(numbers)]
            show_table(["id", *(m.name for m in beside)], rows, "Measured beside")
    if json_file is not None:
        write_json(_front_data(front, numbers, uses), json_file)
    if tree:
        show_trees(front, json_file != "-")
    curves = local_curve(front, json_file != "-") if local else ()
    if picture is not None:
        upright = next((m.name for m in beside if control_of(front.problem.table, m.name) is not None), None)
        remark(f"Picture: {save_picture(front, picture, y=upright, curves=() if upright else curves)}", quiet)
    if stopped is not None:
        raise stopped


def _search_on(path: str, job: Job, resume: bool, quiet: bool) -> tuple[Front, Cancelled | None]:
    """The front of a job, which is kept beside it; one that was stopped is as far as it came."""
    checkpoint = checkpoint_of(path)
    if not resume:
        with suppress(OSError):
            checkpoint.unlink()
    elif checkpoint.exists():
        remark(f"Going on from {checkpoint.name}.", quiet)
    else:
        remark("There is no checkpoint to go on from; starting anew.", quiet)
    since, problem = working(), read_problem(job, quiet, job.remarks)
    try:
        front = find_front(job, problem, quiet, checkpoint, since)
    except Cancelled as stopped:
        return stopped.front, stopped
    keep_front(path, job, front)
    return front, None


def _front_data(front: Front, numbers: Sequence[Mapping[str, float]], uses: Mapping[int, PointUse]) -> dict[str, Any]:
    """The front for JSON, with what was measured beside of each point, and what use marked ones have."""
    data = front.to_dict()
    for point, measured in zip(data["points"], numbers, strict=False):
        point["measured"] = spell_infinite(measured)
    for mark in data["marks"]:
        mark |= {"use": uses[mark["id"]].to_dict()} if mark["id"] in uses else {}
    return data


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
            [[point.asked, point.k, point.lm, float(point.glm), point.classes] for point in points],
            "Local recoding (Mondrian, relaxed), to stand beside; kpareto releases those of --model local",
        )
        click.echo(WARNING)
    loss = next((name for name in ("glm", "lm") if name in front.names), None)
    if loss is None or "k" not in front.names:
        return ()
    height = [float(point.glm) if loss == "glm" else point.lm for point in points]
    return (Curve("Mondrian (local recoding)", np.array([float(point.k) for point in points]), np.array(height)),)


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
    from kpareto.searches.defects import say_defects

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
    json_file: str | None,
    picture: str | None,
    changes: Sequence[str],
    quiet: bool,
) -> None:
    """Compare models on a job's table: a table of what you would gain, JSON and one picture of all curves."""
    from kpareto.fronts.models import read_models
    from kpareto.searches.models import compare_models, usual_ks

    names = read_models(models)
    job = open_job(path, changes, json_file, picture=picture)
    problem = read_problem(job, quiet, job.remarks)
    plan = plan_of(job)
    wished = read_wish(job.choose).models() if job.choose else {}
    ks = usual_ks(problem, plan, [wished["k"]] if "k" in wished else [])
    with reporting("Comparing models", quiet) as report:
        curves = compare_models(problem, names, ks, job.options.get("seconds"), job.seed, report, plan)
    show_answer(curves, json_file, print_models)
    if picture is not None:
        from kpareto.fronts.models import save_models

        remark(f"Picture: {save_models(curves, picture)}", quiet)


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


# -- a front as tables that fit the screen: the points, and how the marked ones show each column, in words -------------


def show_points(front: Front, uses: Mapping[int, PointUse]) -> int:
    """Print the points, and how columns are shown; the number of different points that found no place."""
    places, hidden = pick_shown(front)
    marks = marks_of(front)
    names = [hierarchy.name for hierarchy in front.problem.table.hierarchies]
    points = [front[place] for place in places]
    numbers = [_point_cells(point) for point in points]
    if uses:
        numbers = [[*n, percent(uses[at].error) if at in uses else ""] for n, at in zip(numbers, places, strict=True)]
    levels = [[_brief(point, column) for column in range(len(names))] for point in points]
    differing = [c for c in range(len(names)) if len({row[c] for row in levels}) > 1]
    ends = [", ".join(marks.get(place, ())) for place in places]
    floors = [f"least {front.names[column]}" for column in _floor_columns(front)]
    heads = ["id", *front.names, *floors, "kept", "suppressed", "classes", *(["off"] if uses else [])]
    wide = [[*n, *(row[c] for c in differing), end] for n, row, end in zip(numbers, levels, ends, strict=True)]
    wide_heads = [*heads, *(names[c] for c in differing), ""]
    if fits_width(wide_heads, wide, screen_width()):
        show_table(wide_heads, wide)
    else:
        show_table([*heads, ""], [[*n, end] for n, end in zip(numbers, ends, strict=True)])
    if places:
        _show_columns(front, places, marks)
    return hidden


def screen_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def _floor_columns(front: Front) -> list[int]:
    return [] if front.floors is None else np.flatnonzero(~np.isnan(front.floors).all(axis=0)).tolist()


def _point_cells(point: Point) -> list[object]:
    """What the table says of a point before its columns."""
    front = point.front
    floors = [] if front.floors is None else front.floors[point.id, _floor_columns(front)].tolist()
    values = [without_point(value, EXACT) for value in point.values.values()]
    kept = f"{kept_percent(point):.1f} %"
    return [point.id, *values, *floors, kept, point.partition.suppressed_rows, point.partition.classes]


def _brief(point: Point, column: int) -> str:
    """How a column is shown, in a word or two."""
    words = column_words(point.recoding, column)
    if words == AS_IT_IS:
        return "as is"
    return words.removeprefix("in ").replace("steps of ", "by ").replace(" groups", "").replace(" labels, by class", "")


def _show_columns(front: Front, places: Sequence[int], marks: dict[int, tuple[str, ...]]) -> None:
    """How the marked points show each column, side by side, as many as have room."""
    first = {mark: at for at, mark in enumerate(FIRST)}
    ranked = sorted((p for p in places if p in marks), key=lambda p: min(first.get(m, len(first)) for m in marks[p]))
    hierarchies = front.problem.table.hierarchies
    chosen: list[int] = []
    for place in ranked or places[:1]:
        trial = sorted([*chosen, place])
        heads, rows = _columns_table(front, trial, marks)
        if not chosen or fits_width(heads, rows, screen_width()):
            chosen = trial
    heads, rows = _columns_table(front, chosen, marks)
    show_table(heads, rows, f"How each column is shown ({len(hierarchies)} quasi-identifiers)")


def _columns_table(
    front: Front, places: Sequence[int], marks: dict[int, tuple[str, ...]]
) -> tuple[list[str], list[list[object]]]:
    heads = ["", *(f"{place}: {', '.join(marks[place])}" if place in marks else f"point {place}" for place in places)]
    recodings = [front[place].recoding for place in places]
    rows: list[list[object]] = [
        [hierarchy.name, *(column_words(recoding, column) for recoding in recodings)]
        for column, hierarchy in enumerate(front.problem.table.hierarchies)
    ]
    return heads, rows


def pick_shown(front: Front) -> tuple[list[int], int]:
    """One point of each different vector, or an even choice of them with the marked ones; how many are left out."""
    if not len(front):
        return [], 0
    marked = set(marks_of(front))
    best: dict[tuple[int, ...], int] = {}
    for place, key in enumerate(map(tuple, front.numbers.keys.tolist())):
        other = best.get(key)
        if other is None or (_height(front, place), place) < (_height(front, other), other):
            best[key] = place
    keys = [tuple(key) for key in front.numbers.keys.tolist()]
    for place in marked:  # a mark is on one of the equal points
        best[keys[place]] = place
    places = sorted(best.values())
    if len(places) <= MOST_LINES:
        return places, 0
    even = {places[round(i * (len(places) - 1) / (MOST_LINES - 1))] for i in range(MOST_LINES)}
    shown = sorted(even | marked)
    return shown, len(places) - len(shown)


def _height(front: Front, place: int) -> int:
    """How coarse a point's labels are, among points with equal numbers."""
    levels = front[place].recoding.levels
    return 0 if levels is None else sum(levels)
