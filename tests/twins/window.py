"""A window of a real Chromium on the page, as a person has it: open, search, look, and nothing wrong behind the scenes."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, FloatRect, Locator, Route, expect, sync_playwright
from playwright.sync_api import Page as Tab

from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from kpareto.tables.lattice import Space
from tests.twins.page import Page

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "web-shots"  # every view as a picture, for people to look at
AXE = ROOT / ".axe"
SERIOUS = ("serious", "critical")
CI = os.environ.get("CI") == "true"
PATIENCE = 240_000  # milliseconds: on a fresh clone compiled loops are compiled first, on a busy machine for minutes
WIDE = {"width": 1400, "height": 900}
UNTICKED = "input[data-accept]:not(:checked)"  # the boxes of dangers that nobody has accepted

expect.set_options(timeout=PATIENCE)  # the same for every look; one that succeeds does not wait


def missing(reason: str) -> None:
    """Skip, or fail where continuous integration promised to bring everything."""
    if CI:
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        missing("There is no Chromium. Install it with: apt-get install -y chromium")
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE)
        yield started
        started.close()


def checker() -> str:
    """The accessibility checker's script, fetched once into an ignored folder."""
    script = AXE / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            missing("There is no npm to fetch axe-core with.")
        done = subprocess.run(
            [str(npm), "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(AXE), "axe-core"],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode or not script.exists():
            missing(f"axe-core could not be fetched: {done.stderr[-200:]}")
    return script.read_text(encoding="utf-8")


RUN = "async () => ((await import('/static/main.js')).page.run || {id: null}).id"


class Visit:
    """A browser window of a person: its tab, and the errors its console showed."""

    def __init__(self, browser: Browser, page: Page, **options: Any) -> None:
        self.context: BrowserContext = browser.new_context(accept_downloads=True, **{"viewport": WIDE, **options})
        self.context.set_default_timeout(PATIENCE)
        self.tab: Tab = self.context.new_page()
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.tab.on("request", lambda asked: self._watch(asked.url, page.origin))
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.tab.goto(page.link)
        expect(self.tab.get_by_role("heading", level=1)).to_contain_text("Which table")

    def _watch(self, url: str, origin: str) -> None:
        if not url.startswith((origin, "data:", "blob:")):
            self.foreign.append(url)

    def open(self, name: str) -> None:
        """Open a table of the list and wait for its columns."""
        self.tab.get_by_role("button", name=name).click()
        expect(self.tab.locator("table.columns")).to_be_visible()
        expect(self.tab.locator("table.icicle")).to_be_visible()

    def search(self) -> None:
        """Go to the search, start it, wait for its end, go on to the front."""
        self.tab.get_by_role("link", name="Next: search").click()
        self.explore()

    def explore(self) -> None:
        """Start the search that is set up, wait for its end, go on to the front; the link to an earlier one is there too."""
        before = self.tab.evaluate(RUN)
        self.tab.locator("#start").click()
        while self.tab.evaluate(RUN) in (None, before):
            self.tab.wait_for_timeout(20)
        self.tab.locator("#to-explore").click()
        expect(self.tab.locator("svg.bands").first).to_be_visible()

    def explore_three(self) -> None:
        """Go on to the front of three objectives of Adult."""
        self.open("Try the embedded Adult table")
        self.tab.get_by_role("link", name="Next: search").click()
        self.tab.get_by_label("l different sensitive values per class").check()
        self.explore()

    def breed(self, budget: int) -> None:
        """Open the small table, and choose a genetic search with so many recodings; it is not started yet."""
        self.open("people.csv")
        self.tab.get_by_role("link", name="Next: search").click()
        self.tab.locator("#research summary").click()
        self.tab.locator("#method").select_option("nsga2")
        self.tab.locator("#budget").fill(str(budget))
        self.tab.locator("#budget").blur()

    def second_tab(self) -> Tab:
        """The same session in another tab, with the table that is open."""
        other = self.context.new_page()
        other.goto(self.tab.url)
        expect(other.locator("table.columns")).to_be_visible()
        return other

    def shot(self, name: str, full: bool = False) -> None:
        """A picture for people."""
        SHOTS.mkdir(exist_ok=True)
        self.tab.wait_for_timeout(250)
        self.tab.screenshot(path=str(SHOTS / f"{name}.png"), full_page=full)

    def close(self) -> None:
        """Nothing may have gone wrong behind the scenes."""
        self.context.close()
        wrong = [error for error in self.errors if "status of 4" not in error]
        assert not wrong, wrong
        assert self.foreign == []  # it works without a network


def wait_until(tab: Tab, script: str) -> None:
    """Wait until a script of the page, which may itself wait for answers, says true."""
    while not tab.evaluate(script):
        tab.wait_for_timeout(50)


def hear_pulses(tab: Tab, count: int = 2) -> None:
    """Wait until the page has asked and heard what is new some times."""
    for _ in range(count):
        with tab.expect_response(lambda answer: answer.url.endswith("/pulse")):
            pass


def place_of(what: Locator) -> FloatRect:
    """Where something is in the window, scrolled to and at rest; what is drawn anew meanwhile is looked at again."""
    while True:
        what.hover()  # unlike scrolling, this begins again when the element is replaced
        box = what.bounding_box()
        if box is not None:
            return box


def accept_dangers(tab: Tab, tick: Callable[[str], None] | None = None) -> None:
    """Wait until the checks of a release are in, and tick the box of every danger, by mouse where nothing else is said."""
    expect(tab.locator("#release-now")).to_be_visible()
    for _ in range(tab.locator(UNTICKED).count()):
        if tick is None:
            tab.locator(UNTICKED).first.click()
        else:
            tick(UNTICKED)
    expect(tab.locator("#release-now")).to_be_enabled()


class Delayed:
    """The next request to an address, kept on its way until it is let go."""

    def __init__(self, tab: Tab, pattern: str) -> None:
        self.tab, self.routes = tab, list[Route]()
        tab.route(pattern, lambda route: self.routes.append(route), times=1)  # noqa: PLW0108 (needs a function)

    def let_go(self) -> None:
        """Let it arrive; on a busy machine it may not have been sent yet."""
        while not self.routes:
            self.tab.wait_for_timeout(20)
        self.routes[0].continue_()


def all_findings(tab: Tab, script: str, impacts: tuple[str, ...] = ()) -> list[str]:
    """What the accessibility checker finds in the view as it is: everything, or what has one of these impacts."""
    tab.evaluate(script)
    violations = tab.evaluate("async () => (await axe.run(document, {iframes: false})).violations")
    return [
        f"{violation['id']} ({violation['impact']}): {violation['nodes'][0]['html'][:160]}"
        for violation in violations
        if not impacts or violation["impact"] in impacts
    ]


def check_access(tab: Tab, script: str) -> None:
    """No serious finding of the accessibility checker in the view as it is."""
    assert all_findings(tab, script, SERIOUS) == []


def node(tab: Tab, label: str, level: int) -> Locator:
    """A group of the hierarchy that is shown."""
    return tab.locator(f"button.node[data-level='{level}']", has_text=label)


def focused(tab: Tab, selector: str) -> bool:
    """Whether the keyboard is at an element."""
    return bool(tab.evaluate("(wanted) => document.activeElement.matches(wanted)", selector))


def count_slowly(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.15, recodings: int = 0) -> None:
    """Let counting take its time: the small table would be done before anyone could press stop.

    The time is that of one call, or of so many recodings.
    """
    quick = Problem.evaluate

    def slow(self: Problem, space: Space, genomes: np.ndarray, threads: int | None = None) -> Numbers:
        time.sleep(seconds * len(genomes) / recodings if recodings else seconds)
        return quick(self, space, genomes, threads)

    monkeypatch.setattr(Problem, "evaluate", slow)
