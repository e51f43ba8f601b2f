"""Roles on the page: a change touches its row alone, several columns get one role at once, and every sentence follows."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from kpareto.engines.unique_rows import KeptRows
from kpareto.faces.web import explore
from kpareto.jobs.job import Job
from tests.twins.page import write_people, write_visits
from tests.twins.window import Delayed, Visit, accept_dangers, all_findings, node, wait_until

pytestmark = pytest.mark.xdist_group("browser")
JOB = "async () => (await (await import('/static/api.js')).get('')).draft"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with the small tables, and one of forty columns whose names say nothing."""
    place = tmp_path_factory.mktemp("work")
    write_people(place / "people.csv")
    write_visits(place / "visits.csv")
    names = ["age", *(f"v{number}" for number in range(39))]
    rows = [[20 + row % 50, *((row * (number + 3)) % 43 for number in range(39))] for row in range(200)]
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    (place / "wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    paid = [f"{20 + row % 60},{'Ulm' if row % 3 else 'Bonn'},{10_000 + 197 * row},{'flu' if row % 2 else 'none'}"
            for row in range(400)]  # fmt: skip
    (place / "survey.csv").write_text("\n".join(["age,town,income,illness", *paid]) + "\n", encoding="utf-8")
    (place / "long.csv").write_text(f"age,{'long' * 66}\n" + "".join(f"{row},{row % 3}\n" for row in range(60)))
    return place


def puts_of(tab: Tab) -> list[str]:
    """The requests by which the job is sent from now on."""
    sent: list[str] = []
    tab.on("request", lambda asked: sent.append(asked.url) if asked.method == "PUT" and "/job" in asked.url else None)
    return sent


def tick(tab: Tab, name: str) -> Locator:
    """The box that picks a column."""
    return tab.get_by_label(f"Pick {name}", exact=True)


def test_a_role_touches_its_row_alone(visit: Visit) -> None:
    """Nothing is drawn anew or asked anew by a role, the list stays where it was and keeps the focus."""
    tab = visit.tab
    visit.open("wide.csv")
    expect(tab.locator(".first-rows tbody tr")).to_have_count(10)
    tab.evaluate("for (const each of document.querySelectorAll('main tr')) each.dataset.old = 'yes'")
    rows = tab.locator("main tr").count()
    box = tab.get_by_label("Role of v30", exact=True)
    box.scroll_into_view_if_needed()
    top, asked = box.evaluate("(each) => each.getBoundingClientRect().top"), list[str]()
    tab.on("request", lambda each: asked.append(each.url.split("/")[-1]))
    with tab.expect_response(lambda answer: answer.url.endswith("/table/facts")):
        box.focus()
        box.select_option("plain")
    expect(tab.locator("#facts")).not_to_have_attribute("aria-busy", "true")
    assert tab.locator("main tr[data-old]").count() == rows
    assert abs(box.evaluate("(each) => each.getBoundingClientRect().top") - top) < 2
    expect(box).to_be_focused()
    assert [each for each in asked if each != "pulse"] == ["job", "facts"]


def test_a_long_name_makes_nothing_wide(visit: Visit) -> None:
    """A column whose name has 264 letters is listed and shown, and nothing runs off the side."""
    tab = visit.tab
    visit.open("long.csv")
    tab.get_by_role("button", name=f"Show the values of {'long' * 66}").click()
    expect(tab.locator(".value-bars")).to_be_visible()
    beyond = "document.documentElement.scrollWidth - window.innerWidth"
    assert tab.evaluate(beyond) <= 0
    visit.search()
    assert tab.evaluate(beyond) <= 0


def test_counting_never_blocks_the_next_role(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the rows are counted for the first role nine more are given: each is taken, and what is told is of the last."""
    tab = visit.tab
    visit.open("wide.csv")
    expect(tab.locator("#facts")).to_contain_text("on the 1 quasi-identifier.")
    free, count = threading.Event(), explore.role_facts

    def hang(job: Job, kept: KeptRows | None) -> dict[str, object]:
        free.wait(600)
        return count(job, kept)

    with monkeypatch.context() as hanging:
        hanging.setattr(explore, "role_facts", hang)
        for number in range(10):
            with tab.expect_response(lambda answer: answer.url.endswith("/job")):
                tab.get_by_label(f"Role of v{number}", exact=True).select_option("quasi-identifier")
        assert sum(each["role"] == "quasi-identifier" for each in tab.evaluate(JOB)["columns"].values()) == 11
        expect(tab.locator("#facts")).to_have_attribute("aria-busy", "true")
        free.set()
        expect(tab.locator("#facts")).to_contain_text("on the 11 quasi-identifiers")
    expect(tab.locator("#quasi-count")).to_have_text("11 quasi-identifiers, 29 undecided")


def test_roles_that_wait_go_in_one_request(visit: Visit) -> None:
    """While a first change is on its way five more are made: they go together, and the last one of a column counts."""
    tab = visit.tab
    visit.open("wide.csv")
    sent, delayed = puts_of(tab), Delayed(tab, "**/job")
    tab.get_by_label("Role of v0", exact=True).select_option("plain")
    for role in ("plain", "sensitive", "identifier"):
        tab.get_by_label("Role of v1", exact=True).select_option(role)
    for number in (2, 3):
        tab.get_by_label(f"Role of v{number}", exact=True).select_option("plain")
    delayed.let_go()
    expect(tab.locator("#facts")).to_contain_text("until you decide: v4, v5")
    assert len(sent) == 2
    columns = tab.evaluate(JOB)["columns"]
    assert [columns[f"v{number}"]["role"] for number in range(4)] == ["plain", "identifier", "plain", "plain"]


def test_many_columns_get_one_role_at_once(visit: Visit, axe: str) -> None:
    """By the mouse with Shift, by the keyboard, and by a filter; the role goes in one request."""
    tab = visit.tab
    visit.open("wide.csv")
    tick(tab, "v3").click()
    tick(tab, "v7").click(modifiers=["Shift"])
    expect(tab.locator("#picked-count")).to_have_text("5 picked")
    tick(tab, "v10").focus()
    tab.keyboard.press("Shift+ArrowDown")
    tab.keyboard.press("Shift+ArrowDown")
    expect(tick(tab, "v12")).to_be_focused()
    expect(tab.locator("#picked-count")).to_have_text("8 picked")
    assert all_findings(tab, axe) == []
    sent = puts_of(tab)
    with tab.expect_response(lambda answer: answer.url.endswith("/table/facts")):
        tab.locator("#picked-role").select_option("plain")
    assert len(sent) == 1
    for number in (3, 7, 10, 12):
        expect(tab.get_by_label(f"Role of v{number}", exact=True)).to_have_value("plain")
    expect(tab.locator("#picked-count")).to_have_text("0 picked")
    tab.locator("#list-columns").select_option("decide")
    tab.locator("#find-column").fill("v1")
    expect(tab.get_by_label("Role of v10", exact=True)).to_be_hidden()
    tab.locator("#pick-all").check()
    tab.locator("#picked-role").select_option("identifier")
    expect(tab.locator("table.columns tbody tr:visible")).to_have_count(0)  # none of them is undecided any more
    tab.locator("#find-column").fill("")
    roles = {name: each["role"] for name, each in tab.evaluate(JOB)["columns"].items()}
    assert (roles["v1"], roles["v19"], roles["v10"], roles["v2"]) == ("identifier", "identifier", "plain", "decide")


def test_a_quasi_identifier_by_hand_gets_a_fitting_hierarchy(visit: Visit) -> None:
    """A column of numbers comes in steps, not shown or hidden as a whole; an edited one comes back with the role."""
    tab = visit.tab
    visit.open("wide.csv")
    tab.get_by_label("Role of v5", exact=True).select_option("quasi-identifier")
    tab.get_by_role("button", name="Show the hierarchy of v5", exact=True).click()
    expect(tab.locator("button.node[data-level='1']", has_text="0-4").first).to_be_visible()
    assert tab.evaluate(JOB)["columns"]["v5"]["hierarchy"]["intervals"] == [5, 10, 20]


def test_sentences_follow_the_job(visit: Visit) -> None:
    """A column that got a role is no longer said to be left out; a sensitive one without a limit is named."""
    tab = visit.tab
    visit.open("wide.csv")
    expect(tab.locator("#facts")).to_contain_text("Left out of the release until you decide: v0, v1")
    tab.get_by_label("Role of v0", exact=True).select_option("sensitive")
    expect(tab.locator("#facts")).to_contain_text("Left out of the release until you decide: v1, v2")
    expect(tab.locator("#facts")).to_contain_text("Nothing limits what a class tells of v0")
    tab.locator("#pick-all").check()
    tick(tab, "age").click()
    tab.locator("#picked-role").select_option("plain")
    expect(tab.locator("#facts")).not_to_contain_text("Left out of the release")
    expect(tab.locator("#facts")).not_to_contain_text("Nothing limits")


def test_nearly_unique_money_does_not_leave_by_default(visit: Visit, tmp_path: Path) -> None:
    """An income that is unique in most rows waits for a decision, is said to be left out, and is not in the release."""
    tab = visit.tab
    visit.open("survey.csv")
    expect(tab.get_by_label("Role of income")).to_have_value("decide")
    expect(tab.locator("#facts")).to_contain_text("Left out of the release until you decide: income")
    visit.search()
    release_into(tab, tmp_path / "out.csv")
    head, first, *_ = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert head == "age,town,illness"
    assert first.count(",") == 2


def release_into(tab: Tab, place: Path) -> None:
    """Release the point that is shown, whatever stands against it, and save the rows and beside them the certificate."""
    tab.get_by_role("link", name="Release").first.click()
    accept_dangers(tab)
    tab.locator("#release-now").click()
    for kind, file in (("release", place), ("certificate", place.with_suffix(".json"))):
        with tab.expect_download() as saved:
            tab.locator(f"a[data-file='{kind}']").click()
        saved.value.save_as(file)


def test_a_sensitive_column_without_a_limit_is_never_green(visit: Visit, tmp_path: Path) -> None:
    """After a release and where one is verified its number is not among those that hold, and that is said in red."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator('input[data-limit="l"]').fill("")
        tab.locator('input[data-limit="l"]').blur()
    tab.get_by_role("link", name="Data").first.click()
    visit.search()
    release_into(tab, tmp_path / "out.csv")
    expect(tab.locator("#checks")).to_be_visible()
    expect(tab.locator("th .formula").first).to_have_text("k")
    tab.locator("#verify-release").set_input_files(str(tmp_path / "out.csv"))
    tab.locator("#verify-certificate").set_input_files(str(tmp_path / "out.json"))
    tab.locator("#verify-now").click()
    for place in ("#released", "#verdict"):
        expect(tab.locator(f"{place} .bad")).to_have_text("No limit protects the values of illness.")
        expect(tab.locator(f"{place} .good", has_text="Counted again")).to_contain_text("at least (k): ")
        expect(tab.locator(f"{place} .good", has_text="illness")).to_have_count(0)


# -- levels that may be released, and importance -----------------------------------------------------------------------

POINTS = """async () => {
  const api = await import('/static/api.js');
  const { values } = await api.get('/front');
  return Promise.all(values.map((_, id) => api.get(`/points/${id}`)));
}"""


def choose(tab: Tab, selector: str, value: str) -> dict[str, Any]:
    """Choose from a list of the hierarchy that is shown; what the job says of its column when the server has answered."""
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator(selector).select_option(value)
    return dict(tab.evaluate(JOB)["columns"]["age"])


def levels_found(tab: Tab) -> set[int]:
    """The levels of age that the points of the front show."""
    ages = (each for point in tab.evaluate(POINTS) for each in point["columns"] if each["name"] == "age")
    return {each["level"] for each in ages}


def losses_by_levels(tab: Tab) -> dict[tuple[int, ...], float]:
    """The loss nwp of each point, by the levels of its columns."""
    points = tab.evaluate(POINTS)
    return {tuple(each["level"] for each in point["columns"]): point["values"]["nwp"] for point in points}


def expect_outside(tab: Tab, levels: set[int]) -> None:
    """Wait until the groups of these levels, and no others, are crossed out in the picture of the hierarchy."""
    for level in range(5):
        cell = tab.locator(f"button.node[data-level='{level}']").first
        expect(cell).to_have_class("node outside" if level in levels else "node")


def test_levels_that_may_be_released(visit: Visit, axe: str) -> None:
    """Two lists set the levels of a column: job, picture, search and a reload keep to them; all levels leave no word."""
    tab = visit.tab
    visit.open("people.csv")
    expect(tab.locator("#least-level")).to_have_value("0")
    expect(tab.locator("#most-level")).to_have_value("4")
    expect_outside(tab, set())
    visit.search()
    assert not levels_found(tab) <= {1, 2, 3}
    tab.get_by_role("link", name="Data").first.click()
    assert choose(tab, "#least-level", "1")["levels"] == [1, 4]
    assert choose(tab, "#most-level", "3")["levels"] == [1, 3]
    expect_outside(tab, {0, 4})
    assert all_findings(tab, axe) == []
    tab.reload()
    expect(tab.locator("#least-level")).to_have_value("1")
    expect(tab.locator("#most-level")).to_have_value("3")
    expect_outside(tab, {0, 4})
    visit.search()
    assert levels_found(tab) <= {1, 2, 3}
    expect(tab.locator(".column", has=tab.get_by_text("age", exact=True)).first).to_contain_text(
        re.compile("level [123] of 4")
    )
    tab.get_by_role("link", name="Data").first.click()
    assert choose(tab, "#most-level", "0")["levels"] == [0, 0]  # the other end gives way
    expect(tab.locator("#least-level")).to_have_value("0")
    assert "levels" not in choose(tab, "#most-level", "4")
    expect_outside(tab, set())
    tab.reload()
    expect(tab.locator("#most-level")).to_have_value("4")
    assert "levels" not in tab.evaluate(JOB)["columns"]["age"]


def test_levels_by_keyboard(visit: Visit) -> None:
    """The lists are stops of the tab key one after the other, arrow keys choose, and a choice counts when it is left."""
    tab = visit.tab
    visit.open("people.csv")
    tab.locator("#least-level").focus()
    for keys, following in ((["ArrowDown"] * 2, "#most-level"), (["ArrowUp"], "#importance"), (["ArrowDown"], "")):
        for key in (*keys, "Tab"):
            tab.keyboard.press(key)
        if following:
            expect(tab.locator(following)).to_be_focused()
    wait_until(tab, "async () => !(await import('/static/api.js')).changesWait()")
    column = tab.evaluate(JOB)["columns"]["age"]
    assert (column["levels"], column["weight"]) == ([2, 3], 2)


def test_levels_that_an_edited_hierarchy_lacks_are_shown(visit: Visit) -> None:
    """A level that the job names and the hierarchy no longer has is said where it can be mended, and undo brings it back."""
    tab = visit.tab
    visit.open("people.csv")
    choose(tab, "#least-level", "1")
    node(tab, "20-29", 2).click()
    tab.get_by_role("button", name="Remove level").click()
    expect(tab.locator("button.node[data-level='4']")).to_have_count(0)
    assert tab.evaluate(JOB)["columns"]["age"]["levels"] == [1, 4]
    expect(tab.locator("#most-level option:checked")).to_have_text("4: not in this hierarchy")
    tab.get_by_role("button", name="Undo").click()
    expect(tab.locator("#most-level option:checked")).to_have_text("4: 1 group")
    tab.get_by_role("button", name="Redo").click()
    expect(tab.locator("#most-level option:checked")).to_have_text("4: not in this hierarchy")
    assert choose(tab, "#most-level", "3")["levels"] == [1, 3]
    visit.search()
    assert levels_found(tab) <= {1, 2, 3}


def test_the_importance_of_a_column(visit: Visit) -> None:
    """It is the weight in the job and after a reload, the weighted loss of the front counts it, and usual leaves no word."""
    tab = visit.tab
    visit.open("people.csv")
    tab.get_by_role("link", name="Next: search").click()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_label("Another measure").select_option("nwp")
    visit.explore()
    before = losses_by_levels(tab)
    tab.get_by_role("link", name="Data").first.click()
    assert choose(tab, "#importance", "4.0")["weight"] == 4
    tab.reload()
    expect(tab.locator("#importance option:checked")).to_have_text("much more")
    visit.search()
    after = losses_by_levels(tab)
    both = [levels for levels in before if levels in after]
    assert any(before[levels] != pytest.approx(after[levels]) for levels in both)
    tab.get_by_role("link", name="Data").first.click()
    assert "weight" not in choose(tab, "#importance", "1.0")
