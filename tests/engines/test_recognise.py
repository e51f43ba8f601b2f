"""The form of a file as it is recognised: encoding, titles, names, signs in numbers, dates."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpareto import inspect
from kpareto.engines.form import Form, file_kind
from kpareto.engines.recognise import choose_dates, count_titles, lay_out_text, recognise
from kpareto.errors import BadInput, BadTable

MARKS = ("", "?", "k.A.")


def form_of(path: Path, text: str, encoding: str = "utf-8") -> Form:
    """The form that is recognised in a text."""
    path.write_bytes(text.encode(encoding))
    return recognise(path, "utf-8", MARKS).form


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["93,4", "60,25", "71"], {"decimal": ","}),
        (["50.846,65", "1.200,10"], {"decimal": ",", "thousands": "."}),
        (["50,846.65", "1,200.10"], {"thousands": ","}),
        (["93.4", "60.25"], {}),
        (["93,4", "sechzig"], {}),
        (["1,2", "k.A.", "", "3,45"], {"decimal": ","}),
        (["10.02.2024", "31.12.2024"], {"dates": {"x": "%d.%m.%Y"}}),
        (["1.2.2024 08:15", "31.12.2024 23:59"], {"dates": {"x": "%d.%m.%Y %H:%M"}}),
        (["12/31/2024", "01/02/2024"], {"dates": {"x": "%m/%d/%Y"}}),
        (["31/12/2024", "01/02/2024"], {"dates": {"x": "%d/%m/%Y"}}),
        (["01/02/2024", "03/04/2024"], {}),
        (["19640120", "19700203", "20011231"], {"dates": {"x": "%Y%m%d"}}),
        (["19640120", "19701303", "20011231"], {}),
        (["2024-01-31", "2024-02-01"], {}),
        (["12 Jan 2024", "1 Feb 2024"], {"dates": {"x": "%d %b %Y"}}),
        (["02139", "10001"], {}),
    ],
)
def test_signs_and_dates(tmp_path: Path, values: list[str], expected: dict[str, object]) -> None:
    """Signs in numbers and orders of dates are told where every value agrees, and not where two would fit."""
    text = "x;y\n" + "".join(f"{value};{place}a\n" for place, value in enumerate(values))
    assert form_of(tmp_path / "x.csv", text).to_dict() == {"separator": ";", **expected}


def test_two_orders_of_days_and_months(tmp_path: Path) -> None:
    """Where nobody can tell day from month it is said; another column of the table may decide."""
    (tmp_path / "x.csv").write_text("a,b\n01/02/2024,x\n03/04/2024,y\n")
    found = recognise(tmp_path / "x.csv", "utf-8", MARKS)
    assert found.form.dates == {}
    assert "may be day/month or month/day" in found.remarks[0]
    (tmp_path / "x.csv").write_text("a,b\n01/02/2024,12/31/2024\n03/04/2024,01/01/2024\n")
    assert recognise(tmp_path / "x.csv", "utf-8", MARKS).form.dates == {"a": "%m/%d/%Y", "b": "%m/%d/%Y"}
    assert choose_dates({"a": ("%d-%m-%Y", "%m-%d-%Y")}) == ({}, ["a"])


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", {}),
        ("utf-8-sig", {}),
        ("cp1252", {"encoding": "cp1252"}),
        ("utf-16", {}),
        ("utf-16-le", {"encoding": "utf-16-le"}),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, told: dict[str, str]) -> None:
    """A mark speaks for itself; else the encoding is written down unless it is UTF-8."""
    text = "Titel\n\nname;age\n" + "".join(f"Müller;{age}\n" for age in range(30, 50))
    assert form_of(tmp_path / "x.csv", text, encoding).to_dict() == {**told, "separator": ";", "skip": 2}


def test_a_text_that_is_hardly_western_is_not_guessed(tmp_path: Path) -> None:
    """Bytes of another script are no cp1252: the sentence asks for the encoding."""
    (tmp_path / "x.csv").write_bytes(("имя,город\n" + "Иван,Москва\n" * 50).encode("cp1251"))
    with pytest.raises(BadTable, match="is not UTF-8"):
        recognise(tmp_path / "x.csv", "utf-8", MARKS)
    assert recognise(tmp_path / "x.csv", "cp1251", MARKS).form.encoding == "cp1251"


def test_titles() -> None:
    """Short lines and lines with one filled cell are titles; a first line with an empty name is none."""
    body = "a;b;c\n1;2;3\n4;5;6\n"
    assert lay_out_text(body) == (";", 0)
    assert lay_out_text(f"Report, of 2024\n\n{body}") == (";", 2)
    assert lay_out_text(f"Report;;\n;;\n{body}") == (";", 2)
    assert lay_out_text(f'"Report\nof 2024"\n{body}') == (";", 2)
    assert lay_out_text(f"sep=;\n{body}", ";") == (";", 1)
    assert lay_out_text("only\n1\n2\n") == (",", 0)
    assert count_titles([(1, ["", "a"]), (2, ["0", "x"]), (3, ["1", "y"])]) == 0
    assert count_titles([]) == 0


def test_kinds_by_name() -> None:
    """The ending says what a file may hold, whatever it is packed in."""
    names = {"a.csv": "text", "a.csv.gz": "text", "a.dta.zip": "statistics", "a.XLSX": "sheet", "a": "text"}
    assert {name: file_kind(name) for name in names} == names
    assert file_kind("a.b.jsonl.bz2") == "json"


def test_what_is_told_is_not_recognised(tmp_path: Path) -> None:
    """Keys that are told stand as they are; the rest of the form is recognised beside them."""
    file = tmp_path / "x.csv"
    file.write_text("1;9\n3,5;4\n3,7;2\n")
    assert recognise(file, "utf-8", MARKS).form.header is False
    form = recognise(file, "utf-8", MARKS, {"header": True}).form
    assert form.to_dict() == {"separator": ";", "header": True, "decimal": ","}
    form = recognise(file, "utf-8", MARKS, {"names": ("a", "b"), "decimal": "."}).form
    assert form.to_dict() == {"separator": ";", "names": ["a", "b"]}


def test_a_name_too_long_is_no_file() -> None:
    """The sentence is that of a file that is not there."""
    with pytest.raises(BadInput):
        inspect("x" * 5_000 + ".csv")
