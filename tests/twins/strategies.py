"""Hypothesis strategies: small tables with nested hierarchies, recodings of them, and suppressions.

A ``Case`` keeps the raw rows beside the Table made of them, so that slow twins need no code of ours::

    @given(case=cases(), data=st.data())
    def test_something(case: Case, data: st.DataObject) -> None:
        recoding = data.draw(recodings(case.table))
        wider = data.draw(coarser(recoding))
        suppression = data.draw(suppressions())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from kpareto.measures.measure import Measure, exact
from kpareto.measures.sensitive import distinct_l
from kpareto.tables.hierarchy import Hierarchy, Tree, bits_cut, cut_bits, levels_tree, runs_of
from kpareto.tables.partition import RULES, Fails, Partition, Rule, Suppression, partitions
from kpareto.tables.recoding import Recoding, node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.twins import slow as twins

VALUES = ("a", "b", "c", "d")  # what a sensitive column may hold
GAPS = (
    "A",
    "b\u00a0",
    "(missing)",
)  # the same in other spellings (plain blanks around a value go when it is read), and none


@dataclass(frozen=True)
class Row:
    """One raw row: leaf of each quasi-identifier, and the values of the other columns."""

    leaves: tuple[int, ...]
    sensitive: tuple[str, ...]
    target: tuple[str, ...]
    person: str | None


@dataclass(frozen=True)
class Case:
    """A table and the raw rows it was made of."""

    rows: tuple[Row, ...]
    table: Table

    def __repr__(self) -> str:
        rows = ", ".join(f"{r.leaves}{r.sensitive}{r.target}{r.person or ''}" for r in self.rows)
        levels = [h.groups.tolist() for h in self.table.hierarchies]
        spans = [None if h.spans is None else h.spans.tolist() for h in self.table.hierarchies]
        return f"Case(rows=[{rows}], levels={levels}, spans={spans}, domain={self.table.domain})"


@st.composite
def hierarchies(
    draw: st.DrawFn,
    name: str = "column",
    most_leaves: int = 6,
    distance: bool | None = None,
    values: Sequence[str] | None = None,
) -> Hierarchy:
    """A nested hierarchy of up to five levels; half of them numeric with loss by distance (unless told).

    ``values`` are its leaves, where a test needs them to be those of a sensitive column (``VALUES``).
    """
    count = draw(st.integers(1, most_leaves)) if values is None else len(values)
    numeric = (draw(st.booleans()) if distance is None else distance) and values is None
    bits = np.ones(count - 1, dtype=np.int64)
    cuts = [bits_cut(bits)]
    for _ in range(draw(st.integers(0, 3))):
        kept = draw(st.lists(st.booleans(), min_size=count - 1, max_size=count - 1))
        bits = bits * np.array(kept, dtype=np.int64)
        cuts.append(bits_cut(bits))
    if cuts[-1].any() or len(cuts) == 1:
        cuts.append(np.zeros(count, dtype=np.int32))
    spans = None
    leaves = tuple(f"{name}{position}" for position in range(count)) if values is None else tuple(values)
    if numeric:
        steps = draw(st.lists(st.integers(1, 40), min_size=count, max_size=count))
        wide = draw(st.booleans())  # cells such as 0-5 have a span of their own
        lows = np.cumsum(steps) / 4
        highs = lows + (np.minimum(np.array(steps), 2) / 8 if wide else 0)
        if draw(st.booleans()):  # education in the papers runs from 16 down to 1
            lows, highs = lows[::-1], highs[::-1]
        spans = np.stack((lows, highs), axis=1).astype(np.float64)
        leaves = tuple(repr(float(low)) for low in lows)
    groups = np.array(cuts, dtype=np.int32).reshape(len(cuts), count)
    return _hierarchy(name, leaves, groups, spans)


def _hierarchy(name: str, leaves: tuple[str, ...], groups: np.ndarray, spans: np.ndarray | None) -> Hierarchy:
    labels: list[tuple[str, ...]] = [leaves]
    known = {(position, position): leaf for position, leaf in enumerate(leaves)}
    for level in range(1, groups.shape[0]):
        runs = runs_of(groups[level])
        for first, last in runs:
            known.setdefault((first, last), "*" if len(runs) == 1 else f"{leaves[first]}~{leaves[last]}")
        labels.append(tuple(known[run] for run in runs))
    tree = levels_tree(groups, labels)
    loss = "leaves" if spans is None else "distance"
    return Hierarchy(name, leaves, groups, tuple(labels), tree, ordered=spans is not None, spans=spans, loss=loss)  # type: ignore[arg-type]


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    most_columns: int = 3,
    most_leaves: int = 6,
    most_rows: int = 14,
    sensitive: int = 1,
    targets: int = 1,
    numeric_target: bool | None = None,
    persons: bool | None = None,
    gaps: bool = False,
) -> Case:
    """A small table with raw rows: ``persons`` and ``numeric_target`` are drawn unless told.

    ``gaps``: missing values and ids, and values and ids in two spellings.
    """
    columns = draw(st.integers(1, most_columns))
    trees = tuple(draw(hierarchies(f"q{column}", most_leaves)) for column in range(columns))
    with_person = draw(st.booleans()) if persons is None else persons
    numeric = draw(st.booleans()) if numeric_target is None else numeric_target
    value = st.sampled_from([*VALUES, *GAPS] if gaps else VALUES)
    people = [f"p{i}" for i in range(6)] + (["P1", "p2 ", GAPS[-1]] if gaps else [])
    amount = st.sampled_from(["-1.5", "0", "2", "3.25", "10"] if numeric else ["no", "yes", "so"])
    row = st.builds(
        Row,
        leaves=st.tuples(*(st.integers(0, len(tree.leaves) - 1) for tree in trees)),
        sensitive=st.tuples(*[value] * sensitive),
        target=st.tuples(*[amount] * targets),
        person=st.sampled_from(people) if with_person else st.none(),
    )
    repeated = draw(st.lists(st.tuples(row, st.integers(1, 3)), min_size=1, max_size=most_rows // 2 + 1))
    rows = tuple(r for r, times in repeated for _ in range(times))
    return Case(rows, table_of(rows, trees, numeric, draw(st.sampled_from(["observed", "declared"]))))


def table_of(rows: Sequence[Row], trees: Sequence[Hierarchy], numeric: bool, domain: str) -> Table:
    """The Table of raw rows: columns q0, q1, … (quasi), s0, … (sensitive), t0, … (target), person."""
    first = rows[0]
    schema = Schema(
        quasi=tuple(tree.name for tree in trees),
        sensitive=tuple(f"s{i}" for i in range(len(first.sensitive))),
        target=tuple(f"t{i}" for i in range(len(first.target))),
        person=None if first.person is None else "person",
    )
    given: dict[str, list[str]] = {}
    for i in range(len(first.sensitive)):
        given[f"s{i}"] = [row.sensitive[i] for row in rows]
    for i in range(len(first.target)):
        given[f"t{i}"] = [row.target[i] for row in rows]
    if first.person is not None:
        given["person"] = [str(row.person) for row in rows]
    extras: dict[str, tuple[tuple[str, ...], np.ndarray, np.ndarray | None]] = {}
    for name, values in given.items():
        number = numeric and name.startswith("t")
        words = sorted(set(values), key=float) if number else sorted(set(values), key=lambda v: (v == GAPS[-1], v))
        codes = np.array([words.index(value) for value in values], dtype=np.int32)
        extras[name] = (tuple(words), codes, np.array([float(word) for word in words]) if number else None)
    codes = np.array([row.leaves for row in rows], dtype=np.int32).reshape(len(rows), len(trees))
    table = make_table(schema, tuple(trees), codes, np.ones(len(rows), dtype=np.int64), extras)
    return replace(table, domain="observed" if domain == "observed" else "declared")


def tables(**told: int | bool | None) -> st.SearchStrategy[Table]:
    """The tables alone; takes what ``cases`` takes."""
    return cases(**told).map(lambda case: case.table)  # type: ignore[arg-type]


@st.composite
def tree_cuts(draw: st.DrawFn, tree: Tree) -> np.ndarray:
    """Any cut of a tree: at each node either collapse it or look at its children."""
    cut = np.zeros(int(tree.last[0]) + 1, dtype=np.int32)
    waiting, group = [0], 0
    while waiting:
        place = waiting.pop()
        deeper = draw(st.booleans()) if len(tree.children[place]) > 0 else False
        if deeper:
            waiting.extend(reversed(tree.children[place]))
        else:
            cut[tree.first[place] : tree.last[place] + 1] = group
            group += 1
    return cut


@st.composite
def recodings(draw: st.DrawFn, table: Table, kinds: Sequence[str] = ("node", "tree", "order")) -> Recoding:
    """A lattice node, a recoding by tree cuts, or one by ordered cuts."""
    kind = draw(st.sampled_from(list(kinds)))
    if kind == "node":
        return node(table.hierarchies, [draw(st.integers(0, h.height)) for h in table.hierarchies])
    if kind == "tree":
        return Recoding(table.hierarchies, tuple(draw(tree_cuts(h.tree)) for h in table.hierarchies))
    bits = [
        draw(st.lists(st.booleans(), min_size=len(h.leaves) - 1, max_size=len(h.leaves) - 1)) for h in table.hierarchies
    ]
    return Recoding(table.hierarchies, tuple(bits_cut(np.array(b, dtype=np.int64)) for b in bits))


@st.composite
def coarser(draw: st.DrawFn, recoding: Recoding) -> Recoding:
    """A recoding that only merges groups of the given one (possibly none)."""
    if recoding.levels is not None and draw(st.booleans()):
        pairs = zip(recoding.hierarchies, recoding.levels, strict=True)
        return node(recoding.hierarchies, [draw(st.integers(level, h.height)) for h, level in pairs])
    cuts = []
    for cut in recoding.cuts:
        kept = draw(st.lists(st.booleans(), min_size=len(cut) - 1, max_size=len(cut) - 1))
        cuts.append(bits_cut(cut_bits(cut) * np.array(kept, dtype=np.int64)))
    return Recoding(recoding.hierarchies, tuple(cuts))


@dataclass(frozen=True)
class SmallerThan:
    """A class-wise limit for the rule as-needed: classes of fewer than k persons (or rows) fail."""

    k: int

    def __call__(self, partition: Partition) -> np.ndarray:
        """Which classes fail."""
        return partition.sizes < self.k


@dataclass(frozen=True)
class FewerValuesThan:
    """A class-wise limit for the rule as-needed: classes whose persons (or rows) have an l of s0 below it fail."""

    l: int

    def __call__(self, partition: Partition) -> np.ndarray:
        """Which classes fail."""
        return distinct_l("s0").by_class(partition) < self.l


@st.composite
def suppressions(draw: st.DrawFn, rules: Sequence[Rule] = RULES, rows: str | None = None) -> Suppression:
    """A suppression by any of the rules, dropping or masking (needs a sensitive column s0 for as-needed)."""
    rule = draw(st.sampled_from(list(rules)))
    limit = draw(st.one_of(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]), st.integers(1, 16)))
    style = draw(st.sampled_from(["drop", "mask"])) if rows is None else rows
    fails: tuple[Fails, ...] = ()
    if rule == "as-needed":
        fails = (SmallerThan(draw(st.integers(1, 5))), FewerValuesThan(draw(st.integers(1, 3))))
    k = draw(st.integers(1, 6)) if rule == "below-k" else None
    return Suppression(rule, limit, k, "mask" if style == "mask" else "drop", fails)


@dataclass(frozen=True)
class Pair:
    """A partition of ours and the slow twin of it."""

    case: Case
    partition: Partition
    release: twins.Release

    def check(self, measure: Measure, twin: twins.Value) -> None:
        """Our number is the twin's; where we give a fraction, it is the twin's fraction."""
        ours = measure(self.partition)
        assert isinstance(ours, float)
        assert ours == pytest.approx(float(twin), rel=1e-9, abs=1e-9), measure.name
        fraction = exact(measure, self.partition)
        if fraction is not None:
            assert fraction == twin, measure.name
            assert float(fraction) == ours or abs(float(fraction) - ours) <= 1e-12 * abs(ours), measure.name

    def __repr__(self) -> str:
        cuts = [cut.tolist() for cut in self.partition.recoding.cuts]
        groups = [(len(g.rows), "kept" if g.kept else "lost", "seen" if g.seen else "") for g in self.release.groups]
        return f"Pair({self.case!r}, cuts={cuts}, rule={self.partition.rule}, twin={groups})"


def world_of(case: Case) -> twins.World:
    """What the twins know of a case."""
    columns = []
    for h in case.table.hierarchies:
        spans = None
        if h.loss == "distance" and h.spans is not None:
            spans = [(Fraction(str(low)), Fraction(str(high))) for low, high in h.spans.tolist()]
        columns.append(twins.Column(h.groups.tolist(), spans))
    return twins.World(list(case.rows), columns, case.table.domain)


def twin_releases(case: Case, recoding: Recoding, suppression: Suppression) -> list[twins.Release]:
    """The twins of ``partitions(case.table, recoding, suppression)``, in the same order."""
    limits = [limit for limit in suppression.fails if isinstance(limit, SmallerThan | FewerValuesThan)]
    fails = [("size", limit.k) if isinstance(limit, SmallerThan) else ("values", limit.l) for limit in limits]
    cuts = [cut.tolist() for cut in recoding.cuts]
    told = (suppression.rule, suppression.limit, suppression.k, suppression.rows, fails)
    return twins.releases(world_of(case), cuts, *told)


@st.composite
def pairs(
    draw: st.DrawFn,
    *,
    sensitive: int = 1,
    numeric_target: bool | None = None,
    rules: Sequence[Rule] = RULES,
    most_columns: int = 3,
    gaps: bool = False,
) -> Pair:
    """A partition under any suppression rule, with its slow twin."""
    case = draw(cases(sensitive=sensitive, numeric_target=numeric_target, most_columns=most_columns, gaps=gaps))
    recoding = draw(recodings(case.table))
    suppression = draw(suppressions(rules))
    both = list(
        zip(partitions(case.table, recoding, suppression), twin_releases(case, recoding, suppression), strict=True)
    )
    return Pair(case, *draw(st.sampled_from(both)))
