"""The notebooks of the pages run, and print what they show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.dangers  # what newcomers are shown releases nothing dangerous

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# In a process of its own: the kernel and its client warn of things that are not ours.
EXECUTE = """
import sys, nbformat, nbclient

notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=800, startup_timeout=240, iopub_timeout=240).execute()
nbformat.write(notebook, sys.argv[2])
"""


def printed(notebook: Path) -> list[str]:
    """What each cell with code says: texts as they are, and that there is a picture.

    What a cell prints may come in several pieces, as the kernel flushes it; they are put together.
    """
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts: list[str] = []
    for cell in cells:
        before = ""
        for output in cell.get("outputs", []):
            data, stream = output.get("data", {}), output.get("name", "")
            text = "a picture" if "image/png" in data else "".join(output.get("text") or data["text/plain"])
            if stream and stream == before:
                texts[-1] += text
            else:
                texts.append(text)
            before = stream
    return texts


def test_there_are_notebooks() -> None:
    """Two notebooks, each with something to show."""
    assert [path.stem for path in NOTEBOOKS] == ["choose", "measure"]
    assert all("a picture" in printed(path) for path in NOTEBOOKS)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(notebook: Path, tmp_path: Path) -> None:
    """Executed from the first cell to the last, without ipywidgets as in a bare Jupyter, a notebook says the same again."""
    again = tmp_path / notebook.name
    command = [sys.executable, "-c", EXECUTE, str(notebook), str(again)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert printed(again) == printed(notebook)
