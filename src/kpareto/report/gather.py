"""Make the report of a chosen point: count, describe, and leave out what is not for the public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kpareto.attacks import AttackReport
from kpareto.certificate import Certificate
from kpareto.errors import BadJob, Unsafe
from kpareto.front import Point
from kpareto.loss import lm
from kpareto.partition import Partition
from kpareto.recoding import bottom
from kpareto.remarks import Context, FrontFacts, Remark, SearchFacts, remarks
from kpareto.report import words
from kpareto.report.columns import column_parts
from kpareto.report.discretion import Discretion, rounded
from kpareto.report.fronts import front_part, public_front
from kpareto.report.shape import (
    Alert,
    Profile,
    ProfileRow,
    Report,
    RiskPart,
    RiskSide,
    Sample,
    SampleRow,
    Sizes,
    Summary,
)
from kpareto.report.template import fill
from kpareto.risk import Risk, Risks, bias_tables, risk_change

SAMPLE = 8  # rows shown
# Numbers of a warning that count rows or persons, and so must not be small in public.
PEOPLE = (
    *("unique_rows", "likely_rows", "certain_rows", "excluded_rows", "minimality_rows", "suppressed", "masked"),
    *("dropped", "missing", "persons", "small", "alone", "revealed"),
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
    rows and small counts; keep such a report in the house. ``date`` is printed as given; there is none by itself, so
    that equal runs give equal bytes.
    """
    about = context or context_of(point)
    made = about.partition
    if made.empty:
        raise Unsafe("Every row is suppressed, so there is no release to report on. Choose another point.")
    if made.table is not point.front.problem.table:
        raise BadJob("The context is about another table than the point. Make it with context_of(point).")
    k = int(made.sizes[made.visible].min())
    discretion = Discretion(k, confidential)
    change = risk_change(made, about.population)
    highest = (change.before.prosecutor.highest, change.after.prosecutor.highest)
    summary = _summary(made, discretion, highest)
    said = _certificate(certificate)
    written = (said or {}).get("confidential", {}).get("recoding", {}).get("labels")
    columns = column_parts(made, discretion, written)
    method = words.method(point, columns, summary, said, confidential)
    risks = tuple(
        _risk(before, after, discretion, made)
        for before, after in zip(_three(change.before), _three(change.after), strict=True)
    )
    profiles, note = _profiles(made, discretion)
    shown = tuple(_warning(remark, about, point, discretion) for remark in remarks(about))
    front = front_part(point, made, discretion, choice)
    title = f"Release with k = {k:,}"
    template = fill(point, summary, columns, risks, method, discretion)
    return Report(
        title,
        confidential,
        k,
        date,
        summary,
        front,
        _sample(made, discretion, written or {}),
        columns,
        _sizes(made, discretion),
        risks,
        profiles,
        note,
        shown,
        _tests(tests, discretion),
        method,
        template,
    )


def context_of(point: Point) -> Context:
    """What the front itself tells about a point, for the warnings; add to it with ``dataclasses.replace``."""
    front = point.front
    made = front.provenance
    limits = {measure.name: threshold for measure, threshold in front.problem.limits}
    numbers = tuple(tuple(float(value) for value in row) for row in front.numbers.values.tolist())
    return Context(
        point.partition,
        limits,
        front.problem.suppression,
        search=SearchFacts(
            made.method, made.complete, made.evaluated, front.space.size if front.space.kind == "lattice" else None
        ),
        front=FrontFacts(tuple(front.names), numbers),
    )


def _certificate(given: Certificate | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if isinstance(given, Certificate):
        return {"public": given.public, "confidential": given.confidential}
    if given is not None and "public" not in given:
        raise BadJob("A certificate has a part 'public', and what was given has none. Give a certificate of a release.")
    return given


def _summary(made: Partition, discretion: Discretion, highest: tuple[float | None, float | None]) -> Summary:
    table, seen, kept = made.table, made.visible, ~made.suppressed
    lost = made.suppressed_rows
    found = Summary(
        discretion.least,
        "rows" if table.persons is None else "persons",
        table.schema.quasi,
        table.schema.sensitive,
        None if discretion.hides(lost) else table.rows,
        int(made.rows[seen].sum()),
        discretion.count(lost),
        bool((made.suppressed & seen).any()),
        made.classes,
        float(np.median(made.sizes[kept])) if kept.any() else 0.0,
        int(made.sizes[kept].max()) if kept.any() else 0,
        discretion.value(lm()(made), lost),
        (),
    )
    return replace(found, sentences=words.verdict(found, discretion.least, highest))


def _three(found: Risks) -> tuple[Risk, Risk, Risk]:
    return found.prosecutor, found.journalist, found.marketer


def _risk(before: Risk, after: Risk, discretion: Discretion, made: Partition) -> RiskPart:
    # Of persons, k rows may be one: then the counts of rows are not for the public.
    by_rows = made.table.persons is None
    first = _side(before, discretion if by_rows else Discretion(before.rows + 1, discretion.confidential))
    if discretion.hides(made.suppressed_rows):  # all of them may be above, and a mean tells what it is the mean of
        above = tuple((border, None, None) for border, _, _ in first.above)
        first = replace(first, mean=None if first.mean is None else rounded(first.mean), above=above)
    return RiskPart(before.attacker, words.ATTACKERS[before.attacker], first, _side(after, discretion))


def _side(risk: Risk, discretion: Discretion) -> RiskSide:
    counts = discretion.counts([each.rows for each in risk.above], risk.rows)
    above = tuple(
        (each.threshold, shown, None if shown is None else each.share)
        for each, shown in zip(risk.above, counts, strict=True)
    )
    return RiskSide(risk.highest, risk.mean, above, risk.basis)


def _sample(made: Partition, discretion: Discretion, written: Mapping[str, Sequence[str]]) -> Sample:
    """Rows evenly over the table (confidential), or labels evenly over the classes by size (public)."""
    table = made.table
    quasi = table.schema.quasi
    if not discretion.confidential:
        kept = np.flatnonzero(~made.suppressed)
        order = kept[np.argsort(made.sizes[kept], kind="stable")]
        chosen = order[_even(len(order), SAMPLE)]
        rows = tuple(SampleRow(None, _labels(made, int(c), written), int(made.sizes[c]), False) for c in chosen)
        note = "What rows look like in the release, from small classes to large; original rows are confidential."
        return Sample(quasi, len(quasi), rows, note)
    extras = [*table.sensitive, *(c for c in table.targets if c.name not in table.schema.sensitive)]
    leaves = bottom(table.hierarchies).labels
    lost = made.suppressed[made.members]
    some = np.flatnonzero(~lost)
    gone = np.flatnonzero(lost)
    picked = [*some[_even(len(some), SAMPLE - min(2, len(gone)))], *gone[_even(len(gone), min(2, len(gone)))]]
    found: list[SampleRow] = []
    for at in picked:
        own = [counts.values[int(counts.code[counts.start[at]])] for counts in extras]
        before = [labels[code] for labels, code in zip(leaves, table.codes[at].tolist(), strict=True)]
        place = int(made.members[at])
        after = [*_labels(made, place, written), *own] if made.visible[place] else ["" for _ in (*quasi, *own)]
        size = int(made.sizes[place]) if made.visible[place] else None
        found.append(SampleRow((*before, *own), tuple(after), size, bool(lost[at])))
    note = "Original rows, spread evenly over the table, and what becomes of them. Confidential."
    return Sample((*quasi, *(counts.name for counts in extras)), len(quasi), tuple(found), note)


def _even(count: int, wanted: int) -> list[int]:
    """So many places spread evenly from the first to the last."""
    if wanted <= 0 or count <= wanted:
        return list(range(min(count, max(wanted, 0))))
    return [round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted)]


def _labels(made: Partition, place: int, written: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    own = zip(made.recoding.hierarchies, made.recoding.labels, strict=True)
    labels = [written.get(hierarchy.name, shown) for hierarchy, shown in own]
    return tuple("*" if g < 0 else labels[c][g] for c, g in enumerate(made.groups[place].tolist()))


def _sizes(made: Partition, discretion: Discretion) -> tuple[Sizes, ...]:
    """Classes by size: from k on, each border twice the one before; in confidence also what is suppressed."""
    found = []
    if discretion.confidential:
        gone = ~made.visible
        found += _binned(made.sizes[gone], made.rows[gone], 1, True)
    seen = made.visible
    return (*found, *_binned(made.sizes[seen], made.rows[seen], discretion.least, False))


def _binned(sizes: np.ndarray, rows: np.ndarray, first: int, suppressed: bool) -> list[Sizes]:
    found = []
    low = first
    while len(sizes) and low <= int(sizes.max()):
        high = min(2 * low - 1, int(sizes.max())) if suppressed else 2 * low - 1
        there = (sizes >= low) & (sizes <= high)
        found.append(Sizes(low, high, int(there.sum()), int(rows[there].sum()), suppressed))
        low = 2 * low
    return found


def _profiles(made: Partition, discretion: Discretion) -> tuple[tuple[Profile, ...], str]:
    lost = made.suppressed_rows
    if not lost:
        return (), "No row is suppressed, so nobody disappears."
    if not discretion.confidential and (discretion.hides(lost) or made.table.persons is not None):
        return (
            (),
            "Who is suppressed is shown in the confidential report only: the counts are too small for the public.",
        )
    found = []
    # Values of a hierarchy built from the rows are cells whose borders are original values.
    built = {h.name for h in made.table.hierarchies if h.data_dependent and not discretion.confidential}
    for table in (each for each in bias_tables(made) if each.by not in built):
        ordered = sorted(table.rows, key=lambda row: (-row.suppressed, -row.rows, row.group))
        rows = [ProfileRow(r.group, r.rows, r.suppressed_rows, r.suppressed, r.loss) for r in ordered]
        shown, merged = discretion.groups(rows)
        if shown:
            found.append(Profile(table.by, shown, merged > 0))
    found.sort(key=lambda each: -(max(r.share for r in each.rows) - min(r.share for r in each.rows)))
    note = (
        f"{lost:,} of {made.table.rows:,} rows {words.are(lost)} suppressed ({words.percent(lost / made.table.rows)})."
    )
    if not discretion.confidential:
        note += f" Groups with counts from 1 to {discretion.least - 1} are taken together with others."
    return tuple(found), note


def _warning(remark: Remark, context: Context, point: Point, discretion: Discretion) -> Alert:
    """A warning as it may be shown."""
    numbers = dict(remark.numbers)
    if discretion.confidential:
        return Alert(remark.id, remark.severity, remark.text, numbers)
    if remark.id == "W7":
        return _public_w7(remark, context.partition, discretion)
    if remark.id == "W16":
        return _public_w16(remark, context, FrontFacts(*public_front(point, discretion)))
    held = {name: value for name, value in numbers.items() if name in PEOPLE and isinstance(value, int)}
    veiled = (
        remark.id in ("W3", "W11") and "rows" in remark.text and discretion.hides(context.partition.suppressed_rows)
    )
    if veiled or remark.id in ("W5", "W9") or any(discretion.hides(int(value)) for value in held.values()):
        first = remark.text.partition(". ")[0] if remark.id == "W5" else _SUBJECTS.get(remark.id, "A warning applies")
        return Alert(remark.id, remark.severity, f"{first.rstrip('.')}. {SEE_OTHER}", {})
    return Alert(remark.id, remark.severity, remark.text, numbers)


_SUBJECTS: Mapping[str, str] = {
    "W1": "A few rows are unique on all released columns together, so who knows the others can single them out",
    "W2": "No limit protects the sensitive columns, and in a few rows they are (almost) certain",
    "W3": "k may count rows or persons; somebody can have several rows",
    "W9": "The loss counts declared values that no row has, so hiding all that occurs may seem to cost little",
    "W11": "Some rows have a missing value",
    "W13": "Publish the public part of the certificate only",
}


def _public_w7(remark: Remark, made: Partition, discretion: Discretion) -> Alert:
    lost = made.suppressed_rows
    if discretion.hides(lost):
        text = f"Fewer than {discretion.least} rows are suppressed. {SEE_OTHER}"
        return Alert("W7", remark.severity, text, {})
    share = words.percent(lost / made.table.rows)
    text = f"{lost:,} of {made.table.rows:,} rows ({share}) {words.are(lost)} suppressed. "
    text += "Check that those who disappear may disappear."
    if bool((made.suppressed & made.visible).any()):
        text += " They are masked and form a visible class of their own."
    return Alert("W7", remark.severity, text, {"suppressed": lost, "share": lost / made.table.rows})


def _public_w16(remark: Remark, context: Context, shown: FrontFacts) -> Alert:
    """The warning as it is where every point is shown exactly; otherwise without numbers, for they would differ."""
    if context.front is not None and shown.values == context.front.values:
        return Alert("W16", remark.severity, remark.text, dict(remark.numbers))
    text = "Some neighbours on the front hardly differ: choose between such solutions by other reasons."
    return Alert("W16", remark.severity, text, {})


def _tests(tests: AttackReport | None, discretion: Discretion) -> tuple[str, ...]:
    """What the attack tests mean; two releases together may have small classes, which is not for the public."""
    if tests is None:
        return ()
    if discretion.confidential:
        return tuple(tests.sentences())
    found: Sequence[str] = replace(tests, composition=()).sentences()
    extra = [f"The test against earlier releases was run. {SEE_OTHER}"] if tests.composition else []
    return (*found, *extra)
