"""What may stand in a certificate, node by node (what a later version adds is left alone), and why one is refused."""

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
    anything,
    check_shape,
    either,
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


def _share(value: Any, where: str) -> None:
    """A value and its rows."""
    list_of(anything, 2, 2)(value, where)
    text(value[0], f"{where}[0]")
    whole()(value[1], f"{where}[1]")


def _count(value: Any, where: str) -> None:
    """The first value, the last value, and the rows of all between."""
    list_of(anything, 3, 3)(value, where)
    text(value[0], f"{where}[0]")
    text(value[1], f"{where}[1]")
    whole()(value[2], f"{where}[2]")


_BOOK = record(
    {"labels": list_of(list_of(text, 1, 3))},
    {"values": list_of(text), "numbers": word("whole"), "counts": list_of(_count), "rest": whole()},
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
        "distributions": map_of(list_of(_share)),
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
