"""How to analyse a column that shows labels of several levels, as local recoding and cuts leave it.

Three answers: all rows at the finest level that every label lies in (nothing is assumed), numbers for numeric labels
(the middle of each), and rows spread over the values of their labels (an assumption, which is stated).

>>> from kpareto.tables.hierarchies import intervals
>>> ages = intervals("age", [str(year) for year in range(20, 40)], [5, 10])
>>> column = align_levels({"age": ["20", "20-24", "35-39", "22-26"]}, "age", ages)
>>> column.level, column.show()
(2, ['20-29', '20-29', '30-39', '20-29'])
>>> column.midpoints().tolist()
[20.0, 22.0, 37.0, 24.0]
>>> {label: round(rows, 2) for label, rows in column.spread(level=1).items()}
{'20-24': 2.6, '25-29': 0.4, '30-34': 0.0, '35-39': 1.0}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadInput, BadTable, shorten
from kpareto.tables.hierarchies.values import text_of
from kpareto.tables.hierarchy import Hierarchy

NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"({NUMBER})-({NUMBER})")
CELLS = re.compile(rf"[\[(]({NUMBER}),({NUMBER})[\])]")


@dataclass(frozen=True, eq=False)
class MixedColumn:
    """A column whose rows show labels of several levels, each label as the run of leaves it stands for."""

    hierarchy: Hierarchy
    labels: tuple[str, ...]  # that occur
    first: np.ndarray  # (labels,) int64, first leaf of each
    last: np.ndarray  # (labels,) int64
    codes: np.ndarray  # (rows,) int64, the label of each row

    @property
    def level(self) -> int:
        """The common level: the finest one at which every label lies within one group."""
        groups = self.hierarchy.groups
        return next(
            level for level in range(len(groups)) if (groups[level][self.first] == groups[level][self.last]).all()
        )

    def show(self, level: int | None = None) -> list[str]:
        """What each row shows at the common level, or at a coarser one."""
        chosen = self.level if level is None else level
        if not self.level <= chosen <= self.hierarchy.height:
            raise BadInput(
                f"Not every label of {self.hierarchy.name!r} lies within a group of level {chosen}. "
                f"Take a level from {self.level} to {self.hierarchy.height}."
            )
        names = [self.hierarchy.labels[chosen][self.hierarchy.groups[chosen][leaf]] for leaf in self.first.tolist()]
        return [names[code] for code in self.codes.tolist()]

    def count(self) -> dict[str, int]:
        """How many rows show each label."""
        rows = np.bincount(self.codes, minlength=len(self.labels))
        return dict(zip(self.labels, rows.tolist(), strict=True))

    def midpoints(self) -> np.ndarray:
        """The middle of what each row shows: (rows,) float64."""
        spans = self.hierarchy.spans
        if spans is None:
            raise BadTable(f"The values of {self.hierarchy.name!r} are not numbers, so its labels have no middle.")
        ends = [spans[a : b + 1] for a, b in zip(self.first.tolist(), self.last.tolist(), strict=True)]
        middle = np.array([(float(each.min()) + float(each.max())) / 2 for each in ends])
        return middle[self.codes]

    def spread(self, level: int = 0, values: Mapping[str, float] | None = None) -> dict[str, float]:
        """Expected rows in each group of a level, every row divided over the values of its label.

        Without ``values`` each value counts alike; else in proportion to how frequent it is, such as in a public
        table. Rows of a label none of whose values occur there are divided alike.
        """
        if not 0 <= level <= self.hierarchy.height:
            raise BadInput(f"{self.hierarchy.name!r} has levels 0 to {self.hierarchy.height}, not {level}.")
        share = np.ones(len(self.hierarchy.leaves))
        if values is not None:
            share = np.array([float(values.get(leaf, 0.0)) for leaf in self.hierarchy.leaves])
        rows, expected = np.bincount(self.codes, minlength=len(self.labels)), np.zeros(len(share))
        for a, b, count in zip(self.first.tolist(), self.last.tolist(), rows.tolist(), strict=True):
            part = share[a : b + 1]
            part = part if part.sum() > 0 else np.ones(len(part))
            expected[a : b + 1] += count * part / part.sum()
        groups = self.hierarchy.groups[level]
        totals = np.bincount(groups, weights=expected, minlength=len(self.hierarchy.labels[level]))
        return dict(zip(self.hierarchy.labels[level], totals.tolist(), strict=True))


def align_levels(frame: object, column: str, hierarchy: Hierarchy) -> MixedColumn:
    """Read a released column whose rows show labels of several levels.

    Parameters
    ----------
    frame : object
        Any data frame, or a mapping of columns to lists.
    column : str
        The column.
    hierarchy : Hierarchy
        The one that the release was made with.

    Returns
    -------
    MixedColumn
        Each label as the run of leaves it stands for; its ``level`` is the common one.

    Raises
    ------
    BadInput
        If the column has no rows, or a label that the hierarchy does not know.

    Examples
    --------
    >>> import kpareto as kp
    >>> ages = kp.load("age", {"intervals": [10, 20]}, range(20, 60))
    >>> kp.align_levels({"age": ["20-29", "40-59", "31"]}, "age", ages).level
    2
    """
    texts = _texts(frame, column)
    places: dict[str, int] = {}
    codes = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64, len(texts))
    if not places:
        raise BadTable(f"The column {column!r} has no rows, so there is nothing to align.")
    runs = {text: _find_run(hierarchy, text) for text in places}
    lost = [text for text, run in runs.items() if run is None]
    if lost:
        raise BadTable(
            f"The hierarchy of {hierarchy.name!r} does not know {len(lost)} of the labels in {column!r} "
            f"({shorten(lost, 4)}). Give the hierarchy that the release was made with."
        )
    ends = np.array([run for run in runs.values() if run is not None], dtype=np.int64)
    return MixedColumn(hierarchy, tuple(places), ends[:, 0], ends[:, 1], codes)


def _texts(frame: object, column: str) -> list[str]:
    """The cells of a column as text."""
    if isinstance(frame, Mapping):
        if column not in frame:
            raise BadTable(f"There is no column {column!r}. The columns are: {shorten(list(frame))}.")
        return [text_of(cell) for cell in frame[column]]
    import narwhals.stable.v2 as nw

    try:
        table = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]  # anything may be given
    except TypeError as error:
        raise BadTable(f"{type(frame).__name__} is no data frame. Give one, or a dict of columns.") from error
    if column not in table.columns:
        raise BadTable(f"There is no column {column!r}. The columns are: {shorten(list(table.columns))}.")
    return [text_of(cell) for cell in table[column].to_list()]


def _find_run(hierarchy: Hierarchy, label: str) -> tuple[int, int] | None:
    """The first and last leaf that a label stands for; None where the hierarchy does not know it."""
    tree = hierarchy.tree
    nodes = [place for place, name in enumerate(tree.labels) if name == label]
    if nodes:  # of nodes with one name the widest holds the others or is not told apart in a release either
        return min(int(tree.first[n]) for n in nodes), max(int(tree.last[n]) for n in nodes)
    ends: Sequence[str] = ()
    if hierarchy.dates and " to " in label:
        ends = label.split(" to ")
    elif "|" in label:
        ends = label.split("|")
    leaves = hierarchy.locate(list(ends) or [label])
    if (leaves >= 0).all():
        return int(leaves.min()), int(leaves.max())
    match = RANGE.fullmatch(label) or CELLS.fullmatch(label)
    if match is None or hierarchy.spans is None:
        return None
    low, high = float(match[1]), float(match[2])
    inside = np.flatnonzero((hierarchy.spans[:, 0] >= low) & (hierarchy.spans[:, 1] <= high))
    return (int(inside.min()), int(inside.max())) if len(inside) else None
