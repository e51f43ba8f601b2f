"""Large tables: roll-up, front and release of 10^5 to 10^8 rows, beside what the bare engine needs for one GROUP BY and
one write of the same table."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from kpareto.bench.clock import Line, Time, apart, peak_bytes
from kpareto.bench.door import QUICK_ROWS, columns, schema, write
from kpareto.counting import file_digest
from kpareto.datasets import adult, adult_hierarchies
from kpareto.errors import BadJob, MissingExtra
from kpareto.frames import read
from kpareto.front import Front
from kpareto.partition import Suppression
from kpareto.postgres import Postgres, connected
from kpareto.problem import problem
from kpareto.release import release
from kpareto.run import run_exact
from kpareto.table import Table

MANY = 1_000_000
STEPS = ("roll-up", "front", "release")


def _timed(work: Callable[[], object]) -> tuple[Time, object]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return Time(time.perf_counter() - wall, time.process_time() - cpu, 1), found


def bare(path: Path, target: Path) -> tuple[list[Time], int]:
    """DuckDB alone: the GROUP BY of the door, and the table written again as it is; and the most memory it took."""
    import duckdb

    names = ", ".join(f'"{name}"' for name in columns())
    with duckdb.connect() as engine:
        engine.execute("SET preserve_insertion_order = false")
        groups = f"SELECT count(*), sum(n) FROM (SELECT {names}, count(*) AS n FROM '{path}' GROUP BY ALL)"
        counted, _ = _timed(lambda: engine.sql(groups).fetchall())
        written, _ = _timed(lambda: engine.execute(f"COPY (SELECT * FROM '{path}') TO '{target}' (FORMAT parquet)"))
    return [counted, written], peak_bytes()


def _trees() -> dict[str, object]:
    """The hierarchies; the drawn rows are a little younger and older than Adult's own."""
    trees: dict[str, object] = {**adult_hierarchies(), "age": {"intervals": [5, 10, 20, 40], "from": 0}}
    return {name: trees[name] for name in schema().quasi}


def ours(path: Path, target: Path) -> tuple[list[Time], int, str]:
    """Read, the whole k-GLM front, and the verified release of its best point with k of at least 5.

    Libraries are loaded, and compiled code with them, by a small table first, as the bare engine is loaded first.
    """
    small = path.with_name("small.parquet")
    write(small, 2_000)
    _found(small, target.with_name("small-out.parquet"))
    mine, told = _found(path, target)
    return mine, peak_bytes(), told


def scale(rows: int, quick: bool) -> list[Line]:
    """Both, each in a process of its own, on one file."""
    rows = QUICK_ROWS if quick else rows
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder:
        path, out = Path(folder) / "people.parquet", Path(folder) / "out.parquet"
        apart(write, path, rows)
        file_digest(path)  # warms the disk
        alone, alone_peak = apart(bare, path, Path(folder) / "bare.parquet")
        mine, peak, told = apart(ours, path, out)
    lines = _lines(f"{rows:,} rows", rows, alone, mine, told)
    return [replace(line, peak=alone_peak if "bare" in line.work else peak) for line in lines]


def _found(source: object, target: object) -> tuple[list[Time], str]:
    """The three steps, for rows that an engine holds."""
    first, table = _timed(lambda: read(source, schema(), hierarchies=_trees()))
    second, front = _timed(lambda: run_exact(problem(cast(Table, table), ["k", "glm"], Suppression("cap-max-k", 0.01))))
    point = cast(Front, front).choose(k=5)
    third, _ = _timed(lambda: release(point, source, cast(str, target), limits={"k": 5}, warnings=lambda _alone: ()))
    told = f"{point.table.distinct:,} distinct rows, {len(cast(Front, front))} points, k = {point.values['k']:g}"
    return [first, second, third], told


def _lines(work: str, rows: int, alone: list[Time], mine: list[Time], told: str) -> list[Line]:
    ratio = sum(each.wall for each in mine) / sum(each.wall for each in alone)
    lines = [
        Line(f"{work}: bare GROUP BY", alone[0], rows, "rows", threads=2, peak=peak_bytes()),
        Line(f"{work}: bare write", alone[1], rows, "rows", threads=2, peak=peak_bytes()),
    ]
    for step, found in zip(STEPS, mine, strict=True):
        note = f"all three together {ratio:.2f} x the bare engine; {told}" if step == STEPS[-1] else ""
        lines.append(Line(f"{work}: {step}", found, rows, "rows", threads=2, peak=peak_bytes(), note=note))
    return lines


def spark(quick: bool) -> list[Line]:
    """A million rows in a local Spark; its own memory is not counted."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra("pyspark is not installed. Install it with: pip install 'kpareto[spark]'.") from error
    rows = QUICK_ROWS if quick else MANY
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder:
        path = Path(folder) / "people.parquet"
        apart(write, path, rows)
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        try:
            session.sparkContext.setLogLevel("ERROR")
            frame = session.read.parquet(str(path))
            frame.groupBy(*columns()).count().count()  # warms the machine up
            counted, _ = _timed(lambda: frame.groupBy(*columns()).count().count())
            written, _ = _timed(lambda: frame.write.parquet(f"{folder}/bare"))
            mine, told = _found(frame, f"{folder}/out/")
        finally:
            session.stop()
    return _lines(f"Spark, {rows:,} rows", rows, [counted, written], mine, told)


def postgres(quick: bool) -> list[Line]:
    """A million rows in the PostgreSQL that KPARETO_BENCH_DATABASE gives the address of; its memory is not counted."""
    url = os.environ.get("KPARETO_BENCH_DATABASE")
    if url is None:
        raise BadJob(
            "Which database? Say it as KPARETO_BENCH_DATABASE=postgresql://user@host/database; the tables "
            "kpareto_bench, kpareto_bench_bare and kpareto_bench_out are made there and dropped."
        )
    rows = QUICK_ROWS if quick else MANY
    tables = ("kpareto_bench", "kpareto_bench_bare", "kpareto_bench_out")
    names = ", ".join(f'"{name}"' for name in columns())
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder, connected(Postgres(url, tables[0])) as link:
        path = Path(folder) / "people.csv"
        apart(write, path, rows)
        heads = [*adult("train").column_names]
        link.execute(f"CREATE TABLE {tables[0]} ({', '.join(f'{quoted(name)} text' for name in heads)})")
        with link.cursor().copy(f"COPY {tables[0]} FROM STDIN (FORMAT csv, HEADER)") as door:
            door.write(path.read_bytes())
        link.commit()
        try:
            link.execute(f"ANALYZE {tables[0]}")
            groups = f"SELECT count(*) FROM (SELECT {names}, count(*) FROM {tables[0]} GROUP BY {names}) AS g"
            counted, _ = _timed(lambda: link.execute(groups).fetchall())
            written, _ = _timed(lambda: link.execute(f"CREATE TABLE {tables[1]} AS SELECT * FROM {tables[0]}"))
            link.commit()
            mine, told = _found(Postgres(url, tables[0]), tables[2])
        finally:
            link.rollback()
            link.execute(f"DROP TABLE IF EXISTS {', '.join(tables)}")
            link.commit()
    return _lines(f"PostgreSQL, {rows:,} rows", rows, [counted, written], mine, told)


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name + '"'


rows_100_000 = partial(scale, 100_000)
rows_1_000_000 = partial(scale, 1_000_000)
rows_10_000_000 = partial(scale, 10_000_000)
rows_100_000_000 = partial(scale, 100_000_000)
