"""Front: every trade-off that was found, with its numbers and where it came from; choosing one of them.

Which point is recommended, which ones a person looks at first, and what both are in words, stands here too: a front
tells it of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kpareto.atomic import whole
from kpareto.errors import BadJob, Progress, Unsafe, did_you_mean
from kpareto.fronts.dominance import Ties, find_knee, hypervolume, non_dominated, prefer, unit_costs
from kpareto.fronts.json_file import brief_genome, read_front, write_front, write_genome, write_values
from kpareto.fronts.markup import plain_table, safe, tag
from kpareto.fronts.numbers import SETS, Numbers, Provenance, ProvenGap, spell_count
from kpareto.fronts.picture import (
    RECOMMENDED,
    Curve,
    Picture,
    draw,
    is_drawn_by_factors,
    save_figure,
    sketch,
    thin_cloud,
)
from kpareto.fronts.problem import Problem
from kpareto.measures.cells import lm
from kpareto.measures.measure import MAKERS, Measure, aspect_of, is_privacy, make, meets
from kpareto.measures.population import is_estimated
from kpareto.measures.properties import Comparison, Property, compare
from kpareto.measures.reading import real_keys
from kpareto.measures.sizes import is_smallest_class, k
from kpareto.measures.use import control_of
from kpareto.tables.lattice import Space
from kpareto.tables.partition import Partition, Suppression, partition
from kpareto.tables.recoding import Recoding, recoding_words
from kpareto.tables.spelling import EXACT, several, without_point
from kpareto.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

DEFAULT_K = 5  # where nothing is said about k: a highest risk of one in five
PRESETS = (3, 5, 11, 20)  # class sizes in use: hospitals and statistical offices 3 and 5, CMS 11, Health Canada 0.09
ITSELF = "the recommended point"  # what it is called in a sentence, where it is none of the class sizes in common use


@dataclass(frozen=True, eq=False, repr=False)
class Point:
    """One trade-off: a recoding, its suppression threshold, and its numbers.

    Attributes
    ----------
    front : Front
        The front that it is on.
    id : int
        Its place there, from 0.

    Examples
    --------
    >>> import kpareto as kp
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> point.values["k"], point.partition.suppressed_rows
    (5.0, 289)
    """

    front: Front
    id: int

    def __repr__(self) -> str:
        return f"Point({self.id}: {', '.join(f'{name} = {value:g}' for name, value in self.values.items())})"

    @property
    def values(self) -> dict[str, float]:
        """The objectives by name, each in its own unit."""
        row = self.front.numbers.values[self.id].tolist()
        return dict(zip(self.front.names, row, strict=True))

    @cached_property
    def recoding(self) -> Recoding:
        """The cut of each column."""
        return self.front.space.decode(self.front.genomes[self.id])

    @property
    def table(self) -> Table:
        """The table the recoding is for."""
        return self.front.problem.table

    @property
    def suppression(self) -> Suppression:
        """The rule by which classes are suppressed, with the thresholds of this point."""
        asked, values = self.front.whole or (self.front.problem, self.front.numbers.values)
        names = (measure.name for measure in asked.objectives)
        return asked.settle(self.threshold, dict(zip(names, values[self.id].tolist(), strict=True)))

    @property
    def limits(self) -> dict[str, float]:
        """The limits every point of the front meets."""
        return {measure.name: threshold for measure, threshold in self.front.problem.limits}

    @property
    def threshold(self) -> int:
        """Classes smaller than this are suppressed (rules with a threshold)."""
        return int(self.front.numbers.thresholds[self.id])

    @property
    def bound(self) -> ProvenGap | None:
        """What no recoding with these labels can go below at the k that was asked for; None where nobody proved one."""
        known = self.front.provenance.details.get("bounds") if self.recoding.boxes is not None else None
        row = known[int(self.front.genomes[self.id, 0])] if known else None
        return None if row is None else ProvenGap(row["loss"], row["at"], row["least"], row["reached"])

    @cached_property
    def partition(self) -> Partition:
        """The equivalence classes, and which are suppressed."""
        return partition(self.table, self.recoding, self.suppression)

    def measure(self, measure: Measure) -> float:
        """Any other number about this point."""
        return measure(self.partition)

    def to_dict(self) -> dict[str, Any]:
        """The point as the front's JSON has it."""
        data: dict[str, Any] = {"id": self.id, **write_genome(self.recoding, self.front.genomes[self.id])}
        data |= {} if (bound := self.bound) is None else {"bound": bound.to_dict()}
        data["values"] = write_values(self.front.problem, self.values)
        if self.front.floors is not None:
            floors = zip(self.front.names, self.front.floors[self.id].tolist(), strict=True)
            data["at_least"] = {name: floor for name, floor in floors if floor == floor}
        data["suppressed"] = self.partition.suppressed_rows
        data["classes"] = self.partition.classes
        if self.front.problem.suppression.rule != "none":
            data["threshold"] = self.threshold
        if thresholds := dict(self.suppression.thresholds):
            data["thresholds"] = {name: without_point(value, EXACT) for name, value in thresholds.items()}
        return data


@dataclass(frozen=True, eq=False, repr=False)
class Front:
    """Non-dominated recodings, in the order of the first objective (worst privacy, or least value, first).

    Attributes
    ----------
    problem : Problem
        What was asked.
    space : Space
        The recodings that were walked.
    genomes : numpy.ndarray
        (points, genes) int64.
    numbers : Numbers
        One row per point.
    provenance : Provenance
        How it was found, and whether it is proven to be complete.
    cloud : numpy.ndarray or None
        (n, objectives) float64, values of dominated recodings, for pictures.
    floors : numpy.ndarray or None
        (points, objectives) float64, the least at the point's k; nan: nothing known.
    whole : tuple of (Problem, numpy.ndarray) or None
        Of a slice: the problem and the values of all its objectives.

    Examples
    --------
    >>> import kpareto as kp
    >>> front = kp.front(kp.adult_table(), objectives=["k", "lm"], suppression=0.01)
    >>> front
    Front(41 points, objectives k, lm, exact, complete)
    >>> front.choose(k=5)
    Point(4: k = 5, lm = 0.266028)
    """

    problem: Problem
    space: Space
    genomes: np.ndarray
    numbers: Numbers
    provenance: Provenance
    cloud: np.ndarray | None = None
    floors: np.ndarray | None = None
    whole: tuple[Problem, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.genomes)

    def __repr__(self) -> str:
        proof = self.proof.partition(":")[0]
        many, names = several(len(self), "point"), ", ".join(self.names)
        return f"Front({many}, objectives {names}, {self.provenance.method}, {proof})"

    def __iter__(self) -> Iterator[Point]:
        return (Point(self, i) for i in range(len(self)))

    def __getitem__(self, number: int) -> Point:
        if not -len(self) <= number < len(self):
            raise BadJob(f"No point {number} on this front. Its points are 0 to {len(self) - 1}.")
        return Point(self, number % len(self))

    @property
    def names(self) -> list[str]:
        """The objectives' names."""
        return [measure.name for measure in self.problem.objectives]

    @property
    def proof(self) -> str:
        """What is proven of the front, or why it is not complete, as half a sentence."""
        if len(self) == 0 and self.provenance.complete:
            return "proven: there is none that does"
        if not self.provenance.complete:
            return f"not complete: {self.provenance.note or 'a heuristic search may have missed points'}"
        of = " by whole levels" if self.space.kind == "lattice" else ""  # other models of recoding have others
        return (
            f"complete{' of the sample' if self.problem.table.sample else ''}: no trade-off{of} is missing{self._steps}"
        )

    @property
    def _steps(self) -> str:
        """That numbers on a scale are compared in steps, where some are; half a sentence."""
        step = self.problem.suppression.step
        names = [measure.name for measure in self.problem.graded if not aspect_of(measure).shown]
        return f", {' and '.join(names)} taken in steps of {step:g}" if names and step else ""

    @cached_property
    def vectors(self) -> int:
        """How many different vectors of numbers the points have (several recodings may share one)."""
        return len(np.unique(self.numbers.keys, axis=0)) if len(self) else 0

    @property
    def costs(self) -> np.ndarray:
        """The values with the sign turned where higher is better, so that lower is better: (points, objectives)."""
        return -self.numbers.values * self.problem.better

    # -- choosing ----------------------------------------------------------------------------------------------------

    def _column(self, name: str) -> int:
        if name not in self.names:
            raise BadJob(
                f"{name!r} is not an objective of this front. {did_you_mean(name, self.names)}"
                f"Its objectives are: {', '.join(self.names)}."
            )
        return self.names.index(name)

    def meeting(self, limits: Mapping[str, float]) -> np.ndarray:
        """The points that meet limits on objectives: at least where higher is better, else at most."""
        met = np.ones(len(self), dtype=np.bool_)
        for name, limit in limits.items():
            column = self._column(name)
            met &= meets(self.problem.objectives[column].better, self.numbers.values[:, column], limit)
        return np.flatnonzero(met)

    def choose(self, limits: Mapping[str, float] | None = None, /, **named: float) -> Point:
        """The point that meets the limits (``k=5``) and has the least loss: the first loss that is not limited.

        Ties go to the next losses, then to the other privacy objectives, then to the limited ones. On a complete front
        of k and a loss this is the proven least loss at that k or higher.
        """
        wanted = {**(limits or {}), **named}
        if not wanted:
            raise BadJob("Say what the choice must meet, such as choose(k=5).")
        places = self.meeting(wanted)
        if len(places) == 0:
            best = {n: without_point(_best(self, n), EXACT) for n in wanted} if len(self) else {}
            raise Unsafe(
                f"No point meets {_words(wanted)}. The best the front has is {_words(best)}. "
                "Ask for less, allow more suppression, or add coarser levels to the hierarchies."
            )
        limited = [self._column(name) for name in wanted]
        rest = [column for column in range(len(self.names)) if column not in limited]
        free = sorted(rest, key=lambda column: is_privacy(self.problem.objectives[column]))  # losses first
        keys = self.numbers.keys[places]
        order = np.lexsort([keys[:, column] for column in [*reversed(limited), *reversed(free)]])
        return Point(self, int(places[order[0]]))

    def choose_least(self) -> Point:
        """The point with the least loss, the first loss among the objectives (for fronts made under limits)."""
        if len(self) == 0:
            raise Unsafe("The front is empty: no recoding meets the limits. Relax them.")
        return Point(self, int(self.by_loss()[0]))

    def by_loss(self) -> np.ndarray:
        """The points from the least loss on, the first loss among the objectives: (points,) int64."""
        order = sorted(range(len(self.names)), key=lambda column: is_privacy(self.problem.objectives[column]))
        return np.lexsort([self.numbers.keys[:, column] for column in reversed(order)])

    @cached_property
    def recommendation(self) -> Recommendation:
        """The point for somebody who says nothing, and why it is that one."""
        return recommend(self)

    def presets(self) -> dict[int, Point]:
        """The choice for each class size in common use (3, 5, 11, 20) that the front reaches."""
        choices = {}
        for size in PRESETS:
            if "k" in self.names and len(self.meeting({"k": size})):
                choices[size] = self.choose(k=size)
        return choices

    def prefer(self, **point: float) -> Point:
        """The point nearest to what is wished for, by the achievement function (Dewri et al. 2009; ties by the sum).

        Name at least one loss and the value wished for: ``prefer(nwp=0.2, necd=0.1)``. Objectives that are better
        higher are limits here: ``prefer(k=5, lm=0.3)``.
        """
        limits = {n: v for n, v in point.items() if self.problem.better[self._column(n)] > 0}
        wishes = {n: v for n, v in point.items() if n not in limits}
        if not wishes:
            raise BadJob("A preference needs at least one objective that is better lower, such as lm=0.2.")
        places = self.meeting(limits)
        if len(places) == 0:
            raise Unsafe(f"No point meets {_words(limits)}. Ask for less.")
        columns = [self._column(name) for name in wishes]
        return Point(self, int(places[prefer(self.numbers.values[places][:, columns], list(wishes.values()))]))

    def knee(self) -> Point:
        """The point below which the front bends deepest; never an end, where there are others."""
        if len(self) == 0:
            raise Unsafe("The front is empty, so it has no knee. Relax the limits.")
        return Point(self, find_knee(self.problem.objectives, self.numbers.values))

    def prices(self, privacy: str = "k", loss: str | None = None) -> list[dict[str, float]]:
        """The marginal price along the front: what one more unit of privacy costs from each point to the next.

        Rows: id, the two values, step in privacy, step in loss, price per unit.
        """
        gained = self._column(privacy)
        losses = [c for c, m in enumerate(self.problem.objectives) if c != gained and not is_privacy(m)]
        paid = self._column(loss) if loss else next(iter(losses), int(gained == 0))
        pair = self.numbers.keys[:, [gained, paid]]
        places = non_dominated(pair, "one")
        ranked = places[np.argsort(self.numbers.values[places, gained] * self.problem.better[gained])]
        rows = []
        for here, there in pairwise(ranked.tolist()):
            a, b = self.numbers.values[here], self.numbers.values[there]
            step = abs(float(b[gained] - a[gained]))
            cost = float(b[paid] - a[paid]) * -int(self.problem.better[paid])
            rows.append(
                {
                    "id": int(here),
                    "next": int(there),
                    privacy: float(a[gained]),
                    self.names[paid]: float(a[paid]),
                    "step": step,
                    "cost": cost,
                    "price": cost / step if step else 0.0,
                }
            )
        return rows

    def take(self, places: Sequence[int] | np.ndarray) -> Front:
        """Some of the points as a front of their own."""
        chosen = np.asarray(places, dtype=np.int64)
        floors = None if self.floors is None else self.floors[chosen]
        whole = None if self.whole is None else (self.whole[0], self.whole[1][chosen])
        numbers = self.numbers.take(chosen)
        return replace(self, genomes=self.genomes[chosen], numbers=numbers, floors=floors, whole=whole)

    def filter(self, **limits: float) -> Front:
        """The points that meet limits on objectives."""
        return self.take(self.meeting(limits))

    def slice(self, *objectives: str, ties: Ties = "all") -> Front:
        """The front of some of the objectives: points that are dominated in the others' absence are left out."""
        columns = [self._column(name) for name in objectives]
        part = replace(
            self,
            problem=replace(self.problem, objectives=tuple(self.problem.objectives[c] for c in columns)),
            numbers=replace(self.numbers, values=self.numbers.values[:, columns], keys=self.numbers.keys[:, columns]),
            cloud=None if self.cloud is None else self.cloud[:, columns],
            floors=None if self.floors is None else self.floors[:, columns],
            whole=self.whole or (self.problem, self.numbers.values),
        )
        return part.take(non_dominated(part.numbers.keys, ties))

    def compare(self, first: int, second: int, what: Property = "class-size", by: str | None = None) -> Comparison:
        """Who gains and who loses when the second point is taken instead of the first, by group of a column."""
        return compare(self[first].partition, self[second].partition, what, by=by)

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """The volume the front dominates in scaled objectives (0 best, 1 worst on this front), or up to a reference."""
        if reference is None:
            return hypervolume(scaled_costs(self), np.ones(len(self.names)))
        worst = np.array([reference[name] for name in self.names]) * -self.problem.better
        return hypervolume(self.costs, worst)

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per point, for tables and frames."""
        flat: list[dict[str, Any]] = []
        for point in self:
            levels = point.recoding.describe()
            shown = {name: v if isinstance(v, int) else len(v) for name, v in levels.items()}
            flat.append(
                {"id": point.id} | point.values | {"suppressed": int(self.numbers.suppressed[point.id])} | shown
            )
        return flat

    def arrow(self) -> pa.Table:
        """The points as a pyarrow table, one row each; ``to_pandas`` and ``to_polars`` too."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def to_pandas(self) -> pd.DataFrame:
        """The points as a pandas frame, one row each."""
        return self.arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The points as a polars frame, one row each."""
        import polars as pl

        return pl.DataFrame(self.arrow())

    def write_parquet(self, target: str | PathLike[str]) -> None:
        """The points as a Parquet file, written at once or not at all."""
        import pyarrow.parquet as pq

        with whole(target, private=True) as part:
            pq.write_table(self.arrow(), part)

    def _repr_html_(self) -> str:
        """What a notebook shows: the first two objectives as a picture, the points as a table."""
        sample = self.problem.table.sample
        proof = self.proof if sample is None else f"{self.proof}; found on {sample.words()}"
        size = f"of {spell_count(self.space.size)} recodings"
        head = tag("p", tag("b", f"{len(self):,} trade-offs"), f" {size} ({proof})")
        drawn = None
        if len(self) and len(self.names) > 1:
            shown = picture(self)
            cloud = thin_cloud(np.array(shown.cloud).reshape(-1, 2), shown.x_log, shown.y_log)
            shown = replace(shown, cloud=cloud.tolist())
            drawn = [sketch(shown, f"Front of {shown.x_name} and {shown.y_name}", shown.title)]
            if len(shown.points) < self.vectors:
                drawn.append(
                    tag("p", f"The picture has {len(shown.points):,} of {self.vectors:,} different trade-offs.")
                )
        return safe([head, drawn, plain_table(self.rows())])

    def summary(self) -> str:
        """What the front is and proves, and the points that a person looks at first, in words."""
        lines = [front_sentence(self)]
        for number, marks in sorted(marks_of(self).items()):
            lines.append(f"{', '.join(marks)} (point {number}): {point_sentence(self[number])}.")
        lines += [mark.words for mark in mark_points(self) if mark.words]
        return "\n".join([*lines, *self.problem.table.remarks, *self.problem.remarks])

    def plot(self, x: str | None = None, y: str | None = None) -> Figure:
        """Two objectives as a matplotlib figure, the first two unless named; ``save_picture`` writes it to a file."""
        return draw(picture(self, x, y))

    def to_dict(self) -> dict[str, Any]:
        """The front as docs/fronts.md describes it; where ``search`` has a ``sample``, it is complete of that alone."""
        return {
            **write_front(self.problem, self.space, self.provenance),
            "vectors": self.vectors,
            "recommended": self.recommendation.point.id if len(self) else None,
            "marks": [mark.to_dict() for mark in mark_points(self)],
            "points": [point.to_dict() for point in self],
        }


def make_front(
    problem: Problem, space: Space, genomes: np.ndarray, numbers: Numbers, provenance: Provenance, ties: Ties = "all"
) -> Front:
    """The front of evaluated genomes: feasible, non-dominated, ordered; ``numbers.which`` names the genome of a row."""
    feasible = np.flatnonzero(numbers.feasible)
    kept = feasible[non_dominated(numbers.keys[feasible], ties)]
    return list_front(problem, space, genomes, numbers.take(kept), provenance)


def list_front(problem: Problem, space: Space, genomes: np.ndarray, numbers: Numbers, provenance: Provenance) -> Front:
    """A front of all these rows that are feasible, ordered, whether or not one of them dominates another."""
    chosen = numbers.take(np.flatnonzero(numbers.feasible))
    # From worst to best in the first objective, then by the others, then by genome: the same order on every run.
    front_genomes = genomes[chosen.which]
    tie = [front_genomes[:, gene] for gene in range(front_genomes.shape[1] - 1, -1, -1)]
    order = np.lexsort(
        [*tie, chosen.thresholds, *(chosen.keys[:, c] for c in range(1, chosen.keys.shape[1])), -chosen.keys[:, 0]]
    )
    ranked = chosen.take(order)
    return Front(problem, space, front_genomes[order], replace(ranked, which=np.arange(len(order))), provenance)


def scaled_costs(front: Front) -> np.ndarray:
    """Costs from 0 (best on the front) to 1 (worst); sizes such as k on a logarithmic scale: (points, objectives)."""
    costs = front.costs.copy()
    for column, measure in enumerate(front.problem.objectives):
        values = front.numbers.values[:, column]
        if measure.better == "higher" and (values > 0).all() and aspect_of(measure).logarithmic:
            costs[:, column] = -np.log(values)
    return unit_costs(costs)


def _best(front: Front, name: str) -> float:
    column = front._column(name)
    values = front.numbers.values[:, column]
    return float(values.max() if front.problem.better[column] > 0 else values.min())


def _words(limits: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in limits.items()) or "nothing"


# -- the file, and the picture -----------------------------------------------------------------------------------------


def load_front(source: str | PathLike[str] | Mapping[str, Any], problem: Problem) -> Front:
    """The front of a JSON file (or its data) on the problem it was found for; its points keep their ids."""
    return Front(problem, *read_front(source, problem))


def brief_front(front: Front) -> dict[str, Any]:
    """The data that ``load_front`` needs, and no more: no class is counted, so a large front is quick to keep."""
    numbers, points = front.numbers, []
    for number, genome in enumerate(front.genomes):
        values = dict(zip(front.names, numbers.values[number].tolist(), strict=True))
        counts = {"suppressed": int(numbers.suppressed[number]), "threshold": int(numbers.thresholds[number])}
        points.append({"values": values, **counts, **brief_genome(front.space, genome)})
    return {**front.take([]).to_dict(), "vectors": front.vectors, "points": points}


def picture(front: Front, x: str | None = None, y: str | None = None, curves: Sequence[Curve] = ()) -> Picture:
    """The picture of two objectives of a front, with the recommended point and the class sizes in common use marked."""
    for name in dict.fromkeys(name for name in (x, y) if name and name in MAKERS and name not in front.names):
        front = add_measure(front, make(name))
    names = front.names
    if len(names) < 2:
        raise BadJob("A picture needs two objectives. Add one, such as glm.")
    across = x or names[0]
    up = y or next(name for name in names if name != across)
    flat = front.slice(across, up, ties="one")
    pair = [flat.names.index(across), flat.names.index(up)]
    values = flat.numbers.values[:, pair]
    order = np.argsort(values[:, 0], kind="stable")
    floors = None if flat.floors is None else flat.floors[order, pair[1]]
    others = [name for name in names if name not in (across, up)]
    hidden = front.vectors - len(flat)
    left_out = f"; {hidden:,} more trade-offs by {', '.join(others)} are not shown" if hidden and others else ""
    labels: dict[tuple[float, float], list[str]] = {}  # those on one place together
    for mark, point in marked_points(front):
        labels.setdefault((point.values[across], point.values[up]), []).append(mark)
    return Picture(
        across,
        up,
        is_drawn_by_factors(flat.problem.objectives[pair[0]], values[:, 0]),
        is_drawn_by_factors(flat.problem.objectives[pair[1]], values[:, 1]),
        bool(flat.problem.better[pair[0]] > 0),
        values[order].tolist(),
        [] if flat.cloud is None else flat.cloud[:, pair].tolist(),
        tuple((", ".join(marks), *at) for at, marks in labels.items()),
        title=f"{len(flat)} trade-offs among {spell_count(front.space.size)} recodings ({front.proof}{left_out})",
        curves=tuple(curves),
        floor=None if floors is None or np.isnan(floors).all() else floors.tolist(),
        control=control_of(front.problem.table, up),
    )


def add_measure(front: Front, measure: Measure, report: Progress | None = None) -> Front:
    """The same points with one more number, as if it were an objective; all of them are the cloud of its picture."""
    values = np.empty(len(front))
    for place, point in enumerate(front):
        values[place] = point.measure(measure)
        if report is not None:
            report(place + 1, len(front))
    more = np.column_stack((front.numbers.values, values))
    keys = np.column_stack((front.numbers.keys, real_keys(values, measure.better == "higher")))
    wider = replace(front.problem, objectives=(*front.problem.objectives, measure))
    numbers = replace(front.numbers, values=more, keys=keys)
    asked = front.whole or (front.problem, front.numbers.values)
    note = f"{measure.name} was measured on the points of a front by {', '.join(front.names)}"
    known = replace(front.provenance, complete=False, note=note)
    return replace(front, problem=wider, numbers=numbers, provenance=known, cloud=more, floors=None, whole=asked)


def save_picture(
    front: Front, target: str | Path, x: str | None = None, y: str | None = None, curves: Sequence[Curve] = ()
) -> Path:
    """Write a front's picture, other curves beside it.

    Parameters
    ----------
    front : Front
        The front.
    target : str or Path
        The file; the ending of its name says the format (svg, png, pdf).
    x, y : str, optional
        The objectives along the axes, the first two unless given; or any measure, which is then taken of every point.
        With ``count-error`` or ``relations`` upright, a line shows what the column totals alone have.
    curves : sequence of Curve, optional
        Further curves.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    BadInput
        If the ending or an objective is not known, or the front has one objective only.

    Examples
    --------
    A file is written::

        front = kp.front(kp.adult_table(), objectives=["k", "lm"])
        kp.save_picture(front, "front.svg", x="k", y="lm")
    """
    return save_figure(target, lambda: draw(picture(front, x, y, curves)))


# -- the points to look at first ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The point for somebody who says nothing, and why it is that one, as half a sentence."""

    point: Point
    why: str


def recommend(front: Front) -> Recommendation:
    """The point of least loss that meets the limits, and k ≥ 5 where no limit says how well a row may be recognised.

    Every point of a front meets its limits, so with one on k, on the highest risk or against the population it is the
    point of least loss. Limits on other things, such as l, leave k open, and so does a job without limits: then k ≥ 5
    is asked for as well, also where k is no objective. Where no point reaches it, it is the one with the largest k.
    """
    signs = {"higher": "≥", "lower": "≤"}
    met = ", ".join(f"{measure.name} {signs[measure.better]} {limit:g}" for measure, limit in front.problem.limits)
    if any(is_smallest_class(m) or aspect_of(m).population for m, _ in front.problem.limits):
        return Recommendation(front.choose_least(), f"the least loss that meets the limits ({met})")
    point, size = _usual_point(front)
    if size < DEFAULT_K:
        return Recommendation(point, f"the largest k there is ({size:,.0f}), as no point reaches k ≥ {DEFAULT_K}")
    least = f"the least loss that meets the limits ({met}) and" if met else "the least loss with"
    return Recommendation(point, f"{least} k ≥ {DEFAULT_K}, which is usual where nothing is said about k")


def _usual_point(front: Front) -> tuple[Point, float]:
    """The point of least loss with the usual k, or else with the largest there is, and its k."""
    for column, measure in enumerate(front.problem.objectives):
        if is_smallest_class(measure):  # k, or one divided by it
            values, higher = front.numbers.values[:, column], measure.better == "higher"
            usual = float(DEFAULT_K if higher else 1 / DEFAULT_K)
            reached = len(front.meeting({measure.name: usual})) > 0
            point = front.choose({measure.name: usual if reached else float(values.max() if higher else values.min())})
            value = point.values[measure.name]
            return point, value if higher else round(1 / value)
    best, most = front[0], -1.0
    for number in front.by_loss().tolist():
        size = k()(front[number].partition)
        if size > most:
            best, most = front[number], size
        if size >= DEFAULT_K:
            break
    return best, most


def least_k(front: Front) -> int:
    """The k that the limits ask of every point; 1 where they ask for none."""
    asked = [limit if m.better == "higher" else 1 / limit for m, limit in front.problem.limits if is_smallest_class(m)]
    return int(np.ceil(np.round(max(asked, default=1.0), 9)))


def marked_points(front: Front) -> list[tuple[str, Point]]:
    """The points to look at first, each with its mark: the recommended one, and class sizes in common use by rising k.

    A size below the one that the limits ask for is no mark, as the front knows nothing of it; the one asked for is.
    """
    if len(front) == 0:
        return []
    asked, best = least_k(front), front.recommendation.point
    sizes = {size: point for size, point in front.presets().items() if size > asked}
    if asked > 1 and "k" in front.names:
        sizes = {asked: best, **sizes}
    return [(RECOMMENDED, best), *((f"k ≥ {size:,}", point) for size, point in sizes.items())]


def marks_of(front: Front) -> dict[int, tuple[str, ...]]:
    """The same by the point's id: all marks of a point together."""
    marks: dict[int, tuple[str, ...]] = {}
    for mark, point in marked_points(front):
        marks[point.id] = (*marks.get(point.id, ()), mark)
    return marks


# -- in words ----------------------------------------------------------------------------------------------------------


def front_sentence(front: Front) -> str:
    """What the front is and what it proves, in a sentence or two."""
    provenance, size = front.provenance, spell_count(front.space.size)
    words = several(len(front), "point") + (f" ({front.vectors:,} different)" if front.vectors != len(front) else "")
    counted = f"{provenance.evaluated:,} counted in {provenance.seconds:.2f} s"
    text = f"{words} of {size} recoding{'s' * (front.space.size != 1)}; {counted}."
    if len(front) == 0:
        which = "No recoding" if provenance.complete else "No recoding that was counted"
        text = f"{which} of {size} meets the limits; {counted}."
    sample = front.problem.table.sample
    if sample is not None:
        text += f" Found on {sample.words()}: the numbers are those of the sample."
    if names := estimated_names(front.problem):
        text += f" {' and '.join(names)}: estimated, not counted; each number is an upper end."
    which_set = f" The points are {SETS[provenance.points]}." if provenance.points in ("report", "archive") else ""
    return f"{text} {front.proof[0].upper()}{front.proof[1:]}.{which_set}"


def estimated_names(problem: Problem) -> list[str]:
    """The objectives and limits that speak of a population that nobody has counted."""
    measures = [*problem.objectives, *(measure for measure, _ in problem.limits)]
    return list(dict.fromkeys(measure.name for measure in measures if is_estimated(measure, problem.table)))


def kept_percent(point: Point) -> float:
    """Percent of the detail of all cells that a point keeps: 100 where nothing is generalized or suppressed."""
    values, table = point.values, point.front.problem.table
    if "glm" in values:  # the sum that LM is the mean of; a partition takes longer
        return 100 * (1 - values["glm"] / (table.rows * len(table.schema.quasi)))
    return 100 * (1 - (values["lm"] if "lm" in values else lm()(point.partition)))


def point_sentence(point: Point) -> str:
    """A point in words: its numbers, what it keeps, and how each column is shown."""
    estimated = estimated_names(point.front.problem)
    numbers = ", ".join(
        f"{name} = {value:,.6g}" + " (estimated)" * (name in estimated) for name, value in point.values.items()
    )
    lost = point.partition.suppressed_rows
    left_out = f", {lost:,} rows suppressed" if lost else ""
    return f"{numbers}: {kept_percent(point):.1f} % of the detail kept{left_out}; {recoding_words(point.recoding)}"


@dataclass(frozen=True, eq=False)
class Mark:
    """A point to look at first: why it is recommended, or what the next class size in common use would cost."""

    label: str
    point: Point
    words: str  # a sentence; empty where there is no next one
    beyond: Point | None = None  # the next one, of which the sentence speaks too

    def to_dict(self) -> dict[str, Any]:
        """The mark as the front's JSON has it."""
        return {
            "label": self.label,
            "id": self.point.id,
            "kept": round(kept_percent(self.point), 2),
            "words": self.words,
        }


def mark_points(front: Front) -> list[Mark]:
    """The marked points, the recommended one first, each with its sentence."""
    if len(front) == 0:
        return []
    (_, best), *sizes = marked_points(front)
    aside = "k" in front.names and best.id not in {point.id for _, point in sizes}
    steps = sorted([(ITSELF, best), *sizes], key=lambda step: step[1].values["k"]) if aside else sizes
    costs: dict[str, tuple[str, Point | None]] = {}  # by the name of a mark
    for (name, here), (further, there) in pairwise(steps):
        costs[name] = f"From {name} to {further}: {cost_words(here, there)}.", there
    missing = next((size for size in PRESETS if "k" in front.names and len(front.meeting({"k": size})) == 0), None)
    if missing is not None and steps and steps[-1][0] != ITSELF:
        costs[steps[-1][0]] = f"No point reaches k ≥ {missing}.", None
    cost, beyond = costs.get(ITSELF, ("", None))
    why = f"Recommended: point {best.id}, {front.recommendation.why}. {cost}".rstrip()
    marks = (Mark(label, point, *costs.get(label, ("", None))) for label, point in sizes)
    return [Mark(RECOMMENDED, best, why, beyond), *marks]


def cost_words(here: Point, there: Point) -> str:
    """What it costs to take another point with a larger k, in points of detail and in rows."""
    if here.id == there.id:
        return "no cost, the same recoding already gives it"
    less = round(kept_percent(here), 1) - round(kept_percent(there), 1)  # as the table shows them
    detail = f"{abs(less):.1f} points of detail {'less' if less > 0 else 'more'}"
    detail = "hardly any detail less" if abs(less) < 0.05 else detail
    suppressed = here.front.numbers.suppressed
    return f"{detail}, and {more_rows(int(suppressed[there.id]) - int(suppressed[here.id]))} suppressed"


def more_rows(more: int) -> str:
    """How many more rows, or fewer."""
    return several(abs(more), f"{'fewer' if more < 0 else 'more'} row") if more else "no more rows"
