"""The number of each class by one sensitive column: by the rows that have each value, or by the persons.

Spellings of a value are one value unless the certificate says that they were told apart.

Who reads the release concludes of a person what share of the class's persons has a value. So shares count persons who
have a value; a distance spreads each person evenly over theirs; l is the fewest values of which everybody has one, and
the other diversities are of one value for everybody, given out as unevenly as can be.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kpareto.errors import Unsafe
from kpareto.verifier.cells import NOTHING
from kpareto.verifier.certificate import spell_claim
from kpareto.verifier.counting import Class, Labels, one_spelling, order_values
from kpareto.verifier.definitions import HIGHER, RELATIVE, SIZES, TOTALS, VALUES, Look, of_persons

EXACT = 6  # the fewest values are exact up to here, and beyond it no more than this is claimed
Classes = Mapping[Labels, Class]
Sets = list[frozenset[str]]  # of everybody the values


def _spell(value: str, fold: bool) -> str:
    """A value as it counts; one of which nothing is to be seen is none."""
    return (one_spelling(value) or NOTHING) if fold else value


def _merge(counts: Iterable[tuple[str, int]], fold: bool) -> Counter[str]:
    merged: Counter[str] = Counter()
    for value, n in counts:
        merged[_spell(value, fold)] += n
    return merged


def _order(values: Iterable[str], fold: bool) -> list[str]:
    """The values of the release in order, each in the first of its spellings."""
    first: dict[str, str] = {}
    for value in sorted(values):
        first.setdefault(_spell(value, fold), value if _spell(value, fold) != NOTHING else NOTHING)
    places = {value: place for place, value in enumerate(order_values(first.values()))}
    return sorted(first, key=lambda value: places[first[value]])


def _options(options: Mapping[str, Any], fold: bool) -> dict[str, Any]:
    asked = {name: option for name, option in options.items() if name not in ("counts", "reference")}
    asked["tree"] = {_spell(value, fold): path for value, path in options.get("tree", {}).items()}
    return {**asked, "value": _spell(str(asked["value"]), fold)} if "value" in asked else asked


def by_class(
    claim: dict[str, Any],
    classes: dict[Labels, Class],
    roles: dict[str, str],
    tables: dict[str, Any],
    fold: bool = True,
    trees: Mapping[str, Any] = MappingProxyType({}),
) -> dict[Labels, float]:
    """One number per class: the worst over the sensitive columns the claim is about; fold: spellings are one value."""
    options = dict(claim.get("with", {}))
    measure = claim["measure"]
    if measure in SIZES:
        return {labels: SIZES[measure](float(_size(claim, class_))) for labels, class_ in classes.items()}
    if measure in TOTALS:
        number = TOTALS[measure]([_size(claim, class_) for class_ in classes.values()], options)
        return dict.fromkeys(classes, number)
    if measure not in VALUES:
        raise Unsafe(f"The certificate claims {spell_claim(claim)}, which nobody can count in a release alone.")
    asked = options.pop("column", None)
    columns = [name for name, role in roles.items() if role == "sensitive" and asked in (None, name)]
    if not columns:
        raise Unsafe(f"The certificate claims {spell_claim(claim)}, and the release has no such sensitive column.")
    worst = min if measure in HIGHER else max
    numbers: dict[Labels, float] = {}
    for column in columns:
        judge = judge_persons if of_persons(claim) else judge_rows
        settings = {**options, "tree": trees.get(column, {})}
        for labels, number in judge(measure, settings, classes, column, tables.get(column), fold).items():
            numbers[labels] = worst(numbers.get(labels, number), number)
    return numbers


def _size(claim: dict[str, Any], class_: Class) -> int:
    """What a class holds, as the claim counts it."""
    return len(class_.persons) if of_persons(claim) and class_.persons is not None else class_.rows


def _compares(measure: str, options: Mapping[str, Any], column: str, table: Any) -> bool:
    """Whether a measure is about the whole table; Unsafe where the certificate does not say what is there."""
    if measure not in RELATIVE or options.get("reference", "table") != "table":
        return False
    if table is None:
        raise Unsafe(f"The certificate compares {column!r} with the whole table, and does not say what is there.")
    return True


def judge_rows(
    measure: str, options: Mapping[str, Any], classes: Classes, column: str, table: Any, fold: bool
) -> dict[Labels, float]:
    """By rows; ``table`` are the values of the whole table with their rows, where the certificate has them."""
    seen = Counter(value for class_ in classes.values() for value in class_.values[column].elements())
    asked = _options(options, fold)
    order = _order(seen, fold) if table is None else list(dict.fromkeys(_spell(value, fold) for value, _ in table))
    whole = shares(_merge(table if _compares(measure, options, column, table) else seen.items(), fold))
    return {
        labels: VALUES[measure](look_at_rows(_merge(class_.values[column].items(), fold), whole, order, asked))
        for labels, class_ in classes.items()
    }


def look_at_rows(
    counts: Mapping[str, int], whole: Mapping[str, float], order: list[str], options: Mapping[str, Any]
) -> Look:
    """What definitions need of a class whose rows have these values."""
    known = sorted((n for value, n in counts.items() if value != NOTHING), reverse=True)
    return Look(shares(counts), whole, known, order, options)


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Value -> its share of the rows."""
    rows = sum(counts.values())
    return {value: n / rows for value, n in counts.items()}


def judge_persons(
    measure: str, options: Mapping[str, Any], classes: Classes, column: str, table: Any, fold: bool
) -> dict[Labels, float]:
    """By persons; ``table`` are the values of the whole table, the share of persons who have each, and its spread."""
    sets: dict[Labels, Sets] = {}
    everybody: dict[tuple[str, ...], frozenset[str]] = {}
    for labels, class_ in classes.items():
        sets[labels] = []
        for person, theirs in (class_.persons or {}).items():
            values = frozenset(_spell(value, fold) for value in theirs[column])
            sets[labels].append(values)
            everybody[person] = everybody.get(person, frozenset()) | values
    if measure == "l":
        return {labels: _fewest(theirs) for labels, theirs in sets.items()}
    order = _order({value for class_ in classes.values() for value in class_.values[column]}, fold)
    share = spread if measure == "t" else having
    whole = share([*everybody.values()])
    if table is not None:
        order = list(dict.fromkeys(_spell(value, fold) for value, _, _ in table))
    if _compares(measure, options, column, table):
        whole = {_spell(value, fold): float(even if measure == "t" else one) for value, one, even in table}
    asked = _options(options, fold)
    return {
        labels: VALUES[measure](Look(share(theirs), whole, _uneven(theirs), order, asked))
        for labels, theirs in sets.items()
    }


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


def _drop_missing(sets: Sets) -> Sets:
    return [known for values in sets if (known := values - {NOTHING})]


def _fewest(sets: Sets) -> int:
    sets = _drop_missing(sets)
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


def _uneven(sets: Sets) -> list[int]:
    """One value for everybody, given out as unevenly as the numbers of those who have each allow, falling."""
    sets = _drop_missing(sets)
    left, parts = len(sets), []
    for _, n in Counter(value for values in sets for value in values).most_common():
        parts.append(min(n, left))
        left -= parts[-1]
    return [n for n in parts if n]
