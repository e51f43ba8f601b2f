"""A few cases of every kind, the oracle against answers made by hand, and planted lies that the fuzzer must catch."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kpareto as kp
from tests.fuzz import oracle, sources
from tests.fuzz.face import ROOT, Wrong
from tests.fuzz.kinds import Kind, releases
from tests.fuzz.kinds.fronts import compare_points, find_front, table_of
from tests.fuzz.known import KNOWN
from tests.fuzz.oracle import Rule, Sheet, files
from tests.fuzz.oracle.steps import covers, steps
from tests.fuzz.registry import KINDS
from tests.fuzz.runner import Failure, make_case, run_case, shares, shrunk, try_case
from tests.fuzz.worlds import sheet_of

SEED = 1
CHEAP = [kind for kind in KINDS.values() if not kind.asked and kind.cost < 15]

# -- a few cases of every kind -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CHEAP, ids=lambda kind: kind.name)
def test_a_few_cases(kind: Kind) -> None:
    """Nothing fails in a way that is not known."""
    for number in range(max(1, 4 // kind.cost)):
        found = run_case(kind, SEED, number)
        assert not isinstance(found, Failure) or found.name in KNOWN, f"{found.name}: {found.sentence} {found.repeat}"


@pytest.mark.parametrize(
    "kind", [k for k in KINDS.values() if not k.asked and k.cost >= 15], ids=lambda kind: kind.name
)
def test_one_case_with_processes(kind: Kind) -> None:
    """Kills, writers, the page and huge jobs: one case each."""
    found = run_case(kind, SEED, 0)
    assert not isinstance(found, Failure) or found.name in KNOWN, f"{found.name}: {found.sentence} {found.repeat}"


def test_every_kind_comes_back_from_another_process() -> None:
    """A run in several processes sends its table back with the kind in it: a function without a name cannot be sent."""
    assert pickle.loads(pickle.dumps(KINDS)) == KINDS


def test_a_case_follows_from_its_number() -> None:
    """The same seed, kind and number give the same case, and another number another one."""
    kind = KINDS["release"]
    assert make_case(kind, 3, 7) == make_case(kind, 3, 7)
    assert make_case(kind, 3, 7) != make_case(kind, 3, 8)
    assert make_case(kind, 3, 7) != make_case(kind, 4, 7)


def test_every_case_is_plain_data() -> None:
    """A case can be printed as JSON and read back."""
    for kind in KINDS.values():
        case = make_case(kind, SEED, 0)
        assert json.loads(json.dumps(case)) == case


def test_every_kind_stands_in_the_manual() -> None:
    """docs/reliability.md lists the kinds there are, and no others."""
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    table = page.partition("| kind | what must hold |")[2].partition("\n\n")[0]
    listed = [
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall("`([a-z]+)`", line.split("|")[1])
    ]
    assert listed == list(KINDS)


def test_dear_kinds_get_fewer_cases() -> None:
    """Cases are shared out by what they cost, and each kind has one at least."""
    counts = {kind.name: count for kind, count in shares(KINDS.values(), 1000)}
    assert counts["front"] > counts["release"] > counts["kills"] >= 1


# -- the oracle ----------------------------------------------------------------------------------------------------


def test_the_oracle_imports_nothing_of_the_package() -> None:
    """What judges shares no line with what is judged."""
    for file in Path(oracle.__file__).parent.glob("*.py"):
        for part in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [a.name for a in part.names]
                if isinstance(part, ast.Import)
                else [part.module or ""]
                if isinstance(part, ast.ImportFrom)
                else []
            )
            assert not [name for name in names if name.startswith("kpareto")], file.name


ZIPS = [("13053", "1305*", "*"), ("13058", "1305*", "*"), ("13063", "1306*", "*"), ("13067", "1306*", "*")]
AGES = [("28", "<30", "*"), ("29", "<30", "*"), ("35", "30+", "*"), ("36", "30+", "*"), ("38", "30+", "*")]


def manual(persons: Sequence[str] | None = None) -> Sheet:
    """The five rows by which the manual explains measures."""
    rows = [("13053", "28"), ("13053", "29"), ("13058", "36"), ("13063", "35"), ("13067", "38")]
    ways = tuple(tuple({line[0]: line[level] for line in lines} for level in range(3)) for lines in (ZIPS, AGES))
    ill = ("flu", "flu", "cancer", "flu", "asthma")
    return Sheet(
        tuple(rows), ways, {"illness": ill}, ("10", "20", "30", "30", "60"), tuple(persons) if persons else None
    )


HAND: list[tuple[str, Any, Any]] = [  # measure, all rows kept, row 3 suppressed: the manual's own arithmetic
    ("k", 1, 2), ("risk-max", 1, Fraction(1, 2)), ("risk-mean", Fraction(3, 5), Fraction(1, 2)), ("risk-share(threshold=0.5)", Fraction(1, 5), 0),
    ("uniques", 1, 0), ("suppressed", 0, 1), ("classes", 3, 2), ("l", 1, 1), ("entropy-l", 1.0, 1.0), ("recursive-l", float("inf"), float("inf")),
    ("alpha", 1, 1), ("t", Fraction(4, 5), Fraction(2, 5)), ("t(distance=ordered)", Fraction(2, 5), Fraction(3, 10)), ("beta", 4, Fraction(3, 2)),
    ("enhanced-beta", float("inf"), float("inf")), ("delta", 1.6094379124341003, 0.9162907318741551), ("glm", Fraction(11, 3), Fraction(29, 6)),
    ("lm", Fraction(11, 30), Fraction(29, 60)), ("nwp", Fraction(11, 30), Fraction(29, 60)), ("precision-loss", Fraction(1, 2), Fraction(3, 5)),
    ("entropy", 11.509775004326912, 13.328444764438245), ("dcn", 9, 13), ("average-class-size", Fraction(5, 3), 2), ("cm", Fraction(2, 5), Fraction(3, 5)),
    ("cm-rows", 2, 3), ("necd", Fraction(1, 4), 0),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "whole", "kept"), HAND)
def test_measures_by_hand(spec: str, whole: Any, kept: Any) -> None:
    """Each measure gives what the manual works out by hand, with and without a suppressed row."""
    sheet = manual()
    cut = oracle.node(sheet, (1, 1))
    assert oracle.number(oracle.parted(sheet, cut, Rule("none"))[0], spec) == pytest.approx(whole)
    assert oracle.number(oracle.parted(sheet, cut, Rule("cap-max-k", 1))[0], spec) == pytest.approx(kept)


def test_suppression_rules_by_hand() -> None:
    """Which classes go under each rule: classes of 2, 1 and 2 rows."""
    sheet = manual()
    cut = oracle.node(sheet, (1, 1))

    def lost(rule: Rule) -> list[int]:
        return [len(p.lost) for p in oracle.parted(sheet, cut, rule)]

    assert lost(Rule("none")) == [0]
    assert lost(Rule("below-k", k=2)) == [1]
    assert lost(Rule("below-k", k=3)) == [5]
    assert lost(Rule("cap-max-k", 0)) == [0]
    assert lost(Rule("cap-max-k", 0.2)) == [1]
    assert lost(Rule("as-needed", 1, objectives=("k",))) == [0, 1]
    assert lost(Rule("as-needed", 3, objectives=("l",))) == [0, 3]
    assert lost(Rule("as-needed", 3, limits={"l": 2})) == [3]
    assert not oracle.parted(sheet, cut, Rule("as-needed", 2, limits={"l": 2}))[0].feasible
    masked = oracle.parted(sheet, cut, Rule("below-k", k=1, mask=True))[0]
    assert len(masked.classes) == 3
    assert [c.seen for c in oracle.parted(sheet, cut, Rule("below-k", k=2, mask=True))[0].classes] == [
        True,
        True,
        False,
    ]


def test_persons_are_counted_once() -> None:
    """A class of two rows of one person has the size 1."""
    sheet = manual(["a", "a", "b", "c", "d"])
    assert sorted(c.size for c in oracle.classes(sheet, oracle.node(sheet, (1, 1)))) == [1, 1, 2]


def test_fronts_by_hand() -> None:
    """Of four nodes of one column the front of k and LM has those that none beats, ties too."""
    lines = [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")]
    sheet = Sheet((("a",), ("b",), ("c",), ("c",)), (tuple({line[0]: line[n] for line in lines} for n in range(3)),))
    found = oracle.best(oracle.candidates(sheet, ["k", "lm"], Rule("none"), {}), ["k", "lm"], Rule("none"))
    assert sorted((c.parted.levels, c.values) for c in found) == [
        ((0,), (1, 0)),
        ((1,), (2, Fraction(1, 4))),
        ((2,), (4, 1)),
    ]
    assert len(oracle.cuts(sheet.steps[0])) == 3


def test_hierarchies_by_hand() -> None:
    """Rules group as the manual says, and labels cover what they say."""
    ages = steps({"intervals": [5, 10], "from": 0}, ["4", "5", "12"])
    assert ages is not None
    assert [len(set(step.values())) for step in ages] == [3, 3, 2, 1]
    tree = {
        "label": "*",
        "children": [{"label": "other", "children": [{"label": "a"}, {"label": "b"}]}, {"label": "c"}],
    }
    branches = steps({"tree": tree}, ["a", "b", "c"])
    assert branches is not None
    assert [len(set(step.values())) for step in branches] == [3, 2, 1]
    form = {"intervals": [5], "from": 0}
    assert covers(form, "5-9", "9")
    assert not covers(form, "5-9", "10")
    assert covers(form, "[-5,0)", "-0.5")
    assert not covers(form, "[-5,0)", "0")
    assert covers({"dates": True}, "2021-Q1", "2021-03-14")
    assert not covers({"dates": True}, "2021-Q2", "2021-03-14")
    assert covers({"prefix": [3]}, "021**", "02139")
    assert not covers({"prefix": [3]}, "022**", "02139")


# -- planted lies --------------------------------------------------------------------------------------------------

CASE: dict[str, Any] = {
    "columns": [
        {"name": "age", "role": "quasi-identifier", "type": "int", "hierarchy": {"intervals": [5, 10], "from": 0}},
        {"name": "ill", "role": "sensitive", "type": "text"},
        {"name": "row", "role": "plain", "type": "row"},
    ],
    "rows": [["21", "flu", "0"], ["22", "cold", "1"], ["23", "flu", "2"], ["31", "gout", "3"], ["32", "flu", "4"], ["77", "Rare1234", "5"]],
    "missing": "drop", "domain": "observed", "inner": 0, "objectives": ["k", "lm"], "limits": {"k": 2},
    "rule": {"name": "cap-max-k", "limit": 1, "mask": False}, "door": "csv", "target": "out.csv", "order": "kept",
}  # fmt: skip


def test_a_missing_point_is_caught(tmp_path: Path) -> None:
    """A front without one of its points, and one with a wrong number, are not taken for the front."""
    table = table_of(CASE, sources.source(CASE, "arrow", tmp_path), tmp_path)
    points = [(p.recoding.levels or (), p.values, p.partition.suppressed_rows) for p in find_front(CASE, table)]
    compare_points(CASE, sheet_of(CASE), points)
    with pytest.raises(Wrong, match="front"):
        compare_points(CASE, sheet_of(CASE), points[1:])
    levels, values, suppressed = points[0]
    with pytest.raises(Wrong, match="numbers of a point"):
        compare_points(CASE, sheet_of(CASE), [(levels, {**values, "lm": values["lm"] + 0.01}, suppressed), *points[1:]])
    with pytest.raises(Wrong, match="front"):
        compare_points(CASE, sheet_of(CASE), [*points, points[0]])


@pytest.fixture
def done(tmp_path: Path) -> releases.Done:
    """A release in which the row with the rare illness is suppressed."""
    found = releases.do_release(CASE, tmp_path)
    assert found.release.suppressed == 1
    return found


def test_a_broken_limit_is_caught(done: releases.Done) -> None:
    """A release whose limit is higher than what was written."""
    releases.check_limits(CASE, done)
    with pytest.raises(Wrong, match="a limit is broken"):
        releases.check_limits({**CASE, "limits": {"k": 4}}, done)


def test_a_leaked_value_is_caught(done: releases.Done, tmp_path: Path) -> None:
    """A word of the suppressed row in the file, in the words of a dictionary, in an attribute of a frame."""
    releases.check_leaks(CASE, done, tmp_path)
    assert done.target is not None
    raw = done.target.read_bytes()
    done.target.write_bytes(raw + b"20-24,Rare1234,9\n")
    with pytest.raises(Wrong, match="a leak"):
        releases.check_leaks(CASE, done, tmp_path)
    words = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["flu", "Rare1234"]))
    pq.write_table(pa.table({"ill": words}), tmp_path / "leak.parquet")
    assert files.told({"Rare1234"}, files.file_texts(tmp_path / "leak.parquet"))
    assert files.parquet_counts(tmp_path / "leak.parquet")
    assert not files.told({"Rare9999"}, files.file_texts(tmp_path / "leak.parquet"))


def test_a_wrong_cell_is_caught(done: releases.Done) -> None:
    """A label that does not cover its value, a cell that was changed, a row that should be gone."""
    releases.check_rows(CASE, done)
    assert done.target is not None
    text = done.target.read_text(encoding="utf-8")
    for old, new, name in (
        ("20-24", "90-94", "label covers value"),
        ("20-29", "90-99", "label covers value"),
        ("gout", "flu", "a cell"),
    ):
        if old in text:
            done.target.write_text(text.replace(old, new, 1), encoding="utf-8")
            with pytest.raises(Wrong, match=name):
                releases.check_rows(CASE, done)
    done.target.write_text(f"{text}70-79,flu,5\n", encoding="utf-8")
    with pytest.raises(Wrong, match="rows released"):
        releases.check_rows(CASE, done)


def test_a_wrong_certificate_is_caught(done: releases.Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that tells a wrong k, and one that accepts what it should refuse."""
    releases.check_verifier(CASE, done, tmp_path)
    right = kp.verify
    monkeypatch.setattr(
        kp, "verify", lambda *given: replace(right(*given), numbers={**right(*given).numbers, "k": 9.0})
    )
    with pytest.raises(Wrong, match="the verifier's k"):
        releases.check_verifier(CASE, done, tmp_path)
    monkeypatch.setattr(kp, "verify", lambda *given: None)
    folder = tmp_path / "again"
    folder.mkdir()
    with pytest.raises(Wrong, match="is accepted"):
        releases.check_mutated({**CASE, "part": "certificate", "damage": 1}, folder)


def test_a_traceback_is_caught_and_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is no sentence is a failure, and the case is cut down to the rows that need it."""

    def broken(*given: Any, **more: Any) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(kp, "front", broken)
    kind = KINDS["front"]
    case = {**CASE, "rows": CASE["rows"] * 2}
    found = try_case(kind, case)
    assert isinstance(found, Wrong)
    assert "ZeroDivisionError" in found.name
    assert len(shrunk(kind, case, found.name)["rows"]) == 1
