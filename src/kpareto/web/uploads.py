"""Files that are sent to the page: data, a job, a release to verify; and work done aside while the page stays awake."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kpareto.errors import BadInput, BadJob
from kpareto.web.guard import inside, plain_name
from kpareto.web.sessions import Session, Sessions

Answer = TypeVar("Answer")


class TooLarge(BadInput):
    """More was sent than is taken."""


async def aside(work: Callable[[], Answer]) -> Answer:
    """Do work in a thread, so that the page stays responsive."""
    return await to_thread.run_sync(work)


async def locked(session: Session, work: Callable[[], Answer]) -> Answer:
    """Do work in a thread, one piece at a time for a session."""

    def alone() -> Answer:
        with session.lock:
            return work()

    return await aside(alone)


def sessions_of(request: Request) -> Sessions:
    """All sessions of the server."""
    found: Sessions = request.app.state.sessions
    return found


def session_of(request: Request) -> Session:
    """The session a request names."""
    return sessions_of(request).get(request.path_params["session"])


async def upload(request: Request) -> Response:
    """Take a file that was dropped on the page: data, a job, or a release to verify with its certificate."""
    session = session_of(request)
    kind = request.path_params["kind"]
    if kind not in ("data", "job", "release", "certificate"):
        raise BadInput(f"Nothing can be uploaded as {kind!r}.")
    name = plain_name(unquote(request.headers.get("x-name", "")), kind)
    folder = session.uploads if kind == "data" else session.own / f"verify-{kind}"
    folder.mkdir(exist_ok=True)
    target = inside(folder, name)
    await _receive(request, target, request.app.state.settings.upload_limit)
    if kind == "data":
        await locked(session, partial(session.open_upload, name, request.headers.get("x-encoding") or "utf-8"))
    elif kind == "job":
        await locked(session, partial(_open_uploaded_job, session, target))
    else:
        for other in folder.iterdir():
            if other != target:
                other.unlink()
        return JSONResponse({"name": name})
    return JSONResponse(await locked(session, session.state))


def _open_uploaded_job(session: Session, target: Path) -> None:
    try:
        text = target.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadJob(f"{target.name!r} is no job file: it is not UTF-8 text.") from None
    finally:
        target.unlink(missing_ok=True)
    session.open_job(text, target.name)


async def _receive(request: Request, target: Path, limit: int) -> None:
    """Write what is sent to a file; too much is refused at once, and nothing of it stays."""
    sentence = f"The file is larger than {limit / 2**20:,.0f} MB, the most that can be uploaded. Put it into the "
    sentence += "working folder and open it from there, or start kpareto serve with a larger --upload-limit."
    if int(request.headers.get("content-length") or 0) > limit:
        raise TooLarge(sentence)
    part = target.with_name(target.name + ".part")
    size = 0
    try:
        with part.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise TooLarge(sentence)
                file.write(chunk)
        if size == 0:
            raise BadInput(f"The file {target.name!r} is empty.")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
