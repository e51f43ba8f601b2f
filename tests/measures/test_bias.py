"""Inequality of protection, against the slow twin and known answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from kpareto.errors import BadInput, BadJob
from kpareto.measures import make
from kpareto.measures.properties import group_means
from kpareto.tables.partition import Suppression, classes, partition
from kpareto.tables.recoding import bottom
from tests.measures.test_measure import rows_in_classes
from tests.measures.test_sensitive import table_of_values
from tests.tables.test_partition import table_of_sizes
from tests.twins import slow as twins
from tests.twins.strategies import Pair, pairs


@settings(max_examples=150)
@given(pair=pairs())
def test_bias_agrees_with_the_slow_twin(pair: Pair) -> None:
    """NECD and every gap between groups, by quasi-identifier, sensitive and target column, is the twin's."""
    release = pair.release
    pair.check(make("necd"), twins.necd(release))
    for of in ("protection", "loss", "suppressed"):
        pair.check(make(f"bias(by=q0, of={of})"), twins.bias(release, lambda row: row.leaves[0], of, ratio=False))
        pair.check(make(f"bias(by=s0, of={of})"), twins.bias(release, lambda row: row.sensitive[0], of, ratio=False))
        ratio = twins.bias(release, lambda row: row.target[0], of, ratio=True)
        pair.check(make(f"bias(by=t0, of={of}, gap=ratio)"), ratio)


def test_o20_necd() -> None:
    """O20: class sizes 2 and 4 have NECD 2/5; equal classes have 0; one row alone has 0."""
    assert make("necd")(rows_in_classes([2, 4])) == pytest.approx(2 / 5)
    assert make("necd")(rows_in_classes([3, 3])) == 0.0
    assert make("necd")(rows_in_classes([1])) == 0.0


def test_o27_protection() -> None:
    """O27: rows in classes of 3 and of 10 are protected by 2/3 and 9/10, a gap of 7/30."""
    table = table_of_values(["aaa", "bbbbbbbbbb"])
    made = classes(table, bottom(table.hierarchies))
    means = group_means(made, "s0")
    assert dict(zip(means.groups, means.means.tolist(), strict=True)) == pytest.approx({"a": 2 / 3, "b": 9 / 10})
    assert means.rows.tolist() == [3, 10]
    assert means.gap() == pytest.approx(7 / 30)
    assert means.gap("ratio") == pytest.approx(1 - (2 / 3) / (9 / 10))


def test_necd_counts_persons() -> None:
    """Three persons in classes of one and two: (2 − 1) / (3 − 1), whatever the rows."""
    table = table_of_sizes([4, 2], persons=[1, 2])
    assert make("necd")(classes(table, bottom(table.hierarchies))) == pytest.approx(1 / 2)


def test_who_disappears_shows_in_the_gap() -> None:
    """If only the rows of one group are suppressed, its loss and its protection are 1, and so is the gap in loss."""
    table = table_of_values(["a", "bbb"])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    assert make("bias(by=s0, of=suppressed)")(made) == 1.0
    assert make("bias(by=s0, of=loss)")(made) == 1.0
    assert make("bias(by=s0)")(made) == pytest.approx(1 - 2 / 3)


def test_wrong_questions_are_explained() -> None:
    """An unknown column or kind of bias gets its sentence."""
    made = rows_in_classes([1, 2])
    with pytest.raises(BadInput, match=r"No column 'y' to group by"):
        make("bias(by=y)")(made)
    with pytest.raises(BadJob, match="not in 'money'"):
        group_means(made, "x", "money")  # type: ignore[arg-type]
