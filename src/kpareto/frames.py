"""The door: any dataframe, file or engine table -> Table.

One GROUP BY, run by the program that holds the rows, gives the distinct rows and how often each occurs; only those
come into memory here. DuckDB rolls up files, pyarrow tables and its own relations; narwhals asks every other frame
(pandas, polars, and later Spark and databases) the same question in its own language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Literal

import numpy as np

from kpareto.builders import load
from kpareto.delimited import Csv
from kpareto.errors import BadJob, BadTable, shorten
from kpareto.files import file_digest
from kpareto.hierarchy import Hierarchy, flat
from kpareto.schema import Schema
from kpareto.sources import opened
from kpareto.table import Domain, Table, distinct_rows, make_table
from kpareto.texts import Coded, Dictionary, Rolled, Spelled, arrange, arrow_places, arrow_texts, numpy_of, object_text

Missing = Literal["drop", "category", "error"]
POLICIES: tuple[Missing, ...] = ("drop", "category", "error")
MOST_SPELLED = 1_000_000  # values of a column that are kept in memory for the way out
MISSING = "(missing)"  # the leaf of missing values under the policy category


def read(
    source: object,
    schema: Schema,
    missing: Missing = "drop",
    missing_values: Sequence[object] = ("?", ""),
    hierarchies: Mapping[str, object] | Sequence[Hierarchy] | None = None,
    domain: Domain = "observed",
    encoding: str = "utf-8",
) -> Table:
    """Roll a table up to its distinct rows.

    ``source`` is a pandas or polars frame (lazy ones too), a pyarrow table, a DuckDB relation, the path of a CSV, TSV
    (.gz too) or Parquet file or of a folder of Parquet parts, or a ``Csv``. ``missing`` says what becomes of rows
    with no value, or one of ``missing_values``, in a column that is read: ``drop`` leaves them out and counts them,
    ``category`` gives them a value of their own, ``(missing)``, the last of its column, ``error`` raises. Only the
    columns with a role are read, and of those no more than the distinct combinations come into memory.
    """
    if missing not in POLICIES:
        raise BadJob(f"Missing values can be treated by {', '.join(POLICIES)}, not {missing!r}. Take one of these.")
    if domain not in ("observed", "declared"):
        raise BadJob(f"The domain is {domain!r}. Take 'observed' or 'declared'.")
    with opened(source, encoding) as rows:
        schema.check(rows.columns)
        person = () if schema.person is None else (schema.person,)
        wanted = list(dict.fromkeys((*schema.quasi, *schema.sensitive, *schema.target, *person)))
        found = rows.roll_up(wanted)
    if not len(found.weights):
        raise BadTable(f"The table has no rows, only the columns {shorten(rows.columns)}. Give at least one row.")
    columns = dict(zip(wanted, _blanked(found, missing, missing_values), strict=True))
    table = replace(_table(schema, columns, found.weights, missing), spelled=_spelled(columns))
    if hierarchies is None:
        return replace(table, domain=domain)
    return table.bind(_loaded(table, hierarchies), domain)


def _spelled(columns: Mapping[str, Coded]) -> dict[str, Spelled]:
    """The engine's own values of each column, for the way out; a column with a value per row is asked for again."""
    return {n: c.spelled for n, c in columns.items() if c.spelled is not None and len(c.spelled.raw) <= MOST_SPELLED}


def _loaded(table: Table, given: Mapping[str, object] | Sequence[Hierarchy]) -> dict[str, Hierarchy]:
    """Hierarchies by column; rules, files and frames are made into one with the values of the column."""
    named = given if isinstance(given, Mapping) else {each.name: each for each in given}
    found = {}
    for name, form in named.items():
        if isinstance(form, Hierarchy):
            found[name] = form
        else:
            column = table.column(name)
            rows = dict(zip(table.hierarchies[column].leaves, table.leaf_rows[column].tolist(), strict=True))
            found[name] = load(name, form, rows)
    return found


def _blanked(found: Rolled, missing: Missing, missing_values: Sequence[object]) -> list[Coded]:
    """The columns without texts that stand for no value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    given = (missing_values,) if isinstance(missing_values, str) else missing_values
    marks = [object_text(value, "missing_values") for value in given]
    if missing == "category":
        marks.append(MISSING)  # a release read again has it as text
    listed = arrow_texts(marks)

    def blanked(texts: pa.Array) -> pa.Array:
        return pc.if_else(pc.is_in(texts, value_set=listed), pa.nulls(len(texts), texts.type), texts)

    return [replace(column, texts=blanked(column.texts)) for column in found.columns]


def _table(schema: Schema, columns: Mapping[str, Coded], weights: np.ndarray, missing: Missing) -> Table:
    absent = {name: _absent(column) for name, column in columns.items()}
    lost = {name: int(weights[mask].sum()) for name, mask in absent.items()}
    rows = int(weights.sum())
    if missing == "error" and any(lost.values()):
        named = [f"{name!r} ({count:,} of {rows:,} rows)" for name, count in lost.items() if count]
        raise BadTable(
            f"Values are missing in {shorten(named)}. "
            "Give missing='drop' to leave these rows out, or missing='category' to keep them as a value of their own."
        )
    keep = np.ones(len(weights), dtype=np.bool_)
    if missing == "drop":
        keep = ~np.logical_or.reduce(list(absent.values()))
    if not keep.any():
        worst = max(lost, key=lambda name: lost[name])
        raise BadTable(
            f"No row is left: each of the {rows:,} rows has a missing value, {lost[worst]:,} of them in {worst!r}. "
            "Give missing='category' to keep them, or leave that column out of the schema."
        )
    found = {name: _dictionary(column, keep) for name, column in columns.items()}
    hierarchies = tuple(_flat(name, found[name]) for name in schema.quasi)
    codes = np.column_stack([found[name].codes for name in schema.quasi])
    extras = {name: (each.values, each.codes, each.numbers) for name, each in found.items() if name not in schema.quasi}
    table = make_table(schema, hierarchies, codes, weights[keep], extras)
    return replace(table, dropped=rows - table.rows, missing=missing)


def _absent(column: Coded) -> np.ndarray:
    """Which rolled-up rows have no value: (rows,) bool."""
    nulls = np.append(numpy_of(column.texts.is_null()).astype(np.bool_), True)
    return nulls[column.codes]


def _dictionary(column: Coded, keep: np.ndarray) -> Dictionary:
    """The values of the kept rows in order, missing ones last, with a code per kept row."""
    codes = column.codes[keep]
    used = np.flatnonzero(np.bincount(codes + 1, minlength=len(column.texts) + 1)[1:])
    found = arrange(column.texts.take(arrow_places(used)))
    rank = np.full(len(column.texts) + 1, -1, dtype=np.int32)  # the last entry is for code -1, no value
    rank[used] = found.codes
    own = rank[codes]
    if (own >= 0).all():
        return replace(found, codes=own)
    own[own < 0] = len(found.values)
    return Dictionary((*found.values, MISSING), own, "text", None)


def _flat(name: str, found: Dictionary) -> Hierarchy:
    """The hierarchy of a column that was just read: its values, and all of them as one group."""
    plain = flat(name, found.values)
    if found.kind == "text":
        return plain
    spans = None if found.sizes is None else np.column_stack((found.sizes, found.sizes))
    return replace(plain, ordered=True, spans=spans, dates=found.kind == "date")


def fingerprint(source: object, columns: Sequence[str] | None = None) -> str:
    """SHA-256 of a source, for certificates: of the bytes of a file, of the content of anything else.

    The content is what the texts of all columns (or those given) say, in any order of rows, so a frame and its copy
    in another library have the same fingerprint.
    """
    if isinstance(source, Csv):
        source = source.path
    if isinstance(source, str | PathLike):
        return file_digest(Path(fspath(source)))
    with opened(source) as rows:
        wanted = tuple(rows.columns if columns is None else columns)
        Schema(quasi=wanted).check(rows.columns)
        found = rows.roll_up(wanted)
    whole = hashlib.sha256(b"kpareto table 1")
    every = np.ones(len(found.weights), dtype=np.bool_)
    codes = np.empty((len(found.weights), len(wanted)), dtype=np.int64)
    for place, (name, column) in enumerate(zip(wanted, found.columns, strict=True)):
        each = _dictionary(column, every)
        codes[:, place] = each.codes
        whole.update(repr((name, each.values)).encode())
    order, start = distinct_rows(codes)
    whole.update(codes[order[start]].astype("<i8").tobytes())
    whole.update(np.add.reduceat(found.weights[order], start).astype("<i8").tobytes() if len(start) else b"")
    return whole.hexdigest()
