"""The five papers rebuilt: every reported result beside ours, every figure redrawn, one file per paper.

``kpareto papers`` writes a page (Markdown, SVG, JSON) for each. To add a paper, write a file with ``IDS`` (the results
it reports) and ``page(quick, say) -> Page``, and give it one row in PAPERS.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import click

from kpareto.console import remark, show_table
from kpareto.errors import BadJob, did_you_mean
from kpareto.papers.figures import drawn
from kpareto.papers.page import Page, Say, grid
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
    made: Page = import_module(f"kpareto.papers.{name}").page(quick, say)
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
    pages = [rebuild(name, quick, lambda text: remark(text, quiet)) for name in dict.fromkeys(names or PAPERS)]
    write_pages(pages, folder)
    if json_file != "-":
        rows = [(result.id, result.verdict.kind, result.verdict.note) for made in pages for result in made.results]
        show_table(["result", "verdict", ""], rows)
        click.echo(f"Pages: {folder / 'README.md'}")
    write_json({made.key: made.as_data() for made in pages} if json_file else None, json_file)


def write_pages(pages: Sequence[Page], folder: Path) -> None:
    """Pages, figures, numbers, and a table of contents with the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    for made in pages:
        for figure in made.figures:
            with whole(folder / f"{figure.name}.svg") as part:
                part.write_bytes(drawn(figure))
        write_whole(folder / f"{made.key}.md", made.markdown())
        write_whole(
            folder / f"{made.key}.json",
            json.dumps(made.as_data(), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        )
    write_whole(folder / "README.md", contents(pages))


def contents(pages: Sequence[Page]) -> str:
    """The first page: what there is, and the verdicts counted."""
    lines = [
        "# The five papers rebuilt",
        "",
        "Written by `kpareto papers`; verdicts are worked out from the numbers.",
        "",
    ]
    rows = []
    for made in pages:
        kinds = [result.verdict.kind for result in made.results]
        rows.append((f"[{PAPERS[made.key]}]({made.key}.md)", len(kinds), kinds.count("matches"),
                     kinds.count("differs"), kinds.count("cannot be compared")))  # fmt: skip
    lines += grid(("paper", "results", "match", "differ", "cannot be compared"), rows)
    return "\n".join([*lines, "", *summary(pages, ""), ""])


def summary(pages: Sequence[Page], folder: str) -> list[str]:
    """One table: paper, result, printed, ours, time then, time now."""
    rows = []
    for made in pages:
        for result, printed, ours, name in made.summary:
            experiment = next(each for each in made.experiments if each.name == name)
            link = f"[{made.title}]({folder}{made.key}.md)"
            rows.append((link, result, printed, ours, experiment.then, f"{made.spent(name)} ({experiment.detail})"))
    return grid(("paper", "result", "printed", "ours", "time then", "time now (processor)"), rows)
