"""Hierarchies of numbers: intervals, bounds, quantiles, cells, rounded numbers and plain order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from kpareto.errors import BadHierarchy
from kpareto.tables.hierarchies.values import (
    Values,
    check_parts,
    levels_by_ends,
    numbers_of,
    sorted_numbers,
    stack_levels,
    starts_of,
    text_of,
)
from kpareto.tables.hierarchy import Hierarchy, flat, levels_tree, range_label

# One level: cut points, or the first and last number of each interval.
Bounds = Sequence[float] | Sequence[Sequence[float]]


def intervals(
    name: str, values: Values | None, widths: Sequence[float], origin: float = 0.0, top_code: float | None = None
) -> Hierarchy:
    """Intervals of equal width, one level per width, counted from the origin: 39 -> 35-39 -> 30-39 -> *.

    Numbers from ``top_code`` on share one interval on every level.
    """
    leaves, numbers = sorted_numbers(name, values, "intervals")
    levels = [width_level(name, numbers, width, origin, top_code) for width in widths]
    if not levels:
        raise BadHierarchy(f"The intervals of {name!r} have no width. Give at least one, such as 5.")
    advice = "Take widths that are multiples of each other, narrow ones first."
    rule = {"intervals": [float(width) for width in widths], "from": float(origin)}
    rule |= {} if top_code is None else {"top_code": float(top_code)}
    return replace(numeric(stack_levels(name, leaves, levels, advice), numbers), rule=rule)


def width_level(
    name: str, numbers: np.ndarray, width: float, origin: float, top_code: float | None
) -> tuple[np.ndarray, list[str]]:
    """One level of equal intervals over rising numbers: a key per number and a label per group."""
    if not 0 < width < float("inf"):
        raise BadHierarchy(f"An interval of {name!r} is {text_of(width)} wide. Give a width above 0.")
    whole = are_whole(numbers, origin, width)
    if whole:
        key = np.floor_divide(numbers - origin, width)
    else:
        steps = (numbers - origin) / width
        near = np.rint(steps)  # 0.3 / 0.1 is a little less than 3
        slack = np.minimum(
            1e-9 * np.maximum(1.0, np.abs(near)), 1e-6
        )  # far less than an interval, however large near is
        key = np.where(np.abs(steps - near) <= slack, near, np.floor(steps))
    if top_code is not None:
        key = np.where(numbers >= top_code, np.inf, key)
    labels = []
    for step in key[starts_of(key)].tolist():
        if step == np.inf:
            labels.append(f"{text_of(top_code)}+")
        else:
            low, high = origin + step * width, origin + (step + 1) * width
            labels.append(interval_label(low, high if top_code is None else min(high, top_code), whole))
    return key, labels


def bounds(name: str, values: Values | None, levels: Sequence[Bounds]) -> Hierarchy:
    """Intervals by bounds given level by level, the finest first.

    A level is either a list of cut points, where [25, 65] makes <25, 25-64 and 65+, or a list of intervals
    [first, last] with both ends inside, which must cover every value.
    """
    leaves, numbers = sorted_numbers(name, values, "bounds")
    groupings = [bounds_level(name, level, leaves, numbers, borders) for level, borders in enumerate(levels, 1)]
    hierarchy = stack_levels(name, leaves, groupings, "Use every cut point of a level on the levels below it too.")
    rule = {"bounds": [np.array(level, dtype=np.float64).tolist() for level in levels]}
    return replace(numeric(hierarchy, numbers), rule=rule)


def bounds_level(
    name: str, level: int, leaves: Sequence[str], numbers: np.ndarray, borders: Bounds
) -> tuple[np.ndarray, list[str]]:
    """One level by bounds over rising numbers: a key per number and a label per group."""
    if not isinstance(borders, Sequence) or not borders:
        raise BadHierarchy(f"Level {level} of {name!r} has no bounds. Give a list of cut points or of [first, last].")
    if isinstance(borders[0], list | tuple):
        return _pairs(name, level, leaves, numbers, borders)
    return _cut_points(name, level, numbers, borders)


def _cut_points(name: str, level: int, numbers: np.ndarray, borders: Bounds) -> tuple[np.ndarray, list[str]]:
    points = floats(name, f"cut points of level {level}", borders)
    if not (np.diff(points) > 0).all():
        raise BadHierarchy(f"The cut points of level {level} of {name!r} must rise: {list(borders)!r:.80}.")
    whole = are_whole(numbers, *points.tolist())
    key = np.searchsorted(points, numbers, side="right")
    labels = []
    for group in key[starts_of(key)].tolist():
        if group == 0:
            labels.append(f"<{text_of(float(points[0]))}")
        elif group == len(points):
            labels.append(f"{text_of(float(points[-1]))}+")
        else:
            labels.append(interval_label(float(points[group - 1]), float(points[group]), whole))
    return key, labels


def _pairs(
    name: str, level: int, leaves: Sequence[str], numbers: np.ndarray, borders: Bounds
) -> tuple[np.ndarray, list[str]]:
    pairs = [pair for pair in borders if isinstance(pair, list | tuple) and len(pair) == 2]
    ends = np.array([floats(name, f"bounds of level {level}", pair) for pair in pairs]).reshape(-1, 2)
    if len(ends) != len(borders):
        raise BadHierarchy(
            f"Level {level} of {name!r} has an interval that is not [first, last]: {list(borders)!r:.80}."
        )
    if (ends[:, 1] < ends[:, 0]).any() or (ends[1:, 0] <= ends[:-1, 1]).any():
        raise BadHierarchy(f"The intervals of level {level} of {name!r} overlap or fall. Put them in rising order.")
    key = np.searchsorted(ends[:, 0], numbers, side="right") - 1
    lost = (key < 0) | (numbers > ends[key, 1])
    if lost.any():
        raise BadHierarchy(
            f"Level {level} of the hierarchy of {name!r} has no interval for {leaves[int(np.argmax(lost))]!r}. Add one."
        )
    shown = [ends[group].tolist() for group in key[starts_of(key)].tolist()]
    return key, [text_of(low) if low == high else f"{text_of(low)}-{text_of(high)}" for low, high in shown]


def quantiles(name: str, values: Values | None, parts: int | Sequence[int]) -> Hierarchy:
    """Groups of about equally many rows: 16 parts, then 8, 4, 2 and all; or the given numbers of parts.

    The labels are numbers of the table, so the hierarchy is marked as data-dependent. Give each value with its
    number of rows; a plain list of values counts every value once. A level that merges nothing is left out.
    """
    steps = _steps(name, parts)
    leaves, numbers, finest = _parts(name, values, parts if isinstance(parts, int) else parts[0])
    levels = levels_by_ends(leaves, (finest // step for step in steps))
    return replace(numeric(stack_levels(name, leaves, levels), numbers), data_dependent=True)


def _parts(name: str, values: Values | None, most: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The values, their numbers and the part each falls into: the one that the middle of its rows falls into."""
    leaves, numbers = sorted_numbers(name, values, "quantiles")
    counts = np.ones(len(leaves))
    if isinstance(values, Mapping):
        rows = {text_of(value): count for value, count in values.items()}
        counts = np.array([rows[leaf] for leaf in leaves], dtype=np.float64)
    if not counts.sum() > 0:
        raise BadHierarchy(f"The quantiles of {name!r} need rows, and every value has 0. Give the counts of the table.")
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    return leaves, numbers, np.minimum((middle * most).astype(np.int64), most - 1)


def _steps(name: str, parts: int | Sequence[int]) -> list[int]:
    """How many of the finest parts each level joins."""
    check_parts(name, max([parts] if isinstance(parts, int) else [0, *parts]))
    if isinstance(parts, int):
        if parts < 2:
            raise BadHierarchy(f"The quantiles of {name!r} are {parts} parts. Give at least 2.")
        return [2**power for power in range((parts - 1).bit_length())]
    if not parts or min(parts) < 1 or any(fine % coarse for fine, coarse in pairwise(parts)):
        raise BadHierarchy(
            f"The numbers of parts of {name!r} are {list(parts)!r}. Each must divide the one before, as in [16, 8, 4]."
        )
    return [parts[0] // size for size in parts]


def quantile_cells(name: str, values: Values | None, parts: int) -> Hierarchy:
    """Cells of about equally many rows as leaves: end points for a search, one cut between two neighbouring cells."""
    _steps(name, parts)
    _, numbers, part = _parts(name, values, parts)
    first = starts_of(part)
    if len(first) < 2:
        raise BadHierarchy(f"The values of {name!r} do not fall into {parts} parts. Ask for more, or list the values.")
    edges = np.append(numbers[first], numbers[-1])
    if edges[-1] == edges[-2]:  # the last part holds one number: it needs an end above its start
        edges[-1] = np.nextafter(edges[-1], np.inf)
    return replace(cells(name, edges), data_dependent=True)


def order(name: str, values: Sequence[str], numbers: np.ndarray | None = None) -> Hierarchy:
    """Values in a meaningful order: any run of neighbours may form a group. Two levels: the values, and one group.

    ``numbers`` (values,) float64 are the ranks or numbers behind the values, for a loss by distance; they must rise
    or fall throughout.
    """
    if not values:
        raise BadHierarchy(f"The hierarchy of {name!r} has no values. Give at least one.")
    hierarchy = flat(name, list(values))
    if numbers is None:
        return replace(hierarchy, ordered=True)
    if len(numbers) != len(values):
        raise BadHierarchy(
            f"The hierarchy of {name!r} has {len(values)} values and {len(numbers)} numbers for them. Give one each."
        )
    steps = np.sign(np.diff(numbers))
    turns = np.flatnonzero((steps == 0) | (steps != steps[:1]))
    if turns.size:
        left = int(turns[0])
        raise BadHierarchy(
            f"The numbers of {name!r} must rise or fall throughout, but do not from {values[left]!r} "
            f"({text_of(numbers[left])}) to {values[left + 1]!r} ({text_of(numbers[left + 1])}). Put them in order."
        )
    return numeric(hierarchy, numbers)


def cells(
    name: str, edges: Sequence[float] | np.ndarray, labels: Sequence[str] | None = None, closed: str = "left"
) -> Hierarchy:
    """Neighbouring cells of a number line as leaves: ``[0,5), [5,10)`` when closed left, ``[0,5], (5,10]`` when right.

    Numbers find their cell by the edges; the two outermost edges belong to the outermost cells.
    """
    points = floats(name, "edges", edges)
    if closed not in ("left", "right"):
        raise BadHierarchy(f"The cells of {name!r} are closed {closed!r}. Write 'left' or 'right'.")
    if len(points) < 2 or not (np.diff(points) > 0).all():
        raise BadHierarchy(f"The edges of {name!r} must be at least two rising numbers, not {list(edges)!r:.80}.")
    if labels is None:
        labels = [range_label(points, cell, cell, closed) for cell in range(len(points) - 1)]
    if len(labels) != len(points) - 1:
        raise BadHierarchy(
            f"The hierarchy of {name!r} has {len(labels)} cells and {len(points)} edges. Give one edge more than cells."
        )
    spans = np.stack((points[:-1], points[1:]), axis=1)
    side: Literal["left", "right"] = "left" if closed == "left" else "right"
    return replace(flat(name, list(labels)), ordered=True, spans=spans, edges=points, closed=side)


def in_numeric_order(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy with its leaves as rising numbers, where all leaves are numbers and all groups stay runs."""
    numbers = numbers_of(hierarchy.leaves)
    if numbers is None:
        return hierarchy
    rising = np.argsort(numbers, kind="stable")
    if (np.diff(rising) == 1).all():
        return numeric(hierarchy, numbers)
    moved = hierarchy.groups[:, rising]
    change = np.concatenate((np.zeros((len(moved), 1), dtype=bool), np.diff(moved, axis=1) != 0), axis=1)
    groups = np.cumsum(change, axis=1).astype(np.int32)
    if (groups[:, -1] != hierarchy.groups[:, -1]).any():
        return hierarchy  # some group would fall apart: these numbers are names
    labels = tuple(
        tuple(hierarchy.labels[level][group] for group in row[np.append(True, np.diff(now) != 0)].tolist())
        for level, (row, now) in enumerate(zip(moved, groups, strict=True))
    )
    line_order = hierarchy.layout.order
    rank = np.empty(len(rising), dtype=np.int64)
    rank[rising] = np.arange(len(rising))
    lines = rank if line_order is None else rank[np.array(line_order, dtype=np.int64)]
    kept = None if (lines == np.arange(len(lines))).all() else tuple(lines.tolist())
    moved_leaves = replace(
        hierarchy,
        leaves=labels[0],
        groups=groups,
        labels=labels,
        tree=levels_tree(groups, labels),
        layout=replace(hierarchy.layout, order=kept),
    )
    return numeric(moved_leaves, numbers[rising])


def numeric(hierarchy: Hierarchy, numbers: np.ndarray) -> Hierarchy:
    """The hierarchy with the number of each leaf, in which any run of neighbours is meaningful."""
    return replace(hierarchy, ordered=True, spans=np.repeat(numbers, 2).reshape(-1, 2))


def floats(name: str, word: str, value: object) -> np.ndarray:
    """A list of finite numbers, or an error that says which list is none."""
    listed = value if isinstance(value, list | tuple | np.ndarray) else [None]
    if not all(isinstance(number, int | float | np.number) and not isinstance(number, bool) for number in listed):
        raise BadHierarchy(f"The {word} of {name!r} must be a list of numbers, not {value!r:.80}.")
    try:
        numbers = np.array(listed, dtype=np.float64)
    except OverflowError:  # a whole number of more than 308 digits
        numbers = np.array([np.inf])
    if not np.isfinite(numbers).all():
        raise BadHierarchy(f"The {word} of {name!r} must be finite numbers, not {value!r:.80}.")
    return numbers


def are_whole(numbers: np.ndarray, *more: float) -> bool:
    """Whether all these numbers are integers, so that an interval can be named by its first and last integer."""
    return bool((numbers == np.floor(numbers)).all()) and all(float(number).is_integer() for number in more)


def interval_label(low: float, high: float, whole: bool) -> str:
    """The name of the numbers from low to below high: 35-39 for integers, else [35,40)."""
    if whole and low >= 0:
        return text_of(low) if high - low == 1 else f"{text_of(low)}-{text_of(high - 1)}"
    return f"[{text_of(float(f'{low:.12g}'))},{text_of(float(f'{high:.12g}'))})"  # 0.3, not 0.30000000000000004


def round_numbers(name: str, values: Values | None, steps: Sequence[float]) -> Hierarchy:
    """Numbers rounded to multiples of each step in turn, halves up: 43 -> about 45 -> about 50 -> * for steps=[5, 10].

    What a level shows is rounded from what the level below shows; so values that are together stay together.
    """
    leaves, numbers = sorted_numbers(name, values, "rounded numbers")
    if not len(steps) or any(not 0 < step < float("inf") for step in steps):
        raise BadHierarchy(
            f"The numbers of {name!r} are rounded to {list(steps)!r}. Give steps above 0, such as [5, 10]."
        )
    if any(later <= step for step, later in pairwise(steps)):
        raise BadHierarchy(f"The numbers of {name!r} are rounded to {list(steps)!r}. Give the finest step first.")
    levels, shown = [], numbers
    for step in steps:
        shown = np.round(np.floor(np.round(shown / step, 9) + 0.5) * step, 9)  # (values,) float64
        middles = shown[starts_of(shown)].tolist()
        levels.append((shown, [f"about {text_of(middle + 0.0)}" for middle in middles]))
    rule = {"round": [float(step) for step in steps]}
    return replace(numeric(stack_levels(name, leaves, levels), numbers), rule=rule)
