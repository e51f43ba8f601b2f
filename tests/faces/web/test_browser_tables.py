"""The page in a real Chromium: two tables at once, tables that are closed or change on disk, projects of ARX, notes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from tests.jobs.test_arx import ILL, PLACE, ROWS, SEX, Made
from tests.twins.page import Page, serving_people, write_visits
from tests.twins.window import PATIENCE, Visit, accept_dangers, all_findings, hear_pulses, node

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


# -- projects of ARX -------------------------------------------------------------------------------------------------

DROP = """async (zone, [name, text]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name));
  zone.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
}"""


def bring_project(tab: Tab, way: str, project: Path) -> None:
    """Bring a project to the page: from the list of files, by choosing a file, or by dropping it."""
    if way == "listed":
        tab.reload()  # it is written into the folder after the page was opened
        tab.get_by_role("button", name=project.name).click()
    elif way == "chosen":
        tab.locator("#drop-file").set_input_files(str(project))
    else:
        text = base64.b64encode(project.read_bytes()).decode()
        tab.locator(".drop").evaluate(DROP, [project.name, text])
    expect(tab.get_by_role("heading", level=1)).to_have_text("own.csv")


@pytest.mark.parametrize("way", ["listed", "chosen", "dropped"])
def test_a_project_of_arx(alone: Visit, served: Page, tmp_path: Path, way: str) -> None:
    """Its roles, hierarchies, levels and remarks are shown and stay after a reload, and its front is explored."""
    tab = alone.tab
    further = {PLACE: "<min>1</min><max>All</max><microaggregationFunction>Geometric mean</microaggregationFunction>"}
    made = Made(settings="<snapshotSizeDataset>0.2</snapshotSizeDataset>", columns=further)
    bring_project(tab, way, made.write(served.folder if way == "listed" else tmp_path, "own.deid"))
    for _ in range(2):
        roles = {SEX: "quasi-identifier", PLACE: "quasi-identifier", ILL: "sensitive", "id": "identifier"}
        for name, role in roles.items():
            expect(tab.get_by_label(f"Role of {name}", exact=True)).to_have_value(role)
        for words in ("A project of ARX 3.9.1", "snapshotSizeDataset", "microaggregationFunction = 'Geometric mean'"):
            expect(tab.locator("#facts")).to_contain_text(words)
        tab.get_by_role("button", name=f"Show the hierarchy of {PLACE}", exact=True).click()
        expect(node(tab, "west", 1)).to_be_visible()
        expect(tab.locator("#least-level")).to_have_value("1")
        expect(tab.locator("#most-level")).to_have_value("2")
        tab.reload()
    alone.search()
    expect(tab.locator(".column", has_text=PLACE).first).to_contain_text("level")
    expect(tab.locator("#headline [data-objective=k]")).to_be_visible()
    assert tab.evaluate("async () => (await import('/static/main.js')).page.front.rows") == len(ROWS)


def test_a_broken_project_is_one_sentence(alone: Visit, tmp_path: Path) -> None:
    """What is no project is refused in words, and the table that was open stays."""
    tab = alone.tab
    alone.open("people.csv")
    tab.get_by_role("button", name="Open another table").click()
    (tmp_path / "own.deid").write_text("no project", encoding="utf-8")
    tab.locator("#drop-file").set_input_files(str(tmp_path / "own.deid"))
    expect(tab.get_by_role("alert").first).to_contain_text("no zip, as projects of ARX are")
    tab.locator("#back-to-table").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("people.csv")
