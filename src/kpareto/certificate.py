"""The certificate of a release: what is claimed of it, in a form that ``verify`` checks without our code.

Two parts (SPEC W13). The **public** part holds nothing that the released file does not show anyway: its hash, columns
and roles, the labels in it, what can be recomputed from it, and the rule of suppression; the number of suppressed rows
only where it is 0 or at least k. The **confidential** part stays in the house: the hashes of the input and of the
hierarchies, the whole recoding, exact counts, the distribution of sensitive values in the whole table with the claims
against it, and the warnings in full. It names the public part it belongs to by its hash. There is no time stamp:
equal input, job and version give equal bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kpareto._version import __version__
from kpareto.counting import Class, Counted, Labels
from kpareto.diversity import distinct_l
from kpareto.measure import Model
from kpareto.measures import make
from kpareto.partition import Partition
from kpareto.stored import Choice, hierarchy_digest, legible
from kpareto.verify import RELATIVE, SIZES, VALUES, by_class, content_digest, digest_of
from kpareto.whole import write_whole

FORMAT = 1
Warned = tuple[str, str]  # number of the warning (W1 …) and its sentence


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is claimed of a release, as plain data."""

    public: dict[str, Any]
    confidential: dict[str, Any]

    def text(self) -> str:
        """Both parts as JSON; for those who may see the input."""
        return legible({"public": self.public, "confidential": self.confidential})

    def public_text(self) -> str:
        """The public part as JSON; may go with the release."""
        return legible({"public": self.public})

    def write(self, target: str | PathLike[str]) -> None:
        """Write both parts, whole or not at all."""
        write_whole(target, self.text())

    def write_public(self, target: str | PathLike[str]) -> None:
        """Write the public part alone."""
        write_whole(target, self.public_text())


@dataclass(frozen=True, eq=False)
class Facts:
    """What a certificate is made of, beside the choice and its partition."""

    roles: Mapping[str, str]  # released column -> role, in the order of the columns
    labels: Mapping[str, Sequence[str]]  # quasi-identifier -> label of each group as written
    handling: Mapping[str, object]  # order, seed, identifiers, representatives: how the rows were written
    engine: str  # which program holds and recoded the rows
    input_digest: str
    missing_values: Sequence[str]
    format: str  # csv, parquet, or frame where there is no file
    warnings: Sequence[Warned] = ()
    remarks: Sequence[str] = ()


def certify(counted: Counted, choice: Choice, partition: Partition, facts: Facts) -> Certificate:
    """The certificate of what was written and counted again."""
    said = {"columns": list(facts.roles), "roles": dict(facts.roles)}
    classes, rows = counted.classes, counted.rows
    table = partition.table
    # A frame or a table has no bytes of its own; its classes are what can be recognised.
    content = {} if counted.digest is not None else {"content_sha256": content_digest(classes)}
    masked = int(partition.rows[partition.suppressed & partition.visible].sum())
    lost = partition.suppressed_rows
    k = int(partition.sizes[partition.visible].min())
    open_claims, closed_claims = claims(choice, partition, classes, dict(facts.roles))
    quasi = [name for name, role in facts.roles.items() if role == "quasi-identifier"]
    seen = {name: sorted({labels[place] for labels in classes}) for place, name in enumerate(quasi)}
    public = {
        "kpareto certificate": FORMAT,
        "version": __version__,
        "release": {"format": facts.format, "sha256": counted.digest, **content, "rows": rows, **said},
        "recoding": {name: {**_level(choice, name), "labels": seen[name]} for name in quasi},
        "suppression": {
            "rule": choice.suppression.rule,
            "limit": choice.suppression.limit,
            "rows": "mask" if masked else "drop",
            "masked": masked,
            "suppressed": lost if lost == 0 or lost >= k else None,
            "fewer_than": None if lost == 0 or lost >= k else k,
        },
        "claims": open_claims,
        "handling": dict(facts.handling),
        "engine": facts.engine,
        "counted_by": counted.by,
        "missing": table.missing,
        "warnings": [number for number, _ in facts.warnings],
    }
    confidential = {
        "public_sha256": digest_of(public),
        "input": {
            "sha256": facts.input_digest,
            "rows": table.rows + table.dropped,
            "missing_rows": table.dropped,
            "missing_values": list(facts.missing_values),
        },
        "hierarchies": {h.name: hierarchy_digest(h) for h in choice.recoding.hierarchies},
        "recoding": {"columns": choice.recoding.describe(), "labels": {n: list(v) for n, v in facts.labels.items()}},
        "suppression": {"suppressed": lost, "dropped": lost - masked, "k": choice.suppression.k},
        "claims": closed_claims,
        "distributions": {
            counts.name: [[v, n] for v, n in zip(counts.values, counts.totals.tolist(), strict=True)]
            for counts in table.sensitive
        },
        "warnings": [list(warning) for warning in facts.warnings],
        "remarks": list(facts.remarks),
    }
    return Certificate(public, confidential)


def _level(choice: Choice, name: str) -> dict[str, object]:
    if choice.recoding.levels is None:
        return {}
    place = choice.table.column(name)
    return {"level": choice.recoding.levels[place], "of": choice.recoding.hierarchies[place].height}


def claims(
    choice: Choice, partition: Partition, classes: dict[Labels, Class], roles: dict[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is claimed in public and in confidence: k, l of each sensitive column, and every limit."""
    wanted = [(claim_of(spec, limit), make(spec)) for spec, limit in sorted(choice.limits.items(), key=_k_first)]
    if "k" not in choice.limits:
        wanted.insert(0, (claim_of("k", None), make("k")))
    for counts in partition.table.sensitive:
        claim: dict[str, Any] = {"measure": "l", "with": {"column": counts.name}, "limit": None}
        if not any(other["measure"] == "l" and other["with"] == claim["with"] for other, _ in wanted):
            wanted.append((claim, distinct_l(counts.name)))
    public: list[dict[str, Any]] = []
    confidential: list[dict[str, Any]] = []
    for claim, measure in wanted:
        value = measure(partition)
        name = claim["measure"]
        if name in SIZES and partition.table.persons is not None:
            counted = {"counts": "persons", **claim.get("with", {})}
            public.append({**claim, "with": counted, "value": _number(value), "recomputed": False})
            value = float(partition.rows[partition.visible].min()) if name == "k" else float(_risk(partition))
            public.append({**claim, "value": _number(value)})
        elif name in RELATIVE and claim["with"].get("distance") != "hierarchical":
            confidential.append({**claim, "value": _number(value)})
            own = {**claim, "with": {**claim["with"], "reference": "release"}}
            if claim["with"].get("reference", "table") == "table":
                own["limit"] = None  # it was set for the distance to the table
            found = by_class(own, classes, roles, {})
            public.append({**own, "value": _number(max(found.values()))})
        elif isinstance(measure, Model) and (name in SIZES or name in VALUES):
            public.append({**claim, "value": _number(value)})
        else:
            confidential.append({**claim, "value": _number(value), "recomputed": False})
    return public, confidential


def _k_first(limit: tuple[str, float]) -> tuple[bool, str]:
    """The verifier checks claims in their order, and a small class is what a person should hear of first."""
    return limit[0] != "k", limit[0]


def _risk(partition: Partition) -> float:
    return float((1.0 / partition.rows[partition.visible]).max())


def claim_of(spec: str, limit: float | None) -> dict[str, Any]:
    """A measure's full name taken apart: t(column=diagnosis, distance=ordered) -> measure and parameters."""
    name, _, inside = spec.strip().removesuffix(")").partition("(")
    given: dict[str, object] = {}
    for part in filter(None, (piece.strip() for piece in inside.split(","))):
        key, _, value = part.partition("=")
        number = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value.strip())
        given[key.strip()] = _number(float(value)) if number and key.strip() != "value" else value.strip()
    return {"measure": name, "with": given, "limit": None if limit is None else _number(float(limit))}


def _number(value: float) -> float | int | str:
    """A number as JSON has it: whole ones as such, infinity as a text that Python's float reads."""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return int(value) if float(value).is_integer() else float(value)
