"""One page per paper: results beside the printed ones, verdicts worked out from numbers, times, errors found."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeVar

import numpy as np

from kpareto._version import __version__
from replication.figures import Figure

Kind = Literal["matches", "differs", "cannot be compared"]
THREADS = 2  # searches run side by side; what they find does not depend on it
Say = Callable[[str], None]
Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Verdict:
    """How a result stands to what the paper reports, and by how much or why."""

    kind: Kind
    note: str = ""

    def __str__(self) -> str:
        return f"**{self.kind}**" + (f": {self.note}" if self.note else "")


def near(ours: float, printed: float, within: float, relative: bool = False) -> Verdict:
    """Whether a number is the printed one, up to a tolerance in its own unit or as a share of the printed one."""
    gap = ours - printed
    allowed = within * abs(printed) if relative else within
    by = f"{gap / printed:+.1%}" if relative and printed else f"{gap:+.4g}"
    told = f"{100 * within:.3g}%" if relative else f"{within:.4g}"
    same = abs(gap) <= allowed * (1 + 1e-12)
    return Verdict("matches", f"{by}, within {told}") if same else Verdict("differs", f"by {by}, more than {told}")


def between(ours: Sequence[float], low: float, high: float, within: float = 0.0) -> Verdict:
    """Whether every number lies in the printed range, up to a tolerance; by how much the worst one leaves it."""
    out = max(max(low - value, value - high) for value in ours)
    told = f"{min(ours):.4g} … {max(ours):.4g}"
    if out <= 1e-12:
        return Verdict("matches", f"all of {told} lie in {low:g} … {high:g}")
    leaves = (
        f"{told} leaves {low:g} … {high:g} by {out:.2g}" if low < high else f"{told} is up to {out:.2g} off {low:g}"
    )
    if out <= within * (1 + 1e-12):
        return Verdict("matches", f"{leaves}, within {within:g}")
    return Verdict("differs", leaves + (f", more than {within:g}" if within else ""))


def claims(checks: Mapping[str, bool]) -> Verdict:
    """Whether all statements of the paper hold in our run; those that do not are named."""
    failed = [words for words, holds in checks.items() if not holds]
    if not failed:
        return Verdict("matches", "; ".join(checks))
    kept = [words for words, holds in checks.items() if holds]
    return Verdict("differs", "not seen: " + "; ".join(failed) + (". Seen: " + "; ".join(kept) if kept else ""))


def together(verdicts: Mapping[str, Verdict]) -> Verdict:
    """One verdict on several numbers: they match if each does."""
    wrong = {name: each for name, each in verdicts.items() if each.kind == "differs"}
    if wrong:
        parts = [f"{name} {each.note}" for name, each in wrong.items()]
        return Verdict("differs", f"{len(wrong)} of {len(verdicts)}: " + "; ".join(parts))
    return Verdict("matches", "; ".join(f"{name} {each.note}".strip() for name, each in verdicts.items()))


def incomparable(why: str) -> Verdict:
    """Nothing to compare with, and why."""
    return Verdict("cannot be compared", why)


@dataclass(frozen=True)
class PaperResult:
    """One reported result: what was printed, what we find, and the verdict."""

    id: str
    setting: str
    printed: str
    ours: str
    verdict: Verdict
    numbers: Mapping[str, Any] = field(default_factory=dict)  # everything the verdict was worked out from


@dataclass(frozen=True)
class Statement:
    """One part of a statement: what it says, what was printed, what we find, and the verdict on it alone."""

    what: str
    printed: str
    ours: str
    verdict: Verdict


@dataclass(frozen=True)
class PaperFinding:
    """Something a paper gets wrong or leaves open, tested by our own code, and what kpareto does instead."""

    id: str
    claim: str
    found: str
    confirmed: bool  # whether our test shows that the claim fails
    instead: str


@dataclass(frozen=True)
class Sheet:
    """A table on the page."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Experiment:
    """One experiment and what it cost, beside what the paper says it cost then."""

    name: str
    then: str
    seconds: float  # processor time of all threads
    wall: float
    detail: str = ""


@dataclass(frozen=True)
class PageLine:
    """One line of the summary: the time is that of the work named behind it."""

    result: str
    printed: str
    ours: str
    then: str
    now: str


RUN = (
    "`kpareto demo --paper {name}` runs the example job of this paper: front, release, verification.",
    "The job is `examples/{name}.toml`; its settings are keys of `[search]`, with the paper's values as defaults.",
)  # on every page, before what is said of the paper alone


@dataclass
class Page:
    """Everything about one paper; filled in the order of the experiments."""

    key: str
    title: str
    source: str
    quick: bool
    say: Say
    setting: list[str] = field(default_factory=list)  # how we read the paper, one sentence each
    results: list[PaperResult] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)
    findings: list[PaperFinding] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)  # what the exact engine says
    yourself: list[str] = field(default_factory=list)  # how to run the paper's system, lines of Markdown
    experiments: list[Experiment] = field(default_factory=list)
    seeds: dict[str, Any] = field(default_factory=dict)
    summary: list[PageLine] = field(default_factory=list)
    seconds: float = 0.0  # processor time of the whole page, pictures left out
    wall: float = 0.0

    @contextmanager
    def timed(self, name: str, then: str = "not told", detail: str = "") -> Iterator[None]:
        """Measure one experiment."""
        self.say(f"{self.key}: {name} …")
        began, cpu = time.perf_counter(), time.process_time()
        yield
        seconds, wall = time.process_time() - cpu, time.perf_counter() - began
        self.experiments.append(Experiment(name, then, seconds, wall, detail))

    def judge(
        self, key: str, setting: str, parts: Sequence[Statement], numbers: Mapping[str, Any] | None = None
    ) -> None:
        """A statement with several parts: one result each, called a, b, c …; the numbers stand with the first."""
        for letter, part in zip("abcdefgh", parts, strict=False):
            what = f"{setting}: {part.what}" if setting else part.what
            mine = (numbers or {}) if letter == "a" else {}
            self.results.append(PaperResult(f"{key}{letter}", what, part.printed, part.ours, part.verdict, mine))

    def spent(self, name: str) -> str:
        """The processor time of one experiment, for people."""
        return duration(next(each.seconds for each in self.experiments if each.name == name))

    def as_data(self) -> dict[str, Any]:
        """Numbers, texts, lists and dicts only."""
        return {
            "paper": self.source,
            "title": self.title,
            "quick": self.quick,
            "versions": versions(),
            "seeds": self.seeds,
            "results": [
                {
                    "id": each.id,
                    "setting": each.setting,
                    "printed": each.printed,
                    "ours": each.ours,
                    "verdict": each.verdict.kind,
                    "note": each.verdict.note,
                    "numbers": plain(each.numbers),
                }
                for each in self.results
            ],
            "figures": {figure.name: plain(figure.as_data()) for figure in self.figures},
            "tables": [
                {"title": s.title, "columns": list(s.columns), "rows": plain([list(row) for row in s.rows])}
                for s in self.sheets
            ],
            "errors": [
                {"id": f.id, "claim": f.claim, "found": f.found, "confirmed": f.confirmed, "instead": f.instead}
                for f in self.findings
            ],
            "exact": list(self.beyond),
            "summary": [vars(line) for line in self.summary],
            "cpu_seconds": self.seconds,
            "seconds": self.wall,
            "experiments": [
                {"name": e.name, "then": e.then, "cpu_seconds": round(e.seconds, 2), "seconds": round(e.wall, 2),
                 "detail": e.detail}
                for e in self.experiments
            ],
        }  # fmt: skip

    def markdown(self) -> str:
        """The page."""
        lines = [f"# {self.title}", "", self.source + "."]
        if self.quick:
            lines.append("This is a quick run on reduced budgets.")
        lines += [*self.setting, "Made by `make papers ARGS=" + self.key + "`; every number with its seed and version "
                  f"is in [{self.key}.json]({self.key}.json).", "", "## Results", ""]  # fmt: skip
        rows = [(r.id, r.setting, r.printed, r.ours, str(r.verdict)) for r in self.results]
        lines += grid(("id", "setting", "printed", "ours", "verdict"), rows)
        lines += ["", "## Run it yourself", "", *(line.format(name=self.key) for line in RUN), *self.yourself]
        lines += ["", "## Figures, redrawn from our run"]
        for figure in self.figures:
            lines += ["", f"![{figure.title}]({figure.name}.svg)", "", f"*{figure.title}.* {figure.caption}"]
        for sheet in self.sheets:
            lines += ["", f"## {sheet.title}", "", *grid(sheet.columns, sheet.rows)]
        lines += ["", "## Time, then and now", ""]
        done = [(e.name, e.then, duration(e.wall), duration(e.seconds), e.detail) for e in self.experiments]
        done.append(("the whole page", "", duration(self.wall), duration(self.seconds), machine()))
        lines += grid(("experiment", "the paper", "now (wall)", "now (processor, all threads)", "work"), done)
        lines += ["", "## What the paper gets wrong or leaves open, and what kpareto does instead", ""]
        mistakes = [(f.id, f.claim, ("" if f.confirmed else "not confirmed here: ") + f.found, f.instead)
                 for f in self.findings]  # fmt: skip
        lines += grid(("id", "the paper", "our test", "kpareto"), mistakes)
        lines += ["", "## What the exact engine says", "", *(f"* {sentence}" for sentence in self.beyond), ""]
        return "\n".join(lines)


def grid(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A Markdown table."""
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return head + ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]


def _cell(value: Any) -> str:
    return (f"{value:.4g}" if isinstance(value, float) else str(value)).replace("|", "\\|").replace("\n", " ")


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def plain(value: Any) -> Any:
    """A value as numbers, texts, lists and dicts; numbers that are not finite become text."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    packages = {"kpareto": __version__, "python": platform.python_version(), "machine": machine()}
    for name in ("numpy", "numba", "scikit-learn", "matplotlib"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "not installed"
    return packages


def machine() -> str:
    """What the times were measured on."""
    return f"{os.cpu_count()} cores, {platform.machine()}"


def each(work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    """The work on every item, a few at a time, answers in the order of the items."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, items))
