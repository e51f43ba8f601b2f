"""The main job from end to end, and an outside referee on what it releases."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from kpareto.cli import main

GOLDEN = Path(__file__).parent / "golden" / "pycanon_release.json"


def test_the_demo_releases_what_pycanon_has_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file is there; the release has the very bytes in which pyCANON found k = 5 and l = 2, and so do plain dicts."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "-q"]) == 0
    out = capsys.readouterr().out
    folder = tmp_path / "kpareto-demo"
    for name in (
        "job.toml",
        "front.json",
        "front.svg",
        "front.png",
        "adult-5.csv",
        "adult-5.certificate.json",
        "report.html",
    ):
        assert (folder / name).stat().st_size > 0
    assert "Complete: no trade-off is missing." in out
    referee = json.loads(GOLDEN.read_text(encoding="utf-8"))
    content = (folder / "adult-5.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == referee["sha256"]
    rows = list(csv.DictReader(content.decode().splitlines()))
    quasi = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class")
    classes: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        classes[tuple(row[name] for name in quasi)][row["occupation"]] += 1
    assert len(rows) == referee["rows"]
    assert min(counts.total() for counts in classes.values()) == referee["k"] == 5
    assert min(len(counts) for counts in classes.values()) == referee["l"]
