"""How likely a person is recognised in a release: by a prosecutor, a journalist, a marketer; and who pays for it.

* The prosecutor knows that a person is in the table: risk 1/f in a class of f.
* The journalist does not: risk 1/F, where F counts the class in the population.
* The marketer wants as many as possible: the mean of 1/F over the rows, a share of rows recognised.

Where neither a population table nor a sampling fraction is known, F is not estimable, and the answer says so. With a
fraction alone the numbers are upper ends, which hold in any population, with the expectation under a model beside them.
Dropped rows are not in the release and have no risk; the class of masked rows is one of the classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from kpareto.errors import BadJob, did_you_mean
from kpareto.measures.population import Uniques, bound_people, estimate_uniques, expected_risk, people_behind
from kpareto.measures.properties import group_means
from kpareto.tables.partition import Partition, classes
from kpareto.tables.recoding import bottom
from kpareto.tables.table import Population, Table

Attacker = Literal["prosecutor", "journalist", "marketer"]
THRESHOLDS: tuple[Fraction, ...] = (Fraction(1, 3), Fraction(1, 5), Fraction(1, 11), Fraction(1, 20))
# What others ask for, by name (docs/risk.md); none of them is law under the GDPR.
PRESETS: Mapping[str, Fraction] = {
    "statistics-3": Fraction(1, 3),
    "statistics-5": Fraction(1, 5),
    "cms-11": Fraction(1, 11),  # no cell of 1 to 10
    "ema-0070": Fraction(1, 11),  # 0.09
    "health-canada": Fraction(1, 11),  # 0.09
    "strict-20": Fraction(1, 20),
}
ESTIMATED = (
    "estimated, not counted, from a sampling fraction of {fraction:g}: at most this, with a chance of 95 % if the rows "
    "are a random sample; what a model expects can be several times too low"
)
NOT_ESTIMABLE = "not estimable: neither a population table nor a sampling fraction is known"


@dataclass(frozen=True)
class Above:
    """Rows whose risk is above a threshold; a class of 5 is not above 1/5."""

    threshold: float
    rows: int
    share: float


@dataclass(frozen=True)
class Risk:
    """The risk that one kind of attacker poses; numbers are None where they are not estimable or have no meaning."""

    attacker: Attacker
    rows: int  # of the release
    highest: float | None
    mean: float | None
    above: tuple[Above, ...]
    basis: str  # where the numbers come from
    estimated: bool = False  # upper ends, not counts
    expected: float | None = None  # the mean under a model (Benedetti and Franconi 1998), which can be far too low

    @property
    def known(self) -> bool:
        """Whether the risk could be counted or estimated."""
        return self.mean is not None

    def to_dict(self) -> dict[str, object]:
        """The risk of one attacker as plain data."""
        return {**vars(self), "above": [vars(each) for each in self.above]}


@dataclass(frozen=True)
class Risks:
    """The three risks of one table or release, and how many persons are unique in the population."""

    prosecutor: Risk
    journalist: Risk
    marketer: Risk
    unique_rows: int  # alone in their class in the table
    uniques: Uniques | None  # in the population, where only the sampling fraction is known

    def to_dict(self) -> dict[str, object]:
        """The risks of all attackers as plain data."""
        return {
            "prosecutor": self.prosecutor.to_dict(),
            "journalist": self.journalist.to_dict(),
            "marketer": self.marketer.to_dict(),
            "unique_rows": self.unique_rows,
            "population_uniques": None if self.uniques is None else self.uniques.to_dict(),
        }


@dataclass(frozen=True)
class RiskChange:
    """The risks of the raw table, and of the release made of it."""

    before: Risks
    after: Risks

    def to_dict(self) -> dict[str, object]:
        """The risks before and after as plain data."""
        return {"before": self.before.to_dict(), "after": self.after.to_dict()}


def risks(
    partition: Partition, population: Population | None = None, thresholds: Sequence[Fraction | float] = THRESHOLDS
) -> Risks:
    """The risks of a release for three attackers.

    The prosecutor knows that a person is in it, the journalist does not, and the marketer wants as many as possible.

    Parameters
    ----------
    partition : Partition
        The classes of the release.
    population : Population, optional
        Whom the rows were drawn from; that of the table unless given. Without any, only the prosecutor's risk is known.
    thresholds : sequence of float or Fraction, optional
        Risks above which rows are counted.

    Returns
    -------
    Risks
        Those of the prosecutor, the journalist and the marketer, and the rows that are unique.

    Raises
    ------
    BadInput
        If a threshold is no probability.

    Examples
    --------
    >>> import kpareto as kp
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> kp.risks(point.partition).prosecutor.highest
    0.2
    """
    chosen = [_threshold(border) for border in thresholds]
    known = population or partition.table.population or Population()
    seen = partition.visible
    seen = seen & (partition.sizes > 0) if partition.sizes[seen].any() else seen  # nobody is recognised in the others
    sizes = np.maximum(partition.sizes[seen], 1)
    rows = partition.rows[seen] if partition.table.persons is None else sizes
    prosecutor = _count_risks("prosecutor", rows, sizes, chosen, "class sizes of the release")
    alone = int(rows[sizes == 1].sum())
    if not known.known:
        total = int(rows.sum())
        journalist = Risk("journalist", total, None, None, (), NOT_ESTIMABLE)
        return Risks(prosecutor, journalist, Risk("marketer", total, None, None, (), NOT_ESTIMABLE), alone, None)
    uniques = None
    if known.table is not None:
        same = population is None or population is partition.table.population
        paired = partition if same else replace(partition, table=partition.table.drawn_from(known))
        there = people_behind(paired)[0][seen]
        journalist = _count_risks("journalist", rows, there, chosen, f"a population table of {known.table.rows:,} rows")
    else:
        fraction = float(known.fraction or 1.0)
        census = fraction == 1
        basis = "class sizes of the release, a census" if census else ESTIMATED.format(fraction=fraction)
        there = bound_people(sizes, partition.table, fraction)
        journalist = _count_risks("journalist", rows, there, chosen, basis)
        if len(sizes):
            mean = None if census else float(rows @ expected_risk(sizes, fraction) / rows.sum())
            journalist = replace(journalist, estimated=not census, expected=mean)
            uniques = estimate_uniques(sizes, fraction, known.estimator)
    marketer = replace(journalist, attacker="marketer", highest=None, above=())
    return Risks(prosecutor, journalist, marketer, alone, uniques)


def _threshold(probability: Fraction | float) -> Fraction:
    border = probability if isinstance(probability, Fraction) else Fraction(repr(float(probability)))
    if not 0 <= border <= 1:
        raise BadJob(f"A risk threshold is {probability!r}. Give a probability from 0 to 1.")
    return border


def threshold(preset: str) -> Fraction:
    """A risk threshold by the name of who asks for it."""
    if preset not in PRESETS:
        raise BadJob(
            f"No risk preset {preset!r}. {did_you_mean(preset, PRESETS)}The presets are: {', '.join(PRESETS)}."
        )
    return PRESETS[preset]


def _count_risks(
    attacker: Attacker, rows: np.ndarray, sizes: np.ndarray, thresholds: Sequence[Fraction], basis: str
) -> Risk:
    """Risks 1 / size, compared with thresholds in whole numbers."""
    total = int(rows.sum())
    if not total:
        return Risk(attacker, 0, 0.0, 0.0, tuple(Above(float(t), 0, 0.0) for t in thresholds), basis)
    over = [int(rows[sizes * t.numerator < t.denominator].sum()) for t in thresholds]
    above = tuple(Above(float(t), n, n / total) for t, n in zip(thresholds, over, strict=True))
    return Risk(attacker, total, 1.0 / int(sizes.min()), float((rows / sizes).sum() / total), above, basis)


def raw_risks(table: Table, population: Population | None = None) -> Risks:
    """The risks of the table as it is, nothing generalized or suppressed."""
    return risks(classes(table, bottom(table.hierarchies)), population)


def risk_change(partition: Partition, population: Population | None = None) -> RiskChange:
    """The risks before, of the raw table, and after, of the release."""
    return RiskChange(raw_risks(partition.table, population), risks(partition, population))


@dataclass(frozen=True)
class GroupRow:
    """How one group of a column fares in a release."""

    group: str
    rows: int
    suppressed_rows: int
    suppressed: float  # share of the group's rows
    loss: float  # mean row loss, 1 where every cell is lost
    protection: float  # mean 1 − 1 / class size


@dataclass(frozen=True)
class BiasTable:
    """Who is suppressed or generalized most, by the groups of one column, those with the largest loss first."""

    by: str
    rows: tuple[GroupRow, ...]
    suppressed_gap: float  # largest − smallest share suppressed
    loss_gap: float  # largest − smallest mean loss

    def to_dict(self) -> dict[str, object]:
        """The table as plain data."""
        return {**vars(self), "rows": [vars(row) for row in self.rows]}


def bias_table(partition: Partition, by: str) -> BiasTable:
    """How each value of a quasi-identifier, sensitive or target column fares in the release."""
    gone, loss, safe = (group_means(partition, by, of) for of in ("suppressed", "loss", "protection"))
    rows = [
        GroupRow(group, int(n), round(float(n * s)), float(s), float(lost), float(protection))
        for group, n, s, lost, protection in zip(
            gone.groups, gone.rows, gone.means, loss.means, safe.means, strict=True
        )
    ]
    rows.sort(key=lambda row: (-row.loss, -row.suppressed, row.group))
    return BiasTable(by, tuple(rows), gone.gap(), loss.gap())


def bias_tables(partition: Partition, most: int = 50) -> tuple[BiasTable, ...]:
    """A bias table for every column with at most so many values: quasi-identifiers, sensitive and target columns."""
    table = partition.table
    names = [h.name for c, h in enumerate(table.hierarchies) if int(table.observed[c].sum()) <= most]
    names += [counts.name for counts in (*table.sensitive, *table.targets) if len(counts.values) <= most]
    return tuple(bias_table(partition, name) for name in dict.fromkeys(names))
