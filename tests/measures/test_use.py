"""Measures of use: count-error is what utility tells, relations a look-up that only grows, bounds below every node."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import kpareto as kp
from kpareto.engines.read import read
from kpareto.errors import BadJob
from kpareto.fronts.front import Front
from kpareto.fronts.subtree_bounds import can_bound
from kpareto.measures.targets import FINE, RelatedColumns, least_group, relations_of
from kpareto.measures.use import draw_queries, is_judged, is_more_than_chance, view_original, yardstick
from kpareto.searches.lattice import exact
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Partition, Suppression, classes, partition
from kpareto.tables.recoding import bottom, top
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table
from kpareto.testing import check_trend
from tests.twins.use import levels_choice, local_choice, related_rows, related_table

RULES = [Suppression("none"), Suppression(limit=0.1), Suppression("cap-max-k", 40), Suppression("below-k", k=4)]


def small_related(rng: np.random.Generator) -> Table:
    """A table of three columns that have to do with each other, every value frequent, half of them with a target."""
    rows = int(rng.integers(150, 300))
    first = rng.integers(0, 4, rows)
    second = (first + (rng.random(rows) < 0.3) * rng.integers(0, 4, rows)) % 4
    third = np.where(rng.random(rows) < 0.7, second // 2, rng.integers(0, 2, rows))
    columns = {"a": first, "b": second, "c": third, "d": first + rng.integers(0, 2, rows)}
    tree = [(str(v), "low" if v < 2 else "high", "*") for v in range(4)]
    hierarchies = [from_levels("a", tree), from_levels("b", tree), from_levels("c", [("0", "*"), ("1", "*")])]
    schema = Schema(("a", "b", "c"), target=("d",) if rng.integers(0, 2) else ())
    return read(
        pa.table({name: values.astype(str) for name, values in columns.items()}), schema, hierarchies=hierarchies
    )


def slow_relations(table: Table, shown: Partition) -> float:
    """The share of mutual information that labels lose, row by row, for a table whose every value is frequent."""
    names = [*table.schema.quasi, *table.schema.target]
    rows: list[tuple[list[int], list[int], int]] = []  # values, labels, how many
    targets = {name: table.counts(name, "target") for name in table.schema.target}
    for at, codes in enumerate(table.codes.tolist()):
        labels = [int(cut[code]) for cut, code in zip(shown.recoding.cuts, codes, strict=True)]
        if not targets:
            rows.append((codes, labels, int(table.weights[at])))
        for counts in targets.values():
            for entry in range(int(counts.start[at]), int(counts.start[at + 1])):
                value = int(counts.code[entry])
                rows.append(([*codes, value], [*labels, value], int(counts.count[entry])))
    true = left = 0.0
    for one, two in itertools.combinations(range(len(names)), 2):
        whole = _information(Counter(), [(v[one], v[two], n) for v, _, n in rows])
        sizes = [len({v[c] for v, _, _ in rows}) - 1 for c in (one, two)]
        if 2 * table.rows * whole - math.prod(sizes) > 3 * math.sqrt(2 * math.prod(sizes)):
            true += whole
            left += _information(Counter(), [(x[one], x[two], n) for _, x, n in rows])
    return 1 - left / true + left / true * shown.suppressed_rows / table.rows


def _information(joint: Counter[tuple[int, int]], entries: list[tuple[int, int, int]]) -> float:
    one, two = Counter[int](), Counter[int]()
    for a, b, rows in entries:
        joint[a, b] += rows
        one[a] += rows
        two[b] += rows
    total = sum(one.values())
    return sum(n / total * math.log(n * total / one[a] / two[b]) for (a, b), n in joint.items())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule)
def test_relations_are_those_of_the_slow_twin(seed: int, rule: Suppression) -> None:
    """At every node, counted row by row with dictionaries, and looked up for the exact search."""
    table = small_related(np.random.default_rng(seed))
    lattice, asked = Lattice(table.hierarchies), kp.problem(table, ["relations"], rule)
    genomes = lattice.levels(np.arange(lattice.size))
    known = asked.evaluate(lattice, genomes)
    assert asked.is_compiled
    for at, genome in enumerate(genomes):
        shown = partition(table, lattice.decode(genome), rule)
        lost = kp.make("relations")(shown)
        assert lost == pytest.approx(slow_relations(table, shown), abs=1e-12)
        assert min(abs(known.values[known.which == at, 0] - lost)) < 1e-12


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule)
@pytest.mark.parametrize("objectives", [("k", "relations"), ("k", "glm", "relations")])
def test_bounds_leave_no_point_out(
    seed: int, rule: Suppression, objectives: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Branch and bound gives the front of counting every node."""
    table = small_related(np.random.default_rng(seed))
    whole = kp.front(table, objectives=objectives, suppression=rule)
    monkeypatch.setattr(exact, "WHOLE", 0)
    assert can_bound(kp.problem(table, objectives, rule)) == (rule.rule != "below-k")
    bounded: Front = kp.front(table, objectives=objectives, suppression=rule)
    assert bounded.numbers.keys.tolist() == whole.numbers.keys.tolist()
    assert bounded.genomes.tolist() == whole.genomes.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_what_columns_lose_by_themselves_is_never_above_the_loss(seed: int) -> None:
    """The bound of a node adds up over columns, is 1 at the top, and no node loses less."""
    table = small_related(np.random.default_rng(seed))
    related, lattice = relations_of(table), Lattice(table.hierarchies)
    scale = table.rows / 2**FINE
    for genome in lattice.levels(np.arange(lattice.size)):
        cuts = lattice.decode(genome).cuts
        bound = sum(int(related.table_of(table, c, cut)[0]) for c, cut in enumerate(cuts)) * scale
        assert bound <= related.lost(cuts)
    assert sum(related.suppressed(table, c) for c in range(3)) * scale == pytest.approx(1, abs=1e-6)


def test_relations_keep_their_promise() -> None:
    """The trend holds for any cuts that merge, on tables with relations; suppression promises nothing."""
    measure = kp.make("relations")
    check_trend(measure, rounds=20, tables=small_related)
    assert {rule: trend for rule, trend in measure.trend.items() if trend != "either"} == {"none": "rises"}


def test_relations_at_both_ends() -> None:
    """Nothing is lost where all is shown, all where all is hidden or suppressed; unrelated columns have none to lose."""
    table, measure = related_table(), kp.make("relations")
    assert measure(classes(table, bottom(table.hierarchies))) == 0
    assert measure(classes(table, top(table.hierarchies))) == pytest.approx(1)
    assert measure(partition(table, bottom(table.hierarchies), Suppression("below-k", k=10_000))) == 1
    rng = np.random.default_rng(1)
    alone = read(pa.table({"a": rng.integers(0, 3, 300), "b": rng.integers(0, 3, 300)}), Schema(("a", "b")))
    assert not relations_of(alone).pairs
    assert measure(classes(alone, top(alone.hierarchies))) == 0


def test_groups_of_values_lie_within_the_levels() -> None:
    """A group begins with every label that has enough rows, and rare values are joined: there are few groups."""
    table = kp.adult_table()
    related: RelatedColumns = relations_of(table)
    for column, hierarchy in enumerate(table.hierarchies):
        firsts = set(related.firsts[column].tolist())
        for cut in hierarchy.groups:
            frequent = np.flatnonzero(np.bincount(cut, table.leaf_rows[column]) >= least_group(table.rows))
            assert set(np.searchsorted(cut, frequent).tolist()) <= firsts
        assert len(firsts) <= 100


def test_labels_by_class_have_no_relations_of_columns() -> None:
    """They are judged by counts."""
    with pytest.raises(BadJob, match="relations looks at whole columns"):
        kp.make("relations")(local_choice(related_table(), 5).partition())


def test_count_error_is_what_utility_tells() -> None:
    """For whole columns, masked rows and labels by class; with nothing left it is that of the totals alone."""
    table, measure = related_table(), kp.make("count-error")
    for choice in (levels_choice(table, (2, 1, 0)), local_choice(table, 5)):
        told = kp.utility(choice).counts
        assert told.error is not None
        assert told.control is not None
        assert measure(choice.partition()) == told.error.mean
        assert yardstick(table).control.mean() == told.control.mean
    nothing = partition(table, bottom(table.hierarchies), Suppression("below-k", k=10_000))
    assert measure(nothing) == yardstick(table).control.mean()


def test_counts_do_not_depend_on_the_order_of_columns() -> None:
    """The same seed draws the same counts from the same columns."""
    rows = related_rows()
    there, back = (related_table(rows, Schema(order)) for order in (("age", "town", "sex"), ("sex", "town", "age")))
    drawn = [draw_queries(table, view_original(table), 1) for table in (there, back)]
    assert drawn[0][1] == drawn[1][1]
    assert [set(query) for query in drawn[0][0]] == [set(query) for query in drawn[1][0]]


def test_few_rows_are_not_judged_unasked() -> None:
    """Below thirty rows, and where no two columns can be counted together, nothing is said."""
    assert is_judged(related_table())
    assert not is_judged(related_table(related_rows(29)))
    assert not is_judged(read(pa.table({"a": list("abc") * 20}), Schema(("a",))))


def test_chance_is_three_standard_errors_of_paired_differences() -> None:
    """The same counts are compared one by one: a small steady gain is more than chance, a large erratic one is not."""
    errors = np.linspace(0.1, 0.9, 100)
    assert is_more_than_chance(errors, errors - 0.01 - 0.001 * np.sin(np.arange(100)))
    assert not is_more_than_chance(errors, errors)
    erratic = errors - np.where(np.arange(100) < 3, 10.0, 0.0)
    assert not is_more_than_chance(errors, erratic)
    assert not is_more_than_chance(errors[:1], errors[:1] - 1)
