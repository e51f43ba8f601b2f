"""Blocks as Markdown: the same parts as the page, tables instead of pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from kpareto._version import __version__
from kpareto.faces.report import words
from kpareto.faces.report.blocks import (
    Alerts,
    Block,
    Fields,
    Heading,
    Illustrations,
    ItemList,
    Sentence,
    TableBlock,
    Term,
    Tiles,
    Together,
)
from kpareto.faces.report.parts import FORM, form_blocks, report_parts
from kpareto.faces.report.report import FormField, Report
from kpareto.fronts.markup import visible

SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")


def escape_text(text: object) -> str:
    """A text in which nothing is Markdown or HTML."""
    return SPECIAL.sub(r"\\\1", escape(visible(text), quote=False))


def markdown(report: Report, form: bool = False) -> str:
    """The whole report as Markdown; the anonymisation report alone if ``form``."""
    who, what = words.notice(report.confidential, report.least)
    notice = [f"**{who}** {what}", *([f"Date: {escape_text(report.date)}."] if report.date else [])]
    if form:
        return _join([f"# {FORM}", "", *notice, *blocks_markdown(form_blocks(report.template), "##"), ""])
    lines = [f"# {escape_text(report.title)}", "", *notice]
    for part in report_parts(report):
        if inside := blocks_markdown(part.blocks, "###"):
            lines += ["", f"## {part.title}", "", *inside]
    return _join([*lines, "", f"Made by kpareto {__version__}.", ""])


def _join(lines: Sequence[str]) -> str:
    """The lines as a text, never more than one of them empty in a row."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def blocks_markdown(blocks: Sequence[Block], mark: str) -> list[str]:
    """The lines of blocks one after the other; headings begin with the mark."""
    return [line for block in blocks for line in _block(block, mark)]


def _block(block: Block, mark: str) -> list[str]:
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
            return [_field(field) for field in fields]
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
    return [*lines, ""]


def _field(field: FormField) -> str:
    if field.value is not None:
        return f"* {escape_text(field.label)}: {escape_text(field.value)}"
    hint = f" ({escape_text(field.hint)})" if field.hint else ""
    return f"* {escape_text(field.label)}{hint}: …"
