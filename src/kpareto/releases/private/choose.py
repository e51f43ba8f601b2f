"""A node chosen by its score, privately: over the whole lattice at once, or step by step as SafePub does.

The choice is OpenDP's noisy maximum: exponential noise on every score, the index of the largest. It is the
permute-and-flip mechanism (McKenna and Sheldon 2020; Ding et al. 2021), which is epsilon-differentially private like
the exponential mechanism and whose expected score is never lower. Noise and comparison are OpenDP's exact arithmetic
on whole numbers, with its own cryptographic generator; there is no seed.

Counting every node lets the mechanism look at all of them at once and spend all of its epsilon on one question.
A walk that asks ``steps`` questions has a part of it for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from kpareto.errors import BadInput, MissingExtra
from kpareto.releases.private.scores import PrivateScore
from kpareto.tables.lattice import Lattice


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


def walk_nodes(lattice: Lattice, scores: np.ndarray, epsilon: Fraction, score: PrivateScore, steps: int) -> int:
    """A node chosen by SafePub's walk from the top (Bild, Kuhn and Prasser 2018), each step with its part of epsilon.

    In every step the nodes just below the current one become candidates, and the next current one is picked among the
    candidates not taken yet. Last, one of the nodes taken is picked, with a part of epsilon like every step: taking the
    best of them by its true score would be one more look at the rows, and nobody would have paid for it.
    """
    if steps < 0:
        raise BadInput(f"The walk has {steps} steps. Give a whole number of at least 0.")
    part = epsilon / (steps + 1)
    measurement = noisy_maximum(part, score.sensitivity, score.monotone)
    current = lattice.size - 1
    taken = [current]
    waiting: dict[int, None] = {}  # candidates not taken yet, in the order they were found
    for _ in range(steps):
        waiting.update(dict.fromkeys(node for node in _just_below(lattice, current) if node not in taken))
        if not waiting:
            break
        places = list(waiting)
        current = places[int(measurement([int(scores[node]) for node in places]))]
        del waiting[current]
        taken.append(current)
    return taken[int(measurement([int(scores[node]) for node in taken]))]


def _just_below(lattice: Lattice, node: int) -> list[int]:
    """Nodes with one column one level lower."""
    levels = lattice.levels(np.array([node]))[0].tolist()
    return [node - stride for stride, level in zip(lattice.strides, levels, strict=True) if level > 0]
