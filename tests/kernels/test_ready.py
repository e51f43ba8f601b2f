"""Compiled code that comes with the wheel: it is used where everything fits, and never where anything does not."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import pytest

import kpareto as kp
from kpareto.kernels import ready
from kpareto.kernels.compiling import SOURCES

ROOT = Path(__file__).parents[2]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = sorted({"3.11", "3.12", "3.13", HERE})
PORTABLE = {"NUMBA_CPU_NAME": ready.CPU, "NUMBA_CPU_FEATURES": ""}
FIRST_FRONT = """
import json, sys
from pathlib import Path
import kpareto as kp
from kpareto.kernels.compiling import COMPILATIONS, ENTRIES, SOURCES
from kpareto.kernels.ready import PYTHON, write_ready
front = kp.front(kp.load_job("adult"))
print(json.dumps([kp.__file__, COMPILATIONS._loops, front.numbers.values.tolist()]))
if sys.argv[1:]:  # a folder for what was compiled
    write_ready(ENTRIES, SOURCES, Path(sys.argv[1]) / PYTHON)
"""


def first_front(
    place: str, empty: Path, python: str = sys.executable, keep: Path | None = None
) -> tuple[str, int, list[list[float]]]:
    """The first front of an installation: where it was imported from, the loops it compiled, and its numbers."""
    empty.mkdir()
    environment = {**os.environ, "PYTHONPATH": place, "NUMBA_CACHE_DIR": str(empty), **(PORTABLE if keep else {})}
    words = [python, "-c", FIRST_FRONT, *([str(keep)] if keep else [])]
    run = subprocess.run(words, env=environment, cwd=empty, capture_output=True, text=True, check=True)
    found, loops, values = json.loads(run.stdout)
    return found, loops, values


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with what the first front needs, compiled for the Python that runs the tests."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("src", "tests", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "ready"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    paths = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
    warm_up = [sys.executable, "-m", "tests.warm_up", "first"]
    subprocess.run(warm_up, cwd=folder, env={**os.environ, **PORTABLE, **paths}, check=True)
    return folder


def packed(sources: Path, folder: Path) -> Path:
    """The wheel of some sources and of the compiled code that lies beside them."""
    pack = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sources)]
    subprocess.run(pack, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel unpacked, as pip does."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(packed(sources, folder)) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def python_at_hand(version: str) -> str:
    """A Python of a version: the one that runs, else one on the path or of pyenv; the test is skipped without."""
    if version == HERE:
        return sys.executable
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for python in (shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python"))):
        ask = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if python and subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() == version:
            return str(python)
    return pytest.skip(f"no Python {version} is at hand")


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of the wheel is for x86-64")
def test_a_wheel_serves_every_python_that_is_at_hand(version: str, sources: Path, tmp_path: Path) -> None:
    """In a clean environment code for another Python is left alone, and a wheel may bring that of several."""
    python = tmp_path / "clean" / "bin" / "python"
    subprocess.run([python_at_hand(version), "-m", "venv", str(python.parents[1])], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, str(packed(sources, tmp_path / "one"))], check=True)
    keep = None if version == HERE else tmp_path / "compiled"
    place, loops, values = first_front("", tmp_path / "first", str(python), keep)
    assert place.startswith(str(python.parents[1]))
    assert (loops > 0) == (version != HERE)
    assert values == kp.front(kp.load_job("adult")).numbers.values.tolist()
    if keep is None:
        return
    shutil.copytree(keep, sources / "src" / "kpareto" / "kernels" / "ready", dirs_exist_ok=True)
    both = packed(sources, tmp_path / "both")
    with zipfile.ZipFile(both) as archive:
        assert sum(name.endswith("/index.json") and "/ready/" in name for name in archive.namelist()) > 1
    subprocess.run([*install, "--force-reinstall", "--no-deps", str(both)], check=True)
    assert first_front("", tmp_path / "second", str(python))[1:] == (0, values)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of the wheel is for x86-64")
def test_the_first_front_from_a_wheel_compiles_nothing(wheel: Path, tmp_path: Path) -> None:
    """And its numbers are those of the sources; of another numba or of changed files nothing is used."""
    place, loops, values = first_front(str(wheel), tmp_path / "wheel")
    assert place.startswith(str(wheel))
    assert loops == 0
    index = wheel / "kpareto" / "kernels" / "ready" / ready.PYTHON / "index.json"
    whole = index.read_text(encoding="utf-8")
    index.write_text(whole.replace(f'"numba": "{numba.__version__}"', '"numba": "0.1"'), encoding="utf-8")
    place, loops, again = first_front(str(wheel), tmp_path / "another numba")
    assert loops > 0
    assert again == values
    index.write_text(whole, encoding="utf-8")
    for file in index.parent.glob("*.bin"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    place, loops, again = first_front(str(wheel), tmp_path / "changed")
    assert loops > 0
    assert again == values


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of the wheel is for x86-64")
def test_another_numba_compiles(wheel: Path, tmp_path: Path) -> None:
    """The oldest numba that serves, really installed, takes nothing from the wheel and finds the same numbers."""
    oldest = re.search(r'"numba>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert oldest is not None
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:"]
    wanted = ["--target", str(tmp_path / "numba"), f"numba=={oldest[1]}"]
    fetched = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False)
    if fetched.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"numba {oldest[1]} could not be fetched: {fetched.stderr[-200:]}")
    assert fetched.returncode == 0, fetched.stderr
    index = wheel / "kpareto" / "kernels" / "ready" / ready.PYTHON / "index.json"
    assert json.loads(index.read_text(encoding="utf-8"))["for"]["numba"] != oldest[1]
    place, loops, values = first_front(f"{wheel}{os.pathsep}{tmp_path / 'numba'}", tmp_path / "another")
    assert place.startswith(str(wheel))
    assert loops > 0
    assert values == kp.front(kp.load_job("adult")).numbers.values.tolist()


@pytest.mark.parametrize("odd", ["", "[]", '{"for": {}, "files": {}}', '{"for": 1}'])
def test_an_odd_folder_counts_as_empty(odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken from a folder that cannot be read or is for something else."""
    monkeypatch.setattr(ready, "FOLDER", tmp_path)
    ready.ready_files.cache_clear()
    (tmp_path / "index.json").write_text(odd, encoding="utf-8")
    assert ready.ready_files(SOURCES) == {}
    assert ready.load_ready(first_front, (), SOURCES) is None
    ready.ready_files.cache_clear()


def test_a_processor_without_the_features_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instructions that a processor lacks would end the process, so one missing feature is enough."""
    monkeypatch.setattr(ready, "FOLDER", tmp_path)
    index = {"for": ready.circumstances(SOURCES), "files": {"x": "y"}}
    (tmp_path / "index.json").write_text(json.dumps(index), encoding="utf-8")
    features = dict.fromkeys(ready.FEATURES, True)
    for lacking, files in ((None, {"x": "y"}), ("avx2", {})):
        ready.ready_files.cache_clear()
        monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda lack=lacking: {**features, lack: False})
        assert ready.ready_files(SOURCES) == files
    ready.ready_files.cache_clear()


@pytest.mark.parametrize("differs", ["sources", "platform", "cpu", "python", "numba", "llvmlite"])
def test_code_for_anything_else_is_not_taken(differs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed sources, another Python, numba, llvmlite, platform or processor: one difference is enough."""
    monkeypatch.setattr(ready, "FOLDER", tmp_path)
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: dict.fromkeys(ready.FEATURES, True))
    ours = ready.circumstances(SOURCES)
    for circumstances, files in ((ours, {"x": "y"}), ({**ours, differs: "another"}, {})):
        ready.ready_files.cache_clear()
        index = {"for": circumstances, "files": {"x": "y"}}
        (tmp_path / "index.json").write_text(json.dumps(index), encoding="utf-8")
        assert ready.ready_files(SOURCES) == files
    ready.ready_files.cache_clear()


def test_only_code_for_the_common_processor_is_written(tmp_path: Path) -> None:
    """Code for the processor at hand might not run elsewhere."""
    with pytest.raises(ValueError, match="NUMBA_CPU_NAME"):
        ready.write_ready([], SOURCES, tmp_path)
