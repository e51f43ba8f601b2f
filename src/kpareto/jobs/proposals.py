"""What ``inspect`` proposes beyond roles: built-in hierarchies, and a search by an estimate of its work.

The constants of the estimate were measured on made tables of 3,000 to 200,000 rows and 12 to 31 quasi-identifiers
(docs/inspect.md). They need not be close: between the lattices that take seconds and those that take hours lie many
powers of ten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kpareto.engines.facts import count_columns
from kpareto.engines.read import load_hierarchies
from kpareto.engines.source import View
from kpareto.engines.sql import literal
from kpareto.engines.unique_rows import open_view
from kpareto.errors import BadHierarchy
from kpareto.searches.exact_front import MOST_NODES
from kpareto.searches.lattice.exact import WHOLE
from kpareto.searches.names import METHODS
from kpareto.strict import toml_value
from kpareto.tables.hierarchies.known import find_known, fits
from kpareto.tables.hierarchy import MISSING, Hierarchy
from kpareto.tables.lattice import Kind, Lattice
from kpareto.tables.proposals import ColumnFacts, Proposal, Rule, quasi
from kpareto.tables.table import Table
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
LOOKED_AT = 100_000  # rows by which the spread of a column is judged
MOST_TRIED = 10_000_000  # nodes of a lattice that nobody asked for; the exact search of it takes minutes at the most

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
        topic = column.topic
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


# -- hierarchies of columns that came without one, as ``inspect`` would propose them by their values ---


def complete_hierarchies(table: Table) -> Table:
    """The table with a hierarchy for each column that came without one, and a remark that says which.

    Where nothing but showing or hiding the values suits a column, it stays as it is. So do tables that were read
    coarser or by a sample.
    """
    if not table.bare or table.leaf_counts is not None or table.sample is not None:
        return table
    rules = {name: _propose(name, _leaf_rows(table, name)) for name in table.bare}
    rules = {name: rule for name, rule in rules.items() if "flat" not in rule}
    for shape in (dict, _middle):
        chosen = {name: shape(rule) for name, rule in rules.items()}
        bound = table.bind(_load(table, chosen))
        if Lattice(bound.hierarchies).size <= MOST_TRIED:
            shown = {name: rule for name, rule in chosen.items() if name not in bound.bare}
            sentence = "No hierarchy was given for these columns, so they got one by their values"
            listed = ", ".join(f"{name} {toml_value(rule)}" for name, rule in shown.items())
            return replace(bound, remarks=(*table.remarks, f"{sentence}: {listed}.")) if shown else table
    sentence = (
        f"{len(rules)} columns have no hierarchy and are shown or hidden as a whole: with one each there would be too"
    )
    return replace(
        table, remarks=(*table.remarks, f"{sentence} many recodings to try. Give hierarchies, or fewer columns.")
    )


def _leaf_rows(table: Table, name: str) -> dict[str, int]:
    """The values of a column, and the rows of each."""
    column = table.column(name)
    return dict(zip(table.hierarchies[column].leaves, table.leaf_rows[column].tolist(), strict=True))


def _middle(rule: Rule) -> Rule:
    """A rule with the middle one of its levels alone."""
    return {
        word: [steps[len(steps) // 2]] if isinstance(steps, list) and steps else steps for word, steps in rule.items()
    }


def _load(table: Table, rules: Mapping[str, Rule]) -> dict[str, Hierarchy]:
    """The hierarchies of rules; a column whose values have no place in its own stays as it is."""
    trees: dict[str, Hierarchy] = {}
    for name, rule in rules.items():
        with suppress(BadHierarchy):
            trees |= load_hierarchies(table, {name: rule})
    return trees


def _propose(name: str, values: Mapping[str, int]) -> Rule:
    """The rule for a column with these values and rows of each; flat where it has none."""
    texts = [text for text in values if text != MISSING]
    if not texts:
        return {"flat": True}
    rows = np.array([values[text] for text in texts], dtype=np.int64)
    shares = np.maximum(rows * LOOKED_AT // max(int(rows.sum()), LOOKED_AT), 1)
    column = pa.array(np.repeat(np.arange(len(texts)), shares))
    spread = pa.table({name: pa.array(texts, pa.string()).take(column)})
    with open_view(spread) as view:
        facts = count_columns(view, spread.num_rows)
        (proposal,) = propose_known(view, facts, [quasi(facts[0], "", topic_of(name))])
    return proposal.hierarchy or {"flat": True}


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
        return SearchProposal("exact", f"all are tried or ruled out, in {_time(task.seconds)}.")
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
