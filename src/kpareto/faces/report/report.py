"""What a report holds, as plain data: every renderer reads this and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from kpareto._version import __version__
from kpareto.attacks.evidence import AttackEvidence
from kpareto.fronts.picture import Drawing
from kpareto.releases.warnings import Remark
from kpareto.uses.utility import Utility

FORMAT = 1
Count = int | None  # rows or persons; None: below the report's ``least``, and so not for the public


@dataclass(frozen=True)
class Summary:
    """The release in a few numbers."""

    k: int  # smallest class
    unit: str  # rows or persons: what a class is made of
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    rows_in: Count
    rows_out: int
    suppressed: Count
    masked: bool  # suppressed rows are starred and stay in the release
    classes: int
    median_class: float
    largest_class: int
    loss: float | None  # LM: mean share of a cell that is lost
    sentences: tuple[str, ...]
    dropped: Count = 0  # rows that were left out before the search, as a value is missing


@dataclass(frozen=True)
class Promise:
    """A limit that was asked for, what it means, and what the release reaches."""

    name: str
    better: str
    asked: float | None  # None: nobody asked, and it is told all the same
    reached: float | None  # None: not for the public
    met: bool
    meaning: str


@dataclass(frozen=True)
class ColumnFate:
    """What became of a column, in words."""

    name: str
    kind: str
    words: str
    loss: float | None  # mean share of a released cell's detail that is lost; None where that was not measured


@dataclass(frozen=True)
class Board:
    """The first page, for people who decide: what is protected, lost, gone, still possible, and who checked it."""

    promises: tuple[Promise, ...]
    protected: tuple[str, ...]
    columns: tuple[ColumnFate, ...]
    lost: tuple[str, ...]
    gone: tuple[str, ...]
    possible: tuple[str, ...]
    checked: tuple[str, ...]


@dataclass(frozen=True)
class Objective:
    """One axis of the trade-off."""

    name: str
    better: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class FrontPoint:
    """One trade-off of the front's table."""

    id: int
    values: Mapping[str, float | None]  # None: not for the public
    suppressed: Count
    classes: int
    levels: Mapping[str, int]  # level of each column, or its groups where the recoding is not by levels
    marks: tuple[str, ...]


@dataclass(frozen=True)
class FrontPart:
    """Every trade-off, and the one that was chosen."""

    objectives: tuple[Objective, ...]
    points: tuple[FrontPoint, ...]  # an even choice of them where there are many
    chosen: int  # id
    choice: str  # the words it was chosen by
    count: int
    left_out: int  # points that the public does not see
    left_out_note: str  # which these are, and why; empty where there are none
    by_levels: bool
    drawing: Drawing | None
    proof: str
    marks: tuple[str, ...]  # which point is recommended, and what the next class sizes in common use cost


@dataclass(frozen=True)
class SampleRow:
    """A row as it was and as it is released."""

    before: tuple[str, ...] | None  # None: not for the public
    after: tuple[str, ...]
    size: Count  # of its class
    suppressed: bool


@dataclass(frozen=True)
class SampleView:
    """Some rows, before and after."""

    columns: tuple[str, ...]
    quasi: int  # so many of the columns, the first ones, are quasi-identifiers
    rows: tuple[SampleRow, ...]
    note: str


@dataclass(frozen=True)
class LevelBand:
    """One level of a hierarchy: its groups as runs of leaves; in public, of boxes that tell no number of leaves."""

    name: str
    groups: int
    chosen: bool
    runs: tuple[tuple[int, int, str], ...]  # first and last leaf or box, label; empty where they are too many to draw


@dataclass(frozen=True)
class Code:
    """A label of the release: what it stands for, and how many rows show it."""

    label: str
    first: str | None  # first and last leaf; None: not for the public
    last: str | None
    leaves: Count  # None: how many values occur is not for the public
    values: tuple[str, ...]  # the leaves by name, where they are no numbers and few enough
    rows: int
    suppressed: Count


@dataclass(frozen=True)
class ColumnPart:
    """One quasi-identifier: its hierarchy, the chosen cut, what that costs, and the code book."""

    name: str
    level: int | None  # None: the cut is not a level
    height: int
    leaves: Count  # None: how many values occur is not for the public
    groups: int  # labels that released rows show
    kept: bool  # each value is its own label
    hidden: bool  # every row shows a star
    loss: float | None  # mean share of a cell that is lost, suppressed rows counted as lost
    kept_loss: float  # the same over the released rows alone
    bands: tuple[LevelBand, ...]
    codes: tuple[Code, ...]
    withheld: bool  # some values or levels are not shown, because they may tell about the rows
    data_dependent: bool
    digest: str
    by_class: bool = False  # labels differ from class to class, and some may lie within others
    words: str = ""  # what the release shows of it


@dataclass(frozen=True)
class Sizes:
    """Classes whose size lies between two borders."""

    low: int
    high: int
    classes: int
    rows: int
    suppressed: bool


@dataclass(frozen=True)
class RiskSide:
    """One attacker's risk, before or after."""

    highest: float | None
    mean: float | None
    above: tuple[tuple[float, Count, float | None], ...]  # threshold, rows, share
    basis: str
    estimated: bool = False  # upper ends, not counts
    shown: bool = True  # False: not for the public, so that its numbers are None


@dataclass(frozen=True)
class RiskPart:
    """One attacker, before and after."""

    attacker: str
    meaning: str
    before: RiskSide
    after: RiskSide


@dataclass(frozen=True)
class ProfileRow:
    """How one group of people fares."""

    group: str
    rows: int
    suppressed: int
    share: float
    loss: float


@dataclass(frozen=True)
class ProfileView:
    """Who disappears and who is generalized most, by the groups of one column."""

    by: str
    rows: tuple[ProfileRow, ...]
    merged: bool  # groups are taken together because of their small counts; how many is not for the public


@dataclass(frozen=True)
class Method:
    """How it was done, so that another person can do it again."""

    statement: tuple[str, ...]
    proof: str
    papers: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    hashes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FormField:
    """A line of the form: filled from the run, or left for a person to fill in."""

    label: str
    value: str | None
    hint: str = ""


@dataclass(frozen=True)
class GridView:
    """A table of the form."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A numbered part of the form."""

    title: str
    fields: tuple[FormField, ...] = ()
    grid: GridView | None = None
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class Template:
    """The anonymisation report in the shape that regulators ask for."""

    intro: tuple[str, ...]
    sections: tuple[Section, ...]


RELEASED = "released file"  # what the hash of the written rows is called


@dataclass(frozen=True)
class Report:
    """Everything a run found."""

    title: str
    confidential: bool
    least: int  # counts of rows from 1 to below this are not shown in public
    date: str | None
    summary: Summary
    board: Board
    front: FrontPart
    sample: SampleView
    columns: tuple[ColumnPart, ...]
    sizes: tuple[Sizes, ...]
    risks: tuple[RiskPart, ...]
    profiles: tuple[ProfileView, ...]
    profile_note: str
    warnings: tuple[Remark, ...]
    tests: tuple[str, ...]  # what each attack test means
    method: Method
    template: Template
    use: Utility | None = None  # what an analyst still gets, where it was measured
    attacks: AttackEvidence | None = None  # on people, where they were tried

    @property
    def released(self) -> bool:
        """Whether the rows were written, so that a certificate speaks of them; else the point is a candidate."""
        return any(name == RELEASED for name, _ in self.method.hashes)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, for JSON."""
        use = None if self.use is None else self.use.to_dict()
        attacks = None if self.attacks is None else self.attacks.to_dict()
        plain = asdict(replace(self, use=None, attacks=None))
        return {"kpareto report": FORMAT, "version": __version__, **plain, "use": use, "attacks": attacks}
