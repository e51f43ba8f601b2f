"""Hierarchies a person brings or builds: from a rule, a file, another column; every change can be undone and redone."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kpareto.errors import BadHierarchy, BadInput
from kpareto.faces.web.drafts import Draft
from kpareto.faces.web.guard import inside
from kpareto.tables.hierarchies import load, to_text
from kpareto.tables.hierarchy import Hierarchy

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

    def clear(self) -> None:
        """Another table: nothing of the old one is left."""
        self.steps.clear()

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
    own = {**draft["columns"].get(column, {"role": "quasi-identifier"}), "hierarchy": source}
    if source is None:
        del own["hierarchy"]
    return {**draft, "columns": {**draft["columns"], column: own}}


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
    """The files of the folder that may hold a hierarchy, two folders deep, hidden ones left out."""
    names = []
    for place in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = place.relative_to(folder)
        seen = not any(part.startswith(".") for part in name.parts)
        fits = place.suffix.lower() in ENDS and place.is_file() and place.resolve().is_relative_to(folder)
        if seen and fits and place.stat().st_size <= LARGEST:
            names.append(name.as_posix())
    return names[:300]
