"""The columns of a report: hierarchies with the chosen cut, loss per column, the code book of the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.hierarchy import TOP, Hierarchy, runs_of
from kpareto.loss import cell_loss
from kpareto.partition import Partition
from kpareto.report.discretion import Discretion
from kpareto.report.shape import Band, Code, ColumnPart
from kpareto.stored import hierarchy_digest

LISTED = 48  # values of a label that are named one by one
DRAWN = 160  # groups of a level that can still be told apart in a drawing


def column_parts(
    made: Partition, discretion: Discretion, written: Mapping[str, Sequence[str]] | None = None
) -> tuple[ColumnPart, ...]:
    """One part per quasi-identifier; ``written`` are the labels of the released file, where there is one."""
    labels = [
        (written or {}).get(h.name, own) for h, own in zip(made.recoding.hierarchies, made.recoding.labels, strict=True)
    ]
    return tuple(
        _column(made, place, discretion, tuple(labels[place])) for place in range(len(made.recoding.hierarchies))
    )


def _column(made: Partition, place: int, discretion: Discretion, labels: tuple[str, ...]) -> ColumnPart:
    table, recoding = made.table, made.recoding
    hierarchy, cut = recoding.hierarchies[place], recoding.cuts[place]
    numerators, denominator = cell_loss(table, place, cut)
    kept = ~made.suppressed
    kept_rows = np.bincount(made.groups[kept, place], weights=made.rows[kept], minlength=len(numerators))
    lost = made.suppressed_rows
    total = float(kept_rows @ numerators) / denominator
    held = table.rows - lost
    names = _Names(hierarchy, table.leaf_rows[place], discretion)
    level = None if recoding.levels is None else recoding.levels[place]
    return ColumnPart(
        hierarchy.name,
        level,
        hierarchy.height,
        len(hierarchy.leaves),
        int(cut[-1]) + 1,
        None if discretion.hides(lost) else (total + lost) / table.rows,
        total / held if held else 1.0,
        _bands(hierarchy, cut, level, names),
        _codes(made, place, kept_rows.astype(np.int64), names, labels),
        names.withheld,
        hierarchy.data_dependent,
        hierarchy_digest(hierarchy),
    )


@dataclass(frozen=True, eq=False)
class _Names:
    """Which values of a column may be named.

    A hierarchy that was declared tells nothing about the rows. One that has only the values and a star may have been
    made of the rows, as may one built from quantiles: then a value is named in public only where k rows have it.
    """

    hierarchy: Hierarchy
    rows: np.ndarray  # (leaves,) int64, rows with each leaf
    discretion: Discretion

    @property
    def guarded(self) -> bool:
        """Whether the values themselves may tell about the rows."""
        flat = self.hierarchy.height <= 1 and self.hierarchy.labels[-1] == (TOP,)
        return not self.discretion.confidential and (flat or self.hierarchy.data_dependent)

    @property
    def withheld(self) -> bool:
        """Whether some value is not named."""
        return self.guarded and bool((self.rows < self.discretion.least).any())

    def may_name(self, first: int, last: int) -> bool:
        """Whether the label of these leaves may be shown."""
        return not self.guarded or int(self.rows[first : last + 1].sum()) >= self.discretion.least

    def listed(self, first: int, last: int) -> tuple[str, ...]:
        """The values by name; none where they are a range, many, or not all to be named."""
        if self.hierarchy.spans is not None or self.hierarchy.ordered or last - first >= LISTED or first == last:
            return ()
        found = [self.leaf(place) for place in range(first, last + 1)]
        known = tuple(name for name in found if name is not None)
        return known if len(known) == len(found) and not all(map(_is_number, known)) else ()

    def leaf(self, place: int) -> str | None:
        """A value, where it may be named."""
        return self.hierarchy.leaves[place] if self.may_name(place, place) else None


def _bands(hierarchy: Hierarchy, cut: np.ndarray, level: int | None, names: _Names) -> tuple[Band, ...]:
    """The levels from the leaves up; a cut that is no level stands after them as a band of its own."""
    found = [
        _band("values" if at == 0 else f"level {at}", groups, hierarchy.labels[at], at == level, names)
        for at, groups in enumerate(hierarchy.groups)
    ]
    if level is None:
        labels = tuple(hierarchy.group_label(first, last) for first, last in runs_of(cut))
        found.append(_band("chosen cut", cut, labels, True, names))
    return tuple(found)


def _band(name: str, cut: np.ndarray, labels: tuple[str, ...], chosen: bool, names: _Names) -> Band:
    count = int(cut[-1]) + 1
    runs: list[tuple[int, int, str]] = []
    if count <= DRAWN:
        for (first, last), label in zip(runs_of(cut), labels, strict=True):
            runs.append((first, last, label if names.may_name(first, last) else ""))
    return Band(name, count, chosen, tuple(runs))


def _codes(
    made: Partition, place: int, kept_rows: np.ndarray, names: _Names, labels: tuple[str, ...]
) -> tuple[Code, ...]:
    cut = made.recoding.cuts[place]
    all_rows = np.bincount(cut, weights=made.table.leaf_rows[place], minlength=len(labels)).astype(np.int64)
    full = names.discretion.confidential
    found = []
    for group, ((first, last), label) in enumerate(zip(runs_of(cut), labels, strict=True)):
        rows = int(kept_rows[group])
        if not rows and not full:
            continue  # a label that no released row shows is no part of the public code book
        # How many rows of a label are suppressed could be had by subtraction from the other labels: not for the public.
        lost = int(all_rows[group]) - rows if full else None
        count, named = last - first + 1, names.listed(first, last)
        found.append(Code(label, names.leaf(first), names.leaf(last), count, named, rows, lost))
    return tuple(found)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
