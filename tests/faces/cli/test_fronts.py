"""The commands on jobs, from the outside: what they print, write, and return."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kpareto.errors import Progress
from kpareto.faces.cli import fronts, main
from kpareto.faces.cli.options import model_option, set_option
from kpareto.fronts.problem import Problem
from kpareto.jobs.parse import load_job
from tests.jobs.test_job import JOB, PEOPLE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, with people.csv and job.toml."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_front_prints_every_trade_off(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of points, the recommended one and common class sizes, what the next one costs, and what is proven."""
    assert main(["front", "job.toml"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split()[:7] == ["id", "k", "l", "nwp", "kept", "suppressed", "classes"]
    assert "Complete: no trade-off by whole levels is missing." in lines[-1]
    assert any(line.split()[-4:-3] == ["recommended,"] for line in lines[1:-1])
    assert any(line.startswith("Recommended: point 0, the least loss that meets the limits (k ≥ 2") for line in lines)
    assert any(line.startswith("From k ≥ 3 to k ≥ 5: ") for line in lines)
    assert "knee" not in out
    assert "Read 120 rows" in err


def test_front_says_how_many_rows_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows with a missing value that the job drops are counted before anything else is said, and how to keep them."""
    lines = (folder / "people.csv").read_text().splitlines()
    for place in (3, 5):
        number, _, *others = lines[place].split(",")
        lines[place] = ",".join([number, "", *others])
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    assert main(["front", "job.toml"]) == 0
    assert (
        "2 of 120 rows (1.7%) have a missing value and are left out; the setting missing can keep them as a category."
        in (capsys.readouterr().err)
    )


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
    assert "W15 (note): The release is not differentially private" in out
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
    """A k of one that nobody asked for is status 3, a k that nobody can reach status 2; and there is no file."""
    assert main(["release", "job.toml", "-q", "--choose", "k=500"]) == 2
    assert "The choice k = 500 cannot be met: the table has 120 rows" in capsys.readouterr().err
    assert not (folder / "people-anon.csv").exists()
    open_job = JOB.replace("[limits]\nk = 2", "").replace('objectives = ["k", "l", "nwp"]', 'objectives = ["k", "lm"]')
    (folder / "open.toml").write_text(open_job)
    assert main(["release", "open.toml", "-q", "--choose", "id=0"]) == 3
    assert "rows would leave as they are" in capsys.readouterr().err
    assert not (folder / "people-anon.csv").exists()
    assert main(["release", "job.toml", "-q", "--choose", "nonsense"]) == 2
    assert "Write k=5, recommended, id=17" in capsys.readouterr().err


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
    assert main(["front", "job.toml", "-q", *change, "--set", "limits.k=500"]) == 2
    assert "The limit k = 500 cannot be met" in capsys.readouterr().err


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
    seen: list[int] = []

    @contextmanager
    def impatient(*_: object) -> Iterator[Progress]:
        def stop(done: int, _: int) -> None:
            seen.append(done)
            if len(seen) == 2:
                raise KeyboardInterrupt

        yield stop

    with monkeypatch.context() as patch:
        patch.setattr(fronts, "read_problem", lambda job, *_: job.problem())
        patch.setattr(fronts, "reporting", impatient)
        assert main(["front", "adult", "-q"]) == 130
    out, err = capsys.readouterr()
    assert "Not complete: stopped after" in out
    assert "--resume" in err
    assert main(["front", "adult", "--resume", "--json", "resumed.json", "-q"]) == 0
    whole, resumed = (json.loads((folder / name).read_text()) for name in ("whole.json", "resumed.json"))
    assert resumed["points"] == whole["points"]
    assert resumed["search"]["complete"] is True
    assert not list(folder.glob("*.npz"))


def test_wishes_are_answered_from_the_front(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--prefer says which point comes nearest and how far each wish is met; the exact front stays as it is."""
    assert main(["front", "job.toml", "-q", "--prefer", "k=3, nwp=0.1", "--json", "wish.json"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    told = json.loads((folder / "wish.json").read_text())["search"]["details"]["preference"]
    assert last.startswith(f"Answer: point {told['answer']}, k = ")
    assert "(wished for 3, met)" in last
    assert "(wished for 0.1, missed by" in last
    assert main(["front", "job.toml", "-q", "--prefer", "k=3, nwp"]) == 2
    assert "is not understood" in capsys.readouterr().err


def test_wishes_go_to_nsga2_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With method nsga2 the wishes are what it searches for, as the job's own preference would be."""
    nsga2 = ["--set", "search.method=nsga2", "--set", "search.space=cuts", "--set", "search.generations=5"]
    nsga2 += ["--set", 'search.objectives=["k", "nwp"]']
    assert main(["front", "job.toml", "-q", *nsga2, "--prefer", "k=3, nwp=0.1", "--json", "one.json"]) == 0
    wish = ["--set", "search.preference={k = 3.0, nwp = 0.1}"]
    assert main(["front", "job.toml", "-q", *nsga2, *wish, "--json", "two.json"]) == 0
    assert "Answer: point" in capsys.readouterr().out
    one, two = (json.loads((folder / name).read_text()) for name in ("one.json", "two.json"))
    assert one["points"] == two["points"]
    assert one["search"]["details"] == two["search"]["details"]


def test_defects_are_shown_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With search.compare the exact front is counted too, and what was missed stands below the points."""
    poka = ["--set", "search.method=poka-literal", "--set", 'search.objectives=["k", "nwp"]', "--set", "search.depth=1"]
    assert main(["front", "job.toml", "-q", *poka, "--set", "search.compare=true"]) == 0
    out = capsys.readouterr().out
    assert "The points are what the search itself reports" in out
    assert "The exact front has " in out
    assert main(["front", "job.toml", "-q", *poka]) == 0
    assert "The exact front has " not in capsys.readouterr().out


def test_further_numbers_stand_beside_the_points(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--measure adds numbers about every point, printed and in the JSON; a wrong name is a sentence."""
    assert main(["front", "job.toml", "-q", "--measure", "lm", "--measure", "dcn", "--json", "more.json"]) == 0
    assert "Measured beside" in capsys.readouterr().out
    points = json.loads((folder / "more.json").read_text())["points"]
    assert all(set(point["measured"]) == {"lm", "dcn"} for point in points)
    assert main(["front", "job.toml", "-q", "--measure", "lmm"]) == 2
    assert "lmm" in capsys.readouterr().err


def test_a_decision_tree_is_asked_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--tree-error says for each point how well a tree learns the target; without a target it is a sentence."""
    pytest.importorskip("sklearn")
    target = ["--set", 'columns.illness.role="target"', "--set", 'search.objectives=["k", "lm"]', "--set", "limits.l="]
    assert main(["front", "job.toml", "-q", "--tree-error", *target]) == 0
    assert "Point 0: A decision tree told 'illness' wrong in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        (
            ["limits.l=4"],
            2,
            "The limit l = 4 cannot be met: the sensitive column 'illness' has 3 distinct values, so 3 is",
        ),
        (["limits.k=5000"], 2, "The limit k = 5,000 cannot be met: the table has"),
        (
            ["search.method=local", "search.space=local", 'search.objectives=["k", "lm"]', "limits.k=5000"],
            2,
            "The limit k = 5,000 cannot",
        ),
        (["limits.k=30", "limits.lm=0.01", "suppression.rule=cap-max-k"], 3, "No recoding meets the limits k = 30, lm"),
    ],
)
def test_wishes_that_nothing_meets_are_explained(
    folder: Path, capsys: pytest.CaptureFixture[str], changes: list[str], status: int, words: str
) -> None:
    """What can be told before the search is bad input, what the search finds unsafe; neither is called complete."""
    said = [part for change in changes for part in ("--set", change)]
    for command in (["front", "job.toml", "--json", "front.json"], ["release", "job.toml"], ["report", "job.toml"]):
        more = said if command[0] != "report" else [*said, "-o", "report.html"]
        assert main([*command, "-q", *more]) == status
        out, err = capsys.readouterr()
        assert words in err
        assert "omplete" not in out + err
    assert not [file.name for file in folder.iterdir() if file.suffix in (".json", ".html") or "anon" in file.name]


def test_seconds_and_a_proof_are_changes_of_the_job() -> None:
    """``--seconds`` and ``--prove`` stand behind what ``--set`` says; without them nothing is added."""

    @click.command()
    @set_option
    @model_option
    def tell(changes: tuple[str, ...], model: str | None) -> None:
        """Say what is changed."""
        click.echo(f"{model} {' '.join(changes)}")

    asked = ["--prove", "--set", "search.seed=3", "--model", "local", "--seconds", "20"]
    told = CliRunner().invoke(tell, asked).output
    assert told == "local search.seed=3 search.seconds=20.0 search.prove=true\n"
    assert CliRunner().invoke(tell, ["--set", "search.seed=3"]).output == "None search.seed=3\n"


@pytest.mark.parametrize(("loss", "bound"), [("glm", ", with a proven bound for every point"), ("dcn", "")])
def test_a_bound_is_promised_where_there_is_one(
    loss: str, bound: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a long search it is said how long it will be; only losses with floors are promised a bound."""
    monkeypatch.setattr("kpareto.searches.forecast.forecast_seconds", lambda *_: 100.0)
    for more, end in (((), "With --seconds 60 it ends after a minute"), (("search.seconds=9",), "not complete")):
        job = load_job("adult", (f'search.objectives=["k", "{loss}"]', *more))
        fronts.tell_forecast(job, job.problem(), quiet=False)
        assert capsys.readouterr().err.endswith(f"{end}{bound}.\n")
