"""What ``kpareto front JOB --models …`` prints and writes; the searches themselves are in searches/models.py."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kpareto.faces.cli.fronts import check_files, protect, read_problem
from kpareto.faces.console import remark, reporting, show_table, write_json
from kpareto.fronts.choose import read_wish
from kpareto.fronts.models import ModelCurves, read_models
from kpareto.fronts.picture import check_picture
from kpareto.jobs.job import load_job
from kpareto.jobs.search import plan_of
from kpareto.searches.models import compare_models, usual_ks


def show_models(
    path: str,
    models: str,
    json_file: str | None = None,
    picture: str | None = None,
    changes: Sequence[str] = (),
    quiet: bool = False,
) -> ModelCurves:
    """Compare models on a job's table: a table of what you would gain, JSON and one picture of all curves."""
    names = read_models(models)
    job = load_job(path, changes)
    protect(job, path, json_file, picture)
    check_files(json_file, picture)
    check_picture(picture)
    problem = read_problem(job, quiet)
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
