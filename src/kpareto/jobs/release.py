"""Release what a job says: the one way from a front to released rows with their documents, whoever asks for it.

What the written rows must meet, the guard against a k of 1, and the documents beside the rows are decided here; the
release has its warnings, of all rows, also where the search saw a sample. The faces only show what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kpareto.atomic import refuse_overwriting
from kpareto.engines.form import TextForm
from kpareto.engines.source import is_file_name
from kpareto.errors import BadJob, Progress, Unsafe
from kpareto.fronts.choose import choose_point, read_wish
from kpareto.fronts.front import Front, Point
from kpareto.fronts.problem import stricter
from kpareto.jobs.front import chosen_point, for_choice, is_searched_for, search_job
from kpareto.jobs.job import Job
from kpareto.jobs.parse import TEXT_KEYS
from kpareto.measures.measure import Measure, Model, aspect_of, make, meets
from kpareto.releases.choice import as_choice, on_all_rows
from kpareto.releases.documents import document_files, documents_of, refuse_others_documents
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.release import Documents, Release, release
from kpareto.releases.settings import DANGERS
from kpareto.releases.signing import key_named, signature_files, with_signatures
from kpareto.releases.warnings import Remark, warnings_for
from kpareto.tables.partition import Partition


def release_job(
    job: Job, front: Front | None = None, place: str | Path | None = None, report: Progress | None = None
) -> Release:
    """Search, choose, recode, verify, certify, as the job says; nothing is written that misses a limit.

    ``front`` is the job's own, where it is at hand; ``place`` is where the rows go instead of the job's target.
    """
    target = place or place_of(job)
    key = key_named(job.release.get("sign"), job.folder)
    files = files_of(job, target)
    signed = {} if key is None else signature_files(files)
    refuse_others_documents(beside(job, target))
    hierarchies = [file for file in job.inputs if file != job.path(job.source)]
    refuse_overwriting(hierarchies, target if isinstance(target, Path) or is_file_name(target) else None)
    refuse_overwriting(job.inputs, *files.values(), *signed.values())
    point = chosen_point(search_job(for_choice(job)) if front is None else front, job.choose)
    limits = _safe_limits(job, point)
    done = _release_point(
        job, point, limits, target, report, lambda done: with_signatures(documents_of(done, files, limits), key)
    )
    return replace(done, point=point, files={**files, **signed}, remarks=(*job.remarks, *done.remarks))


def _release_point(
    job: Job,
    point: Point,
    limits: Mapping[str, float],
    target: str | Path | None,
    report: Progress | None,
    documents: Documents | None = None,
) -> Release:
    """The point released on all rows, with the warnings of a release within these limits; a trial without a target."""
    handling = handling_of(job)
    choice, sampled = on_all_rows(
        as_choice(point, limits), job.rows_source(), job.encoding, handling.missing_values, job.admission.memory
    )
    partition = point.partition if sampled is None else choice.partition()
    return release(
        # Of a trial, a limit that is not met is shown, and stops the release alone.
        choice if target is not None else replace(choice, limits=point.limits),
        job.rows_source(),
        target,
        handling=handling,
        warnings=lambda unique, how: warnings_for(point, how, limits, unique, partition),
        encoding=job.encoding,
        memory=job.admission.memory,
        progress=report,
        papers=documents,
        accept=DANGERS if target is None else job.release.get("accept", ()),
        counts=job.release.get("counts", False),
    )


def files_of(job: Job, target: str | Path) -> dict[str, Path]:
    """Where the documents of a job's release go: certificate, public, recoding."""
    return document_files(beside(job, target))


def beside(job: Job, target: str | Path) -> str | Path:
    """What the documents lie beside: the file or folder, or the job where the release is a table, under its name."""
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
class ReleaseTrial:
    """A release that was not kept: what it would suppress, each limit beside what it would have, and its warnings."""

    point: Point
    suppressed: int
    limits: tuple[Limit, ...]
    warnings: tuple[Remark, ...]

    @property
    def met(self) -> bool:
        """Whether every limit is."""
        return all(limit.met for limit in self.limits)


def check_release(job: Job, point: Point, report: Progress | None = None) -> ReleaseTrial:
    """Each limit beside what all rows have under the point, and every warning; counted on a trial that is not kept.

    ``report`` is told how far the rows of the trial are written, and may stop it.
    """
    promised = _safe_limits(job, point)
    done = _release_point(job, point, promised, None, report)
    limits = [_limit(make(name), name, limit, done.partition) for name, limit in {**job.limits, **promised}.items()]
    return ReleaseTrial(point, done.suppressed, tuple(limits), done.warnings)


def _limit(measure: Measure, name: str, limit: float, partition: Partition) -> Limit:
    value = measure(partition)
    return Limit(name, limit, value, measure.better, bool(meets(measure.better, value, limit)))


def _safe_limits(job: Job, point: Point) -> dict[str, float]:
    """What the written rows must meet; a k of 1 that nobody asked for is refused."""
    limits = release_limits(job, point)
    if limits["k"] <= 1 and "k" not in job.limits:
        raise Unsafe(
            f"With k = {limits['k']:g} rows would leave as they are. Choose another point, such as k=5, "
            "or set k = 1 under [limits] if that is meant."
        )
    return limits


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
    settings = dict(job.release)
    known = {key: settings[key] for key in ("identifiers", "order", "seed", "formulas") if key in settings}
    tied = {name: column.tie for name, column in job.columns.items() if column.tie is not None}
    declared = tuple(name for name, column in job.columns.items() if column.declared)
    return Handling(
        missing_values=job.missing_values,
        shown=dict(settings.get("representative", {})),
        left_out=job.undecided,
        tied=tied,
        declared=declared,
        form=TextForm(**{key: settings[key] for key in TEXT_KEYS if key in settings}),
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
