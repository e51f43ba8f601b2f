"""The report: what it holds, what the public never sees, and pages that no cell can break."""

from __future__ import annotations

import doctest
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kpareto as kp
from kpareto.engines.read import read
from kpareto.errors import BadInput, BadJob, Progress, Unsafe
from kpareto.faces.cli import main
from kpareto.faces.report import (
    Report,
    context_of,
    find,
    html,
    make_report,
    markdown,
    report_of,
    write_report,
)
from kpareto.faces.report.blocks import escape_text
from kpareto.faces.report.discretion import Discretion, round_number
from kpareto.faces.report.front import _tell_marks
from kpareto.faces.report.make import _public_w16
from kpareto.faces.report.regulator_form import CHECKLIST, ISO, SEEN_BY, UNREAD, technique
from kpareto.faces.report.report import ProfileRow
from kpareto.faces.report.words import chance, notice, sample_title
from kpareto.fronts.choose import find_safer
from kpareto.fronts.front import Front, Point, load_front, make_front, mark_points
from kpareto.fronts.markup import safe
from kpareto.fronts.numbers import Provenance
from kpareto.fronts.picture import sketch, ticks
from kpareto.fronts.problem import problem
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import release_job
from kpareto.releases.choice import as_choice
from kpareto.releases.labels import shown_labels
from kpareto.releases.release import release
from kpareto.releases.risk.attacks import attack
from kpareto.releases.risk.risk import risk_change
from kpareto.releases.warnings import Context, remarks
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult_table
from kpareto.tables.cuts import make_cuts
from kpareto.tables.hierarchies.loading import load
from kpareto.tables.hierarchy import flat, from_levels
from kpareto.tables.partition import Suppression
from kpareto.tables.schema import Schema
from kpareto.tables.table import Table
from tests.twins.made_fronts import made_front
from tests.twins.page import write_people

EVIL = "<script>alert('x')</script>"
VOID = {"meta", "br"}


def town(rare: int = 2, names: tuple[str, str] = ("north", "south"), column: str = "place") -> Table:
    """Sixty people of two towns, and a few of a third that no level joins with them but the top."""
    rows = [(names[i % 2], str(20 + 10 * (i % 3)), ("flu", "gout")[i % 2 if i % 5 else 0]) for i in range(60)]
    rows += [("farm", "80", "flu")] * rare
    places = from_levels(column, [(names[0], "town", "*"), (names[1], "town", "*"), ("farm", "country", "*")])
    ages = flat("age", ["20", "30", "40", "80"])
    cells = {column: [r[0] for r in rows], "age": [r[1] for r in rows], "ill": [r[2] for r in rows]}
    return read(pa.table(cells), Schema((column, "age"), ("ill",)), hierarchies=[places, ages])


def chosen(table: Table, limit: float = 0.05, **limits: float) -> Point:
    """The point of a table's front with the least loss at a k."""
    return run_plan(problem(table, ("k", "glm"), limit)).choose(**(limits or {"k": 5}))


@pytest.fixture(scope="module")
def adult() -> Point:
    """Adult at k = 5, the main job."""
    return run_plan(problem(adult_table(), ("k", "glm"), 0.01)).choose(k=5)


@pytest.fixture(scope="module")
def public(adult: Point) -> Report:
    """The public report of the main job."""
    tests = attack(adult.partition, {"k": 5}, adult.front.problem.suppression)
    return make_report(adult, tests=tests, choice="k=5")


class Page(HTMLParser):
    """Reads a page and notes what is in it; raises where tags are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends, and it is the last that began."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """A text."""
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every such element."""
        return [attributes for name, attributes in self.tags if name == tag]


# -- what it holds -----------------------------------------------------------------------------------------------------


def test_the_main_job_has_its_known_numbers(public: Report) -> None:
    """Adult at k = 5 under the cap of one percent: classes, suppressed rows and the marks are those of the front."""
    summary = public.summary
    assert (summary.k, summary.suppressed, summary.classes, summary.rows_in) == (5, 289, 186, 30162)
    assert public.front.points[0].marks[0] == "chosen"
    assert "The search is complete" in public.front.proof
    assert [alert.id for alert in public.warnings][:2] == ["W1", "W2"]


def test_parts_add_up_to_the_release(public: Report, adult: Point) -> None:
    """Code book and histogram count every released row once; losses add up to the front's."""
    released = public.summary.rows_out
    assert sum(size.rows for size in public.sizes) == released
    for column in public.columns:
        assert sum(code.rows for code in column.codes) == released
    loss = sum(column.loss or 0 for column in public.columns) * 30162
    assert loss == pytest.approx(adult.values["glm"])


def test_risks_are_those_of_the_risk_room(public: Report, adult: Point) -> None:
    """Before and after are told as counted there."""
    change = risk_change(adult.partition)
    assert public.risks[0].before.mean == change.before.prosecutor.mean
    assert public.risks[0].after.highest == 0.2
    assert [rows for _, rows, _ in public.risks[0].after.above] == [e.rows for e in change.after.prosecutor.above]
    assert public.risks[1].after.mean is None


def test_the_five_papers_are_cited(public: Report) -> None:
    """Each with its place and year, on the page and in Markdown."""
    for text in (html(public), markdown(public)):
        for place in ("KDD 2002", "GECCO 2006", "GECCO 2009", "CIKM 2009", "DBSec 2010"):
            assert place in text


def test_an_incomplete_search_is_said_to_be_one() -> None:
    """A front without a proof says that something better may exist, and W14 warns."""
    table = town()
    question = problem(table, ("k", "glm"), 0.05)
    exact = run_plan(question)
    made = Provenance("poka", 3, False, 7, 0.1, "the budget is spent")
    report = make_report(Front(question, exact.space, exact.genomes, exact.numbers, made).choose(k=5))
    assert "not complete (the budget is spent)" in report.front.proof
    assert "how much better it would be is not known" in report.front.proof
    early = Front(question, exact.space, exact.genomes, exact.numbers, made, floors=exact.numbers.values)
    assert "is not known" not in make_report(early.choose(k=5)).front.proof
    assert "W14" in [alert.id for alert in report.warnings]
    assert ("seed", "7") in report.method.parameters


def test_a_report_tells_method_settings_seed_and_version() -> None:
    """Every setting of the search, those by default too, on the page, in Markdown and in the plain data."""
    plan = Plan("pbg-ea", seed=7, options={"grid": [2, 0.5], "population": 6, "iterations": 3})
    report = make_report(run_plan(problem(town(), ("k", "lm"), 0.05), plan).choose(k=2))
    told = dict(report.method.parameters)
    assert (told["method"], told["seed"]) == ("pbg-ea", "7")
    assert told["settings of the search"] == "; ".join(
        f"{name} = {str(value).lower() if isinstance(value, bool) else value}" for name, value in plan.told.items()
    )
    assert "grid = [2, 0.5]; population = 6; iterations = 3; " in told["settings of the search"]
    for text in (html(report), markdown(report)):
        assert all(words in text for words in ("settings of the search", "population = 6; iterations = 3", "kpareto"))
    assert json.loads(json.dumps(report.to_dict()))["method"]["versions"][0] == ["kpareto", kp.__version__]


def test_equal_runs_give_equal_bytes(public: Report, adult: Point) -> None:
    """There is no time stamp; a date is printed only where it is given."""
    tests = attack(adult.partition, {"k": 5}, adult.front.problem.suppression)
    again = make_report(adult, tests=tests, choice="k=5")
    assert html(again) == html(public)
    assert markdown(again) == markdown(public)
    assert "1 April 2031" in html(make_report(adult, date="1 April 2031"))


def test_the_json_is_the_report(public: Report) -> None:
    """Plain data that JSON gives back, without infinities."""
    text = json.dumps(public.to_dict(), allow_nan=False)
    assert json.loads(text)["summary"]["k"] == 5
    assert json.loads(text)["kpareto report"] == 1


def test_an_empty_release_has_no_report() -> None:
    """When everything is suppressed there is nothing to report on."""
    table = town(0)
    front = run_plan(problem(table, ("k", "glm"), 0.05))
    point = front[0]
    empty = context_of(point)
    gone = np.ones_like(empty.partition.suppressed)
    object.__setattr__(empty, "partition", type(empty.partition)(**{**vars(empty.partition), "visible": ~gone}))
    with pytest.raises(Unsafe, match="Every row is suppressed, so there is no release to report on"):
        make_report(point, empty)


def test_a_context_of_another_table_is_refused() -> None:
    """Warnings about other rows would be false."""
    with pytest.raises(BadJob, match="The context is about another table than the point"):
        make_report(chosen(town()), context_of(chosen(town(3))))


def test_a_report_knows_the_release_of_a_local_recoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate that lies where the job writes it is of this very point; of another one it is not."""
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    assert main(["inspect", "people.csv", "-o", "job.toml"]) == 0
    changes = ["--model", "local"]
    assert main(["release", "job.toml", *changes, "--choose", "k=5", "--target", "out.csv"]) == 0
    told = ["--set", 'release.target="out.csv"']
    assert main(["report", "job.toml", *changes, *told, "--choose", "k=5", "-o", "report.md"]) == 0
    assert main(["report", "job.toml", *changes, *told, "--choose", "k=10", "-o", "other.md"]) == 0
    assert "# Release with k = 5" in (tmp_path / "report.md").read_text("utf-8")
    assert "# Candidate with k = 10" in (tmp_path / "other.md").read_text("utf-8")


def test_a_report_on_a_local_recoding() -> None:
    """Labels that differ from class to class: drawn in bands in which none overlap, and counted one by one."""
    rows = town()
    front = run_plan(problem(rows, ("k", "lm"), Suppression("as-needed", 0.02)), Plan("local", "local", None, 1, {}))
    for point in (front[0], front[len(front) - 1]):
        partition = point.partition
        for confidential in (False, True):
            report = make_report(point, confidential=confidential)
            if confidential:
                assert report.risks[0].before == make_report(chosen(rows), confidential=True).risks[0].before
            for place, column in enumerate(report.columns):
                shown = Counter[str]()
                for group, size, gone in zip(
                    partition.groups[:, place], partition.rows, partition.suppressed, strict=True
                ):
                    shown[point.recoding.labels[place][group]] += 0 if gone else int(size)
                assert {code.label: code.rows for code in column.codes if code.rows} == +shown
                assert column.by_class
                assert column.groups == len(+shown)
                bands = [band.runs for band in column.bands if band.chosen]
                assert sorted(label for runs in bands for _, _, label in runs) == sorted(+shown)
                for runs in bands:
                    assert all(one[1] < two[0] for one, two in pairwise(runs))
                levels = [band for band in column.bands if not band.chosen]
                assert len(levels) == (column.height + 1 if confidential else 0)
                if not confidential:
                    assert all(code.suppressed is None and code.rows >= report.least for code in column.codes)
            for text in (markdown(report), " ".join(Page(html(report)).words)):
                assert "which differ from class to class (local recoding)" in text
                assert "the same for every row" not in text
                assert "The search is a heuristic over local recodings" in text
            assert "W18" in [each.id for each in report.warnings]


def test_markdown_has_the_words_of_the_page() -> None:
    """For whom it is, also with k = 1, which rows are shown, and the gravest warnings first."""
    point, alone = chosen(town()), chosen(town(1), 0.0, k=1)
    for report in (make_report(point), make_report(point, confidential=True), make_report(alone)):
        who, said = notice(report.confidential, report.least)
        page, text = Page(html(report)), markdown(report)
        assert f"**{who}** {said}" in text
        assert said in " ".join(page.words)
        assert f"## {sample_title(report.confidential)}\n" in text
        grave = [("danger", "caution", "note").index(word) for word in re.findall(r"\*\*W\d+\*\* \((\w+)\)", text)]
        assert grave == sorted(grave)
        assert len(grave) == len(report.warnings)
    assert "With k = 1 no count is too small" in markdown(make_report(alone))


def test_what_is_no_certificate_is_refused() -> None:
    """A certificate has a public part."""
    with pytest.raises(BadJob, match="has a part 'public'"):
        make_report(chosen(town()), certificate={"k": 5})


# -- the first page ----------------------------------------------------------------------------------------------------

QUESTIONS = (
    "What is protected, and how far",
    "What was lost, column by column",
    "Who disappears",
    "What remains possible",
    "Who checked it",
)


@pytest.mark.parametrize("confidential", [False, True])
def test_the_first_page_answers_a_board_in_its_order(adult: Point, confidential: bool) -> None:
    """Five questions before any warning or picture, and no percentage that hides a hidden column."""
    report = make_report(adult, confidential=confidential)
    page = html(report).partition('id="warnings"')[0].partition('id="summary"')[2]
    for text in (page, markdown(report).partition("## Warnings")[0]):
        places = [text.index(question) for question in QUESTIONS]
        assert places == sorted(places)
        assert "keep their cells" not in text
        assert "hidden: marital-status" in text
        assert "No question about marital-status" in text
    fates = {fate.name: fate.words for fate in report.board.columns}
    assert fates["sex"] == "as it is"
    assert fates["marital-status"] == "hidden"
    assert fates["occupation"] == "released as it is"
    assert "Nobody yet: nothing is released." in report.board.checked[0]
    assert json.loads(json.dumps(report.to_dict()))["board"]["promises"][0]["name"] == "k"


def test_limits_are_told_with_their_meaning() -> None:
    """What was asked for and reached; a distance from the whole table is counted by nobody outside, so only met."""
    asked = {"k": 5, "l": 1, "t": 0.9}
    point = run_plan(problem(town(), ("k", "glm"), 0.05, asked)).choose(k=5)
    for confidential in (False, True):
        told = {each.name: each for each in make_report(point, confidential=confidential).board.promises}
        assert list(told) == ["k", "l", "t"]
        assert told["k"].meaning.endswith("can be narrowed down to fewer than 5 rows.")
        assert "different value of ill" in told["l"].meaning
        assert [told[name].asked for name in told] == [5, 1, 0.9]
        assert all(each.met for each in told.values())
        assert (told["t"].reached is None) == (not confidential)
    assert "| t ≤ 0.9 | No group differs from the whole in ill by more than 0.9" in markdown(make_report(point))
    assert any("No limit protects what ill tells" in each for each in make_report(chosen(town())).board.protected)


def test_columns_are_told_in_words_by_every_model() -> None:
    """Whole levels by their rule, cuts by their groups, labels by class as shares of the released rows."""
    ages = [str(age) for age in range(20, 50) for _ in range(4)]
    rows = pa.table({"age": ages, "sex": ["f", "m"] * 60})
    plain = read(rows, Schema(("age", "sex")))
    table = plain.bind({"age": load("age", {"intervals": [5, 10], "from": 0}, plain.hierarchies[0].leaves)}, "observed")
    question = problem(table, ("k", "glm"), 0.0)
    levels = make_report(run_plan(question).choose(k=10))
    assert {column.name: column.words for column in levels.columns} == {"age": "in steps of 5", "sex": "as it is"}
    space = make_cuts(table.hierarchies)
    joined = np.array([[0] * len(space.genes)], dtype=np.int64)
    cuts = make_front(question, space, joined, question.evaluate(space, joined), Provenance("nsga2", 1, False, 1))
    assert make_report(cuts[0]).columns[0].words == "hidden"
    local = run_plan(problem(table, ("k", "lm"), Suppression("as-needed", 0.0)), Plan("local", "local", None, 1, {}))
    words = make_report(local.choose(k=10)).columns[0].words
    assert words.endswith(" of the rows")
    assert sum(map(float, re.findall(r"([\d.]+)%", words))) == pytest.approx(100, abs=0.2)


def test_who_disappears_is_told_of_persons(folder: Path) -> None:
    """In confidence how many are gone altogether, in public none of their counts."""
    cells = {"who": [f"p{i // 2}" for i in range(40)] + ["z"], "place": ["n", "n", "s", "s"] * 10 + ["w"]}
    point = run_plan(problem(read(pa.table(cells), Schema(("place",), person="who")), ("k", "glm"), 0.1)).choose(k=5)
    assert "With them 1 person is gone altogether." in make_report(point, confidential=True).board.gone
    assert not any("gone altogether" in each for each in make_report(point).board.gone)


def test_a_signature_is_told_of(folder: Path) -> None:
    """A release names its checker, and whether its certificate is signed."""
    finding = find(folder / "people.toml")
    done = release_job(finding.job, finding.point.front)
    checked = report_of(finding, done).board.checked
    assert "shares no code with the search" in checked[0]
    assert "Its certificate is not signed." in checked
    (folder / "out.certificate.public.json.sig").write_text("signed")
    assert any(each.startswith("A signature lies beside") for each in report_of(finding, done).board.checked)


# -- the page ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidential", [False, True])
def test_the_page_is_well_formed_and_accessible(adult: Point, confidential: bool) -> None:
    """Tags close in order, ids are unique, headings go down by one, tables have captions, pictures have words."""
    page = Page(html(make_report(adult, confidential=confidential)))
    ids = Counter(attributes["id"] for _, attributes in page.tags if "id" in attributes)
    assert set(ids.values()) == {1}
    assert {a["href"] for a in page.all("a")} <= {f"#{name}" for name in ids}
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table")) > 10
    assert len(page.all("svg")) >= 11
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in page.all("svg"))
    assert page.all("html")[0]["lang"] == "en"
    assert all("scope" in head for head in page.all("th"))


def test_the_page_needs_nothing_from_anywhere(public: Report) -> None:
    """No address, script, font, picture or style sheet is asked for, and the policy would refuse one."""
    for text in (html(public), html(public, form=True)):
        assert not re.search(r"https?:|//\w|url\(|@import|<script|<link|<img|src=|@font-face", text, re.IGNORECASE)
        assert "default-src 'none'" in Page(text).all("meta")[2]["content"]  # type: ignore[operator]


def test_the_style_knows_paper_darkness_and_phones(public: Report) -> None:
    """Dark colours are for screens only, so paper stays white; small screens have rules of their own."""
    text = html(public)
    assert "@media screen and (prefers-color-scheme: dark)" in text
    assert "@media print" in text
    assert "max-width: 40rem" in text


def _contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG 2 defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_read(public: Report) -> None:
    """Every text colour has a contrast of at least 4.5 on its grounds, in light and in dark."""
    found = re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", html(public))
    half = len(found) // 2
    for colours in (dict(found[:half]), dict(found[half:])):
        for text in ("ink", "soft", "blue", "red", "amber"):
            assert _contrast(colours[text], colours["paper"]) >= 4.5
        for ground in ("card", "blue-pale", "red-pale"):
            assert _contrast(colours["ink"], colours[ground]) >= 4.5
        assert _contrast(colours["red"], colours["red-pale"]) >= 4.5
        assert _contrast(colours["on-blue"], colours["blue"]) >= 4.5


@pytest.mark.parametrize("confidential", [False, True])
@pytest.mark.parametrize("evil", [EVIL, '"><img src=x onerror=alert(1)>', "a|b`*_[c](d)", "two\nlines\u202e"])
def test_no_cell_can_break_a_page(evil: str, confidential: bool) -> None:
    """Values and column names that are HTML or Markdown are shown as they are and never become part of the page."""
    point = chosen(town(7, (evil, "south"), f"place {evil}"), 0.0, k=3)
    report = make_report(point, confidential=confidential, choice=evil, date=evil)
    for text in (html(report), html(report, form=True)):
        page = Page(text)
        assert {"script", "img"} & {tag for tag, _ in page.tags} == set()
        assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
        assert "\u202e" not in text
    for text in (markdown(report), markdown(report, form=True)):
        assert "<script" not in text
        assert "<img" not in text
        assert "\u202e" not in text
        for line in text.splitlines():
            if line.startswith("|"):
                assert line.endswith("|")


def test_what_follows_a_list_of_markdown_is_not_in_it(public: Report) -> None:
    """After the last line of a list stands an empty one, so that a sentence below it is no part of its last line."""
    for line, below in pairwise(markdown(public).splitlines()):
        assert not re.match(r"(\*|\d+\.) ", line) or below == "" or re.match(r"(\*|\d+\.) ", below)


def test_tables_of_markdown_have_even_lines(public: Report) -> None:
    """Each line of a table has as many cells as its head."""
    cells = 0
    for line in markdown(public).splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        bars = len(re.findall(r"(?<!\\)\|", line))
        cells = cells or bars
        assert bars == cells


@pytest.mark.parametrize(
    ("low", "high", "logged", "found"),
    [(0, 10, False, [0, 2, 4, 6, 8, 10]), (1, 50, True, [1, 2, 5, 10, 20, 50]), (3, 3, False, [3])],
)
def test_ticks_are_round_numbers(low: float, high: float, logged: bool, found: list[float]) -> None:
    """A handful of numbers that people like."""
    assert ticks(low, high, logged) == found


def test_the_name_of_an_axis_stands_beside_long_numbers(public: Report) -> None:
    """From a million on the numbers of the upright axis still end to the right of its name."""
    assert public.front.drawing is not None
    for most in (100.0, 2.5e6, 9.9e9):
        drawing = replace(public.front.drawing, points=((5, 0.1), (9, most)), cloud=(), marks=(), chosen=(5, 0.1))
        text = str(sketch(drawing, "The front", "two points"))
        anchored = re.findall(r'<text x="([0-9.]+)" y="[0-9.]+" class="tick" text-anchor="end">([^<]+)<', text)
        assert anchored
        assert min(float(x) - 7 * len(words) for x, words in anchored) >= 18 + 6  # the name hangs around x = 18


def test_what_was_not_released_is_not_said_to_be(folder: Path) -> None:
    """A point that was only chosen is a candidate, on the page and in Markdown; beside its release it was released."""
    finding = find(folder / "people.toml")
    candidate = report_of(finding)
    for text in (html(candidate), markdown(candidate)):
        assert "was released" not in text
        assert "was chosen, and nothing is released yet" in text
    assert candidate.title.startswith("Candidate with k = ")
    done = release(finding.point, folder / "people.csv", folder / "out.csv", limits={"k": 4})
    told = report_of(finding, done)
    assert all("was released" in text for text in (html(told), markdown(told)))
    assert told.title.startswith("Release with k = ")


def test_a_release_in_parts_is_found(folder: Path) -> None:
    """A job that writes a folder: its report is that of the release, with the labels of its certificate."""
    job = folder / "people.toml"
    job.write_text(JOB.replace('target = "out.csv"', 'target = "out/"'))
    assert 'target = "out/"' in job.read_text()
    assert release_job(load_job(job)).path == folder / "out"
    assert report_of(find(job)).title.startswith("Release with k = ")
    next((folder / "out").iterdir()).write_bytes(b"another")
    assert report_of(find(job)).title.startswith("Candidate with k = ")


def test_wide_tables_fit_on_paper(public: Report) -> None:
    """On paper every cell may break anywhere, so that a table of many columns is as wide as the page and no wider."""
    paper = html(public).partition("@media print")[2].partition("</style>")[0]
    assert "th, td, .keep tbody td, th.n, td.n { white-space: normal; overflow-wrap: anywhere; }" in paper
    assert "min-width: 0" in paper


# -- what the public never sees ----------------------------------------------------------------------------------------


def _counts(data: Any, key: str = "") -> list[tuple[str, int]]:
    """Every count of rows in a report's data, with its key."""
    if isinstance(data, dict):
        return [found for name, value in data.items() for found in _counts(value, name)]
    if isinstance(data, list | tuple):
        return [found for value in data for found in _counts(value, key)]
    people = ("rows", "suppressed", "rows_in", "rows_out", "size", "above", "masked", "dropped", "k")
    return [(key, data)] if key in people and type(data) is int else []


@given(st.integers(0, 12), st.integers(1, 8), st.sampled_from([0.0, 0.02, 0.05, 0.2]))
def test_a_public_report_has_no_count_below_k(rare: int, k: int, limit: float) -> None:
    """Whatever the table and the choice: rows are counted as none or at least k, and no original row is shown."""
    table = town(rare) if rare else town(1)
    front = run_plan(problem(table, ("k", "glm"), limit))
    point = front.choose(k=k)
    report = make_report(point)
    assert all(count == 0 or count >= report.least for _, count in _counts(report.to_dict()))
    assert all(row.before is None for row in report.sample.rows)
    assert report.front.points
    assert all(p.values["k"] is not None and p.values["k"] >= report.least for p in report.front.points)
    lost = point.partition.suppressed_rows
    if 0 < lost < report.least:
        assert report.summary.rows_in is None
        assert report.summary.suppressed is None
        assert report.summary.loss == round_number(report.summary.loss or 0)
        assert not re.search(rf"\b{table.rows}\b", " ".join(Page(html(report)).words))


def test_a_small_number_of_suppressed_rows_is_not_told() -> None:
    """Two rows are suppressed where k is ten: the public report says fewer than ten, the confidential one two."""
    point = chosen(town(2), 0.05, k=10)
    assert point.partition.suppressed_rows == 2
    told = html(make_report(point))
    assert "fewer than 10 rows are suppressed" in told.lower()
    assert "If they must stay, make the limit under [suppression] in the job smaller, and search again." in told
    assert not re.search(r"\b62\b", " ".join(Page(told).words))
    secret = make_report(point, confidential=True)
    assert (secret.summary.suppressed, secret.summary.rows_in) == (2, 62)
    assert "Confidential." in html(secret)
    assert "**Confidential.**" in markdown(secret)


def _public_report(rare: int) -> Report:
    """The public report of sixty people in classes of ten, from which so many others are suppressed."""
    point = chosen(town(rare), 0.2, k=10)
    assert point.partition.suppressed_rows == rare
    tests = attack(point.partition, {"k": 10}, point.front.problem.suppression)
    return make_report(point, tests=tests, choice="k=10")


@pytest.mark.parametrize("rare", [2, 5, 9])
def test_a_public_report_is_the_same_whoever_few_are_suppressed(rare: int) -> None:
    """One row or nine: no form of the report has a byte from which their number could be worked out."""
    assert _texts(_public_report(rare)) == _texts(_public_report(1))


def test_other_points_are_left_out_where_few_are_suppressed() -> None:
    """Their k counts the suppressed rows too, so the released file would give the number by subtraction; it says why."""
    point = chosen(town(4), 0.2, k=10)
    report = _public_report(4)
    assert len(point.front) > 1
    assert [each.id for each in report.front.points] == [point.id]
    assert report.front.points[0].values == {"k": 10, "glm": None}
    assert report.front.drawing is None
    assert report.risks[0].before.highest is None
    for text in (html(report), markdown(report)):
        assert "Other points are left out of this public report: fewer than 10 rows are suppressed" in text
        assert "smaller k" not in text
    secret = make_report(point, confidential=True)
    assert len(secret.front.points) == len(point.front)
    assert secret.front.left_out_note == ""
    assert secret.front.points[0].values["glm"] is not None


def test_points_are_left_out_for_what_they_are(public: Report) -> None:
    """Points with a smaller k are told apart from those that would tell of a few suppressed rows."""
    assert public.front.left_out == 10
    note = (
        "Left out of this public report: 4 points with a smaller k than the release; 6 points whose numbers, beside "
        "the released file, would tell of fewer than 5 suppressed rows in a class."
    )
    assert public.front.left_out_note == note
    assert all(note in text for text in (html(public), markdown(public)))
    assert public.front.drawing is not None
    assert len(public.front.drawing.points) == 41 - public.front.left_out
    assert not public.front.drawing.cloud


def _lookers(seed: int) -> tuple[list[tuple[str, str]], Table]:
    """Two hundred people whose towns and ages are unevenly spread, as rows and as a table."""
    chance = np.random.default_rng(seed)
    towns = [f"t{min(5, int(n))}" for n in chance.geometric(0.4, 200)]
    ages = [str(20 + 5 * min(7, int(n))) for n in chance.geometric(0.3, 200)]
    places = from_levels("place", [(f"t{i}", f"p{i // 2}", "*") for i in range(6)])
    years = from_levels("age", [(str(20 + 5 * i), f"y{i // 2}", f"z{i // 4}", "*") for i in range(8)])
    table = read(pa.table({"place": towns, "age": ages}), Schema(("place", "age")), hierarchies=[places, years])
    return list(zip(towns, ages, strict=True)), table


def _labels_of(rows: list[tuple[str, str]], point: Point) -> list[tuple[str, ...]]:
    """What each row would show at a point, were none suppressed."""
    shape = point.recoding
    shown = [
        {leaf: labels[group] for leaf, group in zip(each.leaves, cut.tolist(), strict=True)}
        for each, cut, labels in zip(shape.hierarchies, shape.cuts, shape.labels, strict=True)
    ]
    return [tuple(column[cell] for column, cell in zip(shown, row, strict=True)) for row in rows]


def test_no_other_point_tells_of_few_suppressed_rows_in_a_class() -> None:
    """An intruder counts the classes of each shown point in the released file: what a class lacks is none or at least k."""
    left_out = 0
    for seed in range(8):
        rows, table = _lookers(seed)
        point = run_plan(problem(table, ("k", "glm"), 0.15)).choose(k=5)
        report = make_report(point)
        own = _labels_of(rows, point)
        sizes = Counter(own)
        stays = [sizes[label] >= report.least for label in own]
        assert stays.count(False) == point.partition.suppressed_rows
        told = {each.id for each in report.front.points}
        left_out += sum(each.values["k"] >= report.least and each.id not in told for each in point.front)
        for other in (each for each in point.front if each.id in told - {point.id}):
            labels = _labels_of(rows, other)
            if len({*zip(own, labels, strict=True)}) > len({*own}):
                continue  # its classes cannot be counted in the released file
            whole, seen = Counter(labels), Counter(label for label, stay in zip(labels, stays, strict=True) if stay)
            for label, size in whole.items():
                if size >= other.values["k"] > seen[label]:
                    assert size - seen[label] >= report.least
    assert left_out > 0


def test_trees_are_not_told_where_few_are_suppressed(folder: Path) -> None:
    """They count all rows; the report of a job holds them only where the number of suppressed rows may be known."""
    ages = [*range(20, 50)] * 3 + [95, 96]
    rows = {"age": ages, "sex": ["f", "m"] * 46, "ill": ["flu", "gout"] * 46}
    pyarrow.csv.write_csv(pa.table(rows), folder / "people.csv")
    (folder / "people.toml").write_text(JOB.replace('"sensitive"', '"target"'), encoding="utf-8")
    finding = find(folder / "people.toml", choose="k=4")
    assert 0 < finding.point.partition.suppressed_rows < 4
    told, secret = report_of(finding), report_of(finding, confidential=True)
    assert not any("A decision tree told" in each for each in told.summary.sentences)
    assert any("A decision tree told" in each for each in secret.summary.sentences)


def test_w3_says_whether_rows_or_persons_are_counted() -> None:
    """It is known which of the two, so a public report with few suppressed rows says it too."""
    rows = {each.id: each for each in _public_report(4).warnings}["W3"]
    assert "No person id is declared, so k = 10 counts rows." in rows.text
    cells = {"who": [f"p{i // 2}" for i in range(40)] + ["z"], "place": ["n", "n", "s", "s"] * 10 + ["w"]}
    table = read(pa.table(cells), Schema(("place",), person="who"))
    point = run_plan(problem(table, ("k", "glm"), 0.1)).choose(k=5)
    assert point.partition.suppressed_rows == 1
    people = {each.id: each for each in make_report(point).warnings}["W3"]
    assert people.text.startswith("Classes count persons, some of whom have several rows.")
    assert not people.numbers


def test_confidence_adds_rows_and_small_counts() -> None:
    """Original rows beside their recoding, suppressed rows among them, and the sizes of suppressed classes."""
    report = make_report(chosen(town(2), 0.05, k=10), confidential=True)
    befores = [row.before for row in report.sample.rows]
    assert ("farm", "80", "flu") in befores
    assert any(row.suppressed and row.size is None for row in report.sample.rows)
    assert any(size.suppressed for size in report.sizes)
    assert "farm" in {row.group for profile in report.profiles for row in profile.rows}
    page = " ".join(Page(html(report)).words)
    assert "before" in page
    assert "after" in page


def test_rare_values_of_a_bare_column_are_not_named() -> None:
    """A column of values and a star may have been read from the rows: a value that few have is not named in public."""
    point = chosen(town(2), 0.0, k=2)
    assert point.partition.suppressed_rows == 0
    report = make_report(run_plan(problem(town(2), ("k", "glm"), 0.0)).choose(k=62))
    age = report.columns[1]
    assert age.withheld
    assert "80" not in {label for band in age.bands for _, _, label in band.runs}
    assert age.codes[0].last is None
    assert "hierarchy of age" not in dict(report.method.hashes)
    assert not make_report(chosen(town(9), 0.0, k=2)).columns[1].withheld


RULES: dict[str, dict[str, object]] = {
    "dates": {"dates": True},
    "intervals": {"intervals": [10_000, 100_000], "from": 0},
    "quantiles": {"quantiles": 4},
    "prefix": {"prefix": [1, 2]},
    "flat": {},
}


def _texts(report: Report) -> dict[str, str]:
    """A report in each of its forms."""
    return {
        "html": html(report),
        "markdown": markdown(report),
        "json": json.dumps(report.to_dict(), ensure_ascii=False),
        "form": html(report, form=True),
        "form as markdown": markdown(report, form=True),
    }


def _single(rule: str, seed: int, common: int) -> Table:
    """Eighty people, most with a value of their own, some with a common one; a hierarchy over the observed values."""
    chance = np.random.default_rng(seed)
    days = sorted(int(n) for n in chance.choice(36_000, 70, replace=False))
    own = [f"{100_003 + 17 * day}" for day in days]
    if rule == "dates":
        own = [str(date(1920, 1, 1) + timedelta(days=day)) for day in days]
    cells = [own[0]] * common + own + [own[35]] * (10 - common)
    plain = read(pa.table({"own": cells, "sex": ["f", "m"] * 40}), Schema(("own", "sex")))
    if rule == "flat":
        return plain
    counted = dict(zip(plain.hierarchies[0].leaves, plain.leaf_rows[0].tolist(), strict=True))
    return plain.bind({"own": load("own", RULES[rule], counted)}, "observed")


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 10), st.sampled_from([2, 8, 16]), st.sampled_from([0.0, 0.1, 0.3]))
def test_no_rare_original_value_is_in_a_public_report(rule: str, seed: int, common: int, k: int, limit: float) -> None:
    """No value that fewer than k rows have is a word of any form of the report, unless a label of the release has it."""
    table = _single(rule, seed, common)
    front = run_plan(problem(table, ("k", "glm"), limit))
    point = front.choose(k=min(k, int(max(p.values["k"] for p in front))))
    report = make_report(point, tests=attack(point.partition, {"k": k}, point.front.problem.suppression))
    rows = table.leaf_rows[0]
    rare = {leaf for at, leaf in enumerate(table.hierarchies[0].leaves) if rows[at] < report.least}
    made = point.partition
    labels = shown_labels(as_choice(point), made)["own"]
    shown = {labels[g] for g in made.groups[~made.suppressed, 0].tolist()}
    for form, text in _texts(report).items():
        words = set(re.findall(r"[\w.]+(?:-[\w.]+)*", text)) | set(re.findall(r"[\w.]+", text))
        told = {leaf for leaf in rare & words if not any(leaf in label for label in shown)}
        assert not told, form
        assert "70 values" not in text
    assert report.columns[0].leaves is None
    secret = make_report(point, confidential=True)
    assert secret.columns[0].leaves == 70


def test_a_code_book_names_ends_that_many_rows_have() -> None:
    """Both ends of a group are named in public where k rows have each of them, without a number of values."""
    cells = ["1"] * 8 + ["2", "3"] + ["4"] * 9 + ["11"] * 6 + ["12"] * 2
    plain = read(pa.table({"own": cells, "sex": ["f"] * 27}), Schema(("own", "sex")))
    table = plain.bind({"own": load("own", {"intervals": [10], "from": 0}, plain.hierarchies[0].leaves)}, "observed")
    point = run_plan(problem(table, ("k", "glm"), 0.0)).choose(k=5)
    low, high = make_report(point).columns[0].codes
    assert (low.first, low.last, low.leaves, low.rows) == ("1", "4", None, 19)
    assert (high.first, high.last, high.leaves) == (None, None, None)
    assert "| 10-19 |  | 8 |" in markdown(make_report(point))
    assert "11 … 12 (2 values)" in markdown(make_report(point, confidential=True))


def test_labels_of_suppressed_rows_alone_are_not_in_a_public_report() -> None:
    """A label that no released row shows is not drawn, named or counted, at any level."""
    point = chosen(town(12), 0.2, k=15)
    assert point.partition.suppressed_rows == 12
    report = make_report(point)
    for form, text in _texts(report).items():
        assert not re.search(r"\bfarm\b|(?<!law of the )\bcountry\b", text), form
    place = report.columns[0]
    assert place.groups == 1
    assert [band.groups for band in place.bands] == [2, 1, 1]
    secret = make_report(point, confidential=True)
    assert [band.groups for band in secret.columns[0].bands] == [3, 2, 1]
    gone = ProfileRow("farm", 12, 12, 1.0, 1.0)
    stay = [ProfileRow(name, 30, 0, 0.0, 0.0) for name in ("north", "south", "west")]
    assert "farm" not in {row.group for row in Discretion(5, False).groups([gone, *stay])[0]}


def runs_of_words() -> Point:
    """Six of ann, three of bob and of dan, and one cat, alone with her sex: she is suppressed, the runs of names stay."""
    names = ["ann"] * 6 + ["bob"] * 3 + ["cat"] + ["dan"] * 3
    table = read(
        pa.table({"name": names, "sex": ["m" if name == "cat" else "f" for name in names]}), Schema(("name", "sex"))
    )
    bare = replace(table, bare=())  # names have no hierarchy of their own, only runs
    return run_plan(problem(bare, ("k", "lm"), 1), Plan("exact", "order")).choose(k=5)


@pytest.mark.parametrize("confidential", [False, True])
def test_a_label_made_of_values_is_that_of_the_release(confidential: bool) -> None:
    """A run of values is called by those that released rows have, as in the release, before anything is released."""
    point = runs_of_words()
    assert point.partition.suppressed_rows == 1
    assert "bob|cat|dan" in point.recoding.labels[0]
    report = make_report(point, confidential=confidential)
    assert {code.label for code in report.columns[0].codes if code.rows} == {"ann", "bob|dan"}
    for form, text in _texts(report).items():
        assert "bob|cat" not in text, form
        assert confidential or not re.search(r"\bcat\b", text), form


row_of_people = st.builds(
    lambda rows, lost, loss: ProfileRow("g", rows, min(lost, rows), min(lost, rows) / rows, loss),
    st.integers(1, 30),
    st.integers(0, 30),
    st.floats(0, 1),
)


@given(st.lists(row_of_people, min_size=1, max_size=8), st.integers(1, 12))
def test_small_groups_are_taken_together(rows: list[ProfileRow], least: int) -> None:
    """Nothing small is left, nobody is lost, and no group can be had by subtraction."""
    shown, merged = Discretion(least, False).groups(rows)
    if not shown:
        return
    for row in shown:
        for count in (row.rows, row.suppressed, row.rows - row.suppressed):
            assert count == 0 or count >= least
    assert sum(row.rows for row in shown) == sum(row.rows for row in rows)
    assert sum(row.suppressed for row in shown) == sum(row.suppressed for row in rows)
    assert merged != 1
    assert len(shown) == len(rows) - merged + (merged > 0)
    assert Discretion(least, True).groups(rows) == (tuple(rows), 0)


def test_nested_counts_cannot_be_subtracted() -> None:
    """Of counts of one whole, those are left out that differ too little from a shown one or from all."""
    discretion = Discretion(5, False)
    assert discretion.counts([10, 12, 20], 100) == [10, None, 20]
    assert discretion.counts([3, 98], 100) == [None, None]
    assert Discretion(5, True).counts([3, 98], 100) == [3, 98]


@pytest.mark.parametrize(
    ("value", "found"), [(0.0, 0.0), (0.2371, 0.24), (64191.5, 64000.0), (float("inf"), float("inf"))]
)
def test_rounding_keeps_two_digits(value: float, found: float) -> None:
    """Whatever the size of the number."""
    assert round_number(value) == found


def test_persons_are_counted_and_their_rows_not_told() -> None:
    """Where persons are told apart, k rows may be one person: the public sees no profile and no rows at risk."""
    rows = {"who": [f"p{i // 2}" for i in range(40)], "place": ["n", "s"] * 20, "ill": ["flu"] * 40}
    table = read(pa.table(rows), Schema(("place",), ("ill",), person="who"))
    point = run_plan(problem(table, ("k", "glm"), 0.0)).choose(k=2)
    report = make_report(point)
    assert report.summary.unit == "persons"
    assert report.summary.sentences[0].startswith("Every person in this release")
    assert all(rows in (None, 0) for _, rows, _ in report.risks[0].before.above)
    assert ("who", "direct identifier") in [row[:2] for row in report.template.sections[3].grid.rows]  # type: ignore[union-attr]


def test_w16_does_not_contradict_the_console(adult: Point) -> None:
    """In public it is the same where both points are shown exactly; otherwise it has no number."""
    point = next(each for each in adult.front if find_safer(each) is not None)
    safer = find_safer(point)
    assert safer is not None
    assert {each.id: each.text for each in remarks(context_of(point))}["W16"] == safer.sentence()
    for confidential in (True, False):
        report = make_report(point, confidential=confidential)
        told = {each.id: each for each in report.warnings}["W16"]
        shown = {each.id: each.suppressed for each in report.front.points}
        exact = all(shown.get(each.id) is not None for each in (safer.own, safer.other))
        assert (told.text == safer.sentence()) == bool(told.numbers) == exact
        assert "safer at nearly the same detail" in told.text


def test_w16_has_no_number_of_a_point_that_is_not_shown() -> None:
    """Where fewer than k rows are suppressed the other points are not for the public, nor what they would cost."""
    front = made_front([(5, 84.0, 3), (10, 83.5, 55), (11, 40.0, 0), (20, 30.0, 0)])
    remark = {each.id: each for each in remarks(Context(chosen(town()).partition, safer=find_safer(front[0])))}["W16"]
    seen, small = Discretion(5, False), Discretion(5, True)
    alert = _public_w16(remark, find_safer(front[0]), [0, 1, 2, 3], seen)
    assert not alert.numbers
    assert not re.search(r"\d", alert.text)
    assert _tell_marks(front, [0, 1, 2, 3], seen) == (
        "From k ≥ 11 to k ≥ 20: 10.0 points of detail less, and no more rows suppressed.",
    )
    assert len(_tell_marks(front, [0, 1, 2, 3], small)) == 4
    assert len(_tell_marks(front, [0, 1, 3], small)) == 2


def test_the_report_says_what_is_recommended_and_what_more_costs(adult: Point) -> None:
    """On the page, in Markdown and in JSON, as the command line says it; a choice without words is the recommended."""
    report = make_report(adult, confidential=True)
    words = [mark.words for mark in mark_points(adult.front) if mark.words]
    assert list(report.front.marks) == words
    assert len(words) == 4
    assert all(safe(sentence) in html(report) for sentence in words)
    assert all(escape_text(sentence) in markdown(report) for sentence in words)
    assert "recommended" in next(each for each in report.front.points if each.id == adult.id).marks
    assert "knee" not in html(report) + markdown(report)


@pytest.mark.parametrize("grey", [True, False])
def test_the_caption_explains_what_is_drawn(public: Report, grey: bool) -> None:
    """Grey dots are explained only where there are some."""
    drawn = public.front.drawing
    assert drawn is not None
    drawn = replace(drawn, cloud=drawn.points if grey else ())
    text = html(replace(public, front=replace(public.front, drawing=drawn)))
    assert ("Grey: recodings that another one beats." in text) == grey
    assert (text.count('class="cloud"') > 0) == grey


@pytest.mark.parametrize("confidential", [True, False])
def test_one_is_not_several(confidential: bool) -> None:
    """A number of one has a noun and a verb in the singular in the report's own words; warnings come from their room."""
    cells = {"place": ["n"] * 9 + ["s"], "ill": ["flu"] * 10}
    table = read(pa.table(cells), Schema(("place",), ("ill",)))
    front = run_plan(problem(table, ("k", "glm"), Suppression("cap-max-k", 0.1)))
    for point in front:
        report = replace(make_report(point, confidential=confidential), warnings=())
        said = " ".join((*Page(html(report)).words, markdown(report)))
        wrong = r"(?<![\d.,])1 (rows|classes|labels|groups|values|points|trade-offs|persons|columns|are|recodings)\b"
        assert not re.search(wrong, said)


def test_groups_made_of_the_rows_are_not_told_in_public() -> None:
    """A table of groups names no cell whose borders are original values, nor how many small groups there were."""
    sexes = ["x" if i % 8 == 7 else "fm"[i % 2] for i in range(96)]
    cells = {
        "own": [str(1000 + 7 * (i // 4)) for i in range(96)],
        "sex": sexes,
        "ill": [f"i{i % 6}" for i in range(96)],
    }
    plain = read(pa.table(cells), Schema(("own", "sex"), ("ill",)))
    counted = dict(zip(plain.hierarchies[0].leaves, plain.leaf_rows[0].tolist(), strict=True))
    table = plain.bind({"own": load("own", {"quantiles": 4}, counted)}, "observed")
    point = run_plan(problem(table, ("k", "glm"), 0.2)).choose(k=6)
    report, secret = make_report(point), make_report(point, confidential=True)
    assert "own" in {profile.by for profile in secret.profiles}
    assert {profile.by for profile in report.profiles} == {"sex", "ill"}
    assert any(profile.merged for profile in report.profiles)
    assert not re.search(r"\d other groups", markdown(report))


def test_w9_does_not_tell_how_many_values_occur() -> None:
    """Declared values less empty ones are the values that occur: the public reads neither number."""
    ages = from_levels("age", [(str(age), "*") for age in range(20, 60)])
    table = read(pa.table({"age": ["20", "21", "22"] * 6}), Schema(("age",)), hierarchies=[ages], domain="declared")
    point = run_plan(problem(table, ("k", "glm"), 0.0)).choose(k=6)
    told = {each.id: each for each in make_report(point).warnings}["W9"]
    assert not told.numbers
    assert "of the 40 values" not in told.text
    secret = {each.id: each for each in make_report(point, confidential=True).warnings}["W9"]
    assert "37 of the 40 values" in secret.text


# -- the form ----------------------------------------------------------------------------------------------------------


def test_the_form_has_what_regulators_ask_for(public: Report) -> None:
    """Inventory, threshold, initial and residual risk, method and results filled in; people's lines left open."""
    sections = {section.title: section for section in public.template.sections}
    inventory = sections["Variable inventory"].grid
    assert inventory is not None
    techniques = {row[0]: (row[1], row[2]) for row in inventory.rows}
    assert techniques["age"] == ("indirect (quasi-identifier)", "generalized to 2 groups (level 5 of 6)")
    assert techniques["sex"][1] == "kept as it is"
    assert techniques["marital-status"][1] == "hidden: every row shows the same"
    assert techniques["occupation"][0] == "sensitive"
    limits = sections["Threshold"].grid
    assert limits is not None
    met = {row[0]: row[-1] for row in limits.rows}
    assert met == {**dict.fromkeys(("statistics-3", "statistics-5"), "met"),
                   **dict.fromkeys(("cms-11", "ema-0070", "health-canada", "strict-20"), "not met")}  # fmt: skip
    left = [field.label for section in public.template.sections for field in section.fields if field.value is None]
    assert {"Recipients", "Valid until", "Signature", "Expert", "Threshold chosen"} <= set(left)
    for text in (html(public, form=True), markdown(public, form=True), html(public), markdown(public)):
        assert "Valid until" in text
        assert "Signature" in text
        assert "45 CFR 164.514" in text


def test_a_column_at_its_top_is_hidden_only_behind_a_star() -> None:
    """Where every row shows 2024 the form says so; it does not call the column hidden."""
    year = from_levels("day", [(f"2024-0{month}", "2024") for month in range(1, 9)])
    rows = {"day": [f"2024-0{1 + i % 8}" for i in range(16)], "sex": ["f", "m"] * 8}
    table = read(pa.table(rows), Schema(("day", "sex")), hierarchies=[year, flat("sex", ["f", "m"])])
    report = make_report(run_plan(problem(table, ("k", "glm"), 0.0)).choose(k=16))
    assert [technique(column) for column in report.columns] == [
        "generalized to 1 group (level 1 of 1): every row shows '2024'",
        "hidden: every row shows the same",
    ]
    assert "0 of them keep their values, 1 is generalized, 1 is hidden." in report.method.statement[0]


@pytest.mark.parametrize(("given", "said"), [("drop", "removed"), ("token", "a random token, new for every row")])
def test_the_form_knows_the_rows_as_written(folder: Path, given: str, said: str) -> None:
    """What becomes of identifiers is told as the job says, and every plain column is named."""
    rows = pyarrow.csv.read_csv(folder / "people.csv")
    rows = rows.append_column("name", pa.array([f"n{i}" for i in range(90)]))
    for name in ("note", "ward", "open"):
        rows = rows.append_column(name, pa.array(["a"] * 90))
    pyarrow.csv.write_csv(rows, folder / "people.csv")
    job = JOB + f'identifiers = "{given}"\n[columns.name]\nrole = "identifier"\n'
    job += '[columns.ward]\ntie = "age"\n[columns.open]\nrole = "decide"\n'
    (folder / "people.toml").write_text(job)
    grid = report_of(find(folder / "people.toml")).template.sections[3].grid
    assert grid is not None
    done = {row[0]: (row[1], row[2]) for row in grid.rows}
    assert said in done["name"][1]
    assert done["note"][0] == done["ward"][0] == "plain"
    assert "as it is" in done["note"][1]
    assert done["ward"][1] == "shows the groups of 'age'"
    assert done["open"] == ("not decided", "removed until somebody decides")
    assert "all other columns" not in done


# -- Safe Harbor -------------------------------------------------------------------------------------------------------


def checklist_of(report: Report) -> dict[str, tuple[str, ...]]:
    """Columns and fate by the letter of the kind."""
    part = next(section for section in report.template.sections if section.title == CHECKLIST)
    assert part.grid is not None
    return {row[0][1]: row[1:] for row in part.grid.rows}


def test_the_checklist_names_columns_and_their_fate(folder: Path) -> None:
    """A line for each of the 18 kinds: identifiers by name, plain ones too, and what becomes of each."""
    rows = pyarrow.csv.read_csv(folder / "people.csv")
    for name in ("name", "e-mail", "city", "phone"):
        rows = rows.append_column(name, pa.array([f"{name} {i}" for i in range(90)]))
    pyarrow.csv.write_csv(rows, folder / "people.csv")
    roles = "".join(f'[columns.{name}]\nrole = "identifier"\n' for name in ("name", "e-mail"))
    (folder / "people.toml").write_text(f'{JOB}{roles}[columns.city]\nrole = "plain"\n')
    report = report_of(find(folder / "people.toml"))
    lines = checklist_of(report)
    assert "".join(lines) == "ABCDEFGHIJKLMNOPQR"
    assert lines["A"] == ("name", "name: removed")
    assert lines["F"] == ("e-mail", "e-mail: removed")
    assert lines["B"] == ("city", "city: released as it is; check that it does not identify")
    assert lines["D"][0] == "phone"
    assert lines["C"][0] == "age"
    assert lines["C"][1].endswith(", no label that begins above 89")
    assert lines["R"] == ("none seen", "")
    for text in (markdown(report), html(report, form=True)):
        assert SEEN_BY.split(":", maxsplit=1)[0] in text
        assert UNREAD not in text


def test_the_checklist_says_what_it_could_not_read(folder: Path) -> None:
    """Without the source the names of plain columns are unknown, and that is said."""
    finding = find(folder / "people.toml")
    (folder / "people.csv").unlink()
    part = next(each for each in report_of(finding).template.sections if each.title == CHECKLIST)
    assert UNREAD in part.text


def test_the_terms_of_iso_27559_have_the_numbers_of_the_release(folder: Path) -> None:
    """Each clause that a number answers has it as the table of risks has it; what only people know is left to them."""
    report = report_of(find(folder / "people.toml"))
    part = next(section for section in report.template.sections if section.title == ISO)
    assert part.grid is not None
    answers = {row[0]: row[1] for row in part.grid.rows}
    assert [row[0].split(" ")[0] for row in part.grid.rows] == ["6", *["7.3"] * 4, "8.2", "8.2", "8.3", "9"]
    prosecutor = report.risks[0].after
    assert f"prosecutor {chance(prosecutor.highest, prosecutor)}" in answers["7.3 Attack modelling: maximum risk"]
    assert f"prosecutor {chance(prosecutor.mean, prosecutor)}" in answers["7.3 Attack modelling: average risk"]
    assert prosecutor.basis in answers["7.3 Attack modelling: population or sample"]
    assert f"k = {report.summary.k}" in answers["7.3 Attack modelling: data privacy models"]
    assert "adversarial testing" in markdown(report)


def limit_of(name: str, values: list[str], rule: dict[str, object], k: int) -> tuple[str, str]:
    """Kinds and fate of a column with 20 rows of each value, at some k."""
    rows = pa.table({name: values * 20, "sex": ["f"] * 20 * len(values)})
    table = read(rows, Schema((name, "sex")), hierarchies={name: rule})
    report = make_report(run_plan(problem(table, ("k", "glm"), 0.0)).choose(k=k))
    lines = {kind: fate for kind, (columns, fate) in checklist_of(report).items() if columns == name}
    return "".join(lines), "; ".join(lines.values())


@pytest.mark.parametrize(
    ("name", "values", "rule", "k", "kinds", "said"),
    [
        ("birth", ["1990-03-04", "1990-07-01"], {"dates": ["month", "year"]}, 20, "C", ", finer than a year"),
        ("birth", ["1990-03-04", "1990-07-01", "1971-01-01", "1971-01-02"], {"dates": ["year"]}, 40, "C", ", years"),
        ("seen", ["1990-03-04", "1990-07-01"], {"dates": ["month", "year"]}, 20, "C", ", finer than a year"),
        ("zip", ["10115", "10134"], {"prefix": [3, 2]}, 20, "B", "labels of more than three signs, stars aside"),
        ("zip", ["10115", "10134", "20115", "20134"], {"prefix": [3, 2]}, 40, "B", "at most three signs, stars aside"),
        ("town", ["Ulm", "Bonn"], {"flat": True}, 20, "B", ", whether coarser than a state was not looked at"),
        ("age", ["34", "93"], {"intervals": [5, 20], "from": 0}, 20, "C", ", with 1 label above 89"),
        ("age", ["33", "34", "93", "97"], {"known": "ages"}, 20, "C", ", with 2 labels above 89"),
        ("age", ["33", "34", "93", "97"], {"known": "ages"}, 40, "C", ", above 89 only the label '90+'"),
        ("age", ["old", "young"], {"flat": True}, 20, "C", ", whether ages over 89 have a label is not clear"),
        ("age", ["34", "93"], {"flat": True}, 40, "C", "age: hidden: every row shows the same"),
        ("state", ["Ohio", "Utah"], {"flat": True}, 20, "", ""),
        ("salary", ["1990.25", "2000.50"], {"flat": True}, 20, "", ""),
    ],
)
def test_the_checklist_reads_labels(
    name: str, values: list[str], rule: dict[str, object], k: int, kinds: str, said: str
) -> None:
    """Dates finer than a year, ages over 89 and more than three digits of a ZIP code are told by the labels."""
    letters, fate = limit_of(name, values, rule, k)
    assert letters == kinds
    assert fate.endswith(said)


# -- fronts read back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["cap-max-k", "as-needed"])
def test_a_front_read_back_is_the_same(rule: Any, tmp_path: Path) -> None:
    """Recodings, numbers, order and provenance survive the JSON."""
    question = problem(town(), ("k", "glm"), Suppression(rule, 0.2))
    front = run_plan(question)
    file = tmp_path / "front.json"
    file.write_text(json.dumps(front.to_dict()))
    again = load_front(file, question)
    assert (again.genomes == front.genomes).all()
    assert (again.numbers.values == front.numbers.values).all()
    assert (again.numbers.thresholds == front.numbers.thresholds).all()
    assert again.provenance.complete
    assert again.to_dict()["points"] == front.to_dict()["points"]


def test_a_front_of_cuts_is_read_back() -> None:
    """Genomes are kept for spaces without levels, and such a front has a report too."""
    question = problem(town(), ("k", "glm"), 0.05)
    space = make_cuts(question.table.hierarchies)
    genomes = np.array([[0] * len(space.genes), [1] * len(space.genes)], dtype=np.int64)
    made = Provenance("nsga2", 2, False, 1)
    front = make_front(question, space, genomes, question.evaluate(space, genomes), made)
    again = load_front(front.to_dict(), question)
    assert (again.genomes == front.genomes).all()
    report = make_report(again[len(again) - 1])
    assert not report.front.by_levels
    assert report.columns[0].level is None
    assert "chosen cut" in html(report)


def _changed(data: dict[str, Any], how: str) -> object:
    if how == "value":
        data["points"][0]["values"]["glm"] += 1
    elif how == "objectives":
        data["objectives"][1]["name"] = "lm"
    elif how == "level":
        data["points"][0]["levels"]["place"] = 9
    elif how == "space":
        del data["points"][0]["levels"]
    elif how == "front":
        del data["points"]
    return data


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("value", "Point 0 of the front has other numbers on this table"),
        ("objectives", "The front has the objectives k, lm, and the job has k, glm"),
        ("level", "levels that the hierarchies of the job do not have"),
        ("space", "points[0].levels', which is missing, belongs there"),
        ("front", "what was given is not a front of kpareto"),
    ],
)
def test_a_changed_front_is_a_sentence(how: str, sentence: str) -> None:
    """A front of another table, job or program is refused with the reason."""
    question = problem(town(), ("k", "glm"), 0.05)
    data = json.loads(json.dumps(run_plan(question).to_dict()))
    with pytest.raises(BadInput, match=re.escape(sentence)):
        load_front(_changed(data, how), question)  # type: ignore[arg-type]


def test_a_file_that_is_no_front_is_a_sentence(tmp_path: Path) -> None:
    """Missing, or not JSON."""
    question = problem(town(), ("k", "glm"), 0.05)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        load_front(tmp_path / "none.json", question)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(BadInput, match="is not JSON"):
        load_front(tmp_path / "bad.json", question)


# -- files -------------------------------------------------------------------------------------------------------------

JOB = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [10, 40], from = 0}
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[suppression]
limit = 0.05
[release]
choose = "k=4"
target = "out.csv"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A job and its rows."""
    rows = {"age": [20 + i % 30 for i in range(90)], "sex": ["f", "m"] * 45, "ill": ["flu", "gout", "cold"] * 30}
    pyarrow.csv.write_csv(pa.table(rows), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(JOB)
    return tmp_path


@pytest.mark.parametrize(("name", "begins"), [("r.html", "<!DOCTYPE html>"), ("r.md", "# Candidate"), ("r.json", "{")])
def test_a_job_becomes_a_report(folder: Path, name: str, begins: str) -> None:
    """The ending of the target says the form; choice and limits are the job's."""
    assert write_report(folder / "people.toml", folder / name) == folder / name
    text = (folder / name).read_text()
    assert text.startswith(begins)
    assert "k=4" in text


def test_a_front_beside_its_job_becomes_a_report(folder: Path) -> None:
    """The front's JSON is read back and its rows come from the job; the choice can be made anew."""
    finding = find(folder / "people.toml")
    (folder / "people.json").write_text(json.dumps(finding.point.front.to_dict()))
    write_report(folder / "people.json", folder / "r.json", choose="id=0", confidential=True)
    report = json.loads((folder / "r.json").read_text())
    assert report["front"]["chosen"] == 0
    assert report["confidential"]
    again = find(folder / "people.json")
    assert again.point.values == finding.point.values


def test_a_front_without_its_job_is_a_sentence(folder: Path) -> None:
    """Rows are needed, and they come with the job."""
    lone = folder / "lone"
    lone.mkdir()
    (lone / "front.json").write_text("{}")
    with pytest.raises(BadInput, match=r"has no job beside it.*'front.toml'"):
        write_report(lone / "front.json", folder / "r.html")
    assert find_fails(lone / "front.json", folder / "people.toml")


def find_fails(front: Path, job: Path) -> bool:
    """Whether a front that is none is refused although its job is given."""
    with pytest.raises(BadInput, match="is not a front of kpareto"):
        find(front, job=job)
    return True


def test_a_release_is_looked_at(folder: Path) -> None:
    """With a release the report has its hash, its handling and the rows unique on all columns; a lying one is found."""
    finding = find(folder / "people.toml")
    done = release(finding.point, folder / "people.csv", folder / "out.csv", limits={"k": 4})
    done.certificate.write(folder / "out.certificate.json")
    told = report_of(finding, done)
    assert dict(told.method.hashes)["released file"] == done.certificate.public["release"]["sha256"]
    assert "W13" in [alert.id for alert in told.warnings]
    assert "released columns together" in told.warnings[0].text
    found = report_of(finding)
    assert found.method.hashes == told.method.hashes
    secret = report_of(finding, done, confidential=True)
    assert dict(secret.method.hashes)["input"] == done.certificate.confidential["input"]["sha256"]
    (folder / "out.csv").write_text("another file")
    assert "released file" not in dict(report_of(finding).method.hashes)


def test_long_work_of_a_report_is_told(folder: Path) -> None:
    """A search that is still to be made and the trees of a target say what they are and how far; what is known not."""
    heard: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def phase(name: str) -> Iterator[Progress]:
        told = heard.setdefault(name, [])
        yield lambda done, total: told.append((done, total))

    (folder / "people.toml").write_text(JOB.replace('"sensitive"', '"target"'), encoding="utf-8")
    write_report(folder / "people.toml", folder / "people.html", phase=phase)
    assert list(heard) == ["Searching", "Growing decision trees"]
    for told in heard.values():
        assert told[-1][0] == told[-1][1] > 0
    assert "A decision tree told" in (folder / "people.html").read_text(encoding="utf-8")


def test_a_report_warns_as_the_release_does(folder: Path) -> None:
    """A population that is known is not said to be unknown, and a tied column is not said to leave as it is."""
    rows = pyarrow.csv.read_csv(folder / "people.csv")
    rows = rows.append_column("years", rows["age"]).append_column("note", pa.array([f"n{i}" for i in range(90)]))
    pyarrow.csv.write_csv(rows, folder / "people.csv")
    told = '[columns.years]\ntie = "age"\n[columns.note]\nrole = "plain"\n[population]\nsampling = 0.5\n'
    (folder / "people.toml").write_text(JOB + told)
    finding = find(folder / "people.toml")
    done = release_job(finding.job, finding.point.front)
    secret = {alert.id: alert.text for alert in report_of(finding, done, confidential=True).warnings}
    assert "W6" not in secret
    assert "W6" not in [alert.id for alert in make_report(finding.point).warnings]
    assert "(ill, note)" in secret["W1"]
    assert {warning.id: warning.text for warning in done.warnings}["W1"] == secret["W1"]


@pytest.mark.parametrize("declared", [False, True])
def test_a_column_that_tells_another_is_told_of(folder: Path, declared: bool) -> None:
    """W17 is found in the written rows: the report has it, from the release or its certificate, in public unnumbered."""
    rows = pyarrow.csv.read_csv(folder / "people.csv")
    pyarrow.csv.write_csv(rows.append_column("years", rows["age"]), folder / "people.csv")
    (folder / "people.toml").write_text(JOB + f"[columns.years]\ndeclared = {str(declared).lower()}\n")
    finding = find(folder / "people.toml")
    done = release_job(finding.job, finding.point.front)
    (told,) = (warning for warning in done.warnings if warning.id == "W17")
    for release_at_hand in (done, None):
        secret = report_of(finding, release_at_hand, confidential=True).warnings
        assert [(each.severity, each.text) for each in secret if each.id == "W17"] == [(told.severity, told.text)]
        (public,) = (each for each in report_of(finding, release_at_hand).warnings if each.id == "W17")
        assert public.severity == ("caution" if declared else "danger")
        assert public.text.startswith("Columns that leave as they are tell what generalized ones hide")
        assert not public.numbers
        assert not re.search(r"\d", public.text)


def test_the_form_is_written_alone(folder: Path) -> None:
    """As a page or as Markdown, not as JSON."""
    write_report(folder / "people.toml", folder / "form.md", form=True)
    assert (folder / "form.md").read_text().startswith("# Anonymisation report (draft)")
    write_report(folder / "people.toml", folder / "form.html", form=True)
    assert len(Page((folder / "form.html").read_text()).all("dl")) >= 4
    with pytest.raises(BadJob, match=r"The form is written as .html or .md, not as 'form.json'"):
        write_report(folder / "people.toml", folder / "form.json", form=True)


def test_a_release_made_with_changes_can_be_reported(folder: Path) -> None:
    """``--set`` changes the job of a report as it changes that of a release, so that the release is found again."""
    changes = ["--set", "release.choose='k=9'", "--set", "release.target='other.csv'", "-q"]
    assert main(["release", str(folder / "people.toml"), *changes]) == 0
    assert main(["report", str(folder / "people.toml"), "-o", str(folder / "r.json"), *changes]) == 0
    report = json.loads((folder / "r.json").read_text())
    assert report["front"]["choice"] == "k=9"
    assert "released file" in dict(report["method"]["hashes"])
    form = ["report", str(folder / "people.toml"), "--template", "-o", str(folder / "f.md"), *changes]
    assert main(form) == 0
    assert main(["report", str(folder / "people.toml"), "-o", str(folder / "r.json"), "--set", "serch.seed=3"]) == 2


def test_a_wrong_ending_is_a_sentence(folder: Path) -> None:
    """Nothing is searched or written."""
    with pytest.raises(BadJob, match=r"A report is written as .html, .md or .json, not as 'r.pdf'"):
        write_report(folder / "people.toml", folder / "r.pdf")


def test_the_page_about_reports_runs() -> None:
    """The code in docs/report.md gives what it prints."""
    page = Path(__file__).parents[3] / "docs" / "report.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 5
    assert found.failed == 0


def test_a_target_brings_the_error_of_a_decision_tree(tmp_path: Path) -> None:
    """IY-12: with a target column the report tells what recoding costs a tree; without one it says nothing of trees."""
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'kpareto[ml]'")
    job = tmp_path / "job.toml"
    job.write_text(
        '[data]\nsource = "adult"\n[columns.salary-class]\nrole = "target"\n[suppression]\nlimit = 0.01\n'
        '[search]\nobjectives = ["k", "cm"]\n[release]\nchoose = "k=5"\n'
    )
    text = write_report(job, tmp_path / "r.md").read_text()
    assert "A decision tree told 'salary-class' wrong in" in text
    assert "decision tree" not in write_report("adult", tmp_path / "plain.md").read_text()


def test_the_size_of_a_space_of_cuts_is_not_told(tmp_path: Path) -> None:
    """It follows from how many values occur; of a lattice it follows from the declared levels."""
    job = tmp_path / "job.toml"
    job.write_text(
        '[data]\nsource = "adult"\npreset = "lunacek_92"\n[suppression]\nlimit = 0.02\n'
        '[search]\nmethod = "nsga2"\nspace = "cuts"\nobjectives = ["k", "lm"]\nbudget = 400\npopulation = 20\n'
        '[release]\nchoose = "k=5"\n'
    )
    text = write_report(job, tmp_path / "r.md").read_text()
    assert "of the space 'cuts'" in text
    size = make_cuts(load_job(job).table().hierarchies).size
    assert f"{size:,}" not in text
    assert "17,920" in write_report("adult", tmp_path / "plain.md").read_text()
