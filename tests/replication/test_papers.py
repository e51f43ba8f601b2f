"""The five papers rebuilt on reduced budgets: every result is there, verdicts are worked out, the anchors hold."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kpareto.faces.cli import main
from kpareto.jobs.examples import PAPERS
from kpareto.searches.compare import rank_test
from kpareto.tables.cuts import make_order
from replication import contents, ids_of, rebuild, write_page
from replication.__main__ import papers
from replication.families import FAMILY, REPLICATION, member_counted
from replication.figures import Band, Boxes, Figure, Panel, draw, series
from replication.lattices import adult_counted
from replication.page import (
    Page,
    PaperResult,
    Statement,
    Verdict,
    between,
    claims,
    duration,
    grid,
    incomparable,
    near,
    plain,
    together,
)  # fmt: skip
from replication.preferences import groups_of
from replication.tolerances import TOLERANCES, equal_as, every, lower_as, near_as, same_as
from replication.trials import apart
from tests.searches.cuts.test_nsga2 import reduced

DOCS = Path(__file__).parents[2] / "docs" / "papers"
IDS = {  # typed from docs/papers/readings.md
    "iyengar": ["IY-r1", "IY-r2", "IY-r3a", "IY-r3b", "IY-r4a", "IY-r4b", "IY-r5a", "IY-r5b", "IY-r5c", "IY-r6a", "IY-r6b",
                "IY-r7", "IY-r8", "IY-r9a", "IY-r9b", "IY-r10a", "IY-r10b", "IY-r11a", "IY-r11b", "IY-r11c", "IY-r12a",
                "IY-r12b", "IY-r12c", "IY-r13"],
    "lunacek": ["LU-r1", "LU-r2", "LU-r3a", "LU-r3b", "LU-r3c", "LU-r4a", "LU-r4b", "LU-r4c", "LU-r5a", "LU-r5b",
                "LU-r6a", "LU-r6b", "LU-r6c", "LU-i3a", "LU-i3b", "LU-i3c", "LU-i4a", "LU-i4b", "LU-i4c", "LU-i5a",
                "LU-i5b", "LU-i6a", "LU-i6b", "LU-i6c"],
    "gecco09": ["GE-r1a", "GE-r1b", "GE-r2a", "GE-r2b", "GE-r2c", "GE-r3a", "GE-r3b", "GE-r4a", "GE-r4b", "GE-r4c",
                "GE-r4d", "GE-r5a", "GE-r5b", "GE-r5c", "GE-r5d", "GE-o5a", "GE-o5b", "GE-o5c", "GE-o5d", "GE-r6a", "GE-r6b", "GE-r6c", "GE-r6d", "GE-r7"],
    "poka": ["PO-r1", "PO-r2a", "PO-r2b", "PO-r3a", "PO-r3b", "PO-r4a", "PO-r4b", "PO-r5a", "PO-r5b", "PO-r6a", "PO-r6b",
             "PO-r7a", "PO-r7b", "PO-r8", "PO-r9", "PO-r10a", "PO-r10b", "PO-r11", "PO-r12a", "PO-r12b", "PO-r12c"],
    "pbg": ["PB-r1a", "PB-r1b", "PB-r1c", "PB-r2a", "PB-r2b", "PB-r2c", "PB-r3a", "PB-r3b", "PB-r3c", "PB-r4a", "PB-r4b",
            "PB-r4c", "PB-r5", "PB-r6a", "PB-r6b", "PB-r7a", "PB-r7b", "PB-r8a", "PB-r8b", "PB-r9a", "PB-r9b", "PB-r9c",
            "PB-r10a", "PB-r10b", "PB-r10c", "PB-r10d", "PB-r11", "PB-r12a", "PB-r12b"],
}  # fmt: skip
TESTED = {  # verdicts by a test between runs, for which a quick run has too few
    "iyengar": {"IY-r9a", "IY-r9b", "IY-r10b"},
    "lunacek": {f"LU-{x}{n}" for x in "ri" for n in ("3a", "3b", "3c", "4a", "4b", "4c", "5a", "5b", "6a", "6b", "6c")},
    "gecco09": {"GE-r4a", "GE-r4b", "GE-r4d"},
}
FIGURES = {
    "iyengar": [f"iyengar-figure-{n}" for n in range(6, 13)],
    "lunacek": ["lunacek-figure-4", "lunacek-figure-5"],
    "gecco09": [f"gecco09-figure-{n}" for n in range(1, 5)],
    "poka": ["poka-figure-4", "poka-figure-5", "poka-table-3", "poka-figure-6"],
    "pbg": ["pbg-figure-1", "pbg-figure-2", "pbg-figure-3", "pbg-table-2"],
}


def _together(name: str) -> pytest.MarkDecorator:
    """Tests of one paper share a process, so that its quick run is made once."""
    return pytest.mark.xdist_group(f"papers-{name}")


LONG = pytest.mark.timeout(1200)  # the first test of a paper makes its quick run
EACH = pytest.mark.parametrize("name", [pytest.param(name, marks=(_together(name), LONG)) for name in PAPERS])


@cache
def quick(name: str) -> Page:
    """One paper on reduced budgets."""
    return rebuild(name, True, lambda _: None)


def result(name: str, key: str) -> PaperResult:
    """One result of a quick run."""
    return next(each for each in quick(name).results if each.id == key)


@EACH
def test_every_result_is_on_one_page(name: str) -> None:
    """Each reported result stands on exactly one page, in a quick run and in the committed full run."""
    assert list(ids_of(name)) == IDS[name]
    assert sorted(each.id for each in quick(name).results) == sorted(IDS[name])
    kept = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
    assert [each["id"] for each in kept["results"]] == [each.id for each in quick(name).results]
    assert not kept["quick"]


@EACH
def test_reduced_budgets_give_the_same_verdicts(name: str) -> None:
    """A quick run judges every result as the committed full run does, or says that its runs are too few for a test."""
    kept = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
    full = {each["id"]: each["verdict"] for each in kept["results"]}
    few = {each.id for each in quick(name).results if "runs are too few for a test" in each.verdict.note}
    assert few == TESTED.get(name, set())
    assert {each.id: each.verdict.kind for each in quick(name).results if each.id not in few} == {
        key: verdict for key, verdict in full.items() if key not in few
    }


@EACH
def test_the_committed_page_shows_the_committed_numbers(name: str) -> None:
    """Every row of results on the page is that of its JSON, and the page says how long it took."""
    kept = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for each in kept["results"]:
        verdict = str(Verdict(each["verdict"], each["note"]))
        assert grid((), [(each["id"], each["setting"], each["printed"], each["ours"], verdict)])[-1] in text
    assert f"| the whole page |  | {duration(kept['seconds'])} | {duration(kept['cpu_seconds'])} |" in text
    assert kept["versions"]["machine"] in text


@EACH
def test_every_figure_is_drawn(name: str, tmp_path: Path) -> None:
    """All figures are there, small, and the same bytes twice; pages link to files that exist."""
    made = quick(name)
    assert [figure.name for figure in made.figures] == FIGURES[name]
    write_page(made, tmp_path)
    (tmp_path / "README.md").write_text(contents(tmp_path), encoding="utf-8")
    for figure in made.figures:
        content = (tmp_path / f"{figure.name}.svg").read_bytes()
        assert len(content) < 150_000
        assert b"<svg" in content
    assert draw(made.figures[0]) == draw(made.figures[0])
    for folder in (tmp_path, DOCS):
        for page in (folder / f"{name}.md", folder / "README.md"):
            for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
                assert (folder / link).exists(), (page, link)


@EACH
def test_pages_end_with_errors_and_what_is_proven(name: str) -> None:
    """Each page says what the paper gets wrong, what our test of it showed, and what the exact engine adds."""
    made = quick(name)
    assert made.findings
    assert made.beyond
    assert made.summary
    text = made.markdown()
    assert text.index("## What the paper gets wrong") < text.index("## What the exact engine says")
    assert "quick run" in text


@_together("iyengar")
def test_the_first_anchor() -> None:
    """IY-r4: the printed recoding has exactly 5510 of 30162 rows told wrong and LM .753109, and is found again."""
    numbers = result("iyengar", "IY-r4a").numbers
    assert (numbers["classes"], numbers["smallest"], numbers["cm_rows"], numbers["rows"]) == (18, 284, 5510, 30162)
    assert numbers["lm"] == pytest.approx(0.753109, abs=5e-7)
    assert numbers["found again"]


@_together("poka")
@pytest.mark.parametrize(
    ("depth", "nodes", "hits"),
    [(1, 505, 22), (2, 1908, 34), (3, 4120, 40), (4, 6888, 40), (5, 9803, 40), (6, 12453, 40)],
)
def test_the_second_anchor(depth: int, nodes: int, hits: int) -> None:
    """Table 3 of POkA is that of the independent program within one node, and within a tenth of the printed one."""
    numbers = result("poka", f"PO-r{depth + 1}a").numbers
    assert abs(numbers["evaluated"] - nodes) <= 1
    assert (numbers["hits"], numbers["optima"]) == (hits, 42)
    printed = {1: 502, 2: 1945, 3: 4033, 4: 6544, 5: 9205, 6: 11751}[depth]
    assert numbers["evaluated"] == pytest.approx(printed, rel=0.1)


@EACH
def test_errors_of_the_papers_are_confirmed(name: str) -> None:
    """Each error told on a page is re-derived, PO-e1 to PO-e8 and PB-e1 to PB-e8 among them."""
    found = quick(name).findings
    assert all(finding.confirmed for finding in found), [f.id for f in found if not f.confirmed]
    if name in ("poka", "pbg"):
        assert [finding.id for finding in found] == [f"{'PO' if name == 'poka' else 'PB'}-e{n}" for n in range(1, 9)]


def test_verdicts_follow_the_numbers() -> None:
    """Within the tolerance a number matches, beyond it differs and by how much is told."""
    assert near(505, 502, 0.1, relative=True) == Verdict("matches", "+0.6%, within 10%")
    assert near(0.9, 1.0, 0.05).kind == "differs"
    assert between([0.2, 0.3], 0.1, 0.3).kind == "matches"
    assert "by 0.1" in between([0.2, 0.4], 0.1, 0.3).note
    assert between([0.2, 0.4], 0.1, 0.3, 0.1) == Verdict("matches", "0.2 … 0.4 leaves 0.1 … 0.3 by 0.1, within 0.1")
    assert between([0.7], 0.8, 0.8, 0.05).kind == "differs"
    assert claims({"a": True, "b": False}) == Verdict("differs", "not seen: b. Seen: a")
    assert together({"a": Verdict("matches", "x"), "b": Verdict("differs", "by 2")}).note == "1 of 2: b by 2"
    assert together({"a": Verdict("matches", "x")}).kind == "matches"
    assert str(incomparable("other rows")) == "**cannot be compared**: other rows"


def test_tolerances_are_one_table_with_reasons() -> None:
    """Every kind has an amount and a reason, verdicts by kind use it, and the table is on the first page."""
    assert all(each.reason and each.within >= 0 for each in TOLERANCES.values())
    assert near_as("loss", 0.22, 0.21).kind == "matches"
    assert near_as("loss", 0.2347, 0.21).kind == "differs"
    assert near_as("factor", 1.9e-4, 3.7e-4).kind == "matches"
    assert near_as("factor", 1.9e-4, 4.9e-3).kind == "differs"
    assert near_as("factor", 0.0, 1.0).kind == "differs"
    assert same_as("final", [36_000, 36_060], 36_000).kind == "matches"
    assert same_as("final", [36_000, 36_080], 36_000).kind == "differs"
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    assert all(each.reason in text for each in TOLERANCES.values())


def test_two_searches_are_compared_by_a_test() -> None:
    """What chance explains gets no verdict, what it does not one by its direction, and few runs none."""
    rng = np.random.default_rng(4)
    low, high = rng.normal(0.0, 1.0, 20), rng.normal(2.0, 1.0, 20)
    assert lower_as({"": (low, high)}).kind == "matches"
    assert lower_as({"": (high, low)}).kind == "differs"
    assert lower_as({"": (low, high), "same": (low, low + 0.01)}).kind == "cannot be compared"
    assert "power of 80 %" in lower_as({"": (low, high)}).note
    assert lower_as({"": (low[:9], high)}).note.startswith("9 runs are too few for a test")
    near, far = np.full(20, 100.0) + low / 100, np.full(20, 101.0) + high / 100
    assert equal_as("final", near, near[::-1], 100.0, np.median).kind == "matches"
    assert equal_as("final", near, far, 100.0, np.median).kind == "differs"
    assert equal_as("final", low, high - 2, 1.0, np.mean).kind == "cannot be compared"
    assert equal_as("final", low[:9], low, 1.0, np.mean).note.startswith("9 runs are too few for a test")
    assert every({"a": Verdict("matches", "x"), "b": Verdict("cannot be compared", "y")}).kind == "cannot be compared"
    assert every({"a": Verdict("matches", "x"), "b": Verdict("differs", "y")}) == Verdict("differs", "a: x; b: y")


@pytest.mark.parametrize("runs", [20, 40])
def test_the_stated_power_is_reached(runs: int) -> None:
    """Normal runs that are apart by what a verdict names are told apart in about 80 % of cases, equal ones in 5 %."""
    rng = np.random.default_rng(runs)
    shown = dict.fromkeys((0.0, apart(runs)), 0)
    for shift in shown:
        for _ in range(1000):
            shown[shift] += rank_test(rng.normal(0.0, 1.0, runs), rng.normal(shift, 1.0, runs)).p < 0.05
    assert 30 <= shown[0.0] <= 70
    assert 760 <= shown[apart(runs)] <= 840


def test_a_statement_with_parts_has_a_verdict_on_each() -> None:
    """Parts are results of their own, called a, b …, and the numbers stand with the first."""
    page = Page("poka", "t", "s", True, lambda _: None)
    parts = [Statement("x", "1", "1", near(1, 1, 0)), Statement("y", "2", "3", near(3, 2, 0))]
    page.judge("PO-r2", "depth 1", parts, {"n": 1})
    assert [(each.id, each.setting, each.verdict.kind) for each in page.results] == [
        ("PO-r2a", "depth 1: x", "matches"),
        ("PO-r2b", "depth 1: y", "differs"),
    ]
    assert [each.numbers for each in page.results] == [{"n": 1}, {}]


def test_a_family_of_hierarchies_has_the_papers_heights() -> None:
    """Each member has 17,920 nodes, and the replication's is the preset itself."""
    assert len(set(FAMILY)) == 10
    for member in (FAMILY[0], FAMILY[-1]):
        assert member_counted(member, ("k", "glm")).lattice.size == 17_920
    same, preset = member_counted(REPLICATION, ("k", "glm")), adult_counted("replication", ("k", "glm"))
    assert same.vectors == preset.vectors


def test_groups_are_counted_per_column() -> None:
    """GE-8: the groups of each column of an answer."""
    table = reduced()
    space = make_order(table.hierarchies)
    assert groups_of(space, np.zeros(len(space.genes), dtype=np.int64)) == {
        "workclass": 1, "race": 1, "sex": 1, "salary-class": 1,
    }  # fmt: skip


def test_the_rank_test_against_a_referee() -> None:
    """Mann–Whitney of many runs agrees with scipy's normal form, ties included."""
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(2)
    one, two = rng.integers(0, 9, 30).astype(float), rng.integers(1, 10, 30).astype(float)
    told = mannwhitneyu(one, two, method="asymptotic", use_continuity=False).pvalue
    assert rank_test(one, two).p == pytest.approx(told)
    assert rank_test(np.ones(3), np.ones(4)).p == 1.0


def test_numbers_become_plain_data() -> None:
    """Arrays, tuples and numbers without end can all be written as JSON."""
    data = plain({"a": np.array([1.5, np.inf]), 2: (np.int64(3), "x")})
    assert json.loads(json.dumps(data, allow_nan=False)) == {"a": [1.5, "inf"], "2": [3, "x"]}


def test_a_figure_of_boxes() -> None:
    """Box plots and lines share one renderer."""
    boxes = Panel("b", "", "y", boxes=Boxes(("one", "two"), ((1.0, 2.0), (2.0, 3.0))))
    marks = tuple(series(style, [1, 2], [1, 2], style) for style in ("rings", "printed", "answers"))
    lines = Panel("l", "x", "y", (series("s", range(500), range(500)), *marks), bands=(Band("b", 1, 2),))
    assert len(lines.series[0].x) <= 240
    assert draw(Figure("f", "t", "c", (boxes, lines))).startswith(b"<?xml")


def shell(*words: str) -> int:
    """The exit status of ``python -m replication`` with these words."""
    return main(words, papers)


@_together("poka")
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes pages, prints verdicts, sends progress to standard error and names a wrong paper."""
    monkeypatch.setattr("replication.rebuild", lambda name, *_: quick(name))
    folder, answer = tmp_path / "pages", tmp_path / "answer.json"
    assert shell("poka", "--quick", "--output", str(folder), "--json", str(answer), "-q") == 0
    assert "PO-r12c" in capsys.readouterr().out
    assert (folder / "poka.md").exists()
    assert json.loads(answer.read_text(encoding="utf-8"))["poka"]["versions"]["kpareto"]
    assert shell("pokka") == 2
    assert capsys.readouterr().err.startswith("No paper 'pokka'. Did you mean 'poka'? There are: iyengar")
    assert shell("poka", "--output", str(answer)) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_the_summary_is_in_the_readme() -> None:
    """The front page of the project has the summary table of the committed run."""
    text = (DOCS.parents[1] / "README.md").read_text(encoding="utf-8")
    section = text.split("## The five papers")[1].split("\n## ")[0]
    rows = [line for line in (DOCS / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    summary = rows[len(PAPERS) :]
    assert len(summary) >= len(PAPERS)
    for line in summary:
        assert line.split(" | ", 1)[1] in section
    assert (DOCS / "README.md").read_text(encoding="utf-8") == contents(DOCS)
