"""From a job, or a front's JSON beside its job, to a report in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from kpareto.attacks import attack
from kpareto.certificate import Certificate
from kpareto.counting import file_digest
from kpareto.errors import BadInput, BadJob, KparetoError, Unsafe
from kpareto.front import Front, Point
from kpareto.front_file import front_data, load_front
from kpareto.handout import handling_of, release_limits
from kpareto.job import Job, load_job
from kpareto.partition import Partition
from kpareto.queries import unique_rows
from kpareto.release import Release
from kpareto.report.gather import context_of, make_report
from kpareto.report.page import html, template_html
from kpareto.report.plain import markdown, template_markdown
from kpareto.report.shape import Report
from kpareto.report.template import with_rows
from kpareto.shell import choose_point, search_front
from kpareto.sources import opened
from kpareto.trees import tree_error
from kpareto.whole import checked, write_whole

Form = Literal["html", "markdown", "json"]
FORMS: Mapping[str, Form] = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
MOST_VALUES = 30  # of a numeric target that a tree is asked to tell


@dataclass(frozen=True, eq=False)
class Finding:
    """A chosen point, the job it comes from, and the words it was chosen by."""

    job: Job
    point: Point
    words: str


def write_report(  # noqa: PLR0913 (what is at hand is not made again)
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    front: Front | None = None,
    point: Point | None = None,
    release: Release | None = None,
    choose: str | None = None,
    changes: Sequence[str] = (),
    confidential: bool = False,
) -> Path:
    """Write the report of a job (or of a front's JSON beside its job) as .html, .md or .json.

    ``choose`` names the point (``k=5``, ``knee``, ``id=17``); the job's choice otherwise. ``changes`` override the job,
    such as ``search.seed=3``, as they did when its release was made. A front, a point or a release
    that is at hand is not made again. A release and certificate that lie where the job writes them are used.
    """
    form = form_of(checked(target))
    found = find(source, front=front, point=point, choose=choose, changes=changes)
    write_whole(target, report_text(report_of(found, release, confidential=confidential), form))
    return Path(target)


def write_template(  # noqa: PLR0913 (as above)
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    front: Front | None = None,
    point: Point | None = None,
    release: Release | None = None,
    choose: str | None = None,
    changes: Sequence[str] = (),
    confidential: bool = False,
) -> Path:
    """Write the anonymisation report alone, the form that regulators ask for, as .html or .md."""
    form = form_of(checked(target))
    if form == "json":
        raise BadJob(
            f"The form is written as .html or .md, not as {Path(target).name!r}. The report's JSON holds it too."
        )
    found = find(source, front=front, point=point, choose=choose, changes=changes)
    made = report_of(found, release, confidential=confidential)
    write_whole(target, template_html(made) if form == "html" else template_markdown(made))
    return Path(target)


def form_of(target: Path) -> Form:
    """HTML, Markdown or JSON, by the name of the file."""
    if target.suffix.lower() not in FORMS:
        raise BadJob(f"A report is written as .html, .md or .json, not as {target.name!r}. Give such a name.")
    return FORMS[target.suffix.lower()]


def report_text(report: Report, form: Form) -> str:
    """The report as a text of this form."""
    if form == "json":
        return json.dumps(report.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return html(report) if form == "html" else markdown(report)


def find(
    source: str | PathLike[str],
    *,
    job: str | PathLike[str] | None = None,
    front: Front | None = None,
    point: Point | None = None,
    choose: str | None = None,
    changes: Sequence[str] = (),
    quiet: bool = True,
) -> Finding:
    """The chosen point of a job file, of the word adult, or of a front's JSON with its job (given, or beside it)."""
    place = Path(source)
    is_front = place.suffix.lower() == ".json"
    known = load_job(str(_job_beside(place) if job is None else job) if is_front else str(source), changes)
    if point is not None:
        front = point.front
    if front is None and is_front:
        data = front_data(place)
        named = tuple(str(each.get("name")) for each in data["objectives"])
        front = load_front(data, replace(known, objectives=named).problem())
    if front is None:
        front = search_front(known, known.problem(), quiet)
    if len(front) == 0:
        raise Unsafe("The front is empty: no recoding meets the limits, so there is nothing to report on. Relax them.")
    words = choose or known.choose or ("k=5" if "k" in front.names else "knee")
    return Finding(known, point if point is not None else choose_point(front, words), words)


def _job_beside(front: Path) -> Path:
    """The job of a front's JSON: of the same name, called job.toml, or the only one in the folder."""
    folder = front.parent
    for place in (front.with_suffix(".toml"), folder / "job.toml"):
        if place.is_file():
            return place
    others = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    if len(others) == 1:
        return others[0]
    raise BadInput(
        f"The front {str(front)!r} has no job beside it, and its rows are needed for the report. "
        f"Put the job file there as {front.with_suffix('.toml').name!r}, or report on the job itself."
    )


def report_of(
    found: Finding, release: Release | None = None, *, confidential: bool = False, date: str | None = None
) -> Report:
    """The report of a finding: attack tests run, and the release looked at where there is one."""
    job, point = found.job, found.point
    limits = release_limits(job, point)
    how = handling_of(job)
    context = replace(
        context_of(point), limits=limits, representatives=tuple(n for n, form in how.shown.items() if form == "median")
    )
    certificate: Certificate | Mapping[str, Any] | None = None
    if release is not None:
        certificate = release.certificate
        alone = release.unique or unique_rows(release.path if release.path is not None else release.data)
        context = replace(context, certificate=True, partition=release.partition, unique=alone)
    else:
        lying = _lying(job, point)
        if lying is not None:
            certificate = lying[1]
            context = replace(context, certificate=True, unique=unique_rows(lying[0]))
    tests = attack(context.partition, limits, point.front.problem.suppression)
    report = make_report(
        point,
        context,
        certificate=certificate,
        tests=tests,
        choice=found.words,
        date=date,
        confidential=confidential,
    )
    form = with_rows(report.template, point, report.columns, how.identifiers, plain_columns(job, point))
    report = replace(report, template=form)
    told = use_sentence(context.partition)
    if told:
        report = replace(report, summary=replace(report.summary, sentences=(*report.summary.sentences, told)))
    return report


def plain_columns(job: Job, point: Point) -> tuple[str, ...] | None:
    """The columns that leave as they are, by name; None where the source is no longer there to be asked."""
    schema = point.front.problem.table.schema
    named = {*schema.quasi, *schema.sensitive, *schema.target, *schema.identifier, schema.person}
    try:
        with opened(job.rows_source(), job.encoding) as source:
            return tuple(name for name in source.columns if name not in named)
    except (KparetoError, OSError):
        return None


def use_sentence(made: Partition) -> str:
    """What the recoding costs somebody who predicts the target (IY-12): a tree's error before and after.

    Nothing where there is no target with two values, or where scikit-learn is not installed.
    """
    if not made.table.targets or len(made.table.targets[0].values) < 2 or find_spec("sklearn") is None:
        return ""
    if made.table.targets[0].numbers is not None and len(made.table.targets[0].values) > MOST_VALUES:
        return ""  # a number to be estimated, not a class to be told
    return tree_error(made).sentence()


def _lying(job: Job, point: Point) -> tuple[Path, Mapping[str, Any]] | None:
    """The release and certificate where the job writes them, if they are of this very point and unchanged."""
    if job.target is None:
        return None
    place = job.path(job.target)
    paper = place.with_name(f"{place.stem}.certificate.json")
    if not place.is_file() or not paper.is_file():
        return None
    try:
        said = json.loads(paper.read_text(encoding="utf-8"))
        released, columns = said["public"]["release"], said["confidential"]["recoding"]["columns"]
        same = released["sha256"] == file_digest(place) and columns == point.recoding.describe()
        return (
            (place, said)
            if same and released["rows"] == int(point.partition.rows[point.partition.visible].sum())
            else None
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not ours, or of another release: the report does not need it
