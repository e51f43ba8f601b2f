"""A front as a small picture and table in HTML, for notebooks: no library, no script, nothing to fetch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kpareto.fronts.choose import placed_marks
from kpareto.measures.measure import aspect_of

if TYPE_CHECKING:
    from kpareto.fronts.front import Front

WIDE, HIGH, EDGE = 640, 330, 56
MOST_DOTS = 3_000


def front_html(front: Front) -> str:
    """A front for a notebook: its first two objectives as a picture, the points as a table."""
    sample = front.problem.table.sample
    proof = front.proof if sample is None else f"{front.proof}; found on {sample.words()}"
    head = f"<p><b>{len(front):,} trade-offs</b> of {spell_count(front.space.size)} recodings ({escape(proof)})</p>"
    picture = ""
    if len(front) and len(front.names) > 1:
        x, y = front.numbers.values[:, 0], front.numbers.values[:, 1]
        cloud = np.zeros((0, 2)) if front.cloud is None else front.cloud[:, :2]
        logged = aspect_of(front.problem.objectives[0]).logarithmic and bool((x > 0).all())
        first, second = front.names[:2]
        shown = cloud[np.isfinite(cloud).all(axis=1)]
        picture = sketch(x, y, shown, (first, second), logged, placed_marks(front, first, second))
    return head + picture + html_table(front.rows())


def sketch(
    x: np.ndarray,
    y: np.ndarray,
    cloud: np.ndarray,
    names: tuple[str, str],
    logged: bool,
    marks: Sequence[tuple[str, float, float]] = (),
) -> str:
    """Points (n,) over a cloud (m, 2) as SVG, some of them marked by a word; x on a logarithmic axis if ``logged``."""
    across = _scale(np.concatenate((x, cloud[:, 0])), logged, EDGE, WIDE - 12)
    up = _scale(np.concatenate((y, cloud[:, 1])), False, HIGH - EDGE, 12)
    step = max(1, len(cloud) // MOST_DOTS)
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="1"/>'
        for a, b in zip(across(cloud[::step, 0]), up(cloud[::step, 1]), strict=True)
    )
    points = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.2"><title>{escape(names[0])} {u:g}, {escape(names[1])} {v:g}</title>'
        "</circle>"
        for a, b, u, v in zip(across(x), up(y), x.tolist(), y.tolist(), strict=True)
    )
    words = (
        f'<text x="{WIDE / 2}" y="{HIGH - 8}" text-anchor="middle">{escape(names[0])}'
        f"{' (logarithmic)' if logged else ''}: {x.min():,.6g} to {x.max():,.6g}</text>"
        f'<text x="14" y="{HIGH / 2}" transform="rotate(-90 14 {HIGH / 2})" text-anchor="middle">{escape(names[1])}: '
        f"{y.min():,.6g} to {y.max():,.6g}</text>"
    )
    words += "".join(
        _tick_across(float(across(np.array([at]))[0]), at) for at in ticks(float(x.min()), float(x.max()), logged)
    )
    words += "".join(_tick_up(float(up(np.array([at]))[0]), at) for at in ticks(float(y.min()), float(y.max()), False))
    words += "".join(_mark(float(across(np.array([a]))[0]), float(up(np.array([b]))[0]), w) for w, a, b in marks)
    frame = f'<path d="M{EDGE} 12V{HIGH - EDGE}H{WIDE - 12}" fill="none" stroke="currentColor"/>'
    return (
        f'<svg role="img" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" font-family="sans-serif" font-size="12" '
        f'fill="currentColor"><title>Front of {escape(names[0])} and {escape(names[1])}</title>{frame}{words}'
        f'<g fill="#9aa7b4" opacity=".5">{dots}</g><g fill="#1f6f8b">{points}</g></svg>'
    )


def ticks(low: float, high: float, logged: bool) -> list[float]:
    """Round numbers within the range, a handful of them."""
    if logged:
        candidates = [
            step * 10.0**power
            for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for step in (1, 2, 5)
        ]
        inside = [value for value in candidates if low * 0.999 <= value <= high * 1.001]
        if len(inside) > 9:
            inside = [value for value in inside if math.isclose(10 ** round(math.log10(value)), value)]
        return inside
    if high <= low:
        return [low]
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 12) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _tick_across(x: float, at: float) -> str:
    return (
        f'<path d="M{x:.1f} {HIGH - EDGE}v5" stroke="currentColor"/>'
        f'<text x="{x:.1f}" y="{HIGH - EDGE + 17}" text-anchor="middle" font-size="10">{at:,.6g}</text>'
    )


def _tick_up(y: float, at: float) -> str:
    shown = f"{at:,.6g}" if abs(at) < 1e5 else f"{at:.0e}".replace("e+0", "e")
    return (
        f'<path d="M{EDGE} {y:.1f}h-5" stroke="currentColor"/>'
        f'<text x="{EDGE - 7}" y="{y + 3:.1f}" text-anchor="end" font-size="9">{shown}</text>'
    )


def _mark(x: float, y: float, word: str) -> str:
    ring = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" stroke="#d1495b"/>'
    return f'{ring}<text x="{x + 8:.1f}" y="{y - 6:.1f}" font-size="10">{escape(word)}</text>'


def _scale(values: np.ndarray, logged: bool, start: float, end: float) -> Callable[[np.ndarray], np.ndarray]:
    shown = np.log(values) if logged else values
    low, high = float(shown.min()), float(shown.max())
    span = high - low or 1.0

    def place(values: np.ndarray) -> np.ndarray:
        there = np.log(values) if logged else values
        return start + (there - low) / span * (end - start)

    return place


def html_table(rows: Sequence[Mapping[str, object]], most: int = 40) -> str:
    """Rows as an HTML table, the first few of them."""
    if not rows:
        return "<p>No points.</p>"
    head = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(_show(value))}</td>" for value in row.values()) + "</tr>" for row in rows[:most]
    )
    more = f"<p>… {len(rows) - most:,} more points.</p>" if len(rows) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}"


def _show(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def spell_count(size: int) -> str:
    """A number of recodings for a sentence: in full, or as a power of ten."""
    return f"{size:,}" if size < 10**12 else f"about 10^{len(str(size)) - 1}"
