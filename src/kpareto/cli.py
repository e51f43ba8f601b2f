"""The command line: every verb of the library as a word in the shell.

A command is a short function here that imports its room when it runs, so that ``--help`` stays quick.
Answers go to standard output, remarks and progress to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from kpareto._version import __version__
from kpareto.console import one_line
from kpareto.errors import Interrupted, KparetoError, Unsafe, did_you_mean
from kpareto.spark_work import kept

# Exit statuses that scripts rely on; 0 is done.
BAD_INPUT, UNSAFE, INTERRUPTED = 2, 3, 130
BROKEN_PIPE = 141  # what the shell reports for any program whose reader went away

Function = TypeVar("Function", bound=Callable[..., object])


class Commands(click.Group):
    """A click group that answers a mistyped command with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            known = self.list_commands(ctx)
            ctx.fail(f"No command {word!r}. {did_you_mean(word, known)}There are: {', '.join(known)}.")
        return super().resolve_command(ctx, args)


def quiet_option(function: Function) -> Function:
    """``-q``, in the same words for every command."""
    return click.option("-q", "--quiet", is_flag=True, help="No progress and no remarks.")(function)


def json_option(function: Function) -> Function:
    """``--json FILE``, in the same words for every command that has an answer."""
    option = click.option(
        "--json",
        "json_file",
        metavar="FILE",
        type=click.Path(dir_okay=False, allow_dash=True),
        help="Write the answer as JSON to FILE; '-' is standard output.",
    )
    return option(function)


def set_option(function: Function) -> Function:
    """``--set part.key=value``, in the same words for every command that takes a job."""
    option = click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="PART.KEY=VALUE",
        help='Change the job, such as --set search.method=nsga2 --set \'search.objectives=["k", "lm"]\' (repeatable).',
    )
    return option(function)


def table_option(function: Function) -> Function:
    """``--table NAME``, in the same words for every command that takes rows or a release."""
    option = click.option("--table", metavar="NAME", help="The table, where an address postgresql://… is given.")
    return option(function)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="kpareto", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Every trade-off between privacy and information that a table allows."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@commands.command()
@click.argument("job")
@json_option
@click.option("--picture", metavar="FILE", help="Draw the front: FILE ends in .svg, .png or .pdf.")
@set_option
@click.option("--resume", is_flag=True, help="Go on where an interrupted search stopped.")
@click.option("--local", is_flag=True, help="Show Mondrian's local recodings beside the front.")
@quiet_option
def front(
    job: str,
    json_file: str | None,
    picture: str | None,
    changes: tuple[str, ...],
    resume: bool,
    local: bool,
    quiet: bool,
) -> None:
    """Show every trade-off that JOB allows (a job file, or the word adult)."""
    from kpareto.shell import front as show

    show(job, json_file, picture, resume, quiet, changes, local)


@commands.command(name="inspect")
@click.argument("data")
@click.option("-o", "--output", metavar="JOB", help="Write a job file that runs as it is.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of a text file, such as latin-1.")
@table_option
@json_option
@quiet_option
def inspect_(
    data: str, output: str | None, encoding: str, table: str | None, json_file: str | None, quiet: bool
) -> None:
    """Profile DATA (a file, or the word adult): types, uniqueness, likely roles; propose a job."""
    from kpareto.handout import inspect_data

    inspect_data(data, output, json_file, quiet, encoding, table)


@commands.command()
@click.argument("job")
@click.option("--choose", metavar="WORDS", help="Instead of the job's: k=5, knee, id=17, 'prefer: lm=0.2, cm=0.2'.")
@click.option("--target", metavar="FILE", help="Instead of the job's: a .csv or .parquet file, or a table.")
@set_option
@json_option
@quiet_option
def release(
    job: str, choose: str | None, target: str | None, changes: tuple[str, ...], json_file: str | None, quiet: bool
) -> None:
    """Search as JOB says, choose a point, and release it: recoded, verified, certified."""
    from pathlib import Path

    from kpareto.handout import release_job
    from kpareto.places import is_file

    more = [f"release.choose={choose!r}"] if choose else []
    if target:  # anything but a file is the name of a table, where the rows are in a database
        named = str(Path(target).resolve()) + "/" * target.endswith("/") if is_file(target) else target
        more.append(f"release.target={named!r}")
    release_job(job, (*changes, *more), json_file, quiet)


@commands.command()
@click.argument("release_file", metavar="RELEASE")
@click.argument("certificate")
@table_option
@json_option
def verify(release_file: str, certificate: str, table: str | None, json_file: str | None) -> None:
    """Check that the file RELEASE holds what CERTIFICATE claims; status 3 if it does not."""
    from kpareto.handout import verify_file

    verify_file(release_file, certificate, json_file, table)


@commands.command()
@click.argument("recoding")
@click.argument("data")
@click.option("--target", metavar="FILE", help="Where the recoded rows go; beside you as NAME-recoded.csv otherwise.")
@click.option(
    "--unseen",
    type=click.Choice(["error", "nearest", "star"]),
    default="error",
    show_default=True,
    help="What becomes of values the stored hierarchies do not know.",
)
@click.option("--earlier", multiple=True, metavar="FILE", help="An earlier release by the same recoding (repeatable).")
@click.option(
    "--new-columns",
    type=click.Choice(["error", "drop", "keep"]),
    default="error",
    show_default=True,
    help="What becomes of columns that the fitting table did not have.",
)
@click.option("--encoding", help="Of a text file, such as latin-1; that of the fitting table unless given.")
@table_option
@json_option
@quiet_option
def apply(  # noqa: PLR0913 (the options of the command)
    recoding: str,
    data: str,
    target: str | None,
    unseen: str,
    earlier: tuple[str, ...],
    new_columns: str,
    encoding: str | None,
    table: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Recode new rows in DATA by the stored RECODING; suppression is worked out anew."""
    from kpareto.handout import apply_recoding

    apply_recoding(
        recoding,
        data,
        target,
        unseen,  # type: ignore[arg-type]  # click checked
        earlier,
        json_file,
        quiet,
        new_columns,  # type: ignore[arg-type]  # click checked
        encoding,
        table,
    )


@commands.command()
@click.argument("front_or_job", metavar="FRONT")
@click.option(
    "-o", "--output", metavar="FILE", default="report.html", show_default=True, help="Ends in .html, .md or .json."
)
@click.option("--choose", metavar="WORDS", help="Instead of the job's: k=5, knee, id=17, 'prefer: lm=0.2, cm=0.2'.")
@click.option("--template", is_flag=True, help="The form that EMA 0070 and HIPAA ask for, filled in, instead.")
@click.option("--confidential", is_flag=True, help="With original rows and small counts: for your own eyes.")
@set_option
@quiet_option
def report(
    front_or_job: str,
    output: str,
    choose: str | None,
    template: bool,
    confidential: bool,
    changes: tuple[str, ...],
    quiet: bool,
) -> None:
    """Write a report on the chosen point of FRONT (a job file, its front as JSON, or the word adult)."""
    from kpareto.console import remark
    from kpareto.report import write_report, write_template

    write = write_template if template else write_report
    made = write(front_or_job, output, choose=choose, changes=changes, confidential=confidential)
    remark(f"Report: {made}", quiet)


@commands.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Tiny sizes: shows that everything runs, and proves nothing.")
@json_option
@quiet_option
def bench(names: tuple[str, ...], quick: bool, json_file: str | None, quiet: bool) -> None:
    """Time the main jobs on this machine: all of them, or those named."""
    from kpareto.bench import run

    run(names, json_file=json_file, quiet=quiet, quick=quick)


@commands.command()
@click.argument("job", required=False)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to listen; 0 is any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address opens the page to the network.")
@click.option("--token", help="The key in the link, instead of a random one.")
@click.option("--password", envvar="KPARETO_PASSWORD", help="Ask for a password instead of a key in the link.")
@click.option("--upload-limit", type=click.IntRange(1), default=200, show_default=True, help="Megabytes of a file.")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
def serve(
    job: str | None,
    port: int | None,
    host: str,
    token: str | None,
    password: str | None,
    upload_limit: int,
    no_browser: bool,
) -> None:
    """Open a page in the browser to configure, search, explore and release (JOB: a job, a data file, or adult)."""
    from kpareto.web import serve as start

    start(job, host, port, token, password, not no_browser, upload_limit << 20)


@commands.command()
@click.argument("names", nargs=-1, metavar="[iyengar|lunacek|gecco09|poka|pbg]...")
@click.option("--quick", is_flag=True, help="Reduced budgets: the same results and verdicts in about a minute.")
@click.option("--output", metavar="FOLDER", default="kpareto-papers", show_default=True, help="Where the pages go.")
@json_option
@quiet_option
def papers(names: tuple[str, ...], quick: bool, output: str, json_file: str | None, quiet: bool) -> None:
    """Rebuild the five papers: every reported result beside ours, figures redrawn, verdicts."""
    from kpareto.papers import run

    run(names, quick=quick, output=output, json_file=json_file, quiet=quiet)


@commands.command()
@json_option
@quiet_option
def demo(json_file: str | None, quiet: bool) -> None:
    """Run the main job on the embedded Adult table: front, release, verification, report."""
    from kpareto.demo import run

    run(json_file=json_file, quiet=quiet)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; an expected failure is one sentence on standard error."""
    if instruction := os.environ.get("_KPARETO_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(commands, {}, "kpareto", "_KPARETO_COMPLETE", instruction)
    try:
        with kept():
            return _run(list(sys.argv[1:] if arguments is None else arguments))
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "kpareto"
        return _fail(f"{_sentence(error.format_message())} See: {where} --help", BAD_INPUT)
    except click.ClickException as error:
        return _fail(_sentence(error.format_message()), BAD_INPUT)
    except Unsafe as error:
        return _fail(str(error), UNSAFE)
    except (Interrupted, KeyboardInterrupt, click.Abort) as error:
        return _fail(str(error) or "Interrupted.", INTERRUPTED)
    except KparetoError as error:
        return _fail(str(error), BAD_INPUT)
    except BrokenPipeError:
        # Python flushes standard output once more on its way out; let that go nowhere, quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is None:
            raise
        return _fail(f"Cannot use {str(error.filename)!r}: {error.strerror}.", BAD_INPUT)


def _run(arguments: list[str]) -> int:
    """Parse and invoke; click's own ``main`` would turn a broken pipe and Ctrl-C into status 1."""
    try:
        with commands.make_context("kpareto", arguments) as context:
            commands.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    finally:
        sys.stdout.flush()
    return 0


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", ")")) else text + "."


def _fail(sentence: str, status: int) -> int:
    click.echo(one_line(sentence), err=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
