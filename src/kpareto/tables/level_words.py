"""How a column is shown, in words: as it is, in steps of 10, by month, in 4 groups, hidden."""

from __future__ import annotations

from collections.abc import Mapping

from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.recoding import Recoding
from kpareto.tables.spelling import number_text

AS_IT_IS, HIDDEN = "as it is", "hidden"


def level_words(hierarchy: Hierarchy, level: int) -> str:
    """A level of a hierarchy in words; its number is that of the lattice."""
    groups = len(hierarchy.labels[level])
    if level == 0 and hierarchy.coarse is None:
        return AS_IT_IS
    if groups == 1:
        return HIDDEN
    return _rule_words(hierarchy, hierarchy.first + level) or f"in {groups:,} groups"


def _rule_words(hierarchy: Hierarchy, level: int) -> str:
    """What the rule of a hierarchy says of a declared level; nothing where it was made otherwise."""
    declared = hierarchy if hierarchy.coarse is None else hierarchy.coarse.declared
    rule: Mapping[str, object] = declared.rule or {}
    for word in ("intervals", "prefix", "dates"):
        steps = rule.get(word)
        if isinstance(steps, list | tuple) and len(steps) == declared.height - 1 and 0 < level < declared.height:
            step = steps[level - 1]
            if word == "intervals":
                return f"in steps of {number_text(float(step))}"
            if word == "prefix":
                end = "last" if rule.get("stars") == "left" else "first"
                return f"{end} {step} character{'s' * (step != 1)}"
            return f"by {step}"
    return ""


def column_words(recoding: Recoding, column: int) -> str:
    """How a recoding shows a column."""
    hierarchy = recoding.hierarchies[column]
    if recoding.levels is not None:
        return level_words(hierarchy, recoding.levels[column])
    groups = len(recoding.runs(column)[0])
    if recoding.boxes is not None:
        return HIDDEN if groups == 1 else f"{groups:,} labels, by class"
    if groups == len(hierarchy.leaves) and hierarchy.coarse is None:
        return AS_IT_IS
    return HIDDEN if groups == 1 else f"in {groups:,} groups"


def recoding_words(recoding: Recoding) -> str:
    """How a recoding shows each column: ``age in steps of 10, sex as it is, zip hidden``."""
    return ", ".join(f"{h.name} {column_words(recoding, column)}" for column, h in enumerate(recoding.hierarchies))
