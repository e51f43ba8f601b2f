"""What pages are made of: parts with a title, and in them sentences, lists, tables and pictures; as HTML and Markdown.

A page of HTML needs nothing else: no address, font, script or picture from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import NamedTuple

from kpareto._version import __version__
from kpareto.faces.report.report import FormField
from kpareto.fronts.markup import Markup, safe, table, tag, visible
from kpareto.releases.warnings import Remark

STYLE = Path(__file__).with_name("report.css")
# Nothing may be loaded or run, whatever a cell contains; the style is in the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")


class Term(NamedTuple):
    """A cell with a name and, less loud, what it means."""

    name: str
    meaning: str


class Digest(str):
    """A cell with a hash, which may be broken anywhere."""

    __slots__ = ()


@dataclass(frozen=True)
class Heading:
    """A line above what follows, within a part."""

    text: str


@dataclass(frozen=True)
class Sentence:
    """A paragraph."""

    text: str
    kind: str | None = None  # lead, soft


@dataclass(frozen=True)
class ItemList:
    """Sentences one below the other."""

    items: Sequence[str]
    numbered: bool = False


@dataclass(frozen=True)
class TableBlock:
    """A table."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    right: Iterable[int] = ()  # columns of numbers
    lines: Mapping[int, str] = field(default_factory=dict)  # line -> how it is set off: chosen, gone
    kind: str | None = None  # dense: with many columns; keep: cells are not broken
    below: str = ""  # a sentence on it


@dataclass(frozen=True)
class Illustration:
    """A picture with the words above and below it."""

    picture: Markup
    caption: str = ""
    title: str = ""


@dataclass(frozen=True)
class Illustrations:
    """Pictures and what they show, in a sentence; where there can be none, a table of the same."""

    figures: Sequence[Illustration]
    note: str = ""
    instead: TableBlock | None = None


@dataclass(frozen=True)
class Tiles:
    """Numbers in large letters, each with its words; where there are none, the sentences have them."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Alerts:
    """Warnings, the gravest first."""

    alerts: Sequence[Remark]


@dataclass(frozen=True)
class Fields:
    """Lines of a form."""

    fields: Sequence[FormField]


@dataclass(frozen=True)
class Together:
    """Blocks that paper does not part."""

    blocks: Sequence[Block]
    whole: bool = True


Block = Heading | Sentence | ItemList | TableBlock | Illustrations | Tiles | Alerts | Fields | Together


@dataclass(frozen=True)
class PagePart:
    """A part of a page: its address, its title and its blocks."""

    name: str
    title: str
    blocks: Sequence[Block]


# -- as HTML ----------------------------------------------------------------------------------------------------------


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


def blocks_html(blocks: Sequence[Block]) -> list[Markup]:
    """Blocks one after the other."""
    return [_block_html(block) for block in blocks]


def _block_html(block: Block) -> Markup:
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
            shown = shown if block.kind is None else tag("div", shown, at={"class": block.kind})
            return safe([shown, tag("p", block.below)]) if block.below else shown
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
            return tag("dl", [_field_html(field) for field in fields], at={"class": "form"})
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


def _field_html(field: FormField) -> Markup:
    if field.value is None:
        return tag("div", tag("dt", field.label), tag("dd", field.hint or Markup("&nbsp;"), at={"class": "open"}))
    return tag("div", tag("dt", field.label), tag("dd", field.value))


# -- as Markdown ------------------------------------------------------------------------------------------------------


def escape_text(text: object) -> str:
    """A text in which nothing is Markdown or HTML."""
    return SPECIAL.sub(r"\\\1", escape(visible(text), quote=False))


def blocks_markdown(blocks: Sequence[Block], mark: str) -> list[str]:
    """The lines of blocks one after the other; headings begin with the mark."""
    return [line for block in blocks for line in _block_markdown(block, mark)]


def _block_markdown(block: Block, mark: str) -> list[str]:
    """The lines of one block."""
    match block:
        case Heading(text):
            return ["", f"{mark} {escape_text(text)}", ""]
        case Sentence(text):
            return [escape_text(text)]
        case ItemList(items, numbered):
            starts = [f"{count}." for count in range(1, len(items) + 1)] if numbered else ["*"] * len(items)
            return [*(f"{start} {escape_text(item)}" for start, item in zip(starts, items, strict=True)), ""]
        case TableBlock():
            return _grid(block)
        case Illustrations():
            return [] if block.instead is None else _grid(block.instead)
        case Tiles():
            return []
        case Alerts(alerts):
            return [*(f"* **{alert.id}** ({alert.severity}): {escape_text(alert.text)}" for alert in alerts), ""]
        case Fields(fields):
            return [_field_markdown(field) for field in fields]
        case Together(inside):
            return blocks_markdown(inside, mark)


def _grid(grid: TableBlock) -> list[str]:
    """A table with its caption."""
    caption = escape_text(grid.caption if grid.caption.endswith((".", ":")) else f"{grid.caption}.")
    lines = ["", caption, "", "| " + " | ".join(escape_text(name) or " " for name in grid.head) + " |"]
    lines.append("|" + " --- |" * len(grid.head))
    for row in grid.rows:
        cells = (f"{cell.name} ({cell.meaning})" if isinstance(cell, Term) else cell for cell in row)
        lines.append("| " + " | ".join(map(escape_text, cells)) + " |")
    return [*lines, "", *([escape_text(grid.below), ""] if grid.below else [])]


def _field_markdown(field: FormField) -> str:
    if field.value is not None:
        return f"* {escape_text(field.label)}: {escape_text(field.value)}"
    hint = f" ({escape_text(field.hint)})" if field.hint else ""
    return f"* {escape_text(field.label)}{hint}: …"
