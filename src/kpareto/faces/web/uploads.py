"""Files that are sent to the page: data, a job, a release to verify; and which session a request is about."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kpareto.errors import BadInput, BadJob, Progress
from kpareto.faces.web.guard import inside, plain_name
from kpareto.faces.web.questions import TooLarge
from kpareto.faces.web.sessions import Session, Sessions
from kpareto.faces.web.turns import aside, do_in_turn, do_long
from kpareto.faces.web.unpacking import refuse_large

QUOTA = 3  # all files of a session together may have so many times the size of the largest upload


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
    limit = request.app.state.settings.upload_limit
    await _receive(request, session, target, limit)
    if kind == "data":
        encoding = request.headers.get("x-encoding") or "utf-8"

        def look(report: Progress) -> None:
            try:
                refuse_large(target, limit, report)
                session.open_upload(name, encoding, report)
            except BaseException:
                target.unlink(missing_ok=True)  # what is no table, or too large, does not stay
                raise

        await do_long(session, work_of(request), look)
    elif kind == "job":
        await do_long(session, work_of(request), lambda report: _open_uploaded_job(session, target, report))
    else:
        for other in folder.iterdir():
            if other != target:
                other.unlink()
        return JSONResponse({"name": name})
    return JSONResponse(await do_in_turn(session, session.state))


def _open_uploaded_job(session: Session, target: Path, report: Progress) -> None:
    try:
        text = target.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadJob(f"{target.name!r} is no job file: it is not UTF-8 text.") from None
    finally:
        target.unlink(missing_ok=True)
    session.open_job(text, target.name, report)


async def _receive(request: Request, session: Session, target: Path, limit: int) -> None:
    """Write what is sent to a file; too much is refused at once, and nothing of it stays."""
    sentence = f"The file is larger than {limit / 2**20:,.0f} MB, the most that can be uploaded. Put it into the "
    sentence += "working folder and open it from there, or start kpareto serve with a larger --upload-limit."
    if int(request.headers.get("content-length") or 0) > limit:
        raise TooLarge(sentence)
    left = QUOTA * limit - await aside(session.bytes_kept)
    full = f"The files of this session have {QUOTA} times the size of the largest upload already. Open another table, "
    full += "or reload the page in a new window, to begin with none."
    part = target.with_name(target.name + ".part")
    size = 0
    try:
        with part.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise TooLarge(sentence)
                if size > left:
                    raise TooLarge(full)
                file.write(chunk)
        if size == 0:
            raise BadInput(f"The file {target.name!r} is empty.")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
