"""The front of a report: a table of trade-offs and the numbers of its picture, the chosen point marked."""

from __future__ import annotations

import numpy as np

from kpareto.front import Front, Point
from kpareto.partition import Partition
from kpareto.plots import Picture, picture
from kpareto.report.discretion import Discretion, rounded
from kpareto.report.shape import Drawing, FrontPart, FrontPoint, Objective
from kpareto.report.words import meaning, proof

LINES = 24  # points in the table
WIDE, HIGH = 360, 200  # the cloud is drawn on so many cells; a second point in a cell would not be seen


def veiled(point: Point, discretion: Discretion) -> bool:
    """Whether the number of rows read must not be told, for it would tell a small number of suppressed rows."""
    return discretion.hides(point.partition.suppressed_rows)


def seen_ids(point: Point, discretion: Discretion) -> list[int]:
    """The points that may be shown: in public those with at least the k of the release."""
    front = point.front
    keep = np.ones(len(front), dtype=np.bool_)
    if not discretion.confidential and "k" in front.names:
        keep = front.numbers.values[:, front.names.index("k")] >= discretion.least
        if veiled(point, discretion):  # the k of a single class, with what it suppresses, is the number of rows
            whole = front.numbers.values[:, front.names.index("k")] + front.numbers.suppressed
            keep &= whole < front.problem.table.rows
        keep[point.id] = True
    return [int(place) for place in np.flatnonzero(keep)]


def public_front(point: Point, discretion: Discretion) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """Objectives and values of the points that may be shown."""
    seen = point.front.take(seen_ids(point, discretion))
    return tuple(seen.names), tuple(tuple(float(v) for v in row) for row in _values(point, seen, discretion).tolist())


def _values(point: Point, front: Front, discretion: Discretion) -> np.ndarray:
    """The values that may be shown, rounded where they would tell a small number of rows: (points, objectives)."""
    values = front.numbers.values.copy()
    everywhere = veiled(point, discretion)
    for place, lost in enumerate(front.numbers.suppressed.tolist()):
        if everywhere or discretion.hides(int(lost)):
            for column, measure in enumerate(front.problem.objectives):
                if measure.name.partition("(")[0] not in ("k", "l"):
                    values[place, column] = rounded(float(values[place, column]))
    return values


def front_part(point: Point, made: Partition, discretion: Discretion, choice: str) -> FrontPart:
    """The table of points, an even choice where they are many, and the picture."""
    front = point.front
    ids = seen_ids(point, discretion)
    seen, here = front.take(ids), ids.index(point.id)
    values = _values(point, seen, discretion)
    marks = {ids.index(place): words for place, words in _marks(front).items() if place in ids}
    marks[here] = ("chosen", *marks.get(here, ()))
    places = _places(len(seen), set(marks))
    points = []
    for place in places:
        own = made if place == here else seen[place].partition
        shape = seen[place].recoding
        levels = shape.levels if shape.levels is not None else _used(own)
        points.append(
            FrontPoint(
                ids[place],
                dict(zip(seen.names, (float(v) for v in values[place]), strict=True)),
                discretion.count(own.suppressed_rows),
                own.classes,
                {h.name: int(level) for h, level in zip(shape.hierarchies, levels, strict=True)},
                marks.get(place, ()),
            )
        )
    return FrontPart(
        tuple(Objective(m.name, m.better, m.unit, meaning(m)) for m in front.problem.objectives),
        tuple(points),
        point.id,
        choice,
        len(front),
        len(front) - len(seen),
        point.recoding.levels is not None,
        _drawing(point, seen, values, discretion),
        proof(front),
    )


def _used(made: Partition) -> list[int]:
    """How many labels of each column the released rows show."""
    return [len(np.unique(groups)) for groups in made.groups[~made.suppressed].T]


def _marks(front: Front) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {front.knee().id: ("knee",)}
    for k, point in front.presets().items():
        found[point.id] = (*found.get(point.id, ()), f"k ≥ {k}")
    return found


def _places(count: int, marked: set[int]) -> list[int]:
    if count <= LINES:
        return list(range(count))
    even = {round(i * (count - 1) / (LINES - 1)) for i in range(LINES)}
    return sorted(even | marked)


def _drawing(point: Point, seen: Front, values: np.ndarray, discretion: Discretion) -> Drawing | None:
    """The picture of the first two objectives; none where there is only one."""
    front = point.front
    if len(front.names) < 2:
        return None
    axes = front.names[:2]
    shown = picture(front if "k" in axes else seen, axes[0], axes[1])
    points, cloud = np.stack((shown.x, shown.y), axis=1), shown.cloud
    marks = list(shown.marks)
    if "k" in axes and not discretion.confidential:
        axis = axes.index("k")
        points, cloud = (each[each[:, axis] >= discretion.least] for each in (points, cloud))
        marks = [(name, x, y) for name, x, y in shown.marks if (x, y)[axis] >= discretion.least]
    if any(discretion.hides(int(lost)) for lost in seen.numbers.suppressed.tolist()):
        # Exact places could tell a small number of suppressed rows.
        points, cloud, marks = values[:, :2], cloud[:0], []
        points = points[np.argsort(points[:, 0], kind="stable")]
    chosen = values[seen_ids(point, discretion).index(point.id), :2].tolist()
    return Drawing(
        shown.x_name,
        shown.y_name,
        shown.x_log,
        shown.y_log,
        shown.x_higher,
        _pairs(points),
        _pairs(_thinned(cloud, shown)),
        tuple(marks),
        (float(chosen[0]), float(chosen[1])),
    )


def _pairs(points: np.ndarray) -> tuple[tuple[float, float], ...]:
    return tuple((float(f"{x:.6g}"), float(f"{y:.6g}")) for x, y in points.tolist())


def _thinned(cloud: np.ndarray, shown: Picture) -> np.ndarray:
    """One point of the cloud per cell of a fine grid: (n, 2) float64."""
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    if not len(cloud):
        return cloud.reshape(0, 2)
    scaled = cloud.copy()
    for axis, logged in enumerate((shown.x_log, shown.y_log)):
        if logged:
            cloud, scaled = cloud[scaled[:, axis] > 0], scaled[scaled[:, axis] > 0]
            scaled[:, axis] = np.log(scaled[:, axis])
    if not len(cloud):
        return cloud
    low, width = scaled.min(axis=0), np.ptp(scaled, axis=0)
    cells = ((scaled - low) / np.where(width > 0, width, 1.0) * (WIDE, HIGH)).astype(np.int64)
    _, first = np.unique(cells[:, 0] * (HIGH + 1) + cells[:, 1], return_index=True)
    return cloud[np.sort(first)]
