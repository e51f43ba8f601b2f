"""Searches of a session from its first start to a later server: begin, go on, keep, and take up again."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kpareto.errors import BadInput, BadJob
from kpareto.faces.web.drafts import Draft, draft_job, draft_print
from kpareto.faces.web.kept_runs import RunRecord, now, owner_of, take_edits
from kpareto.faces.web.searching import Searching
from kpareto.faces.web.sessions import Session
from kpareto.jobs.inspect import Profile, inspect
from kpareto.jobs.job import Job

SHOWN = ("method", "names", "points", "seconds", "sentence", "done", "total", "complete")  # of a status, in the list


def begin_search(session: Session, *, resume: bool) -> Searching:
    """Start the job's search, or let a stopped one go on; the front before stays until there is another."""
    last = session.attempt
    if last is not None and last.running:
        raise BadJob("A search is running. Stop it first.")
    if resume and last is not None and last.ran_out:
        last = _without_end(session, last)
    elif not resume or last is None or last.phase != "stopped":
        job, run = session.job, secrets.token_hex(8)
        session.explored = session.search
        last = session.attempt = Searching(job, session.kept.checkpoint(run), run, session.content())
        last.keep = _keeper(session, last, now())
        session.released = None
    last.start()
    return last


def _without_end(session: Session, last: Searching) -> Searching:
    """The run whose time was up, from what it knows, until nothing is missing; the job has no time from now on."""
    if session.stale or session.draft is None:
        raise BadJob("The job has changed since this search, so it cannot go on. Start the search anew.")
    search = {key: value for key, value in session.draft["search"].items() if key != "seconds"}
    session.take_step({**session.draft, "search": search})
    longer = Searching(session.job, last.checkpoint, last.id, session.content())
    longer.follow_on(last)
    longer.keep = _keeper(session, longer, session.run_record(last.id).began)
    session.explored, session.attempt, session.released = last, longer, None
    return longer


def _keeper(session: Session, search: Searching, began: float, name: str = "") -> Callable[[], None]:
    """What writes a run when it begins and when it ends; the job is the one it was started with."""
    draft, uploaded, data = session.draft or {}, session.uploaded, session.data
    source = str(draft["data"]["source"])
    title = name or f"{', '.join(draft['search'].get('objectives', []))} by {draft['search'].get('method', 'exact')}"

    def keep() -> None:
        if search.phase == "failed":
            session.kept.delete(search.id)
            return
        status = search.status()
        record = RunRecord(
            search.id,
            session.name_of(search.id, title),
            began,
            search.phase if search.phase in ("done", "stopped") else "running",
            source,
            uploaded,
            data,
            owner_of(session.id),
            search.content,
            draft,
            {word: status[word] for word in SHOWN},
        )
        session.kept.keep(record, session.edits, search.front)
        session.keep_desk()

    return keep


def open_run(session: Session, run: str) -> None:
    """Take up an earlier run: its job, and its front over the table it was made of."""
    record = session.run_record(run)
    if record.uploaded and record.data != session.data:
        raise BadJob(
            f"This run was made of {record.source!r}, a file that was dropped on the page and is not kept. Drop it "
            "again, then open the run."
        )
    draft = {part: dict(values) for part, values in record.draft.items()}
    job = _job_of(session, record)
    place = session.uploads if record.uploaded else session.folder
    same = session.draft is not None and session.draft["data"] == draft["data"]
    # A file that was changed since the search is looked at anew: it may have other columns.
    same = same and record.content == draft_print(draft, place, session.edits, session.folder)
    profile = session.profile if same else None
    session.start_with(place, draft, profile or _look_at(job, draft), record.data)
    _recall(session, record, job)


def take_up(session: Session, desk: Mapping[str, Any]) -> None:
    """Go on with what a session of an earlier server was working on; rows that were uploaded are gone by then."""
    draft = desk["draft"]
    if desk.get("uploaded"):
        return  # the runs come back with the file
    take_edits(session.kept.desk(owner_of(session.id)), draft, session.edits)
    job = draft_job(draft, session.folder, session.edits, session.folder)
    revision = desk.get("revision")  # goes on, so that a tab that slept meanwhile does not take another job for its own
    session.revision = revision if isinstance(revision, int) else 0
    session.start_with(session.folder, draft, _look_at(job, draft))
    run, view = desk.get("run"), desk.get("view")
    if isinstance(run, str):
        with suppress(BadInput, OSError):  # deleted, or damaged: the job is there all the same
            record = session.run_record(run)
            _recall(session, record, _job_of(session, record))
    session.view = dict(view) if isinstance(view, dict) else {}
    session.keep_desk()


def _job_of(session: Session, record: RunRecord) -> Job:
    """The job of a kept run, with its hierarchies as they were."""
    take_edits(session.kept.folder(record.id), record.draft, session.edits)
    place = session.uploads if record.uploaded else session.folder
    return draft_job(record.draft, place, session.edits, session.folder)


def _recall(session: Session, record: RunRecord, job: Job) -> None:
    """Let the session stand where the run ended."""
    search = Searching(job, session.kept.checkpoint(record.id), record.id, record.content)
    search.recall(session.kept, record)
    search.keep = _keeper(session, search, record.began, record.name)
    session.attempt = search
    session.keep_desk()


def _look_at(job: Job, draft: Draft) -> Profile:
    rows: object = job.rows_source()
    return inspect(rows, encoding=draft["data"].get("encoding", "utf-8"))
