"""What the commands inspect, release, verify and apply do: everything that leaves the house goes through here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kpareto.applied import on_all_rows
from kpareto.apply import NewColumns, Unseen, apply
from kpareto.certificate import Certificate
from kpareto.console import progress, remark, show_table
from kpareto.errors import BadJob, Unsafe
from kpareto.front import Front, Point
from kpareto.inspect import inspect, job_text
from kpareto.job import Job, load_job
from kpareto.measure import make
from kpareto.partition import Partition
from kpareto.places import is_file
from kpareto.postgres import Postgres, bare, is_address
from kpareto.queries import UniqueRows
from kpareto.recoded import Handling
from kpareto.release import Release, release
from kpareto.remarks import Context, FrontFacts, Remark, SearchFacts, remarks
from kpareto.shell import choose_point, protect, read_problem, refuse_overwriting, search_front, steps, write_json
from kpareto.stored import as_choice, store
from kpareto.verify import Verified, parts, verify
from kpareto.whole import write_whole

SHOWN_CLASSES = 12


def where(source: str, table: str | None) -> Path | Postgres:
    """What is meant on the command line: a file, or a table where the source is the address of a database."""
    if not is_address(source):
        if table is not None:
            raise BadJob(f"There is a table {table!r} in databases alone. Give the address postgresql://… before it.")
        return Path(source)
    if table is None:
        raise BadJob("This is the address of a database, and no table is named. Say which one with --table NAME.")
    return Postgres(source, table)


def inspect_data(
    source: str,
    target: str | None,
    json_file: str | None,
    quiet: bool,
    encoding: str = "utf-8",
    table: str | None = None,
) -> None:
    """``kpareto inspect DATA``: profile the columns, propose roles and hierarchies, write a job."""
    data: object = where(source, table)
    if source == "adult":
        from kpareto.datasets import adult

        data = adult("train")
    refuse_overwriting([] if source == "adult" else [Path(source)], target, json_file)
    if target is not None and Path(target).exists():
        raise BadJob(f"{target!r} is there already, and may hold your own changes. Give another name, or remove it.")
    profile = inspect(data, encoding=encoding)
    if json_file != "-":
        rows = profile.rows()
        show_table(list(rows[0]), [list(row.values()) for row in rows])
    write_json(profile.to_dict() if json_file else None, json_file)
    if target is None:
        remark("Write a job from this with: -o job.toml", quiet)
        return
    near: str | Path = source
    if table is not None:
        near = bare(source)
    elif source != "adult":
        try:
            near = Path(source).resolve().relative_to(Path(target).resolve().parent)
        except ValueError:
            near = Path(source).resolve()
    write_whole(target, job_text(profile, str(near), table))
    remark(f"Wrote {target}. Look it over, then: kpareto front {target}", quiet)


def handling_of(job: Job) -> Handling:
    """How the job wants rows written."""
    given = dict(job.release)
    known = {key: given[key] for key in ("identifiers", "order", "seed", "formulas") if key in given}
    shown = given.get("representative", {})
    if not isinstance(shown, Mapping):
        raise BadJob(f'release.representative is {shown!r}. Write a table such as {{age = "midpoint"}}.')
    return Handling(missing_values=job.missing_values, shown=dict(shown), **known)


def warnings_for(
    point: Point,
    how: Handling,
    limits: Mapping[str, float],
    unique: UniqueRows | None,
    partition: Partition | None = None,
) -> list[Remark]:
    """The warnings W1 to W16 that apply to a point about to be released; ``partition``: on all rows, if it was not."""
    front = point.front
    made = front.provenance
    return remarks(
        Context(
            partition or point.partition,
            limits,
            front.problem.suppression,
            unique,
            search=SearchFacts(made.method, made.complete, made.evaluated, front.space.size),
            front=FrontFacts(tuple(front.names), tuple(map(tuple, front.numbers.values.tolist()))),
            representatives=tuple(name for name, form in how.shown.items() if form == "median"),
            certificate=True,
        )
    )


def release_limits(job: Job, point: Point) -> dict[str, float]:
    """What the written rows must meet: the job's limits on models, and the k and l of the choice."""
    limits = {name: limit for name, limit in job.limits.items() if hasattr(make(name), "by_class")}
    words = job.choose or ""
    for part in words.removeprefix("prefer:").split(","):
        name, equals, value = part.partition("=")
        if equals and name.strip() != "id" and hasattr(make(name.strip()), "by_class"):
            limits[name.strip()] = max(float(value), limits.get(name.strip(), 0.0))
    if "k" not in limits:
        limits["k"] = int(point.partition.sizes[point.partition.visible].min())
    return limits


def release_job(
    path: str,
    changes: Sequence[str] = (),
    json_file: str | None = None,
    quiet: bool = False,
    found: Front | None = None,
) -> tuple[Release, Point]:
    """``kpareto release JOB``: search, choose, recode, verify, certify; nothing is written that misses a limit."""
    job = load_job(path, changes)
    if job.target is None:
        raise BadJob("There is no file to release to. Add target under [release] in the job, or give --target FILE.")
    place = job.destination(job.target)
    protect(job, path, json_file)
    front = found or search_front(job, read_problem(job, quiet), quiet)
    if len(front) == 0:
        raise Unsafe("No recoding meets the limits, so nothing is released. Relax them, or allow more suppression.")
    point = choose_point(front, job.choose or ("k=5" if "k" in front.names else "knee"))
    how = handling_of(job)
    limits = release_limits(job, point)
    if limits["k"] <= 1 and "k" not in job.limits:
        raise Unsafe(
            f"The chosen point has k = {limits['k']:g}: rows would leave as they are. Choose another with "
            "--choose k=5, or say --set limits.k=1 if that is meant."
        )
    given = as_choice(point, limits)
    chosen, sampled = on_all_rows(given, job.rows_source(), job.encoding, how.missing_values, job.admission.memory)
    whole = None if sampled is None else chosen.partition()
    warned: list[Remark] = []

    def warn(unique: UniqueRows) -> list[tuple[str, str]]:
        """The warnings, once it is known which rows are alone in what was written (W1)."""
        warned.extend(warnings_for(point, how, limits, unique, whole))
        return [(each.id, each.text) for each in warned]

    with progress("Writing the release", 100, quiet) as advance:
        done = release(
            chosen,
            job.rows_source(),
            place,
            limits=limits,
            handling=how,
            warnings=warn,
            encoding=job.encoding,
            memory=job.admission.memory,
            progress=steps(advance),
        )
    # The papers on a table lie beside the job, under the table's name.
    beside = job.path(f"{file_name(str(place))}.table") if done.path is None else Path(place)
    files = write_papers(done, point, beside, limits)
    if json_file != "-":
        print_release(done, point, place, files, warned)
    write_json(release_data(done, point, {"release": Path(place), **files}, warned) if json_file else None, json_file)
    return done, point


def file_name(table: str) -> str:
    """The name of a table as a file can have it."""
    return re.sub(r"[^\w.-]", "_", table)


def write_papers(done: Release, point: Point, place: Path, limits: Mapping[str, float]) -> dict[str, Path]:
    """The certificate (whole and public) and the stored recoding, beside the release."""
    files = {
        "certificate": place.with_name(f"{place.stem}.certificate.json"),
        "public": place.with_name(f"{place.stem}.certificate.public.json"),
        "recoding": place.with_name(f"{place.stem}.recoding.json"),
    }
    done.certificate.write(files["certificate"])
    done.certificate.write_public(files["public"])
    store(done.choice or point, limits, done.origin).write(files["recoding"])
    return files


def print_release(
    done: Release, point: Point, place: str | Path, files: Mapping[str, Path], warned: Sequence[Remark]
) -> None:
    """What was released, in a few lines, and every warning."""
    numbers = ", ".join(verified_numbers(done.verified, done.certificate))
    click.echo(f"Released {size_of(done.verified)} to {place}; verified: {numbers}.")
    click.echo(f"Suppressed {done.suppressed:,} of {many(point.table.rows, 'row')}.")
    shown = point.recoding.describe()
    levels = ", ".join(
        f"{name} {value if isinstance(value, int) else f'{len(value)} groups'}" for name, value in shown.items()
    )
    click.echo(f"Recoding (level or groups per column): {levels}.")
    for name, file in files.items():
        secret = "" if name == "public" else " (confidential)"
        click.echo(f"  {name}: {file}{secret}")
    for sentence in done.remarks:
        click.echo(f"Note: {sentence}")
    for each in warned:
        click.echo(f"{each.id}: {each.text}")


def many(count: int, one: str, more: str | None = None) -> str:
    """A count with its noun: 1 row, 2 rows."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def size_of(found: Verified) -> str:
    """Rows and classes of a release."""
    return f"{many(found.rows, 'row')} in {many(found.classes, 'class', 'classes')}"


def verified_numbers(found: Verified, certificate: object) -> list[str]:
    """Each number that was recounted; where persons are told apart, k in persons stands before that in rows."""
    claims = parts(certificate)[0]["claims"]
    persons = {each["measure"]: each["value"] for each in claims if each.get("with", {}).get("counts") == "persons"}
    lines = []
    for name, value in found.numbers.items():
        told = f"{value:g}"
        if name in persons:
            told = (
                f"{persons[name]:g} persons ({value:g} rows)" if name == "k" else f"{persons[name]:g} ({value:g} rows)"
            )
        lines.append(f"{name} = {told}")
    return lines


def release_data(done: Release, point: Point, files: Mapping[str, Path], warned: Sequence[Remark]) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "point": point.to_dict(),
        "rows": done.rows,
        "suppressed": done.suppressed,
        "verified": dict(done.verified.numbers),
        "files": {"release": str(done.path), **{name: str(file) for name, file in files.items()}},
        "warnings": [each.to_dict() for each in warned],
        "remarks": list(done.remarks),
    }


def verify_file(path: str, certificate: str, json_file: str | None, table: str | None = None) -> None:
    """``kpareto verify RELEASE CERTIFICATE``: re-derive every claim from the released file or table."""
    refuse_overwriting([Path(path), Path(certificate)], json_file)
    found = verify(where(path, table), certificate)
    if json_file != "-":
        click.echo(f"{table or path} holds what its certificate claims: {size_of(found)}.")
        for line in verified_numbers(found, certificate):
            click.echo(f"  {line}")
        for name in found.unchecked:
            why = ": persons cannot be recounted from the file" if "counts=persons" in name else ""
            click.echo(f"  not checked: {name}{why}")
    data = {"rows": found.rows, "classes": found.classes, "numbers": found.numbers, "unchecked": list(found.unchecked)}
    write_json(data if json_file else None, json_file)


def apply_recoding(  # noqa: PLR0913 (the options of the command)
    recoding: str,
    source: str,
    target: str | None,
    unseen: Unseen,
    earlier: Sequence[str],
    json_file: str | None,
    quiet: bool,
    new_columns: NewColumns = "error",
    encoding: str | None = None,
    table: str | None = None,
) -> None:
    """``kpareto apply RECODING DATA``: recode new rows as stored, suppress there, and watch for drift."""
    data: object = where(source, table)
    if source == "adult-test":
        from kpareto.datasets import adult

        data = adult("test")
    place = target or f"{file_name(table) if table else Path(source).stem}-recoded.csv"
    paper = Path(f"{file_name(place)}.certificate.json")  # of a table; that of a file lies beside it
    if table is None or is_file(place):
        paper = Path(place).with_name(f"{Path(place).stem}.certificate.json")
    refuse_overwriting([Path(recoding), Path(source), *map(Path, earlier)], json_file)
    found = apply(
        recoding,
        data,
        place if table else Path(place),
        unseen=unseen,
        earlier=[Path(each) for each in earlier],
        new_columns=new_columns,
        encoding=encoding,
    )
    Certificate.write(found.release.certificate, paper)
    names = [name for name in found.fit if name in found.batch]
    if json_file != "-":
        counts = "" if found.release.partition.table.persons is None else " persons"
        rows = many(found.release.rows, "row")
        click.echo(f"Released {rows} to {place}; k = {found.k}{counts}, with earlier releases {found.k_union}.")
        show_table(
            ["", *names],
            [["fitting table", *(found.fit[n] for n in names)], ["new rows", *(found.batch[n] for n in names)]],
        )
        for column, values in found.unseen.items():
            click.echo(f"Unseen in {column!r}: {many(len(values), 'value')}.")
        for sentence in (*found.remarks, *found.release.remarks):
            click.echo(f"Note: {sentence}")
        for alarm in found.alarms:
            click.echo(f"ALARM: {alarm}")
    answer = {"fit": dict(found.fit), "batch": dict(found.batch), "k": found.k, "k_union": found.k_union,
              "unseen": {n: list(v) for n, v in found.unseen.items()}, "alarms": list(found.alarms),
              "remarks": [*found.remarks, *found.release.remarks]}  # fmt: skip
    write_json(json.loads(json.dumps(answer, default=float)) if json_file else None, json_file)
    remark(f"Certificate: {paper.name}", quiet)
