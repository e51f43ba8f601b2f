"""The pages are true: their code runs, and every command, measure and search is on one of them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import kpareto
from kpareto.faces.cli import commands
from kpareto.searches.names import METHODS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
# Their code needs Java, a database or the commands between it; it runs in tests/engines/spark, tests/engines/postgres
# and tests/faces/cli/test_first_hour.py.
ELSEWHERE = {"spark.md", "postgresql.md", "tutorial.md"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.name)
def test_the_code_on_the_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every >>> example prints what the page says, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file that exists."""
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        if not target.startswith(("http", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_command_is_documented() -> None:
    """Each command stands in docs/commands.md."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in commands.commands:
        assert f"`kpareto {name}" in text, name


def test_every_search_is_documented() -> None:
    """Each search stands in docs/fronts.md with what it does not promise, and in the job page."""
    for page in ("fronts.md", "job.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for name in METHODS:
            assert name in text, (page, name)


TEXTS = [
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("*.md"),
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "tests").rglob("*.py"),
]
ROOMS = {
    path.relative_to(ROOT).as_posix() for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*.py")
}
FILE = re.compile(r"(?<![\w/.<>*-])((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)\b")
DOTTED = re.compile(r"(?:from|import|``|`) ?kpareto((?:\.[a-z_0-9]+)+)")
MADE = {"own.py", "program.py"}  # files that an example or a test writes
# A decision is never rewritten: these name what stood at their time.
OLD = {"0002-numba-rather-than-c-or-rust.md"}


def gone(text: str) -> list[str]:
    """The files and modules of ours that a text names and that do not exist."""
    files = [name for name in FILE.findall(text) if not any(f"/{room}".endswith(f"/{name}") for room in ROOMS)]
    modules = []
    for dotted in DOTTED.findall(text):
        first = dotted.split(".")[1]
        rooms = {room.split("/")[2].removesuffix(".py") for room in ROOMS if room.startswith("src/")}
        if first not in rooms | set(kpareto.__all__):
            modules.append(f"kpareto{dotted}")
    return [name for name in files if name not in MADE] + modules


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_text_names_a_module_that_is_gone(page: Path) -> None:
    """Every file and module of ours that a page, a docstring or a comment names is there."""
    if page.name not in OLD and page != Path(__file__):
        assert gone(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("text", ["see `rollup.py`", "in src/kpareto/kernels.py", "from kpareto.rollup import x"])
def test_a_name_that_is_gone_is_seen(text: str) -> None:
    """A file of the former house and a module of it are both found."""
    assert gone(text)
