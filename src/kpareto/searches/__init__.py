"""The Search seam: a way through a box of small whole numbers. One file per search.

A search yields genomes and is sent their numbers. It neither counts evaluations nor keeps the best: the budget, the
memo, the archive, progress, cancelling and checkpoints live once, in run.py. A search whose paper says what it reports
(POkA's bases, PBG-EA's archive) returns that as its OwnSet; for the others the best of all that was counted is taken.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from kpareto.fronts.numbers import Numbers
from kpareto.tables.lattice import Space

# What a search yields and is sent: genomes (n, genes) int64 -> Numbers with one row per genome, in their order.
Moves = Generator[np.ndarray, Numbers, None]


@dataclass(frozen=True, eq=False)
class OwnSet:
    """What a search itself reports: some of the recodings it has proposed, perhaps dominated ones among them."""

    genomes: np.ndarray  # (n, genes) int64
    kind: Literal["report", "archive"]


# Stopped is thrown into a search that may go no further: it returns its set so far, or lets it pass.
ReportingMoves = Generator[np.ndarray, Numbers, OwnSet | None]


class Search(Protocol):
    """A way through a space."""

    @property
    def name(self) -> str:
        """The word for it in jobs, reports and on the command line."""

    def moves(self, space: Space, rng: np.random.Generator) -> ReportingMoves:
        """Propose genomes, receive their numbers; return when done, with the set to report if there is one."""
