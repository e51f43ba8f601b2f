"""What Explore and Data ask beyond the front itself: one short function per question, and where each is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kpareto.engines.form import FORM_KEYS, USED, file_kind
from kpareto.errors import BadInput, BadJob
from kpareto.faces.web import comparing, distributions, edits, exploring, looking, shelves
from kpareto.faces.web.drafts import Draft, draft_job, propose_draft
from kpareto.faces.web.explored import front_of, place_of
from kpareto.faces.web.guard import plain_name
from kpareto.faces.web.sessions import Session
from kpareto.fronts.front import Point
from kpareto.jobs.front import plan_of
from kpareto.jobs.inspect import inspect
from kpareto.jobs.parse import PARTS
from kpareto.tables.hierarchies import to_text

# What a person may say about the form of a file on the page.
ASKED = ("encoding", "separator", "header", "skip", "decimal", "thousands", "sheet")
Question = Mapping[str, Any]
Answer = dict[str, Any]


def _point(session: Session, question: Question) -> Point:
    return front_of(session)[place_of(question.get("point"))]


def point_rows(session: Session, _: Question) -> Answer:
    """Every point with the level or the number of groups of each column, for a file."""
    return exploring.rows_view(front_of(session))


def distribution(session: Session, question: Question) -> Answer:
    """One column before and after."""
    return distributions.distribution_view(_point(session, question), str(question.get("column", "")))


def contingency(session: Session, question: Question) -> Answer:
    """Two columns together, before and after."""
    first, second = str(question.get("first", "")), str(question.get("second", ""))
    return distributions.contingency_view(_point(session, question), first, second)


def at_risk(session: Session, question: Question) -> Answer:
    """The smallest classes, and which column gives them away."""
    return distributions.at_risk_view(_point(session, question))


def models(session: Session, _: Question) -> Answer:
    """The comparison of models over the front that is explored, as far as it is."""
    run = session.models
    return {"run": None if run is None or run.front is not front_of(session) else run.status()}


def start_models(session: Session, question: Question) -> Answer:
    """Compare models; one comparison at a time."""
    front = front_of(session)
    with session.lock:
        if session.models is not None and session.models.phase == "running":
            if session.models.front is front:
                raise BadJob("The models are being compared. Stop that first.")
            session.models.cancel()
        session.models = comparing.start_models(front, question, plan_of(session.job))
        return {"run": session.models.status()}


def stop_models(session: Session, question: Question) -> Answer:
    """Ask the comparison to stop."""
    if session.models is not None:
        session.models.cancel()
    return models(session, question)


def table_rows(session: Session, question: Question) -> Answer:
    """Some rows as they stand in the table."""
    return looking.rows_view(session.job, _count(question, "start", 0), _count(question, "count", looking.ROWS))


def table_column(session: Session, question: Question) -> Answer:
    """What a column holds."""
    return looking.column_view(session.job, str(question.get("column", "")))


def read_otherwise(session: Session, question: Question) -> Answer:
    """Read the same file in another form: other letters, another separator; roles are proposed anew."""
    if session.draft is None or session.draft["data"]["source"] == "adult":
        raise BadJob("There is no file yet that could be read otherwise. Open one first.")
    source = str(session.draft["data"]["source"])
    said = {key: value for key, value in session.draft["data"].items() if key in FORM_KEYS}
    told = {key: question[key] for key in ASKED if key in question}
    if {"separator", "header", "skip", "sheet"} & set(told):  # other columns may come of it
        said = {key: value for key, value in said.items() if key not in ("names", "dates")}
    said = {key: value for key, value in {**said, **told}.items() if value not in (None, "")}
    bare: Draft = {part: {} for part in PARTS}
    job = draft_job({**bare, "data": {"source": source, **said}}, session.data_folder, session.edits, session.folder)
    profile = inspect(job.rows_source(), encoding=job.encoding)
    session.start_with(session.data_folder, propose_draft(profile, source), profile, session.data)
    return session.state()


def role_facts(session: Session, _: Question) -> Answer:
    """What the roles mean for the rows."""
    said = [] if session.profile is None else session.profile.sentences()
    source = str((session.draft or {})["data"]["source"])
    keys = [] if source == "adult" else [key for key in ASKED if key in USED[file_kind(source)]]
    return {**looking.role_facts(session.job), "remarks": said, "form_keys": keys}


def _count(question: Question, key: str, otherwise: int) -> int:
    try:
        return int(str(question.get(key, otherwise)))
    except ValueError:
        raise BadInput(f"{question.get(key)!r} is no number of rows.") from None


def _bring(session: Session, question: Question) -> shelves.Brought:
    column = str(question.get("column", ""))
    _, rows = session.hierarchy(column)
    if isinstance(question.get("copy"), str):
        return shelves.copy_from(column, session.hierarchy(question["copy"])[0], rows)
    return shelves.bring(column, question, rows, session.folder)


def preview_hierarchy(session: Session, question: Question) -> Answer:
    """The hierarchy that would come of a rule, a file or another column; nothing is changed."""
    brought = _bring(session, question)
    return edits.hierarchy_view(brought.hierarchy, session.hierarchy(str(question["column"]))[1])


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
    session.take_step(session.shelf.move(session.draft or {}, column, action))
    return _tell_change(session, column)


def _tell_change(session: Session, column: str) -> Answer:
    return {"view": session.hierarchy_view(column), "draft": session.draft_view, "stale": session.stale}


def export_hierarchy(session: Session, question: Question) -> Answer:
    """The hierarchy of a column as the lines of a file, as ARX reads them too."""
    column = str(question.get("column", ""))
    hierarchy, _ = session.hierarchy(column)
    return {"name": f"{plain_name(column, 'column')}.csv", "text": to_text(hierarchy)}


def hierarchy_files(session: Session, _: Question) -> Answer:
    """The files of the folder that may hold a hierarchy."""
    return {"files": shelves.folder_files(session.folder)}


ANSWERS: tuple[tuple[str, str, Callable[[Session, Question], Answer]], ...] = (
    ("GET", "/rows-of-front", point_rows),
    ("GET", "/distribution", distribution),
    ("GET", "/contingency", contingency),
    ("GET", "/at-risk", at_risk),
    ("GET", "/models", models),
    ("POST", "/models", start_models),
    ("DELETE", "/models", stop_models),
    ("GET", "/table/rows", table_rows),
    ("GET", "/table/column", table_column),
    ("GET", "/table/facts", role_facts),
    ("POST", "/table/form", read_otherwise),
    ("POST", "/hierarchy/preview", preview_hierarchy),
    ("POST", "/hierarchy/use", use_hierarchy),
    ("POST", "/hierarchy/step", step_hierarchy),
    ("GET", "/hierarchy/file", export_hierarchy),
    ("GET", "/hierarchy/files", hierarchy_files),
)
