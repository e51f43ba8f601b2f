"""Options that several commands take, in the same words for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kpareto._version import __version__
from kpareto.errors import BadJob, did_you_mean

Function = TypeVar("Function", bound=Callable[..., object])

quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress and no remarks.")
json_option = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the answer as JSON to FILE; '-' is standard output.",
)
table_option = click.option("--table", metavar="NAME", help="The table, where an address postgresql://… is given.")
sign_option = click.option("--sign", metavar="KEY", help="Sign the documents with a key of kpareto key new.")
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace what lies where this goes.")
trust_option = click.option("--trust", metavar="KEY.pub", help="Refuse what none of these keys has signed.")
original_option = click.option(
    "--original", required=True, metavar="TABLE", help="What it was released from: a file, or adult."
)
recoding_option = click.option(
    "--recoding", metavar="FILE", help="The recoding file, where it does not lie beside the release."
)
accept_option = click.option(
    "--accept",
    metavar="W1,W17",
    default="",
    callback=lambda _context, _option, words: tuple(word.strip() for word in words.split(",") if word.strip()),
    help="Release in spite of these warnings where they are dangers; else a danger stops it.",
)


def form_option(function: Function) -> Function:
    """``--encoding`` and ``--form``: how a file is to be read."""
    encoding = click.option("--encoding", default="utf-8", show_default=True, help="Of a text file, such as latin-1.")
    form = click.option(
        "--form", multiple=True, metavar="KEY=VALUE", help="Of a file: sheet=People, header=true, skip=2, …"
    )
    return encoding(form(function))


def _note(key: str) -> Callable[[click.Context, click.Parameter, object], None]:
    """What keeps the value of an option for ``--set``, which puts it among the changes of the job."""

    def note(context: click.Context, _: click.Parameter, value: object) -> None:
        context.meta[key] = value

    return note


def set_option(function: Function) -> Function:
    """``--set part.key=value`` and ``--seconds N``: changes of a job."""
    seconds = click.option(
        "--seconds",
        type=float,
        metavar="N",
        is_eager=True,
        expose_value=False,
        callback=_note("kpareto.seconds"),
        help="The time that the search may take; then its best so far, with proven bounds, is the answer.",
    )
    option = click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="PART.KEY=VALUE",
        callback=_add_noted,
        help='Change the job, such as --set search.method=nsga2 --set \'search.objectives=["k", "lm"]\' (repeatable).',
    )
    return option(seconds(function))


def _add_noted(context: click.Context, _: click.Parameter, changes: tuple[str, ...]) -> tuple[str, ...]:
    """The changes of a job, among them the time that ``--seconds`` gives it and the proof that ``--prove`` asks for."""
    seconds = context.meta.get("kpareto.seconds")
    more = () if seconds is None else (f"search.seconds={seconds!r}",)
    return (*changes, *more, *(("search.prove=true",) if context.meta.get("kpareto.prove") else ()))


def model_option(function: Function) -> Function:
    """``--model`` takes the search of another model of recoding, ``--prove`` lets its bound take longer."""
    prove = click.option(
        "--prove",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note("kpareto.prove"),
        help="Labels by class only: let the proof of the gap take longer, so that it says more.",
    )
    option = click.option(
        "--model",
        type=click.Choice(["lattice", "cuts", "local"]),
        help="Instead of the job's search: whole levels, cuts of hierarchies, or labels by class.",
    )
    return option(prove(function))


# The word kpareto itself: the group that every command belongs to.

# A person looks at a table, searches, releases, checks; what is left follows by the alphabet.
ORDER = (
    *("inspect", "measure", "hierarchy", "front", "release", "verify", "utility", "apply", "report", "serve"),
    *("private", "key"),
)
# What was a command once, and is a program of the repository now (decision 0027).
MOVED = {"bench": "The benchmarks", "papers": "The rebuilt papers"}


class Command(click.Command):
    """A command that uses one Spark session, should it need any; its help, which click shows itself, loads nothing."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the sessions it starts are stopped with it."""
        from kpareto.engines.spark.connect import keep_session

        with keep_session():
            return super().invoke(ctx)


class Commands(click.Group):
    """A click group that lists commands in the order of use, and answers a mistyped one with the nearest."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a person needs them, not by the alphabet."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        word = args[0]
        if word in MOVED and ctx.parent is None:
            raise BadJob(f"{MOVED[word]} are not in the package: run 'make {word}' in the repository of kpareto.")
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            known = self.list_commands(ctx)
            ctx.fail(f"No command {word!r}. {did_you_mean(word, known)}There are: {', '.join(known)}.")
        return super().resolve_command(ctx, args)


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
