"""A front as tables that fit the screen: the points, and how the marked ones show each column, in words."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

import numpy as np

from kpareto.faces.console import fits_width, show_table
from kpareto.fronts.front import Front, Point, kept_percent, marks_of
from kpareto.fronts.picture import RECOMMENDED
from kpareto.fronts.use import PointUse
from kpareto.tables.recoding import AS_IT_IS, column_words
from kpareto.tables.spelling import EXACT, percent, without_point

MOST_LINES = 48  # points printed; the JSON has them all
FIRST = (RECOMMENDED, "k ≥ 5", "k ≥ 11", "k ≥ 3", "k ≥ 20")  # whose columns are shown first where there is little room


def show_points(front: Front, uses: Mapping[int, PointUse]) -> int:
    """Print the points, and how columns are shown; the number of different points that found no place."""
    places, hidden = pick_shown(front)
    marks = marks_of(front)
    names = [hierarchy.name for hierarchy in front.problem.table.hierarchies]
    points = [front[place] for place in places]
    numbers = [_point_cells(point) for point in points]
    if uses:
        numbers = [[*n, percent(uses[at].error) if at in uses else ""] for n, at in zip(numbers, places, strict=True)]
    levels = [[_brief(point, column) for column in range(len(names))] for point in points]
    differing = [c for c in range(len(names)) if len({row[c] for row in levels}) > 1]
    ends = [", ".join(marks.get(place, ())) for place in places]
    floors = [f"least {front.names[column]}" for column in _floor_columns(front)]
    heads = ["id", *front.names, *floors, "kept", "suppressed", "classes", *(["off"] if uses else [])]
    wide = [[*n, *(row[c] for c in differing), end] for n, row, end in zip(numbers, levels, ends, strict=True)]
    wide_heads = [*heads, *(names[c] for c in differing), ""]
    if fits_width(wide_heads, wide, screen_width()):
        show_table(wide_heads, wide)
    else:
        show_table([*heads, ""], [[*n, end] for n, end in zip(numbers, ends, strict=True)])
    if places:
        _show_columns(front, places, marks)
    return hidden


def screen_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def _floor_columns(front: Front) -> list[int]:
    return [] if front.floors is None else np.flatnonzero(~np.isnan(front.floors).all(axis=0)).tolist()


def _point_cells(point: Point) -> list[object]:
    """What the table says of a point before its columns."""
    front = point.front
    floors = [] if front.floors is None else front.floors[point.id, _floor_columns(front)].tolist()
    values = [without_point(value, EXACT) for value in point.values.values()]
    kept = f"{kept_percent(point):.1f} %"
    return [point.id, *values, *floors, kept, point.partition.suppressed_rows, point.partition.classes]


def _brief(point: Point, column: int) -> str:
    """How a column is shown, in a word or two."""
    words = column_words(point.recoding, column)
    if words == AS_IT_IS:
        return "as is"
    return words.removeprefix("in ").replace("steps of ", "by ").replace(" groups", "").replace(" labels, by class", "")


def _show_columns(front: Front, places: Sequence[int], marks: dict[int, tuple[str, ...]]) -> None:
    """How the marked points show each column, side by side, as many as have room."""
    first = {mark: at for at, mark in enumerate(FIRST)}
    ranked = sorted((p for p in places if p in marks), key=lambda p: min(first.get(m, len(first)) for m in marks[p]))
    hierarchies = front.problem.table.hierarchies
    chosen: list[int] = []
    for place in ranked or places[:1]:
        trial = sorted([*chosen, place])
        heads, rows = _columns_table(front, trial, marks)
        if not chosen or fits_width(heads, rows, screen_width()):
            chosen = trial
    heads, rows = _columns_table(front, chosen, marks)
    show_table(heads, rows, f"How each column is shown ({len(hierarchies)} quasi-identifiers)")


def _columns_table(
    front: Front, places: Sequence[int], marks: dict[int, tuple[str, ...]]
) -> tuple[list[str], list[list[object]]]:
    heads = ["", *(f"{place}: {', '.join(marks[place])}" if place in marks else f"point {place}" for place in places)]
    recodings = [front[place].recoding for place in places]
    rows: list[list[object]] = [
        [hierarchy.name, *(column_words(recoding, column) for recoding in recodings)]
        for column, hierarchy in enumerate(front.problem.table.hierarchies)
    ]
    return heads, rows


def pick_shown(front: Front) -> tuple[list[int], int]:
    """One point of each different vector, or an even choice of them with the marked ones; how many are left out."""
    if not len(front):
        return [], 0
    marked = set(marks_of(front))
    best: dict[tuple[int, ...], int] = {}
    for place, key in enumerate(map(tuple, front.numbers.keys.tolist())):
        other = best.get(key)
        if other is None or (_height(front, place), place) < (_height(front, other), other):
            best[key] = place
    keys = [tuple(key) for key in front.numbers.keys.tolist()]
    for place in marked:  # a mark is on one of the equal points
        best[keys[place]] = place
    places = sorted(best.values())
    if len(places) <= MOST_LINES:
        return places, 0
    even = {places[round(i * (len(places) - 1) / (MOST_LINES - 1))] for i in range(MOST_LINES)}
    shown = sorted(even | marked)
    return shown, len(places) - len(shown)


def _height(front: Front, place: int) -> int:
    """How coarse a point's labels are, among points with equal numbers."""
    levels = front[place].recoding.levels
    return 0 if levels is None else sum(levels)
