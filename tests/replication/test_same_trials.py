"""The trials on the papers' pages are those that ``kpareto compare`` makes, seed by seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kpareto.fronts.dominance import achievement
from kpareto.fronts.problem import problem
from kpareto.searches.compare import SearchTrials, compare_searches
from kpareto.searches.run import Plan
from kpareto.tables.adult import adult_table
from kpareto.tables.partition import Suppression
from kpareto.tables.table import sample_rows
from replication.lattices import CAP
from replication.lunacek import ROWS, SAMPLE_SEED, K

DOCS = Path(__file__).parents[2] / "docs" / "papers"
LONG = pytest.mark.timeout(1200)  # whole budgets of the papers
IMPLIED = 'start="implied",repair="implied",count_refused=true'  # Lunacek's second reading


def on_the_page(paper: str, key: str) -> Any:
    """The numbers of a result on a committed page."""
    results = json.loads((DOCS / f"{paper}.json").read_text(encoding="utf-8"))["results"]
    return next(each["numbers"] for each in results if each["id"] == key)


@pytest.fixture(scope="module")
def lattice() -> SearchTrials:
    """PBG-EA with two grids and POkA at two depths, k and GLM."""
    asked = problem(adult_table("replication"), ["k", "glm"], Suppression("cap-max-k", CAP))
    return compare_searches(asked, ["pbg-ea", "poka-literal:depth=1", "poka-literal:depth=3"], 3)


@LONG
def test_archives_are_those_of_the_page(lattice: SearchTrials) -> None:
    """RR, CE as the sum and the nodes of PBG-EA's runs, whose seeds begin with 0 on the page and with 1 here."""
    page, runs = on_the_page("pbg", "PB-r1a"), lattice.arms[0]
    assert runs.column("rr").tolist() == page["ratio"][1:4]
    assert runs.column("ce") == pytest.approx(page["distance sum"][1:4], abs=1e-12)
    assert runs.column("evaluated").tolist() == page["nodes"][1:4]


@LONG
@pytest.mark.parametrize(("place", "key"), [(1, "PO-r2a"), (2, "PO-r4a")])
def test_poka_finds_what_it_does_on_the_page(lattice: SearchTrials, place: int, key: str) -> None:
    """The nodes of POkA at a depth, and the share of the exact front that it reports."""
    page, run = on_the_page("poka", key), lattice.arms[place].trials[0]
    assert run.evaluated == page["evaluated"]
    assert run.covered is not None
    assert run.covered.ratio == pytest.approx(page["hits"] / page["optima"])


@LONG
def test_crossovers_end_where_they_do_on_the_page() -> None:
    """Final losses of Lunacek's trials on the same rows, under both readings."""
    table = sample_rows(adult_table("lunacek_92"), ROWS, SAMPLE_SEED)
    asked = problem(table, ["glm"], Suppression("below-k", k=K))
    searches = ["genitor-lunacek:population=200", f"genitor-lunacek:population=200,immigrants=0.5,{IMPLIED}"]
    trials = compare_searches(asked, searches, 1, own=Plan("genitor-lunacek", "cuts"))
    for arm, key in zip(trials.arms, ("LU-r3a", "LU-i3a"), strict=True):
        assert arm.trials[0].loss == pytest.approx(on_the_page("lunacek", key)["200"]["new"]["finals"][1], rel=1e-11)


@LONG
def test_wishes_are_met_as_on_the_page() -> None:
    """The achievement of NSGA-II's answers and the distinct recodings, 500 populations of 100, k = 5 wished for."""
    asked = problem(adult_table("dewri_gecco09_105"), ["k", "nwp", "necd"], Suppression("none"))
    own = Plan("nsga2", "order", options={"preference": {"k": 5, "nwp": 0.2, "necd": 1.0}})
    paper = 'nsga2:mutation=0.001,start="uniform",generations=499'
    runs = compare_searches(asked, [paper, "nsga2:generations=1"], 2, own=own).arms[0].trials
    for run, page in zip(runs, on_the_page("gecco09", "GE-r4a")["100"], strict=False):
        assert run.loss == pytest.approx(achievement(np.array([page["nwp"], page["necd"]]), (0.2, 1.0)), rel=1e-11)
        assert run.evaluated == page["counted"]
