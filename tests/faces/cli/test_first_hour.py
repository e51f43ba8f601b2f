"""A newcomer's first hour: from three kinds of tables to releases that hold, by the commands that the tutorial shows."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from kpareto.faces.cli import main
from tests.twins.consoles import change_job, follow
from tests.twins.first_tables import HOSPITAL, write_hospital, write_service, write_survey

pytestmark = pytest.mark.dangers  # what newcomers are shown releases nothing dangerous

TUTORIAL = HOSPITAL.parent / "tutorial.md"


def count(query: str) -> int:
    """The one number that a query gives, by a program that is not ours."""
    with duckdb.connect() as connection:
        return int(connection.execute(query).fetchall()[0][0])


def names_in(file: Path) -> list[str]:
    """The names of the columns of a text."""
    return [name.strip('"') for name in file.read_text(encoding="utf-8").partition("\n")[0].split(",")]


@dataclass(frozen=True)
class Walked:
    """Where a walk led: the released file, and the role of each column in the job."""

    released: Path
    roles: dict[str, str]

    def of(self, *wanted: str) -> list[str]:
        """The columns that have one of these roles, in order."""
        return [name for name, role in self.roles.items() if role in wanted]

    def smallest(self) -> int:
        """The size of the smallest class of the released rows."""
        return smallest(self.released, self.of("quasi-identifier"))


def walk(data: Path, later: Path, roles: dict[str, str], capsys: pytest.CaptureFixture[str], *accept: str) -> Walked:
    """inspect, decide, front, release, verify, apply, all of them quietly: nothing is said beside the answers."""
    job = data.with_suffix(".toml")
    assert main(["inspect", str(data), "-o", str(job), "-q"]) == 0
    for column, role in roles.items():
        change_job(job, f'[columns.{column}]\nrole = "{role}"\n')
    assert main(["front", str(job), "-q"]) == 0
    released = data.with_name(f"{data.stem}-anon{data.suffix}")
    assert main(["release", str(job), "-q", "--json", str(data.with_suffix(".json")), *accept]) == 0
    papers = f"{released.with_suffix('')}"
    assert main(["verify", str(released), f"{papers}.certificate.public.json"]) == 0
    recoded = data.with_name(f"later-anon{data.suffix}")
    assert main(["apply", f"{papers}.recoding.json", str(later), "--target", str(recoded), "-q", *accept]) == 0
    assert recoded.stat().st_size > 0
    assert capsys.readouterr().err == ""
    columns = tomllib.loads(job.read_text(encoding="utf-8"))["columns"]
    return Walked(released, {name: column["role"] for name, column in columns.items()})


def smallest(released: Path, quasi: list[str]) -> int:
    """The size of the smallest class of a released file."""
    names = ", ".join(f'"{name}"' for name in quasi)
    return count(f"SELECT min(n) FROM (SELECT count(*) AS n FROM '{released}' GROUP BY {names})")


def test_the_tutorial_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command of the tutorial ends well and answers what the page shows, from the export to next month."""
    shutil.copy(HOSPITAL, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert follow(TUTORIAL, tmp_path, capsys) == 6
    names = ("Geburtsdatum", "Geschlecht", "PLZ", "Aufnahme")
    for released in ("discharges-2024-anon.csv", "january-anon.csv"):
        content = (tmp_path / released).read_bytes().decode("cp1252")
        (tmp_path / "utf8.csv").write_text(content, encoding="utf-8")
        assert smallest(tmp_path / "utf8.csv", list(names)) >= 5
    certificate = json.loads((tmp_path / "discharges-2024-anon.certificate.json").read_text(encoding="utf-8"))
    assert "danger" not in json.dumps(certificate["public"]["warnings"])


def test_a_messy_export_keeps_its_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A German export is released with semicolons, its encoding and its decimal commas, without names or case numbers."""
    data = write_hospital(tmp_path / "export.csv", 3000)
    later = write_hospital(tmp_path / "later.csv", 1500, seed=2)
    walked = walk(
        data, later, {"Name": "identifier", "Gewicht": "plain", "Versicherung": "plain"}, capsys, "--accept", "W1"
    )
    lines = walked.released.read_bytes().decode("cp1252").splitlines()
    assert lines[0] == "Geburtsdatum;Geschlecht;PLZ;Aufnahme;Gewicht;Versicherung;Diagnose"
    cells = [line.split(";") for line in lines[1:]]
    assert all("," in row[4] for row in cells)
    assert {row[1] for row in cells} <= {"weiblich", "männlich", "*"}
    assert walked.of("identifier") == ["Fallnummer", "Name"]
    assert walked.of("sensitive") == ["Diagnose"]


def test_a_survey_of_42_columns_releases_only_what_was_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 42 columns only those leave that have a role, and at least five people look alike on what others may know."""
    data = write_survey(tmp_path / "survey.csv", 4000)
    later = write_survey(tmp_path / "wave2.csv", 4000, seed=2)
    walked = walk(data, later, {}, capsys)
    shown = names_in(walked.released)
    assert len(names_in(data)) == 42
    assert set(walked.of("identifier", "decide")).isdisjoint(shown)
    assert {"respondent", "comment"}.isdisjoint(shown)
    assert {"age", "sex", "region"} <= set(walked.of("quasi-identifier"))
    assert walked.smallest() >= 5


def test_many_rows_with_few_distinct_lose_only_what_they_must(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 1.4 million rows those of too small classes go, and not one row more: counted again from the source."""
    data = write_service(tmp_path / "service.parquet", 1_400_000)
    later = write_service(tmp_path / "later.parquet", 100_000, seed=2)
    walked = walk(data, later, {}, capsys)
    assert walked.smallest() >= 5
    rows = count(f"SELECT count(*) FROM '{walked.released}'")
    sizes = f"SELECT count(*) AS n FROM '{data}' GROUP BY {', '.join(walked.of('quasi-identifier'))}"
    small = count(f"SELECT coalesce(sum(n), 0) FROM ({sizes}) WHERE n < 5")
    assert 0 <= 1_400_000 - rows <= small  # small classes of the rows as they are; a coarser release has no more
