"""Figures of the papers: plain data first, then one renderer with the colours of every other picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kpareto.errors import MissingExtra
from kpareto.fronts.picture import CALM, FAINT, INK, LINE, MARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COLOURS = (LINE, MARK, CALM, "#6a4c93", "#4f772d", "#8d99ae", INK)
WIDE, HIGH = 4.6, 3.4  # inches of one panel
MOST = 240  # points of one line in a picture; the JSON says how many there were
# rings: open circles, to be seen below points of another run; printed: what the paper prints
Style = Literal["line", "points", "steps", "cloud", "dashed", "rings", "printed", "answers"]


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
class Band:
    """A range that the paper prints."""

    label: str
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_name: str
    y_name: str
    series: tuple[Series, ...] = ()
    boxes: Boxes | None = None
    bands: tuple[Band, ...] = ()
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


def draw(figure: Figure) -> bytes:
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
        canvas: Drawing = Canvas(figsize=(WIDE * across, HIGH * down))
        for place, panel in enumerate(figure.panels):
            row, column = divmod(place, across)
            # Margins in inches by hand: matplotlib's own layout draws every figure several times.
            left, bottom = WIDE * column + 0.85, HIGH * (down - 1 - row) + (0.75 if panel.boxes else 0.5)
            wide, high = WIDE * (column + 1) - 0.15 - left, HIGH * (down - row) - 0.35 - bottom
            box = (left / WIDE / across, bottom / HIGH / down, wide / WIDE / across, high / HIGH / down)
            _panel(canvas.add_axes(box), panel)
        stream = BytesIO()
        canvas.savefig(stream, format="svg", dpi=100, metadata={"Date": None})
    return stream.getvalue()


# What is drawn as single marks: the arguments of matplotlib's scatter besides the colour.
_MARKS: dict[str, dict[str, Any]] = {
    "points": {"s": 14, "zorder": 3},
    "rings": {"s": 42, "facecolors": "none", "linewidths": 0.9, "zorder": 2},
    "printed": {"s": 40, "marker": "x", "linewidths": 1.6, "zorder": 5},
    "answers": {"s": 60, "marker": "*", "linewidths": 0, "zorder": 4},
}


def _panel(axes: Any, panel: Panel) -> None:
    for band in panel.bands:
        axes.axhspan(band.low, band.high, color=INK, alpha=0.12, linewidth=0, label=band.label, zorder=0)
    for place, each in enumerate(panel.series):
        colour = COLOURS[(place if each.colour is None else each.colour) % len(COLOURS)]
        if each.style == "cloud":
            axes.scatter(each.x, each.y, s=3, color=FAINT, linewidths=0, label=each.label, rasterized=True, zorder=1)
        elif each.style in _MARKS:
            edge = {"edgecolors": colour} if each.style == "rings" else {"color": colour}
            axes.scatter(each.x, each.y, label=each.label, **edge, **_MARKS[each.style])
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
    if panel.bands or any(each.label for each in panel.series):
        axes.legend(frameon=False, fontsize=7, loc="best")
