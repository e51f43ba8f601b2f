"""The three attacks, tried on people and rows: who matches what is a question of overlapping runs of values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kpareto.interrupts import pause
from kpareto.measures.use import LabelView, Spread

RiskKind = Literal["singling out", "linkability", "inference"]
AT_ONCE = 4_000_000  # cells of people times rows that are compared at a time
FAR = 255  # no row is so far from a person


@dataclass(frozen=True, eq=False)
class AttackLines:
    """Rows, each a run of values in every column: what a person is, or what a label may stand for."""

    names: tuple[str, ...]
    first: tuple[np.ndarray, ...]  # per column (lines,)
    last: tuple[np.ndarray, ...]
    codes: tuple[np.ndarray, ...]  # the label
    spreads: tuple[Spread, ...]
    weights: np.ndarray  # (lines,) int64, rows

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.weights.sum())

    def take(self, lines: np.ndarray, weights: np.ndarray) -> AttackLines:
        """Some lines, with so many rows each."""
        first, last, codes = (tuple(part[lines] for part in parts) for parts in (self.first, self.last, self.codes))
        return AttackLines(self.names, first, last, codes, self.spreads, weights)

    def draw(self, attempts: int, random: np.random.Generator) -> AttackLines:
        """So many rows without replacement, all where there are fewer."""
        times = random.multivariate_hypergeometric(self.weights, min(attempts, self.rows), method="marginals")
        drawn = random.permutation(np.repeat(np.arange(len(times)), times))
        return self.take(drawn, np.ones(len(drawn), dtype=np.int64))

    def shuffle(self, random: np.random.Generator) -> AttackLines:
        """Every column in an order of its own: what somebody makes up who has seen the columns one by one."""
        orders = [random.permutation(len(self.weights)) for _ in self.names]
        first, last, codes = (
            tuple(column[order] for column, order in zip(columns, orders, strict=True))
            for columns in (self.first, self.last, self.codes)
        )
        return AttackLines(self.names, first, last, codes, self.spreads, self.weights)

    def values_of(self, column: int, lines: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """How many of these rows have each value of a column, by the shares of their labels: (values,) float64."""
        spread = self.spreads[column]
        shown = np.bincount(self.codes[column][lines], weights, spread.labels)
        return (
            shown
            if spread.ends is None
            else np.bincount(spread.value, shown[spread.label] * spread.share, spread.values)
        )


def lines_of(view: LabelView, further: str | None) -> AttackLines:
    """The rows of a view by its quasi-identifiers and one further column; a label of all values holds others too."""
    names = (*view.names, *([] if further is None else [further]))
    codes, spreads, weights = view.take(names)
    first, last = [], []
    for code, spread in zip(codes, spreads, strict=True):
        low, high = (np.arange(spread.labels),) * 2 if spread.ends is None else spread.ends
        every = (low == 0) & (high == spread.values - 1) & (spread.ends is not None)
        first.append(np.where(every, -1, low)[code].astype(_narrow(spread.values)))
        last.append(high[code].astype(_narrow(spread.values)))
    lines = AttackLines(
        names, tuple(first), tuple(last), tuple(codes), tuple(spreads), np.rint(weights).astype(np.int64)
    )
    masked = np.logical_and.reduce([low < 0 for low in first[: len(view.names)]])
    if masked.all() or not masked.any():
        return lines
    kept = np.flatnonzero(~masked)  # whoever masks a row gives nothing to go by
    return lines.take(kept, lines.weights[kept])


def _narrow(values: int) -> type[np.signedinteger[Any]]:
    """A type of numbers that holds all values, and is quick to compare."""
    return np.int16 if values < 1 << 15 else np.int32


@dataclass(frozen=True)
class AttackPlan:
    """One attack: the columns that are known, and the one to be inferred; places in the lines."""

    risk: RiskKind
    known: tuple[int, ...]
    secret: int | None = None

    @property
    def halves(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The known columns as two files would have them: every other one."""
        return self.known[::2], self.known[1::2]


def _apart(some: AttackLines, rows: slice, others: AttackLines, column: int) -> np.ndarray:
    """Which of these people and lines contradict each other in a column: (people, lines) bool."""
    first, last = some.first[column][rows, None], some.last[column][rows, None]
    if some.spreads[column].ends is None and others.spreads[column].ends is None:  # values on both sides
        return np.not_equal(first, others.first[column])
    answer = np.greater(first, others.last[column])
    answer |= last < others.first[column]
    return answer


def _apart_at_all(some: AttackLines, rows: slice, others: AttackLines, columns: Sequence[int]) -> np.ndarray:
    """The same in any of several columns."""
    answer = _apart(some, rows, others, columns[0])
    for column in columns[1:]:
        answer |= _apart(some, rows, others, column)
    return answer


def _chunks(people: AttackLines, others: AttackLines) -> Iterator[slice]:
    step = max(1, AT_ONCE // max(len(others.weights), 1))
    for start in range(0, len(people.weights), step):
        pause()
        yield slice(start, start + step)


# -- singling out --------------------------------------------------------------------------------------------------


def count_matches(predicates: AttackLines, people: AttackLines, known: Sequence[int]) -> np.ndarray:
    """How many people fit each predicate, which says what a row shows in the known columns: (predicates,) int64."""
    counts = []
    for rows in _chunks(predicates, people):
        predicate, person = np.nonzero(~_apart_at_all(predicates, rows, people, known))
        counts.append(np.bincount(predicate, people.weights[person], len(predicates.weights[rows])))
    return np.concatenate(counts).astype(np.int64)


def single_out(
    lines: AttackLines, people: AttackLines, control: AttackLines | None, plan: AttackPlan, attempts: int, seed: int
) -> AttackOutcome:
    """Rows of a file that no other looks like, as predicates: how many of them fit exactly one person.

    Rows that others look like are attempts too, and fail. Where the control has fewer people than the original, both
    are counted among as many as it has.
    """
    random = np.random.default_rng([seed, *plan.known])
    predicates = lines.draw(attempts, random)
    claimed = count_alike(lines, predicates, plan.known) == 1
    among = people.rows if control is None else min(people.rows, control.rows)
    counts = count_matches(predicates, people, plan.known)
    alone = _are_alone(counts, people.rows, among, random)
    others = counts - 1  # everybody but the person behind the row
    if control is not None:
        others = count_matches(predicates, control.draw(among, random), plan.known)
    blind = count_matches(predicates.shuffle(random), people, plan.known)
    hits = (claimed & alone, claimed & (others == 1), blind == 1)
    return AttackOutcome(*(Rate(int(each.sum()), len(claimed)) for each in hits))


def count_alike(lines: AttackLines, predicates: AttackLines, known: Sequence[int]) -> np.ndarray:
    """How many rows of a file show the labels of each predicate in the known columns: (predicates,) int64."""
    shown = np.stack([np.concatenate((lines.codes[c], predicates.codes[c])) for c in known], axis=1)
    alike = np.unique(shown, axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.bincount(alike[: len(lines.weights)], lines.weights, int(alike.max()) + 1)
    return rows[alike[len(lines.weights) :]].astype(np.int64)


def _are_alone(counts: np.ndarray, rows: int, among: int, random: np.random.Generator) -> np.ndarray:
    """Which predicates fit one person among some people, the one behind the row being one of them: (n,) bool."""
    others = np.maximum(counts - 1, 0)
    drawn = random.hypergeometric(others, rows - 1 - others, among - 1) if among < rows else others
    answer: np.ndarray = (counts > 0) & (drawn == 0)
    return answer


def _sum_of(apart: Sequence[np.ndarray]) -> np.ndarray:
    """In how many columns people and lines contradict each other: (people, lines) uint8."""
    answer = apart[0].astype(np.uint8)
    for more in apart[1:]:
        answer += more
    return answer


# -- linkability and inference -------------------------------------------------------------------------------------


class Trials:
    """People against the rows of a file: for every plan how often it succeeded, with and without the person's row."""

    def __init__(self, lines: AttackLines, plans: Sequence[AttackPlan], seed: int) -> None:
        self.lines, self.plans, self.random = lines, plans, np.random.default_rng(seed)
        every = np.arange(len(lines.weights))
        secrets = {plan.secret for plan in plans if plan.secret is not None}
        self.totals = {column: lines.values_of(column, every, lines.weights) for column in secrets}

    def run(self, people: AttackLines, inside: bool) -> tuple[int, np.ndarray]:
        """How many people were tried, and the successes: (plans, 3) of attack, leaving the own row out, and blind.

        ``inside``: the people are those of the file; who fits no row of it was suppressed, and is not tried.
        """
        tried, hits = 0, np.zeros((len(self.plans), 3), dtype=np.int64)
        for rows in _chunks(people, self.lines):
            apart = [_apart(people, rows, self.lines, column) for column in range(len(people.names))]
            own_lines = self._own_rows(apart) if inside else [None] * len(apart[0])
            for number, plan in enumerate(self.plans):
                known = plan.halves if plan.risk == "linkability" else (plan.known,)
                near = [NearLines(_sum_of([apart[column] for column in half]), self.lines.weights) for half in known]
                values = people.first[plan.secret or 0][rows].tolist()
                for place, line in enumerate(own_lines):
                    if line is None or line >= 0:
                        hits[number] += self._try(plan, near, place, line, values[place])
            tried += sum(line is None or line >= 0 for line in own_lines)
        return tried, hits

    def _own_rows(self, apart: Sequence[np.ndarray]) -> list[int | None]:
        """A line that each person fits in every column, by chance where there are several; -1 where none does."""
        return [self._pick(lines) if len(lines := np.flatnonzero(each == 0)) else -1 for each in _sum_of(apart)]

    def _pick(self, lines: np.ndarray) -> int:
        ends = np.cumsum(self.lines.weights[lines])
        return int(lines[np.searchsorted(ends, self.random.integers(ends[-1]), side="right")])

    def _try(
        self, plan: AttackPlan, near: Sequence[NearLines], place: int, own: int | None, value: int
    ) -> tuple[bool, bool, bool]:
        """Whether the attack succeeds on a person, whether it does without the own row, and whether by blind guess."""
        if plan.secret is None:
            blind = bool(self.random.integers(self.lines.rows) == self.random.integers(self.lines.rows))
            return self._link(near, place, None), own is not None and self._link(near, place, own), blind
        without = own is not None and self._guess(plan.secret, near[0], place, own, value)
        blind = self._is_drawn(self.totals[plan.secret], value)
        return self._guess(plan.secret, near[0], place, None, value), without, blind

    def _link(self, near: Sequence[NearLines], place: int, without: int | None) -> bool:
        """Whether both halves lead to the same row, each to one of its nearest by chance."""
        picked = []
        for half in near:
            lines, weights = half.of(place, without)
            ends = np.cumsum(weights)
            at = int(self.random.integers(ends[-1]))
            line = int(np.searchsorted(ends, at, side="right"))
            picked.append((int(lines[line]), int(ends[line]) - at))
        return picked[0] == picked[1]

    def _guess(self, secret: int, near: NearLines, place: int, without: int | None, value: int) -> bool:
        """Whether one of the nearest rows, by chance, has the value; a label has each of its values by its share."""
        likely = self.lines.values_of(secret, *near.of(place, without))
        return self._is_drawn(likely, value)

    def _is_drawn(self, likely: np.ndarray, value: int) -> bool:
        return bool(value >= 0 and self.random.random() * likely.sum() < likely[value])


class NearLines:
    """The lines that contradict each person in the fewest known columns."""

    def __init__(self, far: np.ndarray, weights: np.ndarray) -> None:
        self.far, self.weights = far, weights
        person, self.lines = np.nonzero(far == far.min(axis=1, keepdims=True))
        self.start = np.searchsorted(person, np.arange(len(far) + 1))

    def of(self, place: int, without: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The nearest lines of a person and their rows, one row left out; the next ones where it was the only one."""
        lines = self.lines[self.start[place] : self.start[place + 1]]
        weights = self.weights[lines]
        if without is None:
            return lines, weights
        weights -= lines == without
        if weights.any():
            return lines, weights
        far = np.where(np.arange(len(self.weights)) == without, FAR, self.far[place])
        lines = np.flatnonzero(far == far.min())
        return lines, self.weights[lines]


# -- how often an attack succeeds, and the risk beyond the control (Giomi et al. 2023) ---------------------------------


NORMAL = 1.959963984540054  # standard deviations on either side of a normal mean that hold 95 %


@dataclass(frozen=True)
class Rate:
    """Successes of so many attempts, with Wilson's interval of 95 % for the rate."""

    successes: int
    attempts: int

    @property
    def value(self) -> float:
        """The share of attempts that succeeded."""
        return self.successes / self.attempts if self.attempts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of Wilson's interval (1927); everything is possible where nothing was tried."""
        if not self.attempts:
            return 0.0, 1.0
        n, share, square = self.attempts, self.value, NORMAL**2
        middle = (share + square / (2 * n)) / (1 + square / n)
        half = NORMAL / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        return 0.0 if self.successes == 0 else low, 1.0 if self.successes == n else high

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"successes": self.successes, "attempts": self.attempts, "rate": self.value, "interval": self.interval}


@dataclass(frozen=True)
class AttackOutcome:
    """One attack on one file: on people in it, on people who are not (the control), and by blind guessing."""

    attack: Rate
    control: Rate
    naive: Rate

    @property
    def risk(self) -> float:
        """The share of what the control leaves to be gained that the attack gains: (attack − control) / (1 − control).

        None is below 0: an attack that does better on others learns nothing from a person's own row.
        """
        left = 1 - self.control.value
        return max(0.0, (self.attack.value - self.control.value) / left) if left > 0 else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of an interval of 95 %: Wilson's two put together for a ratio (Donner and Zou 2012)."""
        one, other = 1 - self.attack.value, 1 - self.control.value
        (low1, high1), (low2, high2) = _failures(self.attack), _failures(self.control)
        least = _ratio_end(one, other, low1, high2, -1)
        most = _ratio_end(one, other, high1, low2, 1)
        return min(max(1 - most, 0.0), 1.0), min(max(1 - least, 0.0), 1.0)

    @property
    def weak(self) -> bool:
        """Whether the attack does no better than blind guessing, so that it says nothing of a stronger one."""
        return self.attack.value <= self.naive.interval[1]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        rates = {word: rate.to_dict() for word, rate in vars(self).items()}
        return {**rates, "risk": self.risk, "interval": self.interval}


def _failures(rate: Rate) -> tuple[float, float]:
    low, high = rate.interval
    return 1 - high, 1 - low


def _ratio_end(one: float, other: float, end: float, opposite: float, side: int) -> float:
    """An end of the interval for one / other: side -1 takes the lower of one and the upper of the other, 1 the rest."""
    below = opposite * (2 * other - opposite)
    if below <= 0:
        return 0.0 if side < 0 else math.inf
    inside = (one * other) ** 2 - end * opposite * (2 * one - end) * (2 * other - opposite)
    return max(0.0, (one * other + side * math.sqrt(max(inside, 0.0))) / below)
