"""Which warnings a choice that is released gets, in which order a person reads them, and how Python tells them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args
from warnings import warn

from kpareto.errors import ReleaseWarning, shorten
from kpareto.fronts.front import Point
from kpareto.fronts.safer import find_safer
from kpareto.releases.choice import Choice
from kpareto.releases.query import Handling
from kpareto.releases.risk.tellers import Teller
from kpareto.releases.warnings import Context, Number, Remark, SearchFacts, Severity, remarks
from kpareto.tables.partition import Partition
from kpareto.tables.spelling import percent
from kpareto.tables.table import UniqueRows

DECLARED = " The job declares that this is known."  # ends W17 where it is no danger
GRAVEST = tuple(reversed(get_args(Severity)))  # danger, caution, note


def warnings_for(
    chosen: Point | Choice,
    handling: Handling,
    limits: Mapping[str, float],
    unique: UniqueRows | None,
    partition: Partition | None = None,
    search: SearchFacts | None = None,
    private: bool = False,
) -> list[Remark]:
    """The warnings that apply to what is about to be released; ``partition``: of all rows, if not its own.

    ``private``: it was made by a differentially private mechanism.

    W17, which is found in the written rows, is not among them. A point tells how it was found, of a Choice ``search``.
    """
    safer = None
    if isinstance(chosen, Point):
        search, safer = search_facts(chosen), find_safer(chosen)
    own = chosen.partition if isinstance(chosen, Point) else None
    classes = partition or own or chosen.partition()  # type: ignore[operator]  # a Choice's is a method
    return remarks(
        Context(
            classes,
            limits,
            chosen.suppression,
            unique,
            search=search,
            safer=safer,
            representatives=handling.medians,
            tied=tuple(handling.tied),
            certificate=True,
            population=chosen.table.population,
            differentially_private=private,
        )
    )


def warn_of_tellers(tellers: Sequence[Teller], partition: Partition) -> Remark | None:
    """W17: plain columns tell what generalized ones hide. Found in the rows that are written, so it comes last."""
    if not tellers or partition.empty:
        return None
    worst = max(tellers, key=lambda each: (not each.declared, each.below))
    others = [" and ".join(each.columns) for each in tellers if each is not worst]
    text = worst.sentence(int(partition.sizes[partition.visible].min()))
    text += f" So it is with {shorten(others)}." if others else ""
    text += (
        DECLARED
        if worst.declared
        else ' In the job, give the column tie = "' + worst.tells + '" to show it in the same groups, make it an '
        "identifier to leave it out or a quasi-identifier, or write declared = true if nobody outside can know it."
    )
    numbers: dict[str, Number] = {"columns": len(tellers), "k": worst.k, "below": worst.below, "told": worst.told.told}
    return Remark("W17", "caution" if worst.declared else "danger", text, numbers)


def search_facts(point: Point) -> SearchFacts:
    """How a point was found, and how far it is from the best where that is proven."""
    front, told = point.front, point.front.provenance
    # A space of local recodings is what was found: looking at all of it says nothing.
    size = None if front.space.kind == "local" else front.space.size
    facts = SearchFacts(told.method, told.complete, told.evaluated, size)
    if point.bound is not None and not math.isinf(point.bound.gap):
        return replace(facts, gap=_round_up(point.bound.gap), proof=f"its loss is {point.bound.sentence()}")
    if told.complete:
        return facts
    low, gap = (told.details.get(name) for name in ("lower_bound", "gap"))  # of a search for one loss
    if isinstance(low, float) and isinstance(gap, float) and low > 0 and gap >= 0:  # a bound of nothing proves nothing
        gap = _round_up(gap)
        return replace(facts, gap=gap, proof=f"the best possible one of its kind loses at most {percent(gap)} less")
    if front.floors is None:
        return facts
    numbers = zip(front.names, point.values.values(), front.floors[point.id].tolist(), strict=True)
    gaps = {name: _round_up(value / floor - 1) for name, value, floor in numbers if floor > 0}  # nan is not
    if not gaps:
        return facts
    above = " and ".join(f"its {name} is at most {100 * gap:g} %" for name, gap in gaps.items())
    proof = f"{above} above the least that any recoding by whole levels with its k could have"
    return replace(facts, gap=max(gaps.values()), proof=proof)


def _round_up(gap: float) -> float:
    """A gap as a sentence has it, which anybody may read: to a tenth of a percent, never rounded down."""
    return math.ceil(1000 * gap - 1e-9) / 1000


def rank_remarks(warnings: Sequence[Remark]) -> list[Remark]:
    """The gravest first; equally grave ones as they stand."""
    return sorted(warnings, key=lambda each: GRAVEST.index(each.severity))


def count_remarks(warnings: Sequence[Remark]) -> str:
    """How many there are of each kind: ``1 danger, 3 cautions, 2 notes``."""
    numbers = {word: sum(each.severity == word for each in warnings) for word in GRAVEST}
    return ", ".join(f"{number} {word}{'s' * (number > 1)}" for word, number in numbers.items() if number)


def tell_once(warnings: Sequence[Remark], level: int = 3) -> None:
    """Warn the caller of a Python function once: dangers in full, of the others how many there are and which."""
    if not warnings:
        return
    ranked = rank_remarks(warnings)
    others = ", ".join(each.id for each in ranked if each.severity != "danger")
    told = [f"{each.id} (danger): {each.text}" for each in ranked if each.severity == "danger"]
    told += [f"The others are {others}." if told else f"They are {others}."] if others else []
    warn(ReleaseWarning(f"{count_remarks(warnings)}: see warnings of the result. {' '.join(told)}"), stacklevel=level)
