"""What the commands inspect, release, verify and apply print and write; the release itself is in jobs/release.py."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from warnings import catch_warnings, simplefilter

import click

from kpareto.atomic import refuse_overwriting, write_whole
from kpareto.engines import address_of, is_address, table_at
from kpareto.engines.postgres.connect import bare
from kpareto.engines.recognise import recognise
from kpareto.engines.source import format_of, is_file_name
from kpareto.errors import BadInput, BadJob, ReleaseWarning, Unsafe, shorten
from kpareto.faces.cli.fronts import check_files, find_front, models_command, protect, read_problem, show_answer
from kpareto.faces.console import remark, reporting, show_table, visible, write_json
from kpareto.fronts.choose import check_wish
from kpareto.fronts.front import Front
from kpareto.jobs.arx.export import PROGRAM, export_arx
from kpareto.jobs.arx.project import ArxProject, look_at, read_arx
from kpareto.jobs.front import (
    check_choice,
    for_choice,
    is_searched_for,
    keep_front,
    kept_columns,
    recall_front,
    refuse_new_columns,
    search_for_choice,
)
from kpareto.jobs.inspect import PROPOSED, SAME_WAY, Profile, inspect, job_text, may_ask_model
from kpareto.jobs.job import Job
from kpareto.jobs.parse import load_job, read_form_words
from kpareto.jobs.private import PrivateWish, Privatized, privatize
from kpareto.jobs.release import file_name, files_of, place_of, release_job
from kpareto.kernels.compiling import NotCompiled, without_compiling, working
from kpareto.measures.cells import lm
from kpareto.measures.measure import make, spell
from kpareto.releases.apply import NewColumns, Unseen, apply
from kpareto.releases.certificate import find_unlimited
from kpareto.releases.documents import document_files, documents_of, refuse_others_documents
from kpareto.releases.release import Release
from kpareto.releases.settings import read_accepted
from kpareto.releases.signing import key_named, load_key, new_key, signature_files, with_signatures
from kpareto.releases.spread import impute, note_of
from kpareto.releases.warnings import Remark, count_remarks, rank_remarks
from kpareto.strict import FileKind, toml_value
from kpareto.tables.proposals import UNKNOWN
from kpareto.tables.recoding import recoding_words
from kpareto.tables.spelling import MARKS, several
from kpareto.verifier import Verified, parts, verify
from kpareto.verifier.signatures import trusted_bytes

EMBEDDED: Mapping[str, Literal["train", "test"]] = {"adult": "train"}  # the word -> its part
MOST_READ = 200_000  # rows that inspect reads once more, to measure two models on a sample of them


def where(source: str, table: str | None) -> Any:
    """What is meant on the command line: a file, or a table where the source is the address of a database."""
    if table is not None:
        return table_at(source, table)
    if is_address(source):
        raise BadJob("This is the address of a database, and no table is named. Say which one with --table NAME.")
    return Path(source)


def rows_of(source: str, table: str | None, embedded: Mapping[str, Literal["train", "test"]] = EMBEDDED) -> Any:
    """The rows that a command names: the embedded table too, by a word."""
    if table is None and source in embedded:
        from kpareto.tables.adult import adult

        return adult(embedded[source])
    return where(source, table)


def file_of_rows(source: str, table: str | None) -> list[Path]:
    """The file that a command reads rows from, which it must not write over; none of the embedded table."""
    return [] if source == "adult" or table else [Path(source)]


def inspect_data(
    source: str,
    target: str | None = None,
    encoding: str = "utf-8",
    form: Sequence[str] = (),
    table: str | None = None,
    json_file: str | None = None,
    quiet: bool = False,
) -> None:
    """``kpareto inspect DATA``: profile the columns, propose roles and hierarchies, write a job."""
    if source.lower().endswith(".deid"):
        if form or table is not None or encoding != "utf-8":
            raise BadJob("A project of ARX says how it is to be read. Leave --encoding, --form and --table out.")
        inspect_project(source, target, json_file, quiet)
        return
    data = rows_of(source, table)
    refuse_overwriting(file_of_rows(source, table), target, json_file)
    if target is not None and Path(target).exists():
        raise BadJob(f"{target!r} is there already, and may hold your own changes. Give another name, or remove it.")
    profile = inspect(data, encoding=encoding, form=read_form_words(form, source))
    show_answer(profile, json_file, print_inspection)
    if target is None:
        remark("Write a job from this with: -o job.toml", quiet)
    else:
        write_job(profile, source, table, target)
        remark(f"Wrote {target}. Look it over, then: kpareto front {target}", quiet)
        if profile.person is None:
            remark(f"Other models may keep more. Compare them with: {models_command(target)}", quiet)


def say_models_in_use(profile: Profile) -> str:
    """Both models in numbers of use, measured on a sample where that is quick: nothing is compiled for a sentence."""
    use = None
    if profile.total <= MOST_READ and address_of(profile.source) is None:
        from kpareto.uses.models_in_use import models_in_use

        with suppress(NotCompiled, BadInput, Unsafe), without_compiling():
            use = models_in_use(profile.job.problem())
    return "kpareto utility tells how far off counts are with either." if use is None else use.sentence()


def write_job(profile: Profile, source: str, table: str | None, target: str) -> None:
    """The proposed job, with the source as it is called from the job's folder."""
    near: str | Path = source
    if table is not None:
        near = bare(source)
    elif source != "adult":
        try:
            near = Path(source).resolve().relative_to(Path(target).resolve().parent)
        except ValueError:
            near = Path(source).resolve()
    write_whole(target, job_text(profile, str(near), table))


def print_profile(profile: Profile) -> None:
    """A table of what was counted, which fits a screen, and below it why each column is so, and how it may be.

    Columns of which nothing is known have one sentence together, at the end.
    """
    rows = profile.rows()
    words = ("hierarchy", "why")
    show_table(
        [head for head in rows[0] if head not in words], [[v for h, v in r.items() if h not in words] for r in rows]
    )
    click.echo()
    for row in rows:
        if row["why"] == UNKNOWN:
            continue
        rule = f" Hierarchy: {row['hierarchy']}." if row["hierarchy"] else ""
        click.echo(visible(f"{row['column']}: {row['why']}{rule}"))
    if unknown := [row["column"] for row in rows if row["why"] == UNKNOWN]:
        says = "its name says" if len(unknown) == 1 else "their names say"
        click.echo(visible(f"{shorten(unknown)}: {says} nothing."))


def print_inspection(profile: Profile) -> None:
    """The columns, the sentences on the whole table, and which model of recoding suits."""
    print_profile(profile)
    for sentence in profile.sentences():
        click.echo(sentence)
    if may_ask_model(profile):
        click.echo(
            f"{SAME_WAY} If so, stay with whole columns; if not, class by class is recommended (--model local). "
            + say_models_in_use(profile)
        )


def show_release(  # noqa: PLR0913 (the options of the command)
    path: str,
    choose: str | None = None,
    target: str | None = None,
    counts: bool = False,
    accept: Sequence[str] = (),
    sign: str | None = None,
    overwrite: bool = False,
    changes: Sequence[str] = (),
    model: str | None = None,
    json_file: str | None = None,
    quiet: bool = False,
    front: Front | None = None,
) -> Release:
    """``kpareto release JOB``: search, choose, recode, verify, certify; nothing is written that misses a limit."""
    more = [f"release.choose={toml_value(choose)}"] if choose else []
    more += ["release.counts=true"] if counts else []
    if target:  # anything but a file is the name of a table, where the rows are in a database
        named = str(Path(target).absolute()) + "/" * target.endswith("/") if is_file_name(target) else target
        more.append(f"release.target={toml_value(named)}")
    job = load_job(path, (*changes, *more), model)
    if sign is not None:
        job = replace(job, release={**job.release, "sign": str(Path(sign).absolute())})
    if accept:
        accepted = read_accepted([*job.release.get("accept", ()), *accept], "--accept")
        job = replace(job, release={**job.release, "accept": accepted})
    place = place_of(job)
    key_named(job.release.get("sign"), job.folder)  # a key that cannot sign is told before the search
    written = place if isinstance(place, Path) or is_file_name(place) else None
    protect(job, path, written, *files_of(job, place).values(), json_file)
    check_before(job, written, overwrite)
    check_files(json_file)
    front = front or front_of_job(path, job, quiet)
    with reporting("Writing the release", quiet) as report:
        released = release_job(job, front, place, report)
    show_answer(released, json_file, print_release)
    return released


def check_before(job: Job, written: str | Path | None, overwrite: bool) -> None:
    """Raise, before anything is searched, where the choice or the target of a release cannot be."""
    if job.choose is not None:
        check_wish(job.choose, [make(name).name for name in (*job.objectives, *job.limits)])
    if written is None:
        return
    if not str(written).endswith("/"):
        format_of(Path(written))
    check_files(str(written).rstrip("/"))
    refuse_unasked(written, overwrite)


def refuse_unasked(place: str | Path, overwrite: bool, option: str = "--target") -> None:
    """Raise where something lies that a release or a report would replace, unless that is asked for."""
    if Path(place).exists() and not overwrite:
        whole = " with its documents" if option == "--target" else ""
        raise BadJob(f"{str(place)!r} is there already. Give --overwrite to replace it{whole}, or another {option}.")


def front_of_job(path: str, job: Job, quiet: bool) -> Front:
    """The front that was kept beside the job, where the job is unchanged, else a new one, which is kept.

    A new one is for what the job chooses alone.
    """
    since, problem = working(), read_problem(job, quiet)
    if job.choose is not None:
        check_choice(problem, job.choose)
    front = recall_front(path, job, problem)
    if front is None:
        job = for_choice(job)
        front = recall_front(path, job, problem)
    if front is not None:
        refuse_new_columns(kept_columns(path), job, problem.table.columns)
        remark("The job is unchanged since its front was searched, which is used again.", quiet)
        return search_choice(path, job, front, quiet)
    front = find_front(job, problem, quiet, since=since)
    keep_front(path, job, front)
    return search_choice(path, job, front, quiet)


def search_choice(path: str, job: Job, front: Front, quiet: bool) -> Front:
    """The front searched for what the job chooses, and kept so; the same one where it has been already."""
    if is_searched_for(front, job.choose):
        return front
    with reporting("Searching for the chosen k", quiet) as report:
        further = search_for_choice(front, job.choose, report)
    keep_front(path, job, further)
    return further


def print_release(done: Release) -> None:
    """What was released, in a few lines, and every warning."""
    numbers = ", ".join(verified_numbers(done.verified, done.certificate))
    click.echo(f"Released {size_of(done.verified)} to {done.place}; verified: {numbers}.")
    print_unlimited(done.certificate.public)
    click.echo(f"Suppressed {done.suppressed:,} of {several(done.partition.table.rows, 'row')}.")
    kept = f"{100 * (1 - lm()(done.partition)):.1f} % of the detail is kept"
    click.echo(f"{kept}: {recoding_words((done.point or done.partition).recoding)}.")
    print_files(done.files)
    for sentence in done.remarks:
        click.echo(f"Note: {sentence}")
    print_warnings(done.warnings)


def print_unlimited(public: Mapping[str, Any], indent: str = "") -> None:
    """Which sensitive columns no limit protects, whatever the numbers beside it are."""
    if names := find_unlimited(public):
        click.echo(f"{indent}No limit protects the values of {shorten(names)}.")


def print_files(files: Mapping[str, Path]) -> None:
    """Each document of a release, and whether it is confidential."""
    for name, file in files.items():
        secret = "" if name.startswith("public") or name.endswith("signature") else " (confidential)"
        click.echo(f"  {name}: {file}{secret}")


def print_warnings(warnings: Sequence[Remark]) -> None:
    """How many warnings a release has, and each of them, the gravest first."""
    if warnings:
        click.echo(f"Warnings: {count_remarks(warnings)}.")
    for warning in rank_remarks(warnings):
        click.echo(f"{warning.id} ({warning.severity}): {warning.text}")


def size_of(verified: Verified) -> str:
    """Rows and classes of a release."""
    return f"{several(verified.rows, 'row')} in {several(verified.classes, 'class', 'classes')}"


def verified_numbers(verified: Verified, certificate: object) -> list[str]:
    """Each number that was recounted; where persons are told apart, what counts them stands before what counts rows."""
    claims = [claim for part in parts(certificate) for claim in part.get("claims", ())]
    of_persons = [claim for claim in claims if claim.get("with", {}).get("counts") == "persons"]
    lines = []
    for claim in of_persons:
        options = dict(sorted(claim["with"].items()))
        name = spell(claim["measure"], **{key: option for key, option in options.items() if key != "counts"})
        value = verified.numbers.get(spell(claim["measure"], **options))
        rows, size = verified.numbers.get(name), name == "k"
        if value is not None:
            more = "" if rows is None else f" ({rows:g} {'rows' if size else 'by rows'})"
            lines.append(f"{name} = {value:g}{' persons' * size}{more}")
        elif rows is not None:
            claimed = f"of {claim['value']} persons" if size else f"{claim['value']} by persons"
            lines.append(f"{name} = {rows:g} {'rows' if size else 'by rows'} ({claimed}, it says)")
    known = {line.partition(" = ")[0] for line in lines}
    others = {name: value for name, value in verified.numbers.items() if "counts=persons" not in name}
    by_rows = " by rows" if of_persons else ""
    return lines + [f"{name} = {value:g}{by_rows}" for name, value in others.items() if name not in known]


def unchecked_statements(verified: Verified) -> list[str]:
    """What a certificate says and nobody has checked: differential privacy first, then claims, then the rest."""
    private = [words for words in verified.said if words.startswith("differential_privacy.")]
    claims = [
        f"{name}: persons cannot be recounted from the file" if "counts=persons" in name else name
        for name in verified.unchecked
    ]
    return [*private, *claims, *(words for words in verified.said if words not in private)]


def verify_file(
    path: str,
    certificate: str,
    trust: str | None = None,
    signer: str | None = None,
    population: str | None = None,
    table: str | None = None,
    json_file: str | None = None,
) -> None:
    """``kpareto verify RELEASE CERTIFICATE``: re-derive every claim from the released file or table."""
    refuse_overwriting([Path(path), Path(certificate), *([Path(population)] if population else [])], json_file)
    everybody = None if population is None else recognise(population, "utf-8", MARKS).source
    verified = verify(where(path, table), certificate, trust, everybody, signer)
    if json_file != "-":
        only_said = unchecked_statements(verified)
        statements = several(verified.recomputed + verified.compared + len(only_said), "statement")
        click.echo(
            f"{table or path} holds what its certificate claims: {size_of(verified)}. Of {statements} "
            f"{verified.recomputed:,} were recomputed, {verified.compared:,} compared with the confidential part, and "
            f"{len(only_said):,} only said."
        )
        for line in verified_numbers(verified, certificate):
            click.echo(f"  {line}")
        print_unlimited(parts(certificate)[0], "  ")
        if verified.thresholds:
            spelled = ", ".join(f"{name} = {value:g}" for name, value in verified.thresholds.items())
            click.echo(f"  every class meets the thresholds of suppression: {spelled}")
        for words in only_said:
            click.echo(f"  said, not checked: {visible(words)}")
        if verified.files:
            click.echo(f"Looked at {several(len(verified.files), 'file')}: {shorten(verified.files, 10)}.")
        click.echo(verified.proves)
    data = {
        "rows": verified.rows,
        "classes": verified.classes,
        "numbers": verified.numbers,
        "unchecked": list(verified.unchecked),
        "said": list(verified.said),
        "statements": {"recomputed": verified.recomputed, "compared": verified.compared},
        "thresholds": dict(verified.thresholds),
        "files": list(verified.files),
        "proves": verified.proves,
        "signed_by": None if verified.signer is None else verified.signer.fingerprint,
    }
    write_json(data if json_file else None, json_file)


def draw_copies(path: str, output: str, certificate: str | None, copies: int, seed: int, quiet: bool) -> None:
    """``kpareto impute RELEASE -o FILE``: values in place of labels, and a note that they are drawn."""
    drawn = impute(path, output, public=certificate, copies=copies, seed=seed)
    click.echo(f"Wrote {several(copies, 'copy', 'copies')} of {several(drawn.num_rows // copies, 'row')} to {output}.")
    remark(f"The values are drawn, and nobody's; {note_of(Path(output)).name} says so.", quiet)


def make_key(name: str, quiet: bool) -> None:
    """``kpareto key new NAME``: a key to sign releases with, and its public half."""
    private, public = new_key(name)
    click.echo(f"Made {private} (keep it to yourself; it can only be made once) and {public} (give it to everybody).")
    remark(f"Sign with: kpareto release JOB --sign {private}", quiet)
    remark(f"Check with: kpareto verify RELEASE CERTIFICATE --trust {public}", quiet)


def apply_recoding(  # noqa: PLR0913 (the options of the command)
    recoding: str,
    source: str,
    target: str | None,
    unseen: Unseen,
    earlier: Sequence[str],
    new_columns: NewColumns,
    encoding: str | None,
    accept: Sequence[str],
    sign: str | None,
    overwrite: bool,
    trust: str | None,
    table: str | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """``kpareto apply RECODING DATA``: recode new rows as stored, suppress there, and watch for drift."""
    data = rows_of(source, table, {"adult-test": "test"})
    place = target or f"{file_name(table) if table else Path(source).stem}-recoded.csv"
    written = place if table is None or is_file_name(place) else None
    beside = written or file_name(place)  # the documents of a table lie here
    files = document_files(beside)
    outdated = outdated_documents(files.pop("recoding"), recoding)
    refuse_others_documents(beside)
    key = None if sign is None else load_key(sign)
    signed = {} if key is None else signature_files(files)
    read = [Path(recoding), *([] if table else [Path(source)]), *map(Path, [*earlier, *([sign] if sign else [])])]
    refuse_overwriting(read, json_file, *files.values(), *signed.values(), beside)
    check_files(json_file)
    for there in ([] if written is None else [Path(written)]) + outdated:
        refuse_unasked(there, overwrite)
    if trust is not None:
        trusted_bytes(recoding, trust, FileKind("The recoding", "Take the file as it was written with its release."))
    with catch_warnings():
        simplefilter("ignore", ReleaseWarning)  # they are printed below
        applied = apply(
            recoding,
            data,
            place if table else Path(place),
            unseen=unseen,
            earlier=[Path(file) for file in earlier],
            new_columns=new_columns,
            encoding=encoding,
            accept=read_accepted(accept, "--accept"),
            papers=lambda done: {**with_signatures(documents_of(done, files, {}), key), **dict.fromkeys(outdated)},
        )
    files |= signed
    names = [name for name in applied.fit if name in applied.batch]
    if json_file != "-":
        counts = "" if applied.release.partition.table.persons is None else " persons"
        rows = several(applied.release.rows, "row")
        union = "not known in persons" if applied.k_union is None else f"{applied.k_union}"
        together = f", with earlier releases {union}" if earlier else ""
        click.echo(f"Released {rows} to {place}; k = {applied.k}{counts}{together}.")
        show_table(
            ["", *names],
            [["fitting table", *(applied.fit[n] for n in names)], ["new rows", *(applied.batch[n] for n in names)]],
        )
        for column, values in applied.unseen.items():
            click.echo(f"Unseen in {column!r}: {several(len(values), 'value')}.")
        print_files(files)
        for sentence in (*applied.remarks, *applied.release.remarks):
            click.echo(f"Note: {sentence}")
        for alarm in applied.alarms:
            click.echo(f"ALARM: {alarm}")
        print_warnings(applied.warnings)
    answer = {"fit": dict(applied.fit), "batch": dict(applied.batch), "k": applied.k, "k_union": applied.k_union,
              "unseen": {n: list(v) for n, v in applied.unseen.items()}, "alarms": list(applied.alarms),
              "remarks": [*applied.remarks, *applied.release.remarks],
              "files": {"release": place, **{word: str(file) for word, file in files.items()}},
              "warnings": [warning.to_dict() for warning in applied.warnings]}  # fmt: skip
    write_json(json.loads(json.dumps(answer, default=float)) if json_file else None, json_file)
    remark(f"Hand out {place} and {files['public'].name}; keep the other documents.", quiet)


def outdated_documents(beside: Path, used: str) -> list[Path]:
    """The recoding of a release that is replaced, with its signature; none where it is the one in use."""
    if os.path.realpath(beside) == os.path.realpath(used):
        return []
    return [file for file in (beside, *signature_files({"recoding": beside}).values()) if file.is_file()]


def inspect_project(source: str, target: str | None, json_file: str | None, quiet: bool) -> None:
    """Say what a project of ARX asks for and what of it has no counterpart; write it as a job."""
    refuse_overwriting([Path(source)], target, json_file)
    project = look_at(source) if target is None else read_arx(source, target)
    show_answer(project, json_file, print_project)
    if target is None:
        remark("Make a job of it with: -o job.toml", quiet)
    else:
        remark(f"Wrote {target}. Look it over, then: kpareto front {target}", quiet)


def print_project(project: ArxProject) -> None:
    """The sentences."""
    for sentence in project.sentences():
        click.echo(visible(sentence))


def export_job(job: str, target: str, changes: tuple[str, ...], quiet: bool) -> None:
    """Write a job's hierarchies and settings for ARX, and say what it has no word for."""
    with reporting("Reading", quiet):
        notes = export_arx(load_job(job, changes), target)
    for note in notes:
        click.echo(visible(f"Not in ARX: {note}."))
    remark(f"Wrote {target}: {PROGRAM}.java says how to run it.", quiet)


# What the command private prints: what was spent, the release and its documents, and nothing else about the rows.

LEARNED = (
    "This job was proposed by kpareto inspect, which looked at the rows: roles, hierarchies and the files it wrote may "
    "tell about them, and no epsilon covers that. Set them without the rows."
)
UNUSED = "[search], [limits], [suppression] and [population] of the job play no part here."


def show_private(  # noqa: PLR0913 (the options of the command)
    path: str,
    epsilon: str,
    delta: str,
    total: tuple[str, str] | None,
    score: str,
    target: str | None,
    seed: str | None,
    changes: Sequence[str],
    json_file: str | None,
    quiet: bool,
) -> None:
    """``kpareto private JOB``: one run, its place in the ledger, and what it left."""
    wish = PrivateWish(epsilon, delta, total, score, seed)
    job = load_job(path, changes)
    if was_proposed(path):
        click.echo(f"Warning: {LEARNED}", err=True)
    remark(UNUSED, quiet)
    with catch_warnings():
        simplefilter("ignore", ReleaseWarning)  # they are printed below
        done = privatize(job, wish, None if target is None else Path(target).absolute())
    show_answer(done, json_file, print_private)


def was_proposed(path: str) -> bool:
    """Whether a job still says that it was made by looking at the rows."""
    place = Path(path)
    return place.is_file() and PROPOSED in place.read_text(encoding="utf-8", errors="replace")


def print_private(done: Privatized) -> None:
    """What was released and spent, in a few lines."""
    plan, left = done.plan, done.ledger.left
    click.echo(
        f"Released {size_of(done.release.verified)} to {done.place}, differentially private with epsilon "
        f"{float(plan.epsilon):g} and delta {float(plan.delta):g}; verified: every class has at least {plan.k:,} rows."
    )
    click.echo(
        f"Each row was drawn with chance {float(plan.beta):.4g}; {float(plan.epsilon_search):g} of epsilon went into "
        f"the choice of the recoding, {float(plan.epsilon_anon):g} into the rows."
    )
    if plan.rows_per_person is not None:
        click.echo(
            f"Epsilon and delta are those of a person, of whom {several(plan.rows_per_person, 'row')} at most count."
        )
    levels = ", ".join(f"{name} {level['level']} of {level['of']}" for name, level in done.statement["levels"].items())
    click.echo(f"Recoding (level per column): {levels}.")
    for name, file in done.files.items():
        click.echo(f"  {name}: {file}")
    click.echo(f"Left of the budget {done.ledger_file}: epsilon {float(left[0]):g}, delta {float(left[1]):g}.")
    click.echo(done.statement["left_out"])
    for sentence in done.statement["assumed"]:
        click.echo(f"Assumed: {sentence}")
    print_warnings(done.release.warnings)
