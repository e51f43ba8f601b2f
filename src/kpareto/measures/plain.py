"""Every measure in plain words: what people call it, what it says in half a sentence, and how its number is read.

A loss of cells is told as the share of detail that is kept, as reports and pictures of models tell it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kpareto.measures.cells import CellLoss
from kpareto.measures.measure import Measure, parameters_of, short_name
from kpareto.tables.table import Table

# count: whole numbers; share: from 0 to 1, read in percent; kept: one minus its share of the most that can be lost
Reading = Literal["count", "share", "kept", "number"]


@dataclass(frozen=True)
class Plain:
    """A measure for people who know no formula."""

    label: str  # beside a number, and on an axis
    words: str  # what it says, in half a sentence
    reading: Reading = "number"


PLAIN: dict[str, Plain] = {
    "k": Plain("rows that look alike, at least", "smallest class: how many look alike", "count"),
    "risk-max": Plain("highest risk", "highest risk of being recognised", "share"),
    "risk-mean": Plain("mean risk", "mean risk of being recognised", "share"),
    "risk-share": Plain("rows at risk", "share of the rows whose risk is above a threshold", "share"),
    "uniques": Plain("rows that are alone", "rows that look like no other", "count"),
    "suppressed": Plain("rows left out", "rows left out", "count"),
    "classes": Plain("classes", "different kinds of rows that remain", "count"),
    "l": Plain("sensitive values per class, at least", "different sensitive values per class", "count"),
    "entropy-l": Plain("effective sensitive values per class", "evenly spread sensitive values per class"),
    "recursive-l": Plain("lead of the commonest sensitive value", "how far that value leads the rest"),
    "alpha": Plain("certainty of a sensitive value", "share of the commonest sensitive value in a class", "share"),
    "t": Plain("distance from the whole table, at most", "how far classes differ from the whole"),
    "beta": Plain("gain in certainty", "how much likelier a sensitive value becomes in a class"),
    "enhanced-beta": Plain("gain in certainty, bounded", "the same, with a bound for frequent values"),
    "delta": Plain("change in certainty", "factor by which a sensitive value becomes likelier or less likely"),
    "glm": Plain("detail kept", "information lost, summed over cells", "kept"),
    "lm": Plain("detail kept", "information lost, from 0 to 1", "kept"),
    "nwp": Plain("detail kept, weighted", "information lost, weighted by column", "kept"),
    "precision-loss": Plain("height kept", "how far up their hierarchies the cells were moved", "kept"),
    "entropy": Plain("bits lost", "information lost, in bits"),
    "arx-loss": Plain("detail lost, by ARX", "information lost as ARX counts it, from 0 to 1", "share"),
    "aecs": Plain("rows per class, by ARX", "mean size of a class, suppressed rows as one more"),
    "precision": Plain("height lost, by ARX", "how far up their hierarchies the columns were moved", "share"),
    "nonuniform-entropy": Plain("bits lost, by ARX", "information lost in bits, as ARX counts it"),
    "dcn": Plain("pairs that look alike", "discernibility: sum of squared class sizes", "count"),
    "average-class-size": Plain("rows per class, on average", "mean size of a class"),
    "cm": Plain("rows a classifier tells wrong", "rows a classifier would tell wrong", "share"),
    "cm-rows": Plain("rows a classifier tells wrong", "the same as a number of rows", "count"),
    "cost-cm": Plain("cost of wrong classification", "what wrong classification costs per row"),
    "reg-variance": Plain("spread of the target that is lost", "variance within classes", "share"),
    "reg-deviation": Plain("spread of the target that is lost", "deviation within classes", "share"),
    "reg": Plain("spread of the target that is lost", "dispersion within classes", "share"),
    "relations": Plain("relations lost", "how much of the relations between columns is lost", "share"),
    "count-error": Plain("counts off by", "how far off random counts over two and three columns are", "share"),
    "multi-target": Plain("weighted sum of losses", "several losses added up with weights"),
    "necd": Plain("bias", "bias: how unevenly rows are protected"),
    "bias": Plain("difference between groups", "how unevenly the groups of a column are treated"),
    "s-k": Plain("class sizes, added up over rows", "how large the classes of all rows are together", "count"),
    "s-l": Plain("own sensitive values, added up over rows", "how common the own value is in all classes", "count"),
    "k-map": Plain("people behind a row, at least", "people of the population behind the smallest class", "count"),
    "journalist-risk": Plain("highest risk, by a list", "highest risk, by a list of the population", "share"),
    "marketer-risk": Plain("rows that a list recognises", "share of rows that such a list recognises", "share"),
    "presence-max": Plain("certainty to be in the table", "greatest chance that somebody is in the table", "share"),
    "presence-min": Plain("certainty not to be in the table", "least chance that somebody is in the table", "share"),
    "population-uniques": Plain("rows alone in the population", "rows of people who are alone in the population"),
}  # fmt: skip

# What is offered before it is asked for, in this order; those of a population where one is known.
USUAL = ("k", "glm", "lm", "dcn", "l", "t", "risk-mean", "cm", "necd", "suppressed")
USUAL_OF_POPULATION = (
    "k-map",
    "presence-max",
    "presence-min",
    "journalist-risk",
    "marketer-risk",
    "population-uniques",
)


# What a limit promises to people; groups are the rows that look alike.
PROMISES: dict[str, str] = {
    "k": "By the quasi-identifiers alone nobody in the release can be narrowed down to fewer than {number} {units}.",
    "risk-max": "By the quasi-identifiers alone nobody is recognised with a chance above {percent}.",
    "l": "Every group of rows that look alike has at least {number} different {values} of {column}.",
    "entropy-l": "The values of {column} are mixed in every group at least as well as {number} equally frequent ones.",
    "recursive-l": "The commonest value of {column} in a group has at most {number} times the rows of its rarer ones.",
    "alpha": "In no group do more than {percent} of the {units} share {value} of {column}.",
    "t": "No group differs from the whole in {column} by more than {number} (0: the same mix, 1: nothing in common).",
    "beta": "No group makes a value of {column} likelier by more than {percent} of its share in the whole.",
    "enhanced-beta": "No group makes a value of {column} likelier by more than {percent} of its share in the whole, "
    "and frequent values by less.",
    "delta": "No group changes the share of a value of {column} that it has by more than a factor of {factor}.",
    "k-map": "At least {number} people of the population fit every released row.",
    "journalist-risk": "Who does not know who is in the table recognises nobody with a chance above {percent}.",
    "marketer-risk": "A match with the whole population recognises at most {percent} of the released rows.",
    "presence-max": "Nobody can be surer than {percent} that a certain person is in the table.",
    "presence-min": "Nobody can be surer than {other} that a certain person is not in the table.",
}


def promise_of(measure: Measure, limit: float, units: str, sensitive: Sequence[str]) -> str:
    """What a limit on a measure promises, in a sentence; of a measure without one its plain words."""
    about = parameters_of(measure) or {}
    column = str(about.get("column") or (sensitive[0] if len(sensitive) == 1 else "each sensitive column"))
    value = f"the value {about['value']!r}" if "value" in about else "one value"
    plain, promise = plain_of(measure), PROMISES.get(short_name(measure.name))
    if promise is None:
        return f"{plain.label}: {plain.words}."
    return promise.format(
        number=f"{limit:,g}",
        percent=f"{limit * 100:g}%",
        other=f"{(1 - limit) * 100:g}%",
        factor=f"{math.exp(min(limit, 700)):.3g}",
        units=units.removesuffix("s") if limit == 1 else units,
        values="value" if limit == 1 else "values",
        column=column,
        value=value,
    )


def plain_of(measure: Measure) -> Plain:
    """A measure in plain words; one that is not in the table of names is told by its name and unit."""
    return PLAIN.get(short_name(measure.name), Plain(measure.name, measure.unit))


def most_lost(measure: Measure, table: Table) -> float | None:
    """What a loss of cells is where every cell is hidden; None where a measure is no such loss."""
    if not isinstance(measure, CellLoss):
        return None
    columns = range(len(table.schema.quasi))
    return float(measure.scale(table) * table.rows * sum(measure.suppressed(table, column) for column in columns))
