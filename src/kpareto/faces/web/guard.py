"""Who may speak to the page: token or password, Host, Origin, size of what is sent, paths, and what browsers may do."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import re
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

from kpareto.errors import BadInput, BadJob
from kpareto.faces.web.attempts import FIRST_WAIT, Attempts
from kpareto.faces.web.door import POLICY as DOOR_POLICY
from kpareto.faces.web.door import door_page

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SHORTEST = 12  # letters of a token or password that others on the network could try to guess
TICKET = 60.0  # seconds in which a link that is good once must be used
MOST_TICKETS = 1_000
KEY_HEADER = "x-kpareto-key"
SAFE_METHODS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A report is a page of its own with its style inside; nothing in it runs, and only our page may show it.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Keys:
    """What opens the door: a token in the link or a password, the cookie that remembers it, and the page's own key.

    A browser sends a cookie to every port of a machine, so whoever listens on another port of it has the cookie. The
    page's key is kept by the page's origin alone and sent as a header; the cookie opens nothing but the page's files.
    """

    token: str | None
    password: str | None
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    page: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def accepts(self, token: str | None, password: str | None) -> bool:
        """Whether one of the two is right; the comparison takes as long for a wrong one."""
        pairs = ((token, self.token), (password, self.password))
        return any(
            key is not None and wanted is not None and secrets.compare_digest(key.encode(), wanted.encode())
            for key, wanted in pairs
        )


def make_keys(host: str, token: str | None, password: str | None) -> Keys:
    """The keys for an address: a random token on loopback; elsewhere a token or password must be given."""
    if token is None and password is None:
        if not is_loopback(host):
            raise BadJob(
                f"The page would be open to the network on {host!r}. Give --password or --token of at least "
                f"{SHORTEST} letters, or leave --host out to stay on this machine."
            )
        return Keys(secrets.token_urlsafe(24), None)
    for name, key in (("token", token), ("password", password)):
        if key is not None and len(key) < SHORTEST:
            raise BadJob(f"The {name} has {len(key)} letters. Give at least {SHORTEST}.")
        if name == "token" and key is not None and not re.fullmatch(r"[A-Za-z0-9._~-]+", key):
            raise BadJob("The token stands in a link: use letters, digits and . _ ~ - only.")
    return Keys(token, password)


def allowed_hosts(host: str, port: int) -> Callable[[str], bool]:
    """Which Host headers are ours; a name that somebody else's server points at us is not (DNS rebinding)."""
    names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(host) else {host, f"[{host}]"}
    every = host in ("0.0.0.0", "::")
    if every:
        names |= {"127.0.0.1", "localhost", "[::1]", socket.gethostname().lower()}
    plain = port == 80

    def is_allowed(header: str) -> bool:
        name, colon, number = header.lower().rpartition(":")
        if not colon or (name.startswith("[") and not name.endswith("]")):
            name, number = header.lower(), "80"
        if number != str(port) and not (plain and not colon):
            return False
        return name in names or (every and _is_address(name))

    return is_allowed


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


class Tickets:
    """Links that are good once, for one address, and not for long."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}  # ticket -> address, and when it ends

    def make(self, address: str) -> str:
        """A ticket for a path with its query."""
        now = time.monotonic()
        self._known = {name: about for name, about in self._known.items() if about[1] > now}
        while len(self._known) >= MOST_TICKETS:
            self._known.pop(next(iter(self._known)))
        ticket = secrets.token_urlsafe(24)
        self._known[ticket] = (_plain_address(*address.partition("?")[::2]), now + TICKET)
        return ticket

    def take(self, path: str, query: str) -> bool:
        """Whether the ticket in a query is good for its address; it is not, from then on."""
        ticket = parse_qs(query).get("ticket", [""])[0]
        address, ends = self._known.pop(ticket, ("", 0.0))
        return time.monotonic() < ends and address == _plain_address(path, query)


def _plain_address(path: str, query: str) -> str:
    """A path and its questions, without the ticket."""
    asked = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "ticket"]
    return repr((unquote(path), asked))


class Guard:
    """Stands before every request: Host, Origin, key; and adds the security headers to every answer."""

    def __init__(self, app: App, keys: Keys, host: str, port: int) -> None:
        self.app = app
        self.keys = keys
        self.is_ours = allowed_hosts(host, port)
        self.cookie_name = f"kpareto-{port}"
        self.tickets = Tickets()
        self.attempts = Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or hand on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no web sockets here
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        send = _with_headers(send)
        refusal = self._refusal(scope["method"], headers)
        if refusal:
            await _page(send, 403, refusal)
        elif scope["path"] == "/login" and scope["method"] == "POST":
            await self._login(scope, receive, send)
        elif self._is_link(scope) or not self._knows(headers.get("cookie", "")):
            await self._knock(scope, send)
        elif scope["path"].startswith("/api/") and not self._is_our_page(scope, headers):
            await _json(send, 401, "The key is missing or old. Open the link that kpareto serve printed.")
        else:
            await self.app(scope, receive, send)

    def _is_link(self, scope: Scope) -> bool:
        """Whether this is the link that was printed, key and all."""
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return scope["path"] == "/" and self.keys.accepts(token, None)

    def _is_our_page(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Whether a question comes from our own page: with the key that no other origin has, or a ticket got by it."""
        if secrets.compare_digest(headers.get(KEY_HEADER, "").encode(), self.keys.page.encode()):
            return True
        return scope["method"] == "GET" and self.tickets.take(scope["path"], scope["query_string"].decode("latin-1"))

    def _refusal(self, method: str, headers: dict[str, str]) -> str:
        """Why a request is refused whoever sends it; nothing if it is not."""
        host = headers.get("host", "")
        if not self.is_ours(host):
            return f"This server does not answer to the name {host!r}. Open the link that kpareto serve printed."
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            return f"A page of {origin!r} may not speak to this server."
        if method not in SAFE_METHODS and origin is None and headers.get("sec-fetch-site", "none") != "same-origin":
            return "A request that changes something must come from the page itself (it has no Origin)."
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate":
            return "A page of another site may not speak to this server."
        return ""

    def _knows(self, cookies: str) -> bool:
        try:
            cookie = SimpleCookie(cookies).get(self.cookie_name)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), self.keys.cookie.encode())

    async def _knock(self, scope: Scope, send: Send) -> None:
        """Somebody without the cookie: let in by the token of the link, or ask for the password."""
        if self._is_link(scope):
            # A redirect would not carry a strict cookie after a click in a mail program; a page that moves on does.
            await _page(send, 200, "Opening …", moves_on=self._page_link(), cookie=self._cookie())
        elif scope["path"].startswith("/api/"):
            await _json(send, 401, "The key is missing or old. Open the link that kpareto serve printed.")
        elif self.keys.password is not None and scope["path"] == "/":
            await _page(send, 401, "This page is protected by a password.", form=True)
        else:
            await _page(send, 401, "The key is missing or wrong. Open the whole link that kpareto serve printed.")

    async def _login(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Try a password; who was wrong waits before the next try, and may not try two at once."""
        body = b""
        while len(body) < 4096:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        address = str((scope.get("client") or ("",))[0])
        wait = self.attempts.wait_for(address)
        if wait > 0:
            sentence = f"There were too many tries. Wait {math.ceil(wait)} seconds, then try again."
            await _page(send, 429, sentence, form=True)
            return
        self.attempts.begin(address)
        right = False
        try:
            right = self.keys.accepts(None, parse_qs(body.decode("latin-1")).get("password", [""])[0])
            if not right:
                await asyncio.sleep(FIRST_WAIT)
        finally:
            self.attempts.end(address, right=right)
        if right:
            await _page(send, 200, "Opening …", moves_on=self._page_link(), cookie=self._cookie())
        else:
            await _page(send, 401, "The password is wrong.", form=True)

    def _page_link(self) -> str:
        """Where the page is; what stands after # is never sent to a server."""
        return f"/#key={self.keys.page}"

    def _cookie(self) -> str:
        return f"{self.cookie_name}={self.keys.cookie}; Path=/; HttpOnly; SameSite=Strict"


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            there = {name.lower() for name, _ in headers}
            more = {**HEADERS, "content-security-policy": POLICY, "x-frame-options": "DENY"}
            headers += [(n.encode(), v.encode()) for n, v in more.items() if n.encode() not in there]
            message = {**message, "headers": headers}
        await send(message)

    return sending


async def _page(
    send: Send, status: int, sentence: str, *, moves_on: str = "", form: bool = False, cookie: str | None = None
) -> None:
    """A page of one sentence."""
    text = door_page(sentence, moves_on, form=form)
    await _send(send, status, "text/html; charset=utf-8", text, cookie, DOOR_POLICY)


async def _json(send: Send, status: int, sentence: str) -> None:
    import json

    await _send(send, status, "application/json", json.dumps({"error": sentence}), None)


async def _send(send: Send, status: int, kind: str, text: str, cookie: str | None, policy: str = POLICY) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-security-policy", policy.encode())]
    if cookie is not None:
        headers.append((b"set-cookie", cookie.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def inside(folder: Path, name: str) -> Path:
    """The path of a name in a folder; one that leads outside, by dots, links or a leading slash, is refused."""
    if not name or "\0" in name or name.startswith("~"):
        raise BadInput(f"{name!r} is no name of a file in the working folder. Choose one from the list.")
    root = folder.resolve()
    place = (root / name).resolve()
    if Path(name).is_absolute() or not place.is_relative_to(root):
        raise BadInput(f"{name!r} is not in the working folder. Only files in it can be used; move it there first.")
    return place


def plain_name(name: str, otherwise: str) -> str:
    """A file name without folders and without signs that mean something to a shell or a browser."""
    last = re.split(r"[/\\]", name)[-1]
    kept = re.sub(r"[^\w.() -]", "_", last).strip(" .")
    return kept[-120:] or otherwise
