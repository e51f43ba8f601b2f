"""A steward at work in a real Chromium: looking at rows, making hierarchies, working a front, by mouse and by keyboard."""

from __future__ import annotations

import csv
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect
from playwright.sync_api import Page as Tab

from kpareto.faces.web import search
from tests.twins.page import Page, write_people, write_towns
from tests.twins.window import PATIENCE, Visit, all_findings, focused, node, place_of

# One Chromium for all tests of this kind, also where pytest runs in several processes.
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a table, the same in other letters, and groups for its towns."""
    place = tmp_path_factory.mktemp("steward")
    write_people(place / "people.csv")
    text = (place / "people.csv").read_text(encoding="utf-8").replace("Trier", "Köln")
    (place / "letters.csv").write_bytes(text.encode("latin-1"))
    write_towns(place / "towns.csv")
    return place


def open_people(visit: Visit) -> Tab:
    """The small table, with its towns as a quasi-identifier."""
    visit.open("people.csv")
    return visit.tab


# -- data ----------------------------------------------------------------------------------------------------------


def test_rows_and_values_are_seen_before_anything_is_decided(visit: Visit) -> None:
    """The first rows, leafing, the values of any column; the headline follows the roles (B4, B12)."""
    tab = open_people(visit)
    expect(tab.locator(".first-rows tbody tr")).to_have_count(10)
    expect(tab.locator(".first-rows")).to_contain_text("asthma")
    tab.locator("[data-key='rows-Next']").click()
    expect(tab.get_by_text("Rows 11 to 20 of 400")).to_be_visible()
    tab.get_by_role("button", name="Show the values of illness").click()
    expect(tab.locator(".value-bars")).to_contain_text("gout")
    expect(tab.locator("#facts")).to_contain_text("on the 3 quasi-identifiers")
    before = tab.locator("#facts").inner_text()
    tab.get_by_label("Role of town").select_option("plain")
    expect(tab.locator("#facts")).to_contain_text("on the 2 quasi-identifiers")
    assert tab.locator("#facts").inner_text() != before


def test_a_file_in_other_letters_is_no_dead_end(visit: Visit, page: Page) -> None:
    """Letters are found out; where a person says wrong ones, the same file is one button away (B1)."""
    tab = visit.tab
    tab.locator("#drop-file").set_input_files(str(page.folder / "letters.csv"))
    expect(tab.locator("table.columns")).to_be_visible()
    expect(tab.locator(".first-rows")).to_contain_text("Köln")
    tab.get_by_role("button", name="Open another table").click()
    tab.locator("#encoding").select_option("utf-16")
    tab.locator("#drop-file").set_input_files(str(page.folder / "people.csv"))
    expect(tab.get_by_role("alert").locator("p")).to_contain_text(".")
    assert tab.locator("#drop-file").input_value() == ""  # so that the same file is a change again
    tab.get_by_role("button", name="Try as UTF-8").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("people.csv")


def test_a_messy_file_is_shown_as_it_is_read(visit: Visit, tmp_path: Path) -> None:
    """Title line, semicolons, decimal commas, a line break in a name; each can be told otherwise (B2)."""
    lines = ["Clinic, extract", "", 'age;"town\n(home)";weight;ill']
    lines += [
        f"{20 + row % 60};{'Köln' if row % 3 else 'Ulm'};{50 + row % 40},{row % 10};{'yes' if row % 4 else 'no'}"
        for row in range(300)
    ]
    (tmp_path / "messy.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    tab = visit.tab
    tab.locator("#drop-file").set_input_files(str(tmp_path / "messy.csv"))
    expect(tab.locator("#facts")).to_contain_text("separated by semicolon")
    expect(tab.locator("#facts")).to_contain_text("300 rows, 4 columns")
    expect(tab.locator("#form-separator")).to_have_value(";")
    expect(tab.locator("#form-decimal")).to_have_value(",")
    expect(tab.locator("#form-skip")).to_have_value("2")
    expect(tab.locator(".first-rows")).to_contain_text("Köln")
    tab.locator("#form-encoding").select_option("utf-16")
    expect(tab.get_by_role("alert").locator("p")).to_contain_text(".")
    expect(tab.locator(".first-rows")).to_contain_text("Köln")  # what was there stays


def test_hierarchies_are_built_brought_and_undone(visit: Visit, page: Page, tmp_path: Path) -> None:
    """A builder with a preview, a file of the folder, a dropped one, undo, redo, reset, a file to keep (B3)."""
    tab = open_people(visit)
    tab.get_by_role("button", name="Show the hierarchy of age").click()
    tab.locator("summary", has_text="Build or bring").click()
    tab.locator("#build-widths").fill("15, 30")
    expect(tab.locator(".preview")).to_contain_text("15-29")
    expect(node(tab, "15-29", 1)).to_have_count(0)  # only a preview
    tab.locator("#use-hierarchy").click()
    expect(node(tab, "15-29", 1)).to_be_visible()
    tab.locator("#build-kind").select_option("round")
    tab.locator("#build-steps").fill("10")
    expect(tab.locator(".preview")).to_contain_text("about 30")
    tab.locator("#use-hierarchy").click()
    expect(node(tab, "about 30", 1)).to_be_visible()
    tab.get_by_role("button", name="Undo").click()
    expect(node(tab, "15-29", 1)).to_be_visible()
    tab.get_by_role("button", name="Redo").click()
    expect(node(tab, "about 30", 1)).to_be_visible()
    tab.get_by_role("button", name="Reset").click()
    expect(node(tab, "20-24", 1)).to_be_visible()
    tab.get_by_role("button", name="Show the hierarchy of town").click()
    expect(node(tab, "Bonn", 0)).to_be_visible()
    tab.locator("summary", has_text="Build or bring").click()
    tab.locator("#hierarchy-folder").select_option("towns.csv")
    expect(node(tab, "west", 1)).to_be_visible()
    own = tmp_path / "own.csv"
    own.write_text((page.folder / "towns.csv").read_text(encoding="utf-8").replace("west", "Rhein"), encoding="utf-8")
    tab.locator("#hierarchy-file").set_input_files(str(own))
    expect(node(tab, "Rhein", 1)).to_be_visible()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save as a file").click()
    download.value.save_as(tmp_path / "town.csv")
    assert "Rhein" in (tmp_path / "town.csv").read_text(encoding="utf-8")
    tab.get_by_label("Role of illness").select_option("plain")
    expect(tab.get_by_label("Role of illness")).to_have_value("plain")
    expect(node(tab, "Rhein", 1)).to_be_visible()  # nothing of it is lost by a role


def test_groups_are_made_by_range_and_drag(visit: Visit) -> None:
    """With Shift a range is chosen and named by its ends; one group dragged onto another takes both."""
    tab = open_people(visit)
    tab.get_by_role("button", name="Show the hierarchy of age").click()
    node(tab, "20-24", 1).click()
    node(tab, "30-34", 1).click(modifiers=["Shift"])
    expect(tab.locator("button.node[aria-pressed=true]")).to_have_count(3)
    expect(tab.get_by_label("Name of the group")).to_have_value("20-34")
    tab.get_by_role("button", name="Show the hierarchy of town").click()
    expect(node(tab, "Bonn", 0)).to_be_visible()
    node(tab, "Bonn", 0).drag_to(node(tab, "Kiel", 0))
    expect(tab.locator("button.node[aria-pressed=true]")).to_have_count(2)
    assert focused(tab, "#group-name")
    tab.get_by_label("Name of the group").fill("both")
    tab.get_by_role("button", name="Merge").click()
    expect(node(tab, "both", 1)).to_be_visible()


def test_a_job_is_not_written_over_unasked(visit: Visit, page: Page) -> None:
    """And another table is no dead end."""
    tab = open_people(visit)
    (page.folder / "there.toml").write_text("# precious\n", encoding="utf-8")
    tab.get_by_label("Name in the working folder").fill("there.toml")
    tab.get_by_role("button", name="Save job").click()
    expect(tab.locator("#overwrite")).to_be_visible()
    assert (page.folder / "there.toml").read_text(encoding="utf-8") == "# precious\n"
    tab.locator("#overwrite").click()
    expect(tab.locator("p.good", has_text="Saved there.toml")).to_be_visible()
    tab.get_by_role("button", name="Open another table").click()
    tab.get_by_role("button", name="Back to people.csv").click()
    expect(tab.locator("table.columns")).to_be_visible()
    (page.folder / "there.toml").unlink()


# -- explore -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def explored(browser: Browser, page: Page) -> Iterator[Visit]:
    """A window on the front of three objectives of Adult; each test leaves it in the picture."""
    window = Visit(browser, page)
    window.explore_three()
    yield window
    window.close()


def test_numbers_are_those_of_people(explored: Visit) -> None:
    """Detail kept in percent, plain names with the formula small beside them, what the next class size costs (B5, B11)."""
    tab = explored.tab
    glm = tab.locator("#headline [data-objective=glm]")
    expect(glm).to_contain_text("73.4 %")
    expect(glm).to_contain_text("detail kept")
    expect(glm.locator(".formula")).to_have_text("glm")
    expect(tab.locator(".price").first).to_contain_text("percentage points of detail kept")
    expect(tab.locator("#advice")).to_contain_text("From k ≥ 5 to k ≥ 11: ")
    expect(tab.locator("#advice")).to_contain_text("points of detail less")
    expect(tab.locator("svg text.axis", has_text="detail kept, percent")).to_be_visible()


def test_the_table_is_complete_sorted_filtered_and_saved(explored: Visit, tmp_path: Path) -> None:
    """Every point is there; headings sort; the filter is that of the picture; CSV and JSON hold what is shown (B9)."""
    tab = explored.tab
    tab.get_by_role("button", name="Table", exact=True).click()
    expect(tab.locator("#table-count")).to_have_text("103 of 103 trade-offs, 1 to 100 shown")
    expect(tab.locator("table.points tbody tr")).to_have_count(100)
    tab.locator("[data-key='sort-glm']").click()
    kept = [
        float(text.removesuffix(" %")) for text in tab.locator("table.points tbody td:nth-child(3)").all_inner_texts()
    ]
    assert kept == sorted(kept)
    assert focused(tab, "[data-key='sort-glm']")
    tab.locator("[data-key='sort-glm']").click()
    assert tab.locator("th[aria-sort=descending]").count() == 1
    tab.locator("summary", has_text="Filter").click()
    tab.locator("#filter-from-k").fill("5")
    tab.locator("#filter-from-k").press("Tab")
    tab.locator("#filter-from-glm").fill("50")
    tab.locator("#filter-from-glm").press("Tab")
    expect(tab.locator("#table-count")).not_to_have_text("103 of 103 trade-offs, 1 to 100 shown")
    shown = tab.locator("table.points tbody tr").count()
    for kind in ("CSV", "JSON"):
        with tab.expect_download() as download:
            tab.get_by_role("button", name=f"Save as {kind}").click()
        download.value.save_as(tmp_path / f"front.{kind.lower()}")
    rows = list(csv.DictReader((tmp_path / "front.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == shown
    assert all(float(row["k"]) >= 5 and float(row["detail kept in percent (glm)"]) >= 50 for row in rows)
    points = json.loads((tmp_path / "front.json").read_text(encoding="utf-8"))["points"]
    assert [point["id"] for point in points] == [int(row["id"]) for row in rows]
    tab.locator("[data-key='no-filter']").click()
    expect(tab.locator("#table-count")).to_have_text("103 of 103 trade-offs, 1 to 100 shown")
    tab.get_by_role("button", name="Picture", exact=True).click()


def test_a_large_table_has_pages_and_hides_nothing(browser: Browser, page: Page) -> None:
    """2,061 points were 348 rows once; now every one of them is on some page."""
    window = Visit(browser, page)
    tab = window.tab
    window.open("people.csv")

    def enlarge(route: Route) -> None:
        answer = route.fetch(timeout=PATIENCE)
        front = answer.json()
        front["values"] = [[1 + place, float(place), *front["values"][0][2:]] for place in range(2061)]
        front["suppressed"] = [0] * 2061
        front["marks"], front["advice"], front["recommended"], front["prices"], front["cloud"] = [], [], 0, {}, []
        route.fulfill(response=answer, body=json.dumps(front))

    tab.route("**/front", enlarge)
    tab.get_by_role("link", name="Next: search").click()
    tab.locator("#start").click()
    tab.locator("#to-explore").click()
    tab.get_by_role("button", name="Table", exact=True).click()
    seen: set[str] = set()
    for _ in range(21):
        seen |= set(tab.locator("table.points tbody td:first-child").all_inner_texts())
        following = tab.locator("[data-key='table-Next']")
        if following.is_disabled():
            break
        following.click()
    assert seen == {str(place) for place in range(2061)}
    window.close()


def test_the_picture_is_zoomed_and_saved(explored: Visit, tmp_path: Path) -> None:
    """A rectangle zooms, 0 shows all again, plus and minus work by keyboard; the picture is a PNG."""
    tab = explored.tab
    plot = tab.locator(".plot").first
    box = place_of(plot)
    whole = tab.locator("[data-key='zoom-all']")
    expect(whole).to_be_disabled()
    tab.mouse.move(box["x"] + 100, box["y"] + 40)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 300, box["y"] + 200, steps=4)
    tab.mouse.up()
    expect(whole).to_be_enabled()
    plot.focus()
    tab.keyboard.press("0")
    expect(whole).to_be_disabled()
    tab.keyboard.press("+")
    expect(whole).to_be_enabled()
    whole.click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save picture").click()
    download.value.save_as(tmp_path / "front.png")
    assert (tmp_path / "front.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_picture_follows_the_colours(explored: Visit) -> None:
    """The points are painted anew when the system or the button turns dark, and again when it turns light."""
    tab = explored.tab
    painted = "() => document.querySelector('.plot canvas').toDataURL()"
    light = tab.evaluate(painted)
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(f"(before) => ({painted})() !== before", arg=light)
    tab.emulate_media(color_scheme="light")
    tab.wait_for_function(f"(before) => ({painted})() === before", arg=light)
    tab.locator("#theme").click()
    tab.wait_for_function(f"(before) => ({painted})() !== before", arg=light)
    tab.locator("#theme").click()


def test_parallel_lines_have_a_keyboard_and_a_brush(explored: Visit) -> None:
    """Arrow keys move the choice, dragging along an axis filters."""
    tab = explored.tab
    tab.get_by_role("button", name="Parallel").click()
    plot = tab.locator(".plot").first
    plot.focus()
    before = tab.locator("#headline .big").inner_text()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#headline .big")).not_to_have_text(before, use_inner_text=True)
    assert focused(tab, ".plot")
    box = place_of(plot)
    tab.mouse.move(box["x"] + 60, box["y"] + 70)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 60, box["y"] + 180, steps=4)
    tab.mouse.up()
    expect(tab.locator(".filter .tag")).to_contain_text("of 103 trade-offs")
    if not tab.locator("[data-key='no-filter']").is_visible():
        tab.locator("summary", has_text="Filter").click()
    tab.locator("[data-key='no-filter']").click()
    tab.get_by_role("button", name="Picture", exact=True).click()


def test_columns_are_shown_before_and_after(explored: Visit) -> None:
    """A distribution per column, two columns together, the classes at greatest risk."""
    tab = explored.tab
    tab.locator("summary", has_text="Columns before and after").click()
    expect(tab.locator("#spread-column")).to_be_visible()
    tab.locator("#spread-column").select_option("education")
    # A hidden column has a level line, which takes no room and so is not visible to the driver.
    expect(tab.locator(".after-line")).to_have_attribute("d", re.compile(r"^M0 [\d.]+(L[\d.]+ [\d.]+)+$"))
    tab.locator("summary", has_text="Two columns together").click()
    expect(tab.locator(".heat-table")).to_have_count(2)
    expect(tab.locator(".heat-table caption").first).to_contain_text("Cramér's V")
    tab.locator("summary", has_text="Rows and cells at risk").click()
    expect(tab.get_by_role("region", name="The smallest classes")).to_be_visible()
    expect(tab.get_by_role("region", name="Risk without one column")).to_contain_text("education")


@pytest.mark.timeout(1200)  # the loops of local recoding are compiled first, on a machine that has not done so yet
def test_other_models_are_a_run_with_stop(browser: Browser, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by a button, stopped by a button; at the end their curves are told and drawn."""
    window = Visit(browser, page)
    tab = window.tab
    window.open("people.csv")
    window.search()
    free = threading.Event()
    with monkeypatch.context() as hanging:
        hanging.setattr(search, "compare_models", lambda *_: free.wait(600))  # hears nobody, as while it compiles
        tab.locator("#models-seconds").select_option("600")
        tab.locator("#compare-models").click()
        tab.locator("#stop-models").click()
        expect(tab.locator("#models")).to_contain_text("Stopped before the models were compared")
        free.set()
    tab.locator("#models-seconds").select_option("10")
    tab.locator("#compare-models").click()
    expect(tab.locator(".gains-by-model")).to_be_visible(timeout=1_500_000)
    expect(tab.locator(".gains-by-model")).to_contain_text("labels of their own for every class")
    window.close()


# -- keyboard ------------------------------------------------------------------------------------------------------


def test_the_focus_is_never_lost(visit: Visit) -> None:
    """After a role, an edit of a tree, another view of the front, a choice in the table (B10)."""
    tab = open_people(visit)
    for column, key in (("town", "p"), ("sex", "p")):
        tab.get_by_label(f"Role of {column}").focus()
        tab.keyboard.press(key)
        expect(tab.get_by_label(f"Role of {column}")).to_have_value("plain")
        tab.wait_for_timeout(300)
        assert focused(tab, f"[aria-label='Role of {column}']")
    tab.get_by_label("Role of town").select_option("quasi-identifier")
    tab.get_by_label("Role of sex").select_option("quasi-identifier")
    visit.search()
    tab.get_by_role("button", name="Table", exact=True).focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("table.points")).to_be_visible()
    assert tab.evaluate("document.activeElement.textContent") == "Table"
    tab.get_by_role("button", name="Choose point 2", exact=True).focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#headline")).to_contain_text("Point 2 (there are")
    assert focused(tab, "[aria-label='Choose point 2']")


def test_a_tree_is_one_stop_and_edited_by_keyboard(visit: Visit) -> None:
    """Arrow keys walk, space chooses, Shift takes a range, letters jump; the next tab leaves the tree (B10)."""
    tab = open_people(visit)
    tab.get_by_role("button", name="Show the hierarchy of town").click()
    expect(node(tab, "Bonn", 0)).to_be_visible()
    assert tab.locator("button.node[tabindex='0']").count() == 1
    tab.locator("button.node[tabindex='0']").focus()
    tab.keyboard.press("ArrowRight")
    assert focused(tab, "button.node[data-level='0'][data-name='Bonn']")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    assert focused(tab, "[data-name='Kiel']")
    tab.keyboard.press("Space")
    tab.keyboard.press("Shift+ArrowDown")
    expect(tab.locator("button.node[aria-pressed=true]")).to_have_count(2)
    tab.keyboard.press("b")
    assert focused(tab, "[data-name='Bonn']")
    tab.keyboard.press("Tab")
    assert not focused(tab, "button.node")
    tab.get_by_label("Name of the group").fill("far")
    tab.locator("[data-key='tree-merge']").focus()
    tab.keyboard.press("Enter")
    expect(node(tab, "far", 1)).to_be_visible()
    assert not focused(tab, "body")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_is_found_by_the_checker(browser: Browser, page: Page, axe: str, colours: Any) -> None:
    """Not even a small finding, with headings in order, in every view (C14)."""
    window = Visit(browser, page, color_scheme=colours)
    tab = window.tab
    assert all_findings(tab, axe) == []
    open_people(window)
    tab.locator("summary", has_text="Build or bring").click()
    expect(tab.locator(".preview")).to_be_visible()
    assert all_findings(tab, axe) == []
    tab.get_by_role("link", name="Next: search").click()
    assert all_findings(tab, axe) == []
    window.explore()
    for part in ("Columns before and after", "Two columns together", "Rows and cells at risk"):
        tab.locator("summary", has_text=part).click()
    expect(tab.locator(".heat-table")).to_have_count(2)
    tab.locator("summary", has_text="Filter").click()
    assert all_findings(tab, axe) == []
    tab.get_by_role("button", name="Table", exact=True).click()
    assert all_findings(tab, axe) == []
    tab.get_by_role("link", name="Release", exact=True).click()
    expect(tab.locator("#warn-count")).to_be_visible()
    assert all_findings(tab, axe) == []
    window.close()


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_nothing_runs_off_the_side(browser: Browser, page: Page, width: int) -> None:
    """Opening, data, search and explore fit the window, and the steps stand in one line (C1, C11)."""
    window = Visit(browser, page, viewport={"width": width, "height": 900})
    tab = window.tab

    def fits() -> bool:
        return bool(tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))

    assert fits()
    tops = tab.locator("#steps li").evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    open_people(window)
    assert fits()
    assert tab.get_by_role("button", name="Show the hierarchy of age").bounding_box()["x"] < width - 20  # type: ignore[index]  # it is visible
    tab.get_by_role("link", name="Next: search").click()
    expect(tab.locator("#start")).to_be_visible()
    assert fits()
    if width < 980:  # the start is below all that can be set, and a button away
        tab.get_by_role("button", name="To the start button").click()
        expect(tab.locator("#start")).to_be_in_viewport()
        assert focused(tab, "#start")
    window.explore()
    assert fits()
    window.close()
