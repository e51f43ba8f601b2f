"""The main job from end to end, and an outside referee on what it releases."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from kpareto.faces.cli import main, walkthrough
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import release_job

pytestmark = pytest.mark.dangers  # what newcomers are shown releases nothing dangerous

COLUMNS = ("fnlwgt", "education-num", "relationship", "capital-gain", "capital-loss", "hours-per-week")
WHOLE = f"""
[data]
source = "adult"
{"".join(f'[columns.{name}]{chr(10)}role = "plain"{chr(10)}' for name in COLUMNS)}
[suppression]
rule = "cap-max-k"
limit = 0.01
[release]
choose = "k=5"
target = "whole.csv"
accept = ["W1", "W17"]
"""
GOLDEN = Path(__file__).parents[2] / "golden" / "pycanon_release.json"


def test_the_demo_releases_what_pycanon_has_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file is there, no warning is a danger, and the release has the rows in which pyCANON found k = 5 and l = 2.

    pyCANON looked at the same recoding with all columns, which the demo no longer shows; those bytes are made again.
    """
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "-q"]) == 0
    out = capsys.readouterr().out
    folder = tmp_path / "kpareto-demo"
    for name in (
        "job.toml",
        "front.json",
        "front.svg",
        "adult-5.csv",
        "adult-5.certificate.json",
        "report.html",
    ):
        assert (folder / name).stat().st_size > 0
    assert "Complete: no trade-off by whole levels is missing." in out
    released = (folder / "adult-5.csv").read_bytes()
    assert main(["demo", "-q"]) == 0  # again, in the same folder
    assert (folder / "adult-5.csv").read_bytes() == released
    referee = json.loads(GOLDEN.read_text(encoding="utf-8"))
    (tmp_path / "whole.toml").write_text(WHOLE)
    assert main(["release", str(tmp_path / "whole.toml"), "-q"]) == 0
    content = (tmp_path / "whole.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == referee["sha256"]
    rows = list(csv.DictReader((folder / "adult-5.csv").read_text().splitlines()))
    checked = list(csv.DictReader(content.decode().splitlines()))
    names = [name for name in rows[0] if name != "education-num"]
    assert Counter(tuple(row[name] for name in names) for row in rows) == Counter(
        tuple(row[name] for name in names) for row in checked
    )
    assert all(row["education-num"] == row["education"] for row in rows)
    quasi = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class")
    classes: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        classes[tuple(row[name] for name in quasi)][row["occupation"]] += 1
    assert len(rows) == referee["rows"]
    assert min(counts.total() for counts in classes.values()) == referee["k"] == 5
    assert min(len(counts) for counts in classes.values()) == referee["l"]


def test_the_demo_ends_without_a_danger(tmp_path: Path) -> None:
    """What everybody sees first undoes nothing of what it hides: no warning of its release is a danger."""
    (tmp_path / "job.toml").write_text(walkthrough.JOB)
    released = release_job(load_job(tmp_path / "job.toml"))
    assert [warning.id for warning in released.warnings if warning.severity == "danger"] == []
    assert released.disclosing_columns == ()
