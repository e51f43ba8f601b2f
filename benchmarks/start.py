"""Benchmarks of starting: how long a person waits for a new process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.clock import Line, Time
from kpareto.errors import BadJob
from kpareto.kernels.compiling import SOURCES
from kpareto.kernels.ready import ready_files

FIRST_COUNT = """
import time
begin = time.perf_counter()
from kpareto.tables.adult import adult_table
from kpareto.measures.cells import glm
from kpareto.tables.partition import Suppression
from kpareto.fronts.count_lattice import Wanted, count_lattice
table = adult_table()
loaded = time.perf_counter()
count_lattice(table, Wanted(Suppression("cap-max-k", 0.01), (glm(),)))
print(loaded - begin, time.perf_counter() - loaded)
"""


def new_process(
    words: list[str], repeats: int, cache: str | None = None, package: Path | None = None
) -> tuple[Time, str]:
    """The best time of a new Python process with these words, and what the last one printed.

    With a cache it works in that folder and compiles into it; a package is taken from where a wheel was installed.
    """
    settings = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    if package is not None:
        settings["PYTHONPATH"] = str(package)
    walls, processors, answer = [], [], ""
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=True, env=settings, cwd=cache
        )
        walls.append(time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processors.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        answer = done.stdout
    return Time(min(walls), min(processors), repeats), answer


def child_line(work: str, time: Time, bar: str = "", note: str = "") -> Line:
    """A line of the table for work done in new processes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return Line(work, time, bar=bar, note=note, peak=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit)


def bare(quick: bool) -> list[Line]:
    """Python alone, ``import kpareto``, and the help of the command line."""
    repeats = 1 if quick else 7
    python, _ = new_process(["-c", "pass"], repeats)
    package, _ = new_process(["-c", "import kpareto"], repeats)
    help_text, _ = new_process(["-m", "kpareto", "--help"], repeats)
    return [
        child_line("python alone", python),
        child_line("import kpareto", package),
        child_line("kpareto --help", help_text, "start-help"),
    ]


def first_count(quick: bool) -> list[Line]:
    """A new process that loads Adult and counts all 17,920 nodes, with the cache of compiled code warm."""
    if not quick:
        new_process(["-c", FIRST_COUNT], 1)  # fills the cache where this is the first run ever
    time, answer = new_process(["-c", FIRST_COUNT], 1 if quick else 5)
    loading, counting = map(float, answer.split())
    note = f"{loading:.2f} s importing and loading, {counting:.2f} s in the first count"
    return [child_line("new process: Adult, all nodes, k and GLM", time, "start-first", note)]


def cold(quick: bool) -> list[Line]:
    """The first commands after an installation, each with an empty cache: from source, and from an installed wheel.

    The wheel is the one that KPARETO_BENCH_WHEEL names (make wheel); it is installed into a folder of its own.
    """
    lines = _first_commands(quick, "from source", None)
    if wheel := os.environ.get("KPARETO_BENCH_WHEEL"):
        with tempfile.TemporaryDirectory() as folder:
            package = install_wheel(Path(wheel), Path(folder))
            lines += _first_commands(quick, "from the wheel", package)
    return lines


def install_wheel(wheel: Path, folder: Path) -> Path:
    """Where a wheel alone is installed; what it needs is that of this environment."""
    if not wheel.is_file():
        raise BadJob(f"There is no wheel {str(wheel)!r}. Make one with make wheel, and name it in KPARETO_BENCH_WHEEL.")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    where = "import kpareto; print(kpareto.__file__)"
    _, shown = new_process(["-c", where], 1, str(folder), folder)
    if not Path(shown.strip()).is_relative_to(folder):
        raise RuntimeError("Another kpareto than that of the wheel would be measured.")
    return folder


def _first_commands(quick: bool, state: str, package: Path | None) -> list[Line]:
    """Each command in a folder and with a cache of its own."""
    ready = package is not None or bool(ready_files(SOURCES))
    count, answer = _compiling(["-c", FIRST_COUNT], ready, package)
    _, counting = map(float, answer.split())
    lines = [child_line(f"new process, {state}", count, "start-cold", f"{counting:.2f} s in the first count")]
    released = ["release", "adult", "--target", "adult.csv", "--choose", "k=5"]
    for words in (["front", "adult"], *([] if quick else [["inspect", "adult"], released, ["demo"]])):
        spent, _ = _compiling(["-m", "kpareto", *words], ready, package)
        lines.append(child_line(f"kpareto {' '.join(words[:2])}, {state}", spent))
    return lines


def _compiling(words: list[str], ready: bool = False, package: Path | None = None) -> tuple[Time, str]:
    """The time of a new process with an empty cache of compiled code, which it fills unless the code is ready."""
    with tempfile.TemporaryDirectory() as cache:
        spent = new_process(words, 1, cache, package)
        if not ready and not any(Path(cache).rglob("*.nbc")) and "inspect" not in words:
            raise RuntimeError("Nothing was compiled, so this is no cold start. Unset NUMBA_DISABLE_JIT.")
    return spent
