"""What a table is to be made of, what becomes of rows without a value, and through which hierarchies it is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from kpareto.engines.values import Dictionary, arrange, arrow_texts, blank
from kpareto.errors import BadHierarchy, BadJob, BadSchema, BadTable, shorten
from kpareto.tables.hierarchies import load
from kpareto.tables.hierarchies.loading import place_missing
from kpareto.tables.hierarchy import MISSING, Hierarchy, flat
from kpareto.tables.schema import Schema
from kpareto.tables.spelling import say_spellings
from kpareto.tables.table import Domain, Table

if TYPE_CHECKING:
    import pyarrow as pa

Missing = Literal["drop", "category", "error"]
POLICIES: tuple[Missing, ...] = ("drop", "category", "error")
MOST_COMPARED = 100_000  # values of a quasi-identifier of which spellings are compared
MOST_DROPPED = 0.05  # share of the rows that may vanish for a missing value without anybody having said so


@dataclass(frozen=True, eq=False)
class Wish:
    """What a table is to be made of, and how."""

    schema: Schema
    missing: Missing | None  # None: drop where that costs few rows, else category
    missing_values: Sequence[object]
    hierarchies: Mapping[str, object] | Sequence[Hierarchy] | None
    domain: Domain
    # Column -> values that should have a place in its hierarchy although no row has them: those of a population.
    further: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise BadSchema(
                f"The schema is a {type(self.schema).__name__}. Give a kpareto.Schema, such as "
                'kpareto.Schema(quasi=["age", "zip"], sensitive=["diagnosis"]), or kpareto.inspect(source).schema.'
            )
        if not isinstance(self.hierarchies, Mapping | Sequence | None) or isinstance(self.hierarchies, str):
            raise BadHierarchy(
                f"hierarchies is {self.hierarchies!r:.60}. Give a dict from columns to hierarchies, such as "
                '{"age": {"intervals": [5, 10]}}.'
            )
        if self.missing is not None and self.missing not in POLICIES:
            known = ", ".join(POLICIES)
            raise BadJob(f"Missing values can be treated by {known}, not {self.missing!r}. Take one of these.")
        if self.domain not in ("observed", "declared"):
            raise BadJob(f"The domain is {self.domain!r}. Take 'observed' or 'declared'.")

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that a hierarchy is given for."""
        return tuple(form.name if isinstance(form, Hierarchy) else str(form) for form in self.hierarchies or ())

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that are read; the quasi-identifiers come first."""
        return self.schema.counted

    @property
    def marks(self) -> tuple[object, ...]:
        """The texts that stand for no value."""
        return (self.missing_values,) if isinstance(self.missing_values, str) else (*self.missing_values,)

    def blank(self, texts: pa.Array) -> pa.Array:
        """The texts, null where they stand for no value."""
        marks = [*self.marks]
        return blank(texts, [*marks, MISSING] if self.missing in ("category", None) else marks)  # as a release has it

    def settled(self, complete: int, rows: int) -> Wish:
        """The wish with a policy, where none was named: no more than a small share of the rows vanishes unasked."""
        if self.missing is not None:
            return self
        return replace(self, missing="drop" if rows - complete <= MOST_DROPPED * rows else "category")

    def words(self, dropped: int, rows: int) -> tuple[str, ...]:
        """What became of rows with a missing value, in a sentence; ``dropped``: rows without a value somewhere."""
        if not dropped:
            return ()
        share = f"{dropped:,} of {rows:,} rows ({dropped / rows:.1%}) have a missing value"
        if self.missing == "drop":
            return (f"{share} and are left out; the setting missing can keep them as a category.",)
        return (f"{share}, which counts as a value of its own; the setting missing can drop them.",)

    def spelling_words(self, values: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """What became of values that differ in spelling only, a sentence for each column that has some."""
        schema = self.schema
        one = 'they count as the same. With spellings = "exact" under [data], or in the Schema, they are told apart.'
        whose = one if schema.spellings == "fold" else "they count as different ones, as was asked for."
        sentences = [
            say_spellings(name, values[name], whose) for name in dict.fromkeys((*schema.sensitive, *schema.persons))
        ]
        other = "recodings take them as different values. Mend them where they mean the same."
        sentences += [say_spellings(n, values[n], other) for n in schema.quasi if len(values[n]) <= MOST_COMPARED]
        return tuple(filter(None, sentences))

    def check_missing(self, lost: Mapping[str, int], rows: int, left: int) -> None:
        """Raise where values are missing (rows per column) and may not be, or where no row is left."""
        if self.missing == "error" and any(lost.values()):
            named = [f"{name!r} ({count:,} of {rows:,} rows)" for name, count in lost.items() if count]
            raise BadTable(
                f"Values are missing in {shorten(named)}. Give missing='drop' to leave these rows out, or "
                "missing='category' to keep them as a value of their own."
            )
        if not left:
            worst = max(lost, key=lambda name: lost[name])
            raise BadTable(
                f"No row is left: each of the {rows:,} rows has a missing value, {lost[worst]:,} of them in {worst!r}. "
                "Give missing='category' to keep them, or leave that column out of the schema."
            )


def load_hierarchies(
    table: Table, forms: Mapping[str, object] | Sequence[Hierarchy], further: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Hierarchy]:
    """Hierarchies by column; rules, files and frames are made into one with the values of the column.

    ``further`` values of a column get a place too, where a rule or the lack of one decides which values there are.
    """
    named = forms if isinstance(forms, Mapping) else {hierarchy.name: hierarchy for hierarchy in forms}
    more = {name: values for name, values in (further or {}).items() if name in table.schema.quasi}
    hierarchies = {}
    for name in [*named, *(name for name in more if name not in named)]:
        form = named.get(name)
        if isinstance(form, Hierarchy):
            known = name in table.schema.quasi  # else the table itself says so in a sentence
            leaves = table.hierarchies[table.column(name)].leaves if known else ()
            hierarchies[name] = place_missing(form, leaves)
            continue
        column = table.column(name)
        rows = dict(zip(table.hierarchies[column].leaves, table.leaf_rows[column].tolist(), strict=True))
        if form is None:
            hierarchies[name] = flat_of(name, arrange(arrow_texts([*rows, *more[name]])))
        else:
            hierarchies[name] = _load_wider(name, form, rows, more.get(name, ()))
    return hierarchies


def _load_wider(name: str, form: object, rows: Mapping[str, int], further: Sequence[str]) -> Hierarchy:
    """A hierarchy of a column's values, and of further ones where it is a rule that can place them."""
    hierarchy = load(name, form, rows)
    by_rule = hierarchy.rule is not None or (isinstance(form, Mapping) and "flat" in form)  # flat takes any value
    if not by_rule or not len(further) or bool((hierarchy.locate(further) >= 0).all()):
        return hierarchy
    try:
        return load(name, form, dict.fromkeys(further, 0) | dict(rows))
    except BadHierarchy:
        return hierarchy  # the sentence about the population names the values that have no place


def flat_of(name: str, dictionary: Dictionary) -> Hierarchy:
    """The hierarchy of a column that was just read: its values, and all of them as one group."""
    plain = flat(name, dictionary.values)
    if dictionary.kind == "text":
        return plain
    spans = None if dictionary.sizes is None else np.column_stack((dictionary.sizes, dictionary.sizes))
    return replace(plain, ordered=True, spans=spans, dates=dictionary.kind == "date")
