"""How near is near: one table of tolerances for all pages, each with its reason, fixed before any run.

Results of one kind are judged by one line of it, whatever they come out as.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replication.page import Verdict, between, near


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
    "tie": Tolerance(
        "losses of two recodings that tie", 0.005, True,
        "GENITOR with the paper's settings itself ends up to 0.4 % above the least LM known (table “All k”)",
    ),
    "error": Tolerance(
        "the error of a classifier", 0.01, False, "the learner is another one: C4.5 then, scikit-learn's tree now",
    ),
    "k": Tolerance("a k that is near the wish", 0.1, True, "at a wish of 10 the next k, 11, is so far away"),
    "nodes": Tolerance(
        "a count that depends on the hierarchies: nodes, optima", 0.1, True,
        "the hierarchies are not printed; over a family of plausible ones the counts move at least as much",
    ),
    "share": Tolerance(
        "a share of optima, of boxes (RR) or of nodes", 0.05, False,
        "the printed variances of RR are those of single runs that stray by 0.03 to 0.04, rounded up",
    ),
    "final": Tolerance(
        "final losses of trials that are called the same", 0.01, True,
        "the same 1 % within which a trial counts as having converged; the figures have no numbers",
    ),
    "spread": Tolerance(
        "a spread that is called hardly any", 0.002, True, "a fifth of what makes two final losses different",
    ),
    "factor": Tolerance(
        "numbers that are called similar, and CE, as a factor", 2.0, True,
        "the paper tells neither how CE is averaged nor what similar means; twice as much is no longer similar",
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


def tolerance_rows() -> list[tuple[str, str, str]]:
    """The table for people: kind, tolerance, reason."""
    return [(each.kind, each.words(), each.reason) for each in TOLERANCES.values()]
