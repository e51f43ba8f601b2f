"""What the commands compare and compare-releases print and write; the work is in searches/compare.py and uses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kpareto.atomic import write_whole
from kpareto.errors import BadJob
from kpareto.faces.cli.fronts import check_files, open_job, read_problem, show_answer
from kpareto.faces.cli.releases import file_of_rows, refuse_unasked, rows_of
from kpareto.faces.console import remark, reporting, show_table, visible
from kpareto.fronts.choose import read_wish
from kpareto.jobs.front import plan_of
from kpareto.releases.documents import refuse_overwriting
from kpareto.searches.compare import SearchTrials, compare_searches, read_search
from kpareto.uses.changes import ReleaseChanges, compare_releases


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
    own = plan_of(job)
    for words in searches:
        read_search(words, own)  # a wrong one is a sentence before the table is read
    problem = read_problem(job, quiet, job.remarks)
    wished = read_wish(job.choose).models() if job.choose else {}
    with reporting("Comparing searches", quiet) as report:
        trials = compare_searches(problem, searches, seeds, wished.get("k"), own, report)
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
        each, data = change.comparison, change.to_dict()
        sides = [" → ".join(f"{side:,.6g}" for side in pair) for pair in (change.worst, change.total)]
        gains = [each.gain_rows, each.lose_rows, each.spread_ab, each.spread_ba]
        rows.append([each.property, data["better"], *gains, *sides])
    show_table(heads, rows, "Rows that gain and lose with the second release, and by how much in all")
    for change in answer.changes:
        if change.comparison.groups:
            groups = [
                [visible(name), each.rows, each.gain_rows, each.lose_rows, each.spread_ab, each.spread_ba]
                for name, each in change.comparison.groups.items()
            ]
            click.echo()
            show_table(["group", "rows", *heads[2:6]], groups, change.comparison.property)
