"""What the command measure prints and writes; the counting itself is in releases/risk/anonymity.py."""

from __future__ import annotations

from pathlib import Path

import click

from kpareto.atomic import write_whole
from kpareto.errors import BadJob
from kpareto.faces.cli.fronts import check_files
from kpareto.faces.cli.releases import where
from kpareto.faces.console import remark, reporting, show_table, write_json
from kpareto.faces.report.anonymity import anonymity_page, answer_tables
from kpareto.jobs.parse import read_form_words
from kpareto.releases.documents import refuse_overwriting
from kpareto.releases.risk.anonymity import Anonymity, measure


def show_anonymity(  # noqa: PLR0913 (the options of the command)
    source: str,
    quasi: str,
    sensitive: str,
    population: str | None,
    person: str | None,
    rows: int,
    output: str | None,
    json_file: str | None,
    encoding: str = "utf-8",
    form: tuple[str, ...] = (),
    table: str | None = None,
    quiet: bool = False,
) -> Anonymity:
    """``kpareto measure DATA --quasi …``: count the table as it is, print, write JSON and a page."""
    data: object = where(source, table)
    if source == "adult":
        from kpareto.tables.adult import adult

        data = adult("train")
    keys = read_form_words(form, source)
    everybody = _read_population(population)
    inputs = [] if source == "adult" else [Path(source)]
    inputs += [everybody] if isinstance(everybody, Path) else []
    refuse_overwriting(inputs, output, json_file)
    check_files(output, json_file)
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        raise BadJob(f"The page {Path(output).name!r} must end in .html. For plain data give --json FILE.")
    with reporting("Counting", quiet):
        answer = measure(
            data,
            _split(quasi),
            _split(sensitive),
            population=everybody,
            person=person,
            rows=rows,
            encoding=encoding,
            form=keys,
        )
    if json_file != "-":
        print_anonymity(answer)
    write_json(answer.to_dict() if json_file else None, json_file)
    if output is not None:
        write_whole(output, anonymity_page(answer, table or Path(source).name), private=bool(answer.riskiest))
        remark(f"Page: {output}", quiet)
    return answer


def print_anonymity(answer: Anonymity) -> None:
    """The sentences, then the tables."""
    for sentence in answer.sentences():
        click.echo(sentence)
    for each in answer_tables(answer):
        click.echo()
        show_table(each.heads, each.rows, each.title)
        if each.below:
            click.echo(each.below)


def _split(names: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def _read_population(population: str | None) -> float | int | Path | None:
    """A share, a number of people, or a file."""
    if population is None:
        return None
    try:
        number = float(population.replace("_", ""))
    except ValueError:
        return Path(population)
    return int(number) if number.is_integer() and number > 1 else number
