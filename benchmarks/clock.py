"""Measuring fairly: best of several repeats, CPU time beside wall time, memory in a process of its own."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from benchmarks.bars import BARS, PromisedBar
from kpareto._version import __version__

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Time:
    """How long something took at best, and how often it was tried."""

    wall: float  # seconds
    cpu: float  # seconds, all threads together
    repeats: int


@dataclass(frozen=True)
class Line:
    """One measured number: a row of the table and an object in the JSON."""

    work: str
    time: Time
    pieces: int = 1  # nodes, recodings or rows done in that time
    piece: str = ""  # what a piece is called; with one, the table shows the rate
    each: bool = False  # the bar is for one piece, not for all of them
    threads: int = 1
    bar: str = ""  # a row of BARS
    note: str = ""  # what else was seen, such as a ratio
    peak: int = 0  # bytes of memory held at once at most, so far in this process
    numbers: Mapping[str, float] = field(default_factory=dict)  # what else was measured, for a picture

    @property
    def seconds(self) -> float:
        """The time that is compared with the bar."""
        return self.time.wall / self.pieces if self.each else self.time.wall

    @property
    def goalposts(self) -> PromisedBar:
        """What others reached, and what we must reach."""
        return BARS.get(self.bar, PromisedBar())

    @property
    def reached(self) -> str:
        """``goal``, ``bar``, ``neither``, or nothing where no bar is set."""
        posts = self.goalposts
        if posts.bar is None or posts.goal is None:
            return ""
        return "goal" if self.seconds <= posts.goal else "bar" if self.seconds <= posts.bar else "neither"

    def plain(self) -> dict[str, object]:
        """The line for JSON; all times in seconds."""
        posts = self.goalposts
        return {
            "work": self.work,
            "threads": self.threads,
            "seconds": self.seconds,
            "wall": self.time.wall,
            "cpu": self.time.cpu,
            "cpu_per_thread": self.time.cpu / self.threads,
            "repeats": self.time.repeats,
            "pieces": self.pieces,
            "piece": self.piece or None,
            "per_second": self.pieces / self.time.wall if self.piece else None,
            "peak_bytes": self.peak,
            "prototype": None if posts.prototype is None else list(posts.prototype),
            "bar": posts.bar,
            "goal": posts.goal,
            "reached": self.reached or None,
            "note": self.note or None,
        }


def best(work: Callable[[], object], repeats: int, warm: bool = True) -> Time:
    """The shortest of several tries, after one that is not counted (it loads compiled code and fills caches)."""
    if warm:
        work()
    walls, processors = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - cpu)
    return Time(min(walls), min(processors), repeats)


def peak_bytes() -> int:
    """The most memory this process has held at once.

    The kernel's high-water mark where there is one: ru_maxrss also remembers the process that started this one.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def apart(function: Callable[Arguments, Answer], /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
    """Call a function in a fresh process, so that it finds nothing warm and its memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **named).result()


def machine() -> dict[str, object]:
    """What the numbers depend on: the machine, the versions, and how busy it was."""
    return {
        "kpareto": __version__,
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "numba", "duckdb", "pyarrow", "pandas", "polars")},
        "load_average": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
