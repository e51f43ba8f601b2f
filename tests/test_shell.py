"""The commands on jobs, from the outside: what they print, write, and return."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpareto import shell
from kpareto.cli import main
from kpareto.problem import Problem
from kpareto.run import run_exact
from kpareto.search.exact import State
from tests.test_job import JOB, PEOPLE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, with people.csv and job.toml."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_front_prints_every_trade_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of points, marks for the knee and common class sizes, and what is proven."""
    assert main(["front", "job.toml"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["id", "k", "l", "nwp", "suppressed", "classes", "age", "zip", "sex"]
    assert "Complete: no trade-off is missing." in lines[-1]
    assert any("knee" in line for line in lines)
    assert "Read 120 rows" in err


def test_front_writes_json_and_a_picture(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON on standard output is nothing but JSON; the picture is an SVG with the same bytes each time."""
    assert main(["front", "job.toml", "--json", "-", "-q", "--picture", "front.svg"]) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert err == ""
    assert data["search"]["complete"] is True
    assert [o["name"] for o in data["objectives"]] == ["k", "l", "nwp"]
    assert all(point["values"]["k"] >= 2 for point in data["points"])
    first = (folder / "front.svg").read_bytes()
    assert first.startswith(b"<?xml")
    assert main(["front", "job.toml", "-q", "--picture", "front.svg"]) == 0
    assert (folder / "front.svg").read_bytes() == first


def test_local_recoding_stands_beside_the_front(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--local prints Mondrian's numbers with the warning and draws them as a second curve."""
    change = ["--set", 'search.objectives=["k", "lm"]']
    assert main(["front", "job.toml", "-q", "--local", "--picture", "both.svg", *change]) == 0
    out = capsys.readouterr().out
    assert "Local recoding (Mondrian, relaxed)" in out
    assert "combinatorial refinement" in out
    assert main(["front", "job.toml", "-q", "--picture", "one.svg", *change]) == 0
    assert len((folder / "both.svg").read_bytes()) > len((folder / "one.svg").read_bytes())


def test_settings_can_be_changed_for_one_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--set overrides the job; nonsense is a sentence."""
    change = ["--set", "search.method=pbg-ea", "--set", 'search.objectives=["k", "lm"]', "--set", "search.seed=5"]
    assert main(["front", "job.toml", "--json", "-", "-q", *change]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["search"]["method"] == "pbg-ea"
    assert data["search"]["complete"] is False
    assert data["search"]["seed"] == 5
    assert main(["front", "job.toml", "--set", "nonsense"]) == 2
    assert "Write it as part.key=value" in capsys.readouterr().err
    assert main(["front", "job.toml", "--set", "search.method=nsga2"]) == 2
    assert "does not walk the space 'lattice'" in capsys.readouterr().err


def test_bad_jobs_exit_two_with_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Never a traceback, nothing on standard output."""
    (folder / "bad.toml").write_text(JOB.replace('"sensitive"', '"secret"'))
    for arguments in (
        ["front", "bad.toml"],
        ["front", "missing.toml"],
        ["release", "bad.toml"],
        ["front", "people.csv"],
    ):
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.strip().splitlines()) == 1


def test_the_whole_way_from_a_file_to_new_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From inspect to apply: inspect -> front -> release -> verify -> apply, with the job that inspect wrote."""
    assert main(["inspect", "people.csv", "-o", "mine.toml"]) == 0
    assert "age" in capsys.readouterr().out
    assert main(["front", "mine.toml", "-q"]) == 0
    capsys.readouterr()
    assert main(["release", "job.toml", "-q"]) == 0
    out = capsys.readouterr().out
    assert "verified: k = " in out
    assert "W15: The release is not differentially private" in out
    released = (folder / "people-anon.csv").read_text().splitlines()
    assert released[0] == "age,zip,sex,illness"
    assert main(["verify", "people-anon.csv", "people-anon.certificate.json"]) == 0
    assert "holds what its certificate claims" in capsys.readouterr().out
    (folder / "more.csv").write_text(PEOPLE)
    assert main(["apply", "people-anon.recoding.json", "more.csv", "--target", "more-anon.csv"]) == 0
    assert (folder / "more-anon.csv").exists()
    capsys.readouterr()
    tampered = (folder / "people-anon.csv").read_text().replace("flu", "cold", 1)
    (folder / "people-anon.csv").write_text(tampered)
    assert main(["verify", "people-anon.csv", "people-anon.certificate.json"]) == 3
    assert "is not the one that was certified" in capsys.readouterr().err


def test_release_writes_nothing_that_misses_a_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A k nobody reaches, or a k of one that nobody asked for: status 3 and no file."""
    assert main(["release", "job.toml", "-q", "--choose", "k=500"]) == 3
    assert "No point meets k = 500" in capsys.readouterr().err
    assert not (folder / "people-anon.csv").exists()
    open_job = JOB.replace("[limits]\nk = 2", "").replace('objectives = ["k", "l", "nwp"]', 'objectives = ["k", "lm"]')
    (folder / "open.toml").write_text(open_job)
    assert main(["release", "open.toml", "-q", "--choose", "id=0"]) == 3
    assert "rows would leave as they are" in capsys.readouterr().err
    assert not (folder / "people-anon.csv").exists()
    assert main(["release", "job.toml", "-q", "--choose", "nonsense"]) == 2
    assert "Write k=5, knee, id=17" in capsys.readouterr().err


def test_nothing_is_read_and_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that is an input, or a job that is there already, is refused, and every byte stays."""
    before = {name: (folder / name).read_bytes() for name in ("people.csv", "job.toml")}
    for arguments in (
        ["inspect", "people.csv", "-o", "people.csv"],
        ["inspect", "people.csv", "--json", "people.csv"],
        ["inspect", "people.csv", "-o", "job.toml"],
        ["front", "job.toml", "--json", "people.csv"],
        ["front", "job.toml", "--json", "job.toml"],
        ["release", "job.toml", "--json", "people.csv"],
    ):
        assert main([*arguments, "-q"]) == 2, arguments
        assert "Give another name" in capsys.readouterr().err
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_interrupting_a_release_releases_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the search runs: status 130, no file, for the exact search and for others."""

    def stopping(self: Problem, *_: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Problem, "whole_lattice", stopping)
        assert main(["release", "job.toml", "-q"]) == 130
        patch.setattr(Problem, "evaluate", stopping)
        assert main(["release", "job.toml", "-q", "--set", "search.method=pbg-ea"]) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert not (folder / "people-anon.csv").exists()


def test_a_limit_that_is_no_objective_can_be_the_choice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The certified optimum for k = 5, as other tools give it, from the command line."""
    change = ["--set", "suppression.rule=constraint", "--set", 'search.objectives=["lm"]', "--set", "limits.k=5"]
    assert main(["release", "job.toml", "-q", *change]) == 0
    assert "verified: k = " in capsys.readouterr().out
    assert main(["front", "job.toml", "-q", *change, "--set", "limits.k=500"]) == 0
    assert "No recoding of" in capsys.readouterr().out


def test_release_answers_in_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The point, the files and the warnings, for machines."""
    assert main(["release", "job.toml", "-q", "--json", "-", "--choose", "knee"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert Path(data["files"]["release"]).exists()
    assert Path(data["files"]["public"]).exists()
    assert {each["id"] for each in data["warnings"]} >= {"W1", "W15"}


def test_an_interrupted_search_exits_130_and_resumes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C prints what is known, marked incomplete; --resume ends with the front of an uninterrupted run."""
    assert main(["front", "adult", "--json", "whole.json", "-q"]) == 0
    capsys.readouterr()
    real = run_exact
    seen: list[State] = []

    def impatient(problem, ties, threads, report, checkpoint):  # type: ignore[no-untyped-def]
        def stop(done: int, total: int) -> None:
            seen.append(done)  # type: ignore[arg-type]
            if len(seen) == 2:
                raise KeyboardInterrupt

        return real(problem, ties, threads, stop, checkpoint)

    with monkeypatch.context() as patch:
        patch.setattr(shell, "run_exact", impatient)
        assert main(["front", "adult", "-q"]) == 130
    out, err = capsys.readouterr()
    assert "Not complete: stopped after" in out
    assert "--resume" in err
    assert main(["front", "adult", "--resume", "--json", "resumed.json", "-q"]) == 0
    whole, resumed = (json.loads((folder / name).read_text()) for name in ("whole.json", "resumed.json"))
    assert resumed["points"] == whole["points"]
    assert resumed["search"]["complete"] is True
    assert not list(folder.glob("*.npz"))
