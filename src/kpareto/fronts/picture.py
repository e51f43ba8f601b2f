"""Figures from fronts: plain data first, then a renderer. Computes nothing that is not on the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kpareto.atomic import whole
from kpareto.errors import BadJob, MissingExtra
from kpareto.fronts.choose import RECOMMENDED, placed_marks
from kpareto.fronts.notebook import spell_count
from kpareto.measures.measure import Measure, aspect_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kpareto.fronts.front import Front

Format = Literal["svg", "png", "pdf"]
FORMATS = ("svg", "png", "pdf")

INK, FAINT, LINE, MARK, CALM = "#1b2733", "#c3ccd6", "#1f6f8b", "#d1495b", "#edae49"


@dataclass(frozen=True, eq=False)
class Curve:
    """Another method's points on the same axes, such as a local recoding."""

    label: str
    x: np.ndarray  # (points,) float64
    y: np.ndarray  # (points,) float64


@dataclass(frozen=True, eq=False)
class Picture:
    """Everything a front's picture shows."""

    title: str
    x_name: str
    y_name: str
    x: np.ndarray  # (points,) float64, points of the front, in rising x
    y: np.ndarray  # (points,) float64
    cloud: np.ndarray  # (n, 2) float64, dominated recodings
    marks: tuple[tuple[str, float, float], ...]  # label, x, y
    x_log: bool
    y_log: bool
    x_higher: bool  # more of x is better: between two points only the next one to the right meets a wish for x
    curves: tuple[Curve, ...] = ()
    floor: np.ndarray | None = None  # (points,) float64, what y is at the least at the k of each point


def picture(front: Front, x: str | None = None, y: str | None = None, curves: Sequence[Curve] = ()) -> Picture:
    """The picture of two objectives of a front, with the recommended point and the class sizes in common use marked."""
    names = front.names
    if len(names) < 2:
        raise BadJob("A picture needs two objectives. Add one, such as glm.")
    across = x or names[0]
    up = y or next(name for name in names if name != across)
    flat = front.slice(across, up, ties="one")
    column, row = flat.names.index(across), flat.names.index(up)
    values = flat.numbers.values
    order = np.argsort(values[:, column], kind="stable")
    cloud = np.zeros((0, 2)) if flat.cloud is None else flat.cloud[:, [column, row]]
    others = [name for name in names if name not in (across, up)]
    hidden = front.vectors - len(flat)
    left_out = f"; {hidden:,} more trade-offs by {', '.join(others)} are not shown" if hidden and others else ""
    title = f"{len(flat)} trade-offs among {spell_count(front.space.size)} recodings ({front.proof}{left_out})"
    return Picture(
        title,
        across,
        up,
        values[order, column],
        values[order, row],
        cloud,
        tuple(placed_marks(front, across, up)),
        is_drawn_by_factors(flat.problem.objectives[column], values[:, column]),
        is_drawn_by_factors(flat.problem.objectives[row], values[:, row]),
        bool(flat.problem.better[column] > 0),
        tuple(curves),
        None if flat.floors is None or np.isnan(flat.floors[:, row]).all() else flat.floors[order, row],
    )


def is_drawn_by_factors(measure: Measure, values: np.ndarray) -> bool:
    """Whether an axis is logarithmic: the measure's steps are factors, and its values on the picture allow it."""
    return aspect_of(measure).logarithmic and bool((values > 0).all()) and bool(np.ptp(values) > 0)


def draw(shown: Picture) -> Figure:
    """The picture as a matplotlib figure."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter, NullFormatter
    except ImportError as error:
        raise MissingExtra(
            "Drawing needs matplotlib, which is not installed. Install it with: pip install 'kpareto[plots]'."
        ) from error
    with rc_context({"font.size": 10, "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(8.6, 5.2), layout="constrained")
        axes = figure.subplots()
        if len(shown.cloud):  # else there is nothing that is dominated, and no word about it
            axes.scatter(
                shown.cloud[:, 0],
                shown.cloud[:, 1],
                s=5,
                color=FAINT,
                linewidths=0,
                label="dominated",
                rasterized=True,
                zorder=1,
            )
        steps = "steps-pre" if shown.x_higher else "steps-post"
        axes.plot(shown.x, shown.y, color=LINE, linewidth=1, alpha=0.6, drawstyle=steps, zorder=2)
        axes.scatter(shown.x, shown.y, s=22, color=LINE, label="front", zorder=3)
        if shown.floor is not None:
            step: Literal["pre", "post"] = "pre" if shown.x_higher else "post"
            band = "proven: every recoding lies in the band or above it"
            axes.fill_between(shown.x, shown.floor, shown.y, step=step, color=CALM, alpha=0.3, label=band, zorder=1)
        for curve in shown.curves:
            axes.plot(curve.x, curve.y, marker="D", markersize=4, color=CALM, label=curve.label, zorder=3)
        _mark(axes, shown)
        axes.set_xscale("log" if shown.x_log else "linear")
        axes.set_yscale("log" if shown.y_log else "linear")
        for axis, logged in ((axes.xaxis, shown.x_log), (axes.yaxis, shown.y_log)):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            if logged:
                axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(shown.x_name + (" (logarithmic)" if shown.x_log else ""))
        axes.set_ylabel(shown.y_name + (" (logarithmic)" if shown.y_log else ""))
        axes.set_title(shown.title, fontsize=11, loc="left")
        axes.grid(True, color="#e8ecf0", linewidth=0.6, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="best")
    return figure


def _mark(axes: Any, shown: Picture) -> None:
    """Label the marked points."""
    for label, x, y in shown.marks:
        color = MARK if RECOMMENDED in label else INK
        axes.scatter([x], [y], s=70, facecolors="none", edgecolors=color, linewidths=1.4, zorder=4)
        axes.annotate(label, (x, y), xytext=(9, -13), textcoords="offset points", color=color, fontsize=9, zorder=5)


def render(shown: Picture, form: Format = "svg") -> bytes:
    """The picture as a file's bytes; the same bytes for the same picture."""
    from matplotlib import rc_context

    figure = draw(shown)
    stream = BytesIO()
    with rc_context({"svg.hashsalt": "kpareto", "svg.fonttype": "path"}):
        stamp = (
            {"Date": None} if form == "svg" else {"CreationDate": None} if form == "pdf" else {"Software": "kpareto"}
        )
        figure.savefig(stream, format=form, dpi=150, metadata=stamp)
    return stream.getvalue()


def check_picture(target: str | Path | None) -> None:
    """Raise unless the name of a picture ends in a format that can be drawn."""
    place = Path(target or "front.svg")
    if place.suffix.lower().removeprefix(".") not in FORMATS:
        raise BadJob(f"The picture {place.name!r} ends in {place.suffix or 'nothing'}. End it in .svg, .png or .pdf.")


def save_picture(
    front: Front, target: str | Path, x: str | None = None, y: str | None = None, curves: Sequence[Curve] = ()
) -> Path:
    """Write a front's picture, other curves beside it; the ending of the name says the format (svg, png, pdf)."""
    place = Path(target)
    check_picture(place)
    form = place.suffix.lower().removeprefix(".")
    content = render(picture(front, x, y, curves), form)  # type: ignore[arg-type]  # checked above
    with whole(place, private=True) as part:
        part.write_bytes(content)
    return place
