"""Floors: no recoding of the lattice loses less at its k than the floor of a point with that k."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.made_tables import make_rows
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.numbers import Numbers, join
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.measures.cells import CellLoss
from kpareto.searches import exact_front as floors_room
from kpareto.searches.exact_front import Group, make_floors, project
from kpareto.tables.hierarchy import flat
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import RULES, Suppression, partition
from kpareto.tables.table import Table
from tests.twins.strategies import Case, Row, cases, table_of


@st.composite
def floored_problems(draw: st.DrawFn, table: Table) -> Problem:
    """A problem with k and losses under a rule that bounds suppression."""
    objectives = draw(
        st.sampled_from(
            [
                ["k", "glm"],
                ["k", "lm", "nwp"],
                ["risk-max", "lm"],
                ["glm"],
                ["k", "l", "glm"],
                ["k", "entropy"],
                ["k", "arx-loss"],
            ]
        )
    )
    rule = draw(st.sampled_from([rule for rule in RULES if rule != "below-k"]))
    limit = draw(st.sampled_from([0, 1, 0.3]))
    if rule == "as-needed":
        return problem(table, objectives, constrained({"k": 2}, limit), {"k": 2})
    return problem(table, objectives, Suppression(rule, limit))


def all_numbers(asked: Problem) -> Numbers:
    """The numbers of every feasible node."""
    numbers = join(list(asked.whole_lattice(threads=1)), len(asked.objectives))
    return numbers.take(np.flatnonzero(numbers.feasible))


def check_floors(asked: Problem, data: st.DataObject) -> None:
    """Whatever part of the lattice is settled, no node with at least a point's k loses less than its floor."""
    every = all_numbers(asked)
    floors = make_floors(asked, fixed := tuple(range(data.draw(st.integers(0, asked.table.codes.shape[1])))))
    if floors is None or len(every.which) == 0:
        return
    lattice = Lattice(asked.table.hierarchies)
    sizes = [int(lattice.genes[column]) for column in fixed]
    settled = None
    known = every.take(np.array(data.draw(st.lists(st.integers(0, len(every.which) - 1), min_size=1, max_size=4))))
    if fixed:
        settled = np.array(
            data.draw(st.lists(st.booleans(), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes))))
        )
        prefix = np.ravel_multi_index(tuple(lattice.levels(every.which)[:, list(fixed)].T), sizes)
        known = join([known, every.take(np.flatnonzero(settled[prefix]))], len(asked.objectives))
    points = known.take(non_dominated(known.keys, "one"))
    least = floors.at(points, settled)
    for place in range(len(points.which)):
        for objective in floors.objectives:
            reach = _at_least_as_private(asked, every, points, place)
            assert least[place, objective] <= every.values[reach, objective].min() + 1e-9
            assert least[place, objective] <= points.values[place, objective] + 1e-9


def _at_least_as_private(asked: Problem, every: Numbers, points: Numbers, place: int) -> np.ndarray:
    """The nodes that stand beside a point: with its k or more, or all where k is no objective."""
    if asked.objectives[0].name not in ("k", "risk-max"):
        return np.arange(len(every.which))
    return np.flatnonzero(every.keys[:, 0] <= points.keys[place, 0])


@settings(max_examples=100)
@given(case=cases(), data=st.data())
def test_nothing_lies_below_a_floor(case: Case, data: st.DataObject) -> None:
    """Random tables, rules and settled parts, with and without persons."""
    check_floors(data.draw(floored_problems(case.table)), data)


@settings(max_examples=40)
@given(case=cases(), data=st.data())
def test_nothing_lies_below_a_floor_of_a_geometric_mean(case: Case, data: st.DataObject) -> None:
    """ARX's loss adds up as logarithms, column by column, with suppressed rows and settled parts."""
    check_floors(problem(case.table, ["k", "arx-loss"], data.draw(st.sampled_from([0, 1, 0.3]))), data)


def test_a_floor_of_a_geometric_mean_is_met() -> None:
    """Columns counted together, with nothing suppressed: the floor is the least loss itself, but for rounding."""
    table = make_rows(60, (4, 5, 3), (3, 3, 2))
    asked = problem(table, ["k", "arx-loss"], 0)
    floors = make_floors(asked, ())
    assert floors is not None
    assert [len(group.columns) for group in floors.groups] == [3]
    points = (every := all_numbers(asked)).take(non_dominated(every.keys, "one"))
    assert len(points.which) > 2
    assert floors.at(points)[:, 1] == pytest.approx(points.values[:, 1], abs=1e-11)


@pytest.mark.parametrize("size", ["k", "risk-max"])
@pytest.mark.parametrize("others", [[], ["risk-mean"]], ids=["compiled", "by partitions"])
def test_a_floor_goes_by_k_however_nodes_are_counted(size: str, others: list[str]) -> None:
    """A point that loses more than another with its k has a floor below it, and one at the top has its own loss."""
    rows = [Row((leaf % 2, 0), ("ab"[leaf // 2],), ("no",), f"p{leaf}") for leaf in range(4)]
    table = table_of(rows, [flat("q0", ["x", "y"]), flat("q1", ["v", "w"])], numeric=False, domain="declared")
    asked = problem(table, [size, *others, "glm"], 0)
    assert asked.is_compiled != bool(others)
    floors = make_floors(asked, ())
    assert floors is not None
    every = all_numbers(asked)
    least = [float(floors.at(every.take(np.array([place])))[0, -1]) for place in range(4)]
    assert every.values[:, -1].tolist() == [0, 4, 4, 8]
    assert least == pytest.approx([0, 0, 4, 4])


@settings(
    max_examples=300, database=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(case=cases(persons=False), data=st.data())
def _nothing_lies_below_a_floor(case: Case, data: st.DataObject) -> None:
    check_floors(data.draw(floored_problems(case.table)), data)


@pytest.mark.parametrize("lie", ["k", "loss"])
def test_a_floor_that_lies_is_caught(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that claim a smaller k, or a larger loss, than they have make floors that nodes lie below."""
    honest = floors_room._count

    def lying(asked: Problem, objectives: list[int], columns: tuple[int, ...]) -> Group:
        group = honest(asked, objectives, columns)
        return replace(group, ks=group.ks - 1) if lie == "k" else replace(group, losses=group.losses + 1)

    monkeypatch.setattr(floors_room, "_count", lying)
    with pytest.raises(AssertionError):
        _nothing_lies_below_a_floor()


def test_a_loss_without_a_common_denominator_has_floors() -> None:
    """Columns of many different widths: whole numbers are rounded, floors rounded down, and no node lies below one."""
    widths = (212, 224, 228, 230, 234, 240, 242)  # denominators 211, 223, …: all prime
    table = replace(make_rows(400, widths, (3, 3, 3, 3, 2, 2, 2)), domain="declared")
    asked = problem(table, ["k", "lm"], 0.05)
    loss = asked.objectives[1]
    assert isinstance(loss, CellLoss)
    assert not loss.is_exact(table)
    assert loss.slack(table) > 0
    floors = make_floors(asked, ())
    assert floors is not None
    every = all_numbers(asked)
    points = every.take(non_dominated(every.keys, "one"))
    least = floors.at(points)[:, 1]
    assert (least > 0).sum() > len(least) // 2 > 1
    for place in range(len(points.which)):
        recodings = np.flatnonzero(every.keys[:, 0] <= points.keys[place, 0])
        exact_losses = [_exact_loss(asked, int(every.which[at])) for at in recodings[:20].tolist()]
        assert least[place] <= every.values[recodings, 1].min()
        assert min(exact_losses) >= Fraction(float(least[place]))


def _exact_loss(asked: Problem, node: int) -> Fraction:
    """The loss of a node without suppression, which rounds nothing."""
    lattice, loss = Lattice(asked.table.hierarchies), asked.objectives[1]
    assert isinstance(loss, CellLoss)
    value = loss.exact(partition(asked.table, lattice.decode(lattice.levels(np.array([node]))[0])))
    assert value is not None
    return value


def test_where_no_floor_holds_none_is_told(tiny: Table) -> None:
    """below-k may suppress anything, and losses by class size have no groups."""
    assert make_floors(problem(tiny, ["k", "lm"], Suppression("below-k", 0, 2)), ()) is None
    assert make_floors(problem(tiny, ["k", "dcn"], 0), ()) is None


@given(case=cases(persons=False), data=st.data())
def test_a_projection_keeps_the_rows(case: Case, data: st.DataObject) -> None:
    """Some columns alone: the same rows, each combination once."""
    count = len(case.table.hierarchies)
    columns = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True))
    few = project(case.table, columns)
    assert few.rows == case.table.rows
    wanted = {tuple(row.leaves[column] for column in columns) for row in case.rows}
    assert {tuple(row) for row in few.codes.tolist()} == wanted
    assert few.distinct == len(wanted)
