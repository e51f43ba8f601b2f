"""Two releases about the same people: the classes they make together may be smaller than either release's own.

An intruder who knows a person's quasi-identifiers finds the person's class in both releases. What both classes have in
common is what is left: few persons, or a single sensitive value (Ganta et al. 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kpareto.errors import BadInput, shorten
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import fold_spelling
from kpareto.tables.table import Counts

By = Literal["rows", "persons", "labels"]
CHUNK = 2**24  # cells of a block of pairs × values


@dataclass(frozen=True)
class Composition:
    """What two releases give away together."""

    by: By  # how people were matched: the same rows, the same person ids, or the labels both releases show them by
    k: int
    classes: int  # intersections of a class of one with a class of the other
    small_classes: int  # of these, with fewer than k
    small: int  # persons or rows in them
    alone: int  # persons or rows that are the only one in an intersection
    matched: int  # persons or rows that were matched
    column: str | None  # a sensitive column both releases have
    revealed: int  # persons or rows whose value is certain by both releases and by neither alone

    @property
    def found(self) -> bool:
        """Whether there is something to worry about."""
        return self.small > 0 or self.revealed > 0

    @property
    def unit(self) -> str:
        """What is counted."""
        return "persons" if self.by == "persons" else "rows"

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""
        if not self.matched:
            return "The two releases have no class in common, as far as this test can see."
        if not self.found:
            return f"Together with the earlier release, every class still has at least {self.k} {self.unit}."
        text = (
            f"Together with the earlier release {self.small:,} of {self.matched:,} {self.unit} are in classes of "
            f"fewer than {self.k} ({self.small_classes:,} classes), and {self.alone:,} are alone"
        )
        if self.column is not None:
            text += f"; the value of {self.column!r} of {self.revealed:,} is certain from both and from neither alone"
        more = " People were matched by labels only, so their classes may be smaller still."
        return f"{text}.{more if self.by == 'labels' else ''}"

    def to_dict(self) -> dict[str, object]:
        """The numbers of the composition test as plain data."""
        return {**vars(self), "unit": self.unit, "found": self.found, "meaning": self.meaning}


def composition(first: Partition, second: Partition, k: int) -> Composition:
    """The intersection test between a release and an earlier one.

    People are matched by person id where both tables have one, row by row where both releases come from the same
    table, else by labels: each row of the first is looked up in the class of the second that its values belong to.
    The last counts the rows of the first release only, so true intersections may be smaller still.
    """
    if k < 1:
        raise BadInput(f"k is {k!r}. Give a whole number of at least 1.")
    if first.table.persons is not None and second.table.persons is not None:
        by: By = "persons"
        who, one, two, weight = _by_persons(first, second)
    elif first.table is second.table:
        by = "rows"
        who, one, two, weight = _by_rows(first, second.members)
    else:
        by = "labels"
        who, one, two, weight = _by_rows(first, _locate(first, second))
    seen = first.visible[one] & (two >= 0)
    seen[seen] = second.visible[two[seen]]
    who, one, two, weight = who[seen], one[seen], two[seen], weight[seen]
    pairs, place = np.unique(one * (len(second.rows) + 1) + two, return_inverse=True)
    sizes = np.bincount(place, weights=weight, minlength=len(pairs)).astype(np.int64)
    column, known = _certain(first, second, pairs // (len(second.rows) + 1), pairs % (len(second.rows) + 1))
    return Composition(
        by,
        k,
        len(pairs),
        int((sizes < k).sum()),
        _people(who, weight, sizes[place] < k),
        _people(who, weight, sizes[place] == 1),
        _people(who, weight, np.ones(len(who), dtype=np.bool_)),
        column,
        _people(who, weight, known[place]),
    )


def _people(who: np.ndarray, weight: np.ndarray, chosen: np.ndarray) -> int:
    """How many people the chosen entries stand for, each counted once."""
    _, entry = np.unique(who[chosen], return_index=True)
    return int(weight[chosen][entry].sum())


def _by_rows(first: Partition, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return np.arange(first.table.distinct), first.members, second, first.table.weights


def _locate(first: Partition, second: Partition) -> np.ndarray:
    """The class of the second release that each distinct row of the first belongs to, -1 for none: (distinct,)."""
    lacking = [name for name in second.table.schema.quasi if name not in first.table.schema.quasi]
    if lacking:
        raise BadInput(
            f"The earlier release has the quasi-identifiers {shorten(lacking)}, which the other lacks, and no person "
            "id tells who is in both. Give both tables a person id, or compare releases of the same columns."
        )
    leaves = np.empty((first.table.distinct, len(second.table.schema.quasi)), dtype=np.int64)  # -1: no leaf there
    for place, hierarchy in enumerate(second.table.hierarchies):
        column = first.table.column(hierarchy.name)
        leaf = hierarchy.locate(first.table.hierarchies[column].leaves)
        leaves[:, place] = leaf[first.table.codes[:, column]]
    if second.recoding.boxes is not None:
        return _locate_boxes(leaves, second)
    cuts = [np.append(cut, -2) for cut in second.recoding.cuts]  # -2: no leaf, so no class
    groups = np.stack([cut[leaves[:, place]] for place, cut in enumerate(cuts)], axis=1)
    class_of = {tuple(key): number for number, key in enumerate(second.groups.tolist())}
    return np.array([class_of.get(tuple(key), -1) for key in groups.tolist()], dtype=np.int64)


def _locate_boxes(leaves: np.ndarray, second: Partition) -> np.ndarray:
    """The class of a local recoding whose labels hold each row, -1 for none; raise where labels of two hold one."""
    shown = np.flatnonzero(second.groups[:, 0] >= 0)
    runs = [second.recoding.runs(place) for place in range(leaves.shape[1])]
    begin = np.stack([runs[place][0][group] for place, group in enumerate(second.groups[shown].T)], axis=1)
    end = np.stack([runs[place][1][group] for place, group in enumerate(second.groups[shown].T)], axis=1)
    owner = np.empty(len(leaves), dtype=np.int64)
    width = max(CHUNK // (begin.size + 1), 1)
    for start in range(0, len(leaves), width):
        row = leaves[start : start + width, None, :]  # (block, 1, columns)
        fits = ((begin <= row) & (row <= end)).all(axis=2)  # (block, classes) bool
        times = fits.sum(axis=1)
        if (times > 1).any():
            raise BadInput(
                "Labels of the earlier release overlap, so it is not known in which of its classes a row is, and no "
                "person id tells who is in both. Compare with an earlier release whose labels do not overlap."
            )
        place = np.column_stack((fits, times == 0)).argmax(axis=1)  # the last one: no class
        owner[start : start + width] = np.append(shown, -1)[place]
    return owner


def _by_persons(first: Partition, second: Partition) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Person, class in the first and class in the second, for each pair of rows of a person in both."""
    one, two = first.table.persons, second.table.persons
    if one is None or two is None:
        raise BadInput("Both tables need a person id.")
    fold = fold_spelling if "fold" in (first.table.schema.spellings, second.table.schema.spellings) else str
    number = {fold(name): place for place, name in enumerate(one.values)}
    there = np.array([number.get(fold(name), -1) for name in two.values], dtype=np.int64)
    ours = _entries(first, one, np.arange(len(one.values)))
    theirs = _entries(second, two, there)
    begin = np.searchsorted(theirs[0], ours[0], side="left")
    end = np.searchsorted(theirs[0], ours[0], side="right")
    times = end - begin
    entry = np.repeat(np.arange(len(ours[0])), times)
    step = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    other = np.repeat(begin, times) + step
    return ours[0][entry], ours[1][entry], theirs[1][other], np.ones(len(entry), dtype=np.int64)


def _entries(release: Partition, persons: Counts, name: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Person and class, each pair once, by rising person; only visible rows of persons with a name."""
    person, owner = name[persons.code], release.members[persons.row]
    kept = (person >= 0) & release.visible[owner]
    pairs = np.unique(person[kept] * len(release.rows) + owner[kept])
    return pairs // len(release.rows), pairs % len(release.rows)


def _certain(first: Partition, second: Partition, one: np.ndarray, two: np.ndarray) -> tuple[str | None, np.ndarray]:
    """A sensitive column of both, and the pairs of classes that have one value in common and several each."""
    known = np.zeros(len(one), dtype=np.bool_)
    names = [counts.name for counts in second.table.sensitive]
    shared = [counts for counts in first.table.sensitive if counts.name in names]
    if not shared:
        return None, known
    for counts in shared:
        other = second.table.counts(counts.name, "sensitive")
        values = {value: place for place, value in enumerate(dict.fromkeys((*counts.values, *other.values)))}
        ours, theirs = _values(first, counts, values), _values(second, other, values)
        width = max(CHUNK // len(values), 1)
        for begin in range(0, len(one), width):
            part = slice(begin, begin + width)
            a, b = ours[one[part]], theirs[two[part]]
            known[part] |= ((a & b).sum(axis=1) == 1) & (a.sum(axis=1) > 1) & (b.sum(axis=1) > 1)
    return ", ".join(counts.name for counts in shared), known


def _values(release: Partition, counts: Counts, values: dict[str, int]) -> np.ndarray:
    """Which sensitive values each class has: (classes, values) bool."""
    merged = release.counts(counts)
    place = np.array([values[value] for value in counts.values], dtype=np.int64)
    present = np.zeros((len(release.rows), len(values)), dtype=np.bool_)
    present[merged.row, place[merged.code]] = True
    return present
