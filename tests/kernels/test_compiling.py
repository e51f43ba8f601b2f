"""The disk cache of the kernels: an edit of any kernel file is noticed, and nothing else compiles anew."""

from __future__ import annotations

import ast
import builtins
import gc
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba import version_info

from kpareto.kernels import compiling
from tests.twins.sources import files, listed, name_of, tree_of

KERNELS = Path(compiling.__file__).parent

# A package of three files: two loops that call each other across files, and a constant in a third one.
FILES = {
    "__init__": "",
    "words": "FACTOR = 10\n",
    "inner": """
from loops.compiling import compiled

@compiled
def twice(x):
    return 2 * x
""",
    "outer": """
from loops.compiling import compiled
from loops.inner import twice
from loops.words import FACTOR

@compiled
def scaled(x):
    return FACTOR * twice(x)
""",
}

ASK = """
from loops.outer import scaled
answer = scaled(3)
stats = getattr(scaled, "stats", None)
print(answer, 0 if stats is None else sum(stats.cache_hits.values()))
"""


def ask(folder: Path, **settings: str) -> tuple[int, bool]:
    """What a new process gets from the loops, and whether it found them in the cache."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        check=True,
        env={**clean, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **settings},
    )
    answer, hits = done.stdout.split()
    return int(answer), int(hits) > 0


@pytest.fixture
def loops(tmp_path: Path) -> Path:
    """The small package, compiled by a copy of our own compiling.py."""
    folder = tmp_path / "loops"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).with_suffix(".py").write_text(text, encoding="utf-8")
    (folder / "compiling.py").write_bytes((KERNELS / "compiling.py").read_bytes())
    return folder


def edit(module: Path, old: str, new: str) -> None:
    """Replace a piece of a module that must be there."""
    file = module.with_suffix(".py")
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside the sources", "in NUMBA_CACHE_DIR"])
def test_an_edit_in_another_file_is_noticed(loops: Path, tmp_path: Path, elsewhere: bool) -> None:
    """A helper and a constant edited in other files change the answer; a file only touched stays compiled."""
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if elsewhere else {}
    assert ask(tmp_path, **settings) == (60, False)
    for file in loops.glob("*.py"):
        os.utime(file, (0, 0))
    assert ask(tmp_path, **settings) == (60, True)
    edit(loops / "inner", "2 * x", "3 * x")
    assert ask(tmp_path, **settings) == (90, False)
    edit(loops / "words", "10", "100")
    assert ask(tmp_path, **settings) == (900, False)
    assert any((tmp_path / "cache" if elsewhere else loops).rglob("*.nbi"))


def test_an_index_that_cannot_be_read_is_made_anew(loops: Path, tmp_path: Path) -> None:
    """An index of an earlier version, which names records that are gone, costs compiling and nothing else."""
    assert ask(tmp_path) == (60, False)
    for index in loops.rglob("*.nbi"):
        index.write_bytes(index.read_bytes()[:-20] + b"cgone\nRecord\n.")
    assert ask(tmp_path) == (60, False)
    assert ask(tmp_path) == (60, True)


SYMBOLS = """
import llvmlite.binding
names, add_symbol = [], llvmlite.binding.add_symbol
llvmlite.binding.add_symbol = lambda name, place: (names.append(name), add_symbol(name, place))[1]
from numba.core.registry import cpu_target
from kpareto.kernels.compiling import make_ready
make_ready(cpu_target.target_context)
known = set(names)
cpu_target.target_context.refresh()
print(len(known), set(names) - known)
"""

REGISTRIES = """
import sys
from loops.outer import scaled
from loops.inner import twice
print(scaled(3), "numba.np.linalg" in sys.modules)
print(twice(2.5), "numba.np.linalg" in sys.modules)
print(scaled(3.5))
"""


def test_registries_bring_no_symbol_that_loaded_code_may_ask_for() -> None:
    """All that numba's registries tell the linker is told without them: code that is loaded finds every symbol."""
    done = subprocess.run([sys.executable, "-c", SYMBOLS], capture_output=True, text=True, check=True)
    count, others = done.stdout.split(maxsplit=1)
    assert int(count) > 100
    assert others.strip() == "set()"


def test_what_is_loaded_fills_no_registry_and_what_is_compiled_does(loops: Path, tmp_path: Path) -> None:
    """A process that finds its loop in the cache leaves numba's registries alone, and can compile another after it."""
    assert ask(tmp_path) == (60, False)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", REGISTRIES],
        capture_output=True,
        text=True,
        check=True,
        env={**clean, "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout.split() == ["60", "False", "5.0", "True", "70.0"]


def test_garbage_is_collected_again_after_compiling() -> None:
    """Nothing is collected while a function is compiled, also within another; after it as before, whatever happened."""
    seen: list[bool] = []

    def fail() -> None:
        seen.append(gc.isenabled())
        raise LookupError("a loop")

    def compile_both() -> None:
        with suppress(LookupError):
            compiling.without_collecting(fail)()
        fail()

    with pytest.raises(LookupError, match="a loop"):
        compiling.without_collecting(compile_both)()
    assert (seen, gc.isenabled()) == ([False, False], True)
    gc.disable()
    try:
        with pytest.raises(LookupError, match="a loop"):
            compiling.without_collecting(fail)()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_scipy_is_spared_by_what_is_compiled_and_what_is_loaded(loops: Path, tmp_path: Path) -> None:
    """A loop that calls one of numba's array functions has linear algebra imported neither time."""
    edit(loops / "outer", "\n@compiled", "\nimport numpy as np\n\n@compiled")
    edit(loops / "outer", "return FACTOR * twice(x)", "return int(np.flip(np.full(x, FACTOR)).mean() * twice(x))")
    code = "import sys; from loops.outer import scaled; print(scaled(3), sum(scaled.stats.cache_hits.values()), "
    code += "'numba.np.arraymath' in sys.modules, 'scipy.linalg' in sys.modules)"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    for hits in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**clean, "PYTHONPATH": str(tmp_path)},
        )
        assert done.stdout.split() == ["60", hits, "True", "False"]


@pytest.mark.parametrize(("version", "refreshed"), [((0, 68), False), ((0, 60), True), ((9, 0), True)])
def test_an_unknown_numba_fills_its_registries(
    version: tuple[int, int], refreshed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a numba whose sources nobody has read it is not known what its registries bring."""
    calls: list[str] = []
    target = SimpleNamespace(refresh=lambda: calls.append("refresh"))
    monkeypatch.setattr(compiling, "version_info", SimpleNamespace(short=version))
    monkeypatch.setattr("numba.core.runtime.rtsys.initialize", lambda _: calls.append("initialize"))
    compiling.make_ready(target)
    assert calls == (["refresh"] if refreshed else ["initialize"])


def test_the_numba_at_hand_was_read() -> None:
    """A newer numba is slower to start until somebody reads its sources and raises the bound (decision 0043)."""
    assert version_info.short <= compiling.NEWEST_READ


def test_without_compiling_the_plain_functions_answer(loops: Path, tmp_path: Path) -> None:
    """NUMBA_DISABLE_JIT leaves plain Python, and nothing is written."""
    assert ask(tmp_path, NUMBA_DISABLE_JIT="1") == (60, False)
    assert not list(tmp_path.rglob("*.nbi"))


def test_a_numba_without_the_stamp_is_not_cached(loops: Path, tmp_path: Path) -> None:
    """Where numba keeps its stamp elsewhere the cache is switched off: slow rather than stale."""
    unknown = "from numba.core.caching import IndexDataCacheFile\n"
    unknown += "original = IndexDataCacheFile.__init__\n"
    unknown += "def __init__(self, *given, **named):\n"
    unknown += "    original(self, *given, **named)\n"
    unknown += "    self.stamp_of_the_source = self.__dict__.pop('_source_stamp')\n"
    unknown += "IndexDataCacheFile.__init__ = __init__\n"
    (loops / "__init__.py").write_text(unknown, encoding="utf-8")
    assert ask(tmp_path) == (60, False)
    edit(loops / "inner", "2 * x", "3 * x")
    assert ask(tmp_path) == (90, False)
    assert not list(tmp_path.rglob("*.nbi"))


def foreign_names(tree: ast.Module) -> dict[str, int]:
    """Names of a kernel file that its functions read and that come neither from kernels nor from a library, and where.

    A constant or a function from another folder would not be part of the stamp.
    """
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Import):
            own |= {(alias.asname or alias.name).split(".")[0] for alias in node.names if "kpareto" not in alias.name}
        elif isinstance(node, ast.ImportFrom) and node.module:
            ours = node.module.split(".")[0] == "kpareto"
            if not ours or node.module.startswith("kpareto.kernels."):
                own |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            own |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    foreign: dict[str, int] = {}
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        local = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        local |= {node.name for node in ast.walk(function) if isinstance(node, ast.FunctionDef)}
        local |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        foreign |= {name.id: name.lineno for name in names if name.id not in local | own | set(dir(builtins))}
    return foreign


def test_everything_a_kernel_uses_is_under_the_stamp() -> None:
    """Constants, functions and records of kernels come from the folder of kernels, whose files make the stamp."""
    offenders = [
        f"{name_of(file)}:{line}: {name} does not come from the kernels"
        for file in files()
        if KERNELS in file.parents
        for name, line in foreign_names(tree_of(file)).items()
    ]
    assert not offenders, listed(offenders)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from kpareto.tables.partition import RULES\ndef loop(x):\n    return len(RULES)", {"RULES"}),
        ("import kpareto.tables.table\ndef loop(x):\n    return kpareto.tables.table.MISSING", {"kpareto"}),
        ("def loop(x):\n    return UNKNOWN + x", {"UNKNOWN"}),
        (
            "from kpareto.kernels.words import K\nN = 2\ndef loop(x):\n    for i in range(N):\n        x += K\n    return x",
            set(),
        ),
    ],
)
def test_foreign_names_are_seen(source: str, names: set[str]) -> None:
    """A name from another folder is caught in every spelling, and the folder's own are not."""
    assert set(foreign_names(ast.parse(source))) == names


def test_an_interrupt_waits_for_the_compilation() -> None:
    """Ctrl-C while a loop is compiled comes when it is whole; it is answered by whoever answered before, once."""
    done: list[str] = []

    def compile_one(nested: bool) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        if nested:
            compiling.whole_compilation(compile_one)(False)
        done.append("whole")
        return "code"

    with pytest.raises(KeyboardInterrupt):
        compiling.whole_compilation(compile_one)(False)
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):  # a second one does not wait: the nested loop is not finished
        compiling.whole_compilation(compile_one)(True)
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_compile_as_ever() -> None:
    """Signals come to the first thread alone, so that nothing is to be done in others."""
    answers: list[int] = []
    worker = threading.Thread(target=lambda: answers.append(compiling.whole_compilation(lambda: 3)()))
    worker.start()
    worker.join()
    assert answers == [3]
