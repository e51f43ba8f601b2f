"""attack: the three risks of WP216 tried on people, beside a control and beside the raw table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, overload

import numpy as np

from kpareto.attacks.trials import AttackLines, AttackOutcome, AttackPlan, Rate, RiskKind, Trials, lines_of, single_out
from kpareto.engines.read import read
from kpareto.errors import BadJob, BadTable, Progress, Unsafe, did_you_mean, shorten
from kpareto.measures.use import LabelView, fit_view, identity, view_original
from kpareto.releases.risk.attacks import AttackReport, Limits
from kpareto.releases.risk.attacks import attack as test_form
from kpareto.strict import read_whole
from kpareto.tables.partition import Partition, Suppression
from kpareto.tables.schema import Schema, as_names
from kpareto.tables.spelling import locate_spelled, percent
from kpareto.tables.table import Counts, Table
from kpareto.uses.utility import open_release

SCHEMA = "kpareto-attack-1"
ATTEMPTS, SEED = 1000, 1
LEAST_ROWS = 30  # of a table, below which a rate says nothing
FEW = 3  # columns that an attacker knows who does not know much
FURTHER = 3  # columns besides the quasi-identifiers that are tried: sensitive ones, then those with most values
PLAIN = 20  # plain columns that are looked at
KINDS: tuple[RiskKind, ...] = ("singling out", "linkability", "inference")
WITHOUT = (
    "No control table was given: the control is each person again with the own row left out. That cannot say how many "
    "others a row that is alone would single out by chance, nor what the choice of labels itself, made with the row, "
    "tells; people held out before the release was made can."
)
NOT_TRIED = (
    "Not tried: attackers who know two or more of the columns that are not quasi-identifiers, know values only roughly "
    "or wrongly, use other releases, trained models, or that the release is as fine as its limits allow; numbers that "
    "are guessed nearly; and every column and set of columns that is not listed."
)


@dataclass(frozen=True)
class PersonAttack:
    """One attack by one set of known columns, on the release and on the raw table."""

    risk: RiskKind
    known: tuple[str, ...]
    secret: str | None
    release: AttackOutcome
    raw: AttackOutcome
    quasi: tuple[str, ...] = ()  # all quasi-identifiers of the release
    counts: bool = False  # whether the one-way counts of the release are known too

    @property
    def words(self) -> str:
        """What was tried: the known columns, and what was to be learned."""
        known = ", ".join(self.known)
        if len(self.quasi) > FEW and set(self.quasi) <= {*self.known, self.secret}:
            rest = [name for name in self.known if name not in self.quasi]
            all_ = f"all {len(self.quasi)}" if set(self.quasi) <= set(self.known) else "all other"
            known = ", ".join((f"{all_} quasi-identifiers", *rest))
        known += ", one-way counts" if self.counts else ""
        return known if self.secret is None else f"{known} → {self.secret}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        sides = {"release": self.release.to_dict(), "raw": self.raw.to_dict()}
        own = {"counts": True} if self.counts else {}
        return {"risk": self.risk, "known": list(self.known), "secret": self.secret, **own, **sides}


@dataclass(frozen=True, repr=False)
class AttackEvidence:
    """What attacks on people reached, in the order of WP216: singling out, linkability, inference.

    Attributes
    ----------
    attacks : tuple of PersonAttack
        Each by one set of known columns.
    rows, released : int
        Of the original, and of the release.
    control : int or None
        People of the control table; None where each person's own row was left out instead.
    seed, attempts : int
        Of what was drawn, and how many people or rows were to be drawn for each attack.
    remarks : tuple of str
        What was used as a control, and what was not tried.

    Examples
    --------
    >>> import kpareto as kp
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> evidence = kp.attack(point, attempts=200)
    >>> evidence.attacks[0].release.attack.successes <= evidence.attacks[0].raw.attack.successes
    True
    """

    attacks: tuple[PersonAttack, ...]
    rows: int
    released: int
    control: int | None
    seed: int
    attempts: int
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        """Short, and without a value of any row: a notebook prints this."""
        return f"AttackEvidence({len(self.attacks)} attacks on {self.released:,} rows: {self.sentences()[0]})"

    def sentences(self) -> list[str]:
        """The worst of each of the three risks, by what the release adds to the control."""
        lines = []
        for kind in KINDS:
            some = [each for each in self.attacks if each.risk == kind]
            if not some:
                lines.append(f"{kind.capitalize()}: not tried, for too few columns are known.")
                continue
            worst = max(some, key=lambda each: (each.release.risk, each.release.interval[1]))
            lines.append(f"{kind.capitalize()}: {_say(worst)}")
        return [*lines, *self._say_counts()]

    def _say_counts(self) -> list[str]:
        """What one-way counts add to the guesses of somebody who knows all of a person but one quasi-identifier."""
        counted = [each for each in self.attacks if each.counts]
        same = {(each.known, each.secret) for each in counted}
        without = [each for each in self.attacks if not each.counts and (each.known, each.secret) in same]
        if not counted:
            return []
        with_, alone = (
            (_mean_rate(each.release.attack for each in some), _mean_rate(each.release.control for each in some))
            for some in (counted, without)
        )
        words = "One-way counts: who knows all other quasi-identifiers of a person guesses the last one in"
        beside = f"on the control in {with_[1]} and {alone[1]}"
        return [f"{words} {with_[0]} of the attempts with them and in {alone[0]} without, {beside}."]

    def summary(self) -> str:
        """The sentences as a text."""
        return "\n".join((*self.sentences(), *self.remarks))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        attacks = [each.to_dict() for each in self.attacks]
        return {"schema": SCHEMA, **vars(self), "attacks": attacks, "remarks": list(self.remarks)}


def _mean_rate(rates: Iterable[Rate]) -> str:
    """How often several kinds of attempts succeed, on average."""
    return percent(float(np.mean([rate.value for rate in rates])))


def _say(attack: PersonAttack) -> str:
    side, ends = attack.release, [percent(end) for end in attack.release.interval]
    weak = " There a guess made at random succeeds as often, so this says nothing of a stronger attack."
    weak = weak if attack.raw.weak else ""
    return (
        f"by {attack.words} it succeeds in {percent(side.attack.value)} of {side.attack.attempts:,} attempts and in "
        f"{percent(side.control.value)} on the control, a risk beyond the control of {percent(side.risk)} "
        f"(95 % interval {ends[0]} to {ends[1]}); on the raw table {percent(attack.raw.risk)}.{weak}"
    )


@overload
def attack(
    release: Partition, limits: Limits, suppression: Suppression | None = None, earlier: Sequence[Partition] = ()
) -> AttackReport: ...
@overload
def attack(
    release: object,
    *,
    original: object = None,
    control: object = None,
    known: Iterable[Sequence[str]] = (),
    attempts: int = ATTEMPTS,
    seed: int = SEED,
    recoding: str | PathLike[str] | None = None,
) -> AttackEvidence: ...
def attack(  # noqa: PLR0913 (as above)
    release: Any,
    limits: Limits | None = None,
    suppression: Suppression | None = None,
    earlier: Sequence[Partition] = (),
    *,
    original: object = None,
    control: object = None,
    known: Iterable[Sequence[str]] = (),
    attempts: int = ATTEMPTS,
    seed: int = SEED,
    recoding: str | PathLike[str] | None = None,
) -> AttackReport | AttackEvidence:
    """Attack people by a release: single them out, link them, infer about them; with limits, test a candidate's form.

    Parameters
    ----------
    release : Point, Choice, Release, Partition, str or path
        A point of a front or what became of it; or a released file with its certificate beside it.
    limits : mapping of str to float, optional
        Those a partition was made by, such as ``{"k": 5}``: then the tests of docs/risk.md are run on its form.
    suppression : Suppression, optional
        The one it was made by; with limits.
    earlier : sequence of Partition, optional
        Earlier releases of the same persons, to be joined with it; with limits.
    original : object, optional
        The table that a file was released from, as ``read`` takes it.
    control : object, optional
        A table of people who are not in the original; without it each person's own row is left out instead.
    known : iterable of sequence of str, optional
        Sets of columns that an attacker knows; without it a few, all quasi-identifiers, and these and another column.
    attempts : int, optional
        People or rows that are drawn for each attack.
    seed : int, optional
        Of what is drawn.
    recoding : str or path, optional
        The recoding file of a release, where it does not lie beside it.

    Returns
    -------
    AttackEvidence or AttackReport
        Rates with intervals, beside a control and the raw table; with limits, a test each.

    Raises
    ------
    BadInput
        If the release is not one of this original, a column is missing, or there are too few rows.

    Examples
    --------
    >>> import kpareto as kp
    >>> point = kp.front(kp.adult_table(), suppression=0.01).choose(k=5)
    >>> kp.attack(point, known=[["age", "sex"]], attempts=200).attacks[0].risk
    'singling out'
    >>> [test.column for test in kp.attack(point.partition, {"k": 5}, point.suppression).homogeneity]
    ['occupation']
    """
    if limits is not None:
        return test_form(release, limits, suppression, earlier)
    seed, attempts = read_whole(seed, "seed", 0), read_whole(attempts, "attempts", 1)
    table, view = open_release(release, original, recoding, PLAIN)
    return attack_people(table, view, control, [as_names(names) for names in known], attempts, seed)


def attack_people(
    table: Table,
    view: LabelView,
    control: object = None,
    known: Sequence[Sequence[str]] = (),
    attempts: int = ATTEMPTS,
    seed: int = SEED,
    report: Progress | None = None,
) -> AttackEvidence:
    """The same of a table and a view of its release; the report is told how many of the further columns are done."""
    if table.rows < LEAST_ROWS:
        raise BadTable(f"The original has {table.rows:,} rows. A rate of attacks says something from {LEAST_ROWS} on.")
    if not view.rows:
        raise Unsafe("Every row is suppressed, so there is nothing to attack. Choose another point.")
    names = _further(table, view)
    wished = _check_known(known, view, names) or _default_known(table, view, names)
    raw = view_original(table)
    others = None if control is None else _read_control(control, table, raw, names)
    attacks: list[PersonAttack] = []
    for done, further in enumerate((None, *names)):
        if report is not None:
            report(done, 1 + len(names))
        sides = [lines_of(side, further) for side in (view, raw)]
        people = None if others is None else lines_of(others, further)
        plans = _plans(sides[1].names, wished, further, bool(names))
        if plans:
            attacks += _attack_lines(sides, people, plans, attempts, seed)
    if view.counted and len(view.names) > 1:
        both = _attack_by_counts(view, raw, others, attempts, seed)
        again = {(each.known, each.secret) for each in both}
        attacks = [each for each in attacks if (each.known, each.secret) not in again] + both
    attacks = [replace(each, quasi=view.names) for each in attacks]
    attacks.sort(key=lambda each: KINDS.index(each.risk))
    aside = "" if others is None else f"The control is {round(others.rows):,} people of a table of their own."
    remarks = (aside or WITHOUT, f"{NOT_TRIED} Seed {seed}.")
    size = None if others is None else round(others.rows)
    return AttackEvidence(tuple(attacks), table.rows, round(view.rows), size, seed, attempts, remarks)


def _further(table: Table, view: LabelView) -> list[str]:
    """The columns besides the quasi-identifiers that are tried; constant ones tell nothing."""
    some = [counts for counts in view.further if np.count_nonzero(counts.totals) > 1]
    some.sort(key=lambda counts: (counts.name not in table.schema.sensitive, -np.count_nonzero(counts.totals)))
    return [counts.name for counts in some[:FURTHER]]


def _check_known(known: Sequence[Sequence[str]], view: LabelView, further: Sequence[str]) -> list[tuple[str, ...]]:
    have = [*view.names, *further]
    for names in known:
        lost = [name for name in names if name not in have]
        if lost:
            raise BadJob(f"No column {lost[0]!r} to be known. {did_you_mean(lost[0], have)}There are: {shorten(have)}.")
        if not names or len(set(names)) < len(names) or sum(name in further for name in names) > 1:
            raise BadJob(
                f"{', '.join(names) or 'No column'!r} cannot be known together. Give each column once, and at most one "
                "that is not a quasi-identifier."
            )
    return [tuple(sorted(names, key=have.index)) for names in known]


def _default_known(table: Table, view: LabelView, further: Sequence[str]) -> list[tuple[str, ...]]:
    """A few quasi-identifiers, those with the most values; all of them; all of them and another column."""
    values = [np.count_nonzero(rows) for rows in table.leaf_rows]
    most = sorted(sorted(range(len(values)), key=lambda column: -values[column])[:FEW])
    few = tuple(view.names[column] for column in most)
    return list(dict.fromkeys((few, view.names, *((*view.names, name) for name in further))))


def _plans(
    names: tuple[str, ...], wished: Sequence[tuple[str, ...]], further: str | None, secrets: bool
) -> list[AttackPlan]:
    """The attacks that need this further column, or none: each set of known columns in every way it can be used."""
    plans: list[AttackPlan] = []
    for known in wished:
        if not set(known) <= set(names):
            continue
        places = tuple(names.index(name) for name in known)
        if further in known or further is None:
            plans.append(AttackPlan("singling out", places))
            plans += [AttackPlan("linkability", places)] if len(places) > 1 else []
        elif further is not None:
            plans.append(AttackPlan("inference", places, names.index(further)))
        if not secrets:  # there is nothing but quasi-identifiers to be learned
            rest = [column for column in range(len(names)) if column not in places]
            for secret in rest or (places if len(places) > 1 else ()):
                plans.append(AttackPlan("inference", tuple(c for c in places if c != secret), secret))
    return list(dict.fromkeys(plans))


def _attack_by_counts(
    view: LabelView, raw: LabelView, others: LabelView | None, attempts: int, seed: int
) -> list[PersonAttack]:
    """Each quasi-identifier inferred from all others, without the one-way counts of a release and with them."""
    every = range(len(raw.names))
    plans = [AttackPlan("inference", tuple(c for c in every if c != secret), secret) for secret in every]
    people = None if others is None else lines_of(others, None)
    return [
        replace(each, counts=counts)
        for counts, shown in ((False, view), (True, fit_view(view, raw)))
        for each in _attack_lines([lines_of(side, None) for side in (shown, raw)], people, plans, attempts, seed)
    ]


def _attack_lines(
    sides: Sequence[AttackLines], control: AttackLines | None, plans: Sequence[AttackPlan], attempts: int, seed: int
) -> list[PersonAttack]:
    """Every plan on the release and on the raw table, whose people are the same."""
    names, people = sides[1].names, sides[1]
    random = np.random.default_rng([seed, len(names)])
    drawn = people.draw(attempts, random)
    others = None if control is None else control.draw(attempts, random)
    outcomes = []
    for lines in sides:
        later = [plan for plan in plans if plan.risk != "singling out"]
        trials = Trials(lines, later, seed)
        tried, hits = trials.run(drawn, inside=True)
        beside, held_out = (tried, hits[:, 1]) if others is None else _outside(trials, others)
        done = {
            plan: AttackOutcome(Rate(succeeded, tried), Rate(int(held_out[place]), beside), Rate(blind, tried))
            for place, (plan, (succeeded, _, blind)) in enumerate(zip(later, hits.tolist(), strict=True))
        }
        single = [plan for plan in plans if plan.risk == "singling out"]
        outcomes.append(done | {p: single_out(lines, people, control, p, attempts, seed) for p in single})
    return [
        PersonAttack(
            plan.risk,
            tuple(names[column] for column in plan.known),
            None if plan.secret is None else names[plan.secret],
            outcomes[0][plan],
            outcomes[1][plan],
        )
        for plan in plans
    ]


def _outside(trials: Trials, people: AttackLines) -> tuple[int, np.ndarray]:
    tried, hits = trials.run(people, inside=False)
    return tried, hits[:, 0]


# -- the control ---------------------------------------------------------------------------------------------------


def _read_control(control: object, table: Table, raw: LabelView, further: Sequence[str]) -> LabelView:
    """People who are not in the original, in its values; what it does not have is a value that nobody has."""
    original = table.schema
    schema = Schema(original.quasi, sensitive=tuple(further), spellings=original.spellings)
    people = read(control, schema, "category")
    if people.rows < LEAST_ROWS:
        raise BadTable(f"The control has {people.rows:,} rows. A rate of attacks says something from {LEAST_ROWS} on.")
    codes, spreads = [], []
    for column, hierarchy in enumerate(table.hierarchies):
        code = _match(people.hierarchies[column].leaves, hierarchy.leaves)
        codes.append(code[people.codes[:, column]])
        spreads.append(identity(len(hierarchy.leaves)))
    counts = [_recode(each, raw.counts(each.name)) for each in people.sensitive]
    view = LabelView(original.quasi, people.weights.astype(float), tuple(codes), tuple(spreads), tuple(counts))
    _check_others(view, raw)
    return view


def _match(values: Sequence[str], own: Sequence[str]) -> np.ndarray:
    """The place of each value among those of the original, -1 where it has none such: (values,) int64."""
    return np.append(locate_spelled(values, own), -1)


def _recode(counts: Counts, own: Counts) -> Counts:
    code = _match(counts.values, own.values)[counts.code]
    return replace(counts, values=own.values, code=code.astype(np.int32), numbers=None, held=None)


def _check_others(view: LabelView, raw: LabelView) -> None:
    """Raise where the control is the original itself."""
    sides: list[Mapping[tuple[int, ...], float]] = []
    for side in (view, raw):
        keys = zip(*(codes.tolist() for codes in side.codes), strict=True)
        sides.append(dict(zip(keys, side.weights.tolist(), strict=True)))
    if sides[0] == sides[1]:
        raise BadTable("The control has the rows of the original. Give people who are not in it, or no control.")
