"""Whether a search keeps the time that it is given, whatever it is doing when the time is up."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.clock import Line, Time, peak_bytes
from benchmarks.growth import LEAVES, LEVELS, make_wide
from benchmarks.made_tables import make_rows
from kpareto.fronts.problem import problem
from kpareto.kernels.compiling import COMPILATIONS
from kpareto.searches.names import METHODS
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.table import Table

SIX = (91, 52, 47, 17, 24, 10), (4, 3, 3, 3, 3, 2)


def exact(quick: bool) -> list[Line]:
    """A lattice of 53,747,712 nodes over a million distinct rows."""
    return [_measure("exact", make_wide(20, 2_000 if quick else 1_000_000), 0.5 if quick else 20)]


def genetic(quick: bool) -> list[Line]:
    """One population over 48 quasi-identifiers takes longer than the time."""
    table = make_rows(1_000 if quick else 160_000, (LEAVES * 2)[:48], (LEVELS * 2)[:48])
    return [_measure("nsga2", table, 0.5 if quick else 10)]


def local(quick: bool) -> list[Line]:
    """All the k in common use, for 100,000 rows of which hardly two are alike."""
    return [_measure("local", make_rows(1_000 if quick else 100_000, *SIX), 0.5 if quick else 30)]


@dataclass(eq=False)
class _Listener:
    """When a search said something."""

    began: float = field(default_factory=time.perf_counter)
    first: float | None = None  # seconds until it said something
    last: float = 0.0
    silence: float = 0.0  # the longest one

    def __call__(self, _done: int, _total: int) -> None:
        """It says something."""
        now = time.perf_counter() - self.began
        self.first = now if self.first is None else self.first
        self.silence, self.last = max(self.silence, now - self.last), now


def _measure(method: str, table: Table, seconds: float) -> Line:
    """One search: how long it took without compiling, and how long it was silent."""
    asked, options = problem(table, ["k", "lm"], 0.01), {"seconds": seconds}
    cpu, compiled = time.process_time(), COMPILATIONS.seconds
    listener: Any = _Listener()
    front = run_plan(asked, Plan(method, METHODS[method][0], options=options), listener)
    took = time.perf_counter() - listener.began - (COMPILATIONS.seconds - compiled)
    kept = "kept" if took <= 1.1 * seconds + 2 else "not kept"
    silence = max(listener.silence, took - listener.last)
    words = f"the first word after {listener.first or took:.1f} s, never silent for more than {silence:.1f} s"
    note = f"{seconds:g} s were given: {kept}; {len(front)} points; {words}"
    work = f"{method}, {table.distinct:,} distinct rows, {len(table.hierarchies)} columns"
    return Line(work, Time(took, time.process_time() - cpu, 1), note=note, peak=peak_bytes())
