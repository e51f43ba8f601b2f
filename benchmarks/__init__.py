"""Time the main jobs on this machine, beside what others and our own prototypes needed.

``make bench`` runs them all; ``make bench ARGS='lattice cuts'`` runs some. To add a benchmark, write a function
``name(quick) -> list[Line]`` in a file of this folder and give it one row in BENCHMARKS.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.clock import Line, apart, machine
from kpareto.atomic import write_whole
from kpareto.errors import BadJob, did_you_mean
from kpareto.faces.console import remark, reporting, show_table


@dataclass(frozen=True)
class Benchmark:
    """Several functions, each run in a process of its own, as ``file.function`` of this folder."""

    what: str
    cases: tuple[str, ...]
    always: bool = True  # false: only when named


BENCHMARKS: Mapping[str, Benchmark] = {
    "lattice": Benchmark(
        "all nodes of the Adult lattice, by roll-up",
        (
            "lattice.k_and_glm",
            "lattice.seven",
            "lattice.seven_of_occupation",
            "lattice.seven_of_half",
            "lattice.closeness",
        ),
    ),
    "lattice-wide": Benchmark(
        "hierarchies that declare far more than occurs, keys of more than one word, persons and masked rows",
        ("lattice.postcodes", "lattice.widths", "lattice.units"),
        always=False,
    ),
    "front": Benchmark(
        "whole fronts of Adult, from a loaded table and from the shell",
        ("fronts.fronts", "fronts.optimum", "fronts.compare_pruning", "fronts.mondrian", "fronts.shell"),
    ),
    "front-needed": Benchmark(
        "the default suppression rule beside the papers', Adult and 10^6 distinct rows",
        ("fronts.as_needed",),
        always=False,
    ),
    "front-large": Benchmark("the whole front of a lattice of 11,468,800 nodes", ("fronts.large",), always=False),
    "front-large-values": Benchmark(
        "the same lattice with l, t, CM and DCN as objectives", ("fronts.large_with_values",), always=False
    ),
    "seconds": Benchmark(
        "searches of large tables that are given a time",
        ("limits.exact", "limits.genetic", "limits.local", "limits.wide", "limits.long"),
        always=False,
    ),
    "cuts": Benchmark(
        "recodings by cuts, as genetic searches count them", ("cuts.bits_105", "cuts.bits_157", "cuts.uses")
    ),
    "genitor": Benchmark(
        "GENITOR over cuts, compiled: the papers' whole budgets",
        ("genetic.genitor_30000", "genetic.genitor_500000_lm", "genetic.genitor_500000_cm"),
    ),
    "nsga2": Benchmark("NSGA-II over cuts: the paper's whole budget", ("genetic.nsga2_50000",)),
    "improve": Benchmark("recutting columns until nothing improves", ("genetic.improve_lm",), always=False),
    "local": Benchmark(
        "local recoding for six k, with the bound and what others lose beside it",
        ("local.adult_curve", "local.adult_intervals", "local.fars_curve", "local.census_curve"),
        always=False,
    ),
    "local-arx": Benchmark("the same of Adult with ARX's hierarchies", ("local.arx_curve",), always=False),
    "projects": Benchmark(
        "projects of ARX to a first release, by levels and local", ("local.arx_projects",), always=False
    ),
    "local-large": Benchmark(
        "the verified release of local recoding, 10^4 to 10^6 distinct rows",
        ("local.release_10_000", "local.release_100_000", "local.release_1_000_000"),
        always=False,
    ),
    "use": Benchmark(
        "how far off counts are, by three models and by Mondrian, and what one-way counts tell an attacker",
        ("use.adult", "use.diabetes", "use.attacker"),
        always=False,
    ),
    "utility": Benchmark(
        "what kpareto utility measures, of Adult and of 10^4 to 10^6 distinct rows",
        ("use.utility_adult", "use.utility_10_000", "use.utility_100_000", "use.utility_1_000_000"),
        always=False,
    ),
    "private": Benchmark(
        "what differential privacy costs on Adult, the whole lattice against a walk",
        ("private.adult", "private.million"),
        always=False,
    ),
    "start": Benchmark("a new process, compiled code cached", ("start.bare", "start.first_count")),
    "start-cold": Benchmark("a new process that must compile first", ("start.cold",), always=False),
    "door": Benchmark(
        "a million rows into a Table", ("door.parquet", "door.csv", "door.pandas_frame", "door.polars_frame")
    ),
    "door-many": Benchmark("ten million rows into a Table", ("door.parquet_of_many",), always=False),
    "scale": Benchmark(
        "10^5 to 10^7 rows: roll-up, front and release beside the bare engine",
        ("scale.rows_100_000", "scale.rows_1_000_000", "scale.rows_10_000_000"),
        always=False,
    ),
    "scale-spark": Benchmark("10^6 rows in a local Spark, beside Spark alone", ("scale.spark",), always=False),
    "scale-postgres": Benchmark(
        "10^6 rows in PostgreSQL, beside the database alone", ("scale.postgres",), always=False
    ),
    "scale-spark-10m": Benchmark("the same with 10^7 rows in Spark", ("scale.spark_10_000_000",), always=False),
    "scale-postgres-10m": Benchmark(
        "the same with 10^7 rows in PostgreSQL", ("scale.postgres_10_000_000",), always=False
    ),
    "scale-local": Benchmark(
        "10^7 rows: the release of a local recoding beside the bare engine", ("scale.local_rows",), always=False
    ),
    "scale-local-spark": Benchmark("the same in a local Spark", ("scale.local_spark",), always=False),
    "scale-local-postgres": Benchmark("the same in PostgreSQL", ("scale.local_postgres",), always=False),
    "scale-100m": Benchmark("the same with 10^8 rows", ("scale.rows_100_000_000",), always=False),
    "growth": Benchmark(
        "time and memory against rows, distinct rows, quasi-identifiers and sensitive values, with fitted exponents",
        ("growth.rows", "growth.distinct", "growth.columns", "growth.sensitive_values"),
        always=False,
    ),
    "growth-large": Benchmark(
        "10^8 rows; 3 and 10 millions of distinct rows: k; k and l; k and t",
        ("growth.many_rows", "growth.many_distinct"),
        always=False,
    ),
    "page": Benchmark(
        "a table of 200,000 rows and 42 columns on the page: open, first points, Stop, the complete front",
        ("page.census",),
        always=False,
    ),
    "page-roles": Benchmark(
        "eight roles back to back on the page, 61,697 x 12 and 160,000 x 48: what the server does, and in Chromium",
        ("page.roles", "page.clicked_roles"),
        always=False,
    ),
    "columns": Benchmark("a release by few of many columns", ("page.six_of_many",), always=False),
    "memory": Benchmark("the most memory the lattice takes", ("lattice.memory",)),
}

COLUMNS = (
    "benchmark",
    "work",
    "threads",
    "time",
    "CPU",
    "per second",
    "peak MB",
    "prototype",
    "bar",
    "goal",
    "reached",
)


def run(
    names: Sequence[str] = (),
    json_file: str | None = None,
    quiet: bool = False,
    quick: bool = False,
    plots: str | None = None,
) -> None:
    """Run the benchmarks and print a table, or JSON where asked; ``quick`` takes tiny sizes and proves nothing.

    ``plots`` is a folder that gets the curves of growth as ``growth.svg``, and those of use as ``use.svg``.
    """
    chosen = choose(names)
    if json_file not in (None, "-") and not Path(str(json_file)).absolute().parent.is_dir():
        raise BadJob(f"The folder of {str(json_file)!r} does not exist. Make it first, or give another file.")
    if plots is not None and not Path(plots).is_dir():
        raise BadJob(f"The folder {plots!r} does not exist. Make it first, or give another one.")
    before = machine()
    lines_of = measure(chosen, quiet, quick)
    grown = [line for name in ("growth", "growth-large") for line in lines_of.get(name, [])]
    used = [line for line in lines_of.get("use", []) if "control" in line.numbers]
    for place in [] if plots is None else _draw(grown, used, Path(plots)):
        remark(f"Plots: {place}", quiet)
    answer = json.dumps(as_json(lines_of, before, quick), indent=1)
    if json_file == "-":
        click.echo(answer)
        return
    show(lines_of)
    if json_file is not None:
        write_whole(json_file, answer + "\n")
    load = before["load_average"]
    remark(f"Wall and CPU seconds (all threads), best of several repeats; load average at the start: {load}.", quiet)
    for name, lines in lines_of.items():
        for line in lines:
            if line.note:
                remark(f"{name}, {line.work}, {line.threads} thread{'s' * (line.threads > 1)}: {line.note}.", quiet)


def _draw(grown: Sequence[Line], used: Sequence[Line], folder: Path) -> list[Path]:
    """The curves of growth and of use, in a folder that is there."""
    from benchmarks.growth import draw_growth
    from benchmarks.use import draw_use

    drawn = {"growth.svg": (draw_growth, grown), "use.svg": (draw_use, used)}
    for name, (draw, lines) in drawn.items():
        if lines:
            write_whole(folder / name, draw(lines).decode("utf-8"))
    return [folder / name for name, (_, lines) in drawn.items() if lines]


def choose(names: Sequence[str]) -> list[str]:
    """The benchmarks of these names, each once; without names all that always run."""
    for name in names:
        if name not in BENCHMARKS:
            raise BadJob(f"No benchmark {name!r}. {did_you_mean(name, BENCHMARKS)}There are: {', '.join(BENCHMARKS)}.")
    return list(dict.fromkeys(names)) or [name for name, each in BENCHMARKS.items() if each.always]


def measure(chosen: Sequence[str], quiet: bool = False, quick: bool = False) -> dict[str, list[Line]]:
    """The lines of each benchmark, every case in a fresh process."""
    lines_of: dict[str, list[Line]] = {name: [] for name in chosen}
    cases = [(name, case) for name in chosen for case in BENCHMARKS[name].cases]
    with reporting("Measuring", quiet) as report:
        for number, (name, case) in enumerate(cases, 1):
            remark(f"[{number}/{len(cases)}] {case} …", quiet)
            lines_of[name] += apart(call, case, quick)
            report(number, len(cases))
    return lines_of


def call(case: str, quick: bool) -> list[Line]:
    """Run one case, named as ``file.function``, in this process."""
    from importlib import import_module

    room, function = case.split(".")
    lines: list[Line] = getattr(import_module(f"benchmarks.{room}"), function)(quick)
    return lines


def as_json(lines_of: Mapping[str, Sequence[Line]], facts: Mapping[str, object], quick: bool) -> dict[str, object]:
    """Everything measured, as plain data; times in seconds, memory in bytes."""
    lines = [{"benchmark": name, **line.plain()} for name, lines in lines_of.items() for line in lines]
    return {"machine": dict(facts), "load_after": machine()["load_average"], "quick": quick, "lines": lines}


def show(lines_of: Mapping[str, Sequence[Line]]) -> None:
    """Print the table on standard output."""
    show_table(COLUMNS, [_row(name, line) for name, lines in lines_of.items() for line in lines])


def _row(name: str, line: Line) -> list[object]:
    posts = line.goalposts
    scale = 1 / line.pieces if line.each else 1.0
    rate = round(line.pieces / line.time.wall) if line.piece else None
    proto = None if posts.prototype is None else "–".join(dict.fromkeys(map(seconds, posts.prototype)))
    return [
        name, line.work, line.threads, seconds(line.time.wall * scale), seconds(line.time.cpu * scale), rate,
        round(line.peak / 1e6), proto or "", seconds(posts.bar), seconds(posts.goal), line.reached,
    ]  # fmt: skip


def seconds(amount: float | None) -> str:
    """A time as a person reads it: 0.106 s, 85 ms, 44 µs."""
    if amount is None:
        return ""
    if amount < 1e-3:
        return f"{amount * 1e6:.3g} µs"
    return f"{amount * 1e3:.3g} ms" if amount < 0.1 else f"{amount:.3g} s"
