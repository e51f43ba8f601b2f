"""The local search: valid classes, honest losses, never worse than its start, the same on any number of threads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import BadJob, Unsafe
from kpareto.kernels.local.suppress import recut_dropping
from kpareto.measures.cells import nwp
from kpareto.searches.lattice.mondrian import relaxed
from kpareto.searches.local import problem as problems
from kpareto.searches.local import search as searches
from kpareto.searches.local.problem import LocalWish, make_problem
from kpareto.searches.local.recoding import LocalClasses, LocalRecoding, read_classes
from kpareto.searches.local.search import Effort, Workers, first_classes, search, search_classes
from kpareto.searches.local.sweep import preset_ks, sweep
from kpareto.tables.adult import adult_table
from tests.searches.local import local_twins
from tests.twins.releases import SCHEMA, hierarchies, people
from tests.twins.strategies import Case, cases

QUICK = Effort(turns=6)


@st.composite
def wishes(draw: st.DrawFn, most_k: int = 4) -> LocalWish:
    """A wish with any mixture of k, limits, intervals and suppression."""
    limits = draw(st.sampled_from([{}, {}, {"l": 2.0}, {"alpha": 0.7}, {"l": 2.0, "alpha": 0.8}]))
    return LocalWish(
        draw(st.integers(1, most_k)),
        limits,
        intervals=draw(st.booleans()),
        suppression=draw(st.sampled_from([0.0, 0.0, 0.2, 0.5])),
    )


def searched(case: Case, wish: LocalWish, effort: Effort = QUICK) -> LocalRecoding | None:
    """The recoding of a small table; None where none keeps the wish."""
    try:
        return search(case.table, wish, effort)
    except Unsafe:
        return None


def shown(local: LocalRecoding) -> Counter[tuple[tuple[tuple[int, int], ...], str | None]]:
    """How many rows show which labels with which value of the first limited column, from nothing but the items."""
    problem, seen = local.problem, Counter[tuple[tuple[tuple[int, int], ...], str | None]]()
    sensitive = problem.table.sensitive[0].values if problem.wish.limits else ()
    for piece, number, copies in zip(
        local.item_piece.tolist(), local.item_class.tolist(), local.item_copies.tolist(), strict=True
    ):
        if number < 0:
            continue
        runs = tuple(zip(local.first[number].tolist(), local.last[number].tolist(), strict=True))
        row = problem.table.codes[problem.row[piece]].tolist()
        assert all(first <= leaf <= last for leaf, (first, last) in zip(row, runs, strict=True))
        entries = range(int(problem.pieces.start[piece]), int(problem.pieces.start[piece + 1]))
        if not entries:
            seen[runs, None] += copies * int(problem.pieces.size[piece])
        for entry in entries:
            value = int(problem.pieces.value[entry])
            if value < len(sensitive):
                seen[runs, sensitive[value]] += copies * int(problem.pieces.rows[entry])
    return seen


@given(case=cases(persons=False), wish=wishes())
@settings(max_examples=150, deadline=None)
def test_every_set_of_equal_labels_keeps_every_limit(case: Case, wish: LocalWish) -> None:
    """Each row is in one class or suppressed, no more are than allowed, and each label set keeps k, l and alpha."""
    local = searched(case, wish)
    if local is None:
        return
    rows = np.bincount(local.item_row, weights=local.item_rows, minlength=case.table.distinct)
    assert rows.tolist() == case.table.weights.tolist()
    assert local.suppressed <= int(case.table.rows * wish.suppression + 1e-9)
    classes: dict[tuple[tuple[int, int], ...], Counter[str | None]] = {}
    for (runs, value), count in shown(local).items():
        classes.setdefault(runs, Counter())[value] += count
    for values in classes.values():
        size = sum(values.values())
        assert size >= wish.k
        assert len(values) >= wish.limits.get("l", 0)
        assert max(values.values()) <= wish.limits.get("alpha", 1) * size + 1e-9
    assert sorted(sum(values.values()) for values in classes.values()) == sorted(local.sizes.tolist())


@given(case=cases(persons=False), wish=wishes())
@settings(max_examples=100, deadline=None)
def test_the_loss_is_the_twins(case: Case, wish: LocalWish) -> None:
    """The loss added up from labels and fractions is the loss the recoding states, and the one the loops count."""
    local = searched(case, wish)
    if local is None:
        return
    table, total = case.table, Fraction(0)
    for number, size in enumerate(local.sizes.tolist()):
        for column in range(len(table.hierarchies)):
            first, last = int(local.first[number, column]), int(local.last[number, column])
            total += size * local_twins.cell_loss(table, column, first, last)
    total += local.suppressed * len(table.hierarchies)
    assert local.exact_loss == total / (table.rows * len(table.hierarchies))
    problem = local.problem
    classes = search_classes(problem, QUICK)
    assert classes.loss(problem) * problem.unit == local.exact_loss


@given(case=cases(persons=False), wish=wishes(), seed=st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_it_is_never_worse_than_its_start(case: Case, wish: LocalWish, seed: int) -> None:
    """The start is complete and valid, and so is what comes of it, at no greater loss."""
    try:
        problem = make_problem(case.table, wish)
    except Unsafe:
        return
    effort = Effort(seed=seed, turns=5)
    start = first_classes(problem, effort, Workers())
    assert start.hold(problem)
    found = search_classes(problem, effort, start)
    assert found.hold(problem)
    assert found.loss(problem) <= start.loss(problem)


def equal(a: LocalClasses, b: LocalClasses) -> bool:
    """Whether two answers are the same bit for bit."""
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("order", "cuts", "dropped"))


def test_threads_and_seeds() -> None:
    """Two threads give the bits that one gives; the same seed the same bits; another seed others."""
    problem = make_problem(adult_table(), LocalWish(k=15, suppression=0.01))
    answers = [search_classes(problem, Effort(seed=seed, turns=5, threads=n)) for seed, n in ((1, 1), (1, 2), (2, 2))]
    assert equal(answers[0], answers[1])
    assert not equal(answers[0], answers[2])


def test_very_many_rows_begin_with_fewer_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the effort says otherwise, and not for large classes; a million rows have four turns."""
    table = read(people(), SCHEMA, hierarchies=hierarchies())
    for k, few in ((2, searches.PEELING_MANY), (21, searches.PEELING_LARGE)):
        problem = make_problem(table, LocalWish(k))
        with monkeypatch.context() as patched:
            patched.setattr(searches, "MANY", 10)
            many = first_classes(problem, Effort(), Workers())
        same = first_classes(problem, Effort(peeling=few), Workers())
        assert many.order.tolist() == same.order.tolist()
        assert many.cuts.tolist() == same.cuts.tolist()
    assert searches.usual_turns(replace(problem, table=replace(table, weights=table.weights * 10**6))) == 4


def test_below_mondrian_on_adult() -> None:
    """Even a short search loses less than Mondrian at every k of the published table."""
    table = adult_table()
    for k in (2, 5, 10, 25, 50, 100):
        assert search(table, LocalWish(k), Effort(turns=3)).loss < relaxed(table, k).lm


def test_a_stop_is_heard_at_once_and_leaves_a_valid_answer() -> None:
    """Told to stop at the first question, or without time, the search still hands out complete, valid classes."""
    problem = make_problem(adult_table(), LocalWish(k=7))
    for answer in (
        search_classes(problem, Effort(), progress=lambda done, total: False),
        search_classes(problem, Effort(seconds=0.0)),
    ):
        assert answer.hold(problem)


def test_rows_are_not_chosen_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody wants it to end no order is cut anew to suppress rows, and a cut that is under way is given up."""
    problem = make_problem(adult_table(), LocalWish(k=7, suppression=0.02))
    classes = search_classes(problem, Effort(turns=1))
    arrays = problem.pieces, problem.labels, problem.limits
    for wanted, stays in ((0, False), (1, True)):
        halt = np.full(1, wanted, dtype=np.uint8)
        order, cuts, dropped = recut_dropping(classes.order, classes.cuts, problem.allowed, *arrays, halt)
        assert np.array_equal(order, classes.order) == np.array_equal(cuts, classes.cuts) == stays
        assert len(order) + len(dropped) == len(classes.order)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("kpareto.searches.local.search.recut_dropping", never)
    assert search_classes(problem, Effort(), progress=lambda done, total: False).hold(problem)
    assert search_classes(problem, Effort(seconds=0.0)).hold(problem)


def test_limits_on_adult_are_kept_on_the_way() -> None:
    """l, t and alpha of occupation hold in every class of a recoding of Adult, counted by the measures' own twins."""
    table = adult_table()
    wish = LocalWish(k=10, limits={"l": 4, "t": 0.4, "alpha": 0.5})
    problem = make_problem(table, wish)
    classes = search_classes(problem, Effort(turns=3))
    assert classes.hold(problem)
    counts = table.sensitive[0]
    q = counts.totals / table.rows
    for start, end in zip(classes.cuts[:-1].tolist(), classes.cuts[1:].tolist(), strict=True):
        values = problem.pieces.value[problem.pieces.start[classes.order[start:end]]]
        p = np.bincount(values, minlength=len(q)) / (end - start)
        assert (p > 0).sum() >= 4
        assert p.max() <= 0.5 + 1e-9
        assert np.abs(p - q).sum() / 2 <= 0.4 + 1e-9


def test_column_weights_shift_the_loss() -> None:
    """With almost all weight on one column, that column loses less than with equal weights."""
    table = adult_table()
    heavy = nwp({name: 20.0 if name == "age" else 0.1 for name in table.schema.quasi})

    def age_loss(local: LocalRecoding) -> float:
        return sum(
            size * float(local_twins.cell_loss(table, 0, int(first), int(last)))
            for size, first, last in zip(local.sizes, local.first[:, 0], local.last[:, 0], strict=True)
        )

    effort = Effort(turns=2)
    assert age_loss(search(table, LocalWish(k=20, loss=heavy), effort)) < age_loss(
        search(table, LocalWish(k=20), effort)
    )


def test_a_limit_that_k_rows_miss_is_kept_by_a_few_more() -> None:
    """Where each value of a column comes with one sensitive value, classes of l = 2 take one more value, not all."""
    table = read(people(), SCHEMA, hierarchies=hierarchies())
    found = search(table, LocalWish(3, {"l": 2.0}), Effort(turns=1))
    assert found.loss < 0.12
    assert found.classes >= 8


@given(case=cases(persons=False), limited=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_sweep_is_monotone(case: Case, limited: bool) -> None:
    """The loss never falls as k grows, and every point keeps its own k."""
    wish = LocalWish(k=1, limits={"l": 2.0} if limited else {})
    ks = [k for k in (1, 2, 3, 5) if k <= case.table.rows]
    try:
        points = sweep(case.table, wish, ks, QUICK)
    except Unsafe:
        return
    assert [point.k for point in points] == ks
    assert all(point.recoding.k >= point.k for point in points)
    losses = [point.recoding.exact_loss for point in points]
    assert losses == sorted(losses)


def test_presets_fit_the_table() -> None:
    """A table gets the k it has rows for."""
    assert preset_ks(30) == (2, 3, 4, 5, 7)
    assert preset_ks(1) == (1,)


@given(case=cases(persons=False))
@settings(max_examples=20, deadline=None)
def test_classes_with_equal_labels_are_one(case: Case) -> None:
    """Two classes of the search that show the same are counted as one."""
    problem = make_problem(case.table, LocalWish(k=1))
    order = np.repeat(np.arange(len(problem.copies), dtype=np.int32), problem.copies)
    single = LocalClasses(order, np.arange(len(order) + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    local = read_classes(problem, single)
    assert local.classes == case.table.distinct
    assert sorted(local.sizes.tolist()) == sorted(case.table.weights.tolist())
    assert local.labels(0) == tuple(
        h.leaves[leaf] if h.coarse is None else h.group_label(leaf, leaf)
        for h, leaf in zip(case.table.hierarchies, local.first[0].tolist(), strict=True)
    )


@given(case=cases(persons=False, sensitive=2), k=st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_two_sensitive_columns(case: Case, k: int) -> None:
    """Every class has two values of both columns, though a table does not tell which values occur together."""
    try:
        problem = make_problem(case.table, LocalWish(k, {"l": 2.0}))
    except Unsafe:
        return
    local = read_classes(problem, search_classes(problem, QUICK))
    rows = np.bincount(local.item_row, weights=local.item_rows, minlength=case.table.distinct)
    assert rows.tolist() == case.table.weights.tolist()
    first = len(case.table.sensitive[0].values)
    seen: dict[int, tuple[set[int], set[int]]] = {}
    for piece, number in zip(local.item_piece.tolist(), local.item_class.tolist(), strict=True):
        entries = slice(int(problem.pieces.start[piece]), int(problem.pieces.start[piece + 1]))
        for value in problem.pieces.value[entries].tolist():
            seen.setdefault(number, (set(), set()))[value >= first].add(value)
    assert all(len(values) >= 2 for pair in seen.values() for values in pair)


def test_bundles_of_equal_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table taken for very large, heavy rows keep most of their rows in one bundle, and none is lost."""
    table = adult_table()
    monkeypatch.setattr(problems, "ENTRIES", 0)
    problem = make_problem(table, LocalWish(k=2))
    assert problem.pieces.size.max() > 2
    assert int(problem.copies.sum()) < table.rows
    classes = search_classes(problem, Effort(turns=2))
    assert classes.hold(problem)
    local = read_classes(problem, classes)
    rows = np.bincount(local.item_row, weights=local.item_rows, minlength=table.distinct)
    assert rows.tolist() == table.weights.tolist()
    assert local.loss < relaxed(table, 2).lm


def test_bad_wishes_are_told_in_a_sentence() -> None:
    """What cannot be asked for is said plainly."""
    table = adult_table()
    with pytest.raises(BadJob, match="whole k of at least 1, and k is 0"):
        LocalWish(k=0)
    with pytest.raises(BadJob, match="share of rows to suppress is 2"):
        LocalWish(k=2, suppression=2)
    with pytest.raises(BadJob, match="two classes together that both keep it"):
        make_problem(table, LocalWish(k=2, limits={"delta": 1.0}))
    with pytest.raises(BadJob, match="cannot be kept by a local search"):
        make_problem(table, LocalWish(k=2, limits={"dcn": 1.0}))
    with pytest.raises(Unsafe, match="only 30,162 rows"):
        make_problem(table, LocalWish(k=40_000))
    with pytest.raises(Unsafe, match="missed even by the whole table"):
        make_problem(table, LocalWish(k=2, limits={"l": 99}))
