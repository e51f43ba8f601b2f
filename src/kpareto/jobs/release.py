"""Release what a job says: the one way from a front to released rows with their papers, whoever asks for it.

What the written rows must meet, the guard against a k of 1, the warnings (worked out on all rows, also where the search
saw a sample), and the papers beside the rows are decided here; the faces only show what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kpareto.engines.form import TextForm
from kpareto.engines.source import is_file_name
from kpareto.errors import BadJob, Progress, Unsafe
from kpareto.fronts.choose import choose_point, read_wish
from kpareto.fronts.front import Front, Point
from kpareto.fronts.problem import stricter
from kpareto.jobs.front import chosen_point, is_searched_for, search_job
from kpareto.jobs.job import Job
from kpareto.jobs.parse import TEXT_KEYS
from kpareto.measures.measure import Measure, Model, aspect_of, make, meets
from kpareto.releases.applied import on_all_rows
from kpareto.releases.choice import Choice, as_choice
from kpareto.releases.papers import paper_files, papers_of, refuse_others_papers, refuse_overwriting
from kpareto.releases.query import Handling
from kpareto.releases.release import Release, release
from kpareto.releases.signing import key_named, signature_files, with_signatures
from kpareto.releases.telling import warn_of_tellers, warnings_for
from kpareto.releases.warnings import Remark
from kpareto.tables.partition import Partition
from kpareto.tables.unique import UniqueRows


@dataclass(frozen=True, eq=False)
class Released:
    """What a release has left: the rows where they are now, the papers beside them, and every warning."""

    release: Release
    point: Point
    place: str | Path  # a file, or a table in a database
    files: Mapping[str, Path]  # certificate, public, recoding, and their signatures where there is a key
    warnings: tuple[Remark, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        files = {"release": str(Path(self.place)), **{word: str(file) for word, file in self.files.items()}}
        return {
            "point": self.point.to_dict(),
            "rows": self.release.rows,
            "suppressed": self.release.suppressed,
            "verified": dict(self.release.verified.numbers),
            "files": files,
            "warnings": [warning.to_dict() for warning in self.warnings],
            "remarks": list(self.release.remarks),
        }


def release_job(
    job: Job, front: Front | None = None, place: str | Path | None = None, report: Progress | None = None
) -> Released:
    """Search, choose, recode, verify, certify, as the job says; nothing is written that misses a limit.

    ``front`` is the job's own, where it is at hand; ``place`` is where the rows go instead of the job's target.
    """
    target = place or place_of(job)
    key = key_named(job.release.get("sign"), job.folder)
    files = files_of(job, target)
    signed = {} if key is None else signature_files(files)
    refuse_others_papers(beside(job, target))
    hierarchies = [file for file in job.inputs if file != job.path(job.source)]
    refuse_overwriting(hierarchies, target if isinstance(target, Path) or is_file_name(target) else None)
    refuse_overwriting(job.inputs, *files.values(), *signed.values())
    point = chosen_point(search_job(job) if front is None else front, job.choose)
    prepared = _prepare(job, point)
    warned: list[Remark] = []

    def warn(unique: UniqueRows) -> list[Remark]:
        """The warnings, once it is known which rows are alone in what was written (W1)."""
        warned.extend(prepared.warnings(unique))
        return warned

    done = release(
        prepared.choice,
        job.rows_source(),
        target,
        limits=prepared.limits,
        handling=prepared.handling,
        warnings=warn,
        encoding=job.encoding,
        memory=job.admission.memory,
        progress=report,
        papers=lambda done: with_signatures(papers_of(done, files, prepared.limits), key),
    )
    done = replace(done, remarks=(*job.remarks, *done.remarks))
    told = warn_of_tellers(done.tellers, done.partition)
    warned += [] if told is None else [told]
    return Released(done, point, target, {**files, **signed}, tuple(warned))


def files_of(job: Job, target: str | Path) -> dict[str, Path]:
    """Where the papers of a job's release go: certificate, public, recoding."""
    return paper_files(beside(job, target))


def beside(job: Job, target: str | Path) -> str | Path:
    """What the papers lie beside: the file or folder, or the job where the release is a table, under its name."""
    table = job.in_database and not is_file_name(str(target))
    return job.path(file_name(str(target))) if table else target


@dataclass(frozen=True)
class Limit:
    """A limit beside what the rows to be released have."""

    name: str
    limit: float
    value: float
    better: str
    met: bool


@dataclass(frozen=True, eq=False)
class Checked:
    """What a release of a point would be, before anything is written."""

    point: Point
    suppressed: int
    limits: tuple[Limit, ...]
    warnings: tuple[Remark, ...]

    @property
    def met(self) -> bool:
        """Whether every limit is."""
        return all(limit.met for limit in self.limits)


def check_release(job: Job, point: Point, report: Progress | None = None) -> Checked:
    """Each limit beside what all rows have under the point, and every warning; counted on a trial that is not kept.

    ``report`` is told how far the rows of the trial are written, and may stop it.
    """
    prepared = _prepare(job, point)
    warned: list[Remark] = []

    def warn(unique: UniqueRows) -> list[Remark]:
        warned.extend(prepared.warnings(unique))
        return []

    done = release(
        replace(prepared.choice, limits=point.limits),  # a limit that is not met is shown, and stops the release alone
        job.rows_source(),
        handling=prepared.handling,
        warnings=warn,
        encoding=job.encoding,
        memory=job.admission.memory,
        progress=report,
    )
    told = warn_of_tellers(done.tellers, done.partition)
    warned += [] if told is None else [told]
    partition = prepared.partition
    limits = [_limit(make(name), name, limit, partition) for name, limit in {**job.limits, **prepared.limits}.items()]
    return Checked(point, partition.suppressed_rows, tuple(limits), tuple(warned))


def _limit(measure: Measure, name: str, limit: float, partition: Partition) -> Limit:
    value = measure(partition)
    return Limit(name, limit, value, measure.better, bool(meets(measure.better, value, limit)))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A point made ready for its release: on all rows, with what they must meet."""

    point: Point
    choice: Choice
    limits: dict[str, float]
    handling: Handling
    partition: Partition  # of all rows

    def warnings(self, unique: UniqueRows | None) -> list[Remark]:
        """The warnings W1 to W18 that apply."""
        return warnings_for(self.point, self.handling, self.limits, unique, self.partition)


def _prepare(job: Job, point: Point) -> _Prepared:
    handling, limits = handling_of(job), release_limits(job, point)
    if limits["k"] <= 1 and "k" not in job.limits:
        raise Unsafe(
            f"With k = {limits['k']:g} rows would leave as they are. Choose another point, such as k=5, "
            "or set k = 1 under [limits] if that is meant."
        )
    chosen = as_choice(point, limits)
    choice, sampled = on_all_rows(
        chosen, job.rows_source(), job.encoding, handling.missing_values, job.admission.memory
    )
    partition = point.partition if sampled is None else choice.partition()
    return _Prepared(point, choice, limits, handling, partition)


def place_of(job: Job) -> str | Path:
    """Where the job's release goes; a job that does not say is a sentence."""
    if job.target is None:
        raise BadJob("There is no file to release to. Add target under [release] in the job, or give --target FILE.")
    return job.destination(job.target)


def choosing(job: Job, point: Point) -> Job:
    """The job as it chooses this point: by its own words where they mean it, else by the point's number."""
    if job.choose is not None:
        try:
            if is_searched_for(point.front, job.choose) and choose_point(point.front, job.choose).id == point.id:
                return job
        except (BadJob, Unsafe):
            pass  # the job's own words name no point of this front; another one was picked
    return replace(job, choose=f"id={point.id}")


def handling_of(job: Job) -> Handling:
    """How the job wants rows written."""
    said = dict(job.release)
    known = {key: said[key] for key in ("identifiers", "order", "seed", "formulas") if key in said}
    shown = said.get("representative", {})
    if not isinstance(shown, Mapping):
        raise BadJob(f'release.representative is {shown!r}. Write a table such as {{age = "midpoint"}}.')
    tied = {name: column.tie for name, column in job.columns.items() if column.tie is not None}
    declared = tuple(name for name, column in job.columns.items() if column.declared)
    return Handling(
        missing_values=job.missing_values,
        shown=dict(shown),
        left_out=job.undecided,
        tied=tied,
        declared=declared,
        form=TextForm(**{key: said[key] for key in TEXT_KEYS if key in said}),
        **known,
    )


def release_limits(job: Job, point: Point) -> dict[str, float]:
    """What the written rows must meet: the job's limits on models, and what its choice asks of them; always a k."""
    limits = {name: limit for name, limit in job.limits.items() if _is_promised(make(name))}
    limits = stricter(read_wish(job.choose).models() if job.choose else {}, limits)
    if "k" not in limits:
        limits["k"] = int(point.partition.sizes[point.partition.visible].min())
    return limits


def _is_promised(measure: Measure) -> bool:
    """Whether a limit on a measure is one on the release itself: on a model, or against the population."""
    return isinstance(measure, Model) or aspect_of(measure).population


def file_name(table: str) -> str:
    """The name of a table as a file can have it."""
    return re.sub(r"[^\w.-]", "_", table)
