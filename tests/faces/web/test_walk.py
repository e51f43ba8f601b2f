"""From a workbook as offices have them to a verified release in a real Chromium: by mouse alone, by keyboard alone."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Download, expect
from playwright.sync_api import Page as Tab
from python_calamine import CalamineWorkbook

import kpareto as kp
from tests.twins.messy import ROWS, write_letters, write_workbook
from tests.twins.page import Page
from tests.twins.window import Visit, accept_dangers, place_of

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.dangers]
FAR = 250  # presses of the tab key after which something counts as out of reach


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder: the files come from elsewhere on the machine."""
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook, and its copy in older letters."""
    folder = tmp_path_factory.mktemp("desk")
    write_workbook(folder / "workbook.xlsx")
    write_letters(folder / "letters.csv")
    return folder


class Mouse:
    """Somebody who only points and clicks, and types where a number or a name is asked for."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab

    def press(self, selector: str) -> None:
        """Press a button or a link."""
        self.tab.locator(selector).first.click()

    tick = press

    def choose(self, selector: str, value: str) -> None:
        """Choose from a list; the open list belongs to the system, so choosing is Playwright's.

        It is not opened first: a list that stays open takes the keys that are meant for the next field.
        """
        self.tab.locator(selector).select_option(value)

    def write(self, selector: str, text: str) -> None:
        """Write into a field, and click elsewhere."""
        field = self.tab.locator(selector)
        for _ in range(10):
            field.click(click_count=3)  # what stands there is marked, and written over
            self.tab.keyboard.type(text)
            if field.input_value() == text:  # the view may have been drawn anew between the two, and the mark is gone
                break
        expect(field).to_have_value(text)
        self.tab.locator("h1").click()

    def bring(self, selector: str, file: Path) -> None:
        """Choose a file."""
        button = self.tab.locator(f"label[for={selector.removeprefix('#')}]")
        with self.tab.expect_file_chooser() as chooser:
            (button if button.count() else self.tab.locator(selector)).click()
        chooser.value.set_files(str(file))

    def pick(self) -> None:
        """Choose a point in the picture of the front."""
        plot = self.tab.locator(".plot").first
        box = place_of(plot)
        for down in range(20, int(box["height"]) - 20, 40):  # wherever a point is near, the picture says so
            for across in range(60, int(box["width"]) - 10, 40):
                self.tab.mouse.move(box["x"] + across, box["y"] + down)
                if "near" in (plot.get_attribute("class") or ""):
                    self.tab.mouse.down()
                    self.tab.mouse.up()
                    return
        pytest.fail("No point of the picture can be clicked.")


class Keyboard:
    """Somebody without a mouse."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        tab.on("filechooser", lambda _: None)  # from now on: a key would come before the first one is looked out for

    def reach(self, selector: str) -> None:
        """Go there by the tab key, as somebody would who cannot see where to jump."""
        expect(self.tab.locator(selector).first).to_be_attached()
        for _ in range(FAR):
            self.tab.keyboard.press("Tab")
            if self.tab.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
        pytest.fail(f"{selector} is not reached by the tab key.")

    def press(self, selector: str) -> None:
        """Press a button or a link."""
        self.reach(selector)
        self.tab.keyboard.press("Enter")

    def tick(self, selector: str) -> None:
        """Tick a box."""
        self.reach(selector)
        self.tab.keyboard.press("Space")

    def choose(self, selector: str, value: str) -> None:
        """Choose from a list by its first letter; more letters than one would be two words on a machine that pauses."""
        self.reach(selector)
        self.tab.keyboard.press(value[0])

    def write(self, selector: str, text: str) -> None:
        """Write into a field, and leave it."""
        self.reach(selector)
        self.tab.keyboard.type(text)
        self.tab.keyboard.press("Tab")

    def bring(self, selector: str, file: Path) -> None:
        """Choose a file."""
        self.reach(selector)
        with self.tab.expect_file_chooser() as chooser:
            self.tab.keyboard.press("Enter")
        chooser.value.set_files(str(file))

    def pick(self) -> None:
        """Choose a point in the picture of the front."""
        self.reach(".plot")
        self.tab.keyboard.press("ArrowRight")
        self.tab.keyboard.press("ArrowRight")


def download(tab: Tab, person: Mouse | Keyboard, kind: str, folder: Path) -> Path:
    """A file of the release, as a person saves it."""
    with tab.expect_download() as waiting:
        person.press(f"[data-file='{kind}']")
    file: Download = waiting.value
    file.save_as(folder / file.suggested_filename)
    return folder / file.suggested_filename


def cells_of(release: Path) -> set[str]:
    """Every text in a released file: a workbook is released as one, and a text in the letters it came in."""
    if release.suffix == ".xlsx":
        rows = CalamineWorkbook.from_path(str(release)).get_sheet_by_index(0).to_python()
        return {str(cell) for row in rows for cell in row}
    with release.open(encoding="latin-1", newline="") as file:
        return {cell for row in csv.reader(file, delimiter=";") for cell in row}


# Every file, every width and either hand; one of the walks is part of make test (tests/rings.py).
@pytest.mark.parametrize(
    ("name", "width", "person"),
    [
        ("workbook.xlsx", 1400, Mouse),
        ("workbook.xlsx", 800, Keyboard),
        ("workbook.xlsx", 390, Mouse),
        ("letters.csv", 1400, Keyboard),
    ],
)
def test_a_messy_workbook_becomes_a_verified_release(
    browser: Browser,
    page: Page,
    files: Path,
    tmp_path: Path,
    name: str,
    width: int,
    person: type[Mouse | Keyboard],
) -> None:
    """Opened as it is, roles changed, searched, chosen, released, verified; no command line, no other file."""
    visit = Visit(browser, page, viewport={"width": width, "height": 900})
    tab, hand = visit.tab, person(visit.tab)
    read_the_file(tab, hand, files / name)
    search_and_choose(tab, hand)
    release_and_verify(tab, hand, tmp_path)
    visit.close()


def read_the_file(tab: Tab, hand: Mouse | Keyboard, file: Path) -> None:
    """Title line, line break, decimal commas and days are found out; one role is changed."""
    hand.bring("#drop-file", file)
    expect(tab.locator("#facts")).to_contain_text(f"{ROWS} rows, 40 columns")
    expect(tab.locator(".first-rows")).to_contain_text("Köln")
    assert len(set(tab.locator("table.columns tbody .column-name > span").all_inner_texts())) == 40
    expect(tab.locator("table.columns tr", has_text="lab 07")).to_contain_text("number")
    expect(tab.locator("table.columns tr", has_text="admitted")).to_contain_text("date")
    expect(tab.get_by_label("Role of Patient no.")).to_have_value("identifier")
    expect(tab.locator("[aria-label*='town']").first).to_be_attached()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        hand.choose("[aria-label='Role of remark']", "plain")
    expect(tab.get_by_label("Role of remark")).to_have_value("plain")


def search_and_choose(tab: Tab, hand: Mouse | Keyboard) -> None:
    """At least k = 4, the whole front, a point of it."""
    hand.press("a[href='#search']:not(nav a)")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        hand.write("[data-limit=k]", "4")  # 5 is proposed
    hand.press("#start")
    expect(tab.locator("#to-explore")).to_be_visible()
    hand.press("#to-explore")
    expect(tab.locator("svg.bands").first).to_be_visible()
    hand.pick()
    expect(tab.locator("#headline")).to_contain_text("Point")
    hand.press("a[href='#release'].small")
    expect(tab.locator("#warn-count")).to_be_visible()


def release_and_verify(tab: Tab, hand: Mouse | Keyboard, folder: Path) -> None:
    """A cell that a spreadsheet would run is made harmless; the files are verified here and on the page."""
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        hand.choose("#formulas", "neutralise" if isinstance(hand, Mouse) else "are written")
    accept_dangers(tab, hand.tick)
    hand.press("#release-now")
    expect(tab.locator("#released")).to_contain_text("verified")
    release, certificate = (download(tab, hand, kind, folder) for kind in ("release", "certificate"))
    verified = kp.verify(release, certificate)
    assert verified.numbers["k"] >= 4
    cells = cells_of(release)
    assert not any(cell.startswith("P-0") for cell in cells)  # an identifier stays here
    assert "späte Ankunft" in cells
    assert "'=1+1" in cells
    assert "=1+1" not in cells
    hand.bring("#verify-release", release)
    hand.bring("#verify-certificate", certificate)
    hand.press("#verify-now")
    expect(tab.locator("#verdict")).to_contain_text("holds what its certificate claims")
