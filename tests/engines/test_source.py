"""Nobody but the door asks what a source is, and every engine has the same rooms."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow as pa
import pytest

from kpareto.engines import ENGINES, file_of, in_form, is_address, kind_of, open_source, table_at
from kpareto.engines.form import DataFile, Form
from kpareto.engines.postgres.connect import Postgres
from kpareto.engines.source import is_file_name, is_text
from kpareto.engines.spark.connect import SparkTable
from kpareto.errors import BadJob, BadTable
from tests.twins.sources import HOUSE, files, listed, name_of, tree_of

DOOR = "engines/__init__.py"
# The rooms below the engines have never heard of them; a source of tables/ is one of hierarchies.
BELOW = ("kernels/", "tables/", "measures/")

# What a source may be, and the folder that may ask for it besides the door: an engine knows its own.
KINDS = {
    "Postgres": "engines/postgres/",
    "PostgresSource": "engines/postgres/",
    "SparkTable": "engines/spark/",
    "SparkSource": "engines/spark/",
    "DataFile": "engines/",
    "DuckSource": "engines/duckdb/",
    **dict.fromkeys(("File", "ArrowFrame", "Relation", "AnyFrame", "PandasFrame", "Source", "Written"), DOOR),
    **dict.fromkeys(("FileSource", "ArrowSource", "RelationSource", "FrameSource", "PandasSource"), DOOR),
}
SOURCES = {"source", "rows", "release", "data", "database", "other"}  # what a source is called in our functions
PATHS = {"Path", "PathLike"}
# Questions about kinds: those of the door are answered by it alone, and asked where a word or an address is read.
TOLD = {"is_frame", "is_spark", "remote"}


def type_tests(file: str, tree: ast.Module) -> list[str]:
    """Every place of a file that asks what kind of source something is."""
    return [f"{file}:{getattr(node, 'lineno', 1)}: {ast.unparse(node)}" for node in ast.walk(tree) if asks(file, node)]


def asks(file: str, node: ast.AST) -> bool:
    """Whether a piece of code asks for the kind of a source, and is not its own engine."""
    if isinstance(node, ast.Constant):
        own = file.startswith(("engines/postgres/connect", "engines/spark/connect"))
        return node.value in ("postgresql://", "postgres://", "spark://") and not own
    if isinstance(node, ast.Attribute) and node.attr in ("__module__", "__class__"):
        inner = node.value
        return called(inner.args[0] if isinstance(inner, ast.Call) and inner.args else inner) in SOURCES
    if not isinstance(node, ast.Call):
        return False
    function, first = called(node.func), called(node.args[0]) if node.args else ""
    names = {called(inner) for argument in node.args[1:] for inner in ast.walk(argument)}
    if function in ("isinstance", "issubclass"):
        foreign = any(kind in names and not file.startswith(home) for kind, home in KINDS.items())
        return foreign or (first in SOURCES and bool(names & PATHS))
    return (function in ("hasattr", "getattr") and first in SOURCES) or function in TOLD


def called(node: ast.AST) -> str:
    """The last part of a name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_only_the_door_asks_what_a_source_is() -> None:
    """One place knows all engines: engines/__init__.py; anywhere else a Source answers for itself."""
    offenders = [
        place
        for file in files()
        if name_of(file) != DOOR and not name_of(file).startswith(BELOW)
        for place in type_tests(name_of(file), tree_of(file))
    ]
    assert not offenders, listed(offenders)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("releases/release.py", "isinstance(anything, Postgres)"),
        ("releases/release.py", "isinstance(source, str | PathLike)"),
        ("verifier/__init__.py", "isinstance(release, connect.Postgres)"),
        ("engines/read.py", "hasattr(source, 'hold')"),
        ("engines/read.py", "getattr(rows, 'engine', None)"),
        ("engines/unique_rows.py", "isinstance(held, (SparkTable, int))"),
        ("engines/postgres/read.py", "isinstance(x, SparkTable)"),
        ("jobs/job.py", "text.startswith('spark://')"),
        ("faces/cli/releases.py", "type(source).__module__ == 'pandas'"),
        ("faces/cli/releases.py", "is_frame(source)"),
    ],
)
def test_a_planted_type_test_is_seen(file: str, line: str) -> None:
    """Every way of asking is caught."""
    assert len(type_tests(file, ast.parse(line))) == 1


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("engines/spark/write.py", "isinstance(target, SparkTable)"),
        ("releases/choice.py", "isinstance(stored, str | PathLike)"),
        ("engines/values.py", "type(value).__name__ == 'Interval'"),
        ("faces/web/drafts.py", "isinstance(source, str)"),
    ],
)
def test_other_questions_pass(file: str, line: str) -> None:
    """An engine may ask for its own table, and texts and values are no sources."""
    assert type_tests(file, ast.parse(line)) == []


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_engines_have_the_same_rooms(engine: str) -> None:
    """Who knows one engine finds the way in the next: connect, read, write."""
    assert {"connect.py", "read.py", "write.py"} <= {file.name for file in (HOUSE / "engines" / engine).glob("*.py")}


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("people.csv", "file"),
        (Path("people.csv"), "file"),
        (DataFile("people.csv"), "file"),
        (Postgres("postgresql://host/base", "people"), "postgres"),
        (SparkTable("spark://", "people"), "spark table"),
        (pa.table({"a": [1]}), "frame"),
        (object(), "frame"),
    ],
)
def test_the_door_names_the_kind(source: object, kind: str) -> None:
    """The first row of the table that takes a source decides."""
    assert kind_of(source) == kind
    assert kind in {entry.kind for entry in ENGINES}


def test_the_door_knows_files_addresses_and_encodings() -> None:
    """What the other rooms ask of the door, each by one question."""
    assert file_of("people.csv") == file_of(DataFile("people.csv")) == Path("people.csv")
    assert file_of(pa.table({"a": [1]})) is None
    assert file_of("postgresql://host/base") is None
    assert is_address("PostgreSQL://host/base")
    assert is_address("spark://local[2]")
    assert not is_address("people.csv")
    assert not is_address(Path("people.csv"))
    assert table_at("postgres://host/base", "people") == Postgres("postgres://host/base", "people")
    assert table_at("spark://", "people") == SparkTable("spark://", "people")
    other = Form("latin-1", ";", decimal=",", skip=2)
    assert in_form("a.tsv.gz", other) == DataFile(Path("a.tsv.gz"), Form("latin-1", decimal=",", skip=2))
    assert in_form("a.csv", Form(separator="~")) == DataFile(Path("a.csv"), Form(separator="~"))
    assert in_form("a.parquet", other) == DataFile(Path("a.parquet"), Form(decimal=","))
    own = DataFile("a.csv", Form("cp1252"))
    assert in_form(own, other) is own
    frame = pa.table({"a": [1]})
    assert in_form(frame, other) is frame
    with pytest.raises(BadJob, match="There is a table 'people' in databases alone"):
        table_at("people.csv", "people")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://me:secret@host/base", r"'postgresql://me:\*\*\*@host/base' is a database. Say which table"),
        ("spark://local[2]", r"'spark://local\[2\]' is a Spark cluster. Say which table: kpareto.SparkTable\("),
        ("s3://bucket/x.csv", "is an address, and only files, PostgreSQL and Spark are read here"),
    ],
)
def test_an_address_is_no_path(address: str, words: str) -> None:
    """A database without a table, and what nobody here can reach, are sentences."""
    with pytest.raises(BadTable, match=words), open_source(address):
        pass


def test_targets_are_files_by_their_names() -> None:
    """A slash or a known ending is a file of this machine, all else a name that the engine understands."""
    assert [name for name in ("a.csv", "a/", "a.PARQUET", "people", "s3://b/a.csv") if is_file_name(name)] == [
        "a.csv",
        "a/",
        "a.PARQUET",
    ]
    assert [name for name in ("a.csv", "a.CSV", "a.csv/", "a.parquet", None) if is_text(name)] == ["a.csv", "a.CSV"]
