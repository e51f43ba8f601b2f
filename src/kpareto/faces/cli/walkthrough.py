"""``kpareto demo``: the main job on the embedded Adult table, or the example job of a paper, to a verified release."""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast

import click

from kpareto.atomic import write_whole
from kpareto.faces.cli.fronts import find_front, print_front
from kpareto.faces.cli.releases import inspect_data, show_release, verify_file
from kpareto.faces.console import remark, write_json
from kpareto.faces.report import write_report
from kpareto.fronts.front import Front, Point, save_picture
from kpareto.jobs.examples import example_text
from kpareto.jobs.parse import load_job

FOLDER = "kpareto-demo"
JOB = """\
# The main job on the embedded Adult table (UCI, CC BY 4.0).
[data]
source = "adult"
preset = "default"

[columns.fnlwgt]          # nearly every row has a value of its own
role = "identifier"       # left out of the release

[columns.education-num]   # says the same as education,
tie = "education"         # so it shows the same groups

[columns.relationship]    # tells the marital status, which the release hides
role = "identifier"

[columns.capital-gain]    # columns that nobody has decided about are left out
role = "decide"

[columns.capital-loss]
role = "decide"

[columns.hours-per-week]
role = "decide"

[suppression]
limit = 0.01              # at most one row in a hundred may be suppressed

[limits]
l = 2                     # at least two occupations in every class

[search]
method = "exact"
objectives = ["k", "glm"]

[release]
choose = "k=5"
target = "adult-5.csv"
"""


def show_demo(paper: str | None = None, json_file: str | None = None, quiet: bool = False) -> None:
    """``kpareto demo [--paper NAME]``: everything lands in one folder."""
    place = Path(FOLDER)
    place.mkdir(parents=True, exist_ok=True)
    show = json_file != "-"
    answer = _run_job(place, show, quiet) if paper is None else _run_example(place, paper, show, quiet)
    write_json(answer if json_file else None, json_file)


def _run_job(place: Path, show: bool, quiet: bool) -> dict[str, object]:
    """Inspect, front, choose k = 5, release, verify, report."""
    began = time.perf_counter()
    job_file = place / "job.toml"

    def step(text: str) -> None:
        if show:
            click.echo(f"\n== {text}")

    step("1. What is in the table? (kpareto inspect adult)")
    if show:
        proposed = place / "proposed-job.toml"
        proposed.unlink(missing_ok=True)  # the folder is the demo's own, and it runs as often as one likes
        inspect_data("adult", str(proposed), quiet=True)
    write_whole(job_file, JOB)

    step(f"2. Every trade-off it allows (kpareto front {job_file})")
    front = _front_of(job_file, place / "front.json", show, quiet)
    save_picture(front, place / "front.svg")

    step(f"3. The cheapest one with k = 5, released (kpareto release {job_file})")
    answers = [None if show else str(place / f"{name}.json") for name in ("release", "verified")]
    released = show_release(str(job_file), json_file=answers[0], quiet=quiet, front=front, overwrite=True)
    point = cast(Point, released.point)  # of the front above

    step("4. Checked again from the file alone (kpareto verify adult-5.csv adult-5.certificate.json)")
    target, certificate = str(place / "adult-5.csv"), str(place / "adult-5.certificate.json")
    verify_file(target, certificate, json_file=answers[1])

    step(f"5. The report (kpareto report {job_file})")
    report = write_report(str(job_file), str(place / "report.html"), front=front, point=point, release=released)

    files = {
        "job": job_file,
        "front": place / "front.json",
        "picture": place / "front.svg",
        "release": target,
        "certificate": certificate,
        "report": report,
    }
    seconds = time.perf_counter() - began
    if show:
        for name, file in files.items():
            click.echo(f"  {name:<12}{file}")
        click.echo(f"\nDone in {seconds:.1f} s. Open {report} in a browser.")
    remark("Nothing left this machine.", quiet)
    return {name: str(file) for name, file in files.items()} | {"seconds": round(seconds, 2), "k": point.values["k"]}


def _front_of(job_file: Path, front_file: Path, show: bool, quiet: bool) -> Front:
    """The front of a job, printed and written."""
    job = load_job(job_file)
    front = find_front(job, job.problem(), quiet)
    if show:
        print_front(front)
    write_json(front.to_dict(), str(front_file))
    return front


def _run_example(place: Path, name: str, show: bool, quiet: bool) -> dict[str, object]:
    """Write the job of a paper into a folder, show its front, release and verify."""
    text = example_text(name)
    job_file, front_file = place / f"{name}.toml", place / f"{name}-front.json"
    write_whole(job_file, text)
    if show:
        click.echo(f"{text.splitlines()[0].lstrip('# ')}\n\n== The front (kpareto front {job_file})")
    front = _front_of(job_file, front_file, show, quiet)
    if show:
        click.echo(f"\n== The release (kpareto release {job_file})")
    answers = [None if show else str(place / f"{name}-{kind}.json") for kind in ("release", "verified")]
    released = show_release(str(job_file), json_file=answers[0], quiet=quiet, front=front, overwrite=True)
    job = load_job(job_file)
    target = job.path(str(job.target))
    certificate = target.with_suffix(".certificate.json")
    if show:
        click.echo(f"\n== Checked again from the file alone (kpareto verify {target} {certificate})")
    verify_file(str(target), str(certificate), json_file=answers[1])
    files = {"job": job_file, "front": front_file, "release": target, "certificate": certificate}
    point = cast(Point, released.point)  # of the front above
    return {kind: str(file) for kind, file in files.items()} | {"id": point.id, **point.values}
