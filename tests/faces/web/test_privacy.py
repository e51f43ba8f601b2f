"""The page gives nothing to anybody else: its key, its uploads, its limits, and what others can make it do."""

from __future__ import annotations

import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kpareto.faces.web import session as room
from kpareto.faces.web.files import LOCK, sweep, temporary_folder, unpacked_size
from kpareto.faces.web.guard import FREE, Attempts, Keys, Tickets, group_of, make_keys
from kpareto.faces.web.server import browser_address
from kpareto.faces.web.turns import Work
from kpareto.interrupts import is_stopped
from tests.twins.page import TOKEN, Page, running
from tests.twins.workbooks import far_workbook

# -- the key -------------------------------------------------------------------------------------------------------


def test_the_cookie_alone_opens_no_door(page: Page, session: str) -> None:
    """A server on another port of this machine is sent the cookie, and can do nothing with it."""
    page.client.post(f"{session}/open", json={"name": "people.csv"})
    with httpx.Client(
        base_url=page.origin, cookies=page.client.cookies, headers={"origin": page.origin}, timeout=240
    ) as thief:
        assert thief.get("/").status_code == 200  # the page's files, which everybody can read in the repository
        assert thief.get("/api/about").status_code == 401
        assert thief.post("/api/sessions").status_code == 401
        assert thief.get(session).status_code == 401
        assert thief.get(f"{session}/hierarchy?column=age").status_code == 401
        assert thief.post("/api/tickets", json={"path": f"{session}/job/file"}).status_code == 401
        wrong = {"x-kpareto-key": "wrong"}
        assert thief.get("/api/about", headers=wrong).status_code == 401
    key = page.client.headers["x-kpareto-key"]
    with httpx.Client(
        base_url=page.origin, headers={"origin": page.origin, "x-kpareto-key": key}, timeout=240
    ) as other:
        assert other.get("/api/about").status_code == 401  # and the key alone does not either


def test_the_link_hands_the_key_to_the_page_alone(page: Page) -> None:
    """The key stands after # in the link that moves on, so that no server is ever sent it; the cookie is another one."""
    with httpx.Client(base_url=page.origin, timeout=240) as visitor:
        answer = visitor.get(f"/?token={TOKEN}")
        assert f"url=/#key={page.client.headers['x-kpareto-key']}" in answer.text
        assert page.client.headers["x-kpareto-key"] not in answer.headers["set-cookie"]
        assert "#key=" not in visitor.get("/").text
        again = visitor.get(f"/?token={TOKEN}")  # a browser that has the cookie, and has lost the key
        assert "#key=" in again.text


def test_a_link_that_we_make_is_good_once(tmp_path: Path) -> None:
    """Whoever reads it later in a history, a log or a list of processes comes too late; the token of a user stays."""
    keys = make_keys("127.0.0.1", None, None)
    with running(tmp_path, tmp_path / "t", keys) as page, httpx.Client(base_url=page.origin, timeout=240) as visitor:
        assert visitor.head(f"/?token={keys.token}").status_code == 401  # who only looks does not use it up
        assert visitor.get(f"/?token={keys.token}").status_code == 200
        assert visitor.get("/").status_code == 200
        with httpx.Client(base_url=page.origin, timeout=240) as thief:
            answer = thief.get(f"/?token={keys.token}")
            assert answer.status_code == 401
            assert "set-cookie" not in answer.headers
            another = keys.new_link()
            assert thief.get(f"/?token={another}").status_code == 200
            assert another not in keys.links
    fixed = make_keys("127.0.0.1", "a-token-of-ones-own", None)
    assert fixed.accepts("a-token-of-ones-own", None)
    assert fixed.links == set()


def test_the_next_link_is_printed_when_one_was_used(tmp_path: Path) -> None:
    """Another browser, or a tab that lost its key, needs another link."""
    with Serving(tmp_path) as (server, link):
        assert httpx.get(link, timeout=240).status_code == 200
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("That link was good once. The next one: http://127.0.0.1:")
        assert httpx.get(link, timeout=240).status_code == 401
        assert httpx.get(line.split()[-1], timeout=240).status_code == 200


def test_the_browser_is_started_with_a_private_file(tmp_path: Path) -> None:
    """Everybody on a machine can read command lines, so no key stands there: a file of mode 0600 leads on, once."""
    keys = make_keys("127.0.0.1", None, None)
    address = browser_address("http://127.0.0.1:1/", keys, tmp_path)
    file = tmp_path / "open.html"
    assert address == file.as_uri()
    assert file.stat().st_mode & 0o777 == 0o600
    (token,) = re.findall(r"token=([\w-]+)", file.read_text())
    assert token != keys.token
    assert keys.links == {token, keys.token}
    assert not any(each in address for each in keys.links)
    assert browser_address("http://127.0.0.1:1/", Keys(None, "a password"), tmp_path) == "http://127.0.0.1:1/"


def test_a_ticket_is_good_once_and_for_one_address(page: Page, session: str) -> None:
    """A download or a frame gets a link of its own, which opens nothing else and nothing twice."""
    page.client.post(f"{session}/open", json={"name": "people.csv"})
    path = f"{session}/job/file"
    with httpx.Client(base_url=page.origin, cookies=page.client.cookies, timeout=240) as frame:

        def ticket() -> str:
            return str(page.client.post("/api/tickets", json={"path": path}).json()["ticket"])

        assert frame.get(f"{session}?ticket={ticket()}").status_code == 401
        good = ticket()
        assert frame.get(f"{path}?ticket={good}").status_code == 200
        assert frame.get(f"{path}?ticket={good}").status_code == 401
        assert frame.delete(f"{session}/search?ticket={ticket()}", headers={"origin": page.origin}).status_code == 401
    assert page.client.post("/api/tickets", json={"path": "/api/about"}).status_code == 400


def test_a_ticket_does_not_live_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a minute a link that was not used is worth nothing."""
    tickets = Tickets()
    ticket = tickets.make("/api/sessions/x/files/a b.csv?c=1")
    clock = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: clock + 61)
    assert not tickets.take("/api/sessions/x/files/a b.csv", f"c=1&ticket={ticket}")


# -- what stays ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there are no such signals here")
@pytest.mark.parametrize("name", ["SIGHUP", "SIGQUIT"])
def test_a_closed_terminal_leaves_no_upload(tmp_path: Path, name: str) -> None:
    """Closing the window of the terminal removes what was uploaded."""
    with Serving(tmp_path) as (server, _):
        assert list(tmp_path.glob("kpareto-web-*"))
        server.send_signal(getattr(signal, name))
        assert server.wait(240) == 128 + getattr(signal, name)
    assert list(tmp_path.glob("kpareto-web-*")) == []


def test_the_next_start_sweeps_what_a_kill_left(tmp_path: Path) -> None:
    """After kill -9 the folder is there; the next server removes it, and leaves that of a living one alone."""
    with Serving(tmp_path) as (server, _):
        (left,) = tmp_path.glob("kpareto-web-*")
        server.kill()
        server.wait(240)
    assert left.exists()
    with Serving(tmp_path) as (living, _):
        (own,) = tmp_path.glob("kpareto-web-*")
        assert own != left
        assert sweep(tmp_path) == []
        living.terminate()
        living.wait(240)


def test_the_terminal_stays_quiet(tmp_path: Path) -> None:
    """An upload that breaks off, and an end while somebody watches a search, leave no line in the terminal (C16)."""
    errors = tmp_path / "errors.txt"
    with Serving(tmp_path, errors) as (server, link):
        origin, _, token = link.partition("/?token=")
        with httpx.Client(base_url=origin, headers={"origin": origin}, timeout=240) as client:
            key = re.search(r"#key=([\w-]+)", client.get(f"/?token={token}").text)
            assert key is not None
            client.headers["x-kpareto-key"] = key[1]
            session = f"/api/sessions/{client.post('/api/sessions').json()['id']}"
            _break_off(client, session)
            client.post(f"{session}/open", json={"name": "adult"})
            draft = client.get(session).json()["draft"]
            draft["search"] = {"method": "nsga2", "space": "cuts", "objectives": ["k", "glm"], "budget": 10_000_000}
            assert client.put(f"{session}/job", json=draft).status_code == 200
            assert client.post(f"{session}/search", json={}).status_code == 200
            with client.stream("GET", f"{session}/events") as stream:
                next(stream.iter_text())
                server.send_signal(signal.SIGINT)
                assert server.wait(240) in (0, 130)
    (greeting,) = errors.read_text(encoding="utf-8").splitlines()
    assert greeting.startswith("Open to this machine only.")


def _break_off(client: httpx.Client, session: str) -> None:
    """Promise a hundred thousand bytes, send a few, and go."""
    host = client.base_url
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    head = (
        f"PUT {session}/upload/data HTTP/1.1\r\nHost: {host.host}:{host.port}\r\nOrigin: http://{host.host}:{host.port}\r\n"
        f"X-Kpareto-Key: {client.headers['x-kpareto-key']}\r\nCookie: {cookie}\r\nX-Name: broken.csv\r\n"
        "Content-Length: 100000\r\n\r\nage,sex\r\n"
    )
    with socket.create_connection((host.host, host.port or 80)) as line:
        line.sendall(head.encode())
        time.sleep(0.5)  # until it is being read
    assert client.get("/api/about").status_code == 200


class Serving:
    """``kpareto serve`` as a process with a temporary folder of its own; what it complains of goes to a file."""

    def __init__(self, folder: Path, errors: Path | None = None) -> None:
        env = {**os.environ, "TMPDIR": str(folder)}
        # A process that was started in the background ignores SIGQUIT and SIGINT, and so would its children.
        heard = (
            "import signal, sys; signal.signal(signal.SIGQUIT, signal.SIG_DFL); "
            "signal.signal(signal.SIGINT, signal.default_int_handler); from kpareto.faces.cli import main; "
        )
        command = [sys.executable, "-c", heard + "sys.exit(main(['serve', '--no-browser', '--port', '0']))"]
        with (errors or Path(os.devnull)).open("w", encoding="utf-8") as file:
            self.server = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=file, text=True)

    def __enter__(self) -> tuple[subprocess.Popen[str], str]:
        assert self.server.stdout is not None
        return self.server, self.server.stdout.readline().split()[-1]

    def __exit__(self, *_: object) -> None:
        if self.server.poll() is None:
            self.server.kill()
        self.server.wait(240)
        if self.server.stdout is not None:
            self.server.stdout.close()


STRUCK = """
import signal, sys
import uvicorn
from kpareto.faces.cli import main
from kpareto.faces.web import server
room, step, number = {"app": (server, "make_app"), "run": (uvicorn.Server, "run"),
                      "startup": (uvicorn.Server, "startup")}[sys.argv[1]] + (getattr(signal, sys.argv[2]),)
signal.signal(number, signal.default_int_handler if sys.argv[2] == "SIGINT" else signal.SIG_DFL)
quick = getattr(room, step)

def struck(*args, **named):
    try:
        signal.raise_signal(number)
    except BaseException:
        print("raised")
    return quick(*args, **named)

setattr(room, step, struck)
sys.exit(main(["serve", "--no-browser", "--port", "0"]))
"""


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 128 + signal.SIGTERM), ("SIGINT", 0)])
@pytest.mark.parametrize("step", ["app", "run", "startup"])
def test_a_signal_while_the_server_starts_is_heard(tmp_path: Path, step: str, name: str, status: int) -> None:
    """It comes in the middle of a step of the start that swallows whatever is raised: the server ends all the same."""
    command = [sys.executable, "-c", STRUCK, step, name]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == status, done.stderr
    assert ("raised" in done.stdout) == (step == "app")  # later on a server is there to be asked
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("kpareto-web-*")) == []


def test_a_folder_in_use_is_not_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock tells the living from the dead; a young folder without one may just be getting it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, young, old = (tmp_path / f"kpareto-web-{name}" for name in ("dead", "young", "old"))
    for folder in (dead, young, old):
        folder.mkdir()
    (dead / LOCK).touch()
    os.utime(old, (1, 1))
    with temporary_folder() as own:
        assert not dead.exists()
        assert not old.exists()
        assert young.exists()
        assert sweep(tmp_path) == []
        assert own.exists()
    assert not own.exists()


def test_a_refused_or_replaced_upload_does_not_stay(page: Page, session: str) -> None:
    """What is no table goes at once, and a table goes when another one takes its place."""

    def files() -> set[str]:
        return {file.name for file in page.temporary.rglob("uploads/*")}

    photo = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
    assert page.client.put(f"{session}/upload/data", content=photo, headers={"x-name": "photo.png"}).status_code == 400
    assert "photo.png" not in files()
    people = (page.folder / "people.csv").read_bytes()
    for name in ("first.csv", "second.csv"):
        assert page.client.put(f"{session}/upload/data", content=people, headers={"x-name": name}).status_code == 200
    assert "first.csv" not in files()
    assert "second.csv" in files()


# -- limits --------------------------------------------------------------------------------------------------------


def test_a_session_has_a_quota(page: Page, session: str) -> None:
    """Files of a session that are not replaced (a release to verify, its certificate) have a limit together."""
    rows = b"age,town\n" + b"20,Ulm\n" * 140_000
    assert page.client.put(f"{session}/upload/data", content=rows, headers={"x-name": "a.csv"}).status_code == 200
    almost = b"x" * 1_000_000
    for kind, status in (("release", 200), ("certificate", 200), ("release", 413)):
        answer = page.client.put(f"{session}/upload/{kind}", content=almost, headers={"x-name": f"{kind}-{status}"})
        assert answer.status_code == status
    assert "The files of this session" in answer.json()["error"]
    assert list(page.temporary.rglob("release-413*")) == []


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(page: Page, session: str) -> None:
    """A hundred megabytes of rows in a hundred kilobytes are told by a sentence, quickly, and do not stay."""
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 8_000_000, 9)
    assert len(bomb) < 1 << 20
    answer = page.client.put(f"{session}/upload/data", content=bomb, headers={"x-name": "bomb.csv.gz"})
    assert answer.status_code == 400
    assert "larger than 10 MB when it is unpacked" in answer.json()["error"]
    assert list(page.temporary.rglob("bomb*")) == []
    small = gzip.compress((page.folder / "people.csv").read_bytes())
    fine = page.client.put(f"{session}/upload/data", content=small, headers={"x-name": "people.csv.gz"})
    assert fine.status_code == 200


def test_unpacked_sizes(tmp_path: Path) -> None:
    """Each packed kind tells its size before anything is read; several gzip parts in a row count all."""

    def told(path: Path) -> int:
        return unpacked_size(path, 10**9, lambda _, __: None)

    twice = tmp_path / "twice.csv.gz"
    twice.write_bytes(gzip.compress(b"x" * 1000) + gzip.compress(b"y" * 500))
    assert told(twice) == 1500
    pq.write_table(pa.table({"a": pa.array([1] * 100_000), "b": pa.array([2] * 100_000)}), tmp_path / "p.parquet")
    assert told(tmp_path / "p.parquet") >= 200_000
    assert (tmp_path / "p.parquet").stat().st_size < 100_000
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip")
    assert told(tmp_path / "broken.csv.gz") == 0


def test_a_question_in_chunks_has_a_limit_too(page: Page, session: str) -> None:
    """Sixty megabytes of JSON without an announced length are refused as soon as they are too much."""
    sent = 0

    def chunks() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(60):
            sent += 1 << 20
            yield b" " * (1 << 20)

    try:
        status = page.client.put(f"{session}/view", content=chunks()).status_code
    except httpx.TransportError:
        status = 413  # the server has hung up before all was sent
    assert status == 413
    assert page.client.get("/api/about").status_code == 200


def test_waiting_for_a_turn_takes_no_thread(page: Page, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty requests that wait for one session leave the page's own files and other sessions at once."""
    page.client.post(f"{session}/open", json={"name": "people.csv"})
    free = threading.Event()

    def slow(*_: object) -> dict[str, object]:
        free.wait(600)
        return {}

    monkeypatch.setattr("kpareto.faces.web.session.Session.hierarchy_view", slow)
    with ThreadPoolExecutor(60) as many:
        asked = [many.submit(page.client.get, f"{session}/hierarchy?column=age") for _ in range(60)]
        wait(asked, return_when=FIRST_COMPLETED)  # one is told that too many wait: the line is full
        assert page.client.get("/static/style.css").status_code == 200
        assert page.client.get("/api/about").status_code == 200
        assert page.client.get(f"{session}/pulse").status_code == 200
        assert not free.is_set()
        free.set()
        statuses = {each.result().status_code for each in asked}
    assert statuses == {200, 429}


# -- passwords -----------------------------------------------------------------------------------------------------


def test_guesses_are_slowed_and_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses at once are refused unread, those after each other wait longer and longer, and the right one waits too."""
    (tmp_path / "t").mkdir()
    monkeypatch.setattr("kpareto.faces.web.guard.NEXT_WAIT", 200.0)  # a busy machine is no help to a guesser
    with running(tmp_path, tmp_path / "t", Keys(None, "correct horse battery")) as page:

        def guess(word: str) -> int:
            with httpx.Client(base_url=page.origin, headers={"origin": page.origin}, timeout=240) as guesser:
                return guesser.post("/login", data={"password": word}).status_code

        with ThreadPoolExecutor(20) as many:
            statuses = list(many.map(guess, [f"guess number {n}" for n in range(20)]))
        assert statuses.count(401) <= FREE
        assert statuses.count(429) >= 20 - FREE
        for _ in range(FREE + 1):
            last = guess("another guess")
        assert last == 429
        answer = page.client.post("/login", data={"password": "correct horse battery"})
        assert answer.status_code == 429
        assert "Wait" in answer.text


def test_attempts_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each address waits for its own mistakes, doubling; all together have a limit; a right one is forgiven."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    attempts = Attempts()
    waits = [attempts.end("10.0.0.1", right=False) for _ in range(6)]
    assert waits[: FREE - 1] == [0.0] * (FREE - 1)
    assert waits[-1] == 2 * waits[-2]
    assert attempts.wait_for("10.0.0.1") == waits[-1]
    assert attempts.wait_for("10.0.0.2") == 0
    attempts.end("10.0.0.1", right=True)
    assert attempts.wait_for("10.0.0.1") == 0
    for number in range(40):
        attempts.end(f"10.1.0.{number}", right=False)
    assert attempts.wait_for("10.9.9.9") > 0
    clock[0] += 61
    assert attempts.wait_for("10.9.9.9") == 0
    assert group_of("2001:db8::1") == group_of("2001:db8::ffff")
    assert group_of("2001:db8::1") != group_of("2001:db8:1::1")


def test_an_upload_that_kills_its_reader_does_not_kill_the_server(page: Page, session: str, tmp_path: Path) -> None:
    """A workbook with a cell in the last corner is told by a sentence, does not stay, and the next upload is read."""
    bomb = far_workbook(tmp_path / "far.xlsx", "XFD1048576").read_bytes()
    assert len(bomb) < 2_000
    answer = page.client.put(f"{session}/upload/data", content=bomb, headers={"x-name": "far.xlsx"})
    assert answer.status_code == 400
    assert "one cell far away from its table" in answer.json()["error"]
    assert list(page.temporary.rglob("far*")) == []
    fine = (page.folder / "people.csv").read_bytes()
    assert page.client.put(f"{session}/upload/data", content=fine, headers={"x-name": "people.csv"}).status_code == 200


def test_who_stops_an_upload_is_heard_by_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process in which a file is looked at knows the person who waits."""
    heard = []
    monkeypatch.setattr(room, "run_apart", lambda *_, **__: heard.append(is_stopped()))
    work = Work()
    room.look_apart("people.csv", "utf-8", work)
    work.stopped.set()
    room.look_apart("people.csv", "utf-8", work)
    assert [*heard, is_stopped()] == [False, True, False]
