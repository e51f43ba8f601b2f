"""Hierarchies on the page: their groups, the edits a person makes, where they are brought from, undo and redo."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kpareto.errors import BadHierarchy, BadInput, did_you_mean
from kpareto.faces.web.drafts import Draft
from kpareto.faces.web.files import files_in, inside
from kpareto.tables.hierarchies import from_rows, load, to_rows, to_text
from kpareto.tables.hierarchies.lint import lint
from kpareto.tables.hierarchy import Hierarchy, runs_of

DRAWN = 3000  # groups of a level that are sent to the page
Rows = list[list[str]]  # one line per leaf: its label on every level


def hierarchy_view(hierarchy: Hierarchy, rows: Mapping[str, int]) -> dict[str, Any]:
    """The groups of every level as runs of leaves with their rows, and the remarks of lint."""
    leaf = hierarchy.locate(list(rows))
    known = leaf >= 0
    counts = np.bincount(leaf[known], weights=np.array(list(rows.values()))[known], minlength=len(hierarchy.leaves))
    levels = []
    for level, cut in enumerate(hierarchy.groups):
        sums = np.bincount(cut, weights=counts).astype(int).tolist()
        runs = runs_of(cut)
        labels = hierarchy.labels[level]
        shown = [[f, e, labels[g], sums[g]] for g, (f, e) in enumerate(runs)] if len(runs) <= DRAWN else []
        levels.append({"level": level, "count": len(runs), "groups": shown})
    return {
        "name": hierarchy.name,
        "leaves": len(hierarchy.leaves),
        "height": hierarchy.height,
        "levels": levels,
        "editable": hierarchy.edges is None,
        "ordered": hierarchy.ordered or hierarchy.spans is not None,
        "lint": [vars(remark) for remark in lint(hierarchy, rows)],
    }


def edit(hierarchy: Hierarchy, action: str, details: Mapping[str, Any]) -> Hierarchy:
    """The hierarchy after one edit: rename, merge, split, move, add-level, remove-level."""
    if hierarchy.edges is not None:
        raise BadHierarchy(f"{hierarchy.name!r} is cut into cells by number. Change its edges in the job file instead.")
    if action not in ACTIONS:
        raise BadHierarchy(f"No edit {action!r}. {did_you_mean(action, ACTIONS)}There are: {', '.join(ACTIONS)}.")
    level = _whole(details, "level")
    if not 0 <= level <= hierarchy.height:
        raise BadHierarchy(f"{hierarchy.name!r} has no level {level}. Its levels are 0 to {hierarchy.height}.")
    rows = _lines(hierarchy)
    return from_rows(hierarchy.name, ACTIONS[action](hierarchy, rows, level, details))


def _lines(hierarchy: Hierarchy) -> Rows:
    """One line per leaf in the order of the leaves; where two groups share a label they are told apart."""
    lines = [list(row) for row in to_rows(hierarchy)]
    order = hierarchy.layout.order
    return [lines[line] for line in np.argsort(order).tolist()] if order is not None else lines


def _whole(details: Mapping[str, Any], key: str) -> int:
    value = details.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadHierarchy(f"The edit needs a whole number for {key!r}, not {value!r}.")
    return value


def _groups(hierarchy: Hierarchy, level: int, details: Mapping[str, Any]) -> list[int]:
    chosen = details.get("groups")
    count = int(hierarchy.groups[level, -1]) + 1
    if not isinstance(chosen, list) or not chosen or not all(isinstance(g, int) and 0 <= g < count for g in chosen):
        raise BadHierarchy(f"Choose groups of level {level} of {hierarchy.name!r}: numbers from 0 to {count - 1}.")
    return sorted(set(chosen))


def _label(hierarchy: Hierarchy, level: int, details: Mapping[str, Any], taken: Sequence[str]) -> str:
    label = details.get("label")
    if not isinstance(label, str) or not label.strip() or any(not letter.isprintable() for letter in label):
        raise BadHierarchy("A group needs a name of at least one visible letter.")
    if label in taken:
        raise BadHierarchy(f"Level {level} of {hierarchy.name!r} has a group {label!r} already. Choose another name.")
    return label


def _others(hierarchy: Hierarchy, level: int, groups: Sequence[int]) -> list[str]:
    return [label for group, label in enumerate(hierarchy.labels[level]) if group not in groups]


def _rename(hierarchy: Hierarchy, rows: Rows, level: int, details: Mapping[str, Any]) -> Rows:
    groups = _groups(hierarchy, level, details)
    if level == 0:
        raise BadHierarchy("Level 0 holds the values of the table as they are. Rename groups from level 1 on.")
    label = _label(hierarchy, level, details, _others(hierarchy, level, groups[:1]))
    return [_with(row, level, label) if int(hierarchy.groups[level, leaf]) == groups[0] else row
            for leaf, row in enumerate(rows)]  # fmt: skip


def _with(row: list[str], level: int, label: str) -> list[str]:
    return [*row[:level], label, *row[level + 1 :]]


def _merge(hierarchy: Hierarchy, rows: Rows, level: int, details: Mapping[str, Any]) -> Rows:
    """Groups of one level that have one parent become one group; on level 0 a level is put in above first."""
    groups = _groups(hierarchy, level, details)
    if len(groups) < 2:
        raise BadHierarchy("Choose at least two groups to merge.")
    level, groups = _lift(hierarchy, level, groups)
    if level == hierarchy.height:
        raise BadHierarchy("The last level has one group already.")
    cut, above = hierarchy.groups[level], hierarchy.groups[level + 1]
    member = np.isin(cut, groups)
    if (hierarchy.ordered or hierarchy.spans is not None) and groups[-1] - groups[0] >= len(groups):
        between = next(group for group in range(groups[0], groups[-1]) if group not in groups)
        raise BadHierarchy(
            f"{hierarchy.name!r} has an order, and {hierarchy.labels[level][between]!r} lies between the chosen "
            "groups. Choose it too: with Shift a click takes everything up to there."
        )
    if len(np.unique(above[member])) > 1:
        raise BadHierarchy(
            f"The groups lie in different groups of level {level + 1}. Merge those first, or choose groups of one."
        )
    if level == 0:
        rows = [[row[0], *row] for row in rows]
        level = 1
        taken = [label for g, label in enumerate(hierarchy.labels[0]) if g not in groups]
    else:
        taken = _others(hierarchy, level, groups)
    label = _label(hierarchy, level, details, taken)
    return [_with(row, level, label) if member[leaf] else row for leaf, row in enumerate(rows)]


def _lift(hierarchy: Hierarchy, level: int, groups: list[int]) -> tuple[int, list[int]]:
    """The level on which chosen groups can be merged: above, as long as each of them is all that its parent holds."""
    while level < hierarchy.height:
        cut, above = hierarchy.groups[level], hierarchy.groups[level + 1]
        parents = np.unique(above[np.isin(cut, groups)])
        alone = np.isin(above, parents).sum() == np.isin(cut, groups).sum()
        if len(parents) < len(groups) or not alone:
            break
        level, groups = level + 1, [int(parent) for parent in parents]
    return level, groups


def _split(hierarchy: Hierarchy, rows: Rows, level: int, details: Mapping[str, Any]) -> Rows:
    """A group falls apart into the groups of the level below that it holds."""
    group = _groups(hierarchy, level, details)[0]
    if level == 0:
        raise BadHierarchy("A single value cannot be split.")
    if level == hierarchy.height:
        raise BadHierarchy("The last level has one group, so that everything can be hidden. Split a group below it.")
    inside = hierarchy.groups[level] == group
    if len(np.unique(hierarchy.groups[level - 1][inside])) == 1:
        raise BadHierarchy("The group holds one group of the level below only. Split that one.")
    taken = set(_others(hierarchy, level, [group]))
    below = {row[level - 1] for leaf, row in enumerate(rows) if inside[leaf]}
    if below & taken:
        raise BadHierarchy(f"Level {level} has a group {min(below & taken)!r} already. Rename it first.")
    return [_with(row, level, row[level - 1]) if inside[leaf] else row for leaf, row in enumerate(rows)]


def _move(hierarchy: Hierarchy, rows: Rows, level: int, details: Mapping[str, Any]) -> Rows:
    """A group changes places with its left (-1) or right (1) neighbour under the same parent."""
    group, step = _groups(hierarchy, level, details)[0], _whole(details, "step")
    if hierarchy.spans is not None:
        raise BadHierarchy(f"{hierarchy.name!r} holds numbers or dates, which keep their own order.")
    other = group + (1 if step > 0 else -1)
    count = int(hierarchy.groups[level, -1]) + 1
    cut = hierarchy.groups[level]
    if level == hierarchy.height or not 0 <= other < count:
        raise BadHierarchy("There is no neighbour on that side.")
    above = hierarchy.groups[level + 1]
    if above[int(np.argmax(cut == group))] != above[int(np.argmax(cut == other))]:
        raise BadHierarchy("The neighbour on that side lies in another group. Move that group instead.")
    first, second = sorted((group, other))
    parts = [[rows[leaf] for leaf in np.flatnonzero(cut == g).tolist()] for g in range(count)]
    parts[first], parts[second] = parts[second], parts[first]
    return [row for part in parts for row in part]


def _add_level(_: Hierarchy, rows: Rows, level: int, __: Mapping[str, Any]) -> Rows:
    """One more level above this one, with the same groups, to merge some of them."""
    return [[*row[: level + 1], *row[level:]] for row in rows]


def _remove_level(hierarchy: Hierarchy, rows: Rows, level: int, _: Mapping[str, Any]) -> Rows:
    if level in (0, hierarchy.height):
        raise BadHierarchy("The first and the last level stay: values as they are, and everything hidden.")
    return [[*row[:level], *row[level + 1 :]] for row in rows]


ACTIONS = {
    "rename": _rename,
    "merge": _merge,
    "split": _split,
    "move": _move,
    "add-level": _add_level,
    "remove-level": _remove_level,
}


UTF16_LE, UTF16_BE = b"\xff\xfe", b"\xfe\xff"
LARGEST = 4 << 20  # bytes of a file with a hierarchy
ENDS = (".csv", ".tsv", ".txt", ".json")
MOST_KEPT = 200  # steps that can be undone, per column


@dataclass
class Steps:
    """What the job said about the hierarchy of one column, step by step."""

    sources: list[Any]  # as the job names them; None: nothing is said
    place: int = 0

    def add(self, source: Any) -> None:
        """A new step; what was undone is forgotten."""
        self.sources = [*self.sources[: self.place + 1], source][-MOST_KEPT:]
        self.place = len(self.sources) - 1


@dataclass
class Shelf:
    """The hierarchies of one session: what each column had before."""

    steps: dict[str, Steps] = field(default_factory=dict)

    def put(self, draft: Draft, column: str, source: Any) -> Draft:
        """The draft that names this hierarchy from now on."""
        now = draft["columns"].get(column, {}).get("hierarchy")
        steps = self.steps.setdefault(column, Steps([now]))
        if steps.sources[steps.place] != now:  # it was changed elsewhere, by loading a job or giving a role
            steps.add(now)
        steps.add(source)
        return _naming(draft, column, source)

    def move(self, draft: Draft, column: str, action: str) -> Draft:
        """The draft after undo, redo, or a way back to what there was at first (which can be undone too)."""
        steps = self.steps.get(column)
        if action == "reset":
            return draft if steps is None else self.put(draft, column, steps.sources[0])
        to = -1 if steps is None else steps.place + {"undo": -1, "redo": 1}[action]
        if steps is None or not 0 <= to < len(steps.sources):
            raise BadInput(f"There is nothing to {action} for {column!r}.")
        steps.place = to
        return _naming(draft, column, steps.sources[to])

    def can(self, column: str) -> dict[str, bool]:
        """What can be done about a column."""
        steps = self.steps.get(column, Steps([None]))
        first = steps.sources[steps.place] == steps.sources[0]
        return {"undo": steps.place > 0, "redo": steps.place < len(steps.sources) - 1, "reset": not first}


def _naming(draft: Draft, column: str, source: Any) -> Draft:
    entry = {**draft["columns"].get(column, {"role": "quasi-identifier"}), "hierarchy": source}
    if source is None:
        del entry["hierarchy"]
    return {**draft, "columns": {**draft["columns"], column: entry}}


@dataclass(frozen=True)
class Brought:
    """A hierarchy that is to be tried or taken, and how the job will name it; None: as an edited one, by its text."""

    hierarchy: Hierarchy
    source: Any


def bring(column: str, form: Mapping[str, Any], rows: Mapping[str, int], folder: Path) -> Brought:
    """The hierarchy that the page describes: ``rule``, ``file`` of the folder, or ``content`` of a dropped file."""
    if isinstance(form.get("rule"), Mapping):
        rule = dict(form["rule"])
        if "file" in rule:
            raise BadHierarchy("A file is chosen from the list of files, not named in a rule.")
        return Brought(load(column, rule, rows), rule)
    if isinstance(form.get("file"), str):
        place = inside(folder, form["file"])
        if not place.is_file() or place.stat().st_size > LARGEST:
            raise BadInput(f"{form['file']!r} is no file of the folder with at most {LARGEST >> 20} MB.")
        return Brought(load(column, place, rows), form["file"])
    if isinstance(form.get("content"), str):
        try:
            content = base64.b64decode(form["content"], validate=True)
        except (binascii.Error, ValueError):
            raise BadInput("The file did not arrive whole. Drop it again.") from None
        if not content.strip():
            raise BadInput("The file is empty.")
        return Brought(load(column, _in_utf8(content), rows), None)
    raise BadInput("Say what the hierarchy is made of: a rule, a file of the folder, or a dropped file.")


def _in_utf8(content: bytes) -> bytes:
    """A dropped file in UTF-8; what is not is taken for the letters of older spreadsheets.

    A wrong guess is noticed: the values of the column would have no place.
    """
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        if content[:2] not in (UTF16_LE, UTF16_BE):
            return content.decode("cp1252", "replace").encode()
    return content


def copy_from(column: str, other: Hierarchy, rows: Mapping[str, int]) -> Brought:
    """The hierarchy of another column, which must have a place for every value of this one."""
    return Brought(load(column, to_text(other), rows), None)


def folder_files(folder: Path) -> list[str]:
    """The files of the folder that may hold a hierarchy."""
    fits = (
        name for name, place in files_in(folder) if place.suffix.lower() in ENDS and place.stat().st_size <= LARGEST
    )
    return list(islice(fits, 300))
