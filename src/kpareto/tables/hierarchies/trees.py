"""Hierarchies from JSON: trees of any depth, ordered values and cells, interval rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kpareto import strict
from kpareto.errors import BadHierarchy, did_you_mean, shorten
from kpareto.tables.hierarchies.files import file_kind, read_text
from kpareto.tables.hierarchies.numbers import (
    bounds_level,
    cells,
    floats,
    in_numeric_order,
    numeric,
    order,
    width_level,
)
from kpareto.tables.hierarchies.values import (
    Values,
    check_levels_wanted,
    numbers_of,
    sorted_numbers,
    stack_levels,
    text_of,
    whole_range,
)
from kpareto.tables.hierarchy import Hierarchy, flat, make_tree, tree_levels

KINDS = ("tree", "ordered", "interval-rules")


def read_json(name: str, path: str | Path, values: Values | None = None) -> Hierarchy:
    """The hierarchy in a JSON file of one of the kinds tree, ordered and interval-rules."""
    return from_json(name, parse_json(name, read_text(name, path), str(path)), values)


def parse_json(name: str, text: str, where: str) -> dict[str, object]:
    """The JSON object in a text."""
    data = strict.parse_json(text, file_kind(name), strict.anything, where, strict.DEEPEST_TREE)
    if not isinstance(data, dict):
        raise BadHierarchy(f'The hierarchy of {name!r} in {where!r} is not a JSON object. Write {{"kind": "tree", …}}.')
    return data


def from_json(name: str, data: Mapping[str, object], values: Values | None = None) -> Hierarchy:
    """The hierarchy in a JSON object of one of the kinds tree, ordered and interval-rules."""
    kind = data.get("kind", "tree" if "tree" in data or "children" in data else None)
    if kind == "tree":
        return tree(name, data.get("tree", data), data.get("leaf_order"))
    if kind == "ordered":
        return _order(name, data)
    if kind == "interval-rules":
        return _rules(name, data, values)
    raise BadHierarchy(
        f"The hierarchy of {name!r} is of the kind {kind!r}. {did_you_mean(str(kind), KINDS)}"
        f"The kinds are: {', '.join(KINDS)}."
    )


def tree(name: str, root: object, leaf_order: object = None) -> Hierarchy:
    """The hierarchy of a tree of ``{"label": …, "children": […]}``; levels count from the leaves up.

    A node with one child adds nothing and is left out. A branch that is shorter than another stands still meanwhile:
    on level h each leaf shows its highest ancestor that is at most h steps above its deepest leaf.
    """
    leaves: list[str] = []
    nodes: dict[tuple[int, int], str] = {}
    todo: list[tuple[object, int]] = [(root, -1)]  # a node, and its first leaf once its children are done
    while todo:
        node, first = todo.pop()
        if not isinstance(node, Mapping):
            raise BadHierarchy(f'The tree of {name!r} has {node!r} where {{"label": …, "children": […]}} belongs.')
        label, children = node.get("label"), node.get("children", ())
        if not isinstance(label, str | int | float) or not isinstance(children, list | tuple):
            raise BadHierarchy(f"A node in the tree of {name!r} has no label or no list of children: {node!r:.80}.")
        label = label if isinstance(label, str) else text_of(label)
        if first >= 0:
            nodes.setdefault((first, len(leaves) - 1), label)
        elif children:
            todo.append((node, len(leaves)))
            todo.extend((child, -1) for child in reversed(children))
        else:
            nodes[len(leaves), len(leaves)] = label
            leaves.append(label)
    _check_leaves(name, leaves, leaf_order)
    if len(leaves) == 1:
        return in_numeric_order(flat(name, leaves))
    whole_tree = make_tree([(first, last, label) for (first, last), label in nodes.items()])
    groups, labels = tree_levels(whole_tree, len(leaves))
    hierarchy = Hierarchy(name, tuple(leaves), groups, labels, whole_tree)
    return hierarchy if leaf_order is not None else in_numeric_order(hierarchy)


def _check_leaves(name: str, leaves: Sequence[str], leaf_order: object) -> None:
    if len(set(leaves)) != len(leaves):
        seen: set[str] = set()
        twice = next(leaf for leaf in leaves if leaf in seen or seen.add(leaf))  # type: ignore[func-returns-value]
        raise BadHierarchy(f"The tree of {name!r} has the leaf {twice!r} twice. Keep it in one place.")
    if leaf_order is not None and list(map(str, leaf_order if isinstance(leaf_order, list) else [])) != list(leaves):
        raise BadHierarchy(
            f"The leaf_order of {name!r} is not the order of the leaves in its tree, which is: {shorten(leaves)}. "
            "Correct it or leave it out."
        )


def _order(name: str, data: Mapping[str, object]) -> Hierarchy:
    values = data.get("values")
    if not isinstance(values, list):
        raise BadHierarchy(f"The ordered hierarchy of {name!r} has no list of values. Give values = [first, …, last].")
    labels = [value if isinstance(value, str) else text_of(value) for value in values]
    ranks, edges, closed = data.get("ranks"), data.get("edges"), data.get("closed")
    if edges is not None:
        right = len(labels) > 1 and labels[1].startswith("(") and labels[1].endswith("]")
        return cells(name, floats(name, "edges", edges), labels, str(closed or ("right" if right else "left")))
    numbers = None
    if ranks is not None:
        numbers = floats(name, "ranks", ranks)
    elif data.get("numeric", True):
        numbers = numbers_of(labels)
    return order(name, labels, numbers)


def _rules(name: str, data: Mapping[str, object], values: Values | None) -> Hierarchy:
    """Levels by rule: {"width": 5, "origin": 0, "top_code": 90} or {"bounds": [[0, 14], [15, 24], …]}."""
    rules = data.get("levels")
    if not isinstance(rules, list) or not rules or not all(isinstance(rule, Mapping) for rule in rules):
        raise BadHierarchy(f"The interval rules of {name!r} have no list of levels. Give at least one level.")
    check_levels_wanted(name, "levels", len(rules))
    if values is None:
        values = _whole_range(name, rules)
    leaves, numbers = sorted_numbers(name, values, "interval rules")
    levels = []
    for level, rule in enumerate(rules, 1):
        if "bounds" in rule:
            levels.append(bounds_level(name, level, leaves, numbers, rule["bounds"]))
        elif "width" in rule:
            top = rule.get("top_code")
            parts = floats(name, f"rule of level {level}", [rule["width"], rule.get("origin", 0), top or 0]).tolist()
            levels.append(width_level(name, numbers, parts[0], parts[1], None if top is None else parts[2]))
        else:
            raise BadHierarchy(
                f"Level {level} of the rules of {name!r} has neither width nor bounds. Give one of them."
            )
    return numeric(
        stack_levels(name, leaves, levels, "Make each level join whole intervals of the level below."), numbers
    )


def _whole_range(name: str, rules: Sequence[Mapping[str, object]]) -> range:
    """Every integer that the bounds of some level cover."""
    for rule in rules:
        pairs = rule.get("bounds")
        if isinstance(pairs, list) and pairs and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            ends = floats(name, "bounds", [end for pair in pairs for end in pair])
            return whole_range(name, int(ends.min()), int(ends.max()))
    raise BadHierarchy(f"The interval rules of {name!r} say nothing about which values there are. Give values.")
