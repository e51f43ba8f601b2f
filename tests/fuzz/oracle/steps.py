"""How each form of hierarchy makes values coarser, and whether a label covers a value; worked out from the manual."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.fuzz.oracle.sheets import Step

STAR = "*"
MISSING = "(missing)"


def steps(form: Mapping[str, Any] | None, leaves: Sequence[str]) -> list[Step] | None:
    """Level -> leaf -> group for a form; None where the form takes its groups from the rows (quantiles)."""
    if form is not None and "order" in form:
        leaves = form["order"]  # all of them are declared, seen or not
    if form is None or "flat" in form or "order" in form:
        return [{leaf: leaf for leaf in leaves}, dict.fromkeys(leaves, STAR)]
    if "lines" in form:
        height = len(form["lines"][0])
        return [{line[0]: line[level] for line in form["lines"]} for level in range(height)]
    if "tree" in form:
        return _tree_steps(form["tree"])
    for name, way in (
        ("intervals", _intervals),
        ("bounds", _bounds),
        ("prefix", _prefixes),
        ("mask", _masks),
        ("dates", _dates),
    ):
        if name in form:
            return _topped([{leaf: leaf for leaf in leaves}, *way(form, leaves)], leaves)
    return None


def _topped(found: list[Step], leaves: Sequence[str]) -> list[Step]:
    """A star over everything; a last level that is one group already becomes the star."""
    whole = dict.fromkeys(leaves, STAR)
    last_is_whole = len(found) > 1 and len(set(found[-1].values())) == 1
    return [*found[:-1], whole] if last_is_whole else [*found, whole]


def _intervals(form: Mapping[str, Any], leaves: Sequence[str]) -> list[Step]:
    origin, top = Fraction(str(form.get("from", 0))), form.get("top_code")

    def key(leaf: str, width: object) -> str:
        value = Fraction(leaf)
        if top is not None and value >= Fraction(str(top)):
            return "top"
        return str((value - origin) // Fraction(str(width)))

    return [{leaf: key(leaf, width) for leaf in leaves} for width in form["intervals"]]


def _bounds(form: Mapping[str, Any], leaves: Sequence[str]) -> list[Step]:
    return [
        {leaf: str(sum(Fraction(leaf) >= Fraction(str(p)) for p in points)) for leaf in leaves}
        for points in form["bounds"]
    ]


def _prefixes(form: Mapping[str, Any], leaves: Sequence[str]) -> list[Step]:
    return [{leaf: leaf[:count] for leaf in leaves} for count in sorted(form["prefix"], reverse=True)]


def _masks(form: Mapping[str, Any], leaves: Sequence[str]) -> list[Step]:
    longest = max(map(len, leaves))
    return [{leaf: leaf[: longest - count] for leaf in leaves} for count in sorted(form["mask"])]


def _dates(form: Mapping[str, Any], leaves: Sequence[str]) -> list[Step]:
    levels = ["month", "quarter", "year", "decade"] if form["dates"] is True else form["dates"]
    return [{leaf: date_group(leaf, level) for leaf in leaves} for level in levels if level != "day"]


def date_group(day: str, level: str) -> str:
    """The month, quarter, year or decade of an ISO date, as it is labelled."""
    year, month = day[:4], int(day[5:7])
    return {"month": day[:7], "quarter": f"{year}-Q{(month + 2) // 3}", "year": year, "decade": f"{year[:3]}0s"}[level]


def _tree_steps(tree: Mapping[str, Any]) -> list[Step]:
    paths: dict[str, list[tuple[int, str]]] = {}  # leaf -> (height, name) of itself and all above, rising

    def walk(part: Mapping[str, Any], path: str) -> tuple[int, list[str]]:
        children = part.get("children", ())
        if not children:
            paths[part["label"]] = [(0, part["label"])]
            return 0, [part["label"]]
        below = [walk(child, f"{path}/{place}") for place, child in enumerate(children)]
        height, leaves = 1 + max(h for h, _ in below), [leaf for _, found in below for leaf in found]
        for leaf in leaves:
            paths[leaf].append((height, path))
        return height, leaves

    height, leaves = walk(tree, "tree")
    return [
        {leaf: [name for h, name in paths[leaf] if h <= level][-1] for leaf in leaves} for level in range(height + 1)
    ]


def names_above(form: Mapping[str, Any], value: str) -> set[str]:
    """Every label that a list, file or tree gives a value."""
    if "lines" in form:
        return {label for line in form["lines"] if line[0] == value for label in line}

    def climb(part: Mapping[str, Any]) -> set[str]:
        if part["label"] == value and not part.get("children"):
            return {value}
        above = [climb(child) for child in part.get("children", ())]
        return {part["label"], *(name for names in above for name in names)} if any(above) else set()

    return climb(form["tree"])


_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CLOSED = re.compile(rf"({_NUMBER})-({_NUMBER})")
_BRACKETS = re.compile(rf"([\[(])({_NUMBER}),\s*({_NUMBER})([\])])")


def covers(form: Mapping[str, Any] | None, label: str, value: str) -> bool:
    """Whether a released label is true of the original value."""
    if label in (STAR, value):
        return True
    if form is None:  # a hierarchy that kpareto made itself, by the kind of the values
        kinds: list[dict[str, Any]] = [{"order": []}, {"prefix": []}]
        kinds += [{"dates": []}] if _DAY.fullmatch(value) else []
        kinds += [{"intervals": []}] if re.fullmatch(_NUMBER, value) else []
        return any(covers(kind, label, value) for kind in kinds)
    if "flat" in form:
        return False
    if "lines" in form or "tree" in form:
        names = names_above(form, value)
        return label in names or re.sub(r" \(.*\)$", "", label) in names  # two groups of one name get a mark behind it
    if "order" in form:
        return f"|{value}|" in f"|{label}|"  # a value may have such a bar itself
    if "dates" in form:
        return label in {date_group(value, level) for level in ("month", "quarter", "year", "decade")}
    if "prefix" in form or "mask" in form:
        return label.endswith(STAR) and value.startswith(label.rstrip(STAR))
    return value != MISSING and _in_range(label, Fraction(value))


def _in_range(label: str, value: Fraction) -> bool:
    if closed := _CLOSED.fullmatch(label):
        return Fraction(closed[1]) <= value <= Fraction(closed[2])
    if found := _BRACKETS.fullmatch(label):
        low, high = Fraction(found[2]), Fraction(found[3])
        return (low <= value if found[1] == "[" else low < value) and (
            value <= high if found[4] == "]" else value < high
        )
    if label.startswith("<"):
        return value < Fraction(label[1:])
    return label.endswith("+") and value >= Fraction(label[:-1])
