"""What kpareto measure prints, writes and refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter

import kpareto as kp
from kpareto.faces.cli import main

ROWS = ["34,10,f,flu", "34,10,f,flu", "34,10,m,flu", "51,10,m,hiv", "51,20,m,flu", "88,20,m,hiv"]


def people(folder: Path) -> str:
    """Six people in a file."""
    file = folder / "people.csv"
    file.write_text("age,zip,sex,ill\n" + "\n".join(ROWS) + "\n", encoding="utf-8")
    return str(file)


def test_measure_says_what_singles_people_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentences come first, then tables, within 80 columns."""
    assert main(["measure", people(tmp_path), "--quasi", "age,zip,sex", "--sensitive", "ill"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("k = 1: the smallest class by age, zip, sex has 1 row.\n4 of 6 rows (66.7%) are alone")
    assert "ill: l = 1, t = 0.667; a class has one value only" in out
    assert re.search(r"^age \+ zip +4 +3 +50\.0 %$", out, re.MULTILINE)
    assert re.search(r"^prosecutor .* 100\.0 % +83\.3 %$", out, re.MULTILINE)
    assert "Confidential: these are values of people" in out
    assert max(map(len, out.splitlines())) <= 100  # sentences wrap by themselves; tables are narrower


def test_measure_says_that_nobody_is_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no row is alone nobody is found."""
    (tmp_path / "alike.csv").write_text("age\n" + "30\n31\n" * 4)
    assert main(["measure", str(tmp_path / "alike.csv"), "--quasi", "age", "-q"]) == 0
    out = capsys.readouterr().out
    assert "No row is alone with its values." in out
    assert "finds them" not in out


def test_measure_writes_json_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has all that was counted; the page needs nothing else and is for its owner alone where it has rows."""
    page = tmp_path / "page.html"
    words = ["measure", people(tmp_path), "--quasi", "age, zip", "--population", "60", "-o", str(page), "--json", "-"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert (answer["schema"], answer["k"], answer["unique"]["unique"]) == ("kpareto-measure-1", 1, 3)
    assert answer["risks"]["journalist"]["mean"] is not None
    assert err == f"Page: {page}\n"
    text = page.read_text(encoding="utf-8")
    assert "default-src &#x27;none&#x27;" in text
    assert "88, 20" in text
    assert page.stat().st_mode & 0o077 == 0
    told = tmp_path / "told.json"
    assert main(["measure", people(tmp_path), "--quasi", "age, zip", "--json", str(told), "-q"]) == 0
    assert json.loads(told.read_text(encoding="utf-8"))["riskiest"]
    assert told.stat().st_mode & 0o077 == 0
    assert (
        main(["measure", people(tmp_path), "--quasi", "age", "--rows", "0", "-o", str(page), "-q", "--overwrite"]) == 0
    )
    assert "88" not in page.read_text(encoding="utf-8").partition("<body")[2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--quasi", "agee"], "No column 'agee' in the table. Did you mean 'age'?"),
        (["--quasi", ","], "No column is a quasi-identifier."),
        (["--quasi", "age", "--population", "3"], "population is 3, and the table has 6 rows."),
        (["--quasi", "age", "--population", "nobody.csv"], "nobody.csv"),
        (["--quasi", "age", "-o", "x.pdf"], "The page 'x.pdf' must end in .html."),
        (["--quasi", "age", "-o", "no/x.html"], "there is no folder 'no'"),
        ([], "Missing option '--quasi'"),
    ],
)
def test_measure_refuses_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    """Slips are one line, status 2."""
    assert main(["measure", people(tmp_path), *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert sentence in err


EXPORT = ["Auswertung;;;", ";;;", "Geburtsdatum;PLZ;Gewicht;Diagnose"]
EXPORTED = ["01.02.1964;50667;60,5;Grippe", "01.02.1964;50667;60,5;Röteln", "31.12.1970;50668;71,25;Grippe"]
ANSWER = ("k = 1: the smallest class by Geburtsdatum, PLZ has 1 row.", "1 of 3 rows (33.3%) are alone")


def as_text(folder: Path) -> Path:
    """A German export with a title, semicolons, cp1252, decimal commas and dates such as 31.12.1970."""
    (folder / "export.csv").write_bytes("\r\n".join([*EXPORT, *EXPORTED, ""]).encode("cp1252"))
    return folder / "export.csv"


def as_sheet(folder: Path) -> Path:
    """The same on the second sheet of a workbook."""
    with xlsxwriter.Workbook(str(folder / "export.xlsx")) as book:
        book.add_worksheet("Notes").write(0, 0, "see the other sheet")
        sheet = book.add_worksheet("People")
        for place, line in enumerate([*EXPORT, *EXPORTED]):
            sheet.write_row(place, 0, line.split(";"))
    return folder / "export.xlsx"


FORM = "2 lines before the table left out, decimal comma, dates of 'Geburtsdatum' as %d.%m.%Y."


@pytest.mark.parametrize(
    ("make", "options", "read_as"),
    [
        (as_text, [], f"Read as: encoding cp1252, separated by semicolon, {FORM}"),
        (as_sheet, ["--form", "sheet=People"], f"Read as: sheet 'People', {FORM}"),
    ],
)
def test_measure_recognises_files_as_inspect_does(
    make: Callable[[Path], Path], options: list[str], read_as: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Titles, separator, encoding, sheet, decimal commas and dates need no job, for the table and its population."""
    file = make(tmp_path)
    words = [str(file), "--quasi", "Geburtsdatum,PLZ", "--sensitive", "Gewicht", *options]
    assert main(["measure", *words, "--json", str(tmp_path / "answer.json")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"{read_as}\n{ANSWER[0]}\n{ANSWER[1]}")
    assert "1970-12-31" in out  # as every other door reads the dates
    answer = json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))
    assert answer["form"]["dates"] == {"Geburtsdatum": "%d.%m.%Y"}
    told = {"sheet": "People"} if options else None
    people = as_text(tmp_path)
    in_python = kp.measure(file, ["Geburtsdatum", "PLZ"], "Gewicht", population=people, form=told)
    assert in_python.form.to_dict() == answer["form"]
    assert in_python.summary().startswith(f"{read_as}\n{ANSWER[0]}")
    assert in_python.riskiest[0].people == 1


def test_measure_refuses_a_form_that_the_file_has_no_use_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key of another kind of file is one sentence."""
    assert main(["measure", people(tmp_path), "--quasi", "age", "--form", "sheet=One"]) == 2
    assert "only a workbook has one" in capsys.readouterr().err
