"""What every test of the page begins with: a folder, the server over it, a session, a window of Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.twins.page import Page, running, write_people, write_visits
from tests.twins.window import Visit, checker, chromium


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with two tables; a file of tests that needs more has a fixture of this name."""
    place = tmp_path_factory.mktemp("work")
    write_people(place / "people.csv")
    write_visits(place / "visits.csv")
    return place


@pytest.fixture(scope="module")
def page(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page over the folder, opened with the key; uploads of at most 1 MB."""
    with running(folder, tmp_path_factory.mktemp("temporary")) as started:
        started.open_door()
        yield started


@pytest.fixture
def session(page: Page) -> str:
    """The path of a fresh session."""
    return page.new_session()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    with chromium() as started:
        yield started


@pytest.fixture
def visit(browser: Browser, page: Page) -> Iterator[Visit]:
    """A fresh window on the page."""
    window = Visit(browser, page)
    yield window
    window.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """The accessibility checker's script."""
    return checker()
