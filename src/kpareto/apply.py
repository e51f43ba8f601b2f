"""Apply a stored recoding to new rows: suppression, k and loss are worked out anew there (Iyengar 2002; SPEC IY-13).

Loss is measured by the bounds of the table the recoding was found on, so that it can be compared; when it drifts
further than the tolerance, there is an alarm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal, cast

import numpy as np

from kpareto.builders.loading import placed_by_rule
from kpareto.errors import BadHierarchy, BadInput, BadJob, BadTable, shorten
from kpareto.frames import Missing, read
from kpareto.hierarchy import TOP, Hierarchy, levels_tree
from kpareto.measure import Model
from kpareto.measures import make
from kpareto.partition import Partition, Suppression
from kpareto.recoded import Handling
from kpareto.recoding import Recoding
from kpareto.release import Release, release
from kpareto.sources import opened
from kpareto.stored import Choice, Stored, read_stored
from kpareto.table import Table, distinct_rows, merge_counts

Unseen = Literal["error", "nearest", "star"]
NewColumns = Literal["error", "drop", "keep"]
FEW = 100  # values of a column whose values may be named in a sentence
TOLERANCE = 0.05  # of a cell, on average


@dataclass(frozen=True, eq=False)
class Applied:
    """What became of new rows under a stored recoding."""

    release: Release
    fit: Mapping[str, float]  # rows, suppressed, k, lm, glm where the recoding was found
    batch: Mapping[str, float]  # the same for the new rows
    k: int  # of the new rows alone
    k_union: int  # of the new rows and the earlier releases together
    unseen: Mapping[str, tuple[str, ...]]  # column -> values the hierarchy does not know
    alarms: tuple[str, ...]
    remarks: tuple[str, ...] = ()  # about columns that are new or missing, and rows that were released before


def apply(  # noqa: PLR0913 (keywords, each a choice of its own)
    stored: str | PathLike[str] | Stored,
    source: object,
    target: str | PathLike[str] | None = None,
    *,
    unseen: Unseen = "error",
    earlier: Sequence[object] = (),
    tolerance: float = TOLERANCE,
    handling: Handling | None = None,
    new_columns: NewColumns = "error",
    encoding: str | None = None,
) -> Applied:
    """Recode new rows by a stored recoding, and write them as ``release`` does.

    Classes that do not meet the stored limits (or, without limits, the k of the fitting table) are suppressed.
    A value that the hierarchy does not know is an error; with ``nearest`` a number goes to the nearest leaf, with
    ``star`` the cell becomes ``*``. ``earlier`` are releases of earlier rows by the same recoding.
    A column that the fitting table did not have is an error; ``new_columns`` may ``drop`` or ``keep`` it.
    The new rows are in the ``encoding`` of the fitting table unless told.
    """
    if new_columns not in ("error", "drop", "keep"):
        raise BadJob(f"New columns can be treated by error, drop or keep, not {new_columns!r}. Take one of these.")
    if unseen not in ("error", "nearest", "star"):
        raise BadJob(f"Unseen values can be treated by error, nearest or star, not {unseen!r}. Take one of these.")
    recipe, how = read_stored(stored), handling or Handling()
    spelled = encoding or _encoding(recipe, source)
    dropped, remarks = _new_columns(recipe, source, spelled, new_columns)
    how = replace(how, left_out=(*how.left_out, *dropped))
    choice, strange, stars = fitted(recipe, source, unseen, how, spelled)
    done = release(choice, source, target, handling=how, encoding=spelled)
    found = done.partition
    loss = recipe.loss(found, stars)
    k = int(found.sizes[found.visible].min())
    batch = {"rows": found.table.rows, "suppressed": found.suppressed_rows, "k": k, **loss}
    union = _union(choice, found, earlier)
    alarms = _alarms(recipe, batch, tolerance)
    remarks += _same_rows(recipe, done)
    return Applied(done, recipe.fit, batch, k, union, strange, alarms, tuple(remarks))


def _encoding(stored: Stored, source: object) -> str:
    """That of the fitting table for files of text; Parquet and frames have none."""
    text = isinstance(source, str | PathLike) and Path(source).suffix.lower() not in (".parquet", ".parq", ".pq", "")
    return stored.origin.encoding if text and stored.origin is not None else "utf-8"


def _new_columns(stored: Stored, source: object, encoding: str, how: NewColumns) -> tuple[list[str], list[str]]:
    """The columns to drop, and what is to be said of columns; one that nobody knows must not slip out."""
    schema = stored.schema
    person = () if schema.person is None else (schema.person,)
    known = {*schema.quasi, *schema.sensitive, *schema.target, *schema.identifier, *person}
    with opened(source, encoding) as rows:
        columns = list(rows.columns)
    lacking = [name for name in (*schema.quasi, *schema.sensitive, *schema.target, *schema.identifier, *person)
               if name not in columns]  # fmt: skip
    if lacking:
        raise BadInput(
            f"The new rows have no column {', '.join(map(repr, lacking))}, which the recoding needs. "
            f"They have: {shorten(columns)}. Name the columns as in the fitting table."
        )
    plain = [] if stored.origin is None else [name for name in stored.origin.columns if name not in known]
    new = [name for name in columns if name not in known and name not in plain]
    remarks = [f"The new rows lack columns of the fitting table: {', '.join(gone)}."
               for gone in [[name for name in plain if name not in columns]] if gone]  # fmt: skip
    if new and how == "error":
        told = "which the fitting table did not have"
        if stored.origin is None:
            told = "and the recoding file does not say which columns without a role the fitting table had"
        raise BadInput(
            f"The new rows have the column{'s' * (len(new) > 1)} {', '.join(map(repr, new))}, {told}: "
            "they would be released in clear. Give new_columns='drop' (--new-columns drop) to leave them out, or "
            "'keep' to release them as they are."
        )
    if new and how == "drop":
        remarks.append(f"New columns were left out: {', '.join(new)}.")
    return (new if how == "drop" else []), remarks


def _same_rows(stored: Stored, done: Release) -> list[str]:
    if stored.origin is None or done.origin is None or done.origin.sha256 != stored.origin.sha256:
        return []
    said = "These are the rows of the fitting table. Where it was released already, whoever has both releases can "
    return [said + "compare them row by row: keep one of them."]


def fitted(
    stored: Stored, source: object, unseen: Unseen, how: Handling, encoding: str = "utf-8"
) -> tuple[Choice, dict[str, tuple[str, ...]], dict[str, int]]:
    """The choice for new rows, the values unseen before, and per column with starred values their group."""
    raw = read(source, stored.schema, cast(Missing, stored.missing), how.missing_values, encoding=encoding)
    hierarchies, cuts, labels, codes = [], [], list(stored.recoding.labels), np.empty_like(raw.codes)
    placed: dict[str, dict[str, int]] = {}
    ruled: dict[str, dict[str, int]] = {}  # values that the rule of the hierarchy has a group for
    limits = dict(stored.limits) or {"k": max(int(stored.fit["k"]), 1)}
    stars: dict[str, int] = {}
    for column, hierarchy in enumerate(stored.recoding.hierarchies):
        values, cut = raw.hierarchies[column].leaves, stored.recoding.cuts[column]
        leaf = hierarchy.locate(values).astype(np.int64)
        present = raw.leaf_rows[column] > 0
        lost = np.flatnonzero((leaf < 0) & present).tolist()
        level = None if stored.recoding.levels is None else stored.recoding.levels[column]
        ruled[hierarchy.name] = placed_by_rule(hierarchy, cut, level, [values[at] for at in lost]) if lost else {}
        for at in lost:
            leaf[at] = ruled[hierarchy.name].get(values[at], -1)
        lost = [at for at in lost if leaf[at] < 0]
        if lost:
            names = [values[at] for at in lost]
            if unseen == "nearest":
                leaf[lost] = _nearest(hierarchy, names)
            elif unseen == "star":
                hierarchy, cut = _starred(hierarchy, cut)
                leaf[lost] = len(hierarchy.leaves) - 1
                if cut[-1] == len(labels[column]):
                    stars[hierarchy.name] = int(cut[-1])
                    labels[column] = (*labels[column], _star(labels[column]))
            else:
                rows = [int(raw.leaf_rows[column][at]) for at in lost]
                _complain(hierarchy, names, rows, limits.get("k", stored.fit["k"]))
            placed[hierarchy.name] = {values[at]: int(leaf[at]) for at in lost}
        hierarchies.append(hierarchy)
        cuts.append(cut)
        codes[:, column] = leaf[raw.codes[:, column]]
    table = _bound(raw, codes, tuple(hierarchies), stored)
    recoding = Recoding(tuple(hierarchies), tuple(cuts), None if placed else stored.recoding.levels)
    known = {name: {**found, **placed.get(name, {})} for name, found in ruled.items()}
    choice = Choice(table, recoding, _suppression(stored, limits), limits, known, tuple(labels))
    return choice, {name: tuple(found) for name, found in placed.items()}, stars


def _suppression(stored: Stored, limits: Mapping[str, float]) -> Suppression:
    """Every class that fails a limit goes, whatever that costs; the cost is reported, and an alarm if too high."""
    fails = []
    for spec, limit in limits.items():
        model = make(spec)
        if isinstance(model, Model):
            fails.append(model.fails(limit))
    return Suppression("constraint", 1 - 1e-12, rows=stored.suppression.rows, fails=tuple(fails))


def _bound(raw: Table, codes: np.ndarray, hierarchies: tuple[Hierarchy, ...], stored: Stored) -> Table:
    """The rows seen through the stored hierarchies."""
    order, start = distinct_rows(codes)
    group = np.empty(len(codes), dtype=np.int64)
    group[order] = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(order))))
    return replace(
        raw,
        hierarchies=hierarchies,
        codes=codes[order[start]],
        weights=np.bincount(group, weights=raw.weights, minlength=len(start)).astype(np.int64),
        sensitive=tuple(merge_counts(counts, group, len(start)) for counts in raw.sensitive),
        targets=tuple(merge_counts(counts, group, len(start)) for counts in raw.targets),
        persons=None if raw.persons is None else merge_counts(raw.persons, group, len(start)),
        domain=stored.domain,
    )


def _complain(hierarchy: Hierarchy, values: Sequence[str], rows: Sequence[int], k: float) -> None:
    """Raise, naming a few values; none that few rows have, and none of a column that may single out a person."""
    named = [f"{value!r} ({count:,} rows)" for value, count in zip(values, rows, strict=True) if count >= max(k, 2)]
    if hierarchy.dates or len(hierarchy.leaves) > FEW:
        named = []
    shown = f": {', '.join(named[:3])}" + (" …" if len(named) > 3 or len(named) < len(values) else "") if named else ""
    raise BadHierarchy(
        f"The new rows have {len(values):,} value{'s' * (len(values) > 1)} in {hierarchy.name!r} ({sum(rows):,} "
        f"row{'s' * (sum(rows) > 1)}) that the recoding does not know{shown}. "
        "Give unseen='star' to show '*' for them, or unseen='nearest' for numbers."
    )


def _nearest(hierarchy: Hierarchy, values: Sequence[str]) -> list[int]:
    """The leaf with the number nearest to each value."""
    if hierarchy.spans is None or hierarchy.dates:
        raise BadHierarchy(
            f"Column {hierarchy.name!r} is not made of numbers, so nothing is nearest to a new value. "
            "Give unseen='star' to show '*' for such values."
        )
    found = []
    for value in values:
        try:
            number = float(value)
        except ValueError:
            raise BadTable(f"A new value in {hierarchy.name!r} is not a number, so no leaf is nearest to it.") from None
        low, high = hierarchy.spans[:, 0], hierarchy.spans[:, 1]
        found.append(int(np.argmin(np.maximum(np.maximum(low - number, number - high), 0))))
    return found


def _starred(hierarchy: Hierarchy, cut: np.ndarray) -> tuple[Hierarchy, np.ndarray]:
    """The hierarchy with one more leaf, of which nothing is told, and the cut that keeps it apart."""
    groups = np.concatenate((hierarchy.groups, hierarchy.groups[:, -1:] + 1), axis=1).astype(np.int32)
    groups[-1] = 0
    labels = (*((*row, _star(row)) for row in hierarchy.labels[:-1]), hierarchy.labels[-1])
    if len(hierarchy.labels) == 1:  # one leaf, which was the top as well
        groups = np.array([[0, 1], [0, 0]], dtype=np.int32)
        labels = ((*hierarchy.labels[0], _star(hierarchy.labels[0])), (TOP,))
    wider = replace(
        hierarchy,
        leaves=labels[0],
        groups=groups,
        labels=labels,
        tree=levels_tree(groups, labels),
        spans=None,
        edges=None,
        loss="leaves",
    )
    # A column of one group tells nothing anyway, so the new leaf joins it.
    return wider, np.append(cut, cut[-1] + int(cut[-1] > 0)).astype(np.int32)


def _star(taken: Sequence[str]) -> str:
    star = TOP
    while star in taken:
        star += TOP
    return star


def _union(choice: Choice, found: Partition, earlier: Sequence[object]) -> int:
    """The smallest class among the new rows and the earlier releases, counted by their labels."""
    names, labels = choice.table.schema.quasi, choice.labels
    sizes: Counter[tuple[str, ...]] = Counter()
    for groups, size in zip(found.groups[found.visible].tolist(), found.sizes[found.visible].tolist(), strict=True):
        sizes[tuple(TOP if group < 0 else labels[column][group] for column, group in enumerate(groups))] += size
    for other in earlier:
        with opened(other) as rows:
            lacking = [name for name in names if name not in rows.columns]
            if lacking:
                raise BadTable(f"An earlier release has no column {lacking[0]!r}. Give releases of the same recoding.")
            rolled = rows.roll_up(names)
        columns = [np.append(np.array(c.texts.to_pylist(), dtype=object), "")[c.codes] for c in rolled.columns]
        for row, weight in zip(zip(*columns, strict=True), rolled.weights.tolist(), strict=True):
            sizes[tuple(row)] += weight
    return min(sizes.values())


def _alarms(stored: Stored, batch: Mapping[str, float], tolerance: float) -> tuple[str, ...]:
    fit, alarms = stored.fit, []
    drift = batch["lm"] - fit["lm"]
    if abs(drift) > tolerance:
        alarms.append(
            f"The loss drifts: LM is {batch['lm']:.4f} on the new rows and was {fit['lm']:.4f} where the recoding was "
            f"found, {abs(drift):.4f} {'more' if drift > 0 else 'less'} with a tolerance of {tolerance:g}. "
            "Search again on the new rows."
        )
    allowed = stored.suppression.allowed(int(batch["rows"]))
    if stored.suppression.rule != "below-k" and batch["suppressed"] > allowed:
        alarms.append(
            f"{int(batch['suppressed']):,} of {int(batch['rows']):,} new rows are suppressed, and the limit is "
            f"{allowed:,}. Search again on the new rows."
        )
    return tuple(alarms)
