"""What once ended in a traceback (R16, R17, R18, R24): an answer, or one sentence and a status."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import kpareto as kp
from kpareto.engines.duckdb.connect import engine, keep_ctrl_c
from kpareto.errors import keep_interrupt
from kpareto.faces.cli import main
from kpareto.releases.choice import Choice
from kpareto.releases.release import release
from kpareto.tables.recoding import node
from kpareto.verifier import verify

INFINITE = """
[data]
source = "p.csv"
[columns.q]
role = "quasi-identifier"
[columns.s]
role = "sensitive"
[search]
objectives = ["lm", "MEASURE"]
[release]
choose = "id=CHOSEN"
target = "o.csv"
[limits]
k = 1
"""
PEOPLE = """
[data]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {intervals = [5, 10, 20], from = 0}
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[search]
objectives = ["k", "lm"]
[release]
choose = "k=3"
target = "out.csv"
"""

ENDLESS = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows and a job."""
    lines = [f"{20 + 7 * i % 40},{'FM'[i % 2]},{'xyz'[i % 3]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ill", *lines]) + "\n")
    (tmp_path / "people.toml").write_text(PEOPLE)
    (tmp_path / "p.csv").write_text("q,s\na,x\na,x\nb,y\nb,y\nc,z\nc,w\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("measure", ["recursive-l", "enhanced-beta"])
@pytest.mark.parametrize("chosen", [0, 1])
def test_infinite_numbers_are_written(measure: str, chosen: int, folder: Path) -> None:
    """R16: JSON has no infinity, so it is a text there; a picture leaves it out; a front with it is read back."""
    (folder / "job.toml").write_text(INFINITE.replace("MEASURE", measure).replace("CHOSEN", str(chosen)))
    assert main(["front", "job.toml", "-q", "--json", "front.json", "--picture", "front.svg"]) == 0
    points = json.loads((folder / "front.json").read_text())["points"]
    assert "inf" in [point["values"][measure] for point in points]
    for target in ("r.html", "r.json", "r.md"):
        assert main(["report", "job.toml", "-q", "-o", target]) == 0
    assert main(["report", "front.json", "-q", "-o", "again.html"]) == 0
    assert main(["release", "job.toml", "-q", "--json", "release.json"]) == 0


@pytest.mark.parametrize("limit", ["t", "beta", "delta", "enhanced-beta"])
def test_neutralised_values_are_verified(limit: str, tmp_path: Path) -> None:
    """R17: a distribution counts values as the release spells them, behind their apostrophe."""
    rows = pd.DataFrame({"q": ["a"] * 4 + ["b"] * 4, "s": ["=1", "=1", "=2", "=2"] * 2})
    table = kp.read(rows, kp.Schema(("q",), ("s",)))
    choice = Choice(table, node(table.hierarchies, [0]))
    done = release(choice, rows, tmp_path / "z.csv", limits={limit: 1}, handling=kp.Handling(formulas="neutralise"))
    assert done.rows == 8
    assert verify(tmp_path / "z.csv", done.certificate).numbers[limit] == 0
    assert done.certificate.confidential["distributions"]["s"] == [["'=1", 4], ["'=2", 4]]


def test_blanks_around_a_name_are_part_of_it(tmp_path: Path) -> None:
    """R18: formula cells are counted in a column whose name begins and ends with a blank."""
    rows = pd.DataFrame({" sp ": ["=1"] * 4, "q": ["a"] * 4})
    table = kp.read(rows, kp.Schema(("q",)))
    done = release(Choice(table, node(table.hierarchies, [0])), rows, tmp_path / "x.csv")
    assert any("' sp '" in sentence or " sp " in sentence for sentence in done.remarks)


@pytest.mark.parametrize("name", ["*", "^age$", "^.*$"])
def test_names_are_no_patterns(name: str) -> None:
    """R18: polars reads such names as patterns; the column of that very name is meant."""
    frame = pl.DataFrame({"age": ["9", "9"], name: ["1", "2"], "b": ["x", "x"]})
    table = kp.read(frame, kp.Schema((name,)))
    assert table.hierarchies[0].leaves == ("1", "2")
    done = release(Choice(table, node(table.hierarchies, [1])), frame)
    assert done.data.columns == ["age", name, "b"]
    assert done.data[:, 0].to_list() == ["9", "9"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--choose", "id=nan"), "No point nan on this front"),
        (("--choose", "id=1e400"), "No point inf on this front"),
        (("--choose", "id=-1"), "No point -1 on this front"),
        (("--choose", "id=0.5"), "No point 0.5 on this front"),
        (("--set", "suppression.limit=1e30"), "suppression.limit is 1e+30"),
        (("--set", "search.threads=-1"), "search.threads is -1"),
        (("--set", "search.seed=nan"), "search.seed is nan"),
        (("--set", "release.seed=nan"), "release.seed is nan"),
        (("--set", "data.encoding=utf-16"), "is not UTF-16: UTF-16 stream does not start with BOM"),
        (("--set", "data.encoding=a\0b"), "No encoding"),
        (("--set", 'search.objectives=["recursive-l(l=nan)", "lm"]'), "The measure 'recursive-l' has l = nan"),
        (("--set", 'search.objectives=["average-class-size(k=inf)", "k"]'), "has k = inf. Give a finite number"),
        (("--set", "columns.age.hierarchy={quantile_cells=[]}"), "takes one number of cells"),
        (("--target", "loop.csv"), "Cannot write"),
        (("--json", "loop.csv"), "Cannot write"),
        (("--set", "data.source=loop.csv"), "No file"),
    ],
)
def test_odd_words_are_a_sentence(
    words: tuple[str, ...], sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R24: status 2 and one line."""
    (folder / "loop.csv").symlink_to("loop.csv")
    assert main(["release", "people.toml", "-q", *words]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_deep_and_damaged_papers_are_a_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R24: JSON nested a hundred thousand deep, and a claim that is no number."""
    assert main(["release", "people.toml", "-q"]) == 0
    (folder / "deep.json").write_text("[" * 100_000)
    for words in (["verify", "out.csv", "deep.json"], ["apply", "deep.json", "people.csv"], ["report", "deep.json"]):
        assert main([*words]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    certificate = json.loads((folder / "out.certificate.json").read_text())
    del certificate["confidential"]
    certificate["public"]["claims"][0]["value"] = "x"
    (folder / "odd.json").write_text(json.dumps(certificate))
    assert main(["verify", "out.csv", "odd.json"]) == 2
    assert "claims[0].value is 'x', and a number belongs there" in capsys.readouterr().err


def test_a_report_of_two_rows_with_a_target(folder: Path) -> None:
    """R24: too few rows for a decision tree are no reason for no report."""
    (folder / "two.csv").write_text("q,t\na,u\na,v\n")
    (folder / "two.toml").write_text(
        '[data]\nsource = "two.csv"\n[columns.q]\nrole = "quasi-identifier"\n[columns.t]\nrole = "target"\n'
        '[release]\nchoose = "k=2"\ntarget = "o.csv"\n'
    )
    assert main(["report", "two.toml", "-q", "-o", "r.html"]) == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise there")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_in_a_query_is_ctrl_c(threads: int) -> None:
    """R24: not an error of the engine's own, and at once: with one thread, the query is one task without an end."""
    before = signal.set_wakeup_fd(-1)
    strike = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))

    def ask() -> None:
        with engine() as own:
            own.connection.execute(f"SET threads = {threads}")
            strike.start()
            own.connection.execute(ENDLESS).fetchall()

    with pytest.raises(KeyboardInterrupt):
        ask()
    strike.cancel()
    assert signal.set_wakeup_fd(before) == -1  # nothing of ours listens any more


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise there")
def test_ctrl_c_when_another_engine_was_closed() -> None:
    """Engines are closed in any order, and Ctrl-C still reaches those that are open."""
    before = signal.set_wakeup_fd(-1)
    first, second = ExitStack(), ExitStack()
    first.enter_context(engine())
    own = second.enter_context(engine())
    first.close()
    strike = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    strike.start()
    with pytest.raises(KeyboardInterrupt), keep_ctrl_c():  # Python may answer the signal a moment after the query ended
        own.connection.execute(f"SET threads = 1; {ENDLESS}").fetchall()
    strike.cancel()
    second.close()
    assert signal.set_wakeup_fd(before) == -1


def test_ctrl_c_while_a_folder_is_removed_is_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coming when shutil.rmtree has closed the folder and not noted it, Python closes it again; other errors stay."""
    remove = shutil.rmtree

    def stopped(code: int) -> Callable[..., None]:
        def remove_stopped(path: str, *words: Any, **more: Any) -> None:
            remove(path, *words, **more)
            try:
                raise KeyboardInterrupt
            finally:
                raise OSError(code, os.strerror(code))

        return remove_stopped

    monkeypatch.setattr(shutil, "rmtree", stopped(errno.EBADF))
    with pytest.raises(KeyboardInterrupt), engine():
        pass
    monkeypatch.setattr(shutil, "rmtree", stopped(errno.ENOSPC))
    with pytest.raises(OSError, match="space"), engine():
        pass
    monkeypatch.undo()
    with pytest.raises(OSError, match="descriptor"), keep_interrupt():  # nobody has pressed Ctrl-C
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


@pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise there")
def test_who_listened_before_hears_signals_too() -> None:
    """A program around us that wants to be woken by signals is, while an engine of ours is open."""
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    before = signal.set_wakeup_fd(mouth.fileno())
    handled = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with engine():
            os.kill(os.getpid(), signal.SIGUSR1)
            assert ear.recv(1) == bytes([signal.SIGUSR1])
    finally:
        signal.signal(signal.SIGUSR1, handled)
        assert signal.set_wakeup_fd(before) == mouth.fileno()
        ear.close()
        mouth.close()


ENDING = """
import atexit, sys, threading, time
from kpareto.faces.web.server import fall_silent

def hold(ready):
    import duckdb
    own = duckdb.connect()
    ready.set()
    time.sleep({seconds})

ready = threading.Event()
threading.Thread(target=hold, args=(ready,), daemon={daemon}).start()
ready.wait()
atexit.register(print, "last", file=sys.stderr, flush=True)
atexit.register(fall_silent)
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("daemon", "seconds", "said"),
    [
        (True, 600, ""),
        (False, 1, "last\n"),
    ],
    ids=["a search that has not stopped", "nothing left"],
)
def test_a_server_that_ends_says_nothing_of_threads_that_still_work(daemon: bool, seconds: int, said: str) -> None:
    """DuckDB, held by a search that has not stopped yet, complains at length when Python is taken down around it."""
    script = ENDING.format(daemon=daemon, seconds=seconds)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stderr) == (3, said)
