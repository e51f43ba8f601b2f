"""Files in every form that people keep tables in: the same rows give the same table, whatever holds them."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import lzma
import shutil
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
import xlsxwriter

from kpareto.engines.duckdb import copies
from kpareto.engines.form import DataFile, Form
from kpareto.engines.read import read
from kpareto.errors import BadJob, BadTable
from kpareto.jobs.inspect import inspect, job_text
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table
from tests.golden import make_files
from tests.golden.make_files import NAMES
from tests.golden.make_files import ROWS as PEOPLE

SCHEMA = Schema(quasi=NAMES)


def texts(table: Table) -> list[tuple[tuple[str, ...], int]]:
    """The distinct rows of a table as texts, with how often each occurs."""
    leaves = [hierarchy.leaves for hierarchy in table.hierarchies]
    rows = [tuple(leaves[place][code] for place, code in enumerate(row)) for row in table.codes.tolist()]
    return sorted(zip(rows, table.weights.tolist(), strict=True))


EXPECTED = [
    (("(missing)", "61", "71.25", "(missing)", "yes"), 1),
    (("1964-01-20", "(missing)", "93.4", "02139", "yes"), 1),
    (("1964-01-20", "39", "93.4", "02139", "yes"), 1),
    (("1970-02-03", "50", "60", "10001", "no"), 1),
]


def as_csv(folder: Path) -> Path:
    """The plain file that all others are compared with."""
    cells = [
        ["" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in PEOPLE
    ]
    (folder / "x.csv").write_text("\n".join(",".join(row) for row in [list(NAMES), *cells]) + "\n", encoding="utf-8")
    return folder / "x.csv"


def as_workbook(folder: Path, titles: int = 0) -> Path:
    """A workbook whose first sheet is empty."""
    book = xlsxwriter.Workbook(str(folder / "x.xlsx"), {"default_date_format": "yyyy-mm-dd"})
    book.add_worksheet("Empty")
    sheet = book.add_worksheet("People")
    for line in range(titles):
        sheet.write(line, 0, f"Title {line}")
    for line, row in enumerate([NAMES, *PEOPLE]):
        for place, cell in enumerate(row):
            if isinstance(cell, dt.date):
                sheet.write_datetime(titles + line, place, dt.datetime.combine(cell, dt.time()))
            elif cell is not None:
                sheet.write(titles + line, place, cell)
    book.close()
    return folder / "x.xlsx"


def as_binary_workbook(folder: Path) -> Path:
    """A sheet as Excel writes it in binary (.xlsb), cut down to its cells; dates are texts, which need no styles."""

    def record(kind: int, content: bytes = b"") -> bytes:
        number = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
        return number + bytes([len(content)]) + content  # all of ours are shorter than 128 bytes

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words)) + words.encode("utf-16-le")

    def cell(place: int, value: object) -> bytes:
        if value is None:
            return b""
        head = struct.pack("<II", place, 0)
        if isinstance(value, int | float):
            return record(5, head + struct.pack("<d", value))  # BrtCellReal
        return record(6, head + text(str(value)))  # BrtCellSt

    lines = [
        record(0, struct.pack("<IIHHBI", line, 0, 300, 0, 0, 0))  # BrtRowHdr
        + b"".join(cell(place, value) for place, value in enumerate(row))
        for line, row in enumerate([NAMES, *PEOPLE])
    ]
    size = struct.pack("<IIII", 0, len(PEOPLE), 0, len(NAMES) - 1)
    sheet = record(129) + record(148, size) + record(145) + b"".join(lines) + record(146) + record(130)
    bundle = record(156, struct.pack("<II", 0, 1) + text("rId1") + text("People"))
    book = record(131) + record(143) + bundle + record(144) + record(132)
    office = "http://schemas.openxmlformats.org"
    with zipfile.ZipFile(folder / "x.xlsb", "w") as archive:
        archive.writestr("xl/workbook.bin", book)
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{office}/package/2006/relationships"><Relationship Id="rId1" '
            f'Type="{office}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
        )
        archive.writestr("xl/worksheets/sheet1.bin", sheet)
    return folder / "x.xlsb"


def as_golden(name: str) -> Callable[[Path], Path]:
    """A file of tests/golden, which no package here writes."""

    def make(folder: Path) -> Path:
        shutil.copy(Path(make_files.__file__).with_name(name), folder / name)
        return folder / name

    return make


MANIFEST = (
    '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest '
    'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
)


def as_ods(folder: Path) -> Path:
    """A sheet as LibreOffice writes it, cut down to its cells."""

    def cell(value: object) -> str:
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, dt.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in [NAMES, *PEOPLE])
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="People">{lines}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    with zipfile.ZipFile(folder / "x.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr("content.xml", content)
    return folder / "x.ods"


def as_json_lines(folder: Path) -> Path:
    """One record per line; dates are ISO texts."""
    records = [dict(zip(NAMES, [str(row[0]) if row[0] else None, *row[1:]], strict=True)) for row in PEOPLE]
    (folder / "x.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return folder / "x.jsonl"


def as_json_list(folder: Path) -> Path:
    """All records in one list."""
    lines = as_json_lines(folder).read_text(encoding="utf-8").splitlines()
    (folder / "x.json").write_text(json.dumps([json.loads(line) for line in lines], indent=1), encoding="utf-8")
    return folder / "x.json"


def as_statistics(ending: str) -> Callable[[Path], Path]:
    """A file of Stata, SPSS or SAS."""
    writers: dict[str, Callable[..., None]] = {
        ".dta": pyreadstat.write_dta,
        ".sav": pyreadstat.write_sav,
        ".zsav": partial(pyreadstat.write_sav, compress=True),
        ".por": pyreadstat.write_por,
        ".xpt": pyreadstat.write_xport,
    }

    def make(folder: Path) -> Path:
        frame = pd.DataFrame(PEOPLE, columns=list(NAMES)).astype({"zip": "object"})
        frame["zip"] = frame["zip"].fillna("")
        writers[ending](frame, str(folder / f"x{ending}"))
        return folder / f"x{ending}"

    return make


def packed(ending: str, inner: Callable[[Path], Path] = as_csv) -> Callable[[Path], Path]:
    """A file packed in some way."""
    pack: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

    def make(folder: Path) -> Path:
        plain = inner(folder)
        target = plain.with_name(f"{plain.name}{ending}")
        if ending == ".zip":
            with zipfile.ZipFile(target, "w") as archive:
                archive.write(plain, f"folder/{plain.name}")
                archive.writestr("__MACOSX/._x", b"nothing")
        elif ending == ".zst":
            with pa.output_stream(str(target), compression="zstd") as stream:
                stream.write(plain.read_bytes())
        else:
            target.write_bytes(pack[ending](plain.read_bytes()))
        plain.unlink()
        return target

    return make


FILES: dict[str, Callable[[Path], Path]] = {
    "csv": as_csv,
    "xlsx": as_workbook,
    "ods": as_ods,
    "xlsb": as_binary_workbook,
    "xls": as_golden("people.xls"),
    "json lines": as_json_lines,
    "json list": as_json_list,
    "stata": as_statistics(".dta"),
    "spss": as_statistics(".sav"),
    "spss packed": as_statistics(".zsav"),
    "sas": as_golden("people.sas7bdat"),
    "sas transport": as_statistics(".xpt"),
    **{f"csv {ending}": packed(ending) for ending in (".gz", ".bz2", ".xz", ".zst", ".zip")},
    "json lines .gz": packed(".gz", as_json_lines),
    "stata .gz": packed(".gz", as_statistics(".dta")),
    "xlsx .zip": packed(".zip", as_workbook),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_of_file_gives_the_same_table(tmp_path: Path, kind: str) -> None:
    """Numbers, dates, codes with zeros and missing values are the same texts, whatever kind of file holds them."""
    table = read(FILES[kind](tmp_path), SCHEMA, "category")
    assert texts(table) == EXPECTED


def test_a_file_of_statistics_is_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk in which a column of dates has none does not decide its type."""
    monkeypatch.setattr(copies, "CHUNK", 1)
    path = as_statistics(".sav")(tmp_path)
    assert texts(read(path, SCHEMA, "category")) == EXPECTED


def test_portable_files_of_spss(tmp_path: Path) -> None:
    """A .por file is read as the others; it knows names in capital letters alone, and no dates here."""
    pyreadstat.write_por(
        pd.DataFrame({"age": [39.0, 50.0, None], "flag": ["yes", "no", "yes"]}), str(tmp_path / "x.por")
    )
    table = read(tmp_path / "x.por", Schema(quasi=("AGE", "FLAG")), "category")
    assert texts(table) == [(("(missing)", "yes"), 1), (("39", "yes"), 1), (("50", "no"), 1)]


LABELS: dict[str, dict[Any, str]] = {"sex": {1: "male", 2: "female"}, "age": {98: "refused"}}


def labelled(folder: Path, ending: str) -> Path:
    """Codes with labels, one of which a label is missing for, and one number that is no age."""
    frame = pd.DataFrame({"sex": [1.0, 2.0, 3.0, None], "age": [34.0, 98.0, 50.5, 20.0], "zip": ["a", "", "b", "a"]})
    write = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_dta
    labels = {**LABELS, "zip": {"a": "Aachen"}} if ending == ".sav" else LABELS  # Stata has labels for numbers alone
    write(frame, str(folder / f"x{ending}"), variable_value_labels=labels)
    return folder / f"x{ending}"


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_labels_stand_for_codes(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes come in as their labels, codes without one as they are, in every chunk; with ``codes`` all stay codes."""
    monkeypatch.setattr(copies, "CHUNK", 1)
    file = labelled(tmp_path, ending)
    schema = Schema(quasi=("sex", "age", "zip"))
    town = "Aachen" if ending == ".sav" else "a"
    assert texts(read(file, schema, "category")) == [
        (("(missing)", "20", town), 1),
        (("3", "50.5", "b"), 1),
        (("female", "refused", "(missing)"), 1),
        (("male", "34", town), 1),
    ]
    assert texts(read(DataFile(file, Form(codes=True)), schema, "category")) == [
        (("(missing)", "20", "a"), 1),
        (("1", "34", "a"), 1),
        (("2", "98", "(missing)"), 1),
        (("3", "50.5", "b"), 1),
    ]


def test_inspect_says_that_labels_stand_for_codes(tmp_path: Path) -> None:
    """The profile names the columns; told to keep the codes, it does, and the job says so."""
    file = labelled(tmp_path, ".dta")
    assert inspect(file).remarks == (
        "Labels stand for the codes of sex, age; codes = true under [data] keeps the codes.",
    )
    profile = inspect(file, form={"codes": True})
    assert profile.remarks == ()
    assert "Read as: codes instead of their labels." in profile.sentences()
    assert "\ncodes = true\n" in job_text(profile, "x.dta")


def test_sheets_and_titles(tmp_path: Path) -> None:
    """The first sheet with cells is taken unless another is named; lines of titles are counted out."""
    path = as_workbook(tmp_path, titles=2)
    form = Form(skip=2, sheet="People")
    assert texts(read(DataFile(path, form), SCHEMA, "category")) == EXPECTED
    with pytest.raises(BadTable, match=r"has no sheet 'Peple'. Did you mean 'People'\? It has: Empty, People"):
        read(DataFile(path, Form(sheet="Peple")), SCHEMA)
    with pytest.raises(BadTable, match="has no cells on sheet 'Empty'"):
        read(DataFile(path, Form(sheet="Empty")), SCHEMA)


def test_text_in_other_forms(tmp_path: Path) -> None:
    """Titles, a line sep=;, a decimal comma, points between thousands, dates of a country, no line of names."""
    path = tmp_path / "x.csv"
    rows = "20.01.1964;39;93,4;02139\n3.2.1970;50;1.060,25;10001\nk.A.;61;0,5;\n"
    wanted = {"born": ("1964-01-20", "1970-02-03", "k.A."), "weight": ("0.5", "93.4", "1060.25")}
    form = Form(decimal=",", thousands=".", dates={"born": "%d.%m.%Y"})
    for text, more in (
        (f"born;age;weight;zip\n{rows}", {}),
        (f"sep=;\nborn;age;weight;zip\n{rows}", {}),
        (f"A title\n\nMore of it;\n\nborn;age;weight;zip\n{rows}", {"skip": 3}),
        (rows, {"header": False, "names": ("born", "age", "weight", "zip")}),
        (f"a;b;c;d\n{rows}", {"header": True, "names": ("born", "age", "weight", "zip")}),
        (f'"born";"age";"weight";zip\n{rows}'.replace("\n", "\r\n"), {}),
    ):
        path.write_bytes(text.encode("utf-16") if "title" in text else text.encode())
        table = read(DataFile(path, Form(**{**form.to_dict(), **more})), Schema(quasi=("born", "weight")))
        leaves = {each.name: each.leaves for each in table.hierarchies}
        assert leaves == wanted, text


def test_line_breaks_in_names_beside_titles(tmp_path: Path) -> None:
    """A name of two lines in quotes is one name, also where titles stand above it."""
    path = tmp_path / "x.csv"
    path.write_text('Title\n"age\nin years",sex\n39,f\n50,m\n')
    table = read(DataFile(path, Form(skip=1)), Schema(quasi=("age\nin years", "sex")))
    assert table.rows == 2


def test_archives_and_forms_that_cannot_be(tmp_path: Path) -> None:
    """Several files in an archive, dates of no column and forms that say nothing are each a sentence."""
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "x\n1\n")
        archive.writestr("b.csv", "x\n1\n")
    with pytest.raises(BadTable, match=r"holds 2 files \(a.csv, b.csv\). Unpack it"):
        read(tmp_path / "two.zip", SCHEMA)
    path = as_csv(tmp_path)
    with pytest.raises(BadTable, match=r"names dates of 'borm', and there is no such column. Did you mean 'born'"):
        read(DataFile(path, Form(dates={"borm": "%d.%m.%Y"})), SCHEMA)
    for wrong, sentence in (
        ({"encoding": "latin-99"}, "No encoding 'latin-99' is known"),
        ({"separator": ", "}, "The separator is ', '"),
        ({"decimal": ";"}, "The decimal sign is ';'"),
        ({"thousands": "."}, "The sign between thousands is '.', and the decimal sign is '.'"),
        ({"dates": {"born": "%d.%m."}}, "does not say day, month and year"),
    ):
        with pytest.raises(BadJob, match=sentence.replace("(", r"\(")):
            Form(**wrong)
