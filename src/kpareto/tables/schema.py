"""Which column is what: identifier, quasi-identifier, sensitive, target or plain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kpareto.errors import BadSchema, KparetoError, did_you_mean, shorten

Role = Literal["identifier", "quasi-identifier", "sensitive", "target", "plain"]
Spellings = Literal["fold", "exact"]
SPELLINGS: tuple[Spellings, ...] = ("fold", "exact")
ROLES: tuple[Role, ...] = ("identifier", "quasi-identifier", "sensitive", "target", "plain")
# What a job may say of a column instead of a role: that a person has to give it one. Until then it is left out.
DECIDE: Literal["decide"] = "decide"


def as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names of columns: one text, or several."""
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable) or isinstance(names, Mapping | bytes):
        raise BadSchema(f"{names!r:.60} are no names of columns. Give a list of texts, or one text.")
    listed = tuple(names)
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong:
        raise BadSchema(f"{wrong[0]!r:.60} is no name of a column. Give a list of texts, or one text.")
    return listed


def refuse_duplicates(names: Sequence[str]) -> None:
    """Raise where two columns have one name."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise BadSchema(
            f"The table has two columns named {twice!r}. Rename one of them, or have them numbered: "
            "number_duplicates = true under [data] of the job, --form number_duplicates=true for inspect, and for "
            "frames in Python kpareto.number_duplicates(frame)."
        )


def check_release_names(columns: Sequence[str]) -> None:
    """Raise where columns could not be released under their names."""
    seen: dict[str, str] = {}
    for name in columns:
        if not name:
            raise BadSchema("A column of the source has no name. Give it one.")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise BadSchema(f"Columns {other!r} and {name!r} differ in case only. Rename one of them.")


def check_quasi(names: Iterable[str], quasi: Sequence[str], begin: str, error: type[KparetoError]) -> None:
    """Raise where something is given for a column that is no quasi-identifier; ``begin`` begins the sentence."""
    for name in names:
        if name not in quasi:
            raise error(
                f"{begin} {name!r}, which is not a quasi-identifier. "
                f"{did_you_mean(name, quasi)}The quasi-identifiers are: {shorten(quasi)}."
            )


def read_levels(levels: Any, name: str) -> tuple[int, int]:
    """The least and the highest level that a column may be released at, from a list of the two."""
    pair = list(levels) if isinstance(levels, list | tuple) else []
    if len(pair) != 2 or any(isinstance(level, bool) or not isinstance(level, int) for level in pair):
        raise BadSchema(f"The levels of {name!r} are {levels!r:.60}. Give two whole numbers such as [1, 3].")
    if not 0 <= pair[0] <= pair[1]:
        raise BadSchema(
            f"The levels of {name!r} are {levels!r:.60}. Give the least level first, 0 or more, and then the highest."
        )
    return pair[0], pair[1]


@dataclass(frozen=True)
class Schema:
    """The role of each column; a column that is named nowhere is plain, and was not declared to be.

    A sensitive column may also be the target (warning W12, IY-16); every other pair of roles is an error.

    Parameters
    ----------
    quasi : sequence of str
        The quasi-identifiers: columns that others may know of a person. At least one.
    sensitive : sequence of str, optional
        Columns that others want to learn.
    target : sequence of str, optional
        Columns that are to be predicted from the others after the release.
    identifier : sequence of str, optional
        Columns that name a person, such as an insurance number; they are left out, or become tokens (``Handling``).
    person : str or sequence of str, optional
        The column, or the columns together, that tell persons apart: everything then counts persons, not rows.
    weights : mapping of str to float, optional
        Quasi-identifier -> weight in the loss, 1 unless given.
    plain : sequence of str, optional
        Columns that are meant to leave as they are. One that is not named here and looks like a direct identifier stops
        a release.
    spellings : {'fold', 'exact'}, optional
        Whether sensitive values, and persons, that differ only in case, blanks, the form of their characters or as
        numbers are written (1 and 1.0) are one.
    levels : mapping of str to (int, int), optional
        Quasi-identifier -> the least and the highest level of its hierarchy that may be released, such as (1, 3).

    Raises
    ------
    BadInput
        If no column is a quasi-identifier, a column has two roles, a weight is no number of at least 0, or levels are
        not two rising whole numbers.

    Examples
    --------
    >>> import kpareto as kp
    >>> schema = kp.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], identifier=["name"])
    >>> schema.role("name"), schema.role("ward")
    ('identifier', 'plain')
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    person: str | tuple[str, ...] | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    plain: tuple[str, ...] = ()
    spellings: Spellings = "fold"
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("quasi", "sensitive", "target", "identifier", "plain"):
            object.__setattr__(self, name, as_names(getattr(self, name)))
        if not self.quasi:
            raise BadSchema(
                "No column is a quasi-identifier. Name at least one column that others may know about a person."
            )
        seen: dict[str, str] = {}
        for role, names in self.roles().items():
            for name in names:
                other = seen.get(name)
                if other == role:
                    raise BadSchema(f"Column {name!r} is named twice as {role}. Name it once.")
                if other is not None and {other, role} != {"sensitive", "target"}:
                    raise BadSchema(f"Column {name!r} is both {other} and {role}. Give it one role.")
                seen[name] = role
        self._check_person(seen)
        if self.spellings not in SPELLINGS:
            raise BadSchema(f"spellings is {self.spellings!r}. Write 'fold' or 'exact'.")
        check_quasi(self.weights, self.quasi, "A weight is given for", BadSchema)
        for name, weight in self.weights.items():
            if not 0 <= weight < float("inf"):
                raise BadSchema(f"The weight of {name!r} is {weight!r}. Give a number of at least 0.")
        if self.weights and not any(self.weight(name) > 0 for name in self.quasi):
            raise BadSchema("Every weight is 0. Give at least one quasi-identifier a weight above 0.")
        check_quasi(self.levels, self.quasi, "Levels are given for", BadSchema)
        object.__setattr__(self, "levels", {name: read_levels(pair, name) for name, pair in self.levels.items()})

    def _check_person(self, roles: Mapping[str, str]) -> None:
        """One column stays a text, several are a tuple; none of them may be released."""
        if self.person is not None and not isinstance(self.person, str):
            names = as_names(self.person)
            if not names or len(set(names)) < len(names):
                raise BadSchema(f"person is {self.person!r}. Name the columns that tell persons apart, each once.")
            object.__setattr__(self, "person", names[0] if len(names) == 1 else names)
        for name in self.persons:
            if roles.get(name) in ("quasi-identifier", "sensitive", "target"):
                raise BadSchema(
                    f"Column {name!r} tells persons apart and also has the role {roles[name]}. "
                    "A person id must not be released: give the column no other role than identifier."
                )

    @property
    def persons(self) -> tuple[str, ...]:
        """The columns that tell persons apart; none, one or several."""
        return () if self.person is None else (self.person,) if isinstance(self.person, str) else self.person

    def roles(self) -> dict[Role, tuple[str, ...]]:
        """The named columns by role (columns that are named nowhere are plain too)."""
        return {
            "identifier": self.identifier,
            "quasi-identifier": self.quasi,
            "sensitive": self.sensitive,
            "target": self.target,
            "plain": self.plain,
        }

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is read or left out, in the order of roles; those that tell persons apart come last."""
        return tuple(dict.fromkeys((*self.quasi, *self.sensitive, *self.target, *self.identifier, *self.persons)))

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns that classes and measures are made of: all but the identifiers."""
        return tuple(name for name in self.named if name not in self.identifier or name in self.persons)

    def role(self, name: str) -> Role:
        """The role of one column; a person column is an identifier, sensitive wins over target."""
        if name in self.persons:
            return "identifier"
        for role in ("quasi-identifier", "sensitive", "target", "identifier"):
            if name in self.roles()[role]:
                return role
        return "plain"

    def weight(self, name: str) -> float:
        """The weight of a quasi-identifier in the loss, 1 unless given."""
        return float(self.weights.get(name, 1.0))

    def check(self, columns: Iterable[str]) -> None:
        """Raise unless every named column is among ``columns``."""
        have = list(columns)
        refuse_duplicates(have)
        for name in self.named:
            if name not in have:
                raise BadSchema(f"No column {name!r} in the table. {did_you_mean(name, have)}It has: {shorten(have)}.")
