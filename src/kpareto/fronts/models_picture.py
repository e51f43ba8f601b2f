"""One picture of all models: percent of detail kept over k, what each could keep at most as a band above its curve."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from kpareto.atomic import whole
from kpareto.errors import MissingExtra
from kpareto.fronts.picture import CALM, INK, LINE, MARK, check_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kpareto.fronts.models import ModelCurve, ModelCurves

COLOURS = {"lattice": LINE, "cuts": CALM, "strict": "#66a182", "local": MARK}
MARKERS = {"lattice": "o", "cuts": "s", "strict": "^", "local": "D"}
BANDS = {"cuts": 0.10, "strict": 0.10, "local": 0.35}  # how dense; the bounds of cuts are far away


def save_models(curves: ModelCurves, target: str | Path) -> Path:
    """Write the picture; the ending of the name says the format (svg, png, pdf)."""
    place = Path(target)
    check_picture(place)
    content = draw_models(curves, place.suffix.lower().removeprefix("."))
    with whole(place, private=True) as part:
        part.write_bytes(content)
    return place


def draw_models(curves: ModelCurves, form: str = "svg") -> bytes:
    """The picture as a file's bytes; the same bytes for the same curves."""
    figure, stream = draw_figure(curves), BytesIO()
    from matplotlib import rc_context

    stamps = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": "kpareto"}}
    with rc_context({"svg.hashsalt": "kpareto", "svg.fonttype": "path"}):
        figure.savefig(stream, format=form, dpi=150, metadata=stamps[form])
    return stream.getvalue()


def draw_figure(curves: ModelCurves) -> Figure:
    """The picture as a matplotlib figure."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.ticker import NullFormatter, NullLocator
    except ImportError as error:
        raise MissingExtra(
            "Drawing needs matplotlib, which is not installed. Install it with: pip install 'kpareto[plots]'."
        ) from error
    with rc_context({"font.size": 10, "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(8.6, 5.2), layout="constrained")
        axes = figure.subplots()
        for curve in curves.curves:
            _draw_curve(axes, curve)
        axes.set_xscale("log")
        axes.set_xticks(list(curves.ks), [f"{k:,}" for k in curves.ks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(top=101)
        axes.set_xlabel("k: rows that look alike, at least (logarithmic)")
        axes.set_ylabel("detail kept, percent (100 · (1 − LM))")
        share = curves.allowed / max(curves.rows, 1)
        left_out = "nothing suppressed" if not curves.allowed else f"at most {share:.2%} of the rows suppressed"
        title = (
            f"What each model keeps of {curves.rows:,} rows with {len(curves.columns)} quasi-identifiers, {left_out}"
        )
        axes.set_title(title, fontsize=11, loc="left")
        axes.grid(True, color="#e8ecf0", linewidth=0.6, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower left")
    return figure


def _draw_curve(axes: object, curve: ModelCurve) -> None:
    """One curve, and above it the band up to what nobody can pass."""
    colour, ks = COLOURS[curve.name], [point.k for point in curve.points]
    kept = [point.kept for point in curve.points]
    label = curve.words + (", exact" if curve.proven else "")
    axes.plot(ks, kept, marker=MARKERS[curve.name], markersize=5, color=colour, label=label, zorder=3)  # type: ignore[attr-defined]  # matplotlib's Axes, not installed everywhere
    most = [point.kept if point.most is None else point.most for point in curve.points]
    if not curve.proven and most != kept:
        axes.fill_between(  # type: ignore[attr-defined]  # as above
            ks,
            kept,
            most,
            color=colour,
            alpha=BANDS.get(curve.name, 0.2),
            linewidth=0,
            label=f"{curve.name}: what could be kept at most",
        )
