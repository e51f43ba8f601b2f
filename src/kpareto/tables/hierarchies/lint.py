"""Lint: what is odd about a hierarchy that is not wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kpareto.errors import shorten
from kpareto.tables.hierarchies import Values, from_rows, text_of
from kpareto.tables.hierarchies.values import texts_of
from kpareto.tables.hierarchy import STAR, Hierarchy, runs_of

Kind = Literal[
    "no-top",
    "useless-level",
    "idle-level",
    "phantom-leaves",
    "lost-values",
    "single-child",
    "unbalanced-level",
    "label-twice",
]
SHARE = 0.9  # a group with more than this share of a level's leaves or rows makes the level unbalanced


@dataclass(frozen=True)
class Finding:
    """One remark about a hierarchy: of which kind, on which level, and a sentence that says what to do."""

    kind: Kind
    level: int | None
    text: str


def lint(source: Hierarchy | Sequence[Sequence[object]], values: Values | None = None, name: str = "") -> list[Finding]:
    """What is odd about a hierarchy, or about rows of labels that may become one.

    Parameters
    ----------
    source : Hierarchy or sequence of sequence
        The hierarchy, or per value its labels from level 0 on. Rows without a top level are a finding here, where
        ``load`` refuses them.
    values : iterable or mapping of str to int, optional
        The column's values, or each value with its number of rows; without them only the hierarchy itself is looked at.
    name : str, optional
        The column, where rows of labels are given.

    Returns
    -------
    list of Finding
        Each with its ``kind``, ``level`` and ``text``; none where nothing is odd.

    Raises
    ------
    BadInput
        If the rows do not nest.

    Examples
    --------
    >>> import kpareto as kp
    >>> [finding.kind for finding in kp.lint([["cat", "mammal"], ["dog", "mammal"], ["carp", "fish"]], name="pet")]
    ['no-top', 'single-child']
    """
    findings: list[Finding] = []
    if not isinstance(source, Hierarchy):
        rows = [list(row) for row in source]
        tops = {text_of(row[-1]) for row in rows if row}
        if len(tops) > 1:
            findings.append(_no_top(name, sorted(tops)))
            rows = [[*row, STAR] for row in rows]
        source = from_rows(name, rows)
    findings.extend(_useless_levels(source))
    findings.extend(_single_children(source))
    findings.extend(_labels_twice(source))
    if values is None:
        findings.extend(_find_unbalanced(source, np.ones(len(source.leaves)), "values"))
    else:
        texts = texts_of(source.name, values)
        leaf = source.locate(texts)
        findings.extend(
            _lost_values(source, [text for text, leaf_of in zip(texts, leaf.tolist(), strict=True) if leaf_of < 0])
        )
        counts = np.array(list(values.values())) if isinstance(values, Mapping) else np.ones(len(texts))
        rows_of_leaf = np.bincount(leaf[leaf >= 0], weights=counts[leaf >= 0], minlength=len(source.leaves))
        findings.extend(_phantoms(source, rows_of_leaf > 0))
        findings.extend(_idle_levels(source, rows_of_leaf > 0))
        findings.extend(_find_unbalanced(source, rows_of_leaf, "rows" if isinstance(values, Mapping) else "values"))
    return findings


def _no_top(name: str, tops: Sequence[str]) -> Finding:
    return Finding(
        "no-top",
        None,
        f"The last level of {name!r} has {len(tops)} groups ({shorten(tops, 4)}): the top is not reached. "
        f"Add a last level with one group, such as {STAR!r}.",
    )


def _useless_levels(hierarchy: Hierarchy) -> Iterator[Finding]:
    for level in range(1, hierarchy.height + 1):
        if (hierarchy.groups[level] == hierarchy.groups[level - 1]).all():
            yield Finding(
                "useless-level",
                level,
                f"Level {level} of {hierarchy.name!r} merges nothing: its groups are those of level {level - 1}. "
                "Remove it; every search then has fewer nodes to look at.",
            )


def _single_children(hierarchy: Hierarchy) -> Iterator[Finding]:
    lonely: list[str] = []
    lowest = None
    for level in range(1, hierarchy.height):
        below, here = hierarchy.groups[level - 1], hierarchy.groups[level]
        first_below = np.flatnonzero(np.diff(below, prepend=-1))
        alone = np.flatnonzero(np.bincount(here[first_below]) == 1)
        if 0 < len(alone) <= here[-1]:  # where all are alone the level is useless, which is said elsewhere
            lowest = lowest or level
            lonely.extend(f"{hierarchy.labels[level][group]!r} on level {level}" for group in alone.tolist())
    if lonely:
        yield Finding(
            "single-child",
            lowest,
            f"Groups of {hierarchy.name!r} that hold only one group of the level below: {shorten(lonely, 4)}. "
            "Join each with a neighbour, or accept that this step does not protect them further.",
        )


def _labels_twice(hierarchy: Hierarchy) -> Iterator[Finding]:
    seen: dict[str, tuple[int, tuple[int, int]]] = {}
    reported: set[str] = set()
    for level, labels in enumerate(hierarchy.labels):
        for label, run in zip(labels, runs_of(hierarchy.groups[level]), strict=True):
            other_level, other = seen.setdefault(label, (level, run))
            if other != run and label not in reported:
                reported.add(label)
                where = f"twice on level {level}" if other_level == level else f"on levels {other_level} and {level}"
                yield Finding(
                    "label-twice",
                    level,
                    f"The label {label!r} of {hierarchy.name!r} stands for different groups {where}: one with "
                    f"{hierarchy.leaves[other[0]]!r} to {hierarchy.leaves[other[1]]!r}, one with "
                    f"{hierarchy.leaves[run[0]]!r} to {hierarchy.leaves[run[1]]!r}. Rename one, so that readers of a "
                    "release can tell them apart.",
                )


def _lost_values(hierarchy: Hierarchy, lost: Sequence[str]) -> Iterator[Finding]:
    if lost:
        yield Finding(
            "lost-values",
            None,
            f"The hierarchy of {hierarchy.name!r} has no place for {len(lost):,} of the values: "
            f"{shorten([repr(text) for text in lost], 5)}. Add them.",
        )


def _phantoms(hierarchy: Hierarchy, present: np.ndarray) -> Iterator[Finding]:
    absent = np.flatnonzero(~present).tolist()
    if absent:
        names = [repr(hierarchy.leaves[leaf]) for leaf in absent]
        yield Finding(
            "phantom-leaves",
            0,
            f"{len(absent):,} of {len(hierarchy.leaves):,} values of the hierarchy of {hierarchy.name!r} occur in no "
            f"row: {shorten(names, 5)}. Remove them, or keep domain = 'observed', so that they do not make losses "
            "look smaller.",
        )


def _idle_levels(hierarchy: Hierarchy, present: np.ndarray) -> Iterator[Finding]:
    shown = hierarchy.groups[:, present]
    if not shown.shape[1]:
        return
    counts = [len(np.unique(groups)) for groups in shown]
    for level in range(1, hierarchy.height + 1):
        same = bool((hierarchy.groups[level] == hierarchy.groups[level - 1]).all())
        if counts[level] == counts[level - 1] and not same:
            yield Finding(
                "idle-level",
                level,
                f"Level {level} of {hierarchy.name!r} merges only values that occur in no row: the rows show "
                f"{counts[level]} groups on levels {level - 1} and {level}. Remove it for this table.",
            )


def _find_unbalanced(hierarchy: Hierarchy, weights: np.ndarray, unit: str) -> Iterator[Finding]:
    total = float(weights.sum())
    for level in range(1, hierarchy.height):
        share = np.bincount(hierarchy.groups[level], weights=weights) / max(total, 1.0)
        largest = int(np.argmax(share))
        if len(share) > 2 and share[largest] > SHARE:
            yield Finding(
                "unbalanced-level",
                level,
                f"On level {level} of {hierarchy.name!r} the group {hierarchy.labels[level][largest]!r} has "
                f"{share[largest]:.0%} of the {unit}, the other {len(share) - 1} groups have the rest. "
                "Split the large group or join the small ones.",
            )
