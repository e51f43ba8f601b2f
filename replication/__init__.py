"""The five papers rebuilt: every reported result beside ours, every figure redrawn, one file per paper.

``make papers`` writes a page (Markdown, SVG, JSON) for each. To add a paper, write a file with ``IDS`` (the results
it reports) and ``page(quick, say) -> Page``, and give it one row in PAPERS (jobs/examples.py).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from kpareto.atomic import whole, write_whole
from kpareto.errors import BadJob, did_you_mean
from kpareto.faces.console import remark, show_table, write_json
from kpareto.jobs.examples import PAPERS
from replication.figures import draw
from replication.page import Page, Say, duration, grid
from replication.tolerances import FEWEST, LEVEL, tolerance_rows

FOLDER = "kpareto-papers"
# A page written by hand, in our own folder only.
READ = "What IY-1, PO-e1, O16 … stand for, and how unclear passages are read, is told in [readings](readings.md)."


def ids_of(name: str) -> tuple[str, ...]:
    """The results a paper reports, by their ids in docs/papers/readings.md."""
    ids: tuple[str, ...] = import_module(f"replication.{name}").IDS
    return ids


def rebuild(name: str, quick: bool, say: Say) -> Page:
    """Run the experiments of one paper; every result it reports is on the page, once."""
    began, cpu = time.perf_counter(), time.process_time()
    paper: Page = import_module(f"replication.{name}").page(quick, say)
    paper.wall, paper.seconds = round(time.perf_counter() - began, 1), round(time.process_time() - cpu, 1)
    told = [result.id for result in paper.results]
    if sorted(told) != sorted(ids_of(name)):
        raise TypeError(f"the page {name} reports {told}, and the paper {ids_of(name)}")
    return paper


def run(
    names: Sequence[str] = (), quick: bool = False, output: str = FOLDER, json_file: str | None = None,
    quiet: bool = False,
) -> None:  # fmt: skip
    """Rebuild papers, write their pages into a folder, and print the verdicts."""
    for name in names:
        if name not in PAPERS:
            raise BadJob(f"No paper {name!r}. {did_you_mean(name, PAPERS)}There are: {', '.join(PAPERS)}.")
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise BadJob(f"{output!r} is not a folder. Give another name.")
    pages = []
    for name in dict.fromkeys(names or PAPERS):  # a page is written as soon as it is whole
        pages.append(rebuild(name, quick, lambda text: remark(text, quiet)))
        write_page(pages[-1], folder)
    write_whole(folder / "README.md", contents(folder))
    if json_file != "-":
        rows = [(result.id, result.verdict.kind, result.verdict.note) for paper in pages for result in paper.results]
        show_table(["result", "verdict", ""], rows)
        click.echo(f"Pages: {folder / 'README.md'}")
    write_json({paper.key: paper.as_data() for paper in pages} if json_file else None, json_file)


def write_page(paper: Page, folder: Path) -> None:
    """A page, its figures and its numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in paper.figures:
        with whole(folder / f"{figure.name}.svg") as part:
            part.write_bytes(draw(figure))
    write_whole(folder / f"{paper.key}.md", paper.markdown())
    write_whole(
        folder / f"{paper.key}.json", json.dumps(paper.as_data(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def contents(folder: Path) -> str:
    """The first page of a folder: the pages that are there, their verdicts counted, their times, their main results."""
    kept = {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in PAPERS
        if (folder / f"{name}.json").exists()
    }
    rows, lines = [], []
    for name, data in kept.items():
        kinds = [result["verdict"] for result in data["results"]]
        counts = (kinds.count(kind) for kind in ("matches", "differs", "cannot be compared"))
        rows.append((f"[{PAPERS[name]}]({name}.md)", len(kinds), *counts))
        link = f"[{data['title']}]({name}.md)"
        lines += [
            (link, *(line[key] for key in ("result", "printed", "ours", "then", "now"))) for line in data["summary"]
        ]
    return "\n".join([
        "# The five papers rebuilt",
        "",
        "Written by `make papers`; verdicts are worked out from the numbers.",
        "A result matches within the tolerance beside it, differs by the amount told, or cannot be compared, and why.",
        "A statement with several parts has a verdict on each (a, b, c …), and each is counted.",
        *([READ] if (folder / "readings.md").exists() else []),
        "",
        *grid(("paper", "results", "match", "differ", "cannot be compared"), rows),
        "",
        _total(list(kept.values())),
        "",
        *grid(("paper", "result", "printed", "ours", "time then", "time now (processor)"), lines),
        "",
        "## How near is near",
        "",
        "Fixed before the runs, and one line for all results of a kind; other statements hold or do not hold.",
        (
            f"Which of two searches is better is told by a rank test (two-sided, {100 * LEVEL:g} %) of at least "
            f"{FEWEST} runs each; its p stands beside the verdict, "
            "with the difference that so many runs show in 80 % of cases."
        ),
        "What chance explains, cannot fail or was chosen by its own number gets no verdict.",
        *_exempt(kept),
        "",
        *grid(("kind", "tolerance", "reason"), tolerance_rows()),
        "",
    ])  # fmt: skip


def _exempt(pages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Which pages are older than the table, whose results have one verdict each and a tolerance of their own."""
    older = [name for name, data in pages.items() if not any(each["id"][-1].isalpha() for each in data["results"])]
    if not older:
        return []
    return [f"Older than this table, with a tolerance of its own beside each result: {', '.join(older)}."]


def _total(pages: Sequence[Mapping[str, Any]]) -> str:
    """How long the pages took."""
    wall, seconds = (duration(sum(data[key] for data in pages)) for key in ("seconds", "cpu_seconds"))
    what = "page" if len(pages) == 1 else f"{len(pages)} pages"
    kind = " of a quick run" if any(data["quick"] for data in pages) else ""
    where = "; ".join(sorted({data["versions"]["machine"] for data in pages}))
    return f"The {what}{kind} took {wall} on a machine of {where}, which gave them {seconds} of processor time."
