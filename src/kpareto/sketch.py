"""A front as a small picture and table in HTML, for notebooks: no library, no script, nothing to fetch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

import numpy as np

WIDE, HIGH, EDGE = 640, 320, 46
MOST_DOTS = 3_000


def sketch(x: np.ndarray, y: np.ndarray, cloud: np.ndarray, names: tuple[str, str], logged: bool) -> str:
    """Points (n,) over a cloud (m, 2) as SVG; x on a logarithmic axis if ``logged``."""
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
    frame = f'<path d="M{EDGE} 12V{HIGH - EDGE}H{WIDE - 12}" fill="none" stroke="currentColor"/>'
    return (
        f'<svg role="img" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" font-family="sans-serif" font-size="12" '
        f'fill="currentColor"><title>Front of {escape(names[0])} and {escape(names[1])}</title>{frame}{words}'
        f'<g fill="#9aa7b4" opacity=".5">{dots}</g><g fill="#1f6f8b">{points}</g></svg>'
    )


def _scale(values: np.ndarray, logged: bool, start: float, end: float) -> Callable[[np.ndarray], np.ndarray]:
    shown = np.log(values) if logged else values
    low, high = float(shown.min()), float(shown.max())
    span = high - low or 1.0

    def place(given: np.ndarray) -> np.ndarray:
        there = np.log(given) if logged else given
        return start + (there - low) / span * (end - start)

    return place


def html_table(rows: Sequence[Mapping[str, object]], most: int = 40) -> str:
    """Rows as an HTML table, the first few of them."""
    if not rows:
        return "<p>No points.</p>"
    head = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(_shown(value))}</td>" for value in row.values()) + "</tr>" for row in rows[:most]
    )
    more = f"<p>… {len(rows) - most:,} more points.</p>" if len(rows) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{more}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
