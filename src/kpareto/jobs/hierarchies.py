"""Hierarchies beside a table: the skeleton of a file to fill in, any form loaded with the values of a column, written.

What the command ``kpareto hierarchy`` does; a table is read as its job says, or as ``inspect`` recognises it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kpareto.atomic import write_whole
from kpareto.engines.facts import count_columns
from kpareto.engines.recognise import recognise
from kpareto.engines.unique_rows import open_view
from kpareto.engines.wishes import load_hierarchies
from kpareto.errors import BadHierarchy, BadJob, did_you_mean, shorten
from kpareto.jobs.inspect import toml_value
from kpareto.jobs.parse import load_job
from kpareto.jobs.proposals import propose_known
from kpareto.strict import read_value
from kpareto.tables.hierarchies import load, to_text
from kpareto.tables.hierarchies.known import KNOWN, find_known
from kpareto.tables.hierarchies.values import numbers_of
from kpareto.tables.hierarchy import MISSING, STAR, Hierarchy, runs_of
from kpareto.tables.lattice import Lattice
from kpareto.tables.proposals import Rule, quasi
from kpareto.tables.spelling import MARKS
from kpareto.tables.table import Table
from kpareto.tables.vocabulary import topic_of

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


# Hierarchies for columns that came without one: as ``inspect`` would propose them, by what their values look like.

LOOKED_AT = 100_000  # rows by which the spread of a column is judged
MOST_NODES = 10_000_000  # of a lattice that nobody asked for; the exact search of it takes minutes at the most


def complete_hierarchies(table: Table) -> Table:
    """The table with a hierarchy for each column that came without one, and a remark that says which.

    Where nothing but showing or hiding the values suits a column, it stays as it is. So do tables that were read
    coarser or by a sample.
    """
    if not table.bare or table.leaf_counts is not None or table.sample is not None:
        return table
    rules = {name: _propose(name, _values(table, name)) for name in table.bare}
    rules = {name: rule for name, rule in rules.items() if "flat" not in rule}
    for shape in (dict, _middle):
        chosen = {name: shape(rule) for name, rule in rules.items()}
        bound = table.bind(_load(table, chosen))
        if Lattice(bound.hierarchies).size <= MOST_NODES:
            shown = {name: rule for name, rule in chosen.items() if name not in bound.bare}
            sentence = "No hierarchy was given for these columns, so they got one by their values"
            listed = ", ".join(f"{name} {toml_value(rule)}" for name, rule in shown.items())
            return replace(bound, remarks=(*table.remarks, f"{sentence}: {listed}.")) if shown else table
    sentence = (
        f"{len(rules)} columns have no hierarchy and are shown or hidden as a whole: with one each there would be too"
    )
    return replace(
        table, remarks=(*table.remarks, f"{sentence} many recodings to try. Give hierarchies, or fewer columns.")
    )


def _values(table: Table, name: str) -> dict[str, int]:
    """The values of a column, and the rows of each."""
    column = table.column(name)
    return dict(zip(table.hierarchies[column].leaves, table.leaf_rows[column].tolist(), strict=True))


def _middle(rule: Rule) -> Rule:
    """A rule with the middle one of its levels alone."""
    return {
        word: [steps[len(steps) // 2]] if isinstance(steps, list) and steps else steps for word, steps in rule.items()
    }


def _load(table: Table, rules: Mapping[str, Rule]) -> dict[str, Hierarchy]:
    """The hierarchies of rules; a column whose values have no place in its own stays as it is."""
    trees: dict[str, Hierarchy] = {}
    for name, rule in rules.items():
        with suppress(BadHierarchy):
            trees |= load_hierarchies(table, {name: rule})
    return trees


def _propose(name: str, values: Mapping[str, int]) -> Rule:
    """The rule for a column with these values and rows of each; flat where it has none."""
    texts = [text for text in values if text != MISSING]
    if not texts:
        return {"flat": True}
    rows = np.array([values[text] for text in texts], dtype=np.int64)
    shares = np.maximum(rows * LOOKED_AT // max(int(rows.sum()), LOOKED_AT), 1)
    column = pa.array(np.repeat(np.arange(len(texts)), shares))
    spread = pa.table({name: pa.array(texts, pa.string()).take(column)})
    with open_view(spread) as view:
        facts = count_columns(view, spread.num_rows)
        (proposal,) = propose_known(view, facts, [quasi(facts[0], "", topic_of(name))])
    return proposal.hierarchy or {"flat": True}
