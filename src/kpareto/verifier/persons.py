"""What is true of persons: the definitions again, from the values that each person of a class has.

Who reads the release concludes of a person what share of the class's persons has a value. So shares count persons who
have a value; a distance spreads each person evenly over theirs; l is the fewest values of which everybody has one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kpareto.verifier.cells import NOTHING

EXACT = 6  # the fewest values are exact up to here, and beyond it no more than this is claimed
Sets = list[frozenset[str]]  # of everybody the values


@dataclass(frozen=True)
class HeldValues:
    """One class, one sensitive column: everybody's values, and what share of all persons has each."""

    sets: Sets
    having: Mapping[str, float]  # of the reference: value -> share of persons who have it
    spread: Mapping[str, float]  # the same, everybody spread evenly over their values
    order: list[str]  # the values in order
    given: Mapping[str, Any]  # parameters


def having(sets: Sets) -> dict[str, float]:
    """Value -> share of the persons who have it."""
    return {value: n / len(sets) for value, n in Counter(v for values in sets for v in values).items()}


def spread(sets: Sets) -> dict[str, float]:
    """Value -> its share where everybody is spread evenly over their values."""
    parts: dict[str, list[float]] = {}
    for values in sets:
        for value in values:
            parts.setdefault(value, []).append(1 / len(values))
    return {value: math.fsum(part) / len(sets) for value, part in parts.items()}


def _drop_missing(look: HeldValues) -> Sets:
    sets = [values - {NOTHING} for values in look.sets]
    return [values for values in sets if values]


def _fewest(look: HeldValues) -> float:
    sets = _drop_missing(look)
    alone = {value for values in sets if len(values) == 1 for value in values}
    rest = {values for values in sets if not values & alone}
    return len(alone) + next((n for n in range(EXACT) if _can_touch(rest, n)), EXACT)


def _can_touch(sets: Collection[frozenset[str]], most: int) -> bool:
    """Whether so many values suffice for each of these sets to have one of them."""
    if not sets:
        return True
    often = Counter(value for values in sets for value in values)
    if sum(n for _, n in often.most_common(most)) < len(sets):
        return False
    return any(_can_touch([s for s in sets if value not in s], most - 1) for value in min(sets, key=len))


def _uneven(look: HeldValues) -> list[int]:
    """One value for everybody, given out as unevenly as the numbers of those who have each allow, falling."""
    sets = _drop_missing(look)
    left, parts = len(sets), []
    for _, n in Counter(value for values in sets for value in values).most_common():
        parts.append(min(n, left))
        left -= parts[-1]
    return [n for n in parts if n]


def _entropy(look: HeldValues) -> float:
    parts = _uneven(look)
    return math.exp(-math.fsum(n / sum(parts) * math.log(n / sum(parts)) for n in parts)) if parts else 0.0


def _recursive(look: HeldValues) -> float:
    parts = _uneven(look)
    tail = sum(parts[int(look.given.get("l", 2)) - 1 :])
    return parts[0] / tail if tail else math.inf


def _alpha(look: HeldValues) -> float:
    shares, wanted = having(look.sets), look.given.get("value")
    if not look.sets:
        return 1.0
    return max(shares.values()) if wanted is None else shares.get(str(wanted), 0.0)


def _t(look: HeldValues) -> float:
    if not look.sets:
        return 1.0
    mine = spread(look.sets)
    if look.given.get("distance", "equal") == "equal":
        return math.fsum(abs(mine.get(v, 0.0) - look.spread.get(v, 0.0)) for v in {*mine, *look.spread}) / 2
    ahead, moved = 0.0, 0.0
    for value in look.order:
        ahead += mine.get(value, 0.0) - look.spread.get(value, 0.0)
        moved += abs(ahead)
    return moved / max(len(look.order) - 1, 1)


def _beta(look: HeldValues) -> float:
    return max(((p - look.having[v]) / look.having[v] for v, p in having(look.sets).items()), default=math.inf)


def _enhanced_beta(look: HeldValues) -> float:
    gains = [((p - look.having[v]) / look.having[v], -math.log(look.having[v])) for v, p in having(look.sets).items()]
    return max((gain if gain <= most + 1e-12 else math.inf for gain, most in gains), default=math.inf)


def _delta(look: HeldValues) -> float:
    mine = having(look.sets)
    if look.given.get("absent") == "infinite" and set(mine) != {v for v, q in look.having.items() if q}:
        return math.inf
    return max((abs(math.log(p / look.having[v])) for v, p in mine.items()), default=math.inf)


OF_PERSONS: dict[str, Callable[[HeldValues], float]] = {
    "l": _fewest,
    "entropy-l": _entropy,
    "recursive-l": _recursive,
    "alpha": _alpha,
    "t": _t,
    "beta": _beta,
    "enhanced-beta": _enhanced_beta,
    "delta": _delta,
}
