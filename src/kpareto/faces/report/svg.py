"""Pictures of a report as SVG inside the page: real text, colours by the page's style, nothing to load."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kpareto.faces.report.markup import Markup, tag
from kpareto.faces.report.report import ColumnPart, Drawing, LevelBand, Sizes
from kpareto.faces.report.words import number
from kpareto.fronts.notebook import ticks
from kpareto.tables.spelling import several

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 84, 26, 20, 56
NAME = 26  # what the name of the upright axis takes
DIGIT = 7  # a figure of 12 pixels, at most
LETTER = 6.6  # width of a small letter, to see whether a label fits


def svg(name: str, description: str, width: float, height: float, *inside: object) -> Markup:
    """A picture with a name and a description for those who do not see it."""
    at = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "role": "img",
        "aria-label": f"{name}. {description}",
        "class": "picture",
    }
    return tag("svg", tag("title", name), tag("desc", description), *inside, at=at)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("line", at={"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}", "class": kind})


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Markup:
    return tag("text", words, at={"x": f"{x:.1f}", "y": f"{y:.1f}", "class": kind, "text-anchor": anchor})


def _rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    at = {"x": f"{x:.2f}", "y": f"{y:.1f}", "width": f"{max(width, 0):.2f}", "height": f"{height:.1f}", "class": kind}
    return tag("rect", tag("title", title) if title else None, at=at)


# -- axes --------------------------------------------------------------------------------------------------------------


def _scale(
    values: Sequence[float], logged: bool, start: float, end: float
) -> tuple[Callable[[float], float], float, float]:
    low, high = min(values), max(values)
    if logged:
        low, high = low / 1.08, high * 1.08
        width = math.log(high) - math.log(low) or 1.0
        return (lambda value: start + (math.log(value) - math.log(low)) / width * (end - start)), low, high
    room = (high - low) * 0.04 or abs(high) * 0.05 or 1.0
    low, high = (0.0 if 0 <= low < 0.25 * high else low - 3 * room), high + room
    return (lambda value: start + (value - low) / (high - low) * (end - start)), low, high


def front_picture(drawn: Drawing, description: str) -> Markup:
    """The front over two objectives, the chosen point marked."""
    everything = [*drawn.points, *drawn.cloud, drawn.chosen]
    up, y_low, y_high = _scale([y for _, y in everything], drawn.y_log, HEIGHT - BOTTOM, TOP)
    # Long numbers move the picture to the right, so that the name of the axis stands beside them.
    longest = max((len(number(value)) for value in ticks(y_low, y_high, drawn.y_log)), default=0)
    left = max(LEFT, NAME + 8 + DIGIT * longest)
    across, x_low, x_high = _scale([x for x, _ in everything], drawn.x_log, left, WIDTH - RIGHT)
    parts: list[object] = []
    for value in ticks(x_low, x_high, drawn.x_log):
        parts.append(_line(across(value), TOP, across(value), HEIGHT - BOTTOM, "grid"))
        parts.append(_text(across(value), HEIGHT - BOTTOM + 18, number(value), "tick", "middle"))
    for value in ticks(y_low, y_high, drawn.y_log):
        parts.append(_line(left, up(value), WIDTH - RIGHT, up(value), "grid"))
        parts.append(_text(left - 8, up(value) + 4, number(value), "tick", "end"))
    cloud = "".join(f"M{across(x):.1f} {up(y):.1f}h0" for x, y in drawn.cloud)
    parts.append(tag("path", at={"d": cloud, "class": "cloud"}) if cloud else None)
    parts.append(tag("path", at={"d": _stairs(drawn, across, up), "class": "front"}))
    labels, signs = _marks(drawn, across, up)
    parts += labels
    for x, y in drawn.points:
        words = f"{drawn.x_name} {number(x)}, {drawn.y_name} {number(y)}"
        parts.append(_dot(across(x), up(y), 3.4, "point", words))
    parts += signs
    name = [
        f"{each} (logarithmic)" if log else each
        for each, log in ((drawn.x_name, drawn.x_log), (drawn.y_name, drawn.y_log))
    ]
    better = "more is better" if drawn.x_higher else "less is better"
    parts.append(_text((left + WIDTH - RIGHT) / 2, HEIGHT - 12, f"{name[0]} — {better}", "axis", "middle"))
    turned = f"rotate(-90 18 {(TOP + HEIGHT - BOTTOM) / 2:.0f})"
    at = {
        "x": "18",
        "y": f"{(TOP + HEIGHT - BOTTOM) / 2:.0f}",
        "class": "axis",
        "text-anchor": "middle",
        "transform": turned,
    }
    parts.append(tag("text", name[1], at=at))
    return svg("The front", description, WIDTH, HEIGHT, parts)


def _dot(x: float, y: float, radius: float, kind: str, title: str = "") -> Markup:
    at = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{radius:g}", "class": kind}
    return tag("circle", tag("title", title) if title else None, at=at)


def _stairs(drawn: Drawing, across: Callable[[float], float], up: Callable[[float], float]) -> str:
    """Between two points only the next one meets a wish: the line goes in steps."""
    path, before = "", None
    for x, y in drawn.points:
        here = (across(x), up(y))
        if before is None:
            path = f"M{here[0]:.1f} {here[1]:.1f}"
        elif drawn.x_higher:
            path += f"V{here[1]:.1f}H{here[0]:.1f}"
        else:
            path += f"H{here[0]:.1f}V{here[1]:.1f}"
        before = here
    return path or "M0 0"


def _marks(
    drawn: Drawing, across: Callable[[float], float], up: Callable[[float], float]
) -> tuple[list[Markup], list[Markup]]:
    """The labels, which stand behind the points, and the signs around the points."""
    places: dict[tuple[float, float], list[str]] = {}
    for label, x, y in drawn.marks:
        places.setdefault((x, y), []).append(label)
    chosen = (across(drawn.chosen[0]), up(drawn.chosen[1]))
    texts: list[Markup] = []
    signs: list[Markup] = []
    boxes: list[tuple[float, float, float]] = []

    def put(x: float, y: float, words: str, kind: str) -> Markup:
        """A label beside its point, above or below, where no other label stands."""
        wide = len(words) * LETTER + 6
        right = x + 12 + wide < WIDTH - RIGHT
        left = x + 11 if right else x - 11 - wide
        for drop in (18, 34, 50, -10, 66, -26, -42):
            free = all(left > b + w or b > left + wide or abs(y + drop - h) > 14 for b, h, w in boxes)
            if free and TOP + 8 < y + drop < HEIGHT - BOTTOM - 4:
                break
        boxes.append((left, y + drop, wide))
        return _text(left if right else left + wide, y + drop, words, kind, "start" if right else "end")

    same = [words for (x, y), words in places.items() if abs(across(x) - chosen[0]) < 1 and abs(up(y) - chosen[1]) < 1]
    label = ", ".join(["chosen", *(word for words in same for word in words)])
    label_of_chosen = put(*chosen, label, "mark chosen")
    for (x, y), labels in places.items():
        if labels in same:
            continue
        signs.append(_dot(across(x), up(y), 7, "ring", ""))
        texts.append(put(across(x), up(y), ", ".join(labels), "mark"))
    signs += [_dot(*chosen, 9, "halo"), _dot(*chosen, 5.5, "here", "the chosen point")]
    return [*texts, label_of_chosen], signs


# -- bars --------------------------------------------------------------------------------------------------------------


def size_picture(sizes: Sequence[Sizes], unit: str) -> Markup:
    """Rows by the size of their class, as bars from the smallest classes to the largest."""
    if not sizes:
        return Markup("")
    line, left, right = 26, 128, 210
    most = max(each.rows for each in sizes) or 1
    height = line * len(sizes) + 26
    parts: list[object] = [_text(left - 10, 14, f"{unit} in the class", "tick", "end"), _text(left, 14, "rows", "tick")]
    for place, each in enumerate(sizes):
        y = 22 + place * line
        width = each.rows / most * (WIDTH - left - right)
        span = f"{each.low:,}" if each.low == each.high else f"{each.low:,}–{each.high:,}"
        words = f"{several(each.rows, 'row')} in {several(each.classes, 'class', 'classes')}"
        words += ", suppressed" if each.suppressed else ""
        parts.append(_text(left - 10, y + 16, span, "tick", "end"))
        parts.append(
            _rect(
                left,
                y + 3,
                max(width, 1.5 if each.rows else 0),
                line - 8,
                "bar lost" if each.suppressed else "bar",
                words,
            )
        )
        parts.append(_text(left + width + 7, y + 16, words, "tick"))
    description = "; ".join(f"{each.low} to {each.high}: {several(each.rows, 'row')}" for each in sizes)
    return svg("Rows by the size of their class", description, WIDTH, height, parts)


def loss_picture(columns: Sequence[ColumnPart]) -> Markup:
    """How much of each column is lost, as bars."""
    line, left, right = 26, 170, 80
    height = line * len(columns) + 8
    room = WIDTH - left - right
    parts: list[object] = []
    for place, column in enumerate(columns):
        loss = column.kept_loss if column.loss is None else column.loss
        y = 4 + place * line
        name = column.name if len(column.name) <= 24 else column.name[:23] + "…"
        parts.append(_text(left - 10, y + 16, name, "tick", "end"))
        parts.append(_rect(left, y + 3, room, line - 8, "trough"))
        parts.append(_rect(left, y + 3, room * loss, line - 8, "bar", f"{column.name}: {loss:.1%} lost"))
        parts.append(_text(left + room + 8, y + 16, f"{loss:.1%}", "tick"))
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
    for place, band in enumerate(bands):
        y = 2 + place * line
        kind = "mark chosen" if band.chosen else "tick"
        parts.append(_text(left - 10, y + 17, f"{band.name}: {band.groups:,}", kind, "end"))
        parts += _band(band, boxes, left, y, room, line - 5)
    description = ", ".join(f"{band.name} has {several(band.groups, 'group')}" for band in column.bands)
    words = f"{description}; chosen is {shown[0].name}"
    return svg(f"Hierarchy of {column.name}", words, WIDTH, height, parts)


def _band(band: LevelBand, boxes: int, left: float, y: float, room: float, high: float) -> list[Markup]:
    style = "group on" if band.chosen else "group"
    if not band.runs:
        return [
            _rect(left, y, room, high, style),
            _text(
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
        shapes.append(_rect(x, y, wide - gap, high, style, label))
        fits = label if len(label) * LETTER <= wide - 6 else ""
        if not fits and wide > 40:
            fits = label[: int((wide - 6) / LETTER) - 1] + "…"
        if fits:
            shapes.append(_text(x + (wide - gap) / 2, y + 16, fits, "label on" if band.chosen else "label", "middle"))
    return shapes
