"""A real PostgreSQL for tests: a server of our own in a temporary folder, reached by a socket there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from kpareto.engines.postgres.connect import Postgres

CI = os.environ.get("CI") == "true"
PASSWORD = "not-to-be-seen-3141"
_NUMBER = count(1)


def missing(reason: str) -> None:
    """Skip, or fail where continuous integration promised to bring everything."""
    if CI:
        pytest.fail(reason)
    pytest.skip(reason)


def binary(name: str) -> str:
    """One of PostgreSQL's programs; Debian keeps them out of the way."""
    found = shutil.which(name) or next(
        (str(place / name) for place in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None
    )
    if found is None:
        missing("There is no PostgreSQL server. Install it with: apt-get install -y postgresql")
    return str(found)


def _parent(stat: Path) -> int | None:
    """The parent of a running process; None where it is dead, buried or not."""
    try:
        state, parent, *_ = stat.read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else int(parent)


@dataclass
class Server:
    """A running server; ``kill`` and ``start`` are for tests that pull the plug."""

    folder: Path

    @property
    def data(self) -> Path:
        """Where its databases lie."""
        return self.folder / "data"

    def run(self, *command: str) -> None:
        """Run one of its programs; PostgreSQL refuses to be run by root."""
        own = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        done = subprocess.run([*own, *command], capture_output=True, text=True, cwd=self.folder, check=False)
        log = self.folder / "log"
        said = log.read_text()[-2000:] if done.returncode and log.exists() else ""
        assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}{said}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-c listen_addresses='' -k {self.folder} -F -c shared_buffers=32MB -c max_connections=20"
        self.run(binary("pg_ctl"), "-D", str(self.data), "-l", str(self.folder / "log"), "-o", options, "-w", "start")

    def stop(self) -> None:
        """Stop it at once."""
        self.run(binary("pg_ctl"), "-D", str(self.data), "-m", "immediate", "-w", "stop")

    def kill(self) -> None:
        """Kill every process of it, as a power cut would."""
        head = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(head, signal.SIGSTOP)  # it starts no more of them
        children = [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _parent(stat) == head]
        for process in (head, *children):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(_parent(Path(f"/proc/{process}/stat")) is not None for process in (head, *children)):
            time.sleep(0.02)  # the next server refuses to start as long as one of them has the memory
        for lock in (self.data / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
            lock.unlink()  # a dead process that nobody has buried yet would count as running

    def url(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        """The address of a database."""
        who = f"{user}:{quote(password)}" if password else user
        return f"postgresql://{who}@/{database}?host={quote(str(self.folder), safe='')}"

    def ask(self, url: str, query: str, given: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of an answer, in a transaction of its own; no rows for a command."""
        import psycopg  # here, as every test loads this file through conftest

        with psycopg.connect(url, autocommit=True) as link:
            done = link.execute(query, given or None)
            return list(done.fetchall()) if done.description else []

    @contextmanager
    def database(self, encoding: str = "UTF8") -> Iterator[str]:
        """The address of a fresh database, dropped afterwards."""
        name = f"made_{next(_NUMBER)}"
        locale = "C.UTF-8" if encoding == "UTF8" else "C"
        self.ask(self.url(), f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE '{locale}' TEMPLATE template0")
        yield self.url(name)
        self.ask(self.url(), f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def running() -> Iterator[Server]:
    """A server until the block ends; the folder's path is short, as paths of sockets must be."""
    with tempfile.TemporaryDirectory(prefix="kp-pg-") as folder:
        server = Server(Path(folder))
        if os.getuid() == 0:
            if shutil.which("runuser") is None:
                missing("PostgreSQL refuses to be run by root, and there is no runuser.")
            shutil.chown(folder, "postgres")
        server.run(binary("initdb"), "-D", str(server.data), "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8",
                   "--locale=C.UTF-8")  # fmt: skip
        # One user who must give a password; everybody else is trusted.
        gate = server.data / "pg_hba.conf"
        gate.write_text(f"local all careful scram-sha-256\n{gate.read_text()}")
        server.start()
        server.ask(server.url(), f"CREATE ROLE careful LOGIN PASSWORD '{PASSWORD}'")
        try:
            yield server
        finally:
            server.stop()


def put(url: str, name: str, columns: dict[str, str], rows: Sequence[Sequence[object]]) -> Postgres:
    """A table of these columns (name -> type) and rows."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(url) as link:
        table = sql.Identifier(name)
        listed = sql.SQL(", ").join(sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(t)) for n, t in columns.items())
        link.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        link.execute(sql.SQL("CREATE TABLE {} ({})").format(table, listed))
        with link.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(table)) as door:
            for row in rows:
                door.write_row(row)
    return Postgres(url, '"' + name.replace('"', '""') + '"')
