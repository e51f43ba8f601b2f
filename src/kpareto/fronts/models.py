"""Models of recoding side by side: what each keeps of a table's detail, k by k, and what it could keep at most.

Models, from the least free on: *lattice* shows a column at one level in all rows, *cuts* may mix levels within a column
but shows a value alike in all rows, *local* gives every class labels of its own. *strict* is local without overlapping
labels. Nodes and strict recodings are local ones, so what bounds *local* bounds them. Cuts are local recodings only
where both show the same groups: in an ordered column cuts may show any run of neighbours, and local recoding, unless
its intervals are free too, the labels of the hierarchy. Where they differ, the bound of one says nothing of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpareto._version import __version__
from kpareto.errors import BadJob, did_you_mean
from kpareto.fronts.markup import plain_table
from kpareto.fronts.picture import CALM, LINE, MARK, new_axes, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "kpareto-models-1"
MODELS: Mapping[str, str] = {  # name -> what it does, in the words of a legend
    "lattice": "one level per column",
    "cuts": "mixed levels, a value shown alike in all rows",
    "strict": "labels of their own for every class, none overlapping",
    "local": "labels of their own for every class",
}
COLOURS = {"lattice": LINE, "cuts": CALM, "strict": "#66a182", "local": MARK}
MARKERS = {"lattice": "o", "cuts": "s", "strict": "^", "local": "D"}
BANDS = {"cuts": 0.10, "strict": 0.10, "local": 0.35}  # how dense; the bounds of cuts are far away


def read_models(words: str | Sequence[str]) -> tuple[str, ...]:
    """The models that are named, in the order of their freedom; text is divided at its commas."""
    names = [word.strip() for word in words.split(",")] if isinstance(words, str) else list(words)
    for name in names:
        if name not in MODELS:
            hint = did_you_mean(name, MODELS)
            raise BadJob(f"There is no model {name!r}. {hint}The models are: {', '.join(MODELS)}.")
    return tuple(name for name in MODELS if name in names)


@dataclass(frozen=True)
class ModelPoint:
    """What a model loses at most for a wanted k, and what it cannot go below."""

    k: int  # that was asked for
    reached: int  # rows of the smallest class
    loss: float  # LM
    least: float | None  # no recoding of this model loses less; None: nobody knows
    suppressed: int  # rows

    @property
    def kept(self) -> float:
        """Percent of the detail that is kept."""
        return 100 * (1 - self.loss)

    @property
    def most(self) -> float | None:
        """Percent of the detail that any recoding of this model could keep."""
        return None if self.least is None else 100 * (1 - self.least)


@dataclass(frozen=True)
class ModelCurve:
    """One model, k by k; a k that it cannot reach is left out."""

    name: str
    points: tuple[ModelPoint, ...]  # rising in k
    proven: bool  # the losses are the least there are
    seconds: float

    @property
    def words(self) -> str:
        """What the model does, for a legend."""
        return f"{self.name}: {MODELS[self.name]}"

    def bounded_by(self, freer: ModelCurve) -> ModelCurve:
        """The curve with the bounds of a freer model where they are the better ones."""
        points = []
        for point in self.points:
            other = freer.at(point.k)
            known = [least for least in (point.least, None if other is None else other.least) if least is not None]
            points.append(replace(point, least=min(max(known), point.loss) if known else None))
        return replace(self, points=tuple(points))

    def at(self, k: int) -> ModelPoint | None:
        """The point for a k that was asked for."""
        return next((point for point in self.points if point.k == k), None)

    def draw(self, axes: Any) -> None:
        """Draw the curve, and above it the band up to what nobody can pass, on matplotlib's axes."""
        ks, kept = [point.k for point in self.points], [point.kept for point in self.points]
        style = {"marker": MARKERS[self.name], "markersize": 5, "color": COLOURS[self.name]}
        axes.plot(ks, kept, label=self.words + (", exact" if self.proven else ""), zorder=3, **style)
        most = [point.kept if point.most is None else point.most for point in self.points]
        if not self.proven and most != kept:
            faint = {"color": COLOURS[self.name], "alpha": BANDS.get(self.name, 0.2), "linewidth": 0}
            axes.fill_between(ks, kept, most, label=f"{self.name}: what could be kept at most", **faint)


@dataclass(frozen=True, repr=False)
class ModelCurves:
    """The curves of some models over the same table, the same k and the same leave to suppress.

    Attributes
    ----------
    rows : int
        Of the table.
    columns : tuple of str
        Its quasi-identifiers.
    allowed : int
        Rows that may be suppressed.
    ks : tuple of int
        The k that were compared.
    curves : tuple of ModelCurve
        One per model.
    apart : tuple of str
        Columns in which cuts may show groups that local recoding may not.

    Examples
    --------
    >>> import kpareto as kp
    >>> asked = kp.problem(kp.adult_table(), ["k", "lm"], suppression=0.01)
    >>> kp.compare_models(asked, "lattice", ks=[5]).ks
    (5,)
    """

    rows: int
    columns: tuple[str, ...]
    allowed: int
    ks: tuple[int, ...]
    curves: tuple[ModelCurve, ...]
    apart: tuple[str, ...] = ()

    def gains(self) -> list[dict[str, float | int | None]]:
        """What you would gain, a row per k: percent kept by each model, what it could keep, and the best gain."""
        table: list[dict[str, float | int | None]] = []
        for k in self.ks:
            row: dict[str, float | int | None] = {"k": k}
            points = [(curve.name, curve.at(k)) for curve in self.curves]
            for name, point in points:
                row[name] = None if point is None else point.kept
                row[f"{name} at most"] = None if point is None else point.most
            shown = [point.kept for _, point in points if point is not None]
            first = points[0][1]
            row["gain"] = None if first is None or len(points) < 2 else max(shown) - first.kept
            table.append(row)
        return table

    def sentence(self, k: int) -> str:
        """What each model would keep at one k, in a sentence."""
        parts = []
        for curve in self.curves:
            point = curve.at(k)
            if point is None:
                parts.append(f"{curve.name} cannot reach it")
                continue
            proof = ", proven the best" if curve.proven else ""
            if not curve.proven and point.most is not None:
                proof = f", {point.most:.1f} % at the most"
            parts.append(f"{curve.name} keeps {point.kept:.1f} % of the detail ({MODELS[curve.name]}{proof})")
        return f"At k = {k}, {', '.join(parts)}."

    def advice(self) -> str:
        """Whether local recoding keeps most, and what to know before taking it; nothing where it is not shown."""
        local = next((curve for curve in self.curves if curve.name == "local"), None)
        if local is None:
            return ""
        better: dict[str, list[int]] = {}  # model -> the k at which it keeps more than local recoding
        for curve in self.curves:
            for point in curve.points:
                other = local.at(point.k)
                if other is None or point.loss < other.loss - 1e-12:
                    better.setdefault(curve.name, []).append(point.k)
        warned = "opens most: read docs/local.md before you release it."
        sentences = [f"Local recoding {'' if better else 'keeps most and '}{warned}"]
        for name, ks in better.items():
            sentences.append(f"At k = {', '.join(map(str, ks))} {name} kept more.")
        if self.apart:
            sentences.append(
                f"In {', '.join(self.apart)} cuts may group any neighbouring values, with exact borders of real values "
                "as labels, and local recoding shows labels of the hierarchy alone: the bound of one says nothing of "
                "the other."
            )
        return " ".join(sentences)

    def __repr__(self) -> str:
        kept = [f"{c.name} {p.kept:.1f} %" for c in self.curves if (p := c.at(self.ks[0])) is not None]
        return f"ModelCurves(kept at k = {self.ks[0]}: {', '.join(kept)}; k up to {self.ks[-1]})"

    def summary(self) -> str:
        """What each model would keep, a line per k."""
        return "\n".join(self.sentence(k) for k in self.ks)

    def plot(self) -> Figure:
        """All curves as a matplotlib figure; ``save_models`` writes it to a file."""
        share = self.allowed / max(self.rows, 1)
        left_out = "nothing suppressed" if not self.allowed else f"at most {share:.2%} of the rows suppressed"
        columns = f"{len(self.columns)} quasi-identifiers"
        with new_axes(f"What each model keeps of {self.rows:,} rows with {columns}, {left_out}") as axes:
            from matplotlib.ticker import NullFormatter, NullLocator

            for curve in self.curves:
                curve.draw(axes)
            axes.set_xscale("log")
            axes.set_xticks(list(self.ks), [f"{k:,}" for k in self.ks])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(top=101)
            axes.set_xlabel("k: rows that look alike, at least (logarithmic)")
            axes.set_ylabel("detail kept, percent (100 · (1 − LM))")
            axes.grid(True, color="#e8ecf0", linewidth=0.6, zorder=0)
            axes.legend(frameon=False, loc="lower left")
        figure: Figure = axes.figure
        return figure

    def to_dict(self) -> dict[str, Any]:
        """The curves as plain data."""
        return {
            "schema": SCHEMA,
            "kpareto": __version__,
            "table": {"rows": self.rows, "columns": list(self.columns)},
            "suppressed_at_most": self.allowed,
            "loss": "lm",
            "free_in_cuts_alone": list(self.apart),
            "models": [
                {
                    "name": curve.name,
                    "proven": curve.proven,
                    "seconds": curve.seconds,
                    "points": [{**vars(point), "kept": point.kept, "most": point.most} for point in curve.points],
                }
                for curve in self.curves
            ],
            "gains": self.gains(),
        }

    def _repr_html_(self) -> str:
        """The table for a notebook; ``save_models`` draws the picture."""
        rows = [{name: "–" if cell is None else round(cell, 2) for name, cell in row.items()} for row in self.gains()]
        return plain_table(rows)


def save_models(curves: ModelCurves, target: str | Path) -> Path:
    """Write the picture of all models.

    Parameters
    ----------
    curves : ModelCurves
        What ``compare_models`` answers.
    target : str or Path
        The file; the ending of its name says the format (svg, png, pdf).

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    BadInput
        If the ending is not known.

    Examples
    --------
    A file is written::

        curves = kp.compare_models(kp.problem(kp.adult_table(), ["k", "lm"]), seconds=60)
        kp.save_models(curves, "models.svg")
    """
    return save_figure(target, curves.plot)
