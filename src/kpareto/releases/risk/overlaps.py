"""What local recoding opens: labels of classes that overlap, and what can be concluded from that.

A global recoding puts every row into the one class that its values lead to. Labels of a local recoding may overlap, and
a row that fits several classes is in one of them, for reasons that an intruder may guess: who assumes that a row is
shown as finely as it could be concludes that the rows of a coarse class do not fit any finer class whose labels lie
within its own (combinatorial refinement). The test counts for how many rows that conclusion rules out a part of what
their labels allow, and for how many of these it is right.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadInput
from kpareto.kernels.local.neighbours import count_fits, count_overlaps
from kpareto.tables.partition import Partition


@dataclass(frozen=True)
class Overlaps:
    """How far the labels of a local recoding overlap, and how many rows an intruder can narrow down by it."""

    classes: int
    overlapping_classes: int  # with a cell in common with another class
    all_rows: int
    several_rows: int  # rows whose values fit the labels of more than one class
    holding_rows: int  # rows in classes whose labels hold those of another class
    narrowed_rows: int  # of these, rows that fit no such finer class: who rules those values out is right

    @property
    def found(self) -> bool:
        """Whether there is something to worry about."""
        return self.holding_rows > 0

    @property
    def disjoint(self) -> bool:
        """Whether no two classes have a cell in common."""
        return self.overlapping_classes == 0

    @property
    def meaning(self) -> str:
        """What it means, in a sentence or two."""
        if self.disjoint:
            return "No two classes have labels that overlap, so there is nothing to combine."
        text = (
            f"The labels of {self.overlapping_classes:,} of {self.classes:,} classes overlap with others, and "
            f"{self.several_rows:,} of {self.all_rows:,} rows fit more than one class."
        )
        if not self.found:
            return f"{text} No class lies within another, so nothing can be ruled out by it."
        return (
            f"{text} {self.holding_rows:,} rows are in classes whose labels hold those of a finer class: whoever "
            "assumes that every row is shown as finely as it could be rules the values of the finer class out, and is "
            f"right for {self.narrowed_rows:,} of them (combinatorial refinement)."
        )

    @property
    def advice(self) -> str:
        """What may be done about it."""
        if self.disjoint:
            return ""
        return " Ask for strict = true under [search] if labels must not overlap; it keeps less detail."

    @property
    def numbers(self) -> dict[str, int | float | str | None]:
        """What is counted, by name."""
        return dict(vars(self))

    def to_dict(self) -> dict[str, object]:
        """The numbers of the test as plain data."""
        more = {"disjoint": self.disjoint, "found": self.found, "meaning": self.meaning}
        return {**self.numbers, **more}


def overlaps(release: Partition) -> Overlaps:
    """The overlaps of what a release shows; of a global recoding there are none."""
    boxes = release.recoding.boxes
    if boxes is None:
        shown = release.visible & ~release.suppressed
        return Overlaps(int(shown.sum()), 0, int(release.rows[shown].sum()), 0, 0, 0)
    kept = (boxes.members >= 0) & ~release.suppressed[release.members]
    present, members = np.unique(boxes.members[kept], return_inverse=True)
    codes, weights = boxes.items.codes[kept], boxes.items.weights[kept]
    return count_overlapping(codes, weights, members, boxes.first[present], boxes.last[present])


def count_overlapping(
    codes: np.ndarray, weights: np.ndarray, members: np.ndarray, first: np.ndarray, last: np.ndarray
) -> Overlaps:
    """The overlaps of classes that show runs of leaves.

    codes: (items, columns) leaves; weights: (items,) rows; members: (items,) class, −1 suppressed;
    first, last: (classes, columns), the first and the last leaf of each label.
    """
    if first.shape != last.shape or codes.shape[1:] != first.shape[1:] or len(codes) != len(members):
        raise BadInput("The labels of the classes and the rows do not have the same columns. Give one run per column.")
    shown = members >= 0
    rows, owner = weights[shown].astype(np.int64), members[shown].astype(np.int64)
    low, high = np.ascontiguousarray(first, dtype=np.int32), np.ascontiguousarray(last, dtype=np.int32)
    order = np.lexsort((low + high).T[::-1])
    overlapping, holding = count_overlaps(low, high, order)
    fits, finer = _fit_everywhere(np.ascontiguousarray(codes[shown], dtype=np.int32), owner, low, high, order)
    inside = holding[owner]
    return Overlaps(
        len(low),
        int(overlapping.sum()),
        int(rows.sum()),
        int(rows[fits > 1].sum()),
        int(rows[inside].sum()),
        int(rows[inside & ~finer].sum()),
    )


def _fit_everywhere(codes: np.ndarray, owner: np.ndarray, *classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What ``count_fits`` counts, the rows divided over all cores."""
    threads = os.cpu_count() or 1
    parts = zip(np.array_split(codes, threads), np.array_split(owner, threads), strict=True)
    with ThreadPoolExecutor(threads) as pool:
        fits, finer = zip(*pool.map(lambda part: count_fits(*part, *classes), parts), strict=True)
    return np.concatenate(fits), np.concatenate(finer)
