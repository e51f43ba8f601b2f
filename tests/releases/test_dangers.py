"""A danger stops a release in every face unless it is accepted by name, and the certificate says what was accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import kpareto as kp
from kpareto.faces.cli import main
from kpareto.jobs.parse import load_job, parse_job
from kpareto.jobs.release import check_release, release_job
from kpareto.releases.settings import DANGERS
from kpareto.verifier import verify
from tests.twins.page import running

pytestmark = pytest.mark.dangers
ROWS = 200
FRAME = pd.DataFrame(
    {
        "age": [20 + row % 40 for row in range(ROWS)],
        "sex": ["fm"[row % 2] for row in range(ROWS)],
        "ill": [("flu", "gout", "cold")[row * 7 % 3] for row in range(ROWS)],
        "shoe": [round(36 + row * 0.05 % 9, 2) for row in range(ROWS)],  # singles out, and tells nothing of the age
    }
)
JOB = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 0}
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[columns.shoe]
role = "plain"
[limits]
k = 5
l = 2
[release]
choose = "k=5"
target = "out.csv"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and a job whose release has the danger W1."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path


def test_python_needs_the_word() -> None:
    """One call is refused with the danger and the way on, and goes through when the danger is named."""
    asked = {"quasi_identifiers": ["age", "sex"], "sensitive_attributes": "ill", "plain": "shoe", "l": 2}
    with pytest.raises(kp.Unsafe, match=r"Nothing was released: a danger .*W1: ") as caught:
        kp.anonymize(FRAME, **asked)  # type: ignore[arg-type]
    assert 'accept=["W1"] in Python' in str(caught.value)
    done = kp.anonymize(FRAME, **asked, accept="W1")  # type: ignore[arg-type]
    assert done.release.certificate.confidential["accepted"] == ["W1"]
    assert [each.id for each in done.warnings if each.severity == "danger"] == ["W1"]


def test_the_terminal_needs_the_word(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 3 and no file without it; with it the release, whose certificate says so and is verified."""
    assert main(["release", "job.toml", "-q"]) == 3
    told = capsys.readouterr().err
    assert "W1: " in told
    assert "--accept W1" in told
    assert not list(folder.glob("out*"))
    assert main(["release", "job.toml", "-q", "--accept", "w1, W17"]) == 0
    certificate = json.loads((folder / "out.certificate.json").read_text(encoding="utf-8"))
    assert certificate["confidential"]["accepted"] == ["W1"]
    assert verify(folder / "out.csv", folder / "out.certificate.json").numbers["k"] >= 5


def test_whoever_verifies_hears_of_columns_without_a_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of a column that nobody asked to protect is not left without a word, nor that of a limit on t."""
    words = ["release", "job.toml", "-q", "--overwrite", "--accept", "W1,W2", "--set", "limits.l="]
    for more, said in (([], 1), (["--set", "limits.t=0.9"], 0)):
        assert main([*words, *more]) == 0
        assert main(["verify", "out.csv", "out.certificate.public.json"]) == 0
        told = capsys.readouterr().out.partition(" holds what its certificate claims")[2]
        assert told.count("  No limit protects the values of ill.") == said


def test_a_job_may_say_it(folder: Path) -> None:
    """In its own words, for this warning alone."""
    job = load_job("job.toml")
    with pytest.raises(kp.Unsafe, match="W1"):
        release_job(job)
    with pytest.raises(kp.Unsafe, match="W1"):
        release_job(load_job("job.toml", ['release.accept=["W17"]']))
    assert release_job(load_job("job.toml", ['release.accept=["W1"]'])).rows == ROWS


def test_what_is_applied_needs_it_too(folder: Path) -> None:
    """A stored recoding releases new rows, with dangers of their own."""
    release_job(load_job("job.toml", ['release.accept=["W1"]']))
    assert main(["apply", "out.recoding.json", "people.csv", "--target", "next.csv", "-q"]) == 3
    assert not (folder / "next.csv").exists()
    assert main(["apply", "out.recoding.json", "people.csv", "--target", "next.csv", "-q", "--accept", "W1"]) == 0


def test_a_trial_shows_dangers_and_stops_at_none(folder: Path) -> None:
    """What is looked at before a release is not kept, so nothing need be accepted for it."""
    job = load_job("job.toml")
    trial = check_release(job, kp.front(job).choose(k=5))
    assert [each.id for each in trial.warnings if each.severity == "danger"] == ["W1"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ('["W3"]', "release.accept has 'W3', which is never a danger"),
        ('["W111"]', "Did you mean 'W11'"),
        ('"W1"', "release.accept is 'W1'. Give a list"),
        ("3", "release.accept is 3. Give a list"),
    ],
)
def test_what_cannot_be_accepted_is_a_sentence(folder: Path, words: str, sentence: str) -> None:
    """Only what may be a danger, in a list."""
    with pytest.raises(kp.KparetoError, match=sentence.replace(".", r"\.")):
        parse_job(JOB + f"accept = {words}\n", folder)


def test_every_danger_can_be_accepted() -> None:
    """The list holds each warning that is a danger somewhere in the code, and no other."""
    source = (Path(kp.__file__).parent / "releases" / "warnings.py").read_text(encoding="utf-8")
    parts = source.split("def _w")[1:]
    bodies = [part.partition("\n\n\n")[0] for part in parts]
    grave = {f"W{body[: body.index('(')]}" for body in bodies if '"danger"' in body or "_severity(" in body}
    assert {*grave, "W17"} == set(DANGERS)


def test_the_server_of_the_page_refuses(folder: Path) -> None:
    """However the page asks: without the box of a danger nothing is handed out."""
    (folder / "temporary").mkdir()
    with running(folder, folder / "temporary") as page:
        page.open_door()
        session = page.new_session()
        assert page.client.post(f"{session}/open", json={"name": "job.toml"}).status_code == 200
        page.client.post(f"{session}/search", json={})
        page.client.get(f"{session}/events")
        point = page.client.get(f"{session}/front").json()["recommended"]
        asked = {"point": point, "target": "out.csv"}
        answers: list[dict[str, list[str]]] = [{}, {"accept": []}, {"accept": ["W17"]}]
        for more in answers:
            refused = page.client.post(f"{session}/release", json={**asked, **more})
            assert refused.status_code == 409
            assert "W1: " in refused.json()["error"]
            assert "tick its box" in refused.json()["error"]
        done = page.client.post(f"{session}/release", json={**asked, "accept": ["W1"]})
        assert done.status_code == 200
        assert done.json()["files"]["release"] == "out.csv"
