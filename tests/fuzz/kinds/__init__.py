"""Kinds of cases: each makes a random case as plain data, and checks it against the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Case = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A property that must hold of every case."""

    name: str
    what: str  # a sentence for the table of what was tried
    make: Callable[[random.Random], Case]
    check: Callable[[Case, Path], None]  # raises Wrong, or Refused where the package may refuse the case
    cost: int = 1  # cases of cheap kinds that take as long as one of this
    asked: bool = False  # runs only when asked for by name
    vary: Callable[[random.Random, Case], Case] | None = None  # another case of what make has made
    together: int = 1  # cases in a row that are made by vary of one and the same; its dear part is done once

    def __reduce__(self) -> tuple[Callable[[str], Kind], tuple[str]]:
        """By its name: another process has the same kinds, and functions without a name cannot be sent to it."""
        return find_kind, (self.name,)


def find_kind(name: str) -> Kind:
    """The kind of that name."""
    from tests.fuzz.registry import KINDS

    return KINDS[name]
