"""The page in a real Chromium: nothing is lost between tabs, edits, runs and a lost connection."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from playwright.sync_api import Page as Tab

from tests.twins.page import Page, serving_people
from tests.twins.window import (
    PATIENCE,
    Delayed,
    Visit,
    accept_dangers,
    check_access,
    count_slowly,
    hear_pulses,
    node,
    wait_until,
)

pytestmark = pytest.mark.xdist_group("browser")


def role(tab: Tab, column: str, value: str) -> None:
    """Give a column a role, and wait until the server has it."""
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_label(f"Role of {column}").select_option(value)


def pick_towns(tab: Tab, label: str, first: str = "Bonn", second: str = "Trier") -> None:
    """Pick two towns that are to be merged."""
    tab.locator('button[data-column="town"]').click()
    expect(tab.get_by_role("heading", name="Hierarchy of town")).to_be_visible()
    node(tab, first, 0).click()
    node(tab, second, 0).click()
    tab.locator("#group-name").fill(label)


def edit_towns(tab: Tab, label: str, first: str = "Bonn", second: str = "Trier") -> None:
    """Merge two towns."""
    pick_towns(tab, label, first, second)
    tab.get_by_role("button", name="Merge", exact=True).click()
    expect(tab.locator("#hierarchy .tag")).to_have_text("edited")


def stop_pulse(tab: Tab) -> None:
    """Let a tab not hear of the others."""
    tab.route("**/pulse", lambda route: route.fulfill(status=429, json={"error": "not now"}))


def test_an_edited_hierarchy_survives_a_change_of_roles(visit: Visit) -> None:
    """After an edit, another role and another policy for rows without a value leave the edit as it is."""
    tab = visit.tab
    visit.open("people.csv")
    role(tab, "town", "quasi-identifier")
    edit_towns(tab, "West")
    role(tab, "illness", "sensitive")
    expect(tab.locator("#hierarchy .tag")).to_have_text("edited")
    expect(node(tab, "West", 1)).to_be_visible()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_label("Rows without a value").select_option("category")
    expect(node(tab, "West", 1)).to_be_visible()
    tab.reload()
    expect(node(tab, "West", 1)).to_be_visible()


def test_changes_on_their_way_do_not_undo_each_other(visit: Visit) -> None:
    """What is changed while an earlier change is on its way comes on top of it: three roles, and a role after an edit."""
    tab = visit.tab
    visit.open("people.csv")
    delayed = Delayed(tab, "**/job")
    for column in ("age", "sex", "town"):
        tab.get_by_label(f"Role of {column}").select_option("plain")
    delayed.let_go()
    expect(tab.locator("#facts")).to_contain_text("No column is a quasi-identifier")
    tab.reload()
    for column in ("age", "sex", "town"):
        expect(tab.get_by_label(f"Role of {column}")).to_have_value("plain")
    role(tab, "town", "quasi-identifier")
    delayed = Delayed(tab, "**/hierarchy")
    pick_towns(tab, "West")
    tab.get_by_role("button", name="Merge", exact=True).click()
    tab.get_by_label("Role of sex").select_option("quasi-identifier")
    delayed.let_go()
    expect(tab.locator("#facts")).to_contain_text("on the 2 quasi-identifiers")
    tab.reload()
    expect(node(tab, "West", 1)).to_be_visible()


def test_an_edit_pressed_twice_is_done_once(visit: Visit) -> None:
    """The second press names groups of a tree that is gone by then, so it is refused; nothing else is swallowed."""
    tab = visit.tab
    visit.open("people.csv")
    pick_towns(tab, "West")
    above = tab.locator("button.node[data-level='1']").count()
    delayed = Delayed(tab, "**/hierarchy")
    merge = tab.get_by_role("button", name="Merge", exact=True)
    merge.click()
    merge.click()
    with tab.expect_response(lambda answer: answer.url.endswith("/hierarchy") and not answer.ok):
        delayed.let_go()
    tab.reload()
    expect(node(tab, "West", 1)).to_be_visible()
    tab.get_by_role("button", name="Undo", exact=True).click()  # one step takes all of it back
    expect(node(tab, "West", 1)).to_have_count(0)
    expect(tab.locator("button.node[data-level='1']")).to_have_count(above)
    expect(tab.get_by_role("button", name="Undo", exact=True)).to_be_disabled()


def test_a_saved_job_has_what_was_changed_before(visit: Visit, page: Page) -> None:
    """Save and download wait for changes that are on their way."""
    tab = visit.tab
    visit.open("people.csv")
    delayed = Delayed(tab, "**/job")
    tab.get_by_label("Role of town").select_option("identifier")
    tab.locator("#job-name").fill("changed.toml")
    tab.get_by_role("button", name="Save job").click()
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Download job").click()
        delayed.let_go()
    expect(tab.locator("p.good", has_text="Saved changed.toml")).to_be_visible()
    for text in ((page.folder / "changed.toml").read_text(), Path(download.value.path()).read_text()):
        assert '[columns.town]\nrole = "identifier"' in text
    (page.folder / "changed.toml").unlink()


def test_a_release_goes_by_the_choice_that_stands_there(visit: Visit) -> None:
    """Release is pressed while the change before it is on its way: it waits, and does what the list says."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Release this point").click()
    accept_dangers(tab)
    sent: list[str] = []
    tab.on("request", lambda asked: sent.append("release") if asked.url.endswith("/release") else None)
    tab.on("response", lambda answer: sent.append("job") if answer.url.endswith("/job") else None)
    delayed = Delayed(tab, "**/job")
    tab.locator("#formulas").select_option("neutralise")
    with tab.expect_request(lambda asked: asked.url.endswith("/release")) as release:
        tab.locator("#release-now").click()
        tab.wait_for_timeout(300)
        assert sent == []
        delayed.let_go()
    assert (release.value.post_data_json or {})["formulas"] == "neutralise"
    expect(tab.locator("#released")).to_contain_text("verified")
    assert sent == ["job", "release"]


def test_an_edit_after_a_search_is_told_at_once(visit: Visit) -> None:
    """The first and the second edit of a hierarchy both show on Explore and on Release that the front is older."""
    tab = visit.tab
    visit.open("people.csv")
    role(tab, "town", "quasi-identifier")
    edit_towns(tab, "West")
    visit.search()
    expect(tab.get_by_text("The job has changed since this search")).to_have_count(0)
    tab.get_by_role("link", name="Data").click()
    node(tab, "West", 1).click()
    tab.locator("#group-name").fill("South2")
    tab.get_by_role("button", name="Rename").click()
    expect(node(tab, "South2", 1)).to_be_visible()
    for view in ("Explore", "Release"):
        tab.get_by_role("link", name=view, exact=False).first.click()
        expect(tab.get_by_text("The job has changed since this search")).to_be_visible()


def test_tabs_notice_each_other(visit: Visit) -> None:
    """Another table, a change of a role and a finished search in one tab show in the other by themselves."""
    one = visit.tab
    visit.open("people.csv")
    two = visit.second_tab()
    role(two, "illness", "target")
    expect(one.locator("#note")).to_contain_text("changed elsewhere")
    expect(one.get_by_label("Role of illness")).to_have_value("target")
    two.get_by_role("button", name="Open another table").click()
    two.get_by_role("button", name="visits.csv").click()
    expect(one.get_by_role("heading", level=1)).to_contain_text("visits.csv")
    expect(one.get_by_label("Role of patient")).to_have_value("identifier")
    two.get_by_role("link", name="Next: search").click()
    two.locator("#start").click()
    expect(two.locator("#to-explore")).to_be_visible()
    expect(one.get_by_role("link", name="Explore")).to_be_visible()


def test_a_late_change_is_told_and_what_is_there_is_loaded(visit: Visit) -> None:
    """A tab that has not heard of a change says that its own was not taken, and shows the other; then it goes on."""
    one = visit.tab
    visit.open("people.csv")
    two = visit.second_tab()
    stop_pulse(one)
    role(two, "sex", "plain")
    before = one.get_by_label("Role of illness").input_value()
    assert before != "target"
    role(one, "illness", "target")
    expect(one.locator("#note")).to_contain_text("changed elsewhere")
    expect(one.locator("#note")).to_contain_text("What was changed here meanwhile was not taken")
    expect(one.get_by_label("Role of sex")).to_have_value("plain")
    expect(one.get_by_label("Role of illness")).to_have_value(before)
    role(one, "illness", "target")
    expect(two.get_by_label("Role of illness")).to_have_value("target")
    expect(two.get_by_label("Role of sex")).to_have_value("plain")


def test_quick_changes_do_not_overtake_each_other(visit: Visit) -> None:
    """Three objectives ticked at once are all there, on the page and on the server."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    expect(tab.locator("#start")).to_be_visible()
    tab.evaluate(
        """() => { for (const box of [...document.querySelectorAll('.chips input')].filter((each) => !each.disabled && !each.checked).slice(0, 3)) box.click(); }"""
    )
    wait_until(tab, "async () => !(await import('/static/api.js')).changesWait()")
    ticked = tab.locator(".chips input:checked").count()
    assert ticked == 5
    tab.reload()
    expect(tab.locator(".chips input:checked")).to_have_count(5)
    expect(tab.locator("#wrong")).to_be_empty()


@pytest.fixture
def alone(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """A window on a server of its own, so that no other test has runs there."""
    with serving_people(tmp_path) as there:
        window = Visit(browser, there)
        yield window
        window.close()


def test_runs_on_one_picture(alone: Visit, axe: str) -> None:
    """Two searches and one that fails: the front stays, both runs are listed, named, compared, opened and deleted."""
    visit, tab = alone, alone.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Search").click()
    tab.locator('input[data-limit="k"]').fill("5")
    tab.locator('input[data-limit="k"]').blur()
    tab.locator("#start").click()
    expect(tab.locator("#runs tbody tr")).to_have_count(2)
    tab.locator('input[data-limit="k"]').fill("100000")
    tab.locator('input[data-limit="k"]').blur()
    with tab.expect_response(re.compile("/runs$")):  # the list is read again at the end
        tab.locator("#start").click()
    expect(tab.get_by_text("still there to explore")).to_be_visible()
    expect(tab.get_by_role("link", name="Explore").first).to_be_visible()
    names = tab.locator("#runs tbody input[type=text]")
    names.nth(0).fill("at least five")
    names.nth(0).blur()
    for box in tab.locator("#runs tbody input[type=checkbox]").all():
        box.check()
    for place in range(2):
        expect(tab.locator(f".runs-plot circle.run-{place}").first).to_be_visible()
    expect(tab.locator(".runs-key")).to_contain_text("at least five")
    axes = tab.locator(".runs-plot text.axis-name")
    expect(axes.nth(0)).to_contain_text("rows that look alike, at least (k)")
    expect(axes.nth(1)).to_contain_text("information lost, summed over cells (glm)")  # as it is counted
    visit.shot("16-runs", full=True)
    check_access(tab, axe)
    tab.locator("#runs tbody tr").nth(1).get_by_role("button", name="Open").click()
    expect(tab.locator("svg.bands").first).to_be_visible()
    tab.get_by_role("link", name="Search").click()
    expect(tab.locator('input[data-limit="k"]')).to_have_value(re.compile("^(?!100000)"))
    drop = tab.locator("#runs tbody tr").nth(0).get_by_role("button", name="Delete")
    drop.click()
    expect(drop).to_have_text("Delete for good?")
    drop.click()
    expect(tab.locator("#runs tbody tr")).to_have_count(1)


def test_a_lost_connection_is_said_and_healed(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a search runs the network goes: the page says so at once, and goes on by itself when it is back."""
    count_slowly(monkeypatch)
    tab = visit.tab
    visit.breed(1_000_000)
    tab.locator("#start").click()
    expect(tab.locator(".progress-words")).to_contain_text("recodings")
    visit.context.set_offline(True)
    expect(tab.locator("#lost")).to_contain_text("The server does not answer")
    visit.context.set_offline(False)
    expect(tab.locator("#lost")).to_be_empty()
    expect(tab.locator("#stop")).to_be_visible()
    expect(tab.locator(".progress-words")).to_contain_text("recodings")
    tab.locator("#stop").click()
    expect(tab.get_by_text("It can go on")).to_be_visible()
    visit.errors.clear()  # the browser itself notes that it had no network


def test_another_port_gets_no_key(visit: Visit, page: Page, tmp_path: Path) -> None:
    """What a second server on this machine is sent by the browser does not let it ask the first one anything."""
    import http.server

    import httpx

    sent: list[dict[str, str]] = []

    class Curious(http.server.BaseHTTPRequestHandler):
        """Notes what it is sent."""

        def do_GET(self) -> None:
            """Answer with nothing."""
            sent.append(dict(self.headers))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    visit.open("people.csv")
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Curious)
    thread = threading.Thread(target=other.serve_forever, daemon=True)
    thread.start()
    try:
        tab = visit.context.new_page()
        tab.goto(f"http://127.0.0.1:{other.server_port}/")
        assert sent
        assert "kpareto" in sent[0].get("Cookie", "")  # the browser does send it
        assert tab.evaluate("localStorage.length") == 0
        headers = {"cookie": sent[0]["Cookie"], "origin": page.origin}
        assert httpx.post(f"{page.origin}/api/sessions", headers=headers, timeout=240).status_code == 401
        assert httpx.get(f"{page.origin}/api/about", headers=headers, timeout=240).status_code == 401
    finally:
        other.shutdown()
        other.server_close()
        thread.join()


def test_a_report_leaves_no_step_to_go_back_to(visit: Visit) -> None:
    """Ticking confidential and going back leaves Release, and does not bring the other report under the old tick."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Release this point").click()
    frame = tab.frame_locator("iframe")
    expect(frame.locator("h1").first).to_be_visible()
    tab.locator("#secret").check()
    expect(frame.get_by_text("confidential", exact=False).first).to_be_visible()
    tab.go_back()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("trade-offs")


class Away:
    """A server that does not answer some questions until it is back."""

    def __init__(self, tab: Tab, *patterns: str) -> None:
        self.tab, self.gone = tab, True
        for pattern in patterns:
            tab.route(pattern, lambda route: route.abort() if self.gone else route.continue_())

    def come_back(self) -> None:
        """Wait until the page has said that nobody answers; then it is there again."""
        expect(self.tab.locator("#lost")).to_contain_text("does not answer")
        self.gone = False
        expect(self.tab.locator("#lost")).to_be_empty()


def test_a_pause_of_the_server_takes_nothing_away(visit: Visit, tmp_path: Path) -> None:
    """Files that were chosen and text that is being typed stand there after the server did not answer for a while."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.get_by_role("link", name="Release this point").click()
    expect(tab.locator("#warn-count")).to_be_visible()
    expect(tab.frame_locator("iframe").locator("h1").first).to_be_visible()
    chosen = tmp_path / "earlier.csv"
    chosen.write_text("age\n1\n", encoding="utf-8")
    tab.locator("#verify-release").set_input_files(str(chosen))
    Away(tab, "**/pulse").come_back()
    hear_pulses(tab)
    assert tab.locator("#verify-release").evaluate("(field) => field.files[0].name") == "earlier.csv"
    tab.get_by_role("link", name="Search", exact=False).first.click()
    field = tab.locator("[data-limit=k]")
    field.fill("7")
    Away(tab, "**/pulse").come_back()
    hear_pulses(tab)
    expect(field).to_have_value("7")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator("h1").click()
    visit.errors.clear()  # the browser itself notes that questions got no answer


def test_nothing_is_drawn_anew_under_typing_hands(visit: Visit) -> None:
    """Somebody changes the job in another tab while a limit is being typed here: it is told when it is done."""
    tab = visit.tab
    visit.open("people.csv")
    other = visit.second_tab()
    tab.get_by_role("link", name="Next: search").click()
    sent: list[str] = []
    tab.on("request", lambda asked: sent.append(asked.method) if asked.url.endswith("/job") else None)
    field = tab.locator("[data-limit=k]")
    field.fill("1")
    role(other, "sex", "plain")
    hear_pulses(tab)
    expect(field).to_have_value("1")
    expect(field).to_be_focused()
    assert sent == []  # what is half typed is not sent
    field.fill("17")
    tab.locator("h1").click()
    expect(tab.locator("#note")).to_contain_text("was not taken")
    job = tab.evaluate("async () => (await import('/static/main.js')).page.job")
    assert (job["limits"].get("k") == 17, job["columns"]["sex"]["role"]) == (False, "plain")


def test_a_change_that_did_not_arrive_is_sent_again(visit: Visit) -> None:
    """Two roles are changed while the server does not answer, one of them back: when it is back, it has what stands."""
    tab = visit.tab
    visit.open("people.csv")
    away = Away(tab, "**/job", "**/pulse")
    for column, value in (("sex", "plain"), ("town", "plain"), ("town", "quasi-identifier")):
        tab.get_by_label(f"Role of {column}").select_option(value)
        expect(tab.locator("#lost")).to_contain_text("does not answer")
    away.come_back()
    expect(tab.locator("#note")).to_contain_text("has what was changed here")
    other = visit.second_tab()
    for each in (tab, other):
        expect(each.get_by_label("Role of sex")).to_have_value("plain")
        expect(each.get_by_label("Role of town")).to_have_value("quasi-identifier")
    visit.errors.clear()


def test_a_change_whose_answer_alone_was_lost(visit: Visit) -> None:
    """The server has the change, and the page did not hear so: it finds out by itself, and asks nobody."""
    tab = visit.tab
    visit.open("people.csv")
    arrived: list[int] = []

    def swallow(route: Route) -> None:
        if arrived:
            route.continue_()
        else:
            arrived.append(route.fetch(timeout=PATIENCE).status)
            route.abort()

    tab.route("**/job", swallow)
    tab.get_by_label("Role of sex").select_option("plain")
    wait_until(tab, "async () => !(await import('/static/main.js')).page.unsent().length")
    assert arrived == [200]
    role(tab, "town", "plain")
    expect(tab.locator("#note")).to_be_empty()
    other = visit.second_tab()
    for column in ("sex", "town"):
        expect(tab.get_by_label(f"Role of {column}")).to_have_value("plain")
        expect(other.get_by_label(f"Role of {column}")).to_have_value("plain")
    visit.errors.clear()


def test_a_refusal_takes_back_what_was_refused_alone(visit: Visit) -> None:
    """A share of 5 is refused; the role that was changed while it was on its way stays, here and on the server."""
    tab = visit.tab
    visit.open("people.csv")
    tab.locator("#population-kind").select_option("sampling")
    delayed = Delayed(tab, "**/job")
    tab.locator("#population-sampling").fill("5")
    tab.locator("#population-sampling").press("Enter")
    tab.get_by_label("Role of sex").select_option("plain")
    delayed.let_go()
    expect(tab.locator("#wrong")).to_contain_text("5")
    wait_until(tab, "async () => !(await import('/static/api.js')).changesWait()")
    expect(tab.get_by_label("Role of sex")).to_have_value("plain")
    job = tab.evaluate("async () => (await import('/static/main.js')).page.job")
    tab.reload()
    expect(tab.get_by_label("Role of sex")).to_have_value("plain")
    again = tab.evaluate("async () => (await import('/static/main.js')).page.job")
    assert (job.get("population", {}), again) == ({}, job)


def test_a_restart_keeps_what_was_changed_meanwhile(visit: Visit) -> None:
    """A role is changed while the server is being started anew: it has the role when it is back."""
    tab = visit.tab
    visit.open("people.csv")
    state = ["away"]

    def answer(route: Route) -> None:
        if state[0] == "away":
            route.abort()
        elif state[0] == "anew":  # a new server does not know the session before it is asked for it
            route.fulfill(status=410, json={"error": "This session is over."})
        else:
            route.continue_()

    def know(route: Route) -> None:
        state[0] = "there" if state[0] == "anew" else state[0]
        route.continue_()

    tab.route("**/pulse", answer)
    tab.route(re.compile(r"/api/sessions/[^/]+$"), know)
    away = Away(tab, "**/job")
    tab.get_by_label("Role of sex").select_option("plain")
    expect(tab.locator("#lost")).to_contain_text("does not answer")
    away.gone, state[0] = False, "anew"
    expect(tab.locator("#note")).to_contain_text("started anew")
    wait_until(tab, "async () => !(await import('/static/main.js')).page.unsent().length")
    expect(tab.get_by_label("Role of sex")).to_have_value("plain")
    other = visit.second_tab()
    expect(other.get_by_label("Role of sex")).to_have_value("plain")
    visit.errors.clear()


def test_a_view_is_alive_after_a_loss(visit: Visit) -> None:
    """Nothing at all is answered while a role is changed: afterwards the role is there, and so is the hierarchy."""
    tab = visit.tab
    visit.open("people.csv")
    away = Away(tab, "**/api/**")
    tab.get_by_label("Role of sex").select_option("plain")
    away.come_back()
    expect(tab.locator("#note")).to_contain_text("has what was changed here")
    expect(tab.locator("table.icicle")).to_be_visible()
    expect(tab.get_by_text("The server does not answer")).to_have_count(0)
    visit.errors.clear()


def test_more_of_a_run_is_another_front(alone: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search goes on while its front is looked at: at its end the page has the new points, and none is chosen."""
    tab = alone.tab
    with monkeypatch.context() as slowed:
        count_slowly(slowed)
        alone.breed(3_000)
        tab.locator("#start").click()
        expect(tab.locator(".small-chart svg text").first).to_be_visible()
        tab.locator("#stop").click()
        expect(tab.get_by_text("It can go on")).to_be_visible()
        tab.locator("#to-explore").click()
        expect(tab.locator("svg.bands").first).to_be_visible()
        tab.locator(".plot").focus()
        tab.keyboard.press("ArrowRight")
        tab.get_by_role("link", name="Search", exact=True).click()
        tab.locator("#resume").click()
        expect(tab.locator("#stop")).to_be_visible()
        tab.get_by_role("link", name="Explore", exact=True).click()
        expect(tab.locator("svg.bands").first).to_be_visible()
    wait_until(tab, "async () => (await import('/static/main.js')).page.search.phase === 'done'")
    wait_until(tab, FRONT_IS_NEW)


FRONT_IS_NEW = """async () => { const { page } = await import('/static/main.js');
  const front = await (await import('/static/api.js')).get('/front');
  return page.front !== null && JSON.stringify(front.values) === JSON.stringify(page.front.values); }"""
