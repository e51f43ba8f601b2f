"""Runs that outlive the server: each with its job, its hierarchies, its front and its time, in a hidden folder.

They lie in the working folder, or where that cannot be written in the user's data folder, readable by their owner
alone. The rows of a table are never among them: a run is opened again over the table it was made of.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from kpareto.atomic import whole, write_whole
from kpareto.errors import BadInput
from kpareto.faces.web.drafts import Draft, edited_files
from kpareto.faces.web.files import inside
from kpareto.fronts.front import Front, brief_front, load_front
from kpareto.fronts.json_file import front_data
from kpareto.fronts.problem import Problem
from kpareto.jobs.front import read_kept, refuse_new_columns, write_kept
from kpareto.jobs.job import Job
from kpareto.strict import FileKind, anything, check_shape, map_of, number, read_arrays, read_json, record, text, truth

HIDDEN = ".kpareto"
RECORD, FRONT, CLOUD = "run.json", "front.json", "cloud.npz"
RUN = FileKind("The kept run", "Delete it on the page, and search again.")
PICTURE = FileKind("The picture of the kept run", "Delete the run on the page, and search again.")
LONGEST_NAME, LONGEST_NOTE = 80, 500
_SHAPE = record(
    {
        "id": text,
        "name": text,
        "began": number(0),
        "phase": text,
        "source": text,
        "uploaded": truth,
        "data": text,
        "owner": text,
        "content": text,
        "draft": map_of(map_of(anything)),
        "status": map_of(anything),
    },
    {"note": text},
)


@dataclass(frozen=True)
class RunRecord:
    """What is known of a run without its table."""

    id: str
    name: str  # as people call it
    began: float  # seconds since 1970
    phase: str  # running, done, stopped
    source: str  # the table, as its job names it
    uploaded: bool
    data: str  # digest of an uploaded table; empty for one of the folder
    owner: str  # digest of the session that made it
    content: str  # digest of all that the search went by
    draft: Draft
    status: Mapping[str, Any]  # method, objectives, points, seconds, sentence
    note: str = ""  # what people wrote about it


def owner_of(session: str) -> str:
    """What stands for a session in a file; the session itself is a key, and is written nowhere."""
    return sha256(session.encode()).hexdigest()[:32]


def runs_folder(working: Path) -> Path:
    """Where runs over a working folder are kept: in it, or in the user's data folder where it cannot be written."""
    if os.access(working, os.W_OK):
        return working / HIDDEN
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "kpareto" / sha256(str(working).encode()).hexdigest()[:16]


def own_folder(root: Path, *below: str) -> Path:
    """A folder below the root, made for its owner alone from the root on; one that is a link is refused."""
    root.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = root
    for name in ("", *below):
        place = place / name
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
        refuse_link(place)
        if place.stat().st_mode & 0o077:
            with suppress(OSError):  # somebody else's
                place.chmod(0o700)
    return place


def refuse_link(place: Path) -> None:
    """Raise where a folder of ours is a link, which could lead to somebody else's."""
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise BadInput(
            f"{str(place)!r} is a link or no folder, and what is kept there is for its owner alone. Remove it, or "
            "start the page in another folder."
        )


def keep_job(folder: Path, draft: Draft, edits: Path, record_file: str, data: Mapping[str, Any]) -> None:
    """Write a record with the edited hierarchies of its draft beside it, for its owner alone."""
    for name in edited_files(draft):
        target = inside(folder, name)
        if not target.exists():
            write_whole(target, inside(edits, name).read_text(encoding="utf-8"), private=True)
    _write(folder / record_file, data)


def _write(file: Path, data: Mapping[str, Any]) -> None:
    write_whole(file, json.dumps(data, ensure_ascii=False) + "\n", private=True)


def take_edits(folder: Path, draft: Draft, edits: Path) -> None:
    """Bring the edited hierarchies of a kept draft back."""
    for name in edited_files(draft):
        shutil.copyfile(inside(folder, name), inside(edits, name))


class KeptRuns:
    """The runs over one working folder."""

    def __init__(self, working: Path) -> None:
        self.root = runs_folder(working)

    def folder(self, run: str) -> Path:
        """The folder of a run."""
        if not re.fullmatch(r"[0-9a-f]{16}", run):
            raise BadInput(f"There is no run {run!r}. Choose one from the list.")
        return self._below("runs", run)

    def _below(self, *names: str) -> Path:
        """A folder below the root, none of which on the way may be a link."""
        place = self.root
        for name in ("", *names):
            place = place / name
            refuse_link(place)
        return place

    def keep(self, run: RunRecord, edits: Path, job: Job, front: Front | None) -> None:
        """Write a run; the front first, so that a run that says it has one has it."""
        folder = own_folder(self.root, "runs", self.folder(run.id).name)
        if front is not None and len(front):
            write_kept(folder / FRONT, job, front, brief_front(front))
            cloud = np.zeros((0, len(front.names))) if front.cloud is None else front.cloud
            floors = np.zeros((0, len(front.names))) if front.floors is None else front.floors
            with whole(folder / CLOUD, private=True) as part, part.open("wb") as file:
                np.savez(file, cloud=cloud, floors=floors)
        keep_job(folder, run.draft, edits, RECORD, vars(run))

    def get(self, run: str) -> RunRecord:
        """A run by its id."""
        file = self.folder(run) / RECORD
        if not file.is_file():
            raise BadInput(f"There is no run {run!r}. It may have been deleted; load the list again.")
        data = check_shape(read_json(file, RUN, anything), RUN, _SHAPE, file)
        return RunRecord(**{name: data[name] for name in RunRecord.__dataclass_fields__ if name in data})

    def all(self) -> list[RunRecord]:
        """Every run that can be read, the youngest first."""
        runs = []
        for folder in (self.root / "runs").glob("*"):
            with suppress(BadInput):  # a damaged one is no reason to hide the others
                runs.append(self.get(folder.name))
        return sorted(runs, key=lambda run: (-run.began, run.id))

    def visible(self, owner: str, data: str) -> list[RunRecord]:
        """The runs that a session may see: over tables of the folder, its own, and over the table it has uploaded."""
        return [run for run in self.all() if not run.uploaded or run.owner == owner or (data and run.data == data)]

    def rename(self, run: str, name: str, note: str | None = None) -> RunRecord:
        """Another name for a run, and another note where one is given."""
        record, wanted = self.get(run), " ".join(name.split())
        if not 0 < len(wanted) <= LONGEST_NAME:
            raise BadInput(f"A run needs a name of 1 to {LONGEST_NAME} letters, and {len(wanted)} were given.")
        about = record.note if note is None else note.strip()
        if len(about) > LONGEST_NOTE:
            raise BadInput(f"A note has at most {LONGEST_NOTE} letters, and {len(about)} were given.")
        renamed = replace(record, name=wanted, note=about)
        _write(self.folder(run) / RECORD, vars(renamed))
        return renamed

    def delete(self, run: str) -> None:
        """Remove a run for good."""
        shutil.rmtree(self.folder(run), ignore_errors=True)

    def checkpoint(self, run: str) -> Path:
        """Where a search keeps what it knows."""
        return own_folder(self.root, "runs", self.folder(run).name) / "checkpoint.npz"

    def has_front(self, run: str) -> bool:
        """Whether a run has found something."""
        return (self.folder(run) / FRONT).is_file()

    def points(self, run: str) -> dict[str, Any]:
        """The numbers of a run's front, for a picture; its table is not needed."""
        data = front_data(_read_front(self.folder(run) / FRONT)[0])
        names = [objective["name"] for objective in data["objectives"]]
        return {
            "objectives": [
                {"name": objective["name"], "better": objective["better"]} for objective in data["objectives"]
            ],
            "values": [
                [None if isinstance(value := point["values"][name], str) else float(value) for name in names]
                for point in data["points"]
            ],
            "complete": data["search"]["complete"],
        }

    def load(self, run: str, job: Job, problem: Problem) -> Front | None:
        """The front of a run, each point counted again over its table; None where it has found none.

        A column that the table has got since, and that would leave as it is, is refused as on the command line.
        """
        folder = self.folder(run)
        if not self.has_front(run):
            return None
        data, columns = _read_front(folder / FRONT)
        front = load_front(data, problem)
        refuse_new_columns(columns, job, problem.table.columns)
        if not (folder / CLOUD).is_file():
            return front
        arrays = read_arrays(folder / CLOUD, PICTURE)
        cloud, floors = arrays.get("cloud"), arrays.get("floors")
        shape = front.numbers.values.shape
        if cloud is None or floors is None or cloud.ndim != 2 or cloud.shape[1] != shape[1]:
            return front
        return replace(front, cloud=cloud, floors=floors if floors.shape == shape else None)

    # -- what a session was working on ---------------------------------------------------------------------------

    def desk(self, owner: str) -> Path:
        """Where the job that a session was working on is kept."""
        return self._below("sessions", owner)

    def own_desk(self, owner: str) -> Path:
        """The same, made for its owner alone."""
        return own_folder(self.root, "sessions", owner)

    def desk_record(self, owner: str) -> Mapping[str, Any] | None:
        """What a session of an earlier server was working on, if that is known."""
        try:
            file = self.desk(owner) / "session.json"
            if not file.is_file():
                return None
            data = read_json(file, RUN, anything)
        except BadInput:
            return None
        return data if isinstance(data, dict) and isinstance(data.get("draft"), dict) else None


def _read_front(file: Path) -> tuple[Mapping[str, Any], object]:
    """A kept front, and the columns that its table had; earlier versions wrote both as one."""
    kept = read_kept(file)
    if kept is not None:
        return kept["front"], kept.get("columns")
    old = front_data(file)
    return old, old.get("columns")
