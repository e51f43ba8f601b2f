"""``python -m replication [NAME]...``, which ``make papers`` runs: the five papers from a shell."""

from __future__ import annotations

import sys

import click

from kpareto.faces.cli import main
from kpareto.faces.cli.options import json_option, quiet_option
from replication import FOLDER, run


@click.command(
    epilog="Example: make papers ARGS='poka --quick'",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("names", nargs=-1, metavar="[iyengar|lunacek|gecco09|poka|pbg]...")
@click.option("--quick", is_flag=True, help="Reduced budgets: the same results and verdicts in about a minute.")
@click.option("--output", metavar="FOLDER", default=FOLDER, show_default=True, help="Where the pages go.")
@json_option
@quiet_option
def papers(names: tuple[str, ...], quick: bool, output: str, json_file: str | None, quiet: bool) -> None:
    """Rebuild the five papers: every reported result beside ours, figures redrawn, verdicts."""
    run(names, quick=quick, output=output, json_file=json_file, quiet=quiet)


if __name__ == "__main__":
    sys.exit(main(command=papers, name="python -m replication"))
