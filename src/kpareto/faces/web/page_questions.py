"""How a question reaches a session, and the ways to answer it.

There are four, at once, as a look, in turn, or as long work; and one sentence where that goes wrong.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from kpareto.errors import BadInput, Interrupted, KparetoError, Unsafe, say_unusable
from kpareto.faces.web.files import TooLarge
from kpareto.faces.web.page_words import page_sentence
from kpareto.faces.web.session import LateWrite, Session, SessionOver, Sessions, TableClosed
from kpareto.faces.web.turns import Busy, aside, do_in_turn, do_long
from kpareto.strict import FileKind, anything, parse_json

QUESTION = FileKind("The question", "Load the page again.")
MOST_JSON = 4 << 20  # bytes of a question
Question = Mapping[str, Any]
Answer = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]


async def read_question(request: Request) -> dict[str, Any]:
    """The JSON object of a request; too much is refused as soon as it is too much, however it is sent."""
    if int(request.headers.get("content-length") or 0) > MOST_JSON:
        raise TooLarge("The question is larger than the page would ever ask.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_JSON:
            raise TooLarge("The question is larger than the page would ever ask.")
    question = parse_json((bytes(body) or b"{}").decode("utf-8", "replace"), QUESTION, anything)
    if not isinstance(question, dict):
        raise BadInput("The question is not a JSON object.")
    return question


def sessions_of(request: Request) -> Sessions:
    """All sessions of the server."""
    sessions: Sessions = request.app.state.sessions
    return sessions


def session_of(request: Request) -> Session:
    """The session a request names."""
    return sessions_of(request).get(request.path_params["session"])


def work_of(request: Request) -> str:
    """What the page calls the work it asks for."""
    return request.headers.get("x-work", "")[:64]


async def asked(request: Request) -> tuple[Session, Question]:
    """The session, and the question: what the body or the address says, and the point or run that the path names."""
    session = session_of(request)
    question = dict(request.query_params) if request.method == "GET" else await read_question(request)
    return session, question | {name: text for name, text in request.path_params.items() if name != "session"}


def _endpoint(
    way: Callable[[Request, Session, Callable[..., Answer]], Awaitable[Answer]],
) -> Callable[[Callable[..., Answer]], Endpoint]:
    """What makes the endpoint of a function of a session and a question, which is answered in this way."""

    def endpoint_of(work: Callable[..., Answer]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            session, question = await asked(request)
            return JSONResponse(await way(request, session, partial(work, session, question)))

        return endpoint

    return endpoint_of


# A question that waits for nothing but a thread.
at_once = _endpoint(lambda _, __, work: aside(work))
# A look at the table: one at a time, beside changes of the job.
looking = _endpoint(lambda _, session, work: session.turns.looks.do(work))
# A question that changes the job, or goes by it: one at a time.
in_turn = _endpoint(lambda _, session, work: do_in_turn(session, work))
# A question that a person may have to wait for, whose function is handed its Work too; it is seen, and can be stopped.
long = _endpoint(lambda request, session, work: do_long(session, work_of(request), work))


# -- what goes wrong -------------------------------------------------------------------------------------------------


# 499 is what a person who did not wait is told, as some servers have it.
STATUS: tuple[tuple[type[KparetoError], int], ...] = (
    (TooLarge, 413),
    (Busy, 429),
    (Interrupted, 499),
    (LateWrite, 409),
    (SessionOver, 410),
    (Unsafe, 409),
)


def failure(request: Request, error: KparetoError) -> Response:
    """An error of the engine as its one sentence; files are named as the page knows them, without their folders."""
    status = next((number for kind, number in STATUS if isinstance(error, kind)), 400)
    sentence = " ".join(page_sentence(error).split())
    sessions = sessions_of(request)
    sentence = re.sub(rf"{re.escape(str(sessions.temporary))}/[0-9a-f]+/[\w-]+/", "", sentence)
    content: dict[str, object] = {"error": sentence.replace(f"{sessions.folder}/", "")}
    if error.remedy is not None:
        content["remedy"] = error.remedy.word
    if isinstance(error, TableClosed):
        content["closed"] = True
    if isinstance(error, LateWrite):
        content["late"] = True
    return JSONResponse(content, status_code=status)


def unusable(request: Request, error: OSError) -> Response:
    """A file that the system does not give, such as one whose name is too long."""
    return surprise(request, error) if error.filename is None else failure(request, BadInput(say_unusable(error)))


def surprise(_: Request, error: Exception) -> Response:
    """An error nobody foresaw: the sentence for the page, the rest for the terminal."""
    traceback.print_exception(error, file=sys.stderr)
    sentence = f"kpareto stumbled over something unforeseen ({type(error).__name__}). The terminal says where."
    return JSONResponse({"error": sentence}, status_code=500)


def let_go(_: Request, __: Exception) -> Response:
    """Somebody has gone in the middle of what was being sent: nobody is there to be told."""
    return Response(status_code=499)


FAILURES: dict[Any, Any] = {KparetoError: failure, OSError: unusable, ClientDisconnect: let_go, Exception: surprise}
