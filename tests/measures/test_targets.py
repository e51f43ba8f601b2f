"""Losses by use, against the slow twin and known answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from kpareto.errors import BadJob, BadTable
from kpareto.measures import make, targets
from kpareto.tables.hierarchy import flat
from kpareto.tables.partition import Partition, Suppression, classes, partition
from kpareto.tables.recoding import bottom
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.twins import slow as twins
from tests.twins.strategies import Pair, pairs


def table_of_targets(groups: Sequence[Sequence[object]]) -> Table:
    """One class per list, one row per target value in it."""
    given = [value for group in groups for value in group]
    words = sorted({str(value) for value in given}, key=lambda w: (float(w), w) if _numeric(given) else (0.0, w))
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups]).reshape(-1, 1)
    code = np.array([words.index(str(value)) for value in given], dtype=np.int32)
    numbers = np.array([float(word) for word in words]) if _numeric(given) else None
    schema = Schema(quasi=("x",), target=("y",))
    tree = flat("x", [str(place) for place in range(len(groups))])
    return make_table(schema, (tree,), codes, np.ones(len(given), dtype=np.int64), {"y": (tuple(words), code, numbers)})


def _numeric(given: Sequence[object]) -> bool:
    return all(isinstance(value, int | float) for value in given)


def classes_of(groups: Sequence[Sequence[object]]) -> Partition:
    """The partition with one class per list."""
    table = table_of_targets(groups)
    return classes(table, bottom(table.hierarchies))


@settings(max_examples=150)
@given(pair=pairs(numeric_target=False))
def test_classification_losses_agree_with_the_slow_twin(pair: Pair) -> None:
    """CM as share and rows, and with costs, is the twin's under all rules, dropped and masked."""
    release = pair.release
    pair.check(make("cm-rows"), twins.cm_rows(release))
    pair.check(make("cm"), Fraction(twins.cm_rows(release)) / len(pair.case.rows))
    values = pair.case.table.targets[0].values
    plain = {(true, told): Fraction(true != told) for true in values for told in values}
    pair.check(make("cost-cm"), twins.cost_cm(release, plain))
    first = values[0]
    costs = {(true, told): Fraction("2.5") if (true == first != told) else c for (true, told), c in plain.items()}
    measure = targets.cost_cm({first: {told: 2.5 for told in values if told != first}})
    pair.check(measure, twins.cost_cm(release, costs))


@settings(max_examples=150)
@given(pair=pairs(numeric_target=True))
def test_regression_losses_agree_with_the_slow_twin(pair: Pair) -> None:
    """Both dispersions, with the suppressed rows around their own and around the global centre."""
    for kind in ("variance", "deviation"):
        pair.check(make(f"reg-{kind}"), twins.reg(pair.release, kind))
        pair.check(make(f"reg-{kind}(centre=global)"), twins.reg(pair.release, kind, "global"))
        if not pair.partition.suppressed.any():
            assert make(f"reg-{kind}")(pair.partition) <= 1 + 1e-9


def test_o18_classification_metric() -> None:
    """O18: four groups of five with one minority row in three of them have CM .15; all suppressed has CM 1."""
    table = table_of_targets([["no"] * 5, ["no"] * 4 + ["yes"], ["yes"] + ["no"] * 4, ["yes"] * 4 + ["no"]])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=5))
    assert make("cm")(made) == pytest.approx(0.15)
    assert make("cm-rows")(made) == 3.0
    gone = partition(table, bottom(table.hierarchies), Suppression("below-k", k=6))
    assert make("cm")(gone) == 1.0


def test_o19_regression() -> None:
    """O19: groups 1,2,3 and 10,10 leave 2/78.8 of the variance and 2/17 of the absolute deviation."""
    made = classes_of([[1, 2, 3], [10, 10]])
    assert make("reg-variance")(made) == pytest.approx(2 / 78.8)
    assert make("reg-deviation")(made) == pytest.approx(2 / 17)


def test_a_constant_target_loses_nothing() -> None:
    """Without dispersion there is nothing to lose."""
    made = classes_of([[4, 4], [4]])
    assert make("reg")(made) == make("reg(dispersion=deviation)")(made) == 0.0


def test_the_global_centre_is_the_lower_median() -> None:
    """Of 0, 1, 5, 9 the centre is 1: the suppressed 9 is 8 off, and all rows together are 1 + 0 + 4 + 8 off."""
    table = table_of_targets([[0, 1, 5], [9]])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    assert make("reg-deviation(centre=global)")(made) == pytest.approx((5 + 8) / 13)
    assert make("reg-deviation")(made) == pytest.approx(5 / 13)


def test_costs_change_the_price_not_the_majority() -> None:
    """The majority answers even where another answer would be cheaper, as Iyengar defines it."""
    made = classes_of([["ill", "well", "well"]])
    assert make("cost-cm")(made) == pytest.approx(1 / 3)
    assert targets.cost_cm({"ill": {"well": 10.0}})(made) == pytest.approx(10 / 3)
    assert make("cost-cm(costs=ill/well*10)")(made) == pytest.approx(10 / 3)
    tie = classes_of([["ill", "well"]])
    assert targets.cost_cm({"ill": {"well": 10.0}})(tie) == pytest.approx(1 / 2)


def test_suppressed_rows_are_one_more_group_for_costs() -> None:
    """Unlike in CM, a suppressed row may be right: the suppressed rows have a majority of their own."""
    table = table_of_targets([["a"], ["a"], ["b"], ["b"] * 3])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    assert make("cost-cm")(made) == pytest.approx(1 / 6)
    assert make("cm")(made) == pytest.approx(3 / 6)


def test_multi_target_is_a_weighted_mean() -> None:
    """Weights are divided by their sum; a mapping and its text say the same."""
    made = classes_of([[1, 2, 3], [10, 10]])
    parts = {name: make(name)(made) for name in ("cm", "reg-variance")}
    expected = (2 * parts["cm"] + parts["reg-variance"]) / 3
    assert make("multi-target(of=cm*2 + reg-variance)")(made) == pytest.approx(expected)
    measure = targets.multi_target({"cm": 2.0, "reg-variance": 1.0})
    assert measure(made) == pytest.approx(expected)
    assert measure.name == "multi-target(of=cm*2 + reg-variance*1)"
    assert measure.trend["none"] == "rises"
    assert make("multi-target(of=cost-cm)").trend["none"] == "either"


def test_wrong_targets_are_explained() -> None:
    """A missing or categorical target, and impossible costs, get their sentence."""
    made = classes_of([["a", "b"]])
    with pytest.raises(BadTable, match=r"The target 'y' is not numeric \(it has 'a'\)\. Use cm"):
        make("reg-variance")(made)
    with pytest.raises(BadTable, match="cost-cm has a cost for 'c', which the column 'y' never takes"):
        targets.cost_cm({"c": {"a": 1.0}})(made)
    with pytest.raises(BadJob, match="A cost of cost-cm is below 0 or infinite"):
        targets.cost_cm({"a": {"b": -1.0}})
    bare = make_table(Schema(quasi=("x",)), (flat("x", ["0"]),), np.zeros((1, 1), dtype=np.int32), np.ones(1), {})
    with pytest.raises(BadTable, match="needs a target column, and the table has none"):
        make("cm")(classes(bare, bottom(bare.hierarchies)))
