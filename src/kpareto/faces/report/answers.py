"""Answers as tables for any face, as a page and as parts of the report.

How anonymous a table is as it stands, what an analyst still gets from a release, and what an attacker gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from kpareto.attacks.evidence import KINDS, AttackEvidence, PersonAttack
from kpareto.faces.report.blocks import (
    Block,
    Heading,
    Illustration,
    Illustrations,
    ItemList,
    Sentence,
    TableBlock,
    blocks_html,
    whole_page,
)
from kpareto.faces.report.discretion import round_number
from kpareto.fronts.markup import Markup, rect, svg, tag, text
from kpareto.fronts.picture import WIDTH
from kpareto.releases.risk.anonymity import Anonymity
from kpareto.releases.risk.risk import Risk
from kpareto.tables.spelling import percent
from kpareto.uses.relations import Pair
from kpareto.uses.utility import Utility

MOST_PAIRS = 10  # shown; the JSON has all that were counted
RELATED = ("column", "and", "left")
SHADES = 5  # of the heat map
CONTROL = "column totals alone"
METHOD = (
    "Labels are taken as shares of the values that they stand for, fitted to the number of rows that each value has in "
    f"its column, or evenly. “{CONTROL.capitalize()}” is what somebody gets who has these numbers and no release."
)

ATTACKED = ("known columns", "release", "control", "beyond it", "interval of 95 %", "raw table")
QUESTIONS = {
    "singling out": "Singling out: how often what one row alone shows fits exactly one person",
    "linkability": "Linkability: how often two halves of what is known of a person lead to the same row",
    "inference": "Inference: how often a row that fits a person has the person's value",
}


# -- how anonymous a table is ------------------------------------------------------------------------------------------


def answer_tables(answer: Anonymity) -> list[TableBlock]:
    """The answer as tables, each of which fits into 80 columns while names are short."""
    shown = [_classes(answer), _risks(answer)]
    shown += [_sensitive(answer)] if answer.sensitive else []
    shown += [_columns(answer)]
    shown += [_pairs(answer)] if answer.pairs else []
    return shown + ([_rows(answer)] if answer.riskiest else [])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share == 0 or share >= 0.0005 else "< 0.1 %"


def _classes(answer: Anonymity) -> TableBlock:
    rows = tuple((band.words, band.rows, _percent(band.rows / answer.rows), band.classes) for band in answer.bands)
    return TableBlock("Rows by the size of their class", ("class size", "rows", "of all", "classes"), rows)


def _risks(answer: Anonymity) -> TableBlock:
    def line(name: str, knows: str, risk: Risk) -> tuple[object, ...]:
        highest = "–" if risk.highest is None else _percent(risk.highest)
        return name, knows, highest, "?" if risk.mean is None else _percent(risk.mean)

    risks = answer.risks
    estimated = " (estimated)" * risks.journalist.estimated
    rows = (
        line("prosecutor", "the person is in the table", risks.prosecutor),
        line("journalist" + estimated, "the person may be in the table", risks.journalist),
        line("marketer" + estimated, "wants as many as possible", risks.marketer),
    )
    says_basis = not risks.journalist.known or risks.journalist.estimated
    below = f"Journalist and marketer: {risks.journalist.basis}." if says_basis else ""
    if risks.uniques is not None and risks.journalist.estimated:
        alone, people = risks.uniques.population_uniques, risks.uniques.population
        below += (
            f" The model {risks.uniques.estimator} expects {alone:,.0f} of {people:,} people to be alone in the "
            "population, which can be too few."
        )
    return TableBlock("Who could recognise people", ("attacker", "knows", "at most", "on average"), rows, below=below)


def _sensitive(answer: Anonymity) -> TableBlock:
    names = tuple(answer.sensitive[0].numbers)
    rows = tuple((worst.column, *(round(worst.numbers[name], 3) for name in names)) for worst in answer.sensitive)
    below = "The worst class of each; entropy-l and l are better high, the others low."
    return TableBlock("What classes tell of sensitive columns", ("column", *names), rows, below=below)


def _columns(answer: Anonymity) -> TableBlock:
    rows = tuple(
        (name, column.groups, column.unique, _percent(column.share), answer.without.get(name, ""))
        for column in answer.columns
        for name in column.columns[:1]
    )
    heads = ("column", "values", "rows it singles out", "of all", "alone without it")
    return TableBlock("Which columns single people out", heads, rows)


def _pairs(answer: Anonymity) -> TableBlock:
    top = answer.pairs[:MOST_PAIRS]
    rows = tuple((" + ".join(pair.columns), pair.groups, pair.unique, _percent(pair.share)) for pair in top)
    hidden = len(answer.pairs) - len(top) + answer.pairs_left
    below = f"{hidden:,} more pairs; the JSON has those that were counted." if hidden else ""
    return TableBlock(
        "Which pairs of columns do", ("pair", "combinations", "rows they single out", "of all"), rows, below=below
    )


def _rows(answer: Anonymity) -> TableBlock:
    known = answer.riskiest[0].people is not None
    rows = tuple(
        (
            ", ".join(row.values.values()),
            row.size,
            *([row.people] if known else []),
            "; ".join(" + ".join(columns) for columns in row.alone_by[:2])
            + (f"; {len(row.alone_by) - 2:,} more" if len(row.alone_by) > 2 else ""),
        )
        for row in answer.riskiest
    )
    heads = (", ".join(answer.quasi), "class", *(["population"] if known else []), "alone by")
    below = "Confidential: these are values of people in the table. --rows 0 leaves them out."
    return TableBlock("Rows most at risk", heads, rows, below=below)


def anonymity_page(answer: Anonymity, title: str) -> str:
    """The answer as a page."""
    secret = bool(answer.riskiest)
    notice = "It holds values of single rows. Keep it with the data." if secret else "It holds no value of any row."
    header = tag(
        "header",
        tag("div", "kpareto · how anonymous a table is", at={"class": "brand"}),
        tag("h1", title),
        tag("p", tag("strong", "Confidential. " if secret else ""), notice, at={"class": "notice secret"}),
    )
    first = tag("section", tag("h2", "In short"), [tag("p", sentence) for sentence in answer.sentences()])
    return whole_page(f"{title} – how anonymous it is", header, [first, *map(_section, answer_tables(answer))])


def _section(block: TableBlock) -> Markup:
    right = [at for at, cells in enumerate(zip(*block.rows, strict=True)) if _is_numeric(cells)]
    rows = [[f"{cell:,}" if isinstance(cell, int | float) else cell for cell in row] for row in block.rows]
    below = block.below.replace(" --rows 0 leaves them out.", "")
    return tag("section", tag("h2", block.caption), blocks_html([replace(block, rows=rows, right=right, below=below)]))


def _is_numeric(cells: Sequence[object]) -> bool:
    return all(isinstance(cell, int | float) or str(cell).endswith(" %") for cell in cells)


# -- what an analyst and an attacker get -------------------------------------------------------------------------------


def use_tables(answer: Utility) -> list[TableBlock]:
    """The answer as tables, each of which fits into 80 columns while names are short."""
    return [table for table in (_counts(answer), _relations(answer), _models(answer), _own(answer)) if table.rows]


def _counts(answer: Utility) -> TableBlock:
    counts = answer.counts
    lines = {"labels fitted": counts.error, "labels spread evenly": counts.evenly, CONTROL: counts.control}
    rows = tuple(
        (name, *map(percent, (errors.mean, errors.median, errors.p90))) for name, errors in lines.items() if errors
    )
    title = f"How far off {counts.queries:,} random counts over two and three columns are"
    return TableBlock(title, ("", "mean", "median", "90th percentile"), rows, (1, 2, 3))


def _relations(answer: Utility) -> TableBlock:
    shown = answer.relations.pairs[:MOST_PAIRS]
    rows = tuple((*pair.columns, percent(pair.share)) for pair in shown)
    more = len(answer.relations.pairs) - len(shown)
    title = "What is left of relations, the least first" + (f" ({more:,} more in the JSON)" if more else "")
    return TableBlock(title, RELATED, rows, (2,))


def _models(answer: Utility) -> TableBlock:
    rows = tuple(
        (
            model.column,
            {"auc": "AUC", "r2": "R²"}[model.measure],
            *("–" if value is None else f"{value:.3f}" for value in numbers),
        )
        for model in answer.models
        for numbers in [(model.release, model.original, model.control)]
    )
    return TableBlock("How well columns are predicted", ("column", "", "release", "original", CONTROL), rows, (2, 3, 4))


def _own(answer: Utility) -> TableBlock:
    share, plain = percent, "{:.3g}".format
    lines: list[tuple[Any, Callable[[float], str]]] = [(table, share) for table in answer.tables]
    lines += [(mean, plain) for mean in answer.means]
    rows = tuple(
        (asked.asked.words, asked.cells, *(show(value) for value in (asked.error, asked.evenly, asked.control)))
        for asked, show in lines
    )
    title = "Own questions: rows in a wrong cell, or the mean difference"
    return TableBlock(title, ("question", "cells", "fitted", "evenly", CONTROL), rows, (1, 2, 3, 4))


def heat_map(pairs: tuple[Pair, ...]) -> Markup:
    """A square for each two columns, the darker the more of their relation is left."""
    names = list(dict.fromkeys(name for pair in sorted(pairs, key=lambda pair: pair.columns) for name in pair.columns))
    left, top, size = 150, 24, min(34, (WIDTH - 160) // max(len(names), 1))
    parts: list[object] = []
    for row, name in enumerate(names):
        shown = name if len(name) <= 20 else name[:19] + "…"
        parts.append(text(left - 8, top + row * size + size / 2 + 4, f"{row + 1} {shown}", "tick", "end"))
        parts.append(text(left + row * size + size / 2, top - 8, f"{row + 1}", "tick", "middle"))
    for pair in pairs:
        shade = min(int(pair.share * SHADES), SHADES - 1)
        words = f"{' and '.join(pair.columns)}: {percent(pair.share)}"
        for one, two in (pair.columns, pair.columns[::-1]):
            x, y = left + names.index(two) * size, top + names.index(one) * size
            parts.append(rect(x, y, size - 2, size - 2, f"bar heat{shade}", words))
    described = "; ".join(f"{' and '.join(pair.columns)} {percent(pair.share)}" for pair in pairs[:MOST_PAIRS])
    return svg("Relations between columns that are left", described, WIDTH, top + len(names) * size + 4, parts)


def use_blocks(answer: Utility) -> list[Block]:
    """The part of the report."""
    blocks: list[Block] = [ItemList((*answer.sentences(), *answer.remarks))]
    for table in use_tables(answer):
        if table.head == RELATED:
            note = "Each square is two columns; the darker, the more of their relation is left."
            blocks.append(Illustrations([Illustration(heat_map(answer.relations.pairs), note)], instead=table))
        else:
            blocks.append(table)
    return [*blocks, Sentence(METHOD, "soft")]


def round_use(answer: Any) -> Any:
    """The answer with every number to two digits, as the public may see it."""
    if is_dataclass(answer) and not isinstance(answer, type):
        return replace(answer, **{part.name: round_use(getattr(answer, part.name)) for part in fields(answer)})
    if isinstance(answer, tuple):
        return tuple(map(round_use, answer))
    return round_number(answer) if isinstance(answer, float) else answer


def attack_tables(answer: AttackEvidence) -> list[TableBlock]:
    """The attacks as a table for each of the three risks."""
    tables = []
    for kind in KINDS:
        rows = [_row(attack) for attack in answer.attacks if attack.risk == kind]
        if rows:
            tables.append(TableBlock(QUESTIONS[kind], ATTACKED, rows, (1, 2, 3, 5)))
    return tables


def _row(attack: PersonAttack) -> Sequence[str]:
    low, high = attack.release.interval
    rates = (attack.release.attack.value, attack.release.control.value, attack.release.risk)
    return attack.words, *map(percent, rates), f"{percent(low)} to {percent(high)}", percent(attack.raw.risk)


def drawn_words(answer: AttackEvidence) -> str:
    """How many were drawn, and by which seed."""
    return f"Up to {answer.attempts:,} people or rows were drawn for each attack, by seed {answer.seed}."


def attack_blocks(answer: AttackEvidence) -> list[Block]:
    """Singling out, linkability and inference, in this order, for the part on risk."""
    heading = Heading("Attacks on people: singling out, linkability, inference")
    return [
        heading,
        ItemList(tuple(answer.sentences())),
        Sentence(drawn_words(answer)),
        *attack_tables(answer),
        *(Sentence(remark, "soft") for remark in answer.remarks),
    ]
