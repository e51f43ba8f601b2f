"""The number of each class by one sensitive column: by the rows that have each value, or by the persons.

Spellings of a value are one value unless the certificate says that they were told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kpareto.errors import Unsafe
from kpareto.verifier.cells import NOTHING
from kpareto.verifier.counting import Class, Labels, one_spelling, order_values
from kpareto.verifier.definitions import RELATIVE, VALUES, Look, moved_in_tree
from kpareto.verifier.persons import OF_PERSONS, HeldValues, Sets, having, spread

Classes = Mapping[Labels, Class]


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


def judge_rows(
    measure: str, options: Mapping[str, Any], classes: Classes, column: str, table: Any, fold: bool
) -> dict[Labels, float]:
    """By rows; ``table`` are the values of the whole table with their rows, where the certificate has them."""
    seen = Counter(value for class_ in classes.values() for value in class_.values[column].elements())
    asked, whole = _options(options, fold), _merge(seen.items(), fold)
    order = _order(seen, fold) if table is None else list(dict.fromkeys(_spell(value, fold) for value, _ in table))
    if options.get("reference", "table") == "table" and measure in RELATIVE:
        if table is None:
            raise Unsafe(f"The certificate compares {column!r} with the whole table, and does not say what is there.")
        whole = _merge(table, fold)
    return {
        labels: VALUES[measure](Look(_merge(class_.values[column].items(), fold), whole, order, asked))
        for labels, class_ in classes.items()
    }


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
    shares, spreads = having([*everybody.values()]), spread([*everybody.values()])
    order = _order({value for class_ in classes.values() for value in class_.values[column]}, fold)
    if table is not None:
        order = list(dict.fromkeys(_spell(value, fold) for value, _, _ in table))
        if options.get("reference", "table") == "table":
            shares = {_spell(value, fold): float(share) for value, share, _ in table}
            spreads = {_spell(value, fold): float(even) for value, _, even in table}
    elif options.get("reference", "table") == "table" and measure in RELATIVE:
        raise Unsafe(f"The certificate compares {column!r} with the whole table, and does not say what is there.")
    asked = _options(options, fold)
    if asked.get("distance") == "hierarchical":
        return {labels: _distance_in_tree(own, spreads, asked["tree"]) for labels, own in sets.items()}
    return {labels: OF_PERSONS[measure](HeldValues(own, shares, spreads, order, asked)) for labels, own in sets.items()}


def _distance_in_tree(own: Sets, spreads: Mapping[str, float], tree: Mapping[str, Any]) -> float:
    """How far the persons of a class, spread evenly over their values, are from the reference by a tree of values."""
    mine = spread(own) if own else {}
    surplus = {value: mine.get(value, 0.0) - spreads.get(value, 0.0) for value in {*mine, *spreads}}
    return moved_in_tree(surplus, tree) if own else 1.0
