"""The word kpareto itself: the group that every command belongs to."""

from __future__ import annotations

from typing import Any

import click

from kpareto._version import __version__
from kpareto.errors import BadJob, did_you_mean

# A person looks at a table, searches, releases, checks; what is left follows by the alphabet.
ORDER = ("inspect", "measure", "hierarchy", "front", "release", "verify", "apply", "report", "serve", "private", "key")
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
