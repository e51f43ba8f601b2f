"""What the commands measure, utility and attack print and write; other rooms count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from kpareto.atomic import write_whole
from kpareto.attacks.evidence import AttackEvidence, attack
from kpareto.errors import BadJob
from kpareto.faces.cli.fronts import check_files, show_answer
from kpareto.faces.cli.releases import file_of_rows, refuse_unasked, rows_of
from kpareto.faces.console import remark, reporting, show_table, visible
from kpareto.faces.report.anonymity import anonymity_page, answer_tables
from kpareto.faces.report.blocks import TableBlock
from kpareto.faces.report.use import attack_tables, use_tables
from kpareto.jobs.parse import load_job, read_form_words
from kpareto.releases.documents import refuse_overwriting
from kpareto.releases.risk.anonymity import Anonymity, measure
from kpareto.uses.utility import Utility, utility


def show_anonymity(  # noqa: PLR0913 (the options of the command)
    source: str,
    quasi: str,
    sensitive: str,
    population: str | None,
    person: str | None,
    rows: int,
    output: str | None,
    encoding: str,
    form: tuple[str, ...],
    table: str | None,
    json_file: str | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """``kpareto measure DATA --quasi …``: count the table as it is, print, write JSON and a page."""
    if output is not None:
        refuse_unasked(output, overwrite, "-o")
    data = rows_of(source, table)
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
    show_answer(answer, json_file, print_anonymity)
    if output is not None:
        write_whole(output, anonymity_page(answer, table or Path(source).name), private=bool(answer.riskiest))
        remark(f"Page: {output}", quiet)


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


def show_utility(  # noqa: PLR0913 (the options of the command)
    release: str,
    original: str,
    job: str | None,
    recoding: str | None,
    seed: int,
    table: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """``kpareto utility RELEASE --original TABLE``: measure, print, write JSON."""
    data = _original_of(release, original, table, (job, recoding), json_file)
    asked = {} if job is None else load_job(job).use
    with reporting("Measuring", quiet):
        answer = utility(release, data, recoding=recoding, seed=seed, **asked)
    show_answer(answer, json_file, print_utility)


def _original_of(
    release: str, original: str, table: str | None, further: Iterable[str | None], json_file: str | None
) -> object:
    """The original that a command names, once its files are there to be read and written."""
    inputs = [Path(release), *file_of_rows(original, table), *map(Path, filter(None, further))]
    refuse_overwriting(inputs, json_file)
    check_files(json_file)
    if not Path(release).exists():
        raise BadJob(f"There is no release {release!r}. Give the file that kpareto release wrote.")
    return rows_of(original, table)


def show_attack(  # noqa: PLR0913 (the options of the command)
    release: str,
    original: str,
    control: str | None,
    known: Sequence[str],
    recoding: str | None,
    attempts: int,
    seed: int,
    table: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """``kpareto attack RELEASE --original TABLE``: try, print, write JSON."""
    data = _original_of(release, original, table, (control, recoding), json_file)
    sets = [_split(names) for names in known]
    with reporting("Attacking", quiet):
        answer = attack(
            release, original=data, control=control, known=sets, attempts=attempts, seed=seed, recoding=recoding
        )
    show_answer(answer, json_file, print_attack)


def print_attack(answer: AttackEvidence) -> None:
    """The sentences, the tables, then the remarks."""
    _print_tables(answer.sentences(), attack_tables(answer))
    click.echo()
    for aside in answer.remarks:
        click.echo(visible(aside))


def print_utility(answer: Utility) -> None:
    """The sentences, then the tables."""
    _print_tables((*answer.sentences(), *answer.remarks), use_tables(answer))


def _print_tables(sentences: Iterable[str], tables: Iterable[TableBlock]) -> None:
    for sentence in sentences:
        click.echo(visible(sentence))
    for table in tables:
        click.echo()
        show_table(table.head, table.rows, table.caption)
