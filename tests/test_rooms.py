"""The house: which room may import which, and what a room may look like."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kpareto

HOUSE = Path(kpareto.__file__).parent

# From the foundation up: a room imports only rooms that stand before it.
# A folder is one room; inside it, its files may import each other.
ROOMS = [
    "_version",
    "errors",
    "counting",
    "postgres",
    "postgres_count",
    "dialect",
    "whole",
    "schema",
    "hierarchy",
    "builders",
    "lint",
    "table",
    "recoding",
    "coarse",
    "memory",
    "texts",
    "delimited",
    "files",
    "spark_work",
    "spark_count",
    "spark_folder",
    "spark",
    "postgres_in",
    "sources",
    "grouped",
    "admission",
    "frames",
    "queries",
    "places",
    "spark_out",
    "postgres_out",
    "vocabulary",
    "proposals",
    "inspect",
    "space",
    "kernels",
    "cuts",
    "partition",
    "rollup",
    "batch",
    "measure",
    "privacy",
    "diversity",
    "loss",
    "targets",
    "properties",
    "bias",
    "measures",
    "preference",
    "anonymity",
    "compiled",
    "problem",
    "dominance",
    "sketch",
    "archive",
    "front",
    "ends",
    "score",
    "variation",
    "search",
    "searches",
    "front_file",
    "bounds",
    "sampling",
    "representatives",
    "trees",
    "checkpoint",
    "single",
    "run",
    "population",
    "risk",
    "composition",
    "definetti",
    "attacks",
    "remarks",
    "verify",
    "stored",
    "applied",
    "certificate",
    "held",
    "recoded",
    "release",
    "apply",
    "anonymize",
    "plots",
    "datasets",
    "job",
    "testing",
    "search_checks",
    "console",
    "shell",
    "handout",
    "report",
    "bench",
    "papers",
    "demo",
    "web",
    "cli",
    "__init__",
    "__main__",
]

# Rooms that may use less than what stands before them.
# The verifier shares no code with what it verifies.
ONLY = {
    "counting": {"errors"},
    "verify": {"errors", "counting", "postgres", "postgres_count", "spark_count"},
    "__init__": {"_version"},
}

VAGUE = {"utils", "util", "helpers", "helper", "core", "base", "common", "manager", "misc", "tools"}
LONGEST = 450  # lines of a file
LONGER = {"kernels.py"}  # numba's disk cache does not notice edits in other files, so all kernels live in one
HEAVY = {"numba", "pandas", "polars", "duckdb", "pyarrow", "matplotlib", "sklearn", "pyspark", "psycopg"}

FILES = sorted(HOUSE.rglob("*.py"))


def name_of(file: Path) -> str:
    """The file's path inside the package, as pytest shows it."""
    return file.relative_to(HOUSE).as_posix()


def room_of(file: Path) -> str:
    """The room a file belongs to: its folder, or its own name."""
    parts = file.relative_to(HOUSE).parts
    return parts[0] if len(parts) > 1 else file.stem


def imported_rooms(source: str) -> dict[str, int]:
    """Each room of ours that the source imports at run time, anywhere in it, and the first line that does."""
    found: dict[str, int] = {}
    tree = ast.parse(source)
    skip = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skip:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "kpareto":
            names = [f"kpareto.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        else:
            continue
        for name in names:
            if name == "kpareto" or name.startswith("kpareto."):
                room = [*name.split("."), "__init__"][1]
                found.setdefault(room if room in ROOMS else room_if_file(room), node.lineno)
    return found


def room_if_file(name: str) -> str:
    """``from kpareto import Schema`` asks the front door; ``from kpareto import thing`` may ask a new room."""
    return name if (HOUSE / f"{name}.py").exists() or (HOUSE / name).is_dir() else "__init__"


def complaints(room: str, source: str) -> list[str]:
    """What is wrong with the imports of a source that stands in this room."""
    if room not in ROOMS:
        return [f"{room} is not in the list of rooms: add it to ROOMS in tests/test_rooms.py, above its users."]
    allowed = ONLY.get(room, set(ROOMS[: ROOMS.index(room)])) | {room}
    return [
        f"line {line}: {room} imports {other}, which does not stand before it in the list of rooms."
        for other, line in imported_rooms(source).items()
        if other not in allowed
    ]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_rooms_import_only_rooms_before_them(file: Path) -> None:
    """No file imports a room that stands after its own."""
    assert complaints(room_of(file), file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("room", "source", "complaint"),
    [
        ("table", "from kpareto.front import Front", "line 1: table imports front"),
        ("table", "import kpareto.front as front", "line 1: table imports front"),
        ("table", "def late():\n    from kpareto import front", "line 2: table imports front"),
        ("table", "from kpareto import Front", "table imports __init__"),
        ("search", "from kpareto.run import drive", "search imports run"),
        ("verify", "from kpareto.table import Table", "verify imports table"),
        ("attic", "", "add it to ROOMS"),
    ],
)
def test_wrong_imports_are_seen(room: str, source: str, complaint: str) -> None:
    """Every way of writing a forbidden import is caught."""
    assert complaint in "".join(complaints(room, source))


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("front", "from kpareto.table import Table"),
        ("search", "from kpareto.search.nsga2 import rank"),
        ("table", "import numpy as np\nfrom kparetoplus import front"),
        ("table", "if TYPE_CHECKING:\n    from kpareto.front import Front"),
        ("verify", "from kpareto.errors import Unsafe"),
    ],
)
def test_right_imports_pass(room: str, source: str) -> None:
    """Imports from the rooms before, from other packages and for annotations alone are fine."""
    assert complaints(room, source) == []


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_rooms_have_telling_names_and_a_first_line(file: Path) -> None:
    """No room is called utils or the like, and each says in its first line what it is for."""
    assert not VAGUE & {part.removesuffix(".py") for part in file.relative_to(HOUSE).parts}
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), "the room's first line is missing"


@pytest.mark.parametrize("file", [file for file in FILES if name_of(file) not in LONGER], ids=name_of)
def test_files_are_short(file: Path) -> None:
    """A file that grew past what one can keep in mind wants to be two rooms."""
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_the_command_line_starts_light() -> None:
    """Showing help must not wait for numba, a dataframe or a plotting library."""
    code = f"import sys, kpareto.cli; print(*sorted({HEAVY!r} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []
