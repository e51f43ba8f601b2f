"""What the page may ask on the way out: limits and warnings, the report, the release, its files, and verifying one."""

from __future__ import annotations

import secrets
import shutil
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from kpareto.errors import BadInput
from kpareto.faces.web import releasing
from kpareto.faces.web.explored import front_of, place_of, searched_of
from kpareto.faces.web.guard import REPORT_POLICY, inside, plain_name
from kpareto.faces.web.questions import read_question
from kpareto.faces.web.sessions import Session
from kpareto.faces.web.turns import Work, aside, do_long
from kpareto.faces.web.uploads import session_of, work_of

MOST_REPORTS = 4  # that a session remembers
_S = "/api/sessions/{session}"


async def check(request: Request) -> Response:
    """Limits and warnings of a point, before anything is released."""
    session = session_of(request)
    place = place_of(request.path_params["place"])

    def work(piece: Work) -> dict[str, Any]:
        front, searched = front_of(session), searched_of(session)
        return releasing.check(searched.job, front, place, searched.checked, piece)

    return JSONResponse(await do_long(session, work_of(request), work))


async def release(request: Request) -> Response:
    """Release a point: written, verified, certified, reported; then ready to be downloaded."""
    session = session_of(request)
    question = await read_question(request)
    place, target = place_of(question.get("point")), plain_name(str(question.get("target") or ""), "release.csv")

    formulas = question.get("formulas")

    def work(piece: Work) -> dict[str, Any]:
        front, searched = front_of(session), searched_of(session)
        job = releasing.signing_job(searched.job, request.app.state.settings.sign, session.folder)
        job = releasing.formula_job(job, formulas)
        fresh = session.own / f"out-{secrets.token_hex(4)}"
        fresh.mkdir()
        try:
            done = releasing.release_point(job, front, place, inside(fresh, target), piece)
            piece(1, 1)  # one that was stopped leaves the release before as it was
            shutil.rmtree(session.outbox)
            fresh.rename(session.own / "out")
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        session.released = done
        return done

    return JSONResponse(await do_long(session, work_of(request), work))


async def download(request: Request) -> Response:
    """A file of the last release."""
    session = session_of(request)
    place = inside(session.outbox, request.path_params["name"])
    if not place.is_file():
        raise BadInput(f"There is no file {request.path_params['name']!r} to download. Release first.")
    return FileResponse(place, filename=place.name, media_type="application/octet-stream")


def _report_page(session: Session, place: int, secret: bool, piece: Work) -> str:
    """The report of a point; the last few are kept, so that a frame shows at once what was written for it."""
    front = front_of(session)
    key = (id(front), place, secret)
    if key not in session.reports:
        page = releasing.report_page(searched_of(session).job, front, place, piece, confidential=secret)
        while len(session.reports) >= MOST_REPORTS:
            session.reports.pop(next(iter(session.reports)))
        session.reports[key] = page
    return session.reports[key]


async def report(request: Request) -> Response:
    """The report of a point, to look at."""
    session = session_of(request)
    place = place_of(request.path_params["place"])
    secret = request.query_params.get("confidential") == "1"
    text = await aside(lambda: _report_page(session, place, secret, Work()))
    headers = {"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
    return HTMLResponse(text, headers=headers)


async def write_report(request: Request) -> Response:
    """Write the report of a point, to be looked at a moment later."""
    session = session_of(request)
    place = place_of(request.path_params["place"])
    secret = bool((await read_question(request)).get("confidential"))
    text = await do_long(session, work_of(request), lambda piece: _report_page(session, place, secret, piece))
    return JSONResponse({"letters": len(text)})


async def verify(request: Request) -> Response:
    """Check the uploaded release against the uploaded certificate."""
    session = session_of(request)
    paths = []
    for kind in ("release", "certificate"):
        folder = session.own / f"verify-{kind}"
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        if not files:
            raise BadInput(f"There is no {kind} yet. Choose the {kind} file first.")
        paths.append(files[0])
    answer = await do_long(session, work_of(request), lambda _: releasing.is_verified(paths[0], paths[1]))
    return JSONResponse(answer)


RELEASE_ROUTES = [
    Route(f"{_S}/points/{{place}}/check", check, methods=["POST"]),
    Route(f"{_S}/points/{{place}}/report", report, methods=["GET"]),
    Route(f"{_S}/points/{{place}}/report", write_report, methods=["POST"]),
    Route(f"{_S}/release", release, methods=["POST"]),
    Route(f"{_S}/files/{{name}}", download),
    Route(f"{_S}/verify", verify, methods=["POST"]),
]
