"""The five papers rebuilt: every reported result beside ours, every figure redrawn, one file per paper.

``kpareto papers`` writes a page (Markdown, SVG, JSON) for each. To add a paper, write a file with ``IDS`` (the results
it reports) and ``page(quick, say) -> Page``, and give it one row in PAPERS.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from kpareto.console import remark, show_table
from kpareto.errors import BadJob, did_you_mean
from kpareto.papers.figures import drawn
from kpareto.papers.page import Page, Say, duration, grid
from kpareto.shell import write_json
from kpareto.whole import whole, write_whole

PAPERS: Mapping[str, str] = {  # name -> what it is about
    "iyengar": "Iyengar, KDD 2002: recodings for a use",
    "lunacek": "Lunacek, Whitley and Ray, GECCO 2006: a crossover for trees",
    "gecco09": "Dewri, Whitley, Ray and Ray, GECCO 2009: preferences and bias",
    "poka": "Dewri, Ray, Ray and Whitley, CIKM 2009: POkA",
    "pbg": "Dewri, Ray, Ray and Whitley, DBSEC 2010: PBG-EA",
}
FOLDER = "kpareto-papers"


def ids_of(name: str) -> tuple[str, ...]:
    """The results a paper reports, by the ids of the specification."""
    found: tuple[str, ...] = import_module(f"kpareto.papers.{name}").IDS
    return found


def rebuild(name: str, quick: bool, say: Say) -> Page:
    """Run the experiments of one paper; every result it reports is on the page, once."""
    began, cpu = time.perf_counter(), time.process_time()
    made: Page = import_module(f"kpareto.papers.{name}").page(quick, say)
    made.wall, made.seconds = round(time.perf_counter() - began, 1), round(time.process_time() - cpu, 1)
    told = [result.id for result in made.results]
    if sorted(told) != sorted(ids_of(name)):
        raise TypeError(f"the page {name} reports {told}, and the paper {ids_of(name)}")
    return made


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
        rows = [(result.id, result.verdict.kind, result.verdict.note) for made in pages for result in made.results]
        show_table(["result", "verdict", ""], rows)
        click.echo(f"Pages: {folder / 'README.md'}")
    write_json({made.key: made.as_data() for made in pages} if json_file else None, json_file)


def write_page(made: Page, folder: Path) -> None:
    """A page, its figures and its numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in made.figures:
        with whole(folder / f"{figure.name}.svg") as part:
            part.write_bytes(drawn(figure))
    write_whole(folder / f"{made.key}.md", made.markdown())
    write_whole(
        folder / f"{made.key}.json", json.dumps(made.as_data(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
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
        "Written by `kpareto papers`; verdicts are worked out from the numbers.",
        "A result matches within the tolerance beside it, differs by the amount told, or cannot be compared, and why.",
        "",
        *grid(("paper", "results", "match", "differ", "cannot be compared"), rows),
        "",
        _total(list(kept.values())),
        "",
        *grid(("paper", "result", "printed", "ours", "time then", "time now (processor)"), lines),
        "",
    ])  # fmt: skip


def _total(pages: Sequence[Mapping[str, Any]]) -> str:
    """How long the pages took."""
    wall, seconds = (duration(sum(data[key] for data in pages)) for key in ("seconds", "cpu_seconds"))
    what = "page" if len(pages) == 1 else f"{len(pages)} pages"
    kind = " of a quick run" if any(data["quick"] for data in pages) else ""
    where = "; ".join(sorted({data["versions"]["machine"] for data in pages}))
    return f"The {what}{kind} took {wall} on a machine of {where}, which gave them {seconds} of processor time."
