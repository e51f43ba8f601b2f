"""A front as a picture: plain data first, then SVG without any library, or a figure by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kpareto.atomic import whole
from kpareto.errors import BadJob, MissingExtra
from kpareto.fronts.markup import Markup, dot, line, number, svg, tag, text
from kpareto.measures.measure import Measure, aspect_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECOMMENDED = "recommended"  # the word for the recommended point, and its mark
STAMPS: dict[str, dict[str, str | None]] = {  # what a file says of its making: no date, so that equal runs are equal
    "svg": {"Date": None},
    "png": {"Software": "kpareto"},
    "pdf": {"CreationDate": None},
}
INK, FAINT, LINE, MARK, CALM = "#1b2733", "#c3ccd6", "#1f6f8b", "#d1495b", "#edae49"
CONTROL = "the column totals alone"
BAND = "proven: every recoding lies in the band or above it"

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 84, 26, 20, 56
NAME = 26  # what the name of the upright axis takes
DIGIT = 7  # a figure of 12 pixels, at most
LETTER = 6.6  # width of a small letter, to see whether a label fits
CELLS = (360, 200)  # the cloud is drawn on so many cells; a second point in a cell would not be seen

Place = Callable[[float], float]  # where a value stands, in pixels


@dataclass(frozen=True, eq=False)
class Curve:
    """Another method's points on the same axes, such as a local recoding."""

    label: str
    x: np.ndarray  # (points,) float64
    y: np.ndarray  # (points,) float64


@dataclass(frozen=True)
class Drawing:
    """Two objectives of a front as plain numbers: its points in rising x, what they beat, and the marks."""

    x_name: str
    y_name: str
    x_log: bool
    y_log: bool
    x_higher: bool  # more of x is better: between two points only the next one to the right meets a wish for x
    points: Sequence[tuple[float, float]]
    cloud: Sequence[tuple[float, float]]  # dominated recodings
    marks: Sequence[tuple[str, float, float]]  # label, x, y
    chosen: tuple[float, float] | None = None
    control: float | None = None  # what y is for somebody who has the column totals alone

    @property
    def axes(self) -> tuple[str, str]:
        """The names of both axes, with a word where they are logarithmic."""
        names = ((self.x_name, self.x_log), (self.y_name, self.y_log))
        across, up = (f"{name} (logarithmic)" if logged else name for name, logged in names)
        return across, up


@dataclass(frozen=True)
class Picture(Drawing):
    """A drawing with what a figure shows besides."""

    title: str = ""
    curves: tuple[Curve, ...] = ()
    floor: Sequence[float] | None = None  # what y is at the least at the k of each point


def is_drawn_by_factors(measure: Measure, values: np.ndarray) -> bool:
    """Whether an axis is logarithmic: the measure's steps are factors, and its values on the picture allow it."""
    return aspect_of(measure).logarithmic and bool((values > 0).all()) and bool(np.ptp(values) > 0)


def thin_cloud(cloud: np.ndarray, x_log: bool, y_log: bool) -> np.ndarray:
    """One point of the cloud per cell of a fine grid: (n, 2) float64."""
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    scaled = cloud.copy()
    for axis, logged in enumerate((x_log, y_log)):
        if logged:
            cloud, scaled = cloud[scaled[:, axis] > 0], scaled[scaled[:, axis] > 0]
            scaled[:, axis] = np.log(scaled[:, axis])
    if not len(cloud):
        return cloud
    low, width = scaled.min(axis=0), np.ptp(scaled, axis=0)
    cells = ((scaled - low) / np.where(width > 0, width, 1.0) * CELLS).astype(np.int64)
    _, first = np.unique(cells[:, 0] * (CELLS[1] + 1) + cells[:, 1], return_index=True)
    return cloud[np.sort(first)]


# -- SVG ---------------------------------------------------------------------------------------------------------------


def sketch(drawn: Drawing, name: str, description: str) -> Markup:
    """The drawing as SVG with real text: a page may style its classes, and elsewhere it has colours of its own."""
    cloud = [pair for pair in drawn.cloud if _is_shown(drawn, pair)]
    points = [pair for pair in drawn.points if _is_shown(drawn, pair)]
    everything = [*points, *cloud, *([] if drawn.chosen is None else [drawn.chosen])]
    if not everything:  # every number is infinite
        return Markup("")
    control = [] if drawn.control is None or (drawn.y_log and drawn.control <= 0) else [drawn.control]
    up, y_low, y_high = _scale([*control, *(y for _, y in everything)], drawn.y_log, HEIGHT - BOTTOM, TOP)
    upright = ticks(y_low, y_high, drawn.y_log)
    # Long numbers move the picture to the right, so that the name of the axis stands beside them.
    left = max(LEFT, NAME + 8 + DIGIT * max((len(number(value)) for value in upright), default=0))
    across, x_low, x_high = _scale([x for x, _ in everything], drawn.x_log, left, WIDTH - RIGHT)
    level = ticks(x_low, x_high, drawn.x_log)
    grid = [line(across(value), TOP, across(value), HEIGHT - BOTTOM, "grid") for value in level]
    grid += [line(left, up(value), WIDTH - RIGHT, up(value), "grid") for value in upright]
    words = [text(across(value), HEIGHT - BOTTOM + 18, number(value), "tick", "middle") for value in level]
    words += [text(left - 8, up(value) + 4, number(value), "tick", "end") for value in upright]
    dots = "".join(f"M{across(x):.1f} {up(y):.1f}h0" for x, y in cloud)
    grey = {"d": dots, "class": "cloud", "stroke": FAINT, "stroke-width": "2.6", "stroke-linecap": "round"}
    steps = {"d": _stairs(points, drawn.x_higher, across, up), "class": "front", "stroke": LINE, "fill": "none"}
    circles = [
        dot(across(x), up(y), 3.4, "point", f"{drawn.x_name} {number(x)}, {drawn.y_name} {number(y)}")
        for x, y in points
    ]
    labels, signs = _marks(drawn, across, up)
    alone = [line(left, up(value), WIDTH - RIGHT, up(value), "control") for value in control]
    words += [text(WIDTH - RIGHT, up(value) - 6, CONTROL, "tick", "end") for value in control]
    parts = [
        tag("g", grid, at={"stroke": "#88888840"}),
        words,
        tag("path", at=grey) if dots else None,
        tag("path", at=steps),
        tag("g", alone, at={"stroke": MARK, "stroke-dasharray": "6 4"}) if alone else None,
        labels,
        tag("g", circles, at={"fill": LINE}),
        tag("g", signs, at={"stroke": MARK, "fill": "none"}),
        _name_axes(drawn, left),
    ]
    return svg(name, description, WIDTH, HEIGHT, parts)


def _is_shown(drawn: Drawing, pair: Sequence[float]) -> bool:
    """Whether a pair of values has a place in the picture; what is infinite has none."""
    logged = zip(pair, (drawn.x_log, drawn.y_log), strict=True)
    return all(math.isfinite(value) and (value > 0 or not by_factors) for value, by_factors in logged)


def _scale(values: Sequence[float], logged: bool, start: float, end: float) -> tuple[Place, float, float]:
    low, high = min(values), max(values)
    if logged:
        low, high = low / 1.08, high * 1.08
        width = math.log(high) - math.log(low) or 1.0
        return (lambda value: start + (math.log(value) - math.log(low)) / width * (end - start)), low, high
    room = (high - low) * 0.04 or abs(high) * 0.05 or 1.0
    low, high = (0.0 if 0 <= low < 0.25 * high else low - 3 * room), high + room
    return (lambda value: start + (value - low) / (high - low) * (end - start)), low, high


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
    return [round(times * step, 12) for times in range(first, math.floor(high / step + 1e-9) + 1)]


def _stairs(points: Sequence[tuple[float, float]], x_higher: bool, across: Place, up: Place) -> str:
    """Between two points only the next one meets a wish: the line goes in steps."""
    path = ""
    for x, y in points:
        right, high = f"H{across(x):.1f}", f"V{up(y):.1f}"
        path += (f"{high}{right}" if x_higher else f"{right}{high}") if path else f"M{across(x):.1f} {up(y):.1f}"
    return path or "M0 0"


def _name_axes(drawn: Drawing, left: float) -> list[Markup]:
    x_name, y_name = drawn.axes
    better, middle = "more is better" if drawn.x_higher else "less is better", f"{(TOP + HEIGHT - BOTTOM) / 2:.0f}"
    turned = {"x": "18", "y": middle, "class": "axis", "text-anchor": "middle", "transform": f"rotate(-90 18 {middle})"}
    below = text((left + WIDTH - RIGHT) / 2, HEIGHT - 12, f"{x_name} — {better}", "axis", "middle")
    return [below, tag("text", y_name, at=turned)]


def _marks(drawn: Drawing, across: Place, up: Place) -> tuple[list[Markup], list[Markup]]:
    """The labels, which stand behind the points, and the signs around the points."""
    labels: dict[tuple[float, float], list[str]] = {}
    for label, x, y in drawn.marks:
        if _is_shown(drawn, (x, y)):
            labels.setdefault((across(x), up(y)), []).append(label)
    texts: list[Markup] = []
    signs: list[Markup] = []
    around: list[Markup] = []  # the chosen point
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
        return text(left if right else left + wide, y + drop, words, kind, "start" if right else "end")

    last: list[Markup] = []
    if drawn.chosen is not None:
        x, y = across(drawn.chosen[0]), up(drawn.chosen[1])
        here = [at for at in labels if abs(at[0] - x) < 1 and abs(at[1] - y) < 1]
        names = ["chosen", *(label for at in here for label in labels.pop(at))]
        last = [put(x, y, ", ".join(names), "mark chosen")]
        around = [
            dot(x, y, 9, "halo"),
            tag("g", dot(x, y, 5.5, "here", "the chosen point"), at={"fill": MARK, "stroke": "none"}),
        ]
    for (x, y), names in labels.items():
        signs.append(dot(x, y, 7, "ring"))
        texts.append(put(x, y, ", ".join(names), "mark"))
    return [*texts, *last], [*signs, *around]


# -- matplotlib --------------------------------------------------------------------------------------------------------


@contextmanager
def new_axes(title: str, high: float = 5.2) -> Iterator[Any]:
    """The axes of a new figure in our colours (``axes.figure``), to be drawn on inside the block."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra(
            "Drawing needs matplotlib, which is not installed. Install it with: pip install 'kpareto[plots]'."
        ) from error
    with rc_context({"font.size": 10, "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK}):
        axes = Figure(figsize=(8.6, high), layout="constrained").subplots()
        axes.set_title(title, fontsize=11, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        yield axes


def draw(shown: Picture) -> Figure:
    """The picture as a matplotlib figure."""
    with new_axes(shown.title) as axes:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        x, y = np.array(shown.points).reshape(-1, 2).T
        if len(shown.cloud):  # else there is nothing that is dominated, and no word about it
            at = np.array(shown.cloud)
            grey = {"s": 5, "color": FAINT, "linewidths": 0, "rasterized": True}
            axes.scatter(at[:, 0], at[:, 1], label="dominated", zorder=1, **grey)
        step: Literal["pre", "post"] = "pre" if shown.x_higher else "post"
        axes.plot(x, y, color=LINE, linewidth=1, alpha=0.6, drawstyle=f"steps-{step}", zorder=2)
        axes.scatter(x, y, s=22, color=LINE, label="front", zorder=3)
        if shown.floor is not None:
            axes.fill_between(x, shown.floor, y, step=step, color=CALM, alpha=0.3, label=BAND, zorder=1)
        if shown.control is not None:
            axes.axhline(shown.control, color=MARK, linewidth=1, linestyle="--", label=CONTROL, zorder=2)
        for curve in shown.curves:
            axes.plot(curve.x, curve.y, marker="D", markersize=4, color=CALM, label=curve.label, zorder=3)
        for label, *at_mark in shown.marks:
            color = MARK if RECOMMENDED in label else INK
            axes.scatter(*at_mark, s=70, facecolors="none", edgecolors=color, linewidths=1.4, zorder=4)
            beside = {"xytext": (9, -13), "textcoords": "offset points", "color": color, "fontsize": 9}
            axes.annotate(label, at_mark, zorder=5, **beside)
        axes.set_xscale("log" if shown.x_log else "linear")
        axes.set_yscale("log" if shown.y_log else "linear")
        for axis, name, logged in zip((axes.xaxis, axes.yaxis), shown.axes, (shown.x_log, shown.y_log), strict=True):
            axis.set_label_text(name)
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            if logged:
                axis.set_minor_formatter(NullFormatter())
        axes.grid(True, color="#e8ecf0", linewidth=0.6, zorder=0)
        axes.legend(frameon=False, loc="best")
    figure: Figure = axes.figure
    return figure


def render(figure: Figure, form: str = "svg") -> bytes:
    """A figure as a file's bytes; the same bytes for the same figure."""
    from matplotlib import rc_context

    stream = BytesIO()
    with rc_context({"svg.hashsalt": "kpareto", "svg.fonttype": "path"}):
        figure.savefig(stream, format=form, dpi=150, metadata=STAMPS[form])
    return stream.getvalue()


def check_picture(target: str | Path | None) -> None:
    """Raise unless the name of a picture ends in a format that can be drawn."""
    file = Path(target or "front.svg")
    if file.suffix.lower().removeprefix(".") not in STAMPS:
        raise BadJob(f"The picture {file.name!r} ends in {file.suffix or 'nothing'}. End it in .svg, .png or .pdf.")


def save_figure(target: str | Path, make_figure: Callable[[], Figure]) -> Path:
    """Write a figure; the ending of the name says the format (svg, png, pdf), and is looked at before it is made."""
    file = Path(target)
    check_picture(file)
    content = render(make_figure(), file.suffix.lower().removeprefix("."))
    with whole(file, private=True) as part:
        part.write_bytes(content)
    return file
