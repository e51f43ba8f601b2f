"""Which counter counts what: a release is counted where it lies, by the counter of its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kpareto.errors import Unsafe
from kpareto.verifier.counting import Counted, count_file, file_digest
from kpareto.verifier.postgres import count_table
from kpareto.verifier.spark import count_frame

# How each kind of release is counted; a kind is what the door of the engines calls it.
COUNTERS: dict[str, Callable[[Any, dict[str, Any], Any], Counted]] = {
    "file": lambda path, said, _: count_file(path, said),
    "postgres": count_table,
    "spark": lambda frame, said, _: count_frame(frame, said),
}


def count(kind: str, where: object, said: dict[str, Any], part: Path | None = None, link: object = None) -> Counted:
    """What lies where it was written, counted by the counter of its kind; ``said`` has the columns and their roles.

    ``part`` is the file or folder whose bytes are hashed, if there is one; ``link`` the open connection that alone sees
    a table before it is final.
    """
    counted = COUNTERS[kind](where, said, link)
    try:
        return replace(counted, digest=None if part is None else file_digest(part))
    except OSError as error:
        raise Unsafe(f"The release {str(part)!r} cannot be read ({error}).") from error
