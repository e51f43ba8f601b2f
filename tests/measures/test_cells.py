"""Losses by cells and by class size, against the slow twin, identities and known answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob
from kpareto.measures import cells as loss
from kpareto.measures import make
from kpareto.measures.cells import CellLoss, cell_loss
from kpareto.tables.hierarchy import Hierarchy, flat, from_levels
from kpareto.tables.partition import Partition, Suppression, classes, partition, partitions
from kpareto.tables.recoding import bottom, node, run_ends
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.measures.test_measure import rows_in_classes
from tests.tables.test_partition import table_of_sizes
from tests.twins import slow as twins
from tests.twins.strategies import Case, Pair, cases, pairs, recodings, suppressions, twin_releases

CELL_LOSSES = ("glm", "lm", "nwp", "precision-loss", "entropy")


def cell_loss_of(name: str) -> CellLoss:
    """A cell loss by its name."""
    measure = make(name)
    assert isinstance(measure, CellLoss)
    return measure


def one_column(tree: Hierarchy, leaves: list[int]) -> Table:
    """A table of one quasi-identifier with one row per given leaf."""
    codes = np.array(leaves, dtype=np.int32).reshape(-1, 1)
    return make_table(Schema(quasi=(tree.name,)), (tree,), codes, np.ones(len(leaves), dtype=np.int64), {})


@settings(max_examples=200)
@given(pair=pairs(), data=st.data())
def test_losses_agree_with_the_slow_twin(pair: Pair, data: st.DataObject) -> None:
    """Every loss is the twin's, under all rules, dropped and masked, both domains, by leaves and by distance."""
    release = pair.release
    pair.check(make("glm"), twins.glm(release))
    pair.check(make("lm"), twins.lm(release))
    names = pair.case.table.schema.quasi
    weights = [data.draw(st.sampled_from(["0.1", "1", "2.5"])) for _ in names]
    measure = loss.nwp({name: float(weight) for name, weight in zip(names, weights, strict=True)})
    pair.check(measure, twins.nwp(release, [Fraction(weight) for weight in weights]))
    pair.check(make("precision-loss"), twins.precision_loss(release))
    pair.check(make("entropy"), twins.entropy(release))
    pair.check(make("dcn"), twins.dcn(release))
    pair.check(make("average-class-size"), twins.average_class_size(release))
    pair.check(make("arx-loss"), twins.arx_loss(release))
    pair.check(make("aecs"), twins.aecs(release))
    pair.check(make("nonuniform-entropy"), twins.nonuniform_entropy(release))


@settings(max_examples=100)
@given(case=cases(), data=st.data(), suppression=suppressions())
def test_arx_precision_of_nodes_agrees_with_the_slow_twin(
    case: Case, data: st.DataObject, suppression: Suppression
) -> None:
    """It goes by the level of a column, also where a level repeats the groups of the one below."""
    levels = [data.draw(st.integers(0, h.height)) for h in case.table.hierarchies]
    recoding = node(case.table.hierarchies, levels)
    both = zip(partitions(case.table, recoding, suppression), twin_releases(case, recoding, suppression), strict=True)
    for made, release in both:
        Pair(case, made, release).check(make("precision"), twins.arx_precision(release, levels))


@settings(max_examples=60)
@given(pair=pairs())
def test_lm_glm_and_nwp_are_one_number(pair: Pair) -> None:
    """LM = GLM / (columns · rows) = NWP with equal weights (readings.md#losses)."""
    made = pair.partition
    cells = len(pair.case.table.schema.quasi) * made.table.rows
    lm, glm, nwp = (cell_loss_of(name).exact(made) for name in ("lm", "glm", "nwp"))
    assert lm is not None
    assert glm is not None
    assert lm == glm / cells == nwp


@settings(max_examples=60)
@given(pair=pairs(), name=st.sampled_from(CELL_LOSSES))
def test_whole_numbers_times_scale_are_the_value(pair: Pair, name: str) -> None:
    """What compiled loops add up, table_of and suppressed, gives the measure; run_table holds the same numbers."""
    made, measure = pair.partition, cell_loss_of(name)
    table = made.table
    total = 0
    for column, cut in enumerate(made.recoding.cuts):
        cells = measure.table_of(table, column, cut)
        assert cells.dtype == np.int64
        first, last = run_ends(cut)
        assert measure.run_table(table, column)[first, last].tolist() == cells.tolist()
        kept = ~made.suppressed
        total += int(cells[made.groups[kept, column]] @ made.rows[kept])
        total += measure.suppressed(table, column) * made.suppressed_rows
    assert float(total * measure.scale(table)) == pytest.approx(measure(made), rel=1e-9, abs=1e-9)
    if name != "entropy":
        assert measure.is_exact(table)
        assert total * measure.scale(table) == measure.exact(made)
    else:
        assert not measure.is_exact(table)
        assert measure.exact(made) is None


@settings(max_examples=60)
@given(case=cases(), data=st.data(), name=st.sampled_from(CELL_LOSSES))
def test_a_suppressed_cell_never_costs_less(case: Case, data: st.DataObject, name: str) -> None:
    """No group loses more than a suppressed cell, so suppression cannot pay cell by cell."""
    recoding = data.draw(recodings(case.table))
    measure = cell_loss_of(name)
    for column, cut in enumerate(recoding.cuts):
        cells = measure.table_of(case.table, column, cut)
        assert (cells >= 0).all()
        assert (cells <= measure.suppressed(case.table, column)).all()


def test_o1_o2_o3_cell_losses() -> None:
    """O1, O2, O3: 2/7 for one of three of eight leaves, 2/15 by distance, 1/3, 1/4 and 1/9 for two of 4, 5 and 10."""
    eight = from_levels("w", [(str(i), "gov" if i < 3 else str(i), "*") for i in range(8)])
    table = replace(one_column(eight, [0]), domain="declared")
    numerators, denominator = cell_loss(table, 0, *run_ends(eight.groups[1]))
    assert (int(numerators[0]), denominator) == (2, 7)
    years = flat("e", [str(i) for i in range(16, 0, -1)])
    spans = np.repeat(np.arange(16.0, 0.0, -1.0).reshape(-1, 1), 2, axis=1)
    numeric = replace(years, spans=spans, loss="distance")
    table = replace(one_column(numeric, [0]), domain="declared")
    numerators, denominator = cell_loss(table, 0, *run_ends(np.array([0, 0, 0, *range(1, 14)], dtype=np.int32)))
    assert Fraction(int(numerators[0]), denominator) == Fraction(2, 15)
    for count, expected in ((4, Fraction(1, 3)), (5, Fraction(1, 4)), (10, Fraction(1, 9))):
        tree = flat("c", [str(i) for i in range(count)])
        table = one_column(tree, list(range(count)))
        numerators, denominator = cell_loss(table, 0, *run_ends(np.array([0, 0, *range(1, count - 1)], dtype=np.int32)))
        assert Fraction(int(numerators[0]), denominator) == expected


def test_observed_domains_cannot_be_cheated_with_empty_leaves() -> None:
    """Cutting empty cells off makes everything cost 14/19 by declared leaves, but 1 by observed ones."""
    tree = flat("age", [str(i) for i in range(20)])
    observed = one_column(tree, list(range(3, 18)))
    cut = np.array([0] * 3 + [1] * 15 + [2] * 2, dtype=np.int32)
    for domain, expected in (("observed", Fraction(1)), ("declared", Fraction(14, 19))):
        table = replace(observed, domain="observed" if domain == "observed" else "declared")
        numerators, denominator = cell_loss(table, 0, *run_ends(cut))
        assert Fraction(int(numerators[1]), denominator) == expected


def test_a_column_with_one_value_loses_nothing_until_suppressed() -> None:
    """One value costs 0 whatever its group is called, and 1 when the row is suppressed."""
    table = one_column(from_levels("x", [("a", "*")]), [0, 0])
    for name in ("glm", "lm", "nwp", "precision-loss", "entropy"):
        assert make(name)(classes(table, bottom(table.hierarchies))) == 0.0
    gone = partition(table, bottom(table.hierarchies), Suppression("below-k", k=3))
    assert make("glm")(gone) == 2.0
    assert make("lm")(gone) == 1.0
    assert make("entropy")(gone) == 0.0


def test_an_empty_release_has_the_largest_loss() -> None:
    """Everything suppressed costs everything."""
    table = table_of_sizes([1, 2])
    gone = partition(table, bottom(table.hierarchies), Suppression("below-k", k=9))
    assert [make(name)(gone) for name in ("lm", "nwp", "precision-loss", "glm", "dcn")] == [1, 1, 1, 3, 9]
    assert make("average-class-size")(gone) == 3.0


def test_decimals_are_taken_as_written() -> None:
    """0.1 and 0.3 are a tenth and three tenths, not their binary neighbours."""
    tree = replace(
        flat("x", ["0.1", "0.2", "0.4"]), spans=np.array([[0.1, 0.1], [0.2, 0.2], [0.4, 0.4]]), loss="distance"
    )
    table = one_column(tree, [0, 1, 2])
    numerators, denominator = cell_loss(table, 0, *run_ends(np.array([0, 0, 1], dtype=np.int32)))
    assert (numerators.tolist(), denominator) == ([1, 0], 3)


def test_wild_decimals_are_rounded_to_a_fine_grid() -> None:
    """Numbers without a small common denominator keep twelve digits, and no exact value is claimed."""
    numbers = [0.1234567890123, 1.0, 7.77777777777771, 1e6]
    spans = np.array([[n, n] for n in numbers])
    tree = replace(flat("x", [str(n) for n in numbers]), spans=spans, loss="distance")
    table = one_column(tree, [0, 1, 2, 3])
    made = classes(table, node(table.hierarchies, [0]))
    assert make("lm")(made) == 0.0
    joined = replace(made.recoding, cuts=(np.array([0, 0, 0, 1], dtype=np.int32),), levels=None)
    expected = (numbers[2] - numbers[0]) / (numbers[3] - numbers[0]) * 3 / 4
    assert make("lm")(classes(table, joined)) == pytest.approx(expected, rel=1e-6)
    assert cell_loss_of("lm").exact(classes(table, joined)) is None
    assert not cell_loss_of("lm").is_exact(table)


def test_too_large_sums_are_scaled_down() -> None:
    """Where whole numbers would pass 62 bits they are rounded, with an error below 1e-9 of the largest loss."""
    trees = [flat(f"x{i}", [str(v) for v in range(p)]) for i, p in enumerate([102, 104, 108, 110, 114, 128, 132, 138])]
    codes = np.stack([np.arange(138) % len(tree.leaves) for tree in trees], axis=1)
    schema = Schema(quasi=tuple(tree.name for tree in trees))
    table = make_table(schema, tuple(trees), codes, np.full(138, 10**6), {})
    measure = cell_loss_of("glm")
    assert not measure.is_exact(table)
    cuts = tuple(np.arange(len(tree.leaves), dtype=np.int32) // 2 for tree in trees)
    made = classes(table, replace(bottom(table.hierarchies), cuts=cuts, levels=None))
    total = sum(
        int(measure.table_of(table, c, cut)[made.groups[:, c]].astype(object) @ made.rows) for c, cut in enumerate(cuts)
    )
    assert 0 < total < 2**63
    assert float(total * measure.scale(table)) == pytest.approx(measure(made), abs=1e-9 * table.rows * len(trees))
    assert measure.exact(made) is not None


def test_weights_come_from_the_schema_unless_given() -> None:
    """NWP weighs by the schema; given weights replace them; a column without one counts 1."""
    trees = (flat("a", ["0", "1"]), flat("b", ["0", "1", "2"]))
    codes = np.array([[0, 0], [1, 1], [0, 2]], dtype=np.int32)
    schema = Schema(quasi=("a", "b"), weights={"a": 3.0})
    table = make_table(schema, trees, codes, np.ones(3, dtype=np.int64), {})
    made = classes(table, node(trees, [1, 0]))
    assert make("nwp")(made) == pytest.approx(0.75)
    assert loss.nwp({"a": 1.0})(made) == pytest.approx(0.5)
    assert loss.nwp({"a": 0.0})(made) == 0.0
    assert make("nwp(weights=a*2 + b)")(made) == pytest.approx(2 / 3)
    assert loss.nwp({"a": 2.0}).name == "nwp(weights=a*2)"
    with pytest.raises(BadJob, match="nwp has a weight for 'c', which is not a quasi-identifier"):
        loss.nwp({"c": 1.0})(made)
    with pytest.raises(BadJob, match="Every weight of nwp is 0"):
        loss.nwp({"a": 0.0, "b": 0.0})(made)
    with pytest.raises(BadJob, match="Give numbers of at least 0"):
        loss.nwp({"a": -1.0})


def test_entropy_is_the_non_uniform_entropy_without_suppression() -> None:
    """Σ H(value | group) = Σ −log₂ P(value | group) over the rows (Gionis & Tassa)."""
    tree = flat("x", ["a", "b", "c"])
    table = one_column(tree, [0, 0, 0, 1, 2, 2])
    made = classes(table, replace(bottom((tree,)), cuts=(np.array([0, 0, 1], dtype=np.int32),), levels=None))
    expected = 3 * np.log2(4 / 3) + np.log2(4 / 1)
    assert make("entropy")(made) == pytest.approx(expected)


def test_precision_counts_levels() -> None:
    """Sweeney's Prec: a cell at level 1 of 2 costs a half; a group repeated on two levels counts by the lower."""
    tree = from_levels("x", [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")])
    table = one_column(tree, [0, 1, 2, 2])
    assert make("precision-loss")(classes(table, node((tree,), [1]))) == pytest.approx(0.25)
    assert make("precision-loss")(classes(table, node((tree,), [2]))) == 1.0


def test_class_size_losses_by_hand() -> None:
    """Classes of 2, 3 and 5 rows: DCN 38, 10/3 rows per class, C_AVG for k = 2 half of that."""
    made = rows_in_classes([2, 3, 5])
    assert make("dcn")(made) == 38.0
    assert make("average-class-size")(made) == pytest.approx(10 / 3)
    assert make("average-class-size(k=2)")(made) == pytest.approx(10 / 6)


def test_loss_counts_rows_where_privacy_counts_persons() -> None:
    """DCN of four rows of one person is sixteen."""
    table = table_of_sizes([4, 2], persons=[1, 2])
    made: Partition = classes(table, bottom(table.hierarchies))
    assert make("dcn")(made) == 20.0


def test_column_losses_are_remembered_per_table() -> None:
    """The loss of a column is worked out once and forgotten with its table."""
    table = table_of_sizes([1, 2])
    assert loss.generalization_loss(table, 0) is loss.generalization_loss(table, 0)
    assert loss.generalization_loss(table, 0) is not loss.generalization_loss(replace(table), 0)
