"""Files: recognised by what they hold, read as they are written, and a sentence that names the line where they fail."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto.engines import open_source
from kpareto.engines.duckdb import connect as files
from kpareto.engines.duckdb.connect import engine
from kpareto.engines.duckdb.files import file_digest
from kpareto.engines.form import DataFile, Form
from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob, BadSchema, BadTable
from kpareto.jobs.anonymize import anonymize
from kpareto.jobs.inspect import inspect
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table

PEOPLE = "age,name\n39,Müller\n50,Smith\n"


def rows_of(source: object, columns: Sequence[str], encoding: str = "utf-8") -> Counter[tuple[str, ...]]:
    """The rows of a file as texts, nothing missing."""
    table = read(source, Schema(quasi=tuple(columns)), "category", (), encoding=encoding)
    return decoded(table)


def decoded(table: Table) -> Counter[tuple[str, ...]]:
    """The quasi-identifiers of a table as texts."""
    leaves = [hierarchy.leaves for hierarchy in table.hierarchies]
    rows = (tuple(leaf[code] for leaf, code in zip(leaves, row, strict=True)) for row in table.codes.tolist())
    return Counter(dict(zip(rows, table.weights.tolist(), strict=True)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (PEOPLE.encode(), [("39", "Müller"), ("50", "Smith")]),
        (b"\xef\xbb\xbf" + PEOPLE.encode(), [("39", "Müller"), ("50", "Smith")]),
        (b'\xef\xbb\xbf"age","name"\n1,x\n', [("1", "x")]),
        (PEOPLE.encode("utf-16"), [("39", "Müller"), ("50", "Smith")]),
        (b"\xfe\xff" + PEOPLE.encode("utf-16-be"), [("39", "Müller"), ("50", "Smith")]),
        (PEOPLE.encode("utf-32"), [("39", "Müller"), ("50", "Smith")]),
        (gzip.compress(PEOPLE.encode(), mtime=0), [("39", "Müller"), ("50", "Smith")]),
        (gzip.compress(b"age,name\n1,x\n", mtime=0) + gzip.compress(b"2,y\n", mtime=0), [("1", "x"), ("2", "y")]),
        (gzip.compress(PEOPLE.encode("utf-16"), mtime=0), [("39", "Müller"), ("50", "Smith")]),
        (b"age;name\n1,5;x\n", [("1,5", "x")]),
        (b"age\tname\n1,5\tx\n", [("1,5", "x")]),
        (b"age|name\n1,5|x\n", [("1,5", "x")]),
        (b"age,name;x\n1,y\n", None),
        (b"age,name\r\n1,x\r\n2,y\r\n", [("1", "x"), ("2", "y")]),
        (b"age,name\r1,x\r2,y\r", [("1", "x"), ("2", "y")]),
        (b"age,name\r\n1,x\n2,y\r\n", [("1", "x"), ("2", "y")]),
        (b'age,name\r\n1,"x\r\ny"\n2,y\r\n', [("1", "x\r\ny"), ("2", "y")]),
        (b"age,name\n1,x", [("1", "x")]),
        (b"\n  \nage,name\r\n1,x\n", [("1", "x")]),
        (b"age,name\n\n1,x\n\n\n", [("1", "x")]),
        (b"age, name\n39, State-gov\n39 , State-gov \n", [("39", "State-gov")] * 2),
        (b'age, name\n39, "State, gov"\n', [("39", "State, gov")]),
        (b'age,name\n1,"say ""hi"""\n2,say "hi"\n', [("1", 'say "hi"'), ("2", 'say "hi"')]),
        (b'age,name\n1,"x,\ny"\n', [("1", "x,\ny")]),
        (b"age,name,\n1,x,\n", [("1", "x")]),
        (b"age,name\n1,x,\n2,y,\n", [("1", "x"), ("2", "y")]),
        (b'"age","na\nme"\n1,x\n', None),
        (b"age,name\n02139,1e3\n2139,1000\n", [("02139", "1e3"), ("2139", "1000")]),
        (b"age,name\n39,NA\n39.0,null\n?,NULL\n", [("39", "NA"), ("39.0", "null"), ("?", "NULL")]),
        (b"age,name\n1,true\n1,True\n2024-01-01,\n", [("1", "true"), ("1", "True"), ("2024-01-01", "")]),
        ("age,name\ne\u0301,é\n".encode(), [("e\u0301", "é")]),
    ],
)
def test_text_files_are_read_as_they_are_written(
    tmp_path: Path, data: bytes, expected: list[tuple[str, str]] | None
) -> None:
    """Encodings, separators, line ends, quotes, blanks and odd values come through unharmed."""
    path = tmp_path / "people.csv"
    path.write_bytes(data)
    if expected is None:
        with pytest.raises(BadSchema, match="No column 'name' in the table"):
            rows_of(path, ["age", "name"])
    else:
        assert rows_of(path, ["age", "name"]) == Counter(expected)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-8-sig", "utf8", "cp037"])
def test_any_encoding_of_python_is_read(tmp_path: Path, encoding: str) -> None:
    """An encoding that is given is used."""
    path = tmp_path / "people.csv"
    path.write_bytes(PEOPLE.encode(encoding))
    assert rows_of(path, ["name"], encoding) == Counter([("Müller",), ("Smith",)])


def test_names_and_separator_can_be_given(tmp_path: Path) -> None:
    """A file without a line of names, or with a separator of its own, is read by its form."""
    path = tmp_path / "adult.data"
    path.write_bytes(b"39~State-gov\n50~Private\n")
    found = rows_of(DataFile(path, Form(separator="~", names=["age", "workclass"])), ["workclass", "age"])
    assert found == Counter([("State-gov", "39"), ("Private", "50")])


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("empty.csv", b"", "File '{}' is empty. Give a file with a line of column names and at least one row."),
    ("empty.parquet", b"", "File '{}' is empty."),
    ("blank.csv", b"\n  \n\n", "File '{}' is empty."),
    ("header.csv", b"age,name\n", "The table has no rows, only the columns age, name. Give at least one row."),
    ("latin.csv", PEOPLE.encode("latin-1"),
     "File '{}' is not UTF-8: byte 0xfc at offset 13 (line 2) is not part of a character. Give its encoding, such as encoding=\"latin-1\"."),
    ("utf16.csv", PEOPLE.replace("ü", "u").encode("utf-16-le"),
     "File '{}' is not UTF-8; it looks like UTF-16. Give encoding=\"utf-16-le\"."),
    ("utf16.csv", PEOPLE.encode("utf-16") + b"x", "File '{}' is not UTF-16: byte 0x78 at offset 58 (line 4)"),
    ("noise.csv", bytes(range(256)), "File '{}' is a binary file, not text. Give a CSV or Parquet file."),
    ("people.xlsx", b"PK\x03\x04rest", "File '{}' is not a workbook that can be read ("),
    ("people.db", b"SQLite format 3\0", "File '{}' is an SQLite database, not a file of rows."),
    ("people.csv.zst", b"\x28\xb5\x2f\xfdrest", "File '{}' cannot be unpacked ("),
    ("cut.csv.gz", gzip.compress(PEOPLE.encode() * 99, mtime=0)[:-9], "File '{}' is not a whole gzip file"),
    ("short.csv", b"age,name\n1,x\n2\n3,y\n", "Line 3 of '{}' has 1 cell where the first line has 2. Mend the line"),
    ("long.csv", b"age,name\n1,x\n2,y,z,w\n", "Line 3 of '{}' has 4 cells where the first line has 2."),
    ("lines.csv", b'age,name\n"1\n\n1",x\n2\n', "Line 5 of '{}' has 1 cell where the first line has 2."),
    ("skipped.csv", b"\n\nage,name\n1\n", "Line 4 of '{}' has 1 cell where the first line has 2."),
    ("packed.csv.gz", gzip.compress(b"age,name\n1,x\n2\n", mtime=0), "Line 3 of '{}' has 1 cell"),
    ("quote.csv", b'age,name\n1,x\n2,"y\n3,z\n', "A quote opened on line 3 of '{}' is never closed. Close it"),
    ("quote.csv", b'age,"name\n1,x\n', "A quote opened on line 1 of '{}' is never closed."),
    ("after.csv", b'age,name\n1,"x"y\n', "Line 2 of '{}' has text after a closing quote."),
    ("quote.csv", b'age,name\n1,"' + b"x\n" * 2_000_000 + b'"\n', "A quote opened on line 2 of '{}' is not closed within 131,072 characters."),
    ("last.csv", b"age,name\n1,x\n2," + "€".encode() * 12_000_000, "The last line of '{}' has more than 16,777,216 bytes."),
    ("last.csv", b"age,name\n1,x\n2," + b"y" * 40_000_000, "Line 3 of '{}' has more than 16,777,216 characters. A table has"),
    ("last.csv", b"age,name\n1,x\n2," + b"y" * 40_000_000 + b"\r\n \n", "Line 3 of '{}' has more than 16,777,216 characters."),
    ("wide.csv", b"age,name\n1," + b"x" * 3_000_000 + b"\n", "Line 2 of '{}' has a cell of more than 131,072 characters."),
    ("twice.csv", b"age,name,age\n1,x,2\n", "The table has two columns named 'age'. Rename one of them, or have them numbered: number_duplicates = true under [data]"),
    ("typo.csv", b"agee,name\n1,x\n", "No column 'age' in the table. Did you mean 'agee'? It has: agee, name."),
    ("people.parquet", b"age,name\n1,x\n", "File '{}' is not a Parquet file, whatever its name says. Write it again."),
    ("people.parquet", b"PAR1" + b"\0" * 40, "File '{}' is not a whole Parquet file ("),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "message"), BAD_FILES, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(BAD_FILES)]
)
def test_bad_files_get_a_sentence(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    """What is wrong with a file is said in a sentence, with the line where there is one."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BadInput) as caught:
        read(path, Schema(quasi=("age", "name")))
    assert str(caught.value).startswith(message.format(path))


def test_columns_of_one_name_are_numbered_on_request(tmp_path: Path) -> None:
    """The second is name_2, unless that is a column itself."""
    path = tmp_path / "twice.csv"
    path.write_text("age,sex,age,age_2,age\n1,f,2,3,4\n")
    form = Form(number_duplicates=True)
    with open_source(DataFile(path, form)) as source:
        assert source.columns == ("age", "sex", "age_3", "age_2", "age_4")
    assert form.to_dict() == {"number_duplicates": True}
    assert form.sentences() == ["Read as: columns of the same name numbered."]
    assert [each.facts.name for each in inspect(path, form={"number_duplicates": True}).columns][2] == "age_3"


def test_a_column_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    """A data frame writes its line numbers under no name; the table is read, searched and released all the same."""
    path = tmp_path / "frame.csv"
    path.write_text(",age,sex,\n" + "".join(f"{n},{30 + n % 3},f,x\n" for n in range(12)))
    with open_source(DataFile(path)) as source:
        assert source.columns == ("column1", "age", "sex", "column4")
    done = anonymize(path, ["age", "sex"], identifiers="column1", k=3, accept=["W1"])
    assert done.release.rows == 12
    assert "column1" not in done.data.column_names


def test_a_bad_byte_far_down_is_found(tmp_path: Path) -> None:
    """The byte and the line are right beyond the part of a file that is looked at beforehand."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"age,name\n" + b"1,x\n" * 400_000 + "2,Müller\n".encode("latin-1"))
    with pytest.raises(BadTable, match=r"byte 0xfc at offset 1,600,012 \(line 400,002\)"):
        read(path, Schema(quasi=("name",)))


def test_a_short_line_far_down_is_found(tmp_path: Path) -> None:
    """The number of a ragged line is right however long the file is."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"age,name\n" + b"1,x\n" * 400_000 + b"2\n" + b"1,x\n" * 400_000)
    with pytest.raises(BadTable, match="Line 400,002 of"):
        read(path, Schema(quasi=("age",)))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    """A path that leads nowhere is named, with a near name where there is one."""
    schema = Schema(quasi=("age",))
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    with pytest.raises(BadTable, match=r"No file '.*poeple.csv'. Did you mean 'people.csv'\?"):
        read(tmp_path / "poeple.csv", schema)
    with pytest.raises(BadTable, match=r"No file '.*zzz'. Check the name and the folder."):
        read(str(tmp_path / "zzz"), schema)
    with pytest.raises(BadTable, match=r"No file '.*': there is no folder '.*nowhere'."):
        read(tmp_path / "nowhere" / "people.csv", schema)
    with pytest.raises(BadTable, match=r"has no Parquet file \(\*.parquet\). It has: people.csv. Give a file"):
        read(tmp_path, schema)
    with pytest.raises(
        BadTable, match=r"'s3://bucket/people.csv' is an address, and only files, PostgreSQL and Spark are read"
    ):
        read("s3://bucket/people.csv", schema)
    with pytest.raises(BadTable, match="'/dev/null' is not a plain file"):
        read("/dev/null", schema)


def test_bad_ways_to_read(tmp_path: Path) -> None:
    """An unknown encoding, a separator that is none, and a wrong number of names are sentences."""
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    with pytest.raises(BadJob, match=r"No encoding 'klingon' is known. Take utf-8, utf-16, latin-1"):
        read(path, Schema(quasi=("age",)), encoding="klingon")
    with pytest.raises(BadJob, match=r"The separator is ', '. Give one character"):
        Form(separator=", ")
    with pytest.raises(BadTable, match=r"3 column names are given for '.*', and its first line has 2 cells"):
        read(DataFile(path, Form(names=["a", "b", "c"])), Schema(quasi=("a",)))
    with pytest.raises(BadTable, match="is not ASCII: byte 0xc3 at offset 13"):
        read(path, Schema(quasi=("age",)), encoding="ascii")


@pytest.mark.parametrize("name", ["w*[1]?.csv", "it's.csv", "ünïcode 中.csv", "a;b --.csv"])
def test_no_character_of_a_path_is_special(tmp_path: Path, name: str) -> None:
    """Wildcards and quotes in a path mean themselves."""
    for other in ("wx1y.csv", "w1.csv"):
        (tmp_path / other).write_bytes(b"age\n999\n")
    (tmp_path / name).write_bytes(b"age\n1\n")
    assert rows_of(tmp_path / name, ["age"]) == Counter([("1",)])


def test_no_character_of_a_name_is_special(tmp_path: Path) -> None:
    """Column names never stand in a query, so nothing in them can end it; names may differ by case alone."""
    names = ['a"; DROP TABLE t; --', "a'", "ä 中", "A", "a", "count(*)", "c0", "weight"]
    path = tmp_path / "x.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([names, list(range(len(names)))])
    expected = Counter([tuple(map(str, range(len(names))))])
    assert rows_of(path, names) == expected
    pq.write_table(pa.table([[place] for place in range(len(names))], names=names), tmp_path / "x.parquet")
    assert rows_of(tmp_path / "x.parquet", names) == expected


def test_parts_of_a_folder(tmp_path: Path) -> None:
    """Parts may order their columns as they like; Spark's own files are left alone; folders may name a column."""
    for code, ages in (("02139", [1, 2]), ("10001", [3])):
        (tmp_path / f"zip={code}").mkdir()
        pq.write_table(pa.table({"age": ages, "sex": ["f"] * len(ages)}), tmp_path / f"zip={code}" / "a.parquet")
    pq.write_table(pa.table({"sex": ["m"], "age": [4]}), tmp_path / "zip=10001" / "b.parquet")
    (tmp_path / "_temporary").mkdir()
    pq.write_table(pa.table({"age": [99]}), tmp_path / "_temporary" / "c.parquet")
    (tmp_path / "_SUCCESS").touch()
    expected = Counter([("02139", "1", "f"), ("02139", "2", "f"), ("10001", "3", "f"), ("10001", "4", "m")])
    assert rows_of(tmp_path, ["zip", "age", "sex"]) == expected
    assert rows_of(tmp_path, ["zip", "age", "sex"], "latin-1") == expected  # an encoding is for text files alone
    with pytest.raises(BadSchema, match="No column 'zip'"):  # the file alone does not know
        read(tmp_path / "zip=02139" / "a.parquet", Schema(quasi=("zip",)))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (pa.table({"sex": ["m"]}), "Part '.*b.parquet' has no column 'age'. Give parts with the same columns."),
        (pa.table({"age": ["x"]}), "Column 'age' is text in '.*b.parquet' and a number in '.*a.parquet'."),
    ],
)
def test_parts_that_do_not_fit(tmp_path: Path, second: pa.Table, message: str) -> None:
    """A part without a column, or with another type, is named: the engine would guess."""
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.parquet")
    pq.write_table(second, tmp_path / "b.parquet")
    with pytest.raises(BadTable, match=message):
        read(tmp_path, Schema(quasi=("age",)))


def test_parts_with_names_that_differ_by_case(tmp_path: Path) -> None:
    """The engine cannot tell such columns apart in several parts, so they are refused."""
    for name in ("a", "b"):
        pq.write_table(pa.table([[1], [2]], names=["age", "Age"]), tmp_path / f"{name}.parquet")
    with pytest.raises(BadTable, match=r"have columns 'age' and 'Age'. Rename one of them."):
        read(tmp_path, Schema(quasi=("age",)))


def test_values_in_folder_names_are_text(tmp_path: Path) -> None:
    """A value that stands in a folder's name is not taken for a date or a number and written anew."""
    for day in ("2024-1-5", "2024-01-06"):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"age": [1]}), tmp_path / f"day={day}" / "a.parquet")
    assert rows_of(tmp_path, ["day"]) == Counter([("2024-1-5",), ("2024-01-06",)])


def test_whole_numbers_beside_fractions(tmp_path: Path) -> None:
    """Parts of integers and of floats are one column of numbers."""
    pq.write_table(pa.table({"age": [5, None]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"age": [5.0, 5.5]}), tmp_path / "b.parquet")
    assert decoded(read(tmp_path, Schema(quasi=("age",)), "drop")) == Counter({("5",): 2, ("5.5",): 1})


def test_random_text_files_against_python(tmp_path: Path) -> None:
    """Files with every mixture of line ends, quotes and empty lines hold what Python's own reader finds in them."""
    rng = random.Random(1)
    pieces = ["a", ",", "\n", "\r\n", '""', " ", ";"]
    for _ in range(60):
        ends = rng.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\r\n", "\r", "\n"]])
        lines = ["x,y"]
        for _ in range(rng.randint(1, 5)):
            quoted = '"' + "".join(rng.choices(pieces, k=rng.randint(0, 4))) + '"'
            lines += [f"{rng.choice(['a', 'é', '', '02'])},{quoted}"] + [""] * (rng.random() < 0.1)
        text = "\n" * rng.choice([0, 0, 0, 2]) + "".join(line + rng.choice(ends) for line in lines)
        path = tmp_path / "x.csv"
        path.write_bytes(text.encode())
        records = [record for record in csv.reader(io.StringIO(text, newline="")) if record]
        expected = Counter(tuple(cell.strip(" \t\r\n") for cell in record) for record in records[1:])
        assert rows_of(DataFile(path, Form(separator=",")), ["x", "y"]) == expected, text


def test_large_files_with_lines_in_cells(tmp_path: Path) -> None:
    """A file that the engine reads in several pieces at once keeps its cells together."""
    path = tmp_path / "x.csv"
    row = '1,"two\nlines, and ""quotes""",3\n'
    path.write_text("a,b,c\n" + row * 1_200_000, encoding="utf-8", newline="")
    assert rows_of(path, ["a", "b", "c"]) == Counter({("1", 'two\nlines, and "quotes"', "3"): 1_200_000})


def test_fingerprints_of_files(tmp_path: Path) -> None:
    """A file's fingerprint is the hash of its bytes; a folder's depends on its parts and their names."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"age\n1\n" * 500_000)
    assert file_digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"age": [1]}), folder / "a.parquet")
    before = file_digest(folder)
    (folder / "_SUCCESS").touch()
    assert file_digest(folder) == before
    (folder / "a.parquet").rename(folder / "b.parquet")
    assert file_digest(folder) != before
    with pytest.raises(BadTable, match="No file"):
        file_digest(tmp_path / "nothing.csv")


def test_the_engine_leaves_nothing_behind() -> None:
    """The engine's private folder goes with it, and it may not fetch anything."""
    with engine() as started:
        folder = started.folder
        assert folder.is_dir()
        setting = started.connection.sql("SELECT current_setting('autoinstall_known_extensions')").fetchall()
        assert setting == [(False,)]
    assert not folder.exists()


def test_folders_of_killed_programs_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose process is gone goes too; one of a living process, and a stranger's, stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, living, other = (
        tmp_path / f"kpareto-rows-{dead.pid}-abc",
        tmp_path / f"kpareto-rows-{os.getpid()}-abc",
        tmp_path / "kpareto-rows-notes-abc",
    )
    for folder in (left, living, other):
        folder.mkdir()
        (folder / "rows.csv").write_text("secret")
    with files.engine() as started:
        assert started.folder.name.startswith(f"kpareto-rows-{os.getpid()}-")
    assert not left.exists()
    assert living.exists()
    assert other.exists()


def test_ctrl_c_while_rows_are_handed_over_is_ctrl_c() -> None:
    """DuckDB makes an error of its own of it; a column of that name is still a column."""
    with pytest.raises(KeyboardInterrupt), files.keep_ctrl_c():
        raise duckdb.InvalidInputException("exporting a stream from the object 'm2_arrow' failed: KeyboardInterrupt: ")
    with pytest.raises(duckdb.BinderException), files.keep_ctrl_c(), duckdb.connect() as connection:
        connection.execute('SELECT "KeyboardInterrupt"')
