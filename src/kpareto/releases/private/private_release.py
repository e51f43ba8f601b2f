"""A differentially private release: rows drawn, a node chosen, cells generalized, small classes dropped.

Two mechanisms look at the rows, one after the other, and their epsilons add up (Dwork and Roth 2014, theorem 3.16):

1. **choose**: the node is picked by its score over all rows, epsilon_search-differentially private;
2. **show**: fresh draws with chance beta, generalized by that node, classes below k dropped, (epsilon_anon, delta)-
   differentially private for every node by Li, Qardaji and Su.

The scores are counted on all rows and not on the rows drawn. Composition needs the second mechanism to be private for
every answer of the first, with random draws of its own; a choice that saw the draws would break that argument.

What is released is which node was taken and how often each kept combination of groups occurs: nothing else of the rows,
not how many there are, not how many were dropped, not what was lost. A neighbouring table has one **row** more or
less, so each person must have at most one row. Where persons are told apart, a neighbouring table has all rows of one
**person** more or less: at most m rows of each are kept, by chance and whatever the rows of others are, so that m rows
at most differ, and each row gets 1/m of epsilon and of delta what is left for it (``delta_of_row``).

Privacy rests on an attacker not knowing which rows were drawn, so the draws must not be repeatable: they come from a
cryptographic generator, and a seed is refused, except through the door for tests, which marks what it makes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from kpareto.errors import BadInput, BadTable, shorten
from kpareto.releases.certificate import Certificate
from kpareto.releases.private.delta import WORD, Real, choose_beta, delta, delta_of_row, read_positive
from kpareto.releases.private.scores import choose_node, make_score, score_nodes
from kpareto.tables.lattice import Lattice
from kpareto.tables.recoding import Recoding
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table, merge_classes
from kpareto.verifier import digest_of

CHUNK = 1 << 20  # rows drawn at once
SEARCH_SHARE = Fraction(1, 10)  # of epsilon, for the choice of the node
PRIVATE = (
    (
        "Which recoding was taken: chosen among all nodes of the lattice within the allowed levels by OpenDP's noisy "
        "maximum of a score with a proven sensitivity, with epsilon_search."
    ),
    (
        "Which rows are shown: each row was drawn with chance beta by the operating system's generator, generalized, "
        "and classes of fewer than k drawn rows were dropped, with epsilon_anon and delta (Li, Qardaji and Su 2012)."
    ),
)
ROWS = "Each person has at most one row: a neighbouring table has one row more or less."
PERSONS = "Everybody has one id, and nobody else has it: a neighbouring table has all rows of one person more or less."
ASSUMED = (
    "Hierarchies, roles, allowed levels, epsilon, delta and the score were set without looking at the rows.",
    "The file is whole: a line that is no row stops a run, so a release tells that there was none.",
    "Nobody but the steward saw errors, times or memory of the run, which may depend on the rows.",
    "The random numbers of the operating system and of OpenDP cannot be known.",
    "Other releases of the same rows are in the ledger: their epsilons and deltas add up with these.",
)
LEFT_OUT = "were left out before anything was counted or drawn; how many is not told."
BOUNDED = (
    "Which rows of a person were kept: at most {rows} of each, chosen at random among that person's own before "
    "anything was counted. Epsilon and delta are of all of them together."
)
TESTED = "Made with a seed, for tests: whoever knows it knows which rows were drawn. This is NOT private."


@dataclass(frozen=True)
class Draws:
    """Where random bytes come from, and whether nobody can know them."""

    random_bytes: Callable[[int], bytes]
    secret: bool


SECRET = Draws(secrets.token_bytes, secret=True)  # the operating system's generator


def refuse_seed(seed: object) -> None:
    """Raise where somebody asks for a differentially private run that can be repeated."""
    if seed is not None:
        raise BadInput(
            f"A seed is given ({seed!r}), and a differentially private run must not be repeatable: whoever knows it "
            "knows which rows were drawn. Leave the seed out."
        )


def draws_for_tests(seed: int) -> Draws:
    """Repeatable draws, for tests alone: what is made with them is marked as not private and must not be handed out."""
    return Draws(np.random.default_rng(seed).bytes, secret=False)


def draw_rows(weights: np.ndarray, beta: Fraction, draws: Draws = SECRET) -> np.ndarray:
    """How many of the rows of each distinct row are drawn, each row with chance beta exactly: (distinct,) int64.

    A row takes a random word of 64 bits and is drawn when the word is below beta · 2^64, which is a whole number.
    """
    border = beta * WORD
    if border.denominator != 1 or not 0 <= beta < 1:
        raise BadInput(f"Beta is {beta!s}. Give a whole number of 1/2^64 from 0 to below 1, as largest_beta does.")
    ends = np.cumsum(weights)
    rows = int(ends[-1]) if len(ends) else 0
    drawn = np.zeros(len(weights), dtype=np.int64)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        words = np.frombuffer(draws.random_bytes(8 * count), dtype="<u8")
        hits = start + np.flatnonzero(words < np.uint64(border.numerator))
        drawn += np.bincount(np.searchsorted(ends, hits, side="right"), minlength=len(weights))
    return drawn


@dataclass(frozen=True)
class PrivatePlan:
    """What a run spends and on what; it is fixed before any row is looked at.

    Where persons are told apart every epsilon and delta is that of a person.
    """

    epsilon: Fraction  # in all
    delta: Fraction  # asked for
    epsilon_search: Fraction  # for the choice of the node
    epsilon_anon: Fraction  # for the rows shown
    beta: Fraction  # the chance of a row to be drawn
    k: int  # smaller classes are dropped
    reached: Fraction  # delta(k, beta, epsilon_anon), at most delta
    rows_per_person: int | None = None  # that are kept at most; None: persons are not told apart

    @property
    def epsilon_choice(self) -> Fraction:
        """What one row may move of the choice of the node."""
        return self.epsilon_search / (self.rows_per_person or 1)

    def to_dict(self) -> dict[str, object]:
        """For a certificate."""
        return {
            **({} if self.rows_per_person is None else {"rows_per_person": self.rows_per_person}),
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
    missing: str = "drop"  # or category: what became of rows with a missing value

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """What each class shows, column by column."""
        words = self.recoding.labels
        return [tuple(words[c][g] for c, g in enumerate(row)) for row in self.groups.tolist()]


def make_plan(
    epsilon: Real, delta_wanted: Real, search_share: Real = SEARCH_SHARE, rows_per_person: int | None = None
) -> PrivatePlan:
    """Epsilon divided between choosing and showing, and the beta and k that follow."""
    whole, wanted = read_positive("Epsilon", epsilon), read_positive("Delta", delta_wanted)
    share = read_positive("The share of epsilon for the choice", search_share)
    if share >= 1:
        raise BadInput(f"The share of epsilon for the choice is {search_share!r}. Give one below 1, such as 0.1.")
    search = whole * share
    shown = whole - search
    rows = rows_per_person or 1
    row_delta = delta_of_row(wanted, shown / rows, rows)
    beta, k = choose_beta(shown / rows, row_delta)
    reached = delta(k, beta, shown / rows) * wanted / row_delta
    return PrivatePlan(whole, wanted, search, shown, beta, k, reached, rows_per_person)


def check_schema(schema: Schema, rows_per_person: int | None) -> None:
    """Raise unless rows are persons, or so many rows of each are kept, and every column shown is generalized."""
    if schema.person is not None and rows_per_person is None:
        raise BadTable(
            f"Persons are told apart by {shorten(schema.persons)}, and nothing says how many rows of each may count. "
            "Write rows_per_person = 1, say, under [release] in the job: so many are kept of each, by chance, and "
            "epsilon and delta are those of a person."
        )
    if schema.person is None and rows_per_person is not None:
        raise BadTable(
            f"At most {rows_per_person} rows of each person are asked for, and no column tells persons apart. Name it: "
            'person = "…" under [data] in the job.'
        )
    others = (*schema.sensitive, *schema.target)
    if others:
        raise BadTable(
            f"The columns {shorten(others)} would be shown as they are, which no epsilon covers. Make them "
            "quasi-identifiers with a hierarchy, or leave them out."
        )


def bound_persons(table: Table, rows: int, draws: Draws = SECRET) -> Table:
    """At most so many rows of each person, by chance among that person's own; rows without an id are left out.

    Persons who come or go change nothing about the rows of others: each row has a random word of its own.
    """
    people = table.persons
    if people is None:
        raise BadTable('No column tells persons apart. Name it: Schema(..., person="…").')
    row, person = people.row.repeat(people.count), people.code.repeat(people.count)
    words = np.frombuffer(draws.random_bytes(8 * len(row)), dtype="<u8")
    order = np.lexsort((words, person))
    counts = np.bincount(person)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)  # among the rows of its person
    weights = np.bincount(row[order[place < rows]], minlength=table.distinct)
    have = weights > 0
    few = Schema(table.schema.quasi, levels=table.schema.levels)
    bounded = make_table(few, table.hierarchies, table.codes[have], weights[have], {})
    return replace(bounded, domain=table.domain, missing=table.missing)


def check_private(table: Table, rows_per_person: int | None = None) -> None:
    """Raise unless nothing but the rows themselves depends on the rows, and every column shown is generalized.

    That leaves were not taken from the values of the rows, which would move every score, nobody can see in a table:
    ``jobs.private`` makes hierarchies before it reads the rows, and who calls this by hand must do so too.
    """
    check_schema(table.schema, rows_per_person)
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
    """Choose a node by its score over the whole lattice, draw rows, and show the classes of at least k of them.

    Where the schema allows some levels alone, only nodes of these levels can be chosen: which they are depends on no
    row, and the noise for the score of any node is enough for fewer nodes.
    """
    check_private(table, plan.rows_per_person)
    if plan.rows_per_person is not None:
        table = bound_persons(table, plan.rows_per_person, draws)
    chosen = make_score(score, table.hierarchies, plan.beta, plan.k)
    nodes = allowed_nodes(table)
    place = choose_node(score_nodes(table, chosen)[nodes], plan.epsilon_choice, chosen)
    lattice = Lattice(table.hierarchies)
    recoding = lattice.decode(lattice.levels(nodes[[place]])[0])
    return show(table, recoding, plan, score, draws)


def allowed_nodes(table: Table) -> np.ndarray:
    """The numbers of the nodes of the levels that the schema allows: (nodes,) int64."""
    lattice = Lattice(table.hierarchies)
    nodes = np.arange(lattice.size, dtype=np.int64)
    levels, allowed = lattice.levels(nodes), np.ones(len(nodes), dtype=np.bool_)
    for name, (least, most) in table.schema.levels.items():
        level = levels[:, table.column(name)]
        allowed &= (least <= level) & (level <= most)
    return nodes[allowed]


def show(table: Table, recoding: Recoding, plan: PrivatePlan, score: str, draws: Draws = SECRET) -> PrivateRelease:
    """The second mechanism alone: fresh draws through a node, classes below k dropped."""
    drawn = draw_rows(table.weights, plan.beta, draws)
    groups = np.stack([cut[table.codes[:, c]] for c, cut in enumerate(recoding.cuts)], axis=1)
    classes, counts = merge_classes(groups, drawn[:, None])
    kept = counts[:, 0] >= plan.k
    return PrivateRelease(plan, score, recoding, classes[kept], counts[kept, 0], draws.secret, table.missing)


def describe_privacy(done: PrivateRelease) -> dict[str, Any]:
    """The statement as plain data; nothing in it depends on rows that were not released."""
    rows = done.plan.rows_per_person
    lacking = "" if done.missing == "category" else ", or without a value,"
    lacking += "" if rows is None else " or without an id" + "," * (not lacking)
    bounded = () if rows is None else (BOUNDED.format(rows=rows),)
    return {
        "model": f"(epsilon, delta)-differential privacy of {'rows' if rows is None else 'persons'}",
        **done.plan.to_dict(),
        "score": done.score,
        "levels": _levels(done),
        "left_out": f"Rows with a value that has no place in its hierarchy{lacking} {LEFT_OUT}",
        "private": [*bounded, *PRIVATE] if done.secret else [TESTED],
        "assumed": [ROWS if rows is None else PERSONS, *ASSUMED],
    }


def _levels(done: PrivateRelease) -> dict[str, dict[str, int]]:
    """The level that was taken of each column, from 0 for its values, and the last there is."""
    pairs = zip(done.recoding.hierarchies, done.recoding.levels or (), strict=True)
    return {hierarchy.name: {"level": level, "of": hierarchy.height} for hierarchy, level in pairs}


def state_privacy(certificate: Certificate, done: PrivateRelease) -> Certificate:
    """A certificate with the statement in its public part; the confidential part names both by their new hashes.

    Levels are those of the declared hierarchies: the rows that are shown were counted as a table of their own.
    """
    levels, recoding = _levels(done), certificate.public["recoding"]
    public = {
        **certificate.public,
        "differential_privacy": describe_privacy(done),
        "missing": done.missing,
        "recoding": {name: {**column, **levels[name]} for name, column in recoding.items()},
    }
    confidential = {key: value for key, value in certificate.confidential.items() if key != "sha256"}
    shown = {name: column["level"] for name, column in levels.items()}
    confidential["recoding"] = {**confidential["recoding"], "columns": shown}
    confidential["public_sha256"] = digest_of(public)
    return Certificate(public, {**confidential, "sha256": digest_of(confidential)})
