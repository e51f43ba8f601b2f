"""The report as one HTML page that needs nothing else: no address, font, script or picture from anywhere."""

from __future__ import annotations

from pathlib import Path

from kpareto._version import __version__
from kpareto.faces.report import words
from kpareto.faces.report.regulator_form import technique
from kpareto.faces.report.report import (
    Code,
    ColumnPart,
    FormField,
    FrontPart,
    Report,
    RiskPart,
    Section,
    Template,
    rank,
)
from kpareto.faces.report.svg import hierarchy_picture, loss_picture, size_picture
from kpareto.fronts.markup import SHORT, Markup, number, safe, table, tag
from kpareto.fronts.picture import sketch
from kpareto.tables.spelling import several

STYLE = Path(__file__).with_name("report.css")
CODES = 60  # lines of a code book on the page; the JSON has all
GROUPS = 6  # groups of a profile on the page
NEW_PAGE = ("front", "hierarchies", "codebook", "method", "form")  # sections that begin a page when printed
# Nothing may be loaded or run, whatever a cell contains; the style is in the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html(report: Report) -> str:
    """The whole report as a page."""
    parts = [
        ("summary", "Summary", _summary(report)),
        ("warnings", "Warnings", _warnings(report)),
        ("front", "The trade-offs", _front(report.front, report.least, report.released)),
        ("sample", words.sample_title(report.confidential), _sample(report)),
        ("hierarchies", "Hierarchies and chosen cuts", _hierarchies(report)),
        ("classes", "Class sizes", _sizes(report)),
        ("risk", "Risk before and after", _risks(report)),
        ("loss", "Loss per column", _loss(report)),
        ("suppressed", "Who is suppressed", _profiles(report)),
        ("codebook", "Code book", _code_book(report)),
        ("method", "Method, parameters, hashes", _method(report)),
        ("form", "Anonymisation report (draft)", _form(report.template)),
    ]
    places = [tag("li", tag("a", title, at={"href": f"#{name}"})) for name, title, _ in parts]
    nav = tag("nav", tag("h2", "Contents"), tag("ol", places), at={"aria-label": "Contents"})
    return _page(report, _header(report, report.title, nav), [_section(*part) for part in parts])


def template_html(report: Report) -> str:
    """The anonymisation report alone, as a page."""
    body = tag("section", _form(report.template), at={"id": "form"})
    return _page(report, _header(report, "Anonymisation report (draft)", Markup("")), [body])


def _page(report: Report, header: Markup, sections: list[Markup]) -> str:
    title = f"{report.title} – {'confidential' if report.confidential else 'public'} report"
    return whole_page(title, header, sections)


def whole_page(title: str, header: Markup, sections: list[Markup]) -> str:
    """A page in the report's style that loads and runs nothing."""
    head = tag(
        "head",
        tag("meta", at={"charset": "utf-8"}),
        tag("meta", at={"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", at={"http-equiv": "Content-Security-Policy", "content": POLICY}),
        tag("meta", at={"name": "generator", "content": f"kpareto {__version__}"}),
        tag("title", title),
        tag("style", Markup(STYLE.read_text(encoding="utf-8"))),
    )
    skip = tag("a", "To the content", at={"href": "#content", "class": "skip"})
    foot = tag(
        "footer", tag("p", f"Made by kpareto {__version__} on the data holder's machine; nothing was sent anywhere.")
    )
    main = tag("main", sections, at={"id": "content"})
    newline = Markup("\n")
    body = tag("body", skip, header, main, foot)
    page = tag("html", newline, head, newline, body, newline, at={"lang": "en"})
    return f"<!DOCTYPE html>\n{page}\n"


def _header(report: Report, title: str, nav: Markup) -> Markup:
    dated = f" · {report.date}" if report.date else ""
    return tag(
        "header",
        tag("div", f"kpareto · release report{dated}", at={"class": "brand"}),
        tag("h1", title),
        _notice(report),
        nav,
    )


def _notice(report: Report) -> Markup:
    who, said = words.notice(report.confidential, report.least)
    kind = "notice secret" if report.confidential else "notice"
    return tag("p", tag("strong", f"{who} "), said, at={"class": kind})


def _section(name: str, title: str, *inside: object) -> Markup:
    kind = "newpage" if name in NEW_PAGE else "whole" if name in ("classes", "loss") else None
    return tag(
        "section",
        tag("h2", title, at={"id": f"{name}-title"}),
        inside,
        at={"id": name, "class": kind, "aria-labelledby": f"{name}-title"},
    )


def _paragraphs(sentences: tuple[str, ...], kind: str | None = None) -> list[Markup]:
    return [tag("p", sentence, at={"class": kind}) for sentence in sentences]


def _summary(report: Report) -> list[object]:
    summary = report.summary
    before, after = report.risks[0].before.highest, report.risks[0].after.highest
    share = None if summary.rows_in is None or summary.suppressed is None else 1 - summary.suppressed / summary.rows_in
    tiles = [
        (
            f"{summary.k:,}",
            f"{summary.unit.removesuffix('s') if summary.k == 1 else summary.unit} in the smallest class (k)",
        ),
        (
            f"{_short(before)} → {_short(after)}" if report.risks[0].before.shown else _short(after),
            "highest risk of being recognised",
        ),
        (
            words.percent(share) if share is not None else f"{summary.rows_out:,}",
            "of the rows keep their cells" if share is not None else "rows released",
        ),
        (
            words.percent(1 - summary.loss) if summary.loss is not None else "–",
            f"of the detail kept (1 − LM{' of the released rows' if summary.rows_in is None else ''})",
        ),
    ]
    listed = tag("ul", [tag("li", tag("b", big), tag("span", small)) for big, small in tiles], at={"class": "tiles"})
    return [_paragraphs(summary.sentences[:1], "lead"), listed, _paragraphs(summary.sentences[1:])]


def _short(share: float | None) -> str:
    return words.percent(share).replace(".0%", "%")


def _warnings(report: Report) -> list[object]:
    items = [
        tag(
            "li",
            tag("span", f"{each.id} · {each.severity}", at={"class": f"tag {each.severity}"}),
            tag("p", each.text),
            at={"class": each.severity},
        )
        for each in rank(report.warnings)
    ]
    blocks: list[object] = [
        tag("p", "What a person must know before this release leaves the house, the most serious first."),
        tag("ul", items, at={"class": "warnings"}),
    ]
    if report.tests:
        blocks += [
            tag("h3", "Attack tests on this release"),
            tag("ul", [tag("li", sentence) for sentence in report.tests]),
            tag("p", "A test that finds nothing does not prove that nothing can be found.", at={"class": "soft"}),
        ]
    return blocks


def _front(front: FrontPart, least: int, released: bool) -> list[object]:
    chosen = next(point for point in front.points if point.id == front.chosen)
    values = ", ".join(f"{name} = {number(v)}" for name, v in chosen.values.items() if v is not None)
    done = "was released" if released else "was chosen, and nothing is released yet"
    asked = f" It was chosen by the words “{front.choice}”." if front.choice else ""
    told = f": {values}" if values else ""
    blocks: list[object] = [tag("p", f"Point {front.chosen} {done}{told}.{asked}"), tag("p", front.proof)]
    blocks += [tag("ul", [tag("li", sentence) for sentence in front.marks])] if front.marks else []
    if front.drawing is not None:
        description = (
            f"{several(len(front.drawing.points), 'trade-off')} between "
            f"{front.drawing.x_name} and {front.drawing.y_name}; "
            f"the chosen point has {values}."
        )
        grey = " Grey: recodings that another one beats." if front.drawing.cloud else ""
        caption = f"Blue: the front.{grey} Red: the chosen point."
        blocks.append(
            tag(
                "figure",
                tag("div", sketch(front.drawing, "The front", description), at={"class": "scroll"}),
                tag("figcaption", caption),
            )
        )
    names = [objective.name for objective in front.objectives]
    columns = list(front.points[0].levels)
    rows, classes = [], {}
    for line, point in enumerate(front.points):
        cells: list[object] = [point.id, ", ".join(point.marks), *(number(point.values[name]) for name in names)]
        cells += [words.count(point.suppressed, least), number(point.classes), *point.levels.values()]
        rows.append(cells)
        if point.id == front.chosen:
            classes[line] = "chosen"
    shape = "levels" if front.by_levels else "groups"
    caption = f"{len(front.points)} of {several(front.count, 'point')} of the front. Of each column: {shape}."
    caption += f" {front.left_out_note}" if front.left_out_note else ""
    head = ["id", "", *names, "suppressed", "classes", *columns]
    shown = table(caption, head, rows, {0, *range(2, len(head))}, classes)
    blocks.append(tag("div", shown, at={"class": "dense"}))
    blocks.append(
        tag(
            "p",
            "; ".join(f"{o.name} ({o.better} is better): {o.meaning}" for o in front.objectives) + ".",
            at={"class": "soft"},
        )
    )
    return blocks


def _sample(report: Report) -> list[object]:
    sample = report.sample
    rows, classes = [], {}
    for row in sample.rows:
        if row.before is not None:
            rows.append(["before", *row.before, ""])
            if row.suppressed:
                classes[len(rows)] = "gone"
            after = row.after if any(row.after) else ("suppressed", *([""] * (len(row.after) - 1)))
            rows.append(["after", *after, number(row.size)])
        else:
            rows.append([f"{len(rows) + 1}", *row.after, number(row.size)])
    head = ["", *sample.columns, "class size"]
    return [tag("div", table(sample.note, head, rows, (len(head) - 1,), classes), at={"class": "keep dense"})]


def _hierarchies(report: Report) -> list[object]:
    note = "Each band is a level of a hierarchy, its boxes are the groups. In colour: what the release shows."
    if any(column.by_class for column in report.columns):
        note += " Labels differ from class to class: where some lie within others, they stand in several bands."
    blocks: list[object] = [tag("p", note)]
    for column in report.columns:
        picture = tag("div", hierarchy_picture(column), at={"class": "scroll hierarchy"})
        words_of = technique(column)
        extra = " Values and levels that would tell of fewer rows than k are not shown." if column.withheld else ""
        extra += " The hierarchy was built from the rows themselves." if column.data_dependent else ""
        said = tag("figcaption", f"{words_of[0].upper()}{words_of[1:]}.{extra}")
        blocks.append(tag("div", tag("h3", column.name), tag("figure", picture, said), at={"class": "whole"}))
    return blocks


def _sizes(report: Report) -> list[object]:
    summary = report.summary
    text = (
        f"{several(summary.classes, 'class', 'classes')}; the smallest has "
        f"{several(summary.k, summary.unit.removesuffix('s'))}, half at most "
        f"{number(summary.median_class)}, the largest {summary.largest_class:,}."
    )
    return [
        tag("p", text),
        tag(
            "figure",
            tag("div", size_picture(report.sizes, summary.unit), at={"class": "scroll"}),
            tag("figcaption", "Rows by the size of their class."),
        ),
    ]


def _risks(report: Report) -> list[object]:
    rows = []
    for risk in report.risks:
        name = safe([tag("strong", risk.attacker), Markup("<br>"), tag("span", risk.meaning, at={"class": "soft"})])
        highest = (
            ["–", "–"]
            if risk.attacker == "marketer"
            else [words.chance(side.highest, side) for side in (risk.before, risk.after)]
        )
        rows.append([name, *highest, *(words.chance(side.mean, side) for side in (risk.before, risk.after))])
    head = ["attacker", "highest before", "highest after", "mean before", "mean after"]
    return [
        table("The chance of recognising a person by the quasi-identifiers", head, rows, (1, 2, 3, 4)),
        _above(report.risks[0]),
        tag(
            "p",
            f"Prosecutor: {report.risks[0].after.basis}. Journalist and marketer: {report.risks[1].after.basis}.",
            at={"class": "soft"},
        ),
    ]


def _above(risk: RiskPart) -> Markup:
    rows = []
    for (border, before, share_before), (_, after, share_after) in zip(
        risk.before.above, risk.after.above, strict=True
    ):
        cells = [f"above {border:.3g} (classes of fewer than {round(1 / border)})"]
        for amount, share in ((before, share_before), (after, share_after)):
            cells.append(words.at_risk(amount) + (f" ({words.percent(share)})" if share is not None else ""))
        rows.append(cells)
    return table(
        "Rows whose risk is above thresholds in common use", ["risk", "rows before", "rows after"], rows, (1, 2)
    )


def _loss(report: Report) -> list[object]:
    text = "The mean share of a cell's detail that is lost: 0% shows every value, 100% shows nothing."
    whole = all(column.loss is not None for column in report.columns)
    text += (
        " Suppressed rows count as lost."
        if whole
        else " Counted over the released rows alone, so that the small number of suppressed rows is not told."
    )
    return [tag("p", text), tag("figure", tag("div", loss_picture(report.columns), at={"class": "scroll"}))]


def _profiles(report: Report) -> list[object]:
    blocks: list[object] = [tag("p", report.profile_note)]
    if report.profiles:
        blocks.append(
            tag("p", "Columns in which groups fare most differently come first; of each, the groups that lose most.")
        )
    for profile in report.profiles:
        shown = profile.rows[:GROUPS]
        rows = [
            [row.group, f"{row.rows:,}", f"{row.suppressed:,}", words.percent(row.share), words.percent(row.loss)]
            for row in shown
        ]
        more = len(profile.rows) - len(shown)
        caption = f"By {profile.by}" + (f" (the JSON has {more:,} more)" if more > 0 else "")
        blocks.append(table(caption, ["group", "rows", "suppressed", "share", "mean loss"], rows, (1, 2, 3, 4)))
    return blocks


def _code_book(report: Report) -> list[object]:
    note = "What each label of the release stands for, and how many released rows show it."
    blocks: list[object] = [tag("p", note)]
    for column in report.columns:
        kind = "whole" if len(column.codes) <= SHORT else None
        blocks.append(tag("div", tag("h3", column.name), _codes(column, report.confidential), at={"class": kind}))
    return blocks


def _codes(column: ColumnPart, confidential: bool) -> Markup:
    rows = []
    for code in column.codes[:CODES]:
        rows.append([code.label, covers(code), f"{code.rows:,}"])
        if confidential:
            rows[-1].append(number(code.suppressed))
    more = len(column.codes) - CODES
    caption = f"{several(len(column.codes), 'label')} in use" + (f"; the JSON has {more:,} more" if more > 0 else "")
    head = ["label", "stands for", "rows", *(["suppressed"] if confidential else [])]
    return table(caption, head, rows, range(2, len(head)))


def covers(code: Code) -> str:
    """The values a label stands for."""
    if code.leaves == 1:
        return "the value itself" if code.first in (None, code.label) else str(code.first)
    if code.values:
        return ", ".join(code.values)
    if code.first is None or code.last is None:
        return ""
    ends = code.first if code.first == code.last else f"{code.first} … {code.last}"
    return ends if code.leaves is None else f"{ends} ({code.leaves:,} values)"


def _method(report: Report) -> list[object]:
    method = report.method
    hashes = [[name, tag("span", value, at={"class": "hash"})] for name, value in method.hashes]
    return [
        _paragraphs(method.statement),
        tag("p", method.proof),
        tag("h3", "The papers whose methods are used"),
        tag("ol", [tag("li", paper) for paper in method.papers]),
        table("Parameters", ["parameter", "value"], method.parameters),
        table("Versions", ["program", "version"], method.versions),
        table("SHA-256 hashes", ["of", "hash"], hashes),
    ]


def _form(template: Template) -> list[object]:
    return [
        _paragraphs(template.intro),
        [_form_section(place, part) for place, part in enumerate(template.sections, 1)],
    ]


def _form_section(place: int, part: Section) -> list[object]:
    blocks: list[object] = [tag("h3", f"{place}. {part.title}"), _paragraphs(part.text)]
    if part.fields:
        blocks.append(tag("dl", [_field(field) for field in part.fields], at={"class": "form"}))
    if part.grid is not None:
        blocks.append(table(part.grid.caption, part.grid.head, part.grid.rows))
    return blocks


def _field(field: FormField) -> Markup:
    if field.value is None:
        return tag("div", tag("dt", field.label), tag("dd", field.hint or Markup("&nbsp;"), at={"class": "open"}))
    return tag("div", tag("dt", field.label), tag("dd", field.value))
