"""The page in a real Chromium: two tables at once, tables that are closed, files that change on disk, notes on runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from tests.twins.page import Page, serving_people, write_visits
from tests.twins.window import PATIENCE, Visit, accept_dangers, all_findings, hear_pulses

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Page]:
    """A server of its own, whose files a test may change."""
    with serving_people(tmp_path) as started:
        write_visits(started.folder / "visits.csv")
        yield started


@pytest.fixture
def alone(browser: Browser, served: Page) -> Iterator[Visit]:
    """A window on that server."""
    window = Visit(browser, served)
    yield window
    window.close()


def show_tables(tab: Tab) -> None:
    """Open the list of tables anew."""
    tab.keyboard.press("Escape")
    tab.locator("#tables summary").click()
    expect(tab.locator("#tables .new-table")).to_be_visible()


def begin_second(visit: Visit) -> Tab:
    """Another table, in a new tab."""
    show_tables(visit.tab)
    with visit.context.expect_page() as opened:
        visit.tab.locator("#tables .new-table").click()
    two = opened.value
    two.set_default_timeout(PATIENCE)
    two.get_by_role("button", name="visits.csv").click()
    expect(two.get_by_label("Role of patient")).to_have_value("identifier")
    return two


def change_file(page: Page, old: str, new: str) -> None:
    """Write the small table anew with other words."""
    file = page.folder / "people.csv"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_two_tables_in_two_tabs(alone: Visit, axe: str) -> None:
    """Each tab has its table and its address; neither hears of the other's changes, and reloads keep both."""
    one = alone.tab
    alone.open("people.csv")
    two = begin_second(alone)
    assert one.url.partition("#")[0] != two.url.partition("#")[0]
    with one.expect_response(lambda answer: answer.url.endswith("/job")):
        one.get_by_label("Role of sex").select_option("plain")
    hear_pulses(two)
    expect(two.locator("#note")).to_be_empty()
    for tab, name in ((one, "people.csv"), (two, "visits.csv")):
        tab.reload()
        expect(tab.get_by_role("heading", level=1)).to_have_text(name)
        expect(tab).to_have_title(f"Data – {name} – kpareto")
    expect(one.get_by_label("Role of sex")).to_have_value("plain")
    show_tables(one)
    expect(one.locator("#tables li")).to_have_count(2)
    assert all_findings(one, axe) == []
    one.locator("#tables li a", has_text="visits.csv").click()
    expect(one.get_by_role("heading", level=1)).to_have_text("visits.csv")
    one.go_back()
    expect(one.get_by_role("heading", level=1)).to_have_text("people.csv")


def test_a_closed_table_is_told_and_comes_back(alone: Visit) -> None:
    """A tab whose table is closed elsewhere says so, and a reload opens it again, job and all; closing one's own moves on."""
    one = alone.tab
    alone.open("people.csv")
    with one.expect_response(lambda answer: answer.url.endswith("/job")):
        one.get_by_label("Role of sex").select_option("plain")
    two = begin_second(alone)
    show_tables(two)
    two.get_by_role("button", name="Close people.csv").click()
    expect(two.locator("#tables li")).to_have_count(1)
    expect(one.locator("#lost")).to_contain_text("people.csv was closed: you closed it")
    one.reload()
    expect(one.get_by_label("Role of sex")).to_have_value("plain")
    expect(one.locator("#lost")).to_be_empty()
    show_tables(two)
    two.get_by_role("button", name="Close visits.csv").click()
    expect(two.get_by_role("heading", level=1)).to_have_text("people.csv")


def test_an_address_that_is_not_known_is_said(alone: Visit, served: Page) -> None:
    """A bookmark of a table that is not here begins a new one, with a word."""
    alone.tab.goto(f"{served.origin}/?s=nobody-knows-this-one")
    expect(alone.tab.locator("#note")).to_contain_text("not known here")
    expect(alone.tab.get_by_role("heading", level=1)).to_contain_text("Which table")


def test_a_file_that_changed_is_said_and_never_mixed(alone: Visit, served: Page, axe: str) -> None:
    """The page says that the file is another one; exploring goes on, a release does not; read again, it is the new one."""
    tab = alone.tab
    alone.open("people.csv")
    alone.search()
    change_file(served, "town", "city")
    expect(tab.locator("#changed")).to_contain_text("people.csv has changed on disk since its rows were read")
    assert all_findings(tab, axe) == []
    tab.locator("#go-on-old").click()
    expect(tab.locator("#changed")).to_contain_text("nothing is searched anew or released")
    expect(tab.locator("#go-on-old")).to_have_count(0)
    expect(tab.locator("svg.bands").first).to_be_visible()
    tab.get_by_role("link", name="Release").first.click()
    expect(tab.locator("#main")).to_contain_text("the two are never mixed")
    tab.locator("#read-again").click()
    expect(tab.locator("#note")).to_contain_text("It no longer has 'town'. It has 'city' now")
    expect(tab.locator("#changed")).to_be_empty()
    tab.get_by_role("link", name="Data").first.click()
    expect(tab.get_by_label("Role of city")).to_be_visible()
    alone.search()
    tab.get_by_role("link", name="Release").first.click()
    accept_dangers(tab)
    tab.locator("#release-now").click()
    expect(tab.locator("#main")).to_contain_text("verified")


def test_a_renamed_column_leaves_no_bare_sentence(alone: Visit, served: Page) -> None:
    """A front whose file has other columns after a restart is a sentence with ways on, and the list of runs."""
    tab = alone.tab
    alone.open("people.csv")
    alone.search()
    show_tables(tab)
    tab.get_by_role("button", name="Close people.csv").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("Which table")
    change_file(served, "age", "years")
    tab.go_back()  # to the address of the table that was closed
    expect(tab.locator("#note")).to_contain_text("It no longer has 'age'. It has 'years' now")
    tab.get_by_role("link", name="Explore").click()
    expect(tab.locator("#main .price")).to_contain_text("age")
    expect(tab.locator("#main").get_by_role("link", name="Search again")).to_be_visible()
    expect(tab.locator("#runs table")).to_be_visible()
    alone.errors.clear()


def test_a_run_has_a_name_and_a_note(alone: Visit, axe: str) -> None:
    """A run gets another name and a note where runs are listed; both are there after a reload."""
    tab = alone.tab
    alone.open("people.csv")
    alone.search()
    tab.get_by_role("link", name="Search").first.click()
    for label, words in (("Name of the run", "first try"), ("Note on the run", "for the board, not final")):
        field = tab.get_by_label(label)
        with tab.expect_response(lambda answer: "/runs/" in answer.url and answer.request.method == "PUT"):
            field.fill(words)
            field.blur()
    tab.reload()
    expect(tab.get_by_label("Name of the run")).to_have_value("first try")
    expect(tab.get_by_label("Note on the run first try")).to_have_value("for the board, not final")
    assert all_findings(tab, axe) == []
