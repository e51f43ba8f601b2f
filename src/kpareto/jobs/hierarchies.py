"""Hierarchies beside a table: the skeleton of a file to fill in, any form loaded with the values of a column, written.

What the command ``kpareto hierarchy`` does; a table is read as its job says, or as ``inspect`` recognises it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kpareto.atomic import write_whole
from kpareto.engines.recognise import recognise
from kpareto.engines.unique_rows import open_view
from kpareto.errors import BadHierarchy, BadJob, did_you_mean, shorten
from kpareto.jobs.parse import load_job
from kpareto.strict import read_value
from kpareto.tables.hierarchies import load, to_text
from kpareto.tables.hierarchies.known import KNOWN, find_known
from kpareto.tables.hierarchies.values import numbers_of
from kpareto.tables.hierarchy import STAR, Hierarchy, runs_of
from kpareto.tables.spelling import MARKS

MOST_VALUES = 100_000  # values of a column that a person may want in a file


def values_of(data: str, column: str) -> dict[str, int]:
    """The values of a column of a table, or of the table of a job, and how many rows have each; no missing ones."""
    source: Any
    if data == "adult" or data.lower().endswith(".toml"):
        job = load_job(data)
        source, marks = job.rows_source(), list(job.missing_values)
    else:
        source, marks = recognise(Path(data), "utf-8", MARKS).source, list(MARKS)
    with open_view(source) as rows:
        if column not in rows.columns:
            near = did_you_mean(column, rows.columns)
            raise BadJob(f"No column {column!r} in {data!r}. {near}It has: {shorten(rows.columns)}.")
        answer = rows.ask(f"{rows.values(rows.columns.index(column))} LIMIT {MOST_VALUES + 1}").fetchall()
    counts = {str(text): int(n) for text, n in answer if text is not None and text not in marks}
    if len(answer) > MOST_VALUES:
        raise BadJob(
            f"Column {column!r} has more than {MOST_VALUES:,} values. Take a rule, such as prefix or intervals."
        )
    if not counts:
        raise BadJob(f"Column {column!r} of {data!r} has no values.")
    numbers = numbers_of(list(counts))
    if numbers is None:
        return {text: counts[text] for text in sorted(counts)}
    return {text: counts[text] for text in sorted(counts, key=float)}


def write_skeleton(column: str, data: str, output: str | None, known: str | None, levels: int) -> list[str]:
    """Write a file with a line per value, its groups to be filled in, and say what to do with it.

    A group that nobody has filled in is the value itself, so the file can be used from the first moment on.
    """
    values = values_of(data, column)
    target = Path(output or f"{''.join(sign if sign.isalnum() or sign in '-_.' else '_' for sign in column)}.csv")
    if target.exists():
        raise BadJob(f"{str(target)!r} is there already, and may hold your own groups. Give another name with -o.")
    placed: Mapping[str, tuple[str, ...]] = {}
    if known is not None:
        placed = _place_values(known, list(values))
        levels = len(next(iter(placed.values()), ()))
    rows = [[text, *placed.get(text, (text,) * levels), STAR] for text in values]
    text = "".join(";".join(map(_entry, row)) + "\n" for row in rows)
    write_whole(target, text)
    sentences = [f"Wrote {target}: {len(values):,} values, {levels} level{'s' * (levels > 1)} to fill in between."]
    open_values = len(values) - len(placed)
    if known is not None:
        sentences = [f"Wrote {target}: {len(placed):,} of {len(values):,} values have groups of {known}."]
    if open_values:
        sentences.append("Write the same group beside values that belong together; each stands for itself until then.")
    named = "" if target.stem == column else f" --column {shlex.quote(column)}"
    check = f"kpareto hierarchy lint {shlex.quote(str(target))} --data {shlex.quote(data)}{named}"
    return [*sentences, f'In the job: hierarchy = "{target}". Check it with: {check}']


def _place_values(known: str, values: list[str]) -> dict[str, tuple[str, ...]]:
    """The labels of the values that a built-in list has a place for."""
    entry = find_known(known)
    if entry.labels is None:
        raise BadHierarchy(
            f"The hierarchy {known!r} is a rule, which needs no file: hierarchy = {{known = {known!r}}}."
        )
    labels = {text: entry.labels(text.strip()) for text in values}
    placed = {text: groups for text, groups in labels.items() if groups is not None}
    if not placed:
        raise BadHierarchy(f"The hierarchy {known!r} has a place for none of the values: {shorten(values, 5)}.")
    return placed


def _entry(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ';"\r\n') else text


def load_form(
    form: str, column: str | None, data: str | None, strict: bool = True
) -> tuple[Hierarchy, dict[str, int] | None]:
    """A hierarchy as the command line names it, and the values it is for.

    A file, a built-in name, or a rule as a job has it. Unless ``strict``, values without a place are left to the lint.
    """
    if data is not None and column is None:
        column = Path(form).stem if Path(form).suffix else None
        if column is None:
            raise BadJob("Say which column of the data it is for: --column NAME.")
    values = None if data is None else values_of(data, str(column))
    name = column or Path(form).stem
    source: object = form
    if form in KNOWN:
        source = {"known": form}
    elif form.lstrip().startswith("{") and not form.lstrip().startswith('{"'):
        source = read_value(form)
        if not isinstance(source, Mapping):
            raise BadJob(f"The rule {form!r} is not understood. Write it as in a job: '{{intervals = [5, 10]}}'.")
    is_rule = isinstance(source, Mapping)
    return load(name, source, values if strict or is_rule else None), values


def describe(hierarchy: Hierarchy, most: int) -> Iterator[str]:
    """The levels of a hierarchy in lines: how many groups each has, and the first of them with their values."""
    yield f"{hierarchy.name}: {len(hierarchy.leaves):,} values, {hierarchy.height + 1} levels"
    for level in range(hierarchy.height + 1):
        labels, cut = hierarchy.labels[level], hierarchy.groups[level]
        yield f"level {level}: {len(labels):,} group{'s' * (len(labels) > 1)}"
        for label, (first, last) in list(zip(labels, runs_of(cut), strict=True))[:most]:
            inside = hierarchy.leaves[first : last + 1]
            yield f"  {label}" if level == 0 else f"  {label}: {shorten(inside, 4)}"
        if len(labels) > most:
            yield f"  … and {len(labels) - most:,} more"


def write_form(hierarchy: Hierarchy, target: str) -> None:
    """Write a hierarchy as lines or as a tree, by the ending of the name."""
    path = Path(target)
    if path.exists():
        raise BadJob(f"{target!r} is there already. Give another name, or remove it.")
    if path.suffix.lower() in (".csv", ".txt"):
        write_whole(path, to_text(hierarchy))
    elif path.suffix.lower() == ".json":
        data = {"kind": "tree", "tree": tree_data(hierarchy), "leaf_order": list(hierarchy.leaves)}
        write_whole(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    else:
        raise BadJob(f"A hierarchy is written as .csv or .json, not as {path.name!r}.")


def tree_data(hierarchy: Hierarchy) -> dict[str, Any]:
    """The tree of a hierarchy as JSON has it."""
    tree = hierarchy.tree
    nodes: list[dict[str, Any]] = [{"label": label} for label in tree.labels]
    for node in range(len(nodes) - 1, -1, -1):
        children = [nodes[child] for child in tree.children[node]]
        if children:
            nodes[node]["children"] = children
    return nodes[0]
