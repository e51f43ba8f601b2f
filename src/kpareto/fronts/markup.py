"""HTML and SVG that cannot be broken by data: every text that is not Markup is escaped on its way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from kpareto.tables.spelling import EXACT, without_point

EMPTY = ("br", "meta", "col", "hr", "input")  # elements that HTML writes without an end
SHORT = 14  # lines of a table that is printed on one page


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def visible(text: object) -> str:
    """The text with control characters spelled out: HTML forbids them, and some turn the direction of writing."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter in shown
    )


def safe(inside: object) -> Markup:
    """Anything as HTML: Markup as it is, lists one after the other, nothing for None, the rest escaped."""
    if isinstance(inside, Markup):
        return inside
    if inside is None:
        return Markup("")
    if isinstance(inside, list | tuple):
        return Markup("".join(safe(item) for item in inside))
    return Markup(escape(visible(inside), quote=True))


def tag(name: str, *inside: object, at: Mapping[str, object] | None = None) -> Markup:
    """An element; ``at`` are its attributes, where True stands for one without a value."""
    attributes = "".join(
        f" {key}" if value is True else f' {key}="{escape(visible(value), quote=True)}"'
        for key, value in (at or {}).items()
        if value is not None and value is not False
    )
    if name in EMPTY:
        return Markup(f"<{name}{attributes}>")
    return Markup(f"<{name}{attributes}>{safe(inside)}</{name}>")


def table(
    caption: object,
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    numeric: Iterable[int] = (),
    classes: Mapping[int, str] | None = None,
) -> Markup:
    """A table in a frame that scrolls sideways on small screens; the first cell of a row is its heading."""
    right = set(numeric)

    def kind(column: int) -> dict[str, object]:
        return {"class": "n"} if column in right else {}

    top = tag("tr", [tag("th", name, at={"scope": "col", **kind(column)}) for column, name in enumerate(head)])
    body = []
    for line, row in enumerate(rows):
        cells = [
            tag("th", cell, at={"scope": "row", **kind(0)}) if column == 0 else tag("td", cell, at=kind(column))
            for column, cell in enumerate(row)
        ]
        body.append(tag("tr", cells, at={"class": (classes or {}).get(line)}))
    inner = tag("table", tag("caption", tag("span", caption)), tag("thead", top), tag("tbody", body))
    kind_of = "wide short" if len(body) <= SHORT else "wide"
    label = "table" if isinstance(caption, Markup) else str(caption)
    return tag("div", inner, at={"class": kind_of, "tabindex": "0", "role": "group", "aria-label": label})


def plain_table(rows: Sequence[Mapping[str, object]], most: int = 40) -> Markup:
    """Rows by name as a table for notebooks, the first few of them."""
    if not rows:
        return tag("p", "No points.")
    head = tag("tr", [tag("th", name) for name in rows[0]])
    body = [tag("tr", [tag("td", number(cell)) for cell in row.values()]) for row in rows[:most]]
    more = tag("p", f"… {len(rows) - most:,} more points.") if len(rows) > most else None
    return safe([tag("table", tag("thead", head), tag("tbody", body)), more])


def number(value: object) -> str:
    """A number for people: thousands apart, six digits at the most."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    short = without_point(value, EXACT) if isinstance(value, float) else value
    if isinstance(short, int):
        return f"{short:,}"
    return f"{short:,.6g}" if isinstance(short, float) else str(short)


# -- SVG ---------------------------------------------------------------------------------------------------------------


def svg(name: str, description: str, width: float, height: float, *inside: object) -> Markup:
    """A picture with a name and a description for those who do not see it."""
    at = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "width": f"{width:g}",
        "role": "img",
        "aria-label": f"{name}. {description}",
        "class": "picture",
        "font-family": "sans-serif",
        "font-size": "12",
        "fill": "currentColor",
    }
    return tag("svg", tag("title", name), tag("desc", description), *inside, at=at)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return tag("line", at={"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}", "class": kind})


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Markup:
    """Words at a place."""
    return tag("text", words, at={"x": f"{x:.1f}", "y": f"{y:.1f}", "class": kind, "text-anchor": anchor})


def rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    """A box, with words for whoever points at it."""
    at = {"x": f"{x:.2f}", "y": f"{y:.1f}", "width": f"{max(width, 0):.2f}", "height": f"{height:.1f}", "class": kind}
    return tag("rect", tag("title", title) if title else None, at=at)


def dot(x: float, y: float, radius: float, kind: str, title: str = "") -> Markup:
    """A circle, with words for whoever points at it."""
    at = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{radius:g}", "class": kind}
    return tag("circle", tag("title", title) if title else None, at=at)
