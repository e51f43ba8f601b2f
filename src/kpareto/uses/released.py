"""A released file and its original: read back, matched by the documents beside the release, and checked to belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from kpareto.engines import file_of, in_form, open_source
from kpareto.engines.form import Missing, form_from
from kpareto.engines.read import read
from kpareto.errors import BadInput, BadTable, shorten
from kpareto.interrupts import pause
from kpareto.kernels.local.neighbours import block_boxes, boxes_near
from kpareto.measures.use import LabelView, further_counts, occurring_values, spread_evenly
from kpareto.releases.choice import Stored, read_stored
from kpareto.releases.documents import document_files
from kpareto.releases.labels import has_counts
from kpareto.strict import FileKind, anything, map_of, read_json
from kpareto.tables.hierarchy import MISSING, STAR, Hierarchy
from kpareto.tables.schema import Schema
from kpareto.tables.spelling import locate_spelled, several
from kpareto.tables.table import Counts, Table, merge_counts
from kpareto.verifier.counting import file_digest

CERTIFICATE = FileKind("The certificate", "Take the whole one, as it was written with the release.")
OTHER = "Give the table that it was made from."


def is_release(release: object) -> bool:
    """Whether a released file is meant."""
    return file_of(release) is not None


def read_released(
    release: object, original: object, recoding: str | PathLike[str] | None = None, plain: int = 0
) -> tuple[Table, LabelView]:
    """The original through the hierarchies of the release, and the release as it shows its rows, spread evenly.

    So many plain columns that both have are read as further ones, unless rows would have to be left out for them.
    """
    place = Path(cast(str, release))
    files = document_files(place)
    stored = read_stored(_there(files["recoding"] if recoding is None else Path(recoding)))
    documents = _read_certificate(_there(files["certificate"]), place)
    roles = stored.schema
    schema = Schema(roles.quasi, roles.sensitive, roles.target, spellings=roles.spellings)
    marks = documents["confidential"]["input"]["missing_values"]
    origin = {} if stored.origin is None else {"encoding": stored.origin.encoding, **stored.origin.form}
    source = in_form(original, form_from(origin))
    have = _check_columns(source, schema, "original")
    written = in_form(place, form_from(documents["public"]["release"].get("form", {})))
    left = [name for name in _check_columns(written, schema, "release") if name in have]
    left = [name for name in left if name not in roles.named][:plain]
    rows = documents["confidential"]["input"]["rows"] - documents["confidential"]["input"]["missing_rows"]
    for more in dict.fromkeys((tuple(left), ())):
        wished = replace(schema, target=(*schema.target, *more))
        table = read(source, wished, cast(Missing, stored.missing), marks, stored.recoding.hierarchies)
        if table.rows == rows:
            break
    else:
        raise BadTable(
            f"The release was made from {several(rows, 'row')}, and the original has {table.rows:,}. {OTHER}"
        )
    shown = read(written, wished, "category", marks)
    view = _view(table, shown, stored, documents["confidential"]["recoding"], more)
    return table, replace(view, counted=has_counts(documents["public"]))


def _there(file: Path) -> Path:
    if not file.is_file():
        raise BadInput(
            f"There is no {file.name!r} beside the release, which says what its labels stand for. Put it there; the "
            "recoding file may lie elsewhere (--recoding FILE)."
        )
    return file


def _read_certificate(file: Path, release: Path) -> Mapping[str, Any]:
    """Both parts of the certificate; one of another file is a sentence."""
    documents = read_json(file, CERTIFICATE, map_of(anything))
    try:
        digest = documents["public"]["release"]["sha256"]
        own = documents["confidential"]
        complete = {"columns", "labels"} <= set(own["recoding"]) and {"rows", "missing_rows"} <= set(own["input"])
    except (KeyError, TypeError):
        complete = False
    if not complete:
        raise CERTIFICATE.bad(file, "lacks its confidential part, which says what the labels stand for")
    if digest is not None and file_digest(release) != digest:
        raise BadInput(
            f"The certificate {file.name!r} is of another file than {release.name!r}: its SHA-256 does not fit. "
            "Take both as they were written together."
        )
    return cast(Mapping[str, Any], documents)


def _check_columns(source: object, schema: Schema, which: str) -> list[str]:
    """The columns of a table, which has all that the schema names."""
    with open_source(source) as rows:
        columns = list(rows.columns)
    lacking = [name for name in schema.named if name not in columns]
    if lacking:
        raise BadTable(f"The {which} has no column {lacking[0]!r}. It has: {shorten(columns)}. {OTHER}")
    return columns


def _view(
    table: Table, shown: Table, stored: Stored, recoding: Mapping[str, Any], plain: Sequence[str] = ()
) -> LabelView:
    """The released rows as a view, every label checked to be possible; plain columns that were changed are left out."""
    codes, spreads, shows = [], [], []
    for column, hierarchy in enumerate(table.hierarchies):
        labels = shown.hierarchies[column].leaves
        runs = _label_runs(stored, column, recoding)
        lost = [label for label, rows in zip(labels, shown.leaf_rows[column].tolist(), strict=True) if rows]
        lost = [label for label in lost if _find(runs, hierarchy, label) is None]
        if lost:
            raise BadTable(
                f"The release shows {shorten(lost, 4)} in {hierarchy.name!r}, and its documents do not know "
                f"{'it' if len(lost) == 1 else 'them'}. Take release and documents as they were written together."
            )
        ends = np.array([_find(runs, hierarchy, label) or (0, 0) for label in labels], dtype=np.int64)
        spread = spread_evenly(ends[:, 0], ends[:, 1], occurring_values(table, column), len(hierarchy.leaves))
        codes.append(np.ascontiguousarray(shown.codes[:, column]))
        spreads.append(spread)
        shows.append(ends)
    further = []
    pairs = []
    for own, written in zip(further_counts(table), further_counts(shown), strict=True):
        with suppress(BadTable) if own.name in plain else nullcontext():
            further.append(_in_values(own, written))
            pairs += [] if own.name in plain else [(own, further[-1])]
    _check_together(table, shown, shows, pairs)
    return LabelView(table.schema.quasi, shown.weights.astype(float), tuple(codes), tuple(spreads), tuple(further))


def _label_runs(stored: Stored, column: int, recoding: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Label as written -> first and last leaf that it stands for."""
    hierarchy = stored.recoding.hierarchies[column]
    try:
        labels, groups = recoding["labels"][hierarchy.name], recoding["columns"][hierarchy.name]
        if isinstance(groups, int):
            ends = stored.recoding.pairs(column)
        else:
            ends = zip(*([hierarchy.index[leaf] for leaf in part] for part in zip(*groups, strict=True)), strict=True)
        known: dict[str, tuple[int, int]] = {}
        for label, (first, last) in zip(labels, ends, strict=True):  # classes may share a midpoint: then it is of both
            wide = known.get(label, (first, last))
            known[label] = min(wide[0], first), max(wide[1], last)
        return known
    except (KeyError, TypeError, ValueError):
        raise BadInput(
            f"The certificate and the recoding are of two releases: they divide {hierarchy.name!r} otherwise. "
            "Take both as they were written together."
        ) from None


def _find(runs: Mapping[str, tuple[int, int]], hierarchy: Hierarchy, label: str) -> tuple[int, int] | None:
    """The leaves of a label; a masked cell may be any, and a number may be written otherwise."""
    for text in (label, "") if label == MISSING else (label,):
        if text in runs:
            return runs[text]
    if label == STAR:
        return 0, len(hierarchy.leaves) - 1
    try:
        number = float(label)
    except ValueError:
        return None
    return next((run for text, run in runs.items() if _is_number(text, number)), None)


def _is_number(text: str, number: float) -> bool:
    try:
        return float(text) == number
    except ValueError:
        return False


def _check_together(
    table: Table, shown: Table, ends: Sequence[np.ndarray], pairs: Sequence[tuple[Counts, Counts]]
) -> None:
    """Raise where rows of the release have no rows that they can come from, or rows of the original nowhere to go.

    Of every class, with each value of a further column, the original has as many rows that fit its labels at least; and
    rows that fit no class are no more than were left out. pairs: the further columns of both, in the same values.
    """
    sides = [((own.row, own.code, own.count), (shows.row, shows.code, shows.count)) for own, shows in pairs]
    for (row, value, rows), (line, code, written) in sides or [(_all_rows(table), _all_rows(shown))]:
        codes = np.column_stack((table.codes[row], value)).astype(np.int32)
        labels = [each[shown.codes[line, column]] for column, each in enumerate(ends)]
        first, last = (np.column_stack((*(each[:, end] for each in labels), code)).astype(np.int32) for end in (0, 1))
        order = np.lexsort(codes.T[::-1])
        blocks, near = block_boxes(codes, codes, order), np.empty(len(codes), dtype=np.int64)
        homeless = np.ones(len(codes), dtype=np.bool_)
        for low, high, many in zip(first, last, written.tolist(), strict=True):
            pause()
            fitting = near[: boxes_near(low, high, codes, codes, order, blocks, near)]
            homeless[fitting] = False
            if many > (there := int(rows[fitting].sum())):
                raise BadTable(
                    f"The release is not one of this original: {several(many, 'row')} of it look alike, and the "
                    f"original has {there:,} such rows. {OTHER}"
                )
        if (lost := int(rows[homeless].sum())) > table.rows - shown.rows:
            raise BadTable(
                f"The release is not one of this original: {several(lost, 'row')} of the original fit no class of it, "
                f"and it lacks {table.rows - shown.rows:,}. {OTHER}"
            )


def _all_rows(table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows of a table as a further column with one value has them."""
    return np.arange(table.distinct), np.zeros(table.distinct, dtype=np.int64), table.weights


def _in_values(own: Counts, written: Counts) -> Counts:
    """The counts of a further column of the release by the values of the original."""
    recode = locate_spelled(written.values, own.values)
    lost = np.flatnonzero((recode < 0) & (written.totals > 0))
    if not len(lost):
        rows = np.bincount(recode[written.code], written.count, len(own.values)) if len(recode) else own.totals
        lost = np.flatnonzero(rows > own.totals)
        if not len(lost):
            counts = replace(own, start=written.start, code=recode[written.code].astype(np.int32), count=written.count)
            return merge_counts(counts, np.arange(len(written.start) - 1), len(written.start) - 1)
    raise BadTable(
        f"The release is not one of this original: some values of {own.name!r} occur in it more often than in the "
        f"original. {OTHER}"
    )
