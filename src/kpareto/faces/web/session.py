"""What the server remembers for one browser: its data, job, search, front and files; nothing is shared between two."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from kpareto.engines import file_of, is_address
from kpareto.engines.admission import Admission, allowed_bytes
from kpareto.engines.apart import run_apart
from kpareto.engines.form import FORM_KEYS, data_endings
from kpareto.engines.read import Wish, read_drawn
from kpareto.engines.unique_rows import KeptRows, keep_rows, open_view
from kpareto.errors import BadInput, BadJob, BadTable, Progress
from kpareto.faces.web import drafts
from kpareto.faces.web.drafts import Draft
from kpareto.faces.web.files import files_in, inside
from kpareto.faces.web.hierarchies import Shelf, edit, hierarchy_view
from kpareto.faces.web.runs import KeptRuns, RunRecord, keep_job, owner_of, take_edits
from kpareto.faces.web.search import ModelRun, Searching
from kpareto.faces.web.turns import Turns, Work
from kpareto.fronts.front import Front
from kpareto.interrupts import Hearing, hearing
from kpareto.jobs.arx.project import read_arx
from kpareto.jobs.inspect import Profile, inspect
from kpareto.jobs.job import Job, draw_table
from kpareto.jobs.parse import PARTS, load_job
from kpareto.jobs.proposals import complete_hierarchies
from kpareto.measures.measure import make
from kpareto.measures.plain import plain_of
from kpareto.tables.hierarchies import to_text
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.spelling import several
from kpareto.tables.table import Table

CELLS = 20_000_000  # of a table that are kept as codes, 100 MB, so that a change of roles reads no file
LOOKING = 300.0  # seconds in which an uploaded file is looked at
WAYS = {"exact": "whole columns", "nsga2": "mixed levels", "local": "class by class"}  # as the page calls them
MOST = 12  # tables that are open at once; beyond that the one that was unused longest is closed, its job kept
MOST_CLOSED = 500  # of which is remembered why
SHOWN = (
    "method",
    "names",
    "points",
    "seconds",
    "sentence",
    "done",
    "total",
    "complete",
)  # of a status, in the list
DATA_ENDS = data_endings()
Answer = TypeVar("Answer")


class LateWrite(BadInput):
    """A change of a job that has changed in the meantime."""


class SessionOver(BadInput):
    """A session that this server does not know."""


class TableClosed(SessionOver):
    """A session that was closed, on purpose or to make room, and can be opened again."""


@dataclass(eq=False)
class Session:
    """One person's work."""

    id: str
    folder: Path  # the working folder
    own: Path  # a folder of this session alone, removed with it
    kept: KeptRuns
    lock: threading.RLock = field(default_factory=threading.RLock)
    turns: Turns = field(default_factory=Turns)
    known: WeakKeyDictionary[Front, dict[tuple[str, int], Any]] = field(default_factory=WeakKeyDictionary)  # of points
    wider: WeakKeyDictionary[Front, Front] = field(default_factory=WeakKeyDictionary)  # with measures for axes alone
    reports: dict[tuple[int, int, bool], str] = field(default_factory=dict)  # front, point, confidential -> page
    used: float = field(default_factory=time.monotonic)
    data_folder: Path = field(default_factory=Path)  # where the data lies: the working folder, or the uploads
    uploaded: bool = False
    profile: Profile | None = None  # none after a restart, until the table is looked at again
    seen: str = ""  # the state of its file when it was looked at
    awaits: str = ""  # a file that was dropped here before a restart, and whose job waits for it
    remarks: tuple[str, ...] = ()  # on a project of ARX: what it asks for, and what has no counterpart
    draft: Draft | None = None
    revision: int = 0  # grows with every change of the draft, so that a late one is noticed
    data: str = ""  # digest of the uploaded table; empty for one of the folder
    attempt: Searching | None = None  # the search that was started last
    explored: Searching | None = None  # the one before, as long as the last has no front
    view: dict[str, Any] = field(default_factory=dict)  # what the page shows: tab, axes, chosen point, pins
    released: dict[str, Any] | None = None
    models: ModelRun | None = None  # recoding models compared over the table of the search
    shelf: Shelf = field(default_factory=Shelf)  # hierarchies that were brought, built or edited
    _tables: dict[str, Table] = field(default_factory=dict)
    _rows: dict[str, KeptRows] = field(default_factory=dict)

    # -- data ----------------------------------------------------------------------------------------------------

    def open_data(self, name: str, encoding: str = "utf-8", report: Progress | None = None) -> None:
        """Look at a file of the working folder, or at the embedded Adult table; nothing changes before the report."""
        if name == "adult":
            from kpareto.tables.adult import adult

            profile = inspect(adult("train"))
            tell(report)
            self.start_with(self.folder, drafts.adult_draft(profile), profile)
            return
        profile = look_at(inside(self.folder, name), encoding)
        tell(report)
        self.start_with(self.folder, drafts.propose_draft(profile, name), profile)

    def open_upload(self, name: str, encoding: str = "utf-8", report: Progress | None = None) -> None:
        """Look at a file that was dropped on the page; the one that was dropped before goes."""
        place = inside(self.uploads, name)
        profile = look_apart(place, encoding, report)
        tell(report)
        self._start_with_upload(drafts.propose_draft(profile, name), profile)

    def open_project(self, path: Path, report: Progress | None = None) -> None:
        """Unpack a project of ARX, as if its table were dropped on the page with a job; what is lost is remarked."""
        with TemporaryDirectory(dir=self.own) as fresh:
            place = Path(fresh) / "job.toml"
            project = do_apart(partial(read_arx, job=place), path, path.name, report)
            job = load_job(place)
            profile = look_apart(job.rows_source(), job.encoding, report)
            tell(report)
            draft = drafts.project_draft(project, place, self.uploads, self.edits)
        self._start_with_upload(draft, profile)
        self.remarks = tuple(project.sentences())

    def _start_with_upload(self, draft: Draft, profile: Profile) -> None:
        """Begin with a table among the uploads; the files that were dropped before go."""
        name = str(draft["data"]["source"])
        with inside(self.uploads, name).open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        for other in self.uploads.iterdir():
            if other.name not in (name, draft["population"].get("source")):
                other.unlink(missing_ok=True)
        desk = self.kept.desk_record(owner_of(self.id)) if self.draft is None else None
        if desk is not None and desk.get("data") == digest and desk["draft"]["data"].get("source") == name:
            take_edits(self.kept.desk(owner_of(self.id)), desk["draft"], self.edits)
            self.start_with(self.uploads, desk["draft"], profile, digest)  # the table that was closed, dropped again
        else:
            self.start_with(self.uploads, draft, profile, digest)

    def open_job(self, text: str, name: str, report: Progress | None = None) -> None:
        """Take a job file over; its data must be in the working folder or have been uploaded."""
        draft = drafts.load_draft(text, name)
        source = str(draft["data"]["source"])
        uploaded = source != "adult" and not inside(self.folder, source).exists()
        place = self.uploads if uploaded else self.folder
        if uploaded and not inside(self.uploads, source).exists():
            raise BadJob(
                f"The job reads {source!r}, which is not in the working folder. Put it there, or drop it on this page "
                "first and then load the job again."
            )
        job_data: object = drafts.draft_job(draft, place, self.edits, self.folder).rows_source()
        encoding = str(draft["data"].get("encoding", "utf-8"))
        profile = look_apart(job_data, encoding, report) if uploaded else look_at(job_data, encoding)
        drafts.check_columns(draft, [column.facts.name for column in profile.columns])
        tell(report)
        self.start_with(place, draft, profile, self.data if uploaded else "")

    def open_otherwise(self, form: Mapping[str, Any]) -> None:
        """Read the same file in another form: other letters, another separator; roles are proposed anew."""
        source = self.source
        if source == "adult":
            raise BadJob("There is no file yet that could be read otherwise. Open one first.")
        before = {key: value for key, value in self.opened["data"].items() if key in FORM_KEYS}
        if {"separator", "header", "skip", "sheet"} & set(form):  # other columns may come of it
            before = {key: value for key, value in before.items() if key not in ("names", "dates")}
        data = {key: value for key, value in {**before, **form}.items() if value not in (None, "")}
        bare: Draft = {part: {} for part in PARTS}
        job = drafts.draft_job({**bare, "data": {"source": source, **data}}, self.data_folder, self.edits, self.folder)
        rows = job.rows_source()
        profile = look_apart(rows, job.encoding) if self.uploaded else look_at(rows, job.encoding)
        self.start_with(self.data_folder, drafts.propose_draft(profile, source), profile, self.data)

    def start_with(self, place: Path, draft: Draft, profile: Profile | None, data: str = "") -> None:
        """Begin with a table; ``data`` is its digest where it was uploaded."""
        with self.lock:
            if self.attempt is not None:
                self.attempt.cancel()
            self.data_folder, self.uploaded, self.data = place, bool(data), data
            self.draft, self.profile, self.attempt, self.explored, self.released = draft, profile, None, None, None
            self.view, self.awaits, self.remarks = {}, "", ()
            self.seen, self._tables, self._rows = self.file_state(), {}, {}
            self.shelf = Shelf()
            self._changed()

    @property
    def opened(self) -> Draft:
        """The draft, or a sentence that there is none yet."""
        if self.draft is None:
            raise BadJob("There is no data yet. Open a file first.")
        return self.draft

    @property
    def source(self) -> str:
        """The table as the job names it; adult before one is opened."""
        return "adult" if self.draft is None else str(self.draft["data"]["source"])

    def file_state(self) -> str:
        """The state of the table's file as it is now; a table that is no file has none."""
        source = self.source
        return drafts.state_of(None if source == "adult" or is_address(source) else self.data_folder / source)

    @property
    def changed(self) -> bool:
        """Whether the file is another one than the one whose rows were read."""
        return self.draft is not None and self.file_state() != self.seen

    def look_again(self, report: Progress | None = None) -> str:
        """Look at the table where that was not done since a restart, or its file has changed; a word on what is new.

        Columns that are still there keep their roles. A front that was searched before stays, of the rows of then:
        its job refuses the new file.
        """
        if self.draft is None or (self.profile is not None and not self.changed):
            return ""
        source, now = self.source, self.file_state()
        job = drafts.draft_job(self.draft, self.data_folder, self.edits, self.folder)
        profile = look_at(job.rows_source(), job.encoding)
        tell(report)
        with self.lock:
            if self.source != source:  # another table was opened meanwhile
                return ""
            words = ""
            if now != self.seen:
                words = f"{source} has changed on disk and was read again: {several(profile.total, 'row')}."
                self.draft, news = drafts.carry_over(self.draft, drafts.propose_draft(profile, source))
                words += news
            self.profile, self.seen, self._tables, self._rows = profile, now, {}, {}
            if words:
                self._changed()
            return words

    def bytes_kept(self) -> int:
        """What the files of this session take on disk."""
        return sum(file.stat().st_size for file in self.own.rglob("*") if file.is_file())

    @property
    def uploads(self) -> Path:
        """Where uploaded files lie."""
        return _make(self.own / "uploads")

    @property
    def edits(self) -> Path:
        """Where edited hierarchies lie."""
        return _make(self.own / "edited")

    @property
    def outbox(self) -> Path:
        """Where releases lie until they are downloaded."""
        return _make(self.own / "out")

    # -- the job -------------------------------------------------------------------------------------------------

    def take_draft(self, message: object) -> None:
        """Replace the draft by what the page sends; a late one and one that is no job are refused."""
        draft, before = drafts.check_draft(message), self.opened
        self.check_revision(message.get("revision") if isinstance(message, dict) else None)
        known = [column.facts.name for column in self.profile.columns] if self.profile else list(before["columns"])
        drafts.check_columns(draft, known)
        draft["data"] = {**draft["data"], "source": before["data"]["source"]}
        drafts.draft_job(draft, self.data_folder, self.edits, self.folder)
        if draft != before:
            self.take_step(draft)

    def check_revision(self, revision: object) -> None:
        """Raise unless a change was made to the job as it stands now."""
        if revision != self.revision:
            raise LateWrite(
                "The job was changed elsewhere since this page read it (in another tab, or by somebody with the same "
                "link), so this change was not taken. Load what is there now."
            )

    def _changed(self) -> None:
        """The draft is another one: count it, and keep it for a later server."""
        self.revision += 1
        self.keep_desk()

    def keep_desk(self) -> None:
        """Keep what is worked on, so that a later server can go on with it; a folder that is full or closed cannot."""
        if self.draft is None:
            return
        run = self.search
        desk = {
            "draft": self.draft,
            "revision": self.revision,
            "uploaded": self.uploaded,
            "data": self.data,
            "view": self.view,
            "run": None if run is None else run.id,
            "seen": self.seen,
        }
        with suppress(OSError, BadInput):
            keep_job(self.kept.own_desk(owner_of(self.id)), self.draft, self.edits, "session.json", desk)

    @property
    def draft_view(self) -> Draft | None:
        """The draft as the page has it, with its revision."""
        return None if self.draft is None else {**self.draft, "revision": self.revision}

    @property
    def job(self) -> Job:
        """The job as it stands."""
        return drafts.watch(drafts.draft_job(self.opened, self.data_folder, self.edits, self.folder), self.seen)

    def table(self) -> Table:
        """The rows by the roles of the job, before hierarchies; read once as long as the roles stay.

        Values that only the population has are among its leaves, so that an edited hierarchy has a place for them.
        """
        job = self.job
        schema, everybody = job.schema(), job.everybody
        key = repr((job.source, schema, job.missing, job.missing_values, job.person, job.form, everybody))
        if key not in self._tables:
            policy = job.missing or ("drop" if job.embedded else None)  # as the job itself reads the embedded table
            rows, wish = job.rows_source(), Wish(schema, policy, job.missing_values, None, "observed")
            table = draw_table(
                everybody, job.folder, wish, Admission(),
                lambda people: read_drawn(rows, wish, Admission(), people, job.encoding),
            )  # fmt: skip
            self._tables = {key: table}
        return self._tables[key]

    def kept_rows(self) -> KeptRows | None:
        """All cells, read once whatever the roles; none of a large table."""
        job, profile = self.job, self.profile
        if profile is None or profile.total * len(profile.columns) > CELLS:
            return None
        key = repr((job.source, self.seen, job.missing_values, job.form, job.encoding))
        if key not in self._rows:
            with open_view(job.rows_source(), job.encoding) as rows:
                self._rows = {key: keep_rows(rows, job.missing_values)}
        return self._rows[key]

    # -- hierarchies ---------------------------------------------------------------------------------------------

    def hierarchy(self, column: str) -> tuple[Hierarchy, Mapping[str, int]]:
        """The hierarchy of one quasi-identifier, and the rows of each value."""
        job, table = self.job, self.table()
        place = table.column(column)
        rows = dict(zip(table.hierarchies[place].leaves, table.leaf_rows[place].tolist(), strict=True))
        only = {column: job.columns[column]} if column in job.columns else {}
        hierarchy = replace(job, columns=only).hierarchies(table).get(column)
        if hierarchy is None:  # the one that the job will give it, beside those of the other columns
            bound = replace(table.bind(job.hierarchies(table)), bare=job.bare(table.schema))
            hierarchy = complete_hierarchies(bound).hierarchies[place]
        return hierarchy, rows

    def hierarchy_view(self, column: str) -> dict[str, Any]:
        """The hierarchy of one column for the page."""
        hierarchy, rows = self.hierarchy(column)
        edited = drafts.edited_name(self.opened["columns"].get(column, {}).get("hierarchy")) is not None
        return {**hierarchy_view(hierarchy, rows), "edited": edited, "can": self.shelf.can(column)}

    def edit_hierarchy(self, column: str, action: str, details: Mapping[str, Any]) -> dict[str, Any]:
        """Change a hierarchy; the job then names the changed one."""
        if "revision" in details:
            self.check_revision(details["revision"])
        hierarchy, _ = self.hierarchy(column)
        self.take_hierarchy(column, to_text(edit(hierarchy, action, details)))
        return {**self.hierarchy_view(column), "draft": self.draft_view, "stale": self.stale}

    def take_hierarchy(self, column: str, text: str) -> None:
        """Let the job name this hierarchy for a column; its file is called by what it holds, and never changes."""
        number = list(self.opened["columns"]).index(column)
        self.name_hierarchy(column, drafts.keep_edited(self.edits, number, column, text))

    def name_hierarchy(self, column: str, source: Any) -> None:
        """Let the job name this hierarchy for a column: a rule, a file, or nothing."""
        self.take_step(self.shelf.put(self.opened, column, source))

    def take_step(self, draft: Draft) -> None:
        """The draft after a change; runs keep the one they began with."""
        self.draft = draft
        self._changed()

    # -- runs ----------------------------------------------------------------------------------------------------

    @property
    def search(self) -> Searching | None:
        """The search whose front is explored: the last one that has found something."""
        last = self.attempt
        return last if last is not None and last.has_points else self.explored

    def searched(self) -> Searching:
        """That search, or a sentence that there is none yet."""
        if self.search is None:
            raise BadJob("There is no front yet. Start a search first.")
        return self.search

    def front(self) -> Front:
        """The front that is explored, read from its run where it is not in memory."""
        front = None if self.search is None else self.search.load()
        if front is None:
            last = self.attempt
            if last is not None and last.phase == "failed" and last.sentence:
                raise BadJob(f"The search has found no point yet. {last.sentence}")
            raise BadJob("There is no front yet. Start a search first.")
        return front

    @property
    def stale(self) -> bool:
        """Whether the job, or what its hierarchies hold, has changed since the search."""
        search = self.search
        return search is not None and self.draft is not None and search.content != self.content()

    def content(self) -> str:
        """A digest of all that a search would go by now."""
        if self.draft is None:
            return ""
        return drafts.draft_print(self.draft, self.data_folder, self.edits, self.folder)

    def runs(self) -> list[RunRecord]:
        """The runs that this session may see."""
        return self.kept.visible(owner_of(self.id), self.data if self.uploaded else "")

    def run_record(self, run: str) -> RunRecord:
        """One of them."""
        for record in self.runs():
            if record.id == run:
                return record
        raise BadInput(f"There is no run {run!r}. It may have been deleted; load the list again.")

    def delete_run(self, run: str) -> None:
        """Remove a run for good; one that is running must be stopped first."""
        record = self.run_record(run)
        if self.attempt is not None and self.attempt.id == run:
            if self.attempt.running:
                raise BadJob("This search is running. Stop it first.")
            self.attempt.keep = None
        self.kept.delete(record.id)

    # -- the page ------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether something is under way that closing would stop."""
        works = any(work.at_work for work in list(self.turns.works.values()))
        compares = self.models is not None and self.models.phase == "running"
        return works or compares or (self.attempt is not None and self.attempt.running)

    def run_view(self) -> dict[str, Any] | None:
        """Which run is explored."""
        search = self.search
        if search is None:
            return None
        name = ""
        with suppress(BadInput):  # not kept
            name = self.kept.get(search.id).name
        return {"id": search.id, "phase": search.phase, "name": name}

    def pulse(self) -> dict[str, Any]:
        """The little that tells a page whether something has changed: never waits for anything."""
        attempt, search = self.attempt, self.search
        return {
            "revision": self.revision,
            "search": None if attempt is None else attempt.version,
            "phase": None if attempt is None else attempt.shown_phase,
            "run": None if search is None else search.id,
            "changed": self.changed,
            "works": {name: work.view() for name, work in list(self.turns.works.items())},
        }

    def state(self) -> dict[str, Any]:
        """Everything the page needs to draw itself after a reload."""
        return {
            "id": self.id,
            "draft": self.draft_view,
            "profile": None if self.profile is None else self.profile.to_dict(),
            "uploaded": self.uploaded,
            "awaits": self.awaits,
            "view": self.view,
            "search": None if self.attempt is None else self.attempt.status(),
            "run": self.run_view(),
            "released": self.released,
            "stale": self.stale,
        }


def is_project(name: str) -> bool:
    """Whether a file is called as the projects of ARX are."""
    return name.lower().endswith(".deid")


def tell(report: Progress | None) -> None:
    """Say that something is about to change; whoever stopped the work hears it here at the latest."""
    if report is not None:
        report(0, 0)


def _make(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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
        last.keep = partial(_keep_run, session, last, _new_record(session, last))
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
    record = replace(session.run_record(last.id), content=longer.content, draft=session.draft)
    longer.keep = partial(_keep_run, session, longer, record)
    session.explored, session.attempt, session.released = last, longer, None
    return longer


def _new_record(session: Session, search: Searching) -> RunRecord:
    """The record of a run that begins, with the job it is started with."""
    draft = session.opened
    objectives, method = draft["search"].get("objectives", []), draft["search"].get("method", "exact")
    spoken = [spec if spec == "k" else plain_of(make(spec)).label for spec in objectives]
    return RunRecord(
        id=search.id,
        name=f"{'; '.join(spoken)}; {WAYS.get(method, method)}",
        began=round(time.time(), 3),
        phase="running",
        source=str(draft["data"]["source"]),
        uploaded=session.uploaded,
        data=session.data,
        owner=owner_of(session.id),
        content=search.content,
        draft=draft,
        status={},
    )


def _keep_run(session: Session, search: Searching, record: RunRecord) -> None:
    """Write a run as it stands, when it begins and when it ends; one that failed is not kept."""
    if search.phase == "failed":
        session.kept.delete(search.id)
        return
    status = search.status()
    with suppress(BadInput):  # not kept before
        now = session.kept.get(search.id)
        record = replace(record, name=now.name, note=now.note)
    record = replace(
        record,
        phase=search.phase if search.phase in ("done", "stopped") else "running",
        status={word: status[word] for word in SHOWN},
    )
    session.kept.keep(record, session.edits, search.job, search.front)
    session.keep_desk()


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
    same = same and not session.changed
    same = same and record.content == drafts.draft_print(draft, place, session.edits, session.folder)
    profile = session.profile if same else None
    session.start_with(place, draft, profile or look_at(job.rows_source(), job.encoding), record.data)
    _recall(session, record, job)


def _take_up(session: Session, desk: Mapping[str, Any]) -> None:
    """Go on with what a session of an earlier server was working on; rows that were uploaded are gone by then."""
    draft, seen = desk["draft"], desk.get("seen")
    if desk.get("uploaded"):
        session.awaits = str(draft["data"].get("source"))
        return  # the job and the runs come back with the file
    take_edits(session.kept.desk(owner_of(session.id)), draft, session.edits)
    drafts.draft_job(draft, session.folder, session.edits, session.folder)
    revision = desk.get("revision")  # goes on, so that a tab that slept meanwhile does not take another job for its own
    session.revision = revision if isinstance(revision, int) else 0
    session.start_with(session.folder, draft, None)  # looked at when the page asks: a large table takes its time
    session.seen = seen if isinstance(seen, str) else session.seen
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
    return drafts.watch(drafts.draft_job(record.draft, place, session.edits, session.folder))


def _recall(session: Session, record: RunRecord, job: Job) -> None:
    """Let the session stand where the run ended."""
    search = Searching(job, session.kept.checkpoint(record.id), record.id, record.content)
    search.recall(session.kept, record)
    search.keep = partial(_keep_run, session, search, replace(record, owner=owner_of(session.id)))
    session.attempt = search
    session.keep_desk()


def look_at(source: Any, encoding: str) -> Profile:
    """Look at a table that is not written meanwhile."""
    before, profile = drafts.state_of(source), inspect(source, encoding=encoding)
    if drafts.state_of(source) != before:
        raise BadTable("The file was written while it was read. Open it again when it is whole.")
    return profile


def look_apart(source: Any, encoding: str, report: Progress | None = None) -> Profile:
    """Look at a file that was uploaded, in a process of its own: whatever it holds, the server lives on."""
    file = file_of(source)
    return do_apart(partial(inspect, encoding=encoding), source, "" if file is None else file.name, report)


def do_apart(work: Callable[[Any], Answer], source: Any, shown: str, report: Progress | None) -> Answer:
    """Do something with a file of a stranger in a process of its own, which may be stopped."""
    with hearing(Hearing(stopped=report.stopped) if isinstance(report, Work) else None):
        return run_apart(work, source, shown=shown, memory=allowed_bytes(None), seconds=LOOKING)


class Sessions:
    """All sessions of a server, each in a folder of its own under one temporary folder."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder = folder.resolve()
        self.temporary = temporary
        self.kept = KeptRuns(self.folder)
        self._all: dict[str, Session] = {}
        self._closed: dict[str, str] = {}  # id -> why it was closed, and what is kept
        self._lock = threading.Lock()

    def make(self) -> Session:
        """A new session; beyond the most, the one unused longest is closed."""
        with self._lock:
            return self._add(secrets.token_urlsafe(16))

    def _add(self, name: str) -> Session:
        if len(self._all) >= MOST:
            idle = [session for session in self._all.values() if not session.busy]
            if not idle:
                raise BadJob(f"{MOST} tables are open, and each is being worked on. Close one of them first.")
            oldest = min(idle, key=lambda session: session.used)
            self._drop(oldest, f"it was unused longest, and at most {MOST} tables are open at once")
        self._closed.pop(name, None)
        session = Session(name, self.folder, _make(self.temporary / secrets.token_hex(8)), self.kept)
        self._all[name] = session
        return session

    def revive(self, name: str) -> Session:
        """A session by its id; one of an earlier server goes on with what it was working on."""
        desk = None if name in self._all else self.kept.desk_record(owner_of(name))
        if desk is None:
            return self.get(name)
        with self._lock:
            session = self._all.get(name) or self._add(name)
        with session.lock:
            if session.draft is None:
                try:
                    _take_up(session, desk)
                except BaseException:
                    self._drop(session)
                    raise
        return session

    def get(self, name: str, *, used: bool = True) -> Session:
        """A session by its id; a page that only asks what is new does not use it."""
        session = self._all.get(name)
        if session is None and name in self._closed:
            raise TableClosed(self._closed[name])
        if session is None:
            raise SessionOver("This session is over: the server was started anew. Reload the page to begin another.")
        if used:
            session.used = time.monotonic()
        return session

    def list_tables(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The tables of these sessions, open or kept: those that a page knows, and of nobody else."""
        return [line for name in dict.fromkeys(names) if (line := self._table_line(name)) is not None]

    def _table_line(self, name: str) -> dict[str, Any] | None:
        session = self._all.get(name)
        desk = self.kept.desk_record(owner_of(name)) if session is None else None
        draft = session.draft if session is not None else None if desk is None else desk["draft"]
        if draft is None:
            return None
        search = None if session is None else session.attempt
        return {
            "id": name,
            "source": str(draft.get("data", {}).get("source")),
            "uploaded": bool((desk or {}).get("uploaded")) if session is None else session.uploaded,
            "open": session is not None,
            "running": search is not None and search.running,
            "run": None if session is None else session.run_view(),
        }

    def close_table(self, name: str) -> None:
        """Stop what a session does and free what it takes; its job and its runs are kept."""
        with self._lock:
            self._drop(self.get(name), "you closed it, here or in another tab")

    def _drop(self, session: Session, why: str = "") -> None:
        if why and session.draft is not None:
            rows = "; its rows were dropped on the page and are gone: drop the file again" if session.uploaded else ""
            self._closed[session.id] = (
                f"{session.draft['data']['source']} was closed: {why}. Its job and its runs are kept{rows}. Reload the "
                "page to open it again."
            )
            while len(self._closed) > MOST_CLOSED:
                self._closed.pop(next(iter(self._closed)))
        if session.attempt is not None:
            session.attempt.cancel()
        if session.models is not None:
            session.models.cancel()
        self._all.pop(session.id, None)
        shutil.rmtree(session.own, ignore_errors=True)

    def close(self) -> None:
        """Stop every search and remove every file."""
        with self._lock:
            for session in list(self._all.values()):
                self._drop(session)

    def files(self) -> list[dict[str, Any]]:
        """Data and job files of the working folder."""
        files = []
        for name, place in files_in(self.folder):
            kind = "job" if name.endswith(".toml") else "data" if name.lower().endswith(DATA_ENDS) else ""
            kind = "project" if is_project(name) else kind
            if kind:
                files.append({"name": name, "kind": kind, "bytes": place.stat().st_size})
        return files[:500]
