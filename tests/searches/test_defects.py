"""What POkA and PBG-EA return is their own set, and the report of what it misses is true."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kpareto.errors import Stopped
from kpareto.fronts.front import Front, load_front
from kpareto.fronts.problem import Problem, problem
from kpareto.searches.defects import defects, replay, whole
from kpareto.searches.driver import Cancelled
from kpareto.searches.exact_front import exact_front
from kpareto.searches.lattice.boxes import coverage, grid_for
from kpareto.searches.lattice.poka import literal
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.lattice import Lattice
from kpareto.tables.partition import Suppression


@pytest.fixture(scope="module")
def adult() -> Problem:
    """K and GLM on Adult with the hierarchies of the replication."""
    return problem(adult_table("replication"), ["k", "glm"], Suppression("cap-max-k", 0.01))


def vectors(front: Front) -> set[tuple[int, ...]]:
    """The different numbers of a front."""
    return {tuple(row) for row in front.numbers.keys.tolist()}


def test_poka_returns_its_report(adult: Problem) -> None:
    """The front of poka-literal is its bases, not everything non-dominated that it counted, and its JSON says so."""
    front = run_plan(adult, Plan("poka-literal", options={"depth": 1}))
    lattice = Lattice(adult.table.hierarchies)
    told = replay(literal(1), lattice, whole(adult))
    assert sorted(lattice.numbers(front.genomes).tolist()) == sorted(told.nodes.tolist())
    data = front.to_dict()
    assert data["search"]["set"] == "report"
    assert load_front(data, adult).provenance.points == "report"


def test_a_wrong_node_is_reported_and_told(adult: Problem) -> None:
    """At depth 1 literal POkA reports nodes that are dominated; compare names each with one that dominates it."""
    front = run_plan(adult, Plan("poka-literal", options={"depth": 1, "compare": True}))
    exact: Any = front.provenance.details["exact"]
    best = exact_front(adult, "one")
    report = defects(adult, 1)
    assert len(exact["points"]) == len(best) == report.optima
    assert (len(exact["missed"]), len(exact["wrong"])) == (len(report.missed), len(report.false)) != (0, 0)
    assert len(vectors(front) - vectors(best)) == len(exact["wrong"])
    assert len(vectors(best) - vectors(front)) == len(exact["missed"])
    assert all(wrong["dominated_by"] for wrong in exact["wrong"])
    json.dumps(exact, allow_nan=False)


def test_pbg_ea_returns_its_archive(adult: Problem) -> None:
    """A wide grid keeps one member per box, a narrow one nearly all: the fronts differ, and the report is right."""
    best = exact_front(adult, "one")
    counts = {}
    for width in (1.0, 50.0):
        options = {"grid": [width, width * 200], "compare": True}
        front = run_plan(adult, Plan("pbg-ea", options=options))
        exact: Any = front.provenance.details["exact"]
        counts[width] = len(front)
        assert front.provenance.points == front.to_dict()["search"]["set"] == "archive"
        assert len(exact["missed"]) == len(vectors(best) - vectors(front))
        assert len(exact["wrong"]) == len(vectors(front) - vectors(best))
        told = coverage(grid_for(adult, [width, width * 200]), front.numbers.values, best.numbers.values)
        assert exact["coverage"] == {
            "rr": told.ratio,
            "ce": told.distance_sum,
            "boxes": told.true_boxes,
            "boxes_held": pytest.approx(told.ratio * told.true_boxes),
        }
    assert counts[50.0] < counts[1.0] / 2


@pytest.mark.parametrize(("method", "kind"), [("pbg-ea", "archive"), ("poka-literal", "report"), ("poka", "report")])
def test_a_spent_budget_leaves_the_set_so_far(adult: Problem, method: str, kind: str) -> None:
    """Where the budget ends a search its set so far is returned, within the budget, and said to be that set."""
    front = run_plan(adult, Plan(method, budget=300))
    assert front.provenance.evaluated <= 300
    assert (front.provenance.points, "budget" in front.provenance.note) == (kind, True)
    assert len(front) >= 1


def test_a_stopped_search_hands_out_its_set(adult: Problem, tmp_path: Path) -> None:
    """Stopped by the user, PBG-EA's archive comes with the exception, and the resumed run ends as one left alone."""

    def impatient(done: int, _: int) -> None:
        if done >= 100:
            raise Stopped

    kept = tmp_path / "kept.npz"
    with pytest.raises(Cancelled) as stopped:
        run_plan(adult, Plan("pbg-ea"), report=impatient, checkpoint=kept)
    assert stopped.value.front.provenance.points == "archive"
    resumed = run_plan(adult, Plan("pbg-ea"), checkpoint=kept)
    assert np.array_equal(resumed.genomes, run_plan(adult, Plan("pbg-ea")).genomes)


def test_other_searches_say_what_their_points_are(adult: Problem) -> None:
    """The exact front and the best of all that was counted have words of their own."""
    assert exact_front(adult).to_dict()["search"]["set"] == "exact"
    limited = problem(adult.table, ["k", "glm"], 0.01, {"k": 5})
    assert run_plan(limited, Plan("samarati")).to_dict()["search"]["set"] == "counted"


def test_poka_begins_at_the_base_of_a_job(adult: Problem) -> None:
    """PO-r11 from a job: the report begins with the node that is told, and holds what the search finds from there."""
    base = [5, 2, 2, 2, 1, 1, 3, 1]
    front = run_plan(adult, Plan("poka-literal", options={"depth": 1, "base": base}))
    lattice = Lattice(adult.table.hierarchies)
    told = replay(replace(literal(1), start=tuple(base)), lattice, whole(adult))
    assert len(told.nodes) > 3
    assert lattice.numbers(np.array([base]))[0] == told.nodes[0]
    assert sorted(lattice.numbers(front.genomes).tolist()) == sorted(told.nodes.tolist())
    assert front.to_dict()["search"]["options"]["base"] == base
