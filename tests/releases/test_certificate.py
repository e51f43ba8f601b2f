"""Certificates: reproducible, and in public nothing that the release does not show anyway."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kpareto.engines.read import read
from kpareto.errors import Unsafe
from kpareto.releases.certificate import claims, find_unlimited
from kpareto.releases.choice import Choice, hierarchy_digest
from kpareto.releases.release import release
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from tests.twins.releases import AGES, chosen, given_as, people, rows_of
from tests.twins.strategies import Case, cases, recodings, suppressions


def test_equal_input_job_and_version_give_equal_bytes(tmp_path: Path) -> None:
    """Twice the same release: the same file and the same certificate, without any time in it."""
    texts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        source = given_as(people(), "csv", tmp_path / name)
        found = release(
            chosen(source, limits={"k": 5, "t": 0.5}), source, tmp_path / name / "out.csv", warnings=[("W1", "Always.")]
        )
        found.certificate.write(tmp_path / name / "c.json")
        texts.append((tmp_path / name / "c.json").read_bytes())
    assert texts[0] == texts[1]
    assert not re.search(rb"20\d\d-\d\d-\d\d", texts[0])


def test_what_is_in_it() -> None:
    """Hashes, roles, recoding, suppression, claims, seed, version, warnings, engine (docs/release.md)."""
    rows = people()
    found = release(chosen(rows, limits={"k": 5, "t": 0.5}), rows, warnings=[("W1", "Only 7 rows are …")]).certificate
    public, confidential = found.public, found.confidential
    assert public["release"]["roles"] == {
        "age": "quasi-identifier", "sex": "quasi-identifier", "illness": "sensitive", "note": "plain",
    }  # fmt: skip
    assert public["recoding"]["age"] == {"level": 1, "of": 2, "labels": ["20-29", "30-39", "40-49", "50-59"]}
    assert public["engine"] == "DuckDB"
    assert public["warnings"] == ["W1", "W17"]  # the plain column tells what the release hides
    assert confidential["warnings"][0] == ["W1", "Only 7 rows are …"]
    assert [name for name, _ in confidential["warnings"]] == ["W1", "W17"]
    assert confidential["hierarchies"]["age"] == hierarchy_digest(AGES)
    assert len(confidential["input"]["sha256"]) == 64
    assert confidential["distributions"] == {"illness": [["cold", 42], ["flu", 36], ["gout", 42]]}
    measures = [(claim["measure"], claim["with"], claim["limit"]) for claim in public["claims"]]
    assert measures == [
        ("k", {}, 5), ("t", {"reference": "release"}, None), ("l", {"column": "illness"}, None),
    ]  # fmt: skip
    assert public["handling"]["seed"] == 0


def test_the_public_part_can_be_written_alone(tmp_path: Path) -> None:
    """What may go with the release holds nothing confidential."""
    rows = people()
    found = release(chosen(rows), rows).certificate
    found.write_public(tmp_path / "public.json")
    assert set(json.loads((tmp_path / "public.json").read_text())) == {"public"}


def numbers_in(data: Any) -> list[float]:
    """All numbers that count rows in plain data."""
    if isinstance(data, dict):
        return [number for key, value in data.items() if key not in COUNTS_NO_ROWS for number in numbers_in(value)]
    if isinstance(data, list):
        return [number for value in data for number in numbers_in(value)]
    return [data] if isinstance(data, int) and not isinstance(data, bool) else []


# Levels, the version of the form, the seed, the share that may be suppressed, numbers of values.
COUNTS_NO_ROWS = {"level", "of", "kpareto certificate", "seed", "limit", "claims"}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(most_columns=2), data=st.data())
def test_in_public_no_count_is_below_k(case: Case, data: st.DataObject) -> None:
    """W13: every count of rows is 0 or at least the certified k, and every label stands in the release."""
    choice = Choice(case.table, data.draw(recodings(case.table)), data.draw(suppressions()))
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "out.csv"
        try:
            found = release(choice, rows_of(case), target)
        except Unsafe:
            return
        shown = target.read_text()
    partition = found.partition
    k = int(partition.sizes[partition.visible].min())
    public = found.certificate.public
    assert all(number == 0 or number >= k for number in numbers_in(public))
    for column in public["recoding"].values():
        assert all(label in shown for label in column["labels"])
    assert found.certificate.confidential["suppression"]["suppressed"] == partition.suppressed_rows


def test_a_value_of_a_suppressed_row_is_not_told() -> None:
    """Neither a label nor a sensitive value that occurs in suppressed rows alone is public, nor how few they are."""
    rows = pa.table({"zip": ["111"] * 5 + ["222"] * 5 + ["999"], "s": [*"abcab", *"abcab", "secret"]})
    table = read(rows, Schema(("zip",), sensitive=("s",)))
    choice = Choice(table, node(table.hierarchies, (0,)), Suppression("below-k", k=5), {"k": 5, "t": 1})
    certificate = release(choice, rows).certificate
    assert "999" not in certificate.public_text()
    assert "secret" not in certificate.public_text()
    assert certificate.public["suppression"]["suppressed"] is None
    assert certificate.public["suppression"]["fewer_than"] == 5
    assert "999" in certificate.text()
    assert certificate.confidential["suppression"]["suppressed"] == 1


@pytest.mark.parametrize(
    ("spec", "measure", "given"),
    [
        ("risk-max", "risk-max", {}),
        ("t(distance=ordered, column=s)", "t", {"column": "s", "distance": "ordered"}),
        ("t(distance=equal)", "t", {}),
        ("recursive-l(l=3)", "recursive-l", {"l": 3}),
        ("alpha(value=5)", "alpha", {"value": "5"}),
        ("risk-share(threshold=0.09)", "risk-share", {"threshold": 0.09}),
    ],
)
def test_claims_have_their_parameters_as_data(spec: str, measure: str, given: dict[str, object]) -> None:
    """The verifier need not parse names, and what is left at its default is not told."""
    rows = pa.table({"zip": ["111"] * 4 + ["222"] * 4, "s": ["5", "6", "7", "5"] * 2})
    table = read(rows, Schema(("zip",), sensitive=("s",)))
    choice = Choice(table, node(table.hierarchies, (0,)), limits={spec: 0.5})
    public, confidential = claims(choice, choice.partition())
    claimed = [(claim["measure"], claim["with"], claim["limit"]) for claim in (*public, *confidential)]
    assert (measure, given, 0.5) in claimed


@pytest.mark.parametrize(
    ("limits", "bare"),
    [({"k": 5}, ("illness",)), ({"l": 2}, ()), ({"l(column=illness)": 2}, ()), ({"t": 0.5}, ()),
     ({"t(column=illness)": 0.5}, ()), ({"k": 5, "t(reference=release)": 0.5}, ())],
)  # fmt: skip
def test_which_columns_no_limit_protects(limits: dict[str, float], bare: tuple[str, ...]) -> None:
    """A limit on the distance from the whole table is one, though the public part has not its number."""
    rows = people()
    found = release(chosen(rows, limits=limits), rows, warnings=[("W1", "Always.")])
    assert find_unlimited(found.certificate.public) == bare
