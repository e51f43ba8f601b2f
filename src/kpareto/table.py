"""Table: the distinct rows as integer codes, with how many rows each stands for.

Everything between reading and releasing works on this small table. The codes of a column are leaves of its hierarchy;
a table that has just been read has flat hierarchies, and ``bind`` gives it better ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from kpareto.errors import BadHierarchy, BadTable, did_you_mean, shorten
from kpareto.hierarchy import Hierarchy
from kpareto.schema import Schema

Domain = Literal["observed", "declared"]


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each value of one more column (sensitive, target, person) occurs in each distinct row.

    Entries ``start[i] … start[i + 1]`` belong to distinct row i, with rising value codes.
    """

    name: str
    values: tuple[str, ...]  # dictionary; numbers in rising order, else text in rising order
    start: np.ndarray  # (distinct + 1,) int64
    code: np.ndarray  # (entries,) int32, into values
    count: np.ndarray  # (entries,) int64, rows, none zero
    numbers: np.ndarray | None = None  # (values,) float64 where every value is a number

    @cached_property
    def row(self) -> np.ndarray:
        """The distinct row of each entry: (entries,) int64."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def totals(self) -> np.ndarray:
        """Rows with each value in the whole table: (values,) int64."""
        return np.bincount(self.code, weights=self.count, minlength=len(self.values)).astype(np.int64)


@dataclass(frozen=True)
class Sample:
    """Rows that were drawn without replacement, by seed (SPEC IY-14)."""

    rows: int
    of: int  # rows that could have been drawn
    seed: int

    def words(self) -> str:
        """For a sentence: ``a sample of 200,000 of 10,000,000 rows``."""
        return f"a sample of {self.rows:,} of {self.of:,} rows"


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Distinct rows over the quasi-identifiers, weighted."""

    schema: Schema
    hierarchies: tuple[Hierarchy, ...]  # one per quasi-identifier
    codes: np.ndarray  # (distinct, quasi) int32, leaves; rows distinct and in lexicographic order
    weights: np.ndarray  # (distinct,) int64, rows, none zero
    sensitive: tuple[Counts, ...] = ()
    targets: tuple[Counts, ...] = ()
    persons: Counts | None = None
    dropped: int = 0  # rows left out for a missing value
    missing: str = "error"  # the policy that was used
    domain: Domain = "observed"  # which leaves the loss denominators count (SPEC A.0.2)
    # Column -> its values as the program that holds the rows has them (texts.Spelled): the way out joins by these.
    spelled: Mapping[str, Any] = field(default_factory=dict)
    digest: str | None = None  # SHA-256 of what was rolled up, where asking a database for it again would cost a scan
    # Per quasi-identifier, rows with each leaf: (leaves,) int64, where the codes name one leaf of each group only.
    leaf_counts: tuple[np.ndarray, ...] | None = None
    sample: Sample | None = None  # where not all rows of the source came in
    remarks: tuple[str, ...] = ()  # what a person should know of how the rows came in

    def __post_init__(self) -> None:
        if len(self.hierarchies) != len(self.schema.quasi) or self.codes.shape[1:] != (len(self.schema.quasi),):
            raise BadTable("A table needs one hierarchy and one column of codes per quasi-identifier.")
        if self.weights.shape[0] == 0:
            raise BadTable("The table has no rows. Give at least one row with all quasi-identifiers present.")

    def __repr__(self) -> str:
        """Never the values themselves: a notebook prints this."""
        return f"Table({self.rows:,} rows, {self.distinct:,} distinct, by {', '.join(self.schema.quasi)})"

    @cached_property
    def rows(self) -> int:
        """Rows the table stands for."""
        return int(self.weights.sum())

    @property
    def distinct(self) -> int:
        """Distinct combinations of the quasi-identifiers."""
        return int(self.codes.shape[0])

    @cached_property
    def observed(self) -> tuple[np.ndarray, ...]:
        """Per quasi-identifier, which leaves occur: (leaves,) bool each."""
        if self.leaf_counts is not None:
            return tuple(rows > 0 for rows in self.leaf_counts)
        masks = []
        for column, hierarchy in enumerate(self.hierarchies):
            mask = np.zeros(len(hierarchy.leaves), dtype=np.bool_)
            mask[self.codes[:, column]] = True
            masks.append(mask)
        return tuple(masks)

    @cached_property
    def leaf_rows(self) -> tuple[np.ndarray, ...]:
        """Per quasi-identifier, rows with each leaf: (leaves,) int64 each."""
        if self.leaf_counts is not None:
            return self.leaf_counts
        return tuple(
            np.bincount(self.codes[:, c], weights=self.weights, minlength=len(h.leaves)).astype(np.int64)
            for c, h in enumerate(self.hierarchies)
        )

    def column(self, name: str) -> int:
        """The position of a quasi-identifier."""
        if name not in self.schema.quasi:
            raise BadTable(
                f"No quasi-identifier {name!r}. {did_you_mean(name, self.schema.quasi)}"
                f"There are: {shorten(self.schema.quasi)}."
            )
        return self.schema.quasi.index(name)

    def counts(self, name: str | None, role: Literal["sensitive", "target"]) -> Counts:
        """The counts of a sensitive or target column; the only or first one when no name is given."""
        have = self.sensitive if role == "sensitive" else self.targets
        if not have:
            raise BadTable(f"This measure needs a {role} column, and the table has none. Give one column that role.")
        if name is None:
            return have[0]
        for counts in have:
            if counts.name == name:
                return counts
        names = [counts.name for counts in have]
        raise BadTable(f"No {role} column {name!r}. {did_you_mean(name, names)}There are: {shorten(names)}.")

    def bind(self, hierarchies: Mapping[str, Hierarchy] | Sequence[Hierarchy], domain: Domain | None = None) -> Table:
        """The same rows seen through these hierarchies, one per quasi-identifier.

        A value the hierarchy does not know is an error that names it and how many rows have it (SPEC A.0.2).
        """
        by_name = hierarchies_by_name(hierarchies, self.schema)
        late = [h.name for h in self.hierarchies if h.name in by_name and h.coarse is not None]
        if late or self.leaf_counts is not None:
            raise BadHierarchy(
                f"The rows came in coarser than their values ({shorten(late or self.schema.quasi)}), so other "
                "hierarchies cannot be given any more. Give them to read."
            )
        chosen = tuple(
            by_name[name].renamed(name) if name in by_name else self.hierarchies[column]
            for column, name in enumerate(self.schema.quasi)
        )
        codes = np.empty_like(self.codes)
        for column, hierarchy in enumerate(chosen):
            leaf = hierarchy.locate(self.hierarchies[column].leaves)
            codes[:, column] = leaf[self.codes[:, column]]
            check_places(hierarchy, self.hierarchies[column].leaves, self.leaf_rows[column], leaf)
        return self._rolled(codes, chosen, self.domain if domain is None else domain)

    def _rolled(self, codes: np.ndarray, hierarchies: tuple[Hierarchy, ...], domain: Domain) -> Table:
        order, start = distinct_rows(codes)
        group = np.empty(len(codes), dtype=np.int64)
        group[order] = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(order))))
        return replace(
            self,
            hierarchies=hierarchies,
            codes=codes[order[start]],
            weights=np.bincount(group, weights=self.weights, minlength=len(start)).astype(np.int64),
            sensitive=tuple(merge_counts(counts, group, len(start)) for counts in self.sensitive),
            targets=tuple(merge_counts(counts, group, len(start)) for counts in self.targets),
            persons=None if self.persons is None else merge_counts(self.persons, group, len(start)),
            domain=domain,
        )


def hierarchies_by_name(given: Mapping[str, Any] | Sequence[Hierarchy], schema: Schema) -> Mapping[str, Any]:
    """Column -> what is given as its hierarchy; a column that is no quasi-identifier is an error."""
    by_name = given if isinstance(given, Mapping) else {h.name: h for h in given}
    for name in by_name:
        if name not in schema.quasi:
            raise BadHierarchy(
                f"A hierarchy is given for {name!r}, which is not a quasi-identifier. "
                f"{did_you_mean(name, schema.quasi)}The quasi-identifiers are: {shorten(schema.quasi)}."
            )
    return by_name


def check_places(hierarchy: Hierarchy, values: Sequence[str], rows: np.ndarray, leaf: np.ndarray) -> None:
    """Raise where values of a column, each in so many rows, have no leaf (-1) in its hierarchy."""
    lost = [i for i in np.flatnonzero(leaf < 0).tolist() if rows[i]]
    if not lost:
        return
    lost.sort(key=lambda i: -int(rows[i]))
    named = [f"{values[i]!r} ({int(rows[i]):,} rows)" for i in lost]
    raise BadHierarchy(
        f"The hierarchy of {hierarchy.name!r} has no place for {len(lost):,} value{'s' if len(lost) > 1 else ''} "
        f"of the table: {shorten(named, 5)}. Add them to the hierarchy."
    )


def table_digest(table: Table) -> str:
    """SHA-256 of a table in memory: its leaves, its rows, and the counts of its further columns."""
    found = hashlib.sha256(b"kpareto rows 1")
    for hierarchy in table.hierarchies:
        found.update(repr((hierarchy.name, hierarchy.leaves)).encode())
    found.update(table.codes.astype("<i8").tobytes())
    found.update(table.weights.astype("<i8").tobytes())
    for counts in (*table.sensitive, *table.targets, *(() if table.persons is None else (table.persons,))):
        found.update(repr((counts.name, counts.values)).encode())
        for array in (counts.start, counts.code, counts.count):
            found.update(array.astype("<i8").tobytes())
    return found.hexdigest()


def distinct_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lexicographic order of code rows, and where each distinct row starts in it.

    Columns are folded into one number; when the product of their sizes would pass 63 bits, the number so far is
    replaced by its rank, so any number of columns of any size works.
    """
    ranks = np.zeros(len(codes), dtype=np.int64)
    size = 1
    for column in range(codes.shape[1]):
        width = int(codes[:, column].max(initial=0)) + 1
        if size > (2**62) // width:
            _, ranks = np.unique(ranks, return_inverse=True)
            size = int(ranks.max(initial=0)) + 1
        ranks = ranks * width + codes[:, column]
        size *= width
    order = np.argsort(ranks, kind="stable")
    ranked = ranks[order]
    start = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if len(ranked) else order
    return order, start


def merge_counts(counts: Counts, group: np.ndarray, groups: int) -> Counts:
    """The counts after distinct rows were merged into groups (group: (distinct,) int64)."""
    row = group[counts.row]
    key = row * len(counts.values) + counts.code
    distinct, inverse = np.unique(key, return_inverse=True)
    merged = np.bincount(inverse, weights=counts.count, minlength=len(distinct)).astype(np.int64)
    start = np.searchsorted(distinct, np.arange(groups + 1) * len(counts.values))
    return replace(
        counts,
        start=start.astype(np.int64),
        code=(distinct % max(len(counts.values), 1)).astype(np.int32),
        count=merged,
    )


def make_table(
    schema: Schema,
    hierarchies: tuple[Hierarchy, ...],
    codes: np.ndarray,
    weights: np.ndarray,
    extras: Mapping[str, tuple[tuple[str, ...], np.ndarray, np.ndarray | None]],
) -> Table:
    """A Table from rolled-up rows that may repeat: codes (n, quasi), weights (n,), and per further column
    (sensitive, target, person) its dictionary, its code per row (n,), and its numbers where it is numeric."""
    order, start = distinct_rows(codes)
    count = len(start)
    group = np.empty(len(codes), dtype=np.int64)
    group[order] = np.repeat(np.arange(count), np.diff(np.append(start, len(order))))

    def counts(name: str) -> Counts:
        values, code, numbers = extras[name]
        each = Counts(name, values, np.arange(len(code) + 1), code.astype(np.int32), weights.astype(np.int64), numbers)
        return merge_counts(each, group, count)

    return Table(
        schema,
        hierarchies,
        codes[order[start]].astype(np.int32) if count else codes.reshape(0, len(schema.quasi)).astype(np.int32),
        np.bincount(group, weights=weights, minlength=count).astype(np.int64),
        tuple(counts(name) for name in schema.sensitive),
        tuple(counts(name) for name in schema.target),
        counts(schema.person) if schema.person is not None else None,
    )
