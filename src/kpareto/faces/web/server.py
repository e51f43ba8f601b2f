"""Start the page: an address, a key, a folder; everything temporary goes when the server ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

from kpareto.errors import EAR, BadInput, MissingExtra
from kpareto.faces.web.files import inside, temporary_folder
from kpareto.faces.web.guard import Guard, Keys, is_loopback, make_keys
from kpareto.releases.signing import load_key

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import FileResponse, Response
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles
except ImportError as error:
    raise MissingExtra(
        "The page needs starlette and uvicorn, which are not installed. Install them with: pip install 'kpareto[web]'."
    ) from error

PAGES = Path(__file__).with_name("static")
PORT = 8427
UPLOAD_LIMIT = 200 << 20


@dataclass(frozen=True)
class ServerSettings:
    """What a server is started with."""

    folder: Path  # nothing outside it is read or written
    job: str | None = None  # opened in every new session: a job or data file in the folder, or adult
    host: str = "127.0.0.1"
    port: int = PORT
    upload_limit: int = UPLOAD_LIMIT  # bytes
    sign: str | None = None  # the file of the key that signs what is released here


def make_app(
    settings: ServerSettings,
    keys: Keys,
    temporary: Path,
    is_ending: Callable[[], bool] = lambda: False,
    used: Callable[[str], None] = lambda _: None,
) -> Guard:
    """The page and its answers, behind the guard; streams end by themselves when the server is about to.

    used: told of each link that was good once.
    """
    from kpareto.faces.web.page_questions import FAILURES
    from kpareto.faces.web.routes import ROUTES
    from kpareto.faces.web.session import Sessions

    sessions = Sessions(settings.folder, temporary)

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        yield
        app.state.closing.set()
        sessions.close()

    async def page(_: Request) -> Response:
        return FileResponse(PAGES / "index.html")

    app = Starlette(
        routes=[Route("/", page), *ROUTES, Mount("/static", StaticFiles(directory=PAGES))],
        exception_handlers=FAILURES,
        lifespan=life,
    )
    app.state.sessions = sessions
    app.state.settings = settings
    app.state.closing = threading.Event()
    app.state.is_ending = lambda: app.state.closing.is_set() or is_ending()
    guard = Guard(app, keys, settings.host, settings.port, used)
    app.state.tickets = guard.tickets
    return guard


def serve(  # noqa: PLR0913 (the options of the command)
    job: str | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    password: str | None = None,
    browser: bool = True,
    upload_limit: int = UPLOAD_LIMIT,
    sign: str | None = None,
) -> None:
    """``kpareto serve [JOB]``: the page, on this machine alone unless told otherwise; ends with Ctrl-C."""
    keys = make_keys(host, token, password)
    folder = Path.cwd()
    if job is not None and job != "adult" and not inside(folder, job).exists():
        raise BadInput(f"There is no file {job!r} in this folder. Give a job or a data file that is here, or adult.")
    if sign is not None:
        load_key(sign)  # one that cannot sign is told before anybody works
    listening = _listen(host, port)
    number = int(listening.getsockname()[1])
    settings = ServerSettings(
        folder, job, host, number, upload_limit, None if sign is None else str(Path(sign).absolute())
    )
    place = f"http://{_show(host)}:{number}/"
    address = place + (f"?token={keys.token}" if keys.token else "")
    printed = [keys.token]  # the last link in the terminal
    servers: list[uvicorn.Server] = []
    ended: list[int] = []

    def leave(number: int, _: FrameType | None) -> None:
        """Ask the server to end; what is raised here might be swallowed by whatever runs just then."""
        ended.append(number)
        if servers:
            servers[0].should_exit = True
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            sys.exit(128 + number)

    def renew(token: str) -> None:
        """Print another link, where the last one that was printed has been used."""
        if token == printed[0]:
            printed[0] = keys.new_link()
            click.echo(f"That link was good once. The next one: {place}?token={printed[0]}")

    # A closed terminal window too; the temporary folder is removed.
    for ending in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        number_of = getattr(signal, ending, None)
        if number_of is not None and signal.getsignal(number_of) != signal.SIG_IGN:  # nohup stays what it is
            signal.signal(number_of, leave)
    atexit.register(fall_silent)
    with temporary_folder() as temporary, listening:
        app = make_app(settings, keys, temporary, lambda: any(server.should_exit for server in servers), renew)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=10
        )
        servers.append(uvicorn.Server(config))
        if ended:  # while there was no server to ask, and what was raised got lost
            servers[0].should_exit = True
        click.echo(f"kpareto is at {address}")
        click.echo(_remark(host, folder), err=True)
        sys.stdout.flush()
        if browser:
            threading.Timer(0.5, webbrowser.open, [browser_address(place, keys, temporary)]).start()
        with contextlib.suppress(KeyboardInterrupt):
            servers[0].run(sockets=[listening])
        if ended and ended[0] != signal.SIGINT:  # Ctrl-C is how it is meant to end
            sys.exit(128 + ended[0])


def browser_address(place: str, keys: Keys, temporary: Path) -> str:
    """What the browser is started with: a file for its owner alone that leads on, for everybody sees command lines."""
    if keys.token is None:
        return place  # it asks for the password
    file = temporary / "open.html"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as page:
        page.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={place}?token={keys.new_link()}">')
    return file.as_uri()


def fall_silent() -> None:
    """Nothing more on standard error, where a search that was told to stop has not yet.

    When Python is taken down around it, the libraries that it holds complain of it at length.
    """
    if any(thread.daemon and thread.name != EAR for thread in threading.enumerate()):
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _remark(host: str, folder: Path) -> str:
    who = "this machine only" if is_loopback(host) else "EVERYBODY on the network who has the key; it is not encrypted"
    return f"Open to {who}. It reads and writes in {folder} alone. End it with Ctrl-C."


def _show(host: str) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _listen(host: str, port: int | None) -> socket.socket:
    """A listening socket; without a wish the usual port, or any free one where that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (port,) if port is not None else (PORT, 0):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host.strip("[]"), number))
        except OSError as error:
            listener.close()
            if number == 0 or port is not None:
                raise BadInput(f"Cannot listen on {host}:{number}: {error.strerror}. Give another --port.") from error
        else:
            listener.listen(64)
            return listener
    raise BadInput(f"Cannot listen on {host}.")
