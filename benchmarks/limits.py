"""Whether a search keeps the time that it is given, whatever it is doing when the time is up."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.clock import Line, Time, peak_bytes
from benchmarks.growth import LEAVES, LEVELS, make_wide
from benchmarks.made_tables import make_rows
from kpareto.errors import BadJob
from kpareto.fronts.problem import Problem, problem
from kpareto.interrupts import TimeLimit
from kpareto.kernels.compiling import COMPILATIONS, working
from kpareto.searches.names import METHODS
from kpareto.searches.run import Plan, run_plan
from kpareto.tables.partition import Suppression
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


def wide(quick: bool) -> list[Line]:
    """Every search over 48 quasi-identifiers."""
    return _every(make_rows(1_000 if quick else 160_000, (LEAVES * 2)[:48], (LEVELS * 2)[:48]), quick)


def long(quick: bool) -> list[Line]:
    """Every search over a million distinct rows."""
    return _every(make_rows(1_000 if quick else 1_000_000, *SIX), quick)


def _every(table: Table, quick: bool) -> list[Line]:
    """Each search that takes the table, local recoding by whole questions too."""
    asked, one = problem(table, ["k", "lm"], 0.01, {"k": 5}), problem(table, ["lm"], Suppression("below-k", 0.01, 5))
    paper = problem(table, ["k", "lm"], Suppression("cap-max-k", 0.01))
    lines = []
    for method, strict in [*((method, False) for method in METHODS), ("local", True)]:
        alone = method.startswith("genitor") or method in ("recut", "improve")
        question = one if alone else paper if method.startswith("poka") else asked
        options = {"strict": True} if strict else {}
        try:
            lines.append(_measure(method, table, 0.5 if quick else 10, question, options))
        except BadJob:
            if not method.startswith("poka"):  # it takes no lattice as large as that of 48 columns
                raise
    return lines


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


def _measure(
    method: str, table: Table, seconds: float, question: Problem | None = None, more: dict[str, Any] | None = None
) -> Line:
    """One search: how long it took without compiling, how late it was, and how long it was silent.

    A busy machine makes every search late, so that is told in processor seconds.
    """
    asked, options = question or problem(table, ["k", "lm"], 0.01), {"seconds": seconds, **(more or {})}
    until, over, up = TimeLimit(seconds, working), threading.Event(), [0.0]

    def wait() -> None:
        while not over.wait(min(until.left, 0.05)):
            if until.is_up:
                up[0] = time.process_time()
                return

    cpu, compiled = time.process_time(), COMPILATIONS.seconds
    listener: Any = _Listener()
    threading.Thread(target=wait, daemon=True).start()
    front = run_plan(asked, Plan(method, METHODS[method][0], options=options), listener)
    over.set()
    took = time.perf_counter() - listener.began - (COMPILATIONS.seconds - compiled)
    late = time.process_time() - up[0] if up[0] else 0.0
    kept = "kept" if took <= 1.1 * seconds + 2 else "not kept"
    silence = max(listener.silence, took - listener.last)
    words = f"the first word after {listener.first or took:.1f} s, never silent for more than {silence:.1f} s"
    note = f"{seconds:g} s were given: {kept}, {late:.1f} CPU s later; {len(front)} points; {words}"
    strict = " (strict)" if options.get("strict") else ""
    work = f"{method}{strict}, {table.distinct:,} distinct rows, {len(table.hierarchies)} columns"
    return Line(work, Time(took, time.process_time() - cpu, 1), note=note, peak=peak_bytes())
