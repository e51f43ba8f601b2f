"""What the page shows of a table and of a finished front: rows, columns, points, and what a recoding does to them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kpareto.attacks.evidence import attack_people
from kpareto.engines.read import MOST_DROPPED
from kpareto.engines.unique_rows import KeptRows, open_view
from kpareto.errors import BadInput, BadJob, Progress, did_you_mean, shorten
from kpareto.faces.report import make_report
from kpareto.faces.report.answers import CONTROL, METHOD, RELATED, attack_tables, drawn_words, use_tables
from kpareto.faces.report.blocks import TableBlock
from kpareto.faces.web.turns import Work
from kpareto.fronts.choose import answer_wishes
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.front import Front, Point, add_measure, mark_points, marks_of
from kpareto.fronts.numbers import spell_count
from kpareto.fronts.picture import is_drawn_by_factors
from kpareto.fronts.use import use_of_marks, use_sentence
from kpareto.interrupts import Hearing, hearing
from kpareto.jobs.job import Job
from kpareto.measures.measure import INFORMATION, aspect_of, is_privacy, make, parameters_of
from kpareto.measures.plain import PLAIN, USUAL, USUAL_OF_POPULATION, most_lost, plain_of
from kpareto.measures.properties import PROPERTIES, Comparison, subgroups
from kpareto.measures.use import OF_USE, control_of, yardstick
from kpareto.releases.risk.anonymity import measure
from kpareto.searches.local.driven import is_searched, search_further
from kpareto.tables.hierarchies import numbers_of
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Partition
from kpareto.tables.proposals import round_width
from kpareto.tables.schema import Schema
from kpareto.tables.spelling import EXACT, percent, without_point
from kpareto.tables.table import Table, UniqueRows, distinct_rows
from kpareto.uses.models_in_use import models_in_use
from kpareto.uses.relations import Relations
from kpareto.uses.utility import open_release, utility

CLOUD = 20_000  # points
GROUPS = 40  # groups of a column that are compared one by one
BINS = 60  # bars of a distribution before and after
CELLS = 12  # rows and columns of a table of two columns; the rest is taken together
CLASSES = 12  # of the smallest classes
OTHERS = "others"
ROWS = 20  # of the table, shown at once
BARS = 30  # of a column as it stands in the table
MOST_LETTERS = 200  # of a cell that is shown


# -- the front -----------------------------------------------------------------------------------------------------


def front_view(front: Front) -> dict[str, Any]:
    """Points, cloud and marks as plain numbers."""
    if len(front) == 0:
        raise BadJob("The search has found no point yet. Let it go on, relax the limits, or allow more suppression.")
    values = front.numbers.values
    cloud = np.zeros((0, values.shape[1])) if front.cloud is None else front.cloud
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    cloud = cloud[:: max(1, math.ceil(len(cloud) / CLOUD))]
    return {
        "objectives": [_axis(front, place) for place in range(len(front.names))],
        "values": [[_number(value) for value in row] for row in values.tolist()],
        "suppressed": front.numbers.suppressed.tolist(),
        "rows": front.problem.table.rows,
        "cloud": [[_round(value) for value in row] for row in cloud.tolist()],
        "marks": [{"id": place, "label": ", ".join(words)} for place, words in marks_of(front).items()],
        "recommended": front.recommendation.point.id,
        "advice": [mark.to_dict() for mark in mark_points(front)],
        "complete": front.provenance.complete,
        "sentence": _proof(front),
        "answer": _answer(front),
        "prices": _prices(front),
        "groups": _group_columns(front),
    }


def _axis(front: Front, place: int) -> dict[str, Any]:
    """What the picture must know of one objective."""
    measure, values = front.problem.objectives[place], front.numbers.values[:, place]
    plain = plain_of(measure)
    return {
        "name": measure.name,
        "better": measure.better,
        "unit": measure.unit,
        "privacy": is_privacy(measure),
        "low": _number(float(values.min())),
        "high": _number(float(values.max())),
        "logs": bool((values > 0).all()),
        "control": control_of(front.problem.table, measure.name),
        "label": plain.label,
        "words": plain.words,
        "reading": plain.reading,
        "most": most_lost(measure, front.problem.table),
        "log": is_drawn_by_factors(measure, values),
    }


def axes_view(front: Front, wider: Front) -> dict[str, Any]:
    """What an axis may show besides objectives: the measures that were taken of every point, and those that can be."""
    taken = [
        {**_axis(wider, place), "values": [_number(value) for value in wider.numbers.values[:, place].tolist()]}
        for place in range(len(front.names), len(wider.names))
    ]
    by_class = front[0].recoding.boxes is not None  # labels differ by class, and relations looks at whole columns
    offered = [name for name in OF_USE if name not in wider.names and not (name == "relations" and by_class)]
    return {"axes": taken, "offered": [{"name": name, "label": PLAIN[name].label} for name in offered]}


def add_axis(front: Front, name: str, piece: Work) -> Front:
    """The front with a measure of use taken of every point, unless it has it."""
    if name in front.names:
        return front
    if name not in OF_USE:
        raise BadJob(f"{name!r} is not offered for an axis. Take one of: {', '.join(OF_USE)}, or search for it.")
    if name == "count-error" and not yardstick(front.problem.table).queries:
        raise BadJob(
            "Too few rows, or too few columns, to judge counts over two and three columns by. Take another measure."
        )
    with hearing(Hearing(stopped=piece.stopped)):
        return add_measure(front, make(name), piece)


def _answer(front: Front) -> dict[str, Any] | None:
    """The answer to the wishes of a search, and how far each is met; None where nothing was wished for."""
    wished = front.provenance.details.get("preference")
    if not wished:
        return None
    answer = answer_wishes(front, wished["wished"])
    return {"id": answer.id, "words": answer.words()}


def measures_view() -> list[dict[str, Any]]:
    """Every measure by its name in plain words, and what it needs besides the quasi-identifiers."""
    order = [*USUAL, *USUAL_OF_POPULATION]
    names = [*order, *(name for name in PLAIN if name not in order)]
    return [{"name": name, **asdict(PLAIN[name]), **_needs(name), "usual": name in order} for name in names]


def _needs(name: str) -> dict[str, Any]:
    """The column and the knowledge that a measure asks for, and whether it is privacy."""
    aspect = INFORMATION
    with suppress(BadJob):  # it has parameters that only a person can give
        aspect = aspect_of(make(name))
    return {
        "column": aspect.column,
        "population": aspect.population,
        "privacy": aspect.side == "privacy",
        "logarithmic": aspect.logarithmic,
    }


def point_rows_view(front: Front) -> dict[str, Any]:
    """Every point as a flat row: its numbers, the suppressed rows, the level or the number of groups of each column."""
    rows = [{name: _number(v) if isinstance(v, float) else v for name, v in row.items()} for row in front.rows()]
    return {"columns": list(rows[0]) if rows else [], "points": [list(row.values()) for row in rows]}


def _proof(front: Front) -> str:
    """What the search proves about the front."""
    provenance = front.provenance
    text = f"{provenance.evaluated:,} of {spell_count(front.space.size)} recodings were counted"
    if front.space.kind == "local":  # its space is what it has found
        text = f"{len(front):,} recodings were found"
    text += f" in {provenance.seconds:.1f} s."
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
    return {"ids": places[order].tolist()}


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
    shown = ("sample", "columns", "sizes", "risks")
    return {
        "id": point.id,
        "values": {name: _number(value) for name, value in point.values.items()},
        "suppressed": point.partition.suppressed_rows,
        "classes": point.partition.classes,
        "tree": bool(point.table.targets),
        **{name: _plain(getattr(report, name)) for name in shown},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def compare_view(front: Front, first: int, second: int, by: str | None, what: str) -> dict[str, Any]:
    """Who gains and who loses when the second point is taken instead of the first."""
    if what not in PROPERTIES:
        raise BadJob(f"No property {what!r} to compare by. There are: {', '.join(PROPERTIES)}.")
    comparison = front.compare(first, second, what, by)  # type: ignore[arg-type]  # checked above
    groups = _compared_groups(front.problem.table, by, comparison)
    return {
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
                "recoding": {
                    column: shown if isinstance(shown, int) else f"{len(shown)} groups"
                    for column, shown in p.recoding.describe().items()
                },
            }
            for p in (front[first], front[second])
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
    for label, changed in comparison.groups.items():
        group = label if hierarchy is None else hierarchy.labels[level][hierarchy.groups[level][hierarchy.index[label]]]
        line = sums.setdefault(group, {"group": group, "rows": 0, "gain": 0, "lose": 0})
        line["rows"] += changed.rows
        line["gain"] += changed.gain_rows
        line["lose"] += changed.lose_rows
    ordered = hierarchy is not None and (hierarchy.ordered or hierarchy.spans is not None)
    return list(sums.values()) if ordered else sorted(sums.values(), key=lambda group: -group["rows"])


def tree_view(front: Front, place: int, report: Progress | None = None) -> dict[str, Any]:
    """How well a decision tree learns the target from the recoded rows."""
    from kpareto.releases.risk.tree_error import tree_error

    if not front.problem.table.targets:
        raise BadJob("A decision tree needs a target column. Give a column the role target and search again.")
    return {"sentence": tree_error(front[place].partition, folds=5, report=report).sentence()}


def attack_view(point: Point, piece: Work) -> dict[str, Any]:
    """What attacks on people reach at a point, in the sentences and tables of ``kpareto attack``."""
    with hearing(Hearing(stopped=piece.stopped)):
        answer = attack_people(*open_release(point, None, None), report=piece)
    return {
        "sentences": answer.sentences(),
        "tables": [_table(table) for table in attack_tables(answer)],
        "remarks": [drawn_words(answer), *answer.remarks],
    }


def _table(table: TableBlock) -> dict[str, Any]:
    """A table as the page draws it."""
    return {"caption": table.caption, "head": table.head, "rows": table.rows, "right": list(table.right)}


def use_view(point: Point, use: Mapping[str, Any], piece: Work) -> dict[str, Any]:
    """What an analyst would still get from a point, in the sentences and tables of ``kpareto utility``."""
    with hearing(Hearing(stopped=piece.stopped)):
        answer = utility(point, **use)
    return {
        "sentences": [*answer.sentences(), *answer.remarks],
        "tables": [_table(table) for table in use_tables(answer) if table.head != RELATED],
        "relations": _square_up(point.table, answer.relations),
        "method": METHOD,
    }


def marks_view(front: Front, piece: Work) -> dict[str, Any]:
    """How far off counts are from every marked point, and recodings of the same k that are better in use.

    No table where too few counts can judge them, or too many rows.
    """
    with hearing(Hearing(stopped=piece.stopped)):
        uses = use_of_marks(front)
    if not uses:
        return {"table": None, "sentences": []}
    labels, control = marks_of(front), next(iter(uses.values())).control
    rows = [(", ".join(labels[place]), place, percent(use.error)) for place, use in uses.items()]
    head = ("marked", "point", "off")
    block = TableBlock("How far off counts are", head, (*rows, (CONTROL, "", percent(control))), (1, 2))
    sentences = [use_sentence(uses), *filter(None, (use.words() for use in uses.values()))]
    return {"table": _table(block), "sentences": sentences}


def models_view(job: Job, piece: Work) -> dict[str, Any]:
    """Whole columns and class by class in use, on a sample of the job's rows; None where nothing can be said."""
    with hearing(Hearing(stopped=piece.stopped)):
        use = models_in_use(job.problem(progress=piece), piece)
    return {"use": None if use is None else {**use.to_dict(), "sentence": use.sentence()}}


def _square_up(table: Table, relations: Relations) -> dict[str, Any]:
    """What is left of every relation as the lower half of a square; None where two columns were not related."""
    left = {frozenset(pair.columns): pair.share for pair in relations.pairs}
    columns = dict.fromkeys((*table.schema.quasi, *table.schema.sensitive, *table.schema.target))
    names = [name for name in columns if any(name in pair for pair in left)]
    return {
        "names": names,
        "shares": [[left.get(frozenset((name, other))) for other in names[:place]] for place, name in enumerate(names)],
    }


# -- what a recoding does to the table -----------------------------------------------------------------------------


def distribution_view(point: Point, name: str) -> dict[str, Any]:
    """One quasi-identifier before and after; a group of values is spread evenly over the values that it stands for."""
    partition = point.partition
    table = partition.table
    column = table.column(name)
    leaves = table.hierarchies[column].leaves
    before = np.bincount(table.codes[:, column], weights=table.weights, minlength=len(leaves))  # (leaves,) float64
    kept, (first, last) = ~partition.suppressed, partition.recoding.runs(column)
    rows = np.bincount(partition.groups[kept, column], weights=partition.rows[kept], minlength=len(first))  # per group
    steps = np.zeros(len(leaves) + 1)
    np.add.at(steps, first, rows / (last - first + 1))
    np.add.at(steps, last + 1, -rows / (last - first + 1))
    after = np.cumsum(steps)[:-1]
    width = math.ceil(len(leaves) / BINS)
    starts = np.arange(0, len(leaves), width)
    shares = [side / max(side.sum(), 1.0) for side in (before, after)]
    order = np.argsort(-rows, kind="stable")[:CELLS]
    labels = partition.recoding.labels[column]
    return {
        "name": name,
        "labels": [_span(leaves, int(at), min(int(at) + width, len(leaves)) - 1) for at in starts],
        "before": np.add.reduceat(before, starts).tolist(),
        "after": [round(float(value), 6) for value in np.add.reduceat(after, starts)],
        "groups": [{"label": labels[g], "rows": int(rows[g])} for g in sorted(order.tolist())],
        "left": max(0, len(rows) - CELLS),
        "moved": float(np.abs(shares[0] - shares[1]).sum() / 2),
    }


def _span(leaves: tuple[str, ...], first: int, last: int) -> str:
    return leaves[first] if first == last else f"{leaves[first]} … {leaves[last]}"


@dataclass(frozen=True)
class _Pairs:
    """Two columns together: one entry per pair of categories that occurs."""

    labels: tuple[tuple[str, ...], tuple[str, ...]]
    codes: np.ndarray  # (entries, 2) int64
    rows: np.ndarray  # (entries,) float64


def contingency_view(point: Point, first: str, second: str) -> dict[str, Any]:
    """Two columns together, before and after, and how strongly they go together (Cramér's V over all categories)."""
    if first == second:
        raise BadInput("Choose two different columns.")
    sides = {}
    for side in ("before", "after"):
        pairs = _pairs(point.partition, (first, second), released=side == "after")
        sides[side] = {**_lay_out(point.partition, pairs, (first, second), side == "after"), "cramer": _cramer(pairs)}
    return {"columns": [first, second], **sides}


def _pairs(partition: Partition, names: tuple[str, str], *, released: bool) -> _Pairs:
    """The categories that rows have in two columns: as they were, or as they are released."""
    table = partition.table
    quasi = [name in table.schema.quasi for name in names]
    if not any(quasi):
        raise BadInput(
            f"{names[0]!r} and {names[1]!r} are no quasi-identifiers, and the table does not keep how such columns go "
            "together. Choose a quasi-identifier as one of them."
        )
    other = names[quasi.index(False)] if not all(quasi) else names[0]
    labels, owner, rows, code = subgroups(table, other)  # one entry per distinct row, or per value in it
    kept = ~partition.suppressed[partition.members[owner]] if released else np.ones(len(owner), dtype=np.bool_)
    sides, shown = [], []
    for name in names:
        if name not in table.schema.quasi:
            shown.append(tuple(labels))
            sides.append(np.asarray(code)[kept])
            continue
        column = table.column(name)
        members = partition.members[owner[kept]]
        shown.append(partition.recoding.labels[column] if released else table.hierarchies[column].leaves)
        sides.append(partition.groups[members, column] if released else table.codes[owner[kept], column])
    codes = np.column_stack(sides).astype(np.int64)
    order, start = distinct_rows(codes)
    total = np.add.reduceat(np.asarray(rows, dtype=np.float64)[kept][order], start) if len(order) else np.zeros(0)
    return _Pairs((shown[0], shown[1]), codes[order[start]] if len(order) else codes, total)


def _cramer(pairs: _Pairs) -> float | None:
    """From 0 (nothing to do with each other) to 1 (one tells the other); None where a column has one value only."""
    sums = [np.bincount(pairs.codes[:, side], weights=pairs.rows) for side in (0, 1)]
    sizes = [int((rows > 0).sum()) for rows in sums]
    if min(sizes, default=0) < 2:
        return None
    expected = sums[0][pairs.codes[:, 0]] * sums[1][pairs.codes[:, 1]]
    chi = float((pairs.rows**2 / expected).sum()) - 1.0
    return math.sqrt(max(chi, 0.0) / (min(sizes) - 1))


def _lay_out(partition: Partition, pairs: _Pairs, names: tuple[str, str], released: bool) -> dict[str, Any]:
    """The pairs as a table of a size that can be looked at."""
    labels, codes = [], []
    for side, name in enumerate(names):
        table = partition.table
        hierarchy = None if released or name not in table.schema.quasi else table.hierarchies[table.column(name)]
        shown, place = _few(pairs.labels[side], pairs.codes[:, side], pairs.rows, hierarchy)
        labels.append(shown)
        codes.append(place)
    counts = np.zeros((len(labels[0]), len(labels[1])))
    np.add.at(counts, (codes[0], codes[1]), pairs.rows)
    return {"rows": labels[0], "columns": labels[1], "counts": counts.astype(int).tolist()}


def _few(
    labels: tuple[str, ...], codes: np.ndarray, rows: np.ndarray, hierarchy: Hierarchy | None
) -> tuple[list[str], np.ndarray]:
    """At most so many categories: those of a level that has few, or the largest ones and the others together."""
    if hierarchy is not None and len(labels) > CELLS:
        level = next(at for at in range(hierarchy.height + 1) if len(hierarchy.labels[at]) <= CELLS)
        if len(hierarchy.labels[level]) > 1:
            labels, codes = hierarchy.labels[level], hierarchy.groups[level][codes].astype(np.int64)
    sums = np.bincount(codes, weights=rows, minlength=len(labels))
    present = np.flatnonzero(sums > 0)
    if len(present) > CELLS:
        present = np.sort(present[np.argsort(-sums[present], kind="stable")[: CELLS - 1]])
        place = np.full(len(labels), len(present))
        place[present] = np.arange(len(present))
        return [*(labels[code] for code in present), OTHERS], place[codes]
    place = np.zeros(len(labels), dtype=np.int64)
    place[present] = np.arange(len(present))
    return [labels[code] for code in present], place[codes]


def at_risk_view(point: Point) -> dict[str, Any]:
    """The smallest released classes, and how much each column helps to recognise their rows."""
    partition = point.partition
    seen = np.flatnonzero(partition.visible & ~partition.suppressed)
    order = seen[np.argsort(partition.sizes[seen], kind="stable")]
    names = [hierarchy.name for hierarchy in partition.recoding.hierarchies]
    labels = partition.recoding.labels
    least = int(partition.sizes[order[0]]) if len(order) else 0
    smallest = partition.sizes[seen] == least
    return {
        "columns": names,
        "least": least,
        "classes_at_least": int(smallest.sum()),
        "rows_at_least": int(partition.rows[seen][smallest].sum()),
        "classes": [
            {
                "labels": [labels[column][g] for column, g in enumerate(partition.groups[group].tolist())],
                "size": int(partition.sizes[group]),
                "risk": 1.0 / int(partition.sizes[group]),
            }
            for group in order[:CLASSES].tolist()
        ],
        "left": max(0, len(order) - CLASSES),
        "without": [_without(partition, seen, column, name) for column, name in enumerate(names)],
    }


def _without(partition: Partition, seen: np.ndarray, column: int, name: str) -> dict[str, Any]:
    """The classes that somebody sees who does not know one of the columns; rows are counted, not persons."""
    others = np.delete(partition.groups[seen], column, axis=1)
    rows = partition.rows[seen]
    if others.shape[1] == 0:
        sizes = np.array([rows.sum()])
    else:
        order, start = distinct_rows(np.ascontiguousarray(others))
        sizes = np.add.reduceat(rows[order], start) if len(order) else np.zeros(0, dtype=np.int64)
    total = int(sizes.sum())
    now = len(seen) / max(total, 1)
    mean = len(sizes) / max(total, 1)
    return {
        "name": name,
        "k": int(sizes.min()) if len(sizes) else 0,
        "mean": mean,
        "part": 1 - mean / now if now else 0.0,
    }


# -- the table before anything is decided --------------------------------------------------------------------------


def table_rows_view(job: Job, start: int, count: int = ROWS) -> dict[str, Any]:
    """Some rows as they stand in the table, cell by cell."""
    if start < 0 or not 1 <= count <= 200:
        raise BadInput(f"Rows {start} to {start + count} cannot be shown. Ask for at most 200 from row 0 on.")
    with open_view(job.rows_source(), job.encoding) as rows:
        (total,) = rows.one(f"SELECT count(*) FROM {rows.table}")
        cells = ", ".join(f"c{place}::VARCHAR" for place in range(len(rows.columns)))
        answer = rows.ask(f"SELECT {cells} FROM {rows.table} LIMIT {count} OFFSET {start}").fetchall()
        shown = [[None if cell is None else str(cell)[:MOST_LETTERS] for cell in row] for row in answer]
        return {"columns": list(rows.columns), "start": start, "total": total, "rows": shown}


def column_view(job: Job, name: str) -> dict[str, Any]:
    """What a column holds: bars of numbers in rising order, or its commonest values."""
    with open_view(job.rows_source(), job.encoding) as rows:
        if name not in rows.columns:
            raise BadInput(f"The table has no column {name!r}. {did_you_mean(name, rows.columns)}".rstrip())
        column = rows.columns.index(name)
        counts = dict(rows.ask(rows.values(column)).fetchall())
    marks = {None, *job.missing_values}
    missing = sum(n for value, n in counts.items() if value in marks)
    present = {str(value): int(n) for value, n in counts.items() if value not in marks}
    numbers = numbers_of(list(present)) if present else None
    if numbers is not None and len(present) > BARS:
        bars, ordered = _bins(numbers, np.array(list(present.values()))), True
    elif numbers is not None or len(present) <= BARS:
        order = np.argsort(numbers, kind="stable") if numbers is not None else np.argsort(list(present))
        pairs = list(present.items())
        bars, ordered = [[*pairs[place]] for place in order.tolist()], True
    else:
        ranked = sorted(present.items(), key=lambda pair: (-pair[1], pair[0]))
        bars, ordered = [[*pair] for pair in ranked[:BARS]], False
    return {
        "name": name,
        "distinct": len(present),
        "missing": int(missing),
        "bars": bars,
        "ordered": ordered,
        "others": sum(present.values()) - sum(int(rows_of) for _, rows_of in bars),
    }


def _bins(numbers: np.ndarray, counts: np.ndarray) -> list[list[Any]]:
    """Bars of equal width with round borders."""
    low, high = float(numbers.min()), float(numbers.max())
    width = round_width((high - low) / BARS)
    first = math.floor(low / width)
    place = np.floor(numbers / width).astype(np.int64) - first
    sums = np.bincount(place, weights=counts)
    edges = [float(f"{(first + at) * width:.12g}") for at in range(len(sums) + 1)]
    return [[f"{edges[at]:g} to below {edges[at + 1]:g}", int(rows)] for at, rows in enumerate(sums)]


def role_facts(job: Job, kept: KeptRows | None = None) -> dict[str, Any]:
    """What the roles mean for the rows: how many are alone, how many lack a value and what becomes of those.

    Where the rows are kept nothing is asked of the table.
    """
    schema = job.schema()
    total, lacking, unique = _ask_roles(job, schema) if kept is None else _count_roles(kept, schema)
    policy = job.missing or ("drop" if job.embedded or lacking <= MOST_DROPPED * total else "category")
    return {
        "rows": total,
        "columns": [] if unique is None else list(unique.columns),
        "unique": None if unique is None else unique.unique,
        "lacking": lacking,
        "named": job.missing,
        "policy": policy,
    }


def say_unlimited(job: Job) -> list[str]:
    """Which sensitive columns no limit of the job is about, where there are any."""
    limits = [make(spec) for spec in job.limits]
    about = [(parameters_of(limit) or {}).get("column") for limit in limits if aspect_of(limit).column == "sensitive"]
    names = [] if None in about else [name for name in job.schema().sensitive if name not in about]
    why = "whoever finds the class of a person may learn it. Give a limit on the Search step, such as l at least 2."
    return [f"Nothing limits what a class tells of {shorten(names)}: {why}"] if names else []


def _count_roles(kept: KeptRows, schema: Schema) -> tuple[int, int, UniqueRows | None]:
    """All rows, those that lack a value, and those that are alone, from rows that are kept."""
    quasi = kept.places(schema.quasi)
    lacking = int(kept.lacking[:, kept.places(schema.counted)].any(axis=1).sum())
    return len(kept.lacking), lacking, kept.coded.unique(quasi) if quasi else None


def _ask_roles(job: Job, schema: Schema) -> tuple[int, int, UniqueRows | None]:
    """The same, asked of a table that is too large to be kept."""
    with open_view(job.rows_source(), job.encoding) as rows:
        known = [rows.columns.index(name) for name in schema.counted if name in rows.columns]
        lacks = " OR ".join(rows.lacks(place, job.missing_values) for place in known) or "false"
        total, lacking = rows.one(f"SELECT count(*), count(*) FILTER ({lacks}) FROM {rows.table}")
        quasi = [name for name in schema.quasi if name in rows.columns]
        return int(total), int(lacking), rows.unique(quasi) if quasi else None


def measure_view(job: Job) -> dict[str, Any]:
    """How anonymous the table is as it stands, by the job's roles, in sentences and numbers; no value of any row."""
    schema = job.schema()
    if not schema.quasi:
        raise BadJob("No column is a quasi-identifier, so nobody can be told apart by one. Give one column that role.")
    source = job.rows_source()
    measured = measure(source, schema.quasi, schema.sensitive, person=schema.person, rows=0, encoding=job.encoding)
    numbers = measured.to_dict()
    return {
        "sentences": measured.sentences(),
        **{name: numbers[name] for name in ("rows", "k", "unique", "classes", "columns")},
    }
