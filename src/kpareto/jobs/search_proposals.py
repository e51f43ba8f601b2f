"""Which search to propose for a table: the exact one, with a time where it may take long, by an estimate of its work.

The constants were measured on made tables of 3,000 to 200,000 rows and 12 to 31 quasi-identifiers (docs/inspect.md).
They need not be close: between the lattices that take seconds and those that take hours lie many powers of ten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kpareto.measures.cells import LARGEST
from kpareto.searches.exact_course import MOST_NODES
from kpareto.searches.lattice.exact import WHOLE
from kpareto.searches.names import METHODS
from kpareto.tables.lattice import Kind

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
        """Whether the exact search can rule out parts of the lattice: persons aside, and glm must be a whole number.

        A cell loses (values hidden - 1) / (values - 1), so the sum over all cells has the common denominator of the
        columns, which has to fit into 64 bits (CellLoss.is_exact).
        """
        denominator = math.lcm(*(max(leaves - 1, 1) for leaves in self.leaves))
        return not self.persons and self.rows * len(self.leaves) * denominator < LARGEST

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
