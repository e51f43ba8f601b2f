"""Choosing from a local front a k that was not searched: searched for by every way from a job to a point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpareto.errors import BadJob
from kpareto.faces.cli import main
from kpareto.faces.report.write import find
from kpareto.fronts.choose import choose_point
from kpareto.jobs.front import chosen_point, front_file, is_searched_for, search_job
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import choosing, release_job
from kpareto.verifier import verify

JOB = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 0}
[columns.zip]
role = "quasi-identifier"
hierarchy = {prefix = [1, 2]}
[columns.ill]
role = "sensitive"
[search]
method = "local"
objectives = ["k", "lm"]
ks = [3, 20]
turns = 2
walks = 1
[release]
choose = "k=7"
target = "people-anon.csv"
"""


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    """A job of local recodings beside its rows."""
    lines = [
        f"{20 + row * 7 % 60},{row * 13 % 90:03d},{('flu', 'cold', 'gout')[row * 5 % 11 % 3]}" for row in range(200)
    ]
    (tmp_path / "people.csv").write_text("age,zip,ill\n" + "\n".join(lines) + "\n")
    place = tmp_path / "job.toml"
    place.write_text(JOB)
    return place


def test_a_release_is_that_of_a_job_for_this_k_alone(job_file: Path) -> None:
    """Not the recoding of the next larger k that happened to be searched."""
    job = load_job(job_file)
    front = search_job(job)
    assert choose_point(front, "k=7").values["k"] == 20
    released = release_job(job, front, job_file.with_name("one.csv"))
    alone = release_job(load_job(job_file, ["search.ks=[7]"]), None, job_file.with_name("two.csv"))
    assert released.point is not None
    assert alone.point is not None
    assert released.point.values == alone.point.values
    assert released.point.values["k"] == 7
    assert Path(released.place).read_bytes() == Path(alone.place).read_bytes()
    assert verify(Path(released.place), released.files["certificate"]).numbers["k"] == 7


def test_the_command_searches_once_and_keeps_it(job_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is searched for a choice joins the kept front, and is used by the next release and by the report."""
    place = str(job_file)
    assert main(["front", place, "-q"]) == 0
    assert "a heuristic search for k = 3, 20; " in capsys.readouterr().out
    assert main(["release", place, "-q", "--json", str(job_file.with_name("told.json"))]) == 0
    told = json.loads(job_file.with_name("told.json").read_text())
    assert told["point"]["values"]["k"] == 7
    kept = front_file(place)
    assert kept is not None
    details = json.loads(kept.read_text())["front"]["search"]["details"]
    assert [each["k"] for each in details["searched"]] == [20, 3, 7]
    before = kept.read_bytes()
    assert main(["release", place, "-q", "--overwrite"]) == 0
    assert kept.read_bytes() == before
    assert find(place).point.values == told["point"]["values"]
    assert find(place, choose="k=9").point.values["k"] == 9


@pytest.mark.parametrize("words", ["k=7", "prefer: k=7, lm=0.2"])
def test_every_wording_that_asks_for_a_k_searches_it(job_file: Path, words: str) -> None:
    """Limits and preferences alike; a point by its number, or the knee, asks for none."""
    front = search_job(load_job(job_file))
    assert not is_searched_for(front, words)
    assert chosen_point(front, words).values["k"] == 7
    assert is_searched_for(front, "id=0")
    assert is_searched_for(front, "knee")
    assert chosen_point(front, "id=0").front is front


def test_a_point_picked_by_hand_is_not_exchanged(job_file: Path) -> None:
    """Who picks the point for 20 on the page, in a job that chooses 7, releases that one."""
    job = load_job(job_file)
    front = search_job(job)
    picked = choose_point(front, "k=20")
    assert choosing(job, picked).choose == f"id={picked.id}"


def test_another_model_keeps_the_settings_meant_for_it(job_file: Path) -> None:
    """A job of whole levels that has ks for local recoding: --model local searches these, not its own defaults."""
    job_file.write_text(JOB.replace('method = "local"\n', 'ties = "one"\nseconds = 60\n'))
    job = load_job(job_file, model="local")
    assert (job.method, job.options["ks"], job.options["turns"]) == ("local", [3, 20], 2)
    assert job.options["seconds"] == 60
    assert load_job(job_file, ["search.ks=[7]"], "local").options["ks"] == [7]
    with pytest.raises(BadJob, match="ks is not used by the search 'exact'"):
        load_job(job_file)
    assert load_job(job_file, model="cuts").method == "nsga2"
