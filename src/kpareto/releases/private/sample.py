"""Rows drawn one by one with a fixed chance, by a cryptographic generator.

Privacy rests on an attacker not knowing which rows were drawn, so the draws must not be repeatable: a seed is refused,
except through the door for tests, which marks what it makes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kpareto.errors import BadInput
from kpareto.releases.private.delta import WORD

CHUNK = 1 << 20  # rows drawn at once


@dataclass(frozen=True)
class Draws:
    """Where random bytes come from, and whether nobody can know them."""

    random_bytes: Callable[[int], bytes]
    secret: bool


SECRET = Draws(secrets.token_bytes, secret=True)  # the operating system's generator


def refuse_seed(seed: object) -> None:
    """Raise where somebody asks for a differentially private run that can be repeated."""
    if seed is not None:
        raise BadInput(
            f"A seed is given ({seed!r}), and a differentially private run must not be repeatable: who knows the seed "
            "knows which rows were drawn. Leave the seed out."
        )


def draws_for_tests(seed: int) -> Draws:
    """Repeatable draws, for tests alone: what is made with them is marked as not private and must not be handed out."""
    return Draws(np.random.default_rng(seed).bytes, secret=False)


def draw_rows(weights: np.ndarray, beta: Fraction, draws: Draws = SECRET) -> np.ndarray:
    """How many of the rows of each distinct row are drawn, each row with chance beta exactly: (distinct,) int64.

    A row takes a random word of 64 bits and is drawn when the word is below beta · 2^64, which is a whole number.
    """
    border = beta * WORD
    if border.denominator != 1 or not 0 <= beta < 1:
        raise BadInput(f"Beta is {beta!s}. Give a whole number of 1/2^64 from 0 to below 1, as largest_beta does.")
    ends = np.cumsum(weights)
    rows = int(ends[-1]) if len(ends) else 0
    drawn = np.zeros(len(weights), dtype=np.int64)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        words = np.frombuffer(draws.random_bytes(8 * count), dtype="<u8")
        hits = start + np.flatnonzero(words < np.uint64(border.numerator))
        drawn += np.bincount(np.searchsorted(ends, hits, side="right"), minlength=len(weights))
    return drawn
