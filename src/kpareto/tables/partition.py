"""The equivalence classes a recoding makes, and which of them are suppressed (readings.md#suppression)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from kpareto.errors import BadJob, Remedy
from kpareto.tables.boxes import LabelBoxes
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import Counts, Table, merge_counts, number_rows

Rule = Literal["none", "below-k", "cap-max-k", "as-needed"]
RULES: tuple[Rule, ...] = ("none", "below-k", "cap-max-k", "as-needed")
# Names of earlier versions, in jobs and stored recodings; each was a part of what as-needed is.
EARLIER: dict[str, Rule] = {"cap-threshold": "as-needed", "constraint": "as-needed"}
UNLIMITED = 1 - 1e-12  # a share, which is below 1: as many rows may be suppressed as the classes ask for
STEP = 0.01  # of the grid on which thresholds of t, alpha and other numbers on a scale lie
# A class-wise privacy rule: the partition without suppression -> which classes fail, (classes,) bool.
Fails = Callable[["Partition"], np.ndarray]


class Graded(Protocol):
    """A privacy model that has a number for each class (``measures.Model``)."""

    @property
    def better(self) -> Literal["lower", "higher"]:
        """Which direction is better."""

    @property
    def by_class(self) -> Callable[[Partition], np.ndarray]:
        """Partition -> (classes,) float64."""


@dataclass(frozen=True)
class Suppression:
    """Which classes are suppressed, how many rows that may cost, and what becomes of those rows.

    Under the rule as-needed a recoding has one partition for every combination of thresholds that the limit on rows
    admits: the classes that fail, those below k', and those worse than a threshold of each graded model are suppressed,
    and no other. A ``Problem`` fills in what its objectives and limits ask for where nothing is said here.

    Parameters
    ----------
    rule : {'as-needed', 'none', 'below-k', 'cap-max-k'}, optional
        Which classes are suppressed.
    limit : float or int, optional
        The most rows: a float is a share of them, from 0 to below 1; an int is a number of rows.
    k : int, optional
        For below-k.
    rows : {'drop', 'mask'}, optional
        What becomes of suppressed rows.
    fails : tuple of callable, optional
        as-needed: a class that fails any of them is suppressed under every threshold.
    by_size : bool, optional
        as-needed: whether thresholds of k are taken; None: as the objectives say, or yes.
    graded : tuple of Graded, optional
        as-needed: what thresholds are taken of besides.
    step : float, optional
        Of the grid on which those lie; 0: every value that a class has.
    thresholds : tuple of (str, float), optional
        as-needed, settled: by which measure and number classes fail.

    Raises
    ------
    BadInput
        If the rule is not known, or a number is out of its range.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.Suppression(limit=0.01).allowed(2_000)
    20
    >>> kp.Suppression("below-k", limit=100, k=5, rows="mask").allowed(2_000)
    100
    """

    rule: Rule = "as-needed"
    limit: float = 0.0
    k: int | None = None
    rows: Literal["drop", "mask"] = "drop"
    fails: tuple[Fails, ...] = ()
    by_size: bool | None = None
    graded: tuple[Graded, ...] = ()
    step: float = STEP
    thresholds: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", EARLIER.get(self.rule, self.rule))
        if self.rule not in RULES:
            raise BadJob(f"Suppression rule {self.rule!r} is not known. Take one of: {', '.join(RULES)}.")
        object.__setattr__(self, "limit", read_limit(self.limit))
        if self.rule == "below-k" and (self.k is None or self.k < 1):
            raise BadJob(f"The rule below-k needs k of at least 1, and k is {self.k!r}.")
        if self.rows not in ("drop", "mask"):
            raise BadJob(f"Suppressed rows can be dropped or masked, not {self.rows!r}. Write 'drop' or 'mask'.")
        if isinstance(self.step, bool) or not 0 <= self.step <= 1:
            raise BadJob(
                f"The step of thresholds is {self.step!r}. Give a number from 0 (every value) to 1, such as {STEP}."
            )

    @property
    def missed(self) -> str:
        """What a suppressed class misses, such as ``k = 11 or l = 2``; empty where no thresholds are settled."""
        return " or ".join(f"{name} = {value:g}" for name, value in self.thresholds)

    def allowed(self, rows: int) -> int:
        """The most rows that may be suppressed (η in the papers)."""
        return allowed_rows(self.limit, rows)


def read_limit(value: object, where: str = "The suppression limit") -> float:
    """A limit on suppressed rows as a Python number: a float is a share, an int counts rows.

    What could be read both ways is refused: 1.0 could be one row or all of them, 5.0 five rows or five percent.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return int(value)
    if isinstance(value, float | np.floating) and 0 <= value < 1:
        return float(value)
    forms = "a share of the rows such as 0.01 (below 1), or a whole number of rows such as 10"
    if not isinstance(value, float | np.floating) or not 1 <= value < float("inf"):
        remedy = Remedy("give-rows", f"Give a number without quotes: {forms}.")
        raise BadJob(f"is {value!r}.", where=where, remedy=remedy)
    number = float(value)
    if number == 1:
        sentence = f"is 1.0, which could mean one row or all rows. For one row write 1; else give {forms}."
        raise BadJob(sentence, where=where)
    rows = f"{number:.0f}" if number.is_integer() else f"{number // 1:.0f} or {number // 1 + 1:.0f}"
    raise BadJob(
        f"is {number!r}, which could mean rows or percent. For rows write {rows}, without a point; for {number:g} "
        f"percent write {number / 100:g}.",
        where=where,
    )


def allowed_rows(limit: float, rows: int) -> int:
    """The most of these rows that a limit allows to be suppressed; a share is rounded down."""
    return limit if isinstance(limit, int) else int(rows * limit + 1e-9)


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Rows alike on all quasi-identifiers, class by class, in lexicographic order of their groups.

    With masked rows there is one more class, the last, that holds them: suppressed (its cells are lost) yet visible.

    Attributes
    ----------
    table : Table
        The rows before they are recoded.
    recoding : Recoding
        The cut of each column.
    members : numpy.ndarray
        (distinct,) int64, the class of each distinct row.
    groups : numpy.ndarray
        (classes, quasi) int32, group of each column; -1 in the class of masked rows.
    rows : numpy.ndarray
        (classes,) int64, none zero.
    sizes : numpy.ndarray
        (classes,) int64, persons where the table tells persons apart, else rows.
    suppressed : numpy.ndarray
        (classes,) bool, the cells of these rows are lost.
    visible : numpy.ndarray
        (classes,) bool, an onlooker sees these rows.
    feasible : bool
        The limit on suppressed rows is met.
    rule : {'none', 'below-k', 'cap-max-k', 'as-needed'}
        By which classes were suppressed.
    note : str
        What had to be done otherwise than asked, in a sentence.

    Examples
    --------
    >>> import kpareto as kp
    >>> classes = kp.front(kp.adult_table(), suppression=0.01).choose(k=5).partition
    >>> int(classes.sizes[classes.visible].min())
    5
    """

    table: Table
    recoding: Recoding
    members: np.ndarray
    groups: np.ndarray
    rows: np.ndarray
    sizes: np.ndarray
    suppressed: np.ndarray
    visible: np.ndarray
    feasible: bool = True
    rule: Rule = "none"
    note: str = ""

    def __repr__(self) -> str:
        """Never the values themselves: a notebook prints this."""
        return f"Partition({self.classes:,} classes, {self.suppressed_rows:,} rows suppressed)"

    @property
    def suppressed_rows(self) -> int:
        """Rows whose quasi-identifiers are lost."""
        return int(self.rows[self.suppressed].sum())

    @property
    def empty(self) -> bool:
        """Whether every row is suppressed and none is visible; then k is infinite."""
        return not bool(self.visible.any())

    @property
    def classes(self) -> int:
        """Classes that keep their cells."""
        return int((~self.suppressed).sum())

    @property
    def by_rows(self) -> Partition:
        """The same classes with persons not told apart."""
        plain = tuple(replace(counts, held=None) for counts in self.table.sensitive)
        return replace(self, table=replace(self.table, persons=None, sensitive=plain), sizes=self.rows)

    def counts(self, counts: Counts) -> Counts:
        """The counts of a sensitive, target or person column per class instead of per distinct row."""
        return merge_counts(counts, self.members, len(self.rows))


def classes(table: Table, recoding: Recoding) -> Partition:
    """The equivalence classes of a recoding, nothing suppressed but what a local recoding leaves out itself."""
    if recoding.boxes is not None:
        return _local_classes(recoding, recoding.boxes)
    groups = np.zeros(table.codes.shape, dtype=table.codes.dtype, order="F")  # columns are read one by one
    for column, cut in enumerate(recoding.cuts):
        if cut.any():  # else all leaves are one group
            groups[:, column] = cut[table.codes[:, column]]
    members, first = number_rows(groups)
    return _count(table, recoding, members, np.ascontiguousarray(groups[first]))


def _local_classes(recoding: Recoding, boxes: LabelBoxes) -> Partition:
    """The classes of boxes, over the items; what no box holds is one more class, the last, which is not seen."""
    rest = boxes.members < 0
    if not rest.any():
        return _count(boxes.items, recoding, boxes.members, boxes.groups)
    nothing = np.full((1, boxes.groups.shape[1]), -1, dtype=np.int32)
    members = np.where(rest, len(boxes.groups), boxes.members)
    whole = _count(boxes.items, recoding, members, np.concatenate((boxes.groups, nothing)))
    left_out = whole.groups[:, 0] < 0
    return replace(whole, suppressed=left_out, visible=~left_out)


def _count(table: Table, recoding: Recoding, members: np.ndarray, groups: np.ndarray) -> Partition:
    count = len(groups)
    rows = np.bincount(members, weights=table.weights, minlength=count).astype(np.int64)
    sizes = rows
    if table.persons is not None:
        sizes = np.diff(merge_counts(table.persons, members, count).start)
    none = np.zeros(count, dtype=np.bool_)
    return Partition(table, recoding, members, groups, rows, sizes, none, ~none)


def thresholds(sizes: np.ndarray, rows: np.ndarray, allowed: int) -> list[int]:
    """Every class size z such that suppressing all smaller classes costs at most ``allowed`` rows, rising.

    The last one is k of the rule cap-max-k. When everything may be suppressed the list still ends at the largest
    size; the caller adds the empty release.
    """
    cutoffs, lost = [], 0
    for size in np.unique(sizes).tolist():
        if lost > allowed:
            break
        cutoffs.append(int(size))
        lost += int(rows[sizes == size].sum())
    return cutoffs


def partitions(table: Table, recoding: Recoding, suppression: Suppression) -> Iterator[Partition]:
    """The partitions a suppression rule makes of a recoding: one, or several for as-needed, the least strict first."""
    whole = classes(table, recoding)
    allowed = suppression.allowed(table.rows)
    rule = suppression.rule
    if recoding.boxes is not None:
        yield _suppress_local(whole, suppression, allowed)
    elif rule == "none":
        yield replace(whole, rule=rule)
    elif rule == "below-k":
        failing = whole.sizes < (suppression.k or 1)
        # The rule knows no limit of its own; where one is given all the same, it is kept.
        within = not suppression.limit or int(whole.rows[failing].sum()) <= allowed
        yield suppress(whole, failing, suppression, feasible=within)
    elif rule == "cap-max-k":
        if table.rows <= allowed:  # everything may be suppressed: k is infinite, the release empty
            yield suppress(whole, np.ones(len(whole.rows), dtype=np.bool_), suppression, feasible=True)
        else:
            k = thresholds(whole.sizes, whole.rows, allowed)[-1]
            yield suppress(whole, whole.sizes < k, suppression, feasible=True)
    else:
        yield from _as_needed(whole, suppression, allowed)


def _as_needed(whole: Partition, suppression: Suppression, allowed: int) -> Iterator[Partition]:
    """One partition for every combination of thresholds that costs no more rows than are allowed.

    Thresholds that no visible class meets exactly are left out: stricter ones suppress the same classes.
    """
    failing = fail_any(whole, suppression.fails)
    if int(whole.rows[failing].sum()) > allowed:
        yield suppress(whole, failing, suppression, feasible=False)
        return
    ranks = [rank_numbers(limit, limit.by_class(whole), suppression.step) for limit in suppression.graded]
    cutoffs = [np.unique(rank[~failing])[::-1].tolist() for rank in ranks]
    for combination in itertools.product(*cutoffs):
        away = failing.copy()
        for rank, cutoff in zip(ranks, combination, strict=True):
            away |= rank > cutoff
        sizes = np.unique(whole.sizes[~away]).tolist() if suppression.by_size is not False else [0]
        for size in sizes:
            hidden = away | (whole.sizes < size)
            if int(whole.rows[hidden].sum()) > allowed:
                break
            worst = tuple(float(rank[~hidden].max(initial=-np.inf)) for rank in ranks)
            if worst == combination:
                yield suppress(whole, hidden, suppression, feasible=True)
    if whole.table.rows <= allowed and (suppression.by_size is not False or ranks):
        yield suppress(whole, np.ones(len(whole.rows), dtype=np.bool_), suppression, feasible=True)


def fail_any(whole: Partition, fails: tuple[Fails, ...]) -> np.ndarray:
    """Which classes fail at least one rule: (classes,) bool."""
    failing = np.zeros(len(whole.rows), dtype=np.bool_)
    for fail in fails:
        failing |= fail(whole)
    return failing


def rank_numbers(model: Graded, numbers: np.ndarray, step: float) -> np.ndarray:
    """Numbers of classes as steps of the grid, rounded to the safe side: higher is worse, a hair of slack.

    The kernels have a twin of it, ``kernels.needed.rank_number``.
    """
    worse = np.asarray(-numbers if model.better == "higher" else numbers, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(worse), np.ceil(worse / step - 1e-10), worse) if step > 0 else worse


def _suppress_local(whole: Partition, suppression: Suppression, allowed: int) -> Partition:
    """The partition of boxes: what the recoding leaves out goes, and where classes are judged, those that fail."""
    failing = whole.suppressed.copy()
    failing |= fail_any(whole, suppression.fails) & whole.visible
    if suppression.rule == "none" or not failing.any():
        return replace(whole, rule=suppression.rule)
    plain = replace(whole, suppressed=np.zeros_like(failing), visible=np.ones_like(failing))
    free = suppression.rule == "below-k" and not suppression.limit
    within = free or int(whole.rows[failing].sum()) <= allowed
    return suppress(plain, failing, suppression, feasible=within)


def partition(table: Table, recoding: Recoding, suppression: Suppression | None = None) -> Partition:
    """The one partition of a recoding (for as-needed: the one that suppresses least)."""
    if suppression is None:
        return classes(table, recoding)
    return next(partitions(table, recoding, suppression))


def suppress(whole: Partition, failing: np.ndarray, suppression: Suppression, feasible: bool) -> Partition:
    """The partition with the failing classes dropped, or masked where that is safe."""
    dropped = replace(whole, suppressed=failing, visible=~failing, feasible=feasible, rule=suppression.rule)
    if suppression.rows == "drop" or not failing.any():
        return dropped
    masked = _mask(whole, failing, feasible, suppression.rule)
    # The masked rows are a class that everybody can see: it must be as large as the others (readings.md#masked-rows),
    # and under the rule as-needed it must pass what the others pass.
    size = int(masked.sizes[-1])
    least = int(whole.sizes[~failing].min()) if (~failing).any() else size + 1
    if suppression.rule == "below-k":
        least = suppression.k or 1
    passes = size >= least or suppression.by_size is False
    if suppression.rule == "as-needed":
        passes &= not any(bool(fails(masked)[-1]) for fails in suppression.fails)
        for limit in suppression.graded:
            ranks = rank_numbers(limit, limit.by_class(masked), suppression.step)
            passes &= bool(ranks[-1] <= ranks[:-1].max(initial=-np.inf))
    if passes:
        return masked
    return replace(
        dropped,
        note=f"{dropped.suppressed_rows:,} suppressed rows were dropped, not masked: "
        f"as a class of {size} they would not meet the limits.",
    )


def _mask(whole: Partition, failing: np.ndarray, feasible: bool, rule: Rule) -> Partition:
    kept = np.cumsum(~failing) - 1
    last = int((~failing).sum())
    members = np.where(failing, last, kept)[whole.members]
    stars = np.full((1, whole.groups.shape[1]), -1, dtype=whole.groups.dtype)
    groups = np.concatenate((whole.groups[~failing], stars))
    merged = _count(whole.table, whole.recoding, members, groups)
    suppressed = np.zeros(last + 1, dtype=np.bool_)
    suppressed[last] = True
    return replace(merged, suppressed=suppressed, visible=np.ones_like(suppressed), feasible=feasible, rule=rule)
