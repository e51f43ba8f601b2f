"""The first page of a report, for people who decide: what is protected, lost, gone, still possible, who checked it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kpareto.errors import shorten
from kpareto.faces.report import words
from kpareto.faces.report.discretion import OTHERS
from kpareto.faces.report.regulator_form import INVENTORY
from kpareto.faces.report.report import Board, ColumnFate, Promise, Report
from kpareto.fronts.front import Point
from kpareto.measures.measure import Measure, aspect_of, make, meets, parameters_of
from kpareto.measures.plain import promise_of
from kpareto.measures.sizes import is_smallest_class
from kpareto.releases.warnings import Context, count_remarks
from kpareto.tables.partition import Partition
from kpareto.tables.recoding import HIDDEN
from kpareto.tables.spelling import are, percent, several
from kpareto.uses.utility import Utility

HIT = 3  # groups of people that are named
QUASI = "Quasi-identifiers are the columns that somebody outside may know of a person."
WITHOUT_JOB = "It was not measured for this report. A report on a job measures it, and so does kpareto utility."
TOO_FEW = "It could not be measured: there are too few rows, or the target has one value only."
VEILED = "Measured over all rows it would tell how few are suppressed. The confidential report has it."


def make_board(report: Report, point: Point, context: Context, certificate: Mapping[str, Any] | None) -> Board:
    """The first page, but for what only the rows as written and an analyst's questions tell (``complete_board``)."""
    limits = {measure.name: limit for measure, limit in point.front.problem.limits} | dict(context.limits)
    promises = _promises(limits, context.partition, report.confidential)
    board = Board(
        promises,
        _say_protected(report, promises, limits, context.partition),
        (),
        tuple(sentence for sentence in report.summary.sentences[-1:] if report.summary.loss is not None),
        _say_gone(report, context.partition),
        (),
        _say_checked(certificate),
    )
    return complete_board(report, board)


def complete_board(report: Report, board: Board, further: tuple[str, ...] = (), unmeasured: str = WITHOUT_JOB) -> Board:
    """The page with every column of the table, and what an analyst still gets."""
    possible = _say_possible(report.use) if report.use is not None else [] if further else [unmeasured]
    hidden = [column.name for column in report.columns if column.words == HIDDEN]
    if hidden:
        verb = f"{'it' if len(hidden) == 1 else 'they'} {are(len(hidden))} hidden in every row"
        possible.insert(0, f"No question about {shorten(hidden, 12)} can be answered any more: {verb}.")
    return replace(board, columns=_fates(report), possible=(*possible, *further))


def _say_possible(use: Utility) -> list[str]:
    """What an analyst still gets, in fewer words than the part about it."""
    counts, relations, told = use.counts, use.relations, []
    if counts.error is not None and counts.control is not None:
        told.append(
            f"Counts over two and three columns are off by {percent(counts.error.mean)} on average; without the "
            f"release, from the totals of each column alone, by {percent(counts.control.mean)}."
        )
    if relations.kept is not None:
        worst = ", ".join(f"{' and '.join(pair.columns)} ({percent(pair.share)})" for pair in relations.pairs[:HIT])
        told.append(f"Of what columns tell about each other {percent(relations.kept)} is left; least of {worst}.")
    for model in use.models:
        name = {"auc": "AUC", "r2": "R²"}[model.measure]
        told.append(
            f"Predictions of {model.column} reach {model.release:.2f} from the release, {model.original:.2f} from the "
            f"original and {model.control:.2f} from column totals alone ({name}; 1 is perfect)."
        )
    return told


def _promises(limits: Mapping[str, float], partition: Partition, confidential: bool) -> tuple[Promise, ...]:
    """Every limit on privacy with its meaning, k first, which is told where nobody asked for it too."""
    asked: dict[str, tuple[Measure, float | None]] = {"k": (make("k"), None)}
    for name, limit in limits.items():
        measure = make(name)
        if aspect_of(measure).side == "privacy":
            asked[measure.name] = (measure, limit)
    units = "rows" if partition.table.persons is None else "persons"
    promises = []
    for measure, limit in asked.values():
        value = measure(partition)
        shown = value if confidential or _is_public(measure) else None
        meaning = promise_of(measure, value if limit is None else limit, units, partition.table.schema.sensitive)
        met = limit is None or bool(np.all(meets(measure.better, value, limit)))
        promises.append(Promise(measure.name, measure.better, limit, shown, met, meaning))
    return tuple(promises)


def _is_public(measure: Measure) -> bool:
    """Whether everybody can count it in the released rows; against the whole table or a population nobody can."""
    aspect, about = aspect_of(measure), parameters_of(measure) or {}
    against_table = aspect.relative and about.get("reference") != "release"
    return is_smallest_class(measure) or (aspect.recounted and not aspect.population and not against_table)


def _say_protected(
    report: Report, promises: tuple[Promise, ...], limits: Mapping[str, float], partition: Partition
) -> tuple[str, ...]:
    highest = report.risks[0].before.highest, report.risks[0].after.highest
    told = [words.say_k(report.summary), QUASI, words.say_risk(highest)]
    if partition.table.sample is not None:
        told.append(f"The numbers of this report are those of {partition.table.sample.words()}.")
    protecting = [measure for measure in map(make, limits) if aspect_of(measure).column == "sensitive"]
    named = {(parameters_of(measure) or {}).get("column") for measure in protecting}
    bare = () if None in named else tuple(name for name in report.summary.sensitive if name not in named)
    if bare:
        told.append(f"No limit protects what {shorten(bare, 12)} tells: a group may have one value in common.")
    missed = [promise.name for promise in promises if not promise.met]
    told += [f"Not met: {shorten(missed)}."] if missed else []
    if report.warnings:
        told.append(
            f"This is no protection against everything. Read the warnings below ({count_remarks(report.warnings)}) "
            "before the release leaves the house."
        )
    return tuple(filter(None, told))


def _fates(report: Report) -> tuple[ColumnFate, ...]:
    """Every column of the inventory; of quasi-identifiers in the words of their recoding."""
    columns = {column.name: column for column in report.columns}
    grid = next(part.grid for part in report.template.sections if part.title == INVENTORY)
    fates = []
    for name, kind, done, *_ in () if grid is None else grid.rows:
        column = columns.get(name)
        if column is None:
            fates.append(ColumnFate(name, kind, done, None))
            continue
        fates.append(ColumnFate(name, "quasi-identifier", column.words, column.kept_loss))
    return tuple(fates)


def _say_gone(report: Report, partition: Partition) -> tuple[str, ...]:
    summary = report.summary
    told = [words.say_suppressed(summary, report.least)]
    classes = sum(size.classes for size in report.sizes if size.suppressed)  # in confidence only
    if classes:
        told.append(f"They would have stood in {several(classes, 'class', 'classes')}.")
    if summary.masked:
        told.append("They stay in the release, with a star in place of every quasi-identifier.")
    persons = _lost_persons(partition) if report.confidential else 0
    if persons:
        told.append(f"With them {several(persons, 'person')} {are(persons)} gone altogether.")
    if summary.suppressed != 0 and not report.profiles and not report.confidential:
        told.append(report.profile_note)
    told.append(_say_hit(report))
    if summary.dropped != 0:
        many = words.count(summary.dropped, report.least) + (" row was" if summary.dropped == 1 else " rows were")
        told.append(f"Before that, {many} left out because a value is missing.")
    return tuple(filter(None, told))


def _say_hit(report: Report) -> str:
    """The groups of people that lose most rows, as far as their counts are shown."""
    overall = (report.summary.suppressed or 0) / (report.summary.rows_in or 1)
    groups = [
        (-row.share, -row.rows, view.by, f"{row.group} ({row.suppressed:,} of {row.rows:,}, {percent(row.share)})")
        for view in report.profiles
        for row in view.rows
        if row.share > overall and row.group != OTHERS
    ]
    hit = [f"{by} {told}" for *_, by, told in sorted(groups)[:HIT]]
    return f"Hit most: {', '.join(hit)}." if hit else ""


def _lost_persons(partition: Partition) -> int:
    """Persons none of whose rows is released with its cells."""
    persons = partition.table.persons
    if persons is None:
        return 0
    gone = partition.suppressed[partition.members][persons.row]
    return len(np.setdiff1d(persons.code[gone], persons.code[~gone]))


def _say_checked(certificate: Mapping[str, Any] | None) -> tuple[str, ...]:
    by_hand = "Whether it may go out is for people to decide; the draft at the end of this report has lines for them."
    if certificate is None:
        return (
            "Nobody yet: nothing is released. kpareto release writes the rows, and then reads and counts them again.",
            by_hand,
        )
    checker = (
        "When the rows were written, a checker that shares no code with the search read them back, counted them again "
        "and agreed with the certificate."
    )
    repeat = (
        "Anybody who has the release and the public part of its certificate can repeat that: kpareto verify RELEASE "
        "CERTIFICATE."
    )
    return checker, repeat, by_hand
