"""What may stand in a certificate, node by node (what a later version adds is left alone), and why one is refused.

The words of a claim are closed lists: the roles, what a claim may say, and each measure's options with their values. A
claim with any other word says something that this verifier does not understand, so it cannot call it true: it is
refused. They are written down here on their own, and a test holds them against the definitions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from kpareto.errors import BadInput, KparetoError, Unsafe
from kpareto.strict import (
    FileKind,
    Value,
    anything,
    check_shape,
    either,
    entry,
    list_of,
    map_of,
    maybe,
    number,
    read_json,
    record,
    text,
    truth,
    whole,
    word,
)

CERTIFICATE = FileKind("The certificate", "Take it as it was written with its release.")
JOURNAL = ".journal"  # .NAME.journal stands beside a release while it and its documents are put into place
_NUMBER = either(word("inf", "-inf"), number())  # JSON has no infinity
_CLAIM = record(
    {"measure": text, "value": _NUMBER},
    {
        "with": map_of(either(text, truth, number())),
        "limit": maybe(_NUMBER),
        "recomputed": truth,
        "needs": word("population"),
    },
)
_BOOK = record(
    {"labels": list_of(list_of(text, 1, 3))},
    {"values": list_of(text), "numbers": word("whole"), "counts": list_of(entry(text, text, whole())), "rest": whole()},
)
_FORM = record({}, {"separator": text, "encoding": text, "decimal": text})  # of a text that is not the usual one
PUBLIC = record(
    {
        "claims": list_of(_CLAIM),
        "release": record(
            {"rows": whole(), "columns": list_of(text), "roles": map_of(text), "sha256": maybe(text)},
            {"format": text, "content_sha256": text, "form": _FORM},
        ),
        "recoding": map_of(record({"labels": list_of(text)})),
        "suppression": record({"masked": whole()}, {"thresholds": map_of(number())}),
    },
    {"kpareto certificate": whole(1), "version": text, "codebook": map_of(_BOOK)},
)
CONFIDENTIAL = record(
    {
        "public_sha256": text,
        "sha256": text,
        "input": record({"rows": whole(), "missing_rows": whole()}),
        "suppression": record({"dropped": whole()}),
    },
    {
        "claims": list_of(_CLAIM),
        "distributions": map_of(list_of(entry(text, whole()))),
        "warnings": list_of(anything),
        "population": record(
            {"rows": whole(), "labels": map_of(map_of(text)), "missing": text, "missing_values": list_of(text)},
            {"sha256": text, "content_sha256": text, "encoding": text},
        ),
    },
)


@contextmanager
def tell_broken() -> Iterator[None]:
    """A certificate that lacks what is asked of it, or whose numbers make no sense, is a sentence."""
    try:
        yield
    except KparetoError:
        raise
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"The certificate is not whole: {error} is missing or of a wrong kind.") from error
    except (ValueError, ArithmeticError) as error:
        raise BadInput(f"The certificate makes no sense: its numbers cannot be worked out ({error}).") from error


@contextmanager
def tell_stopped(release: Path | None) -> Iterator[None]:
    """Where a program was killed while it put a release and its documents into place, that is why they do not fit."""
    try:
        yield
    except Unsafe as error:
        if release is None or not release.with_name(f".{release.name}{JOURNAL}").exists():
            raise
        raise Unsafe(
            f"{error} A program was stopped while it put {release.name!r} and its documents into place; release again, "
            "which puts the earlier documents back first."
        ) from error


def parts(certificate: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The public and the confidential part (empty where it is withheld) of a certificate in any form."""
    if isinstance(certificate, str | PathLike):
        certificate = read_json(certificate, CERTIFICATE, anything)
    if not isinstance(certificate, Mapping):
        certificate = {name: getattr(certificate, name, {}) for name in ("public", "confidential")}
    whole: Mapping[str, Any] = certificate if "public" in certificate else {"public": certificate}
    public, confidential = whole["public"], whole.get("confidential") or {}
    if others := [str(key) for key in whole if key not in ("public", "confidential")]:
        raise Unsafe(
            f"The certificate says {others[0]!r} beside its two parts, which is not known to this verifier. Whether "
            "that holds nobody has counted."
        )
    if not isinstance(public, dict) or not isinstance(confidential, dict) or not public.get("claims"):
        raise BadInput("The certificate claims nothing: it has no public part with claims. Give that of the release.")
    check_shape(public, CERTIFICATE, PUBLIC)
    if confidential:
        check_shape(confidential, CERTIFICATE, CONFIDENTIAL)
    return public, confidential


def digest_of(part: dict[str, Any]) -> str:
    """SHA-256 of one part of a certificate in its canonical spelling."""
    plain = json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(plain.encode()).hexdigest()


# -- the words of a claim ---------------------------------------------------------------------------------------------

ROLES = ("identifier", "quasi-identifier", "sensitive", "target", "plain")
# What may stand in a claim; the last ones where what it claims was estimated or could not be counted again.
KEYS = {"measure", "with", "limit", "value", "recomputed", "needs", "asked", "estimated"}
ESTIMATED = "estimated, not counted"
PEOPLE = ("k-map", "journalist-risk", "marketer-risk", "presence-max", "presence-min", "population-uniques")
# The l of recursive (c,l)-diversity: a whole number, also where it is written as 3.0.
_PLACE = Value("a whole number", lambda value: number(1).fits(value) and value == int(value))
_SIZE: dict[str, Value] = {"counts": word("persons")}
_VALUES: dict[str, Value] = {**_SIZE, "column": text}
_RELATIVE: dict[str, Value] = {**_VALUES, "reference": word("table", "release")}
# measure -> its options -> which values they may have
OPTIONS: dict[str, dict[str, Value]] = {
    "k": _SIZE,
    "risk-max": _SIZE,
    "risk-mean": _SIZE,
    "risk-share": {**_SIZE, "threshold": number(0, 1)},
    "uniques": _SIZE,
    "l": _VALUES,
    "entropy-l": _VALUES,
    "recursive-l": {**_VALUES, "l": _PLACE},
    "alpha": {**_VALUES, "value": text},
    "t": {**_RELATIVE, "distance": word("equal", "ordered", "hierarchical")},
    "beta": _RELATIVE,
    "enhanced-beta": _RELATIVE,
    "delta": {**_RELATIVE, "absent": word("ignored", "infinite")},
    "k-map": {},
    "journalist-risk": {},
    "marketer-risk": {},
    "presence-max": {},
    "presence-min": {},
    "population-uniques": {},
}


def spell_claim(claim: Mapping[str, Any]) -> str:
    """A claim's measure as the command line writes it, such as t(column=diagnosis)."""
    options = ", ".join(f"{key}={value}" for key, value in sorted(claim.get("with", {}).items()))
    return f"{claim['measure']}({options})" if options else str(claim["measure"])


def check_claim(claim: Mapping[str, Any]) -> None:
    """Raise Unsafe where a claim has a word that is not in the lists."""
    name, options = claim["measure"], claim.get("with", {})
    if name not in OPTIONS:
        raise Unsafe(f"The certificate claims {name!r}, which this verifier does not know.")
    for option, value in options.items():
        known = OPTIONS[name].get(option)
        if known is None or not known.fits(value):
            raise Unsafe(
                f"The certificate claims {spell_claim(claim)}, and {option} = {value!r} is not known to this verifier "
                f"as an option of {name}. Whether that holds nobody has counted."
            )
    refuse_others(claim)


def refuse_others(claim: Mapping[str, Any]) -> None:
    """Raise Unsafe where a claim says more than a claim can say."""
    open_ones = claim.get("recomputed", True)
    fits = {
        "needs": claim["measure"] in PEOPLE,
        "asked": not open_ones,
        "estimated": not open_ones and claim.get("estimated") == ESTIMATED,
    }
    others = [key for key in claim if key not in KEYS or not fits.get(key, True)]
    if others:
        raise Unsafe(
            f"The claim {spell_claim(claim)} of the certificate says {others[0]!r} as well, which is not known to this "
            "verifier. Whether that holds nobody has counted."
        )


def refuse_uncounted(public: Mapping[str, Any], confidential: Mapping[str, Any]) -> None:
    """Raise Unsafe where a claim asks not to be counted again that anybody can count, or that everybody reads."""
    for part in (public, confidential):
        for claim in part.get("claims", ()):
            countable = part is public or (claim["measure"] in OPTIONS and claim["measure"] not in PEOPLE)
            if claim.get("recomputed") is False and countable:
                raise Unsafe(
                    f"The certificate claims {spell_claim(claim)} and asks that nobody counts it again. What is not "
                    "counted is no claim."
                )


def check_roles(columns: list[str], roles: Mapping[str, str]) -> None:
    """Raise Unsafe unless every column of the release has a role that there is, and nothing else has one."""
    for name, role in roles.items():
        if role not in ROLES:
            raise Unsafe(f"The certificate gives {name!r} the role {role!r}, which is not known to this verifier.")
    if set(columns) != set(roles):
        odd = sorted(set(columns) ^ set(roles))[0]
        raise Unsafe(f"The certificate gives a role to other columns than the release has: {odd!r}.")
