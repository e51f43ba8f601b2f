"""Strict local recodings: no two labels overlap, every class keeps its limits, and questions lead rows home."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings

from kpareto.errors import Unsafe
from kpareto.searches.local.problem import LocalWish
from kpareto.searches.local.search import Effort, search
from kpareto.searches.local.strict import StrictRecoding, strict
from kpareto.tables.adult import adult_table
from tests.searches.local.test_local_search import shown, wishes
from tests.twins.strategies import Case, cases


@given(case=cases(persons=False), wish=wishes())
@settings(max_examples=100, deadline=None)
def test_labels_do_not_overlap_and_questions_lead_home(case: Case, wish: LocalWish) -> None:
    """Any two classes part in some column; each row's answers lead to its own class; k and l hold."""
    try:
        answer = strict(case.table, wish, trees=3)
    except Unsafe:
        return
    local = answer.recoding
    for a, b in combinations(range(local.classes), 2):
        assert ((local.last[a] < local.first[b]) | (local.last[b] < local.first[a])).any()
    for row, number in zip(local.item_row.tolist(), local.item_class.tolist(), strict=True):
        leaves = case.table.codes[row]
        assert answer.class_of(leaves) == number
        assert answer.covers(leaves)
    assert local.k >= wish.k
    for runs in {runs for runs, _ in shown(local)}:
        assert sum(seen == runs for seen, _ in shown(local)) >= wish.limits.get("l", 0)


def test_the_price_of_strictness_on_adult() -> None:
    """On Adult the strict kind loses more than the free one, and more trees never lose more."""
    table = adult_table()
    few, many = strict(table, LocalWish(k=50), trees=1), strict(table, LocalWish(k=50), trees=3)
    assert many.recoding.exact_loss <= few.recoding.exact_loss
    assert many.recoding.loss > search(table, LocalWish(k=50), Effort(turns=1)).loss


def test_a_strange_row_is_not_covered() -> None:
    """A row with a value that its class does not show finds a class, and is told that its labels do not hold it."""
    answer: StrictRecoding = strict(adult_table(), LocalWish(k=50), trees=1)
    table = answer.recoding.problem.table
    rows = np.random.default_rng(0).integers(
        0, [len(h.leaves) for h in table.hierarchies], (200, len(table.hierarchies))
    )
    assert all(0 <= answer.class_of(row) < answer.recoding.classes for row in rows)
    assert not all(answer.covers(row) for row in rows)
