"""Bars and bands of a report as SVG inside the page: real text, colours by the page's style, nothing to load."""

from __future__ import annotations

from collections.abc import Sequence

from kpareto.faces.report.report import ColumnPart, LevelBand, Sizes
from kpareto.fronts.markup import Markup, rect, svg, text
from kpareto.fronts.picture import LETTER, WIDTH
from kpareto.tables.spelling import several

# -- bars --------------------------------------------------------------------------------------------------------------


def size_picture(sizes: Sequence[Sizes], unit: str) -> Markup:
    """Rows by the size of their class, as bars from the smallest classes to the largest."""
    if not sizes:
        return Markup("")
    line, left, right = 26, 128, 210
    most = max(band.rows for band in sizes) or 1
    height = line * len(sizes) + 26
    parts: list[object] = [text(left - 10, 14, f"{unit} in the class", "tick", "end"), text(left, 14, "rows", "tick")]
    for row, band in enumerate(sizes):
        y = 22 + row * line
        width = band.rows / most * (WIDTH - left - right)
        span = f"{band.low:,}" if band.low == band.high else f"{band.low:,}–{band.high:,}"
        words = f"{several(band.rows, 'row')} in {several(band.classes, 'class', 'classes')}"
        words += ", suppressed" if band.suppressed else ""
        parts.append(text(left - 10, y + 16, span, "tick", "end"))
        parts.append(
            rect(
                left,
                y + 3,
                max(width, 1.5 if band.rows else 0),
                line - 8,
                "bar lost" if band.suppressed else "bar",
                words,
            )
        )
        parts.append(text(left + width + 7, y + 16, words, "tick"))
    description = "; ".join(f"{band.low} to {band.high}: {several(band.rows, 'row')}" for band in sizes)
    return svg("Rows by the size of their class", description, WIDTH, height, parts)


def loss_picture(columns: Sequence[ColumnPart]) -> Markup:
    """How much of each column is lost, as bars."""
    line, left, right = 26, 170, 80
    height = line * len(columns) + 8
    room = WIDTH - left - right
    parts: list[object] = []
    for row, column in enumerate(columns):
        loss = column.kept_loss if column.loss is None else column.loss
        y = 4 + row * line
        name = column.name if len(column.name) <= 24 else column.name[:23] + "…"
        parts.append(text(left - 10, y + 16, name, "tick", "end"))
        parts.append(rect(left, y + 3, room, line - 8, "trough"))
        parts.append(rect(left, y + 3, room * loss, line - 8, "bar", f"{column.name}: {loss:.1%} lost"))
        parts.append(text(left + room + 8, y + 16, f"{loss:.1%}", "tick"))
    description = "; ".join(f"{c.name} {(c.kept_loss if c.loss is None else c.loss):.1%}" for c in columns)
    return svg("Loss per column", description, WIDTH, height, parts)


# -- hierarchies -------------------------------------------------------------------------------------------------------


def hierarchy_picture(column: ColumnPart) -> Markup:
    """The levels of a column as bands of groups, the leaves at the bottom, the chosen cut in colour."""
    line, left = 28, 128
    shown = [band for band in column.bands if band.chosen]
    bands = list(reversed(column.bands))
    if column.level is None:  # what is no level stands above them
        bands = [*shown, *(band for band in bands if not band.chosen)]
    height = line * len(bands) + 4
    room = WIDTH - left - 4
    boxes = column.leaves or max((last + 1 for band in bands for _, last, _ in band.runs), default=1)
    parts: list[object] = []
    for row, band in enumerate(bands):
        y = 2 + row * line
        kind = "mark chosen" if band.chosen else "tick"
        parts.append(text(left - 10, y + 17, f"{band.name}: {band.groups:,}", kind, "end"))
        parts += _band(band, boxes, left, y, room, line - 5)
    description = ", ".join(f"{band.name} has {several(band.groups, 'group')}" for band in column.bands)
    words = f"{description}; chosen is {shown[0].name}"
    return svg(f"Hierarchy of {column.name}", words, WIDTH, height, parts)


def _band(band: LevelBand, boxes: int, left: float, y: float, room: float, high: float) -> list[Markup]:
    style = "group on" if band.chosen else "group"
    if not band.runs:
        return [
            rect(left, y, room, high, style),
            text(
                left + room / 2,
                y + 16,
                f"{several(band.groups, 'group')}, too many to draw",
                "label on" if band.chosen else "label",
                "middle",
            ),
        ]
    shapes = []
    for first, last, label in band.runs:
        x, wide = left + first / boxes * room, (last - first + 1) / boxes * room
        gap = min(1.5, wide * 0.18)
        shapes.append(rect(x, y, wide - gap, high, style, label))
        fits = label if len(label) * LETTER <= wide - 6 else ""
        if not fits and wide > 40:
            fits = label[: int((wide - 6) / LETTER) - 1] + "…"
        if fits:
            shapes.append(text(x + (wide - gap) / 2, y + 16, fits, "label on" if band.chosen else "label", "middle"))
    return shapes
