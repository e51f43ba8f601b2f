"""What the page may ask: one short function per question; the work is done by the rooms below, in threads."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kpareto._version import __version__
from kpareto.errors import BadInput, BadJob, Interrupted, KparetoError, Progress, Unsafe
from kpareto.faces.web import exploring, looking, releasing
from kpareto.faces.web.answers import ANSWERS, Answer, Question
from kpareto.faces.web.explored import front_of, place_of, searched_of
from kpareto.faces.web.guard import inside, plain_name
from kpareto.faces.web.questions import TooLarge, read_question
from kpareto.faces.web.release_answers import RELEASE_ROUTES
from kpareto.faces.web.run_answers import RUN_ROUTES
from kpareto.faces.web.sessions import LateWrite, Session, SessionOver
from kpareto.faces.web.taking_up import begin_search, take_up
from kpareto.faces.web.turns import Busy, aside, do_in_turn, do_long
from kpareto.faces.web.uploads import session_of, sessions_of, upload, work_of
from kpareto.faces.web.wording import for_page

PACE = 0.15  # seconds between two looks at a search


PAPER = "paper:"  # before the name of a paper whose example job is to be opened


async def about(request: Request) -> Response:
    """The version, the working folder's name and its files, what may be uploaded."""
    from kpareto.engines.form import data_endings
    from kpareto.jobs.examples import PAPERS
    from kpareto.measures.population import COUNTED, ESTIMATED
    from kpareto.searches.names import COMMON, METHODS, OPTIONS
    from kpareto.tables.partition import RULES
    from kpareto.tables.schema import ROLES
    from kpareto.tables.table import Estimator

    sessions = sessions_of(request)
    files = await aside(sessions.files)
    return JSONResponse(
        {
            "version": __version__,
            "folder": sessions.folder.name or "/",
            "files": files,
            "measures": exploring.measures_view(),
            "people": {"counted": list(COUNTED), "estimated": list(ESTIMATED), "models": list(get_args(Estimator))},
            "methods": {name: list(kinds) for name, kinds in METHODS.items()},
            "settings": {name: [*COMMON, *(each.name for each in OPTIONS[name])] for name in METHODS},
            "rules": list(RULES),
            "roles": list(ROLES),
            "papers": dict(PAPERS),
            "data_endings": list(data_endings()),
            "upload_limit": request.app.state.settings.upload_limit,
        }
    )


async def new_session(request: Request) -> Response:
    """A fresh session; where the server was started with a job, it is loaded."""
    sessions = sessions_of(request)
    session = sessions.make()
    first = request.app.state.settings.job
    if first is not None:
        await do_long(session, "", partial(_open, session, first, "utf-8"))
    return JSONResponse(await do_in_turn(session, session.state))


async def state(request: Request) -> Response:
    """Everything of a session."""
    sessions, name = sessions_of(request), request.path_params["session"]
    session = await aside(lambda: sessions.revive(name, take_up))
    return JSONResponse(await do_in_turn(session, session.state))


async def pulse(request: Request) -> Response:
    """Whether something has changed; asked every second, so it is short and waits for nothing."""
    return JSONResponse(session_of(request).pulse())


async def keep_view(request: Request) -> Response:
    """What the page shows, so that it comes back after a reload."""
    session = session_of(request)
    view = await read_question(request)
    if len(json.dumps(view)) > 20_000:
        raise TooLarge("The view is larger than the page would ever send.")
    session.view = view
    return JSONResponse({})


def _open(session: Session, name: str, encoding: str, report: Progress) -> None:
    if name.startswith(PAPER):
        from kpareto.jobs.examples import example_text

        paper = name.removeprefix(PAPER)
        session.open_job(example_text(paper), f"{paper}.toml", report)
    elif name.endswith(".toml"):
        place = inside(session.folder, name)
        try:
            text = place.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadJob(f"{name!r} cannot be read as a job file (UTF-8 text in TOML): {error}.") from error
        session.open_job(text, name, report)
    else:
        session.open_data(name, encoding, report)


async def open_file(request: Request) -> Response:
    """Open a data or job file of the working folder, adult, or the example job of a paper (``paper:poka``)."""
    session = session_of(request)
    question = await read_question(request)
    name, encoding = str(question.get("name", "")), str(question.get("encoding") or "utf-8")
    await do_long(session, work_of(request), partial(_open, session, name, encoding))
    return JSONResponse(await do_in_turn(session, session.state))


async def put_job(request: Request) -> Response:
    """The job as the page changed it."""
    session = session_of(request)
    question = await read_question(request)
    await do_in_turn(session, partial(session.take_draft, question))
    return JSONResponse({"draft": session.draft_view, "stale": session.stale})


async def save_job(request: Request) -> Response:
    """Write the job into the working folder."""
    session = session_of(request)
    question = await read_question(request)
    name = str(question.get("name") or "job.toml")

    def work() -> tuple[list[str], list[str]]:
        _ = session.job  # checked before it is written
        job = session.draft or {}
        there = releasing.job_files_there(job, session.edits, session.folder, name)
        if there and question.get("overwrite") is not True:
            return [], there
        return releasing.save_job(job, session.edits, session.folder, name), there

    files, there = await do_in_turn(session, work)
    if not files:
        sentence = f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} in the working folder already."
        return JSONResponse({"files": [], "exists": there, "sentence": sentence})
    note = " The data was uploaded, so put the file beside the job before you run it there." if session.uploaded else ""
    return JSONResponse({"files": files, "sentence": f"Saved {', '.join(files)} in the working folder.{note}"})


async def download_job(request: Request) -> Response:
    """The job as a file."""
    session = session_of(request)

    def work() -> Path:
        stem = plain_name(Path(session.job.source).name.split(".")[0], "job")
        return releasing.job_archive(session.draft or {}, session.edits, f"{stem}-job", session.outbox)

    place = await do_in_turn(session, work)
    return FileResponse(place, filename=place.name, media_type="application/octet-stream")


async def hierarchy(request: Request) -> Response:
    """The hierarchy of a column."""
    session = session_of(request)
    column = request.query_params.get("column", "")
    return JSONResponse(await do_in_turn(session, partial(session.hierarchy_view, column)))


async def edit_hierarchy(request: Request) -> Response:
    """One edit of a hierarchy."""
    session = session_of(request)
    question = await read_question(request)
    work = partial(session.edit_hierarchy, str(question.get("column", "")), str(question.get("action", "")), question)
    return JSONResponse(await do_in_turn(session, work))


async def start_search(request: Request) -> Response:
    """Start the job's search, or let a stopped one go on."""
    session = session_of(request)
    resume = bool((await read_question(request)).get("resume"))
    status = await do_in_turn(session, lambda: begin_search(session, resume=resume).status())
    return JSONResponse({**status, "draft": session.draft_view, "stale": session.stale})


async def cancel_search(request: Request) -> Response:
    """Ask the search to stop."""
    session = session_of(request)
    if session.attempt is not None:
        session.attempt.cancel()
    return JSONResponse({})


async def events(request: Request) -> Response:
    """The search as it goes, as server-sent events, until it ends."""
    session = session_of(request)

    async def stream() -> AsyncIterator[str]:
        seen: tuple[int, str] | None = None
        while not request.app.state.is_ending():
            search = session.attempt
            if search is None:
                yield "event: status\ndata: null\n\n"
                return
            over = search.over
            if (now := (search.version, search.shown_phase)) != seen:
                seen = now
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
    return JSONResponse(await aside(lambda: exploring.front_view(front_of(session))))


async def pair(request: Request) -> Response:
    """The front of two objectives."""
    session = session_of(request)
    x, y = (request.query_params.get(axis, "") for axis in "xy")
    return JSONResponse(await aside(lambda: exploring.pair_view(front_of(session), x, y)))


async def prefer(request: Request) -> Response:
    """The point nearest to a wish."""
    session = session_of(request)
    wishes = await read_question(request)
    return JSONResponse(await aside(lambda: exploring.prefer(front_of(session), wishes)))


async def search_wish(request: Request) -> Response:
    """Search the k of a wish that the local front was not searched for; the point that then is nearest."""
    session = session_of(request)
    wishes = await read_question(request)

    def work(report: Progress) -> dict[str, Any]:
        front, search = front_of(session), searched_of(session)
        further = exploring.search_wish(front, wishes, report)
        if further is not front:
            search.take_further(further)
        return exploring.prefer(further, wishes)

    return JSONResponse(await do_long(session, work_of(request), work))


async def point(request: Request) -> Response:
    """All about one point."""
    session = session_of(request)
    place = place_of(request.path_params["place"])
    return JSONResponse(await aside(lambda: exploring.point_view(front_of(session), place)))


async def tree(request: Request) -> Response:
    """The decision tree's error at one point."""
    session = session_of(request)
    place = place_of(request.path_params["place"])
    work = work_of(request)
    answer = await do_long(session, work, lambda report: exploring.tree_view(front_of(session), place, report))
    return JSONResponse(answer)


async def measure(request: Request) -> Response:
    """How anonymous the table is as it stands."""
    session = session_of(request)
    return JSONResponse(await do_long(session, work_of(request), lambda _: looking.measure_view(session.job)))


async def compare(request: Request) -> Response:
    """Two points side by side."""
    session = session_of(request)
    asked = request.query_params
    one, two = place_of(asked.get("a")), place_of(asked.get("b"))
    by, what = asked.get("by") or None, asked.get("what", "class-size")
    return JSONResponse(await aside(lambda: exploring.compare_view(front_of(session), one, two, by, what)))


async def stop_work(request: Request) -> Response:
    """Stop a piece of long work; the person goes on at once."""
    work = session_of(request).turns.works.get(request.path_params["work"])
    if work is not None:
        work.stop()
    return JSONResponse({"stopped": work is not None})


async def ticket(request: Request) -> Response:
    """A link that is good once, for a download or a frame, which cannot send the key."""
    path = str((await read_question(request)).get("path", ""))
    if not path.startswith("/api/sessions/"):
        raise BadInput(f"There is no link to {path!r}. Ask for a file or a report of a session.")
    return JSONResponse({"ticket": request.app.state.tickets.make(path)})


# 499 is what a person who did not wait is told, as some servers have it.
STATUS: tuple[tuple[type[KparetoError], int], ...] = (
    (TooLarge, 413),
    (Busy, 429),
    (Interrupted, 499),
    (LateWrite, 409),
    (SessionOver, 410),
    (Unsafe, 409),
)


def failure(request: Request, error: Exception) -> Response:
    """An error of the engine as its one sentence; files are named as the page knows them, without their folders."""
    status = next((number for kind, number in STATUS if isinstance(error, kind)), 400)
    sentence = for_page(" ".join(str(error).split()))
    sessions = sessions_of(request)
    sentence = re.sub(rf"{re.escape(str(sessions.temporary))}/[0-9a-f]+/[\w-]+/", "", sentence)
    late = {"late": True} if isinstance(error, LateWrite) else {}
    return JSONResponse({"error": sentence.replace(f"{sessions.folder}/", ""), **late}, status_code=status)


def surprise(_: Request, error: Exception) -> Response:
    """An error nobody foresaw: the sentence for the page, the rest for the terminal."""
    traceback.print_exception(error, file=sys.stderr)
    sentence = f"kpareto stumbled over something unforeseen ({type(error).__name__}). The terminal says where."
    return JSONResponse({"error": sentence}, status_code=500)


def let_go(_: Request, __: Exception) -> Response:
    """Somebody has gone in the middle of what was being sent: nobody is there to be told."""
    return Response(status_code=499)


def _answering(
    work: Callable[[Session, Question], Answer], *, in_turn: bool
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a question that is answered from a session alone; what goes by the job waits for its turn."""

    async def endpoint(request: Request) -> Response:
        session = session_of(request)
        question = dict(request.query_params) if request.method == "GET" else await read_question(request)
        run = partial(work, session, question)
        return JSONResponse(await (do_in_turn(session, run) if in_turn else aside(run)))

    return endpoint


FAILURES: dict[Any, Any] = {KparetoError: failure, ClientDisconnect: let_go, Exception: surprise}

_S = "/api/sessions/{session}"
ROUTES = [
    Route("/api/about", about),
    Route("/api/tickets", ticket, methods=["POST"]),
    Route("/api/sessions", new_session, methods=["POST"]),
    Route(_S, state),
    Route(f"{_S}/pulse", pulse),
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
    Route(f"{_S}/prefer/search", search_wish, methods=["POST"]),
    Route(f"{_S}/points/{{place}}", point),
    Route(f"{_S}/points/{{place}}/tree", tree, methods=["POST"]),
    Route(f"{_S}/works/{{work}}", stop_work, methods=["DELETE"]),
    Route(f"{_S}/table/measure", measure, methods=["POST"]),
    Route(f"{_S}/compare", compare),
    *(
        Route(f"{_S}{path}", _answering(work, in_turn=path.startswith(("/hierarchy", "/table"))), methods=[method])
        for method, path, work in ANSWERS
    ),
    *RELEASE_ROUTES,
    *RUN_ROUTES,
]
