"""What an analyst still gets and what an attacker gets, as tables, a picture and parts of the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from kpareto.attacks.evidence import KINDS, AttackEvidence, PersonAttack
from kpareto.faces.report.blocks import Block, Heading, Illustration, Illustrations, ItemList, Sentence, TableBlock
from kpareto.faces.report.discretion import round_number
from kpareto.fronts.markup import Markup, rect, svg, text
from kpareto.fronts.picture import WIDTH
from kpareto.tables.spelling import percent
from kpareto.uses.relations import Pair
from kpareto.uses.utility import Utility

MOST_PAIRS = 10  # shown; the JSON has all
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
    lines: list[tuple[Any, Callable[[float], str]]] = [(each, share) for each in answer.tables]
    lines += [(each, plain) for each in answer.means]
    rows = tuple(
        (each.asked.words, each.cells, *(show(value) for value in (each.error, each.evenly, each.control)))
        for each, show in lines
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
        return replace(answer, **{each.name: round_use(getattr(answer, each.name)) for each in fields(answer)})
    if isinstance(answer, tuple):
        return tuple(map(round_use, answer))
    return round_number(answer) if isinstance(answer, float) else answer


def attack_tables(answer: AttackEvidence) -> list[TableBlock]:
    """The attacks as a table for each of the three risks."""
    tables = []
    for kind in KINDS:
        rows = [_row(each) for each in answer.attacks if each.risk == kind]
        if rows:
            tables.append(TableBlock(QUESTIONS[kind], ATTACKED, rows, (1, 2, 3, 5)))
    return tables


def _row(each: PersonAttack) -> Sequence[str]:
    low, high = each.release.interval
    rates = (each.release.attack.value, each.release.control.value, each.release.risk)
    return each.words, *map(percent, rates), f"{percent(low)} to {percent(high)}", percent(each.raw.risk)


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
