"""Where a front comes from: which search found it, what that proves, and which set its points are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Which set the points of a front are, as its JSON says under search.set.
SETS = {
    "exact": "every trade-off of the lattice",
    "counted": "the best of all that was counted",
    "report": "what the search itself reports, whether or not it counted better ones",
    "archive": "the archive that the search keeps, whether or not it counted more",
    "best": "the best recoding that was met",
}


@dataclass(frozen=True)
class Provenance:
    """How a front was found."""

    method: str
    evaluated: int  # recodings counted
    complete: bool  # proven that no point is missing
    seed: int | None = None
    seconds: float = 0.0
    note: str = ""  # what a reader must know, such as why it is not complete
    details: Mapping[str, Any] = field(default_factory=dict)
    stopped: bool = False  # by the user, before it was done
    points: str = "counted"  # which set the points are, one of SETS
