"""Persons, spellings and what suppression tells, from the rows to the release (claims P2, P4, N09, N10, N15)."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from kpareto import KparetoError, Unsafe, anonymize, front, verify
from kpareto.engines.read import read
from kpareto.fronts.problem import settled_rule
from kpareto.jobs.parse import parse_job
from kpareto.releases.choice import Choice
from kpareto.releases.release import Release, release
from kpareto.releases.risk.attacks import homogeneity, minimality
from kpareto.releases.warnings import Context, count_told, remarks
from kpareto.tables.partition import partition
from kpareto.tables.recoding import bottom, node
from kpareto.tables.schema import Schema
from kpareto.tables.spelling import fold_spelling
from kpareto.tables.table import Table

SPELLINGS = {
    "case": ("HIV", "hiv"),
    "composed": ("\u00c9pilepsie", unicodedata.normalize("NFD", "\u00c9pilepsie")),
    "no-break space": ("HIV", "HIV\u00a0"),
    "zero width": ("HIV", "HI\u200bV"),
    "two blanks": ("lung cancer", "lung  cancer"),
    "full width": ("HIV", "\uff28\uff29\uff36"),
    "sharp s": ("Stra\u00dfe", "STRASSE"),
    "1 and 1.0": ("1", "1.0"),
    "01 and 1": ("01", "1"),
    "1e3 and 1000": ("1e3", "1000"),
    "an invisible one": ("HIV", "\u200b"),
}


def release_rows(rows: dict[str, Sequence[object]], schema: Schema, limits: dict[str, float], where: Path) -> Release:
    """The rows as they are, released with these limits."""
    table = pa.table(rows)
    read_table = read(table, schema, missing="category")
    return release(Choice(read_table, bottom(read_table.hierarchies), limits=limits), table, where, warnings=())


@pytest.mark.parametrize("kind", SPELLINGS)
def test_spellings_of_one_value_are_no_diversity(tmp_path: Path, kind: str) -> None:
    """One illness in two spellings is one value for l, unless somebody asks for the texts themselves."""
    rows: dict[str, Sequence[object]] = {"q": ["a"] * 6, "ill": [*SPELLINGS[kind]] * 3}
    with pytest.raises(Unsafe, match="l is 1 in the class"):
        release_rows(rows, Schema(("q",), ("ill",)), {"l": 2}, tmp_path / "o.csv")
    assert not (tmp_path / "o.csv").exists()
    assert len({fold_spelling(value) for value in SPELLINGS[kind]} - {""}) == 1
    if kind in ("case", "zero width", "1 and 1.0"):
        exact = release_rows(rows, Schema(("q",), ("ill",), spellings="exact"), {"l": 2}, tmp_path / "o.csv")
        assert exact.verified.numbers["l"] == 2
        assert exact.certificate.public["spellings"] == "exact"
        assert verify(tmp_path / "o.csv", exact.certificate).numbers["l"] == 2
        exact.certificate.public["spellings"] = "fold"
        with pytest.raises(Unsafe, match="l = 1, and the limit is 2"):
            verify(tmp_path / "o.csv", {"public": exact.certificate.public})


@pytest.mark.parametrize("kind", SPELLINGS)
def test_spellings_of_one_id_are_one_person(tmp_path: Path, kind: str) -> None:
    """One person in two spellings, or with rows without an id, is no crowd; nor is one told by two columns."""
    rows: dict[str, Sequence[object]] = {"id": [*SPELLINGS[kind]] * 3, "q": ["a"] * 6, "ill": ["x", "y"] * 3}
    for person in ("id", ("id", "q2")):
        more: dict[str, Sequence[object]] = {**rows, "q2": ["z", "Z", " z"] * 2}
        with pytest.raises(Unsafe, match="k is 1 in the class"):
            release_rows(more, Schema(("q",), ("ill",), person=person), {"k": 2}, tmp_path / "o.csv")


def test_rows_without_an_id_fill_no_class(tmp_path: Path) -> None:
    """They belong to nobody and protect nobody: a class of such rows has k = 0."""
    rows: dict[str, Sequence[object]] = {
        "id": [None, "p1"] * 3 + [None],
        "q": ["a"] * 6 + ["b"],
        "ill": ["x", "y"] * 3 + ["x"],
    }
    table = read(pa.table(rows), Schema(("q",), ("ill",), person="id"), missing="category")
    made = partition(table, bottom(table.hierarchies))
    assert (made.sizes.tolist(), table.nobodys) == ([1, 0], 4)
    assert {point.values["k"] for point in front(table, objectives=("k", "lm"))} == {0.0, 1.0}
    assert "Rows without an id belong to nobody and protect nobody: 4 of 7." in remark(Context(made), "W3")
    with pytest.raises(Unsafe, match="k is 0 in the class"):
        release_rows(rows, Schema(("q",), ("ill",), person="id"), {"k": 1}, tmp_path / "o.csv")


def test_codes_of_diseases_are_diversity(tmp_path: Path) -> None:
    """E10 and E11 are two, for the measure and for the verifier, though they look like powers of ten."""
    rows: dict[str, Sequence[object]] = {"q": ["a"] * 6, "ill": ["E10", "E11", "E14"] * 2}
    assert release_rows(rows, Schema(("q",), ("ill",)), {"l": 3}, tmp_path / "o.csv").verified.numbers["l"] == 3


def remark(context: Context, number: str) -> str:
    """The text of one warning."""
    return next(each.text for each in remarks(context) if each.id == number)


def sick(count: int = 5) -> Table:
    """Persons who all have hiv, and a cold besides, in three towns."""
    rows = [(f"p{town}{i}", town, ill) for town in "ABC" for i in range(count) for ill in ("hiv", "cold")]
    ids, towns, ills = (list(column) for column in zip(*rows, strict=True))
    return read(pa.table({"id": ids, "town": towns, "ill": ills}), Schema(("town",), ("ill",), person="id"))


def test_persons_who_share_an_illness_are_told_so() -> None:
    """All have hiv and a cold: no recoding has l = 2, and the test for homogeneity counts persons."""
    table = sick()
    assert {point.values["l"] for point in front(table, objectives=("l", "lm"))} == {1.0}
    found = homogeneity(partition(table, bottom(table.hierarchies)))
    assert (found.certain_rows, found.all_rows, found.unit) == (15, 15, "person")
    assert "15 of 15 persons" in found.meaning


def test_a_column_that_is_missing_is_no_diversity(tmp_path: Path) -> None:
    """Four times hiv and a gap is l = 1, by the measure and by the verifier."""
    rows: dict[str, Sequence[object]] = {"q": ["a"] * 5, "ill": ["hiv"] * 4 + [None]}
    with pytest.raises(Unsafe, match="l is 1 in the class"):
        release_rows(rows, Schema(("q",), ("ill",)), {"l": 2}, tmp_path / "o.csv")
    done = release_rows(rows, Schema(("q",), ("ill",)), {"entropy-l": 1, "alpha": 0.8}, tmp_path / "o.csv")
    assert done.verified.numbers == {"alpha": 0.8, "entropy-l": 1.0, "k": 5.0, "l(column=ill)": 1.0}


def test_spellings_are_said_and_can_be_told_apart() -> None:
    """A remark for sensitive values, ids and quasi-identifiers; the key of the job is a word of two."""
    rows = pa.table({"id": ["a", "A", "b"], "town": ["Ulm", "ulm", "Ulm"], "ill": ["x", "x", "X"]})
    said = read(rows, Schema(("town",), ("ill",), person="id")).remarks
    assert [text.partition(" differs")[0] for text in said] == [
        "1 value of 'ill'",
        "1 value of 'id'",
        "1 value of 'town'",
    ]
    assert "recodings take them as different values" in said[2]
    assert "as was asked for" in read(rows, Schema(("town",), ("ill",), spellings="exact")).remarks[0]
    job = '[data]\nsource = "x.csv"\nperson = ["a", "b"]\nspellings = "exact"\n[columns.q]\nrole = "quasi-identifier"\n'
    schema = parse_job(job, Path()).schema()
    assert (schema.persons, schema.spellings) == (("a", "b"), "exact")
    with pytest.raises(KparetoError, match="spellings"):
        parse_job(job.replace("exact", "both"), Path())


def test_a_missing_class_tells_that_it_failed() -> None:
    """Twelve people aged 60 to 64, all with hiv, are left out for l alone: minimality and W7 count them (P4)."""
    chance = random.Random(3)
    people = [(g + chance.randint(0, 4), chance.choice("abcde")) for g in range(20, 60, 5) for _ in range(40)]
    people += [(62 + chance.randint(0, 2), "hiv") for _ in range(12)]
    rows = pa.table({"age": [age for age, _ in people], "ill": [ill for _, ill in people]})
    form = {"age": {"intervals": [5, 10], "from": 0, "to": 100}}
    table = read(rows, Schema(("age",), ("ill",)), hierarchies=form)
    limits = {"k": 5.0, "l": 2.0}
    for style in ("drop", "mask"):
        rule = settled_rule(limits, 0.05, style)
        made = partition(table, node(table.hierarchies, [1]), rule)
        found = minimality(made, limits, rule)
        assert (found.missing_classes, found.missing_rows, found.found) == (1, 12, True)
        assert "left out because of its sensitive values" in found.meaning
        assert "1 class of them (12 rows) is large enough for k = 5" in remark(Context(made, limits, rule), "W7")
    plain = settled_rule({"k": 13.0}, 0.05)
    made = partition(table, node(table.hierarchies, [1]), plain)
    assert "large enough" not in remark(Context(made, {"k": 13.0}, plain), "W7")


def test_borders_that_tell_both_rows_are_a_danger() -> None:
    """Local recoding by intervals with k = 2: of how many rows all is known but which is which (N15)."""
    chance = random.Random(11)
    rows = pa.table({
        "age": [chance.randint(18, 90) for _ in range(60)],
        "inc": [1000 * chance.randint(10, 99) for _ in range(60)],
    })  # fmt: skip
    table = read(rows, Schema(("age", "inc")))
    options = {"ks": [2], "turns": 2, "walks": 0, "intervals": True}
    made = front(table, objectives=("k", "lm"), method="local", options=options)[0].partition
    told = count_told(made)
    pairs = int(made.rows[(made.rows == 2) & ~made.suppressed].sum())
    assert pairs <= told + 2
    assert told > 30
    found = next(each for each in remarks(Context(made)) if each.id == "W8")
    assert (found.severity, found.numbers["told"]) == ("danger", told)


def test_one_call_counts_persons_of_two_columns() -> None:
    """What one call releases has a k of persons by both columns."""
    rows = pa.table({
        "clinic": ["a", "b"] * 20, "patient": [str(i // 4) for i in range(40)], "age": [20 + i // 8 for i in range(40)],
    })  # fmt: skip
    done = anonymize(rows, ["age"], k=4, person=("clinic", "patient"))
    assert done.release.certificate.public["claims"][0]["with"] == {"counts": "persons"}
    assert set(done.release.data.column_names) == {"age"}
