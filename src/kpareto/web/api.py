"""What the page may ask: one short function per question; the work is done by the rooms below, in threads."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
import traceback
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kpareto._version import __version__
from kpareto.errors import BadInput, BadJob, KparetoError, Unsafe
from kpareto.front import Front
from kpareto.web import exploring, releasing
from kpareto.web.drafts import draft_text
from kpareto.web.guard import REPORT_POLICY, inside, plain_name
from kpareto.web.searching import Searching
from kpareto.web.sessions import Session
from kpareto.web.uploads import TooLarge, aside, locked, session_of, sessions_of, upload

PACE = 0.15  # seconds between two looks at a search
MOST_JSON = 4 << 20  # bytes of a question


async def _question(request: Request) -> dict[str, Any]:
    if int(request.headers.get("content-length") or 0) > MOST_JSON:
        raise TooLarge("The question is larger than the page would ever ask.")
    try:
        found = json.loads(await request.body() or b"{}")
    except ValueError:
        raise BadInput("The question is not JSON.") from None
    if not isinstance(found, dict):
        raise BadInput("The question is not a JSON object.")
    return found


def _front(session: Session) -> Front:
    if session.search is None or session.search.front is None:
        raise BadJob("There is no front yet. Start a search first.")
    return session.search.front


def _place(given: object) -> int:
    try:
        return int(str(given))
    except ValueError:
        raise BadInput(f"{given!r} is no number of a point.") from None


async def about(request: Request) -> Response:
    """The version, the working folder's name and its files, what may be uploaded."""
    from kpareto import measures as _  # noqa: F401  (fills the table of names)
    from kpareto.measure import MAKERS
    from kpareto.partition import RULES
    from kpareto.schema import ROLES
    from kpareto.searches import METHODS

    sessions = sessions_of(request)
    files = await aside(sessions.files)
    return JSONResponse(
        {
            "version": __version__,
            "folder": sessions.folder.name or "/",
            "files": files,
            "measures": sorted(MAKERS),
            "methods": {name: list(kinds) for name, kinds in METHODS.items()},
            "rules": list(RULES),
            "roles": list(ROLES),
            "upload_limit": request.app.state.settings.upload_limit,
        }
    )


async def new_session(request: Request) -> Response:
    """A fresh session; where the server was started with a job, it is loaded."""
    sessions = sessions_of(request)
    session = sessions.make()
    first = request.app.state.settings.job
    if first is not None:
        await locked(session, partial(_open, session, first))
    return JSONResponse(await locked(session, session.state))


async def state(request: Request) -> Response:
    """Everything of a session."""
    session = session_of(request)
    return JSONResponse(await locked(session, session.state))


async def keep_view(request: Request) -> Response:
    """What the page shows, so that it comes back after a reload."""
    session = session_of(request)
    given = await _question(request)
    if len(json.dumps(given)) > 20_000:
        raise TooLarge("The view is larger than the page would ever send.")
    session.view = given
    return JSONResponse({})


def _open(session: Session, name: str, encoding: str = "utf-8") -> None:
    if name.endswith(".toml"):
        place = inside(session.folder, name)
        try:
            text = place.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadJob(f"{name!r} cannot be read as a job file (UTF-8 text in TOML): {error}.") from error
        session.open_job(text, name)
    else:
        session.open_data(name, encoding)


async def open_file(request: Request) -> Response:
    """Open a data or job file of the working folder, or adult."""
    session = session_of(request)
    given = await _question(request)
    name, encoding = str(given.get("name", "")), str(given.get("encoding") or "utf-8")
    await locked(session, partial(_open, session, name, encoding))
    return JSONResponse(await locked(session, session.state))


async def put_job(request: Request) -> Response:
    """The job as the page changed it."""
    session = session_of(request)
    given = await _question(request)
    await locked(session, partial(session.take_draft, given))
    return JSONResponse({"draft": session.draft, "stale": session.stale})


async def save_job(request: Request) -> Response:
    """Write the job into the working folder."""
    session = session_of(request)
    name = str((await _question(request)).get("name", "job.toml"))

    def work() -> list[str]:
        job = session.job  # checked before it is written
        return releasing.save_job(session.draft or {}, session.edits, session.folder, name or job.source)

    files = await locked(session, work)
    note = " The data was uploaded, so put the file beside the job before you run it there." if session.uploaded else ""
    return JSONResponse({"files": files, "sentence": f"Saved {', '.join(files)} in the working folder.{note}"})


async def download_job(request: Request) -> Response:
    """The job as a file."""
    session = session_of(request)

    def work() -> Path:
        stem = plain_name(Path(session.job.source).name.split(".")[0], "job")
        return releasing.job_archive(session.draft or {}, session.edits, f"{stem}-job", session.outbox)

    place = await locked(session, work)
    return FileResponse(place, filename=place.name, media_type="application/octet-stream")


async def hierarchy(request: Request) -> Response:
    """The hierarchy of a column."""
    session = session_of(request)
    column = request.query_params.get("column", "")
    return JSONResponse(await locked(session, partial(session.hierarchy_view, column)))


async def edit_hierarchy(request: Request) -> Response:
    """One edit of a hierarchy."""
    session = session_of(request)
    given = await _question(request)
    work = partial(session.edit_hierarchy, str(given.get("column", "")), str(given.get("action", "")), given)
    return JSONResponse(await locked(session, work))


async def start_search(request: Request) -> Response:
    """Start the job's search, or let a stopped one go on."""
    session = session_of(request)
    resume = bool((await _question(request)).get("resume"))

    def work() -> dict[str, Any]:
        if session.search is not None and session.search.running:
            raise BadJob("A search is running. Stop it first.")
        if not resume or session.search is None or session.search.phase != "stopped":
            checkpoint = session.own / "checkpoint.npz"
            checkpoint.unlink(missing_ok=True)
            session.search = Searching(session.job, checkpoint, draft_text(session.draft or {}))
            session.released = None
        session.search.start()
        return session.search.status()

    return JSONResponse(await locked(session, work))


async def cancel_search(request: Request) -> Response:
    """Ask the search to stop."""
    session = session_of(request)
    if session.search is not None:
        session.search.cancel()
    return JSONResponse({})


async def events(request: Request) -> Response:
    """The search as it goes, as server-sent events, until it ends."""
    session = session_of(request)

    async def stream() -> AsyncIterator[str]:
        seen = -1
        while not request.app.state.closing.is_set():
            search = session.search
            if search is None:
                yield "event: status\ndata: null\n\n"
                return
            if search.version != seen:
                seen = search.version
                over = not search.running
                yield f"event: status\ndata: {json.dumps(search.status())}\n\n"
                if over and search.phase in ("done", "failed", "stopped"):
                    return
            if await request.is_disconnected():
                return
            await asyncio.sleep(PACE)

    return StreamingResponse(stream(), media_type="text/event-stream")


async def front(request: Request) -> Response:
    """The finished front."""
    session = session_of(request)
    return JSONResponse(await aside(lambda: exploring.front_view(_front(session))))


async def pair(request: Request) -> Response:
    """The front of two objectives."""
    session = session_of(request)
    x, y = (request.query_params.get(axis, "") for axis in "xy")
    return JSONResponse(await aside(lambda: exploring.pair_view(_front(session), x, y)))


async def prefer(request: Request) -> Response:
    """The point nearest to a wish."""
    session = session_of(request)
    wishes = await _question(request)
    return JSONResponse({"id": await aside(lambda: exploring.prefer(_front(session), wishes))})


async def point(request: Request) -> Response:
    """All about one point."""
    session = session_of(request)
    place = _place(request.path_params["place"])
    return JSONResponse(await aside(lambda: exploring.point_view(_front(session), place)))


async def tree(request: Request) -> Response:
    """The decision tree's error at one point."""
    session = session_of(request)
    place = _place(request.path_params["place"])
    return JSONResponse(await aside(lambda: exploring.tree_view(_front(session), place)))


async def compare(request: Request) -> Response:
    """Two points side by side."""
    session = session_of(request)
    asked = request.query_params
    one, two = _place(asked.get("a")), _place(asked.get("b"))
    by, what = asked.get("by") or None, asked.get("what", "class-size")
    return JSONResponse(await aside(lambda: exploring.compare_view(_front(session), one, two, by, what)))


async def check(request: Request) -> Response:
    """Limits and warnings of a point, before anything is released."""
    session = session_of(request)
    place = _place(request.path_params["place"])
    searched = _searched(session)
    work = partial(releasing.check, searched.job, _front(session), place, searched.unique)
    return JSONResponse(await locked(session, work))


def _searched(session: Session) -> Searching:
    _front(session)
    if session.search is None:
        raise BadJob("There is no front yet. Start a search first.")
    return session.search


async def release(request: Request) -> Response:
    """Release a point: written, verified, certified, reported; then ready to be downloaded."""
    session = session_of(request)
    given = await _question(request)
    place, target = _place(given.get("point")), str(given.get("target") or "release.csv")
    searched = _searched(session)

    def work() -> dict[str, Any]:
        shutil.rmtree(session.outbox)
        done = releasing.release_point(searched.job, _front(session), place, session.outbox, target, searched.unique)
        session.released = done
        return done

    return JSONResponse(await locked(session, work))


async def download(request: Request) -> Response:
    """A file of the last release."""
    session = session_of(request)
    place = inside(session.outbox, request.path_params["name"])
    if not place.is_file():
        raise BadInput(f"There is no file {request.path_params['name']!r} to download. Release first.")
    return FileResponse(place, filename=place.name, media_type="application/octet-stream")


async def report(request: Request) -> Response:
    """The report of a point, to look at."""
    session = session_of(request)
    place = _place(request.path_params["place"])
    secret = request.query_params.get("confidential") == "1"
    text = await aside(lambda: releasing.report_page(_front(session), place, confidential=secret))
    headers = {"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
    return HTMLResponse(text, headers=headers)


async def verify(request: Request) -> Response:
    """Check the uploaded release against the uploaded certificate."""
    session = session_of(request)
    found = []
    for kind in ("release", "certificate"):
        folder = session.own / f"verify-{kind}"
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        if not files:
            raise BadInput(f"There is no {kind} yet. Choose the {kind} file first.")
        found.append(files[0])
    return JSONResponse(await aside(lambda: releasing.verified(found[0], found[1])))


def failure(request: Request, error: Exception) -> Response:
    """An error of the engine as its one sentence; files are named as the page knows them, without their folders."""
    status = 413 if isinstance(error, TooLarge) else 409 if isinstance(error, Unsafe) else 400
    sentence = " ".join(str(error).split())
    sessions = sessions_of(request)
    sentence = re.sub(rf"{re.escape(str(sessions.temporary))}/[0-9a-f]+/[\w-]+/", "", sentence)
    return JSONResponse({"error": sentence.replace(f"{sessions.folder}/", "")}, status_code=status)


def surprise(_: Request, error: Exception) -> Response:
    """An error nobody foresaw: the sentence for the page, the rest for the terminal."""
    traceback.print_exception(error, file=sys.stderr)
    sentence = f"kpareto stumbled over something unforeseen ({type(error).__name__}). The terminal says where."
    return JSONResponse({"error": sentence}, status_code=500)


FAILURES: dict[Any, Any] = {KparetoError: failure, Exception: surprise}

_S = "/api/sessions/{session}"
ROUTES = [
    Route("/api/about", about),
    Route("/api/sessions", new_session, methods=["POST"]),
    Route(_S, state),
    Route(f"{_S}/view", keep_view, methods=["PUT"]),
    Route(f"{_S}/open", open_file, methods=["POST"]),
    Route(f"{_S}/upload/{{kind}}", upload, methods=["PUT"]),
    Route(f"{_S}/job", put_job, methods=["PUT"]),
    Route(f"{_S}/job/save", save_job, methods=["POST"]),
    Route(f"{_S}/job/file", download_job),
    Route(f"{_S}/hierarchy", hierarchy, methods=["GET"]),
    Route(f"{_S}/hierarchy", edit_hierarchy, methods=["POST"]),
    Route(f"{_S}/search", start_search, methods=["POST"]),
    Route(f"{_S}/search", cancel_search, methods=["DELETE"]),
    Route(f"{_S}/events", events),
    Route(f"{_S}/front", front),
    Route(f"{_S}/pair", pair),
    Route(f"{_S}/prefer", prefer, methods=["POST"]),
    Route(f"{_S}/points/{{place}}", point),
    Route(f"{_S}/points/{{place}}/tree", tree, methods=["POST"]),
    Route(f"{_S}/points/{{place}}/check", check, methods=["POST"]),
    Route(f"{_S}/points/{{place}}/report", report),
    Route(f"{_S}/compare", compare),
    Route(f"{_S}/release", release, methods=["POST"]),
    Route(f"{_S}/files/{{name}}", download),
    Route(f"{_S}/verify", verify, methods=["POST"]),
]
