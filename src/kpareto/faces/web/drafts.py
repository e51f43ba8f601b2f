"""A job as the page edits it: plain data in the shape of the job file, checked by the same words as the file."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from kpareto.atomic import write_whole
from kpareto.engines import is_address
from kpareto.errors import BadInput, BadJob, did_you_mean, shorten
from kpareto.faces.web.files import inside, plain_name
from kpareto.jobs.arx.project import ArxProject
from kpareto.jobs.inspect import Profile, job_text
from kpareto.jobs.job import Job
from kpareto.jobs.parse import JOB_FILE, PARTS, default_rule, parse_job
from kpareto.releases.release import source_state
from kpareto.strict import parse_toml, toml_key, toml_lines
from kpareto.tables.schema import DECIDE, Schema

Draft = dict[str, Any]
WATCHED = 3600.0  # seconds that a search may take, by the estimate, before the page proposes a time to end at
EDITED = "edited/"  # hierarchies changed on the page; they live in the session until the job is saved


def propose_draft(profile: Profile, source: str) -> Draft:
    """The draft that ``kpareto inspect`` would write as a job, with two things left open.

    Whoever watches a search sees how far it is and can stop it, so it goes on until nothing is missing. What becomes of
    rows without a value follows the roles, which are given after this.
    """
    draft = parse_toml(job_text(profile, source), JOB_FILE)
    draft["data"].pop("missing", None)
    if profile.task.seconds <= WATCHED:
        draft["search"].pop("seconds", None)
    return {part: draft.get(part, {}) for part in PARTS}


def adult_draft(profile: Profile) -> Draft:
    """The embedded Adult table with the hierarchies and roles of its default preset."""
    from kpareto.tables.adult import adult_schema

    schema = adult_schema("default")
    draft = propose_draft(profile, "adult")
    draft["data"] = {"source": "adult", "preset": "default"}
    draft["columns"] = {
        column.facts.name: {"role": _adult_role(schema, column.facts.name, column.proposal.role)}
        for column in profile.columns
    }
    draft["search"] = {"method": "exact", "space": "lattice", "objectives": ["k", "glm"], "seed": 1}
    draft["limits"] = {}
    draft["suppression"] = {"rule": default_rule(), "limit": 0.01}
    draft["release"] = {"choose": "k=5", "target": "adult-anon.csv"}
    return draft


def _adult_role(schema: Schema, name: str, proposed: str) -> str:
    if name in schema.quasi:
        return "quasi-identifier"
    if name in schema.sensitive:
        return "sensitive"
    return "identifier" if proposed == "identifier" else DECIDE  # education-num and relationship tell what others hide


def load_draft(text: str, name: str) -> Draft:
    """The draft in a job file; what is wrong with the file is said as the command line says it."""
    parse_job(text, Path(), name)
    raw = parse_toml(text, JOB_FILE, name)
    return {part: raw.get(part, {}) for part in PARTS}


def project_draft(project: ArxProject, job: Path, uploads: Path, edits: Path) -> Draft:
    """The draft of a project of ARX that was unpacked: its tables become uploads, its hierarchies edited ones."""
    draft = load_draft(job.read_text(encoding="utf-8"), job.name)
    for part, ending in (("data", ""), ("population", "-population")):
        if "source" in draft[part]:
            name = f"{plain_name(project.folder, 'project')}{ending}.csv"
            (job.parent / draft[part]["source"]).replace(uploads / name)
            draft[part]["source"] = name
    for number, (name, column) in enumerate(draft["columns"].items()):
        if isinstance(column.get("hierarchy"), str):
            text = (job.parent / column["hierarchy"]).read_text(encoding="utf-8")
            column["hierarchy"] = keep_edited(edits, number, name, text)
    return draft


def keep_edited(edits: Path, number: int, column: str, text: str) -> str:
    """Write an edited hierarchy; the name by which a draft has it tells what it holds, so its file never changes."""
    digest = sha256(text.encode()).hexdigest()[:12]
    file = f"{number}-{plain_name(column, 'column')}-{digest}.csv"
    inside(edits, file).write_text(text, encoding="utf-8", newline="")
    return EDITED + file


def edited_name(source: object) -> str | None:
    """The file of a hierarchy that was edited on the page; None for any other source."""
    return source.removeprefix(EDITED) if isinstance(source, str) and source.startswith(EDITED) else None


def check_draft(message: object) -> Draft:
    """A draft as the page sends it: the parts of a job and nothing else."""
    if not isinstance(message, dict) or not all(isinstance(message.get(part, {}), dict) for part in PARTS):
        raise BadJob("What was sent is no job: it needs the parts " + ", ".join(PARTS) + ".")
    draft = {part: _without_empty(message.get(part, {})) for part in PARTS}
    draft["columns"] = {name: _without_empty(column) for name, column in draft["columns"].items()}
    return draft


def _without_empty(part: object) -> Any:
    return {key: value for key, value in part.items() if value is not None} if isinstance(part, dict) else part


def check_columns(draft: Draft, there: Collection[str]) -> None:
    """Raise where a draft names columns that the table does not have, so that no role lands on another table."""
    unknown = [name for name in draft["columns"] if name not in there]
    if unknown:
        raise BadJob(
            f"The table has no column {', '.join(repr(name) for name in unknown[:5])}. "
            f"{did_you_mean(unknown[0], there)}Its columns are: {shorten(list(there))}."
        )


def carry_over(draft: Draft, proposal: Draft) -> tuple[Draft, str]:
    """The draft for a file that has changed, and what is new or gone: columns that are still there keep their roles.

    A part of the job that names a column that is gone is proposed anew, and said.
    """
    before, there = draft["columns"], proposal["columns"]
    gone, new = ([name for name in one if name not in other] for one, other in ((before, there), (there, before)))
    named = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in gone) or "(?!)")
    anew = [part for part in PARTS if part not in ("data", "columns") and named.search(repr(draft.get(part)))]
    kept = {**draft, **{part: proposal[part] for part in anew}}
    kept["columns"] = {name: before.get(name, column) for name, column in there.items()}
    if draft["data"].get("person") in gone:
        anew, kept["data"] = [*anew, "person"], {key: value for key, value in draft["data"].items() if key != "person"}
    words = f" It no longer has {shorten([repr(name) for name in gone])}." if gone else ""
    if anew:
        words += f" Parts of the job that named such a column are proposed anew: {', '.join(anew)}."
    if new:
        them = "it" if len(new) == 1 else "them"
        words += f" It has {shorten([repr(name) for name in new])} now: look at what is proposed for {them}."
    return kept, words


def draft_text(draft: Draft) -> str:
    """The draft as a job file."""
    lines = ["# Made with kpareto serve."]
    for part in PARTS:
        if part == "columns":
            for name, column in draft["columns"].items():
                lines += ["", f"[columns.{toml_key(name)}]"]
                lines += toml_lines(column)
        elif draft.get(part):  # a session of an earlier version has no [use]
            lines += ["", f"[{part}]"]
            lines += toml_lines(draft[part])
    return "\n".join([*lines, ""])


def draft_job(draft: Draft, folder: Path, edited: Path, working: Path | None = None) -> Job:
    """The job of a draft; no file outside the folder (or the session's own edits) is ever named by it.

    The table of a population lies beside the data or in the working folder, where that is another one.
    """
    job = parse_job(draft_text(draft), folder, "the job")
    if not job.embedded:
        inside(folder, job.source)
    if job.everybody is not None and job.everybody.source is not None:
        beside = inside(folder, job.everybody.source).exists()  # as in a project of ARX that was unpacked
        place = _place_people(job.everybody.source, folder if beside else working or folder)
        job = replace(job, everybody=replace(job.everybody, source=str(place)))
    columns = {}
    for name, column in job.columns.items():
        source = column.hierarchy
        if (name_of_edit := edited_name(source)) is not None:
            source = str(inside(edited, name_of_edit))
        else:
            for file in named_files(source):
                inside(folder, file)
            if isinstance(source, Mapping) and isinstance(source.get("file"), str):
                source = {**source, "file": str(inside(folder, source["file"]))}
        columns[name] = replace(column, hierarchy=source)
    return replace(job, columns=columns)


class FileChanged(BadInput):
    """A file that is no longer the one whose rows were read."""


@dataclass(frozen=True, repr=False)
class WatchedJob(Job):
    """A job that reads its file only as long as it is the one that was looked at: nothing mixes two of them."""

    seen: str = ""  # the state of the file

    def rows_source(self) -> Any:
        """The file, if it is still that one."""
        source = super().rows_source()
        if state_of(source) != self.seen:
            raise FileChanged(
                f"{self.source!r} has changed on disk since its rows were read, and the two are never mixed. Read the "
                "file again and search again, or put the old file back."
            )
        return source


def watch(job: Job, seen: str | None = None) -> WatchedJob:
    """The job, tied to its file as it was seen, or as it is now."""
    values = {setting.name: getattr(job, setting.name) for setting in fields(Job)}
    return WatchedJob(**values, seen=state_of(job.rows_source()) if seen is None else seen)


def state_of(source: object) -> str:
    """What tells whether a file was written meanwhile, as text."""
    return repr(source_state(source))


def draft_print(draft: Draft, folder: Path, edited: Path, working: Path) -> str:
    """A digest of all that a search goes by: what the job says but for its release and use, and what its files hold.

    Hierarchies count by their content, however their files are called; the rows by the size and the age of their file.
    """
    parts = [draft_text({**draft, "release": {}, "use": {}})]
    for column in draft["columns"].values():
        source = column.get("hierarchy") if isinstance(column, dict) else None
        if (name := edited_name(source)) is not None:
            parts.append(_content(inside(edited, name)))
        elif source is not None:
            parts += [_content(inside(folder, file)) for file in named_files(source)]
    for place, name in ((folder, draft["data"].get("source")), (working, draft["population"].get("source"))):
        file = inside(place, str(name)) if name and not is_address(str(name)) else None
        if file is not None and file.exists():
            about = file.stat()
            parts.append(f"{about.st_size} {about.st_mtime_ns}")
    return sha256("\0".join(parts).encode()).hexdigest()


def _content(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else "none"


def edited_files(draft: Draft) -> list[str]:
    """The names of the edited hierarchies that a draft goes by."""
    columns = (column for column in draft["columns"].values() if isinstance(column, dict))
    return [name for column in columns if (name := edited_name(column.get("hierarchy"))) is not None]


def _place_people(source: str, folder: Path) -> Path:
    """The file of a population in the folder; neither a database nor a file elsewhere is read for a page."""
    if is_address(source):
        raise BadJob(
            "The population of this job is in a database, which the page does not read. Choose a file of the working "
            "folder, or run the job on the command line."
        )
    place = inside(folder, source)
    if not place.exists():
        raise BadJob(f"There is no file {source!r} with the population in the working folder. Put it there first.")
    return place


def named_files(source: object) -> Iterator[str]:
    """The files a hierarchy of a job names."""
    if isinstance(source, str):
        if "\n" in source or source.lstrip().startswith("{"):
            raise BadInput("A hierarchy in a job is a file name or an inline rule, not the text of a file.")
        yield source
    elif isinstance(source, Mapping) and "file" in source:
        yield str(source["file"])


def write_job_files(draft: Draft, edits: Path, stem: str) -> dict[str, str]:
    """The files of a job: itself, and a file for each hierarchy that was edited on the page."""
    files: dict[str, str] = {}
    columns = {}
    for name, column in draft["columns"].items():
        edited = edited_name(column.get("hierarchy"))
        if edited is not None:
            file = f"{stem}-{plain_name(name, 'column')}.csv"
            files[file] = inside(edits, edited).read_text(encoding="utf-8")
            column = {**column, "hierarchy": file}
        columns[name] = column
    return {f"{stem}.toml": draft_text({**draft, "columns": columns}), **files}


def save_job(
    draft: Draft, edits: Path, folder: Path, name: str, *, overwrite: bool = False
) -> tuple[list[str], list[str]]:
    """Write a job into the working folder with its hierarchies; the files written, or those that it would replace."""
    job_file = name if name.endswith(".toml") else f"{name}.toml"
    if plain_name(job_file, "") != job_file:
        raise BadJob(f"{name!r} is no plain file name. Use letters, digits, - and _, such as job.toml.")
    files = write_job_files(draft, edits, job_file.removesuffix(".toml"))
    there = [file for file in files if inside(folder, file).exists()]
    if there and not overwrite:
        return [], there
    for file, text in files.items():
        write_whole(inside(folder, file), text)
    return list(files), []


def job_archive(draft: Draft, edits: Path, stem: str, target: Path) -> Path:
    """The job as one file to download: the job file, or an archive where hierarchies were edited."""
    files = write_job_files(draft, edits, stem)
    if len(files) == 1:
        ((name, text),) = files.items()
        write_whole(target / name, text)
        return target / name
    place = target / f"{stem}.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return place
