"""What the page may ask of earlier runs: list, open, rename, delete, and their numbers for one picture."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kpareto.faces.web.kept_runs import RunRecord
from kpareto.faces.web.questions import read_question
from kpareto.faces.web.sessions import Session
from kpareto.faces.web.taking_up import open_run as take_up_run
from kpareto.faces.web.turns import aside, do_in_turn
from kpareto.faces.web.uploads import session_of

_RUNS = "/api/sessions/{session}/runs"


def run_line(session: Session, run: RunRecord) -> dict[str, Any]:
    """One line of the list."""
    search = session.search
    return {
        "id": run.id,
        "name": run.name,
        "began": run.began,
        "phase": run.phase,
        "source": run.source,
        "uploaded": run.uploaded,
        "here": not run.uploaded or run.data == session.data,
        "explored": search is not None and search.id == run.id,
        "running": session.attempt is not None and session.attempt.id == run.id and session.attempt.running,
        "limits": run.draft.get("limits", {}),
        "suppression": run.draft.get("suppression", {}),
        "status": dict(run.status),
    }


async def list_runs(request: Request) -> Response:
    """Every run that the session may see, the youngest first."""
    session = session_of(request)
    return JSONResponse({"runs": await aside(lambda: [run_line(session, run) for run in session.runs()])})


async def open_run(request: Request) -> Response:
    """Take up a run: its job and its front."""
    session = session_of(request)
    await do_in_turn(session, partial(take_up_run, session, request.path_params["run"]))
    return JSONResponse(await do_in_turn(session, session.state))


async def run_points(request: Request) -> Response:
    """The numbers of a run's front."""
    session, run = session_of(request), request.path_params["run"]

    def work() -> dict[str, Any]:
        return session.kept.points(session.run_record(run).id)

    return JSONResponse(await aside(work))


async def rename_run(request: Request) -> Response:
    """Another name for a run."""
    session, run = session_of(request), request.path_params["run"]
    name = str((await read_question(request)).get("name", ""))

    def work() -> dict[str, Any]:
        return run_line(session, session.kept.rename(session.run_record(run).id, name))

    return JSONResponse(await do_in_turn(session, work))


async def delete_run(request: Request) -> Response:
    """Remove a run for good; the front that is being explored stays on the page until another takes its place."""
    session, run = session_of(request), request.path_params["run"]
    await do_in_turn(session, lambda: session.delete_run(run))
    return JSONResponse({})


RUN_ROUTES = [
    Route(_RUNS, list_runs),
    Route(f"{_RUNS}/{{run}}", rename_run, methods=["PUT"]),
    Route(f"{_RUNS}/{{run}}", delete_run, methods=["DELETE"]),
    Route(f"{_RUNS}/{{run}}/open", open_run, methods=["POST"]),
    Route(f"{_RUNS}/{{run}}/points", run_points),
]
