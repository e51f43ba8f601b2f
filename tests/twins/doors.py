"""The same rows through every door, and a slow twin of the roll-up made of dicts and Counters.

A ``Sheet`` is a table as a person would type it: per column Python values of one type, None where there is none.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from kpareto.fronts.problem import problem
from kpareto.searches.run import run_plan
from kpareto.tables.schema import Schema
from kpareto.tables.table import Counts, Table

Value = str | int | float | bool | dt.date | dt.datetime | None
MARKS = ("?", "")


@dataclass(frozen=True)
class Sheet:
    """Columns of equal length, in order."""

    columns: Mapping[str, tuple[Value, ...]]

    @property
    def rows(self) -> list[tuple[Value, ...]]:
        """The rows, as tuples."""
        return list(zip(*self.columns.values(), strict=True))

    def shuffled(self, order: Sequence[int]) -> Sheet:
        """The same rows in another order."""
        return Sheet({name: tuple(values[place] for place in order) for name, values in self.columns.items()})


ARROW_TYPES = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
}


def arrow(sheet: Sheet) -> pa.Table:
    """The sheet as a pyarrow table."""
    arrays = []
    for values in sheet.columns.values():
        kinds = {type(value) for value in values if value is not None}
        arrays.append(pa.array(values, type=ARROW_TYPES[kinds.pop()] if kinds else pa.string()))
    return pa.table(arrays, names=list(sheet.columns))


def csv_bytes(sheet: Sheet, separator: str = ",", newline: str = "\r\n") -> bytes:
    """The sheet as a text file, values written as the twin writes them."""
    text = io.StringIO(newline="")
    # Python leaves a lone carriage return unquoted where lines end otherwise, and then it is one more line end.
    writer = csv.writer(text, delimiter=separator, lineterminator=newline, quoting=csv.QUOTE_MINIMAL)
    if newline != "\r\n":
        writer = csv.writer(text, delimiter=separator, lineterminator=newline, quoting=csv.QUOTE_ALL)
    writer.writerow(sheet.columns)
    writer.writerows([twin_text(value) or "" for value in row] for row in sheet.rows)
    return text.getvalue().encode()


def written(path: Path, data: bytes) -> Path:
    """A file with these bytes."""
    path.write_bytes(data)
    return path


def parquet(sheet: Sheet, path: Path) -> Path:
    """The sheet as a Parquet file."""
    pq.write_table(arrow(sheet), path)
    return path


def parts(sheet: Sheet, folder: Path) -> Path:
    """The sheet as a folder of two Parquet parts and a file that is none."""
    folder.mkdir()
    whole = arrow(sheet)
    half = whole.num_rows // 2
    pq.write_table(whole.slice(0, half), folder / "part-0.parquet")
    pq.write_table(whole.slice(half), folder / "part-1.parquet")
    (folder / "_SUCCESS").write_bytes(b"")
    return folder


def indexed(sheet: Sheet) -> pd.DataFrame:
    """The sheet as a pandas frame with a named index of equal entries."""
    frame = pd.DataFrame(dict(sheet.columns))
    return frame.set_index(pd.MultiIndex.from_arrays([[7] * len(frame), [None] * len(frame)], names=["a", "b"]))


# Every door by name; each takes the sheet and an empty folder.
DOORS: dict[str, Callable[[Sheet, Path], object]] = {
    "pyarrow": lambda sheet, _: arrow(sheet),
    "pandas": lambda sheet, _: pd.DataFrame(dict(sheet.columns)),
    "pandas objects": lambda sheet, _: pd.DataFrame(dict(sheet.columns), dtype=object),
    "pandas categories": lambda sheet, _: pd.DataFrame(dict(sheet.columns)).astype("category"),
    "pandas with an index": lambda sheet, _: indexed(sheet),
    "pandas on arrow": lambda sheet, _: arrow(sheet).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda sheet, _: pl.DataFrame(arrow(sheet)),
    "polars lazy": lambda sheet, _: pl.LazyFrame(arrow(sheet)),
    "DuckDB": lambda sheet, _: duckdb.connect().from_arrow(arrow(sheet)),
    "CSV": lambda sheet, folder: written(folder / "x.csv", csv_bytes(sheet)),
    "TSV": lambda sheet, folder: written(folder / "x.tsv", csv_bytes(sheet, "\t", "\n")),
    "CSV, packed": lambda sheet, folder: written(folder / "x.csv.gz", gzip.compress(csv_bytes(sheet, ";", "\n"))),
    "Parquet": lambda sheet, folder: parquet(sheet, folder / "x.parquet"),
    "Parquet parts": lambda sheet, folder: parts(sheet, folder / "parts"),
}


def twin_text(value: Value) -> str | None:
    """The text of a value, spelled out."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return {True: "true", False: "false"}[value]
    if isinstance(value, dt.datetime):
        midnight = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        if midnight:
            return f"{value.year:04}-{value.month:02}-{value.day:02}"
        text = value.strftime("T%H:%M:%S.%f")
        while text[-1] in "0." and "." in text:
            text = text[:-1]
        return f"{value.year:04}-{value.month:02}-{value.day:02}" + text
    if isinstance(value, dt.date):
        return f"{value.year:04}-{value.month:02}-{value.day:02}"
    if isinstance(value, float):
        return repr(value)[:-2].replace("-0", "0") if repr(value) in ("0.0", "-0.0") else _digits(value)
    if isinstance(value, int):
        return str(value)
    while value[:1] in (" ", "\t", "\r", "\n") and value:
        value = value[1:]
    while value[-1:] in (" ", "\t", "\r", "\n") and value:
        value = value[:-1]
    return value


def _digits(value: float) -> str:
    shortest = repr(value)
    return shortest[:-2] if shortest.endswith(".0") else shortest


NUMERAL = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def twin_order(texts: set[str]) -> list[str]:
    """Texts in order: by size where all are numbers, else by code points (ISO dates sort as they follow)."""
    if all(NUMERAL.fullmatch(text) for text in texts):
        return sorted(texts, key=lambda text: (float(text), text))
    return sorted(texts)


@dataclass(frozen=True)
class Twin:
    """What a Table should say, in plain words."""

    rows: Counter[tuple[str, ...]]  # quasi-identifiers -> rows
    extras: dict[str, Counter[tuple[tuple[str, ...], str]]]  # column -> (quasi-identifiers, value) -> rows
    values: dict[str, list[str]]  # column -> its values in order
    dropped: int


def twin(sheet: Sheet, schema: Schema, missing: str) -> Twin:
    """Roll up row by row."""
    extra = [*schema.sensitive, *schema.target, *schema.persons]
    names = list(dict.fromkeys([*schema.quasi, *extra]))
    result = Twin(Counter(), {name: Counter() for name in extra}, {name: [] for name in names}, 0)
    dropped = 0
    seen: dict[str, set[str]] = {name: set() for name in names}
    for row in sheet.rows:
        cells = {name: twin_text(value) for name, value in zip(sheet.columns, row, strict=True) if name in names}
        cells = {name: None if text in MARKS else text for name, text in cells.items()}
        if missing == "drop" and None in cells.values():
            dropped += 1
            continue
        filled = {name: "(missing)" if text is None else text for name, text in cells.items()}
        key = tuple(filled[name] for name in schema.quasi)
        result.rows[key] += 1
        for name in extra:
            if name not in schema.persons or cells[name] is not None:  # a row without an id is nobody's
                result.extras[name][key, filled[name]] += 1
        for name in names:
            if name not in schema.persons or cells[name] is not None:
                seen[name].add(filled[name])
    for name in names:
        result.values[name] += twin_order(seen[name] - {"(missing)"}) + ["(missing)"] * ("(missing)" in seen[name])
    return Twin(result.rows, result.extras, result.values, dropped)


def told(table: Table) -> Twin:
    """What a Table says, in the twin's words."""
    leaves = [hierarchy.leaves for hierarchy in table.hierarchies]
    keys = [tuple(leaves[place][code] for place, code in enumerate(row)) for row in table.codes.tolist()]
    rows = Counter(dict(zip(keys, table.weights.tolist(), strict=True)))
    assert len(rows) == len(keys), "a distinct row occurs twice"
    extras: dict[str, Counter[tuple[tuple[str, ...], str]]] = {}
    values = {hierarchy.name: list(hierarchy.leaves) for hierarchy in table.hierarchies}
    for counts in every_counts(table):
        values[counts.name] = list(counts.values)
        extras[counts.name] = Counter()
        for row, code, count in zip(counts.row.tolist(), counts.code.tolist(), counts.count.tolist(), strict=True):
            extras[counts.name][keys[row], counts.values[code]] += count
    return Twin(rows, extras, values, table.dropped)


def every_counts(table: Table) -> list[Counts]:
    """The counts of all further columns."""
    return [*table.sensitive, *table.targets, *([] if table.persons is None else [table.persons])]


def bits(table: Table) -> list[object]:
    """All a Table holds, for comparing two of them bit for bit."""

    def whole(array: np.ndarray | None) -> object:
        return None if array is None else (array.dtype.str, array.shape, array.tobytes())

    found: list[object] = [whole(table.codes), whole(table.weights), table.dropped, table.missing, table.domain]
    for h in table.hierarchies:
        found += [h.name, h.leaves, h.labels, whole(h.groups), whole(h.spans), h.ordered, h.dates]
    for counts in every_counts(table):
        found += [counts.name, counts.values, *map(whole, (counts.start, counts.code, counts.count, counts.numbers))]
    return found


WORDS = [
    *"ab?",
    "B",
    "",
    " a",
    "a ",
    "b\t",
    " 39 ",
    "39",
    "39.0",
    "4.5",
    "-1",
    "1e3",
    "02139",
    "2139",
    "x,y",
    'say "hi"',
]
ACCENTS = ["é", "e\u0301"]  # one character, and two that look like it
texts = st.one_of(
    st.sampled_from(WORDS + ACCENTS),
    st.text(st.sampled_from("ab07 ,;|\t\"'\n\r.-?é中😀"), max_size=4),
    st.text(max_size=3),
).filter(lambda text: "\0" not in text)
KINDS: list[st.SearchStrategy[Value]] = [
    texts,
    texts,
    st.sampled_from(["a", " a", "a\t", "\r\na"]),  # one value
    st.sampled_from(["02139", "10001", "10002"]),
    st.integers(-3, 120),
    st.integers(-(2**63), 2**63 - 1),
    st.one_of(st.integers(-3, 12).map(float), st.sampled_from([0.5, -0.0, 1e15, 1e16, 1e300, 1e-7, 0.1])),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    st.one_of(
        st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),  # noqa: DTZ001 (moments without a zone)
        st.sampled_from([dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, 12, 30)]),  # noqa: DTZ001
    ),
]


@st.composite
def columns(draw: st.DrawFn, rows: int) -> tuple[Value, ...]:
    """Values of one kind, with repeats; some missing, but not integers so large that pandas' floats lose them."""
    kind = draw(st.sampled_from(KINDS))
    few = draw(st.lists(kind, min_size=1, max_size=4))
    cell: st.SearchStrategy[Value] = st.sampled_from(few)
    exact = all(not isinstance(value, int) or abs(value) < 2**53 for value in few)
    if exact and draw(st.booleans()):
        cell = st.one_of(cell, st.none())
    return tuple(draw(st.lists(cell, min_size=rows, max_size=rows)))


@st.composite
def sheets(draw: st.DrawFn, most_rows: int = 12) -> tuple[Sheet, Schema]:
    """A sheet and the roles of its columns; one column at least is plain and must not be looked at."""
    rows = draw(st.integers(1, most_rows))
    quasi = [f"q{place}" for place in range(draw(st.integers(1, 3)))]
    names = [*quasi, "s", "t", "p", "plain"]
    found = {name: draw(columns(rows)) for name in draw(st.permutations(names))}
    roles = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    schema = Schema(
        quasi=tuple(quasi),
        sensitive=("s",) if roles[0] else (),
        target=("t",) if roles[1] else (),
        person="p" if roles[2] else None,
        spellings="exact",  # the twin tells texts apart
    )
    return Sheet(found), schema


def front_bits(table: Table) -> tuple[bytes, list[dict[str, object]]]:
    """The exact front of a table, to the last bit."""
    found = run_plan(problem(table, ["k", "glm"], 0.1))
    return found.numbers.keys.tobytes(), found.to_dict()["points"]
