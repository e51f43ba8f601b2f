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
from kpareto.engines.form import form_from
from kpareto.engines.read import read
from kpareto.engines.wishes import Missing
from kpareto.errors import BadInput, BadTable, shorten
from kpareto.measures.use import LabelView, further_counts, occurring_values, spread_evenly
from kpareto.releases.choice import Stored, read_stored
from kpareto.releases.documents import document_files
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
    return table, _view(table, shown, stored, documents["confidential"]["recoding"], more)


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
        _check_possible(hierarchy, ends, shown.leaf_rows[column], labels, table.leaf_rows[column])
        codes.append(np.ascontiguousarray(shown.codes[:, column]))
        spreads.append(spread)
        shows.append(ends)
    if not stored.local:
        _check_together(table, shown, stored.recoding.cuts, shows)
    pairs = zip(further_counts(table), further_counts(shown), strict=True)
    further = []
    for own, written in pairs:
        with suppress(BadTable) if own.name in plain else nullcontext():
            further.append(_in_values(own, written))
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
        return dict(zip(labels, ends, strict=True))
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


def _check_possible(
    hierarchy: Hierarchy, ends: np.ndarray, rows: np.ndarray, labels: Sequence[str], original: np.ndarray
) -> None:
    """Raise where more rows show a label than the original has rows that it can stand for."""
    before = np.concatenate(([0], np.cumsum(original)))
    behind = before[ends[:, 1] + 1] - before[ends[:, 0]]
    worst = int(np.argmax(rows - behind))
    if rows[worst] > behind[worst]:
        raise BadTable(
            f"The release is not one of this original: {several(int(rows[worst]), 'row')} of it show {labels[worst]!r} "
            f"in {hierarchy.name!r}, and the original has {int(behind[worst]):,} such rows. {OTHER}"
        )


def _check_together(table: Table, shown: Table, cuts: Sequence[np.ndarray], ends: Sequence[np.ndarray]) -> None:
    """Raise where more rows show some labels together than the original has rows that become these; masked rows may."""
    place = np.zeros(table.distinct + shown.distinct, dtype=np.int64)
    known = np.ones(shown.distinct, dtype=np.bool_)
    for column, (cut, (first, last)) in enumerate(zip(cuts, (each.T for each in ends), strict=True)):
        groups = int(cut[-1]) + 1
        if len(np.unique(first)) < len(first):
            return  # one group is spelled in two ways, or two groups in one
        whole = (cut[first] == cut[last]) & (np.bincount(cut)[cut[first]] == last - first + 1)
        known &= whole[shown.codes[:, column]]
        own = np.concatenate((cut[table.codes[:, column]], cut[first][shown.codes[:, column]]))
        place = np.unique(place * groups + own, return_inverse=True)[1]
    before = np.bincount(place[: table.distinct], table.weights, int(place.max()) + 1)
    after = np.bincount(place[table.distinct :], shown.weights * known, len(before))
    worst = int(np.argmax(after - before))
    if after[worst] > before[worst]:
        raise BadTable(
            f"The release is not one of this original: {several(int(after[worst]), 'row')} of it look alike, and the "
            f"original has {int(before[worst]):,} such rows. {OTHER}"
        )


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
