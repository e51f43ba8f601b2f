"""The front as an object: choosing, knee, prices, presets, slices, comparison, hypervolume, JSON."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadJob, Unsafe
from kpareto.fronts.dominance import achievement, drawn_costs, hypervolume, non_dominated, unit_costs
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem
from kpareto.searches.exact_front import exact_front
from kpareto.tables.adult import adult_table
from kpareto.tables.table import Table
from tests.fronts.test_problem import problems
from tests.twins.strategies import Case, cases


@pytest.fixture(scope="module")
def adult() -> Front:
    """The complete front of k and GLM on Adult, one percent suppressed at most."""
    return exact_front(problem(adult_table("replication"), ["k", "glm"], 0.01))


@pytest.fixture(scope="module")
def wide() -> Front:
    """A front of four objectives."""
    return exact_front(problem(adult_table("default", target="salary-class"), ["k", "l", "lm", "cm"], 0.01))


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data())
def test_no_point_dominates_another_and_the_order_is_fixed(case: Case, data: st.DataObject) -> None:
    """Points are mutually non-dominated and run from worst to best in the first objective."""
    front = exact_front(data.draw(problems(case.table)), threads=1)
    keys = front.numbers.keys
    assert non_dominated(keys).tolist() == list(range(len(front)))
    assert all(a[0] >= b[0] for a, b in pairwise(keys.tolist()))


@settings(max_examples=40)
@given(case=cases(persons=False), data=st.data())
def test_choosing_a_k_gives_the_least_loss_at_that_k_or_higher(case: Case, data: st.DataObject) -> None:
    """For every k up to the number of rows, by brute force over all nodes."""
    made = problem(case.table, ["k", "lm"], data.draw(st.sampled_from([0.0, 0.3])))
    front = exact_front(made, threads=1)
    every = list(made.whole_lattice(threads=1))
    k = np.concatenate([part.values[:, 0] for part in every])
    loss = np.concatenate([part.keys[:, 1] for part in every])
    feasible = np.concatenate([part.feasible for part in every])
    for wanted in range(1, case.table.rows + 1):
        good = feasible & (k >= wanted)
        if not good.any():
            with pytest.raises(Unsafe, match="No point meets k"):
                front.choose(k=wanted)
            continue
        point = front.choose(k=wanted)
        assert point.values["k"] >= wanted
        assert front.numbers.keys[point.id, 1] == loss[good].min()
        assert point.partition.sizes[point.partition.visible].min() == point.values["k"]


def test_choices_by_words_and_by_limits(adult: Front) -> None:
    """Limits on either side, several at once, and a sentence when nothing meets them."""
    assert adult.choose(k=5).values["k"] == 5
    cheap = adult.choose({"glm": 100_000})
    assert cheap.values["glm"] <= 100_000
    assert cheap.values["k"] == max(p.values["k"] for p in adult if p.values["glm"] <= 100_000)
    with pytest.raises(Unsafe, match=r"No point meets k = 40000\. The best the front has is k = 30162"):
        adult.choose(k=40_000)
    with pytest.raises(BadJob, match=r"'lm' is not an objective of this front\. Did you mean 'glm'"):
        adult.choose(lm=0.5)
    with pytest.raises(BadJob, match="Say what the choice must meet"):
        adult.choose()
    with pytest.raises(BadJob, match=r"No point 99 on this front\. Its points are 0 to 51"):
        adult[99]


def test_the_order_of_objectives_does_not_turn_the_choice_round() -> None:
    """With k, l and a loss, asking for k gives the least loss, not the highest l."""
    table = adult_table("default")
    first = exact_front(problem(table, ["k", "l", "lm"], 0.01)).choose(k=5)
    second = exact_front(problem(table, ["lm", "k", "l"], 0.01)).choose(k=5)
    alone = exact_front(problem(table, ["k", "lm"], 0.01)).choose(k=5)
    assert first.values["lm"] == second.values["lm"] == alone.values["lm"]
    assert first.recoding.levels == second.recoding.levels


def test_printing_shows_no_values(adult: Front) -> None:
    """A front, a point, a table and a partition print as one line about themselves."""
    for thing in (adult, adult[3], adult.problem.table, adult[3].partition):
        assert len(repr(thing)) < 200
        assert "\n" not in repr(thing)
    assert "52 points" in repr(adult)


def test_presets_are_the_choices_for_common_class_sizes(adult: Front) -> None:
    """3, 5, 11 and 20, each met at the least loss."""
    presets = adult.presets()
    assert list(presets) == [3, 5, 11, 20]
    for k, point in presets.items():
        assert point.id == adult.choose(k=k).id


def test_preferring_minimizes_the_achievement_function(wide: Front) -> None:
    """The chosen point has the least achievement among the points that meet the limits, and is on the front."""
    point = wide.prefer(k=5, lm=0.3, cm=0.2)
    values = wide.numbers.values[wide.meeting({"k": 5})][:, [2, 3]]
    least = achievement(values, [0.3, 0.2]).min()
    assert achievement(np.array([point.values["lm"], point.values["cm"]]), [0.3, 0.2]) == least
    with pytest.raises(BadJob, match="needs at least one objective that is better lower"):
        wide.prefer(k=5)


def test_the_knee_weighs_privacy_and_information_alike(wide: Front) -> None:
    """No other point but an end has a smaller sum of the two sides; more of it is in test_knee.py."""
    scaled = unit_costs(drawn_costs(wide.problem.objectives, wide.numbers.values))
    sides = np.column_stack((scaled[:, [0, 1]].mean(axis=1), scaled[:, [2, 3]].mean(axis=1)))
    total, inner = sides.sum(axis=1), sides.max(axis=1) < sides.max()
    assert inner[wide.knee().id]
    assert total[wide.knee().id] == pytest.approx(total[inner].min())


def test_prices_are_differences_along_the_front(adult: Front) -> None:
    """Each row leads to the next, and price times step is the cost."""
    rows = adult.prices()
    assert len(rows) == adult.vectors - 1
    for row, after in pairwise(rows):
        assert row["next"] == after["id"]
        assert row["price"] * row["step"] == pytest.approx(row["cost"])
        assert row["glm"] + row["cost"] == pytest.approx(after["glm"])
    assert all(row["cost"] > 0 for row in rows)


def test_slices_and_filters_are_fronts(wide: Front) -> None:
    """A slice has no dominated point in its own objectives; a filter keeps what meets the limits."""
    part = wide.slice("k", "cm")
    assert part.names == ["k", "cm"]
    assert non_dominated(part.numbers.keys).tolist() == list(range(len(part)))
    alone = exact_front(problem(wide.problem.table, ["k", "cm"], 0.01))
    assert {tuple(k) for k in part.numbers.keys.tolist()} == {tuple(k) for k in alone.numbers.keys.tolist()}
    strict = wide.filter(k=10, l=3)
    assert len(strict) < len(wide)
    assert all(p.values["k"] >= 10 and p.values["l"] >= 3 for p in strict)


def test_comparing_two_points_counts_who_gains_and_who_loses(adult: Front) -> None:
    """Rows that gain, lose or stay alike add up to all rows, also by group."""
    found = adult.compare(4, 12, by="sex")
    assert 0 < found.gain_rows <= found.rows == 30_162
    assert found.gain_rows + found.lose_rows <= found.rows
    assert sum(group.gain_rows for group in found.groups.values()) == found.gain_rows
    assert set(found.groups) == {"Male", "Female"}
    other = adult.compare(12, 4)
    assert (other.gain_rows, other.lose_rows) == (found.lose_rows, found.gain_rows)


@settings(max_examples=50)
@given(points=st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=8), objectives=st.integers(1, 3))
def test_hypervolume_counts_dominated_cells(points: list[tuple[int, int, int]], objectives: int) -> None:
    """On a small grid of whole numbers the volume is the number of unit cells some point dominates."""
    costs = np.array(points, dtype=np.float64)[:, :objectives]
    grid = np.stack(np.meshgrid(*[np.arange(5)] * objectives, indexing="ij"), axis=-1).reshape(-1, objectives)
    wanted = sum(any((point <= cell).all() for point in costs) for cell in grid)
    assert hypervolume(costs, np.full(objectives, 5.0)) == pytest.approx(wanted)


def test_hypervolume_of_a_front(adult: Front) -> None:
    """Between nothing and everything, and smaller when points are left out."""
    whole = adult.hypervolume()
    assert 0 < whole < 1
    reference = {"k": 1, "glm": 241_296}
    assert adult.take([0, 10, 41]).hypervolume(reference) < adult.hypervolume(reference)


def test_json_is_what_the_page_says(adult: Front, wide: Front) -> None:
    """Every field of docs/fronts.md, native units, and text that any JSON reader takes."""
    data = json.loads(json.dumps(adult.to_dict(), allow_nan=False))
    assert data["rows"] == 30_162
    assert data["space"] == {"kind": "lattice", "size": 17_920}
    assert data["search"]["complete"] is True
    assert data["search"]["evaluated"] == 17_920
    assert data["objectives"][0]["name"] == "k"
    assert data["objectives"][0]["better"] == "higher"
    point = data["points"][1]
    assert point["levels"]["age"] == 4
    assert point["values"]["k"] == 2
    assert point["suppressed"] == 297
    assert point["classes"] == adult[1].partition.classes
    cm = wide.to_dict()["points"][3]["values"]
    assert cm["cm_rows"] == round(cm["cm"] * 30_162)


def test_rows_make_a_frame(adult: Front) -> None:
    """One flat row per point with numbers and levels."""
    rows = adult.rows()
    assert len(rows) == len(adult)
    assert list(rows[0]) == ["id", "k", "glm", "suppressed", *adult.problem.table.schema.quasi]


def test_an_empty_front_says_so(tiny: Table) -> None:
    """Limits that nothing meets leave a front without points, and every choice is a sentence."""
    front = exact_front(problem(tiny, ["k", "lm"], 0.0, {"k": 7}))
    assert len(front) == 0
    assert front.provenance.complete
    with pytest.raises(Unsafe, match="no knee"):
        front.knee()
    with pytest.raises(Unsafe, match="No point meets"):
        front.choose(k=2)


def test_parquet_and_arrow_hold_the_points(adult: Front, tmp_path: Path) -> None:
    """The file read back has one row per point with its numbers and levels."""
    adult.write_parquet(tmp_path / "front.parquet")
    back = pq.read_table(tmp_path / "front.parquet")
    assert back.num_rows == len(adult)
    assert back.column("k").to_pylist() == [point.values["k"] for point in adult]
    assert back.equals(adult.arrow())
    assert adult.to_pandas().to_dict("records") == adult.to_polars().to_dicts() == adult.rows()


def test_a_notebook_shows_the_front_by_itself(adult: Front, wide: Front, tiny: Table) -> None:
    """Well-formed HTML with a picture, a table, and what is proven; names are escaped; an empty front too."""
    for front in (adult, wide):
        page = front._repr_html_()
        root = ET.fromstring(f"<div>{page}</div>")
        assert len(root.findall(".//svg")) == 1
        assert "complete: no trade-off by whole levels is missing" in page
        assert len(root.findall(".//tbody/tr")) == min(40, len(front))
    assert "No points" in exact_front(problem(tiny, ["k", "lm"], 0.0, {"k": 7}))._repr_html_()
