"""Release a chosen recoding of a table: recode, suppress, write, count again what was written, certify.

Nothing is moved into place before the independent verifier has read the written file and found every limit met there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any
from warnings import warn as warn_caller

import numpy as np

from kpareto.atomic import Document, Moving, documents_first
from kpareto.engines import file_of, form_of, in_form, open_source
from kpareto.engines.admission import allowed_bytes
from kpareto.engines.facts import count_columns
from kpareto.engines.read import fingerprint
from kpareto.engines.source import Source, Written, is_text
from kpareto.engines.unique_rows import open_view
from kpareto.errors import BadInput, BadSchema, BadTable, Progress, Remedy, Unsafe
from kpareto.fronts.front import Point
from kpareto.measures import make
from kpareto.measures.cells import lm
from kpareto.measures.measure import Measure, Model, meets
from kpareto.measures.population import is_estimated
from kpareto.releases.certificate import Certificate, Facts, Warned, certify, population_cells
from kpareto.releases.choice import Choice, Origin, as_choice, on_all_rows
from kpareto.releases.labels import refuse_counts
from kpareto.releases.private.budget import has_ledger
from kpareto.releases.recoded_rows import QUASI, Handling, Recoded, reading_as, recode, runs
from kpareto.releases.risk.disclosing_columns import DisclosingColumn, tie_undecided
from kpareto.releases.settings import read_accepted
from kpareto.releases.warnings import (
    Remark,
    complete_warnings,
    count_remarks,
    rank_remarks,
    refuse_dangers,
    tell_once,
    warnings_for,
)
from kpareto.tables.hierarchy import STAR
from kpareto.tables.partition import Partition
from kpareto.tables.proposals import ColumnFacts, why_direct
from kpareto.tables.recoding import recoding_words
from kpareto.tables.schema import Schema
from kpareto.tables.spelling import several
from kpareto.tables.table import UniqueRows, table_digest
from kpareto.tables.vocabulary import topic_of
from kpareto.verifier import Verified, check
from kpareto.verifier.counters import count
from kpareto.verifier.counting import Counted, with_persons

SAMPLE = 100_000  # rows that are looked at first for columns that identify, about
UPPER_END = "an upper end that holds with a chance of 95 % in any population, if the rows are a random sample of it."
LEAST = 500_000_000  # bytes without which DuckDB cannot sort rows on disk
# From the rows that are alone in what was written, and how rows were handled at last.
Warn = Callable[[UniqueRows, Handling], Sequence[Remark | Warned]]
# From a release that was counted and is not yet in its place: its documents, and None for one there that goes.
Documents = Callable[["Release"], Mapping[Path, Document | None]]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What is handed out: the recoded rows, what was suppressed, and the certificate.

    Attributes
    ----------
    certificate : Certificate
        What is claimed of the rows; ``write`` and ``write_public`` make files of it.
    partition : Partition
        The classes.
    verified : Verified
        What was counted again in the rows as written.
    path : Path or None
        The written file.
    data : object
        The rows, where no target was given: of the frame's own type, else a pyarrow table.
    formulas : mapping of str to int
        Column -> cells that a spreadsheet would run.
    remarks : tuple of str
        What had to be done otherwise than asked, and what to look out for.
    warnings : tuple of Remark
        What must be known of the release.
    origin : Origin or None
        What a stored recoding should know of the source.
    choice : Choice or None
        What was released, on all rows of the source.
    unique : UniqueRows or None
        The released rows that no other equals, where warnings asked for them.
    disclosing_columns : tuple of DisclosingColumn
        Plain ones that tell what generalized ones hide (W17).
    point : Point or None
        Of the front that it was chosen from.
    place : str or path
        The target: a file, a folder, or a table in a database; nothing without one.
    files : mapping of str to Path
        Its documents and their signatures, where a job wrote them.

    Examples
    --------
    >>> import kpareto as kp
    >>> people = kp.adult().select(["age", "sex"])
    >>> table = kp.read(people, kp.Schema(["age", "sex"]), hierarchies={"age": {"intervals": [10, 20]}})
    >>> kp.release(kp.front(table).choose(k=10), people)
    Release(32,561 rows, 0 suppressed, verified: k = 14, 3 cautions, 3 notes)
    """

    certificate: Certificate
    partition: Partition
    verified: Verified
    path: Path | None = None
    data: Any = None
    formulas: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    warnings: tuple[Remark, ...] = ()
    origin: Origin | None = None
    choice: Choice | None = None
    unique: UniqueRows | None = None
    disclosing_columns: tuple[DisclosingColumn, ...] = ()
    point: Point | None = None
    place: str | PathLike[str] = ""
    files: Mapping[str, Path] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Short, and nothing that is confidential: a notebook prints this."""
        numbers = ", ".join(f"{name} = {value:g}" for name, value in self.verified.numbers.items())
        warned = f", {count_remarks(self.warnings)}" if self.warnings else ""
        file = "" if self.path is None else f" in {self.path.name}"
        return f"Release({self.rows:,} rows{file}, {self.suppressed:,} suppressed, verified: {numbers}{warned})"

    def summary(self) -> str:
        """What was released, how each column is shown, and the warnings, the gravest first."""
        kept = 100 * (1 - lm()(self.partition))
        lines = [repr(self), f"{kept:.1f} % of the detail is kept: {recoding_words(self.partition.recoding)}."]
        lines += [f"Note: {sentence}" for sentence in self.remarks]
        lines += [f"{each.id} ({each.severity}): {each.text}" for each in rank_remarks(self.warnings)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """What was released, where it lies and what must be known of it, as plain data."""
        rows = {"release": str(Path(self.place))} if str(self.place) else {}
        return {
            "point": None if self.point is None else self.point.to_dict(),
            "rows": self.rows,
            "suppressed": self.suppressed,
            "verified": dict(self.verified.numbers),
            "files": {**rows, **{word: str(file) for word, file in self.files.items()}},
            "warnings": [warning.to_dict() for warning in self.warnings],
            "remarks": list(self.remarks),
        }

    @property
    def tellers(self) -> tuple[DisclosingColumn, ...]:
        """The disclosing columns, by an earlier name."""
        warn_caller("Release.tellers is disclosing_columns now.", DeprecationWarning, stacklevel=2)
        return self.disclosing_columns

    @property
    def rows(self) -> int:
        """Released rows."""
        return self.verified.rows

    @property
    def suppressed(self) -> int:
        """Rows that were dropped or masked."""
        return self.partition.suppressed_rows


def release(  # noqa: PLR0913 (keywords, each a choice of its own)
    choice: object,
    source: object,
    target: str | PathLike[str] | None = None,
    *,
    limits: Mapping[str, float] | None = None,
    handling: Handling | None = None,
    warnings: Sequence[Remark | Warned] | Warn | None = None,
    encoding: str = "utf-8",
    memory: str | int | None = None,
    progress: Progress | None = None,
    papers: Documents | None = None,
    accept: Iterable[str] = (),
    counts: bool = False,
) -> Release:
    """Recode the rows of a source as chosen, and write them to the target (or return them).

    A column without a role that looks like a direct identifier is refused.

    Parameters
    ----------
    choice : Choice or Point
        What was chosen.
    source : object
        The rows, as ``read`` takes them; a path is read in the form in which the table of the choice was.
    target : str or path, optional
        A CSV, TSV, Parquet, Excel, Stata or SPSS file, a folder of Parquet parts (with a slash at its end), or a table
        where the source is one.
    limits : mapping of str to float, optional
        Measures with the least (k, l) or most (t, alpha) they may be.
    handling : Handling, optional
        How rows are read and written.
    warnings : sequence of Remark or callable, optional
        Unless given they are worked out: the result has them, and they are told once by Python's own ``warnings.warn``.
    encoding : str, optional
        Of a file of text.
    memory : str or int, optional
        What our own engine may use before it goes to the disk, such as "2 GB"; half of what is free unless given, 500
        MB at least.
    progress : callable, optional
        Called with what is written of how much.
    papers : callable, optional
        Makes the files that come into place with the release, or not at all.
    accept : iterable of str, optional
        Warnings such as "W1" that do not stop the release where they are dangers; the certificate names them.
    counts : bool, optional
        Whether the public part says how many released rows have each value of each quasi-identifier, merged up the
        hierarchy until none is below k; refused with a population and with persons.

    Returns
    -------
    Release
        The certificate, the warnings, and the rows where no target is given.

    Raises
    ------
    Unsafe
        If the rows as written do not meet the limits, or a warning is a danger that is not accepted; nothing is left
        then.
    BadInput
        If the source is not that of the choice, a column looks like a direct identifier, or the target cannot be
        written.

    Examples
    --------
    >>> import kpareto as kp
    >>> people = kp.adult().select(["age", "sex", "occupation"])
    >>> schema = kp.Schema(quasi=["age", "sex"], sensitive=["occupation"])
    >>> table = kp.read(people, schema, hierarchies={"age": {"intervals": [10, 20]}})
    >>> done = kp.release(kp.front(table).choose(k=10), people, limits={"k": 10})
    >>> done.rows, done.data.column_names
    (32561, ['age', 'sex', 'occupation'])
    """
    accepted = read_accepted(accept)
    chosen = as_choice(choice, limits)
    how, source = handling or reading_as(chosen.table.missing_values), _as_read(source, chosen, encoding)
    refuse_replacing(target, source)
    before = source_state(source)
    chosen, applied = on_all_rows(chosen, source, encoding, how.missing_values, memory)
    refuse_counts(chosen, counts)
    partition, remarks = settle(chosen)
    remarks += [] if applied is None else [applied.sentence()]

    def work_out(unique: UniqueRows, handled: Handling) -> Sequence[Remark]:
        return warnings_for(choice if isinstance(choice, Point) else chosen, handled, chosen.limits, unique, partition)

    warn = work_out if warnings is None else warnings
    with (
        documents_first() as put_into_place,
        open_source(source, encoding, max(allowed_bytes(memory), LEAST), progress) as rows,
    ):
        _check_rows(chosen, rows.count())
        recoded = recode(rows, chosen, partition, how, plain=is_text(target))
        refuse_identifying(recoded, chosen.table.schema)
        decided = {*chosen.table.schema.plain, *how.declared}
        undecided = {out.name for out in recoded.outs if out.role == "plain"} - decided
        recoded, disclosing = tie_undecided(recoded, partition, undecided, how.declared)
        remarks += [f"Column {name!r} tells what {other!r} hides, and nobody has decided about it: it shows its groups."
                    for name, other in recoded.tied.items() if name not in how.tied]  # fmt: skip
        remarks, how, asked_ties = remarks + disclosing.sentences(), recoded.handling, how.tied
        with rows.write(recoded.outgoing(), target) as written:
            formulas = recoded.formulas(written.rows)
            remarks += [*_formula_remarks(formulas, how, recoded.roles), *_plain_remarks(recoded, asked_ties)]
            digest = _digest(source, chosen, rows.costly)
            # A tied column is not named there: without its tie, apply would release it in clear, so it asks first.
            known = [name for name in rows.columns if name not in how.tied]
            form = form_of(source, encoding)
            roles = {name: chosen.table.schema.role(name) for name in known}
            origin = Origin(roles, form.encoding, digest, form.to_dict(), [str(value) for value in how.missing_values])
            counted = _count_again(written, chosen, partition, recoded)
            alone = None
            if callable(warn):
                alone = written.unique([out.name for out in recoded.outs if out.role != "identifier"])
                warn = warn(alone, how)
            warned = _say_budget(complete_warnings(warn, how, partition, disclosing.columns), source)
            dangers = refuse_dangers(warned, accepted)
            warned_texts = [(each.id, each.text) for each in warned]
            facts = Facts(recoded, written, digest, warned_texts, remarks, dangers, counts)
            certificate = certify(counted, chosen, partition, facts)
            quasi = [name for name, role in recoded.roles.items() if role == QUASI]
            verified = check(counted, certificate, written.shown, population_cells(chosen.table, quasi))
            if source_state(source) != before:
                raise BadTable("The source was changed while it was released. Nothing was released; release it again.")
            done = Release(
                certificate, partition, verified, written.path, written.data(), formulas, tuple(remarks), warned,
                origin, chosen, alone, disclosing.columns, choice if isinstance(choice, Point) else None, target or "",
            )  # fmt: skip
            if papers is not None:
                hidden = None if written.part is None or written.path is None else Moving(written.part, written.path)
                put_into_place(papers(done), hidden)
    if warnings is None:
        tell_once(done.warnings)
    return done


def _as_read(source: object, choice: Choice, encoding: str) -> object:
    """A path in the form that the table of the choice was read in; whatever has a form of its own keeps it."""
    form = choice.table.form
    if form is None:
        return source
    return in_form(source, form if encoding == "utf-8" else replace(form, encoding=encoding))


def _say_budget(warned: Sequence[Remark], source: object) -> tuple[Remark, ...]:
    """The warnings; W15 has a word more where the table has a budget, which this release is not part of."""
    spent = any(each.id == "W15" for each in warned) and has_ledger(source)
    more = (
        " The table has a budget of differential privacy. Its epsilon covers the private releases of the table alone: "
        "together with this one they are not differentially private."
    )
    return tuple(
        replace(each, severity="caution", text=each.text + more) if spent and each.id == "W15" else each
        for each in warned
    )


def _count_again(written: Written, choice: Choice, partition: Partition, recoded: Recoded) -> Counted:
    """What the verifier's counter finds where the rows were written and nobody looks yet; as many rows as there are."""
    spellings = choice.table.schema.spellings
    shape = {"columns": list(recoded.roles), "roles": recoded.roles, "form": dict(written.form), "spellings": spellings}
    counted = count(written.kind, written.where, shape, written.part, written.link)
    people = recoded.persons()
    if people is not None:
        counted = with_persons(counted, people, shape, written.shown)
    expected = choice.table.rows - int(partition.rows[~partition.visible].sum())
    if counted.rows != expected:
        raise BadTable(
            f"The source gives {counted.rows:,} rows to release where the chosen table gives {expected:,}. "
            "Give the very table that the recoding was chosen for, and the same missing values."
        )
    return counted


def settle(choice: Choice) -> tuple[Partition, list[str]]:
    """The partition that is released, every limit met, and what had to be done otherwise than asked."""
    partition = choice.partition()
    models = [(make(spec), spec, limit) for spec, limit in choice.limits.items()]
    remarks = [partition.note] if partition.note else []
    masked = partition.suppressed & partition.visible
    if masked.any():
        failing = [spec for model, spec, limit in models if (_failing(model, limit, partition) & masked).any()]
        stars = choice.labels
        twin = [all(labels[group] == STAR for labels, group in zip(stars, row, strict=True))
                for row in partition.groups[~partition.suppressed].tolist()]  # fmt: skip
        if failing or any(twin):
            why = f"as a class they would not meet {failing[0]}" if failing else "a class that is kept looks like them"
            partition = replace(choice, suppression=replace(choice.suppression, rows="drop")).partition()
            remarks.append(f"{partition.suppressed_rows:,} suppressed rows were dropped, not masked: {why}.")
    if partition.empty:
        raise Unsafe(
            f"Every one of the {choice.table.rows:,} rows would be suppressed. "
            "Choose a coarser recoding, or smaller limits; nothing was released."
        )
    # The rule below-k knows no limit of its own; where one is given all the same, it is kept.
    most = choice.suppression.allowed(choice.table.rows) if choice.suppression.limit else partition.suppressed_rows
    if not partition.feasible or partition.suppressed_rows > most:
        raise Unsafe(
            f"{partition.suppressed_rows:,} of {choice.table.rows:,} rows would have to be suppressed, and at most "
            f"{choice.suppression.allowed(choice.table.rows):,} may be. Choose a coarser one."
        )
    for model, spec, limit in models:
        _check_limit(model, spec, limit, partition)
        if is_estimated(model, partition.table):
            remarks.append(f"{spec} = {model(partition):.6g} is estimated, not counted: {UPPER_END}")
    return partition, remarks


def _failing(measure: Measure, limit: float, partition: Partition) -> np.ndarray:
    """Which classes are beyond the limit: (classes,) bool."""
    if isinstance(measure, Model):
        return measure.fails(limit)(partition) & partition.visible
    met = bool(meets(measure.better, measure(partition), limit))
    return np.zeros_like(partition.visible) if met else partition.visible


def _check_limit(measure: Measure, spec: str, limit: float, partition: Partition) -> None:
    failing = _failing(measure, limit, partition)
    if not failing.any():
        return
    side = "at least" if measure.better == "higher" else "at most"
    value = measure(partition)
    where = ""
    if isinstance(measure, Model):
        first = int(np.flatnonzero(failing)[0])
        value = float(measure.by_class(partition)[first])
        labels = partition.recoding.labels
        cells = [STAR if g < 0 else labels[c][g] for c, g in enumerate(partition.groups[first].tolist())]
        where = f" in the class ({', '.join(cells)})"
    raise Unsafe(f"{spec} is {value:.6g}{where}, and {side} {limit:g} is asked. Nothing was released.")


def _plain_remarks(recoded: Recoded, asked_ties: Mapping[str, str]) -> list[str]:
    """A column that nobody gave a role may hold anything, so it is named before it leaves."""
    names = [out.name for out in recoded.outs if out.role == "plain" and out.name not in recoded.tied]
    remarks = [f"These columns leave as they are: {', '.join(names)}."] if names else []
    ties = {name: other for name, other in recoded.tied.items() if name in asked_ties}
    return remarks + [f"Column {name!r} shows the groups of {other!r}." for name, other in ties.items()]


def _formula_remarks(formulas: Mapping[str, int], how: Handling, names: Iterable[str]) -> list[str]:
    remarks = []
    for name, cells in formulas.items():
        fate = (
            f"{'was' if cells == 1 else 'were'} written behind an apostrophe"
            if how.formulas == "neutralise"
            else "would be run by a spreadsheet; the setting formulas can have such cells written behind an apostrophe"
        )
        begin = "begins" if cells == 1 else "begin"
        remarks.append(f"{several(cells, 'cell')} of {name!r} {begin} with = + - or @ and {fate}.")
    # A name is how people and certificates know a column, so it stays as it is.
    return remarks + [
        f"The name of the column {name!r} begins with = + - or @ and would be run by a spreadsheet, which nothing "
        "changes; give it another name."
        for name in names
        if runs(name)
    ]


def _digest(source: object, choice: Choice, costly: bool) -> str:
    """The hash of the input: of a file's bytes, of a frame's content, of what was rolled up in a database.

    Only columns with a role count where others have no text (lists, bytes), and in a database. Of one that was read
    coarser or by a sample, what is in memory counts: all of it would not fit.
    """
    table = choice.table
    if costly:
        return table.digest or table_digest(table)
    with suppress(BadTable):
        return fingerprint(source)
    return fingerprint(source, table.schema.counted)


def _check_rows(choice: Choice, count: int) -> None:
    table = choice.table
    if count != table.rows + table.dropped:
        raise BadTable(
            f"The source has {count:,} rows, and the table of the choice was read from {table.rows + table.dropped:,}. "
            "Give the very table that the recoding was chosen for."
        )


def source_state(source: object) -> list[tuple[str, int, int]]:
    """What tells whether a file, or one in a folder, was written meanwhile: its name, its size and its time."""
    file = file_of(source)
    if file is None:
        return []
    files = sorted(file.rglob("*")) if file.is_dir() else [file]
    states = [(str(path.relative_to(file.parent)), path.stat()) for path in files if path.is_file()]
    return [(name, state.st_size, state.st_mtime_ns) for name, state in states]


def refuse_replacing(target: str | PathLike[str] | None, source: object, what: str = "its own input") -> None:
    """Raise where a release would be written over what it is made of or compared with."""
    file = file_of(source)
    if target is not None and file is not None and replaces(target, file):
        raise BadInput(f"The release would overwrite {what} {str(file)!r}. Give another target.")


def replaces(target: str | PathLike[str], file: Path) -> bool:
    """Whether a target is a file or lies within a folder that is there already, also behind links."""
    source, path = (Path(os.path.realpath(each)) for each in (file, target))  # never stumbles over a ring of links
    return source == path or source in path.parents or (path.exists() and source.exists() and source.samefile(path))


def refuse_identifying(recoded: Recoded, schema: Schema) -> None:
    """Raise where a column without any declared role would leave as it is and looks like a direct identifier.

    The rule is the one by which ``inspect`` proposes the role identifier, so that a name does not leave for want of a
    word about it, whoever releases. A column that was declared plain is not looked at.
    """
    meant = {*schema.plain, *recoded.tied, *recoded.handling.declared}
    names = [out.name for out in recoded.outs if out.role == "plain" and out.name not in meant]
    looks = [(facts.name, why) for facts in _count_facts(recoded.rows, names) if (why := why_direct(facts)) is not None]
    if not looks:
        return
    (first, _), many = looks[0], len(looks) > 1
    named = ", ".join(f"{name!r} ({why})" for name, why in looks)
    raise BadSchema(
        f"Column{'s' * many} {named} ha{'ve' if many else 's'} no role and look{'s' * (not many)} like "
        f"{'direct identifiers' if many else 'a direct identifier'}: nothing was released.",
        remedy=Remedy(
            "declare-column",
            f"Declare {'each' if many else 'it'}, or leave it out of the table: in Python identifier=[{first!r}] "
            f'keeps it out and plain=[{first!r}] lets it leave as it is (of Schema), in a job role = "identifier" or '
            f'"plain" under [columns.{json.dumps(first, ensure_ascii=False)}].',
        ),
    )


def _count_facts(rows: Source, names: Sequence[str]) -> list[ColumnFacts]:
    """What is to be known of these columns, from their texts; of a large table those that may be refused count whole.

    Among a few rows drawn of many, values seem to repeat less than they do, so such a sample only clears a column.
    """
    if not names:
        return []
    layout, count = rows.layout(), rows.count()
    cells = [layout.sql.text(f"t.c{rows.columns.index(name)}") for name in names]
    drawn = f" WHERE {layout.sql.drawn(cells, SAMPLE, count)}" if count > SAMPLE else ""
    listed = ", ".join(f"{cell} AS v{index}" for index, cell in enumerate(cells))
    few = rows.ask(f"SELECT {listed} FROM {layout.table}{drawn}").rename_columns(list(names))
    with open_view(few) as view:
        facts = [_by_kind(rows, column) for column in count_columns(view, few.num_rows)]
    if not drawn:
        return facts
    suspects = [(column, cell) for column, cell in zip(facts, cells, strict=True) if why_direct(column) is not None]
    return [_count_all(rows, column, cell, count) for column, cell in suspects]


def _by_kind(rows: Source, facts: ColumnFacts) -> ColumnFacts:
    """Lists, structures and bytes have no texts of their own: of those the name alone speaks."""
    nested = rows.columns.index(facts.name) in rows.layout().nested
    return replace(facts, kind="nested") if nested and topic_of(facts.name) is None else facts


def _count_all(rows: Source, facts: ColumnFacts, cell: str, count: int) -> ColumnFacts:
    """The facts of a sample, with how often values repeat in all rows; marks for no value are none there, too."""
    layout = rows.layout()
    marks = f" AND {cell} NOT IN ({', '.join(map(layout.sql.literal, facts.marks))})" if facts.marks else ""
    values = f"SELECT count(*) AS n FROM {layout.table} WHERE {cell} IS NOT NULL{marks} GROUP BY {cell}"
    alone = "coalesce(sum(CASE WHEN n = 1 THEN 1 ELSE 0 END), 0)"
    answer = rows.ask(f"SELECT coalesce(sum(n), 0), count(*), {alone} FROM ({values}) AS i")
    present, distinct, unique = (int(column[0].as_py()) for column in answer.columns)
    return replace(facts, rows=count, missing=count - present, distinct=distinct, groups=distinct, unique=unique)


__all__ = ["Choice", "Handling", "Release", "release", "settle"]
