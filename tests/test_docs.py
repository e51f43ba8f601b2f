"""The pages are true: their code runs, and every command, measure and search is on one of them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from kpareto.cli import commands
from kpareto.searches import METHODS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
# Their code needs Java or a database, and runs in tests/test_spark_release.py and tests/test_postgres_release.py.
ELSEWHERE = {"spark.md", "postgresql.md"}


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
