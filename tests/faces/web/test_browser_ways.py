"""The Search step in plain words: one question, three ways to recode, the algorithms of the papers under Research."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.twins.window import Visit, all_findings

pytestmark = pytest.mark.xdist_group("browser")
JOB = "async () => (await (await import('/static/api.js')).get('')).draft"


def to_search(visit: Visit) -> Tab:
    """The Search step of the small table."""
    visit.open("people.csv")
    visit.tab.get_by_role("link", name="Next: search").click()
    expect(visit.tab.locator("#start")).to_be_visible()
    return visit.tab


def test_one_question_chooses_the_way(visit: Visit, axe: str) -> None:
    """Nothing is chosen before it is answered; no: class by class, yes: whole columns; the answer is there again later."""
    tab = to_search(visit)
    before = tab.evaluate(JOB)["search"]
    expect(tab.locator("input[name=later]:checked")).to_have_count(0)
    expect(tab.get_by_role("radio", name="Whole columns: complete")).to_be_checked()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_label("No, only these rows").check()
    expect(tab.get_by_role("radio", name="Class by class: keeps most")).to_be_checked()
    expect(tab.locator("#later-words")).to_contain_text("recommended")
    search = tab.evaluate(JOB)["search"]
    assert (search["method"], search["space"], search["objectives"]) == ("local", "local", before["objectives"])
    assert all_findings(tab, axe) == []
    with tab.expect_response(lambda answer: answer.url.endswith("/view")):
        tab.get_by_label("Yes, later rows too").check()
    expect(tab.get_by_role("radio", name="Whole columns: complete")).to_be_checked()
    tab.reload()
    expect(tab.get_by_label("Yes, later rows too")).to_be_checked()
    assert tab.evaluate(JOB)["search"] == before


def test_class_by_class_is_not_taken_where_it_is_refused(visit: Visit) -> None:
    """For a table that tells persons apart the answer says why it stays with whole columns."""
    tab = visit.tab
    visit.open("visits.csv")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator("#person").select_option("patient")
    tab.get_by_role("link", name="Next: search").click()
    tab.get_by_label("No, only these rows").check()
    expect(tab.locator("#later-words")).to_contain_text("not possible here: this table tells persons apart")
    assert tab.evaluate(JOB)["search"]["method"] == "exact"


def test_algorithms_stand_under_research(visit: Visit) -> None:
    """They are folded away with the papers' names, and open where the job has one that is none of the three ways."""
    tab = to_search(visit)
    expect(tab.locator("#method")).to_be_hidden()
    tab.get_by_role("radio", name="Mixed levels: in between").check()
    tab.locator("#research summary").click()
    expect(tab.locator("#method")).to_have_value("nsga2")
    expect(tab.locator("#method")).to_contain_text("Iyengar, KDD 2002")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator("#method").select_option("poka")
    expect(tab.locator("input[name=way]:checked")).to_have_count(0)
    tab.reload()
    expect(tab.locator("#method")).to_have_value("poka")


def test_measures_have_plain_names(visit: Visit) -> None:
    """Each objective is told in words, with the name of its formula beside it; so is every further measure."""
    tab = to_search(visit)
    chip = tab.locator(".chip", has_text="glm")
    expect(chip.locator("strong")).to_have_text("detail kept")
    expect(chip.locator(".formula")).to_have_text("glm")
    expect(tab.get_by_label("Another measure")).to_contain_text("height kept: how far up")


def test_one_number_of_recodings(visit: Visit) -> None:
    """What a search of classes counts are steps, and its sentence says how many recodings it has found."""
    tab = to_search(visit)
    tab.get_by_label("No, only these rows").check()
    tab.locator("#start").click()
    expect(tab.locator("#search-proof")).to_contain_text("recodings were found in")
    expect(tab.locator("#progress-words")).to_contain_text("steps")
    expect(tab.locator("#progress-words")).not_to_contain_text("recodings")


def test_warnings_come_first_and_labels_by_class_are_drawn_once(visit: Visit) -> None:
    """The panel of a point begins with its warnings; class by class, a town is drawn once and not again as a value."""
    tab = to_search(visit)
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_role("radio", name="Class by class: keeps most").check()
    visit.explore()
    expect(tab.locator(".detail details summary h3").first).to_have_text("Warnings")
    town = tab.locator("svg.bands[aria-label^='town']")
    labels = town.locator("rect title").all_text_contents()
    assert len(labels) == len(set(labels))
    expect(town.locator("rect:not(.chosen)")).to_have_count(0)


def test_a_longer_proof_and_marked_points_are_there_for_who_asks(visit: Visit, axe: str) -> None:
    """The box goes into a job of class by class alone; the part, once opened, has a line for every mark and the totals."""
    tab = to_search(visit)
    expect(tab.locator("#prove")).to_have_count(0)
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_role("radio", name="Class by class: keeps most").check()
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator("#prove").check()
    assert tab.evaluate(JOB)["search"]["prove"] is True
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.locator("#prove").uncheck()
    assert not tab.evaluate(JOB)["search"].get("prove")
    with tab.expect_response(lambda answer: answer.url.endswith("/job")):
        tab.get_by_role("radio", name="Whole columns: complete").check()
    visit.explore()
    tab.locator("summary", has_text="Marked points in use").click()
    rows = tab.locator("#marked tbody tr")
    expect(rows.last).to_contain_text("column totals alone")
    marks = tab.evaluate("async () => (await (await import('/static/api.js')).get('/front')).marks.length")
    expect(rows).to_have_count(marks + 1)
    assert all_findings(tab, axe) == []


def test_use_stands_upright_beside_what_the_totals_give(visit: Visit, axe: str) -> None:
    """Counts off by, which the search did not look at, is measured when an axis asks; sliders stay; kept on reload."""
    tab = to_search(visit)
    visit.explore()
    expect(tab.locator(".plot svg .control")).to_have_count(0)
    tab.locator("#axis-y").select_option("count-error")
    expect(tab.locator(".plot svg")).to_contain_text("the column totals alone")
    expect(tab.locator(".plot svg")).to_contain_text("counts off by, percent (count-error)")
    expect(tab.locator("[data-wish]")).to_have_count(2)
    assert all_findings(tab, axe) == []
    with tab.expect_response(lambda answer: answer.url.endswith("/view")):
        tab.locator("#axis-x").select_option("relations")
    expect(tab.locator(".plot svg")).to_contain_text("relations lost, percent (relations)")
    tab.reload()
    expect(tab.locator("#axis-y")).to_have_value("count-error")
    expect(tab.locator("#axis-x")).to_have_value("relations")
    expect(tab.locator(".plot svg")).to_contain_text("the column totals alone")
    tab.locator("#axis-x").select_option("count-error")
    expect(tab.locator("#axis-y")).to_have_value("relations")


def test_research_shows_the_run_and_compares_searches(visit: Visit, axe: str) -> None:
    """After a run of PBG-EA its operators, its curve and its boxes; two searches side by side; a wrong one is told."""
    tab = to_search(visit)
    tab.locator("#research summary").click()
    tab.locator("#method").select_option("pbg-ea")
    tab.locator("#budget").fill("60")
    tab.locator("#budget").blur()
    tab.locator("#start").click()
    expect(tab.locator("#to-explore")).to_be_visible()
    run = tab.locator("#last-run")
    expect(run.get_by_role("row", name="crossover_rate")).to_be_visible()
    expect(run.get_by_role("img", name="least glm at k")).to_be_visible()
    expect(run).to_contain_text("boxes are held, of at most")
    assert run.get_by_role("region", name="Boxes of the archive").locator("tbody tr").count() > 0
    tab.locator("#trial-searches").fill("nsga2:generations=2,population=8\nflip")
    tab.locator("#trial-seeds").fill("2")
    tab.locator("#start-trials").click()
    trials = tab.locator("#trials")
    expect(trials.get_by_role("region", name="Every two searches")).to_contain_text("hypervolume", timeout=120_000)
    expect(trials.get_by_role("row", name="flip").first).to_be_visible()
    expect(trials.locator("svg polyline")).to_have_count(2)
    expect(tab.locator("#stop-trials")).to_be_hidden()
    assert all_findings(tab, axe) == []
    tab.locator("#trial-searches").fill("nsga2\nflop")
    tab.locator("#start-trials").click()
    expect(trials).to_contain_text("No search 'flop'. Did you mean 'flip'?")
