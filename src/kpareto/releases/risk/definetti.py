"""The deFinetti attack: a classifier learns from the classes themselves which sensitive value belongs to whom.

Random worlds assume that a class says nothing about its neighbours. It does: smokers are more frequent in classes with
more cancer, so within a class the smoker is the likelier patient (Kifer 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadInput
from kpareto.measures.persons import count_units
from kpareto.tables.partition import Partition
from kpareto.tables.table import Counts

GAIN = 0.02  # a classifier that much better than a class's majority has learned something
CHUNK = 2**21  # cells of a block of rows × values
MOST_VALUES = 32  # sensitive values told apart by the classifier; the rarest are taken together


@dataclass(frozen=True)
class DeFinetti:
    """How well a classifier trained on the release itself guesses the sensitive values of persons in it."""

    column: str
    accuracy: float  # share of rows, or persons, guessed right by quasi-identifiers and class
    in_class: float  # share guessed right by the most frequent value of the class
    rows: int  # or persons, where they are told apart
    rounds: int
    unit: str = "row"

    @property
    def gain(self) -> float:
        """How much better than by the class alone."""
        return self.accuracy - self.in_class

    @property
    def found(self) -> bool:
        """Whether there is something to worry about."""
        return self.gain >= GAIN

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""
        base = (
            f"A classifier trained on the release guesses {self.column!r} right for {self.accuracy:.1%} of "
            f"{self.rows:,} {self.unit}s, where the most frequent value of each class is right for {self.in_class:.1%}"
        )
        if self.found:
            return (
                f"{base}: how values go together across classes gives "
                f"{round(self.gain * self.rows):,} more {self.unit}s away than the classes do (Kifer 2009)."
            )
        return f"{base}: the classes are as good a guess."

    def to_dict(self) -> dict[str, object]:
        """The numbers of the deFinetti test as plain data."""
        return {**vars(self), "gain": self.gain, "found": self.found, "meaning": self.meaning}


def de_finetti(release: Partition, column: str | None = None, rounds: int = 5) -> DeFinetti:
    """A naive Bayes classifier of each person's value within the class (after Kifer, SIGMOD 2009).

    The intruder knows everybody's quasi-identifiers and sees how often each value occurs in each class. P(value |
    person) is proportional to the value's share of the class times Π P(leaf | group, value) over the quasi-identifiers;
    the class already tells the group. These are fitted by expectation maximization, starting from the shares alone.
    The best round counts, for an intruder may stop there. Of more than 32 values the rarest are taken together; for
    whom these are likeliest, the most frequent value of the class is guessed, since "one of the others" is no guess.
    """
    every = release.table.counts(column, "sensitive")
    counts = pool_rare(every)
    if release.empty:
        raise BadInput("Every row is suppressed: there is no release to attack.")
    common = _most_common(release, every)
    units = _units(release, every)
    alone = units.right(common)
    likelihoods = [np.zeros((len(h.leaves), len(counts.values))) for h in release.table.hierarchies]
    likelihoods, _ = _fit(release, counts, likelihoods)
    pooled = len(counts.values) < len(every.values)
    named = np.append(
        _rank_values(every) if pooled else np.arange(len(every.values)), -1
    )  # the last is for suppressed rows
    right = []
    for _ in range(rounds):
        likelihoods, guess = _fit(release, counts, likelihoods)
        # "One of the others" is no guess: there the most frequent value of the class stands.
        other = (guess == len(counts.values) - 1) & pooled
        right.append(units.right(np.where(other, common, named[guess])))
    best = max(right, default=alone)
    return DeFinetti(counts.name, best / units.all, alone / units.all, units.all, rounds, units.name)


@dataclass(frozen=True, eq=False)
class _Units:
    """Who can be guessed right: rows, or persons, who count in equal parts for each distinct row they have."""

    name: str
    row: np.ndarray  # (entries,) int64, distinct visible rows
    code: np.ndarray  # (entries,) int64, the value there
    weight: np.ndarray  # (entries,) rows, or shares of persons
    all: int

    def right(self, guess: np.ndarray) -> float:
        """How many are guessed right by a value for every distinct row; a person by any of their values there."""
        return float(self.weight[self.code == guess[self.row]].sum())


def _units(release: Partition, every: Counts) -> _Units:
    seen = release.visible[release.members]
    if every.held is None:
        kept = seen[every.row]
        rows = int(release.rows[release.visible].sum())
        return _Units("row", every.row[kept], every.code[kept].astype(np.int64), every.count[kept], rows)
    kept = seen[every.held.row]
    row, person, code = (part[kept] for part in (every.held.row, every.held.person, every.held.code))
    first = np.append(True, (np.diff(row) != 0) | (np.diff(person) != 0))[: len(row)]
    people, places = np.unique(person, return_inverse=True)
    parts = np.bincount(places[first], minlength=len(people))
    return _Units("person", row, code, 1 / parts[places], max(len(people), 1))


def _most_common(release: Partition, every: Counts) -> np.ndarray:
    """The most frequent value of the class of each distinct row, by rows or by persons: (distinct,) int64."""
    units, some = count_units(release, every)
    counts = units.counts
    order = np.lexsort((counts.code, -counts.count, counts.row))
    classes, first = np.unique(counts.row[order], return_index=True)
    values = np.zeros(len(release.rows), dtype=np.int64)
    values[np.flatnonzero(some)[classes]] = counts.code[order[first]]
    return np.asarray(values[release.members])


def _fit(release: Partition, own: Counts, likelihoods: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """One round: log P(leaf | group, value) per column from those before, and the values that those guess.

    The guesses are codes of ``own`` for every distinct row, -1 for suppressed ones.
    """
    codes, weights = release.table.codes, release.table.weights
    sums = [np.zeros_like(each) for each in likelihoods]
    guess = np.full(len(codes), -1, dtype=np.int64)
    for rows, shares in _blocks(release, own):
        chance = _posterior(shares, likelihoods, codes[rows])
        guess[rows] = chance.argmax(axis=1)
        chance *= weights[rows, None]
        for place, total in enumerate(sums):
            leaf = codes[rows, place]
            for value in range(len(own.values)):
                total[:, value] += np.bincount(leaf, weights=chance[:, value], minlength=len(total))
    return [_within_groups(total, cut) for total, cut in zip(sums, release.recoding.cuts, strict=True)], guess


def _within_groups(total: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """Log of each leaf's smoothed share of its group, for each value: (leaves, values) float64."""
    starts = np.flatnonzero(np.diff(cut, prepend=-1))
    smooth = total + 1 / len(total)
    return np.log(smooth / np.add.reduceat(smooth, starts, axis=0)[cut])


def pool_rare(counts: Counts) -> Counts:
    """The counts with the rarest values taken together, so that at most ``MOST_VALUES`` are left."""
    if len(counts.values) <= MOST_VALUES:
        return counts
    order = _rank_values(counts)
    code = np.minimum(np.argsort(order, kind="stable"), MOST_VALUES - 1).astype(np.int32)
    by_rank = np.array(counts.values, dtype=object)[order]
    names = (*by_rank[: MOST_VALUES - 1].tolist(), "(other values)")
    key = counts.row * MOST_VALUES + code[counts.code]
    distinct, inverse = np.unique(key, return_inverse=True)
    count = np.bincount(inverse, weights=counts.count).astype(np.int64)
    start = np.searchsorted(distinct, np.arange(len(counts.start)) * MOST_VALUES)
    return Counts(counts.name, names, start.astype(np.int64), (distinct % MOST_VALUES).astype(np.int32), count)


def _rank_values(counts: Counts) -> np.ndarray:
    """The codes of the values, the most frequent first: (values,) int64."""
    return np.argsort(-counts.totals, kind="stable")


def _blocks(release: Partition, own: Counts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Distinct visible rows, class by class, with the share of each value in their class: (rows, values) float64."""
    counts = release.counts(own)
    seen = np.flatnonzero(release.visible[release.members])
    seen = seen[np.argsort(release.members[seen], kind="stable")]
    width = max(CHUNK // len(own.values), 1)
    for begin in range(0, len(seen), width):
        rows = seen[begin : begin + width]
        classes, place = np.unique(release.members[rows], return_inverse=True)
        shares = np.zeros((len(classes), len(own.values)))
        entries = np.flatnonzero(np.isin(counts.row, classes))
        shares[np.searchsorted(classes, counts.row[entries]), counts.code[entries]] = counts.count[entries]
        yield rows, (shares / release.rows[classes, None])[place]


def _posterior(shares: np.ndarray, likelihoods: list[np.ndarray], codes: np.ndarray) -> np.ndarray:
    logs = np.full(shares.shape, -np.inf)
    np.log(shares, out=logs, where=shares > 0)
    for place, each in enumerate(likelihoods):
        logs += each[codes[:, place]]
    logs -= logs.max(axis=1, keepdims=True)
    chance = np.exp(logs)
    return chance / chance.sum(axis=1, keepdims=True)
