"""The private choice: its distribution by chi-square, and its epsilon by OpenDP's own account."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from kpareto.errors import BadInput
from kpareto.releases.private.scores import PrivateScore, choose_node, noisy_maximum

RUNS = 12_000
LEAST = 1e-7  # a chance below this is called a difference: one false alarm in ten million runs of the test


def chances(scores: Sequence[int], scale: float) -> list[float]:
    """Permute-and-flip, exactly: p_j Σ over sets S of others of (−1)^|S| / (|S| + 1) Π p_i, p = e^((s − max)/scale)."""
    accept = [math.exp((score - max(scores)) / scale) for score in scores]
    result = []
    for j, own in enumerate(accept):
        others = accept[:j] + accept[j + 1 :]
        sets = (chosen for size in range(len(others) + 1) for chosen in combinations(others, size))
        result.append(own * sum((-1) ** len(chosen) / (len(chosen) + 1) * math.prod(chosen) for chosen in sets))
    return result


def plain(sensitivity: int, monotone: bool) -> PrivateScore:
    """A score of which only the sensitivity counts here."""
    return PrivateScore("plain", sensitivity, monotone, lambda *_: 0)


def alike(seen: Counter[int], expected: Sequence[float]) -> float:
    """The chance of counts at least as far from the expected chances as these (chi-square)."""
    from scipy import stats

    total = sum(seen.values())
    pairs = [(seen[place], chance * total) for place, chance in enumerate(expected) if chance * total >= 5]
    rest = [total - sum(column) for column in zip(*pairs, strict=True)]
    if rest[1] >= 5:
        pairs.append((rest[0], rest[1]))
    statistic = sum((count - mean) ** 2 / mean for count, mean in pairs)
    return float(stats.chi2.sf(statistic, len(pairs) - 1))


def test_the_chances_of_the_twin_add_up() -> None:
    """The formula for permute-and-flip is a distribution."""
    assert sum(chances([3, 1, 4, 1, 5], 2.0)) == pytest.approx(1)


@pytest.mark.parametrize("monotone", [True, False])
def test_the_mechanism_has_the_distribution_it_should(monotone: bool) -> None:
    """Choices on a lattice of six nodes follow permute-and-flip with noise Δ/epsilon, twice that unless monotone."""
    scores, score = np.array([0, 4, 6, 7, 9, 10]), plain(3, monotone)
    measurement = noisy_maximum(Fraction(1), score.sensitivity, score.monotone)
    seen = Counter(int(measurement(scores.tolist())) for _ in range(RUNS))
    seen.update(choose_node(scores, Fraction(1), score) for _ in range(100))  # the same, by its own door
    right, wrong = 3.0 * (1 if monotone else 2), 3.0 * (2 if monotone else 1)
    assert alike(seen, chances(scores.tolist(), right)) > LEAST
    assert alike(seen, chances(scores.tolist(), wrong)) < 1e-12  # the check can fail


def test_the_noise_meets_epsilon_and_hardly_more() -> None:
    """OpenDP's own account is at most epsilon, and within a billionth of it."""
    for epsilon in (Fraction(1, 10), Fraction(1, 3), Fraction(7), Fraction(1, 1000)):
        for monotone in (True, False):
            spent = noisy_maximum(epsilon, 113_368_000, monotone).map(113_368_000)
            assert epsilon * (1 - Fraction(1, 10**9)) < Fraction(spent) <= epsilon


def test_neighbouring_scores_are_chosen_within_epsilon() -> None:
    """By exact chances: scores that one row moves by up to Δ are chosen with chances within e^epsilon; 2Δ is found."""
    rng = np.random.default_rng(5)

    def widest(most: int) -> float:
        found = 0.0
        for _ in range(300):
            scores = rng.integers(0, 12, 4)
            moved = scores + rng.integers(0, 2, 4) * most
            pairs = zip(chances(scores.tolist(), 3.0), chances(moved.tolist(), 3.0), strict=True)
            found = max(found, *(abs(math.log(p / q)) for p, q in pairs))
        return found

    assert widest(3) <= 1 + 1e-9 < widest(6)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: choose_node([1, 2], Fraction(0), plain(1, True)), "needs epsilon above 0"),
        (lambda: choose_node([1, 2], Fraction(1), plain(0, True)), "sensitivity of at least 1"),
    ],
)
def test_choices_that_make_no_sense_are_a_sentence(call: Callable[[], int], sentence: str) -> None:
    """What cannot be chosen is refused in a sentence."""
    with pytest.raises(BadInput, match=sentence):
        call()
