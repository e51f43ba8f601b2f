"""A differentially private release of what a job says: the order of the steps is what keeps the promise.

First everything that does not depend on the rows is checked: roles, hierarchies, target, columns. Then the run is
entered in the ledger. Only then the rows are read, and from there on nothing is told but the release itself: no front,
no counts, no losses, and of an error no more than that there was one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from kpareto.atomic import refuse_overwriting
from kpareto.engines import file_of, open_source
from kpareto.engines.duckdb.copies import is_workbook
from kpareto.engines.duckdb.files import is_json
from kpareto.engines.form import file_kind
from kpareto.engines.read import Wish, read, read_placed
from kpareto.engines.values import arrow_texts
from kpareto.errors import BadHierarchy, BadJob, KparetoError, MissingExtra, Unsafe, shorten
from kpareto.jobs.job import Job
from kpareto.jobs.release import beside, place_of
from kpareto.releases.choice import Choice
from kpareto.releases.documents import document_files, documents_of, refuse_others_documents
from kpareto.releases.private.budget import LEDGER, ROWS, Ledger, find_ledger, note_ledger, spend
from kpareto.releases.private.delta import Real, read_positive
from kpareto.releases.private.private_release import (
    SECRET,
    Draws,
    PrivatePlan,
    PrivateRelease,
    check_schema,
    make_plan,
    refuse_seed,
    release_private,
    state_privacy,
)
from kpareto.releases.private.scores import check_score
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.release import Release, release
from kpareto.releases.settings import DANGERS
from kpareto.releases.warnings import Remark, tell_once, warnings_for
from kpareto.tables.coarse import check_allowed
from kpareto.tables.hierarchies import load
from kpareto.tables.hierarchy import Hierarchy
from kpareto.tables.partition import Suppression
from kpareto.tables.recoding import bottom
from kpareto.tables.schema import Schema
from kpareto.tables.spelling import several
from kpareto.tables.table import Table, UniqueRows


@dataclass(frozen=True)
class PrivateWish:
    """What a private run may spend, and on what.

    Parameters
    ----------
    epsilon, delta : int, float, str or Fraction
        What this run spends.
    total : tuple of these two, optional
        Epsilon and delta that this table may ever spend; the first run says it.
    score : str, optional
        By which a recoding is chosen: granularity, intensity, uniform-entropy, class-count or discernibility.
    seed : object, optional
        Always refused: a run that can be repeated is not private.

    Examples
    --------
    >>> import kpareto as kp
    >>> kp.PrivateWish(epsilon=1, delta="1e-6").score
    'granularity'
    """

    epsilon: Real
    delta: Real
    total: tuple[Real, Real] | None = None
    score: str = "granularity"
    seed: object = None


@dataclass(frozen=True, eq=False)
class Privatized:
    """What a private run has left: the rows where they are now, their documents, and what is left of the budget."""

    plan: PrivatePlan
    release: Release
    statement: Mapping[str, Any]  # what the certificate says of it
    place: Path
    files: Mapping[str, Path]  # certificate, public
    ledger: Ledger
    ledger_file: Path

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "rows": self.release.rows,
            "verified": dict(self.release.verified.numbers),
            "differential_privacy": dict(self.statement),
            "files": {"release": str(self.place), **{word: str(file) for word, file in self.files.items()}},
            "ledger": str(self.ledger_file),
            "left": {"epsilon": float(self.ledger.left[0]), "delta": float(self.ledger.left[1])},
        }


def privatize(job: Job, wish: PrivateWish, place: str | Path | None = None, draws: Draws = SECRET) -> Privatized:
    """Draw, choose, generalize, drop small classes, verify, certify: a release with differential privacy.

    Parameters
    ----------
    job : Job
        The table, its roles and declared hierarchies.
    wish : PrivateWish
        What may be spent, and on what.
    place : str or Path, optional
        Where the rows are written, instead of the job's target.
    draws : Draws, optional
        Others than the secret ones are for tests, and the certificate then says that nothing is private.

    Returns
    -------
    Privatized
        The release, its documents, and what is left of the budget.

    Raises
    ------
    BadInput
        If a seed is given, a hierarchy is made from the rows, or a file would be overwritten.
    Unsafe
        If the run asks for more than is left of the budget, or no class is large enough.

    Examples
    --------
    Files are written::

        job = kp.load_job("job.toml")
        kp.privatize(job, kp.PrivateWish(epsilon=1, delta="1e-6"), "people-private.csv")
    """
    refuse_seed(job.release.get("seed") if wish.seed is None else wish.seed)
    if job.release.get("counts"):
        raise BadJob(
            "is set, and no epsilon covers counts of the rows. Nothing was released; leave counts out.",
            where="release.counts",
        )
    plan = make_plan(wish.epsilon, wish.delta, rows_per_person=job.release.get("rows_per_person"))
    check_score(wish.score)
    schema = _schema(job)
    check_schema(schema, plan.rows_per_person)
    hierarchies = declared_hierarchies(job, schema)
    target = _target(job, place)
    files = {word: file for word, file in document_files(target).items() if word != "recoding"}
    ledger_file, tables = _find_ledger(job)
    refuse_others_documents(beside(job, target))
    refuse_overwriting([*job.inputs, ledger_file], target, *files.values())
    _check_cells(job)
    with open_source(_rows(job), job.encoding) as rows:
        schema.check(rows.columns)
    if not job.embedded:  # which is public, and everywhere
        note_ledger(ledger_file)
    most = plan.rows_per_person
    bounded = "" if most is None else f", {several(most, 'row')} of each person at most"
    unit = ROWS if most is None else f"persons by {', '.join(schema.persons)}"
    purpose = f"a release to {target.name}{bounded}"
    ledger = spend(ledger_file, wish.epsilon, wish.delta, purpose, wish.total, tables, unit)
    drawn = _draw(job, schema, hierarchies, plan, wish.score, draws)
    _refuse_delta(read_positive("Delta", wish.delta), most or 1, int(drawn.counts.sum()))
    done, statement = _write(drawn, target, files)
    return Privatized(plan, done, statement, target, files, ledger, ledger_file)


def _schema(job: Job) -> Schema:
    """The roles that the job gives; of the embedded table's own, the quasi-identifiers alone."""
    schema = job.schema()
    others = [name for name, column in job.columns.items() if column.role in ("sensitive", "target")]
    return Schema(schema.quasi, person=schema.person, levels=schema.levels) if job.embedded and not others else schema


def _find_ledger(job: Job) -> tuple[Path, tuple[str, ...]]:
    """The ledger (beside the job where the table is no file of ours), and what the table is known by there."""
    if job.embedded:
        return job.folder / LEDGER, (job.source,)
    foreign = job.in_database or job.frame is not None
    home = job.folder if foreign else job.path(job.source).resolve().parent
    file, tables = find_ledger(home, job.rows_source())
    return file or home / LEDGER, tables


def _refuse_delta(delta: Fraction, most: int, rows: int) -> None:
    """Raise where delta is above 1/n, by the rows that are shown alone: of each person there are so many at most."""
    if delta * rows > most:
        least = -(-rows // most)
        many = "as many" if most == 1 else f"{least:,} persons"
        raise Unsafe(
            f"The release would have {rows:,} rows, so the table has at least {many}, and delta {float(delta):g} "
            f"is above 1/{least:,}: that would allow somebody's row to be shown as it is. Nothing was written, and the "
            "budget is spent. Give a delta far below that."
        )


def declared_hierarchies(job: Job, schema: Schema) -> dict[str, Hierarchy]:
    """A hierarchy for every quasi-identifier, made without its values; one that needs them is refused."""
    forms = job.forms(schema)
    bare = [name for name in schema.quasi if name not in forms]
    if bare:
        raise BadJob(
            f"The columns {shorten(bare)} have no hierarchy, so their values would be taken from the rows. Give each a "
            "hierarchy that lists every value that may occur, also those that do not."
        )
    hierarchies = {}
    for name, form in forms.items():
        try:
            hierarchies[name] = load(name, form)
        except BadHierarchy as error:
            raise BadHierarchy(
                f"The hierarchy of {name!r} cannot be made without the rows ({error}) Give a file that lists every "
                "value that may occur, or a rule with its ends, such as {intervals = [5, 10], from = 0, to = 120}."
            ) from error
    learned = [name for name, hierarchy in hierarchies.items() if hierarchy.data_dependent]
    if learned:
        raise BadHierarchy(f"The hierarchies of {shorten(learned)} depend on the rows. Give ones that do not.")
    for name in schema.levels:
        check_allowed(hierarchies[name], schema.levels[name])
    if job.missing == "error" or job.admission.too_many != "error" or job.admission.coarsen != "needed":
        raise BadJob(
            'A private run tells nothing of the rows, so it cannot stop at missing values (missing = "error") or read '
            'fewer or coarser rows where there are many. Take these keys out of [data]; missing = "drop" and '
            '"category" are fine.'
        )
    return hierarchies


def _check_cells(job: Job) -> None:
    """Raise where what a cell is depends on other cells of its column, so that one row may change all others."""
    file = file_of(job.rows_source())
    if file is None or not file.is_file():
        return
    if file_kind(file.name) in ("json", "sheet") or is_json(file) or is_workbook(file):
        raise BadJob(
            f"In a file such as {str(file)!r} all rows decide whether the cells of a column are numbers, dates or "
            "texts, so one row may change what the others are, and no epsilon covers that. Give a text file, Parquet "
            "or a table of a database."
        )


def _target(job: Job, place: str | Path | None) -> Path:
    target = Path(place_of(job) if place is None else place)
    if target.suffix.lower() not in (".csv", ".parquet"):
        raise BadJob(f"A private release goes to a .csv or .parquet file, not to {str(target)!r}. Give --target FILE.")
    return target


def _draw(
    job: Job, schema: Schema, hierarchies: Mapping[str, Hierarchy], plan: PrivatePlan, score: str, draws: Draws
) -> PrivateRelease:
    """The only step that sees the rows."""
    drawn = None
    try:
        drawn = release_private(_read(job, schema, hierarchies), plan, score, draws)
    except MissingExtra:
        raise
    except KparetoError:
        pass  # the same sentence as for a release without rows: which of the two it is depends on the rows
    if drawn is None or not len(drawn.counts):
        raise Unsafe(
            f"No class had {plan.k:,} drawn rows under the recoding that was chosen, or the rows could not be read "
            "with these roles (kpareto inspect tells), so the release is empty and nothing was written. Why depends on "
            "the rows, so it is not told here. The budget is spent."
        )
    return drawn


def _read(job: Job, schema: Schema, hierarchies: Mapping[str, Hierarchy]) -> Table:
    """The rows by their quasi-identifiers alone; of the embedded table the rows without any missing value."""
    if job.embedded:
        table = replace(job, everybody=None).table()
        return replace(table, schema=schema, sensitive=(), targets=()).bind(hierarchies, "declared")
    wish = Wish(schema, job.missing or "drop", job.missing_values, hierarchies, "declared")
    return read_placed(_rows(job), wish, job.admission, job.encoding)


def _rows(job: Job) -> Any:
    """The source, read as the job says: that the first line has names is not doubted because of a row like them."""
    form = replace(job.form, header=job.form.has_header)
    return replace(job, form=form).rows_source()


def _write(drawn: PrivateRelease, target: Path, files: Mapping[str, Path]) -> tuple[Release, dict[str, Any]]:
    """Through the usual door: written, counted again by the verifier, documents first."""
    rows, table = shown_rows(drawn)
    k = float(drawn.plan.k)
    choice = Choice(table, bottom(table.hierarchies), Suppression("none"), {"k": k})
    handling = Handling(missing_values=())
    statement: dict[str, Any] = {}

    def warn(unique: UniqueRows, handled: Handling) -> list[Remark]:
        warned = warnings_for(choice, handled, choice.limits, unique, private=drawn.secret)
        return [_count_rows(each, drawn.plan) for each in warned]

    def papers(done: Release) -> Any:
        stated = state_privacy(done.certificate, drawn)
        statement.update(stated.public["differential_privacy"])
        return documents_of(Release(stated, done.partition, done.verified, choice=done.choice), files, {"k": k})

    # That a release is refused would tell of its rows, beyond epsilon.
    done = release(
        choice, rows, target, limits={"k": k}, handling=handling, warnings=warn, papers=papers, accept=DANGERS
    )
    tell_once(done.warnings, 4)
    return done, statement


def _count_rows(warning: Remark, plan: PrivatePlan) -> Remark:
    """W3 of a release whose rows do not tell persons apart any more: how many of each may be in a class."""
    if warning.id != "W3" or plan.rows_per_person is None:
        return warning
    most = plan.rows_per_person
    text = (
        f"k = {warning.numbers['k_rows']} counts rows, of which {several(most, 'row')} at most "
        f"{'is' if most == 1 else 'are'} of one person. Epsilon and delta are those of a person, with all rows."
    )
    return replace(warning, severity="note", text=text, remedy=None)


def shown_rows(drawn: PrivateRelease) -> tuple[Any, Table]:
    """The rows that are shown, as a frame and as a table of their own; both know nothing of any other row."""
    import pyarrow as pa

    columns = {}
    for place, hierarchy in enumerate(drawn.recoding.hierarchies):
        words = drawn.recoding.labels[place]
        groups = drawn.groups[:, place].repeat(drawn.counts)
        columns[hierarchy.name] = arrow_texts([words[group] for group in groups.tolist()])
    rows = pa.table(columns)
    return rows, read(rows, Schema(tuple(columns)), missing="error", missing_values=())
