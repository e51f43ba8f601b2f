"""What to propose for a column: its role and its hierarchy, from its name, its kind and how often values repeat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kpareto.tables.schema import DECIDE, Role
from kpareto.tables.spelling import EXACT, several, without_point
from kpareto.tables.vocabulary import LEANINGS, MOMENTS, Topic, topic_of, words_of

Kind = Literal["whole number", "number", "date", "other date", "yes/no", "text", "nested", "empty"]
Rule = Mapping[str, object]  # an inline hierarchy, as a job file has it

NEARLY_UNIQUE = 0.5  # share of rows with a value of their own from which a column points at persons
RATHER_UNIQUE = 0.05  # from which an unknown column is left out of the release
FEW = 50  # text values that a person can put in groups by hand
LONG = 40  # characters from which text is free text
MOSTLY = 0.5  # share of values that are numbers from which the others are no codes, but exceptions
SKELETON = "List them with their groups in a file: kpareto hierarchy new COLUMN DATA writes its skeleton."
PARTS = 16  # intervals on the first level, about
LEFT_OUT = "; left out of the release"
UNDECIDED = f"{LEFT_OUT} until you decide"
CODES = 10  # whole numbers up to which they may be codes
NAMELESS = "its name says nothing"
ASK = "Give it a role: plain only if nobody outside can know it and nobody is hurt by it."
UNKNOWN = f"{NAMELESS}{UNDECIDED}. {ASK}"  # all that is said of a column of which nothing is known
SPARSE = "Give it another role if it is needed, and decide what becomes of the rows without a value."
READ_FIRST = "Read its texts first: free text may hold names, telephone numbers and dates. "
NAMED_PERSONS: tuple[Topic, ...] = ("name", "person id", "person")  # where they repeat, a person may have several rows
CODED: tuple[Topic, ...] = ("marital", "race", "sex", "place", "country", "occupation")  # numbers there are codes
MONTHS = ("month", "quarter", "year", "decade")
ASKED: Mapping[Topic, str] = {"place": "tells yes or no about a place", "date": "tells what happened"}
# Numbers of the calendar go by such a word in the name, and lie between these.
NUMBERED_MONTHS = (("month", "monat", "mois", "mes", "mese", "maand"), 1, 12)
NUMBERED_YEARS = (("year", "jahr", "annee", "ano", "anno", "jaar"), 1800, 2100)


@dataclass(frozen=True)
class ColumnFacts:
    """What was counted in one column."""

    name: str
    kind: Kind
    rows: int
    missing: int  # rows without a value
    distinct: int  # values
    groups: int  # values, no value and marks for none among them
    unique: int  # rows whose value no other row has
    longest: int = 0  # characters
    shortest: int = 0
    coded: bool = False  # text without blanks, with digits in it
    low: float | None = None  # of nearly all numbers (from the first to the last hundredth)
    high: float | None = None
    least: float | None = None  # of all numbers
    common: tuple[str, ...] = ()  # the most frequent values
    most: int = 0  # rows with the most frequent value
    marks: tuple[str, ...] = ()  # texts that stand for no value
    numeric: int = 0  # values that are numbers
    units: tuple[int, ...] = ()  # different months, quarters, years and decades of a column of dates
    form: str = ""  # what the values are by their form, such as e-mail addresses
    label: str = ""  # what a file of Stata, SPSS or SAS says of the column beside its name

    @property
    def topic(self) -> Topic | None:
        """What the column is about, going by its name, or else by its label."""
        return topic_of(self.name) or topic_of(self.label)

    @property
    def like(self) -> str:
        """The beginning of a reason that goes by the topic."""
        by_name = topic_of(self.name) is not None or not self.label
        return "named like" if by_name else f"labelled {self.label[:LONG]!r}, like"

    @property
    def unique_share(self) -> float:
        """Of the rows that have a value."""
        have = self.rows - self.missing
        return self.unique / have if have else 0.0

    @property
    def have_own(self) -> str:
        """What ``unique_share`` is the share of, and says of them."""
        return "of the rows with a value have it alone" if self.missing else "of the rows have a value of their own"

    @property
    def distinct_share(self) -> float:
        """Values per row that has one."""
        have = self.rows - self.missing
        return self.distinct / have if have else 0.0


@dataclass(frozen=True)
class Proposal:
    """A role, a hierarchy for a quasi-identifier, and why."""

    role: Role | Literal["decide"]
    why: str
    hierarchy: Rule | None = None
    levels: int = 1
    note: str = ""
    person: bool = False  # tells persons apart, who may have several rows


def propose(facts: ColumnFacts) -> Proposal:
    """The role and hierarchy of one column, by itself."""
    topic = facts.topic
    if facts.kind == "empty":
        return Proposal("identifier", f"has no values{LEFT_OUT}")
    if facts.kind == "nested":
        return Proposal("identifier", f"holds lists or structures, which cannot be generalized{LEFT_OUT}")
    if facts.form and facts.form != MOMENTS:
        repeated = topic in NAMED_PERSONS and facts.distinct < facts.rows - facts.missing and not _few(facts)
        return Proposal("identifier", f"holds {facts.form}{LEFT_OUT}", person=topic == "person id" and repeated)
    if topic is not None:
        named = _by_name(facts, topic)
        if named is not None:
            return named
    if facts.distinct == 1:
        return Proposal("plain", "the same in every row that has a value")
    return _by_numbers(facts)


def why_direct(facts: ColumnFacts) -> str | None:
    """Why a column looks like a direct identifier; None where it does not.

    As ``propose`` has it; but where name and form say nothing, only free text, and what is different in every one of
    many rows.
    """
    proposal, topic = propose(facts), facts.topic
    key = FEW < facts.unique == facts.rows - facts.missing
    if facts.form == MOMENTS:
        return "holds moments"
    if key and facts.kind in ("date", "other date"):
        return "no two of its dates are equal"
    if proposal.role != "identifier" or facts.kind in ("empty", "nested"):
        return None
    remarks = topic == "free text" and facts.kind == "text"
    named = remarks or (topic is not None and _by_name(facts, topic) is not None)
    sure = facts.form or named or key or _is_free_text(facts)
    return proposal.why.removesuffix(LEFT_OUT) if sure else None


def _by_name(facts: ColumnFacts, topic: Topic) -> Proposal | None:
    leaning = LEANINGS[topic]
    few = _few(facts)
    if leaning == "identifier" and not (topic == "contact" and few):
        repeated = topic == "person id" and not few and facts.distinct < facts.rows - facts.missing
        return Proposal("identifier", f"{facts.like} a {_word_reason(topic)}", person=repeated)
    if leaning == "weak identifier" and topic == "person" and not few and facts.distinct < facts.rows - facts.missing:
        why = f"{facts.like} a {_word_reason(topic)}, and its values repeat"
        return Proposal("identifier", why, person=True)
    if leaning == "weak identifier" and facts.distinct_share >= NEARLY_UNIQUE and facts.rows > 1:
        have = facts.rows - facts.missing
        repeats = f"{facts.distinct:,} values in {have:,} rows" if facts.distinct < have else "no two rows alike"
        like = "free text" if topic == "free text" else f"a {_word_reason(topic)}"
        return Proposal("identifier", f"{facts.like} {like}, with {repeats}")
    if leaning == "quasi-identifier":
        # "taken to hospital" holds no place and "died" no date, though their names have one in them
        told = ASKED.get(topic) if facts.kind == "yes/no" else None
        return quasi(facts, told or f"{facts.like} {_word_reason(topic)}", topic)
    if leaning == "sensitive":
        if _is_free_text(facts):
            return Proposal("identifier", f"free text, which may name anybody{LEFT_OUT}")
        return _sensitive(facts, f"{facts.like} {_word_reason(topic)}")
    return None


def _few(facts: ColumnFacts) -> bool:
    return facts.distinct <= FEW and facts.rows >= 4 * facts.distinct


def _sensitive(facts: ColumnFacts, why: str) -> Proposal:
    """A sensitive column; one that would leave exact and point at persons is left out until somebody decides."""
    counted = facts.kind == "number" or (facts.kind == "whole number" and facts.distinct > CODES)
    unique = facts.unique_share >= NEARLY_UNIQUE and facts.rows > 1
    if not (counted and facts.distinct > 2) and not unique:
        return Proposal("sensitive", why)
    reason = f"{facts.unique_share:.1%} {facts.have_own}" if unique else "its numbers are exact"
    steps = hierarchy_for(facts)[0].get("intervals") if counted else None
    how = f"Round it in the table, to steps of {steps[0]} say" if isinstance(steps, list) else "Put values in groups"
    note = f"{how}, and make it sensitive with a limit; or make it sensitive as it is, if nobody outside can know it."
    return Proposal(DECIDE, f"{why}, but {reason}{UNDECIDED}", note=note)


def _word_reason(topic: Topic) -> str:
    words: Mapping[Topic, str] = {
        "contact": "contact or account",
        "person": "number of a person",
        "sex": "sex or gender",
        "health": "health data",
        "marital": "marital status",
    }
    return words.get(topic, topic)


def _is_free_text(facts: ColumnFacts) -> bool:
    return facts.kind == "text" and facts.longest >= LONG and facts.distinct_share >= NEARLY_UNIQUE


def _by_numbers(facts: ColumnFacts) -> Proposal:
    """A column whose name says nothing."""
    if _is_free_text(facts):
        return Proposal("identifier", f"free text, which may name anybody{LEFT_OUT}")
    if facts.kind in ("date", "other date"):
        return quasi(facts, "holds dates", "date")
    if _are_of_calendar(facts, *NUMBERED_YEARS):
        return quasi(facts, "holds years", "date")
    warning = READ_FIRST if facts.kind == "text" and (facts.longest >= LONG or facts.topic == "free text") else ""
    if facts.unique_share >= RATHER_UNIQUE and facts.rows > 1:
        make = "Make it a quasi-identifier with a hierarchy if it is needed, or plain if nobody outside can know it."
        why = f"{facts.unique_share:.0%} {facts.have_own}{LEFT_OUT}"
        return Proposal("identifier", why, note=warning + make)
    if facts.unique and facts.kind == "text":
        return quasi(facts, several(facts.unique, "value occurs once", "values occur once"), None)
    rows = f"{facts.unique:,} rows have" if facts.unique > 1 else "1 row has"
    note = f"{rows} a value of {'their' if facts.unique > 1 else 'its'} own. " if facts.unique else ""
    why = f"{facts.like} free text" if facts.topic == "free text" else NAMELESS
    return Proposal(DECIDE, f"{why}{UNDECIDED}", note=note + warning + ASK)


def quasi(facts: ColumnFacts, why: str, topic: Topic | None) -> Proposal:
    """A quasi-identifier with a hierarchy that suits its values."""
    rule, levels, note = hierarchy_for(facts, topic)
    return Proposal("quasi-identifier", why, rule, levels, note)


def hierarchy_for(facts: ColumnFacts, topic: Topic | None = None) -> tuple[Rule, int, str]:
    """An inline hierarchy, how many levels it has, and a remark."""
    flat: Rule = {"flat": True}
    if topic == "zip" and facts.kind in ("text", "whole number") and facts.longest >= 2:
        keep = list(range(max(facts.longest - 2, 1), 0, -1))[:3]
        short = "" if facts.shortest == facts.longest else "Codes have different lengths: check for lost zeros."
        return {"prefix": keep}, len(keep) + 2, short
    if facts.kind == "whole number" and (topic in CODED or "code" in words_of(facts.name)):
        return flat, 2, "" if facts.distinct <= 3 else f"Its numbers look like codes, which have no order. {SKELETON}"
    if facts.kind in ("whole number", "number"):
        if max(abs(facts.high or 0), abs(facts.least or 0)) >= EXACT:  # no number, but a code that looks like one
            return flat, 2, "Its numbers are too large to tell neighbours apart: give prefixes, or a file with groups."
        return _months_or_years(facts) or _intervals(facts)
    if facts.kind == "date":
        return _calendar(facts)
    if facts.kind == "other date":
        note = "Write dates as year-month-day to have months and quarters; as they are, only the year is kept."
        return {"prefix": [4], "stars": "left"}, 3, note
    if facts.kind == "text" and MOSTLY * facts.distinct < facts.numeric < facts.distinct:
        others = facts.distinct - facts.numeric
        are = "is" if others == 1 else "are"
        note = f"{others:,} of its {facts.distinct:,} values {are} no number, such as a top code. {SKELETON}"
        return flat, 2, note
    if facts.distinct <= FEW:
        return flat, 2, "" if facts.distinct <= 3 else "List the values with their groups in a file for finer steps."
    if facts.coded:
        keep = [count for count in (3, 2, 1) if count < facts.longest]
        return {"prefix": keep}, len(keep) + 2, "Codes that begin alike fall together: check that they belong together."
    note = f"{facts.distinct:,} values: write a file that lists them with their groups, or all or nothing is shown."
    return flat, 2, note


def _calendar(facts: ColumnFacts) -> tuple[Rule, int, str]:
    """The units of the calendar that merge something: not the quarter of one quarter, nor a year beside its decade."""
    units, below = [], facts.distinct
    for unit, count in zip(MONTHS, facts.units or (facts.distinct,) * len(MONTHS), strict=True):
        if 1 < count < below or not facts.units:
            units.append(unit)
            below = count
    return ({"dates": units}, len(units) + 2, "") if units else ({"flat": True}, 2, "")


def _are_of_calendar(facts: ColumnFacts, words: Sequence[str], least: float, most: float) -> bool:
    """Whether one of the words stands in the name, and nearly all numbers lie where those of the calendar do."""
    if facts.kind != "whole number" or facts.least is None or facts.high is None:
        return False
    return not {*words}.isdisjoint(words_of(facts.name)) and least <= facts.least and facts.high <= most


def _months_or_years(facts: ColumnFacts) -> tuple[Rule, int, str] | None:
    """Quarters and half years of the numbers of months, five years and more of those of years; None of all others."""
    if facts.distinct <= 3 or facts.low is None or facts.high is None or facts.least is None:
        return None
    if _are_of_calendar(facts, *NUMBERED_MONTHS):
        return {"intervals": [3, 6], "from": 1}, 4, ""
    widths = [width for width in (5, 10, 20) if width < facts.high - facts.low]
    if not widths or not _are_of_calendar(facts, *NUMBERED_YEARS):
        return None
    return {"intervals": widths, "from": math.floor(facts.least / widths[-1]) * widths[-1]}, len(widths) + 2, ""


def _intervals(facts: ColumnFacts) -> tuple[Rule, int, str]:
    low, high, least = facts.low, facts.high, facts.least
    if low is None or high is None or least is None or not math.isfinite(high - low) or facts.distinct <= 3:
        return {"flat": True}, 2, ""
    width = round_width((high - low) / PARTS)
    if facts.kind == "whole number":
        width = max(width, 2.0)
    widths = [width * step for step in (1, 2, 4) if width * step < max(high - low, 2 * width)]
    start = math.floor(least / widths[-1]) * widths[-1]
    return {"intervals": [_short_number(one) for one in widths], "from": _short_number(start)}, len(widths) + 2, ""


def round_width(width: float) -> float:
    """The next round number: 1, 2 or 5 times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    for step in (1, 2, 5, 10):
        if step * power >= width * (1 - 1e-9):
            return float(f"{step * power:.12g}")
    return 10 * power


def _short_number(number: float) -> float:
    return without_point(float(f"{number:.12g}"))


def settle(facts: Sequence[ColumnFacts], proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals of all columns together: some quasi-identifier, one person column, columns with enough values."""
    new_proposals = list(proposals)
    for index, (column, proposal) in enumerate(zip(facts, new_proposals, strict=True)):
        if proposal.role in ("quasi-identifier", "sensitive") and column.missing > NEARLY_UNIQUE * column.rows:
            why = f"{proposal.why}, but {column.missing / column.rows:.0%} of the rows have no value{LEFT_OUT}"
            new_proposals[index] = Proposal("identifier", why, note=SPARSE)
    persons = [index for index, proposal in enumerate(new_proposals) if proposal.person]
    for index in persons[1:]:
        new_proposals[index] = replace(new_proposals[index], person=False)
    if not persons:
        new_proposals = _ask_for_persons(facts, new_proposals)
    if any(proposal.role == "quasi-identifier" for proposal in new_proposals):
        return new_proposals
    usable = [index for index, column in enumerate(facts) if column.kind not in ("empty", "nested")]
    plain = [index for index in usable if new_proposals[index].role in ("plain", DECIDE)]
    plain = plain or [index for index in usable if why_direct(facts[index]) is None] or usable
    plain.sort(key=lambda index: -facts[index].distinct)
    for index in plain[:3]:
        new_proposals[index] = quasi(
            facts[index], "no column looks like a quasi-identifier; taken for want of a better one", None
        )
    return new_proposals


def _ask_for_persons(facts: Sequence[ColumnFacts], proposals: Sequence[Proposal]) -> list[Proposal]:
    """A note where people are named more than once, and nothing tells them apart: k would count their rows."""
    new_proposals = list(proposals)
    for index, column in enumerate(facts):
        have = column.rows - column.missing
        if column.topic in NAMED_PERSONS and proposals[index].role == "identifier" and 1 < column.distinct < have:
            note = (
                f"It repeats: {column.distinct:,} values in {have:,} rows. If a person has several rows, say which "
                'column tells persons apart: person = "…" under [data], or Schema(person="…") in Python.'
            )
            new_proposals[index] = replace(proposals[index], note=f"{proposals[index].note} {note}".strip())
    return new_proposals
