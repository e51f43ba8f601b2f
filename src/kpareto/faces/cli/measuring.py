"""What the commands measure, utility, attack, compare and compare-releases print and write; other rooms count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from kpareto.atomic import refuse_overwriting, write_whole
from kpareto.attacks.evidence import AttackEvidence, attack
from kpareto.errors import BadJob
from kpareto.faces.cli.fronts import check_files, open_job, read_problem, show_answer
from kpareto.faces.cli.releases import file_of_rows, refuse_unasked, rows_of
from kpareto.faces.console import remark, reporting, show_table, visible
from kpareto.faces.report.answers import anonymity_page, answer_tables, attack_tables, use_tables
from kpareto.faces.report.blocks import TableBlock
from kpareto.fronts.choose import read_wish
from kpareto.jobs.front import plan_of
from kpareto.jobs.parse import load_job, read_form_words
from kpareto.releases.risk.anonymity import Anonymity, measure
from kpareto.searches.compare import SearchTrials, compare_searches, read_search
from kpareto.uses.changes import ReleaseChanges, compare_releases
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
    inputs = [*file_of_rows(source, table), *([everybody] if isinstance(everybody, Path) else [])]
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
    _print_tables(answer.sentences(), answer_tables(answer))


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
        if table.below:
            click.echo(table.below)


# -- searches and releases beside each other ---------------------------------------------------------------------------


def show_searches(  # noqa: PLR0913 (the options of the command)
    path: str,
    searches: Sequence[str],
    seeds: int,
    output: str | None,
    picture: str | None,
    overwrite: bool,
    changes: Sequence[str],
    json_file: str | None,
    quiet: bool,
) -> None:
    """``kpareto compare JOB``: run every search with every seed, print, write JSON, Markdown and a picture."""
    if output is not None:
        refuse_unasked(output, overwrite, "-o")
    job = open_job(path, changes, json_file, output, picture=picture)
    if output is not None and Path(output).suffix.lower() != ".md":
        raise BadJob(f"The page {Path(output).name!r} must end in .md. For plain data give --json FILE.")
    plan = plan_of(job)
    for words in searches:
        read_search(words, plan)  # a wrong one is a sentence before the table is read
    problem = read_problem(job, quiet, job.remarks)
    wished = read_wish(job.choose).models() if job.choose else {}
    with reporting("Comparing searches", quiet) as report:
        trials = compare_searches(problem, searches, seeds, wished.get("k"), plan, report)
    show_answer(trials, json_file, print_searches)
    if output is not None:
        write_whole(output, trials.markdown())
        remark(f"Page: {output}", quiet)
    if picture is not None:
        remark(f"Picture: {trials.save(picture)}", quiet)


def print_searches(trials: SearchTrials) -> None:
    """The tables, then the sentences."""
    for heads, rows in (trials.table(), trials.test_table()):
        show_table(heads, rows)
    for sentence in trials.sentences():
        click.echo(sentence)


def show_release_changes(  # noqa: PLR0913 (the options of the command)
    first: str,
    second: str,
    original: str,
    by: str | None,
    properties: Sequence[str],
    table: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """``kpareto compare-releases A B``: who gains and who loses, by each property, and per group."""
    data = rows_of(original, table)
    refuse_overwriting([Path(first), Path(second), *file_of_rows(original, table)], json_file)
    check_files(json_file)
    with reporting("Comparing", quiet):
        answer = compare_releases(first, second, data, by, properties)
    show_answer(answer, json_file, print_release_changes)


def print_release_changes(answer: ReleaseChanges) -> None:
    """A sentence on either release, then a table over all rows and one per property with groups."""
    for name, k, lost in zip(("first", "second"), answer.k, answer.suppressed, strict=True):
        click.echo(f"The {name} release: k = {k:,}, {lost:,} of {answer.rows:,} rows left out.")
    heads = ["property", "better", "gain", "lose", "I(first, second)", "I(second, first)", "worst", "S"]
    rows: list[list[object]] = []
    for change in answer.changes:
        compared, data = change.comparison, change.to_dict()
        sides = [" → ".join(f"{side:,.6g}" for side in pair) for pair in (change.worst, change.total)]
        gains = [compared.gain_rows, compared.lose_rows, compared.spread_ab, compared.spread_ba]
        rows.append([compared.property, data["better"], *gains, *sides])
    show_table(heads, rows, "Rows that gain and lose with the second release, and by how much in all")
    for change in answer.changes:
        if change.comparison.groups:
            groups = [
                [visible(name), group.rows, group.gain_rows, group.lose_rows, group.spread_ab, group.spread_ba]
                for name, group in change.comparison.groups.items()
            ]
            click.echo()
            show_table(["group", "rows", *heads[2:6]], groups, change.comparison.property)
