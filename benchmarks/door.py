"""Benchmarks of the door: a million rows of a file or frame into a Table, beside a bare GROUP BY of the same rows."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.clock import Line, apart, best, peak_bytes
from kpareto.engines.read import read
from kpareto.errors import MissingExtra
from kpareto.tables.adult import adult, adult_schema
from kpareto.tables.schema import Schema

ROWS, QUICK_ROWS, MANY_ROWS = 1_000_000, 20_000, 10_000_000


def schema() -> Schema:
    """The eight quasi-identifiers of the published lattice, and occupation."""
    return adult_schema()


def columns() -> list[str]:
    """The columns a Table is made of here."""
    return [*schema().quasi, *schema().sensitive]


def write(path: Path, rows: int) -> None:
    """Rows of Adult drawn at random, each a few years older or younger, as Parquet or CSV; all 15 columns."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(1)
    whole = adult("train")
    step = 1_000_000
    writer = None
    for start in range(0, rows, step):
        count = min(step, rows - start)
        drawn = whole.take(pa.array(rng.integers(whole.num_rows, size=count)))
        ages = drawn.column("age").to_numpy() + rng.integers(-2, 3, size=count)
        drawn = drawn.set_column(0, "age", pa.array(ages))
        if writer is None:
            kind = pa.parquet.ParquetWriter if path.suffix == ".parquet" else pa.csv.CSVWriter
            writer = kind(str(path), drawn.schema)
        writer.write_table(drawn)
    if writer is not None:
        writer.close()


def _bare(path: Path) -> object:
    """What DuckDB alone needs for the GROUP BY; the groups are counted there, not fetched."""
    import duckdb

    names = ", ".join(f'"{name}"' for name in columns())
    groups = f"SELECT {names}, count(*) AS rows FROM '{path}' GROUP BY ALL"
    with duckdb.connect() as engine:
        return engine.sql(f"SELECT count(*), sum(rows) FROM ({groups})").fetchall()


def _both(path: Path, kind: str, rows: int, repeats: int) -> list[Line]:
    """The bare GROUP BY and ours, in one process."""
    bare = best(lambda: _bare(path), repeats)
    mine = best(lambda: read(path, schema(), "drop"), repeats)
    table = read(path, schema(), "drop")
    note = f"{mine.wall / bare.wall:.2f} x the bare GROUP BY; {table.distinct:,} distinct"
    return [
        Line(f"{kind}, {rows:,} rows: bare DuckDB GROUP BY", bare, rows, "rows", threads=2, peak=peak_bytes()),
        Line(f"{kind}, {rows:,} rows: Table", mine, rows, "rows", threads=2, note=note, peak=peak_bytes()),
    ]


def file(kind: str, rows: int, quick: bool) -> list[Line]:
    """A file of one kind."""
    rows = QUICK_ROWS if quick else rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"people.{kind}"
        apart(write, path, rows)
        return _both(path, kind, rows, 1 if quick else 3)


def frame(library: str, quick: bool) -> list[Line]:
    """A frame that is already in memory."""
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        apart(write, path, rows)
        people = _frame(library, path)
        time = best(lambda: read(people, schema(), "drop"), 1 if quick else 3)
    return [Line(f"{library}, {rows:,} rows: Table", time, rows, "rows", threads=2, peak=peak_bytes())]


def _frame(library: str, path: Path) -> object:
    try:
        if library == "pandas":
            import pandas as pd

            return pd.read_parquet(path, columns=columns())
        import polars as pl

        return pl.read_parquet(path, columns=columns())
    except ImportError as error:
        raise MissingExtra(f"{library} is not installed. Install it with: pip install 'kpareto[{library}]'.") from error


parquet = partial(file, "parquet", ROWS)
csv = partial(file, "csv", ROWS)
parquet_of_many = partial(file, "parquet", MANY_ROWS)
pandas_frame = partial(frame, "pandas")
polars_frame = partial(frame, "polars")
