"""Recoding: one cut per quasi-identifier. A lattice node is a recoding by whole levels; a local one has boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kpareto.errors import BadInput, shorten
from kpareto.tables.boxes import LabelBoxes
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.spelling import number_text

AS_IT_IS, HIDDEN = "as it is", "hidden"  # how a column is shown, in words


@dataclass(frozen=True, eq=False, repr=False)
class Recoding:
    """One cut per column.

    The groups of a column are the runs of its cut; where there are boxes, they are the labels that classes show, which
    may overlap, and the cut is only the finest one that holds each of them whole. So ask for ``runs``, not for the cut.

    Attributes
    ----------
    hierarchies : tuple of Hierarchy
        One per quasi-identifier.
    cuts : tuple of numpy.ndarray
        Per column (leaves,) int32, group of each leaf, rising in leaf order.
    levels : tuple of int or None
        The level of each column, where every cut is a whole level.
    boxes : LabelBoxes or None
        The labels of each class, where they differ by class.

    Examples
    --------
    >>> import kpareto as kp
    >>> recoding = kp.front(kp.adult_table(), suppression=0.01).choose(k=5).recoding
    >>> recoding.levels
    (5, 1, 2, 3, 0, 0, 3, 0)
    """

    hierarchies: tuple[Hierarchy, ...]
    cuts: tuple[np.ndarray, ...]
    levels: tuple[int, ...] | None = None
    boxes: LabelBoxes | None = None

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

    def __repr__(self) -> str:
        """How many groups each column has, none of them by name: a notebook prints this."""
        columns = ", ".join(f"{h.name} {len(self.runs(c)[0]):,}" for c, h in enumerate(self.hierarchies))
        return f"Recoding(groups: {columns})"

    def runs(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """The first and last leaf of each group of a column: (groups,) int64 each."""
        return run_ends(self.cuts[column]) if self.boxes is None else self.boxes.runs[column]

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The label of each group, per column."""
        if self.levels is not None:
            return tuple(h.labels[level] for h, level in zip(self.hierarchies, self.levels, strict=True))
        return tuple(
            tuple(h.group_label(first, last) for first, last in self.pairs(column))
            for column, h in enumerate(self.hierarchies)
        )

    def pairs(self, column: int) -> Iterator[tuple[int, int]]:
        """The first and the last leaf of each group of a column."""
        first, last = self.runs(column)
        return zip(first.tolist(), last.tolist(), strict=True)

    def describe(self) -> dict[str, int | list[list[str]]]:
        """Per column the level, or the first and last leaf of each group, as in a front's JSON.

        Levels are those of the declared hierarchy, also where the rows came in coarser.
        """
        if self.levels is not None:
            return {h.name: h.first + level for h, level in zip(self.hierarchies, self.levels, strict=True)}
        return {
            h.name: [[h.leaves[first], h.leaves[last]] for first, last in self.pairs(column)]
            for column, h in enumerate(self.hierarchies)
        }


def run_ends(cut: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and last leaf of each group of a cut: (groups,) int64 each."""
    borders = np.flatnonzero(np.diff(cut))
    return np.concatenate(([0], borders + 1)), np.concatenate((borders, [len(cut) - 1]))


def local(boxes: LabelBoxes) -> Recoding:
    """The recoding that shows every class by its own labels."""
    hierarchies = boxes.items.hierarchies
    return Recoding(hierarchies, tuple(boxes.common_cut(c) for c in range(len(hierarchies))), None, boxes)


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
    """Everything generalized as far as it may be: to one group, unless levels are left out."""
    return node(hierarchies, [h.top for h in hierarchies])


def bottom(hierarchies: Sequence[Hierarchy]) -> Recoding:
    """Nothing generalized."""
    return node(hierarchies, [0 for _ in hierarchies])


def level_words(hierarchy: Hierarchy, level: int) -> str:
    """A level of a hierarchy in words; its number is that of the lattice."""
    groups = len(hierarchy.labels[level])
    if level == 0 and hierarchy.coarse is None:
        return AS_IT_IS
    if groups == 1:
        return HIDDEN
    return rule_words(hierarchy, hierarchy.first + level) or f"in {groups:,} groups"


def rule_words(hierarchy: Hierarchy, level: int) -> str:
    """What the rule of a hierarchy says of a declared level; nothing where it was made otherwise."""
    declared = hierarchy.declared
    rule: Mapping[str, object] = declared.rule or {}
    for word in ("intervals", "prefix", "dates"):
        steps = rule.get(word)
        if isinstance(steps, list | tuple) and len(steps) == declared.height - 1 and 0 < level < declared.height:
            step = steps[level - 1]
            if word == "intervals":
                return f"in steps of {number_text(float(step))}"
            if word == "prefix":
                end = "last" if rule.get("stars") == "left" else "first"
                return f"{end} {step} characters" if step != 1 else f"{end} character"
            return f"by {step}"
    return ""


def column_words(recoding: Recoding, column: int) -> str:
    """How a recoding shows a column."""
    hierarchy = recoding.hierarchies[column]
    if recoding.levels is not None:
        return level_words(hierarchy, recoding.levels[column])
    groups = len(recoding.runs(column)[0])
    if recoding.boxes is not None:
        return HIDDEN if groups == 1 else f"{groups:,} labels, by class"
    if groups == len(hierarchy.leaves) and hierarchy.coarse is None:
        return AS_IT_IS
    return HIDDEN if groups == 1 else f"in {groups:,} groups"


def recoding_words(recoding: Recoding) -> str:
    """How a recoding shows each column: ``age in steps of 10, sex as it is, zip hidden``."""
    return ", ".join(f"{h.name} {column_words(recoding, column)}" for column, h in enumerate(recoding.hierarchies))
