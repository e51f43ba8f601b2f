"""Every public statement of a certificate and what became of it: recomputed, compared with the confidential part, said.

The public part is opened into single statements, whatever it holds: one that nobody knows is only said, as are those of
a later version. So is what the confidential part says beside what is counted. Two parts that contradict each other are
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kpareto.errors import Unsafe
from kpareto.verifier.certificate import OPTIONS, spell_claim
from kpareto.verifier.counting import QUASI, STAR, Class, Labels

Path = tuple[str, ...]
LONGEST = 160  # letters of a statement that are shown
# What stands in every certificate; silence about it is worth a word.
EXPECTED: tuple[Path, ...] = (
    ("version",), ("release", "format"), ("suppression", "rule"), ("suppression", "limit"), ("suppression", "rows"),
    ("suppression", "suppressed"), ("handling",), ("engine",), ("counted_by",), ("missing",), ("warnings",),
)  # fmt: skip
# What adds up with the rows, or is compared, of the confidential part.
CONFIDED: set[Path] = {
    ("public_sha256",), ("sha256",), ("input", "rows"), ("input", "missing_rows"), ("suppression", "dropped"),
    ("suppression", "suppressed"),
}  # fmt: skip
# What is worked out again before anything is accepted, where it is said.
RECOMPUTED: set[Path] = {
    ("kpareto certificate",), ("release", "rows"), ("release", "columns"), ("release", "sha256"),
    ("release", "content_sha256"),
}  # fmt: skip


@dataclass(frozen=True)
class Statements:
    """How many public statements were recomputed and compared, and each that is only said."""

    recomputed: int
    compared: int
    said: tuple[str, ...]  # those of differential privacy first


def weigh(
    public: dict[str, Any], confidential: dict[str, Any], classes: Mapping[Labels, Class], unchecked: list[str]
) -> Statements:
    """Raise Unsafe where the parts contradict each other; else what became of every public statement.

    unchecked: the claims and thresholds that nobody could work out again, by their names; they are listed elsewhere.
    """
    hidden = _check_masked(public, confidential, classes)
    compared = _compare(public, confidential) | hidden[1] if confidential else set()
    recomputed = RECOMPUTED | hidden[0]
    counts, unproven = [0, 0], []
    for path, value in _open(public):
        if path[0] == "claims":
            counts[0] += value not in unchecked
        elif path in recomputed and value is not None:
            counts[0] += 1
        elif path[:2] == ("suppression", "thresholds") and len(path) == 3:
            counts[0] += f"threshold of {path[2]} = {value:g}" not in unchecked
        elif len(path) == 3 and (path[0], path[2]) == ("recoding", "labels"):
            counts[0] += 1
        elif path in compared:
            counts[1] += 1
        elif path != ("release", "sha256"):  # one that is not there is listed with the claims
            possible = " (possible, not counted)" if path[0] == "codebook" and path[-1] == "counts" else ""
            unproven.append((path, f"{'.'.join(path)} = {_show(value)}{possible}"))
    unproven += _list_confidential(public, confidential, compared, unchecked)
    silent = [f"{'.'.join(path)}: nothing is said" for path in EXPECTED if not _has(public, path)]
    unproven.sort(key=lambda each: _rank(each[0]))
    return Statements(counts[0], counts[1], (*(words for _, words in unproven), *silent))


def _list_confidential(
    public: dict[str, Any], confidential: dict[str, Any], compared: set[Path], unchecked: list[str]
) -> Iterator[tuple[Path, str]]:
    """What the confidential part says that nobody could count or compare: two levels of it, each in a line."""
    counted = [claim for claim in confidential.get("claims", ()) if spell_claim(claim) not in unchecked]
    relative = [c.get("with", {}).get("column") for c in counted if "reference" in OPTIONS.get(c["measure"], {})]
    people = any(claim.get("needs") == "population" for claim in counted)
    for word, part in confidential.items():
        opened = part if isinstance(part, dict) and part else {"": part}
        for key, value in opened.items():
            path = (word, key) if key else (word,)
            recounted = word in ("distributions", "persons") and (None in relative or key in relative)
            if path in CONFIDED or recounted or word == "claims" or (word == "population" and people):
                continue
            if path == ("recoding", "columns"):  # a level of each column, those of the public part were compared
                value = {name: each for name, each in value.items() if ("recoding", name, "level") not in compared}
            if path == ("recoding", "labels"):
                value = {n: each for n, each in value.items() if each != public["recoding"].get(n, {}).get("labels")}
            if value not in ({}, [], None):
                yield ("confidential", *path), f"confidential.{'.'.join(path)} = {_show(value)}"


def _rank(path: Path) -> int:
    """Epsilon and delta first, then whatever else is said of differential privacy."""
    if path[-1] in ("epsilon", "delta"):
        return 0
    return 1 if path[0] == "differential_privacy" else 2


def _open(part: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each statement and where it stands: objects are opened, a list is one, and so is each claim, by its name."""
    for key, value in part.items():
        path = (*above, str(key))
        if path == ("claims",):
            yield from ((path, spell_claim(claim)) for claim in value)
        elif isinstance(value, Mapping) and value:
            yield from _open(value, path)
        else:
            yield path, value


def _has(part: Any, path: Path) -> bool:
    for key in path:
        if not isinstance(part, Mapping) or key not in part:
            return False
        part = part[key]
    return True


def _show(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _check_masked(
    public: dict[str, Any], confidential: dict[str, Any], classes: Mapping[Labels, Class]
) -> tuple[set[Path], set[Path]]:
    """What is said of masked rows that the release shows, and what the confidential part says too; Unsafe if false.

    Where no row is said to be masked, a class that shows nothing but stars may be one of the recoding.
    """
    record = public["suppression"]
    paths: set[Path] = {("suppression", "masked"), ("suppression", "rows")}
    masked, hidden = record["masked"], classes.get((STAR,) * len(next(iter(classes))), Class()).rows
    if masked and hidden != masked:
        raise Unsafe(f"{hidden:,} rows are masked, and the certificate says {masked:,}.")
    if record.get("rows", "mask" if masked else "drop") != ("mask" if masked else "drop"):
        raise Unsafe(f"The certificate says rows = {record['rows']!r} of suppression, and {masked:,} rows are masked.")
    lost = confidential.get("suppression", {})
    if "suppressed" in lost and lost["suppressed"] - lost["dropped"] != masked:
        raise Unsafe(f"The certificate says that {masked:,} rows are masked, and its confidential part says otherwise.")
    return (paths, set()) if hidden == masked else (set(), paths)


def _compare(public: dict[str, Any], confidential: dict[str, Any]) -> set[Path]:
    """The statements that the confidential part makes as well; Unsafe where it makes another."""
    known = any(word in confidential for word in ("population", "sampling"))
    if known != ("population" in public) and "hierarchies" in confidential:  # what is said of it is for people
        raise _contradict("a population is " + ("not mentioned" if known else "mentioned"))
    return {
        *_compare_roles(public, confidential),
        *_compare_levels(public, confidential),
        *_compare_suppression(public, confidential),
        *_compare_warnings(public, confidential),
    }


def _contradict(what: str) -> Unsafe:
    return Unsafe(f"The two parts of the certificate contradict each other: {what}.")


def _compare_roles(public: dict[str, Any], confidential: dict[str, Any]) -> Iterator[Path]:
    for role, place in ((QUASI, "hierarchies"), ("sensitive", "distributions")):
        for name, role_there in public["release"]["roles"].items() if place in confidential else ():
            if (role_there == role) != (name in confidential[place]):
                raise _contradict(f"{name!r} is said to be {role_there}")
            if role_there == role:
                yield "release", "roles", name


def _compare_levels(public: dict[str, Any], confidential: dict[str, Any]) -> Iterator[Path]:
    levels = confidential.get("recoding", {}).get("columns", {})
    for name, shown in public["recoding"].items():
        level = levels.get(name)
        if "level" in shown and level is not None:
            if shown["level"] != level:
                raise _contradict(f"{name!r} is said to be shown on level {_show(shown['level'])}")
            yield "recoding", name, "level"


def _compare_suppression(public: dict[str, Any], confidential: dict[str, Any]) -> Iterator[Path]:
    record, lost = public["suppression"], confidential["suppression"].get("suppressed")
    if lost is None:
        return
    claimed, fewer = record.get("suppressed"), record.get("fewer_than")
    if {"suppressed", "fewer_than"} <= set(record) and (claimed is None) == (fewer is None):
        raise _contradict("how many rows were suppressed is said twice or not at all")
    if claimed is not None and claimed != lost:
        raise _contradict(f"{_show(claimed)} rows are said to be suppressed")
    sizes = [claim["value"] for claim in public["claims"] if claim["measure"] == "k"]
    if fewer is not None and (fewer not in sizes or lost >= fewer):
        raise _contradict(f"fewer than {_show(fewer)} rows are said to be suppressed")
    yield from (("suppression", "suppressed"), ("suppression", "fewer_than"))


def _compare_warnings(public: dict[str, Any], confidential: dict[str, Any]) -> Iterator[Path]:
    if "warnings" in confidential:
        if public.get("warnings", []) != [each[0] for each in confidential["warnings"]]:
            raise _contradict("other warnings are named")
        yield ("warnings",)


def check_labels(classes: Mapping[Labels, Class], quasi: list[str], recoding: dict[str, Any]) -> None:
    """Raise Unsafe unless the recoding is of the quasi-identifiers, with the labels that the release has."""
    if set(quasi) != set(recoding):
        raise Unsafe(
            f"The certificate recodes {', '.join(recoding)}, and the quasi-identifiers are {', '.join(quasi)}."
        )
    for place, name in enumerate(quasi):
        allowed, seen = set(recoding[name]["labels"]), {labels[place] for labels in classes}
        if not seen <= {STAR, *allowed}:
            worst = min(labels for labels in classes if labels[place] not in {STAR, *allowed})
            raise Unsafe(
                f"{name_class(worst)} has the label {worst[place]!r} in {name!r}, which the recoding does not have."
            )
        if allowed - seen:
            raise Unsafe(
                f"The recoding has the label {min(allowed - seen)!r} in {name!r}, which no row of the release has."
            )


def name_class(labels: Labels) -> str:
    """A class in a sentence."""
    return f"The class ({', '.join(labels)})"
