"""What the commands that hand out rows say, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpareto.cli import main
from kpareto.handout import many

PERSONS = """
[data]
source = "visits.csv"
person = "id"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10]}
[columns.id]
role = "identifier"
[search]
method = "exact"
space = "lattice"
objectives = ["k", "glm"]
[limits]
k = 5
[release]
choose = "k=5"
target = "out.csv"
"""


def visits(folder: Path, encoding: str = "utf-8") -> None:
    """Fifteen persons in two decades of age, three visits each."""
    rows = [f"p{who},{20 + who},Köln" for who in range(10, 20) for _ in range(3)]
    rows += [f"q{who},{20 + who},Ulm" for who in range(20, 25) for _ in range(3)]
    (folder / "visits.csv").write_text("id,age,town\n" + "\n".join(rows) + "\n", encoding=encoding)


def test_k_of_persons_is_said_before_k_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The headline counts persons where they are told apart; verify says that it cannot recount them."""
    visits(tmp_path)
    (tmp_path / "job.toml").write_text(PERSONS)
    assert main(["release", str(tmp_path / "job.toml"), "-q"]) == 0
    said = capsys.readouterr().out
    assert "k = 5 persons (15 rows)" in said
    assert "out.recoding.json (confidential)" in said
    assert "Note: These columns leave as they are: town." in said
    assert main(["verify", str(tmp_path / "out.csv"), str(tmp_path / "out.certificate.json")]) == 0
    said = capsys.readouterr().out
    assert "45 rows in 2 classes" in said
    assert "  k = 5 persons (15 rows)" in said
    assert "not checked: k(counts=persons): persons cannot be recounted from the file" in said
    assert main(["verify", str(tmp_path / "gone.csv"), str(tmp_path / "out.certificate.json")]) == 2
    assert "There is no release" in capsys.readouterr().err


def test_apply_refuses_new_columns_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A column that the fitting table did not have stops the command, or is dropped as told."""
    visits(tmp_path)
    (tmp_path / "job.toml").write_text(PERSONS)
    assert main(["release", str(tmp_path / "job.toml"), "-q"]) == 0
    lines = (tmp_path / "visits.csv").read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([lines[0] + ",phone", *(line + ",0123" for line in lines[1:])]) + "\n")
    words = ["apply", str(tmp_path / "out.recoding.json"), str(tmp_path / "new.csv"), "--target"]
    capsys.readouterr()
    assert main([*words, str(tmp_path / "more.csv")]) == 2
    assert "have the column 'phone', which the fitting table did not have" in capsys.readouterr().err
    assert not (tmp_path / "more.csv").exists()
    assert main([*words, str(tmp_path / "more.csv"), "--new-columns", "drop"]) == 0
    assert "Note: New columns were left out: phone." in capsys.readouterr().out
    assert (tmp_path / "more.csv").read_text().startswith("age,town\n")


def test_inspect_writes_the_encoding_into_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text in Latin-1 is a sentence that names the option, and with it a job that knows the encoding."""
    visits(tmp_path, "latin-1")
    words = ["inspect", str(tmp_path / "visits.csv"), "-o", str(tmp_path / "job.toml")]
    assert main(words) == 2
    assert "inspect and apply take --encoding latin-1" in capsys.readouterr().err
    assert main([*words, "--encoding", "latin-1"]) == 0
    assert 'encoding = "latin-1"' in (tmp_path / "job.toml").read_text()


def test_counts_have_their_noun() -> None:
    """One row, two rows; one class, two classes."""
    assert (many(1, "row"), many(2, "row")) == ("1 row", "2 rows")
    assert (many(1, "class", "classes"), many(2000, "class", "classes")) == ("1 class", "2,000 classes")
