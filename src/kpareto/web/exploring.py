"""The finished front for the page: its points, its cloud, one point in all detail, two points side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from kpareto.dominance import non_dominated
from kpareto.errors import BadJob
from kpareto.front import Front, is_privacy
from kpareto.plots import LOGGED
from kpareto.properties import PROPERTIES
from kpareto.report import make_report

CLOUD = 20_000
GROUPS = 40  # groups of a column that are compared one by one


def front_view(front: Front) -> dict[str, Any]:
    """Points, cloud and marks as plain numbers."""
    if len(front) == 0:
        raise BadJob("The search has found no point yet. Let it go on, relax the limits, or allow more suppression.")
    values = front.numbers.values
    made = front.provenance
    cloud = np.zeros((0, values.shape[1])) if front.cloud is None else front.cloud
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    cloud = cloud[:: max(1, math.ceil(len(cloud) / CLOUD))]
    marks: dict[int, list[str]] = {}
    marks.setdefault(front.knee().id, []).append("knee")
    for k, point in front.presets().items():
        marks.setdefault(point.id, []).append(f"k ≥ {k}")
    return {
        "objectives": [
            {
                "name": m.name,
                "better": m.better,
                "unit": m.unit,
                "privacy": is_privacy(m),
                "low": _number(float(values[:, c].min())),
                "high": _number(float(values[:, c].max())),
                "logs": bool((values[:, c] > 0).all()),
                "log": m.name.partition("(")[0] in LOGGED
                and bool((values[:, c] > 0).all())
                and bool(np.ptp(values[:, c])),
            }
            for c, m in enumerate(front.problem.objectives)
        ],
        "values": [[_number(each) for each in row] for row in values.tolist()],
        "suppressed": front.numbers.suppressed.tolist(),
        "rows": front.problem.table.rows,
        "cloud": [[_rounded(each) for each in row] for row in cloud.tolist()],
        "marks": [{"id": place, "label": ", ".join(words)} for place, words in marks.items()],
        "complete": made.complete,
        "method": made.method,
        "seconds": made.seconds,
        "evaluated": made.evaluated,
        "size": front.space.size if front.space.size < 2**53 else float(front.space.size),
        "sentence": _proof(front),
        "prices": _prices(front),
        "groups": _group_columns(front),
        "target": [counts.name for counts in front.problem.table.targets],
    }


def _proof(front: Front) -> str:
    """What the search proves about the front."""
    made = front.provenance
    text = f"{made.evaluated:,} recodings counted of {front.space.size:,} in {made.seconds:.1f} s."
    sample = front.problem.table.sample
    text += "" if sample is None else f" Found on {sample.words()}."
    if made.complete:
        return f"{text} No trade-off is missing."
    return f"{text} Not complete: {made.note or 'a heuristic search may have missed points'}."


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _rounded(value: float) -> float | int:
    return int(value) if value.is_integer() else float(f"{value:.5g}")


def _prices(front: Front) -> dict[str, list[dict[str, float]]]:
    """What one more k costs from each point on, by loss."""
    if "k" not in front.names or len(front) < 2:
        return {}
    losses = [m.name for m in front.problem.objectives if m.name != "k" and not is_privacy(m)]
    return {loss: front.prices("k", loss) for loss in losses}


def _group_columns(front: Front) -> list[str]:
    """The columns by whose groups two points can be compared, those with few groups first."""
    table = front.problem.table
    sizes = {h.name: int(table.observed[c].sum()) for c, h in enumerate(table.hierarchies)}
    sizes |= {counts.name: len(counts.values) for counts in (*table.sensitive, *table.targets)}
    return sorted(sizes, key=lambda name: (sizes[name] > GROUPS, list(sizes).index(name)))


def pair_view(front: Front, x: str, y: str) -> dict[str, Any]:
    """The points that no other beats in these two objectives alone, from left to right."""
    columns = [front._column(x), front._column(y)]
    places = non_dominated(front.numbers.keys[:, columns], "one")
    order = np.argsort(front.numbers.values[places, columns[0]], kind="stable")
    return {"x": x, "y": y, "ids": places[order].tolist()}


def prefer(front: Front, wishes: Mapping[str, Any]) -> int:
    """The point nearest to the wishes; sizes such as k are limits, losses are wished for."""
    numbers = {}
    for name, value in wishes.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BadJob(f"The wish for {name!r} is {value!r}. Give a number.")
        numbers[name] = float(value)
    if not any(front.problem.better[front._column(name)] < 0 for name in numbers):
        return front.choose(numbers).id
    return front.prefer(**numbers).id


def point_view(front: Front, place: int) -> dict[str, Any]:
    """All about one point: the report's own numbers, with the rows as they were, for the person at this machine."""
    point = front[place]
    found = make_report(point, confidential=True)
    shown = ("summary", "sample", "columns", "sizes", "risks", "profiles", "profile_note", "warnings")
    return {
        "id": point.id,
        "values": {name: _number(value) for name, value in point.values.items()},
        "suppressed": point.partition.suppressed_rows,
        "classes": point.partition.classes,
        "levels": list(point.recoding.levels) if point.recoding.levels is not None else None,
        "tree": bool(point.table.targets),
        **{name: _plain(getattr(found, name)) for name in shown},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def compare_view(front: Front, first: int, second: int, by: str | None, what: str) -> dict[str, Any]:
    """Who gains and who loses when the second point is taken instead of the first."""
    if what not in PROPERTIES:
        raise BadJob(f"No property {what!r} to compare by. There are: {', '.join(PROPERTIES)}.")
    found = front.compare(first, second, what, by)  # type: ignore[arg-type]  # checked above
    groups: list[dict[str, Any]] = [
        {"group": label, "rows": each.rows, "gain": each.gain_rows, "lose": each.lose_rows}
        for label, each in found.groups.items()
    ]
    groups.sort(key=lambda each: -each["rows"])
    one, two = front[first], front[second]
    return {
        "by": by,
        "what": what,
        "rows": found.rows,
        "gain": found.gain_rows,
        "lose": found.lose_rows,
        "groups": groups[:GROUPS],
        "left": max(0, len(groups) - GROUPS),
        "points": [
            {
                "id": p.id,
                "values": {name: _number(value) for name, value in p.values.items()},
                "suppressed": p.partition.suppressed_rows,
                "classes": p.partition.classes,
                "recoding": {n: v if isinstance(v, int) else f"{len(v)} groups" for n, v in _described(p).items()},
            }
            for p in (one, two)
        ],
    }


def _described(point: Any) -> dict[str, Any]:
    found: dict[str, Any] = point.recoding.describe()
    return found


def tree_view(front: Front, place: int) -> dict[str, Any]:
    """How well a decision tree learns the target from the recoded rows."""
    from kpareto.trees import tree_error

    if not front.problem.table.targets:
        raise BadJob("A decision tree needs a target column. Give a column the role target and search again.")
    found = tree_error(front[place].partition, folds=5)
    return {**asdict(found), "sentence": found.sentence()}
