"""The example job of a paper, run from front to verified release."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from kpareto.atomic import write_whole
from kpareto.faces.cli.fronts import find_front, print_front
from kpareto.faces.cli.releases import show_release, verify_file
from kpareto.faces.cli.walkthrough import FOLDER
from kpareto.faces.console import write_json
from kpareto.fronts.front import Point
from kpareto.jobs.examples import example_text
from kpareto.jobs.parse import load_job


def run_example(name: str, json_file: str | None = None, quiet: bool = False, folder: str = FOLDER) -> None:
    """``kpareto demo --paper NAME``: write the job of a paper into a folder, show its front, release and verify."""
    text = example_text(name)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    job_file, front_file = place / f"{name}.toml", place / f"{name}-front.json"
    write_whole(job_file, text)
    show = json_file != "-"
    if show:
        click.echo(f"{text.splitlines()[0].lstrip('# ')}\n\n== The front (kpareto front {job_file})")
    job = load_job(job_file)
    front = find_front(job, job.problem(), quiet)
    if show:
        print_front(front)
        click.echo(f"\n== The release (kpareto release {job_file})")
    write_json(front.to_dict(), str(front_file))
    answers = {kind: None if show else str(place / f"{name}-{kind}.json") for kind in ("release", "verified")}
    released = show_release(str(job_file), json_file=answers["release"], quiet=quiet, front=front, overwrite=True)
    target = job.path(str(job.target))
    certificate = target.with_suffix(".certificate.json")
    if show:
        click.echo(f"\n== Checked again from the file alone (kpareto verify {target} {certificate})")
    verify_file(str(target), str(certificate), answers["verified"])
    files = {"job": job_file, "front": front_file, "release": target, "certificate": certificate}
    point = cast(Point, released.point)  # of the front above
    answer = {kind: str(file) for kind, file in files.items()} | {"id": point.id, **point.values}
    write_json(answer if json_file else None, json_file)
