"""HTML that cannot be broken by data: every text that is not Markup is escaped on its way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

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
        return Markup("".join(safe(each) for each in inside))
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

    def kind(place: int) -> dict[str, object]:
        return {"class": "n"} if place in right else {}

    top = tag("tr", [tag("th", name, at={"scope": "col", **kind(place)}) for place, name in enumerate(head)])
    body = []
    for line, row in enumerate(rows):
        cells = [
            tag("th", cell, at={"scope": "row", **kind(0)}) if place == 0 else tag("td", cell, at=kind(place))
            for place, cell in enumerate(row)
        ]
        body.append(tag("tr", cells, at={"class": (classes or {}).get(line)}))
    inner = tag("table", tag("caption", tag("span", caption)), tag("thead", top), tag("tbody", body))
    kind_of = "wide short" if len(body) <= SHORT else "wide"
    return tag("div", inner, at={"class": kind_of, "tabindex": "0", "role": "group", "aria-label": _plain(caption)})


def _plain(caption: object) -> str:
    return str(caption) if not isinstance(caption, Markup) else "table"
