"""Scores: their values against slow twins, and their sensitivity by adding and removing rows."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput
from kpareto.releases.private.scores import CELL, ROW, SCORES, PrivateScore, make_score, score_nodes
from kpareto.tables.hierarchy import Hierarchy, from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.table import Table
from tests.twins.strategies import Case, Row, cases, hierarchies, table_of

BETAS = [Fraction(1, 2), Fraction(63, 100), Fraction(1, 10)]


def sizes_by_node(case: Case) -> list[tuple[tuple[int, ...], Counter[tuple[int, ...]]]]:
    """Class sizes of every node, in the order of node numbers, from the raw rows."""
    ladders = [h.groups.tolist() for h in case.table.hierarchies]
    return [
        (levels, Counter(tuple(ladders[c][levels[c]][leaf] for c, leaf in enumerate(row.leaves)) for row in case.rows))
        for levels in product(*(range(len(ladder)) for ladder in ladders))
    ]


def chance(size: int, beta: Fraction, k: int) -> Fraction:
    """P[Bin(size, beta) ≥ k]."""
    terms = (math.comb(size, j) * beta**j * (1 - beta) ** (size - j) for j in range(k, size + 1))
    return sum(terms, Fraction(0))


def slow_score(case: Case, name: str, beta: Fraction, k: int) -> list[float]:
    """A score by its definition, in its own unit (cells, classes, rows)."""
    ladders = [h.groups.tolist() for h in case.table.hierarchies]

    def worth(levels: tuple[int, ...], key: tuple[int, ...]) -> float:
        total = 0.0
        for ladder, level, group in zip(ladders, levels, key, strict=True):
            leaves, size = len(ladder[0]), ladder[level].count(group)
            if name == "granularity":
                total += 1 - (size - 1) / max(leaves - 1, 1)
            elif name == "intensity":
                total += 1 - level / (len(ladder) - 1)
            else:
                total += 1 - math.log(size) / math.log(max(leaves, 2))
        return total

    least = math.ceil(k / beta)
    values = []
    for levels, sizes in sizes_by_node(case):
        if name == "class-count":
            values.append(float(sum(chance(size, beta, k) for size in sizes.values())))
        elif name == "discernibility":
            kept = [size for size in sizes.values() if size >= least]
            values.append(-float(sum(s * s for s in kept) / len(case.rows) + len(case.rows) - sum(kept)))
        else:
            shown = {s: float(s * beta * (chance(s - 1, beta, k - 1))) for s in set(sizes.values())}
            values.append(sum(worth(levels, key) * shown[size] for key, size in sizes.items()))
    return values


@pytest.mark.parametrize("name", SCORES)
@settings(deadline=None, max_examples=60)
@given(case=cases(persons=False, most_rows=20), beta=st.sampled_from(BETAS), k=st.integers(1, 5))
def test_scores_are_what_their_definition_says(name: str, case: Case, beta: Fraction, k: int) -> None:
    """Every node's score equals the definition computed from raw rows, up to the rounding to whole parts."""
    score = make_score(name, case.table.hierarchies, beta, k)
    unit = ROW * CELL if name in ("granularity", "intensity", "uniform-entropy") else ROW
    counted = score_nodes(case.table, score) / unit
    columns, rows = len(case.table.hierarchies), len(case.rows)
    slack = rows * (columns / ROW + columns / CELL) + 2 / ROW
    assert np.abs(counted - np.array(slow_score(case, name, beta, k))).max() <= slack


def violated(before: Table, after: Table, score: PrivateScore) -> bool:
    """Whether a row moves a score by more than the sensitivity, or in a direction that was ruled out."""
    change = score_nodes(after, score) - score_nodes(before, score)
    return bool(np.abs(change).max() > score.sensitivity or (score.monotone and change.min() < 0))


@pytest.mark.parametrize("name", SCORES)
@settings(deadline=None, max_examples=80)
@given(data=st.data(), beta=st.sampled_from(BETAS), k=st.integers(1, 6))
def test_no_row_moves_a_score_by_more_than_its_sensitivity(
    name: str, data: st.DataObject, beta: Fraction, k: int
) -> None:
    """Rows added to (or, read backwards, removed from) random tables keep to the bound in every node."""
    case = data.draw(cases(persons=False, numeric_target=False, most_rows=24))
    again = data.draw(st.sampled_from(case.rows))  # a row like another one makes a class grow past its border
    leaves = [data.draw(st.integers(0, len(h.leaves) - 1)) for h in case.table.hierarchies]
    score = make_score(name, case.table.hierarchies, beta, k)
    for row in (again, replace(again, leaves=tuple(leaves))):
        larger = table_of((*case.rows, row), case.table.hierarchies, numeric=False, domain="declared")
        assert not violated(case.table, larger, score)


@pytest.mark.parametrize("name", ["granularity", "intensity", "uniform-entropy", "class-count"])
@settings(deadline=None, max_examples=20)
@given(data=st.data(), beta=st.sampled_from(BETAS), k=st.integers(1, 30))
def test_a_smaller_sensitivity_is_a_lie_that_is_found(name: str, data: st.DataObject, beta: Fraction, k: int) -> None:
    """Some number of equal rows attains the bound exactly, so any smaller claim would be caught."""
    case = data.draw(cases(persons=False, most_columns=2))
    assume(all(len(h.leaves) > 1 for h in case.table.hierarchies))
    score = make_score(name, case.table.hierarchies, beta, k)
    row, levels = case.table.codes[:1], [0] * case.table.codes.shape[1]
    enough = 2 + 3 * math.ceil((k + 5) / beta)
    bottom = [score.of_classes(levels, row, np.array([size])) for size in range(enough)]
    assert max(np.diff(bottom)) == score.sensitivity


def test_the_bound_of_discernibility_is_nearly_attained() -> None:
    """A class that reaches its border beside one large class moves discernibility by almost m rows, never more."""
    score, none = make_score("discernibility", (), Fraction(1, 2), 10), np.zeros(0)
    changes = [
        score.of_classes((), none, np.array([large, 20])) - score.of_classes((), none, np.array([large, 19]))
        for large in (20, 100, 10_000, 1_000_000)
    ]
    assert 19.9 * ROW < max(changes) <= score.sensitivity == 20 * ROW + 1


def lies() -> list[PrivateScore]:
    """Scores that promise too much."""
    tree = from_levels("q0", [("a", "*"), ("b", "*")])
    honest = make_score("granularity", (tree,), Fraction(1, 2), 3)
    squares = make_score("discernibility", (tree,), Fraction(1, 2), 2)
    return [
        replace(honest, name="half the sensitivity", sensitivity=honest.sensitivity // 2),
        replace(squares, name="discernibility only falls", monotone=True),
        replace(squares, name="a class counts as one row", sensitivity=ROW),
        replace(honest, name="a mean", of_classes=lambda *told: honest.of_classes(*told) // int(told[2].sum())),
        replace(honest, name="all rows squared", of_classes=lambda *told: honest.of_classes(*told) ** 2),
    ]


@pytest.mark.parametrize("lie", lies(), ids=lambda lie: lie.name)
def test_planted_lies_are_caught(lie: PrivateScore) -> None:
    """The check that honest scores pass finds a neighbouring table for every score that promises too much."""
    tree = from_levels("q0", [("a", "*"), ("b", "*")])

    def table(first: int, second: int) -> Table:
        rows = [Row((0,), (), (), None)] * first + [Row((1,), (), (), None)] * second
        return table_of(rows, [tree], numeric=False, domain="declared")

    pairs = [(table(a, b), table(a, b + 1)) for a in range(1, 9) for b in range(5)]
    assert any(violated(before, after, lie) for before, after in pairs)


def test_an_unknown_score_is_a_sentence() -> None:
    """A misspelt score gets a hint."""
    with pytest.raises(BadInput, match=r"No score 'granularty'\. Did you mean 'granularity'"):
        make_score("granularty", (), Fraction(1, 2), 2)


@settings(deadline=None, max_examples=20)
@given(tree=hierarchies("q0"))
def test_every_node_has_a_score(tree: Hierarchy) -> None:
    """There is one score per node of the lattice."""
    table = table_of([Row((0,), (), (), None)], [tree], numeric=False, domain="declared")
    scores = score_nodes(table, make_score("class-count", table.hierarchies, Fraction(1, 2), 1))
    assert len(scores) == Lattice(table.hierarchies).size
