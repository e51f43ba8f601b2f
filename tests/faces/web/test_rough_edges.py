"""Rough edges of the page in a real Chromium, one test each: pictures, settings, headings, labels, words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from tests.twins.page import Page
from tests.twins.window import Delayed, Visit, accept_dangers, count_slowly

# One Chromium for all tests of this kind, also where pytest runs in several processes.
pytestmark = pytest.mark.xdist_group("browser")
PHONE = {"width": 390, "height": 844}
NEARLY = 1  # pixels that boxes of letters may share
ENDED = re.compile(r"Done in .* s: \d+ ")

# Every heading of a table beside the first cell below it, by how their letters stand.
HEADINGS = """() => [...document.querySelectorAll('table')].filter((table) => table.offsetParent && table.tBodies.length
  && table.tBodies[0].rows.length && table.tHead).flatMap((table) => {
    const below = [...table.tBodies[0].rows[0].cells];
    return [...table.tHead.rows[0].cells].filter((head) => head.textContent.trim() && below[head.cellIndex])
      .filter((head) => getComputedStyle(head).textAlign !== getComputedStyle(below[head.cellIndex]).textAlign)
      .map((head) => `${table.className}: ${head.textContent}`); })"""
TWICE = """() => [...document.querySelectorAll('table')].filter((table) => table.offsetParent && table.tHead).flatMap((table) => {
    const words = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim()).filter(Boolean);
    return words.filter((word, place) => words.indexOf(word) !== place); })"""
BOXES = """(all) => { const whole = document.querySelector('.plot svg').getBoundingClientRect();
  return all.map((each) => each.getBoundingClientRect())
    .map(({left, right, top, bottom}) => [left - whole.left, right - whole.left, top - whole.top, bottom - whole.top]); }"""

# Two presses of an arrow key as the browser tells of them, then the list is left; no time passes between.
ARROWS = """(list) => { for (const value of ['identifier', 'target']) {
    list.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true}));
    list.value = value;
    list.dispatchEvent(new Event('change', {bubbles: true})); }
  list.blur(); }"""


def boxes(tab: Tab, selector: str) -> list[list[float]]:
    """Where elements of the picture are: left, right, top and bottom of each, from its corner."""
    found: list[list[float]] = tab.locator(selector).evaluate_all(BOXES)
    return found


def overlaps(places: list[list[float]]) -> list[tuple[int, int]]:
    """Which boxes lie over each other."""
    return [
        (one, two)
        for two, (left, right, top, bottom) in enumerate(places)
        for one in range(two)
        if left < places[one][1] - NEARLY
        and places[one][0] < right - NEARLY
        and top < places[one][3] - NEARLY
        and places[one][2] < bottom - NEARLY
    ]


def test_the_picture_on_search_is_the_front(visit: Visit) -> None:
    """After a quick search, after a reload and after one that fails: all points of the front that is explored (C2)."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    tab.locator("#start").click()
    expect(tab.get_by_text(ENDED)).to_be_visible()
    plot = tab.locator(".small-chart .plot")
    expect(tab.locator("#search-proof")).not_to_be_empty()
    points = str(tab.evaluate("(async () => (await import('/static/main.js')).page.front.values.length)()"))
    assert int(points) > 1
    expect(plot).to_have_attribute("data-points", points)
    tab.reload()
    expect(plot).to_have_attribute("data-points", points)
    tab.locator("input[data-limit=k]").fill("9999")
    tab.locator("#start").click()
    expect(tab.get_by_text("The limit k = 9,999 cannot be met")).to_be_visible()
    expect(tab.get_by_text("the picture shows it")).to_be_visible()
    expect(plot).to_have_attribute("data-points", points)


def test_a_search_has_its_own_copy_of_the_job(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs nothing can be set; a change after Stop is counted, and told beside Go on (C3)."""
    count_slowly(monkeypatch)
    tab = visit.tab
    visit.breed(1_000_000)
    expect(tab.locator("#objective-count")).to_have_text("2 objectives now")
    tab.locator("#start").click()
    expect(tab.locator(".progress-words")).to_contain_text("per second")
    for place in range(tab.locator("fieldset").count()):
        expect(tab.locator("fieldset").nth(place)).to_have_js_property("disabled", True)
    tab.locator("#stop").click()
    expect(tab.get_by_text("It can go on")).to_be_visible()
    tab.locator(".chips input:not(:checked):not(:disabled)").first.check()
    expect(tab.locator("#objective-count")).to_have_text("3 objectives now")
    tab.reload()
    expect(tab.get_by_text("Go on continues with the job as it was")).to_be_visible()


def test_data_leads_back_from_another_table(visit: Visit) -> None:
    """The first step is a way back from the list of tables, too (C5)."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("button", name="Open another table").click()
    expect(tab.locator("#drop-file")).to_be_attached()
    tab.locator("#steps").get_by_role("link", name="Data").click()
    expect(tab.locator("table.columns")).to_be_visible()


def test_every_limit_of_the_job_is_shown(visit: Visit, page: Page) -> None:
    """A limit on one sensitive column of several has a field of its own, and goes with the role of its column."""
    lines = "".join(
        f"{20 + row % 50},{'FM'[row % 2]},{('flu', 'gout', 'none')[row % 3]},{'yes' if row % 40 else 'no'}\n"
        for row in range(300)
    )
    (page.folder / "two.csv").write_text("age,sex,diagnosis,hiv\n" + lines, encoding="utf-8")
    tab = visit.tab
    tab.reload()
    visit.open("two.csv")
    expect(tab.get_by_label("Role of hiv")).to_have_value("sensitive")
    tab.get_by_role("link", name="Next: search").click()
    expect(tab.get_by_label("limit on sensitive values per class, at least (l of diagnosis)")).to_have_value("2")
    tab.get_by_role("link", name="Data").click()
    tab.get_by_label("Role of diagnosis").select_option("plain")
    expect(tab.locator("#note")).to_contain_text(
        "for no column has the role it needs: sensitive values per class, at least (l of diagnosis)."
    )
    visit.search()


def test_what_cannot_be_chosen_says_why(visit: Visit) -> None:
    """Measures without their column have a reason, and leave the job with the role that they need (C7)."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_label("Role of illness").select_option("plain")
    expect(tab.locator("#note")).to_contain_text("the role it needs: sensitive values per class, at least (l).")
    tab.get_by_role("link", name="Next: search").click()
    off = tab.locator(".chip.off")
    expect(off.first).to_be_visible()
    for words in off.all_inner_texts():
        assert "needs a" in words, words


def test_a_warning_leads_to_the_limits(visit: Visit) -> None:
    """One that asks for a limit has a link to the place (C7)."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator("input[data-limit=l]").fill("")
        tab.locator("input[data-limit=l]").blur()
    visit.explore()
    tab.get_by_role("link", name="Release this point").click()
    expect(tab.locator("#warn-count")).to_be_visible()
    tab.get_by_role("link", name="To the Search step").first.click()
    expect(tab.locator("input[data-limit=l]")).to_be_visible()


@pytest.mark.dangers
def test_a_danger_has_a_box_and_the_button_waits_for_it(visit: Visit) -> None:
    """Release comes when its checks are in, counts the serious warnings, and waits until each is ticked."""
    tab = visit.tab
    visit.open("people.csv")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_label("Role of illness").select_option("plain")
    visit.search()
    delayed = Delayed(tab, "**/check")
    tab.get_by_role("link", name="Release this point").click()
    while not delayed.routes:
        tab.wait_for_timeout(20)
    expect(tab.locator("#release-now")).to_be_hidden()
    delayed.routes[0].continue_()
    expect(tab.locator("#warn-count")).to_be_visible()
    serious = tab.locator(".warnings .danger").count()
    assert serious
    expect(tab.locator("#release-now")).to_contain_text(f"in spite of {serious} serious")
    expect(tab.locator("#release-now")).to_be_disabled()
    accept_dangers(tab)
    tab.locator("#release-now").click()
    expect(tab.locator(".downloads")).to_be_visible()


@pytest.mark.parametrize("width", [1400, 390])
def test_labels_of_the_picture_stay_apart(browser: Browser, page: Page, width: int) -> None:
    """Marks, pins and names of axes lie over nothing and inside the picture, wide and on a phone (C9)."""
    window = Visit(browser, page, viewport={"width": width, "height": 900})
    tab = window.tab
    window.explore_three()
    tab.locator(".plot").first.focus()
    for key, pin in (("Home", "Pin as A"), ("End", "Pin as B")):
        tab.keyboard.press(key)
        tab.get_by_role("button", name=pin).click()
        tab.locator(".plot").first.focus()
    expect(tab.locator(".plot .pin-name")).to_have_count(2)
    frame = boxes(tab, ".plot svg")[0]
    labels = boxes(tab, ".plot text.label")
    for left, right, top, bottom in [*labels, *boxes(tab, ".plot .pin-name"), *boxes(tab, ".plot .pin")]:
        assert frame[0] <= left <= right <= frame[1]
        assert frame[2] <= top <= bottom <= frame[3]
    assert overlaps(labels) == []
    tab.get_by_role("button", name="Parallel").click()
    expect(tab.get_by_role("img", name="Parallel coordinates")).to_be_visible()
    assert overlaps(boxes(tab, ".plot text.axis")) == []
    window.close()


def test_no_picture_of_an_objective_against_itself(visit: Visit) -> None:
    """Choosing for one axis what the other shows swaps the two (C9)."""
    tab = visit.tab
    visit.explore_three()
    across, up = (tab.locator(f"#axis-{axis}").input_value() for axis in "xy")
    assert across != up
    tab.locator("#axis-x").select_option(up)
    expect(tab.locator("#axis-x")).to_have_value(up)
    expect(tab.locator("#axis-y")).to_have_value(across)


def test_headings_stand_over_their_numbers(visit: Visit) -> None:
    """In every table of every view a heading is on the side of its cells, and none is there twice (C10)."""
    tab = visit.tab

    def check() -> None:
        assert tab.evaluate(HEADINGS) == []
        assert tab.evaluate(TWICE) == []

    visit.open("people.csv")
    tab.locator("#measure-now").click()
    expect(tab.locator("#measured table")).to_have_count(2)
    expect(tab.locator(".first-rows")).to_be_visible()
    check()
    visit.search()
    for part in ("Columns before and after", "Two columns together", "Rows and cells at risk"):
        tab.locator("summary", has_text=part).click()
    expect(tab.locator(".heat-table")).to_have_count(2)
    tab.get_by_role("button", name="Pin as A").click()
    tab.locator(".plot").first.focus()
    tab.keyboard.press("ArrowRight")
    tab.get_by_role("button", name="Pin as B").click()
    expect(tab.locator(".gains-table")).to_be_visible()
    check()
    tab.get_by_role("button", name="Table", exact=True).click()
    expect(tab.locator("table.points")).to_be_visible()
    check()
    tab.get_by_role("link", name="Release", exact=True).click()
    expect(tab.locator("#warn-count")).to_be_visible()
    check()
    tab.get_by_role("link", name="Search", exact=True).click()
    expect(tab.locator("#runs tbody tr").first).to_be_visible()
    check()


def test_large_numbers_loading_and_the_way_on(visit: Visit) -> None:
    """Thirty digits are a power of ten, a hierarchy that loads says so, and a long page ends with the way on (C12)."""
    tab = visit.tab
    told = tab.evaluate("(async () => (await import('/static/dom.js')).number(533062239743600070008472862720))()")
    assert told == "about 10^29"
    delayed = Delayed(tab, "**/hierarchy?column=*")
    tab.get_by_role("button", name="people.csv").click()
    expect(tab.locator("#hierarchy")).to_contain_text("Reading the rows for the hierarchy")
    delayed.let_go()
    expect(tab.locator("table.icicle")).to_be_visible()
    tab.get_by_role("link", name="Go on to the search").click()
    expect(tab.locator("#start")).to_be_visible()


def test_a_pressed_tab_shows_in_forced_colours(browser: Browser, page: Page) -> None:
    """Where the system takes all colours, the pressed button has a frame that the others have not (C14)."""
    forced: Any = "active"
    window = Visit(browser, page, forced_colors=forced)
    tab = window.tab
    window.open("people.csv")
    window.search()
    style = "(button) => getComputedStyle(button).outlineStyle + getComputedStyle(button).outlineWidth"
    pressed, other = (tab.locator(f".tab[aria-pressed={state}]").first.evaluate(style) for state in ("true", "false"))
    assert pressed == "solid3px"
    assert other != pressed
    window.close()


def test_roles_on_the_way_to_a_role_do_not_count(visit: Visit) -> None:
    """Letter by letter, and by arrows past other roles: one change goes out for each choice."""
    tab = visit.tab
    visit.open("people.csv")
    sent: list[Any] = []
    tab.on("request", lambda asked: sent.append(asked.post_data_json) if asked.url.endswith("/job") else None)
    role = tab.get_by_label("Role of sex")
    role.focus()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.keyboard.press("p")
    expect(role).to_have_value("plain")
    expect(role).to_be_focused()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        role.evaluate(ARROWS)
    assert [job["columns"]["sex"]["role"] for job in sent] == ["plain", "target"]
