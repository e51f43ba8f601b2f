"""The finished front for the page: its points, its cloud, one point in all detail, two points side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from kpareto.errors import BadJob, Progress
from kpareto.faces.report import make_report
from kpareto.faces.web.wording import warnings_for_page
from kpareto.fronts.choose import answer_wishes
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.front import Front, mark_points, marks_of
from kpareto.fronts.numbers import spell_count
from kpareto.fronts.picture import is_drawn_by_factors
from kpareto.measures.measure import Measure, aspect_of, is_privacy, make
from kpareto.measures.plain import PLAIN, USUAL, USUAL_OF_POPULATION, most_lost, plain_of
from kpareto.measures.properties import PROPERTIES, Comparison
from kpareto.searches.local.further import is_searched, search_further
from kpareto.tables.spelling import EXACT, without_point
from kpareto.tables.table import Table

CLOUD = 20_000
GROUPS = 40  # groups of a column that are compared one by one


def front_view(front: Front) -> dict[str, Any]:
    """Points, cloud and marks as plain numbers."""
    if len(front) == 0:
        raise BadJob("The search has found no point yet. Let it go on, relax the limits, or allow more suppression.")
    values = front.numbers.values
    provenance = front.provenance
    cloud = np.zeros((0, values.shape[1])) if front.cloud is None else front.cloud
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    cloud = cloud[:: max(1, math.ceil(len(cloud) / CLOUD))]
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
                **_spoken(m, front.problem.table),
                "log": is_drawn_by_factors(m, values[:, c]),
            }
            for c, m in enumerate(front.problem.objectives)
        ],
        "values": [[_number(each) for each in row] for row in values.tolist()],
        "suppressed": front.numbers.suppressed.tolist(),
        "rows": front.problem.table.rows,
        "cloud": [[_round(each) for each in row] for row in cloud.tolist()],
        "marks": [{"id": place, "label": ", ".join(words)} for place, words in marks_of(front).items()],
        "recommended": front.recommendation.point.id,
        "advice": [mark.to_dict() for mark in mark_points(front)],
        "complete": provenance.complete,
        "method": provenance.method,
        "seconds": provenance.seconds,
        "evaluated": provenance.evaluated,
        "size": front.space.size if front.space.size < EXACT else float(front.space.size),
        "sentence": _proof(front),
        "answer": _answer(front),
        "prices": _prices(front),
        "groups": _group_columns(front),
        "target": [counts.name for counts in front.problem.table.targets],
    }


def _answer(front: Front) -> dict[str, Any] | None:
    """The answer to the wishes of a search, and how far each is met; None where nothing was wished for."""
    wished = front.provenance.details.get("preference")
    if not wished:
        return None
    answer = answer_wishes(front, wished["wished"])
    return {"id": answer.id, "words": answer.words()}


def _spoken(measure: Measure, table: Table) -> dict[str, Any]:
    """A measure in plain words, and the loss that is 0 % of the detail kept."""
    plain = plain_of(measure)
    return {"label": plain.label, "words": plain.words, "reading": plain.reading, "most": most_lost(measure, table)}


def measures_view() -> list[dict[str, Any]]:
    """Every measure by its name in plain words, and what it needs besides the quasi-identifiers."""
    order = [*USUAL, *USUAL_OF_POPULATION]
    names = [*order, *(name for name in PLAIN if name not in order)]
    return [{"name": name, **asdict(PLAIN[name]), **_needs(name), "usual": name in order} for name in names]


def _needs(name: str) -> dict[str, Any]:
    """The column and the knowledge that a measure asks for, and whether it is privacy."""
    try:
        aspect = aspect_of(make(name))
    except BadJob:  # it has parameters that only a person can give
        return {"column": None, "population": False, "privacy": False, "logarithmic": False, "asks": True}
    return {
        "column": aspect.column,
        "population": aspect.population,
        "privacy": aspect.side == "privacy",
        "logarithmic": aspect.logarithmic,
        "asks": False,
    }


def rows_view(front: Front) -> dict[str, Any]:
    """Every point as a flat row: its numbers, the suppressed rows, the level or the number of groups of each column."""
    rows = [{name: _cell(value) for name, value in row.items()} for row in front.rows()]
    return {"columns": list(rows[0]) if rows else [], "points": [list(row.values()) for row in rows]}


def _cell(value: Any) -> Any:
    return _number(value) if isinstance(value, float) else value


def _proof(front: Front) -> str:
    """What the search proves about the front."""
    provenance = front.provenance
    text = (
        f"{provenance.evaluated:,} recodings counted of {spell_count(front.space.size)} in {provenance.seconds:.1f} s."
    )
    sample = front.problem.table.sample
    text += "" if sample is None else f" Found on {sample.words()}."
    return f"{text} {front.proof[0].upper()}{front.proof[1:]}."


def _number(value: float) -> float | None:
    return without_point(value, EXACT) if math.isfinite(value) else None


def _round(value: float) -> float:
    return without_point(value if value.is_integer() else float(f"{value:.5g}"))


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


def prefer(front: Front, wishes: Mapping[str, Any]) -> dict[str, Any]:
    """The point nearest to the wishes, sizes such as k being limits; and whether what they ask for was searched."""
    numbers = _read_wishes(wishes)
    if any(front.problem.better[front._column(name)] < 0 for name in numbers):
        point = front.prefer(**numbers)
    else:
        point = front.choose(numbers)
    return {"id": point.id, "searched": is_searched(front, _sizes(front, numbers))}


def search_wish(front: Front, wishes: Mapping[str, Any], report: Progress | None = None) -> Front:
    """The front with the k of the wishes, which a local front may not have been searched for."""
    return search_further(front, _sizes(front, _read_wishes(wishes)), report=report)


def _read_wishes(wishes: Mapping[str, Any]) -> dict[str, float]:
    """Wishes as numbers."""
    numbers = {}
    for name, value in wishes.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BadJob(f"The wish for {name!r} is {value!r}. Give a number.")
        numbers[name] = float(value)
    return numbers


def _sizes(front: Front, numbers: Mapping[str, float]) -> dict[str, float]:
    """Those of the wishes that are limits: what is better higher."""
    return {name: wish for name, wish in numbers.items() if front.problem.better[front._column(name)] > 0}


def point_view(front: Front, place: int) -> dict[str, Any]:
    """All about one point: the report's own numbers, with the rows as they were, for the person at this machine."""
    point = front[place]
    report = make_report(point, confidential=True)
    shown = ("summary", "sample", "columns", "sizes", "risks", "profiles", "profile_note")
    return {
        "id": point.id,
        "values": {name: _number(value) for name, value in point.values.items()},
        "suppressed": point.partition.suppressed_rows,
        "classes": point.partition.classes,
        "levels": list(point.recoding.levels) if point.recoding.levels is not None else None,
        "tree": bool(point.table.targets),
        **{name: _plain(getattr(report, name)) for name in shown},
        "warnings": warnings_for_page(_plain(report.warnings)),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def compare_view(front: Front, first: int, second: int, by: str | None, what: str) -> dict[str, Any]:
    """Who gains and who loses when the second point is taken instead of the first."""
    if what not in PROPERTIES:
        raise BadJob(f"No property {what!r} to compare by. There are: {', '.join(PROPERTIES)}.")
    comparison = front.compare(first, second, what, by)  # type: ignore[arg-type]  # checked above
    groups = _compared_groups(front.problem.table, by, comparison)
    one, two = front[first], front[second]
    return {
        "by": by,
        "what": what,
        "rows": comparison.rows,
        "gain": comparison.gain_rows,
        "lose": comparison.lose_rows,
        "groups": groups[:GROUPS],
        "left": max(0, len(groups) - GROUPS),
        "level": _compared_level(front.problem.table, by),
        "points": [
            {
                "id": p.id,
                "values": {name: _number(value) for name, value in p.values.items()},
                "suppressed": p.partition.suppressed_rows,
                "classes": p.partition.classes,
                "recoding": {n: v if isinstance(v, int) else f"{len(v)} groups" for n, v in _describe(p).items()},
            }
            for p in (one, two)
        ],
    }


def _compared_level(table: Table, by: str | None) -> int:
    """The finest level of a column's hierarchy with few enough groups to compare; 0 for other columns."""
    if by is None or by not in table.schema.quasi:
        return 0
    labels = table.hierarchies[table.column(by)].labels
    fine = next(level for level, groups in enumerate(labels) if len(groups) <= GROUPS)
    return fine if len(labels[fine]) > 1 else 0


def _compared_groups(table: Table, by: str | None, comparison: Comparison) -> list[dict[str, Any]]:
    """Who gains and who loses: values in their own order where they have one, else the largest groups first."""
    level = _compared_level(table, by)
    sums: dict[str, dict[str, Any]] = {}
    hierarchy = table.hierarchies[table.column(by)] if by is not None and by in table.schema.quasi else None
    for label, each in comparison.groups.items():
        group = (
            label
            if hierarchy is None
            else hierarchy.labels[level][int(hierarchy.groups[level][hierarchy.index[label]])]
        )
        own = sums.setdefault(group, {"group": group, "rows": 0, "gain": 0, "lose": 0})
        for key, rows in (("rows", each.rows), ("gain", each.gain_rows), ("lose", each.lose_rows)):
            own[key] += rows
    ordered = hierarchy is not None and (hierarchy.ordered or hierarchy.spans is not None)
    return list(sums.values()) if ordered else sorted(sums.values(), key=lambda each: -each["rows"])


def _describe(point: Any) -> dict[str, Any]:
    description: dict[str, Any] = point.recoding.describe()
    return description


def tree_view(front: Front, place: int, report: Progress | None = None) -> dict[str, Any]:
    """How well a decision tree learns the target from the recoded rows."""
    from kpareto.releases.risk.tree_error import tree_error

    if not front.problem.table.targets:
        raise BadJob("A decision tree needs a target column. Give a column the role target and search again.")
    tree_errors = tree_error(front[place].partition, folds=5, report=report)
    return {**asdict(tree_errors), "sentence": tree_errors.sentence()}
