"""The columns of a report: hierarchies with the chosen cut, loss per column, the code book of the release."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.faces.report.discretion import Discretion
from kpareto.faces.report.report import Code, ColumnPart, LevelBand
from kpareto.measures.cells import cell_loss
from kpareto.releases.choice import hierarchy_digest
from kpareto.tables.hierarchy import STAR, Hierarchy, runs_of
from kpareto.tables.partition import Partition
from kpareto.tables.recoding import AS_IT_IS, HIDDEN, Recoding, rule_words
from kpareto.tables.spelling import percent

LISTED = 48  # values of a label that are named one by one
WORDS = tuple(map(re.compile, (r"[\w.:]+", r"[\w.:-]+", r"[^,;]*[^,;\s]")))  # what may be a value inside a label
DRAWN = 160  # groups of a level that can still be told apart in a drawing
LAYERS = 8  # bands of labels that overlap, above which they are not drawn
LABELS = "labels"  # such a band's name


def column_parts(
    partition: Partition, discretion: Discretion, written: Mapping[str, Sequence[str]] | None = None
) -> tuple[ColumnPart, ...]:
    """One part per quasi-identifier; ``written`` are the labels of the released file, where there is one."""
    labels = [
        (written or {}).get(h.name, labels_of)
        for h, labels_of in zip(partition.recoding.hierarchies, partition.recoding.labels, strict=True)
    ]
    return tuple(
        _column(partition, column, discretion, tuple(labels[column]))
        for column in range(len(partition.recoding.hierarchies))
    )


def _column(partition: Partition, column: int, discretion: Discretion, labels: tuple[str, ...]) -> ColumnPart:
    table, recoding = partition.table, partition.recoding
    hierarchy, (first, last) = recoding.hierarchies[column], recoding.runs(column)
    numerators, denominator = cell_loss(table, column, first, last)
    kept = ~partition.suppressed
    kept_rows = np.bincount(partition.groups[kept, column], weights=partition.rows[kept], minlength=len(numerators))
    lost = partition.suppressed_rows
    total = float(kept_rows @ numerators) / denominator
    rows_left = table.rows - lost
    names = _Names(hierarchy, _count_released(partition, column), table.persons is None, discretion)
    level = None if recoding.levels is None else recoding.levels[column]
    kept_whole = bool((first == last).all()) and hierarchy.coarse is None  # coarser ones were groups when they came in
    codes = _codes(partition, column, kept_rows.astype(np.int64), names, labels)
    used, by_class = np.flatnonzero(kept_rows), recoding.boxes is not None
    if by_class:
        bands = _label_bands(first[used], last[used], names, [labels[group] for group in used])
    else:
        draw = _bands if discretion.confidential else _public_bands
        bands = draw(recoding.cuts[column], level, names, labels)
    return ColumnPart(
        hierarchy.name,
        None if level is None else level + hierarchy.first,
        hierarchy.height + hierarchy.first,
        len(hierarchy.leaves) if discretion.confidential else None,
        len(used),
        kept_whole,
        {labels[group] for group in used} == {STAR},
        None if discretion.hides(lost) else (total + lost) / table.rows,
        total / rows_left if rows_left else 1.0,
        bands,
        codes,
        names.withheld or len([band for band in bands if band.name != LABELS]) <= hierarchy.height,
        hierarchy.data_dependent,
        hierarchy_digest(hierarchy),
        by_class,
        _say_shown(recoding, column, kept_whole, codes),
    )


def _say_shown(recoding: Recoding, column: int, kept: bool, codes: Sequence[Code]) -> str:
    """What the released rows show of a column, in words; how many labels others would have shown is not told."""
    hierarchy, seen = recoding.hierarchies[column], [code for code in codes if code.rows]
    if kept:
        return AS_IT_IS
    if len(seen) <= 1:
        return HIDDEN if {code.label for code in seen} <= {STAR} else f"the same for every row: {seen[0].label!r}"
    if recoding.levels is not None:
        level = recoding.levels[column]
        return rule_words(hierarchy, hierarchy.first + level) or f"in {len(seen):,} groups"
    rows = sum(code.rows for code in seen)
    exact = sum(code.rows for code in seen if code.leaves == 1 and code.first in (None, code.label))
    hidden = sum(code.rows for code in seen if code.label == STAR)
    if recoding.boxes is None and not exact + hidden:
        return f"in {len(seen):,} groups"
    shares = ((AS_IT_IS, exact), ("coarser", rows - exact - hidden), (HIDDEN, hidden))
    return ", ".join(f"{words} in {percent(count / rows)}" for words, count in shares if count) + " of the rows"


def _count_released(partition: Partition, column: int) -> np.ndarray:
    """Released rows with each leaf: (leaves,) int64."""
    table, kept = partition.table, ~partition.suppressed[partition.members]
    count = len(table.hierarchies[column].leaves)
    counts = np.bincount(table.codes[kept, column], weights=table.weights[kept], minlength=count)
    return counts.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Names:
    """Which values of a column may be named.

    Leaves may have been read from the rows, and a declared list cannot be told from one that was. So a value is named
    in public only where k released rows have it, and none where k rows may be one person or where labels are made of
    the rows.
    """

    hierarchy: Hierarchy
    rows: np.ndarray  # (leaves,) int64, released rows with each leaf
    alone: bool  # each row is a person of its own
    discretion: Discretion

    @property
    def never(self) -> bool:
        """Whether nothing but the labels of the release may be named."""
        return not self.discretion.confidential and (not self.alone or self.hierarchy.data_dependent)

    @property
    def withheld(self) -> bool:
        """Whether some value is not named."""
        return not all(self.may_name(leaf) for leaf in range(len(self.rows)))

    def may_name(self, leaf: int) -> bool:
        """Whether a value may be named."""
        return self.discretion.confidential or (not self.never and int(self.rows[leaf]) >= self.discretion.least)

    def ends(self, first: int, last: int) -> tuple[str | None, str | None]:
        """The first and last value of a group; in public of those that released rows have, both or none."""
        if not self.discretion.confidential:
            there = first + np.flatnonzero(self.rows[first : last + 1])
            if not there.size or not (self.may_name(int(there[0])) and self.may_name(int(there[-1]))):
                return None, None
            first, last = int(there[0]), int(there[-1])
        return self.hierarchy.leaves[first], self.hierarchy.leaves[last]

    def list_values(self, first: int, last: int) -> tuple[str, ...]:
        """The values by name; none where they are a range, many, or not all to be named."""
        if self.hierarchy.spans is not None or self.hierarchy.ordered or last - first >= LISTED or first == last:
            return ()
        there = [at for at in range(first, last + 1) if self.discretion.confidential or self.rows[at]]
        known = tuple(self.hierarchy.leaves[at] for at in there if self.may_name(at))
        return known if len(known) == len(there) and not all(map(_is_number, known)) else ()

    def draws(self, groups: np.ndarray, labels: tuple[str, ...]) -> bool:
        """Whether the public may see a level that the release does not show."""
        if self.never:
            return False
        sums = np.bincount(groups, weights=self.rows)
        shown = [labels[group] for group in np.flatnonzero(sums)]
        return bool((sums[sums > 0] >= self.discretion.least).all()) and not self._holds_rare(shown)

    def _holds_rare(self, labels: Sequence[str]) -> bool:
        """Whether a label has a rare value as a word of its own, as borders of a group may be."""
        rare = {value for leaf, value in enumerate(self.hierarchy.leaves) if not self.may_name(leaf)}
        words = {word.strip() for label in labels for shape in WORDS for word in shape.findall(label)}
        return not rare.isdisjoint({*labels, *words})


def _bands(cut: np.ndarray, level: int | None, names: _Names, labels: tuple[str, ...]) -> tuple[LevelBand, ...]:
    """The levels from the leaves up; a cut that is no level stands after them as a band of its own."""
    hierarchy = names.hierarchy
    slots = np.arange(len(hierarchy.leaves))
    bands = [
        _band(_level_name(at), groups, hierarchy.labels[at], at == level, slots)
        for at, groups in enumerate(hierarchy.groups)
    ]
    if level is None:
        bands.append(_band("chosen cut", cut, labels, True, slots))
    return tuple(bands)


def _public_bands(cut: np.ndarray, level: int | None, names: _Names, labels: tuple[str, ...]) -> tuple[LevelBand, ...]:
    """The labels of the release, and the levels whose every group k released rows have; boxes of equal width."""
    hierarchy = names.hierarchy
    if level is None:
        return (_band("chosen cut", cut, labels, True, _slots(cut, names.rows)),)
    drawn = [
        at for at, groups in enumerate(hierarchy.groups) if at == level or names.draws(groups, hierarchy.labels[at])
    ]
    slots = _slots(hierarchy.groups[drawn[0]], names.rows)
    return tuple(
        _band(
            _level_name(at), hierarchy.groups[at], labels if at == level else hierarchy.labels[at], at == level, slots
        )
        for at in drawn
    )


def _label_bands(first: np.ndarray, last: np.ndarray, names: _Names, labels: Sequence[str]) -> tuple[LevelBand, ...]:
    """The labels that classes show, of which some lie within others, in as many bands as do not overlap in themselves.

    In public a box is what lies between two neighbouring ends of labels, whether rows have its values or not.
    """
    layers: list[list[int]] = []
    for label in np.lexsort((-last, first)).tolist():
        free = next((layer for layer in layers if last[layer[-1]] < first[label]), None)
        if free is None:
            layers.append([label])
        else:
            free.append(label)
    levels: tuple[LevelBand, ...] = ()
    leaves = len(names.hierarchy.leaves)
    slots = np.arange(leaves)
    if names.discretion.confidential:
        groups, labels_at = names.hierarchy.groups, names.hierarchy.labels
        levels = tuple(_band(_level_name(at), cut, labels_at[at], False, slots) for at, cut in enumerate(groups))
    else:
        ends = np.unique(np.concatenate((first, last + 1)))
        slots = np.searchsorted(ends, slots, side="right") - 1
    if len(layers) > LAYERS:
        return (*levels, LevelBand(LABELS, len(labels), True, ()))
    drawn = []
    for layer in layers:
        runs = tuple((int(slots[first[label]]), int(slots[last[label]]), labels[label]) for label in layer)
        drawn.append(LevelBand(LABELS, len(runs), True, runs if len(runs) <= DRAWN else ()))
    return (*levels, *drawn)


def _slots(finest: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The box of each leaf in a drawing, one box per group that released rows have, -1 for other leaves: (leaves,)."""
    used = np.unique(finest[rows > 0])
    return np.where(rows > 0, np.searchsorted(used, finest), -1)


def _level_name(at: int) -> str:
    return "values" if at == 0 else f"level {at}"


def _band(name: str, cut: np.ndarray, labels: tuple[str, ...], chosen: bool, slots: np.ndarray) -> LevelBand:
    runs: list[tuple[int, int, str]] = []
    for (first, last), label in zip(runs_of(cut), labels, strict=True):
        boxes = slots[first : last + 1]
        boxes = boxes[boxes >= 0]
        if boxes.size:  # a group that only suppressed rows have is no part of the public report
            runs.append((int(boxes[0]), int(boxes[-1]), label))
    return LevelBand(name, len(runs), chosen, tuple(runs) if len(runs) <= DRAWN else ())


def _codes(
    partition: Partition, column: int, kept_rows: np.ndarray, names: _Names, labels: tuple[str, ...]
) -> tuple[Code, ...]:
    recoding = partition.recoding
    full, lost = names.discretion.confidential, None
    if full and recoding.boxes is None:
        rows = np.bincount(recoding.cuts[column], weights=partition.table.leaf_rows[column], minlength=len(labels))
        lost = rows.astype(np.int64) - kept_rows
    codes = []
    for group, (first, last) in enumerate(np.stack(recoding.runs(column), axis=1).tolist()):
        if not kept_rows[group] and not full:
            continue  # a label that no released row shows is no part of the public code book
        itself = first == last and names.hierarchy.leaves[first] == labels[group]
        count = last - first + 1 if full or itself else None
        # How many rows of a label are suppressed could be had by subtraction from the other labels: not for the public.
        # Where labels differ from class to class, suppressed rows have none.
        gone = None if lost is None else int(lost[group])
        values = names.list_values(first, last)
        codes.append(Code(labels[group], *names.ends(first, last), count, values, int(kept_rows[group]), gone))
    return tuple(codes)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
