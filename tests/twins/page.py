"""A running page for tests: the real server in a thread, a working folder, a client that has the key."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import uvicorn

from kpareto.faces.web.guard import Keys
from kpareto.faces.web.server import ServerSettings, _listen, make_app

TOKEN = "a-token-for-tests-only"
# Each request has a connection of its own: one that is kept may be closed by the pool while another thread takes it up.
NOTHING_KEPT = httpx.Limits(max_keepalive_connections=0)


@dataclass(frozen=True)
class Page:
    """Where the page is, and how to speak to it."""

    folder: Path
    temporary: Path
    port: int
    client: httpx.Client

    @property
    def origin(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def open_door(self) -> None:
        """Take the cookie, as a browser does that opens the link."""
        assert self.client.get(f"/?token={TOKEN}").status_code == 200

    def new_session(self) -> str:
        """The path of a fresh session."""
        return f"/api/sessions/{self.client.post('/api/sessions').json()['id']}"

    @property
    def link(self) -> str:
        """The link that kpareto serve would print."""
        return f"{self.origin}/?token={TOKEN}"


@contextmanager
def running(
    folder: Path, temporary: Path, keys: Keys | None = None, upload_limit: int = 1 << 20, sign: str | None = None
) -> Iterator[Page]:
    """The page over a folder, until the block ends."""
    listening = _listen("127.0.0.1", 0)
    port = int(listening.getsockname()[1])
    chosen = keys or Keys(TOKEN, None)
    app = make_app(ServerSettings(folder, None, "127.0.0.1", port, upload_limit, sign), chosen, temporary)
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="error", access_log=False, ws="none", timeout_graceful_shutdown=1, timeout_keep_alive=600
        )
    )  # what others keep is not closed at the very moment of their next request
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    origin = f"http://127.0.0.1:{port}"
    headers = {"origin": origin, "x-kpareto-key": chosen.page}
    try:
        with httpx.Client(base_url=origin, headers=headers, timeout=600, limits=NOTHING_KEPT) as client:
            yield Page(folder, temporary, port, client)
    finally:
        server.should_exit = True
        thread.join()  # a socket closed under a server that is still ending would raise in its thread, in a later test
        listening.close()


def until(true: Callable[[], bool], seconds: float = 240) -> None:
    """Wait for something to be so."""
    for _ in range(int(seconds * 50)):
        if true():
            return
        time.sleep(0.02)
    pytest.fail("It did not come to pass.")


def write_people(place: Path, rows: int = 400) -> Path:
    """A small second table: age, town, sex, illness; equal on every run."""
    chance = random.Random(7)
    lines = ["age,town,sex,illness"]
    for _ in range(rows):
        town = chance.choice(["Ulm", "Bonn", "Kiel", "Jena", "Trier"])
        illness = chance.choice(["flu", "asthma", "gout", "none"])
        lines.append(f"{chance.randint(20, 79)},{town},{chance.choice('FM')},{illness}")
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def write_visits(place: Path) -> Path:
    """A table with an identifier: patient, zip, visit, illness."""
    lines = "".join(f"p{row},{10000 + row % 40},{row % 7},flu\n" for row in range(200))
    place.write_text("patient,zip,visit,illness\n" + lines, encoding="utf-8")
    return place


def write_towns(place: Path) -> Path:
    """A hierarchy for the towns of the small table, as a file."""
    towns = [("Bonn", "west"), ("Trier", "west"), ("Ulm", "south"), ("Jena", "east"), ("Kiel", "north")]
    place.write_text("".join(f"{town};{side};*\n" for town, side in towns), encoding="utf-8")
    return place


@contextmanager
def serving_people(place: Path, temporary: str = "temporary") -> Iterator[Page]:
    """A server of its own over a folder with the small table, opened with the key; a second call finds the folder."""
    for name in ("work", temporary):
        (place / name).mkdir(exist_ok=True)
    if not (place / "work" / "people.csv").exists():
        write_people(place / "work" / "people.csv")
    with running(place / "work", place / temporary) as started:
        started.open_door()
        yield started
