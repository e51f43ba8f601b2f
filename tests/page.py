"""A running page for tests: the real server in a thread, a working folder, a client that has the key."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from kpareto.web.guard import Keys
from kpareto.web.server import Settings, _listen, make_app

TOKEN = "a-token-for-tests-only"


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

    @property
    def link(self) -> str:
        """The link that kpareto serve would print."""
        return f"{self.origin}/?token={TOKEN}"


@contextmanager
def running(folder: Path, temporary: Path, keys: Keys | None = None, upload_limit: int = 1 << 20) -> Iterator[Page]:
    """The page over a folder, until the block ends."""
    listening = _listen("127.0.0.1", 0)
    port = int(listening.getsockname()[1])
    chosen = keys or Keys(TOKEN, None)
    app = make_app(Settings(folder, None, "127.0.0.1", port, upload_limit), chosen, temporary)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", access_log=False, ws="none", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    origin = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=origin, headers={"origin": origin}, timeout=120) as client:
        yield Page(folder, temporary, port, client)
    server.should_exit = True
    thread.join(20)
    listening.close()


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
