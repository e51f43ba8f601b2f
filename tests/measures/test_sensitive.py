"""Measures by sensitive values, against the slow twin, an optimal transport solver and known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadTable
from kpareto.measures import make
from kpareto.measures import sensitive as diversity
from kpareto.measures.persons import REACH, count_units, fewest_values
from kpareto.tables.hierarchy import Hierarchy, flat, from_levels
from kpareto.tables.partition import Partition, Suppression, classes, partition
from kpareto.tables.recoding import bottom, top
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, make_table
from tests.twins import slow as twins
from tests.twins.strategies import VALUES, Pair, Row, hierarchies, pairs


def table_of_values(groups: list[str], columns: int = 1) -> Table:
    """One class per text, one row per letter; the letters are the sensitive values (of each of the columns)."""
    letters = "".join(groups)
    tree = flat("x", [str(place) for place in range(len(groups))])
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups]).reshape(-1, 1)
    values, code = np.unique(list(letters), return_inverse=True)
    names = tuple(f"s{i}" for i in range(columns))
    extra = (tuple(str(v) for v in values), code.astype(np.int32), None)
    schema = Schema(quasi=("x",), sensitive=names)
    return make_table(schema, (tree,), codes, np.ones(len(letters), dtype=np.int64), dict.fromkeys(names, extra))


def classes_of(groups: list[str]) -> Partition:
    """The partition with one class per text."""
    table = table_of_values(groups)
    return classes(table, bottom(table.hierarchies))


@settings(max_examples=300)
@given(pair=st.booleans().flatmap(lambda gaps: pairs(gaps=gaps)))
def test_diversities_agree_with_the_slow_twin(pair: Pair) -> None:
    """Every measure by sensitive values is the twin's, under all rules, dropped and masked, rows and persons.

    So it is with missing values and ids, and with values and ids in several spellings.
    """
    release = pair.release
    values = [twins.plain(value) for value in pair.case.table.sensitive[0].values]
    one = next((value for value in values if value != twins.NOTHING), None)
    pair.check(make("l"), twins.distinct_l(release))
    pair.check(make("entropy-l"), twins.entropy_l(release))
    pair.check(make("recursive-l"), twins.recursive_l(release, 2))
    pair.check(make("recursive-l(l=3)"), twins.recursive_l(release, 3))
    pair.check(make("alpha"), twins.alpha(release))
    if one is not None:
        pair.check(make(f"alpha(value={one})"), twins.alpha(release, value=one))
    pair.check(make("t"), twins.t_equal(release))
    pair.check(make("t(reference=release)"), twins.t_equal(release, reference="release"))
    pair.check(make("t(distance=ordered)"), twins.t_ordered(release, values))
    pair.check(make("beta"), twins.beta(release))
    pair.check(make("beta(reference=release)"), twins.beta(release, reference="release"))
    pair.check(make("enhanced-beta"), twins.enhanced_beta(release))
    pair.check(make("delta"), twins.delta(release))
    pair.check(make("delta(absent=infinite)"), twins.delta(release, absent="infinite"))


@settings(max_examples=100)
@given(pair=pairs(), tree=hierarchies("s0", values=VALUES))
def test_t_over_a_hierarchy_agrees_with_the_papers_algorithm(pair: Pair, tree: Hierarchy) -> None:
    """The sum over levels is the cost that Li et al. add up node by node; order follows the leaves."""
    distance = diversity.t(distance="hierarchical", hierarchy=tree)
    pair.check(distance, twins.t_hierarchical(pair.release, VALUES, tree.groups.tolist()))
    pair.check(diversity.t(distance="ordered", hierarchy=tree), twins.t_ordered(pair.release, VALUES))


@settings(max_examples=40)
@given(pair=pairs(rules=["none"]), tree=hierarchies("s0", values=VALUES))
def test_t_is_the_cheapest_transport(pair: Pair, tree: Hierarchy) -> None:
    """Each ground distance gives the least cost of moving p to q, as a linear program finds it."""
    from scipy.optimize import linprog

    made = pair.partition
    counts = made.counts(pair.case.table.sensitive[0])
    places = [VALUES.index(value) for value in counts.values]
    units, _ = count_units(made, pair.case.table.sensitive[0], even=True)
    q = np.zeros(4)
    q[places] = units.totals / units.whole
    p = np.zeros(4)
    first = slice(int(units.counts.start[0]), int(units.counts.start[1]))
    p[[places[code] for code in units.counts.code[first]]] = units.counts.count[first] / units.sizes[0]
    level = (tree.groups[:, :, None] != tree.groups[:, None, :]).sum(axis=0)
    grounds = {
        "equal": 1.0 - np.eye(4),
        "ordered": np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 3,
        "hierarchical": level / tree.height,
    }
    for name, ground in grounds.items():
        measure = diversity.t(distance=name, hierarchy=None if name == "equal" else tree)  # type: ignore[arg-type]
        sides = np.vstack((np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))))
        best = linprog(ground.ravel(), A_eq=sides, b_eq=np.concatenate((p, q)))
        assert measure.by_class(made)[0] == pytest.approx(best.fun, abs=1e-9)


def persons_of(held: dict[str, list[str]], rows: int = 1) -> Table:
    """One class: each person with these values, every value in so many rows."""
    who = [person for person, values in held.items() for _ in range(rows * len(values))]
    what = [value for values in held.values() for value in values for _ in range(rows)]
    names, people = np.unique(who, return_inverse=True)
    values, code = np.unique(what, return_inverse=True)
    schema = Schema(quasi=("x",), sensitive=("s",), person="who")
    extras = {"who": (tuple(map(str, names)), people, None), "s": (tuple(map(str, values)), code, None)}
    return make_table(schema, (flat("x", ["0"]),), np.zeros((len(who), 1), dtype=np.int32), np.ones(len(who)), extras)


def test_persons_who_share_a_value_have_no_diversity() -> None:
    """Everybody has hiv and a cold besides: an attacker knows it of each, so l is 1 and alpha 1; t spreads them."""
    table = persons_of({f"p{i}": ["hiv", "cold"] for i in range(5)}, rows=3)
    made = classes(table, bottom(table.hierarchies))
    assert [make(name)(made) for name in ("k", "l", "alpha", "entropy-l", "t")] == [5, 1, 1, 1, 0]
    assert make("recursive-l")(made) == math.inf
    table = persons_of({"p1": ["hiv", "cold"], "p2": ["cold", "flu"], "p3": ["flu", "hiv"], "p4": ["gout"]})
    made = classes(table, bottom(table.hierarchies))
    assert [make(name)(made) for name in ("l", "alpha")] == [3, 0.5]


@settings(max_examples=200)
@given(held=st.dictionaries(st.sampled_from([f"p{i}" for i in range(9)]), st.lists(
    st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True), min_size=1))  # fmt: skip
def test_the_fewest_values_are_those_of_all_combinations(held: dict[str, list[str]]) -> None:
    """What is searched is what trying every combination of values gives."""
    table = persons_of(held)
    rows = [Row((0,), (value,), (), person) for person, values in held.items() for value in values]
    assert fewest_values(table.known[0])[0] == twins.fewest(rows, 0)


def test_beyond_the_reach_the_least_is_told() -> None:
    """Nine pairs of persons without anything in common need nine values: no more than the reach is said."""
    table = persons_of({f"p{i}": [f"a{i}", f"b{i}"] for i in range(9)})
    assert fewest_values(table.known[0])[0] == REACH
    table = persons_of({f"p{i}": [f"a{i}"] for i in range(9)})
    assert fewest_values(table.known[0])[0] == 9


def test_merging_classes_can_make_persons_worse_off() -> None:
    """In each class half of the persons have hiv, in both together all: no search may rule out by a finer recoding."""
    pairs_of = [("0", "p1", "hiv"), ("0", "p2", "flu"), ("1", "p1", "flu"), ("1", "p2", "hiv")]
    schema = Schema(quasi=("x",), sensitive=("s",), person="who")
    people, codes = np.array([0, 1, 0, 1]), np.array([[int(x)] for x, _, _ in pairs_of], dtype=np.int32)
    extras = {"who": (("p1", "p2"), people, None), "s": (("flu", "hiv"), np.array([1, 0, 0, 1]), None)}
    table = make_table(schema, (flat("x", ["0", "1"]),), codes, np.ones(4), extras)
    fine, wide = (classes(table, of(table.hierarchies)) for of in (bottom, top))
    assert [(make("l")(p), make("alpha")(p)) for p in (fine, wide)] == [(2, 0.5), (1, 1)]


def test_o22_two_classes() -> None:
    """O22: classes aab and accc."""
    made = classes_of(["aab", "accc"])
    assert diversity.distinct_l().by_class(made).tolist() == [2, 2]
    assert diversity.entropy_l().by_class(made) == pytest.approx([1.8899, 1.7548], abs=5e-5)
    assert diversity.t().by_class(made) == pytest.approx([0.428571, 0.321429], abs=5e-7)
    assert diversity.t(distance="ordered").by_class(made) == pytest.approx([0.333333, 0.25], abs=5e-7)
    assert diversity.alpha().by_class(made) == pytest.approx([2 / 3, 3 / 4])


def test_recursive_diversity_by_hand() -> None:
    """Counts 3, 2, 1 need c above 3 / (2 + 1) for l = 2, above 3 / 1 for l = 3, and no c helps for l = 4."""
    made = classes_of(["aaabbc"])
    assert [make(f"recursive-l(l={l})")(made) for l in (2, 3, 4)] == [1.0, 3.0, math.inf]


def test_several_sensitive_columns_count_by_the_worst() -> None:
    """Without a column name a model holds for every sensitive column; with one only for that."""
    tree = flat("x", ["0"])
    extras: dict[str, tuple[tuple[str, ...], np.ndarray, np.ndarray | None]] = {
        "illness": (("a", "b", "c"), np.array([0, 1, 2]), None),
        "drug": (("y", "z"), np.array([0, 0, 1]), None),
    }
    schema = Schema(quasi=("x",), sensitive=("illness", "drug"))
    table = make_table(schema, (tree,), np.zeros((3, 1), dtype=np.int32), np.ones(3, dtype=np.int64), extras)
    made = classes(table, bottom(table.hierarchies))
    assert make("l")(made) == 2.0
    assert make("l(column=illness)")(made) == 3.0
    assert make("alpha")(made) == pytest.approx(2 / 3)
    assert make("alpha(column=illness)")(made) == pytest.approx(1 / 3)
    assert diversity.alpha().exact(made) == diversity.alpha(column="drug").exact(made)


@settings(max_examples=60)
@given(pair=pairs(rules=["none"]))
def test_entropy_lies_between_one_over_alpha_and_distinct(pair: Pair) -> None:
    """1/α ≤ exp(entropy) ≤ distinct values, class by class."""
    made = pair.partition
    effective = diversity.entropy_l().by_class(made)
    assert (effective <= diversity.distinct_l().by_class(made) + 1e-9).all()
    assert (effective >= 1 / diversity.alpha().by_class(made) - 1e-9).all()


@settings(max_examples=60)
@given(pair=pairs(rules=["none"]))
def test_bounds_between_the_distances(pair: Pair) -> None:
    """Everything in one class is at distance 0; t over a flat hierarchy is t with equal distance; delta bounds beta."""
    made = pair.partition
    table = pair.case.table
    whole = classes(table, top(table.hierarchies))
    for name in ("t", "t(distance=ordered)", "beta", "enhanced-beta", "delta"):
        assert make(name)(whole) == pytest.approx(0)
    tree = flat("s0", VALUES)
    assert diversity.t(distance="hierarchical", hierarchy=tree)(made) == pytest.approx(make("t")(made))
    assert make("beta")(made) <= math.exp(make("delta")(made)) - 1 + 1e-9
    assert (make("t(distance=ordered)")(made)) <= make("t")(made) + 1e-9


def test_enhanced_beta_is_infinite_where_no_beta_helps() -> None:
    """A value with share 1/2 may gain at most ln 2; doubling it passes that bound."""
    made = classes_of(["aa", "bb"])
    assert make("beta")(made) == 1.0
    assert make("enhanced-beta")(made) == math.inf
    mild = classes_of(["aabbb", "aaabb"])
    assert make("enhanced-beta")(mild) == pytest.approx(make("beta")(mild)) == pytest.approx(0.2)


def test_in_an_empty_release_nothing_is_learned() -> None:
    """Diversities are infinite and distances 0 when everything is dropped, also as exact values."""
    table = table_of_values(["ab"])
    made = partition(table, bottom(table.hierarchies), Suppression("below-k", k=3))
    assert {name: make(name)(made) for name in ("l", "entropy-l")} == {"l": math.inf, "entropy-l": math.inf}
    for name in ("recursive-l", "alpha", "t", "t(reference=release)", "beta", "enhanced-beta", "delta"):
        assert make(name)(made) == 0.0
    assert diversity.distinct_l().exact(made) is None
    assert diversity.alpha().exact(made) == 0


def test_large_tables_do_not_overflow() -> None:
    """Beyond whole 62-bit products the numbers are floats, still right, and no exact value is claimed."""
    table = table_of_values(["aab", "accc"])
    counts = table.sensitive[0]
    big = 10**12
    grown = type(counts)(counts.name, counts.values, counts.start, counts.code, counts.count * big)
    huge = Table(table.schema, table.hierarchies, table.codes, table.weights * big, (grown,))
    made = classes(huge, bottom(huge.hierarchies))
    assert diversity.t().by_class(made) == pytest.approx([0.428571, 0.321429], abs=5e-7)
    assert diversity.t(distance="ordered").by_class(made) == pytest.approx([0.333333, 0.25], abs=5e-7)
    assert diversity.t().exact(made) is None
    assert diversity.alpha().exact(made) is not None


def test_many_values_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ordered distance walks the classes block by block and gives the same numbers."""
    made = classes_of(["aab", "accc", "abcd", "d"])
    whole = diversity.t(distance="ordered").by_class(made)
    monkeypatch.setattr(diversity, "CHUNK", 1)
    assert diversity.t(distance="ordered").by_class(made).tolist() == whole.tolist()


def test_missing_columns_and_values_are_named() -> None:
    """A measure that needs a sensitive column, or a value it does not have, says so."""
    made = classes_of(["ab"])
    with pytest.raises(BadTable, match=r"No sensitive column 's1'\. There are: s0\."):
        make("l(column=s1)")(made)
    with pytest.raises(BadTable, match=r"The column 's0' has no value 'x'\. It has: a, b\."):
        make("alpha(value=x)")(made)
    tree = from_levels("letters", [("a", "*"), ("c", "*")])
    with pytest.raises(BadTable, match=r"The hierarchy 'letters' has no place for 1 value of 's0': b\."):
        diversity.t(distance="hierarchical", hierarchy=tree)(made)
    with pytest.raises(BadTable, match=r"needs a hierarchy of the sensitive column 's0', and there is none"):
        make("t(distance=hierarchical)")(made)
    bare = make_table(Schema(quasi=("x",)), (flat("x", ["0"]),), np.zeros((1, 1), dtype=np.int32), np.ones(1), {})
    with pytest.raises(BadTable, match="needs a sensitive column, and the table has none"):
        make("l")(classes(bare, bottom(bare.hierarchies)))


@given(data=st.data())
def test_values_read_as_numbers_still_match(data: st.DataObject) -> None:
    """alpha(value=3) on the command line means the text 3."""
    code = data.draw(st.integers(0, 1))
    tree = flat("x", ["0"])
    extras: dict[str, tuple[tuple[str, ...], np.ndarray, np.ndarray | None]] = {
        "s": (("3", "4.5"), np.array([0, 0, 1]), None)
    }
    schema = Schema(quasi=("x",), sensitive=("s",))
    table = make_table(schema, (tree,), np.zeros((3, 1), dtype=np.int32), np.ones(3, dtype=np.int64), extras)
    spec = ["alpha(value=3)", "alpha(value=4.5)"][code]
    assert make(spec)(classes(table, bottom(table.hierarchies))) == pytest.approx([2 / 3, 1 / 3][code])
