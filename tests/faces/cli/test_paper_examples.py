"""One example job per paper: each runs from the command line to a verified release, as the papers' methods do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpareto.errors import BadJob
from kpareto.faces.cli import main
from kpareto.jobs.examples import PAPERS, example_text
from kpareto.jobs.front import plan_of
from kpareto.jobs.parse import load_job, parse_job
from kpareto.searches.names import OPTIONS

pytestmark = pytest.mark.dangers  # an example releases nothing that is dangerous
EXAMPLES = Path(__file__).parents[3] / "examples"
METHODS = {"iyengar": "genitor-iyengar", "lunacek": "genitor-lunacek", "gecco09": "nsga2", "poka": "poka-literal",
           "pbg": "pbg-ea"}  # fmt: skip
SETS = {"iyengar": "best", "lunacek": "best", "gecco09": "counted", "poka": "report", "pbg": "archive"}


def test_there_is_one_job_per_paper() -> None:
    """The folder holds the five jobs and nothing else, and each names the method of its paper."""
    assert sorted(file.stem for file in EXAMPLES.iterdir()) == sorted(PAPERS)
    for name, method in METHODS.items():
        job = parse_job(example_text(name), Path())
        assert job.method == method
        assert method in OPTIONS


@pytest.mark.parametrize("name", PAPERS)
def test_every_example_runs_to_a_verified_release(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command shows the front, releases a point, verifies it, and tells which set the front is."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--paper", name, "-q", "--json", "answer.json"]) == 0
    out = capsys.readouterr().out
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert all(Path(answer[file]).stat().st_size > 0 for file in ("job", "front", "release", "certificate"))
    front = json.loads(Path(answer["front"]).read_text())
    assert front["search"]["set"] == SETS[name]
    assert ("Answer: point" in out) == (name == "gecco09")
    assert ("The exact front has" in out) == (name in ("poka", "pbg"))
    assert ("boxes of the exact front" in out) == (name == "pbg")
    assert ("were missed" in out) == (name == "poka")  # an archive of boxes is not meant to hold every point
    assert front["search"]["options"] == plan_of(load_job(answer["job"])).told
    assert isinstance(front["search"]["seed"], int)


def test_a_wrong_paper_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is no paper is told with the nearest one."""
    with pytest.raises(BadJob, match="No paper 'pokka'"):
        example_text("pokka")
    assert main(["demo", "--paper", "pokka"]) == 2
    assert "Did you mean 'poka'" in capsys.readouterr().err
