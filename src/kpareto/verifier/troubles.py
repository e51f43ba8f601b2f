"""Why a certificate cannot be checked, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kpareto.errors import BadInput, Unsafe

JOURNAL = ".journal"  # .NAME.journal stands beside a release while it and its papers are put into place


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
    """Where a program was killed while it put a release and its papers into place, that is why they do not fit."""
    try:
        yield
    except Unsafe as error:
        if release is None or not release.with_name(f".{release.name}{JOURNAL}").exists():
            raise
        raise Unsafe(
            f"{error} A program was stopped while it put {release.name!r} and its papers into place; release again, "
            "which puts the earlier papers back first."
        ) from error
