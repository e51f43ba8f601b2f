"""What kpareto attack prints, writes and refuses, and that the confidential report has it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest

from kpareto.faces.cli import main
from tests.faces.cli.test_utility import JOB
from tests.twins.use import related_rows


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job whose release is written."""
    pyarrow.csv.write_csv(related_rows(), tmp_path / "people.csv")
    (tmp_path / "job.toml").write_text(JOB)
    assert main(["release", str(tmp_path / "job.toml"), "-q"]) == 0
    return tmp_path / "job.toml"


def words(job: Path, *more: str, original: str = "people.csv") -> list[str]:
    """The command for a release beside its original."""
    return ["attack", str(job.parent / "out.csv"), "--original", str(job.parent / original), *more]


def test_attack_says_what_people_risk(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sentences, a table for each risk, the control; the JSON has the same, and the confidential report the tables."""
    pyarrow.csv.write_csv(related_rows(300, 8), job.parent / "others.csv")
    capsys.readouterr()
    more = ("--control", str(job.parent / "others.csv"), "--known", "age,sex", "--json", str(job.parent / "a.json"))
    assert main(words(job, *more, "-q")) == 0
    out = capsys.readouterr().out
    assert [line.partition(":")[0] for line in out.splitlines()[:3]] == ["Singling out", "Linkability", "Inference"]
    assert "The control is 300 people of a table of their own." in out
    data = json.loads((job.parent / "a.json").read_text())
    assert data["schema"] == "kpareto-attack-1"
    assert {tuple(each["known"]) for each in data["attacks"]} == {("age", "sex")}
    assert main(["report", str(job), "-o", str(job.parent / "r.md"), "--confidential", "-q"]) == 0
    assert "Attacks on people: singling out, linkability, inference" in (job.parent / "r.md").read_text("utf-8")
    assert main(["report", str(job), "-o", str(job.parent / "p.md"), "-q"]) == 0
    assert "Attacks on people" not in (job.parent / "p.md").read_text("utf-8")


def test_bad_input_is_one_sentence_and_writes_nothing(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another original, ten rows as a control, a column that is missing, a control and a release that are not there."""
    folder = job.parent
    pyarrow.csv.write_csv(related_rows(390), folder / "other.csv")
    pyarrow.csv.write_csv(related_rows(10), folder / "ten.csv")
    pyarrow.csv.write_csv(related_rows().drop_columns(["town"]), folder / "less.csv")
    target = ("--json", str(folder / "never.json"), "-q")
    for command in (
        words(job, *target, original="other.csv"),
        words(job, *target, original="less.csv"),
        words(job, *target, "--control", str(folder / "ten.csv")),
        words(job, *target, "--control", str(folder / "less.csv")),
        words(job, *target, "--control", str(folder / "none.csv")),
        words(job, *target, "--known", "nobody"),
        ["attack", str(folder / "none.csv"), "--original", str(folder / "people.csv"), *target],
    ):
        capsys.readouterr()
        assert main(command) == 2
        told = capsys.readouterr()
        assert not told.out
        assert 0 < len(told.err.strip().splitlines()) <= 3
        assert not (folder / "never.json").exists()
