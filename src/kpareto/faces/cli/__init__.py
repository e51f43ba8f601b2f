"""The command line: every verb of the library as a word in the shell.

A command is a table of options here, and a function with a parameter for each, which is imported when the command
runs, so that ``--help`` stays quick.
Answers go to standard output, remarks and progress to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import click

from kpareto.errors import Interrupted, KparetoError, Unsafe, keep_interrupt, say_unusable
from kpareto.faces.cli.hierarchies import HIERARCHY_COMMANDS
from kpareto.faces.cli.options import (
    Commands,
    accept_option,
    commands,
    form_option,
    json_option,
    model_option,
    original_option,
    overwrite_option,
    quiet_option,
    recoding_option,
    set_option,
    sign_option,
    table_option,
    trust_option,
)
from kpareto.faces.console import one_line

# Exit statuses that scripts rely on; 0 is done.
BAD_INPUT, UNSAFE, INTERRUPTED = 2, 3, 130
BROKEN_PIPE = 141  # what the shell reports for any program whose reader went away

__all__ = ["commands", "main"]


def run_command(place: str, options: Mapping[str, object]) -> None:
    """Call the function that does a command's work, such as ``cli.fronts.show_front``, with the options of it."""
    module, _, name = place.rpartition(".")
    getattr(import_module(f"kpareto.faces.{module}"), name)(**options)


@commands.command(
    epilog="Example: kpareto front people.toml --picture front.svg",
    short_help="Show every trade-off that a job allows.",
)
@click.argument("path", metavar="JOB")
@json_option
@click.option("--picture", metavar="FILE", help="Draw the front: FILE ends in .svg, .png or .pdf.")
@set_option
@click.option("--resume", is_flag=True, help="Go on where an interrupted search stopped.")
@click.option("--local", is_flag=True, help="Show Mondrian's local recodings beside the front.")
@model_option
@click.option(
    "--prefer", metavar="WISHES", help="Answer wishes such as 'k=5, nwp=0.2, necd=1.0', with the front beside."
)
@click.option(
    "--measure", "measures", multiple=True, metavar="NAME", help="A further number on each point, such as cm."
)
@click.option(
    "--tree-error", "tree", is_flag=True, help="How well a decision tree learns the target from each point's rows."
)
@click.option("--models", metavar="LIST", help="Compare models at usual k instead: lattice,cuts,strict,local.")
@quiet_option
def front(**options: object) -> None:
    """Show every trade-off that JOB allows (a job file, or the word adult)."""
    run_command("cli.fronts.show_front", options)


@commands.command(
    epilog="Example: kpareto compare people.toml --search nsga2 --search genitor",
    short_help="Compare searches, or settings of one, over many seeds.",
)
@click.argument("path", metavar="JOB")
@click.option(
    "--search", "searches", multiple=True, required=True, metavar="NAME[:KEY=VALUE,…]", help="Two or more (repeatable)."
)
@click.option("--seeds", type=click.IntRange(1, 1000), default=20, show_default=True, help="Runs of each search.")
@click.option("-o", "--output", metavar="FILE", help="Write the tables as Markdown: FILE ends in .md.")
@click.option("--picture", metavar="FILE", help="Draw the loss against evaluations: .svg, .png or .pdf.")
@overwrite_option
@set_option
@json_option
@quiet_option
def compare(**options: object) -> None:
    """Run several searches on JOB with many seeds, and tell them apart; --seconds is for each run."""
    run_command("cli.measuring.show_searches", options)


@commands.command(
    name="compare-releases",
    epilog="Example: kpareto compare-releases k5.csv k11.csv --original people.csv",
    short_help="Who gains and who loses between two releases of a table.",
)
@click.argument("first")
@click.argument("second")
@click.option("--original", required=True, metavar="TABLE", help="What both were released from: a file, or adult.")
@click.option("--by", metavar="COLUMN", help="Tell the rows apart by the values of a column.")
@click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="By this alone: class-size, … (repeatable)."
)
@table_option
@json_option
@quiet_option
def compare_releases(**options: object) -> None:
    """Compare the releases FIRST and SECOND row by row: who gains, who loses, and by how much."""
    run_command("cli.measuring.show_release_changes", options)


@commands.command(
    name="inspect",
    epilog="Example: kpareto inspect people.csv -o people.toml",
    short_help="Look at a table: types, uniqueness, roles; propose a job.",
)
@click.argument("source", metavar="DATA")
@click.option("-o", "--output", "target", metavar="JOB", help="Write a job file that runs as it is.")
@form_option
@table_option
@json_option
@quiet_option
def inspect_(**options: object) -> None:
    """Profile DATA (a file, or the word adult): types, uniqueness, likely roles; propose a job.

    A project of ARX (.deid) becomes a job with its table, hierarchies and settings.
    """
    run_command("cli.releases.inspect_data", options)


@commands.command(
    epilog="Example: kpareto measure people.csv --quasi age,zip,sex",
    short_help="How anonymous a table is as it stands.",
)
@click.argument("source", metavar="DATA")
@click.option("--quasi", required=True, metavar="COLUMNS", help="What others may know of a person: age,zip,sex.")
@click.option("--sensitive", default="", metavar="COLUMNS", help="What nobody should learn: diagnosis,income.")
@click.option("--population", metavar="WHO", help="Whom the rows are drawn from: a file, a share (0.1) or a number.")
@click.option("--person", metavar="COLUMN", help="Tells persons apart who have several rows.")
@click.option("--rows", type=click.IntRange(0), default=10, show_default=True, help="Rows most at risk to name.")
@click.option("-o", "--output", metavar="FILE", help="Write a page: FILE ends in .html.")
@form_option
@table_option
@json_option
@overwrite_option
@quiet_option
def measure(**options: object) -> None:
    """How anonymous DATA is as it stands: k, l, t and their like, risks, and what singles people out."""
    run_command("cli.measuring.show_anonymity", options)


@commands.command(
    epilog="Example: kpareto release people.toml --choose k=5 --target people-anon.csv",
    short_help="Release the chosen trade-off: recoded, verified, certified.",
)
@click.argument("path", metavar="JOB")
@click.option("--choose", metavar="WORDS", help="Instead of the job's: k=5, recommended, id=17, 'prefer: lm=0.2'.")
@click.option("--target", metavar="FILE", help="Instead of the job's: a .csv, .parquet or .xlsx file, or a table.")
@click.option("--counts", is_flag=True, help="The public part says how many rows have each value, none below k.")
@accept_option
@sign_option
@overwrite_option
@set_option
@model_option
@json_option
@quiet_option
def release(**options: object) -> None:
    """Search as JOB says, choose a point, and release it: recoded, verified, certified."""
    run_command("cli.releases.show_release", options)


@commands.command(
    epilog="Example: kpareto private people.toml --epsilon 1 --delta 1e-6 --total 4 1e-5",
    short_help="Release with differential privacy.",
)
@click.argument("path", metavar="JOB")
@click.option("--epsilon", required=True, metavar="NUMBER", help="What this run spends, such as 1.")
@click.option("--delta", required=True, metavar="NUMBER", help="The same of delta, such as 1e-6.")
@click.option(
    "--total",
    nargs=2,
    metavar="EPSILON DELTA",
    help="What the table may ever spend; needed once, for its first run.",
)
@click.option("--score", default="granularity", show_default=True, help="By which recodings are compared.")
@click.option("--target", metavar="FILE", help="Instead of the job's: a .csv or .parquet file.")
@click.option("--seed", help="Refused: a run that can be repeated is not private.")
@set_option
@json_option
@quiet_option
def private(**options: object) -> None:
    """Release JOB with differential privacy: drawn rows, a privately chosen recoding, small classes dropped."""
    run_command("cli.releases.show_private", options)


@commands.command(
    epilog="Example: kpareto verify people-anon.csv people-anon.certificate.json",
    short_help="Check that a release holds what its certificate claims.",
)
@click.argument("path", metavar="RELEASE")
@click.argument("certificate")
@trust_option
@click.option("--signer", metavar="NAME", help="Whose signature it must be, by a name in the file of --trust.")
@click.option("--population", metavar="FILE", help="The population it was made with, to count k-map and presence.")
@table_option
@json_option
def verify(**options: object) -> None:
    """Check that the file RELEASE holds what CERTIFICATE claims; status 3 if it does not."""
    run_command("cli.releases.verify_file", options)


@commands.command(
    epilog="Example: kpareto utility people-anon.csv --original people.csv",
    short_help="What an analyst still gets from a release.",
)
@click.argument("release", metavar="RELEASE")
@original_option
@click.option("--job", metavar="JOB", help="Ask its own questions too: tables and means under [use].")
@recoding_option
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the random counts and folds.")
@table_option
@json_option
@quiet_option
def utility(**options: object) -> None:
    """What an analyst still gets from RELEASE: counts, relations, models, beside who has column totals alone."""
    run_command("cli.measuring.show_utility", options)


@commands.command(
    epilog="Example: kpareto attack people-anon.csv --original people.csv",
    short_help="Try to single out, link and infer people.",
)
@click.argument("release", metavar="RELEASE")
@original_option
@click.option("--control", metavar="TABLE", help="People who are not in it; without it own rows are left out instead.")
@click.option("--known", multiple=True, metavar="A,B,…", help="Columns that an attacker knows; again for another set.")
@recoding_option
@click.option("--attempts", type=click.IntRange(1), default=1000, show_default=True, help="For each attack.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of what is drawn.")
@table_option
@json_option
@quiet_option
def attack(**options: object) -> None:
    """Attack RELEASE: single people out, link them, infer about them; beside a control and the raw table."""
    run_command("cli.measuring.show_attack", options)


@commands.command(
    epilog="Example: kpareto impute people-anon.csv -o people-drawn.csv --copies 5",
    short_help="Draw values in place of a release's labels.",
)
@click.argument("path", metavar="RELEASE")
@click.option("-o", "--output", metavar="FILE", required=True, help="A new .csv or .parquet file.")
@click.option("--certificate", metavar="FILE", help="The public part; the one beside RELEASE unless given.")
@click.option("--copies", type=int, default=5, show_default=True, help="How often the rows are drawn.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed draws the same values.")
@quiet_option
def impute(**options: object) -> None:
    """Draw values that the labels of RELEASE may stand for, as copies below each other; nobody's values."""
    run_command("cli.releases.draw_copies", options)


@commands.group(cls=Commands, epilog="Example: kpareto key new office")
def key() -> None:
    """Keys that sign releases."""


@key.command(name="new", epilog="Example: kpareto key new office")
@click.argument("name")
@quiet_option
def new_key(**options: object) -> None:
    """Make the key NAME, for its owner alone, and NAME.pub, for everybody."""
    run_command("cli.releases.make_key", options)


@commands.group(
    cls=Commands,
    commands=HIERARCHY_COMMANDS,
    epilog="Example: kpareto hierarchy new city people.csv",
    short_help="Hierarchies: built in, skeletons; show, lint, convert.",
)
def hierarchy() -> None:
    """Hierarchies: what is built in, a skeleton to fill, show, lint, convert."""


@commands.command(
    epilog="Example: kpareto export people.toml --to arx -o people-arx",
    short_help="Write a job's hierarchies and settings for ARX.",
)
@click.argument("job")
@click.option("--to", type=click.Choice(["arx"]), required=True, expose_value=False, help="The other program.")
@click.option("-o", "--output", "target", metavar="FOLDER", required=True, help="A new folder; no row goes into it.")
@set_option
@quiet_option
def export(**options: object) -> None:
    """Write the hierarchies of JOB in another program's layout, and a script with its settings."""
    run_command("cli.releases.export_job", options)


@commands.command(
    epilog="Example: kpareto apply people-anon.recoding.json next-month.csv",
    short_help="Recode new rows as an earlier release was.",
)
@click.argument("recoding")
@click.argument("source", metavar="DATA")
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
@accept_option
@sign_option
@overwrite_option
@trust_option
@table_option
@json_option
@quiet_option
def apply(**options: object) -> None:
    """Recode new rows in DATA by the stored RECODING; suppression is worked out anew."""
    run_command("cli.releases.apply_recoding", options)


@commands.command(
    epilog="Example: kpareto report people.toml -o people.html", short_help="Write a report on the chosen trade-off."
)
@click.argument("front_or_job", metavar="FRONT")
@click.option(
    "-o", "--output", metavar="FILE", default="report.html", show_default=True, help="Ends in .html, .md or .json."
)
@click.option("--choose", metavar="WORDS", help="Instead of the job's: k=5, recommended, id=17, 'prefer: lm=0.2'.")
@click.option("--template", is_flag=True, help="The form that EMA 0070 and HIPAA ask for, filled in, instead.")
@click.option("--confidential", is_flag=True, help="With original rows and small counts: for your own eyes.")
@set_option
@model_option
@overwrite_option
@quiet_option
def report(  # noqa: PLR0913 (the options of the command)
    front_or_job: str,
    output: str,
    choose: str | None,
    template: bool,
    confidential: bool,
    changes: tuple[str, ...],
    model: str | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Write a report on the chosen point of FRONT (a job file, its front as JSON, or the word adult)."""
    from kpareto.faces.cli.releases import refuse_unasked
    from kpareto.faces.console import remark, reporting
    from kpareto.faces.report import write_report

    refuse_unasked(output, overwrite, "-o")
    path = write_report(
        front_or_job,
        output,
        choose=choose,
        changes=changes,
        model=model,
        confidential=confidential,
        form=template,
        phase=lambda name: reporting(name, quiet),
    )
    remark(f"Report: {path}", quiet)


@commands.command(epilog="Example: kpareto serve people.toml", short_help="Do all of it on a page in the browser.")
@click.argument("job", required=False)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to listen; 0 is any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address opens the page to the network.")
@click.option("--token", help="The key in the link, instead of a random one.")
@click.option("--password", envvar="KPARETO_PASSWORD", help="Ask for a password instead of a key in the link.")
@click.option(
    "--upload-limit",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    callback=lambda _context, _option, megabytes: megabytes << 20,
    help="Megabytes of a file.",
)
@click.option("--no-browser", "browser", is_flag=True, flag_value=False, default=True, help="Only print the link.")
@sign_option
def serve(**options: object) -> None:
    """Open a page in the browser to configure, search, explore and release (JOB: a job, a data file, or adult)."""
    run_command("web.serve", options)


@commands.command(
    epilog="Example: kpareto demo --paper poka", short_help="Walk through the main job on the embedded Adult table."
)
@click.option(
    "--paper", metavar="NAME", help="The example job of a paper instead: iyengar, lunacek, gecco09, poka, pbg."
)
@json_option
@quiet_option
def demo(**options: object) -> None:
    """Run the main job on the embedded Adult table: front, release, verification, report."""
    run_command("cli.walkthrough.show_demo", options)


def main(arguments: Sequence[str] | None = None, command: click.Command = commands, name: str = "kpareto") -> int:
    """Run a command and return its exit status; an expected failure is one sentence on standard error."""
    if instruction := os.environ.get("_KPARETO_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(commands, {}, "kpareto", "_KPARETO_COMPLETE", instruction)
    try:
        with keep_interrupt():
            return _run(list(sys.argv[1:] if arguments is None else arguments), command, name)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else name
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
        return _fail(say_unusable(error), BAD_INPUT)


def _run(arguments: list[str], command: click.Command, name: str) -> int:
    """Parse and invoke; click's own ``main`` would turn a broken pipe and Ctrl-C into status 1."""
    try:
        with command.make_context(name, arguments) as context:
            command.invoke(context)
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
