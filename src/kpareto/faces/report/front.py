"""The front of a report: a table of trade-offs and the numbers of its picture, the chosen point marked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from kpareto.faces.report.discretion import Discretion, round_number
from kpareto.faces.report.report import FrontPart, FrontPoint, Objective
from kpareto.faces.report.words import meaning, proof
from kpareto.fronts.front import Front, Point, mark_points, marks_of, picture
from kpareto.fronts.picture import Drawing, thin_cloud
from kpareto.measures.measure import aspect_of
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import several

LINES = 24  # points in the table


def seen_ids(point: Point, partition: Partition, discretion: Discretion) -> list[int]:
    """The points that may be shown: in public those with at least the k of the release that tell of no suppressed rows.

    Where fewer than k rows are suppressed it is the point of the release alone: another one counts the suppressed rows
    too, so that its k, less what the released file shows of the same class, is their number.
    """
    if discretion.veils(partition):
        return [point.id]
    large = _large_ids(point, discretion)
    if discretion.confidential or not partition.suppressed_rows:
        return large
    return [number for number in large if number == point.id or not _tells(point.front[number], partition, discretion)]


def _large_ids(point: Point, discretion: Discretion) -> list[int]:
    """The points whose k may be shown, and the point of the release."""
    front = point.front
    keep = np.ones(len(front), dtype=np.bool_)
    if not discretion.confidential and "k" in front.names:
        keep = front.numbers.values[:, front.names.index("k")] >= discretion.least
        keep[point.id] = True
    return [int(number) for number in np.flatnonzero(keep)]


def _tells(point: Point, release: Partition, discretion: Discretion) -> bool:
    """Whether a point's numbers, less what the released file shows of its classes, are a small number of rows.

    Only the classes of a coarser recoding can be counted in the released file. One that has fewer rows there than the
    point's k must have lost the rest, and all that the point suppresses have lost what the sum of them lacks.
    """
    pairs = zip(release.recoding.cuts, point.recoding.cuts, strict=True)
    coarser = all(not np.diff(coarse)[np.diff(fine) == 0].any() for fine, coarse in pairs)
    if not coarser or release.recoding.boxes is not None or point.recoding.boxes is not None:
        return False
    other, gone = point.partition, release.suppressed[release.members] * release.table.weights
    lost = np.bincount(other.members, weights=gone, minlength=len(other.rows)).astype(np.int64)
    kept = ~other.suppressed
    short = kept & (other.rows - lost < other.sizes[kept].min(initial=release.table.rows))
    return any(discretion.hides(int(rows)) for rows in (*lost[short], lost[~kept].sum()))


def _tell_left_out(point: Point, seen: int, partition: Partition, discretion: Discretion) -> str:
    """Which points the public does not see, and why; nothing where it sees all."""
    if len(point.front) == seen:
        return ""
    if discretion.veils(partition):
        return (
            f"Other points are left out of this public report: fewer than {discretion.least:,} rows are suppressed, "
            "and the numbers of another point, which count them too, would tell how many and where."
        )
    large = len(_large_ids(point, discretion))
    small, telling = len(point.front) - large, large - seen
    reasons = [f"{several(small, 'point')} with a smaller k than the release"] if small else []
    if telling:
        less = f"tell of fewer than {discretion.least:,} suppressed rows in a class"
        reasons.append(f"{several(telling, 'point')} whose numbers, beside the released file, would {less}")
    return f"Left out of this public report: {'; '.join(reasons)}."


def _values(front: Front, discretion: Discretion) -> np.ndarray:
    """The values that may be shown, rounded where they would tell a small number of rows: (points, objectives)."""
    values = front.numbers.values.copy()
    for row, lost in enumerate(front.numbers.suppressed.tolist()):
        if discretion.hides(int(lost)):
            for column, measure in enumerate(front.problem.objectives):
                if not aspect_of(measure).shown:
                    values[row, column] = round_number(float(values[row, column]))
    return values


def front_part(
    point: Point,
    ids: Sequence[int],
    partition: Partition,
    discretion: Discretion,
    choice: str,
    named: Collection[int] = (),
) -> FrontPart:
    """The table of the points that may be shown, an even choice where they are many, and the picture.

    named: points that a warning speaks of, which are in the table where they may be shown.
    """
    front = point.front
    veiled = discretion.veils(partition)
    seen, here = front.take(ids), ids.index(point.id)
    values = _values(seen, discretion)
    marks = {ids.index(number): words for number, words in marks_of(front).items() if number in ids}
    marks[here] = ("chosen", *(() if veiled else marks.get(here, ())))
    rows = _places(len(seen), set(marks) | {ids.index(number) for number in named if number in ids})
    points = []
    for row in rows:
        shown = partition if row == here else seen[row].partition
        shape = seen[row].recoding
        # Where there is no level: how many labels of each column the released rows show.
        labels = (len(np.unique(groups)) for groups in shown.groups[~shown.suppressed].T)
        levels = tuple(labels) if shape.levels is None else shape.levels
        points.append(
            FrontPoint(
                ids[row],
                _shown_values(seen, values[row], veiled),
                discretion.count(shown.suppressed_rows),
                shown.classes,
                {h.name: int(level) for h, level in zip(shape.hierarchies, levels, strict=True)},
                marks.get(row, ()),
            )
        )
    return FrontPart(
        tuple(Objective(m.name, m.better, m.unit, meaning(m)) for m in front.problem.objectives),
        tuple(points),
        point.id,
        choice,
        len(front),
        len(front) - len(seen),
        _tell_left_out(point, len(seen), partition, discretion),
        point.recoding.levels is not None,
        None if veiled else _drawing(point, ids, values, partition, discretion),
        proof(front),
        () if veiled else _tell_marks(front, ids, discretion),
    )


def _tell_marks(front: Front, ids: Sequence[int], discretion: Discretion) -> tuple[str, ...]:
    """Which point is recommended, and what the next class sizes cost; only of points that are shown exactly."""
    lost = front.numbers.suppressed
    exact = {number for number in ids if not discretion.hides(int(lost[number]))}
    exact_marks = [mark for mark in mark_points(front) if mark.words and mark.point.id in exact]
    return tuple(mark.words for mark in exact_marks if mark.beyond is None or mark.beyond.id in exact)


def _shown_values(front: Front, values: np.ndarray, veiled: bool) -> dict[str, float | None]:
    """A point's values by name; veiled, those alone that everybody can count in the release.

    Of a small table even a rounded loss tells how many rows were lost whole.
    """
    return {
        measure.name: None if veiled and not aspect_of(measure).shown else float(value)
        for measure, value in zip(front.problem.objectives, values, strict=True)
    }


def _places(count: int, marked: set[int]) -> list[int]:
    if count <= LINES:
        return list(range(count))
    even = {round(i * (count - 1) / (LINES - 1)) for i in range(LINES)}
    return sorted(even | marked)


def _drawing(
    point: Point, ids: Sequence[int], values: np.ndarray, partition: Partition, discretion: Discretion
) -> Drawing | None:
    """The picture of the first two objectives; none where there is only one."""
    front, seen, here = point.front, point.front.take(ids), ids.index(point.id)
    if len(front.names) < 2:
        return None
    axes = front.names[:2]
    shown = picture(front if "k" in axes else seen, axes[0], axes[1])
    points, cloud = (np.array(pairs).reshape(-1, 2) for pairs in (shown.points, shown.cloud))
    marked = {ids.index(number): ", ".join(labels) for number, labels in marks_of(front).items() if number in ids}
    marks = [(label, float(values[row, 0]), float(values[row, 1])) for row, label in marked.items()]
    if "k" in axes and not discretion.confidential:
        axis = axes.index("k")
        points, cloud = (pairs[pairs[:, axis] >= discretion.least] for pairs in (points, cloud))
    lost = (partition.suppressed_rows, *seen.numbers.suppressed.tolist())
    if not discretion.confidential and (lost[0] or any(discretion.hides(int(rows)) for rows in lost)):
        # Exact places, and those of other points, could tell a small number of suppressed rows.
        points, cloud = np.array(sorted(values[:, :2].tolist())), cloud[:0]
    chosen = values[here, :2].tolist()
    # What is infinite has no place in a picture; the table of the report has it.
    if not np.isfinite(chosen).all():
        return None
    return Drawing(
        shown.x_name,
        shown.y_name,
        shown.x_log,
        shown.y_log,
        shown.x_higher,
        _pairs(points[np.isfinite(points).all(axis=1)]),
        _pairs(thin_cloud(cloud, shown.x_log, shown.y_log)),
        tuple(mark for mark in marks if np.isfinite(mark[1:]).all()),
        (float(chosen[0]), float(chosen[1])),
        shown.control if shown.control is None or discretion.confidential else round_number(shown.control),
    )


def _pairs(points: np.ndarray) -> tuple[tuple[float, float], ...]:
    return tuple((float(f"{x:.6g}"), float(f"{y:.6g}")) for x, y in points.tolist())
