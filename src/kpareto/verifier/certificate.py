"""What may stand in a certificate, node by node (what a later version adds is left alone), and why one is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kpareto.errors import BadInput, Unsafe
from kpareto.strict import FileKind, anything, either, list_of, map_of, maybe, number, record, text, truth, whole, word

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
    {"kpareto certificate": whole(1), "version": text},
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
            {"sha256": text, "encoding": text},
        ),
    },
)


@contextmanager
def tell_broken() -> Iterator[None]:
    """A certificate that lacks what is asked of it, or whose numbers make no sense, is a sentence."""
    try:
        yield
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
