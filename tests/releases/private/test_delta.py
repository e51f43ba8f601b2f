"""k for a wanted epsilon and delta: against exact sums, against ARX's way of computing it, and against the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kpareto.errors import BadInput
from kpareto.releases.private.delta import at_least, choose_beta, delta, largest_beta, smallest_k


def exponential(number: Fraction) -> Fraction:
    """e^number by its series, to about 10^-60."""
    total = term = Fraction(1)
    for n in range(1, 120):
        term = term * number / n
        total += term
    return total.limit_denominator(10**80)


def binomial(j: int, n: int, beta: Fraction) -> Fraction:
    """The chance of j hits."""
    return math.comb(n, j) * beta**j * (1 - beta) ** (n - j) if 0 <= j <= n else Fraction(0)


def slow_delta(k: int, beta: Fraction, epsilon: Fraction, most: int) -> Fraction:
    """The definition, word by word, for n up to ``most``."""
    power = exponential(epsilon)
    gamma = (power - 1 + beta) / power
    first = math.ceil(k / gamma - 1)
    return max(
        sum((binomial(j, n, beta) for j in range(math.floor(gamma * n) + 1, n + 1)), Fraction(0))
        for n in range(first, most)
    )


def true_delta(k: int, beta: Fraction, epsilon: Fraction, most: int) -> Fraction:
    """What the release of one class really gives away: the largest Σ max(0, P′ − e^epsilon P) over class sizes."""
    power = exponential(epsilon)
    worst = Fraction(0)
    for n in range(1, most):  # rows of the class in the larger table
        for larger, smaller in ((n, n - 1), (n - 1, n)):
            shown = [(binomial(j, larger, beta), binomial(j, smaller, beta)) for j in range(k, n + 1)]
            absent = tuple(1 - sum(column, Fraction(0)) for column in zip(*shown, strict=True)) if shown else (1, 1)
            pairs = [*shown, (Fraction(absent[0]), Fraction(absent[1]))]
            worst = max(worst, sum((max(p - power * q, Fraction(0)) for p, q in pairs), Fraction(0)))
    return worst


@settings(deadline=None, max_examples=60)
@given(
    k=st.integers(1, 12),
    epsilon=st.sampled_from(["0.2", "0.5", "1", "1.7", "3"]),
    part=st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 7)]),
)
def test_delta_is_the_exact_sum_and_never_below_it(k: int, epsilon: str, part: Fraction) -> None:
    """The quick way gives the largest exact binomial sum, rounded up in the last digits."""
    beta = Fraction(math.floor(largest_beta(epsilon) * part * 1000), 1000)
    truth = slow_delta(k, beta, Fraction(epsilon), most=60)
    assert truth <= delta(k, beta, epsilon) <= truth * (1 + Fraction(1, 10**25))


@pytest.mark.parametrize(("k", "epsilon"), [(1, "1"), (2, "0.5"), (4, "1"), (7, "2"), (9, "0.3")])
def test_what_is_really_given_away_is_at_most_delta(k: int, epsilon: str) -> None:
    """No class size gives away more than delta, and with fewer rows per class one does: the check can fail."""
    beta = Fraction(math.floor(largest_beta(epsilon) * 10**6), 10**6)
    assert true_delta(k, beta, Fraction(epsilon), most=45) <= delta(k, beta, epsilon)
    assert true_delta(1, beta, Fraction(epsilon), most=45) > delta(k + 12, beta, epsilon)


def test_more_draws_than_epsilon_allows_are_refused_and_would_break_it() -> None:
    """Nine rows of ten drawn under epsilon 1 give away more than delta at the allowed beta, so it is an error."""
    beta, allowed, one = Fraction(9, 10), Fraction(63, 100), Fraction(1)
    assert true_delta(30, beta, one, most=32) > Fraction(1, 100) > slow_delta(30, allowed, one, most=80)
    with pytest.raises(BadInput, match=r"needs one above 0 and at most 1 - exp\(-epsilon\) = 0\.632"):
        delta(30, beta, 1)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("wanted", [1e-4, 1e-5, 1e-6, 1e-8])
def test_k_is_the_one_that_arx_works_out(epsilon: float, wanted: float) -> None:
    """ARX's ParameterCalculation (a_n until it passes c_n) has the same smallest k below the wanted delta.

    ARX counts k up once more after it has found it, so it works with one row more than it needs.
    """
    from scipy import stats

    beta = 1 - math.exp(-epsilon)
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)

    def arx_delta(k: int) -> float:
        n, highest, bound = math.ceil(k / gamma - 1), 0.0, 1.0
        while highest < bound:
            highest = max(highest, float(stats.binom.sf(math.floor(n * gamma), n, beta)))
            bound = math.exp(-n * (gamma * math.log(gamma / beta) - (gamma - beta)))
            n += 1
        return highest

    k = smallest_k(largest_beta(epsilon), epsilon, wanted)
    assert arx_delta(k) <= wanted < arx_delta(k - 1)


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.01, 1e-6), (1, 1e-12), (5, 1e-6), (9, 1e-3)])
def test_smallest_k_meets_delta_and_one_less_does_not(epsilon: float, wanted: float) -> None:
    """The k found is enough, and one less is not."""
    beta = largest_beta(epsilon)
    k = smallest_k(beta, epsilon, wanted)
    assert delta(k, beta, epsilon) <= Fraction(repr(wanted)) < delta(k - 1, beta, epsilon)


@settings(deadline=None)
@given(n=st.integers(1, 400), share=st.floats(0.02, 0.9), j=st.integers(1, 400))
def test_tails_agree_with_scipy(n: int, share: float, j: int) -> None:
    """P[Bin(n, beta) ≥ j] above the mean is that of another library."""
    from scipy import stats

    beta = Fraction(math.floor(share * 1000), 1000)
    if n * beta < j <= n:
        assert float(at_least(j, n, beta)) == pytest.approx(float(stats.binom.sf(j - 1, n, float(beta))), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "k"), [("0.45", 64), ("0.9", 73), ("1.8", 95), ("3.6", 69), ("7.2", 62)])
def test_beta_and_k_are_chosen_together(epsilon: str, k: int) -> None:
    """A beta near 1 needs a k without end (117, 499, 18,499 at the last three), so a smaller one is taken there."""
    beta, least = choose_beta(epsilon, "1e-6")
    assert least == k == smallest_k(beta, epsilon, "1e-6")
    most = largest_beta(epsilon)
    assert beta <= most
    assert k / beta <= smallest_k(most, epsilon, "1e-6") / most
    assert delta(k, beta, epsilon) <= Fraction(1, 10**6)


def test_an_epsilon_whose_largest_beta_serves_nobody_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """At epsilon 18 the largest beta would need classes of more rows than there are; where none serves it is told."""
    with pytest.raises(BadInput, match="would be needed"):
        smallest_k(largest_beta(18), 18, "1e-6")
    assert choose_beta(18, "1e-6")[1] < 100
    monkeypatch.setattr("kpareto.releases.private.delta.MOST", 5)
    with pytest.raises(BadInput, match="would be needed"):
        choose_beta(1, "1e-6")


def test_largest_beta_is_just_below_its_formula() -> None:
    """Beta is 1 − e^−epsilon, rounded down by less than 2^-64."""
    for epsilon in ("0.001", "0.9", "1", "7"):
        exact = 1 - 1 / exponential(Fraction(epsilon))
        assert 0 <= exact - largest_beta(epsilon) < Fraction(1, 2**64)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: largest_beta(0), "Epsilon is 0. Give a number above 0, such as 1."),
        (lambda: largest_beta(float("nan")), "Epsilon is nan"),
        (lambda: largest_beta(True), "Epsilon is True"),
        (lambda: largest_beta(1e-30), "too extreme"),
        (lambda: smallest_k(Fraction(1, 2), 1, 1), "Delta is 1. Give a number far below 1"),
        (lambda: smallest_k(Fraction(1, 2), 1, "a"), "Delta is 'a'. Give a number above 0, such as 1e-6."),
        (lambda: delta(0, Fraction(1, 2), 1), "k is 0. Give a whole number of at least 1."),
        (lambda: smallest_k(largest_beta(30), 30, 1e-6), "rows would be needed"),
    ],
)
def test_bad_numbers_are_a_sentence(call: object, sentence: str) -> None:
    """What makes no sense is refused in a sentence."""
    with pytest.raises(BadInput, match=sentence.replace("(", r"\(")):
        call()  # type: ignore[operator]
