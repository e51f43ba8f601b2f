"""Benchmarks of the page: a table of the size of the Census-Income data, from Open to Stop, as a person would wait."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.clock import Line, Time, best, peak_bytes
from kpareto.errors import BadJob

if TYPE_CHECKING:
    from kpareto.faces.web.session import Session

ROWS, QUICK_ROWS = 200_000, 2_000
LONGEST = 600.0  # seconds after which nobody waits any more for a first point, or for a stop
WHOLE = 1800.0  # seconds after which nobody waits any more for a whole front

# Columns that others may know, and how many values each has: 20 quasi-identifiers.
QUASI = {
    "age": 91, "industry": 52, "occupation": 47, "education": 17, "marital_status": 7, "race": 5, "sex": 2,
    "hispanic_origin": 10, "region": 6, "state": 51, "birth_country_father": 43, "birth_country_mother": 43,
    "birth_country": 43, "citizenship": 5, "household": 38, "household_summary": 8, "migration": 10, "veteran": 3,
    "union_member": 3, "employer_size": 7,
}  # fmt: skip
AMOUNTS = 21  # columns of money, most of it nothing


def write_census(path: Path, rows: int) -> None:
    """A table of 42 columns with skewed, loosely related values; equal on every run."""
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(11)
    shared = rng.random(rows)
    columns: dict[str, np.ndarray] = {}
    for name, count in QUASI.items():
        mixed = 0.3 * shared + 0.7 * rng.random(rows)
        codes = np.minimum((mixed**2.5 * count).astype(np.int64), count - 1)
        words = np.array([f"{name[:4]} {code:02}" for code in range(count)])
        columns[name] = codes if name == "age" else words[codes]
    for place in range(AMOUNTS):
        columns[f"amount_{place:02}"] = np.where(rng.random(rows) < 0.9, 0, rng.integers(0, 9_999, rows))
    columns["income"] = np.array(["below", "above"])[(shared + rng.random(rows) > 1.5).astype(np.int64)]
    pa.csv.write_csv(pa.table(columns), path)


def census(quick: bool) -> list[Line]:
    """Open, first points, Stop and the whole front of a made table of 200,000 rows; the first two also of NSGA-II."""
    from kpareto.faces.web.runs import KeptRuns
    from kpareto.faces.web.session import Session

    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_census(folder / "census.csv", rows)
        (folder / "own").mkdir()
        session = Session("bench", folder, folder / "own", KeptRuns(folder))
        began = time.perf_counter()
        session.open_data("census.csv")
        lines = [_line("open the table", time.perf_counter() - began)]
        _give_roles(session)
        lines += _watch(session, "as proposed", whole=True)
        bred = {"method": "nsga2", "space": "cuts", "budget": 20_000, "seed": 1}
        draft = {**session.draft_view, "search": {"objectives": ["k", "glm"], **bred}}  # type: ignore[dict-item]  # opened
        session.take_draft(draft)
        lines += _watch(session, "nsga2", whole=False)
    return lines


def make_columns(rows: int, count: int) -> dict[str, np.ndarray]:
    """So many columns of numbers, places, answers, amounts and dates, by turns; equal on every run."""
    rng = np.random.default_rng(5)
    places, days = (np.array([f"{word} {place:03}" for place in range(300)]) for word in ("place", "day"))
    kinds = (
        lambda: rng.integers(0, 90, rows),
        lambda: places[rng.integers(0, 300, rows)],
        lambda: np.array(["yes", "no"])[rng.integers(0, 2, rows)],
        lambda: np.round(rng.gamma(2, 20_000, rows), 1),
        lambda: days[rng.integers(0, 300, rows)],
        lambda: np.array(["north", "south", "east", "west"])[rng.integers(0, 4, rows)],
    )
    return {f"c{place:03}": kinds[place % len(kinds)]() for place in range(count)}


EIGHT = (*["quasi-identifier"] * 4, "sensitive", "plain", "identifier", "target")
SIZES, QUICK_SIZES = ((61_697, 12), (160_000, 48)), ((QUICK_ROWS, 12),)  # rows and columns of the tables of roles

# Whether the page knows that the server has the last of them; it asks anew what the roles mean in the same breath.
TAKEN = "async () => (await import('/static/api.js')).knownJob().columns.c007.role === 'target'"


def roles(quick: bool) -> list[Line]:
    """Eight roles back to back on two made tables: each is taken, what it means is counted, and its hierarchy made."""
    return [line for rows, columns in (QUICK_SIZES if quick else SIZES) for line in _eight_roles(rows, columns)]


def clicked_roles(quick: bool) -> list[Line]:
    """The same eight roles given in Chromium to ``kpareto serve``, until what the last one means is told."""
    return [_click_roles(rows, columns) for rows, columns in (QUICK_SIZES if quick else SIZES)]


def _click_roles(rows: int, columns: int) -> Line:
    """All the waiting there is: from the first role to the last sentence, by a hand that needs no time itself."""
    import pyarrow as pa
    import pyarrow.csv
    from playwright.sync_api import expect, sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise BadJob("There is no Chromium to give roles with. Install it with: apt-get install -y chromium")
    expect.set_options(timeout=LONGEST * 1000)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        pa.csv.write_csv(pa.table(make_columns(rows, columns)), Path(name) / "wide.csv")
        with play.chromium.launch(executable_path=program, args=["--no-sandbox"]) as browser, _serve(name) as server:
            tab = browser.new_page()
            tab.set_default_timeout(LONGEST * 1000)
            tab.goto(server.link)
            tab.get_by_role("button", name="wide.csv").click()
            expect(tab.locator("#facts")).to_contain_text("quasi-identifier")
            expect(tab.locator("#facts")).not_to_have_attribute("aria-busy", "true")
            expect(tab.locator("table.icicle")).to_be_visible()
            began, spent = time.perf_counter(), server.seconds()
            for place, role in enumerate(EIGHT):
                tab.get_by_label(f"Role of c{place:03}", exact=True).select_option(role)
            while not tab.evaluate(TAKEN):
                tab.wait_for_timeout(20)
            expect(tab.locator("#facts")).not_to_have_attribute("aria-busy", "true")
            took = Time(time.perf_counter() - began, server.seconds() - spent, 1)
    what = f"eight roles back to back in Chromium, {rows:,} rows of {columns} columns"
    return Line(what, took, bar=f"page-roles-{columns}", note="CPU: that of the server", peak=peak_bytes())


@dataclass(frozen=True)
class Served:
    """A page that ``kpareto serve`` has opened over a folder."""

    process: subprocess.Popen[str]
    link: str

    def seconds(self) -> float:
        """Processor seconds of its process so far."""
        spent = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _serve(folder: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "kpareto", "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Served(process, next(iter(process.stdout or ())).split()[-1])
        finally:
            process.send_signal(signal.SIGINT)


def _eight_roles(rows: int, columns: int) -> list[Line]:
    """Everything that a page waits for while somebody gives eight roles without a pause; drawing is the browser's."""
    import pyarrow as pa
    import pyarrow.csv

    from kpareto.faces.web.explore import role_facts
    from kpareto.faces.web.runs import KeptRuns
    from kpareto.faces.web.session import Session

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pa.csv.write_csv(pa.table(make_columns(rows, columns)), folder / "wide.csv")
        (folder / "own").mkdir()
        session = Session("bench", folder, folder / "own", KeptRuns(folder))

        def give() -> None:
            for place, role in enumerate(EIGHT):
                draft, column = dict(session.draft_view or {}), f"c{place:03}"
                draft["columns"] = {**draft["columns"], column: {"role": role}}
                session.take_draft(draft)
                role_facts(session.job, session.kept_rows())
                if role == "quasi-identifier":
                    session.hierarchy_view(column)

        what = f"{rows:,} rows of {columns} columns"
        opened = best(lambda: session.open_data("wide.csv"), 1, warm=False)
        first = best(lambda: role_facts(session.job, session.kept_rows()), 1, warm=False)
        eight = best(give, 1, warm=False)
    return [
        Line(f"open {what}", opened, peak=peak_bytes()),
        Line(f"what the roles of {what} mean, first", first, peak=peak_bytes()),
        Line(f"eight roles back to back, {what}", eight, bar=f"page-roles-{columns}", peak=peak_bytes()),
    ]


def six_of_many(quick: bool) -> list[Line]:
    """``anonymize`` by six of 200 columns of 20,000 rows, compiled code loaded before; the other 194 leave too."""
    import warnings

    import pandas as pd

    from kpareto.jobs.anonymize import anonymize

    columns = 30 if quick else 200
    table = pd.DataFrame(make_columns(QUICK_ROWS if quick else 20_000, columns))
    quasi = [f"c{place:03}" for place in (0, 1, 2, 5, 6, 8)]
    plain = [str(name) for name in table if name not in quasi]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the release, which is not the point here
        time = best(lambda: anonymize(table, quasi, plain=plain, accept="W1"), 1)
    return [Line(f"anonymize by 6 of {columns} columns, {len(table):,} rows", time, peak=peak_bytes())]


def _line(work: str, seconds: float, bar: str = "", note: str = "") -> Line:
    return Line(work, Time(seconds, 0.0, 1), bar=bar, note=note, peak=peak_bytes())


def _give_roles(session: Session) -> None:
    """All twenty as quasi-identifiers, what the page leaves to the person as plain; the search stays as proposed."""
    draft = dict(session.draft_view or {})
    roles = dict.fromkeys(QUASI, "quasi-identifier")
    draft["columns"] = {
        name: {**column, "role": roles.get(name, "plain")} if column["role"] in ("decide", "sensitive") else column
        for name, column in draft["columns"].items()
    }
    draft["limits"] = {"k": 5}
    session.take_draft(draft)


def _watch(session: Session, words: str, *, whole: bool) -> list[Line]:
    """Start, wait for the first points, stop; then go on to the end, where the whole front is asked for."""
    from kpareto.faces.web.session import begin_search

    search = begin_search(session, resume=False)
    first = _seconds_until(lambda: search.status()["points"] > 0 or not search.running)
    if search.running:
        time.sleep(first)  # into the middle of whatever comes next
    search.cancel()
    stopped = _seconds_until(lambda: not search.running)
    search.wait(LONGEST)
    lines = [
        _line(f"first points after Start, {words}", first, "page-first"),
        _line(f"end after Stop, {words}", stopped, "page-stop"),
    ]
    if whole:
        began = time.perf_counter()
        search = begin_search(session, resume=False)
        _seconds_until(lambda: not search.running, WHOLE)
        seconds, status = time.perf_counter() - began, search.status()
        proof = "complete" if status["complete"] else f"NOT complete: {status['sentence'] or 'its time was up'}"
        note = f"{proof}; {status['different']:,} trade-offs, {status['total']:,} nodes"
        lines.append(_line(f"whole front after Start, {words}", seconds, note=note))
    return lines


def _seconds_until(true: Callable[[], bool], longest: float = LONGEST) -> float:
    began = time.perf_counter()
    while not true():
        if time.perf_counter() - began > longest:
            raise BadJob(f"Nothing came in {longest:g} seconds.")
        time.sleep(0.02)
    return time.perf_counter() - began
