"""The definitions of the verifier, in the words of the literature and of nobody else in this house.

Each is one number about one class: by how many it holds, or by the values of one sensitive column in it. What is true
of the rows of a class is said in the same words of its persons (``judging``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kpareto.verifier.certificate import spell_claim


@dataclass(frozen=True)
class Look:
    """One class, one sensitive column: all that a definition below needs, of its rows or of its persons."""

    mine: Mapping[str, float]  # value -> its share of the class
    whole: Mapping[str, float]  # value -> its share of the reference
    known: list[int]  # how often each value occurs but the missing one, which never counts towards diversity; falling
    order: list[str]  # the values in order
    given: Mapping[str, Any]  # parameters

    def gains(self) -> list[tuple[float, float]]:
        """How much more likely each value of the class is than in the reference, and its share there."""
        return [((p - self.whole[value]) / self.whole[value], self.whole[value]) for value, p in self.mine.items()]


def _entropy(look: Look) -> float:
    rows = sum(look.known)
    return math.exp(-math.fsum(n / rows * math.log(n / rows) for n in look.known)) if rows else 0.0


def _recursive(look: Look) -> float:
    tail = sum(look.known[int(look.given.get("l", 2)) - 1 :])
    return look.known[0] / tail if tail else math.inf


def _alpha(look: Look) -> float:
    wanted = look.given.get("value")
    if wanted is None or not look.mine:
        return max(look.mine.values(), default=1.0)
    return look.mine.get(str(wanted), 0.0)


def moved_in_tree(surplus: Mapping[str, float], tree: Mapping[str, Sequence[str]]) -> float:
    """The least work that levels out what values have too much and too little, by the nodes of their tree.

    Li, Li and Venkatasubramanian 2007: what does not level out among the children of a node goes up to its parent, at a
    cost by the node's height. ``tree`` has the labels of each value from the lowest level to the highest.
    """
    masses: dict[tuple[str, ...], float] = {}
    for value, mass in surplus.items():
        path = tuple(tree[value])
        masses[path] = masses.get(path, 0.0) + mass
    height, work = max(map(len, masses), default=1) - 1, 0.0
    for level in range(1, height + 1):
        children: dict[tuple[str, ...], list[float]] = {}
        for path, mass in masses.items():
            children.setdefault(path[1:], []).append(mass)
        for below in children.values():
            over, under = math.fsum(m for m in below if m > 0), -math.fsum(m for m in below if m < 0)
            work += level / height * min(over, under)
        masses = {path: math.fsum(below) for path, below in children.items()}
    return work


def _t(look: Look) -> float:
    if not look.mine:
        return 1.0
    surplus = {value: look.mine.get(value, 0.0) - look.whole.get(value, 0.0) for value in {*look.mine, *look.whole}}
    distance = look.given.get("distance", "equal")
    if distance == "equal":
        return math.fsum(map(abs, surplus.values())) / 2
    if distance == "hierarchical":
        return moved_in_tree(surplus, look.given["tree"])
    running, total = 0.0, 0.0
    for value in look.order:
        running += surplus.get(value, 0.0)
        total += abs(running)
    return total / max(len(look.order) - 1, 1)


def _beta(look: Look) -> float:
    return max((gain for gain, _ in look.gains()), default=math.inf)


def _enhanced_beta(look: Look) -> float:
    return max((gain if gain <= -math.log(q) + 1e-12 else math.inf for gain, q in look.gains()), default=math.inf)


def _delta(look: Look) -> float:
    if look.given.get("absent") == "infinite" and set(look.mine) != {value for value, q in look.whole.items() if q}:
        return math.inf
    return max((abs(math.log(p / look.whole[value])) for value, p in look.mine.items()), default=math.inf)


def _mean_risk(sizes: list[int], _: Mapping[str, Any]) -> float:
    return sum(size > 0 for size in sizes) / max(sum(sizes), 1)


def _risky_share(sizes: list[int], options: Mapping[str, Any]) -> float:
    border = Fraction(str(options.get("threshold", 0.2)))
    return sum(size for size in sizes if size and Fraction(1, size) > border) / max(sum(sizes), 1)


HIGHER = {"k", "l", "entropy-l"}  # where more is safer
RELATIVE = {"t", "beta", "enhanced-beta", "delta"}  # compared with a distribution
SIZES: dict[str, Callable[[float], float]] = {"k": lambda size: size, "risk-max": lambda size: 1 / max(size, 1)}
# One number about all classes: from how many rows, or persons, each holds.
TOTALS: dict[str, Callable[[list[int], Mapping[str, Any]], float]] = {
    "risk-mean": _mean_risk,
    "risk-share": _risky_share,
    "uniques": lambda sizes, _: float(sum(size == 1 for size in sizes)),
}
VALUES: dict[str, Callable[[Look], float]] = {
    "l": lambda look: float(len(look.known)),
    "entropy-l": _entropy,
    "recursive-l": _recursive,
    "alpha": _alpha,
    "t": _t,
    "beta": _beta,
    "enhanced-beta": _enhanced_beta,
    "delta": _delta,
}


def of_persons(claim: Mapping[str, Any]) -> bool:
    """Whether a claim counts persons instead of rows."""
    return bool(claim.get("with", {}).get("counts") == "persons")


def _by_persons(name: str) -> str:
    """The same measure of persons, as claims spell it."""
    measure, _, inside = name.removesuffix(")").partition("(")
    options = sorted([*(part for part in inside.split(", ") if part), "counts=persons"])
    return f"{measure}({', '.join(options)})"


def judge_thresholds(
    parts: Sequence[Mapping[str, Any]], numbers: Mapping[str, float], higher: Collection[str], slack: float
) -> tuple[dict[str, float], list[str], list[str]]:
    """The thresholds of suppression that counted numbers meet, those that are only said, and those that are missed.

    Which classes were suppressed is not to be seen in a release, so a threshold is only said unless it is the limit of
    a claim too. parts: the public part, then the confidential one; numbers: the claims that were worked out again;
    higher: the measures that must be at least their threshold.
    """
    met: dict[str, float] = {}
    unchecked, missed = [], []
    claims = [claim for part in parts for claim in part.get("claims", ())]
    limits = {spell_claim(claim): claim["limit"] for claim in claims if claim.get("limit") is not None}
    persons = any(of_persons(claim) for claim in parts[0]["claims"])
    for name, threshold in parts[0]["suppression"].get("thresholds", {}).items():
        full = _by_persons(name) if persons else name
        number, least = numbers.get(full), name.partition("(")[0] in higher
        if number is not None and (number < threshold - slack if least else number > threshold + slack):
            missed.append(f"{name} = {threshold:g} are said to be suppressed, and one has {number:.12g}")
        elif number is None or not abs(float(limits.get(full, math.inf)) - threshold) <= slack:
            unchecked.append(f"threshold of {name} = {threshold:g}")
        else:
            met[name] = threshold
    return met, unchecked, missed
