"""The pages are true: their code runs, and every command, measure and search is on one of them."""

from __future__ import annotations

import doctest
import re
from functools import cache
from pathlib import Path

import pytest

import kpareto
from kpareto.faces.cli import commands
from kpareto.jobs.examples import PAPERS
from kpareto.searches.names import METHODS
from tests.twins.consoles import FENCE
from tests.twins.sources import PROGRAMS, listed

pytestmark = pytest.mark.dangers  # what newcomers are shown releases nothing dangerous

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
LANGUAGES = {"python", "console", "sh", "toml", "json", "text", "markdown"}
# Their code needs Java, a database or the commands between it; it runs in tests/engines/spark, tests/engines/postgres
# and tests/faces/cli/test_first_hour.py.
ELSEWHERE = {"spark.md", "postgresql.md", "tutorial.md"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.name)
def test_the_code_on_the_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every >>> example prints what the page says, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_links_lead_somewhere() -> None:
    """Every relative link names a file that exists."""
    offenders = [
        f"{page.relative_to(ROOT)}:{line}: there is no {target}"
        for page in PAGES
        for line, text in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text)
        if not target.startswith(("http", "mailto:")) and not (page.parent / target).exists()
    ]
    assert not offenders, listed(offenders)


def wrong_blocks(text: str) -> list[tuple[int, str]]:
    """What is wrong with the fenced blocks of a page, and in which line."""
    wrong = [] if len(re.findall(r"^```", text, re.MULTILINE)) % 2 == 0 else [(1, "a block is left open")]
    if ">>> " in FENCE.sub("", text):
        wrong.append((text.count("\n", 0, text.index(">>> ")) + 1, "an example stands outside a block"))
    for block in FENCE.finditer(text):
        language, line = block[1], text.count("\n", 0, block.start()) + 1
        if language not in LANGUAGES:
            wrong.append((line, f"a block of {language or 'no language'}"))
        if language == "python" and not block[2].startswith(">>> "):
            wrong.append((line, "a block of Python that is no session"))
    return wrong


def test_every_block_says_what_it_is() -> None:
    """Blocks of Python are sessions that the tests run; what is not Python is marked as such, and no fence is left open."""
    pages = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
    offenders = [
        f"{page.relative_to(ROOT)}:{line}: {wrong}"
        for page in pages
        for line, wrong in wrong_blocks(page.read_text(encoding="utf-8"))
    ]
    assert not offenders, listed(offenders)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("```sh\nls\n```\n```python\n>>> 1\n```\n", []),
        ("words\n```sh\n", [(1, "a block is left open")]),
        ("words\n>>> 1\n", [(2, "an example stands outside a block")]),
        ("```\nls\n```\n", [(1, "a block of no language")]),
        ("\n```python\nx = 1\n```\n", [(2, "a block of Python that is no session")]),
    ],
)
def test_a_wrong_block_is_seen(text: str, wrong: list[tuple[int, str]]) -> None:
    """A fence left open, an example outside, a block without a language and code that no test runs are told."""
    assert wrong_blocks(text) == wrong


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


def test_what_the_papers_did_is_a_table_without_gaps() -> None:
    """For each paper a row per item with job, command, Python, page and test, all filled; tests and commands exist."""
    text = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8").split("## What the papers did")[1]
    parts = text.split("\n### ")[1:]
    tables = [[line.strip("| ") for line in part.splitlines() if line.startswith("| ")] for part in parts]
    assert len(tables) == len(PAPERS)
    offenders = []
    for heads, *rows in tables:
        assert heads == "item | job | command | Python | page | test"
        assert len(rows) >= 3
        for row in rows:
            cells = [cell.strip() for cell in row.split("|")]
            files = re.findall(r"`(tests/[a-z_0-9/]+\.py)`", cells[-1])
            said = [words.split()[0] for words in re.findall(r"`([^`]+)`", cells[2]) if not words.startswith("--")]
            wrong = [name for name in said if name not in commands.commands]
            wrong += [name for name in files if not (ROOT / name).is_file()]
            if len(cells) != 6 or not all(cells) or not files or wrong:
                offenders.append(f"docs/compare.md: {cells[0]}: {wrong or 'a cell is empty'}")
    assert not offenders, listed(offenders)


@cache
def texts() -> list[Path]:
    """Everything that people read: pages, and Python for its docstrings and comments."""
    folders = [path for kind in ("src", "tests", *PROGRAMS) for path in (ROOT / kind).rglob("*.py")]
    return sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *folders])


@cache
def endings() -> set[str]:
    """Each way to name a file of ours: its name, with as many of its folders as one likes."""
    kinds = ("src", "tests", "docs", *PROGRAMS)
    files = [path.relative_to(ROOT).parts for kind in kinds for path in (ROOT / kind).rglob("*.py")]
    return {"/".join(parts[start:]) for parts in files for start in range(len(parts))}


@cache
def modules() -> set[str]:
    """What may follow ``kpareto.``: a room, or a public name."""
    return {path.stem for path in (ROOT / "src" / "kpareto").iterdir()} | set(kpareto.__all__)


FILE = re.compile(r"(?<![\w/.<>*-])((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)\b")
DOTTED = re.compile(r"(?:from|import|``|`) ?kpareto((?:\.[a-z_0-9]+)+)")
MADE = {"own.py", "program.py"}  # files that an example or a test writes
# A decision is never rewritten: these name what stood at their time.
OLD = {"0002-numba-rather-than-c-or-rust.md"}


def gone(text: str) -> list[str]:
    """The files and modules of ours that a text names and that do not exist."""
    files = [name for name in FILE.findall(text) if name not in endings() | MADE]
    return files + [f"kpareto{name}" for name in DOTTED.findall(text) if name.split(".")[1] not in modules()]


def test_no_text_names_a_module_that_is_gone() -> None:
    """Every file and module of ours that a page, a docstring or a comment names is there."""
    offenders = [
        f"{page.relative_to(ROOT)}:{line}: there is no {name}"
        for page in texts()
        if page.name not in OLD and page != Path(__file__)
        for line, text in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        for name in gone(text)
    ]
    assert not offenders, listed(offenders)


@pytest.mark.parametrize("text", ["see `rollup.py`", "in src/kpareto/kernels.py", "from kpareto.rollup import x"])
def test_a_name_that_is_gone_is_seen(text: str) -> None:
    """A file of the former house and a module of it are both found."""
    assert gone(text)


def test_the_readme_is_short() -> None:
    """What it is, how to begin, what it does not promise and where to read on fit on two screens."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
