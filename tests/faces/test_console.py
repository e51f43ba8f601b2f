"""The console: bars only where they help, tables that are plain in pipes, nothing that steers the terminal."""

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kpareto import interrupts
from kpareto.errors import BadInput
from kpareto.faces import console
from kpareto.kernels.compiling import COMPILATIONS


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


class Clock:
    """A clock that a test turns by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time as the test set it."""
        return self.now


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")


def test_bar_waits_a_second() -> None:
    """A short wait shows nothing; a longer one shows title, share, rate and remaining time, then cleans up."""
    screen, clock = Screen(), Clock()
    bar = console.Bar("Evaluating nodes", 1000, screen, clock)
    clock.now += 0.9
    bar.advance(100)
    assert not bar.shown
    assert screen.getvalue() == ""
    clock.now += 1.1
    bar.advance(100)
    bar.close()
    assert bar.shown
    assert all(word in screen.getvalue() for word in ("Evaluating nodes", "20%", "100/s, 0:08 left"))


def test_bar_speaks_up_where_nobody_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first step that tells nothing for long: the bar appears by itself, and not after it was closed."""
    screen, late = Screen(), Screen()
    monkeypatch.setattr(console, "PATIENCE", 0.01)
    bar = console.Bar("Reading", None, screen)
    bar.speak_up()
    alarm = bar._alarm
    assert alarm is not None
    alarm.join()
    bar.close()
    assert "Reading" in screen.getvalue()
    closed = console.Bar("Reading", None, late)
    closed.close()
    closed._update()
    assert late.getvalue() == ""


@pytest.mark.parametrize(
    ("done", "total", "seconds", "pace"),
    [
        (200, 1000, 2.0, "100/s, 0:08 left"),
        (25_000, 100_000_000, 2.0, "12,500/s, 2:13:18 left"),
        (1, 3, 4.0, "0.25/s, 0:08 left"),
        (50, None, 2.0, "25/s"),
        (0, 10, 2.0, "0:02 so far"),
        (12, 10, 1.0, "12/s, 0:00 left"),
    ],
)
def test_pace(done: int, total: int | None, seconds: float, pace: str) -> None:
    """Rate and remaining time are worded for people, whatever the numbers."""
    clock = Clock()
    bar = console.Bar("", total, Screen(), clock)
    clock.now += seconds
    bar.done = done
    assert bar.pace() == pace


def test_bar_close_before_it_was_shown() -> None:
    """Closing a bar that never appeared prints nothing."""
    screen = Screen()
    console.Bar("Quick", 1, screen).close()
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("stream", "quiet", "term", "shown"),
    [
        (Screen(), False, "xterm", True),
        (Screen(), True, "xterm", False),
        (Screen(), False, "dumb", False),
        (io.StringIO(), False, "xterm", False),
    ],
)
def test_progress_only_on_a_terminal(
    stream: io.StringIO, quiet: bool, term: str, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bar needs a terminal that can redraw and a person who did not say -q."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.reporting("Working", quiet) as report:
        report(1, 2)
        report(2, 2)
    assert ("Working" in stream.getvalue()) == shown


def test_progress_closes_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside leaves no bar behind, and the cursor visible."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(console, "PATIENCE", 0.0)

    def work() -> None:
        with console.reporting("Working") as report:
            report(1, 2)
            raise BadInput("Stop.")

    with pytest.raises(BadInput, match="Stop"):
        work()
    assert "\x1b[?25h" in screen.getvalue()


def test_remark(capsys: pytest.CaptureFixture[str]) -> None:
    """A remark goes to standard error as one line, and -q silences it."""
    console.remark("Two\nlines.")
    console.remark("Never seen.", quiet=True)
    assert capsys.readouterr() == ("", "Two lines.\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (30162, "30,162"),
        (80211.5, "80,211.5"),
        (0.000012345678, "1.23457e-05"),
        (float("nan"), "nan"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("Zürich 東", "Zürich 東"),
    ],
)
def test_cell(value: object, text: str) -> None:
    """Cells read well and cannot carry control characters."""
    assert console.cell(value) == text


def test_plain_table_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Not on a terminal a table is plain columns: numbers right, words left, no trailing blanks."""
    console.show_table(["name", "k", "note"], [["age", 5, None], ["sex", 12000, "x"]], title="Levels")
    assert capsys.readouterr().out == "Levels\nname       k  note\nage        5\nsex   12,000  x\n"


def test_empty_table(capsys: pytest.CaptureFixture[str]) -> None:
    """A table without rows still shows its columns."""
    console.show_table(["name", "k"], [])
    assert capsys.readouterr().out == "name  k\n"


def test_rich_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a table has lines, and markup in a cell stays data."""
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    console.show_table(["name", "k"], [["[red]age", 12000]], title="Levels")
    assert all(word in screen.getvalue() for word in ("Levels", "[red]age", "12,000", "─"))


def test_rich_is_loaded_only_to_draw() -> None:
    """Importing the console and printing plain tables loads no rich."""
    code = (
        "import sys; from kpareto.faces import console; console.show_table(['k'], [[5]]); print('rich' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "k\n5\nFalse\n"


def test_bar_says_that_loops_are_compiled() -> None:
    """Preparing is said with a count and is not counted as work; afterwards the bar has its own title again."""
    screen, clock = Screen(), Clock()
    bar = console.Bar("Searching", 1000, screen, clock)
    bar.prepare(0, True)
    clock.now += 8.0
    bar.prepare(3, True)
    assert "Preparing compiled code, once: 3 loops" in screen.getvalue()
    drawn = screen.getvalue().count("Searching")
    bar.advance(0)  # that time passes is told meanwhile
    bar.prepare(3, True)
    assert screen.getvalue().count("Searching") == drawn
    bar.prepare(4, False)
    clock.now += 2.0
    bar.advance(200)
    assert bar.pace() == "100/s, 0:08 left"
    bar.close()
    assert "Searching" in screen.getvalue()


def test_whoever_reports_hears_of_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is compiled while a bar may be drawn is said there, once the wait is long."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.reporting("Searching"):
        COMPILATIONS.notify(SimpleNamespace(is_start=True, is_end=False))
        COMPILATIONS.notify(SimpleNamespace(is_start=False, is_end=True))
    assert "Preparing compiled code, once" in screen.getvalue()


@pytest.mark.parametrize("quiet", [True, False])
def test_a_pipe_hears_of_compiling_unless_quiet(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no bar can be drawn it is one line of the log; with -q nothing is said."""
    monkeypatch.setattr(interrupts, "_unheard", interrupts._Unheard())
    monkeypatch.setattr(interrupts, "SILENCE", 0.0)
    with console.reporting("Searching", quiet):
        COMPILATIONS.notify(SimpleNamespace(is_start=True, is_end=False))
        COMPILATIONS.notify(SimpleNamespace(is_start=False, is_end=True))
    assert caplog.messages == ([] if quiet else [interrupts.LOGGED])
