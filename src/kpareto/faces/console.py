"""What a person sees in the terminal: progress while waiting, tables, remarks.

Not on a terminal there are no bars, no colours and no boxes.
Rich is imported only when something is drawn with it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO

import click

from kpareto.errors import Progress
from kpareto.tables.spelling import spell_infinite

if TYPE_CHECKING:
    from rich.progress import Progress as Drawing
    from rich.progress import TaskID

PATIENCE = 1.0  # seconds after which a person is told what is waited for


def on_terminal(stream: TextIO) -> bool:
    """Whether a person is looking at the stream, on a screen that can redraw a line."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def visible(text: object) -> str:
    """The text with control characters spelled out, so that no cell of a table can steer the terminal."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(text))


def one_line(text: str) -> str:
    """The text as one visible line, as fits an error message."""
    return visible(" ".join(text.split()))


def remark(text: str, quiet: bool = False) -> None:
    """A sentence beside the answer, on standard error; nothing when quiet, or where there is none."""
    if text and not quiet:
        click.echo(one_line(text), err=True)


class Bar:
    """A progress bar that stays away from short waits, from files and pipes, and where quiet is asked for."""

    def __init__(
        self,
        title: str,
        total: int | None,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = self._words = title
        self.total = total
        self.stream = stream
        self.clock = clock
        self.done = 0
        self.began = clock()
        self.prepared = 0.0  # seconds in which loops were compiled, which are no work
        self._preparing: float | None = None  # since when they are
        self._drawn: tuple[Drawing, TaskID] | None = None
        self._lock = threading.RLock()
        self._alarm: threading.Timer | None = None
        self._closed = False

    def speak_up(self) -> None:
        """Let the bar appear in time also where nobody tells it of anything: a first step may take long."""
        self._alarm = threading.Timer(max(0.0, self.began + PATIENCE - self.clock()), self._update)
        self._alarm.daemon = True
        self._alarm.start()

    @property
    def shown(self) -> bool:
        """Whether the wait was long enough for the bar to appear."""
        return self._drawn is not None

    def advance(self, count: int = 1) -> None:
        """Count more work as done, and redraw."""
        self.done += count
        self._update()

    def prepare(self, loops: int, under_way: bool) -> None:
        """Loops are being compiled, which happens once; it is said, and it is not counted as work."""
        if under_way and self._preparing is None:
            self._preparing = self.clock()
        elif not under_way and self._preparing is not None:
            self.prepared += self.clock() - self._preparing
            self._preparing = None
        self._words = f"Preparing compiled code, once: {loops} loops" if under_way else self.title
        self._update()

    def _update(self) -> None:
        """Redraw, where the wait was long enough for the bar to appear."""
        with self._lock:
            if self._drawn is None:
                if self._closed or self.clock() - self.began < PATIENCE:
                    return
                self._drawn = self._draw()
            progress, task = self._drawn
            if self._words == self.title:
                progress.update(task, description=self.title, completed=self.done, total=self.total, pace=self.pace())
            else:  # nobody knows how many loops there are: a bar that moves
                progress.update(task, description=self._words, total=None, pace="", refresh=True)

    def pace(self) -> str:
        """The rate and the time that remains at that rate: ``1,250/s, 0:12 left``; at first the time that passed."""
        passed = self.clock() - self.began - self.prepared
        if self.done == 0:
            return f"{_clock(passed)} so far"
        rate = self.done / max(passed, 1e-9)
        text = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"
        if self.total is None or rate < 0:
            return text
        return f"{text}, {_clock((self.total - self.done) / rate)} left"

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._alarm is not None:
            self._alarm.cancel()
        with self._lock:
            self._closed = True
            if self._drawn is not None:
                self._drawn[0].stop()

    def _draw(self) -> tuple[Drawing, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            console=Console(file=self.stream),
            transient=True,
        )
        progress.start()
        return progress, progress.add_task(self.title, total=self.total, completed=self.done, pace="")


def _clock(seconds: float) -> str:
    minutes, left = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


@contextmanager
def reporting(title: str, quiet: bool = False) -> Iterator[Progress]:
    """Give a function to tell how much is done, and of how much in all (0 where nobody knows); a bar where it helps.

    >>> with reporting("Evaluating nodes") as report:
    ...     for done in range(4):
    ...         report(done, 3)
    """
    from kpareto.interrupts import hearing_of_compiling  # --help waits for nothing

    if quiet or not on_terminal(sys.stderr):  # unless quiet, that loops are compiled is a line in the log
        with hearing_of_compiling(lambda _loops, _under_way: None) if quiet else nullcontext():
            yield lambda _done, _total: None
        return
    bar = Bar(title, None, sys.stderr)
    bar.speak_up()

    def report(done: int, total: int) -> None:
        bar.total = total or None
        bar.advance(done - bar.done)

    try:
        with hearing_of_compiling(bar.prepare):
            yield report
    finally:
        bar.close()


def write_json(answer: object, target: str | None) -> None:
    """JSON to a file for its owner alone, or to standard output for '-'; nothing without a target.

    What a command answers is about the rows before they are released, and may hold some of them.
    """
    if target is None:
        return
    text = json.dumps(spell_infinite(answer), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        from kpareto.atomic import write_whole  # --help writes nothing

        write_whole(target, text, private=True)


def cell(value: object) -> str:
    """A value as a person reads it: thousands apart, six digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return visible(value)


def _is_numeric(value: object) -> bool:
    """Whether a cell holds a number, or a percentage, which stands to the right."""
    if isinstance(value, str):
        return value.endswith(" %")
    return isinstance(value, int | float | None) and not isinstance(value, bool)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Print a table on standard output: with lines and colour on a terminal, else plain columns."""
    cells = [[cell(value) for value in row] for row in rows]
    right = [all(_is_numeric(row[at]) for row in rows) for at in range(len(columns))]
    if on_terminal(sys.stdout):
        _show_rich(columns, cells, right, title)
    else:
        click.echo(plain_table(columns, cells, right, title))


def fits_width(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> bool:
    """Whether a table fits into so many columns of a screen, with the lines that a terminal draws between them."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(len(visible(name)), *(len(row[at]) for row in cells), 0) for at, name in enumerate(columns)]
    between = 3 if on_terminal(sys.stdout) else 2
    return sum(widths) + between * len(widths) <= width


def plain_table(columns: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], title: str = "") -> str:
    """The table as text: two spaces between columns, numbers to the right, no trailing blanks."""
    lines = [[visible(name) for name in columns], *cells]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    text = [
        "  ".join(
            word.rjust(width) if to_right else word.ljust(width)
            for word, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([visible(title), *text] if title else text)


def _show_rich(columns: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], title: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, not str: a cell such as "[red]" is data, not markup.
    table = Table(title=Text(visible(title)) if title else None, title_justify="left")
    for name, to_right in zip(columns, right, strict=True):
        # A number that is cut is a wrong number; words may go on in the next line.
        table.add_column(
            Text(visible(name)), justify="right" if to_right else "left", no_wrap=to_right, overflow="fold"
        )
    for line in cells:
        table.add_row(*(Text(word) for word in line))
    Console().print(table)
