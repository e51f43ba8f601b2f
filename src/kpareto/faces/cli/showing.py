"""Commands that show what kpareto does: the page and the walk through the Adult table."""

from __future__ import annotations

import click

from kpareto.faces.cli.group import commands
from kpareto.faces.cli.options import json_option, quiet_option, sign_option


@commands.command(epilog="Example: kpareto serve people.toml", short_help="Do all of it on a page in the browser.")
@click.argument("job", required=False)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to listen; 0 is any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address opens the page to the network.")
@click.option("--token", help="The key in the link, instead of a random one.")
@click.option("--password", envvar="KPARETO_PASSWORD", help="Ask for a password instead of a key in the link.")
@click.option("--upload-limit", type=click.IntRange(1), default=200, show_default=True, help="Megabytes of a file.")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@sign_option
def serve(  # noqa: PLR0913 (the options of the command)
    job: str | None,
    port: int | None,
    host: str,
    token: str | None,
    password: str | None,
    upload_limit: int,
    no_browser: bool,
    sign: str | None,
) -> None:
    """Open a page in the browser to configure, search, explore and release (JOB: a job, a data file, or adult)."""
    from kpareto.faces.web import serve as start

    start(job, host, port, token, password, not no_browser, upload_limit << 20, sign)


@commands.command(
    epilog="Example: kpareto demo --paper poka", short_help="Walk through the main job on the embedded Adult table."
)
@click.option(
    "--paper", metavar="NAME", help="The example job of a paper instead: iyengar, lunacek, gecco09, poka, pbg."
)
@json_option
@quiet_option
def demo(paper: str | None, json_file: str | None, quiet: bool) -> None:
    """Run the main job on the embedded Adult table: front, release, verification, report."""
    if paper is not None:
        from kpareto.faces.cli.paper_examples import run_example

        run_example(paper, json_file, quiet)
        return
    from kpareto.faces.cli.walkthrough import run

    run(json_file=json_file, quiet=quiet)
