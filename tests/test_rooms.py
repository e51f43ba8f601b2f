"""The house: which room may import which, and what a room may look like."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.twins.sources import HOUSE, PROGRAMS, files, listed, name_of, text_of, tree_of

# From the foundation up: a folder, or a file beside the folders, imports only what stands before it.
# Inside a folder files may import each other, as long as they do not go in circles.
ROOMS = [
    "_version",
    "moved",
    "errors",
    "interrupts",
    "atomic",
    "strict",
    "kernels",
    "tables",
    "measures",
    "engines",
    "fronts",
    "searches",
    "verifier",
    "releases",
    "uses",
    "attacks",
    "jobs",
    "sklearn",
    "testing",
    "faces",
    "__init__",
    "__main__",
]

# What may use less than what stands before it: the verifier shares no code with what it verifies.
ONLY = {
    "verifier": {"errors", "strict", "engines"},
    "__init__": {"_version", "moved"},
}

VAGUE = {"utils", "util", "helpers", "helper", "core", "base", "common", "manager", "misc", "tools"}
BESIDE = 10  # files beside the folders, at the most: Ctrl-C is looked for beside the errors, not in a folder
LONGEST = 800  # lines of a file: longer is a smell, shorter says nothing
SMALL = 60  # lines below which a file has two users at least
FULL = 16  # files of a folder
HEAVY = {"numba", "pandas", "polars", "duckdb", "pyarrow", "matplotlib", "sklearn", "pyspark", "psycopg"}
# The nouns everybody knows, the words of the kernels, and how whoever waits is heard, which a reader of one search need
# not open again.
NOUNS = {
    "errors",
    "strict",
    "interrupts",
    "measures.measure",
    "measures.reading",
    "kernels.words",
    "kernels.records",
    "kernels.compiling",
} | {f"tables.{n}" for n in ("schema", "hierarchy", "table", "recoding", "boxes", "partition", "lattice", "cuts")}
CLOSURE = 37  # files besides the nouns that one must open to understand one search, at the most
BESIDE_PROBLEM = 9  # of them, files that are no part of the Problem that a search is handed


def room_of(name: str) -> str:
    """The room a file belongs to: its folder, or its own name."""
    return name.partition("/")[0].removesuffix(".py")


def module_of(file: Path) -> str:
    """The module's dotted name inside the package; a folder's page has the folder's name."""
    parts = file.relative_to(HOUSE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_of(file): file for file in files()}


def statements(inside: ast.AST, types: bool) -> Iterator[ast.AST]:
    """Every statement below a node, those for type checkers alone if ``types``; expressions import nothing."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(inside, field, ()):
            if types or not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
                yield node
                yield from statements(node, types)


@cache
def imported_modules(tree: ast.Module, types: bool = False) -> dict[str, int]:
    """Each module of ours that a source imports, anywhere in it (for types alone too), and the first line that does.

    The programs beside the package count as rooms, which stand nowhere in the list.
    """
    lines: dict[str, int] = {}
    for node in statements(tree, types):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "kpareto" or name.startswith("kpareto."):
                lines.setdefault(module_meant(name), node.lineno)
            elif name.partition(".")[0] in PROGRAMS:
                lines.setdefault(name, node.lineno)
    return lines


def module_meant(name: str) -> str:
    """The module behind a dotted name: ``kpareto.tables.table.Table`` lies in ``tables.table``."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES:
        parts.pop()
    return ".".join(parts) or "__init__"


def complaints(name: str, tree: ast.Module) -> list[str]:
    """What is wrong with the imports of a file."""
    room = room_of(name)
    if room not in ROOMS:
        return [
            f"{name}:1: {room} is not in the list of rooms: add it to ROOMS in tests/test_rooms.py, above its users."
        ]
    allowed = ONLY.get(room, set(ROOMS[: ROOMS.index(room)])) | {room}
    return [
        f"{name}:{line}: {room} imports {other}, which does not stand before it in the list of rooms."
        for other, line in imported_modules(tree).items()
        if other.split(".")[0] not in allowed
    ]


def arrows_inside(room: str) -> dict[str, set[str]]:
    """Which file of a folder imports which other file, when it is loaded or called or for its types alone."""
    return {
        module: {other for other in imported_modules(tree_of(file), types=True) if other in MODULES} - {module}
        for module, file in MODULES.items()
        if module.split(".")[0] == room
    }


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """The files of one circle of imports, or none."""
    sorter = TopologicalSorter(arrows)
    try:
        sorter.prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def closure_of(module: str) -> set[str]:
    """The files besides the nouns that one must open to understand a module, itself left out; types count as well.

    A kernel is opened where a search calls it; the loops that this loop calls say in a line what they do.
    """
    open_, waiting = set[str](), [module]
    while waiting:
        here = waiting.pop()
        if here.startswith("kernels."):
            continue
        for other in imported_modules(tree_of(MODULES[here]), types=True):
            if other not in open_ | NOUNS | {module}:
                open_.add(other)
                waiting.append(other)
    return open_


def test_rooms_import_only_rooms_before_them() -> None:
    """No file imports a room that stands after its own."""
    offenders = [complaint for file in files() for complaint in complaints(name_of(file), tree_of(file))]
    assert not offenders, listed(offenders)


@pytest.mark.parametrize("room", [room for room in ROOMS if (HOUSE / room).is_dir()])
def test_no_circles_inside_a_folder(room: str) -> None:
    """The files of a folder stand in an order too, those that are imported for their types among them."""
    assert circle(arrows_inside(room)) == []


def test_a_circle_is_seen() -> None:
    """Three files that import each other in a ring are named."""
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_few_files_stand_beside_the_folders() -> None:
    """The house is read by its folders."""
    assert len([file for file in files() if file.parent == HOUSE]) <= BESIDE


@pytest.mark.parametrize(
    ("room", "source", "complaint"),
    [
        ("tables", "from kpareto.fronts.front import Front", "own.py:1: tables imports fronts.front"),
        ("tables", "import kpareto.fronts.front as front", "own.py:1: tables imports fronts.front"),
        ("tables", "def late():\n    from kpareto.fronts import front", "own.py:2: tables imports fronts.front"),
        ("tables", "from kpareto import Front", "tables imports __init__"),
        ("searches", "from kpareto.jobs.job import Job", "searches imports jobs.job"),
        ("verifier", "from kpareto.tables.table import Table", "verifier imports tables.table"),
        ("faces", "from benchmarks.clock import Line", "faces imports benchmarks.clock.Line"),
        ("jobs", "def late():\n    import replication", "own.py:2: jobs imports replication"),
        ("attic", "", "add it to ROOMS"),
    ],
)
def test_wrong_imports_are_seen(room: str, source: str, complaint: str) -> None:
    """Every way of writing a forbidden import is caught."""
    assert complaint in "".join(complaints(f"{room}/own.py", ast.parse(source)))


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("fronts", "from kpareto.tables.table import Table"),
        ("searches", "from kpareto.searches.cuts.nsga2 import rank"),
        ("tables", "import numpy as np\nfrom kparetoplus import front"),
        ("tables", "if TYPE_CHECKING:\n    from kpareto.fronts.front import Front"),
        ("verifier", "from kpareto.errors import Unsafe"),
    ],
)
def test_right_imports_pass(room: str, source: str) -> None:
    """Imports from the rooms before, from other packages and for annotations alone are fine."""
    assert complaints(f"{room}/own.py", ast.parse(source)) == []


def test_rooms_have_telling_names_and_a_first_line() -> None:
    """No room is called utils or the like, and each says in its first line what it is for."""
    parts = {name_of(file): {part.removesuffix(".py") for part in name_of(file).split("/")} for file in files()}
    offenders = [f"{name}:1: say what it is for in its name" for name, words in parts.items() if VAGUE & words]
    offenders += [
        f"{name_of(file)}:1: the room's first line is missing"
        for file in files()
        if not ast.get_docstring(tree_of(file))
    ]
    assert not offenders, listed(offenders)


def test_files_are_short() -> None:
    """A file that grew past what one can keep in mind wants to be two rooms."""
    lengths = {name_of(file): len(text_of(file).splitlines()) for file in files()}
    offenders = [f"{name}:{length}: more than {LONGEST} lines" for name, length in lengths.items() if length > LONGEST]
    assert not offenders, listed(offenders)


def importers() -> dict[str, set[str]]:
    """Which files import each file, for types alone too."""
    arrows: dict[str, set[str]] = {module: set() for module in MODULES}
    for module, file in MODULES.items():
        for other in imported_modules(tree_of(file), types=True):
            if other in arrows and other != module:
                arrows[other].add(module)
    return arrows


def test_no_small_file_serves_one_other_alone() -> None:
    """What is short and used in one place stands there: a file is a room, not a drawer."""
    users = importers()
    offenders = [
        f"{name_of(file)}:1: {len(text_of(file).splitlines())} lines for {', '.join(users[module]) or 'nobody'}"
        for module, file in MODULES.items()
        if file.name not in ("__init__.py", "__main__.py", "_version.py")
        and len(text_of(file).splitlines()) < SMALL
        and len(users[module]) < 2
    ]
    assert not offenders, listed(offenders)


def test_no_folder_is_full() -> None:
    """A folder with more files than one takes in at a glance wants to be two."""
    counts = Counter(file.parent for file in files())
    assert {name_of(folder): count for folder, count in counts.items() if count > FULL} == {}


SEARCHES = [
    *(f"searches.lattice.{name}" for name in ("exact", "climbing", "poka", "pbg_ea", "boxes", "greedy", "mondrian")),
    *(f"searches.cuts.{name}" for name in ("genitor", "nsga2", "recut", "flip", "variation", "ends")),
]


def test_every_file_of_a_search_is_counted() -> None:
    """What lies beside the searches is one of them, or what they minimize."""
    beside = {m for m in MODULES if m.startswith(("searches.lattice.", "searches.cuts."))}
    assert beside - set(SEARCHES) == {"searches.cuts.score"}


@pytest.mark.parametrize("module", SEARCHES)
def test_a_search_is_understood_from_few_files(module: str) -> None:
    """Besides the nouns one opens few files to read one search, and those that say what it is handed.

    Most of them are the Problem: how measures are counted, which is read once for all searches. Both bars are what the
    largest search has today; they may only fall.
    """
    closure = closure_of(module)
    assert len(closure) <= CLOSURE, sorted(closure)
    beside = closure - closure_of("fronts.problem") - {"fronts.problem"}
    assert len(beside) <= BESIDE_PROBLEM, sorted(beside)


def test_the_command_line_starts_light() -> None:
    """Showing help must not wait for numba, a dataframe or a plotting library."""
    code = f"import sys, kpareto.faces.cli; print(*sorted({HEAVY!r} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def test_a_front_of_the_embedded_table_loads_what_it_needs() -> None:
    """No engine, no library of frames or pictures, nothing that releases, and of SciPy what numba asks at its start."""
    others = ("engines.read", "engines.duckdb.files", "releases.release", "releases.warnings", "verifier")
    loops = ("kernels.cuts.count", "kernels.cuts.genitor", "kernels.cuts.recut", "kernels.local.classes")
    unneeded = HEAVY - {"numba"} | {"narwhals", "rich", "scipy.linalg"} | {f"kpareto.{m}" for m in (*others, *loops)}
    look = f"print(*sorted({unneeded!r} & set(sys.modules)))"
    code = f"import sys, kpareto.faces.cli as cli; cli.main(['front', 'adult']); {look}"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == ""


def test_help_opens_no_engine() -> None:
    """The list of commands, and the help of one, are shown before anything that reads tables is loaded."""
    code = "import sys, kpareto.faces.cli as cli; cli.main({}); print([m for m in sys.modules if 'engines' in m])"
    for asked in (["--help"], ["front", "--help"]):
        answer = subprocess.run([sys.executable, "-c", code.format(asked)], capture_output=True, text=True, check=True)
        assert answer.stdout.splitlines()[-1] == "[]", asked
