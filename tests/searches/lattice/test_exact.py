"""The complete front: equal to brute force, equal to the golden files, equal when blocks are skipped."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kpareto as kp
from kpareto.fronts.dominance import non_dominated
from kpareto.fronts.front import Front
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.measures import cells
from kpareto.searches.exact_front import exact_front, front_of
from kpareto.searches.lattice import exact
from kpareto.searches.lattice.exact import can_prune, count_lattice, nothing_counted
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Rule, Suppression, partition
from kpareto.tables.table import Table
from tests.fronts.test_problem import by_partitions, problems
from tests.twins.strategies import Case, cases

GOLDEN = Path(__file__).parents[2] / "golden"
CAPS: tuple[Rule, ...] = ("cap-max-k", "as-needed")
NAMES = {"k": "k", "glm": "GLM", "l": "ell", "dcn": "DCN", "cm-rows": "CM"}


def brute_force(made: Problem) -> list[tuple[int, int]]:
    """(node, threshold) of every non-dominated candidate, by comparing each with each."""
    numbers = by_partitions(made)
    rows = [
        (int(w), int(t), k)
        for w, t, k, f in zip(numbers.which, numbers.thresholds, numbers.keys, numbers.feasible, strict=True)
        if f
    ]
    kept = []
    for node, threshold, keys in rows:
        if not any((other <= keys).all() and (other < keys).any() for _, _, other in rows):
            kept.append((node, threshold))
    return sorted(kept)


def found(front: Front) -> list[tuple[int, int]]:
    """(node, threshold) of every point."""
    lattice = Lattice(front.problem.table.hierarchies)
    thresholds = front.numbers.thresholds.tolist()
    return sorted(zip(lattice.numbers(front.genomes).tolist(), thresholds, strict=True))


@settings(max_examples=80)
@given(case=cases(), data=st.data())
def test_exact_is_brute_force(case: Case, data: st.DataObject) -> None:
    """Any objectives, any suppression rule, limits or none: the same candidates as comparing all pairs."""
    made = data.draw(problems(case.table))
    front = exact_front(made, threads=1)
    assert front.provenance.complete
    mine, wanted = found(front), brute_force(made)
    if made.suppression.rule in ("none", "as-needed", "cap-max-k", "below-k"):
        mine, wanted = [(n, 0) for n, _ in mine], [(n, 0) for n, _ in wanted]
    assert mine == wanted


@settings(max_examples=30)
@given(case=cases(persons=False), data=st.data())
def test_one_of_each_vector(case: Case, data: st.DataObject) -> None:
    """ties="one" keeps every vector once; ties="all" keeps all recodings of the same vectors."""
    made = data.draw(problems(case.table))
    every, one = exact_front(made, "all", threads=1), exact_front(made, "one", threads=1)
    vectors = {tuple(row) for row in every.numbers.keys.tolist()}
    assert {tuple(row) for row in one.numbers.keys.tolist()} == vectors
    assert len(one) == len(vectors) == every.vectors == one.vectors


@settings(max_examples=60)
@given(case=cases(most_columns=4), data=st.data(), largest=st.sampled_from([cells.LARGEST, 2**30]))
def test_skipping_blocks_changes_nothing(case: Case, data: st.DataObject, largest: int) -> None:
    """The certified pruned search has the points of the exhaustive one and settles every node.

    Also where persons are told apart, rows masked, or losses rounded for want of a common denominator (2**30).
    """
    bounded = ("k", "risk-max", "glm", "lm", "nwp", "precision-loss")
    objectives = data.draw(st.lists(st.sampled_from(bounded), min_size=1, max_size=3, unique=True))
    rule = data.draw(st.sampled_from([Suppression("none"), *(Suppression(n, c) for n in CAPS for c in (1, 0.3))]))
    some: list[dict[str, int]] = [{}, {"k": 2}, {"k": 3, "l": 2}]
    limits: dict[str, int] = data.draw(st.sampled_from(some))
    class_wise: bool = data.draw(st.booleans())
    if limits and class_wise:
        rule = constrained(limits, data.draw(st.sampled_from([0.0, 2, 0.4])))
    made = problem(case.table, objectives, replace(rule, rows=data.draw(st.sampled_from(["drop", "mask"]))), limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "LARGEST", largest)
        assert can_prune(made)
        whole = exact_front(made, threads=1)
        patch.setattr(exact, "WHOLE", 0)
        patch.setattr(exact, "AT_ONCE", data.draw(st.sampled_from([1, 3])))
        patch.setattr(exact, "PREFIXES", data.draw(st.sampled_from([1, 4, 64])))
        pruned = exact_front(made, threads=1)
        again = exact_front(made, threads=2)
    assert found(pruned) == found(whole)
    assert pruned.numbers.keys.tolist() == whole.numbers.keys.tolist()
    assert pruned.provenance.complete
    assert pruned.provenance.details["settled"] == Lattice(case.table.hierarchies).size
    assert again.genomes.tobytes() == pruned.genomes.tobytes()
    assert again.provenance.evaluated == pruned.provenance.evaluated


@pytest.mark.parametrize("objectives", [["k"], ["risk-max"], ["k", "lm"]])
def test_limits_on_the_risk_of_a_class_empty_no_front(objectives: list[str]) -> None:
    """The highest risk limits class sizes as k does: no point is lost."""
    rows = pa.table({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"]})
    limits = {"risk-max": 1.0, "k": 1}
    table = kp.read(rows, kp.Schema(quasi=("a", "b")))
    here = problem(table, objectives, constrained(limits), limits)
    assert can_prune(here)
    front = exact_front(here, threads=1)
    assert front.provenance.complete
    assert found(front) == brute_force(here)
    assert len(front) > 0


@pytest.mark.parametrize("objectives", [["k"], ["risk-max"], ["k", "lm"]])
def test_limits_that_the_kernels_do_not_judge_empty_no_front(objectives: list[str]) -> None:
    """Where partitions are counted, their keys are not compared with the bounds of the kernels: no point is lost."""
    rows = pa.table({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"], "s": ["m", "n", "n", "m"]})
    limits = {"alpha(value=m)": 1.0, "k": 1}
    table = kp.read(rows, kp.Schema(quasi=("a", "b"), sensitive=("s",)))
    here = problem(table, objectives, constrained(limits), limits)
    assert not can_prune(here)
    front = exact_front(here, threads=1)
    assert front.provenance.complete
    assert found(front) == brute_force(here)
    assert len(front) > 0


@pytest.mark.parametrize(("preset", "file"), [("default", "fronts_default"), ("replication", "fronts_age_doubling")])
@pytest.mark.parametrize(
    ("key", "objectives"),
    [
        ("k_GLM", ["k", "glm"]),
        ("k_ell_GLM", ["k", "l", "glm"]),
        ("k_DCN", ["k", "dcn"]),
        ("k_CM", ["k", "cm-rows"]),
        ("k_GLM_CM", ["k", "glm", "cm-rows"]),
    ],
)
def test_golden_fronts_of_adult(preset: str, file: str, key: str, objectives: list[str]) -> None:
    """The fronts an independent program found: the same vectors, and as many nodes."""
    golden = json.loads((GOLDEN / f"{file}.json").read_text())[key]
    table = adult_table(preset, target="salary-class" if "CM" in key else None, domain="declared")
    front = exact_front(problem(table, objectives, Suppression("cap-max-k", 301)))
    wanted = sorted(tuple(round(point[NAMES[name]], 4) for name in objectives) for point in golden["front"])
    mine = sorted(tuple(round(value, 4) for value in point.values.values()) for point in front)
    assert mine == wanted
    assert len(front) == golden["count"]
    nodes = {tuple(point["node"]) for point in golden["front"]}
    assert {tuple(genome) for genome in front.genomes.tolist()} == nodes


def test_more_thresholds_make_a_better_front() -> None:
    """as-needed enlarges the k–GLM front of Adult from 31 to 41 points (readings.md#thresholds)."""
    table = adult_table("default", domain="declared")
    front = exact_front(problem(table, ["k", "glm"], Suppression("as-needed", 301)))
    assert front.vectors == 41


@settings(max_examples=60)
@given(case=cases(), data=st.data())
def test_raising_the_cap_never_worsens_a_point(case: Case, data: st.DataObject) -> None:
    """Under the rules that users get, every point of a front is met or beaten on the front with a larger cap."""
    caps = sorted(data.draw(st.lists(st.integers(0, 8), min_size=2, max_size=2)))
    limits: dict[str, int] = data.draw(st.sampled_from([{}, {"k": 2}, {"k": 2, "l": 2}]))
    rules = [Suppression("as-needed", cap) if "l" not in limits else constrained(limits, cap) for cap in caps]
    low, high = (exact_front(problem(case.table, ["k", "glm"], rule, limits), threads=1) for rule in rules)
    for keys in low.numbers.keys:
        assert (high.numbers.keys <= keys).all(axis=1).any()


@settings(max_examples=60)
@given(case=cases(persons=False), data=st.data())
def test_no_row_is_suppressed_that_the_limits_do_not_force(case: Case, data: st.DataObject) -> None:
    """The choice of a k hides the classes below it at its recoding, and no other class."""
    wanted = data.draw(st.integers(1, 4))
    front = exact_front(problem(case.table, ["k", "glm"], Suppression("as-needed", 0.5)), threads=1)
    if len(front.meeting({"k": wanted})) == 0:
        return
    point = front.choose(k=wanted)
    forced = partition(case.table, point.recoding, Suppression("below-k", k=wanted))
    assert point.partition.suppressed_rows == forced.suppressed_rows


def test_every_k_of_adult_has_its_least_loss() -> None:
    """For each k from 2 to the number of rows, choose(k) is the least loss at that k or higher, and says its k."""
    table = adult_table("default", domain="declared")
    made = problem(table, ["k", "glm"], Suppression("cap-max-k", 301))
    front = exact_front(made)
    parts = list(made.whole_lattice())
    k = np.concatenate([-part.keys[:, 0] for part in parts])
    loss = np.concatenate([part.keys[:, 1] for part in parts])
    best = np.full(table.rows + 2, np.iinfo(np.int64).max)
    np.minimum.at(best, k, loss)
    best = np.minimum.accumulate(best[::-1])[::-1]
    kept = {int(-key[0]): int(key[1]) for key in front.numbers.keys}
    for wanted in range(2, table.rows + 1):
        reached = min(size for size in kept if size >= wanted)
        assert kept[reached] == best[wanted]
    for wanted in (2, 3, 9, 100, 12345, table.rows):
        point = front.choose(k=wanted)
        assert point.values["k"] >= wanted
        assert point.front.numbers.keys[point.id, 1] == best[wanted]
        assert point.partition.sizes[point.partition.visible].min() == point.values["k"]


def test_a_state_is_all_that_going_on_needs() -> None:
    """After two parts the front is not complete; going on from there gives the front of a search left alone."""
    made = problem(adult_table("default", domain="declared"), ["k", "glm"], Suppression("cap-max-k", 301))
    whole = exact_front(made)
    states = count_lattice(made, "all", None, nothing_counted(made))
    second = list(itertools.islice(states, 2))[-1]
    part = front_of(made, second, "all", 0.0, done=False)
    assert not part.provenance.complete
    assert part.provenance.stopped
    assert "stopped after" in part.provenance.note
    *_, last = count_lattice(made, "all", None, second)
    resumed = front_of(made, last, "all", 0.0, done=False)
    assert resumed.provenance.complete
    assert resumed.genomes.tobytes() == whole.genomes.tobytes()
    assert resumed.numbers.keys.tobytes() == whole.numbers.keys.tobytes()
    assert resumed.provenance.evaluated == whole.provenance.evaluated == 17_920


@given(keys=st.lists(st.tuples(*[st.integers(-3, 3)] * 3), max_size=25), objectives=st.integers(1, 3))
def test_non_dominated_equals_comparing_all_pairs(keys: list[tuple[int, int, int]], objectives: int) -> None:
    """For one, two and three objectives, with ties."""
    array = np.array(keys, dtype=np.int64).reshape(-1, 3)[:, :objectives]
    wanted = [
        i for i, row in enumerate(array) if not any((other <= row).all() and (other < row).any() for other in array)
    ]
    assert non_dominated(array).tolist() == wanted
    first: dict[tuple[int, ...], int] = {}
    for i in wanted:
        first.setdefault(tuple(array[i].tolist()), i)
    assert non_dominated(array, "one").tolist() == sorted(first.values())


def test_a_constant_column_makes_the_top_not_alone(tiny: Table) -> None:
    """PO-e7: a column with one value costs nothing at any level, so the top ties with the node below it."""
    codes = tiny.codes.copy()
    codes[:, 1] = 0
    constant = replace(tiny, codes=codes)
    front = exact_front(problem(constant, ["k", "glm"]))
    levels = [tuple(genome) for genome in front.genomes.tolist()]
    assert (2, 0) in levels
    assert (2, 1) in levels
    assert front.vectors < len(front)
