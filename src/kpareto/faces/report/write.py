"""From a job, or a front's JSON beside its job, to a report in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from kpareto.atomic import check_target, write_whole
from kpareto.attacks.evidence import AttackEvidence, attack_people
from kpareto.engines import in_form, open_source
from kpareto.engines.form import form_from
from kpareto.engines.unique_rows import unique_rows
from kpareto.errors import BadInput, BadJob, BadTable, KparetoError, Progress, Unsafe
from kpareto.faces.report.answers import round_use
from kpareto.faces.report.discretion import Discretion
from kpareto.faces.report.make import TOO_FEW, VEILED, complete_board, context_of, make_report
from kpareto.faces.report.parts import html, markdown
from kpareto.faces.report.regulator_form import with_rows
from kpareto.faces.report.report import Report
from kpareto.fronts.choose import choose_point, read_wish
from kpareto.fronts.front import Front, Point, load_front
from kpareto.fronts.json_file import front_data
from kpareto.fronts.picture import RECOMMENDED
from kpareto.jobs.front import is_searched_for, recall_front, search_for_choice, search_job
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job
from kpareto.jobs.release import handling_of, release_limits
from kpareto.releases.certificate import Certificate
from kpareto.releases.documents import document_files
from kpareto.releases.release import Release
from kpareto.releases.risk.attacks import AttackReport, attack
from kpareto.releases.risk.tree_error import FOLDS, tree_error
from kpareto.releases.signing import signature_files
from kpareto.releases.warnings import Context, Remark
from kpareto.strict import FileKind, anything, is_missing, map_of, read_json
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import spell_infinite
from kpareto.tables.table import UniqueRows
from kpareto.uses.utility import Utility, open_release, utility
from kpareto.verifier.counting import file_digest

Language = Literal["html", "markdown", "json"]
LANGUAGES: Mapping[str, Language] = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
MOST_VALUES = 30  # of a numeric target that a tree is asked to tell
Phase = Callable[[str], AbstractContextManager[Progress | None]]  # of a long work: its name; told how far it is


def in_silence(_name: str) -> AbstractContextManager[Progress | None]:
    """A phase that nobody looks at."""
    return nullcontext()


@dataclass(frozen=True, eq=False)
class FrontFound:
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
    model: str | None = None,
    confidential: bool = False,
    form: bool = False,
    phase: Phase = in_silence,
) -> Path:
    """Write the report of a job (or of a front's JSON beside its job) as .html, .md or .json.

    ``form=True`` writes the anonymisation report alone, the form that regulators ask for, as .html or .md.

    ``choose`` names the point (``k=5``, ``id=17``); the job's choice otherwise, or the recommended one. ``changes``
    override the job, such as ``search.seed=3``, and ``model`` its search, as they did when its release was made. A
    front, a point or a release that is at hand is not made again. A release and certificate that lie where the job
    writes them are used. ``phase`` is entered with the name of each long work, and told how far it is.
    """
    language = language_of(check_target(target))
    if form and language == "json":
        raise BadJob(
            f"The form is written as .html or .md, not as {Path(target).name!r}. The report's JSON holds it too."
        )
    finding = find(source, front=front, point=point, choose=choose, changes=changes, model=model, phase=phase)
    report = report_of(finding, release, confidential=confidential, phase=phase)
    write_whole(target, report_text(report, language, form), private=confidential)
    return Path(target)


def language_of(target: Path) -> Language:
    """HTML, Markdown or JSON, by the name of the file."""
    if target.suffix.lower() not in LANGUAGES:
        raise BadJob(f"A report is written as .html, .md or .json, not as {target.name!r}. Give such a name.")
    return LANGUAGES[target.suffix.lower()]


def report_text(report: Report, language: Language, form: bool = False) -> str:
    """The report as a text in this language; the anonymisation report alone if ``form``."""
    if language == "json":
        return json.dumps(spell_infinite(report.to_dict()), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return html(report, form) if language == "html" else markdown(report, form)


def find(  # noqa: PLR0913 (as above)
    source: str | PathLike[str],
    *,
    job: str | PathLike[str] | None = None,
    front: Front | None = None,
    point: Point | None = None,
    choose: str | None = None,
    changes: Sequence[str] = (),
    model: str | None = None,
    phase: Phase = in_silence,
) -> FrontFound:
    """The chosen point of a job file, of the word adult, or of a front's JSON with its job (given, or beside it)."""
    file = Path(source)
    is_front = file.suffix.lower() == ".json"
    if choose is not None:
        read_wish(choose)  # words that are not understood are told before the search
    known = load_job(str(_job_beside(file) if job is None else job) if is_front else str(source), changes, model)
    if point is not None:
        front = point.front
    if front is None and is_front:
        data = front_data(file)
        named = tuple(str(objective.get("name")) for objective in data["objectives"])
        front = load_front(data, replace(known, objectives=named).problem())
    if front is None:
        problem = known.problem()
        front = recall_front(file, known, problem)
        if front is None:
            with phase("Searching") as progress:
                front = search_job(known, problem, progress)
    if len(front) == 0:
        raise Unsafe("The front is empty: no recoding meets the limits, so there is nothing to report on. Relax them.")
    words = choose or known.choose or RECOMMENDED
    if point is None and not is_searched_for(front, words):
        with phase("Searching for the chosen k") as progress:
            front = search_for_choice(front, words, progress)
    return FrontFound(known, point if point is not None else choose_point(front, words), words)


def _job_beside(front: Path) -> Path:
    """The job of a front's JSON: of the same name, called job.toml, or the only one in the folder."""
    folder = front.parent
    for file in (front.with_suffix(".toml"), folder / "job.toml"):
        if file.is_file():
            return file
    others = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    if len(others) == 1:
        return others[0]
    raise BadInput(
        f"The front {str(front)!r} has no job beside it, and its rows are needed for the report. "
        f"Put the job file there as {front.with_suffix('.toml').name!r}, or report on the job itself."
    )


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is worked out once for all reports of a finding: what is known of it, and what attacks on it reach."""

    finding: FrontFound
    context: Context
    certificate: Certificate | Mapping[str, Any] | None
    tests: AttackReport
    phase: Phase
    trees: bool  # whether decision trees are grown, which takes minutes for large tables

    @cached_property
    def use(self) -> Utility | None:
        """What an analyst still gets; None where the table is too small, or its target has one value only."""
        with suppress(BadTable):
            return utility(self.context.partition, **self.finding.job.use)
        return None

    @cached_property
    def attacks(self) -> AttackEvidence | None:
        """What attacks on people reach; None where the table is too small to say."""
        with suppress(BadTable), self.phase("Attacking"):
            table, view = open_release(self.context.partition, None, None)
            return attack_people(table, replace(view, counted=bool(self.finding.job.release.get("counts"))))
        return None

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """What the recoding costs a decision tree; only what can be said."""
        if not self.trees:
            return ()
        with self.phase("Growing decision trees") as progress:
            use = use_sentence(self.context.partition, progress)
        return (use,) if use else ()


def gather(
    finding: FrontFound, release: Release | None = None, *, phase: Phase = in_silence, trees: bool = True
) -> Evidence:
    """Run the attack tests on a finding, and look at its release where there is one."""
    job, point = finding.job, finding.point
    context = _released_context(job, point, release)
    certificate: Certificate | Mapping[str, Any] | None = None if release is None else release.certificate
    if release is None:
        lying = _find_release(job, point)
        if lying is not None:
            certificate = lying[1]
            alone = _unique_rows(lying[0], lying[1]["public"])
            context = replace(_written_context(context, lying[1]["public"], alone), written=_disclosures(lying[1]))
    tests = attack(context.partition, context.limits, point.front.problem.suppression)
    return Evidence(finding, context, certificate, tests, phase, trees)


def report_of(
    finding: FrontFound,
    release: Release | None = None,
    *,
    confidential: bool = False,
    phase: Phase = in_silence,
) -> Report:
    """The report of a finding: attack tests run, and the release looked at where there is one."""
    return report_from(gather(finding, release, phase=phase), confidential=confidential)


def report_from(evidence: Evidence, *, confidential: bool = False) -> Report:
    """The report that the evidence gives, for the public or to be kept with the data."""
    finding, context = evidence.finding, evidence.context
    job, point = finding.job, finding.point
    report = make_report(
        point,
        context,
        certificate=evidence.certificate,
        tests=evidence.tests,
        choice=finding.words,
        confidential=confidential,
    )
    form = with_rows(report.template, point, report.columns, handling_of(job), plain_columns(job, point))
    report = replace(report, template=form)
    *checked, by_hand = report.board.checked
    board = replace(report.board, checked=(*checked, *_say_signed(evidence), by_hand))
    if Discretion(report.least, confidential).veils(context.partition):
        # Trees and counts are about the suppressed rows too, which are too few to be told.
        return replace(report, board=complete_board(report, board, unmeasured=VEILED))
    use = evidence.use if confidential else round_use(evidence.use)
    report = replace(report, use=use, attacks=evidence.attacks if confidential else None)
    board = complete_board(report, board, evidence.compared, TOO_FEW)
    sentences = (*report.summary.sentences, *evidence.compared)
    return replace(report, board=board, summary=replace(report.summary, sentences=sentences))


def _say_signed(evidence: Evidence) -> tuple[str, ...]:
    """Whether a signature lies beside the certificate of a release; whose it is needs a file of trusted keys."""
    job = evidence.finding.job
    if evidence.certificate is None or job.target is None:
        return ()
    if is_missing(signature_files(document_files(job.path(job.target)))["public signature"]):
        return ("Its certificate is not signed.",)
    return ("A signature lies beside its certificate; kpareto verify --trust KEYS says whose it is.",)


def _released_context(job: Job, point: Point, release: Release | None = None) -> Context:
    """What is known of a point as its job writes it, and of its release, where there is one."""
    context = replace(context_of(point, handling_of(job)), limits=release_limits(job, point))
    if release is None:
        return context
    rows = release.path if release.path is not None else release.data
    alone = release.unique or _unique_rows(rows, release.certificate.public)
    written = tuple(warning for warning in release.warnings if warning.id == "W17")
    context = replace(_written_context(context, release.certificate.public, alone), written=written)
    # Of a sample, what was searched is reported on.
    same = release.partition.table is point.table
    return replace(context, partition=release.partition) if same else context


def _written_context(context: Context, public: Mapping[str, Any], unique: UniqueRows) -> Context:
    """The context of a release with a certificate: its rows are in the order that was certified (W19)."""
    kept = public.get("handling", {}).get("order") == "kept"
    return replace(context, certificate=True, unique=unique, kept_order=kept)


def _disclosures(certificate: Mapping[str, Any]) -> tuple[Remark, ...]:
    """The warning that only the written rows told (W17), from a certificate, which names the dangers accepted."""
    confidential = certificate["confidential"]
    dangers = confidential.get("accepted", ("W17",))  # version 0.1 did not say, so it may have been one
    return tuple(
        Remark(number, "danger" if number in dangers else "caution", text, {})
        for number, text in confidential.get("warnings", ())
        if number == "W17"
    )


def _unique_rows(rows: object, public: Mapping[str, Any]) -> UniqueRows:
    """Rows of a release that are alone on all its columns; a file is read in the form that its certificate says."""
    return unique_rows(in_form(rows, form_from(public["release"].get("form", {}))))


def plain_columns(job: Job, point: Point) -> tuple[str, ...] | None:
    """The columns without another role, by name; None where the source is no longer there to be asked."""
    schema = point.front.problem.table.schema
    named = {*schema.quasi, *schema.sensitive, *schema.target, *schema.identifier, *schema.persons}
    try:
        with open_source(job.rows_source(), job.encoding) as source:
            return tuple(name for name in source.columns if name not in named)
    except (KparetoError, OSError):
        return None


def use_sentence(partition: Partition, progress: Progress | None = None) -> str:
    """What the recoding costs somebody who predicts the target (IY-12): a tree's error before and after.

    Nothing where there is no target with two values, or where scikit-learn is not installed.
    """
    if not partition.table.targets or len(partition.table.targets[0].values) < 2 or find_spec("sklearn") is None:
        return ""
    if partition.table.targets[0].numbers is not None and len(partition.table.targets[0].values) > MOST_VALUES:
        return ""  # a number to be estimated, not a class to be told
    if partition.table.rows < FOLDS:
        return ""  # too few rows to learn from some and ask about others
    return tree_error(partition, report=progress).sentence()


def _find_release(job: Job, point: Point) -> tuple[Path, Mapping[str, Any]] | None:
    """The release and certificate where the job writes them, if they are of this very point and unchanged."""
    if job.target is None:
        return None
    file = job.path(job.target)
    document = document_files(file)["certificate"]
    if not file.exists() or not document.is_file():  # the release may be a folder of parts
        return None
    try:
        certificate = read_json(document, FileKind("The certificate", "Release again."), map_of(anything))
        released, columns = certificate["public"]["release"], certificate["confidential"]["recoding"]["columns"]
        same = released["sha256"] == file_digest(file) and columns == point.recoding.describe()
        return (
            (file, certificate)
            if same and released["rows"] == int(point.partition.rows[point.partition.visible].sum())
            else None
        )
    except (BadInput, OSError, KeyError, TypeError):
        return None  # not ours, or of another release: the report does not need it
