"""A family of plausible hierarchies of Adult: PO and PB do not print theirs, so their numbers are given as ranges too.

Each member has the heights that the papers imply (17,920 nodes). They differ where a choice is free: the widths of age
groups, and whether a bachelor's degree counts as the highest level of education or as college.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

from kpareto.fronts.problem import problem
from kpareto.tables.adult import adult_hierarchies
from kpareto.tables.hierarchy import Hierarchy, from_levels
from kpareto.tables.partition import Suppression
from replication.lattices import CAP, CountedLattice, adult_counted

WIDTHS: dict[str, tuple[int, ...]] = {  # of age groups, level by level, in years from 0 on
    "doubling from 5": (5, 10, 20, 40, 80),
    "doubling from 4": (4, 8, 16, 32, 64),
    "doubling from 3": (3, 6, 12, 24, 48),
    "doubling from 2": (2, 4, 8, 16, 32),
}
AGES = ("labour force", *WIDTHS)
EDUCATIONS = ("by diploma", "graduate, college, school")
SCHOOL = {  # level 1 of the default hierarchy -> the three groups above it
    "Graduate-degree": "Graduate",
    "Bachelors": "College",
    "College-below-bachelor": "College",
    "HS-grad": "School",
    "High-school-no-diploma": "School",
    "Elementary-or-less": "School",
}


@dataclass(frozen=True)
class Member:
    """One set of hierarchies, by its choices."""

    age: str
    education: str

    @property
    def name(self) -> str:
        """For tables."""
        return f"age {self.age}; education {self.education}"

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Those that differ from the default ones."""
        changed = {}
        if self.age in WIDTHS:
            changed["age"] = _ages(self.age)
        if self.education == EDUCATIONS[1]:
            changed["education"] = _schooling()
        return changed


FAMILY = tuple(Member(age, education) for education, age in product(EDUCATIONS, AGES))
REPLICATION = Member("doubling from 5", "by diploma")


@cache
def _ages(name: str) -> Hierarchy:
    """Ages 17 to 90 in groups of these widths."""
    rows = []
    for age in range(17, 91):
        groups = [f"{age // width * width}-{age // width * width + width - 1}" for width in WIDTHS[name]]
        rows.append([str(age), *groups, "*"])
    return from_levels("age", rows)


@cache
def _schooling() -> Hierarchy:
    """Education as graduate, college and school above the groups of the default hierarchy."""
    plain = adult_hierarchies("default")["education"]
    return from_levels(
        "education",
        [[leaf, (group := plain.labels[1][plain.groups[1][place]]), SCHOOL[group], "*"]
         for place, leaf in enumerate(plain.leaves)],
    )  # fmt: skip


def member_counted(member: Member, objectives: tuple[str, ...]) -> CountedLattice:
    """Adult as PO and PB have it with the hierarchies of one member."""
    plain = adult_counted("default", objectives).problem
    changed = {name: h for name, h in member.hierarchies().items() if name in plain.table.schema.quasi}
    table = plain.table.bind(changed, domain="declared")
    return CountedLattice(problem(table, objectives, Suppression("cap-max-k", CAP)))
