"""Branch and bound by roll-up: the same front as counting everything, under every rule where its bounds hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kpareto.fronts import subtree_bounds as bounds_room
from kpareto.fronts.count_lattice import Walker
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.fronts.subtree_bounds import BoundedWalk, Bounds, can_bound
from kpareto.kernels.lattice.bounding import Bounding
from kpareto.measures import cells
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice import exact
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import RULES, Rule, Suppression
from kpareto.tables.table import Table
from tests.searches.lattice.test_exact import found
from tests.twins.strategies import Case, cases

BOUNDED = ("k", "risk-max", "l", "t", "t(distance=ordered)", "alpha", "cm", "cm-rows", "dcn", "glm", "lm", "arx-loss")
UNSUPPRESSED = (*BOUNDED, "entropy-l", "recursive-l", "beta", "enhanced-beta")
FREE = ("cm", "dcn", "glm", "lm", "nwp", "arx-loss")  # bounded whatever is suppressed


@st.composite
def bounded_problems(draw: st.DrawFn, table: Table) -> Problem:
    """A problem under any rule whose objectives all have bounds under it, sometimes with limits."""
    rule = draw(st.sampled_from(RULES))
    limit = draw(st.sampled_from([0, 1, 3, 0.3]))
    names = FREE if rule == "below-k" else UNSUPPRESSED if rule == "none" or limit == 0 else BOUNDED
    objectives = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    some: list[dict[str, float]] = [{}, {"k": 2}, {"l": 2, "lm": 0.9}, {"k": 2, "t": 0.6}]
    limits: dict[str, float] = draw(st.sampled_from(some))
    if rule == "as-needed":
        limits = limits if "lm" not in limits and limits else {"k": 2, "l": 2, "t": 0.7}
        return problem(table, objectives, constrained(limits, limit), limits)
    return problem(table, objectives, Suppression(rule, limit, 2 if rule == "below-k" else None), limits)


def check_pruned(asked: Problem, at_once: int, prefixes: int) -> None:
    """The front by bounds is the front by counting everything, and every node is settled."""
    whole = exact_front(asked, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "WHOLE", 0)
        patch.setattr(exact, "can_prune", lambda _: False)
        patch.setattr(exact, "AT_ONCE", at_once)
        patch.setattr(exact, "PREFIXES", prefixes)
        assert exact.find_way(asked).kind == "roll-up"
        pruned = exact_front(asked, threads=1)
        again = exact_front(asked, threads=2)
    assert found(pruned) == found(whole)
    assert pruned.numbers.keys.tolist() == whole.numbers.keys.tolist()
    assert pruned.provenance.details["settled"] == Lattice(asked.table.hierarchies).size
    assert again.genomes.tobytes() == pruned.genomes.tobytes()
    assert again.provenance.evaluated == pruned.provenance.evaluated


@settings(max_examples=120)
@given(case=cases(persons=False, most_columns=4), data=st.data(), largest=st.sampled_from([cells.LARGEST, 2**30]))
def test_bounds_change_nothing(case: Case, data: st.DataObject, largest: int) -> None:
    """Any bounded objectives, rule and limits, also with losses that are rounded (2**30): what is left out was beaten."""
    asked = data.draw(bounded_problems(case.table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "LARGEST", largest)
        assert can_bound(asked)
        check_pruned(asked, data.draw(st.sampled_from([1, 3])), data.draw(st.sampled_from([1, 4, 64])))


@pytest.mark.parametrize("rule", ["cap-max-k", "as-needed"])
def test_a_limit_beyond_the_rows_has_room(tiny: Table, rule: Rule) -> None:
    """More rows may be suppressed than there are: bounds ask for no more room than the loops have."""
    walk = BoundedWalk(problem(tiny, ["k", "glm"], Suppression(rule, 100)))
    task = walk.walker.base()
    room = walk.walker._room(task, len(tiny.hierarchies), np.zeros(1, dtype=np.int64))
    assert bounds_room.allowed_rows(walk.problem) == tiny.rows == len(room.steps.small) - 1


def lie_about_suppression(bounds: Bounds, reached: Numbers, judge: Callable[[Bounds, Numbers], Bounding]) -> Bounding:
    """Pretend that no row may be suppressed."""
    return judge(bounds, reached)._replace(allowed=0)


def lie_about_k(bounds: Bounds, reached: Numbers, judge: Callable[[Bounds, Numbers], Bounding]) -> Bounding:
    """Pretend that the points reached have one row more in their smallest class."""
    told = judge(bounds, reached)
    front = told.front.copy()
    for kind, owner in zip(told.kinds, told.owners, strict=True):
        if kind == 0 and owner < front.shape[1]:
            front[:, owner] -= 1
    return told._replace(front=front)


def lie_about_limits(bounds: Bounds, reached: Numbers, judge: Callable[[Bounds, Numbers], Bounding]) -> Bounding:
    """Pretend that limits are stricter than they are."""
    told = judge(bounds, reached)
    most = told.most.copy()
    most[told.front.shape[1] :] -= 1 << 48  # also a sixteenth of a real number
    return told._replace(most=most)


@pytest.mark.parametrize("lie", [lie_about_suppression, lie_about_k, lie_about_limits])
def test_a_planted_lie_is_caught(
    lie: Callable[[Bounds, Numbers, Callable[[Bounds, Numbers], Bounding]], Bounding], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound that promises too much loses points, and the test above sees it."""
    honest = Bounds.judge
    monkeypatch.setattr(Bounds, "judge", lambda self, reached: lie(self, reached, honest))
    with pytest.raises(AssertionError):
        _bounds_change_nothing()


def test_a_bound_where_none_holds_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under below-k a refinement may suppress what made it bad: claiming bounds for k, l and t loses points."""
    monkeypatch.setattr(bounds_room, "_holds", lambda _problem, _term: True)
    with pytest.raises(AssertionError):
        _below_k_changes_nothing()


MANY = settings(
    max_examples=400, database=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@MANY
@given(case=cases(persons=False, most_columns=4), data=st.data())
def _bounds_change_nothing(case: Case, data: st.DataObject) -> None:
    check_pruned(data.draw(bounded_problems(case.table)), 1, 4)


@MANY
@given(case=cases(persons=False, most_columns=4), data=st.data())
def _below_k_changes_nothing(case: Case, data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(("k", "l", "t", "glm")), min_size=2, max_size=3, unique=True))
    check_pruned(problem(case.table, names, Suppression("below-k", 0, 3)), 1, 4)


@pytest.mark.parametrize(
    ("objectives", "limit"),
    [(["k", "l", "glm"], 0.01), (["k", "t", "glm"], 0.01), (["k", "glm", "cm-rows"], 0.01), (["k", "dcn"], 0.0)],
)
def test_adult_by_bounds(objectives: list[str], limit: float) -> None:
    """On Adult bounds leave out at least a third of the nodes and lose no point."""
    table = adult_table("replication", target="salary-class" if "cm-rows" in objectives else None)
    asked = problem(table, objectives, limit)
    whole = exact_front(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "WHOLE", 0)
        patch.setattr(exact, "can_prune", lambda _: False)
        pruned = exact_front(asked)
    assert found(pruned) == found(whole)
    assert pruned.provenance.evaluated < 2 * Lattice(table.hierarchies).size // 3 + 3_000  # with the guides


def test_what_has_no_bound_is_counted_whole() -> None:
    """delta, and t under below-k, have no bound; nobody claims one."""
    table = adult_table("replication")
    assert not can_bound(problem(table, ["k", "delta"], 0.0))
    assert not can_bound(problem(table, ["t", "glm"], Suppression("below-k", 0, 5)))
    assert not can_bound(problem(table, ["entropy-l", "glm"], 0.01))
    assert can_bound(problem(table, ["entropy-l", "glm"], 0.0))
    assert can_bound(problem(table, ["dcn", "glm"], Suppression("below-k", 0, 5)))


def test_front_keys_sort_as_values_do() -> None:
    """Keys for bounds are lower where a point is better, for whole and for real numbers."""
    table = adult_table("replication")
    asked = problem(table, ["k", "l", "t", "entropy-l", "glm"], 0.0)
    front = exact_front(asked)
    translation = asked.translation
    assert translation is not None
    keys = Bounds(asked, Walker(table, translation.wanted, bounded=True)).front_keys(front.numbers)
    for column, better in enumerate(asked.better.tolist()):
        by_value = np.argsort(-better * front.numbers.values[:, column], kind="stable")
        assert (np.diff(keys[by_value, column]) >= 0).all()
