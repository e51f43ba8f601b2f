"""Models side by side: each curve is what its own search finds, no freer model loses more, bounds hold."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import BadJob, Interrupted, Stopped, Unsafe
from kpareto.faces.cli import main
from kpareto.fronts.models import ModelCurve, ModelCurves, ModelPoint, read_models, save_models
from kpareto.fronts.picture import render
from kpareto.fronts.problem import Problem, constrained, problem
from kpareto.searches.bounds import project
from kpareto.searches.exact_front import exact_front
from kpareto.searches.models import _with_larger, _with_nodes, compare_models, usual_ks
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import Cuts, make_cuts, make_order
from kpareto.tables.hierarchies import intervals
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table, sample_rows
from tests.twins.strategies import Case, cases

EVERY = ("lattice", "cuts", "strict", "local")


@pytest.fixture(scope="module")
def table() -> Table:
    """Some rows of Adult with four of its columns."""
    return project(sample_rows(adult_table(), 400, 1), [0, 1, 4, 5])


@pytest.fixture(scope="module")
def curves(table: Table) -> ModelCurves:
    """All models at two k."""
    return compare_models(problem(table, ["k", "glm"], 0.02), EVERY, [3, 10])


def test_each_curve_is_what_its_search_finds(table: Table, curves: ModelCurves) -> None:
    """The lattice has the exact least loss of each k; k, loss and leave to suppress are kept by every model."""
    assert [curve.name for curve in curves.curves] == list(EVERY)
    assert curves.allowed == 8
    for k in (3, 10):
        limits = {"k": float(k)}
        least = exact_front(problem(table, ["lm"], constrained(limits, 0.02), limits), "one")
        lattice, cuts, strict, local = (curve.at(k) for curve in curves.curves)
        assert lattice is not None
        assert cuts is not None
        assert strict is not None
        assert local is not None
        assert lattice.loss == pytest.approx(float(least.numbers.values[0, 0]))
        assert lattice.least == lattice.loss
        assert cuts.loss <= lattice.loss + 1e-12
        for point in (lattice, cuts, strict, local):
            assert point.reached >= k
            assert point.suppressed <= 8
            assert point.least is None or point.least <= point.loss + 1e-12
            assert point.kept == pytest.approx(100 * (1 - point.loss))
        assert local.least is not None
        assert strict.least is not None
        assert strict.least >= local.least  # a bound for any local recoding holds for the strict kind too
        assert cuts.least is not None  # of its own: cuts may show intervals of age that are no labels


def cut_losses(asked: Problem, space: Cuts) -> np.ndarray:
    """What every recoding of a small space loses that meets the limits: (recodings,) float64, by counting all."""
    genomes = np.array(list(itertools.product((0, 1), repeat=len(space.genes))), dtype=np.int64)
    numbers = asked.evaluate(space, genomes[space.valid(genomes)])
    return np.asarray(numbers.values[numbers.feasible, 0])


@settings(max_examples=15)
@given(
    case=cases(most_columns=2, most_leaves=5, persons=False),
    data=st.data(),
)
def test_no_point_passes_a_bound_that_holds_for_it(case: Case, data: st.DataObject) -> None:
    """Each model stays above its own bound and those of models that contain it, and so do all cuts, counted one by one."""
    table, ks = case.table, [1, 2, 3]
    share = data.draw(st.sampled_from([0.0, 0.2]))
    limits = data.draw(st.sampled_from([{}, {"l": 2.0}]))
    freed = Plan("local", "local", None, 1, {"intervals": True})
    own = data.draw(st.sampled_from([Plan(), Plan("nsga2", "cuts"), Plan("nsga2", "order"), freed]))
    fitting = [k for k in ks if k <= table.rows]
    try:
        asked = problem(table, ["k", "lm"], share, limits)
        shown = compare_models(asked, EVERY, fitting, own=own)
    except (Unsafe, BadJob):  # nothing meets the limits, or nothing can
        assume(False)
    curves = {curve.name: curve for curve in shown.curves}
    space = make_order(table.hierarchies) if own.space == "order" else make_cuts(table.hierarchies)
    holds = {"local": ["lattice", "strict", "local"], "cuts": ["lattice", "cuts"], "strict": ["strict"]}
    holds["local"] += [] if shown.apart else ["cuts"]
    for k in fitting:
        for wide, names in holds.items():
            bound = curves[wide].at(k)
            for point in (curves[name].at(k) for name in names):
                if bound is not None and bound.least is not None and point is not None:
                    assert point.loss >= bound.least - 1e-9
        cuts, wanted = curves["cuts"].at(k), {"k": float(k), **limits}
        losses = cut_losses(problem(table, ["lm"], constrained(wanted, share), wanted), space)
        if cuts is not None:
            assert cuts.loss >= losses.min() - 1e-9  # what is shown can be released
            assert cuts.least is None or losses.min() >= cuts.least - 1e-9


def dated(rows: int = 60) -> Table:
    """Ages whose hierarchy has labels in bad places: intervals keep far more than labels do."""
    ages = [str(20 + place // 6) for place in range(rows)]
    tree = intervals("age", sorted(set(ages)), [9])
    return read(pd.DataFrame({"age": ages}), Schema(("age",)), hierarchies={"age": tree})


def test_local_recoding_keeps_most_only_where_it_does() -> None:
    """Where cuts show intervals that are no labels, no bound is taken from the other and the sentence says so."""
    shown = compare_models(problem(dated(), ["k", "lm"]), "lattice,cuts,local", [10])
    cuts, local = shown.curves[1].points[0], shown.curves[2].points[0]
    assert cuts.loss < local.loss
    assert shown.apart == ("age",)
    assert "keeps most" not in shown.advice()
    assert "At k = 10 cuts kept more. In age cuts may group any neighbouring values" in shown.advice()
    freed = Plan("local", "local", None, 1, {"intervals": True})
    both = compare_models(problem(dated(), ["k", "lm"]), "lattice,cuts,local", [10], own=freed)
    assert both.apart == ()
    assert both.advice().startswith("Local recoding keeps most and opens most")
    assert compare_models(problem(dated(), ["k", "lm"]), "lattice", [10]).advice() == ""


def test_what_keeps_the_other_limits_by_chance_is_taken(table: Table) -> None:
    """Under k and l cuts keep no less than a recoding found under k alone that has that l, and are bounded as it is."""
    limits = {"k": 10.0, "l": 2.0}
    alone = run_plan(problem(table, ["lm"], constrained({"k": 10.0}, 0.0), {"k": 10.0}), Plan("improve", "cuts"))
    both = problem(table, ["lm"], constrained(limits, 0.0), limits).evaluate(alone.space, alone.genomes)
    assert both.feasible.all()
    point = compare_models(problem(table, ["k", "lm"], 0.0, {"l": 2}), "cuts", [10]).curves[0].points[0]
    assert point.loss <= both.values[0, 0] + 1e-12
    assert point.least == pytest.approx(alone.provenance.details["lower_bound"])


def test_little_time_gives_valid_curves(table: Table) -> None:
    """However little time there is, every point keeps its k, and what is not proven is not called so."""
    hasty = compare_models(problem(table, ["k", "lm"], 0.02), EVERY, [3, 10], seconds=0.01)
    for curve in hasty.curves:
        assert all(point.reached >= point.k for point in curve.points)
        assert all(point.least is None or point.least <= point.loss + 1e-12 for point in curve.points)


def test_what_you_would_gain(curves: ModelCurves) -> None:
    """The table has a row per k with the gain over the first model, and the same numbers stand in the JSON."""
    for row in curves.gains():
        kept = [row[name] for name in EVERY]
        assert all(isinstance(each, float) for each in kept)
        assert row["gain"] == pytest.approx(max(each for each in kept if each is not None) - (kept[0] or 0.0))
    data = json.loads(json.dumps(curves.to_dict()))
    assert data["gains"] == curves.gains()
    assert [model["name"] for model in data["models"]] == list(EVERY)
    assert "At k = 3, lattice keeps" in curves.sentence(3)
    assert curves._repr_html_().startswith("<table>")


def test_the_picture_is_the_same_for_the_same_curves(curves: ModelCurves, tmp_path: Path) -> None:
    """SVG and PNG have the same bytes twice; another ending is refused."""
    assert render(curves.plot()) == render(curves.plot())
    assert save_models(curves, tmp_path / "models.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(BadJob, match="End it in"):
        save_models(curves, tmp_path / "models.gif")


def test_limits_on_classes_are_kept(table: Table) -> None:
    """With a limit on l every model keeps it, at the price of no less loss."""
    plain = compare_models(problem(table, ["k", "lm"]), "lattice,local", [3])
    limited = compare_models(problem(table, ["k", "lm"], 0.0, {"l": 3}), "local, lattice", [3])
    assert [curve.name for curve in limited.curves] == ["lattice", "local"]
    for one, other in zip(plain.curves, limited.curves, strict=True):
        assert other.points[0].loss >= one.points[0].loss - (0.0 if one.proven else 0.02)


def test_words_and_numbers_that_are_wrong(table: Table) -> None:
    """An unknown model, a k beyond the rows and a limit on a loss are sentences."""
    asked = problem(table, ["k", "lm"])
    with pytest.raises(BadJob, match="Did you mean 'local'"):
        read_models("lattice,locl")
    with pytest.raises(BadJob, match="from 1 to 400"):
        compare_models(asked, ks=[401])
    with pytest.raises(BadJob, match="limits on classes"):
        compare_models(problem(table, ["k", "lm"], Suppression("none"), {"lm": 0.5}), ks=[2])


@pytest.mark.parametrize("model", EVERY)
def test_who_listens_can_stop_it(table: Table, model: str) -> None:
    """Stopped by whoever listens, nothing is handed out."""

    def stop(_done: int, _total: int) -> None:
        raise Stopped

    with pytest.raises(Interrupted, match="Stopped before"):
        compare_models(problem(table, ["k", "lm"]), [model], [3], report=stop)


def test_the_command_prints_writes_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--models prints the gains, writes JSON and a picture; beside another way of searching it is refused."""
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{20 + i % 9},{'fm'[i % 2]}\n" for i in range(90)))
    job = tmp_path / "job.toml"
    job.write_text(
        f'[data]\nsource = "{tmp_path.as_posix()}/people.csv"\n'
        '[columns.age]\nrole = "quasi-identifier"\nhierarchy = {intervals = [3, 9]}\n'
        '[columns.sex]\nrole = "quasi-identifier"\nhierarchy = {flat = true}\n'
        '[search]\nobjectives = ["k", "lm"]\n'
    )
    files = ["--json", str(tmp_path / "m.json"), "--picture", str(tmp_path / "m.svg")]
    assert main(["front", str(job), "-q", "--models", "lattice,cuts,local", *files]) == 0
    assert "what you would gain" in capsys.readouterr().out
    assert json.loads((tmp_path / "m.json").read_text())["schema"] == "kpareto-models-1"
    assert (tmp_path / "m.svg").read_bytes().startswith(b"<?xml")
    chosen = ["--set", "release.choose=k=7", "--set", "limits.k=4", "--json", str(tmp_path / "m.json")]
    assert main(["front", str(job), "-q", "--models", "lattice", *chosen]) == 0
    gains = json.loads((tmp_path / "m.json").read_text())["gains"]
    assert [row["k"] for row in gains] == [2, 3, 4, 5, 7, 10]
    assert main(["front", str(job), "-q", "--models", "lattice", "--local"]) == 2
    assert main(["front", str(job), "-q", "--seconds", "5"]) == 0
    assert main(["front", str(job), "-q", "--models", "lattice", "--seconds", "-1"]) == 2


def test_no_k_that_was_asked_for_is_hidden(table: Table) -> None:
    """The job's own ks, its limit and its choice are compared, and every curve is asked for the same."""
    limited = problem(table, ["k", "lm"], 0.0, {"k": 7.0})
    assert usual_ks(limited) == (2, 3, 5, 7, 10, 25, 50, 100)
    own = Plan("local", "local", options={"ks": [4, 30], "turns": 1})
    assert usual_ks(limited, own) == (4, 7, 30)
    assert usual_ks(limited, own, [8.5, 0]) == (4, 7, 9, 30)
    curves = compare_models(limited, "lattice,local", seconds=4, own=own)
    assert curves.ks == (4, 7, 30)
    assert [[point.k for point in curve.points] for curve in curves.curves] == [[4, 7, 30], [4, 7, 30]]


def test_a_curve_has_what_a_larger_k_and_the_lattice_have() -> None:
    """A search over cuts that has met nothing for a k does not hide what is known to be a recoding by cuts."""
    few, many = ModelPoint(3, 3, 0.5, 0.1, 0), ModelPoint(9, 9, 0.4, 0.2, 0)
    assert _with_larger([few, many], (3, 5, 9, 20)) == (
        ModelPoint(3, 9, 0.4, 0.1, 0),
        ModelPoint(5, 9, 0.4, None, 0),
        many,
    )
    lattice = ModelCurve("lattice", (ModelPoint(3, 4, 0.45, 0.45, 0), ModelPoint(20, 20, 0.9, 0.9, 0)), True, 0.0)
    cuts = _with_nodes(ModelCurve("cuts", (few, many), False, 0.0), lattice)
    assert cuts.points == (ModelPoint(3, 4, 0.45, 0.1, 0), many, ModelPoint(20, 20, 0.9, None, 0))
