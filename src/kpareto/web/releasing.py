"""What leaves the house through the page: limits checked, warnings, release, papers, report; and verifying."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from kpareto.errors import BadJob, KparetoError, Unsafe
from kpareto.front import Front, Point
from kpareto.handout import handling_of, release_data, release_limits, warnings_for, write_papers
from kpareto.job import Job
from kpareto.measures import make
from kpareto.queries import UniqueRows, unique_rows
from kpareto.release import release
from kpareto.report import context_of, html, make_report
from kpareto.verify import verify
from kpareto.web.drafts import EDITED, Draft, draft_text
from kpareto.web.guard import inside, plain_name
from kpareto.whole import write_whole


def chosen_job(job: Job, point: Point) -> Job:
    """The job with the point in place of its words of choice."""
    return replace(job, choose=f"id={point.id}")


def unique_after(job: Job, point: Point, known: dict[int, UniqueRows]) -> UniqueRows:
    """Rows unique on all released columns together, counted once per point on a trial release."""
    if point.id not in known:
        trial = release(point, job.rows_source(), None, handling=handling_of(job), encoding=job.encoding)
        known[point.id] = unique_rows(trial.data)
    return known[point.id]


def check(job: Job, front: Front, place: int, known: dict[int, UniqueRows]) -> dict[str, Any]:
    """Each limit beside what the point has, and every warning that applies, before anything is written."""
    point = front[place]
    mine = chosen_job(job, point)
    limits = release_limits(mine, point)
    if mine.limits.get("k") is None and limits["k"] <= 1:
        raise Unsafe("The chosen point has k = 1: rows would leave as they are. Choose another point.")
    checked = []
    for name, limit in {**mine.limits, **limits}.items():
        measure = make(name)
        value = measure(point.partition)
        met = value >= limit - 1e-12 if measure.better == "higher" else value <= limit + 1e-12
        checked.append({"name": name, "limit": limit, "value": value, "better": measure.better, "met": bool(met)})
    how = handling_of(mine)
    warned = warnings_for(point, how, limits, unique_after(mine, point, known))
    return {
        "point": {"id": point.id, "values": point.values, "suppressed": point.partition.suppressed_rows},
        "limits": checked,
        "met": all(each["met"] for each in checked),
        "warnings": [each.to_dict() for each in warned],
    }


def release_point(
    job: Job, front: Front, place: int, outbox: Path, target: str, known: dict[int, UniqueRows]
) -> dict[str, Any]:
    """Release a point into the outbox: rows, both certificates, recoding, both reports; verified before it is there."""
    point = front[place]
    mine = chosen_job(job, point)
    name = plain_name(target, "release.csv")
    limits = release_limits(mine, point)
    if mine.limits.get("k") is None and limits["k"] <= 1:
        raise Unsafe("The chosen point has k = 1: rows would leave as they are. Choose another point.")
    how = handling_of(mine)
    unique = unique_after(mine, point, known)
    warned = warnings_for(point, how, limits, unique)
    target_file = inside(outbox, name)
    done = release(
        point,
        mine.rows_source(),
        target_file,
        limits=limits,
        handling=how,
        warnings=[(each.id, each.text) for each in warned],
        encoding=mine.encoding,
    )
    files = write_papers(done, point, target_file, limits)
    context = replace(context_of(point), unique=unique, certificate=True)
    for word, secret in (("report", False), ("report.confidential", True)):
        made = make_report(
            point, context, certificate=done.certificate, choice=f"point {point.id}", confidential=secret
        )
        files[word] = target_file.with_name(f"{target_file.stem}.{word}.html")
        write_whole(files[word], html(made))
    answer = release_data(done, point, files, warned)
    answer["files"] = {word: Path(file).name for word, file in answer["files"].items()}
    return answer


def report_page(front: Front, place: int, *, confidential: bool) -> str:
    """The report of a point as a page, before anything is released."""
    return html(make_report(front[place], choice=f"point {place}", confidential=confidential))


def verified(path: Path, certificate: Path) -> dict[str, Any]:
    """Whether a released file holds what its certificate claims; if not, the sentence of the verifier."""
    try:
        found = verify(path, certificate)
    except KparetoError as error:
        return {"holds": False, "sentence": str(error)}
    numbers = ", ".join(f"{name} = {value:g}" for name, value in found.numbers.items())
    sentence = f"{path.name} holds what its certificate claims: {found.rows:,} rows in {found.classes:,} classes"
    return {
        "holds": True,
        "sentence": f"{sentence}; {numbers}.",
        "rows": found.rows,
        "classes": found.classes,
        "numbers": dict(found.numbers),
        "unchecked": list(found.unchecked),
    }


def saved_job(draft: Draft, edits: Path, stem: str) -> dict[str, str]:
    """The files of a job: itself, and a file for each hierarchy that was edited on the page."""
    files: dict[str, str] = {}
    columns = {}
    for name, column in draft["columns"].items():
        source = column.get("hierarchy")
        if isinstance(source, str) and source.startswith(EDITED):
            file = f"{stem}-{plain_name(name, 'column')}.csv"
            files[file] = inside(edits, source.removeprefix(EDITED)).read_text(encoding="utf-8")
            column = {**column, "hierarchy": file}
        columns[name] = column
    return {f"{stem}.toml": draft_text({**draft, "columns": columns}), **files}


def save_job(draft: Draft, edits: Path, folder: Path, name: str) -> list[str]:
    """Write a job into the working folder, with its hierarchies beside it; the names of the files."""
    given = name if name.endswith(".toml") else f"{name}.toml"
    if plain_name(given, "") != given:
        raise BadJob(f"{name!r} is no plain file name. Use letters, digits, - and _, such as job.toml.")
    files = saved_job(draft, edits, given.removesuffix(".toml"))
    for file, text in files.items():
        write_whole(inside(folder, file), text)
    return list(files)


def job_archive(draft: Draft, edits: Path, stem: str, target: Path) -> Path:
    """The job as one file to download: the job file, or an archive where hierarchies were edited."""
    files = saved_job(draft, edits, stem)
    if len(files) == 1:
        ((name, text),) = files.items()
        write_whole(target / name, text)
        return target / name
    place = target / f"{stem}.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return place
