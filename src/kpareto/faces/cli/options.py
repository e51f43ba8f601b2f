"""Options that several commands take, in the same words for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., object])


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
    """``--set part.key=value`` and ``--seconds N``, in the same words for every command that takes a job."""
    seconds = click.option(
        "--seconds",
        type=float,
        metavar="N",
        is_eager=True,
        expose_value=False,
        callback=_note_seconds,
        help="The time that the search may take; then its best so far, with proven bounds, is the answer.",
    )
    option = click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="PART.KEY=VALUE",
        callback=_add_seconds,
        help='Change the job, such as --set search.method=nsga2 --set \'search.objectives=["k", "lm"]\' (repeatable).',
    )
    return option(seconds(function))


def _note_seconds(context: click.Context, _: click.Parameter, value: float | None) -> None:
    context.meta["kpareto.seconds"] = value


def _add_seconds(context: click.Context, _: click.Parameter, changes: tuple[str, ...]) -> tuple[str, ...]:
    """The changes of a job, the time that ``--seconds`` gives it among them."""
    seconds = context.meta.get("kpareto.seconds")
    return changes if seconds is None else (*changes, f"search.seconds={seconds!r}")


def table_option(function: Function) -> Function:
    """``--table NAME``, in the same words for every command that takes rows or a release."""
    option = click.option("--table", metavar="NAME", help="The table, where an address postgresql://… is given.")
    return option(function)


def sign_option(function: Function) -> Function:
    """``--sign KEY``, in the same words for every command that releases."""
    option = click.option("--sign", metavar="KEY", help="Sign the documents with a key of kpareto key new.")
    return option(function)


def overwrite_option(function: Function) -> Function:
    """``--overwrite``, in the same words for every command that releases."""
    option = click.option("--overwrite", is_flag=True, help="Replace a release that lies where this one goes.")
    return option(function)


def trust_option(function: Function) -> Function:
    """``--trust KEY.pub``, in the same words for every command that reads a signed document."""
    option = click.option("--trust", metavar="KEY.pub", help="Refuse what none of these keys has signed.")
    return option(function)


def model_option(function: Callable[..., None]) -> Callable[..., None]:
    """Take the search of another model of recoding."""
    option = click.option(
        "--model",
        type=click.Choice(["lattice", "cuts", "local"]),
        help="Instead of the job's search: whole levels, cuts of hierarchies, or labels by class.",
    )
    return option(function)
