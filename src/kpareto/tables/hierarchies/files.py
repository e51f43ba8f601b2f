"""Hierarchy files: JSON, or one line per value with a label per level (ARX's layout), read and written byte for byte.

JSON has trees of any depth, ordered values and cells, and interval rules.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kpareto import strict
from kpareto.errors import BadHierarchy, did_you_mean, shorten
from kpareto.strict import FileKind, is_missing, read_bytes
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
from kpareto.tables.hierarchy import STAR, Hierarchy, Layout, flat, from_levels, make_tree, tree_levels

SEPARATORS = (";", "\t", ",")
MARK = "\ufeff"  # the byte order mark some programs put at the start of a file


def read_lines(name: str, path: str | Path) -> Hierarchy:
    """The hierarchy in a file of lines such as ``39;35-39;30-49;*``."""
    return parse_lines(name, read_text(name, path))


def read_text(name: str, path: str | Path) -> str:
    """The text of a file that must be UTF-8, line ends as they are."""
    path = Path(path)
    if is_missing(path):
        raise BadHierarchy(f"There is no file {str(path)!r} for the hierarchy of {name!r}. Check its path.")
    return decode(name, read_bytes(path, file_kind(name)), str(path))


def file_kind(name: str) -> FileKind:
    """A file of hierarchies, for sentences about a bad one."""
    return FileKind(f"The hierarchy of {name!r} in", "Correct the file.", BadHierarchy)


def decode(name: str, data: bytes, where: str) -> str:
    """The text of UTF-8 bytes; for other bytes an error that names the byte and its line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        guess = "utf-16" if wide else "cp1252"
        raise BadHierarchy(
            f"The hierarchy of {name!r} in {where!r} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}. "
            f"Save the file as UTF-8; if it comes from a spreadsheet, it is probably {guess} "
            f"(iconv -f {guess} -t utf-8)."
        ) from None


def parse_lines(name: str, text: str) -> Hierarchy:
    """The hierarchy in a text of one line per value; its layout remembers how the text was written."""
    layout = find_layout(text)
    rows = split_lines(name, text, layout.separator)
    hierarchy = in_numeric_order(from_levels(name, rows))
    layout = replace(layout, order=hierarchy.layout.order)
    hierarchy = replace(hierarchy, layout=layout)
    if to_text(hierarchy) != text:  # mixed quotes or line ends: only the text itself gives the same bytes back
        hierarchy = replace(hierarchy, layout=replace(layout, text=text))
    return hierarchy


def split_lines(name: str, text: str, separator: str) -> list[list[str]]:
    """The entries of each line; blank lines at the end are left out."""
    body = text.removeprefix(MARK)
    if '"' in body:
        rows = _quoted_rows(name, body, separator)
    else:
        rows = [line.split(separator) for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    while rows and (not rows[-1] or rows[-1] == [""]):
        rows.pop()
    if [""] in rows or [] in rows:
        number = next(number for number, row in enumerate(rows, 1) if row in ([], [""]))
        raise BadHierarchy(f"Line {number} of the hierarchy of {name!r} is empty. Remove it or fill it in.")
    return rows


def _quoted_rows(name: str, body: str, separator: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    try:
        return list(reader)
    except csv.Error as error:
        raise BadHierarchy(
            f"Line {reader.line_num} of the hierarchy of {name!r} cannot be read: {error}. "
            'Close every quote, and write a quote inside an entry twice ("").'
        ) from None


def find_layout(text: str) -> Layout:
    """How a text of lines was written: separator, line end, quotes, byte order mark."""
    body = text.removeprefix(MARK)
    newline = "\r\n" if "\r\n" in body else "\r" if "\r" in body and "\n" not in body else "\n"
    return Layout(
        separator=_separator(body),
        newline=newline,
        ends=body.endswith(newline),
        bom=text.startswith(MARK),
        quoted="all" if body.startswith('"') else "minimal",
    )


def _separator(body: str) -> str:
    """The separator of the lines: one that occurs equally often in each and leaves the same last entry, best '*'."""
    most = 100_000
    sample = "".join(body[:most].split('"')[::2])  # what stands inside quotes separates nothing
    lines = [line for line in re.split("[\r\n]+", sample) if line]
    if len(body) > most and len(lines) > 1:
        lines.pop()  # cut short
    present = [mark for mark in SEPARATORS if any(mark in line for line in lines)]
    even = [mark for mark in present if len({line.count(mark) for line in lines}) == 1]
    lasts = {mark: {line.rpartition(mark)[2] for line in lines} for mark in even}
    topped = [mark for mark in even if len(lasts[mark]) == 1]
    starred = [mark for mark in even if lasts[mark] <= {STAR, ""}]
    return (starred or topped or even or present or SEPARATORS[:1])[0]


def to_rows(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    """One line per leaf with its label on every level, in the order of the file it came from."""
    return list(zip(*_columns(hierarchy, hierarchy.labels), strict=True))


def _columns(hierarchy: Hierarchy, labels: Sequence[Sequence[str]]) -> list[list[str]]:
    """Per level the label of each line."""
    order = hierarchy.layout.order
    lines = slice(None) if order is None else np.array(order, dtype=np.int64)
    return [
        [names[group] for group in groups[lines].tolist()]
        for names, groups in zip(labels, hierarchy.groups, strict=True)
    ]


def to_text(hierarchy: Hierarchy) -> str:
    """The lines of a hierarchy as text, written as its layout says."""
    layout = hierarchy.layout
    if layout.text is not None:
        lines = split_lines(hierarchy.name, layout.text, layout.separator)
        if list(map(tuple, lines)) == to_rows(hierarchy):
            return layout.text
    for level, labels in enumerate(hierarchy.labels):
        if len(set(labels)) != len(labels):
            raise BadHierarchy(
                f"Two groups on level {level} of the hierarchy of {hierarchy.name!r} are both called "
                f"{Counter(labels).most_common(1)[0][0]!r}, so lines of labels cannot tell them apart. Rename one."
            )
    columns = _columns(hierarchy, [[_entry(label, layout) for label in labels] for labels in hierarchy.labels])
    body = layout.newline.join(map(layout.separator.join, zip(*columns, strict=True)))
    return (MARK if layout.bom else "") + body + (layout.newline if layout.ends else "")


def _entry(label: str, layout: Layout) -> str:
    special = layout.separator in label or '"' in label or "\n" in label or "\r" in label
    return '"' + label.replace('"', '""') + '"' if special or layout.quoted == "all" else label


def write_lines(hierarchy: Hierarchy, path: str | Path) -> None:
    """Write a hierarchy as a file of lines; one read from such a file is written back byte for byte.

    The file is written beside its target and moved into place when it is whole.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(to_text(hierarchy).encode("utf-8"))
        beside.replace(path)
    except OSError as error:
        raise BadHierarchy(f"The hierarchy cannot be written to {str(path)!r}: {error.strerror}.") from error
    finally:
        beside.unlink(missing_ok=True)


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
