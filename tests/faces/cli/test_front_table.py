"""What a front looks like on a screen of 80 columns: whole numbers, percent kept, levels in words, one line per point."""

from __future__ import annotations

import io
import random
import re
import shlex
import sys
from pathlib import Path

import pyarrow.csv
import pytest

import kpareto as kp
from kpareto.faces import console
from kpareto.faces.cli import main
from kpareto.faces.cli.fronts import models_command, pick_shown
from kpareto.jobs.front import search_job
from kpareto.jobs.parse import load_job
from kpareto.kernels.compiling import NotCompiled
from kpareto.uses.models_in_use import models_in_use
from tests.jobs.test_arx import ILL, Made
from tests.twins.use import related_rows

NAMES = ["age", "postal_code", "sex", "marital_status", "country_of_birth", "highest_education", "year"]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seven quasi-identifiers with long names, of which the last has one value on two levels."""
    chance = random.Random(3)
    words = {name: [f"{name[:3]}{number}" for number in range(3)] for name in NAMES[2:6]}
    lines = [
        [chance.randint(20, 80), 10000 + chance.randint(0, 9), *(chance.choice(words[n]) for n in NAMES[2:6]), 2020]
        for _ in range(900)
    ]
    text = ",".join(NAMES) + "\n" + "\n".join(",".join(map(str, line)) for line in lines) + "\n"
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    forms = {"age": "{intervals = [10, 20]}", "postal_code": "{prefix = [4]}", "year": "{intervals = [2, 4]}"}
    parts = [f'[columns.{n}]\nrole = "quasi-identifier"\nhierarchy = {forms.get(n, "{flat = true}")}\n' for n in NAMES]
    file = tmp_path / "job.toml"
    search = '[search]\nobjectives = ["k", "glm"]\n[limits]\nk = 2\n[release]\nchoose = "k=5"\ntarget = "out.csv"\n'
    file.write_text('[data]\nsource = "people.csv"\n' + "".join(parts) + search, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return file


class Screen(io.StringIO):
    """A terminal to look at."""

    def isatty(self) -> bool:
        """As a terminal says."""
        return True


def test_a_front_fits_80_columns(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe no line of a table is longer, and nothing is cut."""
    assert main(["front", str(job), "-q"]) == 0
    out = capsys.readouterr().out
    tables = out[: out.index(" points")].splitlines()[:-1]
    assert max(map(len, tables)) <= 80
    assert "…" not in out
    assert tables[0].split() == ["id", "k", "glm", "kept", "suppressed", "classes", "off"]
    assert "How each column is shown (7 quasi-identifiers)" in out
    assert all(f"\n{name} " in out for name in NAMES)


def test_a_front_fits_a_terminal_of_80_columns(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With lines drawn around the cells, numbers are whole too."""
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", screen)
    assert main(["front", str(job), "-q"]) == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())  # without what makes letters bold
    drawn = [line for line in plain.splitlines() if "│" in line or "┃" in line]
    assert drawn
    assert max(map(len, drawn)) <= 80
    assert not [line for line in drawn if "…" in line]


def test_levels_are_words_and_losses_are_percent(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Front and release say how each column is shown and how much is kept, and the release counts its warnings."""
    assert main(["front", str(job), "-q"]) == 0
    out = capsys.readouterr().out
    assert " % " in out
    assert "hidden" in out
    assert "as it is" in out
    assert main(["release", str(job), "-q"]) == 0
    out = capsys.readouterr().out
    assert "% of the detail is kept: age " in out
    assert "\nWarnings: " in out
    severities = [
        line.split("(")[1].split(")")[0] for line in out.splitlines() if line.startswith("W") and "): " in line
    ]
    assert severities == sorted(severities, key=["danger", "caution", "note"].index)


def test_front_names_the_point_that_arx_asks_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a project of ARX limits l alone, its point is another than the recommended one, which has k ≥ 5 too."""
    project = Made(criteria=[f"distinct-2-diversity for attribute '{ILL}'"], outliers="0.0").write(tmp_path)
    assert main(["inspect", str(project), "-o", str(tmp_path / "job.toml"), "-q"]) == 0
    capsys.readouterr()
    assert main(["front", str(tmp_path / "job.toml"), "-q"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\nThe job chooses another one \(l=2\): point \d+, 100\.0 % of the detail kept\.", out)


def test_equal_points_are_shown_once_by_their_finest_labels(job: Path) -> None:
    """A level that merges nothing makes equal points: one line stands for them, the others are in the JSON."""
    front = search_job(load_job(job))
    places, hidden = pick_shown(front)
    assert len(front) > front.vectors == len(places)
    assert hidden == 0
    assert {(front[place].recoding.levels or (9,))[-1] for place in places} == {0}


def test_front_names_the_command_that_compares_models(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is searched for that sentence, and the printed command runs."""
    assert main(["front", str(job)]) == 0
    err = capsys.readouterr().err
    command = err.strip().rpartition("Other models may keep more. Compare them with: kpareto ")[2]
    assert shlex.split(command)[:3] == ["front", str(job), "--models"]
    assert main([*shlex.split(command), "-q"]) == 0


def test_a_command_keeps_what_was_changed() -> None:
    """Changes of the job stay in the command, those of its own search do not, and odd names are quoted."""
    command = models_command("my job.toml", ["limits.k=3", "search.method=poka"])
    models = ["--models", "lattice,cuts,local"]
    assert shlex.split(command) == ["kpareto", "front", "my job.toml", *models, "--set", "limits.k=3"]


def test_inspect_names_the_job_and_commands_that_run(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a job there is no command; with one its name stands there; persons have no local recoding to offer."""
    assert main(["inspect", "people.csv"]) == 0
    err = capsys.readouterr().err
    assert "JOB" not in err
    assert "--model" not in err
    assert main(["inspect", "people.csv", "-o", "mine.toml"]) == 0
    err = capsys.readouterr().err
    assert "JOB" not in err
    command = err.strip().rpartition("Compare them with: kpareto ")[2]
    assert shlex.split(command)[:2] == ["front", "mine.toml"]
    assert main([*shlex.split(command), "-q"]) == 0
    rows = "".join(f"p{place // 2},{20 + place % 9},{'fm'[place % 2]}\n" for place in range(40))
    Path("visits.csv").write_text("patient_id,age,sex\n" + rows)
    capsys.readouterr()
    assert main(["inspect", "visits.csv", "-o", "visits.toml"]) == 0
    assert "person =" in Path("visits.toml").read_text()
    assert "--model" not in capsys.readouterr().err


def test_inspect_measures_both_models_where_nothing_is_compiled_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both numbers stand beside the question; where a loop is not at hand, or a table large, utility is named instead."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kpareto.uses.models_in_use.SECONDS", 600.0)
    pyarrow.csv.write_csv(related_rows(), "some.csv")
    kp.front(kp.inspect("some.csv").job)  # from here on its loops are at hand
    models_in_use(kp.inspect("some.csv").job.problem())
    capsys.readouterr()
    assert main(["inspect", "some.csv"]) == 0
    told = capsys.readouterr().out
    assert "if not, class by class is recommended (--model local). Measured on all 400 rows at k = 5: counts" in told

    def compile_now(_: object) -> None:
        raise NotCompiled

    for name, value in (("models_in_use.models_in_use", compile_now), ("models_in_use.SECONDS", 0.0)):
        with monkeypatch.context() as patched:
            patched.setattr(f"kpareto.uses.{name}", value)
            assert main(["inspect", "some.csv"]) == 0
            assert "kpareto utility tells how far off counts are with either." in capsys.readouterr().out
    monkeypatch.setattr("kpareto.faces.cli.releases.MOST_READ", 399)
    assert main(["inspect", "some.csv"]) == 0
    assert "kpareto utility tells how far off counts are with either." in capsys.readouterr().out


def test_inspect_has_a_narrow_table(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was counted stands in a table of 80 columns; why and how stands below, a line per column."""
    assert main(["inspect", "people.csv"]) == 0
    table, _, below = capsys.readouterr().out.partition("\n\n")
    assert max(map(len, table.splitlines())) <= 80
    assert len(table.splitlines()) == 1 + len(NAMES)
    assert below.startswith("age: named like age. Hierarchy: {intervals = ")


def test_a_table_knows_whether_it_fits() -> None:
    """The width counts heads, cells and what stands between them."""
    assert console.fits_width(["k", "name"], [[12345, "x"]], 14)
    assert not console.fits_width(["k", "name"], [[12345, "x"]], 13)
    assert console.fits_width(["k"], [], 3)
