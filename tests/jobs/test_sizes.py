"""Sizes that a job implies are told and refused before memory is taken (L1)."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from kpareto.engines.duckdb import files
from kpareto.errors import BadInput
from kpareto.faces.cli import main
from kpareto.jobs.parse import parse_job
from kpareto.searches.run import check_population
from kpareto.tables.hierarchies.loading import load
from kpareto.tables.hierarchies.values import MOST_LEAVES

JOB = """
[data]
source = "p.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10], from = 0}
[columns.sex]
role = "quasi-identifier"
[search]
objectives = ["k", "glm"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the job and its rows."""
    lines = [f"{i % 30},{'FM'[i % 2]}" for i in range(40)]
    (tmp_path / "p.csv").write_text("\n".join(["age,sex", *lines]) + "\n")
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("columns.age.hierarchy={intervals = [5], to = 1e9}", "1,000,000,001 values, about 186 GiB of memory"),
        ("columns.age.hierarchy={intervals = [5], to = 1e300}", "GiB of memory"),
        ("columns.age.hierarchy={quantiles = 1000000000000}", "Give at most 5,000,000"),
        ("columns.age.hierarchy={quantile_cells = 1000000000000}", "Give at most 5,000,000"),
        ("columns.age.hierarchy={quantile_cells = []}", "takes one number of cells, and has 0"),
        (f"columns.age.hierarchy={{prefix = {list(range(2000, 0, -1))}}}", "makes 2,000 levels"),
        (f"columns.age.hierarchy={{intervals = {list(range(1, 2000))}}}", "makes 1,999 levels"),
        ("search.threads=nan", "search.threads is nan. Give a whole number"),
        ("search.threads=-1", "search.threads is -1. Give a whole number"),
        ("search.threads=1000000", "search.threads is 1000000. Give a whole number"),
        ("suppression.limit=1e30", "suppression.limit is 1e+30"),
    ],
)
def test_sizes_are_refused_with_a_sentence(
    change: str, sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, a sentence with the number, and no memory taken for it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["front", "job.toml", "-q", "--set", change]) == 2
    assert sentence in capsys.readouterr().err
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 500 * 2**20


@pytest.mark.parametrize("budget", ["nan", "1e30", "0", "10000000000000"])
def test_a_budget_that_is_none_is_refused(budget: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A number of evaluations that nobody lives to see is a slip."""
    changes = ["--set", "search.method=nsga2", "--set", "search.space=cuts", "--set", f"search.budget={budget}"]
    assert main(["front", "job.toml", "-q", *changes]) == 2
    assert "search.budget is" in capsys.readouterr().err


def test_interval_rules_of_a_file_are_refused() -> None:
    """A range that stands in a hierarchy file is no better than one that stands in the job."""
    rules = '{"kind": "interval-rules", "levels": [{"bounds": [[0, 5], [6, 1000000000]]}]}\n'
    with pytest.raises(BadInput, match="1,000,000,001 values"):
        load("x", rules)
    assert len(load("x", {"intervals": [5], "to": 99}).leaves) == 100 < MOST_LEAVES


def test_a_population_that_does_not_fit_is_refused(folder: Path) -> None:
    """A population is genes times genomes."""
    check_population(1_000_000, 100)
    with pytest.raises(BadInput, match=r"about 298 GiB of memory\. Give at most 26,843"):
        check_population(1_000_000, 10_000)
    assert parse_job(JOB, folder).problem().table.rows == 40


def test_a_folder_of_everything_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Source = "/" ends after so many files, not when the disk does."""
    monkeypatch.setattr(files, "MOST_ENTRIES", 30)
    for number in range(20):
        (folder / "many" / f"f{number}").mkdir(parents=True)
        (folder / "many" / f"f{number}" / "x.txt").write_text("")
    assert main(["front", "job.toml", "-q", "--set", "data.source=many"]) == 2
    assert "has more than 30 files and folders in it" in capsys.readouterr().err
