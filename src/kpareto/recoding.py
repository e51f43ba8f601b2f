"""Recoding: one cut per quasi-identifier. A lattice node is a recoding by whole levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kpareto.errors import BadInput, shorten
from kpareto.hierarchy import Hierarchy, runs_of


@dataclass(frozen=True, eq=False)
class Recoding:
    """One cut per column; ``levels`` is given when every cut is a whole level."""

    hierarchies: tuple[Hierarchy, ...]
    cuts: tuple[np.ndarray, ...]  # per column (leaves,) int32, group of each leaf, rising in leaf order
    levels: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.cuts) != len(self.hierarchies):
            raise BadInput(
                f"A recoding needs one cut per column: {len(self.hierarchies)} columns, {len(self.cuts)} cuts."
            )
        for hierarchy, cut in zip(self.hierarchies, self.cuts, strict=True):
            step = np.diff(cut)
            if cut.shape != (len(hierarchy.leaves),) or cut[0] != 0 or ((step != 0) & (step != 1)).any():
                raise BadInput(
                    f"The cut of {hierarchy.name!r} must give each of its {len(hierarchy.leaves)} leaves a group "
                    "0, 1, 2, … that rises by at most one from leaf to leaf."
                )

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The label of each group, per column."""
        if self.levels is not None:
            return tuple(h.labels[level] for h, level in zip(self.hierarchies, self.levels, strict=True))
        return tuple(
            tuple(h.group_label(first, last) for first, last in runs_of(cut))
            for h, cut in zip(self.hierarchies, self.cuts, strict=True)
        )

    def describe(self) -> dict[str, int | list[list[str]]]:
        """Per column the level, or the first and last leaf of each group (CONTRACT: levels, cuts).

        Levels are those of the declared hierarchy, also where the rows came in coarser.
        """
        if self.levels is not None:
            return {h.name: h.first + level for h, level in zip(self.hierarchies, self.levels, strict=True)}
        return {
            h.name: [[h.leaves[first], h.leaves[last]] for first, last in runs_of(cut)]
            for h, cut in zip(self.hierarchies, self.cuts, strict=True)
        }


def node(hierarchies: Sequence[Hierarchy], levels: Sequence[int] | Mapping[str, int]) -> Recoding:
    """The recoding that shows every column at the given level."""
    if isinstance(levels, Mapping):
        unknown = [name for name in levels if name not in {h.name for h in hierarchies}]
        if unknown:
            raise BadInput(f"No column {unknown[0]!r} to recode. There are: {shorten([h.name for h in hierarchies])}.")
        levels = [levels.get(h.name, 0) for h in hierarchies]
    if len(levels) != len(hierarchies):
        raise BadInput(f"A node needs one level per column: {len(hierarchies)} columns, {len(levels)} levels.")
    for hierarchy, level in zip(hierarchies, levels, strict=True):
        if not 0 <= level <= hierarchy.height:
            raise BadInput(f"Column {hierarchy.name!r} has no level {level}. Its levels are 0 to {hierarchy.height}.")
    whole = tuple(int(level) for level in levels)
    return Recoding(tuple(hierarchies), tuple(h.groups[v] for h, v in zip(hierarchies, whole, strict=True)), whole)


def top(hierarchies: Sequence[Hierarchy]) -> Recoding:
    """Everything generalized to one group."""
    return node(hierarchies, [h.height for h in hierarchies])


def bottom(hierarchies: Sequence[Hierarchy]) -> Recoding:
    """Nothing generalized."""
    return node(hierarchies, [0 for _ in hierarchies])
