"""Property vectors and comparisons, against the slow twin and known answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput, BadJob, BadTable
from kpareto.measures import make
from kpareto.measures.properties import PROPERTIES, Property, PropertyVector, compare, property_vector
from kpareto.tables.partition import Suppression, classes, partition
from kpareto.tables.recoding import Recoding, bottom, top
from tests.measures.test_sensitive import classes_of, table_of_values
from tests.twins import slow as twins
from tests.twins.strategies import Case, Pair, cases, pairs, recodings, suppressions, twin_releases

NAMES: tuple[Property, ...] = get_args(Property)


@settings(max_examples=150)
@given(pair=pairs(), name=st.sampled_from(NAMES))
def test_vectors_agree_with_the_slow_twin(pair: Pair, name: Property) -> None:
    """Row by row, the worst, the sum and the mean are the twin's."""
    vector = property_vector(pair.partition, name)
    expected = sorted(float(value) for _, value in twins.rows_of(pair.release, name))
    assert sorted(vector.expanded().tolist()) == pytest.approx(expected)
    assert vector.total() == pytest.approx(sum(expected))
    assert vector.mean() == pytest.approx(sum(expected) / len(expected))
    assert vector.worst() == pytest.approx(min(expected) if vector.better == "higher" else max(expected))
    assert len(vector.expanded()) == len(pair.case.rows)


def value_of(row: twins.RawRow, by: str) -> object:
    """The value of a raw row in a column called q0, s0 or t0."""
    return {"q": row.leaves, "s": row.sensitive, "t": row.target}[by[0]][int(by[1])]


@settings(max_examples=150)
@given(case=cases(), data=st.data())
def test_comparisons_agree_with_the_slow_twin(case: Case, data: st.DataObject) -> None:
    """Rows that gain and lose, spreads, and the same by subgroup, are the twin's."""
    name: Property = data.draw(st.sampled_from(NAMES))
    by = data.draw(st.sampled_from(["q0", "s0"] if name.startswith("own") else ["q0", "s0", "t0"]))
    made, values = [], []
    for _ in "ab":
        recoding, suppression = (
            data.draw(recodings(case.table)),
            data.draw(suppressions(["none", "below-k", "cap-max-k"])),
        )
        made.append(partition(case.table, recoding, suppression))
        pairs_of = twins.rows_of(twin_releases(case, recoding, suppression)[-1], name)
        values.append({(id(row)): (row, value) for row, value in pairs_of})
    sign = 1 if PROPERTIES[name] == "higher" else -1
    times: dict[int, int] = {}
    for row in case.rows:
        times[id(row)] = times.get(id(row), 0) + 1
    changes = [(row, sign * (values[1][key][1] - value), times[key]) for key, (row, value) in values[0].items()]
    answer = compare(made[0], made[1], name, by=by)
    assert answer.rows == len(case.rows)
    assert answer.gain_rows == sum(n for _, c, n in changes if c > 0)
    assert answer.lose_rows == sum(n for _, c, n in changes if c < 0)
    assert answer.spread_ba == pytest.approx(float(sum((n * c for _, c, n in changes if c > 0), Fraction(0))))
    assert answer.spread_ab == pytest.approx(float(sum((-n * c for _, c, n in changes if c < 0), Fraction(0))))
    assert sum(part.gain_rows for part in answer.groups.values()) == answer.gain_rows
    assert sum(part.lose_rows for part in answer.groups.values()) == answer.lose_rows
    labels = case.table.hierarchies[0].leaves if by == "q0" else None
    for label, part in answer.groups.items():
        wanted: object = label if labels is None else labels.index(label)
        assert part.gain_rows == sum(n for row, c, n in changes if c > 0 and value_of(row, by) == wanted)
        assert part.rows == sum(n for row, _, n in changes if value_of(row, by) == wanted)


@settings(max_examples=80)
@given(case=cases(), data=st.data(), name=st.sampled_from(NAMES))
def test_spread_difference_is_sum_difference(case: Case, data: st.DataObject, name: Property) -> None:
    """I(a, b) − I(b, a) = S(a) − S(b), with the sign of the property's direction (PB-2, O11)."""
    a, b = (partition(case.table, data.draw(recodings(case.table)), data.draw(suppressions())) for _ in "ab")
    answer = compare(a, b, name)
    sums = property_vector(a, name).total() - property_vector(b, name).total()
    sign = 1 if PROPERTIES[name] == "higher" else -1
    assert answer.spread_ab - answer.spread_ba == pytest.approx(sign * sums, abs=1e-9)
    back = compare(b, a, name)
    assert (back.gain_rows, back.lose_rows) == (answer.lose_rows, answer.gain_rows)
    assert (back.spread_ab, back.spread_ba) == (answer.spread_ba, answer.spread_ab)


def vector_of(values: list[float]) -> PropertyVector:
    """A vector with one entry per row."""
    return PropertyVector(
        "class-size", "higher", np.array(values), np.ones(len(values), dtype=np.int64), np.arange(len(values))
    )


def test_o11_spread() -> None:
    """O11: rows with class sizes 3,3,3,10,10 against 4,4,4,4,4 spread by 12 and 3."""
    p, q = vector_of([3, 3, 3, 10, 10]), vector_of([4, 4, 4, 4, 4])
    assert p.total() - q.total() == 9
    assert (p.worst(), q.worst()) == (3, 4)
    assert float(np.maximum(p.values - q.values, 0).sum()) == 12
    assert float(np.maximum(q.values - p.values, 0).sum()) == 3


def test_a_comparison_by_hand() -> None:
    """Merging a and b of a,a,a,b,c makes four rows safer and leaves one as it is."""
    table = table_of_values(["aaa", "b", "c"])
    cut = (np.array([0, 0, 1], dtype=np.int32),)
    fine = classes(table, bottom(table.hierarchies))
    wide = classes(table, Recoding(table.hierarchies, cut))
    answer = compare(fine, wide, "class-size", by="s0")
    assert (answer.gain_rows, answer.lose_rows, answer.spread_ab, answer.spread_ba) == (4, 0, 0.0, 6.0)
    assert {label: part.gain_rows for label, part in answer.groups.items()} == {"a": 3, "b": 1, "c": 0}
    loss = compare(fine, wide, "row-loss")
    assert (loss.gain_rows, loss.lose_rows) == (0, 4)
    assert loss.spread_ab == pytest.approx(4 * 0.5)


def test_o23_s_l_rewards_equal_diseases() -> None:
    """O23: ten equal sensitive values score 100, ten different ones 10, although the second is safer."""
    same, different = classes_of(["aaaaaaaaaa"]), classes_of(["abcdefghij"])
    assert (make("s-l")(same), make("s-l")(different)) == (100.0, 10.0)
    assert property_vector(same, "own-value-probability").worst() == 1.0
    assert property_vector(different, "own-value-probability").worst() == pytest.approx(0.1)


@settings(max_examples=60)
@given(pair=pairs())
def test_the_legacy_sums_are_sums_of_vectors(pair: Pair) -> None:
    """S_k and S_l are the sums of their property vectors; without suppression and persons S_k is DCN (PB-e6)."""
    made = pair.partition
    assert make("s-k")(made) == pytest.approx(property_vector(made, "class-size").total())
    assert make("s-l")(made) == pytest.approx(property_vector(made, "own-value-count").total())
    pair.check(make("s-k"), sum((v for _, v in twins.rows_of(pair.release, "class-size")), Fraction(0)))
    pair.check(make("s-l"), sum((v for _, v in twins.rows_of(pair.release, "own-value-count")), Fraction(0)))
    if made.table.persons is None and not made.suppressed.any():
        assert make("s-k")(made) == make("dcn")(made)


def test_suppressed_rows_have_no_class_and_lost_everything() -> None:
    """A dropped row has size and probabilities 0 and loss 1; a masked one has the class of masked rows."""
    table = table_of_values(["a", "b", "ccc"])
    drop = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2))
    assert property_vector(drop, "class-size").expanded().tolist() == [0, 0, 3, 3, 3]
    assert property_vector(drop, "breach-probability").expanded().tolist() == pytest.approx([0, 0, 1 / 3, 1 / 3, 1 / 3])
    assert property_vector(drop, "row-loss").expanded().tolist() == [1, 1, 0, 0, 0]
    mask = partition(table, bottom(table.hierarchies), Suppression("below-k", k=2, rows="mask"))
    assert property_vector(mask, "class-size").expanded().tolist() == [2, 2, 3, 3, 3]
    assert property_vector(mask, "own-value-probability").expanded().tolist() == [0.5, 0.5, 1, 1, 1]
    assert property_vector(mask, "row-loss").expanded().tolist() == [1, 1, 0, 0, 0]


def test_wrong_questions_are_explained() -> None:
    """Unknown properties and columns, other tables and unknowable splits get their sentence."""
    table = table_of_values(["ab", "c"], columns=2)
    made = classes(table, bottom(table.hierarchies))
    with pytest.raises(BadJob, match=r"No property 'class size'\. Did you mean 'class-size'\?"):
        property_vector(made, "class size")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"No column 'y' to group by\. .*can be used: x, s0, s1\."):
        compare(made, made, by="y")
    with pytest.raises(BadInput, match="only if they come from the same table"):
        compare(made, classes(replace(table), top(table.hierarchies)))
    with pytest.raises(BadInput, match=r"can be split by a quasi-identifier or by that value, not by 's1'"):
        compare(made, made, "own-value-count", by="s1")
    with pytest.raises(BadTable, match="No sensitive column 'z'"):
        property_vector(made, "own-value-count", column="z")
    assert compare(made, made, "own-value-count", by="s1", column="s1").groups["a"].rows == 1
