"""How anonymous a table is as it stands, as tables for any face, and as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kpareto.faces.report.blocks import Block, Sentence, TableBlock
from kpareto.faces.report.html import blocks_html, whole_page
from kpareto.fronts.markup import Markup, tag
from kpareto.releases.risk.anonymity import Anonymity
from kpareto.releases.risk.risk import Risk

MOST_PAIRS = 10  # shown; the JSON has all that were counted


@dataclass(frozen=True)
class AnswerTable:
    """One table of the answer: its title, its heads, its rows and a sentence below it."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    below: str = ""


def answer_tables(answer: Anonymity) -> list[AnswerTable]:
    """The answer as tables, each of which fits into 80 columns while names are short."""
    shown = [_classes(answer), _risks(answer)]
    shown += [_sensitive(answer)] if answer.sensitive else []
    shown += [_columns(answer)]
    shown += [_pairs(answer)] if answer.pairs else []
    return shown + ([_rows(answer)] if answer.riskiest else [])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share == 0 or share >= 0.0005 else "< 0.1 %"


def _classes(answer: Anonymity) -> AnswerTable:
    rows = tuple((band.words, band.rows, _percent(band.rows / answer.rows), band.classes) for band in answer.bands)
    return AnswerTable("Rows by the size of their class", ("class size", "rows", "of all", "classes"), rows)


def _risks(answer: Anonymity) -> AnswerTable:
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
    return AnswerTable("Who could recognise people", ("attacker", "knows", "at most", "on average"), rows, below)


def _sensitive(answer: Anonymity) -> AnswerTable:
    names = tuple(answer.sensitive[0].numbers)
    rows = tuple((worst.column, *(round(worst.numbers[name], 3) for name in names)) for worst in answer.sensitive)
    below = "The worst class of each; entropy-l and l are better high, the others low."
    return AnswerTable("What classes tell of sensitive columns", ("column", *names), rows, below)


def _columns(answer: Anonymity) -> AnswerTable:
    rows = tuple(
        (name, column.groups, column.unique, _percent(column.share), answer.without.get(name, ""))
        for column in answer.columns
        for name in column.columns[:1]
    )
    heads = ("column", "values", "rows it singles out", "of all", "alone without it")
    return AnswerTable("Which columns single people out", heads, rows)


def _pairs(answer: Anonymity) -> AnswerTable:
    top = answer.pairs[:MOST_PAIRS]
    rows = tuple((" + ".join(pair.columns), pair.groups, pair.unique, _percent(pair.share)) for pair in top)
    hidden = len(answer.pairs) - len(top) + answer.pairs_left
    below = f"{hidden:,} more pairs; the JSON has those that were counted." if hidden else ""
    return AnswerTable(
        "Which pairs of columns do", ("pair", "combinations", "rows they single out", "of all"), rows, below
    )


def _rows(answer: Anonymity) -> AnswerTable:
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
    return AnswerTable("Rows most at risk", heads, rows, below)


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


def _section(answer: AnswerTable) -> Markup:
    columns = list(zip(*answer.rows, strict=True))
    right = [at for at, cells in enumerate(columns) if _is_numeric(cells)]
    rows = [[f"{cell:,}" if isinstance(cell, int | float) else cell for cell in row] for row in answer.rows]
    blocks: list[Block] = [TableBlock(answer.title, answer.heads, rows, right)]
    blocks += [Sentence(answer.below.replace(" --rows 0 leaves them out.", ""))] if answer.below else []
    return tag("section", tag("h2", answer.title), blocks_html(blocks))


def _is_numeric(cells: Sequence[object]) -> bool:
    return all(isinstance(cell, int | float) or str(cell).endswith(" %") for cell in cells)
