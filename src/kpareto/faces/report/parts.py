"""The report as parts made of blocks: what every page of it shows, in which words and in which order."""

from __future__ import annotations

from kpareto.faces.report import words
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
)
from kpareto.faces.report.columns import LABELS
from kpareto.faces.report.regulator_form import technique
from kpareto.faces.report.report import Code, ColumnPart, FrontPart, Report, RiskPart, Template
from kpareto.faces.report.svg import hierarchy_picture, loss_picture, size_picture
from kpareto.faces.report.use import attack_blocks, use_blocks
from kpareto.fronts.markup import SHORT, number
from kpareto.fronts.picture import sketch
from kpareto.releases.warnings import rank_remarks
from kpareto.tables.recoding import HIDDEN
from kpareto.tables.spelling import several

CODES = 60  # lines of a code book on the page; the JSON has all
GROUPS = 6  # groups of a profile on the page
SIGNS = {"higher": "≥", "lower": "≤"}
FORM = "Anonymisation report (draft)"


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
