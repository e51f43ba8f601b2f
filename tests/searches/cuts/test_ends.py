"""End points of intervals: steps, lists and MDLP, as a job has them."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kpareto as kp
from kpareto.errors import BadJob
from kpareto.fronts.front import load_front
from kpareto.fronts.problem import problem
from kpareto.searches.cuts.ends import find_ends, mdlp
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.cuts import Cuts
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table


def slow_mdlp(rows: list[tuple[int, int]]) -> set[int]:
    """Fayyad and Irani's rule row by row: the leaves before which a border stands; rows are (leaf, class)."""

    def entropy(some: list[tuple[int, int]]) -> float:
        counts = Counter(kind for _, kind in some)
        return -sum(n / len(some) * math.log2(n / len(some)) for n in counts.values())

    best: tuple[float, int] | None = None
    for leaf in sorted({leaf for leaf, _ in rows})[1:]:
        parts = [row for row in rows if row[0] < leaf], [row for row in rows if row[0] >= leaf]
        left = sum(len(part) * entropy(part) for part in parts) / len(rows)
        if best is None or left < best[0] - 1e-12:
            best = left, leaf
    if best is None:
        return set()
    low, high = [row for row in rows if row[0] < best[1]], [row for row in rows if row[0] >= best[1]]
    kinds = [len({kind for _, kind in some}) for some in (rows, low, high)]
    entropies = [entropy(some) for some in (rows, low, high)]
    delta = math.log2(3 ** kinds[0] - 2) - (kinds[0] * entropies[0] - kinds[1] * entropies[1] - kinds[2] * entropies[2])
    if entropies[0] - best[0] <= (math.log2(len(rows) - 1) + delta) / len(rows):
        return set()
    return {best[1]} | slow_mdlp(low) | slow_mdlp(high)


@settings(max_examples=150)
@given(pieces=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(1, 12)), min_size=1, max_size=14))
def test_mdlp_agrees_with_the_slow_twin(pieces: list[tuple[int, int, int]]) -> None:
    """On small tables with ties, empty leaves and one class alone."""
    counts = np.zeros((10, 3), dtype=np.int64)
    rows = []
    for leaf, kind, count in pieces:
        counts[leaf, kind] += count
        rows += [(leaf, kind)] * count
    assert {gap + 1 for gap in mdlp(counts).tolist()} == slow_mdlp(rows)


def people() -> Table:
    """People of 20 to 69 years, of whom those from 35 to 49 mostly earn more."""
    ages = [20 + number % 50 for number in range(1_000)]
    pay = ["high" if 35 <= age < 50 and number // 50 % 10 else "low" for number, age in enumerate(ages)]
    frame = pd.DataFrame({"age": ages, "sex": [number % 2 for number in range(1_000)], "pay": pay})
    schema = kp.Schema(("age", "sex"), target=("pay",))
    return kp.read(frame, schema, hierarchies={"age": {"intervals": [10, 20]}})


@pytest.mark.parametrize(
    ("wish", "borders"),
    [
        (10, [30, 40, 50, 60]),
        (25, [25, 50]),
        ([30, 65.5], [30, 66]),
        ("mdlp", [35, 50]),
        ("mdlp(column=pay)", [35, 50]),
    ],
)
def test_borders_stand_where_the_wish_says(wish: object, borders: list[int]) -> None:
    """A step means its multiples, a list its own numbers, and mdlp the places where the target changes."""
    table = people()
    assert (find_ends(table, {"age": wish})["age"] + 21).tolist() == borders


@pytest.mark.parametrize("method", ["genitor", "nsga2", "recut", "flip", "exact"])
def test_every_search_keeps_to_the_end_points_of_a_job(method: str) -> None:
    """No point of the front separates other ages, and its file is read back."""
    table = people()
    asked = problem(table, ["lm"], Suppression("below-k", k=30))
    small = {"genitor": {"population": 10, "budget": 200}, "nsga2": {"population": 8, "generations": 4}}
    front = run_plan(asked, Plan(method, "cuts", options={"end_points": {"age": "mdlp"}, **small.get(method, {})}))
    assert isinstance(front.space, Cuts)
    assert len(front) >= 1
    for point in front:
        cut = point.recoding.cuts[0]
        assert set((np.flatnonzero(np.diff(cut)) + 21).tolist()) <= {35, 50}
    again = load_front(json.loads(json.dumps(front.to_dict())), asked)
    assert [point.values for point in again] == [point.values for point in front]
    assert again.provenance.options["end_points"] == {"age": "mdlp"}


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"height": 5}, r"search\.end_points\.height is for no quasi-identifier\. There are: age, sex"),
        ({"age": [10]}, r"search\.end_points\.age has the border 10, which separates no two values"),
        ({"age": "mdl"}, r"search\.end_points\.age is 'mdl'\. Give end points by column"),
        ({"age": "mdlp(column=sex)"}, r"needs the classes of a target\. No target column 'sex'"),
    ],
)
def test_wishes_that_cannot_be_met_are_sentences(wish: dict[str, object], words: str) -> None:
    """An unknown column, a border outside, an unknown rule, a target that is none."""
    with pytest.raises(BadJob, match=words):
        find_ends(people(), wish)


def test_the_lattice_has_no_end_points() -> None:
    """Beside a search of the lattice the key is refused, and a step of nothing too."""
    with pytest.raises(BadJob, match=r"search\.end_points is for the spaces cuts and order"):
        Plan("exact", options={"end_points": {"age": 5}}).check()
    with pytest.raises(BadJob, match=r"end_points is \{'age': 0\}\. Give end points by column"):
        Plan("genitor", "cuts", options={"end_points": {"age": 0}}).check()
