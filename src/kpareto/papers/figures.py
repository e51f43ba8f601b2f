"""Figures of the papers: plain data first, then one renderer with the colours of every other picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kpareto.errors import MissingExtra
from kpareto.plots import CALM, FAINT, INK, LINE, MARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COLOURS = (LINE, MARK, CALM, "#6a4c93", "#4f772d", "#8d99ae", INK)
MOST = 240  # points of one line in a picture; the JSON says how many there were
Style = Literal["line", "points", "steps", "cloud", "dashed"]


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style = "line"
    colour: int | None = None


@dataclass(frozen=True)
class Boxes:
    """Box plots side by side: one list of numbers each."""

    labels: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_name: str
    y_name: str
    series: tuple[Series, ...] = ()
    boxes: Boxes | None = None
    x_log: bool = False
    y_log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, from our run; ``name`` is its file without the ending."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = field(default=2)

    def as_data(self) -> dict[str, Any]:
        """Everything that is drawn, as plain data; clouds are left out, they only show where the rest lies."""
        data = asdict(self)
        for panel in data["panels"]:
            panel["series"] = [series for series in panel["series"] if series["style"] != "cloud"]
        return data


def series(label: str, x: Any, y: Any, style: Style = "line", colour: int | None = None) -> Series:
    """A series from any arrays; long lines are thinned evenly, ends kept."""
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(across) > MOST and style != "cloud":
        kept = np.unique(np.linspace(0, len(across) - 1, MOST).astype(np.int64))
        across, up = across[kept], up[kept]
    return Series(label, tuple(across.tolist()), tuple(np.round(up, 10).tolist()), style, colour)


def drawn(figure: Figure) -> bytes:
    """The figure as SVG; the same bytes for the same data."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtra(
            "Drawing needs matplotlib, which is not installed. Install it with: pip install 'kpareto[plots]'."
        ) from error
    words: dict[Any, Any] = {"font.size": 9, "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK}
    with rc_context({**words, "svg.hashsalt": "kpareto", "svg.fonttype": "none", "path.simplify": True}):
        across = min(figure.columns, len(figure.panels))
        down = -(-len(figure.panels) // across)
        canvas: Drawing = Canvas(figsize=(4.6 * across, 3.4 * down), layout="constrained")
        axes = canvas.subplots(down, across, squeeze=False).ravel()
        for place, panel in enumerate(figure.panels):
            _panel(axes[place], panel)
        for empty in axes[len(figure.panels) :]:
            empty.set_visible(False)
        stream = BytesIO()
        canvas.savefig(stream, format="svg", dpi=100, metadata={"Date": None})
    return stream.getvalue()


def _panel(axes: Any, panel: Panel) -> None:
    for place, each in enumerate(panel.series):
        colour = COLOURS[(place if each.colour is None else each.colour) % len(COLOURS)]
        if each.style == "cloud":
            axes.scatter(each.x, each.y, s=3, color=FAINT, linewidths=0, label=each.label, rasterized=True, zorder=1)
        elif each.style == "points":
            axes.scatter(each.x, each.y, s=14, color=colour, label=each.label, zorder=3)
        else:
            shape = {"drawstyle": "steps-pre"} if each.style == "steps" else {}
            dash = "--" if each.style == "dashed" else "-"
            dot = "o" if len(each.x) <= 60 and each.style != "dashed" else ""
            axes.plot(each.x, each.y, dash, marker=dot, markersize=3, lw=1.2, color=colour, label=each.label, **shape)
    if panel.boxes is not None:
        shown = [np.asarray(values) for values in panel.boxes.values]
        axes.boxplot(shown, widths=0.6, medianprops={"color": MARK}, flierprops={"markersize": 3})
        axes.set_xticks(range(1, len(shown) + 1), panel.boxes.labels, fontsize=7, rotation=30, ha="right")
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    if panel.ticks:
        axes.set_xticks([at for at, _ in panel.ticks], [word for _, word in panel.ticks])
        axes.minorticks_off()
    axes.set_xlabel(panel.x_name)
    axes.set_ylabel(panel.y_name)
    axes.set_title(panel.title, fontsize=9, loc="left")
    axes.grid(True, color="#e8ecf0", linewidth=0.6, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    if any(each.label for each in panel.series):
        axes.legend(frameon=False, fontsize=7, loc="best")
