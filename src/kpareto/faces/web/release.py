"""What leaves the house through the page: limits checked, warnings, release, documents, report; and verifying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kpareto.atomic import write_whole
from kpareto.errors import BadJob, KparetoError, Progress
from kpareto.faces.report import FrontFound, gather, html, report_from
from kpareto.faces.web.files import inside
from kpareto.faces.web.page_words import page_warnings
from kpareto.faces.web.turns import Work
from kpareto.fronts.front import Front
from kpareto.jobs.job import Job
from kpareto.jobs.release import ReleaseTrial, check_release, choosing, release_job
from kpareto.releases.certificate import find_unlimited
from kpareto.releases.settings import WAYS, read_accepted
from kpareto.verifier import parts, verify

# What the verifier says of signatures, and as the page says it: keys are given in the terminal alone.
TRUST = (
    "give the key of somebody you trust: --trust KEY.pub.",
    "verify it in the terminal with the key of somebody you trust: kpareto verify --trust KEY.pub.",
)
TRYING = ("Recoding the rows for a trial", "Counting what the trial gives away")
RELEASING = (
    "Writing the rows",
    "Reading them again, counting, certifying",
    "Trying attacks on the release",
    "Writing the public report",
    "Writing the confidential report",
)
REPORTING = ("Trying attacks on the point", "Counting for the report", "Writing the report")


def _telling(piece: Work, steps: tuple[str, ...]) -> Progress:
    """Tell how far the rows are written; when all are, the next step begins, which cannot be counted."""
    piece.begin(steps[0], 0, len(steps))

    def tell(done: int, total: int) -> None:
        if total and done >= total:
            piece.begin(steps[1], 1, len(steps))
        else:
            piece(done, total)

    return tell


def check(
    job: Job, front: Front, place: int, known: dict[int, ReleaseTrial], piece: Work | None = None
) -> dict[str, Any]:
    """Each limit beside what the point has, and every warning that applies, before anything is written."""
    point = front[place]
    job.rows_source()  # another file than the one that was searched is refused, also where the trial is known
    if point.id not in known:
        tell = _telling(piece or Work(), TRYING)
        known[point.id] = check_release(choosing(job, point), point, tell)
    checked = known[point.id]
    return {
        "point": {"id": point.id, "values": point.values, "suppressed": checked.suppressed},
        "limits": [asdict(limit) for limit in checked.limits],
        "met": checked.met,
        "warnings": page_warnings(checked.warnings),
    }


def asked_job(job: Job, question: Mapping[str, Any], sign: str | None, folder: Path) -> Job:
    """The job with what the page says of its release; what it does not say stays as it is.

    It is signed with the server's own key, or with one that the job names in the working folder.
    """
    release = dict(job.release)
    if sign is not None:
        release["sign"] = sign
    elif "sign" in release:
        release["sign"] = str(inside(folder, str(release["sign"])))  # a page reads nothing outside it
    if question.get("formulas") not in (None, *WAYS["formulas"]):
        raise BadJob(f"Cells that begin like a formula are to be {question['formulas']!r}. Give report or neutralise.")
    for key in ("formulas", "accept", "counts"):
        if question.get(key) is not None:
            release[key] = read_accepted(question[key]) if key == "accept" else question[key]
    return replace(job, release=release)


def release_point(job: Job, front: Front, place: int, target: Path, piece: Work | None = None) -> dict[str, Any]:
    """Release a point into a file: rows, both certificates, recoding, both reports; verified before it is there."""
    point, work = front[place], piece or Work()
    chosen = choosing(job, point)
    released = release_job(chosen, front, target, _telling(work, RELEASING))
    files = released.to_dict()["files"]
    work.begin(RELEASING[2], 2, len(RELEASING))
    evidence = gather(FrontFound(chosen, point, f"point {point.id}"), released, trees=False)
    for step, (word, secret) in enumerate((("report", False), ("report.confidential", True)), len(RELEASING) - 2):
        work.begin(RELEASING[step], step, len(RELEASING))
        report = report_from(evidence, confidential=secret)
        files[word] = target.with_name(f"{target.stem}.{word}.html")
        write_whole(files[word], html(report), private=secret)
    answer = released.to_dict()
    return answer | {
        "warnings": page_warnings(released.warnings),
        "unlimited": list(find_unlimited(released.certificate.public)),
        "files": {word: Path(file).name for word, file in files.items()},
    }


def report_page(job: Job, front: Front, place: int, piece: Work, *, confidential: bool) -> str:
    """The report of a point as a page, before anything is released."""
    piece.begin(REPORTING[0], 0, len(REPORTING))
    point = front[place]
    asked = replace(choosing(job, point), target=None)  # nothing is released yet: what lies there is another release
    evidence = gather(FrontFound(asked, point, f"point {place}"), trees=False)
    piece.begin(REPORTING[1], 1, len(REPORTING))
    report = report_from(evidence, confidential=confidential)
    piece.begin(REPORTING[2], 2, len(REPORTING))
    return html(report)


def is_verified(path: Path, certificate: Path) -> dict[str, Any]:
    """Whether a released file holds what its certificate claims; if not, the sentence of the verifier.

    What a class tells of a column that no limit protects is not among the numbers: it stands apart, as after a release.
    """
    try:
        verified = verify(path, certificate)
        unlimited = find_unlimited(parts(certificate)[0])
    except KparetoError as error:
        words = str(error)
        for file in (path, certificate):  # the page knows files by their names alone
            words = words.replace(f"{file.parent}/", "")
        return {"holds": False, "sentence": words}
    sentence = f"{path.name} holds what its certificate claims: {verified.rows:,} rows in {verified.classes:,} classes"
    return {
        "holds": True,
        "sentence": f"{sentence}. {verified.proves.replace(*TRUST)}",
        "numbers": dict(verified.numbers),
        "unlimited": list(unlimited),
        "unchecked": list(verified.unchecked),
        "said": list(verified.said),
    }
