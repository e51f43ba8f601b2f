"""The loops of local recoding beside slow twins made of lists and fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import Unsafe
from kpareto.kernels.local.build import mend, peel
from kpareto.kernels.local.improve import arrange, rebuild, recut, shave
from kpareto.kernels.local.orders import cut_order, log_table, read_cuts, tree_order
from kpareto.kernels.local.suppress import bring_back, drop, recut_dropping
from kpareto.searches.local.problem import LocalProblem, LocalWish, make_problem
from kpareto.searches.local.recoding import LocalClasses
from tests.searches.local.local_twins import cell_loss, label
from tests.searches.local.test_local_search import wishes
from tests.twins.strategies import Case, cases

NOBODY = np.empty(0, dtype=np.int32)
HALT = np.zeros(1, dtype=np.uint8)  # nobody wants it to end


def prepared(case: Case, wish: LocalWish) -> LocalProblem | None:
    """The problem of a small table, None where no recoding keeps the wish."""
    try:
        return make_problem(case.table, wish)
    except Unsafe:
        return None


def twin_loss(problem: LocalProblem, entries: list[int]) -> int | None:
    """What the rows of a class lose together, in the problem's unit; None where it breaks a limit."""
    table, wish = problem.table, problem.wish
    size = sum(int(problem.pieces.size[piece]) for piece in entries)
    values = Counter[int]()
    for piece in entries:
        for e in range(int(problem.pieces.start[piece]), int(problem.pieces.start[piece + 1])):
            values[int(problem.pieces.value[e])] += int(problem.pieces.rows[e])
    most = max(values.values(), default=0)
    if size < wish.k or len(values) < wish.limits.get("l", 0) or most > wish.limits.get("alpha", 1) * size + 1e-12:
        return None
    lost = Fraction(0)
    for c in range(len(table.hierarchies)):
        leaves = {int(table.codes[problem.row[piece], c]) for piece in entries}
        lost += cell_loss(table, c, *label(table, c, leaves, wish.intervals))
    whole = size * lost / (table.rows * len(table.hierarchies)) / problem.unit
    assert whole.denominator == 1
    return int(whole)


def drawn_classes(problem: LocalProblem, data: st.DataObject) -> LocalClasses:
    """Any order of all entries, merged into valid classes from single ones."""
    entries = np.repeat(np.arange(len(problem.copies), dtype=np.int32), problem.copies)
    order = np.array(data.draw(st.permutations(entries.tolist())), dtype=np.int32)
    single = np.arange(len(order) + 1, dtype=np.int64)
    order, cuts = mend(order, single, problem.pieces, problem.labels, problem.limits)
    return LocalClasses(order, cuts, NOBODY)


@given(case=cases(persons=False, most_rows=10), wish=wishes(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_an_order_is_cut_at_the_least_loss(case: Case, wish: LocalWish, data: st.DataObject) -> None:
    """The dynamic program finds what trying every last class finds, and its cut costs what it says."""
    problem = prepared(case, wish)
    if problem is None:
        return
    entries = np.repeat(np.arange(len(problem.copies), dtype=np.int32), problem.copies).tolist()
    order = data.draw(st.permutations(entries))

    @cache
    def best(end: int) -> int | None:
        if end == 0:
            return 0
        pairs = [(best(start), twin_loss(problem, order[start:end])) for start in range(end)]
        return min((a + b for a, b in pairs if a is not None and b is not None), default=None)

    count = len(order)
    least, back, cuts = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    line = np.array(order, dtype=np.int32)
    loss = int(cut_order(line, problem.pieces, problem.labels, problem.limits, 0, least, back, HALT))
    classes = int(read_cuts(back, count, cuts))
    if not wish.limits:  # with limits a long class may be out of reach
        assert classes > 0
        assert loss == best(count)
    if classes > 0:
        found = LocalClasses(line, cuts[: classes + 1], NOBODY)
        assert found.hold(problem)
        assert found.loss(problem) == loss
        slow = best(count)
        assert slow is not None
        assert slow <= loss


@given(case=cases(persons=False), wish=wishes(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_steps_keep_classes_valid_and_never_lose_more(case: Case, wish: LocalWish, data: st.DataObject) -> None:
    """Mended classes hold and cost what the twin counts; recut, rebuild, shave and drop hold too and never cost more."""
    problem = prepared(case, wish)
    if problem is None:
        return
    arrays = problem.pieces, problem.labels, problem.limits
    classes = drawn_classes(problem, data)
    assert classes.hold(problem)
    borders = zip(classes.cuts[:-1].tolist(), classes.cuts[1:].tolist(), strict=True)
    parts = [twin_loss(problem, classes.order[start:end].tolist()) for start, end in borders]
    assert classes.loss(problem) == sum(part for part in parts if part is not None)
    seed = data.draw(st.integers(0, 99))
    order, cuts = arrange(classes.order, classes.cuts, problem.pieces, problem.labels, 0.5, seed)
    moved = LocalClasses(order, cuts, NOBODY)
    assert moved.hold(problem)
    assert moved.loss(problem) == classes.loss(problem)
    state = np.full(1, seed, dtype=np.uint64)
    steps = (
        recut(moved.order, moved.cuts, *arrays),
        rebuild(moved.order, moved.cuts, *arrays, 4, 2, state),
        shave(moved.order, moved.cuts, *arrays),
    )
    for order, cuts in steps:
        after = LocalClasses(order, cuts, NOBODY)
        assert after.hold(problem)
        assert after.loss(problem) <= moved.loss(problem)
    less = LocalClasses(*drop(moved.order, moved.cuts, problem.allowed, *arrays))
    assert less.hold(problem)
    assert less.loss(problem) <= moved.loss(problem)
    passed = LocalClasses(*recut_dropping(moved.order, moved.cuts, problem.allowed, *arrays, HALT))
    assert passed.hold(problem)
    if not wish.limits:  # with limits a long class may be out of reach
        assert passed.loss(problem) <= moved.loss(problem)
    again = LocalClasses(*bring_back(less.order, less.cuts, less.dropped, *arrays))
    assert again.hold(problem)
    assert again.loss(problem) <= less.loss(problem)


@given(case=cases(persons=False), intervals=st.booleans(), power=st.floats(0, 1), data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_tree_order_keeps_nodes_together(case: Case, intervals: bool, power: float, data: st.DataObject) -> None:
    """Every row stands in it once, and the rows of the first division's parts stand side by side."""
    problem = make_problem(case.table, LocalWish(k=1, intervals=intervals))
    codes, weights = problem.pieces.codes, problem.copies
    scale = np.array(data.draw(st.lists(st.floats(0.2, 5), min_size=codes.shape[1], max_size=codes.shape[1])))
    order = tree_order(codes, weights, problem.labels, scale, power, log_table(int(weights.sum())))
    assert sorted(order.tolist()) == list(range(len(codes)))
    if codes.shape[1] == 1 and not problem.labels.free[0]:  # of one column every node is a run of the order
        tree, leaf = case.table.hierarchies[0].tree, problem.leaves[0][codes[order, 0]]
        for first, last in zip(tree.first.tolist(), tree.last.tolist(), strict=True):
            inside = np.flatnonzero((leaf >= first) & (leaf <= last))
            assert len(inside) == 0 or inside[-1] - inside[0] + 1 == len(inside)


@given(case=cases(persons=False), wish=wishes(), seed=st.integers(0, 99), halted=st.booleans())
@settings(max_examples=100, deadline=None)
def test_peeling_takes_every_row_once(case: Case, wish: LocalWish, seed: int, halted: bool) -> None:
    """What is peeled are classes that hold; with the rest they are all rows, also when it is told to end."""
    problem = prepared(case, wish)
    if problem is None:
        return
    order, cuts, rest = peel(
        problem.pieces, problem.labels, problem.limits, problem.copies, (3.0, 0.5, 9.0, 0.3, 0.5), seed,
        np.array([halted], dtype=np.uint8),
    )  # fmt: skip
    everything = np.bincount(np.concatenate((order, rest)), minlength=len(problem.copies))
    assert everything.tolist() == problem.copies.tolist()
    for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        assert twin_loss(problem, order[start:end].tolist()) is not None
