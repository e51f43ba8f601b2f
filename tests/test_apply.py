"""A stored recoding applied to new rows: suppression, k, loss, unseen values, earlier releases."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.apply import apply
from kpareto.builders import load
from kpareto.builders.loading import placed_by_rule
from kpareto.datasets import adult, adult_table
from kpareto.errors import BadHierarchy, BadInput, BadJob, BadTable
from kpareto.frames import read
from kpareto.loss import glm, lm
from kpareto.partition import Suppression
from kpareto.recoding import node
from kpareto.release import release
from kpareto.schema import Schema
from kpareto.stored import Choice, hierarchy_data, hierarchy_from, read_stored, store
from kpareto.verify import verify
from tests.releases import AGES, chosen, people
from tests.strategies import Case, cases, recodings, suppressions


@settings(max_examples=60, deadline=None)
@given(case=cases(), data=st.data())
def test_a_recoding_survives_its_file(
    tmp_path_factory: pytest.TempPathFactory, case: Case, data: st.DataObject
) -> None:
    """Hierarchies, cuts, labels and losses come back from the file, and its bytes are the same again."""
    suppression = data.draw(suppressions(rules=["none", "below-k", "cap-max-k"]))
    choice = Choice(case.table, data.draw(recodings(case.table)), suppression, {"k": 2})
    stored = store(choice)
    file = tmp_path_factory.mktemp("stored") / "recoding.json"
    stored.write(file)
    again = read_stored(file)
    assert again.text() == stored.text() == file.read_text()
    assert again.recoding.labels == choice.recoding.labels
    assert [cut.tolist() for cut in again.recoding.cuts] == [cut.tolist() for cut in choice.recoding.cuts]
    partition = choice.partition()
    assert stored.fit["lm"] == pytest.approx(lm()(partition), abs=1e-9)
    assert again.loss(partition)["glm"] == pytest.approx(glm()(partition), abs=1e-6)


def test_adult_test_by_the_recoding_of_adult_data(tmp_path: Path) -> None:
    """The rows of adult.test under a recoding found on adult.data: both suppressions and both losses (IY-13)."""
    table = adult_table()
    choice = Choice(table, node(table.hierarchies, (4, 2, 3, 2, 0, 0, 3, 1)), Suppression("cap-max-k", 0.01), {"k": 5})
    fitted = release(choice, adult("train"), tmp_path / "train.csv")
    store(choice, None, fitted.origin).write(tmp_path / "recoding.json")
    found = apply(tmp_path / "recoding.json", adult("test"), tmp_path / "test.csv", earlier=[tmp_path / "train.csv"])
    assert (found.fit["rows"], found.fit["suppressed"], found.fit["k"]) == (30162, 280, 7)
    assert (found.batch["rows"], found.release.rows + found.batch["suppressed"]) == (15060, 15060)
    assert found.batch["suppressed"] == 160
    assert found.fit["lm"] == pytest.approx(lm()(fitted.partition))
    assert found.batch["lm"] == pytest.approx(found.fit["lm"], abs=0.01)
    assert found.fit["glm"] == pytest.approx(found.fit["lm"] * 8 * 30162)
    assert found.k >= 5
    assert found.k_union >= found.k
    assert found.alarms == (
        "160 of 15,060 new rows are suppressed, and the limit is 150. Search again on the new rows.",
    )
    assert verify(tmp_path / "test.csv", found.release.certificate).rows == found.release.rows


def test_k_is_counted_on_the_batch_and_on_the_union(tmp_path: Path) -> None:
    """The union with an earlier release of the same rows has classes twice as large."""
    rows = people()
    stored = store(chosen(rows), None, release(chosen(rows), rows).origin)
    first = apply(stored, rows, tmp_path / "first.csv")
    assert first.remarks[0].startswith("These are the rows of the fitting table.")
    second = apply(stored, rows, tmp_path / "second.parquet", earlier=[tmp_path / "first.csv"])
    assert (first.k, first.k_union) == (15, 15)
    assert (second.k, second.k_union) == (15, 30)
    with pytest.raises(BadTable, match="An earlier release has no column 'age'"):
        apply(stored, rows, earlier=[rows.select(["sex"])])


def test_suppression_is_worked_out_on_the_new_rows() -> None:
    """Classes that are small in the batch go, and too many of them are an alarm, as is a loss that drifts."""
    stored = store(chosen(people()), None, release(chosen(people()), people()).origin)
    few = people().slice(0, 43)  # of the third batch only three rows
    found = apply(stored, pa.concat_tables([people(1), people(1).slice(0, 3)]).slice(0, 43))
    assert found.batch["suppressed"] == 0
    small = apply(replace(stored, limits={"k": 6}), few)
    assert small.batch["suppressed"] > 0
    assert "of 43 new rows are suppressed, and the limit is 0" in small.alarms[-1]
    assert "The loss drifts: LM is" in small.alarms[0]
    assert apply(replace(stored, limits={"k": 6}), few, tolerance=1).alarms == small.alarms[1:]


def numbers(*ages: int) -> pa.Table:
    """Rows with these ages, five times each."""
    return pa.table({"age": [age for age in ages for _ in range(5)]})


def stored_ages(**levels: int) -> object:
    """A recoding of the ages 20 to 59 by decades."""
    spans = np.stack([np.arange(20, 60)] * 2, axis=1).astype(float)
    ages = replace(AGES, spans=spans, ordered=True)
    table = read(numbers(20, 35, 59), Schema(("age",)), hierarchies={"age": ages})
    return store(Choice(table, node(table.hierarchies, (levels.get("age", 1),)), limits={"k": 5}))


def test_unseen_values_are_an_error_unless_told(tmp_path: Path) -> None:
    """An unknown value is named with its rows; a number may go to the nearest leaf, any cell may become a star."""
    stored = stored_ages()
    with pytest.raises(
        BadHierarchy, match=r"1 value in 'age' \(5 rows\) that the recoding does not know: '75' \(5 rows\)"
    ):
        apply(stored, numbers(20, 75))  # type: ignore[arg-type]
    near = apply(stored, numbers(20, 75), tmp_path / "near.csv", unseen="nearest")  # type: ignore[arg-type]
    assert sorted((tmp_path / "near.csv").read_text().split()) == sorted(["age", *["20-29"] * 5, *["50-59"] * 5])
    assert near.unseen == {"age": ("75",)}
    star = apply(stored, numbers(20, 75), tmp_path / "star.csv", unseen="star")  # type: ignore[arg-type]
    assert sorted((tmp_path / "star.csv").read_text().split()) == sorted(["age", *["20-29"] * 5, *["*"] * 5])
    assert star.batch["lm"] > near.batch["lm"]
    with pytest.raises(BadJob, match="Unseen values can be treated by error, nearest or star, not 'x'"):
        apply(stored, numbers(20), unseen="x")  # type: ignore[arg-type]
    table = read(pa.table({"q": ["a", "b"]}), Schema(("q",)))
    words = store(Choice(table, node(table.hierarchies, (0,))))
    with pytest.raises(BadHierarchy, match="Column 'q' is not made of numbers, so nothing is nearest to a new value"):
        apply(words, pa.table({"q": ["a", "c"]}), unseen="nearest")
    assert apply(words, pa.table({"q": ["a", "c"]}), unseen="star").release.data["q"].to_pylist().count("*") == 1


def test_stars_where_the_whole_column_is_one() -> None:
    """Where the column is one group anyway, an unseen value joins it."""
    found = apply(stored_ages(age=2), numbers(20, 75), unseen="star")  # type: ignore[arg-type]
    assert found.release.data["age"].to_pylist() == ["*"] * 10


def test_losses_are_measured_by_the_bounds_of_the_fitting_table() -> None:
    """A batch with fewer values loses as much per cell as the fitting table did."""
    stored = stored_ages()
    found = apply(stored, numbers(20, 59))  # type: ignore[arg-type]
    assert found.batch["lm"] == pytest.approx(found.fit["lm"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is not JSON"),
        ("{}", "is not a recoding file of kpareto"),
        ('{"kpareto recoding": 1}', "is not whole: KeyError"),
    ],
)
def test_files_that_are_no_recoding(tmp_path: Path, text: str | None, words: str) -> None:
    """Each is one sentence."""
    if text is not None:
        (tmp_path / "r.json").write_text(text)
    with pytest.raises(BadInput, match=words):
        read_stored(tmp_path / "r.json")


def test_a_hierarchy_changed_in_the_file_is_seen(tmp_path: Path) -> None:
    """A label edited by hand no longer fits the hash."""
    text = store(chosen(people())).text().replace('"20-29"', '"20-30"')
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(BadInput, match="The hierarchy of 'age' in the recoding file was changed"):
        read_stored(tmp_path / "r.json")


def test_infinite_borders_survive() -> None:
    """Open cells have infinite edges, which JSON has no number for."""
    edges = np.array([-np.inf, 0, np.inf])
    tree = hierarchy_from("q", {**hierarchy_data(read(pa.table({"q": ["a", "b"]}), Schema(("q",))).hierarchies[0])})
    open_cells = replace(tree, edges=edges)
    data = json.loads(json.dumps(hierarchy_data(open_cells), allow_nan=False))
    back = hierarchy_from("q", data).edges
    assert back is not None
    assert back.tolist() == edges.tolist()


def test_a_column_that_the_fitting_table_did_not_have_is_not_released_unless_told(tmp_path: Path) -> None:
    """New columns are refused by name, dropped or kept as told; missing ones are a sentence or an error."""
    rows = people()
    fit = release(chosen(rows), rows)
    assert fit.remarks == ("These columns leave as they are: note.",)
    store(chosen(rows), None, fit.origin).write(tmp_path / "recoding.json")
    more = people(2).append_column("phone", pa.array([f"0{at}" for at in range(80)]))
    with pytest.raises(BadInput, match=r"column 'phone', which the fitting table did not have: .*--new-columns drop"):
        apply(tmp_path / "recoding.json", more)
    dropped = apply(tmp_path / "recoding.json", more, tmp_path / "new.csv", new_columns="drop")
    assert (tmp_path / "new.csv").read_text().splitlines()[0] == "age,sex,illness,note"
    assert dropped.remarks == ("New columns were left out: phone.",)
    kept = apply(tmp_path / "recoding.json", more, new_columns="keep")
    assert kept.release.data.column_names == ["age", "sex", "illness", "note", "phone"]
    assert kept.release.remarks == ("These columns leave as they are: note, phone.",)
    fewer = apply(tmp_path / "recoding.json", people(2).drop_columns(["note"]))
    assert fewer.remarks == ("The new rows lack columns of the fitting table: note.",)
    with pytest.raises(BadInput, match="The new rows have no column 'sex', which the recoding needs"):
        apply(tmp_path / "recoding.json", people(2).drop_columns(["sex"]))
    with pytest.raises(BadInput, match="does not say which columns without a role the fitting table had"):
        apply(store(chosen(rows)), people(2))
    with pytest.raises(BadJob, match="New columns can be treated by error, drop or keep, not 'x'"):
        apply(store(chosen(rows)), people(2), new_columns="x")  # type: ignore[arg-type]


def test_new_rows_are_read_in_the_encoding_of_the_fitting_table(tmp_path: Path) -> None:
    """The recoding file knows the encoding; another can be given."""
    text = "town,n\n" + "Köln,1\n" * 6 + "Ulm,2\n" * 6
    (tmp_path / "in.csv").write_text(text, encoding="latin-1")
    table = read(tmp_path / "in.csv", Schema(("town",)), encoding="latin-1")
    choice = Choice(table, node(table.hierarchies, (0,)), limits={"k": 5})
    fit = release(choice, tmp_path / "in.csv", tmp_path / "out.csv", encoding="latin-1")
    stored = store(choice, None, fit.origin)
    (tmp_path / "new.csv").write_text(text + "Ulm,3\n", encoding="latin-1")
    assert apply(stored, tmp_path / "new.csv").release.rows == 13
    (tmp_path / "utf.csv").write_text(text, encoding="utf-8")
    assert apply(stored, tmp_path / "utf.csv", encoding="utf-8").release.rows == 12
    with pytest.raises(BadTable, match=r'encoding="latin-1"\. .* stands under \[data\]; .* --encoding latin-1'):
        apply(stored, tmp_path / "new.csv", encoding="utf-8")


@pytest.mark.parametrize(
    ("rule", "old", "level", "new", "label"),
    [
        ({"dates": ["year", "decade"]}, ["1931-05-06", "1975-01-01"], 2, "1930-01-01", "1930s"),
        ({"prefix": [3, 1]}, ["01900", "01234", "20000"], 1, "01999", "019**"),
        ({"mask": [2, 4]}, ["01900", "01234", "20000"], 1, "01999", "019**"),
        ({"intervals": [5, 10]}, ["40", "43", "61"], 1, "41", "40-44"),
        ({"bounds": [[25, 65]]}, ["20", "30", "80"], 1, "64", "25-64"),
    ],
)
def test_a_rule_finds_the_group_of_values_unseen_before(
    rule: dict[str, object], old: list[str], level: int, new: str, label: str
) -> None:
    """Dates, codes and numbers that the fitting table did not have join the group their rule names, after the file."""
    hierarchy = load("q", rule, old)
    rows = pa.table({"q": [value for value in old for _ in range(5)]})
    table = read(rows, Schema(("q",)), hierarchies={"q": hierarchy})
    stored = store(Choice(table, node(table.hierarchies, (level,)), limits={"k": 5}))
    again = replace(stored, recoding=replace(stored.recoding, hierarchies=(
        hierarchy_from("q", json.loads(json.dumps(hierarchy_data(hierarchy)))),)))  # fmt: skip
    found = apply(again, pa.table({"q": [*rows["q"].to_pylist(), new]}))
    assert found.unseen == {}
    assert found.release.data["q"].to_pylist().count(label) > 5
    assert hierarchy.locate([new]).tolist() == [-1]


def test_a_rule_puts_no_value_where_its_label_is_not() -> None:
    """A value whose group was not there is unseen, though a wider group was; so is what the rule cannot read."""
    hierarchy = load("q", {"intervals": [5, 10]}, ["30", "32", "61"])
    cut = hierarchy.groups[1]
    assert placed_by_rule(hierarchy, cut, 1, ["31", "37", "x"]) == {"31": 0}
    assert placed_by_rule(hierarchy, cut, None, ["31", "37", "x"]) == {"31": 0}
    assert placed_by_rule(hierarchy, hierarchy.groups[0], 0, ["31"]) == {}
    assert placed_by_rule(hierarchy, hierarchy.groups[-1], hierarchy.height, ["99"]) == {"99": 0}
    assert placed_by_rule(hierarchy, np.array([0, 1, 1], dtype=np.int32), None, ["31", "40", "99"]) == {"40": 1}


def test_unseen_values_of_few_rows_are_counted_not_named() -> None:
    """The sentence on unseen values names none that fewer than k rows have, and no date."""
    with pytest.raises(BadHierarchy, match=r"2 values in 'age' \(6 rows\) that .* know: '75' \(5 rows\) …\. Give"):
        apply(stored_ages(), pa.table({"age": [20] * 5 + [75] * 5 + [93]}))  # type: ignore[arg-type]
    days = pa.table({"day": ["2020-01-01"] * 5 + ["2021-01-01"] * 5})
    table = read(days, Schema(("day",)))
    stored = store(Choice(table, node(table.hierarchies, (0,)), limits={"k": 5}))
    with pytest.raises(BadHierarchy, match=r"1 value in 'day' \(9 rows\) that the recoding does not know\. Give"):
        apply(stored, pa.table({"day": ["2020-01-01"] * 5 + ["1999-09-09"] * 9}))
