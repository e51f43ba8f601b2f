"""Make the report of a chosen point: count, describe, and leave out what is not for the public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kpareto.errors import BadJob, Remedy, Unsafe, shorten
from kpareto.faces.report import words
from kpareto.faces.report.columns import column_parts
from kpareto.faces.report.discretion import OTHERS, Discretion, round_number
from kpareto.faces.report.front import front_part, seen_ids
from kpareto.faces.report.regulator_form import INVENTORY, fill
from kpareto.faces.report.report import (
    Board,
    ColumnFate,
    ColumnPart,
    ProfileRow,
    ProfileView,
    Promise,
    Report,
    RiskPart,
    RiskSide,
    SampleRow,
    SampleView,
    Sizes,
    Summary,
)
from kpareto.fronts.choose import SaferPoint, find_safer
from kpareto.fronts.front import Point
from kpareto.measures.cells import lm
from kpareto.measures.measure import Measure, aspect_of, make, meets, parameters_of
from kpareto.measures.plain import promise_of
from kpareto.measures.sizes import is_smallest_class
from kpareto.releases.certificate import Certificate
from kpareto.releases.choice import as_choice
from kpareto.releases.labels import shown_labels
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.risk.attacks import AttackReport, class_labels
from kpareto.releases.risk.risk import Risk, Risks, bias_tables, risk_change
from kpareto.releases.warnings import Context, Number, Remark, count_remarks, remarks, search_facts
from kpareto.tables.partition import Partition
from kpareto.tables.recoding import HIDDEN, bottom
from kpareto.tables.spelling import are, percent, several
from kpareto.uses.utility import Utility, say_model

HIT = 3  # groups of people that are named
QUASI = "Quasi-identifiers are the columns that somebody outside may know of a person."
WITHOUT_JOB = "It was not measured for this report. A report on a job measures it, and so does kpareto utility."
TOO_FEW = "It could not be measured: there are too few rows, or the target has one value only."
VEILED = "Measured over all rows it would tell how few are suppressed. The confidential report has it."
SAMPLE = 8  # rows shown
# Numbers of a warning that count rows or persons, and so must not be small in public.
PEOPLE = (
    *("unique_rows", "likely_rows", "certain_rows", "excluded_rows", "minimality_rows", "suppressed", "masked"),
    *("dropped", "missing", "persons", "small", "alone", "revealed"),
    *("several_rows", "holding_rows", "narrowed_rows"),
)
SEE_OTHER = "The numbers are not for this public report; the confidential one has them."


def make_report(
    point: Point,
    context: Context | None = None,
    *,
    certificate: Certificate | Mapping[str, Any] | None = None,
    tests: AttackReport | None = None,
    choice: str = "",
    date: str | None = None,
    confidential: bool = False,
) -> Report:
    """The report of a point of a front; ``context`` holds what is known beyond it, such as the population.

    A public report holds no count of rows from 1 to below k, and no original row. ``confidential=True`` adds original
    rows and small counts; keep such a report with the data. ``date`` is printed as given; there is none by itself, so
    that equal runs give equal bytes.
    """
    about = context or context_of(point)
    partition = about.partition
    if partition.empty:
        raise Unsafe("Every row is suppressed, so there is no release to report on. Choose another point.")
    # The classes of a local recoding divide rows, so that their partition has a table of its own.
    same = partition.table is point.table or (partition.recoding is point.recoding and point.recoding.boxes is not None)
    if not same:
        raise BadJob("The context is about another table than the point. Make it with context_of(point).")
    k = int(partition.sizes[partition.visible].min())
    discretion = Discretion(k, confidential)
    change = risk_change(partition, about.population)
    claims = _certificate(certificate)
    written = _written_labels(point, partition, claims)
    columns = column_parts(partition, discretion, written)
    risks = tuple(
        _risk(before, after, discretion, partition)
        for before, after in zip(_three(change.before), _three(change.after), strict=True)
    )
    summary = _summary(partition, discretion, columns, (risks[0].before.highest, risks[0].after.highest))
    method = words.method(point, columns, summary, claims, confidential)
    profiles, note = _profiles(partition, discretion)
    ids = seen_ids(point, partition, discretion)
    shown = tuple(_warning(remark, about, ids, discretion) for remark in remarks(about))
    named = () if about.safer is None else (about.safer.other.id,)
    front = front_part(point, ids, partition, discretion, choice, named)
    title = f"{'Release' if claims else 'Candidate'} with k = {k:,}"
    template = fill(point, summary, columns, risks, method, discretion)
    report = Report(
        title,
        confidential,
        k,
        date,
        summary,
        Board((), (), (), (), (), (), ()),
        front,
        _sample(partition, discretion, written),
        columns,
        _size_ranges(partition, discretion),
        risks,
        profiles,
        note,
        shown,
        _tests(tests, discretion),
        method,
        template,
    )
    return replace(report, board=make_board(report, point, about, claims))


def _written_labels(
    point: Point, partition: Partition, claims: Mapping[str, Any] | None
) -> Mapping[str, Sequence[str]]:
    """What stands in the cells of a release: as its certificate says, or else as a release of the point would have it.

    The recoding's own labels may be put together from values that suppressed rows alone have.
    """
    certified: Mapping[str, Sequence[str]] | None = (
        (claims or {}).get("confidential", {}).get("recoding", {}).get("labels")
    )
    if certified is not None:
        return certified
    choice = as_choice(point)
    return shown_labels(choice, partition if choice.recoding is partition.recoding else choice.partition())


def context_of(point: Point, handling: Handling | None = None) -> Context:
    """What the front tells about a point, and how its rows are written, for the warnings.

    Add to it with ``dataclasses.replace``.
    """
    front, how = point.front, handling or Handling()
    limits = {measure.name: threshold for measure, threshold in front.problem.limits}
    return Context(
        point.partition,
        limits,
        front.problem.suppression,
        population=front.problem.table.population,
        search=replace(search_facts(point), size=front.space.size if front.space.kind == "lattice" else None),
        safer=find_safer(point),
        representatives=how.medians,
        tied=tuple(how.tied),
        kept_order=how.order == "kept",
    )


def _certificate(certificate: Certificate | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if isinstance(certificate, Certificate):
        return {"public": certificate.public, "confidential": certificate.confidential}
    if certificate is not None and "public" not in certificate:
        raise BadJob("A certificate has a part 'public', and what was given has none. Give a certificate of a release.")
    return certificate


def _summary(
    partition: Partition,
    discretion: Discretion,
    columns: Sequence[ColumnPart],
    highest: tuple[float | None, float | None],
) -> Summary:
    table, seen, kept = partition.table, partition.visible, ~partition.suppressed
    lost, veiled = partition.suppressed_rows, discretion.veils(partition)
    summary = Summary(
        discretion.least,
        "rows" if table.persons is None else "persons",
        table.schema.quasi,
        table.schema.sensitive,
        None if veiled else table.rows,
        int(partition.rows[seen].sum()),
        discretion.count(lost),
        bool((partition.suppressed & seen).any()),
        partition.classes,
        float(np.median(partition.sizes[kept])) if kept.any() else 0.0,
        int(partition.sizes[kept].max()) if kept.any() else 0,
        # Over all rows it would tell how many were lost whole; the mean of the columns over the released rows does not.
        round_number(float(np.mean([column.kept_loss for column in columns]))) if veiled else lm()(partition),
        (),
        discretion.count(table.dropped),
    )
    gone = words.say_suppressed(summary, discretion.least)
    sentences = (words.say_k(summary), gone, words.say_risk(highest), words.say_loss(summary, columns))
    return replace(summary, sentences=tuple(filter(None, sentences)))


def _three(risks: Risks) -> tuple[Risk, Risk, Risk]:
    return risks.prosecutor, risks.journalist, risks.marketer


def _risk(before: Risk, after: Risk, discretion: Discretion, partition: Partition) -> RiskPart:
    # Of persons, k rows may be one: then the counts of rows are not for the public.
    by_rows = partition.table.persons is None
    first = _side(before, discretion if by_rows else Discretion(before.rows + 1, discretion.confidential))
    if discretion.veils(partition):  # before, the suppressed rows were counted: the highest risk may be that of theirs
        above = tuple((border, None, None) for border, _, _ in first.above)
        first = replace(first, highest=None, mean=None, above=above, shown=False)
    return RiskPart(before.attacker, words.ATTACKERS[before.attacker], first, _side(after, discretion))


def _side(risk: Risk, discretion: Discretion) -> RiskSide:
    counts = discretion.counts([part.rows for part in risk.above], risk.rows)
    above = tuple(
        (part.threshold, shown, None if shown is None else part.share)
        for part, shown in zip(risk.above, counts, strict=True)
    )
    return RiskSide(risk.highest, risk.mean, above, risk.basis, risk.estimated)


def _sample(partition: Partition, discretion: Discretion, written: Mapping[str, Sequence[str]]) -> SampleView:
    """Rows evenly over the table (confidential), or labels evenly over the classes by size (public)."""
    table = partition.table
    quasi = table.schema.quasi
    if not discretion.confidential:
        kept = np.flatnonzero(~partition.suppressed)
        order = kept[np.argsort(partition.sizes[kept], kind="stable")]
        chosen = order[_even(len(order), SAMPLE)]
        rows = tuple(
            SampleRow(None, class_labels(partition, int(c), written), int(partition.sizes[c]), False) for c in chosen
        )
        note = "What rows look like in the release, from small classes to large; original rows are confidential."
        return SampleView(quasi, len(quasi), rows, note)
    extras = [*table.sensitive, *(c for c in table.targets if c.name not in table.schema.sensitive)]
    leaves = bottom(table.hierarchies).labels
    lost = partition.suppressed[partition.members]
    some = np.flatnonzero(~lost)
    gone = np.flatnonzero(lost)
    picked = [*some[_even(len(some), SAMPLE - min(2, len(gone)))], *gone[_even(len(gone), min(2, len(gone)))]]
    sample: list[SampleRow] = []
    for at in picked:
        values = [counts.values[int(counts.code[counts.start[at]])] for counts in extras]
        before = [labels[code] for labels, code in zip(leaves, table.codes[at].tolist(), strict=True)]
        group = int(partition.members[at])
        seen = bool(partition.visible[group])
        after = [*class_labels(partition, group, written), *values] if seen else ["" for _ in (*quasi, *values)]
        size = int(partition.sizes[group]) if seen else None
        sample.append(SampleRow((*before, *values), tuple(after), size, bool(lost[at])))
    note = "Original rows, spread evenly over the table, and what becomes of them. Confidential."
    return SampleView((*quasi, *(counts.name for counts in extras)), len(quasi), tuple(sample), note)


def _even(count: int, wanted: int) -> list[int]:
    """So many places spread evenly from the first to the last."""
    if wanted <= 0 or count <= wanted:
        return list(range(min(count, max(wanted, 0))))
    return [round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted)]


def _size_ranges(partition: Partition, discretion: Discretion) -> tuple[Sizes, ...]:
    """Classes by size: from k on, each border twice the one before; in confidence also what is suppressed."""
    ranges = []
    if discretion.confidential:
        gone = ~partition.visible
        ranges += _bin(partition.sizes[gone], partition.rows[gone], 1, True)
    seen = partition.visible
    return (*ranges, *_bin(partition.sizes[seen], partition.rows[seen], discretion.least, False))


def _bin(sizes: np.ndarray, rows: np.ndarray, first: int, suppressed: bool) -> list[Sizes]:
    ranges = []
    low = first
    while len(sizes) and low <= int(sizes.max()):
        high = min(2 * low - 1, int(sizes.max())) if suppressed else 2 * low - 1
        there = (sizes >= low) & (sizes <= high)
        ranges.append(Sizes(low, high, int(there.sum()), int(rows[there].sum()), suppressed))
        low = 2 * low
    return ranges


def _profiles(partition: Partition, discretion: Discretion) -> tuple[tuple[ProfileView, ...], str]:
    lost = partition.suppressed_rows
    if not lost:
        return (), "No row is suppressed, so nobody disappears."
    if not discretion.confidential and (discretion.veils(partition) or partition.table.persons is not None):
        return (
            (),
            "Who is suppressed is shown in the confidential report only: the counts are too small for the public.",
        )
    profiles = []
    # Values of a hierarchy built from the rows are cells whose borders are original values.
    built = {h.name for h in partition.table.hierarchies if h.data_dependent and not discretion.confidential}
    for table in (table for table in bias_tables(partition) if table.by not in built):
        ordered = sorted(table.rows, key=lambda row: (-row.suppressed, -row.rows, row.group))
        rows = [ProfileRow(r.group, r.rows, r.suppressed_rows, r.suppressed, r.loss) for r in ordered]
        shown, merged = discretion.groups(rows)
        if shown:
            profiles.append(ProfileView(table.by, shown, merged > 0))
    profiles.sort(key=lambda table: -(max(r.share for r in table.rows) - min(r.share for r in table.rows)))
    total = partition.table.rows
    note = f"{lost:,} of {total:,} rows {are(lost)} suppressed ({words.percent(lost / total)})."
    if not discretion.confidential:
        note += f" Groups with counts from 1 to {discretion.least - 1} are taken together with others."
    return tuple(profiles), note


def _warning(remark: Remark, context: Context, ids: Sequence[int], discretion: Discretion) -> Remark:
    """A warning as it may be shown."""
    numbers = dict(remark.numbers)
    remark = replace(remark, numbers=numbers)
    if discretion.confidential:
        return remark
    if remark.id == "W7":
        return _public_w7(remark, context.partition, discretion)
    if remark.id == "W16":
        return _public_w16(remark, context.safer, ids, discretion)
    people = {name: value for name, value in numbers.items() if name in PEOPLE and isinstance(value, int)}
    # Both tell how many rows were read, the third only where it counts the persons among them.
    veiled = discretion.veils(context.partition) and (remark.id == "W11" or "k_persons" in numbers)
    if (
        veiled
        or remark.id in ("W5", "W9", "W17", "W20")
        or any(discretion.hides(int(value)) for value in people.values())
    ):
        first = remark.text.partition(". ")[0] if remark.id == "W5" else _SUBJECTS.get(remark.id, "A warning applies")
        return _advise(remark, f"{first.rstrip('.')}. {SEE_OTHER}", {})
    return remark


_SUBJECTS: Mapping[str, str] = {
    "W1": "A few rows are unique on all released columns together, so who knows the others can single them out",
    "W2": "No limit protects the sensitive columns, and in a few rows they are (almost) certain",
    "W3": "Classes count persons, some of whom have several rows",
    "W9": "The loss counts declared values that no row has, so hiding all that occurs may seem to cost little",
    "W11": "Some rows have a missing value",
    "W13": "Publish the public part of the certificate only",
    "W17": "Columns that leave as they are tell what generalized ones hide, so that classes are smaller for whoever "
    "knows them",
    "W20": "The release tells an analyst little more than the totals of its columns",
    "W18": "Labels differ from class to class (local recoding), and the labels of classes overlap",
}


def _advise(remark: Remark, text: str, numbers: Mapping[str, Number]) -> Remark:
    """The warning in other words, with what to do about it, which names columns and no number of rows."""
    if remark.remedy is None:
        return Remark(remark.id, remark.severity, text, numbers)
    advice = remark.remedy.text[0].upper() + remark.remedy.text[1:]
    return Remark(remark.id, remark.severity, f"{text} {advice}", numbers, Remedy(remark.remedy.word, advice))


def _public_w7(remark: Remark, partition: Partition, discretion: Discretion) -> Remark:
    lost = partition.suppressed_rows
    if discretion.veils(partition):
        return _advise(remark, f"Fewer than {discretion.least} rows are suppressed. {SEE_OTHER}", {})
    share = words.percent(lost / partition.table.rows)
    text = f"{lost:,} of {partition.table.rows:,} rows ({share}) {are(lost)} suppressed."
    if bool((partition.suppressed & partition.visible).any()):
        text += " They are masked and form a visible class of their own."
    return _advise(remark, text, {"suppressed": lost, "share": lost / partition.table.rows})


def _public_w16(remark: Remark, safer: SaferPoint | None, ids: Sequence[int], discretion: Discretion) -> Remark:
    """The warning as it is where both points are shown exactly; otherwise without numbers."""
    both = () if safer is None else (safer.own, safer.other)
    if all(weighed.id in ids and not discretion.hides(weighed.suppressed) for weighed in both):
        return Remark("W16", remark.severity, remark.text, dict(remark.numbers))
    text = f"Another point of the front is clearly safer at nearly the same detail. {SEE_OTHER}"
    return Remark("W16", remark.severity, text, {})


def _tests(tests: AttackReport | None, discretion: Discretion) -> tuple[str, ...]:
    """What the attack tests mean; two releases together may have small classes, which is not for the public."""
    if tests is None:
        return ()
    if discretion.confidential:
        return tuple(tests.sentences())
    sentences: Sequence[str] = replace(tests, composition=()).sentences()
    extra = [f"The test against earlier releases was run. {SEE_OTHER}"] if tests.composition else []
    return (*sentences, *extra)


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
    counts, relations, sentences = use.counts, use.relations, []
    if counts.error is not None and counts.control is not None:
        sentences.append(
            f"Counts over two and three columns are off by {percent(counts.error.mean)} on average; without the "
            f"release, from the totals of each column alone, by {percent(counts.control.mean)}."
        )
    if relations.kept is not None:
        worst = ", ".join(f"{' and '.join(pair.columns)} ({percent(pair.share)})" for pair in relations.pairs[:HIT])
        left = f"Of what the columns tell about each other, {percent(relations.kept)} is left"
        sentences.append(f"{left}; least between {worst}.")
    for model in use.models:
        if model.release is None or model.original is None or model.control is None:
            sentences.append(say_model(model))
            continue
        name = {"auc": "AUC", "r2": "R²"}[model.measure]
        sentences.append(
            f"Predictions of {model.column} reach {model.release:.2f} from the release, {model.original:.2f} from the "
            f"original and {model.control:.2f} from column totals alone ({name}; 1 is perfect)."
        )
    return sentences


def _promises(limits: Mapping[str, float], partition: Partition, confidential: bool) -> tuple[Promise, ...]:
    """Every limit on privacy with its meaning, k first, which is told where nobody asked for it too."""
    asked: dict[str, tuple[Measure, float | None]] = {"k": (make("k"), None)}
    for name, limit in limits.items():
        measure = make(name)
        if aspect_of(measure).side == "privacy":
            asked[measure.name] = (measure, limit)
    units = "rows" if partition.table.persons is None else "persons"
    promises = []
    for measure, bound in asked.values():
        value = measure(partition)
        shown = value if confidential or _is_public(measure) else None
        meaning = promise_of(measure, value if bound is None else bound, units, partition.table.schema.sensitive)
        met = bound is None or bool(np.all(meets(measure.better, value, bound)))
        promises.append(Promise(measure.name, measure.better, bound, shown, met, meaning))
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
    sentences = [words.say_k(report.summary), QUASI, words.say_risk(highest)]
    if partition.table.sample is not None:
        sentences.append(f"The numbers of this report are those of {partition.table.sample.words()}.")
    protecting = [measure for measure in map(make, limits) if aspect_of(measure).column == "sensitive"]
    named = {(parameters_of(measure) or {}).get("column") for measure in protecting}
    bare = () if None in named else tuple(name for name in report.summary.sensitive if name not in named)
    if bare:
        sentences.append(f"No limit protects what {shorten(bare, 12)} tells: a group may have one value in common.")
    missed = [promise.name for promise in promises if not promise.met]
    sentences += [f"Not met: {shorten(missed)}."] if missed else []
    if report.warnings:
        sentences.append(
            f"This is no protection against everything. Read the warnings below ({count_remarks(report.warnings)}) "
            "before the release leaves the house."
        )
    return tuple(filter(None, sentences))


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
    sentences = [words.say_suppressed(summary, report.least)]
    classes = sum(size.classes for size in report.sizes if size.suppressed)  # in confidence only
    if classes:
        sentences.append(f"They would have stood in {several(classes, 'class', 'classes')}.")
    if summary.masked:
        sentences.append("They stay in the release, with a star in place of every quasi-identifier.")
    persons = _lost_persons(partition) if report.confidential else 0
    if persons:
        sentences.append(f"With them {several(persons, 'person')} {are(persons)} gone altogether.")
    if summary.suppressed != 0 and not report.profiles and not report.confidential:
        sentences.append(report.profile_note)
    sentences.append(_say_hit(report))
    if summary.dropped != 0:
        many = words.count(summary.dropped, report.least) + (" row was" if summary.dropped == 1 else " rows were")
        sentences.append(f"Before that, {many} left out because a value is missing.")
    return tuple(filter(None, sentences))


def _say_hit(report: Report) -> str:
    """The groups of people that lose most rows, as far as their counts are shown."""
    overall = (report.summary.suppressed or 0) / (report.summary.rows_in or 1)
    groups = [
        (-row.share, -row.rows, view.by, f"{row.group} ({row.suppressed:,} of {row.rows:,}, {percent(row.share)})")
        for view in report.profiles
        for row in view.rows
        if row.share > overall and row.group != OTHERS
    ]
    hit = [f"{by} {words_of_group}" for *_, by, words_of_group in sorted(groups)[:HIT]]
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
