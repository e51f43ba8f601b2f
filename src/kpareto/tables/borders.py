"""Which borders a free column may draw: every so many units, equal widths, equal counts, or where a target changes.

Each function returns gaps (borders,) int64 for ``make_cuts(hierarchies, ends={"age": …})``; gap g lies between leaf g
and leaf g + 1. Fewer borders make a smaller space (IY-4, GE-2). Those taken from the rows tell about the rows.
"""

from __future__ import annotations

import numpy as np

from kpareto.errors import BadJob, shorten
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.table import Table


def step_ends(hierarchy: Hierarchy, step: float, start: float = 0.0) -> np.ndarray:
    """A border at every multiple of a step (granularity, GE-2): ages in cells of five years."""
    lows = _lows(hierarchy)
    if not step > 0:
        raise BadJob(f"The step between borders of {hierarchy.name!r} is {step!r}. Give a number above 0.")
    cell = np.floor((lows - start) / step + 1e-9)
    return np.flatnonzero(np.diff(cell) != 0)


def width_ends(hierarchy: Hierarchy, cells: int) -> np.ndarray:
    """The borders of so many cells of equal width between the smallest and the largest number."""
    lows = _lows(hierarchy)
    _check_cells(hierarchy, cells)
    width = (float(lows.max()) - float(lows.min())) / cells
    if width == 0:
        return np.zeros(0, dtype=np.int64)
    cell = np.minimum(np.floor((lows - lows.min()) / width + 1e-9), cells - 1)  # the largest number ends the last cell
    return np.flatnonzero(np.diff(cell) != 0)


def given_ends(hierarchy: Hierarchy, numbers: list[float]) -> np.ndarray:
    """A border below each of the given numbers."""
    lows = _lows(hierarchy)
    rising = lows[0] <= lows[-1]
    gaps = []
    for number in numbers:
        above = lows >= number
        place = int(np.argmax(above)) - 1 if rising else int(np.argmin(above)) - 1
        if not above.any() or above.all():
            raise BadJob(
                f"No border of {hierarchy.name!r} lies at {number:g}: "
                f"its values go from {lows.min():g} to {lows.max():g}."
            )
        gaps.append(place)
    return np.unique(np.array(gaps, dtype=np.int64))


def count_ends(table: Table, column: str, cells: int) -> np.ndarray:
    """The borders of so many cells with about equally many rows (they tell about the rows, warning W10)."""
    place = table.column(column)
    hierarchy = table.hierarchies[place]
    _check_cells(hierarchy, cells)
    running = np.cumsum(table.leaf_rows[place])[:-1] / table.rows
    wanted = np.arange(1, cells) / cells
    if len(running) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.abs(running[None, :] - wanted[:, None]).argmin(axis=1)).astype(np.int64)


def observed_ends(table: Table, column: str) -> np.ndarray:
    """One border between each two neighbouring leaves that hold rows, so that no empty cell can be cut off (W9)."""
    return np.flatnonzero(table.observed[table.column(column)])[:-1].astype(np.int64)


def entropy_ends(table: Table, column: str, target: str | None = None) -> np.ndarray:
    """Borders where the target's distribution changes, as many as pay for themselves (Fayyad & Irani 1993, MDLP)."""
    place = table.column(column)
    counts = table.counts(target, "target")
    leaf = table.codes[counts.row, place]
    width = len(counts.values)
    keys = leaf.astype(np.int64) * width + counts.code
    size = len(table.hierarchies[place].leaves) * width
    histogram = np.bincount(keys, weights=counts.count, minlength=size).reshape(-1, width)
    return np.array(sorted(_mdlp(histogram, 0)), dtype=np.int64)


def _mdlp(histogram: np.ndarray, first: int) -> list[int]:
    """Accepted borders of a run of leaves, histogram: (leaves, values) float64 rows."""
    if len(histogram) < 2:
        return []
    left = np.cumsum(histogram, axis=0)[:-1]
    whole = histogram.sum(axis=0)
    right = whole - left
    rows = whole.sum()
    inside = (left.sum(axis=1) > 0) & (right.sum(axis=1) > 0)
    if not inside.any():
        return []
    parts = (left.sum(axis=1) * _entropy(left) + right.sum(axis=1) * _entropy(right)) / rows
    border = int(np.where(inside, parts, np.inf).argmin())
    gain = float(_entropy(whole[None, :])[0] - parts[border])
    # Fayyad & Irani (1993), equation 9: Δ = log2(3^c − 2) − (c·Ent − c1·Ent1 − c2·Ent2)
    c, c1, c2 = (int((h > 0).sum()) for h in (whole, left[border], right[border]))
    ent, ent1, ent2 = (float(_entropy(h[None, :])[0]) for h in (whole, left[border], right[border]))
    price = (np.log2(rows - 1) + np.log2(3.0**c - 2) - (c * ent - c1 * ent1 - c2 * ent2)) / rows
    if gain <= price:
        return []
    below = _mdlp(histogram[: border + 1], first)
    above = _mdlp(histogram[border + 1 :], first + border + 1)
    return [*below, first + border, *above]


def _entropy(histograms: np.ndarray) -> np.ndarray:
    """Bits per row of each histogram (n, values): (n,) float64."""
    shares = histograms / np.maximum(histograms.sum(axis=1, keepdims=True), 1)
    return -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)


def _lows(hierarchy: Hierarchy) -> np.ndarray:
    if hierarchy.spans is None:
        raise BadJob(
            f"Column {hierarchy.name!r} has no numbers (its values are {shorten(hierarchy.leaves, 3)}), so borders "
            "cannot be placed by number. Take count_ends, or entropy_ends with a target."
        )
    return hierarchy.spans[:, 0]


def _check_cells(hierarchy: Hierarchy, cells: int) -> None:
    if cells < 1:
        raise BadJob(f"Column {hierarchy.name!r} is to have {cells} cells. Give at least 1.")


def empty_cells(table: Table) -> list[str]:
    """A sentence for each column whose empty leaves could be cut off to make the loss look small (warning W9)."""
    if table.domain == "observed":
        return []
    remarks = []
    for hierarchy, seen in zip(table.hierarchies, table.observed, strict=True):
        empty = int((~seen).sum())
        if empty and hierarchy.ordered:
            remarks.append(
                f"{empty} of the {len(seen)} cells of {hierarchy.name!r} hold nobody, and with domain = 'declared' a "
                "group of empty cells lowers the loss of everyone. Take domain = 'observed', or observed_ends."
            )
    return remarks
