"""What another model of recoding would keep of a table, in a sentence and within a second or so.

The lattice is searched exactly where it is small; cuts are made from its best node on by recutting, for so many
steps, and local recoding is told by relaxed Mondrian, which is quick, so the sentence says *at
least*: longer searches lose less, and the local search loses less than Mondrian (docs/local.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.errors import BadJob
from kpareto.fronts.front import Point
from kpareto.fronts.problem import problem
from kpareto.searches.cuts.recut import recut_columns
from kpareto.searches.cuts.score import score_of
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice.mondrian import relaxed
from kpareto.searches.local.problem import LocalWish, check_wish
from kpareto.tables.cuts import make_cuts
from kpareto.tables.lattice import Kind, Lattice
from kpareto.tables.table import Table

NODES = 100_000  # of a lattice that is counted for one sentence
COUNTED = 500_000_000  # nodes times distinct rows that are counted whole: about half a second
STEPS = 1_000  # columns that are recut for one sentence, at most
ROW_STEPS = 12_500_000  # the same times the distinct rows: about half a second
FEWEST = 100  # steps below which the number would say little
MORE = 0.05  # percent that are a gain worth a word
CELLS = 4_000_000  # distinct rows times columns of a table that Mondrian goes through for one sentence


@dataclass(frozen=True)
class OtherModel:
    """A model of recoding, and what it would keep of a table at some k."""

    name: str  # as --model takes it
    kept: float  # percent of the detail, at the least
    words: str


def other_models(
    table: Table, k: int, share: float = 0.0, shown: Kind | None = None, start: tuple[int, ...] | None = None
) -> tuple[OtherModel, ...]:
    """Other models than the one that is shown, and what they would keep at a k; none where it would take long.

    share: of the rows that may be suppressed in the lattice and by cuts; Mondrian suppresses nothing. start: the levels
    of a good node with that k, where one is known already.
    """
    quick = k <= table.rows and table.persons is None and table.distinct * len(table.hierarchies) <= CELLS
    if not quick:
        return ()
    others: list[OtherModel] = []
    if Lattice(table.hierarchies).size <= NODES:
        if start is None:
            best = _best_node(table, k, share)
            start = best.recoding.levels if best else None
            if best and shown != "lattice":
                kept = 100 * (1 - best.values["lm"])
                words = f"one level per column keeps {kept:.1f} % of the detail at best"
                others.append(OtherModel("lattice", kept, words))
        if start is not None and shown not in ("cuts", "order"):
            loss = _cut_loss(table, k, share, start)
            others += [] if loss is None else [_cuts_words(table, 100 * (1 - loss))]
    if shown != "local" and fits_local(table):
        kept = 100 * (1 - relaxed(table, k).lm)
        words = f"labels that differ from class to class keep {kept:.1f} % or more, and open more to attacks"
        others.append(OtherModel("local", kept, words))
    return tuple(others)


def tell_models(k: int, others: Sequence[OtherModel], aside: bool = False) -> str:
    """A sentence on other models; aside: there are further limits, which it leaves aside."""
    parts = "; ".join(other.words for other in others)
    return f"At k = {k:,}{', other limits aside' if aside else ''}, {parts}." if parts else ""


def tell_other_models(
    table: Table,
    k: int,
    share: float = 0.0,
    shown: Kind | None = None,
    start: tuple[int, ...] | None = None,
    aside: bool = False,
) -> str:
    """What other models than the one that is shown would keep at a k; nothing where it would take long."""
    return tell_models(k, other_models(table, k, share, shown, start), aside)


def best_model(others: Sequence[OtherModel], kept: float = 0.0) -> str | None:
    """The model that keeps most; None where none keeps visibly more than what is shown."""
    best = max(others, key=lambda other: other.kept, default=None)
    return None if best is None or best.kept < kept + MORE else best.name


def fits_local(table: Table, limits: Mapping[str, float] | None = None) -> bool:
    """Whether local recoding knows what such a table and such limits on classes ask of it."""
    try:
        check_wish(table, LocalWish(1, dict(limits or {})))
    except BadJob:
        return False
    return True


def _cuts_words(table: Table, kept: float) -> OtherModel:
    """What cuts keep; of ordered columns they show borders that are values of single rows."""
    if any(hierarchy.ordered and len(hierarchy.leaves) > 2 for hierarchy in table.hierarchies):
        what = "groups of neighbouring values, which show exact borders of real values,"
    else:
        what = "levels that are mixed within a column"
    return OtherModel("cuts", kept, f"{what} keep {kept:.1f} % or more")


def _best_node(table: Table, k: int, share: float) -> Point | None:
    """The node of the lattice that loses least at a k, counted whole where that is quick; None where none has that k.

    Branch and bound counts less, but its compilation takes half a minute in a fresh installation, and the compiled walk
    is what every front begins with.
    """
    if Lattice(table.hierarchies).size * table.distinct <= COUNTED:
        front = exact_front(problem(table, ["k", "lm"], share), "one")
        return front.choose(k=k) if len(front.meeting({"k": k})) else None
    limits = {"k": float(k)}
    front = exact_front(problem(table, ["lm"], share, limits), "one")
    return front[0] if len(front) else None


def _cut_loss(table: Table, k: int, share: float, levels: tuple[int, ...]) -> float | None:
    """What cuts lose, by recutting columns from a node on for a few steps.

    The same steps every time, so that the sentence can be repeated; None where the table is too large for them.
    """
    limits = {"k": float(k)}
    asked = problem(table, ["lm"], share, limits)
    steps = min(STEPS, ROW_STEPS // max(table.distinct, 1))
    space = make_cuts(table.hierarchies)
    score = score_of(asked, space)
    if score is None or steps < FEWEST:
        return None
    starts = space.embed(np.array([levels], dtype=np.int64))
    result = recut_columns(score, starts=starts, restarts=0, progress=lambda done, _: done < steps)
    return float(result.value) if np.isfinite(result.value) else None
