"""The five papers rebuilt on reduced budgets: every result is there, verdicts are worked out, the anchors hold."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kpareto import cli
from kpareto.papers import PAPERS, contents, ids_of, rebuild, write_page
from kpareto.papers.figures import Band, Boxes, Figure, Panel, drawn, series
from kpareto.papers.lunacek import rank_test
from kpareto.papers.page import (
    Page,
    Result,
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

DOCS = Path(__file__).parents[1] / "docs" / "papers"
IDS = {  # typed from part A of the specification
    "iyengar": ["IY-r1", "IY-r2", "IY-r3", "IY-r4", "IY-r5", "IY-r6", "IY-r7", "IY-r8", "IY-r9", "IY-r10", "IY-r11",
                "IY-r12", "IY-r13"],
    "lunacek": ["LU-r1", "LU-r2", "LU-r3", "LU-r4", "LU-r5", "LU-r6"],
    "gecco09": ["GE-r1", "GE-r2", "GE-r3", "GE-r4", "GE-r5", "GE-r6", "GE-r7"],
    "poka": ["PO-r1", "PO-r2", "PO-r3", "PO-r4", "PO-r5", "PO-r6", "PO-r7", "PO-r8", "PO-r9", "PO-r10", "PO-r11",
             "PO-r12"],
    "pbg": ["PB-r1", "PB-r2", "PB-r3", "PB-r4", "PB-r5", "PB-r6", "PB-r7", "PB-r8", "PB-r9", "PB-r10"],
}  # fmt: skip
FIGURES = {
    "iyengar": [f"iyengar-figure-{n}" for n in range(6, 13)],
    "lunacek": ["lunacek-figure-4", "lunacek-figure-5"],
    "gecco09": [f"gecco09-figure-{n}" for n in range(1, 5)],
    "poka": [f"poka-figure-{n}" for n in range(4, 7)],
    "pbg": ["pbg-figure-1", "pbg-figure-2", "pbg-figure-3", "pbg-table-2"],
}


def _together(name: str) -> pytest.MarkDecorator:
    """Tests of one paper share a process, so that its quick run is made once."""
    return pytest.mark.xdist_group(f"papers-{name}")


EACH = pytest.mark.parametrize("name", [pytest.param(name, marks=_together(name)) for name in PAPERS])


@cache
def quick(name: str) -> Page:
    """One paper on reduced budgets."""
    return rebuild(name, True, lambda _: None)


def result(name: str, key: str) -> Result:
    """One result of a quick run."""
    return next(each for each in quick(name).results if each.id == key)


@EACH
def test_every_result_is_on_one_page(name: str) -> None:
    """Each id of the specification stands on exactly one page, in a quick run and in the committed full run."""
    assert list(ids_of(name)) == IDS[name]
    assert sorted(each.id for each in quick(name).results) == sorted(IDS[name])
    kept = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
    assert [each["id"] for each in kept["results"]] == [each.id for each in quick(name).results]
    assert not kept["quick"]


@EACH
def test_reduced_budgets_give_the_same_verdicts(name: str) -> None:
    """A quick run judges every result as the committed full run does."""
    kept = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
    full = {each["id"]: each["verdict"] for each in kept["results"]}
    assert {each.id: each.verdict.kind for each in quick(name).results} == full


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
    assert drawn(made.figures[0]) == drawn(made.figures[0])
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
    numbers = result("iyengar", "IY-r4").numbers
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
    numbers = result("poka", f"PO-r{depth + 1}").numbers
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


def test_the_rank_test_against_a_referee() -> None:
    """Mann–Whitney agrees with scipy's normal form, ties included."""
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(2)
    one, two = rng.integers(0, 9, 20).astype(float), rng.integers(2, 11, 20).astype(float)
    told = mannwhitneyu(one, two, method="asymptotic", use_continuity=False).pvalue
    assert rank_test(one, two) == pytest.approx(told)
    assert rank_test(np.ones(3), np.ones(4)) == 1.0


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
    assert drawn(Figure("f", "t", "c", (boxes, lines))).startswith(b"<?xml")


@_together("poka")
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes pages, prints verdicts, sends progress to standard error and names a wrong paper."""
    monkeypatch.setattr("kpareto.papers.rebuild", lambda name, *_: quick(name))
    folder, answer = tmp_path / "pages", tmp_path / "answer.json"
    assert cli.main(["papers", "poka", "--quick", "--output", str(folder), "--json", str(answer), "-q"]) == 0
    assert "PO-r12" in capsys.readouterr().out
    assert (folder / "poka.md").exists()
    assert json.loads(answer.read_text(encoding="utf-8"))["poka"]["versions"]["kpareto"]
    assert cli.main(["papers", "pokka"]) == 2
    assert capsys.readouterr().err.startswith("No paper 'pokka'. Did you mean 'poka'? There are: iyengar")
    assert cli.main(["papers", "poka", "--output", str(answer)]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_the_summary_is_in_the_readme() -> None:
    """The front page of the project has the summary table of the committed run."""
    text = (DOCS.parents[1] / "README.md").read_text(encoding="utf-8")
    section = text.split("## The five papers")[1].split("\n## ")[0]
    rows = [line for line in (DOCS / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| [")]
    summary = rows[len(PAPERS) :]
    took = next(line for line in (DOCS / "README.md").read_text(encoding="utf-8").splitlines() if " took " in line)
    assert took in section
    assert len(summary) >= len(PAPERS)
    for line in summary:
        assert line.split(" | ", 1)[1] in section
    assert (DOCS / "README.md").read_text(encoding="utf-8") == contents(DOCS)
