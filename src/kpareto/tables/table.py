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

from kpareto.errors import BadHierarchy, BadInput, BadJob, BadTable, did_you_mean, shorten
from kpareto.tables.hierarchy import MISSING, Hierarchy, tell_lost
from kpareto.tables.schema import Schema, check_quasi
from kpareto.tables.spelling import fold_spelling, merge_spellings, several

Domain = Literal["observed", "declared"]
Estimator = Literal["auto", "pitman", "zayatz", "snb"]
# Of a further column: its values, the code of each row (n,), and its numbers (values,) where it is numeric.
Extra = tuple[tuple[str, ...], np.ndarray, np.ndarray | None]


@dataclass(frozen=True, eq=False)
class Held:
    """Which person has which value: every combination of row, person and value once, in this order."""

    row: np.ndarray  # (entries,) int64, distinct row or class
    person: np.ndarray  # (entries,) int64
    code: np.ndarray  # (entries,) int64, of the value

    def recode(self, recode: np.ndarray, column: Literal["row", "code"]) -> Held:
        """The same after rows or values were replaced by others, each combination once again."""
        changed = replace(self, **{column: recode[getattr(self, column)]})
        order, start = distinct_rows(np.column_stack((changed.row, changed.person, changed.code)))
        return Held(*(part[order[start]] for part in (changed.row, changed.person, changed.code)))


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
    held: Held | None = None  # by whom, where persons are told apart and the column is sensitive

    @cached_property
    def row(self) -> np.ndarray:
        """The distinct row of each entry: (entries,) int64."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def totals(self) -> np.ndarray:
        """Rows with each value in the whole table: (values,) int64."""
        return np.bincount(self.code, weights=self.count, minlength=len(self.values)).astype(np.int64)

    def without(self, value: str) -> Counts:
        """The counts without one value, which must be the last; the same where it is not there."""
        if not self.values or self.values[-1] != value:
            return self
        last = len(self.values) - 1
        kept = self.code != last
        start = np.concatenate(([0], np.cumsum(kept)))[self.start]
        owners = self.held
        if owners is not None:
            have = owners.code != last
            owners = Held(owners.row[have], owners.person[have], owners.code[have])
        return Counts(self.name, self.values[:-1], start, self.code[kept], self.count[kept], self.numbers, owners)


@dataclass(frozen=True)
class Sample:
    """Rows that were drawn without replacement, by seed (IY-14)."""

    rows: int
    of: int  # rows that could have been drawn
    seed: int

    def words(self) -> str:
        """For a sentence: ``a sample of 200,000 of 10,000,000 rows``."""
        return f"a sample of {self.rows:,} of {self.of:,} rows"


@dataclass(frozen=True, eq=False)
class Population:
    """What is known about the population: a table of it, or the share of it that was sampled.

    Parameters
    ----------
    fraction : float, optional
        The share of the population that is in the table, above 0 and at most 1, which is a census.
    table : Table, optional
        A table of the population. Where it stands in a Table it has that one's hierarchies; each of its codes is a leaf
        of them.
    estimator : {'auto', 'pitman', 'zayatz', 'snb'}, optional
        By which model uniques are estimated where only the fraction is known.
    raw : Table, optional
        Its table as it was read, before it was seen through hierarchies: what a release is checked against.

    Raises
    ------
    BadInput
        If the fraction is no share, or a table is given too.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.Population(fraction=0.1).known
    True
    """

    fraction: float | None = None
    table: Table | None = None
    estimator: Estimator = "auto"
    raw: Table | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise BadInput(
                f"The sampling fraction is {self.fraction!r}. Give the share of the population that is in the table, "
                "above 0 and at most 1, such as 0.1."
            )
        if self.fraction is not None and self.table is not None:
            raise BadInput("A population table and a sampling fraction are given. Give the one you trust more.")

    @property
    def known(self) -> bool:
        """Whether anything is known at all."""
        return self.fraction is not None or self.table is not None


@dataclass(frozen=True, eq=False)
class Joined:
    """The distinct rows of a table, then those of its population that the table lacks."""

    codes: np.ndarray  # (rows, quasi) int32, leaves, each combination once
    weights: np.ndarray  # (rows,) int64, rows of the table, 0 for those it lacks
    people: Counts  # how often each is in the population: a column with one value


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Distinct rows over the quasi-identifiers, weighted.

    Attributes
    ----------
    schema : Schema
        The role of each column.
    hierarchies : tuple of Hierarchy
        One per quasi-identifier.
    codes : numpy.ndarray
        (distinct, quasi) int32, leaves; rows distinct and in lexicographic order.
    weights : numpy.ndarray
        (distinct,) int64, rows, none zero.
    sensitive, targets : tuple of Counts
        How often each value of these columns occurs in each distinct row.
    persons : Counts or None
        The same for the columns that tell persons apart; a row without an id is in none of them.
    dropped : int
        Rows left out for a missing value.
    missing : str
        The policy that was used.
    domain : {'observed', 'declared'}
        Which leaves the loss denominators count (readings.md#domains).
    spelled : mapping
        Column -> its values as the program that holds the rows has them (texts.Spelled): the way out joins by these.
    digest : str or None
        SHA-256 of what was rolled up, where asking a database for it again would cost a scan.
    leaf_counts : tuple of numpy.ndarray or None
        Per quasi-identifier, rows with each leaf: (leaves,) int64, where the codes name one leaf of each group only.
    sample : Sample or None
        Where not all rows of the source came in.
    remarks : tuple of str
        What a person should know of how the rows came in.
    population : Population or None
        Whom the rows were drawn from, where that is known.
    columns : tuple of str
        All columns of the source.
    form : Form or None
        The form of its file.
    missing_values : tuple or None
        The texts that stand for no value.
    bare : tuple of str
        Quasi-identifiers that nobody has said anything about: they are shown or hidden as a whole so far.
    trees : mapping of str to Hierarchy
        Sensitive column -> a hierarchy of its values, by which a distance between them may go (t-closeness).

    Examples
    --------
    >>> import kpareto as kp
    >>> table = kp.adult_table()
    >>> table.rows, table.distinct
    (30162, 12458)
    """

    schema: Schema
    hierarchies: tuple[Hierarchy, ...]
    codes: np.ndarray
    weights: np.ndarray
    sensitive: tuple[Counts, ...] = ()
    targets: tuple[Counts, ...] = ()
    persons: Counts | None = None
    dropped: int = 0
    missing: str = "error"
    domain: Domain = "observed"
    spelled: Mapping[str, Any] = field(default_factory=dict, compare=False)
    digest: str | None = field(default=None, compare=False)
    leaf_counts: tuple[np.ndarray, ...] | None = None
    sample: Sample | None = None
    remarks: tuple[str, ...] = field(default=(), compare=False)
    population: Population | None = None
    columns: tuple[str, ...] = field(default=(), compare=False)
    form: Any = field(default=None, compare=False)
    missing_values: tuple[object, ...] | None = field(default=None, compare=False)
    bare: tuple[str, ...] = field(default=(), compare=False)
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)

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

    @cached_property
    def nobodys(self) -> int:
        """Rows without an id, where persons are told apart: they belong to nobody and protect nobody."""
        return 0 if self.persons is None else self.rows - int(self.persons.count.sum())

    @cached_property
    def known(self) -> tuple[Counts, ...]:
        """The sensitive columns without the missing value, which nobody can learn and which hides nobody."""
        return tuple(counts.without(MISSING) for counts in self.sensitive)

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
    def occurring(self) -> tuple[np.ndarray, ...]:
        """Per quasi-identifier, the leaves that a row or the population has, rising: (occurring leaves,) int64 each.

        A hierarchy may declare many more, such as all postcodes of a country; nothing that is counted needs them.
        """
        everybody = self.population is not None and self.population.table is not None
        codes = self.joined.codes if everybody else self.codes
        return tuple(
            np.flatnonzero(np.bincount(codes[:, c], minlength=len(h.leaves))) for c, h in enumerate(self.hierarchies)
        )

    @cached_property
    def leaf_rows(self) -> tuple[np.ndarray, ...]:
        """Per quasi-identifier, rows with each leaf: (leaves,) int64 each."""
        if self.leaf_counts is not None:
            return self.leaf_counts
        return tuple(
            np.bincount(self.codes[:, c], weights=self.weights, minlength=len(h.leaves)).astype(np.int64)
            for c, h in enumerate(self.hierarchies)
        )

    @cached_property
    def joined(self) -> Joined:
        """The rows of the table and of its population beside the same codes; a table without one is a sentence."""
        population = None if self.population is None else self.population.table
        if population is None:
            raise BadTable(
                "This measure needs a table of the population, and none is given. Give one: source under [population] "
                "in a job, or population= in Python."
            )
        codes = np.concatenate((self.codes, population.codes))
        order, start = distinct_rows(codes)
        people = np.add.reduceat(np.append(np.zeros(self.distinct, dtype=np.int64), population.weights)[order], start)
        first = order[start]  # the table's own row comes first where both have it, for the order is stable
        unseen = first >= self.distinct
        places = np.append(first[~unseen], self.distinct + np.arange(int(unseen.sum())))
        counts = np.empty(len(start), dtype=np.int64)
        counts[places] = np.append(people[~unseen], people[unseen])
        rows = len(start)
        return Joined(
            np.concatenate((self.codes, codes[first[unseen]])),
            np.append(self.weights, np.zeros(rows - self.distinct, dtype=np.int64)),
            Counts("population", ("people",), np.arange(rows + 1), np.zeros(rows, dtype=np.int32), counts),
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
        """The rows seen through these hierarchies, one per quasi-identifier.

        A value the hierarchy does not know is an error that names it and how many rows have it.
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
        return self.roll_up(codes, chosen, self.domain if domain is None else domain)

    def roll_up(self, codes: np.ndarray, hierarchies: tuple[Hierarchy, ...], domain: Domain) -> Table:
        """The rows by other leaves, (distinct, quasi) int32, of other hierarchies; equal ones become one."""
        group, first = number_rows(codes)
        old, count = self.hierarchies, len(first)
        rolled = replace(
            self,
            hierarchies=hierarchies,
            codes=codes[first],
            weights=np.bincount(group, weights=self.weights, minlength=count).astype(np.int64),
            sensitive=tuple(merge_counts(counts, group, count) for counts in self.sensitive),
            targets=tuple(merge_counts(counts, group, count) for counts in self.targets),
            persons=None if self.persons is None else merge_counts(self.persons, group, count),
            domain=domain,
            population=None,
            bare=tuple(n for n, h in zip(self.schema.quasi, hierarchies, strict=True) if n in self.bare and h in old),
        )
        return rolled if self.population is None else rolled.drawn_from(self.population)

    def drawn_from(self, population: Population) -> Table:
        """The table with what is known of its population, whose rows are seen through the table's hierarchies."""
        if population.table is None:
            return replace(self, population=population)
        _check_pair(self, population.table)
        names, theirs = population.table.schema.quasi, population.table
        codes = np.empty((theirs.distinct, len(self.hierarchies)), dtype=np.int32)
        for column, hierarchy in enumerate(self.hierarchies):
            there = names.index(hierarchy.name)
            leaf = hierarchy.locate(theirs.hierarchies[there].leaves)
            check_places(hierarchy, theirs.hierarchies[there].leaves, theirs.leaf_rows[there], leaf, "population")
            codes[:, column] = leaf[theirs.codes[:, there]]
        groups, counts = merge_classes(codes, theirs.weights[:, None])
        seen = Table(Schema(self.schema.quasi), self.hierarchies, groups, counts[:, 0])
        paired = replace(self, population=replace(population, table=seen, raw=population.raw or theirs))
        _check_contained(paired)
        return paired


def _check_pair(table: Table, population: Table) -> None:
    """Raise where rows of the two cannot be told to be the same ones."""
    for name, side in (("table", table), ("population", population)):
        if side.persons is not None:
            raise BadTable(
                f"Persons are told apart in the {name}, and a population is counted in rows. Leave them out."
            )
        if side.sample is not None or side.leaf_counts is not None or any(h.coarse for h in side.hierarchies):
            raise BadTable(
                f"Only a part of the {name} came in, or it came in coarser than its values, and a population is "
                "matched value by value. Give more memory, so that all rows come in as they are."
            )
    names = population.schema.quasi
    for hierarchy in table.hierarchies:
        if hierarchy.name not in names:
            raise BadTable(
                f"The population has no quasi-identifier {hierarchy.name!r}. {did_you_mean(hierarchy.name, names)}"
                f"It has: {shorten(names)}."
            )


def _check_contained(table: Table) -> None:
    """Raise where the population has fewer rows of some kind than the table."""
    joined = table.joined
    lacking = joined.weights - joined.people.count
    worst = int(np.argmax(lacking))
    if lacking[worst] > 0:
        leaves = zip(table.hierarchies, joined.codes[worst].tolist(), strict=True)
        shown = ", ".join(hierarchy.leaves[leaf] for hierarchy, leaf in leaves)
        raise BadTable(
            f"The population has {int(joined.people.count[worst]):,} rows of ({shown}) and the table has "
            f"{int(joined.weights[worst]):,}. Give a population that contains the table."
        )


def hierarchies_by_name(hierarchies: Mapping[str, Any] | Sequence[Hierarchy], schema: Schema) -> Mapping[str, Any]:
    """Column -> what is given as its hierarchy; a column that is no quasi-identifier is an error."""
    by_name = hierarchies if isinstance(hierarchies, Mapping) else {h.name: h for h in hierarchies}
    check_quasi(by_name, schema.quasi, "A hierarchy is given for", BadHierarchy)
    return by_name


def check_places(
    hierarchy: Hierarchy,
    values: Sequence[str],
    rows: np.ndarray,
    leaf: np.ndarray,
    of: Literal["table", "population"] = "table",
) -> None:
    """Raise where a value that rows have found no leaf; the most frequent ones come first."""
    lost = [place for place in np.flatnonzero(leaf < 0).tolist() if rows[place]]
    lost.sort(key=lambda place: -int(rows[place]))
    if lost:
        named = [f"{values[place]!r} ({several(int(rows[place]), 'row')})" for place in lost]
        raise BadHierarchy(tell_lost(hierarchy.name, [values[place] for place in lost], named, of))


def table_digest(table: Table) -> str:
    """SHA-256 of a table in memory: its leaves, its rows, and the counts of its further columns."""
    digest = hashlib.sha256(b"kpareto rows 1")
    for hierarchy in table.hierarchies:
        digest.update(repr((hierarchy.name, hierarchy.leaves)).encode())
    digest.update(table.codes.astype("<i8").tobytes())
    digest.update(table.weights.astype("<i8").tobytes())
    for counts in (*table.sensitive, *table.targets, *(() if table.persons is None else (table.persons,))):
        digest.update(repr((counts.name, counts.values)).encode())
        owners = () if counts.held is None else (counts.held.row, counts.held.person, counts.held.code)
        for array in (counts.start, counts.code, counts.count, *owners):
            digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


def distinct_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lexicographic order of code rows, and where each distinct row starts in it.

    Columns are folded into one number; when the product of their sizes would pass 63 bits, the number so far is
    replaced by its rank, so any number of columns of any size works.
    """
    ranks = np.zeros(len(codes), dtype=np.int64)
    size = 1
    for column in range(codes.shape[1]):
        width = int(codes[:, column].max(initial=0)) + 1
        if width == 1 and not codes[:, column].any():
            continue  # it tells no rows apart
        if size > (2**62) // width:
            _, ranks = np.unique(ranks, return_inverse=True)
            size = int(ranks.max(initial=0)) + 1
        ranks = ranks * width + codes[:, column]
        size *= width
    order = np.argsort(ranks, kind="stable")
    ranked = ranks[order]
    start = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if len(ranked) else order
    return order, start


def number_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row among the distinct ones, in lexicographic order, and the first row of each: int64 each."""
    order, start = distinct_rows(codes)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(order))))
    return numbers, order[start]


def merge_classes(groups: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal rows as one, their counts added up: groups (classes, quasi), counts (classes, kinds)."""
    order, start = distinct_rows(groups)
    if not len(start):
        return groups, counts
    return groups[order[start]], np.add.reduceat(counts[order], start, axis=0)


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
        held=None if counts.held is None else counts.held.recode(group, "row"),
    )


def make_table(
    schema: Schema,
    hierarchies: tuple[Hierarchy, ...],
    codes: np.ndarray,
    weights: np.ndarray,
    extras: Mapping[str, Extra],
) -> Table:
    """A Table from rolled-up rows that may repeat: codes (n, quasi), weights (n,), and per further column
    (sensitive, target, person) its dictionary, its code per row (n,), and its numbers where it is numeric.

    Spellings of one sensitive value, and of one person, become one unless the schema says otherwise."""
    group, first = number_rows(codes)
    count = len(first)
    units = weights.astype(np.int64)
    people = _tell_persons(schema, extras, units)

    def counts(name: str, fold: bool) -> Counts:
        values, code, numbers = _fold(extras[name]) if fold else extras[name]
        entries = Counts(name, values, np.arange(len(code) + 1), code.astype(np.int32), units, numbers)
        if people is not None and name in schema.sensitive:
            entries = replace(entries, held=Held(people.row, people.code.astype(np.int64), code[people.row]))
        return merge_counts(entries, group, count)

    fold = schema.spellings == "fold"
    return Table(
        schema,
        hierarchies,
        codes[first].astype(np.int32) if count else codes.reshape(0, len(schema.quasi)).astype(np.int32),
        np.bincount(group, weights=weights, minlength=count).astype(np.int64),
        tuple(counts(name, fold) for name in schema.sensitive),
        tuple(counts(name, fold and name in schema.sensitive) for name in schema.target),
        None if people is None else merge_counts(people, group, count),
    )


def sample_rows(table: Table, rows: int, seed: int = 1) -> Table:
    """A table of so many rows drawn without replacement; hierarchies, roles and domain stay.

    Loss denominators that count observed values are those of the sample. A table too large to be read is sampled by
    ``read`` itself (``too_many="sample"``), row by row instead of from the distinct rows.
    """
    if not 1 <= rows <= table.rows:
        raise BadJob(
            f"A sample of {rows:,} rows was asked for, and the table has {table.rows:,}. Give at most as many."
        )
    if table.persons is not None:
        raise BadJob("A sample of rows would tear values from the persons who have them. Draw it where rows are read.")
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(table.rows)[:rows])
    row_of = np.repeat(np.arange(table.distinct), table.weights)

    def draw(counts: Counts) -> Extra:
        # Values of one column stand beside rows in any order within a distinct row: the table keeps no more than that.
        return counts.values, np.repeat(counts.code, counts.count)[chosen], counts.numbers

    extras = {counts.name: draw(counts) for counts in (*table.sensitive, *table.targets)}
    ones = np.ones(rows, dtype=np.int64)
    small = make_table(table.schema, table.hierarchies, table.codes[row_of[chosen]], ones, extras)
    kept = Sample(rows, table.rows, seed)
    return replace(small, dropped=table.dropped, missing=table.missing, domain=table.domain, sample=kept)


def _fold(column: Extra) -> Extra:
    """A column with the spellings of each value as one; one of which nothing is to be seen is no value."""
    values, code, numbers = column
    seen = [value if fold_spelling(value) else MISSING for value in values]
    recode, left = merge_spellings(seen)
    if len(left) == len(values):
        return (tuple(seen), code, numbers)
    kept = np.unique(recode, return_index=True)[1]
    if MISSING in left and left[-1] != MISSING:  # it is the last one
        place = left.index(MISSING)
        rank = np.where(np.arange(len(left)) > place, np.arange(len(left)) - 1, np.arange(len(left)))
        rank[place] = len(left) - 1
        return (*left[:place], *left[place + 1 :], MISSING), rank[recode][code], None
    return left, recode[code], None if numbers is None else numbers[kept]


def _tell_persons(schema: Schema, extras: Mapping[str, Extra], weights: np.ndarray) -> Counts | None:
    """The person of each row, none where an id is missing; None where persons are not told apart."""
    if not schema.persons:
        return None
    parts = [_fold(extras[name]) if schema.spellings == "fold" else extras[name] for name in schema.persons]
    known = np.logical_and.reduce([np.array([v != MISSING for v in values])[code] for values, code, _ in parts])
    theirs = np.column_stack([code for _, code, _ in parts])[known]
    people, first = number_rows(theirs)
    ids = [[values[place] for place in theirs[first, at].tolist()] for at, (values, _, _) in enumerate(parts)]
    names = ids[0] if len(ids) == 1 else map("\0".join, zip(*([fold_spelling(v) for v in p] for p in ids), strict=True))
    start = np.concatenate(([0], np.cumsum(known)))
    return Counts(", ".join(schema.persons), tuple(names), start, people.astype(np.int32), weights[known])


@dataclass(frozen=True)
class UniqueRows:
    """How many rows no other row equals, over some columns."""

    columns: tuple[str, ...]
    rows: int
    unique: int
    groups: int  # distinct rows

    @property
    def share(self) -> float:
        """Of all rows."""
        return self.unique / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, object]:
        """The counts as plain data."""
        return {**vars(self), "columns": list(self.columns), "share": self.share}
