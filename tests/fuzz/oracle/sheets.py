"""The nouns of the oracle: a sheet of texts, a suppression rule, classes, and a sheet that was parted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Number = Fraction | float
Levels = tuple[int, ...]
Step = Mapping[str, str]  # leaf -> name of its group
INFINITE = math.inf
SLACK = 1e-12  # a limit is met by equal numbers, however they were rounded


@dataclass(frozen=True)
class Sheet:
    """Rows as texts, and per quasi-identifier its steps: level -> leaf -> group."""

    quasi: tuple[tuple[str, ...], ...]  # row -> leaf of each quasi-identifier
    steps: tuple[tuple[Step, ...], ...]  # column -> level -> leaf -> group; level 0 keeps each leaf
    sensitive: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> value of each row
    target: tuple[str, ...] | None = None
    persons: tuple[str, ...] | None = None
    weights: tuple[float, ...] = ()  # of the quasi-identifiers, 1 unless given
    domain: str = "observed"  # or declared: which leaves a loss counts

    def leaves(self, column: int) -> frozenset[str]:
        """The leaves that count in a loss."""
        if self.domain == "declared":
            return frozenset(self.steps[column][0])
        return frozenset(row[column] for row in self.quasi)

    @property
    def nodes(self) -> list[Levels]:
        """Every node of the lattice."""
        return list(itertools.product(*(range(len(steps)) for steps in self.steps)))


@dataclass(frozen=True)
class Rule:
    """How classes are suppressed."""

    name: str = "cap-max-k"
    limit: float = 0.0
    k: int = 0  # of below-k
    mask: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)  # of as-needed
    objectives: tuple[str, ...] = ()  # of as-needed, which takes thresholds of the privacy models among them

    def allowed(self, rows: int) -> int:
        """Rows that may be suppressed."""
        return int(self.limit) if self.limit >= 1 else math.floor(Fraction(str(self.limit)) * rows)


@dataclass(frozen=True)
class Class:
    """Rows that look alike."""

    key: tuple[str, ...]
    rows: tuple[int, ...]
    size: int  # persons where they are told apart, else rows
    lost: bool = False  # its cells are suppressed
    seen: bool = True  # an onlooker sees its rows


@dataclass(frozen=True)
class Parted:
    """A sheet under a recoding, with what is suppressed."""

    sheet: Sheet
    recoding: tuple[Step, ...]
    classes: tuple[Class, ...]
    feasible: bool = True
    levels: Levels | None = None

    @property
    def seen(self) -> list[Class]:
        """What an onlooker sees."""
        return [c for c in self.classes if c.seen]

    @property
    def kept(self) -> list[Class]:
        """Classes that keep their cells."""
        return [c for c in self.classes if not c.lost]

    @property
    def lost(self) -> list[int]:
        """Rows whose cells are suppressed."""
        return [row for c in self.classes if c.lost for row in c.rows]

    @property
    def count(self) -> int:
        """Rows of the sheet."""
        return len(self.sheet.quasi)


def size_of(sheet: Sheet, rows: Sequence[int]) -> int:
    """Persons among rows where they are told apart, else rows."""
    return len(rows) if sheet.persons is None else len({sheet.persons[row] for row in rows})
