"""What an analyst gets from marked points: the numbers of utility, better recodings beside them, and silence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import kpareto as kp
from kpareto.errors import Stopped
from kpareto.faces.cli import main
from kpareto.faces.report import make_report
from kpareto.faces.web.explore import front_view, marks_view
from kpareto.faces.web.turns import Work
from kpareto.fronts import use
from kpareto.fronts.front import Front, add_measure, kept_percent, marks_of, picture
from kpareto.fronts.use import _Nodes, use_of_marks, use_sentence
from kpareto.kernels.compiling import NotCompiled
from kpareto.measures.use import is_more_than_chance, yardstick
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.lattice import Lattice
from kpareto.tables.spelling import percent
from tests.twins.use import related_rows, related_table


def one_that_tells() -> pa.Table:
    """Three columns of five values, the first of which tells what people have; hiding any of them costs the same."""
    random = np.random.default_rng(2)
    first, *others = (random.integers(0, 5, 300) for _ in range(3))
    ill = np.where(random.random(300) < 0.9, first, random.integers(0, 5, 300))
    return pa.table({name: v.astype(str) for name, v in zip("abct", (first, *others, ill), strict=True)})


@pytest.fixture(scope="module")
def front() -> Front:
    """Its front, two percent suppressed at most."""
    hierarchies = {name: from_levels(name, [(str(v), "*") for v in range(5)]) for name in "abc"}
    table = kp.read(one_that_tells(), kp.Schema(("a", "b", "c"), sensitive=("t",)), hierarchies=hierarchies)
    return kp.front(table, suppression=0.02)


def test_marked_points_have_the_numbers_of_utility(front: Front) -> None:
    """Error and control, for every mark and no other point."""
    uses = use_of_marks(front)
    assert set(uses) == set(marks_of(front))
    for place, told in uses.items():
        counts = kp.utility(front[place]).counts
        assert counts.error is not None
        assert counts.control is not None
        assert (told.error, told.control, told.counts) == (counts.error.mean, counts.control.mean, counts.queries)
    assert f"{next(iter(uses.values())).counts} random counts" in use_sentence(uses)


def test_a_recoding_that_is_much_better_in_use_is_named(front: Front) -> None:
    """The least loss hides the column that tells; another recoding keeps it, is no less safe and costs two points."""
    told = use_of_marks(front)[front.choose(k=5).id]
    assert told.better is not None
    other = told.better.point
    assert other.values["k"] >= told.point.values["k"]
    assert kept_percent(told.point) - use.POINTS <= kept_percent(other) < kept_percent(told.point)
    assert kp.make("count-error")(other.partition) == told.better.error < use.GAIN * told.error
    errors = [yardstick(other.table).errors(point.partition) for point in (told.point, other)]
    assert is_more_than_chance(*errors)
    assert told.words() == (
        "Better in use than point 1: counts off by 26.2% instead of 67.7%, with k = 8 and 1.3 points of detail less: "
        "a as it is, b hidden, c as it is."
    )
    data = told.to_dict()["better"]
    assert (data["levels"], data["values"]["k"], data["kept"]) == ({"a": 0, "b": 1, "c": 0}, 8, 65.33)
    json.dumps(told.to_dict())


def test_nothing_is_compiled_to_name_another(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the loop of single nodes is not at hand the whole lattice is counted, and the same recodings are named."""
    named = [told.to_dict() for told in use_of_marks(front).values()]
    monkeypatch.setattr(kp.Problem, "evaluate", not_at_hand)
    assert [told.to_dict() for told in use_of_marks(front).values()] == named
    assert any("better" in each for each in named)


def test_nodes_that_a_search_has_counted_are_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a front that was just searched nothing is counted, and the same is told of it as of one that was read."""
    monkeypatch.setattr(use, "COUNTED", 10**9)
    searched = kp.front(related_table(related_rows(300)), suppression=0.02)
    told = [each.to_dict() for each in use_of_marks(replace(searched, problem=replace(searched.problem))).values()]
    counted = pytest.fail
    monkeypatch.setattr(kp.Problem, "evaluate", lambda *_: counted("nodes were counted again"))
    monkeypatch.setattr(kp.Problem, "whole_lattice", lambda *_: counted("the lattice was counted again"))
    assert [each.to_dict() for each in use_of_marks(searched).values()] == told
    assert told


def test_more_numbers_than_are_kept_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a lattice with many numbers, and of one that was not counted to its end, none are kept."""
    asked = kp.problem(related_table(related_rows(300)), ["k", "lm"], 0.02)
    part = next(iter(asked.whole_lattice(1)))
    assert "every_node" not in vars(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kpareto.fronts.problem.MOST_KEPT", len(part.which) - 1)
        every = list(asked.whole_lattice(1))
        assert "every_node" not in vars(asked)
    assert asked.every_node.which.tolist() == [node for part in every for node in part.which.tolist()]


@pytest.mark.parametrize(
    "rule", [kp.Suppression(), kp.Suppression("below-k", 0.1, 3), kp.Suppression("as-needed", 0.1)]
)
def test_some_nodes_of_the_whole_lattice(rule: kp.Suppression, front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order, by any rule, they have the numbers that they have when they are counted alone."""
    asked = kp.problem(front.problem.table, ["k", "lm"], rule)
    lattice = Lattice(asked.table.hierarchies)
    genomes = lattice.levels(np.array([6, 1, 7, 4]))
    alone = asked.evaluate(lattice, genomes)
    monkeypatch.setattr(kp.Problem, "evaluate", not_at_hand)
    nothing = np.zeros(lattice.size)
    some = _Nodes(asked, lattice, lattice.levels(np.arange(lattice.size)), nothing, nothing).count(genomes)
    first, second = (numbers.take(np.lexsort((numbers.thresholds, numbers.which))) for numbers in (alone, some))
    for name in ("which", "thresholds", "values", "keys", "feasible", "suppressed"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


def not_at_hand(*_: object) -> None:
    """In place of what would have to be compiled."""
    raise NotCompiled


def test_no_other_recoding_is_named_for_chance(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the paired test fails, nothing is said; so it is where the lattice is not looked through."""
    monkeypatch.setattr(use, "is_more_than_chance", lambda worse, better: False)
    assert all(told.words() == "" for told in use_of_marks(front).values())
    monkeypatch.undo()
    monkeypatch.setattr(use, "MOST_NODES", 1)
    assert all(told.better is None for told in use_of_marks(front).values())


def test_nothing_is_said_where_nothing_can_be_judged(front: Front) -> None:
    """Few rows, no points, no marks: no number and no sentence."""
    assert use_of_marks(kp.front(related_table(related_rows(29)))) == {}
    assert use_of_marks(front.take([])) == {}
    assert use_sentence({}) == ""


def test_fronts_without_k_or_by_class_have_numbers_too(front: Front) -> None:
    """Of their points; no other recoding is looked for."""
    table = front.problem.table
    for other in (kp.front(table, objectives=["glm", "dcn"]), kp.front(table, method="local")):
        uses = use_of_marks(other)
        assert uses
        assert all(told.better is None and told.error >= 0 for told in uses.values())


def test_a_picture_can_have_use_upright(front: Front) -> None:
    """The points by k and error with the control as a line; that such a picture is complete is not said."""
    drawn = picture(front, y="count-error")
    assert drawn.axes[1] == "count-error"
    assert drawn.control == yardstick(front.problem.table).control.mean()
    errors = {(p.values["k"], p.measure(kp.make("count-error"))) for p in front}
    assert {tuple(pair) for pair in drawn.points} <= errors == {tuple(pair) for pair in drawn.cloud}
    assert "not complete: count-error was measured on the points of a front by k, glm" in drawn.title
    assert picture(front, x="k", y="relations").control == 1
    assert picture(front).control is None
    related = kp.front(front.problem.table, objectives=["k", "relations"], suppression=0.1)
    assert [each["control"] for each in front_view(related)["objectives"]] == [None, 1.0]
    for confidential in (False, True):
        drawing = make_report(related.recommendation.point, confidential=confidential).front.drawing
        assert drawing is not None
        assert drawing.control == 1
    with pytest.raises(kp.BadInput, match="'count-eror' is not an objective of this front"):
        picture(front, y="count-eror")


def test_a_point_with_one_more_number_stays_the_same(front: Front) -> None:
    """Its classes are those of the front that it comes from."""
    wider = add_measure(front, kp.make("relations"))
    for before, after in zip(front, wider, strict=True):
        assert after.partition.suppressed.tolist() == before.partition.suppressed.tolist()
        assert {**after.values, "relations": 0} == {**before.values, "relations": 0}


def test_the_page_tells_it(front: Front) -> None:
    """A line for every mark and one for the control, then the better recodings; nothing where nothing can be judged."""
    uses, answer = use_of_marks(front), marks_view(front, Work())
    rows = [(", ".join(words), place, percent(uses[place].error)) for place, words in marks_of(front).items()]
    control = percent(next(iter(uses.values())).control)
    assert answer["table"]["rows"] == (*rows, ("column totals alone", "", control))
    assert answer["sentences"][0] == use_sentence(uses)
    assert [words for words in answer["sentences"] if words.startswith("Better in use than point")]
    assert marks_view(kp.front(related_table(related_rows(29))), Work()) == {"table": None, "sentences": []}
    work = Work()
    work.stop()
    with pytest.raises(Stopped):
        marks_view(front, work)


def test_the_terminal_and_the_json_tell_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column for marked points, a sentence with the control, the better recoding; a misspelled name is a sentence."""
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(one_that_tells(), "in.csv")
    roles = "\n".join(f'[columns.{n}]\nrole = "quasi-identifier"\nhierarchy = {{flat = true}}' for n in "abc")
    job = f'[data]\nsource = "in.csv"\n{roles}\n[columns.t]\nrole = "sensitive"\n[suppression]\nlimit = 0.02\n'
    Path("job.toml").write_text(job, encoding="utf-8")
    assert main(["front", "job.toml", "--json", "f.json", "--measure", "relations", "-q"]) == 0
    out = capsys.readouterr().out
    assert "off" in out.splitlines()[0].split()
    assert "labels fitted to column totals. From these totals alone it is " in out
    assert "Better in use than point 1: counts off by " in out
    data = json.loads(Path("f.json").read_text(encoding="utf-8"))
    assert all(set(mark["use"]) >= {"counts", "error", "control"} for mark in data["marks"])
    assert all("relations" in point["measured"] for point in data["points"])
    assert main(["front", "job.toml", "--measure", "count-eror"]) == 2
    assert "Did you mean 'count-error'?" in capsys.readouterr().err
