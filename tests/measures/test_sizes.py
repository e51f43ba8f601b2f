"""Measures by class size, against the slow twin and known answers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from kpareto.measures import make
from kpareto.tables.partition import Suppression, partition
from kpareto.tables.recoding import bottom
from tests.measures.test_measure import rows_in_classes
from tests.tables.test_partition import table_of_sizes
from tests.twins import slow as twins
from tests.twins.strategies import Pair, pairs


@settings(max_examples=200)
@given(pair=pairs())
def test_size_measures_agree_with_the_slow_twin(pair: Pair) -> None:
    """Every measure by class size is the twin's, under all rules, dropped and masked, rows and persons."""
    pair.check(make("k"), twins.k(pair.release))
    pair.check(make("risk-max"), twins.risk_max(pair.release))
    pair.check(make("risk-mean"), twins.risk_mean(pair.release))
    pair.check(make("risk-share"), twins.risk_share(pair.release, Fraction(1, 5)))
    pair.check(make("risk-share(threshold=0.5)"), twins.risk_share(pair.release, Fraction(1, 2)))
    pair.check(make("uniques"), twins.uniques(pair.release))
    pair.check(make("suppressed"), twins.suppressed(pair.release))
    pair.check(make("classes"), twins.classes(pair.release))


def test_o21_prosecutor_risks() -> None:
    """O21: class sizes 2, 3, 5 have risks at most .5, on average 3/10, and above .2 for half of the rows."""
    made = rows_in_classes([2, 3, 5])
    assert make("risk-max")(made) == 0.5
    assert make("risk-mean")(made) == 0.3
    assert make("risk-share(threshold=0.2)")(made) == 0.5


def test_risks_and_their_shares_count_persons() -> None:
    """Four rows of one person are at full risk although their class has four rows."""
    table = table_of_sizes([4, 2], persons=[1, 2])
    made = partition(table, bottom(table.hierarchies))
    assert make("k")(made) == 1.0
    assert make("risk-max")(made) == 1.0
    assert make("risk-mean")(made) == pytest.approx((1 * 1 + 2 * 0.5) / 3)
    assert make("risk-share(threshold=0.5)")(made) == pytest.approx(1 / 3)
    assert make("uniques")(made) == 1.0


def test_masked_rows_are_at_the_risk_of_their_class() -> None:
    """The class of masked rows is visible: k and the risks count it, classes does not."""
    table = table_of_sizes([1, 1, 1, 4])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=3, rows="mask"))
    assert make("k")(made) == 3.0
    assert make("risk-mean")(made) == pytest.approx(2 / 7)
    assert make("classes")(made) == 1.0
    assert make("suppressed")(made) == 3.0


def test_in_an_empty_release_nobody_is_at_risk() -> None:
    """The k is infinite and all risks are 0 when everything is dropped."""
    table = table_of_sizes([1, 1])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=3))
    values = {name: make(name)(made) for name in ("k", "risk-max", "risk-mean", "risk-share", "uniques", "classes")}
    assert values == {"k": float("inf"), "risk-max": 0, "risk-mean": 0, "risk-share": 0, "uniques": 0, "classes": 0}
    assert make("suppressed")(made) == 2.0
