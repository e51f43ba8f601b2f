"""Population models: numbers against slow twins from raw rows, trends, every node, and what does not fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadHierarchy, BadTable
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.measures import make
from kpareto.measures.measure import Measure, Model, exact
from kpareto.measures.population import people_behind
from kpareto.releases.private.scores import class_tables
from kpareto.searches.exact_front import exact_front
from kpareto.tables.hierarchy import Hierarchy, from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Partition, Suppression, partition, partitions
from kpareto.tables.recoding import Recoding
from kpareto.tables.table import Population, Table
from tests.twins.strategies import Case, Row, cases, coarser, recodings, table_of

NAMES = ("k-map", "journalist-risk", "marketer-risk", "presence-max", "presence-min")


def population_measures() -> dict[str, Measure]:
    """The measures that a table of the population allows."""
    return {name: make(name) for name in NAMES}


def drawn_from(sample: Table, whole: Table) -> Table:
    """A table that knows its population."""
    return sample.drawn_from(Population(table=whole))


@st.composite
def samples(draw: st.DrawFn) -> tuple[Case, Case]:
    """A population and a sample of it."""
    whole = draw(cases(persons=False, sensitive=0, targets=0, most_rows=24))
    taken = draw(st.lists(st.booleans(), min_size=len(whole.rows), max_size=len(whole.rows)).filter(any))
    rows = tuple(row for row, take in zip(whole.rows, taken, strict=True) if take)
    table = table_of(rows, whole.table.hierarchies, numeric=False, domain="declared")
    return Case(rows, drawn_from(table, whole.table)), whole


def slow_numbers(sample: Case, whole: Case, cuts: list[list[int]], least: int) -> dict[str, Fraction | None]:
    """The definitions, from raw rows; classes of fewer than ``least`` sample rows are dropped."""

    def sizes(case: Case) -> Counter[tuple[int, ...]]:
        return Counter(tuple(cut[leaf] for cut, leaf in zip(cuts, row.leaves, strict=True)) for row in case.rows)

    everybody = sizes(whole)
    released = {key: f for key, f in sizes(sample).items() if f >= least}
    rows = sum(released.values())
    shares = [Fraction(released.get(key, 0), F) for key, F in everybody.items()]
    smallest = min((everybody[key] for key in released), default=None)
    return {
        "k-map": None if smallest is None else Fraction(smallest),
        "journalist-risk": max((Fraction(1, everybody[key]) for key in released), default=Fraction(0)),
        "marketer-risk": sum((Fraction(f, everybody[key]) for key, f in released.items()), Fraction(0)) / max(rows, 1),
        "presence-max": max(shares),
        "presence-min": min(shares),
    }


@settings(deadline=None, max_examples=120)
@given(pairs=samples(), data=st.data(), least=st.integers(1, 4))
def test_measures_equal_their_slow_twins(pairs: tuple[Case, Case], data: st.DataObject, least: int) -> None:
    """Every measure of every recoding, with small classes dropped, is what raw rows give, exactly and as a float."""
    sample, whole = pairs
    recoding = data.draw(recodings(sample.table))
    made = partition(sample.table, recoding, Suppression("below-k", k=least))
    twin = slow_numbers(sample, whole, [cut.tolist() for cut in recoding.cuts], least)
    for name, measure in population_measures().items():
        assert exact(measure, made) == twin[name], name
        expected = twin[name]
        assert measure(made) == pytest.approx(float("inf") if expected is None else float(expected)), name


def numbers_of(twin: dict[str, Fraction | None]) -> list[float]:
    """The slow twins as floats, k-map infinite where nothing is released."""
    return [float("inf") if twin[name] is None else float(twin[name] or 0) for name in NAMES]


def slow_front(judged: Problem) -> set[int]:
    """The nodes that no other feasible node beats, one partition after the other."""
    lattice = Lattice(judged.table.hierarchies)
    nodes = lattice.levels(np.arange(lattice.size))
    made = [partitions(judged.table, lattice.decode(levels), judged.suppression) for levels in nodes]
    slow = judged.by_partitions([(i, each) for i, own in enumerate(made) for each in own])
    rows = slow.take(np.flatnonzero(slow.feasible))
    keys = rows.keys.tolist()
    beaten = [any(other != own and all(map(int.__le__, other, own)) for other in keys) for own in keys]
    return {int(node) for node, lost in zip(rows.which, beaten, strict=True) if not lost}


def nodes_of(front: Front) -> set[int]:
    """The numbers of a front's nodes."""
    return set(Lattice(front.problem.table.hierarchies).numbers(front.genomes).tolist())


RULES = (
    Suppression("none"), Suppression("below-k", k=2), Suppression("cap-max-k", 2), Suppression("cap-max-k", 0.3),
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(pairs=samples(), rule=st.sampled_from(RULES))
def test_the_compiled_walk_counts_every_node(pairs: tuple[Case, Case], rule: Suppression) -> None:
    """Numbers of the whole lattice at once are those of each partition, and feasible nodes those of the raw rows."""
    table = pairs[0].table
    judged = problem(table, [*NAMES, "k", "lm"], rule)
    assert judged.translation is not None
    lattice = Lattice(table.hierarchies)
    counted = {int(node): part for part in judged.whole_lattice(1) for node in part.which for part in [part]}
    for node, levels in enumerate(lattice.levels(np.arange(lattice.size))):
        part = counted[node]
        row = int(np.flatnonzero(part.which == node)[0])
        made = judged.partition(lattice.decode(levels))
        assert bool(part.feasible[row]) == (not made.empty)
        if made.empty:
            continue
        expected = [measure(made) for measure in judged.objectives]
        assert part.values[row].tolist() == pytest.approx(expected)
        least = int(made.rows[made.visible].min())
        twin = slow_numbers(*pairs, [cut.tolist() for cut in made.recoding.cuts], least)
        assert part.values[row][: len(NAMES)].tolist() == pytest.approx(numbers_of(twin))


@settings(deadline=None, max_examples=40)
@given(
    pairs=samples(),
    rule=st.sampled_from(RULES),
    name=st.sampled_from(NAMES),
    limit=st.sampled_from(
        [None, ("k-map", 3.0), ("presence-max", 0.5), ("journalist-risk", 0.34), ("presence-min", 0.1)]
    ),
)
def test_fronts_with_a_population_are_those_of_brute_force(
    pairs: tuple[Case, Case], rule: Suppression, name: str, limit: tuple[str, float] | None
) -> None:
    """Every trade-off of a population measure against loss, for every k at once, and no other."""
    judged = problem(pairs[0].table, [name, "lm"], rule, {} if limit is None else dict([limit]))
    front = exact_front(judged)
    assert nodes_of(front) == slow_front(judged)


@settings(deadline=None, max_examples=40)
@given(
    pairs=samples(), limits=st.sampled_from([{"k-map": 3.0}, {"presence-max": 0.5, "k": 2.0}, {"journalist-risk": 0.3}])
)
def test_limits_decide_class_by_class(pairs: tuple[Case, Case], limits: dict[str, float]) -> None:
    """Under the rule as-needed the kernels drop the classes that partitions drop, and the front is the same."""
    judged = problem(pairs[0].table, ["k-map", "lm"], constrained(limits, 0.6), limits)
    assert judged.translation is not None
    front = exact_front(judged)
    assert nodes_of(front) == slow_front(judged)
    for point in front:
        lost = point.partition
        behind = people_behind(lost)[0][lost.visible]
        assert (behind >= limits.get("k-map", 1)).all()


@settings(deadline=None, max_examples=120)
@given(pairs=samples(), data=st.data())
def test_coarser_recodings_keep_the_trends(pairs: tuple[Case, Case], data: st.DataObject) -> None:
    """Without suppression k-map and the least share never fall, the risks and the greatest share never rise."""
    sample, _ = pairs
    fine = data.draw(recodings(sample.table))
    wide = data.draw(coarser(fine))
    for name, measure in population_measures().items():
        before, after = (exact(measure, partition(sample.table, recoding)) for recoding in (fine, wide))
        assert before is not None
        assert after is not None
        assert after >= before if measure.trend["none"] == "rises" else after <= before, name


def test_trends_are_not_promised_where_they_fail() -> None:
    """With small classes dropped a coarser recoding can lower k-map: a dropped class comes back with few behind it."""
    tree = from_levels("q0", [("a", "a", "*"), ("b", "bc", "*"), ("c", "bc", "*")])
    rows = [Row((0,), (), (), None)] * 5 + [Row((1,), (), (), None)] + [Row((2,), (), (), None)]
    table = table_of(rows, [tree], numeric=False, domain="declared")
    table = drawn_from(table, table)
    k_map = make("k-map")
    rule = Suppression("below-k", k=2)
    lattice = Lattice(table.hierarchies)
    values = [k_map(partition(table, lattice.decode([level]), rule)) for level in (0, 1)]
    assert values == [5, 2]
    assert k_map.trend["below-k"] == "either"


@settings(deadline=None, max_examples=40)
@given(pairs=samples(), data=st.data(), threshold=st.integers(1, 6))
def test_k_map_says_which_classes_fail(pairs: tuple[Case, Case], data: st.DataObject, threshold: int) -> None:
    """As a limit it drops exactly the classes with fewer people behind them."""
    sample, whole = pairs
    recoding = data.draw(recodings(sample.table))
    made = partition(sample.table, recoding)
    model = population_measures()["k-map"]
    assert isinstance(model, Model)
    cuts = [cut.tolist() for cut in recoding.cuts]
    everybody = Counter(tuple(c[leaf] for c, leaf in zip(cuts, row.leaves, strict=True)) for row in whole.rows)
    sizes = np.array([everybody[tuple(group)] for group in made.groups.tolist()])
    assert model.by_class(made).tolist() == sizes.tolist()
    assert model.fails(threshold)(made).tolist() == (sizes < threshold).tolist()


def test_masked_rows_have_everybody_behind_them() -> None:
    """A row that shows nothing may be anyone of the population."""
    tree = from_levels("q0", [("a", "*"), ("b", "*"), ("c", "*")])
    rows = [Row((0,), (), (), None)] * 3 + [Row((1,), (), (), None)] * 2 + [Row((2,), (), (), None)] * 2
    table = table_of(rows, [tree], numeric=False, domain="declared")
    table = drawn_from(table, table)
    made: Partition = partition(table, Lattice(table.hierarchies).decode([0]), Suppression("below-k", k=3, rows="mask"))
    model = make("k-map")
    assert isinstance(model, Model)
    assert model.by_class(made).tolist() == [3, 7]


@settings(deadline=None, max_examples=40)
@given(case=cases(persons=False))
def test_class_tables_are_the_classes_of_each_node(case: Case) -> None:
    """Merged from below, every node has the classes and sizes that counting it alone gives."""
    lattice = Lattice(case.table.hierarchies)
    numbers = []
    for number, levels, groups, counts in class_tables(
        case.table.codes, case.table.weights[:, None], case.table.hierarchies
    ):
        made = partition(case.table, lattice.decode(levels))
        assert groups.tolist() == made.groups.tolist()
        assert counts[:, 0].tolist() == made.rows.tolist()
        numbers.append(number)
        assert lattice.numbers(np.array([levels])).tolist() == [number]
    assert numbers == list(range(lattice.size))


def tables_of(values: str, tree: Hierarchy) -> Case:
    """One row per letter."""
    rows = tuple(Row((tree.index[value],), (), (), None) for value in values)
    return Case(rows, table_of(rows, [tree], numeric=False, domain="declared"))


SMALL = from_levels("letter", [("a", "*"), ("b", "*")])
LARGE = from_levels("letter", [("a", "*"), ("b", "*"), ("c", "*"), ("d", "*")])


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: drawn_from(tables_of("ab", SMALL).table, tables_of("aabccd", LARGE).table),
            BadHierarchy,
            r"The hierarchy of 'letter' has no place for 2 values of the population: 'c' \(2 rows\), 'd' \(1 row\)",
        ),
        (
            lambda: drawn_from(tables_of("aab", SMALL).table, tables_of("ab", SMALL).table),
            BadTable,
            r"The population has 1 rows of \(a\) and the table has 2. Give a population that contains the table",
        ),
        (
            lambda: drawn_from(tables_of("a", SMALL).table, tables_of("ab", replace(SMALL, name="leter")).table),
            BadTable,
            "The population has no quasi-identifier 'letter'. Did you mean 'leter'",
        ),
    ],
)
def test_what_does_not_fit_together_is_a_sentence(
    call: Callable[[], object], error: type[Exception], sentence: str
) -> None:
    """Values without a place, a population that lacks rows, other columns: each says what to do."""
    with pytest.raises(error, match=sentence):
        call()


def test_values_of_the_population_alone_need_only_a_place() -> None:
    """A hierarchy that covers more than the sample takes the whole population, and unseen people lower presence."""
    table = drawn_from(tables_of("ab", LARGE).table, tables_of("aabccd", LARGE).table)
    made = partition(table, Recoding((LARGE,), (LARGE.groups[0],), (0,)))
    values = {name: exact(measure, made) for name, measure in population_measures().items()}
    expected = dict(zip(NAMES, (1, 1, Fraction(3, 4), 1, 0), strict=True))
    assert values == expected
