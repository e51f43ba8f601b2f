"""The compiled roll-up of the whole lattice against partitions made one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.fronts.count_lattice import CountedNodes, Wanted, count_lattice, fits, lattice_of
from kpareto.fronts.packed_values import HistLimit, HistNumber
from kpareto.kernels.words import (
    ALPHA,
    BETA,
    CLASSES,
    DELTA,
    DISTINCT,
    ENHANCED_BETA,
    ENTROPY,
    INTS,
    LARGEST,
    MINORITY,
    OWN,
    RECURSIVE,
    RISKY,
    SQUARES,
    SUPPRESSED,
    T_EQUAL,
    T_ORDERED,
    UNIQUES,
    K,
)
from kpareto.measures.cells import dcn, entropy, glm, nwp, precision_loss
from kpareto.measures.sensitive import alpha, beta, delta, distinct_l, enhanced_beta, entropy_l, recursive_l, t
from kpareto.measures.sizes import k
from kpareto.tables.lattice import walk_order
from kpareto.tables.partition import Fails, Partition, Rule, Suppression, partitions
from kpareto.tables.recoding import node
from kpareto.tables.table import Table
from tests.twins.strategies import Case, cases

LOSSES = (glm(), nwp(), precision_loss(), entropy())
RULES_BY_ROLLUP: list[Rule] = ["none", "below-k", "cap-max-k", "as-needed"]


def hist_numbers(table: Table) -> tuple[HistNumber, ...]:
    """Every histogram statistic the kernels know."""
    sensitive = table.sensitive[0]
    kinds = [
        (DISTINCT, 0.0),
        (ENTROPY, 0.0),
        (T_EQUAL, 0.0),
        (T_ORDERED, 0.0),
        (ALPHA, 0.0),
        (BETA, 0.0),
        (ENHANCED_BETA, 0.0),
        (DELTA, 0.0),
        (RECURSIVE, 2.0),
        (OWN, 0.0),
    ]
    found = [HistNumber(kind, sensitive, parameter) for kind, parameter in kinds]
    return (*found, HistNumber(MINORITY, table.targets[0]))


def expected_reals(partition: Partition) -> list[float]:
    """What the kernel's reals should be, by the numpy measures and plain loops; of values the kernels count rows."""
    sensitive = partition.table.sensitive[0].name
    models = [
        distinct_l(sensitive), entropy_l(sensitive), t(column=sensitive), t(column=sensitive, distance="ordered"),
        alpha(sensitive), beta(sensitive), enhanced_beta(sensitive), delta(sensitive), recursive_l(2, sensitive),
    ]  # fmt: skip
    values = [model(partition.by_rows) for model in models]
    own = partition.counts(partition.table.sensitive[0])
    targets = partition.counts(partition.table.targets[0])
    squares = minority = 0
    for c in np.flatnonzero(partition.visible).tolist():
        squares += sum(int(n) ** 2 for n in own.count[own.start[c] : own.start[c + 1]])
        minority += int(partition.rows[c]) - int(targets.count[targets.start[c] : targets.start[c + 1]].max())
    return [*values, float(squares), float(minority)]


def check(table: Table, suppression: Suppression, counted: CountedNodes) -> None:
    """Every row of ``counted`` equals the partition it stands for, and no node is missing."""
    lattice = lattice_of(table)
    at = 0
    for number in range(lattice.size):
        levels = lattice.levels(np.array([number]))[0].tolist()
        for partition in partitions(table, node(table.hierarchies, levels), suppression):
            if partition.empty and suppression.rule == "cap-max-k":
                continue
            assert counted.nodes[at] == number
            ints = counted.ints[at]
            if not partition.feasible:  # too many rows miss a limit: that is all the walk counts
                assert ints[SUPPRESSED] > suppression.allowed(table.rows)
                at += 1
                continue
            assert ints[SUPPRESSED] == partition.suppressed_rows
            assert ints[CLASSES] == partition.classes
            visible = partition.sizes[partition.visible]
            if not partition.empty:
                assert ints[K] == k()(partition)
                assert ints[LARGEST] == visible.max()
            assert ints[SQUARES] + table.rows * partition.suppressed_rows == dcn()(partition)
            assert ints[UNIQUES] == (visible == 1).sum()
            assert ints[RISKY] == visible[visible < 3].sum()
            for b, loss in enumerate(LOSSES):
                assert np.isclose(float(ints[INTS + b] * loss.scale(table)), loss(partition), rtol=1e-9)
            if not partition.empty:
                assert np.allclose(counted.reals[at], expected_reals(partition), rtol=1e-9, atol=1e-12)
            at += 1
    assert at == len(counted.nodes)


def judge_rows(fails: Fails) -> Fails:
    """A rule by which classes fail, with persons not told apart."""
    return lambda whole: fails(whole.by_rows)


def drawn_suppression(
    data: st.DataObject, table: Table, rules: list[Rule]
) -> tuple[Suppression, tuple[HistLimit, ...]]:
    """A suppression by one of the rules, and its limits as the kernels take them."""
    rule = data.draw(st.sampled_from(rules))
    limit = data.draw(st.integers(0, table.rows - 1))
    if rule == "below-k":
        return Suppression(rule, limit, k=data.draw(st.integers(1, 5))), ()
    if rule == "as-needed":
        sensitive = table.sensitive[0]
        size, values, most = data.draw(
            st.tuples(st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.5, 2 / 3, 1]))
        )
        by_values = distinct_l(sensitive.name).fails(values), alpha(sensitive.name).fails(most)
        fails = (k().fails(size), *map(judge_rows, by_values))
        limits = (
            HistLimit(-1, size),
            HistLimit(DISTINCT, values, sensitive),
            HistLimit(ALPHA, most, sensitive),
        )
        return Suppression(rule, limit, fails=fails, by_size=data.draw(st.booleans())), limits
    return Suppression(rule, limit), ()


@settings(max_examples=150)
@given(case=cases(persons=False), data=st.data())
def test_roll_up_equals_partitions(case: Case, data: st.DataObject) -> None:
    """Every node, under every rule, has the numbers of its partition."""
    table = case.table
    suppression, limits = drawn_suppression(data, table, RULES_BY_ROLLUP)
    wanted = Wanted(suppression, LOSSES, hist_numbers(table), limits, sizes=True, risky_below=3)
    assert fits(table, wanted)
    check(table, suppression, count_lattice(table, wanted, threads=1))


@settings(max_examples=25)
@given(case=cases(persons=False), data=st.data())
def test_threads_change_nothing(case: Case, data: st.DataObject) -> None:
    """One, two and five threads give the same bits."""
    suppression, limits = drawn_suppression(data, case.table, RULES_BY_ROLLUP)
    wanted = Wanted(suppression, LOSSES, hist_numbers(case.table), limits, sizes=True, risky_below=3)
    first = count_lattice(case.table, wanted, threads=1)
    for threads in (2, 5):
        again = count_lattice(case.table, wanted, threads=threads)
        for mine, other in zip(
            (first.nodes, first.thresholds, first.ints, first.reals),
            (again.nodes, again.thresholds, again.ints, again.reals),
            strict=True,
        ):
            assert mine.tobytes() == other.tobytes()


@given(case=cases(persons=False))
def test_walk_order_is_a_permutation(case: Case) -> None:
    """The walk visits each column once."""
    assert sorted(walk_order(case.table)) == list(range(len(case.table.hierarchies)))
