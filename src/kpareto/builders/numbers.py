"""Hierarchies of numbers: intervals, bounds, quantiles and cells."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from kpareto.errors import BadHierarchy
from kpareto.hierarchy import Hierarchy, flat, levels_tree, range_label

# A number as tables write it. Codes such as 02139 are text: their zeros mean something.
NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][+-]?\d+)?")


def numbers_of(values: Sequence[str]) -> np.ndarray | None:
    """The values as numbers, (values,) float64, or None when one of them is not a number."""
    matches = NUMBER.fullmatch
    if not all(map(matches, values)):
        return None
    try:
        numbers = np.array([float(value) for value in values], dtype=np.float64)
    except ValueError:  # the empty text, a lone sign or dot
        return None
    return numbers if np.isfinite(numbers).all() else None


def in_numeric_order(hierarchy: Hierarchy) -> Hierarchy:
    """The hierarchy with its leaves as rising numbers, where all leaves are numbers and all groups stay runs."""
    numbers = numbers_of(hierarchy.leaves)
    if numbers is None:
        return hierarchy
    order = np.argsort(numbers, kind="stable")
    spans = np.repeat(numbers[order], 2).reshape(-1, 2)
    if (np.diff(order) == 1).all():
        return replace(hierarchy, spans=spans, ordered=True)
    moved = hierarchy.groups[:, order]
    change = np.concatenate((np.zeros((len(moved), 1), dtype=bool), np.diff(moved, axis=1) != 0), axis=1)
    groups = np.cumsum(change, axis=1).astype(np.int32)
    if (groups[:, -1] != hierarchy.groups[:, -1]).any():
        return hierarchy  # some group would fall apart: these numbers are names
    labels = tuple(
        tuple(hierarchy.labels[level][group] for group in row[np.append(True, np.diff(now) != 0)].tolist())
        for level, (row, now) in enumerate(zip(moved, groups, strict=True))
    )
    given = hierarchy.layout.order
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    lines = place if given is None else place[np.array(given, dtype=np.int64)]
    kept = None if (lines == np.arange(len(lines))).all() else tuple(lines.tolist())
    return replace(
        hierarchy,
        leaves=labels[0],
        groups=groups,
        labels=labels,
        tree=levels_tree(groups, labels),
        ordered=True,
        spans=spans,
        layout=replace(hierarchy.layout, order=kept),
    )


def text_of(number: float) -> str:
    """A number as people write it: 5, not 5.0."""
    return str(int(number)) if math.isfinite(number) and float(number).is_integer() else repr(float(number))


def order(name: str, values: Sequence[str], numbers: np.ndarray | None = None) -> Hierarchy:
    """Values in a meaningful order: any run of neighbours may form a group. Two levels: the values, and one group.

    ``numbers`` (values,) float64 are the ranks or numbers behind the values, for a loss by distance; they must rise.
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
    falls = np.flatnonzero(~(np.diff(numbers) > 0))
    if falls.size:
        left = int(falls[0])
        raise BadHierarchy(
            f"The numbers of {name!r} must rise, but {values[left]!r} has {text_of(numbers[left])} and the next, "
            f"{values[left + 1]!r}, has {text_of(numbers[left + 1])}. Put the values in rising order."
        )
    return replace(hierarchy, ordered=True, spans=np.repeat(numbers, 2).reshape(-1, 2))


def cells(name: str, edges: Sequence[float], labels: Sequence[str] | None = None, closed: str = "left") -> Hierarchy:
    """Neighbouring cells of a number line as leaves: ``[0,5), [5,10)`` when closed left, ``[0,5], (5,10]`` when right.

    Numbers find their cell by the edges; the two outermost edges belong to the outermost cells.
    """
    bounds = np.array(edges, dtype=np.float64)
    if closed not in ("left", "right"):
        raise BadHierarchy(f"The cells of {name!r} are closed {closed!r}. Write 'left' or 'right'.")
    if len(bounds) < 2 or not np.isfinite(bounds).all() or not (np.diff(bounds) > 0).all():
        raise BadHierarchy(f"The edges of {name!r} must be at least two rising numbers, not {list(edges)!r:.80}.")
    if labels is None:
        labels = [range_label(bounds, cell, cell, closed) for cell in range(len(bounds) - 1)]
    if len(labels) != len(bounds) - 1:
        raise BadHierarchy(
            f"The hierarchy of {name!r} has {len(labels)} cells and {len(bounds)} edges. Give one edge more than cells."
        )
    spans = np.stack((bounds[:-1], bounds[1:]), axis=1)
    side: Literal["left", "right"] = "left" if closed == "left" else "right"
    return replace(flat(name, list(labels)), ordered=True, spans=spans, edges=bounds, closed=side)
