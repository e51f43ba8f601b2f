"""One door for every form in which people keep hierarchies: files, inline rules, rows, frames, other tools' dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from kpareto.errors import BadHierarchy, did_you_mean
from kpareto.tables.hierarchies.codes import Side, alphabet, dates, masks, prefixes
from kpareto.tables.hierarchies.files import decode, from_json, parse_json, parse_lines, read_text
from kpareto.tables.hierarchies.known import known_hierarchy
from kpareto.tables.hierarchies.numbers import (
    Bounds,
    bounds,
    cells,
    floats,
    in_numeric_order,
    intervals,
    order,
    quantile_cells,
    quantiles,
    round_numbers,
)
from kpareto.tables.hierarchies.values import (
    Values,
    check_levels_wanted,
    numbers_of,
    text_of,
    texts_of,
    whole_range,
)
from kpareto.tables.hierarchy import MISSING, STAR, Hierarchy, flat, from_levels, tell_lost, with_missing
from kpareto.tables.spelling import several

Inline = Mapping[str, object]


def load(name: str, source: object, values: Values | None = None) -> Hierarchy:
    """The hierarchy of a column from whatever is given.

    Parameters
    ----------
    name : str
        The column.
    source : object
        A path (ARX-style lines or JSON), the text of such a file (with a line break or a brace in it), an inline rule
        such as ``{"intervals": [5, 10]}``, lists of labels per value, a dataframe of them, a dict ``{level: labels}``,
        or a Hierarchy.
    values : iterable or mapping of str to int, optional
        The column's values, or each value with its number of rows. Rules need them, and every other form is checked to
        have a place for each.

    Returns
    -------
    Hierarchy
        Level 0 has the values, the last level one group.

    Raises
    ------
    BadInput
        If it cannot be read, does not nest, or has no place for a value.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.load("age", {"intervals": [10, 20]}, range(20, 60))
    Hierarchy(age: 40, 4, 2, 1 groups from level 0 to 3)
    >>> kp.load("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"]]).labels[1]
    ('mammal', 'fish')
    """
    if values is not None and not isinstance(values, Mapping):
        values = texts_of(name, values)
    hierarchy = _with_place_for_missing(name, source, values)
    if values is not None:
        check_covers(hierarchy, values)
    return hierarchy


def _with_place_for_missing(name: str, source: object, values: Values | None) -> Hierarchy:
    """The hierarchy; where it says nothing of missing values and there are some, they have groups of their own."""
    others: Values | None = None
    if isinstance(values, Mapping):
        others = {value: rows for value, rows in values.items() if value != MISSING}
    elif values is not None:
        others = [value for value in values if value != MISSING]
    if not others or values is None or MISSING not in values:
        return _load(name, source, values)
    return place_missing(_load(name, source, others), [MISSING])


def place_missing(hierarchy: Hierarchy, values: Sequence[str]) -> Hierarchy:
    """The hierarchy, with groups for missing values where there are some and it says nothing of them."""
    if MISSING not in values or MISSING in hierarchy.index:
        return hierarchy
    return with_missing(hierarchy)


def _load(name: str, source: object, values: Values | None) -> Hierarchy:
    if isinstance(source, Hierarchy):
        return source.renamed(name)
    if isinstance(source, bytes):
        source = decode(name, source, "the given bytes") + "\n" * (b"\n" not in source)
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{")):
        return _parse(name, source, "the given text", values)
    if isinstance(source, str | Path):
        return _parse(name, read_text(name, source), str(source), values)
    if isinstance(source, Mapping):
        if all(isinstance(level, int | np.integer) for level in source):
            return from_columns(name, {int(level): column for level, column in source.items()})
        return from_mapping(name, source, values)
    if isinstance(source, Sequence) or (isinstance(source, np.ndarray) and source.ndim == 2):
        return from_rows(name, source)
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        return from_frame(name, source)
    raise BadHierarchy(
        f"The hierarchy of {name!r} is given as {type(source).__name__}, which cannot be read. "
        "Give a path, an inline rule, rows of labels or a dataframe."
    )


def _parse(name: str, text: str, where: str, values: Values | None) -> Hierarchy:
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return from_json(name, parse_json(name, text, where), values)
    return parse_lines(name, text)


def check_covers(hierarchy: Hierarchy, values: Values) -> None:
    """Raise unless every value has a leaf; the sentence names the values, and their rows where they are known."""
    rows = {text_of(value): count for value, count in values.items()} if isinstance(values, Mapping) else {}
    texts = texts_of(hierarchy.name, values)
    if hierarchy.index.keys() >= set(texts):
        return
    lost = [texts[position] for position in np.flatnonzero(hierarchy.locate(texts) < 0).tolist()]
    if lost:
        lost.sort(key=lambda text: -rows.get(text, 0))
        named = [f"{text!r} ({several(rows[text], 'row')})" if text in rows else repr(text) for text in lost]
        raise BadHierarchy(tell_lost(hierarchy.name, lost, named))


def place_by_rule(hierarchy: Hierarchy, cut: np.ndarray, level: int | None, values: Sequence[str]) -> dict[str, int]:
    """A leaf for each new value that the rule of the hierarchy puts into a group of the cut; others are left out.

    ``level`` is that of the cut, None for a cut that is no level. The rule is followed for old and new values
    together, and only believed where it still says the same of the old ones.
    """
    if hierarchy.rule is None:
        return {}
    wide = widen_by_rule(hierarchy, values)
    if wide is None:
        return {}
    leaves = {}
    for value in values:
        known = wide.index.get(value)
        leaf = None if known is None else _leaf_of(hierarchy, cut, level, wide, known)
        if leaf is not None:
            leaves[value] = leaf
    return leaves


def widen_by_rule(hierarchy: Hierarchy, values: Sequence[str]) -> Hierarchy | None:
    """The hierarchy that the rule makes of old and new values, None where it calls old values otherwise."""
    if hierarchy.rule is None:
        return None
    rule = hierarchy.rule
    fit = []
    for value in values:
        with suppress(BadHierarchy):  # no date, no number: the rule has no place for it
            from_mapping(hierarchy.name, rule, [value])
            fit.append(value)
    try:
        known = [leaf for leaf in hierarchy.leaves if leaf != MISSING]
        wide = from_mapping(hierarchy.name, rule, [*known, *fit])
    except BadHierarchy:
        return None
    if MISSING in hierarchy.index:
        wide = with_missing(wide)
    places = [wide.index[leaf] for leaf in hierarchy.leaves]
    if wide.height < hierarchy.height:
        return None
    for level in range(1, hierarchy.height):
        now = [wide.labels[level][group] for group in wide.groups[level][places].tolist()]
        if now != [hierarchy.labels[level][group] for group in hierarchy.groups[level].tolist()]:
            return None
    return wide


def _leaf_of(hierarchy: Hierarchy, cut: np.ndarray, level: int | None, wide: Hierarchy, index: int) -> int | None:
    for at in range(1, hierarchy.height + 1) if level is None else [level]:
        group = 0
        if at < hierarchy.height:
            label = wide.labels[at][wide.groups[at][index]]
            if at == 0 or label not in hierarchy.labels[at]:
                continue
            group = hierarchy.labels[at].index(label)
        members = np.flatnonzero(hierarchy.groups[at] == group)
        # The lowest level that has a group names it, so one that is there below has a narrower name.
        narrow = level is None and len(set(hierarchy.groups[at - 1][members].tolist())) == 1
        if np.array_equal(members, np.flatnonzero(cut == cut[members[0]])) and not narrow:
            return int(members[0])
    if level is not None or not hierarchy.ordered:
        return None
    old = [hierarchy.index.get(leaf) for leaf in wide.leaves]
    before = next((leaf for leaf in reversed(old[:index]) if leaf is not None), None)
    after = next((leaf for leaf in old[index + 1 :] if leaf is not None), None)
    return before if before is not None and after is not None and cut[before] == cut[after] else None


def from_rows(name: str, rows: Iterable[object]) -> Hierarchy:
    """The hierarchy in lists of labels, one per value, the value first."""
    lines = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray):
            raise BadHierarchy(
                f"Line {number} of the hierarchy of {name!r} is {row!r:.40}, not a list of labels. "
                "Give [value, level 1, …, '*'] per value; for values in order write {order = […]}."
            )
        lines.append([_label(name, number, entry) for entry in row])
    return in_numeric_order(from_levels(name, lines))


def _label(name: str, number: int, entry: object) -> str:
    if entry is None or entry != entry:  # only what is not a number differs from itself
        raise BadHierarchy(f"Line {number} of the hierarchy of {name!r} has a missing label. Fill it in.")
    return text_of(entry)


def from_columns(name: str, levels: Mapping[int, object]) -> Hierarchy:
    """The hierarchy in a dict ``{level: labels}``, as anjana takes it; equal lines count once, ``*`` goes on top."""
    if sorted(levels) != list(range(len(levels))):
        raise BadHierarchy(f"The hierarchy of {name!r} has the levels {sorted(levels)}. Number them 0, 1, 2, …")
    columns = [list(cast(Iterable[object], levels[level])) for level in range(len(levels))]
    for level, column in enumerate(columns):
        if len(column) != len(columns[0]):
            raise BadHierarchy(
                f"Level {level} of the hierarchy of {name!r} has {len(column)} labels where level 0 has "
                f"{len(columns[0])}. Give every value a label on every level."
            )
    if columns and len(set(map(text_of, columns[-1]))) > 1:
        columns.append([STAR] * len(columns[0]))
    rows = [
        tuple(_label(name, number, entry) for entry in row) for number, row in enumerate(zip(*columns, strict=True), 1)
    ]
    return from_rows(name, list(dict.fromkeys(rows)))


def from_frame(name: str, frame: object) -> Hierarchy:
    """The hierarchy in a dataframe (pandas, polars, pyarrow, …): one row per value, one column per level."""
    import narwhals as nw

    try:
        narrow = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]
    except TypeError:
        raise BadHierarchy(
            f"The hierarchy of {name!r} is given as {type(frame).__name__}, which is not a dataframe that can be read."
        ) from None
    return from_rows(name, narrow.rows())


def from_mapping(name: str, inline: Inline, values: Values | None = None) -> Hierarchy:
    """The hierarchy of an inline rule, such as ``{intervals = [5, 10], from = 0}`` in a job file, or of a JSON object.

    ``loss = "distance"`` beside any rule counts the loss of numbers and dates by distance (readings.md#losses).
    """
    rule = dict(inline)
    loss = rule.pop("loss", "leaves")
    if loss not in ("leaves", "distance"):
        raise BadHierarchy(f"The loss of {name!r} is to count {loss!r}. Write 'leaves' or 'distance'.")
    hierarchy = _from_rule(name, rule, values)
    return replace(hierarchy, loss="distance") if loss == "distance" else hierarchy


def _from_rule(name: str, rule: dict[str, object], values: Values | None) -> Hierarchy:
    if {"kind", "tree", "children"} & set(rule):
        return from_json(name, rule, values)
    word = next((word for word in rule if word in _RULES), None)
    if word is None:
        keys = ", ".join(map(str, rule)) or "nothing"
        raise BadHierarchy(
            f"The hierarchy of {name!r} is given by {keys}. {did_you_mean(keys, _RULES)}"
            f"The rules are: {', '.join(_RULES)}."
        )
    build, options = _RULES[word]
    if word not in LEAF_LISTS:
        check_levels_wanted(name, word, len(_list(rule[word])))
    for option in rule:
        if option != word and option not in options:
            raise BadHierarchy(
                f"The rule {word} of {name!r} does not take {option!r}. {did_you_mean(str(option), options)}"
                f"It takes: {', '.join((*options, 'loss'))}."
            )
    return build(name, rule, values)


LEAF_LISTS = ("edges", "order")  # rules whose list names leaves; that of every other rule names levels


def _rule_number(name: str, rule: Inline, word: str) -> float:
    return float(floats(name, word, [rule.get(word, 0.0)])[0])


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _integers(name: str, word: str, value: object) -> list[int]:
    whole = [int(item) for item in _list(value) if isinstance(item, int | np.integer) and not isinstance(item, bool)]
    if len(whole) != len(_list(value)):
        raise BadHierarchy(f"The rule {word} of {name!r} takes whole numbers, not {value!r:.60}.")
    return whole


def _intervals(name: str, rule: Inline, values: Values | None) -> Hierarchy:
    origin = _rule_number(name, rule, "from")
    top = _rule_number(name, rule, "top_code") if "top_code" in rule else None
    if "to" in rule:
        end = _rule_number(name, rule, "to")
        if not (origin.is_integer() and end.is_integer() and origin <= end):
            raise BadHierarchy(f"The intervals of {name!r} go from {text_of(origin)} to {text_of(end)}. Give integers.")
        values = whole_range(name, int(origin), int(end))
    return intervals(name, values, floats(name, "intervals", _list(rule["intervals"])).tolist(), origin, top)


def _quantiles(name: str, rule: Inline, values: Values | None) -> Hierarchy:
    parts = _integers(name, "quantiles", rule["quantiles"])
    return quantiles(name, values, parts if isinstance(rule["quantiles"], list | tuple) else parts[0])


def _quantile_cells(name: str, rule: Inline, values: Values | None) -> Hierarchy:
    parts = _integers(name, "quantile_cells", rule["quantile_cells"])
    if len(parts) != 1:
        raise BadHierarchy(f"The rule quantile_cells of {name!r} takes one number of cells, and has {len(parts)}.")
    return quantile_cells(name, values, parts[0])


def _edges(name: str, rule: Inline, _: Values | None) -> Hierarchy:
    labels = None if "labels" not in rule else [text_of(label) for label in _list(rule["labels"])]
    return cells(name, floats(name, "edges", rule["edges"]), labels, str(rule.get("closed", "left")))


def _prefix(name: str, rule: Inline, values: Values | None) -> Hierarchy:
    side = cast(Side, rule.get("stars", "right"))
    return prefixes(name, values, _integers(name, "prefix", rule["prefix"]), side)


def _mask(name: str, rule: Inline, values: Values | None) -> Hierarchy:
    stars = rule["mask"]
    side = cast(Side, rule.get("stars", "right"))
    return masks(name, values, None if stars is True else _integers(name, "mask", stars), side)


def _dates(name: str, rule: Inline, values: Values | None) -> Hierarchy:
    units = rule["dates"]
    return dates(name, values, None if units is True else [text_of(unit) for unit in _list(units)])


def _order(name: str, rule: Inline, _: Values | None) -> Hierarchy:
    leaves = [text_of(value) for value in _list(rule["order"])]
    ranks = floats(name, "ranks", rule["ranks"]) if "ranks" in rule else numbers_of(leaves)
    if "ranks" not in rule and ranks is not None and not (np.diff(ranks) > 0).all():
        ranks = None  # the values look like numbers, but stand in an order of their own
    return order(name, leaves, ranks)


def _flat(name: str, _: Inline, values: Values | None) -> Hierarchy:
    texts = texts_of(name, values)
    return in_numeric_order(flat(name, texts if numbers_of(texts) is not None else sorted(texts)))


# word -> the function that reads the rule, and the options it takes
_RULES: dict[str, tuple[Callable[[str, Inline, Values | None], Hierarchy], tuple[str, ...]]] = {
    "intervals": (_intervals, ("from", "to", "top_code")),
    "bounds": (lambda name, rule, values: bounds(name, values, cast(list[Bounds], _list(rule["bounds"]))), ()),
    "quantiles": (_quantiles, ()),
    "quantile_cells": (_quantile_cells, ()),
    "edges": (_edges, ("closed", "labels")),
    "prefix": (_prefix, ("stars",)),
    "mask": (_mask, ("stars",)),
    "dates": (_dates, ()),
    "round": (
        lambda name, rule, values: round_numbers(name, values, floats(name, "round", _list(rule["round"])).tolist()),
        (),
    ),
    "alphabet": (lambda name, rule, values: alphabet(name, values, _integers(name, "alphabet", rule["alphabet"])), ()),
    "order": (_order, ("ranks",)),
    "flat": (_flat, ()),
    "known": (lambda name, rule, values: known_hierarchy(name, text_of(rule["known"]), values), ()),
    "file": (lambda name, rule, values: _load(name, Path(str(rule["file"])), values), ()),
}
