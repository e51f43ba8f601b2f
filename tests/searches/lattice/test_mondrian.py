"""Mondrian: classes of at least k, boxes that hold their rows, and how little it loses on Adult."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob, Unsafe
from kpareto.measures.cells import generalization_loss
from kpareto.searches.lattice.mondrian import PRESETS, WARNING, MondrianRecoding, curve, relaxed, strict
from kpareto.tables.adult import adult_table
from kpareto.tables.table import Table
from tests.twins.strategies import Case, cases


def made(table: Table, k: int, loose: bool) -> MondrianRecoding:
    """One of the two, for tests that hold for both."""
    return relaxed(table, k) if loose else strict(table, k)


@given(case=cases(persons=False), k=st.integers(1, 6), loose=st.booleans())
@settings(max_examples=200)
def test_every_class_has_k_rows_and_holds_its_own(case: Case, k: int, loose: bool) -> None:
    """Each row is in one class, each class shows at least k rows, and its labels cover the values of its rows."""
    table = case.table
    if k > table.rows:
        return
    local = made(table, k, loose)
    assert local.k >= k
    seen = np.bincount(local.item_row, weights=local.item_weight, minlength=table.distinct)
    assert seen.tolist() == table.weights.tolist()
    shown = Counter[tuple[str, ...]]()
    for item, (row, weight) in enumerate(zip(local.item_row.tolist(), local.item_weight.tolist(), strict=True)):
        shown[local.labels(int(local.item_class[item]))] += weight
        for column, node in enumerate(local.nodes[local.item_class[item]].tolist()):
            tree = table.hierarchies[column].tree
            assert tree.first[node] <= table.codes[row, column] <= tree.last[node]
    assert min(shown.values()) >= k
    assert sorted(shown.values()) == sorted(local.sizes.tolist())


@given(case=cases(persons=False), k=st.integers(1, 6))
@settings(max_examples=100)
def test_strict_keeps_equal_rows_together(case: Case, k: int) -> None:
    """Strict: one item, hence one set of labels, per distinct row."""
    if k <= case.table.rows:
        local = strict(case.table, k)
        assert sorted(local.item_row.tolist()) == list(range(case.table.distinct))


@given(case=cases(persons=False), k=st.integers(1, 6), loose=st.booleans())
@settings(max_examples=100)
def test_the_loss_is_the_sum_over_rows(case: Case, k: int, loose: bool) -> None:
    """GLM added row by row and cell by cell, with fractions, is the loss reported."""
    table = case.table
    if k > table.rows:
        return
    local, total = made(table, k, loose), Fraction(0)
    for item, weight in enumerate(local.item_weight.tolist()):
        for column, node in enumerate(local.nodes[local.item_class[item]].tolist()):
            hierarchy = table.hierarchies[column]
            leaves = range(int(hierarchy.tree.first[node]), int(hierarchy.tree.last[node]) + 1)
            domain = range(len(hierarchy.leaves))
            if table.domain == "observed":
                domain = [leaf for leaf in domain if table.observed[column][leaf]]  # type: ignore[assignment]
                leaves = [leaf for leaf in leaves if table.observed[column][leaf]]  # type: ignore[assignment]
            total += weight * _cell(
                hierarchy.spans if hierarchy.loss == "distance" else None, list(leaves), list(domain)
            )
    assert local.glm == total
    assert local.lm == pytest.approx(float(total) / (table.rows * len(table.hierarchies)))


def _cell(spans: np.ndarray | None, leaves: list[int], domain: list[int]) -> Fraction:
    """The loss of a cell (readings.md#losses), slowly."""
    if spans is None:
        return Fraction(len(leaves) - 1, len(domain) - 1) if len(domain) > 1 else Fraction(0)

    def width(chosen: list[int]) -> Fraction:
        numbers = [Fraction(str(number)) for leaf in chosen for number in spans[leaf].tolist()]
        return max(numbers) - min(numbers)

    return width(leaves) / width(domain) if width(domain) else Fraction(0)


Piece = tuple[int, int]  # distinct row, rows


def slow_mondrian(table: Table, k: int, loose: bool) -> Counter[tuple[tuple[int, ...], int]]:
    """Slow twin, with lists and dicts: rows shown per (nodes of the box, distinct row)."""
    shown = Counter[tuple[tuple[int, ...], int]]()
    waiting: list[list[Piece]] = [list(enumerate(table.weights.tolist()))]
    while waiting:
        pieces = waiting.pop()
        box: list[int] = []
        best: tuple[float, list[list[Piece]] | None] = (0.0, None)
        for column, hierarchy in enumerate(table.hierarchies):
            tree, loss = hierarchy.tree, generalization_loss(table, column)
            leaves = [int(table.codes[row, column]) for row, _ in pieces]
            holds = [n for n in range(len(tree.labels)) if tree.first[n] <= min(leaves) and max(leaves) <= tree.last[n]]
            node = holds[-1]  # nodes stand in preorder: the last that holds all is the lowest
            box.append(node)
            parts: dict[int, list[Piece]] = {}
            for piece, leaf in zip(pieces, leaves, strict=True):
                child = next((c for c in tree.children[node] if tree.first[c] <= leaf <= tree.last[c]), node)
                parts.setdefault(child, []).append(piece)
            cells = loss.of_runs(tree.first.astype(np.int64), tree.last.astype(np.int64)) / loss.denominator
            if len(parts) > 1:
                rest, own = slow_split(parts, k, loose)
                worth = slow_worth(rest, own, lambda n, v=node, cells=cells: cells[v] - cells[n])  # type: ignore[misc]
                if worth > best[0]:
                    best = (worth, [rest, *own.values()] if rest else list(own.values()))
        if best[1] is None:
            for row, rows in pieces:
                shown[tuple(box), row] += rows
        else:
            waiting += best[1]
    return shown


def total(pieces: list[Piece]) -> int:
    """Rows of some pieces."""
    return sum(rows for _, rows in pieces)


def slow_split(parts: dict[int, list[Piece]], k: int, loose: bool) -> tuple[list[Piece], dict[int, list[Piece]]]:
    """Which pieces stay behind, and which children become classes."""
    own = {node: list(pieces) for node, pieces in parts.items() if total(pieces) >= k}
    rest = {node for node in parts if node not in own}
    missing = k - sum(total(parts[node]) for node in rest)
    lent: dict[int, int] = {}
    if own and rest and missing > 0:
        if loose and sum(total(pieces) - k for pieces in own.values()) >= missing:
            while missing:
                node = max(own, key=lambda n: total(own[n]) - lent.get(n, 0))
                given = min(missing, total(own[node]) - lent.get(node, 0) - k)
                lent[node] = lent.get(node, 0) + given
                missing -= given
        else:
            smallest = min(own, key=lambda n: total(own[n]))
            rest.add(smallest)
            del own[smallest]
    stays: list[Piece] = []
    everything = sorted((row, rows, node) for node, pieces in parts.items() for row, rows in pieces)
    kept: dict[int, list[Piece]] = {node: [] for node in own}
    for row, rows, node in everything:
        away = rows if node in rest else min(rows, lent.get(node, 0))
        if node in lent:
            lent[node] -= away
        stays += [(row, away)] if away else []
        if rows > away:
            kept[node].append((row, rows - away))
    return stays, kept


def slow_worth(rest: list[Piece], own: dict[int, list[Piece]], saves: Callable[[int], float]) -> float:
    """Loss saved per bit."""
    if not own:
        return 0.0
    parts = [*own.values(), *([rest] if rest else [])]
    whole = sum(total(part) for part in parts)
    bits = sum(total(part) * math.log2(whole / total(part)) for part in parts)
    return sum(total(part) * saves(node) for node, part in own.items()) / bits if bits else 0.0


@given(case=cases(persons=False), k=st.integers(1, 5))
@settings(max_examples=150)
def test_the_kernel_is_its_slow_twin(case: Case, k: int) -> None:
    """The strict kernel shows the same rows under the same labels as lists and dicts do."""
    table = case.table
    if k > table.rows:
        return
    local = strict(table, k)
    shown = Counter[tuple[tuple[int, ...], int]]()
    for row, rows, number in zip(local.item_row, local.item_weight, local.item_class, strict=True):
        shown[tuple(local.nodes[number].tolist()), int(row)] += int(rows)
    slow = slow_mondrian(table, k, loose=False)
    assert shown == slow


@given(case=cases(persons=False), k=st.integers(2, 5))
@settings(max_examples=150)
def test_the_relaxed_kernel_lends_as_its_slow_twin(case: Case, k: int) -> None:
    """The relaxed kernel makes classes of the same sizes as lists and dicts do, where rows come in one order."""
    table = case.table
    if k > table.rows:
        return
    local = relaxed(table, k)
    slow = Counter[tuple[int, ...]]()
    for (box, _), rows in slow_mondrian(table, k, loose=True).items():
        slow[box] += rows
    assert {tuple(box): int(size) for box, size in zip(local.nodes.tolist(), local.sizes, strict=True)} == dict(slow)


def partitions_of(rows: list[int]) -> Iterator[list[list[int]]]:
    """Every way to divide rows into classes."""
    if not rows:
        yield []
        return
    for rest in partitions_of(rows[1:]):
        yield [[rows[0]], *rest]
        for place, members in enumerate(rest):
            yield [*rest[:place], [rows[0], *members], *rest[place + 1 :]]


@given(case=cases(persons=False, most_columns=2, most_rows=8), k=st.integers(1, 4), loose=st.booleans())
@settings(max_examples=60)
def test_mondrian_never_beats_the_best_local_recoding(case: Case, k: int, loose: bool) -> None:
    """No local recoding loses less than the best of all divisions of the rows into classes of k."""
    table = case.table
    if not k <= table.rows <= 7:
        return
    rows = [row for row, rows in enumerate(table.weights.tolist()) for _ in range(rows)]

    def loss(members: list[int]) -> Fraction:
        total = Fraction(0)
        for column, hierarchy in enumerate(table.hierarchies):
            leaves = table.codes[members_rows(members), column]
            tree = hierarchy.tree
            node = [
                n for n in range(len(tree.labels)) if tree.first[n] <= leaves.min() and leaves.max() <= tree.last[n]
            ][-1]
            cells = generalization_loss(table, column)
            own = cells.of_runs(
                np.array([tree.first[node]], dtype=np.int64), np.array([tree.last[node]], dtype=np.int64)
            )
            total += Fraction(len(members) * int(own[0]), cells.denominator)
        return total

    def members_rows(members: list[int]) -> list[int]:
        return [rows[place] for place in members]

    fitting = (p for p in partitions_of(list(range(len(rows)))) if min(map(len, p)) >= k)
    assert made(table, k, loose).glm >= min(sum(map(loss, p), Fraction(0)) for p in fitting)


def test_adult_at_every_preset() -> None:
    """All presets, and far less loss than the best recoding of whole columns (0.30 at k = 5)."""
    table = adult_table()
    found = {local.asked: local for local in curve(table)}
    assert set(found) == set(PRESETS)
    assert all(local.k >= k for k, local in found.items())
    expected = {
        2: 0.0131,
        3: 0.0216,
        5: 0.0330,
        10: 0.0511,
        11: 0.0540,
        20: 0.0738,
        25: 0.0828,
        50: 0.1184,
        100: 0.1621,
    }
    assert {k: round(local.lm, 4) for k, local in found.items()} == expected
    assert [round(strict(table, k).lm, 4) for k in (2, 5, 10, 50)] == [0.0141, 0.0377, 0.0628, 0.1453]


def test_the_warning_is_attached() -> None:
    """Whoever takes the numbers also gets the warning about overlapping labels."""
    local = relaxed(adult_table(), 50)
    assert local.warning == WARNING
    data = local.as_data()
    assert data["warning"] == WARNING
    assert (data["method"], data["asked"], data["k"]) == ("mondrian-relaxed", 50, 50)
    assert "combinatorial refinement" in WARNING


def test_what_mondrian_refuses() -> None:
    """A k below 1 or above the number of rows is an error, never a table with a smaller k."""
    table = adult_table()
    with pytest.raises(BadJob, match="k is 0"):
        strict(table, 0)
    with pytest.raises(Unsafe, match="has only 30,162 rows"):
        relaxed(table, 40_000)


@given(case=cases(persons=True))
@settings(max_examples=5)
def test_persons_are_not_counted(case: Case) -> None:
    """A table that tells persons apart is refused, because k would count rows."""
    with pytest.raises(BadJob, match="tells persons apart"):
        strict(case.table, 1)
