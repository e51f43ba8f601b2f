"""kpareto hierarchy: list, new, show, lint and convert, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpareto.faces.cli import main

TABLE = "job;country;age\n" + "".join(
    f"{job};{country};{age}\n"
    for job, country, age in (
        ("nurse", "France", 31),
        ("cook", "Peru", 42),
        ("nurse", "Atlantis", 55),
        ("baker", "", 60),
    )
)


@pytest.fixture(autouse=True)
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(TABLE, encoding="utf-8")


def test_a_skeleton_is_written_filled_and_used(capsys: pytest.CaptureFixture[str]) -> None:
    """One line per value, each its own group until somebody fills it in; nothing is overwritten."""
    assert main(["hierarchy", "new", "job", "people.csv"]) == 0
    assert Path("job.csv").read_text() == "baker;baker;*\ncook;cook;*\nnurse;nurse;*\n"
    assert "kpareto hierarchy lint job.csv --data people.csv" in capsys.readouterr().err
    assert main(["hierarchy", "new", "job", "people.csv"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["hierarchy", "lint", "job.csv", "--data", "people.csv"]) == 0
    assert "useless-level" in capsys.readouterr().out
    Path("job.csv").write_text("baker;food;*\ncook;food;*\nnurse;care;*\n")
    assert main(["hierarchy", "show", "job.csv", "--data", "people.csv"]) == 0
    assert "  food: baker, cook" in capsys.readouterr().out


def test_a_built_in_hierarchy_fills_what_it_knows(capsys: pytest.CaptureFixture[str]) -> None:
    """Values without a place stand for themselves, to be filled in by hand."""
    assert main(["hierarchy", "new", "country", "people.csv", "--known", "countries", "-o", "c.csv"]) == 0
    assert Path("c.csv").read_text().splitlines() == [
        "Atlantis;Atlantis;Atlantis;*",
        "France;Western Europe;Europe;*",
        "Peru;South America;Americas;*",
    ]
    assert "2 of 3 values have groups" in capsys.readouterr().err
    assert main(["hierarchy", "new", "country", "people.csv", "--known", "ages", "-o", "d.csv"]) == 2
    assert "is a rule, which needs no file" in capsys.readouterr().err


def test_forms_are_converted_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    """A rule becomes lines, lines become a tree, and the tree has the same groups."""
    rule = "{intervals = [10, 20]}"
    assert main(["hierarchy", "convert", rule, "age.csv", "--data", "people.csv", "--column", "age"]) == 0
    assert Path("age.csv").read_text().splitlines()[0] == "31;30-39;20-39;*"
    assert main(["hierarchy", "convert", "age.csv", "age.json"]) == 0
    assert json.loads(Path("age.json").read_text())["kind"] == "tree"
    assert main(["hierarchy", "show", "age.json", "--column", "age"]) == 0
    assert "40-59: 42, 55" in capsys.readouterr().out
    assert main(["hierarchy", "convert", "age.csv", "age.json"]) == 2
    assert main(["hierarchy", "convert", "age.csv", "age.pdf"]) == 2
    assert "is written as .csv or .json" in capsys.readouterr().err


def test_what_is_built_in_is_listed_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    """Every built-in hierarchy is named with where its groups come from."""
    assert main(["hierarchy", "list"]) == 0
    answer = capsys.readouterr().out
    assert "M49" in answer
    assert "postcodes-de" in answer


def test_mistakes_are_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    """A column that is not there, a rule that is none, data without a column."""
    for arguments, sentence in (
        (
            ["new", "jbo", "people.csv"],
            "No column 'jbo' in 'people.csv'. Did you mean 'job'? It has: job, country, age.",
        ),
        (["show", "{intervals: 5}"], "The rule '{intervals: 5}' is not understood."),
        (["show", "countries", "--data", "people.csv"], "Say which column of the data it is for: --column NAME."),
        (["show", "none.csv"], "There is no file 'none.csv' for the hierarchy of 'none'. Check its path."),
        (["shw"], "No command 'shw'. Did you mean 'show'?"),
    ):
        assert main(["hierarchy", *arguments]) == 2
        assert sentence in capsys.readouterr().err
