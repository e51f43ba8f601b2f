"""``kpareto hierarchy``: list what is built in, write a skeleton to fill, show, lint and convert hierarchies."""

from __future__ import annotations

import click

from kpareto.faces.cli.options import quiet_option

column_option = click.option("--column", metavar="NAME", help="Whose hierarchy it is; the name of the file otherwise.")
data_option = click.option(
    "--data", metavar="DATA", help="The table (or its job) that has the column: a rule needs its values."
)


@click.command(name="list")
def list_known() -> None:
    """List the hierarchies that are built in, with their sources."""
    from kpareto.faces.console import show_table
    from kpareto.tables.hierarchies.known import KNOWN

    rows = [[known.name, known.title, " → ".join((*known.levels, "*")), known.source] for known in KNOWN.values()]
    show_table(["name", "what", "levels", "source"], rows)
    click.echo('In a job: hierarchy = {known = "countries"}')


@click.command()
@click.argument("column")
@click.argument("data")
@click.option("-o", "--output", metavar="FILE", help="COLUMN.csv unless given.")
@click.option("--known", metavar="NAME", help="Fill in the groups of a built-in hierarchy where it has a place.")
@click.option("--levels", type=click.IntRange(1, 20), default=1, show_default=True, help="Levels to fill in.")
@quiet_option
def new(column: str, data: str, output: str | None, known: str | None, levels: int, quiet: bool) -> None:
    """Write a skeleton for COLUMN of DATA (a table or its job): one line per value, its groups to be filled in.

    Example: kpareto hierarchy new occupation people.csv
    """
    from kpareto.faces.console import remark
    from kpareto.jobs.hierarchies import write_skeleton

    for sentence in write_skeleton(column, data, output, known, levels):
        remark(sentence, quiet)


@click.command()
@click.argument("form")
@column_option
@data_option
@click.option("--most", type=click.IntRange(1), default=12, show_default=True, help="Groups shown of each level.")
def show(form: str, column: str | None, data: str | None, most: int) -> None:
    """Show the levels of FORM: a file, a built-in name, or a rule such as '{intervals = [5, 10]}'.

    Example: kpareto hierarchy show countries --data people.csv --column country
    """
    from kpareto.jobs.hierarchies import describe, load_form

    for line in describe(load_form(form, column, data)[0], most):
        click.echo(line)


@click.command()
@click.argument("form")
@column_option
@data_option
def lint(form: str, column: str | None, data: str | None) -> None:
    """Say what is odd about FORM, also beside the values that DATA has.

    Example: kpareto hierarchy lint zip.csv --data people.csv --column zip
    """
    from kpareto.jobs.hierarchies import load_form
    from kpareto.tables.hierarchies.lint import lint as find_odd

    loaded, values = load_form(form, column, data, strict=False)
    findings = find_odd(loaded, values)
    for finding in findings:
        click.echo(f"{finding.kind}: {finding.text}")
    if not findings:
        click.echo("Nothing is odd.")


@click.command()
@click.argument("form")
@click.argument("target")
@column_option
@data_option
@quiet_option
def convert(form: str, target: str, column: str | None, data: str | None, quiet: bool) -> None:
    """Write FORM as TARGET: a .csv of lines as ARX has them, or a .json tree.

    Example: kpareto hierarchy convert '{intervals = [5, 10]}' age.csv --data people.csv --column age
    """
    from kpareto.faces.console import remark
    from kpareto.jobs.hierarchies import load_form, write_form

    loaded, _ = load_form(form, column, data)
    write_form(loaded, target)
    remark(f"Wrote {target}: {len(loaded.leaves):,} values, {loaded.height + 1} levels.", quiet)


HIERARCHY_COMMANDS = (list_known, new, show, lint, convert)
