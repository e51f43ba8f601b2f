"""``kpareto inspect PROJECT.deid`` and ``kpareto export JOB --to arx``: to and from the program ARX."""

from __future__ import annotations

from pathlib import Path

import click

from kpareto.faces.console import remark, reporting, visible, write_json
from kpareto.jobs.arx.export import PROGRAM, export_arx
from kpareto.jobs.arx.project import look_at, read_arx
from kpareto.jobs.parse import load_job
from kpareto.releases.documents import refuse_overwriting


def inspect_project(source: str, target: str | None, json_file: str | None, quiet: bool) -> None:
    """Say what a project of ARX asks for and what of it has no counterpart; write it as a job."""
    refuse_overwriting([Path(source)], target, json_file)
    project = look_at(source) if target is None else read_arx(source, target)
    if json_file != "-":
        for sentence in project.sentences():
            click.echo(visible(sentence))
    write_json(project.to_dict() if json_file else None, json_file)
    if target is None:
        remark("Make a job of it with: -o job.toml", quiet)
    else:
        remark(f"Wrote {target}. Look it over, then: kpareto front {target}", quiet)


def export_job(job: str, target: str, changes: tuple[str, ...], quiet: bool) -> None:
    """Write a job's hierarchies and settings for ARX, and say what it has no word for."""
    with reporting("Reading", quiet):
        notes = export_arx(load_job(job, changes), target)
    for note in notes:
        click.echo(visible(f"Not in ARX: {note}."))
    remark(f"Wrote {target}: {PROGRAM}.java says how to run it.", quiet)
