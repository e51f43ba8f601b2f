"""What the server remembers for one browser: its data, job, search, front and files; nothing is shared between two."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kpareto.builders import to_text
from kpareto.errors import BadInput, BadJob
from kpareto.frames import read
from kpareto.hierarchy import Hierarchy
from kpareto.inspect import Profile, inspect
from kpareto.job import Job
from kpareto.table import Table
from kpareto.web.drafts import (
    EDITED,
    Draft,
    adult_draft,
    checked_draft,
    draft_job,
    draft_text,
    loaded_draft,
    proposed_draft,
)
from kpareto.web.edits import edited, hierarchy_view
from kpareto.web.guard import inside, plain_name
from kpareto.web.searching import Searching

MOST = 40  # sessions; the one that was idle longest goes
DATA_ENDS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".parq", ".pq")


@dataclass(eq=False)
class Session:
    """One person's work."""

    id: str
    folder: Path  # the working folder
    own: Path  # a folder of this session alone, removed with it
    lock: threading.RLock = field(default_factory=threading.RLock)
    used: float = field(default_factory=time.monotonic)
    data_folder: Path = field(default_factory=Path)  # where the data lies: the working folder, or the uploads
    uploaded: bool = False
    profile: Profile | None = None
    draft: Draft | None = None
    search: Searching | None = None
    view: dict[str, Any] = field(default_factory=dict)  # what the page shows: tab, axes, chosen point, pins
    released: dict[str, Any] | None = None
    _tables: dict[str, Table] = field(default_factory=dict)

    # -- data ----------------------------------------------------------------------------------------------------

    def open_data(self, name: str, encoding: str = "utf-8") -> None:
        """Look at a file of the working folder, or at the embedded Adult table."""
        if name == "adult":
            from kpareto.datasets import adult

            profile = inspect(adult("train"))
            self._start(self.folder, adult_draft(profile), profile, uploaded=False)
            return
        place = inside(self.folder, name)
        profile = inspect(place, encoding=encoding)
        self._start(self.folder, proposed_draft(profile, name), profile, uploaded=False)

    def open_upload(self, name: str, encoding: str = "utf-8") -> None:
        """Look at a file that was dropped on the page."""
        profile = inspect(inside(self.uploads, name), encoding=encoding)
        self._start(self.uploads, proposed_draft(profile, name), profile, uploaded=True)

    def open_job(self, text: str, name: str) -> None:
        """Take a job file over; its data must be in the working folder or have been uploaded."""
        draft = loaded_draft(text, name)
        source = str(draft["data"]["source"])
        uploaded = source != "adult" and not inside(self.folder, source).exists()
        place = self.uploads if uploaded else self.folder
        if uploaded and not inside(self.uploads, source).exists():
            raise BadJob(
                f"The job reads {source!r}, which is not in the working folder. Put it there, or drop it on this page "
                "first and then load the job again."
            )
        draft_job(draft, place, self.edits)
        job_data: object = draft_job(draft, place, self.edits).rows_source()
        self._start(place, draft, inspect(job_data, encoding=draft["data"].get("encoding", "utf-8")), uploaded=uploaded)

    def _start(self, place: Path, draft: Draft, profile: Profile, *, uploaded: bool) -> None:
        if self.search is not None:
            self.search.cancel()
        self.data_folder, self.uploaded = place, uploaded
        self.draft, self.profile, self.search, self.released = draft, profile, None, None
        self.view = {}
        self._tables = {}

    @property
    def uploads(self) -> Path:
        """Where uploaded files lie."""
        return _made(self.own / "uploads")

    @property
    def edits(self) -> Path:
        """Where edited hierarchies lie."""
        return _made(self.own / "edited")

    @property
    def outbox(self) -> Path:
        """Where releases lie until they are downloaded."""
        return _made(self.own / "out")

    # -- the job -------------------------------------------------------------------------------------------------

    def take_draft(self, given: object) -> None:
        """Replace the draft by what the page sends; a draft that is no job is refused and the old one stays."""
        draft = checked_draft(given)
        if self.draft is None:
            raise BadJob("There is no data yet. Open a file first.")
        draft["data"] = {**draft["data"], "source": self.draft["data"]["source"]}
        draft_job(draft, self.data_folder, self.edits)
        self.draft = draft

    @property
    def job(self) -> Job:
        """The job as it stands."""
        if self.draft is None:
            raise BadJob("There is no data yet. Open a file first.")
        return draft_job(self.draft, self.data_folder, self.edits)

    def table(self) -> Table:
        """The rows by the roles of the job, before hierarchies; read once as long as the roles stay."""
        job = self.job
        schema = job.schema()
        key = repr((job.source, schema, job.missing, job.missing_values, job.person, job.encoding))
        if key not in self._tables:
            found = read(job.rows_source(), schema, job.missing, job.missing_values, None, "observed", job.encoding)
            self._tables = {key: found}
        return self._tables[key]

    # -- hierarchies ---------------------------------------------------------------------------------------------

    def hierarchy(self, column: str) -> tuple[Hierarchy, Mapping[str, int]]:
        """The hierarchy of one quasi-identifier, and the rows of each value."""
        job, table = self.job, self.table()
        place = table.column(column)
        rows = dict(zip(table.hierarchies[place].leaves, table.leaf_rows[place].tolist(), strict=True))
        only = {column: job.columns[column]} if column in job.columns else {}
        from dataclasses import replace

        found = replace(job, columns=only).hierarchies(table).get(column, table.hierarchies[place])
        return found, rows

    def hierarchy_view(self, column: str) -> dict[str, Any]:
        """The hierarchy of one column for the page."""
        found, rows = self.hierarchy(column)
        source = (self.draft or {})["columns"].get(column, {}).get("hierarchy")
        changed = isinstance(source, str) and source.startswith(EDITED)
        return {**hierarchy_view(found, rows), "edited": changed}

    def edit_hierarchy(self, column: str, action: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change a hierarchy; the job then names the changed one."""
        found, _ = self.hierarchy(column)
        text = to_text(edited(found, action, given))
        number = list((self.draft or {})["columns"]).index(column)
        file = f"{number}-{plain_name(column, 'column')}.csv"
        inside(self.edits, file).write_text(text, encoding="utf-8", newline="")
        if self.draft is not None:
            self.draft["columns"][column]["hierarchy"] = EDITED + file
        return self.hierarchy_view(column)

    # -- the page ------------------------------------------------------------------------------------------------

    @property
    def stale(self) -> bool:
        """Whether the job has changed since the search."""
        return self.search is not None and self.draft is not None and self.search.text != draft_text(self.draft)

    def state(self) -> dict[str, Any]:
        """Everything the page needs to draw itself after a reload."""
        return {
            "id": self.id,
            "draft": self.draft,
            "profile": None if self.profile is None else self.profile.to_dict(),
            "uploaded": self.uploaded,
            "view": self.view,
            "search": None if self.search is None else self.search.status(),
            "released": self.released,
            "stale": self.stale,
        }


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Sessions:
    """All sessions of a server, each in a folder of its own under one temporary folder."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder = folder.resolve()
        self.temporary = temporary
        self._all: dict[str, Session] = {}
        self._lock = threading.Lock()

    def make(self) -> Session:
        """A new session; beyond the most, the one idle longest is dropped."""
        with self._lock:
            if len(self._all) >= MOST:
                self._drop(min(self._all.values(), key=lambda each: each.used))
            name = secrets.token_urlsafe(16)
            made = Session(name, self.folder, _made(self.temporary / secrets.token_hex(8)))
            self._all[name] = made
            return made

    def get(self, name: str) -> Session:
        """A session by its id."""
        found = self._all.get(name)
        if found is None:
            raise BadInput("This session is over: the server was started anew. Reload the page to begin another.")
        found.used = time.monotonic()
        return found

    def _drop(self, session: Session) -> None:
        if session.search is not None:
            session.search.cancel()
        self._all.pop(session.id, None)
        shutil.rmtree(session.own, ignore_errors=True)

    def close(self) -> None:
        """Stop every search and remove every file."""
        with self._lock:
            for session in list(self._all.values()):
                self._drop(session)

    def files(self) -> list[dict[str, Any]]:
        """Data and job files of the working folder, two folders deep, hidden ones left out."""
        found = []
        for place in sorted([*self.folder.glob("*"), *self.folder.glob("*/*")]):
            name = place.relative_to(self.folder).as_posix()
            kind = "job" if name.endswith(".toml") else "data" if name.lower().endswith(DATA_ENDS) else ""
            hidden = any(part.startswith(".") for part in Path(name).parts)
            if kind and not hidden and place.is_file() and place.resolve().is_relative_to(self.folder):
                found.append({"name": name, "kind": kind, "bytes": place.stat().st_size})
            if len(found) >= 500:
                break
        return found
