"""End points of intervals: which borders a search over cuts may set in a column (Iyengar 2002, section 2).

Without a wish every two neighbouring values may be separated. A wish is a step (borders at its multiples), a list of
borders, or ``mdlp``: the borders at which the classes of the target change, by the rule of Fayyad and Irani (1993).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kpareto.errors import BadInput, BadJob, did_you_mean, shorten
from kpareto.measures.measure import read_spec
from kpareto.measures.targets import cross_counts
from kpareto.strict import describe, either, list_of, map_of, number, text
from kpareto.tables.hierarchy import MISSING

if TYPE_CHECKING:
    from kpareto.tables.table import Table

ENDS = describe(
    'end points by column, such as {age = 5} for a step, {age = [18, 65]} for borders or {age = "mdlp"}',
    map_of(either(number(math.nextafter(0, 1)), list_of(number(), least=1), text)),
)
CLOSE = 1e-9  # of a step, by which a number may miss its multiple


def find_ends(table: Table, wishes: Mapping[str, object]) -> dict[str, np.ndarray]:
    """The gaps that may hold a border in each column with a wish: gap g lies between leaf g and leaf g + 1."""
    ends = {}
    for name, wish in wishes.items():
        where = f"search.end_points.{name}"
        if name not in table.schema.quasi:
            near = did_you_mean(name, table.schema.quasi)
            raise BadJob(f"is for no quasi-identifier. {near}There are: {shorten(table.schema.quasi)}.", where=where)
        column = table.column(name)
        if isinstance(wish, str):
            gaps = _by_classes(table, column, wish, where)
        else:
            gaps = _by_numbers(table, column, wish, where)
        leaves = table.hierarchies[column].leaves
        if len(leaves) > 1 and leaves[-1] == MISSING:  # no value is no number: it may always stand alone
            gaps = np.union1d(gaps, [len(leaves) - 2])
        ends[name] = gaps.astype(np.int64)
    return ends


def _by_numbers(table: Table, column: int, wish: object, where: str) -> np.ndarray:
    """Borders at the multiples of a step, or the listed ones; a border stands before the number that it names."""
    hierarchy = table.hierarchies[column]
    if hierarchy.spans is None:
        raise BadJob("asks for numbers, and the column has none. Take 'mdlp', or take it out.", where=where)
    first = hierarchy.spans[hierarchy.spans[:, 0] == hierarchy.spans[:, 0], 0]  # no value is no number
    if isinstance(wish, int | float):
        return np.flatnonzero(np.diff(np.floor(first / wish + CLOSE)))
    borders = sorted(float(border) for border in wish)  # type: ignore[attr-defined] # ENDS has checked it
    gaps = np.searchsorted(first, borders) - 1
    lost = [border for border, gap in zip(borders, gaps.tolist(), strict=True) if not 0 <= gap < len(first) - 1]
    if lost:
        raise BadJob(f"has the border {lost[0]:g}, which separates no two values of the column.", where=where)
    return np.unique(gaps)


def _by_classes(table: Table, column: int, wish: str, where: str) -> np.ndarray:
    """Borders by the classes of the target that ``mdlp`` or ``mdlp(column=NAME)`` names."""
    name, parameters = read_spec(wish)
    if name != "mdlp" or set(parameters) - {"column"}:
        raise BadJob(f"is {wish!r}. Give {ENDS.words}.", where=where)
    try:
        target = table.counts(str(parameters["column"]) if parameters else None, "target")
    except BadInput as error:
        raise BadJob(f"is {wish!r}, which needs the classes of a target. {error}", where=where) from error
    sizes = len(table.hierarchies[column].leaves), len(target.values)
    return mdlp(cross_counts(table.codes[target.row, column], target.code, target.count, sizes).astype(np.int64))


def mdlp(rows: np.ndarray) -> np.ndarray:
    """The borders that tell the classes apart by more than it takes to describe them (Fayyad and Irani 1993).

    rows: (leaves, classes) int64. An interval is divided where the entropy of its classes becomes least, at the first
    such place, while the gain is worth it; its parts are divided again. Leaves without rows go with the one before.
    """
    running = np.concatenate((np.zeros((1, rows.shape[1]), dtype=np.int64), np.cumsum(rows, axis=0)))
    filled = [*np.flatnonzero(rows.sum(axis=1)).tolist(), len(rows)]
    gaps, waiting = [], [(0, len(filled) - 1)]
    while waiting:
        start, end = waiting.pop()
        if end - start < 2:
            continue
        below = running[filled[start + 1 : end]] - running[filled[start]]
        above = running[filled[end]] - running[filled[start + 1 : end]]
        whole = (below[0] + above[0])[None, :]
        size = int(whole.sum())
        parts = [(part.sum(axis=1), _entropy(part), (part > 0).sum(axis=1)) for part in (below, above)]
        left = sum(count * entropy for count, entropy, _ in parts) / size
        at = int(np.flatnonzero(left <= left.min() + 1e-12)[0])
        kinds, before = int((whole > 0).sum()), float(_entropy(whole)[0])
        gain = kinds * before - sum(float(seen[at]) * float(entropy[at]) for _, entropy, seen in parts)
        cost = math.log2(size - 1) + math.log2(3**kinds - 2) - gain
        if before - float(left[at]) > cost / size:
            middle = start + 1 + at
            gaps.append(filled[middle] - 1)
            waiting += [(start, middle), (middle, end)]
    return np.array(sorted(gaps), dtype=np.int64)


def _entropy(rows: np.ndarray) -> np.ndarray:
    """The entropy of each row of class counts, in bits: (n,) float64."""
    share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    return -(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1)
