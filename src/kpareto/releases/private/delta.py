"""How large k must be so that sampling, generalizing and dropping small classes is differentially private.

Every row is drawn with probability beta, independently; the drawn rows are generalized by a recoding that does not
depend on them, and classes of fewer than k drawn rows are dropped. Li, Qardaji and Su (2012, "On sampling,
anonymization, and differential privacy") show that this is (epsilon, delta)-differentially private for every
epsilon ≥ −ln(1 − beta), with

    delta(k, beta, epsilon) = max over n ≥ ⌈k/gamma − 1⌉ of P[Bin(n, beta) > gamma n],
    gamma = (e^epsilon − 1 + beta) / e^epsilon = 1 − (1 − beta) e^−epsilon.

Why. Let a class hold n rows of the larger of two neighbouring tables, n − 1 of the smaller. It shows j rows with
probability f(j; n, beta) and f(j; n − 1, beta), and the first is more than e^epsilon times the second exactly where
j > gamma n. All other classes are drawn alike. The other way round the quotient is at most 1/(1 − beta) ≤ e^epsilon.

How it is computed. Among the n with the same least j > gamma n the probability rises with n, so only the largest
counts, n_j = ⌈j/gamma⌉ − 1, and ⌈k/gamma − 1⌉ is n_k. Hence

    delta(k, beta, epsilon) = max over j ≥ k of t_j,    t_j = P[Bin(n_j, beta) ≥ j],

and the smallest k for a wanted delta is one more than the largest j with t_j > delta. Chernoff's bound
t_j ≤ exp(−n_j KL(gamma ‖ beta)) falls with j and says where to stop looking.

Every number is an upper bound: e^−epsilon is rounded up, so gamma is rounded down, so n_j and t_j can only grow, and
sums of positive decimals are rounded up at every step. What is returned is never below the truth, and above it by less
than one part in 10^30 (unless j/gamma is that close to a whole number).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from kpareto.errors import BadInput

PRECISION = 60  # decimal digits
WORD = 2**64  # beta is a whole number of 1/WORD, so that a row can be drawn exactly by one random word
MOST = 10_000_000  # a k beyond this is of no use to anybody, and takes long to work out
UP = Context(prec=PRECISION, rounding=ROUND_CEILING)
DOWN = Context(prec=PRECISION, rounding=ROUND_FLOOR)
Real = int | float | str | Fraction
SHARES = tuple(Fraction(percent, 100) for percent in range(100, 28, -4))  # of the largest beta, those that are tried
ROWS = 100_000  # of a table that this is meant for; no table is asked


def read_positive(name: str, value: Real) -> Fraction:
    """A number above 0 as it is written: 0.1 is one tenth, not the nearest binary fraction."""
    try:
        number = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        number = Fraction(0)
    if isinstance(value, bool) or number <= 0:
        raise BadInput(f"{name} is {value!r}. Give a number above 0, such as {'1' if name == 'Epsilon' else '1e-6'}.")
    return number


def largest_beta(epsilon: Real) -> Fraction:
    """The largest chance to draw a row that this epsilon allows, 1 − e^−epsilon, rounded down to 1/2^64."""
    exponent = read_positive("Epsilon", epsilon)
    beta = Fraction(math.floor((1 - _decay_above(exponent)) * WORD), WORD)
    if not 0 < beta < 1:
        raise BadInput(f"Epsilon is {epsilon!r}, too extreme to draw rows by. Give a number from about 1e-15 to 40.")
    return beta


def choose_beta(epsilon: Real, wanted: Real) -> tuple[Fraction, int]:
    """The chance to draw a row and the k that goes with it, chosen together, whatever the rows are.

    The largest beta that epsilon allows shows most rows, but the closer it comes to 1 the fewer rows are left out to
    hide behind, and k grows without end. What a release is worth is taken as √beta · ln(ROWS · beta / k): errors of
    estimates from its rows fall with the root of their number, and the detail that is kept falls with the logarithm of
    the class size that is needed, k / beta rows of the table.
    """
    most = largest_beta(epsilon)
    tried: list[tuple[Fraction, int]] = []
    failed: BadInput | None = None
    for share in SHARES:
        beta = Fraction(math.floor(most * share * WORD), WORD)
        try:
            tried.append((beta, smallest_k(beta, epsilon, wanted)))
        except BadInput as error:
            failed = error
    if not tried and failed is not None:
        raise failed
    return max(tried, key=lambda pair: math.sqrt(pair[0]) * math.log(ROWS * pair[0] / pair[1]))


def delta(k: int, beta: Fraction, epsilon: Real) -> Fraction:
    """delta(k, beta, epsilon) of Li, Qardaji and Su, never below the truth."""
    if k < 1:
        raise BadInput(f"k is {k!r}. Give a whole number of at least 1.")
    tails = _tails(beta, read_positive("Epsilon", epsilon))
    highest = Decimal(0)
    j = k
    while tails.bound(j) > highest:
        highest = max(highest, tails.at(j))
        j += 1
    return Fraction(highest)


def delta_of_row(of_person: Fraction, epsilon: Fraction, rows: int) -> Fraction:
    """The delta of one row, never above the truth, so that so many of a person have one of ``of_person`` together.

    ``epsilon`` is that of a row. Who takes the rows out one by one has rows · e^((rows − 1) epsilon) · delta (Dwork and
    Roth 2014, theorem 2.2 and its remark for delta).
    """
    return of_person * (_decay_below((rows - 1) * epsilon) if rows > 1 else 1) / rows


def smallest_k(beta: Fraction, epsilon: Real, wanted: Real) -> int:
    """The smallest k with delta(k, beta, epsilon) ≤ the wanted delta."""
    limit = read_positive("Delta", wanted)
    if limit >= 1:
        raise BadInput(f"Delta is {wanted!r}. Give a number far below 1, such as 1e-6.")
    tails = _tails(beta, read_positive("Epsilon", epsilon))
    below = DOWN.divide(Decimal(limit.numerator), Decimal(limit.denominator))
    # From this j on Chernoff's bound is at most delta.
    trials = UP.divide(UP.next_plus(UP.ln(below).copy_negate()), tails.rate)
    j = math.floor(tails.gamma * (math.ceil(trials) + 1)) + 2
    if j > MOST:
        raise BadInput(
            f"With epsilon {float(tails.epsilon):g} and delta {float(limit):g} classes of about {j:,} rows would be "
            "needed. Give a larger delta, or an epsilon between 0.01 and 10."
        )
    while j > 1 and tails.at(j - 1) <= below:
        j -= 1
    return j


@dataclass(frozen=True)
class _Tails:
    """t_j and its bound, for one beta and epsilon."""

    beta: Fraction
    epsilon: Fraction
    gamma: Fraction  # not above the true one
    rate: Decimal  # KL(gamma ‖ beta), not above the true one

    def trials(self, j: int) -> int:
        """n_j, the largest n with gamma n < j."""
        return math.ceil(j / self.gamma) - 1

    def at(self, j: int) -> Decimal:
        """t_j, not below the true one."""
        return at_least(j, self.trials(j), self.beta)

    def bound(self, j: int) -> Decimal:
        """Not below t_j, t_{j+1}, …"""
        return UP.next_plus(UP.exp(DOWN.multiply(self.rate, Decimal(self.trials(j))).copy_negate()))


def _tails(beta: Fraction, epsilon: Fraction) -> _Tails:
    decay = _decay_above(epsilon)
    if not 0 < beta <= 1 - decay:
        raise BadInput(
            f"Beta is {float(beta):g}, and epsilon {float(epsilon):g} needs one above 0 and at most 1 - exp(-epsilon) "
            f"= {float(1 - decay):g}. Draw fewer rows, or give a larger epsilon."
        )
    gamma = 1 - (1 - beta) * decay
    return _Tails(beta, epsilon, gamma, _divergence_below(gamma, beta))


def _decay_above(epsilon: Fraction) -> Fraction:
    """e^−epsilon, rounded up; the decimal library rounds exp correctly, so the next number is above it."""
    exponent = DOWN.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)).copy_negate()
    return Fraction(UP.next_plus(UP.exp(exponent)))


def _decay_below(epsilon: Fraction) -> Fraction:
    """e^−epsilon, rounded down."""
    exponent = UP.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)).copy_negate()
    return Fraction(DOWN.next_minus(DOWN.exp(exponent)))


def _divergence_below(gamma: Fraction, beta: Fraction) -> Decimal:
    """KL(gamma ‖ beta) = gamma ln(gamma/beta) + (1 − gamma) ln((1 − gamma)/(1 − beta)), rounded down."""
    total = Decimal(0)
    for seen, drawn in ((gamma, beta), (1 - gamma, 1 - beta)):
        share, odds = seen, seen / drawn
        logarithm = DOWN.next_minus(DOWN.ln(DOWN.divide(Decimal(odds.numerator), Decimal(odds.denominator))))
        # A share times a negative logarithm is rounded down by rounding the share up.
        context = UP if logarithm < 0 else DOWN
        weight = context.divide(Decimal(share.numerator), Decimal(share.denominator))
        total = DOWN.add(total, DOWN.multiply(weight, logarithm))
    return total


def at_least(j: int, n: int, beta: Fraction) -> Decimal:
    """P[Bin(n, beta) ≥ j] for j above the mean, rounded up: terms fall, and are added until they no longer count."""
    if j > n:
        return Decimal(0)
    hit = UP.divide(Decimal(beta.numerator), Decimal(beta.denominator))
    miss = UP.divide(Decimal(beta.denominator - beta.numerator), Decimal(beta.denominator))
    odds = UP.divide(Decimal(beta.numerator), Decimal(beta.denominator - beta.numerator))
    term = UP.multiply(UP.multiply(UP.create_decimal(math.comb(n, j)), _power(hit, j)), _power(miss, n - j))
    total, enough = term, Decimal(10) ** -(PRECISION - 10)
    for i in range(j, n):
        ratio = UP.multiply(odds, UP.divide(Decimal(n - i), Decimal(i + 1)))
        term = UP.multiply(term, ratio)
        total = UP.add(total, term)
        if ratio < Decimal("0.999") and term < UP.multiply(total, enough):
            # The further terms fall at least as fast as this one did.
            return UP.add(total, UP.divide(UP.multiply(term, ratio), DOWN.subtract(Decimal(1), ratio)))
    return total


def _power(number: Decimal, exponent: int) -> Decimal:
    """A power by squaring, rounded up at every step; the library's own is only almost always rounded correctly."""
    result, square = Decimal(1), number
    while exponent:
        if exponent & 1:
            result = UP.multiply(result, square)
        square = UP.multiply(square, square)
        exponent >>= 1
    return result
