"""The first hour with a messy export of a German hospital: from the file as it is to next month's rows, by commands alone."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kpareto.faces.cli import main

NAMES = "Fallnummer;Geburtsdatum;PLZ;Geschlecht;Gewicht;Gehalt;Diagnose"


def lines(first: int = 0) -> list[str]:
    """Rows with dates, decimal commas, points between thousands, umlauts and marks of missing values."""
    return [
        f"F{first + i:05};{1 + i % 28:02}.{1 + i % 12:02}.{1950 + i % 40};{50667 + i % 4};{'mwm'[i % 3]};"
        f"{60 + i % 30},{i % 10};{2 + i % 3}.{100 + i % 700},50;{('Grippe', 'Müdigkeit', 'Röteln')[i % 3] if i % 40 else 'k.A.'}"
        for i in range(first, first + 400)
    ]


def as_text(path: Path, first: int = 0) -> Path:
    """The export as its program writes it: titles, semicolons, cp1252, line ends of Windows."""
    titles = ["Auswertung Aufnahme", "Stand: 1.2.2024", ""]
    path.write_bytes(("\r\n".join([*titles, NAMES, *lines(first)]) + "\r\n").encode("cp1252"))
    return path


def as_zip(path: Path) -> Path:
    """The same file, packed."""
    inner = as_text(path.with_name("inner.csv"))
    with zipfile.ZipFile(path.with_name("export.csv.zip"), "w") as archive:
        archive.write(inner, "export.csv")
    return path.with_name("export.csv.zip")


@pytest.mark.parametrize("make", [as_text, as_zip])
def test_the_first_hour(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inspect, release, verify, apply: no option is needed, and what leaves looks as what came in."""
    monkeypatch.chdir(tmp_path)
    file = make(tmp_path / "export.csv")
    assert main(["inspect", file.name, "-o", "job.toml"]) == 0
    assert (
        "Read as: encoding cp1252, separated by semicolon, 3 lines before the table left out, decimal comma, '.' between "
        "thousands, dates of 'Geburtsdatum' as %d.%m.%Y."
    ) in capsys.readouterr().out
    job = (tmp_path / "job.toml").read_text(encoding="utf-8")
    assert 'missing_values = ["", "?", "k.A."]' in job
    assert "[columns.Geburtsdatum]" in job
    assert "dates = [" in job
    assert '[columns.Gehalt]\nrole = "decide"\n' in job  # an exact salary waits for a decision, as the weight does
    (tmp_path / "job.toml").write_text(
        job.replace('[columns.Gehalt]\nrole = "decide"\n', '[columns.Gehalt]\nrole = "sensitive"\n'), encoding="utf-8"
    )
    assert main(["release", "job.toml", "--seconds", "20", "-q"]) == 0
    released = (tmp_path / "export-anon.csv").read_bytes().decode("cp1252").splitlines()
    assert released[0] == "Geburtsdatum;PLZ;Geschlecht;Gehalt;Diagnose"  # the weight waits for a decision
    assert all(line.split(";")[3].endswith(",50") for line in released[1:])
    assert any("Müdigkeit" in line for line in released)
    assert main(["verify", "export-anon.csv", "export-anon.certificate.json"]) == 0
    assert main(["report", "job.toml", "-o", "report.md", "-q"]) == 0
    assert "On all 5 released columns together" in (tmp_path / "report.md").read_text(encoding="utf-8")
    as_text(tmp_path / "march.csv", 1000)
    assert main(["apply", "export-anon.recoding.json", "march.csv", "--earlier", "export-anon.csv", "-q"]) == 0
    assert (tmp_path / "march-recoded.csv").read_bytes().decode("cp1252").splitlines()[0] == released[0]
