"""A stored recoding applied to new rows: suppression, k, loss, unseen values, earlier releases."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import BadHierarchy, BadInput, BadJob, BadTable, ReleaseWarning
from kpareto.faces.cli import main
from kpareto.measures.cells import glm, lm
from kpareto.releases.apply import apply
from kpareto.releases.choice import Choice, hierarchy_data, hierarchy_from, read_stored, store
from kpareto.releases.release import release
from kpareto.tables.adult import adult, adult_table
from kpareto.tables.hierarchies import load
from kpareto.tables.hierarchies.loading import place_by_rule
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.verifier import verify
from tests.twins.releases import AGES, chosen, people
from tests.twins.strategies import Case, cases, recodings, suppressions


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


def test_a_stored_limit_keeps_its_meaning(tmp_path: Path) -> None:
    """Rows stay rows and shares stay shares through JSON, also where an earlier version wrote rows with a point."""
    table = adult_table()
    for limit, said, allowed in ((1, "1.0", 1), (301, "301.0", 301), (0.5, "0.5", table.rows // 2), (0, "0.0", 0)):
        choice = Choice(table, node(table.hierarchies, (4, 2, 3, 2, 0, 0, 3, 1)), Suppression("cap-max-k", limit))
        text = store(choice).text()
        (tmp_path / "now.json").write_text(text)
        again = read_stored(tmp_path / "now.json")
        assert again.text() == text
        earlier = text.replace(f'"limit": {limit},', f'"limit": {said},')
        assert limit == 0.5 or earlier != text
        earlier = re.sub(r',\s*"sha256": "[0-9a-f]{64}"(?=,\s*"source")', "", earlier)  # it had none of the whole
        assert earlier.count("sha256") == text.count("sha256") - 1
        (tmp_path / "earlier.json").write_text(earlier)
        for stored in (again, read_stored(tmp_path / "earlier.json")):
            assert stored.suppression.allowed(table.rows) == allowed


def test_adult_test_by_the_recoding_of_adult_data(tmp_path: Path) -> None:
    """The rows of adult.test under a recoding found on adult.data: both suppressions and both losses (IY-13)."""
    table = adult_table()
    plain = (
        "fnlwgt",
        "education-num",
        "relationship",
        "capital-gain",
        "capital-loss",
        "hours-per-week",
    )  # none is tied
    table = replace(table, schema=replace(table.schema, plain=plain))
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
    assert found.k_union is not None
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


def test_new_rows_are_warned_of_like_any_release() -> None:
    """The result and both parts of the certificate have the warnings, and Python tells them once at the caller's line."""
    rows = people()
    stored = store(replace(chosen(rows), limits={"k": 6}), None, release(chosen(rows), rows).origin)
    with pytest.warns(ReleaseWarning) as caught:
        found = apply(stored, rows.slice(0, 43))
    assert [each.filename for each in caught] == [__file__]
    assert found.batch["suppressed"] > 0
    ids = [each.id for each in found.warnings]
    assert ids == ["W1", "W2", "W3", "W6", "W7", "W13", "W15", "W20", "W17"]  # nothing was optimized here: no W4
    assert found.warnings[0].numbers["rows"] == found.release.rows  # counted in what was written
    assert found.release.certificate.public["warnings"] == ids
    assert found.release.certificate.confidential["warnings"] == [[each.id, each.text] for each in found.warnings]


def test_the_certificate_of_new_rows_names_no_limit_on_suppression() -> None:
    """Whatever misses a limit is suppressed there; a number would claim that somebody had set one."""
    suppression = apply(stored_ages(), numbers(20, 59)).release.certificate.public["suppression"]  # type: ignore[arg-type]
    assert (suppression["rule"], suppression["limit"]) == ("as-needed", None)
    rows = people()
    told = release(replace(chosen(rows), suppression=Suppression("cap-max-k", 0.01)), rows).certificate.public
    assert told["suppression"]["limit"] == 0.01


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
        (
            '{"kpareto recoding": 1}',
            "is damaged: the whole is an object with 1 keys, and 'schema', which is missing, belongs there",
        ),
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


@pytest.mark.parametrize(
    ("before", "after"),
    [('"k": 3', '"k": 2'), ('"rows": "drop"', '"rows": "mask"'), ('"domain": "observed"', '"domain": "declared"')],
)
def test_a_limit_changed_in_the_file_is_seen(before: str, after: str, tmp_path: Path) -> None:
    """What no other hash binds is bound by that of the whole: a slipped limit lets nobody out."""
    text = store(replace(chosen(people()), limits={"k": 3})).text()
    (tmp_path / "r.json").write_text(text)
    assert read_stored(tmp_path / "r.json").limits == {"k": 3}
    changed = text.replace(before, after)
    assert changed != text
    (tmp_path / "r.json").write_text(changed)
    with pytest.raises(BadInput, match="its SHA-256 does not fit"):
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
    with pytest.raises(
        BadInput, match=r"column 'phone', which the fitting table did not have, or showed .*: .*--new-columns drop"
    ):
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
    assert place_by_rule(hierarchy, cut, 1, ["31", "37", "x"]) == {"31": 0}
    assert place_by_rule(hierarchy, cut, None, ["31", "37", "x"]) == {"31": 0}
    assert place_by_rule(hierarchy, hierarchy.groups[0], 0, ["31"]) == {}
    assert place_by_rule(hierarchy, hierarchy.groups[-1], hierarchy.height, ["99"]) == {"99": 0}
    assert place_by_rule(hierarchy, np.array([0, 1, 1], dtype=np.int32), None, ["31", "40", "99"]) == {"40": 1}


def test_unseen_values_of_few_rows_are_counted_not_named() -> None:
    """The sentence on unseen values names none that fewer than k rows have, and no date."""
    with pytest.raises(BadHierarchy, match=r"2 values in 'age' \(6 rows\) that .* know: '75' \(5 rows\) …\. Give"):
        apply(stored_ages(), pa.table({"age": [20] * 5 + [75] * 5 + [93]}))  # type: ignore[arg-type]
    days = pa.table({"day": ["2020-01-01"] * 5 + ["2021-01-01"] * 5})
    table = read(days, Schema(("day",)))
    stored = store(Choice(table, node(table.hierarchies, (0,)), limits={"k": 5}))
    with pytest.raises(BadHierarchy, match=r"1 value in 'day' \(9 rows\) that the recoding does not know\. Give"):
        apply(stored, pa.table({"day": ["2020-01-01"] * 5 + ["1999-09-09"] * 9}))


def stored_visits(folder: Path) -> Path:
    """Eight persons in two classes, released and stored, and the same eight again."""
    for name, extra in (("first.csv", ""), ("next.csv", "p0,F,z\n")):
        lines = [f"p{at},{'FM'[at % 2]},{'xy'[at // 2 % 2]}" for at in range(8)]
        (folder / name).write_text("pid,sex,ill\n" + "\n".join(lines) + "\n" + extra)
    table = read(folder / "first.csv", Schema(("sex",), sensitive=("ill",), person="pid"))
    choice = Choice(table, node(table.hierarchies, (0,)))
    done = release(choice, folder / "first.csv", folder / "released.csv", limits={"k": 4})
    store(done.choice, {"k": 4}, done.origin).write(folder / "recoding.json")
    return folder / "recoding.json"


def test_persons_are_not_counted_where_nobody_tells_them_apart(tmp_path: Path) -> None:
    """Earlier releases have no persons: rows are never added to them, and k of the union is said to be unknown."""
    recoding = stored_visits(tmp_path)
    alone = apply(recoding, tmp_path / "next.csv", tmp_path / "alone.csv")
    assert (alone.k, alone.k_union) == (4, 4)
    found = apply(recoding, tmp_path / "next.csv", tmp_path / "out.csv", earlier=[tmp_path / "released.csv"])
    assert (found.k, found.k_union) == (4, None)
    assert "Earlier releases do not tell persons apart" in found.remarks[0]


def test_an_earlier_release_is_never_written_over(tmp_path: Path) -> None:
    """Nor counted as its own predecessor; and one that is not there is found out before anything is written."""
    recoding = stored_visits(tmp_path)
    was = (tmp_path / "released.csv").read_bytes()
    (tmp_path / "link.csv").symlink_to(tmp_path / "released.csv")
    for target in ("released.csv", "link.csv"):
        with pytest.raises(BadInput, match="would overwrite the earlier one"):
            apply(recoding, tmp_path / "next.csv", tmp_path / target, earlier=[tmp_path / "released.csv"])
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(BadInput, match=r"loop\.csv"):
        apply(recoding, tmp_path / "next.csv", tmp_path / "loop.csv", earlier=[tmp_path / "released.csv"])
    words = ["apply", str(recoding), str(tmp_path / "next.csv"), "-q", "--earlier"]
    assert main([*words, str(tmp_path / "released.csv"), "--target", str(tmp_path / "released.csv")]) == 2
    assert main([*words, str(tmp_path / "nope.csv"), "--target", str(tmp_path / "out.csv")]) == 2
    assert (tmp_path / "released.csv").read_bytes() == was
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("out")]
    assert main([*words, str(tmp_path / "released.csv"), "--target", str(tmp_path / "out.csv")]) == 0
    verify(tmp_path / "out.csv", tmp_path / "out.certificate.json")


def _visits(year: int, ages: range, rows: int = 600) -> pl.DataFrame:
    days = [f"{year}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(rows)]
    return pl.DataFrame({"visit": days, "age": [ages[i % len(ages)] for i in range(rows)]})


RULES: dict[str, object] = {"visit": {"dates": ["month", "year", "decade"]}, "age": {"intervals": [10, 20], "from": 0}}


def test_next_years_dates_and_numbers_find_groups_by_their_rule(tmp_path: Path) -> None:
    """2025 is 2025 and 65 is 60-69, although the fitting table had neither; nothing has to be starred for it."""
    old = _visits(2024, range(40, 50))
    table = read(old, Schema(quasi=("visit", "age")), hierarchies=RULES)
    choice = Choice(table, node(table.hierarchies, (2, 1)), Suppression("none"), {"k": 5})
    store(choice, origin=release(choice, old).origin).write(tmp_path / "r.json")
    applied = apply(tmp_path / "r.json", _visits(2025, range(60, 70)))
    rows = applied.release.data
    assert set(rows["visit"]) == {"2025"}
    assert set(rows["age"]) == {"60-69"}
    assert applied.unseen == {}
    assert 0 < applied.batch["lm"] <= 1


def test_a_starred_value_is_no_value_of_the_fitting_table(tmp_path: Path) -> None:
    """Where all fitted values are one named group, an unknown one is a star and not that group."""
    old = pl.DataFrame({"ward": ["a", "b"] * 50})
    levels = [["a", "surgery", "*"], ["b", "surgery", "*"]]
    table = read(old, Schema(quasi=("ward",)), hierarchies={"ward": levels})
    choice = Choice(table, node(table.hierarchies, (1,)), Suppression("none"), {"k": 5})
    store(choice, origin=release(choice, old).origin).write(tmp_path / "r.json")
    new = pl.DataFrame({"ward": ["x"] * 10 + ["a"] * 10})
    rows = apply(tmp_path / "r.json", new, unseen="star").release.data
    assert sorted(rows["ward"]) == ["*"] * 10 + ["surgery"] * 10


@pytest.mark.parametrize("rule", ["constraint", "cap-threshold"])
def test_recodings_of_earlier_versions_are_still_read(rule: str, tmp_path: Path) -> None:
    """A stored recoding that names an old rule, and no thresholds, recodes new rows by its limits."""
    rows = people()
    stored = store(replace(chosen(rows), limits={"k": 3}), None, release(chosen(rows), rows).origin)
    data = json.loads(stored.text())
    data["suppression"] = {"rule": rule, "limit": 0.5, "k": None, "rows": "drop"}
    del data["sha256"]
    (tmp_path / "earlier.json").write_text(json.dumps(data))
    again = read_stored(tmp_path / "earlier.json")
    assert (again.suppression.rule, again.suppression.thresholds) == ("as-needed", ())
    assert apply(again, rows, tmp_path / "out.csv").k >= 3


@pytest.mark.parametrize("hidden", ["drop", "mask"])
def test_new_days_of_old_and_of_new_months_come_together(tmp_path: Path, hidden: Literal["drop", "mask"]) -> None:
    """An ordinary monthly delivery: a new day of a known month is shown by it, and so is one of a new month (N08)."""
    days = ["1950-01-17", "1950-01-20", "1951-03-04", "1951-03-09"] * 3
    rows = pa.table({"born": days, "ill": ["x", "y", "z"] * 4})
    table = read(rows, Schema(("born",), sensitive=("ill",)), hierarchies={"born": {"dates": True}})
    rule = Suppression("below-k", k=2, rows=hidden)
    done = release(Choice(table, node(table.hierarchies, [1]), rule, {"k": 2}), rows, tmp_path / "a.csv")
    assert done.choice is not None
    store(done.choice, {"k": 2}, done.origin).write(tmp_path / "recoding.json")
    new = ["1950-01-29"] * 3 + ["1964-03-16"] * 3 + ["1951-03-04"] * 2 + ["1970-12-31"]
    again = apply(
        tmp_path / "recoding.json",
        pa.table({"born": new, "ill": (["x", "y", "z"] * 3)[: len(new)]}),
        tmp_path / "b.csv",
    )
    shown = sorted({line.split(",")[0] for line in (tmp_path / "b.csv").read_text().splitlines()[1:]})
    assert shown == ["1950-01", "1951-03", "1964-03"]
    assert (again.k, again.release.suppressed) == (2, 1)
    assert verify(tmp_path / "b.csv", again.release.certificate).numbers["k"] == 2
