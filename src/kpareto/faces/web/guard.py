"""Who may speak to the page: token or password, Host, Origin, tickets, and what browsers may do with an answer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import ipaddress
import json
import math
import re
import secrets
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

from kpareto.errors import BadJob

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


# What stands before the page, for somebody who has not been let in yet: one sentence, and a field for the password.
# The page's own style sheet is not handed to strangers, so the little that is needed stands in the page itself.
DOOR_STYLE = """
:root { color-scheme: light dark; --paper: #f4f6f8; --card: #fff; --ink: #17222d; --line: #d9e0e7; --accent: #0b6b85;
  --on: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #10161c; --card: #182029; --ink: #e7edf3; --line: #2d3946; --accent: #57c3dd; --on: #07222b; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { width: min(28rem, 100%); background: var(--card); border: 1px solid var(--line); border-radius: 14px;
  padding: 1.6rem 1.8rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0 0 .4rem; }
p { margin: .4rem 0; }
form { display: flex; flex-wrap: wrap; gap: .7rem; align-items: end; margin-top: 1rem; }
label { flex: 1 1 12rem; font-weight: 600; }
input, button { font: inherit; border-radius: 8px; padding: .45rem .8rem; }
input { display: block; width: 100%; color: inherit; background: var(--paper); border: 1px solid var(--line); }
button { font-weight: 600; border: 1px solid var(--accent); background: var(--accent); color: var(--on); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
"""
_DIGEST = base64.b64encode(hashlib.sha256(DOOR_STYLE.encode()).digest()).decode()
DOOR_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_FORM = (
    '<form method="post" action="/login"><label>Password <input type="password" name="password" autofocus '
    'autocomplete="current-password"></label> <button>Open</button></form>'
)


def door_page(sentence: str, moves_on: str = "", *, form: bool = False) -> str:
    """A page of one sentence; it asks for the password, or moves on by itself."""
    refresh = f'<meta http-equiv="refresh" content="0;url={moves_on}">' if moves_on else ""
    head = (
        f'<meta charset="utf-8">{refresh}<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>kpareto</title><style>{DOOR_STYLE}</style>'
    )
    body = f"<main><h1>kpareto</h1><p>{html.escape(sentence)}</p>{_FORM if form else ''}</main>"
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>'


# Password attempts are slowed: who was wrong waits, longer each time, and nobody may try many at once.
FIRST_WAIT = 0.5  # seconds before a wrong password is answered
FREE = 3  # wrong passwords of an address that cost no more than that: people mistype
NEXT_WAIT = 2.0  # seconds that the next one costs; each further one doubles it
LONGEST_WAIT = 300.0
WINDOW = 60.0  # seconds
MOST_IN_WINDOW = 30  # wrong passwords of all addresses together
FORGOTTEN = 3600.0  # seconds after which an address has a fresh start


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address of the network; None for a name."""
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def group_of(address: str) -> str:
    """Whom an attempt is counted for: an IPv4 address, or the network of an IPv6 one, which has addresses to waste."""
    known = _address(address)
    if known is None or known.version == 4:
        return address if known is None else str(known)
    return str(ipaddress.ip_network(f"{known}/64", strict=False))


@dataclass(eq=False)
class Attempts:
    """The wrong passwords of the last while."""

    _wrong: dict[str, tuple[int, float]] = field(default_factory=dict)  # group -> how many, and when it may try again
    _recent: deque[float] = field(default_factory=deque)  # when any wrong one came
    _trying: set[str] = field(default_factory=set)  # groups whose attempt is being answered

    def wait_for(self, address: str) -> float:
        """Seconds until this address may try; 0 where it may try now."""
        now = time.monotonic()
        while self._recent and self._recent[0] < now - WINDOW:
            self._recent.popleft()
        group = group_of(address)
        _, until = self._wrong.get(group, (0, 0.0))
        everybody = self._recent[0] + WINDOW - now if len(self._recent) >= MOST_IN_WINDOW else 0.0
        return max(until - now, everybody, FIRST_WAIT if group in self._trying else 0.0, 0.0)

    def begin(self, address: str) -> None:
        """An attempt is being answered: a second one at the same time is refused."""
        self._trying.add(group_of(address))

    def end(self, address: str, *, right: bool) -> float:
        """The attempt is over; how long this address waits from now on."""
        group, now = group_of(address), time.monotonic()
        self._trying.discard(group)
        if right:
            self._wrong.pop(group, None)
            return 0.0
        count = self._wrong.get(group, (0, 0.0))[0] + 1
        wait = 0.0 if count < FREE else min(NEXT_WAIT * 2.0 ** min(count - FREE, 30), LONGEST_WAIT)
        self._wrong[group] = (count, now + wait)
        self._recent.append(now)
        for other, (_, until) in list(self._wrong.items()):
            if until < now - FORGOTTEN:
                del self._wrong[other]
        return wait


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach an address."""
    known = _address(host)
    return host == "localhost" if known is None else known.is_loopback


@dataclass(frozen=True)
class Keys:
    """What opens the door: a token in the link or a password, the cookie that remembers it, and the page's own key.

    Other accounts of a machine see command lines, histories and logs, so a link that we make ourselves is good once.
    A browser sends a cookie to every port of a machine, so whoever listens on another port of it has the cookie. The
    page's key is kept by the page's origin alone and sent as a header; the cookie opens nothing but the page's files.
    """

    token: str | None
    password: str | None
    once: bool = False  # the token is one of the links that are good once
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    page: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    links: set[str] = field(default_factory=set)  # tokens that are good once

    def new_link(self) -> str:
        """Another token that is good once."""
        token = secrets.token_urlsafe(24)
        self.links.add(token)
        return token

    def opens(self, token: str) -> str | None:
        """Which of the links that are good once, or the token that always is, this is; None for any other."""
        known = [*self.links, *([] if self.token is None or self.once else [self.token])]
        return next((other for other in known if secrets.compare_digest(other.encode(), token.encode())), None)

    def accepts(self, token: str | None, password: str | None) -> bool:
        """Whether one of the two is right; the comparison takes as long for a wrong one."""
        if token is not None and self.opens(token) is not None:
            return True
        known = password is not None and self.password is not None
        return known and secrets.compare_digest(str(password).encode(), str(self.password).encode())


def make_keys(host: str, token: str | None, password: str | None) -> Keys:
    """The keys for an address: a random token on loopback; elsewhere a token or password must be given."""
    if token is None and password is None:
        if not is_loopback(host):
            raise BadJob(
                f"The page would be open to the network on {host!r}. Give --password or --token of at least "
                f"{SHORTEST} letters, or leave --host out to stay on this machine."
            )
        token = secrets.token_urlsafe(24)
        return Keys(token, None, once=True, links={token})
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
        return name in names or (every and _address(name) is not None)

    return is_allowed


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

    def __init__(
        self, app: App, keys: Keys, host: str, port: int, used: Callable[[str], None] = lambda _: None
    ) -> None:
        self.app = app
        self.used = used  # told of a link that was good once, and no longer is
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
        """Whether this is a link that opens the page, key and all."""
        return scope["path"] == "/" and scope["method"] == "GET" and self.keys.accepts(_token(scope), None)

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
            token = _token(scope)
            if token in self.keys.links:
                self.keys.links.discard(token)
                self.used(token)
            # A redirect would not carry a strict cookie after a click in a mail program; a page that moves on does.
            await _page(send, 200, "Opening …", moves_on=self._page_link(), cookie=self._cookie())
        elif scope["path"].startswith("/api/"):
            await _json(send, 401, "The key is missing or old. Open the link that kpareto serve printed.")
        elif self.keys.password is not None and scope["path"] == "/":
            await _page(send, 401, "This page is protected by a password.", form=True)
        else:
            await _page(send, 401, "The key is missing, wrong or used. Open the last link that kpareto serve printed.")

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


def _token(scope: Scope) -> str:
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]


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
    await _send(send, status, "application/json", json.dumps({"error": sentence}), None)


async def _send(send: Send, status: int, kind: str, text: str, cookie: str | None, policy: str = POLICY) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-security-policy", policy.encode())]
    if cookie is not None:
        headers.append((b"set-cookie", cookie.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
