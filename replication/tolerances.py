"""How near is near: one table of tolerances for all pages, each with its reason, fixed before any run.

Results of one kind are judged by one line of it, whatever they come out as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kpareto.searches.compare import rank_test
from replication.page import Kind, Verdict, between, near
from replication.trials import apart, interval


@dataclass(frozen=True)
class Tolerance:
    """How far a number of one kind may be from the printed one, and why so far."""

    kind: str
    within: float
    relative: bool  # a share of the printed number, not an amount in its own unit
    reason: str

    def words(self) -> str:
        """For the table."""
        if self.within > 1 and self.relative:
            return f"a factor of {self.within:g}"
        return f"{100 * self.within:g} %" if self.relative else f"{self.within:g}"


TOLERANCES = {
    "count": Tolerance("a count of the same thing", 0.0, False, "it has one value"),
    "power": Tolerance("an order of magnitude, as a power of two", 1.0, False, "“order of” is a factor of two"),
    "loss": Tolerance(
        "a loss printed to two digits or read off a curve", 0.01, False,
        "half a unit of the second digit for the rounding, and as much again for reading a curve",
    ),
    "deviation": Tolerance(
        "the deviation of an answer from its wishes", 0.02, False, "a sum of two losses, each within 0.01",
    ),
    "error": Tolerance(
        "the error of a classifier", 0.002, False,
        "the least difference that the text itself tells apart, 17.1 % and 17.3 %",
    ),
    "k": Tolerance("a k that is near the wish", 0.1, True, "at a wish of 10 the next k, 11, is so far away"),
    "row": Tolerance("a k that is called near a small wish", 1.0, False, "the text calls 3 near a wish of 2"),
    "nodes": Tolerance(
        "a count that depends on the hierarchies: nodes, optima", 0.1, True,
        "the hierarchies are not printed; over a family of plausible ones the counts move at least as much",
    ),
    "share": Tolerance(
        "a share of optima, of boxes (RR) or of nodes", 0.05, False,
        "the printed variances of RR are those of single runs that stray by 0.03 to 0.04, rounded up",
    ),
    "final": Tolerance(
        "final losses of trials that are called the same or near", 0.002, True,
        "as much as a spread that is hardly any: what is the same cannot be farther apart than that",
    ),
    "spread": Tolerance(
        "a spread that is called hardly any", 0.002, True, "a fifth of the 1 % within which a trial has converged",
    ),
    "factor": Tolerance(
        "numbers that are called similar, and CE, as a factor", 2.0, True,
        "the papers do not tell what similar means; twice as much is no longer similar",
    ),
}  # fmt: skip


def near_as(kind: str, ours: float, printed: float) -> Verdict:
    """Whether a number of a kind is the printed one."""
    tolerance = TOLERANCES[kind]
    if kind == "factor":
        times = ours / printed
        away = max(times, 1 / times) if times > 0 else float("inf")
        same = away <= tolerance.within * (1 + 1e-12)
        told = f"{times:.3g} times the printed one"
        return Verdict("matches", f"{told}, within a factor of {tolerance.within:g}") if same else Verdict(
            "differs", f"{told}, more than a factor of {tolerance.within:g}"
        )  # fmt: skip
    return near(ours, printed, tolerance.within, tolerance.relative)


def between_as(kind: str, ours: Sequence[float], low: float, high: float) -> Verdict:
    """Whether every number of a kind lies in the printed range."""
    return between(ours, low, high, TOLERANCES[kind].within)


def same_as(kind: str, ours: Sequence[float], unit: float = 1.0) -> Verdict:
    """Whether numbers of a kind are the same: how far the largest is from the smallest, as a share of a unit."""
    within = TOLERANCES[kind].within
    apart = (max(ours) - min(ours)) / unit
    told = f"{apart:.2%}" if TOLERANCES[kind].relative else f"{apart:.3g}"
    limit = f"{within:.3g}" if not TOLERANCES[kind].relative else f"{within:.3g} of it"
    return Verdict("matches" if apart <= within * (1 + 1e-12) else "differs", f"{told} apart, allowed are {limit}")


LEVEL = 0.05  # a difference between runs counts if chance makes it in fewer than one of twenty cases
FEWEST = 10  # runs on either side, below which no test is made
Pairs = Mapping[str, tuple[np.ndarray, np.ndarray]]  # what is compared -> the numbers of either side's runs


def of_many(runs: int, verdict: Verdict) -> Verdict:
    """A verdict on how runs spread, or on folds, where there are enough of them."""
    return verdict if runs >= FEWEST else _too_few(runs)


def _too_few(runs: int) -> Verdict:
    return Verdict("cannot be compared", f"{runs} runs are too few for a test; a full run has more")


def lower_as(pairs: Pairs) -> Verdict:
    """Whether the first is lower in every pair: Mann–Whitney, two-sided, with what so many runs would have shown."""
    few = min(len(side) for pair in pairs.values() for side in pair)
    if few < FEWEST:
        return _too_few(few)
    tests = {name: rank_test(one, two) for name, (one, two) in pairs.items()}
    told = ", ".join(f"{name} p = {test.p:.2g}".strip() for name, test in tests.items())
    power = f"{told}; {few} runs each show {apart(few):.2g} standard deviations with a power of 80 %"
    if all(test.p < LEVEL and test.effect > 0.5 for test in tests.values()):
        return Verdict("matches", power)
    if any(test.p < LEVEL and test.effect < 0.5 for test in tests.values()):
        return Verdict("differs", f"the other way round: {power}")
    return Verdict("cannot be compared", f"chance explains it: {power}")


def equal_as(kind: str, first: np.ndarray, second: np.ndarray, unit: float, of: Callable[..., np.ndarray]) -> Verdict:
    """Whether a statistic of two sets of runs is the same: its difference's interval lies within a tolerance."""
    few, within = min(len(first), len(second)), TOLERANCES[kind].within
    if few < FEWEST:
        return _too_few(few)
    low, high = (end / unit for end in interval(first, second, of))
    shown = f"{low:+.2%} … {high:+.2%}" if TOLERANCES[kind].relative else f"{low:+.3g} … {high:+.3g}"
    told = f"the difference lies in {shown} (90 % interval), allowed are ±{TOLERANCES[kind].words()}"
    if -within <= low and high <= within:
        return Verdict("matches", told)
    return Verdict("differs" if low > within or high < -within else "cannot be compared", told)


def every(verdicts: Mapping[str, Verdict]) -> Verdict:
    """One verdict on several: they match if each does, and differ if one does."""
    order: tuple[Kind, ...] = ("differs", "cannot be compared", "matches")
    kind = min((each.kind for each in verdicts.values()), key=order.index)
    return Verdict(kind, "; ".join(f"{name}: {each.note}" for name, each in verdicts.items()))


def tolerance_rows() -> list[tuple[str, str, str]]:
    """The table for people: kind, tolerance, reason."""
    return [(each.kind, each.words(), each.reason) for each in TOLERANCES.values()]
