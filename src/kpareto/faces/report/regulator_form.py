"""The anonymisation report as regulators ask for it, filled from the run; what only people know is left open.

The parts follow EMA policy 0070 and Health Canada's guidance (variables, technique per variable, initial risk,
threshold, residual risk) and HIPAA's expert determination, 45 CFR 164.514(b)(1) (expert, methods and results,
recipients and context, an end date, a signature), with a checklist of the 18 kinds of identifiers of Safe Harbor,
45 CFR 164.514(b)(2). It is a draft for an expert and no legal opinion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kpareto.errors import shorten
from kpareto.faces.report import words
from kpareto.faces.report.discretion import Discretion
from kpareto.faces.report.report import ColumnPart, FormField, GridView, Method, RiskPart, Section, Summary, Template
from kpareto.fronts.front import Point
from kpareto.releases.recoded_rows import Handling
from kpareto.releases.risk.risk import PRESETS
from kpareto.tables.hierarchy import STAR
from kpareto.tables.spelling import several
from kpareto.tables.vocabulary import SAFE_HARBOR, form_of, identifier_kinds, topics_of

INVENTORY = "Variable inventory"
CHECKLIST = "HIPAA Safe Harbor checklist"
ISO = "In the terms of ISO/IEC 27559"
OTHERS = "all other columns"
SEEN_BY = (
    "This goes by the names of columns, and by the form of the values of quasi-identifiers, sensitive columns and "
    "targets. It is no legal opinion: a kind that is not seen may still be there, under another name or in free text, "
    "and a column may look like a kind that it is not."
)
ASKED = (
    "Safe Harbor (45 CFR 164.514(b)(2)) asks that all eighteen kinds be removed, of the individual and of relatives, "
    "employers and household members, and that nobody there knows that the rest could identify anybody. It lets stay: "
    "a state; the first three digits of a ZIP code where all codes that begin with them have more than 20,000 people "
    "(else 000); the year of a date, unless it tells an age over 89; an age up to 89, and 90 or older as one group. A "
    "column of these kinds that shows more needs an expert determination."
)
UNREAD = "The names of plain columns could not be read, so these were not looked at."
FINE = re.compile(  # a date with more than its year: 1990-03, 1990-Q1, 4.3.1990
    r"(?<!\d)(1[5-9]|20)\d{2}[-/](\d{1,2}(?!\d)|Q\d)|(?<![\d./-])\d{1,2}([./-])\d{1,2}\3\d{2,4}(?![.\d])"
)
YEARS = re.compile(r"\W*\d{4}s?(\W+(to\W+)?\d{4}s?)?\W*")
OLDEST = re.compile(r"(>=|≥|from)\s*90|90\s*(\+|on|(and|or) (more|older|over|above|up))")
NUMBER = re.compile(r"\d+(\.\d+)?(?!,\d)")
INTRO = (
    (
        "This draft follows the anonymisation report of EMA policy 0070 and Health Canada, and the documentation that "
        "HIPAA's expert determination asks for (45 CFR 164.514(b)(1))."
    ),
    (
        "What the run knows is filled in. Lines left open are for the person who signs: no program can know the "
        "recipients, what they already know, or what the law of the country asks."
    ),
)


def fill(
    point: Point,
    summary: Summary,
    columns: Sequence[ColumnPart],
    risks: Sequence[RiskPart],
    method: Method,
    discretion: Discretion,
) -> Template:
    """The template with everything the run knows."""
    least, table = discretion.least, point.front.problem.table
    dropped = f"{words.count(discretion.count(table.dropped), least)} (policy {table.missing!r})"
    rows = (
        "not shown: it would tell the number of suppressed rows" if summary.rows_in is None else f"{summary.rows_in:,}"
    )
    return Template(
        INTRO,
        (
            Section(
                "Identification",
                (
                    FormField("Title of the data", None, "study, register or extract, with its period"),
                    FormField("Data holder", None, "organisation, department, contact"),
                    FormField("Expert", None, "name, qualification, experience with disclosure control"),
                    FormField("Version and date of this report", None),
                ),
            ),
            Section(
                "Purpose, recipients and context",
                (
                    FormField("Purpose of the release", None),
                    FormField("Legal basis", None),
                    FormField("Recipients", None, "named researchers, contract partners, the public"),
                    FormField("Controls at the recipient", None, "contract, training, secure environment, no linking"),
                    FormField(
                        "Plausible adversaries and what they know", None, "neighbours, employers, public registers"
                    ),
                    FormField("Other releases about the same people", None),
                    FormField("Public release?", None, "yes or no; decides which threshold applies"),
                ),
            ),
            Section(
                "Data",
                (
                    FormField("Rows in the table", rows),
                    FormField("Rows left out for missing values", dropped),
                    FormField("Counted", f"{summary.unit} per equivalence class"),
                    FormField("Sample or whole population", None, "decides whether journalist risk can be claimed"),
                ),
            ),
            Section(INVENTORY, (), inventory(point, columns)),
            Section("Threshold", _threshold_fields(summary, risks), _thresholds(summary)),
            Section("Initial and residual risk", (), _risk_grid(risks)),
            Section("Method", (), None, (*method.statement, method.proof)),
            Section("Results", _results(summary, least)),
            checklist(point, columns, inventory(point, columns)),
            Section(ISO, (), _iso_terms(summary, risks)),
            Section(
                "Limits of the claim",
                (),
                None,
                (
                    (
                        "The numbers hold for the declared quasi-identifiers. A column that is not one but known to an "
                        "adversary is not covered."
                    ),
                    (
                        "The release is not differentially private, and k-anonymity alone does not protect sensitive "
                        "values that are alike within a class; see the warnings of the report."
                    ),
                ),
            ),
            Section(
                "Validity and signature",
                (
                    FormField(
                        "Valid until", None, "the determination should be renewed when data, recipients or means change"
                    ),
                    FormField(
                        "To be reviewed earlier if", None, "new releases of the same people, new public registers"
                    ),
                    FormField(
                        "Conclusion of the expert",
                        None,
                        "the risk is very small / acceptable / not acceptable, because",
                    ),
                    FormField("Place and date", None),
                    FormField("Signature", None),
                ),
            ),
        ),
    )


def technique(column: ColumnPart) -> str:
    """What was done to a quasi-identifier, in words."""
    if column.kept:
        return "kept as it is"
    if column.hidden:
        return "hidden: every row shows the same"
    if column.by_class:
        return f"generalized to {several(column.groups, 'label')} that differ from class to class"
    how = "a cut of its hierarchy" if column.level is None else f"level {column.level} of {column.height}"
    done = f"generalized to {several(column.groups, 'group')} ({how})"
    shown = [code.label for code in column.codes if code.rows]
    return f"{done}: every row shows {shown[0]!r}" if len(shown) == 1 else done


IDENTIFIERS = {"drop": "removed", "token": "replaced by a random token, new for every row"}


def with_rows(
    template: Template, point: Point, columns: Sequence[ColumnPart], handling: Handling, plain: Sequence[str] | None
) -> Template:
    """The template with what is known of the rows as written: what becomes of identifiers, and the plain columns."""
    grid = inventory(point, columns, handling, plain)
    fresh = {INVENTORY: Section(INVENTORY, (), grid), CHECKLIST: checklist(point, columns, grid)}
    return replace(template, sections=tuple(fresh.get(part.title, part) for part in template.sections))


def inventory(
    point: Point,
    columns: Sequence[ColumnPart],
    handling: Handling | None = None,
    plain: Sequence[str] | None = None,
) -> GridView:
    """Every variable: direct or indirect, and what was done to it; plain ones by name where they are known."""
    schema = point.front.problem.table.schema
    identifiers = "removed, or a random token per row" if handling is None else IDENTIFIERS[handling.identifiers]
    tied, undecided = ({}, ()) if handling is None else (handling.tied, handling.left_out)
    rows: list[tuple[str, ...]] = []
    direct = [*schema.identifier, *(name for name in schema.persons if name not in schema.identifier)]
    for name in direct:
        done = "not released; classes count persons by it" if name in schema.persons else identifiers
        if name in undecided:
            rows.append((name, "not decided", "removed until somebody decides", ""))
        else:
            rows.append((name, "direct identifier", done, ""))
    for column in columns:
        before = "" if column.leaves is None else f"{several(column.leaves, 'value')} → "
        values = f"{before}{several(column.groups, 'label')}"
        rows.append((column.name, "indirect (quasi-identifier)", technique(column), values))
    for name in schema.sensitive:
        role = "sensitive, target of analysis" if name in schema.target else "sensitive"
        rows.append((name, role, "released as it is", ""))
    rows += [
        (name, "target of analysis", "released as it is", "") for name in schema.target if name not in schema.sensitive
    ]
    if plain is None:
        as_they_are = "released as they are; check that none of them identifies"
        rows.append((OTHERS, "declared plain", as_they_are, ""))
    for name in plain or ():
        as_it_is = "released as it is; check that it does not identify"
        rows.append((name, "plain", f"shows the groups of {tied[name]!r}" if name in tied else as_it_is, ""))
    return GridView(
        "Variables, their kind and what was done to them", ("variable", "kind", "technique", "values"), tuple(rows)
    )


# -- Safe Harbor -------------------------------------------------------------------------------------------------------


def checklist(point: Point, columns: Sequence[ColumnPart], variables: GridView) -> Section:
    """Which of the 18 kinds of identifiers the columns look like, and what becomes of those: a line for each kind."""
    table, parts = point.front.problem.table, {column.name: column for column in columns}
    values = {hierarchy.name: hierarchy.leaves for hierarchy in table.hierarchies}
    values |= {counts.name: counts.values for counts in (*table.sensitive, *table.targets)}
    seen: Mapping[str, list[tuple[str, str]]] = {kind: [] for kind in SAFE_HARBOR}
    for name, _, done, *_ in variables.rows:
        if name == OTHERS:
            continue
        for kind in _kinds_of(name, values.get(name, ())):
            shown = _say_limit(kind, parts[name]) if name in parts else ""
            seen[kind].append((name, f"{name}: {done}{shown}"))
    rows = []
    for kind, title in SAFE_HARBOR.items():
        names, fates = (", ".join(name for name, _ in seen[kind]), "; ".join(fate for _, fate in seen[kind]))
        rows.append((f"({kind}) {title}", names or "none seen", fates))
    unread = (UNREAD,) if variables.rows and variables.rows[-1][0] == OTHERS else ()
    head = ("kind of identifier", "columns that look like it", "in this release")
    return Section(
        CHECKLIST, (), GridView("The eighteen kinds of identifiers", head, tuple(rows)), (SEEN_BY, ASKED, *unread)
    )


def _kinds_of(name: str, values: Sequence[str]) -> str:
    """The letters of the kinds, by the name and the values as far as they were read; dates are found by their form."""
    some = [value for value in values[:: max(1, len(values) // 500)] if value.strip()]
    kinds = identifier_kinds(name, form_of(some))
    dated = sum(FINE.search(value) is not None for value in some) > len(some) / 2
    return kinds if "C" in kinds or not dated else f"{kinds}C"


def _say_limit(kind: str, column: ColumnPart) -> str:
    """What the labels of a quasi-identifier tell of the parts that may stay; nothing where it is hidden, or no part."""
    labels = [code.label for code in column.codes if code.rows and code.label != STAR]
    topics = topics_of(column.name)
    if not labels or kind not in "BC":
        return ""
    if kind == "B" and "zip" not in topics:
        return ", whether coarser than a state was not looked at"
    if kind == "B":
        long = max(len(label.strip(f"{STAR} ")) for label in labels) > 3
        return f", labels of {'more than' if long else 'at most'} three signs, stars aside"
    if "age" in topics:
        return _say_oldest(labels)
    if any(FINE.search(label) for label in labels):
        return ", finer than a year"
    return ", years" if all(YEARS.fullmatch(label) for label in labels) else ", whether finer than a year is not clear"


def _say_oldest(labels: Sequence[str]) -> str:
    """Whether ages over 89 have labels of their own, by the first number of each label."""
    numbers = [NUMBER.search(label) for label in labels]
    old = [label for label, first in zip(labels, numbers, strict=True) if first and float(first[0]) > 89]
    if old and not (len(old) == 1 and OLDEST.fullmatch(old[0].strip())):
        return f", with {several(len(old), 'label')} above 89"
    if None in numbers:
        return ", whether ages over 89 have a label is not clear"
    return f", above 89 only the label {old[0]!r}" if old else ", no label that begins above 89"


def _thresholds(summary: Summary) -> GridView:
    rows = []
    for name, border in PRESETS.items():
        need = int(1 / border)
        met = "met" if summary.k >= need else "not met"
        rows.append((name, f"{float(border):.3f}", f"{need}", met))
    return GridView(
        "Thresholds in use elsewhere, and whether the highest risk of this release is below them",
        ("threshold", "highest risk", "smallest class", "this release"),
        tuple(rows),
    )


def _threshold_fields(summary: Summary, risks: Sequence[RiskPart]) -> tuple[FormField, ...]:
    highest = risks[0].after.highest
    return (
        FormField("Threshold chosen", None, "for example 0.09; say why it fits purpose and recipients"),
        FormField("Highest risk of this release", f"{highest:.4g} (1/{summary.k:,})" if highest is not None else None),
    )


def _risk_grid(risks: Sequence[RiskPart]) -> GridView:
    rows: list[tuple[str, ...]] = []
    for risk in risks:
        sides = (risk.before, risk.after)
        name = f"{risk.attacker} ({risk.meaning})" + ", estimated upper end" * risk.after.estimated
        if risk.attacker != "marketer":
            rows.append((f"{name}: highest", *(words.chance(side.highest, side) for side in sides)))
        rows.append((f"{name}: mean", *(words.chance(side.mean, side) for side in sides)))
    for (border, before, _), (_, after, _) in zip(risks[0].before.above, risks[0].after.above, strict=True):
        rows.append((f"rows with a risk above {border:.3g}", words.at_risk(before), words.at_risk(after)))
    return GridView("Re-identification risk before and after", ("measure", "initial", "residual"), tuple(rows))


def _iso_terms(summary: Summary, risks: Sequence[RiskPart]) -> GridView:
    """What answers the clauses of ISO/IEC 27559:2022, as docs/risk.md has them, with the numbers of this release."""
    after = {risk.attacker: risk.after for risk in risks}
    highest = ", ".join(f"{who} {words.chance(after[who].highest, after[who])}" for who in after if who != "marketer")
    mean = ", ".join(f"{who} {words.chance(side.mean, side)}" for who, side in after.items())
    bases = "; ".join(f"{who}: {side.basis}" for who, side in after.items())
    rows = (
        ("6 Context assessment", "for people to answer, under purpose, recipients and context"),
        ("7.3 Attack modelling: maximum risk", highest),
        ("7.3 Attack modelling: average risk", mean),
        ("7.3 Attack modelling: population or sample", bases),
        ("7.3 Attack modelling: data privacy models", f"k-anonymity with k = {summary.k:,} ({summary.unit})"),
        ("8.2 Assessing identifiability: quantifying it", "the risks above, beside the thresholds of this form"),
        (
            "8.2 Assessing identifiability: adversarial testing",
            "singling out, linkability and inference by kpareto attack, beside a control, for the holder of the data",
        ),
        ("8.3 Mitigation", "the technique per variable, and the residual risk after it"),
        ("9 Governance", "for people to answer"),
    )
    return GridView("Clauses of ISO/IEC 27559:2022, and what answers them", ("clause", "answer"), rows)


def _results(summary: Summary, least: int) -> tuple[FormField, ...]:
    lost = "masked" if summary.masked else "suppressed"
    return (
        FormField("Smallest equivalence class (k)", several(summary.k, summary.unit.removesuffix("s"))),
        FormField("Equivalence classes", f"{summary.classes:,}"),
        FormField("Rows released", f"{summary.rows_out:,}"),
        FormField(f"Rows {lost}", words.count(summary.suppressed, least)),
        FormField(
            f"Information kept in the quasi-identifiers{' of the released rows' if summary.rows_in is None else ''}",
            words.percent(None if summary.loss is None else 1 - summary.loss),
        ),
        FormField("Sensitive columns", shorten(summary.sensitive) if summary.sensitive else "none declared"),
        FormField("Effect on the intended analysis", None, "what can and what cannot be answered any more"),
    )
