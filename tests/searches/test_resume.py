"""The compiled searches for one loss, stopped from outside: Ctrl-C and kill, and ``--resume`` afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kpareto.faces.cli import main
from kpareto.kernels.cuts import genitor
from kpareto.searches.cuts import recut

JOB = [
    "adult", "--set", "search.space=cuts", "--set", 'search.objectives=["lm"]', "--set", "suppression.rule=constraint",
    "--set", "suppression.limit=0.05", "--set", "limits.k=20", "--set", "search.budget=20000",
    "--set", "release.target=adult-anon.csv",
]  # fmt: skip
METHODS = ("genitor", "improve")
KEPT = "adult.checkpoint.npz"
# The command itself, but for a checkpoint at every step, so that no test has to wait for one.
EAGER = """
import sys
from kpareto.searches import driver
from kpareto.faces.cli import main
driver.TAKEN = driver.SAVED = driver.SHARE = 0
sys.exit(main(sys.argv[1:]))
"""


def job(command: str, method: str, *more: str) -> list[str]:
    """The arguments of a command on the job with one of the methods."""
    return [command, *JOB, "--set", f"search.method={method}", *more]


def told(file: Path) -> dict[str, Any]:
    """A front's JSON without the time it took."""
    found: dict[str, Any] = json.loads(file.read_text())
    del found["search"]["seconds"]
    return found


def steps_kept(file: Path, method: str) -> int:
    """How far the search had come when it wrote its checkpoint; 0 before it wrote any."""
    if not file.exists():
        return 0
    with np.load(file) as kept:
        return int(kept["tallies"][1 if method == "genitor" else 0])


@pytest.fixture(scope="module", params=METHODS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """A method, and the front of a search that was left alone."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(job("front", request.param, "-q", "--json", "whole.json")) == 0
    assert [each.name for each in folder.iterdir()] == ["whole.json"]
    return request.param, told(folder / "whole.json")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("sent", ["SIGINT", "SIGKILL"])
def test_stopped_from_outside_and_resumed(
    whole: tuple[str, dict[str, Any]],
    sent: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the middle of the search; what is left is one checkpoint, and the end is that of a search left alone."""
    method, expected = whole
    kept = tmp_path / KEPT
    running = subprocess.Popen(
        [sys.executable, "-c", EAGER, *job("front", method, "-q", "--json", "stopped.json")],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 600
    while steps_kept(kept, method) < expected["search"]["evaluated"] // 5:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)
    running.send_signal(getattr(signal, sent))
    out, err = running.communicate(timeout=240)
    if sent == "SIGINT":
        assert running.returncode == 130, err
        assert "Not complete: stopped by the user." in out
        assert "Go on with --resume" in err
        assert json.loads((tmp_path / "stopped.json").read_text())["search"]["complete"] is False
    else:
        assert running.returncode == -signal.SIGKILL, err
        assert not (tmp_path / "stopped.json").exists()
    assert steps_kept(kept, method) < expected["search"]["evaluated"]
    monkeypatch.chdir(tmp_path)
    assert main(job("front", method, "--resume", "--json", "resumed.json")) == 0
    assert f"Going on from {KEPT}." in capsys.readouterr().err
    assert told(tmp_path / "resumed.json") == expected
    assert not kept.exists()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("command", ["release", "report"])
def test_a_stopped_release_or_report_writes_nothing(
    command: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the search: status 130, a sentence, and no file, not even a checkpoint."""
    monkeypatch.chdir(tmp_path)
    room, name = (genitor, "genitor_steps") if method == "genitor" else (recut, "recut")
    real, calls = getattr(room, name), 0

    def interrupted(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(room, name, interrupted)
    assert main(job(command, method, "-q")) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
