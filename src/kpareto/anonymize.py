"""One call from a table to a release: the best full-domain recoding that meets k and l, certified optimal and verified.

Among all nodes of the lattice that meet the limits with few enough suppressed rows the one with the least loss (LM) is
taken, by the exact search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kpareto.builders import load
from kpareto.diversity import distinct_l
from kpareto.errors import BadJob, Unsafe
from kpareto.frames import read
from kpareto.hierarchy import Hierarchy
from kpareto.loss import glm, lm
from kpareto.partition import Partition, Suppression
from kpareto.privacy import k as k_anonymity
from kpareto.problem import constrained, problem
from kpareto.recoding import node, top
from kpareto.release import Release, release
from kpareto.schema import Schema
from kpareto.search.exact import exact_front
from kpareto.space import Lattice
from kpareto.stored import Choice
from kpareto.table import Table


@dataclass(frozen=True, eq=False)
class Anonymized:
    """The released rows and what is known about them."""

    data: Any  # of the type that was given; a pyarrow table where a file was
    levels: tuple[int, ...]  # of the quasi-identifiers, in their order
    numbers: Mapping[str, float]  # k, l, lm, glm, classes, rows
    suppressed: int
    verified: bool  # the rows were written and counted again by the independent verifier
    nodes: int  # of the lattice, none of which is better
    release: Release  # with the certificate


def anonymize(  # noqa: PLR0913 (what users of other packages write)
    data: object,
    quasi_identifiers: Iterable[str],
    sensitive_attributes: str | Iterable[str] = (),
    identifiers: str | Iterable[str] = (),
    hierarchies: Mapping[str, object] | None = None,
    k: int = 5,
    l: int | None = None,
    suppression_limit: float = 0.0,
) -> Anonymized:
    """The table with the least loss (LM) that has k rows in each class, and l values of each sensitive column.

    ``hierarchies`` are files, Hierarchy objects, lists of rows, frames, or ``{level: labels}``; a column without one
    is shown or starred as a whole. ``suppression_limit`` is the share of rows that may be dropped.
    """
    check_wishes(k, l, suppression_limit)
    schema = Schema(_names(quasi_identifiers), _names(sensitive_attributes), (), _names(identifiers))
    if l is not None and not schema.sensitive:
        raise BadJob(f"l is {l}, and no column is sensitive. Give sensitive_attributes, or leave l out.")
    table = _table(data, schema, hierarchies or {})
    if k > table.rows:
        raise Unsafe(
            f"k is {k:,} and the table has {table.rows:,} rows, so no class can be that large. Give a smaller k."
        )
    suppression, limits = wishes(table, k, l, suppression_limit)
    levels = optimum(table, suppression, limits)
    recoding = node(table.hierarchies, levels)
    done = release(Choice(table, recoding, suppression, limits), data)
    return Anonymized(
        done.data,
        levels,
        _numbers(done.partition),
        done.suppressed,
        done.verified.rows == done.rows,
        Lattice(table.hierarchies).size,
        done,
    )


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def check_wishes(k: object, l: object, suppression_limit: object) -> None:
    """Raise unless k, l and the limit make sense."""
    for name, value, least in (("k", k, 1), ("l", l, 1)):
        if name == "l" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise BadJob(f"{name} is {value!r}. Give a whole number of at least {least}.")
    limit = suppression_limit
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.number) or not 0 <= float(limit) < math.inf:
        raise BadJob(f"suppression_limit is {limit!r}. Give a share of the rows from 0 to 1.")
    if float(limit) > 1:
        raise BadJob(
            f"suppression_limit is {limit}, which looks like percent. It is a share of the rows: "
            f"for {limit} percent write {float(limit) / 100:g}."
        )


def _table(data: object, schema: Schema, given: Mapping[str, object]) -> Table:
    table = read(data, schema)
    for name in given:
        table.column(name)
    known: dict[str, Hierarchy] = {}
    for column, name in enumerate(schema.quasi):
        if name in given:
            rows = dict(zip(table.hierarchies[column].leaves, table.leaf_rows[column].tolist(), strict=True))
            known[name] = load(name, given[name], rows)
    return table.bind(known)


def wishes(table: Table, k: int, l: int | None, suppression_limit: float) -> tuple[Suppression, dict[str, float]]:
    """The suppression rule constraint for k and l, and the limits it is made of."""
    limits = {"k": float(k)} | ({} if l is None else {"l": float(l)})
    rows = math.floor(float(suppression_limit) * table.rows + 1e-9)
    return constrained(limits, float(rows)), limits


def optimum(table: Table, suppression: Suppression, limits: Mapping[str, float]) -> tuple[int, ...]:
    """The levels of the node with the least LM within the limits, proven; of equal ones the first."""
    made = problem(table, ["lm"], suppression, limits)
    best = exact_front(made, "one")
    if len(best) == 0:
        lost = made.partition(top(table.hierarchies)).suppressed_rows
        raise Unsafe(
            f"No recoding meets the limits: with everything generalized {lost:,} of {table.rows:,} rows would still "
            f"have to be suppressed, and {suppression.allowed(table.rows):,} may be. Give a smaller k or l, a larger "
            "suppression_limit, or hierarchies with a last level of one group."
        )
    return tuple(int(level) for level in best.genomes[0])


def _numbers(found: Partition) -> dict[str, float]:
    numbers = {
        "k": k_anonymity()(found),
        "lm": lm()(found),
        "glm": glm()(found),
        "classes": float(found.classes),
        "rows": float(found.rows[found.visible].sum()),
    }
    if found.table.sensitive:
        numbers["l"] = distinct_l()(found)
    return numbers
