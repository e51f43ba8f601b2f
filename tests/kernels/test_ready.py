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
FIRST_FRONT = """
import json
import kpareto as kp
from kpareto.kernels.compiling import COMPILATIONS
front = kp.front(kp.load_job("adult"))
print(json.dumps([kp.__file__, COMPILATIONS._loops, front.numbers.values.tolist()]))
"""


def first_front(package: Path, empty: Path, *others: Path) -> tuple[str, int, list[list[float]]]:
    """The first front of an installation: where it was imported from, the loops it compiled, and its numbers."""
    empty.mkdir()
    paths = os.pathsep.join(map(str, (package, *others)))
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(empty)}
    run = subprocess.run(
        [sys.executable, "-c", FIRST_FRONT], env=environment, cwd=empty, capture_output=True, text=True, check=True
    )
    place, loops, values = json.loads(run.stdout)
    return place, loops, values


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with what the first front needs, built from a copy of the sources and unpacked, as pip does."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "sources"
    copy.mkdir()
    for name in ("src", "tests", "examples"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "ready"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, copy / name)
    portable = {"NUMBA_CPU_NAME": ready.CPU, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment = {**os.environ, **portable, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}
    subprocess.run([sys.executable, "-m", "tests.warm_up", "first"], cwd=copy, env=environment, check=True)
    pack = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(copy)]
    subprocess.run(pack, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of the wheel is for x86-64")
def test_the_first_front_from_a_wheel_compiles_nothing(wheel: Path, tmp_path: Path) -> None:
    """And its numbers are those of the sources; of another numba or of changed files nothing is used."""
    place, loops, values = first_front(wheel, tmp_path / "wheel")
    assert place.startswith(str(wheel))
    assert loops == 0
    index = wheel / "kpareto" / "kernels" / "ready" / "index.json"
    whole = index.read_text(encoding="utf-8")
    index.write_text(whole.replace(f'"numba": "{numba.__version__}"', '"numba": "0.1"'), encoding="utf-8")
    place, loops, again = first_front(wheel, tmp_path / "another numba")
    assert loops > 0
    assert again == values
    index.write_text(whole, encoding="utf-8")
    for file in index.parent.glob("*.bin"):
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    place, loops, again = first_front(wheel, tmp_path / "changed")
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
    index = wheel / "kpareto" / "kernels" / "ready" / "index.json"
    assert json.loads(index.read_text(encoding="utf-8"))["for"]["numba"] != oldest[1]
    place, loops, values = first_front(wheel, tmp_path / "another", tmp_path / "numba")
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
