"""utility: the same numbers for a point and for its file, whatever the model, and a sentence for what does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import kpareto as kp
from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob, BadTable, Unsafe
from kpareto.faces.report.answers import use_tables
from kpareto.releases.choice import Choice
from kpareto.releases.documents import document_files, documents_of
from kpareto.releases.release import release
from kpareto.tables.partition import classes
from kpareto.tables.recoding import bottom, top
from kpareto.tables.schema import Schema
from kpareto.tables.table import Sample, Table
from kpareto.uses.utility import Utility, utility
from tests.twins.use import (
    HIERARCHIES,
    SCHEMA,
    cuts_choice,
    levels_choice,
    local_choice,
    related_rows,
    related_table,
)

QUESTIONS: dict[str, Any] = {"tables": [["age", "sex"]], "means": [{"of": "income", "by": ["town"]}]}
CHOICES: dict[str, Callable[[Table], Choice]] = {
    "levels": lambda table: levels_choice(table, (1, 1, 0)),
    "dropped": lambda table: levels_choice(table, (2, 1, 0), 12),
    "masked": lambda table: levels_choice(table, (2, 0, 0), 8, "mask"),
    "mixed levels": cuts_choice,
    "local": local_choice,
}


def write(choice: Choice, rows: object, target: Path, **handling: Any) -> Path:
    """A release with its documents."""
    files = document_files(target)
    how = kp.Handling(**handling)
    release(choice, rows, target, handling=how, papers=lambda done: documents_of(done, files, {}))
    return target


def without_models(answer: Utility) -> dict[str, Any]:
    """The numbers that need no folds."""
    data = answer.to_dict()
    data.pop("models")
    return data


def near(one: Any, two: Any) -> None:
    """Both are the same data, numbers but for rounding."""
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            near(one[key], two[key])
    elif isinstance(one, list):
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            near(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(two, rel=1e-6, abs=1e-9)
    else:
        assert one == two


@pytest.mark.parametrize(("kind", "ending"), [*((kind, "csv") for kind in CHOICES), ("dropped", "parquet")])
def test_a_file_has_the_numbers_of_its_choice(kind: str, ending: str, tmp_path: Path) -> None:
    """Whole and mixed levels, labels by class, dropped and masked rows: read back from the file, nothing differs."""
    rows = related_rows()
    choice = CHOICES[kind](related_table(rows))
    before = utility(choice, **QUESTIONS)
    after = utility(write(choice, rows, tmp_path / f"out.{ending}"), rows, **QUESTIONS)
    near(without_models(before), without_models(after))
    for one, two in zip(before.models, after.models, strict=True):
        assert (one.column, one.measure) == (two.column, two.measure)
        # Of labels by class equal rows stand apart in the choice, so that its folds are drawn otherwise.
        assert one.original == pytest.approx(two.original, abs=0.02 if kind == "local" else 1e-9)
        assert one.release == pytest.approx(two.release, abs=0.1)


def test_missing_values_are_values(tmp_path: Path) -> None:
    """Of quasi-identifiers and of sensitive columns, in the choice and in the file."""
    rows = related_rows()
    for name, step in (("town", 9), ("ill", 5)):
        cells = [None if at % step == 0 else cell for at, cell in enumerate(rows[name].to_pylist())]
        rows = rows.set_column(rows.column_names.index(name), name, [cells])
    table = related_table(rows)
    choice = levels_choice(table, (1, 1, 0))
    before = utility(choice, tables=[["town", "sex"]])
    after = utility(write(choice, rows, tmp_path / "out.csv"), rows, tables=[["town", "sex"]])
    near(without_models(before), without_models(after))


def test_medians_and_tables_of_other_form_are_understood(tmp_path: Path) -> None:
    """Numbers in place of labels are told by the certificate, not guessed; separators by the documents."""
    rows = related_rows()
    choice = levels_choice(related_table(rows), (2, 1, 0))
    before = utility(choice)
    after = utility(write(choice, rows, tmp_path / "out.csv", shown={"age": "midpoint"}), rows)
    near(without_models(before), without_models(after))


def test_the_ends_of_the_scale() -> None:
    """Shown as it is nothing is off; hidden, the release is the control."""
    table = related_table()
    shown = utility(classes(table, bottom(table.hierarchies)), **QUESTIONS)
    hidden = utility(classes(table, top(table.hierarchies)), **QUESTIONS)
    assert shown.counts.error is not None
    assert shown.counts.error.p90 == pytest.approx(0, abs=1e-9)
    assert shown.relations.kept == pytest.approx(1)
    assert shown.tables[0].error == pytest.approx(0, abs=1e-9)
    assert hidden.counts.error is not None
    near(hidden.counts.error.to_dict(), hidden.counts.control.to_dict() if hidden.counts.control else None)
    assert hidden.relations.kept == 0
    assert hidden.models[0].release == pytest.approx(hidden.models[0].control)
    assert hidden.means[0].error == pytest.approx(hidden.means[0].control)


def test_sentences_and_data() -> None:
    """What a person reads has the numbers of the data, and no value of a row stands in what a notebook prints."""
    answer = utility(levels_choice(related_table(), (2, 1, 0)), **QUESTIONS)
    data = json.loads(json.dumps(answer.to_dict()))
    assert {"counts", "relations", "models", "tables", "means"} < set(data)
    assert set(data["counts"]["error"]) == {"mean", "median", "p90"}
    assert data["models"]["income"]["measure"] == "r2"
    assert f"{100 * data['counts']['error']['mean']:.1f}%" in answer.summary()
    assert f"by {100 * data['counts']['control']['mean']:.1f}%." in answer.summary()
    assert "'income' is predicted with an R² of" in answer.summary()
    assert "Table age × sex:" in answer.summary()
    assert "Mean of income by town: off by" in answer.summary()
    assert repr(answer).startswith("Utility(400 of 400 rows: Counts")
    assert utility(levels_choice(related_table(), (2, 1, 0)), **QUESTIONS).to_dict() == answer.to_dict()
    assert utility(levels_choice(related_table(), (2, 1, 0)), seed=2).to_dict()["counts"] != data["counts"]


def test_persons_and_one_value_change_nothing_of_it() -> None:
    """Rows are counted where persons are told apart; a sensitive column of one value is left out, and said."""
    rows = related_rows()
    rows = rows.append_column("who", [[str(at // 2) for at in range(len(rows))]])
    rows = rows.append_column("same", [["x"] * len(rows)])
    schema = Schema(SCHEMA.quasi, sensitive=("ill", "same"), person="who", identifier=("who",))
    table = read(rows, schema, "drop", hierarchies=HIERARCHIES)
    answer = utility(levels_choice(table, (2, 1, 0)))
    assert [model.column for model in answer.models] == ["ill"]
    assert answer.remarks == ("'same' has one value only, and nothing of it is predicted.",)


def test_a_sample_and_coarser_columns_are_said() -> None:
    """Rows that were drawn, and ages that came in by groups of five years."""
    rows = related_rows()
    first = {"first": {"age": 1}, "coarsen": "always"}
    coarse = read(rows, SCHEMA, "drop", hierarchies=HIERARCHIES, **first)  # type: ignore[arg-type]
    answer = utility(levels_choice(coarse, (1, 1, 0)))
    assert answer.remarks == ("Columns that came in coarser than their values are measured by groups.",)
    drawn = replace(related_table(rows), sample=Sample(400, 4_000, 1))
    assert utility(levels_choice(drawn, (1, 1, 0))).remarks == ("Measured on a sample of 400 of 4,000 rows.",)


# -- what does not fit -------------------------------------------------------------------------------------------------


def released(folder: Path) -> tuple[Path, pa.Table]:
    """A release and its original."""
    rows = related_rows()
    return write(levels_choice(related_table(rows), (2, 1, 0), 12), rows, folder / "out.csv"), rows


def test_another_original_is_told(tmp_path: Path) -> None:
    """Another number of rows, values that are too few for a label or unknown, and a column that is missing."""
    file, rows = released(tmp_path)
    other = rows.set_column(2, "sex", [["m"] * len(rows)])
    ill = rows.set_column(3, "ill", [["flu"] * len(rows)])
    with pytest.raises(BadTable, match="made from 400 rows, and the original has 399"):
        utility(file, rows.slice(1))
    with pytest.raises(BadTable, match=r"not one of this original: \d+ rows of it look alike, and .* has 0"):
        utility(file, other)
    with pytest.raises(BadTable, match="some values of 'ill' occur in it more often"):
        utility(file, ill)
    with pytest.raises(BadInput, match="The hierarchy of 'town' has no place for"):
        utility(file, rows.set_column(1, "town", [["Bonn"] * len(rows)]))
    with pytest.raises(BadTable, match="The original has no column 'town'"):
        utility(file, rows.drop_columns(["town"]))


@pytest.mark.parametrize("column", ["town", "ill"])
@pytest.mark.parametrize("kind", CHOICES)
def test_an_original_whose_columns_alone_are_the_same_is_told(kind: str, column: str, tmp_path: Path) -> None:
    """Each column has the values of the true one, and its rows have others together, sensitive ones too."""
    rows = related_rows()
    file = write(CHOICES[kind](related_table(rows)), rows, tmp_path / "out.csv")
    turned = rows.set_column(rows.column_names.index(column), column, [rows[column].to_pylist()[::-1]])
    with pytest.raises(
        BadTable, match=r"not one of this original: \d+ rows? of it look alike, and .* has \d+ such rows"
    ):
        utility(file, turned)


def test_two_rows_that_changed_towns_are_told(tmp_path: Path) -> None:
    """Labels by class: a class is left with too few rows, or where labels overlap a row is left without a class."""
    rows = related_rows()
    file = write(local_choice(related_table(rows)), rows, tmp_path / "out.csv")
    told = set()
    for one in (1, 18, 41):
        towns = rows["town"].to_pylist()
        towns[one], towns[-one - 1] = towns[-one - 1], towns[one]
        with pytest.raises(BadTable, match=r"not one of this original: \d+ rows? of (it|the original) ") as caught:
            utility(file, rows.set_column(1, "town", [towns]))
        told.add("fit no class" in str(caught.value))
    assert told == {True, False}


def test_documents_that_do_not_fit_are_told(tmp_path: Path) -> None:
    """A changed file, a public part alone, no documents, and those of another release."""
    file, rows = released(tmp_path)
    papers = document_files(file)
    whole = papers["certificate"].read_text(encoding="utf-8")
    papers["certificate"].write_text(papers["public"].read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(BadInput, match="lacks its confidential part"):
        utility(file, rows)
    papers["certificate"].write_text(whole, encoding="utf-8")
    other = write(levels_choice(related_table(rows), (3, 0, 1)), rows, tmp_path / "other.csv")
    with pytest.raises(BadInput, match="The certificate and the recoding are of two releases"):
        utility(file, rows, recoding=document_files(other)["recoding"])
    file.write_text(file.read_text(encoding="utf-8") + "20-29,south,f,flu,1\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"is of another file than 'out\.csv': its SHA-256 does not fit"):
        utility(file, rows)
    papers["recoding"].unlink()
    with pytest.raises(BadInput, match=r"There is no 'out\.recoding\.json' beside the release"):
        utility(file, rows)


def test_labels_that_nobody_knows_are_told(tmp_path: Path) -> None:
    """A label that the certificate lacks is named."""
    file, rows = released(tmp_path)
    papers = document_files(file)["certificate"]
    data = json.loads(papers.read_text(encoding="utf-8"))
    labels = data["confidential"]["recoding"]["labels"]["town"]
    data["confidential"]["recoding"]["labels"]["town"] = [f"{label}?" for label in labels]
    papers.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BadTable, match=r"The release shows .*south.* in 'town', and its documents do not know them"):
        utility(file, rows)


def test_tables_that_say_nothing_are_told() -> None:
    """Ten rows, a target of one value, and a release without rows."""
    few = levels_choice(related_table(related_rows(10)), (0, 0, 0))
    with pytest.raises(BadTable, match="The original has 10 rows"):
        utility(few)
    rows = related_rows()
    rows = rows.set_column(rows.column_names.index("income"), "income", [["1"] * len(rows)])
    with pytest.raises(BadTable, match="The target 'income' has one value only"):
        utility(levels_choice(related_table(rows), (0, 0, 0)))
    with pytest.raises(Unsafe, match="Every row is suppressed"):
        utility(levels_choice(related_table(), (0, 0, 0), 1000))


def test_words_that_make_no_sense_are_told(tmp_path: Path) -> None:
    """No original, one too many, no release, and a seed that is none."""
    choice = levels_choice(related_table(), (0, 0, 0))
    with pytest.raises(BadJob, match="A released file is compared with its original"):
        utility(tmp_path / "out.csv")
    with pytest.raises(BadJob, match="knows its table"):
        utility(choice, related_rows())
    with pytest.raises(BadJob, match="int is no release"):
        utility(3)
    with pytest.raises(BadJob, match="seed is -1"):
        utility(choice, seed=-1)


@pytest.mark.parametrize(("column", "word"), [("ill", "an AUC"), ("income", "an R²")])
def test_a_release_that_drops_all_but_one_value_says_so_instead_of_a_number(column: str, word: str) -> None:
    """Whoever has the one rare value is alone in a town: dropped, nothing is left to tell apart, and no NaN is told."""
    few = related_rows(60)
    values = {"ill": "gout", "income": "100"}
    for name, value in values.items():
        few = few.set_column(few.column_names.index(name), name, [[value] * few.num_rows])
    odd = {"age": ["59"] * 12, "town": ["Ulm"] * 12, "sex": ["m"] * 12, "ill": ["flu"] * 12}
    odd["income"] = [str(number) for number in range(200, 212)]
    towns = [["Aalen"] * few.num_rows]
    rows = pa.concat_tables([few.set_column(few.column_names.index("town"), "town", towns), pa.table(odd)])
    table = related_table(rows, Schema(SCHEMA.quasi, sensitive=(column,)))
    choice = levels_choice(table, (4, 0, 1), 13)
    assert choice.partition().suppressed_rows == 12
    answer = utility(choice)
    assert answer.models[0].release is None
    (sentence,) = [line for line in answer.sentences() if f"'{column}'" in line]
    assert f"is predicted with {word} of " in sentence
    assert sentence.endswith("; from the release nothing can be said, for no fold has two values to tell apart.")
    assert "nan" not in "".join(answer.sentences())
    assert json.loads(json.dumps(answer.to_dict(), allow_nan=False))["models"][column]["release"] is None
    assert [row[2] for table in use_tables(answer) for row in table.rows if row[0] == column and len(row) == 5] == ["–"]
