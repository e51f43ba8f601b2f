"""Long work in a real Chromium: words for what is done, a bar that tells the truth, a Stop that is heard at once."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import expect

from kpareto.errors import Stopped
from kpareto.faces.report.answers import ATTACKED
from kpareto.faces.web import explore, release, search, session
from kpareto.faces.web.search import Searching
from kpareto.faces.web.turns import Work
from kpareto.fronts.front import Point
from kpareto.fronts.numbers import Numbers
from kpareto.fronts.problem import Problem
from tests.twins.page import Page
from tests.twins.window import Visit, accept_dangers, all_findings, focused

pytestmark = pytest.mark.xdist_group("browser")
WHILE = 600  # seconds after which a hanging step gives up
SLOWLY = 10 * 1024  # bytes a second that a slow line sends


@pytest.fixture
def free() -> Iterator[threading.Event]:
    """Set, it lets the steps go on that a test has made to hang; so does the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def hang_first(patch: pytest.MonkeyPatch, free: threading.Event, room: ModuleType, step: str) -> None:
    """Let a step of a room wait before it does what it does."""
    quick = getattr(room, step)

    def late(*args: Any, **named: Any) -> Any:
        free.wait(WHILE)
        return quick(*args, **named)

    patch.setattr(room, step, late)


def test_long_work_has_words_and_a_stop(visit: Visit, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a table that takes long shows what is done, and Stop gives the page back; an upload likewise."""
    free = threading.Event()

    def hang(*_: object, **__: object) -> None:
        free.wait(WHILE)
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr("kpareto.faces.web.session.inspect", hang)
        patched.setattr("kpareto.faces.web.session.look_apart", hang)  # of an upload, in a process of its own
        tab = visit.tab
        tab.get_by_role("button", name="people.csv").click()
        expect(tab.locator("#work")).to_contain_text("Looking at the table")
        tab.locator("#work").get_by_role("button", name="Stop").click()
        expect(tab.locator("#work")).to_be_empty()
        tab.locator("#drop-file").set_input_files(str(page.folder / "visits.csv"))
        expect(tab.locator("#work")).to_contain_text("Looking at visits.csv")
        tab.locator("#work").get_by_role("button", name="Stop").click()
        expect(tab.locator("#work")).to_be_empty()
        expect(tab.get_by_role("heading", level=1)).to_contain_text("Which table")
        free.set()
    visit.open("people.csv")


def test_compiling_is_told_in_words(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    """While numba compiles, the page says that this is done once, and shows neither rate nor forecast."""
    go_on = threading.Event()
    quick = Problem.whole_lattice

    def wait(self: Problem, *args: Any) -> Iterator[Numbers]:
        go_on.wait(WHILE)
        yield from quick(self, *args)

    monkeypatch.setattr(Problem, "whole_lattice", wait)
    shown = property(lambda self: "preparing" if self.running and not go_on.is_set() else self.phase)
    monkeypatch.setattr(Searching, "shown_phase", shown)
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    tab.locator("#start").click()
    expect(tab.locator("#progress-words")).to_have_text("Preparing the compiled code, once for this machine …")
    go_on.set()
    expect(tab.locator("#to-explore")).to_be_visible()


def test_an_upload_has_a_percentage(visit: Visit, tmp_path: Path) -> None:
    """On a slow line the bar and the words tell how much has gone; once it is there the bar claims nothing."""
    rows = "".join(f"{20 + row % 60},{'FM'[row % 2]},{row % 9}\n" for row in range(100_000))
    (tmp_path / "long.csv").write_text("age,sex,visits\n" + rows, encoding="utf-8")
    tab = visit.tab
    line = visit.context.new_cdp_session(tab)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": SLOWLY}
    line.send("Network.emulateNetworkConditions", slow)
    tab.locator("#drop-file").set_input_files(str(tmp_path / "long.csv"))
    work = tab.locator("#work")
    expect(work).to_contain_text("Sending long.csv")
    expect(work.locator(".words")).to_have_text(re.compile(r"· [1-9]\d? % · [\d.]+ of [\d.]+ MB"))
    share = float(work.locator("progress").get_attribute("value") or 0)
    assert 0 < share < 1
    line.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    expect(tab.locator("table.columns")).to_be_visible()
    expect(work).to_be_empty()


def test_looking_at_a_table_claims_no_percentage(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, free: threading.Event
) -> None:
    """Nobody knows how long it takes to look at a table, so the bar moves without a number."""
    hang_first(monkeypatch, free, session, "inspect")
    tab = visit.tab
    tab.get_by_role("button", name="people.csv").click()
    expect(tab.locator("#work")).to_contain_text("Looking at the table")
    tab.wait_for_timeout(800)  # two beats later the server has been asked
    assert "%" not in tab.locator("#work").inner_text()
    assert tab.locator("#work progress").get_attribute("value") is None
    free.set()
    expect(tab.locator("table.columns")).to_be_visible()


def test_report_and_release_have_a_percentage(
    visit: Visit, axe: str, monkeypatch: pytest.MonkeyPatch, free: threading.Event
) -> None:
    """Both tell the step they are at, and the bar stands where the steps that are done end."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    with monkeypatch.context() as patched:
        hang_first(patched, free, release, "report_from")
        tab.get_by_role("link", name="Release this point").click()
        work = tab.locator("#work .work", has_text=release.REPORTING[1])
        expect(work).to_contain_text("step 2 of 3 · 33 %")
        expect(work.get_by_role("button", name="Stop")).to_be_visible()
        assert all_findings(tab, axe) == []
        accept_dangers(tab)
        tab.locator("#release-now").click()
        work = tab.locator("#work .work", has_text=release.RELEASING[3])
        expect(work).to_contain_text("step 4 of 5 · 60 %")
        assert work.locator("progress").get_attribute("value") == "0.6"
        free.set()
        expect(tab.locator(".downloads")).to_be_visible()
        expect(tab.locator("#work")).to_be_empty()


def test_the_table_is_measured_on_the_page(visit: Visit, axe: str) -> None:
    """The smallest class, who is alone, and what each column gives away; by the roles there are now, focus kept."""
    tab = visit.tab
    visit.open("people.csv")
    button = tab.get_by_role("button", name="Measure", exact=True)
    button.click()
    told = tab.locator("#measured")
    expect(told.get_by_role("region", name="Rows by the size of their class")).to_contain_text("In a class of")
    expect(told.get_by_role("region", name="Rows that a column singles out")).to_contain_text("town")
    expect(told.locator("li").first).to_have_text("k = 1: the smallest class by age, town, sex has 1 row.")
    assert focused(tab, "#measure-now")
    assert all_findings(tab, axe) == []
    before = told.inner_text()
    tab.get_by_label("Role of town").select_option("plain")
    expect(tab.locator("#facts")).to_contain_text("on the 2 quasi-identifiers")
    button.click()
    expect(told.get_by_role("region", name="Rows that a column singles out")).not_to_contain_text("town")
    assert told.inner_text() != before
    for column in ("age", "sex"):
        tab.get_by_label(f"Role of {column}").select_option("plain")
        expect(tab.get_by_label(f"Role of {column}")).to_have_value("plain")
    expect(tab.locator("#facts")).to_contain_text("No column is a quasi-identifier")
    button.click()
    expect(tab.get_by_role("alert")).to_contain_text("No column is a quasi-identifier")


def test_measuring_is_seen_and_stopped(visit: Visit, monkeypatch: pytest.MonkeyPatch, free: threading.Event) -> None:
    """Measuring a large table has words and a Stop, after which the button is there again."""
    hang_first(monkeypatch, free, explore, "measure")
    tab = visit.tab
    visit.open("people.csv")
    tab.locator("#measure-now").click()
    expect(tab.locator("#work")).to_contain_text("Measuring how anonymous the table is")
    tab.locator("#work").get_by_role("button", name="Stop").click()
    expect(tab.locator("#work")).to_be_empty()
    expect(tab.locator("#measure-now")).to_be_enabled()
    expect(tab.locator("#measured")).to_be_empty()


def test_what_an_analyst_gets_is_measured_behind_the_view(
    visit: Visit, page: Page, monkeypatch: pytest.MonkeyPatch, axe: str
) -> None:
    """While it is measured the page goes on; another point stops it and has its own answer, with a table of pairs."""
    tab, begun, quick = visit.tab, list[int](), explore.use_view

    def hang(point: Point, use: Any, piece: Work) -> dict[str, Any]:
        begun.append(point.id)
        if len(begun) == 1:
            piece.stopped.wait(WHILE)
        return quick(point, use, piece)

    monkeypatch.setattr(explore, "use_view", hang)
    rows = [f"{20 + row % 60},{'Ulm' if row % 60 < 30 else 'Bonn'},{'FM'[row % 2]},flu" for row in range(600)]
    (page.folder / "related.csv").write_text("\n".join(["age,town,sex,illness", *rows]) + "\n")
    tab.reload()
    visit.open("related.csv")
    visit.search()
    expect(tab.locator("#use")).to_contain_text("Measuring")
    assert tab.locator("#work").inner_text() == ""
    tab.locator(".plot").first.focus()
    tab.keyboard.press("End")
    expect(tab.locator("#use li").first).to_contain_text("Counts over two and three columns are off by")
    assert len(begun) == 2
    assert begun[1] == tab.evaluate("async () => (await (await import('/static/api.js')).get('')).view.chosen")
    expect(tab.locator("#relations caption")).to_contain_text("relation between two columns")
    assert all_findings(tab, axe) == []


def test_attacks_on_people_are_tried_on_the_page(
    visit: Visit, axe: str, monkeypatch: pytest.MonkeyPatch, free: threading.Event
) -> None:
    """They are seen and stopped, and tell the three words with interval, control and raw table; the focus stays."""
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    place, button = tab.locator("#attacks"), tab.get_by_role("button", name="Try attacks on people")
    with monkeypatch.context() as patched:
        hang_first(patched, free, explore, "attack_people")
        button.click()
        work = tab.locator("#work .work", has_text="Trying attacks on people")
        expect(place.get_by_role("status")).to_contain_text("you can go on")
        work.get_by_role("button", name="Stop").click()
        expect(place.get_by_role("status")).to_have_text("Stopped.")
        expect(tab.locator("#work")).to_be_empty()
    button.click()
    expect(place.locator("li")).to_contain_text(["Singling out", "Linkability", "Inference"])
    for caption in ("Singling out", "Linkability", "Inference"):
        table = place.locator("table", has=tab.locator("caption", has_text=caption))
        expect(table.locator("th[scope=col]")).to_have_text(list(ATTACKED))
    expect(place).to_contain_text("No control table was given")
    assert focused(tab, "#attacks button")
    assert all_findings(tab, axe) == []


def test_other_models_say_that_they_compile(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, free: threading.Event
) -> None:
    """While local recoding is compiled the card says so, that it is once, and can be stopped."""

    class Compiling:
        """Loops that are being compiled for a minute and a half now."""

        under_way = True
        seconds = 0.0

    monkeypatch.setattr(search, "COMPILATIONS", Compiling)
    hang_first(monkeypatch, free, search, "compare_models")
    tab = visit.tab
    visit.open("people.csv")
    visit.search()
    tab.locator("#compare-models").click()
    expect(tab.locator("#models .progress-words")).to_contain_text("Preparing")  # compiling before does not count
    Compiling.seconds = 90.0
    expect(tab.locator("#models .progress-words")).to_have_text(
        "Preparing the compiled code, once for this machine; it can take minutes … · 1:30"
    )
    assert tab.locator("#models progress").get_attribute("value") is None  # nobody knows how far it is
    tab.locator("#stop-models").click()
    expect(tab.locator("#models")).to_contain_text("Stopped before the models were compared")
    expect(tab.locator("#compare-models")).to_be_enabled()
