"""Propose a built-in hierarchy for a column whose values it has a place for: countries, states, regions of Europe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kpareto.engines.source import View
from kpareto.engines.sql import literal
from kpareto.tables.hierarchies.known import find_known, fits
from kpareto.tables.proposals import ColumnFacts, Proposal
from kpareto.tables.vocabulary import Topic, topic_of

# What a column may hold, going by its name; the first that has a place for every value is proposed.
CANDIDATES: Mapping[Topic, tuple[str, ...]] = {
    "country": ("countries",),
    "birth": ("countries", "us-states"),  # a country of birth
    "place": ("us-states", "nuts", "countries"),
}
MOST = 2_000  # values that are looked at
LEAST = 4  # with fewer values there is little to group
NEARLY = 0.8  # share of the values from which a list is worth a note


def propose_known(rows: View, facts: Sequence[ColumnFacts], proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals, with built-in hierarchies for the quasi-identifiers that have places in one."""
    new_proposals = list(proposals)
    for place, (each, proposal) in enumerate(zip(facts, proposals, strict=True)):
        topic = topic_of(each.name)
        candidates = () if topic is None else CANDIDATES.get(topic, ())
        if proposal.role == "quasi-identifier" and each.kind == "text" and LEAST <= each.distinct <= MOST:
            new_proposals[place] = _with_known(proposal, _values(rows, place, each.marks), candidates)
    return new_proposals


def _values(rows: View, place: int, marks: Sequence[str]) -> list[str]:
    gone = f" AND v NOT IN ({', '.join(map(literal, marks))})" if marks else ""
    return [str(v) for (v,) in rows.ask(f"SELECT v FROM ({rows.values(place)}) WHERE v IS NOT NULL{gone}").fetchall()]


def _with_known(proposal: Proposal, values: Sequence[str], candidates: Sequence[str]) -> Proposal:
    for word in candidates:
        placed, total = fits(word, values)
        if placed == total:
            note = f"A built-in hierarchy has a place for every value: kpareto hierarchy show {word}."
            return replace(proposal, hierarchy={"known": word}, levels=len(find_known(word).levels) + 2, note=note)
        if placed >= NEARLY * total:
            note = (
                f"{placed} of {total} values have a place in the built-in hierarchy {word}; for the others: "
                f"kpareto hierarchy new COLUMN DATA --known {word}."
            )
            return replace(proposal, note=note)
    return proposal
