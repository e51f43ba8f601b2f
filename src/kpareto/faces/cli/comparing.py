"""What the commands compare and compare-releases print and write; the work is in searches/compare.py and uses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kpareto.atomic import write_whole
from kpareto.errors import BadJob
from kpareto.faces.cli.fronts import check_files, protect, read_problem
from kpareto.faces.cli.releases import where
from kpareto.faces.console import remark, reporting, show_table, visible, write_json
from kpareto.fronts.choose import read_wish
from kpareto.fronts.picture import check_picture
from kpareto.jobs.front import plan_of
from kpareto.jobs.parse import load_job
from kpareto.releases.documents import refuse_overwriting
from kpareto.searches.compare import SearchTrials, compare_searches, read_search
from kpareto.uses.changes import ReleaseChanges, compare_releases


def show_searches(  # noqa: PLR0913 (the options of the command)
    path: str,
    searches: Sequence[str],
    seeds: int,
    output: str | None = None,
    json_file: str | None = None,
    picture: str | None = None,
    changes: Sequence[str] = (),
    quiet: bool = False,
) -> SearchTrials:
    """``kpareto compare JOB``: run every search with every seed, print, write JSON, Markdown and a picture."""
    job = load_job(path, changes)
    protect(job, path, json_file, picture, output)
    check_files(json_file, picture, output)
    check_picture(picture)
    if output is not None and Path(output).suffix.lower() != ".md":
        raise BadJob(f"The page {Path(output).name!r} must end in .md. For plain data give --json FILE.")
    own = plan_of(job)
    for words in searches:
        read_search(words, own)  # a wrong one is a sentence before the table is read
    problem = read_problem(job, quiet, job.remarks)
    wished = read_wish(job.choose).models() if job.choose else {}
    with reporting("Comparing searches", quiet) as report:
        trials = compare_searches(problem, searches, seeds, wished.get("k"), own, report)
    if json_file != "-":
        for heads, rows in (trials.table(), trials.test_table()):
            show_table(heads, rows)
        for sentence in trials.sentences():
            click.echo(sentence)
    write_json(trials.to_dict() if json_file else None, json_file)
    if output is not None:
        write_whole(output, trials.markdown())
        remark(f"Page: {output}", quiet)
    if picture is not None:
        remark(f"Picture: {trials.save(picture)}", quiet)
    return trials


def show_release_changes(  # noqa: PLR0913 (the options of the command)
    first: str,
    second: str,
    original: str,
    by: str | None = None,
    properties: Sequence[str] = (),
    table: str | None = None,
    json_file: str | None = None,
    quiet: bool = False,
) -> ReleaseChanges:
    """``kpareto compare-releases A B``: who gains and who loses, by each property, and per group."""
    data: object = where(original, table)
    if original == "adult":
        from kpareto.tables.adult import adult

        data = adult("train")
    inputs = [first, second, *([] if original == "adult" or table else [original])]
    refuse_overwriting([Path(each) for each in inputs], json_file)
    check_files(json_file)
    with reporting("Comparing", quiet):
        answer = compare_releases(first, second, data, by, properties)
    if json_file != "-":
        print_release_changes(answer)
    write_json(answer.to_dict() if json_file else None, json_file)
    return answer


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
