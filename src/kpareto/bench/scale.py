"""Large tables: roll-up, front and release of 10^5 to 10^8 rows, beside what the bare engine needs for one GROUP BY and
one write of the same table."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kpareto.bench.clock import Line, Time, apart, peak_bytes
from kpareto.bench.door import QUICK_ROWS, columns, schema, write
from kpareto.datasets import adult_hierarchies
from kpareto.frames import read
from kpareto.front import Front
from kpareto.partition import Suppression
from kpareto.problem import problem
from kpareto.release import release
from kpareto.run import run_exact

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


def ours(path: Path, target: Path) -> tuple[list[Time], int, str]:
    """Read, the whole k-GLM front, and the verified release of its best point with k of at least 5."""
    # The drawn rows are a little younger and older than Adult's own.
    trees = {**adult_hierarchies(), "age": {"intervals": [5, 10, 20, 40], "from": 0}}
    chosen = {name: trees[name] for name in schema().quasi}
    first, table = _timed(lambda: read(path, schema(), hierarchies=chosen))
    second, front = _timed(lambda: run_exact(problem(table, ["k", "glm"], Suppression("cap-max-k", 0.01))))  # type: ignore[arg-type]
    assert isinstance(front, Front)  # noqa: S101 (for the type checker)
    point = front.choose(k=5)
    third, _ = _timed(lambda: release(point, path, target, limits={"k": 5}, warnings=lambda _alone: ()))
    told = f"{point.table.distinct:,} distinct rows, {len(front)} points, k = {point.values['k']:g}"
    return [first, second, third], peak_bytes(), told


def scale(rows: int, quick: bool) -> list[Line]:
    """Both, each in a process of its own, on one file."""
    rows = QUICK_ROWS if quick else rows
    with tempfile.TemporaryDirectory(prefix="kpareto-scale-") as folder:
        path, out = Path(folder) / "people.parquet", Path(folder) / "out.parquet"
        apart(write, path, rows)
        apart(ours, path, out)  # compiles, and warms the disk
        alone, alone_peak = apart(bare, path, Path(folder) / "bare.parquet")
        mine, peak, told = apart(ours, path, out)
    ratio = sum(each.wall for each in mine) / sum(each.wall for each in alone)
    work = f"{rows:,} rows"
    lines = [
        Line(f"{work}: bare GROUP BY", alone[0], rows, "rows", threads=2, peak=alone_peak),
        Line(f"{work}: bare write", alone[1], rows, "rows", threads=2, peak=alone_peak),
    ]
    for step, found in zip(STEPS, mine, strict=True):
        note = f"all three together {ratio:.2f} x the bare engine; {told}" if step == STEPS[-1] else ""
        lines.append(Line(f"{work}: {step}", found, rows, "rows", threads=2, peak=peak, note=note))
    return lines


rows_100_000 = partial(scale, 100_000)
rows_1_000_000 = partial(scale, 1_000_000)
rows_10_000_000 = partial(scale, 10_000_000)
rows_100_000_000 = partial(scale, 100_000_000)
