"""How much may come in: the memory that is allowed, and what is done where the distinct rows need more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from kpareto.errors import BadJob, BadTable, did_you_mean, shorten
from kpareto.grouped import Held
from kpareto.memory import UNKNOWN_VALUES, VALUE, allowed, most_distinct, size_text, table_bytes
from kpareto.schema import Schema

TooMany = Literal["error", "coarsen", "sample"]
Coarsen = Literal["needed", "always"]
WORTH_SAYING = 100_000_000  # bytes; nobody wants to hear what a small table takes


@dataclass(frozen=True)
class Admission:
    """What may come in.

    ``memory`` is the most that may be used ("2 GB"; half of what is free unless given). Where the distinct rows need
    more, ``too_many`` decides: an error; ``coarsen``, which reads each column named in ``first`` by the groups of that
    level of its hierarchy; or ``sample``, which reads so many rows, drawn by ``seed``. ``coarsen="always"`` reads by
    the first levels in any case.
    """

    memory: str | int | None = None
    too_many: TooMany = "error"
    first: Mapping[str, int] = field(default_factory=dict)
    coarsen: Coarsen = "needed"
    sample: int = 200_000
    seed: int = 1

    def __post_init__(self) -> None:
        for name, known in (("too_many", get_args(TooMany)), ("coarsen", get_args(Coarsen))):
            given = getattr(self, name)
            if given not in known:
                near = did_you_mean(given, known) if isinstance(given, str) else ""
                raise BadJob(f"{name} is {given!r}. {near}Take one of: {', '.join(known)}.")
        for name, level in self.first.items():
            if isinstance(level, bool) or not isinstance(level, int) or level < 0:
                raise BadJob(f"The first level of {name!r} is {level!r}. Give a whole number of at least 0.")
        if (self.too_many == "coarsen" or self.coarsen == "always") and not any(self.first.values()):
            raise BadJob(
                "To read coarser, a first level is needed. Give first = 2, say, under [columns.NAME] in the job, or "
                "first={'zip': 2} in Python."
            )
        for name, least in (("sample", 1), ("seed", 0)):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int) or given < least:
                raise BadJob(f"{name} is {given!r}. Give a whole number of at least {least}.")
        if self.memory is not None:
            allowed(self.memory)

    def check(self, schema: Schema) -> None:
        """Raise where a first level is given for a column that has none."""
        for name in self.first:
            if name not in schema.quasi:
                raise BadJob(
                    f"A first level is given for {name!r}, which is not a quasi-identifier. "
                    f"{did_you_mean(name, schema.quasi)}The quasi-identifiers are: {shorten(schema.quasi)}."
                )


@dataclass(frozen=True)
class Need:
    """How much memory distinct rows need, and how much there is."""

    distinct: int
    rows: int | None
    columns: tuple[str, ...]
    values: tuple[int, ...]  # per column, about; empty where nobody knows
    quasi: int
    memory: int

    @property
    def counts(self) -> list[int]:
        """The values of each column that is no quasi-identifier."""
        return list(self.values[self.quasi :]) or [UNKNOWN_VALUES] * (len(self.columns) - self.quasi)

    def bytes(self, distinct: int | None = None) -> int:
        """About the memory that these rows need, or so many distinct ones of them."""
        count = self.distinct if distinct is None else distinct
        return table_bytes(count, len(self.columns), self.counts, sum(self.values))

    @property
    def fits(self) -> bool:
        """Whether they may come in."""
        return self.bytes() <= self.memory

    def most(self) -> int:
        """How many distinct rows would fit."""
        return most_distinct(max(self.memory - VALUE * sum(self.values), 1), len(self.columns), self.counts)

    def words(self) -> str:
        """For a person: ``1,204,000 distinct rows of 10,000,000; about 310 MB.``."""
        of = "" if self.rows is None else f" of {self.rows:,}"
        return f"{self.distinct:,} distinct rows{of}; about {size_text(self.bytes())}."

    def refusal(self, tried: str = "") -> BadTable:
        """Why they may not, and what to do."""
        ranked = sorted(zip(self.values, self.columns, strict=False), reverse=True)
        most = shorten([f"{name} ({count:,})" for count, name in ranked], 4)
        of = "" if self.rows is None else f" (of {self.rows:,})"
        return BadTable(
            f"The table has {self.distinct:,} distinct rows{of}{tried}, which need about {size_text(self.bytes())}, "
            f"and {size_text(self.memory)} may be used. "
            + (f"The columns with most values are {most}. " if ranked else "")
            + 'Allow more memory, give fewer columns a role, read coarser (too_many = "coarsen" and a first level for '
            'these columns), or search on a sample (too_many = "sample").'
        )

    def too_many_values(self) -> BadTable:
        """A column of names, say, of which not even the values fit."""
        count, name = max(zip(self.values, self.columns, strict=True))
        return BadTable(
            f"Column {name!r} has about {count:,} different values, which alone do not fit into the "
            f"{size_text(self.memory)} that may be used. Give it no role, or allow more memory."
        )


def need_of(found: Held, schema: Schema, admission: Admission) -> Need:
    """What the distinct rows of a source need."""
    memory = allowed(admission.memory)
    return Need(found.distinct, found.rows, found.wanted, found.values, len(schema.quasi), memory)
