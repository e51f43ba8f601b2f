"""The pages as a site: they build without a complaint, need no network, and leave no page and no public name out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kpareto
from tests.twins.consoles import FENCE, blocks

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
# What a browser fetches by itself; a link (a) is followed by people alone.
FETCHED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Fetches(HTMLParser):
    """Collects what a page would fetch from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an address of another host in an attribute that is fetched."""
        address = dict(attrs).get(FETCHED.get(tag, ""), "") or ""
        if re.match(r"(?:[a-z]+:)?//", address):
            self.foreign.append(address)


def foreign(content: str) -> list[str]:
    """What a page fetches from another host."""
    parser = Fetches()
    parser.feed(content)
    return parser.foreign


def build(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build the pages of a folder as ``make docs`` does, which must not be quiet: quiet builds overlook warnings."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a link, an anchor or a page that is not there ends the build."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_needs_no_network(site: Path) -> None:
    """No page, style or script of ours fetches anything from a foreign host."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))  # notebooks, and the page of lost addresses
    assert {page.name: foreign(page.read_text(encoding="utf-8")) for page in pages} == {page.name: [] for page in pages}
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)", style.read_text(encoding="utf-8")) == [], style.name


@pytest.mark.slow
def test_every_public_name_has_its_place(site: Path) -> None:
    """The reference shows each public name with an anchor of its own, and words from its docstring."""
    text = (site / "api.html").read_text(encoding="utf-8")
    rooms = kpareto._ROOM_OF
    assert [name for name, room in rooms.items() if f'id="kpareto.{room}.{name}"' not in text] == []
    assert "Every trade-off" in text


def test_links_that_lead_nowhere_end_the_build(tmp_path: Path) -> None:
    """With our settings a lost page, a link to no page and a link to no anchor are each told, and the build fails."""
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text(encoding="utf-8")
    (tmp_path / "docs").mkdir()
    for name in ("build_site.py", "offline-search.js"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    (tmp_path / "mkdocs.yml").write_text(f"{settings}\nnav: [index.md]\n", encoding="utf-8")
    (tmp_path / "docs" / "lost.md").write_text("# Lost\n", encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text("[one](nowhere.md) [two](lost.md#no-place)\n", encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert all(word in done.stderr for word in ("- lost.md", "'nowhere.md'", "'#no-place'"))


@pytest.mark.parametrize(
    ("content", "fetched"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<link href="//fonts.example/a.css" rel="stylesheet">', ["//fonts.example/a.css"]),
        ('<a href="https://example.org">words</a><img src="front.svg">', []),
    ],
)
def test_a_fetch_from_elsewhere_is_seen(content: str, fetched: list[str]) -> None:
    """A script or style of another host is told apart from a link and a picture of ours."""
    assert foreign(content) == fetched


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_says_what_it_is(page: Path) -> None:
    """Blocks of Python are sessions that the tests run; what is not Python is marked as such, and no fence is left open."""
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^```", text, re.MULTILINE)) % 2 == 0
    assert ">>> " not in FENCE.sub("", text)
    for language, block in blocks(page):
        assert language in {"python", "console", "sh", "toml", "json", "text", "markdown"}, (language, block[:60])
        if language == "python":
            assert block.startswith(">>> "), block[:60]


def test_the_version_and_the_changelog_agree() -> None:
    """The newest section of the changelog is the version of the package; all sections below it have a date."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert re.fullmatch(rf"\[{re.escape(kpareto.__version__)}\] - (?:\d{{4}}-\d\d-\d\d|unreleased)", sections[0])
    assert [each for each in sections[1:] if not re.fullmatch(r"\[[\d.]+\] - \d{4}-\d\d-\d\d", each)] == []


def test_the_project_names_no_address_that_the_readme_does_not() -> None:
    """What package indexes show as the project's addresses stands in the README too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert project["urls"]
    assert [address for address in project["urls"].values() if address not in text] == []
