"""Attacks on our own release, run before it is handed out: what an intruder could conclude, in numbers.

Each test takes a partition, that is a release candidate, and answers with numbers and one sentence of meaning
(docs/risk.md). A test that finds nothing does not prove that nothing can be found.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadInput, BadJob
from kpareto.kernels.local.neighbours import count_fits, count_overlaps
from kpareto.measures import make
from kpareto.measures.measure import Measure, Model
from kpareto.measures.measure import meets as reaches
from kpareto.measures.persons import count_units
from kpareto.releases.risk.composition import Composition, composition
from kpareto.releases.risk.definetti import DeFinetti, de_finetti
from kpareto.tables.boxes import LabelBoxes
from kpareto.tables.hierarchy import MISSING, STAR, Hierarchy, bits_cut, runs_of
from kpareto.tables.partition import Partition, Suppression, classes, partition
from kpareto.tables.recoding import Recoding, local, node
from kpareto.tables.spelling import are, several
from kpareto.tables.table import Counts

LIKELY = 0.8  # a value with this share of a class is as good as known
EXAMPLES = 10  # worst classes named

Limits = Mapping[str, float]  # as in a job: {"k": 5, "l": 2}


@dataclass(frozen=True)
class HomogeneousClass:
    """A class in which one sensitive value is (almost) certain."""

    labels: tuple[str, ...]
    rows: int
    value: str
    share: float


@dataclass(frozen=True)
class Homogeneity:
    """Classes that give a sensitive value away: who finds a person in one knows the value (almost) for sure."""

    column: str
    share: float
    classes: int  # with one value at least at that share
    rows: int  # in these classes
    certain_classes: int  # with one value only
    certain_rows: int
    all_rows: int
    examples: tuple[HomogeneousClass, ...]  # the worst; confidential
    unit: str = "row"  # what is counted: persons where they are told apart

    @property
    def found(self) -> bool:
        """Whether there is something to worry about."""
        return self.classes > 0

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""
        if not self.found:
            return f"No class gives {self.column!r} away: no value has {self.share:.0%} of its class."
        where = "one class" if self.classes == 1 else f"one of {self.classes:,} classes"
        certain = f"for {several(self.certain_rows, self.unit)} in {several(self.certain_classes, 'class', 'classes')}"
        return (
            f"Whoever finds a person in {where} ({self.rows:,} of {several(self.all_rows, self.unit)}) "
            f"knows {self.column!r} with at least {self.share:.0%} certainty; "
            f"{certain if self.certain_classes else 'in no class'} it is certain."
        )

    def to_dict(self) -> dict[str, object]:
        """The numbers of the homogeneity test as plain data."""
        examples = [{**vars(each), "labels": list(each.labels)} for each in self.examples]
        return {**vars(self), "examples": examples, "found": self.found, "meaning": self.meaning}


def homogeneity(release: Partition, column: str | None = None, share: float = LIKELY) -> Homogeneity:
    """Visible classes where one sensitive value has at least this share (Machanavajjhala et al. 2006)."""
    if not 0 < share <= 1:
        raise BadJob(f"The share is {share!r}. Give a number above 0 and at most 1, such as 0.8.")
    units, some = count_units(release, release.table.counts(column, "sensitive").without(MISSING))
    counts, sizes = units.counts, release.sizes
    top, most = np.zeros(len(some), dtype=np.int64), np.full(len(some), -1)
    if some.any():
        top[some] = np.maximum.reduceat(counts.count, counts.start[:-1])
        most[some] = [_most(counts, place) for place in range(int(some.sum()))]
    part = top / np.maximum(sizes, 1)
    likely = release.visible & (part >= share - 1e-12)
    certain = likely & (top == sizes)
    worst = sorted(np.flatnonzero(likely).tolist(), key=lambda c: (-part[c], -release.rows[c], c))[:EXAMPLES]
    return Homogeneity(
        counts.name,
        share,
        int(likely.sum()),
        int(sizes[likely].sum()),
        int(certain.sum()),
        int(sizes[certain].sum()),
        int(sizes[release.visible].sum()),
        tuple(
            HomogeneousClass(class_labels(release, c), int(sizes[c]), counts.values[most[c]], float(part[c]))
            for c in worst
        ),
        "row" if release.table.persons is None else "person",
    )


def classes_have(classes: int, rows: int, unit: str = "row") -> str:
    """So many classes, of so many rows or persons, with their verb."""
    if not classes:
        return "no class has"
    many = f"{several(classes, 'class', 'classes')} with {several(rows, unit)}"
    return f"{many} {'has' if classes == 1 else 'have'}"


def _most(counts: Counts, place: int) -> int:
    """The code of the most frequent value of a class."""
    entries = slice(int(counts.start[place]), int(counts.start[place + 1]))
    return int(counts.code[entries][np.argmax(counts.count[entries])])


def class_labels(release: Partition, place: int, written: Mapping[str, Sequence[str]] | None = None) -> tuple[str, ...]:
    """What the rows of a class show, some columns as they are written; stars where the rows are masked."""
    columns = zip(release.recoding.hierarchies, release.recoding.labels, strict=True)
    labels = [(written or {}).get(hierarchy.name, shown) for hierarchy, shown in columns]
    return tuple(STAR if g < 0 else labels[c][g] for c, g in enumerate(release.groups[place].tolist()))


def list_lowered(recoding: Recoding) -> Iterator[tuple[str, Recoding]]:
    """Every recoding that shows one column one step finer: a level lower, or each group as its parts."""
    if recoding.boxes is not None:
        for column, hierarchy in enumerate(recoding.hierarchies):
            finer_boxes = _divide_boxes(recoding.boxes, column)
            if finer_boxes is not None:
                yield hierarchy.name, local(finer_boxes)
        return
    for column, hierarchy in enumerate(recoding.hierarchies):
        cut = recoding.cuts[column]
        if recoding.levels is not None:
            level = recoding.levels[column]
            while level > 0 and (hierarchy.groups[level] == cut).all():
                level -= 1
            if (hierarchy.groups[level] != cut).any():
                levels = [*recoding.levels[:column], level, *recoding.levels[column + 1 :]]
                yield hierarchy.name, node(recoding.hierarchies, levels)
            continue
        finer = _children(hierarchy, cut)
        if (finer != cut).any():
            cuts = (*recoding.cuts[:column], finer, *recoding.cuts[column + 1 :])
            yield hierarchy.name, Recoding(recoding.hierarchies, cuts)


def _divide_boxes(boxes: LabelBoxes, column: int) -> LabelBoxes | None:
    """Every class divided by what its rows show one step finer in a column; None where all show leaves already."""
    hierarchy, kept = boxes.items.hierarchies[column], boxes.members >= 0
    first, last = boxes.runs[column]
    starts, owner = [], []
    for label, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        place = hierarchy.tree.runs.get((low, high))
        children = () if place is None else hierarchy.tree.children[place]
        firsts = (
            [int(hierarchy.tree.first[child]) for child in children]
            if place is not None
            else list(range(low, high + 1))
        )
        starts += firsts or [low]
        owner += [label] * max(len(firsts), 1)
    if len(starts) == len(first):
        return None
    begin, of_label, width = np.array(starts), np.array(owner), len(hierarchy.leaves)
    end = np.where(np.append(np.diff(of_label) == 0, False), np.append(begin[1:], 0) - 1, last[of_label])
    classes_of = boxes.members[kept]
    label = boxes.groups[classes_of, column].astype(np.int64)
    part = np.searchsorted(of_label * width + begin, label * width + boxes.items.codes[kept, column], side="right") - 1
    pairs, place_of = np.unique(classes_of * len(begin) + part, return_inverse=True)
    members = np.full(len(kept), -1, dtype=np.int64)
    members[kept] = place_of
    low_of, high_of = boxes.first[pairs // len(begin)].copy(), boxes.last[pairs // len(begin)].copy()
    low_of[:, column], high_of[:, column] = begin[pairs % len(begin)], end[pairs % len(begin)]
    return LabelBoxes(boxes.items, members, low_of, high_of)


def _children(hierarchy: Hierarchy, cut: np.ndarray) -> np.ndarray:
    """The cut with each group replaced by its children in the tree, or by its leaves if it is no node of it."""
    bits = np.zeros(len(cut), dtype=np.int64)
    for first, last in runs_of(cut):
        place = hierarchy.tree.runs.get((first, last))
        if place is None:
            bits[first : last + 1] = 1
        else:
            bits[[first, *(int(hierarchy.tree.first[child]) for child in hierarchy.tree.children[place])]] = 1
    return bits_cut(bits[1:])


def _measures(limits: Limits) -> dict[str, tuple[Measure, float]]:
    return {name: (make(name), float(limit)) for name, limit in limits.items()}


def meets(release: Partition, limits: Limits) -> bool:
    """Whether a release keeps all limits and the limit on suppressed rows."""
    if not release.feasible or release.empty:
        return False
    return all(reaches(measure.better, measure(release), limit) for measure, limit in _measures(limits).values())


def _parents(release: Partition, finer: Partition) -> np.ndarray:
    """The class of the release each finer class lies in: (finer classes,) int64."""
    parent = np.empty(len(finer.rows), dtype=np.int64)
    parent[finer.members] = release.members
    return parent


def _any(flags: np.ndarray, parent: np.ndarray, count: int) -> np.ndarray:
    """Whether any part of each class is flagged: (count,) bool."""
    return np.bincount(parent[flags], minlength=count) > 0


@dataclass(frozen=True)
class Minimality:
    """Classes generalized for their sensitive values alone: that they were is itself a message about these values."""

    limits: Mapping[str, float]
    applies: bool  # there is a limit on sensitive values
    classes: int
    rows: int
    all_rows: int
    columns: tuple[str, ...]  # which could be a step finer in the whole release but for the sensitive values
    missing_classes: int = 0  # large enough for k, and left out for their sensitive values
    missing_rows: int = 0

    @property
    def found(self) -> bool:
        """Whether there is something to worry about."""
        return self.classes > 0 or self.missing_classes > 0

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""
        if not self.applies:
            return "No limit on sensitive values shaped the release, so its shape says nothing about them."
        if not self.found:
            return "No class was generalized or left out for its sensitive values alone."
        missing = ""
        if self.missing_classes:
            their = "its" if self.missing_classes == 1 else "their"
            missing = (
                f"{several(self.missing_classes, 'class', 'classes')} of {several(self.missing_rows, 'row')} "
                f"{are(self.missing_classes)} large enough for k and left out because of {their} sensitive values: an "
                "intruder who knows the method and somebody of such a class concludes that its values are too alike."
            )
        if not self.classes:
            return missing
        whole = f" In the whole release this holds for {', '.join(self.columns)}." if self.columns else ""
        verb, their, them = ("is", "its", "it") if self.classes == 1 else ("are", "their", "them")
        return (
            f"{several(self.classes, 'class', 'classes')} ({self.rows:,} of {several(self.all_rows, 'row')}) {verb} "
            f"large enough to be a step finer and {verb} not because of {their} sensitive values: an intruder who "
            "knows the method and the quasi-identifiers can conclude that such values are frequent in parts of "
            f"{them}.{whole}{' ' * bool(missing)}{missing}"
        )

    def to_dict(self) -> dict[str, object]:
        """The numbers of the minimality test as plain data."""
        return {
            **vars(self),
            "limits": dict(self.limits),
            "columns": list(self.columns),
            "found": self.found,
            "meaning": self.meaning,
        }


def minimality(release: Partition, limits: Limits, suppression: Suppression | None = None) -> Minimality:
    """Classes that would keep k one step finer and break a limit on sensitive values there (Wong et al. 2007).

    A class that is large enough for k and was left out has broken one as it is: that it is missing tells so.
    """
    k = float(limits.get("k", 1))
    models = [(m, limit) for name, (m, limit) in _measures(limits).items() if name != "k" and isinstance(m, Model)]
    count, kept = len(release.rows), release.visible & ~release.suppressed
    exposed = np.zeros(count, dtype=np.bool_)
    columns = []
    for name, recoding in list_lowered(release.recoding) if models else ():
        finer = classes(release.table, recoding)
        parent = _parents(release, finer)
        failing = np.logical_or.reduce([model.fails(limit)(finer) for model, limit in models])
        exposed |= kept & ~_any(finer.sizes < k, parent, count) & _any(failing, parent, count)
        if recoding.boxes is not None:
            continue  # its classes are divided one by one
        candidate = partition(release.table, recoding, suppression)
        if meets(candidate, {"k": k}) and not meets(candidate, limits):
            columns.append(name)
    rows = int(release.rows[exposed].sum())
    everybody = int(release.rows[release.visible].sum())
    whole, gone = find_missing(release, k)
    if models and gone.any():
        gone &= np.logical_or.reduce([model.fails(limit)(whole) for model, limit in models])
    missing = (int(gone.sum()), int(whole.rows[gone].sum())) if models else (0, 0)
    return Minimality(dict(limits), bool(models), int(exposed.sum()), rows, everybody, tuple(columns), *missing)


def find_missing(release: Partition, k: float) -> tuple[Partition, np.ndarray]:
    """The classes as they were before any was suppressed, and which of them are missing though large enough for k.

    What a local recoding puts into no class is none: nobody can tell what it would have looked like.
    """
    whole = classes(release.table, release.recoding)
    gone = np.zeros(len(whole.rows), dtype=np.bool_)
    gone[whole.members] = release.suppressed[release.members]
    return whole, gone & ~whole.suppressed & (whole.sizes >= k)


@dataclass(frozen=True)
class Downcoding:
    """How much an intruder learns from knowing that the release is as fine as its limits allow."""

    minimal: bool  # it keeps the limits, and no column can be shown a step finer within them
    hierarchical: bool  # groups come from hierarchies that an intruder may know
    finer: tuple[str, ...]  # columns that could be a step finer
    rows: int  # generalized rows whose class, alone, could not be shown a step finer in some column
    small_rows: int  # of these, rows in classes too small to be two classes
    all_rows: int

    @property
    def excluded_rows(self) -> int:
        """Rows of which an intruder can exclude alternatives: none where the release is not minimal."""
        return self.rows if self.minimal and self.hierarchical else 0

    @property
    def found(self) -> bool:
        """Whether there is something to worry about."""
        return self.excluded_rows > 0

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""
        if not self.minimal and not self.finer:
            return "The release does not keep its limits, so its form follows no rule that an intruder could use."
        if not self.minimal:
            return (
                f"The release is not minimal ({', '.join(self.finer)} could be a step finer), so an intruder cannot "
                "conclude from its form what the hidden values are not."
            )
        if not self.found:
            return "The release is minimal, but hides no value behind a group: there is nothing to recover."
        return (
            "The release is minimal and hierarchical: knowing that, an intruder can exclude for "
            f"{self.excluded_rows:,} of {self.all_rows:,} rows that all rows of the class share one finer value "
            f"(downcoding, Cohen 2022); {self.small_rows:,} of them are in classes too small to be split in two."
        )

    def to_dict(self) -> dict[str, object]:
        """The numbers of the downcoding test as plain data."""
        more = {"excluded_rows": self.excluded_rows, "found": self.found, "meaning": self.meaning}
        return {**vars(self), "finer": list(self.finer), **more}


def _least_rows(limits: Limits, release: Partition, otherwise: int = 1) -> int:
    """The k that the limits ask for; one that no table has, or that says nothing, is as good as one more or one."""
    return math.ceil(min(max(limits.get("k", otherwise), 1), release.table.rows + 1))


def downcoding(release: Partition, limits: Limits, suppression: Suppression | None = None) -> Downcoding:
    """Whether the release is minimal, and the rows for which minimality excludes alternatives (Cohen 2022).

    A class counts when one of its columns is generalized and showing it a step finer, in this class alone, would
    leave a part with fewer than k: then an intruder knows that its rows do not all share one finer value.
    """
    k = _least_rows(limits, release)
    count, kept = len(release.rows), release.visible & ~release.suppressed
    stuck = np.zeros(count, dtype=np.bool_)
    models = [(m, limit) for name, (m, limit) in _measures(limits).items() if name != "k" and isinstance(m, Model)]
    finer = []
    for name, recoding in list_lowered(release.recoding):
        alternative = classes(release.table, recoding)
        parent = _parents(release, alternative)
        stuck |= kept & _any(alternative.sizes < k, parent, count)
        if recoding.boxes is not None:  # each class has labels of its own, so one that could be finer is enough
            failing = alternative.sizes < k
            for model, limit in models:
                failing |= model.fails(limit)(alternative)
            divided = np.bincount(parent, minlength=count) > 1
            could = bool((kept & divided & ~_any(failing, parent, count)).any())
        else:
            could = meets(partition(release.table, recoding, suppression), limits)
        if could:
            finer.append(name)
    small = stuck & (release.sizes < 2 * k)
    return Downcoding(
        not finer and meets(release, limits),
        _is_hierarchical(release.recoding),
        tuple(finer),
        int(release.rows[stuck].sum()),
        int(release.rows[small].sum()),
        int(release.rows[release.visible].sum()),
    )


def _is_hierarchical(recoding: Recoding) -> bool:
    if recoding.levels is not None:
        return True
    if recoding.boxes is not None:
        runs = zip(recoding.hierarchies, recoding.boxes.runs, strict=True)
        return all(run in h.tree.runs for h, (first, last) in runs for run in zip(first.tolist(), last.tolist()))  # noqa: B905 (of one length)
    return all(h.is_tree_cut(cut) for h, cut in zip(recoding.hierarchies, recoding.cuts, strict=True))


@dataclass(frozen=True)
class AttackReport:
    """Every attack test on one release candidate."""

    homogeneity: tuple[Homogeneity, ...]  # one per sensitive column
    minimality: Minimality
    downcoding: Downcoding
    de_finetti: tuple[DeFinetti, ...]  # one per sensitive column
    composition: tuple[Composition, ...]  # one per earlier release
    overlaps: Overlaps | None = None  # of the labels of a local recoding

    def sentences(self) -> list[str]:
        """What each test means, in order."""
        first = [*(test.meaning for test in self.homogeneity), self.minimality.meaning, self.downcoding.meaning]
        first += [] if self.overlaps is None else [self.overlaps.meaning]
        return [*first, *(test.meaning for test in self.de_finetti), *(test.meaning for test in self.composition)]

    def to_dict(self) -> dict[str, object]:
        """All tests as plain data, by name."""
        return {
            "homogeneity": [test.to_dict() for test in self.homogeneity],
            "minimality": self.minimality.to_dict(),
            "downcoding": self.downcoding.to_dict(),
            "de_finetti": [test.to_dict() for test in self.de_finetti],
            "composition": [test.to_dict() for test in self.composition],
            **({} if self.overlaps is None else {"overlaps": self.overlaps.to_dict()}),
        }


def attack(
    release: Partition, limits: Limits, suppression: Suppression | None = None, earlier: Sequence[Partition] = ()
) -> AttackReport:
    """Run every attack test on a release candidate that was made by these limits and this suppression.

    It is joined with earlier releases of the same persons, if there are any.
    """
    k = int(release.sizes[release.visible].min()) if not release.empty else 1
    names = () if release.empty else tuple(counts.name for counts in release.table.sensitive)
    return AttackReport(
        tuple(homogeneity(release, name) for name in names),
        minimality(release, limits, suppression),
        downcoding(release, limits, suppression),
        tuple(de_finetti(release, name) for name in names),
        tuple(composition(release, other, _least_rows(limits, release, k)) for other in earlier),
        None if release.recoding.boxes is None else overlaps(release),
    )


# -- what local recoding opens -----------------------------------------------------------------------------------------
#
# A global recoding puts every row into the one class that its values lead to. Labels of a local recoding may overlap,
# and a row that fits several classes is in one of them, for reasons that an intruder may guess: who assumes that a row
# is shown as finely as it could be concludes that the rows of a coarse class do not fit any finer class whose labels
# lie within its own (combinatorial refinement). The test counts for how many rows that conclusion rules out a part of
# what their labels allow, and for how many of these it is right.


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

    def to_dict(self) -> dict[str, object]:
        """The numbers of the test as plain data."""
        more = {"disjoint": self.disjoint, "found": self.found, "meaning": self.meaning}
        return {**vars(self), **more}


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
