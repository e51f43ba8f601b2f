"""The front that a job has led to, kept for later: by the command line beside the job, by the page in its run.

It is used only while the job is unchanged: the file names a digest of the search, and the front in it one of all that
decides the numbers, rows and hierarchies among them. Every point is counted again when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from kpareto.atomic import write_whole
from kpareto.errors import BadInput, BadJob, Remedy
from kpareto.fronts.front import Front, load_front
from kpareto.fronts.json_file import FRONT
from kpareto.fronts.problem import Problem
from kpareto.jobs.front import plan_of
from kpareto.jobs.job import Job
from kpareto.strict import anything, read_json
from kpareto.tables.spelling import spell_infinite

MARK = "kpareto kept front"
FORMAT = 1


def front_file(path: str | Path) -> Path | None:
    """Where the front of a job file is kept: beside it. None for the word adult, which has no file."""
    place = Path(path)
    return place.parent / f"{place.stem}.front.json" if place.suffix.lower() == ".toml" else None


def keep_front(path: str | Path, job: Job, front: Front) -> Path | None:
    """Keep the front of a search that is done, for its owner alone; a file of somebody else's stays as it is."""
    file = front_file(path)
    if file is None or front.provenance.stopped or (file.exists() and read_kept(file) is None):
        return None
    with suppress(OSError, BadInput):  # a folder that cannot be written costs a second search, and nothing else
        write_kept(file, job, front, front.to_dict())
        return file
    return None


def write_kept(file: Path, job: Job, front: Front, data: Mapping[str, Any]) -> None:
    """Write a front, as this data, with its search and the columns of its table, for its owner alone."""
    columns = list(front.problem.table.columns)
    kept = {MARK: FORMAT, "search": _search_print(job), "columns": columns, "front": data}
    write_whole(file, json.dumps(spell_infinite(kept), ensure_ascii=False, allow_nan=False) + "\n", private=True)


def recall_front(path: str | Path, job: Job, problem: Problem) -> Front | None:
    """The kept front of a job, None where there is none, or one of a job that has changed since."""
    file = front_file(path)
    data = None if file is None else read_kept(file)
    if data is None or data.get("search") != _search_print(job):
        return None
    try:
        return load_front(data["front"], problem)
    except BadInput:  # other rows, columns, limits or another version: the search is done anew
        return None


def kept_columns(path: str | Path) -> object:
    """The columns that the table had when the kept front of a job was searched, if the file tells."""
    file = front_file(path)
    return ((None if file is None else read_kept(file)) or {}).get("columns")


def refuse_new_columns(known: object, job: Job, columns: Sequence[str]) -> None:
    """Raise where a table has a column that it had not when a kept front was searched, and the job says nothing of it.

    ``known`` is what the file of the front has as the columns of then.
    """
    if not isinstance(known, list) or not known:  # a file of an earlier version, or rows that are no file's
        return
    persons = job.schema().persons
    new = [name for name in columns if name not in known and name not in job.columns and name not in persons]
    if new:
        several = len(new) > 1
        raise BadJob(
            f"The table has {'columns' if several else 'a column'} {', '.join(map(repr, new))} that it had not when "
            "the front was searched.",
            remedy=Remedy(
                "give-new-role",
                f"Give {'each' if several else 'it'} a role under [columns] of the job, or search again with: kpareto "
                "front JOB.",
            ),
        )


def read_kept(file: Path) -> Mapping[str, Any] | None:
    """The data of a kept front; None where the file is none, or is not ours."""
    if not file.is_file():
        return None
    try:
        data = read_json(file, FRONT, anything)
    except BadInput:
        return None
    whole = isinstance(data, dict) and data.get(MARK) == FORMAT and isinstance(data.get("front"), dict)
    return data if whole else None


def _search_print(job: Job) -> str:
    """A digest of what ``[search]`` says; what decides the numbers is in the digest of the front itself."""
    plan = plan_of(job)
    settings = (
        plan.method,
        str(plan.space),
        plan.budget,
        plan.seed,
        sorted(plan.settings.items(), key=lambda each: each[0]),
    )
    return sha256(repr(settings).encode()).hexdigest()
