"""The verifier checks what our measures say, and shares nothing with them but digests and the record of counts."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.errors import Unsafe
from kpareto.measures import MAKERS, make
from kpareto.measures.measure import Measure, Model, aspect_of, short_name
from kpareto.releases.choice import Choice
from kpareto.releases.release import release
from kpareto.tables.hierarchy import from_levels
from kpareto.tables.partition import Partition, Suppression
from kpareto.tables.recoding import node
from kpareto.tables.schema import Schema
from kpareto.verifier import verify
from kpareto.verifier.definitions import HIGHER, RELATIVE, SIZES, TOTALS, VALUES
from kpareto.verifier.population import PEOPLE, PEOPLE_HIGHER
from tests.measures.test_measure import NEEDS
from tests.twins.sources import HOUSE, files, listed, name_of, tree_of

# What anybody may have of the verifier: its verdicts, its digests, what it counted and how it reads a cell of a file.
# Never its definitions.
SHARED = {
    "verify", "check", "parts", "Verified", "content_digest", "digest_of",
    "Counted", "with_persons", "UNSIGNED", "PARTS", "count", "count_frame", "counted", "program", "file_digest",
    "Signer", "trusted_bytes", "read_rows", "text",
}  # fmt: skip
CLAIMS = (
    "k", "risk-max", "l", "l(column=s)", "entropy-l", "recursive-l", "recursive-l(l=3)", "alpha", "alpha(value=b)",
    "t", "t(column=s)", "t(distance=ordered)", "t(distance=hierarchical)", "beta", "enhanced-beta", "delta", "delta(absent=infinite)",
)  # fmt: skip
RELATIVES = [spec for spec in CLAIMS if short_name(spec) in RELATIVE]


def imported_from_verifier(tree: ast.Module) -> dict[str, int]:
    """The names that a source imports from the verifier and its parts, and where."""
    return {
        alias.name: part.lineno
        for part in ast.walk(tree)
        if isinstance(part, ast.ImportFrom) and str(part.module).startswith("kpareto.verifier")
        for alias in part.names
    }


def test_nobody_takes_a_definition_from_the_verifier() -> None:
    """What claims are made of comes from the measures; the certificate takes digests and counts alone."""
    offenders = [
        f"{name_of(file)}:{line}: takes {name} from the verifier"
        for file in files()
        if "verifier" not in name_of(file).split("/")
        for name, line in imported_from_verifier(tree_of(file)).items()
        if name not in SHARED
    ]
    assert not offenders, listed(offenders)
    certificate = tree_of(HOUSE / "releases" / "certificate.py")
    assert set(imported_from_verifier(certificate)) == {"content_digest", "digest_of", "Counted"}
    assert imported_from_verifier(ast.parse("from kpareto.verifier import by_class")).keys() - SHARED == {"by_class"}


def test_measures_say_what_the_verifier_knows() -> None:
    """Both lists were written by themselves, and they agree on what is recounted, relative, and better higher."""
    measures = {name: make(NEEDS.get(name, name)) for name in MAKERS}
    assert {name for name, measure in measures.items() if aspect_of(measure).recounted} == {*SIZES, *TOTALS, *VALUES}
    assert {name for name, measure in measures.items() if aspect_of(measure).relative} == RELATIVE
    assert {name for name, measure in measures.items() if aspect_of(measure).population} == PEOPLE
    assert {name for name in PEOPLE if measures[name].better == "higher"} == PEOPLE_HIGHER
    assert {name for name in (*SIZES, *TOTALS, *VALUES) if measures[name].better == "higher"} == HIGHER


def release_of(spec: str, folder: Path) -> Any:
    """A release of 24 rows in two classes, one more row suppressed, with one limit that is met by far."""
    values = [*"aabbccddabcd", *"aaabbccddabd"]
    hidden = "a" if "absent" in spec else "e"  # where every class must have every value of the table
    rows = pa.table({"zip": ["1"] * 12 + ["2"] * 12 + ["9"], "s": [*values, hidden], "u": [*reversed(values), "a"]})
    lines = [("a", "ab", "a-c", "*"), ("b", "ab", "a-c", "*"), ("c", "c", "a-c", "*"), ("d", "de", "de", "*")]
    trees = {name: from_levels(name, [*lines, ("e", "de", "de", "*")]) for name in ("s", "u")}
    table = replace(read(rows, Schema(("zip",), sensitive=("s", "u"))), trees=trees)
    least = 1e-6 if make(spec).better == "higher" else 1e6
    choice = Choice(table, node(table.hierarchies, (0,)), Suppression("below-k", k=2), {spec: least})
    return release(choice, rows, folder / "out.csv")


def plant(monkeypatch: pytest.MonkeyPatch, spec: str, lies_about: str) -> None:
    """Let one of our measures tell nine tenths of the truth: always, or about the release alone."""
    name = short_name(spec)
    maker = MAKERS[name]

    def lying(**parameters: Any) -> Measure:
        honest = maker(**parameters)
        assert isinstance(honest, Model)
        if lies_about == "release" and parameters.get("reference") != "release":
            return honest
        by_class = honest.by_class

        def less(partition: Partition) -> np.ndarray:
            return by_class(partition) * 0.9

        return replace(honest, by_class=less)

    monkeypatch.setitem(MAKERS, name, lying)


@pytest.mark.parametrize("spec", CLAIMS)
def test_true_claims_pass(spec: str, tmp_path: Path) -> None:
    """Without a lie the release is written and verified, by its public part alone as well."""
    done = release_of(spec, tmp_path)
    name = short_name(spec)
    for part in ({"public": done.certificate.public}, done.certificate):
        numbers = verify(tmp_path / "out.csv", part).numbers
        assert any(short_name(claim) == name and np.isfinite(number) for claim, number in numbers.items())


@pytest.mark.parametrize(
    ("spec", "lies_about"), [*((spec, "all") for spec in CLAIMS), *((spec, "release") for spec in RELATIVES)]
)
def test_a_measure_that_lies_is_caught(
    spec: str, lies_about: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A measure of ours that is wrong never reaches a file: the verifier does not get its number from it."""
    plant(monkeypatch, spec, lies_about)
    with pytest.raises(Unsafe, match=rf"The certificate claims {short_name(spec)}\b"):
        release_of(spec, tmp_path)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("spec", CLAIMS)
def test_a_claim_that_lies_is_caught(spec: str, tmp_path: Path) -> None:
    """A claimed number that was changed by hand is refused, in public and, where it stands there, in confidence."""
    public = release_of(spec, tmp_path).certificate.public
    name = short_name(spec)
    for place, claim in enumerate(public["claims"]):
        if claim["measure"] == name:
            wrong = [*public["claims"]]
            wrong[place] = {**claim, "value": claim["value"] * 0.9}
            with pytest.raises(Unsafe, match=rf"The certificate claims {name}\b"):
                verify(tmp_path / "out.csv", {"public": {**public, "claims": wrong}})


@pytest.mark.parametrize(
    ("seen", "hidden"),
    [
        (["1", "2", "10"], "text"),  # numbers, as far as the release shows
        (["01", "2", "10"], "3"),  # codes, not numbers
        (["nan", "1", "10", "2"], "3"),
        (["1", "2", "10"], "5"),  # a value that only a suppressed row has must not stretch the scale
        (["1", None, "10", "2"], "4"),
        (["2024-01-31", "2023-02-01"], "x"),
    ],
)
def test_the_order_of_values_is_found_in_the_release_alone(seen: list[str | None], hidden: str, tmp_path: Path) -> None:
    """Our distance of ordered values to the release is what someone works out who has nothing else."""
    classes = [(seen * 5)[:9], (list(reversed(seen)) * 2 + seen[:1] * 9)[:9]]
    rows = pa.table({"zip": ["1"] * 9 + ["2"] * 9 + ["9"], "s": [*classes[0], *classes[1], hidden]})
    table = read(rows, Schema(("zip",), sensitive=("s",)), missing="category")
    choice = Choice(table, node(table.hierarchies, (0,)), Suppression("below-k", k=2), {"t(distance=ordered)": 1})
    done = release(choice, rows, tmp_path / "out.csv")
    claim = next(claim for claim in done.certificate.public["claims"] if claim["measure"] == "t")
    assert claim["with"] == {"distance": "ordered", "reference": "release"}
    assert verify(tmp_path / "out.csv", {"public": done.certificate.public}).numbers
