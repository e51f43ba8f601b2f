"""kill -9 at any moment during a release: the target is absent, the old file, or the whole new one."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kpareto.atomic import PART, whole, write_whole
from kpareto.errors import BadInput
from kpareto.releases.release import release
from kpareto.verifier import verify
from tests.twins.releases import chosen, chosen_locally, people, uneven_people

KILLS = 60
SERVER = """
import os, signal, sys, time
from kpareto.releases.release import release
from kpareto.releases.settings import DANGERS
from tests.twins.releases import chosen, chosen_locally, people, uneven_people
tables = {False: people(300), True: uneven_people(3)}
choices = {False: chosen(tables[False]), True: chosen_locally(tables[True], 12)}
print("ready", flush=True)
for line in sys.stdin:
    target, _, after = line.strip().rpartition(" ")
    child = os.fork()
    if child == 0:
        local = "local" in os.path.basename(target)
        release(choices[local], tables[local], target, accept=DANGERS)
        os._exit(0)
    if after != "never":
        time.sleep(float(after))
        os.kill(child, signal.SIGKILL)  # not waited for yet, so the number is still this child's, dead or alive
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Server:
    """A warm process that forks a child for each release, so that a kill costs milliseconds, not an import."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.line() == "ready"

    def line(self) -> str:
        """The next thing it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def release(self, target: Path, after: float | None, end: str = "") -> int:
        """Release to the target in a child, kill it after so many seconds, and return how it ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{target}{end} {'never' if after is None else after}\n")
        self.process.stdin.flush()
        return int(self.line())

    def measure(self, target: Path, end: str = "") -> float:
        """How long a release takes that is left alone: the shortest of three, for a machine may pause."""
        took = []
        for _ in range(3):
            shutil.rmtree(target, ignore_errors=True)  # nothing is written over a folder
            started = time.monotonic()
            assert self.release(target, None, end) == 0
            took.append(time.monotonic() - started)
        return min(took)

    def close(self) -> None:
        """Let it go."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(240)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The warm process."""
    started = Server()
    yield started
    started.close()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "local.csv", "local.parquet"])
def test_kill_at_any_moment(tmp_path: Path, server: Server, name: str) -> None:
    """Thirty kills each at moments spread over a release: nothing half-written ever stands under the target's name."""
    target = tmp_path / name
    took = server.measure(target)
    new = target.read_bytes()
    rng = random.Random(name)
    seen: dict[str, int] = {}
    for number in range(KILLS // 2):
        target.unlink(missing_ok=True)
        if number % 2:
            target.write_bytes(b"old")
        after = rng.uniform(0, took * 1.1)
        server.release(
            target, after if number > 1 else 0.0
        )  # two before anything is written, however fast it has become
        now = target.read_bytes() if target.exists() else None
        assert now in ((b"old" if number % 2 else None), new)
        state = "absent" if now is None else "old" if now == b"old" else "new"
        seen[state] = seen.get(state, 0) + 1
        visible = [file.name for file in tmp_path.iterdir() if not file.name.startswith(".")]
        assert visible in ([name], [])
    assert {"old", "absent"} <= set(seen)
    rows = uneven_people(3) if "local" in name else people(300)
    choice = chosen_locally(rows, 12) if "local" in name else chosen(rows)
    certificate: Any = release(choice, rows, target).certificate
    verify(target, certificate)
    assert target.read_bytes() == new
    assert [file.name for file in tmp_path.iterdir()] == [name]  # what the killed ones left was swept away


def test_kill_while_a_folder_is_written(tmp_path: Path, server: Server) -> None:
    """A folder of Parquet parts is absent or whole; what killed ones left is swept away by the next."""
    target = tmp_path / "parts"
    took = server.measure(target, "/")
    new = {file.name: file.read_bytes() for file in target.iterdir()}
    rng = random.Random(7)
    seen = set()
    for _ in range(12):
        shutil.rmtree(target, ignore_errors=True)
        server.release(target, rng.uniform(0, took * 1.1), "/")
        seen.add(target.exists())
        if target.exists():
            assert {file.name: file.read_bytes() for file in target.iterdir()} == new
    assert False in seen
    shutil.rmtree(target, ignore_errors=True)
    rows = people(300)
    done = release(chosen(rows), rows, f"{target}/")
    assert done.path == target
    verify(target, done.certificate)
    assert [file.name for file in tmp_path.iterdir()] == ["parts"]


def test_parts_being_written_are_not_swept(tmp_path: Path) -> None:
    """Two releases to one target do not remove each other's parts; the later one wins, whole."""
    target = tmp_path / "x.txt"
    with whole(target) as first:
        first.write_text("first")
        with whole(target) as second:
            second.write_text("second")
        assert first.exists()
        assert target.read_text() == "second"
    assert target.read_text() == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["x.txt"]


def test_an_error_inside_leaves_no_part(tmp_path: Path) -> None:
    """Whatever goes wrong while writing, the part goes and the old file stays."""
    target = tmp_path / "x.txt"
    write_whole(target, "old")

    def fail() -> None:
        with whole(target) as part:
            part.write_text("half")
            raise KeyError("planned")

    with pytest.raises(KeyError, match="planned"):
        fail()
    assert target.read_text() == "old"
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(PART)]


def test_links_are_followed_and_errors_are_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A linked target is replaced where it lies; a failing move is one sentence."""
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_whole(tmp_path / "link.txt", "new")
    assert (tmp_path / "real.txt").read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(BadInput, match=r"Cannot write '.*': no space is left \(No space left on device\). Nothing"):
        write_whole(tmp_path / "real.txt", "newer")
    assert (tmp_path / "real.txt").read_text() == "new"
