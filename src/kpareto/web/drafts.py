"""A job as the page edits it: plain data in the shape of the job file, checked by the same words as the file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kpareto.errors import BadInput, BadJob
from kpareto.inspect import Profile, job_text, toml_key, toml_value
from kpareto.job import Job, parse_job
from kpareto.schema import Schema
from kpareto.searches import METHODS
from kpareto.web.guard import inside

Draft = dict[str, Any]
PARTS = ("data", "columns", "suppression", "search", "limits", "release")
EDITED = "edited/"  # hierarchies changed on the page; they live in the session until the job is saved


def proposed_draft(profile: Profile, source: str) -> Draft:
    """The draft that ``kpareto inspect`` would write as a job."""
    draft = tomllib.loads(job_text(profile, source))
    return {part: draft.get(part, {}) for part in PARTS} | {"search": _fitting(draft.get("search", {}))}


def adult_draft(profile: Profile) -> Draft:
    """The embedded Adult table with the hierarchies and roles of its default preset."""
    from kpareto.datasets import adult_schema

    schema = adult_schema("default")
    draft = proposed_draft(profile, "adult")
    draft["data"] = {"source": "adult", "preset": "default"}
    draft["columns"] = {
        each.facts.name: {"role": _adult_role(schema, each.facts.name, each.proposal.role)} for each in profile.columns
    }
    draft["search"] = {"method": "exact", "space": "lattice", "objectives": ["k", "glm"], "seed": 1}
    draft["limits"] = {}
    draft["release"] = {"choose": "k=5", "target": "adult-anon.csv"}
    return draft


def _adult_role(schema: Schema, name: str, proposed: str) -> str:
    if name in schema.quasi:
        return "quasi-identifier"
    if name in schema.sensitive:
        return "sensitive"
    return "identifier" if proposed == "identifier" else "plain"


def _fitting(search: Mapping[str, Any]) -> dict[str, Any]:
    """The search with a space that its method walks."""
    kinds = METHODS.get(str(search.get("method", "exact")), ("lattice",))
    return dict(search) | ({} if search.get("space") in kinds else {"space": kinds[0]})


def loaded_draft(text: str, name: str) -> Draft:
    """The draft in a job file; what is wrong with the file is said as the command line says it."""
    parse_job(text, Path(), name)
    raw = tomllib.loads(text)
    return {part: raw.get(part, {}) for part in PARTS}


def checked_draft(given: object) -> Draft:
    """A draft as the page sends it: the parts of a job and nothing else."""
    if not isinstance(given, dict) or not all(isinstance(given.get(part, {}), dict) for part in PARTS):
        raise BadJob("What was sent is no job: it needs the parts " + ", ".join(PARTS) + ".")
    draft = {part: _without_empty(given.get(part, {})) for part in PARTS}
    draft["columns"] = {name: _without_empty(column) for name, column in draft["columns"].items()}
    return draft


def _without_empty(part: object) -> Any:
    return {key: value for key, value in part.items() if value is not None} if isinstance(part, dict) else part


def draft_text(draft: Draft, note: str = "Made with kpareto serve.") -> str:
    """The draft as a job file."""
    lines = [f"# {note}"]
    for part in PARTS:
        if part == "columns":
            for name, column in draft["columns"].items():
                lines += ["", f"[columns.{toml_key(name)}]"]
                lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in column.items()]
        elif draft[part]:
            lines += ["", f"[{part}]"]
            lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in draft[part].items()]
    return "\n".join([*lines, ""])


def draft_job(draft: Draft, folder: Path, edited: Path) -> Job:
    """The job of a draft; no file outside the folder (or the session's own edits) is ever named by it."""
    job = parse_job(draft_text(draft), folder, "the job")
    if not job.embedded:
        inside(folder, job.source)
    columns = {}
    for name, column in job.columns.items():
        source = column.hierarchy
        if isinstance(source, str) and source.startswith(EDITED):
            source = str(inside(edited, source.removeprefix(EDITED)))
        else:
            for file in named_files(source):
                inside(folder, file)
            if isinstance(source, Mapping) and isinstance(source.get("file"), str):
                source = {**source, "file": str(inside(folder, source["file"]))}
        columns[name] = replace(column, hierarchy=source)
    return replace(job, columns=columns)


def named_files(source: object) -> Iterator[str]:
    """The files a hierarchy of a job names."""
    if isinstance(source, str):
        if "\n" in source or source.lstrip().startswith("{"):
            raise BadInput("A hierarchy in a job is a file name or an inline rule, not the text of a file.")
        yield source
    elif isinstance(source, Mapping) and "file" in source:
        yield str(source["file"])
