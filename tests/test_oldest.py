"""The oldest versions that pyproject.toml promises: installed into a Python of their own, the main ways run with them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = re.compile(r"kpareto\[")
BOUND = re.compile(r"([A-Za-z0-9._-]+(?:\[[a-z]+\])?)>=([0-9.]+)")
LEFT_OUT = {"spark", "docs", "all", "dev"}  # a cluster, the site, and what is made of the others


def oldest() -> list[str]:
    """Every lower bound of the package and its extras as the very version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        each for name, needs in project["optional-dependencies"].items() if name not in LEFT_OUT for each in needs
    ]
    bounds = [BOUND.fullmatch(each) for each in (*project["dependencies"], *extras) if not OURS.match(each)]
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound is not None]


def test_the_oldest_versions_serve(tmp_path: Path) -> None:
    """Frames, files, going on, release, report, private and the rest, with no version newer than what is promised."""
    python = tmp_path / "old" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "old")], check=True, timeout=300)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:", *oldest()]
    fetched = subprocess.run(pip, capture_output=True, text=True, timeout=1200, check=False)
    if fetched.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"The oldest versions could not be fetched: {fetched.stderr[-200:]}")
    assert fetched.returncode == 0, fetched.stderr
    (tmp_path / "work").mkdir()
    paths = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run(
        [str(python), "-m", "tests.twins.main_ways", str(tmp_path / "work")],
        env={**os.environ, **paths, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
