"""The report as Markdown: the same parts as the page, tables instead of pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from kpareto._version import __version__
from kpareto.faces.report import words
from kpareto.faces.report.columns import LABELS
from kpareto.faces.report.html import CODES, GROUPS, covers
from kpareto.faces.report.regulator_form import technique
from kpareto.faces.report.report import Report, Template, rank
from kpareto.fronts.markup import number, visible
from kpareto.tables.spelling import several

SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")


def escape_text(text: object) -> str:
    """A text in which nothing is Markdown or HTML."""
    return SPECIAL.sub(r"\\\1", escape(visible(text), quote=False))


def markdown(report: Report) -> str:
    """The whole report as Markdown."""
    lines = [f"# {escape_text(report.title)}", "", *_notice(report)]
    lines += _part("Summary", [escape_text(sentence) for sentence in report.summary.sentences])
    lines += _part(
        "Warnings", [f"* **{each.id}** ({each.severity}): {escape_text(each.text)}" for each in rank(report.warnings)]
    )
    if report.tests:
        lines += _part("Attack tests", [f"* {escape_text(sentence)}" for sentence in report.tests])
    lines += [*_front(report), *_sample(report), *_columns(report), *_sizes(report), *_risks(report)]
    lines += [*_profiles(report), *_codes(report), *_method(report)]
    lines += _part("Anonymisation report (draft)", _form(report.template, "###"))
    lines += ["", f"Made by kpareto {__version__}.", ""]
    return "\n".join(lines)


def template_markdown(report: Report) -> str:
    """The anonymisation report alone, as Markdown."""
    lines = ["# Anonymisation report (draft)", "", *_notice(report), *_form(report.template, "##"), ""]
    return "\n".join(lines)


def _notice(report: Report) -> list[str]:
    who, said = words.notice(report.confidential, report.least)
    return [f"**{who}** {said}", *([f"Date: {escape_text(report.date)}."] if report.date else [])]


def _part(title: str, lines: Iterable[str]) -> list[str]:
    return ["", f"## {title}", "", *lines]


def grid(caption: str, head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table with its caption."""
    lines = ["", f"{escape_text(caption)}", "", "| " + " | ".join(escape_text(name) or " " for name in head) + " |"]
    lines.append("|" + " --- |" * len(head))
    lines += ["| " + " | ".join(escape_text(cell) for cell in row) + " |" for row in rows]
    return [*lines, ""]


def _front(report: Report) -> list[str]:
    front = report.front
    names = [objective.name for objective in front.objectives]
    columns = list(front.points[0].levels)
    rows = [
        [
            point.id,
            *(number(point.values[name]) for name in names),
            words.count(point.suppressed, report.least),
            number(point.classes),
            *point.levels.values(),
            ", ".join(point.marks),
        ]
        for point in front.points
    ]
    shape = "levels" if front.by_levels else "groups"
    caption = f"{len(front.points)} of {several(front.count, 'point')}; of each column: {shape}."
    caption += f" {front.left_out_note}" if front.left_out_note else ""
    done = "was released" if report.released else "was chosen, and nothing is released yet"
    lines = [escape_text(f"Point {front.chosen} {done}." + (f" Chosen by: {front.choice}." if front.choice else ""))]
    lines += [
        escape_text(front.proof),
        *([*(f"- {escape_text(sentence)}" for sentence in front.marks), ""] if front.marks else []),
        *grid(caption, ["id", *names, "suppressed", "classes", *columns, "marks"], rows),
    ]
    return _part("The trade-offs", lines)


def _sample(report: Report) -> list[str]:
    sample = report.sample
    rows: list[list[object]] = []
    for row in sample.rows:
        if row.before is not None:
            rows.append(["before", *row.before, ""])
        after = row.after if any(row.after) else ("suppressed", *([""] * (len(row.after) - 1)))
        rows.append(["after", *after, number(row.size)])
    return _part(words.sample_title(report.confidential), grid(sample.note, ["", *sample.columns, "class size"], rows))


def _columns(report: Report) -> list[str]:
    rows = []
    for column in report.columns:
        loss = column.kept_loss if column.loss is None else column.loss
        bands = ", ".join(f"{band.name}: {band.groups:,}" for band in column.bands if band.name != LABELS)
        if column.by_class:  # the bands are for the eye
            bands = ", ".join(filter(None, (bands, f"{LABELS}: {column.groups:,}")))
        rows.append([column.name, technique(column), bands, words.percent(loss)])
    return _part(
        "Columns",
        grid("Hierarchies (groups per level), chosen cuts and loss.", ["column", "done", "hierarchy", "loss"], rows),
    )


def _sizes(report: Report) -> list[str]:
    rows = [
        [
            f"{each.low:,} to {each.high:,}",
            f"{each.classes:,}",
            f"{each.rows:,}",
            "suppressed" if each.suppressed else "",
        ]
        for each in report.sizes
    ]
    return _part(
        "Class sizes", grid("Classes and rows by the size of the class.", ["size", "classes", "rows", ""], rows)
    )


def _risks(report: Report) -> list[str]:
    rows = [
        [
            f"{risk.attacker} ({risk.meaning})",
            *(
                ("–", "–")
                if risk.attacker == "marketer"
                else (words.chance(side.highest, side) for side in (risk.before, risk.after))
            ),
            *(words.chance(side.mean, side) for side in (risk.before, risk.after)),
        ]
        for risk in report.risks
    ]
    head = ["attacker", "highest before", "highest after", "mean before", "mean after"]
    first = report.risks[0]
    above = [
        [f"above {border:.3g}", words.at_risk(before), words.at_risk(after)]
        for (border, before, _), (_, after, _) in zip(first.before.above, first.after.above, strict=True)
    ]
    lines = grid("The chance of recognising a person by the quasi-identifiers.", head, rows)
    lines += grid("Rows whose risk is above thresholds in common use.", ["risk", "rows before", "rows after"], above)
    return _part("Risk before and after", lines)


def _profiles(report: Report) -> list[str]:
    lines = [escape_text(report.profile_note)]
    for profile in report.profiles:
        rows = [
            [row.group, f"{row.rows:,}", f"{row.suppressed:,}", words.percent(row.share), words.percent(row.loss)]
            for row in profile.rows[:GROUPS]
        ]
        lines += grid(f"By {profile.by}.", ["group", "rows", "suppressed", "share", "mean loss"], rows)
    return _part("Who is suppressed", lines)


def _codes(report: Report) -> list[str]:
    lines: list[str] = []
    for column in report.columns:
        rows = []
        for code in column.codes[:CODES]:
            rows.append([code.label, covers(code), f"{code.rows:,}"])
            if report.confidential:
                rows[-1].append(number(code.suppressed))
        more = len(column.codes) - CODES
        caption = f"{column.name}: {several(len(column.codes), 'label')} in use."
        caption += f" The JSON has {more:,} more." if more > 0 else ""
        lines += grid(caption, ["label", "stands for", "rows", *(["suppressed"] if report.confidential else [])], rows)
    return _part("Code book", lines)


def _method(report: Report) -> list[str]:
    method = report.method
    lines = [escape_text(sentence) for sentence in (*method.statement, method.proof)]
    lines += ["", *(f"{place}. {escape_text(paper)}" for place, paper in enumerate(method.papers, 1))]
    lines += grid("Parameters.", ["parameter", "value"], method.parameters)
    lines += grid("Versions.", ["program", "version"], method.versions)
    lines += grid("SHA-256 hashes.", ["of", "hash"], method.hashes)
    return _part("Method, parameters, hashes", lines)


def _form(template: Template, mark: str) -> list[str]:
    lines = [escape_text(sentence) for sentence in template.intro]
    for place, part in enumerate(template.sections, 1):
        lines += [
            "",
            f"{mark} {place}. {escape_text(part.title)}",
            "",
            *(escape_text(sentence) for sentence in part.text),
        ]
        for field in part.fields:
            hint = f" ({escape_text(field.hint)})" if field.hint else ""
            lines.append(
                f"* {escape_text(field.label)}: {escape_text(field.value)}"
                if field.value is not None
                else f"* {escape_text(field.label)}{hint}: …"
            )
        if part.grid is not None:
            lines += grid(part.grid.caption, part.grid.head, part.grid.rows)
    return lines
