"""A differentially private release: rows drawn, a node chosen, cells generalized, small classes dropped.

Two mechanisms look at the rows, one after the other, and their epsilons add up (Dwork and Roth 2014, theorem 3.16):

1. **choose**: the node is picked by its score over all rows, epsilon_search-differentially private;
2. **show**: fresh draws with chance beta, generalized by that node, classes below k dropped, (epsilon_anon, delta)-
   differentially private for every node by Li, Qardaji and Su.

The scores are counted on all rows and not on the rows drawn. Composition needs the second mechanism to be private for
every answer of the first, with random draws of its own; a choice that saw the draws would break that argument.

What is released is which node was taken and how often each kept combination of groups occurs: nothing else of the rows,
not how many there are, not how many were dropped, not what was lost. A neighbouring table has one **row** more or
less, so each person must have at most one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kpareto.errors import BadInput, BadTable, shorten
from kpareto.releases.private.choose import choose_node
from kpareto.releases.private.delta import Real, delta, largest_beta, read_positive, smallest_k
from kpareto.releases.private.sample import SECRET, Draws, draw_rows
from kpareto.releases.private.scores import make_score, score_nodes
from kpareto.tables.lattice import Lattice
from kpareto.tables.recoding import Recoding
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, merge_classes

SEARCH_SHARE = Fraction(1, 10)  # of epsilon, for the choice of the node


@dataclass(frozen=True)
class PrivatePlan:
    """What a run spends and on what; it is fixed before any row is looked at."""

    epsilon: Fraction  # in all
    delta: Fraction  # asked for
    epsilon_search: Fraction  # for the choice of the node
    epsilon_anon: Fraction  # for the rows shown
    beta: Fraction  # the chance of a row to be drawn
    k: int  # smaller classes are dropped
    reached: Fraction  # delta(k, beta, epsilon_anon), at most delta

    def to_dict(self) -> dict[str, object]:
        """For a certificate."""
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "epsilon_search": float(self.epsilon_search),
            "epsilon_anon": float(self.epsilon_anon),
            "beta": float(self.beta),
            "k": self.k,
            "delta_reached": float(self.reached),
        }


@dataclass(frozen=True, eq=False)
class PrivateRelease:
    """The classes shown, in lexicographic order of their groups, which tells nothing of the order of the rows."""

    plan: PrivatePlan
    score: str
    recoding: Recoding
    groups: np.ndarray  # (classes, quasi) int32
    counts: np.ndarray  # (classes,) int64, rows drawn, at least k
    secret: bool  # false: made through the door for tests, not private

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """What each class shows, column by column."""
        words = self.recoding.labels
        return [tuple(words[c][g] for c, g in enumerate(row)) for row in self.groups.tolist()]


def make_plan(epsilon: Real, delta_wanted: Real, search_share: Real = SEARCH_SHARE) -> PrivatePlan:
    """Epsilon divided between choosing and showing, and the beta and k that follow."""
    whole, wanted = read_positive("Epsilon", epsilon), read_positive("Delta", delta_wanted)
    share = read_positive("The share of epsilon for the choice", search_share)
    if share >= 1:
        raise BadInput(f"The share of epsilon for the choice is {search_share!r}. Give one below 1, such as 0.1.")
    search = whole * share
    shown = whole - search
    beta = largest_beta(shown)
    k = smallest_k(beta, shown, wanted)
    return PrivatePlan(whole, wanted, search, shown, beta, k, delta(k, beta, shown))


def check_schema(schema: Schema) -> None:
    """Raise unless rows are persons, and every column shown is generalized."""
    if schema.person is not None:
        raise BadTable(
            f"Persons are told apart by {schema.person!r}, and differential privacy here protects single rows. "
            "Give a table with one row per person, without that column."
        )
    others = (*schema.sensitive, *schema.target)
    if others:
        raise BadTable(
            f"The columns {shorten(others)} would be shown as they are, which no epsilon covers. Make them "
            "quasi-identifiers with a hierarchy, or leave them out."
        )


def check_private(table: Table) -> None:
    """Raise unless nothing but the rows themselves depends on the rows, and every column shown is generalized.

    That leaves were not taken from the values of the rows, which would move every score, nobody can see in a table:
    ``jobs.private`` makes hierarchies before it reads the rows, and who calls this by hand must do so too.
    """
    check_schema(table.schema)
    learned = [h.name for h in table.hierarchies if h.data_dependent]
    if learned:
        raise BadTable(
            f"The hierarchies of {shorten(learned)} were built from the rows, so their groups tell about them. Give "
            "hierarchies that were made without the rows."
        )
    if table.sample is not None or table.leaf_counts is not None or any(h.coarse for h in table.hierarchies):
        raise BadTable(
            "Only a part of the rows came in, or they came in coarser than their values, and how depends on the rows. "
            "Give more memory, or coarser hierarchies, so that all rows come in as they are."
        )


def release_private(
    table: Table, plan: PrivatePlan, score: str = "granularity", draws: Draws = SECRET
) -> PrivateRelease:
    """Choose a node by its score over the whole lattice, draw rows, and show the classes of at least k of them."""
    check_private(table)
    chosen = make_score(score, table.hierarchies, plan.beta, plan.k)
    number = choose_node(score_nodes(table, chosen), plan.epsilon_search, chosen)
    lattice = Lattice(table.hierarchies)
    recoding = lattice.decode(lattice.levels(np.array([number]))[0])
    return show(table, recoding, plan, score, draws)


def show(table: Table, recoding: Recoding, plan: PrivatePlan, score: str, draws: Draws = SECRET) -> PrivateRelease:
    """The second mechanism alone: fresh draws through a node, classes below k dropped."""
    drawn = draw_rows(table.weights, plan.beta, draws)
    groups = np.stack([cut[table.codes[:, c]] for c, cut in enumerate(recoding.cuts)], axis=1)
    classes, counts = merge_classes(groups, drawn[:, None])
    kept = counts[:, 0] >= plan.k
    return PrivateRelease(plan, score, recoding, classes[kept], counts[kept, 0], draws.secret)
