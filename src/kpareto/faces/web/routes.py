"""What the page may ask: one short function per question; the work is done by the files below, in threads."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kpareto._version import __version__
from kpareto.engines.form import USED, data_endings, file_kind
from kpareto.errors import BadInput, BadJob, Progress
from kpareto.faces.web import drafts, explore, hierarchies, release
from kpareto.faces.web.files import QUOTA, TooLarge, inside, plain_name, receive, refuse_large
from kpareto.faces.web.guard import REPORT_POLICY
from kpareto.faces.web.page_questions import (
    Answer,
    Endpoint,
    Question,
    asked,
    at_once,
    in_turn,
    long,
    looking,
    read_question,
    session_of,
    sessions_of,
    work_of,
)
from kpareto.faces.web.research import compare, research
from kpareto.faces.web.runs import RunRecord
from kpareto.faces.web.search import start_comparison
from kpareto.faces.web.session import (
    MOST,
    Session,
    begin_search,
    is_project,
    open_run,
)
from kpareto.faces.web.turns import Work, aside, do_in_turn, do_long
from kpareto.fronts.front import Point
from kpareto.jobs.front import plan_of
from kpareto.tables.hierarchies import to_text

PACE = 0.15  # seconds between two looks at a search
PAPER = "paper:"  # before the name of a paper whose example job is to be opened
MOST_VIEW = 20_000  # letters of what the page shows
MOST_REPORTS = 4  # that a session remembers
MOST_TABLES = 100  # of which a browser asks at once
# What a person may say about the form of a file on the page.
FORM = ("encoding", "separator", "header", "skip", "decimal", "thousands", "sheet")


def _place(number: object, of: str = "a point") -> int:
    """A point by its number, or a number of something else."""
    try:
        return int(str(number))
    except ValueError:
        raise BadInput(f"{number!r} is no number of {of}.") from None


def _point(session: Session, question: Question) -> Point:
    return session.front()[_place(question.get("point"))]


# -- the server and its sessions -------------------------------------------------------------------------------------


async def about(request: Request) -> Response:
    """The version, the working folder's name and its files, what may be uploaded."""
    from kpareto.jobs.examples import PAPERS
    from kpareto.measures.population import COUNTED, ESTIMATED
    from kpareto.searches.names import COMMON, METHODS, OPTIONS
    from kpareto.tables.partition import RULES
    from kpareto.tables.table import Estimator

    sessions = sessions_of(request)
    files = await aside(sessions.files)
    return JSONResponse(
        {
            "version": __version__,
            "folder": sessions.folder.name or "/",
            "files": files,
            "measures": explore.measures_view(),
            "people": {"counted": list(COUNTED), "estimated": list(ESTIMATED), "models": list(get_args(Estimator))},
            "methods": {name: list(kinds) for name, kinds in METHODS.items()},
            "settings": {name: [*COMMON, *(option.name for option in OPTIONS[name])] for name in METHODS},
            "rules": list(RULES),
            "papers": dict(PAPERS),
            "data_endings": list(data_endings()),
            "upload_limit": request.app.state.settings.upload_limit,
            "most_tables": MOST,
            "job": request.app.state.settings.job,
        }
    )


async def ticket(request: Request) -> Response:
    """A link that is good once, for a download or a frame, which cannot send the key."""
    path = str((await read_question(request)).get("path", ""))
    if not path.startswith("/api/sessions/"):
        raise BadInput(f"There is no link to {path!r}. Ask for a file or a report of a session.")
    return JSONResponse({"ticket": request.app.state.tickets.make(path)})


async def new_session(request: Request) -> Response:
    """A fresh session; where the server was started with a job, it is loaded, unless another table is to be begun."""
    session = sessions_of(request).make()
    first = request.app.state.settings.job
    if first is not None and not (await read_question(request)).get("empty"):
        await do_long(session, "", partial(_open, session, first, "utf-8"))
    return JSONResponse(await do_in_turn(session, session.state))


async def state(request: Request) -> Response:
    """Everything of a session."""
    session = await aside(partial(sessions_of(request).revive, request.path_params["session"]))
    return JSONResponse(await do_in_turn(session, session.state))


async def tables(request: Request) -> Response:
    """The tables of the sessions that a browser knows: open, or kept."""
    names = (await read_question(request)).get("ids")
    known = [name for name in names[:MOST_TABLES] if isinstance(name, str)] if isinstance(names, list) else []
    return JSONResponse({"tables": await aside(partial(sessions_of(request).list_tables, known))})


async def close_table(request: Request) -> Response:
    """Close a table; its job and its runs are kept."""
    for work in list(session_of(request).turns.works.values()):
        work.stop()
    await aside(partial(sessions_of(request).close_table, request.path_params["session"]))
    return JSONResponse({})


async def pulse(request: Request) -> Response:
    """Whether something has changed; asked every second, so it is short and waits for nothing."""
    return JSONResponse(sessions_of(request).get(request.path_params["session"], used=False).pulse())


async def keep_view(request: Request) -> Response:
    """What the page shows, so that it comes back after a reload."""
    session = session_of(request)
    view = await read_question(request)
    if len(json.dumps(view)) > MOST_VIEW:
        raise TooLarge("The view is larger than the page would ever send.")
    session.view = view
    return JSONResponse({})


async def stop_work(request: Request) -> Response:
    """Stop a piece of long work; the person goes on at once."""
    work = session_of(request).turns.works.get(request.path_params["work"])
    if work is not None:
        work.stop()
    return JSONResponse({"stopped": work is not None})


# -- data ------------------------------------------------------------------------------------------------------------


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
    elif is_project(name):
        session.open_project(inside(session.folder, name), report)
    else:
        session.open_data(name, encoding, report)


async def open_file(request: Request) -> Response:
    """Open a table, a job or a project of ARX of the working folder, adult, or a paper's example (``paper:poka``)."""
    session = session_of(request)
    question = await read_question(request)
    name, encoding = str(question.get("name", "")), str(question.get("encoding") or "utf-8")
    return await _opened(session, work_of(request), partial(_open, session, name, encoding))


async def _opened(session: Session, name: str, work: Callable[[Work], None]) -> Response:
    """The session as it is when a table was opened, which is long work."""
    await do_long(session, name, work)
    return JSONResponse(await do_in_turn(session, session.state))


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
    length = int(request.headers.get("content-length") or 0)
    left = QUOTA * limit - await aside(session.bytes_kept)
    await receive(request.stream(), length, target, limit, left)
    if kind == "data":
        encoding = request.headers.get("x-encoding") or "utf-8"
        work = partial(_open_uploaded_data, session, target, encoding, limit)
        return await _opened(session, work_of(request), work)
    if kind == "job":
        return await _opened(session, work_of(request), partial(_open_uploaded_job, session, target))
    for other in folder.iterdir():
        if other != target:
            other.unlink()
    return JSONResponse({"name": name})


def _open_uploaded_data(session: Session, target: Path, encoding: str, limit: int, report: Progress) -> None:
    try:
        refuse_large(target, limit, report)
        if is_project(target.name):
            session.open_project(target, report)
        else:
            session.open_upload(target.name, encoding, report)
    except BaseException:
        target.unlink(missing_ok=True)  # what is no table, or too large, does not stay
        raise


def _open_uploaded_job(session: Session, target: Path, report: Progress) -> None:
    try:
        text = target.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadJob(f"{target.name!r} is no job file: it is not UTF-8 text.") from None
    finally:
        target.unlink(missing_ok=True)
    session.open_job(text, target.name, report)


def look_again(session: Session, _: Question, piece: Work) -> Answer:
    """Look at a table after a restart, or at a file that has changed."""
    words = session.look_again(piece)
    return {**session.state(), "words": words}


def table_rows(session: Session, question: Question) -> Answer:
    """Some rows as they stand in the table."""
    start, count = (_place(question.get(key, usual), "rows") for key, usual in (("start", 0), ("count", explore.ROWS)))
    return explore.table_rows_view(session.job, start, count)


def table_column(session: Session, question: Question) -> Answer:
    """What a column holds."""
    return explore.column_view(session.job, str(question.get("column", "")))


def role_facts(session: Session, _: Question) -> Answer:
    """What the roles mean for the rows."""
    job, profile = session.job, session.profile
    of_file = [] if profile is None else [*profile.form.sentences(), *profile.remarks]
    keys = [] if job.embedded else [key for key in FORM if key in USED[file_kind(job.source)]]
    remarks = [*session.remarks, *of_file, *job.remarks, *explore.say_unlimited(job)]
    return {**explore.role_facts(job, session.kept_rows()), "remarks": remarks, "form_keys": keys}


def read_otherwise(session: Session, question: Question) -> Answer:
    """Read the same file in another form."""
    session.open_otherwise({key: question[key] for key in FORM if key in question})
    return session.state()


def measure(session: Session, _: Question, __: Work) -> Answer:
    """How anonymous the table is as it stands."""
    return explore.measure_view(session.job)


# -- the job ---------------------------------------------------------------------------------------------------------


def put_job(session: Session, question: Question) -> Answer:
    """The job as the page changed it."""
    session.take_draft(question)
    return {"draft": session.draft_view, "stale": session.stale}


def save_job(session: Session, question: Question) -> Answer:
    """Write the job into the working folder."""
    name = str(question.get("name") or "job.toml")
    _, job = session.job, session.opened  # checked before it is written
    overwrite = question.get("overwrite") is True
    files, there = drafts.save_job(job, session.edits, session.folder, name, overwrite=overwrite)
    if there:
        sentence = f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} in the working folder already."
        return {"files": [], "exists": there, "sentence": sentence}
    note = " The data was uploaded, so put the file beside the job before you run it there." if session.uploaded else ""
    return {"files": files, "sentence": f"Saved {', '.join(files)} in the working folder.{note}"}


async def download_job(request: Request) -> Response:
    """The job as a file."""
    session = session_of(request)

    def work() -> Path:
        stem = plain_name(Path(session.job.source).name.split(".")[0], "job")
        return drafts.job_archive(session.opened, session.edits, f"{stem}-job", session.outbox)

    place = await do_in_turn(session, work)
    return FileResponse(place, filename=place.name, media_type="application/octet-stream")


# -- hierarchies -----------------------------------------------------------------------------------------------------


def hierarchy(session: Session, question: Question) -> Answer:
    """The hierarchy of a column."""
    return session.hierarchy_view(str(question.get("column", "")))


def edit_hierarchy(session: Session, question: Question) -> Answer:
    """One edit of a hierarchy."""
    return session.edit_hierarchy(str(question.get("column", "")), str(question.get("action", "")), question)


def _bring(session: Session, question: Question) -> hierarchies.Brought:
    column = str(question.get("column", ""))
    _, rows = session.hierarchy(column)
    if isinstance(question.get("copy"), str):
        return hierarchies.copy_from(column, session.hierarchy(question["copy"])[0], rows)
    return hierarchies.bring(column, question, rows, session.folder)


def preview_hierarchy(session: Session, question: Question) -> Answer:
    """The hierarchy that would come of a rule, a file or another column; nothing is changed."""
    brought = _bring(session, question)
    return hierarchies.hierarchy_view(brought.hierarchy, session.hierarchy(str(question["column"]))[1])


def use_hierarchy(session: Session, question: Question) -> Answer:
    """Take the hierarchy of a rule, a file or another column into the job."""
    session.check_revision(question.get("revision", session.revision))
    brought, column = _bring(session, question), str(question["column"])
    if brought.source is not None and not (session.uploaded and isinstance(brought.source, str)):
        session.name_hierarchy(column, brought.source)
    else:
        session.take_hierarchy(column, to_text(brought.hierarchy))
    return _tell_change(session, column)


def step_hierarchy(session: Session, question: Question) -> Answer:
    """Undo or redo a change of a hierarchy, or go back to the first one."""
    action, column = str(question.get("action", "")), str(question.get("column", ""))
    if action not in ("undo", "redo", "reset"):
        raise BadInput(f"No step {action!r}. There are: undo, redo, reset.")
    session.check_revision(question.get("revision", session.revision))
    session.take_step(session.shelf.move(session.opened, column, action))
    return _tell_change(session, column)


def _tell_change(session: Session, column: str) -> Answer:
    return {"view": session.hierarchy_view(column), "draft": session.draft_view, "stale": session.stale}


def export_hierarchy(session: Session, question: Question) -> Answer:
    """The hierarchy of a column as the lines of a file, as ARX reads them too."""
    column = str(question.get("column", ""))
    return {"name": f"{plain_name(column, 'column')}.csv", "text": to_text(session.hierarchy(column)[0])}


def hierarchy_files(session: Session, _: Question) -> Answer:
    """The files of the folder that may hold a hierarchy."""
    return {"files": hierarchies.folder_files(session.folder)}


# -- searches and runs -----------------------------------------------------------------------------------------------


def start_search(session: Session, question: Question) -> Answer:
    """Start the job's search, or let a stopped one go on."""
    status = begin_search(session, resume=bool(question.get("resume"))).status()
    return {**status, "draft": session.draft_view, "stale": session.stale}


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


def _run_line(session: Session, run: RunRecord) -> Answer:
    """One line of the list of runs."""
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
        "note": run.note,
        "running": session.attempt is not None and session.attempt.id == run.id and session.attempt.running,
        "limits": run.draft.get("limits", {}),
        "status": dict(run.status),
    }


def list_runs(session: Session, _: Question) -> Answer:
    """Every run that the session may see, the youngest first."""
    return {"runs": [_run_line(session, run) for run in session.runs()]}


def take_up_run(session: Session, question: Question) -> Answer:
    """Take up a run: its job and its front."""
    open_run(session, question["run"])
    return session.state()


def run_points(session: Session, question: Question) -> Answer:
    """The numbers of a run's front."""
    return session.kept.points(session.run_record(question["run"]).id)


def rename_run(session: Session, question: Question) -> Answer:
    """Another name for a run, another note, or both."""
    run, note = session.run_record(question["run"]), question.get("note")
    name = str(question.get("name", run.name))
    return _run_line(session, session.kept.rename(run.id, name, None if note is None else str(note)))


def delete_run(session: Session, question: Question) -> Answer:
    """Remove a run for good; the front that is being explored stays on the page until another takes its place."""
    session.delete_run(question["run"])
    return {}


# -- the front -------------------------------------------------------------------------------------------------------


def front(session: Session, _: Question) -> Answer:
    """The finished front, with the measures that were taken of its points for an axis."""
    plain = session.front()
    return {**explore.front_view(plain), **explore.axes_view(plain, session.wider.get(plain, plain))}


def axis(session: Session, question: Question, piece: Work) -> Answer:
    """A measure that is no objective, taken of every point, for an axis of the picture."""
    plain = session.front()
    wider = explore.add_axis(session.wider.get(plain, plain), str(question.get("measure", "")), piece)
    session.wider[plain] = wider
    return explore.axes_view(plain, wider)


def point_rows(session: Session, _: Question) -> Answer:
    """Every point with the level or the number of groups of each column, for a file."""
    return explore.point_rows_view(session.front())


def pair(session: Session, question: Question) -> Answer:
    """The front of two objectives, or of measures that were taken for an axis."""
    plain = session.front()
    return explore.pair_view(session.wider.get(plain, plain), question.get("x", ""), question.get("y", ""))


def prefer(session: Session, wishes: Question) -> Answer:
    """The point nearest to a wish."""
    return explore.prefer(session.front(), wishes)


def search_wish(session: Session, wishes: Question, report: Work) -> Answer:
    """Search the k of a wish that the local front was not searched for; the point that then is nearest."""
    before, search = session.front(), session.searched()
    further = explore.search_wish(before, wishes, report)
    if further is not before:
        search.take_further(further)
    return explore.prefer(further, wishes)


def point(session: Session, question: Question) -> Answer:
    """All about one point."""
    return explore.point_view(session.front(), _place(question["point"]))


def tree(session: Session, question: Question, report: Work) -> Answer:
    """The decision tree's error at one point."""
    return explore.tree_view(session.front(), _place(question["point"]), report)


def use(session: Session, question: Question, piece: Work) -> Answer:
    """What an analyst would still get from one point; worked out once for each."""
    return _told_once(session, question, "use", lambda at: explore.use_view(at, session.searched().job.use, piece))


def attack(session: Session, question: Question, piece: Work) -> Answer:
    """What attacks on people reach at one point; tried once for each."""
    return _told_once(session, question, "attack", lambda at: explore.attack_view(at, piece))


def _told_once(session: Session, question: Question, what: str, work: Callable[[Point], Answer]) -> Answer:
    """What was worked out for a point before, or is now."""
    front, place = session.front(), _place(question["point"])
    known = session.known.setdefault(front, {})
    if (what, place) not in known:
        known[what, place] = work(front[place])
    return known[what, place]


def marks(session: Session, _: Question, piece: Work) -> Answer:
    """How far off counts are from every marked point."""
    return explore.marks_view(session.front(), piece)


def models_use(session: Session, _: Question, piece: Work) -> Answer:
    """How far off counts are from whole columns and class by class, before anything is searched."""
    return explore.models_view(session.job, piece)


def compare_points(session: Session, question: Question) -> Answer:
    """Two points side by side."""
    one, two = _place(question.get("a")), _place(question.get("b"))
    by, what = question.get("by") or None, question.get("what", "class-size")
    return explore.compare_view(session.front(), one, two, by, what)


def distribution(session: Session, question: Question) -> Answer:
    """One column before and after."""
    return explore.distribution_view(_point(session, question), str(question.get("column", "")))


def contingency(session: Session, question: Question) -> Answer:
    """Two columns together, before and after."""
    first, second = str(question.get("first", "")), str(question.get("second", ""))
    return explore.contingency_view(_point(session, question), first, second)


def at_risk(session: Session, question: Question) -> Answer:
    """The smallest classes, and which column gives them away."""
    return explore.at_risk_view(_point(session, question))


def models(session: Session, _: Question) -> Answer:
    """The comparison of models over the front that is explored, as far as it is."""
    run = session.models
    return {"run": None if run is None or run.front is not session.front() else run.status()}


def start_models(session: Session, question: Question) -> Answer:
    """Compare models; one comparison at a time."""
    front = session.front()
    with session.lock:
        if session.models is not None and session.models.phase == "running":
            if session.models.front is front:
                raise BadJob("The models are being compared. Stop that first.")
            session.models.cancel()
        session.models = start_comparison(front, question, plan_of(session.job))
        return {"run": session.models.status()}


def stop_models(session: Session, question: Question) -> Answer:
    """Ask the comparison to stop."""
    if session.models is not None:
        session.models.cancel()
    return models(session, question)


# -- the way out -----------------------------------------------------------------------------------------------------


def check(session: Session, question: Question, piece: Work) -> Answer:
    """Limits and warnings of a point, before anything is released."""
    place, front, search = _place(question["point"]), session.front(), session.searched()
    return release.check(search.job, front, place, search.checked.setdefault(front, {}), piece)


async def release_rows(request: Request) -> Response:
    """Release a point: written, verified, certified, reported; then ready to be downloaded."""
    session, question = await asked(request)
    place, target = _place(question.get("point")), plain_name(str(question.get("target") or ""), "release.csv")

    def work(piece: Work) -> Answer:
        front, search = session.front(), session.searched()
        job = release.asked_job(search.job, question, request.app.state.settings.sign, session.folder)
        fresh = session.own / f"out-{secrets.token_hex(4)}"
        fresh.mkdir()
        try:
            done = release.release_point(job, front, place, inside(fresh, target), piece)
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
    front = session.front()
    key = (id(front), place, secret)
    if key not in session.reports:
        page = release.report_page(session.searched().job, front, place, piece, confidential=secret)
        while len(session.reports) >= MOST_REPORTS:
            session.reports.pop(next(iter(session.reports)))
        session.reports[key] = page
    return session.reports[key]


async def report(request: Request) -> Response:
    """The report of a point, to look at."""
    session, question = await asked(request)
    secret = question.get("confidential") == "1"
    text = await aside(partial(_report_page, session, _place(question["point"]), secret, Work()))
    headers = {"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"}
    return HTMLResponse(text, headers=headers)


def write_report(session: Session, question: Question, piece: Work) -> Answer:
    """Write the report of a point, to be looked at a moment later."""
    return {"letters": len(_report_page(session, _place(question["point"]), bool(question.get("confidential")), piece))}


def verify(session: Session, _: Question, __: Work) -> Answer:
    """Check the uploaded release against the uploaded certificate."""
    paths = []
    for kind in ("release", "certificate"):
        folder = session.own / f"verify-{kind}"
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        if not files:
            raise BadInput(f"There is no {kind} yet. Choose the {kind} file first.")
        paths.append(files[0])
    return release.is_verified(paths[0], paths[1])


# -- where each question is asked -------------------------------------------------------------------------------------


_OF_SESSION: tuple[tuple[str, str, Endpoint], ...] = (
    ("GET", "", state),
    ("DELETE", "", close_table),
    ("GET", "/pulse", pulse),
    ("PUT", "/view", keep_view),
    ("DELETE", "/works/{work}", stop_work),
    ("POST", "/open", open_file),
    ("PUT", "/upload/{kind}", upload),
    ("POST", "/table/look", long(look_again)),
    ("GET", "/table/rows", looking(table_rows)),
    ("GET", "/table/column", looking(table_column)),
    ("GET", "/table/facts", looking(role_facts)),
    ("POST", "/table/form", in_turn(read_otherwise)),
    ("POST", "/table/measure", long(measure)),
    ("PUT", "/job", in_turn(put_job)),
    ("POST", "/job/save", in_turn(save_job)),
    ("GET", "/job/file", download_job),
    ("GET", "/hierarchy", looking(hierarchy)),
    ("POST", "/hierarchy", in_turn(edit_hierarchy)),
    ("POST", "/hierarchy/preview", in_turn(preview_hierarchy)),
    ("POST", "/hierarchy/use", in_turn(use_hierarchy)),
    ("POST", "/hierarchy/step", in_turn(step_hierarchy)),
    ("GET", "/hierarchy/file", in_turn(export_hierarchy)),
    ("GET", "/hierarchy/files", in_turn(hierarchy_files)),
    ("POST", "/search", in_turn(start_search)),
    ("DELETE", "/search", cancel_search),
    ("GET", "/events", events),
    ("GET", "/runs", at_once(list_runs)),
    ("PUT", "/runs/{run}", in_turn(rename_run)),
    ("DELETE", "/runs/{run}", in_turn(delete_run)),
    ("POST", "/runs/{run}/open", in_turn(take_up_run)),
    ("GET", "/runs/{run}/points", at_once(run_points)),
    ("GET", "/front", at_once(front)),
    ("GET", "/rows-of-front", at_once(point_rows)),
    ("POST", "/front/axes", long(axis)),
    ("GET", "/pair", at_once(pair)),
    ("POST", "/prefer", at_once(prefer)),
    ("POST", "/prefer/search", long(search_wish)),
    ("GET", "/points/{point}", at_once(point)),
    ("POST", "/marks", long(marks)),
    ("POST", "/points/{point}/tree", long(tree)),
    ("POST", "/points/{point}/use", long(use)),
    ("POST", "/points/{point}/attack", long(attack)),
    ("GET", "/compare", at_once(compare_points)),
    ("GET", "/distribution", at_once(distribution)),
    ("GET", "/contingency", at_once(contingency)),
    ("GET", "/at-risk", at_once(at_risk)),
    ("GET", "/models", at_once(models)),
    ("POST", "/models", at_once(start_models)),
    ("DELETE", "/models", at_once(stop_models)),
    ("POST", "/models/use", long(models_use)),
    ("GET", "/research", at_once(research)),
    ("POST", "/research/compare", long(compare)),
    ("POST", "/points/{point}/check", long(check)),
    ("GET", "/points/{point}/report", report),
    ("POST", "/points/{point}/report", long(write_report)),
    ("POST", "/release", release_rows),
    ("GET", "/files/{name}", download),
    ("POST", "/verify", long(verify)),
)
ROUTES = [
    Route("/api/about", about),
    Route("/api/tickets", ticket, methods=["POST"]),
    Route("/api/tables", tables, methods=["POST"]),
    Route("/api/sessions", new_session, methods=["POST"]),
    *(Route(f"/api/sessions/{{session}}{path}", work, methods=[method]) for method, path, work in _OF_SESSION),
]
