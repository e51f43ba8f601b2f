"""A release leaves in the form its table came in: separator, encoding, decimal sign, types; unless told otherwise."""

from __future__ import annotations

import datetime as dt
import gzip
import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest
import xlsxwriter

from kpareto.engines.duckdb import files as workbook
from kpareto.errors import BadJob, Unsafe
from kpareto.jobs.inspect import inspect, job_text
from kpareto.jobs.parse import parse_job
from kpareto.jobs.release import release_job
from kpareto.releases.apply import apply
from kpareto.releases.release import Release
from kpareto.verifier import counting, verify
from kpareto.verifier.cells import read_rows

JOB = """
[data]
source = "people.csv"
missing_values = ["", "k.A."]
encoding = "cp1252"
separator = ";"
decimal = ","
thousands = "."
dates = {born = "%d.%m.%Y"}
[columns.born]
role = "quasi-identifier"
hierarchy = {dates = ["month", "year"]}
[columns.weight]
role = "quasi-identifier"
[columns.pay]
role = "sensitive"
[columns.city]
role = "plain"
[columns.size]
role = "plain"
[suppression]
limit = 0.2
[limits]
k = 2
[release]
choose = "k=2"
"""


def people(path: Path, year: int = 1964) -> None:
    """Twelve people of a German table, one without a weight."""
    lines = [
        f"{1 + place // 4:02}.0{1 + place % 2}.{year};{'k.A.' if place == 11 else f'{60 + place // 6},5'};"
        f"{1 + place % 3}.200,50;{('Köln', 'Düren')[place % 2]};1.0{place:02},25"
        for place in range(12)
    ]
    path.write_bytes(("\r\n".join(["born;weight;pay;city;size", *lines]) + "\r\n").encode("cp1252"))


def released(folder: Path, target: str, more: str = "") -> Release:
    """The release of these people to a target."""
    people(folder / "people.csv")
    return release_job(parse_job(f'{JOB}target = "{target}"\n{more}', folder))


def test_text_leaves_as_it_came(tmp_path: Path) -> None:
    """Encoding, separator and decimal comma stay; plain cells are byte for byte those of the table."""
    done = released(tmp_path, "out.csv")
    lines = (tmp_path / "out.csv").read_bytes().decode("cp1252").splitlines()
    assert lines[0] == "born;weight;pay;city;size"
    cells = [line.split(";") for line in lines[1:]]
    assert {cell[1] for cell in cells} <= {"60,5", "61,5", "*"}
    assert {cell[2] for cell in cells} == {"1200,50", "2200,50", "3200,50"}
    assert {cell[3] for cell in cells} == {"Köln", "Düren"}
    assert all(cell[4].startswith("1.0") and cell[4].endswith(",25") for cell in cells)
    public = done.certificate.public["release"]
    assert public["form"] == {"separator": ";", "encoding": "cp1252", "decimal": ","}
    assert verify(tmp_path / "out.csv", tmp_path / "out.certificate.json").rows == len(cells)
    damaged = (tmp_path / "out.csv").read_bytes().replace(b"60,5", b"60,7")
    (tmp_path / "out.csv").write_bytes(damaged if damaged != (tmp_path / "out.csv").read_bytes() else b"x;y\n1;2\n")
    with pytest.raises(Unsafe):
        verify(tmp_path / "out.csv", tmp_path / "out.certificate.json")


def test_text_leaves_as_told(tmp_path: Path) -> None:
    """The keys of [release] say otherwise; numbers of plain columns follow."""
    released(tmp_path, "out.csv", 'separator = ","\nencoding = "utf-8"\ndecimal = "."\n')
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "born,weight,pay,city,size"
    assert {line.split(",")[2] for line in lines[1:]} == {"1200.50", "2200.50", "3200.50"}
    assert all(line.split(",")[4].startswith("10") for line in lines[1:])
    verify(tmp_path / "out.csv", tmp_path / "out.certificate.json")
    released(tmp_path, "other.csv", 'separator = ","\n')
    assert '"1200,50"' in (tmp_path / "other.csv").read_bytes().decode("cp1252")
    verify(tmp_path / "other.csv", tmp_path / "other.certificate.json")
    with pytest.raises(BadJob, match=r"release.separator is not used: only text has one"):
        released(tmp_path, "out.parquet", 'separator = ","\n')


@pytest.mark.parametrize("target", ["out.tsv", "out.csv.gz"])
def test_other_endings(tmp_path: Path, target: str) -> None:
    """A .tsv has tabs, a .gz is packed, and both are verified."""
    released(tmp_path, target)
    data = (tmp_path / target).read_bytes()
    text = (gzip.decompress(data) if target.endswith(".gz") else data).decode("cp1252")
    assert text.splitlines()[0] == "born;weight;pay;city;size".replace(";", "\t" if ".tsv" in target else ";")
    verify(tmp_path / target, tmp_path / "out.certificate.json")


def test_parquet_of_text_has_types(tmp_path: Path) -> None:
    """Numbers of a text file are numbers in Parquet where every text can be told from them again."""
    released(tmp_path, "out.parquet")
    types = {field.name: str(field.type) for field in pq.read_schema(tmp_path / "out.parquet")}
    assert types["size"] == "double"
    assert types["city"] == "string"
    assert types["pay"] == "string"  # 1200.50 would come back as 1200.5
    verify(tmp_path / "out.parquet", tmp_path / "out.certificate.json")


DATED = """
[data]
source = "stays.csv"
dates = {born = "%d.%m.%Y", came = "%d.%m.%Y", left = "%d.%m.%Y %H:%M", seen = "%d.%m.%Y"}
[columns.born]
role = "quasi-identifier"
hierarchy = {dates = ["month", "year"]}
[columns.came]
role = "plain"
[columns.left]
role = "plain"
[columns.seen]
role = "sensitive"
[limits]
k = 2
[release]
choose = "k=2"
"""


def stays(folder: Path, target: str) -> list[str]:
    """A release of twelve stays with four dates each; its lines where it is text."""
    lines = [
        f"{1 + i % 3:02}.0{1 + i % 2}.1964;{1 + i:02}.12.2023;{1 + i:02}.01.2024 08:15;0{1 + i % 2}.02.2024;Köln"
        for i in range(12)
    ]
    (folder / "stays.csv").write_text("\n".join(["born;came;left;seen;city", *lines, ""]), encoding="utf-8")
    release_job(parse_job(f'{DATED}target = "{target}"\n', folder))
    verify(folder / target, folder / f"{Path(target).stem}.certificate.json")
    return (folder / target).read_text(encoding="utf-8").splitlines() if target.endswith(".csv") else []


def test_plain_dates_leave_as_they_came(tmp_path: Path) -> None:
    """Plain dates keep the form of their country in text; generalized ones leave as labels, sensitive ones as ISO."""
    cells = [line.split(";") for line in stays(tmp_path, "out.csv")[1:]]
    assert {row[1] for row in cells} == {f"{1 + i:02}.12.2023" for i in range(12)}
    assert {row[2] for row in cells} == {f"{1 + i:02}.01.2024 08:15" for i in range(12)}
    assert {row[3] for row in cells} == {"2024-02-01", "2024-02-02"}
    assert all(not re.fullmatch(r"[0-9.]{10}", row[0]) for row in cells)


def test_plain_dates_of_text_are_dates_in_parquet_and_sheets(tmp_path: Path) -> None:
    """What a text writes as 01.12.2023 is that day where files know days."""
    stays(tmp_path, "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert set(table.column("came").to_pylist()) == {dt.date(2023, 12, 1 + i) for i in range(12)}
    assert "01.01.2024 08:15" in table.column("left").to_pylist()  # a moment stays the text it was
    stays(tmp_path, "sheet.xlsx")
    came = pd.read_excel(tmp_path / "sheet.xlsx", engine="calamine")["came"]
    assert set(came.dt.date) == {dt.date(2023, 12, 1 + i) for i in range(12)}


def test_workbooks_leave_as_workbooks(tmp_path: Path) -> None:
    """Numbers and dates are numbers and dates in the sheet, what begins with = is text, and one sheet is verified."""
    book = xlsxwriter.Workbook(str(tmp_path / "people.xlsx"), {"default_date_format": "dd.mm.yyyy"})
    sheet = book.add_worksheet("People")
    for place, name in enumerate(("born", "pay", "note")):
        sheet.write(0, place, name)
    for line in range(12):
        sheet.write_datetime(1 + line, 0, dt.date(1964, 1 + line % 2, 1 + line % 3))
        sheet.write(1 + line, 1, 1000.5 + line % 3)
        sheet.write_string(1 + line, 2, ("=1+1", "x")[line % 2])
    book.close()
    profile = inspect(tmp_path / "people.xlsx")
    text = job_text(profile, "people.xlsx")
    assert 'target = "people-anon.xlsx"' in text
    job = parse_job(text.replace('role = "decide"', 'role = "plain"').replace("\nk = 5", "\nk = 2"), tmp_path)
    done = release_job(job)
    first = (tmp_path / "people-anon.xlsx").read_bytes()
    release_job(job)
    assert (tmp_path / "people-anon.xlsx").read_bytes() == first
    answer = pd.read_excel(tmp_path / "people-anon.xlsx", engine="calamine")
    assert len(answer) == done.rows
    assert set(answer["note"]) == {"=1+1", "x"}
    assert verify(tmp_path / "people-anon.xlsx", tmp_path / "people-anon.certificate.json").rows == len(answer)
    certified = (tmp_path / "people-anon.certificate.json").read_text()
    more = xlsxwriter.Workbook(str(tmp_path / "two.xlsx"))
    more.add_worksheet()
    more.add_worksheet()
    more.close()
    (tmp_path / "two.certificate.json").write_text(certified)
    with pytest.raises(Unsafe, match="has 2 sheets, and one was certified"):
        verify(tmp_path / "two.xlsx", tmp_path / "two.certificate.json")


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_files_of_statistics_leave_as_such(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, days and moments have their types, a missing one is missing, and labels are what the cells say."""
    lines = range(24)
    frame = pd.DataFrame({
        "age": [20.0 + line % 4 for line in lines],
        "sex": [1.0 + line % 2 for line in lines],
        "pay": [None if line == 5 else 1000.5 + line % 3 for line in lines],
        "came": [dt.date(2023, 12, 1 + line % 12) for line in lines],
        "left": [None if line == 7 else dt.datetime(2024, 1, 1 + line % 12, 8, 15) for line in lines],  # noqa: DTZ001
        "note": ["" if line == 9 else ("Köln", "=1+1")[line % 2] for line in lines],
    })  # fmt: skip
    write = pyreadstat.write_dta if ending == ".dta" else pyreadstat.write_sav
    codes: dict[int | float, str] = {1: "woman", 2: "man"}
    write(frame, str(tmp_path / f"people{ending}"), file_label="ward 7", variable_value_labels={"sex": codes})
    assert f'target = "people-anon{ending}"' in job_text(inspect(tmp_path / f"people{ending}"), f"people{ending}")
    roles = {name: "quasi-identifier" if name in ("age", "sex") else "plain" for name in frame.columns}
    columns = "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items())
    settings = f'[limits]\nk = 2\n[release]\ntarget = "people-anon{ending}"\n'
    job = parse_job(f'[data]\nsource = "people{ending}"\n{columns}{settings}', tmp_path)
    done = release_job(job)
    target = tmp_path / f"people-anon{ending}"
    first = target.read_bytes()
    release_job(job)
    assert target.read_bytes() == first
    answer, meta = getattr(pyreadstat, f"read_{ending[1:]}")(str(target))
    assert len(answer) == done.rows
    assert (meta.file_label or "", meta.value_labels) == ("", {})
    assert set(answer["sex"]) <= {"woman", "man", "*"}
    assert {cell for cell in answer["pay"] if cell == cell} == {1000.5, 1001.5, 1002.5}
    assert set(answer["came"]) == {dt.date(2023, 12, 1 + i) for i in range(12)}
    assert answer["left"].isna().sum() == answer["pay"].isna().sum() == 1
    assert sorted(set(answer["note"])) == ["", "=1+1", "Köln"]
    assert verify(target, tmp_path / "people-anon.certificate.json").rows == len(answer)
    monkeypatch.setattr(counting, "LARGE", 0)  # a large one is no text that an engine could read either
    assert verify(target, tmp_path / "people-anon.certificate.json").rows == len(answer)
    write(answer, str(target), column_labels={"note": "Anna Muster"})
    with pytest.raises(Unsafe, match="has labels or notes beside its cells, and none were certified"):
        list(read_rows(target, False, {}))


@pytest.mark.parametrize("ending", [".dta", ".sav"])
def test_what_does_not_fit_into_a_file_of_statistics(tmp_path: Path, ending: str) -> None:
    """A name or a text that the program does not take is a sentence with what to do, and nothing is written."""
    (tmp_path / "rows.csv").write_text("a b,note\n" + "".join(f"{line % 2},{'x' * 40_000}\n" for line in range(8)))
    columns = '["columns"."a b"]\nrole = "quasi-identifier"\n[columns.note]\nrole = "plain"\n'
    job = f'[data]\nsource = "rows.csv"\n{columns}[limits]\nk = 2\n[release]\ntarget = "out{ending}"\n'
    with pytest.raises(BadJob, match=r"40,000 bytes.*Give a target that ends in \.parquet"):
        release_job(parse_job(job, tmp_path))
    short = job.replace('[columns.note]\nrole = "plain"', '[columns.note]\nrole = "identifier"')
    with pytest.raises(BadJob, match=r"does not fit into a file of .*Give a target that ends in \.parquet"):
        release_job(parse_job(short, tmp_path))
    assert sorted(file.name for file in tmp_path.iterdir() if not file.name.endswith("front.json")) == ["rows.csv"]


def test_a_sheet_that_would_be_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than a sheet holds are refused with what to do."""
    monkeypatch.setattr(workbook, "MOST_ROWS", 5)
    with pytest.raises(BadJob, match="A sheet holds 5 rows"):
        released(tmp_path, "out.xlsx")
    assert not (tmp_path / "out.xlsx").exists()


def test_a_character_that_the_encoding_lacks(tmp_path: Path) -> None:
    """A release that cannot be written in the encoding of its source is refused with what to do."""
    text = "city;age\n" + "".join(
        f"{city};{30 + place}\n" for place, city in enumerate(["Łódź", "Łódź", "Köln", "Köln"])
    )
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    job = parse_job(
        '[data]\nsource = "x.csv"\n[columns.city]\nrole = "quasi-identifier"\n[columns.age]\nrole = "plain"\n'
        '[limits]\nk = 2\n[release]\nchoose = "k=2"\ntarget = "out.csv"\nencoding = "cp1252"\n',
        tmp_path,
    )
    with pytest.raises(BadJob, match=r"'Ł', which the encoding cp1252 of its source lacks. Write encoding"):
        release_job(job)
    assert not (tmp_path / "out.csv").exists()


def test_next_months_rows_are_read_in_the_same_form(tmp_path: Path) -> None:
    """The recoding keeps form and marks of its table, so new rows in the same form are read alike."""
    released(tmp_path, "out.csv")
    people(tmp_path / "new.csv", 1970)
    applied = apply(
        tmp_path / "out.recoding.json",
        tmp_path / "new.csv",
        tmp_path / "new-out.csv",
        unseen="star",
        earlier=[tmp_path / "out.csv"],
    )
    assert applied.release.rows + applied.release.suppressed == 12
    first = (tmp_path / "new-out.csv").read_bytes().decode("cp1252").splitlines()[0]
    assert first == "born;weight;pay;city;size"


def test_labels_of_codes_leave_as_text(tmp_path: Path) -> None:
    """A file of SPSS is released with the labels of its codes, which next month's file has too, codes or not."""
    frame = pd.DataFrame({"sex": [1.0, 2.0] * 6, "ward": [1.0, 2.0, 3.0] * 4, "ill": [1.0, 1.0, 2.0, 2.0] * 3})
    labels: dict[str, dict[int | float, str]] = {
        "sex": {1: "male", 2: "female"},
        "ward": {1: "north", 2: "south"},
        "ill": {1: "flu", 2: "measles"},
    }
    for name in ("people.sav", "new.sav"):
        pyreadstat.write_sav(frame, str(tmp_path / name), variable_value_labels=labels)
    job = (
        '[data]\nsource = "people.sav"\n[columns.sex]\nrole = "quasi-identifier"\n[columns.ward]\nrole = "plain"\n'
        '[columns.ill]\nrole = "sensitive"\n[limits]\nk = 2\n[release]\nchoose = "k=2"\ntarget = "out.parquet"\n'
    )
    release_job(parse_job(job, tmp_path))
    table = pq.read_table(tmp_path / "out.parquet")
    assert {name: set(table.column(name).to_pylist()) for name in table.column_names} == {
        "sex": {"male", "female"},
        "ward": {"north", "south", "3"},
        "ill": {"flu", "measles"},
    }
    verify(tmp_path / "out.parquet", tmp_path / "out.certificate.json")
    apply(tmp_path / "out.recoding.json", tmp_path / "new.sav", tmp_path / "new.parquet")
    assert set(pq.read_table(tmp_path / "new.parquet").column("sex").to_pylist()) == {"male", "female"}
    coded = job.replace('people.sav"', 'people.sav"\ncodes = true').replace("out.parquet", "codes.parquet")
    release_job(parse_job(coded, tmp_path))
    assert set(pq.read_table(tmp_path / "codes.parquet").column("ward").to_pylist()) == {1.0, 2.0, 3.0}
    with pytest.raises(BadJob, match=r"data.codes is not used: only a file of Stata, SPSS or SAS has one"):
        parse_job(coded.replace("people.sav", "people.csv"), tmp_path)
