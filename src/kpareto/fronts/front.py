"""Front: every trade-off that was found, with its numbers and where it came from; choosing one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from kpareto._version import __version__
from kpareto.atomic import whole
from kpareto.errors import BadJob, Unsafe, did_you_mean
from kpareto.fronts.bound import ProvenGap
from kpareto.fronts.choose import PRESETS, Recommendation, recommend
from kpareto.fronts.dominance import Ties, hypervolume, non_dominated
from kpareto.fronts.knee import find_knee, unit_costs
from kpareto.fronts.notebook import front_html
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.preference import prefer
from kpareto.fronts.problem import Problem
from kpareto.fronts.provenance import Provenance
from kpareto.fronts.summary import mark_points, summarize
from kpareto.measures.measure import Measure, aspect_of, is_privacy, meets, short_name
from kpareto.measures.properties import Comparison, Property, compare
from kpareto.tables.fingerprint import fingerprint
from kpareto.tables.lattice import Space
from kpareto.tables.local_space import LocalSpace
from kpareto.tables.partition import Partition, Suppression, partition
from kpareto.tables.recoding import Recoding
from kpareto.tables.spelling import EXACT, spell_infinite, without_point
from kpareto.tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Point:
    """One trade-off: a recoding, its suppression threshold, and its numbers."""

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
        shape = "runs" if self.recoding.boxes is not None else "cuts"
        shape = shape if self.recoding.levels is None else "levels"
        data: dict[str, Any] = {"id": self.id, shape: self.recoding.describe()}
        if shape == "cuts":
            data["genome"] = "".join(str(int(gene)) for gene in self.front.genomes[self.id])
        if shape == "runs":
            data["number"] = int(self.front.genomes[self.id, 0])
            data |= {"bound": bound.to_dict()} if (bound := self.bound) is not None else {}
        values = {name: without_point(value, EXACT) for name, value in self.values.items()}
        for measure in self.front.problem.objectives:
            if in_rows := aspect_of(measure).in_rows:
                rows = round(values[measure.name] * self.front.problem.table.rows)
                values[in_rows + measure.name.removeprefix(short_name(measure.name))] = rows
        data["values"] = spell_infinite(values)
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
    """Non-dominated recodings, in the order of the first objective (worst privacy, or least value, first)."""

    problem: Problem
    space: Space
    genomes: np.ndarray  # (points, genes) int64
    numbers: Numbers  # one row per point
    provenance: Provenance
    cloud: np.ndarray | None = None  # (n, objectives) float64, values of dominated recodings, for pictures
    floors: np.ndarray | None = None  # (points, objectives) float64, the least at the point's k; nan: nothing known
    whole: tuple[Problem, np.ndarray] | None = None  # of a slice: the problem and the values of all its objectives

    def __len__(self) -> int:
        return len(self.genomes)

    def __repr__(self) -> str:
        proof = self.proof.partition(":")[0]
        return f"Front({len(self)} points, objectives {', '.join(self.names)}, {self.provenance.method}, {proof})"

    def __iter__(self) -> Iterator[Point]:
        return (Point(self, i) for i in range(len(self)))

    def __getitem__(self, place: int) -> Point:
        if not -len(self) <= place < len(self):
            raise BadJob(f"No point {place} on this front. Its points are 0 to {len(self) - 1}.")
        return Point(self, place % len(self))

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
        """The point for somebody who says nothing, and why it is that one (``fronts/choose.py``)."""
        return recommend(self)

    def presets(self) -> dict[int, Point]:
        """The choice for each class size in common use (3, 5, 11, 20) that the front reaches."""
        choices = {}
        for k in PRESETS:
            if "k" in self.names and len(self.meeting({"k": k})):
                choices[k] = self.choose(k=k)
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
        """The point below which the front bends deepest; never an end, where there are others (``fronts/knee.py``)."""
        if len(self) == 0:
            raise Unsafe("The front is empty, so it has no knee. Relax the limits.")
        return Point(self, find_knee(self.problem, self.numbers.values))

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
        """The points as a pyarrow table, one row each; pandas and polars take it from there."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def write_parquet(self, target: str | PathLike[str]) -> None:
        """The points as a Parquet file, written at once or not at all."""
        import pyarrow.parquet as pq

        with whole(target, private=True) as part:
            pq.write_table(self.arrow(), part)

    def _repr_html_(self) -> str:
        """What a notebook shows: the first two objectives as a picture, the points as a table."""
        return front_html(self)

    def summary(self) -> str:
        """What the front is and proves, and the points that a person looks at first, in words."""
        return summarize(self)

    def plot(self, x: str | None = None, y: str | None = None) -> Figure:
        """Two objectives as a matplotlib figure, the first two unless named; ``save_picture`` writes it to a file."""
        from kpareto.fronts.picture import draw, picture

        return draw(picture(self, x, y))

    def to_dict(self) -> dict[str, Any]:
        """The front as docs/fronts.md describes it; where ``search`` has a ``sample``, it is complete of that alone."""
        table, provenance = self.problem.table, self.provenance
        return {
            "kpareto": __version__,
            "job": front_print(self.problem, self.space),
            "rows": table.rows,
            "distinct": table.distinct,
            "space": {
                "kind": self.space.kind,
                "size": self.space.size,
                **({"first": first} if (first := {h.name: h.first for h in table.hierarchies if h.first}) else {}),
                **(self.space.to_dict() if isinstance(self.space, LocalSpace) else {}),
            },
            "search": {
                "method": provenance.method,
                "evaluated": provenance.evaluated,
                "complete": provenance.complete,
                "set": provenance.points,
                "seed": provenance.seed,
                "seconds": round(provenance.seconds, 3),
                **({"sample": dict(vars(table.sample))} if table.sample is not None else {}),
                **({"note": provenance.note} if provenance.note else {}),
                **({"details": dict(provenance.details)} if provenance.details else {}),
            },
            "suppression": {
                "rule": self.problem.suppression.rule,
                "limit": self.problem.suppression.limit,
                "rows": self.problem.suppression.rows,
                **({"step": self.problem.suppression.step} if self.problem.suppression.graded else {}),
            },
            "limits": {measure.name: threshold for measure, threshold in self.problem.limits},
            "objectives": [{"name": m.name, "better": m.better, "unit": m.unit} for m in self.problem.objectives],
            "vectors": self.vectors,
            "recommended": self.recommendation.point.id if len(self) else None,
            "marks": [mark.to_dict() for mark in mark_points(self)],
            "points": [point.to_dict() for point in self],
        }


def front_print(problem: Problem, space: Space) -> str:
    """What a front's file belongs to: the problem with all that decides its numbers, and the space that was walked."""
    return fingerprint(problem.fingerprint, space)


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
