"""A node chosen by its score, privately, over the whole lattice at once.

The choice is OpenDP's noisy maximum: exponential noise on every score, the index of the largest. It is the
permute-and-flip mechanism (McKenna and Sheldon 2020; Ding et al. 2021), which is epsilon-differentially private like
the exponential mechanism and whose expected score is never lower. Noise and comparison are OpenDP's exact arithmetic
on whole numbers, with its own cryptographic generator; there is no seed.

Counting every node lets the mechanism look at all of them at once and spend all of its epsilon on one question.
A walk of many steps, as SafePub takes it, has a part of it for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from kpareto.errors import BadInput, MissingExtra
from kpareto.releases.private.scores import PrivateScore


def noisy_maximum(epsilon: Fraction, sensitivity: int, monotone: bool) -> Any:
    """OpenDP's measurement that picks the index of a largest score, at most this epsilon by OpenDP's own account."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingExtra(
            "A differentially private choice needs OpenDP. Install it with: pip install 'kpareto[private]'."
        ) from error
    if epsilon <= 0 or sensitivity < 1:
        raise BadInput(f"A private choice needs epsilon above 0 and a sensitivity of at least 1, not {epsilon!s}.")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=monotone)
    most = math.nextafter(float(epsilon), 0.0)  # not above epsilon, which may not be a binary fraction
    scale = float((1 if monotone else 2) * sensitivity / epsilon)
    while True:  # OpenDP rounds its account up: the noise grows until the account is met
        measurement: Any = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)
        if measurement.map(sensitivity) <= most:
            return measurement
        scale *= 1 + 2.0**-40


def pick(scores: Sequence[int] | np.ndarray, epsilon: Fraction, score: PrivateScore) -> int:
    """The place of one of the scores, larger ones more likely: epsilon-differentially private."""
    return int(noisy_maximum(epsilon, score.sensitivity, score.monotone)([int(number) for number in scores]))


def choose_node(scores: np.ndarray, epsilon: Fraction, score: PrivateScore) -> int:
    """A node of the whole lattice (scores by node number), with all of epsilon spent on one choice."""
    return pick(scores, epsilon, score)
