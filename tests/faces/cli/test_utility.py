"""What kpareto utility prints, writes and refuses, from a job to its release and back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.csv
import pytest

import kpareto as kp
from kpareto.faces.cli import main
from kpareto.faces.web.drafts import draft_print, draft_text, load_draft
from kpareto.jobs.parse import load_job
from tests.twins.use import related_rows

JOB = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 20}
[columns.town]
role = "quasi-identifier"
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[columns.income]
role = "target"
[suppression]
limit = 0.05
[release]
choose = "k=4"
target = "out.csv"
[use]
tables = [["age", "sex"], ["town"]]
means = [{of = "income", by = ["town", "sex"]}]
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job whose release is written."""
    pyarrow.csv.write_csv(related_rows(), tmp_path / "people.csv")
    (tmp_path / "job.toml").write_text(JOB)
    assert main(["release", str(tmp_path / "job.toml"), "-q"]) == 0
    return tmp_path / "job.toml"


def words(job: Path, *more: str, original: str = "people.csv") -> list[str]:
    """The command for a release beside its original."""
    return ["utility", str(job.parent / "out.csv"), "--original", str(job.parent / original), *more]


def test_utility_says_what_an_analyst_gets(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sentences with the control, then tables; the job's questions are answered."""
    capsys.readouterr()
    assert main(words(job, "--job", str(job), "-q")) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.match(r"Counts over two and three columns are off by [\d.]+% on average with labels fitted", out)
    assert re.search(r"with the column totals alone by [\d.]+%\.$", out, re.MULTILINE)
    assert re.search(r"of the relations between columns is left, least between \w+ and \w+ \([\d.]+%\)", out)
    assert "'income' is predicted with an R² of" in out
    assert re.search(r"^Table age × sex: [\d.]+% of the rows stand in a wrong cell", out, re.MULTILINE)
    assert re.search(r"^mean of income by town, sex +\d+", out, re.MULTILINE)
    assert re.search(r"^column totals alone +[\d.]+% +[\d.]+% +[\d.]+%$", out, re.MULTILINE)


def test_json_has_all_and_is_the_same_for_a_seed(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The contract's keys; the same seed gives the same bytes, another one other counts."""
    capsys.readouterr()
    answers = []
    for seed in ("3", "3", "4"):
        assert main(words(job, "--job", str(job), "--seed", seed, "--json", "-")) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] != answers[2]
    data = json.loads(answers[0])
    assert set(data["counts"]) >= {"queries", "error", "control"}
    assert set(data["counts"]["error"]) == set(data["counts"]["control"]) == {"mean", "median", "p90"}
    assert len(data["relations"]["pairs"][0]) == 3
    assert set(data["models"]["income"]) == {"measure", "release", "original", "control"}
    assert [table["columns"] for table in data["tables"]] == [["age", "sex"], ["town"]]
    assert data["means"][0]["of"] == "income"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("few", "The release was made from 400 rows, and the original has 10."),
        ("column", "The original has no column 'town'."),
        ("other", "The hierarchy of 'town' has no place for"),
        ("gone", "No file"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    change: str, sentence: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, one line, nothing written."""
    rows = related_rows()
    other = {
        "few": rows.slice(0, 10),
        "column": rows.drop_columns(["town"]),
        "other": rows.set_column(1, "town", [["Bonn"] * len(rows)]),
    }.get(change)
    if other is not None:
        pyarrow.csv.write_csv(other, job.parent / "other.csv")
    capsys.readouterr()
    answer = job.parent / "answer.json"
    assert main(words(job, "--json", str(answer), original="other.csv")) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(sentence)
    assert err.count("\n") == 1
    assert not answer.exists()


def test_a_release_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, and an answer that would replace the original."""
    pyarrow.csv.write_csv(related_rows(), tmp_path / "people.csv")
    own = str(tmp_path / "people.csv")
    assert main(["utility", str(tmp_path / "out.csv"), "--original", own]) == 2
    assert "There is no release" in capsys.readouterr().err
    assert main(["utility", str(tmp_path / "out.csv"), "--original", own, "--json", own]) == 2
    assert "would be overwritten" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        ('tables = "age"', "use.tables is 'age'. Give a list such as"),
        ('tables = ["age"]', "use.tables: A table is asked for by 'age'"),
        ('means = [{of = "age"}]', "use.means: A mean is asked for by"),
        ("rows = 3", "use.rows is not known"),
    ],
)
def test_a_job_with_questions_that_are_none_is_refused(use: str, sentence: str, tmp_path: Path) -> None:
    """Each mistake under [use] names its place."""
    (tmp_path / "job.toml").write_text(f'[data]\nsource = "adult"\n[use]\n{use}\n')
    with pytest.raises(kp.BadInput) as caught:
        load_job(tmp_path / "job.toml")
    assert sentence in str(caught.value)


def test_questions_of_a_job_are_kept(job: Path) -> None:
    """A job has its questions as utility takes them; the page keeps them in the file, and searches nothing for them."""
    asked = {"of": "income", "by": ["town", "sex"]}
    assert load_job(job).use["means"] == [asked]
    draft = load_draft(job.read_text(), "job")
    assert load_draft(draft_text(draft), "job")["use"]["means"] == [asked]
    places = (job.parent, job.parent, job.parent)
    assert draft_print(draft, *places) == draft_print({**draft, "use": {}}, *places)


def test_the_report_has_a_part_on_use(job: Path) -> None:
    """Page, Markdown and JSON tell the same, with a picture of relations on the page; numbers to two digits in public."""
    for ending in ("html", "md", "json"):
        assert main(["report", str(job), "-o", str(job.parent / f"report.{ending}"), "-q"]) == 0
    page, text, data = ((job.parent / f"report.{e}").read_text(encoding="utf-8") for e in ("html", "md", "json"))
    assert 'id="use"' in page
    assert "Relations between columns that are left" in page
    assert "## What an analyst still gets" in text
    use = json.loads(data)["use"]
    assert use["counts"]["error"]["mean"] == float(f"{use['counts']['error']['mean']:.2g}")
    assert len(use["tables"]) == 2
    assert "Table age × sex:" in text
