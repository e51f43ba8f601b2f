"""What the command private prints: what was spent, the release and its documents, and nothing else about the rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from warnings import catch_warnings, simplefilter

import click

from kpareto.errors import ReleaseWarning
from kpareto.faces.cli.releases import print_warnings, size_of
from kpareto.faces.console import remark, write_json
from kpareto.jobs.inspect import PROPOSED
from kpareto.jobs.parse import load_job
from kpareto.jobs.private import PrivateWish, Privatized, privatize

LEARNED = (
    "This job was proposed by kpareto inspect, which looked at the rows: roles, hierarchies and the files it wrote may "
    "tell about them, and no epsilon covers that. Set them without the rows."
)
UNUSED = "[search], [limits], [suppression] and [population] of the job play no part here."


def show_private(
    path: str, wish: PrivateWish, target: str | None, changes: Sequence[str], json_file: str | None, quiet: bool
) -> None:
    """``kpareto private JOB``: one run, its place in the ledger, and what it left."""
    job = load_job(path, changes)
    if was_proposed(path):
        click.echo(f"Warning: {LEARNED}", err=True)
    remark(UNUSED, quiet)
    with catch_warnings():
        simplefilter("ignore", ReleaseWarning)  # they are printed below
        done = privatize(job, wish, None if target is None else Path(target).absolute())
    if json_file != "-":
        print_private(done)
    write_json(done.to_dict() if json_file else None, json_file)


def was_proposed(path: str) -> bool:
    """Whether a job still says that it was made by looking at the rows."""
    place = Path(path)
    return place.is_file() and PROPOSED in place.read_text(encoding="utf-8", errors="replace")


def print_private(done: Privatized) -> None:
    """What was released and spent, in a few lines."""
    plan, left = done.plan, done.ledger.left
    click.echo(
        f"Released {size_of(done.release.verified)} to {done.place}, differentially private with epsilon "
        f"{float(plan.epsilon):g} and delta {float(plan.delta):g}; verified: every class has at least {plan.k:,} rows."
    )
    click.echo(
        f"Each row was drawn with chance {float(plan.beta):.4g}; {float(plan.epsilon_search):g} of epsilon went into "
        f"the choice of the recoding, {float(plan.epsilon_anon):g} into the rows."
    )
    levels = ", ".join(f"{name} {level['level']} of {level['of']}" for name, level in done.statement["levels"].items())
    click.echo(f"Recoding (level per column): {levels}.")
    for name, file in done.files.items():
        click.echo(f"  {name}: {file}")
    click.echo(f"Left of the budget {done.ledger_file}: epsilon {float(left[0]):g}, delta {float(left[1]):g}.")
    for sentence in done.statement["assumed"]:
        click.echo(f"Assumed: {sentence}")
    print_warnings(done.release.warnings)
