"""Numbers for recodings: the compiled route and the route through partitions tell the same."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kpareto as kp
from kpareto.errors import BadJob
from kpareto.fronts.count_lattice import fits
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import Number, make, trends
from kpareto.measures.reading import real_keys
from kpareto.measures.sensitive import t
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Partition, Rule, Suppression, partition, partitions
from kpareto.tables.recoding import node
from kpareto.tables.table import Table
from tests.twins.strategies import Case, cases
from tests.twins.use import related_rows, related_table

COMPILED = (
    "k", "l", "entropy-l", "recursive-l", "recursive-l(l=3)", "alpha", "t", "t(distance=ordered)", "beta", "enhanced-beta",
    "delta", "risk-max", "risk-mean", "risk-share", "uniques", "suppressed", "classes", "glm", "lm", "nwp",
    "precision-loss", "entropy", "dcn", "average-class-size", "arx-loss", "aecs", "precision", "cm", "cm-rows", "relations", "necd", "s-k", "s-l",
)  # fmt: skip
GLOBAL = ("reg-variance(centre=global)", "reg-deviation(centre=global)")
SLOW = ("nonuniform-entropy", *GLOBAL, "t(reference=release)", "bias(by=q0)")
BY_VALUES = ("cost-cm", "cost-cm(costs=yes/no*5 + no/so*0.25)")
BY_NUMBERS = ("cost-cm", "reg-variance", "reg-deviation", "multi-target(of=cm*1 + reg-deviation*2 + reg-variance*0.5)")
EVERY_RULE: tuple[Rule, ...] = ("none", "below-k", "cap-max-k", "as-needed")


@st.composite
def problems(draw: st.DrawFn, table: Table, names: tuple[str, ...] = COMPILED, most: int = 6) -> Problem:
    """A problem with a few objectives and any suppression rule; sometimes with limits."""
    objectives = draw(st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True))
    rule = draw(st.sampled_from(EVERY_RULE))
    limit = draw(st.sampled_from([0.0, 0.2, 0.5, 1, 3]))
    if rule == "as-needed":
        limits = {"k": draw(st.integers(1, 4)), "l": draw(st.integers(1, 2)), "t": draw(st.sampled_from([0.4, 1.0]))}
        return problem(table, objectives, constrained(limits, limit), limits)
    k = draw(st.integers(1, 4)) if rule == "below-k" else None
    limits = draw(st.sampled_from([{}, {"k": 2}, {"l": 2, "lm": 0.9}]))
    return problem(table, objectives, Suppression(rule, limit, k), limits)


def by_partitions(given_problem: Problem) -> Numbers:
    """Every node's numbers, one partition at a time."""
    table = given_problem.table
    lattice = Lattice(table.hierarchies)
    made: list[tuple[int, Partition]] = []
    for number in range(lattice.size):
        recoding = lattice.decode(lattice.levels(np.array([number]))[0])
        made += [(number, p) for p in partitions(table, recoding, given_problem.suppression)]
    return given_problem.by_partitions(made)


def _sorted(numbers: Numbers) -> Numbers:
    feasible = np.flatnonzero(numbers.feasible)
    keys = [numbers.keys[feasible, column] for column in range(numbers.keys.shape[1])]
    order = np.lexsort((numbers.suppressed[feasible], *keys, numbers.thresholds[feasible], numbers.which[feasible]))
    return numbers.take(feasible[order])


@settings(max_examples=100)
@given(case=cases(), data=st.data())
def test_compiled_numbers_equal_partitions(case: Case, data: st.DataObject) -> None:
    """Values agree, and keys order the feasible nodes exactly as fractions do, with and without persons."""
    made = data.draw(problems(case.table))
    parts = list(made.whole_lattice(threads=1))
    mine = _sorted(Numbers(*(np.concatenate([getattr(p, f) for p in parts]) for f in Numbers.__dataclass_fields__)))
    slow = _sorted(by_partitions(made))
    assert mine.which.tolist() == slow.which.tolist()
    assert mine.suppressed.tolist() == slow.suppressed.tolist()
    assert np.allclose(mine.values, slow.values, rtol=1e-9, atol=1e-9)
    for column, measure in enumerate(made.objectives):
        first, second = mine.keys[:, column], slow.keys[:, column]
        if isinstance(measure, CellLoss) and not measure.is_exact(case.table):
            # Logarithms are rounded, and two sums that are equal may be rounded apart: only other ones have an order.
            order = np.argsort(slow.values[:, column], kind="stable")
            risen = np.diff(slow.values[order, column]) > 1e-9 * slow.values[:, column].max(initial=1.0)
            assert (np.diff(first[order])[risen] > 0).all()
            continue
        assert np.array_equal(np.unique(first, return_inverse=True)[1], np.unique(second, return_inverse=True)[1])


MASKED = ("k", "l", "t", "alpha", "risk-max", "uniques", "suppressed", "classes", "lm", "dcn", "cm", "necd")


@settings(max_examples=60)
@given(case=cases(), data=st.data())
def test_masked_rows_are_counted_too(case: Case, data: st.DataObject) -> None:
    """Suppressed rows that stay as one more class: the loops agree with partitions, with and without persons."""
    made = data.draw(problems(case.table, MASKED, 4))
    masked = Problem(made.table, made.objectives, replace(made.suppression, rows="mask"), made.limits)
    unique = any(measure.name == "uniques" for measure in made.objectives)  # of persons it is counted by partitions
    assert masked.is_compiled == (case.table.persons is None or not unique)
    slow = _sorted(by_partitions(masked))
    parts = list(masked.whole_lattice(threads=1))
    mine = _sorted(Numbers(*(np.concatenate([getattr(p, f) for p in parts]) for f in Numbers.__dataclass_fields__)))
    assert mine.which.tolist() == slow.which.tolist()
    assert mine.suppressed.tolist() == slow.suppressed.tolist()
    assert np.allclose(mine.values, slow.values, rtol=1e-9, atol=1e-9)


@settings(max_examples=100)
@given(data=st.data(), numeric=st.booleans(), masked=st.booleans())
def test_losses_by_use_are_compiled(data: st.DataObject, numeric: bool, masked: bool) -> None:
    """Costs and regression, alone and together, over the lattice and cut by cut: the loops agree with partitions."""
    case = data.draw(cases(numeric_target=numeric))
    known = set(case.table.targets[0].values)
    names = BY_NUMBERS if numeric else BY_VALUES if known == {"yes", "no", "so"} else BY_VALUES[:1]
    made = data.draw(problems(case.table, ("k", *names), 3))
    if masked:
        made = Problem(made.table, made.objectives, replace(made.suppression, rows="mask"), made.limits)
    assert made.is_compiled
    slow = _sorted(by_partitions(made))
    parts = list(made.whole_lattice(threads=1))
    mine = _sorted(Numbers(*(np.concatenate([getattr(p, f) for p in parts]) for f in Numbers.__dataclass_fields__)))
    lattice = Lattice(case.table.hierarchies)
    single = _sorted(made.evaluate(lattice, lattice.levels(np.arange(lattice.size)), 1))
    for numbers in (mine, single):
        assert numbers.which.tolist() == slow.which.tolist()
        assert numbers.values == pytest.approx(slow.values, abs=1e-12)
        for keys, others in zip(numbers.keys.T, slow.keys.T, strict=True):
            assert np.array_equal(np.unique(keys, return_inverse=True)[1], np.unique(others, return_inverse=True)[1])
    assert np.array_equal(mine.keys, single.keys)


@pytest.mark.parametrize(
    "numbers", [[str(n) for n in range(257)], ["1", "1e300"], ["0", "0.30000000000000004"], ["1", "inf"]]
)
def test_targets_whose_sums_would_not_be_exact_are_counted_in_python(numbers: list[str]) -> None:
    """More than 256 values, or numbers too far apart or too long for whole steps: the search says so beforehand."""
    table = kp.read(pd.DataFrame({"q": ["a"] * len(numbers), "pay": numbers}), kp.Schema(("q",), target=("pay",)))
    asked = problem(table, ["reg-deviation"])
    assert asked.counted_in_python == "reg-deviation has no compiled form"


@pytest.mark.parametrize("name", ["risk-mean", "risk-share", "s-k", "s-l"])
def test_means_over_visible_rows_know_masked_ones_from_partitions(tiny: Table, name: str) -> None:
    """The loops do not tell the rows of a masked class from kept ones, so these are counted by partitions."""
    assert problem(tiny, ["k", name], Suppression(limit=1, rows="mask")).translation is None
    assert problem(tiny, ["k", name], Suppression(limit=1)).translation is not None


@settings(max_examples=40)
@given(case=cases(), data=st.data())
def test_some_genomes_equal_the_whole_lattice(case: Case, data: st.DataObject) -> None:
    """Evaluating chosen nodes gives the rows the whole lattice has for them."""
    made = data.draw(problems(case.table))
    lattice = Lattice(case.table.hierarchies)
    nodes = np.array(data.draw(st.lists(st.integers(0, lattice.size - 1), min_size=1, max_size=5)))
    some = made.evaluate(lattice, lattice.levels(nodes), threads=1)
    parts = list(made.whole_lattice(threads=1))
    rows: dict[int, list[object]] = {}
    for part in parts:
        for number, keys, feasible in zip(part.which.tolist(), part.keys.tolist(), part.feasible.tolist(), strict=True):
            rows.setdefault(number, []).append(keys if feasible else None)
    for place, number in enumerate(nodes.tolist()):
        own = np.flatnonzero(some.which == place)
        assert [some.keys[row].tolist() if some.feasible[row] else None for row in own] == rows[number]


@settings(max_examples=40)
@given(case=cases(persons=False, targets=1, numeric_target=True), data=st.data())
def test_measures_the_kernels_do_not_know(case: Case, data: st.DataObject) -> None:
    """Regression, bias and a user's own measure go through partitions, in the same front."""

    def biggest(partition: Partition) -> float:
        return float(partition.rows.max())

    own = Number("biggest", "lower", "rows", trends("rises"), biggest)
    value = data.draw(st.sampled_from(case.table.sensitive[0].values))
    name = data.draw(st.sampled_from((*SLOW, f"alpha(value={value})")))
    made = problem(case.table, ["k", name, own], 0.2)
    assert made.translation is None
    slow = _sorted(by_partitions(made))
    parts = list(made.whole_lattice(threads=1))
    mine = _sorted(Numbers(*(np.concatenate([getattr(p, f) for p in parts]) for f in Numbers.__dataclass_fields__)))
    assert mine.keys.tolist() == slow.keys.tolist()


def test_what_is_counted_in_python_is_told(tiny: Table) -> None:
    """A measure without compiled form is named, so that a search can say so before it begins; others are not."""
    own = Number("biggest", "lower", "rows", trends("rises"), lambda partition: float(partition.rows.max()))
    assert problem(tiny, ["k", own, "lm"], 0.2).counted_in_python == "biggest has no compiled form"
    assert problem(tiny, ["k", "lm"], 0.2).counted_in_python == ""
    masked = Suppression(limit=1, rows="mask")
    assert problem(tiny, ["risk-mean", "s-k"], masked).counted_in_python == "risk-mean, s-k have no compiled form"
    told = replace(tiny, persons=tiny.sensitive[0])
    words = "persons are told apart, and l has no compiled form that counts them"
    assert problem(told, ["k", "l", "lm"], 0.2).counted_in_python == words
    assert problem(told, ["k", "lm"], 0.2, {"l": 2}).counted_in_python == words
    assert problem(told, ["k", own], 0.2).counted_in_python == "biggest has no compiled form"
    rule = Suppression(limit=1, fails=(lambda partition: partition.rows < 2,))
    assert problem(tiny, ["k", "lm"], rule).counted_in_python.startswith("a rule of your own")


@settings(max_examples=10)
@given(case=cases(persons=False))
def test_a_users_measure_never_passes_for_a_built_in_one(case: Case) -> None:
    """A measure called k that is not k is asked itself."""
    fake = Number("k", "higher", "rows", trends("either"), lambda partition: 7.0)
    made = problem(case.table, [fake, "lm"])
    assert made.translation is None
    numbers = made.evaluate(Lattice(case.table.hierarchies), np.zeros((1, len(case.table.hierarchies)), dtype=np.int64))
    assert numbers.values[0, 0] == 7.0


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20), st.booleans())
@example([0.0, 5e-324], False)
@example([float("inf"), float("-inf"), 0.0, -0.0, 1e308], True)
def test_real_keys_sort_as_the_numbers_do(values: list[float], higher: bool) -> None:
    """A better number never has a larger key, and the same number the same key."""
    array = np.array(values)
    keys = real_keys(array, higher)
    for i in range(len(values)):
        for j in range(len(values)):
            better = array[i] > array[j] if higher else array[i] < array[j]
            assert not (better and keys[i] > keys[j])
            assert not (array[i] == array[j] and keys[i] != keys[j])


def test_rounding_noise_is_no_difference() -> None:
    """0.1 + 0.2 and 0.3 compare as equal, 0.3 and 0.3000001 do not."""
    keys = real_keys(np.array([0.1 + 0.2, 0.3, 0.3000001]))
    assert keys[0] == keys[1] < keys[2]


@settings(max_examples=5)
@given(case=cases(persons=False))
def test_all_compiled_measures_are_really_compiled(case: Case) -> None:
    """None of the measures above silently takes the slow route."""
    for name in COMPILED:
        made = problem(case.table, [name], 0.2)
        assert made.translation is not None, name
        assert fits(case.table, made.translation.wanted)


def test_bad_problems_are_sentences(tiny: Table) -> None:
    """No objective, one twice, an unknown one, limits that are no class-wise models, infinite limits."""
    with pytest.raises(BadJob, match="No objective is given"):
        problem(tiny, [])
    with pytest.raises(BadJob, match="'k' is named twice"):
        problem(tiny, ["k", "k"])
    with pytest.raises(BadJob, match=r"No measure 'glmm'\. Did you mean 'glm'"):
        problem(tiny, ["k", "glmm"])
    with pytest.raises(BadJob, match="not a number about a class"):
        constrained({"lm": 0.3})
    with pytest.raises(BadJob, match="Give a finite number"):
        problem(tiny, ["k"], 0.0, {"k": float("inf")})
    with pytest.raises(BadJob, match="Give a list of measures"):
        problem(tiny, [lambda partition: 1.0])  # type: ignore[list-item]
    nothing = Number("nothing", "lower", "rows", trends("either"), lambda partition: float("nan"))
    with pytest.raises(BadJob, match="gave no number"):
        list(problem(tiny, [nothing]).whole_lattice())


def test_a_measure_that_no_name_can_hold_is_a_limit() -> None:
    """T by a hierarchy given in Python: every point keeps it, and none with less loss does, node by node."""
    table = related_table(related_rows(120))
    tree = from_levels("ill", [("gout", "joints", "*"), ("flu", "airways", "*"), ("cold", "airways", "*")])
    closeness = t(distance="hierarchical", hierarchy=tree)
    with pytest.raises(BadJob, match="no name can hold one"):
        make(closeness.name)
    limits: dict[str | kp.Measure, float] = {closeness: 0.3}
    front = kp.front(table, objectives=["k", "lm"], suppression=0.1, limits=limits)
    best = math.inf
    for levels in itertools.product(*(range(h.height + 1) for h in table.hierarchies)):
        rule = kp.constrained(limits, 0.1)
        candidate = partition(table, node(table.hierarchies, levels), rule)
        if candidate.feasible and not candidate.empty and closeness(candidate) <= 0.3:
            best = min(best, make("lm")(candidate))
    assert min(point.values["lm"] for point in front) == pytest.approx(best)
    assert all(closeness(point.partition) <= 0.3 for point in front)


def test_nothing_but_stars_is_no_release() -> None:
    """Every row may be masked, and at the bottom every row would be: loops and partitions take such a node for none."""
    table = kp.read(pd.DataFrame({"age": ["1", "2", "3", "4"], "sex": ["f"] * 4}), kp.Schema(("age", "sex")))
    asked = problem(table, ["lm"], Suppression(limit=4, rows="mask"), {"k": 2})
    lattice = Lattice(table.hierarchies)
    levels = np.array([[0, 0], [1, 0]])
    counted = asked.evaluate(lattice, levels)
    slow = asked.by_partitions(
        [(n, p) for n, row in enumerate(levels) for p in partitions(table, lattice.decode(row), asked.suppression)]
    )
    assert asked.is_compiled
    assert counted.feasible.tolist() == slow.feasible.tolist() == [False, True]
    assert counted.suppressed.tolist() == slow.suppressed.tolist() == [4, 0]
    (point,) = kp.front(table, objectives=["lm"], suppression=asked.suppression, limits={"k": 2}, method="datafly")
    assert point.partition.suppressed_rows < 4
