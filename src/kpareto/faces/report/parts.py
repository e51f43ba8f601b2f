"""The report as parts made of blocks: what every page of it shows, in which words, pictures and order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kpareto._version import __version__
from kpareto.faces.report import words
from kpareto.faces.report.answers import attack_blocks, use_blocks
from kpareto.faces.report.blocks import (
    Alerts,
    Block,
    Digest,
    Fields,
    Heading,
    Illustration,
    Illustrations,
    ItemList,
    PagePart,
    Sentence,
    TableBlock,
    Term,
    Tiles,
    Together,
    blocks_html,
    blocks_markdown,
    escape_text,
    whole_page,
)
from kpareto.faces.report.columns import LABELS
from kpareto.faces.report.regulator_form import technique
from kpareto.faces.report.report import Code, ColumnPart, FrontPart, LevelBand, Report, RiskPart, Sizes, Template
from kpareto.fronts.markup import SHORT, Markup, number, rect, svg, tag, text
from kpareto.fronts.picture import LETTER, WIDTH, sketch
from kpareto.releases.warnings import rank_remarks
from kpareto.tables.recoding import HIDDEN
from kpareto.tables.spelling import several

CODES = 60  # lines of a code book on the page; the JSON has all
GROUPS = 6  # groups of a profile on the page
SIGNS = {"higher": "≥", "lower": "≤"}
FORM = "Anonymisation report (draft)"
NEW_PAGE = ("warnings", "front", "hierarchies", "codebook", "method", "form")  # parts that begin a page when printed


def html(report: Report, form: bool = False) -> str:
    """The whole report as a page; the anonymisation report alone if ``form``."""
    parts = report_parts(report)
    links = [tag("li", tag("a", part.title, at={"href": f"#{part.name}"})) for part in parts]
    nav = tag("nav", tag("h2", "Contents"), tag("ol", links), at={"aria-label": "Contents"})
    alone = tag("section", blocks_html(form_blocks(report.template)), at={"id": "form"})
    dated = f" · {report.date}" if report.date else ""
    who, what = words.notice(report.confidential, report.least)
    header = tag(
        "header",
        tag("div", f"kpareto · release report{dated}", at={"class": "brand"}),
        tag("h1", FORM if form else report.title),
        tag("p", tag("strong", f"{who} "), what, at={"class": "notice secret" if report.confidential else "notice"}),
        None if form else nav,
    )
    title = f"{report.title} – {'confidential' if report.confidential else 'public'} report"
    return whole_page(title, header, [alone] if form else [_section(part) for part in parts])


def _section(part: PagePart) -> Markup:
    kind = "newpage" if part.name in NEW_PAGE else "whole" if part.name in ("classes", "loss") else None
    title = f"{part.name}-title"
    inside = tag("h2", part.title, at={"id": title}), blocks_html(part.blocks)
    return tag("section", inside, at={"id": part.name, "class": kind, "aria-labelledby": title})


def markdown(report: Report, form: bool = False) -> str:
    """The whole report as Markdown; the anonymisation report alone if ``form``."""
    who, what = words.notice(report.confidential, report.least)
    notice = [f"**{who}** {what}", *([f"Date: {escape_text(report.date)}."] if report.date else [])]
    if form:
        return _join([f"# {FORM}", "", *notice, *blocks_markdown(form_blocks(report.template), "##"), ""])
    lines = [f"# {escape_text(report.title)}", "", *notice]
    for part in report_parts(report):
        if inside := blocks_markdown(part.blocks, "###"):
            lines += ["", f"## {part.title}", "", *inside]
    return _join([*lines, "", f"Made by kpareto {__version__}.", ""])


def _join(lines: Sequence[str]) -> str:
    """The lines as a text, never more than one of them empty in a row."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def report_parts(report: Report) -> list[PagePart]:
    """The whole report."""
    return [
        PagePart("summary", "On one page", _board(report)),
        PagePart("warnings", "Warnings", _warnings(report)),
        PagePart("front", "The trade-offs", _front(report.front, report.least, report.released)),
        PagePart("sample", words.sample_title(report.confidential), [_sample(report)]),
        PagePart("hierarchies", "Hierarchies and chosen cuts", [_hierarchies(report)]),
        PagePart("classes", "Class sizes", _class_sizes(report)),
        PagePart("risk", "Risk before and after", _risks(report)),
        PagePart("loss", "Loss per column", [_loss(report)]),
        *([] if report.use is None else [PagePart("use", "What an analyst still gets", use_blocks(report.use))]),
        PagePart("suppressed", "Who is suppressed", _profiles(report)),
        PagePart("codebook", "Code book", _code_book(report)),
        PagePart("method", "Method, parameters, hashes", _method(report)),
        PagePart("form", FORM, form_blocks(report.template)),
    ]


def _board(report: Report) -> list[Block]:
    """The first page, in the order in which people who decide ask."""
    board, summary, prosecutor = report.board, report.summary, report.risks[0]
    first, second, *others = board.protected
    asked = [
        [
            "–" if promise.asked is None else f"{promise.name} {SIGNS[promise.better]} {number(promise.asked)}",
            promise.meaning,
            ("met" if promise.met else "not met") if promise.reached is None else number(promise.reached),
        ]
        for promise in board.promises
    ]
    fates = [
        [fate.name, fate.kind, fate.words, "" if fate.loss is None else words.percent(fate.loss)]
        for fate in board.columns
    ]
    before, after = (words.percent(side.highest).replace(".0%", "%") for side in (prosecutor.before, prosecutor.after))
    hidden = sum(column.words == HIDDEN for column in report.columns)
    unit = summary.unit.removesuffix("s") if summary.k == 1 else summary.unit
    rows = "row" if summary.suppressed == 1 else "rows"
    tiles = (
        (f"{summary.k:,}", f"{unit} at the least look alike (k)"),
        (f"{before} → {after}" if prosecutor.before.shown else after, "highest risk of being recognised"),
        (f"{hidden} of {len(report.columns)}", "quasi-identifiers are hidden"),
        (words.count(summary.suppressed, report.least), f"{rows} {'masked' if summary.masked else 'left out'}"),
    )
    return [
        Heading("What is protected, and how far"),
        *(Sentence(first, "lead"), Sentence(second, "soft"), Tiles(tiles)),
        TableBlock("Limits, what they mean, and what is reached", ["asked for", "meaning", "reached"], asked, (2,)),
        *map(Sentence, others),
        Heading("What was lost, column by column"),
        TableBlock(
            "What the released rows show of each column",
            ["column", "kind", "released", "detail lost"],
            fates,
            (3,),
        ),
        *map(Sentence, board.lost),
        Heading("Who disappears"),
        *map(Sentence, board.gone),
        *(Heading("What remains possible"), ItemList(board.possible)),
        Heading("Who checked it"),
        *map(Sentence, board.checked),
    ]


def _warnings(report: Report) -> list[Block]:
    note = "What a person must know before this release leaves the house, the most serious first."
    blocks: list[Block] = [Sentence(note), Alerts(rank_remarks(report.warnings))]
    if report.tests:
        soft = Sentence("A test that finds nothing does not prove that nothing can be found.", "soft")
        blocks += [Heading("Attack tests on this release"), ItemList(report.tests), soft]
    return blocks


def _front(front: FrontPart, least: int, released: bool) -> list[Block]:
    chosen = next(point for point in front.points if point.id == front.chosen)
    values = ", ".join(f"{name} = {number(v)}" for name, v in chosen.values.items() if v is not None)
    done = "was released" if released else "was chosen, and nothing is released yet"
    asked = f" It was chosen by the words “{front.choice}”." if front.choice else ""
    blocks: list[Block] = [Sentence(f"Point {front.chosen} {done}{': ' if values else ''}{values}.{asked}")]
    blocks.append(Sentence(front.proof))
    blocks += [ItemList(front.marks)] if front.marks else []
    if front.drawing is not None:
        many = several(len(front.drawing.points), "trade-off")
        axes = f"{front.drawing.x_name} and {front.drawing.y_name}"
        drawn = sketch(front.drawing, "The front", f"{many} between {axes}; the chosen point has {values}.")
        grey = " Grey: recodings that another one beats." if front.drawing.cloud else ""
        blocks.append(Illustrations([Illustration(drawn, f"Blue: the front.{grey} Red: the chosen point.")]))
    names = [objective.name for objective in front.objectives]
    head = ["id", "", *names, "suppressed", "classes", *front.points[0].levels]
    rows = [
        [
            *(point.id, ", ".join(point.marks), *(number(point.values[name]) for name in names)),
            *(words.count(point.suppressed, least), number(point.classes), *point.levels.values()),
        ]
        for point in front.points
    ]
    shape = "levels" if front.by_levels else "groups"
    caption = f"{len(front.points)} of {several(front.count, 'point')} of the front. Of each column: {shape}."
    caption += f" {front.left_out_note}" if front.left_out_note else ""
    set_off = {line: "chosen" for line, point in enumerate(front.points) if point.id == front.chosen}
    blocks.append(TableBlock(caption, head, rows, {0, *range(2, len(head))}, set_off, "dense"))
    meanings = "; ".join(f"{o.name} ({o.better} is better): {o.meaning}" for o in front.objectives)
    return [*blocks, Sentence(f"{meanings}.", "soft")]


def _sample(report: Report) -> TableBlock:
    sample = report.sample
    rows: list[list[object]] = []
    set_off = {}
    for row in sample.rows:
        if row.before is None:
            rows.append([f"{len(rows) + 1}", *row.after, number(row.size)])
            continue
        rows.append(["before", *row.before, ""])
        if row.suppressed:
            set_off[len(rows)] = "gone"
        after = row.after if any(row.after) else ("suppressed", *([""] * (len(row.after) - 1)))
        rows.append(["after", *after, number(row.size)])
    head = ["", *sample.columns, "class size"]
    return TableBlock(sample.note, head, rows, (len(head) - 1,), set_off, "keep dense")


def _hierarchies(report: Report) -> Illustrations:
    note = "Each band is a level of a hierarchy, its boxes are the groups. In colour: what the release shows."
    if any(column.by_class for column in report.columns):
        note += " Labels differ from class to class: where some lie within others, they stand in several bands."
    figures, rows = [], []
    for column in report.columns:
        done = technique(column)
        extra = " Values and levels that would tell of fewer rows than k are not shown." if column.withheld else ""
        extra += " The hierarchy was built from the rows themselves." if column.data_dependent else ""
        figures.append(Illustration(hierarchy_picture(column), f"{done[0].upper()}{done[1:]}.{extra}", column.name))
        bands = [f"{band.name}: {band.groups:,}" for band in column.bands if band.name != LABELS]
        bands += [f"{LABELS}: {column.groups:,}"] if column.by_class else []  # the bands are for the eye
        loss = column.kept_loss if column.loss is None else column.loss
        rows.append([column.name, done, ", ".join(bands), words.percent(loss)])
    caption = "Hierarchies (groups per level), chosen cuts and loss."
    return Illustrations(figures, note, TableBlock(caption, ["column", "done", "hierarchy", "loss"], rows))


def _class_sizes(report: Report) -> list[Block]:
    summary = report.summary
    text = (
        f"{several(summary.classes, 'class', 'classes')}; the smallest has "
        f"{several(summary.k, summary.unit.removesuffix('s'))}, half at most "
        f"{number(summary.median_class)}, the largest {summary.largest_class:,}."
    )
    rows = [
        [f"{s.low:,} to {s.high:,}", f"{s.classes:,}", f"{s.rows:,}", "suppressed" if s.suppressed else ""]
        for s in report.sizes
    ]
    figure = Illustration(size_picture(report.sizes, summary.unit), "Rows by the size of their class.")
    instead = TableBlock("Classes and rows by the size of the class.", ["size", "classes", "rows", ""], rows)
    return [Sentence(text), Illustrations([figure], instead=instead)]


def _risks(report: Report) -> list[Block]:
    rows = []
    for risk in report.risks:
        sides = (risk.before, risk.after)
        highest = ["–", "–"] if risk.attacker == "marketer" else [words.chance(side.highest, side) for side in sides]
        name = risk.attacker + ", estimated upper end" * risk.after.estimated
        rows.append([Term(name, risk.meaning), *highest, *(words.chance(side.mean, side) for side in sides)])
    head = ["attacker", "highest before", "highest after", "mean before", "mean after"]
    first, second = (risk.after.basis for risk in report.risks[:2])
    return [
        *([] if report.attacks is None else attack_blocks(report.attacks)),
        Heading("Recognising a person, before and after"),
        TableBlock("The chance of recognising a person by the quasi-identifiers", head, rows, (1, 2, 3, 4)),
        _above(report.risks[0]),
        Sentence(f"Prosecutor: {first}. Journalist and marketer: {second}.", "soft"),
    ]


def _above(risk: RiskPart) -> TableBlock:
    rows = []
    for before, after in zip(risk.before.above, risk.after.above, strict=True):
        cells = [f"above {before[0]:.3g} (classes of fewer than {round(1 / before[0])})"]
        for _, amount, share in (before, after):
            cells.append(words.at_risk(amount) + (f" ({words.percent(share)})" if share is not None else ""))
        rows.append(cells)
    caption = "Rows whose risk is above thresholds in common use"
    return TableBlock(caption, ["risk", "rows before", "rows after"], rows, (1, 2))


def _loss(report: Report) -> Illustrations:
    text = "The mean share of a cell's detail that is lost: 0% shows every value, 100% shows nothing."
    if all(column.loss is not None for column in report.columns):
        text += " Suppressed rows count as lost."
    else:
        text += " Counted over the released rows alone, so that the small number of suppressed rows is not told."
    return Illustrations([Illustration(loss_picture(report.columns))], text)


def _profiles(report: Report) -> list[Block]:
    blocks: list[Block] = [Sentence(report.profile_note)]
    if report.profiles:
        order = "Columns in which groups fare most differently come first; of each, the groups that lose most."
        blocks.append(Sentence(order))
    for profile in report.profiles:
        rows = [
            [row.group, f"{row.rows:,}", f"{row.suppressed:,}", words.percent(row.share), words.percent(row.loss)]
            for row in profile.rows[:GROUPS]
        ]
        more = len(profile.rows) - len(rows)
        caption = f"By {profile.by}" + (f" (the JSON has {more:,} more)" if more > 0 else "")
        blocks.append(TableBlock(caption, ["group", "rows", "suppressed", "share", "mean loss"], rows, (1, 2, 3, 4)))
    return blocks


def _code_book(report: Report) -> list[Block]:
    blocks: list[Block] = [Sentence("What each label of the release stands for, and how many released rows show it.")]
    for column in report.columns:
        book = _codes(column, report.confidential)
        blocks.append(Together([Heading(column.name), book], len(column.codes) <= SHORT))
    return blocks


def _codes(column: ColumnPart, confidential: bool) -> TableBlock:
    rows = [
        [code.label, _covers(code), f"{code.rows:,}", *([number(code.suppressed)] if confidential else [])]
        for code in column.codes[:CODES]
    ]
    more = len(column.codes) - CODES
    caption = f"{several(len(column.codes), 'label')} in use" + (f"; the JSON has {more:,} more" if more > 0 else "")
    head = ["label", "stands for", "rows", *(["suppressed"] if confidential else [])]
    return TableBlock(caption, head, rows, range(2, len(head)))


def _covers(code: Code) -> str:
    """The values a label stands for."""
    if code.leaves == 1:
        return "the value itself" if code.first in (None, code.label) else str(code.first)
    if code.values:
        return ", ".join(code.values)
    if code.first is None or code.last is None:
        return ""
    ends = code.first if code.first == code.last else f"{code.first} … {code.last}"
    return ends if code.leaves is None else f"{ends} ({code.leaves:,} values)"


def _method(report: Report) -> list[Block]:
    method = report.method
    return [
        *map(Sentence, (*method.statement, method.proof)),
        Heading("The papers whose methods are used"),
        ItemList(method.papers, numbered=True),
        TableBlock("Parameters", ["parameter", "value"], method.parameters),
        TableBlock("Versions", ["program", "version"], method.versions),
        TableBlock("SHA-256 hashes", ["of", "hash"], [[name, Digest(value)] for name, value in method.hashes]),
    ]


def form_blocks(template: Template) -> list[Block]:
    """The anonymisation report that regulators ask for."""
    blocks: list[Block] = [*map(Sentence, template.intro)]
    for count, part in enumerate(template.sections, 1):
        blocks += [Heading(f"{count}. {part.title}"), *map(Sentence, part.text)]
        blocks += [Fields(part.fields)] if part.fields else []
        blocks += [] if part.grid is None else [TableBlock(part.grid.caption, part.grid.head, part.grid.rows)]
    return blocks


# -- pictures: bars and bands as SVG inside the page, real text, colours by its style ----------------------------------


def size_picture(sizes: Sequence[Sizes], unit: str) -> Markup:
    """Rows by the size of their class, as bars from the smallest classes to the largest."""
    if not sizes:
        return Markup("")
    line, left, right = 26, 128, 210
    most = max(band.rows for band in sizes) or 1
    height = line * len(sizes) + 26
    parts: list[object] = [text(left - 10, 14, f"{unit} in the class", "tick", "end"), text(left, 14, "rows", "tick")]
    for row, band in enumerate(sizes):
        y = 22 + row * line
        width = band.rows / most * (WIDTH - left - right)
        span = f"{band.low:,}" if band.low == band.high else f"{band.low:,}–{band.high:,}"
        words = f"{several(band.rows, 'row')} in {several(band.classes, 'class', 'classes')}"
        words += ", suppressed" if band.suppressed else ""
        parts.append(text(left - 10, y + 16, span, "tick", "end"))
        parts.append(
            rect(
                left,
                y + 3,
                max(width, 1.5 if band.rows else 0),
                line - 8,
                "bar lost" if band.suppressed else "bar",
                words,
            )
        )
        parts.append(text(left + width + 7, y + 16, words, "tick"))
    description = "; ".join(f"{band.low} to {band.high}: {several(band.rows, 'row')}" for band in sizes)
    return svg("Rows by the size of their class", description, WIDTH, height, parts)


def loss_picture(columns: Sequence[ColumnPart]) -> Markup:
    """How much of each column is lost, as bars."""
    line, left, right = 26, 170, 80
    height = line * len(columns) + 8
    room = WIDTH - left - right
    parts: list[object] = []
    for row, column in enumerate(columns):
        loss = column.kept_loss if column.loss is None else column.loss
        y = 4 + row * line
        name = column.name if len(column.name) <= 24 else column.name[:23] + "…"
        parts.append(text(left - 10, y + 16, name, "tick", "end"))
        parts.append(rect(left, y + 3, room, line - 8, "trough"))
        parts.append(rect(left, y + 3, room * loss, line - 8, "bar", f"{column.name}: {loss:.1%} lost"))
        parts.append(text(left + room + 8, y + 16, f"{loss:.1%}", "tick"))
    description = "; ".join(f"{c.name} {(c.kept_loss if c.loss is None else c.loss):.1%}" for c in columns)
    return svg("Loss per column", description, WIDTH, height, parts)


def hierarchy_picture(column: ColumnPart) -> Markup:
    """The levels of a column as bands of groups, the leaves at the bottom, the chosen cut in colour."""
    line, left = 28, 128
    shown = [band for band in column.bands if band.chosen]
    bands = list(reversed(column.bands))
    if column.level is None:  # what is no level stands above them
        bands = [*shown, *(band for band in bands if not band.chosen)]
    height = line * len(bands) + 4
    room = WIDTH - left - 4
    boxes = column.leaves or max((last + 1 for band in bands for _, last, _ in band.runs), default=1)
    parts: list[object] = []
    for row, band in enumerate(bands):
        y = 2 + row * line
        kind = "mark chosen" if band.chosen else "tick"
        parts.append(text(left - 10, y + 17, f"{band.name}: {band.groups:,}", kind, "end"))
        parts += _draw_band(band, boxes, left, y, room, line - 5)
    description = ", ".join(f"{band.name} has {several(band.groups, 'group')}" for band in column.bands)
    words = f"{description}; chosen is {shown[0].name}"
    return svg(f"Hierarchy of {column.name}", words, WIDTH, height, parts)


def _draw_band(band: LevelBand, boxes: int, left: float, y: float, room: float, high: float) -> list[Markup]:
    style = "group on" if band.chosen else "group"
    if not band.runs:
        return [
            rect(left, y, room, high, style),
            text(
                left + room / 2,
                y + 16,
                f"{several(band.groups, 'group')}, too many to draw",
                "label on" if band.chosen else "label",
                "middle",
            ),
        ]
    shapes = []
    for first, last, label in band.runs:
        x, wide = left + first / boxes * room, (last - first + 1) / boxes * room
        gap = min(1.5, wide * 0.18)
        shapes.append(rect(x, y, wide - gap, high, style, label))
        fits = label if len(label) * LETTER <= wide - 6 else ""
        if not fits and wide > 40:
            fits = label[: int((wide - 6) / LETTER) - 1] + "…"
        if fits:
            shapes.append(text(x + (wide - gap) / 2, y + 16, fits, "label on" if band.chosen else "label", "middle"))
    return shapes
