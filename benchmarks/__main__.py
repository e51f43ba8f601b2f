"""``python -m benchmarks [NAME]...``, which ``make bench`` runs: the benchmarks from a shell."""

from __future__ import annotations

import sys

import click

from benchmarks import run
from kpareto.faces.cli import main
from kpareto.faces.cli.options import json_option, quiet_option


@click.command(
    epilog="Example: make bench ARGS='front lattice --quick'",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Tiny sizes: shows that everything runs, and proves nothing.")
@click.option(
    "--plots", metavar="FOLDER", help="Draw the curves of growth and of use into FOLDER (growth.svg, use.svg)."
)
@json_option
@quiet_option
def bench(names: tuple[str, ...], quick: bool, plots: str | None, json_file: str | None, quiet: bool) -> None:
    """Time the main jobs on this machine: all of them, or those named."""
    run(names, json_file=json_file, quiet=quiet, quick=quick, plots=plots)


if __name__ == "__main__":
    sys.exit(main(command=bench, name="python -m benchmarks"))
