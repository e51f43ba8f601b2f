"""The Search seam: a way through a box of small whole numbers. One file per search.

A search yields genomes and is sent their numbers. It neither counts evaluations nor keeps the best: the budget, the
memo, the archive, progress, cancelling and checkpoints live once, in run.py.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

import numpy as np

from kpareto.problem import Numbers
from kpareto.space import Space

# What a search yields and is sent: genomes (n, genes) int64 -> Numbers with one row per genome, in their order.
Moves = Generator[np.ndarray, Numbers, None]


class Search(Protocol):
    """A way through a space."""

    @property
    def name(self) -> str:
        """The word for it in jobs, reports and on the command line."""

    def moves(self, space: Space, rng: np.random.Generator) -> Moves:
        """Propose genomes, receive their numbers; return when done."""
