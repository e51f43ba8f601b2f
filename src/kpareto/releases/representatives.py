"""What a group shows in the release: its label, or one number that stands for it (IY-5).

The declared midpoint of an interval tells nothing about the rows. A median does, so it comes with warning W8.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from kpareto.errors import BadJob
from kpareto.tables.hierarchy import Hierarchy, runs_of
from kpareto.tables.recoding import Recoding
from kpareto.tables.spelling import number_text
from kpareto.tables.table import Table

Shown = Literal["label", "midpoint", "median"]
SHOWN: tuple[Shown, ...] = ("label", "midpoint", "median")


def representatives(table: Table, recoding: Recoding, column: str, shown: Shown = "midpoint") -> tuple[str, ...]:
    """What each group of a column shows, in the order of groups; a column without numbers shows labels only."""
    place = table.column(column)
    hierarchy, cut = recoding.hierarchies[place], recoding.cuts[place]
    if shown not in SHOWN:
        raise BadJob(f"A group can show its {', '.join(SHOWN[:-1])} or {SHOWN[-1]}, not {shown!r}.")
    if shown == "label":
        return recoding.labels[place]
    if hierarchy.spans is None:
        raise BadJob(f"Column {column!r} has no numbers, so its groups have no {shown}. Show their labels.")
    if shown == "midpoint":
        return tuple(number_text(midpoint(hierarchy, first, last)) for first, last in runs_of(cut))
    rows = table.leaf_rows[place]
    return tuple(number_text(_median(hierarchy, rows, first, last)) for first, last in runs_of(cut))


def warning(column: str, shown: Shown) -> str | None:
    """Warning W8 where a representative is taken from the rows."""
    if shown != "median":
        return None
    return f"W8: the medians shown for {column!r} are values of actual rows. Declared midpoints would reveal nothing."


def midpoint(hierarchy: Hierarchy, first: int, last: int) -> float:
    """Halfway between the declared borders of a run of leaves."""
    spans = hierarchy.spans if hierarchy.spans is not None else np.zeros((len(hierarchy.leaves), 2))
    return (float(spans[first : last + 1].min()) + float(spans[first : last + 1].max())) / 2


def _median(hierarchy: Hierarchy, rows: np.ndarray, first: int, last: int) -> float:
    """The lower median of the rows in a run of leaves; the midpoint where there are none."""
    counts = rows[first : last + 1]
    if counts.sum() == 0 or hierarchy.spans is None:
        return midpoint(hierarchy, first, last)
    middles = hierarchy.spans[first : last + 1].mean(axis=1)
    order = np.argsort(middles, kind="stable")
    running = np.cumsum(counts[order])
    return float(middles[order][np.searchsorted(running, (counts.sum() + 1) // 2)])
