"""Fronts with made-up numbers, for what is said about points without a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from kpareto.fronts.front import Front
from kpareto.fronts.numbers import Numbers, Provenance
from kpareto.fronts.problem import problem
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Lattice
from kpareto.tables.table import Table


@cache
def _table() -> Table:
    return adult_table(sensitive="occupation")


def made_front(
    points: Sequence[tuple[int, float, int]],
    limits: Mapping[str, float] | None = None,
    others: Mapping[str, Sequence[float]] | None = None,
) -> Front:
    """Points of k, percent of the detail kept and rows suppressed on Adult (30,162 rows), with other objectives."""
    wanted = problem(_table(), ["k", "lm", *(others or {})], 0.01, dict(limits or {}))
    columns = [[k for k, _, _ in points], [1 - kept / 100 for _, kept, _ in points], *(others or {}).values()]
    values = np.array(columns, dtype=np.float64).T.reshape(len(points), len(columns))
    keys = np.round(-values * wanted.better * 10**9).astype(np.int64)
    space = Lattice(wanted.table.hierarchies)
    genomes = np.zeros((len(points), len(space.genes)), dtype=np.int64)
    lost = np.array([lost for _, _, lost in points], dtype=np.int64)
    places, yes = np.arange(len(points)), np.ones(len(points), dtype=np.bool_)
    return Front(
        wanted, space, genomes, Numbers(places, places * 0, values, keys, yes, lost), Provenance("made", 0, True)
    )
