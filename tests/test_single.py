"""One loss and a given k over flexible cuts, with a proven bound beside what was found."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.cuts import Cuts, make_cuts
from kpareto.datasets import adult_table
from kpareto.partition import Suppression
from kpareto.problem import constrained, problem
from kpareto.single import can_run_single, run_single
from tests.strategies import Case, cases


def _every_genome(space: Cuts) -> np.ndarray:
    count = 2 ** len(space.genes)
    strings = np.array(list(itertools.product((0, 1), repeat=len(space.genes))), dtype=np.int64).reshape(count, -1)
    return strings[space.valid(strings)]


@settings(max_examples=25)
@given(case=cases(persons=False, most_columns=2, most_leaves=4), data=st.data())
def test_proven_is_least_and_bounds_hold(case: Case, data: st.DataObject) -> None:
    """Against all recodings of small spaces: a proven answer is the least, a bound never above it."""
    space = make_cuts(case.table.hierarchies)
    k = data.draw(st.integers(1, 3))
    limits = {"k": k}
    rules = [
        (Suppression("below-k", k=k), {}),
        (Suppression("none"), limits),
        (constrained(limits, 2.0), limits),
    ]
    rule, given_limits = rules[data.draw(st.integers(0, 2))]
    made = problem(case.table, ["lm"], rule, given_limits)
    if not can_run_single("improve", made, space):
        return
    method: str = data.draw(st.sampled_from(["improve", "genitor"]))
    numbers = made.evaluate(space, _every_genome(space), threads=1)
    if not numbers.feasible.any():
        return
    least = float(numbers.values[numbers.feasible, 0].min())
    front = run_single(method, made, space, budget=300, seed=3, options={"population": 8})
    assert len(front) == 1
    assert front[0].values["lm"] >= least - 1e-12
    assert front.provenance.details["lower_bound"] <= least + 1e-12
    if front.provenance.complete:
        assert front[0].values["lm"] == pytest.approx(least, abs=1e-12)


def test_the_gap_on_adult_is_told() -> None:
    """Iyengar's 157 bits at k = 250: not proven, but a bound above zero and the gap in the note and the JSON."""
    table = adult_table("iyengar_157")
    made = problem(table, ["lm"], Suppression("below-k", k=250))
    front = run_single("improve", made, make_cuts(table.hierarchies), seed=1)
    assert front[0].values["lm"] <= 0.4430
    assert not front.provenance.complete
    details = json.loads(json.dumps(front.to_dict()))["search"]["details"]
    assert 0.1 < details["lower_bound"] < front[0].values["lm"]
    assert "the gap is" in front.provenance.note


def test_what_the_compiled_searches_do_not_know() -> None:
    """Two objectives, other limits or the lattice go the general way."""
    table = adult_table("lunacek_92")
    space = make_cuts(table.hierarchies)
    assert not can_run_single("improve", problem(table, ["k", "lm"]), space)
    assert not can_run_single("nsga2", problem(table, ["lm"], Suppression("below-k", k=5)), space)
    limits = {"k": 5}
    assert can_run_single("genitor", problem(table, ["lm"], constrained(limits, 0.01), limits), space)
