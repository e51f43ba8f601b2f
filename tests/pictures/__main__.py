"""Walk through the page as a steward would and take a picture of every step, light and dark: python -m tests.pictures.

The pictures go into docs, as few colours as they need. ``--look FOLDER`` takes them at three widths for people to look
at instead; nothing in docs changes then. ``--walk FILE`` with it takes any table from Open to a verified release, as
somebody would who decides what is undecided and leaves the rest as it is proposed, and prints clicks and seconds.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright
from playwright.sync_api import Page as Tab

from tests.twins.messy import write_workbook
from tests.twins.page import running
from tests.twins.window import accept_dangers, all_findings, checker

DOCS = Path(__file__).parents[2] / "docs"
HEIGHT = 900
WIDTH = 1280  # of the pictures in docs
WIDTHS = (1400, 800, 390)  # of those to look at
COLOURS = 256  # of a picture; the page has one accent, and text in few greys
ROWS, LABS = 600, 4  # of the table that is shown
LIMIT = 200 << 20  # bytes of an upload, as kpareto serve has it
PATIENCE = 600_000  # milliseconds; compiled loops may have to be compiled first, on a machine that does other work


@dataclass(frozen=True)
class Camera:
    """Takes a step in both colours, at every width."""

    tab: Tab
    folder: Path
    widths: tuple[int, ...]

    def take(self, step: str, top: str | None = None) -> None:
        """A picture of what is shown, from an element on; docs has one width, which its names leave out."""
        for width in self.widths:
            self.tab.set_viewport_size({"width": width, "height": HEIGHT})
            for scheme in ("light", "dark"):
                self.tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
                self._scroll(top)
                self.tab.wait_for_timeout(400)
                ending = "" if scheme == "light" else "-dark"
                size = "" if len(self.widths) == 1 else f"-{width}"
                write_small(self.tab.screenshot(), self.folder / f"web-{step}{size}{ending}.png")

    def _scroll(self, top: str | None) -> None:
        place = "0" if top is None else f"document.querySelector({top!r}).getBoundingClientRect().top + scrollY - 76"
        self.tab.evaluate(f"window.scrollTo(0, {place})")


def write_small(png: bytes, place: Path) -> None:
    """A PNG with a palette."""
    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    # The commonest colours as they are, so that no surface is tinted; the edges of letters take the nearest of them.
    pixels = np.asarray(picture).reshape(-1, 3)  # (pixels, 3) uint8
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours[np.argsort(-counts)[:COLOURS]].tobytes())
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(place, optimize=True)


def walk(tab: Tab, camera: Camera) -> None:
    """From the opening page to a release, with a picture of every step."""
    camera.take("open")
    tab.get_by_role("button", name="visits.xlsx").click()
    expect(tab.locator("table.icicle")).to_be_visible()
    tab.get_by_label("Role of remark").select_option("plain")
    expect(tab.locator("#facts")).to_contain_text("on the 5 quasi-identifiers")
    expect(tab.locator(".first-rows")).to_be_visible()
    camera.take("data")
    tab.get_by_role("button", name="Show the hierarchy of age").click()
    expect(tab.get_by_role("heading", name="Hierarchy of age")).to_be_visible()
    expect(tab.locator("button.node[data-name='20-24']")).to_be_visible()
    camera.take("hierarchy", ".split")
    tab.get_by_role("link", name="Next: search").click()
    tab.locator("[data-limit=k]").fill("3")
    tab.locator("[data-limit=k]").press("Tab")
    tab.locator("#start").click()
    expect(tab.locator("#to-explore")).to_be_visible()
    expect(tab.locator("#search-proof")).not_to_be_empty()
    camera.take("search")
    tab.locator("#to-explore").click()
    expect(tab.locator("svg.bands").first).to_be_visible()
    camera.take("choose")
    tab.get_by_role("link", name="Release this point").click()
    accept_dangers(tab)
    tab.locator("#release-now").click()
    expect(tab.locator("#released")).to_contain_text("verified")
    camera.take("release")


def explore_adult(tab: Tab, camera: Camera) -> None:
    """The front of a table with more to choose from."""
    tab.get_by_role("link", name="Data", exact=True).click()
    tab.get_by_role("button", name="Open another table").click()
    tab.get_by_role("button", name="Try the embedded Adult table").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("Adult")
    tab.get_by_role("link", name="Next: search").click()
    tab.locator("#start").click()
    expect(tab.locator("#search-proof")).not_to_be_empty()
    tab.locator("#to-explore").click()
    expect(tab.locator("svg.bands").first).to_be_visible()
    expect(tab.get_by_role("heading", level=1)).not_to_have_text("6 trade-offs")
    camera.take("explore")


@dataclass
class Steward:
    """Somebody who knows neither the tool nor the table: what they click, how long they wait, what is wrong then."""

    camera: Camera
    name: str
    axe: str
    errors: list[str]
    clicks: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    @property
    def tab(self) -> Tab:
        """Their window."""
        return self.camera.tab

    def press(self, what: str) -> None:
        """Press what a selector finds, or take its file."""
        self.tab.locator(what).first.click()
        self.clicks += 1

    def choose(self, what: str, value: str) -> None:
        """Choose from a list, which takes two clicks."""
        self.tab.locator(what).select_option(value)
        self.clicks += 2

    def end(self, step: str) -> None:
        """A step is over: its time, its picture at every width, and whether it can be read and fits."""
        self.seconds[step] = time.perf_counter() - self.began
        self.tab.wait_for_timeout(300)
        self.camera.take(f"{self.name}-{step}")
        for width in self.camera.widths:
            self.tab.set_viewport_size({"width": width, "height": HEIGHT})
            self.tab.wait_for_timeout(300)  # what follows the width draws itself anew
            beyond = self.tab.evaluate("document.documentElement.scrollWidth - innerWidth")
            self.findings += [f"{step}, {width} wide: {beyond} pixels beyond the window"] if beyond > 0 else []
            self.findings += [f"{step}, {width} wide: {each}" for each in all_findings(self.tab, self.axe)]
        self.began = time.perf_counter()

    def walk(self, table: Path) -> None:
        """From the file to a verified release: what is undecided is sensitive, all else stays as proposed."""
        tab = self.tab
        tab.locator("#drop-file").set_input_files(str(table))
        self.clicks += 2  # the button, and the file in the system's own window
        expect(tab.locator("table.icicle")).to_be_visible()
        self.end("open")
        if "undecided" in tab.locator("#quasi-count").inner_text():
            self.choose("#list-columns", "decide")
            self.press("#pick-all")
            self.choose("#picked-role", "sensitive")
            expect(tab.locator("#quasi-count")).not_to_contain_text("undecided")
        self.end("roles")
        self.press("a[href='#search']:not(nav a)")
        self.press("#start")
        expect(tab.locator("#to-explore")).to_be_visible()
        expect(tab.locator("#search-proof")).not_to_be_empty()
        self.end("search")
        self.press("#to-explore")
        expect(tab.locator("svg.bands").first).to_be_visible()
        self.end("explore")
        self.press("a[href='#release'].small")
        expect(tab.locator("#release-now")).to_be_visible()
        self.end("checks")
        accept_dangers(tab, self.press)
        self.press("#release-now")
        expect(tab.locator("#released")).to_contain_text("verified")
        self.end("released")

    def line(self) -> str:
        """What it took, as a line of a table."""
        spent = " | ".join(f"{seconds:.0f} s" for seconds in self.seconds.values())
        return f"| {self.name} | {self.clicks} | {spent} | {len(self.findings)} | {len(self.errors)} |"


def hear_errors(tab: Tab) -> list[str]:
    """The errors of a window's console, as they come."""
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    return errors


def walk_tables(browser: Browser, folder: Path, tables: list[Path]) -> None:
    """Every table by a steward of its own, and what it took."""
    axe = checker()
    head = "| table | clicks | open | roles | search | explore | checks | released | findings | errors |"
    sys.stdout.write("\n".join([head, "|---" * 10 + "|"]) + "\n")
    with tempfile.TemporaryDirectory() as place:
        desk, temporary = Path(place) / "desk", Path(place) / "temporary"
        desk.mkdir()
        temporary.mkdir()
        with running(desk, temporary, upload_limit=LIMIT) as page:
            for table in tables:
                context = browser.new_context(viewport={"width": WIDTHS[0], "height": HEIGHT})
                context.set_default_timeout(PATIENCE)
                tab = context.new_page()
                errors = hear_errors(tab)
                tab.goto(page.link)
                expect(tab.get_by_role("heading", level=1)).to_contain_text("Which table")
                steward = Steward(Camera(tab, folder, WIDTHS), table.stem, axe, errors)
                steward.walk(table)
                context.close()
                sys.stdout.write(f"{steward.line()}\n")
                sys.stdout.flush()
                sys.stderr.writelines(f"{each}\n" for each in (*steward.findings, *errors))


def photograph(browser: Browser, folder: Path, widths: tuple[int, ...]) -> None:
    """The page over a folder with one workbook, from its start to its end."""
    with tempfile.TemporaryDirectory() as place:
        desk, temporary = Path(place) / "clinic", Path(place) / "temporary"
        desk.mkdir()
        temporary.mkdir()
        write_workbook(desk / "visits.xlsx", ROWS, LABS)
        with running(desk, temporary, upload_limit=LIMIT) as page:
            context = browser.new_context(viewport={"width": widths[0], "height": HEIGHT})
            context.set_default_timeout(PATIENCE)
            tab = context.new_page()
            tab.goto(page.link)
            expect(tab.get_by_role("heading", level=1)).to_contain_text("Which table")
            camera = Camera(tab, folder, widths)
            walk(tab, camera)
            explore_adult(tab, camera)
            context.close()


def main() -> None:
    """Make the pictures; one sentence where there is no Chromium."""
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description="Pictures of the page, for docs.")
    parser.add_argument("--look", type=Path, help="write pictures at three widths into this folder, and none into docs")
    parser.add_argument("--walk", type=Path, action="append", metavar="FILE", help="with --look: walk this table")
    given = parser.parse_args()
    folder = given.look
    if given.walk and folder is None:
        parser.error("--walk needs --look FOLDER for its pictures.")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("There is no Chromium. Install it with: apt-get install -y chromium")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if given.walk:
            walk_tables(browser, folder, given.walk)
        else:
            photograph(browser, folder or DOCS, (WIDTH,) if folder is None else WIDTHS)
        browser.close()


if __name__ == "__main__":
    main()
