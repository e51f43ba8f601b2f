"""How anonymous a table is as it stands: k, l, t and their like, the risks, and what singles people out most.

Nothing is generalized, suppressed or written. Rows are counted as they are; a missing value is a value of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kpareto.engines.form import Form
from kpareto.engines.read import read
from kpareto.engines.recognise import recognise
from kpareto.engines.unique_rows import PAIRS, CodedRows, choose_pairs, rank_unique
from kpareto.errors import BadJob
from kpareto.measures import sensitive as diversity
from kpareto.measures.population import people_behind
from kpareto.measures.sizes import k as smallest_class
from kpareto.releases.risk.pycanon import closeness_of
from kpareto.releases.risk.risk import Risks, risks
from kpareto.strict import read_whole
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom
from kpareto.tables.schema import Schema, as_names
from kpareto.tables.spelling import MARKS
from kpareto.tables.table import Population, Table, UniqueRows

SCHEMA = "kpareto-measure-1"
ROWS = 10  # rows most at risk that are named unless told otherwise
BANDS = ((1, 1), (2, 2), (3, 4), (5, 10), (11, 19), (20, None))  # sizes of classes, from and to
# Columns by place -> rows that are alone there, and rows alike per distinct row: (distinct,) int64.
Counted = Mapping[tuple[int, ...], tuple[UniqueRows, np.ndarray]]


@dataclass(frozen=True)
class Diversity:
    """What the classes of a table tell about one sensitive column, the worst class of each model."""

    column: str
    values: int  # different ones in the table
    numbers: Mapping[str, float]  # l, entropy-l, alpha, t, beta, enhanced-beta, delta

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {"column": self.column, "values": self.values, **self.numbers}


@dataclass(frozen=True)
class ClassBand:
    """The rows in classes of some sizes."""

    low: int
    high: int | None  # None: and more
    rows: int
    classes: int

    @property
    def words(self) -> str:
        """The sizes, for a heading."""
        if self.high is None:
            return f"{self.low:,} or more"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True, repr=False)
class RiskyRow:
    """The values of a row that few others share. Confidential: it is a person's."""

    values: Mapping[str, str]  # by quasi-identifier
    size: int  # of its class
    people: int | None  # of the population with these values, where that is known
    alone_by: tuple[tuple[str, ...], ...]  # columns and pairs that tell it from everybody else, the shortest first

    def __repr__(self) -> str:
        """Never the values: a notebook prints this."""
        return f"RiskyRow(size {self.size:,}, alone by {len(self.alone_by):,} columns or pairs)"

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data, its values too."""
        alone = [list(columns) for columns in self.alone_by]
        return {"values": dict(self.values), "size": self.size, "people": self.people, "alone_by": alone}


@dataclass(frozen=True, repr=False)
class Anonymity:
    """How anonymous a table is as it stands; what ``measure`` answers.

    Attributes
    ----------
    rows : int
        Of the table.
    persons : int or None
        Where a column tells them apart.
    quasi : tuple of str
        The quasi-identifiers.
    k : int
        Rows, or persons, of the smallest class.
    unique : UniqueRows
        The rows that are alone, on all quasi-identifiers together.
    bands : tuple of ClassBand
        Rows by the size of their class.
    sensitive : tuple of Diversity
        Per sensitive column what its classes tell of it.
    risks : Risks
        Of all attackers.
    columns : tuple of UniqueRows
        Each alone, those that single out most rows first.
    without : mapping of str to int
        Rows that are still alone when a column is left out.
    pairs : tuple of UniqueRows
        The same for pairs of columns.
    pairs_left : int
        Pairs that were not counted, to keep within the budget.
    riskiest : tuple of RiskyRow
        The rows most at risk: confidential.
    form : Form
        How its file was read.
    remarks : tuple of str
        About that form.

    Examples
    --------
    >>> import kpareto as kp
    >>> answer = kp.measure(kp.adult(), quasi=["age", "sex"])
    >>> answer.k, answer.unique.unique
    (1, 5)
    """

    rows: int
    persons: int | None
    quasi: tuple[str, ...]
    k: int
    unique: UniqueRows
    bands: tuple[ClassBand, ...]
    sensitive: tuple[Diversity, ...]
    risks: Risks
    columns: tuple[UniqueRows, ...]
    without: Mapping[str, int]
    pairs: tuple[UniqueRows, ...]
    pairs_left: int
    riskiest: tuple[RiskyRow, ...]
    form: Form = field(default_factory=Form)
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Short, and without a value of any row: a notebook prints this."""
        share = f"{self.unique.unique:,} rows alone"
        return f"Anonymity({self.rows:,} rows by {', '.join(self.quasi)}: k = {self.k:,}, {share})"

    def sentences(self) -> list[str]:
        """What a person should know first."""
        together = ", ".join(self.quasi)
        of = "persons" if self.persons is not None else "rows"
        alone = f"{self.unique.unique:,} of {self.rows:,} rows ({self.unique.share:.1%})"
        sentences = [
            *self.form.sentences(),
            *self.remarks,
            f"k = {self.k:,}: the smallest class by {together} has {self.k:,} {of if self.k != 1 else of[:-1]}.",
            f"{alone} are alone with their values: whoever knows these finds them."
            if self.unique.unique
            else "No row is alone with its values.",
        ]
        sentences += [self._say(each) for each in self.sensitive]
        if self.columns and self.columns[0].unique:
            first = self.columns[0]
            sentences.append(f"{first.columns[0]} alone singles out {first.unique:,} rows, the most of all columns.")
        if self.pairs and self.pairs[0].unique:
            one, two = self.pairs[0].columns
            unique = self.pairs[0].unique
            sentences.append(f"{one} and {two} together single out {unique:,} rows, the most of all pairs.")
        if self.without and self.unique.unique:
            least = min(self.without, key=lambda name: (self.without[name], name))
            left = self.without[least]
            sentences.append(f"Without {least}, {left:,} row{'s' * (left != 1)} would be alone: coarsen it first.")
        return sentences

    def _say(self, each: Diversity) -> str:
        l, alpha = each.numbers["l"], each.numbers["alpha"]
        certain = "a class has one value only, so finding it is knowing the value"
        if self.persons is not None:
            certain = "in a class all persons share a value, so finding it is knowing the value"
        of = "rows" if self.persons is None else "persons"
        if l < 1:
            certain = "a class has no value at all"
        worst = certain if l < 2 else f"in some class a value has {alpha:.0%} of the {of}"
        return f"{each.column}: l = {l:g}, t = {each.numbers['t']:.3g}; {worst}."

    def summary(self) -> str:
        """The sentences as a text."""
        return "\n".join(self.sentences())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data; ``riskiest`` holds values of rows."""
        return {
            "schema": SCHEMA,
            "rows": self.rows,
            "persons": self.persons,
            "quasi": list(self.quasi),
            "k": self.k,
            "unique": self.unique.to_dict(),
            "classes": [{"from": b.low, "to": b.high, "rows": b.rows, "classes": b.classes} for b in self.bands],
            "sensitive": [each.to_dict() for each in self.sensitive],
            "risks": self.risks.to_dict(),
            "columns": [{**each.to_dict(), "without": self.without.get(each.columns[0])} for each in self.columns],
            "pairs": [each.to_dict() for each in self.pairs],
            "pairs_left": self.pairs_left,
            "riskiest": [each.to_dict() for each in self.riskiest],
            "form": self.form.to_dict(),
        }


def measure(  # noqa: PLR0913 (what the command is told, as keywords)
    data: object,
    quasi: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    *,
    population: object = None,
    person: str | tuple[str, ...] | None = None,
    pairs: int = PAIRS,
    rows: int = ROWS,
    encoding: str = "utf-8",
    form: Mapping[str, Any] | None = None,
) -> Anonymity:
    """How anonymous a table is as it stands.

    Parameters
    ----------
    data : object
        Whatever ``read`` takes. The form of a file is recognised as ``inspect`` does it.
    quasi : str or iterable of str
        The columns that others may know of a person.
    sensitive : str or iterable of str, optional
        Those that they want to learn.
    population : object, optional
        Whom the rows were drawn from: a table of everybody, the share of everybody that is in the table (below 1), or
        how many everybody are.
    person : str or tuple of str, optional
        The column that tells persons apart who have several rows.
    pairs : int, optional
        How many pairs of columns are counted at most.
    rows : int, optional
        How many rows most at risk are named.
    encoding : str, optional
        Of a file of text.
    form : mapping, optional
        Keys of the form of a file that are not to be recognised, such as ``{"sheet": "People"}``.

    Returns
    -------
    Anonymity
        Classes, risks, and the columns that single out most rows.

    Raises
    ------
    BadInput
        If the table cannot be read or lacks a column, or a number makes no sense.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.measure(kp.adult(), quasi=["age", "sex"], sensitive="occupation")
    Anonymity(32,561 rows by age, sex: k = 1, 5 rows alone)
    """
    read_whole(pairs, "pairs", 0)
    read_whole(rows, "rows", 0)
    schema = Schema(as_names(quasi), as_names(sensitive), person=person)
    known, share = _read_population(population)
    recognised = recognise(data, encoding, MARKS, form)
    everybody = None if known is None else recognise(known, encoding, MARKS).source
    table = read(recognised.source, schema, "category", hierarchies=None, encoding=encoding, population=everybody)
    if share is not None:
        table = table.drawn_from(_population_of(share, table))
    return replace(measure_table(table, pairs, rows), form=recognised.form, remarks=recognised.remarks)


def measure_table(table: Table, pairs: int = PAIRS, rows: int = ROWS) -> Anonymity:
    """The same of a table that was read."""
    partition = classes(table, bottom(table.hierarchies))
    coded = CodedRows(table.schema.quasi, table.codes.astype(np.int64), table.weights)
    places = range(len(table.schema.quasi))
    singles: Counted = {(place,): coded.count([place]) for place in places}
    chosen, left = choose_pairs([counted[0].groups for counted in singles.values()], pairs)
    doubles: Counted = {pair: coded.count(pair) for pair in chosen} if len(places) > 1 else {}
    whole = coded.unique(places)
    others = {name: [o for o in places if o != place] for place, name in enumerate(table.schema.quasi)}
    without = {name: coded.unique(rest).unique for name, rest in others.items() if rest}
    return Anonymity(
        table.rows,
        None if table.persons is None else int(np.count_nonzero(table.persons.totals)),
        table.schema.quasi,
        int(smallest_class()(partition)),
        whole,
        count_bands(partition),
        tuple(_diversity(partition, counts.name) for counts in table.sensitive),
        risks(partition),
        rank_unique(counted for counted, _ in singles.values()),
        without,
        rank_unique(counted for counted, _ in doubles.values()),
        left,
        _riskiest(partition, {**singles, **doubles}, rows),
    )


def _read_population(population: object) -> tuple[object, float | None]:
    """A table of the population, or else a number about it."""
    if isinstance(population, int | float | np.number) and not isinstance(population, bool):
        return None, float(population)
    return population, None


def _population_of(number: float, table: Table) -> Population:
    """The population of which the table is a share (up to 1), or that has so many people."""
    if 0 < number <= 1:
        return Population(number)
    if not number >= table.rows or not float(number).is_integer():
        raise BadJob(
            f"population is {number:g}, and the table has {table.rows:,} rows. Give the share of everybody that is in "
            "the table, above 0 and at most 1, or how many everybody are, or a table of them."
        )
    return Population(table.rows / number)


def _diversity(partition: Partition, column: str) -> Diversity:
    counts = partition.table.counts(column, "sensitive")
    numbers = {model_name: float(model(partition)) for model_name, model in diversity.usual_models(column).items()}
    numbers["t"] = float(closeness_of(partition, column)(partition))
    return Diversity(column, len(counts.values), numbers)


def count_bands(partition: Partition) -> tuple[ClassBand, ...]:
    """The visible rows by the size of their class."""
    bands = []
    sizes = np.maximum(partition.sizes, 1)  # rows of nobody are as good as alone
    for low, high in BANDS:
        within = (sizes >= low) & (sizes <= (high or np.iinfo(np.int64).max)) & partition.visible
        bands.append(ClassBand(low, high, int(partition.rows[within].sum()), int(within.sum())))
    return tuple(bands)


def _riskiest(partition: Partition, counted: Counted, most: int) -> tuple[RiskyRow, ...]:
    """Rows of the smallest classes; among equal ones those that fewer columns suffice to single out come first."""
    table = partition.table
    known = None if table.population is None or table.population.table is None else people_behind(partition)[0]
    sizes = partition.sizes[partition.members]  # (distinct,) int64
    people = sizes if known is None else known[partition.members]
    single, double = np.zeros(table.distinct, dtype=np.int64), np.zeros(table.distinct, dtype=np.int64)
    for columns, (_, alike) in counted.items():
        (single if len(columns) == 1 else double)[alike == 1] += 1
    order = np.lexsort((np.arange(table.distinct), -double, -single, sizes, people))[:most]
    return tuple(
        RiskyRow(
            {h.name: h.leaves[int(table.codes[row, column])] for column, h in enumerate(table.hierarchies)},
            int(sizes[row]),
            None if known is None else int(people[row]),
            _alone_by(table.schema.quasi, counted, int(row)),
        )
        for row in order.tolist()
    )


def _alone_by(names: Sequence[str], counted: Counted, row: int) -> tuple[tuple[str, ...], ...]:
    """Columns and pairs by which a row differs from all others; no pair with a column that does so by itself."""
    alone = [columns for columns, (_, alike) in counted.items() if alike[row] == 1]
    single = {columns[0] for columns in alone if len(columns) == 1}
    kept = [columns for columns in alone if len(columns) == 1 or not single & set(columns)]
    return tuple(tuple(names[place] for place in columns) for columns in kept)
