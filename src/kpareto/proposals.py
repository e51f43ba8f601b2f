"""What to propose for a column: its role and its hierarchy, from its name, its kind and how often values repeat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kpareto.schema import Role
from kpareto.vocabulary import LEANINGS, Topic, topic_of

Kind = Literal["whole number", "number", "date", "other date", "yes/no", "text", "nested", "empty"]
Rule = Mapping[str, object]  # an inline hierarchy, as a job file has it

NEARLY_UNIQUE = 0.5  # share of rows with a value of their own from which a column points at persons
RATHER_UNIQUE = 0.05  # from which an unknown column is left out of the release
FEW = 50  # text values that a person can put in groups by hand
LONG = 40  # characters from which text is free text
PARTS = 16  # intervals on the first level, about
MONTHS = ("month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Facts:
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

    @property
    def unique_share(self) -> float:
        """Of the rows that have a value."""
        have = self.rows - self.missing
        return self.unique / have if have else 0.0

    @property
    def distinct_share(self) -> float:
        """Values per row that has one."""
        have = self.rows - self.missing
        return self.distinct / have if have else 0.0


@dataclass(frozen=True)
class Proposal:
    """A role, a hierarchy for a quasi-identifier, and why."""

    role: Role
    why: str
    hierarchy: Rule | None = None
    levels: int = 1
    note: str = ""
    person: bool = False  # tells persons apart, who may have several rows


def propose(facts: Facts) -> Proposal:
    """The role and hierarchy of one column, by itself."""
    topic = topic_of(facts.name)
    if facts.kind == "empty":
        return Proposal("identifier", "has no values; left out of the release")
    if facts.kind == "nested":
        return Proposal("identifier", "holds lists or structures, which cannot be generalized; left out of the release")
    if topic is not None:
        named = _by_name(facts, topic)
        if named is not None:
            return named
    if facts.distinct == 1:
        return Proposal("plain", "the same in every row that has a value")
    return _by_numbers(facts)


def _by_name(facts: Facts, topic: Topic) -> Proposal | None:
    leaning = LEANINGS[topic]
    few = facts.distinct <= FEW and facts.rows >= 4 * facts.distinct
    if leaning == "identifier" and not (topic == "contact" and few):
        repeated = topic == "person id" and not few and facts.distinct < facts.rows - facts.missing
        return Proposal("identifier", f"named like a {_said(topic)}", person=repeated)
    if leaning == "weak identifier" and facts.distinct_share >= NEARLY_UNIQUE and facts.rows > 1:
        return Proposal("identifier", f"named like a {_said(topic)}, and its values hardly repeat")
    if leaning == "quasi-identifier":
        return quasi(facts, f"named like {_said(topic)}", topic)
    if leaning == "sensitive":
        if _is_free_text(facts):
            return Proposal("identifier", "free text, which may name anybody; left out of the release")
        return Proposal("sensitive", f"named like {_said(topic)}")
    return None


def _said(topic: Topic) -> str:
    return {"contact": "contact or account", "sex": "sex or gender", "health": "health data"}.get(topic, topic)


def _is_free_text(facts: Facts) -> bool:
    return facts.kind == "text" and facts.longest >= LONG and facts.distinct_share >= NEARLY_UNIQUE


def _by_numbers(facts: Facts) -> Proposal:
    """A column whose name says nothing."""
    if _is_free_text(facts):
        return Proposal("identifier", "free text, which may name anybody; left out of the release")
    if facts.kind in ("date", "other date"):
        return quasi(facts, "holds dates", "date")
    if facts.unique_share >= RATHER_UNIQUE and facts.rows > 1:
        return Proposal(
            "identifier",
            f"{facts.unique_share:.0%} of the rows have a value of their own; left out of the release",
            note="Make it a quasi-identifier with a hierarchy if it is needed, or plain if nobody outside can know it.",
        )
    if facts.unique and facts.kind == "text":
        return quasi(facts, f"{facts.unique:,} values occur once", None)
    note = f"{facts.unique:,} rows have a value of their own: check that nobody outside can know it."
    return Proposal("plain", "nothing points at persons", note=note if facts.unique else "")


def quasi(facts: Facts, why: str, topic: Topic | None) -> Proposal:
    """A quasi-identifier with a hierarchy that suits its values."""
    rule, levels, note = hierarchy_for(facts, topic)
    return Proposal("quasi-identifier", why, rule, levels, note)


def hierarchy_for(facts: Facts, topic: Topic | None = None) -> tuple[Rule, int, str]:
    """An inline hierarchy, how many levels it has, and a remark."""
    flat: Rule = {"flat": True}
    if topic == "zip" and facts.kind in ("text", "whole number") and facts.longest >= 2:
        keep = list(range(max(facts.longest - 2, 1), 0, -1))[:3]
        short = "" if facts.shortest == facts.longest else "Codes have different lengths: check for lost zeros."
        return {"prefix": keep}, len(keep) + 2, short
    if facts.kind in ("whole number", "number"):
        return _intervals(facts)
    if facts.kind == "date":
        return {"dates": list(MONTHS)}, len(MONTHS) + 2, ""
    if facts.kind == "other date":
        note = "Write dates as year-month-day to have months and quarters; as they are, only the year is kept."
        return {"prefix": [4], "stars": "left"}, 3, note
    if facts.distinct <= FEW:
        return flat, 2, "" if facts.distinct <= 3 else "List the values with their groups in a file for finer steps."
    if facts.coded:
        keep = [count for count in (3, 2, 1) if count < facts.longest]
        return {"prefix": keep}, len(keep) + 2, "Codes that begin alike fall together: check that they belong together."
    note = f"{facts.distinct:,} values: write a file that lists them with their groups, or all or nothing is shown."
    return flat, 2, note


def _intervals(facts: Facts) -> tuple[Rule, int, str]:
    low, high, least = facts.low, facts.high, facts.least
    if low is None or high is None or least is None or not math.isfinite(high - low) or facts.distinct <= 3:
        return {"flat": True}, 2, ""
    width = round_width((high - low) / PARTS)
    if facts.kind == "whole number":
        width = max(width, 2.0)
    widths = [width * step for step in (1, 2, 4) if width * step < max(high - low, 2 * width)]
    start = math.floor(least / widths[-1]) * widths[-1]
    return {"intervals": [_plain(each) for each in widths], "from": _plain(start)}, len(widths) + 2, ""


def round_width(width: float) -> float:
    """The next round number: 1, 2 or 5 times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    for step in (1, 2, 5, 10):
        if step * power >= width * (1 - 1e-9):
            return float(f"{step * power:.12g}")
    return 10 * power


def _plain(number: float) -> int | float:
    short = float(f"{number:.12g}")
    return int(short) if short.is_integer() else short


def settle(facts: Sequence[Facts], proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals of all columns together: some quasi-identifier, one person column, columns with enough values."""
    made = list(proposals)
    for place, (each, proposal) in enumerate(zip(facts, made, strict=True)):
        if proposal.role in ("quasi-identifier", "sensitive") and each.missing > NEARLY_UNIQUE * each.rows:
            why = (
                f"{proposal.why}, but {each.missing / each.rows:.0%} of the rows have no value; left out of the release"
            )
            made[place] = Proposal("identifier", why, note="Rows without a value would be dropped otherwise.")
    persons = [place for place, proposal in enumerate(made) if proposal.person]
    for place in persons[1:]:
        made[place] = replace(made[place], person=False)
    if any(proposal.role == "quasi-identifier" for proposal in made):
        return made
    usable = [place for place, each in enumerate(facts) if each.kind not in ("empty", "nested")]
    plain = [place for place in usable if made[place].role == "plain"] or usable
    plain.sort(key=lambda place: -facts[place].distinct)
    for place in plain[:3]:
        made[place] = quasi(
            facts[place], "no column looks like a quasi-identifier; taken for want of a better one", None
        )
    return made
