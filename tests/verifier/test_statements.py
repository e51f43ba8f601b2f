"""Every public statement of a certificate is recomputed, compared or listed as said: no lie passes without a word."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

from kpareto.engines.read import read
from kpareto.errors import BadInput, Unsafe
from kpareto.faces.cli import main
from kpareto.fronts.problem import settled_rule
from kpareto.measures import MAKERS
from kpareto.releases.choice import Choice
from kpareto.releases.release import release
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import bottom, node
from kpareto.tables.schema import Schema
from kpareto.tables.table import Population
from kpareto.verifier import Verified, certificate, digest_of, verify
from kpareto.verifier.certificate import OPTIONS, spell_claim
from kpareto.verifier.definitions import SIZES, TOTALS, VALUES
from kpareto.verifier.population import PEOPLE
from tests.twins.releases import AGES, chosen_locally, people, seal

LIMITS = {
    "k": 5, "l(column=illness)": 2, "l(column=ward)": 1, "t": 0.9, "t(distance=ordered)": 0.9, "alpha": 0.9,
    "alpha(column=illness, value=flu)": 0.9, "entropy-l": 1, "recursive-l(l=2)": 20, "beta": 9, "delta": 9,
    "risk-max": 0.5, "risk-mean": 0.5, "risk-share(threshold=0.3)": 0.5, "uniques": 0,
}  # fmt: skip
PRIVATE = {"epsilon": 1, "delta": 1e-6, "k": 5, "model": "(epsilon, delta)-differential privacy of rows"}


def make_release(folder: Path, rows: Literal["drop", "mask"]) -> tuple[Path, dict[str, Any]]:
    """A release with suppressed rows, two sensitive columns and every measure that is counted again; rows: drop, mask."""
    cells = [(age, sex, ("flu", "cold", "gout")[(age // 2 + copy_) % 3], ("east", "west")[copy_ % 2], f"note {age}")
             for copy_ in range(3) for age in range(20, 60, 2) for sex in "FM"]  # fmt: skip
    cells += [
        (59, "X", illness, ward, "rare") for illness, ward in (("flu", "east"), ("cold", "west"), ("flu", "west"))
    ]
    cells += [
        (58, "X", illness, ward, "rare") for illness, ward in (("flu", "east"), ("gout", "west"), ("cold", "east"))
    ]
    names = ("age", "sex", "illness", "ward", "note")
    table = pa.table({name: list(column) for name, column in zip(names, zip(*cells, strict=True), strict=True)})
    schema = Schema(quasi=("age", "sex"), sensitive=("illness", "ward"))
    people = read(table, schema, "drop", hierarchies={"age": AGES})
    suppression = Suppression("below-k", k=7, rows=rows)
    choice = Choice(people, node(people.hierarchies, (1, 0)), suppression, LIMITS)
    done = release(choice, table, folder / "out.csv", warnings=[("W1", "A warning."), ("W3", "Another.")])
    certificate = json.loads(done.certificate.text())
    return folder / "out.csv", certificate


def leaves(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every statement: objects and claims are opened, other lists are one."""
    if isinstance(part, dict) and part:
        for key in part:
            yield from leaves(part[key], (*path, key))
    elif path == ("claims",):
        for place, claim in enumerate(part):
            yield from leaves(claim, (*path, place))
    else:
        yield path


def other_values(value: Any) -> list[Any]:
    """What a liar might write instead."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value * 0.5 if value else 7]
    if isinstance(value, str):
        return ["something else", value + " of Germany"]
    if isinstance(value, list):
        return [value[1:], [*value, "Z"]] if value else [["Z"]]
    return [3] if value is None else [{"a": "b"}]


def change(public: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The public part with one statement changed."""
    lie = copy.deepcopy(public)
    part: Any = lie
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return lie


def is_named(path: tuple[Any, ...], verified: Verified) -> bool:
    """Whether a statement is listed as not checked."""
    words = ".".join(map(str, path))
    return any(line.startswith((f"{words} = ", f"{words}: ", f"{words}.")) for line in verified.said)


@pytest.fixture(scope="module", params=["drop", "mask"])
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A release, its suppressed rows dropped or masked, that is also said to be differentially private."""
    file, certificate = make_release(tmp_path_factory.mktemp("said"), request.param)
    certificate["public"]["differential_privacy"] = PRIVATE
    seal(certificate)
    return file, certificate


@pytest.mark.parametrize("whole", [True, False], ids=["both parts", "the public part alone"])
def test_no_lie_passes_without_a_word(released: tuple[Path, dict[str, Any]], whole: bool) -> None:
    """Every statement changed in every way: each is refused, or named as not checked, or counted and found true."""
    file, certificate = released
    public = certificate["public"]
    accepted, tried = [], 0
    for path in leaves(public):
        part: Any = public
        for key in path:
            part = part[key]
        for value in other_values(part):
            tried += 1
            lie = {"public": change(public, path, value)}
            if whole:
                lie["confidential"] = copy.deepcopy(certificate["confidential"])
                seal(lie)
            try:
                verified = verify(file, lie)
            except (Unsafe, BadInput):
                continue
            # What was counted anew, and is within that limit or of that threshold too, is no lie.
            weaker = path[0] == "claims" and path[-1] in ("limit", "threshold")
            if not is_named(path, verified) and not weaker:
                accepted.append((path, value))
    assert tried >= 121
    assert not accepted


def test_a_threshold_of_suppression_is_believed_as_a_limit_alone(tmp_path: Path) -> None:
    """Another one, however far below or up to what the classes have, is listed as said; so is none at all."""
    rows = pa.table({"q": ["a"] * 6 + ["b"] * 7 + ["c"], "ill": [*"xyz"] * 4 + ["x", "y"]})
    table = read(rows, Schema(("q",), ("ill",)))
    limits = {"k": 5.0, "l": 2.0}
    rule = settled_rule(limits, 0.1)
    made = release(Choice(table, bottom(table.hierarchies), rule, limits), rows, tmp_path / "o.csv", warnings=())
    honest = json.loads(made.certificate.text())
    assert honest["public"]["suppression"]["thresholds"] == {"k": 5, "l": 2}
    assert made.verified.thresholds == {"k": 5, "l": 2}
    for name, lies in {"k": (6, 4, -1, 0.5), "l": (3, 1)}.items():
        for lie in lies:
            certificate = change(honest, ("public", "suppression", "thresholds", name), lie)
            seal(certificate)
            for given in (certificate, {"public": certificate["public"]}):
                assert f"threshold of {name} = {lie:g}" in verify(tmp_path / "o.csv", given).unchecked
    certificate = change(honest, ("public", "suppression", "thresholds"), {})
    assert "suppression.thresholds = {}" in verify(tmp_path / "o.csv", {"public": certificate["public"]}).said


def release_of(kind: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """A small release of some kind, under a rule with thresholds, and its certificate."""
    rows = pa.table({
        "id": [f"p{place // 2}" for place in range(48)], "age": [20 + place // 12 * 10 for place in range(48)],
        "sex": ["F", "F", "M", "M"] * 12, "illness": ["flu", "cold", "gout"] * 16,
    })  # fmt: skip
    schema = Schema(("age", "sex"), ("illness",), person="id" if kind == "persons" else None, identifier=("id",))
    if kind == "persons":
        schema = replace(schema, identifier=())
    table = read(rows, schema, hierarchies={"age": AGES})
    limits = {"k": 2.0, "l": 2.0, "t": 0.9}
    if kind in ("sampled", "census"):
        table = replace(table, population=Population(fraction=0.1 if kind == "sampled" else 1.0))
        limits |= {"journalist-risk": 0.9}
    rule = Suppression("none") if kind == "local" else settled_rule(limits, 0.1)
    choice = Choice(table, node(table.hierarchies, (1, 0)), rule, limits)
    if kind == "local":
        rows = people()
        choice = chosen_locally(rows)
    done = release(choice, rows, folder / "o.csv", warnings=(), counts=kind == "counted")
    return folder / "o.csv", json.loads(done.certificate.text())


@pytest.mark.parametrize("kind", ["persons", "sampled", "census", "counted", "local"])
def test_no_lie_about_any_kind_of_release_passes_without_a_word(kind: str, tmp_path: Path) -> None:
    """Persons, a sample, a census, counts and local labels: each statement changed is refused or listed."""
    file, certificate = release_of(kind, tmp_path)
    accepted, tried = [], 0
    for path in leaves(certificate["public"]):
        part: Any = certificate["public"]
        for key in path:
            part = part[key]
        more = [-1, 1e308] if isinstance(part, float) or type(part) is int else []
        for value in [*other_values(part), *more, None, {}]:
            if value == part:
                continue
            tried += 1
            lie = {**certificate, "public": change(certificate["public"], path, value)}
            lie["confidential"] = copy.deepcopy(certificate["confidential"])
            seal(lie)
            try:
                verified = verify(file, lie)
            except (Unsafe, BadInput):
                continue
            # What was counted anew, and is within that limit too, is no lie.
            weaker = path[0] == "claims" and path[-1] in ("limit", "threshold")
            told = {name.partition(" = ")[0].partition(" (")[0] for name in verified.unchecked}
            by_name = path[0] == "claims" and spell_claim(lie["public"]["claims"][path[1]]) in told
            by_name = by_name or f"threshold of {path[-1]}" in told or (path[-1] == "sha256" and "sha256" in told)
            if not (weaker or by_name or is_named(path, verified)):
                accepted.append((path, value))
    assert tried >= 121
    assert not accepted


def objects(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every object of a certificate."""
    if isinstance(part, dict):
        yield path
    for key, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from objects(value, (*path, key))


def accepts(file: Path, lie: dict[str, Any], honest: Verified) -> bool:
    """Whether a lie is accepted, and nothing is listed as not checked that is not listed anyway."""
    seal(lie)
    try:
        verified = verify(file, lie)
    except (Unsafe, BadInput):
        return False
    return (verified.said, verified.unchecked) == (honest.said, honest.unchecked)


def test_no_word_is_added_without_a_word(released: tuple[Path, dict[str, Any]]) -> None:
    """A statement that nobody knows, in any object of either part or beside them, is refused or listed."""
    file, certificate = released
    honest = verify(file, certificate)
    places = [(part, *path) for part in ("public", "confidential") for path in objects(certificate[part])]
    assert len(places) > 40
    added = [(*path, "scope") for path in [(), *places]]
    lies = [(path, value) for path in added for value in ("for ever", {"of": "Germany"}, 5)]
    assert not [each for each in lies if accepts(file, change(certificate, *each), honest)]


def test_no_lie_in_confidence_passes_without_a_word(released: tuple[Path, dict[str, Any]]) -> None:
    """What the confidential part says beside what is counted is listed, as what the public part says is."""
    file, certificate = released
    honest = verify(file, certificate)
    assert any(line.startswith("confidential.input.sha256 = ") for line in honest.said)
    assert not [line for line in honest.said if line.startswith("confidential.recoding.columns")]  # as in public
    accepted, tried = [], 0
    for path in leaves(certificate["confidential"]):
        if path[0] in ("public_sha256", "sha256", "claims"):
            continue  # sealed anew; claims are those of the public part
        part: Any = certificate["confidential"]
        for key in path:
            part = part[key]
        for value in other_values(part):
            tried += 1
            # The beginning of a long statement is shown, so what is added to its end is listed and looks the same.
            long = len(json.dumps(part)) > 150
            if not long and accepts(file, change(certificate, ("confidential", *path), value), honest):
                accepted.append((path, value))
    assert tried > 25
    assert not accepted


def test_a_claim_that_nobody_may_count_is_refused(released: tuple[Path, dict[str, Any]]) -> None:
    """``recomputed: false`` switches no check off: not in the public part, and nowhere for what can be counted."""
    file, certificate = released
    for part in ("public", "confidential"):
        for place, claim in enumerate(certificate[part]["claims"]):
            lie = change(
                certificate, (part, "claims", place), {**claim, "value": 99, "limit": None, "recomputed": False}
            )
            seal(lie)
            with pytest.raises(Unsafe, match="and asks that nobody counts it again"):
                verify(file, lie)
    claims = [*certificate["public"]["claims"], {"measure": "lm", "value": 0, "recomputed": False}]
    with pytest.raises(Unsafe, match="asks that nobody counts it again"):
        verify(file, {"public": {**certificate["public"], "claims": claims}})


def test_a_limit_that_is_missed_is_refused(released: tuple[Path, dict[str, Any]]) -> None:
    """Every limit made sharper than the rows are, for each claim."""
    file, certificate = released
    for place, claim in enumerate(certificate["public"]["claims"]):
        if claim["value"] != "inf":
            sharper = claim["value"] + (1 if claim["measure"] in ("k", "l", "entropy-l") else -1e-3)
            with pytest.raises(Unsafe, match="and the limit is"):
                verify(file, {"public": change(certificate["public"], ("claims", place, "limit"), sharper)})


OPTION_LIES: list[dict[str, Any]] = [
    {"counts": "households"}, {"counts": True}, {"after": "any number of releases"}, {"kind": "entropy"},
    {"reference": "population of Germany"}, {"distance": "far"}, {"l": 2.5}, {"l": True}, {"threshold": "0.2"},
    {"threshold": 7}, {"absent": "never"}, {"column": 3}, {"value": 3}, {"Counts": "persons"}, {"": "x"},
]  # fmt: skip


@pytest.mark.parametrize("measure", OPTIONS)
def test_the_options_of_a_claim_are_a_closed_list(measure: str, released: tuple[Path, dict[str, Any]]) -> None:
    """An option, or a value of one, that the verifier does not know is refused: it cannot say whether it holds."""
    file, certificate = released
    claims: list[dict[str, Any]] = certificate["public"]["claims"]
    unclaimed: dict[str, Any] = {"value": 1, "limit": None, "with": {}}
    base = next((claim for claim in claims if claim["measure"] == measure), unclaimed)
    for lie in OPTION_LIES:
        claim = {**base, "measure": measure, "with": {**base["with"], **lie}}
        needs = {"needs": "population"} if measure in PEOPLE else {}
        with pytest.raises(Unsafe, match="not known to this verifier"):
            verify(file, {"public": {**certificate["public"], "claims": [{**claim, **needs}]}})


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"measure": "magic", "value": 1}, "'magic', which this verifier does not know"),
        ({"measure": "k(counts=households)", "value": 1}, "which this verifier does not know"),
        ({"measure": "k", "value": 15, "scope": "for ever"}, "'scope' as well, which is not known to this verifier"),
        ({"measure": "magic", "value": 1, "recomputed": False, "scope": 1}, "not known to this verifier"),
        ({"measure": "k", "value": 15, "asked": 50}, "'asked' as well, which is not known to this verifier"),
        ({"measure": "k", "value": 15, "estimated": "for all of Germany"}, "'estimated' as well"),
        ({"measure": "lm", "value": 1, "recomputed": False, "estimated": "exact"}, "'estimated' as well"),
        ({"measure": "k", "value": 15, "needs": "population"}, "'needs' as well"),
        ({"measure": "journalist-risk", "value": 0.01}, "nobody can count in a release alone"),
        ({"measure": "t", "value": 0.1}, "with the whole table, and does not say what is there"),
    ],
)
def test_claims_in_other_words_are_refused(
    claim: dict[str, Any], words: str, released: tuple[Path, dict[str, Any]]
) -> None:
    """A measure or a key that is not in the lists is unsafe, not a remark."""
    file, certificate = released
    with pytest.raises(Unsafe, match=words):
        verify(file, {"public": {**certificate["public"], "claims": [claim]}})


def test_the_lists_are_those_of_the_definitions() -> None:
    """Every measure that is counted again has its options there, and they are those of our own measures."""
    assert set(OPTIONS) == {*SIZES, *TOTALS, *VALUES, *PEOPLE}
    assert set(certificate.PEOPLE) == PEOPLE
    for name, options in OPTIONS.items():
        code = MAKERS[name].__code__
        taken = {*code.co_varnames[: code.co_argcount]} - {"hierarchy"}
        assert set(options) - {"counts"} == taken, name


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("suppression", "suppressed"), 399, "399 rows are said to be suppressed|said twice or not at all"),
        (("suppression", "fewer_than"), 4, "said twice or not at all|fewer than 4"),
        (("warnings",), [], "other warnings are named"),
        (("recoding", "age", "level"), 0, "'age' is said to be shown on level 0"),
        (("population",), "Nobody can be found.", "a population is mentioned"),
        (("release", "roles", "note"), "quasi-identifier", "The certificate recodes age, sex, and the quasi-id"),
        (("release", "roles", "note"), "harmless", "the role 'harmless', which is not known to this verifier"),
        (("release", "roles", "other"), "plain", "gives a role to other columns than the release has: 'other'"),
        (("kpareto certificate",), 2, "of format 2, which is not known to this verifier"),
        (
            ("recoding", "age", "labels"),
            ["20-29", "30-39", "40-49", "50-59", "60-69"],
            "has the label '60-69' in 'age'",
        ),
    ],
)
def test_contradictions_are_refused(
    path: tuple[str, ...], value: Any, words: str, released: tuple[Path, dict[str, Any]]
) -> None:
    """What the confidential part or the rows say otherwise is unsafe."""
    file, certificate = released
    lie = {"public": change(certificate["public"], path, value), "confidential": dict(certificate["confidential"])}
    seal(lie)
    with pytest.raises(Unsafe, match=words):
        verify(file, lie)


def test_another_sensitive_column_contradicts_the_confidential_part(released: tuple[Path, dict[str, Any]]) -> None:
    """One that no claim speaks of is told by the distributions, which the confidential part has of each."""
    file, certificate = released
    public = change(certificate["public"], ("release", "roles", "note"), "sensitive")
    lie = {
        "public": {**public, "claims": [claim for claim in public["claims"] if claim["measure"] == "k"]},
        "confidential": {**certificate["confidential"], "claims": []},
    }
    seal(lie)
    with pytest.raises(Unsafe, match="'note' is said to be sensitive"):
        verify(file, lie)


def test_silence_is_told(released: tuple[Path, dict[str, Any]]) -> None:
    """Warnings that were taken out of the public part are missed, not forgotten."""
    file, certificate = released
    public = {key: value for key, value in certificate["public"].items() if key != "warnings"}
    assert "warnings: nothing is said" in verify(file, {"public": public}).said


def test_the_first_line_counts_and_epsilon_comes_first(
    released: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """How many statements were recomputed, compared and only said; then differential privacy before anything else."""
    file, certificate = released
    lie = {**certificate, "public": {**certificate["public"], "engine": "\x1b[2J"}}
    lie["confidential"] = {**certificate["confidential"]}
    seal(lie)
    assert lie["confidential"]["public_sha256"] == digest_of(lie["public"])
    (tmp_path / "c.json").write_text(json.dumps(lie))
    assert main(["verify", str(file), str(tmp_path / "c.json"), "--json", str(tmp_path / "v.json")]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    data = json.loads((tmp_path / "v.json").read_text())
    counts = (
        data["statements"]["recomputed"],
        data["statements"]["compared"],
        len(data["said"]) + len(data["unchecked"]),
    )
    assert f"Of {sum(counts)} statements {counts[0]} were recomputed, {counts[1]} compared" in first
    assert f"and {counts[2]} only said." in first
    said = [line.strip() for line in lines if "said, not checked:" in line]
    assert len(said) == counts[2]
    assert said[:2] == [
        "said, not checked: differential_privacy.epsilon = 1",
        "said, not checked: differential_privacy.delta = 1e-06",
    ]
    assert "said, not checked: engine = \\x1b[2J" in said
