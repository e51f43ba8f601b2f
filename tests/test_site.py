"""The pages as a site: they build without a complaint, need no network, and leave no page and no public name out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kpareto

ROOT = Path(__file__).parents[1]
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


def test_the_site_needs_no_network(site: Path) -> None:
    """No page, style or script of ours fetches anything from a foreign host."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))  # notebooks, and the page of lost addresses
    assert {page.name: foreign(page.read_text(encoding="utf-8")) for page in pages} == {page.name: [] for page in pages}
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)", style.read_text(encoding="utf-8")) == [], style.name


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
