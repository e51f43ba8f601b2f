"""Attacks on people as tables and as a part of the report, and the checklists that boards ask for."""

from __future__ import annotations

from collections.abc import Sequence

from kpareto.attacks.evidence import KINDS, AttackEvidence, PersonAttack
from kpareto.faces.report.blocks import Block, Heading, ItemList, Sentence, TableBlock
from kpareto.tables.spelling import percent

HEAD = ("known columns", "release", "control", "beyond it", "interval of 95 %", "raw table")
QUESTIONS = {
    "singling out": "Singling out: does what one row alone shows fit exactly one person?",
    "linkability": "Linkability: do two halves of what is known of a person lead to the same row?",
    "inference": "Inference: does one of the rows that fit a person have the person's value?",
}


def attack_tables(answer: AttackEvidence) -> list[TableBlock]:
    """The attacks as a table for each of the three risks."""
    tables = []
    for kind in KINDS:
        rows = [_row(each) for each in answer.attacks if each.risk == kind]
        if rows:
            tables.append(TableBlock(QUESTIONS[kind], HEAD, rows, (1, 2, 3, 5)))
    return tables


def _row(each: PersonAttack) -> Sequence[str]:
    low, high = each.release.interval
    rates = (each.release.attack.value, each.release.control.value, each.release.risk)
    return each.words, *map(percent, rates), f"{percent(low)} to {percent(high)}", percent(each.raw.risk)


def attack_blocks(answer: AttackEvidence) -> list[Block]:
    """Singling out, linkability and inference, in this order, for the part on risk."""
    heading = Heading("Attacks on people: singling out, linkability, inference")
    first = f"Up to {answer.attempts:,} people or rows were drawn for each attack, by seed {answer.seed}."
    return [
        heading,
        ItemList(tuple(answer.sentences())),
        Sentence(first),
        *attack_tables(answer),
        *(Sentence(remark, "soft") for remark in answer.remarks),
    ]
