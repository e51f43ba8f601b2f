"""What ``inspect`` proposes beyond roles: built-in hierarchies, and a search by an estimate of its work.

The constants of the estimate were measured on made tables of 3,000 to 200,000 rows and 12 to 31 quasi-identifiers
(docs/inspect.md). They need not be close: between the lattices that take seconds and those that take hours lie many
powers of ten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kpareto.engines.source import View
from kpareto.engines.sql import literal
from kpareto.searches.exact_front import MOST_NODES
from kpareto.searches.lattice.exact import WHOLE
from kpareto.searches.names import METHODS
from kpareto.tables.hierarchies.known import find_known, fits
from kpareto.tables.lattice import Kind
from kpareto.tables.proposals import ColumnFacts, Proposal
from kpareto.tables.vocabulary import Topic, topic_of

# What a column may hold, going by its name; the first that has a place for every value is proposed.
CANDIDATES: Mapping[Topic, tuple[str, ...]] = {
    "country": ("countries",),
    "birth": ("countries", "us-states"),  # a country of birth
    "place": ("us-states", "nuts", "countries"),
}
MOST_VALUES = 2_000  # values that are looked at
LEAST_VALUES = 4  # with fewer values there is little to group
NEARLY = 0.8  # share of the values from which a list is worth a note

PATIENCE = 30.0  # seconds of one core up to which the exact search is proposed without a time
SECONDS = 60  # the time it is given beyond
NODE = 2e-5  # seconds per node, however few rows there are
NODE_ROW = 2e-9  # and per distinct row, where all nodes are counted by roll-up
NODE_ROW_VALUES = 3e-9  # the same where values of sensitive columns are told apart
NODE_ROW_PERSONS = 2e-8  # the same where persons are counted, which cannot be rolled up
BOUND_ROW = 5e-9  # the same for the nodes that branch and bound counts
# Branch and bound counts about FIRST × distinct rows × size ** GROWTH nodes. More rows have more values of k to tell
# apart. FIRST was between 0.003 (Census-Income) and 0.035 (columns that have nothing to do with each other).
FIRST, GROWTH = 0.01, 0.3


# -- hierarchies -------------------------------------------------------------------------------------------------------


def propose_known(rows: View, facts: Sequence[ColumnFacts], proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals, with built-in hierarchies for the quasi-identifiers that have places in one."""
    new_proposals = list(proposals)
    for place, (column, proposal) in enumerate(zip(facts, proposals, strict=True)):
        topic = topic_of(column.name)
        candidates = () if topic is None else CANDIDATES.get(topic, ())
        fits_in = column.kind == "text" and LEAST_VALUES <= column.distinct <= MOST_VALUES
        if candidates and fits_in and proposal.role == "quasi-identifier":
            new_proposals[place] = _with_known(proposal, _distinct_values(rows, place, column.marks), candidates)
    return new_proposals


def _distinct_values(rows: View, place: int, marks: Sequence[str]) -> list[str]:
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


# -- searches ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchTask:
    """What a search of the lattice has to do, for the objectives k and glm under a cap on suppressed rows."""

    size: int  # nodes
    rows: int
    distinct: int  # rows
    leaves: tuple[int, ...]  # values of each quasi-identifier
    persons: bool = False  # classes count persons
    sensitive: bool = False  # values of sensitive columns are limited

    @property
    def prunes(self) -> bool:
        """Whether the exact search surely rules out most of the lattice; of persons its bounds know only their rows."""
        return not self.persons

    @property
    def seconds(self) -> float:
        """About how long the exact search takes on one core; infinite where it cannot number the nodes."""
        if self.size >= MOST_NODES:
            return math.inf
        if self.size > WHOLE and self.prunes:
            counted = FIRST * self.distinct * self.size**GROWTH
            return counted * (NODE + self.distinct * BOUND_ROW)
        row = NODE_ROW_PERSONS if self.persons else NODE_ROW_VALUES if self.sensitive else NODE_ROW
        return self.size * (NODE + self.distinct * row)


@dataclass(frozen=True)
class SearchProposal:
    """A search with the space it walks and its settings, and why."""

    method: str
    why: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def space(self) -> Kind:
        """The first space that the method walks."""
        return METHODS[self.method][0]


def propose_search(task: SearchTask) -> SearchProposal:
    """The exact search; where it may take long, with a time, after which its best so far has proven bounds."""
    if task.seconds <= PATIENCE:
        return SearchProposal("exact", f"all are tried or ruled out, in {_time(task.seconds)} or so.")
    long = "are too many to number" if task.seconds == math.inf else f"would take {_time(task.seconds)} or more"
    why = f"all {long}, so it ends after {SECONDS} s: the best so far, with a bound for every point. Give it more time."
    return SearchProposal("exact", why, {"seconds": SECONDS})


def _time(seconds: float) -> str:
    """A rough time for a sentence."""
    if seconds < 60:
        return "seconds"
    if seconds < 3600:
        return "minutes"
    return "hours" if seconds < 86_400 else "days"
