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

from benchmarks.clock import Line, Time, apart, peak_bytes
from benchmarks.door import QUICK_ROWS, columns, schema, write
from kpareto.engines.postgres.connect import Postgres, connect
from kpareto.engines.read import read
from kpareto.errors import BadJob, MissingExtra
from kpareto.fronts.front import Front
from kpareto.fronts.problem import problem
from kpareto.releases.release import release
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.adult import adult, adult_hierarchies
from kpareto.tables.partition import Suppression
from kpareto.tables.table import Table
from kpareto.verifier.counting import file_digest

MANY = 1_000_000
LABELS = {"ks": [50], "turns": 1, "walks": 0}  # quick: what is measured is the release
Search = Callable[[Table], Front]
STEPS = ("roll-up", "front", "release")


def _time(work: Callable[[], object]) -> tuple[Time, object]:
    wall, cpu = time.perf_counter(), time.process_time()
    answer = work()
    return Time(time.perf_counter() - wall, time.process_time() - cpu, 1), answer


def bare(path: Path, target: Path) -> tuple[list[Time], int]:
    """DuckDB alone: the GROUP BY of the door, and the table written again as it is; and the most memory it took."""
    import duckdb

    names = ", ".join(f'"{name}"' for name in columns())
    with duckdb.connect() as engine:
        engine.execute("SET preserve_insertion_order = false")
        groups = f"SELECT count(*), sum(n) FROM (SELECT {names}, count(*) AS n FROM '{path}' GROUP BY ALL)"
        counted, _ = _time(lambda: engine.sql(groups).fetchall())
        written, _ = _time(lambda: engine.execute(f"COPY (SELECT * FROM '{path}') TO '{target}' (FORMAT parquet)"))
    return [counted, written], peak_bytes()


def hierarchy_trees() -> dict[str, object]:
    """The hierarchies; the drawn rows are a little younger and older than Adult's own."""
    trees: dict[str, object] = {**adult_hierarchies(), "age": {"intervals": [5, 10, 20, 40], "from": 0}}
    return {name: trees[name] for name in schema().quasi}


def ours(path: Path, target: Path, search: Search) -> tuple[list[Time], int, str]:
    """Read, a front, and the verified release of its best point with k of at least 5.

    Libraries are loaded, and compiled code with them, by a small table first, as the bare engine is loaded first.
    """
    small = path.with_name("small.parquet")
    write(small, 2_000)
    _measure_steps(small, target.with_name("small-out.parquet"), search)
    mine, told = _measure_steps(path, target, search)
    return mine, peak_bytes(), told


def scale(rows: int, quick: bool, search: Search | None = None) -> list[Line]:
    """Both, each in a process of its own, on one file."""
    rows = QUICK_ROWS if quick else rows
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder:
        path, out = Path(folder) / "people.parquet", Path(folder) / "out.parquet"
        apart(write, path, rows)
        file_digest(path)  # warms the disk
        alone, alone_peak = apart(bare, path, Path(folder) / "bare.parquet")
        mine, peak, told = apart(ours, path, out, search or _search_levels)
    lines = _lines(f"{rows:,} rows{_tell_search(search)}", rows, alone, mine, told)
    return [replace(line, peak=alone_peak if "bare" in line.work else peak) for line in lines]


def _search_levels(table: Table) -> Front:
    """The whole front of k and GLM in the lattice."""
    return run_plan(problem(table, ["k", "glm"], Suppression("cap-max-k", 0.01)))


def _search_labels(table: Table) -> Front:
    """A local recoding with classes of at least 50 rows, in which equal rows are divided between classes."""
    return run_plan(problem(table, ["k", "lm"], Suppression("none")), Plan("local", "local", options=LABELS))


def _measure_steps(source: object, target: object, search: Search = _search_levels) -> tuple[list[Time], str]:
    """The three steps, for rows that an engine holds; the release is counted again before it is there."""
    first, table = _time(lambda: read(source, schema(), "drop", hierarchies=hierarchy_trees()))
    second, front = _time(lambda: search(cast(Table, table)))
    point = cast(Front, front).choose(k=5)
    third, _ = _time(
        lambda: release(point, source, cast(str, target), limits={"k": 5}, warnings=lambda _alone, _how: ())
    )
    told = f"{point.table.distinct:,} distinct rows, {len(cast(Front, front))} points, k = {point.values['k']:g}"
    return [first, second, third], told


def _tell_search(search: Search | None) -> str:
    return "" if search is None else ", local"


def _warm(search: Search) -> None:
    """Load libraries and compiled code by a small table, as the bare engine is loaded before it is measured."""
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder:
        small = Path(folder) / "small.parquet"
        write(small, 2_000)
        _measure_steps(small, Path(folder) / "out.parquet", search)


def _tell_engine(alone: list[Time], mine: list[Time]) -> str:
    """Roll-up and release beside the GROUP BY and the write of the engine; the front is no work of the engine."""
    ratio = (mine[0].wall + mine[2].wall) / sum(each.wall for each in alone)
    return f"roll-up and release {ratio:.2f} x the engine's own GROUP BY and write"


def _lines(work: str, rows: int, alone: list[Time], mine: list[Time], told: str) -> list[Line]:
    ratio = sum(each.wall for each in mine) / sum(each.wall for each in alone)
    lines = [
        Line(f"{work}: bare GROUP BY", alone[0], rows, "rows", threads=2, peak=peak_bytes()),
        Line(f"{work}: bare write", alone[1], rows, "rows", threads=2, peak=peak_bytes()),
    ]
    for step, spent in zip(STEPS, mine, strict=True):
        note = f"all three together {ratio:.2f} x the bare engine; {told}" if step == STEPS[-1] else ""
        lines.append(Line(f"{work}: {step}", spent, rows, "rows", threads=2, peak=peak_bytes(), note=note))
    return lines


def grow_spark(rows: int, quick: bool, search: Search | None = None) -> list[Line]:
    """Rows in a local Spark; its own memory is not counted.

    Java compiles what it runs often, so both run once before they are measured, unless the rows are so many that this
    makes no difference.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra("pyspark is not installed. Install it with: pip install 'kpareto[spark]'.") from error
    rows, find = QUICK_ROWS if quick else rows, search or _search_levels
    _warm(find)
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder:
        path = Path(folder) / "people.parquet"
        apart(write, path, rows)
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = (builder.config("spark.sql.shuffle.partitions", "2") if quick else builder).getOrCreate()
        try:
            session.sparkContext.setLogLevel("ERROR")
            frame = session.read.parquet(str(path))
            frame.groupBy(*columns()).count().count()  # warms the machine up
            frame.write.parquet(f"{folder}/first")
            counted, _ = _time(lambda: frame.groupBy(*columns()).count().count())
            written, _ = _time(lambda: frame.write.parquet(f"{folder}/bare"))
            if rows <= MANY and not quick:
                _measure_steps(frame, f"{folder}/first-out/", find)
            mine, told = _measure_steps(frame, f"{folder}/out/", find)
        finally:
            session.stop()
    told = f"{told}; {_tell_engine([counted, written], mine)}"
    return _lines(f"Spark, {rows:,} rows{_tell_search(search)}", rows, [counted, written], mine, told)


def grow_postgres(rows: int, quick: bool, search: Search | None = None) -> list[Line]:
    """Rows in the PostgreSQL that KPARETO_BENCH_DATABASE gives the address of; its memory is not counted."""
    url = os.environ.get("KPARETO_BENCH_DATABASE")
    if url is None:
        raise BadJob(
            "Which database? Say it as KPARETO_BENCH_DATABASE=postgresql://user@host/database; the tables "
            "kpareto_bench, kpareto_bench_bare and kpareto_bench_out are made there and dropped."
        )
    rows = QUICK_ROWS if quick else rows
    tables = ("kpareto_bench", "kpareto_bench_bare", "kpareto_bench_out")
    names = ", ".join(f'"{name}"' for name in columns())
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder, connect(Postgres(url, tables[0])) as link:
        path = Path(folder) / "people.csv"
        apart(write, path, rows)
        heads = [*adult("train").column_names]
        link.execute(f"CREATE TABLE {tables[0]} ({', '.join(f'{quote_name(name)} text' for name in heads)})")
        with link.cursor().copy(f"COPY {tables[0]} FROM STDIN (FORMAT csv, HEADER)") as door, path.open("rb") as stream:
            while piece := stream.read(1 << 20):
                door.write(piece)
        link.commit()  # the settings of ours end with it: the bare engine has its own
        try:
            link.execute(f"ANALYZE {tables[0]}")
            link.execute(f"SELECT count(*) FROM {tables[0]}").fetchall()  # the first look at new rows writes them again
            groups = f"SELECT count(*) FROM (SELECT {names}, count(*) FROM {tables[0]} GROUP BY {names}) AS g"
            counted, _ = _time(lambda: link.execute(groups).fetchall())
            link.execute("SET LOCAL enable_sort = off")
            hashed, _ = _time(lambda: link.execute(groups).fetchall())
            written, _ = _time(lambda: link.execute(f"CREATE TABLE {tables[1]} AS SELECT * FROM {tables[0]}"))
            link.commit()
            mine, told = _measure_steps(Postgres(url, tables[0]), tables[2], search or _search_levels)
        finally:
            link.rollback()
            link.execute(f"DROP TABLE IF EXISTS {', '.join(tables)}")
            link.commit()
    told = (
        f"{told}; {_tell_engine([counted, written], mine)} as it comes; told to hash, its GROUP BY takes "
        f"{hashed.wall:.2f} s, and it is {_tell_engine([hashed, written], mine)}"
    )
    return _lines(f"PostgreSQL, {rows:,} rows{_tell_search(search)}", rows, [counted, written], mine, told)


def quote_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name + '"'


spark = partial(grow_spark, MANY)
spark_10_000_000 = partial(grow_spark, 10 * MANY)
postgres = partial(grow_postgres, MANY)
postgres_10_000_000 = partial(grow_postgres, 10 * MANY)
local_rows = partial(scale, 10 * MANY, search=_search_labels)
local_spark = partial(grow_spark, 10 * MANY, search=_search_labels)
local_postgres = partial(grow_postgres, 10 * MANY, search=_search_labels)
rows_100_000 = partial(scale, 100_000)
rows_1_000_000 = partial(scale, 1_000_000)
rows_10_000_000 = partial(scale, 10_000_000)
rows_100_000_000 = partial(scale, 100_000_000)
