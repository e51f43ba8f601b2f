"""Blocks as one HTML page that needs nothing else: no address, font, script or picture from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kpareto._version import __version__
from kpareto.faces.report import words
from kpareto.faces.report.blocks import (
    Alerts,
    Block,
    Digest,
    Fields,
    Heading,
    Illustration,
    Illustrations,
    ItemList,
    PagePart,
    Sentence,
    TableBlock,
    Term,
    Tiles,
    Together,
)
from kpareto.faces.report.parts import FORM, form_blocks, report_parts
from kpareto.faces.report.report import FormField, Report
from kpareto.fronts.markup import Markup, safe, table, tag

STYLE = Path(__file__).with_name("report.css")
NEW_PAGE = ("warnings", "front", "hierarchies", "codebook", "method", "form")  # parts that begin a page when printed
# Nothing may be loaded or run, whatever a cell contains; the style is in the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html(report: Report, form: bool = False) -> str:
    """The whole report as a page; the anonymisation report alone if ``form``."""
    parts = report_parts(report)
    links = [tag("li", tag("a", part.title, at={"href": f"#{part.name}"})) for part in parts]
    nav = tag("nav", tag("h2", "Contents"), tag("ol", links), at={"aria-label": "Contents"})
    alone = tag("section", blocks_html(form_blocks(report.template)), at={"id": "form"})
    dated = f" · {report.date}" if report.date else ""
    who, what = words.notice(report.confidential, report.least)
    header = tag(
        "header",
        tag("div", f"kpareto · release report{dated}", at={"class": "brand"}),
        tag("h1", FORM if form else report.title),
        tag("p", tag("strong", f"{who} "), what, at={"class": "notice secret" if report.confidential else "notice"}),
        None if form else nav,
    )
    title = f"{report.title} – {'confidential' if report.confidential else 'public'} report"
    return whole_page(title, header, [alone] if form else [_section(part) for part in parts])


def whole_page(title: str, header: Markup, sections: Sequence[Markup]) -> str:
    """A page in the report's style that loads and runs nothing."""
    head = tag(
        "head",
        tag("meta", at={"charset": "utf-8"}),
        tag("meta", at={"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", at={"http-equiv": "Content-Security-Policy", "content": POLICY}),
        tag("meta", at={"name": "generator", "content": f"kpareto {__version__}"}),
        tag("title", title),
        tag("style", Markup(STYLE.read_text(encoding="utf-8"))),
    )
    skip = tag("a", "To the content", at={"href": "#content", "class": "skip"})
    foot = tag(
        "footer", tag("p", f"Made by kpareto {__version__} on the data holder's machine; nothing was sent anywhere.")
    )
    body = tag("body", skip, header, tag("main", list(sections), at={"id": "content"}), foot)
    newline = Markup("\n")
    page = tag("html", newline, head, newline, body, newline, at={"lang": "en"})
    return f"<!DOCTYPE html>\n{page}\n"


def _section(part: PagePart) -> Markup:
    kind = "newpage" if part.name in NEW_PAGE else "whole" if part.name in ("classes", "loss") else None
    title = f"{part.name}-title"
    inside = tag("h2", part.title, at={"id": title}), blocks_html(part.blocks)
    return tag("section", inside, at={"id": part.name, "class": kind, "aria-labelledby": title})


def blocks_html(blocks: Sequence[Block]) -> list[Markup]:
    """Blocks one after the other."""
    return [_block(block) for block in blocks]


def _block(block: Block) -> Markup:
    """One block as HTML."""
    match block:
        case Heading(text):
            return tag("h3", text)
        case Sentence(text, kind):
            return tag("p", text, at={"class": kind})
        case ItemList(items, numbered):
            return tag("ol" if numbered else "ul", [tag("li", item) for item in items])
        case TableBlock():
            rows = [[_cell(cell) for cell in row] for row in block.rows]
            shown = table(block.caption, block.head, rows, block.right, block.lines)
            return shown if block.kind is None else tag("div", shown, at={"class": block.kind})
        case Illustrations(figures, note):
            return safe([tag("p", note) if note else None, [_figure(figure) for figure in figures]])
        case Tiles(pairs):
            tiles = [tag("li", tag("b", big), tag("span", small)) for big, small in pairs]
            return tag("ul", tiles, at={"class": "tiles"})
        case Alerts(alerts):
            items = []
            for alert in alerts:
                name = tag("span", f"{alert.id} · {alert.severity}", at={"class": f"tag {alert.severity}"})
                items.append(tag("li", name, tag("p", alert.text), at={"class": alert.severity}))
            return tag("ul", items, at={"class": "warnings"})
        case Fields(fields):
            return tag("dl", [_field(field) for field in fields], at={"class": "form"})
        case Together(blocks, whole):
            return tag("div", blocks_html(blocks), at={"class": "whole" if whole else None})


def _figure(figure: Illustration) -> Markup:
    inner = tag("div", figure.picture, at={"class": "scroll hierarchy" if figure.title else "scroll"})
    drawn = tag("figure", inner, tag("figcaption", figure.caption) if figure.caption else None)
    return tag("div", tag("h3", figure.title), drawn, at={"class": "whole"}) if figure.title else drawn


def _cell(cell: object) -> object:
    if isinstance(cell, Term):
        return safe([tag("strong", cell.name), Markup("<br>"), tag("span", cell.meaning, at={"class": "soft"})])
    return tag("span", cell, at={"class": "hash"}) if isinstance(cell, Digest) else cell


def _field(field: FormField) -> Markup:
    if field.value is None:
        return tag("div", tag("dt", field.label), tag("dd", field.hint or Markup("&nbsp;"), at={"class": "open"}))
    return tag("div", tag("dt", field.label), tag("dd", field.value))
