"""Hierarchies for columns that came without one: as ``inspect`` would propose them, by what their values look like."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kpareto.engines.facts import count_columns
from kpareto.engines.unique_rows import open_view
from kpareto.engines.wishes import load_hierarchies
from kpareto.errors import BadHierarchy
from kpareto.jobs.inspect import toml_value
from kpareto.tables.hierarchy import MISSING, Hierarchy
from kpareto.tables.lattice import Lattice
from kpareto.tables.proposals import Rule, hierarchy_for
from kpareto.tables.table import Table
from kpareto.tables.vocabulary import topic_of

LOOKED_AT = 100_000  # rows by which the spread of a column is judged
MOST_NODES = 10_000_000  # of a lattice that nobody asked for; the exact search of it takes minutes at the most


def complete_hierarchies(table: Table) -> Table:
    """The table with a hierarchy for each column that came without one, and a remark that says which.

    Where nothing but showing or hiding the values suits a column, it stays as it is. So do tables that were read
    coarser or by a sample.
    """
    if not table.bare or table.leaf_counts is not None or table.sample is not None:
        return table
    rules = {name: _propose(name, _values(table, name)) for name in table.bare}
    rules = {name: rule for name, rule in rules.items() if "flat" not in rule}
    for shorten in (dict, _middle):
        chosen = {name: shorten(rule) for name, rule in rules.items()}
        bound = table.bind(_load(table, chosen))
        if Lattice(bound.hierarchies).size <= MOST_NODES:
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


def _values(table: Table, name: str) -> dict[str, int]:
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
        (facts,) = count_columns(view, spread.num_rows)
    return hierarchy_for(facts, topic_of(name))[0]
