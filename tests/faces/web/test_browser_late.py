"""The page in a real Chromium: hands that are still at work, answers that come late, errors of a view that was left."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import APIResponse, Locator, Route, expect
from playwright.sync_api import Page as Tab

from tests.twins.window import PATIENCE, Delayed, Visit, accept_dangers, focused, hear_pulses, place_of, wait_until

pytestmark = pytest.mark.xdist_group("browser")
JOB = "async () => (await import('/static/main.js')).page.job"


class LateAnswer:
    """The next answer of an address: the server has given it, and it is on its way until it is let go."""

    def __init__(self, tab: Tab, pattern: str | re.Pattern[str]) -> None:
        self.tab, self.answers = tab, list[tuple[Route, APIResponse]]()
        tab.route(pattern, lambda route: self.answers.append((route, route.fetch(timeout=PATIENCE))), times=1)

    def wait(self) -> None:
        """Until the server has answered."""
        while not self.answers:
            self.tab.wait_for_timeout(20)

    def let_go(self) -> None:
        """Let it arrive, and wait until the page has heard it."""
        self.wait()
        route, answer = self.answers[0]
        with self.tab.expect_event("requestfinished", lambda asked: asked == route.request):
            route.fulfill(response=answer)
        settle(self.tab)


def hear_nothing(tab: Tab) -> None:
    """What goes on elsewhere stays unheard, until the route is taken away."""
    tab.route("**/pulse", lambda route: route.fulfill(status=429, json={"error": "not now"}))


def settle(tab: Tab) -> None:
    """Let the page do what it has to do after an answer: another question is answered, and two pictures are drawn."""
    tab.evaluate("async () => { await (await fetch('/static/style.css')).text(); }")
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def choose(tab: Tab, box: Locator, value: str, part: str) -> None:
    """Choose from a list, and wait until the page has the answer to what it asks then."""
    with tab.expect_event("requestfinished", lambda asked: part in asked.url):
        box.select_option(value)
    settle(tab)


def walk(tab: Tab, box: Locator, keys: int = 1) -> str:
    """Go down in a list by arrow keys; what it shows then, which does not count yet."""
    box.focus()
    for _ in range(keys):
        tab.keyboard.press("ArrowDown")
    return box.input_value()


def press(tab: Tab, what: Locator) -> None:
    """Press the button of the mouse on something, and keep it down."""
    box = place_of(what)
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()


# -- a list that was walked by arrow keys, and is left ---------------------------------------------------------------


def test_a_click_that_leaves_a_walked_list_is_heard(visit: Visit) -> None:
    """A role is chosen by arrow keys and a button pressed: the choice counts at once, the button hears its click."""
    tab = visit.tab
    visit.open("people.csv")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        value = walk(tab, tab.get_by_label("Role of illness"))
        press(tab, tab.locator('button[data-column="sex"]'))
    hear_pulses(tab)  # the answer is there, and would have been drawn
    tab.mouse.up()
    expect(tab.get_by_role("heading", name="Hierarchy of sex")).to_be_visible()
    expect(tab.get_by_label("Role of illness")).to_have_value(value)
    expect(tab.locator("#hierarchy")).to_be_focused()
    assert tab.evaluate(JOB)["columns"]["illness"]["role"] == value


def test_a_text_that_is_left_by_a_click_loses_no_click(visit: Visit) -> None:
    """The same for a number that was typed: what comes of it is drawn after the click, not under it."""
    tab = visit.tab
    visit.open("people.csv")
    tab.locator("#population-kind").select_option("sampling")
    tab.locator("#population-sampling").fill("0.5")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        press(tab, tab.locator('button[data-column="sex"]'))
    hear_pulses(tab)
    tab.mouse.up()
    expect(tab.get_by_role("heading", name="Hierarchy of sex")).to_be_visible()
    assert tab.evaluate(JOB)["population"] == {"sampling": 0.5}


def test_what_comes_above_a_view_moves_no_pressed_button(visit: Visit) -> None:
    """The server falls silent while a button is pressed: that is shown after the click is heard."""
    tab = visit.tab
    visit.open("people.csv")
    button = tab.locator('button[data-column="sex"]')
    before = place_of(button)
    press(tab, button)
    with tab.expect_event("requestfailed", lambda asked: asked.url.endswith("/pulse")):
        tab.route("**/pulse", lambda route: route.abort())
    settle(tab)
    assert button.bounding_box() == before
    tab.mouse.up()
    expect(tab.get_by_role("heading", name="Hierarchy of sex")).to_be_visible()
    expect(tab.locator("#lost")).to_contain_text("The server does not answer")
    tab.unroute("**/pulse")
    expect(tab.locator("#lost")).to_be_empty()
    visit.errors.clear()  # the browser itself notes that questions got no answer


def test_rows_that_come_late_move_no_pressed_button(visit: Visit) -> None:
    """The first rows arrive while a button below them is pressed: they are drawn after the click is heard."""
    tab = visit.tab
    rows = LateAnswer(tab, re.compile(r"/table/rows"))
    visit.open("people.csv")
    rows.wait()
    button = tab.locator('button[data-column="sex"]')
    button.scroll_into_view_if_needed()
    before = place_of(button)
    press(tab, button)
    rows.let_go()
    assert place_of(button) == before
    tab.mouse.up()
    expect(tab.get_by_role("heading", name="Hierarchy of sex")).to_be_visible()
    expect(tab.locator(".first-rows")).to_be_visible()


def test_start_goes_by_the_list_that_was_walked_before(visit: Visit) -> None:
    """Start is pressed a moment after an arrow key: the search is the one that the list shows."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    tab.locator("#research summary").click()
    value = walk(tab, tab.locator("#method"))
    assert value != "exact"
    tab.locator("#start").click()
    wait_until(
        tab, "async () => ['done', 'failed'].includes(((await import('/static/main.js')).page.search || {}).phase)"
    )
    assert tab.evaluate("async () => (await import('/static/main.js')).page.search.method") == value


def test_controls_beside_a_walked_list_hear_their_click(visit: Visit) -> None:
    """An axis is chosen by arrow keys, and a tick and a tab beside it are clicked: all three count."""
    tab = visit.tab
    visit.explore_three()
    cloud = tab.get_by_label(re.compile("beaten recodings"))
    expect(cloud).to_be_checked()
    value = walk(tab, tab.locator("#axis-x"))
    cloud.click()
    expect(cloud).not_to_be_checked()
    expect(tab.locator("#axis-x")).to_have_value(value)
    value = walk(tab, tab.locator("#axis-x"))
    tab.get_by_role("button", name="Table", exact=True).click()
    expect(tab.locator("table.points")).to_be_visible()
    tab.get_by_role("button", name="Picture", exact=True).click()
    expect(tab.locator("#axis-x")).to_have_value(value)


def test_the_focus_after_a_walked_list(visit: Visit) -> None:
    """It stays on the list after a pause, goes where Tab leads, and is not called back from where a click has put it."""
    tab = visit.tab
    visit.open("people.csv")
    role = tab.get_by_label("Role of illness")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        walk(tab, role)
    hear_pulses(tab)
    expect(role).to_be_focused()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        walk(tab, tab.get_by_label("Role of town"))
        tab.keyboard.press("Tab")
    hear_pulses(tab)
    assert focused(tab, 'button[data-column="sex"]')
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        walk(tab, role)
        tab.locator("#job-name").click()
    hear_pulses(tab)
    expect(tab.locator("#job-name")).to_be_focused()
    expect(role).to_have_value(tab.evaluate(JOB)["columns"]["illness"]["role"])


def test_a_list_that_was_left_does_not_call_the_focus_back(visit: Visit) -> None:
    """What is known of the population is chosen by keys and left by Tab or a click: its field appears, no more."""
    tab = visit.tab
    visit.open("people.csv")
    kind = tab.locator("#population-kind")
    value = walk(tab, kind, 2)
    tab.locator("#job-name").click()
    expect(tab.locator(f"#population-{value}")).to_be_visible()
    expect(tab.locator("#job-name")).to_be_focused()
    value = walk(tab, kind)
    tab.keyboard.press("Shift+Tab")
    expect(tab.locator(f"#population-{value}")).to_be_visible()
    assert not focused(tab, "#population-kind, body, main")


# -- answers that are overtaken --------------------------------------------------------------------------------------


def test_an_older_line_is_not_drawn_over_a_newer_one(visit: Visit) -> None:
    """Two axes are chosen one after the other, and the first answer comes last: the line is that of the second."""
    tab = visit.tab
    visit.explore_three()
    names = tab.locator("#axis-y option").evaluate_all("(each) => each.map((one) => one.value)")
    across, up = tab.locator("#axis-x").input_value(), tab.locator("#axis-y").input_value()
    (third,) = (name for name in names if name not in (across, up, "count-error", "relations"))
    shape = "() => document.querySelector('.plot canvas').toDataURL()"
    choose(tab, tab.locator("#axis-y"), third, "/pair?")
    choose(tab, tab.locator("#axis-y"), up, "/pair?")
    right = tab.evaluate(shape)
    late = LateAnswer(tab, "**/pair?*")
    tab.locator("#axis-y").select_option(third)
    late.wait()
    choose(tab, tab.locator("#axis-y"), up, "/pair?")
    assert tab.evaluate(shape) == right
    late.let_go()
    assert tab.evaluate(shape) == right


def test_older_rows_are_not_drawn_over_newer_ones(visit: Visit) -> None:
    """Next and Previous are pressed, and the rows of Next come last: the rows before are shown."""
    tab = visit.tab
    visit.open("people.csv")
    card = tab.locator(".card", has=tab.locator("#rows-look"))
    for rows in ("Rows 1 to 10", "Rows 11 to 20"):
        expect(card).to_contain_text(rows)
        card.get_by_role("button", name="Next").click()
    expect(card).to_contain_text("Rows 21 to 30")
    late = LateAnswer(tab, "**/table/rows?*")
    card.get_by_role("button", name="Next").click()
    late.wait()
    card.get_by_role("button", name="Previous").click()
    expect(card).to_contain_text("Rows 11 to 20")
    late.let_go()
    expect(card).to_contain_text("Rows 11 to 20")


def test_an_older_comparison_is_not_drawn_over_a_newer_one(visit: Visit) -> None:
    """Two groupings are chosen one after the other, and the first answer comes last: the second stays."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("button", name="Pin as A").click()
    tab.locator(".plot").first.focus()
    tab.keyboard.press("End")
    tab.get_by_role("button", name="Pin as B").click()
    by = tab.locator("#compare-by")
    expect(by).to_be_visible()
    head = tab.locator(".gains-table thead th").first
    one, two = by.locator("option").evaluate_all("(each) => each.map((option) => option.value)")[:2]
    by.select_option(two)
    expect(head).to_contain_text(two)
    late = LateAnswer(tab, "**/compare?*")
    by.select_option(one)
    late.wait()
    for box, value in ((tab.locator("#compare-what"), "row-loss"), (by, two)):
        choose(tab, box, value, "/compare?")
    expect(head).to_contain_text(two)
    late.let_go()
    expect(tab.locator("#compare-what")).to_have_value("row-loss")
    expect(head).to_contain_text(two)


def test_an_older_state_is_not_put_over_a_newer_one(visit: Visit) -> None:
    """A search ends elsewhere and the page reads everything anew; a role that is changed meanwhile stays changed."""
    tab = visit.tab
    visit.open("people.csv")
    other = visit.second_tab()
    other.get_by_role("link", name="Next: search").click()
    hear_nothing(tab)  # of the search before it has ended: else the page may read the state on the way
    other.locator("#start").click()
    expect(other.get_by_role("link", name="Explore", exact=True)).to_be_visible()
    late = LateAnswer(tab, re.compile(r"/api/sessions/[^/]+$"))
    tab.unroute("**/pulse")
    late.wait()
    hear_nothing(tab)  # nothing heals it
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_label("Role of sex").select_option("plain")
    wait_until(tab, "async () => !(await import('/static/api.js')).changesWait()")
    late.let_go()
    expect(tab.get_by_role("link", name="Explore")).to_be_visible()
    expect(tab.get_by_label("Role of sex")).to_have_value("plain")
    assert tab.evaluate(JOB)["columns"]["sex"]["role"] == "plain"


def test_an_older_job_in_an_answer_is_not_taken(visit: Visit) -> None:
    """The answer to Start has the job in it and comes late: a role that was changed since stays as it is."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    late = LateAnswer(tab, "**/search")
    tab.locator("#start").click()
    late.wait()
    tab.get_by_role("link", name="Data", exact=False).first.click()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_label("Role of sex").select_option("plain")
    expect(tab.locator("#facts")).to_contain_text("on the 2 quasi-identifiers")
    late.let_go()
    assert tab.evaluate(JOB)["columns"]["sex"]["role"] == "plain"
    expect(tab.get_by_label("Role of sex")).to_have_value("plain")


def test_an_older_view_is_not_drawn_over_a_newer_one(visit: Visit) -> None:
    """Explore is asked for twice, and the first front comes last: the picture that stands there stays, and is alive."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Search", exact=True).click()
    tab.evaluate("async () => { (await import('/static/main.js')).page.front = null; }")
    delayed = Delayed(tab, "**/front")
    tab.get_by_role("link", name="Explore", exact=True).click()
    while not delayed.routes:
        tab.wait_for_timeout(20)
    tab.get_by_role("link", name="Explore", exact=True).click()
    expect(tab.locator("svg.bands").first).to_be_visible()
    tab.evaluate("() => { document.querySelector('main h1').dataset.mine = 'yes'; }")
    with tab.expect_response(lambda answer: answer.url.endswith("/front")):
        delayed.let_go()
    settle(tab)
    expect(tab.locator("main h1")).to_have_attribute("data-mine", "yes")


def test_an_older_pulse_does_not_draw_the_front_anew(visit: Visit) -> None:
    """What the server told before a search comes after it: the picture that stands there stays under the hand."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    tab.evaluate("() => { AbortSignal.timeout = () => new AbortController().signal; }")  # it is waited for
    hear_pulses(tab)
    late = LateAnswer(tab, "**/pulse")
    late.wait()
    visit.explore()
    tab.evaluate("() => { document.querySelector('.plot').dataset.mine = 'yes'; }")
    late.let_go()
    hear_pulses(tab)
    assert tab.locator(".plot").first.get_attribute("data-mine") == "yes"


def test_an_older_detail_is_not_drawn_over_a_newer_one(visit: Visit) -> None:
    """The last point and then the first are chosen, and what is told of the last comes last: the first stays."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.locator(".plot").first.focus()
    late = LateAnswer(tab, re.compile(r"/points/\d+$"))
    tab.keyboard.press("End")
    late.wait()
    with tab.expect_event("requestfinished", lambda asked: asked.url.endswith("/points/0")):
        tab.keyboard.press("Home")
    expect(tab.locator("#use li").first).to_be_visible()
    settle(tab)
    shown = tab.locator("#detail").inner_html()
    late.let_go()
    assert tab.locator("#detail").inner_html() == shown


def test_an_older_wish_does_not_move_the_choice(visit: Visit) -> None:
    """A slider is moved to one end and to the other, and the first answer comes last: the second one counts."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    wish = tab.locator("input[data-wish=k]")
    move = "(slider, end) => { slider.value = slider[end]; slider.dispatchEvent(new Event('input')); }"
    late = LateAnswer(tab, "**/prefer")
    wish.evaluate(move, "max")
    late.wait()
    with tab.expect_event("requestfinished", lambda asked: asked.url.endswith("/prefer")):
        wish.evaluate(move, "min")
    settle(tab)
    chosen = tab.locator("#headline").inner_text()
    late.let_go()
    assert tab.locator("#headline").inner_text() == chosen
    with tab.expect_event("requestfinished", lambda asked: asked.url.endswith("/prefer")):
        wish.evaluate(move, "max")
    expect(tab.locator("#headline")).not_to_have_text(chosen, use_inner_text=True)  # it would have moved


# The answer to what an analyst gets has begun, and its rest comes after the window was told to hold it.
HALF = """() => {
  const real = window.fetch;
  window.fetch = async (path, options) => {
    const answer = await real(path, options);
    if (!path.endsWith("/use")) return answer;
    window.fetch = real;
    answer.json = () =>
      new Promise((_, break_) => options.signal.addEventListener("abort", () => break_(new Error("broken off"))));
    window.half = true;
    return answer;
  };
}"""


def test_a_measurement_that_is_stopped_amid_its_answer(visit: Visit) -> None:
    """Another point is chosen while the answer of the first is being read: nothing breaks, the second has its own."""
    tab = visit.tab
    visit.open("people.csv")
    tab.evaluate(HALF)
    visit.search()
    wait_until(tab, "() => window.half === true")
    tab.locator(".plot").first.focus()
    tab.keyboard.press("End")
    expect(tab.locator("#use li").first).to_be_visible()


def test_an_older_report_is_not_shown_over_a_newer_one(visit: Visit) -> None:
    """The confidential report is asked for while the public one is on its way, and stays when that comes."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    late = LateAnswer(tab, re.compile(r"/points/\d+/report$"))
    tab.get_by_role("link", name="Release this point").click()
    late.wait()
    tab.locator("#secret").check()
    title = tab.frame_locator("iframe").locator(".notice, header").first
    expect(title).to_contain_text("onfidential")
    loaded: list[str] = []
    tab.on("framenavigated", lambda frame: loaded.append(frame.url))
    late.let_go()
    hear_pulses(tab)
    assert loaded == []  # nothing is loaded into its place
    expect(title).to_contain_text("onfidential")


def test_an_older_picture_of_runs_is_not_drawn_over_a_newer_one(visit: Visit) -> None:
    """A run is ticked and unticked before its points are there: no picture comes of it afterwards."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Search", exact=True).click()
    box = tab.locator("#runs tbody input[type=checkbox]").first
    late = LateAnswer(tab, re.compile(r"/runs/[^/]+/points$"))
    box.check()
    late.wait()
    box.uncheck()
    expect(tab.get_by_text("Tick two or more runs")).to_be_visible()
    late.let_go()
    assert tab.locator(".runs-plot").count() == 0
    expect(tab.get_by_text("Tick two or more runs")).to_be_visible()
    box.check()
    expect(tab.locator(".runs-plot")).to_be_visible()


def test_measuring_does_not_take_the_focus_back(visit: Visit) -> None:
    """Somebody has gone on to another field when the numbers come: the focus stays there; else the button has it."""
    tab = visit.tab
    visit.open("people.csv")
    late = LateAnswer(tab, "**/table/measure")
    tab.locator("#measure-now").click()
    late.wait()
    tab.get_by_label("Role of sex").focus()
    late.let_go()
    expect(tab.locator("#measured table").first).to_be_visible()
    assert focused(tab, "[aria-label='Role of sex']")
    tab.locator("#measure-now").click()
    expect(tab.locator("#measure-now")).to_be_enabled()
    expect(tab.locator("#measure-now")).to_be_focused()


# -- errors of a view that was left ----------------------------------------------------------------------------------


def test_an_error_of_a_view_that_was_left_says_where_it_is_from(visit: Visit) -> None:
    """Measuring fails after somebody has gone on to Search: the sentence names the step, and is not Search's own."""
    tab = visit.tab
    visit.open("people.csv")
    delayed = Delayed(tab, "**/table/measure")
    tab.locator("#measure-now").click()
    while not delayed.routes:
        tab.wait_for_timeout(20)
    tab.get_by_role("link", name="Next: search").click()
    expect(tab.locator("#start")).to_be_visible()
    delayed.routes[0].fulfill(status=400, json={"error": "It cannot be measured."})
    expect(tab.locator("#wrong")).to_contain_text("Data: It cannot be measured.")
    tab.get_by_role("link", name="Data", exact=False).first.click()
    expect(tab.locator("#wrong")).to_be_empty()
    delayed = Delayed(tab, "**/table/measure")
    tab.locator("#measure-now").click()
    while not delayed.routes:
        tab.wait_for_timeout(20)
    delayed.routes[0].fulfill(status=400, json={"error": "It cannot be measured."})
    expect(tab.locator("#wrong p")).to_have_text("It cannot be measured.")


def test_a_view_that_fails_late_does_not_take_the_place_of_another(visit: Visit) -> None:
    """The front cannot be read, and somebody has gone back to Search meanwhile: Search stays, without a word of it."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Data", exact=False).first.click()
    tab.evaluate("async () => { (await import('/static/main.js')).page.front = null; }")
    delayed = Delayed(tab, "**/front")
    tab.get_by_role("link", name="Explore", exact=True).click()
    while not delayed.routes:
        tab.wait_for_timeout(20)
    tab.get_by_role("link", name="Data", exact=False).first.click()
    expect(tab.locator("table.columns")).to_be_visible()
    with tab.expect_response(lambda answer: answer.url.endswith("/front")):
        delayed.routes[0].fulfill(status=400, json={"error": "The front is gone."})
    settle(tab)
    expect(tab.locator("table.columns")).to_be_visible()
    expect(tab.get_by_text("The front is gone.")).to_have_count(0)


def test_warnings_of_a_point_do_not_reach_the_button_of_another(visit: Visit) -> None:
    """The check of one point is answered when another one stands on Release: its button tells its own warnings."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    delayed = Delayed(tab, "**/check")
    tab.get_by_role("link", name="Release this point").click()
    while not delayed.routes:
        tab.wait_for_timeout(20)
    tab.get_by_role("link", name="Choose another").click()
    tab.locator(".plot").first.focus()
    tab.keyboard.press("End")
    tab.get_by_role("link", name="Release this point").click()
    expect(tab.locator("#warn-count")).to_be_visible()
    own = tab.locator("#release-now").inner_text()
    grave = {"id": "W1", "severity": "danger", "text": "grave"}
    with tab.expect_response(lambda answer: answer.url.endswith("/check")):
        delayed.routes[0].fulfill(json={"limits": [], "warnings": [grave] * 77, "met": True})
    settle(tab)
    assert tab.locator("#release-now").inner_text() == own


def test_a_release_is_told_in_the_view_that_took_its_place(visit: Visit) -> None:
    """The view is drawn anew while the rows are written: what was released stands in the one that is there then."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Release this point").click()
    accept_dangers(tab)
    delayed = Delayed(tab, "**/release")
    tab.locator("#release-now").click()
    expect(tab.locator("#release-now")).to_be_disabled()
    tab.evaluate("async () => (await import('/static/main.js')).page.redraw()")
    expect(tab.locator("#release-now")).to_be_enabled()
    delayed.let_go()
    expect(tab.locator("#released")).to_contain_text("verified")


def test_a_part_that_is_pressed_opens_though_another_point_comes(visit: Visit) -> None:
    """The detail of a new point comes while the mouse is down on a heading of the old one: its click is heard."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    late = LateAnswer(tab, re.compile(r"/points/\d+$"))
    tab.locator(".plot").first.focus()
    tab.keyboard.press("End")
    late.wait()
    heading = tab.locator("summary", has_text="Two columns together")
    heading.scroll_into_view_if_needed()
    press(tab, heading)
    late.let_go()
    tab.mouse.up()
    expect(tab.locator(".heat-table")).to_have_count(2)
